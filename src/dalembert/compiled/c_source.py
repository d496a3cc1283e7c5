"""The equations of motion as one C99 file that needs nothing but math.h.

It holds the same programs that run natively here, and the same constrained solve: straight-line code where that is
healthy, the solve with its rank decision where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .c_language import c_functions, c_number
from .gauss_problem import gauss_solve, order_size, work_size
from .native import is_finite
from .program import INPUTS, Program
from .program_text import Dialect, program_text, programs_of
from .unrolled import HEALTHY

__all__ = ["c_source"]

_SIGNATURE = ", ".join(f"const double *{name}" for name in INPUTS) + ", double *out"


def c_source(kernel: Any) -> str:
    """C99 text with one function ``int dalembert_rates(double t, const double *y, const double *p, const double *u, ...)``.

    It writes the time derivative of the state y, for parameters p and free inputs u, into its last argument ``rates``
    and returns 0; 1 where constraints depend on each other (the rates are right); 2 where they contradict each other; 3
    where the rates are not determined.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> kernel = da.derive(da.System(coordinates=[x], kinetic=x.dot**2/2, potential=x**2/2)).compile()
    >>> "int dalembert_rates(double t, const double *y" in c_source(kernel)
    True
    """
    return "\n\n".join(
        [
            _head(kernel),
            "#include <math.h>",
            c_functions([gauss_solve, is_finite]),
            *(_program_text(program) for program in programs_of(kernel)),
            _entry(kernel),
            "",
        ]
    )


def _comment(text: str) -> str:
    """Text that cannot end a comment, nor continue a line."""
    return "".join(c if c.isprintable() and c != "\\" else " " for c in text).replace("*/", "* /").replace("/*", "/ *")


def _head(kernel: Any) -> str:
    equations = kernel.equations
    lines = [f"{equations.system.name}: equations of motion, form `{equations.form}` ({equations.citation})", ""]
    for letter, symbols, what in (
        ("y", equations.state, "state"),
        ("p", kernel.parameters, "parameters"),
        ("u", kernel.free_inputs, "inputs"),
    ):
        if symbols:
            lines.append(f"{what}:")
            lines += [f"    {letter}[{place}] = {symbol.name}" for place, symbol in enumerate(symbols)]
    if not kernel.parameters:
        lines.append("There are no parameters; p may be 0.")
    lines += ["", "rates[i] is the time derivative of y[i]. Returned: 0; 1 constraints depend on each other (the rates are"]
    lines += ["right); 2 constraints contradict each other; 3 the rates are not determined."]
    return "\n".join(["/*", *(f" * {_comment(line)}".rstrip() for line in lines), " */"])


def _program_text(program: Program) -> str:
    """One program as a C function."""
    text = program_text(program, _C)
    lines = [f"    const double {name} = {expression};" for name, expression in text.steps]
    lines += [f"    out[{place}] = {value};" for place, value in enumerate(text.outputs)]
    unused = "".join(f"(void){name}; " for name in INPUTS).rstrip()
    return "\n".join([f"static void program_{program.name}({_SIGNATURE})", "{", f"    {unused}", *lines, "}"])


def _number(value: float) -> str:
    text = c_number(value)
    return f"({text})" if text.startswith("-") else text


def _call(operation: str, arguments: Sequence[str]) -> str:
    if operation == "sign":
        (first,) = arguments
        return f"({first} > 0.0) ? 1.0 : ({first} < 0.0) ? -1.0 : {first}"
    name = "pow" if operation == "constpow" else operation  # sin, atan2, fmin and the like have these names in C
    return f"{name}({', '.join(arguments)})"


_C = Dialect(
    entry=lambda name, place: f"{name}[{place}]",
    number=_number,
    choice=lambda test, first, second: f"({test}) ? {first} : {second}",
    both="&&",
    either="||",
    call=_call,
)


def _entry(kernel: Any) -> str:
    n, m, ns = kernel.n, kernel.m, kernel.n_state
    definite, gauge = int(kernel.equations.is_definite), int(kernel.equations.has_gauge)
    end = n * n + n + m * n + m
    fast = f"""\
    double fast[{ns + 1}];
    program_fast(&t, y, p, u, w, fast);
    if (fast[{ns}] > {c_number(HEALTHY)} && is_finite({ns}, fast)) {{
        for (i = 0; i < {ns}; i += 1) {{
            rates[i] = fast[i];
        }}
        return 0;
    }}
"""
    return f"""\
int dalembert_rates(double t, const double *y, const double *p, const double *u, double *rates)
{{
    double w[{n + m + 1}] = {{0.0}}, work[{end + work_size(n, m)}], info[4];
    long order[{order_size(n, m)}];
    long i, status;
{fast if kernel.solved is not None else ""}\
    program_blocks(&t, y, p, u, w, work);
    status = 3;
    if (is_finite({end}, work)) {{
        status = gauss_solve({n}, {m}, work, work + {n * n}, work + {n * n + n}, work + {end - m}, w, w + {n},
                             {definite}, {gauge}, work + {end}, order, info);
    }}
    if (status == 3) {{
        for (i = 0; i < {ns}; i += 1) {{
            rates[i] = NAN;
        }}
        return 3;
    }}
    program_rates(&t, y, p, u, w, rates);
    return is_finite({ns}, rates) ? (int)status : 3;
}}"""
