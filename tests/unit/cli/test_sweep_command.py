"""``dalembert sweep``: the store, the report, the exit status; kills and wrong calls."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import numpy as np
import pytest
import xarray as xr
from command_line import COMMAND, SLEIGH, assert_sentence, call
from soak.fault_work import PENDULUM

import dalembert as da


@pytest.fixture
def pendulum(tmp_path):
    path = tmp_path / "pendulum.toml"
    path.write_text(PENDULUM)
    return path


@pytest.mark.long
def test_a_sweep_fills_its_store_and_says_how_it_went(capsys, tmp_path, pendulum):
    path = tmp_path / "runs.zarr"
    ending = call(
        capsys, "sweep", pendulum, "--over", "theta=0.1:1:4", "--over", "theta_dot=0,1", "-o", path
    )
    assert ending.status == 0 and ending.err == ""
    assert "8 finished" in ending.out and "runs.zarr" in ending.out
    table = xr.open_zarr(path).load()
    assert dict(table.sizes) == {"theta_start": 4, "theta_dot_start": 2, "time": 1}
    motion = da.simulate(da.load_model(pendulum), {"theta": 0.4, "theta_dot": 1.0})
    found = table["theta"].sel(theta_start=0.4, theta_dot_start=1.0, method="nearest")
    assert float(found[0]) == pytest.approx(motion["theta"][-1], abs=1e-12)


def test_a_robot_file_is_swept(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    path.write_text(
        '<robot name="arm"><link name="world"/><link name="rod"><inertial><origin xyz="0 0 -1"/>'
        f'<mass value="1"/>{inertia}</inertial></link><joint name="hinge" type="continuous">'
        '<parent link="world"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>'
    )
    store = tmp_path / "runs.zarr"
    ending = call(capsys, "sweep", path, "--over", "hinge=0.1,0.2", "--t", "0,1", "-o", store)
    assert ending.status == 0 and "2 finished" in ending.out
    motion = da.simulate(da.load_model(path), {"hinge": 0.2}, (0, 1))
    found = xr.open_zarr(store)["hinge"].sel(hinge_start=0.2)
    assert float(found[-1]) == pytest.approx(motion["hinge"][-1], abs=1e-10)


def test_json_is_one_document(capsys, tmp_path, pendulum):
    call_it = [
        "sweep",
        pendulum,
        "--over",
        "theta=0.1,0.2",
        "--at",
        "0:1:3",
        "-o",
        tmp_path / "runs.zarr",
        "--json",
    ]
    ending = call(capsys, *call_it)
    assert (
        ending.status == 0
        and ending.json["outcomes"] == {"finished": 2}
        and ending.json["runs"] == 2
    )
    assert xr.open_zarr(tmp_path / "runs.zarr").sizes["time"] == 3
    again = call(capsys, *call_it)
    assert again.status == 2
    assert_sentence(again.err)
    resumed = call(capsys, *call_it, "--resume")
    assert resumed.status == 0 and resumed.json["statistics"]["runs_before"] == 2


@pytest.mark.long
def test_runs_that_fail_are_told_and_give_status_one(capsys, tmp_path):
    ending = call(
        capsys,
        "sweep",
        "blow-up",
        "--set",
        "q_dot=0",
        "--over",
        "q=0.01,1",
        "-o",
        tmp_path / "runs.zarr",
    )
    assert ending.status == 1
    assert_sentence(ending.err)
    assert (
        "1 of 2 runs did not reach" in ending.err
        and "q_start = 1: The motion blew up" in ending.out
    )
    table = xr.open_zarr(tmp_path / "runs.zarr").load()
    assert table["outcome"].values.tolist() == [0, 2]


@pytest.mark.long
def test_diagnostics_are_told_and_no_failure(capsys, tmp_path, pendulum):
    given = ["sweep", pendulum, "--over", "theta=1,1e-12", "--set", "theta_dot=0", "-o"]
    ending = call(capsys, *given, tmp_path / "runs.zarr")
    assert ending.status == 0 and ending.err == ""
    assert "1 of 2 runs has diagnostics, e.g. run (1,): No symbol was larger than" in " ".join(
        ending.out.split()
    )
    found = call(capsys, *given, tmp_path / "again.zarr", "--json").json
    assert (
        found["remarked"] == 1 and found["failures"] == [] and found["outcomes"] == {"finished": 2}
    )
    assert found["remarks"][0]["run"] == [1] and "few digits" in found["remarks"][0]["message"]
    quiet = call(capsys, "sweep", pendulum, "--over", "theta=1,2", "-o", tmp_path / "quiet.zarr")
    assert quiet.status == 0 and "have diagnostics" not in quiet.out


@pytest.mark.long
def test_parameters_that_are_expressions_follow_what_is_swept(capsys, tmp_path):
    """As with --set: the moment of inertia J = m/4 of each run is a quarter of its mass."""
    model = tmp_path / "sleigh.toml"
    model.write_text(SLEIGH.replace("theta_dot = 0.5", 'theta_dot = "J/2"'))
    path = tmp_path / "runs.zarr"
    assert (
        call(capsys, "sweep", model, "--over", "m=1,2", "--over", "x_dot=1,3", "-o", path).status
        == 0
    )
    table = xr.open_zarr(path).load()
    assert table["m"].dims == ("m",) and table["J"].values.tolist() == [0.25, 0.5]
    assert table["theta"].sel(time=10.0).values == pytest.approx(
        np.array([[1.25, 1.25], [2.5, 2.5]]), abs=1e-9
    )
    run = call(capsys, "run", model, "--set", "m=2", "--set", "x_dot=3", "--json")
    assert float(table["x"].sel(m=2, x_dot_start=3, time=10.0)) == pytest.approx(
        run.json["state"]["x"][-1], abs=1e-9
    )
    held = call(
        capsys, "sweep", model, "--over", "m=1,2", "--set", "J=7", "-o", tmp_path / "held.zarr"
    )
    assert held.status == 0 and "J" not in xr.open_zarr(tmp_path / "held.zarr").coords


def test_a_span_that_depends_on_what_is_swept_is_refused(capsys, tmp_path):
    model = tmp_path / "sleigh.toml"
    model.write_text(SLEIGH.replace("t = [0, 10]", 't = [0, "2*J"]'))
    ending = call(capsys, "sweep", model, "--over", "m=1,2", "-o", tmp_path / "runs.zarr")
    assert ending.status == 2 and "simulate.t of the model depends on m" in ending.err
    assert (
        call(
            capsys, "sweep", model, "--over", "m=1,2", "--t", "0,1", "-o", tmp_path / "runs.zarr"
        ).status
        == 0
    )


@pytest.mark.long
def test_samples_are_drawn_or_read(capsys, tmp_path, pendulum):
    lines = tmp_path / "samples.csv"
    lines.write_text("theta,theta_dot\n0.1,0.0\n0.2,1.0\n")
    assert (
        call(capsys, "sweep", pendulum, "--samples", lines, "-o", tmp_path / "read.zarr").status
        == 0
    )
    assert xr.open_zarr(tmp_path / "read.zarr")["theta_start"].values.tolist() == [0.1, 0.2]
    drawn = [tmp_path / "first.zarr", tmp_path / "second.zarr"]
    for path in drawn:
        options = ["--over", "theta=0.1:0.9", "--sample", 5, "--seed", 3, "-o", path]
        assert call(capsys, "sweep", pendulum, *options).status == 0
    first, second = (xr.open_zarr(path).load() for path in drawn)
    assert first.identical(second) and first.sizes["theta_start"] == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["blow-up"], "nothing to sweep"),
        (["blow-up", "--over", "mass=1,2"], "neither a parameter nor a start value"),
        (["blow-up", "--over", "q"], "NAME=VALUES"),
        (["blow-up", "--over", "q=1:2"], "FIRST:LAST:COUNT"),
        (["blow-up", "--over", "q=1,2", "--over", "q=3"], "twice"),
        (["blow-up", "--over", "q=1,2", "--sample", "3"], "two bounds"),
        (["blow-up", "--over", "q=1,2", "--set", "q=3"], "swept and set"),
        (["blow-up", "--samples", "nowhere.csv"], "cannot be read"),
        (["blow-up", "--over", "q=1,2", "--workers", "0"], "workers"),
        (["blow-up", "--over", "q=1,2", "--chunk", "0"], "chunk"),
        (["blow-up", "--over", "q=1,2", "--method", "euler"], "euler"),
        (["pendulum-of-nobody", "--over", "q=1,2"], "no built-in system"),
    ],
)
def test_wrong_calls_are_one_sentence(capsys, tmp_path, arguments, words):
    ending = call(capsys, "sweep", *arguments, "-o", tmp_path / "runs.zarr")
    assert ending.status == 2 and words in ending.err and ending.out == ""
    assert_sentence(ending.err)
    assert not (tmp_path / "runs.zarr").exists()


@pytest.mark.long
def test_a_killed_sweep_goes_on_and_ends_with_the_same_store(tmp_path):
    options = [
        "rolling-disk",
        "--over",
        "m=0.5:2:40",
        "--over",
        "theta=0.1:1:50",
        "--t",
        "0,10",
        "--chunk",
        "50",
        "--json",
    ]

    def command(path, *further):
        return [*COMMAND, "sweep", *options, "-o", str(path), *further]

    whole, cut = tmp_path / "whole.zarr", tmp_path / "cut.zarr"
    subprocess.run(command(whole), check=True, capture_output=True, timeout=300)
    with subprocess.Popen(
        command(cut), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        outcomes, deadline = cut / "outcome", time.monotonic() + 200
        while time.monotonic() < deadline and len(list(outcomes.glob("c.*"))) < 5:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    missing = int((xr.open_zarr(cut)["outcome"] == -1).sum())
    assert 0 < missing < 2000
    subprocess.run(command(cut, "--resume"), check=True, capture_output=True, timeout=300)
    assert xr.open_zarr(cut).load().identical(xr.open_zarr(whole).load())
