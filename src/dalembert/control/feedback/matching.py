r"""Controlled Lagrangians: a feedback that makes an underactuated system behave like one with other energies.

    u = d_al U - h_al^j d_j U~ - g_al,l T^l_jk q_dot^j q_dot^k - d h~_j^al q_dot^j        (Supplement, 9.4.22 to 9.4.24)

turns L = g q_dot q_dot/2 - U into L~ = g~ q_dot q_dot/2 - U~, where the matching conditions (9.4.21) hold, and

    dE~/dt = -d |h~_j q_dot^j|^2.

So E~ converges where it is positive definite and d > 0. The document has d > 0 alone; a negative definite E~, as the method
often gives it, needs d < 0. The sign is chosen here by the definiteness that is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...analysis.tables import Report, Section
from ...errors import FormError, ModelError, nearest
from ...model.scenario import Scenario
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...typing import Ranges, Symbols, Values
from .level_sets import LevelSet, largest_level_set
from .matching_ansatz import ansatz
from .matching_classes import CLASSES, UnsuitedError, best_damping
from .mechanics import FITTED, Mechanics, read_mechanics
from .shaped import Certificate, Shaped

__all__ = ["ENERGY", "Matching", "match"]

#: The output of the closed loop that holds E~.
ENERGY = "controlled_energy"
SOLVERS = {**CLASSES, "ansatz": ansatz}


@dataclass(frozen=True, eq=False, repr=False)
class Matching(Report):
    """A controlled Lagrangian with its closed loop.

    Attributes
    ----------
    system : System
        The closed loop: inputs imposed, E~ among its outputs as `controlled_energy`.
    shaped : Shaped
        g~, U~, the control law.
    certificate : Certificate
        Whether the matching conditions hold, and their residuals at random states.
    definite : int
        1 where E~ is positive definite at the equilibrium, -1 where it is negative definite, 0 otherwise.
    damping : float
        d, with its sign.
    eigenvalues : array of complex (2n,)
        Of the linearised closed loop.
    region : LevelSet or None
        An estimate of the region of attraction.
    """

    system: System
    shaped: Shaped
    certificate: Certificate
    definite: int
    damping: float
    eigenvalues: Any
    region: LevelSet | None = field(default=None)

    @property
    def kind(self) -> str:
        """The class of matching."""
        return self.shaped.kind

    @property
    def control(self) -> dict[Any, Any]:
        """The inputs as expressions of the state."""
        return {u: value for u, value in self.system.inputs.items() if value is not None}

    def _title(self) -> str:
        return f"{self.system.name}: controlled Lagrangian"

    def _sections(self) -> list[Section]:
        kinetic, potential = self.shaped.definiteness()
        found = self.certificate
        sign = {1: "positive definite", -1: "negative definite", 0: "indefinite: it proves nothing"}[self.definite]
        beside = "with a force that does no work beside it" if self.shaped.is_gyroscopic else "as in (9.4.21)"
        lines = [
            ("class", f"{self.kind}, {beside}"),
            ("gains", ", ".join(f"{name} = {value:.6g}" for name, value in self.shaped.gains.items())),
            ("conditions", str(found.verdict)),
            ("residual", f"{found.residual:.1e} of the matching conditions at {found.states} random states"),
        ]
        energy = [
            ("E~", sign),
            ("g~", ", ".join(f"{v:.4g}" for v in kinetic)),
            ("U~", ", ".join(f"{v:.4g}" for v in potential) + " (second variation)"),
            ("damping", f"d = {self.damping:.6g}"),
            ("slowest", f"exp({float(np.max(self.eigenvalues.real)):.4g} t) of the linearised closed loop"),
        ]
        return [("Matching", lines), ("Controlled energy", energy), ("Region of attraction", self._region_lines())]

    def _region_lines(self) -> list[tuple[str, str]]:
        if self.region is None:
            return []
        here = self.region
        shown = ", ".join(f"{name} in [{low:.3g}, {high:.3g}]" for name, (low, high) in here.bounds.items())
        return [
            ("level", f"E~ < {here.level:.6g}, where {shown}"),
            ("limit", here.limited_by),
            ("standing", f"an estimate: {here.points} points of a grid, {here.other_minima} other minima of U~ among them"),
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
    """A controlled Lagrangian that stabilises an equilibrium, with its control law, certificate and closed loop.

    Parameters
    ----------
    model : System or Scenario
        L = kinetic minus potential energy, no constraints, forces that are inputs.
    actuated : sequence of coordinates, optional
        Those that the inputs push; others are refused.
    at : mapping of coordinate to value
        The equilibrium; zero where it is left out.
    using : "potential", "simplified", "one-unactuated", "actuated-shape" or "ansatz", optional
        The class; by default they are tried in this order.
    gains : mapping of name to float
        Of the class: `ratio` (above 1: how far beyond the edge of definiteness), `stiffness`, and others that the report names.
    damping : float, optional
        |d|; by default that of the fastest decay, and 0 leaves E~ constant. Its sign follows from the definiteness of E~.
    negative : bool
        Use the other sign of E~; the closed loop is the same.
    region : bool
        Estimate the region of attraction, inside the box `within`.

    Raises
    ------
    FormError
        Where no class solves the matching conditions; the message says what stood in the way of each, and the rank of
        controllability. Where the residual is above 1e-10 it is named with the class.

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
        raise ModelError(f"There is no class of matching `{using}`", remedy=f"did you mean {near or ', '.join(SOLVERS)}")
    shaped, certificate = _solved(here, using, gains or {})
    shaped = shaped.turned() if negative else shaped
    kinetic, potential = shaped.definiteness()
    sign = 1 if min(kinetic[0], potential[0]) > 0 else -1 if max(kinetic[-1], potential[-1]) < 0 else 0
    chosen = _damping(shaped, sign, damping)
    names = {str(getattr(k, "name", k)): (float(v[0]), float(v[1])) for k, v in (within or {}).items()}
    found = largest_level_set(shaped, sign, names) if region and sign else None
    outputs = {**here.system.outputs, ENERGY: shaped.energy}
    closed = here.system.replacing(inputs=shaped.laws(chosen), outputs=outputs, name=f"{here.system.name}, matched")
    return Matching(closed, shaped, certificate, sign, chosen, _eigenvalues(shaped, chosen), found)


def _solved(here: Mechanics, using: str | None, gains: Mapping[str, float]) -> tuple[Shaped, Certificate]:
    """The first class that solves the conditions."""
    reasons = []
    for name in [using] if using else list(SOLVERS):
        try:
            shaped = SOLVERS[name](here, gains)
        except UnsuitedError as error:
            reasons.append(f"{name}: {error}")
            continue
        certificate = shaped.certificate()
        if not certificate.residual <= FITTED:
            reasons.append(f"{name}: residual {certificate.residual:.2g} of the matching conditions (limit {FITTED:g})")
        elif certificate.verdict.is_refuted:
            reasons.append(f"{name}: the matching conditions do not hold everywhere: {certificate.verdict.grounds}")
        else:
            return shaped, certificate
    number, whole = controllable(here)
    raise FormError(
        "The matching conditions were not solved",
        seen="; ".join(reason.rstrip(".") for reason in reasons)
        + f". The linearisation is controllable with rank {number} of {whole}",
        remedy="add an actuator, or other coordinates, or use da.control.place_poles or da.control.lqr near the equilibrium"
        if number == whole
        else "no smooth feedback moves the uncontrollable part: add an actuator",
    )


def controllable(here: Mechanics) -> tuple[int, int]:
    """The rank of controllability of the linearised system at the equilibrium, and the number of its states."""
    n = len(here.coordinates)
    mass, stiffness = here.numbers(here.metric), here.hessian(here.potential)
    push = np.zeros((n, len(here.actuated)))
    push[list(here.actuated), range(len(here.actuated))] = 1.0
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(mass, stiffness), np.zeros((n, n))]])
    A = A / max(1.0, float(np.max(np.abs(np.linalg.eigvals(A)))))
    columns = [np.vstack([np.zeros_like(push), np.linalg.solve(mass, push)])]
    for _ in range(2 * n - 1):
        columns.append(A @ columns[-1])
    return rank(np.hstack(columns), 1e-9).rank, 2 * n


def _numbers(shaped: Shaped) -> tuple[Any, Any, Any]:
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
        kinetic, potential = shaped.definiteness()
        raise FormError(
            "The controlled energy is not definite at the equilibrium, so that no damping makes it converge",
            seen=f"eigenvalues of g~ {np.round(kinetic, 6).tolist()}, of U~ {np.round(potential, 6).tolist()}",
            remedy="choose other gains (a larger ratio or stiffness), or damping=0",
        )
    if size is not None and size < 0:
        raise ModelError("The damping is given by its size", seen=f"{size:g}", remedy="leave the sign to the controlled energy")
    metric, stiffness, passive = _numbers(shaped)
    return sign * (float(size) if size is not None else best_damping(sign * metric, sign * stiffness, passive)[0])


def _eigenvalues(shaped: Shaped, damping: float) -> Any:
    """Of the linearised closed loop, by real part, largest first."""
    metric, stiffness, passive = _numbers(shaped)
    n = len(metric)
    lower = -np.linalg.solve(metric, np.hstack([stiffness, damping * passive.T @ passive]))
    values = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower]))
    return values[np.argsort(-values.real)]
