r"""Amplitude spectra of quantities of a motion, with the lines in them.

With samples x_j, j < N, at equal steps h and a window w_j, the amplitude at the frequency f_k = k /
(N h) is

    A_k = 2 / sum(w) * | sum_j w_j x_j exp(-2 pi i j k / N) |,

so that a long line a cos(2 pi f t + p) has the height a. With Hann's window a line at f = (k + d) /
(N h) has amplitudes in the ratio A_{k+1} / A_k = (1 + d) / (2 - d), which gives d and its true
height (F. J. Harris, Proc. IEEE 66 (1978), p. 51; T. Grandke, IEEE Trans. Instrum. Meas. 32 (1983),
p. 350).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...errors import ModelError, nearest
from ...typing import Path, Symbol, Symbols
from ..axis_labels import mathtext, words
from ..motion_samples import Array, finite_span, series
from ..style import Style, figure_for, finished_on, style_named

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["Peak", "Spectrum", "amplitude_spectrum", "spectrum"]

#: Samples of a motion, at least and at most; between them, a few on each step.
FEWEST, MOST = 2**12, 2**16
WINDOWS = ("hann", "none")
#: Peaks below this part of the highest are not marked.
LOWEST_PEAK = 1e-4


@dataclass(frozen=True)
class Peak:
    """A line of a spectrum: its frequency in cycles per unit of time, and its amplitude."""

    frequency: float
    amplitude: float


@dataclass(frozen=True)
class Spectrum:
    """The amplitude spectrum of one quantity.

    Attributes
    ----------
    name : str
    frequency, amplitude : arrays (N/2 + 1,)
    peaks : tuple of Peak
        The highest lines, the highest first.
    resolution : float
        1 over the length of the motion: lines closer than about two of it are seen as one.
    """

    name: str
    frequency: Array
    amplitude: Array
    peaks: tuple[Peak, ...]
    resolution: float


def amplitude_spectrum(
    motion: Motion, name: Symbol, *, window: str = "hann", peaks: int = 5,
    samples: int | None = None,
) -> Spectrum:  # fmt: skip
    """The amplitude spectrum of a quantity of a motion, its mean taken off.

    Parameters
    ----------
    name : name or symbol
    window : "hann" or "none"
        None has the narrower lines and the wider feet.
    peaks : int
        How many lines to look for at most.
    samples : int, optional
        How many, at equal steps from the dense output; by default a few on each step of the
        integrator.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> spring = da.System([x], kinetic=x.dot**2 / 2, potential=2 * x**2)
    >>> motion = da.simulate(spring, {x: 0.3}, (0, 50))
    >>> line = amplitude_spectrum(motion, x).peaks[0]
    >>> round(float(line.frequency * np.pi), 4), round(line.amplitude, 4)
    (1.0, 0.3)
    """
    if window not in WINDOWS:
        near = nearest(str(window), WINDOWS)
        remedy = f"did you mean `{near}`" if near else 'use "hann" or "none"'
        raise ModelError(f"There is no window `{window}`", remedy=remedy)
    label = str(getattr(name, "name", name))
    start, stop = finite_span(motion)
    if start == stop:
        what = "A spectrum needs a motion with some length"
        raise ModelError(what, f"t = {start:g}", "simulate a span")
    steps = sum(len(segment.step_t) for segment in motion.segments)
    fitted = int(np.clip(2 ** int(np.ceil(np.log2(2 * steps + 1))), FEWEST, MOST))
    count = fitted if samples is None else int(samples)
    if count < 16:
        raise ModelError("A spectrum needs at least 16 samples", count, "leave `samples` out")
    times = np.linspace(start, stop, count, endpoint=False)
    values = series(motion, [label], times)[label]
    if not np.isfinite(values).all():
        what = f"The quantity `{label}` is not finite everywhere"
        raise ModelError(what, remedy="take another span or quantity")
    weights = np.ones(count)
    if window == "hann":
        weights = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(count) / count)
    centred = values - np.sum(weights * values) / np.sum(weights)
    amplitude = np.abs(np.fft.rfft(weights * centred)) * 2 / np.sum(weights)
    length = abs(stop - start)
    frequency = np.arange(amplitude.size) / length
    found = _peaks(amplitude, length, peaks, window)
    return Spectrum(label, frequency, amplitude, found, 1 / length)


def _peaks(amplitude: Array, length: float, most: int, window: str) -> tuple[Peak, ...]:
    """The highest local maxima, their frequencies between the samples."""
    inner = amplitude[1:-1]
    top = float(inner.max(initial=0.0))
    if top < 1e-300:
        return ()
    is_local = (inner >= amplitude[:-2]) & (inner > amplitude[2:])
    places = np.flatnonzero(is_local & (inner > LOWEST_PEAK * top)) + 1
    found: list[tuple[int, Peak]] = []
    for k in places[np.argsort(-amplitude[places], kind="stable")]:
        if len(found) == most:
            break
        if any(abs(k - other) < 4 for other, _ in found):  # the foot of a higher line
            continue
        side = 1 if amplitude[k + 1] >= amplitude[k - 1] else -1
        ratio = float(amplitude[k + side] / amplitude[k])
        shift = (2 * ratio - 1) / (ratio + 1) if window == "hann" else ratio / (1 + ratio)
        shift = float(np.clip(shift, 0.0, 0.5))
        gain = float(np.sinc(shift)) / ((1 - shift**2) if window == "hann" else 1.0)
        found.append((int(k), Peak(float(k + side * shift) / length, float(amplitude[k]) / gain)))
    return tuple(peak for _, peak in found)


def spectrum(
    motion: Motion,
    names: Symbol | Symbols | None = None,
    *,
    window: str = "hann",
    peaks: int = 5,
    angular: bool = False,
    limit: float | None = None,
    path: Path | None = None,
    style: str | Style | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Amplitude spectra of quantities of a motion, the highest lines marked with frequencies.

    Parameters
    ----------
    names : name, or names
        All coordinates unless given.
    angular : bool
        Angular frequencies, 2 pi f, instead of cycles per unit of time.
    limit : float, optional
        The highest frequency shown; by default where nothing more stands out.
    window, peaks
        As `amplitude_spectrum` takes them.
    path : path, optional
        A .png, .svg or .pdf to write.
    ax : Axes, optional
        Where to draw the spectrum of one quantity, instead of a new picture.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> spring = da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2)
    >>> motion = da.simulate(spring, {x: 1.0}, (0, 60))
    >>> spectrum(motion, "x", angular=True).axes[0].get_xlabel()
    'angular frequency $2\\\\pi f$'
    """
    look = style_named(style, ax)
    given: Symbols = [names] if isinstance(names, str) else motion.system.coordinates
    if names is not None and not isinstance(names, str):
        given = names if isinstance(names, (list, tuple)) else [names]
    if ax is not None and len(given) != 1:
        raise ModelError(
            "One axes takes the spectrum of one quantity",
            f"{len(given)} quantities",
            "name one, or leave out `ax`",
        )
    found = [amplitude_spectrum(motion, name, window=window, peaks=peaks) for name in given]
    unit = 2 * np.pi if angular else 1.0
    last = limit if limit is not None else unit * max(_interesting(one) for one in found)
    figure = figure_for(ax, look, (6.4, max(1.9 * len(found) + 0.7, 3.2)))
    with look.context():
        rows = (
            [ax]
            if ax is not None
            else list(figure.subplots(len(found), sharex=True, squeeze=False)[:, 0])
        )
        for k, (axes, one) in enumerate(zip(rows, found, strict=True)):
            _draw_spectrum(axes, one, look.cycle[k % len(look.cycle)], look, unit, last)
        rows[-1].set_xlabel(r"angular frequency $2\pi f$" if angular else "frequency $f$")
    heading = words(motion.system.name) if title is None and ax is None else title
    return finished_on(figure, ax, path, "" if heading == "system" else heading)


def _interesting(one: Spectrum) -> float:
    """A little beyond the last frequency that stands out."""
    top = float(one.amplitude.max(initial=0.0))
    high = np.flatnonzero(one.amplitude > 3e-4 * top) if top > 0 else np.empty(0)
    last = float(one.frequency[high[-1]]) if high.size else float(one.frequency[-1])
    return min(max(1.15 * last, 8 * one.resolution), float(one.frequency[-1]))


def _draw_spectrum(
    axes: Axes, one: Spectrum, color: str, look: Style, unit: float, last: float
) -> None:
    shown = unit * one.frequency <= last * 1.001
    top = max(float(one.amplitude[shown].max(initial=0.0)), 1e-300)
    floor = max(float(one.amplitude[shown][1:].min(initial=np.inf)) / 2, 1e-6 * top)
    frequency, amplitude = unit * one.frequency[shown], np.maximum(one.amplitude[shown], floor)
    axes.fill_between(frequency, floor, amplitude, color=color, alpha=0.12, lw=0)
    axes.plot(frequency, amplitude, color=color, linewidth=1.1)
    axes.set_yscale("log")
    axes.set_ylim(floor, top * 6)
    axes.set_xlim(0, last)
    axes.set_ylabel(f"amplitude of {mathtext(one.name)}")
    placed: list[float] = []
    for peak in one.peaks:
        at = unit * peak.frequency
        if at > last:
            continue
        mark: dict[str, Any] = {"marker": "v", "markersize": 4.5, "linestyle": "none"}
        axes.plot(at, peak.amplitude, color=look.accent, **mark)
        if all(abs(at - other) > 0.058 * last for other in placed):
            placed.append(at)
            side = "right" if at > 0.93 * last else "left" if at < 0.05 * last else "center"
            text: dict[str, Any] = {
                "textcoords": "offset points",
                "ha": side,
                "fontsize": 8.5,
                "color": look.ink,
            }
            axes.annotate(f"{at:.4g}", (at, peak.amplitude), (0, 5), **text)
