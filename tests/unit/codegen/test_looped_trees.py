"""Trees in joint coordinates whose loops are closed: multipliers eliminated with the bodies."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.algebra.lifted_factor import bordered
from dalembert.codegen.passes.lifted_solve import lifted_solution
from dalembert.runtime.kernel import Kernel


def coupler_chain(loops: int, crank: float = 1.0) -> da.System:
    """A chain of unit couplers with masses at its joints, each held by a crank from the ground."""
    x, y = da.coordinates("x y")
    angles = da.coordinates(" ".join(f"a{k}" for k in range(loops)))
    places, speeds = [(x, y)], [(x.dot, y.dot)]
    for a in angles:
        (px, py), (vx, vy) = places[-1], speeds[-1]
        places.append((px + sympy.cos(a), py + sympy.sin(a)))
        speeds.append((vx - sympy.sin(a) * a.dot, vy + sympy.cos(a) * a.dot))
    cranks = [
        da.holonomic((px - k) ** 2 + py**2 - crank**2, name=f"crank{k}")
        for k, (px, py) in enumerate(places)
    ]
    return da.System(
        [x, y, *angles],
        kinetic=sum(vx**2 + vy**2 for vx, vy in speeds) / 2,
        potential=9.81 * sum(py for _, py in places),
        constraints=cranks,
    )


def dense_solution(kernel: Kernel, state: np.ndarray) -> np.ndarray:
    """z by a dense solve with the blocks of the kernel."""
    import casadi as ca

    g = kernel.graph
    blocks = ca.Function("blocks", kernel._inputs(), [g.metric, g.force, g.rows, g.right])
    G, f, A, b = (np.asarray(block) for block in blocks(0.0, state, [], [], []))
    whole = np.block([[G, -A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.solve(whole, np.vstack([f, b])).ravel()[: len(G)]


@pytest.mark.parametrize("loops", [9, 24])
def test_accelerations_are_those_of_a_dense_solve(loops: int):
    kernel = da.derive(coupler_chain(loops), "lagrange").compile()
    assert kernel._lifted is not None and kernel._lifted.step is not None
    random = np.random.default_rng(4)
    for _ in range(3):
        state = random.uniform(-1.0, 1.0, kernel.n_state)
        expected = dense_solution(kernel, state)
        found = kernel.rates(0.0, state)[kernel.n :]
        assert np.allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_operations_grow_like_the_loops():
    lengths = [
        len(da.derive(coupler_chain(loops), "lagrange").compile().program("fast").instructions)
        for loops in (10, 20, 40)
    ]
    assert lengths[2] - lengths[1] < 2.2 * (lengths[1] - lengths[0])


def test_the_pendulum_that_parallel_cranks_are():
    loops, angle = 12, 0.4
    system = coupler_chain(loops)
    x, y = system.coordinates[:2]
    start = {x: np.sin(angle), y: -np.cos(angle)}
    motion = da.simulate(system, start, (0.0, 1.0), at=np.linspace(0.0, 1.0, 11))
    pendulum = da.coordinates("theta")
    single = da.System(
        [pendulum], kinetic=pendulum.dot**2 / 2, potential=-9.81 * sympy.cos(pendulum)
    )
    exact = da.simulate(single, {pendulum: angle}, (0.0, 1.0), at=motion.t)
    assert np.abs(motion["x"] - np.sin(exact["theta"])).max() < 1e-7
    assert max(motion.worst_residual.values()) < 1e-11


def test_multipliers_wait_for_the_symbols_behind_their_rows():
    import casadi as ca

    from dalembert.algebra.lifted import lift

    v = ca.SX.sym("v", 4)
    first = v[0] + v[1]
    second = first + 2 * v[2]
    scalar = v[3] ** 2 + first**2 + second**2 + (second + v[3]) ** 2
    lifting = lift(scalar, v, ca.vertcat(3 * second))
    assert lifting is not None and len(lifting.rows) == 1
    whole, after = bordered(lifting)
    assert whole.n == 5 and len(after[4]) >= 2 and after[4] <= {0, 1, 2, 3}
    assert lift(scalar, v, v[0] * v[1]) is None  # not affine


def test_rows_that_are_not_derivatives_of_residuals_are_left_to_the_ordinary_solve():
    from dataclasses import replace

    kernel = da.derive(coupler_chain(10), "lagrange").compile()
    wrong = replace(kernel.graph, rows=2 * kernel.graph.rows)
    assert lifted_solution(kernel.graph) is not None
    assert lifted_solution(wrong) is None


def test_the_energy_of_a_large_system_is_read_without_a_solve():
    system = coupler_chain(26)
    x, y = system.coordinates[:2]
    motion = da.simulate(system, {x: 0.6, y: -0.8}, (0.0, 0.2))
    alone = motion.energy
    assert "observe_seconds" not in motion.statistics and "energy_seconds" in motion.statistics
    assert np.abs(alone - motion["energy"]).max() < 1e-10
    assert np.ptp(alone) < 1e-8
