"""Arithmetic of scalars of the graph, for code that writes thousands of operations.

CasADi's operators try every kind of matrix before they find the right one; naming the operation is
about five times as fast and gives the same node, simplifications included.
"""

from __future__ import annotations

import casadi as ca

__all__ = ["minus", "over", "plus", "times"]

_binary = ca.SX.binary
_ADD, _SUB, _MUL, _DIV = ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV


def plus(left: ca.SX, right: ca.SX) -> ca.SX:
    """left + right."""
    return _binary(_ADD, left, right)


def minus(left: ca.SX, right: ca.SX) -> ca.SX:
    """left - right."""
    return _binary(_SUB, left, right)


def times(left: ca.SX, right: ca.SX) -> ca.SX:
    """left * right."""
    return _binary(_MUL, left, right)


def over(left: ca.SX, right: ca.SX) -> ca.SX:
    """left / right."""
    return _binary(_DIV, left, right)
