"""``dalembert run``: what it computes, prints, writes and refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import SLEIGH, assert_sentence, call

import dalembert as da
from dalembert.cli import terminal
from dalembert.integrate.motion import Motion


@pytest.fixture()
def sleigh(tmp_path: Path) -> Path:
    path = tmp_path / "sleigh.toml"
    path.write_text(SLEIGH)
    return path


@pytest.mark.long
def test_json_holds_the_motion(capsys) -> None:
    ending = call(capsys, "run", "rolling-disk", "--at", "0,1,2.5", "--json")
    assert (ending.status, ending.err) == (0, "")
    found = ending.json
    motion = da.simulate(da.gallery.load("rolling-disk"), at=[0, 1, 2.5])
    assert found["t"] == [0, 1, 2.5]
    assert list(found["state"]) == [s.name for s in motion.state]
    for name, values in found["state"].items():
        np.testing.assert_array_equal(values, motion[name])
    np.testing.assert_array_equal(found["outputs"]["energy"], motion.energy)
    assert found["residual"] == motion.worst_residual
    for name, reaction in motion.reactions.items():
        force = [found["reactions"][name]["force"][q.name] for q in motion.system.coordinates]
        np.testing.assert_array_equal(force, reaction.force)
        np.testing.assert_array_equal(found["reactions"][name]["multiplier"], reaction.multiplier)
    assert found["outcome"] == "finished" and found["message"] == motion.message
    assert found["start"] == dict(motion.start)
    assert found["statistics"]["steps"] == motion.statistics["steps"]


@pytest.mark.long
def test_fixed_steps(capsys) -> None:
    options = ("--t", "0,2", "--method", "gauss4", "--step", "0.01", "--every", "50")
    found = call(capsys, "run", "rolling-disk", *options, "--json").json
    motion = da.simulate(
        da.gallery.load("rolling-disk"), span=(0, 2), method="gauss4", step=0.01, every=50
    )
    assert found["t"] == motion.t.tolist() and found["state"]["x"] == motion["x"].tolist()
    assert found["statistics"]["step"] == 0.01 and found["statistics"]["steps"] == 200
    assert "method gauss4, step 0.01" in call(capsys, "run", "rolling-disk", *options).out


@pytest.mark.parametrize(
    ("name", "symbols"),
    [
        ("spherical-pendulum", {"x", "x_dot", "p_x", "p_z"}),
        ("linked-particles", {"x1", "u1", "x1_dot"}),
        ("appell-vakonomic", {"q1", "q1_dot", "chi_slope"}),
        ("elastic-pendulum-wall", {"theta", "theta_dot"}),
    ],
)
def test_json_names_the_state_of_every_kind(name: str, symbols: set[str], capsys) -> None:
    found = call(capsys, "run", name, "--json").json
    assert symbols <= set(found["state"])
    lengths = {
        len(values) for table in (found["state"], found["outputs"]) for values in table.values()
    }
    assert lengths == {len(found["t"])}
    if name == "elastic-pendulum-wall":
        assert found["impacts"] and found["impacts"][0]["constraint"] == "wall"


def test_inputs_and_outputs_are_printed(capsys) -> None:
    found = call(capsys, "run", "snakeboard-gait", "--json", "--at", "0,1").json
    scenario = da.gallery.load("snakeboard-gait")
    expected = {
        *("energy", "kinetic", "potential", "lagrangian", "action"),
        *scenario.system.outputs,
        *(symbol.name for symbol in scenario.system.inputs),
    }
    assert set(found["outputs"]) == expected


def test_the_summary_tells_the_story(capsys) -> None:
    ending = call(capsys, "run", "rolling-disk", "--set", "x_dot=0")
    assert ending.status == 0 and ending.err == ""
    for words in (
        "Rolling disk",
        "Rumyantsev",
        "Moved to the constraints",
        "followed to t = 5",
        "energy",
        "steps",
        "psi",
    ):
        assert words in ending.out
    assert "\x1b" not in ending.out
    assert all(line == line.rstrip() for line in ending.out.splitlines())


def test_settings_reach_parameters_start_and_expressions(sleigh: Path, capsys) -> None:
    found = call(
        capsys,
        "run",
        sleigh,
        "--set",
        "m=2",
        "--set",
        "theta=pi/6",
        "--set",
        "theta_dot = -1",
        "--json",
    ).json
    assert found["parameters"] == {"m": 2.0, "J": 0.5}
    assert found["start"]["theta"] == pytest.approx(np.pi / 6, rel=1e-15)
    assert found["start"]["theta_dot"] == -1.0
    direct = da.simulate(da.load_model(sleigh, {"m": 2.0}), {"theta": np.pi / 6, "theta_dot": -1.0})
    np.testing.assert_array_equal(found["state"]["x"], direct["x"])


def test_a_velocity_replaces_the_momentum_of_the_model(capsys) -> None:
    found = call(
        capsys,
        "run",
        "spherical-pendulum",
        "--set",
        "x_dot=0.25",
        "--set",
        "y_dot=0",
        "--at",
        "0",
        "--json",
    ).json
    mass = found["parameters"]["m"]
    assert found["state"]["p_x"][0] == pytest.approx(mass * found["state"]["x_dot"][0], abs=1e-12)


def test_times_are_chosen_and_the_span_follows(sleigh: Path, capsys) -> None:
    assert call(capsys, "run", sleigh, "--at", "0:1:5,12", "--json").json["t"] == [
        0,
        0.25,
        0.5,
        0.75,
        1,
        12,
    ]
    found = call(capsys, "run", sleigh, "--t", "2,-1", "--json").json
    assert (found["t"][0], found["t"][-1]) == (2, -1)
    found = call(
        capsys, "run", sleigh, "--t", "0,1", "--rtol", "1e-5", "--atol", "1e-5", "--json"
    ).json
    assert found["statistics"]["rtol"] == 1e-5 and found["statistics"]["atol"] == 1e-5


def test_a_model_without_a_span_asks_for_one(sleigh: Path, capsys) -> None:
    sleigh.write_text(SLEIGH.replace("t = [0, 10]", ""))
    ending = call(capsys, "run", sleigh)
    assert ending.status == 2 and "--t 0,10" in ending.err
    assert call(capsys, "run", sleigh, "--at", "3", "--json").json["t"] == [3]


def test_forms_are_chosen_and_agree(sleigh: Path, capsys) -> None:
    ends = [
        call(capsys, "run", sleigh, "--form", form, "--at", "10", "--json").json["state"]["x"][0]
        for form in ("lagrange", "hamilton")
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


def test_a_run_that_cannot_finish_keeps_what_it_reached(tmp_path: Path, capsys) -> None:
    ending = call(capsys, "run", "blow-up", "--json", "-o", tmp_path / "motion.nc")
    assert ending.status == 1
    assert_sentence(ending.err)
    found = ending.json
    assert found["outcome"] == "blew up" and len(found["t"]) > 10
    assert ending.err.strip() == found["message"]
    assert da.load(tmp_path / "motion.nc").outcome is da.Outcome.BLEW_UP
    spoken = call(capsys, "run", "blow-up")
    assert spoken.status == 1 and "blew up" in spoken.out and spoken.err == ending.err


def test_a_start_without_a_motion_is_status_1_and_still_json(capsys) -> None:
    ending = call(capsys, "run", "bar-pendulum", "--set", "theta=0", "--json")
    assert ending.status == 1
    assert_sentence(ending.err)
    assert ending.json["t"] == [] and ending.json["outcome"] == "became singular"
    assert ending.json["error"]["remedy"] in ending.err


CONTRADICTORY = """\
coordinates = ["x"]
lagrangian = "x_dot**2/2"
constraints = ["x = 1", "x = 2"]
"""
WITHOUT_INERTIA = """\
coordinates = ["x", "y"]
lagrangian = "-x**2 - y"
"""


@pytest.mark.parametrize("text", [CONTRADICTORY, WITHOUT_INERTIA])
def test_a_model_without_any_motion_is_a_wrong_model(text: str, tmp_path: Path, capsys) -> None:
    path = tmp_path / "model.toml"
    path.write_text(text)
    ending = call(capsys, "run", path, "--t", "0,1", "--json")
    assert ending.status == 2
    assert_sentence(ending.err)
    assert ending.json["t"] == []
    assert set(ending.json["error"]) == {"what", "seen", "remedy"}
    assert call(capsys, "run", path, "--t", "0,1").status == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "nothing"),
        ("run", "rolling-disk", "--form", "magi"),
        ("run", "rolling-disk", "--rtoll", "1"),
        ("run", "rolling-disk", "--at", "1,x"),
        ("run", "rolling-disk", "--set", "q=1"),
        ("check", "nothing.toml"),
        ("verify", "U-nothing"),
        ("sweep", "rolling-disk", "--over", "m", "-o", "x.zarr"),
        ("rerun", "nothing.nc"),
        ("derive", "rolling-disk"),
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_every_failure_with_json_is_one_json_document(arguments: tuple[str, ...], capsys) -> None:
    ending = call(capsys, *arguments, "--json")
    assert ending.status == 2
    assert_sentence(ending.err)
    error = ending.json["error"]
    assert set(ending.json) == {"error"} and set(error) == {"what", "seen", "remedy"}
    assert error["what"] and error["what"].rstrip(".?") in ending.err


def test_a_file_that_cannot_be_written_is_told_beside_the_motion(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    def full(self: object, path: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(da.Motion, "report", full)
    ending = call(
        capsys, "run", "rolling-disk", "--at", "1", "--json", "--report", tmp_path / "r.html"
    )
    assert ending.status == 2
    assert ending.json["t"] == [1] and ending.json["error"]["seen"] == "No space left on device"


def test_interruption_keeps_what_was_computed(monkeypatch, capsys) -> None:
    def interrupt(self: object, *_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(terminal.Progress, "__call__", interrupt)
    ending = call(capsys, "run", "rolling-disk", "--json")
    assert ending.status == 130
    assert_sentence(ending.err)
    assert ending.json["outcome"] == "interrupted" and len(ending.json["t"]) > 1


def test_interruption_anywhere_else_is_one_sentence(monkeypatch, capsys) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dalembert.cli.run_command.configured", interrupt)
    ending = call(capsys, "run", "rolling-disk")
    assert (ending.status, ending.out, ending.err) == (130, "", "Interrupted.\n")


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.long
def test_everything_is_written(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    ending = call(
        capsys,
        "run",
        "chaplygin-sleigh",
        "--t",
        "0,1",
        "-o",
        "a.nc",
        "--plot",
        "--animate",
        "film.svg",
    )
    assert ending.status == 0, ending.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.nc",
        "chaplygin-sleigh.png",
        "film.svg",
    ]
    assert (tmp_path / "chaplygin-sleigh.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "film.svg").read_text()
    assert da.load("a.nc").t[-1] == 1
    for name in ("a.nc", "chaplygin-sleigh.png", "film.svg"):
        assert name in ending.out


@pytest.mark.long
def test_frames_and_size_of_the_animation_are_chosen(tmp_path: Path, capsys) -> None:
    image = pytest.importorskip("PIL.Image")
    film = tmp_path / "film.gif"
    ending = call(
        capsys,
        "run",
        "chaplygin-sleigh",
        "--t",
        "0,3",
        "--animate",
        film,
        "--fps",
        "4",
        "--size",
        "120x90",
    )
    assert ending.status == 0, ending.err
    with image.open(film) as found:
        assert found.size == (120, 90) and found.n_frames == 13


@pytest.mark.long
def test_the_plot_has_a_path_before_or_after_the_system(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "run", "--plot", "one.svg", "blow-up", "--t", "0,0.5").status == 0
    assert call(capsys, "run", "--plot", "blow-up", "--t", "0,0.5").status == 0
    assert call(capsys, "run", "blow-up", "--plot=two.pdf", "--t", "0,0.5").status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blow-up.png", "one.svg", "two.pdf"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "missing/a.nc"),
        ("--plot", "a.jpg"),
        ("--plot", "missing/a.png"),
        ("--animate", "a.avi"),
        ("--animate", "missing/a.gif"),
        ("--animate", "a.gif", "--size", "640"),
        ("--animate", "a.gif", "--size", "0x480"),
        ("--animate", "a.gif", "--fps", "0"),
        ("--fps", "10"),
    ],
)
def test_targets_are_refused_before_the_run(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch, capsys
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the run must not start")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dalembert.cli.run_command._simulated", never)
    ending = call(capsys, "run", "rolling-disk", *arguments)
    assert ending.status == 2
    assert_sentence(ending.err)


def test_no_file_is_written_over_the_model_or_twice(sleigh: Path, tmp_path: Path, capsys) -> None:
    """`run sleigh.toml -o sleigh.toml` replaced the model by its motion; a plot was written over
    the motion of -o.
    """
    text = sleigh.read_text(encoding="utf-8")
    (tmp_path / "link.toml").symlink_to(sleigh)
    picture = tmp_path / "a.png"
    for arguments in (
        ("-o", sleigh),
        ("-o", tmp_path / "link.toml"),
        ("-o", picture, "--plot", picture),
    ):
        ending = call(capsys, "run", sleigh, *arguments)
        assert ending.status == 2 and "would write over" in ending.err
        assert_sentence(ending.err)
    assert sleigh.read_text(encoding="utf-8") == text and not picture.exists()


def test_of_a_velocity_and_a_momentum_that_are_both_set_neither_gives_way(capsys) -> None:
    """The first of the two was dropped without a word."""
    ending = call(
        capsys, "run", "spherical-pendulum", "--set", "x_dot=0.25", "--set", "p_x=7", "--json"
    )
    assert ending.status == 2 and "cannot be met together" in ending.err


def test_the_costates_of_an_extremal_are_set_like_other_starts(sleigh: Path, capsys) -> None:
    """A model file may state `xi_x`, and --set refused it as no start value."""
    text = sleigh.read_text(encoding="utf-8").replace(
        "x_dot = 1.0\ntheta_dot = 0.5\n", "xi_x = 1.0\nxi_theta = 0.5\n"
    )
    sleigh.write_text(text, encoding="utf-8")
    ending = call(
        capsys,
        "run",
        sleigh,
        "--set",
        "xi_theta=0.75",
        "--form",
        "pontryagin",
        "--at",
        "0",
        "--json",
    )
    assert ending.json["start"]["xi_theta"] == 0.75


def test_an_animation_without_ffmpeg_says_what_to_install(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr("dalembert.plotting.scenes.movie_writers.ffmpeg_program", lambda: None)
    ending = call(capsys, "run", "blow-up", "--animate", tmp_path / "a.mp4")
    assert ending.status == 2 and "ffmpeg" in ending.err
    assert_sentence(ending.err)


def test_a_file_that_fails_late_does_not_cost_the_result(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Motion, "save", full)
    ending = call(capsys, "run", "chaplygin-sleigh", "--json", "-o", tmp_path / "a.nc")
    assert ending.status == 2 and "No space left" in ending.err
    assert ending.json["outcome"] == "finished"


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rolling-disc",), "rolling-disk"),
        (("no/such/file.toml",), "no model file"),
        (("rolling-disk", "--set", "mm=2"), "did you mean"),
        (("rolling-disk", "--set", "tetha=2"), "did you mean"),
        (("rolling-disk", "--set", "m"), "NAME=VALUE"),
        (("rolling-disk", "--set", "m=two"), "must be a number"),
        (("rolling-disk", "--set", "m=1/0"), "must be a number"),
        (("rolling-disk", "--set", "m=__import__('os')"), "must be a number"),
        (("rolling-disk", "--at", "1,x"), "must be a number"),
        (("rolling-disk", "--at", "0:1"), "FIRST:LAST:COUNT"),
        (("rolling-disk", "--at", "-1"), "outside"),
        (("rolling-disk", "--t", "1"), "two times"),
        (("rolling-disk", "--form", "lagrang"), "lagrange"),
        (("rolling-disk", "--form", "elimination"), "positions"),
        (("rolling-disk", "--method", "euler"), "dop853"),
        (("rolling-disk", "--method", "gauss4"), "needs a step"),
        (("rolling-disk", "--method", "dop853", "--step", "0.1"), "chooses its steps"),
        (("rolling-disk", "--method", "gauss4", "--step", "0.1", "--rtol", "1e-8"), "fixed steps"),
        (("rolling-disk", "--rtol", "2"), "rtol"),
        (("rolling-disk", "--rtol", "small"), "--rtol"),
        (("rolling-disk", "--set", "x_dot=9", "--no-project-start"), "rolling_x"),
        (("rolling-disk", "extra"), "extra"),
        (("rolling-disk", "--frm", "x"), "--form"),
        ((), "SYSTEM"),
        (("",), "no model file"),
        ((".",), "folder"),
        (("/dev/null",), "plain file"),
    ],
)
def test_wrong_calls_are_status_2_and_one_sentence(
    arguments: tuple[str, ...], words: str, capsys
) -> None:
    ending = call(capsys, "run", *arguments)
    assert ending.status == 2 and ending.out == ""
    assert_sentence(ending.err)
    assert words in ending.err


# -- inputs and energy -----------------------------------------------------------------------------

MASS = """\
name = "Mass"
coordinates = ["x"]
kinetic = "x_dot**2/2"
potential = "x**2"
{damping}
[forces]
x = "u"
[inputs]
u = {law}
[start]
x = 1.0
[simulate]
t = [0, 2]
"""


def test_a_free_input_is_sent_to_the_model_file(capsys, tmp_path: Path) -> None:
    path = tmp_path / "mass.toml"
    path.write_text(MASS.format(damping="", law="{free = true}"))
    for command in (
        ("run", path),
        ("sweep", path, "--over", "x=0:1:3", "-o", tmp_path / "runs.zarr"),
    ):
        ending = call(capsys, *command)
        assert_sentence(ending.err)
        assert (
            ending.status == 2
            and "`u`" in ending.err
            and "[inputs] in the model file" in ending.err
            and "pass inputs=" not in ending.err
        )


def test_the_energy_of_a_driven_system_is_said_to_change(
    capsys, tmp_path: Path, sleigh: Path
) -> None:
    path = tmp_path / "mass.toml"
    path.write_text(MASS.format(damping='dissipation = "x_dot**2/9"', law='"sin(3*t)"'))
    driven, free = (" ".join(call(capsys, "run", file).out.split()) for file in (path, sleigh))
    assert (
        "as inputs and dissipation may make it (see energy_balance)" in driven
        and "apart" not in driven
    )
    assert "apart" in free and "may make it" not in free
