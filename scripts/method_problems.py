"""Test problems of the methods of integration, which methods suit which, and how orders and drifts
are measured.

`work_precision.py` measures with it for the documentation, tests/verification/test_long_runs.py for
the tests. A new method in `dalembert.integrate.methods.table` must be named in `SUITS`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sympy import ImmutableMatrix, Matrix, cos

import dalembert as da

__all__ = [
    "HOME",
    "PROBLEMS",
    "SUITS",
    "Drift",
    "Problem",
    "claimed_order",
    "drift",
    "exact_end",
    "measured_order",
    "work_precision",
]

GAUSS = ("gauss2", "gauss4", "gauss6")
RATTLE = ("rattle2", "rattle4", "rattle6", "rattle8")
CANONICAL = (
    "lobatto2",
    "lobatto4",
    "lobatto6",
    "variational-midpoint",
    "galerkin4",
    "galerkin6",
    "galerkin-lobatto4",
    "galerkin-lobatto6",
)
ON_GROUPS = ("isospectral2", "isospectral4", "isospectral6", "lie-verlet", "rkmk4")
BY_ROOTS = (
    "dla",
    "dla4",
    "dla6",
    "nonholonomic-leapfrog",
    "nonholonomic-leapfrog4",
    "nonholonomic-leapfrog6",
    "energy2",
    "energy4",
    "energy6",
)
#: Methods whose energy moves away with time, as far as theory says.
DRIFTING = ("rk4", "rkmk4")


@dataclass(frozen=True)
class Problem:
    """A model with a start, a time over which orders are measured, and a step for long runs.

    Attributes
    ----------
    title : str
    model : System or Flow
    start : mapping
    until : float
    step : float
        Of long runs; about a fortieth of the fastest period.
    forms : mapping of method to form
        Where it is not the one that `simulate` would choose.
    """

    title: str
    model: Any
    start: Mapping[str, float]
    until: float
    step: float
    forms: Mapping[str, str] = field(default_factory=dict)

    def run(self, method: str, until: float, **options: Any) -> Any:
        """A motion, which must reach its end."""
        form = {"form": self.forms[method]} if method in self.forms else {}
        motion = da.simulate(
            self.model, self.start, (0.0, until), method=method, max_steps=10**9, **form, **options
        )
        if not motion.success:
            raise RuntimeError(f"{self.title}, {method}: {motion.message}")
        return motion

    def energies(self, motion: Any) -> Any:
        """The energy along a motion."""
        return motion["energy"] if isinstance(self.model, da.Flow) else motion.energy


def _well() -> Problem:
    x, y = da.coordinates("x y")
    well = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x**2 + y**2) / 2 + x**2 * y - y**3 / 3
    )
    return Problem("Henon and Heiles' well", well, {"x": 0.3, "y": 0.1, "x_dot": 0.2}, 10.0, 0.15)


def _arm() -> Problem:
    a, b = da.coordinates("a b")
    arm = da.System(
        [a, b],
        kinetic=a.dot**2 + cos(a - b) * a.dot * b.dot + b.dot**2 / 2,
        potential=-9.81 * (2 * cos(a) + cos(b)),
    )
    return Problem(
        "double pendulum in angles",
        arm,
        {"a": 0.7, "b": 0.3},
        2.0,
        0.02,
        dict.fromkeys(GAUSS, "hamilton"),
    )


def _rods() -> Problem:
    x, y, u, v = da.coordinates("x y u v")
    rods = da.System(
        [x, y, u, v],
        kinetic=(x.dot**2 + y.dot**2 + u.dot**2 + v.dot**2) / 2,
        potential=9.81 * (y + v),
        constraints=[
            da.holonomic(x**2 + y**2 - 1, name="upper"),
            da.holonomic((u - x) ** 2 + (v - y) ** 2 - 1, name="lower"),
        ],
    )
    a, b = 0.7, 0.3
    start = {
        "x": np.sin(a),
        "y": -np.cos(a),
        "u": np.sin(a) + np.sin(b),
        "v": -np.cos(a) - np.cos(b),
    }
    return Problem("double pendulum on rods", rods, start, 2.0, 0.02)


def _slider() -> Problem:
    """The particle with z' = y x' of the source documents, in a potential that keeps it near."""
    x, y, z = da.coordinates("x y z")
    slider = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=(x**2 + 2 * y**2 + z**2) / 2 + x**2 * z**2,
        constraints=[da.velocity(z.dot - y * x.dot, name="slide")],
    )
    return Problem(
        "particle with z' = y x'",
        slider,
        {"x": 0.6, "y": 0.3, "z": 0.1, "x_dot": 0.2, "y_dot": 0.5},
        6.0,
        0.1,
    )


def _body() -> Problem:
    """A free rigid body: M' = [M, W], Q' = Q W."""
    momenta, inertias = da.coordinates("m1 m2 m3"), (1.0, 2.0, 3.0)

    def hat(v: Any) -> Matrix:
        return Matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])

    turn = hat([m / i for m, i in zip(momenta, inertias, strict=True)])
    M, Q = (
        hat(momenta),
        Matrix(3, 3, da.coordinates(" ".join(f"q{i}{j}" for i in range(3) for j in range(3)))),
    )
    moved, side = M * turn - turn * M, ImmutableMatrix(-turn)
    body = da.Flow(
        {momenta[0]: moved[2, 1], momenta[1]: moved[0, 2], momenta[2]: moved[1, 0]}
        | dict(zip(Q, Q * turn, strict=True)),
        integrals={"energy": sum(m**2 / i for m, i in zip(momenta, inertias, strict=True)) / 2},
        matrices={"M": M, "Q": Q},
        actions=[da.lie.Action("M", side, side), da.lie.Action("Q", None, side)],
    )
    start = {"m1": 0.3, "m2": 1.0, "m3": -0.6, "q00": 1.0, "q11": 1.0, "q22": 1.0}
    return Problem("rigid body and its attitude", body, start, 5.0, 0.2)


#: Problems by kind of system.
PROBLEMS = {
    "free, constant mass": _well(),
    "free, variable mass": _arm(),
    "holonomic": _rods(),
    "nonholonomic": _slider(),
    "matrices on a group": _body(),
}
#: The methods that suit each kind.
SUITS: dict[str, tuple[str, ...]] = {
    "free, constant mass": (*GAUSS, *RATTLE, *CANONICAL, *BY_ROOTS, "rk4", "moreau"),
    "free, variable mass": (*GAUSS, *CANONICAL, *BY_ROOTS, "rk4"),
    "holonomic": (*RATTLE, *CANONICAL),
    "nonholonomic": (*GAUSS, *BY_ROOTS),
    "matrices on a group": (*GAUSS, *ON_GROUPS),
}
#: The kind of system that each method is meant for.
HOME = (
    dict.fromkeys((*GAUSS, "rk4"), "free, variable mass")
    | dict.fromkeys((*RATTLE, *CANONICAL), "holonomic")
    | dict.fromkeys(BY_ROOTS, "nonholonomic")
    | {"moreau": "free, constant mass"}
    | dict.fromkeys(ON_GROUPS, "matrices on a group")
)


def claimed_order(method: str) -> int:
    """The order that a method's name states; 2 where it states none."""
    return int(method[-1]) if method[-1].isdigit() else 2


def errors_at_end(problem: Problem, exact: Any, method: str, count: int, **options: Any) -> float:
    """The largest error of the coordinates at the end of `until`, with `count` steps."""
    motion = problem.run(method, problem.until, step=problem.until / count, **options)
    return float(np.abs(motion.y[: len(exact), -1] - exact).max())


def exact_end(problem: Problem) -> Any:
    """The coordinates at the end of `until`, by dop853 with the smallest tolerance."""
    motion = da.simulate(
        problem.model, problem.start, (0.0, problem.until), rtol=1e-14, at=[problem.until]
    )
    size = len(problem.model.coordinates)
    return motion.y[:size, 0]


def measured_order(problem: Problem, method: str, exact: Any) -> float:
    """The derivative of the error between the last two step sizes before rounding shows."""
    count = max(8, round(problem.until / (8 * problem.step)))
    try:
        errors = [errors_at_end(problem, exact, method, count)]
    except RuntimeError:  # a coarse step whose equations have no solution
        count *= 4
        errors = [errors_at_end(problem, exact, method, count)]
    while errors[-1] > 3e-6 / 50 ** (claimed_order(method) / 2 - 1) and count < 20_000:
        count *= 2
        errors.append(errors_at_end(problem, exact, method, count))
    while len(errors) < 2 or errors[-1] > 0.2 * errors[-2]:
        count *= 2
        errors.append(errors_at_end(problem, exact, method, count))
        if len(errors) > 12:
            break
    return float(np.log2(errors[-2] / errors[-1]))


@dataclass(frozen=True)
class Drift:
    """Energy over a long run, relative to its size: the largest error, and what a straight line
    through it rises in the run.
    """

    largest: float
    rise: float
    seconds: float


def drift(problem: Problem, method: str, steps: int, step: float | None = None) -> Drift:
    """The energy of a method over many steps."""
    size = problem.step if step is None else step
    began = time.process_time()
    motion = problem.run(method, steps * size, step=size, every=max(1, steps // 4000))
    seconds = time.process_time() - began
    energy = problem.energies(motion)
    error = (energy - energy[0]) / max(abs(energy[0]), float(np.abs(energy).max()))
    derivative = float(np.polyfit(motion.t, error, 1)[0])
    return Drift(float(np.abs(error).max()), derivative * steps * size, seconds)


def work_precision(
    problem: Problem, method: str, exact: Any, repeats: int = 5
) -> list[tuple[float, float]]:
    """Pairs of error and of seconds in native code, from coarse to fine; the least of some
    repetitions.
    """
    found: list[tuple[float, float]] = []
    fixed = method in SUITS_ANY
    settings: list[dict[str, Any]] = (
        [
            {
                "step": problem.until / round(problem.until / (4 * problem.step) * 2**k),
                "every": 10**6,
            }
            for k in range(9)
        ]
        if fixed
        else [{"rtol": 10.0**-k, "at": [problem.until]} for k in range(3, 14)]
    )
    for options in settings:
        try:
            motion = problem.run(method, problem.until, **options)
        except RuntimeError:
            continue
        error = float(np.abs(motion.y[: len(exact), -1] - exact).max())
        if found and (error < 3e-13 or error > 0.7 * found[-1][0]):
            break
        runs = [problem.run(method, problem.until, **options) for _ in range(repeats)]
        found.append((error, min(run.statistics["integrate_seconds"] for run in runs)))
        if found[-1][1] > 0.1:
            break
    return found


SUITS_ANY = {method for methods in SUITS.values() for method in methods}
