"""How an edge case is judged: right within its tolerance, refused, told by the motion itself, or
silently wrong.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dalembert.errors import DalembertError

from .harness import Report

RIGHT, REFUSED, TOLD, SILENT = "right", "refused", "told", "silent"


@dataclass
class Tally:
    """What was found in each group of cases, with the worst error among those that count as right
    or as told.
    """

    report: Report
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    worst: dict[tuple[str, str], float] = field(default_factory=dict)

    def add(self, group: str, name: str, verdict: str, error: float = 0.0, words: str = "") -> None:
        """One case; a silent one is a fault."""
        key = (group, verdict)
        self.counts[key] += 1
        if math.isfinite(error):
            self.worst[key] = max(self.worst.get(key, 0.0), error)
        if verdict == SILENT:
            self.report.fault(f"{group}, {name}: error {error:.3g} and no word of it ({words})")

    def figures(self) -> None:
        """Everything into the report."""
        groups = list(dict.fromkeys(group for group, _ in self.counts))
        self.report.figure("cases", sum(self.counts.values()))
        for verdict in (RIGHT, REFUSED, TOLD, SILENT):
            self.report.figure(
                f"cases {verdict}",
                sum(n for (_, kind), n in self.counts.items() if kind == verdict),
            )
        for group in groups:
            found = {
                kind: self.counts[group, kind]
                for kind in (RIGHT, REFUSED, TOLD, SILENT)
                if self.counts[group, kind]
            }
            words = ", ".join(f"{count} {kind}" for kind, count in found.items())
            self.report.figure(
                group,
                f"{words}; worst error of those that are right"
                f" {self.worst.get((group, RIGHT), 0.0):.1e}",
            )


def judge(
    tally: Tally,
    group: str,
    name: str,
    make: Callable[[], Any],
    error_of: Callable[[Any], float],
    tolerance: float,
) -> None:
    """Run a case and say what it is; an error that is not one of ours counts as silent, and so does
    a warning of NumPy.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            motion = make()
            error = float(error_of(motion)) if motion.success else math.nan
    except DalembertError:
        tally.add(group, name, REFUSED)
        return
    except Exception as trouble:
        tally.add(group, name, SILENT, math.inf, f"{type(trouble).__name__}: {trouble}"[:200])
        return
    if not motion.success:
        tally.add(group, name, TOLD)
    elif error <= tolerance:
        tally.add(group, name, RIGHT, error)
    elif has_diagnostic(motion.message):
        tally.add(group, name, TOLD, error)
    else:
        tally.add(group, name, SILENT, error, motion.message[:160])


def has_diagnostic(message: str) -> bool:
    """Whether the message of a motion says more than how it ended."""
    return ". " in message.strip()
