"""What a worker can be asked, by name, and what it does beforehand to answer quickly."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from ...errors import DalembertError
from ..job_progress import JobProgress

__all__ = ["ANSWERS", "warm_up"]

Handler = Callable[[dict[str, Any], JobProgress], dict[str, Any]]


def _answered_by(module: str, function: str) -> Handler:
    """A function of a module that is loaded when it is first asked, as pictures take a second."""

    def answer(request: dict[str, Any], progress: JobProgress) -> dict[str, Any]:
        handler: Handler = getattr(import_module(f"..answers.{module}", __package__), function)
        return handler(request, progress)

    return answer


ANSWERS: dict[str, Handler] = {
    "read": _answered_by("checking", "read"),
    "check": _answered_by("checking", "check"),
    "start": _answered_by("starting", "consistent"),
    "equations": _answered_by("writing", "equations"),
    "run": _answered_by("running", "run"),
    "download": _answered_by("downloading", "file"),
    "place": _answered_by("placing", "placed"),
    "portrait": _answered_by("portraits", "portrait"),
    "study": _answered_by("studies", "study"),
    "gallery": _answered_by("gallery_list", "listed"),
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
        ANSWERS["check"](request, _NoJobContext())
        ANSWERS["start"](request, _NoJobContext())
        if kind == "long":
            ANSWERS["run"](request, _NoJobContext())
            ANSWERS["equations"](request, _NoJobContext())
