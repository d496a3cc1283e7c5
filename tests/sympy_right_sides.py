"""Accelerations of a system by Lagrange's equations with multipliers, and those that SymPy's
methods have themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import sympy
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import KanesMethod, LagrangesMethod, dynamicsymbols

from dalembert.algebra.graph import GraphAlgebra
from dalembert.formulations.from_sympy.sympy_methods import from_sympy
from dalembert.model.constraints import HolonomicConstraint
from dalembert.model.forces import rate
from dalembert.model.symbols import t
from dalembert.model.system import System


class Draw(dict[Any, float]):
    """Random values of SymPy's symbols and functions of time."""

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        super().__init__()
        self.source, self.scale = np.random.default_rng(seed), scale

    def __missing__(self, key: Any) -> float:
        self[key] = self.scale * self.source.uniform(0.3, 1.3)
        return self[key]


def sympy_values(matrix: Any, values: Draw, rates: Mapping[Any, float] | None = None) -> np.ndarray:
    """A matrix of SymPy's mechanics at values of its symbols and functions of time."""
    clock = dynamicsymbols._t
    table = dict(rates or {})
    matrix = sympy.Matrix(matrix).xreplace(table)
    table = {
        s: values[s]
        for s in sorted(matrix.atoms(AppliedUndef) | matrix.free_symbols, key=str)
        if s != clock
    }
    names = [*table, clock]
    function = sympy.lambdify(names, matrix, modules="numpy", cse=True, dummify=True)
    found = function(*table.values(), values[clock])
    return np.array(found, dtype=float).reshape(matrix.shape)


class OurEquations:
    """Accelerations and outputs of a system, in numbers."""

    def __init__(self, system: System) -> None:
        self.system, self.algebra = system, GraphAlgebra()
        lower = self.algebra.vector
        self.q, self.v = lower(system.coordinates), lower(system.velocities)
        self.a, self.time = ca.SX.sym("a", self.q.numel()), lower([t])
        lagrangian = self.algebra.scalar(system.lagrangian)
        force = lower(system.forces.get(q, sympy.S.Zero) for q in system.coordinates)
        momenta = ca.gradient(lagrangian, self.v)
        dissipation = ca.gradient(self.algebra.scalar(system.dissipation), self.v)
        force = (
            force + ca.gradient(lagrangian, self.q) - dissipation - self._rate(momenta, 0 * self.a)
        )
        rows = lower(
            rate(c.expression) if isinstance(c, HolonomicConstraint) else c.expression
            for c in system.constraints
        )
        outputs = lower(system.outputs.values())
        blocks = [
            ca.jacobian(momenta, self.v), force, ca.jacobian(rows, self.v), self._rate(rows, 0 *
            self.a), outputs, self._rate(outputs, 0 * self.a), ca.jacobian(outputs, self.v), rows,
        ]  # fmt: skip
        self.symbols = dict(self.algebra.symbols)
        self.function = ca.Function(
            "equations", list(self.symbols.values()), [ca.densify(block) for block in blocks]
        )

    def _rate(self, block: ca.SX, accelerations: ca.SX) -> ca.SX:
        symbols = ca.vertcat(self.q, self.v, self.time)
        return ca.jtimes(block, symbols, ca.vertcat(self.v, accelerations, 1))

    def at(
        self, values: Mapping[str, float]
    ) -> tuple[np.ndarray, dict[str, float], dict[str, float]]:
        """Accelerations, outputs and the rates of outputs, where values are given by name."""
        numbers = [values[symbol.name] for symbol in self.symbols]
        mass, force, rows, rest, outputs, drift, derivatives, _ = (
            np.array(block, dtype=float) for block in self.function.call(numbers)
        )
        count = rows.shape[0]
        left = np.block([[mass, -rows.T], [rows, np.zeros((count, count))]])
        right = np.concatenate([force.ravel(), -rest.ravel()])
        accelerations = np.linalg.lstsq(left, right, rcond=1e-13)[0][: len(mass)]
        rates = drift.ravel() + derivatives @ accelerations if derivatives.size else np.zeros(0)
        names = list(self.system.outputs)
        return (
            accelerations,
            dict(zip(names, outputs.ravel(), strict=True)),
            dict(zip(names, rates, strict=True)),
        )


def largest_difference(method: Any, system: System, seeds: int = 3, scale: float = 1.0) -> float:
    """The largest difference between SymPy's rates of speeds, or accelerations, and ours, relative
    to their size.
    """
    ours, worst = OurEquations(system), 0.0
    for seed in range(seeds):
        values = Draw(seed, scale)
        check = _kane_difference if isinstance(method, KanesMethod) else _lagrange_difference
        worst = max(worst, check(method, system, ours, values))
    return worst


def _named(system: System, values: Draw) -> dict[str, float]:
    """Values under the names of the system, drawn where SymPy's equations did not need them."""
    found = {name: values[symbol] for name, symbol in system.sympy_names.symbols.items()}
    return found | {"t": values[dynamicsymbols._t]}


def _kane_difference(
    method: KanesMethod, system: System, ours: OurEquations, values: Draw
) -> float:
    clock = dynamicsymbols._t
    values.update(dict.fromkeys(method._uaux, 0.0))
    lengths = (
        sorted(sympy.Matrix(method._f_h).free_symbols - {clock}, key=str) if method._qdep else []
    )
    _satisfy(method._f_h, [*method.q, *lengths], values)
    dependent = method._k_nh * method.u + method._f_nh if method._udep else []
    _satisfy(dependent, method._udep, values)
    kinematic = [method.kindiffdict()[q.diff(clock)] for q in method.q]
    q_dot = sympy_values(kinematic, values).ravel()
    rates = dict(zip(method.q.diff(clock), map(float, q_dot), strict=True))
    rates |= dict.fromkeys([u.diff(clock) for u in method._uaux], 0.0)
    left, right = (sympy_values(m, values, rates) for m in (method.mass_matrix, method.forcing))
    theirs = np.linalg.solve(left, right).ravel()
    named = _named(system, values)
    names = {symbol: name for name, symbol in system.sympy_names.symbols.items()}
    named |= {f"{names[q]}_dot": float(value) for q, value in zip(method.q, q_dot, strict=True)}
    for q in system.coordinates[len(method.q) :]:
        speed = q.name.removesuffix("_integral")
        named |= {q.name: 0.37, q.dot.name: named[speed]}
    _, speeds, rates_of_speeds = ours.at(named)
    worst = max(abs(speeds[names[u]] - values[u]) for u in method.u if u in names)
    scale = 1.0 + np.abs(theirs).max()
    difference = [
        abs(rates_of_speeds[names[u]] - value) for u, value in zip(method.u, theirs, strict=True)
    ]
    return max(worst, max(difference) / scale)


def _satisfy(equations: Any, unknown: Any, values: Draw) -> None:
    """Move values so that equations hold: Newton's method with least steps."""
    if not len(equations):
        return
    equations = sympy.Matrix(equations)
    jacobian = equations.jacobian(sympy.Matrix(unknown))
    for _ in range(50):
        residual, derivatives = sympy_values(equations, values), sympy_values(jacobian, values)
        step = np.linalg.lstsq(derivatives, -residual, rcond=1e-12)[0].ravel()
        for symbol, change in zip(unknown, step, strict=True):
            values[symbol] += float(change)
        if np.abs(residual).max() < 1e-14:
            return
    raise ValueError("no consistent values were found")


def _lagrange_difference(
    method: LagrangesMethod, system: System, ours: OurEquations, values: Draw
) -> float:
    clock, n = dynamicsymbols._t, len(method.q)
    rates = {q.diff(clock): values[q.diff(clock)] for q in method.q}
    left, right = (
        sympy_values(m, values, rates) for m in (method.mass_matrix_full, method.forcing_full)
    )
    theirs = np.linalg.solve(left, right).ravel()[n : 2 * n]
    named = _named(system, values)
    names = {symbol: name for name, symbol in system.sympy_names.symbols.items()}
    named |= {f"{names[q]}_dot": values[q.diff(clock)] for q in method.q}
    accelerations, _, _ = ours.at(named)
    return float(np.abs(accelerations - theirs).max() / (1.0 + np.abs(theirs).max()))


#: How far accelerations may be from SymPy's, relative to their size.
AGREEMENT = 1e-10


def checked(method: Any, stated: Any = None, scale: float = 1.0) -> System:
    """The system of a method, whose accelerations are SymPy's at random states."""
    system = from_sympy(method if stated is None else stated)
    if isinstance(method, LagrangesMethod):
        method.form_lagranges_equations()
    elif method._fr is None:
        method.kanes_equations()
    assert largest_difference(method, system, scale=scale) < AGREEMENT
    return system
