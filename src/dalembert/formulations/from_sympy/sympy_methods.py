r"""Systems from `sympy.physics.mechanics`: methods, `System`, `JointsMethod`, `SymbolicSystem`.

For Kane's method the kinetic energy comes from the bodies and the generalised forces from the
loads, by partial velocities,

    T = sum_b (m v . v + w . I w) / 2,      Q_j = sum_k W_kj sum_l F_l . dv_l/du_k,

where the kinematic differential equations give the speeds, u = W q_dot + w (`kane_kinematics`).
Inertia forces that Lagrange's equations of T do not contain are added (`kane_inertia`): the
equations are SymPy's, also where the declared velocities and angular velocities are not the rates
of any position or orientation.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.function import AppliedUndef

from ...errors import ModelError
from ...model.atoms import leaves
from ...model.constraints import Constraint, HolonomicConstraint, VelocityConstraint
from ...model.flow_system import Flow
from ...model.forces import rate
from ...model.symbols import Coordinate, as_expression
from ...model.system import System
from .kane_inertia import KaneKinematics, is_particle, mass_point, missing_forces
from .kane_kinematics import check_accelerations, independent_rows, kinematics_of
from .sympy_matrices import flow_of
from .sympy_symbols import Translation

if TYPE_CHECKING:
    from sympy.physics.mechanics import Body, KanesMethod, LagrangesMethod, ReferenceFrame

__all__ = ["from_sympy"]

ZERO = sympy.Integer(0)
#: A velocity in more frames than this is squared by its components in the inertial frame.
MOST_FRAMES = 2

_Bodies = Sequence[object] | None


def from_sympy(
    method: object, name: str = "system", *, bodies: _Bodies = None, loads: _Bodies = None
) -> System | Flow:
    """Read the system that an object of SymPy's mechanics describes.

    Parameters
    ----------
    method : LagrangesMethod, KanesMethod, System, JointsMethod or SymbolicSystem
        Its equations need not be formed. A `System` or `JointsMethod` is read from the method that
        formed its equations, or from Kane's method where none did.
    bodies, loads : sequences, optional
        Those of a `KanesMethod` that was made without them, as `kanes_equations` takes them.

    Returns
    -------
    System or Flow
        A `SymbolicSystem`, and any other method with `mass_matrix_full` and `forcing_full`, becomes
        a `Flow`: it has equations and no energies. The attribute `sympy_names` of the result leads
        back to SymPy's symbols.

    Raises
    ------
    ModelError
        For other objects, for a `KanesMethod` without bodies or kinematic equations, and for
        acceleration constraints that are not the rates of the velocity constraints.

    Warns
    -----
    UserWarning
        Where names of SymPy were changed: those that are not identifiers, or are taken.

    Notes
    -----
    Symbols become parameters. Functions of time that are neither coordinates nor speeds become
    inputs.

    The speeds of Kane's method are outputs of the system, and `simulate` takes them in a start. A
    speed ``u3`` without a coordinate becomes the velocity of a new one, ``u3_integral``. So does an
    auxiliary speed, and a constraint of its name keeps it at zero: the reaction of that constraint
    is the force that the speed brings into evidence. Inputs that only stand for this force in the
    loads are set to zero.

    Dependent speeds become velocity constraints, except those that repeat the rate of a
    configuration constraint.

    Examples
    --------
    >>> from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
    >>> x = dynamicsymbols("x")
    >>> m, k = sympy.symbols("m k")
    >>> system = from_sympy(LagrangesMethod(m*x.diff()**2/2 - k*x**2/2, [x]))
    >>> system.coordinates, system.parameters
    ((x,), (k, m))
    """
    from sympy.physics import mechanics

    if isinstance(method, (mechanics.System, mechanics.JointsMethod)):
        method = _method_of(method)
    made: System | Flow
    if isinstance(method, mechanics.LagrangesMethod):
        made, translation = _from_lagrange(method, name)
    elif isinstance(method, mechanics.KanesMethod):
        made, translation = _from_kane(method, name, bodies, loads)
    else:
        made, translation = flow_of(method, name)
    names = translation.names
    if names.changed:
        changes = ", ".join(f"{old} is {new}" for new, old in names.changed.items())
        warnings.warn(
            f"Names of SymPy were changed, which are not identifiers or are taken: {changes}",
            stacklevel=2,
        )
    return made.with_sympy_names(names)


def _method_of(stated: Any) -> Any:
    """The method behind a system of bodies or joints: Kane's, not formed, where there is none."""
    from sympy.physics import mechanics

    class Unformed(mechanics.KanesMethod):  # type: ignore[misc]
        def _form_eoms(self) -> None:
            """Leave the equations out."""

    if not len(stated.q):
        raise ModelError(
            "SymPy's system has no coordinates", remedy="add a joint that moves, or coordinates"
        )
    attribute = "eom_method" if isinstance(stated, mechanics.System) else "method"
    if getattr(stated, attribute) is None:
        stated = copy.copy(stated)
        stated.form_eoms(Unformed)
    return getattr(stated, attribute)


def _from_lagrange(method: LagrangesMethod, name: str) -> tuple[System, Translation]:
    translation = Translation(method.q)
    plain = translation.in_rates
    configuration = list(method._hol_coneqs)
    on_velocities = list(method.coneqs)[len(configuration) :]
    constraints: list[Constraint] = [HolonomicConstraint(plain(row)) for row in configuration]
    constraints += [VelocityConstraint(plain(row)) for row in on_velocities]
    system = System(
        translation.coordinates,
        lagrangian=plain(method._L[0]),
        constraints=constraints,
        forces=_forces(method.forcelist or [], method.inertial, method.q, translation, {}),
        inputs=translation.inputs,
        name=name,
    )
    return system, translation


def _from_kane(
    method: KanesMethod, name: str, bodies: _Bodies, loads: _Bodies
) -> tuple[System | Flow, Translation]:
    bodies = list(bodies or method.bodies or [])
    loads = list((method.loads if loads is None else loads) or [])
    if method._qdot_u_map is None:
        remedy = "pass kd_eqs=[...] where it is made"
        raise ModelError("The KanesMethod has no kinematic equations", remedy=remedy)
    if not bodies and method._frstar is not None:
        return flow_of(method, name)
    if not bodies:
        remedy = "pass bodies=[...] to from_sympy"
        raise ModelError("The KanesMethod has no bodies", remedy=remedy)
    translation = Translation(method.q, [*method.u, *method._uaux])
    kinematics, unsolved = kinematics_of(method, translation)
    if method._udep and method._k_dnh is not method._k_nh:
        check_accelerations(method, translation, kinematics)
    frame = method._inertial
    energies = [translation.in_rates(_kinetic(body, frame)) for body in bodies]
    kinetic = sum(energies, ZERO)
    forces = _forces(loads, frame, method.q, translation, kinematics.matrix)
    for q, force in missing_forces(kinetic, bodies, frame, translation, kinematics).items():
        forces[q] += force
    system = System(
        translation.coordinates,
        kinetic=kinetic,
        constraints=_constraints(method, translation, kinematics, unsolved),
        forces=forces,
        inputs=_inputs(translation, kinematics, forces),
        outputs={translation.speeds[u].name: value for u, value in kinematics.speeds.items()},
        name=name,
    )
    return system, translation


def _constraints(
    method: KanesMethod,
    translation: Translation,
    kinematics: KaneKinematics,
    unsolved: list[sympy.Expr],
) -> list[Constraint]:
    """Configuration constraints, dependent speeds, and auxiliary speeds that are held at zero."""
    plain = translation.in_rates
    holonomic = [plain(row) for row in method._f_h]
    dependent = list(method._k_nh * method.u + method._f_nh) if method._udep else []
    rows = [*map(plain, dependent), *unsolved]
    known = [rate(row) for row in holonomic]
    found: list[Constraint] = [HolonomicConstraint(row) for row in holonomic]
    found += map(VelocityConstraint, independent_rows(rows, known, translation.coordinates))
    for u, velocity in kinematics.held.items():
        found.append(VelocityConstraint(velocity, translation.speeds[u].name))
    return found


def _inputs(
    translation: Translation, kinematics: KaneKinematics, forces: Mapping[Coordinate, sympy.Expr]
) -> dict[Any, sympy.Expr | None]:
    """The inputs, zero where they act on auxiliary coordinates alone."""
    held = {velocity.coordinate for velocity in kinematics.held.values()}
    acting = {s for q, force in forces.items() if q not in held for s in leaves(force)}
    evident = {s for q in held for s in leaves(forces[q])} - acting
    return {symbol: ZERO if symbol in evident else None for symbol in translation.inputs}


def _kinetic(body: Body, frame: ReferenceFrame) -> sympy.Expr:
    """The kinetic energy of a body, nothing expanded."""
    velocity = mass_point(body).vel(frame)
    if len(velocity.args) <= MOST_FRAMES:
        square = velocity.dot(velocity)
    else:
        square = sum((component**2 for component in velocity.to_matrix(frame)), ZERO)
    energy = as_expression(body.mass) * square / 2
    if is_particle(body):
        return energy
    spin, inertia = body.frame.ang_vel_in(frame), body.central_inertia.args
    along = {axis: spin.dot(axis) for _, *axes in inertia for axis in axes}
    return energy + sum((factor * along[a] * along[b] for factor, a, b in inertia), ZERO) / 2


def _forces(
    loads: Sequence[Any],
    frame: ReferenceFrame,
    coordinates: Sequence[Any],
    translation: Translation,
    matrix: Mapping[Any, Sequence[sympy.Expr]],
) -> dict[Coordinate, sympy.Expr]:
    """Generalised forces of forces at points and torques on frames, in rates or speeds."""
    from sympy.physics.mechanics import Point
    from sympy.physics.vector import Vector

    at_place: dict[Any, Any] = {}
    for place, load in loads:
        at_place[place] = at_place[place] + load if place in at_place else load
    rates = [q.diff(translation.clock) for q in coordinates]
    along: dict[Any, sympy.Expr] = {}
    for place, load in at_place.items():
        velocity = place.vel(frame) if isinstance(place, Point) else place.ang_vel_in(frame)
        parts = [part.atoms(AppliedUndef, sympy.Derivative) for part, _ in velocity.args]
        met = set().union(*parts)
        for speed in (speed for speed in (*rates, *matrix) if speed in met):
            partial = Vector(
                [
                    (part.applyfunc(lambda c, u=speed: c.diff(u)), axes)
                    for part, axes in velocity.args
                ]
            )
            along[speed] = along.get(speed, ZERO) + translation.in_rates(partial.dot(load))
    forces = dict.fromkeys(translation.coordinates, ZERO)
    for q, speed in zip(translation.coordinates, rates, strict=False):
        forces[q] = along.get(speed, ZERO)
    for speed in (speed for speed in matrix if speed in along):
        for q, factor in zip(translation.coordinates, matrix[speed], strict=True):
            forces[q] += factor * along[speed]
    return forces
