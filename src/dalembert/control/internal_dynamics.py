r"""What moves on its own while requirements are held: the linearised internal dynamics.

Where every level of the chains of `inversion.py` vanishes, the state lies on a manifold of dimension n - sum r that the closed
loop does not leave. At a rest x* of the loop on it, with the requirements frozen at an instant, its tangent space is the null space
E of the levels' slopes, and the internal dynamics are

    w_dot = E^T F_x(x*) E w          (E orthonormal).

An eigenvalue in the right half plane makes the requirements non-minimum phase: holding them exactly lets something else grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ..analysis.stability import linearise
from ..compiled.constrained_solve import rank, solve
from ..errors import DalembertError, RunError
from ..model.symbols import t
from .affine import Instants

if TYPE_CHECKING:
    from .servo import Servo

__all__ = ["InternalDynamics", "held_state", "linearised_internal_dynamics"]

#: Real parts smaller than this part of the largest eigenvalue lie on the imaginary axis.
AXIS = 1e-7


@dataclass(frozen=True)
class InternalDynamics:
    """The linearised internal dynamics at a rest.

    Attributes
    ----------
    verdict : "none", "stable", "marginal", "unstable" or "undecided"
        Undecided where the closed loop has no rest near the state, or constraints stand in the way.
    eigenvalues : array of complex (dimension,)
        By real part, largest first.
    rest : mapping of letter to value
    why : str
    """

    verdict: str
    eigenvalues: Any
    rest: Mapping[str, float]
    why: str


def linearised_internal_dynamics(
    loop: Servo, near: Mapping[Any, Any], parameters: Mapping[Any, Any] | None, time: float
) -> InternalDynamics:
    """See `Servo.internal_dynamics`."""
    nothing = np.zeros(0, dtype=complex)
    if loop.internal <= 0:
        return InternalDynamics("none", nothing, {}, "the requirements determine the state")
    values = {str(getattr(key, "name", key)): float(value) for key, value in (parameters or {}).items()}
    place = {str(getattr(key, "name", key)): float(value) for key, value in near.items()}
    try:
        frozen = _frozen(loop, place | values, time)
        known = {symbol.name for symbol in frozen.dynamics.letters}
        found = linearise(
            frozen.system,  # type: ignore[arg-type]
            {name: value for name, value in place.items() if name in known},
            {name: value for name, value in values.items() if name in {p.name for p in frozen.system.parameters}},
        )
    except DalembertError as error:
        return InternalDynamics("undecided", nothing, {}, str(error))
    if set(found.letters) != known:
        return InternalDynamics("undecided", nothing, {}, "the closed loop has constraints of its own")
    rest = dict(zip(found.letters, map(float, found.point), strict=True))
    letters = {symbol.name: symbol for symbol in frozen.dynamics.letters}
    levels = frozen.inversion.levels
    slopes = [sympy.diff(h, letters[name]) for h in levels for name in found.letters]
    slope = Instants(rest | values).here(slopes, len(levels))
    tangent = rank(slope, 1e-9).null_space
    eigenvalues = np.linalg.eigvals(tangent.T @ found.matrix @ tangent)
    eigenvalues = eigenvalues[np.lexsort((-eigenvalues.imag, -np.round(eigenvalues.real, 12)))]
    size = max(1e-12, float(np.max(np.abs(found.matrix))))
    worst = float(eigenvalues[0].real)
    verdict = "unstable" if worst > AXIS * size else "stable" if worst < -AXIS * size else "marginal"
    return InternalDynamics(verdict, eigenvalues, rest, f"largest real part {worst:.4g}")


def held_state(loop: Servo, near: Mapping[Any, Any], parameters: Mapping[Any, Any] | None, time: float) -> dict[str, float]:
    """See `Servo.start`: Newton's method with the least change, by the Gauss solve with the identity for a metric."""
    values = {str(getattr(key, "name", key)): float(value) for key, value in (parameters or {}).items()} | {"t": time}
    place = {str(getattr(key, "name", key)): float(value) for key, value in near.items()}
    letters, levels = loop.dynamics.letters, loop.inversion.levels
    slopes = [sympy.diff(h, x) for h in levels for x in letters]
    x = np.array([place.get(symbol.name, 0.0) for symbol in letters])
    probe = Instants(values)
    for _ in range(50):
        found = probe.here([*levels, *slopes], 1, dict(zip(letters, x, strict=True)))[0]
        if not np.all(np.isfinite(found)):
            break
        residual, slope = found[: len(levels)], found[len(levels) :].reshape(len(levels), len(letters))
        if np.max(np.abs(residual)) <= 1e-13 * (1.0 + np.max(np.abs(x))):
            return {symbol.name: float(value) for symbol, value in zip(letters, x, strict=True)}
        x = x + solve(np.eye(len(letters)), np.zeros(len(letters)), slope, -residual).z
    raise RunError(
        "No state was found from which the requirements hold",
        seen=f"a residual of {np.max(np.abs(found[: len(levels)])):.2g}",
        remedy="begin nearer to one, or start off them and let them decay",
    )


def _frozen(loop: Servo, near: Mapping[str, float], time: float) -> Servo:
    """The loop of the same requirements as they are at one time."""
    from .servo import servo

    if not any(h.has(t) for h, _ in loop.requirements.values()):
        return loop
    moment = {t: sympy.Float(time)}
    return servo(
        loop.plant,
        {name: h.xreplace(moment) for name, (h, _) in loop.requirements.items()},
        actuators=list(loop.efforts),
        weight=loop.weight,
        rate={name: k for name, (_, k) in loop.requirements.items()},
        near=near,
    )
