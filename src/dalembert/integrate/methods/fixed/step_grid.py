"""The call of a run with fixed steps, read and checked: what the method needs, and how the span divides into steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....errors import FormError, ModelError
from ....formulations.equations import Equations
from ....model.constraints import HolonomicConstraint
from ....model.flow_system import Flow
from ....model.method_names import FIXED_STEP, METHODS, unknown_method
from ....model.values import real_number
from ....runtime.kernel import kernel_of
from ..hypotheses import refuse_decisions
from ..implicit.rattle_programs import check_position_steps
from ..implicit.root_steps import check_root_steps, root_form
from . import fixed_fields as places
from .fixed_run import FIXED_METHODS, Stepping
from .step_density import ReversibleSteps, check_reversible

__all__ = ["check_equations", "natural_form", "read_method", "read_stepping", "snapped"]

#: How far from a whole number of steps a span or a time may be, in steps and relative to their number.
SLACK = 1e-9
#: A step has at least so many spacings of the numbers that times are.
LEAST_SPACINGS = 8
#: With times asked for, about so many steps are kept for dense output where nothing else is said.
KEPT = 4096
#: The number of steps that is not known beforehand.
UNBOUNDED = 2**60


def read_method(method: Any) -> str:
    """The name of a method."""
    if method not in METHODS:
        raise unknown_method(method)
    return str(method)


def natural_form(method: Any) -> str | None:
    """The form that a method takes its steps in; None where any will do."""
    if method == "ida-ggl":
        return "lagrange"
    if method not in FIXED_METHODS:
        return None
    kind = FIXED_METHODS[method][0]
    return "lagrange" if kind == places.RATTLE else root_form(method) if kind == places.ROOTS else None


def read_stepping(
    method: str,
    step: Any,
    every: Any,
    span: tuple[float, float],
    at: Any,
    adapt: ReversibleSteps | None = None,
    **others: Any,
) -> Stepping | None:
    """The stepping of a run; None for methods that choose their steps. `others` are arguments that must not be given."""
    if method not in FIXED_STEP:
        for name, value in (("step", step), ("every", every), ("adapt", adapt)):
            if value is not None:
                raise ModelError(
                    f"The method {method} chooses its steps",
                    seen=f"{name} = {value}",
                    remedy="leave it out, use max_step, or choose a method with fixed steps such as gauss4",
                )
        return None
    for name, value in others.items():
        if value is not None:
            raise ModelError(
                f"The method {method} takes fixed steps",
                seen=f"{name} = {value}",
                remedy=f"leave {name} out and choose the step, or use method dop853",
            )
    if step is None:
        raise ModelError(f"The method {method} needs a step", seen="no step", remedy="pass step=0.01, say")
    size = real_number(step)
    if not (size > 0 and math.isfinite(size)):
        raise ModelError("The step must be positive", seen=step, remedy="pass step=0.01, say; the span gives the direction")
    length = span[1] - span[0]
    apart = float(np.spacing(max(abs(span[0]), abs(span[1]))))
    if size < LEAST_SPACINGS * apart and length != 0:
        raise ModelError(
            "The step is lost beside the times of the span",
            seen=f"step {size:g}, and numbers near t = {max(abs(span[0]), abs(span[1])):g} lie {apart:.2g} apart",
            remedy="count time from the start of the run, or take a longer step",
        )
    if adapt is not None:
        return Stepping(math.copysign(size, length), UNBOUNDED, _read_every(every, at, 1), adapt)
    count = round(abs(length) / size)
    if abs(count - abs(length) / size) > SLACK * max(1.0, count):
        fitting = abs(length) / max(1, count)
        raise ModelError(
            "The span is no whole number of steps",
            seen=f"{abs(length):g} in steps of {size:g}",
            remedy=f"take step={fitting:.12g}, or end at {span[0] + math.copysign(size * max(1, count), length):.9g}",
        )
    return Stepping(length / count if count else size, count, _read_every(every, at, count))


def _read_every(every: Any, at: Any, count: int) -> int:
    if every is None:
        return 1 if at is None else max(1, count // KEPT)
    value = real_number(every)
    if not (value >= 1 and value == int(value)):
        raise ModelError("every must be a whole number of steps, at least 1", seen=every, remedy="pass every=10, say")
    return int(value)


def snapped(at: Any, stepping: Stepping, span: tuple[float, float]) -> Any:
    """The times asked for as the times of steps; an error where one lies between steps."""
    if stepping.adapt is not None:
        return at
    numbers = np.round((at - span[0]) / stepping.step)
    apart = np.abs((at - span[0]) / stepping.step - numbers)
    wrong = np.flatnonzero(apart > SLACK * np.maximum(1.0, np.abs(numbers)) + 1e-6)
    if wrong.size:
        time, near = float(at[wrong[0]]), stepping.time(int(numbers[wrong[0]]), span)
        raise ModelError(
            f"The time {time:g} in `at` lies between two steps",
            seen=f"steps of {abs(stepping.step):g} from {span[0]:g}",
            remedy=f"ask for {near:.9g}, or take motion.sol({time:g})",
        )
    return np.array([stepping.time(int(number), span) for number in numbers])


def check_equations(equations: Equations, method: str, events: Any, stepping: Stepping | None = None) -> None:
    """Refuse what a fixed-step method cannot follow, or what its steps cannot vary with."""
    _check_method(equations, method, events)
    if stepping is not None and stepping.adapt is not None:
        check_reversible(equations, method, FIXED_METHODS[method][0], stepping.adapt)


def _check_method(equations: Equations, method: str, events: Any) -> None:
    system = equations.system
    refuse_decisions(equations, method, events)
    if FIXED_METHODS[method][0] == places.RATTLE:
        check_position_steps(equations, method)
        return
    if FIXED_METHODS[method][0] == places.ROOTS:
        check_root_steps(equations, method)
        return
    if not isinstance(system, Flow) and kernel_of(equations, system.parameters).n_positions:
        name = next((c.name for c in system.bilateral if isinstance(c, HolonomicConstraint)), "")
        raise FormError(
            f"The method {method} does not end its steps on constraints of positions such as `{name}`",
            seen=f'the form "{equations.form}"',
            remedy="use method dop853 or rattle4, which end every step on it, or state the system in independent coordinates",
        )
    if FIXED_METHODS[method][0] == places.GAUSS:
        return
    if not isinstance(system, Flow) or not system.actions:
        raise FormError(
            f"The method {method} needs a flow whose matrices move by a group",
            seen=f'the form "{equations.form}"' if not isinstance(system, Flow) else "a flow without actions",
            remedy="state da.Flow(..., matrices={...}, actions=[...]), or use method gauss4",
        )
