r"""Equations as lines that a person reads.

The derivation runs on `SimplifyingAlgebra`, and its blocks become lines: kinematic rates, then G z
= f + A^T mu row by row (or z itself where it is known), then A z = b. Each row is multiplied by
what it divides by, and divided by what all its terms share and cannot vanish, where that makes it
shorter. Parts that recur or are long get names (`naming.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.graph_layers import GraphLayers
from ..algebra.lazy import now
from ..algebra.simplify.lowest_terms import eliminated, lowest_terms
from ..algebra.simplify.quotient_printer import LOOKS, QuotientPrinter
from ..algebra.simplify.quotients import AngleSubstitution, Generators, PolynomialQuotient
from ..algebra.simplify.simplifier import EFFORT, simplify
from ..algebra.simplify.simplifying_algebra import LONGEST_INLINED, SimplifyingAlgebra
from ..algebra.simplify.statement import helpful_turns
from ..algebra.simplify.trigonometric_ring import Polynomial, TooMuchWorkError, Work
from ..algebra.simplify.written_terms import size
from ..errors import ModelError
from ..formulations.blocks import GaussBlocks
from ..model.quantities import definitions_in, inlined_if_short
from ..model.symbols import Coordinate, Velocity
from .layered_blocks import layered_blocks
from .naming import Naming

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = ["Line", "Written", "write", "write_explicit"]

#: The work that clearing the denominators of a line may take, and solving for the unknowns.
SCALED_EFFORT, SOLVED_EFFORT = 50_000, 30_000
#: The work that a derivation may take without names for inverses, and the operations that need no
#: names.
PLAIN_EFFORT, SHORT_EXTENT = 200_000, 800
#: The work that all lines may take, and the number of terms that are looked at to make them short.
WHOLE_EFFORT, WHOLE_LOOKS = 400_000, 8_000

Term = tuple[sympy.Expr, sympy.Symbol | None]


@dataclass(frozen=True)
class Line:
    """left = right, each a sum of coefficients times symbols; the symbol is None for what belongs
    to none.
    """

    left: tuple[Term, ...]
    right: tuple[Term, ...]

    @property
    def sides(self) -> tuple[sympy.Expr, sympy.Expr]:
        """Both sides as expressions."""
        left, right = (
            sympy.Add(*(c if symbol is None else c * symbol for c, symbol in terms))
            for terms in (self.left, self.right)
        )
        return left, right

    @property
    def parts(self) -> list[sympy.Expr]:
        """All coefficients."""
        return [coefficient for coefficient, _ in (*self.left, *self.right)]

    def with_parts(self, parts: Sequence[sympy.Expr]) -> Line:
        """The same line with other coefficients."""
        terms = [
            (part, symbol)
            for part, (_, symbol) in zip(parts, (*self.left, *self.right), strict=True)
        ]
        return Line(tuple(terms[: len(self.left)]), tuple(terms[len(self.left) :]))


@dataclass(frozen=True)
class Written:
    """Equations written out.

    Attributes
    ----------
    lines : tuple of Line
    names : tuple of pairs (symbol, expression)
        What the names in the lines stand for, in the order in which they come up; later ones may
        occur in earlier ones. An inverse is a pair (K, M^-1) of matrix symbols, the entries of
        which are the symbols K_12, M_12, ...; entries of M that are not listed are zero.
    """

    lines: tuple[Line, ...]
    names: tuple[tuple[sympy.Expr, sympy.Expr], ...]

    @property
    def size(self) -> int:
        """The reading length of lines and names."""
        meanings = [*self.names, *(line.sides for line in self.lines)]
        return sum(size(side) for pair in meanings for side in pair if isinstance(side, sympy.Expr))


def write_explicit(equations: Equations, compact: bool = True) -> Written:
    """Equations that are given by a formula: as one, or with its layers by name if that is shorter.

    The layers are the free rates a and what multiplies G^-1 A^T (`formulations.explicit`).
    """
    constants = equations.system.parameters if compact else ()
    turns = helpful_turns(_stated(equations), constants)
    found = list[Written]()
    for layered in (False, True):
        try:
            written = _derived(equations, compact, layered, constants, turns)
            found.append(_with_definitions(written))
        except ModelError:
            if not compact:
                raise
        if not compact:
            break
    if not found:
        return _in_layers(equations, compact, turns)
    return min(found, key=lambda written: written.size)


def write(equations: Equations, compact: bool = True) -> Written:
    """The equations as lines; with names for parts of them where they are `compact`.

    Names that the derivation itself gives, to inverses, help where these stay in the equations and
    hinder where they cancel. The derivation is tried without them first.
    """
    constants = equations.system.parameters if compact else ()
    turns = helpful_turns(_stated(equations), constants)
    try:
        return _with_definitions(_derived(equations, compact, False, constants, turns))
    except ModelError:
        if not compact:
            raise
    return _in_layers(equations, compact, turns)


def _in_layers(equations: Equations, compact: bool, turns: Sequence[AngleSubstitution]) -> Written:
    """The lines of equations of any size."""
    layers, blocks = layered_blocks(equations, turns)
    return _with_definitions(_Writing(equations, compact, layers, blocks, turns).written())


def _with_definitions(written: Written) -> Written:
    """The same lines, with the quantities of the system that they contain among the names."""
    shown = [part for line in written.lines for part in line.parts]
    shown += [meaning for _, meaning in written.names]
    stated = [(each, each.definition) for each in definitions_in(shown)]
    return replace(written, names=(*written.names, *stated))


def _derived(
    equations: Equations,
    compact: bool,
    layered: bool,
    constants: Sequence[sympy.Symbol],
    turns: Sequence[AngleSubstitution],
) -> Written:
    """The lines of the derivation in lowest terms."""
    plain, algebra = (
        None,
        SimplifyingAlgebra(
            named=False, turns=turns, effort=PLAIN_EFFORT, constants=constants, layered=layered
        ),
    )
    try:
        plain = _Writing(equations, compact, algebra, equations.blocks(algebra), turns)
        if not (compact and algebra.has_long_inverse) or plain.extent() <= SHORT_EXTENT:
            return plain.written()
    except ModelError:
        if not (compact and algebra.has_long_inverse):
            raise
    try:
        algebra = SimplifyingAlgebra(named=True, turns=turns, constants=constants, layered=layered)
        named = _Writing(equations, compact, algebra, equations.blocks(algebra), turns)
    except ModelError:
        if plain is None:
            raise
        return plain.written()
    if plain is not None and plain.extent() <= named.extent():
        return plain.written()
    return named.written()


class _Writing:
    """One set of equations on its way to lines."""

    def __init__(
        self,
        equations: Equations,
        compact: bool,
        algebra: SimplifyingAlgebra | GraphLayers,
        blocks: GaussBlocks,
        turns: Sequence[AngleSubstitution],
    ) -> None:
        self.equations, self.compact, self.algebra, self.turns = equations, compact, algebra, turns
        self.work, self.looks = Work(WHOLE_EFFORT), Work(WHOLE_LOOKS)
        self.blocks = blocks
        for block in (
            self.blocks.metric,
            self.blocks.force,
            self.blocks.rows,
            self.blocks.right,
            self.blocks.rates,
        ):
            now(block)  # so that all names are there
        self.z, self.mu = list(now(self.blocks.unknowns)), list(now(self.blocks.multipliers))
        self.velocities: dict[sympy.Symbol, sympy.Symbol] = {}
        system = equations.system
        motion = [symbol for symbol in equations.state if symbol not in system.coordinates]
        self.collected = [
            *motion,
            *(s for s in system.velocities if s not in motion),
            *self.z,
            *self.mu,
        ]

    def extent(self) -> int:
        """How many operations the equations have before they are made short."""
        blocks = self.blocks
        shown = [blocks.metric, blocks.force]
        if blocks.free is not None:
            shown = [blocks.free, *([blocks.dual_rows] if self.mu else [])]
        expressions = [
            entry
            for block in (*shown, blocks.rows, blocks.right, blocks.rates)
            for entry in now(block)
        ]
        expressions += self.algebra.meanings.values()
        expressions += [entry for home in self.algebra.inverses for entry in home.matrix]
        return sum(entry.count_ops() for entry in expressions)

    def written(self) -> Written:
        lines = self._kinematics() + self._dynamics()
        if not self.compact:
            return Written(tuple(lines), ())
        is_layered, meanings = isinstance(self.algebra, GraphLayers), self.algebra.meanings
        if not is_layered:
            meanings = {name: self._simplify(meaning) for name, meaning in meanings.items()}
        inverses = [
            replace(home, matrix=home.matrix.applyfunc(self._simplify))
            for home in self.algebra.inverses
        ]
        places = self.algebra.places if isinstance(self.algebra, GraphLayers) else None
        parts = [line.parts for line in lines]
        naming = Naming(self.equations, parts, inverses, meanings, places)
        named = [line.with_parts(parts) for line, parts in zip(lines, naming.lines(), strict=True)]
        return Written(tuple(named), naming.names())

    # -- the lines ---------------------------------------------------------------------------------

    def _kinematics(self) -> list[Line]:
        """Rates of the state that are not unknowns themselves; solutions that are velocities are
        called by their names.
        """
        rates = list(zip(self.equations.state, now(self.blocks.rates), strict=True))
        solutions = {
            w: (home.symbols.row(i) @ right)[0]
            for home in self.algebra.inverses
            for column, right in home.solutions
            for i, w in enumerate(column)
        }
        named = []
        for symbol, rate in rates:
            name = (
                symbol.dot
                if isinstance(symbol, Coordinate)
                else symbol.coordinate.ddot
                if isinstance(symbol, Velocity)
                else sympy.Symbol(f"{symbol.name}_dot", real=True)
            )
            if rate in solutions:
                self.velocities[rate] = name
            if rate not in self.z and str(rate) != str(name):
                named.append((name, solutions.get(rate, rate)))
        lines = []
        self.collected += self.algebra.meanings
        for name, rate in named:
            lines.append(Line(((sympy.S.One, name),), ((self._simplify(rate), None),)))
        return lines

    def _simplify(self, expression: sympy.Expr) -> sympy.Expr:
        return self._line([], expression, scaled=False).right[0][0]

    def _dynamics(self) -> list[Line]:
        z, mu, blocks = self.z, self.mu, self.blocks
        metric, force, rows, right = (
            now(block) for block in (blocks.metric, blocks.force, blocks.rows, blocks.right)
        )
        known, dual = now(blocks.free), now(blocks.dual_rows)
        if known is None or (mu and dual is None):
            known, dual = self._solution(metric, force) if not mu else None, sympy.zeros(len(z), 0)
        if known is not None:
            others = [[(dual[k, j], m) for j, m in enumerate(mu)] for k in range(len(z))]
            lines = [
                self._line([(sympy.S.One, z[k])], known[k], others[k], scaled=False)
                for k in range(len(z))
            ]
        else:
            lines = []
            for k in range(len(z)):
                left = [(metric[k, j], symbol) for j, symbol in enumerate(z)]
                lines.append(
                    self._line(left, force[k], [(rows[j, k], m) for j, m in enumerate(mu)], lead=k)
                )
        return lines + [
            self._line([(rows[k, j], s) for j, s in enumerate(z)], right[k]) for k in range(len(mu))
        ]

    def _solution(
        self, metric: sympy.MatrixBase, force: sympy.MatrixBase
    ) -> sympy.MatrixBase | None:
        """G^-1 f where it is shorter than G and f together."""
        try:
            terms = [
                lowest_terms(entry, Work(SOLVED_EFFORT), self.turns) for entry in (*metric, *force)
            ]
            solution = eliminated(metric, force, Work(SOLVED_EFFORT), self.turns)
        except TooMuchWorkError:  # then the solved form is not shorter
            return None
        return solution if sum(map(size, solution)) < sum(map(size, terms)) else None

    def _line(
        self,
        left: Sequence[Term],
        right: sympy.Expr,
        others: Sequence[Term] = (),
        *,
        scaled: bool = True,
        lead: int = 0,
    ) -> Line:
        """One line in lowest terms, multiplied by what makes it smallest, the sign of the unknown
        `lead` positive.
        """
        terms = [*left, *others, (right, None)]
        terms = [(c.xreplace(self.velocities), symbol) for c, symbol in terms if c != 0]
        expressions = [c for c, _ in terms]
        try:
            generators = Generators(expressions, Work(EFFORT, self.work), self.turns, simplify)
            quotients = [generators.read(c) for c in expressions]
        except TooMuchWorkError:
            quotients = []
        smallest = expressions
        if quotients:
            ways = [quotients]
            if scaled:
                generators.allow(Work(SCALED_EFFORT, self.work))
                with suppress(TooMuchWorkError):
                    ways = _scalings(
                        generators, quotients, [symbol in self.z for _, symbol in terms]
                    )
            generators.allow(Work(EFFORT, self.work))
            writer = QuotientPrinter(generators, self.collected, Work(LOOKS, self.looks))
            candidates = [[writer.quotient(quotient) for quotient in way] for way in ways]
            if isinstance(self.algebra, GraphLayers):  # names are not worth multiplying out
                candidates.append(expressions)
            smallest = min(
                candidates, key=lambda way: sum(size(part) for part in way if part not in (1, -1))
            )
        return _signed(
            [(c, symbol) for c, (_, symbol) in zip(smallest, terms, strict=True)], self.z, lead
        )


def _stated(equations: Equations) -> list[sympy.Expr]:
    """What the system was stated by."""
    system: Any = getattr(
        equations.system, "original", equations.system
    )  # what a reduced system was made of
    velocities = system.image.velocities.values() if system.image is not None else ()
    energies = (system.hamiltonian if system.is_hamiltonian else system.lagrangian,)
    stated = [
        e
        for e in (*energies, *(c.expression for c in system.bilateral), *velocities)
        if isinstance(e, sympy.Expr)
    ]
    spelt = (inlined_if_short(expression, LONGEST_INLINED) for expression in stated)
    return [expression for expression in spelt if expression is not None]


def _signed(terms: Sequence[Term], unknowns: Sequence[sympy.Symbol], lead: int) -> Line:
    """A line in which the unknown `lead`, or the first there is, has a positive sign, with all
    other terms on the right.
    """
    left = [(c, symbol) for c, symbol in terms if symbol in unknowns and c != 0]
    right = [(c, symbol) for c, symbol in terms if symbol not in unknowns and c != 0]
    first = next(
        (c for c, symbol in left if symbol == unknowns[lead]), left[0][0] if left else sympy.S.One
    )
    if first.could_extract_minus_sign():
        left, right = ([(-c, symbol) for c, symbol in side] for side in (left, right))
    right.sort(key=lambda term: term[1] is not None)
    return Line(tuple(left), tuple(right) or ((sympy.S.Zero, None),))


def _scalings(
    generators: Generators, quotients: Sequence[PolynomialQuotient], unknowns: Sequence[bool]
) -> list[list[PolynomialQuotient]]:
    """A row as it is, free of the denominators before its unknowns, and free of all; each without
    what its terms share.
    """
    ways = []
    for chosen in (
        [],
        [q for q, is_unknown in zip(quotients, unknowns, strict=True) if is_unknown],
        quotients,
    ):
        powers: dict[Polynomial, int] = {}
        for quotient in chosen:
            for factor, power in quotient.below:
                powers[factor] = max(power, powers.get(factor, 0))
        above = generators.ring.one
        for factor, power in powers.items():
            above = generators.ring.product(above, generators.ring.power(factor, power))
        way = _without_common(
            generators, [generators.times([q, PolynomialQuotient(above)]) for q in quotients]
        )
        if way not in ways:
            ways.append(way)
    return ways


def _without_common(
    generators: Generators, quotients: list[PolynomialQuotient]
) -> list[PolynomialQuotient]:
    """The row divided by the numbers and factors that all its terms share, if they cannot
    vanish.
    """
    ring = generators.ring
    numbers = [abs(int(c)) for q in quotients for c in q.above.values()]
    common, divisor = gcd(*numbers), gcd(*(q.divisor for q in quotients))
    quotients = [
        PolynomialQuotient(q.above * divisor, q.divisor * common, q.below) for q in quotients
    ]
    smallest = min((q.above for q in quotients), key=ring.key)
    for factor, power in ring.factors(smallest)[1]:
        if not generators.written(factor).is_nonzero:
            continue
        for _ in range(power):
            divided = [ring.divided(q.above, factor) for q in quotients]
            if any(above is None for above in divided):
                break
            quotients = [
                PolynomialQuotient(above, q.divisor, q.below)
                for above, q in zip(divided, quotients, strict=True)
            ]
    return [generators.shortened(q.above, q.divisor, dict(q.below)) for q in quotients]
