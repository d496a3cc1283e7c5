"""What a plot shows: panels of curves, chosen from a motion; `plots` draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError, nearest
from ...model.symbols import Coordinate
from ..axis_labels import mathtext, words
from ..motion_samples import Array, curve_times, in_order, series, through

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["PANELS", "Curve", "Panel", "chosen_panels", "default_kinds"]

#: Curves in one panel before another is opened.
MOST_CURVES = 4
#: Coordinates before the curves of one kind are drawn as one family, shaded by index.
MOST_COORDINATES = 12
#: A curve joins a panel when its own range is at least this share of the panel's.
LEAST_SHARE = 0.08
#: Where a residual that is zero, or below, is drawn on a logarithmic axis.
FLOOR = 1e-17
#: Relative change of the energy above which the energy itself is shown, not its drift.
CONSERVED = 1e-3


@dataclass(frozen=True)
class Curve:
    """One line: `label` in mathtext, values `y` (n,) at times `t` (n,), `dashed` for a companion.

    `color_index` is its place in the colour cycle: a coordinate, its velocity and the force on it
    share one.
    """

    label: str
    t: Array
    y: Array
    dashed: bool = False
    color_index: int | None = None


@dataclass(frozen=True)
class Panel:
    """Curves that share an axis. A `family` is shaded by index and labelled at its ends only."""

    title: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False
    family: bool = False


def default_kinds(motion: Motion) -> tuple[str, ...]:
    """The panels that suit a motion: its state, its energy, and what its constraints do."""
    states = {symbol.name for symbol in motion.state}
    kinds = ["coordinates"]
    if any(q.momentum.name in states for q in motion.system.coordinates):
        kinds.append("momenta")
    elif _speeds(motion):
        kinds.append("speeds")
    else:
        kinds.append("velocities")
    if any(name.startswith("chi_") for name in states):
        kinds.append("multipliers")
    kinds.append("energy")
    if motion.system.constraints:
        kinds += ["residuals", "reactions"]
    return tuple(kinds)


def chosen_panels(
    motion: Motion, names: Sequence[str | Sequence[str]] | None, kinds: Sequence[str] | None
) -> list[Panel]:
    """The panels of `names` (tuples together), then of `kinds`; the defaults without either."""
    found: list[Panel] = []
    for item in (names,) if isinstance(names, str) else names or ():
        together = (item,) if isinstance(item, str) else tuple(str(name) for name in item)
        found.append(_named(motion, "", together))
    if kinds is None:
        kinds = () if names is not None else default_kinds(motion)
    for kind in (kinds,) if isinstance(kinds, str) else kinds:
        if kind not in PANELS:
            guess = nearest(kind, PANELS)
            remedy = f"did you mean `{guess}`" if guess else f"use some of {', '.join(PANELS)}"
            raise ModelError(f"There is no panel `{kind}`", kind, remedy)
        found += PANELS[kind](motion)
    if not found:
        raise ModelError("There is nothing to plot", remedy="pass names=[...] or panels=[...]")
    return found


def _named(motion: Motion, title: str, names: Sequence[str], *, numbered: bool = False) -> Panel:
    """One panel; `numbered` keeps the colour of a name when the panel is parted."""
    t = curve_times(motion)
    curves = (
        Curve(mathtext(name), t, values, color_index=k if numbered else None)
        for k, (name, values) in enumerate(series(motion, names, t).items())
    )
    return Panel(title, tuple(curves))


def _kind(
    title: str, names_of: Callable[[Motion], tuple[str, ...]]
) -> Callable[[Motion], list[Panel]]:
    """Panels of all names of one kind, parted by scale; one shaded family where they are many."""

    def build(motion: Motion) -> list[Panel]:
        names = tuple(name for name in names_of(motion) if name in motion.names)
        if not names:
            return []
        whole = _named(motion, title, names, numbered=True)
        if len(names) > MOST_COORDINATES:
            return [Panel(title, whole.curves, family=True)]
        groups = by_scale(whole.curves)
        return [Panel(title if k == 0 else "", group) for k, group in enumerate(groups)]

    return build


def by_scale(curves: Sequence[Curve]) -> list[tuple[Curve, ...]]:
    """Curves in groups in which each can be read: alike in range, no more than a few together."""
    groups: list[list[Curve]] = []
    for curve in curves:
        home = next((g for g in groups if len(g) < MOST_CURVES and _readable([*g, curve])), None)
        if home is None:
            groups.append([curve])
        else:
            home.append(curve)
    return [tuple(group) for group in groups]


def _readable(curves: Sequence[Curve]) -> bool:
    """Whether no curve is squeezed flat by the others; a constant one only has to lie in sight."""
    ranges = [_extent(curve.y) for curve in curves]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    whole = high - low
    moving = [r[1] - r[0] for r in ranges if r[1] - r[0] > 1e-9 * max(whole, 1e-300)]
    if not moving:
        return True
    return min(moving) >= LEAST_SHARE * whole


def _extent(y: Array) -> tuple[float, float]:
    finite = y[np.isfinite(y)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _speeds(motion: Motion) -> tuple[str, ...]:
    image = motion.system.image
    return () if image is None else tuple(speed.name for speed in image.speeds)


def _multipliers(motion: Motion) -> tuple[str, ...]:
    return tuple(symbol.name for symbol in motion.state if symbol.name.startswith("chi_"))


def _energy(motion: Motion) -> list[Panel]:
    """The relative drift in its own power of ten, or the energy where something changes it."""
    if "energy" not in motion.names:
        return []
    energy = np.asarray(motion.energy, dtype=float)
    finite = energy[np.isfinite(energy)]
    if finite.size == 0:
        return []
    relative = abs(finite[0]) > 1e-6
    scale = abs(finite[0]) if relative else 1.0
    drift = (energy - finite[0]) / scale
    worst = float(np.max(np.abs(drift[np.isfinite(drift)])))
    if worst > CONSERVED:
        t = curve_times(motion)
        return [Panel("energy", (Curve("$E$", t, through(motion.t, energy, t)),))]
    exponent = int(np.floor(np.log10(worst))) if worst > 0 else -16
    what = r"(E-E_0)/|E_0|" if relative else r"E-E_0"
    title = rf"energy drift, ${what}$ in $10^{{{exponent}}}$"
    order = in_order(motion.t)
    return [Panel(title, (Curve(r"$\Delta E$", motion.t[order], drift[order] / 10.0**exponent),))]


def _residuals(motion: Motion) -> list[Panel]:
    """What is left of each constraint, on a logarithmic axis; rates of positions dashed."""
    residuals = motion.residuals
    position, velocity = dict(residuals.position), dict(residuals.velocity)
    curves = []
    for index, name in enumerate(dict.fromkeys([*position, *velocity])):
        for table, dashed in ((position, False), (velocity, True)):
            if name in table:
                size = np.abs(np.asarray(table[name], dtype=float))
                if not (size > FLOOR).any():
                    continue
                second = dashed and name in position
                label = words(name.replace("_", " ")) + (" (rate)" if second else "")
                curve = _residual(motion, label, size)
                curves.append(replace(curve, dashed=second, color_index=index))
    if not curves:
        return []
    if len(curves) > 2 * MOST_CURVES:
        return [Panel("constraint residuals", _worst_residuals(motion), logarithmic=True)]
    return [Panel("constraint residuals", tuple(curves), logarithmic=True)]


def _residual(motion: Motion, label: str, size: Array) -> Curve:
    """A residual at the stored times, no lower than the floor of a logarithmic axis."""
    order = in_order(motion.t)
    return Curve(label, motion.t[order], np.maximum(size, FLOOR)[order])


def _worst_residuals(motion: Motion) -> tuple[Curve, ...]:
    curves = []
    residuals = motion.residuals
    for label, table in (("position", residuals.position), ("velocity", residuals.velocity)):
        if table:
            sizes = [np.abs(np.asarray(values, dtype=float)) for values in table.values()]
            size = np.max(sizes, axis=0)
            if (size > FLOOR).any():
                curves.append(_residual(motion, f"worst {label}", size))
    return tuple(curves)


def _reactions(motion: Motion) -> list[Panel]:
    """The generalised force of each constraint on its coordinates, or the total of many."""
    t = curve_times(motion)
    labels = [rf"$Q_{{{mathtext(q.name).strip('$')}}}$" for q in motion.system.coordinates]
    reactions = motion.reactions.items()
    forces = {name: np.asarray(reaction.force, dtype=float) for name, reaction in reactions}
    if len(forces) > MOST_CURVES:
        forces = {"all constraints": np.asarray(motion.total_reaction, dtype=float)}
    panels = []
    for name, force in forces.items():
        size = np.nanmax(np.abs(force), axis=1, initial=0.0)
        acting = np.flatnonzero(size > 1e-12 * max(float(size.max()), 1.0))
        along = {int(k): through(motion.t, force[k], t) for k in acting}
        curves = [Curve(labels[k], t, values, color_index=k) for k, values in along.items()]
        title = f"reaction of {words(name.replace('_', ' '))}"
        if len(curves) > MOST_COORDINATES:
            panels.append(Panel(title, tuple(curves), family=True))
        else:
            groups = enumerate(by_scale(curves))
            panels += [Panel(title if k == 0 else "", group) for k, group in groups]
    return panels


#: Panels by kind: what `plot(panels=[...])` accepts.
def _by_coordinate(
    title: str, read: Callable[[Coordinate], str]
) -> Callable[[Motion], list[Panel]]:
    return _kind(title, lambda motion: tuple(read(q) for q in motion.system.coordinates))


PANELS: dict[str, Callable[[Motion], list[Panel]]] = {
    "coordinates": _by_coordinate("coordinates", lambda q: q.name),
    "velocities": _by_coordinate("velocities", lambda q: q.dot.name),
    "accelerations": _by_coordinate("accelerations", lambda q: q.ddot.name),
    "momenta": _by_coordinate("momenta", lambda q: q.momentum.name),
    "speeds": _kind("speeds", _speeds),
    "multipliers": _kind("multipliers", _multipliers),
    "inputs": _kind("inputs", lambda motion: tuple(symbol.name for symbol in motion.system.inputs)),
    "outputs": _kind("outputs", lambda motion: tuple(motion.system.outputs)),
    "energy": _energy,
    "residuals": _residuals,
    "reactions": _reactions,
}
