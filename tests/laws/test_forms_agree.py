"""Every form against every other on random systems: the same accelerations, total reaction, power, energy and momenta.

The systems have mass matrices that depend on the position, gyroscopic and time-dependent terms, forces and dissipation, and one
to four constraints of all kinds, also ones that the others imply. The limit is 1e-9, relatively. The largest difference in five
hundred systems, 1.4e-11, is that of the canonical form in quasi-velocities, which solves with the metric of all of them.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from agreement import Comparison, Instant, compared, evidence, extremal_words, gap_of
from core_systems import random_system
from dalembert.model.constraints import HolonomicConstraint

LIMIT = 1e-9
SYSTEMS = 500
#: How many of them are looked at in every run of the tests: all kinds of constraints, on few coordinates.
QUICK = 40

#: Constraints by letter, see `random_system`; those at the end are implied by the others.
KINDS = (
    *("h", "v", "a", "n", "s", "r", "t", "m", "e", "c"),
    *("hv", "ra", "vv", "ee", "cc", "ss", "tv", "hm", "es", "hn", "rr", "cv", "mv"),
    *("vd", "hd", "ad", "sd", "rd", "cd", "md", "td", "hvd", "vvd", "aad", "hhd", "ccd", "sad", "rvd"),
    *("hva", "vvv", "eee", "ccc", "rtv", "hsa", "hvdd", "hvad", "vvad", "ehvd"),
    *("hvav", "rhvt", "vvvv", "eecv", "ssav"),
)
STATED = ("lagrangian", "kinetic", "hamiltonian", "bundle", "planar", "cyclic")


def specimen(number: int, small: bool = False) -> tuple[da.System, str, str, str]:
    """A random system with its kinds of constraints, how it was stated, and its name; with as few coordinates as may be."""
    kinds = KINDS[number % len(KINDS)]
    stated = STATED[(number + number // len(KINDS)) % len(STATED)]
    least = max(2, 3 if stated == "planar" else 2, 1 + sum(kind != "d" for kind in kinds))
    n = least if small or least >= 5 else least + (number // 7) % (6 - least)
    label = f"system {number}: {kinds} on {n} coordinates, {stated}"
    return random_system(1000 + number, n=n, kinds=kinds, stated=stated), kinds, stated, label


def examine(number: int, comparison: Comparison, count: int, small: bool = False) -> Counter[str]:
    """One system in all its forms, without the constraints that are implied, by speeds, and by the other principle."""
    system, kinds, stated, label = specimen(number, small)
    seen = Counter({f"stated {stated}": 1, f"{len(kinds)} constraints": 1})
    seen.update({f"kind {kind}": 1 for kind in set(kinds)})
    for instant in compared(comparison, system, number, label, LIMIT, count):
        seen["states"] += 1
        if "d" in kinds:
            fewer = random_system(1000 + number, n=len(system.coordinates), kinds=kinds.rstrip("d"), stated=stated)
            against(comparison, system, fewer, instant, ("with", "without what is implied"), label)
        if set(kinds) == {"c"}:
            against(comparison, system, by_speeds(system, number), instant, ("by rows", "by an image"), label)
        extremals(comparison, system, instant, number, label)
    return seen


def against(
    comparison: Comparison, system: da.System, other: da.System, instant: Instant, names: tuple[str, str], label: str
) -> None:
    """Two statements of one system, each in the form it was stated for and in a form of its own."""
    here = evidence(da.derive(system), instant)
    assert here is not None
    forms = ["implicit-lagrangian", "implicit-hamiltonian"] if other.image else [None, "maggi"]
    for form in forms:
        if form == "maggi" and set("nm") & {c.name[0] for c in other.constraints}:
            continue
        there = evidence(da.derive(other, form), instant)
        if there is not None:
            gap, what = gap_of(here, there)
            comparison.add(names, gap, f"{what} of {label}, {form}", LIMIT)


def extremals(comparison: Comparison, system: da.System, instant: Instant, number: int, label: str) -> None:
    """The vakonomic form and Pontryagin's, and d'Alembert's motion where every constraint is on positions."""
    chi = np.random.default_rng(number).normal(size=len(system.bilateral))
    words = {form: word for form, word in extremal_words(system, instant, chi).items() if word is not None}
    if all(isinstance(c, HolonomicConstraint) for c in system.bilateral):
        words["lagrange"] = evidence(da.derive(system, "lagrange"), instant) or {}
    for first, second in pairwise(words):
        gap, what = gap_of(words[first], words[second])
        comparison.add((first, second), gap, f"{what} of {label}", LIMIT)


def by_speeds(system: da.System, seed: int) -> da.System:
    """A system whose constraints give some velocities by the others, restated by speeds; one speed too many now and then."""
    random = np.random.default_rng(seed)
    given: dict[Any, Any] = {}
    for constraint in system.bilateral:
        bound = next(v for v in reversed(system.velocities) if constraint.expression.has(v) and v not in given)
        given[bound] = bound - constraint.expression
    free = [v for v in system.velocities if v not in given]
    speeds = [da.Speed(f"w{k + 1}") for k in range(len(free) + int(random.integers(0, 2)))]
    turned = {
        v: sum(
            (float(random.uniform(0.2, 0.9)) + sympy.sin(free[0].coordinate) / 5 + int(k == j)) * w
            for k, w in enumerate(speeds)
        )
        for j, v in enumerate(free)
    }
    velocities = {v.coordinate: sympy.expand(given.get(v, v).xreplace(turned)) for v in system.velocities}
    return system.replacing(constraints=[da.image(velocities, speeds)])


@pytest.mark.parametrize("batch", [0, 1, *(pytest.param(batch, marks=pytest.mark.long) for batch in (2, 3))])
def test_forms_agree_on_random_systems(batch: int) -> None:
    comparison = Comparison()
    few = [number for number in range(0, SYSTEMS, 7) if len(KINDS[number % len(KINDS)].rstrip("d")) <= 2]
    for number in few[batch:QUICK:4]:
        examine(number, comparison, 1, small=True)
    assert comparison.faults == []
    assert comparison.pairs > 200
    assert sum(comparison.silent.values()) < 0.02 * sum(comparison.heard.values())


@pytest.mark.long
@pytest.mark.parametrize("batch", range(10))
def test_forms_agree_on_five_hundred_random_systems(batch: int) -> None:
    comparison = Comparison()
    for number in range(batch, SYSTEMS, 10):
        examine(number, comparison, 2)
    assert comparison.faults == []
    assert comparison.pairs > 1000
    assert sum(comparison.silent.values()) < 0.02 * sum(comparison.heard.values())


def test_the_comparison_sees_a_wrong_sign() -> None:
    """The same constraint with its dissipation turned round: the comparison must notice."""
    system = random_system(5, n=3, kinds="v")
    wrong = system.replacing(dissipation=-system.dissipation)
    comparison = Comparison()
    (instant,) = compared(comparison, system, 3, "right", LIMIT, 1)
    assert comparison.faults == []
    against(comparison, system, wrong, instant, ("right", "wrong"), "")
    assert len(comparison.faults) == 2
