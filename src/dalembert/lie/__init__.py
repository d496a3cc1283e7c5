"""Lie groups, rigid bodies on SO(n) and flows of matrices."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
