"""Independent velocities: which velocities the constraints leave free, and the others as functions of them.

The two-sided constraints f(q, v, t) = 0 are solved for as many velocities as they have independent rows,

    v_D = phi(q, v_I, t)        (Rumyantsev 1.2)

where each constraint is affine in v_D. All forms without multipliers are written on this split; they differ in how they reach
the same equations for the accelerations of the independent velocities.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.structure import Verdict
from ..errors import FormError
from ..model.symbols import Parameter, t
from ..model.system import System
from .blocks import Blocks, Projection
from .constraint_equations import velocity_level
from .constraint_jacobian import constraint_rows, independent_rows
from .equations import Equations
from .forms import lagrange

__all__ = ["Reduction", "Split", "Symbols", "choose_split", "reduced_equations", "velocity_symbols"]

#: The least quality of a split, the determinant of the solved columns with rows of length one, at most generic states.
LEAST_QUALITY = 1e-3
#: A split whose columns do not depend on the state is the first choice where its quality is above this.
STEADY_QUALITY = 0.05
#: A split that is good at generic states stays the choice at a state where its quality is above this.
GOOD_QUALITY = 0.5


@dataclass(frozen=True)
class Split:
    """Places of the independent and of the dependent velocities among the coordinates, and of the rows solved for them.

    `quality` is the least |determinant| of the solved columns over generic states, with the rows scaled to length one, more
    where the split is preferred; `is_steady` says that these columns do not depend on the state, so that it never degenerates.
    """

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]
    quality: float
    is_steady: bool = False


def choose_split(
    system: System, near: Mapping[str, float] | None = None, allowed: Callable[[Split], bool] | None = None
) -> Split:
    """The split whose worst quality over generic states is best, or the best one near a state.

    Parameters
    ----------
    near : mapping of name to value
        Values of coordinates, velocities, parameters and t.
    allowed : callable
        Which splits the form can use; all by default.

    Raises
    ------
    FormError
        Where there is none: the constraints are not affine in any set of dependent velocities, or an image constraint
        already gives the velocities.
    """
    if system.image is not None:
        raise FormError(
            f"The image constraint `{system.image.name}` already gives the velocities",
            remedy='use the form "implicit-lagrangian"',
        )
    if near is None and allowed is None and "_split" in system.__dict__:
        return system.__dict__["_split"]  # type: ignore[no-any-return]
    general = choose_split(system, None, allowed) if near is not None else None
    for split in _splits(system, near, general):
        if allowed is None or allowed(split):
            if near is None and allowed is None:
                object.__setattr__(system, "_split", split)
            return split
    raise FormError(
        "The constraints cannot be solved for as many velocities as they bind, with each affine in them"
        if allowed is None
        else "No choice of dependent velocities fits this form",
        seen=f"{len(system.bilateral)} constraints",
        remedy='use the form "lagrange"',
    )


def _splits(system: System, near: Mapping[str, float] | None, general: Split | None) -> Iterator[Split]:
    """Every split that the constraints allow, best quality first; the `general` one before all where it is good."""
    n = len(system.coordinates)
    if not system.bilateral:
        yield Split(tuple(range(n)), (), (), 1.0, is_steady=True)
        return
    rows = constraint_rows(system)
    algebra, v = rows.algebra, rows.algebra.vector(system.velocities)
    samples, rank = rows.generic() if near is None else (rows.near(near), 0)
    if not samples:
        raise FormError("The constraints are not defined at generic states", remedy='use the form "lagrange"')
    rank = rank if general is None else len(general.rows)
    chosen = independent_rows(samples[0], rank)
    if len(chosen) < rank:  # the constraints degenerate at this state
        return
    if near is None:
        _check_agreement(system, rows.contradicted(chosen))
    candidates = itertools.islice(itertools.combinations(reversed(range(n)), rank), 5000)
    solved = np.array(samples)[:, chosen]
    sizes = {tuple(sorted(places)): np.abs(np.linalg.det(solved[:, :, places])) for places in candidates}
    rated = [(float(size.min()), places) for places, size in sizes.items()]
    steady = steady_columns(system)
    # Columns that do not depend on the state cannot degenerate along a motion.
    rated = [(2.0 + q if q > STEADY_QUALITY and steady.issuperset(places) else q, places) for q, places in rated]
    if general is not None:
        rated = [(1.0 + q if places == general.dependent and q > GOOD_QUALITY else q, places) for q, places in rated]
    for quality, places in sorted(rated, key=lambda pair: -round(pair[0], 9)):
        if np.median(sizes[places]) < LEAST_QUALITY:  # it degenerates in most places, not only in some
            continue
        if not algebra.depends(algebra.part(rows.matrix, chosen, places), algebra.part(v, places, [0])):
            independent = tuple(k for k in range(n) if k not in places)
            yield Split(independent, places, tuple(chosen), quality, steady.issuperset(places))


def _check_agreement(system: System, found: tuple[int, float] | None) -> None:
    """Refuse rows that depend on others in the velocities and say something else: dropping them would go unnoticed."""
    if found is not None:
        place, residual = found
        raise FormError(
            f"The constraint `{system.bilateral[place].name}` depends on the others and does not follow from them",
            seen=f"residual {residual:.3g} where the others hold",
            remedy='correct or remove it, or use the form "lagrange", which says where the constraints contradict',
        )


def steady_columns(system: System) -> set[int]:
    """The places of the velocities whose coefficients in all constraints do not depend on the state."""
    algebra, rows = constraint_rows(system).algebra, constraint_rows(system).matrix
    moving = algebra.vector([*system.coordinates, *system.velocities, t])
    everyone = range(rows.shape[0])
    return {k for k in range(rows.shape[1]) if not algebra.depends(algebra.part(rows, everyone, [k]), moving)}


class Reduction:
    """A system on its independent velocities, in one algebra: everything that the forms without multipliers share.

    Attributes
    ----------
    velocities : column (n x 1)
        v(q, v_I, t), by coordinate.
    frame : matrix (n x k)
        d velocities / d v_I: the virtual displacements are frame @ anything.
    drift : column (n x 1)
        The accelerations that remain where the independent velocities are held: q_ddot = frame @ z + drift.
    """

    def __init__(self, system: System, algebra: Any, split: Split | None = None) -> None:
        self.system, self.algebra, self.split = system, algebra, split or choose_split(system)
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
        self.velocities = algebra.part(together, [order.index(k) for k in range(len(order))], [0])
        self.frame = algebra.jacobian(self.velocities, self.independent)
        self.drift = algebra.along(self.velocities, self.q, self.velocities) + algebra.jacobian(self.velocities, self.time)

    @classmethod
    def shared(cls, system: System, algebra: Any, split: Split) -> Reduction:
        """The reduction in an algebra, made once for all forms that are derived in it."""
        kept: dict[Any, Reduction] = algebra.__dict__.setdefault("_reductions", {})
        key = (id(system), split)
        if key not in kept:
            kept[key] = cls(system, algebra, split)
        return kept[key]

    @classmethod
    def asked(cls, system: System, split: Split | None = None) -> Reduction:
        """The reduction in a graph that is kept with the system: for questions of hypotheses, which add no symbols to it."""
        algebra = system.__dict__.get("_asked")
        if algebra is None:
            algebra = GraphAlgebra()
            object.__setattr__(system, "_asked", algebra)
        return cls.shared(system, algebra, split or choose_split(system))

    def _solve_dependent(self) -> Any:
        """phi(q, v_I, t): the chosen rows are affine in the dependent velocities."""
        algebra, split = self.algebra, self.split
        if not split.dependent:
            return algebra.zeros(0)
        chosen = algebra.part(self.level.residual, split.rows, [0])
        matrix = algebra.jacobian(chosen, self.dependent)
        rest = algebra.substitute(chosen, self.dependent, algebra.zeros(len(split.dependent)))
        return algebra.solve_square(matrix, -rest)

    def here(self, block: Any) -> Any:
        """A block of q and v on the constraints."""
        return self.algebra.substitute(block, self.dependent, self.solved)

    def rate(self, block: Any) -> Any:
        """The time derivative of a column of (q, v_I, t) along the motion, affine in z."""
        return self.rate_of(block, self.independent, self.z, self.velocities)

    @cached_property
    def full(self) -> Blocks:
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

    def from_residual(self, residual: Any) -> Blocks:
        """Blocks of equations residual(q, v_I, z, t) = 0 that are affine in z."""
        algebra = self.algebra
        metric = algebra.jacobian(residual, self.z)
        force = -algebra.substitute(residual, self.z, algebra.zeros(len(self.split.independent)))
        return self.blocks(metric, force)

    def in_symbols(self, residual: Any, symbols: Any, rates: Any, independent: Any, definition: Any = None) -> Blocks:
        """Blocks of equations residual(q, w, w_dot, t) = 0 in symbols w that take the place of the independent velocities.

        Parameters
        ----------
        residual : column (k x 1)
            Affine in the rates; power-conjugate to w_dot where w are velocities, to v_I where w are momenta.
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
        blocks = self.blocks(algebra.zeros(len(self.split.independent), len(self.split.independent)), empty)
        blocks = blocks.substituted(algebra, old, algebra.stack([independent, moved]))
        return replace(
            blocks,
            metric=algebra.jacobian(residual, rates),
            force=-algebra.substitute(residual, rates, empty),
            unknowns=rates,
            rates=algebra.stack([velocities, rates]),
            own_symbols=definition,
        )

    def rate_of(self, block: Any, symbols: Any, rates: Any, velocities: Any) -> Any:
        """The time derivative of a column of (q, w, t) along the motion, in symbols w with rates w_dot."""
        algebra = self.algebra
        return (
            algebra.along(block, self.q, velocities) + algebra.along(block, symbols, rates) + algebra.jacobian(block, self.time)
        )

    def blocks(self, metric: Any, force: Any) -> Blocks:
        """The record of a form with unknowns z and no rows."""
        return replace(self._record, metric=metric, force=force)

    @cached_property
    def _record(self) -> Blocks:
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
            c.name: rows[place, :].T * multipliers[place] + here(prescribed[c.name]) for place, c in enumerate(system.bilateral)
        }
        return Blocks(
            metric=algebra.zeros(k, k),
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

    def _quality(self, rows: Any) -> Any:
        """How well the dependent velocities are determined: the determinant of their columns, rows of length one, squared."""
        algebra, split = self.algebra, self.split
        value = algebra.scalar(sympy.Integer(1))
        if split.dependent:
            value = algebra.determinant(algebra.part(rows, split.rows, split.dependent)) ** 2
            for k in split.rows:
                row = algebra.part(rows, [k], range(len(self.system.coordinates))).T
                value = value / algebra.inner(row, row)
        return value

    def _multipliers(self, rows: Any, reaction: Any) -> Any:
        """mu with A^T mu = reaction, from the equations of the dependent coordinates; rows that depend get none."""
        algebra, split = self.algebra, self.split
        count = len(self.system.bilateral)
        if not split.dependent:
            return algebra.zeros(count)
        solved = algebra.part(rows, split.rows, split.dependent).T
        found = algebra.solve_square(solved, algebra.part(reaction, split.dependent, [0]))
        places = [split.rows.index(k) if k in split.rows else len(split.rows) for k in range(count)]
        return algebra.part(algebra.stack([found, algebra.zeros(1)]), places, [0])


@dataclass(frozen=True)
class Symbols:
    """What a form on independent velocities keeps in its state beside the coordinates: symbols and their rates, (k,) each."""

    state: tuple[sympy.Symbol, ...]
    rates: tuple[sympy.Symbol, ...]

    @classmethod
    def named(cls, names: Iterable[str]) -> Symbols:
        """Symbols of a form's own."""
        kept = tuple(names)
        return cls(tuple(Parameter(name) for name in kept), tuple(Parameter(f"{name}_dot") for name in kept))


def velocity_symbols(system: System, split: Split) -> Symbols:
    """The independent velocities themselves."""
    chosen = [system.coordinates[k] for k in split.independent]
    return Symbols(tuple(q.dot for q in chosen), tuple(q.ddot for q in chosen))


def reduced_equations(
    system: System,
    form: str,
    citation: str,
    derivation: Callable[[Reduction], Blocks],
    *,
    near: Mapping[str, float] | None = None,
    allowed: Callable[[Split], bool] | None = None,
    symbols: Callable[[System, Split], Symbols] = velocity_symbols,
    variant: Hashable = None,
    hypotheses: Mapping[str, Verdict] | None = None,
) -> Equations:
    """The record of a form on independent velocities: its unknowns are their accelerations, or the rates of other symbols.

    The choice of these is the best at generic states, or near a state; `Equations.rechoose` makes it again elsewhere.
    `variant` tells records of one form apart that were asked for with different options.
    """
    split = choose_split(system, near, allowed)
    kept: dict[Any, Equations] = system.__dict__.setdefault("_reduced", {})
    key = (form, variant, split.independent)
    if key in kept:
        return kept[key]

    def rechoose(where: Any) -> Equations:
        again = partial(
            reduced_equations, system, form, citation, derivation, symbols=symbols, variant=variant, hypotheses=hypotheses
        )
        if isinstance(where, Mapping):
            return again(near=where, allowed=allowed)
        places = tuple(k for k, q in enumerate(system.coordinates) if q.dot.name in where)
        return again(allowed=lambda s: s.independent == places)

    chosen = symbols(system, split)
    kept[key] = Equations(
        system=system,
        form=form,
        citation=citation,
        state=(*system.coordinates, *chosen.state),
        unknowns=chosen.rates,
        row_names=(),
        derivation=lambda algebra: derivation(Reduction.shared(system, algebra, split)),
        start_form="lagrange",
        rechoose=rechoose,
        chart=tuple(system.velocities[k].name for k in split.independent),
        chart_is_steady=split.is_steady,
        hypotheses=hypotheses or {},
    )
    return kept[key]
