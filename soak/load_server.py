"""A lab in a process of its own, and what it holds: memory, files, children."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .leak_figures import PAGE
from .load_requests import TOKEN

__all__ = ["Held", "LabServer", "is_running", "lab_server"]

CODE = (
    "import contextlib, json, sys\nfrom dalembert.lab import Limits, serve\nwith"
    " contextlib.suppress(KeyboardInterrupt):\n    serve(sys.argv[1], 0, workers=int(sys.argv[2]),"
    " limits=Limits(**json.loads(sys.argv[3])),\n          token=sys.argv[4], ready=lambda address:"
    " print(address, flush=True))\n"
)


@dataclass(frozen=True)
class Held:
    """What the server and its workers hold at a moment; memory in bytes."""

    server: int
    workers: tuple[int, ...]
    files: int


@dataclass
class LabServer:
    """A server that runs; its standard error goes to a file."""

    process: subprocess.Popen[str]
    port: int
    folder: Path
    temporary: Path
    errors: Path
    seen: set[int] = field(default_factory=set)

    @property
    def children(self) -> list[int]:
        """Its child processes, dead ones that nobody has waited for included."""
        try:
            text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        except OSError:
            return []
        found = [int(word) for word in text.split()]
        self.seen |= set(found)
        return found

    @property
    def zombies(self) -> list[int]:
        """Children that are dead and not buried."""
        return [child for child in self.children if _state(child) == "Z"]

    def held(self) -> Held:
        """Memory and files at this moment."""
        files = 0
        with suppress(OSError):
            files = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        return Held(
            _resident(self.process.pid), tuple(_resident(child) for child in self.children), files
        )

    def stop(self, how: signal.Signals, twice: bool = False, patience: float = 30.0) -> float:
        """Seconds until the process has ended after a signal, infinity where it does not.

        Time in which it could have run and other processes ran instead is not counted.
        """
        self.seen |= set(self.children)  # those that must be gone afterwards
        began, before = time.monotonic(), self._kept_waiting()
        waited = before
        self.process.send_signal(how)
        if twice:
            time.sleep(0.2)
            self.process.send_signal(how)
        while self.process.poll() is None:
            waited = max(waited, self._kept_waiting())
            if time.monotonic() - began - (waited - before) > patience:
                return float("inf")
            time.sleep(0.02)
        return time.monotonic() - began - (waited - before)

    def _kept_waiting(self) -> float:
        """Seconds that the process was ready to run and did not."""
        try:
            return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError):
            return 0.0

    def orphans(self, patience: float = 10.0) -> list[int]:
        """Workers that outlive the server by more than some time."""
        end = time.monotonic() + patience
        while left := [child for child in self.seen if is_running(child)]:
            if time.monotonic() > end:
                return left
            time.sleep(0.05)
        return []

    def leftovers(self) -> list[str]:
        """Files that a server which has ended left behind."""
        mine = [path.name for path in self.temporary.iterdir()]
        return mine + [path.name for path in self.folder.iterdir() if path.name.startswith(".")]

    @property
    def complaints(self) -> str:
        """What it wrote to its standard error."""
        return self.errors.read_text(errors="replace")


@contextmanager
def lab_server(scratch: Path, workers: int = 2, **limits: Any) -> Iterator[LabServer]:
    """A server on a free port; it is killed where it still runs in the end."""
    place = Path(tempfile.mkdtemp(prefix="load-", dir=scratch))
    folder, temporary, errors = place / "models", place / "tmp", place / "stderr.txt"
    folder.mkdir()
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    command = [sys.executable, "-c", CODE, str(folder), str(workers), json.dumps(limits), TOKEN]
    with errors.open("w") as stream:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stream, text=True, env=environment, cwd=place
        )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise RuntimeError(errors.read_text()[-400:])
        yield LabServer(process, urlsplit(address).port or 0, folder, temporary, errors)
    finally:
        process.kill()
        process.communicate()


def is_running(process: int) -> bool:
    """Whether a process is there and not a dead one that its parent forgot."""
    return _state(process) not in ("", "Z", "X")


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0
