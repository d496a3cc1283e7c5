"""Independent velocities: those that the constraints leave free, and the others as functions.

The two-sided constraints f(q, v, t) = 0 are solved for as many velocities as they have independent
rows,

    v_D = phi(q, v_I, t)        (Rumyantsev 1.2)

where each constraint is affine in v_D. All forms without multipliers are written on this split;
they differ in how they reach the same equations for the accelerations of the independent
velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ..algebra.graph import GraphAlgebra
from ..algebra.structure import Verdict
from ..model.symbols import t
from ..model.system import System
from .blocks import GaussBlocks, Projection
from .constraint_equations import velocity_level
from .equations import Equations
from .form import Form
from .forms import lagrange
from .quasi_velocities import stated_speeds
from .speed_symbols import FormSymbols, speed_symbols
from .velocity_frames import VelocityFrame, global_frame
from .velocity_maps import ImplicitMap, VelocityMap, velocity_map
from .velocity_quality import row_multipliers, speed_quality
from .velocity_splits import Split, choose_split

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..algebra.protocol import Algebra, Block
    from ..typing import Expression

__all__ = [
    "FormSymbols",
    "Reduction",
    "Split",
    "VelocityFrame",
    "choose_split",
    "reduced_equations",
    "speed_equations_of",
    "speed_symbols",
]


class Reduction:
    """A system on its independent velocities in one algebra: what forms without multipliers share.

    Attributes
    ----------
    choice : Split or VelocityFrame
        What the speeds w are: some of the velocities v_I, or quasi-velocities.
    independent, z : columns (k x 1)
        w, and symbols of its rates.
    map : VelocityMap
        v(q, w, t), and derivatives of blocks on the constraints.
    velocities : column (n x 1)
        v(q, w, t), by coordinate; the velocities themselves where this is implicit.
    frame : matrix (n x k)
        d velocities / d w: the virtual displacements are frame @ anything.
    drift : column (n x 1)
        The accelerations that remain where the speeds are held: q_ddot = frame @ z + drift.
    """

    def __init__(
        self, system: System, algebra: Algebra, choice: Split | VelocityFrame | None = None
    ) -> None:
        self.system, self.choice = system, choice or choose_split(system)
        self.algebra: Any = algebra  # callers ask more of the algebra that they chose
        self.q, self.v, self.time = (
            algebra.vector(system.coordinates),
            algebra.vector(system.velocities),
            algebra.vector([t]),
        )
        symbols = speed_symbols(system, self.choice)
        self.independent: Any = algebra.vector(symbols.state)
        self.z: Any = algebra.vector(symbols.rates)
        self.lagrangian, self.momenta_at_velocity = lagrange.lagrangian_and_momenta(system, algebra)
        self.level = velocity_level(system, algebra, self.momenta_at_velocity)
        self.constraints: Any = algebra.part(self.level.residual, self.choice.rows, [0])
        self.map: VelocityMap = velocity_map(self)
        self.velocities: Any = self.map.velocities
        self.frame: Any = (
            self.map.frame
            if isinstance(self.map, ImplicitMap)
            else algebra.jacobian(self.velocities, self.independent)
        )

    @cached_property
    def drift(self) -> Any:
        """The accelerations that remain where the speeds are held: q_ddot = frame @ z + drift."""
        if isinstance(self.map, ImplicitMap):
            return self.map.drift
        algebra, velocities = self.algebra, self.velocities
        return algebra.along(velocities, self.q, velocities) + algebra.jacobian(
            velocities, self.time
        )

    @property
    def freedom(self) -> int:
        """The number of speeds."""
        return self.choice.freedom

    @property
    def is_implicit(self) -> bool:
        """Whether the velocities are not written out as functions of the speeds."""
        return self.choice.is_implicit

    @property
    def split(self) -> Split:
        """The partition of the velocities, for forms that have one."""
        assert isinstance(self.choice, Split)
        return self.choice

    @property
    def dependent(self) -> Any:
        """The dependent velocities of a partition, (r x 1)."""
        return self.algebra.part(self.v, self.split.dependent, [0])

    @property
    def solved(self) -> Any:
        """phi(q, v_I, t), the dependent velocities of a partition on the constraints, (r x 1)."""
        return self.algebra.part(self.velocities, self.split.dependent, [0])

    @cached_property
    def definition(self) -> Any:
        """The quasi-velocities w and the constraints, as functions of q, v and t, (n x 1)."""
        return self.algebra.stack([self.given, self.constraints])

    @property
    def given(self) -> Any:
        """w(q, v, t), (k x 1)."""
        choice = self.choice
        return (
            self.independent
            if isinstance(choice, Split)
            else self.algebra.vector(choice.definition)
        )

    @classmethod
    def shared(cls, system: System, algebra: Algebra, choice: Split | VelocityFrame) -> Reduction:
        """The reduction in an algebra, made once for all forms that are derived in it."""
        key = ("reduction", id(algebra), choice)  # the reduction keeps its algebra, and so the id
        return system.cache.get(key, lambda: cls(system, algebra, choice))

    @classmethod
    def asked(cls, system: System, choice: Split | VelocityFrame | None = None) -> Reduction:
        """The reduction in a graph that is kept with the system, for questions of hypotheses."""
        algebra = system.cache.get("hypotheses", GraphAlgebra)
        return cls.shared(system, algebra, choice or choose_split(system))

    def here(self, block: Block) -> Any:
        """A block of q and v on the constraints."""
        return self.map.here(block)

    def rate(self, block: Block) -> Any:
        """The time derivative of a column of (q, w, t) along the motion, affine in z."""
        return self.map.rate(block)

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
        force = -algebra.substitute(residual, self.z, algebra.zeros(self.freedom))
        return self.blocks(metric, force)

    def in_rates(self, residual: Block, rates: Block, moved: Block) -> GaussBlocks:
        """Blocks of residual(q, v, r, t) = 0, affine in unknowns r with z = moved(q, v, r, t).

        For forms whose own symbols, such as momenta, are functions of q, v and t.
        """
        algebra = self.algebra
        metric = algebra.jacobian(residual, rates)
        force = -algebra.substitute(residual, rates, algebra.zeros(self.freedom))
        blocks = self.blocks(metric, force).substituted(algebra, self.z, moved)
        return replace(blocks, stated_metric=metric, force=force, unknowns=rates)

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
            w(q, v, t), where it is known; it may contain the symbols of the speeds.
        """
        algebra = self.algebra
        if (
            definition is not None
            and isinstance(self.choice, VelocityFrame)
            and self.choice.definition
        ):
            definition = algebra.substitute(definition, self.independent, self.given)
        old = algebra.stack([self.independent, self.z])
        velocities = algebra.substitute(self.velocities, self.independent, independent)
        moved = self.rate_of(independent, symbols, rates, velocities)
        empty = algebra.zeros(self.freedom)
        blocks = self.blocks(algebra.zeros(self.freedom, self.freedom), empty)
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
        algebra, system, z = self.algebra, self.system, self.z
        n, k = len(system.coordinates), self.freedom
        full, here, zeros = self.full, self.here, algebra.zeros
        acceleration = self.frame @ z + self.drift
        reaction = here(full.metric) @ acceleration - here(full.force)
        rows, unit = here(full.rows), algebra.jacobian(self.q, self.q)
        multipliers = row_multipliers(self, rows, reaction)
        prescribed = lagrange.prescribed_forces(system, algebra, self.momenta_at_velocity)
        reactions = {
            c.name: rows[place, :].T * multipliers[place] + here(prescribed[c.name])
            for place, c in enumerate(system.bilateral)
        }
        moving = n if self.is_implicit else k
        velocity = Projection(zeros(0), zeros(0, k), zeros(n + k, k))
        if self.is_implicit:
            lift = algebra.stack([zeros(n, n), unit])
            velocity = Projection(full.velocity.residual, rows, lift, full.metric)
        own = (
            isinstance(self.choice, VelocityFrame)
            and self.choice.definition
            and not self.is_implicit
        )
        return GaussBlocks(
            stated_metric=zeros(k, k),
            force=zeros(k),
            rows=zeros(0, k),
            right=zeros(0),
            unknowns=z,
            multipliers=zeros(0),
            rates=algebra.stack([self.velocities, acceleration if self.is_implicit else z]),
            velocities=self.velocities,
            accelerations=acceleration,
            momenta=here(full.momenta),
            energy=here(full.energy),
            reactions=reactions,
            position=Projection(
                here(full.position.residual),
                here(full.position.rows),
                algebra.stack([unit, zeros(moving, n)]),
                here(full.metric),
            ),
            velocity=velocity,
            residuals=(here(full.residuals[0]), here(full.residuals[1])),
            outputs={name: here(value) for name, value in full.outputs.items()},
            row_multipliers=multipliers,
            chart_quality=speed_quality(self, rows),
            own_symbols=self.given if own else None,
        )


def reduced_equations(
    system: System,
    form: Form,
    derivation: Callable[[Reduction], GaussBlocks],
    *,
    near: Mapping[str, float] | None = None,
    allowed: Callable[[Split], bool] | None = None,
    frames: bool = False,
    implicit: bool = False,
    stated: Callable[[Mapping[str, float] | None], Split | VelocityFrame] | None = None,
    written_out: bool = True,
    symbols: Callable[[System, Split | VelocityFrame], FormSymbols] | None = None,
    variant: Hashable = None,
    hypotheses: Mapping[str, Verdict] | None = None,
    with_rows: bool = False,
) -> Equations:
    """The record of a form on independent velocities, or on other symbols in their place.

    The choice of these is the best at generic states, or near a state; `Equations.rechoose` makes
    it again elsewhere.

    Parameters
    ----------
    near : mapping of name to value
        A state where the choice is to be good.
    allowed : callable
        Which partitions of the velocities the form can use.
    frames : bool
        Whether a global frame of the constraint distribution is taken first, where there is one.
    implicit : bool
        Whether constraints may be affine in no set of dependent velocities.
    stated : callable
        Speeds that the caller gave, near a state.
    written_out : bool
        Whether the state has the symbols of the form; otherwise it has all velocities.
    symbols : callable
        The symbols of the form in place of the speeds, with their rates.
    variant : hashable
        Tells records of one form apart that were asked for with different options.
    with_rows : bool
        Whether the form has one row for each speed, whose rate is its multiplier.
    """

    def chosen() -> Split | VelocityFrame:
        if stated is not None:
            return stated(near)
        frame = global_frame(system) if frames and allowed is None else None
        return frame or choose_split(system, near, allowed, implicit)

    choice = chosen() if written_out else replace(chosen(), is_implicit=True)
    names = tuple(s.name for s in speed_symbols(system, choice).state)

    def rechoose(where: Mapping[str, float] | Collection[str]) -> Equations:
        again = partial(
            reduced_equations,
            system,
            form,
            derivation,
            implicit=implicit,
            stated=stated,
            written_out=written_out,
            symbols=symbols,
            variant=variant,
            hypotheses=hypotheses,
            with_rows=with_rows,
        )
        if isinstance(where, Mapping):
            return again(near=where, allowed=allowed, frames=frames)
        frame = global_frame(system) if frames else None
        if stated is not None or (
            frame is not None and {s.name for s in frame.speeds} == set(where)
        ):
            return again(frames=frames)
        places = tuple(k for k, q in enumerate(system.coordinates) if q.dot.name in where)
        return again(allowed=lambda s: s.independent == places, frames=frames)

    def made() -> Equations:
        own = (symbols or speed_symbols)(system, choice)
        return Equations(
            system=system,
            form=form.name,
            citation=form.citation,
            state=(*system.coordinates, *(system.velocities if choice.is_implicit else own.state)),
            unknowns=own.rates,
            row_names=names if with_rows else (),
            derivation=lambda algebra: derivation(Reduction.shared(system, algebra, choice)),
            start_form="lagrange",
            rechoose=rechoose,
            chart=names,
            chart_is_steady=choice.is_steady,
            choice=choice,
            hypotheses=hypotheses or {},
        )

    return system.cache.get(("independent velocities", form.name, variant, choice), made)


def speed_equations_of(
    system: System,
    form: Form,
    derivation: Callable[[Reduction], GaussBlocks],
    quasi_velocities: Mapping[str, Expression] | None = None,
    *,
    symbols: Callable[[System, Split | VelocityFrame], FormSymbols] | None = None,
    variant: Hashable = None,
) -> Equations:
    """The record of a form that takes any speeds: stated ones, a global frame, or velocities."""
    if quasi_velocities is None:
        return reduced_equations(
            system, form, derivation, frames=True, implicit=True, symbols=symbols, variant=variant
        )
    stated = stated_speeds(system, quasi_velocities)
    return reduced_equations(
        stated.system,
        form,
        derivation,
        stated=stated.near,
        symbols=symbols,
        variant=(variant, stated.table),
    )
