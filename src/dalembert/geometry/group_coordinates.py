r"""Coordinates on a Lie group with its left-invariant frame, Ad_g and left translations.

    g_dot = e(g) xi,        xi = g^-1 g_dot the body velocity,  Ad_g xi = g_dot g^-1 the spatial one
    K(g) = e(g) Ad_g^-1
        the generators of left translations (right-invariant fields), K = e at the identity

Ad_g obeys d/dt Ad_g = Ad_g ad_xi. Along a coordinate on which xi is constant it is an exponential,
so that coordinates of the second kind, g = exp(s_1 x_1) exp(s_2 x_2) ... in any order, give it in
closed form:

    Ad_g = exp(s_1 ad_x1) exp(s_2 ad_x2) ...

Positions and headings of bodies in the plane or in space, Euler's and Cardan's angles, and shifts
are all of this kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy
from sympy.simplify.fu import TR5, TR6

from ..algebra.graph import GraphAlgebra
from ..errors import ModelError
from ..typing import Array, Expression
from .lie_charts import GroupChart, exact_number

__all__ = ["GroupCoordinates", "exact_number"]

#: Frames that differ by more than this are different.
ROUNDING = 1e-9


@dataclass(frozen=True)
class _Leg:
    """A symbol that moves along a constant body velocity: g changes by exp(angle x)."""

    place: int
    velocity: sympy.MatrixBase
    turn: sympy.MatrixBase
    back: sympy.MatrixBase


@dataclass(frozen=True, eq=False)
class GroupCoordinates:
    """Symbols of a group of dimension k.

    Attributes
    ----------
    names : tuple of str (k,)
        The basis of the Lie algebra.
    symbols : tuple of symbols (k,)
    frame : matrix (k x k)
        The left-invariant fields e_a in columns.
    constants : array (k, k, k)
        [e_a, e_b] = constants[a, b, :] . e, which is also the bracket of the Lie algebra.
    identity : tuple of expressions (k,)
        The values of the symbols where K = e and Ad = 1.

    Examples
    --------
    >>> from dalembert.geometry.lie import LieGroup
    >>> x, y, theta = sympy.symbols("x y theta")
    >>> plane = GroupCoordinates.of_chart(LieGroup.SE(2).chart((x, y, theta)))
    >>> plane.generators
    Matrix([
    [1, 0, -y],
    [0, 1,  x],
    [0, 0,  1]])
    """

    names: tuple[str, ...]
    symbols: tuple[sympy.Symbol, ...]
    frame: sympy.MatrixBase
    constants: Array
    identity: tuple[sympy.Expr, ...]

    @classmethod
    def of_chart(cls, chart: GroupChart) -> GroupCoordinates:
        """The symbols of a `LieGroup.chart`."""
        group, frame = chart.group, sympy.ImmutableMatrix(chart.left_frame)
        zeros = tuple(sympy.S.Zero for _ in chart.symbols)
        return cls(group.names, chart.symbols, frame, group.structure_constants, zeros)

    @property
    def dimension(self) -> int:
        """k."""
        return len(self.symbols)

    def ad(self, xi: Sequence[sympy.Expr]) -> sympy.MatrixBase:
        """The matrix (k x k) of eta -> [xi, eta], in symbols."""
        k = self.dimension
        total = sympy.zeros(k, k)
        for a, component in enumerate(xi):
            if component != 0:
                total += component * _written(self.constants[a].T)
        return total

    @cached_property
    def adjoint(self) -> sympy.MatrixBase:
        """Ad_g, (k x k).

        Raises
        ------
        ModelError
            Where the symbols are not of the second kind in any order.
        """
        return sympy.ImmutableMatrix(_product([leg.turn for leg in self._legs], self.dimension))

    @cached_property
    def adjoint_inverse(self) -> sympy.MatrixBase:
        """Ad_{g^-1}, (k x k)."""
        backwards = [leg.back for leg in reversed(self._legs)]
        return sympy.ImmutableMatrix(_product(backwards, self.dimension))

    @cached_property
    def left_form(self) -> sympy.MatrixBase:
        """The inverse of the frame, (k x k): the body velocity from the rates of the symbols."""
        form, back = sympy.zeros(self.dimension, self.dimension), sympy.eye(self.dimension)
        for leg in reversed(self._legs):
            form[:, leg.place] = (back * leg.velocity).applyfunc(_tidied)
            back = back * leg.back
        return sympy.ImmutableMatrix(form)

    @cached_property
    def generators(self) -> sympy.MatrixBase:
        """K(g), the generators of left translations in columns, (k x k)."""
        return sympy.ImmutableMatrix((self.frame * self.adjoint_inverse).applyfunc(_tidied))

    @property
    def factors(self) -> tuple[tuple[int, sympy.MatrixBase], ...]:
        """Places of the symbols in g = exp(s_1 x_1) exp(s_2 x_2) ... and the x (k x 1)."""
        return tuple((leg.place, leg.velocity) for leg in self._legs)

    # -- symbols of the second kind ----------------------------------------------------------------

    @cached_property
    def _legs(self) -> tuple[_Leg, ...]:
        order = self._order([], list(range(self.dimension)))
        if order is None:
            raise ModelError(
                "These group coordinates are not of the second kind: Ad_g has no closed form here",
                seen=", ".join(map(str, self.symbols)),
                remedy="use symbols with g = exp(s_1 e_1) exp(s_2 e_2) ..., see LieGroup.chart",
            )
        return tuple(self._leg(place) for place in order)

    def _order(self, done: list[int], left: list[int]) -> list[int] | None:
        """An order in which each symbol moves along a constant body velocity."""
        if not left:
            return done
        for place in left:
            if self._is_steady(done, place):
                found = self._order([*done, place], [other for other in left if other != place])
                if found is not None:
                    return found
        return None

    def _is_steady(self, done: list[int], place: int) -> bool:
        """Whether a symbol is proved to move along a constant body velocity, later ones at rest."""
        moving = {self.symbols[k] for k in (*done, place)}
        # Rounded numbers stay symbols: sin(1.0) has no exact value.
        unit = (sympy.Dummy("unit", real=True) if _is_rounded(x) else x for x in self.identity)
        values = dict(zip(self.symbols, unit, strict=True))
        tables = [
            self.frame.xreplace(values),
            self.frame.xreplace({q: values[q] for q in self.symbols if q not in moving}),
        ]
        if any(table.has(sympy.nan, sympy.zoo) for table in tables):
            return False
        algebra = GraphAlgebra()
        lowered = [[algebra.vector(table.row(k)).T for k in range(table.rows)] for table in tables]
        here, there = (algebra.stack(rows) for rows in lowered)
        wanted = algebra.vector([sympy.Integer(k == place) for k in range(self.dimension)])
        return algebra.vanishing(there @ algebra.solve_square(here, wanted) - wanted).is_proved

    @cached_property
    def _velocities(self) -> sympy.MatrixBase:
        """The body velocities of the symbols at the identity, in columns (k x k)."""
        identity = dict(zip(self.symbols, self.identity, strict=True))
        here = sympy.Matrix(self.frame.xreplace(identity))
        shorten = sympy.cancel if here.free_symbols else sympy.nsimplify
        return here.inv(method="ADJ").applyfunc(shorten)

    def _leg(self, place: int) -> _Leg:
        velocity = self._velocities[:, place]
        scale, numbers = _numbers_apart(velocity)
        across = np.array(self.ad(numbers).tolist(), dtype=float)
        angle = scale * (self.symbols[place] - self.identity[place])
        return _Leg(place, velocity, _flow(across, angle), _flow(-across, angle))


def _is_rounded(value: Expression) -> bool:
    return bool(sympy.S.Zero + value != 0 and (sympy.S.Zero + value).has(sympy.Float))


def _numbers_apart(column: sympy.MatrixBase) -> tuple[sympy.Expr, list[sympy.Expr]]:
    """A column as a common factor with symbols times numbers."""
    first = next(entry for entry in column if entry != 0)
    scale = first if first.free_symbols else sympy.S.One
    numbers = [sympy.cancel(entry / scale) for entry in column]
    if any(number.free_symbols for number in numbers):
        what = "The body velocity of a group coordinate mixes parameters"
        raise ModelError(what, str(list(column)), "choose a basis of the Lie algebra without them")
    return scale, numbers


def _flow(across: Array, angle: sympy.Expr) -> sympy.MatrixBase:
    """exp(angle M), (k x k), without eigenvalues, for nilpotent M and for M^3 = rate M."""
    square = across @ across
    cube, size = square @ across, float(np.max(np.abs(across), initial=0.0))
    identity, first, second = sympy.eye(len(across)), _written(across), _written(square)
    place = np.unravel_index(int(np.argmax(np.abs(across))), across.shape) if size else (0, 0)
    rate = float(cube[place] / across[place]) if size else 0.0
    if np.max(np.abs(cube - rate * across), initial=0.0) > ROUNDING * size**3:
        return (angle * first).exp()
    if abs(rate) <= ROUNDING * size**2:
        return identity + angle * first + angle**2 / 2 * second
    speed = sympy.sqrt(exact_number(abs(rate)))
    sine, cosine = (sympy.sin, sympy.cos) if rate < 0 else (sympy.sinh, sympy.cosh)
    bend = (cosine(speed * angle) - 1) / exact_number(rate)
    return identity + sine(speed * angle) / speed * first + bend * second


def _written(matrix: Array) -> sympy.MatrixBase:
    return sympy.Matrix(*matrix.shape, [exact_number(value) for value in matrix.ravel()])


def _product(factors: Sequence[sympy.MatrixBase], size: int) -> sympy.MatrixBase:
    total = sympy.eye(size)
    for factor in factors:
        total = total * factor
    return total.applyfunc(_tidied)


def _tidied(entry: sympy.Expr) -> sympy.Expr:
    """Expanded, with the squares of sines and cosines joined where the expression is small."""
    plain = sympy.expand(entry)
    if plain.count_ops() > 200 or not plain.has(sympy.sin, sympy.cos):
        return plain
    ways = [plain, *(sympy.expand(rule(plain)) for rule in (TR5, TR6))]
    return min(ways, key=lambda candidate: candidate.count_ops())
