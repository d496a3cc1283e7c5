r"""Conditions on a symmetry decided symbolically within bounded work.

Everything is brought to the symbols the system was stated in, and read as a quotient of polynomials
in symbols, sines and cosines, which is zero where its numerator is. On the constraints, dependent
velocities (or momenta) are eliminated first where the constraints are linear in some of them; a
function that is a multiple of a constraint vanishes on it as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.lowest_terms import eliminated
from ...algebra.simplify.quotients import Generators, PolynomialQuotient
from ...algebra.simplify.trigonometric_ring import TooMuchWorkError, Work
from ...algebra.structure import without_unrepresented
from ...errors import ModelError
from ...model.constraints import Constraint
from ...model.symbols import t
from ...runtime.gauss.constrained_solve import rank
from ...typing import Values
from ..anatomy import GENERIC
from ..proofs.bounded import exact
from .symmetry_conditions import Conditions, energy_name

__all__ = ["Proofs", "derivative_along", "vanishes"]

#: The work that one proof may take.
EFFORT = 200_000
#: The most operations of an expression that is looked at.
MOST_OPERATIONS = 6_000
#: The most operations of a derivative of a sum that is looked at on the way to that of the whole.
SMALL_SUM = 400


def vanishes(expression: sympy.Expr) -> bool | None:
    """Whether an expression is proved zero for all values; None where undecided.

    >>> x, y = sympy.symbols("x y")
    >>> sine = sympy.sin(x) * sympy.cos(y) + sympy.cos(x) * sympy.sin(y)
    >>> vanishes(sympy.sin(x + y) - sine), vanishes(x - y)
    (True, False)
    """
    if expression == 0:
        return True
    algebra, general = GraphAlgebra(), without_unrepresented(expression)
    try:
        found = algebra.vanishing(algebra.scalar(general))
    except (ModelError, TypeError):  # not expressible on the graph: nothing is shown
        return None
    if found.is_proved:
        return True
    return False if found.is_refuted and general is expression else None


def derivative_along(
    expression: sympy.Expr, rates: Mapping[sympy.Symbol, sympy.Expr]
) -> sympy.Expr:
    """The derivative of an expression whose symbols have rates, by the chain rule.

    A sum whose derivative is shown to be zero counts as a constant, so that functions of invariants
    need no expansion.

    >>> x, y, f, g = sympy.symbols("x y f g")
    >>> turned = x * sympy.cos(f) + y * sympy.sin(f)
    >>> derivative_along(sympy.exp(turned**2 * g + turned) / turned, {x: -y, y: x, f: 1})
    0
    """
    moving, known = set(rates), {}
    waiting = [expression]
    while waiting:
        node = waiting[-1]
        if node in known:
            waiting.pop()
        elif node.is_Symbol or not (node.free_symbols & moving):
            known[node] = rates.get(node, sympy.S.Zero)
        elif node.is_Piecewise or not _has_chain_rule(node):
            known[node] = _by_definition(node, rates)
        else:
            missing = [part for part in node.args if part not in known]
            waiting += missing
            if not missing:
                known[node] = _chain_rule(node, [known[part] for part in node.args])
    return known[expression]


def _has_chain_rule(node: sympy.Expr) -> bool:
    return bool(node.is_Add or node.is_Mul or node.is_Pow or isinstance(node, sympy.Function))


def _by_definition(node: sympy.Expr, rates: Mapping[sympy.Symbol, sympy.Expr]) -> sympy.Expr:
    return sympy.Add(*(sympy.diff(node, symbol) * rate for symbol, rate in rates.items()))


def _chain_rule(node: sympy.Expr, inner: Sequence[sympy.Expr]) -> sympy.Expr:
    """The derivative of a node from those of its arguments."""
    if node.is_Add:
        total = sympy.Add(*inner)
        is_zero = total != 0 and total.count_ops() <= SMALL_SUM and vanishes(total) is True
        return sympy.S.Zero if is_zero else total
    if node.is_Mul:
        others = [sympy.Mul(*node.args[:k], *node.args[k + 1 :]) for k in range(len(node.args))]
        pairs = zip(inner, others, strict=True)
        return sympy.Add(*(rate * rest for rate, rest in pairs if rate != 0))
    if node.is_Pow:
        base, power = node.args
        grown = sympy.S.Zero if inner[1] == 0 else node * sympy.log(base) * inner[1]
        return power * base ** (power - 1) * inner[0] + grown
    return sympy.Add(*(node.fdiff(k + 1) * rate for k, rate in enumerate(inner) if rate != 0))


def _read(expressions: Sequence[sympy.Expr]) -> tuple[Generators, list[PolynomialQuotient]] | None:
    """Expressions as quotients over one set of generators."""
    if sum(expression.count_ops() for expression in expressions) > MOST_OPERATIONS:
        return None
    try:
        generators = Generators(expressions, Work(EFFORT))
        return generators, [generators.read(expression) for expression in expressions]
    except TooMuchWorkError:  # too long to decide
        return None


def _is_multiple(expression: sympy.Expr, of: sympy.Expr) -> bool:
    """Whether a polynomial times `of` is shown to be the expression."""
    found = _read([exact(expression), exact(of)])
    if found is None:
        return False
    generators, (whole, factor) = found
    if whole.below or factor.below or not factor.above:
        return False
    try:
        return generators.ring.divided(whole.above, factor.above) is not None
    except TooMuchWorkError:  # too long to decide: not shown
        return False


class Proofs:
    """Symbolic verdicts on fields of one system.

    Parameters
    ----------
    conditions : Conditions
        Of the same system; its states choose what is eliminated.
    values : mapping of name to value
        Parameters that are fixed at numbers.
    """

    def __init__(self, conditions: Conditions, values: Mapping[str, float]) -> None:
        self.system, self._conditions = conditions.system, conditions
        system = self.system
        given = [p for p in system.parameters if p.name in values]
        fixed = {p: exact(sympy.Float(float(values[p.name]))) for p in given}
        self._fixed = {p: sympy.Integer(int(v)) if v == int(v) else v for p, v in fixed.items()}
        self._inputs = {symbol: law for symbol, law in system.inputs.items() if law is not None}
        self._fibre = system.momenta if system.is_hamiltonian else system.velocities

    # -- symbols -----------------------------------------------------------------------------------

    @cached_property
    def _native(self) -> dict[sympy.Symbol, sympy.Expr]:
        """Velocities by momenta for a system stated by its Hamiltonian, and the other way round."""
        foreign = self.system.velocities if self.system.is_hamiltonian else self.system.momenta
        energy, pairs = self.system.energy_function, zip(foreign, self._fibre, strict=True)
        return {symbol: sympy.diff(energy, own) for symbol, own in pairs}

    def _own(self, expression: sympy.Expr) -> sympy.Expr:
        """An expression in the symbols of the system: inputs replaced, numbers exact."""
        expression = expression.xreplace(self._inputs)
        foreign = self.system.velocities if self.system.is_hamiltonian else self.system.momenta
        if not expression.free_symbols.isdisjoint(foreign):
            expression = expression.xreplace(self._native)
        return exact(expression.xreplace(self._fixed))

    def _lift(self, field: sympy.MatrixBase, expression: sympy.Expr) -> sympy.Expr:
        """The derivative of an expression along the lifted field."""
        q, y = sympy.Matrix(self.system.coordinates), sympy.Matrix(self._fibre)
        derivative = field.jacobian(q)
        second = -derivative.T * y if self.system.is_hamiltonian else derivative * y
        pairs = zip((*q, *y), (*field, *second), strict=True)
        return derivative_along(expression, {symbol: rate for symbol, rate in pairs if rate != 0})

    # -- verdicts ----------------------------------------------------------------------------------

    def verdict(self, part: str, field: sympy.MatrixBase) -> bool | None:
        """Whether the field (n x 1) meets the condition of this part."""
        field = field.applyfunc(lambda entry: exact(entry.xreplace(self._fixed)))
        system = self.system
        if part == energy_name(system):
            return vanishes(self._lift(field, self._own(system.energy_function)))
        if part == "dissipation":
            return vanishes(self._lift(field, self._own(system.dissipation)))
        if part == "forces":
            return self._one_form(field, system.forces)
        constraint = next(c for c in system.constraints if f"`{c.name}`" in part)
        if part.startswith("work"):
            return self._one_form(field, constraint.work)
        return self._on_constraint(field, constraint)

    def _one_form(self, field: sympy.MatrixBase, components: Values) -> bool | None:
        table = {str(key): self._own(value) for key, value in components.items()}
        forms = [table.get(q.name, sympy.S.Zero) for q in self.system.coordinates]
        derivative = field.jacobian(self.system.coordinates)
        parts = []
        for i, own in enumerate(forms):
            turned = (other * derivative[j, i] for j, other in enumerate(forms))
            parts.append(self._lift(field, own) + sum(turned, sympy.S.Zero))
        return _every(vanishes(part) for part in parts)

    def _on_constraint(self, field: sympy.MatrixBase, constraint: Constraint) -> bool | None:
        if constraint is self.system.image:
            return self._on_image(field)
        if len(constraint.conditions()) > 1:
            parts = [self._lift(field, self._own(each)) for each in constraint.conditions()]
            return True if all(vanishes(part) is True for part in parts) else None
        expression = self._own(constraint.expression)
        moved = self._lift(field, expression)
        if vanishes(moved) is True or _is_multiple(moved, expression):
            return True
        on_positions = constraint in self.system.unilateral or constraint.is_position_level
        if on_positions or self._eliminated is None:
            return None
        on_constraints = vanishes(moved.xreplace(self._eliminated))
        if on_constraints is False and any(c.is_position_level for c in self.system.bilateral):
            return None  # positions are tied as well, which the elimination does not know
        return on_constraints

    # -- what the constraints determine ------------------------------------------------------------

    @cached_property
    def _eliminated(self) -> dict[sympy.Symbol, sympy.Expr] | None:
        """Dependent velocities or momenta as functions of the others, on the constraints."""
        rows = [self._velocity_level(c) for c in self.system.bilateral]
        table = [[sympy.diff(row, symbol) for symbol in self._fibre] for row in rows]
        derivatives = sympy.Matrix(table)
        straight = [k for k in range(derivatives.cols) if not derivatives[:, k].has(*self._fibre)]
        matrix = derivatives[:, straight]
        if not straight or not rows:
            return None
        try:
            block = self._conditions.anatomy.kernel.lower(list(matrix))
        except ModelError:  # not expressible on the graph
            return None
        values = self._conditions.values(block, self._conditions.consistent)
        numbers = values[:, :, 0].reshape(-1, *matrix.shape)
        finite = [value for value in numbers if np.all(np.isfinite(value))]
        if not finite:
            return None
        independent = [int(k) for k in rank(finite[0], GENERIC).independent]
        pivots = [int(k) for k in rank(finite[0][independent].T, GENERIC).independent]
        dependent = [self._fibre[straight[k]] for k in pivots]
        nothing = dict.fromkeys(dependent, sympy.S.Zero)
        rest = sympy.Matrix([-rows[k].xreplace(nothing) for k in independent])
        try:
            solved = eliminated(matrix.extract(independent, pivots), rest, Work(EFFORT))
        except TooMuchWorkError:  # too long to decide
            return None
        return dict(zip(dependent, solved, strict=True))

    def _velocity_level(self, constraint: Constraint) -> sympy.Expr:
        expression = constraint.expression
        if constraint.is_position_level:
            pairs = zip(self.system.coordinates, self.system.velocities, strict=True)
            rates = (sympy.diff(expression, q) * v for q, v in pairs)
            expression = sympy.Add(sympy.diff(expression, t), *rates)
        return self._own(expression)

    def _on_image(self, field: sympy.MatrixBase) -> bool | None:
        """Whether brackets of the field with the columns of the image are combinations of them."""
        image, q = self.system.image, sympy.Matrix(self.system.coordinates)
        assert image is not None
        velocities = sympy.Matrix([self._own(image.velocities[symbol]) for symbol in q])
        frame = velocities.jacobian(list(image.speeds))
        columns_of_frame = [frame[:, j] for j in range(frame.cols)]
        brackets = [field.jacobian(q) * X - X.jacobian(q) * field for X in columns_of_frame]
        if all(vanishes(entry) is True for bracket in brackets for entry in bracket):
            return True
        block = self._conditions.anatomy.kernel.lower(list(frame))
        values = self._conditions.values(block, self._conditions.consistent)
        numbers = values[0, :, 0].reshape(frame.shape)
        columns = [int(k) for k in rank(numbers.T, GENERIC).independent]
        pivots = [int(k) for k in rank(numbers[:, columns], GENERIC).independent]
        inner, unit = frame.extract(pivots, columns), sympy.eye(len(pivots))
        try:
            inverse = eliminated(inner, unit, Work(EFFORT))
        except TooMuchWorkError:  # too long to decide
            return None
        weights = [inverse * bracket.extract(pivots, [0]) for bracket in brackets]
        pairs = zip(brackets, weights, strict=True)
        rests = [bracket - frame[:, columns] * weight for bracket, weight in pairs]
        return _every(vanishes(entry) for rest in rests for entry in rest)


def _every(verdicts: Iterable[bool | None]) -> bool | None:
    found = list(verdicts)
    if any(verdict is False for verdict in found):
        return False
    return True if all(verdict is True for verdict in found) else None
