"""Our own methods beside those of other packages: ``python benchmarks/external_methods.py [--span
100]``.

The rolling disk of the gallery at several tolerances: CPU seconds of the second of two runs (so
that nothing is compiled in it), steps, and the error of the final coordinates against heyoka in
long double on `Equations.to_heyoka()`. Then a pendulum on a stiff, strongly damped spring, where
stability and not accuracy bounds the steps of explicit methods.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import sympy

import dalembert as da

DISK = (("dop853", 1e-9), ("dop853", 1e-12), ("taylor", 1e-9), ("taylor", 1e-12), ("taylor", 1e-15),
        ("heyoka", 1e-9),
        ("heyoka", 1e-12), ("heyoka", 1e-16), ("cvode-adams", 1e-9), ("cvode-bdf", 1e-7),
        ("ida-ggl", 1e-7))  # fmt: skip
SPRING = ("dop853", "taylor", "cvode-adams", "cvode-bdf", "ida-ggl")


def reference(
    equations: Any, start: dict[str, float], parameters: dict[str, float], end: float
) -> dict[str, float]:
    """The final state by heyoka in long double."""
    import heyoka as hy

    real = np.longdouble
    pars = np.array([parameters[symbol.name] for symbol in equations.system.parameters], dtype=real)
    state = np.array([start[symbol.name] for symbol in equations.state], dtype=real)
    integrator = hy.taylor_adaptive(
        equations.to_heyoka(), state, pars=pars, tol=real(1e-19), fp_type=real, compact_mode=True
    )
    integrator.propagate_until(real(end))
    return {
        symbol.name: float(value)
        for symbol, value in zip(equations.state, integrator.state, strict=True)
    }


def measured(*call: Any, **options: Any) -> tuple[Any, float]:
    """A motion, and the CPU seconds of computing it once more."""
    da.simulate(*call, **options)
    began = time.process_time()
    motion = da.simulate(*call, **options)
    return motion, time.process_time() - began


def disk(end: float) -> None:
    """The rolling disk."""
    scenario = da.gallery.load("rolling-disk")
    given = {"parameters": scenario.parameters, "at": [0.0, end]}
    first = da.simulate(scenario.system, scenario.start, (0, end), rtol=1e-9, **given)
    equations = first.equations
    begun = {symbol.name: float(first[symbol.name][0]) for symbol in equations.state}
    exact = reference(equations, begun, first.parameters, end)
    names = [q.name for q in scenario.system.coordinates]
    print(
        f"rolling disk, {end:g} s\n{'method':<12} {'rtol':>8} {'CPU ms':>9} {'steps':>8}"
        f" {'final error':>12}"
    )
    for method, rtol in DISK:
        motion, seconds = measured(
            scenario.system, scenario.start, (0, end), method=method, rtol=rtol, **given
        )
        error = max(abs(motion[name][-1] - exact[name]) for name in names)
        print(
            f"{method:<12} {rtol:>8.0e} {1e3 * seconds:>9.1f} {motion.statistics['steps']:>8}"
            f" {error:>12.1e}",
            flush=True,
        )


def spring() -> None:
    """The stiff pendulum."""
    x, y = da.coordinates("x y")
    r = sympy.sqrt(x**2 + y**2)
    damping = 5e4 * ((x * x.dot + y * y.dot) / r) ** 2
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y + 5e3 * (r - 1) ** 2,
        dissipation=damping,
    )
    exact = da.simulate(system, {"x": 1.0}, (0, 10), rtol=1e-11, at=[10.0], method="taylor")
    print(
        f"stiff pendulum, 10 s, rtol 1e-6\n{'method':<12} {'CPU ms':>9} {'steps':>8}"
        f" {'evaluations':>12} {'final error':>12}"
    )
    for method in SPRING:
        motion, seconds = measured(system, {"x": 1.0}, (0, 10), method=method, rtol=1e-6, at=[10.0])
        error = max(abs(motion[name][-1] - exact[name][-1]) for name in ("x", "y"))
        print(
            f"{method:<12} {1e3 * seconds:>9.1f} {motion.statistics['steps']:>8} {motion.nfev:>12}"
            f" {error:>12.1e}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--span", type=float, default=100.0)
    disk(parser.parse_args().span)
    spring()
