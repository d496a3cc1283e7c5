"""Symmetry and reduction: groups that a system does not notice, and what they leave."""

from .._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
