"""What the parts share that look at one random case after the other: the differences of a case, and
the loop over cases.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from .harness import Options, Report

__all__ = ["Found", "look_at_cases"]


@dataclass
class Found:
    """What one case showed."""

    counts: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def note(self, name: str, gap: float, limit: float) -> None:
        """A difference, and a fault where it is beyond the limit."""
        self.gaps[name] = max(self.gaps.get(name, 0.0), gap)
        self.counts[f"compared: {name}"] += 1
        if not gap <= limit:
            self.faults.append(f"{name} differs by {gap:.1e} (limit {limit:.1e})")


def look_at_cases(
    options: Options, report: Report, look: Callable[[int], Found], most: int, what: str
) -> None:
    """Look at cases until the time is over or all are done, and report the sum; `what` is one."""
    deadline = options.deadline
    counts: Counter[str] = Counter()
    gaps: dict[str, float] = {}
    first = 1_000_000 * (options.seed - 1)
    for number in range(first, first + (8 if options.quick else most)):
        if time.monotonic() > deadline:
            break
        found = look(number)
        counts.update(found.counts)
        counts[f"{what}s"] += 1
        for name, gap in found.gaps.items():
            gaps[name] = max(gaps.get(name, 0.0), gap)
        for fault in found.faults:
            report.fault(f"{what} {number}: {fault}")
    for name, count in sorted(counts.items()):
        report.figure(name, count)
    for name, gap in sorted(gaps.items()):
        report.figure(f"largest difference: {name}", f"{gap:.1e}")
