"""Indicators of chaos along one motion, or over a map of many."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ...integrate.ensemble.sweep import sweep
from ...integrate.options import MethodOptions
from ...typing import ArrayLike, BySymbol, Span, Values

if TYPE_CHECKING:
    from ...integrate.ensemble.ensemble import Ensemble
    from ...integrate.options import Model

__all__ = ["SweepKeywords", "chaos_indicators"]


class SweepKeywords(MethodOptions, total=False):
    """What else `sweep` is told of the runs; see there."""

    start: Values | None
    parameters: Values | None
    inputs: Values | None
    at: ArrayLike | None
    paired: bool
    sample: int | None
    store: Path | None
    resume: bool
    workers: int | None
    client: object
    scheduler: str | None
    chunk: int | None
    progress: Callable[[float, float], None] | None


def chaos_indicators(
    model: Model,
    over: BySymbol[ArrayLike] | None = None,
    indicators: str | Iterable[str] = ("exponent", "megno", "mean_megno"),
    *,
    span: Span | None = None,
    seed: int = 0,
    **options: Unpack[SweepKeywords],
) -> Ensemble:
    r"""Chaos indicators of a motion or of a map of motions, from deviations along them.

    A deviation obeys w' = f_y w, and on constraints it is tangent to them. Analytic systems are
    expanded into Taylor series with their deviations, many runs at a time; the others, such as
    those with switches, are followed one by one with method dop853.

    Parameters
    ----------
    model : System, Flow or Scenario
    over : mapping of symbol or name to values
        The axes of a map, as `sweep` takes them; one motion by default.
    indicators : names
        ``exponent``: log abs(w(T)) / T, which goes to the maximal Lyapunov exponent lambda; its
        error falls as log(T)/T. ``fli``: the fast Lyapunov indicator, the maximum of log abs(w).
        ``megno``: Y = 2/T int t d log abs(w), which goes to 2 for quasi-periodic motions and grows
        as lambda T in chaos. ``mean_megno``: its mean over time, which goes to 2, or grows as
        lambda T / 2. ``sali``: the smaller of abs(u_1 +- u_2) for two deviations of unit length,
        which goes to 0 in chaos. ``gali2``, ``gali3``, ...: the volume that so many span.
    span : pair of numbers
    seed : int
        Of the directions in which deviations begin.
    options : start, parameters, inputs, at, paired, sample, store, resume, workers, client,
        scheduler, chunk, progress, form, method, rtol, atol, ... of `sweep`

    Returns
    -------
    Ensemble
        With the indicators by name beside the states, at the times `at` (the last by default).

    Notes
    -----
    Indicators at a finite time suggest; they prove neither order nor chaos.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> system = da.System(
    ...     coordinates=[x, y],
    ...     kinetic=(x.dot**2 + y.dot**2) / 2,
    ...     potential=(x**2 + y**2) / 2 + x**2*y - y**3/3,
    ... )
    >>> found = da.analysis.chaos_indicators(
    ...     system, over={y: [0.1, 0.3]}, start={x.dot: 0.3}, span=(0, 1000)
    ... )
    >>> found["mean_megno"][:, -1].round().tolist()
    [2.0, 2.0]
    """
    return sweep(model, over or {}, indicators=indicators, span=span, seed=seed, **options)
