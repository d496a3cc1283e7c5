"""What a user writes: symbols, systems, constraints, parts, scenarios, drawings, text and files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["draw"])
