r"""Left actions of a Lie group on a space with coordinates q, by their maps or by their generators.

A map q -> Phi(g, q) with Phi(g, Phi(h, q)) = Phi(g h, q) moves along the generators xi_Q(q) = d/ds
Phi(exp(s xi), q) at s = 0,

    [xi_Q, eta_Q] = -[xi, eta]_Q  ([X, Y] = DY X - DX Y),
        d/dt Phi(g, q) = (g_dot g^-1)_Q(Phi(g, q)),

and both identities are proved when an action is made (`vanishing`). The lifts are (X, DX q_dot) on
velocities and (X, -DX^T p) on momenta; the momentum map is J_xi = p . xi_Q(q), of the rank dim g
less that of the isotropy algebra at a point (Bloch, Supplement 3.7.8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import sympy

from ..errors import ModelError
from ..typing import Array, BySymbol, Expression, Fields, Matrix, Symbol, Symbols, Values, Vector
from .group_coordinates import exact_number
from .lie import LieGroup
from .lie_algebra import LieAlgebra
from .subspaces import annihilator
from .vanishing import generic_rank, vanish

if TYPE_CHECKING:
    from ..algebra.structure import Verdict

__all__ = ["GroupAction", "field_bracket"]


class HasCoordinates(Protocol):
    """An object with coordinates, such as a system."""

    @property
    def coordinates(self) -> Sequence[Symbol]: ...


class HasFrame(Protocol):
    """A chart of a group: left-invariant fields by the names of their speeds."""

    @property
    def frame(self) -> BySymbol[Values]: ...


class HasAction(Protocol):
    """Symmetries with the action of their group."""

    @property
    def action(self) -> GroupAction | None: ...


#: A group that acts on the coordinates of a system, in any form that `reduce` takes.
Group: TypeAlias = "BySymbol[Values] | GroupAction | HasFrame | HasAction"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class GroupAction:
    """A group that moves the coordinates.

    Parameters
    ----------
    on : System, or sequence of coordinates
    group : LieGroup or LieAlgebra
        The acting group. A Lie algebra is enough where the generators are given.
    map : mapping of coordinate to expression
        Phi, where `symbols` are 0 at the identity and move along the basis from there
        (`LieGroup.chart`); coordinates that are left out stay where they are.
    symbols : sequence of symbols
        One for each vector of the basis.
    generators : mapping of basis name to field, or matrix (n x d)
        A field is a mapping of coordinate to expression, or a sequence of n expressions.

    Attributes
    ----------
    coordinates : tuple of symbols
    algebra : LieAlgebra
    name : str
    fields : matrix (n x d)
        The generators in columns, in the order of the basis.
    map : mapping or None
    symbols : tuple of symbols

    Raises
    ------
    ModelError
        Where the generators are not shown to obey the brackets of the algebra, or the map to be a
        left action of the group.

    Examples
    --------
    >>> from dalembert.model.symbols import coordinates
    >>> x, y, theta = coordinates("x y theta")
    >>> fields = {"e_x": {x: 1}, "e_y": {y: 1}, "e_th": {x: -y, y: x, theta: 1}}
    >>> sleigh = GroupAction([x, y, theta], LieGroup.SE(2), generators=fields)
    >>> sleigh.momentum_map.T, sleigh.is_free
    (Matrix([[p_x, p_y, p_theta - p_x*y + p_y*x]]), True)
    """

    coordinates: tuple[sympy.Symbol, ...]
    algebra: LieAlgebra
    name: str
    fields: sympy.MatrixBase
    map: Mapping[sympy.Symbol, sympy.Expr] | None
    symbols: tuple[sympy.Symbol, ...]

    def __init__(
        self,
        on: Symbols | HasCoordinates,
        group: LieGroup | LieAlgebra,
        map: Values | None = None,
        *,
        symbols: Symbols = (),
        generators: Fields | Matrix | None = None,
    ) -> None:
        listed: Any = getattr(on, "coordinates", on)
        coordinates = tuple(listed)
        algebra = group.algebra if isinstance(group, LieGroup) else group
        if (map is None) == (generators is None):
            remedy = "pass one of map= and generators="
            raise ModelError("An action is given by its map or by its generators", remedy=remedy)
        if map is not None:
            moved = _read_map(map, coordinates, symbols, group)
            fields = _generators_of(moved, coordinates, symbols)
        else:
            moved, fields = None, _read_generators(generators, coordinates, algebra)
        values = {
            "coordinates": coordinates,
            "algebra": algebra,
            "name": group.name if isinstance(group, LieGroup) else algebra.identify().name,
            "fields": sympy.ImmutableMatrix(fields),
            "map": moved,
            "symbols": tuple(symbols),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check_brackets()
        if moved is not None and isinstance(group, LieGroup):
            self._check_composition(group)

    # -- fields ------------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """The dimension of the group."""
        return self.algebra.dimension

    def field(self, xi: str | Vector) -> sympy.MatrixBase:
        """The generator (n x 1) of a Lie algebra element, by basis name or components."""
        if isinstance(xi, str):
            return self.fields[:, self.algebra.names.index(xi)]
        return self.fields * sympy.Matrix(list(xi))

    @cached_property
    def derivatives(self) -> list[sympy.MatrixBase]:
        """The derivative (n x n) of each generator by the coordinates."""
        return [self.fields[:, k].jacobian(self.coordinates) for k in range(self.dimension)]

    @cached_property
    def tangent_lift(self) -> sympy.MatrixBase:
        """The generators on (q, q_dot), (2n x d)."""
        velocities = sympy.Matrix([_symbol(q, "dot") for q in self.coordinates])
        return self._lifted([derivative * velocities for derivative in self.derivatives])

    @cached_property
    def cotangent_lift(self) -> sympy.MatrixBase:
        """The generators on (q, p), (2n x d)."""
        momenta = sympy.Matrix([_symbol(q, "momentum") for q in self.coordinates])
        return self._lifted([-derivative.T * momenta for derivative in self.derivatives])

    def _lifted(self, second: Sequence[sympy.MatrixBase]) -> sympy.MatrixBase:
        lower = sympy.Matrix.hstack(*second) if second else sympy.zeros(len(self.coordinates), 0)
        return sympy.Matrix.vstack(sympy.Matrix(self.fields), lower)

    @cached_property
    def momentum_map(self) -> sympy.MatrixBase:
        """J_a = p . (e_a)_Q, (d x 1)."""
        return self.fields.T * sympy.Matrix([_symbol(q, "momentum") for q in self.coordinates])

    # -- points ------------------------------------------------------------------------------------

    def isotropy(self, at: Values) -> Array:
        """A basis (d, r) of the elements of the Lie algebra that fix a point.

        Parameters
        ----------
        at : mapping of symbol or name to number
            The coordinates, and the parameters that the generators contain. With the velocities or
            the momenta of all coordinates it is a point of the tangent or of the cotangent space.

        Examples
        --------
        >>> from dalembert.model.symbols import coordinates
        >>> q = coordinates("x y z")
        >>> turn = {f"e{k + 1}": list(sympy.eye(3)[:, k].cross(sympy.Matrix(q))) for k in range(3)}
        >>> ball = GroupAction(q, LieGroup.SO(3), generators=turn)
        >>> [ball.isotropy({"x": 0, "y": 0, "z": z}).shape for z in (2, 0)]
        [(3, 1), (3, 3)]
        """
        table = {getattr(key, "name", str(key)): value for key, value in at.items()}
        fields = self.fields
        for kind, lift in (("dot", "tangent_lift"), ("momentum", "cotangent_lift")):
            lifted = [getattr(q, kind, None) for q in self.coordinates]
            if any(getattr(symbol, "name", None) in table for symbol in lifted):
                fields = getattr(self, lift)
        symbols = _symbols(fields, self, table)
        matrix = _numbers(fields, {symbol: float(table[symbol.name]) for symbol in symbols})
        if not np.all(np.isfinite(matrix)):
            raise ModelError("The generators are not finite at this point", seen=dict(at.items()))
        return annihilator(matrix.T, tolerance=1e-10)

    def is_free_at(self, at: Values) -> bool:
        """Whether no element near the identity fixes a point (regular, in phase space)."""
        return bool(self.isotropy(at).shape[1] == 0)

    def is_regular(self, at: Values) -> bool:
        """Whether the orbit of a configuration is as large as those of generic ones."""
        return bool(self.dimension - self.isotropy(at).shape[1] == self.orbit_dimension)

    @cached_property
    def orbit_dimension(self) -> int:
        """The dimension of the orbits of generic configurations."""
        return generic_rank(sympy.Matrix(self.fields))

    @property
    def is_free(self) -> bool:
        """Whether generic configurations have no isotropy."""
        return self.orbit_dimension == self.dimension

    @cached_property
    def is_effective(self) -> bool:
        """Whether only the zero of the Lie algebra fixes every point."""
        at_points = []
        for _ in range(self.dimension):
            copy = {q: sympy.Dummy(q.name, real=True) for q in self.coordinates}
            at_points.append(sympy.Matrix(self.fields.xreplace(copy)))
        return generic_rank(sympy.Matrix.vstack(*at_points)) == self.dimension

    # -- checks ------------------------------------------------------------------------------------

    @cached_property
    def bracket_certificate(self) -> Verdict:
        """Whether [xi_Q, eta_Q] + [xi, eta]_Q = 0 over the basis."""
        return self._certificate_of_brackets(1)

    def _certificate_of_brackets(self, sign: int) -> Verdict:
        entries: list[sympy.Expr] = []
        for b, a in combinations(range(self.dimension), 2):
            bracket = [exact_number(c) for c in self.algebra.constants[a, b]]
            crossed = self.derivatives[b] * self.fields[:, a]
            crossed -= self.derivatives[a] * self.fields[:, b]
            entries += crossed + sign * (self.fields * sympy.Matrix(bracket))
        return vanish(entries)

    def _check_brackets(self) -> None:
        found = self.bracket_certificate
        if found.holds:
            return
        if self._certificate_of_brackets(-1).holds:
            what = f"These generators are those of a right action of {self.name}"
            remedy = "change their signs: the inverse acts from the left"
            raise ModelError(what, "[xi_Q, eta_Q] = +[xi, eta]_Q", remedy)
        raise ModelError(
            f"These generators {'do not' if found.is_refuted else 'are not shown to'} obey the"
            f" brackets of {self.name}",
            seen=f"[xi_Q, eta_Q] + [xi, eta]_Q = 0: {found.by}",
            remedy=f"give the fields of {', '.join(self.algebra.names)} in this order",
        )

    def _check_composition(self, group: LieGroup) -> None:
        """d Phi / d s_k = (right velocity of the symbol k)_Q at Phi."""
        assert self.map is not None
        moved = sympy.Matrix([self.map[q] for q in self.coordinates])
        target = self.fields.xreplace(dict(zip(self.coordinates, moved, strict=True)))
        right = group.chart(self.symbols).right_form
        found = vanish(list(moved.jacobian(self.symbols) - target * right))
        if not found.holds:
            chart = f"g = exp(s_1 {self.algebra.names[0]}) ..."
            raise ModelError(
                f"This map is {'no' if found.is_refuted else 'not shown to be a'} left action of"
                f" {self.name} in these symbols",
                seen=f"Phi(g, Phi(h, q)) = Phi(g h, q): {found.by}",
                remedy=f"write it in the symbols of LieGroup.chart, with {chart}",
            )

    def __str__(self) -> str:
        columns = ((name, self.fields[:, k]) for k, name in enumerate(self.algebra.names))
        lines = "; ".join(f"{name}: {field_text(X, self.coordinates)}" for name, X in columns)
        return f"<GroupAction of {self.name} on {', '.join(map(str, self.coordinates))}: {lines}>"

    __repr__ = __str__


def field_bracket(
    first: sympy.MatrixBase, second: sympy.MatrixBase, coordinates: Sequence[sympy.Symbol]
) -> sympy.MatrixBase:
    """[X, Y] = DY X - DX Y of two fields (n x 1)."""
    return second.jacobian(coordinates) * first - first.jacobian(coordinates) * second


def field_text(field: sympy.MatrixBase, coordinates: Sequence[sympy.Symbol]) -> str:
    """A field as a derivation, such as ``d/dtheta - y d/dx + x d/dy``, constant terms first.

    >>> x, y = sympy.symbols("x y")
    >>> field_text(sympy.Matrix([-y, x + 1]), (x, y))
    '-y d/dx + (x + 1) d/dy'
    """
    pairs = zip(field, coordinates, strict=True)
    terms = [(_shown(sympy.expand(c)), q) for c, q in pairs if c != 0]
    terms.sort(key=lambda term: bool(term[0].has(*coordinates)))
    text = ""
    for coefficient, q in terms:
        negative = all(term.could_extract_minus_sign() for term in sympy.Add.make_args(coefficient))
        size = -coefficient if negative else coefficient
        factor = "" if size == 1 else f"({size}) " if size.is_Add else f"{size} "
        sign = ("-" if negative else "") if not text else (" - " if negative else " + ")
        text += f"{sign}{factor}d/d{q}"
    return text or "0"


def _shown(expression: sympy.Expr) -> sympy.Expr:
    """Decimal numbers with six digits."""
    return expression.xreplace({x: sympy.Float(x, 6) for x in expression.atoms(sympy.Float)})


# -- reading ---------------------------------------------------------------------------------------


def _symbol(q: sympy.Symbol, kind: str) -> sympy.Expr:
    symbol = getattr(q, kind, None)
    if symbol is None:
        raise ModelError(f"`{q}` has no {kind}", remedy="make coordinates with da.coordinates(...)")
    return symbol


def _expression(value: Expression | str) -> sympy.Expr:
    match value:
        case sympy.Basic():
            return value
        case int():
            return sympy.Integer(value)
        case float():
            return sympy.Float(value)
    raise ModelError("A field needs numbers or expressions as components", seen=repr(value)[:60])


def _place(key: Symbol, coordinates: Sequence[sympy.Symbol]) -> int:
    names = [str(q) for q in coordinates]
    if str(key) not in names:
        raise ModelError(f"`{key}` is no coordinate of this space", ", ".join(names), "use one")
    return names.index(str(key))


def read_field(field: Values | Vector, coordinates: Sequence[sympy.Symbol]) -> sympy.MatrixBase:
    """A field (n x 1) from a mapping of coordinate to expression, or from n expressions."""
    column = sympy.zeros(len(coordinates), 1)
    if isinstance(field, Mapping):
        for key, value in field.items():
            column[_place(key, coordinates)] = _expression(value)
        return column
    entries, n = list(field), len(coordinates)
    if len(entries) != n:
        raise ModelError("A field needs a component for each coordinate", len(entries), f"give {n}")
    return sympy.Matrix([_expression(entry) for entry in entries])


def _read_generators(
    generators: Fields | Matrix | None, coordinates: Sequence[sympy.Symbol], algebra: LieAlgebra
) -> sympy.MatrixBase:
    shape = (len(coordinates), algebra.dimension)
    if isinstance(generators, sympy.MatrixBase):
        if generators.shape != shape:
            what = "A matrix of generators has a column for each vector of the basis"
            raise ModelError(what, seen=generators.shape, remedy=f"give {shape[0]} x {shape[1]}")
        return generators
    fields: list[Any] = list(generators or ())
    if isinstance(generators, Mapping):
        named = {str(key): field for key, field in generators.items()}
        if set(named) != set(algebra.names):
            raise ModelError(
                "The generators must be named by the basis of the Lie algebra",
                seen=", ".join(named),
                remedy=f"give fields for {', '.join(algebra.names)}",
            )
        fields = [named[name] for name in algebra.names]
    if len(fields) != algebra.dimension:
        what = "Every vector of the basis needs its generator"
        raise ModelError(what, seen=len(fields), remedy=f"give {algebra.dimension}")
    columns = [read_field(field, coordinates) for field in fields]
    return sympy.Matrix.hstack(*columns) if columns else sympy.zeros(*shape)


def _read_map(
    map: Values, coordinates: Sequence[sympy.Symbol], symbols: Symbols, group: LieGroup | LieAlgebra
) -> dict[sympy.Symbol, sympy.Expr]:
    if not isinstance(group, LieGroup) or len(symbols) != group.dimension:
        what = "A map needs the group that acts, and a symbol for each vector of its basis"
        remedy = "pass a LieGroup and symbols=(...), or pass generators="
        raise ModelError(what, f"{len(symbols)} symbols", remedy)
    moved = {q: q for q in coordinates}
    for key, value in map.items():
        moved[coordinates[_place(key, coordinates)]] = _expression(value)
    for q, value in moved.items():
        rest = sympy.expand(value.xreplace(dict.fromkeys(symbols, sympy.S.Zero)) - q)
        if rest != 0:
            what = f"The map must leave `{q}` where it is at the identity"
            remedy = "write it in symbols that are 0 at the identity"
            raise ModelError(what, f"it moves it by {rest}", remedy)
    return moved


def _generators_of(
    moved: Mapping[sympy.Symbol, sympy.Expr], coordinates: Sequence[sympy.Symbol], symbols: Symbols
) -> sympy.MatrixBase:
    """The derivative of the map by its symbols at the identity, (n x d)."""
    derivative = sympy.Matrix([moved[q] for q in coordinates]).jacobian(list(symbols))
    return derivative.xreplace(dict.fromkeys(symbols, sympy.S.Zero)).applyfunc(sympy.expand)


# -- numbers ---------------------------------------------------------------------------------------


def _numbers(matrix: sympy.MatrixBase, point: Mapping[sympy.Symbol, float]) -> Array:
    """Values of a matrix of expressions; nan where one is not a finite real number."""
    table = {symbol: sympy.Float(float(value)) for symbol, value in point.items()}
    entries = []
    for entry in matrix:
        value = entry.xreplace(table)
        value = value if value.is_Number else sympy.N(value)
        entries.append(float(value) if value.is_Number and value.is_finite else float("nan"))
    return np.array(entries).reshape(matrix.shape)


def _symbols(
    matrix: sympy.MatrixBase, action: GroupAction, table: Mapping[str, Any]
) -> list[sympy.Symbol]:
    """The symbols of a matrix, all of which the table must know."""
    symbols = sorted(matrix.free_symbols | set(action.coordinates), key=str)
    missing = [str(symbol) for symbol in symbols if symbol.name not in table]
    if missing:
        seen = f"no value of {', '.join(missing)}"
        raise ModelError("The point is not complete", seen, "give all of them")
    return symbols
