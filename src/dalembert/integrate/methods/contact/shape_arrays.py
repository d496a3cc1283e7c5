"""The solids of a system as arrays of a run by time steps, and the program of their poses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from ....codegen.program import straight_line
from ....model.constraints.shape_contacts import ShapeContacts, Solid
from ...contact_fields import ShapeFields
from . import solid_distances as kinds

if TYPE_CHECKING:
    from ....runtime.kernel import Kernel
    from ....typing import Array
    from ..fixed.fixed_run import FixedRun
    from .moreau import Components

__all__ = ["ShapeRoom", "prepare_shapes"]

KINDS = {
    "ball": kinds.SPHERE,
    "capsule": kinds.CAPSULE,
    "box": kinds.BOX,
    "cylinder": kinds.CYLINDER,
    "rim": kinds.RIM,
    "hull": kinds.HULL,
    "plane": kinds.PLANE,
}
#: Room for so many contacts of a solid that is no plane, and of a scene.
ROOM, LEAST_ROOM = 24, 64


class ShapeRoom(NamedTuple):
    """How many contacts there is room for, and how many entries their rows have at most."""

    capacity: int = 0
    width: int = 1


class _Poses(NamedTuple):
    """The program of the poses; where the numbers of a body begin; its coordinates."""

    address: int
    first: Array
    dofs: list[list[int]]


def _compiled(kernel: Kernel, scenes: Sequence[ShapeContacts], components: Components) -> _Poses:
    system, vector = kernel.equations.system, kernel.algebra.vector
    v = vector(system.velocities)
    still = ca.SX.zeros(v.numel())
    columns, dofs = [], []
    for scene in scenes:
        for body in scene.bodies:
            pose = kernel.lower([*body.axes, *body.origin])
            twist = kernel.lower([*body.velocity, *body.spin])
            rows = ca.sparsify(ca.jacobian(twist, v))
            own = components.spanned(set(rows.sparsity().get_triplet()[1]))
            parts = [pose, ca.substitute(twist, v, still), ca.vec(rows[:, own].T)]
            columns.append(ca.densify(ca.vertcat(*parts)))
            dofs.append(own)
    first = np.concatenate([[0], np.cumsum([column.numel() for column in columns])])
    program = straight_line("poses_of_bodies", kernel._inputs(), columns)
    return _Poses(kernel.load_program(program), first.astype(np.int64), dofs)


def _numbers(run: FixedRun, expressions: Sequence[Any]) -> Array:
    """Expressions of parameters as numbers."""
    kernel = run.kernel
    if not expressions:
        return np.zeros(0)
    function = ca.Function("sizes", [kernel._symbols[2]], [kernel.lower(list(expressions))])
    return np.asarray(function(run.task.parameters)).ravel()


def _radius(solid: Solid, sizes: Array, points: Array) -> float:
    """The radius of a ball around the middle of a solid that contains it."""
    match solid.kind:
        case "ball":
            return float(sizes[0])
        case "capsule" | "rim":
            return float(sizes[0] + sizes[1])
        case "cylinder":
            return float(np.hypot(sizes[0], sizes[1]))
        case "box":
            return float(np.linalg.norm(sizes))
        case "hull":
            return float(np.linalg.norm(points, axis=1).max())
    return 0.0


def _asked_solids(fields: ShapeFields) -> list[int]:
    """The solids that are in a pair that coal is asked about."""
    numbers, bodies = fields.arrays["kinds"], fields.arrays["solid_body"]
    scenes, apart = fields.arrays["solid_scene"], fields.arrays["are_apart"]
    asked: set[int] = set()
    for one, two in combinations(range(fields.n_solids), 2):
        if bodies[one] == bodies[two] or scenes[one] != scenes[two]:
            continue
        low, high = sorted((int(numbers[one]), int(numbers[two])))
        if kinds.asks_coal(low, high) and not apart[bodies[one] * fields.n_bodies + bodies[two]]:
            asked |= {one, two}
    return sorted(asked)


def prepare_shapes(run: FixedRun, components: Components) -> ShapeRoom:
    """Bind the arrays of the solids of a run."""
    kernel, s = run.kernel, run.context.fields.shapes
    scenes = run.task.equations.system.shape_contacts
    s.bind("table_keys", np.full(1, -1, np.int64))
    if not scenes:
        return ShapeRoom()
    poses: _Poses = kernel.cache.get(
        ("solids", scenes), lambda: _compiled(kernel, scenes, components)
    )
    solids = [(k, solid) for k, scene in enumerate(scenes) for solid in scene.solids]
    before = np.concatenate([[0], np.cumsum([len(scene.bodies) for scene in scenes])])
    count = len(solids)
    sizes = _numbers(run, [x for _, each in solids for x in each.sizes]).reshape(-1, 3)
    places = _numbers(run, [x for _, each in solids for x in (*each.axes, *each.position)])
    hulls = [
        _numbers(run, [x for p in each.points for x in p]).reshape(-1, 3) for _, each in solids
    ]
    radii = [_radius(each, sizes[k], hulls[k]) for k, (_, each) in enumerate(solids)]
    numbers = np.array([KINDS[each.kind] for _, each in solids], dtype=np.int64)
    order = np.flatnonzero(numbers != kinds.PLANE)
    bodies = int(before[-1])
    apart = np.zeros((bodies, bodies), np.int64)
    for k, scene in enumerate(scenes):
        for one, two in scene.apart:
            apart[before[k] + one, before[k] + two] = apart[before[k] + two, before[k] + one] = 1
    capacity = ROOM * len(order) + LEAST_ROOM
    widths = sorted(len(part) for part in poses.dofs)
    size = 1
    while size < 4 * capacity:
        size *= 2
    s.pose_program, s.n_bodies, s.n_solids, s.n_order = poses.address, bodies, count, len(order)
    s.table_size = size
    firsts = np.concatenate([[0], np.cumsum([len(part) for part in poses.dofs])])
    arrays = {
        "body_first": poses.first,
        "body_dofs": np.array([d for part in poses.dofs for d in part] or [0], dtype=np.int64),
        "body_dof_first": firsts.astype(np.int64),
        "pose_values": np.zeros(int(poses.first[-1]) + 1),
        "speeds": np.zeros(count),
        "are_apart": apart.ravel(),
        "kinds": numbers,
        "solid_body": np.array([before[k] + each.body for k, each in solids], dtype=np.int64),
        "solid_scene": np.array([k for k, _ in solids], dtype=np.int64),
        "sizes": np.ascontiguousarray(sizes).ravel(),
        "places": places,
        "radii": np.array(radii),
        "coefficients": _numbers(run, [x for scene in scenes for x in scene.coefficients]),
        "points": np.concatenate(hulls).ravel() if sum(map(len, hulls)) else np.zeros(3),
        "point_first": np.concatenate([[0], np.cumsum([len(h) for h in hulls])]).astype(np.int64),
        "frames": np.zeros(12 * count),
        "extents": np.zeros(2 * count),
        "order": order.astype(np.int64),
        "bodies": np.zeros(2 * capacity, np.int64),
        "measures": np.zeros(capacity, np.int64),
        "scenes": np.zeros(capacity, np.int64),
        "first_point": np.zeros(3 * capacity),
        "second_point": np.zeros(3 * capacity),
        "normal": np.zeros(3 * capacity),
        "radius": np.zeros(2 * capacity),
        "found": np.zeros(kinds.RECORD * kinds.MOST_POINTS),
        "marks": np.zeros(2 * kinds.MOST_POINTS, np.int64),
        "polygon": np.zeros(96),
        "table_keys": np.full(size, -1, np.int64),
        "table_impulses": np.zeros(3 * size),
    }
    for name, array in arrays.items():
        s.bind(name, array)
    if asked := _asked_solids(s):
        from .coal_pairs import CoalPairs

        run.pairs = CoalPairs(s, hulls, asked)
        s.pair_function = run.pairs.address
    return ShapeRoom(capacity, sum(widths[-2:]))
