"""Moreau's time steps: what they need of a system, and their programs and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np
import sympy

from ....codegen.program import Program, straight_line
from ....errors import FormError
from ....formulations.equations import Equations
from ....model.constraints import FrictionLimit, UnilateralConstraint
from ....model.flow_system import Flow
from ....model.symbols import t
from ....runtime.kernel import Kernel, kernel_of
from ..fixed.fixed_steps import method_step
from ..method import FixedStep, Method
from .cone_solve import CONTACT, GIVEN, MIXED
from .moreau_steps import moreau_step
from .shape_arrays import prepare_shapes

if TYPE_CHECKING:
    from ..fixed.fixed_run import FixedRun

__all__ = ["METHODS", "Components", "StatedContacts"]

ZERO = sympy.Integer(0)
Stated: TypeAlias = UnilateralConstraint | FrictionLimit


def check_time_stepping(equations: Equations, method: str) -> None:
    """Refuse what time steps with contacts cannot follow."""
    system = equations.system
    if isinstance(system, Flow) or equations.form != "lagrange" or system.image is not None:
        raise FormError(
            f"The method {method} takes its steps in positions and velocities",
            seen=f'the form "{equations.form}"',
            remedy='use form="lagrange", for a system stated by its Lagrangian',
        )
    contacts = [c for c in system.unilateral if isinstance(c, UnilateralConstraint)]
    pressing = {c.name for c in contacts}
    limits = [c for c in system.unilateral if isinstance(c, FrictionLimit)]
    held = [c for c in limits if c.normal and (len(c.normal) > 1 or c.normal[0] not in pressing)]
    if held:
        raise FormError(
            f"The method {method} has no friction limits such as `{held[0].name}`, whose load is"
            " the reaction of a two-sided constraint",
            seen=f"normal = {', '.join(held[0].normal)}",
            remedy="use method dop853, or name a contact in its place, or give the load",
        )
    poisson = [c.name for c in contacts if c.law == "poisson"]
    if poisson:
        raise FormError(
            f"The method {method} has Moreau's law of impact, and `{poisson[0]}` has Poisson's",
            seen='law="poisson"',
            remedy='use method dop853, or law="moreau"',
        )
    working = [c.name for c in system.bilateral if not c.is_ideal]
    if working:
        raise FormError(
            f"The method {method} needs constraints that do no work",
            seen=f"`{working[0]}`",
            remedy="use method dop853",
        )
    smooth = system.touching(()) if system.unilateral else system
    kernel = kernel_of(equations if smooth is system else _derived(smooth), system.parameters)
    velocities = kernel.algebra.vector(system.velocities)
    graph = kernel.graph
    if kernel.algebra.depends(ca.vec(graph.velocity.rows), velocities):
        raise FormError(
            f"The method {method} needs constraints that are affine in the velocities",
            seen=", ".join(c.name for c in system.bilateral)[:60],
            remedy="use method dop853",
        )


def _derived(system: Any) -> Equations:
    from ....formulations.registry import derive

    return derive(system, "lagrange")


@dataclass(frozen=True)
class Components:
    """Coordinates that entries of M or rows of constraints connect, component by component.

    `members` and `rows` are the coordinates and constraints of each.
    """

    members: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, metric: ca.SX, rows: ca.SX) -> Components:
        """The components of a mass matrix (n x n) and constraint rows (m x n)."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        n = metric.shape[0]
        pairs = list(zip(*ca.sparsify(metric).sparsity().get_triplet(), strict=True))
        along: dict[int, list[int]] = {}
        for row, column in zip(*ca.sparsify(rows).sparsity().get_triplet(), strict=True):
            along.setdefault(row, []).append(column)
        for columns in along.values():
            pairs += [(columns[0], column) for column in columns]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        graph = coo_matrix((np.ones(len(table)), (table[:, 0], table[:, 1])), shape=(n, n))
        count, label = connected_components(graph, directed=False)
        members: list[list[int]] = [[] for _ in range(count)]
        for place, k in enumerate(label):
            members[k].append(place)
        own: list[list[int]] = [[] for _ in range(count)]
        for row in range(rows.shape[0]):
            own[label[along[row][0]] if row in along else 0].append(row)
        return cls(tuple(map(tuple, members)), tuple(map(tuple, own)))

    def spanned(self, columns: Any) -> list[int]:
        """The coordinates of all components that some coordinates lie in."""
        touched = [members for members in self.members if not columns.isdisjoint(members)]
        return [place for members in touched for place in members]


@dataclass(frozen=True)
class StatedContacts:
    """Contacts and friction limits as numbers: gap, offsets, coefficients and rows of each.

    With u = J v + offset the velocities that open the contact and that slide it, the block of a
    contact is gap, offset (r), restitution, tangential restitution, friction, static friction,
    J (r x w) on the coordinates `dofs`. A friction limit has a row of zeros in the place of the
    normal one, and its load in that of the restitution; `loads` has the number of the contact whose
    impulse is its load, GIVEN, or CONTACT for contacts themselves.
    """

    columns: tuple[ca.SX, ...]
    dofs: tuple[list[int], ...]
    rows: tuple[int, ...]
    loads: tuple[int, ...]

    @classmethod
    def of(
        cls, kernel: Kernel, contacts: tuple[Stated, ...], components: Components
    ) -> StatedContacts:
        """The blocks of contacts and of friction limits."""
        system = kernel.equations.system
        vector = kernel.algebra.vector
        q, v = vector(system.coordinates), vector(system.velocities)
        time, still = vector([t]), ca.SX.zeros(v.numel())
        columns, dofs, counts, loads = [], [], [], []
        names = [contact.name for contact in contacts]
        for contact in contacts:
            is_limit = isinstance(contact, FrictionLimit)
            gap = ca.SX(0) if is_limit else -kernel.lower([contact.expression])
            slip = kernel.lower(list(contact.tangent))
            rows = ca.vertcat(ca.jacobian(gap, q), ca.jacobian(slip, v))
            offset = ca.vertcat(ca.jacobian(gap, time), ca.substitute(slip, v, still))
            first = (
                (contact.load, ZERO)
                if isinstance(contact, FrictionLimit)
                else (contact.restitution, contact.tangential_restitution)
            )
            coefficients = kernel.lower([*first, contact.friction, contact.static_friction])
            owner = contact.normal if isinstance(contact, FrictionLimit) else ()
            loads.append(names.index(owner[0]) if owner else GIVEN if is_limit else CONTACT)
            own = components.spanned(set(ca.sparsify(rows).sparsity().get_triplet()[1]))
            block = ca.vec(rows[:, own].T)
            columns.append(ca.densify(ca.vertcat(gap, offset, coefficients, block)))
            dofs.append(own)
            counts.append(rows.shape[0])
        return cls(tuple(columns), tuple(dofs), tuple(counts), tuple(loads))


@dataclass(frozen=True)
class _Programs:
    components: Components
    stated: StatedContacts
    addresses: tuple[int, int, int, int]


def _compiled(kernel: Kernel, contacts: tuple[Stated, ...]) -> _Programs:
    graph, system = kernel.graph, kernel.equations.system
    rows = ca.sparsify(graph.velocity.rows)
    components = Components.of(graph.metric, rows)
    stated = StatedContacts.of(kernel, contacts, components)
    blocks = [graph.metric[list(m), list(m)] for m in components.members]
    blocks += [
        rows[list(r), list(m)].T
        for r, m in zip(components.rows, components.members, strict=True)
        if r
    ]
    positions = [k for k, c in enumerate(system.bilateral) if c.is_position_level]
    assert graph.position.residual.numel() == len(positions)

    def loaded(name: str, columns: list[ca.SX]) -> int:
        dense = [ca.densify(ca.vec(ca.SX(column))) for column in columns]
        program: Program = straight_line(name, kernel._inputs(), dense)
        return kernel.load_program(program)

    return _Programs(
        components,
        stated,
        (
            loaded("step_matrices", blocks),
            loaded("step_forces", [graph.force, graph.velocity.residual]),
            loaded("stated_contacts", list(stated.columns)) if contacts else 0,
            loaded("position_residuals", [graph.position.residual]) if positions else 0,
        ),
    )


def _firsts(parts: Any) -> Any:
    return np.concatenate([[0], np.cumsum(parts)]).astype(np.int64)


def _flat(parts: Any) -> Any:
    return np.array([place for part in parts for place in part] or [0], dtype=np.int64)


def prepare(run: FixedRun) -> None:
    """Bind the programs and arrays of time steps with contacts."""
    kernel, n = run.kernel, run.kernel.n_state // 2
    contacts = run.task.equations.system.unilateral
    programs: _Programs = kernel.cache.get(
        ("moreau", contacts), lambda: _compiled(kernel, contacts)
    )
    components, stated = programs.components, programs.stated
    c = run.context.fields.contact
    (c.matrix_program, c.force_program, c.stated_program, c.position_program) = programs.addresses
    bilateral = kernel.equations.system.bilateral
    positions = [k for k, each in enumerate(bilateral) if each.is_position_level]
    m, capacity = len(bilateral), len(contacts)
    c.n_components, c.n_rows, c.n_positions = len(components.members), m, len(positions)
    shapes = prepare_shapes(run, components)
    capacity += shapes.capacity
    c.n_stated, c.capacity = len(contacts), capacity
    width = c.width = max([1, *map(len, stated.dofs), shapes.width])
    sizes = np.array([len(part) for part in components.members])
    counts = np.array([len(part) for part in components.rows])
    component_of = np.zeros(n, np.int64)
    for k, part in enumerate(components.members):
        component_of[list(part)] = k
    first = _firsts(sizes**2)
    matrices = np.zeros(int(first[-1] + (sizes * counts).sum()) + 1)
    arrays = {
        "members": _flat(components.members),
        "member_first": _firsts(sizes),
        "component_of": component_of,
        "row_members": _flat(components.rows),
        "row_first": _firsts(counts),
        "matrix_first": first,
        "rows_first": _firsts(sizes * counts),
        "position_rows": _flat([positions]),
        "matrices": matrices,
        "rows": matrices[first[-1] :],
        "factors": np.zeros(first[-1]),
        "columns": np.zeros(int((sizes * counts).sum()) + 1),
        "ranks": np.zeros(len(sizes), np.int64),
        "row_order": np.zeros(m + 1, np.int64),
        "row_choice": np.zeros(m + 2, np.int64),
        "stated_rows": np.array([*stated.rows, 0], dtype=np.int64),
        "stated_first": _firsts([column.numel() for column in stated.columns]),
        "stated_dofs": _flat(stated.dofs),
        "stated_dof_first": _firsts([len(part) for part in stated.dofs]),
        "stated_loads": np.array([*stated.loads, 0], dtype=np.int64),
        "active_of": np.zeros(len(contacts) + 1, np.int64),
        "stated_values": np.zeros(sum(column.numel() for column in stated.columns) + 1),
        "local": np.zeros(max(32, n)),
        "remembered_impulses": np.zeros(3 * len(contacts) + 3),
        "history": np.zeros((MIXED + 1) * (6 * (capacity + 1) + n)),
        "best": np.zeros(3 * (capacity + 1) + n),
        "mix_products": np.zeros(MIXED**2),
        "mix_factor": np.zeros(2 * MIXED**2),
        "mix_weights": np.zeros(MIXED),
    }
    for name in ("collected", "lengths", "right", "component_work", "position_residual"):
        arrays[name] = np.zeros(m + 1)
    for name in ("middle", "end"):
        arrays[name] = np.zeros(2 * n)
    for name in ("force", "change", "shift"):
        arrays[name] = np.zeros(n + m)
    for name, size in (
        ("key", 1),
        ("loads", 1),
        ("n_contact_rows", 1),
        ("dof_count", 1),
        ("dofs", width),
    ):
        arrays[name] = np.zeros((capacity + 1) * size, np.int64)
    for name, size in (
        ("jacobian_rows", 3 * width),
        ("responses", 3 * width),
        ("delassus", 9),
        ("gaps", 1),
        ("speed_bound", 1),
        ("offsets", 3),
        ("friction", 3),
        ("impulses", 3),
        ("impulses_before", 3),
        ("directions", 3),
        ("pushes", 1),
    ):
        arrays[name] = np.zeros((capacity + 1) * size)
    for name, array in arrays.items():
        c.bind(name, array)


METHODS = (
    Method(
        "moreau",
        "Moreau's time steps for contacts with friction, without events; order 1 with contacts",
        2,
        FixedStep(
            ((method_step, moreau_step),), prepare, ends_on_constraints=True, dissipates=True
        ),
        "lagrange",
        check_time_stepping,
        steps_contacts=True,
    ),
)
