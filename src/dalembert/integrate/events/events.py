"""Events: moments at which an expression of time and state passes through zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import ModelError
from ...formulations.equations import Equations
from ...model.symbols import t
from ...typing import Expression

if TYPE_CHECKING:
    from ..options import Events

__all__ = ["Event", "event", "find_root", "read_events"]


@dataclass(frozen=True)
class Event:
    """An expression whose zero crossings are found.

    Attributes
    ----------
    expression : sympy.Expr
        Of coordinates, velocities, momenta, parameters and time.
    direction : int
        +1 only upwards, -1 only downwards, 0 both.
    terminal : bool
        Whether the motion stops there.
    name : str
    """

    expression: sympy.Expr
    direction: int = 0
    terminal: bool = False
    name: str = ""


def event(
    expression: Expression, direction: int = 0, terminal: bool = False, name: str = ""
) -> Event:
    """An event for `simulate`.

    >>> from dalembert.model.symbols import coordinates
    >>> height = coordinates("h")
    >>> event(height, direction=-1, terminal=True, name="ground").name
    'ground'
    """
    if not isinstance(expression, sympy.Expr):
        raise ModelError("An event must be a SymPy expression", seen=type(expression).__name__)
    if direction not in (-1, 0, 1):
        raise ModelError("The direction of an event must be -1, 0 or 1", seen=direction)
    if terminal not in (False, True):
        raise ModelError(
            "An event is terminal or not",
            seen=repr(terminal)[:60],
            remedy="pass terminal=True or False",
        )
    if not isinstance(name, str):
        raise ModelError(
            "The name of an event must be text", seen=repr(name)[:60], remedy='pass name="bottom"'
        )
    return Event(expression, int(direction), bool(terminal), name)


def read_events(given: Events, equations: Equations) -> tuple[Event, ...]:
    """Read events as passed by a user: one or several, each an `Event` or a bare expression."""
    try:
        items: Sequence[Any] = [given] if isinstance(given, (Event, sympy.Expr)) else list(given)
    except TypeError:
        raise ModelError(
            "Events are given as a list",
            seen=type(given).__name__,
            remedy="pass events=[da.event(expression)]",
        ) from None
    found = [item if isinstance(item, Event) else event(item) for item in items]
    if not found:
        return ()
    system = equations.system
    known = {
        t,
        *equations.state,
        *system.coordinates,
        *system.velocities,
        *system.momenta,
        *system.parameters,
        *system.inputs,
    }
    for item in found:
        if not item.expression.free_symbols:
            raise ModelError(
                f"The event {item.name or item.expression} is a constant, which does not pass"
                " through zero",
                seen=str(item.expression)[:60],
                remedy="write it in the coordinates, velocities, momenta or time",
            )
        foreign = sorted(str(symbol) for symbol in item.expression.free_symbols - known)
        if foreign:
            raise ModelError(
                f"The event {item.name or item.expression} contains {', '.join(foreign)}, which the"
                " state does not have",
                seen=", ".join(sorted(symbol.name for symbol in known)),
                remedy=(
                    "write it in the coordinates, velocities, momenta and parameters that the"
                    " system was made with"
                ),
            )
    return tuple(
        Event(e.expression, e.direction, e.terminal, e.name or f"event{k}")
        for k, e in enumerate(found, start=1)
    )


def find_root(
    function: Callable[[float], float], low: float, high: float, at_low: float, at_high: float
) -> float:
    """Locate a sign change in [low, high] to the last digit: bisection with secant steps (ITP).

    `at_low` is not zero. The end that is returned no longer has its sign, so that the root has just
    been passed; where the function is zero over a stretch, it is where that begins.

    >>> find_root(lambda x: x - 0.5, 0.25, 0.5, -0.25, 0.0)
    0.5
    """
    sign = -1.0 if at_low > 0 else 1.0
    below, above = float(low), float(high)
    f_below, f_above = float(at_low) * sign, float(at_high) * sign
    for attempt in range(200):
        middle = 0.5 * (below + above)
        if middle in (below, above):
            break
        trial = middle
        if attempt % 3 != 2 and f_above != f_below:
            secant = above - f_above * (above - below) / (f_above - f_below)
            margin = 0.01 * (above - below)
            trial = min(max(secant, below + margin), above - margin)
            if attempt % 3 == 1:  # step slightly past the estimate, so that both ends close in
                trial = min(max(secant + 4e-16 * abs(secant), below), above)
            if not min(below, above) < trial < max(below, above):  # also where a value is infinite
                trial = middle
        value = sign * function(trial)
        if value >= 0.0:
            above, f_above = trial, value
        else:
            below, f_below = trial, value
    return above
