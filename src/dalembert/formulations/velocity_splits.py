"""Splits of the velocities into independent and dependent ones, by the rows of the constraints."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import FormError
from ..model.cache import Cache
from ..model.symbols import t
from ..model.system import System
from .constraint_jacobian import constraint_rows, independent_rows, median

__all__ = ["Split", "check_agreement", "choose_split", "steady_columns"]

#: The least quality of a split at most generic states: the determinant of its scaled columns.
LEAST_QUALITY = 1e-3
#: Columns that do not depend on the state are the first choice if their quality is above this.
STEADY_QUALITY = 0.05
#: A split that is good at generic states stays the choice where its quality is above this.
GOOD_QUALITY = 0.5


@dataclass(frozen=True)
class Split:
    """Places of the independent and dependent velocities, and of the rows solved for them.

    `quality` is the least |determinant| of the solved columns over generic states, with the rows
    scaled to length one, more where the split is preferred; `is_steady` says that these columns do
    not depend on the state, so that it never degenerates. `is_implicit` says that the rows are not
    affine in the dependent velocities: these are functions of the others on each branch of the
    constraints, by the implicit function theorem.
    """

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]
    quality: float = field(compare=False)
    is_steady: bool = False
    is_implicit: bool = False

    @property
    def freedom(self) -> int:
        """The number of independent velocities."""
        return len(self.independent)


def choose_split(
    system: System,
    near: Mapping[str, float] | None = None,
    allowed: Callable[[Split], bool] | None = None,
    implicit: bool = False,
) -> Split:
    """The split whose worst quality over generic states is best, or the best one near a state.

    Parameters
    ----------
    near : mapping of name to value
        Values of coordinates, velocities, parameters and t.
    allowed : callable
        Which splits the form can use; all by default.
    implicit : bool
        Whether to take dependent velocities in which the constraints are not affine, if they are
        affine in no others.

    Raises
    ------
    FormError
        Where there is none: the constraints are not affine in any set of dependent velocities, or
        an image constraint already gives the velocities.
    """
    if system.image is not None:
        raise FormError(
            f"The image constraint `{system.image.name}` already gives the velocities",
            remedy='use the form "implicit-lagrangian"',
        )
    if allowed is None:
        known = system.cache.get("splits", lambda: Cache("splits", 64))
        key = (implicit, None if near is None else tuple(near.items()))
        return known.get(key, lambda: _first(system, near, None, implicit))
    return _first(system, near, allowed, implicit)


def _first(
    system: System,
    near: Mapping[str, float] | None,
    allowed: Callable[[Split], bool] | None,
    implicit: bool,
) -> Split:
    general = choose_split(system, None, allowed, implicit) if near is not None else None
    kinds = (False, True) if general is None else (general.is_implicit,)
    for kind in kinds if implicit else (False,):
        for split in _splits(system, near, general, kind):
            if allowed is None or allowed(split):
                return split
    raise FormError(
        (
            "The constraints cannot be solved for as many velocities as they bind, with each affine"
            " in them"
            if allowed is None
            else "No choice of dependent velocities fits this form"
        ),
        seen=f"{len(system.bilateral)} constraints",
        remedy='use the form "lagrange"',
    )


def _splits(
    system: System, near: Mapping[str, float] | None, general: Split | None, implicit: bool
) -> Iterator[Split]:
    """Every split that the constraints allow, best first; the `general` one before all if good."""
    n = len(system.coordinates)
    if not system.bilateral:
        yield Split(tuple(range(n)), (), (), 1.0, is_steady=True)
        return
    rows = constraint_rows(system)
    algebra, v = rows.algebra, rows.algebra.vector(system.velocities)
    samples, rank = rows.generic()[:2] if near is None else (rows.near(near), 0)
    if not samples:
        raise FormError(
            "The constraints are not defined at generic states", remedy='use the form "lagrange"'
        )
    rank = rank if general is None else len(general.rows)
    chosen = independent_rows(samples[0], rank)
    if len(chosen) < rank:  # the constraints degenerate at this state
        return
    if near is None:
        check_agreement(system, rows.contradicted(chosen))
    candidates = itertools.islice(itertools.combinations(reversed(range(n)), rank), 5000)
    solved = np.array(samples)[:, chosen]
    sizes = {
        tuple(sorted(places)): np.abs(np.linalg.det(solved[:, :, places])) for places in candidates
    }
    rated = [(float(size.min()), places) for places, size in sizes.items()]
    steady = steady_columns(system)
    # Columns that do not depend on the state cannot degenerate along a motion.
    rated = [
        (2.0 + q if q > STEADY_QUALITY and steady.issuperset(places) else q, places)
        for q, places in rated
    ]
    if general is not None:
        rated = [
            (1.0 + q if places == general.dependent and q > GOOD_QUALITY else q, places)
            for q, places in rated
        ]
    for quality, places in sorted(rated, key=lambda pair: -round(pair[0], 9)):
        if median(sizes[places]) < LEAST_QUALITY:  # it degenerates in most places, not only in some
            continue
        if implicit or not algebra.depends(
            algebra.part(rows.matrix, chosen, places), algebra.part(v, places, [0])
        ):
            independent = tuple(k for k in range(n) if k not in places)
            is_steady = steady.issuperset(places)
            yield Split(independent, places, tuple(chosen), quality, is_steady, implicit)


def check_agreement(system: System, found: tuple[int, float] | None) -> None:
    """Refuse rows that depend on others in the velocities and contradict them."""
    if found is not None:
        place, residual = found
        raise FormError(
            f"The constraint `{system.bilateral[place].name}` depends on the others and does not"
            " follow from them",
            seen=f"residual {residual:.3g} where the others hold",
            remedy=(
                'correct or remove it, or use the form "lagrange", which says where the constraints'
                " contradict"
            ),
        )


def steady_columns(system: System) -> set[int]:
    """The places of the velocities whose coefficients in all constraints are constant."""
    algebra, rows = constraint_rows(system).algebra, constraint_rows(system).matrix
    moving = algebra.vector([*system.coordinates, *system.velocities, t])
    everyone = range(rows.shape[0])
    return {
        k
        for k in range(rows.shape[1])
        if not algebra.depends(algebra.part(rows, everyone, [k]), moving)
    }
