r"""The parts of the explicit formula of equations: what z = a + K e is made of.

`formulations.explicit` has the formula. Udwadia calls the parts A_p, b_p and H_pp where z = p_dot,
and B = A_p H_pp^(-1/2) (Udwadia 25), so that K = H_pp^(-1/2) B^+; elsewhere they are A, b and M.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import sympy

from ..algebra.lazy import LazyBlock, now
from ..algebra.simplify.simplifier import simplify
from ..algebra.simplify.simplifying_algebra import _components
from ..algebra.simplify.written_terms import size
from ..errors import FormError
from ..formulations.explicit import (
    ExplicitSolution,
    KeptRows,
    kept_rows,
    pseudo_inverse,
    rank_notes,
    solution,
)
from .short_blocks import short_blocks
from .typeset import matrix_latex, symbol_latex

if TYPE_CHECKING:
    from ..algebra.verdicts import Rank, Verdict
    from ..formulations.equations import Equations

__all__ = ["ExplicitParts", "explicit_parts"]


class ExplicitParts:
    """What the formula z = a + K e of equations is made of, as SymPy matrices; n unknowns, m rows.

    Attributes
    ----------
    unknowns : matrix (n x 1)
        z.
    rows, right : matrices (m x n), (m x 1)
        A and b of the differentiated constraints A z = b.
    metric : matrix (n x n)
        G, such as M or H_pp; G + A_k^T A_k where G is singular and regular on the constraints.
    independent : tuple of str
        The constraints of the rows A_k that the formula keeps: all, or a largest independent set.
    rank : Rank
        The rank of A at almost every state, `proved` or not.
    agreement : Verdict
        Whether dependent rows agree with each other at every state.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> m = da.parameters("m", positive=True)
    >>> twice = [da.velocity(x.dot - y.dot, name="a"), da.velocity(2*x.dot - 2*y.dot, name="b")]
    >>> kinetic = m*(x.dot**2 + y.dot**2)/2
    >>> parts = da.derive(da.System([x, y], kinetic=kinetic, constraints=twice)).parts()
    >>> parts.rank, parts.independent, parts.gain.tolist()
    (Rank(value=1, at_most=1), ('a',), [[1/10, 1/5], [-1/10, -1/5]])
    """

    def __init__(self, equations: Equations) -> None:
        self._equations = equations
        self._rows: KeptRows = kept_rows(equations)
        self._algebra, self._blocks = short_blocks(equations)
        self._solution: ExplicitSolution = solution(self._algebra, self._blocks, self._rows)
        self.unknowns = self._blocks.unknowns
        self.rows = self._short(self._blocks.rows)
        self.right = self._short(self._blocks.right)
        self.metric = self._short(self._solution.metric)
        self.independent = tuple(equations.row_names[k] for k in self._rows.kept)
        self.rank: Rank = self._rows.rank
        self.agreement: Verdict = self._rows.agreement

    def __repr__(self) -> str:
        return f'<parts of "{self._equations.form}" of {self._equations.system.name}>'

    def __str__(self) -> str:
        return self.text()

    def _short(self, block: LazyBlock) -> sympy.Matrix:
        return sympy.Matrix(now(block)).applyfunc(simplify)

    @cached_property
    def free(self) -> sympy.Matrix:
        """a (n x 1): the unknowns without the constraints, G^-1 f."""
        return self._short(self._solution.free)

    @cached_property
    def error(self) -> sympy.Matrix:
        """e = b - A a (m x 1): by how much the unconstrained unknowns break the constraints."""
        ways = (
            self._short(self._blocks.right - self._blocks.rows @ now(self._solution.free)),
            self.right - self.rows @ self.free,
        )
        return min(ways, key=lambda way: sum(map(size, way)))

    @cached_property
    def weight(self) -> sympy.Matrix:
        """W = A G^-1 A^T (m x m)."""
        dual = self._algebra.solve(self._solution.metric, self._blocks.rows.T)
        if self._blocks.dual_rows is not None:
            dual = self._blocks.dual_rows
        return self._short(self._blocks.rows @ now(dual))

    @cached_property
    def gain(self) -> sympy.Matrix:
        """K = G^-1 A^T W^+ (n x m), with the Moore-Penrose inverse."""
        if not self._rows.count:
            return sympy.zeros(len(self.unknowns), 0)
        spread = sympy.eye(len(self._rows.kept))
        if not self._rows.is_whole:
            spread = now(pseudo_inverse(self._algebra, self._blocks, self._rows))
        inner = now(self._algebra.solve(self._solution.weight, spread))
        return self._short(now(self._solution.dual) @ inner)

    @cached_property
    def scaled_rows(self) -> sympy.Matrix:
        """B = A G^(-1/2) (m x n), with the symmetric square root.

        Raises
        ------
        FormError
            Where G connects three or more unknowns: such a root has no short formula, and K needs
            none.
        """
        root = sympy.zeros(*self.metric.shape)
        for places in _components(self.metric):
            block = _inverse_root(self.metric.extract(places, places))
            for i, row in enumerate(places):
                for j, column in enumerate(places):
                    root[row, column] = block[i, j]
        return self._short(self.rows @ root) if root.is_diagonal() else self.rows @ root

    @cached_property
    def reaction(self) -> sympy.Matrix:
        """K e (n x 1): what the constraints add to the unknowns; it does not depend on A_k."""
        return self._short(now(self._solution.dual) @ now(self._solution.multipliers))

    @cached_property
    def divisor(self) -> sympy.Expr:
        """What must not be zero for the formula to hold: the numerator of det W_k, or a root."""
        table = sympy.Matrix(now(self._solution.weight))
        above, _ = sympy.fraction(simplify(table.det(method="berkowitz")))
        bases = {factor.as_base_exp()[0] for factor in sympy.Mul.make_args(above)}
        return sympy.Mul(*(base for base in bases if not base.is_nonzero))

    # -- as text and LaTeX -------------------------------------------------------------------------

    @cached_property
    def names(self) -> Mapping[str, str]:
        """What the matrices are called in print, by attribute."""
        by_momentum = self._equations.form == "hamilton"
        metric = {"hamilton": "H_pp", "lagrange": "M"}.get(self._equations.form, "G")
        end = "_p" if by_momentum else ""
        unknowns = {"hamilton": "p_dot", "lagrange": "q_ddot"}.get(self._equations.form, "z")
        wanted = {
            "unknowns": unknowns,
            "free": "a",
            "rows": f"A{end}",
            "right": f"b{end}",
            "metric": metric,
        }
        wanted |= {"scaled_rows": "B", "gain": "K", "error": "e"}
        system = self._equations.system
        taken = {s.name for s in (*self._equations.state, *system.parameters, *system.inputs)}
        return {key: name + "_" * (name in taken) for key, name in wanted.items()}

    @property
    def statements(self) -> tuple[str, ...]:
        """The formula in words of matrices, its rank, and where it holds."""
        n = self.names
        metric, rows = n["metric"], n["rows"]
        weight = f"{rows} {metric}^-1 {rows}^T"
        power = "-1" if self._rows.is_whole else "+"
        if not self._rows.count:
            return (f"{n['unknowns']} = {n['free']}",)
        lines = [f"{n['unknowns']} = {n['free']} + {n['gain']} {n['error']}"]
        lines.append(f"{n['gain']} = {metric}^-1 {rows}^T ({weight})^{power}")
        lines.append(f"{n['error']} = {n['right']} - {rows} {n['free']}")
        lines += rank_notes(self._rows, self._equations.row_names)
        if not self.divisor.is_nonzero:
            lines.append(f"the formula holds where {self.divisor} is not zero")
        return tuple(lines)

    def matrices(self) -> dict[str, sympy.Matrix]:
        """The matrices by their names in print; B only where G is diagonal."""
        found = {}
        for attribute, name in self.names.items():
            if attribute == "scaled_rows" and not self.metric.is_diagonal():
                continue
            if self._rows.count or attribute in ("unknowns", "free", "metric"):
                found[name] = getattr(self, attribute)
        return found

    def text(self) -> str:
        """The formula and its matrices as plain text."""
        lines = list(self.statements)
        for name, matrix in self.matrices().items():
            shown = [f"    [{', '.join(map(str, matrix.row(k)))}]" for k in range(matrix.rows)]
            lines += [f"{name} =", *shown]
        return "\n".join(lines)

    def latex(self) -> str:
        """The matrices as a LaTeX ``aligned`` environment."""
        lines = [
            f"{symbol_latex(sympy.Symbol(name))} &= {matrix_latex(matrix)}"
            for name, matrix in self.matrices().items()
        ]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def _inverse_root(matrix: sympy.Matrix) -> sympy.Matrix:
    """S^(-1/2) of a symmetric positive matrix with one or two rows.

    For two rows it is (adj S + d) / (d s) with d^2 = det S and s^2 = tr S + 2 d, by Cayley and
    Hamilton.
    """
    if matrix.rows == 1:
        return sympy.Matrix([[1 / sympy.sqrt(matrix[0])]])
    if matrix.rows > 2:
        raise FormError(
            "The square root of the metric has no short formula",
            seen=f"{matrix.rows} unknowns that it connects",
            remedy="use the gain, which needs no root",
        )
    root = sympy.sqrt(simplify(matrix.det(method="berkowitz")))
    return (matrix.adjugate() + root * sympy.eye(2)) / (
        root * sympy.sqrt(matrix.trace() + 2 * root)
    )


def explicit_parts(equations: Equations) -> ExplicitParts:
    """The parts of the formula; see `dalembert.Equations.parts`."""
    return ExplicitParts(equations)
