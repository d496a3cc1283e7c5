"""Certificates of the gallery's mechanisms: joint against maximal coordinates, form against form,
and the constraints after ten seconds.

    python scripts/mechanism_table.py                      # the table of docs/bodies.md
    python scripts/mechanism_table.py [--quick] NAME ...   # some rows; without forms where quick
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass

import casadi as ca
import numpy as np

import dalembert as da
from dalembert.model.scenario import Scenario

#: The time of the long runs, in seconds, and the number of states of a comparison of forms.
SPAN, STATES = 10.0, 3
#: The part of the motion after which coordinates and forms are compared.
EARLY = 0.1
HEAD = "| mechanism | joint / maximal | forms | largest difference | off at 10 s | slip at 10 s |"


@dataclass(frozen=True)
class Certificate:
    """What was found of one mechanism."""

    name: str
    maximal: float
    forms: int
    difference: float | None
    position: float
    velocity: float
    end: float

    @property
    def row(self) -> str:
        """A row of the table."""
        ended = "" if self.end == SPAN else f" (ends at {self.end:.3g} s)"
        found = (self.difference, self.position, self.velocity)
        numbers = ["-" if x is None else f"{x:.0e}" for x in found]
        return (
            f"| `{self.name}` | {self.maximal:.0e} | {self.forms} | {numbers[0]} |"
            f" {numbers[1]}{ended} | {numbers[2]} |"
        )


def certificate(name: str, quick: bool = False) -> Certificate:
    """Compare a mechanism with itself in other coordinates and forms, and run it."""
    scenario = da.gallery.load(name)
    path = da.gallery.path_of(name).removesuffix(".py").replace("/", ".")
    mechanism = importlib.import_module(f"dalembert.gallery.{path}").mechanism()
    symbols = (*scenario.system.coordinates, *scenario.system.velocities)
    motion = da.simulate(scenario, span=(0.0, SPAN), rtol=1e-11, atol=1e-12)
    middle = int(np.searchsorted(motion.t, EARLY * motion.t[-1]))
    state = {s.name: float(motion[s.name][middle]) for s in symbols}
    apart = da.bodies.agreement(mechanism, state, scenario.parameters)
    forms, difference = 1, None
    if not quick:
        found = da.compare(scenario, start=state, n=STATES)
        forms, difference = sum(why is None for why in found.forms.values()), found.worst
    worst = residuals(scenario, motion)
    return Certificate(name, apart, forms, difference, *worst, float(motion.t[-1]))


def residuals(scenario: Scenario, motion: da.Motion) -> tuple[float, float]:
    """The largest residuals of positions and of velocities in the last tenth of the steps."""
    kernel = da.derive(scenario.system, "lagrange").compile()
    values = [scenario.parameters[p.name] for p in kernel.parameters]
    symbols = (*scenario.system.coordinates, *scenario.system.velocities)
    states = np.array([motion[s.name] for s in symbols]).T
    worst = []
    for block in kernel.graph.residuals:
        function = ca.Function("residual", kernel._symbols, [block])
        last = states[-max(1, len(states) // 10) :]
        sizes = [np.abs(function(motion.t[-1], state, values, []).full()) for state in last]
        worst.append(max(float(np.max(size, initial=0.0)) for size in sizes))
    return worst[0], worst[1]


def main(arguments: list[str]) -> None:
    """Print the table."""
    names = [name for name in arguments if name != "--quick"]
    print(HEAD, "| --- | --- | --- | --- | --- | --- |", sep="\n", flush=True)
    for name in names or da.gallery.names("mechanisms"):
        print(certificate(name, "--quick" in arguments).row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
