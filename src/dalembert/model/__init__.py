"""What a user writes: symbols, systems, constraints, parts, scenarios, drawings, text and files."""

from .._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
