r"""The conditions of stationary motion as formulas: factored, split into ways to meet them.

    chi_a A_s^a = 0  for every independent velocity s                               (Rumyantsev 4.5)
    dL/dv_a A_s^a = 0, the same with chi_a = -dL/dv_a                               (Rumyantsev 4.6)

chi_a = -dL/dv_a obeys the equation of the multipliers where dL_c/dq_a + Q_a = 0; where moreover
dphi_b/dq_a = 0, the general solution is chi_a = c_a - dL/dv_a with constants c_a, and (4.5) becomes
a statement about the motion alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.tree import TreeAlgebra
from ...errors import DalembertError
from ...formulations.forms.voronets import derive_on, transitivity
from ...formulations.independent_velocities import Reduction, Split
from ...model.symbols import Parameter
from ...model.system import System

__all__ = ["StationarityConditions", "conditions_of", "ways_to_vanish"]

#: Expressions beyond this size are not simplified.
EFFORT = 600
#: The largest number of factors that vanish together in a way that is listed.
TOGETHER = 3


@dataclass(frozen=True)
class StationarityConditions:
    """Conditions for stationary motion, expressions that must vanish; k independent velocities.

    Attributes
    ----------
    multipliers : tuple of expressions (k,)
        chi_a A_s^a, with chi_a = c_a - dL/dv_a where that is the general solution.
    momenta : tuple of expressions (k,)
        dL/dv_a A_s^a.
    constants : tuple of symbols
        The c_a; empty where chi stays unknown.
    obeys : bool
        Whether chi_a = -dL/dv_a obeys the equation of the multipliers on every motion.
    coefficients : SymPy matrix (k x r)
        A_s^a, with the accelerations of the motion where they are short enough to be put in.
    integrable : bool
        Whether they vanish whatever the accelerations are.
    """

    multipliers: tuple[sympy.Expr, ...]
    momenta: tuple[sympy.Expr, ...]
    constants: tuple[sympy.Symbol, ...]
    obeys: bool
    coefficients: sympy.ImmutableMatrix
    integrable: bool

    @property
    def all_motions(self) -> str | None:
        """Why every motion is stationary, where the formulas show it."""
        if self.integrable:
            return "the constraints are integrable: A_s^a vanishes identically, and any chi serves"
        if all(entry == 0 for entry in self.coefficients):
            return "A_s^a vanishes on every motion: any chi serves"
        if self.obeys and all(entry == 0 for entry in self.momenta):
            return "dL/dv_a A_s^a vanishes on every motion, and chi_a = -dL/dv_a obeys its equation"
        return None

    @property
    def ways(self) -> tuple[tuple[sympy.Expr, ...], ...]:
        """Sets of expressions; a motion on which all of one set vanish meets the conditions."""
        return ways_to_vanish(self.multipliers)


def conditions_of(system: System, split: Split) -> StationarityConditions | None:
    """The conditions of a system in formulas; None where they are too large to be read."""
    try:
        return _conditions(Reduction(system, TreeAlgebra(), split))
    except DalembertError:  # too large to be written out
        return None


def _conditions(reduction: Reduction) -> StationarityConditions | None:
    algebra, split, here = reduction.algebra, reduction.split, reduction.here
    system = reduction.system
    coefficients = transitivity(reduction)
    momenta = algebra.part(here(reduction.momenta_at_velocity), split.dependent, [0])
    if _size([*coefficients, *momenta]) > EFFORT:
        return None
    coefficients = coefficients.applyfunc(_short)
    integrable = all(entry == 0 for entry in coefficients)
    coefficients = _on_motion(reduction, coefficients)
    constrained = here(reduction.lagrangian)
    pushed = reduction.map.place_gradient(constrained) + here(reduction.applied_force)
    obeys = all(_short(entry) == 0 for entry in algebra.part(pushed, split.dependent, [0]))
    by_places, every = reduction.map.by_places(reduction.solved), range(len(split.dependent))
    through = algebra.part(by_places, every, split.dependent)
    names = [system.coordinates[k].name for k in split.dependent]
    constants: tuple[sympy.Symbol, ...] = ()
    chi = sympy.Matrix(_symbols(system, "chi", names))
    if obeys and all(_short(entry) == 0 for entry in through):
        constants = _symbols(system, "c", names)
        chi = sympy.Matrix(constants) - momenta
    return StationarityConditions(
        multipliers=tuple(_short(entry) for entry in coefficients @ chi),
        momenta=tuple(_short(entry) for entry in coefficients @ momenta),
        constants=constants,
        obeys=obeys,
        coefficients=sympy.ImmutableMatrix(coefficients),
        integrable=integrable,
    )


def _symbols(system: System, prefix: str, names: Sequence[str]) -> tuple[sympy.Symbol, ...]:
    """Symbols that the system does not use itself."""
    symbols = {s for expression in system.expressions() for s in expression.free_symbols}
    taken = {symbol.name for symbol in symbols}
    while any(f"{prefix}_{name}" in taken for name in names):
        prefix += "_"
    return tuple(Parameter(f"{prefix}_{name}") for name in names)


def _on_motion(reduction: Reduction, coefficients: sympy.MatrixBase) -> sympy.MatrixBase:
    """The coefficients with the accelerations of the motion inserted, where these are short."""
    if not coefficients.has(*reduction.z):
        return coefficients
    record = derive_on(reduction)
    if _size([*record.metric, *record.force]) > EFFORT:
        return coefficients
    metric, force = record.metric.applyfunc(_short), record.force.applyfunc(_short)
    accelerations = metric.LUsolve(force).applyfunc(_short)
    inserted = coefficients.xreplace(dict(zip(reduction.z, accelerations, strict=True)))
    return inserted.applyfunc(_short)


def _size(entries: Iterable[sympy.Expr]) -> int:
    return sum(int(entry.count_ops()) for entry in entries)


def _short(expression: sympy.Expr) -> sympy.Expr:
    """A product as far as one is found within bounded work; zero where it is found to be."""
    if expression.count_ops() > EFFORT:
        return expression
    product = sympy.factor(expression)
    if product.has(sympy.sin, sympy.cos):
        numerator, denominator = sympy.fraction(product)
        product = sympy.factor(simplify(numerator)) / simplify(denominator)
    return product


def ways_to_vanish(expressions: Sequence[sympy.Expr]) -> tuple[tuple[sympy.Expr, ...], ...]:
    """The smallest sets of factors such that every expression contains one of each set.

    Factors that cannot vanish are skipped. An empty set stands for expressions that vanish
    identically; no set at all for one that never does.

    >>> x, y, z = sympy.symbols("x y z")
    >>> ways_to_vanish([x*y, x*z])
    ((x,), (y, z))
    """
    products = [_factors(expression) for expression in expressions if expression != 0]
    symbols = list(dict.fromkeys(factor for product in products for factor in product))
    found: list[tuple[sympy.Expr, ...]] = []
    for count in range(min(len(symbols), TOGETHER) + 1):
        for chosen in combinations(symbols, count):
            hits = all(any(factor in product for factor in chosen) for product in products)
            if hits and not any(set(smaller) <= set(chosen) for smaller in found):
                found.append(chosen)
    return tuple(found)


def _factors(expression: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """The factors of a product that can vanish."""
    numerator, _ = sympy.fraction(sympy.factor(expression))
    bases = (factor.as_base_exp()[0] for factor in sympy.Mul.make_args(numerator))
    varying = [base for base in bases if base.is_nonzero is not True]
    return tuple(-base if base.could_extract_minus_sign() else base for base in varying)
