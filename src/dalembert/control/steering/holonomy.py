r"""Holonomy of closed base paths, by integral and by curvature.

A base that goes round a closed path gamma displaces the fibre of z_dot = A(b, z) b_dot. Where A
does not depend on z this is

    Delta z = loop integral of A db = integral of B db_1 db_2 over the interior,
    B = dA_2/db_1 - dA_1/db_2,

counted as often as the path goes round, counterclockwise. For the knife edge (Bloch and others,
Supplement, section 6.6) A = (0, -z_1), B = -1: round (0, 0), (a, 0), (a, b), (0, b) the fibre moves
by **-a b**. `holonomy_loops` finds paths for a wanted displacement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...analysis.symmetry.connections import Connection
from ...analysis.tables import Report, Section
from ...errors import FormError, ModelError, RunError
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.parameter_values import parameter_values
from ...model.symbols import Coordinate, Parameter, as_expression, t
from ...model.values import numbers_by_name, real_array, real_number
from ...typing import Array, ArrayLike, Symbols, Values
from .fibration import Fibration, fibration

__all__ = ["BasePath", "Holonomy", "Leg", "closed_path", "holonomy"]

#: Panels along each leg, Gauss-Legendre nodes of a panel, and nodes across the interior.
PANELS, NODES, ACROSS = 24, 8, 16
CLOSED = 1e-9


@dataclass(frozen=True)
class Leg:
    """A part of a path: base symbols as expressions of time and parameters, span, and values."""

    place: Mapping[Coordinate, sympy.Expr]
    span: tuple[float, float]
    values: Mapping[str, float]


#: The corners (n, s) of a polygon, or an expression of time for each base symbol.
Path: TypeAlias = "ArrayLike | Values"


@dataclass(frozen=True)
class BasePath:
    """A closed path of the base by its legs."""

    legs: tuple[Leg, ...]


def closed_path(
    found: Fibration, path: BasePath | Path, span: Sequence[float] | None = None
) -> BasePath:
    """A closed path from the corners (n, s) of a polygon, or from expressions of time."""
    if isinstance(path, BasePath):
        return path
    if not isinstance(path, Mapping):
        return _polygon(found, path)
    table = {str(getattr(key, "name", key)): as_expression(value) for key, value in path.items()}
    names = [q.name for q in found.base]
    symbols = {symbol for e in table.values() for symbol in e.free_symbols} - {t}
    foreign = sorted(symbol.name for symbol in symbols if not isinstance(symbol, Parameter))
    if set(table) != set(names) or foreign or span is None:
        raise ModelError(
            "A path gives each base symbol as an expression of time, and has a span",
            ", ".join([*table, *foreign]) or "nothing",
            f"give {', '.join(names)}, and span=(0, T)",
        )
    times = (real_number(span[0]), real_number(span[1]))
    if not np.all(np.isfinite(times)):
        raise ModelError("The span must be two numbers", repr(span)[:60], "pass span=(0, T)")
    return BasePath((Leg({q: table[q.name] for q in found.base}, times, {}),))


def _polygon(found: Fibration, path: Path) -> BasePath:
    try:
        corners = real_array(path)
    except (TypeError, ValueError):
        what = "The corners of a polygon are numbers"
        raise ModelError(what, str(path)[:60], "give real numbers") from None
    if not np.all(np.isfinite(corners)):
        what = "The corners of a polygon are finite"
        raise ModelError(what, str(path)[:60], "give finite numbers")
    if corners.ndim != 2 or corners.shape[1] != len(found.base) or len(corners) < 2:
        remedy = f"give (n, {len(found.base)}) numbers"
        raise ModelError("A polygon needs its corners", f"shape {corners.shape}", remedy)
    line, legs = found.line, []
    pairs = [sorted(place.atoms(Parameter), key=str) for place in line.values()]
    names = [symbol.name for pair in pairs for symbol in pair]  # leg_from_b, leg_step_b
    for first, last in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        numbers = np.column_stack([first, last - first]).ravel().tolist()
        legs.append(Leg(line, (0.0, 1.0), dict(zip(names, numbers, strict=True))))
    return BasePath(tuple(legs))


@dataclass(frozen=True, eq=False, repr=False)
class Holonomy(Report):
    """What a closed base path does to the fibre.

    Attributes
    ----------
    fibre : tuple of str (k,)
    displacement : array (k,)
        By integration along the path.
    by_curvature : array (k,) or None
        By the integral of the curvature over the interior; None where the fibre moves itself, or
        the base has not two symbols, and there is no such integral.
    area : float or None
        Of the interior, counterclockwise; None where the base has not two symbols.
    """

    fibre: tuple[str, ...]
    displacement: Array
    by_curvature: Array | None
    area: float | None

    def _title(self) -> str:
        return "Holonomy"

    def _sections(self) -> list[Section]:
        rows = [
            (name, f"{a:.9g} along the path")
            for name, a in zip(self.fibre, self.displacement, strict=True)
        ]
        if self.by_curvature is not None:
            both = zip(rows, self.by_curvature, strict=True)
            rows = [(name, f"{text}, {b:.9g} by curvature") for (name, text), b in both]
        note = []
        if self.area is None:
            note = [("curvature", "no surface integral: the base has not two symbols")]
        elif self.by_curvature is None:
            note = [("curvature", "the fibre stands in its own rates: no surface integral")]
        area = "none: the base has not two symbols" if self.area is None else f"{self.area:.9g}"
        return [("Path", [("area", area)]), ("Displacement", [*rows, *note])]


def holonomy(
    model: Flow | Connection | Fibration,
    path: BasePath | Path,
    span: Sequence[float] | None = None,
    *,
    base: Symbols = (),
    start: Values | None = None,
    parameters: Values | None = None,
    rtol: float = 1e-11,
) -> Holonomy:
    """The displacement of the fibre by a closed path of the base.

    Parameters
    ----------
    model : Flow or Connection
        See `fibration`; `base` as there.
    path : corners (n, s), or mapping of base symbol to an expression of time, or `Loop.path`
        The corners of a polygon in the order of the base symbols, which is closed by itself; or a
        path over `span`.
    start : mapping of fibre symbol to value
        Where the fibre begins; zero by default.
    parameters : mapping of parameter to value

    Raises
    ------
    FormError
        Where the path is not closed.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> u, w = da.inputs("u w")
    >>> knife = da.Flow({x: u, y: w, z: -x*w}, inputs=[u, w])
    >>> found = holonomy(knife, [(0, 0), (2, 0), (2, 3), (0, 3)])
    >>> found.displacement.round(9).tolist(), found.by_curvature.round(9).tolist()
    ([-6.0], [-6.0])
    """
    found = fibration(model, base)
    legs = closed_path(found, path, span).legs
    values = numbers_by_name(parameters)
    _check_closed(found, legs, values)
    z = fibre_start(found, start)
    begin = dict(z)
    for leg in legs:
        equations = found.following(leg.place)
        used = {symbol.name for symbol in equations.system.parameters}
        numbers = {name: value for name, value in {**values, **leg.values}.items() if name in used}
        carried = {} if leg.place is found.line else _begin(found, leg, values)
        motion = simulate(equations, {**z, **carried}, leg.span, parameters=numbers, rtol=rtol)
        if not motion.outcome.is_success:
            what = "The fibre could not follow the path"
            raise RunError(what, str(motion.outcome), "choose a smaller loop")
        z = {q.name: float(motion[q.name][-1]) for q in found.fibre}
    moved = np.array([z[q.name] - begin[q.name] for q in found.fibre])
    surface, area = (None, None) if len(found.base) != 2 else _surface(found, legs, values)
    return Holonomy(tuple(q.name for q in found.fibre), moved, surface, area)


def _begin(found: Fibration, leg: Leg, values: Mapping[str, float]) -> dict[str, float]:
    """The base where a leg begins, by name."""
    route = sympy.ImmutableMatrix([leg.place[q] for q in found.base])
    place = _columns(route, (t,), {**values, **leg.values})(np.array([[leg.span[0]]]))
    return dict(zip((q.name for q in found.base), place[:, 0].tolist(), strict=True))


def fibre_start(found: Fibration, start: Values | None) -> dict[str, float]:
    """The values of the fibre symbols at the start, zero by default."""
    given = numbers_by_name(start)
    names = [q.name for q in found.fibre]
    strange = [name for name in given if name not in names]
    if strange:
        what = f"`{strange[0]}` is no fibre symbol"
        raise ModelError(what, ", ".join(names), "the path gives the base")
    return {name: given.get(name, 0.0) for name in names}


def _check_closed(found: Fibration, legs: Sequence[Leg], values: Mapping[str, float]) -> None:
    ends = []
    for leg in legs:
        route = sympy.ImmutableMatrix([leg.place[q] for q in found.base])
        places = _columns(route, (t,), {**values, **leg.values})
        if not np.all(np.isfinite(places(_panel_nodes(*leg.span)[0][None, :]))):
            seen = f"no place at some time of {leg.span}"
            raise ModelError("The path must be finite", seen, "choose another")
        ends += list(places(np.array([leg.span])).T)
    gaps = [np.abs(ends[2 * k + 1] - ends[(2 * k + 2) % len(ends)]).max() for k in range(len(legs))]
    if max(gaps) > CLOSED * (1 + np.abs(ends).max()):
        gap = f"a gap of {max(gaps):.3g}"
        raise FormError("The path is not closed", gap, "end where it begins")


def _surface(
    found: Fibration, legs: Sequence[Leg], values: Mapping[str, float]
) -> tuple[Array | None, float]:
    """The integrals of the curvature (k,) and of 1: loop integrals of P db_2, P = int B db_1.

    That of the curvature is None where the fibre stands in its own rates.
    """
    first, second = found.base
    flat = found.depends_on_fibre
    bend = None if flat else _columns(found.curvature[0, 1], (first, second), values)
    nodes, weights = np.polynomial.legendre.leggauss(ACROSS)
    total, area, edge = np.zeros(len(found.fibre)), 0.0, None
    for leg in legs:
        b2_rate = sympy.diff(leg.place[second], t)
        route = sympy.ImmutableMatrix([leg.place[first], leg.place[second], b2_rate])
        moments, parts = _panel_nodes(*leg.span)
        b1, b2, speed = _columns(route, (t,), {**values, **leg.values})(moments[None, :])
        area += float((b1 * speed) @ parts)
        if bend is None:
            continue
        # Strips may begin anywhere over a closed path; they begin on it, to stay near it.
        edge = b1[0] if edge is None else edge
        width = b1 - edge
        across = edge + width[:, None] * (1 + nodes) / 2
        heights = bend(np.array([across.ravel(), np.repeat(b2, ACROSS)]))
        heights = heights.reshape(-1, len(b1), ACROSS)
        total = total + ((heights @ weights) * width / 2 * speed) @ parts
    return (None if flat else total), area


def _columns(
    block: sympy.ImmutableMatrix, symbols: Sequence[sympy.Symbol], values: Mapping[str, float]
) -> Callable[[Array], Array]:
    """A column as a function of values of symbols (l, count) that gives (rows, count)."""
    algebra = GraphAlgebra()
    parameters = sorted(block.atoms(Parameter), key=lambda s: s.name)
    given = {s.name: values[s.name] for s in parameters if s.name in values}
    numbers = ca.SX(ca.DM(parameter_values(parameters, given)))
    column = ca.substitute(algebra.vector(list(block)), algebra.vector(parameters), numbers)
    function = ca.Function("column", [algebra.vector(symbols)], [ca.densify(column)])
    return lambda places: np.asarray(function.map(places.shape[1])(places), dtype=float)


def _panel_nodes(first: float, last: float) -> tuple[Array, Array]:
    """Times and weights of composite Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(first, last, PANELS + 1)
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1] + edges[1:])[:, None] / 2 + half * nodes).ravel(), (half * weights).ravel()
