"""Edges of units and numbers: the same motion in other units of length, time and mass, denormal
numbers, and what is none.

Units are powers of two, so that a motion that does not look at units comes out the same to the last
bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

import dalembert as da

from .edge_cases import Tally, judge

ADAPTIVE = ("dop853", "taylor")
x, y, theta = da.coordinates("x y theta")
m, l, g, k = da.parameters("m l g k", positive=True)
#: Dimensions of symbols and parameters in length, time and mass.
DIMENSIONS = {
    "m": (0, 0, 1),
    "l": (1, 0, 0),
    "g": (1, -2, 0),
    "x": (1, 0, 0),
    "y": (1, 0, 0),
    "theta": (0, 0, 0),
}
VALUES = {"m": 1.0, "l": 1.0, "g": 8.0}
#: Powers of two for lengths, times and masses: 2^40 is about 1e12.
SCALES = tuple(
    [
        tuple(power if axis == place else 0 for axis in range(3))
        for place in range(3)
        for power in (-40, -20, -10, 10, 20, 40)
    ]
    + [(-20, -30, -20), (20, 30, 20), (-40, 40, 10), (40, -40, -10)]
)


@dataclass(frozen=True)
class Specimen:
    """A system with its start, by symbol, and the methods that it is run by."""

    name: str
    system: Any
    start: dict[Any, float]
    methods: tuple[str, ...]
    event: Any = None


def specimens() -> list[Specimen]:
    """A pendulum on a rod (whole, completed, moved), twice the same rod, a sleigh, an oscillator, a
    ball, polar coordinates.
    """
    kinetic, weight = m / 2 * (x.dot**2 + y.dot**2), m * g * y
    rod = da.holonomic(x**2 + y**2 - l**2, name="rod")
    twice = da.holonomic(2 * x**2 + 2 * y**2 - 2 * l**2, name="twice")
    blade = da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="blade")
    floor = da.unilateral(-y, restitution=0.5, name="floor")
    pendulum = da.System([x, y], kinetic=kinetic, potential=weight, constraints=[rod])
    double = da.System([x, y], kinetic=kinetic, potential=weight, constraints=[rod, twice])
    turning = m * l**2 / 8 * theta.dot**2
    sleigh = da.System(
        [x, y, theta], kinetic=kinetic + turning, potential=m * g * x / 8, constraints=[blade]
    )
    oscillator = da.System(
        [x, y],
        kinetic=kinetic,
        potential=m * g / l / 2 * (x**2 + y**2) + m * g / l**2 / 3 * x**2 * y,
    )
    ball = da.System([x, y], kinetic=kinetic, potential=weight, constraints=[floor])
    radial = m / 2 * (x.dot**2 + x**2 * theta.dot**2)
    polar = da.System([x, theta], kinetic=radial, potential=m * g / l / 2 * (x - l) ** 2)
    whole = {x: 0.6, y: -0.8, x.dot: 0.8, y.dot: 0.6}
    return [
        Specimen(
            "rod",
            pendulum,
            whole,
            (*ADAPTIVE, "rattle4", "lobatto4", "galerkin4", "variational-midpoint"),
            x - 0.3 * l,
        ),
        Specimen("rod, completed", pendulum, {x: 0.6}, ADAPTIVE),
        Specimen("rod, moved", pendulum, {x: 0.7, y: -0.8}, ADAPTIVE),
        Specimen("rod twice", double, {x: 0.6, y: -0.8}, ("dop853",)),
        Specimen(
            "sleigh",
            sleigh,
            {x.dot: 1.0, theta.dot: 0.5},
            (*ADAPTIVE, "gauss4", "dla4", "nonholonomic-leapfrog4"),
        ),
        Specimen(
            "oscillator",
            oscillator,
            {x: 0.5, y.dot: 0.25},
            (*ADAPTIVE, "rattle4", "gauss4", "lobatto4", "galerkin4", "dla4"),
        ),
        Specimen("ball", ball, {y: 1.0, x.dot: 1.0}, ("dop853",)),
        Specimen("polar", polar, {x: 1.25, theta.dot: 1.0}, (*ADAPTIVE, "lobatto4", "gauss4")),
    ]


def factor(symbol: Any, units: tuple[float, ...]) -> float:
    """How many units a symbol of size one has."""
    name, is_rate = (symbol.name.removesuffix("_dot"), symbol.name.endswith("_dot"))
    powers = DIMENSIONS[name]
    return math.prod(unit**power for unit, power in zip(units, powers, strict=True)) / (
        units[1] if is_rate else 1.0
    )


def run_scaled(case: Specimen, method: str, powers: tuple[int, ...]) -> Any:
    """A specimen in units that are powers of two."""
    units = tuple(2.0**power for power in powers)
    system = case.system
    parameters = {
        symbol: VALUES[symbol.name] * factor(symbol, units) for symbol in system.parameters
    }
    start = {symbol: value * factor(symbol, units) for symbol, value in case.start.items()}
    options: dict[str, Any] = {"step": units[1] / 32}
    if method in ADAPTIVE:
        symbols = (*system.coordinates, *system.velocities)
        options = {
            "atol": [1e-12 * factor(symbol, units) for symbol in symbols],
            "form": "lagrange",
        }
        options["events"] = [case.event] if case.event is not None else []
    return da.simulate(
        system, start, (0.0, 2.0 * units[1]), parameters=parameters, method=method, **options
    )


def same_in_other_units(tally: Tally) -> None:
    """The end, the events, the reports and the number of impacts are those of the first units."""
    for case in specimens():
        for method in case.methods:
            first = run_scaled(case, method, (0, 0, 0))
            for powers in SCALES:

                def error(
                    motion: Any, case: Specimen = case, first: Any = first, powers: Any = powers
                ) -> float:
                    units = tuple(2.0**power for power in powers)
                    symbols = (*case.system.coordinates, *case.system.velocities)
                    apart = [
                        abs(motion[s.name][-1] / factor(s, units) - first[s.name][-1])
                        for s in symbols
                    ]
                    times = zip(motion.t_events, first.t_events, strict=True)
                    apart += [
                        abs(a / units[1] - b)
                        for then, now in times
                        for a, b in zip(then, now, strict=True)
                    ]
                    alike = len(motion.impacts) == len(first.impacts) and len(
                        motion.start_report
                    ) == len(first.start_report)
                    steps = motion.statistics["steps"] <= 2 * first.statistics["steps"] + 32
                    return max(apart) if alike and steps else math.inf

                judge(
                    tally,
                    "other units",
                    f"{case.name}, {method}, 2^{powers}",
                    lambda case=case, method=method, powers=powers: run_scaled(
                        case, method, powers
                    ),
                    error,
                    2e-9,
                )


def strange_numbers(tally: Tally) -> None:
    """Denormal numbers, infinities and what is no number, as parameters, starts, spans, forces and
    times.
    """
    spring = da.System([x], kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)
    group, one = "strange numbers", {m: 1.0, k: 1.0}
    bad = (5e-324, 1e-310, 1e-300, 1e300, 1e308, math.inf, -math.inf, math.nan)
    for method in (*ADAPTIVE, "gauss4", "rattle4"):
        extra: dict[str, Any] = {"method": method} | (
            {} if method in ADAPTIVE else {"step": 1 / 64}
        )
        tolerance = 1e-9 if method in ADAPTIVE else 1e-5
        for value in bad:
            for name, parameters, start, scale in (
                ("both", {m: value, k: value}, 1.0, 1.0),
                ("mass", {m: value, k: 1.0}, 1.0, 1.0),
                ("start", one, value, value),
            ):
                rate = (
                    math.sqrt(parameters[k] / parameters[m])
                    if parameters[m] and parameters[m] > 0
                    else math.nan
                )
                exact = math.cos(rate) if math.isfinite(rate) else math.nan
                judge(
                    tally,
                    group,
                    f"{method}, {name} {value}",
                    lambda parameters=parameters, start=start, extra=extra: da.simulate(
                        spring, {x: start}, (0, 1), parameters=parameters, max_steps=50_000, **extra
                    ),
                    lambda motion, exact=exact, scale=scale: abs(motion["x"][-1] / scale - exact),
                    tolerance,
                )
            judge(
                tally,
                group,
                f"{method}, span {value}",
                lambda value=value, extra=extra: da.simulate(
                    spring,
                    {x: 1.0},
                    (0, value),
                    parameters=one,
                    max_steps=50_000,
                    **(extra | ({"step": value} if "step" in extra else {})),
                ),
                lambda motion, value=value: abs(motion["x"][-1] - math.cos(value)),
                tolerance,
            )
    u = da.inputs("u")
    driven = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    for value in bad:
        if abs(value) > 1.0 or math.isnan(value):
            judge(
                tally,
                group,
                f"force {value}",
                lambda value=value: da.simulate(
                    driven,
                    {},
                    (0, 1),
                    inputs={u: lambda t, state, value=value: value if t > 0.5 else 1.0},
                    max_steps=50_000,
                ),
                lambda motion: math.inf,
                0.0,
            )
    for value in (math.nan, math.inf, 2.0000000000000004, -1e-300):
        judge(
            tally,
            group,
            f"asked for {value}",
            lambda value=value: da.simulate(
                spring, {x: 1.0}, (0, 2), parameters=one, at=[1.0, value]
            ),
            lambda motion: math.inf,
            0.0,
        )


def contradictions(tally: Tally) -> None:
    """Rods that exclude each other are refused in any units, or the run says that it cannot keep
    them.
    """
    other = da.holonomic(x**2 + y**2 - 2 * l**2, name="other")
    rod = da.holonomic(x**2 + y**2 - l**2, name="rod")
    both = da.System(
        [x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=m * g * y, constraints=[rod, other]
    )
    case = Specimen("rods that exclude each other", both, {x: 0.6, y: -0.8}, ("dop853",))
    for powers in SCALES:
        judge(
            tally,
            "contradictory in other units",
            f"2^{powers}",
            lambda powers=powers: run_scaled(case, "dop853", powers),
            lambda motion: math.inf,
            0.0,
        )


def groups(tally: Tally, random: np.random.Generator) -> Iterator[str]:
    """Every group of this file, one after the other."""
    for work in (same_in_other_units, strange_numbers, contradictions):
        work(tally)
        yield work.__name__
