r"""Poincare's sections: the points at which motions cross a surface g(state, t) = 0.

The crossings are roots of g along the dense output, found between neighbouring samples of every
step and refined until rounding decides; so the points lie on the section, not near it (H. Poincare,
Les methodes nouvelles de la mecanique celeste III (1899), chapter 27; M. Henon, Physica D 5 (1982),
p. 412, integrates to the surface with g as a clock instead).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import sympy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...algebra.tabulate import tabulated
from ...errors import ModelError, nearest
from ...model.io.expressions import parse_relation
from ...model.symbols import t as time_symbol
from ...typing import Path, Symbol, Symbols
from ..axis_labels import mathtext, words
from ..motion_samples import Array, states_at
from ..style import Style, figure_for, finished_on, style_named

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["Crossings", "crossings", "poincare", "resampled"]

#: Samples of the section on each step of the integrator, at most, and on all steps together.
SAMPLES, MOST_SAMPLES = 8, 24_000
#: Rounds of refinement, in which a bracket shrinks to rounding.
ROUNDS = 80
#: g at times (k,), along given states (n, k) or the dense output.
Section: TypeAlias = "Callable[..., Array]"


@dataclass(frozen=True)
class Crossings:
    """Where a motion crosses a section.

    Attributes
    ----------
    t : array (k,)
    direction : array (k,)
        +1 where g grows, -1 where it falls.
    residual : array (k,)
        What is left of g.
    motion : Motion
        The same motion at these times alone: ``crossings["x"]`` are its quantities.
    """

    t: Array
    direction: Array
    residual: Array
    motion: Motion

    def __getitem__(self, name: Symbol) -> Array:
        return np.asarray(self.motion[name])

    def __len__(self) -> int:
        return int(self.t.size)


def crossings(motion: Motion, section: Symbol, direction: int = 0) -> Crossings:
    """The crossings of a section, in the order of the motion, without a start on it.

    Parameters
    ----------
    section : expression, or text such as "x = 0" or "sin(theta)"
        g, in symbols of the state, parameters and time.
    direction : +1, -1 or 0
        Crossings where g grows, where it falls, or all.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> spring = da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2)
    >>> motion = da.simulate(spring, {x.dot: 1.0}, (0, 10))
    >>> found = crossings(motion, "x = 0", direction=1)
    >>> bool(abs(found.t - 2*np.pi).max() < 1e-8), len(found)
    (True, 1)
    """
    if direction not in (-1, 0, 1):
        raise ModelError("The direction of a crossing is +1, -1 or 0", direction, "0 takes all")
    function = _compiled(motion, _section(motion, section))
    times, ways = [np.empty(0)], [np.empty(0)]
    for segment in motion.segments:
        ends = np.asarray(segment.step_t, dtype=float)
        if ends.size < 2:
            continue
        at_ends = function(ends, np.asarray(segment.full_y, dtype=float).T)
        grid, values = _sampled(function, ends, at_ends)
        above = values >= 0
        finite = np.isfinite(values)
        found = np.flatnonzero((above[1:] != above[:-1]) & finite[1:] & finite[:-1])
        bracket = grid[found], grid[found + 1], values[found], values[found + 1]
        times.append(_refined(function, *bracket))
        ways.append(np.where(above[found + 1], 1.0, -1.0))
    at, way = np.concatenate(times), np.concatenate(ways)
    began, ended = float(motion.segments[0].step_t[0]), float(motion.segments[-1].step_t[-1])
    kept = np.abs(at - began) > 1e-12 * max(abs(ended - began), abs(began))
    kept &= (way == direction) if direction else np.ones(at.shape, dtype=bool)
    at, way = at[kept], way[kept]
    return Crossings(at, way, function(at), resampled(motion, at))


def _sampled(function: Section, ends: Array, at_ends: Array) -> tuple[Array, Array]:
    """Times between which g changes its sign once at most, and g there.

    The steps are looked at more closely where g changes its sign and where |g| turns back before
    zero; all of them where they are few.
    """
    size, above = np.abs(at_ends), at_ends >= 0
    closer = np.zeros(ends.size - 1, dtype=bool)
    if SAMPLES * closer.size <= MOST_SAMPLES:
        closer[:] = True
    else:
        closer |= above[1:] != above[:-1]
        turns = np.flatnonzero((size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:])) + 1
        closer[turns - 1] = closer[turns] = True
    steps = np.flatnonzero(closer)
    share = np.arange(1, SAMPLES) / SAMPLES
    more = (ends[steps, None] + share * (ends[steps + 1] - ends[steps])[:, None]).ravel()
    place = np.repeat(steps, share.size) + np.tile(share, steps.size)
    order = np.argsort(np.concatenate([np.arange(ends.size), place]), kind="stable")
    return np.concatenate([ends, more])[order], np.concatenate([at_ends, function(more)])[order]


def _refined(function: Section, low: Array, high: Array, at_low: Array, at_high: Array) -> Array:
    """Roots in brackets, all together: Illinois, and bisection where it stalls."""
    low, high, at_low, at_high = low.copy(), high.copy(), at_low.copy(), at_high.copy()
    best = np.where(np.abs(at_low) < np.abs(at_high), low, high)
    left = np.minimum(np.abs(at_low), np.abs(at_high))
    # Rounding of the time decides.
    enough = 2 * np.spacing(np.abs(low)) * np.abs((at_high - at_low) / (high - low))
    active = np.arange(low.size)
    for turn in range(ROUNDS):
        if not active.size:
            break
        a, b, ga, gb = low[active], high[active], at_low[active], at_high[active]
        with np.errstate(all="ignore"):
            middle = b - gb * (b - a) / (gb - ga)
        outside = ~(((a < middle) & (middle < b)) | ((b < middle) & (middle < a)))
        middle = np.where(outside | (turn % 4 == 3), (a + b) / 2, middle)
        value = function(middle)
        better = np.abs(value) < left[active]
        best[active] = np.where(better, middle, best[active])
        left[active] = np.where(better, np.abs(value), left[active])
        same = (value >= 0) == (gb >= 0)
        low[active] = np.where(same, a, b)
        at_low[active] = np.where(same, ga / 2, gb)
        high[active], at_high[active] = middle, value
        spacing = np.spacing(np.maximum(np.abs(middle), 1e-300))
        wide = np.abs(high[active] - low[active]) > 4 * spacing
        active = active[(np.abs(value) > enough[active]) & wide & np.isfinite(value)]
    return best


def resampled(motion: Motion, times: Array) -> Motion:
    """The same motion, stored at other times: all of its quantities there come from its kernel."""
    at = np.asarray(times, dtype=float)
    owner = np.zeros(at.shape, dtype=np.int64)
    for number, segment in enumerate(motion.segments):
        first, last = sorted((float(segment.step_t[0]), float(segment.step_t[-1])))
        owner[(first <= at) & (at <= last)] = number
    return replace(motion, t=at, y=states_at(motion, at), owner=owner)


def _symbols(motion: Motion) -> dict[str, sympy.Symbol]:
    symbols = (*motion.state, *motion.system.parameters)
    return {symbol.name: symbol for symbol in symbols} | {"t": time_symbol}


def _section(motion: Motion, section: Symbol) -> sympy.Expr:
    symbols = _symbols(motion)
    if isinstance(section, str):
        relation, expression = parse_relation(section, symbols)
        if relation == "at most":
            raise ModelError("A section is an equation", seen=section, remedy="write g = 0")
    elif isinstance(section, sympy.Basic):
        expression = section
    else:
        what = "A section is an expression, or the text of one"
        raise ModelError(what, repr(section)[:60], 'write "x = 0"')
    strange = sorted(s.name for s in expression.free_symbols if s.name not in symbols)
    if strange:
        near = nearest(strange[0], symbols)
        raise ModelError(
            f"The section contains `{strange[0]}`, which is no symbol of the state",
            ", ".join(symbols),
            f"did you mean `{near}`" if near else "use these symbols",
        )
    moving = {symbol.name for symbol in (*motion.state, time_symbol)}
    if not any(symbol.name in moving for symbol in expression.free_symbols):
        what = "The section does not depend on the motion"
        raise ModelError(what, expression, "use symbols of the state")
    return expression


def _compiled(motion: Motion, expression: sympy.Expr) -> Section:
    """An expression of state, parameters and time as a function of times (k,)."""
    names = {symbol.name: k for k, symbol in enumerate(motion.state)}
    symbols = sorted(expression.free_symbols, key=lambda symbol: str(symbol.name))
    function = tabulated(symbols, [expression])

    def values(times: Array, states: Array | None = None) -> Array:
        if states is None:
            states = states_at(motion, times)
        arguments: list[Array | float] = []
        for symbol in symbols:
            if symbol.name in names:
                arguments.append(states[names[symbol.name]])
            elif symbol.name == "t":
                arguments.append(times)
            else:
                arguments.append(float(motion.parameters[symbol.name]))
        return np.broadcast_to(function(arguments)[0], times.shape).copy()

    return values


def poincare(
    motions: Motion | Sequence[Motion],
    section: Symbol,
    x: Symbol,
    y: Symbol,
    *,
    direction: int = 1,
    wrap: Symbols = (),
    path: Path | None = None,
    style: str | Style | None = None,
    title: str | None = None,
    equal: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """A Poincare section: crossings of g = 0 in a plane, a colour for each motion.

    Parameters
    ----------
    motions : Motion, or several of them
    section : expression, or text such as "x = 0"
        g, in symbols of the state, parameters and time.
    x, y : names or symbols
        Of quantities of the motion.
    direction : +1, -1 or 0
        Crossings where g grows, where it falls, or all.
    wrap : sequence of names
        Angles that are shown between -pi and pi.
    path : path, optional
        A .png, .svg or .pdf to write.
    ax : Axes, optional
        Where to draw, instead of a new picture.

    Returns
    -------
    Figure
        A `Picture`, or the figure of `ax`. The points themselves are what `crossings` gives.

    Raises
    ------
    ModelError
        Where no motion crosses the section.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> well = da.System([x, y], kinetic=(x.dot**2 + y.dot**2)/2, potential=(x**2 + 3*y**2)/2)
    >>> motion = da.simulate(well, {x: 1.0, y: 0.5}, (0, 40))
    >>> picture = poincare(motion, "x = 0", "y", "y_dot")
    >>> len(picture.axes[0].lines[0].get_xdata())
    6
    """
    look = style_named(style, ax)
    runs: list[Any] = [motions] if hasattr(motions, "segments") else list(motions)
    found = [crossings(motion, section, direction) for motion in runs]
    count = sum(len(points) for points in found)
    if count == 0:
        remedy = "simulate longer, or choose direction=0"
        raise ModelError("No motion crosses the section", f"{section}", remedy)
    names = [str(getattr(name, "name", name)) for name in (x, y)]
    turned = {str(getattr(name, "name", name)) for name in wrap}
    colors = list(look.cycle) if len(runs) <= len(look.cycle) else look.ramp(len(runs))
    size = float(np.clip(3.2 * (400 / count) ** 0.3, 0.9, 4.5))
    figure = figure_for(ax, look, (5.4, 4.8))
    with look.context():
        axes = figure.add_subplot() if ax is None else ax
        for points, color in zip(found, colors, strict=False):
            u, v = (_wrapped(points[name]) if name in turned else points[name] for name in names)
            dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markeredgewidth": 0.0}
            dots |= {"markersize": size, "color": color, "rasterized": count > 20_000}
            axes.plot(u, v, **dots)
        axes.margins(0.06)
        axes.set_xlabel(mathtext(names[0]), fontsize=13)
        axes.set_ylabel(mathtext(names[1]), fontsize=13, rotation=0, va="center", labelpad=10)
        if equal:
            axes.set_aspect("equal")
        own = runs[0].system.name
        heading = ("" if own == "system" else words(own)) if title is None else title
        axes.set_title(heading, weight="bold")
        caption = _caption(runs[0], section, direction, count)
        axes.set_title(caption, loc="right", fontsize=9.5, color=look.muted)
    return finished_on(figure, ax, path)


def _wrapped(angle: Array) -> Array:
    return np.asarray((angle + np.pi) % (2 * np.pi) - np.pi)


def _caption(motion: Motion, section: Symbol, direction: int, count: int) -> str:
    expression = _section(motion, section)
    way = {1: ", growing", -1: ", falling", 0: ""}[direction]
    shown = str(expression) if len(str(expression)) <= 30 else "section"
    shown = mathtext(shown) if expression.is_Symbol else shown.replace("$", "")
    return f"{shown} = 0{way}: {count} points"
