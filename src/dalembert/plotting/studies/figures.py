"""The figures of Gavin's lecture notes on Lagrange's equations and constraints, computed again,
with what they show.

`gavin_figures` draws Figures 1 and 3 to 8. Each caption states what the computation finds, and
where the printed caption says otherwise. Every number in a caption is computed when the figure is
drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from ...errors import ModelError
from ...model.io.atomic_file import write_whole
from ..axis_labels import mathtext
from ..curves.panels import Curve
from ..curves.plots import label_ends
from ..curves.returns import Return, closest_return, period, return_distance, section_through_start
from ..motion_samples import Array, curve_times, evaluate, series, through
from ..style import STILL_SUFFIXES, Picture, Style, save_picture, style_named

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["CaptionedFigure", "gavin_figures"]

#: What changes sign when the pendulum is seen from behind.
MIRROR = ("theta", "theta_dot")


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure with its caption and the numbers that the caption states."""

    number: int
    path: Path
    caption: str
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Drawn:
    number: int
    picture: Picture
    caption: str
    numbers: Mapping[str, float]


def gavin_figures(
    folder: str | Path, *, suffix: str = ".png", style: str | Style = "light"
) -> tuple[CaptionedFigure, ...]:
    """Draw Figures 1 and 3 to 8 of Gavin's notes into `folder`, with a file `captions.md`.

    Parameters
    ----------
    folder : path
        Created if it is not there.
    suffix : ".png", ".svg" or ".pdf"

    Returns
    -------
    tuple of CaptionedFigure
    """
    if suffix not in STILL_SUFFIXES:
        raise ModelError(
            "A figure has another suffix", suffix, f"use one of {', '.join(STILL_SUFFIXES)}"
        )
    look = style_named(style)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    free, arc, printed = (
        _free(),
        _closed("elastic-pendulum-arc", 9.0),
        _closed("elastic-pendulum-printed", 6.0),
    )
    drawn = [
        _figure_1(free, look),
        _figure_3(arc, look),
        _figure_4(arc, look),
        _figure_5(arc, look),
        _figure_6(printed, look),
        _figure_7(printed, look),
        _figure_8(printed, look),
    ]
    found = []
    for item in drawn:
        path = save_picture(item.picture, target / f"figure-{item.number}{suffix}")
        found.append(CaptionedFigure(item.number, path, item.caption, item.numbers))
    text = "\n\n".join(
        f"**Figure {item.number}.** {item.caption}\n\n![]({item.path.name})" for item in found
    )
    write_whole(target / "captions.md", f"# Gavin's figures, computed again\n\n{text}\n")
    return tuple(found)


def _free() -> Motion:
    import dalembert as da

    return da.simulate(da.gallery.load("elastic-pendulum"), span=(0.0, 50.0), rtol=1e-12)


def _closed(name: str, span: float) -> Motion:
    """A constrained pendulum over more than two periods, with its returns to the section as
    events.
    """
    import dalembert as da

    scenario = da.gallery.load(name)
    section = section_through_start(scenario.system.coordinates, scenario.start)
    mark = da.event(section, direction=1, name="section")
    return da.simulate(scenario, span=(0.0, span), rtol=1e-12, events=[mark])


# -- Figure 1: the free pendulum -------------------------------------------------------------------


def _figure_1(motion: Motion, look: Style) -> _Drawn:
    mirrored = closest_return(motion, near=24.0, mirror=MIRROR)
    returned = closest_return(motion, near=2 * mirrored.time)
    plain = closest_return(motion, near=24.0)
    rounded = round(mirrored.time, 3)
    rounded_distance = return_distance(motion, rounded, MIRROR)
    picture, axes = _response(motion, look, panels=4)
    even = np.linspace(float(motion.t[0]), float(motion.t[-1]), 6000)
    grid = np.sort(np.append(even, (mirrored.time, returned.time)))
    pairs = (
        ("from start", return_distance(motion, grid)),
        ("from mirror image", return_distance(motion, grid, MIRROR)),
    )
    with look.context():
        last = axes[-1]
        curves = [
            (Curve(name, grid, np.maximum(y, 1e-6)), look.cycle[k])
            for k, (name, y) in enumerate(pairs)
        ]
        for curve, color in curves:
            last.plot(curve.t, curve.y, color=color, linewidth=0.9)
        last.set_yscale("log")
        last.set_ylim(1e-3, 20)
        last.set_title("distance of the state")
        last.set_xlabel("$t$")
        label_ends(last, curves, 70.0)
        _mark(axes, (mirrored, returned), look, ("mirror image", "return"))
    caption = (
        "Free elastic pendulum: path of the mass, angle, stretch and energies. The printed caption"
        " says that the record repeats every 24 s. It does not: near 24 s the state is"
        f" {plain.distance:.2f} away from the start at best. At t = {mirrored.time:.4f} s it comes"
        f" within {mirrored.distance:.4f} of the mirror image of the start ({rounded_distance:.4f}"
        f" at {rounded:.3f} s), and at {returned.time:.4f} s within {returned.distance:.4f} of the"
        " start itself. Neither is exact: the motion is almost, not truly, periodic. The total"
        f" energy changes by {_about(_drift(motion))} of itself."
    )
    numbers = {
        "mirror_time": mirrored.time,
        "mirror_distance": mirrored.distance,
        "mirror_distance_rounded": rounded_distance,
        "return_time": returned.time,
        "return_distance": returned.distance,
        "distance_near_24": plain.distance,
    }
    return _Drawn(1, picture, caption, numbers)


# -- Figures 3 to 5: on the arc --------------------------------------------------------------------


def _figure_3(motion: Motion, look: Style) -> _Drawn:
    found = period(motion)
    picture, axes = _response(motion, look)
    with look.context():
        _mark(axes, (found,), look, ("one period",))
    caption = (
        "Elastic pendulum on the arc u = l - l theta^2, from u = l and a rotation rate of 1 rad/s."
        f" The motion is periodic, as the print says: T = {found.time:.5f} s, where the state is"
        f" back to {_about(found.distance)}. The total energy changes by {_about(_drift(motion))}"
        " of itself."
    )
    return _Drawn(3, picture, caption, {"period": found.time, "distance": found.distance})


def _figure_4(motion: Motion, look: Style) -> _Drawn:
    t = curve_times(motion)
    theta, u = series(motion, ("theta", "u"), t).values()
    length = float(motion.parameters["l"])
    error = float(np.max(np.abs(motion["u"] - length * (1 - motion["theta"] ** 2))))
    bound = 1.15 * float(np.max(np.abs(theta)))
    angles = np.linspace(-bound, bound, 200)
    picture = Picture(look, figsize=(5.4, 4.2), layout="constrained")
    with look.context():
        axes = picture.add_subplot()
        axes.plot(angles, length * (1 - angles**2), color=look.blend("trace", 0.6), linewidth=6)
        axes.plot(theta, u, color=look.body, linewidth=1.6)
        axes.text(
            0.5,
            0.06,
            r"$u = l - l\,\theta^2$",
            color=look.color("trace"),
            ha="center",
            transform=axes.transAxes,
        )
        _name_axes(axes)
    caption = (
        "Stretch against angle on the arc: the motion (thin) lies on the curve u = l - l theta^2"
        f" (broad) at every step, with a worst error of {_about(error)}."
    )
    return _Drawn(4, picture, caption, {"worst_error": error})


def _figure_5(motion: Motion, look: Style) -> _Drawn:
    picture = _reaction_picture(motion, look)
    force = motion.total_reaction
    parallel = float(
        np.max(np.abs(force[0] - 2 * float(motion.parameters["l"]) * motion["theta"] * force[1]))
    )
    caption = (
        "Constraint moment on theta and constraint force on u along the arc, with the sign with"
        " which they act on the pendulum. They stay in the ratio 2 l theta of the arc's normal (to"
        f" {_about(parallel)}), and do no work ({_about(_power(motion))} at worst). The text below"
        " the printed eq. 55 calls them +2 theta lambda and +lambda/l; with lambda on the left"
        " side, as in eqs. 53 and 54, both signs are minus."
    )
    return _Drawn(5, picture, caption, {"off_normal": parallel, "power": _power(motion)})


# -- Figures 6 to 8: the printed velocity constraint -----------------------------------------------


def _figure_6(motion: Motion, look: Style) -> _Drawn:
    found = period(motion)
    picture, axes = _response(motion, look)
    with look.context():
        _mark(axes, (found,), look, ("one period",))
    caption = (
        "Elastic pendulum with the velocity constraint of eq. 62 and b = 5. The printed caption"
        f" says that the motion is not periodic. It is: after T = {found.time:.5f} s the state is"
        f" back to {_about(found.distance)}. The caption also turns the constraint upside down: eq."
        " 62 sets u_dot / (l theta_dot), not its inverse, to tan(theta + b u / l). Energy is"
        f" conserved, as printed (to {_about(_drift(motion))})."
    )
    return _Drawn(6, picture, caption, {"period": found.time, "distance": found.distance})


def leaf(theta: Array, u: Array, length: float, b: float) -> Array:
    """The integral of the printed constraint: I = u/l - b theta + ln|cos B + b sin B| with B =
    theta + b u/l.

    Multiplying the constraint by an integrating factor gives dI = 0, as for any single homogeneous
    form in two coordinates; so I labels the curves on which motions stay.
    """
    B = theta + b * u / length
    with np.errstate(divide="ignore"):
        value: Array = u / length - b * theta + np.log(np.abs(np.cos(B) + b * np.sin(B)))
    return value


def _figure_7(motion: Motion, look: Style) -> _Drawn:
    t = curve_times(motion)
    theta, u = series(motion, ("theta", "u"), t).values()
    length, b = float(motion.parameters["l"]), float(motion.parameters["b"])
    label = leaf(np.asarray(motion["theta"]), np.asarray(motion["u"]), length, b)
    spread = float(np.ptp(label))
    picture = Picture(look, figsize=(5.4, 4.6), layout="constrained")
    with look.context():
        axes = picture.add_subplot()
        ranges = [
            (float(q.min()) - 0.35 * float(np.ptp(q)), float(q.max()) + 0.35 * float(np.ptp(q)))
            for q in (theta, u)
        ]
        plane = np.meshgrid(*(np.linspace(*bounds, 500) for bounds in ranges))
        values = leaf(plane[0], plane[1], length, b)
        levels = float(label[0]) + 0.45 * np.arange(-12, 13)
        axes.contour(
            *plane,
            values,
            levels=levels,
            colors=look.blend("ground", 0.55),
            linewidths=0.6,
            linestyles="solid",
        )
        pieces = axes.contour(*plane, values, levels=[float(label[0])], colors="none").allsegs[0]
        start = np.array([theta[0], u[0]])
        own = min(pieces, key=lambda piece: float(np.min(np.linalg.norm(piece - start, axis=1))))
        axes.plot(*own.T, color=look.blend("trace", 0.6), linewidth=6)
        axes.plot(theta, u, color=look.body, linewidth=1.6)
        axes.set(xlim=ranges[0], ylim=ranges[1])
        _name_axes(axes)
    caption = (
        "Stretch against angle under the printed velocity constraint: the motion (thin) on its"
        " curve (broad), other curves of the same family in grey. The printed caption says that u"
        " and theta have no fixed relation, and that the constraint is nonholonomic. One"
        " homogeneous form in two coordinates always has an integrating factor; here I = u/l - b"
        " theta + ln|cos B + b sin B|, with B = theta + b u/l, is constant. Along this motion it"
        f" varies by {_about(spread)}: the constraint is holonomic, and the path is one fixed"
        " curve, run to and fro."
    )
    return _Drawn(7, picture, caption, {"integral": float(label[0]), "spread": spread})


def _figure_8(motion: Motion, look: Style) -> _Drawn:
    picture = _reaction_picture(motion, look)
    caption = (
        "Constraint moment on theta and constraint force on u under the printed velocity"
        " constraint. They repeat with the period of the motion, and do no work"
        f" ({_about(_power(motion))} at worst). In eqs. 66 to 69 the multiplier has the sign"
        " opposite to that of eq. 61; the forces shown are those that act on the pendulum."
    )
    return _Drawn(8, picture, caption, {"power": _power(motion)})


# -- what the figures share ------------------------------------------------------------------------


def _response(motion: Motion, look: Style, panels: int = 3) -> tuple[Picture, list[Axes]]:
    """The path of the mass on the left; angle, stretch and energies against time on the right."""
    t = curve_times(motion, 4000)
    theta, u = series(motion, ("theta", "u"), t).values()
    length = float(motion.parameters["l"])
    picture = Picture(look, figsize=(9.6, 1.42 * panels + 0.5), layout="constrained")
    with look.context():
        grid = picture.add_gridspec(panels, 2, width_ratios=(0.95, 1.5))
        path = picture.add_subplot(grid[:, 0])
        path.plot(
            (length + u) * np.sin(theta),
            -(length + u) * np.cos(theta),
            color=look.body,
            linewidth=0.9,
        )
        path.plot(0, 0, marker="o", color=look.link, markersize=6)
        path.set_aspect("equal", adjustable="box")
        path.margins(0.08)
        path.set(xlabel=mathtext("x"), title="path of the mass")
        path.set_ylabel(mathtext("y"), rotation=0, labelpad=8, va="center")
        path.set_anchor("N")
        axes: list[Axes] = []
        for row in range(panels):
            axes.append(picture.add_subplot(grid[row, 1], sharex=axes[0] if axes else None))
            axes[-1].tick_params(labelbottom=row == panels - 1)
        energies = evaluate(motion, [motion.system.kinetic, motion.system.potential], t)
        groups = (
            ("angle", [("$\\theta$", theta)]),
            ("stretch", [("$u$", u)]),
            (
                "energies",
                [("$T$", energies[0]), ("$V$", energies[1]), ("$T+V$", energies.sum(axis=0))],
            ),
        )
        for first, (panel, (title, lines)) in enumerate(zip(axes, groups, strict=False)):
            curves = [
                (Curve(name, t, y), look.cycle[first + k]) for k, (name, y) in enumerate(lines)
            ]
            for curve, color in curves:
                panel.plot(curve.t, curve.y, color=color, linewidth=1.4 if t[-1] < 20 else 0.9)
            panel.set_title(title)
            label_ends(panel, curves, 70.0)
        axes[-1].set_xlabel(mathtext("t"))
    return picture, axes


def _mark(
    axes: Sequence[Axes], returns: Sequence[Return], look: Style, words: Sequence[str]
) -> None:
    for panel in axes:
        for found in returns:
            panel.axvline(found.time, color=look.accent, linewidth=0.8, linestyle=(0, (2, 2)))
    for found, word in zip(returns, words, strict=True):
        axes[0].text(
            found.time,
            1.02,
            f"{word}, {found.time:.3f} ",
            transform=axes[0].get_xaxis_transform(),
            color=look.accent,
            fontsize=9,
            ha="right",
            va="bottom",
        )


def _reaction_picture(motion: Motion, look: Style) -> Picture:
    t = curve_times(motion)
    picture = Picture(look, figsize=(6.4, 3.2), layout="constrained")
    with look.context():
        axes = picture.add_subplot()
        names = (r"moment $Q_\theta$", r"force $Q_u$")
        curves = [
            (Curve(name, t, through(motion.t, np.asarray(row), t)), look.cycle[k])
            for k, (name, row) in enumerate(zip(names, motion.total_reaction, strict=True))
        ]
        axes.axhline(0.0, color=look.muted, linewidth=0.7)
        for curve, color in curves:
            axes.plot(curve.t, curve.y, color=color)
        axes.set(xlabel=mathtext("t"), title="constraint moment and force")
        label_ends(axes, curves, 160.0)
    return picture


def _name_axes(axes: Axes) -> None:
    axes.set_xlabel(mathtext("theta"), fontsize=13)
    axes.set_ylabel(mathtext("u"), fontsize=13, rotation=0, labelpad=10, va="center")


def _about(value: float) -> str:
    """One digit of a small number, for captions."""
    return f"{value:.0e}" if value > 1e-15 else "rounding"


def _drift(motion: Motion) -> float:
    energy = np.asarray(motion.energy)
    return float(np.max(np.abs(energy - energy[0])) / abs(energy[0]))


def _power(motion: Motion) -> float:
    """The largest rate of work of the reaction, in size."""
    rates = np.array([motion[q.dot.name] for q in motion.system.coordinates])
    return float(np.max(np.abs(np.sum(rates * motion.total_reaction, axis=0))))
