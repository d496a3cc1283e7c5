r"""Stability of equilibria and steady motions: linearised spectrum and second variation.

Everything here is on the tangent space of the constraints, and modulo the symmetry that carries a
steady motion (`linearise`). The conclusions rest on four theorems, and the verdict names its own:

- Lyapunov's first method: an eigenvalue in the right half plane makes the motion unstable; all in
  the left one, asymptotically stable.
- Lyapunov and Malkin: k zero eigenvalues, k identities a_i(y) . F(y) = 0 with independent a_i, and
  all other eigenvalues in the left half plane: the equilibria nearby are a manifold of dimension k,
  y* is stable, and each nearby motion tends to an equilibrium near y* (not always y* itself). Such
  identities are first integrals, constraints on velocities, and rates that vanish with velocities.
- Lagrange and Dirichlet: where the energy is conserved and its second variation on the constraints
  is definite, y* is stable; with the momenta of cyclic coordinates, a steady motion is (Routh).
- Energy and Casimirs: where some H + Phi(C) has a definite second variation at y*, y* is stable.

An eigenvalue lies to one side of the imaginary axis where its real part is larger than the bound of
its rounding error. Where no theorem decides, the verdict is "not established".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import RunError
from ...formulations.equations import Equations
from ...geometry.actions import GroupAction
from ...model.scenario import Scenario
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank, solve
from ...typing import Array, ArrayLike, Fields, Symbols, Values
from ..tables import Report, Section
from .linearisation import Linearisation, LinearMotion, LinearPoint, linearise, linearise_along
from .steady_integrals import SteadyIntegrals

__all__ = ["LinearMotion", "Linearisation", "SecondVariation", "Stability", "linearise"]
__all__ += ["linearise_along", "second_variation", "stability"]

FIRST_METHOD = "Lyapunov's first method: "


@dataclass(frozen=True, repr=False)
class Stability(Report):
    """What is known of an equilibrium or a steady motion.

    Attributes
    ----------
    verdict : "unstable", "asymptotically stable", "stable" or "not established"
        Modulo the directions in ``linearisation.symmetry``.
    theorem : str
        What the verdict rests on, or why there is none.
    linearisation : Linearisation
        With the point, and what of it was moved.
    neutral : int
        The number of eigenvalues that are zero within their errors.
    manifold : bool or None
        True where they are proved to belong to a manifold of equilibria of that dimension.
    """

    verdict: str
    theorem: str
    linearisation: Linearisation
    neutral: int
    manifold: bool | None

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain data."""
        line = self.linearisation
        return {
            "verdict": self.verdict,
            "theorem": self.theorem,
            "eigenvalues": [[float(v.real), float(v.imag)] for v in line.eigenvalues],
            "errors": [float(e) for e in line.errors],
            "neutral": self.neutral,
            "manifold": self.manifold,
            "moved": {name: list(pair) for name, pair in line.moved.items()},
            "steady": dict(line.steady),
            "symmetry": list(line.symmetry),
        }

    def _title(self) -> str:
        return "Stability"

    def _sections(self) -> list[Section]:
        return [*self.linearisation._sections(), ("Verdict", [(self.verdict, self.theorem)])]


def stability(
    model: Equations | System | Scenario,
    at: Values | None = None,
    parameters: Values | None = None,
    polish: bool = True,
    symmetry: Symbols | Fields | GroupAction | None = None,
) -> Stability:
    """Whether an equilibrium or a steady motion is stable, and by which theorem.

    Parameters
    ----------
    model : Equations, System or Scenario
    at, parameters, polish, symmetry
        As for `linearise`. What was moved is in ``linearisation.moved``, and printed.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos
    >>> q = da.coordinates("q")
    >>> pendulum = da.System([q], kinetic=q.dot**2/2, potential=-cos(q), dissipation=q.dot**2/5)
    >>> stability(pendulum, {q: 0.01}).verdict, stability(pendulum, {q: 3.1}).verdict
    ('asymptotically stable', 'unstable')
    """
    return judged(LinearPoint(model, at, parameters, polish, symmetry))


def judged(point: LinearPoint) -> Stability:
    """The verdict on a steady point; not established where its grounds are not proved."""
    line = point.linearisation()
    found = _spectral(point, line)
    harmless = point.harmless_grounds if found.verdict == "unstable" else ()
    grounds = [ground for ground in line.grounds if ground not in harmless]
    if found.verdict == "not established" or not grounds:
        return found
    condition = f"{found.verdict.capitalize()} if {' and '.join(grounds)}, which is not proved."
    theorem = f"{condition} {found.theorem}"
    return Stability("not established", theorem, line, found.neutral, None)


def _spectral(point: LinearPoint, line: Linearisation) -> Stability:
    """The verdict on a linear motion whose grounds are proved."""
    real, errors = line.eigenvalues.real, line.errors
    if not len(real):
        theorem = "The constraints and the symmetry leave no deviation."
        return Stability("stable", theorem, line, 0, None)
    neutral = int(np.sum(np.abs(line.eigenvalues) <= errors))
    if np.any(real > errors):
        theorem = FIRST_METHOD + "an eigenvalue with a positive real part."
        return Stability("unstable", theorem, line, neutral, None)
    damped = int(np.sum(real < -errors))
    if damped == len(real):
        theorem = FIRST_METHOD + "all eigenvalues have negative real parts."
        return Stability("asymptotically stable", theorem, line, 0, None)
    integrals = SteadyIntegrals(point)
    open_ones = len(real) - damped
    family = integrals.family(line)
    if family >= open_ones:
        theorem = (
            f"Lyapunov and Malkin: {_counted(open_ones, 'zero eigenvalue')} with a manifold of"
            f" {'steady motions' if line.steady else 'equilibria'} of that dimension, all others"
            " have negative real parts; a motion that starts nearby tends to one of these nearby,"
            " not always to this one."
        )
        return Stability("stable", theorem, line, open_ones, True)
    why = integrals.definite(line)
    if why:
        return Stability("stable", why, line, neutral, None)
    theorem = _grounds(line, neutral, open_ones, family) + integrals.reason
    return Stability("not established", theorem, line, neutral, None)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _grounds(line: Linearisation, neutral: int, open_ones: int, family: int) -> str:
    parts = []
    if neutral:
        proved = f"and a manifold of equilibria is proved for {family}"
        parts.append(f"{_counted(neutral, 'zero eigenvalue')}, {proved}")
    if open_ones - neutral:
        number = _counted(open_ones - neutral, "eigenvalue")
        parts.append(f"{number} on the imaginary axis within the errors")
    worst = float(np.max(line.errors[np.abs(line.eigenvalues.real) <= line.errors], initial=0.0))
    return f"{'; '.join(parts)} (errors up to {worst:.1g}): the linear part decides nothing. "


@dataclass(frozen=True)
class SecondVariation:
    """The second variation of H + Phi(C_1, ..., C_k) at a critical point on the levels of C.

    Attributes
    ----------
    multipliers : array (k,)
        dPhi/dC_i, from dH + sum dPhi/dC_i dC_i = 0.
    matrix : array (n, n)
        The Hessian of H + sum dPhi/dC_i C_i.
    on_levels : array (n - k,)
        Its eigenvalues on the tangent space of the levels, in ascending order.
    definite : bool
        Whether some Phi makes the second variation definite: where it is positive or negative
        definite on the levels (Finsler's lemma).
    """

    multipliers: Array
    matrix: Array
    on_levels: Array
    definite: bool


def second_variation(
    gradient: ArrayLike,
    hessian: ArrayLike,
    casimir_gradients: Sequence[ArrayLike],
    casimir_hessians: Sequence[ArrayLike],
) -> SecondVariation:
    """Energy and Casimirs at a point: definite for some Phi, or for none.

    Parameters
    ----------
    gradient, hessian : arrays (n,) and (n, n)
        Of H.
    casimir_gradients, casimir_hessians : sequences of arrays (n,) and (n, n)
        Of the C_i.

    Examples
    --------
    The middle axis of a free body is a saddle, the others are not:

    >>> import numpy as np
    >>> inertia = np.array([1.0, 2.0, 3.0])
    >>> verdicts = []
    >>> for axis in np.eye(3):
    ...     h, c = axis/inertia, axis  # H = sum M^2/(2 I), C = |M|^2/2
    ...     verdicts.append(second_variation(h, np.diag(1/inertia), [c], [np.eye(3)]).definite)
    >>> verdicts
    [True, False, True]
    """
    gradient, hessian = np.asarray(gradient, dtype=float), np.asarray(hessian, dtype=float)
    shape = len(casimir_gradients), len(gradient)
    derivatives = np.array(casimir_gradients, dtype=float).reshape(shape)
    multipliers = np.zeros(len(derivatives))
    if len(derivatives):
        multipliers = solve(derivatives @ derivatives.T, -derivatives @ gradient, gauge=True).z
    left = gradient + derivatives.T @ multipliers
    size = np.max(np.abs(gradient), initial=0.0) + np.max(np.abs(derivatives), initial=0.0) + 1e-300
    if np.max(np.abs(left), initial=0.0) > 1e-8 * size:
        what = "The point is not critical on the levels of the Casimirs"
        remedy = "give a relative equilibrium"
        raise RunError(what, f"a derivative of {np.max(np.abs(left)):.3g} is left", remedy)
    bends = zip(multipliers, casimir_hessians, strict=True)
    terms = [hessian, *(m * np.asarray(h) for m, h in bends)]
    matrix = np.sum(terms, axis=0)
    tangent = rank(derivatives, 1e-12).null_space if len(derivatives) else np.eye(len(gradient))
    basis, _ = np.linalg.qr(tangent)
    values = np.linalg.eigvalsh(basis.T @ matrix @ basis)
    tiny = 1e-10 * (sum(np.max(np.abs(term), initial=0.0) for term in terms) + 1e-300)
    definite = bool(len(values) == 0 or values[0] > tiny or values[-1] < -tiny)
    return SecondVariation(multipliers, matrix, values, definite)
