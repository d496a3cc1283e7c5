"""Read a call with arrays: the plan of all runs, and the values that differ between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, StartError, nearest
from ...model.labels import aligned, labelled
from ...model.names import shortened
from ...model.symbols import by_name
from ...model.values import check_sign, real_array, real_number
from ...typing import (
    Array,
    Expression,
    Parameters,
    Samples,
    Span,
    Start,
)
from ..options import RunOptions
from ..start_symbols import own_symbols, start_names
from ..task import read_task
from .chunks import RunPlan
from .run_table import SweepAxis

if TYPE_CHECKING:
    from ..options import Model

__all__ = ["described", "flat_values", "read_plan"]


def described(plan: RunPlan) -> dict[str, Any]:
    """What was simulated and how, in plain values."""
    task = plan.task
    found: dict[str, Any] = {
        "system": task.equations.system.name,
        "form": task.equations.form,
        "method": task.method,
    }
    if task.stepping is None:
        found |= {"rtol": task.rtol, "atol": float(np.min(task.atol))}
    else:
        found["step"] = abs(task.stepping.step)
    if task.method_reason:
        found["method_reason"] = task.method_reason
    return found | {"span": [float(task.span[0]), float(task.span[1])]}


def read_plan(
    model: Model,
    start: Start | Samples | None,
    span: Span | None,
    options: RunOptions,
) -> tuple[RunPlan, list[SweepAxis]]:
    """The plan of all runs, and the arrays that differ from run to run."""
    if options.every is not None:
        raise ModelError(
            "Many runs keep no steps between the times asked for",
            seen="every",
            remedy="leave every out",
        )
    parameters, start = labelled(options.parameters), labelled(start)
    fixed_p, arrays_p = _parted(parameters)
    fixed_s, arrays_s = _parted(start)
    varied = _read_arrays({**arrays_p, **arrays_s})
    varied_p = {name: varied[name] for name in arrays_p}
    varied_s = {name: varied[name] for name in arrays_s}
    axes = [SweepAxis(name, False, values) for name, values in varied_p.items()]
    axes += [SweepAxis(name, True, values) for name, values in varied_s.items()]
    task = read_task(
        model,
        (
            start
            if start is not None and not isinstance(start, Mapping)
            else fixed_s | _examples(varied_s)
        ),
        span,
        replace(
            options,
            parameters=parameters if varied_p == {} else fixed_p | _examples(varied_p),
            progress=None,
        ),
    )
    kept = [event.name for event in task.events if not event.terminal]
    if kept:
        raise ModelError(
            f"Many runs keep no zero crossings of an event such as `{kept[0]}`",
            remedy="make it terminal, or look at single runs with motion(index)",
        )
    if task.at is None or not len(task.at):
        task = replace(task, at=np.array([task.span[1]]))
    plan = RunPlan(task, tuple(task.start))
    _check_names(plan)
    return plan, axes


def _parted(given: Parameters | Samples | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values by name: those that are one for all runs, and the arrays."""
    fixed: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for name, value in by_name(given, "call").items() if isinstance(given, Mapping) else ():
        is_array = isinstance(value, (list, tuple)) or getattr(value, "ndim", False)
        (arrays if is_array else fixed)[name] = value
    return fixed, arrays


def _read_arrays(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of numbers, in one order where they have labels."""
    varied: dict[str, Any] = {}
    for name, value in aligned(arrays).items():
        try:
            varied[name] = real_array(value)
        except (TypeError, ValueError):
            raise ModelError(
                f"The values of `{name}` must be numbers",
                seen=str(value)[:60],
                remedy="give real numbers",
            ) from None
    return varied


def _examples(varied: Mapping[str, Any]) -> dict[str, float]:
    """One finite value of each array."""
    return {
        name: float(next(iter(values[np.isfinite(values)]), 1.0)) for name, values in varied.items()
    }


def _check_names(plan: RunPlan) -> None:
    """Refuse starts of symbols that the state does not have, once and not for every run."""
    known = start_names(plan.start_kernel.equations)
    known += own_symbols(plan.task.equations, (s.name for s in plan.task.equations.state))
    for name in plan.given:
        if name not in known:
            near = nearest(name, known)
            raise StartError(
                f"The start names `{name}`, which is no part of the state",
                seen=", ".join(known),
                remedy=f"did you mean {near}" if near else "use one of these names",
            )


def flat_values(
    plan: RunPlan, axes: Sequence[SweepAxis], shape: tuple[int, ...]
) -> tuple[Array, Array]:
    """Parameters (k, n_par) and start values (k, n_given) of all runs, in axis order."""
    count = math.prod(shape)
    symbols = {symbol.name: symbol for symbol in plan.task.equations.system.parameters}
    names = list(symbols)
    p = np.tile(np.asarray(plan.task.parameters, dtype=float), (count, 1))
    v = np.tile(
        np.array([_number(name, value) for name, value in plan.task.start.items()], dtype=float),
        (count, 1),
    )
    for axis in axes:
        if axis.name in symbols and not axis.is_start:
            check_sign(symbols[axis.name], axis.values)
        target, places = (v, plan.given) if axis.is_start else (p, names)
        target[:, list(places).index(axis.name)] = np.broadcast_to(axis.values, shape).ravel()
    return p, v


def _number(name: str, value: Expression) -> float:
    number = real_number(value)
    if math.isnan(number):
        fault = f"The start of `{name}` must be a finite number"
        raise StartError(fault, seen=shortened(value), remedy="give it a number")
    return number
