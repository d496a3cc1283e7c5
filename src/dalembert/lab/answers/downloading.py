"""A run as a file: a table, netCDF, a plot, a model file, a script that repeats it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._version import __version__
from ...errors import DalembertError
from ...model.io.files import dumps
from ...plotting.reports.report import report_page
from ..job_progress import JobProgress
from ..request_errors import RequestError
from .running import motion_of
from .scenarios import configured, options_of, scenario_of, span_of

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["file"]

#: Width and height of an animation, in pixels.
ANIMATION = (640, 480)


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


def _plot(suffix: str) -> Callable[[dict[str, Any], JobProgress], bytes]:
    """The plot of the motion as a picture of this kind."""

    def write(request: dict[str, Any], job_context: JobProgress) -> bytes:
        motion = motion_of(request, job_context)
        return _written(motion, suffix, lambda motion, path: motion.plot(path=path))

    return write


def _animation(request: dict[str, Any], job_context: JobProgress) -> bytes:
    """The moving drawing as a GIF, which needs no other program."""
    motion = motion_of(request, job_context)

    def progress(fraction: float) -> None:
        job_context.check()
        if job_context.is_late:
            raise RequestError(
                400, "The animation takes longer than it may here", remedy="run a shorter time"
            )

    return _written(
        motion,
        ".gif",
        lambda motion, path: motion.animate(path, size=ANIMATION, progress=progress),
    )


def _report(request: dict[str, Any], job_context: JobProgress) -> bytes:
    """A page in which the model runs; of a model that cannot run there, a page about the motion
    that says why.
    """
    motion = motion_of(request, job_context)
    try:
        return report_page(motion, live=True).encode()
    except DalembertError as error:
        note = f"The model does not run in this page. {error}"
        return report_page(motion, note=note).encode()


def _notebook(request: dict[str, Any], job_context: JobProgress) -> bytes:
    """The script as a Jupyter notebook, with the equations and the viewer."""
    name = _plain(scenario_of(request).system.name)
    script = _script_lines(request)[2:]
    cells = [
        _cell("markdown", f"# {name}\n\nA run of dalembert {__version__}."),
        _cell("code", "\n".join(script).strip()),
        _cell("code", "da.derive(scenario.system, motion.equations.form)"),
        _cell("code", "motion.plot()"),
        _cell("code", "motion.viewer()  # needs dalembert[notebook]"),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    told = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(told, indent=1, ensure_ascii=False).encode()


def _cell(kind: str, text: str) -> dict[str, Any]:
    name = hashlib.sha256(text.encode()).hexdigest()[:8]
    cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": {}, "source": text}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _model(request: dict[str, Any], _: JobProgress) -> bytes:
    return dumps(configured(scenario_of(request), request)).encode()


def _script(request: dict[str, Any], _: JobProgress) -> bytes:
    """A script that repeats the run and writes its files."""
    files = ['motion.save("motion.nc")', 'motion.plot(path="motion.svg")', ""]
    return "\n".join([*_script_lines(request), *files]).encode()


def _script_lines(request: dict[str, Any]) -> list[str]:
    """Python with the model in it; where a model cannot be written, with the name of the built-in
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
    return [*lines, f"motion = da.simulate(scenario, {arguments})", "print(motion.message)"]


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
    "svg": _plot(".svg"),
    "png": _plot(".png"),
    "gif": _animation,
    "html": _report,
    "ipynb": _notebook,
    "toml": _model,
    "py": _script,
}
