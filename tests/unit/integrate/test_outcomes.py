"""How runs end: one run for each outcome, with the right time, a sentence, and everything computed
until then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da

X, Y = da.coordinates("x y")
FREE = da.System([X], kinetic=X.dot**2 / 2)


def assert_kept(motion: da.Motion, outcome: da.Outcome) -> None:
    """A run that failed still gives finite states, reactions and energies up to where it came."""
    assert motion.outcome is outcome, motion.message
    assert motion.success is outcome.is_success
    assert motion.message.endswith(".") and len(motion.message) < 400
    assert np.isfinite(motion.y).all() and np.isfinite(motion.t).all()
    assert np.isfinite(motion.energy).all()
    assert motion.status == (
        0 if outcome is da.Outcome.FINISHED else 1 if outcome is da.Outcome.STOPPED else -1
    )


def test_finished() -> None:
    motion = da.simulate(FREE, {X.dot: 1.0}, (0, 2))
    assert_kept(motion, da.Outcome.FINISHED)
    assert str(motion.outcome) == "finished"


def test_stopped() -> None:
    motion = da.simulate(FREE, {X.dot: 1.0}, (0, 2), events=[da.event(X - 1, terminal=True)])
    assert_kept(motion, da.Outcome.STOPPED)
    assert motion.t[-1] == pytest.approx(1.0)


def test_blew_up() -> None:
    """x'' = 6 x^2 with x = 1 / (1 - t)^2: infinite at t = 1."""
    system = da.System([X], kinetic=X.dot**2 / 2, potential=-2 * X**3)
    motion = da.simulate(system, {X: 1.0, X.dot: 2.0}, (0, 2))
    assert_kept(motion, da.Outcome.BLEW_UP)
    assert motion.t[-1] == pytest.approx(1.0, abs=1e-3)
    assert "x" in motion.message
    early = motion.t < 0.9
    assert np.allclose(motion["x"][early], 1 / (1 - motion.t[early]) ** 2, rtol=1e-7)


def test_singular_because_an_expression_of_the_model_vanishes() -> None:
    """A particle that falls into the centre, where the potential has a pole."""
    system = da.System([X], kinetic=X.dot**2 / 2, potential=-1 / X)
    motion = da.simulate(system, {X: 1.0}, (0, 3))
    assert_kept(motion, da.Outcome.SINGULAR)
    assert motion.t[-1] == pytest.approx(np.pi / (2 * np.sqrt(2)), abs=1e-3)
    assert "denominator of x" in motion.message


def test_singular_because_inertia_vanishes() -> None:
    """(1 - x) x_dot^2 / 2 with a constant force: the mass is gone at x = 1."""
    system = da.System([X], lagrangian=(1 - X) * X.dot**2 / 2 + X)
    motion = da.simulate(system, {X: 0.0, X.dot: 0.5}, (0, 5))
    assert_kept(motion, da.Outcome.SINGULAR)
    assert motion["x"][-1] == pytest.approx(1.0, abs=1e-2)


def test_contradictory() -> None:
    """Two rows that agree until t = 1, where one of them begins to ask for something else."""
    kink = sympy.Piecewise((da.t, da.t < 1), (2 * da.t - 1, True))
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        constraints=[
            da.velocity(X.dot - da.t, name="first"),
            da.velocity(X.dot - kink, name="second"),
        ],
    )
    motion = da.simulate(system, {Y.dot: 1.0}, (0, 2), project=False)
    assert_kept(motion, da.Outcome.CONTRADICTORY)
    assert motion.t[-1] == pytest.approx(1.0, abs=0.3)
    assert "first" in motion.message or "second" in motion.message


def test_constraints_that_can_no_longer_be_met_end_the_motion() -> None:
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        constraints=[
            da.holonomic(X**2 + Y**2 - 1, name="circle"),
            da.holonomic(Y - da.t, name="height"),
        ],
    )
    motion = da.simulate(system, {X: 1.0, Y.dot: 1.0}, (0, 2))
    assert motion.outcome in (
        da.Outcome.SINGULAR,
        da.Outcome.CONTRADICTORY,
        da.Outcome.BLEW_UP,
    )  # x_dot = -t / x
    assert motion.t[-1] == pytest.approx(1.0, abs=1e-3)
    assert np.isfinite(motion.y).all()


def test_constraints_that_come_to_depend_on_each_other_are_named() -> None:
    """x_dot = 1 and y_dot^2 = 1 - x: at x = 1 both constraints bind x_dot, and neither y_dot. No
    force jumps there.
    """
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        constraints=[
            da.velocity(X.dot - 1, name="drive"),
            da.velocity(X.dot + Y.dot**2 - (2 - X), name="speed"),
        ],
    )
    motion = da.simulate(system, {X.dot: 1.0, Y.dot: 1.0}, (0, 2))
    assert_kept(motion, da.Outcome.SINGULAR)
    assert motion.t[-1] == pytest.approx(1.0, abs=1e-5)
    assert "`drive`, `speed` come to depend on each other" in motion.message


def test_step_too_small() -> None:
    """A force that switches so fast that no step resolves it."""
    wild = sympy.sin(1e18 * da.t) * 1e12
    motion = da.simulate(
        da.System([X], kinetic=X.dot**2 / 2, forces={X: wild}), {X: 1.0}, (1, 2), rtol=1e-12
    )
    assert_kept(motion, da.Outcome.STEP_TOO_SMALL)


def test_step_too_small_at_a_jump_that_is_met_again_and_again() -> None:
    """Dry friction by sign(v): the velocity reaches zero and the force has no value that keeps it
    there.
    """
    system = da.System([X], kinetic=X.dot**2 / 2, forces={X: -sympy.sign(X.dot)})
    motion = da.simulate(system, {X.dot: 1.0}, (0, 3), rtol=1e-10)
    assert_kept(motion, da.Outcome.STEP_TOO_SMALL)
    assert motion.t[-1] == pytest.approx(1.0, abs=1e-5)
    assert "jump" in motion.message


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_too_many_steps(limit: int) -> None:
    system = da.System([X], kinetic=X.dot**2 / 2, potential=X**2 / 2)
    motion = da.simulate(system, {X: 1.0}, (0, 1e4), max_steps=limit)
    assert_kept(motion, da.Outcome.TOO_MANY_STEPS)
    assert motion.statistics["steps"] <= limit
    assert len(motion.t) <= limit + 1


def test_exactly_enough_steps_is_enough() -> None:
    system = da.System([X], kinetic=X.dot**2 / 2, potential=X**2 / 2)
    options: dict[str, Any] = {"rtol": 0.1, "max_step": 0.5, "first_step": 0.5}
    needed = da.simulate(system, {X: 1.0}, (0, 5), **options).statistics
    count = needed["steps"] + needed["rejected"]
    assert (
        da.simulate(system, {X: 1.0}, (0, 5), max_steps=count, **options).outcome
        is da.Outcome.FINISHED
    )
    assert (
        da.simulate(system, {X: 1.0}, (0, 5), max_steps=count - 1, **options).outcome
        is da.Outcome.TOO_MANY_STEPS
    )


def test_interrupted() -> None:
    """Ctrl-C inside the progress report: what was computed is kept, and is right."""
    system = da.System([X], kinetic=X.dot**2 / 2, potential=X**2 / 2)

    def pressed(fraction: float, t: float) -> None:
        if fraction > 0.1:
            raise KeyboardInterrupt

    motion = da.simulate(system, {X: 1.0}, (0, 1e5), progress=pressed, rtol=1e-12)
    assert_kept(motion, da.Outcome.INTERRUPTED)
    assert 1e3 < motion.t[-1] < 1e5
    assert motion["x"][-1] == pytest.approx(np.cos(motion.t[-1]), abs=1e-5)
    times = da.simulate(system, {X: 1.0}, (0, 1e5), progress=pressed, at=[0.0, 1.0, 1e5])
    assert times.t.tolist() == [0.0, 1.0]


def test_other_exceptions_of_the_progress_report_come_through() -> None:
    def broken(fraction: float, t: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        da.simulate(FREE, {X.dot: 1.0}, (0, 2), progress=broken)


def test_progress_runs_from_nothing_to_everything() -> None:
    seen: list[tuple[float, float]] = []
    system = da.System([X], kinetic=X.dot**2 / 2, potential=X**2 / 2)
    da.simulate(
        system, {X: 1.0}, (0, 2000), progress=lambda fraction, t: seen.append((fraction, t))
    )
    fractions = [fraction for fraction, _ in seen]
    assert len(seen) > 2 and fractions == sorted(fractions) and fractions[-1] == 1.0
    assert all(t == pytest.approx(2000 * fraction) for fraction, t in seen)


def test_unsolved() -> None:
    """A fixed step across the place where the motion ends: its implicit equations have no
    solution.
    """
    system = da.System([X], kinetic=X.dot**2 / 2, potential=-2 * X**3)
    motion = da.simulate(system, {X: 1.0, X.dot: 2.0}, (0, 2), method="gauss4", step=0.05)
    assert_kept(motion, da.Outcome.UNSOLVED)
    assert 0.5 < motion.t[-1] < 1.0 and "smaller step" in motion.message


def test_every_outcome_is_tested() -> None:
    text = Path(__file__).read_text()
    for outcome in da.Outcome:
        assert f"assert_kept(motion, da.Outcome.{outcome.name})" in text, outcome


def test_a_long_span_is_no_reason_to_stop() -> None:
    """Steps of 1e-6 of a fast oscillator are short beside a span of 1e6, and as they should be."""
    system = da.System([X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, potential=1e10 * X**2 / 2)
    motion = da.simulate(
        system, {X: 1.0, Y.dot: 1.0}, (0, 1e6), events=[da.event(Y - 0.2, terminal=True)], rtol=1e-6
    )
    assert_kept(motion, da.Outcome.STOPPED)
    assert motion.t[-1] == pytest.approx(0.2)


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_a_pole_of_the_coordinates_is_told(form: str) -> None:
    """A spherical pendulum that nearly passes its pole: angles cannot follow, and no force
    jumps.
    """
    kinetic = (X.dot**2 + sympy.sin(X) ** 2 * Y.dot**2) / 2
    system = da.System([X, Y], kinetic=kinetic, potential=9.81 * sympy.cos(X))
    motion = da.simulate(system, {X: 1.0, Y.dot: 1e-9}, (0, 10), form=form)
    assert_kept(motion, da.Outcome.SINGULAR)
    assert "coordinates" in motion.message and "jump" not in motion.message


def test_an_undefined_force_is_told_as_such() -> None:
    def forced(force: object) -> da.System:
        return da.System([X], kinetic=X.dot**2 / 2, forces={X: force})

    for force, start in ((sympy.log(X), -1.0), (sympy.Piecewise((1, X < 1)), 2.0)):
        with pytest.raises(da.errors.SingularError, match="the force on `x` is not a number"):
            da.simulate(forced(force), {X: start}, (0, 1))
    motion = da.simulate(forced(sympy.Piecewise((1, X < 1))), {X: 0.0}, (0, 5))
    assert_kept(motion, da.Outcome.SINGULAR)
    assert "the force on `x` is not a number" in motion.message
    assert motion.t[-1] == pytest.approx(np.sqrt(2), abs=1e-6)


def test_a_denominator_without_zeros_is_not_blamed() -> None:
    """cosh(800) is beyond the range of numbers, and far from zero."""
    system = da.System([X], kinetic=X.dot**2 / 2, potential=-1 / sympy.cosh(X))
    with pytest.raises(da.errors.SingularError, match="range of numbers"):
        da.simulate(system, {X: 800.0, X.dot: -1.0}, (0, 1))
    motion = da.simulate(system, {X: 600.0, X.dot: -100.0}, (0, 10), method="dop853", max_steps=20)
    assert "denominator" not in motion.message


@pytest.mark.long
@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_stiff_equations_are_told(method: str) -> None:
    system = da.System([X], kinetic=X.dot**2 / 2, forces={X: -1e4 * X.dot - X})
    motion = da.simulate(system, {X: 1.0}, (0, 5), method=method)
    assert_kept(motion, da.Outcome.FINISHED)
    assert "stiff" in motion.message and "gauss4" in motion.message
    short = da.simulate(system, {X: 1.0}, (0, 50), method=method, max_steps=4000)
    assert short.outcome is da.Outcome.TOO_MANY_STEPS and "stiff" in short.message
    many = da.simulate(system, {X: [1.0, 2.0]}, (0, 5), method=method, at=[0, 5])
    assert all("stiff" in message for message in many.messages)


def test_fast_oscillations_are_not_stiff() -> None:
    system = da.System([X], kinetic=X.dot**2 / 2, forces={X: -1e4 * X - X.dot})
    assert "stiff" not in da.simulate(system, {X: 1.0}, (0, 10)).message
