"""Events at which contacts change: a gap closes, a force vanishes, friction grips or lets go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from ...codegen.passes.unrolled import unrolled_solve
from ...model.constraints import FrictionLimit, UnilateralConstraint
from ...model.constraints.held_contacts import ContactPhase
from .. import advance as loop
from ..events.events import Event

if TYPE_CHECKING:
    from ...runtime.kernel import Kernel

__all__ = ["ContactEvent", "contact_columns", "contact_events", "phases_of"]

Stated = UnilateralConstraint | FrictionLimit
#: A slip in space ends where it would stop within this part of the span.
ABOUT_TO_STOP = 1e-12
#: Another direction of the slip leads where the square of its velocity is this much larger.
TURNED = 2.0
#: What is below this part of the terms of a force is rounding.
ROUNDING = 1e-13
#: What keeps quotients finite whose terms vanish.
TINY = 1e-300


@dataclass(frozen=True)
class ContactEvent(Event):
    """An event of a contact: "impact", "release", "slide", "stop", "turn" or "reverse"."""

    what: str = ""
    contact: str = ""


def phases_of(mode: Sequence[str], contacts: Sequence[Stated]) -> dict[str, ContactPhase]:
    """The closed contacts of a mode with their phases."""
    found = {}
    for constraint in contacts:
        for label in mode:
            phase = ContactPhase.of(label, constraint.name)
            if phase is not None:
                found[constraint.name] = phase
    return found


def _kinds(
    constraint: Stated, phase: ContactPhase | None, contacts: Sequence[Stated]
) -> tuple[str, ...]:
    """The events of a contact or a limit in a phase, in the order of their columns."""
    if isinstance(constraint, FrictionLimit):
        if phase is None:
            return ()
        first = ("reverse",) if phase.leading and is_held(constraint, contacts) else ()
    else:
        if phase is None:
            return ("impact",)
        first = ("release",)
    if phase.leading is None or phase.is_carried_by_others(len(constraint.tangent)):
        return first
    if phase.leading == 0:
        return (*first, "slide")
    if phase.start is not None:
        return (*first, "stop", "turn")
    in_plane = len(constraint.tangent) == 1
    return (*first, "stop") if in_plane else (*first, "stop", "stop", "turn")


def is_held(limit: FrictionLimit, contacts: Sequence[Stated]) -> bool:
    """Whether the load of a friction limit is the reaction of one two-sided constraint."""
    return len(limit.normal) == 1 and limit.normal[0] not in {c.name for c in contacts}


def contact_events(mode: Sequence[str], contacts: Sequence[Stated]) -> list[ContactEvent]:
    """The events of the contacts in a mode; each is met where its column rises through zero."""
    phases = phases_of(mode, contacts)
    return [
        ContactEvent(c.expression, 1, True, f"{what} {c.name}", what, c.name)
        for c in contacts
        for what in _kinds(c, phases.get(c.name), contacts)
    ]


def contact_columns(
    kernel: Kernel, mode: Sequence[str], contacts: Sequence[Stated], span: float
) -> list[ca.SX]:
    """The same as functions of the state, which do not rise where they are zero for a while."""
    phases = phases_of(mode, contacts)
    solved: Any = None
    if phases:
        graph = kernel.graph
        solved = kernel.solved or unrolled_solve(
            graph.metric, graph.force, graph.rows, graph.right, augment=True
        )
    names = kernel.equations.row_names
    columns: list[ca.SX] = []
    for c in contacts:
        phase = phases.get(c.name)
        if phase is None:
            columns += [] if isinstance(c, FrictionLimit) else [kernel.lower([c.expression])]
            continue
        if not isinstance(c, FrictionLimit):
            place = names.index(c.name)
            columns.append(solved.multipliers[place] - force_noise(kernel, solved, place))
        elif phase.leading and is_held(c, contacts):
            columns.append(phase.side * solved.multipliers[names.index(c.normal[0])])
        if phase.is_carried_by_others(len(c.tangent)):
            continue
        if phase.leading == 0:
            columns.append(_beyond_cone(kernel, solved, c, phases, contacts))
        elif phase.start is not None:
            columns += _start_columns(kernel, c, *phase.start)
        elif phase.leading:
            columns += _slip_columns(kernel, solved, c, phase.leading, span)
    return [column - loop.JUST_OFF for column in columns]


def force_noise(kernel: Kernel, solved: Any, row: int) -> ca.SX:
    """What rounding makes of the force of a row: that of its terms over the inertia in its way.

    Contacts that touch without a force, as of blocks that fall together, would else open and close
    by rounding.
    """
    graph = kernel.graph
    size, response = ca.fabs(graph.right[row]), ca.SX(0)
    for j in range(graph.metric.shape[0]):
        entry, inertia = graph.rows[row, j], graph.metric[j, j] + TINY
        if entry.is_zero():
            continue
        size += ca.fabs(entry) * (ca.fabs(solved.z[j]) + ca.fabs(graph.force[j] / inertia))
        response += entry**2 / inertia
    noise: ca.SX = ROUNDING * size / (response + TINY)
    return noise


def _beyond_cone(
    kernel: Kernel,
    solved: Any,
    contact: Stated,
    phases: dict[str, ContactPhase],
    contacts: Sequence[Stated],
) -> ca.SX:
    """|P_t|^2 - (mu_s N)^2, with the limits of the contacts whose friction it carries."""
    names = kernel.equations.row_names
    held = [k for k in range(1, len(contact.tangent) + 1) if k not in phases[contact.name].carried]
    rows = [names.index(f"{contact.name}_tangent{k}") for k in held]
    rubbing = [solved.multipliers[row] for row in rows]
    limit = sum((force_noise(kernel, solved, row) for row in rows), ca.SX(0))
    for other in contacts:
        phase = phases.get(other.name)
        if phase is not None and contact.name in (other.name, phase.leader):
            static = kernel.lower([other.static_friction])
            if isinstance(other, FrictionLimit) and not other.normal:
                limit = limit + static * kernel.lower([other.load])
                continue
            presses = other.normal if isinstance(other, FrictionLimit) else (other.name,)
            loads = [solved.multipliers[names.index(each)] for each in presses]
            if len(loads) > 1:
                limit = limit + static * ca.norm_2(ca.vertcat(*loads))
                continue
            (load,), (pushing,) = loads, presses
            limit = limit + static * (ca.fabs(load) if pushing not in phases else -load)
    beyond: ca.SX = ca.sumsqr(ca.vertcat(*rubbing)) - limit**2
    return beyond


def _slip_columns(
    kernel: Kernel, solved: Any, contact: Stated, leading: int, span: float
) -> list[ca.SX]:
    """The end of a slip, and where another of its directions leads."""
    slip = kernel.lower(list(contact.tangent))
    place, sign = abs(leading) - 1, 1.0 if leading > 0 else -1.0
    columns = [-sign * slip[place]]
    if len(contact.tangent) == 1:
        return columns
    graph = kernel.graph
    time, state = kernel._symbols[:2]
    known = ca.vertcat(solved.z, solved.multipliers)
    rates = ca.substitute(graph.rates, kernel._unknown_symbols, known)
    growth = ca.jtimes(slip, state, rates) + ca.jacobian(slip, time)
    soon = -ABOUT_TO_STOP * span * ca.dot(slip, growth) - ca.sumsqr(slip)
    return [*columns, soon, (slip[1 - place] / slip[place]) ** 2 - TURNED]


def _start_columns(kernel: Kernel, contact: Stated, angle: float, speed: float) -> list[ca.SX]:
    """The end of a slip that has just begun, and where it is fast enough to have its direction."""
    slip = kernel.lower(list(contact.tangent))
    forward = ca.cos(angle) * slip[0] + ca.sin(angle) * slip[1]
    return [-forward, forward - speed]
