r"""Complete integrals of the Hamilton-Jacobi equation by separation of variables.

With time as one more variable x_0, whose momentum is dS/dt, the equation is G = dS/dt + H_1(q,
dS/dq, t) = 0, and

    S = sum_j W_j(x_j),       dW_j/dx_j = shift_j + sign_j sqrt(radicand_j)

is sought. A cyclic variable has a constant momentum: alpha for a coordinate, -E for time. The
others are split off where G, divided by the coefficient of one squared momentum, is a sum of
functions of different variables (this covers Liouville's systems and nested ones, such as spherical
coordinates); each such part is constant. A single variable that is left gives its momentum as a
root of an equation of degree two. Whether some such S exists at all is decided by Levi-Civita's
conditions

    H_{p_i} H_{p_j} H_{q_i q_j} - H_{p_i} H_{q_j} H_{q_i p_j} - H_{q_i} H_{p_j} H_{p_i q_j} +
    H_{q_i} H_{q_j} H_{p_i p_j} = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import expansion_size, simplify
from ...model.symbols import Parameter, t
from ..proofs.bounded import differs_nowhere, established_zero, exact, factored, fresh
from .primitives import primitive

if TYPE_CHECKING:
    from ...algebra.structure import Verdict

__all__ = ["CompleteIntegral", "Derivative", "levi_civita", "separate"]

ZERO = sympy.S.Zero
#: The most terms of an equation that is split.
MOST_TERMS = 400


@dataclass(frozen=True)
class Derivative:
    """The derivative of S by one variable: shift + sign sqrt(radicand), or shift alone.

    Attributes
    ----------
    variable : sympy.Symbol
        A coordinate, or t.
    shift, radicand : expressions of the variable and the constants
    is_cyclic : bool
    """

    variable: sympy.Symbol
    shift: sympy.Expr
    radicand: sympy.Expr | None = None
    is_cyclic: bool = False

    def expression(self, sign: int = 1) -> sympy.Expr:
        """The derivative on one branch."""
        root = ZERO if self.radicand is None else sympy.sqrt(self.radicand)
        return self.shift + sign * root

    @cached_property
    def primitive(self) -> sympy.Expr:
        """W on the branch of the positive root; an `Integral` where no closed form was found."""
        x = self.variable
        smooth = primitive(self.shift, x)
        total = sympy.Integral(self.shift, x) if smooth is None else smooth
        if self.radicand is not None:
            closed = _root_of_quadratic_primitive(self.radicand, x)
            total += sympy.Integral(sympy.sqrt(self.radicand), x) if closed is None else closed
        return total


@dataclass(frozen=True)
class CompleteIntegral:
    """S(q, t; constants) with as many constants as coordinates, n.

    Attributes
    ----------
    constants : mapping of symbol to expression (n)
        Each constant with its integral of motion, in q, pi, t and constants before it.
    derivatives : tuple of Derivative (n + 1)
        dS/dt first, then dS/dq by coordinate.
    verdict : Verdict
        That S solves the equation.
    where : str
        The branch on which it does; empty where it is everywhere.
    """

    constants: Mapping[sympy.Symbol, sympy.Expr]
    derivatives: tuple[Derivative, ...]
    verdict: Verdict
    betas: tuple[sympy.Symbol, ...]
    where: str = ""

    @property
    def certified(self) -> str:
        """What the verdict rests on, and where it holds."""
        return f"{self.verdict.by}, where {self.where}" if self.where else self.verdict.by

    @cached_property
    def action(self) -> sympy.Expr:
        """S itself, on the branch of the positive roots."""
        return sympy.Add(*(derivative.primitive for derivative in self.derivatives))

    @cached_property
    def relations(self) -> tuple[sympy.Eq, ...]:
        """Jacobi's theorem: dS/d(constant) = beta, n equations between q and t."""
        pairs = zip(self.constants, self.betas, strict=True)
        return tuple(sympy.Eq(sympy.diff(self.action, c), beta) for c, beta in pairs)

    @cached_property
    def motion(self) -> Mapping[sympy.Symbol, sympy.Expr] | None:
        """q(t) by coordinate, in the constants, the betas and t; None where it is not found.

        It is found where one radicand is of degree two at most in its coordinate.
        """
        return _explicit_motion(self)


def separate(
    hamiltonian: sympy.Expr, coordinates: Sequence[sympy.Symbol], momenta: Sequence[sympy.Symbol]
) -> CompleteIntegral | None:
    """A complete integral of dS/dt + H(q, dS/dq, t) = 0 by separation; None where none is found."""
    return _Separation(exact(hamiltonian), coordinates, momenta).run()


class _Separation:
    """One equation, its variables, and the constants introduced so far."""

    def __init__(
        self,
        hamiltonian: sympy.Expr,
        coordinates: Sequence[sympy.Symbol],
        momenta: Sequence[sympy.Symbol],
    ) -> None:
        self.hamiltonian, self.momenta = hamiltonian, tuple(momenta)
        self.taken = {symbol.name for symbol in hamiltonian.free_symbols.union(coordinates)}
        self.clock = Parameter(fresh("pi_t", self.taken))
        self.pairs = [(t, self.clock), *zip(coordinates, momenta, strict=True)]
        self.constants: dict[sympy.Symbol, sympy.Expr] = {}
        self.where = ""
        self.derivatives: dict[sympy.Symbol, Derivative] = {}

    def run(self) -> CompleteIntegral | None:
        equation = self.clock + self.hamiltonian
        moving = [k for k, (x, _) in enumerate(self.pairs) if self.hamiltonian.has(x)]
        fixed: dict[sympy.Symbol, sympy.Expr] = {}
        for k, (x, pi) in enumerate(self.pairs):
            if k not in moving and k:
                fixed[pi] = self._constant(f"alpha_{x.name}", pi)
                self.derivatives[x] = Derivative(x, fixed[pi], is_cyclic=True)
        if 0 not in moving:
            still = self.hamiltonian.xreplace(fixed)
            value = -self._constant("E", self.hamiltonian) if moving else -still
            fixed[self.clock] = value
            self.derivatives[t] = Derivative(t, value, is_cyclic=True)
        if moving and not self._split(equation.xreplace(fixed), moving):
            return None
        derivatives = tuple(self.derivatives[x] for x, _ in self.pairs)
        verdict = self._verdict(derivatives)
        if not verdict.holds or not self._is_complete(derivatives):
            return None
        names = [f"beta_{c.name.removeprefix('alpha_')}" for c in self.constants]
        betas = tuple(Parameter(fresh(name, self.taken)) for name in names)
        return CompleteIntegral(self.constants, derivatives, verdict, betas, self.where)

    def _constant(self, name: str, definition: sympy.Expr) -> sympy.Symbol:
        symbol = Parameter(fresh(name, self.taken))
        self.constants[symbol] = definition
        return symbol

    # -- splitting ---------------------------------------------------------------------------------

    def _split(self, equation: sympy.Expr, group: Sequence[int]) -> bool:
        """Derivatives of all variables of the group from equation = 0; whether they were found."""
        if len(group) == 1:
            x, pi = self.pairs[group[0]]
            root = _root(equation, pi)
            if root is None:
                return False
            self.derivatives[x] = Derivative(x, *root)
            return True
        for scaled in self._scalings(equation, group):
            parts = self._parts(scaled, group)
            if len(parts) > 1:
                return self._split_parts(parts)
        return False

    def _scalings(self, equation: sympy.Expr, group: Sequence[int]) -> Iterator[sympy.Expr]:
        """The expanded equation, plain and divided by each coefficient of a squared momentum."""
        if expansion_size(equation) > MOST_TERMS:
            return
        yield sympy.expand(equation)
        for k in group:
            coefficient = factored(sympy.diff(equation, self.pairs[k][1], 2) / 2)
            if coefficient != 0 and not coefficient.has(*(pi for _, pi in self.pairs)):
                number, varying = coefficient.as_coeff_Mul()
                terms = sympy.Add.make_args(equation)
                scaled = sympy.Add(*(term / varying / number for term in terms))
                if expansion_size(scaled) <= MOST_TERMS:
                    yield sympy.expand(scaled)

    def _parts(
        self, equation: sympy.Expr, group: Sequence[int]
    ) -> list[tuple[list[int], sympy.Expr]]:
        """The terms gathered by the variables they connect; those of none go to the last."""
        parts: list[tuple[set[int], list[sympy.Expr]]] = []
        loose: list[sympy.Expr] = []
        for term in sympy.Add.make_args(equation):
            touched = {k for k in group if term.has(*self.pairs[k])}
            if not touched:
                loose.append(term)
                continue
            joined = [part for part in parts if part[0] & touched]
            parts = [part for part in parts if not part[0] & touched]
            merged = set().union(touched, *(places for places, _ in joined))
            parts.append((merged, [term, *(own for _, terms in joined for own in terms)]))
        ordered = sorted(parts, key=lambda part: (len(part[0]), -min(part[0])))
        found = [(sorted(places), sympy.Add(*terms)) for places, terms in ordered]
        if found and loose:
            found[-1] = (found[-1][0], found[-1][1] + sympy.Add(*loose))
        return found

    def _split_parts(self, parts: Sequence[tuple[list[int], sympy.Expr]]) -> bool:
        """Every part is a constant; the last one is minus the sum of the others."""
        rest: sympy.Expr = ZERO
        for places, part in parts[:-1]:
            constant = self._constant(f"alpha_{self.pairs[places[0]][0].name}", part)
            rest += constant
            if not self._split(part - constant, places):
                return False
        places, part = parts[-1]
        return self._split(part + rest, places)

    # -- proofs ------------------------------------------------------------------------------------

    def _verdict(self, derivatives: Sequence[Derivative]) -> Verdict:
        """Whether S solves the equation on the branches of positive and of negative roots."""
        pairs = []
        for sign in (1, -1):
            momenta = {pi: derivatives[k + 1].expression(sign) for k, pi in enumerate(self.momenta)}
            pairs.append((self.hamiltonian.xreplace(momenta), -derivatives[0].expression(sign)))
        nodes = {node for pair in pairs for side in pair for node in side.atoms(sympy.Pow)}
        on_branch = {node: node.base.base for node in nodes if _is_length(node)}
        sides = [tuple(side.xreplace(on_branch) for side in pair) for pair in pairs]
        self.where = ", ".join(sorted({f"{root} >= 0" for root in on_branch.values()}))
        return differs_nowhere(sides)

    def _is_complete(self, derivatives: Sequence[Derivative]) -> bool:
        """Whether the determinant of d^2 S / dq dconstant does not vanish."""
        momenta = [derivative.expression() for derivative in derivatives[1:]]
        entries = [[sympy.diff(momentum, c) for c in self.constants] for momentum in momenta]
        determinant = sympy.Matrix(entries).det(method="berkowitz")
        return differs_nowhere([(determinant, ZERO)]).is_refuted


def _is_length(node: sympy.Pow) -> bool:
    """Whether this is sqrt(u^2)."""
    is_root = node.exp == sympy.S.Half and isinstance(node.base, sympy.Pow)
    return bool(is_root and node.base.exp == 2)


def _root(equation: sympy.Expr, pi: sympy.Symbol) -> tuple[sympy.Expr, sympy.Expr | None] | None:
    """shift and radicand of roots pi of an equation of degree two, or with one radical."""
    quadratic = _coefficients(equation, pi)
    if quadratic is None and expansion_size(equation) <= MOST_TERMS:
        quadratic = _coefficients(sympy.fraction(sympy.together(equation))[0], pi)
    if quadratic is not None:
        return _quadratic_root(*quadratic)
    powers = (node for node in equation.atoms(sympy.Pow) if node.has(pi))
    radicals = [node for node in powers if node.exp.is_Rational and node.exp.q == 2]
    insides = {node.base for node in radicals}
    if len(insides) != 1:
        return None
    inside, length = insides.pop(), sympy.Dummy("X", positive=True)
    plain = equation.xreplace({node: length ** (2 * node.exp) for node in radicals})
    outer = None if plain.has(pi) else _coefficients(plain, length)
    root = None if outer is None else _quadratic_root(*outer)
    if root is None:
        return None
    positive = root[0] if root[1] is None else root[0] + sympy.sqrt(root[1])
    inner = _coefficients(inside - positive**2, pi)
    return None if inner is None else _quadratic_root(*inner)


def _coefficients(
    equation: sympy.Expr, pi: sympy.Symbol
) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr] | None:
    """A, B, C of A pi^2 + B pi + C, or None."""
    first = sympy.diff(equation, pi)
    second = simplify(sympy.diff(first, pi))
    if second.has(pi):
        return None
    rest = (simplify(part.xreplace({pi: ZERO})) for part in (first, equation))
    found = (second / 2, *rest)
    if any(part.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo) for part in found):
        return None
    return found


def _quadratic_root(
    a: sympy.Expr, b: sympy.Expr, c: sympy.Expr
) -> tuple[sympy.Expr, sympy.Expr | None] | None:
    if a == 0:
        return None if b == 0 else (simplify(-c / b), None)
    shift = simplify(-b / (2 * a))
    return shift, factored(simplify(shift**2) - simplify(c / a))


def _root_of_quadratic_primitive(radicand: sympy.Expr, x: sympy.Symbol) -> sympy.Expr | None:
    """The primitive of sqrt(A x^2 + B x + C) where the sign of A is known; None otherwise.

    Its derivative by C is the primitive of 1 / (2 sqrt(...)) that `_inverted` inverts.
    """
    quadratic = _coefficients(radicand, x)
    if quadratic is None:
        return None
    a, b, c = (factored(part) for part in quadratic)
    root = sympy.sqrt(radicand)
    if a == 0:
        return root * x if b == 0 else sympy.Rational(2, 3) * radicand ** sympy.Rational(3, 2) / b
    turned = (2 * a * x + b) / (4 * a) * root
    bend = (4 * a * c - b**2) / (8 * a * sympy.sqrt(abs(a)))
    if a.is_negative:
        return turned - bend * sympy.asin((2 * a * x + b) / sympy.sqrt(simplify(b**2 - 4 * a * c)))
    if a.is_positive:
        log = sympy.log(2 * sympy.sqrt(a) * root + 2 * a * x + b)
        return turned + bend * (log - sympy.Rational(1, 2))
    return None


def _explicit_motion(integral: CompleteIntegral) -> Mapping[sympy.Symbol, sympy.Expr] | None:
    """With J = int dx/(2 sqrt R): R_E J = t + beta_E, q_i = beta_i - shift_i x - R_i J."""
    clock, *derivatives = integral.derivatives
    moving = [derivative for derivative in derivatives if not derivative.is_cyclic]
    if not clock.is_cyclic or len(moving) > 1:
        return None
    if not moving:
        rates = [sympy.diff(clock.shift, c) for c in integral.constants]
        rows = zip(derivatives, integral.betas, rates, strict=True)
        return {s.variable: beta - rate * t for s, beta, rate in rows}
    (derivative,) = moving
    x, radicand = derivative.variable, derivative.radicand
    quadratic = None if radicand is None else _coefficients(radicand, x)
    if radicand is None or quadratic is None:
        return None
    parts = (derivative.shift, radicand)
    by_constant = {c: [simplify(sympy.diff(part, c)) for part in parts] for c in integral.constants}
    energy = next(c for c in integral.constants if clock.shift == -c)
    rates = [part for pair in by_constant.values() for part in pair]
    if by_constant[energy][0] != 0 or any(rate.has(x) for rate in rates):
        return None
    beta = dict(zip(integral.constants, integral.betas, strict=True))
    lapse = (t + beta[energy]) / factored(by_constant[energy][1])
    a, b, c = (factored(part) for part in quadratic)
    place = _inverted(a, b, c, lapse)
    if place is None:
        return None
    place = simplify(place)
    found = {x: place}
    for other in derivatives:
        if other.is_cyclic:
            shift, bend = by_constant[other.shift]
            found[other.variable] = beta[other.shift] - shift * place - bend * lapse
    return {s.variable: found[s.variable] for s in derivatives}


def _inverted(a: sympy.Expr, b: sympy.Expr, c: sympy.Expr, lapse: sympy.Expr) -> sympy.Expr | None:
    """x with int dx / (2 sqrt(a x^2 + b x + c)) = lapse, through turning points as well."""
    if a == 0:
        return b * lapse**2 - simplify(c / b) if b != 0 else 2 * sympy.sqrt(c) * lapse
    discriminant = simplify(b**2 - 4 * a * c)
    if a.is_negative:
        return (-sympy.sqrt(discriminant) * sympy.sin(2 * sympy.sqrt(-a) * lapse) - b) / (2 * a)
    if a.is_positive:
        growth = sympy.exp(2 * sympy.sqrt(a) * lapse)
        return ((growth + discriminant / growth) / 2 - b) / (2 * a)
    return None


def levi_civita(
    hamiltonian: sympy.Expr,
    coordinates: Sequence[sympy.Symbol],
    momenta: Sequence[sympy.Symbol],
    clock: sympy.Symbol | None = None,
) -> Verdict:
    """Whether the equation can be separated additively in these coordinates.

    Parameters
    ----------
    clock : symbol or None
        The momentum of time where the Hamiltonian contains t; (t, pi_t) is a pair of H + pi_t.
    """
    pairs = list(zip(coordinates, momenta, strict=True))
    pairs += [(t, clock)] if clock is not None else []
    moving = [pair for pair in pairs if hamiltonian.has(pair[0])]
    algebra, n = GraphAlgebra(), len(moving)
    function = algebra.scalar(hamiltonian if clock is None else hamiltonian + clock)
    symbols = algebra.vector([x for x, _ in moving] + [pi for _, pi in moving])
    second, first = algebra.hessian(function, symbols)
    terms = []
    for j, i in combinations(range(n), 2):
        by_place = first[n + j] * second[i, j] - first[j] * second[i, n + j]
        by_momentum = first[n + j] * second[n + i, j] - first[j] * second[n + i, n + j]
        terms.append(first[n + i] * by_place - first[i] * by_momentum)
    return established_zero(algebra, [], algebra.stack(terms) if terms else algebra.zeros(0))
