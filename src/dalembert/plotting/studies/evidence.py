"""Pictures of numerical evidence: how Lyapunov exponents converge, and what precision costs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from ...errors import ModelError
from ...typing import Array, Path
from ..axis_labels import words
from ..style import Picture, Style, finished, style_named

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["exponents", "work_precision"]

#: Colours of families beyond those of a style's cycle.
_MORE = {
    "light": ("#8C564B", "#5E7A00", "#6A51A3", "#E377C2", "#00838F", "#B22222", "#3B4CC0"),
    "dark": ("#C49C94", "#B5CF6B", "#B39DDB", "#FF8AC4", "#4DD0E1", "#FF8A80", "#9FA8DA"),
}
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


class Exponents(Protocol):
    """What `da.analysis.lyapunov` gives."""

    exponents: Array
    uncertainty: Array
    t: Array
    history: Array
    motion: Motion


def exponents(
    found: Exponents,
    *,
    path: Path | None = None,
    style: str | Style = "light",
    title: str | None = None,
) -> Picture:
    """How Lyapunov exponents converge: averages up to each time, with two standard errors.

    Parameters
    ----------
    found : Lyapunov
        Of `da.analysis.lyapunov`.
    path : path, optional
        A .png, .svg or .pdf to write.
    """
    look = style_named(style)
    values = np.asarray(found.exponents, dtype=float)
    errors = np.asarray(found.uncertainty, dtype=float)
    history, t = np.asarray(found.history, dtype=float), np.asarray(found.t, dtype=float)
    colors = list(look.cycle) if values.size <= len(look.cycle) else look.ramp(values.size)
    groups = _apart(values)
    height = 3.9 if len(groups) == 1 else 1.9 * len(groups) + 0.8
    picture = Picture(look, figsize=(6.6, height), layout="constrained")
    with look.context():
        rows = picture.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
        for axes, members in zip(rows, groups, strict=True):
            converged = history[t >= t[0] + 0.1 * (t[-1] - t[0])][:, members]
            for k in members:
                band = values[k] - 2 * errors[k], values[k] + 2 * errors[k]
                axes.axhspan(*band, color=colors[k], alpha=0.16, linewidth=0)
                axes.plot(t, history[:, k], color=colors[k], linewidth=1.3)
            room = 0.15 * max(float(np.ptp(converged)), 6 * float(errors[members].max()), 1e-12)
            low = float(min(converged.min(), (values - 2 * errors)[members].min())) - room
            high = float(max(converged.max(), (values + 2 * errors)[members].max())) + room
            axes.set_ylim(low, high)
            if low < 0 < high:
                axes.axhline(0.0, color=look.muted, linewidth=0.7)
            labels = [rf"$\lambda_{{{k + 1}}} = {_rounded(values[k], errors[k])}$" for k in members]
            own = [colors[k] for k in members]
            _beside(axes, picture.get_figheight(), values[members], labels, own)
        rows[-1].set_xlabel("$t$")
        picture.supylabel("exponents, averaged up to $t$", fontsize=11, color=look.ink)
        heading = words(found.motion.system.name) if title is None else title
        if heading and heading != "system":
            rows[0].set_title(heading, weight="bold")
    return finished(picture, path)


def _apart(values: Array) -> list[list[int]]:
    """Indices of falling values in at most three groups, parted at large gaps."""
    gaps = -np.diff(values)
    whole = float(values[0] - values[-1]) if values.size > 1 else 0.0
    wide = np.flatnonzero(gaps > 0.4 * whole).tolist() if whole > 0 else []
    cuts = sorted(sorted(wide, key=lambda k: -gaps[k])[:2])
    edges = [0, *(int(k) + 1 for k in cuts), values.size]
    return [list(range(a, b)) for a, b in itertools.pairwise(edges)]


def _rounded(value: float, error: float) -> str:
    """A value to the digits that its error leaves.

    >>> _rounded(-0.002306, 0.03)
    '0.00 \\\\pm 0.03'
    """
    if not (np.isfinite(error) and error > 0):
        return f"{value:.4g}"
    digits = int(np.clip(-np.floor(np.log10(error)), 0, 12))
    shown = f"{value:.{digits}f}"
    return rf"{shown.lstrip('-') if float(shown) == 0 else shown} \pm {error:.{digits}f}"


def _beside(
    axes: Axes, inches: float, heights: Array, labels: Sequence[str], colors: Sequence[str]
) -> None:
    """Labels at the right ends of curves, moved apart where they would cover each other."""
    from ..curves.plots import spread

    low, high = axes.get_ylim()
    room = 0.21 / axes.get_position().height / inches
    shares = [(float(h) - low) / (high - low) for h in heights]
    places = spread(shares, min(room, 0.9 / max(len(labels), 1)))
    units: tuple[str, str] = ("axes fraction", "offset points")
    for place, label, color in zip(places, labels, colors, strict=False):
        text: dict[str, Any] = {"va": "center", "fontsize": 10, "color": color}
        axes.annotate(label, (1.0, place), (6, 0), *units, **text)


#: Pairs (error, work).
Pairs: TypeAlias = "Sequence[tuple[float, float]] | Array"


def work_precision(
    runs: Mapping[str, Pairs] | Mapping[str, Mapping[str, Pairs]],
    *,
    error: str = "error at the end",
    work: str = "seconds",
    title: str = "",
    groups: Mapping[str, Sequence[str]] | None = None,
    path: Path | None = None,
    style: str | Style = "light",
) -> Picture:
    """Work against precision: pairs (error, work) for each method; right and lower is better.

    Parameters
    ----------
    runs : mapping of label to pairs (error, work), or of the title of a panel to such a mapping
        What was measured; pairs that are not positive and finite are left out.
    error, work : str
        What the axes say.
    groups : mapping of name to labels, optional
        Families of methods, which share a colour and differ in marks; those whose name is empty are
        drawn dashed, in grey.
    path : path, optional
        A .png, .svg or .pdf to write.

    Examples
    --------
    >>> picture = work_precision(
    ...     {"order 2": [(1e-2, 1.0), (1e-4, 10.0)], "order 4": [(1e-3, 1.5), (1e-7, 15.0)]}
    ... )
    >>> len(picture.axes[0].lines)
    2
    """
    look = style_named(style)
    nested = any(isinstance(pairs, Mapping) for pairs in runs.values())
    panels: Mapping[str, Any] = runs if nested else {title: runs}
    kept: dict[str, dict[str, Array]] = {}
    for head, table in panels.items():
        usable = {label: _usable(pairs) for label, pairs in table.items()}
        usable = {label: pairs for label, pairs in usable.items() if len(pairs)}
        kept |= {head: usable} if usable else {}
    if not kept:
        remedy = "give pairs (error, work) that are positive and finite"
        raise ModelError("There is nothing to plot", remedy=remedy)
    labels = list(dict.fromkeys(label for table in kept.values() for label in table))
    looks = _looks(labels, groups, look)
    columns = 1 if len(kept) == 1 else 2
    rows = -(-len(kept) // columns)
    size = (6.6 * columns, (4.2 if rows == 1 else 3.7) * rows)
    picture = Picture(look, figsize=size, layout="constrained")
    with look.context():
        for place, (head, table) in enumerate(kept.items(), start=1):
            axes = picture.add_subplot(rows, columns, place)
            _draw_work(axes, table, looks, look)
            axes.set(xlabel=error, ylabel=work)
            if head:
                axes.set_title(head, weight="bold")
    return finished(picture, path, None if title in kept else title)


def _draw_work(
    axes: Axes, table: Mapping[str, Array], looks: Mapping[str, tuple[str, str]], look: Style
) -> None:
    for label, pairs in table.items():
        color, marker = looks[label]
        line: dict[str, Any] = {"marker": marker, "markersize": 4.2, "markeredgewidth": 0.0}
        line |= {"linestyle": (0, (4, 2))} if color == look.muted else {}
        axes.loglog(*pairs.T, color=color, linewidth=1.3, label=label, **line)
    axes.invert_xaxis()
    axes.margins(0.05)
    axes.legend(
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        fontsize=9.5 if len(table) < 12 else 8,
        labelspacing=0.5 if len(table) < 12 else 0.12,
        labelcolor=look.ink,
    )


def _usable(pairs: Pairs) -> Array:
    table = np.asarray(list(pairs), dtype=float).reshape(-1, 2)
    table = table[np.isfinite(table).all(axis=1) & (table > 0).all(axis=1)]
    ordered: Array = table[np.argsort(-table[:, 0], kind="stable")]
    return ordered


def _looks(
    labels: Sequence[str], groups: Mapping[str, Sequence[str]] | None, look: Style
) -> dict[str, tuple[str, str]]:
    """A colour and a mark for each label."""
    homes = {label: name for name, members in (groups or {}).items() for label in members}
    families = list(dict.fromkeys(homes.get(label, label) for label in labels))
    named = [family for family in families if family]
    known = (*look.cycle, *_MORE.get(look.name, ()))
    shades = known if len(named) <= len(known) else look.ramp(len(named))
    colors = dict(zip(named, shades, strict=False))
    found: dict[str, tuple[str, str]] = {}
    for k, family in enumerate(families):
        members = [label for label in labels if homes.get(label, label) == family]
        for place, label in enumerate(members):
            marker = _MARKERS[(place if groups else k) % len(_MARKERS)]
            found[label] = (colors.get(family, look.muted), marker)
    return found
