"""The line of a model file that an error concerns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import DalembertError

__all__ = ["line_of"]

_ENTRY = re.compile(r"constraints\[(\d+)\]")
#: Comments and texts are passed over; brackets, commas and ends of lines are met one by one.
_TOKEN = re.compile(
    r'"""[\s\S]*?"""|'
    + r"'''[\s\S]*?'''|"
    + r'"(?:[^"\\\n]|\\.)*"|'
    + r"'[^'\n]*'|#[^\n]*|[\[\]{},\n]|[^\s\[\]{},\"'#]+"
)


def line_of(error: DalembertError, text: str | None) -> int | None:
    """The line of a model file that an error concerns, where that can be found.

    >>> from dalembert.errors import ModelError
    >>> line_of(ModelError("In `parameters.m`: no number"), "[parameters]\\nk = 1\\nm = 'x'")
    3
    """
    if error.line is not None or not text:
        return error.line
    lines = text.splitlines()
    for place in error.names:
        entry = _ENTRY.match(place)
        number = _line_of_entry(int(entry[1]), text) if entry else _line_of_place(place, lines)
        if number is not None:
            return number
    return None


def _line_of_place(place: str, lines: list[str]) -> int | None:
    """The line of a place such as ``kinetic`` or ``parameters.m``, or of the first use of a
    symbol.
    """
    table, _, key = place.rpartition(".")
    current = ""
    wanted = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    for number, text in enumerate(lines, start=1):
        heading = re.fullmatch(r"\s*\[\[?\s*([^\[\]=]+?)\s*\]\]?\s*(#.*)?", text)
        if heading:
            current = heading[1].strip("\"'")
            if current == place:
                return number
        elif wanted.match(text) and (current == table or not table):
            return number
    if not key.isidentifier():
        return None
    word = re.compile(rf"(?<!\w){re.escape(key)}(?!\w)")
    return next(
        (
            number
            for number, text in enumerate(lines, start=1)
            if word.search(text.partition("#")[0])
        ),
        None,
    )


def _line_of_entry(count: int, text: str) -> int | None:
    """The line on which one of the constraints begins."""
    begin = re.search(r"^\s*constraints\s*=\s*\[", text, re.MULTILINE)
    if begin is None:
        return None
    starts = list(_entries(text, begin.end()))
    return starts[count - 1] if count <= len(starts) else text.count("\n", 0, begin.end()) + 1


def _entries(text: str, position: int) -> Iterator[int]:
    """The lines on which the entries of an array begin, which was opened before `position`."""
    depth, fresh = 0, True
    for token in _TOKEN.finditer(text, position):
        word = token[0]
        if word == "]" and depth == 0:
            return
        if word == "," and depth == 0:
            fresh = True
        elif fresh and word != "\n" and not word.startswith("#"):
            fresh = False
            yield text.count("\n", 0, token.start()) + 1
        depth += (word in "[{") - (word in "]}")
