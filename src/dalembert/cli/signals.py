"""Ctrl-C and requests to end: they interrupt what is going on, which keeps what it has; the exit
status tells the signal.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["KeptInterruptError", "Signals", "held"]

#: The signals that end a command, on the systems that have them.
ENDING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
)

#: What the exit status of an interrupted command is above the number of its signal, as in a shell.
ABOVE = 128
#: Seconds after which an interruption is tried again that came where Python cannot pass it on.
AGAIN = 0.02


class KeptInterruptError(Exception):
    """A command was interrupted, and its message says what was kept."""


class Signals:
    """The signals that end a command.

    Attributes
    ----------
    received : int or None
        The first one that came.
    """

    def __init__(self) -> None:
        self.received: int | None = None

    @property
    def status(self) -> int:
        """The exit status of a command that was interrupted; that of Ctrl-C where Python itself was
        told.
        """
        return ABOVE + int(self.received or signal.SIGINT)

    @contextmanager
    def turned_into_interrupts(self) -> Iterator[None]:
        """Let signals raise `KeyboardInterrupt` in the main thread; those that are ignored stay so.

        At the end they have their plain effect: a process that is about to end is then ended at
        once, without a word.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        ordinary = (signal.SIG_DFL, signal.default_int_handler)
        taken = [number for number in ENDING if signal.getsignal(number) in ordinary]
        for number in taken:
            signal.signal(number, self._interrupt)
        sys.unraisablehook = self._unraisable
        try:
            yield
        finally:
            for number in taken:
                signal.signal(number, signal.SIG_DFL)
            sys.unraisablehook = sys.__unraisablehook__

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.received is None:
            self.received = number
        raise KeyboardInterrupt

    def _unraisable(self, seen: sys.UnraisableHookArgs) -> None:
        """Raise an interruption again that came while an object was taken down."""
        if not issubclass(seen.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(seen)
        elif hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self._come_again)
            signal.setitimer(signal.ITIMER_REAL, AGAIN)

    def _come_again(self, number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """Let an interruption wait until the end of the block, for what must not be left half done,
    such as a bar on the screen.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}
    for number in before:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
