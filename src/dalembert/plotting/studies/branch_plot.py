"""Branches of relative periodic orbits: a continuation diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...typing import Path
from ..axis_labels import mathtext
from ..style import Picture, Style, finished, style_named

if TYPE_CHECKING:
    from ...analysis.symmetry.orbit_branches import OrbitBranch

__all__ = ["plot_branch"]

PANEL_WIDTH, HEIGHT = 3.4, 3.0
#: Room beside the moduli, so that rounding is not magnified.
MARGIN = 0.1


def plot_branch(
    branch: OrbitBranch,
    *,
    path: Path | None = None,
    style: str | Style = "light",
    title: str | None = None,
) -> Picture:
    """Draw period, drift and moduli of the multipliers along a branch, unstable orbits in red."""
    look = style_named(style)
    drifts = {
        name: np.array([orbit.drift[name] for orbit in branch.orbits])
        for name in branch.orbits[0].drift
    }
    count = 2 + len(drifts)
    picture = Picture(look, figsize=(PANEL_WIDTH * count, HEIGHT), layout="constrained")
    unstable = np.array([orbit.stability == "unstable" for orbit in branch.orbits])
    curves = {"period": branch.periods} | {f"drift of {name}": xi for name, xi in drifts.items()}
    with look.context():
        panels = picture.subplots(1, count)
        for axes, (name, values) in zip(panels, curves.items(), strict=False):
            axes.plot(branch.values, values, color=look.body)
            axes.plot(branch.values[unstable], values[unstable], ".", color=look.accent)
            axes.set(title=name)
        for column in branch.moduli.T:
            panels[-1].plot(
                branch.values, column, ".-", color=look.body, markersize=4, linewidth=0.8
            )
        low, high = float(np.min(branch.moduli)), float(np.max(branch.moduli))
        panels[-1].set_ylim(min(low, 1.0) - MARGIN, max(high, 1.0) + MARGIN)
        panels[-1].set(title="moduli of the multipliers")
        for axes in panels:
            axes.margins(x=0.04)
            axes.set_xlabel(mathtext(branch.parameter))
    return finished(picture, path, title)
