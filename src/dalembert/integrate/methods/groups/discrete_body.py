r"""The discrete rigid body of Moser and Veselov: a map of rotations that conserves what the body
conserves.

    U_k Lambda - Lambda U_k^T = M_k,      Q_k+1 = Q_k U_k,      M_k+1 = U_k^T M_k U_k
    (Bloch 7.7.49, 7.7.50)

With M = step * (momentum of the continuous body) it follows the free rigid body to second order in
the step. It conserves the spatial momentum Q M Q^T, and because with X = U Lambda

    Lambda^2 + z M - z^2 = (X^T + z)(X - z),       Lambda^2 + z M_+ - z^2 = U^T (X - z)(X^T + z) U,

the spectrum of Lambda^2 + z M for every z: all of Manakov's integrals, the energy of the continuous
body among them. What it errs in is the time. The steps are native code (`steppers.moser_veselov`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ....codegen.native.native_module import NativeModule
from ....errors import ModelError, RunError
from ....geometry.discrete_rotations import LEVEL, largest_factor, not_solvable
from ....geometry.rigid_rotations import (
    body_energy,
    checked_inertias,
    checked_momentum,
    manakov_integrals,
    operator_norm,
    spatial_momentum,
    symmetric_partner,
)
from ....model.read_only import ReadOnlyArrays
from ....typing import ArrayLike
from . import moser_veselov as native_steps

if TYPE_CHECKING:
    from ....typing import Array

__all__ = ["DiscreteMotion", "discrete_rigid_body"]

#: How many steps native code takes before Python looks up.
CHUNK = 100_000
#: An attitude that departs from its transpose's inverse by more than this is no rotation.
ROTATION = 1e-9


@dataclass(frozen=True)
class DiscreteMotion(ReadOnlyArrays):
    """What the discrete rigid body reached.

    Attributes
    ----------
    Lambda : array (n,)
    step : float
    k, t : arrays (samples,)
        The steps taken at each sample, and step * k.
    Q : array (samples, n, n)
        Attitudes.
    M : array (samples, n, n)
        Momenta of the body; the map itself works with step * M.
    statistics : dict
        Newton corrections, factorisations, rotations that the sign function found; seconds, and
        those in native code.
    """

    Lambda: Any
    step: float
    k: Any
    Q: Any
    M: Any
    statistics: dict[str, float] = field(default_factory=dict)

    @property
    def t(self) -> Any:
        """The time of each sample."""
        return self.step * self.k

    @property
    def P(self) -> Any:
        """The second rotation of the symmetric form, with step * M = Q^T P - P^T Q: P_k = (P_0
        Q_0^T) Q_k.

        Raises
        ------
        ModelError
            Where the greatest singular value of step * M exceeds 2.
        """
        partner = symmetric_partner(self.Q[0], self.step * self.M[0])
        return partner @ self.Q[0].T @ self.Q

    @property
    def spatial_momentum(self) -> Any:
        """Q M Q^T (samples, n, n)."""
        return spatial_momentum(self.Q, self.M)

    @property
    def energy(self) -> Any:
        """That of the continuous body, which the map conserves, too (samples,)."""
        return body_energy(self.Lambda, self.M)

    @property
    def norm(self) -> Any:
        """The greatest singular value of M (samples,)."""
        return operator_norm(self.M)

    def drift(self) -> dict[str, float]:
        """How far each invariant departs from its first value: attitudes as they are, the others
        relative to their size.

        Manakov's integrals are taken of M and Lambda that are scaled to one.
        """
        spatial, largest = self.spatial_momentum, float(np.max(np.abs(self.M[0])))
        manakov = manakov_integrals(
            self.Lambda / np.max(self.Lambda), self.M / max(largest, 1e-300)
        )
        identity = np.eye(self.Lambda.size)
        return {
            "orthogonality": float(np.max(np.abs(np.swapaxes(self.Q, 1, 2) @ self.Q - identity))),
            "spatial momentum": float(np.max(np.abs(spatial - spatial[0]))) / max(largest, 1e-300),
            "energy": (
                float(np.max(np.abs(self.energy - self.energy[0])))
                / max(float(self.energy[0]), 1e-300)
            ),
            "manakov": max(
                float(np.max(np.abs(value - value[0]) / (1 + abs(value[0]))))
                for value in manakov.values()
            ),
        }


def discrete_rigid_body(
    Lambda: ArrayLike,
    M: ArrayLike,
    Q: ArrayLike | None = None,
    *,
    steps: int,
    every: int = 1,
    step: float = 1.0,
) -> DiscreteMotion:
    r"""Steps of the discrete rigid body of Moser and Veselov.

    Parameters
    ----------
    Lambda : sequence of n positive numbers
    M : matrix (n, n)
        The momentum at the start, skew.
    Q : matrix (n, n), optional
        The attitude at the start, made orthogonal to rounding; the identity where it is not given.
    steps : int
    every : int
        A sample is stored at the start and after each `every` steps.
    step : float
        The map takes step * M, and stands for a time of this length.

    Raises
    ------
    ModelError
        Where step * M is beyond what U Lambda - Lambda U^T can be; the message says by how much.

    Examples
    --------
    >>> import dalembert as da
    >>> M = [[0, -0.5, -0.4], [0.5, 0, -0.3], [0.4, 0.3, 0]]
    >>> motion = da.lie.discrete_rigid_body([1.0, 2.0, 3.0], M, steps=1000, every=100)
    >>> motion.Q.shape
    (11, 3, 3)
    >>> max(motion.drift().values()) < 1e-14
    True
    """
    begun = perf_counter()
    inertias = checked_inertias(Lambda, positive=True)
    n = inertias.size
    momentum = checked_momentum(M, n)
    attitude = _checked_attitude(Q, n)
    if momentum.ndim != 2:
        raise ModelError(
            "The momentum at the start must be one matrix",
            seen=f"shape {momentum.shape}",
            remedy=f"pass {n} x {n}",
        )
    for name, value, least in (("steps", steps, 0), ("every", every, 1)):
        if int(value) != value or value < least:
            raise ModelError(
                f"`{name}` must be an integer of at least {least}",
                seen=value,
                remedy="pass a whole number",
            )
    if not (np.isfinite(step) and step != 0):
        raise ModelError(
            "`step` must be a number other than zero", seen=step, remedy="pass step=0.01, say"
        )
    if (
        not np.all(np.isfinite(momentum))
        or not largest_factor(inertias, step * momentum) > 1 + LEVEL
    ):
        raise not_solvable(inertias, step * momentum)
    motion = _Run(inertias, step * momentum, attitude, int(steps), int(every)).motion(step)
    motion.statistics["seconds"] = perf_counter() - begun
    return motion


def _checked_attitude(Q: ArrayLike | None, n: int) -> Array:
    attitude = np.eye(n) if Q is None else np.array(Q, dtype=float)
    departure = (
        np.inf
        if attitude.shape != (n, n)
        else float(np.max(np.abs(attitude.T @ attitude - np.eye(n))))
    )
    if not departure <= ROTATION or np.linalg.det(attitude) < 0:
        raise ModelError(
            "The attitude at the start is no rotation",
            seen=(
                f"shape {attitude.shape}"
                if attitude.shape != (n, n)
                else f"Q^T Q - 1 of size {departure:.1e}"
            ),
            remedy=f"pass an orthogonal {n} x {n} matrix with determinant 1",
        )
    return attitude


class _Run:
    """The arrays that native code works on."""

    def __init__(
        self, inertias: Array, momentum: Array, attitude: Array, steps: int, every: int
    ) -> None:
        n = inertias.size
        self.size, self.steps, self.every = n, steps, every
        self.inertias, self.momentum, self.attitude = inertias, momentum, attitude
        self.scale = 2.0 ** (np.floor(np.log2(np.max(inertias))) + 2)
        self.scaled = inertias / self.scale
        self.state = np.zeros(7 * n * n + 2 * n + 1)
        self.counts = native_steps.BodyCounts()
        self.work = np.zeros(native_steps.work_size(n))
        self.order = np.zeros(2 * n + n * (n - 1) // 2, np.int64)
        samples = steps // every
        self.attitudes, self.momenta = np.zeros((samples + 1, n, n)), np.zeros((samples + 1, n, n))

    def motion(self, step: float) -> DiscreteMotion:
        n, functions = self.size, _functions()
        begun = perf_counter()
        functions["first_state"](
            n, self.scaled, self.attitude, self.momentum / self.scale, self.state, self.work
        )
        first = self.state[: 4 * n * n].reshape(2, 2, n, n).sum(axis=1)
        self.attitudes[0], self.momenta[0] = first
        status = functions["first_rotation"](
            n, self.scaled, self.state, self.counts, self.work, self.order
        )
        functions["begin"](n, self.scaled, self.state)
        left, samples = self.steps, (self.attitudes[1:], self.momenta[1:])
        arrays = (self.state, self.counts, *samples, self.work, self.order)
        while left > 0 and status == native_steps.FINISHED:
            chunk = min(left, CHUNK)
            status = functions["steps_of_body"](n, chunk, self.every, self.scaled, *arrays)
            left -= chunk
        native = perf_counter() - begun
        if status != native_steps.FINISHED:
            raise RunError(
                f"No rotation was found for step {self.counts.done + 1}",
                seen=(
                    f"a momentum {1 / largest_factor(self.inertias, self.momentum):.10g} times the"
                    " largest"
                ),
                remedy="take a shorter step",
            )
        counts = {
            name: float(getattr(self.counts, field)) for name, field in STATISTICS.items()
        } | {"native_seconds": native}
        sampled = self.every * np.arange(len(self.attitudes))
        return DiscreteMotion(
            self.inertias, step, sampled, self.attitudes, self.momenta * self.scale / step, counts
        )


STATISTICS = {
    "corrections": "iterations",
    "factorisations": "factorisations",
    "sign_iterations": "signs",
}


@cache
def _functions() -> dict[str, Any]:
    entries: list[Callable[..., Any]] = [
        native_steps.first_state,
        native_steps.first_rotation,
        native_steps.begin,
        native_steps.steps_of_body,
    ]
    return NativeModule(entries).functions
