"""The program in an exported file: it repeats the run of the export, and prints it as CSV."""

from __future__ import annotations

import math

from ..codegen.native.c_text import c_number
from .c_model import CModel

__all__ = ["main_text"]


def main_text(model: CModel) -> str:
    """C text of ``main`` under ``#ifdef <NAME>_MAIN``: t, state and energy in each row."""
    guard, task = f"{model.head}_MAIN", model.task
    given = {"parameters": task.parameters, "start": task.start, "span": task.span}
    missing = [what for what, value in given.items() if value is None]
    if missing:
        fault = f"exported without {', '.join(missing)}: pass them to to_c for a program"
        return f'#ifdef {guard}\n#error "{fault}"\n#endif'
    assert task.span is not None and task.step is not None
    first, last = task.span
    rows = 1 if first == last else math.ceil(abs(last - first) / task.step * (1 - 1e-12)) + 1
    step = math.copysign(task.step, last - first)
    energy = model.seen("energy")
    reading = '        printf(",%.17g", seen.energy);\n' if energy is not None else ""
    return f"""\
#ifdef {guard}

#include <stdio.h>
#include <stdlib.h>

/* Repeats the run that the model was exported with: t, the state and the energy in each row. */
int main(void)
{{
    const long rows = {rows}L;
    const double t0 = {c_number(first)}, t1 = {c_number(last)}, step = {c_number(step)};
    {model.name}_work *work = malloc(sizeof *work);
    {model.name}_seen seen;
    double *times = malloc((size_t)rows * sizeof *times);
    double *states = malloc((size_t)rows * {model.head}_N_STATE * sizeof *states);
    double y[{model.head}_N_STATE];
    long i, k, filled = 0;
    int status = 0;
    if (work == 0 || times == 0 || states == 0) {{
        fprintf(stderr, "There is not enough memory.\\n");
        free(work);
        free(times);
        free(states);
        return 1;
    }}
    for (k = 0; k < rows; k += 1) {{
        times[k] = k + 1 < rows || k == 0 ? t0 + step * (double)k : t1;
    }}
    {model.name}_open(work, 0);
    {model.name}_default_start(y);
    status = {model.name}_sample(work, t0, y, t1, rows, times, states, &filled);
    printf("t");
    for (i = 0; i < {model.head}_N_STATE; i += 1) {{
        printf(",%s", {model.name}_state_name((int)i));
    }}
    printf("{",energy" if energy is not None else ""}\\n");
    for (k = 0; k < filled; k += 1) {{
        printf("%.17g", times[k]);
        for (i = 0; i < {model.head}_N_STATE; i += 1) {{
            printf(",%.17g", states[k * {model.head}_N_STATE + i]);
        }}
        {model.name}_observe(work, times[k], states + k * {model.head}_N_STATE, &seen);
{reading}        printf("\\n");
    }}
    if (status != 0) {{
        fprintf(stderr, "t = %.9g: %s\\n", work->clock.t, {model.name}_message(status));
    }}
    free(work);
    free(times);
    free(states);
    return status == 0 ? 0 : 1;
}}

#endif /* {guard} */"""
