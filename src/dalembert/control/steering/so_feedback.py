r"""Stabilisation of Brockett's form on so(n), x_dot = u, Y_dot = x u^T - u x^T.

Bloch and others, Supplement, section 6.3.

A pass takes one pair +-i omega out of the spectrum of Y, the largest:

1. *align*: u = -lambda x + Y^T Y x with lambda = omega^2 the largest eigenvalue of Y^T Y. The
   spectrum of Y stays, and x tends to the eigenspace of lambda.
2. *check* that it has arrived. Where it cannot, since x has no part there, or would take too long,
   x is seeded again.
3. *empty*: u = Y x. |x| stays, omega decays like exp(-|x|^2 t), all other pairs stay.
4. *return*: u = -x. Y stays, x goes to zero.

After 3 x is orthogonal to the eigenspaces that are left, and 1 would only shrink it: x must be
**seeded again** before the next pass. Moves along a ray, u parallel to x, never change Y: so x
returns to zero and goes out along another ray, by default an eigenvector of Y^T Y with its now
largest eigenvalue. There are at most floor(n/2) pairs, and as many passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log
from typing import TypeAlias

import numpy as np

from ...analysis.tables import Report, Section
from ...errors import ModelError, RunError
from ...formulations.equations import Equations
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.builders.brockett_form import brockett_form, brockett_law
from ...model.flow_system import Flow
from ...model.symbols import Parameter
from ...typing import Array, ArrayLike
from .stages import Stage, Stages

__all__ = ["Pass", "SoStabilisation", "stabilise_so"]

#: x has arrived where |Y^T Y x - lambda x| is below this part of lambda |x|.
ALIGNED = 1e-10
#: Eigenvalues of Y^T Y this near to the largest one, relatively, belong to it.
TOGETHER = 1e-6
#: The longest alignment, in units of 1/lambda; what would take longer is seeded again.
PATIENCE = 300.0
#: The least share of x in the eigenspace of the largest eigenvalue.
SHARE = 1e-3

#: Where random rays come from; None for eigenvectors.
Rays: TypeAlias = "np.random.Generator | None"


@dataclass(frozen=True)
class Pass:
    """One pass of the algorithm.

    Attributes
    ----------
    seeded : bool
        Whether x went out along a new ray.
    before, after : arrays (n,)
        The spectrum of Y^T Y, largest first, before 1 and after 3.
    aligned : array (n,)
        The spectrum after 1.
    misalignment : float
        |Y^T Y x - lambda x| / (lambda |x|) when 3 began.
    times : tuple of float
        When the pass began, and when its steps 1, 3 and 4 ended.
    """

    seeded: bool
    before: Array
    aligned: Array
    after: Array
    misalignment: float
    times: tuple[float, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SoStabilisation(Report):
    """A run of the algorithm.

    Attributes
    ----------
    n : int
    passes : tuple of Pass
    stages : Stages
        Every step as a Motion.
    x, Y : arrays (n,), (n, n)
        At the end.
    tolerance : float
    """

    n: int
    passes: tuple[Pass, ...]
    stages: Stages
    x: Array
    Y: Array
    tolerance: float

    @property
    def final_norm(self) -> float:
        """The larger of |x| and the spectral norm of Y at the end."""
        return float(max(np.linalg.norm(self.x), np.sqrt(spectrum(self.Y)[0])))

    @property
    def success(self) -> bool:
        """Whether that is below the tolerance."""
        return self.final_norm <= self.tolerance

    def _title(self) -> str:
        return f"Stabilisation on so({self.n})"

    def _sections(self) -> list[Section]:
        rows = []
        for number, one in enumerate(self.passes, start=1):
            left = ", ".join(f"{value:.3g}" for value in one.after[::2])
            seeded = "seeded" if one.seeded else "as it was"
            text = f"lambda {one.before[0]:.6g}, x {seeded}; left of the spectrum {left}"
            rows.append((f"pass {number}", text))
        at = f" at t = {self.stages.t[-1]:.4g}" if len(self.stages) else ""
        return [("Passes", rows), ("End", [("norm", f"{self.final_norm:.3g}{at}")])]


def spectrum(Y: ArrayLike) -> Array:
    """The eigenvalues of Y^T Y, largest first; nothing below zero."""
    return np.maximum(np.linalg.eigvalsh(np.asarray(Y).T @ np.asarray(Y))[::-1], 0.0)


def stabilise_so(
    x0: ArrayLike,
    Y0: ArrayLike,
    *,
    tolerance: float = 1e-6,
    size: float = 1.5,
    seed: str = "eigenvector",
    random: int = 0,
    rtol: float = 1e-11,
) -> SoStabilisation:
    """Bring x and Y of Brockett's form on so(n) to zero by the algorithm of four steps.

    Parameters
    ----------
    x0 : array (n,)
    Y0 : array (n, n), skew
    tolerance : float
        What |x| and |Y| must be below at the end.
    size : float
        |x| after a seed; the time of step 3 goes with its inverse square.
    seed : "eigenvector" or "random"
        The ray along which x goes out again: one that is aligned already, or any.
    random : int
        The seed of the random rays.
    rtol : float

    Examples
    --------
    >>> import numpy as np
    >>> found = stabilise_so([0.2, 1.1, 1.1], [[0, 0.1, -0.2], [-0.1, 0, 3], [0.2, -3, 0]])
    >>> len(found.passes), found.success, found.passes[0].before.round(4).tolist()
    (1, True, [9.05, 9.05, 0.0])
    """
    x, Y = np.asarray(x0, dtype=float), np.asarray(Y0, dtype=float)
    n = len(x) if x.ndim == 1 else 0
    tiny = 1e-12 * (1 + np.abs(Y).max(initial=0.0))
    if n < 2 or Y.shape != (n, n) or not np.allclose(Y, -Y.T, atol=tiny):
        what = "x must be a vector and Y a skew matrix of its size"
        raise ModelError(what, (x.shape, Y.shape), "Y = -Y^T, n >= 2")
    if seed not in ("eigenvector", "random") or not (tolerance > 0 and size > 0):
        what = "The seed, the size or the tolerance is none"
        raise ModelError(what, (seed, size, tolerance), 'seed="random"')
    rays = np.random.default_rng(random) if seed == "random" else None
    run = _SoRun(x, Y, 0.3 * tolerance, size, rtol, rays)
    passes: list[Pass] = []
    while np.sqrt(spectrum(run.Y)[0]) > run.small and len(passes) < n // 2:
        passes.append(run.one_pass(first=not passes))
    run.return_home()
    return SoStabilisation(n, tuple(passes), Stages(tuple(run.stages)), run.x, run.Y, tolerance)


@cache
def _laws(n: int) -> tuple[Flow, dict[str, Equations]]:
    """The form, and its closed loops by step; `lambda` and the ray are parameters."""
    flow = brockett_form(n)
    rate = Parameter("lambda")
    ray = {u: Parameter(f"ray_{k}") for k, u in enumerate(flow.inputs, start=1)}
    laws = {
        "align": brockett_law(flow, alpha=rate, gamma=1),
        "empty": brockett_law(flow, beta=1),
        "return": brockett_law(flow, alpha=1),
        "out": ray,
    }
    return flow, {name: derive(flow.driven(law)) for name, law in laws.items()}


class _SoRun:
    """One run: the state, the time, and the stages so far."""

    def __init__(
        self, x: Array, Y: Array, small: float, size: float, rtol: float, random: Rays
    ) -> None:
        self.x, self.Y, self.small, self.size = x, Y, small, size
        self.rtol, self.random = rtol, random
        self.flow, self.laws = _laws(len(x))
        self.time = 0.0
        self.stages: list[Stage] = []

    def _go(self, name: str, duration: float, parameters: dict[str, float] | None = None) -> None:
        start = {f"x_{k}": float(value) for k, value in enumerate(self.x, start=1)}
        start |= self.flow.start(Y=self.Y)
        span = (self.time, self.time + duration)
        law = self.laws[name]
        motion = simulate(law, start, span, parameters=parameters or {}, rtol=self.rtol)
        if not motion.outcome.is_success:
            what = f"The step `{name}` ended early"
            raise RunError(what, str(motion.outcome), "choose a smaller start")
        self.stages.append(Stage(name, motion))
        self.time += duration
        self.x = np.array([motion[f"x_{k}"][-1] for k in range(1, len(self.x) + 1)])
        self.Y = motion["Y"][-1]

    def one_pass(self, first: bool) -> Pass:
        """Steps 1 to 4, for the largest pair."""
        began, before = self.time, spectrum(self.Y)
        seeded = not (first and self._can_align())
        if seeded:
            self.reseed()
        self.align()
        aligned, missed, middle = spectrum(self.Y), self._misalignment(), self.time
        if self.random is not None or np.linalg.norm(self.x) < self.size / 2:
            self._stretch()
        pair = float(np.sqrt(aligned[0]))
        self._go("empty", max(log(pair / (0.1 * self.small)), 1.0) / float(self.x @ self.x))
        end = self.time
        self.return_home()
        times = (began, middle, end, self.time)
        return Pass(seeded, before, aligned, spectrum(self.Y), missed, times)

    # -- step 1 and what it needs ------------------------------------------------------------------

    def _top(self) -> tuple[float, float, Array]:
        """The largest eigenvalue of Y^T Y, the next smaller one, and a basis of its eigenspace."""
        values, vectors = np.linalg.eigh(self.Y.T @ self.Y)
        own = values > (1 - TOGETHER) * values[-1]
        return float(values[-1]), float(values[~own].max(initial=0.0)), vectors[:, own]

    def _misalignment(self) -> float:
        largest, _, _ = self._top()
        length = float(np.linalg.norm(self.x))
        missed = float(np.linalg.norm(self.Y.T @ (self.Y @ self.x) - largest * self.x))
        return missed / (largest * length + 1e-300)

    def _can_align(self) -> bool:
        largest, following, space = self._top()
        length = float(np.linalg.norm(self.x))
        share = float(np.linalg.norm(space.T @ self.x)) / (length + 1e-300)
        near = length > 1e-3 * self.size and share > SHARE
        return near and log(1 / ALIGNED) / (largest - following) < PATIENCE / largest

    def align(self) -> None:
        """Step 1, until x is in the eigenspace; step 2 is the question after each stretch of it."""
        for _ in range(8):
            missed = self._misalignment()
            if missed <= ALIGNED:
                return
            largest, following, _ = self._top()
            duration = (log(missed / ALIGNED) + 1.0) / (largest - following)
            self._go("align", duration, {"lambda": largest})
        if self._misalignment() > 1e-6:
            self.reseed()

    def reseed(self) -> None:
        """To zero, and out along another ray."""
        self.return_home()
        largest, following, space = self._top()
        ray = space[:, 0]
        is_soon = log(1 / ALIGNED) / (largest - following) < PATIENCE / largest
        if self.random is not None and is_soon:
            ray = self.random.normal(size=len(self.x))
            ray = ray / np.linalg.norm(ray)
        self._out(ray * self.size)

    def _out(self, step: Array) -> None:
        self._go("out", 1.0, {f"ray_{k}": float(value) for k, value in enumerate(step, start=1)})

    def _stretch(self) -> None:
        """Along its own ray to the wanted length."""
        length = float(np.linalg.norm(self.x))
        self._out(self.x / length * (self.size - length))

    def return_home(self) -> None:
        """Step 4."""
        length = float(np.linalg.norm(self.x))
        if length > self.small:
            self._go("return", log(length / (0.1 * self.small)))
