"""Vectors and one-forms on TQ as arrays: what Bloch's section 5.3 is written in, and a second chart to compare with.

Vectors a d/dq + b d/dv and one-forms a dq + b dv are arrays (2n,), components along q first. The second chart q = Phi(Q)
shows what does not depend on coordinates: the same system is stated to the library in both.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...formulations.registry import derive
from ...model.constraints import velocity
from ...model.symbols import coordinates
from ...model.system import System
from ..numeric import Probe, derivative
from .tangent_bundle_systems import Place, tangent_probe, tangent_system

__all__ = [
    "energy_form",
    "fundamental",
    "in_second_chart",
    "lagrangian_form",
    "library_derivatives",
    "library_form",
    "principal",
    "pulled",
    "random_vector",
    "second_chart",
]


# -- vectors and forms on TQ -------------------------------------------------------------------------------------------


def principal(vector: Any) -> Any:
    """P(a d/dq + b d/dv) = a d/dv (2n,)."""
    n = len(vector) // 2
    return np.concatenate([np.zeros(n), vector[:n]])


def pulled(form: Any) -> Any:
    """P^*(a dq + b dv) = b dq (2n,)."""
    n = len(form) // 2
    return np.concatenate([form[n:], np.zeros(n)])


def fundamental(v: Any) -> Any:
    """Phi = v d/dv (2n,)."""
    return np.concatenate([np.zeros(len(v)), v])


def lagrangian_form(place: Place) -> Any:
    """The matrix of Omega_L (2n, 2n): the canonical dq ^ dp pulled back by complex steps of the momenta."""
    n = place.twin.size
    by_state = derivative(lambda y: place.twin.momenta(y[:n], y[n:]), place.state)
    bare = np.hstack([np.eye(n), np.zeros((n, n))])
    return bare.T @ by_state - by_state.T @ bare


def energy_form(place: Place) -> Any:
    """dH_L by complex steps (2n,)."""
    n = place.twin.size
    return derivative(lambda y: place.twin.energy(y[:n], y[n:]), place.state)


@cache
def _derivatives(kind: str) -> Any:
    """(q, v) -> derivatives of the library's momenta (n, 2n) and of its energy (1, 2n)."""
    kernel = tangent_probe(kind).kernel
    state = kernel.algebra.vector(kernel.equations.state)
    parts = [kernel.algebra.jacobian(ca.SX(block), state) for block in (kernel.graph.momenta, kernel.graph.energy)]
    return ca.Function("slopes", [state], parts)


def library_derivatives(place: Place) -> tuple[Any, Any]:
    """Derivatives of the library's momenta (n, 2n) and energy (2n,) by (q, v)."""
    momenta, energy = (np.array(item, dtype=float) for item in _derivatives(place.twin.kind)(place.state))
    return momenta, energy.ravel()


def library_form(place: Place) -> Any:
    """The printed Omega_L with the library's second derivatives of L (2n, 2n)."""
    n = place.twin.size
    momenta, _ = library_derivatives(place)
    mixed, second = momenta[:, :n], place.probe.blocks(0.0, place.state).G
    # -L_{q^j v^i} dq^j ^ dq^i + L_{v^j v^i} dq^j ^ dv^i, with d_j L_{v^i} = mixed[i, j]
    return np.block([[-mixed.T + mixed, second], [-second.T, np.zeros((n, n))]])


def random_vector(place: Place, seed: int) -> Any:
    return np.random.default_rng([seed, 3]).uniform(-1, 1, 2 * place.twin.size)


# -- a second chart ----------------------------------------------------------------------------------------------------


def _bend(Q: Any) -> list[Any]:
    """q = Phi(Q), in symbols or in numbers."""
    sine = sympy.sin if isinstance(Q[0], sympy.Expr) else np.sin
    n = len(Q)
    return [Q[k] + sine(Q[(k + 1) % n] + k / 3) / 3 + Q[(k + 2) % n] * Q[k] / 5 for k in range(n)]


@cache
def second_chart(kind: str) -> Probe:
    """The system of `tangent_system` stated to the library in the symbols Q."""
    stated = tangent_system(kind).system
    Q = coordinates(" ".join(f"Q{k + 1}" for k in range(len(stated.coordinates))))
    place = _bend(Q)
    rates = [sum(sympy.diff(x, y) * y.dot for y in Q) for x in place]
    change = dict(zip((*stated.coordinates, *stated.velocities), (*place, *rates), strict=True))
    assert stated.lagrangian is not None
    rows = [velocity(c.expression.xreplace(change), name=c.name) for c in stated.bilateral]
    return Probe(derive(System(Q, lagrangian=stated.lagrangian.xreplace(change), constraints=rows), "lagrange"), {})


def _chart_map(y: Any) -> Any:
    """(Q, V) -> (q, v)."""
    n = len(y) // 2
    jacobian = _bend_derivative(y[:n])
    return np.concatenate([np.array(_bend(y[:n])), jacobian @ y[n:]])


def _bend_derivative(Q: Any) -> Any:
    """Phi_Q in closed form (n, n), for complex arguments too."""
    n = len(Q)
    table = np.zeros((n, n), dtype=np.asarray(Q).dtype)
    for k in range(n):
        table[k, k] += 1 + Q[(k + 2) % n] / 5
        table[k, (k + 1) % n] += np.cos(Q[(k + 1) % n] + k / 3) / 3
        table[k, (k + 2) % n] += Q[k] / 5
    return table


def in_second_chart(place: Place) -> tuple[Any, Any]:
    """(Q, V) over a place, by Newton's method, and the derivative of (Q, V) -> (q, v) there (2n, 2n)."""
    Q = np.array(place.q)
    for _ in range(60):
        Q = Q - np.linalg.solve(_bend_derivative(Q), np.array(_bend(Q)) - place.q)
    state = np.concatenate([Q, np.linalg.solve(_bend_derivative(Q), place.v)])
    return state, derivative(_chart_map, state)
