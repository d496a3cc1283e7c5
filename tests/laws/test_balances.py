"""Laws that every motion obeys, on random mechanisms: energy, virtual work, indifference,
reversal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import simpson

import dalembert as da
from core_systems import random_system

KINDS = ["", "h", "r", "n", "rv", "ha"]
TIMES = np.linspace(0.0, 2.0, 801)


def start_of(system: da.System, seed: int) -> dict[sympy.Symbol, float]:
    random = np.random.default_rng(seed)
    return {s: float(random.uniform(-0.5, 0.5)) for s in (*system.coordinates, *system.velocities)}


def on_motion(motion: da.Motion, expressions: Any) -> np.ndarray:
    """Expressions of the system's symbols along a motion, by SymPy and NumPy."""
    symbols = [*motion.system.coordinates, *motion.system.velocities]
    function = sympy.lambdify([symbols, da.t], list(expressions), cse=True)
    values = function([motion[s] for s in symbols], motion.t)
    return np.array([np.broadcast_to(np.asarray(v, dtype=float), motion.t.shape) for v in values])


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
@pytest.mark.parametrize("kinds", KINDS)
def test_energy_changes_by_the_work_that_is_done(kinds: str, form: str) -> None:
    """E = p . v - L changes by the work of forces, dissipation and reactions, less what leaves
    through the time in L.
    """
    system = random_system(40 + len(kinds), n=3, kinds=kinds)
    motion = da.simulate(system, start_of(system, 2), (0, 2), at=TIMES, rtol=1e-11, form=form)
    assert motion.success, motion.message
    applied = [
        system.forces.get(q, 0) - sympy.diff(system.dissipation, q.dot) for q in system.coordinates
    ]
    velocities = np.array([motion[v] for v in system.velocities])
    power = np.sum((on_motion(motion, applied) + motion.total_reaction) * velocities, axis=0)
    power -= on_motion(motion, [sympy.diff(system.lagrangian, da.t)])[0]
    change = motion.energy - motion.energy[0]
    for end in (200, 800):
        assert change[end] == pytest.approx(simpson(power[: end + 1], x=TIMES[: end + 1]), abs=1e-7)
    assert np.abs(change).max() > 1e-2  # something happened


@pytest.mark.parametrize("kinds", ["h", "v", "hv"])
def test_energy_is_constant_where_nothing_does_work(kinds: str) -> None:
    """Ideal constraints that are scleronomic and homogeneous in the velocities, no forces, no
    time.
    """
    system = random_system(3, n=3, kinds=kinds, gyroscopic=False, forced=False)
    motion = da.simulate(system, start_of(system, 1), (0, 20), rtol=1e-11)
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-9


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
@pytest.mark.parametrize("kinds", ["r", "v", "n", "ha"])
def test_reactions_do_no_virtual_work(kinds: str, form: str) -> None:
    system = random_system(60 + len(kinds), n=4, kinds=kinds)
    motion = da.simulate(system, start_of(system, 3), (0, 2), at=np.linspace(0, 2, 9), form=form)
    rows = []
    for c in system.bilateral:
        symbols = system.velocities if c.expression.has(*system.velocities) else system.coordinates
        rows.append(on_motion(motion, [sympy.diff(c.expression, s) for s in symbols]))
    for k in range(len(motion.t)):
        A = np.array([row[:, k] for row in rows])
        virtual = np.linalg.svd(A)[2][len(A) :]
        size = 1 + np.abs(motion.total_reaction[:, k]).max()
        assert np.abs(virtual @ motion.total_reaction[:, k]).max() < 1e-10 * size


def end_of(system: da.System, start: Any, **options: Any) -> dict[str, float]:
    motion = da.simulate(system, start, (0, 2), at=[2.0], rtol=1e-12, **options)
    assert motion.success, motion.message
    return {q.name: float(motion[q][0]) for q in system.coordinates}


@pytest.mark.long
@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_the_motion_does_not_depend_on_how_constraints_are_listed(form: str) -> None:
    """Reversed, repeated, multiplied by numbers and by functions that do not vanish, with a useless
    one beside.
    """
    system = random_system(12, n=4, kinds="hv", forced=False)
    start = da.simulate(system, start_of(system, 5), (0, 0)).start
    first, second = system.constraints
    q = system.coordinates
    expected = end_of(system, start, form=form)
    others = [
        [second, first],
        [first, second, first.named("again"), second.named("twice")],
        [
            da.holonomic(7 * first.expression, name="h"),
            da.velocity(second.expression * (2 + sympy.sin(q[0])), name="v"),
        ],
        [first, da.velocity(second.expression + 3 * da.rate(first.expression), name="mixed")],
        [first, second, da.velocity(da.rate(first.expression), name="rate")],
    ]
    for constraints in others:
        found = end_of(system.replacing(constraints=constraints), start, form=form)
        assert found == pytest.approx(expected, abs=1e-8), [c.name for c in constraints]


@pytest.mark.long
@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_the_motion_does_not_depend_on_units(form: str) -> None:
    """Coordinates in other units: q = s q', with L and the constraints written in q'."""
    system = random_system(13, n=3, kinds="v", forced=False)
    start = da.simulate(system, start_of(system, 6), (0, 0)).start
    expected = end_of(system, start, form=form)
    scales = dict(zip(system.coordinates, (1e-3, 50.0, 2e4), strict=True))
    change = {q: s * q for q, s in scales.items()} | {q.dot: s * q.dot for q, s in scales.items()}
    scaled = system.replacing(
        lagrangian=system.lagrangian.xreplace(change),
        constraints=[
            da.velocity(c.expression.xreplace(change), name=c.name) for c in system.constraints
        ],
    )
    scaled_start = {
        n: v / scales[q]
        for q in scales
        for n, v in ((q.name, start[q.name]), (q.dot.name, start[q.dot.name]))
    }
    found = end_of(scaled, scaled_start, form=form, atol=1e-14)
    assert {q.name: found[q.name] * s for q, s in scales.items()} == pytest.approx(
        expected, abs=1e-7
    )


def test_the_motion_does_not_depend_on_coordinates() -> None:
    """A double pendulum in angles, and in Cartesian coordinates with two rods."""
    a, b = da.coordinates("a b")
    x1, y1, x2, y2 = da.coordinates("x1 y1 x2 y2")
    first = (sympy.sin(a), -sympy.cos(a))
    second = (first[0] + sympy.sin(b), first[1] - sympy.cos(b))
    angles = da.System([a, b], parts=[da.particle(1, first), da.particle(2, second), da.gravity(1,
    first[1], 9.81),
                                      da.gravity(2, second[1], 9.81)])  # fmt: skip
    cartesian = da.System(
        [x1, y1, x2, y2],
        parts=[
            da.particle(1, [x1, y1]),
            da.particle(2, [x2, y2]),
            da.gravity(1, y1, 9.81),
            da.gravity(2, y2, 9.81),
        ],
        constraints=[
            da.holonomic(x1**2 + y1**2 - 1),
            da.holonomic((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1),
        ],
    )
    one = da.simulate(angles, {a: 1.0, b: 0.4}, (0, 3), at=[3.0], rtol=1e-12)
    start = {
        x1: np.sin(1.0),
        y1: -np.cos(1.0),
        x2: np.sin(1.0) + np.sin(0.4),
        y2: -np.cos(1.0) - np.cos(0.4),
    }
    two = da.simulate(cartesian, start, (0, 3), at=[3.0], rtol=1e-12)
    assert two["x1"][0] == pytest.approx(np.sin(one["a"][0]), abs=1e-8)
    assert two["x2"][0] == pytest.approx(np.sin(one["a"][0]) + np.sin(one["b"][0]), abs=1e-8)


@pytest.mark.parametrize("kinds", ["", "h", "r", "v", "a", "n"])
def test_there_and_back_in_time(kinds: str) -> None:
    system = random_system(70 + len(kinds), n=3, kinds=kinds)
    start = da.simulate(system, start_of(system, 4), (0.5, 0.5)).start
    there = da.simulate(system, start, (0.5, 2.0), rtol=1e-12)
    middle = {s.name: float(v) for s, v in zip(there.state, there.y[:, -1], strict=True)}
    back = da.simulate(system, middle, (2.0, 0.5), rtol=1e-12)
    assert dict(zip(start, back.y[:, -1], strict=True)) == pytest.approx(start, abs=1e-8)


@pytest.mark.parametrize("kinds", ["", "h", "v"])
def test_reversed_velocities_retrace_the_path(kinds: str) -> None:
    """Where L and the constraints are even and homogeneous in the velocities, v -> -v runs the film
    backwards.
    """
    system = random_system(80, n=3, kinds=kinds, gyroscopic=False, forced=False)
    start = da.simulate(system, start_of(system, 4), (0, 0)).start
    there = da.simulate(system, start, (0, 2), rtol=1e-12)
    n = len(system.coordinates)
    turned = {
        s.name: float(v) * (1 if k < n else -1)
        for k, (s, v) in enumerate(zip(there.state, there.y[:, -1], strict=True))
    }
    back = da.simulate(system, turned, (0, 2), rtol=1e-12)
    assert back.y[:n, -1] == pytest.approx([start[q.name] for q in system.coordinates], abs=1e-8)


def test_momentum_of_an_ignorable_coordinate_is_constant() -> None:
    r, phi, z = da.coordinates("r phi z")
    system = da.System(
        [r, phi, z],
        kinetic=(r.dot**2 + r**2 * phi.dot**2 + z.dot**2) / 2,
        potential=z,
        constraints=[da.holonomic(z - r**2, name="bowl")],
    )
    motion = da.simulate(system, {r: 1.0, z: 1.0, phi.dot: 0.7, r.dot: 0.3}, (0, 20), rtol=1e-11)
    assert np.abs(motion["p_phi"] - motion["p_phi"][0]).max() < 1e-9


def test_a_canonical_map_preserves_area() -> None:
    """Liouville: the Jacobian of a Hamiltonian flow, by differences of runs, is symplectic."""
    system = random_system(90, n=2, kinds="", forced=False)
    equations = da.derive(system, "hamilton")
    base = np.array([0.3, -0.2, 0.4, 0.1])
    names = [s.name for s in equations.state]

    def flow(y: np.ndarray) -> np.ndarray:
        return da.simulate(
            equations, dict(zip(names, y, strict=True)), (0, 1.5), at=[1.5], rtol=1e-13
        ).y[:, 0]

    e = 1e-4
    jacobian = np.array([(flow(base + e * d) - flow(base - e * d)) / (2 * e) for d in np.eye(4)]).T
    form = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    assert np.abs(jacobian.T @ form @ jacobian - form).max() < 1e-6
