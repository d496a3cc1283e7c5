"""What reduction by a symmetry group saves: the same motion by the whole equations and by those on
D/G.

    python benchmarks/reduction.py [--repeats 9]

Each line gives the length of the state, the instructions of one evaluation, and the time of the
integration (median of the repeats), with the ratio to the form that `simulate` takes for the whole
system.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from sympy import cos, sin

import dalembert as da
from dalembert.formulations.registry import fastest_form
from dalembert.runtime.kernel import kernel_of


def planar(system: da.System, heading: str) -> dict[str, dict[Any, Any]]:
    """The body frame of SE(2)."""
    q = {c.name: c for c in system.coordinates}
    x, y, angle = q["x"], q["y"], q[heading]
    return {
        "ahead": {x: cos(angle), y: sin(angle)},
        "aside": {x: -sin(angle), y: cos(angle)},
        "turn": {angle: 1},
    }


def wheel(system: da.System) -> dict[str, dict[Any, Any]]:
    return planar(system, "phi") | {
        "spin": {next(c for c in system.coordinates if c.name == "psi"): 1}
    }


SYSTEMS: dict[str, tuple[Any, float]] = {
    "chaplygin-sleigh": (lambda s: planar(s, "theta"), 100.0),
    "snakeboard": (lambda s: planar(s, "theta"), 4.0),
    "bicycle": (lambda s: planar(s, "theta"), 0.9),
    "rolling-disk": (wheel, 20.0),
    "unicycle-rider": (wheel, 1.0),
}


def main() -> None:
    reader = argparse.ArgumentParser(description="What reduction saves.")
    reader.add_argument("--repeats", type=int, default=9)
    repeats = reader.parse_args().repeats
    for name, (group, end) in SYSTEMS.items():
        scenario = da.gallery.load(name)
        system = scenario.system
        whole = da.derive(system, fastest_form(system))
        rebuilt = da.symmetry.reduce(system, group(system), reconstruct=True)
        first = da.simulate(rebuilt, scenario.start, (0, 0), parameters=scenario.parameters)
        reduced = da.symmetry.reduce(system, group(system))
        start = {symbol.name: first[symbol.name][0] for symbol in reduced.state}
        print(f"{name}, {end:g} s, rtol 1e-10")
        plain = None
        for label, equations, begin in (
            (whole.form, whole, scenario.start),
            ("reduced, rebuilt", rebuilt, scenario.start),
            ("reduced", reduced, start),
        ):
            times = []
            for _ in range(repeats + 1):  # the first run compiles
                motion = da.simulate(
                    equations, begin, (0, end), parameters=scenario.parameters, at=[0, end]
                )
                times.append(motion.statistics["integrate_seconds"])
            median = statistics.median(times[1:])
            plain = plain or median
            size = len(
                kernel_of(equations, equations.system.parameters).program("fast").instructions
            )
            symbols = len(motion.segments[0].context.kernel.equations.state)
            print(
                f"  {label:18s} {symbols:3d} symbols {size:5d} instructions {median * 1e3:9.3f} ms"
                f" {plain / median:6.2f}x"
            )


if __name__ == "__main__":
    main()
