"""Plots, phase portraits, sections, spectra, animations and reports.

Nothing here opens a window or changes Matplotlib's settings.
"""

from .._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
