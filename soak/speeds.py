"""Random systems under constraints that are nonlinear in every velocity, in random
quasi-velocities: every form that takes them beside a dense solution by NumPy.

A system has one or two constraints of the kind row . v + a |v|^2 = b ("n" of `core_systems`) or
v^T S(q) v = c(q, t), and others of the usual kinds; the quasi-velocities are linear, affine or
nonlinear in the velocities, or the form chooses its own speeds.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import sympy

import dalembert as da
from agreement import Instant, evidence, instants
from core_systems import random_system
from dalembert.errors import FormError
from dalembert.formulations.velocity_splits import choose_split

from .harness import Options, Report, kept_figures

__all__ = ["dense_accelerations", "look", "run"]

SYSTEMS = 3000
#: Accelerations may differ by this, relatively, times the condition of the speeds.
LIMIT = 1e-9
WORST = "worst relative difference of accelerations"
CHOSEN = ("maggi", "voronets", "hamel", "gibbs-appell", "kane", "canonical-voronets")
STATED = ("maggi", "hamel", "gibbs-appell", "kane", "canonical-quasi")
SORTS = ("chosen", "linear", "affine", "nonlinear")


def run(options: Options, report: Report) -> None:
    """Looks at systems until the time is over or all of them are done; a run that is resumed begins
    after the systems whose figures are kept.
    """
    deadline = options.deadline
    counts: Counter[str] = Counter()
    worst, where = 0.0, ""
    if options.resume:
        kept = kept_figures("speeds")
        worst, where = float(kept.pop(WORST)), str(kept.pop("where"))
        counts.update(kept)
    for number in range(counts["systems"], 16 if options.quick else SYSTEMS):
        if time.monotonic() > deadline:
            break
        found = look(number)
        counts.update(found["counts"])
        counts["systems"] += 1
        if found["gap"] > worst:
            worst, where = found["gap"], found["where"]
        for fault in found["faults"]:
            report.fault(fault)
    for name, count in sorted(counts.items()):
        report.figure(name, count)
    report.figure(WORST, f"{worst:.1e}")
    report.figure("where", where)


def drawn(number: int) -> tuple[da.System, str, np.random.Generator]:
    """A system, the sort of its quasi-velocities, and the random numbers that go on."""
    random = np.random.default_rng([91, number])
    n = int(random.choice([2, 3, 4], p=[0.4, 0.4, 0.2]))
    count = int(random.integers(0, n - 1))
    kinds = "".join(random.choice(list("hvasn"), size=count))
    system = random_system(1000 + number, n=n, kinds=kinds)
    q, v = system.coordinates, system.velocities
    squares = [
        (float(random.uniform(0.5, 1.5)) + sympy.sin(q[k - 1]) / 4) * v[k] ** 2 for k in range(n)
    ]
    cross = float(random.uniform(-0.4, 0.4)) * v[0] * v[-1]
    right = float(random.uniform(0.3, 1.2)) + sympy.cos(q[0] + da.t) / 5
    ball = da.velocity(sympy.Add(*squares) + cross - right, name="ball")
    system = system.replacing(constraints=[*system.constraints, ball])
    return system, SORTS[number % len(SORTS)], random


def stated(system: da.System, sort: str, random: np.random.Generator) -> dict[str, Any] | None:
    """Random quasi-velocities of a sort."""
    if sort == "chosen":
        return None
    q, v = system.coordinates, system.velocities
    found = {}
    for k in range(choose_split(system, implicit=True).freedom):
        weights = random.uniform(-0.5, 0.5, len(v))
        value = sum(
            (float(w) + sympy.sin(x) / 4) * u for w, x, u in zip(weights, q, v, strict=True)
        )
        value += 2 * v[k]
        if sort != "linear":
            value += sympy.sin(q[0] + da.t)
        if sort == "nonlinear":
            value += float(random.uniform(0.1, 0.4)) * v[k] ** 3 + v[k - 1] * v[k] / 5
        found[f"quasi{k + 1}"] = value
    return found


def dense_accelerations(system: da.System, instant: Instant) -> Any:
    """q_ddot from M z = f + A^T mu, A z = b, with derivatives by SymPy and a dense solution."""
    q, v, t = sympy.Matrix(system.coordinates), sympy.Matrix(system.velocities), da.t
    lagrangian = sympy.Matrix([system.lagrangian])
    momenta = lagrangian.jacobian(v).T
    given = [system.forces.get(x, 0) for x in system.coordinates]
    given = [a - sympy.diff(system.dissipation, u) for a, u in zip(given, v, strict=True)]
    force = sympy.Matrix(given) + lagrangian.jacobian(q).T - momenta.jacobian(q) * v
    force -= momenta.diff(t)
    residuals = []
    for constraint in system.bilateral:
        own = sympy.Matrix([constraint.expression])
        residuals.append(
            (own.jacobian(q) * v + own.diff(t))[0] if constraint.is_position_level else own[0]
        )
        for x, work in (constraint.work or {}).items():
            force[system.coordinates.index(x)] += work
    level = sympy.Matrix(residuals)
    rows, right = level.jacobian(v), -level.jacobian(q) * v - level.diff(t)
    values = instant.named(system)
    symbols = list({s for b in (force, rows, right, momenta) for s in b.free_symbols})
    function = sympy.lambdify(symbols, [momenta.jacobian(v), force, rows, right], "numpy")
    mass, push, a, b = (
        np.array(block, dtype=float) for block in function(*(values[s.name] for s in symbols))
    )
    m = len(a)
    matrix = np.block([[mass, -a.T], [a, np.zeros((m, m))]])
    return np.linalg.lstsq(matrix, np.concatenate([push.ravel(), b.ravel()]), rcond=1e-11)[0][
        : len(q)
    ]


def look(number: int) -> dict[str, Any]:
    """What is found of one system."""
    system, sort, random = drawn(number)
    found: dict[str, Any] = {"gap": 0.0, "where": "", "faults": [], "counts": Counter()}
    states = instants(system, number, 1)
    if not states:
        found["counts"]["without a generic state"] += 1
        return found
    expected = dense_accelerations(system, states[0])
    own = stated(system, sort, random)
    forms = random.permutation(CHOSEN if own is None else STATED)[:3]
    for form in ("lagrange", *map(str, forms)):
        options = {} if own is None or form == "lagrange" else {"quasi_velocities": own}
        label = f"{form} of system {number} ({sort})"
        try:
            said = evidence(da.derive(system, form, **options), states[0])
        except FormError as error:
            found["counts"][f"refused: {type(error).__name__} in {form}"] += 1
            continue
        if said is None:
            found["counts"]["silent where speeds degenerate"] += 1
            continue
        found["counts"][f"compared: {sort}"] += 1
        size = max(1.0, float(np.abs(expected).max()))
        gap = float(np.abs(said["accelerations"] - expected).max()) / size
        if not gap <= found["gap"]:
            found["gap"], found["where"] = gap, label
        if not gap <= LIMIT:
            found["faults"].append(f"{label}: accelerations differ by {gap:.1e}")
    return found
