"""What is refused, in the three parts of an error, as the page receives it."""

from __future__ import annotations

from typing import Any

from ..errors import DalembertError
from .fault_lines import line_of

__all__ = ["RETRY_AFTER", "RequestError", "refusal", "retry_headers"]

#: No part of a refusal is longer than this.
LONGEST = 1500
MOST_FAULTS = 12
#: Seconds after which a request that met a full lab may be sent again.
RETRY_AFTER = 2


class RequestError(Exception):
    """A request that is answered with an error and a status of HTTP."""

    def __init__(
        self, status: int, what: str, seen: object | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(what)
        self.status = status
        self.body = {"error": parts(what, seen, remedy)}

    @classmethod
    def of(cls, error: dict[str, Any], status: int = 400) -> RequestError:
        """The refusal that a worker sent."""
        made = cls(status, str(error.get("what", "")))
        made.body = {"error": error}
        return made


def retry_headers(status: int) -> dict[str, str]:
    """What an answer says besides, where the lab has too much to do for now.

    >>> retry_headers(429), retry_headers(404)
    ({'retry-after': '2'}, {})
    """
    return {"retry-after": str(RETRY_AFTER)} if status in (429, 503) else {}


def parts(
    what: str, seen: object | None = None, remedy: str | None = None, line: int | None = None
) -> dict[str, Any]:
    """The parts of an error, each one line of bounded length.

    >>> parts("The text\\nis wrong", seen=3)
    {'what': 'The text is wrong', 'seen': '3', 'remedy': None, 'line': None}
    """
    return {
        "what": _flat(what),
        "seen": None if seen is None else _flat(str(seen)),
        "remedy": None if remedy is None else _flat(remedy),
        "line": line,
    }


def refusal(error: DalembertError, text: str | None = None) -> dict[str, Any]:
    """An error of the library in its parts, with its line in the text of a model file.

    Several faults come in a list, each with its line; that of the error is the first known.

    >>> from dalembert.errors import ModelError
    >>> refusal(ModelError("`m` has no value", remedy="give it one"))["remedy"]
    'give it one'
    """
    found = parts(error.what, error.seen, error.remedy, line_of(error, text))
    if error.faults:
        shown = error.faults[:MOST_FAULTS]
        found["faults"] = [
            {"text": _flat(str(fault)), "line": line_of(fault, text)} for fault in shown
        ]
        lines = (fault["line"] for fault in found["faults"])
        found["line"] = next((line for line in lines if line is not None), found["line"])
    return found


def _flat(text: str) -> str:
    """One line, of characters that can be shown."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text[: 2 * LONGEST].split()))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."
