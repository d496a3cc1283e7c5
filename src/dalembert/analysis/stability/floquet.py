r"""Floquet multipliers: the linear motion about a periodic motion.

Deviations from a motion of period T obey w_dot = A(t) w, and after one period w(T) = M w(0) with
the monodromy matrix M on the tangent space of the constraints at the beginning. Its eigenvalues are
the multipliers: one outside the unit circle makes the motion unstable, all inside make it
asymptotically stable (Lyapunov's first method); on the circle the linear part decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import solve_ivp

from ...errors import FormError, ModelError, RunError
from ...formulations.equations import Equations
from ...model.scenario import Scenario
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Array, ComplexArray, Values
from ..tables import Report, Section
from .linear_field import LinearField
from .linearisation import field_of, written
from .steady_point import consistent_point, moved_values, shown_moves
from .tangent_space import ConstraintTangent, eigenvalues_with_errors

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

__all__ = ["Floquet", "floquet"]

#: Tolerance of the integration, accuracy of its result, and what a motion may miss its start by.
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
    point: Array
    period: float
    independent: tuple[str, ...]
    monodromy: Array
    multipliers: ComplexArray
    errors: Array
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
        pairs = zip(self.symbols, self.point, strict=True)
        at = ", ".join(f"{name} = {value:.6g}" for name, value in pairs)
        lines = [("at", at), *shown_moves(self.moved), ("period", f"{self.period:.9g}")]
        lines.append(("multipliers", written(self.multipliers)))
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
        Project the state, and move it to a periodic motion by Newton's method; see `moved`.

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
    >>> potential = (1 - 20 * cos(10 * da.t)) * cos(q)
    >>> energies = {"kinetic": q.dot**2 / 2, "potential": potential}
    >>> shaken = da.System([q], **energies, dissipation=q.dot**2 / 20)
    >>> da.analysis.floquet(shaken, 0.2*3.141592653589793).verdict
    'asymptotically stable'
    """
    if not (isinstance(period, int | float | np.number) and np.isfinite(period) and period > 0):
        remedy = "give the period of the equations"
        raise ModelError("A period is a positive number", str(period)[:40], remedy)
    asked = numbers_by_name(at)
    rates = field_of(model, parameters, asked)
    if not rates.is_timed:
        remedy = "use da.stability for equilibria and steady motions"
        raise FormError("The equations do not depend on time", remedy=remedy)
    point = consistent_point(rates, asked, polish)
    point, tangent, monodromy = _closed(rates, point, float(period), polish)
    doubt = np.full_like(monodromy, ACCURACY * float(np.max(np.abs(monodromy), initial=0.0)))
    multipliers, errors = eigenvalues_with_errors(monodromy, doubt)
    order = np.argsort(-np.abs(multipliers), kind="stable")
    multipliers, errors = multipliers[order], errors[order]
    verdict, theorem = _verdict(np.abs(multipliers) - 1, errors)
    if rates.has_switches and verdict != "not established":
        condition = "if the motion stays away from where |x|, Max or another operation switches"
        theorem = f"{verdict.capitalize()} {condition}: {theorem}"
        verdict = "not established"
    return Floquet(
        symbols=rates.names,
        point=point,
        period=float(period),
        independent=tuple(rates.names[k] for k in tangent.places),
        monodromy=monodromy,
        multipliers=multipliers,
        errors=errors,
        verdict=verdict,
        theorem=theorem,
        moved=moved_values(rates, point, asked),
    )


def _verdict(beyond: Array, errors: Array) -> tuple[str, str]:
    method = "Lyapunov's first method: "
    if np.any(beyond > errors):
        return "unstable", method + "a multiplier outside the unit circle."
    if np.all(beyond < -errors):
        return "asymptotically stable", method + "all multipliers are inside the unit circle."
    number = int(np.sum(beyond >= -errors))
    on_circle = f"{number} multipliers on the unit circle within their errors"
    return "not established", f"{on_circle}: the linear part decides nothing."


def _closed(
    rates: LinearField, start: Array, period: float, polish: bool
) -> tuple[Array, ConstraintTangent, Array]:
    """A periodic motion near a start: its beginning, tangent space and monodromy matrix."""
    point = start
    for _ in range(STEPS):
        tangent = ConstraintTangent(rates(point), point, rates)
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
        except np.linalg.LinAlgError:  # a multiplier of one: no step closes the orbit
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


def _integrated(rates: LinearField, point: Array, basis: Array, period: float) -> OptimizeResult:
    n, width = len(point), basis.shape[1]

    def derivative(time: float, both: Array) -> Array:
        value = rates(both[:n], time)
        return np.concatenate([value.rates, (value.matrix @ both[n:].reshape(n, width)).ravel()])

    start = np.concatenate([point, basis.ravel()])
    times = np.linspace(0.0, period, INSTANTS + 1)
    # No step is longer than the gap between two instants, so that short pulses are seen.
    motion = solve_ivp(
        derivative, (0.0, period), start, method="DOP853", t_eval=times, rtol=TOLERANCE,
        atol=TOLERANCE * 1e-2, max_step=period / INSTANTS,
    )  # fmt: skip
    if not motion.success:
        remedy = "choose another start"
        raise RunError("The motion does not reach the end of the period", motion.message, remedy)
    return motion


def _check_period(rates: LinearField, motion: OptimizeResult, period: float) -> None:
    """Refuse a period that the rates refute at some instant of the motion."""
    n = len(rates.names)
    for time, state in zip(motion.t, motion.y[:n].T, strict=True):
        now, later = rates(state, float(time)), rates(state, float(time) + period)
        apart = np.abs(now.rates - later.rates)
        turned = np.abs(now.matrix - later.matrix)
        large = 1e-9 * (1.0 + np.max(np.abs(now.matrix)) + np.max(now.sizes, initial=0.0))
        if max(float(np.max(apart)), float(np.max(turned))) > large:
            what = "The equations do not have this period"
            remedy = "give the period with which they depend on time"
            raise ModelError(what, f"other rates at t = {time:.6g} and one period later", remedy)
