r"""Melnikov's method: how a perturbation splits the homoclinic orbits of H0(q, p, I).

H = H0(q, p, I) + eps H1(q, p, phi, I) has a plane (q, p) with a homoclinic orbit x(t) of a saddle
x_s, and a rotor (phi, I) with I conserved at eps = 0. Along D = H0(q, p, I) - H0(x_s(I), I), which
is zero on both invariant manifolds of the saddle's periodic orbit, these are apart by

    M(phi_0) = int {D, H1} dt = int {H0, H1}_qp - (H0_I - Omega_s) H1_phi dt,

    phi(t) = phi_0 + int_0^t H0_I dt,      Omega_s = H0_I(x_s, I),

to first order in eps. The integrand decays at both ends. A simple zero of M is a transversal
homoclinic orbit for small eps: the motion has a horseshoe, and there is no analytic second integral
(Poincare; Melnikov 1963; Holmes and Marsden 1982; for three hinged bodies Oh, Sreenath,
Krishnaprasad and Marsden 1989; Bloch and others, Supplement, end of 3.13). A force periodic in time
is the rotor H0 = F(q, p) + omega I.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import sympy
from scipy.optimize import brentq

from ...algebra.verdicts import Verdict
from ...errors import ModelError
from ...geometry.vanishing import vanish
from ...model.builders.planar_bodies import PlanarBodies
from ...model.values import numbers_by_name
from ...typing import Array, Expression, Path, Values
from ..symmetry.planar_reduction import reduced_hamiltonian
from ..tables import Report, Section
from .homoclinic import PerturbedPlane

if TYPE_CHECKING:
    from ...plotting.style import Picture, Style

__all__ = ["Melnikov", "chain_melnikov", "melnikov"]

TURN = 2 * np.pi
#: Phases of the rotor, and panels of eight Gauss nodes along the orbit.
PHASES, PANELS = 64, 160


@dataclass(frozen=True, repr=False, eq=False)
class Melnikov(Report):
    """Melnikov's function of a perturbed homoclinic orbit.

    Attributes
    ----------
    phases, values : arrays (k,)
        phi_0 over a turn, and M there.
    error : float
        An estimate of the error of the values: quadrature with half the panels, and the ends.
    zeros, derivatives : arrays (z,)
        The phases at which M vanishes, and dM/dphi_0 there.
    saddle : array (2,)
        (q, p).
    growth, frequency : float
        The growth rate of the saddle, and Omega_s.
    t, orbit : arrays (nt,), (nt, 2)
        The homoclinic orbit, which passes its middle at t = 0.
    coincidence : Verdict
        Whether the manifolds stay joined to first order, M = 0: refuted where M exceeds its error.
    integrability : Verdict
        Whether an analytic second integral may persist for small eps: refuted by a simple zero.
    """

    phases: Array
    values: Array
    error: float
    zeros: Array
    derivatives: Array
    saddle: Array
    growth: float
    frequency: float
    t: Array = field(repr=False)
    orbit: Array = field(repr=False)
    coincidence: Verdict
    integrability: Verdict

    @property
    def amplitude(self) -> float:
        """The largest |M| over a turn, by trigonometric interpolation."""
        count = 16 * len(self.values)
        fine = np.abs(np.fft.irfft(np.fft.rfft(self.values), count)) * 16
        top = int(np.argmax(fine))
        left, peak, right = fine[top - 1], fine[top], fine[(top + 1) % count]
        bend = left - 2 * peak + right
        return float(peak - (right - left) ** 2 / (8 * bend) if bend < 0 else peak)

    def plot(
        self,
        *,
        path: Path | None = None,
        style: str | Style = "light",
        title: str | None = None,
    ) -> Picture:
        """Draw the homoclinic orbit, and M over a turn of the phase with its zeros."""
        from ...plotting.studies.melnikov_plot import plot_melnikov

        return plot_melnikov(self, path=path, style=style, title=title)

    def _title(self) -> str:
        return "Melnikov's function"

    def _sections(self) -> list[Section]:
        pairs = zip(self.zeros, self.derivatives, strict=True)
        zeros = ", ".join(f"{zero:.6g} (derivative {rate:.4g})" for zero, rate in pairs)
        place = f"q = {self.saddle[0]:.6g}, p = {self.saddle[1]:.6g}, growth rate {self.growth:.6g}"
        return [
            ("Unperturbed", [("saddle", place), ("rotor", f"frequency {self.frequency:.6g}")]),
            (
                "M",
                [
                    ("size", f"{self.amplitude:.6g}, error {self.error:.1e}"),
                    ("zeros", zeros or "none"),
                ],
            ),
            (
                "Verdict",
                [
                    ("manifolds coincide", str(self.coincidence)),
                    ("integrable", str(self.integrability)),
                ],
            ),
        ]


def melnikov(
    unperturbed: Expression,
    perturbation: Expression,
    plane: tuple[sympy.Symbol, sympy.Symbol],
    rotor: tuple[sympy.Symbol, sympy.Symbol],
    *,
    saddle: Values,
    action: float,
    parameters: Values | None = None,
    side: int = 1,
    turn: float | None = TURN,
) -> Melnikov:
    """Melnikov's function of H0(q, p, I) + eps H1(q, p, phi, I).

    Parameters
    ----------
    unperturbed, perturbation : expressions
        H0, without phi, and H1, of period 2 pi in phi.
    plane, rotor : pairs of symbols
        (q, p) and (phi, I), both canonical.
    saddle : mapping of q and p to value
        Near the saddle.
    action : float
        I.
    side : 1 or -1
        The branch of the unstable manifold that is followed: the sign of q on its first part.
    turn : float or None
        The period of q where it is an angle, so that the orbit may end at a saddle a turn away.

    Raises
    ------
    ModelError
        Where H0 depends on phi, or the point is no saddle.
    RunError
        Where the unstable manifold does not return to the saddle.

    Examples
    --------
    A pendulum shaken with frequency 1, whose M is known in closed form:

    >>> q, p, phi, I = sympy.symbols("q p phi I", real=True)
    >>> found = melnikov(
    ...     p**2/2 - sympy.cos(q) + I, p*sympy.cos(phi), (q, p), (phi, I),
    ...     saddle={q: sympy.pi, p: 0}, action=0.0, side=-1)
    >>> bool(abs(found.amplitude - 2*np.pi/np.cosh(np.pi/2)) < 1e-8), found.integrability.status
    (True, 'refuted')
    """
    problem = PerturbedPlane.read(unperturbed, perturbation, plane, rotor, parameters, action)
    point = problem.saddle(numbers_by_name(saddle))
    orbit = problem.homoclinic(point, side, turn)
    frequency = float(problem.rates(point)[2])
    phases = np.linspace(0.0, TURN, PHASES, endpoint=False)
    fine, coarse = (
        problem.integral(orbit, phases, frequency, panels) for panels in (PANELS, PANELS // 2)
    )
    grid = np.linspace(orbit.first, orbit.last, 801)
    states, phase = orbit.at(grid)
    ends = np.max(np.abs(problem.integrand(states[[0, -1]], phase[[0, -1]], phases, frequency)))
    error = float(np.max(np.abs(fine - coarse)) + ends / orbit.growth)
    error += 1e-14 * float(np.max(np.abs(fine)))
    zeros, derivatives, error_of_rates = _zeros(fine, error)
    coincidence, integrability = _verdicts(fine, error, zeros, derivatives, error_of_rates)
    return Melnikov(
        phases, fine, error, zeros, derivatives, point, orbit.growth, frequency, grid, states,
        coincidence, integrability,
    )  # fmt: skip


def _verdicts(
    values: Array, error: float, zeros: Array, derivatives: Array, error_of_rates: float
) -> tuple[Verdict, Verdict]:
    largest = float(np.max(np.abs(values)))
    if largest <= error:
        unknown = Verdict("not established", f"M is zero within its error, {error:.1e}")
        return unknown, unknown
    split = Verdict("refuted", f"M reaches {largest:.4g} with an error of {error:.1e}")
    simple = np.abs(derivatives) > error_of_rates
    if np.any(simple):
        zero, rate = zeros[simple][0], derivatives[simple][0]
        words = (
            f"M has a simple zero at phase {zero:.6g} with derivative {rate:.4g} (errors"
            f" {error:.1e}, {error_of_rates:.1e}): the manifolds cross transversally for small eps,"
            " so that there is no analytic second integral"
        )
        return split, Verdict("refuted", words)
    words = "M has no simple zero: nothing follows for the crossing of the manifolds"
    return split, Verdict("not established", words)


def _zeros(values: Array, error: float) -> tuple[Array, Array, float]:
    """Sign changes beyond the error of the trigonometric interpolant, and its derivative there."""
    count = len(values)
    coefficients = np.fft.rfft(values) / count
    orders = np.arange(len(coefficients))
    weights = np.where((orders == 0) | (2 * orders == count), 1.0, 2.0)
    floor = error + 1e-15 * float(np.max(np.abs(values)))
    kept = np.where(np.abs(coefficients) > floor, weights * coefficients, 0.0)

    def value(x: float) -> float:
        return float(np.sum((kept * np.exp(1j * orders * x)).real))

    def rate(x: float) -> float:
        return float(np.sum((1j * orders * kept * np.exp(1j * orders * x)).real))

    grid = np.linspace(0.0, TURN, 8 * count + 1)
    sampled = [value(x) for x in grid]
    firm = [(x, v) for x, v in zip(grid, sampled, strict=True) if abs(v) > 2 * error]
    zeros = []
    for (a, left), (b, right) in zip(firm, [*firm[1:], *firm[:1]], strict=True):
        if left * right < 0:
            zeros.append(brentq(value, a, b if b > a else b + TURN, xtol=1e-14) % TURN)
    highest = int(np.max(orders[np.abs(kept) > 0], initial=1))
    return np.array(zeros), np.array([rate(x) for x in zeros]), 2 * highest**2 * error


def chain_melnikov(
    bodies: PlanarBodies,
    small: sympy.Symbol,
    *,
    total: float,
    spin: float,
    parameters: Values | None = None,
    side: int = 1,
) -> Melnikov:
    """Melnikov's function of three hinged bodies, the third hinged near its centre of mass.

    Where the hinge vector d_32 of the third body vanishes, it turns freely, its momentum mu_3 is
    conserved, and the first two bodies have the homoclinic orbit of their folded state. A small
    d_32 = eps (c, s) couples both: H1 = dH/d eps at eps = 0, in the canonical pairs
    (theta_21, -mu_1) and (theta_32, mu_3) of the leaf with the given total momentum.

    Parameters
    ----------
    bodies : PlanarBodies
        Of `planar_chain(3, ...)` with hinges that contain `small`.
    small : symbol
        eps.
    total, spin : float
        The total momentum, and mu_3.

    Raises
    ------
    ModelError
        For other bodies, and where the third one does not turn freely at eps = 0.

    Examples
    --------
    >>> from dalembert.model.builders.planar_bodies import planar_chain
    >>> from dalembert.model.symbols import parameters
    >>> eps = parameters("eps")
    >>> hinges = {(1, 2): (1, 0), (2, 1): (-1, 0), (2, 3): (0.5, 0), (3, 2): (eps, 0)}
    >>> chain = planar_chain(3, masses=[1, 1, 1], inertias=[1, 1, 0.5], hinges=hinges)
    >>> found = chain_melnikov(chain, eps, total=3.0, spin=0.4)
    >>> found.integrability.status, len(found.zeros)
    ('refuted', 2)
    """
    if bodies.parents != (1, 2):
        what = "Melnikov's function is that of three bodies in a row"
        raise ModelError(what, str(bodies.parents), "make them with planar_chain(3, ...)")
    first, second, third = bodies.momenta
    p = sympy.Symbol("pi_21", real=True)
    H = reduced_hamiltonian(bodies)
    shown = {first: -p, second: sympy.Float(float(total), 17) + p - third}
    whole = H.xreplace(shown)
    H0, H1 = whole.subs(small, 0), sympy.diff(whole, small).subs(small, 0)
    if not vanish([sympy.diff(H0, bodies.joints[1])]).holds:
        what = "The third body does not turn freely without the perturbation"
        raise ModelError(what, str(small), "give its hinge vector (3, 2) as a multiple of it")
    guess = {bodies.joints[0].name: np.pi, p.name: -float(total - spin) / 2}
    return melnikov(
        H0, H1, (bodies.joints[0], p), (bodies.joints[1], third),
        saddle=guess, action=spin, parameters=parameters, side=side,
    )  # fmt: skip
