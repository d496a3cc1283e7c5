r"""Relative periodic orbits: motions that close up to an element of a symmetry group.

    x(T) = Phi_g x(0),       g = exp(xi^a e_a)

for generators with affine fields, K_a = A_a x + c_a: shifts of cyclic coordinates, rotations of
Cartesian ones. Shooting solves for x(0), the period T and the drift xi. Along integrals I_k of the
motion the residual of the closing condition is of second order, so that it is taken on the
complement of their gradients, and their values are held instead:

    P^T (x(T) - Phi_g x(0)) = 0,    I_k(x(0)) = I_k,    f . dx(0) = 0,    K_a . dx(0) = 0

The derivative of x(T) comes from the variational equations along the steps of the motion, in native
code (`sensitivities`). The relative monodromy matrix is Phi_g^-1 dx(T)/dx(0), its eigenvalues are
the Floquet multipliers (Bloch and others, Supplement, end of 3.13). Continuation in a parameter
follows the curve of solutions by pseudo-arclength, round folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...errors import ModelError
from ...model.flow_system import Flow
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Array, ComplexArray, Expression, Fields, Symbol, Values
from ..tables import Report, Section
from .orbit_shooting import Shooting

__all__ = ["RelativeOrbit", "orbit_record", "relative_periodic_orbit"]

#: Multipliers this near to the unit circle are on it: a defective 1 is known to a root of rounding.
ON_CIRCLE = 1e-4


@dataclass(frozen=True, repr=False, eq=False)
class RelativeOrbit(Report):
    """A relative periodic orbit with its multipliers.

    Attributes
    ----------
    names : tuple of str (n,)
        The state.
    start : array (n,)
    period : float
    drift : dict of name to float
        xi, by generator.
    integrals : dict of name to float
        Values of the integrals along the orbit.
    monodromy : array (n, n)
        Relative to the group: Phi_g^-1 dx(T)/dx(0).
    multipliers : array of complex (n,)
        By modulus, largest first. 1 occurs for the flow, each generator and each integral.
    residual : float
        What is left of the closing condition.
    stability : "unstable" or "not established"
    parameters : dict of name to float
    """

    names: tuple[str, ...]
    start: Array
    period: float
    drift: dict[str, float]
    integrals: dict[str, float]
    monodromy: Array
    multipliers: ComplexArray
    residual: float
    stability: str
    parameters: dict[str, float]
    problem: Shooting = field(repr=False)

    def _title(self) -> str:
        return "Relative periodic orbit"

    def _sections(self) -> list[Section]:
        pairs = zip(self.names, self.start, strict=True)
        lines = [("start", ", ".join(f"{name} = {value:.8g}" for name, value in pairs))]
        lines += [("period", f"{self.period:.12g}")]
        lines += [(f"drift of {name}", f"{value:.10g}") for name, value in self.drift.items()]
        lines += [(name, f"{value:.10g}") for name, value in self.integrals.items()]
        shown = ", ".join(f"{value:.6g}" for value in self.multipliers)
        found = [("multipliers", shown), ("stability", self.stability)]
        return [("Orbit", lines), ("Floquet", found)]


def relative_periodic_orbit(
    model: System | Flow,
    start: Values,
    period: float,
    *,
    drift: Sequence[Symbol] | Fields = (),
    parameters: Values | None = None,
    integrals: Mapping[str, Expression] | None = None,
    hold: Mapping[str, float] | None = None,
) -> RelativeOrbit:
    """The relative periodic orbit near a start, by shooting with group drift.

    Parameters
    ----------
    model : System without constraints and forces on time, or Flow
    start : mapping of symbol to value
        Near the orbit; what is missing is zero.
    period : float
        Near the period.
    drift : sequence of cyclic coordinates, or mapping of name to affine field
        The generators of the group, {"turn": {x: -y, y: x}}.
    integrals : mapping of name to expression
        First integrals. By default the energy and the momenta of the generators of a system whose
        forces are all in its energies, or those that a flow names.
    hold : mapping of name to value
        Values of integrals; those of the start by default.

    Raises
    ------
    ModelError
        For constraints, equations that depend on time, and fields that are not affine.
    RunError
        Where Newton's method does not converge.

    Examples
    --------
    A spring pendulum in the plane, in polar coordinates: the angle may drift.

    >>> import dalembert as da
    >>> r, phi = da.coordinates("r phi")
    >>> spring = da.System([r, phi], kinetic=(r.dot**2 + r**2*phi.dot**2)/2, potential=(r - 1)**2)
    >>> found = relative_periodic_orbit(spring, {r: 1.5, phi.dot: 0.6}, 3.4, drift=[phi])
    >>> found.residual < 1e-9, 3 < found.period < 4, round(float(abs(found.multipliers[0])), 3)
    (True, True, 1.0)
    """
    problem = Shooting.read(model, drift, parameters, integrals)
    given = numbers_by_name(start)
    strange = [name for name in given if name not in problem.names]
    if strange or not period > 0:
        remedy = f"use {', '.join(problem.names)}, and a positive period"
        raise ModelError("The start cannot be used", ", ".join(strange) or str(period), remedy)
    first = np.array([given.get(name, 0.0) for name in problem.names])
    levels = problem.levels(first, problem.parameters)
    for name, value in numbers_by_name(hold).items():
        if name not in problem.integrals:
            remedy = f"name some of {', '.join(problem.integrals) or 'none'}"
            raise ModelError("There is no such integral to be held", name, remedy)
        levels[problem.integrals.index(name)] = value
    unknowns = np.concatenate([first, [float(period)], problem.first_drift(first, float(period))])
    unknowns = problem.solved(unknowns, levels, problem.parameters)
    return orbit_record(problem, unknowns, problem.parameters)


def orbit_record(
    problem: Shooting, unknowns: Array, parameters: Mapping[str, float]
) -> RelativeOrbit:
    """The record of a closed orbit."""
    n = len(problem.names)
    x, period, xi = unknowns[:n], float(unknowns[n]), unknowns[n + 1 :]
    end, by_start, _ = problem.flow(x, period, parameters)
    g = problem.element(xi)
    moved = (g @ np.append(x, 1.0))[:-1]
    monodromy = np.asarray(np.linalg.solve(g[:-1, :-1], by_start), dtype=float)
    multipliers = np.linalg.eigvals(monodromy).astype(complex)
    multipliers = multipliers[np.argsort(-np.abs(multipliers), kind="stable")]
    levels = problem.levels(x, parameters)
    unstable = np.abs(multipliers[0]) > 1 + ON_CIRCLE
    return RelativeOrbit(
        names=problem.names,
        start=x,
        period=period,
        drift=dict(zip(problem.generators, map(float, xi), strict=True)),
        integrals=dict(zip(problem.integrals, map(float, levels), strict=True)),
        monodromy=monodromy,
        multipliers=multipliers,
        residual=float(np.max(np.abs(end - moved))),
        stability="unstable" if unstable else "not established",
        parameters=dict(parameters),
        problem=problem,
    )
