r"""Shooting for relative periodic orbits: motions, group, integrals and their derivatives.

    P^T (x(T) - Phi_g x(0)) = 0,    I_k(x(0)) = I_k,    f . dx(0) = 0,    K_a . dx(0) = 0

in the unknowns x(0), T and xi, g = exp(xi^a e_a); P spans what is orthogonal to the gradients of
the integrals. See `relative_orbits.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import sympy
from scipy.linalg import expm

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, RunError
from ...formulations.forms import lagrange
from ...model.flow_system import Flow
from ...model.symbols import as_expression
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Array, Expression, Fields, Symbol, Values
from ..sensitivity.forward import sensitivities
from ..stability.linearisation import field_of

__all__ = ["Shooting"]

#: The tolerance of the motion, what counts as closed, and the most steps of Newton's method.
TOLERANCE, CLOSED, STEPS = 1e-12, 1e-9, 30
#: Turns that are tried for the first drift.
TURNS = 24


@dataclass(frozen=True)
class Shooting:
    """The shooting problem: motions, group, integrals; unknowns (x, T, xi)."""

    model: System | Flow
    names: tuple[str, ...]
    generators: tuple[str, ...]
    matrices: Array  # (k, n + 1, n + 1) of the affine fields
    integrals: tuple[str, ...]
    integral_function: ca.Function
    parameters: dict[str, float]

    @classmethod
    def read(
        cls,
        model: System | Flow,
        drift: Sequence[Symbol] | Fields,
        parameters: Values | None,
        integrals: Mapping[str, Expression] | None,
    ) -> Shooting:
        if not isinstance(model, System | Flow) or model.constraints:
            what = "Relative periodic orbits are found for systems without constraints, or flows"
            seen = type(model).__name__
            raise ModelError(what, seen, "eliminate the constraints, or reduce the system")
        values = numbers_by_name(parameters)
        rates = field_of(model, values, {})  # type: ignore[arg-type]
        if rates.is_timed:
            what = "The equations depend on time"
            raise ModelError(what, remedy="use da.analysis.floquet for a period in time")
        if len(rates.names) != len({*model.coordinates, *_velocities(model)}):
            what = "The state must be coordinates and velocities"
            raise ModelError(what, ", ".join(rates.names), "state the system by its energies")
        known = {s.name: s for s in (*model.coordinates, *_velocities(model))}
        symbols = [known[name] for name in rates.names]
        fields = _fields(model, drift)
        tables = [_affine(model, symbols, table) for table in fields.values()]
        shape = (len(tables), len(symbols) + 1, len(symbols) + 1)
        matrices = np.array(tables, dtype=float).reshape(shape)
        names, function = _integrals(model, symbols, fields, integrals)
        return cls(model, rates.names, tuple(fields), matrices, names, function, values)

    # -- the group ---------------------------------------------------------------------------------

    def generator(self, k: int, x: Array) -> Array:
        """K_a(x)."""
        return np.asarray((self.matrices[k] @ np.append(x, 1.0))[:-1])

    def element(self, xi: Array) -> Array:
        """Phi_g as a matrix on (x, 1)."""
        return np.asarray(expm(np.einsum("a,aij->ij", xi, self.matrices)))

    def first_drift(self, x: Array, period: float) -> Array:
        """The drift that closes a motion best: by projection on the generators, or among turns."""
        k = len(self.generators)
        if not k:
            return np.zeros(0)
        end = self.flow(x, period, self.parameters)[0]
        columns = np.stack([self.generator(a, x) for a in range(k)], axis=1)
        gram = columns.T @ columns + 1e-12 * np.eye(k)
        turns = np.linspace(-np.pi, np.pi, TURNS, endpoint=False)
        guesses = [np.asarray(np.linalg.solve(gram, columns.T @ (end - x)), dtype=float)]
        guesses += [turn * unit for unit in np.eye(k) for turn in turns]

        def gap(xi: Array) -> float:
            return float(np.linalg.norm(end - (self.element(xi) @ np.append(x, 1.0))[:-1]))

        return min(guesses, key=gap)

    # -- motions -----------------------------------------------------------------------------------

    def flow(
        self, x: Array, period: float, parameters: Mapping[str, float], by: str | None = None
    ) -> tuple[Array, Array, Array]:
        """x(T), dx(T)/dx(0) (n, n), and dx(T)/d(parameter) (n,)."""
        wrt = [*self.names, *([by] if by is not None else [])]
        found = sensitivities(
            self.model, wrt, dict(zip(self.names, x, strict=True)), (0.0, period),
            parameters=dict(parameters), at=[0.0, period], rtol=TOLERANCE,
        )  # fmt: skip
        table = found.table(self.names)[-1]
        n = len(self.names)
        rate = table[:, n] if by is not None else np.zeros(n)
        return found.values(self.names)[-1], table[:, :n], rate

    def rates(self, x: Array, parameters: Mapping[str, float]) -> Array:
        """f(x)."""
        return np.asarray(field_of(self.model, parameters, {})(x).rates)  # type: ignore[arg-type]

    def motion_off_group(self, unknowns: Array, parameters: Mapping[str, float]) -> float:
        """The part of f(x) that no generator has: zero at relative equilibria."""
        x = unknowns[: len(self.names)]
        speed = self.rates(x, parameters)
        if not self.generators:
            return float(np.linalg.norm(speed))
        columns = [self.generator(k, x) for k in range(len(self.generators))]
        axes = np.linalg.qr(np.stack(columns, axis=1))[0]
        return float(np.linalg.norm(speed - axes @ (axes.T @ speed)))

    def levels(self, x: Array, parameters: Mapping[str, float]) -> Array:
        """The integrals (m,)."""
        return self._integral_values(x, parameters)[0]

    def _integral_values(
        self, x: Array, parameters: Mapping[str, float]
    ) -> tuple[Array, Array, Array]:
        """I (m,), dI/dx (m, n) and dI/d(parameters) (m, k)."""
        values = [parameters[symbol.name] for symbol in self.model.parameters]
        found = self.integral_function(x, np.array(values, dtype=float))
        blocks = [np.asarray(block, dtype=float) for block in found]
        m = len(self.integrals)
        n = len(self.names)
        return blocks[0].reshape(m), blocks[1].reshape(m, n), blocks[2].reshape(m, len(values))

    # -- Newton's method ---------------------------------------------------------------------------

    def equations(
        self,
        unknowns: Array,
        levels: Array,
        parameters: Mapping[str, float],
        anchor: Array,
        by: str | None = None,
    ) -> tuple[Array, Array, Array]:
        """Residuals, their derivative by the unknowns, and by a parameter or level `by`."""
        n, k = len(self.names), len(self.generators)
        x, period, xi = unknowns[:n], float(unknowns[n]), unknowns[n + 1 :]
        free = by if by is not None and by not in self.integrals else None
        end, by_start, by_parameter = self.flow(x, period, parameters, free)
        g = self.element(xi)
        moved = (g @ np.append(x, 1.0))[:-1]
        own, gradients, level_rates = self._integral_values(x, parameters)
        complement = _complement(gradients, n)
        turning = [self.generator(a, moved) for a in range(k)]
        columns = [by_start - g[:-1, :-1], self.rates(end, parameters)[:, None]]
        columns += [-column[:, None] for column in turning]
        closing = complement.T @ np.hstack(columns)
        still = anchor[:n]
        fixed = [self.rates(still, parameters), *(self.generator(a, still) for a in range(k))]
        rows = [*gradients, *fixed]
        lower = np.hstack([np.array(rows), np.zeros((len(rows), 1 + k))])
        phases = [float(row @ (x - still)) for row in fixed]
        residual = np.concatenate([complement.T @ (end - moved), own - levels, phases])
        by_free = np.zeros(len(residual))
        m = len(self.integrals)
        if free is not None:
            names = [symbol.name for symbol in self.model.parameters]
            by_free[: n - m] = complement.T @ by_parameter
            by_free[n - m : n] = level_rates[:, names.index(free)]
        elif by is not None:
            by_free[n - m + self.integrals.index(by)] = -1.0
        return residual, np.vstack([closing, lower]), by_free

    def solved(self, unknowns: Array, levels: Array, parameters: Mapping[str, float]) -> Array:
        """The unknowns of a closed orbit near those given."""
        current = np.array(unknowns)
        for _ in range(STEPS):
            residual, matrix, _ = self.equations(current, levels, parameters, current)
            size = 1 + float(np.max(np.abs(current)))
            try:
                change = np.linalg.solve(matrix, -residual)
            except np.linalg.LinAlgError:
                break
            limit = 0.5 * size / max(float(np.max(np.abs(change))), 1e-300)
            current = current + min(1.0, limit) * change
            if not np.all(np.isfinite(current)) or current[len(self.names)] <= 0:
                break
            if np.max(np.abs(change)) < 1e-10 * size:
                if self.gap(current, parameters) < CLOSED * size:
                    return current
                break
        raise RunError(
            "No relative periodic orbit was found near the start",
            seen=f"a residual of {self.gap(unknowns, parameters):.2e} at the start",
            remedy="start nearer to one, or hold other values of the integrals",
        )

    def gap(self, unknowns: Array, parameters: Mapping[str, float]) -> float:
        """The largest component of x(T) - Phi_g x(0)."""
        n = len(self.names)
        x, period, xi = unknowns[:n], float(unknowns[n]), unknowns[n + 1 :]
        moved = (self.element(xi) @ np.append(x, 1.0))[:-1]
        return float(np.max(np.abs(self.flow(x, period, parameters)[0] - moved)))


def _complement(gradients: Array, n: int) -> Array:
    """An orthonormal basis (n, n - m) of what is orthogonal to independent gradients (m, n)."""
    m = len(gradients)
    return np.linalg.qr(gradients.T, mode="complete")[0][:, m:] if m else np.eye(n)


# -- reading ---------------------------------------------------------------------------------------


def _velocities(model: System | Flow) -> tuple[sympy.Symbol, ...]:
    return () if isinstance(model, Flow) else tuple(model.velocities)


def _fields(
    model: System | Flow, drift: Sequence[Symbol] | Fields
) -> dict[str, dict[sympy.Symbol, sympy.Expr]]:
    """The generators by name, as components by coordinate."""
    known = {q.name: q for q in model.coordinates}
    given = (
        {str(getattr(key, "name", key)): dict(table) for key, table in drift.items()}
        if isinstance(drift, Mapping)
        else {str(getattr(q, "name", q)): {q: 1} for q in drift}
    )
    found = {}
    for name, table in given.items():
        by_name = {str(getattr(key, "name", key)): as_expression(e) for key, e in table.items()}
        strange = [key for key in by_name if key not in known]
        if strange:
            remedy = f"use {', '.join(known)}"
            raise ModelError("A generator names unknown coordinates", ", ".join(strange), remedy)
        found[name] = {known[key]: value for key, value in by_name.items()}
    return found


def _affine(
    model: System | Flow, symbols: Sequence[sympy.Symbol], table: Mapping[sympy.Symbol, sympy.Expr]
) -> Array:
    """The matrix (n + 1, n + 1) of an affine field on (x, 1), lifted to velocities."""
    lifted = dict(table)
    if isinstance(model, System):
        for q, entry in table.items():
            rate = sum(sympy.diff(entry, c) * c.dot for c in model.coordinates)
            lifted[q.dot] = as_expression(rate)  # type: ignore[attr-defined]
    n = len(symbols)
    matrix = np.zeros((n + 1, n + 1))
    origin = dict.fromkeys(symbols, sympy.S.Zero)
    for i, symbol in enumerate(symbols):
        entry = lifted.get(symbol, sympy.S.Zero)
        coefficients = [sympy.diff(entry, other) for other in symbols]
        numbers = [*coefficients, entry.xreplace(origin)]
        if any(not number.is_number for number in numbers):
            what = "A generator of the drift must be affine in the coordinates, with numbers"
            raise ModelError(what, str(entry), "choose coordinates in which it is")
        matrix[i] = [float(number) for number in numbers]
    return matrix


def _integrals(
    model: System | Flow,
    symbols: Sequence[sympy.Symbol],
    fields: Mapping[str, Mapping[sympy.Symbol, sympy.Expr]],
    given: Mapping[str, Expression] | None,
) -> tuple[tuple[str, ...], ca.Function]:
    """Names of the integrals, and I, dI/dx and dI/d(parameters) as a function."""
    algebra = GraphAlgebra()
    x, values = algebra.vector(symbols), algebra.vector(model.parameters)
    if given is not None or isinstance(model, Flow):
        table = dict(model.integrals) if given is None else dict(given)  # type: ignore[union-attr]
        names = tuple(table)
        block = algebra.vector([as_expression(e) for e in table.values()])
    elif model.forces or model.dissipation != 0:
        names, block = (), ca.SX(0, 1)
    else:
        lagrangian, momenta = lagrange.lagrangian_and_momenta(model, algebra)
        v = algebra.vector(model.velocities)
        entries = [momenta.T @ v - lagrangian]
        for own in fields.values():
            column = algebra.vector([own.get(q, sympy.S.Zero) for q in model.coordinates])
            entries.append(momenta.T @ column)
        names = ("energy", *(f"momentum_{name}" for name in fields))
        block = ca.vertcat(*entries)
    outputs = [block, ca.jacobian(block, x), ca.jacobian(block, values)]
    return names, ca.Function("integrals", [x, values], [ca.densify(e) for e in outputs])
