"""What server and workers say to each other: a line of JSON, and after it, where it says so, as many bytes as it says.

::

    server -> worker   {"job": 7, "kind": "run", "seconds": 60.0, "patience": 185.0, "request": {...}}
                       {"cancel": 7}
    worker -> server   {"ready": true}
                       {"job": 7, "progress": [0.25, 1.5]}
                       {"job": 7, "status": 200, "bytes": 1834} and the answer in 1834 bytes of JSON
"""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["LONGEST_LINE", "encoded", "line"]

#: No line is longer than this; a request of the page is shorter.
LONGEST_LINE = 4 * 1024 * 1024


def line(message: dict[str, Any]) -> bytes:
    """A message as one line.

    >>> line({"cancel": 7})
    b'{"cancel":7}\\n'
    """
    return encoded(message) + b"\n"


def encoded(value: Any) -> bytes:
    """A value as JSON on one line; numbers that are not finite become null, arrays become lists.

    >>> encoded({"x": [1.0, float("nan")]})
    b'{"x":[1.0,null]}'
    """
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"), default=_plain)
    except ValueError:
        text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    return text.encode("ascii")


def _plain(value: Any) -> Any:
    """What JSON has no word for: arrays and numbers of NumPy, tuples, mappings; everything else as its text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if hasattr(value, "keys") else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return _finite(_plain(value))
