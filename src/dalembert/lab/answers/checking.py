"""What a model is, for the page: its symbols, constraints, freedom, and the forms and methods that
it can be run in.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import sympy

from ...errors import DalembertError
from ...integrate.methods.method import ExternalStep
from ...integrate.methods.table import AUTO, METHODS, step_controlled_methods
from ...model.constraints import Constraint
from ...model.flow_system import Flow
from ...model.io.expressions import format as expression_text
from ...model.scenario import Scenario
from ...model.system import System
from ..job_progress import JobProgress
from ..request_errors import refusal
from .character import character_of
from .lab_formulas import expression_mathml, symbol_mathml
from .scenarios import DEFAULT_SPAN, dimension_of, reading_warnings, scenario_of, start_names

__all__ = ["check", "described", "read"]

#: A constraint or an input with more operations than this is not set as a formula.
LONGEST_FORMULA = 400


def read(request: dict[str, Any], _: JobProgress) -> dict[str, Any]:
    """Whether a model can be read."""
    return {"name": scenario_of(request).system.name}


def check(request: dict[str, Any], _: JobProgress) -> dict[str, Any]:
    """A model as the page shows it, or its fault."""
    try:
        model = described(scenario_of(request), request.get("form"))
        model["notes"] = [*reading_warnings(request), *model["notes"]]
        return {"ok": True, "model": model}
    except DalembertError as error:
        return {"ok": False, "error": refusal(error, request.get("text"))}


def described(scenario: Scenario, form: str | None = None) -> dict[str, Any]:
    """MODEL of the interface."""
    system, options = scenario.system, scenario.simulate
    moving = "momenta" if system.is_hamiltonian else "velocities"
    symbols = [] if isinstance(system, Flow) else [s.name for s in getattr(system, moving)]
    chosen, methods = form or options.get("form"), methods_for(system)
    return {
        "name": system.name,
        "source": scenario.source,
        "summary": scenario.summary,
        "kind": kind_of(system),
        "coordinates": [{"name": q.name, "mathml": symbol_mathml(q)} for q in system.coordinates],
        moving: symbols,
        "state": start_names(scenario.replacing(simulate={**options, "form": chosen})),
        "start": dict(scenario.start),
        "parameters": [
            {"name": name, "value": float(value), "mathml": symbol_mathml(sympy.Symbol(name))}
            for name, value in scenario.parameters.items()
        ],
        "inputs": [
            {"name": symbol.name, "expression": None if value is None else _text(value)}
            for symbol, value in system.inputs.items()
        ],
        "outputs": list(system.outputs),
        "constraints": [_constraint(constraint) for constraint in system.constraints],
        **character_of(scenario),
        "methods": methods,
        "stepped": [name for name in methods if name in METHODS and METHODS[name].is_fixed],
        "method": options.get("method"),
        "form": options.get("form"),
        "span": list(options.get("span", DEFAULT_SPAN)),
        "rtol": options.get("rtol", 1e-10),
        "step": options.get("step"),
        "drawing": dimension_of(scenario),
    }


def kind_of(system: System | Flow) -> str:
    """What states the system."""
    if isinstance(system, Flow):
        return "flow"
    return "hamiltonian" if system.is_hamiltonian else "lagrangian"


def methods_for(system: System | Flow) -> list[str]:
    """Methods that are worth offering: those of extras only where the package is there, those of
    flows to flows.
    """
    is_flow, has_actions = isinstance(system, Flow), bool(getattr(system, "actions", ()))
    fixed = [
        name
        for name, method in METHODS.items()
        if method.is_fixed
        and (has_actions or not method.moves_by_group)
        and (method.moves_by_group or method.form is None or not is_flow)
    ]
    return [*step_controlled_methods(), AUTO, *fixed, *_external()]


@cache
def _external() -> tuple[str, ...]:
    """The methods of other packages that are installed."""
    steps = {name: method.step for name, method in METHODS.items()}
    return tuple(
        name
        for name, step in steps.items()
        if isinstance(step, ExternalStep) and find_spec(step.package) is not None
    )


def _constraint(constraint: Constraint) -> dict[str, Any]:
    named = {"name": constraint.name, "kind": constraint.kind}
    velocities = getattr(constraint, "velocities", None)
    if velocities:  # an image: q_dot = E(q) u
        text = ", ".join(f"{q.dot.name} = {_text(value)}" for q, value in velocities.items())
        return named | {"text": text, "mathml": None}
    expression, sign = constraint.expression, r"\leq" if constraint.is_one_sided else "="
    shown = expression.count_ops() <= LONGEST_FORMULA
    return named | {
        "text": f"{_text(expression)} {constraint.relation} 0",
        "mathml": expression_mathml(expression, sign) if shown else None,
    }


def _text(expression: sympy.Expr) -> str:
    return expression_text(expression)[:4000]
