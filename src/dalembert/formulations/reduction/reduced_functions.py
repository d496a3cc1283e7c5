r"""The functions of a system on D/G: Lagrangian, constraints and forces at the identity.

    l(r, r_dot, xi),     a_xi(r) xi + a_r(r) r_dot + a_0(r) = 0,     p_b = <l_xi, e_b(r)>,     xi =
    -A(r) r_dot + Gamma(r) p

(Bloch, Supplement 5.8). Everything is written over an algebra, so that the same lines give numbers
and formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import sympy

from ...algebra.structure import Verdict
from ...errors import FormError
from ...geometry.group_coordinates import GroupCoordinates
from ...geometry.lie import LieGroup
from ...model.symbols import Coordinate, Parameter, t
from ...model.system import System
from ..blocks import GaussBlocks, Projection
from ..constraint_equations import velocity_level
from ..forms import lagrange
from .group_frame import GroupFrame

if TYPE_CHECKING:
    from ...algebra.protocol import Algebra, Block

__all__ = ["Bundle", "ReducedFunctions"]


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
    matrices : LieGroup or None
        The group by matrices in the basis of the frame, where it was given with them.
    hypotheses : mapping of statement to Verdict
        What the reduction rests on.
    shape_rows : tuple of int
        Further constraints, which bind the shape once the others are solved for xi.
    """

    system: System
    frame: GroupFrame
    constants: Any
    group: tuple[int, ...]
    shape: tuple[int, ...]
    identity: Mapping[sympy.Symbol, sympy.Expr]
    section: sympy.Matrix
    rows: tuple[int, ...]
    matrices: LieGroup | None = None
    hypotheses: Mapping[str, Verdict] = field(default_factory=dict, repr=False, compare=False)
    shape_rows: tuple[int, ...] = ()

    @cached_property
    def group_coordinates(self) -> GroupCoordinates:
        """The group coordinates with their frame, Ad_g and the generators of the action."""
        symbols = self.group_symbols
        frame = sympy.ImmutableMatrix(
            [[column[k] for column in self.frame.fields.values()] for k in self.group]
        )
        names, unit = tuple(self.frame.fields), tuple(self.identity[symbol] for symbol in symbols)
        return GroupCoordinates(names, symbols, frame, self.constants, unit)

    @property
    def shape_row_names(self) -> tuple[str, ...]:
        """The names of the constraints that bind the shape."""
        return tuple(self.system.bilateral[place].name for place in self.shape_rows)

    @property
    def group_symbols(self) -> tuple[Coordinate, ...]:
        """The group coordinates g (k,)."""
        return tuple(self.system.coordinates[k] for k in self.group)

    @property
    def shape_symbols(self) -> tuple[Coordinate, ...]:
        """The shape coordinates r (s,)."""
        return tuple(self.system.coordinates[k] for k in self.shape)

    @property
    def speeds(self) -> tuple[Parameter, ...]:
        """xi."""
        return self.frame.speeds

    @property
    def momenta(self) -> tuple[Parameter, ...]:
        """p, one for each column of the section."""
        return tuple(Parameter(f"p_{k + 1}") for k in range(self.section.shape[1]))


class ReducedFunctions:
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

    def __init__(self, bundle: Bundle, algebra: Algebra, at_identity: bool = True) -> None:
        system = bundle.system
        self.bundle, self.at_identity = bundle, at_identity
        self.algebra: Any = algebra  # callers ask more of the algebra that they chose
        self.shape = algebra.vector([system.coordinates[k] for k in bundle.shape])
        self.shape_velocities = algebra.vector([system.velocities[k] for k in bundle.shape])
        self.shape_accelerations = algebra.vector(
            [system.coordinates[k].ddot for k in bundle.shape]
        )
        self.group = algebra.vector([system.coordinates[k] for k in bundle.group])
        self.xi, self.p, self.time = (
            algebra.vector(bundle.speeds),
            algebra.vector(bundle.momenta),
            algebra.vector([t]),
        )
        lagrangian, momenta = lagrange.lagrangian_and_momenta(system, algebra)
        level = velocity_level(system, algebra, momenta)
        applied = lagrange.applied_force(system, algebra, momenta)
        self.lagrangian, self.residual = self._reduced(lagrangian), self._reduced(level.residual)
        fields = [[field[k] for k in bundle.group] for field in bundle.frame.fields.values()]
        self.fields = algebra.columns([algebra.vector(field) for field in fields])
        on_group = self._reduced(self.fields.T @ algebra.part(applied, bundle.group, [0]))
        self.force = algebra.stack(
            [self._reduced(algebra.part(applied, bundle.shape, [0])), on_group]
        )

    def _reduced(self, block: Block) -> Any:
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
            raise FormError(
                "Reduction needs a kinetic energy quadratic in the velocities",
                remedy='use the form "lagrange"',
            )
        rest = algebra.substitute(conditions, self.xi, algebra.zeros(self.xi.shape[0]))
        return algebra.solve_square(matrix, -rest)

    def here(self, block: Block) -> Any:
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

    def coadjoint(self, covector: Block) -> Any:
        """<covector, [xi, e_a]> for each a, (k x 1), with xi on the constraints."""
        algebra, constants, k = self.algebra, self.bundle.constants, len(self.bundle.group)
        total = algebra.zeros(k)
        for d in range(k):
            table = algebra.stack(
                [
                    algebra.vector([_number(constants[d, a, c]) for c in range(k)]).T
                    for a in range(k)
                ]
            )
            total = total + (table @ covector) @ algebra.part(self.body_velocity, [d], [0])
        return total

    @cached_property
    def momentum_rate(self) -> Any:
        """p_dot(r, r_dot, p), (m x 1): the momentum equation."""
        algebra = self.algebra
        derivative = self.here(algebra.gradient(self.lagrangian, self.xi))
        k, count = self.section.shape
        on_body = self.here(
            algebra.part(self.force, range(len(self.bundle.shape), self.force.shape[0]), [0])
        )
        rate = self.section.T @ (self.coadjoint(derivative) + on_body)
        turned = [
            algebra.along(
                algebra.part(self.section, range(k), [b]), self.shape, self.shape_velocities
            ).T
            @ derivative
            for b in range(count)
        ]
        return rate + algebra.stack(turned) if turned else rate

    def rate(self, block: Block) -> Block:
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
        body_balance = (
            self.rate(on_body)
            - self.coadjoint(on_body)
            - algebra.part(force, range(s, force.shape[0]), [0])
        )
        return (
            self.rate(on_shape)
            - self.here(algebra.gradient(self.lagrangian, self.shape))
            - algebra.part(force, range(s), [0])
            - self.connection.T @ body_balance
        )

    @cached_property
    def shape_constraints(self) -> Any:
        """b(r) r_dot + b_0(r) = 0, (c x 1): what constraints say of the shape without xi."""
        algebra, bundle = self.algebra, self.bundle
        if not bundle.shape_rows:
            return algebra.zeros(0)
        residual = algebra.part(self.residual, bundle.shape_rows, [0])
        if bundle.rows:
            solved = algebra.part(self.residual, bundle.rows, [0])
            mine, theirs = (algebra.jacobian(block, self.xi) for block in (residual, solved))
            residual = residual - mine @ theirs.T @ algebra.solve(theirs @ theirs.T, solved)
        return algebra.substitute(residual, self.xi, algebra.zeros(self.xi.shape[0]))

    @cached_property
    def energy(self) -> Any:
        """l_xi . xi + l_rdot . r_dot - l, in r, r_dot and xi."""
        algebra = self.algebra
        return (
            algebra.inner(algebra.gradient(self.lagrangian, self.xi), self.xi)
            + algebra.inner(
                algebra.gradient(self.lagrangian, self.shape_velocities), self.shape_velocities
            )
            - self.lagrangian
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

    def blocks(self, reconstruct: bool) -> GaussBlocks:
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
        force = algebra.stack(
            [-algebra.substitute(self.shape_residual, z, still), self.momentum_rate]
        )
        unknowns = algebra.stack([z, momentum_rates])
        full = lagrange.derive_with(bundle.system, algebra)
        velocities, momenta, accelerations = self.shape_velocities, algebra.zeros(0), z
        reactions: dict[str, Any] = {}
        residual = algebra.zeros(0)
        outputs = {
            speed.name: algebra.part(self.body_velocity, [k], [0])
            for k, speed in enumerate(bundle.speeds)
        }
        if reconstruct:
            velocities = self._whole_velocities()
            accelerations = self.rate(velocities) + algebra.along(
                velocities, self.group, self._group_velocities
            )
            v = algebra.vector(bundle.system.velocities)
            momenta = algebra.substitute(full.momenta, v, velocities)
            mass, push = (
                algebra.substitute(block, v, velocities) for block in (full.metric, full.force)
            )
            reactions = {"constraints": mass @ accelerations - push}
            outputs = {
                name: algebra.substitute(value, v, velocities)
                for name, value in full.outputs.items()
            }
            residual = algebra.substitute(full.residuals[1], v, velocities)
        n, size = velocities.shape[0], s + m
        nothing = Projection(
            algebra.zeros(0), algebra.zeros(0, size), algebra.zeros(n + size, size)
        )
        held, right = nothing, algebra.zeros(0)
        if bundle.shape_rows:
            held, right = self._held_shape(unknowns, n)
            residual = residual if reconstruct else held.residual
        return GaussBlocks(
            stated_metric=metric,
            force=force,
            rows=held.rows,
            right=right,
            unknowns=unknowns,
            multipliers=algebra.vector([Parameter(f"mu_{x}") for x in bundle.shape_row_names]),
            rates=algebra.stack([velocities, unknowns]),
            velocities=velocities,
            accelerations=accelerations,
            momenta=momenta,
            energy=self.here(self.energy),
            reactions=reactions,
            position=nothing,
            velocity=held,
            residuals=(algebra.zeros(0), residual),
            outputs=outputs,
            section=self.section_minors,
        )

    def _held_shape(self, unknowns: Any, n: int) -> tuple[Projection, Any]:
        """The constraints on the shape beside n velocities, and their right-hand side."""
        algebra, bound = self.algebra, self.shape_constraints
        size, count = unknowns.shape[0], len(self.bundle.shape_rows)
        by_speed = algebra.jacobian(bound, self.shape_velocities)
        rows = algebra.columns([by_speed, algebra.zeros(count, len(self.bundle.momenta))])
        moved = algebra.along(bound, self.shape, self.shape_velocities)
        unit = algebra.jacobian(unknowns, unknowns)
        held = Projection(bound, rows, algebra.stack([algebra.zeros(n, size), unit]))
        return held, -(moved + algebra.jacobian(bound, self.time))

    @property
    def section_minors(self) -> Any | None:
        """The minors of order m of the section, a row: they vanish together where it degenerates.

        None where nothing can degenerate, without momenta or without constraints.
        """
        algebra, (k, m) = self.algebra, self.section.shape
        if m in (0, k) or not algebra.depends(self.section, self.shape):
            return None
        if m == 1:
            return self.section.T
        places = combinations(range(k), m)
        minors = [algebra.determinant(algebra.part(self.section, p, range(m))) for p in places]
        return algebra.columns([algebra.stack([minor]) for minor in minors])


def _number(value: float) -> sympy.Expr:
    return sympy.Integer(int(value)) if value == round(value) else sympy.Float(value)
