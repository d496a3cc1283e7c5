"""A mechanism: bodies connected by joints, which becomes a `System`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import sympy

from ...errors import ModelError
from ..atoms import leaves
from ..cache import Cache
from ..drawing import Drawing, Shape
from ..named_points import position_outputs
from ..symbols import Input
from ..system import System
from .body import GROUND, Body, Frame, Place, as_frame
from .body_starts import JointStart, expanded_start
from .body_tree import BodyTree
from .closures import HAS_CLOSURE, closing, numbered, welding
from .contributions import Contribution, Element, along_axes, of_body, summed, total
from .joints import Joint, free
from .kinematics import Edge, Kinematics
from .shapes import mechanism_drawing
from .steps import Step, inverted, placing, with_plane_turns
from .vectors import Triple, as_triple

if TYPE_CHECKING:
    from ...analysis.bodies.assembly import Assembly
    from ...typing import BySymbol, Expression, Values

__all__ = ["Mechanism"]

Coordinates = Literal["joint", "maximal"]
#: Most bodies without geometry that are drawn as lines between their joints.
MOST_DRAWN = 20


@dataclass(frozen=True, init=False)
class Mechanism:
    """Bodies connected by joints, with springs, dampers and forces between them.

    Joints that reach a new body, in the order of the list, make a tree that begins at the ground;
    the others close loops and become constraints.

    Parameters
    ----------
    joints : sequence of joints, and of `gear`, `coupling`, `distance`, `rolling`, ...
    forces : sequence of `spring`, `damper`, `bushing`, `wrench`, ...
    gravity : three expressions
        Its acceleration in the frame of the ground, (0, 0, -9.81) say.
    name : str

    Examples
    --------
    >>> import dalembert as da
    >>> b = da.bodies
    >>> m, l, g = da.parameters("m l g", positive=True)
    >>> arm = b.Body("arm", mass=m, com=(0, 0, -l))
    >>> hinge = b.revolute("theta", b.ground(), arm, axis="y")
    >>> pendulum = b.Mechanism([hinge], gravity=(0, 0, -g)).system()
    >>> motion = da.simulate(pendulum, {"theta": 0.1}, (0, 1), parameters={m: 1, l: 1, g: 9.81})
    >>> bool(abs(motion.energy[-1] - motion.energy[0]) < 1e-9)
    True
    """

    joints: tuple[Joint, ...]
    elements: tuple[Element, ...]
    gravity: Triple
    name: str
    cache: Cache = field(repr=False, compare=False)

    def __init__(
        self,
        joints: Sequence[Joint | Element] = (),
        forces: Sequence[Element] = (),
        *,
        gravity: Sequence[Expression] = (0, 0, 0),
        name: str = "mechanism",
    ) -> None:
        given = [*joints, *forces]
        values = {
            "joints": tuple(each for each in given if isinstance(each, Joint)),
            "elements": tuple(each for each in given if not isinstance(each, Joint)),
            "gravity": as_triple(gravity, "acceleration of gravity"),
            "name": name,
            "cache": Cache("plans of a mechanism"),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        self._check()

    # -- parts -------------------------------------------------------------------------------------

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """Every body but the ground, each once."""
        found: dict[str, Body] = {}
        for joint in self.joints:
            for frame in (joint.parent, joint.child):
                known = found.setdefault(frame.body.name, frame.body)
                if known != frame.body:
                    raise ModelError(
                        f"Two bodies are called `{frame.body.name}`", remedy="name them apart"
                    )
        found.pop(GROUND, None)
        return tuple(found.values())

    def body(self, name: str) -> Body:
        """A body by its name."""
        found: Body = _named(name, self.bodies, "body")
        return found

    def joint(self, name: str) -> Joint:
        """A joint by its name."""
        found: Joint = _named(name, self.joints, "joint")
        return found

    def _check(self) -> None:
        names = [each.name for each in self.joints] + [each.name for each in self.elements]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ModelError(f"Two joints are called `{twice[0]}`", remedy="name them apart")
        if not self.joints:
            raise ModelError("A mechanism needs a joint", remedy="connect a body with the ground")
        lost = [body.name for body in self.bodies if body.name not in self._tree[0]]
        if lost:
            raise ModelError(
                f"The body `{lost[0]}` is not connected with the ground",
                remedy=f'add free("{lost[0]}_motion", ground, {lost[0]}), say',
            )

    @cached_property
    def _tree(self) -> tuple[dict[str, Edge], tuple[Joint, ...], tuple[Joint, ...]]:
        """Edges by body, the joints of the tree, and those that close loops."""
        edges: dict[str, Edge] = {}
        reached, waiting, used = {GROUND}, list(self.joints), []
        while True:
            joint = next((j for j in waiting if len(_ends(j) & reached) == 1), None)
            if joint is None:
                break
            waiting.remove(joint)
            used.append(joint)
            steps = _steps(joint)
            parent, child = joint.parent.body.name, joint.child.body.name
            if parent in reached:
                edges[child] = Edge(parent, tuple(steps))
            else:
                edges[parent] = Edge(child, tuple(inverted(steps)))
            reached |= {parent, child}
        return edges, tuple(used), tuple(waiting)

    @property
    def loops(self) -> tuple[Joint, ...]:
        """The joints that close loops."""
        return self._tree[2]

    # -- kinematics --------------------------------------------------------------------------------

    @cached_property
    def kinematics(self) -> Kinematics:
        """Twists and poses in joint coordinates."""
        return self._plan("joint").kinematics

    def kinematics_in(self, coordinates: Coordinates) -> Kinematics:
        """Twists and poses in joint or in maximal coordinates."""
        return self._plan(coordinates).kinematics

    def tree(self, coordinates: Coordinates) -> BodyTree:
        """The tree of bodies in joint or in maximal coordinates."""
        return self._plan(coordinates).tree(self)

    def position(self, place: Place) -> Triple:
        """The position of a point in space, in joint coordinates."""
        return self.kinematics.position(as_frame(place, "A position"))

    def velocity(self, place: Place) -> Triple:
        """The velocity of a point in space, in joint coordinates."""
        return self.kinematics.velocity(as_frame(place, "A velocity"))

    def spin(self, place: Place) -> Triple:
        """The angular velocity of a body in space, in joint coordinates."""
        return self.kinematics.spin(as_frame(place, "An angular velocity"))

    def axes(self, place: Place) -> sympy.ImmutableDenseMatrix:
        """The rotation matrix of a frame (columns: its axes in space), in joint coordinates."""
        return sympy.ImmutableDenseMatrix(self.kinematics.axes(as_frame(place, "Axes")).rows)

    # -- starts ------------------------------------------------------------------------------------

    def start(
        self, given: BySymbol[JointStart], coordinates: Coordinates = "joint"
    ) -> dict[str, float]:
        """A start of `simulate` with rotations and twists of joints as coordinates and velocities.

        Parameters
        ----------
        given : mapping
            Numbers by coordinate and velocity; a rotation, by `angles`, `quaternion` or
            `rotation_vector`, by the name of a free or spherical joint; and a `twist` by that name
            with ``_dot``.

        Examples
        --------
        >>> import dalembert as da
        >>> b = da.bodies
        >>> top = b.Mechanism([b.free("top", b.ground(), b.Body("top", 1, inertia=(1, 1, 2)))])
        >>> spinning = {"top": b.angles("x", 0.2), "top_dot": b.twist(spin=(0, 0, 30))}
        >>> start = top.start(spinning)
        >>> round(start["top_qx"], 4), round(start["top_qw_dot"] + start["top_qz_dot"], 4)
        (0.0998, 14.9251)
        """
        return expanded_start(self._plan(coordinates).moving, given)

    def assemble(
        self,
        hold: BySymbol[JointStart] | None = None,
        guess: BySymbol[JointStart] | None = None,
        *,
        parameters: Values | None = None,
        coordinates: Coordinates = "joint",
        search: int = 0,
    ) -> Assembly:
        """Find a configuration in which all loops are closed; see `dalembert.bodies.assemble`."""
        from ...analysis.bodies.assembly import assemble

        return assemble(
            self, hold, guess, parameters=parameters, coordinates=coordinates, search=search
        )

    # -- systems -----------------------------------------------------------------------------------

    def _plan(self, coordinates: Coordinates) -> _Plan:
        if coordinates not in ("joint", "maximal"):
            raise ModelError(
                "Coordinates are those of the joints, or of all bodies",
                seen=repr(coordinates),
                remedy='pass "joint" or "maximal"',
            )
        make = _joint_plan if coordinates == "joint" else _maximal_plan
        plan: _Plan = self.cache.get(coordinates, lambda: make(self))
        return plan

    def _drawing(self, plan: _Plan, forces: tuple[Shape, ...]) -> Drawing | None:
        """The geometry of the bodies, and arrows; large mechanisms without any are not drawn."""
        frames = (frame.body for joint in self.joints for frame in (joint.parent, joint.child))
        grounds = list({body: None for body in frames if body.is_ground and body.shapes})
        bodies = [*grounds[:1], *self.bodies]
        if len(bodies) > MOST_DRAWN and not any(body.shapes for body in bodies):
            return None
        drawing = mechanism_drawing(bodies, self.joints, plan.kinematics)
        return drawing and replace(drawing, shapes=(*drawing.shapes, *forces))

    def system(
        self,
        coordinates: Coordinates = "joint",
        *,
        outputs: Values | None = None,
        points: Sequence[Place] = (),
    ) -> System:
        """The mechanism as a `System`.

        Parameters
        ----------
        coordinates : "joint" or "maximal"
            The coordinates of the joints, with constraints for loops; or position and quaternion of
            every body, ``<body>_x``, ..., ``<body>_qz``, with constraints for all joints.
        outputs : mapping of name to expression
        points : sequence of bodies, points and frames
            Their positions are columns of every motion, ``<name>_x``, ``<name>_y``, ``<name>_z``.
        """
        plan = self._plan(coordinates)
        found = total(plan.contributions(self))
        stated = sympy.Tuple(*found.forces.values(), *found.dissipation, *found.potential)
        inputs = sorted(
            (symbol for symbol in leaves(stated) if isinstance(symbol, Input)),
            key=lambda symbol: symbol.name,
        )
        system = System(
            found.coordinates,
            kinetic=summed(found.kinetic),
            potential=summed(found.potential),
            dissipation=summed(found.dissipation),
            forces=found.forces,
            constraints=found.constraints,
            inputs=inputs,
            outputs={**found.outputs, **_reported(points, plan.kinematics), **(outputs or {})},
            home=found.home,
            name=self.name,
            drawing=self._drawing(plan, found.drawn),
        )
        tree = plan.tree(self)
        return system.with_body_tree(tree) if tree.is_plain else system


@dataclass(frozen=True)
class _Plan:
    """How a mechanism is stated: kinematics, joints with coordinates, and joints as constraints."""

    kinematics: Kinematics
    moving: tuple[Joint, ...]
    closed: tuple[Joint, ...]
    #: Frames of virtual bodies that are welded to a frame, by joint.
    welded: tuple[tuple[str, Frame, Frame], ...]

    def contributions(self, mechanism: Mechanism) -> list[Contribution]:
        """What everything adds to the system."""
        bodies = [of_body(body, self.kinematics) for body in mechanism.bodies]
        count, others = len(self.moving), self.beside_bodies(mechanism)
        return [*others[:count], *bodies, *others[count:]]

    def tree(self, mechanism: Mechanism) -> BodyTree:
        """The bodies, how they hang together, and the Lagrangian of all else."""
        found = total(self.beside_bodies(mechanism))
        others = summed(found.kinetic) - summed(found.potential)
        return BodyTree(self.kinematics.edges, mechanism.bodies, mechanism.gravity, others)

    def beside_bodies(self, mechanism: Mechanism) -> list[Contribution]:
        """What all but the inertia and the weight of bodies adds; moving joints come first."""
        parts = [along_axes(joint) for joint in self.moving]
        residuals = {joint.name: closing(joint, self.kinematics) for joint in self.closed}
        for name, first, second in self.welded:
            residuals[name] = welding(first, second, self.kinematics)
        parts += [Contribution(constraints=numbered(*pair)) for pair in residuals.items()]
        parts += [element.contribution(self.kinematics) for element in mechanism.elements]
        return parts


def _reported(points: Sequence[Place], kinematics: Kinematics) -> dict[str, sympy.Expr]:
    """The positions of places by name."""
    found: dict[str, sympy.Expr] = {}
    for place in points:
        frame = as_frame(place, "A point to report")
        name = place.name
        if not name:
            raise ModelError(
                f"A point to report on `{frame.body.name}` has no name",
                seen=frame.position,
                remedy='pass body.point(position, name="tip")',
            )
        outputs = position_outputs(name, kinematics.position(frame))
        if not found.keys().isdisjoint(outputs):
            raise ModelError(f"Two points are called `{name}`", remedy="name them apart")
        found |= outputs
    return found


def _joint_plan(mechanism: Mechanism) -> _Plan:
    edges, used, loops = mechanism._tree
    return _closing_plan(mechanism, dict(edges), used, loops)


def _maximal_plan(mechanism: Mechanism) -> _Plan:
    ground = Body(GROUND)
    motions = tuple(free(body.name, ground, body) for body in mechanism.bodies)
    edges = {motion.child.body.name: Edge(GROUND, tuple(_steps(motion))) for motion in motions}
    return _closing_plan(mechanism, edges, motions, mechanism.joints)


def _closing_plan(
    mechanism: Mechanism,
    edges: dict[str, Edge],
    moving: tuple[Joint, ...],
    loops: tuple[Joint, ...],
) -> _Plan:
    """A plan in which passive joints close loops without coordinates of their own.

    Where something acts along a joint, its coordinates lead to a body without mass, which is welded
    to the child.
    """
    closed, extra, welded = [], [], []
    named = {
        symbol
        for element in mechanism.elements
        for value in element.expressions()
        for symbol in leaves(value)
    }
    for joint in loops:
        is_named = not named.isdisjoint({*joint.coordinates, *(q.dot for q in joint.coordinates)})
        if joint.kind in HAS_CLOSURE and joint.is_passive and not is_named:
            closed.append(joint)
            continue
        virtual = Body(f"{joint.name}_end")
        edges[virtual.name] = Edge(joint.parent.body.name, (*placing(joint.parent), *joint.steps))
        extra.append(joint)
        welded.append((joint.name, Frame(virtual), joint.child))
    return _Plan(
        Kinematics(edges, mechanism.gravity), (*moving, *extra), tuple(closed), tuple(welded)
    )


def _ends(joint: Joint) -> set[str]:
    return {joint.parent.body.name, joint.child.body.name}


def _steps(joint: Joint) -> list[Step]:
    """The steps from the parent to the child."""
    steps = [*placing(joint.parent), *joint.steps, *inverted(placing(joint.child))]
    return list(with_plane_turns(steps))


def _named(name: str, among: Sequence[Any], what: str) -> Any:
    for each in among:
        if each.name == name:
            return each
    raise ModelError(
        f"There is no {what} `{name}`",
        seen=", ".join(each.name for each in among),
        remedy="use one of these names",
    )
