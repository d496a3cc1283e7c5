r"""Height functions: curvature over a two-dimensional shape space, area rule for small loops.

A shape that goes round a loop once, counterclockwise for positive area, moves the group by the
holonomy g of g^-1 g_dot = -A(r) r_dot. With B = dA - [A, A] (Bloch, Supplement 2.9),

    log g = - integral of B_12  +  integral of [A(r_0) (r - r_0), B_12]  +  ...
        over the interior of a loop from r_0,

and the rule is the first term: for loops of size epsilon it is of order epsilon^2 and its error of
order epsilon^3. With dA alone the error would be of order epsilon^2 too, unless the group is
abelian: then the rule is Stokes' theorem, and exact for every loop. The interior counts as often as
the loop goes round it, by the integral

    integral of B_12 = loop integral of P dr_2,  P(r_1, r_2) = integral of B_12(s, r_2) ds to r_1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError
from ...formulations.reduction.gait import Gait, shape_path
from ...model.read_only import ReadOnlyArrays
from ...model.symbols import t
from ...model.values import numbers_by_name
from ...typing import Array, Path, Ranges, Values
from ..named_blocks import NamedBlocks
from ..tables import Report, Section
from .connections import Connection
from .group_elements import ElementMatrices
from .phases import check_loop

if TYPE_CHECKING:
    from ...plotting.style import Picture, Style

__all__ = ["AreaRule", "HeightFunction", "area_rule", "height_function"]

#: Nodes across a loop, the first and the most nodes along it, and the change that ends doubling.
ACROSS, FIRST, MOST, STEADY = 12, 64, 1024, 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class HeightFunction(ReadOnlyArrays, Report):
    """The curvature over a grid of shapes; a group of dimension k.

    Attributes
    ----------
    connection : Connection
    axes : pair of arrays (n_1,), (n_2,)
        Values of the shape coordinates.
    values : array (k, n_1, n_2)
        B_12 = dA - [A, A] by body velocity; nan where the connection does not exist.
    exterior : array (k, n_1, n_2)
        dA alone.
    parameters : mapping of name to value
    """

    connection: Connection
    axes: tuple[Array, Array]
    values: Array
    exterior: Array
    parameters: Mapping[str, float]

    @property
    def shape(self) -> tuple[str, str]:
        """The names of the shape coordinates, in the order of the grid."""
        first, second = self.connection.shape
        return first.name, second.name

    def plot(
        self,
        components: Sequence[str] | None = None,
        *,
        loops: AreaRule | Array | Sequence[AreaRule | Array] = (),
        path: Path | None = None,
        style: str | Style = "light",
        title: str | None = None,
    ) -> Picture:
        """Draw a map over the shapes; lines of no height are drawn in ink.

        Parameters
        ----------
        components : sequence of str
            Body velocities, a panel for each; by default those whose height is not zero everywhere.
        loops : AreaRule, array (2, count), or a sequence of them
            Loops of shapes, drawn with an arrow along them.
        path : path, optional
            A .png, .svg or .pdf to write.
        style : "light", "dark" or Style
        title : str, optional
            Above the picture; the system's name unless given.
        """
        from ...plotting.studies.height_plot import plot_height

        return plot_height(self, components, loops=loops, path=path, style=style, title=title)

    def _title(self) -> str:
        return f"Height function of {self.connection.system.name}"

    def _sections(self) -> list[Section]:
        axes = zip(self.shape, self.axes, strict=True)
        ranges = [(name, f"{x[0]:g} to {x[-1]:g}, {len(x)} points") for name, x in axes]
        heights = []
        for name, table in zip(self.connection.basis, self.values, strict=True):
            finite = np.isfinite(table).any()
            span = f"{np.nanmin(table):.6g} to {np.nanmax(table):.6g}" if finite else ""
            heights.append((name, span or "nowhere finite"))
        missing = int(np.isnan(self.values[0]).sum())
        if missing:
            ranges.append(("no connection", f"at {missing} of {self.values[0].size} shapes"))
        return [("Shapes", ranges), (f"B = dA - [A, A], {self.shape[0]} {self.shape[1]}", heights)]


def height_function(
    connection: Connection,
    within: Ranges,
    *,
    parameters: Values | None = None,
    points: int | tuple[int, int] = 41,
) -> HeightFunction:
    """The curvature of a connection on a grid of shapes.

    Parameters
    ----------
    connection : Connection
        Of `da.symmetry.connection`, over two shape coordinates.
    within : mapping of shape coordinate to lower and upper end
    parameters : mapping of parameter to value
        Those of a scenario by default.
    points : int or pair of int
        How many along each coordinate.

    Examples
    --------
    >>> import dalembert as da
    >>> board = da.gallery.load("snakeboard")
    >>> x, y, theta, psi, phi = board.system.coordinates
    >>> plane = da.symmetry.connection(board, da.lie.LieGroup.SE(2).chart((x, y, theta)))
    >>> found = height_function(plane, {psi: (-1, 1), phi: (-1, 1)}, points=(2, 5))
    >>> found.values.shape
    (3, 2, 5)
    """
    values = dict(connection.parameters) | numbers_by_name(parameters)
    names, ends = _two_shapes(connection), _named_ranges(within)
    missing = [name for name in names if name not in ends]
    if missing or len(ends) != 2:
        what = "A height function needs a range for each shape coordinate"
        remedy = f"give within={{{names[0]}: (low, high), {names[1]}: (low, high)}}"
        raise ModelError(what, ", ".join(ends) or "none", remedy)
    counts = (points, points) if isinstance(points, int) else tuple(points)
    grid = zip(names, counts, strict=True)
    first, second = (np.linspace(*ends[name], count) for name, count in grid)
    table = np.full((2, len(connection.basis), len(first), len(second)), np.nan)
    failure: ModelError | None = None
    for i, j in np.ndindex(len(first), len(second)):
        shape = {names[0]: float(first[i]), names[1]: float(second[j])}
        try:
            table[:, :, i, j] = _curvature(connection, values, shape)
        except ModelError as error:
            failure = error
    if failure is not None and not np.isfinite(table).any():
        raise failure
    return HeightFunction(connection, (first, second), table[0], table[1], values)


@dataclass(frozen=True, eq=False, repr=False)
class AreaRule(Report):
    """What the height function says of a loop of shapes; a group of dimension k.

    Attributes
    ----------
    logarithm : array (k,)
        Minus the integral of dA - [A, A] over the interior: the displacement to first order.
    exterior, bracket : arrays (k,)
        The parts of dA and of -[A, A]; the second vanishes for abelian groups.
    matrix : array (N, N)
        exp(logarithm).
    area : float
        Of the interior, counterclockwise.
    points : array (2, nodes)
        The loop.
    change : float
        How much the last doubling of the nodes changed the integral.
    basis : tuple of str
        The names of the body velocities.
    """

    logarithm: Array
    exterior: Array
    bracket: Array
    matrix: Array
    area: float
    points: Array
    change: float
    basis: tuple[str, ...]

    def _title(self) -> str:
        return "Area rule"

    def _sections(self) -> list[Section]:
        def shown(vector: Array) -> str:
            parts = zip(self.basis, vector, strict=True)
            return ", ".join(f"{name} {round(value, 12) + 0.0:+.6g}" for name, value in parts)

        lines = [
            ("of dA", shown(self.exterior)),
            ("of -[A, A]", shown(self.bracket)),
            ("displacement", shown(self.logarithm)),
        ]
        return [("Loop", [("area", f"{self.area:.6g}")]), ("Minus the integral", lines)]


def area_rule(
    connection: Connection, shape: Values, period: float, *, parameters: Values | None = None
) -> AreaRule:
    """The displacement of a loop of shapes by the integral of the curvature over its interior.

    Parameters
    ----------
    connection : Connection
        Over two shape coordinates.
    shape : mapping of shape coordinate to expression of t and parameters
        The loop, as `follow_shape` takes it.
    period : float
    parameters : mapping of parameter to value
        Those of a scenario by default.

    Raises
    ------
    FormError
        Where the shape is no loop.
    ModelError
        Where the connection ends inside.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> board = da.gallery.load("snakeboard")
    >>> x, y, theta, psi, phi = board.system.coordinates
    >>> plane = da.symmetry.connection(board, da.lie.LieGroup.SE(2).chart((x, y, theta)))
    >>> found = area_rule(plane, {psi: cos(da.t)/10, phi: sin(da.t)/10}, 6.283185307179586)
    >>> round(found.area, 6), round(float(found.logarithm[0]), 5)
    (0.031416, -0.00781)
    """
    names = _two_shapes(connection)
    values = dict(connection.parameters) | numbers_by_name(parameters)
    gait = Gait(connection.bundle, shape_path(connection.bundle, shape), momentum=False)
    check_loop(gait, float(period), values)
    loop = _ShapeLoop(gait, float(period), values)
    further = {symbol.name for symbol in gait.parameters}
    values = {name: value for name, value in values.items() if name not in further}
    middle = float(np.mean(loop.at(np.arange(FIRST) / FIRST)[0][0]))
    nodes, weights = np.polynomial.legendre.leggauss(ACROSS)

    def strip(place: Array) -> Any:
        """The integral (2, k) of (B, dA) from the middle to the loop, first coordinate."""
        half = (place[0] - middle) / 2
        shapes = ({names[0]: middle + half * (1 + s), names[1]: place[1]} for s in nodes)
        across = [_curvature(connection, values, shape) for shape in shapes]
        return half * np.tensordot(weights, np.array(across), axes=1)

    def sums(fractions: Array) -> tuple[Array, float]:
        places, speeds = loop.at(fractions)
        strips = np.array([strip(place) for place in places.T])
        area = float(np.sum((places[0] - middle) * speeds[1]))
        return np.tensordot(speeds[1], strips, axes=1), area

    count = FIRST
    (total, area), change = sums(np.arange(count) / count), np.inf
    while change > STEADY and count < MOST:
        more, wider = sums((np.arange(count) + 0.5) / count)
        size = max(float(np.max(np.abs(total + more))) / 2, 1e-300)
        change = float(np.max(np.abs(more - total)) / (2 * size))
        total, area, count = total + more, area + wider, 2 * count
    whole, exterior = -total * period / count
    matrix = ElementMatrices(connection.bundle, values).exponential(whole)
    points = loop.at(np.linspace(0, 1, 257))[0]
    area, bracket = area * period / count, whole - exterior
    return AreaRule(whole, exterior, bracket, matrix, area, points, change, connection.basis)


class _ShapeLoop:
    """Points and velocities of a closed path of shapes."""

    def __init__(self, gait: Gait, period: float, values: Mapping[str, float]) -> None:
        algebra = GraphAlgebra()
        path = list(gait.path.values())
        rates = [sympy.diff(value, t) for value in path]
        blocks = {"place": algebra.vector(path), "speed": algebra.vector(rates)}
        own = (*gait.bundle.system.parameters, *gait.parameters)
        known = [*(p.name for p in own), t.name]
        self._blocks = NamedBlocks(algebra, blocks, known)
        self._period, self._values = period, dict(values)

    def at(self, fractions: Array) -> tuple[Array, Array]:
        """Places and velocities (2, count) at fractions of the period."""
        times = [float(part) * self._period for part in fractions]
        found = [self._blocks(self._values | {t.name: time}) for time in times]
        places, speeds = ([entry[name][:, 0] for entry in found] for name in ("place", "speed"))
        return np.array(places).T, np.array(speeds).T


def _curvature(
    connection: Connection, values: Mapping[str, float], shape: Mapping[str, float]
) -> Array:
    """B_12 and dA_12 at a shape, (2, k)."""
    here = connection.at(shape, values)
    A, C = here.connection, np.asarray(connection.bundle.constants, dtype=float)
    whole = here.curvature[:, 0, 1]
    return np.array([whole, whole + np.einsum("bca,b,c->a", C, A[:, 0], A[:, 1])])


def _two_shapes(connection: Connection) -> tuple[str, str]:
    if not isinstance(connection, Connection):
        what = "A height function is that of a connection"
        remedy = "make one with da.symmetry.connection(system, group)"
        raise ModelError(what, type(connection).__name__, remedy)
    names = [q.name for q in connection.shape]
    if len(names) != 2:
        what = "A height function needs a shape space of two dimensions"
        seen = ", ".join([f"{len(names)}", *names])
        remedy = "choose a group that leaves two, or read connection.at(shape).curvature"
        raise ModelError(what, seen, remedy)
    return names[0], names[1]


def _named_ranges(within: Ranges) -> dict[str, tuple[float, float]]:
    """Lower and upper ends by name."""
    pairs = ((str(getattr(key, "name", key)), ends) for key, ends in within.items())
    return {name: (float(ends[0]), float(ends[1])) for name, ends in pairs}
