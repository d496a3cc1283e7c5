"""Every form against every other on random systems: the same accelerations, total reaction, power,
energy and momenta.

The systems have mass matrices that depend on the position, gyroscopic and time-dependent terms,
forces and dissipation, and one to four constraints of all kinds, also ones that the others imply.
The limit is 1e-9, relatively. The largest difference in five hundred systems, 1.4e-11, is that of
the canonical form in quasi-velocities, which solves with the metric of all of them.
"""

from __future__ import annotations

from collections import Counter

import pytest

import dalembert as da
from agreement import LIMIT, Comparison, against, by_speeds, compared, extremals
from core_systems import random_system

SYSTEMS = 500
#: How many of them are looked at in every run of the tests: all kinds of constraints, on few
#: coordinates.
QUICK = 40

#: Constraints by symbol, see `random_system`; those at the end are implied by the others.
KINDS = (
    *("h", "v", "a", "n", "s", "r", "t", "m", "e", "c"),
    *("hv", "ra", "vv", "ee", "cc", "ss", "tv", "hm", "es", "hn", "rr", "cv", "mv"),
    *(
        "vd",
        "hd",
        "ad",
        "sd",
        "rd",
        "cd",
        "md",
        "td",
        "hvd",
        "vvd",
        "aad",
        "hhd",
        "ccd",
        "sad",
        "rvd",
    ),
    *("hva", "vvv", "eee", "ccc", "rtv", "hsa", "hvdd", "hvad", "vvad", "ehvd"),
    *("hvav", "rhvt", "vvvv", "eecv", "ssav"),
)
STATED = ("lagrangian", "kinetic", "hamiltonian", "bundle", "planar", "cyclic")


def specimen(number: int, small: bool = False) -> tuple[da.System, str, str, str]:
    """A random system with its kinds of constraints, how it was stated, and its name; with as few
    coordinates as may be.
    """
    kinds = KINDS[number % len(KINDS)]
    stated = STATED[(number + number // len(KINDS)) % len(STATED)]
    least = max(2, 3 if stated == "planar" else 2, 1 + sum(kind != "d" for kind in kinds))
    n = least if small or least >= 5 else least + (number // 7) % (6 - least)
    label = f"system {number}: {kinds} on {n} coordinates, {stated}"
    return random_system(1000 + number, n=n, kinds=kinds, stated=stated), kinds, stated, label


def examine(number: int, comparison: Comparison, count: int, small: bool = False) -> Counter[str]:
    """One system in all its forms, without the constraints that are implied, by speeds, and by the
    other principle.
    """
    system, kinds, stated, label = specimen(number, small)
    seen = Counter({f"stated {stated}": 1, f"{len(kinds)} constraints": 1})
    seen.update({f"kind {kind}": 1 for kind in set(kinds)})
    n = len(system.coordinates)
    fewer = (
        random_system(1000 + number, n=n, kinds=kinds.rstrip("d"), stated=stated)
        if "d" in kinds
        else None
    )
    image = by_speeds(system, number) if set(kinds) == {"c"} else None
    for instant in compared(comparison, system, number, label, LIMIT, count):
        seen["states"] += 1
        if fewer is not None:
            against(comparison, system, fewer, instant, ("with", "without what is implied"), label)
        if image is not None:
            against(comparison, system, image, instant, ("by rows", "by an image"), label)
        extremals(comparison, system, instant, number, label)
    return seen


@pytest.mark.parametrize(
    "batch", [0, *(pytest.param(batch, marks=pytest.mark.long) for batch in range(1, 8))]
)
def test_forms_agree_on_random_systems(batch: int) -> None:
    comparison = Comparison()
    few = [
        number
        for number in range(0, SYSTEMS, 7)
        if len(KINDS[number % len(KINDS)].rstrip("d")) <= 2
    ]
    for number in few[batch:QUICK:8]:
        examine(number, comparison, 1, small=True)
    assert comparison.faults == []
    assert comparison.pairs > 50
    assert sum(comparison.silent.values()) < 0.02 * sum(comparison.heard.values())


@pytest.mark.long
@pytest.mark.parametrize("batch", range(10))
def test_forms_agree_on_a_hundred_random_systems(batch: int) -> None:
    comparison = Comparison()
    for number in range(batch, SYSTEMS, 50):
        examine(number, comparison, 2)
    assert comparison.faults == []
    assert comparison.pairs > 100
    # Of ten systems, one may have states at which forms in speeds do not apply.
    assert sum(comparison.silent.values()) < 0.1 * sum(comparison.heard.values())


def test_the_comparison_sees_a_wrong_sign() -> None:
    """The same constraint with its dissipation turned round: the comparison must notice."""
    system = random_system(5, n=3, kinds="v")
    wrong = system.replacing(dissipation=-system.dissipation)
    comparison = Comparison()
    (instant,) = compared(comparison, system, 3, "right", LIMIT, 1)
    assert comparison.faults == []
    against(comparison, system, wrong, instant, ("right", "wrong"), "")
    assert len(comparison.faults) == 2
