"""Bloch and others, Internet Supplement, end of 4.7: H(x, u) from (f, h), and multipliers.

Independent implementations are derivatives by SymPy and motions of the given forces.
"""

from __future__ import annotations

import numpy as np
import sympy

from ....analysis.variational.inverse_problem import helmholtz
from ....control.ports.ports import hamiltonian_control
from ....control.ports.recovered_hamiltonian import recover_hamiltonian
from ....model.symbols import Coordinate, coordinates, inputs
from ....typing import Array
from ...numeric import Residual
from ...row_registry import listed


@listed("B-4.7-recovered")
def hamiltonian_of_a_control_system() -> Residual:
    q, p, r, s = coordinates("q p r s")
    u, w = inputs("u w")
    H = (p**2 + s**2 * (1 + q**2)) / 2 - sympy.cos(q - r) - u * sympy.sin(q) + u * w / 3 - w * r * p
    pairs = [(q, p), (r, s)]
    flow = hamiltonian_control(H, pairs, [u, w])
    found = recover_hamiltonian(flow, pairs)
    broken = recover_hamiltonian(flow, pairs, {u: -sympy.sin(q) + p, w: u / 3 - r * p})
    if found.hamiltonian is None or not broken.verdict.is_refuted:
        return np.inf
    symbols = (q, p, r, s, u, w)
    gaps = [sympy.diff(found.hamiltonian - H, symbol) for symbol in symbols]
    points = np.random.default_rng(3).uniform(-1, 1, (5, 6))
    values = sympy.lambdify(symbols, gaps)
    return [np.abs(np.array(values(*point), dtype=float)) for point in points]


@listed("B-4.7-multipliers")
def multipliers_of_two_degrees_of_freedom() -> Residual:
    x, y = coordinates("x y")
    V = x**4 + x**2 * y + y**3
    forces = [-sympy.diff(V, x) / (1 + x.dot**2), -sympy.diff(V, y)]
    found = helmholtz([x.ddot - forces[0], y.ddot - forces[1]], [x, y])
    none = helmholtz([x.ddot - x**2 - y**2, y.ddot], [x, y])
    if found.lagrangian is None or not none.existence.is_refuted:
        return np.inf
    return _euler_gaps(found.lagrangian, [x, y], forces, -1.0)


@listed("B-4.7-semi-separated")
def a_semi_separated_system() -> Residual:
    x, y = coordinates("x y")
    forces = [-x * y.dot, sympy.S.Zero]
    found = helmholtz([x.ddot - forces[0], y.ddot], [x, y])
    none = helmholtz([x.ddot - y - x.dot * y.dot, y.ddot], [x, y])
    if not (found.existence.is_proved and "IIa2" in found.existence.grounds):
        return np.inf
    if not none.existence.is_refuted:
        return np.inf
    lagrangian = (x.dot**2 - y.dot * x**2) / (2 * sympy.sqrt(y.dot)) + y.dot**2 / 2
    return _euler_gaps(lagrangian, [x, y], forces, 0.5)


def _euler_gaps(
    lagrangian: sympy.Expr, q: list[Coordinate], forces: list[sympy.Expr], least: float
) -> list[Array]:
    """d/dt L_v - L_q along a = F, at random points."""
    rates = dict(zip(q, (own.dot for own in q), strict=True))
    rates |= {own.dot: force for own, force in zip(q, forces, strict=True)}
    gaps = []
    for own in q:
        momentum = sympy.diff(lagrangian, own.dot)
        along = sum(sympy.diff(momentum, s) * rate for s, rate in rates.items())
        gaps.append(along - sympy.diff(lagrangian, own))
    values = sympy.lambdify(tuple(rates), gaps)
    points = np.random.default_rng(4).uniform(least, 1, (5, 4))
    return [np.abs(np.array(values(*point), dtype=float)) for point in points]
