"""Names of a package that are loaded when they are first used, as its stub lists them (SPEC 1 of Scientific Python)."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

__all__ = ["attach_stub"]


class _Guarded(ModuleType):
    """A package whose names are not replaced by submodules of the same name when these are imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.__dict__["_guarded"] or value is not sys.modules.get(f"{self.__name__}.{name}"):
            super().__setattr__(name, value)


def attach_stub(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the imports in the stub beside its file."""
    homes: dict[str, str | None] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            homes |= {alias.name: node.module for alias in node.names}
    module = sys.modules[package]
    module.__dict__["_guarded"] = {name for name, home in homes.items() if home and home.split(".")[0] == name}
    module.__class__ = _Guarded

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        held = importlib.import_module(f"{package}.{home or name}")
        value = getattr(held, name) if home else held
        module.__dict__[name] = value
        return value

    return load, lambda: sorted(homes), sorted(homes)
