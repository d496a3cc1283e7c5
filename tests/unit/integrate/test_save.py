"""A motion that is saved and loaded is the same motion; a file that is not one is refused in a
sentence.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FileError, ModelError
from dalembert.integrate.storage.file_image import DIGEST, MARK, sealed
from dalembert.integrate.storage.save import scenario_of

#: Hamiltonian, dependent constraints, contact, image, vakonomic, driven, singular mass matrix, and
#: one that ends early.
KINDS = (
    "spherical-pendulum",
    "two-particles-incline",
    "elastic-pendulum-wall",
    "linked-particles",
    "appell-vakonomic",
    "snakeboard-gait",
    "bicycle",
    "blow-up",
)
#: Forms that keep only the independent velocities, and choose others on the way.
FORMS = (("chaplygin-sleigh", "hamel"), ("knife-edge", "maggi"), ("rolling-disk", "hamilton"))


@pytest.fixture(scope="module")
def disk() -> da.Motion:
    return da.simulate(da.gallery.load("rolling-disk"), span=(0, 1))


@pytest.fixture()
def saved(disk: da.Motion, tmp_path: Path) -> Path:
    disk.save(tmp_path / "disk.nc")
    return tmp_path / "disk.nc"


def assert_same(first: da.Motion, second: da.Motion) -> None:
    assert first.names == second.names
    for name in first.names:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    assert list(first.reactions) == list(second.reactions)
    for name, reaction in first.reactions.items():
        np.testing.assert_array_equal(reaction.force, second.reactions[name].force)
        np.testing.assert_array_equal(reaction.multiplier, second.reactions[name].multiplier)
    np.testing.assert_array_equal(first.total_reaction, second.total_reaction)
    assert first.worst_residual == second.worst_residual
    for name in (
        "outcome",
        "message",
        "start",
        "start_report",
        "statistics",
        "impacts",
        "event_names",
        "nfev",
        "success",
    ):
        assert getattr(first, name) == getattr(second, name), name
    assert dict(first.parameters) == dict(second.parameters)
    for a, b in zip(
        (*first.t_events, *first.y_events), (*second.t_events, *second.y_events), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    times = np.linspace(first.segments[0].step_t[0], first.segments[-1].step_t[-1], 37)
    np.testing.assert_allclose(second.sol(times), first.sol(times), rtol=1e-13, atol=1e-13)


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_system_comes_back(name: str, tmp_path: Path) -> None:
    motion = da.simulate(da.gallery.load(name))
    motion.save(tmp_path / "motion.nc")
    loaded = da.load(tmp_path / "motion.nc")
    assert_same(motion, loaded)
    assert loaded.scenario.source == motion.scenario.source
    assert len(loaded.scenario.drawing.shapes) == len(motion.scenario.drawing.shapes)
    loaded.save(tmp_path / "again.nc")
    assert_same(motion, da.load(tmp_path / "again.nc"))


@pytest.mark.long
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_every_kind_of_form_comes_back(name: str, form: str, tmp_path: Path) -> None:
    motion = da.simulate(da.gallery.load(name), form=form)
    motion.save(tmp_path / "motion.nc")
    loaded = da.load(tmp_path / "motion.nc")
    assert_same(motion, loaded)
    assert loaded.equations.form == form and loaded.switches == motion.switches


@pytest.mark.parametrize("at", [[0.25, 1.0], [0.5], []])
def test_chosen_times_events_and_backward_runs_come_back(at: list[float], tmp_path: Path) -> None:
    x = da.coordinates("x")
    system = da.System(
        coordinates=[x], kinetic=x.dot**2 / 2, potential=x**2 / 2, name="Oscillator θ"
    )
    events = [da.event(x, name="zero"), da.event(x - 9, name="never")]
    for span in ((0, 10), (10, 0)):
        motion = da.simulate(system, {x: 1.0}, span, at=at, events=events)
        motion.save(tmp_path / "motion.nc")
        loaded = da.load(tmp_path / "motion.nc")
        assert loaded.t.tolist() == at
        assert_same(motion, loaded)
        assert loaded.system.name == "Oscillator θ"


def test_the_saved_scenario_repeats_the_motion(disk: da.Motion) -> None:
    again = da.simulate(scenario_of(disk))
    np.testing.assert_array_equal(again.y, disk.y)


def test_overrides_are_what_is_kept(tmp_path: Path) -> None:
    scenario = da.gallery.load("snakeboard")
    motion = da.simulate(scenario, {"x": 0.25}, (0, 2), parameters={"m": 7.5})
    motion.save(tmp_path / "motion.nc")
    loaded = da.load(tmp_path / "motion.nc")
    assert loaded.parameters["m"] == loaded.scenario.parameters["m"] == 7.5
    assert loaded.start["x"] == loaded.scenario.start["x"] == 0.25
    assert loaded.scenario.simulate["span"] == (0, 2)


def test_inputs_that_were_functions_keep_their_values_and_say_what_is_missing(
    tmp_path: Path,
) -> None:
    x = da.coordinates("x")
    u = da.inputs("u")
    system = da.System(coordinates=[x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    motion = da.simulate(system, {x: 0.0}, (0, 1), inputs={u: lambda time, state: 2.0 + state["x"]})
    motion.save(tmp_path / "motion.nc")
    assert "Python functions" in motion.to_xarray().attrs["model_note"]
    loaded = da.load(tmp_path / "motion.nc")
    np.testing.assert_array_equal(loaded["u"], motion["u"])
    np.testing.assert_array_equal(loaded["x_ddot"], motion["x_ddot"])
    assert loaded["u"][0] == 2.0
    with pytest.raises(ModelError, match="simulate again"):
        loaded.sol(0.5)


def test_a_model_without_a_text_is_saved_and_says_so(
    disk: da.Motion, tmp_path: Path, monkeypatch
) -> None:
    def refuse(_: object, **options: object) -> str:
        raise ModelError("A model file has no place for this")

    monkeypatch.setattr("dalembert.integrate.storage.save.dumps", refuse)
    disk.save(tmp_path / "motion.nc")
    assert "no place for this" in disk.to_xarray().attrs["model_note"]
    with pytest.raises(FileError, match="without its model"):
        da.load(tmp_path / "motion.nc")


def test_the_dataset_reads_like_the_motion(disk: da.Motion) -> None:
    dataset = disk.to_xarray()
    np.testing.assert_array_equal(dataset["theta"].values, disk["theta"])
    force = dataset["reaction"].sel(constraint="rolling_x", coordinate="psi")
    np.testing.assert_array_equal(force.values, disk.reactions["rolling_x"].force[1])
    multiplier = dataset["multiplier"].sel(row="rolling_y").values
    np.testing.assert_array_equal(multiplier, disk.reactions["rolling_y"].multiplier[0])
    residual = dataset["velocity_residual"].sel(bilateral="rolling_x").values
    np.testing.assert_array_equal(residual, disk.residuals.velocity["rolling_x"])
    assert json.loads(dataset.attrs["parameters"]) == dict(disk.parameters)
    assert json.loads(dataset.attrs["statistics"])["steps"] == disk.statistics["steps"]
    assert (
        dataset.attrs["outcome"] == "finished"
        and dataset.attrs["dalembert_version"] == da.__version__
    )
    from dalembert.model.io.files import loads

    assert loads(dataset.attrs["model"]).parameters == dict(disk.parameters)


def test_other_programs_see_the_same_numbers(saved: Path, disk: da.Motion) -> None:
    import xarray

    with xarray.open_dataset(saved, engine="h5netcdf") as dataset:
        np.testing.assert_array_equal(dataset["t"].values, disk.t)
        np.testing.assert_array_equal(dataset["energy"].values, disk.energy)
        assert dataset.attrs["title"] == "Rolling disk"


def test_names_of_the_model_win_over_ours(tmp_path: Path) -> None:
    reaction, row = da.coordinates("reaction row")
    system = da.System(
        coordinates=[reaction, row],
        kinetic=(reaction.dot**2 + row.dot**2) / 2,
        constraints=[da.velocity(reaction.dot - row.dot, name="a/b")],
        outputs={"constraint": reaction + row},
    )
    motion = da.simulate(system, {reaction.dot: 1.0, row.dot: 1.0}, (0, 1), form="vakonomic")
    assert "chi_a/b" in motion.names
    dataset = motion.to_xarray()
    np.testing.assert_array_equal(dataset["reaction"].values, motion["reaction"])
    motion.save(tmp_path / "motion.nc")
    assert_same(motion, da.load(tmp_path / "motion.nc"))


def test_a_long_model_fits(tmp_path: Path) -> None:
    x = da.coordinates("x")
    system = da.System(coordinates=[x], kinetic=x.dot**2 / 2, name="long " * 20_000)
    motion = da.simulate(system, {x.dot: 0.1}, (0, 1))
    assert len(motion.to_xarray().attrs["model"]) > 64_000
    motion.save(tmp_path / "motion.nc")
    assert_same(motion, da.load(tmp_path / "motion.nc"))


def test_the_frame_has_time_as_index(disk: da.Motion) -> None:
    frame = disk.to_dataframe()
    assert frame.index.name == "t"
    np.testing.assert_array_equal(frame["psi_dot"].to_numpy(), disk["psi_dot"])
    np.testing.assert_array_equal(
        frame["reaction rolling_x x"].to_numpy(), disk.reactions["rolling_x"].force[3]
    )


# -- files that cannot be written or read ----------------------------------------------------------


def sentence(error: pytest.ExceptionInfo[FileError]) -> str:
    text = str(error.value)
    assert "\n" not in text and text.endswith(".")
    return text


@pytest.mark.long
def test_an_unwritable_place_is_named(disk: da.Motion, tmp_path: Path) -> None:
    with pytest.raises(FileError) as error:
        disk.save(tmp_path / "missing" / "motion.nc")
    assert "missing" in sentence(error)
    with pytest.raises(FileError, match="folder"):
        disk.save(tmp_path)
    with pytest.raises(FileError):
        disk.save("/proc/motion.nc")


@pytest.mark.long
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    disk: da.Motion, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FileError, match="No space left"):
        disk.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_a_saved_file_can_be_read_by_others_as_usual(saved: Path) -> None:
    plain = saved.parent / "plain"
    plain.write_text("")
    assert saved.stat().st_mode == plain.stat().st_mode


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    import xarray

    files = {
        "text.nc": b"not a motion",
        "empty.nc": b"",
        "png.nc": b"\x89PNG\r\n\x1a\n" + bytes(100),
        "hdf.nc": b"\x89HDF\r\n\x1a\n" + bytes(100),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    xarray.Dataset({"x": ("t", [1.0, 2.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    for name in (*files, "other.nc", "missing.nc", "."):
        with pytest.raises(FileError) as error:
            da.load(tmp_path / name)
        sentence(error)


def test_a_file_that_was_cut_off_is_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for part in (0.01, 0.3, 0.6, 0.9, 0.999):
        saved.write_bytes(content[: int(part * len(content))])
        with pytest.raises(FileError) as error:
            da.load(saved)
        sentence(error)


def test_damaged_files_are_refused(saved: Path) -> None:
    content = saved.read_bytes()
    random = np.random.default_rng(8)
    for _ in range(20):
        damaged = bytearray(content)
        place = int(random.integers(len(content) - 64))
        damaged[place : place + 64] = random.bytes(64)
        saved.write_bytes(damaged)
        with pytest.raises(FileError) as error:
            da.load(saved)
        sentence(error)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda record: record | {"format": 99}, "another version"),
        (lambda record: record | {"model": "", "model_note": "no text"}, "without its model"),
        (lambda record: record | {"model": "coordinates = ["}, "model"),
        (lambda record: record | {"form": "hamilton"}, "state"),
        (lambda record: record | {"form": "nonsense"}, "model"),
        (lambda record: record | {"steps": [1]}, "steps"),
        (lambda record: record | {"steps": [10**9]}, "steps"),
        (lambda record: record | {"outcome": "happy"}, "cannot be read"),
        (lambda record: {}, "cannot be read"),
        (lambda record: [], "cannot be read"),
    ],
)
def test_records_that_lie_are_refused(change, expected: str, saved: Path) -> None:
    import h5py

    saved.write_bytes(saved.read_bytes()[: -len(MARK) - DIGEST])
    with h5py.File(saved, "a") as file:
        record = json.loads(file["dalembert/record"][()])
        file["dalembert/record"][()] = json.dumps(change(record))
    saved.write_bytes(sealed(saved.read_bytes()))
    with pytest.raises(FileError) as error:
        da.load(saved)
    assert re.search(expected, sentence(error))
