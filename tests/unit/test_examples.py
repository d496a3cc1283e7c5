"""Every example runs by itself, anywhere, and prints its answer; every example model file runs."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

import dalembert as da

FOLDER = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
MODELS = sorted(FOLDER.glob("*.toml"))

#: What the answer of each script must show: a pattern, and a bound on the number that it captures.
ANSWERS: dict[str, list[tuple[str, float]]] = {
    "bicycle_lane_change": [
        (r"replay distance +(\S+)", 1e-4),
        (r"in the lane to +(\S+)", 1e-4),
        (r"rear wheel slips +(\S+)", 1e-12),
        (r"steers first by +(\S+)", -0.02),
    ],
    "bouncing_pendulum": [],
    "cart_pole_swing_up": [
        (r"least time: (\S+)", 1.4466),
        (r"replay distance +(\S+)", 1e-6),
        (r"rail exceeded by +(\S+)", 1e-6),
        (r"force exceeded by +(\S+)", 1e-12),
    ],
    "cart_with_pendulums": [
        (r"effort of (\S+)", 105.98),
        (r"replay distance +(\S+)", 1e-4),
        (r"rail exceeded by +(\S+)", 1e-4),
        (r"force exceeded by +(\S+)", 1e-12),
    ],
    "disk_without_slip": [
        (r"with friction: (\S+)", 1.776),
        (r"replay distance +(\S+)", 1e-4),
        (r"friction exceeded by +(\S+)", 1e-4),
    ],
    "park_trailers": [
        (r"cost of (\S+)", 9.761),
        (r"parked off by +(\S+)", 1e-4),
        (r"hitch exceeded by +(\S+)", 1e-4),
    ],
    "roller_racer_gait": [
        (r"takes (\S+) of effort", 0.0456),
        (r"replay distance +(\S+)", 1e-4),
        (r"shape open by +(\S+)", 1e-6),
    ],
    "snakeboard_gait": [
        (r"takes (\S+) of effort", 15.2803),
        (r"replay distance +(\S+)", 1e-4),
        (r"shape open by +(\S+)", 1e-6),
        (r"bounds exceeded by +(\S+)", 1e-12),
    ],
    "dependent_constraints": [
        (r"difference in x +(\S+)", 1e-10),
        (r"total reaction +(\S+)", 1e-9),
        (r"length to +(\S+)", 1e-13),
    ],
    "fit_pendulum": [
        (r"l is off by (\S+)", 3.0),
        (r"g is off by (\S+)", 3.0),
        (r"backward differ by (\S+)", 1e-9),
    ],
    "from_sympy": [(r"drifts by (\S+)", 1e-8)],
    "hamiltonian_constraint": [
        (r"x +differs by (\S+)", 1e-9),
        (r"reaction differs by (\S+)", 1e-8),
    ],
    "rolling_disk": [
        (r"power of the reactions +(\S+)", 1e-9),
        (r"slips by at most +(\S+)", 1e-12),
        (r"drift +(\S+)", 1e-11),
    ],
    "sleigh": [(r"energy drift (\S+)", 1e-11), (r"slips by at most (\S+)", 1e-13)],
    "sweep_pendulum": [(r"closed form (\S+)", 1e-7), (r"drift of an energy (\S+)", 1e-9)],
    "walker_step": [
        (r"one step: (\S+)", 469.502),
        (r"replay distance +(\S+)", 1e-6),
    ],
    "two_principles": [(r"holds to (\S+)", 1e-9), (r"blade, to (\S+)", 1e-12)],
}


#: The same for a script with an argument.
LARGER: dict[tuple[str, str], list[tuple[str, float]]] = {
    ("park_trailers", "2"): [
        (r"cost of (\S+)", 12.817),
        (r"parked off by +(\S+)", 1e-3),
        (r"hitch exceeded by +(\S+)", 1e-3),
    ],
    ("cart_with_pendulums", "3"): [
        (r"effort of (\S+)", 189.63),
        (r"replay distance +(\S+)", 1e-4),
        (r"rail exceeded by +(\S+)", 1e-4),
        (r"force exceeded by +(\S+)", 1e-12),
    ],
}


def printed_by(script: Path) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(str(script), run_name="__main__")
    return output.getvalue()


def test_every_script_has_its_answers():
    assert sorted(ANSWERS) == [script.stem for script in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs_in_any_folder_and_answers_its_question(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_says(printed_by(script), ANSWERS[script.stem])
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.parametrize(("name", "argument"), LARGER, ids="-".join)
def test_larger_example_answers_its_question(name, argument, monkeypatch):
    monkeypatch.setattr("sys.argv", [name, argument])
    assert_says(printed_by(FOLDER / f"{name}.py"), LARGER[name, argument])


def assert_says(answer: str, wanted: list[tuple[str, float]]) -> None:
    for pattern, bound in wanted:
        found = re.search(pattern, answer)
        assert found is not None, f"The answer does not say {pattern!r}:\n{answer}"
        assert float(found[1]) <= bound, found[0]


def test_sleigh_meets_its_closed_form():
    answer = printed_by(FOLDER / "sleigh.py")
    (speed,) = re.findall(r"-> (\S+) +closed form (\S+)", answer)
    (turn,) = re.findall(r"turned +(\S+) degrees +closed form (\S+)", answer)
    assert float(speed[0]) == pytest.approx(float(speed[1]), abs=1e-8)
    assert float(turn[0]) == pytest.approx(float(turn[1]), abs=1e-5)


def test_bouncing_pendulum_comes_to_rest_with_the_force_of_statics():
    (moment,) = re.findall(
        r"moment of the wall (\S+) .*= (\S+)", printed_by(FOLDER / "bouncing_pendulum.py")
    )
    assert float(moment[0]) == pytest.approx(float(moment[1]), rel=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_example_model_file_runs_to_its_end_on_its_constraints(model):
    motion = da.simulate(da.load_model(model))
    assert motion.outcome is da.Outcome.FINISHED
    assert max(motion.worst_residual.values()) < 1e-12
