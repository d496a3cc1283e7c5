r"""Momentum maps of actions on symplectic and Poisson manifolds, which need not be lifted.

Generators K_a(x) act canonically where L_K Pi = 0, and a momentum map has Hamiltonians J_a with

    Pi dJ_a = K_a                                       (Bloch and others, Supplement, section 3.7)

On a symplectic manifold Pi^-1 K_a is closed; it may fail to be exact round an angle, and then there
is none. With left actions, [K_a, K_b] = -C^c_ab K_c, the brackets

    Sigma_ab = {J_a, J_b} - C^c_ab J_c

are Casimirs, on a symplectic manifold constants: a cocycle. J is equivariant where it vanishes; a
coboundary, Sigma_ab = lambda_c C^c_ab, is removed by J_c + lambda_c, and another one by nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.verdicts import Verdict, conjunction
from ...errors import ModelError
from ...geometry.casimirs import monomials, vanishing_combinations
from ...geometry.poisson import PoissonStructure
from ...geometry.polytopes import MomentPolytope, moment_polytope
from ...geometry.vanishing import vanish
from ...model.symbols import as_expression
from ...typing import Array, Expression, Fields
from ..hamilton_jacobi.primitives import potential
from ..tables import Report, Section

__all__ = ["PoissonMomentumMap", "poisson_momentum_map"]

ZERO = sympy.S.Zero
PROVED = "symbolically"


@dataclass(frozen=True, repr=False, eq=False)
class PoissonMomentumMap(Report):
    """The momentum map of an action on a Poisson manifold, or why there is none.

    Attributes
    ----------
    structure : PoissonStructure
        On n symbols.
    names : tuple of str (d,)
    generators : matrix (n x d)
        K_a in columns.
    canonical : Verdict
        Whether every generator leaves the structure invariant.
    existence : Verdict
        Whether there is a momentum map. Refuted where a generator is not canonical, is not
        tangent to the symplectic leaves, or has a Hamiltonian that is not single-valued.
    momentum : matrix (d x 1) or None
        J.
    constants : array (d, d, d) or None
        C^c_ab at [a, b, c]; None where the generators are dependent or do not close.
    cocycle : matrix (d x d) or None
        Sigma_ab.
    equivariance : Verdict
        Whether some momentum map is equivariant.
    equivariant : matrix (d x 1) or None
        That map: J, or J with constants added.
    """

    structure: PoissonStructure
    names: tuple[str, ...]
    generators: sympy.ImmutableMatrix
    canonical: Verdict
    existence: Verdict
    momentum: sympy.ImmutableMatrix | None
    constants: Array | None
    cocycle: sympy.ImmutableMatrix | None
    equivariance: Verdict
    equivariant: sympy.ImmutableMatrix | None

    def fixed_points(self, level: Mapping[Expression, Expression]) -> list[dict[sympy.Symbol, Any]]:
        """The points of a Casimir level at which every generator vanishes, solved exactly.

        Parameters
        ----------
        level : mapping of function to value
            Such as {x**2 + y**2 + z**2: 1}; functions and generators must be polynomials.

        Raises
        ------
        ModelError
            Where they are not polynomials, or the fixed points are not isolated.
        """
        symbols = self.structure.symbols
        conditions = [as_expression(f) - as_expression(c) for f, c in level.items()]
        equations = [e for e in (*self.generators, *conditions) if sympy.expand(e) != 0]
        if any(not e.is_polynomial(*symbols) or e.free_symbols - {*symbols} for e in equations):
            what = "Fixed points are found for polynomials with numbers alone"
            raise ModelError(what, str(equations[0])[:60], "put numbers for parameters")
        try:
            found = sympy.solve_poly_system(equations, *symbols) or []
        except NotImplementedError:
            what = "The fixed points on this level are not isolated"
            raise ModelError(what, remedy="take a larger torus, or fix more Casimirs") from None
        real = [values for values in found if all(value.is_real for value in values)]
        return [dict(zip(symbols, values, strict=True)) for values in real]

    def polytope(self, level: Mapping[Expression, Expression]) -> MomentPolytope:
        """The image of a compact connected Casimir level under the momentum map of a torus.

        It is the hull of the images of the fixed points (Atiyah; Guillemin and Sternberg). That the
        level is compact and connected is not checked.

        Raises
        ------
        ModelError
            Where the generators do not commute, or there is no momentum map.
        """
        if self.momentum is None or self.constants is None or np.any(self.constants):
            what = "A moment polytope needs the momentum map of a torus"
            seen = "none" if self.momentum is None else "generators that do not commute"
            raise ModelError(what, seen, "give commuting generators with Hamiltonians")
        points = self.fixed_points(level)
        if not points:
            remedy = "give the level of a compact orbit"
            raise ModelError("The action has no fixed point on this level", str(level), remedy)
        images = [[float(value) for value in self.momentum.subs(point)] for point in points]
        return moment_polytope(images, self.names)

    def latex(self) -> str:
        """J as a LaTeX column."""
        return "" if self.momentum is None else str(sympy.latex(sympy.Matrix(self.momentum)))

    def _title(self) -> str:
        return "Momentum map"

    def _sections(self) -> list[Section]:
        lines = [("canonical", str(self.canonical)), ("exists", str(self.existence))]
        if self.momentum is not None:
            pairs = zip(self.names, self.momentum, strict=True)
            lines += [(f"J_{name}", str(value)) for name, value in pairs]
        found = [("equivariant", str(self.equivariance))]
        if self.cocycle is not None and self.cocycle != sympy.zeros(*self.cocycle.shape):
            found.append(("cocycle", str(self.cocycle.tolist())))
        return [("Momentum", lines), ("Equivariance", found)]


def poisson_momentum_map(
    structure: PoissonStructure,
    action: Fields,
    *,
    angles: Sequence[sympy.Symbol] = (),
    degree: int = 2,
    among: Sequence[Expression] | None = None,
) -> PoissonMomentumMap:
    """The momentum map of an action on a symplectic or Poisson manifold, and its cocycle.

    Parameters
    ----------
    structure : PoissonStructure
        Canonical, Lie-Poisson, of a symplectic form, or any other.
    action : mapping of name to field
        The generators by symbol of the structure, {"e1": {x: -y, y: x}}.
    angles : sequence of symbols
        Those with the period 2 pi, round which a Hamiltonian must be single-valued.
    degree : int
        Of the polynomials that are tried where the structure is degenerate.
    among : sequence of expressions
        Functions whose combinations are tried there instead.

    Examples
    --------
    Translations of a plane with an area form commute, but their Hamiltonians do not:

    >>> x, y = sympy.symbols("x y", real=True)
    >>> plane = PoissonStructure.symplectic([[0, 1], [-1, 0]], [x, y])
    >>> found = poisson_momentum_map(plane, {"e1": {x: 1}, "e2": {y: 1}})
    >>> found.momentum.T, found.cocycle[0, 1], found.equivariance.status
    (Matrix([[y, -x]]), 1, 'refuted')

    On a torus they have none, because y is not single-valued:

    >>> poisson_momentum_map(plane, {"e1": {x: 1}}, angles=[x, y]).existence.status
    'refuted'
    """
    names, columns = _generators(structure, action)
    symbols = list(structure.symbols)
    invariant = {name: _invariance(structure, K) for name, K in zip(names, columns, strict=True)}
    canonical = conjunction(invariant)
    generators = sympy.ImmutableMatrix(sympy.Matrix.hstack(*columns))
    found, reasons = [], {}
    for name, K in zip(names, columns, strict=True):
        J, reasons[name] = _hamiltonian(structure, K, invariant[name], angles, degree, among)
        found.append(J)
    existence = conjunction(reasons)
    constants = _constants(columns, symbols)
    momentum = None
    if existence.holds:
        momentum = sympy.ImmutableMatrix([J for J in found if J is not None])
    cocycle, equivariance, equivariant = _equivariance(structure, momentum, constants)
    table = None if constants is None else np.array(constants.tolist(), dtype=float)
    return PoissonMomentumMap(
        structure, names, generators, canonical, existence, momentum, table, cocycle,
        equivariance, equivariant,
    )  # fmt: skip


def _generators(
    structure: PoissonStructure, action: Fields
) -> tuple[tuple[str, ...], list[sympy.Matrix]]:
    if not isinstance(action, Mapping) or not action:
        what = "A momentum map needs the generators of an action"
        raise ModelError(what, type(action).__name__, "give {name: {symbol: component}}")
    known = {symbol.name: symbol for symbol in structure.symbols}
    names, columns = [], []
    for key, components in action.items():
        given: Mapping[Any, Any] = dict(components)
        table = {str(getattr(s, "name", s)): as_expression(value) for s, value in given.items()}
        strange = [name for name in table if name not in known]
        if strange:
            what = f"The generator `{key}` has components that the structure does not have"
            raise ModelError(what, ", ".join(strange), f"use {', '.join(known)}")
        names.append(str(getattr(key, "name", key)))
        columns.append(sympy.Matrix([table.get(name, ZERO) for name in known]))
    return tuple(names), columns


def _invariance(structure: PoissonStructure, K: sympy.Matrix) -> Verdict:
    """Whether L_K Pi = K^k d_k Pi - DK Pi - Pi DK^T vanishes."""
    symbols, Pi = list(structure.symbols), sympy.Matrix(structure.matrix)
    derivative = K.jacobian(symbols)
    moved = sum((c * Pi.diff(x) for c, x in zip(K, symbols, strict=True)), sympy.zeros(*Pi.shape))
    change = moved - derivative * Pi - Pi * derivative.T
    return vanish([change[i, j] for i, j in combinations(range(len(symbols)), 2)])


# -- Hamiltonians ----------------------------------------------------------------------------------


def _hamiltonian(
    structure: PoissonStructure,
    K: sympy.Matrix,
    invariant: Verdict,
    angles: Sequence[sympy.Symbol],
    degree: int,
    among: Sequence[Expression] | None,
) -> tuple[sympy.Expr | None, Verdict]:
    """J with Pi dJ = K, and whether there is one."""
    if invariant.is_refuted:
        return None, Verdict("refuted", "the generator does not leave the structure invariant")
    symbols, Pi = list(structure.symbols), sympy.Matrix(structure.matrix)
    algebra = GraphAlgebra()

    def rank(matrix: sympy.Matrix) -> Any:
        rows = [algebra.vector(matrix.row(k)).T for k in range(matrix.rows)]
        return algebra.rank(algebra.stack(rows))

    own, joined = rank(Pi), rank(Pi.row_join(K))
    if joined.value > own.at_most:
        return None, Verdict("refuted", "the generator is not tangent to the symplectic leaves")
    regular = own.value == len(symbols)
    J = _by_quadrature(Pi, K, symbols) if regular else None
    if J is None:
        J = _by_ansatz(structure, K, degree, among)
    if J is None:
        return None, Verdict("not established", "no Hamiltonian was found in closed form")
    holds = vanish(list(structure.field(J) - K))
    if not holds.holds:
        return None, Verdict("not established", f"the Hamiltonian that was found: {holds}")
    for angle in angles:
        turned = vanish([J.xreplace({angle: angle + 2 * sympy.pi}) - J])
        if turned.is_refuted:
            status: Any = "refuted" if regular else "not established"
            words = f"closed but not exact: {J} is not single-valued round {angle}"
            return None, Verdict(status, words)
    return J, holds


def _by_quadrature(
    Pi: sympy.Matrix, K: sympy.Matrix, symbols: Sequence[sympy.Symbol]
) -> sympy.Expr | None:
    """A primitive of Pi^-1 K."""
    form = (Pi.adjugate() * K / Pi.det(method="berkowitz")).applyfunc(simplify)
    found = potential(list(form), symbols)
    return None if found is None else simplify(found)


def _by_ansatz(
    structure: PoissonStructure, K: sympy.Matrix, degree: int, among: Sequence[Expression] | None
) -> sympy.Expr | None:
    """A combination of given functions, or of monomials, with the field K."""
    symbols = list(structure.symbols)
    basis = (
        monomials(symbols, degree) if among is None else [as_expression(entry) for entry in among]
    )
    fields = [sympy.Matrix(structure.field(f)) for f in basis]
    for row in vanishing_combinations([*fields, K], symbols):
        if row[-1] != 0:
            terms = (-c / row[-1] * f for c, f in zip(row, basis, strict=False))
            return sympy.Add(*terms)
    return None


# -- equivariance ----------------------------------------------------------------------------------


def _constants(
    columns: Sequence[sympy.Matrix], symbols: Sequence[sympy.Symbol]
) -> sympy.Array | None:
    """C^c_ab with [K_a, K_b] = -C^c_ab K_c; None for dependent generators, or without closure."""
    d = len(columns)
    if vanishing_combinations(columns, symbols):
        return None
    table = sympy.MutableDenseNDimArray.zeros(d, d, d)
    for a, b in combinations(range(d), 2):
        first, second = columns[a], columns[b]
        bracket = second.jacobian(symbols) * first - first.jacobian(symbols) * second
        if all(sympy.expand(entry) == 0 for entry in bracket):
            continue
        rows = vanishing_combinations([*columns, bracket], symbols)
        row = next((row for row in rows if row[-1] != 0), None)
        if row is None:
            return None
        weights = [c / row[-1] for c in row[:-1]]  # bracket = -sum weights K
        rest = bracket + sum((w * K for w, K in zip(weights, columns, strict=True)), 0 * bracket)
        if not vanish(list(rest)).holds:
            return None
        for c, weight in enumerate(weights):
            table[a, b, c], table[b, a, c] = weight, -weight
    return sympy.Array(table)


def _equivariance(
    structure: PoissonStructure,
    momentum: sympy.ImmutableMatrix | None,
    constants: sympy.Array | None,
) -> tuple[sympy.ImmutableMatrix | None, Verdict, sympy.ImmutableMatrix | None]:
    """Sigma, whether some momentum map is equivariant, and that one."""
    if momentum is None:
        return None, Verdict("not established", "there is no momentum map to be compared"), None
    if constants is None:
        words = "the generators are dependent, or are no basis of a Lie algebra"
        return None, Verdict("not established", words), None
    d = len(momentum)
    table = sympy.zeros(d, d)
    for a, b in combinations(range(d), 2):
        own = sympy.Add(*(constants[a, b, c] * momentum[c] for c in range(d)))
        value = simplify(structure.bracket(momentum[a], momentum[b]) - own)
        table[a, b], table[b, a] = value, -value
    upper = [table[a, b] for a, b in combinations(range(d), 2)]
    cocycle, none = sympy.ImmutableMatrix(table), vanish(upper)
    if none.holds:
        return cocycle, none, momentum
    if any(value.has(*structure.symbols) for value in upper):
        words = "the brackets differ by Casimirs that are not constant"
        return cocycle, Verdict("not established", words), None
    shift = sympy.symbols(f"lambda_1:{d + 1}")
    equations = [
        table[a, b] - sum(shift[c] * constants[a, b, c] for c in range(d))
        for a, b in combinations(range(d), 2)
    ]
    solved = sympy.linsolve(equations, *shift)
    if solved:
        values = [value.subs(dict.fromkeys(shift, ZERO)) for value in next(iter(solved))]
        moved = [J + value for J, value in zip(momentum, values, strict=True)]
        return (
            cocycle,
            Verdict("proved", PROVED, holds_to_rounding=True),
            sympy.ImmutableMatrix(moved),
        )
    words = "the cocycle is not a coboundary: no constants make the momentum map equivariant"
    regular = structure.generic_rank == len(structure.symbols)
    if not regular:
        return cocycle, Verdict("not established", words + "; Casimirs were not tried"), None
    return cocycle, Verdict("refuted", words), None
