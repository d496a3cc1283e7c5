r"""Derivatives across events of contact: the saltation matrix (Aizerman and Gantmakher 1958).

At an event e(t, y, p) = 0 the state jumps to R(t, y, p), and the rates from f to F. A motion beside
the given one meets it earlier or later by

    dt = -(e_y dy + e_p dp) / (e_t + e_y f),

so that at the time of the event its derivatives become

    R_y dy + R_p dp + (R_y f + R_t - F) dt.

R is the identity where contacts open, stick or slip, and the law of impact where they hit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import casadi as ca
import numpy as np

from ...errors import ModelError
from ...formulations.registry import derive
from ...model.constraints import FrictionLimit, UnilateralConstraint
from ...model.constraints.held_contacts import ContactPhase
from ...runtime.kernel import Kernel, kernel_of
from ..contact.contact_events import contact_columns, contact_events, phases_of
from ..contact.contact_modes import ACCUMULATED

if TYPE_CHECKING:
    from ...typing import Array
    from ..motion import Motion
    from ..segment import Segment

__all__ = ["check_contacts", "saltation"]

#: The event that each reason in `Motion.modes` names.
_EVENTS = {
    "its normal force vanished": "release",
    "its friction reached the limit": "slide",
    "its slip ended": "stop",
    "the force that presses on it changed its sign": "reverse",
}
#: An event is met at a right angle enough where its rate is above this part of its terms.
GRAZING = 1e-9
#: The law of impact is that of the run where it gives the state after it up to this.
SAME = 1e-7


class _Derivatives(NamedTuple):
    """A function of (t, y, p): its value and its derivatives (m,), (m, n), (m, n_p)."""

    value: Any
    by_time: Any
    by_state: Any
    by_parameters: Any


def check_contacts(motion: Motion) -> None:
    """Raise where the derivative of a motion with contacts is not found."""
    if motion.equations.form != "lagrange" and len({s.mode for s in motion.segments}) > 1:
        _refuse(f"form {motion.equations.form}", 'use form="lagrange"')
    if any(change.reason == ACCUMULATED for change in motion.modes):
        _refuse("infinitely many impacts before an instant", "end the span before that instant")
    if any("Painleve" in change.reason for change in motion.modes):
        _refuse("a paradox of Painleve", "end the span before it")


def saltation(
    motion: Motion, before: Segment, after: Segment, derivatives: Array, by_parameters: Array
) -> Any:
    """Derivatives (k, n) at the end of a segment as those at the start of the next.

    Parameters
    ----------
    derivatives : array (k, n)
    by_parameters : array (n_p, k)
        The directions in the parameters of the kernel.
    """
    time, p = float(before.step_t[-1]), before.context.parameters
    y, begins = before.step_y[-1], after.step_y[0]
    hit = [name for when, name in motion.impacts if when == time]
    event = _event(motion, before, hit, time, y)
    if event is None:
        return derivatives
    rates = [_rates(before, time, y), _rates(after, time, begins)]
    meets = event.by_time + event.by_state @ rates[0]
    terms = np.abs(event.by_time) + np.abs(event.by_state) @ np.abs(rates[0])
    if (np.abs(meets) <= GRAZING * terms).any():
        _refuse("an event that is only grazed", "change the start")
    earlier = -(derivatives @ event.by_state.T + by_parameters.T @ event.by_parameters.T) / meets
    if np.ptp(earlier, axis=1).max(initial=0.0) > SAME * np.abs(earlier).max(initial=1e-300):
        _refuse("several events at one instant", "change the start")
    jump = _impact(motion, before, hit, time, y, begins) if hit else _identity(len(y), len(p), y)
    moved = derivatives @ jump.by_state.T + by_parameters.T @ jump.by_parameters.T
    return moved + np.outer(earlier[:, 0], jump.by_state @ rates[0] + jump.by_time - rates[1])


def _refuse(seen: str, remedy: str) -> NoReturn:
    raise ModelError("The motion through contacts is not differentiated", seen, remedy)


def _rates(segment: Segment, time: float, y: Array) -> Any:
    free = np.zeros(len(segment.context.kernel.free_inputs))
    return np.asarray(segment.context.rates(time, y, free))[: len(y)]


def _identity(n: int, count: int, y: Array) -> _Derivatives:
    return _Derivatives(y, np.zeros(n), np.eye(n), np.zeros((n, count)))


def _derivatives(kernel: Kernel, value: ca.SX, time: float, y: Array, p: Array) -> _Derivatives:
    inputs = kernel._inputs()
    blocks = [ca.densify(value), *(ca.densify(ca.jacobian(value, each)) for each in inputs[:3])]
    found = ca.Function("event", inputs, blocks)(time, y, p, np.zeros(0), np.zeros(0))
    parts = [np.asarray(part, dtype=float) for part in found]
    return _Derivatives(parts[0].ravel(), parts[1].ravel(), parts[2], parts[3])


def _event(
    motion: Motion, before: Segment, hit: list[str], time: float, y: Array
) -> _Derivatives | None:
    """The functions that vanish at the event; None where only the equations were written anew."""
    stated, kernel = motion.system.unilateral, before.context.kernel
    changed = {c.contact: _EVENTS.get(c.reason, "") for c in motion.modes if c.time == time}
    if hit:
        gaps = [c.expression for c in stated if c.name in hit]
        return _derivatives(kernel, kernel.lower(gaps), time, y, before.context.parameters)
    events = contact_events(before.mode, stated)
    wanted = [k for k, e in enumerate(events) if changed.get(e.contact) == e.what]
    if not wanted:
        return None
    phases = phases_of(before.mode, stated)
    if any(len(c.tangent) > 1 and phases[c.name].leading for c in stated if c.name in changed):
        _refuse("the end of a slip in space", "end the span before it")
    columns = contact_columns(kernel, before.mode, stated, 1.0)
    value = ca.vertcat(*(columns[k] for k in wanted))
    found = _derivatives(kernel, value, time, y, before.context.parameters)
    met = np.abs(found.value) <= 1e-6 * (np.abs(found.by_state) @ np.abs(y) + 1e-300)
    chosen = np.flatnonzero(met) if met.any() else np.array([int(np.abs(found.value).argmin())])
    return _Derivatives(
        found.value[chosen], found.by_time[chosen], found.by_state[chosen],
        found.by_parameters[chosen],
    )  # fmt: skip


def _impact(
    motion: Motion, before: Segment, hit: list[str], time: float, y: Array, begins: Array
) -> _Derivatives:
    """The state after an impact with its derivatives, by the law with what each contact did.

    With M dv = J^T L, each row has either its velocity, -e times the one before, or its impulse: 0
    where a contact opens, and mu times the normal one where it slips.
    """
    stated, p = motion.system.unilateral, before.context.parameters
    phases = phases_of(before.mode, stated)
    limits = [c for c in stated if isinstance(c, FrictionLimit)]
    if any(c.normal for c in limits):
        _refuse("an impact with a friction limit that it loads", "end the span before it")
    contacts = [
        c
        for c in stated
        if isinstance(c, UnilateralConstraint) and (c.name in hit or c.name in phases)
    ]
    labels = tuple(ContactPhase(c.name, 0 if c.tangent else None).label for c in contacts)
    system = motion.system
    kernel = kernel_of(derive(system.touching(labels), "lagrange"), system.parameters)
    graph, inputs = kernel.graph, kernel._inputs()
    rows, residual = ca.SX(graph.velocity.rows), ca.SX(graph.velocity.residual)
    seen = ca.Function("rows", inputs, [residual])
    arrived, left = (
        np.asarray(seen(time, state, p, np.zeros(0), np.zeros(0))).ravel() for state in (y, begins)
    )
    n, m = rows.shape[1], rows.shape[0]
    impulse, names = ca.SX.zeros(m, n + m), list(kernel.equations.row_names)
    wanted = ca.SX.zeros(m)
    small = 1e-9 * np.abs(arrived).max(initial=1e-300)
    bounce = dict.fromkeys(names, ca.SX(0))
    for c in contacts:
        bounce[c.name] = kernel.lower([c.restitution if c.name in hit else 0 * c.restitution])
        for k in range(1, len(c.tangent) + 1):
            bounce[f"{c.name}_tangent{k}"] = kernel.lower([c.tangential_restitution])
    number = ca.Function("bounce", inputs, [ca.vertcat(*(bounce[name] for name in names))])
    returned = np.asarray(number(time, y, p, np.zeros(0), np.zeros(0))).ravel()
    for place, name in enumerate(names):
        contact = next((c for c in contacts if name.startswith(f"{c.name}_tangent")), None)
        over = left[place] + returned[place] * arrived[place]
        opens = name in phases and name not in hit and left[place] < -small
        if opens:
            impulse[place, n + place] = 1
        elif contact is not None and abs(over) > small:
            if len(contact.tangent) > 1:
                _refuse("an impact that slips in space", "end the span before it")
            impulse[place, n + place] = 1
            friction = kernel.lower([contact.friction])
            impulse[place, n + names.index(contact.name)] = -friction * float(np.sign(over))
        else:
            impulse[place, :n] = rows[place, :]
            wanted[place] = -(1 + bounce[name]) * residual[place]
    metric = ca.SX(graph.metric)
    matrix = ca.vertcat(ca.horzcat(metric, -rows.T), impulse)
    solved = ca.solve(matrix, ca.vertcat(ca.SX.zeros(n), wanted))
    after = inputs[1] + ca.SX(graph.velocity.lift) @ solved[:n]
    found = _derivatives(kernel, after, time, y, p)
    off = np.abs(found.value - begins) > SAME * (np.abs(begins) + np.abs(y).max())
    if off.any():
        _refuse("impacts that follow from each other at one instant", "end the span before them")
    return found
