r"""Follow a motion by feedback: the discrete time-varying linear-quadratic regulator.

The deviations of neighbours of a motion obey z_dot = A(t) z + B(t) w in the tangent space of the
constraints. With w held between samples,

    z_(k+1) = Phi_k z_k + Gamma_k w_k,

and the least cost sum_k (z_k^T Q z_k + w_k^T R w_k) T + z_K^T Q_K z_K is z_0^T P_0 z_0, with

    w_k = -K_k z_k,     K_k = (T R + Gamma^T P_(k+1) Gamma)^-1 Gamma^T P_(k+1) Phi.

The flow keeps the tangent space, so that P restricted to it is that of the constrained problem; the
gains act on the projection of the deviation to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import sympy

from ...analysis.stability.linear_field import FieldValue, LinearField
from ...errors import ModelError, RunError
from ...integrate.motion import Motion
from ...integrate.sampling.loop import SampledLoop, sampled
from ...model.values import real_number
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, BySymbol, Values
from ..quadratic_weights import quadratic_weights
from .discrete_model import states_shown

if TYPE_CHECKING:
    from ...runtime.kernel import Kernel

__all__ = ["Plan", "track"]

#: The most samples of a tracked motion.
MOST_SAMPLES = 100_000


def track(
    motion: Motion,
    period: float,
    *,
    weights: Values | None = None,
    effort: float | Values = 1.0,
    end_weight: float = 1.0,
    delay: float = 0.0,
    bounds: BySymbol[Sequence[float | None]] | None = None,
    rate: BySymbol[float] | None = None,
    quantum: BySymbol[float] | None = None,
    noise: BySymbol[float] | None = None,
    seed: int = 0,
) -> SampledLoop:
    """Make the sampled law of least quadratic cost that keeps a system near a motion of it.

    Parameters
    ----------
    motion : Motion
        With free inputs: ``optimise(...).motion``, or any other. In one form throughout, without
        impacts.
    period : float
        Of the samples. The inputs of the motion are held at their values in the middle of each.
    weights : mapping of symbol of the state to its weight
        One for those that are left out.
    effort : float, or mapping of input to its weight
    end_weight : float
        Of the last deviation, as a multiple of `weights` over one unit of time.
    delay, bounds, rate, quantum, noise, seed
        As in `sampled`.

    Returns
    -------
    SampledLoop
        For ``simulate(..., inputs=loop)``, from any start at the first time of the motion. After
        its end the last gains are kept.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    >>> push = da.control.input_table([0, 4], [1, -1])
    >>> plan = da.simulate(mass, {x: 0}, (0, 4), inputs={u: push})
    >>> motion = da.simulate(mass, {x: 0.5}, (0, 4), inputs=track(plan, 0.05))
    >>> bool(abs(motion["x"][-1] - plan["x"][-1]) < 0.02)
    True
    """
    plan = Plan(motion, period)
    gains = plan.gains(weights, effort, real_number(end_weight))
    states = sympy.symbols([f"ref_{name}" for name in plan.names], real=True)
    schedule: dict[sympy.Symbol, Array] = dict(zip(states, plan.states[:-1].T, strict=True))
    law: dict[sympy.Symbol, sympy.Expr] = {}
    for i, u in enumerate(plan.inputs):
        feed = sympy.Symbol(f"ref_{u.name}", real=True)
        schedule[feed], terms = plan.held[:, i], [feed]
        for j, (symbol, reference) in enumerate(zip(plan.symbols, states, strict=True)):
            if np.any(gains[:, i, j] != 0.0):
                gain = sympy.Symbol(f"gain_{u.name}_{symbol.name}", real=True)
                schedule[gain] = gains[:, i, j]
                terms.append(-gain * (symbol - reference))
        law[u] = sympy.Add(*terms)
    initial = {u: plan.held[0, i] for i, u in enumerate(plan.inputs)} if delay > 0 else None
    return sampled(
        law, period, delay=delay, bounds=bounds, rate=rate, quantum=quantum, noise=noise, seed=seed,
        schedule=schedule, initial=initial,
    )  # fmt: skip


class Plan:
    """A motion at K samples, linearised; n symbols of the state, m inputs.

    Attributes
    ----------
    times : array (K + 1,)
    states : array (K + 1, n)
    held : array (K, m)
        The inputs in the middle of each period.
    transitions : array (K, n, n)
    effects : array (K, n, m)
        Phi and Gamma.
    projections : array (K + 1, n, n)
        Onto the tangent space of the constraints.
    """

    def __init__(self, motion: Motion, period: float) -> None:
        if len(motion.segments) != 1 or motion.impacts or not motion.success:
            raise RunError(
                "A motion that is tracked has one form throughout, without impacts",
                f"{len(motion.segments)} parts: {motion.message}"[:80], "track a part of it",
            )  # fmt: skip
        context = motion.segments[0].context
        kernel: Kernel = context.kernel
        if not kernel.free_inputs:
            raise ModelError(
                "A motion that is tracked has free inputs", "none",
                "state System(inputs=[u]) and pass inputs to simulate",
            )  # fmt: skip
        self.inputs, self.symbols = tuple(kernel.free_inputs), tuple(kernel.equations.state)
        self.names = tuple(symbol.name for symbol in self.symbols)
        self.period = real_number(period)
        first, last = float(motion.segments[0].step_t[0]), float(motion.segments[0].step_t[-1])
        count = (last - first) / self.period if self.period > 0 else math.inf
        if not 1 <= count <= MOST_SAMPLES:
            raise ModelError(
                f"A tracked motion has 1 to {MOST_SAMPLES} samples", f"{count:.4g}",
                "choose another period",
            )  # fmt: skip
        steps = math.floor(count * (1 + 1e-12))
        self.times: Array = first + self.period * np.arange(steps + 1, dtype=float)
        points = np.minimum(first + 0.5 * self.period * np.arange(2 * steps + 1), last)
        states = states_shown(motion, self.names, points)
        values = np.array([motion.parameters[s.name] for s in kernel.parameters])
        field, callback = LinearField(kernel, values), context.callback
        self.states = states[::2]
        self.held = np.array(
            [callback.values(float(points[k]), states[k]) for k in range(1, 2 * steps, 2)]
        )
        # Within a period the law holds its input, also at the ends.
        found = [
            [field(states[2 * k + j], float(points[2 * k + j]), self.held[k]) for j in range(3)]
            for k in range(steps)
        ]
        self.transitions, self.effects = self._discrete(found)
        ends = [*(own[0] for own in found), found[-1][2]]
        self.projections = np.array([_projection(value) for value in ends])

    def _discrete(self, found: list[list[FieldValue]]) -> tuple[Array, Array]:
        """Phi and Gamma by the classical Runge-Kutta method on the linear equations."""
        n, h = len(self.names), self.period
        first, middle, last = (
            np.array([np.hstack([own[j].matrix, own[j].by_inputs]) for own in found])
            for j in range(3)
        )

        def rate(both: Array, value: Array) -> Array:
            moved: Array = both[:, :, :n] @ value
            moved[:, :, n:] += both[:, :, n:]
            return moved

        start = np.zeros_like(first)
        start[:, :, :n] = np.eye(n)
        k1 = rate(first, start)
        k2 = rate(middle, start + 0.5 * h * k1)
        k3 = rate(middle, start + 0.5 * h * k2)
        k4 = rate(last, start + h * k3)
        end = start + h / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        return end[:, :, :n], end[:, :, n:]

    def gains(self, weights: Values | None, effort: float | Values, end_weight: float) -> Array:
        """K (K, m, n) by the recursion of Riccati from the end."""
        known = [u.name for u in self.inputs]
        states, efforts = quadratic_weights(self.names, known, weights, effort)
        Q, R = np.diag(states) * self.period, np.diag(efforts) * self.period
        if not end_weight >= 0:
            raise ModelError(
                "The weight of the end is at least 0", f"{end_weight:g}", "pass end_weight=1"
            )
        P = Q / self.period * end_weight
        P = self.projections[-1].T @ P @ self.projections[-1]
        found = np.zeros((len(self.held), len(known), len(self.names)))
        for k in range(len(self.held) - 1, -1, -1):
            F, G, V = self.transitions[k], self.effects[k], self.projections[k]
            K = np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
            P = Q + F.T @ P @ (F - G @ K)
            P = V.T @ (0.5 * (P + P.T)) @ V
            found[k] = K @ V
        return found


def _projection(value: FieldValue) -> Array:
    """The orthogonal projection (n, n) onto the kernel of the constraint Jacobian."""
    C = value.jacobian
    n = len(value.rates)
    if not len(C):
        return np.eye(n)
    basis = rank(C).null_space
    projection: Array = basis @ basis.T
    return projection
