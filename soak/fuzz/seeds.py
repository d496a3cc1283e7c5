"""Where a search begins: models of the gallery, texts of the tests, requests of the page; and the
words of each language.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from . import CORPUS, FOLDER, REGRESSIONS

__all__ = ["dictionary", "seeds"]

#: Longer inputs slow the search down.
LONGEST = 3000

_EXPRESSIONS = (
    "m*(x_dot**2 + p_x**2)/2 - m*9.81*sin(y)",
    "where(x > 0, sqrt(x), -x**-2**2)",
    "Min(x, y, 1/2) + Max(1e-3, θ) - atan2(y, x) + abs(-t)",
    "-2**2 + 2**-3**2 - (x - y)**(1/3)*exp(-x**2)",
    "tan(x + pi/2) + acosh(1 + x**2) + sign(y)*log(1 + m**2)",
    "1.5e-7*x/(2*(x + y)*3)/-y",
)
_REQUESTS = (
    (
        'POST /api/check\n\n{"text": "coordinates = [\\"x\\"]", "parameters": {"m": 1}, "span": [0,'
        ' 1], "form": "maggi"}'
    ),
    (
        'POST /api/portrait\n\n{"system": "rolling-disk", "x": "x", "y": "x_dot", "points": [[0,'
        " 1.5], [1, 2]]}"
    ),
    (
        'POST /api/runs\n\n{"text": "a", "frames": 10, "label": "one", "start": {"x": null},'
        ' "rtol": 1e-6, "step": 0.1}'
    ),
    (
        'PUT /api/files/b.toml\norigin: http://127.0.0.1:8350\n\n{"text": "a", "draft": true,'
        ' "modified": 1.5}'
    ),
    "GET /api/files/..%2fsecret.toml\n\n",
    "GET /api/files/link.toml\n\n",
    "GET /page/index.html\nif-none-match: x\n\n",
    "GET /api/runs/x/download?format=csv\n\n",
    "DELETE /api/runs/abc\nsec-fetch-site: same-origin\n\n",
    "GET /\nsec-fetch-site: cross-site\nsec-fetch-mode: navigate\n\n",
    "OPTIONS /api/about\nhost: localhost:8350\n\n",
    "GET /?token=token-of-the-fuzzing\nauthorization: none\nsec-fetch-site: none\n\n",
    (
        "GET /api/files\nauthorization: bearer x\ncookie: dalembert-lab-8350=x; a=b\naccept:"
        " text/html\n\n"
    ),
)
_MESSAGES = (
    (
        '{"job": 7, "kind": "run", "seconds": 60.0, "patience": 185.0, "request": {"text":'
        ' "a"}}\n{"cancel": 7}\n'
    ),
    (
        '{"job": 7, "progress": [0.25, 1.5]}\n{"job": 7, "status": 200, "bytes": 18}\n{"ready":'
        " true}\n"
    ),
)


def seeds(target: str) -> Iterator[bytes]:
    """The inputs that a search of `target` begins with, the kept ones among them."""
    for folder in (CORPUS / target, REGRESSIONS / target):
        if folder.is_dir():
            yield from (path.read_bytes() for path in sorted(folder.iterdir()))
    if target == "expression":
        yield from (text.encode() for text in _EXPRESSIONS)
        yield from (
            text.encode("utf-8", "surrogatepass")[:LONGEST]
            for text in _hostile().EXPRESSIONS.values()
        )
    elif target == "model":
        yield from _models()
    elif target == "request":
        yield from (text.encode() for text in _REQUESTS)
        yield from (
            b"POST /api/check\n\n" + json.dumps({"text": text.decode("utf-8", "replace")}).encode()
            for text in list(_models())[:20]
        )
    elif target == "message":
        yield from (text.encode() for text in _MESSAGES)
    else:
        yield from _files(target)


def _files(target: str) -> Iterator[bytes]:
    """Robots with and without faults; the record and the image of a motion; files of a store."""
    from . import file_targets

    if target in ("urdf", "mjcf"):
        robots = _hostile("hostile_robots")
        yield (robots.URDF if target == "urdf" else robots.MJCF).encode()
        for _, kind, text in robots.hostile_files(2):
            if (kind == "urdf") == (target == "urdf") and len(text) < LONGEST:
                yield text.encode("utf-8", "surrogatepass")
    elif target == "motion":
        import h5py

        image = file_targets.honest_image()
        yield image
        with h5py.File(io.BytesIO(image)) as file:
            yield bytes(file["dalembert/record"][()])
    else:
        for place, name in enumerate(file_targets.STORE_FILES):
            yield bytes([place]) + (file_targets.honest_store() / name).read_bytes()


def _hostile(name: str = "hostile_models") -> Any:
    """A module of the tests that holds wrong files."""
    folder = str(FOLDER.parents[1] / "tests" / "unit" / "model")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(name)


def _models() -> Iterator[bytes]:
    """Small model files, good ones first."""
    from dalembert import gallery
    from dalembert.errors import DalembertError
    from dalembert.model.io.files import dumps

    for name in gallery.names():
        with suppress(DalembertError):
            text = dumps(gallery.load(name)).encode()
            if len(text) < LONGEST:
                yield text
    yield from (content for _, content in _hostile().hostile_models() if len(content) < LONGEST)


@cache
def dictionary(target: str) -> list[bytes]:
    """Words that the search puts together."""
    from dalembert.lab.server.handlers import DOWNLOADS
    from dalembert.model.io import file_drawing, file_reader, file_writer
    from dalembert.model.io.expression_rules import FUNCTIONS

    words = [
        *FUNCTIONS,
        "pi",
        "**",
        "<=",
        "==",
        "1e",
        "0.5",
        "1/3",
        "x_dot",
        "p_x",
        "where(x > 0, ",
        "θ",
        "999",
        "e-308",
    ]
    if target == "model":
        words += [
            f"{key} = "
            for key in (*file_reader._KEYS, *file_reader._CONSTRAINT_KEYS, *file_writer.OPTIONS)
        ]
        words += [f"[{key}]\n" for key in file_reader._TABLES]
        words += ["[[drawing]]\n", '"' * 3, "\\u", "inf", "nan", "1979-05-27"]
        words += [f"{key} = " for keys in file_drawing._BY_TABLE.values() for key in keys]
    elif target in ("request", "message"):
        words = [
            "/api/check",
            "/api/files/",
            "/api/runs/",
            "/api/gallery/",
            "/page/",
            "GET ",
            "PUT ",
            "POST ",
            "DELETE ",
            "HEAD ",
        ]
        words += [
            "\norigin: ",
            "\nhost: ",
            "\ncontent-type: ",
            "\nsec-fetch-site: ",
            "\n\n",
            "%2e%2e%2f",
            "%00",
            "1e999",
            "NaN",
        ]
        words += [
            f'"{key}": '
            for key in (
                "text",
                "system",
                "parameters",
                "start",
                "span",
                "form",
                "method",
                "rtol",
                "step",
            )
        ]
        words += [
            f'"{key}": '
            for key in ("x", "y", "points", "frames", "label", "draft", "modified", *DOWNLOADS)
        ]
        words += [
            f'"{key}": '
            for key in (
                "job",
                "cancel",
                "kind",
                "seconds",
                "patience",
                "request",
                "progress",
                "bytes",
                "status",
            )
        ]
    elif target != "expression":
        return _file_words(target)
    return [word.encode() for word in dict.fromkeys(words)]


def _file_words(target: str) -> list[bytes]:
    """Names, values and punctuation of the honest files."""
    texts = [text for text in list(_files(target))[:8] if not text.startswith(b"\x89")]
    words = re.findall(rb'[\w.-]+="[^"]*"|</?\w+|"\w+": ?|[\w.-]{2,}', b" ".join(texts))
    return list(
        dict.fromkeys([*words, b"/>", b"<!--", b"<!ENTITY", b"1e308", b"null", b"[]", b"{}"])
    )[:400]
