"""Stages of a piecewise feedback: motions one after the other under laws that change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import ModelError
from ...integrate.motion import Motion
from ...typing import Array, Symbol

__all__ = ["Stage", "Stages"]


@dataclass(frozen=True, eq=False)
class Stage:
    """One law for a while: its name, and the motion under it."""

    name: str
    motion: Motion


@dataclass(frozen=True, eq=False)
class Stages:
    """Stages in order; ``stages["x"]`` joins the columns, with the time of each switch twice.

    Attributes
    ----------
    parts : tuple of Stage
    """

    parts: tuple[Stage, ...]

    @property
    def t(self) -> Array:
        """All times (n,)."""
        return np.concatenate([part.motion.t for part in self.parts]) if self.parts else np.zeros(0)

    def __getitem__(self, name: Symbol) -> Array:
        """A column of all motions: a symbol, an input or an output."""
        if not self.parts:
            raise ModelError("There are no stages, as nothing was to do", name, "read the start")
        return np.concatenate([part.motion[name] for part in self.parts])

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def switches(self) -> Array:
        """The times at which a stage ends (n,)."""
        return np.array([part.motion.t[-1] for part in self.parts])
