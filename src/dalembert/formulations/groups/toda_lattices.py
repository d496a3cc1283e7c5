r"""Toda lattices of root systems, open and periodic, with their Lax pairs.

With a point a of the Cartan algebra, the simple roots alpha_i, and for periodic lattices alpha_0 =
-theta beside them (theta is the highest root),

    a_dot = -2 sum_i b_i^2 alpha_i^v,              b_i_dot = alpha_i(a) b_i
    L(z) = a + sum_i b_i (e_i + f_i) + b_0 (z e_0 + f_0 / z),
    B(z) =     sum_i b_i (e_i - f_i) + b_0 (z e_0 - f_0 / z),        L_dot = [L, B]    for every z

(Bogoyavlensky 1976, Kostant 1979; Bloch and others, Supplement, 7.7, for A). Along the motions
traces of powers of L(z) are conserved, coefficient by coefficient in z, the Pfaffian for D, and
b_0 prod b_i^m_i with theta = sum m_i alpha_i. With a = p and b_i = exp(alpha_i(q)) these are
Hamilton's equations of H = p.p/2 + sum_i 2/(alpha_i, alpha_i) exp(2 alpha_i(q)).

For E6, E7, E8 and F4 the traces, of degrees up to 30, are too long to be written as formulas: the
energy is, and the others are the spectrum of L.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from ...geometry.root_systems import Root, RootSystem
from ...model.flow_system import Action, Flow
from ...model.symbols import Coordinate, as_expression
from ...typing import Expression

__all__ = ["LaxPair", "root_lattice", "toda_lax"]

ZERO, ONE = sympy.S.Zero, sympy.S.One
#: The spectral parameter.
Z = sympy.Symbol("z")


@dataclass(frozen=True)
class LaxPair:
    """L and B with L_dot = [L, B] along a Toda lattice.

    Attributes
    ----------
    L, B : matrices (N x N)
        In the symbols of the lattice and, for a periodic one, the spectral parameter z.
    rates : dict of symbol to expression
        The equations of the lattice.
    integrals : dict of name to expression
        Conserved quantities: as many as the rank (for E and F the energy alone, beside the spectrum
        of L), and the product of the b_i of a periodic lattice.
    spectral : symbol or None
        z.
    """

    L: sympy.ImmutableSparseMatrix
    B: sympy.ImmutableSparseMatrix
    rates: dict[Coordinate, sympy.Expr]
    integrals: dict[str, sympy.Expr]
    spectral: sympy.Symbol | None

    @property
    def residual(self) -> sympy.ImmutableSparseMatrix:
        """L_dot - [L, B] along the lattice, expanded: zero, (N x N)."""
        moved = sum(
            (self.L.diff(symbol) * rate for symbol, rate in self.rates.items()),
            sympy.ImmutableSparseMatrix(*self.L.shape, {}),
        )
        bracket = self.L * self.B - self.B * self.L
        return (moved - bracket).applyfunc(sympy.expand)


def toda_lax(roots: str | RootSystem, *, periodic: bool = False) -> LaxPair:
    """The Lax pair of the Toda lattice of a root system.

    Parameters
    ----------
    roots : str or RootSystem
        "A3", "B2", "C3", "D4", "E8", "F4", "G2", ...
    periodic : bool
        Join the affine root: the periodic lattice, with a spectral parameter in the pair.

    Examples
    --------
    >>> pair = toda_lax("B2")
    >>> pair.residual.is_zero_matrix, sorted(pair.integrals)
    (True, ['energy', 'trace_4'])
    >>> sorted(toda_lax("G2", periodic=True).integrals)
    ['energy', 'product', 'trace_6']
    """
    system = roots if isinstance(roots, RootSystem) else RootSystem(roots)
    a = [Coordinate(f"a_{k + 1}") for k in range(system.dimension)]
    simple = [*system.simple_roots]
    raising = [*system.raising]
    b = [Coordinate(f"b_{k + 1}") for k in range(system.rank)]
    up: list[sympy.Expr] = [ONE] * system.rank
    if periodic:
        simple.append(tuple(-c for c in system.positive_roots[-1]))
        raising.append(system.lowest)
        b.append(Coordinate("b_0"))
        up.append(Z)
    size = len(system.weights)
    L, B = system.diagonal(a), sympy.ImmutableSparseMatrix(size, size, {})
    for own, e, z in zip(b, raising, up, strict=True):
        L += own * (z * e + e.T / z)
        B += own * (z * e - e.T / z)
    rates: dict[Coordinate, sympy.Expr] = {}
    coroots = [system.coroot(root) for root in simple]
    for k, place in enumerate(a):
        pairs = zip(b, coroots, strict=True)
        rates[place] = sympy.Add(*(-2 * coroot[k] * own**2 for own, coroot in pairs))
    for own, root in zip(b, simple, strict=True):
        terms = (sympy.Rational(c) * place for c, place in zip(root, a, strict=True))
        rates[own] = own * sympy.Add(*terms)
    integrals = {"energy": _energy(a, b, simple)} | _traces(system, L, periodic)
    if periodic:
        marks = zip(b, (*system.marks, 1), strict=True)
        integrals["product"] = sympy.Mul(*(own**mark for own, mark in marks))
    return LaxPair(L, B, rates, integrals, Z if periodic else None)


def _energy(a: list[Coordinate], b: list[Coordinate], roots: list[Root]) -> sympy.Expr:
    """a.a/2 + sum 2/(alpha, alpha) b^2."""
    bonds = (
        own**2 * sympy.Rational(2 / sum(c * c for c in root))
        for own, root in zip(b, roots, strict=True)
    )
    return sympy.Add(*(place**2 / 2 for place in a), *bonds)


def _traces(system: RootSystem, L: sympy.Matrix, periodic: bool) -> dict[str, sympy.Expr]:
    """tr L^k / k, the part without z, for the degrees of the system; and the Pfaffian for D."""
    found: dict[str, sympy.Expr] = {}
    if system.family in "EF":
        return found
    if system.family == "A":
        found["momentum"] = L.trace()
    degrees = [k for k in system.degrees if k > 2]
    if system.family == "D":  # the invariant of degree n is the Pfaffian
        degrees.remove(system.rank)
    power, reached = L, 1
    for k in degrees:
        while reached < k // 2:
            power, reached = (power * L).applyfunc(sympy.expand), reached + 1
        other = power if k % 2 == 0 else (power * L).applyfunc(sympy.expand)
        entries = zip(power, other.T, strict=True)
        trace = sympy.expand(sympy.Add(*(x * y for x, y in entries)) / k)
        found[f"trace_{k}"] = _without_parameter(trace, periodic)
    if system.family == "D":
        skew = (L * system.quadratic_form).applyfunc(sympy.expand)
        found["pfaffian"] = _without_parameter(sympy.expand(pfaffian(skew)), periodic)
    return found


def _without_parameter(expression: sympy.Expr, periodic: bool) -> sympy.Expr:
    if not periodic:
        return expression
    return sympy.Add(*(term for term in sympy.Add.make_args(expression) if not term.has(Z)))


def pfaffian(skew: sympy.Matrix) -> sympy.Expr:
    """The Pfaffian of a skew matrix of even size, along its first row.

    >>> a, b, c = sympy.symbols("a b c")
    >>> pfaffian(sympy.Matrix([[0, a], [-a, 0]]))
    a
    """
    size = skew.rows
    if size == 0:
        return ONE
    total: sympy.Expr = ZERO
    for j in range(1, size):
        if skew[0, j] != 0:
            kept = [k for k in range(1, size) if k != j]
            total += (-1) ** (j - 1) * skew[0, j] * pfaffian(skew.extract(kept, kept))
    return sympy.expand(total)


def root_lattice(roots: str | RootSystem, periodic: bool, name: str) -> Flow:
    """The Toda lattice as a flow whose matrix A = L(1) keeps its spectrum."""
    pair = toda_lax(roots, periodic=periodic)
    here: dict[sympy.Basic, Expression] = {Z: ONE}
    L, B = (matrix.xreplace(here) for matrix in (pair.L, pair.B))
    side = sympy.ImmutableMatrix(-B)
    kind = "periodic Toda lattice" if periodic else "Toda lattice"
    return Flow(
        {symbol: as_expression(rate) for symbol, rate in pair.rates.items()},
        integrals=pair.integrals,
        matrices={"A": sympy.Matrix(L)},
        actions=[Action("A", side, side)],
        name=name or f"{kind} of {roots}",
    )
