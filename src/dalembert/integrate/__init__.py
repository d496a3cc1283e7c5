"""From equations to a motion: one entry, adaptive steps, events, projection, results."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
