"""The weights of a quadratic cost, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import ModelError
from ..model.values import numbers_by_name
from ..typing import Array, Values

__all__ = ["quadratic_weights"]


def quadratic_weights(
    symbols: Sequence[str], inputs: Sequence[str], weights: Values | None, effort: float | Values
) -> tuple[Array, Array]:
    """The diagonals (n,) and (m,) of Q and R; what is left out has weight one.

    >>> Q, R = quadratic_weights(["x", "x_dot"], ["u"], {"x": 3.0}, 0.5)
    >>> Q.tolist(), R.tolist()
    ([3.0, 1.0], [0.5])
    """
    by_symbol = numbers_by_name(weights)
    by_input = numbers_by_name(
        effort if isinstance(effort, Mapping) else dict.fromkeys(inputs, effort)
    )
    for names, known in ((by_symbol, symbols), (by_input, inputs)):
        for name in names:
            if name not in known:
                remedy = "weigh symbols of the state, and inputs"
                raise ModelError(f"There is no `{name}` here", ", ".join(known)[:120], remedy)
    negative = [name for name, value in by_symbol.items() if not value >= 0]
    negative += [name for name, value in by_input.items() if not value > 0]
    if negative:
        seen = f"{negative[0]}: {(by_symbol | by_input)[negative[0]]:g}"
        what = "A weight is at least 0, and an effort positive"
        raise ModelError(what, seen, "weigh by other numbers")
    state = np.array([by_symbol.get(name, 1.0) for name in symbols])
    return state, np.array([by_input.get(name, 1.0) for name in inputs])
