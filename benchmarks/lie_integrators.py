"""A million steps of the free rigid body: what each method keeps, beside general integrators at the
same step.

    python benchmarks/lie_integrators.py [--steps 1000000] [--step 0.1]

The body turns in three and in four dimensions. Each line gives, over all steps, the largest
relative change of the spectrum of M, of the Casimirs tr M^2k, of Q^T Q, of the spatial momentum Q M
Q^T, and of the energy with its change per unit of time by a straight line and the standard error of
that; and steps per second of processor time. The general integrators are dop853 with its step held,
and the classical Runge-Kutta method of order 4, both in native code on the same compiled equations;
SciPy's RK45 with its step held takes a hundredth of the steps, and what it loses is per step the
same.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.codegen.native.language import Integers, Reals, native
from dalembert.codegen.native.native_module import NativeModule
from dalembert.integrate.methods.table import METHODS
from dalembert.runtime.context import Context
from dalembert.runtime.kernel import kernel_of
from dalembert.runtime.projection import STATE, evaluate

ON_GROUPS = tuple(
    name for name, method in METHODS.items() if method.is_fixed and method.form is None
)

INERTIAS = {3: [1.0, 2.0, 3.5], 4: [1.0, 1.5, 2.2, 3.1]}
#: How many states are looked at.
POINTS = 1000


@native
def rk4(context: Integers, steps: int, h: float, y: Reals, work: Reals) -> int:
    """Classical Runge-Kutta steps in place; work has 3 rows of n_state + 1 places."""
    ns = context[STATE]
    rate, stage, total = work, work + (ns + 1), work + 2 * (ns + 1)
    for k in range(steps):
        for c in range(ns):
            stage[c] = y[c]
            total[c] = 0.0
        for s in range(4):
            status = evaluate(context, k * h, stage, rate)
            if status != 0:
                return status
            weight = 1.0 if s == 0 or s == 3 else 2.0
            reach = h if s == 2 else 0.5 * h
            for c in range(ns):
                total[c] += weight * rate[c]
                stage[c] = y[c] + reach * rate[c]
        for c in range(ns):
            y[c] += h / 6.0 * total[c]
    return 0


def main() -> None:
    reader = argparse.ArgumentParser(description="A million steps of the rigid body.")
    reader.add_argument("--steps", type=int, default=1_000_000)
    reader.add_argument("--step", type=float, default=0.1)
    arguments = reader.parse_args()
    for n, inertias in INERTIAS.items():
        compare(n, inertias, arguments.steps, arguments.step)


def compare(n: int, inertias: list[float], steps: int, h: float) -> None:
    flow = da.lie.rigid_body(inertias)
    entries = np.random.default_rng(n).normal(size=(n, n))
    momentum = entries - entries.T
    start = flow.start(Q=np.eye(n), M=6.0 * momentum / np.linalg.norm(momentum))
    print(f"SO({n}), {steps} steps of {h:g}")
    collected = ("spectrum", "Casimirs", "Q^T Q", "Q M Q^T", "energy")
    print(
        f"{'method':15s} "
        + " ".join(f"{head:>9s}" for head in collected)
        + f" {'slope':>19s} {'steps/s':>9s}"
    )
    every = max(1, steps // POINTS)
    for method in ON_GROUPS:
        da.simulate(flow, start, (0, h), method=method, step=h)
        began = time.process_time()
        motion = da.simulate(flow, start, (0, steps * h), method=method, step=h, every=every)
        speed = motion.statistics["steps"] / (time.process_time() - began)
        line(method, motion.t, motion["M"], motion["Q"], motion.energy, speed, motion.outcome)
    general(flow, start, steps, h, every)


def general(flow: da.Flow, start: dict[str, float], steps: int, h: float, every: int) -> None:
    """The independent implementations: dop853 and RK4 in native code, SciPy's RK45."""
    times = np.linspace(0, steps * h, POINTS + 1)
    began = time.process_time()
    motion = da.simulate(
        flow,
        start,
        (0, steps * h),
        rtol=0.1,
        atol=1e3,
        first_step=h,
        max_step=h,
        project=False,
        at=times,
        max_steps=2 * steps,
    )
    line(
        "dop853",
        motion.t,
        motion["M"],
        motion["Q"],
        motion.energy,
        steps / (time.process_time() - began),
        motion.outcome,
    )
    kernel = kernel_of(da.derive(flow), flow.parameters)
    context, call = Context(kernel, []), NativeModule([rk4]).functions["rk4"]
    y, work, states = (
        motion.y[:, 0].copy(),
        np.zeros((3, kernel.n_state + 1)),
        [motion.y[:, 0].copy()],
    )
    began = time.process_time()
    for _ in range(steps // every):
        call(context.entries, every, h, y, work)
        states.append(y.copy())
    speed = steps / (time.process_time() - began)
    matrices(flow, "rk4", np.arange(len(states)) * every * h, np.array(states), speed)
    few = max(100, steps // 100)
    began = time.process_time()
    rates = kernel.rates
    found = solve_ivp(
        lambda t, y: rates(t, y, ()),
        (0, few * h),
        states[0],
        method="RK45",
        rtol=0.1,
        atol=1e3,
        first_step=h,
        max_step=h,
    )
    matrices(flow, "scipy RK45 /100", found.t, found.y.T, few / (time.process_time() - began))


def matrices(flow: da.Flow, name: str, t: Any, states: Any, speed: float) -> None:
    """A line from states (nt, n_state)."""
    places = {q: k for k, q in enumerate(flow.coordinates)}
    found = {}
    for key, matrix in flow.matrices.items():
        found[key] = np.zeros((len(t), *matrix.shape))
        for place in np.ndindex(*matrix.shape):
            for symbol in matrix[place].free_symbols:
                found[key][(slice(None), *place)] = (
                    float(matrix[place].coeff(symbol)) * states[:, places[symbol]]
                )
    M = found["M"]
    rates = np.array([[1.0 / (a + b) for b in INERTIAS[M.shape[1]]] for a in INERTIAS[M.shape[1]]])
    line(name, t, M, found["Q"], np.sum(M**2 * rates, axis=(1, 2)) / 4, speed, "finished")


def line(name: str, t: Any, M: Any, Q: Any, energy: Any, speed: float, outcome: Any) -> None:
    if not np.isfinite(M).all() or str(outcome) != "finished":
        print(f"{name:15s} {outcome}, t = {t[-1]:g}")
        return
    spectrum = np.sort(np.linalg.eigvalsh(1j * M), axis=1)
    casimirs = np.stack(
        [np.trace(np.linalg.matrix_power(M, 2 * k), axis1=1, axis2=2) for k in (1, 2)]
    )
    turned = np.swapaxes(Q, 1, 2)
    size = np.abs(spectrum[0]).max()
    figures = [
        np.abs(spectrum - spectrum[0]).max() / size,
        np.abs(casimirs / casimirs[:, :1] - 1).max(),
        np.abs(turned @ Q - np.eye(Q.shape[1])).max(),
        np.abs(Q @ M @ turned - Q[0] @ M[0] @ turned[0]).max() / size,
        np.abs(energy / energy[0] - 1).max(),
    ]
    (derivative, _), covariance = np.polyfit(t, energy / energy[0], 1, cov=True)
    print(
        f"{name:15s} "
        + " ".join(f"{value:9.1e}" for value in figures)
        + f" {derivative:+9.1e} +-{np.sqrt(covariance[0, 0]):7.1e} {speed:9.2e}"
    )


if __name__ == "__main__":
    main()
