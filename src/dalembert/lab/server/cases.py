"""What a request may say: read from JSON, every value of the right kind and size, before any worker
sees it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..limits import Limits
from ..messages import Json
from ..request_errors import RequestError

__all__ = [
    "read_body",
    "read_case",
    "read_frames",
    "read_label",
    "read_modified",
    "read_place",
    "read_points",
    "read_study",
    "read_text",
]

#: Names of systems, forms and methods; names of symbols may be any short text.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
LONGEST_NAME = 120
MOST_SHAPES = 100_000


def read_body(body: bytes) -> dict[str, Any]:
    """The JSON object of a request."""
    try:
        found = json.loads(
            body.decode("utf-8"), parse_constant=_not_finite, object_pairs_hook=_once
        )
    except (ValueError, RecursionError, UnicodeDecodeError) as error:
        raise RequestError(
            400, "The request is not JSON", remedy="send one JSON object as UTF-8 text"
        ) from error
    if not isinstance(found, dict):
        raise RequestError(400, "The request must be a JSON object", seen=type(found).__name__)
    return found


def _not_finite(text: str) -> float:
    raise ValueError(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, in which no name may stand twice: one of the values would not be used."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise RequestError(
                400, "The request gives a name twice", seen=_short(name), remedy="give it once"
            )
        found[name] = value
    return found


def read_case(body: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The part that says what is simulated and how, with nothing in it that was not asked for.

    >>> read_case({"system": "rolling-disk", "parameters": {"m": 2}, "colour": 1}, Limits())[
    ...     "parameters"
    ... ]
    {'m': 2.0}
    """
    case: dict[str, Any] = {}
    if body.get("text") is not None:
        case["text"] = read_text(body["text"], limits)
    if body.get("system") is not None:
        case["system"] = _word(body["system"], "system")
    if not case:
        raise RequestError(400, "The request names no model", remedy='send "text" or "system"')
    case["parameters"] = _numbers(body.get("parameters"), "parameters", limits)
    case["start"] = _numbers(body.get("start"), "start", limits, or_none=True)
    readers: tuple[tuple[str, Callable[[Any, str], Any]], ...]
    readers = (
        ("span", _span),
        ("form", _word),
        ("method", _word),
        ("rtol", _positive),
        ("step", _positive),
    )
    return case | {
        key: None if body.get(key) is None else read(body[key], key) for key, read in readers
    }


def read_text(text: Json, limits: Limits) -> str:
    """The text of a model file."""
    if not isinstance(text, str):
        raise RequestError(400, "The text of the model must be text", seen=type(text).__name__)
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise RequestError(
            400, "The text of the model is not Unicode", remedy="remove unpaired surrogates"
        ) from error
    if size > limits.text_bytes:
        raise RequestError(
            413,
            f"A model file has at most {limits.text_bytes} bytes",
            seen=size,
            remedy="shorten it",
        )
    return text


def read_points(body: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The two axes of a portrait and the starts in it."""
    points = body.get("points")
    if not isinstance(points, list) or not 1 <= len(points) <= limits.portrait_points:
        raise RequestError(
            400,
            f"A portrait has 1 to {limits.portrait_points} points",
            remedy='send "points": [[x, y], ...]',
        )
    if not all(isinstance(point, list) and len(point) == 2 for point in points):
        raise RequestError(
            400, "A point of a portrait is a pair of numbers", remedy='send "points": [[x, y], ...]'
        )
    x, y = _name(body.get("x"), "x"), _name(body.get("y"), "y")
    if x == y:
        raise RequestError(
            400,
            "A portrait has two different axes",
            seen=_short(x),
            remedy="name two symbols of the state",
        )
    return {
        "x": x,
        "y": y,
        "points": [[_number(value, "points") for value in point] for point in points],
    }


#: What a study may ask for.
STUDIES = ("sweep", "bifurcation", "chaos")


def read_study(body: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """What is varied, the points asked for, and what is looked at."""
    kind, names, points = body.get("study"), body.get("names"), body.get("points")
    if kind not in STUDIES:
        raise RequestError(400, f"A study is one of {', '.join(STUDIES)}", seen=_short(kind))
    if not isinstance(names, list) or not 1 <= len(names) <= 2:
        raise RequestError(400, "A study varies one or two quantities", seen=_short(names))
    names = [_name(name, "names") for name in names]
    if not isinstance(points, list) or not 1 <= len(points) <= limits.study_points:
        raise RequestError(
            400,
            f"A study asks for 1 to {limits.study_points} points at a time",
            remedy='send "points": [[value], ...]',
        )
    if not all(isinstance(point, list) and len(point) == len(names) for point in points):
        raise RequestError(400, "A point of a study has a number for each varied quantity")
    skip = _number(body.get("skip", 0.5), "skip")
    if not 0 <= skip < 1:
        raise RequestError(400, "`skip` is a part of the run from 0 to below 1", seen=skip)
    period = body.get("period")
    return {
        "study": kind,
        "names": names,
        "points": [[_number(value, "points") for value in point] for point in points],
        "quantity": _name(body.get("quantity"), "quantity"),
        "skip": skip,
        "period": None if period is None else _positive(period, "period"),
    }


def read_place(body: Mapping[str, Any]) -> dict[str, Any]:
    """A point of the drawing, and where it is dragged to."""
    to = body.get("to")
    if not isinstance(to, list) or len(to) != 2:
        raise RequestError(400, "A place has two numbers", remedy='send "to": [x, y]')
    found: dict[str, Any] = {"to": [_number(value, "to") for value in to]}
    for key in ("shape", "point"):
        number = _number(body.get(key), key)
        if not (0 <= number < MOST_SHAPES and number.is_integer()):
            raise RequestError(
                400, f"`{key}` must be the number of one", seen=_short(body.get(key))
            )
        found[key] = int(number)
    return found


def read_label(body: Mapping[str, Any]) -> str:
    """The name that the page gives to a run."""
    label = body.get("label")
    if isinstance(label, str):
        return "".join(c for c in label[:LONGEST_NAME] if c.isprintable())
    return ""


def read_frames(body: Mapping[str, Any], limits: Limits) -> int:
    """At how many times a result is sent."""
    frames = body.get("frames")
    if frames is None:
        return min(600, limits.frames)
    number = _number(frames, "frames")
    if not (2 <= number <= limits.frames and number.is_integer()):
        raise RequestError(
            400,
            f"A result has 2 to {limits.frames} frames",
            seen=frames,
            remedy="ask for a number of these",
        )
    return int(number)


def read_modified(body: Mapping[str, Any]) -> float | None:
    """When the file that is written was last read, to protect what another program wrote."""
    return None if body.get("modified") is None else _number(body["modified"], "modified")


# -- values ----------------------------------------------------------------------------------------


def _word(value: Json, key: str) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    raise RequestError(400, f"`{key}` must be a name", seen=_short(value))


def _name(value: Json, key: str) -> str:
    if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable():
        return value
    raise RequestError(400, f"`{key}` must be the name of a quantity", seen=_short(value))


def _number(value: Json, key: str) -> float:
    try:
        number = math.nan
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            number = float(value)
    except OverflowError:
        number = math.nan
    if not math.isfinite(number):
        raise RequestError(400, f"`{key}` must be a finite number", seen=_short(value))
    return number


def _positive(value: Json, key: str) -> float:
    number = _number(value, key)
    if number <= 0:
        raise RequestError(400, f"`{key}` must be positive", seen=_short(value))
    return number


def _span(value: Json, key: str) -> list[float]:
    if not isinstance(value, list) or len(value) != 2:
        raise RequestError(
            400, "`span` must be two times", seen=_short(value), remedy='send "span": [0, 10]'
        )
    first, last = (_number(time, key) for time in value)
    if first == last:
        what = "The span must have two different times"
        raise RequestError(400, what, seen=_short(value), remedy='send "span": [0, 10]')
    return [first, last]


def _numbers(
    value: Json, key: str, limits: Limits, or_none: bool = False
) -> dict[str, float | None]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > limits.names:
        raise RequestError(
            400, f"`{key}` must be at most {limits.names} numbers by name", seen=_short(value)
        )
    return {
        _name(name, key): (
            None if number is None and or_none else _number(number, f"{key}.{name[:40]}")
        )
        for name, number in value.items()
    }


def _short(value: Json) -> str:
    return repr(value)[:60]
