"""The forms of the equations against each other: what deriving and compiling them costs, and how
fast their motions are.

    python benchmarks/forms.py [--cost] [--speed] [--repeats 9]

``--cost`` derives and compiles every form of every gallery system in this process, with the cache
switched off, and prints the processor time of all of them. ``--speed`` follows the same motion in
each form that is fast, and prints the time of the integration: the median of the repeats, and the
ratio to Lagrange's equations with multipliers.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

os.environ["DALEMBERT_CACHE"] = "off"

import numpy as np

import dalembert as da
from dalembert.formulations.registry import applicability, fastest_form
from dalembert.runtime.context import Context

#: Systems with the span that is followed; the snakeboard's ends before its wheels stand across (phi
#: = pi/2).
SPEED = {
    "rolling-disk": 100.0,
    "snakeboard": 4.0,
    "unicycle-rider": 100.0,
    "elastic-pendulum-arc": 100.0,
}
FORMS = ("lagrange", "hamilton", "maggi", "voronets", "chaplygin")


def main() -> None:
    reader = argparse.ArgumentParser(description="The forms of the equations against each other.")
    reader.add_argument("--cost", action="store_true")
    reader.add_argument("--speed", action="store_true")
    reader.add_argument("--repeats", type=int, default=9)
    options = reader.parse_args()
    if options.cost or not options.speed:
        cost()
    if options.speed or not options.cost:
        speed(options.repeats)


def cost() -> None:
    """Processor time of deriving and compiling everything."""
    began, rows = time.process_time(), []
    for name in (*da.gallery.names("mechanical"), *da.gallery.names("controlled")):
        system = da.gallery.load(name).system
        for form, fault in applicability(system).items():
            if fault is None:
                before = time.process_time()
                kernel = da.derive(system, form).compile()
                context = Context(kernel, np.ones(len(kernel.parameters)))
                context.observe(
                    np.zeros(1),
                    np.full((1, kernel.n_state), 0.3),
                    np.zeros((1, len(kernel.free_inputs))),
                )
                rows.append((time.process_time() - before, name, form))
    seconds, systems = time.process_time() - began, len({name for _, name, _ in rows})
    print(f"{len(rows)} forms of {systems} systems: {seconds:.1f} s of processor time")
    for seconds, name, form in sorted(rows, reverse=True)[:5]:
        print(f"  {seconds:6.2f} s  {name}, {form}")


def speed(repeats: int) -> None:
    """Processor time of the same motion in each form."""
    for name, end in SPEED.items():
        scenario = da.gallery.load(name)
        chosen = fastest_form(scenario.system)
        print(f"{name}, {end:g} s, rtol 1e-10; by default: {chosen}")
        plain = None
        for form in FORMS:
            try:
                equations = da.derive(scenario.system, form)
            except da.errors.FormError:
                continue
            times = []
            for _ in range(repeats + 1):  # the first run compiles
                motion = da.simulate(
                    equations, scenario.start, (0, end), parameters=scenario.parameters, at=[0, end]
                )
                times.append(motion.statistics["integrate_seconds"])
            median = statistics.median(times[1:])
            plain = plain or median
            steps, switches = motion.statistics["steps"], len(motion.switches)
            each = median / max(steps, 1) * 1e6
            speed = f"{median * 1e3:9.3f} ms  {plain / median:5.2f}x"
            print(f"  {form:12s} {speed}  {steps:6d} steps of {each:5.2f} us  {switches} switches")


if __name__ == "__main__":
    main()
