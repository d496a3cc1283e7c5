"""Symbols, numbers and undefined functions that an expression consists of, each found once."""

from __future__ import annotations

from functools import lru_cache

import sympy
from sympy.core.function import AppliedUndef

from .quantities import distinct_nodes

__all__ = ["leaves"]


@lru_cache(maxsize=64)
def leaves(expression: sympy.Basic) -> frozenset[sympy.Basic]:
    """The atoms of an expression, and its applied undefined functions.

    Sums that share terms, as those of a chain of bodies do, are walked once; SymPy's `atoms` would
    walk each again.

    >>> x = sympy.Symbol("x")
    >>> sorted(leaves(2 * x + sympy.sin(x) + sympy.Function("f")(x)), key=str)
    [2, f(x), x]
    """
    return frozenset(
        node
        for node in distinct_nodes(expression)
        if not node.args or isinstance(node, AppliedUndef)
    )
