r"""Geodesics of symmetric spaces as optimal motions of matrices.

A matrix Q (p x q) is moved from both sides, Q_dot = U Q - Q V, at the cost 1/4 (<U, J_U U> + <V,
J_V V>) with the real part of <A, B> = tr(A* B) / 2. The optimal motions are (Bloch and others,
Supplement, 7.7.24-25)

    Q_dot = U Q - Q V,     P_dot = U P - P V,     U = J_U^-1 (P Q* - Q P*),     V = J_V^-1 (P* Q -
    Q* P).

With J = 1 both U and V are constant, Q = exp(U t) Q(0) exp(-V t), and the singular values of Q
stay. For q = 1 and real Q this is the sphere: q_dot = p, p_dot = -|p|^2 q where |q| = 1 and <q, p>
= 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import sympy

from ...errors import ModelError
from ...typing import Expression
from ..constraints import holonomic
from ..flow_system import Action, Flow
from ..symbols import Coordinate, as_expression
from .bracket_flows import entry_name

__all__ = ["grassmannian_flow", "sphere_flow"]

ZERO = sympy.Integer(0)
LARGEST = 30


def grassmannian_flow(
    p: int,
    q: int,
    *,
    complex: bool = False,
    left_inertia: Sequence[Expression] | None = None,
    right_inertia: Sequence[Expression] | None = None,
    name: str = "",
) -> Flow:
    """Optimal motions of a p x q matrix that two groups move: geodesics of a Grassmannian.

    Parameters
    ----------
    complex : bool
        Entries with real and imaginary parts, moved by U(p) and U(q). The matrices are then written
        as real ones of twice the size, ((A, -B), (B, A)) for A + i B.
    left_inertia, right_inertia : sequences of p and of q expressions
        Inertias like those of a rigid body, J(U)_ij = (l_i + l_j) U_ij / 2; J = 1 by default.

    Examples
    --------
    >>> flow = grassmannian_flow(3, 2)
    >>> [name for name in flow.integrals][:3]
    ['energy', 'tr_QQ', 'tr_PP']
    """
    for size, what in ((p, "rows"), (q, "columns")):
        if not isinstance(size, int) or not 1 <= size <= LARGEST:
            raise ModelError(f"The matrix needs 1 to {LARGEST} {what}", seen=size)
    real, imaginary = ("", "i") if complex else ("", None)
    size = max(p, q)
    symbols: list[Coordinate] = []

    def entries(name: str) -> sympy.Matrix:
        """The matrix of symbols, real or complex in its real form."""
        parts = []
        for part in (real, imaginary):
            if part is None:
                continue
            found = [
                Coordinate(entry_name(name + part, i, j, size)) for i in range(p) for j in range(q)
            ]
            symbols.extend(found)
            parts.append(sympy.Matrix(p, q, found))
        return _real_form(parts)

    place, costate = entries("Q"), entries("P")
    width = 2 if complex else 1
    left = _divided(costate * place.T - place * costate.T, left_inertia, p, width, "left")
    right = _divided(costate.T * place - place.T * costate, right_inertia, q, width, "right")
    rates = [
        _top_symbols(left * matrix - matrix * right, p, q, complex) for matrix in (place, costate)
    ]
    moment_left, moment_right = (
        costate * place.T - place * costate.T,
        costate.T * place - place.T * costate,
    )
    energy = (_trace(left.T, moment_left) + _trace(right.T, moment_right)) / (8 * width)
    integrals = {
        "energy": energy,
        "tr_QQ": _trace(place.T, place) / width,
        "tr_PP": _trace(costate.T, costate) / width,
        "tr_QP": _trace(place.T, costate) / width,
        "tr_QQQQ": _trace(place.T * place, place.T * place) / width,
    }
    sides = sympy.ImmutableMatrix(left), sympy.ImmutableMatrix(right)
    return Flow(
        dict(zip(symbols, [rate for block in rates for rate in block], strict=True)),
        integrals={
            key: sympy.expand(value) if p * q <= 6 else value for key, value in integrals.items()
        },
        matrices={"Q": place, "P": costate},
        actions=[Action("Q", *sides), Action("P", *sides)],
        name=name or f"{'complex' if complex else 'real'} {p} x {q} matrices moved from both sides",
    )


def _real_form(parts: Sequence[sympy.Matrix]) -> sympy.Matrix:
    """A + i B as ((A, -B), (B, A))."""
    if len(parts) == 1:
        return parts[0]
    a, b = parts
    return sympy.Matrix(sympy.BlockMatrix([[a, -b], [b, a]]).as_explicit())


def _top_symbols(rates: sympy.Matrix, p: int, q: int, complex: bool) -> list[sympy.Expr]:
    """The rates of the symbols, in their order: real parts, then imaginary ones."""
    found = [rates[i, j] for i in range(p) for j in range(q)]
    return found + ([rates[p + i, j] for i in range(p) for j in range(q)] if complex else [])


def _divided(
    moment: sympy.Matrix, inertia: Sequence[Any] | None, size: int, width: int, side: str
) -> sympy.Matrix:
    """J^-1 of a moment."""
    if inertia is None:
        return moment
    numbers = [as_expression(value) for value in inertia]
    if len(numbers) != size:
        raise ModelError(f"The {side} inertia needs {size} numbers", seen=len(numbers))
    numbers = numbers * width
    return sympy.Matrix(*moment.shape, lambda i, j: 2 * moment[i, j] / (numbers[i] + numbers[j]))


def _trace(a: sympy.Matrix, b: sympy.Matrix) -> sympy.Expr:
    """tr(a b) without the other entries of the product."""
    return sum((a[i, k] * b[k, i] for i in range(a.shape[0]) for k in range(a.shape[1])), ZERO)


def sphere_flow(n: int, name: str = "") -> Flow:
    """Geodesics of the sphere of unit vectors with n components: q_dot = p, p_dot = -|p|^2 q.

    They are written as q_dot = w q, p_dot = w p with w = p q^T - q p^T, which is the same where |q|
    = 1 and <q, p> = 0, and turns vectors everywhere.

    Examples
    --------
    >>> import dalembert as da
    >>> motion = da.simulate(sphere_flow(3), {"q_1": 1.0, "p_2": 1.0}, (0, 3.141592653589793))
    >>> bool(abs(motion["q"][-1].ravel() - [-1, 0, 0]).max() < 1e-9)
    True
    """
    if not isinstance(n, int) or not 2 <= n <= LARGEST**2:
        raise ModelError("A sphere needs vectors of at least two components", seen=n)
    q = [Coordinate(f"q_{k + 1}") for k in range(n)]
    p = [Coordinate(f"p_{k + 1}") for k in range(n)]
    place, momentum = sympy.Matrix(q), sympy.Matrix(p)
    turn = momentum * place.T - place * momentum.T
    square, length, across = (
        sum((a * b for a, b in zip(u, v, strict=True)), ZERO) for u, v in ((p, p), (q, q), (q, p))
    )
    rates = {a: length * b - across * a for a, b in zip(q, p, strict=True)}
    rates |= {b: across * b - square * a for a, b in zip(q, p, strict=True)}
    moments = {
        f"l_{i + 1}_{j + 1}": q[i] * p[j] - q[j] * p[i]
        for i, j in combinations(range(min(n, 4)), 2)
    }
    side = sympy.ImmutableMatrix(turn)
    return Flow(
        rates,
        integrals={"energy": (square * length - across**2) / 2} | moments,
        constraints=[holonomic(length - 1, name="length"), holonomic(across, name="tangent")],
        matrices={"q": place, "p": momentum},
        actions=[Action("q", side), Action("p", side)],
        name=name or f"geodesics of the sphere in {n} dimensions",
    )
