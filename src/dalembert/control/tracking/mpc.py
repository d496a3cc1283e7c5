r"""Model-predictive control at a given rate: sequential quadratic programs, warm-started.

At every sample the inputs of the next N periods make

    sum_k (x_k - r_k)^T Q (x_k - r_k) T + (u_k - v_k)^T R (u_k - v_k) T + end cost

least, subject to x_(k+1) = F(x_k, u_k) and bounds. The program is linearised at the plan of the
sample before, moved on by a period (multiple shooting: all intervals at once, in native code);
states are eliminated, and a quadratic program in the inputs is solved (the real-time iteration of
Diehl, Bock and Schloeder 2005).
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from ...errors import FormError, ModelError
from ...formulations.equations import Equations
from ...integrate.motion import Motion
from ...integrate.sampling.loop import SampledLoop, sampled
from ...model.cache import Cache
from ...model.flow_system import Flow
from ...model.symbols import by_name
from ...model.system import System
from ...model.values import numbers_by_name, real_number
from ...typing import Array, BySymbol, Values
from ..quadratic_weights import quadratic_weights
from .discrete_model import DiscreteModel, states_shown
from .kalman import KalmanFilter

__all__ = ["PredictiveLaw", "mpc"]

#: Iterations at the first sample, and the change of the inputs at which they end.
FIRST, CONVERGED = 50, 1e-9
#: What exceeding a bound of the state costs, linearly, as a multiple of the largest weight.
PENALTY = 1e4


def mpc(
    model: System | Flow | Equations,
    period: float,
    horizon: int,
    target: Values | Motion,
    *,
    weights: Values | None = None,
    effort: float | Values = 1.0,
    end: float | str = "riccati",
    bounds: BySymbol[Sequence[float | None]] | None = None,
    parameters: Values | None = None,
    delay: float = 0.0,
    linear: bool = False,
    iterations: int = 1,
    estimator: KalmanFilter | None = None,
    form: str | None = None,
    substeps: int = 2,
    rate: BySymbol[float] | None = None,
    quantum: BySymbol[float] | None = None,
    noise: BySymbol[float] | None = None,
    seed: int = 0,
) -> SampledLoop:
    """Make a sampled law that plans ahead at every sample, within bounds.

    Parameters
    ----------
    model : System, Flow or Equations
        With free inputs, as the law knows it; what is simulated may differ.
    period : float
    horizon : int
        Periods that are planned.
    target : mapping of symbol to value, or Motion
        Where to stay, with values of inputs that hold it there; or a motion to follow.
    weights : mapping of symbol of the state to its weight
        One for those that are left out.
    effort : float, or mapping of input to its weight
    end : "riccati" or float
        The cost at the end of the plan: that of the linear-quadratic regulator at the target, or
        the weights times a number.
    bounds : mapping of input or symbol of the state to (least, most)
        Those of inputs are kept. Those of the state are kept where it is possible; beyond them a
        plan pays a penalty.
    delay : float
        From a measurement to its effect, at most a period; the plan begins there.
    linear : bool
        Whether the model is linearised once, at the target.
    iterations : int
        Quadratic programs at each sample; at the first up to 50 of them, until they converge.
    estimator : KalmanFilter
        Where not the whole state is measured.
    rate, quantum, noise, seed
        As in `sampled`; the plan does not know them.

    Returns
    -------
    SampledLoop
        ``loop.law.failures`` counts the samples, of all runs so far, at which no plan was found and
        the one before was followed.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    >>> loop = mpc(mass, 0.1, 20, {x: 1}, bounds={u: (-1, 1), x.dot: (-0.5, 0.5)}, linear=True)
    >>> motion = da.simulate(mass, {}, (0, 8), inputs=loop)
    >>> bool(abs(motion["x"][-1] - 1) < 1e-2), bool(motion["x_dot"].max() < 0.501)
    (True, True)
    >>> loop.law.failures
    0
    """
    whole, late = real_number(period), real_number(delay)
    if not (whole > 0 and 0 <= late <= whole and int(horizon) >= 1 and int(iterations) >= 1):
        raise ModelError(
            "A plan has a positive period, a delay of at most a period, and at least one step",
            f"period {whole:g}, delay {late:g}, horizon {horizon}, iterations {iterations}",
            "pass period=0.02, horizon=20",
        )  # fmt: skip
    discrete = DiscreteModel(model, parameters, form, substeps)
    law = PredictiveLaw(discrete, whole, late, int(horizon), int(iterations), bool(linear))
    law.set_target(target)
    law.set_costs(weights, effort, end)
    law.set_bounds(by_name(bounds, "bounds"))
    limits = {u: law.input_bounds[:, k].tolist() for k, u in enumerate(discrete.inputs)}
    common: dict[str, Any] = {
        "inputs": discrete.inputs, "delay": late, "bounds": limits, "rate": rate,
        "quantum": quantum, "noise": noise, "seed": seed,
        "initial": dict(zip(discrete.inputs, law.first_inputs.tolist(), strict=True)),
    }  # fmt: skip
    if estimator is not None:
        estimator = estimator.fresh()
        estimator.command = law.first_inputs.copy()
        measure: Any = estimator.observed.expressions
        return sampled(estimator.law(law), whole, measure=measure, **common)
    measure = dict(zip(discrete.names, discrete.symbols, strict=True))
    return sampled(law, whole, measure=measure, **common)


class PredictiveLaw:
    """The commands of a plan that is improved at every sample; N periods, n states, m inputs."""

    def __init__(
        self, model: DiscreteModel, period: float, delay: float, horizon: int, iterations: int,
        linear: bool,
    ) -> None:  # fmt: skip
        self.model, self.period, self.delay = model, period, delay
        self.horizon, self.iterations, self.linear = horizon, iterations, linear
        n, m = len(model.names), len(model.inputs)
        self.end = np.eye(n)
        self.input_bounds = np.array([[-math.inf] * m, [math.inf] * m])
        self.bounded: list[int] = []
        self.state_bounds = np.zeros((2, 0))
        self.plan: tuple[Array, Array] | None = None
        self.counts: list[int] = []
        self.run: int | None = None
        self._fixed: tuple[Array, Array, Array, Array] | None = None

    # -- what is asked for -------------------------------------------------------------------------

    def set_target(self, target: Values | Motion) -> None:
        """The states r and inputs v to stay near, at samples from the start of a run on."""
        model, N = self.model, self.horizon
        self.started: float | None = None
        if isinstance(target, Motion):
            if self.linear:
                raise ModelError(
                    "A plan that is linearised once has one target", "a motion", "pass linear=False"
                )
            first, last = float(target.t[0]), float(target.t[-1])
            count = math.ceil((last - first) / self.period * (1 - 1e-12))
            times = np.minimum(first + self.delay + self.period * np.arange(count + 1), last)
            self.references = states_shown(target, model.names, times)
            callback = target.segments[0].context.callback
            middle = np.minimum(times + 0.5 * self.period, last)
            self.feed = np.array([callback.values(float(t), np.zeros(0)) for t in middle])
        else:
            table = numbers_by_name(target)
            held = {name: table.pop(name) for name in model.inputs if name in table}
            state = model.on_constraints(0.0, model.state_of(table, "target"))
            self.references = np.tile(state, (N + 1, 1))
            self.feed = np.tile([held.get(name, 0.0) for name in model.inputs], (N + 1, 1))
        self.first_inputs = self.feed[0]

    def set_costs(self, weights: Values | None, effort: float | Values, end: float | str) -> None:
        """Q, R and the cost at the end."""
        model, T = self.model, self.period
        states, inputs = quadratic_weights(model.names, model.inputs, weights, effort)
        self.weights, self.efforts = states * T, inputs * T
        self.end = self._riccati() if end == "riccati" else np.diag(self.weights) * real_number(end)

    def _riccati(self) -> Array:
        """The cost to go of the regulator at the last target, on the tangent space there."""
        model, state = self.model, self.references[-1]
        moved = model.moved(0.0, state[None, :], self.feed[-1], self.period)
        V = model.tangent_basis(0.0, state)
        A, B = V.T @ moved.by_state[0] @ V, V.T @ moved.by_inputs[0]
        Q, R = V.T @ np.diag(self.weights) @ V, np.diag(self.efforts)
        try:
            P = scipy.linalg.solve_discrete_are(A, B, Q, R)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise FormError(
                "The regulator at the target has no finite cost", str(error)[:80],
                "pass end=10.0, or weigh all that can grow",
            ) from None  # fmt: skip
        found: Array = V @ P @ V.T
        return found

    def set_bounds(self, given: Mapping[str, Any]) -> None:
        """Least and most of inputs and of symbols of the state."""
        model = self.model
        states = []
        for name, pair in given.items():
            if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
                raise ModelError(
                    f"The bounds of `{name}` are a pair", str(pair)[:60], "pass (least, most)"
                )
            low = -math.inf if pair[0] is None else real_number(pair[0])
            high = math.inf if pair[1] is None else real_number(pair[1])
            if not low < high:
                raise ModelError(
                    f"The bounds of `{name}` exclude each other", f"{low:g} and {high:g}",
                    "give the lower one first",
                )  # fmt: skip
            if name in model.inputs:
                self.input_bounds[:, model.inputs.index(name)] = low, high
                continue
            model.check_names([name], "bounds")
            self.bounded.append(model.names.index(name))
            states.append((low, high))
        self.state_bounds = np.array(states).reshape(-1, 2).T
        self.first_inputs = np.clip(self.first_inputs, *self.input_bounds)

    # -- at a sample -------------------------------------------------------------------------------

    def fresh(self) -> PredictiveLaw:
        """The law for another run."""
        found = copy.copy(self)
        found.run = len(self.counts)
        self.counts.append(0)
        return found

    @property
    def failures(self) -> int:
        """Samples of all runs at which no plan was found and the one before was kept."""
        return sum(self.counts)

    def _fail(self) -> None:
        if self.run is None:
            self.run = len(self.counts)
            self.counts.append(0)
        self.counts[self.run] += 1

    def __call__(self, time: float, measured: Mapping[str, float]) -> Array:
        model, T = self.model, self.period
        state = np.array([measured[name] for name in model.names])
        if self.started is None:
            self.started, self.command = time, self.first_inputs
        first = model.moved(time, state[None, :], self.command, self.delay).states[0]
        number = round((time - self.started) / T)
        references, feed = self._window(number)
        if self.linear:
            inputs = self._linear_step(first, references, feed)
        else:
            inputs = self._nonlinear_steps(time + self.delay, first, references, feed)
        command: Array = np.clip(inputs[0], *self.input_bounds)
        self.command = command
        return command

    def _window(self, number: int) -> tuple[Array, Array]:
        """Targets of the periods ahead; the last one stays."""
        places = np.minimum(number + np.arange(self.horizon + 1), len(self.references) - 1)
        return self.references[places], self.feed[places[:-1]]

    def _nonlinear_steps(self, time: float, first: Array, r: Array, v: Array) -> Array:
        """Quadratic programs at the plan of the sample before, moved on by a period."""
        if self.plan is None:
            states, inputs, most = r.copy(), np.clip(v, *self.input_bounds), FIRST
        else:
            states = np.concatenate([self.plan[0][1:], self.plan[0][-1:]])
            inputs = np.concatenate([self.plan[1][1:], self.plan[1][-1:]])
            moved = self.model.moved(time, states[-2:-1], inputs[-1], self.period)
            states[-1], most = moved.states[0], self.iterations
        for _ in range(most):
            moved = self.model.moved(time, states[:-1], inputs, self.period)
            defects = moved.states - states[1:]
            S, c = _condensed(moved.by_state, moved.by_inputs, defects, first - states[0])
            found = self._program(S, states + c - r, inputs - v, inputs, states + c)
            if found is None:
                self._fail()
                break
            states = states + c + np.tensordot(S, found, (2, 0))
            change = found.reshape(inputs.shape)
            inputs = inputs + change
            if np.max(np.abs(change)) <= CONVERGED * (1.0 + np.max(np.abs(inputs))):
                break
        self.plan = states, inputs
        return np.asarray(inputs, dtype=float)

    def _linear_step(self, first: Array, r: Array, v: Array) -> Array:
        """One quadratic program with the model linearised at the target."""
        if self._fixed is None:
            N = self.horizon
            moved = self.model.moved(0.0, r[:1], v[0], self.period)
            self._fixed = (
                np.tile(moved.by_state, (N, 1, 1)), np.tile(moved.by_inputs, (N, 1, 1)),
                np.tile(moved.states - r[:1], (N, 1)), r,
            )  # fmt: skip
        by_state, by_inputs, defects, _ = self._fixed
        S, c = _condensed(by_state, by_inputs, defects, first - r[0])
        found = self._program(S, c, np.zeros_like(v), v, r + c)
        if found is None:
            self._fail()
            return np.asarray(self.command[None, :], dtype=float)
        return np.asarray(v + found.reshape(v.shape), dtype=float)

    def _program(
        self, S: Array, off: Array, above: Array, inputs: Array, reached: Array
    ) -> Array | None:
        """The changes of the inputs (N m,) of least cost, or None where the solver fails."""
        N, size = self.horizon, above.size
        weighted = S[1:N] * self.weights[:, None]
        H = np.tensordot(weighted, S[1:N], ((0, 1), (0, 1))) + S[N].T @ self.end @ S[N]
        H += np.diag(np.tile(self.efforts, N))
        g = np.tensordot(weighted, off[1:N], ((0, 1), (0, 1))) + S[N].T @ (self.end @ off[N])
        g += np.tile(self.efforts, N) * above.ravel()
        low = np.tile(self.input_bounds[0], N) - inputs.ravel()
        high = np.tile(self.input_bounds[1], N) - inputs.ravel()
        k = len(self.bounded)
        free = np.linalg.solve(H, -g)
        if np.all((free >= low) & (free <= high)):  # most plans near the target
            states = reached[1:] + np.tensordot(S[1:], free, (2, 0))
            own = states[:, self.bounded]
            if np.all((own >= self.state_bounds[0]) & (own <= self.state_bounds[1])):
                return np.asarray(free, dtype=float)
        rows = np.zeros((2 * N * k, size + k))
        limits = np.full((2, 2 * N * k), np.inf) * np.array([[-1.0], [1.0]])
        if k:
            weight = PENALTY * max(float(np.max(self.weights)), float(np.max(np.diag(H))) * 1e-3)
            H = scipy.linalg.block_diag(H, weight * np.eye(k))
            g = np.concatenate([g, np.full(k, weight)])
            low = np.concatenate([low, np.zeros(k)])
            high = np.concatenate([high, np.full(k, np.inf)])
            table = S[1:, self.bounded].reshape(N * k, size)
            slack = np.tile(np.eye(k), (N, 1))
            rows = np.concatenate([np.hstack([table, slack]), np.hstack([table, -slack])])
            at = reached[1:, self.bounded].ravel()
            limits[0, : N * k] = np.tile(self.state_bounds[0], N) - at
            limits[1, N * k :] = np.tile(self.state_bounds[1], N) - at
        found = _quadratic(H, g, low, high, rows, limits)
        return None if found is None else found[:size]


def _condensed(
    by_state: Array, by_inputs: Array, defects: Array, first: Array
) -> tuple[Array, Array]:
    """States as S (N + 1, n, N m) times changes of the inputs, plus c (N + 1, n)."""
    N, n, m = by_inputs.shape
    S, c = np.zeros((N + 1, n, N * m)), np.zeros((N + 1, n))
    c[0] = first
    for k in range(N):
        filled = k * m
        S[k + 1, :, :filled] = by_state[k] @ S[k, :, :filled]
        S[k + 1, :, filled : filled + m] = by_inputs[k]
        c[k + 1] = by_state[k] @ c[k] + defects[k]
    return S, c


_SOLVERS, _LOCK = Cache("quadratic programs"), threading.Lock()


def _quadratic(
    H: Array, g: Array, low: Array, high: Array, rows: Array, limits: Array
) -> Array | None:
    """Minimise v^T H v / 2 + g^T v between bounds, by an active-set method; None if it fails."""
    shape = len(g), len(rows)
    with _LOCK:  # CasADi is not made for calls from several threads
        solver = _SOLVERS.get(shape, lambda: _solver(*shape))
        found = solver(h=H, g=g, a=rows, lbx=low, ubx=high, lba=limits[0], uba=limits[1])
        if not solver.stats()["success"]:
            return None
        return np.asarray(found["x"], dtype=float).ravel()


def _solver(size: int, rows: int) -> ca.Function:
    """The solver of programs with `size` unknowns and some rows."""
    structure = {"h": ca.Sparsity.dense(size, size), "a": ca.Sparsity.dense(rows, size)}
    return ca.conic("plan", "daqp", structure, {"error_on_fail": False})
