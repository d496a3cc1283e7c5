r"""The reduced equations with their coefficients, written out.

    p_dot_b = C^c_ab I^{ad} p_c p_d + D^c_{b al} r_dot^al p_c + D_{al be b} r_dot^al r_dot^be
    d/dt dl_c/dr_dot^al - dl_c/dr^al = - ...,      xi = -A r_dot + Gamma p

(Bloch, Supplement 5.8.8 to 5.8.10). A coefficient that is longer than a line has a name and a line
of its own. With two momenta or more, I^{ab} stands for the entries of the inverse of I.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.simplify.written_terms import size
from ...model.symbols import Coordinate, Parameter, as_expression
from ...presentation.formulas import Formula, Formulas
from ...presentation.typeset import symbol_latex

if TYPE_CHECKING:
    from .reduced_tensors import ReducedCoefficients

__all__ = ["CoefficientSymbols", "inverse_symbol", "reduced_formulas"]

#: The longest coefficient that stands in an equation without a name.
INLINE = 30
#: The work of simplifying a coefficient.
LOOKS = 700


@dataclass(frozen=True)
class CoefficientSymbols:
    """What the indices count: body velocities (k,), shape coordinates (s,), momenta (m,).

    `lagrangian` is l_c(r, r_dot, p); None where the coefficients are numbers.
    """

    speeds: tuple[Parameter, ...]
    shape: tuple[Coordinate, ...]
    momenta: tuple[Parameter, ...]
    lagrangian: sympy.Expr | None = None


class _Names:
    """Names of coefficients that are too long for a line, each with its meaning once."""

    def __init__(self) -> None:
        self.lines: list[Formula] = []
        self._simplified: dict[sympy.Expr, sympy.Expr] = {}

    def short(self, value: Any, label: str, sign: str) -> sympy.Expr:
        """The coefficient, or a symbol for it."""
        found = self.simplified(as_expression(value))
        if found == 0 or size(found) <= INLINE:
            return found
        for line in self.lines:
            if line.value in (found, -found):
                return sympy.Symbol(line.label) * (1 if line.value == found else -1)
        self.lines.append(Formula(label, sign, found))
        return sympy.Symbol(label)

    def simplified(self, value: sympy.Expr) -> sympy.Expr:
        """A coefficient in short form; one that returns, also with the other sign, is looked up."""
        known = self._simplified
        if value not in known and -value not in known:
            known[value] = _simplified(value)
        return known[value] if value in known else -known[-value]

    @property
    def signs(self) -> dict[str, str]:
        """LaTeX of the names."""
        return {line.label: line.sign for line in self.lines}


def _simplified(value: Any) -> sympy.Expr:
    expression = as_expression(value)
    if expression.is_Number:
        rounded = round(float(expression), 14)
        return sympy.Integer(int(rounded)) if rounded == int(rounded) else expression
    return simplify(expression, looks=LOOKS)


def reduced_formulas(found: ReducedCoefficients, symbols: CoefficientSymbols) -> Formulas:
    """The momentum, shape and reconstruction equations, then the names that occur in them."""
    m, names = len(symbols.momenta), _Names()
    written = found
    if m > 1 and found.inverse.dtype == object:
        written = _with_inverse(found, m)
    parts = list(_momentum_equations(written, symbols, names))
    if symbols.lagrangian is not None and symbols.shape:
        parts.append(Formula("l_c", "l_c", symbols.lagrangian))
    parts += _shape_equations(written, symbols, names)
    parts += _velocities(written, symbols, names)
    used = {s.name for line in (*parts, *names.lines) for s in line.value.free_symbols}
    inertia = _inertia(written, used)
    entries = [(inverse_symbol(a, b).name, f"I^{{{a + 1}{b + 1}}}") for a, b in _upper(m)]
    return Formulas((*parts, *names.lines, *inertia), names.signs | dict(entries))


def _upper(m: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(m) for b in range(a, m))


def _with_inverse(found: ReducedCoefficients, m: int) -> ReducedCoefficients:
    """Everything with symbols for I^{ab}: dI^{ab} = -I^{ac} dI_cd I^{db}, Gamma^{ai} = I^{ai}."""
    symbols = [[inverse_symbol(a, b) for b in range(m)] for a in range(m)]
    table: Any = np.array(symbols, dtype=object)
    assert found.symbols is not None
    derivatives = np.empty((m, m, len(found.symbols.shape)), dtype=object)
    for a, b in np.ndindex(m, m):
        for x, q in enumerate(found.symbols.shape):
            derivatives[a, b, x] = sympy.diff(simplify(found.inertia[a, b]), q)
    lift = np.full(found.lift.shape, sympy.Integer(0), dtype=object)
    lift[:m] = table
    bent = -np.einsum("ac,cdx,db->abx", table, derivatives, table)
    return replace(found, inverse=table, inverse_derivative=bent, lift=lift)


def inverse_symbol(a: int, b: int) -> sympy.Symbol:
    """The symbol of the entry I^{ab}, counted from 0."""
    first, last = sorted((a + 1, b + 1))
    return sympy.Symbol(f"Iinv_{first}{last}", real=True)


def _inertia(found: ReducedCoefficients, used: set[str]) -> Iterator[Formula]:
    """I, and its inverse by name where entries of that are used."""
    m = found.count
    if not m:
        return
    table = sympy.Matrix(m, m, [_simplified(x) for x in found.inertia.ravel()])
    yield Formula("I", "I", table)
    entries = [[inverse_symbol(a, b) for b in range(m)] for a in range(m)]
    if any(symbol.name in used for row in entries for symbol in row):
        yield Formula("I^-1", "I^{-1}", sympy.Matrix(entries))


def _momentum_equations(
    found: ReducedCoefficients, symbols: CoefficientSymbols, names: _Names
) -> Iterator[Formula]:
    """(5.8.8)."""
    p, r = symbols.momenta, symbols.shape
    for b, momentum in enumerate(p):
        total = sympy.Integer(0)
        for c in range(len(p)):
            for d in range(c, len(p)):
                value = found.quadratic[b, c, d] * (1 if c == d else 2)
                label = f"E_{b + 1}_{c + 1}{d + 1}"
                sign = f"E_{{{b + 1}}}^{{{c + 1}{d + 1}}}"
                total += names.short(value, label, sign) * p[c] * p[d]
        for c in range(len(p)):
            for x, q in enumerate(r):
                label = f"D_{c + 1}_{b + 1}_{q.name}"
                sign = f"D^{{{c + 1}}}_{{{b + 1}\\,{symbol_latex(q)}}}"
                total += names.short(found.transport[c, b, x], label, sign) * q.dot * p[c]
        for x, first in enumerate(r):
            for y in range(x, len(r)):
                value = found.shape_drive[x, y, b]
                value = value if x == y else value + found.shape_drive[y, x, b]
                label = f"D_{first.name}_{r[y].name}_{b + 1}"
                sign = f"D_{{{symbol_latex(first)}{symbol_latex(r[y])}\\,{b + 1}}}"
                total += names.short(value, label, sign) * first.dot * r[y].dot
        rate = sympy.Symbol(f"{momentum.name}_dot")
        yield Formula(rate.name, symbol_latex(rate), total)


def _shape_equations(
    found: ReducedCoefficients, symbols: CoefficientSymbols, names: _Names
) -> Iterator[Formula]:
    """Theorem 5.8.10: coefficients of p_c p_d, p_c r_dot and r_dot r_dot, collected."""
    p, r = symbols.momenta, symbols.shape
    m, s = len(p), len(r)
    both = np.einsum("cbx,bd->xcd", found.transport, found.inverse)
    squares = -np.swapaxes(np.swapaxes(found.inverse_derivative, 0, 2), 1, 2) - both
    mixed = -found.curvature[:m] - np.einsum("yxb,bc->cxy", found.shape_drive, found.inverse)
    pure = -found.shape_curvature
    for x, q in enumerate(r):
        tag, total = symbol_latex(q), sympy.Integer(0)
        for c in range(m):
            for d in range(c, m):
                value = squares[x, c, d] if c == d else squares[x, c, d] + squares[x, d, c]
                label, sign = f"N_{q.name}_{c + 1}{d + 1}", f"N_{{{tag}}}^{{{c + 1}{d + 1}}}"
                total += names.short(value, label, sign) * p[c] * p[d]
            for y in range(s):
                label = f"N_{q.name}_{c + 1}_{r[y].name}"
                sign = f"N^{{{c + 1}}}_{{{tag}{symbol_latex(r[y])}}}"
                total += names.short(mixed[c, x, y], label, sign) * p[c] * r[y].dot
        for y in range(s):
            for z in range(y, s):
                value = pure[x, y, z] if y == z else pure[x, y, z] + pure[x, z, y]
                label = f"K_{q.name}_{r[y].name}_{r[z].name}"
                sign = f"K_{{{tag}{symbol_latex(r[y])}{symbol_latex(r[z])}}}"
                total += names.short(value, label, sign) * r[y].dot * r[z].dot
        dot = symbol_latex(q.dot)
        sign = rf"\frac{{d}}{{dt}}\frac{{\partial l_c}}{{\partial {dot}}}"
        sign += rf" - \frac{{\partial l_c}}{{\partial {tag}}}"
        yield Formula(f"d/dt dl_c/d{q.dot.name} - dl_c/d{q.name}", sign, total)


def _velocities(
    found: ReducedCoefficients, symbols: CoefficientSymbols, names: _Names
) -> Iterator[Formula]:
    """xi = -A r_dot + Gamma p in the basis in which the group was given."""
    p, r = symbols.momenta, symbols.shape
    connection, lift = found.frame @ found.connection, found.frame @ found.lift
    for a, speed in enumerate(symbols.speeds):
        total = sympy.Integer(0)
        for x, q in enumerate(r):
            label = f"A_{speed.name}_{q.name}"
            sign = f"A^{{{_upright(speed)}}}_{{{symbol_latex(q)}}}"
            total -= names.short(connection[a, x], label, sign) * q.dot
        for b, momentum in enumerate(p):
            label = f"Gamma_{speed.name}_{b + 1}"
            sign = rf"\Gamma^{{{_upright(speed)}\,{b + 1}}}"
            total += names.short(lift[a, b], label, sign) * momentum
        yield Formula(f"xi_{speed.name}", rf"\xi^{{{_upright(speed)}}}", total)


def _upright(symbol: sympy.Symbol) -> str:
    return rf"\mathrm{{{symbol.name.removeprefix('xi_')}}}".replace("_", r"\_")
