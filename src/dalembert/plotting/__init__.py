"""Plots, phase portraits, sections, spectra, animations and reports.

Nothing here opens a window or changes Matplotlib's settings.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
