"""``dalembert run`` of a model that was run before: the same output, without SymPy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from command_line import SLEIGH

from dalembert.cli.stored_command import call_key

#: A command in a process of its own, which says on stderr whether SymPy or CasADi were loaded.
PROGRAM = """\
import sys
from dalembert.cli import main
status = main(sys.argv[1:])
print(sorted({"sympy", "casadi"} & {*sys.modules}), file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture()
def sleigh(tmp_path: Path) -> Path:
    """A model file that no run has seen."""
    path = tmp_path / "sleigh.toml"
    path.write_text(SLEIGH.replace('"Sleigh"', f'"Sleigh {uuid4().hex}"'))
    return path


def run(*arguments: object) -> tuple[str, bool]:
    """What a run prints, and whether it needed SymPy or CasADi."""
    command = [sys.executable, "-c", PROGRAM, "run", *map(str, arguments)]
    ending = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ending.stderr in ("[]\n", "['casadi', 'sympy']\n")
    return ending.stdout, ending.stderr != "[]\n"


def without_seconds(text: str) -> Any:
    found = json.loads(text)
    told = found["statistics"]
    return found | {"statistics": {k: v for k, v in told.items() if "seconds" not in k}}


def test_a_second_run_prints_the_same_without_sympy(sleigh: Path) -> None:
    first, again = run(sleigh, "--json"), run(sleigh, "--json")
    assert (first[1], again[1]) == (True, False)
    assert without_seconds(first[0]) == without_seconds(again[0])
    text, is_slow = run(sleigh)  # needs less than JSON does
    assert not is_slow and "followed to t = 10" in text and "theta" in text


def test_another_model_or_call_is_another_run(sleigh: Path) -> None:
    texts = [run(sleigh, "--json", "--set", "m=2", "--at", "0:5:3") for _ in range(2)]
    assert [is_slow for _, is_slow in texts] == [True, False]
    assert without_seconds(texts[0][0]) == without_seconds(texts[1][0])
    other, is_slow = run(sleigh, "--json", "--set", "m=3", "--at", "0:5:3")
    assert is_slow and json.loads(other)["parameters"]["m"] == 3.0
    sleigh.write_text(sleigh.read_text().replace("theta_dot = 0.5", "theta_dot = 0.25"))
    changed, is_slow = run(sleigh, "--json", "--set", "m=2", "--at", "0:5:3")
    assert is_slow and json.loads(changed)["start"]["theta_dot"] == 0.25


def test_the_key_stands_for_all_of_a_call(tmp_path: Path) -> None:
    model = tmp_path / "model.toml"
    model.write_text("one")
    calls: list[tuple[Any, ...]] = [
        (str(model), (), None, None, {}),
        (str(model), ("m=1",), None, None, {}),
        (str(model), (), "1", None, {}),
        (str(model), (), None, "0,1", {}),
        (str(model), (), None, None, {"rtol": 1.0}),
        (str(model), (), None, None, {"project_start": False}),
        ("rolling-disk", (), None, None, {}),
    ]
    keys = [call_key(*call) for call in calls]
    assert None not in keys and len({*keys}) == len(keys)
    defaults = {"rtol": None, "form": None, "project_start": True}
    assert call_key(str(model), (), None, None, defaults) == keys[0]
    model.write_text("two")
    assert call_key(*calls[0]) not in keys
    robot = tmp_path / "robot.urdf"
    robot.write_text("<robot/>")  # may name further files
    assert call_key(str(robot), (), None, None, {}) is None
