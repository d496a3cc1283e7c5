"""Ball and beam and the upright pendubot by matching, simulated by SciPy alone."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FormError
from recorded_differences import Record, apart

u = da.inputs("u")


def ball_and_beam() -> tuple[da.System, dict[str, float]]:
    r, theta = da.coordinates("r theta")
    m, J, g = da.parameters("m J g", positive=True)
    kinetic = sympy.Rational(7, 10) * m * r.dot**2 + (J + m * r**2) / 2 * theta.dot**2
    system = da.System(
        [r, theta], kinetic=kinetic, potential=m * g * r * sin(theta), forces={theta: u}, inputs=[u]
    )
    return system, {"m": 0.1, "J": 0.05, "g": 9.81}


def pendubot() -> tuple[da.System, dict[str, float]]:
    """The shoulder is driven; both links stand."""
    a, b = da.coordinates("q1 q2")
    c1, c2, c3, c4, c5, g = da.parameters("c1 c2 c3 c4 c5 g", positive=True)
    kinetic = (c1 + c2 + 2 * c3 * cos(b)) * a.dot**2 / 2
    kinetic += (c2 + c3 * cos(b)) * a.dot * b.dot + c2 * b.dot**2 / 2
    potential = c4 * g * cos(a) + c5 * g * cos(a + b)
    system = da.System([a, b], kinetic=kinetic, potential=potential, forces={a: u}, inputs=[u])
    numbers = {"c1": 2.3333, "c2": 5.3333, "c3": 2.0, "c4": 3.0, "c5": 2.0, "g": 9.81}
    return system, numbers


SYSTEMS = {"ball and beam": ball_and_beam, "pendubot": pendubot}


@cache
def matched(name: str) -> tuple[Any, dict[str, float], float]:
    system, values = SYSTEMS[name]()
    began = time.process_time()
    found = da.control.match(system, parameters=values)
    return found, values, time.process_time() - began


def closed_loop(name: str) -> tuple[Any, Any]:
    """Rates of the plant under the law, by SymPy and NumPy alone, and E~."""
    found, values, _ = matched(name)
    system = SYSTEMS[name]()[0]
    q, v = list(system.coordinates), list(system.velocities)
    numbers = {p: values[p.name] for p in system.parameters}
    L = system.lagrangian.subs(numbers)
    p = sympy.Matrix([L.diff(s) for s in v])
    push = sympy.Matrix([L.diff(s) for s in q]) - p.jacobian(q) * sympy.Matrix(v)
    law = next(iter(found.control.values())).subs(numbers)
    push += sympy.Matrix([law if s in system.forces else 0 for s in q])
    parts = sympy.lambdify([q, v], [p.jacobian(v), push], "numpy", cse=True)
    energy = sympy.lambdify([q, v], found.shaped.energy.subs(numbers), "numpy", cse=True)

    def rates(_: float, s: np.ndarray) -> np.ndarray:
        mass, force = parts(s[:2], s[2:])
        return np.concatenate([s[2:], np.linalg.solve(mass, np.ravel(force))])

    return rates, energy


@pytest.mark.parametrize("name", SYSTEMS)
def test_it_is_matched_in_under_three_seconds_with_its_region(
    name: str, record_property: Record
) -> None:
    found, _, seconds = matched(name)
    assert found.kind == "unactuated shape" and found.definite == 1
    assert apart(record_property, f"{name} (residual)", found.certificate.residual, 0) < 1e-12
    assert found.eigenvalues.real.max() < -0.1
    assert found.region is not None and found.region.points > 1000
    assert seconds < 6  # about 2 s of processor time on a quiet machine


@pytest.mark.parametrize("name", SYSTEMS)
def test_starts_of_the_region_converge_by_scipy_alone(name: str, record_property: Record) -> None:
    found, _, _ = matched(name)
    rates, energy = closed_loop(name)
    names = [s.name for s in (*found.system.coordinates, *found.system.velocities)]
    random, tried = np.random.default_rng(8), 0
    ends = found.region.bounds
    least = energy(np.zeros(2), np.zeros(2))
    while tried < 4:
        q = np.array([random.uniform(low, high) for low, high in ends.values()])
        start = np.concatenate([q, random.uniform(-0.2, 0.2, 2)])
        if not found.region.contains(dict(zip(names, start, strict=True))):
            continue
        tried += 1
        motion = solve_ivp(rates, (0, 40), start, "LSODA", rtol=1e-9, atol=1e-11)
        heights = np.array([energy(s[:2], s[2:]) for s in motion.y.T]) - least
        assert motion.success and np.all(np.diff(heights) < 1e-7 * heights[0])
        assert apart(record_property, f"{name} (end)", motion.y[:, -1], 0) < 1e-3


def test_lambda_of_the_ball_and_beam_is_that_of_ortega_and_others() -> None:
    """lambda = (sqrt(2 (J + m r^2) / a), 1) with a = 7 m/5 satisfies the conditions by hand."""
    found, values, _ = matched("ball and beam")
    r, theta = found.system.coordinates
    m, J, g = values["m"], values["J"], values["g"]
    field = sympy.Matrix([sympy.sqrt(2 * (J + m * r**2) / (1.4 * m)), 1])
    lifted = found.shaped.metric * field - sympy.Matrix([1.4 * m, 0])
    slope = (sympy.Matrix([found.shaped.potential]).jacobian([r, theta]) * field)[0]
    for place in ({r: 0.3, theta: 0.2}, {r: -1.1, theta: 0.6}):
        assert np.abs(np.array(lifted.subs(place), dtype=float)).max() < 1e-12
        assert float((slope - m * g * sin(theta)).subs(place)) == pytest.approx(0, abs=1e-12)


def test_what_the_class_does_not_fit_is_said() -> None:
    system, values = pendubot()
    with pytest.raises(FormError, match="count coordinates from it"):
        at = {"q1": np.pi, "q2": 0.0}
        da.control.match(system, at=at, parameters=values, using="unactuated-shape")
    a, b = system.coordinates
    hanging = da.System(
        [a, b],
        kinetic=system.kinetic,
        potential=-system.potential,
        forces=dict(system.forces),
        inputs=list(system.inputs),
    )
    with pytest.raises(FormError, match="not greatest"):
        da.control.match(hanging, parameters=values, using="unactuated-shape")
