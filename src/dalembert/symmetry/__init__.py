"""Symmetry and reduction: groups that a system does not notice, and what they leave."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
