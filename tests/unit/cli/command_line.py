"""Helpers to call the command line, in this process and in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dalembert.cli import main

INSTALLED = Path(sys.executable).parent / "dalembert"
COMMAND = [str(INSTALLED)] if INSTALLED.exists() else [sys.executable, "-m", "dalembert.cli"]

SLEIGH = """\
name = "Sleigh"
coordinates = ["x", "y", "theta"]
kinetic = "m*(x_dot**2 + y_dot**2)/2 + J*theta_dot**2/2"
constraints = [{expression = "x_dot*sin(theta) - y_dot*cos(theta) = 0", name = "blade"}]
[parameters]
m = 1.0
J = "m/4"
[outputs]
speed = "sqrt(x_dot**2 + y_dot**2)"
[start]
x_dot = 1.0
theta_dot = 0.5
[simulate]
t = [0, 10]
"""


class Ending(NamedTuple):
    """How a command ended: its status, and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document of the output; NaN and infinity are not JSON."""

        def refuse(word: str) -> None:
            raise AssertionError(f"{word} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> Ending:
    """Run a command in this process."""
    capsys.readouterr()
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Ending(status, captured.out, captured.err)


def real(*arguments: object, **environment: str) -> Ending:
    """Run the installed command."""
    run = subprocess.run(
        [*COMMAND, *(str(argument) for argument in arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    return Ending(run.returncode, run.stdout, run.stderr)


def assert_sentence(text: str) -> None:
    """One line that ends like a sentence and is no traceback."""
    assert text.endswith((".\n", "?\n")), text
    assert text.count("\n") == 1, text
    assert "Traceback" not in text and "\x1b" not in text
