"""The result of a fit: values, their uncertainty, and what the data leave open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...errors import ModelError
from ...integrate.motion import Motion
from ...model.read_only import ReadOnlyArrays
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, Symbol
from .data import Data
from .question import name_of

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

__all__ = ["Fit", "fit_of"]

#: Columns of derivatives with a relative part outside the others below this are not distinguished.
INDISTINCT = 1e-7
#: A relative effect on the residuals below this is rounding.
ROUNDING = 1e-9


class FitProblem(Protocol):
    """The problem that was solved: residuals and derivatives as functions of the unknowns."""

    names: tuple[str, ...]
    data: Data
    runs: int

    def at(self, values: Array) -> Any: ...


@dataclass(frozen=True, repr=False)
class Fit(ReadOnlyArrays):
    """The best values of k unknowns.

    Attributes
    ----------
    parameters : mapping of str to float
        The best value of each unknown, parameters and start values alike.
    uncertainty : mapping of str to float
        Standard errors; infinite for unknowns in an undetermined combination.
    intervals : mapping of str to (float, float)
        Confidence intervals by Student's distribution, at the level asked for.
    covariance, correlation : arrays (k, k)
    undetermined : tuple of mapping of str to float
        Combinations of changes of the unknowns that change no residual in the first order.
    warnings : tuple of str
        In sentences: what the data do not determine, where the search stopped early.
    converged : bool
    cost : float
        Half the sum of squares, or of the losses.
    scale : float
        s, the standard deviation of the residuals, relative to sigma if given, else in data units.
    residuals : array (nt, q)
        Motion minus data, in their units; NaN where nothing was measured.
    motion : Motion
        The best motion.
    data : Data
    runs : int
        How many motions were followed.
    """

    parameters: Mapping[str, float]
    uncertainty: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    covariance: Array
    correlation: Array
    undetermined: tuple[Mapping[str, float], ...]
    warnings: tuple[str, ...]
    converged: bool
    cost: float
    scale: float
    confidence: float
    residuals: Array = field(repr=False)
    motion: Motion = field(repr=False)
    data: Data = field(repr=False)
    runs: int = 0

    def __getitem__(self, key: Symbol) -> float:
        name = name_of(key)
        if name not in self.parameters:
            raise ModelError(f"`{name}` was not fitted", seen=", ".join(self.parameters))
        return self.parameters[name]

    def __repr__(self) -> str:
        names = self.parameters
        rows = (f"{x} = {names[x]:.6g} +- {self.uncertainty[x]:.2g}" for x in names)
        return f"<Fit of {self.motion.system.name}: {', '.join(rows)}>"

    def summary(self) -> str:
        """A table of values, errors, intervals and warnings as plain text."""
        level = f"{100 * self.confidence:g} %"
        width = max(len(name) for name in self.parameters)
        counts = f"{self.data.count} values, {len(self.parameters)} unknowns, {self.runs} motions"
        lines = [f"{self.motion.system.name}: {counts}"]
        for name, value in self.parameters.items():
            low, high = self.intervals[name]
            found = f"{value:.9g} +- {self.uncertainty[name]:.3g}"
            lines.append(f"  {name:{width}}  {found}   {level}: {low:.6g} to {high:.6g}")
        unit = "of sigma" if self.data.has_sigma else "in units of the data"
        lines.append(f"  scatter of the residuals: {self.scale:.4g} {unit}")
        names = list(self.parameters)
        for i, j in zip(*np.tril_indices(len(names), -1), strict=True):
            shared = self.correlation[i, j]
            if abs(shared) > 0.9:
                lines.append(f"  {names[j]} and {names[i]} are correlated: {shared:.4f}")
        return "\n".join([*lines, *(f"  {warning}" for warning in self.warnings)])

    def plot(self, **options: Any) -> Any:
        """Plot the data with the best motion, and the residuals (`plotting.fit_plots.plot_fit`)."""
        from ...plotting.studies.fit_plots import plot_fit

        return plot_fit(self, **options)


def fit_of(problem: FitProblem, result: OptimizeResult, confidence: float, robust: bool) -> Fit:
    """The record of a finished search, from SciPy's result."""
    from scipy.special import stdtrit

    trial = problem.at(result.x)
    data, names = problem.data, problem.names
    # SciPy's derivatives are those of the residuals as the loss weighs them.
    derivatives = np.asarray(result.jac) if robust else trial.derivatives
    open_combinations, inverse = _information(derivatives, names, trial.values)
    freedom = len(trial.residuals) - len(names) + len(open_combinations)
    weighted = 2 * float(result.cost)
    scale = float(np.sqrt(weighted / freedom)) if freedom > 0 else np.nan
    spread = 1.0 if data.has_sigma else scale
    covariance = spread**2 * inverse
    errors = np.sqrt(np.diag(covariance))
    factor = float(stdtrit(freedom, 0.5 + confidence / 2)) if freedom > 0 else np.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(errors, errors)
    warnings = [_sentence(combination) for combination in open_combinations]
    if result.status <= 0:
        warnings.append("The search stopped before it converged: raise max_runs, or begin nearer.")
    if freedom <= 0:
        warnings.append("There are no more data than unknowns: they tell nothing of the scatter.")
    warnings += [f"{names[c]} lies at its bound." for c in np.flatnonzero(result.active_mask)]
    residuals = np.full(data.values.shape, np.nan)
    residuals[data.measured] = trial.residuals[: data.count] * data.sigma[data.measured]
    best = {name: float(v) for name, v in zip(names, trial.values, strict=True)}
    wide = {name: factor * float(e) for name, e in zip(names, errors, strict=True)}
    return Fit(
        parameters=best,
        uncertainty={name: float(e) for name, e in zip(names, errors, strict=True)},
        intervals={name: (best[name] - wide[name], best[name] + wide[name]) for name in names},
        covariance=covariance,
        correlation=correlation,
        undetermined=tuple(open_combinations),
        warnings=tuple(warnings),
        converged=bool(result.status > 0),
        cost=float(result.cost),
        scale=scale,
        confidence=confidence,
        residuals=residuals,
        motion=trial.motion,
        data=data,
        runs=problem.runs,
    )


def _information(
    derivatives: Array, names: tuple[str, ...], values: Array
) -> tuple[list[dict[str, float]], Array]:
    """Unobserved combinations, and (J^T J)^-1 with infinite variance for what they contain."""
    k = len(names)
    triangle = np.linalg.qr(derivatives, mode="r")
    lengths = np.linalg.norm(triangle, axis=0)
    sizes = np.where(lengths > 0, lengths, 1.0)
    unit = triangle / sizes
    # Columns without any derivative are dependent: `rank` scales rows and would see rounding.
    weights = lengths * np.where(np.asarray(values) != 0, np.abs(values), 1.0)
    alive = [c for c in range(k) if weights[c] > ROUNDING * np.max(weights, initial=0.0)]
    found = rank(unit.T[alive], INDISTINCT) if alive else None
    kept = [alive[int(c)] for c in found.independent] if found is not None else []
    factor, small = np.linalg.qr(unit[:, kept])
    combinations, touched = [], set()
    for c in sorted(set(range(k)) - set(kept)):
        shares = np.zeros(len(kept))
        if kept and c in alive:
            shares = np.linalg.solve(small, factor.T @ unit[:, c])
        direction = {names[c]: 1.0}
        for j, share in zip(kept, shares, strict=True):
            if abs(share) > 10 * INDISTINCT:
                direction[names[j]] = float(-share * sizes[c] / sizes[j])
        combinations.append(direction)
        touched |= set(direction)
    inverse = np.zeros((k, k))
    if kept:
        root = np.linalg.solve(small, np.eye(len(kept))) / sizes[kept][:, None]
        inverse[np.ix_(kept, kept)] = root @ root.T
    for c, name in enumerate(names):
        if name in touched:
            inverse[c, :] = inverse[:, c] = np.nan
            inverse[c, c] = np.inf
    return combinations, inverse


def _sentence(combination: Mapping[str, float]) -> str:
    if len(combination) == 1:
        return f"The data do not determine {next(iter(combination))}."
    first, *rest = combination.items()
    others = ", ".join(f"{name} by {value:.4g}" for name, value in rest)
    effect = "leaves every residual as it is."
    return f"The data do not determine {first[0]} alone: changing it by 1 and {others} {effect}"
