r"""Parameters and start values from measured data, with what the data say about their uncertainty.

    minimise  sum_ij rho((h_j(y(t_i), p) - d_ij) / sigma_ij) + priors        over the unknown entries of p and of the start

by Gauss and Newton's steps in a trust region, with the exact derivatives of `forward`. At the minimum, with J the derivatives
of the residuals r (N,) by the k unknowns,

    covariance = s^2 (J^T J)^-1,      s^2 = 1 where sigma is told, |r|^2 / (N - k) where it is not

(G. A. F. Seber, C. J. Wild: Nonlinear Regression, sections 2.1 and 5.1). Directions that the data do not determine are found by
the rank of J, and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from ...errors import ModelError, RunError
from ...formulations.equations import Equations
from ...integrate.options import SpanOptions
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.scenario import Scenario
from ...model.symbols import by_name
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import BySymbol, Ranges, Symbol, Symbols, Values
from .data import Data, Measured, Sigma, read_data
from .fitted import Fit, fit_of
from .forward import carry
from .question import Question, name_of

__all__ = ["fit"]

#: Residuals of a trial that cannot be simulated: larger than any that can.
HOPELESS = 1e12


def fit(
    system: System | Flow | Equations | Scenario,
    data: Measured,
    unknown: Symbols,
    start: Values | None = None,
    *,
    parameters: Values | None = None,
    observe: BySymbol[Symbol] | None = None,
    sigma: Sigma | None = None,
    bounds: Ranges | None = None,
    priors: Ranges | None = None,
    loss: str = "linear",
    loss_scale: float = 1.0,
    confidence: float = 0.95,
    max_runs: int = 200,
    **options: Unpack[SpanOptions],
) -> Fit:
    """Estimate parameters and start values of a system from data.

    Parameters
    ----------
    system : System, Flow, Equations or Scenario
    data : Motion, xarray Dataset, DataFrame, or mapping of names to arrays
        Times under ``t``; NaN where nothing was measured. The motion begins at the first time, or where ``span`` says.
    unknown : sequence of symbols or names
        Parameters; or coordinates, velocities and momenta, which stand for their values at the start. The search begins at the
        values in `parameters` and `start`.
    observe : mapping of a name in the data to an expression or a name of the motion
    sigma : number, array, or mapping of names to these
        Standard deviations of the data. Where they are not told they are taken as one for all values, and estimated.
    bounds : mapping to (least, largest)
        Parameters that are declared positive stay positive.
    priors : mapping to (mean, standard deviation)
    loss : "linear", "soft_l1", "huber", "cauchy" or "arctan"
        How residuals beyond `loss_scale` standard deviations count; all but the first forgive outliers.
    confidence : float
        The level of the intervals.
    options
        Further ones of `simulate`.

    Returns
    -------
    Fit

    Raises
    ------
    ModelError
        For data and unknowns that do not fit the system.
    RunError
        Where the motion from the first guess cannot be followed to the last of the data.

    Examples
    --------
    >>> import dalembert as da, numpy as np
    >>> x = da.coordinates("x")
    >>> k, c = da.parameters("k c", positive=True)
    >>> system = da.System([x], kinetic=x.dot**2/2, potential=k/2*x**2, forces={x: -c*x.dot})
    >>> truth = da.simulate(system, {x: 1.0}, (0, 5), parameters={k: 4.0, c: 0.3}, at=np.linspace(0, 5, 30))
    >>> found = da.fit(system, {"t": truth.t, "x": truth["x"]}, [k, c], {x: 1.0}, parameters={k: 3.0, c: 0.1})
    >>> {name: round(value, 6) for name, value in found.parameters.items()}
    {'k': 4.0, 'c': 0.3}
    """
    from scipy.optimize import least_squares

    measured = read_data(data, observe, sigma)
    problem = _Problem(system, measured, unknown, start, parameters, priors, options)
    low, high = problem.limits(bounds)
    guess = problem.guess
    outside = [name for name, g, a, b in zip(problem.names, guess, low, high, strict=True) if not a < g < b]
    if outside:
        raise ModelError(f"The first guess of `{outside[0]}` lies outside its bounds", remedy="begin inside them")
    if loss not in ("linear", "soft_l1", "huber", "cauchy", "arctan"):
        raise ModelError(f"There is no loss `{loss}`", seen="linear, soft_l1, huber, cauchy, arctan")
    count = measured.count + len(problem.priors)
    if count < len(guess):
        raise ModelError("There are fewer data than unknowns", seen=f"{count} values, {len(guess)} unknowns")
    if not 0 < confidence < 1:
        raise ModelError("The confidence must lie between 0 and 1", seen=confidence)
    problem.at(guess)
    if problem.failure is not None:
        raise RunError(
            "The motion from the first guess does not reach the data", seen=problem.failure, remedy="begin elsewhere"
        )
    result = least_squares(
        problem.residuals, guess, jac=problem.derivatives, bounds=(low, high), x_scale="jac", loss=loss, f_scale=loss_scale,
        xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=max_runs,
    )  # fmt: skip
    return fit_of(problem, result, confidence, loss != "linear")


@dataclass(frozen=True)
class _Trial:
    """Residuals (N,) and their derivatives (N, k) at some values of the unknowns."""

    values: Any
    residuals: Any
    derivatives: Any
    motion: Any


class _Problem:
    """Residuals and derivatives as functions of the unknowns."""

    def __init__(
        self, system: Any, data: Data, unknown: Any, start: Any, parameters: Any, priors: Any, options: Mapping[str, Any]
    ) -> None:
        self.system, self.data, self.options = system, data, dict(options)
        if "at" in self.options or "events" in self.options:
            raise ModelError("The data tell the times of a fit", seen="at or events", remedy="leave them out")
        scenario = system if isinstance(system, Scenario) else None
        self.start = _named(scenario.start if scenario else {}) | _named(start)
        self.values = _named(scenario.parameters if scenario else {}) | _named(parameters)
        items = [unknown] if isinstance(unknown, str) or not isinstance(unknown, Sequence) else list(unknown)
        self.names = tuple(name_of(item) for item in items)
        if not self.names:
            raise ModelError("Nothing is unknown", remedy="pass unknown=[...]")
        model = scenario.system if scenario else getattr(system, "system", system)
        self.symbols = {symbol.name: symbol for symbol in model.parameters}
        missing = [name for name in self.names if name not in self.values and name not in self.start]
        if missing:
            where = "parameters" if missing[0] in self.symbols else "start"
            raise ModelError(f"The unknown `{missing[0]}` has no first guess", remedy=f"pass {where}={{{missing[0]!r}: ...}}")
        guesses = numbers_by_name({**self.start, **self.values})
        self.guess = np.array([guesses[name] for name in self.names])
        self.priors = [(self.names.index(name), *_prior(name, pair)) for name, pair in self._read("prior", priors).items()]
        first, last = float(np.min(data.t)), float(np.max(data.t))
        self.span = tuple(self.options.pop("span", (first, last)))
        if not min(self.span) <= first <= last <= max(self.span):
            raise ModelError("The span must hold the times of the data", seen=f"{self.span}", remedy=f"{first:g} to {last:g}")
        if len(self.span) != 2 or self.span[0] == self.span[1]:
            raise ModelError("The data must reach beyond the start", seen=f"{self.span}", remedy="pass span=(t0, t1)")
        self.failure: str | None = None
        self.runs = 0
        # Tolerances that a scenario states speak of every trial; the equations are derived for the first alone.
        stated = scenario.simulate if scenario else {}
        self.tolerances = {key: stated[key] for key in ("rtol", "atol") if key in stated and key not in self.options}
        self.equations: Any = None
        self._last: _Trial | None = None

    def _read(self, what: str, table: Any) -> dict[str, Any]:
        named = _named(table)
        strange = [name for name in named if name not in self.names]
        if strange:
            raise ModelError(f"The {what} of `{strange[0]}` is not asked for", seen=", ".join(self.names))
        return named

    def limits(self, bounds: Any) -> tuple[Any, Any]:
        """Least and largest values, (k,) each."""
        named = self._read("bound", bounds)
        low, high = np.full(len(self.names), -np.inf), np.full(len(self.names), np.inf)
        for c, name in enumerate(self.names):
            if name in named:
                try:
                    low[c], high[c] = (float(v) for v in named[name])
                except (TypeError, ValueError):
                    low[c] = high[c] = np.nan
            elif name in self.symbols and self.symbols[name].is_positive:
                low[c] = 0.0
        if not np.all(low < high):
            raise ModelError("A bound must be (least, largest)", seen=str(dict(named)), remedy="leave out what has no bound")
        return low, high

    def at(self, values: Any) -> _Trial | None:
        """A trial, or None where it cannot be simulated."""
        if self._last is not None and np.array_equal(self._last.values, values):
            return self._last
        table = dict(zip(self.names, (float(v) for v in values), strict=True))
        start, parameters = {**self.start}, {**self.values}
        for name, value in table.items():
            (parameters if name in self.symbols else start)[name] = value
        self.runs += 1
        try:
            motion = self._motion(start, parameters)
            question = Question(motion, list(self.names), start)
            found = carry(question, self.data.t)
            seen, derivatives = found.values(self.data.quantities), found.table(self.data.quantities)
        except RunError as error:
            self.failure = str(error)
            return None
        except ModelError as error:
            if self._last is None or "did not reach its end" not in str(error):
                raise
            self.failure = str(error)
            return None
        here = self.data.measured
        residuals = ((seen - self.data.values) / self.data.sigma)[here]
        table_of_derivatives = (derivatives / self.data.sigma[:, :, None])[here]
        rows = np.zeros((len(self.priors), len(self.names)))
        extra = np.zeros(len(self.priors))
        for k, (place, mean, spread) in enumerate(self.priors):
            rows[k, place], extra[k] = 1.0 / spread, (values[place] - mean) / spread
        self.failure = None
        self._last = _Trial(
            np.array(values), np.concatenate([residuals, extra]), np.vstack([table_of_derivatives, rows]), motion
        )
        return self._last

    def _motion(self, start: Mapping[str, float], parameters: Mapping[str, float]) -> Any:
        if self.equations is None:
            motion = simulate(self.system, start, self.span, parameters=parameters, **self.options)
            self.equations = motion.equations
            return motion
        known = {symbol.name for symbol in self.equations.system.parameters}
        values = {name: value for name, value in parameters.items() if name in known}
        options = {key: value for key, value in self.options.items() if key not in ("form", "inputs")} | self.tolerances
        return simulate(self.equations, start, self.span, parameters=values, **options)

    def residuals(self, values: Any) -> Any:
        """For the search; hopeless where a trial cannot be simulated, so that its step is shortened."""
        trial = self.at(values)
        return np.full(self.data.count + len(self.priors), HOPELESS) if trial is None else trial.residuals

    def derivatives(self, values: Any) -> Any:
        """The derivatives at values that were accepted."""
        trial = self.at(values)
        if trial is None:
            raise RunError("The motion of the fit does not reach the data", seen=self.failure)
        return trial.derivatives


def _named(table: Any) -> dict[str, Any]:
    return by_name(table, "mapping")


def _prior(name: str, pair: Any) -> tuple[float, float]:
    try:
        mean, spread = (float(v) for v in pair)
    except (TypeError, ValueError):
        mean, spread = np.nan, np.nan
    if not (np.isfinite(mean) and spread > 0):
        raise ModelError(f"The prior of `{name}` must be (mean, standard deviation)", seen=str(pair)[:60])
    return mean, spread
