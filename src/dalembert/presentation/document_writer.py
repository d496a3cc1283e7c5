"""Expressions of a derivation as displays: made short, set in LaTeX, and kept within the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import sympy

from ..algebra.lazy import entries_of, now
from ..algebra.protocol import Block
from ..algebra.simplify.quotient_printer import LOOKS
from ..algebra.simplify.simplifier import EFFORT, simplify
from ..algebra.simplify.simplifying_algebra import LONGEST_INLINED, SimplifyingAlgebra
from ..algebra.simplify.statement import helpful_turns
from ..algebra.simplify.written_terms import size
from ..errors import ModelError
from ..model.quantities import inlined_if_short
from ..model.symbols import Parameter
from .document_layout import Pair, align, matrix
from .equation_printer import Term, _stated
from .naming import Naming
from .typeset import _Setter, _side, symbol_latex

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = ["DerivationWriter"]

#: An expression longer than this, in units of `size`, gets names for its parts; a display longer
#: than the second is left out.
LONG, LONGEST = 160, 2600

#: Systems with more named quantities are mechanisms with long expressions; each of these gets the
#: part of the work of `simplify` that the second divides it by.
MANY_QUANTITIES, LARGE_SHARE = 12, 20

#: Symbols that the words of a document use, and that no name may look like.
RESERVED = sympy.symbols("A B E F H L M N Q R S T V W d e f h p q s u v", real=True)

TOO_LONG = "Written out, this step is too long for a page; the result contains it."


class DerivationWriter:
    """Writes the displays of one document.

    Attributes
    ----------
    algebra : BriefAlgebra
        Where the steps are computed: every intermediate result in lowest terms.
    show : callable
        An expression as LaTeX.
    """

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        system = equations.system
        motion = [s for s in equations.state if s not in system.coordinates]
        velocities = [s for s in system.velocities if s not in motion]
        self._collected = [*motion, *velocities, *equations.unknowns]
        self._turns = helpful_turns(_stated(equations)) if hasattr(system, "bilateral") else ()
        is_large = len(getattr(system, "definitions", ())) > MANY_QUANTITIES
        self._share = LARGE_SHARE if is_large else 1
        # Bound quasi-velocities are numbered on after the free ones.
        names = [f"eta of {c.name}" for c in getattr(system, "bilateral", ())]
        first = len(equations.chart) + 1
        self._bound = {
            Parameter(name): sympy.Symbol(f"eta_{first + k}", real=True)
            for k, name in enumerate(names)
        }
        multipliers = [sympy.Symbol(f"mu_{c.name}") for c in system.constraints]
        self.show: Callable[[sympy.Expr], str] = _Setter([*equations.unknowns, *multipliers]).show

    @property
    def algebra(self) -> SimplifyingAlgebra:
        """A new algebra, with the work of one step before it."""
        return SimplifyingAlgebra(named=False, turns=self._turns)

    def short(self, expression: sympy.Expr) -> sympy.Expr:
        """The expression in its smallest form, grouped by velocities and accelerations."""
        expression = inlined_if_short(expression, LONGEST_INLINED) or expression
        return simplify(
            expression.xreplace(self._bound),
            EFFORT // self._share,
            self._collected,
            self._turns,
            LOOKS // self._share,
        )

    def entries(self, block: Block) -> list[sympy.Expr]:
        """The entries of a block, each made short."""
        return [self.short(entry) for entry in entries_of(block)]

    # -- displays ----------------------------------------------------------------------------------

    def lines(
        self, pairs: Sequence[tuple[str, sympy.Expr]], numbered: bool = False, stated: bool = False
    ) -> str:
        """Equations name = expression; parts of long ones get names, which are listed after them.

        What was `stated` is shown however long it is; other displays raise ModelError where they
        would fill pages.
        """
        expressions = [expression for _, expression in pairs]
        if not pairs:
            return ""
        names: tuple[tuple[sympy.Expr, sympy.Expr], ...] = ()
        if max(size(expression) for expression in expressions) > LONG:
            naming = Naming(
                self.equations, [RESERVED, *([expression] for expression in expressions)]
            )
            expressions, names = [line[0] for line in naming.lines()[1:]], naming.names()
        if (
            not stated
            and sum(size(e) for e in (*expressions, *(meaning for _, meaning in names))) > LONGEST
        ):
            raise ModelError(
                "This display is too long for a page", remedy="ask for the format text"
            )
        found = align(
            [(left, self.show(e)) for (left, _), e in zip(pairs, expressions, strict=True)],
            numbered,
        )
        if names:
            found += "where, in this display,\n" + align(
                [(self.show(name), self.show(meaning)) for name, meaning in names]
            )
        return found

    def sums(
        self, rows: Iterable[tuple[Sequence[Term], sympy.Expr]], numbered: bool = False
    ) -> str:
        """Equations sum of coefficient times symbol = expression."""
        pairs: list[Pair] = []
        for terms, right in rows:
            kept = [(self.short(c), symbol) for c, symbol in terms if c != 0]
            pairs.append((_side(kept, self.show), self.show(self.short(right))))
        if sum(len(left) + len(right) for left, right in pairs) > 6 * LONGEST:
            raise ModelError(
                "This display is too long for a page", remedy="ask for the format text"
            )
        return align(pairs, numbered) if pairs else ""

    def column(self, name: str, symbols: Sequence[sympy.Symbol], block: Block) -> str:
        """The entries of a column by the symbols they belong to, ``name_symbol = entry``."""
        pairs = zip(symbols, self.entries(block), strict=True)
        return self.lines([(f"{name}_{{{symbol_latex(x)}}}", e) for x, e in pairs])

    def table(self, name: str, block: Block, symmetric: bool = False) -> str:
        """A matrix."""
        table = now(block)
        rows, columns = map(range, table.shape)
        entries = [[self.short(table[i, j]) for j in columns] for i in rows]
        if sum(size(entry) for row in entries for entry in row) > LONGEST:
            raise ModelError("This matrix is too long for a page", remedy="ask for the format text")
        if entries:
            return matrix(name, [[self.show(entry) for entry in row] for row in entries], symmetric)
        return ""
