"""Motions in pictures: plots, phase portraits, animations and stills, in one style.

Nothing here opens a window or changes Matplotlib's settings.
"""

from __future__ import annotations

from .animation import Animation, animate, motion_strip
from .evidence import exponents, work_precision
from .figures import CaptionedFigure, gavin_figures
from .height import plot_height
from .labels import mathtext
from .plots import phase, plot
from .poincare import Crossings, crossings, poincare
from .report import report
from .returns import Return, closest_return, period, return_distance, section_through_start
from .spectrum import Peak, Spectrum, amplitude_spectrum, spectrum
from .style import DARK, LIGHT, Picture, Style

__all__ = [
    "DARK",
    "LIGHT",
    "Animation",
    "CaptionedFigure",
    "Crossings",
    "Peak",
    "Picture",
    "Return",
    "Spectrum",
    "Style",
    "amplitude_spectrum",
    "animate",
    "closest_return",
    "crossings",
    "exponents",
    "gavin_figures",
    "mathtext",
    "motion_strip",
    "period",
    "phase",
    "plot",
    "plot_height",
    "poincare",
    "report",
    "return_distance",
    "section_through_start",
    "spectrum",
    "work_precision",
]
