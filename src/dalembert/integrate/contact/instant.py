"""Contacts at one instant as numbers: gaps, slips, and Gauss's problem seen from the contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ...runtime.gauss.constrained_solve import solve
from ...typing import Array
from .coulomb_states import CoulombContact, Pressing

__all__ = ["Gap", "Instant", "contact_space"]

#: What is below this part of the terms that cancel in it is rounding.
ROUNDING = 1e-12


class Gap(NamedTuple):
    """A gap at an instant: its value, its rate, and what rounding makes of it."""

    gap: float
    rate: float
    rounding: float

    def is_closed_within(self, time: float) -> bool:
        """Whether it is closed, or so small that its rate closes it within a time."""
        return self.gap + abs(self.rate) * time + self.rounding >= 0


@dataclass(frozen=True)
class Instant:
    """Gauss's problem of a state in the space of some contacts, (m,) rows.

    The normal row of a contact counts positive where it opens, and its force where it pushes.

    Attributes
    ----------
    rows : mapping of contact to its normal row and its tangent rows
    matrix, free : arrays (m, m), (m,)
        Accelerations of gaps and slips: free + matrix @ forces.
    terms : array (m,)
        The sizes of what `free` is the sum of; parts of it that are tiny are rounding.
    velocity_matrix, velocity : arrays (m, m), (m,)
        The same for a jump of the velocities by impulses.
    lift, first : arrays (n_state, m), (n_state,)
        The change of the state by impulses, and what removes residuals of other constraints.
    limits : mapping of friction limit to its rows
    held : mapping of two-sided constraint that is the load of a limit to its row
    pressing : mapping of friction limit to a pair of Pressing
        Where its load is the norm of several: their forces, and their impulses.
    """

    rows: Mapping[str, tuple[int, tuple[int, ...]]]
    matrix: Any
    free: Any
    velocity_matrix: Any
    velocity: Any
    lift: Any
    first: Any
    terms: Any
    limits: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)
    pressing: Mapping[str, tuple[Pressing, Pressing]] = field(default_factory=dict)

    def struck(self, contact: CoulombContact) -> CoulombContact:
        """A contact as an impact takes it: with a load of impulses."""
        own = self.pressing.get(contact.name)
        return contact if own is None else replace(contact, presses=own[1])

    def normal(self, name: str) -> int:
        """The normal row of a contact."""
        return self.rows[name][0]

    def tangents(self, name: str) -> tuple[int, ...]:
        """The tangent rows of a contact or a friction limit."""
        return self.limits[name] if name in self.limits else self.rows[name][1]

    def force_rounding(self, name: str) -> float:
        """What rounding makes of the normal force of a contact."""
        row = self.normal(name)
        response = self.matrix[row, row]
        return ROUNDING * float(self.terms[row]) / response if response > 0 else 0.0

    def load(self, name: str) -> int:
        """The row of the constraint that presses."""
        return self.held[name] if name in self.held else self.rows[name][0]

    def change(self, impulses: Array) -> Any:
        """The change of the state by impulses."""
        return self.first + self.lift @ impulses


class _Seen(NamedTuple):
    """Matrix and free values of contact space, responses of the unknowns, the unknowns without
    contact, and the multipliers of the other rows."""

    matrix: Any
    free: Any
    responses: Any
    begin: Any
    others: Pressing


def contact_space(
    blocks: Sequence[Array],
    row_names: Sequence[str],
    names: Sequence[str],
    limits: Sequence[str],
    held: Sequence[str],
    several: Mapping[str, Sequence[str]],
) -> Instant:
    """The instant of some contacts, from the blocks of the mode in which all of them stick.

    Parameters
    ----------
    blocks : metric, force, rows, right, velocity rows, velocity residual, lift
    row_names : the constraint behind each row
    names : the contacts
    limits, held : the friction limits, and the two-sided constraints that press on them
    several : the constraints of limits whose load is a norm
    """
    metric, force, rows, right, velocity_rows, residual, lift = blocks
    force, right, residual = force.ravel(), right.ravel(), residual.ravel()
    places: list[int] = []
    table: dict[str, tuple[int, tuple[int, ...]]] = {}
    rubs: dict[str, tuple[int, ...]] = {}
    presses: dict[str, int] = {}
    for name in (*names, *limits, *held):
        own = [row_names.index(name)] if name not in limits else []
        count = 1
        while name not in held and f"{name}_tangent{count}" in row_names:
            own.append(row_names.index(f"{name}_tangent{count}"))
            count += 1
        begin = len(places)
        if name in limits:
            rubs[name] = tuple(range(begin, begin + len(own)))
        elif name in held:
            presses[name] = begin
        else:
            table[name] = (begin, tuple(range(begin + 1, begin + len(own))))
        places += own
    signs = np.ones(len(places))
    signs[[*(normal for normal, _ in table.values()), *presses.values()]] = -1.0
    others = [k for k in range(len(row_names)) if k not in places]

    def seen(level: Array, values: Array, load: Array, wanted: Array) -> _Seen:
        own, zero = signs[:, None] * level[places], np.zeros(len(others))
        first = solve(metric, load, level[others], wanted, gauge=True)
        answers = [solve(metric, row, level[others], zero, gauge=True) for row in own]
        responses = np.array([each.z for each in answers]).reshape(len(places), len(load))
        matrix = own @ responses.T
        by = np.array([each.multipliers for each in answers]).reshape(len(places), len(others)).T
        return _Seen(
            0.5 * (matrix + matrix.T), own @ first.z + signs * values[places], responses, first.z,
            Pressing(first.multipliers, by),
        )  # fmt: skip

    matrix, free, _, begin, forces = seen(rows, -right, force, right[others])
    terms = np.abs(rows[places]) @ np.abs(begin) + np.abs(right[places])
    below, velocity, responses, first, impulses = seen(
        velocity_rows, residual, np.zeros(len(force)), -residual[others]
    )
    change = lift @ responses.T
    pressing = {}
    for name, constraints in several.items():
        own = [others.index(row_names.index(each)) for each in constraints]
        pairs = [Pressing(each.free[own], each.by[own]) for each in (forces, impulses)]
        pressing[name] = (pairs[0], pairs[1])
    return Instant(
        table, matrix, free, below, velocity, change, lift @ first, terms, rubs, presses, pressing
    )
