"""What a run was asked to do and made with, as plain data, so that its file can be rerun."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import sympy

from .._version import __version__
from ..errors import DalembertError, FileError
from ..formulations.equations import Equations
from ..model.io.expressions import format, parse
from ..model.symbols import name_of, t
from .events.events import Event
from .input_table import InputTable
from .methods.fixed.step_density import ReversibleSteps, read_adapt, written_size
from .methods.table import find_method

if TYPE_CHECKING:
    from .task import Task

__all__ = ["call_of", "made_with", "task_of"]


def call_of(task: Task) -> dict[str, Any]:
    """The call behind a task: the start as it was given, the times asked for, events, method,
    tolerances and limits.

    What has no place in a file is named: `functions` are the inputs that were functions of Python.
    """
    stepping = task.stepping
    found: dict[str, Any] = {
        "start": {name_of(key): float(value) for key, value in task.start.items()},
        "span": list(task.span),
        "at": task.at,
        "events": [_written_event(event, task.equations) for event in task.events],
        "functions": sorted(
            name for name, law in task.inputs.items() if not isinstance(law, InputTable)
        ),
        "tables": {
            name: {"times": law.times.tolist(), "coefficients": law.coefficients.tolist()}
            for name, law in task.inputs.items()
            if isinstance(law, InputTable)
        },
        "method": task.method,
        "method_reason": task.method_reason,
        "project": bool(task.project),
        "project_start": bool(task.project_start),
        "max_steps": int(task.max_steps),
        "through_singular": task.through_singular,
    }
    if stepping is None:
        found |= {"rtol": task.rtol, "atol": task.atol.tolist(), "first_step": task.first_step}
        found["max_step"] = None if math.isinf(task.max_step) else task.max_step
    else:
        found |= {"step": abs(stepping.step), "every": stepping.every}
        if stepping.adapt is not None:
            found["adapt"] = written_size(stepping.adapt)
            found["density"] = stepping.adapt.density
    return found | {"made_with": made_with()}


def task_of(call: Mapping[str, Any], equations: Equations, parameters: Mapping[str, float]) -> Task:
    """The task that a call asks for, with equations as they were read from its file."""
    from .options import RunOptions
    from .task import read_task

    if call["functions"]:
        raise FileError(
            f"The inputs {', '.join(call['functions'])} were functions of Python, which a file does"
            " not hold",
            seen="no function to call",
            remedy=(
                "state them as expressions of time and state, or run the program that made the"
                " motion"
            ),
        )
    given: dict[str, Any] = {
        "parameters": dict(parameters),
        "at": call["at"],
        "project": call["project"],
    }
    if call.get("tables"):
        given["inputs"] = {
            name: InputTable(table["times"], table["coefficients"])
            for name, table in call["tables"].items()
        }
    given |= {"project_start": call["project_start"], "max_steps": call["max_steps"]}
    given["through_singular"] = call.get("through_singular", False)
    given["events"] = [_read_event(words, equations) for words in call["events"]]
    if find_method(call["method"]).is_fixed:
        given |= {"method": call["method"], "step": call["step"], "every": call["every"]}
        if call.get("adapt") is not None:
            steps = read_adapt(call["adapt"], equations.system)
            assert steps is not None
            given["adapt"] = ReversibleSteps(steps.size, call["density"])
        return read_task(equations, call["start"], call["span"], RunOptions(**given))
    # The options of any method that chooses its steps, by the reader of one of them; they were
    # checked for theirs before.
    given |= {"method": "dop853", "atol": call["atol"], "first_step": call["first_step"]}
    given["max_step"] = math.inf if call["max_step"] is None else call["max_step"]
    task = read_task(equations, call["start"], call["span"], RunOptions(**given))
    return replace(
        task, method=call["method"], rtol=float(call["rtol"]), method_reason=call["method_reason"]
    )


def _written_event(event: Event, equations: Equations) -> dict[str, Any]:
    try:
        text = format(event.expression, taken=list(_symbols(equations)))
    except DalembertError:
        text = ""  # outside the language of model files; a rerun says so
    return {
        "expression": text,
        "direction": event.direction,
        "terminal": bool(event.terminal),
        "name": event.name,
    }


def _read_event(words: Mapping[str, Any], equations: Equations) -> Event:
    if not words["expression"]:
        raise FileError(
            f"The event `{words['name']}` cannot be written in the language of model files, so that"
            " the file lacks it",
            seen="no expression",
            remedy="state the event in that language, or run the program that made the motion",
        )
    expression = parse(str(words["expression"]), _symbols(equations))
    return Event(expression, int(words["direction"]), bool(words["terminal"]), str(words["name"]))


def _symbols(equations: Equations) -> dict[str, sympy.Symbol]:
    """Every symbol that an event may name, by its name."""
    system = equations.system
    symbols = (
        *equations.state,
        *system.coordinates,
        *system.velocities,
        *system.momenta,
        *system.parameters,
        *system.inputs,
        t,
    )
    return {symbol.name: symbol for symbol in symbols}


@lru_cache(maxsize=1)
def _made_with() -> dict[str, str]:
    import casadi
    import llvmlite
    import llvmlite.binding as llvm
    import numpy as np

    features = sha256(llvm.get_host_cpu_features().flatten().encode()).hexdigest()[:12]
    return {
        "dalembert": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sympy": sympy.__version__,
        "casadi": str(getattr(casadi, "__version__", "unknown")),
        "llvmlite": llvmlite.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": f"{llvm.get_host_cpu_name()} {features}",
    }


def made_with() -> dict[str, str]:
    """The versions and the machine that the numbers of a run may depend on."""
    return dict(_made_with())
