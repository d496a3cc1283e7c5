"""Motions one after the other under laws that change: the stages of a piecewise feedback, and what they are together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from ...integrate.motion import Motion

__all__ = ["Stage", "Stages"]


@dataclass(frozen=True, eq=False)
class Stage:
    """One law for a while: its name, and the motion under it."""

    name: str
    motion: Motion


@dataclass(frozen=True, eq=False)
class Stages:
    """Stages in their order. ``stages["x"]`` joins the columns of all motions; times at a switch stand there twice, since
    inputs jump.

    Attributes
    ----------
    parts : tuple of Stage
    """

    parts: tuple[Stage, ...]

    @property
    def t(self) -> Any:
        """All times (n,)."""
        return np.concatenate([part.motion.t for part in self.parts]) if self.parts else np.zeros(0)

    def __getitem__(self, name: Any) -> Any:
        """A column of all motions: a symbol, an input or an output."""
        if not self.parts:
            raise ModelError("There are no stages: nothing had to be done", seen=str(name), remedy="read the start")
        return np.concatenate([part.motion[name] for part in self.parts])

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def switches(self) -> Any:
        """The times at which a stage ends (n,)."""
        return np.array([part.motion.t[-1] for part in self.parts])
