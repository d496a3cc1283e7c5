"""The stretches of a motion with their steps, and what is computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..model.read_only import ReadOnlyArrays, read_only
from ..typing import Array, IntArray
from .state_symbols import shown_states

__all__ = ["Computed", "Residuals", "Segment", "even_places"]


def even_places(count: int, most: int) -> IntArray:
    """At most `most` of the places 0 ... count - 1, evenly apart, the first and the last too.

    >>> even_places(10, 4).tolist(), even_places(2, 4).tolist()
    ([0, 3, 6, 9], [0, 1])
    """
    parts = max(1, min(count, most) - 1)
    return np.arange(min(count, most)) * (count - 1) // parts


@dataclass(frozen=True, eq=False)
class Segment(ReadOnlyArrays):
    """A stretch of a motion in one mode of contact and one choice of independent velocities, with
    all its steps.

    Attributes
    ----------
    step_t : array (steps + 1,)
    step_y : array (steps + 1, n)
        States of the form that was integrated.
    interpolated : bool
        Whether no steps led from state to state: between them lies the polynomial through all.
    """

    context: Any
    mode: tuple[str, ...]
    step_t: Any
    step_y: Any
    interpolated: bool = False

    @cached_property
    def full_y(self) -> Array:
        """The same states as the motion shows them, (steps + 1, n_state)."""
        return read_only(shown_states(self.context, self.step_t, self.step_y))

    @property
    def first_state(self) -> Any:
        """The first of them, (n_state,)."""
        return shown_states(self.context, self.step_t[:1], self.step_y[:1])[0]


@dataclass(frozen=True)
class Computed(ReadOnlyArrays):
    """What the named quantities of a motion are read off: observed blocks, symbols of the form,
    energies.
    """

    observed: Mapping[str, Array]
    own_symbols: Mapping[str, Array]
    energies: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Residuals:
    """Residuals of the constraints by name: position level g (holonomic), velocity level f."""

    position: Mapping[str, Any]
    velocity: Mapping[str, Any]
