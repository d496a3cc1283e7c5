"""What a kernel is to those who run it: sizes, and native functions by name.

`kernel.Kernel` makes the functions from expressions; `stored_kernel.StoredKernel` finds them in the
cache on disk and knows no expressions.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .native_functions import functions

if TYPE_CHECKING:
    from ..model.cache import Cache
    from ..typing import Array, Parameters

__all__ = ["NativeKernel"]


class NativeKernel(ABC):
    """The native functions of one form of a system.

    Attributes
    ----------
    equations : Equations
        Or a stored record that answers the same questions of a run.
    n, m, n_state, n_coordinates, n_positions, n_velocities : int
        Unknowns, rows of constraints, state, coordinates, constraints at each level.
    cache : Cache
        What else is found once about the kernel, by name.
    """

    equations: Any
    n: int
    m: int
    n_state: int
    n_coordinates: int
    n_positions: int
    n_velocities: int
    is_constrained: bool
    cache: Cache
    free_inputs: tuple[Any, ...]
    _local: threading.local

    @abstractmethod
    def address(self, name: str) -> int:
        """The address of a native function, compiled now if need be."""

    @abstractmethod
    def load(self, names: Iterable[str]) -> None:
        """Load several functions at once."""

    @property
    @abstractmethod
    def _velocity_count(self) -> int:
        """The number of velocities."""

    def velocities(self, times: Array, states: Array, parameters: Parameters) -> Array:
        """q_dot at many states (nt, n_state), as an array (nt, n)."""
        return self._mapped("velocities", self._velocity_count, times, states, parameters)

    def potentials(self, times: Array, states: Array, parameters: Parameters) -> Array:
        """The potential energy V(q, t) at many states, (nt,)."""
        return self._mapped("potential", 1, times, states, parameters)[:, 0]

    def _mapped(
        self, name: str, width: int, times: Array, states: Array, parameters: Parameters
    ) -> Array:
        """A program of `width` outputs at many states, (nt, width)."""
        count = len(times)
        none = np.zeros(len(self.free_inputs) + 1)
        blocks = [np.ascontiguousarray(block, dtype=float) for block in (times, states, parameters)]
        result, strides = np.empty((count, width)), np.array([1, self.n_state, 0, 0, 0])
        functions()["map_rows"](
            self.address(name), count, width, strides, *blocks, none, none, result
        )
        return result
