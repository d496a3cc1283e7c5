r"""Equations linearised about an equilibrium or a steady motion, on the constraint tangent space.

A state y obeys constraints c(y) = 0: holonomic ones at position and at velocity level, the others
at velocity level. The deviations that they admit are ker c_y. They are written in as many of the
state variables as that space has dimensions,

    delta y = B w,   w = deviations of the independent variables,   w_dot = (A B)_independent w,

with A = dF/dy. About a steady motion F = sum xi_a X_a (`symmetry_directions`), A is replaced by
A - D(sum xi_a X_a), and the directions X_a of the symmetry are divided out: what is left is the
motion seen from the frame that moves along. The zero eigenvalues that a symmetry brings are then
known by structure, and do not depend on rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...errors import FormError, ModelError, RunError
from ...formulations.equations import Equations
from ...formulations.registry import derive, fastest_form
from ...geometry.actions import GroupAction
from ...integrate.motion import Motion
from ...integrate.start import consistent_start
from ...model.parameter_values import parameter_values
from ...model.scenario import Scenario
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.kernel import Kernel, kernel_of
from ...typing import Array, ComplexArray, Fields, Symbols, Values
from ..tables import Report, Section
from .linear_field import LinearField
from .steady_point import check_gaps, consistent_point, moved_values, polished, shown_moves
from .symmetry_directions import symmetry_directions
from .tangent_space import (
    EPSILON,
    ConstraintTangent,
    LinearQuotient,
    eigenvalues_with_errors,
    scales,
)

if TYPE_CHECKING:
    from .modes import Modes

__all__ = ["LinearMotion", "LinearPoint", "Linearisation", "linearise", "linearise_along"]

#: What is not proved where an operation switches at the point.
SMOOTH = (
    "the equations are differentiable at the point, where |x|, Max or another operation switches"
)
#: A point is steady where what is left of its rates is smaller than this part of their terms.
AT_REST = 1e-8


@dataclass(frozen=True, repr=False)
class Linearisation(Report):
    """w_dot = A w near an equilibrium or a steady motion; w: deviations of d independent variables.

    Attributes
    ----------
    symbols : tuple of str (n,)
        The variables of the state.
    point : array (n,)
    independent : tuple of str (d,)
        The variables whose deviations are w.
    basis : array (n, d)
        The deviation of the state is ``basis @ w``.
    matrix : array (d, d)
    eigenvalues : array of complex (d,)
        By real part, largest first.
    errors : array (d,)
        Bounds of the rounding errors of the eigenvalues, of first order in those of the matrix.
    residual : float
        The largest rate that is left at the point.
    inputs : tuple of str (k,)
        Inputs that are not imposed.
    input_matrix : array (d, k)
        dw_dot/du.
    moved : dict of name to (float or None, float)
        What was asked for and taken, for each variable that is not as given; None where nothing was
        asked for and the value is not zero.
    steady : dict of name to float
        The rates along the symmetry that make up the steady motion; empty at an equilibrium.
    symmetry : tuple of str
        The directions that are divided out; empty at an equilibrium unless a symmetry was given.
    grounds : tuple of str
        What is not proved: symmetries and ranks that hold at tried states, derivatives at a switch.
    notes : tuple of str
        What a reader should know: independent velocities that could not be chosen at the point.
    """

    symbols: tuple[str, ...]
    point: Array
    independent: tuple[str, ...]
    basis: Array
    matrix: Array
    eigenvalues: ComplexArray
    errors: Array
    residual: float
    inputs: tuple[str, ...] = ()
    input_matrix: Array = field(default_factory=lambda: np.zeros((0, 0)))
    moved: dict[str, tuple[float | None, float]] = field(default_factory=dict)
    steady: dict[str, float] = field(default_factory=dict)
    symmetry: tuple[str, ...] = ()
    grounds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def _title(self) -> str:
        return "Linearised steady motion" if self.steady else "Linearised equilibrium"

    def _sections(self) -> list[Section]:
        values = zip(self.symbols, self.point, strict=True)
        at = ", ".join(f"{name} = {value:.6g}" for name, value in values)
        spectrum = [("variables", ", ".join(self.independent) or "none")]
        spectrum.append(("eigenvalues", written(self.eigenvalues) or "none"))
        return [("Point", [("at", at), *self.reported]), ("Linear motion", spectrum)]

    @property
    def reported(self) -> list[tuple[str, str]]:
        """Labelled sentences on the point: moved values, steady rates, unproved hypotheses."""
        lines = shown_moves(self.moved)
        if self.steady:
            rates = ", ".join(f"{name} {rate:.6g}" for name, rate in self.steady.items())
            lines.append(("steady rates", rates))
        if self.symmetry:
            lines.append(("modulo", ", ".join(self.symmetry)))
        lines += [("not proved", ground) for ground in self.grounds]
        return lines + [("note", note) for note in self.notes]

    def modes(self) -> Modes:
        """Frequencies, damping ratios and shapes: the eigenvectors of the matrix.

        >>> import dalembert as da
        >>> x = da.coordinates("x")
        >>> spring = da.System([x], kinetic=x.dot**2/2, potential=2*x**2, forces={x: -0.4*x.dot})
        >>> print(linearise(spring).modes().table())
        mode  frequency  damping ratio  growth rate  shape
           1          2            0.1         -0.2  x = 1
        """
        from .modes import modes_of

        return modes_of(self)


def written(values: ComplexArray) -> str:
    """Complex numbers in six digits, real ones without their imaginary part."""
    shown = (f"{v.real:.6g}{v.imag:+.6g}i" if v.imag else f"{v.real:.6g}" for v in values)
    return ", ".join(shown)


def linearise(
    model: Equations | System | Scenario,
    at: Values | None = None,
    parameters: Values | None = None,
    polish: bool = True,
    symmetry: Symbols | Fields | GroupAction | None = None,
    inputs: Values | None = None,
) -> Linearisation:
    """The equations linearised at an equilibrium or steady motion, on the constraint tangent space.

    Parameters
    ----------
    at : mapping of variable to value
        The point, by coordinates and velocities (or other variables of the state). Missing ones are
        zero, or follow from the constraints.
    polish : bool
        Move the point to the constraints, and improve it by Newton's method with the least change;
        see `moved`. Without it, a point that breaks a constraint, or is not steady, is an error.
    symmetry : sequence of cyclic variables, mapping of name to field, or GroupAction, optional
        Symmetries beside the variables that no equation contains; they are divided out. Without it,
        cyclic variables are divided out where the motion runs along them.
    inputs : mapping of free input to value, optional
        Their values at the point, such as a holding torque; zero by default.

    Raises
    ------
    RunError
        Where the point is neither an equilibrium nor a steady motion.
    FormError
        Where the equations depend on time (see `floquet`).

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.holonomic(x**2 + y**2 - 1, name="rod")
    >>> kinetic = (x.dot**2 + y.dot**2) / 2
    >>> pendulum = da.System([x, y], kinetic=kinetic, potential=4 * y, constraints=[rod])
    >>> found = linearise(pendulum, {y: -1})
    >>> found.independent, found.eigenvalues.round(12).tolist()
    (('x', 'x_dot'), [2j, -2j])
    """
    return LinearPoint(model, at, parameters, polish, symmetry, inputs).linearisation()


def field_of(
    model: Equations | System | Scenario,
    parameters: Values | None,
    asked: Mapping[str, float],
    inputs: Values | None = None,
) -> LinearField:
    """The field of a model; values of the call override those of a scenario.

    A form on independent velocities chooses them at the asked point, where it can.
    """
    values = dict(model.parameters) if isinstance(model, Scenario) else {}
    system = model.system if isinstance(model, Scenario) else model
    form = fastest_form(system) if isinstance(system, System) else None
    equations = system if isinstance(system, Equations) else derive(system, form)
    stated = equations.system
    p = parameter_values(stated.parameters, numbers_by_name(values, parameters))
    symbols = [s.name for s in (*stated.coordinates, *stated.velocities)]
    notes: tuple[str, ...] = ()
    can_choose = equations.rechoose is not None and not equations.chart_is_steady
    if can_choose and set(asked) <= set(symbols):
        whole = kernel_of(derive(stated, "lagrange"), stated.parameters)
        try:
            near = consistent_start(whole.plain_context(p), 0.0, asked, p).state
            names = [*symbols, *(symbol.name for symbol in stated.parameters)]
            place = dict(zip(names, [*near, *p], strict=True))
            assert equations.rechoose is not None
            equations = equations.rechoose(place | {"t": 0.0})
        except (FormError, RunError) as error:  # the point is evaluated in the form as it is
            reason = str(error).splitlines()[0].rstrip(".")
            notes = (f"independent velocities were not chosen at the point: {reason}",)
    kernel = kernel_of(equations, stated.parameters)
    found = LinearField(kernel, p, _input_values(kernel, inputs))
    found.notes = notes
    return found


def _input_values(kernel: Kernel, inputs: Values | None) -> Array:
    """Values of the free inputs, zero where none is given."""
    given = numbers_by_name(inputs)
    names = [symbol.name for symbol in kernel.free_inputs]
    for name in given:
        if name not in names:
            raise ModelError(
                f"There is no free input `{name}`",
                seen=", ".join(names) or "none",
                remedy="use one of these" if names else "leave it out",
            )
    return np.array([given.get(name, 0.0) for name in names])


class LinearPoint:
    """A model at a steady point: its field, the tangent space, and the symmetry directions."""

    def __init__(
        self,
        model: Equations | System | Scenario,
        at: Values | None,
        parameters: Values | None,
        polish: bool = True,
        symmetry: Symbols | Fields | GroupAction | None = None,
        inputs: Values | None = None,
    ) -> None:
        asked = numbers_by_name(at)
        self.field = field_of(model, parameters, asked, inputs)
        if self.field.is_timed:
            what = "The equations depend on time: their linear part at one instant decides nothing"
            seen = self.field.kernel.equations.system.name
            remedy = "use da.analysis.floquet(model, period, ...) where they are periodic"
            raise FormError(what, seen, remedy)
        self.directions = symmetry_directions(self.field, symmetry)
        self.point = consistent_point(self.field, asked, polish)
        self.step = np.zeros(len(self.point))
        if polish:
            self.point, self.step = polished(self.field, self.directions, self.point)
        self.value = self.field(self.point)
        self.xi = self._steady_rates(polish)
        self.is_divided = symmetry is not None or bool(np.any(self.xi))
        self.moved = moved_values(self.field, self.point, asked)
        check_gaps(self.field, self.point)

    def _steady_rates(self, polish: bool) -> Array:
        value, names = self.value, self.field.names
        xi = self.directions.rates(self.point, value.rates)
        size = value.sizes + np.abs(value.matrix) @ scales(self.point)
        size = np.maximum(size, 2.0**-52 * np.max(size, initial=0.0))  # rounding of a point at rest
        still = np.abs(value.rates) <= AT_REST * size
        if np.all(still):
            return np.zeros_like(xi)
        left = value.rates - self.directions.at(self.point) @ xi
        bad = ~(np.abs(left) <= AT_REST * (size + np.abs(value.rates)))
        if np.any(bad):
            worst = int(np.argmax(np.where(bad, np.abs(left), -1.0)))
            cyclic = ", ".join(self.directions.names)
            beside = f", beside the symmetry in {cyclic}" if cyclic else ""
            raise RunError(
                "The point is no equilibrium and no steady motion",
                seen=f"{names[worst]} changes at the rate {left[worst]:.3g}{beside}",
                remedy=f"start nearer to one,{'' if polish else ' pass polish=True,'} give the"
                " symmetry that the motion follows (symmetry=), or reduce by it"
                " (da.symmetry.reduce)",
            )
        return xi

    @property
    def _unproved(self) -> dict[str, float]:
        """Sentences on symmetries that are not proved, with the rates along them."""
        rates, proofs = (
            dict(zip(self.directions.names, self.xi, strict=True)),
            self.directions.proofs,
        )
        return {f"`{n}` is a symmetry (it holds {by})": rates[n] for n, by in proofs.items()}

    @property
    def harmless_grounds(self) -> tuple[str, ...]:
        """Unproved symmetries that the motion does not follow: instability does not need them."""
        return tuple(ground for ground, rate in self._unproved.items() if not rate)

    @property
    def rates_left(self) -> Array:
        """F without its part along the symmetry, (n,)."""
        return self.value.rates - self.directions.at(self.point) @ self.xi

    def linearisation(self) -> Linearisation:
        """The linear equations."""
        field, value = self.field, self.value
        matrix = value.matrix - self.directions.derivative(self.point, self.xi)
        error = value.error + EPSILON * np.abs(matrix) + self._error_of_point()
        tangent = ConstraintTangent(value, self.point, field)
        linear = tangent.restricted(matrix, error)
        by_inputs = value.by_inputs[tangent.places]
        N = self.directions.at(self.point)
        quotient = LinearQuotient(linear, N[tangent.places]) if N.size else None
        if quotient is not None and self.is_divided:
            quotient.check_closed(self.directions.names)
            parts = quotient.matrix, quotient.error
            rest, basis = tangent.places[quotient.rest], tangent.basis[:, quotient.rest]
            by_inputs = quotient.projected(by_inputs)
            eigenvalues, errors = eigenvalues_with_errors(*parts)
        else:
            parts, rest, basis = linear, tangent.places, tangent.basis
            # The symmetry gives zero eigenvalues by structure; the others belong to the quotient.
            inner = linear if quotient is None else (quotient.matrix, quotient.error)
            eigenvalues, errors = eigenvalues_with_errors(*inner)
            known = np.zeros(0 if quotient is None else len(quotient.pivots))
            eigenvalues, errors = np.append(eigenvalues, known), np.append(errors, known)
        order = np.lexsort((-eigenvalues.imag, -np.round(eigenvalues.real, 12)))
        rates = zip(self.directions.names, self.xi, strict=True)
        steady = {name: float(rate) for name, rate in rates if rate}
        names = tuple(self.directions.names) if self.is_divided else ()
        proofs = list(self._unproved) if self.is_divided else []
        switch = (SMOOTH,) if field.switches_at(self.point) else ()
        return Linearisation(
            symbols=field.names,
            point=self.point,
            independent=tuple(field.names[k] for k in rest),
            basis=basis,
            matrix=parts[0],
            eigenvalues=eigenvalues[order],
            errors=errors[order],
            residual=float(np.max(np.abs(self.rates_left), initial=0.0)),
            inputs=tuple(symbol.name for symbol in field.kernel.free_inputs),
            input_matrix=by_inputs,
            moved=self.moved,
            steady=steady,
            symmetry=names,
            grounds=(*proofs, *tangent.grounds, *switch),
            notes=field.notes,
        )

    def _error_of_point(self) -> Array:
        """What the last step of Newton's method, thrice, would change of the matrix."""
        if not np.any(self.step):
            return np.zeros_like(self.value.matrix)
        sides = [self.field(self.point + sign * 3 * self.step).matrix for sign in (1, -1)]
        return np.abs(sides[0] - self.value.matrix) + np.abs(sides[1] - self.value.matrix)


@dataclass(frozen=True)
class LinearMotion:
    """Neighbours of a motion: z_dot = A(t) z + B(t) w, for n symbols, k free inputs, at nt times.

    Attributes
    ----------
    symbols, inputs : tuples of str
    t : array (nt,)
    matrices : array (nt, n, n)
        A.
    input_matrices : array (nt, n, k)
        B.
    """

    symbols: tuple[str, ...]
    inputs: tuple[str, ...]
    t: Array
    matrices: Array
    input_matrices: Array


def linearise_along(motion: Motion) -> LinearMotion:
    """The equations of neighbours of a motion, by exact derivatives at its points.

    The deviations z of neighbours are in the kernel of the constraint Jacobian at each time.

    Parameters
    ----------
    motion : Motion
        In one form throughout, without impacts or other choices of independent velocities.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos
    >>> q = da.coordinates("q")
    >>> pendulum = da.System([q], kinetic=q.dot**2 / 2, potential=-cos(q))
    >>> motion = da.simulate(pendulum, {q: 1.0}, (0, 1), at=[0, 1])
    >>> linearise_along(motion).matrices[0].round(12).tolist()
    [[0.0, 1.0], [-0.540302305868, 0.0]]
    """
    if len(motion.segments) != 1:
        what = "The motion changes its symbols on the way"
        raise RunError(what, seen=f"{len(motion.segments)} parts", remedy="use one part")
    kernel: Kernel = motion.segments[0].context.kernel
    field = LinearField(kernel, parameter_values(kernel.parameters, dict(motion.parameters)))
    names = tuple(symbol.name for symbol in kernel.free_inputs)
    given = np.array([motion[name] for name in names]).reshape(len(names), len(motion.t))
    points = enumerate(zip(motion.t, motion._states[0], strict=True))
    found = [field(state, float(time), given[:, k]) for k, (time, state) in points]
    matrices = np.array([f.matrix for f in found])
    by_inputs = np.array([f.by_inputs for f in found])
    return LinearMotion(field.names, names, motion.t, matrices, by_inputs)
