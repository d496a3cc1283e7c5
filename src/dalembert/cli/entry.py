"""The way in and out of the command line: every ending becomes an exit status and at most one
sentence on stderr.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath

from ..errors import DalembertError, RunError
from .signals import KeptInterruptError, Signals

__all__ = ["main", "one_line"]

FINE, UNFINISHED, WRONG = 0, 1, 2
#: What Typer returns after Ctrl-C.
INTERRUPTED = 130
LONGEST_SENTENCE = 1500
#: Errors of a stream, which has no name: a full disk behind it, a limit, a device, or a reader that
#: has gone.
OUTPUT_TROUBLE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EPIPE)
MOST_FAULTS = 5


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
        return _say("Interrupted.", signals.status)
    except OSError as error:
        # Python would complain once more when it closes the stream.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):  # whoever read our output has gone
            return UNFINISHED
        return _say(
            f"The output cannot be written (seen: {error.strerror or error}): check where it goes.",
            WRONG,
        )


def _status(given: Sequence[str], signals: Signals) -> int:
    """The exit status of a command, with its sentence on stderr."""
    try:
        from .commands import app

        result = app(
            args=with_optional_path(given) or ["--help"],
            prog_name="dalembert",
            standalone_mode=False,
        )
    except DalembertError as error:
        return _say(one_line(error), UNFINISHED if isinstance(error, RunError) else WRONG)
    except KeptInterruptError as ending:
        return _say(str(ending), signals.status)
    except KeyboardInterrupt:
        result = INTERRUPTED
    except OSError as error:
        if error.errno in OUTPUT_TROUBLE and error.filename is None:
            raise
        return _usage_or_fault(error)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else FINE
    except (MemoryError, RecursionError) as error:
        what = (
            "memory" if isinstance(error, MemoryError) else "room: the model is nested too deeply"
        )
        return _say(f"There is not enough {what}.", WRONG)
    except Exception as error:
        if type(error).__name__ != "Abort":
            return _usage_or_fault(error)
        result = INTERRUPTED
    if result == INTERRUPTED:
        return _say("Interrupted.", signals.status)
    return result if isinstance(result, int) else FINE


def _usage_or_fault(error: Exception) -> int:
    """A call that Typer refuses, or a fault of our own."""
    message = getattr(error, "format_message", None)
    if callable(message):
        command = getattr(getattr(error, "ctx", None), "command_path", "dalembert")
        return _say(f"{_flat(message()).rstrip('.')}: see {command} --help.", WRONG)
    if os.environ.get("DALEMBERT_DEBUG"):
        traceback.print_exc()
    seen = _flat(f"{type(error).__name__}: {error}")[:200]
    advice = "please report it, with the model and what DALEMBERT_DEBUG=1 shows"
    return _say(f"This is a fault of dalembert itself ({seen}): {advice}.", UNFINISHED)


def _say(sentence: str, status: int) -> int:
    with suppress(OSError):  # there is nowhere left to say it
        print(sentence, file=sys.stderr)
    return status


def _flat(text: str) -> str:
    """One line, without characters that a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def one_line(error: DalembertError) -> str:
    """The message of an error on one line; of many faults the first few.

    >>> from dalembert.errors import ModelError
    >>> one_line(ModelError("The text\\nis wrong", remedy="correct it"))
    'The text is wrong: correct it.'
    """
    head, *faults = str(error).split("\n  - ")
    if not faults:
        return _shortened(_flat(head))
    shown = [f"({k}) {_flat(fault)}" for k, fault in enumerate(faults[:MOST_FAULTS], start=1)]
    if len(faults) > MOST_FAULTS:
        shown.append(f"and {len(faults) - MOST_FAULTS} more.")
    return _shortened(" ".join([_flat(head), *shown]))


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
