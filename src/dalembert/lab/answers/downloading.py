"""A run as a file: a table, netCDF, a plot, a model file, a script that repeats it."""

from __future__ import annotations

import base64
import csv
import io
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._version import __version__
from ...model.io.files import dumps
from ..job_progress import JobProgress
from .running import motion_of
from .scenarios import configured, options_of, scenario_of, span_of

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["file"]


def file(request: dict[str, Any], job_context: JobProgress) -> dict[str, str]:
    """The content of a file in base64, and its name without the ending."""
    content = FORMATS[request["format"]](request, job_context)
    stem = (
        re.sub(r"[^A-Za-z0-9]+", "-", request.get("label") or scenario_of(request).system.name)
        .strip("-")
        .lower()
    )
    return {"name": stem[:60] or "run", "content": base64.b64encode(content).decode("ascii")}


def _csv(request: dict[str, Any], job_context: JobProgress) -> bytes:
    """Every named quantity at every step, with all digits."""
    motion = motion_of(request, job_context)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(motion.names)
    writer.writerows(np.array([motion[name] for name in motion.names], dtype=float).T.tolist())
    return table.getvalue().encode()


def _written(motion: Motion, suffix: str, write: Callable[[Motion, Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="dalembert-lab-") as folder:
        path = Path(folder) / f"motion{suffix}"
        write(motion, path)
        return path.read_bytes()


def _netcdf(request: dict[str, Any], job_context: JobProgress) -> bytes:
    return _written(motion_of(request, job_context), ".nc", lambda motion, path: motion.save(path))


def _plot(request: dict[str, Any], job_context: JobProgress) -> bytes:
    return _written(
        motion_of(request, job_context), ".svg", lambda motion, path: motion.plot(path=path)
    )


def _model(request: dict[str, Any], _: JobProgress) -> bytes:
    return dumps(configured(scenario_of(request), request)).encode()


def _script(request: dict[str, Any], _: JobProgress) -> bytes:
    """A script with the model in it; where a model cannot be written, with the name of the built-in
    system.
    """
    scenario = scenario_of(request)
    options = options_of(request) | {"span": span_of(scenario, request)}
    lines = [
        f'"""{_plain(scenario.system.name)}: a run of dalembert {__version__}."""',
        "",
        "import dalembert as da",
    ]
    if "text" in request:
        text = dumps(scenario)
        lines += [
            "from dalembert.model.io.files import loads",
            "",
            f"MODEL = {_literal(text)}",
            "",
            "scenario = loads(MODEL)",
        ]
    else:
        lines += ["", f"scenario = da.gallery.load({request['system']!r})"]
        changes = {"parameters": dict(scenario.parameters), "start": dict(scenario.start)}
        lines.append(
            "scenario ="
            f" "
            f"scenario.replacing({', '.join(f'{key}={value!r}' for key, value in changes.items())})"
        )
    arguments = ", ".join(f"{key}={value!r}" for key, value in options.items())
    lines += [
        f"motion = da.simulate(scenario, {arguments})",
        "print(motion.message)",
        'motion.save("motion.nc")',
    ]
    lines += ['motion.plot(path="motion.svg")', ""]
    return "\n".join(lines).encode()


def _literal(text: str) -> str:
    """Text as a literal of Python over several lines."""
    if '"""' in text or "\\" in text:
        return repr(text)
    return f'"""\\\n{text}"""'


def _plain(text: str) -> str:
    return "".join(c for c in text if c.isprintable() and c not in '"\\')[:80]


FORMATS: dict[str, Callable[[dict[str, Any], Any], bytes]] = {
    "csv": _csv,
    "nc": _netcdf,
    "svg": _plot,
    "toml": _model,
    "py": _script,
}
