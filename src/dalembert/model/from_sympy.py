"""Systems from `sympy.physics.mechanics`: a `LagrangesMethod` or a `KanesMethod` becomes a `System`.

For Kane's method the kinetic energy comes from the bodies and the generalised forces from the loads, by partial
velocities,

    T = sum_b (m v . v + w . I w) / 2,      Q_j = sum_k F_k . dv_k/dq_dot_j,

with the speeds u replaced by q_dot through the kinematic differential equations. Kane's equations hold also where a
velocity is not the rate of any position, as for a disk whose rolling is built into the velocity of its centre.
Lagrange's equations of T then miss the force

    G_j = d/dt dT/dq_dot_j - dT/dq_j - sum_b (m a . dv/dq_dot_j + dh/dt . dw/dq_dot_j),      h = I w,

which is added where it does not vanish.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from ..errors import ExpressionError, ModelError
from .constraints import Constraint, HolonomicConstraint, VelocityConstraint
from .expressions import evaluate
from .forces import rate
from .symbols import Coordinate, Input, t
from .system import System

__all__ = ["from_sympy"]

#: A difference smaller than this fraction of its terms counts as zero at a random state.
NEGLIGIBLE = 1e-9
RANDOM_STATES = 3


def from_sympy(method: Any, name: str = "system") -> System:
    """The system that a SymPy `LagrangesMethod` or `KanesMethod` describes.

    Symbols become parameters, dynamic symbols that are not coordinates become inputs. Dependent speeds of Kane's method
    become velocity constraints, except those that repeat the rate of a configuration constraint.

    Raises
    ------
    ModelError
        For other objects, for auxiliary speeds, and for a `KanesMethod` without bodies or kinematic equations.

    Examples
    --------
    >>> from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
    >>> x = dynamicsymbols("x")
    >>> m, k = sympy.symbols("m k")
    >>> system = from_sympy(LagrangesMethod(m*x.diff()**2/2 - k*x**2/2, [x]))
    >>> system.coordinates, system.parameters
    ((x,), (k, m))
    """
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod

    if isinstance(method, LagrangesMethod):
        return _from_lagrange(method, name)
    if isinstance(method, KanesMethod):
        return _from_kane(method, name)
    raise ModelError(
        "from_sympy takes a LagrangesMethod or a KanesMethod", seen=type(method).__name__, remedy="pass one of these"
    )


def _from_lagrange(method: Any, name: str) -> System:
    letters = _Letters(method.q, {})
    configuration = list(method._hol_coneqs)
    on_velocities = list(method.coneqs)[len(configuration) :]
    constraints: list[Constraint] = [HolonomicConstraint(letters.plain(equation)) for equation in configuration]
    constraints += [VelocityConstraint(letters.plain(equation)) for equation in on_velocities]
    return System(
        letters.coordinates,
        lagrangian=letters.plain(method._L[0]),
        constraints=constraints,
        forces=_generalised_forces(method.forcelist or [], method.inertial, letters),
        inputs=letters.inputs,
        name=name,
    )


def _from_kane(method: Any, name: str) -> System:
    if method._uaux:
        raise ModelError(
            "The KanesMethod has auxiliary speeds",
            seen=", ".join(map(str, method._uaux)),
            remedy="leave them out; every motion reports its reactions",
        )
    if not method.bodies:
        raise ModelError("The KanesMethod has no bodies", remedy="pass bodies=[...] where it is made")
    if method._qdot_u_map is None:
        raise ModelError("The KanesMethod has no kinematic equations", remedy="pass kd_eqs=[...] where it is made")
    speeds, unsolved = _speeds_by_rates(method)
    letters = _Letters(method.q, speeds)
    frame = method._inertial
    kinetic = sum((letters.plain(body.kinetic_energy(frame)) for body in method.bodies), sympy.Integer(0))
    forces = _generalised_forces(method.loads or [], frame, letters)
    for q, force in _missing_forces(kinetic, method.bodies, frame, letters).items():
        forces[q] += force
    holonomic = [letters.plain(equation) for equation in method._f_h]
    dependent = list(method._k_nh * method.u + method._f_nh) if method._f_nh else []
    on_velocities = [letters.plain(equation) for equation in [*dependent, *unsolved]]
    known = [rate(equation) for equation in holonomic]
    constraints: list[Constraint] = [HolonomicConstraint(equation) for equation in holonomic]
    constraints += [VelocityConstraint(row) for row in _independent(on_velocities, known, letters.coordinates)]
    return System(
        letters.coordinates,
        kinetic=kinetic,
        constraints=constraints,
        forces=forces,
        inputs=letters.inputs,
        name=name,
    )


class _Letters:
    """Takes dynamic symbols to plain letters: q(t) to a coordinate, u(t) to its expression in the rates of q(t).

    `inputs` grows with every other dynamic symbol that turns up.
    """

    def __init__(self, dynamic: Iterable[Any], speeds: Mapping[Any, Any]) -> None:
        clock = _clock()
        self.dynamic = list(dynamic)
        self.rates = [q.diff(clock) for q in self.dynamic]
        self.coordinates = [Coordinate(q.func.__name__) for q in self.dynamic]
        self.by_rates = {**speeds, **{u.diff(clock): value.diff(clock) for u, value in speeds.items()}}
        self.inputs: list[Input] = []
        self._plain: dict[Any, Any] = {clock: t}
        for q, plain in zip(self.dynamic, self.coordinates, strict=True):
            self._plain |= {q: plain, q.diff(clock): plain.dot, q.diff(clock, 2): plain.ddot}

    def plain(self, expression: Any) -> Any:
        """The expression, or the matrix, in plain letters."""
        expression = expression.doit().xreplace(self.by_rates)
        rest = {found for found in expression.atoms(AppliedUndef) if found not in self._plain}
        changing = sorted(map(str, {d for d in expression.atoms(sympy.Derivative) if d.expr in rest}))
        if changing:
            raise ModelError(
                f"The rates of inputs have no letter: {', '.join(changing)}", remedy="give the rate a symbol of its own"
            )
        for found in sorted(rest, key=str):
            symbol = Input(found.func.__name__)
            self._plain[found] = symbol
            self.inputs.append(symbol)
        return expression.xreplace(self._plain)

    def partial(self, vector: Any, index: int, frame: Any) -> Any:
        """The partial velocity dv/dq_dot_j, a SymPy vector."""
        return vector.xreplace(self.by_rates).diff(self.rates[index], frame, var_in_dcm=False)

    def at_rest_acceleration(self, expression: Any) -> Any:
        """The expression with all accelerations of coordinates set to zero."""
        return expression.xreplace({q.ddot: sympy.Integer(0) for q in self.coordinates})


def _clock() -> Any:
    from sympy.physics.mechanics import dynamicsymbols

    return dynamicsymbols._t


def _speeds_by_rates(method: Any) -> tuple[dict[Any, Any], list[Any]]:
    """The speeds as expressions of the rates, and the kinematic equations that were not needed to find them.

    Solves k_u u + k_q q_dot + f = 0 for u, where the rows of k_u that are used are independent at random states.
    """
    on_speeds, on_rates = method._k_ku_implicit, method._k_kqdot_implicit
    rest = on_rates * method.q.diff(_clock()) + method._f_k_implicit
    letters = _Letters([*method.q, *method.u], {})
    plain = letters.plain(on_speeds)
    sample = _random_values([plain], random.Random(0))
    numbers = np.array([[evaluate(entry, sample) for entry in row] for row in plain.tolist()])
    rows: list[int] = []
    for row in range(on_speeds.rows):
        if np.linalg.matrix_rank(numbers[[*rows, row]]) == len(rows) + 1:
            rows.append(row)
    if len(rows) != len(method.u):
        raise ModelError(
            "The kinematic equations do not determine the speeds",
            seen=f"{len(rows)} independent equations for {len(method.u)} speeds",
            remedy="give each speed its meaning in kd_eqs",
        )
    solution = on_speeds.extract(rows, list(range(len(method.u)))).LUsolve(-rest.extract(rows, [0]))
    speeds = dict(zip(method.u, solution, strict=True))
    others = [row for row in range(on_speeds.rows) if row not in rows]
    return speeds, [(on_speeds * method.u + rest)[row] for row in others]


def _generalised_forces(loads: Sequence[Any], frame: Any, letters: _Letters) -> dict[Coordinate, Any]:
    """Q_j = sum_k F_k . dv_k/dq_dot_j over forces at points and torques on frames."""
    from sympy.physics.mechanics import Point

    forces: dict[Coordinate, Any] = dict.fromkeys(letters.coordinates, sympy.Integer(0))
    for place, load in loads:
        moving = place.vel(frame) if isinstance(place, Point) else place.ang_vel_in(frame)
        for index, q in enumerate(letters.coordinates):
            forces[q] += letters.plain(letters.partial(moving, index, frame).dot(load))
    return forces


def _missing_forces(kinetic: Any, bodies: Sequence[Any], frame: Any, letters: _Letters) -> dict[Coordinate, Any]:
    """The forces G_j of the module's docstring that do not vanish."""
    missing = {}
    source = random.Random(1)
    for index, q in enumerate(letters.coordinates):
        momentum = kinetic.diff(q.dot)
        lagrange = _rate_of_momentum(momentum, letters.coordinates) - kinetic.diff(q)
        kane = sum((_inertia_along(body, index, frame, letters) for body in bodies), sympy.Integer(0))
        if not _agree(lagrange, kane, source):
            missing[q] = lagrange - kane
    return missing


def _rate_of_momentum(momentum: Any, coordinates: Sequence[Coordinate]) -> Any:
    """dp/dt along a motion without accelerations."""
    return momentum.diff(t) + sum(momentum.diff(q) * q.dot for q in coordinates)


def _inertia_along(body: Any, index: int, frame: Any, letters: _Letters) -> Any:
    """m a . dv/dq_dot_j + dh/dt . dw/dq_dot_j of a body whose accelerations vanish."""
    from sympy.physics.mechanics import Particle

    point = body.point if isinstance(body, Particle) else body.masscenter
    along = letters.partial(point.vel(frame), index, frame).dot(point.acc(frame)) * body.mass
    if not isinstance(body, Particle):
        spin = body.frame.ang_vel_in(frame)
        along += letters.partial(spin, index, frame).dot(body.central_inertia.dot(spin).dt(frame))
    return letters.at_rest_acceleration(letters.plain(along))


def _random_values(expressions: Iterable[Any], source: random.Random) -> dict[Any, float]:
    letters = sorted({symbol for expression in expressions for symbol in expression.free_symbols}, key=str)
    return {symbol: source.uniform(0.3, 1.3) for symbol in letters}


def _agree(first: Any, second: Any, source: random.Random) -> bool:
    """Whether two expressions have the same value at random states; no, where they cannot be evaluated."""
    for _ in range(RANDOM_STATES):
        sample = _random_values((first, second), source)
        try:
            values = evaluate(first, sample), evaluate(second, sample)
        except ExpressionError:
            return False
        if abs(values[0] - values[1]) > NEGLIGIBLE * (1.0 + max(map(abs, values))):
            return False
    return True


def _independent(rows: Sequence[Any], known: Sequence[Any], coordinates: Sequence[Coordinate]) -> list[Any]:
    """The velocity equations that do not follow, at random states, from `known` ones and those kept before."""
    rates = [q.dot for q in coordinates]
    source = random.Random(2)
    samples = [_random_values((*rows, *known), source) for _ in range(RANDOM_STATES)]

    def numbers(equation: Any) -> Any:
        parts = [
            *(equation.diff(velocity) for velocity in rates),
            equation.xreplace(dict.fromkeys(rates, sympy.S.Zero)),
        ]
        return np.array([[evaluate(part, sample) for part in parts] for sample in samples])

    kept: list[Any] = []
    stacked = [numbers(equation) for equation in known]
    for equation in rows:
        candidate = [*stacked, numbers(equation)]
        if any(np.linalg.matrix_rank([row[k] for row in candidate]) == len(candidate) for k in range(RANDOM_STATES)):
            kept.append(equation)
            stacked = candidate
    return kept
