r"""Parameters and start values from measured data, with their uncertainty.

    minimise  sum_ij rho((h_j(y(t_i), p) - d_ij) / sigma_ij) + priors
        over the unknown entries of p and of the start

by Gauss and Newton's steps in a trust region, with the exact derivatives of `forward`. At the
minimum, with J the derivatives of the residuals r (N,) by the k unknowns,

    covariance = s^2 (J^T J)^-1,      s^2 = 1 where sigma is told, |r|^2 / (N - k) where it is not

(G. A. F. Seber, C. J. Wild: Nonlinear Regression, sections 2.1 and 5.1). Directions that the data
do not determine are found by the rank of J, and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

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
from ...typing import Array, BySymbol, Ranges, Symbol, Symbols, Values
from .data import Data, Measured, Sigma, read_data
from .fitted import Fit, fit_of
from .forward import carry
from .question import Question, name_of

if TYPE_CHECKING:
    from ...integrate.motion import Motion

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
        Times under ``t``; NaN where nothing was measured. The motion begins at the first time, or
        at that of ``span``.
    unknown : sequence of symbols or names
        Parameters, or coordinates, velocities and momenta at the start. The search begins at the
        values in `parameters` and `start`.
    observe : mapping of a name in the data to an expression or a name of the motion
    sigma : number, array, or mapping of names to these
        Standard deviations of the data; if not given, one for all values, which is estimated.
    bounds : mapping to (least, largest)
        Parameters that are declared positive stay positive.
    priors : mapping to (mean, standard deviation)
    loss : "linear", "soft_l1", "huber", "cauchy" or "arctan"
        The weight of residuals beyond `loss_scale` standard deviations; all but the first tolerate
        outliers.
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
    >>> times, values = np.linspace(0, 5, 30), {k: 4.0, c: 0.3}
    >>> truth = da.simulate(system, {x: 1.0}, (0, 5), parameters=values, at=times)
    >>> data, guess = {"t": truth.t, "x": truth["x"]}, {k: 3.0, c: 0.1}
    >>> found = da.analysis.fit(system, data, [k, c], {x: 1.0}, parameters=guess)
    >>> {name: round(value, 6) for name, value in found.parameters.items()}
    {'k': 4.0, 'c': 0.3}
    """
    from scipy.optimize import least_squares

    measured = read_data(data, observe, sigma)
    problem = _FitProblem(system, measured, unknown, start, parameters, priors, options)
    low, high = problem.limits(bounds)
    guess = problem.guess
    problem.check(low, high, loss, confidence)
    problem.at(guess)
    if problem.failure is not None:
        what = "The motion from the first guess does not reach the data"
        raise RunError(what, seen=problem.failure, remedy="begin elsewhere")
    result = least_squares(
        problem.residuals, guess, jac=problem.derivatives, bounds=(low, high), x_scale="jac",
        loss=loss, f_scale=loss_scale, xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=max_runs,
    )  # fmt: skip
    return fit_of(problem, result, confidence, loss != "linear")


@dataclass(frozen=True)
class _Trial:
    """Residuals (N,) and their derivatives (N, k) at some values of the unknowns."""

    values: Array
    residuals: Array
    derivatives: Array
    motion: Motion


class _FitProblem:
    """Residuals and derivatives as functions of the unknowns."""

    def __init__(
        self,
        system: System | Flow | Equations | Scenario,
        data: Data,
        unknown: Symbols,
        start: Values | None,
        parameters: Values | None,
        priors: Ranges | None,
        options: Mapping[str, Any],
    ) -> None:
        self.system, self.data, self.options = system, data, dict(options)
        if "at" in self.options or "events" in self.options:
            raise ModelError("The data tell the times of a fit", "at or events", "leave them out")
        scenario = system if isinstance(system, Scenario) else None
        self.start = _named(scenario.start if scenario else {}) | _named(start)
        self.values = _named(scenario.parameters if scenario else {}) | _named(parameters)
        one = isinstance(unknown, str) or not isinstance(unknown, Sequence)
        items = [unknown] if one else list(unknown)
        self.names = tuple(name_of(item) for item in items)
        if not self.names:
            raise ModelError("Nothing is unknown", remedy="pass unknown=[...]")
        model: Any = scenario.system if scenario else getattr(system, "system", system)
        self.symbols = {symbol.name: symbol for symbol in model.parameters}
        missing = [name for name in self.names if name not in {*self.values, *self.start}]
        if missing:
            where = "parameters" if missing[0] in self.symbols else "start"
            remedy = f"pass {where}={{{missing[0]!r}: ...}}"
            raise ModelError(f"The unknown `{missing[0]}` has no first guess", remedy=remedy)
        guesses = numbers_by_name({**self.start, **self.values})
        self.guess = np.array([guesses[name] for name in self.names])
        named = self._read("prior", priors).items()
        self.priors = [(self.names.index(name), *_prior(name, pair)) for name, pair in named]
        first, last = float(np.min(data.t)), float(np.max(data.t))
        self.span = tuple(self.options.pop("span", (first, last)))
        if not min(self.span) <= first <= last <= max(self.span):
            remedy = f"{first:g} to {last:g}"
            raise ModelError("The span must hold the times of the data", f"{self.span}", remedy)
        if len(self.span) != 2 or self.span[0] == self.span[1]:
            remedy = "pass span=(t0, t1)"
            raise ModelError("The data must reach beyond the start", f"{self.span}", remedy)
        self.failure: str | None = None
        self.runs = 0
        # Every trial takes the tolerances of a scenario; the equations are derived once.
        stated = scenario.simulate if scenario else {}
        own = [key for key in ("rtol", "atol") if key in stated and key not in self.options]
        self.tolerances = {key: stated[key] for key in own}
        self.equations: Equations | None = None
        self._last: _Trial | None = None

    def _read(self, what: str, table: BySymbol[Any] | None) -> dict[str, Any]:
        named = _named(table)
        strange = [name for name in named if name not in self.names]
        if strange:
            seen = ", ".join(self.names)
            raise ModelError(f"The {what} of `{strange[0]}` is not asked for", seen)
        return named

    def limits(self, bounds: Ranges | None) -> tuple[Array, Array]:
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
            remedy = "leave out what has no bound"
            raise ModelError("A bound must be (least, largest)", str(dict(named)), remedy)
        return low, high

    def check(self, low: Array, high: Array, loss: str, confidence: float) -> None:
        """Check the guess, the options and the number of data."""
        limits = zip(self.names, self.guess, low, high, strict=True)
        outside = [name for name, value, a, b in limits if not a < value < b]
        if outside:
            what = f"The first guess of `{outside[0]}` lies outside its bounds"
            raise ModelError(what, remedy="begin inside them")
        if loss not in ("linear", "soft_l1", "huber", "cauchy", "arctan"):
            raise ModelError(f"There is no loss `{loss}`", "linear, soft_l1, huber, cauchy, arctan")
        count = self.data.count + len(self.priors)
        if count < len(self.guess):
            what = "There are fewer data than unknowns"
            raise ModelError(what, seen=f"{count} values, {len(self.guess)} unknowns")
        if not 0 < confidence < 1:
            raise ModelError("The confidence must lie between 0 and 1", seen=confidence)

    def at(self, values: Array) -> _Trial | None:
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
            if self._last is not None and not motion.success:
                self.failure = motion.message
                return None
            question = Question(motion, list(self.names), start)
            found = carry(question, self.data.t)
            seen = found.values(self.data.quantities)
            derivatives = found.table(self.data.quantities)
        except RunError as error:
            self.failure = str(error)
            return None
        here, priors = self.data.measured, self.priors
        residuals = ((seen - self.data.values) / self.data.sigma)[here]
        by_unknowns = (derivatives / self.data.sigma[:, :, None])[here]
        rows, extra = np.zeros((len(priors), len(self.names))), np.zeros(len(priors))
        for k, (place, mean, spread) in enumerate(priors):
            rows[k, place], extra[k] = 1.0 / spread, (values[place] - mean) / spread
        self.failure, every = None, np.concatenate([residuals, extra])
        self._last = _Trial(np.array(values), every, np.vstack([by_unknowns, rows]), motion)
        return self._last

    def _motion(self, start: Mapping[str, float], parameters: Mapping[str, float]) -> Motion:
        if self.equations is None:
            p, options = parameters, self.options
            motion: Motion = simulate(self.system, start, self.span, parameters=p, **options)
            self.equations = motion.equations
            return motion
        known = {symbol.name for symbol in self.equations.system.parameters}
        values = {name: value for name, value in parameters.items() if name in known}
        options = {key: x for key, x in self.options.items() if key not in ("form", "inputs")}
        options |= self.tolerances
        found: Motion = simulate(self.equations, start, self.span, parameters=values, **options)
        return found

    def residuals(self, values: Array) -> Array:
        """Residuals for the search; very large where a trial cannot be simulated."""
        trial = self.at(values)
        if trial is None:
            return np.full(self.data.count + len(self.priors), HOPELESS)
        return trial.residuals

    def derivatives(self, values: Array) -> Array:
        """The derivatives at values that were accepted."""
        trial = self.at(values)
        if trial is None:
            raise RunError("The motion of the fit does not reach the data", seen=self.failure)
        return trial.derivatives


def _named(table: BySymbol[Any] | None) -> dict[str, Any]:
    return by_name(table, "mapping")


def _prior(name: str, pair: Sequence[float]) -> tuple[float, float]:
    try:
        mean, spread = (float(v) for v in pair)
    except (TypeError, ValueError):
        mean, spread = np.nan, np.nan
    if not (np.isfinite(mean) and spread > 0):
        what = f"The prior of `{name}` must be (mean, standard deviation)"
        raise ModelError(what, seen=str(pair)[:60])
    return mean, spread
