r"""The connection of a system with symmetry: mechanical, kinematic or both (Bloch 3.8, 5.5).

A velocity splits into a part along the orbit and a horizontal one, which obeys the constraints and
is orthogonal to S = D n T Orb in the kinetic metric. In shape coordinates r and body velocities xi
= g^-1 g_dot,

    A(q) q_dot = Ad_g (xi + A_loc(r) r_dot),  xi = -A_loc(r) r_dot + Gamma(r) p     (5.5.16, 5.5.23)

with the momenta p_b = <l_xi, e_b(r)> along a section e of S. The cases (Table 5.5.1) are told
apart:

| kind | S | connection |
| --- | --- | --- |
| unconstrained | all of T Orb | I^-1 J, the mechanical connection |
| purely kinematic | 0 | the constraints themselves |
| horizontal symmetries | the orbit of a subgroup H | constraints and conserved momenta J_H |
| general | depends on the shape, or turns along the group | constraints and the momentum equation |

Index conventions are those of `dalembert.geometry.principal_connections`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.lowest_terms import eliminated
from ...algebra.simplify.simplifier import simplify
from ...algebra.simplify.trigonometric_ring import TooMuchWorkError
from ...algebra.tree import TreeAlgebra
from ...errors import ModelError
from ...formulations.forms import lagrange
from ...formulations.reduction.bundle_equations import Bundle, ReducedFunctions, bundle_of
from ...geometry.actions import Group
from ...geometry.group_coordinates import GroupCoordinates
from ...geometry.principal_connections import PrincipalConnection
from ...model.scenario import Scenario
from ...model.symbols import as_expression
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import ArrayLike, Ranges, Values, Vector
from ..anatomy import read_model
from ..sampling import generic_parameters
from ..tables import Section, as_html, as_markdown, as_text
from .connection_numbers import Decomposition, ShapeNumbers, ShapeValues, SpaceNumbers
from .momentum_maps import MomentumMap, momentum_map
from .rank_jumps import RankJump, rank_jumps

__all__ = ["Connection", "connection"]

#: How many configurations test equivariance.
PLACES = 4
#: Longer expressions are not made shorter, and the work that one may take.
MOST_OPERATIONS, EFFORT = 300, 80_000


@dataclass(frozen=True, eq=False, repr=False)
class Connection:
    """The connection of a system: k body velocities, s shape coordinates, m momenta, n = s + k.

    Formulas are SymPy matrices, made when first asked for; `at` and `split` give numbers without
    formulas.

    Attributes
    ----------
    bundle : Bundle
        The system with its group, frame and section.
    kind : str
        "unconstrained", "purely kinematic", "horizontal symmetries" or "general" (Table 5.5.1).
    parameters : mapping of name to value
        Those that a scenario brought along.
    """

    bundle: Bundle
    kind: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    # -- names -------------------------------------------------------------------------------------

    @property
    def system(self) -> System:
        """The system."""
        return self.bundle.system

    @property
    def shape(self) -> tuple[sympy.Symbol, ...]:
        """The shape coordinates r (s,)."""
        return tuple(self.system.coordinates[k] for k in self.bundle.shape)

    @property
    def basis(self) -> tuple[str, ...]:
        """The names of the body velocities (k,)."""
        return tuple(self.bundle.frame.fields)

    # -- formulas ----------------------------------------------------------------------------------

    @cached_property
    def local(self) -> sympy.ImmutableMatrix:
        """A_loc(r), (k x s)."""
        return self._solved[:, : len(self.shape)]

    @cached_property
    def momentum_lift(self) -> sympy.ImmutableMatrix:
        """Gamma(r), (k x m): the body velocity of each momentum while the shape rests."""
        return self._solved[:, len(self.shape) : -1]

    @cached_property
    def drift(self) -> sympy.ImmutableMatrix:
        """The body velocity (k x 1) that affine constraints prescribe."""
        return self._solved[:, -1]

    @cached_property
    def section(self) -> sympy.ImmutableMatrix:
        """e_b(r), (k x m)."""
        return sympy.ImmutableMatrix(self.bundle.section)

    @cached_property
    def locked_inertia(self) -> sympy.ImmutableMatrix:
        """I_loc(r), (m x m): the kinetic metric on the section."""
        tree = self._tree
        metric = tree.algebra.jacobian(tree.algebra.gradient(tree.lagrangian, tree.xi), tree.xi)
        return sympy.ImmutableMatrix((tree.section.T * metric * tree.section).applyfunc(_short))

    @cached_property
    def momentum(self) -> sympy.ImmutableMatrix:
        """p_b = <L_v, (e_b)_Q>, the nonholonomic momentum (m x 1) in coordinates and velocities."""
        _, momenta = lagrange.lagrangian_and_momenta(self.system, TreeAlgebra())
        fields = sympy.Matrix([list(column) for column in self.bundle.frame.fields.values()]).T
        return sympy.ImmutableMatrix(((fields * self.section).T * momenta).applyfunc(_short))

    @cached_property
    def group(self) -> GroupCoordinates:
        """The group coordinates with their frame, Ad_g and the generators of the action."""
        return self.bundle.group_coordinates

    @cached_property
    def principal(self) -> PrincipalConnection:
        """The principal connection: forms on the whole space, Cartan's equation."""
        return PrincipalConnection(self.group, self.shape, self.local, _short)

    @property
    def curvature(self) -> sympy.NDimArray:
        """B = dA - [A, A], an array (k, s, s) with B^a_{al be} at [a, al, be]."""
        return self.principal.curvature

    @property
    def curvature_swapped(self) -> sympy.NDimArray:
        """B in the index order of the reduced equations (5.9.53): the negative of `curvature`."""
        return self.principal.curvature_swapped

    @cached_property
    def lift_derivative(self) -> sympy.NDimArray:
        """F = dGamma/dr - [A, Gamma] (5.9.54), an array (k, m, s)."""
        return self.principal.covariant_derivative(self.momentum_lift)

    @property
    def horizontal_lift(self) -> sympy.MatrixBase:
        """Horizontal vectors over the shape velocities, in columns (n x s), shape first."""
        return self.principal.horizontal_lift

    def one_form(self, mu: Vector) -> sympy.MatrixBase:
        """alpha_mu = A^* mu, a row (1 x n) by shape and group coordinates (2.9.2)."""
        return self.principal.one_form([as_expression(value) for value in mu])

    def two_form(self, mu: Vector) -> sympy.MatrixBase:
        """B_mu, (n x n) by shape and group coordinates (2.9.3)."""
        return self.principal.two_form([as_expression(value) for value in mu])

    @cached_property
    def momentum_map(self) -> MomentumMap:
        """The momentum map of the group action, with the generators xi_Q of the frame."""
        fields, symbols = self.group.generators, self.group.symbols
        columns = ((name, fields[:, a]) for a, name in enumerate(self.basis))
        generators = {name: dict(zip(symbols, X, strict=True)) for name, X in columns}
        return replace(momentum_map(self.system, generators), parameters=self.parameters)

    @cached_property
    def _tree(self) -> ReducedFunctions:
        return ReducedFunctions(self.bundle, TreeAlgebra())

    @cached_property
    def _solved(self) -> sympy.ImmutableMatrix:
        """[A, Gamma, drift], (k x s + m + 1): the solution of N X = [R, (0, 1), -c]."""
        tree, k, m = self._tree, len(self.basis), self.bundle.section.shape[1]
        algebra = tree.algebra
        rows = self.bundle.rows
        held = algebra.part(tree.residual, rows, [0]) if rows else algebra.zeros(0)
        momenta = tree.section.T * algebra.gradient(tree.lagrangian, tree.xi)
        conditions = algebra.stack([held, momenta])
        still = dict.fromkeys((*tree.xi, *tree.shape_velocities), sympy.S.Zero)
        matrix = algebra.jacobian(conditions, tree.xi).applyfunc(sympy.expand)
        by_shape = algebra.jacobian(conditions, tree.shape_velocities)
        unit = algebra.stack([algebra.zeros(k - m, m), sympy.eye(m)])
        right = algebra.columns([by_shape, unit, -conditions.xreplace(still)])
        right = right.applyfunc(sympy.expand)
        try:
            return sympy.ImmutableMatrix(eliminated(matrix, right).applyfunc(_short))
        except TooMuchWorkError:
            size = sum(entry.count_ops() for entry in matrix)
            what = "This connection is too large to be written out"
            seen = f"a matrix of {k} x {k} with {size} operations"
            remedy = "ask for its values: connection.at({...}, parameters={...})"
            raise ModelError(what, seen, remedy) from None

    # -- numbers -----------------------------------------------------------------------------------

    def at(self, shape: Values | None = None, parameters: Values | None = None) -> ShapeValues:
        """A, Gamma, e, I_loc, B and F at a shape, without formulas.

        Parameters
        ----------
        shape : mapping of symbol or name to value
            The shape coordinates on which they depend.
        parameters : mapping of symbol or name to value
        """
        return self._shape_numbers.at(numbers_by_name(self.parameters, shape, parameters))

    def split(
        self,
        configuration: Values,
        parameters: Values | None = None,
        complement: ArrayLike | None = None,
    ) -> Decomposition:
        """A = A^kin + A^sym at a configuration, as projections of velocities (5.5.20 to 5.5.26).

        Parameters
        ----------
        configuration : mapping of symbol or name to value
            All coordinates that occur.
        complement : array (k, k - m)
            Body velocities that span U; those orthogonal to S by default.
        """
        values = numbers_by_name(self.parameters, configuration, parameters)
        return self._space_numbers.at(values, complement)

    def equivariance(self, parameters: Values | None = None, seed: int = 23) -> float:
        """The largest difference between A(g q)(g v) and Ad_g A(q) v at random configurations.

        Each side is projected at its own configuration. With v given by r_dot and the body velocity
        xi, which g leaves alone, both are Ad (xi + A_loc r_dot).
        """
        random = np.random.default_rng(seed)
        values, worst = self._drawn(parameters, random), 0.0
        places = [self.system.coordinates[k].name for k in self.bundle.group]
        for _ in range(PLACES):
            shape = {q.name: float(random.uniform(0.3, 1.1)) for q in self.shape}
            forms = []
            for _ in range(2):
                group = {name: float(random.uniform(0.3, 1.1)) for name in places}
                found = self.split(shape | group, values)
                lifted = np.zeros((len(self.system.coordinates), len(self.shape)))
                lifted[list(self.bundle.shape)] = np.eye(len(self.shape))
                forms.append(found.body_form @ np.hstack([lifted, found.orbit]))
            worst = max(worst, float(np.max(np.abs(forms[0] - forms[1]), initial=0.0)))
        return worst

    def rank_jumps(
        self, parameters: Values | None = None, within: Ranges | None = None
    ) -> tuple[RankJump, ...]:
        """Shapes at which S = D n T Orb grows or the section degenerates, by a refined search.

        Parameters
        ----------
        within : mapping of shape coordinate to lower and upper end
            Where to look, from -pi to pi by default.
        """
        values = self._drawn(parameters, np.random.default_rng(5))
        region = {str(getattr(key, "name", key)): ends for key, ends in (within or {}).items()}
        return rank_jumps(self.bundle, values, region)

    def _drawn(self, parameters: Values | None, random: np.random.Generator) -> dict[str, float]:
        symbols = self.system.parameters
        given = dict(self.parameters) | numbers_by_name(parameters)
        values = generic_parameters(symbols, given, random)
        return {symbol.name: float(value) for symbol, value in zip(symbols, values, strict=True)}

    @cached_property
    def _shape_numbers(self) -> ShapeNumbers:
        return ShapeNumbers(self.bundle)

    @cached_property
    def _space_numbers(self) -> SpaceNumbers:
        return SpaceNumbers(self.bundle)

    # -- presentation ------------------------------------------------------------------------------

    def latex(self) -> str:
        """A_loc as a LaTeX matrix, rows by body velocity and columns by shape coordinate."""
        return str(sympy.latex(sympy.Matrix(self.local)))

    def text(self) -> str:
        """The connection, its curvature and its momenta, as plain text."""
        return as_text(self._title, self._sections())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        shape = ", ".join(q.name for q in self.shape)
        over = f"over ({shape}) with values in ({', '.join(self.basis)})"
        return f"<Connection of {self.system.name}: {self.kind}, {over}>"

    def _repr_html_(self) -> str:
        return as_html(self._title, self._sections())

    def _repr_markdown_(self) -> str:
        return as_markdown(self._title, self._sections())

    @property
    def _title(self) -> str:
        return f"Connection of {self.system.name}"

    def _sections(self) -> list[Section]:
        kind: Section = ("Kind", [("connection", f"{self.kind}: {_MEANING[self.kind]}")])
        try:
            return [kind, *self._formulas()]
        except ModelError as error:
            return [kind, ("A", [("formula", str(error))])]

    def _formulas(self) -> list[Section]:
        shape, names = [q.name for q in self.shape], list(enumerate(self.basis))
        momenta = list(enumerate(self.bundle.momenta))
        pairs = combinations(range(len(shape)), 2)
        lifted = [
            (f"{name}, {p.name}", self.momentum_lift[a, b]) for b, p in momenta for a, name in names
        ]
        bent = [
            (f"{name}, {shape[i]} {shape[j]}", self.curvature[a, i, j])
            for i, j in pairs
            for a, name in names
        ]
        rows = [
            (f"{name}, {q}", self.local[a, i]) for i, q in enumerate(shape) for a, name in names
        ]
        momentum = [(p.name, str(self.momentum[b])) for b, p in momenta]
        prescribed = list(zip(self.basis, self.drift, strict=True))
        return [
            ("A", _nonzero(rows)),
            ("Gamma", _nonzero(lifted)),
            ("Prescribed by affine constraints", _nonzero(prescribed)),
            ("Momenta", momentum),
            ("B = dA - [A, A]", _nonzero(bent)),
        ]


_MEANING = {
    "unconstrained": "the mechanical connection; the momentum map is conserved",
    "purely kinematic": "the constraints are the connection, and there is no momentum",
    "horizontal symmetries": "a subgroup moves along the constraints; its momentum is conserved",
    "general": "constraints together with a momentum equation",
}


def connection(
    system: System | Scenario,
    group: Group,
    *,
    section: Sequence[Vector] | None = None,
    identity: Values | None = None,
) -> Connection:
    """The connection that constraints and kinetic energy define on a system with a symmetry group.

    Parameters
    ----------
    system : System or Scenario
    group, section, identity
        As in `reduce`: left-invariant fields by the name of their speed, or an action; body
        velocities e_b(r) that the constraints allow at rest; the group element of the local form.

    Raises
    ------
    FormError
        Where the system is not invariant, or the constraints also bind the shape (5.5.24).

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> board = da.gallery.load("snakeboard")
    >>> x, y, theta, psi, phi = board.system.coordinates
    >>> se2 = {
    ...     "ahead": {x: cos(theta), y: sin(theta)},
    ...     "aside": {x: -sin(theta), y: cos(theta)},
    ...     "turn": {theta: 1},
    ... }
    >>> found = connection(board, se2)
    >>> found.kind
    'general'
    >>> print(found.local[:, 0].T)
    Matrix([[-J0*sin(phi)*cos(phi)/(m*r), 0, J0*sin(phi)**2/(m*r**2)]])
    """
    model, values, _ = read_model(system, None, None)
    bundle = bundle_of(model, group, section=section, identity=identity)
    return Connection(bundle, _kind(bundle), {name: float(value) for name, value in values.items()})


def _kind(bundle: Bundle) -> str:
    """The row of Table 5.5.1."""
    k, m = bundle.section.shape
    if not bundle.rows:
        return "unconstrained"
    if not m:
        return "purely kinematic"
    coordinates, algebra = bundle.system.coordinates, GraphAlgebra()
    reduced = ReducedFunctions(bundle, algebra)
    names = [f"{coordinates[place].name} elsewhere" for place in bundle.shape]
    elsewhere = algebra.vector([sympy.Dummy(name, real=True) for name in names])
    section = reduced.section
    moved = algebra.substitute(section, reduced.shape, elsewhere)
    # H leaves D invariant with G only where its Lie algebra is an ideal (the body sees Ad_{g^-1} h)
    constants = np.asarray(bundle.constants, dtype=float)
    brackets = [ca.DM(constants[a].T) @ section for a in range(k)]
    steady_ideal = algebra.rank(algebra.columns([section, moved, *brackets])).at_most == m
    return "horizontal symmetries" if steady_ideal else "general"


def _short(expression: sympy.Expr) -> sympy.Expr:
    """A shorter form of an expression, if it is not too long."""
    return simplify(expression, EFFORT) if expression.count_ops() <= MOST_OPERATIONS else expression


def _nonzero(lines: list[tuple[str, sympy.Expr]]) -> list[tuple[str, str]]:
    return [(label, str(value)) for label, value in lines if value != 0]
