"""Systems for the tests of `hamilton_jacobi`, with values, and states of their vakonomic
motions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import sympy
from sympy import Rational, cos, sin, sqrt

import dalembert as da
from dalembert.analysis.hamilton_jacobi.hamilton_jacobi import HamiltonJacobi
from dalembert.runtime.context import Context
from dalembert.runtime.kernel import kernel_of

m, g, k, c = da.parameters("m g k c", positive=True)
x, y, z, r, theta, phi = da.coordinates("x y z r theta phi")
VALUES = {"m": 1.3, "g": 9.81, "k": 2.1, "c": 0.4}


def particle(*coordinates: Any, potential: Any = 0, constraints: Any = ()) -> da.System:
    kinetic = m / 2 * sum(q.dot**2 for q in coordinates)
    return da.System(
        list(coordinates), kinetic=kinetic, potential=potential, constraints=constraints
    )


def derivative(f: Any) -> list[Any]:
    return [da.velocity(f, name="slope")]


CENTRAL = m / 2 * (r.dot**2 + r**2 * phi.dot**2)
SPHERICAL = m / 2 * (r.dot**2 + r**2 * theta.dot**2 + r**2 * sin(theta) ** 2 * phi.dot**2)

#: Systems of our own by name; the others come from the gallery.
SYSTEMS: dict[str, da.System] = {
    "fall": particle(x, z, potential=m * g * z),
    "oscillator": particle(x, potential=k * x**2 / 2),
    "runaway": particle(x, potential=-k * x**2 / 2),
    "free": particle(x, y),
    "two oscillators": particle(x, y, potential=k * x**2 / 2 + c * y**2),
    "pendulum": da.System([theta], kinetic=m / 2 * theta.dot**2, potential=-m * g * cos(theta)),
    "kepler": da.System([r, phi], kinetic=CENTRAL, potential=-k / r),
    "spherical": da.System(
        [r, theta, phi], kinetic=SPHERICAL, potential=-k / r + c * cos(theta) / r**2
    ),
    "liouville": da.System(
        [x, y],
        kinetic=(x**2 + y**2) / 2 * (x.dot**2 + y.dot**2),
        potential=-(k + c * x**4) / (x**2 + y**2),
    ),
    "growing mass": da.System([x], kinetic=m / 2 * x.dot**2 * (1 + da.t**2)),
    "common clock": da.System(
        [x], lagrangian=m / 2 * x.dot**2 / (1 + da.t**2) - (1 + da.t**2) * k * x
    ),
    "by hamiltonian": da.System(
        [x, y], hamiltonian=(x.momentum**2 + y.momentum**2) / (2 * m) + k * y
    ),
    "magnetic": da.System([x, y], lagrangian=m / 2 * (x.dot**2 + y.dot**2) + k * x * y.dot),
    # Appell's constraint under another potential: not separable from the heading, and not
    # mechanical.
    "steered by x": particle(
        x,
        y,
        z,
        potential=k * x**2 / 2,
        constraints=derivative(z.dot - c * sqrt(x.dot**2 + y.dot**2)),
    ),
    # A radical whose form is the mass matrix without being a multiple of the unit matrix, beside a
    # free coordinate.
    "skew radical": da.System(
        [x, y, z, theta],
        lagrangian=m / 2 * (x.dot**2 + x.dot * y.dot + 2 * y.dot**2 + z.dot**2 + theta.dot**2)
        + k * x * theta.dot
        - g * z,
        constraints=derivative(
            z.dot - c * sqrt(x.dot**2 + x.dot * y.dot + 2 * y.dot**2) - Rational(1, 5)
        ),
    ),
    "turning frame": particle(x, y, z, constraints=derivative(z.dot - y * x.dot - sin(da.t))),
    # The dependent coordinate has no mass: pi . v - L is quadratic although phi is not linear.
    "massless": da.System(
        [x, y],
        kinetic=m / 2 * x.dot**2,
        potential=k * y,
        constraints=derivative(y.dot - x.dot**2 / 9),
    ),
}
GALLERY = (
    "appell",
    "rolling-disk",
    "nonholonomic-particle",
    "constrained-particle",
    "chaplygin-sleigh",
    "ball-on-rotating-plate",
    "spherical-pendulum",
    "elastic-pendulum-arc",
    "elastic-pendulum-steered",
    "snakeboard-gait",
)


def system_of(name: str) -> da.System:
    return SYSTEMS[name] if name in SYSTEMS else da.gallery.load(name).system


def values_of(name: str) -> dict[str, float]:
    system = system_of(name)
    known = VALUES if name in SYSTEMS else da.gallery.load(name).parameters
    return {p.name: known[p.name] for p in system.parameters}


@cache
def method(name: str) -> HamiltonJacobi:
    return da.variational.hamilton_jacobi(
        SYSTEMS[name] if name in SYSTEMS else da.gallery.load(name)
    )


def evaluated(expressions: Any, values: dict[str, float]) -> Any:
    """Expressions in numbers, by SymPy's own road."""
    expressions = list(expressions)
    symbols = sorted({symbol for e in expressions for symbol in e.free_symbols}, key=str)
    function = sympy.lambdify(symbols, expressions, "numpy", cse=True)
    return np.array(function(*(values[symbol.name] for symbol in symbols)), dtype=float)


def vakonomic_point(name: str, seed: int) -> tuple[dict[str, float], Any, Any, Any]:
    """A random consistent state with random multipliers: its symbols by name, pi, pi_dot and q_dot,
    from the vakonomic form.
    """
    system, random = system_of(name), np.random.default_rng(seed)
    n = len(system.coordinates)
    form = "vakonomic" if system.bilateral else "lagrange"
    kernel = kernel_of(da.derive(system, form), system.parameters)
    parameters = np.array([values_of(name)[p.name] for p in system.parameters])
    context = Context(kernel, parameters)
    for _ in range(50):
        state, time = random.uniform(0.3, 1.1, kernel.n_state), float(random.uniform(0.1, 0.9))
        if not context.project(time, state):
            break
    rates = context.rates(time, state)
    graph, algebra = kernel.graph, kernel.algebra
    pi = graph.momenta
    if system.bilateral:
        pi = pi + graph.rows.T @ algebra.vector(kernel.equations.state[2 * n :])
    symbols, clock = algebra.vector(kernel.equations.state), algebra.vector([da.t])
    direction = ca.SX.sym("rates", kernel.n_state)
    moved = ca.jtimes(pi, symbols, direction) + ca.jacobian(pi, clock)
    function = ca.Function("pi", [*kernel._inputs(), direction], [pi, moved])
    first, second = function.call([time, state, parameters, np.zeros(0), np.zeros(0), rates])
    named = (
        {s.name: float(v) for s, v in zip(kernel.equations.state, state, strict=True)}
        | values_of(name)
        | {"t": time}
    )
    momenta = np.asarray(first, dtype=float).ravel()
    named |= {s.name: float(v) for s, v in zip(method(name).momenta.values(), momenta, strict=True)}
    return named, momenta, np.asarray(second, dtype=float).ravel(), rates[:n]
