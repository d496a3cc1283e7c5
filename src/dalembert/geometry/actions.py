r"""Left actions of a Lie group on a space with coordinates q, by their maps or by their generators.

A map q -> Phi(g, q) with Phi(g, Phi(h, q)) = Phi(g h, q) moves along the generators xi_Q(q) = d/ds Phi(exp(s xi), q) at s = 0,

    [xi_Q, eta_Q] = -[xi, eta]_Q      ([X, Y] = DY X - DX Y),        d/dt Phi(g, q) = (g_dot g^-1)_Q(Phi(g, q)),

and both identities are proved when an action is made (`vanishing`). The lifts are (X, DX q_dot) on velocities and
(X, -DX^T p) on momenta; the momentum map is J_xi = p . xi_Q(q), and its rank at a point is the dimension of the group less
that of the isotropy algebra there (Bloch, Supplement 3.7.8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import sympy

from ..errors import ModelError
from ..typing import BySymbol, Fields, Matrix, Symbol, Symbols, Values
from .group_coordinates import exact_number
from .lie import LieGroup
from .lie_algebra import LieAlgebra
from .subspaces import annihilator
from .vanishing import Certificate, generic_rank, vanish

__all__ = ["GroupAction", "field_bracket"]


class HasCoordinates(Protocol):
    """A system, or something else with coordinates."""

    @property
    def coordinates(self) -> Sequence[Symbol]: ...


class HasFrame(Protocol):
    """A chart of a group: left-invariant fields by the names of their speeds."""

    @property
    def frame(self) -> BySymbol[Values]: ...


class HasAction(Protocol):
    """Symmetries that were found, with the action of their group."""

    @property
    def action(self) -> GroupAction | None: ...


#: A group that acts on the coordinates of a system, in any of the ways that `reduce` takes.
Group: TypeAlias = "BySymbol[Values] | GroupAction | HasFrame | HasAction"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class GroupAction:
    """A group that moves the coordinates.

    Parameters
    ----------
    on : System, or sequence of coordinates
    group : LieGroup or LieAlgebra
        What acts. A Lie algebra is enough where the generators are given.
    map : mapping of coordinate to expression
        Phi, where `symbols` are 0 at the identity and move along the basis from there (`LieGroup.chart`); coordinates that are
        left out stay where they are.
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
        Where the generators are not shown to obey the brackets of the algebra, or the map to be a left action of the group.

    Examples
    --------
    >>> from dalembert.model.symbols import coordinates
    >>> x, y, theta = coordinates("x y theta")
    >>> fields = {"e_x": {x: 1}, "e_y": {y: 1}, "e_th": {x: -y, y: x, theta: 1}}
    >>> sleigh = GroupAction([x, y, theta], LieGroup.SE(2), generators=fields)
    >>> sleigh.momentum_map.T, sleigh.is_free
    (Matrix([[p_x, p_y, p_theta - p_x*y + p_y*x]]), True)
    """

    coordinates: tuple[Any, ...]
    algebra: LieAlgebra
    name: str
    fields: Any
    map: Mapping[Any, Any] | None
    symbols: tuple[Any, ...]

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
            raise ModelError("An action is given by its map or by its generators", remedy="pass one of map= and generators=")
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
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)
        self._check_brackets()
        if moved is not None and isinstance(group, LieGroup):
            self._check_composition(group)

    # -- fields --------------------------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """The dimension of the group."""
        return self.algebra.dimension

    def field(self, xi: Any) -> Any:
        """The generator (n x 1) of an element of the Lie algebra, by its name in the basis or by its components."""
        if isinstance(xi, str):
            return self.fields[:, self.algebra.names.index(xi)]
        return self.fields * sympy.Matrix(list(xi))

    @cached_property
    def derivatives(self) -> list[Any]:
        """The derivative (n x n) of each generator by the coordinates."""
        return [self.fields[:, k].jacobian(self.coordinates) for k in range(self.dimension)]

    @cached_property
    def tangent_lift(self) -> Any:
        """The generators on (q, q_dot), (2n x d)."""
        velocities = sympy.Matrix([_symbol(q, "dot") for q in self.coordinates])
        return self._lifted([derivative * velocities for derivative in self.derivatives])

    @cached_property
    def cotangent_lift(self) -> Any:
        """The generators on (q, p), (2n x d)."""
        momenta = sympy.Matrix([_symbol(q, "momentum") for q in self.coordinates])
        return self._lifted([-derivative.T * momenta for derivative in self.derivatives])

    def _lifted(self, second: list[Any]) -> Any:
        lower = sympy.Matrix.hstack(*second) if second else sympy.zeros(len(self.coordinates), 0)
        return sympy.Matrix.vstack(sympy.Matrix(self.fields), lower)

    @cached_property
    def momentum_map(self) -> Any:
        """J_a = p . (e_a)_Q, (d x 1)."""
        return self.fields.T * sympy.Matrix([_symbol(q, "momentum") for q in self.coordinates])

    # -- points --------------------------------------------------------------------------------------------------

    def isotropy(self, at: Mapping[Any, Any]) -> Any:
        """A basis (d, r) of the elements of the Lie algebra that leave a point where it is.

        Parameters
        ----------
        at : mapping of symbol or name to number
            The coordinates, and the parameters that the generators contain. With the velocities or the momenta of all
            coordinates it is a point of the tangent or of the cotangent space.

        Examples
        --------
        >>> from dalembert.model.symbols import coordinates
        >>> q = coordinates("x y z")
        >>> turn = {f"e{k + 1}": list(sympy.eye(3)[:, k].cross(sympy.Matrix(q))) for k in range(3)}
        >>> ball = GroupAction(q, LieGroup.SO(3), generators=turn)
        >>> ball.isotropy({"x": 0, "y": 0, "z": 2}).shape, ball.isotropy({"x": 0, "y": 0, "z": 0}).shape
        ((3, 1), (3, 3))
        """
        table = {getattr(key, "name", str(key)): value for key, value in at.items()}
        fields = self.fields
        for kind, lift in (("dot", "tangent_lift"), ("momentum", "cotangent_lift")):
            if any(getattr(getattr(q, kind, None), "name", None) in table for q in self.coordinates):
                fields = getattr(self, lift)
        matrix = _numbers(fields, {symbol: table[symbol.name] for symbol in _symbols(fields, self, table)})
        if not np.all(np.isfinite(matrix)):
            raise ModelError("The generators have no finite values at this point", seen=str(dict(at)))
        return annihilator(matrix.T, tolerance=1e-10)

    def is_free_at(self, at: Mapping[Any, Any]) -> bool:
        """Whether only the identity, near it, leaves a point where it is; in phase space, whether the point is regular."""
        return bool(self.isotropy(at).shape[1] == 0)

    def is_regular(self, at: Mapping[Any, Any]) -> bool:
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
        """Whether no element of the Lie algebra leaves everything where it is."""
        copies = [{q: sympy.Dummy(q.name, real=True) for q in self.coordinates} for _ in range(self.dimension)]
        at_points = [sympy.Matrix(self.fields.xreplace(copy)) for copy in copies]
        return generic_rank(sympy.Matrix.vstack(*at_points)) == self.dimension

    # -- checks --------------------------------------------------------------------------------------------------

    @cached_property
    def bracket_certificate(self) -> Certificate:
        """What it rests on that [xi_Q, eta_Q] + [xi, eta]_Q = 0 over the basis."""
        return self._certificate_of_brackets(1)

    def _certificate_of_brackets(self, sign: int) -> Certificate:
        pairs = [(a, b) for a in range(self.dimension) for b in range(a)]
        entries: list[Any] = []
        for a, b in pairs:
            image = self.fields * sympy.Matrix([exact_number(c) for c in self.algebra.constants[a, b]])
            entries += self.derivatives[b] * self.fields[:, a] - self.derivatives[a] * self.fields[:, b] + sign * image
        return vanish(entries)

    def _check_brackets(self) -> None:
        found = self.bracket_certificate
        if found.holds:
            return
        if self._certificate_of_brackets(-1).holds:
            raise ModelError(
                f"These generators are those of a right action of {self.name}",
                seen="[xi_Q, eta_Q] = +[xi, eta]_Q",
                remedy="change their signs: the inverse acts from the left",
            )
        raise ModelError(
            f"These generators {'do not' if found.worst else 'are not shown to'} obey the brackets of {self.name}",
            seen=f"[xi_Q, eta_Q] + [xi, eta]_Q = 0: {found.by}",
            remedy=f"give the fields of {', '.join(self.algebra.names)} in this order",
        )

    def _check_composition(self, group: LieGroup) -> None:
        """d Phi / d s_k = (right velocity of the symbol k)_Q at Phi."""
        assert self.map is not None
        moved = sympy.Matrix([self.map[q] for q in self.coordinates])
        target = self.fields.xreplace(dict(zip(self.coordinates, moved, strict=True)))
        found = vanish(list(moved.jacobian(self.symbols) - target * group.chart(self.symbols).right_form))
        if not found.holds:
            raise ModelError(
                f"This map is {'no' if found.worst else 'not shown to be a'} left action of {self.name} in these symbols",
                seen=f"Phi(g, Phi(h, q)) = Phi(g h, q): {found.by}",
                remedy=f"write it in the symbols of LieGroup.chart, with g = exp(s_1 {self.algebra.names[0]}) ...",
            )

    def __str__(self) -> str:
        lines = [f"{name}: {field_text(self.fields[:, k], self.coordinates)}" for k, name in enumerate(self.algebra.names)]
        return f"<GroupAction of {self.name} on {', '.join(map(str, self.coordinates))}: {'; '.join(lines)}>"

    __repr__ = __str__


def field_bracket(first: Any, second: Any, coordinates: Sequence[Any]) -> Any:
    """[X, Y] = DY X - DX Y of two fields (n x 1)."""
    return second.jacobian(coordinates) * first - first.jacobian(coordinates) * second


def field_text(field: Any, coordinates: Sequence[Any]) -> str:
    """A field as a derivation, such as ``d/dtheta - y d/dx + x d/dy``; directions with constant coefficients come first.

    >>> x, y = sympy.symbols("x y")
    >>> field_text(sympy.Matrix([-y, x + 1]), (x, y))
    '-y d/dx + (x + 1) d/dy'
    """
    terms = [(_shown(sympy.expand(c)), q) for c, q in zip(field, coordinates, strict=True) if c != 0]
    terms.sort(key=lambda term: bool(term[0].has(*coordinates)))
    text = ""
    for coefficient, q in terms:
        negative = all(term.could_extract_minus_sign() for term in sympy.Add.make_args(coefficient))
        size = -coefficient if negative else coefficient
        factor = "" if size == 1 else f"({size}) " if size.is_Add else f"{size} "
        sign = ("-" if negative else "") if not text else (" - " if negative else " + ")
        text += f"{sign}{factor}d/d{q}"
    return text or "0"


def _shown(expression: Any) -> Any:
    """Decimal numbers with six digits."""
    return expression.xreplace({number: sympy.Float(number, 6) for number in expression.atoms(sympy.Float)})


# -- reading -----------------------------------------------------------------------------------------------------


def _symbol(q: Any, kind: str) -> Any:
    symbol = getattr(q, kind, None)
    if symbol is None:
        raise ModelError(f"`{q}` has no {kind}", remedy="make coordinates with da.coordinates(...)")
    return symbol


def _expression(value: Any) -> Any:
    match value:
        case sympy.Basic():
            return value
        case int():
            return sympy.Integer(value)
        case float():
            return sympy.Float(value)
    raise ModelError("A component of a field must be a number or an expression", seen=repr(value)[:60])


def _place(key: Any, coordinates: Sequence[Any]) -> int:
    names = [str(q) for q in coordinates]
    if str(key) not in names:
        raise ModelError(f"`{key}` is no coordinate of this space", seen=", ".join(names), remedy="use one of these")
    return names.index(str(key))


def read_field(field: Any, coordinates: Sequence[Any]) -> Any:
    """A field (n x 1) from a mapping of coordinate to expression, or from n expressions."""
    column = sympy.zeros(len(coordinates), 1)
    if isinstance(field, Mapping):
        for key, value in field.items():
            column[_place(key, coordinates)] = _expression(value)
        return column
    entries = list(field)
    if len(entries) != len(coordinates):
        raise ModelError(
            "A field needs a component for each coordinate", seen=f"{len(entries)}", remedy=f"give {len(coordinates)}"
        )
    return sympy.Matrix([_expression(entry) for entry in entries])


def _read_generators(generators: Any, coordinates: Sequence[Any], algebra: LieAlgebra) -> Any:
    if isinstance(generators, sympy.MatrixBase):
        if generators.shape != (len(coordinates), algebra.dimension):
            raise ModelError("A matrix of generators has a column for each vector of the basis", seen=str(generators.shape))
        return generators
    if isinstance(generators, Mapping):
        if set(map(str, generators)) != set(algebra.names):
            raise ModelError(
                "The generators must be named by the basis of the Lie algebra",
                seen=", ".join(map(str, generators)),
                remedy=f"give fields for {', '.join(algebra.names)}",
            )
        generators = [{str(key): field for key, field in generators.items()}[name] for name in algebra.names]
    columns = [read_field(field, coordinates) for field in generators]
    if len(columns) != algebra.dimension:
        raise ModelError("Every vector of the basis needs its generator", seen=str(len(columns)), remedy=str(algebra.dimension))
    return sympy.Matrix.hstack(*columns) if columns else sympy.zeros(len(coordinates), 0)


def _read_map(map: Values, coordinates: Sequence[Any], symbols: Sequence[Any], group: Any) -> dict[Any, Any]:
    if not isinstance(group, LieGroup) or len(symbols) != group.dimension:
        raise ModelError(
            "A map needs the group that acts, and a symbol for each vector of its basis",
            seen=f"{len(symbols)} symbols",
            remedy="pass a LieGroup and symbols=(...), or pass generators=",
        )
    moved = {q: q for q in coordinates}
    for key, value in map.items():
        moved[coordinates[_place(key, coordinates)]] = _expression(value)
    for q, value in moved.items():
        rest = sympy.expand(value.xreplace(dict.fromkeys(symbols, sympy.S.Zero)) - q)
        if rest != 0:
            raise ModelError(
                f"The map must leave `{q}` where it is at the identity",
                seen=f"it moves it by {rest}",
                remedy="write it in symbols that are 0 at the identity",
            )
    return moved


def _generators_of(moved: Mapping[Any, Any], coordinates: Sequence[Any], symbols: Sequence[Any]) -> Any:
    """The derivative of the map by its symbols at the identity, (n x d)."""
    derivative = sympy.Matrix([moved[q] for q in coordinates]).jacobian(list(symbols))
    return derivative.xreplace(dict.fromkeys(symbols, sympy.S.Zero)).applyfunc(sympy.expand)


# -- numbers -----------------------------------------------------------------------------------------------------


def _numbers(matrix: Any, point: Mapping[Any, Any]) -> Any:
    """Values of a matrix of expressions; nan where one is not a finite real number."""
    table = {symbol: sympy.Float(float(value)) for symbol, value in point.items()}
    entries = []
    for entry in matrix:
        value = entry.xreplace(table)
        value = value if value.is_Number else sympy.N(value)
        entries.append(float(value) if value.is_Number and value.is_finite else float("nan"))
    return np.array(entries).reshape(matrix.shape)


def _symbols(matrix: Any, action: GroupAction, table: Mapping[str, Any]) -> list[Any]:
    """The symbols of a matrix, all of which the table must know."""
    symbols = sorted(matrix.free_symbols | set(action.coordinates), key=str)
    missing = [str(symbol) for symbol in symbols if symbol.name not in table]
    if missing:
        raise ModelError("The point is not complete", seen=f"no value of {', '.join(missing)}", remedy="give all of them")
    return symbols
