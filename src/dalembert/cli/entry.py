"""The way in and out of the command line: every ending becomes an exit status and at most one
sentence on stderr; with ``--json`` every failure is a JSON document on stdout as well.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ..errors import (
    ContradictionError,
    DalembertError,
    DalembertWarning,
    NoInertiaError,
    RunError,
)
from .signals import KeptInterruptError, Signals

__all__ = ["Failure", "main", "one_line", "tell"]

FINE, UNFINISHED, WRONG = 0, 1, 2
#: What Typer returns after Ctrl-C.
INTERRUPTED = 130
LONGEST_SENTENCE = 1500
#: Errors of a stream, which has no name: a full disk behind it, a limit, a device, or a reader that
#: has gone.
OUTPUT_TROUBLE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EPIPE)
MOST_FAULTS = 5
#: Objects between two searches for cycles of references: a command makes many expressions and few
#: cycles, and with Python's own 700 the search takes a twentieth of its time.
CYCLE_SEARCH = 100_000


@dataclass(frozen=True)
class Failure:
    """A command that failed: the parts of its message and its exit status."""

    what: str
    seen: str | None
    remedy: str | None
    sentence: str
    status: int

    @classmethod
    def of(cls, error: DalembertError) -> Failure:
        """An error of the library; of several faults the first few are in `what`.

        >>> from dalembert.errors import ModelError
        >>> failure = Failure.of(ModelError("There is no form `magi`", remedy="did you mean maggi"))
        >>> failure.status, failure.to_json()["remedy"]
        (2, 'did you mean maggi')
        """
        sentence = one_line(error)
        collected = "\n  - " in str(error)
        what = sentence if collected else _shortened(_flat(error.what))
        seen = None if error.seen is None else _shortened(_flat(str(error.seen)))
        remedy = None if error.remedy is None else _shortened(_flat(error.remedy))
        invalid = not isinstance(error, RunError) or isinstance(
            error, (ContradictionError, NoInertiaError)
        )
        return cls(what, seen, remedy, sentence, WRONG if invalid else UNFINISHED)

    @classmethod
    def plain(
        cls, what: str, status: int, seen: str | None = None, remedy: str | None = None
    ) -> Failure:
        """A failure that is no error of the library."""
        error = DalembertError(what, seen, remedy)
        return cls(what, seen, remedy, str(error), status)

    def to_json(self) -> dict[str, str | None]:
        """What ``--json`` prints under ``error``."""
        return {"what": self.what, "seen": self.seen, "remedy": self.remedy}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process by default.

    Returns
    -------
    int
        The exit status.
    """
    signals = Signals()
    if arguments is not None:
        return _guarded(list(arguments), signals)
    gc.set_threshold(CYCLE_SEARCH)
    with signals.turned_into_interrupts():
        return _guarded(sys.argv[1:], signals)


def _guarded(given: Sequence[str], signals: Signals) -> int:
    """The exit status of a command whose output may have nowhere to go."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # it was closed before we began
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _status(given, signals)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return tell(Failure.plain("Interrupted", signals.status))
    except OSError as error:
        # Python would complain once more when it closes the stream.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):  # whoever read our output has gone
            return UNFINISHED
        seen = str(error.strerror or error)
        what, remedy = "The output cannot be written", "check where it goes"
        return tell(Failure.plain(what, WRONG, seen, remedy))


def _status(given: Sequence[str], signals: Signals) -> int:
    """The exit status of a command, with its sentence on stderr."""
    with _plain_warnings():
        ending = _ending(given, signals)
    if isinstance(ending, int):
        return ending
    if {"--json", "--json-lines"} & set(given):
        with suppress(OSError):
            document = json.dumps({"error": ending.to_json()}, ensure_ascii=False)
            sys.stdout.write(f"{document}\n")
    return tell(ending)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings of the library as one sentence each, without lines of source."""
    shown: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", DalembertWarning)
        elsewhere = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if not isinstance(message, DalembertWarning):
                elsewhere(message, category, *place)
            elif str(message) not in shown:
                shown.add(str(message))
                with suppress(OSError):
                    print(f"Warning: {_shortened(_flat(str(message)))}", file=sys.stderr)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _ending(given: Sequence[str], signals: Signals) -> int | Failure:
    """Run a command; a failure that has printed its JSON itself is a status."""
    try:
        from .stored_command import run_known

        known = run_known(given)
        if known is not None:
            return known
        from .commands import app

        result = app(
            args=with_optional_path(given) or ["--help"],
            prog_name="dalembert",
            standalone_mode=False,
        )
    except DalembertError as error:
        return Failure.of(error)
    except KeptInterruptError as ending:
        with suppress(OSError):
            print(str(ending), file=sys.stderr)
        return signals.status
    except KeyboardInterrupt:
        result = INTERRUPTED
    except OSError as error:
        if error.errno in OUTPUT_TROUBLE and error.filename is None:
            raise
        return _usage_or_fault(error)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else FINE
    except MemoryError:
        return Failure.plain("There is not enough memory", WRONG)
    except RecursionError:
        return Failure.plain("There is not enough room: the model is nested too deeply", WRONG)
    except Exception as error:
        if type(error).__name__ != "Abort":
            return _usage_or_fault(error)
        result = INTERRUPTED
    if result == INTERRUPTED:
        return Failure.plain("Interrupted", signals.status)
    return result if isinstance(result, int) else FINE


def _usage_or_fault(error: Exception) -> Failure:
    """A call that Typer refuses, or a fault of our own."""
    message = getattr(error, "format_message", None)
    if callable(message):
        command = getattr(getattr(error, "ctx", None), "command_path", "dalembert")
        return Failure.plain(_flat(message()).rstrip("."), WRONG, remedy=f"see {command} --help")
    if os.environ.get("DALEMBERT_DEBUG"):
        traceback.print_exc()
    seen = _flat(f"{type(error).__name__}: {error}")[:200]
    remedy = "please report it, with the model and what DALEMBERT_DEBUG=1 shows"
    return Failure.plain("This is a fault of dalembert itself", UNFINISHED, seen, remedy)


def tell(failure: Failure) -> int:
    """Print the sentence of a failure on stderr; its exit status."""
    with suppress(OSError):  # there is nowhere left to say it
        print(failure.sentence, file=sys.stderr)
    return failure.status


def _flat(text: str) -> str:
    """One line, without characters that a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def one_line(error: DalembertError) -> str:
    """The message of an error on one line; of many faults the first few.

    >>> from dalembert.errors import ModelError
    >>> one_line(ModelError("The text\\nis wrong", remedy="correct it"))
    'The text is wrong: correct it.'
    """
    faults = error.faults
    if not faults:
        return _shortened(_flat(str(error)))
    shown = [f"({k}) {_flat(str(fault))}" for k, fault in enumerate(faults[:MOST_FAULTS], start=1)]
    if len(faults) > MOST_FAULTS:
        shown.append(f"and {len(faults) - MOST_FAULTS} more.")
    return _shortened(" ".join([f"{_flat(error.what)}:", *shown]))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SENTENCE else f"{text[:LONGEST_SENTENCE]} ..."


def with_optional_path(given: Sequence[str]) -> list[str]:
    """Arguments in which ``--plot`` always has a value, empty where no path of a picture follows
    it.

    >>> with_optional_path(["run", "--plot", "disk.toml"])
    ['run', '--plot=', 'disk.toml']
    >>> with_optional_path(["run", "disk.toml", "--plot", "disk.svg"])
    ['run', 'disk.toml', '--plot', 'disk.svg']
    """
    arguments = list(given)
    for place, argument in enumerate(arguments):
        following = arguments[place + 1] if place + 1 < len(arguments) else "-"
        names_picture = not following.startswith("-") and PurePath(
            following
        ).suffix.lower() not in ("", ".toml")
        if argument == "--plot" and not names_picture:
            arguments[place] = "--plot="
    return arguments
