r"""Lyapunov exponents by Benettin's method, on the constraints.

    S_dot = f_y S,      S(t_j) = Q_j R_j,      lambda_i = lim 1/T sum_j log |R_j,ii|

Directions begin in the tangent space of the constraints, which the derivative of the motion's steps
keeps, and are made orthonormal again and again (G. Benettin, L. Galgani, A. Giorgilli, J.-M.
Strelcyn: Lyapunov characteristic exponents, Meccanica 15 (1980), part 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Unpack

import numpy as np

from ...errors import ModelError
from ...formulations.equations import Equations
from ...integrate.motion import Motion
from ...integrate.options import SimulateOptions
from ...integrate.sensitivity.deviations import tangent_basis
from ...model.flow_system import Flow
from ...model.read_only import ReadOnlyArrays
from ...model.scenario import Scenario
from ...model.system import System
from ...typing import Array, Span, Start
from .question import Question, ask

__all__ = ["Lyapunov", "lyapunov"]

#: Into how many stretches a run is cut to tell how uncertain its average is.
BLOCKS = 20


@dataclass(frozen=True, repr=False)
class Lyapunov(ReadOnlyArrays):
    """Lyapunov exponents of a motion, the largest first.

    Attributes
    ----------
    exponents : array (k,)
    uncertainty : array (k,)
        Standard errors, from the scatter of averages over stretches of the run.
    dimension : int
        Of the constraint manifold in the space of states: the number of all exponents.
    t : array (nh,)
    history : array (nh, k)
        The averages up to each time.
    motion : Motion
    """

    exponents: Array
    uncertainty: Array
    dimension: int
    t: Array = field(repr=False)
    history: Array = field(repr=False)
    motion: Motion = field(repr=False)

    @property
    def sum(self) -> float:
        """The mean growth rate of volumes; the mean divergence where all are followed."""
        return float(np.sum(self.exponents))

    @property
    def kaplan_yorke(self) -> float:
        """The dimension j + (lambda_1 + ... + lambda_j) / |lambda_j+1|, last j with a sum >= 0.

        Raises
        ------
        ModelError
            Where the sum of the followed exponents stays positive although there are more.
        """
        sums = np.cumsum(self.exponents)
        below = np.flatnonzero(sums < 0)
        if not below.size:
            if len(self.exponents) < self.dimension:
                what = "More exponents are needed"
                raise ModelError(what, f"{len(self.exponents)} of {self.dimension}", "raise count")
            return float(self.dimension)
        j = int(below[0])
        return 0.0 if j == 0 else float(j + sums[j - 1] / abs(self.exponents[j]))

    def __repr__(self) -> str:
        pairs = zip(self.exponents, self.uncertainty, strict=True)
        rows = ", ".join(f"{value:.4g} +- {error:.1g}" for value, error in pairs)
        return f"<Lyapunov exponents of {self.motion.system.name}: {rows}>"


def lyapunov(
    model: System | Flow | Equations | Scenario | Motion,
    start: Start | None = None,
    span: Span | None = None,
    *,
    count: int | None = None,
    interval: float | None = None,
    transient: float = 0.0,
    seed: int = 0,
    **options: Unpack[SimulateOptions],
) -> Lyapunov:
    """The Lyapunov exponents of a motion.

    Parameters
    ----------
    model : System, Flow, Equations, Scenario or Motion
    start, span, options
        As `simulate` takes them, where `model` is not a motion yet.
    count : int
        How many, from the largest on; by default all (the dimension of the constraint manifold).
    interval : float
        The time between factorisations, 1/1000 of the span by default, but no less than a step.
    transient : float
        For how long the directions turn before averages begin.
    seed : int
        Of the random directions that are followed.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> saddle = da.Flow({x: x, y: -2*y}, name="Saddle")
    >>> found = da.analysis.lyapunov(saddle, {y: 1.0}, (0, 20), transient=10.0)
    >>> found.exponents.round(6).tolist()
    [1.0, -2.0]
    """
    question = ask(model, (), start, span, () if isinstance(model, Motion) else None, options)
    motion = question.motion
    if question.sign < 0 or motion.t[-1] == motion.t[0]:
        what = "Lyapunov exponents look forward in time"
        raise ModelError(what, seen=f"{motion.t[0]:g} to {motion.t[-1]:g}")
    if len({segment.mode for segment in motion.segments}) > 1:
        what = "Lyapunov exponents are those of a motion without changes of contacts"
        raise ModelError(what, f"{len(motion.modes)} changes", "end the span before the first")
    basis = _directions(question, seed)
    dimension = len(basis)
    wanted = dimension if count is None else int(count)
    if not 1 <= wanted <= dimension:
        remedy = "ask for 1 to that many"
        raise ModelError(f"There are {dimension} exponents", f"count = {count}", remedy)
    length = float(motion.segments[-1].step_t[-1] - motion.segments[0].step_t[0])
    pause = length / 1000 if interval is None else float(interval)
    if not (0 < pause <= length / 2 and 0 <= transient < length - pause):
        what = "The interval and the transient must fit the span several times"
        seen = f"interval {pause:g}, transient {transient:g}, span {length:g}"
        raise ModelError(what, seen, "follow the motion longer")
    began = float(motion.segments[0].step_t[0]) + transient
    times, growth, last = [], [], None
    for time, logarithms in _stretches(question, basis[:wanted], pause):
        if last is not None and last >= began:
            times.append((last, time))
            growth.append(logarithms)
        last = time
    return _averaged(question, dimension, np.array(times), np.array(growth))


def _directions(question: Question, seed: int) -> Array:
    """Orthonormal random admissible directions at the start, (dimension, n_state)."""
    basis = tangent_basis(question.runs[0])
    random = np.random.default_rng(seed)
    turn = np.linalg.qr(random.normal(size=(basis.shape[1], basis.shape[1])))[0]
    return np.ascontiguousarray((basis @ turn).T)


def _stretches(question: Question, columns: Array, pause: float) -> Iterator[tuple[float, Array]]:
    """Ends of the stretches between factorisations, and logarithms of the growth in each."""
    yield float(question.runs[0].times[0]), np.zeros(len(columns))
    for number, run in enumerate(question.runs):
        run.refine(known=False)
        place = 0
        while place < run.steps:
            target = (run.times[place] + pause) * (1 - 1e-15)
            until = min(max(int(np.searchsorted(run.times, target)), place + 1), run.steps)
            _, _, columns = run.tangents(columns, np.zeros(0), place, until)
            factor, triangle = np.linalg.qr(columns.T)
            columns, place = np.ascontiguousarray(factor.T), until
            yield float(run.times[until]), np.log(np.abs(np.diag(triangle)))
        if number + 1 < len(question.runs):
            columns = question.across(number, columns, np.zeros((len(columns), 0)))


def _averaged(question: Question, dimension: int, times: Array, growth: Array) -> Lyapunov:
    if len(times) < 2 * BLOCKS:
        what = "There are too few stretches for an average"
        remedy = "follow the motion longer, or shorten the interval"
        raise ModelError(what, f"{len(times)} of at least {2 * BLOCKS}", remedy)
    elapsed = times[:, 1] - times[0, 0]
    totals = np.cumsum(growth, axis=0)
    exponents = totals[-1] / elapsed[-1]
    cuts = np.searchsorted(elapsed, np.linspace(0.0, elapsed[-1], BLOCKS + 1)[1:-1]) + 1
    pieces = zip(np.split(growth, cuts), np.split(times, cuts), strict=True)
    means = np.array([g.sum(axis=0) / (s[-1, 1] - s[0, 0]) for g, s in pieces if len(g)])
    error = np.std(means, axis=0, ddof=1) / np.sqrt(len(means))
    order = np.argsort(-exponents, kind="stable")
    history = (totals / elapsed[:, None])[:, order]
    ends, motion = times[:, 1], question.motion
    return Lyapunov(exponents[order], error[order], dimension, ends, history, motion)
