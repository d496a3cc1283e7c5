"""W1: a planar chain of N unit links with unit masses, from its energies to a right-hand side that
can be called.

``python benchmarks/w1_chain.py ENTRY N`` measures one entry: seconds to derive and compile, and
microseconds of a call from Python and of a call inside native code. Every answer is compared with
the closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import w1_peers as peers
from harness import Clock, Entry, Workload, cpu_seconds, per_call, report, serve
from w1_model import RightSide, closed_form, energies, random_state

#: An answer that is further from the closed form than this is reported as wrong and never ranked.
LARGEST_ERROR = 1e-8


def dalembert(n: int) -> RightSide:
    return _compiled(n, lambda name, value: value)


def dalembert_defined(n: int) -> RightSide:
    """The same with names for the velocities and heights of links, which SymPy keeps whole."""
    import dalembert as da

    return _compiled(n, da.define)


def _compiled(n: int, named: Callable[[str, Any], Any]) -> RightSide:
    import sympy

    import dalembert as da

    clock = Clock()
    q = da.coordinates(f"q0:{n}")
    kinetic, potential = energies(sympy, q, [angle.dot for angle in q], named)
    written, _ = clock.read()
    kernel = da.derive(da.System(coordinates=q, kinetic=kinetic, potential=potential)).compile()
    kernel.address("fast")
    compiled, _ = clock.read()
    state, calls = random_state(n), 2000
    return RightSide(
        lambda x: kernel.rates(0.0, x),
        native=lambda: (lambda: kernel.time_native(0.0, state, (), calls), calls),
        stages={"stage_write_s": written, "stage_compile_s": compiled - written},
    )


NATIVE, INTERPRETED = "energies to native code", "energies to interpreted code"
OURS = (
    "sympy",
    "sympy.tensor.tensor",
    "dalembert.formulations.registry",
    "dalembert.runtime.kernel",
)
MECHANICS = ("sympy", "sympy.physics.mechanics")
ENTRIES = (
    Entry("dalembert", NATIVE, dalembert, OURS),
    Entry("dalembert-defined", NATIVE, dalembert_defined, OURS),
    Entry("dalembert-first-run", NATIVE, dalembert, OURS, sizes=("10",), first_run=True),
    Entry("jax", NATIVE, peers.jax_jit, ("jax", "jax.scipy.linalg")),
    Entry("heyoka", NATIVE, peers.heyoka_cfunc, ("heyoka",)),
    Entry(
        "casadi-C-loop-O2",
        NATIVE,
        lambda n: peers.casadi_c(n, "-O2", expand=False),
        ("casadi",),
        compiler=True,
    ),
    Entry("casadi-C-O1", NATIVE, lambda n: peers.casadi_c(n, "-O1"), ("casadi",), compiler=True),
    Entry("casadi-C-O2", NATIVE, lambda n: peers.casadi_c(n, "-O2"), ("casadi",), compiler=True),
    Entry("symengine-llvm", NATIVE, peers.symengine_llvm, ("symengine",)),
    Entry("casadi-vm", INTERPRETED, peers.casadi_vm, ("casadi",)),
    Entry("sympy-lagrange", INTERPRETED, peers.sympy_lagrange, MECHANICS),
    Entry("sympy-kane", "vectors", peers.sympy_kane, MECHANICS),
    Entry(
        "pydy-cython",
        "vectors",
        peers.pydy_cython,
        (*MECHANICS, "pydy.codegen.ode_function_generators"),
        compiler=True,
    ),
    Entry("pinocchio", "bodies", peers.pinocchio_aba, ("pinocchio",)),
    Entry("mujoco", "bodies", peers.mujoco_forward, ("mujoco",)),
    Entry(
        "drake",
        "bodies",
        peers.drake_plant,
        ("pydrake.math", "pydrake.multibody.plant", "pydrake.multibody.tree"),
    ),
    Entry(
        "hand-C-dense",
        "equations by hand",
        lambda n: peers.hand_c(n, "w1_dense.c"),
        (),
        compiler=True,
    ),
    Entry(
        "hand-C-O(N)",
        "equations by hand",
        lambda n: peers.hand_c(n, "w1_tridiagonal.c"),
        (),
        compiler=True,
    ),
)
WORKLOAD = Workload(
    key="W1",
    title="planar chain of N links: from the energies to a right-hand side",
    script="w1_chain.py",
    entries=ENTRIES,
    sizes=("2", "5", "10", "20", "40", "100", "200"),
    quick_sizes=("2", "10"),
    label="N",
    shown_size="40",
    by_size=("derive_compile_s", "call_us", "call_buffer_us", "native_us", "batch_us"),
)


def measure(entry: Entry, size: str) -> None:
    n, name = int(size), WORKLOAD.row_name(size)
    state = random_state(n)
    clock = Clock()
    side = entry.build(n)
    side.call(state)
    cpu, wall = clock.read()
    whole = cpu_seconds()
    truth = closed_form(state)
    error = float(
        np.max(np.abs(np.asarray(side.call(state)).ravel() - truth)) / np.max(np.abs(truth))
    )
    if not error < LARGEST_ERROR:
        report(name, entry.name, "status", f"wrong: relative error {error:.1e}", error)
        return
    report(name, entry.name, "derive_compile_s", cpu, error)
    report(name, entry.name, "derive_compile_wall_s", wall, error)
    report(name, entry.name, "script_s", whole, error)
    for metric, value in side.stages.items():
        report(name, entry.name, metric, value, error)
    report(name, entry.name, "call_us", 1e6 * per_call(lambda: side.call(state)), error)
    ways = dict(side.others)
    if side.native is not None:
        ways["native_us"] = side.native
    for metric, prepare in ways.items():
        task, calls = prepare()
        report(name, entry.name, metric, 1e6 * per_call(task) / calls, error)


if __name__ == "__main__":
    serve(WORKLOAD, measure)
