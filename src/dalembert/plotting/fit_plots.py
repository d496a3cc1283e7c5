"""A fit in pictures: the data on the best motion, and what is left between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .axis_labels import mathtext
from .style import Picture, Style, save_picture, style_named

__all__ = ["plot_fit"]


def plot_fit(fit: Any, *, path: str | Path | None = None, style: str | Style = "light", title: str | None = None) -> Picture:
    """Draw a fit: each measured quantity with the best motion, and its residuals below.

    Parameters
    ----------
    fit : Fit
        Of `da.fit`.
    path : path, optional
        A .png, .svg or .pdf to write.
    style : "light", "dark" or Style
    title : str, optional
    """
    look, data = style_named(style), fit.data
    count = len(data.names)
    picture = Picture(look, figsize=(7.2, 2.6 * count + 1.0), layout="constrained")
    order = np.argsort(data.t, kind="stable")
    with look.context():
        axes = np.atleast_2d(picture.subplots(2 * count, 1, sharex=True, height_ratios=[3, 1] * count, squeeze=False))[:, 0]
        for k, name in enumerate(data.names):
            upper, lower = axes[2 * k], axes[2 * k + 1]
            told = data.sigma[:, k] if data.has_sigma else None
            upper.plot(data.t[order], (data.values + fit.residuals)[order, k], color=look.accent, linewidth=1.5, label="motion")
            upper.errorbar(
                data.t, data.values[:, k], yerr=told, fmt="o", markersize=3, color=look.ink, elinewidth=0.8, label="data"
            )
            upper.set_ylabel(mathtext(name))
            upper.legend(loc="best")
            lower.errorbar(data.t, -fit.residuals[:, k], yerr=told, fmt="o", markersize=3, color=look.ink, elinewidth=0.8)
            lower.axhline(0.0, color=look.muted, linewidth=0.7)
            lower.set_ylabel("left")
        axes[-1].set_xlabel("$t$")
        if title:
            picture.suptitle(title, x=0.01, ha="left", weight="bold")
    if path is not None:
        save_picture(picture, path)
    return picture
