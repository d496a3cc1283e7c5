"""Messages between server and workers: a line of JSON, and as many bytes as it announces.

::

    server -> worker   {"job": 7, "kind": "run", "seconds": 60.0, "patience": 185.0, "request": {}}
                       {"cancel": 7}
    worker -> server   {"ready": true, "confinement": "confined: files"}
                       {"job": 7, "progress": [0.25, 1.5]}
                       {"job": 7, "status": 200, "bytes": 1834} and the answer in 1834 bytes of JSON
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

__all__ = ["LONGEST_LINE", "Json", "encoded", "line"]
__all__ += ["read_answer", "read_jobs", "read_line", "read_progress"]

#: A value of JSON.
Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
#: No line is longer than this; a request of the page is shorter.
LONGEST_LINE = 4 * 1024 * 1024


def line(message: dict[str, Any]) -> bytes:
    """A message as one line.

    >>> line({"cancel": 7})
    b'{"cancel":7}\\n'
    """
    return encoded(message) + b"\n"


def encoded(value: object) -> bytes:
    """A value as JSON on one line; numbers that are not finite become null, arrays become lists.

    >>> encoded({"x": [1.0, float("nan")]})
    b'{"x":[1.0,null]}'
    """
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"), default=_plain)
    except ValueError:
        text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    return text.encode("ascii")


def read_line(text: bytes) -> dict[str, Any]:
    """The message of a line.

    Raises
    ------
    ValueError
        For whatever is no message, also where JSON itself would end in another error.

    Examples
    --------
    >>> read_line(b'{"cancel": 7}')
    {'cancel': 7}
    """
    try:
        message = json.loads(text)
    except RecursionError as error:
        raise ValueError("a message that is nested too deeply") from error
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    return message


def read_jobs(
    lines: Iterable[bytes], begin: Callable[[dict[str, Any]], None], cancel: Callable[[int], None]
) -> bool:
    """Hand on what a worker is told, until the input ends; False where it said something else than
    jobs and cancellations.

    >>> told: list[Any] = []
    >>> read_jobs([b'{"cancel": 7}', b'{"job": 8}'], told.append, told.append), told
    (False, [7])
    """
    for text in lines:
        try:
            message = read_line(text)
            if "cancel" in message:
                cancel(_whole(message["cancel"]))
                continue
            read = {"job": _whole(message["job"]), "kind": str(message["kind"])}
            read |= {key: _seconds(message[key]) for key in ("seconds", "patience")}
            if not isinstance(message["request"], dict):
                raise ValueError("a request that is no object")
        except (ValueError, KeyError):
            return False
        begin(read | {"request": message["request"]})
    return True


def read_progress(message: dict[str, Any]) -> tuple[float, float]:
    """How far a job is, and the time it has reached.

    >>> read_progress({"job": 7, "progress": [0.25, 1.5]})
    (0.25, 1.5)
    """
    told = message["progress"]
    if (
        not isinstance(told, list)
        or len(told) != 2
        or not all(isinstance(part, (int, float)) for part in told)
    ):
        raise ValueError("a progress that is not two numbers")
    return _double(told[0]), _double(told[1])


def read_answer(message: dict[str, Any], largest: int) -> tuple[int, int]:
    """The status of an answer, and how many bytes follow: at most `largest`.

    >>> read_answer({"job": 7, "status": 200, "bytes": 1834}, 2000)
    (200, 1834)
    """
    status, size = _whole(message.get("status")), _whole(message.get("bytes"))
    if not 200 <= status <= 599 or not 0 <= size <= largest:
        raise ValueError("an answer of no known status or size")
    return status, size


def _whole(value: Json) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("a number that is no integer")


def _seconds(value: Json) -> float:
    found = _double(value) if isinstance(value, (int, float)) else math.nan
    if not 0 <= found < math.inf:
        raise ValueError("a time that is not finite")
    return found


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError("a number outside the range of doubles") from error


def _plain(value: object) -> object:
    """Arrays and numbers of NumPy and mappings as JSON has them; everything else as its text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value.items()) if isinstance(value, Mapping) else str(value)


def _finite(value: object) -> Json:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return _finite(_plain(value))
