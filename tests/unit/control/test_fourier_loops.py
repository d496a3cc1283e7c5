"""Loops for any number of inputs and any fibre: trailers, three inputs, dynamic extensions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FormError, RunError
from recorded_differences import Record, apart

v, w, u1, u2, u3 = da.inputs("v w u1 u2 u3")


def trailers(count: int) -> tuple[da.Flow, list[da.Coordinate]]:
    """A car with trailers of unit length hooked to the axle before them."""
    x, y = da.coordinates("x y")
    angles = [da.coordinates(f"theta{k}") for k in range(count + 1)]
    rates, speed = {x: v * cos(angles[0]), y: v * sin(angles[0]), angles[0]: w}, v
    for before, here in pairwise(angles):
        rates[here] = speed * sin(before - here)
        speed = speed * cos(before - here)
    return da.Flow(rates, inputs=[v, w], name=f"{count} trailers"), [x, angles[0]]


def by_scipy(count: int, numbers: dict[str, float], harmonics: int) -> np.ndarray:
    """(y, theta1, ...) after the loop: kinematics written once more, base by its coefficients."""

    def base(name: str, s: float) -> tuple[float, float]:
        place = speed = 0.0
        for n in range(1, harmonics + 1):
            c, d = (numbers[f"loop_{word}_{name}_{n}"] for word in ("sine", "cosine"))
            angle = 2 * np.pi * n * s
            place += (c * np.sin(angle) + d * (1 - np.cos(angle))) / n
            speed += 2 * np.pi * (c * np.cos(angle) + d * np.sin(angle))
        return place, speed

    def rates(s: float, z: np.ndarray) -> list[float]:
        (_, x_dot), (heading, _) = base("x", s), base("theta0", s)
        drive = x_dot / np.cos(heading)
        out, before = [drive * np.sin(heading)], heading
        for angle in z[1:]:
            out.append(drive * np.sin(before - angle))
            drive *= np.cos(before - angle)
            before = angle
        return out

    found = solve_ivp(rates, (0, 1), np.zeros(count + 1), "DOP853", rtol=1e-11, atol=1e-12)
    return np.array(found.y[:, -1])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_trailers_are_moved_sideways_as_scipy_says(count: int, record_property: Record) -> None:
    flow, base = trailers(count)
    wanted = np.zeros(count + 1)
    wanted[0] = 0.3
    loop = da.control.holonomy_loop(flow, wanted, "fourier", base=base)
    assert loop.displacement == pytest.approx(wanted, abs=1e-5)
    numbers = dict(loop.path.legs[0].values)
    harmonics = sum(name.startswith("loop_sine_x_") for name in numbers)
    other = by_scipy(count, numbers, harmonics)
    assert apart(record_property, "1, 2, 3 trailers", loop.displacement, other) < 1e-8


@pytest.mark.long
def test_three_inputs_over_a_fibre_of_three() -> None:
    """The free nilpotent system of step two: z_ij' = b_i b_j'."""
    a, b, c, p, q, r = da.coordinates("a b c p q r")
    rates = {a: u1, b: u2, c: u3, p: a * u2, q: b * u3, r: c * u1}
    flow = da.Flow(rates, inputs=[u1, u2, u3])
    loop = da.control.holonomy_loop(flow, [0.5, -0.2, 0.1], "fourier")
    assert loop.displacement == pytest.approx([0.5, -0.2, 0.1], abs=1e-6)
    found = da.control.stabilise_by_loops(flow, {a: 0.3, p: 0.5, q: -0.2, r: 0.4})
    assert found.success and found.stages.parts[1].name == "loop"


def test_a_step_of_four_is_reached() -> None:
    """Chained rates are brackets of every step: the last one needs four."""
    a, b, p, q, r = da.coordinates("a b p q r")
    flow = da.Flow({a: u1, b: u2, p: b * u1, q: p * u1, r: q * u1}, inputs=[u1, u2])
    loop = da.control.holonomy_loop(flow, [0.0, 0.0, 0.2], "fourier")
    assert loop.displacement == pytest.approx([0, 0, 0.2], abs=1e-6)


def test_a_car_with_a_trailer_parks_under_feedback() -> None:
    flow, base = trailers(1)
    start = {"x": 0.4, "y": 0.3, "theta0": 0.2, "theta1": -0.1}
    found = da.control.stabilise_by_loops(flow, start, base=base, tolerance=1e-4)
    assert found.success and found.norms[-1] < 1e-4


def test_the_dynamic_extension_follows_the_same_loops() -> None:
    a, b, p, q, s, r = da.coordinates("a b p q s r")
    rates = {a: s, b: r, p: a * r - b * s, q: a**2 * r, s: u1, r: u2}
    found = da.control.stabilise_by_loops(
        da.Flow(rates, inputs=[u1, u2]), {p: 0.3, q: 0.2}, tolerance=1e-4
    )
    assert found.success


def test_what_no_loop_reaches_is_said() -> None:
    a, b, p = da.coordinates("a b p")
    flat = da.Flow({a: u1, b: u2, p: a * u1}, inputs=[u1, u2])
    with pytest.raises(RunError, match="misses it by"):
        da.control.holonomy_loop(flat, [0.5], "fourier")
    flow, base = trailers(1)
    with pytest.raises(FormError, match="fourier"):
        da.control.holonomy_loop(flow, [0.1, 0.0], base=base)
