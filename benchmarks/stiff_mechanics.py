"""Stiff mechanics by our Radau methods, CVODE and SciPy's Radau: ``python
benchmarks/stiff_mechanics.py [problem ...]``.

Every solver runs at tolerances from 1e-3 to 1e-12; of its runs the cheapest whose final state is
right to 1e-8 (relative to the largest symbol) is shown: evaluations of the rates, Jacobians, and
processor time of the second of two runs, in which nothing is compiled. All solvers get the same
rates, those of our kernel. CVODE (scikit-sundae, extra `sundials`) and SciPy call them and the
exact Jacobian from Python; CasADi's interface to CVODES evaluates both in its virtual machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from sympy import Max, sin, sqrt

import dalembert as da
from dalembert.runtime.kernel import kernel_of
from dalembert.runtime.kernel_derivatives import regular_rates

REACHED = 1e-8
TOLERANCES = [10.0**-k for k in range(3, 13)]
OURS = ("radau5", "radau9", "radau13", "dop853")
#: Runs with more evaluations are given up.
MOST_EVALUATIONS = 3_000_000


@dataclass(frozen=True)
class Problem:
    """A system, its start and its span."""

    title: str
    system: Any
    start: dict[Any, float]
    span: tuple[float, float]


@dataclass
class Cost:
    """What one run took."""

    error: float
    evaluations: int
    jacobians: int | None
    seconds: float
    rtol: float = 0.0


def governor() -> Problem:
    """A flyball governor: a ball on a stiff, damped arm turns with a shaft, which a torque drives
    and a sleeve brakes the more the higher the ball is.
    """
    angle, r, z = da.coordinates("angle r z")
    length = sqrt(r**2 + z**2)
    along = (r * r.dot + z * z.dot) / length
    system = da.System(
        [angle, r, z],
        kinetic=(r.dot**2 + z.dot**2 + r**2 * angle.dot**2) / 2 + 2 * angle.dot**2,
        potential=9.81 * z + 1e6 / 2 * (length - 1) ** 2,
        dissipation=1e5 / 2 * along**2 + (z.dot**2 + r.dot**2) / 4,
        forces={angle: 20 - 4 * angle.dot * (1 + z)},
    )
    start = {r: 0.6, z: -0.8, angle.dot: 3.0}
    return Problem("flyball governor, stiff arm", system, start, (0.0, 10.0))


def car_axis() -> Problem:
    """The car axis of the IVP test set: two stiff springs, a rigid axis, an uneven road."""
    a, b, c, d = da.coordinates("a b c d")
    height = sin(10 * da.t) / 10
    road = (sqrt(1 - height**2), height)
    mass = 10 * 1e-4 / 2
    left = sqrt(a**2 + b**2)
    right = sqrt((c - road[0]) ** 2 + (d - road[1]) ** 2)
    system = da.System(
        [a, b, c, d],
        kinetic=mass / 2 * (a.dot**2 + b.dot**2 + c.dot**2 + d.dot**2),
        potential=(left - 0.5) ** 2 / 2 + (right - 0.5) ** 2 / 2 + mass * (b + d),
        constraints=[
            da.holonomic(a * road[0] + b * road[1], name="upright"),
            da.holonomic((a - c) ** 2 + (b - d) ** 2 - 1, name="axis"),
        ],
    )
    start = {b: 0.5, c: 1.0, d: 0.5, a.dot: -0.5, c.dot: -0.5}
    return Problem("car axis", system, start, (0.0, 3.0))


def chain(count: int = 10) -> Problem:
    """Masses on stiff, strongly damped springs: a chain of pendulums in Cartesian coordinates."""
    kinetic, potential, dissipation = 0, 0, 0
    symbols, before, start = [], (0, 0, 0, 0), {}
    for k in range(count):
        x, y = da.coordinates(f"x{k} y{k}")
        symbols += [x, y]
        u, v = x - before[0], y - before[1]
        r = sqrt(u**2 + v**2)
        stretch = (u * (x.dot - before[2]) + v * (y.dot - before[3])) / r
        kinetic += (x.dot**2 + y.dot**2) / 2
        potential += 9.81 * y + 1e6 / 2 * (r - 1) ** 2
        dissipation += 1e5 / 2 * stretch**2
        before, start[x] = (x, y, x.dot, y.dot), k + 1.0
    system = da.System(symbols, kinetic=kinetic, potential=potential, dissipation=dissipation)
    return Problem(f"chain of {count} masses on stiff springs", system, start, (0.0, 2.0))


def penalty() -> Problem:
    """A ball that falls on a floor whose force grows with the square of its penetration."""
    x, y, spin = da.coordinates("x y spin")
    depth = Max(-y, 0)
    slip = x.dot - spin.dot / 10
    system = da.System(
        [x, y, spin],
        kinetic=(x.dot**2 + y.dot**2) / 2 + spin.dot**2 / 500,
        potential=9.81 * y + 1e8 / 3 * depth**3,
        dissipation=1e7 / 2 * depth * (y.dot**2 + slip**2),
    )
    return Problem("contact by penalty", system, {y: 0.5, x.dot: 1.0}, (0.0, 3.0))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "governor": governor,
    "car-axis": car_axis,
    "chain": chain,
    "penalty": penalty,
}


@dataclass
class Rates:
    """The rates of a problem and their Jacobian, and how often they were called."""

    problem: Problem
    motion: Any = field(init=False)
    calls: int = 0
    jacobian_calls: int = 0

    def __post_init__(self) -> None:
        motion = da.simulate(
            self.problem.system, self.problem.start, self.problem.span, method="radau5", rtol=1e-3
        )
        self.motion, kernel = motion, kernel_of(motion.equations, ())
        self.y0 = motion.segments[0].step_y[0].copy()
        self.context = kernel.plain_context(np.zeros(0))
        t, y, *_ = kernel._inputs()
        self.t, self.y, self.rates = t, y, regular_rates(kernel).rates
        self._jacobian = ca.Function("jacobian", [t, y], [ca.jacobian(self.rates, y)])
        self._out = np.zeros(len(self.y0) + 1)

    def __call__(self, t: float, y: Any) -> Any:
        self.calls += 1
        self.context.evaluate(t, np.ascontiguousarray(y), self._out)
        return self._out[:-1].copy()

    def jacobian(self, t: float, y: Any) -> Any:
        self.jacobian_calls += 1
        return np.asarray(self._jacobian(t, y), dtype=float)

    def reset(self) -> None:
        self.calls = self.jacobian_calls = 0


def ours(method: str) -> Callable[[Rates, float], tuple[Any, int, int | None]]:
    def run(rates: Rates, rtol: float) -> tuple[Any, int, int | None]:
        problem = rates.problem
        motion = da.simulate(
            problem.system, problem.start, problem.span, method=method, rtol=rtol,
            at=[problem.span[1]], form=rates.motion.equations.form,
            max_steps=MOST_EVALUATIONS // 12,
        )  # fmt: skip
        if not motion.success:
            raise RuntimeError(motion.message)
        return motion.y[:, -1], motion.statistics["nfev"], None

    return run


def cvode(rates: Rates, rtol: float) -> tuple[Any, int, int | None]:
    from sksundae.cvode import CVODE

    def fill(t: float, y: Any, out: Any) -> None:
        out[:] = rates(t, y)

    def fill_jacobian(t: float, y: Any, _: Any, out: Any) -> None:
        out[:, :] = rates.jacobian(t, y)

    solver = CVODE(
        fill, method="BDF", rtol=rtol, atol=1e-2 * rtol, jacfn=fill_jacobian,
        max_num_steps=MOST_EVALUATIONS,
    )  # fmt: skip
    found = solver.solve(np.array(rates.problem.span), rates.y0.copy())
    if not found.success:
        raise RuntimeError("CVODE gave up")
    return found.y[-1], rates.calls, rates.jacobian_calls


def cvodes(rates: Rates, rtol: float) -> tuple[Any, int, int | None]:
    first, last = rates.problem.span
    dae = {"x": rates.y, "t": rates.t, "ode": rates.rates}
    options = {"reltol": rtol, "abstol": 1e-2 * rtol, "max_num_steps": MOST_EVALUATIONS}
    solver = ca.integrator("solver", "cvodes", dae, first, last, options)
    began = time.process_time()
    end = np.asarray(solver(x0=rates.y0)["xf"], dtype=float).ravel()
    rates.inner = time.process_time() - began  # type: ignore[attr-defined]
    told = solver.stats()
    return end, int(told["nfevals"]), int(told["nlinsetups"])


def scipy_radau(rates: Rates, rtol: float) -> tuple[Any, int, int | None]:
    from scipy.integrate import solve_ivp

    found = solve_ivp(
        rates, rates.problem.span, rates.y0, method="Radau", rtol=rtol, atol=1e-2 * rtol,
        jac=rates.jacobian, t_eval=[rates.problem.span[1]],
    )  # fmt: skip
    if not found.success:
        raise RuntimeError(found.message)
    return found.y[:, -1], int(found.nfev), int(found.njev)


SOLVERS: dict[str, Callable[[Rates, float], tuple[Any, int, int | None]]] = {
    **{method: ours(method) for method in OURS},
    "CVODE BDF": cvode,
    "CVODES in CasADi": cvodes,
    "SciPy Radau": scipy_radau,
}


def measured(name: str, rates: Rates, exact: Any) -> Cost | None:
    """The cheapest run of a solver that reaches the accuracy; None where none does."""
    run = SOLVERS[name]
    for rtol in TOLERANCES:
        try:
            run(rates, rtol)
            rates.reset()
            began = time.process_time()
            end, evaluations, jacobians = run(rates, rtol)
            seconds = time.process_time() - began
        except (RuntimeError, ImportError, da.errors.DalembertError) as error:
            print(f"    {name}, rtol {rtol:.0e}: {str(error)[:90]}", file=sys.stderr)
            if isinstance(error, ImportError):
                return None
            continue
        seconds = getattr(rates, "inner", seconds) if name.startswith("CVODES") else seconds
        error = float(np.abs(end - exact).max() / np.abs(exact).max())
        if error <= REACHED:
            return Cost(error, evaluations, jacobians, seconds, rtol)
    return None


def compare(problem: Problem) -> None:
    """Print the table of one problem."""
    rates = Rates(problem)
    given: Any = {"form": rates.motion.equations.form, "at": [problem.span[1]]}
    call = (problem.system, problem.start, problem.span)
    exact, check = (
        da.simulate(*call, method=method, rtol=rtol, **given).y[:, -1]
        for method, rtol in (("radau13", 3e-13), ("radau9", 1e-12))
    )
    apart = np.abs(exact - check).max() / np.abs(exact).max()
    print(
        f"\n{problem.title}, {len(exact)} symbols, t = {problem.span[1]:g}; references {apart:.0e}"
    )
    print("| solver | rtol | error | evaluations | Jacobians | ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in SOLVERS:
        found = measured(name, rates, exact)
        if found is None:
            print(f"| {name} | not reached | | | | |", flush=True)
            continue
        jacobians = "" if found.jacobians is None else found.jacobians
        print(
            f"| {name} | {found.rtol:.0e} | {found.error:.0e} | {found.evaluations} | {jacobians} |"
            f" {1e3 * found.seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PROBLEMS:
        compare(PROBLEMS[chosen]())
