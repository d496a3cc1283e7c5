r"""Mechanics on the tangent bundle without coordinates: P, Phi, Omega_L and codistributions.

Vectors a d/dq + b d/dv and one-forms a dq + b dv on TQ are columns (a; b) and rows (a, b) of 2n
expressions, components along q first.

    P (a d/dq + b d/dv) = a d/dv,    P* (a dq + b dv) = b dq,    Phi = v d/dv       (Bloch 5.3.4-9)
    X is second order just where P X = Phi                                          (5.3.10)
    Omega_L = -d (P* dL),   H_L = dL(Phi) - L,   Omega_L(X, Y) = X^T Omega Y        (5.3.11-13)
    i_X Omega_L = dH_L - F,   F = Q dq + lambda_i P* theta_i                        (5.3.15, 5.3.27)

The sign of F is that of a generalised force; the print has the opposite one. Forms theta_i = (a_i,
b_i) on TQ are *admissible* where rank b = rank [a b], so that their kernel contains second-order
fields, and *ideal* where theta_i(Phi) = b_i . v vanishes on the constraints: then the reactions
P* theta_i have no power (definitions 5.3.3, 5.3.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.structure import Verdict
from ...algebra.tree import TreeAlgebra
from ...algebra.tree_derivatives import partial_derivative
from ...errors import DalembertError, ModelError
from ...formulations.forms import lagrange
from ...formulations.independent_velocities import Reduction
from ...geometry.vanishing import vanish
from ...model.constraints import HolonomicConstraint
from ...model.scenario import Scenario
from ...model.symbols import as_expression, t
from ...model.system import System
from ...presentation.formulas import Formula, Formulas
from ...typing import Vector

if TYPE_CHECKING:
    from ...model.constraints import Constraint

__all__ = ["Codistribution", "TangentBundle", "tangent_bundle"]

#: Degrees of homogeneity that are tried for b . v = k f.
DEGREES = (1, 2, 3, 4)
#: Entries with more operations, or with floating numbers, stay as differentiation leaves them.
MOST_OPERATIONS = 40


@dataclass(frozen=True, eq=False)
class Codistribution:
    """One-forms theta_1 .. theta_m on TQ, and what they say about a mechanical system.

    Attributes
    ----------
    forms : matrix (m x 2n)
        theta_i as rows (a_i, b_i).
    reactions : matrix (m x 2n)
        P* theta_i, the directions of the reaction forces.
    admissible : Verdict
        Whether rank b = rank [a b] at almost all points.
    ideal : Verdict
        Whether theta_i(Phi) vanishes on the constraints of the system.
    """

    forms: sympy.Matrix
    reactions: sympy.Matrix
    admissible: Verdict
    ideal: Verdict


@dataclass(frozen=True, eq=False)
class TangentBundle:
    """The geometry of TQ that a Lagrangian system has; see the module's formulas.

    Attributes
    ----------
    system : System
    lagrangian : expression
        L(q, v).
    """

    system: System
    lagrangian: sympy.Expr

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """(q, v), (2n,)."""
        return (*self.system.coordinates, *self.system.velocities)

    @property
    def _n(self) -> int:
        return len(self.system.coordinates)

    # -- the tensors of TQ -------------------------------------------------------------------------

    @property
    def principal_matrix(self) -> sympy.Matrix:
        """P as a matrix on columns (2n x 2n); P* is its transpose."""
        n = self._n
        zero, unit = sympy.zeros(n, n), sympy.eye(n)
        return zero.row_join(zero).col_join(unit.row_join(zero))

    def principal(self, vector: Vector) -> sympy.Matrix:
        """P of a vector on TQ (2n x 1)."""
        return self.principal_matrix * self._column(vector)

    def pulled(self, form: Vector) -> sympy.Matrix:
        """P* of a one-form on TQ (1 x 2n)."""
        return self._column(form).T * self.principal_matrix

    @property
    def fundamental(self) -> sympy.Matrix:
        """Phi = v d/dv (2n x 1)."""
        return sympy.Matrix([*[0] * self._n, *self.system.velocities])

    def is_second_order(self, field: Vector) -> Verdict:
        """Whether P X = Phi."""
        return vanish(list(self.principal(field) - self.fundamental))

    def _column(self, entries: Vector) -> sympy.Matrix:
        found = sympy.Matrix([as_expression(entry) for entry in entries])
        if found.shape != (2 * self._n, 1):
            remedy = "give components along q, then along v"
            raise ModelError(f"TQ has {2 * self._n} components", f"{len(found)}", remedy)
        return found

    # -- the forms of the Lagrangian ---------------------------------------------------------------

    @cached_property
    def _gradient(self) -> list[sympy.Expr]:
        """dL, (2n,)."""
        return [partial_derivative(self.lagrangian, s) for s in self.symbols]

    @cached_property
    def momentum_form(self) -> sympy.Matrix:
        """P* dL = L_v dq (1 x 2n)."""
        return self.pulled(self._gradient)

    @cached_property
    def two_form(self) -> sympy.Matrix:
        """Omega_L = -d(P* dL) (2n x 2n)."""
        derivatives = TreeAlgebra().jacobian(self.momentum_form, sympy.Matrix(self.symbols))
        return (derivatives - derivatives.T).applyfunc(_shortened)

    @cached_property
    def energy(self) -> sympy.Expr:
        """H_L = dL(Phi) - L."""
        pairs = zip(self.fundamental, self._gradient, strict=True)
        power = sympy.Add(*(rate * derivative for rate, derivative in pairs))
        return _shortened(power - self.lagrangian)

    @cached_property
    def energy_form(self) -> sympy.Matrix:
        """dH_L (1 x 2n)."""
        return sympy.Matrix([[partial_derivative(self.energy, s) for s in self.symbols]])

    def contraction(self, field: Vector) -> sympy.Matrix:
        """i_X Omega_L (1 x 2n)."""
        return self._column(field).T * self.two_form

    def force_form(self, field: Vector) -> sympy.Matrix:
        """F = dH_L - i_X Omega_L (1 x 2n): the force that a motion along X needs.

        Its components along dv vanish where X is second order; along dq it is the applied force
        and the reactions lambda_i P* theta_i.
        """
        return (self.energy_form - self.contraction(field)).applyfunc(_shortened)

    # -- constraints -------------------------------------------------------------------------------

    @cached_property
    def constraint_forms(self) -> sympy.Matrix:
        """theta_i = df_i (m x 2n) of the two-sided constraints as they are stated.

        A constraint on positions gives (f_q, 0), which is not admissible.
        """
        rows = [
            [partial_derivative(self._function(c), s) for s in self.symbols]
            for c in self._bilateral
        ]
        return sympy.Matrix(rows) if rows else sympy.zeros(0, 2 * self._n)

    @property
    def _bilateral(self) -> tuple[Constraint, ...]:
        return tuple(self.system.bilateral)

    def _function(self, constraint: Constraint) -> sympy.Expr:
        momenta = [partial_derivative(self.lagrangian, v) for v in self.system.velocities]
        table = dict(zip(self.system.momenta, momenta, strict=True))
        found: sympy.Expr = constraint.expression.xreplace(table)
        return found

    def codistribution(self, forms: Sequence[Vector] | None = None) -> Codistribution:
        """Judge one-forms on TQ, those of the constraints by default.

        Parameters
        ----------
        forms : sequence of m rows with 2n components
        """
        table = self.constraint_forms
        if forms is not None:
            columns = [self._column(form) for form in forms]
            table = sympy.Matrix.hstack(*columns).T if columns else sympy.zeros(0, 2 * self._n)
        reactions = table * self.principal_matrix
        return Codistribution(table, reactions, self._admissible(table), self._ideal(table))

    def _admissible(self, table: sympy.Matrix) -> Verdict:
        if not table.rows:
            return Verdict("proved", "there are no forms", holds_to_rounding=True)
        algebra, n = GraphAlgebra(), self._n
        whole = algebra.stack([algebra.vector(list(table.row(k))).T for k in range(table.rows)])
        narrow = algebra.rank(whole[:, n:])
        found = algebra.rank(whole).is_at_most(narrow.value)
        if found.is_refuted and narrow.value != narrow.at_most:
            return Verdict("not established", f"rank b is {narrow.value} at least")
        return found

    def _ideal(self, table: sympy.Matrix) -> Verdict:
        """b . v = 0 on the constraints: b . v = k f, or zero where these are solved for."""
        powers = list(table * self.fundamental)
        functions = [self._function(c) for c in self._bilateral]
        left = []
        for power in powers:
            candidates = [power, *(power - k * f for f in functions for k in DEGREES)]
            if not any(vanish([candidate]).holds_to_rounding for candidate in candidates):
                left.append(power)
        if not left:
            return Verdict("proved", "b . v is a multiple of a constraint", holds_to_rounding=True)
        if any(isinstance(c, HolonomicConstraint) for c in self._bilateral):
            return Verdict("not established", "constraints on positions were not solved for")
        try:
            algebra = GraphAlgebra()
            reduction = Reduction(self.system, algebra)
            return algebra.vanishing(reduction.here(algebra.vector(left)))
        except DalembertError as error:
            return Verdict("not established", str(error))

    # -- presentation ------------------------------------------------------------------------------

    @property
    def formulas(self) -> Formulas:
        """P, Phi, Omega_L, H_L and the forms of the constraints."""
        lines = [
            Formula("P", "P", self.principal_matrix),
            Formula("Phi", r"\Phi", self.fundamental),
            Formula("P* dL", r"P^* dL", self.momentum_form),
            Formula("Omega_L", r"\Omega_L", self.two_form),
            Formula("H_L", "H_L", self.energy),
        ]
        if self.constraint_forms.rows:
            lines.append(Formula("theta", r"\theta", self.constraint_forms))
        return Formulas(tuple(lines))

    def latex(self) -> str:
        """The formulas as a LaTeX ``aligned`` environment."""
        return self.formulas.latex()

    def __str__(self) -> str:
        return self.formulas.text()

    def _repr_latex_(self) -> str:
        return self.formulas._repr_latex_()


def _shortened(entry: sympy.Expr) -> sympy.Expr:
    is_short = entry.count_ops() <= MOST_OPERATIONS and not entry.has(sympy.Float)
    return simplify(entry) if is_short else entry


def tangent_bundle(system: System | Scenario) -> TangentBundle:
    """P, P*, Phi, Omega_L, H_L and the constraint forms of a system, as formulas.

    Parameters
    ----------
    system : System or Scenario
        Its Lagrangian and its constraints do not depend on time.

    Raises
    ------
    ModelError
        Where they do.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> belt = da.velocity(x.dot - y - 1, name="belt")
    >>> particle = da.System([x, y], kinetic=(x.dot**2 + y.dot**2)/2, constraints=[belt])
    >>> found = tangent_bundle(particle)
    >>> found.energy, found.constraint_forms
    (x_dot**2/2 + y_dot**2/2, Matrix([[0, -1, 1, 0]]))
    >>> judged = found.codistribution()
    >>> judged.admissible.status, judged.ideal.status, judged.reactions
    ('proved', 'refuted', Matrix([[1, 0, 0, 0]]))
    >>> found.force_form([x.dot, y.dot, y.dot, 0])  # along the belt: x_ddot = y_dot
    Matrix([[y_dot, 0, 0, 0]])
    """
    stated = system.system if isinstance(system, Scenario) else system
    lagrangian: Any = lagrange.lagrangian_and_momenta(stated, TreeAlgebra())[0]
    scalar = lagrangian[0] if isinstance(lagrangian, sympy.MatrixBase) else lagrangian
    timed = [e for e in (scalar, *(c.expression for c in stated.bilateral)) if e.has(t)]
    if timed or stated.image is not None:
        seen = str(timed[0])[:60] if timed else "an image of speeds"
        remedy = "state constraints as velocity(...), without t"
        raise ModelError("The forms on TQ need a system without time", seen, remedy)
    return TangentBundle(stated, scalar)
