"""The equations of motion as a Python module for JAX, which can trace it.

It holds the same programs that run natively here. Where straight-line code is not healthy it turns
to a least-squares solve of the whole problem at once; rows that contradict each other and states
that do not determine their rates give NaN, because traced code cannot raise.
"""

from __future__ import annotations

import json

from ..codegen.passes.solve_limits import HEALTHY
from ..codegen.program import INPUTS, Program
from ..codegen.program_text import Dialect, program_text, programs_of
from ..runtime.gauss.factorisations import RANK_TOLERANCE
from ..runtime.gauss.solve_status import CONTRADICTION_TOLERANCE
from ..runtime.kernel import Kernel

__all__ = ["jax_source"]

_NAMES = {
    "pow": "power", "constpow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip


def jax_source(kernel: Kernel) -> str:
    """Text of a Python module with ``rates(t, y, p, u=())`` in `jax.numpy`, for doubles.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> spring = da.System(coordinates=[x], kinetic=x.dot**2 / 2, potential=x**2 / 2)
    >>> kernel = da.derive(spring).compile()
    >>> "def rates(t, y, p, u=()):" in jax_source(kernel)
    True
    """
    programs = [_program_text(program) for program in programs_of(kernel)]
    parts = [_head(kernel), *programs, _solve(kernel), _entry(kernel)]
    return "\n\n\n".join(parts)


def _head(kernel: Kernel) -> str:
    equations = kernel.equations
    title = f"{equations.system.name}: equations of motion, form `{equations.form}`"
    title = f"{title} ({equations.citation})."
    plain = "".join(c if c.isprintable() and c not in '\\"' else " " for c in title)
    orders = {"STATE": equations.state, "PARAMETERS": kernel.parameters}
    orders["INPUTS"] = kernel.free_inputs
    tables = [
        f"{name} = {json.dumps([s.name for s in symbols])}" for name, symbols in orders.items()
    ]
    return "\n".join(
        [
            f'"""{plain}',
            "",
            "rates(t, y, p, u) is the time derivative of the state y, for parameters p and inputs"
            " u, in the orders below.",
            'Switch doubles on first: jax.config.update("jax_enable_x64", True).',
            '"""',
            "",
            "import jax",
            "import jax.numpy as jnp",
            "",
            *tables,
        ]
    )


def _program_text(program: Program) -> str:
    """One program as a Python function."""
    text = program_text(program, _JAX)
    lines = [f"    {name} = {expression}" for name, expression in text.steps]
    outputs = [f"        {value}," for value in text.outputs]
    head = f"def _{program.name}({', '.join(INPUTS)}):"
    end = ["    return jnp.array([", *outputs, "    ], dtype=float)"]
    return "\n".join([head, *lines, *end])


def _number(value: float) -> str:
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text if text[0].isdigit() else f"jnp.{text}"


_JAX = Dialect(
    entry=lambda name, place: "t" if name == "t" else f"{name}[{place}]",
    number=_number,
    choice=lambda test, first, second: f"jnp.where({test}, {first}, {second})",
    both="&",
    either="|",
    call=lambda operation, arguments: (
        f"jnp.{_NAMES.get(operation, operation)}({', '.join(arguments)})"
    ),
)


def _solve(kernel: Kernel) -> str:
    """G z = f + A^T mu, A z = b by scaled least squares; a residual means that none solves it."""
    n, m = kernel.n, kernel.m
    undetermined = f" & (singular[{n} - 1 + rank_of_rows] > tolerance)"
    if kernel.equations.has_gauge:
        undetermined = ""
    return f"""\
def _solve(t, y, p, u):
    blocks = _blocks(t, y, p, u, ())
    metric = blocks[:{n * n}].reshape({n}, {n})
    force = blocks[{n * n}:{n * n + n}]
    rows = blocks[{n * n + n}:{n * n + n + m * n}].reshape({m}, {n})
    right = blocks[{n * n + n + m * n}:]
    lengths = jnp.sqrt(jnp.sum(rows**2, axis=1))
    lengths = jnp.where(lengths > 0.0, lengths, 1.0)
    rows, right = rows / lengths[:, None], right / lengths
    size = jnp.max(jnp.abs(metric))
    matrix = jnp.vstack([
        jnp.hstack([metric / size, -rows.T]),
        jnp.hstack([rows, jnp.zeros(({m}, {m}))]),
    ])
    load = jnp.concatenate([force / size, right])
    solution, _, _, singular = jnp.linalg.lstsq(matrix, load, rcond={RANK_TOLERANCE!r})
    tolerance = {RANK_TOLERANCE!r} * singular[0]
    rank_of_rows = {_rank_text(m)}
    error = jnp.abs(matrix @ solution - load)
    scale = jnp.abs(matrix) @ jnp.abs(solution) + jnp.abs(load)
    holds = jnp.all(error <= {CONTRADICTION_TOLERANCE!r} * scale + 1e-12){undetermined}
    w = jnp.concatenate([solution[:{n}], solution[{n}:] * size / lengths])
    return jnp.where(holds, _rates(t, y, p, u, w), jnp.nan)"""


def _rank_text(m: int) -> str:
    return f"jnp.linalg.matrix_rank(rows, rtol={RANK_TOLERANCE!r})" if m else "0"


def _entry(kernel: Kernel) -> str:
    ns = kernel.n_state
    head = '''\
def rates(t, y, p, u=()):
    """The time derivative of the state."""
    y, p = jnp.asarray(y), jnp.asarray(p)
'''
    if kernel.solved is None:
        return head + "    return _solve(t, y, p, u)\n"
    fast = f"""\
    result = _fast(t, y, p, u, ())
    healthy = (result[{ns}] > {HEALTHY!r}) & jnp.all(jnp.isfinite(result[:{ns}]))
    return jax.lax.cond(healthy, lambda: result[:{ns}], lambda: _solve(t, y, p, u))
"""
    return head + fast
