"""Nonholonomic systems over a million steps: which methods keep the energy, which let it drift, and
how fast they step.

    python benchmarks/nonholonomic_steps.py [--steps 1000000] [--only cvt]

The problems are a disk that rolls, a snakeboard on springs, Chaplygin's sleigh, a particle; the
contact oscillator of R. McLachlan and M. Perlmutter (J. Nonlinear Sci. 16 (2006) 283, 5.2), regular
and, with a stronger coupling, chaotic; and a continuously variable transmission driven by a
pendulum, after K. Modin and O. Verdier (What makes nonholonomic integrators work?, Numer. Math. 145
(2020) 405): two oscillators coupled by a belt whose ratio is the pendulum's angle. The transmission
comes twice: as it is, which is reversible, and with a total time derivative added to its
Lagrangian. That does not change the motion, but what a method makes of it is no longer reversible.
Each line gives the order measured in the positions, the largest change of the energy, where its
mean over the last eighth of the run lies against that over the first, the largest residual of the
constraints, and steps per second of processor time. dop853 chooses its steps, at rtol = 1e-10, and
ends each of them on the constraints.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import cos, diff, sin

import dalembert as da

METHODS = (
    "dla", "dla4", "nonholonomic-leapfrog", "nonholonomic-leapfrog4", "nonholonomic-leapfrog6",
    "energy2", "energy4", "gauss2",
)  # fmt: skip
#: How many states are looked at.
POINTS = 4000


@dataclass(frozen=True)
class Problem:
    """A system, where it starts, a step that the methods of order 2 can take, and where it begins
    for the order.
    """

    system: da.System
    start: dict[str, float]
    step: float
    parameters: dict[str, Any]


def transmission(gauge: float = 0.0) -> da.System:
    """Two oscillators x and y on a belt of ratio tan s, where s is a pendulum; plus the rate of a
    function of position.
    """
    x, y, s = coordinates = da.coordinates("x y s")
    function = sin(s + 0.3) + sin(x + 0.7) * cos(y - 0.4) / 2 + 0.3 * cos(s) * x
    rate = sum(diff(function, q) * q.dot for q in coordinates)
    return da.System(
        [x, y, s],
        lagrangian=(x.dot**2 + y.dot**2 + s.dot**2) / 2
        - (x**2 + 2 * y**2) / 2
        + cos(s)
        - 1
        + gauge * rate,
        constraints=[da.velocity(cos(s) * y.dot - sin(s) * x.dot, name="belt")],
    )


def contact_oscillator(coupling: float = 0.3) -> da.System:
    """Three oscillators, of which two are coupled by x_dot + y z_dot = 0 and a potential."""
    x, y, z = da.coordinates("x y z")
    return da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=(x**2 + y**2 + z**2 + coupling * x**2 * z**2) / 2,
        constraints=[da.velocity(x.dot + y * z.dot, name="contact")],
    )


def problems() -> dict[str, Problem]:
    driven = {"x": 1.0, "y": 0.3, "s": 1.0, "s_dot": 0.1, "x_dot": 0.5}
    found = {
        "cvt": Problem(transmission(), driven, 0.2, {}),
        "cvt-gauge": Problem(transmission(0.2), driven, 0.2, {}),
        "contact": Problem(
            contact_oscillator(),
            {"x": 1.1, "y": 1.0, "z": -0.55, "y_dot": 0.3, "z_dot": 0.2},
            0.1,
            {},
        ),
        "chaotic-contact": Problem(
            contact_oscillator(6.0),
            {"x": 1.5, "y": 1.0, "z": -0.9, "y_dot": 0.8, "z_dot": 0.7},
            0.05,
            {},
        ),
    }
    for name, step in (
        ("nonholonomic-particle", 0.05),
        ("chaplygin-sleigh", 0.05),
        ("rolling-disk", 0.005),
    ):
        scenario = da.gallery.load(name)
        found[name] = Problem(
            scenario.system, dict(scenario.start), step, dict(scenario.parameters)
        )
    board = da.gallery.load("snakeboard")
    found["snakeboard"] = Problem(
        on_springs(board.system), dict(board.start), 0.05, dict(board.parameters)
    )
    return found


def on_springs(board: da.System) -> da.System:
    """The snakeboard with springs on rotor and wheels: without them the wheels come to stand
    crosswise, which is singular.
    """
    *_, psi, phi = board.coordinates
    return da.System(
        board.coordinates,
        lagrangian=board.lagrangian - (psi**2 + phi**2) / 8,
        constraints=board.bilateral,
    )


def order(problem: Problem, method: str) -> float:
    """From two runs over a short span, by the positions; nan where both are at rounding."""
    end, n = 20 * problem.step, len(problem.system.coordinates)
    common: dict[str, Any] = {"parameters": problem.parameters}
    exact = da.simulate(
        problem.system, problem.start, (0, end), rtol=1e-13, at=[end], form="lagrange", **common
    ).y[:n, 0]
    errors = []
    for part in (2, 4):
        motion = da.simulate(
            problem.system,
            problem.start,
            (0, end),
            method=method,
            step=problem.step / part,
            **common,
        )
        errors.append(float(np.abs(motion.y[:n, -1] - exact).max()) if motion.success else np.nan)
    return float(np.log2(errors[0] / errors[1])) if min(errors) > 1e-12 else np.nan


def line(name: str, motion: da.Motion, seconds: float, measured: float) -> str:
    eighths = [part.mean() for part in np.array_split(motion.energy, 8)]
    size = max(abs(motion.energy[0]), 1e-300)
    text = (
        f"{name:24s} {measured:6.2f} {np.abs(motion.energy - motion.energy[0]).max() / size:10.1e}"
    )
    text += f" {(eighths[-1] - eighths[0]) / size:10.1e} {max(motion.worst_residual.values()):9.1e}"
    text += f" {motion.statistics['steps'] / seconds:10.0f}"
    return text if motion.success else f"{text}  {motion.message}"


def main() -> None:
    reader = argparse.ArgumentParser(description="A million steps of nonholonomic systems.")
    reader.add_argument("--steps", type=int, default=1_000_000)
    reader.add_argument("--only", default="", help="problems whose name begins so")
    arguments = reader.parse_args()
    for name, problem in problems().items():
        if not name.startswith(arguments.only):
            continue
        end, common = arguments.steps * problem.step, {"parameters": problem.parameters}
        print(f"\n{name}: {arguments.steps} steps of {problem.step:g}")
        print(
            f"{'method':24s} {'order':>6s} {'|dE|/E':>10s} {'drift/E':>10s} {'residual':>9s}"
            f" {'steps/s':>10s}"
        )
        for method in METHODS:
            measured = order(problem, method)
            every = max(1, arguments.steps // POINTS)
            began = time.process_time()
            motion = da.simulate(
                problem.system,
                problem.start,
                (0, end),
                method=method,
                step=problem.step,
                every=every,
                **common,
            )
            print(line(method, motion, time.process_time() - began, measured), flush=True)
        short = end / 10
        began = time.process_time()
        motion = da.simulate(
            problem.system,
            problem.start,
            (0, short),
            at=np.linspace(0, short, POINTS),
            max_steps=10**8,
            **common,
        )
        print(
            line("dop853, a tenth of it", motion, time.process_time() - began, np.nan), flush=True
        )


if __name__ == "__main__":
    main()
