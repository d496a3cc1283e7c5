"""Integrators of other packages as methods: accuracy, constraints, dense output, stiffness,
refusals.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sympy import Abs, cos, sin, sqrt

import dalembert as da
from dalembert.errors import FormError, MissingExtraError, ModelError

TIMES = np.linspace(0, 4, 9)
TOLERANCES = {"heyoka": 1e-9, "cvode-bdf": 1e-7, "cvode-adams": 1e-7, "ida-ggl": 1e-7}


@pytest.fixture
def package(request: pytest.FixtureRequest) -> None:
    """Skip where the package of a method is not installed."""
    method = request.getfixturevalue("method")
    pytest.importorskip("heyoka" if method == "heyoka" else "sksundae")


def pendulum() -> da.System:
    angle = da.coordinates("angle")
    return da.System([angle], kinetic=angle.dot**2 / 2, potential=-cos(angle))


def rod() -> da.System:
    x, y = da.coordinates("x y")
    return da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y,
        constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")],
    )


def stiff() -> tuple[da.System, dict[str, float]]:
    """A pendulum on a stiff and strongly damped spring."""
    x, y = da.coordinates("x y")
    k, c = da.parameters("k c")
    r = sqrt(x**2 + y**2)
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y + k / 2 * (r - 1) ** 2,
        dissipation=c / 2 * ((x * x.dot + y * y.dot) / r) ** 2,
    )
    return system, {"k": 1e4, "c": 1e4}


def common(found: Any, other: Any) -> float:
    """The largest difference of the coordinates of two motions."""
    return max(
        float(np.max(np.abs(found[q.name] - other[q.name]))) for q in found.system.coordinates
    )


every_method = pytest.mark.parametrize("method", list(TOLERANCES))


@pytest.mark.extras
@every_method
@pytest.mark.usefixtures("package")
def test_a_rolling_disk_is_followed_to_the_tolerance(method: str) -> None:
    disk = da.gallery.load("rolling-disk")
    exact = da.simulate(
        disk.system, disk.start, (0, 4), parameters=disk.parameters, rtol=1e-13, at=TIMES
    )
    rtol = TOLERANCES[method]
    coarse, fine = (
        da.simulate(
            disk.system,
            disk.start,
            (0, 4),
            parameters=disk.parameters,
            rtol=r,
            at=TIMES,
            method=method,
        )
        for r in (100 * rtol, rtol)
    )
    assert fine.success and fine.statistics["method"] == method
    assert common(fine, exact) < 200 * rtol
    assert common(fine, exact) < common(coarse, exact)
    assert (
        method == "heyoka" or fine.statistics["steps"] > coarse.statistics["steps"]
    )  # heyoka raises the order instead
    assert fine.statistics["form"] == ("lagrange" if method == "ida-ggl" else "maggi")


@pytest.mark.extras
@every_method
@pytest.mark.usefixtures("package")
def test_steps_and_times_end_on_the_constraints_unless_told_otherwise(method: str) -> None:
    exact = da.simulate(rod(), {"x": 1.0}, (0, 4), rtol=1e-13, at=TIMES)
    rtol = TOLERANCES[method]
    kept, free = (
        da.simulate(rod(), {"x": 1.0}, (0, 4), rtol=rtol, at=TIMES, method=method, project=p)
        for p in (True, False)
    )
    for motion in (kept, free):
        assert common(motion, exact) < 200 * rtol
    assert kept.worst_residual["position"] < 1e-13
    assert kept.worst_residual["velocity"] < 1e-12
    assert free.worst_residual["position"] > 3 * kept.worst_residual["position"]


@pytest.mark.extras
@every_method
@pytest.mark.usefixtures("package")
def test_between_steps_backwards_and_bounded_steps(method: str) -> None:
    rtol = TOLERANCES[method]
    there = da.simulate(pendulum(), {"angle": 2.0}, (0, 4), rtol=rtol, method=method)
    end = {"angle": there["angle"][-1], "angle_dot": there["angle_dot"][-1]}
    back = da.simulate(pendulum(), end, (4, 0), rtol=rtol, method=method, max_step=0.2)
    assert np.max(np.abs(np.diff(back.t))) <= 0.2 * (1 + 1e-12)
    times = np.concatenate([there.t[:2], np.linspace(0.1, 3.9, 12), there.t[-1:]])
    exact = da.simulate(pendulum(), {"angle": 2.0}, (0, 4), rtol=1e-13)
    np.testing.assert_allclose(there.sol(times), exact.sol(times), atol=300 * rtol)
    np.testing.assert_allclose(back.sol(times), exact.sol(times), atol=300 * rtol)


@pytest.mark.extras
@pytest.mark.parametrize("method", ["heyoka"])
@pytest.mark.usefixtures("package")
def test_heyoka_without_a_tolerance_is_as_good_as_rounding_allows(method: str) -> None:
    motion = da.simulate(pendulum(), {"angle": 2.0}, (0, 20), method=method)
    assert motion.statistics["rtol"] == 1e-16
    assert np.max(np.abs(motion.energy - motion.energy[0])) < 2e-15
    exact = da.simulate(pendulum(), {"angle": 2.0}, (0, 20), rtol=1e-15, method="taylor", at=[20.0])
    assert abs(motion["angle"][-1] - exact["angle"][-1]) < 1e-13


@pytest.mark.extras
@pytest.mark.parametrize("method", ["heyoka"])
@pytest.mark.usefixtures("package")
def test_expressions_of_heyoka_have_the_rates_of_the_kernel(method: str) -> None:
    hy: Any = pytest.importorskip(method)
    x = da.coordinates("x")
    k, w = da.parameters("k w")
    system = da.System(
        [x],
        kinetic=x.dot**2 / (2 + sin(x)),
        potential=k * cos(x),
        forces={x: cos(w * da.t) - x.dot**3},
    )
    equations = da.derive(system)
    pairs = equations.to_heyoka()
    assert [str(symbol) for symbol, _ in pairs] == ["x", "x_dot"]
    rates = hy.cfunc([expression for _, expression in pairs], [symbol for symbol, _ in pairs])
    values = {"k": 1.3, "w": 0.7}
    pars = np.array([values[symbol.name] for symbol in system.parameters])
    found = rates(np.array([0.4, -0.9]), pars=pars, time=0.8)
    np.testing.assert_allclose(found, equations.function()(0.8, [0.4, -0.9], values), rtol=1e-14)


@pytest.mark.extras
@pytest.mark.parametrize("method", ["cvode-bdf", "ida-ggl"])
@pytest.mark.usefixtures("package")
def test_stiff_equations_take_far_fewer_implicit_steps(method: str) -> None:
    system, parameters = stiff()
    other, found = (
        da.simulate(
            system, {"x": 1.0}, (0, 2), parameters=parameters, rtol=1e-5, at=[2.0], method=m
        )
        for m in ("dop853", method)
    )
    assert found.success
    assert found.statistics["steps"] < 0.2 * other.statistics["steps"]
    assert common(found, other) < 1e-4


@pytest.mark.extras
@pytest.mark.parametrize("method", ["ida-ggl"])
@pytest.mark.usefixtures("package")
def test_the_stabilised_formulation_does_not_drift(method: str) -> None:
    """Without projection: both residuals stay at the tolerance, where those of the rates alone grow
    with time.
    """
    x, y, s = da.coordinates("x y s")
    mixed = da.System(
        [x, y, s],
        kinetic=(x.dot**2 + y.dot**2 + s.dot**2) / 2,
        potential=9.81 * y,
        constraints=[
            da.holonomic(x**2 + y**2 - 1, name="rod"),
            da.velocity(s.dot - x * y.dot + y * x.dot, name="roll"),
        ],
    )
    found = da.simulate(mixed, {"x": 1.0}, (0, 12), rtol=1e-6, method=method, project=False)
    worst = found.worst_residual
    assert 0 < worst["position"] < 1e-6 and 0 < worst["velocity"] < 1e-5
    residual = np.abs(found["x"] ** 2 + found["y"] ** 2 - 1)
    early, late = (np.max(residual[part]) for part in (found.t < 4, found.t > 8))
    assert late < 30 * early
    exact = da.simulate(mixed, {"x": 1.0}, (0, 12), rtol=1e-12)
    assert abs(found["s"][-1] - exact["s"][-1]) < 1e-3


@pytest.mark.extras
@every_method
@pytest.mark.usefixtures("package")
def test_what_cannot_be_followed_is_refused(method: str) -> None:
    angle = da.coordinates("angle")
    with pytest.raises(ModelError, match="does not look for events"):
        da.simulate(pendulum(), {"angle": 2.0}, (0, 1), method=method, events=[angle])
    u = da.inputs("u")
    pushed = da.System([angle], kinetic=angle.dot**2 / 2, forces={angle: u}, inputs=[u])
    with pytest.raises(FormError, match="inputs that are expressions"):
        da.simulate(pushed, {}, (0, 1), method=method, inputs={u: lambda t, state: 0.0})
    ball = da.System(
        [angle],
        kinetic=angle.dot**2 / 2,
        potential=angle,
        constraints=[da.unilateral(angle, name="floor")],
    )
    with pytest.raises(FormError, match="one-sided"):
        da.simulate(ball, {"angle": 1.0}, (0, 1), method=method)
    with pytest.raises(ModelError, match="chooses its steps"):
        da.simulate(pendulum(), {"angle": 2.0}, (0, 1), method=method, step=0.1)


@pytest.mark.extras
@every_method
@pytest.mark.usefixtures("package")
def test_a_motion_that_blows_up_ends_there_and_prints_nothing(
    method: str, capfd: pytest.CaptureFixture[str]
) -> None:
    x = da.coordinates("x")
    wild = da.System([x], kinetic=x.dot**2 / 2, potential=-(x**4) / 2)
    motion = da.simulate(
        wild, {"x": 1.0, "x_dot": 1.0}, (0, 2), method=method, rtol=1e-6
    )  # x = 1 / (1 - t)
    assert not motion.success
    assert abs(motion.t[-1] - 1.0) < 1e-3
    assert capfd.readouterr() == ("", "")


@pytest.mark.extras
@pytest.mark.parametrize("method", ["heyoka", "cvode-bdf"])
@pytest.mark.usefixtures("package")
def test_many_runs_are_those_of_the_same_method(method: str) -> None:
    starts = np.array([1.0, 2.0])
    many = da.simulate(pendulum(), {"angle": starts}, (0, 1), at=[1.0], rtol=1e-6, method=method)
    for k, start in enumerate(starts):
        one = da.simulate(
            pendulum(), {"angle": float(start)}, (0, 1), at=[1.0], rtol=1e-6, method=method
        )
        assert many["angle"][k, 0] == one["angle"][0]


@pytest.mark.extras
@pytest.mark.parametrize("method", ["heyoka"])
@pytest.mark.usefixtures("package")
def test_heyoka_refuses_what_is_not_smooth_and_a_second_tolerance(method: str) -> None:
    x = da.coordinates("x")
    kinked = da.System([x], kinetic=x.dot**2 / 2, potential=Abs(x) ** 3)
    with pytest.raises(FormError, match="no Taylor coefficients"):
        da.simulate(kinked, {"x": 1.0}, (0, 1), method=method)
    with pytest.raises(ModelError, match="one tolerance"):
        da.simulate(pendulum(), {"angle": 1.0}, (0, 1), method=method, atol=1e-9)


@pytest.mark.parametrize(
    ("method", "package", "extra"),
    [
        ("heyoka", "heyoka", "heyoka"),
        ("cvode-bdf", "sksundae.cvode", "sundials"),
        ("ida-ggl", "sksundae.ida", "sundials"),
    ],
)
def test_a_missing_package_is_one_sentence(
    method: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "dalembert\[{extra}\]"'):
        da.simulate(pendulum(), {"angle": 1.0}, (0, 1), method=method)


@pytest.mark.extras
@pytest.mark.parametrize("method", ["heyoka", "cvode-adams"])
@pytest.mark.usefixtures("package")
def test_independent_velocities_are_chosen_anew_where_the_choice_degenerates(method: str) -> None:
    """A skate that turns: x_dot and then y_dot can be solved for, never one of them all the way."""
    x, y, angle = da.coordinates("x y angle")
    skate = da.System(
        [x, y, angle],
        kinetic=(x.dot**2 + y.dot**2 + angle.dot**2) / 2,
        constraints=[da.velocity(x.dot * sin(angle) - y.dot * cos(angle), name="blade")],
    )
    start = {"x_dot": 1.0, "angle_dot": 1.0}
    found = da.simulate(skate, start, (0, 6), form="voronets", method=method, rtol=1e-9)
    assert found.success
    assert len(found.switches) >= 2
    assert (
        abs(found["x"][-1] - np.sin(6.0)) < 1e-6 and abs(found["y"][-1] - (1 - np.cos(6.0))) < 1e-6
    )
