"""The mode of contacts that rest: the phases of a solution, with rows that are independent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import SingularError
from ...model.constraints.held_contacts import ContactPhase
from ...runtime.gauss.constrained_solve import rank
from .coulomb import NOISE, Contact, ContactSolution
from .instant import Instant

__all__ = ["StickRows", "labels_of"]

#: A row is independent of others where this part of it is outside their span.
INDEPENDENT = 1e-9


@dataclass(frozen=True)
class StickRows:
    """The mode of a solution, and the rows of contact space whose velocities vanish in it.

    Attributes
    ----------
    labels : tuple of str
    zero : tuple of int
    starts : mapping of contact to the velocity (k,) with which its slip begins
    """

    labels: tuple[str, ...]
    zero: tuple[int, ...]
    starts: dict[str, Any]


def labels_of(
    instant: Instant, contacts: Sequence[Contact], found: ContactSolution, moment: float
) -> StickRows:
    """The mode in which a solution goes on; slips in space begin as they are after a `moment`."""
    phases: list[ContactPhase] = []
    zero: list[int] = []
    starts: dict[str, Any] = {}
    kept: list[tuple[str, list[int]]] = []
    closed = [c for c in contacts if found.states[c.name].closed]
    zero += [c.normal for c in closed]
    noise = NOISE * (np.abs(instant.matrix) @ np.abs(found.forces) + np.abs(instant.free))
    for c in closed:
        rows = list(c.tangents)
        if not rows:
            phases.append(ContactPhase(c.name))
            continue
        state = found.states[c.name]
        speeding = float(np.linalg.norm(found.accelerations[rows]))
        creeping = c.grips and c.direction is None and speeding <= 10 * noise[rows].max()
        if state.sticks or creeping:
            leader = _leader(instant, kept, rows)
            zero += rows if not leader else []
            kept += [(c.name, rows)] if not leader else []
            phases.append(ContactPhase(c.name, 0, leader))
            continue
        way = np.array(state.slip)
        place = int(np.argmax(np.abs(way)))
        phases.append(ContactPhase(c.name, (place + 1) * (1 if way[place] > 0 else -1)))
        if c.direction is None and len(rows) == 2:
            drag = c.kinetic * found.forces[c.normal] * instant.matrix[rows[0], rows[0]]
            starts[c.name] = way * max(speeding, float(drag)) * moment
    return StickRows(tuple(phase.label for phase in phases), tuple(zero), starts)


def _leader(instant: Instant, kept: Iterable[tuple[str, list[int]]], rows: list[int]) -> str:
    """The contact that sticks already and whose tangent row this one depends on; "" if none.

    Raises
    ------
    SingularError
        Where the row depends on several others.
    """
    known = list(kept)
    if not known:
        return ""
    every = [row for _, own in known for row in own]
    scale = np.sqrt(np.diag(instant.matrix))
    scaled = instant.matrix / np.outer(scale, scale)
    both = [*every, *rows]
    found = rank(scaled[np.ix_(both, both)], INDEPENDENT).rank
    if found == len(both):
        return ""
    for name, own in known:
        pair = [*own, *rows]
        if rank(scaled[np.ix_(pair, pair)], INDEPENDENT).rank == len(own):
            return name
    raise SingularError(
        "The friction of several contacts that stick is not determined",
        seen=f"{len(both)} tangent directions, of which {found} are independent",
        remedy='remove contacts that depend on others, or use method="moreau"',
    )
