"""``dalembert bergmann``: the Dirac-Bergmann algorithm on a model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import sympy

from ..errors import ModelError
from ..formulations.dirac.degenerate_system import DegenerateSystem
from ..model.flow_system import Flow
from ..model.io.expressions import evaluate, parse
from ..model.io.files import save_model
from ..model.scenario import Scenario
from ..model.symbols import t
from .entry import FINE
from .systems import named_system
from .terminal import print_json, waiting

__all__ = ["bergmann_command"]


def bergmann_command(
    name: str, gauge: Sequence[str], nonzero: Sequence[str], output: Path | None, as_json: bool
) -> int:
    """Constraints by class, multipliers and freedom; the motion as a model file on request."""
    from ..formulations.dirac.bergmann import bergmann

    scenario = named_system(name)
    system = scenario.system
    if isinstance(system, Flow):
        raise ModelError(
            "The Dirac-Bergmann algorithm needs a Lagrangian or a Hamiltonian",
            seen=f"`{system.name}`, a first-order flow",
            remedy="name a model with energies",
        )
    symbols: dict[str, sympy.Expr] = {
        s.name: s for s in (*system.coordinates, *system.momenta, *system.parameters)
    }
    symbols["t"] = t
    with waiting("Following the constraints"):
        found = bergmann(system, nonzero=[parse(text, symbols) for text in nonzero])
        if gauge:
            found = found.gauge_fixed(*(parse(text, symbols) for text in gauge))
    if output is not None:
        save_model(_motion(scenario, found), output)
    if as_json:
        print_json({"name": system.name} | found.to_json())
    else:
        sys.stdout.write(found.text() + "\n")
    return FINE


def _momenta(scenario: Scenario) -> dict[str, float]:
    """The momenta p = L_v of a start that gives velocities."""
    system, start = scenario.system, scenario.start
    if system.lagrangian is None or not any(v.name in start for v in system.velocities):
        return {}
    values = {q.name: system.home.get(q, 0.0) for q in system.coordinates}
    values |= dict.fromkeys((v.name for v in system.velocities), 0.0)
    values |= {"t": float(scenario.simulate.get("span", (0.0,))[0])}
    values |= {**scenario.parameters, **start}
    symbols = (*system.coordinates, *system.velocities, *system.parameters, t)
    by_symbol = {symbol: values[symbol.name] for symbol in symbols}
    return {
        q.momentum.name: evaluate(sympy.diff(system.lagrangian, q.dot), by_symbol)
        for q in system.coordinates
    }


def _motion(scenario: Scenario, found: DegenerateSystem) -> Scenario:
    """The motion on the constraint surface, from what the model says of its start."""
    flow = found.flow()
    names = {q.name for q in flow.coordinates}
    start = {
        key: value
        for key, value in {**scenario.start, **_momenta(scenario)}.items()
        if key in names
    }
    wanted = {key: scenario.simulate[key] for key in ("span", "rtol") if key in scenario.simulate}
    parameters = {
        s.name: scenario.parameters[s.name]
        for s in flow.parameters
        if s.name in scenario.parameters
    }
    about = (scenario.source, scenario.summary)
    return Scenario(flow, parameters, start, wanted, *about)  # type: ignore[arg-type]
