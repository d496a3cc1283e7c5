"""Shapes of normal modes as bars."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from ..style import Picture, Style, finished, style_named

if TYPE_CHECKING:
    from ...analysis.stability.modes import Modes

__all__ = ["plot_modes"]

#: Inches of a panel, and of one bar.
PANEL_HEIGHT, BAR_WIDTH = 1.5, 0.6


def plot_modes(
    modes: Modes,
    *,
    path: str | PathLike[str] | None = None,
    style: str | Style = "light",
    title: str | None = None,
) -> Picture:
    """Draw the shape of each mode: deviations of the coordinates, with marks at their amplitudes.

    Parameters
    ----------
    modes : Modes
        Of ``linearise(...).modes()``.
    path : path, optional
        A .png, .svg or .pdf to write.
    style : "light", "dark" or Style
    title : str, optional

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> spring = da.System([x], kinetic=x.dot**2/2, potential=2*x**2)
    >>> picture = plot_modes(da.linearise(spring).modes())
    >>> picture.axes[0].get_title(loc="left")
    'mode 1: frequency 2, damping ratio 0'
    """
    look, count = style_named(style), len(modes.eigenvalues)
    places = [k for k, name in enumerate(modes.symbols) if name in modes.shown]
    names = [modes.symbols[k] for k in places]
    size = (3.2 + BAR_WIDTH * len(names), PANEL_HEIGHT * max(1, count))
    picture = Picture(look, figsize=size, layout="constrained")
    with look.context():
        panels = picture.subplots(max(1, count), 1, sharex=True, squeeze=False)[:, 0]
        for k, axes in enumerate(panels[:count]):
            shape = modes.shapes[places, k]
            axes.bar(names, shape.real, width=0.5)
            if np.any(np.abs(shape.imag) > 1e-6):
                axes.plot(names, np.abs(shape), linestyle="none", marker="_", markersize=16)
            frequency, ratio = modes.frequencies[k], modes.damping_ratios[k]
            words = f"mode {k + 1}: frequency {frequency:.4g}, damping ratio {ratio:.3g}"
            axes.set_title(words, loc="left", fontsize="medium")
    return finished(picture, path, title)
