r"""Holonomy of closed base paths, by integral and by curvature, and loops that move the fibre where one wants it.

A base that goes round a closed path gamma displaces the fibre of z_dot = A(b, z) b_dot. Where A does not depend on z this is

    Delta z = loop integral of A db = integral of B db_1 db_2 over the interior,     B = dA_2/db_1 - dA_1/db_2,

counted as often as the path goes round, counterclockwise. For the knife edge (Bloch and others, Supplement, section 6.6)
A = (0, -z_1), B = -1: round (0, 0), (a, 0), (a, b), (0, b) the fibre moves by **-a b**. So z_3 is brought to 0 by
a* = sqrt|z_3| sign z_3, b* = sqrt|z_3|, and where z_3 = 0 there is no loop. Among all loops circles are smallest
(Dido's problem) where B is constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...analysis.symmetry.connections import Connection
from ...analysis.tables import Report, Section
from ...errors import FormError, ModelError, RunError
from ...integrate.events.events import find_root
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Parameter, as_expression, t
from ...model.values import numbers_by_name, real_array, real_number
from ...runtime.kernel import parameter_values
from ...typing import ArrayLike, Symbols, Values
from ..optimal.optimal import OptimalOptions, optimal
from .fibration import Fibration, fibration

__all__ = ["BasePath", "Holonomy", "Leg", "Loop", "closed_path", "holonomy", "holonomy_loop"]

#: Panels along each leg, Gauss-Legendre nodes of a panel, and nodes across the interior.
PANELS, NODES, ACROSS = 24, 8, 16
CLOSED = 1e-9


@dataclass(frozen=True)
class Leg:
    """A part of a path: each base symbol as an expression of time and parameters, its span, and values of its own."""

    place: Mapping[Coordinate, sympy.Expr]
    span: tuple[float, float]
    values: Mapping[str, float]


@dataclass(frozen=True)
class BasePath:
    """A closed path of the base by its legs."""

    legs: tuple[Leg, ...]


def closed_path(found: Fibration, path: Any, span: Sequence[float] | None = None) -> BasePath:
    """A closed path from corners of a polygon, (n, s), or from one expression of time for each base symbol with its span.

    Raises
    ------
    FormError
        Where it is not closed.
    """
    if isinstance(path, BasePath):
        return path
    if not isinstance(path, Mapping):
        try:
            corners = real_array(path)
        except (TypeError, ValueError):
            raise ModelError("The corners of a polygon are numbers", seen=str(path)[:60], remedy="give real numbers") from None
        if not np.all(np.isfinite(corners)):
            raise ModelError("The corners of a polygon are finite", seen=str(path)[:60], remedy="give finite numbers")
        if corners.ndim != 2 or corners.shape[1] != len(found.base) or len(corners) < 2:
            raise ModelError(
                "A polygon needs its corners", seen=f"shape {corners.shape}", remedy=f"give (n, {len(found.base)}) numbers"
            )
        line = found.line
        legs = []
        for first, last in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            names = [symbol.name for place in line.values() for symbol in sorted(place.atoms(Parameter), key=str)]
            numbers = np.column_stack([first, last - first]).ravel()  # leg_from_b, leg_step_b
            legs.append(Leg(line, (0.0, 1.0), dict(zip(names, numbers.tolist(), strict=True))))
        return BasePath(tuple(legs))
    table = {str(getattr(key, "name", key)): as_expression(value) for key, value in path.items()}
    names = [q.name for q in found.base]
    foreign = sorted({s.name for e in table.values() for s in e.free_symbols if s != t and not isinstance(s, Parameter)})
    if set(table) != set(names) or foreign or span is None:
        raise ModelError(
            "A path gives each base symbol as an expression of time, and has a span",
            seen=", ".join([*table, *foreign]) or "nothing",
            remedy=f"give {', '.join(names)}, and span=(0, T)",
        )
    times = (real_number(span[0]), real_number(span[1]))
    if not np.all(np.isfinite(times)):
        raise ModelError("The span must be two numbers", seen=repr(span)[:60], remedy="pass span=(0, T)")
    return BasePath((Leg({q: table[q.name] for q in found.base}, times, {}),))


@dataclass(frozen=True, eq=False, repr=False)
class Holonomy(Report):
    """What a closed base path does to the fibre.

    Attributes
    ----------
    fibre : tuple of str (k,)
    displacement : array (k,)
        By integration along the path.
    by_curvature : array (k,) or None
        By the integral of the curvature over the interior; None where the fibre moves itself, or the base has not two symbols,
        and there is no such integral.
    area : float or None
        Of the interior, counterclockwise; None where the base has not two symbols.
    """

    fibre: tuple[str, ...]
    displacement: Any
    by_curvature: Any
    area: float | None

    def _title(self) -> str:
        return "Holonomy"

    def _sections(self) -> list[Section]:
        rows = [
            (
                name,
                f"{a:.9g} along the path"
                + (f", {self.by_curvature[k]:.9g} by curvature" if self.by_curvature is not None else ""),
            )
            for k, (name, a) in enumerate(zip(self.fibre, self.displacement, strict=True))
        ]
        note = []
        if self.area is None:
            note = [("curvature", "no surface integral: the base has not two symbols")]
        elif self.by_curvature is None:
            note = [("curvature", "the fibre stands in its own rates: no surface integral")]
        area = "none: the base has not two symbols" if self.area is None else f"{self.area:.9g}"
        return [("Path", [("area", area)]), ("Displacement", [*rows, *note])]


def holonomy(
    model: Flow | Connection | Fibration,
    path: ArrayLike | Values,
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
    path : corners (n, s), or mapping of base symbol to an expression of time
        The corners of a polygon in the order of the base symbols, which is closed by itself; or a path over `span`.
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
    z = _fibre_start(found, start)
    begin = dict(z)
    for leg in legs:
        equations = found.following(leg.place)
        used = {symbol.name for symbol in equations.system.parameters}
        numbers = {name: value for name, value in {**values, **leg.values}.items() if name in used}
        motion = simulate(equations, z, leg.span, parameters=numbers, rtol=rtol)
        if not motion.outcome.is_success:
            raise RunError("The fibre could not follow the path", seen=str(motion.outcome), remedy="choose a smaller loop")
        z = {q.name: float(motion[q.name][-1]) for q in found.fibre}
    moved = np.array([z[q.name] - begin[q.name] for q in found.fibre])
    surface, area = (None, None) if len(found.base) != 2 else _surface(found, legs, values)
    return Holonomy(tuple(q.name for q in found.fibre), moved, None if found.depends_on_fibre else surface, area)


def _fibre_start(found: Fibration, start: Values | None) -> dict[str, float]:
    given = numbers_by_name(start)
    names = [q.name for q in found.fibre]
    strange = [name for name in given if name not in names]
    if strange:
        raise ModelError(f"`{strange[0]}` is no fibre symbol", seen=", ".join(names), remedy="the path gives the base")
    return {name: given.get(name, 0.0) for name in names}


def _check_closed(found: Fibration, legs: Any, values: Mapping[str, float]) -> None:
    ends = []
    for leg in legs:
        route = sympy.ImmutableMatrix([leg.place[q] for q in found.base])
        places = _columns(route, (t,), {**values, **leg.values})
        if not np.all(np.isfinite(places(_panel_nodes(*leg.span)[0][None, :]))):
            raise ModelError("The path must be finite", seen=f"no place at some time of {leg.span}", remedy="choose another")
        ends += list(places(np.array([leg.span])).T)
    gaps = [np.abs(ends[2 * k + 1] - ends[(2 * k + 2) % len(ends)]).max() for k in range(len(legs))]
    if max(gaps) > CLOSED * (1 + np.abs(ends).max()):
        raise FormError("The path is not closed", seen=f"a gap of {max(gaps):.3g}", remedy="end where it begins")


def _surface(found: Fibration, legs: Any, values: Mapping[str, float]) -> tuple[Any, float]:
    """The integrals of the curvature (k,) and of 1 over the interior, as loop integrals of P db_2 with P = int B db_1."""
    first, second = found.base
    bend = _columns(found.curvature[0, 1], (first, second), values)
    nodes, weights = np.polynomial.legendre.leggauss(ACROSS)
    total, area, edge = np.zeros(len(found.fibre)), 0.0, None
    for leg in legs:
        route = sympy.ImmutableMatrix([leg.place[first], leg.place[second], sympy.diff(leg.place[second], t)])
        moments, parts = _panel_nodes(*leg.span)
        b1, b2, speed = _columns(route, (t,), {**values, **leg.values})(moments[None, :])
        # Over a closed path it does not matter where the strips begin; on the path, they stay near it.
        edge = b1[0] if edge is None else edge
        width = b1 - edge
        across = edge + width[:, None] * (1 + nodes) / 2
        heights = bend(np.array([across.ravel(), np.repeat(b2, ACROSS)])).reshape(-1, len(b1), ACROSS)
        total = total + ((heights @ weights) * width / 2 * speed) @ parts
        area += float((b1 * speed) @ parts)
    return total, area


def _columns(block: sympy.ImmutableMatrix, symbols: Sequence[sympy.Symbol], values: Mapping[str, float]) -> Any:
    """A column as a function of values of symbols (l, count) that gives (rows, count)."""
    algebra = GraphAlgebra()
    parameters = sorted(block.atoms(Parameter), key=lambda s: s.name)
    numbers = parameter_values(parameters, {s.name: values[s.name] for s in parameters if s.name in values})
    column = ca.substitute(algebra.vector(list(block)), algebra.vector(parameters), ca.SX(ca.DM(numbers)))
    function = ca.Function("column", [algebra.vector(symbols)], [ca.densify(column)])
    return lambda places: np.asarray(function.map(places.shape[1])(places), dtype=float)


def _panel_nodes(first: float, last: float) -> tuple[Any, Any]:
    """Times and weights of composite Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(first, last, PANELS + 1)
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1] + edges[1:])[:, None] / 2 + half * nodes).ravel(), (half * weights).ravel()


# -- loops that are wanted ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Loop(Report):
    """A closed base path that displaces the fibre as wanted.

    Attributes
    ----------
    shape : "rectangle", "circle", "optimal" or "none"
    path : BasePath or None
        None where nothing is to be done, and for optimal loops, which are motions.
    corners : array (4, 2) or None
    length : float
        Of the path in the base.
    displacement : array (k,)
        What it does.
    extremal : Extremal or None
        The motion of an optimal loop, with its verdict.
    """

    shape: str
    path: BasePath | None
    corners: Any
    length: float
    displacement: Any
    extremal: Any = None

    def _title(self) -> str:
        return f"Loop: {self.shape}"

    def _sections(self) -> list[Section]:
        rows = [("length", f"{self.length:.9g}"), ("displacement", ", ".join(f"{x:.9g}" for x in self.displacement))]
        if self.corners is not None:
            rows.append(("corners", ", ".join(f"({a:.6g}, {b:.6g})" for a, b in self.corners)))
        return [("Path", rows)]


def holonomy_loop(
    model: Flow | Connection | Fibration,
    displacement: ArrayLike,
    shape: str = "rectangle",
    *,
    base: Symbols = (),
    around: Sequence[float] | None = None,
    start: Values | None = None,
    parameters: Values | None = None,
    **search: Unpack[OptimalOptions],
) -> Loop:
    """A loop of the base, from and to a place, that displaces the fibre as wanted.

    Parameters
    ----------
    model : Flow or Connection
        See `fibration`; `base` as there.
    displacement : float, or sequence (k,)
        One number for rectangles and circles, which are for one fibre symbol.
    shape : "rectangle", "circle" or "optimal"
        Rectangles have equal sides; in closed form where the curvature is constant, by their holonomy where it is not.
        Circles need a constant curvature. The optimal loop is the extremal of least effort (`optimal`), for any fibre.
    around : (s,)
        The place where it begins and ends; the origin by default.
    start : mapping of fibre symbol to value
    parameters : mapping of parameter to value
    **search
        For `da.control.optimal`: nodes, segments, seed, guess.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> u, w = da.inputs("u w")
    >>> knife = da.Flow({x: u, y: w, z: -x*w}, inputs=[u, w])
    >>> holonomy_loop(knife, -2.0).corners.round(6).tolist()
    [[0.0, 0.0], [1.414214, 0.0], [1.414214, 1.414214], [0.0, 1.414214]]
    """
    found = fibration(model, base)
    wanted = np.atleast_1d(np.asarray(displacement, dtype=float))
    if wanted.shape != (len(found.fibre),):
        raise ModelError("The displacement needs a number for each fibre symbol", seen=wanted.shape, remedy=str(found.fibre))
    center = np.zeros(len(found.base)) if around is None else np.asarray(around, dtype=float)
    if center.shape != (len(found.base),) or not np.all(np.isfinite(center)):
        names = ", ".join(q.name for q in found.base)
        raise ModelError("A loop begins at a place of the base", seen=str(around)[:60], remedy=f"give numbers for {names}")
    if not np.any(wanted):
        return Loop("none", None, None, 0.0, wanted)
    if shape == "optimal":
        return _optimal_loop(found, wanted, center, _fibre_start(found, start), numbers_by_name(parameters), search)
    if shape not in ("rectangle", "circle") or len(found.fibre) != 1 or len(found.base) != 2:
        raise FormError(
            "Rectangles and circles move one fibre symbol over two base symbols",
            seen=f'"{shape}" with {len(found.fibre)} fibre and {len(found.base)} base symbols',
            remedy='use shape="optimal"',
        )
    bend = found.curvature[0, 1][0]
    steady = not bend.free_symbols - bend.atoms(Parameter)
    here = {
        **numbers_by_name(parameters),
        **_fibre_start(found, start),
        **dict(zip((q.name for q in found.base), center, strict=True)),
    }
    known = {s: sympy.Float(here[s.name]) for s in bend.free_symbols if s.name in here}
    height = float(bend.xreplace(known))
    if abs(height) <= 1e-14 * sum(abs(float(term.xreplace(known))) for term in sympy.Add.make_args(bend)):
        raise FormError("The curvature vanishes where the loop begins", seen=str(bend), remedy="begin elsewhere: around=(...)")
    if shape == "circle":
        return _circle(found, wanted, center, height, steady)
    side = np.sqrt(abs(wanted[0] / height))
    if not steady:
        side = _side(found, float(wanted[0]), center, height, side, (start, parameters))
    corners = _corners(center, side, float(np.sign(wanted[0] / height)))
    moved = holonomy(found, corners, start=start, parameters=parameters).displacement if not steady else wanted
    return Loop("rectangle", closed_path(found, corners), corners, float(4 * side), moved)


def _corners(center: Any, side: float, sign: float) -> Any:
    """(0, 0), (a, 0), (a, b), (0, b) from the place, with a = sign side, b = side: counterclockwise where sign is positive."""
    a, b = sign * side, side
    return center + np.array([[0, 0], [a, 0], [a, b], [0, b]])


def _side(found: Fibration, wanted: float, center: Any, height: float, guess: float, given: Any) -> float:
    """The side of the rectangle whose holonomy is the wanted one."""
    start, parameters = given
    sign = float(np.sign(wanted / height))

    def miss(side: float) -> float:
        moved = holonomy(found, _corners(center, side, sign), start=start, parameters=parameters).displacement[0]
        return float(moved - wanted) * float(np.sign(wanted))

    low, high = 0.0, guess
    for _ in range(12):
        there = miss(high)
        if there >= 0:
            return find_root(miss, low, high, -abs(wanted), there) if there else high
        low, high = high, 1.3 * high
    raise RunError(
        "No rectangle from here moves the fibre that far",
        seen=f"sides up to {high:.3g} miss it by {abs(there):.3g}",
        remedy='begin elsewhere, go round several times, or use shape="optimal"',
    )


def _circle(found: Fibration, wanted: Any, center: Any, height: float, steady: bool) -> Loop:
    if not steady:
        raise FormError("Circles are for constant curvature", seen=str(found.curvature[0, 1][0]), remedy='use shape="optimal"')
    radius = float(np.sqrt(abs(wanted[0] / height) / np.pi))
    turn = sympy.Integer(int(np.sign(wanted[0] / height)))
    first, second = found.base
    path = {
        first: sympy.Float(center[0]) + radius * (1 - sympy.cos(t)),
        second: sympy.Float(center[1]) - turn * radius * sympy.sin(t),
    }
    whole = BasePath((Leg(path, (0.0, float(2 * np.pi)), {}),))
    return Loop("circle", whole, None, float(2 * np.pi * radius), wanted)


def _optimal_loop(
    found: Fibration, wanted: Any, center: Any, fibre: Mapping[str, float], values: Mapping[str, float], search: Any
) -> Loop:
    flow = found.kinematic
    begin = {**dict(zip((q.name for q in found.base), center, strict=True)), **fibre}
    end = {**begin, **{q.name: fibre[q.name] + x for q, x in zip(found.fibre, wanted, strict=True)}}
    effort = sum((u**2 for u in flow.inputs), sympy.Integer(0)) / 2
    extremal = optimal(flow, effort, begin, end, (0.0, 1.0), parameters=values, **search)
    motion = extremal.motion
    moved = np.array([float(motion[q.name][-1] - motion[q.name][0]) for q in found.fibre])
    # H = |w|^2 / 2 is constant along it: the length in unit time is the speed, and the cost half its square.
    return Loop("optimal", None, None, float(np.sqrt(2 * extremal.cost)), moved, extremal)
