"""W2: N unit masses on N unit rods in Cartesian coordinates, from Lagrangian and constraints to
accelerations.

``python benchmarks/w2_cartesian.py ENTRY N`` measures one entry: seconds to derive and compile, and
microseconds of one constrained solve. Every answer is compared with a banded solve by hand.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from harness import Clock, Entry, Workload, cpu_seconds, per_call, report, serve
from w1_model import RightSide, random_state
from w1_peers import CASADI_LOOP

GRAVITY = 9.81
LARGEST_ERROR = 1e-8


def cartesian_state(n: int) -> np.ndarray:
    """Positions (x_0, y_0, x_1, ...) and velocities of a chain whose rods have random angles and
    rates.
    """
    angles, rates = np.split(random_state(n), 2)
    places = np.stack([np.cumsum(np.sin(angles)), -np.cumsum(np.cos(angles))], 1)
    speeds = np.stack([np.cumsum(np.cos(angles) * rates), np.cumsum(np.sin(angles) * rates)], 1)
    return np.concatenate([places.ravel(), speeds.ravel()])


def by_hand(state: np.ndarray) -> np.ndarray:
    """The accelerations, (2 n,), by the tridiagonal system of the tensions."""
    from scipy.linalg import solveh_banded

    n = len(state) // 4
    places, speeds = state[: 2 * n].reshape(n, 2), state[2 * n :].reshape(n, 2)
    rods, turns = np.diff(places, axis=0, prepend=0), np.diff(speeds, axis=0, prepend=0)
    right = np.sum(turns**2, 1)
    right[0] -= GRAVITY * rods[0, 1]
    band = np.zeros((2, n))
    band[1] = 2 * np.sum(rods**2, 1)
    band[1, 0] /= 2
    band[0, 1:] = -np.sum(rods[:-1] * rods[1:], 1)
    pulls = solveh_banded(band, right)[:, None] * rods
    found = -pulls
    found[:-1] += pulls[1:]
    found[:, 1] -= GRAVITY
    return found.ravel()


def dalembert(n: int) -> RightSide:
    import sympy

    import dalembert as da

    q = da.coordinates(" ".join(f"x{i} y{i}" for i in range(n)))
    before = [sympy.Integer(0), sympy.Integer(0), *q[:-2]]
    gaps = [a - b for a, b in zip(q, before, strict=True)]
    rods = [
        da.holonomic(a**2 + b**2 - 1, name=f"rod{i}")
        for i, (a, b) in enumerate(zip(gaps[::2], gaps[1::2], strict=True))
    ]
    kinetic = sympy.Add(*[c.dot**2 / 2 for c in q])
    potential = GRAVITY * sympy.Add(*q[1::2])
    clock = Clock()
    system = da.System(q, kinetic=kinetic, potential=potential, constraints=rods)
    return _compiled(system, n, clock)


def dalembert_repeat(n: int) -> RightSide:
    """One link is stated, and that there are n of them."""
    import dalembert as da

    x, y = da.coordinates("x y")
    clock = Clock()
    system = da.repeat(
        n,
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=GRAVITY * y,
        constraints=[da.holonomic((x - x.before) ** 2 + (y - y.before) ** 2 - 1, name="rod")],
        first={x.before: 0, y.before: 0},
    )
    return _compiled(system, n, clock)


def _compiled(system: Any, n: int, clock: Clock) -> RightSide:
    import dalembert as da

    stated, _ = clock.read()
    kernel = da.derive(system, "lagrange").compile()
    kernel.address("fast")
    compiled, _ = clock.read()
    state, calls = cartesian_state(n), max(200, 20_000 // n)
    return RightSide(
        lambda x: kernel.rates(0.0, x)[2 * n :],
        native=lambda: (lambda: kernel.time_native(0.0, state, (), calls), calls),
        stages={"stage_state_s": stated, "stage_compile_s": compiled - stated},
    )


def hand_c(n: int) -> RightSide:
    source = Path(__file__).with_name("w2_hand.c").read_text()
    os.chdir(tempfile.mkdtemp())
    Path("f.c").write_text(f"#define N {n}\n{source}")
    subprocess.check_call(
        ["gcc", "-O3", "-march=native", "-ffast-math", "-fPIC", "-shared", "f.c", "-o", "f.so"]
    )
    return _loaded("./f.so", n, "rhs")


def _loaded(path: str, n: int, name: str) -> RightSide:
    library = ctypes.CDLL(path)
    found, calls, state = np.zeros(2 * n), max(200, 20_000 // n), cartesian_state(n)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (state, found)]

    def call(x: Any) -> Any:
        getattr(library, name)(ctypes.c_void_p(np.ascontiguousarray(x).ctypes.data), pointers[1])
        return found.copy()

    return RightSide(
        call, native=lambda: (lambda: library.loop(*pointers, ctypes.c_long(calls)), calls)
    )


def casadi_schur(n: int) -> RightSide:
    """CasADi's sparse L D L^T of the Schur complement, expanded and compiled by gcc."""
    import casadi as ca

    x = ca.SX.sym("x", 4 * n)
    q, v = x[: 2 * n], x[2 * n :]
    places = ca.vertsplit(q)
    lagrangian = 0.5 * ca.dot(v, v) - GRAVITY * sum(places[1::2])
    before = [ca.SX(0), ca.SX(0), *places[:-2]]
    gaps = [a - b for a, b in zip(places, before, strict=True)]
    rods = ca.vertcat(
        *[0.5 * (a * a + b * b - 1) for a, b in zip(gaps[::2], gaps[1::2], strict=True)]
    )
    metric, momenta = ca.hessian(lagrangian, v)
    derivative = ca.jacobian(rods, q)
    force = ca.gradient(lagrangian, q) - ca.jtimes(momenta, q, v)
    right = -ca.jtimes(ca.jtimes(rods, q, v), q, v)
    pivots, factor, order = ca.ldl(derivative @ ca.solve(metric, derivative.T))
    pulls = ca.ldl_solve(derivative @ ca.solve(metric, force) - right, pivots, factor, order)
    function = ca.Function("f", [x], [ca.solve(metric, force - derivative.T @ pulls)])
    os.chdir(tempfile.mkdtemp())
    function.generate("f.c")
    Path("loop.c").write_text(CASADI_LOOP)
    subprocess.check_call(
        ["gcc", "-O1", "-march=native", "-fPIC", "-shared", "f.c", "loop.c", "-o", "f.so", "-lm"]
    )
    compiled = ca.external("f", "./f.so")
    library, found = ctypes.CDLL("./f.so"), np.zeros(2 * n)
    state, calls = cartesian_state(n), max(200, 20_000 // n)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (state, found)]
    size = ctypes.c_int(4 * n)
    return RightSide(
        lambda x: np.asarray(compiled(x)).ravel(),
        native=lambda: (lambda: library.loop(*pointers, ctypes.c_long(calls), size), calls),
    )


GENERIC, HAND = "Lagrangian and constraints", "equations by hand"
OURS = ("sympy", "dalembert.formulations.registry", "dalembert.runtime.kernel")
#: N = 10 000 is for those that make loops of what repeats, or were written with loops.
SIZES = ("10", "100", "1000", "10000")
ENTRIES = (
    Entry("dalembert", GENERIC, dalembert, OURS, sizes=SIZES[:-1]),
    Entry(
        "dalembert-repeat", GENERIC, dalembert_repeat, (*OURS, "dalembert.model.builders.repeat")
    ),
    Entry("casadi-schur-C", GENERIC, casadi_schur, ("casadi",), compiler=True, sizes=SIZES[:-1]),
    Entry("hand-C", HAND, hand_c, ("scipy",), compiler=True),
)
WORKLOAD = Workload(
    key="W2",
    title=(
        "Cartesian chain of N masses and N rods: from Lagrangian and constraints to accelerations"
    ),
    script="w2_cartesian.py",
    entries=ENTRIES,
    sizes=SIZES,
    shown_size="1000",
    quick_sizes=("10", "100"),
    label="N",
    by_size=("derive_compile_s", "native_us", "call_us"),
)


def measure(entry: Entry, size: str) -> None:
    n, name = int(size), WORKLOAD.row_name(size)
    state = cartesian_state(n)
    clock = Clock()
    side = entry.build(n)
    found = np.asarray(side.call(state)).ravel()
    cpu, _ = clock.read()
    exact = by_hand(state)
    error = float(np.max(np.abs(found - exact)) / np.max(np.abs(exact)))
    if not error < LARGEST_ERROR:
        report(name, entry.name, "status", f"wrong: error {error:.1e}", error)
        return
    report(name, entry.name, "derive_compile_s", cpu, error)
    for stage, seconds in side.stages.items():
        report(name, entry.name, stage, seconds, error)
    report(name, entry.name, "script_s", cpu_seconds(), error)
    report(name, entry.name, "call_us", 1e6 * per_call(lambda: side.call(state)), error)
    if side.native is not None:
        task, calls = side.native()
        report(name, entry.name, "native_us", 1e6 * per_call(task) / calls, error)


if __name__ == "__main__":
    serve(WORKLOAD, measure)
