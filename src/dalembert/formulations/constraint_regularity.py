r"""Constraints whose gradient vanishes wherever they hold: they have no multiplier, and no form.

The reaction A^T mu of a constraint f = 0 lies along its gradient. For f = g^k with k > 1, and for
an f that nowhere changes its sign (a sum of squares), the gradient is zero on f = 0: the multiplier
rule does not apply, and dividing by the gradient would derive equations of another constraint.
"""

from __future__ import annotations

import sympy

from ..errors import FormError
from ..model.constraints import Constraint
from ..model.system import System

__all__ = ["check_regular"]

#: Expressions are factored up to this number of operations, and in systems up to this many rows.
MOST_OPERATIONS, MOST_ROWS = 150, 30


def check_regular(system: System) -> None:
    """Raise where the gradient of a two-sided constraint is proved to vanish on it.

    Raises
    ------
    FormError
        With the power or the sum of squares, and the constraint to state instead.
    """
    fault = system.cache.get("irregular constraint", lambda: (_fault(system),))[0]
    if fault is not None:
        raise fault


def _fault(system: System) -> FormError | None:
    few = len(system.bilateral) <= MOST_ROWS
    for constraint in system.bilateral:
        symbols = constraint.expression.atoms(constraint.restricts)
        if not symbols or _is_affine(constraint.expression, symbols):
            continue
        base = _base(constraint.expression, symbols, few)
        if base is not None:
            return _error(constraint, f"state it as {base} = 0")
        if _has_one_sign(constraint.expression):
            return _error(constraint, "state each term that must vanish as a constraint of its own")
    return None


def _has_one_sign(expression: sympy.Expr) -> bool:
    """Whether an expression is nowhere negative, or nowhere positive; one that is nowhere zero
    never holds, which a start says.
    """
    if expression.is_nonzero:
        return False
    signs = {term.could_extract_minus_sign() for term in sympy.Add.make_args(expression)}
    return len(signs) == 1 and bool(expression.is_nonnegative or expression.is_nonpositive)


def _is_affine(expression: sympy.Expr, symbols: set[sympy.Symbol]) -> bool:
    """Whether an expression is affine in symbols, term by term; no answer costs nothing."""
    for term in sympy.Add.make_args(expression):
        moving = [f for f in sympy.Mul.make_args(term) if not f.free_symbols.isdisjoint(symbols)]
        if len(moving) > 1 or any(factor not in symbols for factor in moving):
            return False
    return True


def _base(expression: sympy.Expr, symbols: set[sympy.Symbol], factored: bool) -> sympy.Expr | None:
    """The factors that a power is made of, or None where one of them stands alone."""
    factors = [f.as_base_exp() for f in sympy.Mul.make_args(expression)]
    if factored and len(factors) == 1 and factors[0][1] == 1:
        if sympy.count_ops(expression) > MOST_OPERATIONS:
            return None
        numerator, _ = sympy.fraction(sympy.together(expression))
        try:
            factors = [*sympy.factor_list(numerator)[1]]
        except sympy.PolynomialError:
            return None
    moving = [
        (base, power)
        for base, power in factors
        if not base.free_symbols.isdisjoint(symbols) and not base.is_nonzero
    ]
    if not moving or any(not (power.is_integer and power > 1) for _, power in map(_read, moving)):
        return None
    return sympy.Mul(*(base for base, _ in moving))


def _read(factor: tuple[sympy.Expr, sympy.Expr | int]) -> tuple[sympy.Expr, sympy.Expr]:
    return factor[0], sympy.Integer(factor[1]) if isinstance(factor[1], int) else factor[1]


def _error(constraint: Constraint, remedy: str) -> FormError:
    return FormError(
        f"The gradient of the constraint `{constraint.name}` vanishes wherever it holds: it"
        " determines no reaction",
        seen=f"{constraint.expression} = 0",
        remedy=remedy,
    )
