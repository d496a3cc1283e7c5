r"""Case II of Douglas: Phi is no multiple of the identity, and nabla Phi is in span(1, Phi).

Let X_1, X_2 be eigenvectors of Phi and theta^1, theta^2 their dual forms. nabla X_a is a multiple
of X_a, and a multiplier is g = sum rho_a theta^a theta^a. Let D_X be the derivative along X by v,
D^H_X that by q. Where D_X X is a multiple of X = X_2, so is D^H_X X, since

    nabla D_X - D_X nabla = D_(nabla X) - D^H_X,

and Gamma, X^V and X^H are in involution: two constants of the motion, a and b, are constant on
their leaves, and h(a, b) da db is a closed two-form, a multiple of theta^1 with its lift.
Where this holds of both eigenvectors, the sum of both forms is the Cartan form of a Lagrangian:
closed, regular, with the kernel Gamma, and zero on pairs of vertical fields.

The quadratic form Q(X) = det(X, Phi X) has the roots X_1 and X_2, and D_X X is a multiple of X
where C(X) = det(X, (D_X Phi) X) = 0. No root has to be taken:

    IIa1   the quadratic Q divides the cubic C     separated: there are multipliers
    IIa2   one root in common                      semi-separated
    IIa3   no root in common                       non-separated
    IIb    Q is a square, a double eigenvalue      Phi is not diagonalisable

(Douglas 1941; the cases have the names of Sarlet, Thompson and Prince 2002, who divide case IIa by
which eigenspaces are integrable.) Complex eigenvalues give conjugate forms, whose sum is real. In
case IIa2 the conditions on rho_1 do not contain rho_2; in case IIa3 they are coupled. Both and IIb
may have multipliers or not, which `multiplier_completion.py` decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.verdicts import Verdict
from ...geometry.vanishing import vanish

__all__ = ["second_case"]


def second_case(velocities: Sequence[sympy.Symbol], row: Sequence[sympy.Expr]) -> Verdict:
    """The case within II, and that there are multipliers where it is separated.

    The row is (Phi_12, Phi_22 - Phi_11, -Phi_21): row . (g_11, g_12, g_22) = 0.

    >>> from ...model.symbols import coordinates
    >>> x, y = coordinates("x y")
    >>> row = [-x.dot / 2, -y.dot, sympy.S.Zero]             # of x_ddot = -x y_dot, y_ddot = 0
    >>> second_case([x.dot, y.dot], row).grounds
    'case IIa2 of Douglas, semi-separated'
    """
    Q = [-row[2], row[1], -row[0]]
    double = vanish([Q[1] ** 2 - 4 * Q[0] * Q[2]])
    if double.is_proved:
        return _open("case IIb of Douglas, a double eigenvalue of Phi")
    ends = [vanish([Q[0]]), vanish([Q[2]])]
    if not double.is_refuted or not all(end.is_proved or end.is_refuted for end in ends):
        return _open("case II of Douglas, the eigenvectors of Phi are not decided")
    if all(end.is_proved for end in ends):
        return _separated()  # the eigenvectors are the axes
    by_first, by_second = ([sympy.diff(entry, v) for entry in Q] for v in velocities)
    C = [a + b for a, b in zip([*by_first, 0], [0, *by_second], strict=True)]
    if ends[0].is_proved:  # the other order of the coordinates
        Q, C = Q[::-1], C[::-1]
    rest = _remainder(Q, C)
    divides = vanish(rest)
    if divides.is_proved:
        return _separated()
    a, b, c = Q
    common = vanish([a * rest[1] ** 2 - b * rest[0] * rest[1] + c * rest[0] ** 2])
    if not (divides.is_refuted and (common.is_proved or common.is_refuted)):
        return _open("case IIa of Douglas, whether it is separated is not decided")
    if common.is_proved:
        return _open("case IIa2 of Douglas, semi-separated")
    return _open("case IIa3 of Douglas, non-separated")


def _open(words: str) -> Verdict:
    return Verdict("not established", words)


def _separated() -> Verdict:
    words = "case IIa1 of Douglas, separated: both eigenspaces of Phi are integrable"
    return Verdict("proved", words, holds_to_rounding=True)


def _remainder(Q: Sequence[sympy.Expr], C: Sequence[sympy.Expr]) -> list[sympy.Expr]:
    """The remainder of the cubic C by the quadratic Q, whose first coefficient is not zero."""
    a, b, c = Q
    lead = C[0] / a
    middle = (C[1] - lead * b) / a
    return [simplify(C[2] - lead * c - middle * b), simplify(C[3] - middle * c)]
