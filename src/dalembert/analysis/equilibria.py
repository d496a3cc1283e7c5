r"""The equilibria of a system, all of them, and whether they are stable.

A system without constraints rests at q where the force at rest vanishes,

    L_q(q, 0) + Q(q, 0) = 0.

All solutions in a region are found with proofs (`zeros.find_zeros`). Near one of them the motion is that of

    M x_ddot + G x_dot + K x = 0,      M = L_vv,   G = L_vq - L_qv - Q_v,   K = -L_qq - Q_q.

Without forces the energy is conserved, and its second variation at rest is diag(M, K): where K is definite with M, the
equilibrium is stable (Lagrange and Dirichlet). An eigenvalue with a positive real part makes it unstable. Where neither holds,
linearisation does not tell.

For Routh's function of hinged bodies these are the relative equilibria, where all bodies turn at one rate (Bloch and others,
Supplement, section 3.13): K is then the second variation of the amended potential mu^2 / (2 1^T J 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..errors import FormError, ModelError, RunError
from ..model.scenario import Scenario
from ..model.symbols import t
from ..model.system import System
from ..model.values import numbers_by_name
from .anatomy import read_model
from .tables import Report, Section
from .zeros import Zero, Zeros, find_zeros

__all__ = ["Equilibria", "Equilibrium", "equilibria", "forces_at_rest", "linearised"]

#: Real parts below this part of the largest eigenvalue are rounding.
ROUNDING = 1e-7


@dataclass(frozen=True)
class Equilibrium:
    """A proved equilibrium.

    Attributes
    ----------
    point : dict of coordinate name to float
    radius : float
        The true one differs from `point` by at most this in each coordinate.
    stability : "stable", "asymptotically stable", "unstable" or "undecided"
    eigenvalues : array (2n,) of complex
        Of the linearised motion.
    mass, gyroscopic, stiffness : arrays (n, n)
        M, G and K.
    sign : int
        The sign of det(dF/dq) for the force F at rest.
    """

    point: dict[str, float]
    radius: float
    stability: str
    eigenvalues: Any = field(repr=False)
    mass: Any = field(repr=False)
    gyroscopic: Any = field(repr=False)
    stiffness: Any = field(repr=False)
    sign: int = field(repr=False)

    @property
    def growth_rate(self) -> float:
        """The largest real part of an eigenvalue; 0 where it is rounding."""
        largest = float(np.max(self.eigenvalues.real))
        return largest if largest > ROUNDING * float(np.max(np.abs(self.eigenvalues))) else 0.0

    @property
    def frequencies(self) -> Any:
        """The angular frequencies of oscillations that do not grow, ascending."""
        rounding = ROUNDING * np.max(np.abs(self.eigenvalues))
        turning = (self.eigenvalues.imag > rounding) & (self.eigenvalues.real <= rounding)
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
        lines = [(", ".join(f"{name} = {_neat(number)}" for name, number in e.point.items()), _verdict(e)) for e in self.found]
        number = len(self.zeros.undecided)
        proof = "no others" if self.complete else f"others are possible in {number} box{'es' * (number > 1)}"
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
    parameters: Mapping[Any, float] | None = None,
    within: Mapping[Any, tuple[float, float]] | None = None,
    **search: Any,
) -> Equilibria:
    """All equilibria of a system in a region, each proved to be there, with its stability.

    Parameters
    ----------
    system : System without constraints, or Scenario
        Stated by its Lagrangian, or by kinetic and potential energy.
    parameters : mapping of name to value
    within : mapping of coordinate or name to (low, high)
        Where to look. Angles of which the force has the period 2 pi may be left out.
    **search
        `smallest` and `most_boxes`, see `find_zeros`.

    Raises
    ------
    FormError
        Where the system has constraints, inputs, or forces that depend on time.

    Examples
    --------
    >>> import dalembert as da
    >>> bodies = da.planar_chain(2, masses=[1, 1], inertias=[1, 1], hinges={(1, 2): (1, 0), (2, 1): (-1, 0)})
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
    zeros = find_zeros(forces_at_rest(model), model.coordinates, within, parameters=values, **search)
    return linearised(model, zeros, values)


def linearised(system: System, zeros: Zeros, parameters: Mapping[Any, float]) -> Equilibria:
    """The proved zeros of the force at rest as equilibria, with the motion near each."""
    blocks = _linear_blocks(system, parameters)
    return Equilibria(system, tuple(_equilibrium(system, zero, blocks(zero.point)) for zero in zeros.zeros), zeros)


def forces_at_rest(system: System) -> list[sympy.Expr]:
    """L_q + Q at zero velocities (n,), for a system that can rest."""
    if system.hamiltonian is not None or system.lagrangian is None:
        raise FormError(
            "Equilibria are looked for in Lagrangian systems", seen="a Hamiltonian", remedy="state the system by its energies"
        )
    if system.constraints:
        names = ", ".join(constraint.name for constraint in system.constraints)
        raise FormError(
            "Equilibria are looked for in systems without constraints", seen=names, remedy="choose independent coordinates"
        )
    if system.inputs or any(expression.has(t) for expression in (system.lagrangian, *system.forces.values())):
        raise FormError("A system that is driven in time has no equilibria", remedy="fix its inputs, and time")
    rest = dict.fromkeys(system.velocities, sympy.Integer(0))
    found = []
    for q in system.coordinates:
        slope = sympy.diff(system.lagrangian.xreplace(rest), q) + system.forces.get(q, sympy.Integer(0)).xreplace(rest)
        found.append(slope - sympy.diff(system.dissipation, q.dot).xreplace(rest))
    return found


def _linear_blocks(system: System, parameters: Mapping[Any, float]) -> Any:
    """A function of q that gives M, G, K and whether there are forces without potential."""
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
    others = [letter for letter in algebra.letters if letter not in {*system.coordinates, *system.velocities}]
    names = numbers_by_name(parameters)
    missing = [letter.name for letter in others if letter.name not in names]
    if missing:
        raise ModelError("Parameters have no value", seen=", ".join(missing), remedy="pass parameters={name: value}")
    values = np.array([names[letter.name] for letter in others])
    function = ca.Function("blocks", [q, v, algebra.vector(others)], [ca.densify(block) for block in blocks])
    rest = np.zeros(len(system.coordinates))
    return lambda point: [np.array(block, dtype=float) for block in function(point, rest, values)]


def _equilibrium(system: System, zero: Zero, blocks: list[Any]) -> Equilibrium:
    mass, gyroscopic, stiffness = blocks
    n = len(mass)
    try:
        lower = -np.linalg.solve(mass, np.hstack([stiffness, gyroscopic]))
    except np.linalg.LinAlgError:
        raise RunError(
            "The mass matrix is singular at an equilibrium", seen=zero.point.tolist(), remedy="choose other coordinates"
        ) from None
    values = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower]))
    free = not system.forces and system.dissipation == 0
    point = {q.name: float(x) for q, x in zip(system.coordinates, zero.point, strict=True)}
    stability = _stability(mass, stiffness, values, free)
    return Equilibrium(point, float(np.max(zero.radius)), stability, values, mass, gyroscopic, stiffness, zero.sign)


def _stability(mass: Any, stiffness: Any, values: Any, free: bool) -> str:
    rounding = ROUNDING * max(float(np.max(np.abs(values))), 1e-300)
    if np.max(values.real) > rounding:
        return "unstable"
    if free:
        energies = [np.linalg.eigvalsh((part + part.T) / 2) for part in (mass, stiffness)]
        both = np.concatenate([energy / np.max(np.abs(energy)) for energy in energies if np.any(energy)])
        definite = np.all(both > ROUNDING) or np.all(both < -ROUNDING)
        return "stable" if definite and all(np.any(energy) for energy in energies) else "undecided"
    return "asymptotically stable" if np.max(values.real) < -rounding else "undecided"
