"""Lie groups, rigid bodies on SO(n) and flows of matrices."""

from .._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
