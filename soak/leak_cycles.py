"""The cycles whose memory is watched, each in a process of its own.

``python -m soak.leak_cycles NAME SECONDS EVERY FOLDER SEED`` runs one. The process writes its
samples as one line of JSON. A cycle is short; what it makes is dropped at its end.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da

from .leak_figures import as_rows, sampled_cycles

__all__ = ["CYCLES", "new_system"]

Cycle = Callable[[int], Any]
METHODS: tuple[dict[str, Any], ...] = (
    {},
    {"method": "taylor"},
    {"method": "gauss4", "step": 0.05},
    {"method": "dop853"},
)


def new_system(random: np.random.Generator) -> tuple[da.System, dict[str, float]]:
    """A system that never was before: random numbers of coordinates, powers and constants,
    sometimes with a constraint.
    """
    q = da.coordinates("a b c")[: int(random.integers(1, 4))]
    draw = random.uniform
    kinetic = sum(draw(0.5, 2) * x.dot**2 / 2 for x in q)
    potential = sum(draw(0.5, 2) * x ** (2 * int(random.integers(1, 3))) for x in q)
    for x, y in pairwise(q):
        potential = potential + draw(0.1, 0.5) * x ** int(random.integers(1, 3)) * y**2
    constraints = []
    if len(q) == 3 and random.random() < 0.5:
        constraints.append(da.velocity(q[2].dot - draw(0.2, 1.0) * q[0] * q[1].dot, name="rolls"))
    start = {x.name: float(draw(-0.5, 0.5)) for x in q}
    return (
        da.System(coordinates=q, kinetic=kinetic, potential=potential, constraints=constraints),
        start,
    )


def pendulum() -> da.System:
    """One small system for the cycles that keep it."""
    x = da.coordinates("x")
    m = da.parameters("m")
    return da.System(
        coordinates=[x], kinetic=m * x.dot**2 / 2, potential=m * 9.81 * (1 - x**2 / 2 + x**4 / 24)
    )


def ever_new(folder: Path, seed: int) -> Cycle:
    """Derive, compile and simulate a new system, by one method after the other, and read what is
    derived from the motion.
    """
    random = np.random.default_rng(seed)

    def cycle(k: int) -> None:
        system, start = new_system(random)
        options = METHODS[k % len(METHODS)] if not system.constraints else {}
        motion = da.simulate(system, start=start, span=(0, 0.5), **options)
        motion.energy, motion.reactions, motion.sol(0.25)

    return cycle


def ever_new_forms(folder: Path, seed: int) -> Cycle:
    """A new system by each form that applies, and its equations as text."""
    random = np.random.default_rng(seed)

    def cycle(k: int) -> None:
        system, start = new_system(random)
        form = ("lagrange", "hamilton", "maggi", "kane")[k % 4]
        equations = da.derive(system, form)
        equations.text()
        da.simulate(equations, start=start, span=(0, 0.2))

    return cycle


def one_kernel(folder: Path, seed: int) -> Cycle:
    """Many runs of one system with other starts, with an event."""
    system = pendulum()
    crossing = da.event(system.coordinates[0])

    def cycle(k: int) -> None:
        motion = da.simulate(
            system,
            start={"x": 0.1 + 1e-4 * (k % 997)},
            parameters={"m": 1.0},
            span=(0, 1),
            events=[crossing],
        )
        motion.energy, motion.sol(0.5)

    return cycle


def ensembles(folder: Path, seed: int) -> Cycle:
    """Many runs at a time in two threads, again and again."""
    system, starts = pendulum(), np.linspace(0.1, 1.0, 64)

    def cycle(k: int) -> None:
        runs = da.simulate(
            system, {"x": starts + 1e-4 * (k % 997)}, (0, 0.5), parameters={"m": 1.0}, workers=2
        )
        assert runs.success

    return cycle


def files(folder: Path, seed: int) -> Cycle:
    """A motion saved, loaded and read."""
    motion = da.simulate(pendulum(), start={"x": 0.3}, parameters={"m": 1.0}, span=(0, 1))

    def cycle(k: int) -> None:
        path = folder / f"motion-{k % 3}.nc"
        motion.save(path)
        found = da.load(path)
        assert found.y[0, -1] == motion.y[0, -1]
        assert len(found.energy) == len(motion.t)

    return cycle


def stores(folder: Path, seed: int) -> Cycle:
    """A sweep into a store, which is then removed."""
    import shutil

    system = pendulum()

    def cycle(k: int) -> None:
        path = folder / "runs.zarr"
        runs = da.sweep(
            system,
            {"x": np.linspace(0.1, 0.5, 20)},
            parameters={"m": 1.0},
            span=(0, 0.2),
            store=path,
            workers=2,
        )
        assert runs.success
        shutil.rmtree(path)

    return cycle


def pictures(folder: Path, seed: int) -> Cycle:
    """Plots and animations, written to files and closed as matplotlib closes them."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    disk = da.gallery.load("rolling-disk")
    motion = da.simulate(disk, span=(0, 0.5))

    def cycle(k: int) -> None:
        motion.plot()
        plt.close("all")
        if k % 5 == 0:
            motion.animate(path=folder / "film.gif", fps=4)
        assert not plt.get_fignums()

    return cycle


def threads(folder: Path, seed: int) -> Cycle:
    """Threads that simulate and end, four at a time, on one system and on their own ones."""
    shared, random = pendulum(), np.random.default_rng(seed)

    def cycle(k: int) -> None:
        own, start = new_system(random)

        def work(number: int) -> None:
            motion = da.simulate(
                shared, start={"x": 0.1 * (number + 1)}, parameters={"m": 1.0}, span=(0, 0.5)
            )
            assert np.ptp(motion.energy) < 1e-6

        jobs = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        jobs.append(threading.Thread(target=lambda: da.simulate(own, start=start, span=(0, 0.2))))
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()

    return cycle


def slopes(folder: Path, seed: int) -> Cycle:
    """Sensitivities of new systems."""
    random = np.random.default_rng(seed)

    def cycle(k: int) -> None:
        x = da.coordinates("x")
        m = da.parameters("m")
        system = da.System(
            coordinates=[x], kinetic=m * x.dot**2 / 2, potential=float(random.uniform(1, 2)) * x**2
        )
        da.analysis.sensitivities(system, ["m"], {"x": 0.3}, (0, 0.2), parameters={"m": 1.0})

    return cycle


def kept(folder: Path, seed: int) -> Cycle:
    """A leak on purpose: every motion is kept, and the watch must see that."""
    random, held = np.random.default_rng(seed), []

    def cycle(k: int) -> None:
        system, start = new_system(random)
        held.append(da.simulate(system, start=start, span=(0, 0.5)))

    return cycle


CYCLES: dict[str, Callable[[Path, int], Cycle]] = {
    "ever-new": ever_new,
    "ever-new-cached": ever_new,
    "forms": ever_new_forms,
    "one-kernel": one_kernel,
    "ensembles": ensembles,
    "files": files,
    "stores": stores,
    "pictures": pictures,
    "threads": threads,
    "slopes": slopes,
    "kept": kept,
}


def main(arguments: list[str]) -> int:
    """Cycles for so many seconds by the clock; the samples to the output."""
    name, seconds, every, folder, seed = arguments
    cycle = CYCLES[name](Path(folder), int(seed))
    end = time.monotonic() + float(seconds)
    samples = sampled_cycles(cycle, lambda: time.monotonic() > end, int(every))
    print(json.dumps(as_rows(samples)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
