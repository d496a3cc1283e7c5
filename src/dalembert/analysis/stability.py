r"""Stability of equilibria: the linearised spectrum, what it proves, and the second variation where it proves nothing.

Everything here is about an equilibrium y* of equations y_dot = F(y): of a reduced system it is a relative equilibrium of the
whole one. The conclusions rest on three theorems, and the verdict names the one it uses:

- Lyapunov's first method: an eigenvalue in the right half plane makes y* unstable; all in the left one, asymptotically stable.
- Lyapunov and Malkin: zero eigenvalues, semi-simple, that belong to a manifold of equilibria of their number, and all others in
  the left half plane: stable, and each nearby motion tends to an equilibrium near y* (which need not be y* itself).
- Energy and Casimirs: where some combination H + Phi(C) has a definite second variation at y*, y* is stable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ..compiled.constrained_solve import rank, solve
from ..compiled.kernel import Kernel, kernel_of, parameter_values
from ..errors import ModelError, RunError, nearest
from ..formulations.equations import Equations
from ..formulations.registry import derive, fastest_form
from ..model.scenario import Scenario
from ..model.system import System
from ..model.values import numbers_by_name
from .tables import Report, Section

__all__ = [
    "LinearMotion",
    "Linearisation",
    "SecondVariation",
    "Stability",
    "linearise",
    "linearise_along",
    "second_variation",
    "stability",
]

#: An eigenvalue whose real part is smaller than this part of the largest one lies on the imaginary axis.
AXIS = 1e-8
#: A point is an equilibrium where its rates are smaller than this part of their terms.
AT_REST = 1e-8
#: How far equilibria are looked for along each neutral direction, in units of the state.
REACH = 1e-4


@dataclass(frozen=True)
class Linearisation:
    """y_dot = F(y) near an equilibrium.

    Attributes
    ----------
    letters : tuple of str (n,)
    point : array (n,)
    matrix : array (n, n)
        dF/dy.
    eigenvalues : array of complex (n,)
        By real part, largest first.
    residual : float
        The largest rate at the point.
    inputs : tuple of str (k,)
        Inputs that are not imposed; they are zero at the point.
    input_matrix : array (n, k)
        dF/du.
    """

    letters: tuple[str, ...]
    point: Any
    matrix: Any
    eigenvalues: Any
    residual: float
    inputs: tuple[str, ...] = ()
    input_matrix: Any = None


@dataclass(frozen=True, repr=False)
class Stability(Report):
    """What is known of an equilibrium.

    Attributes
    ----------
    verdict : "unstable", "asymptotically stable", "stable" or "undecided"
    theorem : str
        What the verdict rests on.
    linearisation : Linearisation
    neutral : int
        The number of zero eigenvalues.
    manifold : bool or None
        Whether they belong to a manifold of equilibria of that dimension.
    """

    verdict: str
    theorem: str
    linearisation: Linearisation
    neutral: int
    manifold: bool | None

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain data."""
        values = self.linearisation.eigenvalues
        return {
            "verdict": self.verdict,
            "theorem": self.theorem,
            "eigenvalues": [[float(v.real), float(v.imag)] for v in values],
            "neutral": self.neutral,
            "manifold": self.manifold,
        }

    def _title(self) -> str:
        return "Stability"

    def _sections(self) -> list[Section]:
        line = self.linearisation
        place = ", ".join(f"{name} = {value:.6g}" for name, value in zip(line.letters, line.point, strict=True))
        values = ", ".join(f"{v.real:.6g}{v.imag:+.6g}i" if abs(v.imag) > 0 else f"{v.real:.6g}" for v in line.eigenvalues)
        return [("Equilibrium", [("at", place), ("eigenvalues", values), (self.verdict, self.theorem)])]


def _kernel(model: Equations | System | Scenario) -> tuple[Kernel, dict[str, float]]:
    """The kernel to linearise, with the values that a scenario gives."""
    values = dict(model.parameters) if isinstance(model, Scenario) else {}
    system = model.system if isinstance(model, Scenario) else model
    equations = system if isinstance(system, Equations) else derive(system, fastest_form(system))
    named = numbers_by_name(values)
    return kernel_of(equations, equations.system.parameters), named


def linearise(
    model: Equations | System | Scenario,
    at: Mapping[Any, Any] | None = None,
    parameters: Mapping[Any, Any] | None = None,
    polish: bool = True,
) -> Linearisation:
    """The linearised equations at an equilibrium.

    Parameters
    ----------
    at : mapping of letter to value
        The equilibrium, by the letters of the state; those that are left out are zero.
    polish : bool
        Improve the point by Newton's method first, with the least change.

    Raises
    ------
    RunError
        Where the point is no equilibrium.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> k = da.parameters("k", positive=True)
    >>> found = linearise(da.System([x], kinetic=x.dot**2/2, potential=k*x**2/2), parameters={k: 4})
    >>> [complex(round(v.real, 12), round(v.imag, 12)) for v in found.eigenvalues]
    [2j, -2j]
    """
    kernel, values = _kernel(model)
    values |= numbers_by_name(parameters)
    letters = tuple(symbol.name for symbol in kernel.equations.state)
    point = np.zeros(len(letters))
    for name, value in numbers_by_name(at).items():
        if name not in letters:
            near = nearest(name, letters)
            raise ModelError(
                f"The state has no letter `{name}`",
                seen=", ".join(letters),
                remedy=f"did you mean {near}" if near else "use one of these",
            )
        point[letters.index(name)] = value
    field = _Field(kernel, parameter_values(kernel.parameters, values))
    if polish:
        point = _polished(field, point)
    rates, matrix, by_inputs = field.with_inputs(point)
    scale = 1.0 + np.max(np.abs(matrix)) * np.max(np.abs(point), initial=0.0)
    residual = float(np.max(np.abs(rates), initial=0.0))
    if not residual <= AT_REST * scale:
        worst = letters[int(np.argmax(np.abs(rates)))]
        raise RunError(
            "The point is no equilibrium",
            seen=f"{worst} changes at the rate {residual:.3g}",
            remedy="start nearer to one, or reduce by the symmetry that moves it (da.reduce)",
        )
    found = np.linalg.eigvals(matrix)
    order = np.lexsort((-found.imag, -np.round(found.real, 12)))
    inputs = tuple(symbol.name for symbol in kernel.free_inputs)
    return Linearisation(letters, point, matrix, found[order], residual, inputs, by_inputs)


class _Field:
    """The rates of a state, (n,), and their slopes by the state (n, n) and by free inputs (n, k)."""

    def __init__(self, kernel: Kernel, values: Any) -> None:
        if kernel.solved is None:
            raise RunError(
                "The equations cannot be linearised",
                seen=f'no direct solve in the form "{kernel.equations.form}"',
                remedy='use a form without dependent constraints, such as "maggi"',
            )
        unknowns = ca.vertcat(kernel.solved.z, kernel.solved.multipliers)
        rates = kernel.algebra.substitute(kernel.graph.rates, kernel._unknown_letters, unknowns)
        letters = [kernel.algebra.vector(group) for group in (kernel.equations.state, kernel.free_inputs)]
        blocks = [rates, *(ca.jacobian(rates, group) for group in letters)]
        self._function = ca.Function("field", kernel._inputs(), [ca.densify(block) for block in blocks])
        self._values, self._idle = values, np.zeros(len(kernel.free_inputs))

    def with_inputs(self, point: Any, time: float = 0.0, inputs: Any = None) -> tuple[Any, Any, Any]:
        """Rates and both slopes; inputs are zero unless given."""
        given = [time, point, self._values, self._idle if inputs is None else inputs, np.zeros(0)]
        first, by_state, by_inputs = self._function.call(given)
        n = len(point)
        shaped = np.asarray(by_inputs, dtype=float).reshape(n, len(self._idle))
        return np.asarray(first, dtype=float).ravel(), np.asarray(by_state, dtype=float).reshape(n, n), shaped

    def __call__(self, point: Any) -> tuple[Any, Any]:
        return self.with_inputs(point)[:2]


@dataclass(frozen=True)
class LinearMotion:
    """Neighbours of a motion: z_dot = A(t) z + B(t) w, for n letters, k free inputs, at nt times.

    Attributes
    ----------
    letters, inputs : tuples of str
    t : array (nt,)
    matrices : array (nt, n, n)
        A.
    input_matrices : array (nt, n, k)
        B.
    """

    letters: tuple[str, ...]
    inputs: tuple[str, ...]
    t: Any
    matrices: Any
    input_matrices: Any


def linearise_along(motion: Any) -> LinearMotion:
    """The equations of neighbours of a motion, by exact derivatives at its points.

    Parameters
    ----------
    motion : Motion
        In one form throughout, without impacts or other choices of independent velocities.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos
    >>> q = da.coordinates("q")
    >>> motion = da.simulate(da.System([q], kinetic=q.dot**2/2, potential=-cos(q)), {q: 1.0}, (0, 1), at=[0, 1])
    >>> linearise_along(motion).matrices[0].round(12).tolist()
    [[0.0, 1.0], [-0.540302305868, 0.0]]
    """
    if len(motion.segments) != 1:
        raise RunError("The motion changes its letters on the way", seen=f"{len(motion.segments)} parts", remedy="use one part")
    kernel = motion.segments[0].book.kernel
    field = _Field(kernel, parameter_values(kernel.parameters, dict(motion.parameters)))
    names = tuple(symbol.name for symbol in kernel.free_inputs)
    given = np.array([motion[name] for name in names]).reshape(len(names), len(motion.t))
    found = [
        field.with_inputs(state, float(time), given[:, k])
        for k, (time, state) in enumerate(zip(motion.t, motion._states[0], strict=True))
    ]
    letters = tuple(symbol.name for symbol in kernel.equations.state)
    return LinearMotion(letters, names, motion.t, np.array([A for _, A, _ in found]), np.array([B for _, _, B in found]))


def _polished(field: Any, point: Any) -> Any:
    """A nearby zero of the field by Newton's method with least steps, or the point itself where there is none."""
    y = point.copy()
    for _ in range(30):
        rates, matrix = field(y)
        if not (np.all(np.isfinite(rates)) and np.all(np.isfinite(matrix))):
            return point
        if np.max(np.abs(rates), initial=0.0) < 1e-14:
            return y
        try:
            # Normal equations through the Gauss problem: the least change that removes the rates.
            step = solve(matrix.T @ matrix, -matrix.T @ rates, gauge=True).z
        except RunError:
            return point
        y = y + step
        if np.max(np.abs(step)) < 1e-15 * (1 + np.max(np.abs(y))):
            return y
    return y


def stability(
    model: Equations | System | Scenario,
    at: Mapping[Any, Any] | None = None,
    parameters: Mapping[Any, Any] | None = None,
) -> Stability:
    """Whether an equilibrium is stable, and by which theorem.

    Parameters
    ----------
    model : Equations, System or Scenario
        Reduced equations (`reduce`) for relative equilibria.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos
    >>> q = da.coordinates("q")
    >>> pendulum = da.System([q], kinetic=q.dot**2/2, potential=-cos(q), dissipation=q.dot**2/5)
    >>> stability(pendulum, {q: 0.01}).verdict, stability(pendulum, {q: 3.1}).verdict
    ('asymptotically stable', 'unstable')
    """
    line = linearise(model, at, parameters)
    values = line.eigenvalues
    size = float(np.max(np.abs(values), initial=0.0)) or 1.0
    if np.max(values.real, initial=-np.inf) > AXIS * size:
        return Stability("unstable", "Lyapunov's first method: an eigenvalue with a positive real part.", line, 0, None)
    zero = int(np.sum(np.abs(values) <= np.sqrt(AXIS) * 1e-2 * size))
    damped = int(np.sum(values.real < -AXIS * size))
    if damped == len(values):
        theorem = "Lyapunov's first method: all eigenvalues have negative real parts."
        return Stability("asymptotically stable", theorem, line, 0, None)
    if zero + damped == len(values):
        manifold = _has_manifold(model, line, parameters, zero)
        if manifold:
            theorem = (
                f"Lyapunov and Malkin: {zero} zero eigenvalues with a manifold of equilibria of that dimension, all others have"
                " negative real parts; a motion that starts nearby tends to an equilibrium nearby, not always to this one."
            )
            return Stability("stable", theorem, line, zero, True)
        theorem = (
            f"{zero} zero eigenvalues without a manifold of equilibria of that dimension: the linear part decides nothing."
        )
        return Stability("undecided", theorem, line, zero, False)
    theorem = (
        f"{len(values) - zero - damped} eigenvalues on the imaginary axis: the linear part decides nothing; a definite second"
        " variation would (second_variation)."
    )
    return Stability("undecided", theorem, line, zero, None)


def _has_manifold(model: Any, line: Linearisation, parameters: Any, zero: int) -> bool:
    """Whether the kernel of the linear part has the dimension of the zero eigenvalues, with equilibria along it."""
    kernel, values = _kernel(model)
    values |= numbers_by_name(parameters)
    field = _Field(kernel, parameter_values(kernel.parameters, values))
    null = rank(line.matrix, 1e-9).null_space
    if null.shape[1] != zero:
        return False
    random = np.random.default_rng(2)
    for _ in range(2 * zero + 2):
        direction = null @ random.standard_normal(zero)
        direction *= REACH * (1 + np.max(np.abs(line.point))) / np.linalg.norm(direction)
        found = _polished(field, line.point + direction)
        moved = found - line.point
        rates, _ = field(found)
        if np.max(np.abs(rates)) > 1e-12 or np.linalg.norm(moved - direction) > 0.1 * np.linalg.norm(direction):
            return False
    return True


@dataclass(frozen=True)
class SecondVariation:
    """The second variation of H + Phi(C_1, ..., C_k) at a critical point of H on the levels of the C.

    Attributes
    ----------
    multipliers : array (k,)
        dPhi/dC_i, from dH + sum dPhi/dC_i dC_i = 0.
    matrix : array (n, n)
        The Hessian of H + sum dPhi/dC_i C_i.
    on_levels : array (n - k,)
        Its eigenvalues on the tangent space of the levels, in ascending order.
    definite : bool
        Whether some Phi makes the whole second variation definite: so just where it is positive definite on the levels, or
        negative definite there (Finsler's lemma; for the negative sign Phi bends the other way).
    """

    multipliers: Any
    matrix: Any
    on_levels: Any
    definite: bool


def second_variation(
    gradient: Any, hessian: Any, casimir_gradients: Sequence[Any], casimir_hessians: Sequence[Any]
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
    slopes = np.array(casimir_gradients, dtype=float).reshape(len(casimir_gradients), len(gradient))
    multipliers = np.zeros(len(slopes))
    if len(slopes):
        multipliers = solve(slopes @ slopes.T, -slopes @ gradient, gauge=True).z
    left = gradient + slopes.T @ multipliers
    size = np.max(np.abs(gradient), initial=0.0) + np.max(np.abs(slopes), initial=0.0) + 1e-300
    if np.max(np.abs(left), initial=0.0) > 1e-8 * size:
        raise RunError(
            "The point is not critical on the levels of the Casimirs",
            seen=f"a slope of {np.max(np.abs(left)):.3g} is left",
            remedy="give a relative equilibrium",
        )
    terms = [hessian, *(m * np.asarray(h) for m, h in zip(multipliers, casimir_hessians, strict=True))]
    matrix = np.sum(terms, axis=0)
    tangent = rank(slopes, 1e-12).null_space if len(slopes) else np.eye(len(gradient))
    basis, _ = np.linalg.qr(tangent)
    values = np.linalg.eigvalsh(basis.T @ matrix @ basis)
    tiny = 1e-10 * (sum(np.max(np.abs(term), initial=0.0) for term in terms) + 1e-300)
    definite = bool(len(values) == 0 or values[0] > tiny or values[-1] < -tiny)
    return SecondVariation(multipliers, matrix, values, definite)
