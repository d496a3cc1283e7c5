"""The functions that the header declares: they copy arguments and call what was translated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..codegen.native.c_text import c_number
from ..integrate.run_kinds import EXACT_TIMES
from ..integrate.tolerances import LEAST_RTOL, LOCAL_SHARE
from ..runtime.gauss.solve_status import SINGULAR
from ..runtime.projection import MISSING, MOST_PROJECTIONS
from .c_layout import CLayout
from .c_model import CModel
from .run_in_c import LEFT_CONSTRAINTS, LEFT_OUT, STATUSES

__all__ = ["public_functions"]

#: The attempts that a call of the run may take.
MOST_STEPS = 10_000_000


def public_functions(model: CModel, layout: CLayout) -> str:
    """C text of everything that the header declares."""
    parts = (_defaults, _settings, _evaluations, _run, _names)
    return "\n\n".join(part(model) for part in parts)


def _values(numbers: Iterable[float] | None, places: Sequence[str]) -> list[str]:
    values = ["NAN"] * len(places)
    if numbers is not None:
        values = [c_number(float(number)) for number in numbers]
    return [f"    {place} = {value};" for place, value in zip(places, values, strict=True)]


def _defaults(model: CModel) -> str:
    name, task = model.name, model.task
    fields = [f"parameters->{word}" for word, _ in model.parameters]
    parameters = _values(task.parameters, fields) if fields else ["    parameters->none = 0.0;"]
    start = _values(task.start, [f"y[{model.head}_{word}]" for word, _ in model.state])
    title = f"void {name}_default_parameters({name}_parameters *parameters)"
    lines = [title, "{", *parameters, "}", ""]
    lines += [f"void {name}_default_start(double *y)", "{", *start, "}"]
    return "\n".join(lines)


def _settings(model: CModel) -> str:
    name, head, task = model.name, model.head, model.task
    words = [word for word, _ in model.parameters]
    taken = [f"    work->parameters[{k}] = parameters->{word};" for k, word in enumerate(words)]
    taken = taken or ["    (void)work;", "    (void)parameters;"]
    places = [f"{head}_INPUT_{word}" for word, _ in model.inputs]
    inputs = [f"    work->input_values[{k}] = u[{place}];" for k, place in enumerate(places)]
    inputs = inputs or ["    (void)work;", "    (void)u;"]
    tolerances = [f"work->atol[{k}]" for k in range(task.kernel.n_state)]
    return f"""\
void {name}_set_parameters({name}_work *work, const {name}_parameters *parameters)
{{
{chr(10).join(taken)}
}}

void {name}_set_inputs({name}_work *work, const double *u)
{{
{chr(10).join(inputs)}
}}

void {name}_set_tolerances({name}_work *work, double rtol, double atol)
{{
    const double share = {c_number(LOCAL_SHARE)} * rtol, least = {c_number(LEAST_RTOL)};
    long i;
    work->clock.rtol = share > least ? share : least;
    for (i = 0; i < {head}_N_STATE; i += 1) {{
        work->atol[i] = {c_number(LOCAL_SHARE)} * atol;
    }}
}}

void {name}_open({name}_work *work, const {name}_parameters *parameters)
{{
    {name}_parameters defaults;
    memset(work, 0, sizeof *work);
    if (parameters == 0) {{
        {name}_default_parameters(&defaults);
        parameters = &defaults;
    }}
    {name}_set_parameters(work, parameters);
    work->clock.rtol = {c_number(task.local_rtol)};
    work->clock.max_step = INFINITY;
{chr(10).join(_values(task.local_atol, tolerances))}
}}"""


def _evaluations(model: CModel) -> str:
    name, head = model.name, model.head
    copied = []
    for quantity in model.observed:
        is_array = quantity.size > 1 or quantity.entries
        target = f"{'' if is_array else '&'}seen->{quantity.field}"
        size = f"{quantity.size} * sizeof(double)"
        copied.append(f"    memcpy({target}, work->reached + {quantity.first}, {size});")
    body = f"""\
    long i;
    long status;
    const long chosen = work->active_rows[0]; /* by a run, for its own states */
    const long size = (long)(sizeof work->reached / sizeof work->reached[0]);
    memcpy(work->given, y, sizeof work->given);
    for (i = 0; i < size; i += 1) {{
        work->reached[i] = NAN;
    }}
    work->active_rows[0] = 0;
    status = observe_state(work, t, work->given, work->reached);
    work->active_rows[0] = chosen;
{chr(10).join(copied) or "    (void)seen;"}
    return (int)status;"""
    projection = f"""\
    const long status = project(work, t, y, 0, 1, {MOST_PROJECTIONS});
    if (status == {MISSING}) {{
        return {LEFT_OUT};
    }}
    return status == 0 || status == {SINGULAR} ? (int)status : {LEFT_CONSTRAINTS};"""
    if not model.task.kernel.is_constrained:
        unused = "".join(f"    (void){word};\n" for word in ("work", "t", "y"))
        projection = f"{unused}    return 0; /* nothing is constrained */"
    return f"""\
int {name}_rates({name}_work *work, double t, const double *y, double *rates)
{{
    long i;
    long status;
    const long chosen = work->active_rows[0]; /* by a run, for its own states */
    memcpy(work->given, y, sizeof work->given);
    work->active_rows[0] = 0;
    status = evaluate(work, t, work->given, work->reached);
    work->active_rows[0] = chosen;
    for (i = 0; i < {head}_N_STATE; i += 1) {{
        rates[i] = status == {SINGULAR} || status == {MISSING} ? NAN : work->reached[i];
    }}
    return status == {MISSING} ? {LEFT_OUT} : (int)status;
}}

int {name}_observe({name}_work *work, double t, const double *y, {name}_seen *seen)
{{
{body}
}}

int {name}_project({name}_work *work, double t, double *y)
{{
{projection}
}}"""


def _run(model: CModel) -> str:
    name = model.name
    return f"""\
static int follow_from({name}_work *work, double t0, double *y, double t1)
{{
    long status;
    if (!(t1 - t0 < INFINITY && t0 - t1 < INFINITY)) {{
        return {SINGULAR};
    }}
    memcpy(work->y, y, sizeof work->y);
    status = begin(work, t0, t1);
    if (status == 0) {{
        status = follow(work, {MOST_STEPS}L);
    }}
    memcpy(y, work->y, sizeof work->y);
    return (int)status;
}}

int {name}_run({name}_work *work, double t0, double *y, double t1, double *reached)
{{
    int status;
    work->n_at = 0;
    status = follow_from(work, t0, y, t1);
    if (reached != 0) {{
        *reached = work->clock.t;
    }}
    return status;
}}

int {name}_sample({name}_work *work, double t0, double *y, double t1,
{" " * (len(name) + 12)}long count, double *times, double *states, long *filled)
{{
    int status;
    work->clock.h = 0.0;
    work->at = times;
    work->at_states = states;
    work->n_at = count;
    work->exact_at = count <= {EXACT_TIMES};
    status = follow_from(work, t0, y, t1);
    *filled = work->counts.next_at;
    work->at = 0;
    work->at_states = 0;
    work->n_at = 0;
    return status;
}}"""


def _names(model: CModel) -> str:
    lines = [f"const char *{model.name}_message(int status)", "{", "    switch (status) {"]
    for number, sentence in STATUSES.values():
        lines += [f"    case {number}:", f'        return "{sentence}";']
    lines += ["    default:", '        return "An unknown status.";', "    }", "}"]
    lists = {"state": model.state, "parameter": model.parameters, "input": model.inputs}
    functions = [
        _name_function(model, what, [name for _, name in pairs]) for what, pairs in lists.items()
    ]
    return "\n\n".join(["\n".join(lines), *functions])


def _name_function(model: CModel, what: str, names: Sequence[str]) -> str:
    title = f"const char *{model.name}_{what}_name(int k)"
    if not names:
        return f'{title}\n{{\n    (void)k;\n    return "";\n}}'
    table = ",\n".join(f'        "{c_string(name)}"' for name in names)
    return f"""\
{title}
{{
    static const char *const names[] = {{
{table}
    }};
    return k >= 0 && k < {len(names)} ? names[k] : "";
}}"""


def c_string(text: str) -> str:
    r"""Text inside a string of C: characters other than plain ones by their UTF-8 codes.

    >>> c_string('a "b" \\')
    'a \\042b\\042 \\134'
    """
    special = (c for c in set(text) if not re.match(r"[\w \-+.,:;'()\[\]=/*<>]", c, re.ASCII))
    codes = {c: "".join(f"\\{byte:03o}" for byte in c.encode()) for c in special}
    return "".join(codes.get(c, c) for c in text)
