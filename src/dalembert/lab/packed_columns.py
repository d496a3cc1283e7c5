"""Columns of numbers as base64 text, which a page reads faster than decimal digits."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

from .messages import Json, encoded

__all__ = ["packed", "unpacked_json"]

#: Lists shorter than this stay as they are.
SHORTEST = 32
#: Positions of drawings, which are rounded to five digits, have single precision.
POSITIONS = "data"


def packed(value: Any, key: str = "") -> Any:
    """The value with long lists of numbers as ``{"f8": base64}``, little-endian; ``"f4"`` for the
    points of drawings.

    >>> packed({"t": [0.0] * 32})["t"]["f8"][:8]
    'AAAAAAAA'
    """
    if isinstance(value, dict):
        return {name: packed(item, name) for name, item in value.items()}
    import numpy as np  # the server, which unpacks only, has no use for it

    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list):
        return value
    if len(value) < SHORTEST or not isinstance(value[0], float):
        return [packed(item) for item in value]
    kind = "f4" if key == POSITIONS else "f8"
    content = np.array(value, dtype=f"<{kind}").tobytes()
    return {kind: base64.b64encode(content).decode("ascii")}


def unpacked_json(content: bytes) -> bytes:
    """The JSON of a packed value with its lists as lists again.

    >>> unpacked_json(encoded(packed({"t": [0.5] * 32})))[:14]
    b'{"t":[0.5,0.5,'
    """
    return encoded(_unpacked(json.loads(content)))


def _unpacked(value: Json) -> Json:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    if len(value) == 1 and kind in ("f4", "f8"):
        code = "f" if kind == "f4" else "d"
        return [
            number
            for (number,) in struct.iter_unpack(f"<{code}", base64.b64decode(str(value[kind])))
        ]
    return {name: _unpacked(item) for name, item in value.items()}
