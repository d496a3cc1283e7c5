"""Motions in pictures: plots, phase portraits, animations and stills, in one style.

Nothing here opens a window or changes Matplotlib's settings.
"""

from __future__ import annotations

from .animation import Animation, animate, motion_strip
from .figures import CaptionedFigure, gavin_figures
from .height import plot_height
from .labels import mathtext
from .plots import phase, plot
from .returns import Return, closest_return, period, return_distance, section_through_start
from .style import DARK, LIGHT, Picture, Style

__all__ = [
    "DARK",
    "LIGHT",
    "Animation",
    "CaptionedFigure",
    "Picture",
    "Return",
    "Style",
    "animate",
    "closest_return",
    "gavin_figures",
    "mathtext",
    "motion_strip",
    "period",
    "phase",
    "plot",
    "plot_height",
    "return_distance",
    "section_through_start",
]
