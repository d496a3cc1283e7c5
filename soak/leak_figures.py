"""What a process holds, and whether that grows: samples through /proc and the allocator, and a line
through them.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["PAGE", "Growth", "Sample", "growth", "sample", "sampled_cycles", "verdict"]

PAGE = os.sysconf("SC_PAGE_SIZE")


class _Mallinfo(ctypes.Structure):
    _names = (
        "arena",
        "ordblks",
        "smblks",
        "hblks",
        "hblkhd",
        "usmblks",
        "fsmblks",
        "uordblks",
        "fordblks",
        "keepcost",
    )
    _fields_ = [(name, ctypes.c_size_t) for name in _names]


@dataclass(frozen=True)
class Sample:
    """What a process holds after so many cycles; -1 for what cannot be seen from outside."""

    cycle: int
    rss: int
    heap: int
    maps: int
    files: int
    threads: int
    objects: int
    libraries: int


@dataclass(frozen=True)
class Growth:
    """The slope of a line through values, per cycle, and twice its standard error."""

    slope: float
    uncertainty: float

    @property
    def least(self) -> float:
        """What it is at least, as far as the samples say."""
        return self.slope - self.uncertainty


def heap_bytes() -> int:
    """Bytes that are in use of the C heap, all arenas and large blocks; -1 where the C library does
    not say.

    What is free goes back to the system first: else the resident memory has tens of megabytes more
    or less by chance.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        return -1
    library.malloc_trim(0)
    library.mallinfo2.restype = _Mallinfo
    found = library.mallinfo2()
    return int(found.uordblks + found.hblkhd)


def sample(cycle: int, process: int | None = None) -> Sample:
    """The process of that number, from outside, or this one after a collection of garbage."""
    place = f"/proc/{process or 'self'}"
    heap = objects = libraries = -1
    if process is None:
        from dalembert.codegen.backends.llvm import NativeLibrary

        gc.collect()
        heap, tracked = heap_bytes(), gc.get_objects()
        objects, libraries = len(tracked), sum(type(found) is NativeLibrary for found in tracked)
        del tracked
    with open(f"{place}/statm") as stream:
        rss = int(stream.read().split()[1]) * PAGE
    with open(f"{place}/maps") as stream:
        maps = sum(1 for _ in stream)
    files, threads = len(os.listdir(f"{place}/fd")), len(os.listdir(f"{place}/task"))
    return Sample(cycle, rss, heap, maps, files, threads, objects, libraries)


def sampled_cycles(
    cycle: Callable[[int], Any], enough: Callable[[], bool], every: int
) -> list[Sample]:
    """Cycles until it is enough, and a sample after every few of them."""
    samples = [sample(0)]
    count = 0
    while not enough() or len(samples) < 8:
        for _ in range(every):
            cycle(count)
            count += 1
        samples.append(sample(count))
    return samples


def growth(cycles: Sequence[float], values: Sequence[float]) -> Growth:
    """The least-squares line through values, with twice the standard error of its slope.

    >>> growth([0, 1, 2, 3], [5, 7, 9, 11])
    Growth(slope=2.0, uncertainty=0.0)
    """
    n = len(cycles)
    centre, level = sum(cycles) / n, sum(values) / n
    spread = sum((x - centre) ** 2 for x in cycles)
    slope = sum((x - centre) * (y - level) for x, y in zip(cycles, values, strict=True)) / spread
    left = sum((y - level - slope * (x - centre)) ** 2 for x, y in zip(cycles, values, strict=True))
    return Growth(slope, 2.0 * math.sqrt(left / max(1, n - 2) / spread))


def converged(samples: Sequence[Sample]) -> list[Sample]:
    """The second half of the samples: in the first one, bounded caches fill."""
    return list(samples[len(samples) // 2 :])


#: What may grow per cycle: bytes of memory (resident, and of the C heap), and objects of Python.
BYTES_BOUND, OBJECTS_BOUND = 512.0, 0.5
#: What may be there in the end beyond what was there in the middle: libraries of native code, maps,
#: files, threads.
MORE_LIBRARIES, MORE_MAPS, MORE_FILES, MORE_THREADS = 0, 24, 0, 0


def verdict(
    samples: Sequence[Sample],
    bytes_bound: float = BYTES_BOUND,
    slopes: bool = True,
    more_maps: int = MORE_MAPS,
) -> list[str]:
    """What grows, in sentences; none where everything is flat.

    A slope counts above its bound, its doubt taken off, if both halves of the time have it.
    """
    late = converged(samples)
    cycles = [found.cycle for found in late]
    faults = []
    for name, unit, bound in (
        ("rss", "bytes", bytes_bound),
        ("heap", "bytes", bytes_bound),
        ("objects", "", OBJECTS_BOUND),
    ):
        values = [getattr(found, name) for found in late]
        if min(values) < 0 or not slopes:
            continue
        found = growth(cycles, values)
        if found.least > bound and _lasts(cycles, values, bound):
            faults.append(
                f"{name} grows by {found.slope:.3g} +- {found.uncertainty:.2g} {unit} a cycle"
                f" (bound {bound:g})"
            )
    for name, more in (
        ("libraries", MORE_LIBRARIES),
        ("maps", more_maps),
        ("files", MORE_FILES),
        ("threads", MORE_THREADS),
    ):
        first, last = getattr(late[0], name), min(getattr(found, name) for found in late[-3:])
        if last > first + more:
            faults.append(f"{name} went from {first} to {last}")
    return faults


def _lasts(cycles: Sequence[float], values: Sequence[float], bound: float) -> bool:
    """Whether it rises in the first and in the last part of the time: a pool that grows once makes
    a line rise, too.
    """
    middle = len(cycles) // 2
    parts = ((cycles[:middle], values[:middle]), (cycles[middle:], values[middle:]))
    return all(len(part) < 3 or growth(part, held).slope > bound for part, held in parts)


def as_rows(samples: Sequence[Sample]) -> list[dict[str, int]]:
    """For the line of JSON in which a process reports its samples."""
    return [asdict(found) for found in samples]
