"""A kernel whose native functions are in the cache on disk: it knows sizes and no expressions."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.backends.llvm import NativeLibrary, known_library
from ..model.cache import Cache
from .context import kernel_layout
from .native_kernel import NativeKernel

if TYPE_CHECKING:
    from ..typing import Array, Parameters
    from .kernel import Kernel

__all__ = ["NotStoredError", "StoredKernel", "written_kernel"]

_SIZES = ("n", "m", "n_state", "n_coordinates", "n_positions", "n_velocities")
_QUESTIONS = ("is_constrained", "has_fast", "has_written_solve", "has_unknowns")


class NotStoredError(Exception):
    """What a run needs is not in the cache, and is to be made from the model."""


def written_kernel(kernel: Kernel) -> dict[str, Any]:
    """What a `StoredKernel` is made of, as plain data; of a kernel that has made a motion."""
    numbers, lengths, work_size = kernel_layout(kernel)
    large = kernel.large
    return {
        **{name: getattr(kernel, name) for name in (*_SIZES, *_QUESTIONS)},
        "velocities": kernel._velocity_count,
        "multiplier_names": list(kernel.multiplier_names),
        "observed": {key: [place.start, place.stop] for key, place in kernel.observed.items()},
        "reaction_places": None if large is None else large.reaction_places,
        "numbers": numbers,
        "lengths": {name: [length, kind is float] for name, (length, kind) in lengths.items()},
        "work_size": work_size,
        "code": kernel.loaded_code,
    }


class StoredKernel(NativeKernel):
    """The kernel that `written_kernel` wrote.

    Attributes
    ----------
    observed : mapping of name to slice
        Where each observed quantity stands in the output of `observe`.
    large : record or None
        Where the reactions of a large system act: `reaction_places`.

    Raises
    ------
    NotStoredError
        Where the cache does not have the code any more.
    """

    def __init__(self, data: Mapping[str, Any], equations: Any) -> None:
        self.equations = equations
        for name in _SIZES:
            setattr(self, name, int(data[name]))
        self.is_constrained = bool(data["is_constrained"])
        self.has_fast = bool(data["has_fast"])
        self.has_written_solve = bool(data["has_written_solve"])
        self.has_unknowns = bool(data["has_unknowns"])
        self.free_inputs = ()
        self.multiplier_names = tuple(data["multiplier_names"])
        self.observed = {key: slice(*ends) for key, ends in data["observed"].items()}
        places = data["reaction_places"]
        self.large = None if places is None else SimpleNamespace(reaction_places=places)
        self._count = int(data["velocities"])
        self._code = {name: key for key, names in data["code"].items() for name in names}
        self._names = data["code"]
        self._libraries: list[NativeLibrary] = []
        self._addresses: dict[str, int] = {}
        self._local = threading.local()
        self.cache = Cache("kernel")
        lengths = {
            name: (int(length), float if is_real else np.int64)
            for name, (length, is_real) in data["lengths"].items()
        }
        layout = data["numbers"], lengths, int(data["work_size"])
        self.cache.get("layout", lambda: layout)

    @property
    def _velocity_count(self) -> int:
        return self._count

    def address(self, name: str) -> int:
        """The address of a native function, loaded from the cache."""
        if name not in self._addresses:
            key = self._code.get(name)
            library = None if key is None else known_library(key, self._names[key])
            if library is None:
                raise NotStoredError(name)
            self._libraries.append(library)
            self._addresses |= library.addresses
        return self._addresses[name]

    def load(self, names: Iterable[str]) -> None:
        """Load several functions."""
        for name in names:
            self.address(name)

    def energies(self, times: Array, states: Array, parameters: Parameters) -> Array | None:
        """The energy at many states, (nt,), where it needs no solve; else None."""
        if "energy" not in self._code:
            return None
        return self._mapped("energy", 1, times, states, parameters)[:, 0]
