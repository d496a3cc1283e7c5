"""What the operations of the expression language mean, with a bound on the size of each result.

Constants are kept finite and simple: every subexpression without symbols has a finite double value,
integers stay short, and a constant nested in another becomes a floating number before SymPy ever
sees it, because exact arithmetic with nested constants has no bound on its time.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
from sympy.core.relational import Relational

from ...errors import ExpressionError
from ..names import shortened

__all__ = [
    "CONSTANTS",
    "FUNCTIONS",
    "apply_function",
    "cases",
    "check_result",
    "evaluate",
    "power",
    "product",
    "total",
]

MOST_BITS = 4096
LARGEST_EXPONENT = 1000
#: Inside functions and exponents a power above LARGEST_INSIDE may have so many terms if it is
#: multiplied out, as SymPy does there to find out whether a value is real.
LARGEST_INSIDE, MOST_TERMS_INSIDE = 12, 60
MOST_ARGUMENTS = 8
LARGEST_CONSTANT = 30
#: Magnitudes of products with more factors are left as they are written.
MOST_FACTORS = 50
#: The functions of pi/n are exact up to this n.
FINEST_ANGLE = 24

CONSTANTS: dict[str, sympy.Expr] = {"pi": sympy.pi}

#: SymPy's functions of one argument (except the root) and what computes them in doubles.
_UNARY: dict[Any, Callable[[float], float]] = {
    sympy.sin: math.sin,
    sympy.cos: math.cos,
    sympy.tan: math.tan,
    sympy.asin: math.asin,
    sympy.acos: math.acos,
    sympy.atan: math.atan,
    sympy.sinh: math.sinh,
    sympy.cosh: math.cosh,
    sympy.tanh: math.tanh,
    sympy.asinh: math.asinh,
    sympy.acosh: math.acosh,
    sympy.atanh: math.atanh,
    sympy.exp: math.exp,
    sympy.log: math.log,
    sympy.sign: lambda x: float((x > 0) - (x < 0)),
    sympy.Abs: abs,
}
_NUMERIC: dict[Any, Callable[..., float]] = {
    **_UNARY,
    sympy.atan2: math.atan2,
    sympy.Min: min,
    sympy.Max: max,
}

_CIRCULAR = (sympy.sin, sympy.cos, sympy.tan)

#: Name -> (SymPy function, least and greatest number of arguments).
FUNCTIONS: dict[str, tuple[Any, int, int]] = {
    **{function.__name__: (function, 1, 1) for function in _UNARY},
    "abs": (sympy.Abs, 1, 1),
    "sqrt": (sympy.sqrt, 1, 1),
    "atan2": (sympy.atan2, 2, 2),
    "Min": (sympy.Min, 1, MOST_ARGUMENTS),
    "min": (sympy.Min, 1, MOST_ARGUMENTS),
    "Max": (sympy.Max, 1, MOST_ARGUMENTS),
    "max": (sympy.Max, 1, MOST_ARGUMENTS),
    "where": (sympy.Piecewise, 3, 3),
}

#: Sign -> (SymPy relation, what compares doubles).
_COMPARISONS: dict[str, tuple[Any, Callable[[float, float], bool]]] = {
    "<": (sympy.StrictLessThan, operator.lt),
    "<=": (sympy.LessThan, operator.le),
    ">": (sympy.StrictGreaterThan, operator.gt),
    ">=": (sympy.GreaterThan, operator.ge),
    "==": (sympy.Equality, operator.eq),
    "!=": (sympy.Unequality, operator.ne),
}


# -- values ----------------------------------------------------------------------------------------


def evaluate(expression: sympy.Expr, values: Mapping[Any, float] | None = None) -> float:
    """The double value of an expression whose symbols all have values.

    >>> x = sympy.Symbol("x")
    >>> evaluate(x**2 + sympy.Rational(1, 2), {x: 3.0})
    9.5
    """
    return _finite(lambda: _evaluated(expression, values or {}), expression)


def _finite(compute: Callable[[], float], expression: sympy.Expr) -> float:
    """The number computed, or an error that shows what has no such value."""
    try:
        result = compute()
    except (ValueError, ZeroDivisionError) as error:
        raise ExpressionError(
            "An expression has no finite real value",
            seen=_described(expression),
            remedy="keep to the domain of its functions",
        ) from error
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ExpressionError(
            "A value is outside the range of doubles",
            seen=_described(expression),
            remedy="choose other units",
        )
    return result


def _described(expression: sympy.Expr) -> str:
    if expression.has(sympy.zoo, sympy.nan):
        return "a division by zero"
    if expression.is_Rational and max(expression.p.bit_length(), expression.q.bit_length()) > 200:
        return "an integer of many digits"
    return shortened(str(expression), 80)


def _evaluated(expression: sympy.Expr, values: Mapping[Any, float]) -> float:
    if expression in values:
        return float(values[expression])
    if expression.is_Rational:
        return float(expression.p / expression.q)
    if expression.is_Float or expression.is_NumberSymbol:
        return float(expression)
    if expression.is_Add:
        return math.fsum(_evaluated(term, values) for term in expression.args)
    if expression.is_Mul:
        above, below = _sides(expression)
        return math.prod(_evaluated(a, values) for a in above) / math.prod(
            _evaluated(b, values) for b in below
        )
    if expression.is_Pow:
        base, exponent = (_evaluated(argument, values) for argument in expression.args)
        return math.sqrt(base) if exponent == 0.5 else math.pow(base, exponent)
    if isinstance(expression, sympy.Piecewise):
        return _chosen(expression, values)
    numeric = _NUMERIC.get(expression.func)
    if numeric is None or expression.is_Symbol:
        raise ValueError(f"{expression} has no value")
    return float(numeric(*(_evaluated(argument, values) for argument in expression.args)))


def _sides(product: sympy.Expr) -> tuple[list[Any], list[Any]]:
    """The factors above and below the line, so that m*g/l is rounded as it is written."""
    above, below = [], []
    for factor in product.args:
        if factor.is_Rational:
            above.append(sympy.Integer(factor.p))
            below.append(sympy.Integer(factor.q))
        elif factor.is_Pow and factor.exp.is_Integer and factor.exp.is_negative:
            below.append(sympy.Pow(factor.base, -factor.exp, evaluate=factor.exp == -1))
        else:
            above.append(factor)
    return above, below


def _chosen(expression: sympy.Piecewise, values: Mapping[Any, float]) -> float:
    for value, test in expression.args:
        if _holds(test, values):
            return _evaluated(value, values)
    raise ValueError("no case applies")


def _holds(test: sympy.Basic, values: Mapping[Any, float]) -> bool:
    """Whether a condition holds; SymPy joins cases of one value by `Or`."""
    if isinstance(test, Relational):
        left, right = (_evaluated(side, values) for side in test.args)
        return bool(_COMPARISONS[test.rel_op][1](left, right))
    if isinstance(test, (sympy.And, sympy.Or)):
        joined = all if isinstance(test, sympy.And) else any
        return joined(_holds(part, values) for part in test.args)
    if test in (sympy.true, sympy.false):
        return bool(test)
    raise ValueError(f"{test} has no value")


def _nesting(constant: sympy.Expr) -> int:
    """How many functions and roots stand inside each other in a constant."""
    if not constant.args:
        return 0
    if constant.is_Add or constant.is_Mul:
        return max(_nesting(argument) for argument in constant.args)
    if constant.is_Pow and constant.exp.is_Integer:
        return _nesting(constant.base)
    return 1 + max(_nesting(argument) for argument in constant.args)


def _check_inside(value: sympy.Expr) -> None:
    """Raise for a power that has too many terms to stand inside a function or an exponent.

    What is inside further functions and exponents was checked as these were read.
    """
    if value.is_Add or value.is_Mul:
        for argument in value.args:
            _check_inside(argument)
    elif value.is_Pow:
        _check_inside(value.base)
        terms = (
            max(2, len(sympy.Add.make_args(value.base))) if value.base.args else 1
        )  # at least a real and an imaginary part
        height = int(abs(value.exp)) if value.exp.is_Rational else 0
        if (
            height > LARGEST_INSIDE
            and (count := math.comb(height + terms - 1, terms - 1)) > MOST_TERMS_INSIDE
        ):
            raise ExpressionError(
                "A high power stands inside a function, a root or an exponent",
                seen=f"{_described(value)}, of {count} terms if it is multiplied out",
                remedy="take it outside, or write it as exp(n*log(...))",
            )


def _bits(value: sympy.Expr) -> int:
    coefficient = value.as_coeff_Mul()[0] if value.is_Mul else value
    return (
        max(coefficient.p.bit_length(), coefficient.q.bit_length())
        if coefficient.is_Rational
        else 0
    )


def _check_range(number: sympy.Expr) -> None:
    """Raise unless a number can be written as a double or as a quotient of doubles."""
    if not (number.is_Rational or number.is_Float):  # an infinity, which is refused by its value
        return
    try:
        parts = (number.p, number.q) if number.is_Rational else (number,)
        fits = all(
            math.isfinite(double := float(part)) and (double != 0 or part == 0) for part in parts
        )
    except OverflowError:
        fits = False
    if not fits:
        raise ExpressionError(
            "A number is outside the range of doubles",
            seen=_described(number),
            remedy="choose other units",
        )


def _rounded(value: sympy.Expr) -> sympy.Expr:
    """The same value, checked: short, and for a constant finite and simple."""
    if _bits(value) > MOST_BITS:
        raise ExpressionError(
            f"A number has more than {MOST_BITS} bits",
            seen="an integer of many digits",
            remedy="use a float",
        )
    for term in sympy.Add.make_args(value):
        _check_range(term.as_coeff_Mul()[0])
        constants = [factor for factor in sympy.Mul.make_args(term) if factor.is_number]
        if len(constants) > 1:  # such as 1e308*pi, which would be read as a product of constants
            evaluate(sympy.Mul(*constants, evaluate=False))
    if isinstance(value, sympy.Piecewise):  # SymPy takes powers and functions of each case
        for case in value.args:
            if case.expr.is_number:
                evaluate(case.expr)
    if value.is_number:
        double = evaluate(value)
        if value.args and (
            _nesting(value) > 1
            or sum(1 for _ in sympy.preorder_traversal(value)) > LARGEST_CONSTANT
        ):
            return sympy.Float(double)
    return value


def _gathered(operation: Callable[..., Any], operands: Sequence[sympy.Expr]) -> sympy.Expr:
    """A sum or product, taken at once; its constants are bounded first."""
    if len(operands) == 1:
        return operands[0]
    constants = [operand for operand in operands if operand.is_number]
    if len(constants) > 1:
        together = operation(*constants)
        converged = _rounded(together)
        if converged is not together:
            operands = [converged, *(operand for operand in operands if not operand.is_number)]
    return _rounded(operation(*operands))


def total(terms: Sequence[sympy.Expr]) -> sympy.Expr:
    """The sum of terms."""
    return _gathered(sympy.Add, terms)


def product(factors: Sequence[sympy.Expr]) -> sympy.Expr:
    """The product of factors."""
    if sum(map(_bits, factors)) > MOST_BITS:
        raise ExpressionError(
            f"A product of integers has more than {MOST_BITS} bits",
            seen=f"{len(factors)} factors",
            remedy="use floats",
        )
    return _gathered(sympy.Mul, factors)


def power(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    """A power with a bounded exponent.

    >>> power(sympy.Integer(2), sympy.Integer(-1))
    1/2
    """
    if exponent.is_number and abs(evaluate(exponent)) > LARGEST_EXPONENT:
        raise ExpressionError(
            f"An exponent is larger than {LARGEST_EXPONENT}",
            seen=_described(exponent),
            remedy="use exp(...)",
        )
    if exponent.is_Integer and _bits(base) * abs(int(exponent)) > MOST_BITS:
        raise ExpressionError(
            f"A power of an integer has more than {MOST_BITS} bits",
            seen=f"{_described(base)}**{exponent}",
            remedy="write the base as a float",
        )
    if not exponent.is_Integer:
        _check_inside(base)
        _check_inside(exponent)
    if base.is_number and exponent.is_number:
        if exponent.is_negative and evaluate(base) == 0:
            raise ExpressionError("A division by zero", seen=f"1/({base})", remedy="remove it")
        # The value is found first, because SymPy would leave the real numbers, as for (-8)**(1/3).
        double = evaluate(sympy.Pow(base, exponent, evaluate=False))
        if double == 0 != evaluate(base) and not base.is_Rational:
            raise ExpressionError(
                "A value is outside the range of doubles",
                seen=f"{_described(base)}**{_described(exponent)}",
                remedy="choose other units",
            )
        if _nesting(exponent) > 0 or (_nesting(base) > 0 and not exponent.is_Integer):
            return sympy.Float(double)
        # SymPy splits an exact root into powers of the primes of its base, of any size.
        if exponent.is_Rational and exponent.q > LARGEST_EXPONENT:
            return sympy.Float(double)
    result = sympy.Pow(base, exponent)
    for factor in sympy.Mul.make_args(result):
        height = factor.as_base_exp()[1]
        if height.is_number and abs(evaluate(height)) > LARGEST_EXPONENT:
            raise ExpressionError(
                f"An exponent is larger than {LARGEST_EXPONENT}",
                seen=_described(height),
                remedy="use exp(...)",
            )
    return _rounded(result)


def apply_function(name: str, arguments: Sequence[sympy.Expr]) -> sympy.Expr:
    """The value of a function of the language other than ``where``.

    >>> apply_function("sin", [sympy.pi / 6])
    1/2
    """
    function = FUNCTIONS[name][0]
    if function is sympy.sqrt:
        return power(arguments[0], sympy.Rational(1, 2))
    if all(argument.is_number for argument in arguments) and any(
        _nesting(argument) for argument in arguments
    ):
        doubles = [evaluate(argument) for argument in arguments]
        return sympy.Float(
            _finite(
                lambda: float(_NUMERIC[function](*doubles)), function(*arguments, evaluate=False)
            )
        )
    for argument in arguments:
        _check_inside(argument)
    if function in (sympy.Min, sympy.Max):
        return _rounded(_extreme(function, arguments))
    if function in _CIRCULAR and _is_fine_angle(arguments[0]):
        return sympy.Float(evaluate(function(*arguments, evaluate=False)))
    many = function is sympy.Abs and len(arguments[0].args) > MOST_FACTORS
    result = function(*arguments, evaluate=False) if many else function(*arguments)
    if function is sympy.exp and any(n != 0 and float(n) == 0 for n in result.atoms(sympy.Float)):
        # SymPy takes the value of exp(-1e6) out of exp(x - 1e6), and no double is as small; a
        # rational number stays inside.
        terms = sympy.Add.make_args(arguments[0])
        result = sympy.exp(sympy.Add(*(sympy.Rational(a) if a.is_Float else a for a in terms)))
    if function is sympy.tan:
        # SymPy turns tan(x + pi/2) into -cot(x), which the language does not have.
        result = result.xreplace(
            {found: 1 / sympy.tan(*found.args) for found in result.atoms(sympy.cot)}
        )
    return _rounded(result)


def _extreme(kind: Any, arguments: Sequence[sympy.Expr]) -> sympy.Expr:
    """The least or greatest of arguments, constants combined; SymPy would compare all pairs."""
    flat = [
        part
        for argument in arguments
        for part in (argument.args if isinstance(argument, kind) else (argument,))
    ]
    constants = [part for part in flat if part.is_number]
    symbols = list(dict.fromkeys(part for part in flat if not part.is_number))
    chosen = [(min if kind is sympy.Min else max)(constants, key=evaluate)] if constants else []
    together = [*symbols, *chosen]
    return together[0] if len(together) == 1 else kind(*together, evaluate=False)


def _is_fine_angle(angle: sympy.Expr) -> bool:
    """Whether an angle is a fraction of pi without short roots, which SymPy would search for."""
    share, rest = angle.as_coeff_Mul()
    return bool(rest == sympy.pi and share.is_Rational and share.q > FINEST_ANGLE)


def cases(
    left: sympy.Expr, sign: str, right: sympy.Expr, then: sympy.Expr, otherwise: sympy.Expr
) -> sympy.Expr:
    """`then` where the comparison holds, else `otherwise`; nested cases join the list."""
    if left.has(sympy.Piecewise) or right.has(sympy.Piecewise):
        raise ExpressionError(
            "A comparison contains where(...)",
            seen=f"{shortened(str(left))} {sign} {shortened(str(right))}",
            remedy="nest the where(...) around it instead",
        )
    test = _COMPARISONS[sign][0](left, right)
    if test in (sympy.true, sympy.false):
        return then if test == sympy.true else otherwise
    rest = otherwise.args if isinstance(otherwise, sympy.Piecewise) else [(otherwise, True)]
    return sympy.Piecewise((then, test), *rest)


_UNREAL = (sympy.I, sympy.nan, sympy.zoo, sympy.oo, -sympy.oo)


def check_result(expression: sympy.Expr, text: str) -> None:
    """Raise where evaluation has left the real numbers or the functions of the language."""
    known = (*_NUMERIC, sympy.Piecewise)
    if expression.has(*_UNREAL) or not all(
        isinstance(found, known) for found in expression.atoms(sympy.Function)
    ):
        raise ExpressionError(
            "An expression is not a finite real function",
            seen=shortened(text),
            remedy="keep to the domain of its functions",
        )
