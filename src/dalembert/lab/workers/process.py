"""One worker process as the server sees it: started warm, given one job at a time, killed where it
overruns.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..limits import Limits
from ..messages import LONGEST_LINE, line, read_answer, read_line, read_progress
from ..request_errors import parts

__all__ = ["CANCELLED", "Answer", "Job", "WorkerProcess", "WorkerStartError", "refused"]

#: A worker must be ready after this long.
START_SECONDS = 90.0
#: How long a job may take by the clock: so many times its processor time, and some seconds.
CLOCK_FACTOR, CLOCK_SLACK = 3.0, 5.0
#: A job that was cancelled has this long to stop by itself.
CANCEL_SECONDS = 0.3
#: One that a client left has longer: the next one of the same model finds what it has compiled.
LEFT_SECONDS = 2.0
#: One that is dying has this long to be dead.
DEATH_SECONDS = 0.5
#: Models that a worker has seen of late, and is warm for.
REMEMBERED = 6
#: What of our environment a worker gets: where it finds libraries and its cache, and the language.
#: Packages are found where we find them (`_environment`), and temporary files lie in a folder of
#: its own.
ENVIRONMENT = (
    *("PATH", "HOME", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SYSTEMROOT"),
    *("DALEMBERT_CACHE", "DALEMBERT_DEBUG", "XDG_CACHE_HOME", "XDG_STATE_HOME", "LOCALAPPDATA"),
    *("LANG", "LC_ALL", "LC_CTYPE"),
)


#: What a worker runs; no file of the folder it is started in can stand in the place of a module.
COMMAND = (sys.executable, "-P", "-m", "dalembert.lab.workers.worker")


class WorkerStartError(Exception):
    """A worker process that did not come up."""


@dataclass(frozen=True)
class Answer:
    """What a job came to: a status of HTTP and JSON text; 499 where it was cancelled."""

    status: int
    content: bytes

    @property
    def value(self) -> Any:
        """The JSON text, read."""
        return json.loads(self.content)


@dataclass(eq=False)
class Job:
    """Something to compute.

    Attributes
    ----------
    kind : str
        One of the questions of `dalembert.lab.workers.worker_handlers`.
    seconds : float
        Of processor time.
    model : str
        What tells models apart, for the sake of workers that are warm for one.
    quick : bool
        Whether it may go to the worker that is kept free for quick questions.
    """

    number: int
    kind: str
    request: dict[str, Any]
    seconds: float
    model: str = ""
    quick: bool = False
    on_progress: Callable[[float, float], None] | None = None
    on_start: Callable[[], None] | None = None
    done: asyncio.Future[Answer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    cancelled: bool = False

    @property
    def patience(self) -> float:
        """How long it may take by the clock: on a busy machine far longer than by the processor."""
        return CLOCK_FACTOR * self.seconds + CLOCK_SLACK

    def finish(self, answer: Answer) -> None:
        """Tell whoever waits, if anyone still does."""
        if not self.done.done():
            self.done.set_result(answer)


class WorkerProcess:
    """A process that answers jobs one after the other."""

    def __init__(
        self,
        limits: Limits,
        quick: bool,
        command: Sequence[str] = COMMAND,
        folder: Path | None = None,
    ) -> None:
        self.limits, self.quick, self.command, self.folder = limits, quick, command, folder
        self.seen: deque[str] = deque(maxlen=REMEMBERED)
        self.job: Job | None = None
        #: What the process can no longer do, in the words of `Confinement`.
        self.confinement = ""
        self._process: asyncio.subprocess.Process | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the process and wait until it is warm.

        Raises
        ------
        WorkerStartError
            Where it does not say that it is ready.
        """
        debug = bool(os.environ.get("DALEMBERT_DEBUG"))
        arguments = [
            str(self.limits.memory_bytes),
            str(self.limits.result_bytes),
            "quick" if self.quick else "long",
            *([] if self.folder is None else [str(self.folder)]),
        ]
        self.seen.clear()
        try:
            place = self._fresh_folder()
            made = asyncio.ensure_future(asyncio.create_subprocess_exec(
                *self.command, *arguments,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=None if debug else asyncio.subprocess.DEVNULL,
                cwd=place, env=_environment(place), limit=LONGEST_LINE, start_new_session=True,
            ))  # fmt: skip
            try:
                self._process = await asyncio.shield(made)
            except asyncio.CancelledError:  # what was begun is finished, so that `kill` knows of it
                with suppress(OSError):
                    self._process = await made
                raise
            async with asyncio.timeout(START_SECONDS):
                message = await self._message()
            if not message.get("ready"):
                raise WorkerStartError("The worker said something else than that it is ready")
            self.confinement = str(message.get("confinement", ""))
        except (OSError, TimeoutError, EOFError, ValueError) as error:
            await self.kill()
            raise WorkerStartError(str(error) or type(error).__name__) from error

    async def work(self, job: Job) -> Answer:
        """The answer to a job; whatever happens to the process, there is one."""
        self.job = job
        if job.model in self.seen:
            self.seen.remove(job.model)
        self.seen.append(job.model)
        try:
            if job.cancelled:
                return CANCELLED
            if job.on_start is not None:
                job.on_start()
            head = {
                "job": job.number,
                "kind": job.kind,
                "seconds": job.seconds,
                "patience": job.patience,
            }
            await self._send(head | {"request": job.request})
            async with asyncio.timeout(job.patience):
                return await self._answer(job)
        except TimeoutError:
            await self.kill()
            return _overrun(job) if not job.cancelled else CANCELLED
        except (EOFError, OSError, ValueError):
            code = await self.kill(patience=DEATH_SECONDS)
            return CANCELLED if job.cancelled else _death(job, code)
        finally:
            self.job = None

    def ask_to_stop(self, job: Job) -> None:
        """Tell the process that nobody waits for a job any more; it stops where it looks."""
        if self.job is job and self._process is not None and self._process.stdin is not None:
            job.cancelled = True
            with suppress(OSError):
                self._process.stdin.write(line({"cancel": job.number}))

    async def cancel(self, job: Job, seconds: float = CANCEL_SECONDS) -> None:
        """Ask the process to stop a job, and kill it where it does not in time."""
        if self.job is not job:
            return
        self.ask_to_stop(job)
        await asyncio.wait([job.done], timeout=seconds)
        if self.job is job and not job.done.done():
            await self.kill()

    async def kill(self, patience: float = 0.0) -> int | None:
        """End the process and remove its folder; the return code of one that ends by itself within
        some time.
        """
        try:
            return await self._end(patience)
        finally:
            self._drop_folder()

    async def _end(self, patience: float) -> int | None:
        process = self._process
        if process is None:
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                return await process.wait()
        with suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
        return None

    def _fresh_folder(self) -> str:
        """A folder for the process to work in that nobody else can enter: no file in it can stand
        for a module.
        """
        self._drop_folder()
        self._folder = tempfile.TemporaryDirectory(
            prefix="dalembert-lab-", ignore_cleanup_errors=True
        )
        return self._folder.name

    def _drop_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    # -- messages ----------------------------------------------------------------------------------

    async def _send(self, message: dict[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None:
            raise EOFError
        process.stdin.write(line(message))
        await process.stdin.drain()

    async def _message(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        text = await self._process.stdout.readline()
        if not text.endswith(b"\n"):
            raise EOFError
        return read_line(text)

    async def _answer(self, job: Job) -> Answer:
        assert self._process is not None and self._process.stdout is not None
        while True:
            message = await self._message()
            if message.get("job") != job.number:
                continue
            if "progress" in message:
                fraction, time = read_progress(message)
                if job.on_progress is not None:
                    job.on_progress(fraction, time)
                continue
            status, size = read_answer(message, self.limits.result_bytes + 4096)
            answer = Answer(status, await self._process.stdout.readexactly(size))
            if message.get("last"):
                await self.kill(patience=DEATH_SECONDS)
            return answer


def _environment(place: str) -> dict[str, str]:
    """The environment of a worker that works in `place`.

    Modules are found in the folders that `PYTHONPATH` names for us, and where the package lies if
    it is not installed. An empty entry means whatever folder a process is in, and is left out.
    """
    found = {key: os.environ[key] for key in ENVIRONMENT if key in os.environ}
    if found.get("DALEMBERT_CACHE", "off") not in ("", "off"):
        found["DALEMBERT_CACHE"] = os.path.abspath(found["DALEMBERT_CACHE"])
    folders = [
        os.path.abspath(entry)
        for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if entry
    ]
    home = Path(__file__).resolve().parents[3]
    if not {"site-packages", "dist-packages"} & set(home.parts):
        folders.insert(0, str(home))
    if folders:
        found["PYTHONPATH"] = os.pathsep.join(folders)
    found |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return found | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), place) | {"MPLBACKEND": "agg"}


def refused(
    status: int, what: str, seen: object | None = None, remedy: str | None = None
) -> Answer:
    return Answer(status, json.dumps({"error": parts(what, seen, remedy)}).encode())


LESS = "make the model smaller, the span shorter or the tolerance larger"
CANCELLED = refused(499, "The computation was cancelled")


def _overrun(job: Job) -> Answer:
    return refused(400, f"The computation took more than {job.patience:g} s", remedy=LESS)


def _death(job: Job, code: int | None) -> Answer:
    """What a process died of, as far as its return code says."""
    if code is not None and -code == getattr(signal, "SIGXCPU", 0):
        return refused(
            400, f"The computation took more than {job.seconds:g} s of processor time", remedy=LESS
        )
    remedy = "it may need more memory than it may have: make the model smaller"
    return refused(
        400,
        "The computation ended unexpectedly",
        seen=None if code is None else f"code {code}",
        remedy=remedy,
    )
