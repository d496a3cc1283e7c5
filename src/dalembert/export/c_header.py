"""The header of an exported model: names, structures, and what can be called."""

from __future__ import annotations

from collections.abc import Iterable

from ..codegen.backends.c_programs import c_comment
from .c_layout import CLayout
from .c_model import CModel
from .run_in_c import STATUSES

__all__ = ["header_text"]

_FUNCTIONS = """\
/* The default parameters: those that the model was exported with. */
void {name}_default_parameters({name}_parameters *parameters);

/* The default start, {head}_N_STATE numbers that obey the constraints; not numbers where the model
   was exported without one. */
void {name}_default_start(double *y);

/* Make a workspace ready: it is cleared, takes the parameters (the default ones where 0 is passed)
   and default tolerances. */
void {name}_open({name}_work *work, const {name}_parameters *parameters);

/* Other parameters, or other inputs ({head}_N_INPUTS numbers, held until they are set again), for
   what follows. */
void {name}_set_parameters({name}_work *work, const {name}_parameters *parameters);
void {name}_set_inputs({name}_work *work, const double *u);

/* Tolerances of the motion; every step is held to a fiftieth of them. */
void {name}_set_tolerances({name}_work *work, double rtol, double atol);

/* rates <- the time derivative of the state. */
int {name}_rates({name}_work *work, double t, const double *y, double *rates);

/* Accelerations, energy, reactions and residuals at a state; not numbers where the unknowns are not
   determined. */
int {name}_observe({name}_work *work, double t, const double *y, {name}_seen *seen);

/* Bring a state to the constraints of positions and velocities, by the smallest way in the kinetic
   metric. */
int {name}_project({name}_work *work, double t, double *y);

/* Follow the motion from (t0, y) to t1, in either direction; y becomes the state at t1, or the last
   one that was reached, and *reached its time (reached may be 0). Steps have the size that the run
   before ended with, where there was one. */
int {name}_run({name}_work *work, double t0, double *y, double t1, double *reached);

/* The same, and the states at `count` times between t0 and t1 in the direction of the motion, row
   after row. *filled is how many of them were reached. The times are only read. */
int {name}_sample({name}_work *work, double t0, double *y, double t1,
{indent}long count, double *times, double *states, long *filled);

/* A sentence about a status. */
const char *{name}_message(int status);

/* The name of a symbol of the state, of a parameter, of an input. */
const char *{name}_state_name(int k);
const char *{name}_parameter_name(int k);
const char *{name}_input_name(int k);
"""


def header_text(model: CModel, layout: CLayout, head: str) -> str:
    """The text of the header."""
    guard, name = f"{model.head}_H", model.name
    state, inputs = f"{model.head}_N_STATE", f"{model.head}_N_INPUTS"
    parts = [
        f"{head}\n\n#ifndef {guard}\n#define {guard}",
        '#ifdef __cplusplus\nextern "C" {\n#endif',
        _sizes(model),
        _enumeration("The state: places in y.", f"{model.head}_", model.state, state),
        _enumeration("Inputs: places in u.", f"{model.head}_INPUT_", model.inputs, inputs),
        _statuses(model),
        _parameters(model),
        _seen(model),
        _work(model, layout),
        _FUNCTIONS.format(name=name, head=model.head, indent=" " * (len(name) + 12)).rstrip(),
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */",
    ]
    return "\n\n".join(parts) + "\n"


def _enum(lines: Iterable[str]) -> str:
    return "\n".join(["enum {", ",\n".join(f"    {line}" for line in lines), "};"])


def _sizes(model: CModel) -> str:
    kernel, head = model.task.kernel, model.head
    sizes = {
        "N_PARAMETERS": len(kernel.parameters),
        "N_UNKNOWNS": kernel.n,
        "N_ROWS": kernel.m,
        "N_POSITION_CONSTRAINTS": kernel.n_positions,
        "N_VELOCITY_CONSTRAINTS": kernel.n_velocities,
    }
    what = (
        "Sizes: parameters, unknowns of the solve, its rows, constraints that the projection knows."
    )
    return f"/* {what} */\n" + _enum(f"{head}_{name} = {value}" for name, value in sizes.items())


def _enumeration(what: str, prefix: str, pairs: Iterable[tuple[str, str]], last: str) -> str:
    names = [f"{prefix}{word}" for word, _ in pairs]
    return f"/* {what} */\n" + _enum([*names, last] if names else [f"{last} = 0"])


def _statuses(model: CModel) -> str:
    """What functions return."""
    lines = []
    for word, (number, sentence) in STATUSES.items():
        comma = "," if word != list(STATUSES)[-1] else ""
        lines.append(f"    {model.head}_{word} = {number}{comma} /* {sentence} */")
    what = "/* What functions return; from 2 on, their result is not to be used. */"
    return "\n".join([what, "enum {", *lines, "};"])


def _parameters(model: CModel) -> str:
    notes = {word: f" /* {c_comment(name)} */" for word, name in model.parameters if word != name}
    fields = [f"    double {word};{notes.get(word, '')}" for word, _ in model.parameters]
    fields = fields or ["    double none; /* there are no parameters */"]
    return "\n".join(["typedef struct {", *fields, f"}} {model.name}_parameters;"])


def _seen(model: CModel) -> str:
    """The structure of observed quantities; entries of arrays are explained beside them."""
    lines = []
    for quantity in model.observed:
        array = f"[{quantity.size}]" if quantity.size > 1 or quantity.entries else ""
        entries = ", ".join(quantity.entries[:12]) + (", ..." if len(quantity.entries) > 12 else "")
        note = f"{quantity.name}{': ' + entries if entries else ''}"
        lines.append(f"    double {quantity.field}{array}; /* {c_comment(note)} */")
    lines = lines or ["    double none; /* nothing is observed */"]
    what = (
        "/* What is observed at a state. A reaction is the generalised force of a constraint,\n"
        "   +A^T mu on the force side. */"
    )
    return "\n".join([what, "typedef struct {", *lines, f"}} {model.name}_seen;"])


def _work(model: CModel, layout: CLayout) -> str:
    """The workspace; callers need not look inside."""
    notes = [(declared, f" /* {what} */" if what else "") for declared, what in layout.fields]
    lines = [f"    {declared};{note}" for declared, note in notes]
    what = (
        "/* A workspace, owned by the caller: one for each thread. Nothing is kept elsewhere;\n"
        "   a copy of it is another one. */"
    )
    return "\n".join([what, "typedef struct {", *lines, f"}} {layout.context.type};"])
