"""Independent velocities: those that the constraints leave free, and the others as functions.

The two-sided constraints f(q, v, t) = 0 are solved for as many velocities as they have independent
rows,

    v_D = phi(q, v_I, t)        (Rumyantsev 1.2)

where each constraint is affine in v_D. All forms without multipliers are written on this split;
they differ in how they reach the same equations for the accelerations of the independent
velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.structure import Verdict
from ..model.symbols import Parameter, t
from ..model.system import System
from .blocks import GaussBlocks, Projection
from .constraint_equations import velocity_level
from .equations import Equations
from .form import Form
from .forms import lagrange
from .velocity_splits import Split, choose_split

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..algebra.protocol import Algebra, Block

__all__ = [
    "FormSymbols",
    "Reduction",
    "Split",
    "choose_split",
    "reduced_equations",
    "velocity_symbols",
]


class Reduction:
    """A system on its independent velocities in one algebra: what forms without multipliers share.

    Attributes
    ----------
    velocities : column (n x 1)
        v(q, v_I, t), by coordinate.
    frame : matrix (n x k)
        d velocities / d v_I: the virtual displacements are frame @ anything.
    drift : column (n x 1)
        The accelerations that remain where the independent velocities are held: q_ddot = frame @ z
        + drift.
    """

    def __init__(self, system: System, algebra: Algebra, split: Split | None = None) -> None:
        self.system, self.split = system, split or choose_split(system)
        self.algebra: Any = algebra  # callers ask more of the algebra that they chose
        self.q, self.v, self.time = (
            algebra.vector(system.coordinates),
            algebra.vector(system.velocities),
            algebra.vector([t]),
        )
        self.independent = algebra.vector([system.velocities[k] for k in self.split.independent])
        self.dependent = algebra.vector([system.velocities[k] for k in self.split.dependent])
        self.z = algebra.vector([system.coordinates[k].ddot for k in self.split.independent])
        self.lagrangian, self.momenta_at_velocity = lagrange.lagrangian_and_momenta(system, algebra)
        self.level = velocity_level(system, algebra, self.momenta_at_velocity)
        self.solved = self._solve_dependent()
        order = [*self.split.independent, *self.split.dependent]
        together = algebra.stack([self.independent, self.solved])
        self.velocities: Any = algebra.part(
            together, [order.index(k) for k in range(len(order))], [0]
        )
        self.frame = algebra.jacobian(self.velocities, self.independent)
        self.drift = algebra.along(self.velocities, self.q, self.velocities) + algebra.jacobian(
            self.velocities, self.time
        )

    @classmethod
    def shared(cls, system: System, algebra: Algebra, split: Split) -> Reduction:
        """The reduction in an algebra, made once for all forms that are derived in it."""
        key = ("reduction", id(algebra), split)  # the reduction keeps its algebra, and so the id
        return system.cache.get(key, lambda: cls(system, algebra, split))

    @classmethod
    def asked(cls, system: System, split: Split | None = None) -> Reduction:
        """The reduction in a graph that is kept with the system, for questions of hypotheses."""
        algebra = system.cache.get("hypotheses", GraphAlgebra)
        return cls.shared(system, algebra, split or choose_split(system))

    def _solve_dependent(self) -> Block:
        """phi(q, v_I, t): the chosen rows are affine in the dependent velocities."""
        algebra, split = self.algebra, self.split
        if not split.dependent:
            return algebra.zeros(0)
        chosen = algebra.part(self.level.residual, split.rows, [0])
        matrix = algebra.jacobian(chosen, self.dependent)
        rest = algebra.substitute(chosen, self.dependent, algebra.zeros(len(split.dependent)))
        return algebra.solve_square(matrix, -rest)

    def here(self, block: Block) -> Any:
        """A block of q and v on the constraints."""
        return self.algebra.substitute(block, self.dependent, self.solved)

    def rate(self, block: Block) -> Block:
        """The time derivative of a column of (q, v_I, t) along the motion, affine in z."""
        return self.rate_of(block, self.independent, self.z, self.velocities)

    @cached_property
    def full(self) -> GaussBlocks:
        """Lagrange's equations in all velocities."""
        return lagrange.derive_with(self.system, self.algebra)

    @cached_property
    def applied(self) -> Any:
        """The applied force on the independent velocities, frame^T Q, without the potential."""
        return self.frame.T @ self.here(self.applied_force)

    @cached_property
    def applied_force(self) -> Any:
        """Q(q, v, t) without the potential, (n x 1)."""
        return lagrange.applied_force(self.system, self.algebra, self.momenta_at_velocity)

    def from_residual(self, residual: Block) -> GaussBlocks:
        """Blocks of equations residual(q, v_I, z, t) = 0 that are affine in z."""
        algebra = self.algebra
        metric = algebra.jacobian(residual, self.z)
        force = -algebra.substitute(residual, self.z, algebra.zeros(len(self.split.independent)))
        return self.blocks(metric, force)

    def in_symbols(
        self,
        residual: Block,
        symbols: Block,
        rates: Block,
        independent: Block,
        definition: Block | None = None,
    ) -> GaussBlocks:
        """Blocks of residual(q, w, w_dot, t) = 0 in symbols w instead of independent velocities.

        Parameters
        ----------
        residual : column (k x 1)
            Affine in the rates; power-conjugate to w_dot where w are velocities, to v_I where w are
            momenta.
        symbols, rates : columns (k x 1)
            w and w_dot.
        independent : column (k x 1)
            v_I(q, w, t).
        definition : column (k x 1) or None
            w(q, v, t), where it is known.
        """
        algebra = self.algebra
        old = algebra.stack([self.independent, self.z])
        velocities = algebra.substitute(self.velocities, self.independent, independent)
        moved = self.rate_of(independent, symbols, rates, velocities)
        empty = algebra.zeros(len(self.split.independent))
        blocks = self.blocks(
            algebra.zeros(len(self.split.independent), len(self.split.independent)), empty
        )
        blocks = blocks.substituted(algebra, old, algebra.stack([independent, moved]))
        return replace(
            blocks,
            stated_metric=algebra.jacobian(residual, rates),
            force=-algebra.substitute(residual, rates, empty),
            unknowns=rates,
            rates=algebra.stack([velocities, rates]),
            own_symbols=definition,
        )

    def rate_of(self, block: Block, symbols: Block, rates: Block, velocities: Block) -> Block:
        """The time derivative of a column of (q, w, t) along the motion, for symbols w."""
        algebra = self.algebra
        return (
            algebra.along(block, self.q, velocities)
            + algebra.along(block, symbols, rates)
            + algebra.jacobian(block, self.time)
        )

    def blocks(self, metric: Block, force: Block) -> GaussBlocks:
        """The record of a form with unknowns z and no rows."""
        return replace(self._record, stated_metric=metric, force=force)

    @cached_property
    def _record(self) -> GaussBlocks:
        """What the forms have in common, without their equations."""
        algebra, system, split = self.algebra, self.system, self.split
        n, k = len(system.coordinates), len(split.independent)
        full, here = self.full, self.here
        acceleration = self.frame @ self.z + self.drift
        reaction = here(full.metric) @ acceleration - here(full.force)
        rows = here(full.rows)
        multipliers = self._multipliers(rows, reaction)
        prescribed = lagrange.prescribed_forces(system, algebra, self.momenta_at_velocity)
        reactions = {
            c.name: rows[place, :].T * multipliers[place] + here(prescribed[c.name])
            for place, c in enumerate(system.bilateral)
        }
        return GaussBlocks(
            stated_metric=algebra.zeros(k, k),
            force=algebra.zeros(k),
            rows=algebra.zeros(0, k),
            right=algebra.zeros(0),
            unknowns=self.z,
            multipliers=algebra.zeros(0),
            rates=algebra.stack([self.velocities, self.z]),
            velocities=self.velocities,
            accelerations=acceleration,
            momenta=here(full.momenta),
            energy=here(full.energy),
            reactions=reactions,
            position=Projection(
                here(full.position.residual),
                here(full.position.rows),
                algebra.stack([algebra.jacobian(self.q, self.q), algebra.zeros(k, n)]),
                here(full.metric),
            ),
            velocity=Projection(algebra.zeros(0), algebra.zeros(0, k), algebra.zeros(n + k, k)),
            residuals=(here(full.residuals[0]), here(full.residuals[1])),
            outputs={name: here(value) for name, value in full.outputs.items()},
            row_multipliers=multipliers,
            chart_quality=self._quality(rows),
        )

    def _quality(self, rows: Block) -> Block:
        """The squared determinant of the dependent columns, with rows of length one."""
        algebra, split = self.algebra, self.split
        value = algebra.scalar(sympy.Integer(1))
        if split.dependent:
            value = algebra.determinant(algebra.part(rows, split.rows, split.dependent)) ** 2
            for k in split.rows:
                row = algebra.part(rows, [k], range(len(self.system.coordinates))).T
                value = value / algebra.inner(row, row)
        return value

    def _multipliers(self, rows: Block, reaction: Block) -> Block:
        """mu with A^T mu = reaction, from the dependent coordinates; zero for dependent rows."""
        algebra, split = self.algebra, self.split
        count = len(self.system.bilateral)
        if not split.dependent:
            return algebra.zeros(count)
        solved = algebra.part(rows, split.rows, split.dependent).T
        found = algebra.solve_square(solved, algebra.part(reaction, split.dependent, [0]))
        places = [split.rows.index(k) if k in split.rows else len(split.rows) for k in range(count)]
        return algebra.part(algebra.stack([found, algebra.zeros(1)]), places, [0])


@dataclass(frozen=True)
class FormSymbols:
    """Symbols in the state of a form besides the coordinates, and their rates, (k,) each."""

    state: tuple[sympy.Symbol, ...]
    rates: tuple[sympy.Symbol, ...]

    @classmethod
    def named(cls, names: Iterable[str]) -> FormSymbols:
        """Symbols of a form's own."""
        kept = tuple(names)
        return cls(
            tuple(Parameter(name) for name in kept),
            tuple(Parameter(f"{name}_dot") for name in kept),
        )


def velocity_symbols(system: System, split: Split) -> FormSymbols:
    """The independent velocities themselves."""
    chosen = [system.coordinates[k] for k in split.independent]
    return FormSymbols(tuple(q.dot for q in chosen), tuple(q.ddot for q in chosen))


def reduced_equations(
    system: System,
    form: Form,
    derivation: Callable[[Reduction], GaussBlocks],
    *,
    near: Mapping[str, float] | None = None,
    allowed: Callable[[Split], bool] | None = None,
    symbols: Callable[[System, Split], FormSymbols] = velocity_symbols,
    variant: Hashable = None,
    hypotheses: Mapping[str, Verdict] | None = None,
    with_rows: bool = False,
) -> Equations:
    """The record of a form on independent velocities, or on other symbols in their place.

    The choice of these is the best at generic states, or near a state; `Equations.rechoose` makes
    it again elsewhere. `variant` tells records of one form apart that were asked for with different
    options. A form `with_rows` has one row for each independent velocity, whose rate is its
    multiplier.
    """
    split = choose_split(system, near, allowed)

    def rechoose(where: Mapping[str, float] | Collection[str]) -> Equations:
        again = partial(
            reduced_equations,
            system,
            form,
            derivation,
            symbols=symbols,
            variant=variant,
            hypotheses=hypotheses,
            with_rows=with_rows,
        )
        if isinstance(where, Mapping):
            return again(near=where, allowed=allowed)
        places = tuple(k for k, q in enumerate(system.coordinates) if q.dot.name in where)
        return again(allowed=lambda s: s.independent == places)

    def made() -> Equations:
        chosen = symbols(system, split)
        chart = tuple(system.velocities[k].name for k in split.independent)
        return Equations(
            system=system,
            form=form.name,
            citation=form.citation,
            state=(*system.coordinates, *chosen.state),
            unknowns=chosen.rates,
            row_names=chart if with_rows else (),
            derivation=lambda algebra: derivation(Reduction.shared(system, algebra, split)),
            start_form="lagrange",
            rechoose=rechoose,
            chart=chart,
            chart_is_steady=split.is_steady,
            hypotheses=hypotheses or {},
        )

    return system.cache.get(("independent velocities", form.name, variant, split.independent), made)
