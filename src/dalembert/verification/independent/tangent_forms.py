"""Vectors and one-forms on TQ as arrays, for Bloch's section 5.3, and a second chart of Q.

Vectors a d/dq + b d/dv and one-forms a dq + b dv are arrays (2n,), components along q first. The
second chart q = Phi(Q) shows what does not depend on coordinates: the same system is stated to the
library in both.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...analysis.variational.tangent_bundle import Codistribution, TangentBundle, tangent_bundle
from ...formulations.registry import derive
from ...model.constraints import velocity
from ...model.symbols import coordinates
from ...model.system import System
from ...typing import Array
from ..numeric import Probe, derivative
from .random_systems import Point
from .tangent_bundle_systems import TangentSample, tangent_probe, tangent_system

# -- vectors and forms on TQ -----------------------------------------------------------------------


def principal(vector: Array) -> Any:
    """P(a d/dq + b d/dv) = a d/dv (2n,)."""
    n = len(vector) // 2
    return np.concatenate([np.zeros(n), vector[:n]])


def pulled(form: Array) -> Any:
    """P^*(a dq + b dv) = b dq (2n,)."""
    n = len(form) // 2
    return np.concatenate([form[n:], np.zeros(n)])


def fundamental(v: Array) -> Any:
    """Phi = v d/dv (2n,)."""
    return np.concatenate([np.zeros(len(v)), v])


def lagrangian_form(s: TangentSample) -> Any:
    """Omega_L (2n, 2n): the canonical dq ^ dp pulled back by complex steps of the momenta."""
    n = s.model.size
    by_state = derivative(lambda y: s.model.momenta(y[:n], y[n:]), s.state)
    bare = np.hstack([np.eye(n), np.zeros((n, n))])
    return bare.T @ by_state - by_state.T @ bare


def energy_form(s: TangentSample) -> Any:
    """dH_L by complex steps (2n,)."""
    n = s.model.size
    return derivative(lambda y: s.model.energy(y[:n], y[n:]), s.state)


@cache
def _derivatives(kind: str) -> ca.Function:
    """(q, v) -> derivatives of the library's momenta (n, 2n) and of its energy (1, 2n)."""
    kernel = tangent_probe(kind).kernel
    state = kernel.algebra.vector(kernel.equations.state)
    blocks = (kernel.graph.momenta, kernel.graph.energy)
    parts = [kernel.algebra.jacobian(ca.SX(block), state) for block in blocks]
    return ca.Function("derivatives", [state], parts)


def library_derivatives(s: TangentSample) -> tuple[Any, Any]:
    """Derivatives of the library's momenta (n, 2n) and energy (2n,) by (q, v)."""
    momenta, energy = (np.array(x, dtype=float) for x in _derivatives(s.model.kind)(s.state))
    return momenta, energy.ravel()


@cache
def _library_bundle(kind: str) -> TangentBundle:
    return tangent_bundle(tangent_system(kind).system)


@cache
def _library_geometry(kind: str) -> Any:
    """The forms of `tangent_bundle` as a function of (q, v) and the accelerations."""
    found = _library_bundle(kind)
    accelerations = [q.ddot for q in found.system.coordinates]
    field = [*found.system.velocities, *accelerations]
    blocks = [found.momentum_form, found.two_form, found.energy_form, found.force_form(field)]
    return sympy.lambdify([list(found.symbols), accelerations], blocks, "numpy", cse=True)


def library_forms(s: TangentSample, accelerations: Array) -> tuple[Any, ...]:
    """P* dL (2n,), Omega_L (2n, 2n), dH_L (2n,) and the force form of X = (v, a) (2n,)."""
    found = _library_geometry(s.model.kind)(s.state, accelerations)
    momentum, form, energy, force = (np.array(block, dtype=float) for block in found)
    return momentum.ravel(), form, energy.ravel(), force.ravel()


def library_codistribution(kind: str) -> Codistribution:
    """The verdicts of `tangent_bundle` on the conditions of a kind."""
    return _library_bundle(kind).codistribution()


def random_vector(s: TangentSample, seed: int) -> Array:
    """A random vector on TQ (2n,)."""
    return np.random.default_rng([seed, 3]).uniform(-1, 1, 2 * s.model.size)


# -- a second chart --------------------------------------------------------------------------------


def _chart(Q: Point) -> list[Any]:
    """q = Phi(Q), in symbols or in numbers."""
    sine = sympy.sin if isinstance(Q[0], sympy.Expr) else np.sin
    n = len(Q)
    return [Q[k] + sine(Q[(k + 1) % n] + k / 3) / 3 + Q[(k + 2) % n] * Q[k] / 5 for k in range(n)]


@cache
def second_chart(kind: str) -> Probe:
    """The system of `tangent_system` stated to the library in the symbols Q."""
    stated = tangent_system(kind).system
    Q = coordinates(" ".join(f"Q{k + 1}" for k in range(len(stated.coordinates))))
    place = _chart(Q)
    rates = [sum(sympy.diff(x, y) * y.dot for y in Q) for x in place]
    change = dict(zip((*stated.coordinates, *stated.velocities), (*place, *rates), strict=True))
    assert stated.lagrangian is not None
    rows = [velocity(c.expression.xreplace(change), name=c.name) for c in stated.bilateral]
    system = System(Q, lagrangian=stated.lagrangian.xreplace(change), constraints=rows)
    return Probe(derive(system, "lagrange"), {})


def _chart_derivative(Q: Array) -> Any:
    """Phi_Q in closed form (n, n), for complex arguments too."""
    n = len(Q)
    table = np.zeros((n, n), dtype=np.asarray(Q).dtype)
    for k in range(n):
        table[k, k] += 1 + Q[(k + 2) % n] / 5
        table[k, (k + 1) % n] += np.cos(Q[(k + 1) % n] + k / 3) / 3
        table[k, (k + 2) % n] += Q[k] / 5
    return table


def in_second_chart(s: TangentSample) -> tuple[Any, Any]:
    """(Q, V) of a sample, and the derivative of (Q, V) -> (q, v) there (2n, 2n)."""
    Q, n = np.array(s.q), s.model.size
    for _ in range(60):
        Q = Q - np.linalg.solve(_chart_derivative(Q), np.array(_chart(Q)) - s.q)
    state = np.concatenate([Q, np.linalg.solve(_chart_derivative(Q), s.v)])

    def lifted(y: Array) -> Any:
        return np.concatenate([np.array(_chart(y[:n])), _chart_derivative(y[:n]) @ y[n:]])

    return state, derivative(lifted, state)
