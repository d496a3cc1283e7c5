"""The mode of contacts that rest: the phases of a solution, with rows that are independent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import SingularError
from ...model.constraints.held_contacts import ContactPhase
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array
from .coulomb import solve_contacts, solve_rows_of
from .coulomb_states import NOISE, ContactSolution, CoulombContact
from .instant import Instant

__all__ = ["StickRows", "held_contacts", "held_records", "labels_of", "stopped_state"]

#: A row is independent of others where this part of it is outside their span.
INDEPENDENT = 1e-9
#: The speed from which a slip in space has a direction of its own: what friction does in this part
#: of the span.
START = 1e-9


@dataclass(frozen=True)
class StickRows:
    """The mode of a solution, and the rows of contact space whose velocities vanish in it.

    Attributes
    ----------
    labels : tuple of str
    zero : tuple of int
    """

    labels: tuple[str, ...]
    zero: tuple[int, ...]


def labels_of(
    instant: Instant, contacts: Sequence[CoulombContact], found: ContactSolution, span: float
) -> StickRows:
    """The mode in which a solution goes on, in a run over a `span` of time.

    The direction of a slip that begins in space is stiff, as it has no inertia yet; it stays as it
    is until the slip has a speed.
    """
    phases: list[ContactPhase] = []
    zero: list[int] = []
    kept: list[tuple[str, list[int]]] = []
    closed = [c for c in contacts if _is_closed(c, contacts, found)]
    zero += [c.normal for c in closed if c.kind != "limit"]
    noise = NOISE * (np.abs(instant.matrix) @ np.abs(found.forces) + np.abs(instant.free))
    sides = {c.normal: found.states[c.name].side for c in contacts if c.kind == "held"}
    for c in (each for each in closed if each.kind != "held"):
        rows = list(c.tangents)
        if not rows:
            phases.append(ContactPhase(c.name))
            continue
        side = sides.get(c.normal, 1)
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
        if c.direction is None and len(rows) == 2:
            load = c.base if c.normal < 0 else abs(found.forces[c.normal])
            drag = float(c.kinetic * load * instant.matrix[rows[0], rows[0]])
            start = (math.atan2(way[1], way[0]), START * span * max(speeding, drag))
            phases.append(ContactPhase(c.name, 1, start=start, side=side))
            zero += rows
            continue
        place = int(np.argmax(np.abs(way)))
        leading = (place + 1) * (1 if way[place] > 0 else -1)
        phases.append(ContactPhase(c.name, leading, side=side))
    if any(phase.leading for phase in phases):
        _check_independent(instant, zero)
    return StickRows(tuple(phase.label for phase in phases), tuple(zero))


def _is_closed(
    c: CoulombContact, contacts: Sequence[CoulombContact], found: ContactSolution
) -> bool:
    """Whether a contact is closed; a friction limit is where what presses on it is."""
    if c.kind != "limit":
        return found.states[c.name].closed
    return all(
        found.states[o.name].closed for o in contacts if o.kind != "limit" and o.normal == c.normal
    )


def _check_independent(instant: Instant, rows: Sequence[int]) -> None:
    """Refuse rows that depend on each other beside a slip, whose friction needs every force."""
    scale = np.sqrt(np.diag(instant.matrix)[list(rows)])
    scale = np.where(scale > 0, scale, 1.0)
    found = rank(instant.matrix[np.ix_(rows, rows)] / np.outer(scale, scale), INDEPENDENT).rank
    if found < len(rows):
        raise SingularError(
            "The friction of contacts that slip is not determined, as their normal forces are not",
            seen=f"{len(rows)} directions in contact, of which {found} are independent",
            remedy="remove contacts that depend on others",
        )


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
    scale = np.where(scale > 0, scale, 1.0)
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
        remedy="remove contacts that depend on others",
    )


def held_contacts(instant: Instant, closed: Sequence[str]) -> ContactSolution:
    """Forces and accelerations in contact space with some contacts closed, without friction."""
    records = [CoulombContact(name, instant.normal(name)) for name in closed]
    return solve_contacts(instant.matrix, instant.free, [*records, *held_records(instant)])


def held_records(instant: Instant) -> list[CoulombContact]:
    """The two-sided constraints that press on friction limits."""
    return [CoulombContact(name, row, kind="held") for name, row in instant.held.items()]


def stopped_state(instant: Instant, rows: StickRows, y: Array) -> Any:
    """The state with no velocity in the rows of a mode, and none that closes other contacts."""
    wanted = dict.fromkeys(rows.zero, 0.0)
    matrix, before = instant.velocity_matrix, instant.velocity
    noise = 1e-12 * np.abs(before).max(initial=0.0)
    for _ in range(len(instant.rows) + 1):
        held = sorted(wanted)
        part = _impulses(matrix, before, wanted)
        after = before + matrix[:, held] @ part
        closing = [
            normal
            for normal, _ in instant.rows.values()
            if normal not in wanted and after[normal] < min(-noise, before[normal] - noise)
        ]
        if not closing:
            break
        wanted |= dict.fromkeys(closing, 0.0)
    impulses = np.zeros(len(before))
    impulses[held] = part
    return y + instant.change(impulses)


def _impulses(matrix: Array, before: Array, wanted: Mapping[int, float]) -> Any:
    """The impulses that give some rows their velocities."""
    held = sorted(wanted)
    if not held:
        return np.zeros(0)
    target = np.array([wanted[row] for row in held])
    return solve_rows_of(matrix[np.ix_(held, held)], target - before[held])
