r"""The two-forms of a constrained system as formulas, in a chart of the user's momenta.

With fields X_1 .. X_k that span the constraints D, p(q, y) the covectors of M = FL(D) in the chart
(q, y), P = dp/dq,

    Omega_M = [ P - P^T   p_y ],    H = span {(X_a, 0), (0, d/dy_s)}     (Bloch 5.9.3, 5.9.23)
              [ -p_y^T     0  ]
    Omega_H = [ T     N ],    T = X^T (P - P^T) X,   N = X^T p_y         (5.9.4, 5.9.24)
              [ -N^T  0 ]
    i_X Omega_H = dH:     v = X a,  N^T a = dH/dy,  N y_dot = -T a - X^T (dH/dq - Q)

Where y_a = <p, X_a>, N = 1 and T_ab = <p, [X_a, X_b]>. For invariant fields, those along the orbits
X_1 .. X_m first, V and H is spanned by these, and

    U = H and (V and H)^perp = span {X_a - T_ca d/dp_c, d/dy_al}         (5.9.25, 5.9.39)
    H_bar = rho_* U,   Omega_Hbar = Omega on U,   i_X Omega_Hbar = dh    (5.9.26, 5.9.27)

where c counts the section and al the other fields: to lie in U is the momentum equation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.tree import TreeAlgebra
from ...errors import FormError, ModelError
from ...formulations.constraint_equations import velocity_level
from ...formulations.forms import lagrange
from ...formulations.independent_velocities import Reduction, choose_split
from ...formulations.reduction.bundle_equations import Bundle, bundle_of
from ...geometry.actions import Group
from ...geometry.vanishing import generic_rank, vanish
from ...model.scenario import Scenario
from ...model.symbols import Coordinate, Parameter, as_expression, t
from ...model.system import System
from ...presentation.formulas import Formula, Formulas
from ...presentation.typeset import symbol_latex
from ...typing import Values

__all__ = ["ReducedFormulas", "TwoFormFormulas", "two_form_formulas"]

#: A field on Q by coordinate, or a function of velocities and canonical momenta.
MomentumLike: TypeAlias = "Values | sympy.Expr"

ZERO = sympy.Integer(0)


@dataclass(frozen=True, eq=False, repr=False)
class _Written:
    """A record that prints its formulas."""

    @property
    def formulas(self) -> Formulas:
        """The formulas, a line each."""
        raise NotImplementedError

    def text(self) -> str:
        """The formulas as plain text."""
        return self.formulas.text()

    def latex(self) -> str:
        """The formulas as a LaTeX ``aligned`` environment."""
        return self.formulas.latex()

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


@dataclass(frozen=True, eq=False, repr=False)
class ReducedFormulas(_Written):
    """The two-form on the quotient by a group; s shape coordinates, m momenta of the section.

    Attributes
    ----------
    chart : tuple of symbols (s + k,)
        Shape coordinates r, then all momenta y.
    orthogonal : matrix (n + k x 2k - m)
        U in the chart (q, y): the fields that are tangent to the momentum equation, then d/dy_al.
    directions : matrix (s + k x d)
        A basis of H_bar in the chart.
    form : matrix (d x d)
        Omega_Hbar in it.
    hamiltonian : expression
        h(r, y).
    rates : matrix (s + k x 1)
        The reduced equations: the rates of the chart.
    """

    chart: tuple[sympy.Symbol, ...]
    orthogonal: sympy.Matrix
    directions: sympy.Matrix
    form: sympy.Matrix
    hamiltonian: sympy.Expr
    rates: sympy.Matrix

    @property
    def formulas(self) -> Formulas:
        """U, H_bar, the reduced two-form, h and the reduced equations."""
        lines = [
            Formula("U", "U", self.orthogonal),
            Formula("H_bar", r"\bar H", self.directions),
            Formula("Omega_Hbar", r"\Omega_{\bar H}", self.form),
            Formula("h", "h", self.hamiltonian),
        ]
        return Formulas((*lines, *_rate_lines(self.chart, self.rates)))


@dataclass(frozen=True, eq=False, repr=False)
class TwoFormFormulas(_Written):
    """Omega_M and Omega_H as formulas; n coordinates, k momenta.

    Attributes
    ----------
    coordinates, momenta : tuples of symbols (n,), (k,)
        The chart (q, y) of M.
    frame : matrix (n x k)
        X_a, which span D.
    covector : matrix (n x 1)
        p(q, y): how M lies in T*Q.
    hamiltonian : expression
        H_M(q, y).
    whole : matrix (n + k x n + k)
        Omega_M.
    restricted : matrix (2k x 2k)
        Omega_H in the frame (X_a, 0), (0, d/dy_s).
    rates : matrix (n + k x 1)
        The equations of motion in the chart.
    reduced : ReducedFormulas or None
        On the quotient, where a group was given.
    """

    coordinates: tuple[Coordinate, ...]
    momenta: tuple[sympy.Symbol, ...]
    frame: sympy.Matrix
    covector: sympy.Matrix
    hamiltonian: sympy.Expr
    whole: sympy.Matrix
    restricted: sympy.Matrix
    rates: sympy.Matrix
    reduced: ReducedFormulas | None = None

    @property
    def chart(self) -> tuple[sympy.Symbol, ...]:
        """(q, y)."""
        return (*self.coordinates, *self.momenta)

    @property
    def formulas(self) -> Formulas:
        """The covectors of M, H_M, Omega_M, Omega_H and the equations; then the reduced ones."""
        momenta = [q.momentum for q in self.coordinates]
        lines = [Formula("D", "D", self.frame)]
        pairs = zip(momenta, self.covector, strict=True)
        lines += [Formula(f"dL/d{p.name[2:]}_dot", symbol_latex(p), value) for p, value in pairs]
        lines += [
            Formula("H_M", "H_M", self.hamiltonian),
            Formula("Omega_M", r"\Omega_M", self.whole),
            Formula("Omega_H", r"\Omega_H", self.restricted),
            *_rate_lines(self.chart, self.rates),
        ]
        return Formulas((*lines, *(self.reduced.formulas.lines if self.reduced else ())))


def _rate_lines(chart: Sequence[sympy.Symbol], rates: sympy.Matrix) -> list[Formula]:
    symbols = [q.dot if isinstance(q, Coordinate) else sympy.Symbol(f"{q.name}_dot") for q in chart]
    pairs = zip(symbols, rates, strict=True)
    return [Formula(symbol.name, symbol_latex(symbol), rate) for symbol, rate in pairs]


def two_form_formulas(
    system: System | Scenario,
    momenta: Mapping[str, MomentumLike] | None = None,
    group: Group | None = None,
) -> TwoFormFormulas:
    """Omega_M, Omega_H and, with a group, U and the reduced two-form, as formulas.

    Parameters
    ----------
    system : System or Scenario
        L = kinetic less potential energy, constraints linear in the velocities.
    momenta : mapping of name to a field, or to an expression
        The chart of M: fields X_a that span the constraints, {coordinate: component}, with y_a =
        <p, X_a>; or functions of the velocities and the canonical momenta `q.momentum`. By default
        the momenta y_q of independent velocities.
    group : as for `reduce`
        Divide it out; the momenta are then given by invariant fields, some of them along the
        orbits.

    Raises
    ------
    FormError
        Where the theory does not apply, or fields do not span the constraints or are not invariant.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> tilt = da.velocity(z.dot - y*x.dot, name="tilt")
    >>> kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    >>> particle = da.System([x, y, z], kinetic=kinetic, constraints=[tilt])
    >>> group = {"u": {x: 1}, "w": {z: 1}}
    >>> found = two_form_formulas(particle, {"p": {x: 1, z: y}, "p_y": {y: 1}}, group)
    >>> found.restricted[0, 1], found.hamiltonian
    (-p*y/(y**2 + 1), p**2/(2*(y**2 + 1)) + p_y**2/2)
    >>> print(found.reduced)
    U =
        [1, 0, 0]
        [0, 1, 0]
        [y, 0, 0]
        [0, p*y/(y**2 + 1), 0]
        [0, 0, 1]
    H_bar =
        [1, 0]
        [p*y/(y**2 + 1), 0]
        [0, 1]
    Omega_Hbar =
        [0, 1]
        [-1, 0]
    h = p**2/(2*(y**2 + 1)) + p_y**2/2
    y_dot = p_y
    p_dot = p*p_y*y/(y**2 + 1)
    p_y_dot = 0
    """
    stated = system.system if isinstance(system, Scenario) else system
    chart = _FormulaChart(stated, momenta)
    found = TwoFormFormulas(
        stated.coordinates,
        chart.y,
        chart.frame,
        chart.covector,
        chart.hamiltonian,
        chart.whole,
        chart.restricted,
        chart.rates,
        None if group is None else _reduced(chart, bundle_of(stated, group)),
    )
    return found


class _FormulaChart:
    """M = FL(D) in the chart (q, y), written with SymPy."""

    def __init__(self, system: System, momenta: Mapping[str, MomentumLike] | None) -> None:
        self.system, algebra = system, TreeAlgebra()
        self.lagrangian, on_velocities = lagrange.lagrangian_and_momenta(system, algebra)
        self.q, self.v = list(system.coordinates), list(system.velocities)
        still = dict.fromkeys(self.v, ZERO)
        self.metric = sympy.Matrix(on_velocities).jacobian(self.v).applyfunc(simplify)
        self.rows = sympy.zeros(0, len(self.q))
        if system.bilateral:
            level = velocity_level(system, algebra, on_velocities)
            residual = sympy.Matrix(level.residual)
            self.rows = residual.jacobian(self.v)
            self._require_linear(list(residual.xreplace(still)), list(self.rows))
        at_rest = sympy.Matrix(on_velocities).xreplace(still)
        self._require_linear(list(at_rest), list(self.metric))
        self.potential = -simplify(_scalar(self.lagrangian).xreplace(still))
        self.force = sympy.Matrix(lagrange.applied_force(system, algebra, on_velocities))
        self.y, self.frame, self.by_velocity = self._momenta(momenta, on_velocities)

    def _require_linear(self, at_rest: Sequence[Any], coefficients: Sequence[Any]) -> None:
        """Nothing of first order at rest, and coefficients free of velocities and time."""
        moving = {*self.v, t}
        derivatives = [sympy.diff(e, s) for e in coefficients for s in e.free_symbols & moving]
        left = [e for e in (*at_rest, *derivatives) if e != 0]
        if not vanish(left).holds_to_rounding:
            what = "The two-forms need L = kinetic less potential energy and linear constraints"
            raise FormError(what, str(left[0])[:80], "use restricted_two_form at one state")

    def _momenta(
        self, momenta: Mapping[str, MomentumLike] | None, on_velocities: Any
    ) -> tuple[tuple[sympy.Symbol, ...], sympy.Matrix, sympy.Matrix]:
        """The symbols y, the frame of D, and dy/dv on it."""
        k = len(self.q) - generic_rank(self.rows) if self.rows.rows else len(self.q)
        if momenta is not None and len(momenta) != k:
            remedy = f"give {k} fields or functions, one for each velocity that the constraints"
            raise ModelError(
                "The momenta are no chart", f"{len(momenta)} of {k}", f"{remedy} allow"
            )
        given = dict(momenta or {})
        if given and all(isinstance(value, Mapping) for value in given.values()):
            frame = sympy.Matrix.hstack(*(self._field(value) for value in given.values()))
            by_velocity = frame.T * self.metric
        else:
            split = choose_split(self.system)
            frame = sympy.Matrix(Reduction(self.system, TreeAlgebra(), split).frame)
            frame = frame.applyfunc(simplify)
            by_velocity = frame.T * self.metric
            if given:
                values = dict(zip(self.system.momenta, sympy.Matrix(on_velocities), strict=True))
                column = [as_expression(value).xreplace(values) for value in given.values()]
                by_velocity = sympy.Matrix(column).jacobian(self.v)
            else:
                given = {f"y_{self.q[place].name}": None for place in split.independent}
        if self.rows.rows and not vanish(list(self.rows * frame)).holds_to_rounding:
            raise FormError("A field of the momenta leaves the constraints", ", ".join(given))
        if generic_rank(frame) < k or generic_rank(by_velocity * frame) < k:
            raise FormError("The momenta depend on each other on the constraints", ", ".join(given))
        return tuple(Parameter(str(name)) for name in given), frame, by_velocity

    def _field(self, components: Values) -> sympy.Matrix:
        table = {str(getattr(q, "name", q)): as_expression(e) for q, e in components.items()}
        strange = [name for name in table if name not in {q.name for q in self.q}]
        if strange:
            raise ModelError(f"The system has no coordinate `{strange[0]}`")
        return sympy.Matrix([table.get(q.name, ZERO) for q in self.q])

    @cached_property
    def inverse(self) -> sympy.Matrix:
        """w with v = X w y, (k x k)."""
        table = (self.by_velocity * self.frame).applyfunc(simplify)
        return (table.adjugate() / table.det(method="berkowitz")).applyfunc(simplify)

    @cached_property
    def covector(self) -> sympy.Matrix:
        """p(q, y)."""
        table = (self.metric * self.frame * self.inverse).applyfunc(simplify)
        return table * sympy.Matrix(self.y)

    @cached_property
    def hamiltonian(self) -> sympy.Expr:
        """H_M = 1/2 v M v + V at v = X w y."""
        lifted = self.frame * self.inverse
        table = (lifted.T * self.metric * lifted).applyfunc(simplify)
        total, half = self.potential, sympy.Rational(1, 2)
        for a, first in enumerate(self.y):
            total += half * table[a, a] * first**2
            for b in range(a + 1, len(self.y)):
                total += table[a, b] * first * self.y[b]
        return total

    @cached_property
    def _by_momenta(self) -> sympy.Matrix:
        return self.covector.jacobian(list(self.y))

    @cached_property
    def whole(self) -> sympy.Matrix:
        """Omega_M."""
        bend, k = self.covector.jacobian(self.q), len(self.y)
        turning = (bend - bend.T).applyfunc(simplify)
        above = sympy.Matrix.hstack(turning, self._by_momenta)
        return above.col_join(sympy.Matrix.hstack(-self._by_momenta.T, sympy.zeros(k, k)))

    @cached_property
    def turning(self) -> sympy.Matrix:
        """T, (k x k)."""
        n = len(self.q)
        return (self.frame.T * self.whole[:n, :n] * self.frame).applyfunc(simplify)

    @cached_property
    def pairing(self) -> sympy.Matrix:
        """N = X^T p_y, (k x k)."""
        return (self.frame.T * self._by_momenta).applyfunc(simplify)

    @cached_property
    def restricted(self) -> sympy.Matrix:
        """Omega_H."""
        k = len(self.y)
        above = sympy.Matrix.hstack(self.turning, self.pairing)
        return above.col_join(sympy.Matrix.hstack(-self.pairing.T, sympy.zeros(k, k)))

    @cached_property
    def speeds(self) -> sympy.Matrix:
        """a = N^-T dH/dy, (k x 1); it is w y."""
        return (self.inverse * sympy.Matrix(self.y)).applyfunc(simplify)

    @cached_property
    def momentum_rates(self) -> sympy.Matrix:
        """y_dot, (k x 1)."""
        derivatives = sympy.Matrix([self.hamiltonian.diff(q) for q in self.q])
        velocities = dict(zip(self.v, self.frame * self.speeds, strict=True))
        push = self.force.xreplace(velocities) - derivatives
        # N y_dot = X^T (Q - dH/dq) - T a, from the half of the form along the fields.
        right = self.frame.T * push - self.turning * self.speeds
        if self.pairing != sympy.eye(len(self.y)):
            right = self.pairing.LUsolve(right)
        return right.applyfunc(lambda e: simplify(e, collected=self.y))

    @cached_property
    def rates(self) -> sympy.Matrix:
        """The rates of the chart."""
        return (self.frame * self.speeds).applyfunc(simplify).col_join(self.momentum_rates)


def _scalar(block: Any) -> Any:
    return block[0] if isinstance(block, sympy.MatrixBase) else block


# -- the quotient ----------------------------------------------------------------------------------


def _reduced(chart: _FormulaChart, bundle: Bundle) -> ReducedFormulas:
    """U, H_bar and the form on it, from the fields along the orbits and the others."""
    n, k, shape = len(chart.q), len(chart.y), list(bundle.shape)
    section = [a for a in range(k) if all(chart.frame[j, a] == 0 for j in shape)]
    m = bundle.section.shape[1]
    if chart.pairing != sympy.eye(k) or len(section) != m:
        raise FormError(
            "The quotient needs momenta along fields, those of the section among them",
            f"{len(section)} fields along the orbits, which allow {m}",
            "give {name: {coordinate: component}} with a basis of the allowed orbit directions",
        )
    base = chart.frame.extract(shape, list(range(k)))
    functions = [*base, *chart.turning, chart.hamiltonian, *chart.momentum_rates]
    algebra = GraphAlgebra()
    block = algebra.vector(functions)
    if not algebra.independence(block, algebra.vector(bundle.group_symbols)).holds_to_rounding:
        what = "The fields of the momenta are not invariant under the group"
        raise FormError(what, remedy="give left-invariant fields with components of the shape")
    at = dict(bundle.identity)
    T = chart.turning.xreplace(at).applyfunc(simplify)
    others = [a for a in range(k) if a not in section]
    columns, inside = [], []
    for a in range(k):
        bent = sympy.Matrix([-T[c, a] if c in section else ZERO for c in range(k)])
        columns.append(chart.frame.col(a).col_join(bent))
        inside.append(sympy.eye(k).col(a).col_join(bent))
    for a in others:
        columns.append(sympy.zeros(n, 1).col_join(sympy.eye(k).col(a)))
        inside.append(sympy.zeros(k, 1).col_join(sympy.eye(k).col(a)))
    orthogonal, lifted = sympy.Matrix.hstack(*columns), sympy.Matrix.hstack(*inside)
    whole = lifted.T * _form(T) * lifted
    below = orthogonal.extract([*shape, *range(n, n + k)], list(range(2 * k - m))).xreplace(at)
    kept: list[int] = []
    for j in [*others, *range(k, 2 * k - m), *section]:
        wider = below.extract(list(range(below.rows)), [*kept, j])
        if generic_rank(wider) == len(kept) + 1:
            kept.append(j)
    directions = below.extract(list(range(below.rows)), kept)
    rates = (base * chart.speeds).col_join(chart.momentum_rates).xreplace(at)
    return ReducedFormulas(
        (*bundle.shape_symbols, *chart.y),
        orthogonal,
        directions,
        whole.extract(kept, kept).applyfunc(simplify),
        chart.hamiltonian.xreplace(at),
        rates.applyfunc(lambda e: simplify(e, collected=chart.y)),
    )


def _form(turning: sympy.Matrix) -> sympy.Matrix:
    k = turning.rows
    above = sympy.Matrix.hstack(turning, sympy.eye(k))
    return above.col_join(sympy.Matrix.hstack(-sympy.eye(k), sympy.zeros(k, k)))
