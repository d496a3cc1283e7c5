"""What a single run says about its digits is kept for each of many: in threads, in lanes, in a
store, on a cluster.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr

import dalembert as da
from dalembert.errors import FileError
from dalembert.integrate.ensemble.engine import LightRun
from dalembert.integrate.ensemble.run_table import MESSAGE, MESSAGE_BEFORE

x, y, theta = da.coordinates("x y theta")
m, k, a = da.parameters("m k a")

SPRING = da.System([x], kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)
#: A particle between two walls at an angle.
WALLS = da.System(
    [x, y],
    kinetic=(x.dot**2 + y.dot**2) / 2,
    potential=x**2 / 2 - 3 * x - 5 * y,
    constraints=[
        da.velocity(x.dot - 1, name="A"),
        da.velocity(sympy.cos(a) * (x.dot - 1) + sympy.sin(a) * y.dot, name="B"),
    ],
)
#: Two blades that are parallel where theta is zero.
BLADES = da.System(
    [x, y, theta],
    kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
    potential=-3 * x - 5 * y,
    constraints=[
        da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="A"),
        da.velocity(y.dot, name="B"),
    ],
)
#: Two masses of which the second is carried by the first.
CARRIED = da.System([x, y], kinetic=x.dot**2 / 2 + m * (x.dot + y.dot) ** 2 / 2, potential=x**2 / 2)
BALL = da.System(
    [x],
    kinetic=x.dot**2 / 2,
    potential=k * x,
    constraints=[da.unilateral(-x, restitution=0.5, name="floor")],
)

ANGLES = [0.5, 1e-3, 1e-5, 1e-8, 1e-12]
MASSES = [1.0, 1e3, 1e5, 1e6, 1e9]
#: Model, what differs, what is the same, options; each with runs that have nothing to say.
CASES: dict[str, Any] = {
    "walls": (WALLS, {"a": ANGLES}, {"x_dot": 1.0}, {"form": "lagrange"}),
    "walls in fixed steps": (
        WALLS,
        {"a": ANGLES},
        {"x_dot": 1.0},
        {"form": "lagrange", "method": "gauss4", "step": 0.1},
    ),
    "walls in lanes": (
        WALLS,
        {"a": ANGLES},
        {"x_dot": 1.0},
        {"form": "lagrange", "method": "taylor"},
    ),
    "more steps than the buffer has": (
        WALLS,
        {"a": [0.5, 1e-8]},
        {"x_dot": 1.0},
        {"form": "lagrange", "max_step": 2e-4},
    ),
    "more fixed steps": (
        WALLS,
        {"a": [0.5, 1e-8]},
        {"x_dot": 1.0},
        {"form": "lagrange", "method": "gauss2", "step": 2.0**-13},
    ),
    "blades": (BLADES, {"theta": [0.5, 0.0, -0.2]}, {"theta_dot": 1.0}, {"form": "lagrange"}),
    "masses": (CARRIED, {"m": MASSES}, {"x": 1.0}, {}),
    "masses in lanes": (CARRIED, {"m": MASSES}, {"x": 1.0}, {"method": "taylor"}),
    "masses by Taylor one by one": (
        CARRIED,
        {"m": MASSES},
        {"x": 1.0},
        {"method": "taylor", "first_step": 0.01},
    ),
    "small symbols": (SPRING, {"x": [1.0, 1e-11, 5e-324, 0.0]}, {"m": 1.0, "k": 1.0}, {}),
    "small symbols in lanes": (
        SPRING,
        {"x": [1.0, 1e-11, 0.0, 2.0, 3e-10]},
        {"m": 1.0, "k": 1.0},
        {"method": "taylor"},
    ),
    "small symbols in fixed steps": (
        SPRING,
        {"x": [1.0, 1e-11, 5e-324]},
        {"m": 1.0, "k": 1.0},
        {"method": "gauss4", "step": 0.5},
    ),
    "a coarse clock": (SPRING, {"x": [1.0, 2.0]}, {"m": 1.0, "k": 1.0}, {"span": (1e12, 1e12 + 8)}),
    "a coarse clock in lanes": (
        SPRING,
        {"x": [1.0, 1e-11]},
        {"m": 1.0, "k": 1.0},
        {"span": (1e12, 1e12 + 8), "method": "taylor"},
    ),
    "endings by a coarse clock": (
        SPRING,
        {"k": [1.0, 1e8]},
        {"m": 1.0, "x": 1.0},
        {"span": (1e12, 1e12 + 8), "max_steps": 50},
    ),
    "contacts": (BALL, {"x": [1.0, 1e-11]}, {"k": 1e-12}, {}),
}


def parted(model: da.System, values: dict[str, Any]) -> dict[str, Any]:
    """Values by name as start and parameters of `simulate`."""
    names = {symbol.name for symbol in model.parameters}
    return {
        "start": {name: value for name, value in values.items() if name not in names},
        "parameters": {name: value for name, value in values.items() if name in names},
    }


def alone(
    model: da.System, over: dict[str, Any], same: dict[str, Any], options: dict[str, Any]
) -> list[str]:
    """The messages of single runs, without the first sentence of those that finished."""
    ((name, values),) = over.items()
    found = []
    for value in values:
        motion = da.simulate(
            model, **parted(model, same | {name: value}), **{"span": (0, 1), **options}
        )
        is_finished = motion.outcome is da.Outcome.FINISHED
        found.append(motion.message.partition(". ")[2] if is_finished else motion.message)
    return found


def swept(
    model: da.System,
    over: dict[str, Any],
    same: dict[str, Any],
    options: dict[str, Any],
    **further: Any,
) -> da.Ensemble:
    return da.sweep(model, over, **parted(model, same), **{"span": (0, 1), **options}, **further)


@pytest.mark.parametrize("case", CASES)
def test_runs_have_the_diagnostics_of_single_runs_in_threads_and_blocks(case: str) -> None:
    model, over, same, options = CASES[case]
    expected = alone(model, over, same, options)
    assert any(expected)
    for workers in (1, 3):
        runs = da.simulate(
            model, **parted(model, same | over), **{"span": (0, 1), **options}, workers=workers
        )
        assert runs.messages.tolist() == expected
    assert np.array_equal(runs.has_diagnostics, ~runs.failed & [bool(text) for text in expected])
    for chunk in (1, 2):
        again = swept(model, over, same, options, chunk=chunk, workers=2)
        assert again.messages.tolist() == expected and np.array_equal(
            again.states, runs.states, equal_nan=True
        )


@pytest.mark.long
@pytest.mark.parametrize(
    "case", ["walls", "masses in lanes", "small symbols in fixed steps", "contacts"]
)
def test_a_store_keeps_diagnostics_and_going_on_makes_the_same(case: str, tmp_path: Path) -> None:
    model, over, same, options = CASES[case]
    expected, path = alone(model, over, same, options), tmp_path / "runs.zarr"
    runs = swept(model, over, same, options, store=path, chunk=1)
    assert runs.messages.tolist() == expected
    table = xr.open_zarr(path).load()
    assert (
        table["message"].values.tolist() == expected
        and table["message"].attrs["long_name"] == MESSAGE
    )
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    (path / "outcome" / "c.0").unlink()
    (
        path / "message" / "c.1"
    ).unlink()  # a diagnostic that was lost is noticed, although the runs are there
    again = swept(model, over, same, options, store=path, chunk=1, resume=True)
    assert again.statistics["runs_before"] == len(expected) - 2
    assert again.messages.tolist() == expected
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_a_cluster_sends_diagnostics_back() -> None:
    distributed = pytest.importorskip("distributed")
    model, over, same, options = CASES["masses in lanes"]
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        runs = swept(model, over, same, options, client=client, chunk=2)
    assert runs.messages.tolist() == alone(model, over, same, options)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_saved_ensembles_and_their_words_have_diagnostics(suffix: str, tmp_path: Path) -> None:
    model, over, same, options = CASES["walls"]
    expected = alone(model, over, same, options)
    runs = da.simulate(model, **parted(model, same | over), span=(0, 1), **options)
    assert (
        runs.success
        and not runs.failed.any()
        and runs.has_diagnostics.tolist() == [False, True, True, True, True]
    )
    assert f"5 finished; 4 of 5 runs have diagnostics, e.g. run (1,): {expected[1]}>" in repr(runs)
    assert runs.to_xarray()["message"].values.tolist() == expected
    path = tmp_path / f"runs{suffix}"
    runs.save(path)
    found = (
        xr.open_zarr(path) if suffix == ".zarr" else xr.open_dataset(path, engine="h5netcdf")
    ).load()
    assert (
        found["message"].values.tolist() == expected
        and found["message"].attrs["long_name"] == MESSAGE
    )


def test_runs_that_an_event_stops_count_only_where_they_say_more() -> None:
    stop = da.event(2 * x - 1, terminal=True)
    given = {"span": (0, 2), "events": [stop], "parameters": {m: 1.0, k: 1.0}}
    quiet = da.simulate(SPRING, {x: [1.0, 0.2]}, **given)
    assert (
        quiet.outcomes.tolist() == ["stopped by event", "finished"]
        and not quiet.has_diagnostics.any()
    )
    assert (
        "Stopped by the event" in quiet.messages[0]
        and quiet.messages[1] == ""
        and quiet.diagnostic == ""
        and quiet.diagnostics.tolist() == ["", ""]
    )
    told = da.simulate(SPRING, {x: [1.0, 0.2]}, atol=0.1, **given)
    assert (
        told.has_diagnostics.all()
        and "2 of 2 runs have diagnostics, e.g. run (0,): No symbol was larger" in repr(told)
    )
    motion = told.motion(0)
    assert motion.message == " ".join([motion.termination.sentence, *motion.diagnostics])
    assert [" ".join(motion.diagnostics), motion.message] == [told.diagnostics[0], told.messages[0]]


def test_the_name_of_an_event_does_not_hide_diagnostics() -> None:
    """A name with a full stop ended the sentence of the event for who read messages."""
    stop = da.event(2 * x - 1, terminal=True, name="x` at t = 1. Half")
    given = {"span": (0, 2), "events": [stop], "parameters": {m: 1.0, k: 1.0}}
    quiet = da.simulate(SPRING, {x: [1.0]}, **given)
    assert not quiet.has_diagnostics.any() and quiet.outcomes.tolist() == ["stopped by event"]
    told = da.simulate(SPRING, {x: [1.0]}, atol=0.1, **given)
    assert told.diagnostics[0].startswith("No symbol was larger")


def test_diagnostics_of_a_motion_are_kept_in_its_file(tmp_path: Path) -> None:
    motion = da.simulate(SPRING, {x: 1e-11}, (0, 1), parameters={m: 1.0, k: 1.0})
    (told,) = motion.diagnostics
    assert told.startswith("No symbol was larger") and motion.message.endswith(told)
    motion.save(tmp_path / "motion.nc")
    found = da.load(tmp_path / "motion.nc")
    assert (found.diagnostics, found.message) == (motion.diagnostics, motion.message)


def drop_diagnostics(path: Path) -> None:
    """Make a store as the versions before 0.2 wrote them."""
    shutil.rmtree(path / "diagnostics")
    root = json.loads((path / "zarr.json").read_text())
    del root["consolidated_metadata"]["metadata"]["diagnostics"]
    (path / "zarr.json").write_text(json.dumps(root))


def test_a_store_without_an_array_of_diagnostics_is_read_and_gone_on_with(tmp_path: Path) -> None:
    """The messages of its finished runs are diagnostics."""
    model, over, same, options = CASES["walls"]
    path = tmp_path / "runs.zarr"
    new = swept(model, over, same, options, store=path, chunk=2)
    assert new.diagnostics.tolist() == new.messages.tolist()
    assert xr.open_zarr(path)["diagnostics"].values.tolist() == new.diagnostics.tolist()
    drop_diagnostics(path)
    (path / "outcome" / "c.1").unlink()
    found = swept(model, over, same, options, store=path, chunk=2, resume=True)
    assert found.statistics["runs_before"] == 3
    assert found.diagnostics.tolist() == new.diagnostics.tolist() and any(new.diagnostics)
    assert np.array_equal(found.has_diagnostics, new.has_diagnostics)
    assert not (path / "diagnostics").exists()
    assert found.to_xarray()["diagnostics"].values.tolist() == new.diagnostics.tolist()


def test_an_ordinary_run_is_not_looked_at_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What diagnostics cost must not grow with runs that have none."""

    def looked(*_: Any) -> None:
        raise AssertionError("the steps were looked at")

    monkeypatch.setattr(LightRun, "_buffered", looked)
    for method in ("dop853", "taylor"):
        runs = da.simulate(
            SPRING,
            {x: [1.0, 0.0], x.dot: [0.0, 1.0]},
            (0, 1),
            parameters={m: 1.0, k: 1.0},
            method=method,
        )
        assert runs.success and not runs.has_diagnostics.any()


def test_a_store_of_before_is_gone_on_with_and_said_to_have_no_diagnostics(tmp_path: Path) -> None:
    model, over, same, options = CASES["walls"]
    path = tmp_path / "runs.zarr"
    expected = swept(model, over, same, options, store=path, chunk=2).messages.tolist()
    drop_diagnostics(path)
    for file in (path / "zarr.json", path / "message" / "zarr.json"):
        text = file.read_text()
        assert MESSAGE in text and json.loads(text)
        file.write_text(text.replace(MESSAGE, MESSAGE_BEFORE))
    for file in (path / "message").glob("c.*"):
        file.unlink()
    (path / "outcome" / "c.1").unlink()
    found = swept(model, over, same, options, store=path, chunk=2, resume=True)
    assert found.messages.tolist() == ["", "", *expected[2:4], ""] and found.success
    assert (
        "diagnostics were not kept for the 3 runs that an earlier version stored; 2 of 5 runs have"
        " diagnostics" in repr(found)
    )
    file = path / "message" / "zarr.json"
    file.write_text(file.read_text().replace(MESSAGE_BEFORE, "something else"))
    root = path / "zarr.json"
    root.write_text(root.read_text().replace(MESSAGE_BEFORE, "something else"))
    with pytest.raises(FileError, match="damaged"):
        swept(model, over, same, options, store=path, chunk=2, resume=True)
