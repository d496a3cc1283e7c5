r"""Reduction by a symmetry group: the Lagrange-d'Alembert-Poincare equations on D/G.

A trivial bundle Q = S x G has shape coordinates r and group coordinates g with g_dot = e(g) xi, xi the body velocity. With the
Lagrangian l(r, r_dot, xi) and the constraints a_xi(r) xi + a_r(r) r_dot + a_0(r) = 0 at the identity, and a frame e_b(r) of the
body velocities that they allow at rest of the shape (the section of g^D),

    p_b = <l_xi, e_b>,     p_dot_b = <l_xi, [xi, e_b] + (d e_b/dr) r_dot> + <F, e_b>                        (Bloch 5.8, 5.9.52)
    d/dt l_rdot - l_r - A^T (d/dt l_xi - ad*_xi l_xi) = F_r - A^T F

with xi(r, r_dot, p) = -A(r) r_dot + Gamma(r) p (+ what an affine constraint prescribes), which solves

    [ a_xi ; e^T l_xixi ] xi = [ -a_r r_dot - a_0 ; p - e^T (l_xir r_dot + ...) ],

so that A is the nonholonomic connection: the mechanical one without constraints, the kinematic one where they leave no
momentum. The group coordinates do not occur. With ``reconstruct=True`` they are carried along, g_dot = e(g) xi, and the motion
is that of the whole system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra, numeric_rank
from ..errors import FormError
from ..model.constraints import HolonomicConstraint
from ..model.reduced import ReducedSystem
from ..model.symbols import Parameter, as_expression, t
from ..model.system import System
from . import lagrange
from .blocks import Blocks, Projection
from .equations import Equations
from .group_frame import GroupFrame, given_frame, structure_constants
from .presentation import tidy
from .rows import velocity_level

__all__ = ["Bundle", "Reduced", "bundle_of", "equations_on", "reduce"]

CITATION = "Lagrange-d'Alembert-Poincare equations (Bloch et al. sections 5.8, 5.9)"

ZERO = sympy.Integer(0)
#: Where the section of g^D is judged: generic shapes.
SAMPLES = 12


@dataclass(frozen=True)
class Bundle:
    """A system with a group that acts on some of its coordinates.

    Attributes
    ----------
    system : System
    frame : GroupFrame
        Left-invariant fields on the group coordinates: g_dot = frame @ xi.
    constants : array (k, k, k)
        [e_a, e_b] = constants[a, b, :] . e.
    group, shape : tuples of int
        Places of their coordinates.
    identity : mapping of coordinate to number
        The group element at which the reduced functions are taken.
    section : matrix (k x m) of expressions of the shape
        e_b(r), the body velocities that the constraints allow while the shape rests.
    rows : tuple of int
        Independent constraints.
    """

    system: System
    frame: GroupFrame
    constants: Any
    group: tuple[int, ...]
    shape: tuple[int, ...]
    identity: Mapping[sympy.Symbol, sympy.Expr]
    section: sympy.Matrix
    rows: tuple[int, ...]

    @property
    def speeds(self) -> tuple[Parameter, ...]:
        """xi."""
        return self.frame.speeds

    @property
    def momenta(self) -> tuple[Parameter, ...]:
        """p, one for each column of the section."""
        return tuple(Parameter(f"p_{k + 1}") for k in range(self.section.shape[1]))


def reduce(
    system: System,
    group: Mapping[Any, Mapping[Any, Any]] | Any,
    *,
    section: Sequence[Sequence[Any]] | None = None,
    identity: Mapping[Any, Any] | None = None,
    reconstruct: bool = False,
) -> Equations:
    """The equations of a system on D/G.

    Parameters
    ----------
    group : mapping of speed name to a mapping of coordinate to component
        Left-invariant vector fields on the group coordinates, one for each of them: q_dot = sum of speed times field. Or an
        object with such a mapping as its attribute `frame`.
    section : sequence of m body velocities, each with k components
        e_b(r), written in shape coordinates and parameters; found where it is not given.
    identity : mapping of group coordinate to number
        Where the reduced functions are taken; zero by default.
    reconstruct : bool
        Carry the group coordinates along.

    Raises
    ------
    FormError
        Where the Lagrangian, the constraints or the forces are not invariant, or the constraints also bind the shape.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> sleigh = da.gallery.load("chaplygin-sleigh").system
    >>> x, y, theta = sleigh.coordinates
    >>> se2 = {"ahead": {x: cos(theta), y: sin(theta)}, "aside": {x: -sin(theta), y: cos(theta)}, "turn": {theta: 1}}
    >>> print(reduce(sleigh, se2).state)
    (p_1, p_2)
    """
    return equations_on(bundle_of(system, group, section=section, identity=identity), reconstruct)


def equations_on(bundle: Bundle, reconstruct: bool) -> Equations:
    """The record of a bundle: without the group, or with it."""
    system = bundle.system
    shape = tuple(system.coordinates[k] for k in bundle.shape)
    momentum_rates = tuple(Parameter(f"{p.name}_dot") for p in bundle.momenta)
    outputs = {speed.name: speed for speed in bundle.speeds}
    model: Any = system if reconstruct else ReducedSystem(system, shape, outputs, bundle)
    places = system.coordinates if reconstruct else shape
    return Equations(
        system=model,
        form="lagrange-dalembert-poincare",
        citation=CITATION,
        state=(*places, *(q.dot for q in shape), *bundle.momenta),
        unknowns=(*(q.ddot for q in shape), *momentum_rates),
        row_names=(),
        derivation=lambda algebra: Reduced(bundle, algebra).blocks(reconstruct),
        start_form="lagrange" if reconstruct else None,
    )


# -- the bundle -----------------------------------------------------------------------------------------------------


def bundle_of(
    system: System,
    group: Any,
    *,
    section: Sequence[Sequence[Any]] | None = None,
    identity: Mapping[Any, Any] | None = None,
) -> Bundle:
    """A system with its group, every hypothesis of the reduction checked."""
    if system.image is not None or system.unilateral:
        raise FormError("Reduction needs two-sided constraints on velocities", remedy="state the constraints as velocity(...)")
    on_positions = [c.name for c in system.bilateral if isinstance(c, HolonomicConstraint)]
    if on_positions:
        raise FormError(
            "Reduction does not take constraints on positions",
            seen=", ".join(on_positions),
            remedy="eliminate a coordinate, or state the constraint by velocities",
        )
    frame = given_frame(system, getattr(group, "frame", group))
    constants = structure_constants(system, frame)
    if constants is None:
        raise FormError(
            "The vector fields of the group do not close with constant coefficients",
            seen=", ".join(frame.fields),
            remedy="give left-invariant fields of a Lie group",
        )
    places = frame.places(system)
    by_name = {str(getattr(k, "name", k)): as_expression(v) for k, v in (identity or {}).items()}
    unit = {system.coordinates[k]: by_name.get(system.coordinates[k].name, ZERO) for k in places}
    shape = tuple(k for k in range(len(system.coordinates)) if k not in places)
    bare = Bundle(system, frame, constants, places, shape, unit, sympy.zeros(len(places), 0), ())
    _check_invariance(bare)
    rows, found = _section(bare, search=section is None)
    if section is not None:
        found = sympy.Matrix([[as_expression(value) for value in column] for column in section]).T
        _check_section(bare, rows, found)
    return Bundle(system, frame, constants, places, shape, unit, found, rows)


def _check_invariance(bundle: Bundle) -> None:
    """L, the forces and the constraints must not depend on where on the group they are taken."""
    algebra = GraphAlgebra()
    here, there = Reduced(bundle, algebra), Reduced(bundle, algebra, at_identity=False)
    if not algebra.vanishes(here.lagrangian - there.lagrangian):
        raise FormError(
            "The Lagrangian is not invariant under the group",
            seen=", ".join(bundle.system.coordinates[k].name for k in bundle.group),
            remedy="choose a subgroup that leaves it invariant, see discover_symmetries",
        )
    if not algebra.vanishes(here.force - there.force):
        raise FormError("The forces are not invariant under the group", remedy="choose a subgroup that leaves them invariant")
    if here.residual.numel():
        letters = algebra.stack([here.shape_velocities, here.xi])
        if algebra.without(algebra.jacobian(here.residual, letters), letters) is None:
            raise FormError(
                "Reduction needs constraints that are affine in the velocities",
                seen="a constraint that is nonlinear in them",
                remedy='use the form "voronets"',
            )
        both = [_affine_rows(algebra, side.residual, letters) for side in (here, there)]
        if algebra.generic_rank(algebra.stack(both)) > algebra.generic_rank(both[0]):
            raise FormError(
                "The constraints are not invariant under the group",
                seen=", ".join(c.name for c in bundle.system.bilateral),
                remedy="choose a subgroup that leaves them invariant",
            )


def _affine_rows(algebra: Any, residual: Any, letters: Any) -> Any:
    """[a, a_0] of a residual a @ letters + a_0."""
    shift = algebra.substitute(residual, letters, algebra.zeros(letters.shape[0]))
    return algebra.columns([algebra.jacobian(residual, letters), shift])


def _section(bundle: Bundle, search: bool) -> tuple[tuple[int, ...], sympy.Matrix]:
    """Independent rows of a_xi, and a frame of its kernel as expressions of the shape."""
    from ..algebra.tree import TreeAlgebra

    k = len(bundle.group)
    algebra = GraphAlgebra()
    reduced = Reduced(bundle, algebra)
    if not reduced.residual.numel():
        return (), sympy.eye(k)
    slope = algebra.jacobian(reduced.residual, reduced.xi)
    whole = algebra.columns([slope, algebra.jacobian(reduced.residual, reduced.shape_velocities)])
    rank = algebra.generic_rank(slope)
    if algebra.generic_rank(whole) > rank:
        raise FormError(
            "The constraints also bind the shape: D and the group orbits do not span all directions (Bloch 5.5)",
            seen=f"rank {algebra.generic_rank(whole)} of the constraints, {rank} of them on the group",
            remedy="choose a larger group, so that its orbits and the allowed directions span all of them",
        )
    sample = _generic(algebra, slope)
    rows: list[int] = []
    for place in range(sample.shape[0]):
        if len(rows) < rank and numeric_rank(sample[[*rows, place]]) == len(rows) + 1:
            rows.append(place)
    if not search:
        return tuple(rows), sympy.zeros(k, 0)
    tree = Reduced(bundle, TreeAlgebra())
    written = tree.algebra.jacobian(tree.residual, tree.xi).extract(rows, list(range(k)))
    return tuple(rows), _kernel(written, sample[rows])


def _generic(algebra: GraphAlgebra, matrix: Any) -> Any:
    import casadi as ca

    function = ca.Function("rows", list(algebra.letters.values()), [ca.densify(matrix)])
    values = np.random.default_rng(9).uniform(0.3, 1.1, len(algebra.letters))
    return np.asarray(function.call(list(values))[0], dtype=float)


def _kernel(rows: sympy.Matrix, sample: Any) -> sympy.Matrix:
    """Columns that span the kernel of rows (m x k): by minors, so that they stay regular wherever the rows are independent.

    For one free direction it is the vector of signed minors. For more, each free component in turn is joined to the dependent
    ones, which are chosen at a generic shape.
    """
    count, k = rows.shape
    dependent: list[int] = []
    for place in range(k):
        if len(dependent) < count and numeric_rank(sample[:, [*dependent, place]]) == len(dependent) + 1:
            dependent.append(place)
    columns = []
    for free in (place for place in range(k) if place not in dependent):
        places = sorted([*dependent, free])
        column = [ZERO] * k
        for number, place in enumerate(places):
            others = [p for p in places if p != place]
            minor = rows.extract(list(range(count)), others).det(method="berkowitz") if others else sympy.Integer(1)
            column[place] = tidy((-1) ** number * minor)
        columns.append(column)
    return sympy.Matrix(columns).T if columns else sympy.zeros(k, 0)


def _check_section(bundle: Bundle, rows: tuple[int, ...], section: sympy.Matrix) -> None:
    algebra = GraphAlgebra()
    reduced = Reduced(bundle, algebra)
    k = len(bundle.group)
    columns = algebra.columns([algebra.vector(section.col(b)) for b in range(section.shape[1])])
    free = k - len(rows)
    fits = section.shape == (k, free) and algebra.generic_rank(columns) == free
    if fits and rows:
        fits = algebra.vanishes(algebra.jacobian(reduced.residual, reduced.xi) @ columns)
    if not fits:
        raise FormError(
            "The section does not span the body velocities that the constraints allow",
            seen=f"{section.shape[1]} columns of {section.shape[0]} components",
            remedy=f"give {free} independent ones with {k} components, in shape coordinates and parameters",
        )


# -- the equations ----------------------------------------------------------------------------------------------------


class Reduced:
    """The reduced functions of a bundle in one algebra, and the equations they give.

    Attributes
    ----------
    lagrangian : scalar
        l(r, r_dot, xi).
    residual : column
        The constraints, in r, r_dot and xi.
    force : column (n x 1)
        Applied forces: on the shape coordinates, then on the body velocities.
    """

    def __init__(self, bundle: Bundle, algebra: Any, at_identity: bool = True) -> None:
        system = bundle.system
        self.bundle, self.algebra, self.at_identity = bundle, algebra, at_identity
        self.shape = algebra.vector([system.coordinates[k] for k in bundle.shape])
        self.shape_velocities = algebra.vector([system.velocities[k] for k in bundle.shape])
        self.shape_accelerations = algebra.vector([system.coordinates[k].ddot for k in bundle.shape])
        self.group = algebra.vector([system.coordinates[k] for k in bundle.group])
        self.xi, self.p, self.time = algebra.vector(bundle.speeds), algebra.vector(bundle.momenta), algebra.vector([t])
        lagrangian, momenta = lagrange.lagrangian_and_momenta(system, algebra)
        level = velocity_level(system, algebra, momenta)
        applied = lagrange.applied_force(system, algebra, momenta)
        self.lagrangian, self.residual = self._reduced(lagrangian), self._reduced(level.residual)
        fields = [[field[k] for k in bundle.group] for field in bundle.frame.fields.values()]
        self.fields = algebra.columns([algebra.vector(field) for field in fields])
        on_group = self._reduced(self.fields.T @ algebra.part(applied, bundle.group, [0]))
        self.force = algebra.stack([self._reduced(algebra.part(applied, bundle.shape, [0])), on_group])

    def _reduced(self, block: Any) -> Any:
        """A block of q and q_dot in r, r_dot and xi, at the identity."""
        algebra, bundle = self.algebra, self.bundle
        fields = [[field[k] for k in bundle.group] for field in bundle.frame.fields.values()]
        matrix = algebra.columns([algebra.vector(field) for field in fields])
        velocities = algebra.vector([bundle.system.velocities[k] for k in bundle.group])
        block = algebra.substitute(block, velocities, matrix @ self.xi)
        if not self.at_identity:
            return block
        return algebra.substitute(block, self.group, algebra.vector(bundle.identity.values()))

    @cached_property
    def section(self) -> Any:
        """e_b(r), (k x m)."""
        algebra, table = self.algebra, self.bundle.section
        if not table.shape[1]:
            return algebra.zeros(table.shape[0], 0)
        return algebra.columns([algebra.vector(table.col(b)) for b in range(table.shape[1])])

    @cached_property
    def body_velocity(self) -> Any:
        """xi(r, r_dot, p), (k x 1)."""
        algebra = self.algebra
        momenta = self.section.T @ algebra.gradient(self.lagrangian, self.xi) - self.p
        held = algebra.part(self.residual, self.bundle.rows, [0])
        conditions = algebra.stack([held, momenta])
        matrix = algebra.without(algebra.jacobian(conditions, self.xi), self.xi)
        if matrix is None:
            raise FormError("Reduction needs a kinetic energy quadratic in the velocities", remedy='use the form "lagrange"')
        rest = algebra.substitute(conditions, self.xi, algebra.zeros(self.xi.shape[0]))
        return algebra.solve_square(matrix, -rest)

    def here(self, block: Any) -> Any:
        """A block of (r, r_dot, xi) on the constraints, in (r, r_dot, p)."""
        return self.algebra.substitute(block, self.xi, self.body_velocity)

    @cached_property
    def connection(self) -> Any:
        """A_loc(r), (k x s): xi = -A r_dot where p vanishes and nothing is prescribed."""
        return -self.algebra.jacobian(self.body_velocity, self.shape_velocities)

    @cached_property
    def momentum_lift(self) -> Any:
        """Gamma(r), (k x m): xi = Gamma p while the shape rests."""
        return self.algebra.jacobian(self.body_velocity, self.p)

    def coadjoint(self, covector: Any) -> Any:
        """<covector, [xi, e_a]> for each a, (k x 1), with xi on the constraints."""
        algebra, constants, k = self.algebra, self.bundle.constants, len(self.bundle.group)
        total = algebra.zeros(k)
        for d in range(k):
            table = algebra.stack([algebra.vector([_number(constants[d, a, c]) for c in range(k)]).T for a in range(k)])
            total = total + (table @ covector) @ algebra.part(self.body_velocity, [d], [0])
        return total

    @cached_property
    def momentum_rate(self) -> Any:
        """p_dot(r, r_dot, p), (m x 1): the momentum equation."""
        algebra = self.algebra
        slope = self.here(algebra.gradient(self.lagrangian, self.xi))
        k, count = self.section.shape
        on_body = self.here(algebra.part(self.force, range(len(self.bundle.shape), self.force.shape[0]), [0]))
        rate = self.section.T @ (self.coadjoint(slope) + on_body)
        turned = [
            algebra.along(algebra.part(self.section, range(k), [b]), self.shape, self.shape_velocities).T @ slope
            for b in range(count)
        ]
        return rate + algebra.stack(turned) if turned else rate

    def rate(self, block: Any) -> Any:
        """The time derivative of a column of (r, r_dot, p), affine in the shape accelerations."""
        algebra = self.algebra
        return (
            algebra.along(block, self.shape, self.shape_velocities)
            + algebra.along(block, self.shape_velocities, self.shape_accelerations)
            + algebra.along(block, self.p, self.momentum_rate)
            + algebra.jacobian(block, self.time)
        )

    @cached_property
    def shape_residual(self) -> Any:
        """The shape equations, (s x 1), affine in the shape accelerations."""
        algebra, s = self.algebra, len(self.bundle.shape)
        on_shape = self.here(algebra.gradient(self.lagrangian, self.shape_velocities))
        on_body = self.here(algebra.gradient(self.lagrangian, self.xi))
        force = self.here(self.force)
        body_balance = self.rate(on_body) - self.coadjoint(on_body) - algebra.part(force, range(s, force.shape[0]), [0])
        return (
            self.rate(on_shape)
            - self.here(algebra.gradient(self.lagrangian, self.shape))
            - algebra.part(force, range(s), [0])
            - self.connection.T @ body_balance
        )

    @cached_property
    def _group_velocities(self) -> Any:
        """g_dot = e(g) xi on the constraints, (k x 1)."""
        return self.fields @ self.body_velocity

    def _whole_velocities(self) -> Any:
        """q_dot by coordinate, (n x 1), in q, r_dot and p."""
        order = [*self.bundle.shape, *self.bundle.group]
        together = self.algebra.stack([self.shape_velocities, self._group_velocities])
        return self.algebra.part(together, [order.index(k) for k in range(len(order))], [0])

    def blocks(self, reconstruct: bool) -> Blocks:
        """The record: shape accelerations and momentum rates."""
        algebra, bundle = self.algebra, self.bundle
        s, m = len(bundle.shape), len(bundle.momenta)
        z = self.shape_accelerations
        momentum_rates = algebra.vector([Parameter(f"{p.name}_dot") for p in bundle.momenta])
        still = algebra.zeros(s)
        metric = algebra.stack(
            [
                algebra.columns([algebra.jacobian(self.shape_residual, z), algebra.zeros(s, m)]),
                algebra.columns([algebra.zeros(m, s), algebra.jacobian(self.p, self.p)]),
            ]
        )
        force = algebra.stack([-algebra.substitute(self.shape_residual, z, still), self.momentum_rate])
        unknowns = algebra.stack([z, momentum_rates])
        full = lagrange.derive_with(bundle.system, algebra)
        velocities, momenta, accelerations = self.shape_velocities, algebra.zeros(0), z
        reactions: dict[str, Any] = {}
        residual = algebra.zeros(0)
        outputs = {speed.name: algebra.part(self.body_velocity, [k], [0]) for k, speed in enumerate(bundle.speeds)}
        if reconstruct:
            velocities = self._whole_velocities()
            accelerations = self.rate(velocities) + algebra.along(velocities, self.group, self._group_velocities)
            v = algebra.vector(bundle.system.velocities)
            momenta = algebra.substitute(full.momenta, v, velocities)
            mass, push = (algebra.substitute(block, v, velocities) for block in (full.metric, full.force))
            reactions = {"constraints": mass @ accelerations - push}
            outputs = {name: algebra.substitute(value, v, velocities) for name, value in full.outputs.items()}
            residual = algebra.substitute(full.residuals[1], v, velocities)
        n, size = velocities.shape[0], s + m
        energy = (
            algebra.inner(algebra.gradient(self.lagrangian, self.xi), self.xi)
            + algebra.inner(algebra.gradient(self.lagrangian, self.shape_velocities), self.shape_velocities)
            - self.lagrangian
        )
        nothing = Projection(algebra.zeros(0), algebra.zeros(0, size), algebra.zeros(n + size, size))
        return Blocks(
            metric=metric,
            force=force,
            rows=algebra.zeros(0, size),
            right=algebra.zeros(0),
            unknowns=unknowns,
            multipliers=algebra.zeros(0),
            rates=algebra.stack([velocities, unknowns]),
            velocities=velocities,
            accelerations=accelerations,
            momenta=momenta,
            energy=self.here(energy),
            reactions=reactions,
            position=nothing,
            velocity=nothing,
            residuals=(algebra.zeros(0), residual),
            outputs=outputs,
        )


def _number(value: float) -> sympy.Expr:
    return sympy.Integer(int(value)) if value == round(value) else sympy.Float(value)
