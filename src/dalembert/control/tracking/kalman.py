r"""Kalman filters of a sampled model: extended and unscented, on the tangent space of constraints.

    x_(k+1) = F(x_k, u_k) + G(x_k) w_k,       y_k = h(x_k) + v_k

The estimate stays on the constraints. Its covariance V S V^T has the tangent space V there: an
update moves the state along V and back onto the constraints.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ModelError
from ...formulations.equations import Equations
from ...integrate.sampling.loop import Commands
from ...model.flow_system import Flow
from ...model.symbols import name_of
from ...model.system import System
from ...model.values import numbers_by_name, real_number
from ...typing import Array, BySymbol, Expression, Values
from .discrete_model import DiscreteModel

__all__ = ["FilteredLaw", "KalmanFilter", "kalman_filter"]

#: Spread of the points of the unscented filter: weights 1 - n/(n + kappa), ... with n + kappa = 3.
POINTS = 3.0


class KalmanFilter:
    """An estimate of the state from measurements; see `kalman_filter`.

    Attributes
    ----------
    state : array (n,)
        The estimate; `estimate` has it by name.
    covariance : array (n, n)
    innovation, innovation_covariance : arrays (r,), (r, r)
        Of the last update: what was measured beyond what was expected.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    >>> seen = kalman_filter(mass, 0.1, [x], noise={x: 0.1}, spread=0.1)
    >>> seen.update({"x": 1.0})
    >>> seen.predict({"u": 0.0})
    >>> {name: round(value, 6) for name, value in seen.estimate.items()}
    {'x': 0.5, 'x_dot': 0.0}
    """

    def __init__(
        self, model: DiscreteModel, measure: BySymbol[Expression] | Sequence[Expression],
        period: float, delay: float, is_unscented: bool,
    ) -> None:  # fmt: skip
        self.model, self.period, self.delay = model, period, delay
        self.observed = model.observed(measure)
        self.is_unscented = is_unscented
        self.time = 0.0
        n, r = len(model.names), len(self.observed.names)
        self.state, self.covariance = np.zeros(n), np.eye(n)
        self.measured_covariance, self.state_noise = np.eye(r), np.zeros((n, n))
        self.input_noise = np.zeros(len(model.inputs))
        self.command = np.zeros(len(model.inputs))
        self.innovation, self.innovation_covariance = np.zeros(r), np.eye(r)

    def fresh(self) -> KalmanFilter:
        """The filter as it was made, for another run."""
        return copy.copy(self)

    @property
    def estimate(self) -> dict[str, float]:
        """The estimated state by name."""
        return dict(zip(self.model.names, self.state.tolist(), strict=True))

    def update(self, measured: Mapping[str, float]) -> None:
        """Improve the estimate by a measurement; quantities that are NaN or missing are skipped."""
        values = np.array([measured.get(name, np.nan) for name in self.observed.names])
        seen = np.flatnonzero(np.isfinite(values))
        if not len(seen):
            return
        expected, cross, spread = self._expected()
        noise = self.measured_covariance[np.ix_(seen, seen)]
        S = spread[np.ix_(seen, seen)] + noise
        gain = np.linalg.solve(S, cross[:, seen].T).T
        self.innovation, self.innovation_covariance = values[seen] - expected[seen], S
        state = self.state + gain @ self.innovation
        covariance = self.covariance - gain @ S @ gain.T
        self._keep(state, covariance)

    def predict(self, command: Mapping[str, float] | Sequence[float] | Array) -> None:
        """Move the estimate by one period, under a command that takes effect after the delay."""
        names = self.model.inputs
        if isinstance(command, Mapping):
            table = numbers_by_name(command)
            command = [table[name] for name in names]
        new = np.asarray(command, dtype=float)
        late = min(self.delay, self.period)
        for given, h in ((self.command, late), (new, self.period - late)):
            if h > 0.0:
                self._move(given, h)
        self.command = new

    def _move(self, given: Array, h: float) -> None:
        share = h / self.period
        if self.is_unscented:
            points, weights = self._points()
            moved = self.model.moved(self.time, points, given, h)
            state = weights @ moved.states
            apart = moved.states - state
            covariance = apart.T @ (weights[:, None] * apart)
            effect = moved.by_inputs[0]
        else:
            moved = self.model.moved(self.time, self.state[None, :], given, h)
            state, F = moved.states[0], moved.by_state[0]
            covariance, effect = F @ self.covariance @ F.T, moved.by_inputs[0]
        covariance = covariance + share * self.state_noise
        covariance += effect @ np.diag(self.input_noise**2) @ effect.T
        self.time += h
        self._keep(state, covariance)

    def _expected(self) -> tuple[Array, Array, Array]:
        """The expected measurement (r,), its covariance with the state (n, r), and its own."""
        if not self.is_unscented:
            values, derivatives = self.observed(self.time, self.state[None, :], self.command)
            H = derivatives[0]
            return values[0], self.covariance @ H.T, H @ self.covariance @ H.T
        points, weights = self._points()
        values, _ = self.observed(self.time, points, self.command)
        mean = weights @ values
        off, apart = points - self.state, values - mean
        return mean, off.T @ (weights[:, None] * apart), apart.T @ (weights[:, None] * apart)

    def _points(self) -> tuple[Array, Array]:
        """Points (2 d + 1, n) around the estimate on the constraints, with their weights."""
        values, vectors = np.linalg.eigh(0.5 * (self.covariance + self.covariance.T))
        kept = values > 1e-14 * max(float(values[-1]), 1e-300)
        offsets = (vectors[:, kept] * np.sqrt(POINTS * values[kept])).T
        d = len(offsets)
        points = np.concatenate([self.state[None, :], self.state + offsets, self.state - offsets])
        if self.model.is_constrained:
            points = np.array([self.model.on_constraints(self.time, own) for own in points])
        weights = np.full(2 * d + 1, 0.5 / POINTS)
        weights[0] = 1.0 - d / POINTS
        return points, weights

    def _keep(self, state: Array, covariance: Array) -> None:
        """Store an estimate on the constraints, and its covariance on their tangent space."""
        self.state = self.model.on_constraints(self.time, state)
        if self.model.is_constrained:
            basis = self.model.tangent_basis(self.time, self.state)
            projection = basis @ basis.T
            covariance = projection @ covariance @ projection
        self.covariance = 0.5 * (covariance + covariance.T)

    def law(self, law: Commands) -> FilteredLaw:
        """The law applied to the estimate, for ``sampled(filter.law(law), period, inputs=...)``."""
        return FilteredLaw(self, law)


class FilteredLaw:
    """A law of the estimated state: update, command, predict."""

    def __init__(self, estimator: KalmanFilter, law: Commands) -> None:
        self.filter, self.inner = estimator, law

    def fresh(self) -> FilteredLaw:
        """The law for another run."""
        inner: Any = self.inner
        return FilteredLaw(self.filter.fresh(), inner.fresh() if hasattr(inner, "fresh") else inner)

    @property
    def failures(self) -> int:
        """Samples at which the law found no plan; zero for laws that do not plan."""
        return int(getattr(self.inner, "failures", 0))

    def __call__(self, time: float, measured: dict[str, float]) -> Array:
        self.filter.time = time
        self.filter.update(measured)
        found: Any = self.inner(time, self.filter.estimate)
        names = self.filter.model.inputs
        if isinstance(found, Mapping):
            table = {name_of(key): float(value) for key, value in found.items()}
            found = [table[name] for name in names]
        command = np.atleast_1d(np.asarray(found, dtype=float))
        self.filter.predict(command)
        return command


def kalman_filter(
    model: System | Flow | Equations,
    period: float,
    measure: BySymbol[Expression] | Sequence[Expression],
    *,
    noise: Values,
    start: Values | None = None,
    spread: float | Values = 1.0,
    process: Values | None = None,
    parameters: Values | None = None,
    delay: float = 0.0,
    kind: str = "extended",
    form: str | None = None,
    substeps: int = 2,
) -> KalmanFilter:
    """Estimate the state of a model from sampled measurements, by a Kalman filter.

    Parameters
    ----------
    model : System, Flow or Equations
        With free inputs.
    period : float
    measure : sequence of symbols, or mapping of symbol to expression
        What is measured.
    noise : mapping of measured quantity to its standard deviation
    start : mapping of symbol to value
        The first estimate; zero, or moved onto the constraints, where it is left out.
    spread : float, or mapping of symbol to number
        Standard deviations of the first estimate.
    process : mapping of input or symbol of the state to its standard deviation
        Of inputs that are constant for a period, as the noise of `sampled` is; of a symbol of the
        state, what is added to it in a period.
    delay : float
        From a measurement to the effect of its command, at most a period.
    kind : "extended" or "unscented"
        Whether covariances move by derivatives or by points.
    substeps : int
        Steps of the Runge-Kutta method in a period.

    Returns
    -------
    KalmanFilter
        With methods `update`, `predict`, `law` and `fresh`.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    >>> seen = kalman_filter(mass, 0.05, [x], noise={x: 0.02}, process={u: 0.1})
    >>> loop = da.control.sampled(
    ...     seen.law(lambda t, y: -y["x"] - 1.5*y["x_dot"]), 0.05, inputs=[u], measure={x: x},
    ...     noise={x: 0.02, u: 0.1},
    ... )
    >>> motion = da.simulate(mass, {x: 1.0}, (0, 15), inputs=loop)
    >>> bool(abs(motion["x"][-1]) < 0.1)
    True
    """
    if kind not in ("extended", "unscented"):
        raise ModelError("A Kalman filter has a kind", repr(kind)[:40], 'pass kind="extended"')
    whole, late = real_number(period), real_number(delay)
    if not (whole > 0 and 0 <= late <= whole):
        raise ModelError(
            "The period must be positive, and the delay at most a period", f"{whole:g}, {late:g}",
            "lengthen the period",
        )  # fmt: skip
    discrete = DiscreteModel(model, parameters, form, substeps)
    found = KalmanFilter(discrete, measure, whole, late, kind == "unscented")
    deviations = numbers_by_name(noise)
    missing = [name for name in found.observed.names if not deviations.get(name, 0.0) > 0]
    if missing:
        raise ModelError(
            f"The noise of `{missing[0]}` must be positive", str(deviations)[:80],
            f"pass noise={{{missing[0]!r}: 0.01}}",
        )  # fmt: skip
    found.measured_covariance = np.diag([deviations[name] ** 2 for name in found.observed.names])
    own = numbers_by_name(process)
    discrete.check_names([name for name in own if name not in discrete.inputs], "process noise")
    found.input_noise = np.array([own.get(name, 0.0) for name in discrete.inputs])
    found.state_noise = np.diag([own.get(name, 0.0) ** 2 for name in discrete.names])
    if isinstance(spread, Mapping):
        table = numbers_by_name(spread)
        discrete.check_names(table, "spread")
        sizes = [table.get(name, 0.0) for name in discrete.names]
    else:
        sizes = [real_number(spread)] * len(discrete.names)
    found._keep(discrete.state_of(start, "start"), np.diag(np.square(sizes)))
    return found
