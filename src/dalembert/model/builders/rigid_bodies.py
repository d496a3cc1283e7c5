r"""The rigid body in n dimensions as a flow of matrices, left or right, plain or symmetric.

    left        Q_dot = Q Omega,  M_dot = [M, Omega]          M_ij = (Lambda_i + Lambda_j) Omega_ij
    (Bloch 7.7.36) right       Q_dot = Omega Q,  M_dot = [Omega, M] symmetric   Q_dot = Q Omega,
    P_dot = P Omega,            M = Q^T P - P^T Q (Bloch 7.7.38) and right   Q_dot = Omega Q,  P_dot
    = Omega P,            M = P Q^T - Q P^T

The symbols are Q_11 ... Q_nn, and of the skew M those above the diagonal; from ten axes on Q_1_1
... . The inertias are parameters Lambda_1 ... Lambda_n, or numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import sympy

from ...errors import ModelError
from ...typing import Expression
from ..constraints import Constraint, holonomic
from ..flow_system import Action, Flow
from ..symbols import Coordinate, Parameter, as_expression

__all__ = ["rigid_body"]

#: Manakov's integrals up to this power are stated as expressions; those of higher powers are long.
MOST_MANAKOV = 4


def rigid_body(
    inertias: int | Sequence[Expression],
    side: Literal["left", "right"] = "left",
    *,
    symmetric: bool = False,
    attitude: bool = True,
) -> Flow:
    r"""The free rigid body on SO(n) as a `Flow` of ``"Q"`` and ``"M"``, or ``"Q"`` and ``"P"``.

    Parameters
    ----------
    inertias : int, or n numbers or expressions
        Lambda; a number n makes them the parameters Lambda_1 ... Lambda_n. Every sum of two of them
        must be positive.
    side : "left" or "right"
        Whether velocity and momentum are seen from the body or from space: the motion is invariant
        on this side.
    symmetric : bool
        Whether a second rotation P stands in the place of the momentum; its norm is then at most 2.
    attitude : bool
        Whether Q is followed; without it the flow is Euler's equation for M alone.

    Its integrals are the energy, the spatial momentum ``m_12 ...`` and Manakov's integrals tr (M +
    z Lambda^2)^k, as ``k2_z0``, ``k3_z1`` and so on up to k = 4
    (`geometry.rigid_rotations.manakov_integrals` gives all of them, from motion["M"]); Q^T Q = 1
    are its constraints.

    Examples
    --------
    >>> import dalembert as da
    >>> import numpy as np
    >>> body = da.lie.rigid_body([1, 2, 3])
    >>> M = [[0, -0.9, -0.8], [0.9, 0, -0.6], [0.8, 0.6, 0]]
    >>> motion = da.simulate(body, body.start(Q=np.eye(3), M=M), (0, 10), at=[0, 10])
    >>> motion["Q"].shape, [round(value, 9) for value in motion.energy.tolist()]
    ((2, 3, 3), [0.251, 0.251])
    """
    if side not in ("left", "right"):
        raise ModelError(
            "The side of a body is left or right", seen=repr(side), remedy="pass side='left'"
        )
    values = _inertias(inertias)
    n = len(values)
    if symmetric and not attitude:
        raise ModelError(
            "The symmetric form is made of attitudes",
            seen="attitude=False",
            remedy="leave one of the two out",
        )
    Q = _symbols("Q", n)
    if symmetric:
        P = _symbols("P", n)
        product = Q.T * P if side == "left" else P * Q.T
        momentum, moving = product - product.T, {"Q": Q, "P": P}
    else:
        momentum, moving = _skew("M", n), {"Q": Q} if attitude else {}
    velocity = sympy.Matrix(
        n, n, lambda i, j: momentum[i, j] / (values[i] + values[j]) if i != j else 0
    )
    actions = [_turning(name, velocity, side) for name in moving]
    matrices: dict[str, Any] = dict(moving)
    rates = {
        symbol: rate
        for matrix in moving.values()
        for symbol, rate in _rates(matrix, velocity, side)
    }
    if not symmetric:
        matrices["M"] = momentum
        # (M Omega)^T = Omega M for skew matrices, so that one product gives the bracket
        product = momentum * velocity if side == "left" else velocity * momentum
        rates |= {momentum[i, j]: product[i, j] - product[j, i] for i, j in _planes(n)}
        element = sympy.ImmutableMatrix(-velocity if side == "left" else velocity)
        actions.append(Action("M", element, element))
    outputs = {f"M_{_place(i, j, n)}": momentum[i, j] for i, j in _planes(n)} if symmetric else {}
    return Flow(
        rates,
        integrals=_integrals(values, momentum, velocity, moving, side),
        outputs=outputs,
        constraints=[c for name, matrix in moving.items() for c in _orthogonal(name, matrix)],
        matrices=matrices,
        actions=actions,
        name=f"{'symmetric ' if symmetric else ''}rigid body on SO({n})",
    )


def _inertias(inertias: int | Sequence[Any]) -> list[sympy.Expr]:
    """Lambda as expressions, with sums that are positive where they are numbers."""
    if isinstance(inertias, int):
        values: list[Any] = [Parameter(f"Lambda_{i + 1}", positive=True) for i in range(inertias)]
    else:
        values = [as_expression(value) for value in inertias]
    if len(values) < 2:
        raise ModelError(
            "A body needs two axes or more",
            seen=f"{len(values)} inertias",
            remedy="pass [1, 2, 3], or 3",
        )
    for i, j in _planes(len(values)):
        if (values[i] + values[j]).is_positive is False:
            raise ModelError(
                f"The inertia of the plane ({i + 1}, {j + 1}) is not positive",
                seen=f"Lambda_{i + 1} + Lambda_{j + 1} = {values[i] + values[j]}",
                remedy="every sum of two different Lambda must be positive",
            )
    return values


def _planes(n: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(n) for j in range(i + 1, n))


def _place(i: int, j: int, n: int) -> str:
    return f"{i + 1}{j + 1}" if n < 10 else f"{i + 1}_{j + 1}"


def _symbols(name: str, n: int) -> sympy.Matrix:
    return sympy.Matrix(n, n, lambda i, j: Coordinate(f"{name}_{_place(i, j, n)}"))


def _skew(name: str, n: int) -> sympy.Matrix:
    upper = {(i, j): Coordinate(f"{name}_{_place(i, j, n)}") for i, j in _planes(n)}
    return sympy.Matrix(n, n, lambda i, j: 0 if i == j else upper[i, j] if i < j else -upper[j, i])


def _turning(name: str, velocity: sympy.Matrix, side: str) -> Action:
    """X_dot = X Omega, or Omega X."""
    if side == "left":
        return Action(name, None, sympy.ImmutableMatrix(-velocity))
    return Action(name, sympy.ImmutableMatrix(velocity), None)


def _rates(
    matrix: sympy.Matrix, velocity: sympy.Matrix, side: str
) -> Iterator[tuple[Coordinate, sympy.Expr]]:
    return zip(matrix, matrix * velocity if side == "left" else velocity * matrix, strict=True)


def _orthogonal(name: str, matrix: sympy.Matrix) -> Iterator[Constraint]:
    """X^T X = 1, entry by entry."""
    n = matrix.rows
    columns = [list(matrix.col(j)) for j in range(n)]
    for i in range(n):
        for j in range(i, n):
            product = _dot(columns[i], columns[j]) - (1 if i == j else 0)
            yield holonomic(product, name=f"{name}_orthogonal_{_place(i, j, n)}")


def _dot(left: Sequence[sympy.Expr], right: Sequence[sympy.Expr]) -> sympy.Expr:
    return sympy.Add(*(x * y for x, y in zip(left, right, strict=True)))


def _integrals(
    values: list[sympy.Expr],
    momentum: sympy.Matrix,
    velocity: sympy.Matrix,
    moving: dict[str, sympy.Matrix],
    side: str,
) -> dict[str, sympy.Expr]:
    """The energy, the spatial momentum, and Manakov's integrals."""
    n = len(values)
    found = {"energy": sympy.Add(*(momentum[i, j] * velocity[i, j] / 2 for i, j in _planes(n)))}
    if "Q" in moving:
        Q = moving["Q"]
        if "P" in moving:
            P = moving["P"]
            spatial = P * Q.T - Q * P.T if side == "left" else Q.T * P - P.T * Q
            found |= {f"m_{_place(i, j, n)}": spatial[i, j] for i, j in _planes(n)}
        else:
            turned = Q if side == "left" else Q.T
            half = (turned * momentum).tolist()
            rows = turned.tolist()
            found |= {f"m_{_place(i, j, n)}": _dot(half[i], rows[j]) for i, j in _planes(n)}
    return found | _manakov(values, momentum)


def _manakov(values: list[sympy.Expr], momentum: sympy.Matrix) -> dict[str, sympy.Expr]:
    """tr (M + z Lambda^2)^k for k = 2, 3, 4 as coefficients of z^j, those that depend on M."""
    n, squares = len(values), [value**2 for value in values]
    first = [momentum, sympy.diag(*squares)]
    mixed = sympy.Matrix(n, n, lambda i, j: momentum[i, j] * (squares[i] + squares[j]))
    rows = momentum.tolist()  # M^2 = -M M^T is symmetric
    upper = {(i, j): -_dot(rows[i], rows[j]) for i in range(n) for j in range(i, n)}
    square = sympy.Matrix(n, n, lambda i, j: upper[min(i, j), max(i, j)])
    second = [square, mixed, sympy.diag(*(own**2 for own in squares))]
    halves = {2: (first, first), 3: (second, first), 4: (second, second)}
    found = {}
    for k in range(2, min(len(values), MOST_MANAKOV) + 1):
        left, right = halves[k]
        for j in range(k % 2, k, 2):
            pairs = [(left[i], right[j - i]) for i in range(len(left)) if 0 <= j - i < len(right)]
            found[f"k{k}_z{j}"] = sympy.Add(*(_trace(X, Y) for X, Y in pairs))
    return found


def _trace(left: sympy.Matrix, right: sympy.Matrix) -> sympy.Expr:
    """tr (X Y) of two symmetric or two skew matrices: terms above the diagonal count twice."""
    n = left.rows
    diagonal = [left[i, i] * right[i, i] for i in range(n)]
    return sympy.Add(*diagonal, *(2 * left[i, j] * right[j, i] for i, j in _planes(n)))
