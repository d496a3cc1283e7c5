"""Where in the text of a model file a fault is: the line that its error speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["with_line"]

_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
#: Places are set in backquotes; keys and names that are not known come in quotes.
_PLACES = (re.compile(r"`([^`]{1,120})`"), re.compile(r"(?<!\w)'([^']{1,120})'"))
_ENTRY = re.compile(r"constraints\[(\d+)\]")
#: Comments and texts are passed over; brackets, commas and ends of lines are met one by one.
_TOKEN = re.compile(
    r'"""[\s\S]*?"""|'
    + r"'''[\s\S]*?'''|"
    + r'"(?:[^"\\\n]|\\.)*"|'
    + r"'[^'\n]*'|#[^\n]*|[\[\]{},\n]|[^\s\[\]{},\"'#]+"
)


def with_line(error: dict[str, Any], text: str | None) -> dict[str, Any]:
    """An error in parts with the number of the line it speaks of, where that can be found.

    >>> with_line(
    ...     {"what": "In `parameters.m`: no number", "seen": None}, "[parameters]\\nk = 1\\nm = 'x'"
    ... )["line"]
    3
    """
    if not text:
        return error
    faults = [{"text": fault, "line": _line_told(fault, text)} for fault in error.get("faults", ())]
    told = " ".join(str(error.get(part) or "") for part in ("what", "seen"))
    line = next(
        (fault["line"] for fault in faults if fault["line"] is not None), _line_told(told, text)
    )
    return error | {"line": line} | ({"faults": faults} if faults else {})


def _line_told(told: str, text: str) -> int | None:
    """The line that a sentence speaks of."""
    stated = _AT_LINE.search(told)
    if stated:
        return int(stated[1])
    lines = text.splitlines()
    for place in (place for pattern in _PLACES for place in pattern.findall(told)):
        entry = _ENTRY.match(place)
        number = _line_of_entry(int(entry[1]), text) if entry else _line_of(place, lines)
        if number is not None:
            return number
    return None


def _line_of(place: str, lines: list[str]) -> int | None:
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
