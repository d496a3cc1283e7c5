r"""Controlled Lagrangians: feedback that gives an underactuated system other energies.

    u = d_al U - h_al^j d_j U~ - g_al,l T^l_jk q_dot^j q_dot^k - d h~_j^al q_dot^j

(Supplement, 9.4.22 to 9.4.24)

turns L = g q_dot q_dot/2 - U into L~ = g~ q_dot q_dot/2 - U~, where the matching conditions
(9.4.21) hold, and

    dE~/dt = -d |h~_j q_dot^j|^2.

So E~ converges where it is positive definite and d > 0. The document has d > 0 alone; a negative
definite E~, as the method often gives it, needs d < 0. The sign is chosen here by the definiteness
that is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import sympy

from ...analysis.tables import Report, Section
from ...errors import FormError, ModelError, nearest
from ...model.scenario import Scenario
from ...model.symbols import Input
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, ComplexArray, Ranges, Symbols, Values
from .level_sets import LevelSet, largest_level_set
from .matching_ansatz import ansatz
from .matching_classes import CLASSES, UnsuitedError, best_damping
from .mechanics import FITTED, Mechanics, read_mechanics
from .shaped import MatchingCertificate, Shaped
from .unactuated_shape import unactuated_shape

__all__ = ["ENERGY", "Matching", "match"]

#: The output of the closed loop that holds E~.
ENERGY = "controlled_energy"
SOLVERS = {**CLASSES, "unactuated-shape": unactuated_shape, "ansatz": ansatz}


@dataclass(frozen=True, eq=False, repr=False)
class Matching(Report):
    """A controlled Lagrangian with its closed loop.

    Attributes
    ----------
    system : System
        The closed loop: inputs imposed, E~ among its outputs as `controlled_energy`.
    shaped : Shaped
        g~, U~, the control law.
    certificate : MatchingCertificate
        Whether the matching conditions hold, and their residuals at random states.
    definite : int
        1 where E~ is positive definite at the equilibrium, -1 where it is negative definite, 0
        otherwise.
    damping : float
        d, with its sign.
    eigenvalues : array of complex (2n,)
        Of the linearised closed loop.
    region : LevelSet or None
        An estimate of the region of attraction.
    """

    system: System
    shaped: Shaped
    certificate: MatchingCertificate
    definite: int
    damping: float
    eigenvalues: ComplexArray
    region: LevelSet | None = field(default=None)

    @property
    def kind(self) -> str:
        """The class of matching."""
        return self.shaped.kind

    @property
    def control(self) -> dict[Input, sympy.Expr]:
        """The inputs as expressions of the state."""
        return {u: value for u, value in self.system.inputs.items() if value is not None}

    def _title(self) -> str:
        return f"{self.system.name}: controlled Lagrangian"

    def _sections(self) -> list[Section]:
        kinetic, potential = self.shaped.definiteness()
        found = self.certificate
        signs = ("indefinite: it proves nothing", "positive definite", "negative definite")
        beside = "as in (9.4.21)"
        if self.shaped.is_gyroscopic:
            beside = "with a force that does no work beside it"
        gains = ", ".join(f"{name} = {value:.6g}" for name, value in self.shaped.gains.items())
        count = f"{found.states} random states"
        lines = [
            ("class", f"{self.kind}, {beside}"),
            ("gains", gains),
            ("conditions", str(found.verdict)),
            ("residual", f"{found.residual:.1e} of the matching conditions at {count}"),
        ]
        slowest = float(np.max(self.eigenvalues.real))
        energy = [
            ("E~", signs[self.definite]),
            ("g~", ", ".join(f"{v:.4g}" for v in kinetic)),
            ("U~", ", ".join(f"{v:.4g}" for v in potential) + " (second variation)"),
            ("damping", f"d = {self.damping:.6g}"),
            ("slowest", f"exp({slowest:.4g} t) of the linearised closed loop"),
        ]
        region = ("Region of attraction", self._region_lines())
        return [("Matching", lines), ("Controlled energy", energy), region]

    def _region_lines(self) -> list[tuple[str, str]]:
        if self.region is None:
            return []
        here = self.region
        bounds = here.bounds.items()
        shown = ", ".join(f"{name} in [{low:.3g}, {high:.3g}]" for name, (low, high) in bounds)
        points = f"{here.points} points of a grid"
        minima = f"{here.other_minima} other minima of U~ among them"
        return [
            ("level", f"E~ < {here.level:.6g}, where {shown}"),
            ("limit", here.limited_by),
            ("standing", f"an estimate: {points}, {minima}"),
        ]


def match(
    model: System | Scenario,
    actuated: Symbols | None = None,
    at: Values | None = None,
    *,
    parameters: Values | None = None,
    using: str | None = None,
    gains: Mapping[str, float] | None = None,
    damping: float | None = None,
    negative: bool = False,
    region: bool = True,
    within: Ranges | None = None,
) -> Matching:
    """Find a controlled Lagrangian that stabilises an equilibrium, and its closed loop.

    Parameters
    ----------
    model : System or Scenario
        L = kinetic minus potential energy, no constraints, forces that are inputs.
    actuated : sequence of coordinates, optional
        Those that the inputs push; others are refused.
    at : mapping of coordinate to value
        The equilibrium; zero where it is left out.
    using : "potential", "simplified", "one-unactuated", "actuated-shape", "unactuated-shape" or
    "ansatz", optional
        The class; by default they are tried in this order.
    gains : mapping of name to float
        Of the class: `ratio` (above 1: how far beyond the edge of definiteness), `stiffness`, and
        others that the report names.
    damping : float, optional
        |d|; by default that of the fastest decay, and 0 leaves E~ constant. Its sign follows from
        the definiteness of E~.
    negative : bool
        Use the other sign of E~; the closed loop is the same.
    region : bool
        Estimate the region of attraction, inside the box `within`.

    Raises
    ------
    FormError
        Where no class solves the matching conditions; the message says what stood in the way of
        each, and the rank of controllability. Where the residual is above 1e-10 it is named with
        the class.

    Examples
    --------
    >>> import dalembert as da
    >>> found = match(da.gallery.load("cart-pendulum"), region=False)
    >>> found.kind, found.certificate.residual < 1e-10, found.definite
    ('simplified matching', True, 1)
    """
    here = read_mechanics(model, actuated, at, parameters)
    if using is not None and using not in SOLVERS:
        near = nearest(using, SOLVERS)
        remedy = f"did you mean {near or ', '.join(SOLVERS)}"
        raise ModelError(f"There is no class of matching `{using}`", remedy=remedy)
    shaped, certificate = _solved(here, using, gains or {})
    shaped = shaped.turned() if negative else shaped
    kinetic, potential = shaped.definiteness()
    sign = int(min(kinetic[0], potential[0]) > 0) - int(max(kinetic[-1], potential[-1]) < 0)
    chosen = _damping(shaped, sign, damping)
    box = {str(getattr(k, "name", k)): v for k, v in (within or {}).items()}
    limits = {name: (float(low), float(high)) for name, (low, high) in box.items()}
    found = largest_level_set(shaped, sign, limits) if region and sign else None
    outputs = {**here.system.outputs, ENERGY: shaped.energy}
    name = f"{here.system.name}, matched"
    closed = here.system.replacing(inputs=shaped.laws(chosen), outputs=outputs, name=name)
    return Matching(closed, shaped, certificate, sign, chosen, _eigenvalues(shaped, chosen), found)


def _solved(
    here: Mechanics, using: str | None, gains: Mapping[str, float]
) -> tuple[Shaped, MatchingCertificate]:
    """The first class that solves the conditions."""
    reasons = []
    for name in [using] if using else list(SOLVERS):
        try:
            shaped = SOLVERS[name](here, gains)
        except UnsuitedError as error:
            reasons.append(f"{name}: {error}")
            continue
        certificate = shaped.certificate()
        residual = f"residual {certificate.residual:.2g} of the matching conditions"
        if not certificate.residual <= FITTED:
            reasons.append(f"{name}: {residual} (limit {FITTED:g})")
        elif certificate.verdict.is_refuted:
            grounds = certificate.verdict.grounds
            reasons.append(f"{name}: the matching conditions do not hold everywhere: {grounds}")
        else:
            return shaped, certificate
    number, whole = controllable(here)
    remedy = "no smooth feedback moves the uncontrollable part: add an actuator"
    if number == whole:
        linear = "da.control.place_poles or da.control.lqr near the equilibrium"
        remedy = f"add an actuator, or other coordinates, or use {linear}"
    raise FormError(
        "The matching conditions were not solved",
        "; ".join(reason.rstrip(".") for reason in reasons)
        + f". The linearisation is controllable with rank {number} of {whole}",
        remedy,
    )


def controllable(here: Mechanics) -> tuple[int, int]:
    """The rank of controllability of the linearised system, and the number of its states."""
    n = len(here.coordinates)
    mass, stiffness = here.numbers(here.metric), here.hessian(here.potential)
    push = np.zeros((n, len(here.actuated)))
    push[list(here.actuated), range(len(here.actuated))] = 1.0
    pulled = -np.linalg.solve(mass, stiffness)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [pulled, np.zeros((n, n))]])
    A = A / max(1.0, float(np.max(np.abs(np.linalg.eigvals(A)))))
    columns = [np.vstack([np.zeros_like(push), np.linalg.solve(mass, push)])]
    for _ in range(2 * n - 1):
        columns.append(A @ columns[-1])
    return rank(np.hstack(columns), 1e-9).rank, 2 * n


def _numbers(shaped: Shaped) -> tuple[Array, Array, Array]:
    """g~, the second variation of U~, and h~ on actuated coordinates (k, n), at the equilibrium."""
    here = shaped.mechanics
    metric = here.numbers(shaped.metric)
    passive = (metric @ np.linalg.inv(here.numbers(here.metric))).T[list(here.actuated)]
    return metric, here.hessian(shaped.potential), passive


def _damping(shaped: Shaped, sign: int, size: float | None) -> float:
    """d with the sign that the energy asks for."""
    if size == 0:
        return 0.0
    if sign == 0:
        kinetic, potential = (np.round(values, 6).tolist() for values in shaped.definiteness())
        raise FormError(
            "The controlled energy is not definite at the equilibrium: no damping can converge",
            f"eigenvalues of g~ {kinetic}, of U~ {potential}",
            "choose other gains (a larger ratio or stiffness), or damping=0",
        )
    if size is not None and size < 0:
        remedy = "leave the sign to the controlled energy"
        raise ModelError("The damping is given by its size", f"{size:g}", remedy)
    if size is not None:
        return sign * float(size)
    metric, stiffness, passive = _numbers(shaped)
    return sign * best_damping(sign * metric, sign * stiffness, passive)[0]


def _eigenvalues(shaped: Shaped, damping: float) -> ComplexArray:
    """Of the linearised closed loop, by real part, largest first."""
    metric, stiffness, passive = _numbers(shaped)
    n = len(metric)
    lower = -np.linalg.solve(metric, np.hstack([stiffness, damping * passive.T @ passive]))
    values = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower]))
    ordered: ComplexArray = values[np.argsort(-values.real)].astype(complex)
    return ordered
