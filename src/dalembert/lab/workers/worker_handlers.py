"""What a worker can be asked, by name, and what it does beforehand to answer quickly."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...errors import DalembertError
from ..answers import (
    checking,
    downloading,
    gallery_list,
    placing,
    portraits,
    running,
    starting,
    studies,
    writing,
)
from ..job_progress import JobProgress

__all__ = ["ANSWERS", "warm_up"]

ANSWERS: dict[str, Callable[[dict[str, Any], JobProgress], dict[str, Any]]] = {
    "read": checking.read,
    "check": checking.check,
    "start": starting.consistent,
    "equations": writing.equations,
    "run": running.run,
    "download": downloading.file,
    "place": placing.placed,
    "portrait": portraits.portrait,
    "study": studies.study,
    "gallery": gallery_list.listed,
}

PENDULUM = """
coordinates = ["theta"]
kinetic = "m*l**2*theta_dot**2/2"
potential = "-m*g*l*cos(theta)"
[parameters]
m = 1.0
l = 1.0
g = 9.81
[start]
theta = 0.5
[simulate]
t = [0, 1]
"""


class _NoJobContext:
    """Nobody waits for the answer."""

    is_late = False

    def check(self) -> None:
        pass

    def progress(self, fraction: float, time: float) -> None:
        pass


def warm_up(kind: str) -> None:
    """Do once what takes longest the first time: imports, native loops, a small model."""
    request: dict[str, Any] = {"text": PENDULUM, "id": "", "frames": 8, "steps": 10_000}
    with suppress(DalembertError):
        checking.check(request, _NoJobContext())
        starting.consistent(request, _NoJobContext())
        if kind == "long":
            running.run(request, _NoJobContext())
            writing.equations(request, _NoJobContext())
