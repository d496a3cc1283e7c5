"""Sweeps: every run is there, the same numbers whoever computes them, and a store that outlives a
kill.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.errors import FileError, ModelError, RunError
from dalembert.integrate.ensemble import cluster as sweep_cluster
from dalembert.integrate.ensemble.store import RunBlocks
from dalembert.integrate.ensemble.sweep import latin_hypercube
from dalembert.integrate.ensemble.sweep_plan import execute, order_of

x = da.coordinates("x")
k = da.parameters("k", positive=True)
OSCILLATOR = da.System(
    coordinates=[x], kinetic=x.dot**2 / 2, potential=k / 2 * x**2, name="oscillator"
)
#: x'' = 6 k x^2 leaves every bound where it starts high enough.
FALLING = da.System(coordinates=[x], kinetic=x.dot**2 / 2, potential=-2 * k * x**3, name="falling")
GRID = {"k": [1.0, 4.0, 9.0], "x": [0.5, 1.0, 1.5, 2.0]}


def swept(**options):
    return da.sweep(OSCILLATOR, GRID, span=(0, 1), **options)


# -- the runs --------------------------------------------------------------------------------------


def test_a_grid_has_every_combination_and_its_closed_form():
    runs = swept(at=[0.5, 1.0])
    stiffness, height = np.array(GRID["k"]), np.array(GRID["x"])
    expected = height[:, None] * np.cos(np.sqrt(stiffness)[:, None, None] * np.array([0.5, 1.0]))
    assert runs.table.dims == ("k", "x_start") and runs["x"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "options",
    [{"workers": 3, "chunk": 1}, {"workers": 2, "chunk": 5}, {"workers": 1, "chunk": 100}],
)
def test_the_numbers_depend_neither_on_threads_nor_on_blocks(options):
    assert np.array_equal(swept(**options).states, swept().states)


def test_pairs_and_samples_are_lists_of_runs():
    listed = da.sweep(OSCILLATOR, {"k": [1.0, 4.0], "x": [1.0, 2.0]}, paired=True, span=(0, 1))
    assert listed.table.dims == ("run",) and listed.final["x"] == pytest.approx(
        [np.cos(1), 2 * np.cos(2)], abs=1e-9
    )
    bounds = {"k": (1.0, 9.0), "x": (1.0, 2.0)}
    drawn, again, other = (
        da.sweep(OSCILLATOR, bounds, sample=8, seed=s, span=(0, 1)) for s in (1, 1, 2)
    )
    assert np.array_equal(drawn.states, again.states) and not np.array_equal(drawn["k"], other["k"])
    assert drawn.final["x"] == pytest.approx(
        drawn["x_start"] * np.cos(np.sqrt(drawn["k"])), abs=1e-9
    )


@pytest.mark.parametrize("count", [1, 7, 40])
def test_a_latin_hypercube_has_one_value_in_every_part(count):
    drawn = latin_hypercube({"a": (-1.0, 3.0), "b": (5.0, 2.0)}, count, seed=4)
    for name, (low, high) in (("a", (-1.0, 3.0)), ("b", (5.0, 2.0))):
        parts = np.floor(count * (drawn[name] - low) / (high - low)).astype(int)
        assert sorted(parts) == list(range(count))


@pytest.mark.long
@given(
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple), count=st.integers(1, 60)
)
@settings(max_examples=60, deadline=None)
def test_blocks_cover_a_grid_once(shape, count):
    blocks = RunBlocks.of(shape, count)
    places = np.concatenate([blocks.places(number) for number in blocks])
    assert sorted(places) == list(range(int(np.prod(shape))))
    assert max(len(blocks.places(number)) for number in blocks) <= count


def test_what_cannot_be_swept_is_refused_in_words():
    for over, words in (
        ({"z": [1.0]}, "neither a parameter nor"),
        ({}, "something to vary"),
        ({"k": ["a"]}, "numbers"),
    ):
        with pytest.raises(ModelError, match=words):
            da.sweep(OSCILLATOR, over, span=(0, 1))
    with pytest.raises(ModelError, match="no option `progres`"):
        swept(progres=print)
    with pytest.raises(ModelError, match="one cluster"):
        swept(client=object(), scheduler="tcp://127.0.0.1:1")
    with pytest.raises(ModelError, match="A sweep needs a System"):
        da.sweep("oscillator", GRID)
    u = da.inputs("u")
    free = da.System(coordinates=[x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    with pytest.raises(ModelError, match="not imposed"):
        da.sweep(free, {"x": [1.0]}, span=(0, 1))


def test_a_swept_velocity_takes_the_place_of_the_momentum_of_a_scenario():
    scenario = da.Scenario(
        OSCILLATOR, parameters={"k": 1.0}, start={"x": 0.0, "p_x": 5.0}, simulate={"span": (0, 1)}
    )
    runs = da.sweep(scenario, {"x_dot": [1.0, 2.0]})
    assert runs.final["x"] == pytest.approx([np.sin(1), 2 * np.sin(1)], abs=1e-9)


# -- the store -------------------------------------------------------------------------------------


def test_a_store_is_a_plain_table(tmp_path):
    runs = swept(store=tmp_path / "runs.zarr", at=[0.5, 1.0], chunk=4)
    table = xr.open_zarr(tmp_path / "runs.zarr").load()
    assert np.array_equal(table["x"].values, swept(at=[0.5, 1.0])["x"])
    assert float(table["x"].sel(k=4.0, x_start=2.0, time=1.0)) == runs["x"][1, 3, 1]
    assert (table["outcome"] == 0).all() and table.attrs["form"] == "lagrange"
    assert runs.motion((1, 3))["x"][-1] == runs["x"][1, 3, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["runs.zarr"]


def test_failures_of_single_runs_are_recorded_and_not_fatal(tmp_path):
    runs = da.sweep(
        FALLING,
        {"x": [0.1, 1.0, np.nan]},
        parameters={"k": 1.0},
        span=(0, 2),
        at=[0.5, 2],
        store=tmp_path / "f.zarr",
    )
    table = xr.open_zarr(tmp_path / "f.zarr").load()
    assert runs.outcomes.tolist() == ["finished", "blew up", "start refused"]
    assert [str(m)[:10] for m in table["message"].values] == ["", "The motion", "The start "]
    assert (
        np.isfinite(table["x"][1, 0])
        and np.isnan(table["x"][1, 1])
        and np.isnan(table["x"][2]).all()
    )


@pytest.mark.long
def test_a_store_can_be_read_and_resumed_after_any_kill(tmp_path):
    """What a kill leaves: some blocks whole, one with its data and without its outcomes, the others
    not there.
    """
    whole, cut = tmp_path / "whole.zarr", tmp_path / "cut.zarr"
    swept(store=whole, chunk=1)
    shutil.copytree(whole, cut)
    for place in ("c.0.0", "c.1.2", "c.2.3"):
        (cut / "outcome" / place).unlink()
    (cut / "x" / "c.1.2.0").unlink()
    table = xr.open_zarr(cut).load()
    assert int((table["outcome"] == -1).sum()) == 3
    made = []
    runs = swept(store=cut, resume=True, progress=lambda fraction, count: made.append(count))
    assert made == [10, 11, 12] and runs.statistics["runs_before"] == 9
    assert xr.open_zarr(cut).load().identical(xr.open_zarr(whole).load())


def test_ctrl_c_leaves_a_store_to_go_on_with(tmp_path):
    def press(fraction, count):
        if count == 3:
            raise KeyboardInterrupt

    path = tmp_path / "runs.zarr"
    runs = swept(store=path, chunk=1, workers=1, progress=press)
    assert runs.statistics["interrupted"] and 3 <= 12 - runs.counts["not run"] < 12
    assert np.array_equal(swept(store=path, resume=True).states, swept().states)


def test_blocks_that_were_broken_off_do_not_count(tmp_path):
    reported = []

    def press(fraction, count):
        reported.append(count)
        raise KeyboardInterrupt

    path = tmp_path / "runs.zarr"
    options = {"method": "dop853", "store": path, "chunk": 1, "workers": 2, "progress": press}
    runs = da.sweep(
        OSCILLATOR, {"k": [1.0, 2.0, 3.0, 4.0]}, start={"x": 1.0}, span=(0, 3_000), **options
    )
    assert runs.statistics["interrupted"]
    assert max(reported) == 4 - runs.counts["not run"] < 4


def test_another_sweep_does_not_go_into_a_store(tmp_path):
    path = tmp_path / "runs.zarr"
    swept(store=path)
    with pytest.raises(FileError, match="already a store"):
        swept(store=path)
    with pytest.raises(FileError, match="other options"):
        swept(store=path, resume=True, rtol=1e-6)
    with pytest.raises(FileError, match="other values"):
        da.sweep(
            OSCILLATOR, {**GRID, "x": [0.5, 1.0, 1.5, 2.5]}, span=(0, 1), store=path, resume=True
        )
    with pytest.raises(FileError, match="another model"):
        da.sweep(FALLING, GRID, span=(0, 1), store=path, resume=True)
    (tmp_path / "other").mkdir()
    with pytest.raises(FileError, match="not the store of a sweep"):
        swept(store=tmp_path / "other", resume=True)
    with pytest.raises(FileError, match="folder that exists"):
        swept(store=tmp_path / "nowhere" / "runs.zarr")


# -- other processes -------------------------------------------------------------------------------


@pytest.mark.long
def test_a_block_is_plain_data_and_the_same_in_a_process_of_its_own(tmp_path):
    """Another process with another order of its dictionaries derives the same equations from the
    text.
    """
    disk = da.gallery.load("rolling-disk")
    order = order_of(disk, {}, {}, (0, 0.3), None, {})
    assert isinstance(order.text, str) and isinstance(order.options, str)
    names = sorted(disk.parameters)
    parameters = np.array([[disk.parameters[name] for name in names]])
    (tmp_path / "model.toml").write_text(order.text)
    script = f"""
import numpy as np
from pathlib import Path
from dalembert.integrate.ensemble.sweep_plan import Order, execute, plan_of
order = Order(Path({str(tmp_path / "model.toml")!r}).read_text(), {order.options!r})
values = np.array([[float(v) for v in plan_of(order).task.start.values()]])
print(execute(order, np.array({parameters.tolist()}), values).states.tobytes().hex())
"""
    run = partial(
        subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    found = {run(env={**os.environ, "PYTHONHASHSEED": "1"}).stdout}
    here = da.sweep(disk, {"m": [disk.parameters["m"]]}, span=(0, 0.3))
    assert found == {here.states[0].tobytes().hex() + "\n"}


def test_a_worker_with_another_version_refuses():
    order = order_of(da.Scenario(OSCILLATOR, {"k": 1.0}), {}, {}, (0, 1), None, {})
    stranger = type(order)(order.text, order.options, "0.0.0")
    with pytest.raises(RunError, match="install one version"):
        execute(stranger, np.ones((1, 1)), np.zeros((1, 0)))


class Future:
    """A future of a cluster that has given up."""

    def __init__(self, status, error=None):
        self.status, self.error = status, error

    def exception(self):
        return self.error


def test_a_block_that_dask_gives_up_is_handed_out_again_but_not_for_ever():
    distributed = pytest.importorskip("distributed")
    rounds = sweep_cluster._Rounds.__new__(sweep_cluster._Rounds)
    rounds.distributed, rounds.todo, rounds.attempts = distributed, [], {7: 1}
    rounds._again(7, Future("error", distributed.KilledWorker("key", None, 4)))
    rounds._again(7, Future("lost"))
    assert rounds.todo == [7, 7]
    rounds.attempts[7] = sweep_cluster.MOST_ATTEMPTS
    with pytest.raises(RunError, match="cannot be made"):
        rounds._again(7, Future("cancelled"))
    with pytest.raises(ModelError, match="wrong"):
        rounds._again(7, Future("error", ModelError("wrong")))


def test_no_scheduler_is_one_sentence(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(sweep_cluster, "CONNECTING", 0.2)
    with pytest.raises(RunError, match="no Dask scheduler"):
        swept(scheduler="tcp://127.0.0.1:9")


@pytest.mark.filterwarnings("ignore")
def test_a_sweep_in_the_threads_of_a_cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        runs = swept(client=client, chunk=2)
        with pytest.raises(ModelError, match="between 1e-15"):
            swept(client=client, rtol=5.0)
    assert np.array_equal(runs.states, swept().states)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("nanny", [True, False], ids=["restarted", "gone"])
def test_killing_two_of_four_workers_loses_nothing(tmp_path, nanny):
    distributed = pytest.importorskip("distributed")
    disk = da.gallery.load("rolling-disk")
    over = {"m": np.linspace(0.5, 2, 20), "theta": np.linspace(0.1, 1.0, 25)}
    alone = da.sweep(disk, over, span=(0, 5), workers=1)
    killed: list[int] = []
    with distributed.LocalCluster(
        n_workers=4, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        nannies = list(cluster.workers.values())
        victims = [worker.pid for worker in nannies[:2]]

        def kill(fraction, count):
            if fraction > 0.2 and not killed:
                for worker, victim in zip(nannies, victims, strict=False):
                    worker.auto_restart = nanny
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)

        with distributed.Client(cluster, set_as_default=False) as client:
            options = {"span": (0, 5), "client": client, "chunk": 10, "progress": kill}
            runs = da.sweep(disk, over, store=tmp_path / "runs.zarr", **options)
    assert len(killed) == 2
    assert np.array_equal(runs.states, alone.states) and runs.success
    assert np.array_equal(xr.open_zarr(tmp_path / "runs.zarr")["theta"].values, alone["theta"])


# -- inputs ----------------------------------------------------------------------------------------


def test_the_parameters_of_a_law_are_swept():
    """Every run is the one that `simulate` makes of the law, however the law was given."""
    u, (u0, w) = da.inputs("u"), da.parameters("u0 w")
    driven = OSCILLATOR.replacing(forces={x: u}, inputs=[u])
    law, fixed = u0 * sympy.sin(w * da.t), {"u0": 2.0, "k": 1.5}
    options = {"start": {x: 0.1}, "parameters": fixed, "span": (0, 2), "at": [1.0, 2.0]}
    over = {"w": [1.0, 3.0]}
    runs = da.sweep(driven, over, inputs={u: law}, **options)
    for model in (da.Scenario(driven), da.derive(driven, "lagrange")):
        assert np.allclose(
            da.sweep(model, over, inputs={"u": law}, **options).states, runs.states, rtol=1e-12
        )
    assert np.array_equal(da.sweep(driven.driven({u: law}), over, **options).states, runs.states)
    for place, value in enumerate(over["w"]):
        alone = da.simulate(
            driven,
            {x: 0.1},
            (0, 2),
            parameters={**fixed, "w": value},
            inputs={u: law},
            at=[1.0, 2.0],
        )
        assert np.array_equal(runs["x"][place], alone["x"])
    assert abs(runs["x"][0] - runs["x"][1]).max() > 0.1


def test_a_function_as_an_input_is_refused_with_what_to_do():
    u = da.inputs("u")
    driven = OSCILLATOR.replacing(forces={x: u}, inputs=[u])
    with pytest.raises(
        ModelError, match=r"must be an expression.*write it in SymPy.*simulate with arrays"
    ):
        da.sweep(
            driven, {"k": [1.0]}, inputs={u: lambda t, state: 1.0}, start={x: 0.1}, span=(0, 1)
        )
