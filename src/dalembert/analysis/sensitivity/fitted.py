"""What a fit found: values, their uncertainty, and what the data leave open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ModelError
from ...integrate.motion import Motion
from ...model.read_only import freeze_arrays
from ...runtime.gauss.constrained_solve import rank
from .data import Data
from .question import name_of

__all__ = ["Fit", "fit_of"]

#: A column of derivatives whose part outside the others is relatively smaller than this is not told apart by the data.
INDISTINCT = 1e-7
#: What a whole change of an unknown does to the residuals, relative to what others do, that is no more than rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Fit:
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
        s, the standard deviation of the residuals: in units of the data where no sigma was told, relative to sigma otherwise.
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
    covariance: Any
    correlation: Any
    undetermined: tuple[Mapping[str, float], ...]
    warnings: tuple[str, ...]
    converged: bool
    cost: float
    scale: float
    confidence: float
    residuals: Any = field(repr=False)
    motion: Motion = field(repr=False)
    data: Data = field(repr=False)
    runs: int = 0

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __getitem__(self, key: Any) -> float:
        name = name_of(key)
        if name not in self.parameters:
            raise ModelError(f"`{name}` was not fitted", seen=", ".join(self.parameters))
        return self.parameters[name]

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} = {value:.6g} +- {self.uncertainty[name]:.2g}" for name, value in self.parameters.items())
        return f"<Fit of {self.motion.system.name}: {rows}>"

    def summary(self) -> str:
        """A table of values, errors and intervals, and what else is to be known, as plain text."""
        level = f"{100 * self.confidence:g} %"
        width = max(len(name) for name in self.parameters)
        lines = [f"{self.motion.system.name}: {self.data.count} values, {len(self.parameters)} unknowns, {self.runs} motions"]
        for name, value in self.parameters.items():
            low, high = self.intervals[name]
            lines.append(f"  {name:{width}}  {value:.9g} +- {self.uncertainty[name]:.3g}   {level}: {low:.6g} to {high:.6g}")
        unit = "of sigma" if self.data.has_sigma else "in units of the data"
        lines.append(f"  scatter of the residuals: {self.scale:.4g} {unit}")
        names = list(self.parameters)
        for i in range(len(names)):
            for j in range(i):
                if abs(self.correlation[i, j]) > 0.9:
                    lines.append(f"  {names[j]} and {names[i]} are correlated: {self.correlation[i, j]:.4f}")
        return "\n".join([*lines, *(f"  {warning}" for warning in self.warnings)])

    def plot(self, **options: Any) -> Any:
        """The data on the best motion, and the residuals; see `dalembert.plotting.fit_plots.plot_fit`."""
        from ...plotting.fit_plots import plot_fit

        return plot_fit(self, **options)


def fit_of(problem: Any, result: Any, confidence: float, robust: bool) -> Fit:
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
    return Fit(
        parameters=best,
        uncertainty={name: float(e) for name, e in zip(names, errors, strict=True)},
        intervals={n: (best[n] - factor * float(e), best[n] + factor * float(e)) for n, e in zip(names, errors, strict=True)},
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


def _information(derivatives: Any, names: tuple[str, ...], values: Any) -> tuple[list[dict[str, float]], Any]:
    """Combinations that the residuals do not see, and (J^T J)^-1 with infinite variance for what stands in them."""
    k = len(names)
    triangle = np.linalg.qr(derivatives, mode="r")
    lengths = np.linalg.norm(triangle, axis=0)
    sizes = np.where(lengths > 0, lengths, 1.0)
    unit = triangle / sizes
    # Columns without any derivative are dependent in themselves; `rank` scales rows and would take rounding for a direction.
    weights = lengths * np.where(np.asarray(values) != 0, np.abs(values), 1.0)
    alive = [c for c in range(k) if weights[c] > ROUNDING * np.max(weights, initial=0.0)]
    found = rank(unit.T[alive], INDISTINCT) if alive else None
    kept = [alive[int(c)] for c in found.independent] if found is not None else []
    factor, small = np.linalg.qr(unit[:, kept])
    combinations, touched = [], set()
    for c in sorted(set(range(k)) - set(kept)):
        shares = np.linalg.solve(small, factor.T @ unit[:, c]) if kept and c in alive else np.zeros(len(kept))
        direction = {names[c]: 1.0}
        direction |= {
            names[j]: float(-share * sizes[c] / sizes[j])
            for j, share in zip(kept, shares, strict=True)
            if abs(share) > 10 * INDISTINCT
        }
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
    return f"The data do not determine {first[0]} alone: changing it by 1 and {others} leaves every residual as it is."
