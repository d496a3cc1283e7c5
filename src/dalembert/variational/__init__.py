"""Variational principles: stationary action, the Hamilton-Jacobi method, the inverse problem."""

from .._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
