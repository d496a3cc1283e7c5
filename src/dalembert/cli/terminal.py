"""What the command line writes: text for people, JSON for programs, progress for those who wait."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from .signals import held

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "Progress",
    "ProgressLines",
    "collected_warnings",
    "plain",
    "print_json",
    "show",
    "waiting",
]

#: A value of JSON.
Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
#: Work that takes longer than this, in seconds, shows its progress.
PATIENCE = 1.0
#: Seconds between two lines of progress.
BETWEEN_LINES = 0.5
#: The width of text that goes to a file or another program, where lines should not be broken.
PIPED_WIDTH = 400


def show(*parts: RenderableType) -> None:
    """Print tables and texts, with colours in a terminal only and no blanks at ends of lines."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=width)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    sys.stdout.write("\n".join(lines).strip("\n") + "\n")


def print_json(value: object) -> None:
    """One JSON document; numbers to the last digit, and null for what is not a finite number."""
    sys.stdout.write(json.dumps(plain(value), allow_nan=False, ensure_ascii=False) + "\n")


class ProgressLines:
    """Progress as JSON lines on stdout, at most two a second, for programs that watch a long run.

    >>> with ProgressLines("Simulating") as progress:
    ...     progress(0.5, 2.0)
    ...     progress(0.6, 2.4)  # too soon after the line before
    {"progress": 0.5, "t": 2.0}
    """

    def __init__(self, title: str) -> None:
        self.last = -math.inf

    def __call__(self, fraction: float, *time_reached: float) -> None:
        now = time.perf_counter()
        if now - self.last < BETWEEN_LINES:
            return
        self.last = now
        reached = {"t": time_reached[0]} if time_reached else {}
        print_json({"progress": min(max(fraction, 0.0), 1.0)} | reached)
        sys.stdout.flush()

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def plain(value: object) -> Json:
    """Dictionaries, lists, text and finite numbers only.

    >>> plain({"a": (1, float("nan")), "b": "c"})
    {'a': [1, None], 'b': 'c'}
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


class Progress:
    """A bar on stderr, for work that turns out to take long; only in a terminal.

    Call it with the fraction that is done. As a context it removes itself at the end.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.began = time.perf_counter()
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, fraction: float, *_: float) -> None:
        if self.bar is None:
            if time.perf_counter() - self.began < PATIENCE or not sys.stderr.isatty():
                return
            self._show()
        self.bar.update(self.task, completed=min(max(fraction, 0.0), 1.0))

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()]
        columns += [TimeElapsedColumn(), TimeRemainingColumn()]
        with held():
            self.bar = Bar(*columns, console=Console(file=sys.stderr), transient=True)
            self.task = self.bar.add_task(self.title, total=1.0)
            self.bar.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            with held():
                self.bar.stop()


@contextmanager
def waiting(title: str) -> Iterator[None]:
    """A spinner on stderr for work whose length is not known; nothing where stderr is no
    terminal.
    """
    from rich.console import Console

    status = Console(file=sys.stderr).status(title)
    try:
        with held():
            status.start()
        yield
    finally:
        with held():
            status.stop()


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """A list of what is warned of inside, besides being shown as it always is."""
    found: list[str] = []
    shown = warnings.showwarning

    def show_and_keep(message: Warning | str, *place: Any) -> None:
        found.append(str(message))
        shown(message, *place)

    warnings.showwarning = show_and_keep  # type: ignore[assignment]
    try:
        yield found
    finally:
        warnings.showwarning = shown
