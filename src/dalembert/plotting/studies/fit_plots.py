"""A fit in pictures: the data on the best motion, and what is left between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...typing import Path
from ..axis_labels import mathtext
from ..style import Picture, Style, finished, style_named

if TYPE_CHECKING:
    from ...analysis.sensitivity.fitted import Fit

__all__ = ["plot_fit"]


def plot_fit(
    fit: Fit, *, path: Path | None = None, style: str | Style = "light", title: str | None = None
) -> Picture:
    """Draw a fit: each measured quantity with the best motion, and its residuals below.

    Parameters
    ----------
    fit : Fit
        Of `da.analysis.fit`.
    path : path, optional
        A .png, .svg or .pdf to write.
    style : "light", "dark" or Style
    title : str, optional
    """
    look, data = style_named(style), fit.data
    count = len(data.names)
    picture = Picture(look, figsize=(7.2, 2.6 * count + 1.0), layout="constrained")
    order = np.argsort(data.t, kind="stable")
    dots = {"fmt": "o", "markersize": 3, "color": look.ink, "elinewidth": 0.8}
    with look.context():
        ratios = [3, 1] * count
        rows = picture.subplots(2 * count, 1, sharex=True, height_ratios=ratios, squeeze=False)
        axes = np.atleast_2d(rows)[:, 0]
        for k, name in enumerate(data.names):
            upper, lower = axes[2 * k], axes[2 * k + 1]
            told = data.sigma[:, k] if data.has_sigma else None
            best = (data.values + fit.residuals)[order, k]
            upper.plot(data.t[order], best, color=look.accent, linewidth=1.5, label="motion")
            upper.errorbar(data.t, data.values[:, k], yerr=told, label="data", **dots)
            upper.set_ylabel(mathtext(name))
            upper.legend(loc="best")
            lower.errorbar(data.t, -fit.residuals[:, k], yerr=told, **dots)
            lower.axhline(0.0, color=look.muted, linewidth=0.7)
            lower.set_ylabel("left")
        axes[-1].set_xlabel("$t$")
    return finished(picture, path, title)
