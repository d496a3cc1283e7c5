r"""The equilibria of a system, all of them, and whether they are stable.

A system with constraints phi(q) = 0 and A(q) q_dot = 0 rests at q where a reaction balances the
force at rest,

    m_0 (L_q(q, 0) + Q(q, 0)) + phi_q^T m_1 + A^T m_2 = 0,    phi(q) = 0,    m_0^2 + |m|^2 = 1.

The multipliers are homogeneous, so that they are bounded; where m_0 = 0 the constraints lose rank.
Constraints on velocities make families of equilibria, one dimension for each: as many coordinates
are held. All solutions in a region are found with proofs (`zeros.find_zeros`); the motion near each
is linearised on the constraints, and judged as by `stability`. Without constraints it is that of

    M x_ddot + G x_dot + K x = 0,      M = L_vv,   G = L_vq - L_qv - Q_v,   K = -L_qq - Q_q.

For Routh's function of hinged bodies these are the relative equilibria, where all bodies turn at
one rate (Bloch and others, Supplement, section 3.13): K is then the second variation of the amended
potential mu^2 / (2 1^T J 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Unpack

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import FormError, ModelError
from ...model.scenario import Scenario
from ...model.symbols import t
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Array, ComplexArray, Ranges, Values
from ..anatomy import read_model
from ..proofs.zeros import SearchOptions, Zero, Zeros, find_zeros
from ..tables import Report, Section
from .linearisation import LinearPoint
from .stability import judged

__all__ = [
    "Equilibria",
    "Equilibrium",
    "RestConditions",
    "equilibria",
    "forces_at_rest",
    "linearised",
]
__all__ += ["rest_conditions"]


@dataclass(frozen=True)
class Equilibrium:
    """A proved equilibrium.

    Attributes
    ----------
    point : dict of coordinate name to float
    radius : float
        The true one differs from `point` by at most this in each coordinate.
    stability : "stable", "asymptotically stable", "unstable" or "not established"
    theorem : str
        What this rests on, or why nothing is known.
    eigenvalues : array (d,) of complex
        Of the linearised motion on the constraints; d = 2n without constraints.
    errors : array (d,)
        Bounds of their rounding errors.
    mass, gyroscopic, stiffness : arrays (n, n)
        M, G and K, without the reactions of constraints.
    sign : int
        Of det(dF/dq) for the force F at rest, or of the Jacobian of all conditions.
    """

    point: dict[str, float]
    radius: float
    stability: str
    theorem: str = field(repr=False)
    eigenvalues: ComplexArray = field(repr=False)
    errors: Array = field(repr=False)
    mass: Array = field(repr=False)
    gyroscopic: Array = field(repr=False)
    stiffness: Array = field(repr=False)
    sign: int = field(repr=False)

    @property
    def growth_rate(self) -> float:
        """The largest real part of an eigenvalue; 0 where it is not above its error."""
        k = int(np.argmax(self.eigenvalues.real)) if len(self.eigenvalues) else None
        if k is not None and self.eigenvalues.real[k] > self.errors[k]:
            return float(self.eigenvalues.real[k])
        return 0.0

    @property
    def frequencies(self) -> Array:
        """The angular frequencies of oscillations that do not grow, ascending."""
        turning = (self.eigenvalues.imag > self.errors) & (self.eigenvalues.real <= self.errors)
        return np.sort(self.eigenvalues[turning].imag)


@dataclass(frozen=True, repr=False)
class Equilibria(Report):
    """The equilibria of a system in a region; see `equilibria`.

    Attributes
    ----------
    system : System
    found : tuple of Equilibrium
    zeros : Zeros
        What proves them, with the boxes that are undecided.
    """

    system: System
    found: tuple[Equilibrium, ...]
    zeros: Zeros = field(repr=False)

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no others in the region."""
        return self.zeros.complete

    @property
    def stable(self) -> tuple[Equilibrium, ...]:
        """Those that are stable."""
        return tuple(e for e in self.found if e.stability in ("stable", "asymptotically stable"))

    def __len__(self) -> int:
        return len(self.found)

    def _title(self) -> str:
        return self.system.name

    def _sections(self) -> list[Section]:
        lines = []
        for e in self.found:
            point = ", ".join(f"{name} = {_neat(number)}" for name, number in e.point.items())
            lines.append((point, _verdict(e)))
        number, proof = len(self.zeros.undecided), "no others"
        if number:
            proof = f"others are possible in {number} box{'es' * (number > 1)}"
        return [("Equilibria", lines), ("Proof", [("complete", proof)])]


def _neat(number: float) -> str:
    return f"{0.0 if abs(number) < 1e-9 else number:.6g}"


def _verdict(e: Equilibrium) -> str:
    parts = [e.stability]
    if e.growth_rate:
        parts.append(f"growth rate {e.growth_rate:.6g}")
    if len(e.frequencies):
        parts.append("frequencies " + ", ".join(f"{w:.6g}" for w in e.frequencies))
    return "; ".join(parts)


def equilibria(
    system: System | Scenario,
    parameters: Values | None = None,
    within: Ranges | None = None,
    fixed: Values | None = None,
    **search: Unpack[SearchOptions],
) -> Equilibria:
    """All equilibria of a system in a region, each proved to be there, with its stability.

    Parameters
    ----------
    system : System or Scenario
        Stated by its Lagrangian, or by kinetic and potential energy. Constraints are holonomic, or
        linear and homogeneous in the velocities.
    parameters : mapping of name to value
    within : mapping of coordinate or name to (low, high)
        Where to look. Angles of which the force has the period 2 pi may be left out.
    fixed : mapping of coordinate or name to value
        Held coordinates, one for each constraint on velocities: these make families of equilibria.
    **search
        `smallest` and `most_boxes`, see `find_zeros`.

    Raises
    ------
    FormError
        Where the system has inputs, forces that depend on time, or other constraints.

    Examples
    --------
    >>> import dalembert as da
    >>> hinges = {(1, 2): (1, 0), (2, 1): (-1, 0)}
    >>> bodies = da.planar_chain(2, masses=[1, 1], inertias=[1, 1], hinges=hinges)
    >>> print(equilibria(bodies.reduced_system(), {"mu": 2.0}))
    Hinges of 2 planar bodies
    <BLANKLINE>
    Equilibria
      theta_21 = 0        stable; frequencies 0.5
      theta_21 = 3.14159  unstable; growth rate 0.707107
    <BLANKLINE>
    Proof
      complete            no others
    """
    model, values, _ = read_model(system, parameters, None)
    conditions = rest_conditions(model, fixed)
    region = {**(within or {}), **conditions.bounds}
    f, x = conditions.equations, conditions.symbols
    zeros = find_zeros(f, x, region, parameters=values, **search)
    return linearised(model, conditions.regular(zeros), values, conditions.held)


def linearised(
    system: System,
    zeros: Zeros,
    parameters: Mapping[str, float],
    held: Mapping[sympy.Symbol, float] | None = None,
) -> Equilibria:
    """The proved zeros of the conditions of rest as equilibria, with the motion near each."""
    blocks, still = _linear_blocks(system, parameters), held or {}
    found = tuple(
        _equilibrium(system, zero, zeros.symbols, blocks, parameters, still) for zero in zeros.zeros
    )
    return Equilibria(system, found, zeros)


@dataclass(frozen=True)
class RestConditions:
    """As many equations as symbols, whose zeros are the equilibria of a system.

    Attributes
    ----------
    equations : list of expressions (k,)
    symbols : tuple of symbols (k,)
        The coordinates that are not held, then multipliers where there are constraints.
    bounds : dict of multiplier to (low, high)
    held : dict of coordinate to float
    """

    equations: list[sympy.Expr]
    symbols: tuple[sympy.Symbol, ...]
    bounds: dict[sympy.Symbol, tuple[float, float]]
    held: dict[sympy.Symbol, float]

    def regular(self, zeros: Zeros) -> Zeros:
        """The zeros where the constraints have full rank; others are undecided, as equilibria."""
        if not self.bounds:
            return zeros
        k = zeros.symbols.index(next(iter(self.bounds)))
        good = [zero for zero in zeros.zeros if zero.point[k] > zero.radius[k]]
        bad = [zero for zero in zeros.zeros if zero.point[k] <= zero.radius[k]]
        boxes = [(zero.point - zero.radius, zero.point + zero.radius) for zero in bad]
        more = np.array(boxes).reshape(len(bad), 2, len(zeros.symbols))
        undecided = np.concatenate([zeros.undecided, more])
        return Zeros(zeros.symbols, tuple(good), undecided, zeros.examined)


def rest_conditions(system: System, fixed: Values | None = None) -> RestConditions:
    """The conditions of rest of a system, with multipliers where it has constraints."""
    force = forces_at_rest(system, constrained=True)
    held = _held(system, fixed)
    rest = dict.fromkeys(system.velocities, sympy.Integer(0))
    rows, levels = [], []
    for constraint in system.constraints:
        if constraint.is_position_level:
            rows.append([sympy.diff(constraint.expression, q) for q in system.coordinates])
            levels.append(constraint.expression)
            continue
        row = [sympy.diff(constraint.expression, v) for v in system.velocities]
        linear = constraint.is_velocity_level and not any(e.has(*system.velocities) for e in row)
        homogeneous = sympy.simplify(constraint.expression.xreplace(rest)) == 0
        if not linear or not homogeneous or not constraint.is_ideal:
            raise FormError(
                "Equilibria are looked for under holonomic constraints, and ideal ones that are"
                " linear in the velocities",
                seen=f"`{constraint.name}`",
                remedy="choose independent coordinates, or look near a point with da.stability",
            )
        rows.append(row)
    number = len(rows) - len(levels)
    if len(held) != number:
        names = ", ".join(q.name for q in system.coordinates)
        raise FormError(
            "Each constraint on velocities makes a family of equilibria, and is matched by a"
            " coordinate that is held",
            seen=f"{number} such constraints, {len(held)} coordinates held",
            remedy=f"pass fixed={{coordinate: value}} for {number} of {names}",
        )
    symbols = tuple(q for q in system.coordinates if q not in held)
    if not rows:
        return RestConditions(force, symbols, {}, held)
    multipliers = [sympy.Dummy(f"multiplier {k}", real=True) for k in range(len(rows) + 1)]
    balance = []
    for k, f in enumerate(force):
        terms = zip(multipliers[1:], rows, strict=True)
        balance.append(multipliers[0] * f + sympy.Add(*(m * row[k] for m, row in terms)))
    equations = [*balance, *levels, sympy.Add(*(m**2 for m in multipliers)) - 1]
    values = {q: sympy.Float(x) for q, x in held.items()}
    bounds = dict.fromkeys(multipliers, (-1.0 - 0.001, 1.0 + 0.001))
    bounds[multipliers[0]] = (-1e-6, 1.0 + 1e-3)
    fixed_equations = [equation.xreplace(values) for equation in equations]
    return RestConditions(fixed_equations, (*symbols, *multipliers), bounds, held)


def _held(system: System, fixed: Values | None) -> dict[sympy.Symbol, float]:
    by_name = {q.name: q for q in system.coordinates}
    given = numbers_by_name(fixed)
    strange = [name for name in given if name not in by_name]
    if strange:
        what = f"There is no coordinate `{strange[0]}` to hold"
        raise ModelError(what, seen=", ".join(by_name), remedy="hold one of these")
    return {by_name[name]: value for name, value in given.items()}


def forces_at_rest(system: System, constrained: bool = False) -> list[sympy.Expr]:
    """L_q + Q at zero velocities (n,), for a system that can rest."""
    if system.hamiltonian is not None or system.lagrangian is None:
        remedy = "state the system by its energies"
        raise FormError("Equilibria are looked for in Lagrangian systems", "a Hamiltonian", remedy)
    if system.constraints and not constrained:
        names = ", ".join(constraint.name for constraint in system.constraints)
        remedy = "choose independent coordinates"
        raise FormError("Equilibria are looked for in systems without constraints", names, remedy)
    energies = (system.lagrangian, system.dissipation)
    constraints = (constraint.expression for constraint in system.constraints)
    stated = (*energies, *system.forces.values(), *constraints)
    if system.inputs or any(expression.has(t) for expression in stated):
        remedy = "fix its inputs, and time"
        raise FormError("A system that is driven in time has no equilibria", remedy=remedy)
    rest, found = dict.fromkeys(system.velocities, sympy.Integer(0)), []
    for q in system.coordinates:
        force = system.forces.get(q, sympy.Integer(0)).xreplace(rest)
        derivative = sympy.diff(system.lagrangian.xreplace(rest), q) + force
        found.append(derivative - sympy.diff(system.dissipation, q.dot).xreplace(rest))
    return found


def _linear_blocks(
    system: System, parameters: Mapping[str, float]
) -> Callable[[Array], list[Array]]:
    """A function of q that gives M, G and K."""
    algebra = GraphAlgebra()
    lagrangian = algebra.scalar(system.lagrangian)
    q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
    force = algebra.vector([system.forces.get(c, sympy.Integer(0)) for c in system.coordinates])
    force = force - ca.gradient(algebra.scalar(system.dissipation), v)
    momentum = ca.gradient(lagrangian, v)
    mixed = ca.jacobian(momentum, q)
    blocks = [
        ca.jacobian(momentum, v),
        mixed - mixed.T - ca.jacobian(force, v),
        -ca.jacobian(ca.gradient(lagrangian, q), q) - ca.jacobian(force, q),
    ]
    own = {*system.coordinates, *system.velocities}
    others = [symbol for symbol in algebra.symbols if symbol not in own]
    names = numbers_by_name(parameters)
    missing = [symbol.name for symbol in others if symbol.name not in names]
    if missing:
        remedy = "pass parameters={name: value}"
        raise ModelError("Parameters have no value", ", ".join(missing), remedy)
    values = np.array([names[symbol.name] for symbol in others])
    dense = [ca.densify(block) for block in blocks]
    function = ca.Function("blocks", [q, v, algebra.vector(others)], dense)
    rest = np.zeros(len(system.coordinates))
    return lambda point: [np.array(block, dtype=float) for block in function(point, rest, values)]


def _equilibrium(
    system: System,
    zero: Zero,
    symbols: tuple[sympy.Symbol, ...],
    blocks: Callable[[Array], list[Array]],
    parameters: Mapping[str, float],
    held: Mapping[sympy.Symbol, float],
) -> Equilibrium:
    values = {**held, **dict(zip(symbols, map(float, zero.point), strict=True))}
    point = {q.name: values[q] for q in system.coordinates}
    still = point | {v.name: 0.0 for v in system.velocities}
    verdict = judged(LinearPoint(system, still, parameters, polish=False))
    line = verdict.linearisation
    mass, gyroscopic, stiffness = blocks(np.array(list(point.values())))
    radii = zip(symbols, zero.radius, strict=True)
    radius = max(float(r) for symbol, r in radii if symbol in system.coordinates)
    theorem, spectrum = verdict.theorem, (line.eigenvalues, line.errors)
    near = (*spectrum, mass, gyroscopic, stiffness)
    return Equilibrium(point, radius, verdict.verdict, theorem, *near, zero.sign)
