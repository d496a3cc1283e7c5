"""Linearised equations against the flow itself: differences of motions from consistent starts, on
random constraints.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import Matrix, cos, exp, sin

import dalembert as da

TIME, STEP = 0.4, 1e-5


def random_system(seed: int) -> tuple[da.System, int]:
    """A system that rests at the origin, or moves steadily along x, and the dimension of its
    states.

    The mass matrix, the damping and the constraints vary with the state: a holonomic constraint,
    one on velocities, or both.
    """
    random = np.random.default_rng(seed)
    x, y, z, w = q = da.coordinates("x y z w")
    v = Matrix([s.dot for s in q])
    a, b, c, d, e, f, g = random.uniform(-1, 1, 7)
    factor = Matrix(random.uniform(-0.4, 0.4, (4, 4))) + Matrix.diag(1, 1, 1, 1)
    factor[0, 1] += a * sin(z)
    factor[2, 3] += b * y * w
    momentum = factor * v
    stiff = random.uniform(-1, 1, (3, 3))
    rest = Matrix([y, z, w])
    potential = (rest.T * Matrix(stiff + stiff.T) * rest)[0] + c * z**3 + d * (cos(y * w) - 1)
    dissipation = random.uniform(0, 0.5) * (y.dot + a * z.dot * exp(w / 5)) ** 2
    constraints: list[Any] = []
    kind = seed % 3
    if kind != 1:
        constraints.append(da.holonomic(w - e * y - f * sin(z) + y * z, name="surface"))
    if kind != 0:
        constraints.append(
            da.velocity(y.dot - (g * z + y) * x.dot - d * sin(y) * z.dot, name="rolling")
        )
    system = da.System(
        q,
        kinetic=(momentum.T * momentum)[0] / 2,
        potential=potential,
        dissipation=dissipation,
        constraints=constraints,
    )
    return system, 8 - 2 * (kind != 1) - (kind != 0)


@pytest.mark.parametrize("speed", [0.0, 1.3])
@pytest.mark.parametrize("seed", range(12))
def test_eigenvalues_are_those_of_the_flow(seed: int, speed: float) -> None:
    """About a steady motion modulo the translation along x, which no equation contains."""
    system, dimension = random_system(seed)
    found = da.linearise(system, {"x_dot": speed})
    assert len(found.eigenvalues) == dimension - (speed != 0) and not found.moved
    table = []
    for k in range(len(found.eigenvalues)):
        ends = []
        for sign in (1, -1):
            start = dict(
                zip(found.symbols, found.point + sign * STEP * found.basis[:, k], strict=True)
            )
            motion = da.simulate(system, start, (0, TIME), rtol=1e-12, atol=1e-14)
            ends.append(np.array([motion[name][-1] for name in found.independent]))
        table.append((ends[0] - ends[1]) / (2 * STEP))
    multipliers = np.linalg.eigvals(np.array(table).T)
    wanted = np.exp(TIME * found.eigenvalues)
    # Zero eigenvalues in chains move by the root of what differences are off by.
    assert max(np.min(np.abs(multipliers - value)) for value in wanted) < 1e-4
    own, others = np.poly(multipliers), np.poly(wanted)
    np.testing.assert_allclose(own, others, atol=1e-7 * float(np.max(np.abs(others))))
