"""Random motions in quasi-velocities: L* and its momenta, with eta_alpha = 0 put in or not.

Everything is by complex steps; a `ConstrainedQuasiMotion` takes the library's symbols W and T.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...analysis.variational.principles import PrincipleIntegrands, principle_integrands
from ...integrate.simulate import simulate
from ...model.symbols import t
from ...typing import Array
from ..independent.instant_samples import (
    MotionSample,
    QuasiSample,
    quasi_instants,
    solved_near,
)
from ..numeric import derivative
from ..samples import Sampler


@dataclass(frozen=True)
class QuasiMotion:
    """A motion at one instant in quasi-velocities, with a displacement dpi = (sigma, 0)."""

    s: MotionSample
    view: QuasiSample

    @property
    def k(self) -> int:
        """The number of free quasi-velocities."""
        return self.s.k

    @property
    def frame(self) -> Any:
        """F_is of the free quasi-velocities, (n, k)."""
        return self.view.frame[:, : self.k]

    @property
    def turning(self) -> Any:
        """d/dt F_is of all quasi-velocities, (n, n)."""
        view = self.view
        return view.rate(lambda q, v, time: np.linalg.inv(view.quasi.rows(q, v, time)))

    def momenta_at(self, q: Array, v: Array, time: float) -> Array:
        """dL*/d eta = F_eta^T p as a function of (q, v, t), (n,)."""
        return np.linalg.solve(self.view.quasi.rows(q, v, time).T, self.s.model.momenta(q, v, time))

    @cached_property
    def y(self) -> Array:
        """dL*/d eta_r, all n of them."""
        return self.momenta_at(self.s.q, self.s.v, self.s.time)

    @cached_property
    def y_rate(self) -> Any:
        """Their time derivatives."""
        return self.view.rate(self.momenta_at)

    @property
    def W(self) -> Any:
        """W_s^r, (n, k)."""
        return self.view.W[:, : self.k]

    @property
    def T(self) -> Any:
        """T_s^i, (n, k)."""
        return self.view.T[:, : self.k]

    def lagrangian(self, q: Array, eta: Array, time: float) -> Any:
        """L*(q, eta, t)."""
        return self.s.model.lagrangian(q, self.view.velocities(q, eta, time), time)

    @cached_property
    def by_pi(self) -> Any:
        """dL*/dpi_s, (k,)."""
        return self.view.by_pi(self.lagrangian)[: self.k]

    @cached_property
    def d_eta(self) -> Any:
        """The variations of all quasi-velocities by the transitivity equations (1.19), (n,)."""
        return np.concatenate([self.s.sigma_dot, np.zeros(self.s.model.r)]) - self.W @ self.s.sigma

    @property
    def boundary_rate(self) -> float:
        """d/dt (y_s dpi_s)."""
        return float(self.y_rate[: self.k] @ self.s.sigma + self.y[: self.k] @ self.s.sigma_dot)

    @cached_property
    def integrands(self) -> PrincipleIntegrands:
        """`principle_integrands` on a short motion from here, with the same dpi and its rate."""
        s, system = self.s, self.s.model.system
        names = [symbol.name for symbol in (*system.coordinates, *system.velocities)]
        start = dict(zip(names, s.state, strict=True))
        motion = simulate(system, start, (s.time, s.time + 0.3), rtol=1e-11)
        pairs = zip(s.sigma, s.sigma_dot, strict=True)
        variation = {f"quasi{k + 1}": a + b * (t - s.time) for k, (a, b) in enumerate(pairs)}
        stated = self.view.quasi.expressions()
        return principle_integrands(motion, variation, quasi_velocities=stated)

    def hamiltonian(self, q: Array, y: Array, time: float) -> Any:
        """H*(q, y, t) = y_r eta_r - L* of all n momenta, near this state (Rumyantsev 3.5)."""
        jacobian = self._momenta_derivative
        v = solved_near(lambda x: self.momenta_at(q, x, time), self.s.v, y, jacobian)
        return y @ self.view.quasi.definition(q, v, time) - self.s.model.lagrangian(q, v, time)

    @cached_property
    def _momenta_derivative(self) -> Array:
        return derivative(lambda v: self.momenta_at(self.s.q, v, self.s.time), self.s.v)

    @cached_property
    def hamiltonian_by_pi(self) -> Any:
        """dH*/dpi_s = F_is dH*/dq_i at fixed y, (k,)."""
        by_q = derivative(lambda x: self.hamiltonian(x, self.y, self.s.time), self.s.q)
        return by_q @ self.frame

    @cached_property
    def hamiltonian_by_y(self) -> Array:
        """dH*/dy_r, (n,)."""
        return derivative(lambda y: self.hamiltonian(self.s.q, y, self.s.time), self.y)


@dataclass(frozen=True)
class ConstrainedQuasiMotion:
    """A motion with eta_alpha = 0 put in: Theta*, and the Hamiltonian of its k momenta."""

    item: QuasiMotion

    @property
    def k(self) -> int:
        """The number of free quasi-velocities."""
        return self.item.k

    @property
    def s(self) -> MotionSample:
        """The motion."""
        return self.item.s

    @property
    def _library(self) -> dict[str, Array] | None:
        """The library's values, for quasi-velocities that it can invert."""
        return None if self.item.view.quasi.bent else self.item.view.library

    @cached_property
    def y(self) -> Array:
        """T*_eta_r at eta_alpha = 0, (n,)."""
        return self._library["lagrangian_by_eta"] if self._library else self.item.y

    @cached_property
    def W(self) -> Array:
        """W_s^r, (n, k)."""
        return self.item.view.public.W

    @cached_property
    def T(self) -> Array:
        """T_s^i, (n, k)."""
        return self.item.view.public.T

    @property
    def p(self) -> Any:
        """T_q_dot_i at eta_alpha = 0, (n,)."""
        return self.s.library["momenta"] if self._library else self.s.p

    def velocities(self, q: Array, eta: Array, time: float) -> Any:
        """F(q, (eta_s, 0), t), (n,)."""
        return self.item.view.velocities(q, np.concatenate([eta, np.zeros(self.s.model.r)]), time)

    def kinetic(self, q: Array, eta: Array, time: float) -> Any:
        """Theta*(q, eta_s, t)."""
        return self.s.model.kinetic(q, self.velocities(q, eta, time), time)

    def lagrangian(self, q: Array, eta: Array, time: float) -> Any:
        """Theta* + U."""
        return self.s.model.lagrangian(q, self.velocities(q, eta, time), time)

    def momenta(self, q: Array, eta: Array, time: float) -> Array:
        """Theta*_eta_s, (k,)."""
        return self.item.momenta_at(q, self.velocities(q, eta, time), time)[: self.k]

    @property
    def eta(self) -> Any:
        """The free quasi-velocities, (k,)."""
        return self.item.view.eta[: self.k]

    @cached_property
    def by_eta(self) -> Array:
        """Theta*_eta_s, (k,), by complex steps."""
        return derivative(lambda e: self.kinetic(self.s.q, e, self.s.time), self.eta)

    @cached_property
    def by_pi(self) -> Any:
        """d(Theta* + U)/dpi_s, (k,)."""
        by_q = derivative(lambda x: self.lagrangian(x, self.eta, self.s.time), self.s.q)
        return by_q @ self.item.frame

    @cached_property
    def hessian(self) -> Array:
        """Theta*_eta_eta, (k, k)."""
        return derivative(lambda e: self.momenta(self.s.q, e, self.s.time), self.eta)

    def hamiltonian(self, q: Array, y: Array, time: float) -> Any:
        """H*(q, y_s, t) = y_s eta_s - Theta* - U near this state (Rumyantsev 3.14)."""
        eta = solved_near(lambda e: self.momenta(q, e, time), self.eta, y, self.hessian)
        return y @ eta - self.lagrangian(q, eta, time)

    @cached_property
    def hamiltonian_by_pi(self) -> Any:
        """dH*/dpi_s, (k,)."""
        y = self.y[: self.k]
        by_q = derivative(lambda x: self.hamiltonian(x, y, self.s.time), self.s.q)
        return by_q @ self.item.frame

    def variation(self, d_eta: Array) -> float:
        """d(Theta* + U) for d_eta of the free quasi-velocities."""
        return float(self.by_eta @ d_eta + self.by_pi @ self.s.sigma)

    @property
    def d_eta(self) -> Any:
        """The variations of the free quasi-velocities by (1.19), (k,)."""
        return self.s.sigma_dot - self.W[: self.k] @ self.s.sigma

    def canonical_variation(self, d_eta: Array) -> float:
        """d(y_s eta_s - H*) for d_eta, dpi and a dy of its own."""
        s, y = self.s, self.y[: self.k]
        dq, dy = self.item.frame @ s.sigma, np.array([0.6, -0.9])[: self.k]
        along = derivative(
            lambda e: self.hamiltonian(s.q + e[0] * dq, y + e[0] * dy, s.time), [0.0]
        )
        return float(y @ d_eta + self.eta @ dy - along[0])

    @property
    def work(self) -> float:
        """T_q_dot_i T_s^i dpi_s."""
        return float(self.p @ self.T @ self.s.sigma)

    @property
    def bound_work(self) -> float:
        """T*_eta_alpha W_s^alpha dpi_s."""
        return float(self.bound_symbols @ self.s.sigma)

    @property
    def inverse_work(self) -> float:
        """T*_eta_alpha f_alpha,i T_s^i dpi_s."""
        symbols = self.y[self.k :] @ self.item.view.rows[self.k :] @ self.T
        return float(symbols @ self.s.sigma)

    @property
    def bound_symbols(self) -> Array:
        """T*_eta_alpha W_s^alpha, (k,)."""
        return self.y[self.k :] @ self.W[self.k :]


#: Quasi-velocities without an inverse in closed form ("bent"), and those the library can invert.
quasi = Sampler(
    lambda sort: [QuasiMotion(*pair) for pair in quasi_instants(sort == "bent")],
    ("bent", "straight"),
)
bent, straight = quasi.of("bent"), quasi.of("straight")
constrained = quasi.map(ConstrainedQuasiMotion)
