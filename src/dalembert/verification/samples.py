"""Samples: the random systems, states and instants over which a row takes its worst residual.

A `Sampler` draws records by kind, each kind from a random generator of its own, and keeps them.
A record is a NamedTuple or a dataclass, so that a row reads its parts by name. `sampler` makes one
of a function that draws one record; a row names it with ``over=`` and is written for one sample::

    class Sample(NamedTuple):
        system: ImageSystem
        x: Array
        u: Array

    @sampler("plain", "crowded", seed=13)
    def samples(kind: str, random: Generator) -> Sample:
        return Sample(image_system(kind), *random.uniform(-1, 1, (2, 3)))

    @listed("M-3", over=samples)
    def image(s: Sample) -> Residual:
        return distance(s.system.rates(s.x, s.u), s.system.frame(s.x) @ s.u)

A row over some kinds takes ``over=samples.of("plain")``. Records that come from other records, or
from a motion, are ``samples.map(View)`` or ``Sampler(make, kinds)``. Sums over several samplers
call ``worst([residual(s) for s in samples])`` themselves.

>>> @sampler("one", "two", seed=7, count=2)
... def points(kind, random):
...     return kind, random.uniform()
>>> [kind for kind, _ in points], len(points.of("two")), points.map(len)("one")
(['one', 'one', 'two', 'two'], 2, (2, 2))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.random import Generator

from ..typing import Array
from .numeric import Probe, Residual, StateBlocks, worst

__all__ = ["Generator", "Sampler", "State", "sampler"]

S = TypeVar("S")
T = TypeVar("T")


class State(NamedTuple):
    """The library's equations of a system with a time and a state to evaluate them at."""

    probe: Probe
    time: float
    state: Array

    @property
    def blocks(self) -> StateBlocks:
        """G, f, A, b and the rest."""
        return self.probe.blocks(self.time, self.state)

    @property
    def rates(self) -> Any:
        """The time derivative of the state, (n_state,)."""
        return self.probe.rates(self.time, self.state)

    @property
    def reaction(self) -> Any:
        """The generalised force of all constraints together, (n,)."""
        return self.probe.reaction(self.time, self.state)


class Sampler(Generic[S]):
    """Records of some kinds, each kind made once, when it is first asked for.

    With ``keep=False`` they are made at every use, for records that are kept elsewhere.
    """

    def __init__(
        self,
        make: Callable[[str], Iterable[S]],
        kinds: Iterable[str] = ("",),
        keep: bool = True,
    ) -> None:
        def made(kind: str) -> tuple[S, ...]:
            return tuple(make(kind))

        self.kinds, self._kept = tuple(kinds), cache(made)
        self._made = self._kept if keep else made

    def __call__(self, *kinds: str) -> tuple[S, ...]:
        """The records of some kinds, of all where none is named."""
        return tuple(record for kind in kinds or self.kinds for record in self._made(kind))

    def __iter__(self) -> Iterator[S]:
        return iter(self())

    def __len__(self) -> int:
        return len(self())

    def of(self, *kinds: str) -> Sampler[S]:
        """The same records, of some kinds only."""
        return Sampler(self._made, kinds, keep=False)

    def first(self, count: int) -> Sampler[S]:
        """The first records of each kind."""
        return Sampler(lambda kind: self._made(kind)[:count], self.kinds, keep=False)

    def map(self, view: Callable[[S], T]) -> Sampler[T]:
        """Other records, each made of one of these."""
        return Sampler(lambda kind: map(view, self._made(kind)), self.kinds)

    def clear(self) -> None:
        """Forget the records, so that the next use makes them again."""
        self._kept.cache_clear()

    def worst(self, residual: Callable[[S], Residual]) -> float:
        """The worst residual over the records."""
        return worst(residual(record) for record in self)


def sampler(
    *kinds: str, seed: int, count: int = 3
) -> Callable[[Callable[[str, Generator], S]], Sampler[S]]:
    """Make a sampler of a function that draws one record of a kind.

    The generator of the i-th kind has the seed ``[seed, i]``, or `seed` where no kinds are named.
    """

    def decorate(draw: Callable[[str, Generator], S]) -> Sampler[S]:
        def make(kind: str) -> Iterator[S]:
            random = np.random.default_rng([seed, kinds.index(kind)] if kinds else seed)
            return (draw(kind, random) for _ in range(count))

        return Sampler(make, kinds or ("",))

    return decorate
