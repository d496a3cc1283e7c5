"""Verdicts of the library about the structure of a statement, beside values in 40 and 80 digits.

What the library proves to vanish must vanish at random points, and what it refutes must not vanish
at all of them. A value that 80 digits confirm is not zero; what is only rounding changes with the
number of digits. The derivatives are SymPy's, the values mpmath's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import mpmath
import sympy

import dalembert as da

from .grammar_oracle import SWITCHES, Oracle, square
from .grammar_trees import DIGITS
from .structure import questions

__all__ = ["compared_verdicts"]

#: Points at which a question is looked at, and the most that are drawn to find them.
POINTS, DRAWS = 10, 40
#: Functions that are constant in places, so that points may miss where they are not.
SWITCHING = (sympy.Max, sympy.Min, sympy.Piecewise, sympy.Abs, sympy.Heaviside, sympy.sign)


def compared_verdicts(oracle: Oracle, system: da.System) -> tuple[Counter[str], list[str]]:
    """How often each question got each answer, and the answers that values contradict."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    asked = [(name, verdict) for name, verdict, _ in questions(system)]
    looked = list(_truths(oracle))
    switches = any(own.has(*SWITCHING) for own in (oracle.lagrangian, *oracle.level))
    if len(asked) != len(looked):
        counts["verdicts: constraints of other kinds"] += 1
    for (name, verdict), (own, block, full) in zip(asked, looked, strict=False):
        if name != own:
            raise AssertionError(f"questions in another order: {name} and {own}")
        is_zero = _vanishes(oracle, block, full)
        if is_zero is None:
            counts["verdicts: no finite value"] += 1
            continue
        if full:  # the determinant vanishes where the rank is not full
            claim = "full" if verdict.value == full else "lower"
            truth = "lower" if is_zero else "full"
            is_wrong = verdict.status == "proved" and claim != truth
        else:
            claim, truth = verdict.status, "zero" if is_zero else "not zero"
            is_wrong = (claim == "proved" and not is_zero) or (
                claim == "refuted" and is_zero and not switches
            )
        counts[f"verdict: {name}: {verdict.status}"] += 1
        if verdict.status == "not established":
            counts[f"not established: {name}: {truth}"] += 1
        if is_wrong:
            faults.append(f"{name}: {verdict.status} ({claim}), where values say {truth}")
    return counts, faults


def _truths(oracle: Oracle) -> Iterator[tuple[str, list[sympy.Expr], int]]:
    """For each question, in the order of `questions`: what vanishes where the answer is yes, and 0;
    or the entries of a square matrix, and its full rank.
    """
    n = len(oracle.found.names)
    t, q, v = oracle.symbols[0], oracle.symbols[1 : 1 + n], oracle.symbols[1 + n :]
    mass = list(oracle.mass)
    yield (
        "energy quadratic in velocities or momenta",
        [entry.diff(u) for entry in mass for u in v],
        0,
    )
    yield "energy free of time", [oracle.lagrangian.diff(t)], 0
    for x in q:
        yield "coordinate cyclic", [oracle.lagrangian.diff(x)], 0
    yield "rank of the mass matrix", list(oracle.mass), n
    if not oracle.level:
        return
    for k, own in enumerate(oracle.level):
        row = list(oracle.rows[k, :])
        affine = [entry.diff(u) for entry in row for u in v]
        rest = sum(a * u for a, u in zip(row, v, strict=True)) - own
        yield "constraint affine in the velocities", affine, 0
        yield "constraint homogeneous in the velocities", [rest], 0
    gram = oracle.rows * oracle.rows.T
    yield "rank of the constraint Jacobian", list(gram), len(oracle.level)


def _vanishes(oracle: Oracle, block: list[sympy.Expr], full: int) -> bool | None:
    """Whether a block, or the determinant of a matrix of so many rows, is zero at all of some
    random points; None where it has no finite value.
    """
    if all(entry == 0 for entry in block):
        return True
    function = sympy.lambdify(oracle.symbols, block, [SWITCHES, "mpmath"], cse=True)
    chance, seen = Random(7), 0
    for _ in range(DRAWS):
        point = [chance.choice((1, 1, 1e-3, 50.0)) * chance.uniform(-2, 2) for _ in oracle.symbols]
        values = [_values(function, point, digits, full) for digits in (DIGITS, 2 * DIGITS)]
        if values[0] is None or values[1] is None:
            continue
        seen += 1
        if any(
            y != 0 and abs(x - y) <= 1e-6 * abs(y)
            for x, y in zip(values[0], values[1], strict=True)
        ):
            return False
        if seen == POINTS:
            break
    return True if seen else None


def _values(function: Any, point: list[float], digits: int, full: int) -> list[Any] | None:
    with mpmath.workdps(digits):
        try:
            found = function(*map(mpmath.mpf, point))
        except (ZeroDivisionError, ValueError, OverflowError, TypeError, NameError):
            return None
        is_real = all(not isinstance(x, mpmath.mpc) and mpmath.isfinite(x) for x in found)
        if is_real and full:
            return [mpmath.det(square(found, full))]
        return list(found) if is_real else None
