"""A sweep as plain data: model text and numbers, from which any process makes the same plan.

Nothing but text, numbers and arrays travels to a worker. Every process reads the model from the
same text, also the one that gave the order, so that all of them derive the same equations and
compute the same numbers.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._version import __version__
from ...errors import DalembertError, ModelError, RunError
from ...formulations.equations import Equations
from ...model.flow_system import Flow
from ...model.io.files import dumps, loads
from ...model.scenario import Scenario
from ...model.system import System
from ...typing import Array, ArrayLike, Span
from ..methods.automatic import suited_to_deviations, suited_to_many
from ..options import RunOptions
from .chunks import Results, RunPlan, run_chunk
from .indicators import Indicators
from .plan_reader import read_plan

if TYPE_CHECKING:
    from ...formulations.equations import Equations
    from ...model.flow_system import Flow
    from ...model.scenario import Scenario
    from ...model.system import System
    from ..options import Model

__all__ = [
    "Order",
    "execute",
    "order_of",
    "order_with",
    "plan_of",
    "suited_order",
    "system_of",
]

#: Options of `simulate` that a sweep takes.
OPTIONS = (
    "form",
    "method",
    "rtol",
    "atol",
    "step",
    "project",
    "project_start",
    "max_step",
    "first_step",
    "max_steps",
)


_PLANNING = threading.Lock()


@dataclass(frozen=True)
class Order:
    """What all runs of a sweep share.

    Attributes
    ----------
    text : str
        The model file, with parameters and a start.
    options : str
        The options of `simulate` as JSON, span and times included.
    version : str
        The version of this library, which a worker must have too.
    """

    text: str
    options: str
    version: str = __version__

    @property
    def identity(self) -> dict[str, str]:
        """Digests by which a store knows what it was made from."""
        digest = {
            name: hashlib.sha256(text.encode()).hexdigest() for name, text in self._parts.items()
        }
        return digest | {"version": self.version}

    @property
    def _parts(self) -> dict[str, str]:
        return {"model": self.text, "options": self.options}


def order_of(
    model: Model,
    start: Mapping[str, float],
    parameters: Mapping[str, float],
    span: Span | None,
    at: ArrayLike | None,
    given: Mapping[str, object],
) -> Order:
    """The order for a model; `start` and `parameters` replace values of a scenario.

    Raises
    ------
    ModelError
        Where the model is no System, Flow or Scenario, or cannot be written as a model file.
    """
    scenario = model if isinstance(model, Scenario) else Scenario(system_of(model))
    stated = {
        key: value
        for key, value in scenario.simulate.items()
        if key != "every" and value is not None
    }
    if isinstance(model, Equations):
        stated["form"] = model.form
    unknown = [name for name in given if name not in OPTIONS]
    if unknown:
        raise ModelError(
            f"A sweep has no option `{unknown[0]}`",
            seen=", ".join(OPTIONS),
            remedy="use these, or simulate with arrays in one process",
        )
    options = stated | {name: value for name, value in given.items() if value is not None}
    options |= {key: value for key, value in (("span", span), ("at", at)) if value is not None}
    if options.get("method") == "dop853" and "method" in given:
        options.pop("step", None)
    known = {symbol.name for symbol in scenario.system.parameters}
    values = {
        key: value for key, value in {**scenario.parameters, **parameters}.items() if key in known
    }
    whole = Scenario(scenario.system, parameters=values, start={**scenario.start, **start})
    try:
        text = dumps(whole)
    except DalembertError as error:
        raise ModelError(
            "The model cannot be written as a model file, which a sweep is made from",
            seen=error.what,
            remedy=error.remedy,
        ) from error
    return Order(
        text,
        json.dumps({key: _plain(key, value) for key, value in options.items()}, sort_keys=True),
    )


def system_of(model: Model) -> Any:
    """The system behind a model; an error where a sweep cannot be made of it."""
    if isinstance(model, Scenario):
        return system_of(model.system)
    if isinstance(model, Equations):
        if model.options:
            raise ModelError(
                "Equations that were derived with options cannot be written as a model file",
                seen=", ".join(model.options),
                remedy="sweep the system itself, or use simulate with arrays in one process",
            )
        return system_of(model.system)
    if not isinstance(model, (System, Flow)):
        raise ModelError(
            "A sweep needs a System, a Flow, or a Scenario",
            seen=type(model).__name__,
            remedy="pass da.System(...), da.load_model(path), or da.gallery.load(name)",
        )
    return model


def _plain(name: str, value: object) -> Any:
    """A value of an option that JSON can hold."""
    if isinstance(value, (str, bool)):
        return value
    try:
        return np.asarray(value, dtype=float).tolist()
    except (TypeError, ValueError):
        raise ModelError(
            f"The option `{name}` must be made of numbers", seen=str(value)[:60]
        ) from None


def plan_of(order: Order) -> RunPlan:
    """The plan of an order, made once in every process."""
    with _PLANNING:
        return _planned(order)


@lru_cache(maxsize=4)
def _planned(order: Order) -> RunPlan:
    options = json.loads(order.options)
    span, at = options.pop("span", None), options.pop("at", None)
    if "max_steps" in options:
        options["max_steps"] = int(options["max_steps"])
    reason, asked = options.pop("method_reason", None), options.pop("indicators", None)
    plan, _ = read_plan(loads(order.text), None, span, RunOptions(at=at, **options))
    if reason is not None:
        plan = replace(plan, task=replace(plan.task, method_reason=reason))
    if asked is not None:
        plan = replace(plan, indicators=Indicators(tuple(asked["names"]), asked["seed"]))
    plan.prepare()
    return plan


def suited_order(order: Order, count: int) -> Order:
    """The order with the method that suits so many runs, so that all workers take the same."""
    plan = plan_of(order)
    task = plan.task
    if plan.indicators is not None:
        suited = suited_to_deviations(task, plan.indicators.count, plan.is_light)
    else:
        suited = suited_to_many(task, count)
    if suited is task:
        return order
    return _with(order, {"method": suited.method, "method_reason": suited.method_reason})


def order_with(order: Order, indicators: Indicators) -> Order:
    """The order of runs with chaos indicators."""
    return _with(order, {"indicators": {"names": indicators.names, "seed": indicators.seed}})


def _with(order: Order, more: Mapping[str, Any]) -> Order:
    options = json.loads(order.options) | dict(more)
    return replace(order, options=json.dumps(options, sort_keys=True))


def execute(order: Order, parameters: Array, values: Array) -> Results:
    """The runs of one block: what a worker of a cluster is asked for."""
    if order.version != __version__:
        raise RunError(
            f"A worker has dalembert {__version__}",
            seen=f"the sweep was started with {order.version}",
            remedy="install one version",
        )
    return run_chunk(plan_of(order), np.asarray(parameters), np.asarray(values))
