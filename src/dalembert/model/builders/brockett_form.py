r"""Brockett's canonical form on so(n) and its stabilisation (Bloch, Supplement, section 6.3).

    x_dot = u,       Y_dot = x u^T - u x^T,       x in R^n, Y in so(n)

Y collects the areas that the path of x sweeps in the coordinate planes. The laws are those of
(6.3.53),

    u = -alpha x + beta Y x + gamma Y^T Y x,

under which Y_dot = -beta (x x^T Y + Y x x^T) + gamma (x x^T Y^T Y - Y^T Y x x^T); the last term of
(6.3.55) has the other sign in print. With beta = 0 the spectrum of Y stays.
"""

from __future__ import annotations

from typing import Any

import sympy

from ...errors import ModelError
from ...typing import Expression
from ..flow_system import Flow
from ..symbols import Coordinate, Input, as_expression
from .bracket_flows import entry_name, skew_symbols

__all__ = ["brockett_form", "brockett_law"]


def brockett_form(n: int, name: str = "") -> Flow:
    """Brockett's form on so(n): symbols x_1, ..., x_n, Y_12, ..., inputs u_1, ..., u_n, matrix Y.

    Examples
    --------
    >>> flow = brockett_form(2)
    >>> flow.rates
    {x_1: u_1, x_2: u_2, Y_12: -u_1*x_2 + u_2*x_1}
    """
    if not isinstance(n, int) or not 2 <= n <= 20:
        raise ModelError(
            "Brockett's form needs 2 to 20 dimensions", seen=n, remedy="give an integer n"
        )
    x = [Coordinate(f"x_{k}") for k in range(1, n + 1)]
    u = [Input(f"u_{k}") for k in range(1, n + 1)]
    symbols, Y = skew_symbols("Y", n)
    places = {entry_name("Y", i, j, n): (i, j) for i in range(n) for j in range(i + 1, n)}
    rates: dict[Any, Any] = dict(zip(x, u, strict=True))
    for symbol in symbols:
        i, j = places[symbol.name]
        rates[symbol] = x[i] * u[j] - u[i] * x[j]
    return Flow(rates, inputs=u, matrices={"Y": Y}, name=name or f"Brockett's form on so({n})")


def brockett_law(
    flow: Flow, alpha: Expression = 0, beta: Expression = 0, gamma: Expression = 0
) -> dict[Input, sympy.Expr]:
    """u = -alpha x + beta Y x + gamma Y^T Y x, by input; impose it with ``flow.driven(...)``.

    Parameters
    ----------
    flow : Flow
        Of `brockett_form`.
    alpha, beta, gamma : expression
        Numbers or parameters.

    Examples
    --------
    >>> flow = brockett_form(2)
    >>> brockett_law(flow, alpha=1, beta=2)
    {u_1: 2*Y_12*x_2 - x_1, u_2: -2*Y_12*x_1 - x_2}
    >>> len(flow.driven(brockett_law(flow, alpha=1)).inputs)
    2
    """
    Y = sympy.Matrix(flow.matrices["Y"])
    x = sympy.Matrix(flow.coordinates[: Y.rows])
    moved = Y * x
    a, b, c = (as_expression(value) for value in (alpha, beta, gamma))
    law = -a * x + b * moved
    if c != 0:
        law = law + c * (Y.T * moved)
    return dict(zip(flow.inputs, law, strict=True))
