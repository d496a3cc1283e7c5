"""``dalembert run`` of a model that was run before: by the compiled model in the cache.

The key of a compiled model stands for the whole call, for the text of the model file, and for the
library and what it is built on, so that another call, another text or another version is a model
that is not known. What the cache cannot serve is left to `run_command`.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..codegen.sources import PACKAGE

if TYPE_CHECKING:
    from .run_command import Request

__all__ = ["call_key", "keep_call", "run_known"]

#: Options of a run with a value, which the key has; all others but ``--json`` go the long way.
_TEXTS = {"--at": "at", "--t": "span", "--form": "form", "--method": "method"}
_NUMBERS = {"--rtol": "rtol", "--atol": "atol", "--step": "step"}
#: A model file that is longer is no model file.
_LARGEST_FILE = 10_000_000


def run_known(given: Sequence[str]) -> int | None:
    """Run a call that is in the cache, and report it; None where it is not there.

    A process that has loaded SymPy has no use for it.
    """
    read = None if "sympy" in sys.modules else _read(given)
    key = None if read is None else call_key(*read[:5])
    if read is None or key is None:
        return None
    from ..integrate.stored_model import stored_model

    model = stored_model(key)
    if model is None:
        return None
    from ..integrate.stored_run import run_stored
    from ..runtime.stored_kernel import NotStoredError
    from .run_report import report_motion, reported
    from .terminal import Progress

    try:
        with Progress("Simulating") as progress:
            motion = run_stored(model, progress)
        shown = reported(motion, as_json=read[5])
    except (NotStoredError, AttributeError):  # a question that names cannot answer
        return None
    return report_motion(motion, shown)


def keep_call(request: Request, motion: Any, warned: Sequence[str]) -> None:
    """Put the model behind a call into the cache, where the same call finds it."""
    files = (request.output, request.plot, request.animate, request.report, request.live)
    if warned or any(file is not None for file in files) or not motion.success:
        return
    key = call_key(request.system, request.settings, request.at, request.span, request.options)
    if key is None:
        return
    from ..integrate.stored_model import keep_model
    from ..model.energy_changes import energy_changes

    keep_model(key, motion, {"energy changes": energy_changes(motion.system)})


def call_key(
    system: str,
    settings: Sequence[str],
    at: str | None,
    span: str | None,
    options: Mapping[str, Any],
) -> str | None:
    """What stands for a call and all that its motion depends on; None for models in many files."""
    try:
        text = _model_text(system)
    except (OSError, ValueError):
        return None
    if text is None:
        return None
    asked = {
        name: value for name, value in options.items() if value is not None and value is not True
    }
    words = json.dumps([system, list(settings), at, span, sorted(asked.items())])
    parts = (_library(), words.encode(), text)
    return "run " + hashlib.sha256(b"".join(hashlib.sha256(p).digest() for p in parts)).hexdigest()


def _model_text(system: str) -> bytes | None:
    """The text of a model file, empty for a built-in system; None for other files."""
    path = Path(system)
    if not path.exists():
        return b""
    if path.suffix.lower() != ".toml" or not path.is_file():
        return None
    with path.open("rb") as file:
        text = file.read(_LARGEST_FILE + 1)
    return text if len(text) <= _LARGEST_FILE else None


@cache
def _library() -> bytes:
    """The sources of the library by their sizes and dates, and the packages that it is built on."""
    found = [platform.python_version(), sys.platform]
    for name in ("sympy", "casadi", "numpy"):
        spec = find_spec(name)
        origin = None if spec is None else spec.origin
        found.append(name if origin is None else _dated(origin, Path(origin).stat()))
    folders = [str(PACKAGE)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.name.endswith((".py", ".toml")):
                    found.append(_dated(entry.path, entry.stat()))
    return "\n".join(found).encode()


def _dated(path: str, status: os.stat_result) -> str:
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _read(
    given: Sequence[str],
) -> tuple[str, tuple[str, ...], str | None, str | None, dict[str, Any], bool] | None:
    """The parts of a call that the key has, and whether it asks for JSON; None for any other."""
    if len(given) < 2 or given[0] != "run" or given[1].startswith("-"):
        return None
    texts: dict[str, str] = {}
    options: dict[str, Any] = {}
    settings: list[str] = []
    rest, as_json = list(given[2:]), False
    while rest:
        name, sign, value = rest.pop(0).partition("=")
        if name == "--json" and not sign:
            as_json = True
            continue
        if not sign:
            if not rest:
                return None
            value = rest.pop(0)
        if name == "--set":
            settings.append(value)
        elif name in _TEXTS:
            texts[_TEXTS[name]] = value
        elif name in _NUMBERS:
            try:
                options[_NUMBERS[name]] = float(value)
            except ValueError:
                return None
        else:
            return None
    at, span = texts.pop("at", None), texts.pop("span", None)
    return given[1], tuple(settings), at, span, options | texts, as_json
