"""Homoclinic orbits and Melnikov's function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...typing import Path
from ..style import Picture, Style, finished, style_named

if TYPE_CHECKING:
    from ...analysis.stability.melnikov import Melnikov

__all__ = ["plot_melnikov"]

SIZE = (8.0, 3.1)


def plot_melnikov(
    found: Melnikov,
    *,
    path: Path | None = None,
    style: str | Style = "light",
    title: str | None = None,
) -> Picture:
    """Draw the homoclinic orbit with its saddle, and M over a turn of the phase with its zeros."""
    look = style_named(style)
    picture = Picture(look, figsize=SIZE, layout="constrained")
    phases = np.append(found.phases, 2 * np.pi)
    values = np.append(found.values, found.values[0])
    with look.context():
        left, right = picture.subplots(1, 2)
        left.plot(found.orbit[:, 0], found.orbit[:, 1], color=look.body)
        for end in (found.saddle, found.orbit[-1]):
            left.plot(*end, "o", color=look.accent, markersize=5)
        left.margins(0.06)
        left.set(title="homoclinic orbit", xlabel="$q$", ylabel="$p$")
        right.plot(phases, values, color=look.body)
        right.axhline(0.0, color=look.muted, linewidth=0.8)
        right.plot(found.zeros, np.zeros(len(found.zeros)), "o", color=look.accent, markersize=5)
        right.set_xticks([0, np.pi, 2 * np.pi], ["0", r"$\pi$", r"$2\pi$"])
        right.set(title="Melnikov's function", xlabel=r"phase $\varphi_0$", ylabel="$M$")
    return finished(picture, path, title)
