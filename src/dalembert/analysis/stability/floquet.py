r"""Floquet multipliers: the linear motion about a periodic motion of equations that are periodic in time.

Deviations from a motion of period T obey w_dot = A(t) w, and after one period w(T) = M w(0) with the
monodromy matrix M on the tangent space of the constraints at the beginning. Its eigenvalues are the
multipliers: one outside the unit circle makes the motion unstable, all inside make it asymptotically
stable (Lyapunov's first method); on the circle the linear part decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ...errors import FormError, ModelError, RunError
from ...formulations.equations import Equations
from ...model.scenario import Scenario
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Values
from ..tables import Report, Section
from .linear_field import LinearField
from .linearisation import field_of
from .steady_point import consistent_point, moved_values, shown_moves
from .tangent_space import Tangent, eigenvalues_with_errors

__all__ = ["Floquet", "floquet"]

#: Relative tolerance of the integration; what its result may be off by; what a motion may miss its beginning by.
TOLERANCE, ACCURACY, CLOSED = 1e-12, 1e-9, 1e-8
#: Instants at which the rates are compared with those one period later.
INSTANTS = 32
#: The most steps of Newton's method towards a periodic motion.
STEPS = 12


@dataclass(frozen=True, repr=False)
class Floquet(Report):
    """A periodic motion and its multipliers.

    Attributes
    ----------
    symbols : tuple of str (n,)
    point : array (n,)
        The state at the beginning of the period.
    period : float
    independent : tuple of str (d,)
        The variables whose deviations the monodromy matrix maps.
    monodromy : array (d, d)
    multipliers : array of complex (d,)
        By modulus, largest first.
    errors : array (d,)
        Estimates of their errors, from the tolerance of the integration.
    moved : dict of name to (float or None, float)
        As in `Linearisation`.
    verdict : "unstable", "asymptotically stable" or "not established"
    theorem : str
    """

    symbols: tuple[str, ...]
    point: Any
    period: float
    independent: tuple[str, ...]
    monodromy: Any
    multipliers: Any
    errors: Any
    verdict: str
    theorem: str
    moved: dict[str, tuple[float | None, float]] = field(default_factory=dict)

    @property
    def exponents(self) -> Any:
        """log(multiplier) / T, (d,)."""
        return np.log(self.multipliers.astype(complex)) / self.period

    def _title(self) -> str:
        return "Floquet"

    def _sections(self) -> list[Section]:
        at = ", ".join(f"{name} = {value:.6g}" for name, value in zip(self.symbols, self.point, strict=True))
        values = ", ".join(f"{v.real:.6g}{v.imag:+.6g}i" if v.imag else f"{v.real:.6g}" for v in self.multipliers)
        lines = [("at", at), *shown_moves(self.moved), ("period", f"{self.period:.9g}"), ("multipliers", values)]
        return [("Periodic motion", lines), ("Verdict", [(self.verdict, self.theorem)])]


def floquet(
    model: Equations | System | Scenario,
    period: float,
    at: Values | None = None,
    parameters: Values | None = None,
    polish: bool = True,
) -> Floquet:
    """The multipliers of a periodic motion of equations that depend on time with that period.

    Parameters
    ----------
    period : float
    at : mapping of variable to value
        The state at t = 0. What is left out is zero, or what the constraints make of it.
    polish : bool
        Move the state to the constraints, and to a periodic motion by Newton's method; `moved` reports what changed.

    Raises
    ------
    ModelError
        Where the equations do not have this period.
    FormError
        Where they do not depend on time (see `stability`).
    RunError
        Where no periodic motion is found.

    Examples
    --------
    A pendulum whose support shakes fast enough stands upside down:

    >>> import dalembert as da
    >>> from sympy import cos
    >>> q = da.coordinates("q")
    >>> shaken = da.System([q], kinetic=q.dot**2/2, potential=(1 - 20*cos(10*da.t))*cos(q), dissipation=q.dot**2/20)
    >>> da.analysis.floquet(shaken, 0.2*3.141592653589793).verdict
    'asymptotically stable'
    """
    if not (isinstance(period, int | float | np.number) and np.isfinite(period) and period > 0):
        raise ModelError("A period is a positive number", seen=str(period)[:40], remedy="give the period of the equations")
    asked = numbers_by_name(at)
    rates = field_of(model, parameters, asked)
    if not rates.is_timed:
        raise FormError("The equations do not depend on time", remedy="use da.stability for equilibria and steady motions")
    point = consistent_point(rates, asked, polish)
    point, tangent, monodromy = _closed(rates, point, float(period), polish)
    doubt = np.full_like(monodromy, ACCURACY * float(np.max(np.abs(monodromy), initial=0.0)))
    multipliers, errors = eigenvalues_with_errors(monodromy, doubt)
    order = np.argsort(-np.abs(multipliers), kind="stable")
    multipliers, errors = multipliers[order], errors[order]
    independent = tuple(rates.names[k] for k in tangent.places)
    moved = moved_values(rates, point, asked)
    verdict, theorem = _verdict(np.abs(multipliers) - 1, errors)
    if rates.has_switches and verdict != "not established":
        theorem = (
            f"{verdict.capitalize()} if the motion stays away from where |x|, Max or another operation switches: {theorem}"
        )
        verdict = "not established"
    return Floquet(rates.names, point, float(period), independent, monodromy, multipliers, errors, verdict, theorem, moved)


def _verdict(beyond: Any, errors: Any) -> tuple[str, str]:
    method = "Lyapunov's first method: "
    if np.any(beyond > errors):
        return "unstable", method + "a multiplier outside the unit circle."
    if np.all(beyond < -errors):
        return "asymptotically stable", method + "all multipliers are inside the unit circle."
    number = int(np.sum(beyond >= -errors))
    return "not established", f"{number} multipliers on the unit circle within their errors: the linear part decides nothing."


def _closed(rates: LinearField, start: Any, period: float, polish: bool) -> tuple[Any, Tangent, Any]:
    """A periodic motion near a start: its beginning, the tangent space there, the monodromy matrix on it."""
    point = start
    for _ in range(STEPS):
        tangent = Tangent(rates(point), point, rates)
        motion = _integrated(rates, point, tangent.basis, period)
        end, images = motion.y[: len(point), -1], motion.y[len(point) :, -1].reshape(len(point), -1)
        _check_period(rates, motion, period)
        monodromy = images[tangent.places]
        scale = 1.0 + float(np.max(np.abs(motion.y[: len(point)])))
        missed = end - point
        if np.max(np.abs(missed), initial=0.0) <= CLOSED * scale:
            return point, tangent, monodromy
        if not polish:
            break
        try:
            step = np.linalg.solve(np.eye(len(monodromy)) - monodromy, missed[tangent.places])
        except np.linalg.LinAlgError:
            break
        point = point + tangent.basis @ step
        rates.kernel.plain_context(rates.values).project(0.0, point)
        if not np.all(np.isfinite(point)):
            break
    raise RunError(
        "The motion is not periodic",
        seen=f"after one period it is off its beginning by {np.max(np.abs(missed)):.3g}",
        remedy="start nearer to a periodic motion" + ("" if polish else ", or pass polish=True"),
    )


def _integrated(rates: LinearField, point: Any, basis: Any, period: float) -> Any:
    n, width = len(point), basis.shape[1]

    def derivative(time: float, both: Any) -> Any:
        value = rates(both[:n], time)
        return np.concatenate([value.rates, (value.matrix @ both[n:].reshape(n, width)).ravel()])

    start = np.concatenate([point, basis.ravel()])
    times = np.linspace(0.0, period, INSTANTS + 1)
    # No step is longer than the gap between two instants, so that short pulses are seen.
    motion = solve_ivp(
        derivative, (0.0, period), start, method="DOP853", t_eval=times, rtol=TOLERANCE, atol=TOLERANCE * 1e-2,
        max_step=period / INSTANTS,
    )  # fmt: skip
    if not motion.success:
        raise RunError("The motion does not reach the end of the period", seen=motion.message, remedy="choose another start")
    return motion


def _check_period(rates: LinearField, motion: Any, period: float) -> None:
    """Refuse a period that the rates refute at some instant of the motion."""
    n = len(rates.names)
    for time, state in zip(motion.t, motion.y[:n].T, strict=True):
        now, later = rates(state, float(time)), rates(state, float(time) + period)
        apart = np.abs(now.rates - later.rates)
        turned = np.abs(now.matrix - later.matrix)
        large = 1e-9 * (1.0 + np.max(np.abs(now.matrix)) + np.max(now.sizes, initial=0.0))
        if max(float(np.max(apart)), float(np.max(turned))) > large:
            raise ModelError(
                "The equations do not have this period",
                seen=f"other rates at t = {time:.6g} and one period later",
                remedy="give the period with which they depend on time",
            )
