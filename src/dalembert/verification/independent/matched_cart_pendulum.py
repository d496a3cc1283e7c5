"""The pendulum on a cart with a controlled Lagrangian, as NumPy functions and as a closed loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy import cos, sin

from ... import gallery
from ...formulations.registry import derive
from ...typing import Array
from ..numeric import Probe, derivative
from ..samples import Generator, sampler

#: A metric (2, 2) as a function of q.
Metric: TypeAlias = Callable[[Array], Any]


@cache
def masses() -> dict[str, float]:
    """The parameters of the gallery's closed loop."""
    values = gallery.load("cart-pendulum-matched").parameters
    return {name: float(value) for name, value in values.items()}


@cache
def closed_loop() -> Probe:
    """The gallery's closed loop by Lagrange's equations."""
    scenario = gallery.load("cart-pendulum-matched")
    return Probe(derive(scenario.system, "lagrange"), scenario.parameters)


@cache
def open_loop(force: float) -> Probe:
    """With a constant force on the cart."""
    scenario = gallery.load("cart-pendulum")
    return Probe(derive(scenario.system.driven({"u": force}), "lagrange"), scenario.parameters)


def metric(q: Array) -> Any:
    """g (2, 2) at (phi, s)."""
    b = masses()
    cross = b["m"] * b["l"] * cos(q[0])
    first, last = b["m"] * b["l"] ** 2, b["M"] + b["m"]
    return np.array([[first + 0 * cross, cross], [cross, last + 0 * cross]])


def potential(q: Array) -> Any:
    """U."""
    b = masses()
    return b["m"] * b["g"] * b["l"] * cos(q[0])


def controlled_metric(q: Array) -> Any:
    """g~ (2, 2)."""
    b = masses()
    cross, whole, strong = b["m"] * b["l"] * cos(q[0]), b["M"] + b["m"], b["c"] * b["a"] - 1
    own = b["a"] * strong * cross**2 / whole - b["m"] * b["l"] ** 2
    return np.array([[own, strong * cross], [strong * cross, b["c"] * whole + 0 * cross]])


def controlled_potential(q: Array) -> Any:
    """U~."""
    b = masses()
    whole = b["M"] + b["m"]
    y = q[1] + b["a"] * b["m"] * b["l"] * sin(q[0]) / whole
    return b["m"] * b["g"] * b["l"] * (1 - cos(q[0])) + b["eps"] * whole * y**2 / 2


def christoffel(table: Metric, q: Array) -> Any:
    """Gamma^i_jk of a metric by complex steps [i, j, k]."""
    n = len(q)
    by = derivative(lambda x: table(x).ravel(), q).reshape(n, n, n)  # [i, j, k]: d_k g_ij
    first = (np.einsum("ijk->ijk", by) + np.einsum("ikj->ijk", by) - np.einsum("jki->ijk", by)) / 2
    return np.einsum("il,ljk->ijk", np.linalg.inv(table(np.asarray(q, dtype=float))), first)


def bent(table: Metric, q: Array, v: Array) -> Any:
    """g_il Gamma^l_jk v^j v^k (n,)."""
    return np.real(table(q)) @ np.einsum("ijk,j,k->i", christoffel(table, q), v, v)


def wanted_accelerations(
    table: Metric, height: Callable[[Array], Any], q: Array, v: Array, force: Array | float = 0.0
) -> Any:
    """Those of Lagrange's equations of L~ with a force."""
    return np.linalg.solve(np.real(table(q)), force - bent(table, q, v) - derivative(height, q))


def passive_velocity(q: Array, v: Array) -> float:
    """h~_j^2 q_dot^j."""
    return float((np.linalg.inv(metric(q)) @ controlled_metric(q) @ v)[1])


def energy_rate(q: Array, v: Array, accelerations: Array, sign: float = 1.0) -> float:
    """dE~/dt along accelerations."""

    def energy(y: Array) -> Any:
        return y[2:] @ controlled_metric(y[:2]) @ y[2:] / 2 + controlled_potential(y[:2])

    rates = np.concatenate([v, accelerations])
    return float(sign * derivative(energy, np.concatenate([q, v])) @ rates)


class CartState(NamedTuple):
    """A state (q, v) where g~ is definite."""

    q: Array
    v: Array


@sampler(seed=17, count=6)
def states(_: str, random: Generator) -> CartState:
    """Random states."""
    return CartState(random.uniform(-0.8, 0.8, 2), random.uniform(-1.5, 1.5, 2))
