"""The mode of contacts that rest: the phases of a solution, with rows that are independent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from typing import Any

import numpy as np

from ...errors import SingularError
from ...model.constraints.held_contacts import ContactPhase
from ...typing import Array
from .coulomb import solve_contacts, solve_rows_of
from .coulomb_states import NOISE, ContactSolution, CoulombContact
from .force_split import ContactCones, independent_rank, is_independent
from .instant import Instant

__all__ = ["StickRows", "held_contacts", "held_records", "labels_of", "stopped_state"]

#: Of contacts that stick and depend on each other, so many orders are tried.
MOST_ORDERS = 24
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
    closed = [c for c in contacts if _is_closed(c, contacts, found)]
    zero = [c.normal for c in closed if c.kind != "limit"]
    noise = NOISE * (np.abs(instant.matrix) @ np.abs(found.forces) + np.abs(instant.free))
    sides = {c.normal: found.states[c.name].side for c in contacts if c.kind == "held"}
    sticking: list[CoulombContact] = []
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
            sticking.append(c)
            continue
        way = np.array(state.slip)
        if c.direction is None and len(rows) == 2:
            drag = float(c.kinetic * c.load(found.forces) * instant.matrix[rows[0], rows[0]])
            start = (math.atan2(way[1], way[0]), START * span * max(speeding, drag))
            phases.append(ContactPhase(c.name, 1, start=start, side=side))
            zero += rows
            continue
        place = int(np.argmax(np.abs(way)))
        leading = (place + 1) * (1 if way[place] > 0 else -1)
        phases.append(ContactPhase(c.name, leading, side=side))
    slips = any(phase.leading for phase in phases)
    held = _held_rows(instant, closed, sticking, zero, found, slips)
    if slips:
        _check_independent(instant, held.zero)
    order = {c.name: k for k, c in enumerate(contacts)}
    phases = sorted([*phases, *held.phases], key=lambda phase: order[phase.name])
    return StickRows(tuple(phase.label for phase in phases), held.zero)


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
    found = independent_rank(instant.matrix, rows)
    if found < len(rows):
        raise SingularError(
            "The friction of contacts that slip is not determined, as their normal forces are not",
            seen=f"{len(rows)} directions in contact, of which {found} are independent",
            remedy="remove contacts that depend on others",
        )


@dataclass(frozen=True)
class _HeldRows:
    """The phases of contacts that stick, and all rows that a mode holds."""

    phases: tuple[ContactPhase, ...]
    zero: tuple[int, ...]


def _held_rows(
    instant: Instant,
    closed: Sequence[CoulombContact],
    sticking: Sequence[CoulombContact],
    zero: Sequence[int],
    found: ContactSolution,
    slips: bool,
) -> _HeldRows:
    """Rows of contacts that stick, independent of others, with forces inside the cones.

    If all tangent rows are independent, they are held. Else those that others hold already are
    left out, in the order of the contacts that leaves the most room in the cones.

    Raises
    ------
    SingularError
        Where no order has its forces inside.
    """
    every = [*zero, *(row for c in sticking for row in c.tangents)]
    normals = _independent(instant, zero)
    if slips or is_independent(instant.matrix, every):
        orders = iter([tuple(sticking)])
    else:
        orders = islice(permutations(sticking), MOST_ORDERS)
    best: tuple[float, _HeldRows] | None = None
    for order in orders:
        phases, kept, carriers = [], list(normals), dict[str, CoulombContact]()
        for c in order:
            phase = _stick_phase(instant, c, kept, carriers.values())
            phases.append(phase)
            if not phase.leader:
                carriers[c.name] = c
                kept += [r for k, r in enumerate(c.tangents, 1) if k not in phase.carried]
        tangents = tuple(row for row in kept if row not in normals)
        held = _HeldRows(tuple(phases), (*zero, *tangents))
        if len(every) == len(held.zero):
            return held
        space = _room(instant, closed, phases, kept, found, slips)
        if best is None or space > best[0]:
            best = space, held
    assert best is not None
    if best[0] < -1e-9:
        raise SingularError(
            "The friction of contacts that stick and depend on each other is not determined",
            seen=f"{len(every)} directions in contact, of which {len(normals)} and"
            f" {len(best[1].zero) - len(zero)} are independent, with forces outside of their cones",
            remedy="remove contacts that depend on others",
        )
    return best[1]


def _independent(instant: Instant, rows: Sequence[int]) -> list[int]:
    """The first of some rows that do not depend on those before."""
    kept: list[int] = []
    for row in rows:
        if is_independent(instant.matrix, [*kept, row]):
            kept.append(row)
    return kept


def _stick_phase(
    instant: Instant, c: CoulombContact, kept: Sequence[int], carriers: Iterable[CoulombContact]
) -> ContactPhase:
    """How a contact sticks beside rows that are held: by its own, or by those of others."""
    rows = list(c.tangents)
    if is_independent(instant.matrix, [*kept, *rows]):
        return ContactPhase(c.name, 0)
    for other in carriers:
        pair = [*other.tangents, *rows]
        if set(other.tangents) <= set(kept) and independent_rank(instant.matrix, pair) == len(
            other.tangents
        ):
            return ContactPhase(c.name, 0, other.name)
    own, carried = list(kept), []
    for k, row in enumerate(rows, 1):
        if is_independent(instant.matrix, [*own, row]):
            own.append(row)
        else:
            carried.append(k)
    return ContactPhase(c.name, 0, carried=tuple(carried))


def _room(
    instant: Instant,
    closed: Sequence[CoulombContact],
    phases: Sequence[ContactPhase],
    kept: Sequence[int],
    found: ContactSolution,
    slips: bool,
) -> float:
    """How far the forces of the rows that are held are inside their cones."""
    if slips:  # friction of what slips acts beside them
        return 0.0
    forces = np.zeros(len(instant.free))
    forces[list(kept)] = solve_rows_of(
        instant.matrix[np.ix_(kept, kept)], -instant.free[list(kept)]
    )
    by_name = {c.name: c for c in closed}
    cones = []
    for c in closed:
        shared = [by_name[p.name] for p in phases if p.leader == c.name]
        if shared:  # their limits add up
            loads = [o.load(forces) for o in (c, *shared)]
            total = sum(o.static * load for o, load in zip((c, *shared), loads, strict=True))
            c = replace(c, static=total / loads[0] if loads[0] > 0 else 0.0)
        cones.append(c)
    sticking = {p.name for p in phases if not p.leader}
    return ContactCones(instant.matrix, cones, sticking).room(forces)


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
