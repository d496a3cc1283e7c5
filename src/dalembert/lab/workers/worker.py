"""The worker process: ``python -m dalembert.lab.workers.worker MEMORY RESULT quick|long [FOLDER]``.

Files that a robot file names are read from FOLDER alone. It reads jobs from its input, one a line.

A second thread reads, so that a job can be cancelled while it runs, and the process ends with
whoever started it. What libraries write to the output goes elsewhere: the output belongs to the
messages.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time as clock
from collections.abc import Callable
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import DalembertError
from ..messages import encoded, line, read_jobs
from ..request_errors import RequestError, parts, refusal
from .confinement import confine

__all__ = ["CancelledError", "main"]

#: Progress is sent this often, in seconds.
BETWEEN = 0.1
#: Time that is kept for making an answer of what was computed: seconds at most, and a share of all.
MOST_RESERVED, SHARE_RESERVED = 3.0, 0.2
#: Files that a worker may have open, and bytes that it may write to one.
MOST_FILES, LARGEST_FILE = 128, 512 * 1024 * 1024
#: The status, between us, of an answer after which the process ends.
EXHAUSTED = 507


class CancelledError(BaseException):
    """The job was cancelled; nothing catches this on its way."""


class JobContext:
    """What a question may use of its process: progress, cancellation, and the time that is left."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._cancelled: set[int] = set()
        self.number, self._spoken = 0, 0.0
        self._late = self._late_by_clock = float("inf")

    def begin(self, number: int, seconds: float, patience: float) -> None:
        """A new job, with so much processor time, and so much time by the clock."""
        self.number, self._spoken = number, clock.monotonic()
        self._late = clock.process_time() + seconds - min(MOST_RESERVED, SHARE_RESERVED * seconds)
        self._late_by_clock = (
            clock.monotonic() + patience - min(MOST_RESERVED, SHARE_RESERVED * patience)
        )
        _limit_time(seconds)
        self._cancelled.difference_update([old for old in tuple(self._cancelled) if old < number])

    def cancel(self, number: int) -> None:
        """Called by the thread that reads."""
        self._cancelled.add(number)

    def check(self) -> None:
        """Stop a job that was cancelled."""
        if self.number in self._cancelled:
            raise CancelledError

    @property
    def is_late(self) -> bool:
        """Whether the time that is left is needed to make an answer of what there is."""
        return clock.process_time() > self._late or clock.monotonic() > self._late_by_clock

    def progress(self, fraction: float, time: float) -> None:
        """Tell the page, now and then."""
        self.check()
        now = clock.monotonic()
        if (
            now - self._spoken >= BETWEEN and isfinite(fraction) and isfinite(time)
        ):  # a span may be longer than any number
            self._spoken = now
            self._send(line({"job": self.number, "progress": [float(fraction), float(time)]}))


def main(arguments: list[str]) -> int:
    """Answer jobs until the input ends."""
    memory, largest, kind, *folders = int(arguments[0]), int(arguments[1]), *arguments[2:]
    output = _own_output()
    _limit_memory(memory)
    confinement = confine(map(Path, folders))
    if kind == "long":
        with suppress(OSError, AttributeError):
            os.nice(5)
    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def send(data: bytes) -> None:
        output.write(data)
        output.flush()

    job_context = JobContext(send)
    place = {"folder": folders[0]} if folders else {}
    from . import worker_handlers as questions

    questions.warm_up(kind)
    threading.Thread(target=_read, args=(jobs, job_context), daemon=True).start()
    send(line({"ready": True, "confinement": str(confinement)}))
    while True:
        message = jobs.get()
        job_context.begin(message["job"], float(message["seconds"]), float(message["patience"]))
        status, content = _answer(
            questions.ANSWERS[message["kind"]], message["request"] | place, job_context
        )
        if len(content) > largest:
            status = 413
            content = encoded(
                {"error": parts("The result is too large", len(content), "ask for fewer frames")}
            )
        exhausted = status == EXHAUSTED
        head = {
            "job": message["job"],
            "status": 400 if exhausted else status,
            "bytes": len(content),
            "last": exhausted,
        }
        send(line(head) + content)
        if exhausted:
            return 1  # a process that ran out of memory is replaced


def _answer(
    answer: Callable[[dict[str, Any], JobContext], Any],
    request: dict[str, Any],
    job_context: JobContext,
) -> tuple[int, bytes]:
    """The status and the content of an answer; every error becomes one."""
    try:
        return 200, encoded(answer(request, job_context))
    except CancelledError:
        return 499, encoded({"error": parts("The computation was cancelled")})
    except KeyboardInterrupt:  # of a job that was late where nothing could be kept
        return 400, encoded(
            {
                "error": parts(
                    "The computation took as long as it may take here", remedy="ask for less"
                )
            }
        )
    except RequestError as error:
        return error.status, encoded(error.body)
    except DalembertError as error:
        return 400, encoded({"error": refusal(error, request.get("text"))})
    except MemoryError:
        what = "The model needs more memory than a worker may have"
        return EXHAUSTED, encoded({"error": parts(what, remedy="make it smaller")})
    except RecursionError:
        return 400, encoded(
            {"error": parts("The model is nested too deeply", remedy="write it flatter")}
        )
    except Exception as error:
        if os.environ.get("DALEMBERT_DEBUG"):
            import traceback

            traceback.print_exc()
        seen = f"{type(error).__name__}: {error}"
        return 500, encoded(
            {"error": parts("This is a fault of dalembert itself", seen[:200], "please report it")}
        )


def _read(jobs: queue.SimpleQueue[dict[str, Any]], job_context: JobContext) -> None:
    """Read jobs and cancellations; the end of the input, or of its sense, is the end of the
    process, whatever it does.
    """
    os._exit(0 if read_jobs(sys.stdin.buffer, jobs.put, job_context.cancel) else 1)


def _own_output() -> BinaryIO:
    """Our output for messages alone: what others write to the standard output goes to the standard
    error.
    """
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "wb", buffering=1024 * 1024)


def _limit_memory(memory: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        for what, most in (
            ("RLIMIT_AS", memory),
            ("RLIMIT_CORE", 0),
            ("RLIMIT_NOFILE", MOST_FILES),
            ("RLIMIT_FSIZE", LARGEST_FILE),
        ):
            with suppress(ValueError, OSError, AttributeError):
                resource.setrlimit(getattr(resource, what), (most, most))


def _limit_time(seconds: float) -> None:
    """A bound on the processor time of the process, moved on with every job; the process is killed
    at it.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(clock.process_time() + seconds) + 2, hard))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
