"""Many runs in one call: the numbers of single runs, whatever stands beside them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dalembert as da
from dalembert.errors import ModelError, StartError, UnusedParameterWarning
from dalembert.integrate.ensemble import chunks
from dalembert.integrate.ensemble.chunks import OUTCOMES, Reached, run_chunk
from dalembert.integrate.ensemble.plan_reader import flat_values, read_plan
from dalembert.integrate.ensemble.run_table import laid_out
from dalembert.integrate.options import RunOptions

x = da.coordinates("x")
k = da.parameters("k", positive=True)


def oscillator() -> da.System:
    return da.System(
        coordinates=[x], kinetic=x.dot**2 / 2, potential=k / 2 * x**2, name="oscillator"
    )


def falling() -> da.System:
    """q'' = 6 q^2, which reaches infinity at a time that the start decides."""
    return da.System(coordinates=[x], kinetic=x.dot**2 / 2, potential=-2 * k * x**3, name="falling")


def single(model, start, parameters, **options):
    return da.simulate(model, start, parameters=parameters, **options)


# -- the numbers -----------------------------------------------------------------------------------


def test_oscillators_of_many_stiffnesses_meet_their_closed_form():
    stiffness, times = np.linspace(1.0, 9.0, 7), [0.3, 1.0, 2.0]
    runs = da.simulate(oscillator(), {x: 1.0}, (0, 2), parameters={k: stiffness}, at=times)
    assert runs["x"] == pytest.approx(np.cos(np.sqrt(stiffness)[:, None] * times), abs=1e-9)
    assert runs.success and runs.table.dims == ("k",)


#: A system, the symbol whose start differs, the form: no multipliers, constraints on positions, on
#: velocities, on momenta.
CASES = [
    ("rolling-disk", "theta", None),
    ("rolling-disk", "theta", "lagrange"),
    ("spherical-pendulum", "x", None),
    ("chaplygin-sleigh", "theta", None),
    ("nonholonomic-particle", "y", None),
    ("rolling-disk", "theta", "hamel"),
    ("planar-chain", "p_theta2", None),
]


@pytest.mark.parametrize(
    ("name", "symbol", "form"), CASES, ids=[f"{n}-{f or 'default'}" for n, _, f in CASES]
)
def test_every_run_is_the_single_run_bit_for_bit(name, symbol, form):
    scenario = da.gallery.load(name)
    first = scenario.start.get(symbol, 0.0)
    starts = first + np.array([0.0, 0.013, 0.05])
    options = {"span": (0, 0.7), "at": [0.0, 0.31, 0.7], "form": form}
    runs = da.simulate(scenario, {symbol: starts}, **options)
    for place, value in enumerate(starts):
        motion = da.simulate(scenario, {symbol: value}, **options)
        assert runs.codes[place] == 0 and motion.outcome is da.Outcome.FINISHED
        assert np.array_equal(runs.states[place].T, motion.y)


@pytest.mark.parametrize(
    ("method", "options"), [("gauss4", {"step": 0.01}), ("dop853", {"rtol": 1e-6, "max_step": 0.1})]
)
def test_methods_and_their_options_reach_every_run(method, options):
    stiffness = np.array([1.0, 2.0])
    given = {"span": (0, 1), "at": [0.5, 1.0], "method": method, **options}
    runs = da.simulate(oscillator(), {x: 1.0}, parameters={k: stiffness}, **given)
    for place, value in enumerate(stiffness):
        assert np.array_equal(
            runs.states[place].T, single(oscillator(), {x: 1.0}, {k: value}, **given).y
        )


def test_runs_go_backwards_and_keep_the_order_of_the_times():
    given = {"span": (1, -1), "at": [0.5, -1.0, 1.0, 0.0]}
    runs = da.simulate(oscillator(), {x: [1.0, 2.0]}, parameters={k: 4.0}, **given)
    motion = single(oscillator(), {x: 2.0}, {k: 4.0}, **given)
    assert np.array_equal(runs.states[1].T, motion.y)
    assert np.array_equal(runs.final["x"], runs["x"][:, 1])


def test_a_run_depends_neither_on_its_neighbours_nor_on_the_chunk_nor_on_threads():
    scenario = da.gallery.load("rolling-disk")
    start = {"theta": np.linspace(0.1, 1.2, 9), "psi_dot": np.linspace(2.0, 4.0, 9)}
    plan, axes = read_plan(scenario, start, (0, 0.5), RunOptions())
    p, v = flat_values(plan, axes, laid_out(axes)[0])
    whole = run_chunk(plan, p, v)
    backwards = run_chunk(plan, p[::-1], v[::-1])
    assert np.array_equal(whole.states, backwards.states[::-1])
    for place in (0, 4, 8):
        alone = run_chunk(plan, p[place : place + 1], v[place : place + 1])
        assert np.array_equal(alone.states[0], whole.states[place])
    for workers in (1, 3):
        runs = da.simulate(scenario, start, (0, 0.5), workers=workers)
        assert np.array_equal(runs.states, whole.states)


def test_the_drift_of_the_energy_is_that_of_the_motion():
    runs = da.simulate(
        da.gallery.load("rolling-disk"), {"theta": [0.3, 0.5]}, (0, 2), at=[1.0, 2.0], rtol=1e-6
    )
    motion = runs.motion(1)
    energy = motion.energy
    there = [abs(energy[np.argmin(abs(motion.t - t))] - energy[0]) for t in (2.0,)]
    assert 0 < runs.energy_drift[1] < 1e-5
    assert runs.energy_drift[1] >= 0.99 * there[0]


# -- the axes --------------------------------------------------------------------------------------


@pytest.mark.long
def test_shapes_broadcast_and_axes_have_names():
    runs = da.simulate(
        oscillator(),
        {x: np.array([1.0, 2.0, 3.0])},
        (0, 1),
        parameters={k: np.array([[1.0], [4.0]])},
    )
    assert runs.shape == (2, 3) and runs.table.dims == ("k", "x_start")
    assert runs["x"] == pytest.approx(
        np.cos([[1.0], [2.0]] * np.ones((1, 3)))[..., None] * [[[1], [2], [3]]], abs=1e-9
    )
    assert np.array_equal(runs["k"], [[1.0] * 3, [4.0] * 3])
    table = runs.to_xarray()
    assert float(table["x"].sel(k=4.0, x_start=3.0, time=1.0)) == runs["x"][1, 2, 0]


def test_arrays_of_one_length_are_paired():
    runs = da.simulate(oscillator(), {x: [1.0, 2.0]}, (0, 1), parameters={k: [1.0, 4.0]})
    assert runs.table.dims == ("run",)
    assert runs.final["x"] == pytest.approx([np.cos(1), 2 * np.cos(2)], abs=1e-9)


@pytest.mark.parametrize(
    ("start", "parameters", "words"),
    [
        ({x: [1.0, 2.0]}, {k: [1.0, 2.0, 3.0]}, "do not fit together"),
        ({x: []}, {k: 1.0}, "no run"),
        ({x: ["a", "b"]}, {k: 1.0}, "must be numbers"),
        ({"z": [1.0, 2.0]}, {k: 1.0}, "no part of the state"),
    ],
)
def test_arrays_that_cannot_be_run_are_refused_at_once(start, parameters, words):
    with pytest.raises((ModelError, StartError), match=words):
        da.simulate(oscillator(), start, (0, 1), parameters=parameters)


def test_a_value_that_no_run_uses_is_warned_of_once():
    with pytest.warns(UnusedParameterWarning, match="does not use the parameter `z`") as caught:
        da.simulate(oscillator(), {x: 1.0}, (0, 1), parameters={k: [1.0, 2.0], "z": 1.0})
    assert len(caught) == 1


def test_options_that_speak_of_one_motion_are_refused():
    with pytest.raises(ModelError, match="zero crossings"):
        da.simulate(oscillator(), {x: [1.0]}, (0, 1), parameters={k: 1.0}, events=[x])
    with pytest.raises(ModelError, match="every"):
        da.simulate(
            oscillator(),
            {x: [1.0]},
            (0, 1),
            parameters={k: 1.0},
            method="gauss4",
            step=0.1,
            every=2,
        )
    with pytest.raises(ModelError, match="workers"):
        da.simulate(oscillator(), {x: [1.0]}, (0, 1), parameters={k: 1.0}, workers=0)
    with pytest.raises(ModelError, match=r"One run takes one thread.*workers=2.*array of starts"):
        da.simulate(oscillator(), {x: 1.0}, (0, 1), parameters={k: 1.0}, workers=2)


# -- failures --------------------------------------------------------------------------------------


def test_a_run_that_blows_up_keeps_what_it_reached_and_harms_nobody():
    starts = np.array([0.1, 1.0, 0.2])
    runs = da.simulate(falling(), {x: starts}, (0, 2), parameters={k: 1.0}, at=[0.5, 2.0])
    assert runs.outcomes.tolist() == ["finished", "blew up", "finished"]
    assert "blew up" in runs.messages[1] and runs.messages[0] == ""
    assert np.isfinite(runs.states[1, 0]).all() and np.isnan(runs.states[1, 1]).all()
    assert runs.failed.tolist() == [False, True, False] and not runs.success
    quiet = da.simulate(falling(), {x: starts[[0, 2]]}, (0, 2), parameters={k: 1.0}, at=[0.5, 2.0])
    assert np.array_equal(quiet.states, runs.states[[0, 2]])
    assert runs.counts == {"finished": 2, "blew up": 1}


def test_a_start_that_is_refused_and_a_number_that_is_none_are_recorded():
    sleigh = da.gallery.load("chaplygin-sleigh")
    steered = dict(sleigh.start)
    runs = da.simulate(
        sleigh,
        {**steered, "theta": [steered.get("theta", 0.0), 1.0, np.nan]},
        (0, 0.2),
        project_start=False,
    )
    assert runs.codes[0] == 0
    assert runs.outcomes[1:].tolist() == ["start refused", "start refused"]
    assert "residual" in runs.messages[1] and "finite" in runs.messages[2]
    assert np.isnan(runs.states[1:]).all()


def test_too_many_steps_are_an_outcome():
    runs = da.simulate(oscillator(), {x: 1.0}, (0, 10), parameters={k: [1e-6, 1e6]}, max_steps=40)
    assert runs.outcomes.tolist() == ["finished", "too many steps"]
    assert "max_steps" in runs.messages[1]


def test_a_run_that_fails_fails_again_in_the_same_place():
    given = {"span": (0, 2), "parameters": {k: 1.0}, "at": [0.5, 2.0]}
    first, again = (da.simulate(falling(), {x: [1.0, 2.0]}, **given) for _ in range(2))
    assert first.messages.tolist() == again.messages.tolist()
    assert np.array_equal(first.states, again.states, equal_nan=True)


def test_ctrl_c_keeps_what_was_done():
    reported = []

    def press(fraction, done):
        reported.append(done)
        raise KeyboardInterrupt

    plenty = np.linspace(1.0, 2.0, 4000)
    runs = da.simulate(
        oscillator(),
        {x: 1.0},
        (0, 10),
        parameters={k: plenty},
        method="dop853",
        workers=1,
        progress=press,
    )
    counts = runs.counts
    assert counts["finished"] >= 64 and counts["not run"] > 0
    assert reported[-1] == counts["finished"]  # what was left out does not count
    assert np.isnan(runs.states[runs.outcomes == "not run"]).all()
    assert not runs.failed[runs.outcomes == "not run"].any() and not runs.success


# -- decisions on the way --------------------------------------------------------------------------


@pytest.mark.long
def test_contacts_and_events_go_through_the_driver():
    ball = da.System(
        coordinates=[x],
        kinetic=x.dot**2 / 2,
        potential=k * x,
        constraints=[da.unilateral(-x, name="floor", restitution=0.5)],
    )
    runs = da.simulate(ball, {x: [1.0, 2.0]}, (0, 1), parameters={k: 9.81})
    for place, height in enumerate((1.0, 2.0)):
        motion = da.simulate(ball, {x: height}, (0, 1), parameters={k: 9.81}, at=[1.0])
        assert np.array_equal(runs.states[place].T, motion.y)
    stop = da.event(2 * x - 1, terminal=True)
    stopped = da.simulate(oscillator(), {x: [1.0, 0.2]}, (0, 2), parameters={k: 1.0}, events=[stop])
    assert stopped.outcomes.tolist() == ["stopped by event", "finished"] and stopped.success


def test_inputs_given_as_functions_reach_every_run():
    u = da.inputs("u")
    pushed = da.System(coordinates=[x], kinetic=k / 2 * x.dot**2, forces={x: u}, inputs=[u])
    runs = da.simulate(
        pushed, {x: 0.0}, (0, 1), parameters={k: [1.0, 2.0]}, inputs={u: lambda t, state: 2.0}
    )
    assert runs.final["x"] == pytest.approx([1.0, 0.5], abs=1e-9)


def test_an_engine_of_its_own_may_execute_a_method_and_leave_runs_to_the_driver(monkeypatch):
    def engine(plan, parameters, starts, stop):
        states = np.repeat(starts[:, None, :], len(plan.times), axis=1)
        codes = np.array([0] * (len(parameters) - 1) + [chunks.LEFT])
        return Reached(states, codes, [None] * len(codes), {"steps": np.zeros(len(codes), int)})

    plan, axes = read_plan(oscillator(), {x: [1.0, 2.0, 3.0]}, (0, 1), RunOptions({k: 1.0}))
    monkeypatch.setitem(chunks._ENGINES, "dop853", engine)
    results = run_chunk(plan, *flat_values(plan, axes, (3,)))
    assert results.states[:2, 0, 0].tolist() == [1.0, 2.0]  # the engine stands still
    assert results.states[2, 0, 0] == pytest.approx(3 * np.cos(1), abs=1e-9)


# -- results ---------------------------------------------------------------------------------------


def test_one_run_again_is_a_motion_with_all_steps():
    runs = da.simulate(
        oscillator(), {x: [1.0, 2.0]}, (0, 1), parameters={k: [[1.0], [4.0]]}, at=[1.0]
    )
    motion = runs.motion((1, 1))
    assert len(motion.t) > 3 and motion["x"][-1] == runs["x"][1, 1, 0]
    with pytest.raises(ModelError, match="place"):
        runs.motion((2, 0))
    with pytest.raises(ModelError, match="did you mean x_dot"):
        runs["x_dott"]


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_runs_are_saved_as_the_table_they_are(tmp_path, suffix):
    runs = da.simulate(falling(), {x: [0.1, 1.0]}, (0, 2), parameters={k: 1.0}, at=[0.5, 2.0])
    path = tmp_path / f"runs{suffix}"
    runs.save(path)
    found = (
        xr.open_zarr(path) if suffix == ".zarr" else xr.open_dataset(path, engine="h5netcdf")
    ).load()
    assert np.array_equal(found["x"].values, runs["x"], equal_nan=True)
    assert found["message"].values.tolist() == runs.messages.tolist()
    codes, names = (
        found["outcome"].attrs["flag_values"],
        found["outcome"].attrs["flag_meanings"].split(),
    )
    assert names[list(codes).index(int(found["outcome"][1]))] == "blew_up"
    assert len(OUTCOMES) + 1 == len(names)
    found.close()
    with pytest.raises(da.errors.FileError):
        runs.save(tmp_path / "runs.txt")


def test_what_is_masked_is_no_number_and_what_is_complex_no_start():
    """The mask was ignored, and imaginary parts left out with a warning of NumPy."""
    x = da.coordinates("x")
    free = da.System([x], kinetic=x.dot**2 / 2)
    runs = da.simulate(free, {x: np.ma.masked_array([1.0, 2.0], mask=[False, True])}, (0, 1))
    assert [str(outcome) for outcome in runs.outcomes] == ["finished", "start refused"]
    for values in ([1.0 + 1.0j, 2.0], np.array([1.0 + 0.0j, 2.0]), 1.0j):
        with pytest.raises(da.errors.ModelError, match="`x` must be"):
            da.simulate(free, {x: values}, (0, 1))
    with pytest.raises(da.errors.ModelError, match="nan in `at`"):
        da.simulate(free, {x: 1.0}, (0, 1), at=np.ma.masked_array([0.5, 0.6], mask=[False, True]))


def test_a_name_is_given_once():
    """Of a symbol and its name the last was taken, without a word."""
    x = da.coordinates("x")
    k = da.parameters("k")
    spring = da.System([x], kinetic=x.dot**2 / 2, potential=k * x**2 / 2)
    for start, parameters in (
        ({x: [1.0, 2.0], "x": [3.0, 4.0]}, {k: 1.0}),
        ({x: 1.0}, {k: [1.0, 2.0], "k": 3.0}),
    ):
        with pytest.raises(da.errors.ModelError, match="twice"):
            da.simulate(spring, start, (0, 1), parameters=parameters)
    with pytest.raises(da.errors.ModelError, match="twice"):
        da.sweep(spring, {k: [1.0, 2.0], "k": [3.0, 4.0]}, start={x: 1.0}, span=(0, 1))
