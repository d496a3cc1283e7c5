"""What the structure of expressions proves about the gallery and about random systems, and what
that costs.

Every question of `dalembert.algebra.structure` that a derivation depends on is asked of each
system. What is proved is then looked at in floating point at random states: a state that
contradicts a proof is a fault.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import casadi as ca
import numpy as np

import dalembert as da
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import DalembertError
from dalembert.formulations.constraint_equations import velocity_level
from dalembert.formulations.forms import lagrange
from dalembert.model.symbols import t

from .harness import Options, Report
from .random_specimens import specimen

__all__ = ["questions", "run"]

SYSTEMS = 10_000
#: A proved identity that is broken by more than this part of its terms is a fault.
ROUNDING = 1e-9
QUESTIONS = (
    "energy quadratic in velocities or momenta",
    "energy free of time",
    "coordinate cyclic",
    "constraint affine in the velocities",
    "constraint homogeneous in the velocities",
    "rank of the mass matrix",
    "rank of the constraint Jacobian",
)
STATUSES = ("proved", "refuted", "not established")


def run(options: Options, report: Report) -> None:
    """Asks the gallery, then random systems until the time is over."""
    deadline = options.deadline
    gallery = _Tally("gallery", report)
    for name in da.gallery.names():
        system = da.gallery.load(name).system
        if isinstance(system, da.System):
            gallery.ask(name, system)
    gallery.tell()
    random = _Tally("random", report)
    for number in range(16 if options.quick else SYSTEMS):
        if time.monotonic() > deadline:
            break
        found = specimen(number)
        try:
            random.ask(found.label, found.system())
        except DalembertError as error:
            report.say(f"{found.label}: {error}")
    random.tell()


class _Tally:
    """Counts of answers, the time that they took, and the time of the derivation they belong to."""

    def __init__(self, kind: str, report: Report) -> None:
        self.kind, self.report = kind, report
        self.counts: Counter[tuple[str, str]] = Counter()
        self.seconds: Counter[str] = Counter()
        self.systems = 0

    def ask(self, name: str, system: da.System) -> None:
        """Ask every question of one system."""
        began = time.process_time()
        da.derive(system).compile()
        self.seconds["derive and compile"] += time.process_time() - began
        began = time.process_time()
        for question, verdict, check in questions(system):
            self.counts[question, verdict.status] += 1
            if verdict.status == "proved" and check is not None and check() > ROUNDING:
                self.report.fault(f"{name}: {question} was proved, and a state contradicts it")
        self.seconds["questions"] += time.process_time() - began
        self.systems += 1

    def tell(self) -> None:
        """Report the figures."""
        self.report.figure(f"{self.kind} systems", self.systems)
        for question in QUESTIONS:
            counts = [self.counts[question, status] for status in STATUSES]
            shown = ", ".join(
                f"{count} {status}" for count, status in zip(counts, STATUSES, strict=True)
            )
            self.report.figure(f"{self.kind}: {question}", shown)
        for what, seconds in self.seconds.items():
            self.report.figure(
                f"{self.kind}: {what}",
                round(1e3 * seconds / max(self.systems, 1), 2),
                "ms a system",
            )


def questions(system: da.System) -> Iterator[tuple[str, Any, Any]]:
    """Each question with its answer, and a floating-point look at what was proved (None for
    ranks).
    """
    algebra = GraphAlgebra()
    algebra.vector(
        [*system.coordinates, *system.velocities, *system.momenta, *system.parameters, t]
    )
    fibre = algebra.vector(system.momenta if system.is_hamiltonian else system.velocities)
    energy = algebra.scalar(system.energy_function)
    metric = algebra.hessian(energy, fibre)[0]
    yield QUESTIONS[0], algebra.degree(energy, fibre, 2), lambda: _change(algebra, metric, fibre)
    time_node = algebra.scalar(t)
    yield (
        QUESTIONS[1],
        algebra.independence(energy, time_node),
        lambda: _change(algebra, energy, time_node),
    )
    for q in system.coordinates:
        node = algebra.scalar(q)
        yield (
            QUESTIONS[2],
            algebra.independence(energy, node),
            lambda node=node: _change(algebra, energy, node),
        )
    yield QUESTIONS[5], algebra.rank(metric), None
    if not system.bilateral:
        return
    try:
        level = velocity_level(system, algebra, lagrange.lagrangian_and_momenta(system, algebra)[1])
    except DalembertError:
        return
    velocities = algebra.vector(system.velocities)
    rows = algebra.jacobian(level.residual, velocities)
    for k in range(len(system.bilateral)):
        row, value = rows[k, :].T, level.residual[k]
        affine = algebra.degree(value, velocities, 1)
        yield QUESTIONS[3], affine, lambda row=row: _change(algebra, row, velocities)
        rest = row.T @ velocities - value
        yield (
            QUESTIONS[4],
            algebra.homogeneity(value, velocities, 1),
            lambda rest=rest: _size(algebra, rest),
        )
    yield QUESTIONS[6], algebra.rank(rows), None


def _change(algebra: GraphAlgebra, block: Any, variables: Any) -> float:
    """The largest derivative of a block by some variables at random states, relative to the
    block.
    """
    derivatives = ca.jacobian(ca.vec(block), variables)
    return max(
        (_largest(a) / (_largest(b) + 1e-300) for a, b in _states(algebra, derivatives, block)),
        default=0.0,
    )


def _size(algebra: GraphAlgebra, block: Any) -> float:
    return max((_largest(a) for a, _ in _states(algebra, block, block)), default=0.0)


def _largest(values: Any) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _states(algebra: GraphAlgebra, *blocks: Any) -> Iterator[tuple[Any, ...]]:
    function = ca.Function(
        "values", list(algebra.symbols.values()), [ca.densify(block) for block in blocks]
    )
    random = np.random.default_rng(3)
    for _ in range(3):
        values = [
            np.asarray(v, dtype=float)
            for v in function.call(list(random.uniform(0.4, 1.6, len(algebra.symbols))))
        ]
        if all(np.all(np.isfinite(value)) for value in values):
            yield tuple(values)
