"""Equations that switch, in time and in the state, and pulses that are narrower than a step."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import Abs, Heaviside, Max, Piecewise, exp, floor, pi, sech, sign, sin

import dalembert as da
from dalembert.errors import ModelError

X = da.coordinates("x")
T1, WIDTH, OMEGA = da.parameters("T1 width omega", positive=True)
T = da.t
PULSE = Piecewise((100, (T > 1) & (T < 1.01)), (0, True))
GAUSS = exp(-(((T - 5) / WIDTH) ** 2)) / (WIDTH * sympy.sqrt(pi))


def forced(force: object, potential: object = 0) -> da.System:
    return da.System([X], kinetic=X.dot**2 / 2, potential=potential, forces={X: force})


def velocity(force: object, span: tuple[float, float], **options: object) -> float:
    motion = da.simulate(forced(force), {X: 0.0, X.dot: 0.0}, span, **options)
    assert motion.success, motion.message
    return float(motion["x_dot"][-1])


# -- in time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "impulse"), [((0, 2), 1), ((2, 0), -1), ((0, 1.005), 0.5), ((1, 2), 1), ((0, 1.01), 1)]
)
def test_a_short_pulse_is_not_stepped_over(span: tuple[float, float], impulse: float) -> None:
    assert velocity(PULSE, span) == pytest.approx(impulse, abs=1e-12)


@pytest.mark.parametrize(
    ("force", "end", "impulse"),
    [
        (sign(sin(3 * T)), 10.0, 10 * np.pi / 3 - 10.0),
        (floor(T / 0.3), 3.0, 0.3 * 45),
        (sympy.ceiling(T / 0.3), 3.0, 0.3 * 55),
        (Max(T - 1, 0), 3.0, 2.0),
        (sympy.Min(T, 1), 3.0, 2.5),
        (Abs(sin(T)), 2 * np.pi, 4.0),
        (Piecewise((1, T / 2 - floor(T / 2) < 0.3), (0, True)), 10.0, 3.0),
        (Heaviside(T - 1), 3.0, 2.0),
        (Piecewise((0, T <= 0), (1, True)), 1.0, 1.0),
        (Heaviside(exp(-T) - 0.5), 3.0, np.log(2)),
        (sign(sympy.tanh(T) - T / 2), 3.0, 2 * 1.9150080481545375 - 3),
    ],
)
def test_times_of_switches_are_met_exactly(force: object, end: float, impulse: float) -> None:
    motion = da.simulate(forced(force), {X: 0.0}, (0, end))
    assert motion["x_dot"][-1] == pytest.approx(impulse, abs=2e-10)
    assert motion.statistics["rejected"] <= 2


def test_times_with_parameters_and_times_asked_for() -> None:
    force = Piecewise((1, (T > T1) & (T < 2 * T1)), (0, True))
    motion = da.simulate(
        forced(force), {X: 0.0}, (0, 1), parameters={T1: 0.25}, at=[0.0, 0.25, 0.5, 1.0]
    )
    assert motion["x_dot"] == pytest.approx([0, 0, 0.25, 0.25], abs=1e-14)
    assert list(motion.t) == [0.0, 0.25, 0.5, 1.0]


def test_an_event_at_the_time_of_a_switch_is_found() -> None:
    motion = da.simulate(forced(PULSE), {X: 0.0}, (0, 2), events=[da.event(T - 1, terminal=True)])
    assert motion.outcome is da.Outcome.STOPPED and motion.t[-1] == pytest.approx(1.0, abs=1e-14)


def test_an_input_that_switches() -> None:
    u = da.inputs("u")
    system = da.System([X], kinetic=X.dot**2 / 2, forces={X: u}, inputs=[u])
    motion = da.simulate(system, {X: 0.0}, (0, 2), inputs={u: PULSE})
    assert motion["x_dot"][-1] == pytest.approx(1.0, abs=1e-12)


def test_too_many_switches_are_refused() -> None:
    with pytest.raises(ModelError, match="cannot be listed"):
        da.simulate(forced(sign(sin(1e9 * T))), {X: 0.0}, (0, 10))


@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize(("width", "end"), [(0.01, 10.0), (1e-5, 1000.0), (0.3, 10.0)])
def test_a_gaussian_pulse_is_not_stepped_over(method: str, width: float, end: float) -> None:
    motion = da.simulate(
        forced(GAUSS), {X: 0.0}, (0, end), parameters={WIDTH: width}, method=method
    )
    assert motion["x_dot"][-1] == pytest.approx(1.0, abs=1e-9)


def test_other_narrow_functions_of_time() -> None:
    assert velocity(sech((T - 5) / 1e-3) ** 2 / 2e-3, (0, 10)) == pytest.approx(1.0, abs=1e-9)
    train = exp(-2e6 * sin(pi * T) ** 2)  # a pulse at each whole second
    each = np.sqrt(2 * np.pi / 1e6) / (2 * np.pi)
    assert velocity(train, (0.5, 20.5)) == pytest.approx(20 * each, rel=1e-6)


def test_a_function_of_python_is_held_to_the_residual() -> None:
    u = da.inputs("u")
    system = da.System([X], kinetic=X.dot**2 / 2, forces={X: u}, inputs=[u])
    pulse = lambda t, state: float(np.exp(-(((t - 5) / 0.3) ** 2)))  # noqa: E731
    motion = da.simulate(system, {X: 0.0}, (0, 100), inputs={u: pulse}, max_step=4.0)
    assert motion["x_dot"][-1] == pytest.approx(0.3 * np.sqrt(np.pi), abs=1e-8)


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_a_narrow_function_of_the_state_is_held_to_the_residual(method: str) -> None:
    """A bump of the potential that a free particle passes: fast particles lose time on it."""
    system = forced(0, exp(-(((X - 5) / 0.2) ** 2)))
    motion = da.simulate(system, {X: 0.0, X.dot: 2.0}, (0, 5), method=method)
    assert np.ptp(motion.energy) < 1e-8
    assert np.any(np.abs(motion["x"] - 5) < 0.2)


# -- in the state ----------------------------------------------------------------------------------


def test_a_thin_slab_is_not_stepped_over() -> None:
    slab = Piecewise((100, (X > 1) & (X < 1.01)), (0, True))
    motion = da.simulate(forced(slab), {X: 0.0, X.dot: 1.0}, (0, 2))
    faster = np.sqrt(3.0)
    assert motion["x_dot"][-1] == pytest.approx(faster, abs=1e-10)
    assert motion["x"][-1] == pytest.approx(1.01 + faster * (1 - 0.02 / (1 + faster)), abs=1e-10)


def test_a_sign_of_the_state() -> None:
    """x'' = -sign x from x = 1: parabolas with the quarter period sqrt 2."""
    motion = da.simulate(forced(-sign(X)), {X: 1.0}, (0, 4 * np.sqrt(2)), events=[X])
    assert motion["x"][-1] == pytest.approx(1.0, abs=1e-9)
    assert motion.t_events[0] == pytest.approx(np.sqrt(2) * np.array([1, 3]), abs=1e-9)


def test_a_kink_in_the_state() -> None:
    """A wall of springs from x = 2: in with 1, out with -1 after half a period."""
    motion = da.simulate(
        forced(-10 * Max(X - 2, 0)), {X: 0.0, X.dot: 1.0}, (0, 3 + np.pi / np.sqrt(10))
    )
    assert motion["x"][-1] == pytest.approx(1.0, abs=1e-10)


def test_whole_values_of_the_state() -> None:
    """x'' = -floor x as a potential of straight pieces: the energy is kept."""
    motion = da.simulate(forced(-floor(X)), {X: 0.5, X.dot: 3.0}, (0, 3))
    level = np.floor(motion["x"])
    height = level * motion["x"] - level * (level + 1) / 2
    assert np.ptp(motion["x_dot"] ** 2 / 2 + height) < 1e-9


def test_sliding_is_told() -> None:
    motion = da.simulate(forced(-X - 0.3 * sign(X.dot)), {X: 1.0}, (0, 10))
    assert motion.outcome is da.Outcome.STEP_TOO_SMALL
    assert motion.t[-1] == pytest.approx(2 * np.pi, abs=1e-6)
    assert "slide" in motion.message and "sign(x_dot)" in motion.message
    assert motion.statistics["steps"] < 1000


@pytest.mark.long
def test_switches_that_accumulate_end_soon() -> None:
    motion = da.simulate(forced(-sign(X) - 0.5 * sign(X.dot)), {X: 1.0}, (0, 30))
    assert motion.outcome is da.Outcome.STEP_TOO_SMALL and "switches there again" in motion.message
    assert motion.statistics["steps"] < 20_000


def test_an_energy_with_a_jump_is_refused_on_the_way() -> None:
    motion = da.simulate(forced(0, Heaviside(X)), {X: -1.0, X.dot: 2.0}, (0, 3))
    assert motion.outcome is da.Outcome.SINGULAR and "impulse" in motion.message
    assert motion.t[-1] == pytest.approx(0.5, abs=1e-9)


def test_a_continuous_potential_in_cases_goes_on() -> None:
    motion = da.simulate(
        forced(0, Piecewise((X**2 / 2, X < 1), (X - 0.5, True))), {X: 0.0, X.dot: 2.0}, (0, 3)
    )
    assert motion.success and np.ptp(motion.energy) < 1e-9


# -- elsewhere -------------------------------------------------------------------------------------


def test_fixed_steps_say_what_they_pass() -> None:
    coarse = da.simulate(forced(PULSE), {X: 0.0}, (0, 2), method="gauss4", step=0.1)
    assert "inside steps" in coarse.message
    fine = da.simulate(forced(PULSE), {X: 0.0}, (0, 2), method="gauss4", step=0.01)
    assert fine.message.endswith("followed to t = 2.") and fine["x_dot"][-1] == pytest.approx(
        1.0, abs=1e-12
    )
    state = da.simulate(forced(-sign(X)), {X: 1.0}, (0, 5), method="gauss4", step=0.01)
    assert "inside steps" in state.message
    narrow = da.simulate(
        forced(GAUSS), {X: 0.0}, (0, 10), parameters={WIDTH: 0.01}, method="gauss4", step=0.1
    )
    assert "narrow" in narrow.message


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_many_runs_stop_as_one_does(method: str) -> None:
    force = PULSE if method == "dop853" else GAUSS.subs(WIDTH, 0.01)
    many = da.simulate(forced(force), {X: [0.0, 1.0]}, (0, 10), at=[0, 10], method=method)
    assert many["x_dot"][:, -1] == pytest.approx([1.0, 1.0], abs=1e-9)


def test_derivatives_go_across_a_jump_that_does_not_move() -> None:
    moving = forced(Piecewise((1, T > T1), (0, True)))
    with pytest.raises(ModelError, match="The equations jump along the motion"):
        da.analysis.sensitivities(
            moving, wrt=[T1], start={X: 0.0}, span=(0, 2), parameters={T1: 1.0}
        )
    with pytest.raises(ModelError, match="The equations jump along the motion"):
        da.analysis.sensitivities(forced(-sign(X)), wrt=["x"], start={X: 1.0}, span=(0, 2))
    fixed = forced(OMEGA * PULSE)
    found = da.analysis.sensitivities(
        fixed, wrt=[OMEGA], start={X: 0.0}, span=(0, 2), parameters={OMEGA: 2.0}
    )
    assert np.asarray(found["x_dot"])[..., -1].ravel()[0] == pytest.approx(1.0, abs=1e-9)


def test_exported_code_says_that_it_does_not_stop() -> None:
    text = da.derive(forced(PULSE)).to_c()
    assert "does not stop at switches" in text.header


def test_a_kink_of_a_holonomic_constraint_ends_the_motion() -> None:
    """A bead on a wire with a corner: the velocity would have to jump there."""
    y = da.coordinates("y")
    wire = da.holonomic(y - Abs(X), name="wire")
    system = da.System([X, y], kinetic=(X.dot**2 + y.dot**2) / 2, constraints=[wire])
    motion = da.simulate(
        system, {X: -1.0, y: 1.0, X.dot: 1.0, y.dot: -1.0}, (0, 3), form="lagrange"
    )
    assert motion.outcome is da.Outcome.SINGULAR and "wire" in motion.message
    assert motion.t[-1] == pytest.approx(1.0, abs=1e-6)
