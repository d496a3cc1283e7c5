"""Random systems with contacts and friction limits: the laws of contact along their motions, and
the same motions in other units and with the contacts in another order.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

import dalembert as da
from contact_specimens import FAMILIES, broken_laws, followed, specimen
from dalembert.errors import DalembertError

from .harness import Options, Report

__all__ = ["look", "run"]

SYSTEMS = 2000
#: Final states may differ by this in other units and another order, relative to their largest.
LIMIT = 1e-6
#: Every so many systems are followed in other units and in another order as well.
VARIED = 4


def run(options: Options, report: Report) -> None:
    """Looks at systems until the time is over or all of them are done."""
    deadline = options.deadline
    counts: Counter[str] = Counter()
    worst = 0.0
    for number in range(20 if options.quick else SYSTEMS):
        if time.monotonic() > deadline:
            break
        found = look(number)
        counts.update(found["counts"])
        worst = max(worst, found["gap"])
        for fault in found["faults"]:
            report.fault(f"system {number}: {fault}")
    for name, count in sorted(counts.items()):
        report.figure(name, count)
    report.figure("worst difference in other units or order", f"{worst:.1e}")


def look(number: int) -> dict[str, Any]:
    """One random system: what it did, and the laws that it broke."""
    counts: Counter[str] = Counter(systems=1)
    counts[FAMILIES[number % len(FAMILIES)].__name__] += 1
    try:
        motion = followed(number)
    except DalembertError as error:
        return {"counts": counts, "gap": 0.0, "faults": [f"{type(error).__name__}: {error}"]}
    counts["changes of contacts"] += len(motion.modes)
    counts["impacts"] += len(motion.impacts)
    faults = broken_laws(motion)
    gap = 0.0
    if motion.outcome is not da.Outcome.FINISHED:
        counts["ended by a sentence"] += 1
        if "not determined" not in motion.message:
            faults.append(motion.message)
    elif number % (VARIED * len(FAMILIES)) < len(FAMILIES):
        counts["in other units and order"] += 1
        for unit, reverse in ((1000.0, False), (1.0, True)):
            gap = max(gap, _difference(number, motion, unit, reverse))
        if gap > LIMIT:
            faults.append(f"differs by {gap:.1e} in other units or order")
    return {"counts": counts, "gap": gap, "faults": faults}


def _difference(number: int, motion: da.Motion, unit: float, reverse: bool) -> float:
    """How far the last state is from that in other units or another order.

    Positions are compared with the largest of all, and so are velocities: one that is at rest
    consists of rounding.
    """
    other, lengths = followed(number, unit, reverse), specimen(number).lengths
    worst = 0.0
    for symbols in (motion.system.coordinates, motion.system.velocities):
        scale = max(float(np.abs(motion[s.name]).max()) for s in symbols) or 1.0
        for s in symbols:
            size = unit ** lengths.get(s.name, 1)
            worst = max(worst, abs(other[s.name][-1] / size - motion[s.name][-1]) / scale)
    return worst
