"""The equations of motion as one C99 file and its header, which need nothing but libm.

Everything numeric in them is translated: the programs of the kernel (`compiled.c_programs`), and
the native loops around them (`compiled.c_language`): the constrained solve with its rank decision,
the projection onto the constraints, Dormand and Prince's method with its step control. What is
written here is what callers see: names, structures, and functions that pass arguments on.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from .._version import __version__
from ..codegen.backends.c_programs import c_comment
from ..codegen.native.c_language import c_functions
from ..codegen.native.native_module import specialised
from ..errors import FileError
from ..formulations.equations import Equations
from ..integrate.events.stop_times import model_switches
from ..integrate.methods.adaptive.dop853 import DOP853_STEP
from ..model.io.atomic_file import write_whole
from ..runtime.projection import evaluate, project
from ..typing import ArrayLike, Parameters, Span, Start
from .c_functions import public_functions
from .c_header import header_text
from .c_layout import CLayout, layout_of
from .c_main import main_text
from .c_model import CModel, c_model
from .export_task import read_export
from .run_in_c import begin, follow, observe_state

__all__ = ["CSource", "c_source_of", "export_c"]


@dataclass(frozen=True)
class CSource:
    """A header and a source file in C99.

    Attributes
    ----------
    name : str
        The word that all names in them begin with; the files are called ``name.h`` and ``name.c``.
    header, source : str
        The text of the two files.
    state : tuple of str
        The symbols of the state in their order; a form that chooses independent velocities chooses
        them at the start.
    """

    name: str
    header: str
    source: str
    state: tuple[str, ...]

    def __str__(self) -> str:
        """Both as one text that compiles by itself, the header in place of its inclusion."""
        return self.source.replace(f'#include "{self.name}.h"\n', self.header, 1)

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write both files into a folder, which is made if need be; returns their paths."""
        place = Path(folder)
        header, source = place / f"{self.name}.h", place / f"{self.name}.c"
        try:
            place.mkdir(parents=True, exist_ok=True)
            write_whole(header, self.header)
            write_whole(source, self.source)
        except OSError as error:
            what = f"The C files cannot be written to {place}"
            raise FileError(what, error.strerror, "name a folder") from error
        return header, source


def export_c(
    equations: Equations,
    path: str | PathLike[str] | None = None,
    *,
    name: str | None = None,
    parameters: Parameters | None = None,
    start: Start | None = None,
    span: Span | None = None,
    rtol: float = 1e-10,
    atol: ArrayLike | None = None,
    step: float | None = None,
) -> CSource:
    """The C files of equations of motion; see `Equations.to_c`."""
    place = None if path is None else Path(path)
    if place is not None and place.suffix in (".c", ".h"):
        name, place = name or place.stem, place.parent
    task = read_export(equations, parameters, start, span, rtol, atol, step)
    found = c_source_of(c_model(task, name))
    if place is not None:
        found.write(place)
    return found


def c_source_of(model: CModel) -> CSource:
    """The C files of a model."""
    layout = layout_of(model.task.kernel, model.name, model.task.threshold)
    head, state = _head(model, layout), tuple(name for _, name in model.state)
    header, source = header_text(model, layout, head), _source_text(model, layout, head)
    return CSource(model.name, header, source, state)


def _head(model: CModel, layout: CLayout) -> str:
    """What the files are about, as a comment."""
    equations, task = model.task.kernel.equations, model.task
    form = f"form `{equations.form}` ({equations.citation})"
    lines = [
        f"{equations.system.name}: equations of motion, {form}",
        f"written by dalembert {__version__}",
        "",
        f"coordinates: {', '.join(symbol.name for symbol in equations.system.coordinates)}",
        f"state: {', '.join(symbol.name for symbol in equations.state)}",
    ]
    if equations.chart:
        lines.append(f"independent velocities: {', '.join(equations.chart)}")
    if model.rows:
        lines.append(f"constraints: {', '.join(model.rows)}")
    if not layout.has_dense_solve:
        lines += [
            "",
            "The dense solve, which decides the rank of dependent constraints, was left"
            " out because of its size.",
        ]
    if task.threshold is not None:
        lines += [
            "",
            "The independent velocities are chosen for good. A run ends with the status DEGENERATE"
            f" where they cease to determine the others well (quality below {task.threshold:g});"
            " the form `lagrange` has no such place.",
        ]
    switching = [f"{switch.node} in {switch.place}" for switch in model_switches(model.task.kernel)]
    if switching:
        lines += [
            "",
            "The equations switch:"
            f" {'; '.join(switching[:3])}{'; ...' if len(switching) > 3 else ''}.",
            "A run of this code does not stop at switches, as one of dalembert does: keep the steps"
            " between them.",
        ]
    texts = [textwrap.wrap(c_comment(line), 96, subsequent_indent="    ") for line in lines]
    wrapped = [part for text in texts for part in text or [""]]
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in wrapped), " */"])


def _source_text(model: CModel, layout: CLayout, head: str) -> str:
    names = ",\n".join(f"    {name} = {k}" for k, name in enumerate(layout.numbers, start=1))
    entries: list[Callable[..., Any]] = [evaluate, observe_state, begin, follow]
    entries += [project] if model.task.kernel.is_constrained else []
    parts = [
        f'{head}\n\n#include "{model.name}.h"\n\n#include <math.h>\n#include <string.h>',
        "/* -- the model: straight-line programs, values in the order of the header -- */",
        *(program.text for program in layout.programs),
        f"enum {{\n{names}\n}};",
        _call_text(layout),
        "/* -- the solve, the projection and the integrator, the same for all models -- */",
        c_functions(specialised(entries, dict(DOP853_STEP.bound)), layout.context),
        "/* -- what the header declares -- */",
        public_functions(model, layout),
        main_text(model),
    ]
    return "\n\n".join(parts) + "\n"


def _call_text(layout: CLayout) -> str:
    """The function that calls a program by its number."""
    lines = []
    for name, function in layout.numbers.items():
        call = f"{function}(t, y, p, u, w, out, context->scratch);"
        lines += [f"    case {name}:", f"        {call}", "        break;"]
    cases = "\n".join(lines)
    return f"""\
static void call_program({layout.context.type} *context, long which, const double *t,
                         const double *y, const double *p, const double *u, const double *w,
                         double *out)
{{
    switch (which) {{
{cases}
    default:
        break;
    }}
}}"""
