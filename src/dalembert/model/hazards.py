"""Where the expressions of a model cease to be smooth or defined: what must not vanish.

A motion that ends because a square root or a denominator reaches zero should say so in the words of
the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from .flow_system import Flow
from .quantities import distinct_nodes
from .system import System

__all__ = ["Hazard", "hazards", "stated_expressions"]


@dataclass(frozen=True)
class Hazard:
    """An expression that must not vanish.

    Attributes
    ----------
    place : str
        Where it stands, for example "constraint `c1`".
    role : str
        What it is there: "square root", "denominator", "logarithm", ...
    expression : sympy.Expr
        What must not vanish.
    """

    place: str
    role: str
    expression: sympy.Expr


def hazards(system: System | Flow) -> list[Hazard]:
    """Every expression of the system that must not vanish, each once."""
    found: dict[sympy.Expr, Hazard] = {}
    # A reduced system has the symbols of its shape only.
    whole: Any = getattr(system, "original", system)
    hidden = {*whole.coordinates, *whole.velocities} - {*system.coordinates, *system.velocities}
    for place, expression in stated_expressions(system):
        for role, argument in _critical(expression):
            if (
                argument.is_zero is False
            ):  # as a cosine hyperbolic, or 1 + x^2, which have no real zero
                continue
            if (
                argument.free_symbols - set(system.parameters)
                and not argument.free_symbols & hidden
            ):
                found.setdefault(argument, Hazard(place, role, argument))
    return list(found.values())


def stated_expressions(system: System | Flow) -> list[tuple[str, sympy.Expr]]:
    """The expressions that determine the motions of a system, with the place where each stands."""
    whole: Any = getattr(system, "original", system)
    imposed = {symbol: value for symbol, value in whole.inputs.items() if value is not None}
    found = _rates(whole) if isinstance(whole, Flow) else _stated(whole)
    if imposed:
        found = [(place, expression.xreplace(imposed)) for place, expression in found]
    return found


def _rates(flow: Flow) -> list[tuple[str, sympy.Expr]]:
    return [(f"the rate of `{q}`", rate) for q, rate in flow.rates.items()]


def _stated(system: System) -> list[tuple[str, sympy.Expr]]:
    places: list[tuple[str, sympy.Expr]] = [("the energies", system.energy_function)]
    for constraint in system.constraints:
        where = f"constraint `{constraint.name}`"
        places += [(where, expression) for expression in constraint.conditions()]
    places += [(f"the force on `{q}`", value) for q, value in system.forces.items()]
    places.append(("the dissipation", system.dissipation))
    return places


def _critical(expression: sympy.Expr) -> list[tuple[str, sympy.Expr]]:
    found: list[tuple[str, sympy.Expr]] = []
    for node in distinct_nodes(expression):
        match node:
            case sympy.Pow() if not node.exp.is_Integer and node.exp != sympy.S.Exp1:
                what = "square root" if node.exp == sympy.S.Half else "power"
                found.append((what, node.base))
            case sympy.Pow() if node.exp.is_negative:
                found.append(("denominator", node.base))
            case sympy.log():
                found.append(("logarithm", node.args[0]))
            case sympy.tan():
                found.append(("tangent", sympy.cos(node.args[0])))
            case sympy.asin() | sympy.acos():
                found.append(("inverse sine", 1 - node.args[0] ** 2))
            case sympy.atan2():
                found.append(("angle of a vector", node.args[0] ** 2 + node.args[1] ** 2))
    return found
