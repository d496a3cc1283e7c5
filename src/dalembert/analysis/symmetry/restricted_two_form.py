r"""The canonical two-form on the velocities allowed by constraints, and its exterior derivative.

On M = FL(D), in the chart (q, y) of the form "bates-sniatycki", H = TM and (T pi)^-1 D has the
frame (F_s, 0), (0, 1_s), and

    omega_ij = Omega_M(h_i, h_j),  omega(X, .) = dH_H,  {f, g} = omega(X_f, X_g) = df . Pi dg
        (Bloch 5.9.4, 5.9.24)

omega is a form on the fibres of H, not on a manifold. Extended by zero along the dependent
coordinates, which is what dividing out a group that moves them alone does (Chaplygin's case), it
has a derivative. The brackets of the frame have no part in H, so

    d omega(h_i, h_j, h_k) = h_i omega_jk + h_j omega_ki + h_k omega_ij = Omega_M([h_i, h_j], h_k)
        + cyclic,

the second because Omega_M is closed: it is the curvature of the constraints times the derivatives
of the dependent momenta. The bracket needs no extension; it obeys Jacobi's identity exactly where
the constraints are integrable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...errors import RunError, SingularError
from ...formulations.forms.bates_sniatycki import ConstraintManifold, hypotheses
from ...formulations.forms.canonical_voronets import canonical_symbols
from ...formulations.independent_velocities import Reduction, Split, choose_split
from ...formulations.registry import derive
from ...integrate.start import consistent_start
from ...model.parameter_values import parameter_values
from ...model.scenario import Scenario
from ...model.symbols import t
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank, solve
from ...runtime.kernel import kernel_of
from ...typing import Array, ArrayLike, Values
from ..anatomy import read_model

__all__ = ["RestrictedTwoForm", "TwoFormField", "bivector_derivatives", "cyclic"]
__all__ += ["jacobi_failure", "restricted_two_form"]

#: The largest relative difference from Lagrange's equations, and of the two ways to d omega.
LIMIT = 1e-8


def cyclic(table: Array) -> Array:
    """table_ijk + table_jki + table_kij, (n, n, n)."""
    return table + np.transpose(table, (2, 0, 1)) + np.transpose(table, (1, 2, 0))


def jacobi_failure(bivector: Array, derivatives: Array) -> Array:
    """{{z_i, z_j}, z_k} + cyclic, (n, n, n), of {z_i, z_j} = bivector[i, j]."""
    return cyclic(np.einsum("ijl,lk->ijk", derivatives, bivector))


def bivector_derivatives(
    frame: Array, frame_derivatives: Array, inverse: Array, form_derivatives: Array
) -> Any:
    """The derivatives (n, n, n) of frame W frame^T, where W = form^-T, along all n symbols."""
    moved = np.einsum("ail,ij,bj->abl", frame_derivatives, inverse, frame)
    turned = -np.einsum("ai,ij,kjl,km,bm->abl", frame, inverse, form_derivatives, inverse, frame)
    return moved + turned + np.einsum("ai,ij,bjl->abl", frame, inverse, frame_derivatives)


@dataclass(frozen=True, eq=False)
class RestrictedTwoForm:
    """The two-form at one state; n coordinates, k independent velocities.

    Attributes
    ----------
    names : tuple of str (n + k,)
        The chart: coordinates, then momenta of the independent velocities.
    point : array (n + k,)
    whole : array (n + k, n + k)
        Omega_M, the canonical two-form on M.
    frame : array (n + k, 2k)
        h_i as columns: directions of the constraints, then momenta.
    matrix : array (2k, 2k)
        omega.
    differential : array (2k,)
        dH_H less the applied forces.
    field : array (n + k,)
        X, the rates of the chart.
    derivative : array (2k, 2k, 2k)
        d omega on triples of the frame.
    bivector : array (n + k, n + k)
        Pi, the brackets of the chart.
    jacobi : array (n + k, n + k, n + k)
        {{z_i, z_j}, z_k} + cyclic.
    velocities : mapping of name to float (n,)
        Of all coordinates, the dependent ones and completed ones too.
    residual : float
        The worst difference of X from Lagrange's equations, and of d omega from the brackets.
    """

    names: tuple[str, ...]
    point: Array
    whole: Array
    frame: Array
    matrix: Array
    differential: Array
    field: Array
    derivative: Array
    bivector: Array
    jacobi: Array
    velocities: Mapping[str, float]
    residual: float

    def on(self, first: ArrayLike, second: ArrayLike) -> float:
        """omega of two vectors in the frame, (2k,) each."""
        return float(np.asarray(first) @ self.matrix @ np.asarray(second))

    def derivative_on(self, first: Array, second: Array, third: Array) -> float:
        """d omega on a triple of vectors in the frame, (2k,) each."""
        return float(np.einsum("ijk,i,j,k->", self.derivative, first, second, third))


class TwoFormField:
    """The two-form of a system as a function of the state, on one set of independent velocities."""

    def __init__(self, system: System, split: Split) -> None:
        self.system, self.split = system, split
        self.reduction = Reduction(system, GraphAlgebra(), split)
        self.manifold = ConstraintManifold(self.reduction)
        symbols = (*system.coordinates, *canonical_symbols(system, split).state)
        self.names = tuple(symbol.name for symbol in symbols)

    def _compiled(self, blocks: list[ca.SX]) -> ca.Function:
        given = {symbol: value for symbol, value in self.system.inputs.items() if value is not None}
        algebra = self.reduction.algebra
        if given:
            names, values = algebra.vector(list(given)), algebra.vector(list(given.values()))
            values = self.manifold.on(values)
            blocks = [algebra.substitute(block, names, values) for block in blocks]
        nodes = list(algebra.symbols.values())
        return ca.Function("blocks", nodes, [ca.densify(block) for block in blocks])

    def _evaluated(self, function: ca.Function, values: Mapping[str, float]) -> list[Array]:
        symbols = list(self.reduction.algebra.symbols)[: function.n_in()]
        found = function.call([values.get(symbol.name, 0.0) for symbol in symbols])
        return [np.asarray(table, dtype=float).reshape(table.shape) for table in found]

    @cached_property
    def _momenta(self) -> ca.Function:
        """y of the independent velocities."""
        reduction, algebra = self.reduction, self.reduction.algebra
        constrained = reduction.here(reduction.lagrangian)
        return self._compiled([algebra.gradient(constrained, reduction.independent)])

    @cached_property
    def _forms(self) -> ca.Function:
        """Omega_M, frame, its derivatives, those of omega, and dH_H of i_X omega with the drift."""
        manifold, algebra, reduction = self.manifold, self.reduction.algebra, self.reduction
        k = manifold.y.shape[0]
        still = algebra.zeros(k)
        drift = algebra.stack([manifold.drift, still])
        force = manifold.on(reduction.applied_force)
        force = force - algebra.jacobian(manifold.momenta, reduction.time)
        right = algebra.gradient(manifold.hamiltonian, manifold.point)
        right = right - algebra.stack([force, still]) - manifold.two_form.T @ drift
        frame, point = manifold.directions, manifold.point
        derivatives = [algebra.jacobian(ca.vec(x), point) for x in (frame, manifold.restricted)]
        return self._compiled([manifold.two_form, frame, *derivatives, frame.T @ right, drift])

    @cached_property
    def _lagrange(self) -> ca.Function:
        """Lagrange's equations with multipliers on M, and how y moves with the accelerations."""
        reduction, algebra, on = self.reduction, self.reduction.algebra, self.manifold.on
        definition = algebra.gradient(reduction.here(reduction.lagrangian), reduction.independent)
        rows, n = range(definition.shape[0]), len(self.system.coordinates)
        derivative = algebra.part(algebra.jacobian(definition, reduction.v), rows, range(n))
        rest = algebra.along(definition, reduction.q, reduction.velocities)
        rest = rest + algebra.jacobian(definition, reduction.time)
        full = reduction.full
        blocks = [full.metric, full.force, full.rows, full.right, reduction.velocities]
        return self._compiled([on(block) for block in (*blocks, derivative, rest)])

    def at(self, values: Mapping[str, float]) -> RestrictedTwoForm:
        """The two-form at coordinates, independent velocities, parameters and t by name."""
        (y,) = self._evaluated(self._momenta, values)
        names = self.names[len(self.system.coordinates) :]
        table = dict(values) | dict(zip(names, y.ravel(), strict=True))
        found = self._evaluated(self._forms, table)
        whole, frame, frame_derivatives, form_derivatives, right, drift = found
        matrix, size = frame.T @ whole @ frame, frame.shape[1]
        if not np.all(np.isfinite(matrix)) or rank(matrix).rank < size:
            what = "The two-form is degenerate on what the constraints allow"
            remedy = 'look at another state, or use the form "lagrange"'
            raise SingularError(what, f"rank {rank(np.nan_to_num(matrix)).rank} of {size}", remedy)
        inverse = np.asarray(np.linalg.solve(matrix.T, np.eye(size)), dtype=float)
        field = frame @ (inverse @ right.ravel()) + drift.ravel()
        frame_derivatives = _derivatives(frame_derivatives, frame.shape)
        form_derivatives = _derivatives(form_derivatives, matrix.shape)
        derivative = cyclic(np.einsum("jkl,li->ijk", form_derivatives, frame))
        bivector = frame @ inverse @ frame.T
        by_brackets = _relative(
            derivative - _by_brackets(whole, frame, frame_derivatives), derivative
        )
        gap = max(self._from_lagrange(field, table), by_brackets)
        if not gap < LIMIT:
            what = "The two-form does not give Lagrange's equations"
            remedy = "look at another state, where the independent velocities do not degenerate"
            raise RunError(what, f"a difference of {gap:.1e}, where {LIMIT:.0e} is allowed", remedy)
        bends = bivector_derivatives(frame, frame_derivatives, inverse, form_derivatives)
        return RestrictedTwoForm(
            names=self.names,
            point=np.array([table.get(name, 0.0) for name in self.names]),
            whole=whole,
            frame=frame,
            matrix=matrix,
            differential=right.ravel(),
            field=field,
            derivative=derivative,
            bivector=bivector,
            jacobi=jacobi_failure(bivector, bends),
            velocities={v.name: float(field[k]) for k, v in enumerate(self.system.velocities)},
            residual=gap,
        )

    def _from_lagrange(self, field: Array, values: Mapping[str, float]) -> float:
        """How far X is from the motion with multipliers, relatively."""
        found = self._evaluated(self._lagrange, values)
        metric, force, rows, right, velocities, derivative, rest = found
        accelerations = solve(metric, force.ravel(), rows, right.ravel()).z
        expected = np.concatenate([velocities.ravel(), derivative @ accelerations + rest.ravel()])
        return _relative(field - expected, expected)


def _derivatives(table: Array, shape: tuple[int, int]) -> Array:
    """Derivatives of a matrix that was read column by column, (rows, columns, symbols)."""
    return np.swapaxes(table.reshape(shape[1], shape[0], -1), 0, 1)


def _by_brackets(whole: Array, frame: Array, derivatives: Array) -> Array:
    """Omega_M([h_i, h_j], h_k) + cyclic, (2k, 2k, 2k)."""
    turned = np.einsum("ajl,li->ija", derivatives, frame)
    brackets = turned - np.swapaxes(turned, 0, 1)
    return cyclic(np.einsum("ija,ab,bk->ijk", brackets, whole, frame))


def _relative(gap: Array, terms: Array) -> float:
    size = float(np.max(np.abs(gap), initial=0.0)) / (1 + float(np.max(np.abs(terms), initial=0.0)))
    return size if np.isfinite(size) else np.inf


def restricted_two_form(
    system: System | Scenario, state: Values | None = None, parameters: Values | None = None
) -> RestrictedTwoForm:
    """The canonical two-form on the constraints at one state, its derivative and its brackets.

    Parameters
    ----------
    system : System or Scenario
    state : mapping of symbol or name to value
        Coordinates, velocities or momenta, and t; those of the scenario by default. Missing ones
        are completed from the constraints with the least change from zero (`velocities`).
    parameters : mapping of symbol or name to value

    Raises
    ------
    FormError
        Where the Legendre map on the constraints is not regular.
    StartError
        Where the state that was given breaks the constraints.
    SingularError
        Where it degenerates at this state.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> tilt = da.velocity(z.dot - y*x.dot, name="tilt")
    >>> kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    >>> particle = da.System([x, y, z], kinetic=kinetic, constraints=[tilt])
    >>> found = restricted_two_form(particle, {y: 1.0, x.dot: 2.0, y.dot: 0.5})
    >>> found.names, found.matrix.shape, round(float(np.max(np.abs(found.derivative))), 12)
    (('x', 'y', 'z', 'y_x', 'y_y'), (4, 4), 0.5)
    >>> completed = restricted_two_form(particle, {y: 1.0, z.dot: 2.0}).velocities
    >>> {name: round(value, 12) for name, value in completed.items()}
    {'x_dot': 2.0, 'y_dot': 0.0, 'z_dot': 2.0}
    """
    asked = numbers_by_name(state)
    time = asked.pop(t.name, 0.0)
    stated, values, beginning = read_model(system, parameters, asked)
    hypotheses(stated)
    kernel = kernel_of(derive(stated, "lagrange"), stated.parameters)
    p = parameter_values(kernel.parameters, values)
    found = consistent_start(kernel.plain_context(p), time, beginning, p, project_start=False)
    numbers = {t.name: time} | {name: float(value) for name, value in values.items()}
    state_values = zip(kernel.equations.state, found.state, strict=True)
    numbers |= {symbol.name: float(x) for symbol, x in state_values}
    return TwoFormField(stated, choose_split(stated, numbers)).at(numbers)
