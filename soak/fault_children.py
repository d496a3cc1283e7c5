"""Children that are killed, interrupted or refused by the disk at a chosen moment, and what became
of them.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dalembert.errors import DalembertError

#: How a child of `forked` ends that was refused in three parts, and one that fell over.
REFUSED, FELL = 2, 70
#: The calls of the system by which something changes on a disk.
WRITING = (
    "write,pwrite64,writev,rename,renameat,renameat2,fsync,unlink,unlinkat,mkdir,mkdirat,chmod,"
    "fchmod,ftruncate"
)
#: The most that a child can leave as its last words, in bytes.
LAST_WORDS = 4096
#: No child takes longer.
LONGEST = 120.0

HAS_STRACE = shutil.which("strace") is not None


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit status or minus the signal, what it reported by number, what it
    said, how long it took.
    """

    status: int
    reported: int
    said: str
    seconds: float


class Board:
    """A number that a child reports, and its last words, which outlive it and need no disk."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 8 + LAST_WORDS)

    def put(self, value: int) -> None:
        """Report a number."""
        self.memory[:8] = struct.pack("<q", value)

    def get(self) -> int:
        """The number that was reported last."""
        return int(struct.unpack("<q", self.memory[:8])[0])

    def say(self, text: str) -> None:
        """Leave a text; of a long one the end."""
        self.memory[8:] = text.encode(errors="replace")[-LAST_WORDS:].ljust(LAST_WORDS, b"\0")

    @property
    def said(self) -> str:
        """The text that was left."""
        return self.memory[8:].rstrip(b"\0").decode(errors="replace")


def forked(
    work: Callable[[Board], None],
    *,
    after: float | None = None,
    send: int = signal.SIGKILL,
    inject: str | None = None,
) -> Ended:
    """Run `work` in a child that has everything in memory already.

    A signal is sent `after` so many seconds; `inject` is what strace does to its calls of the
    system, such as "write:error=ENOSPC:when=3+".
    """
    board = Board()
    with tempfile.TemporaryFile() as spoken:
        began = time.monotonic()
        child = _child(work, board, spoken.fileno(), inject is not None)
        tracer = None if inject is None else _traced(child, ["-e", f"inject={inject}"], "/dev/null")
        if after is not None:
            _nap(child, after)
            with_signal(child, send)
        status = _waited(child)
        if tracer is not None:
            tracer.wait()
        end_group(child)
        spoken.seek(0)
        said = spoken.read().decode(errors="replace") + board.said
        return Ended(status, board.get(), said, time.monotonic() - began)


def calls_of(work: Callable[[Board], None]) -> int:
    """How many times a piece of work changes something on a disk, as the system counts it."""
    with tempfile.NamedTemporaryFile() as record:
        child = _child(work, Board(), os.open(os.devnull, os.O_WRONLY), True)
        tracer = _traced(child, [], record.name)
        _waited(child)
        tracer.wait()
        return sum(
            1
            for line in Path(record.name).read_text(errors="replace").splitlines()
            if "resumed>" not in line
        )


def _child(work: Callable[[Board], None], board: Board, speech: int, is_watched: bool) -> int:
    """The number of a new child; an interrupt waits until its life has begun, and does not meet it
    while it is made.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        child = os.fork()
        if child == 0:
            _live(work, board, speech, is_watched)
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _live(work: Callable[[Board], None], board: Board, speech: int, is_watched: bool) -> None:
    """The life of a child, with a group of its own for what it starts; it does not return."""
    try:
        os.setpgid(0, 0)
        os.dup2(speech, 1)
        os.dup2(speech, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        if is_watched:
            os.kill(os.getpid(), signal.SIGSTOP)
        work(board)
        os._exit(0)
    except DalembertError as error:
        board.say(str(error))
        os._exit(REFUSED)
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException:
        board.say(traceback.format_exc())
        os._exit(FELL)


def _traced(child: int, further: list[str], record: str) -> subprocess.Popen[bytes]:
    """Let strace hold a child that has stopped itself, then let it go on."""
    os.waitpid(child, os.WUNTRACED)
    command = [
        "strace",
        "-f",
        "-qq",
        "-o",
        record,
        "-e",
        f"trace={WRITING}",
        *further,
        "-p",
        str(child),
    ]
    tracer = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while "TracerPid:\t0\n" in Path(f"/proc/{child}/status").read_text():
        if tracer.poll() is not None:
            break
        time.sleep(0.002)
    os.kill(child, signal.SIGCONT)
    return tracer


def _nap(child: int, seconds: float) -> None:
    """Wait, but not for a child that has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(min(0.003, max(0.0, end - time.monotonic())))


def with_signal(process: int, number: int) -> None:
    """Send a signal to a process that may have gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def end_group(leader: int) -> None:
    """End the processes that a child started and could not end itself."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _waited(child: int) -> int:
    """The end of a child; one that hangs is killed and counts as SIGALRM."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    with_signal(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGALRM


COMMAND = [sys.executable, "-m", "dalembert.cli"]


def commanded(
    arguments: list[str], *, after: float | None = None, send: int = signal.SIGKILL
) -> Ended:
    """Run the command line in a child that has everything in memory already; it reports 1 when the
    command begins.
    """

    def work(board: Board) -> None:
        from dalembert.cli import main

        sys.argv = ["dalembert", *arguments]
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        board.put(1)
        try:
            status = main()
            sys.stdout.flush()
            sys.stderr.flush()
        except KeyboardInterrupt:
            board.say("KeyboardInterrupt left the command")
            status = FELL
        os._exit(status)

    return forked(work, after=after, send=send)


def started(
    arguments: list[str], *, after: float | None = None, send: int = signal.SIGKILL
) -> Ended:
    """Run the command line in a process that begins as one in a terminal does, which takes a
    while.
    """
    began = time.monotonic()
    with tempfile.TemporaryFile() as spoken:
        process = subprocess.Popen([*COMMAND, *arguments], stdout=spoken, stderr=spoken)
        try:
            process.wait(LONGEST if after is None else after)
        except subprocess.TimeoutExpired:
            process.send_signal(send)
            try:
                process.wait(LONGEST)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return Ended(-signal.SIGALRM, 0, "it did not end", LONGEST)
        spoken.seek(0)
        said = spoken.read().decode(errors="replace")
        return Ended(process.returncode, 0, said, time.monotonic() - began)
