"""Section 5.9: points of D with the symbols of the print, and the library's forms there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy import cos, sin, tan

from ....typing import Array
from ...independent.planar_bundles import PlanarSample, frame, planar_probe, samples
from ...independent.planar_charts import (
    canonical_rates,
    chart_of_library,
    free_momenta,
    gap_of_spans,
    library_differential,
    library_form,
    library_two_form,
    momentum_rates,
    velocities_of,
)
from ...numeric import StateBlocks, derivative, distance, null_space
from ...samples import Sampler

T = TypeVar("T")

#: Covectors of the chart (x, y, theta, psi, phi, p_psi, p_phi, p) of M.
DX, DY, DTHETA, DPSI, DPHI, DP_PSI, DP_PHI, DP = np.eye(8)
#: Velocities off the constraints are those of a point plus these.
OFF = np.array([0.3, -0.2, 0.5, 0.1, -0.4])
#: What moves a point of D to another group element.
ELSEWHERE = np.array([0.7, -0.4, 1.1])
#: Two numbers that are said to differ must differ by this.
APART = 1e-3
#: Points of D of the random system, the snakeboard and the bicycle.
points = samples


def library_state(s: PlanarSample, form: str) -> Array:
    """The state of a form of the library at a point."""
    if form in ("reduced", "reconstructed"):
        return np.asarray(s.z[3:] if form == "reduced" else s.z)
    if form == "lagrange":
        return np.concatenate([s.q, s.u])
    own = s.planar.momenta if form == "hamilton" else lambda q, u: free_momenta(s.planar, q, u)
    return np.concatenate([s.q, own(s.q, s.u)])


def library_blocks(s: PlanarSample, form: str) -> StateBlocks:
    """The blocks of a form of the library at a point."""
    return planar_probe(s.planar.kind, form).blocks(0.0, library_state(s, form))


def library_rates(s: PlanarSample, form: str) -> Array:
    """The rates of a form of the library at a point."""
    return np.asarray(planar_probe(s.planar.kind, form).rates(0.0, library_state(s, form)))


def rate(path: Callable[[complex], Array]) -> Array:
    """The derivative of a path at 0, by a complex step."""
    return derivative(lambda w: path(w[0]), [0.0])[..., 0]


def velocities_at(s: PlanarSample, z: Array) -> Array:
    """u (5,) at (x, y, theta, r, r_dot, p)."""
    w = np.concatenate([z[5:7], s.planar.body_velocity(z[3:5], z[5:7], z[7:])])
    return np.asarray(s.planar.velocities(z[:5], w))


def wandering(s: PlanarSample, first: float, last: float) -> Array:
    """Accelerations (5,) of a curve that obeys the constraints and no equations of motion."""
    free = null_space(s.planar.full_rows(s.q))
    return np.asarray(
        s.planar.accelerations(s.q, s.u)[0] + free @ np.linspace(first, last, free.shape[1])
    )


def library_frame(s: PlanarSample, lifted: bool = True) -> Array:
    """e_i, d/dr or its lifts, d/dr_dot and d/dp, by the library's section (7 + m, 4 + 2m)."""
    m, E, c = s.planar.m, frame(s.g[2]), s.library
    table = np.zeros((7 + m, 4 + 2 * m))
    table[:3, :m], table[3:, m:] = E @ c.frame[:, :m], np.eye(4 + m)
    if lifted:
        table[:3, m : m + 2] = -E @ c.frame @ c.connection
    return table


def lagrangian_off(s: PlanarSample, u: Array) -> float:
    """p . u - E of the library's Lagrange equations at any velocities."""
    blocks = planar_probe(s.planar.kind, "lagrange").blocks(0.0, np.concatenate([s.q, u]))
    return float(blocks.momenta @ u - blocks.energy)


def moved(s: PlanarSample, shift: Array | float) -> PlanarSample:
    """The same point of D/G over another group element."""
    return PlanarSample(s.planar, s.g + shift, s.r, s.v, s.p, s.a)


@dataclass(frozen=True, eq=False)
class PrintedState(ABC):
    """A point of D with the symbols of the print as attributes, in the chart with p of M."""

    s: PlanarSample

    @cached_property
    def symbols(self) -> dict[str, float]:
        names = ("x", "y", "theta", "psi", "phi")
        values = dict(zip(names, self.s.q, strict=True))
        values |= {f"{name}_dot": x for name, x in zip(names, self.s.u, strict=True)}
        values |= {f"p_{name}": x for name, x in zip(names, self.momenta, strict=True)}
        return values | self.s.planar.parameters | {"p": self.s.p[0]}

    def __getattr__(self, name: str) -> float:
        if name not in self.symbols:
            raise AttributeError(name)
        return float(self.symbols[name])

    @cached_property
    def momenta(self) -> Array:
        """All five, of the independent implementation."""
        return np.asarray(self.s.planar.momenta(self.s.q, self.s.u))

    @property
    def chart(self) -> Array:
        """(x, y, theta, psi, phi, p_psi, p_phi, p)."""
        return np.concatenate([self.s.q, self.momenta[3:], self.s.p])

    def velocities(self, c: Array) -> Array:
        """The inverse of FL on D in the chart, from one dense system."""
        field = frame(c[2]) @ self.s.planar.section(c[3:5])[:, 0]
        picks = np.zeros((3, 5), dtype=np.result_type(field, c))
        picks[0, 3], picks[1, 4], picks[2, :3] = 1, 1, field
        return np.asarray(velocities_of(self.s.planar, c[:5], picks, c[5:]))

    @property
    @abstractmethod
    def symmetry(self) -> Array:
        """The printed field of V and H (8,)."""

    @property
    def allowed(self) -> Array:
        """The printed span of H (8, 6)."""
        return np.column_stack([self.symmetry, np.eye(8)[:, 3:]])

    @cached_property
    def rates(self) -> Array:
        """Rates of the chart along the library's motion (8,): on M, and p by reduced equations."""
        return np.concatenate(
            [canonical_rates(self.s)[0], momentum_rates(self.s)[3:], self.s.rates[1]]
        )

    @property
    def along(self) -> Array:
        """cos(theta) dx + sin(theta) dy."""
        return np.asarray(cos(self.theta) * DX + sin(self.theta) * DY)

    @property
    def across(self) -> Array:
        """-sin(theta) dx + cos(theta) dy."""
        return np.asarray(-sin(self.theta) * DX + cos(self.theta) * DY)

    # -- the library's forms in the chart ----------------------------------------------------------

    @cached_property
    def library_momenta(self) -> Array:
        """Momenta of the library's form on M (5,)."""
        return library_blocks(self.s, "bates-sniatycki").momenta

    @cached_property
    def form(self) -> Array:
        """The library's Omega_M (8, 8)."""
        return np.asarray(library_two_form(self.s, self.velocities, self.chart))

    def differential(self, fields: Array) -> Array:
        """The library's dH_H on fields of H (8, k)."""
        return np.asarray(library_differential(self.s, self.velocities, self.chart, fields))

    def gap_of_allowed(self) -> float:
        """The printed span of H, carried to the library's chart, against its frame of H."""
        derivatives = chart_of_library(self.s.planar, self.velocities, self.chart)
        return gap_of_spans(derivatives @ self.allowed, library_form(self.s).frame)

    def gap_of_symmetry(self) -> float:
        """What of the library's H moves the group alone, against the printed field."""
        derivatives = chart_of_library(self.s.planar, self.velocities, self.chart)
        inside, *_ = np.linalg.lstsq(derivatives, library_form(self.s).frame, rcond=None)
        return gap_of_spans(inside @ null_space(inside[3:]), self.symmetry[:, None])

    def gap_on_complement(self, kernel: Array) -> float:
        """The library's i_X Omega_M against its dH on the fields of H in the kernel of a form."""
        fields = self.allowed @ null_space((kernel @ self.allowed)[None, :])
        return distance(fields.T @ self.form.T @ self.rates, self.differential(fields))


class Snakeboard(PrintedState):
    """A state of the snakeboard."""

    @property
    def inertia(self) -> float:
        """m r^2."""
        return self.m * self.r**2

    @property
    def D(self) -> float:
        """m r^2 - J0 sin(phi)^2."""
        return float(self.inertia - self.J0 * sin(self.phi) ** 2)

    @property
    def cot(self) -> float:
        return float(1 / tan(self.phi))

    @property
    def csc2(self) -> float:
        return float(1 / sin(self.phi) ** 2)

    @property
    def symmetry(self) -> Array:
        c2, s2 = cos(self.phi) ** 2, sin(2 * self.phi)
        return np.asarray(-2 * self.r * c2 * self.along + s2 * DTHETA)

    # -- terms that print uses again and again -----------------------------------------------------

    @property
    def first(self) -> Array:
        """d of the momentum along the board, without its dphi part."""
        mr = self.m * self.r
        return np.asarray(mr * sin(2 * self.phi) / (2 * self.D) * DP_PSI - mr / (2 * self.D) * DP)

    @property
    def first_turn(self) -> float:
        """Its derivative by phi."""
        J0, mr, mr2, phi = self.J0, self.m * self.r, self.inertia, self.phi
        at = mr * (mr2 * cos(2 * phi) + J0 * sin(phi) ** 2) / self.D**2 * self.p_psi
        return float(at - mr * J0 * sin(2 * phi) / (2 * self.D**2) * self.p)

    @property
    def third(self) -> Array:
        """d p_theta without its dphi part."""
        by_p = (self.inertia - self.J0) * tan(self.phi) / (2 * self.D)
        return np.asarray(self.inertia * cos(self.phi) ** 2 / self.D * DP_PSI + by_p * DP)

    @property
    def third_turn(self) -> float:
        """Its derivative by phi."""
        J0, mr2, phi = self.J0, self.inertia, self.phi
        at = mr2 * (J0 - mr2) * sin(2 * phi) / self.D**2 * self.p_psi
        secant = mr2 / cos(phi) ** 2 + J0 * tan(phi) ** 2 * cos(2 * phi)
        return float(at + (mr2 - J0) * secant / (2 * self.D**2) * self.p)

    @property
    def ahead(self) -> float:
        """The momentum along the board on M."""
        return float(self.m * self.r * (sin(2 * self.phi) * self.p_psi - self.p) / (2 * self.D))


class UnreducedSnakeboard(Snakeboard):
    """A state of the snakeboard in the chart (x, y, theta, psi, phi, p_theta, p_psi, p_phi)."""

    @property
    def chart(self) -> Array:
        return np.concatenate([self.s.q, self.momenta[2:]])

    def velocities(self, c: Array) -> Array:
        return np.asarray(velocities_of(self.s.planar, c[:5], np.eye(5)[2:], c[5:]))

    @property
    def symmetry(self) -> Array:
        return -self.r * self.cot * self.along + DTHETA

    @cached_property
    def rates(self) -> Array:
        return np.concatenate([canonical_rates(self.s)[0], momentum_rates(self.s)[2:]])


class Bicycle(PrintedState):
    """A state of the bicycle."""

    @property
    def n(self) -> float:
        """1 + a phi sin(psi)."""
        return float(1 + self.a * self.phi * sin(self.psi))

    @property
    def K(self) -> float:
        return self.n**2 + self.c**2 * self.phi**2

    @property
    def F(self) -> float:
        return float(self.n**2 + self.c**2 * self.phi**2 * sin(self.psi) ** 2)

    @property
    def J(self) -> float:
        """The inertia of the steering."""
        return float(self.j0 + self.j1 * cos(self.psi) ** 2 + self.j2 * self.phi**2)

    @property
    def J_psi(self) -> float:
        return float(-self.j1 * sin(2 * self.psi))

    @property
    def J_phi(self) -> float:
        return 2 * self.j2 * self.phi

    @property
    def symmetry(self) -> Array:
        return self.along + self.phi * DTHETA

    def mu(self, c: Array) -> Array:
        """The printed mu_1, mu_2, mu_3 of (5.9.84) as functions of the chart (3,)."""
        psi, phi, p_psi, _, p = c[3:]
        s, co, lever = sin(psi), cos(psi), p_psi / self.a
        n = 1 + self.a * phi * s
        F = n**2 + self.c**2 * phi**2 * s**2
        by_psi = np.array([-self.c * phi * co * n, n**2 * co, self.c * co * n])
        by_p = np.array([n, self.c * phi * s**2, n * self.a * s + self.c**2 * phi * s**2])
        return np.asarray((by_p * p - by_psi * lever) / F)

    def last(self, c: Array) -> Array:
        """The root of the last square of the printed H_M."""
        psi, phi, p_psi, _, p = c[3:]
        s, n = sin(psi), 1 + self.a * phi * sin(psi)
        K, F = n**2 + self.c**2 * phi**2, n**2 + self.c**2 * phi**2 * s**2
        return np.asarray(K * s / F * p_psi / self.a + self.c * phi * s * cos(psi) / F * p)

    @cached_property
    def mu_derivatives(self) -> Array:
        """d mu_1, d mu_2, d mu_3 as covectors of the chart (3, 8)."""
        return derivative(self.mu, self.chart)


def _states(view: Callable[[PlanarSample], T], kind: str) -> Sampler[T]:
    return Sampler(lambda kind: map(view, points(kind)), (kind,), keep=False)


unreduced_boards = _states(UnreducedSnakeboard, "snakeboard")
boards = _states(Snakeboard, "snakeboard")
bicycles = _states(Bicycle, "bicycle")
