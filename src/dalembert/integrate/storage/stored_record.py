"""The record of a file: JSON whose parts have the kinds that a motion needs, whoever wrote it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import FileError

__all__ = ["check_record", "read_record"]

#: Control characters of ASCII and Latin-1, but for the end of a line.
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def _is_text(value: object) -> bool:
    """Whether a value is text without control characters other than line ends."""
    return isinstance(value, str) and not CONTROL.search(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(fits(item) for item in value)


def _table_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, dict) and all(_is_text(key) and fits(item) for key, item in value.items())
    )


def _is_moment(value: object) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and _is_number(value[0]) and _is_text(value[1])
    )


def _is_anything(value: object) -> bool:
    return True


_texts, _numbers, _moments = _list_of(_is_text), _table_of(_is_number), _list_of(_is_moment)

#: The parts that a motion takes as they are, and what each must be.
KINDS: Mapping[str, Callable[[Any], bool]] = {
    "version": _is_text,
    "form": _is_text,
    "state": _texts,
    "model": lambda value: isinstance(value, str),
    "model_note": lambda value: isinstance(value, str),
    "parameters": _numbers,
    "start": _numbers,
    "start_report": _texts,
    "statistics": _table_of(_is_anything),
    "outcome": _is_text,
    "message": _is_text,
    "modes": _list_of(_texts),
    "letters": _list_of(_texts),
    "charts": _list_of(_texts),
    "steps": _list_of(_is_count),
    "impacts": _moments,
    "switches": _moments,
    "events": _texts,
    "passages": _list_of(_is_count),
    "variables": _table_of(_is_text),
    "roles": _table_of(_is_text),
    "reactions": _texts,
}

#: Parts that files of earlier versions do not have.
ADDED: Mapping[str, Callable[[Any], bool]] = {
    "interpolated": _list_of(lambda value: isinstance(value, bool)),
    "contact_changes": _list_of(
        lambda value: (
            isinstance(value, list)
            and len(value) == 4
            and _is_number(value[0])
            and all(_is_text(word) for word in value[1:])
        )
    ),
    "termination": lambda value: (
        isinstance(value, dict)
        and _is_text(value.get("sentence"))
        and _texts(value.get("diagnostics"))
    ),
}


def read_record(text: str) -> dict[str, Any]:
    """The record of a file.

    Raises
    ------
    FileError
        Where it is not the record of a motion.
    """
    record = json.loads(str(text))
    if not isinstance(record, dict) or not _is_count(record.get("format")):
        raise FileError(
            "The record of the file cannot be read as that of a motion",
            remedy="name a file that Motion.save wrote",
        )
    return record


def check_record(record: Mapping[str, Any]) -> None:
    """Refuse a record with parts that are missing, or of another kind than `save` writes."""
    present = {key: fits for key, fits in ADDED.items() if key in record}
    for key, fits in {**KINDS, **present}.items():
        if key not in record or not fits(record[key]):
            raise FileError(
                f"The record of the file has no {key!r} that a motion could have",
                seen=repr(record.get(key))[:60],
                remedy="name a file that Motion.save wrote",
            )
