r"""What moves on its own while requirements are held: the linearised internal dynamics.

Where every level of the chains of `inversion.py` vanishes, the state lies on a manifold of
dimension n - sum r that the closed loop does not leave. At a rest x* of the loop on it, with the
requirements frozen at an instant, its tangent space is the null space E of the levels' derivatives,
and the internal dynamics are

    w_dot = E^T F_x(x*) E w          (E orthonormal).

An eigenvalue in the right half plane makes the requirements non-minimum phase: holding them exactly
lets something else grow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...analysis.stability.tangent_space import eigenvalues_with_errors
from ...errors import DalembertError, ModelError, RunError
from ...model.parameter_values import named_parameters
from ...model.symbols import t
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank, solve
from ...typing import Array, ComplexArray, Values
from .affine import Instants

if TYPE_CHECKING:
    from .servo import Servo

__all__ = ["InternalDynamics", "held_state", "linearised_internal_dynamics"]

#: The relative error of the linear part at a rest.
ACCURACY = 1e-13
#: The longest step towards a rest, in units of the state.
REACH = 0.3
#: Of a state (n,): rates and what is held (n + m,), their derivatives (n, n) and (m, n).
Field: TypeAlias = "Callable[[Array], tuple[Array, Array, Array]]"


@dataclass(frozen=True)
class InternalDynamics:
    """The linearised internal dynamics at a rest.

    Attributes
    ----------
    verdict : "none", "stable", "marginal", "unstable" or "undecided"
        Marginal where an eigenvalue cannot be told from the imaginary axis within its error;
        undecided where the closed loop has no rest near the state.
    eigenvalues : array of complex (dimension,)
        By real part, largest first.
    rest : mapping of symbol to value
    why : str
    """

    verdict: str
    eigenvalues: ComplexArray
    rest: Mapping[str, float]
    why: str


def linearised_internal_dynamics(
    loop: Servo, near: Values, parameters: Values | None, time: float
) -> InternalDynamics:
    """See `Servo.internal_dynamics`."""
    nothing = np.zeros(0, dtype=complex)
    if loop.internal <= 0:
        return InternalDynamics("none", nothing, {}, "the requirements determine the state")
    values = named_parameters(loop.system.parameters, parameters)
    place = numbers_by_name(near)
    try:
        frozen = _frozen(loop, place | values, time)
    except DalembertError as error:
        return InternalDynamics("undecided", nothing, {}, str(error))
    symbols = frozen.dynamics.symbols
    field = _field(frozen, values | {"t": time})
    x = _rest(field, np.array([place.get(symbol.name, 0.0) for symbol in symbols]))
    if x is None:
        why = "no rest of the closed loop was found near the state"
        return InternalDynamics("undecided", nothing, {}, why)
    _, derivative, held = field(x)
    tangent = rank(held, 1e-9).null_space
    doubt = ACCURACY * np.abs(tangent.T) @ np.abs(derivative) @ np.abs(tangent)
    eigenvalues, errors = eigenvalues_with_errors(tangent.T @ derivative @ tangent, doubt)
    order = np.lexsort((-eigenvalues.imag, -np.round(eigenvalues.real, 12)))
    eigenvalues, errors = eigenvalues[order], errors[order]
    worst = float(eigenvalues[0].real)
    grows, decays = np.any(eigenvalues.real > errors), np.all(eigenvalues.real < -errors)
    verdict = "unstable" if grows else "stable" if decays else "marginal"
    rest = {symbol.name: float(value) for symbol, value in zip(symbols, x, strict=True)}
    return InternalDynamics(verdict, eigenvalues, rest, f"largest real part {worst:.4g}")


def _field(loop: Servo, values: Mapping[str, float]) -> Field:
    """The rates of the closed loop, what is held, and their derivatives."""
    dynamics, algebra = loop.dynamics, GraphAlgebra()
    state = ca.vertcat(*(algebra.scalar(symbol) for symbol in dynamics.symbols))
    efforts = [algebra.scalar(effort) for effort in loop.efforts.values()]
    pushed = []
    for k, drift in enumerate(dynamics.drift):
        row = [algebra.scalar(entry) for entry in dynamics.fields.row(k)]
        effort = sum((g * u for g, u in zip(row, efforts, strict=True)), ca.SX(0))
        pushed.append(algebra.scalar(drift) + effort)
    rates = ca.vertcat(*pushed)
    held = ca.vertcat(*(algebra.scalar(h) for h in (*loop.inversion.levels, *dynamics.relations)))
    rest = [symbol for symbol in algebra.symbols if symbol not in dynamics.symbols]
    blocks = [ca.vertcat(rates, held), ca.jacobian(rates, state), ca.jacobian(held, state)]
    arguments = [state, *(algebra.symbols[s] for s in rest)]
    function = ca.Function("loop", arguments, [ca.densify(block) for block in blocks])
    numbers = [values.get(s.name, 0.0) for s in rest]

    def field(x: Array) -> tuple[Array, Array, Array]:
        found = function.call([x, *numbers])
        first, second, third = (np.asarray(block, dtype=float) for block in found)
        return first.ravel(), second, third

    return field


def _rest(field: Field, x: Array) -> Array | None:
    """A rest near x, on what is held, by Newton's method with short least steps, or None."""
    for _ in range(200):
        residual, moving, held = field(x)
        derivative = np.vstack([moving, held])
        if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(derivative))):
            return None
        size = 1.0 + np.max(np.abs(derivative)) * np.max(np.abs(x))
        if np.max(np.abs(residual)) <= 1e-12 * size:
            return x
        try:
            step = solve(derivative.T @ derivative, -derivative.T @ residual, gauge=True).z
        except RunError:  # Newton's method has no step
            return None
        x = x + step * min(1.0, REACH / max(float(np.max(np.abs(step))), 1e-300))
    return None


def held_state(
    loop: Servo, near: Values, parameters: Values | None, time: float
) -> dict[str, float]:
    """See `Servo.start`: Newton's method with the least change, by the Gauss solve."""
    values = named_parameters(loop.system.parameters, parameters) | {"t": time}
    place = numbers_by_name(near)
    known = [symbol.name for symbol in loop.dynamics.symbols]
    strange = [name for name in place if name not in known]
    if strange:
        what = f"The closed loop has no symbol `{strange[0]}`"
        raise ModelError(what, ", ".join(known), "name a state in these symbols")
    symbols, levels = loop.dynamics.symbols, loop.inversion.levels
    derivatives = [sympy.diff(h, x) for h in levels for x in symbols]
    x = np.array([place.get(symbol.name, 0.0) for symbol in symbols])
    probe = Instants(values)
    for _ in range(50):
        found = probe.here([*levels, *derivatives], 1, dict(zip(symbols, x, strict=True)))[0]
        if not np.all(np.isfinite(found)):
            break
        residual = found[: len(levels)]
        derivative = found[len(levels) :].reshape(len(levels), len(symbols))
        if np.max(np.abs(residual)) <= 1e-13 * (1.0 + np.max(np.abs(x))):
            return {symbol.name: float(value) for symbol, value in zip(symbols, x, strict=True)}
        x = x + solve(np.eye(len(symbols)), np.zeros(len(symbols)), derivative, -residual).z
    raise RunError(
        "No state was found from which the requirements hold",
        f"a residual of {np.max(np.abs(found[: len(levels)])):.2g}",
        "begin nearer to one, or start off them and let them decay",
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
