"""What the rounds of the faults share: the draw, a folder, the counts, and the sentences of what
went wrong.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .harness import Report


@dataclass
class State:
    """The state of a soak of faults.

    Attributes
    ----------
    draw : Random
    folder : Path
        For what the rounds make.
    counts : Counter
        How often each fault was made, by name, and under "... survived" how often it did no harm.
    durations : dict
        How long a piece of work takes undisturbed, in seconds, and how many calls of the system it
        makes.
    """

    draw: random.Random
    folder: Path
    report: Report
    counts: Counter[str] = field(default_factory=Counter)
    durations: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    seed: int = 0

    def judge(self, kind: str, trouble: str | None) -> None:
        """Count a fault of a kind; `trouble` says how the guarantee was broken, None where it
        held.
        """
        self.counts[kind] += 1
        if trouble is None:
            self.counts[f"{kind}, survived"] += 1
        else:
            self.report.fault(
                f"{kind}: {trouble} (python -m soak faults --seed {self.seed}, number"
                f" {self.counts[kind]})"
            )

    def write_figures(self) -> None:
        """Every count, and the results that were lost."""
        for name, count in sorted(self.counts.items()):
            self.report.figure(name, count)
        self.report.figure("lost or wrong results", len(self.report.faults))
