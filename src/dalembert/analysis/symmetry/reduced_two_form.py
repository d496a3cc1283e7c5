r"""The two-form of a constrained system with symmetry on D/G = M/G, after Bates and Sniatycki.

With left-trivialised vectors (zeta, dr, dr_dot, dp) at (r, r_dot, p), mu = dl/dxi and w = dl/dr_dot
on the constraints,

    Omega(1, 2) = d2 mu . zeta1 - d1 mu . zeta2 + <mu, [zeta1, zeta2]> + dr1 . d2 w - dr2 . d1 w,
    H = span {e_b, d/dr^al - A_al, d/dr_dot, d/dp},  V and H = span {e_b},  U = H and (V and H)^perp
        (Bloch 5.9.25, 5.9.39)

none of which contains the group. U is the kernel of dp_b - <mu, de_b> - <mu, [., e_b]>: to lie in
it is the momentum equation (5.9.41, 5.9.42). Its image in T(D/G) is H_bar = rho_* U (5.9.26), Omega
is a nondegenerate form on that, and

    i_X Omega_Hbar = dh,     X = (r_dot, r_ddot, p_dot)                             (5.9.27, 5.9.35)

is the motion that `reduce` gives on the Lagrangian side. Brackets of invariant functions are those
of H, {z_i, z_j} = Pi_ij. Where V and H is isotropic (one momentum, or commuting ones) H_bar is the
graph of p over (r, r_dot); then the form, extended by zero along p, has the derivative d omega(u_i,
u_j, u_k) = u_i omega_jk + cyclic on the frame of that graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...errors import FormError, ModelError, RunError, SingularError
from ...formulations.reduction.bundle_equations import Bundle, ReducedFunctions, bundle_of
from ...geometry.actions import Group
from ...model.scenario import Scenario
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank, solve
from ...typing import Array, Values, Vector
from .restricted_two_form import bivector_derivatives, cyclic, jacobi_failure

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["ReducedTwoForm", "ReducedTwoFormField", "reduced_two_form"]

#: The largest difference from the equations of `reduce`, beside the size of their terms.
LIMIT = 1e-8
#: Brackets <mu, [e_a, e_b]> below this, relatively, count as zero.
ISOTROPIC = 1e-12


@dataclass(frozen=True, eq=False)
class ReducedTwoForm:
    """The two-form at one point of D/G; s shape coordinates, m momenta.

    Attributes
    ----------
    names : tuple of str (2s + m,)
        The chart: shape coordinates, their velocities, momenta.
    matrix : array (2s + 2m, 2s + 2m)
        Omega on H, in the frame e_b, lifts of d/dr, d/dr_dot, d/dp.
    directions : array (2s + m, d)
        A basis of H_bar in the chart.
    form : array (d, d)
        Omega on H_bar in that basis.
    differential : array (d,)
        dh on it, less the applied forces.
    field : array (2s + m,)
        X: shape velocities, shape accelerations, momentum rates.
    bivector, jacobi : arrays (2s + m, 2s + m) and (2s + m, 2s + m, 2s + m)
        The brackets of the chart, and how far they are from Jacobi's identity.
    derivative : array (2s, 2s, 2s) or None
        d omega on the frame of H_bar over d/dr, d/dr_dot; None where V and H is not isotropic.
    residual : float
        The worst difference of X from the equations of `reduce`.
    """

    names: tuple[str, ...]
    matrix: Array
    directions: Array
    form: Array
    differential: Array
    field: Array
    bivector: Array
    jacobi: Array
    derivative: Any
    residual: float

    def derivative_on(self, first: Array, second: Array, third: Array) -> float:
        """d omega on three vectors of H_bar, components along d/dr and d/dr_dot, (2s,) each."""
        if self.derivative is None:
            what = "The reduced two-form has no derivative here: the momenta do not commute"
            raise FormError(what, remedy="use jacobi")
        return float(np.einsum("ijk,i,j,k->", self.derivative, first, second, third))


class ReducedTwoFormField:
    """The two-form of a bundle as a function of (r, r_dot, p)."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle, self.reduced = bundle, ReducedFunctions(bundle, GraphAlgebra())
        reduced, algebra = self.reduced, self.reduced.algebra
        stated = (reduced.lagrangian, reduced.residual)
        if any(algebra.depends(block, reduced.time) for block in stated):
            what = "The reduced two-form needs a system that does not depend on time"
            raise FormError(what, remedy="use da.symmetry.reduce")
        self.k, self.m, self.s = len(bundle.group), len(bundle.momenta), len(bundle.shape)
        shape = [bundle.system.coordinates[j] for j in bundle.shape]
        symbols = (*shape, *(q.dot for q in shape), *bundle.momenta)
        self.names = tuple(symbol.name for symbol in symbols)
        self.chart = algebra.stack([reduced.shape, reduced.shape_velocities, reduced.p])

    # -- expressions -------------------------------------------------------------------------------

    @cached_property
    def _zeta(self) -> Block:
        """The group part of the frame, (k x 2s + 2m)."""
        algebra = self.reduced.algebra
        rest = algebra.zeros(self.k, self.s + self.m)
        return algebra.columns([self.reduced.section, -self.reduced.connection, rest])

    @cached_property
    def _tangent(self) -> Block:
        """The part of the frame in the chart, (2s + m x 2s + 2m): nothing along e_b."""
        algebra = self.reduced.algebra
        along_e = algebra.zeros(2 * self.s + self.m, self.m)
        return algebra.columns([along_e, algebra.jacobian(self.chart, self.chart)])

    @cached_property
    def matrix(self) -> Block:
        """Omega on H, (2s + 2m x 2s + 2m)."""
        reduced, algebra = self.reduced, self.reduced.algebra
        speeds = (reduced.xi, reduced.shape_velocities)
        mu, w = (reduced.here(algebra.gradient(reduced.lagrangian, v)) for v in speeds)
        on_body = self._zeta.T @ algebra.jacobian(mu, self.chart) @ self._tangent
        base = algebra.part(self._tangent, range(self.s), range(2 * self.s + 2 * self.m))
        on_shape = base.T @ algebra.jacobian(w, self.chart) @ self._tangent
        half = on_body + on_shape
        return half - half.T + self._zeta.T @ self._turning(mu) @ self._zeta

    def _turning(self, mu: ca.SX) -> Block:
        """<mu, [b_a, b_b]> for the basis of the group, (k x k)."""
        constants = ca.DM(self.bundle.constants.reshape(-1, self.k))
        return ca.reshape(constants @ mu, self.k, self.k).T

    @cached_property
    def _energy(self) -> Block:
        reduced, algebra = self.reduced, self.reduced.algebra
        speeds, l = (reduced.xi, reduced.shape_velocities), reduced.lagrangian
        works = [algebra.inner(algebra.gradient(l, v), v) for v in speeds]
        return reduced.here(works[0] + works[1] - l)

    @cached_property
    def _blocks(self) -> ca.Function:
        """Omega, its derivatives, dh less forces on the frame, drift of X, `reduce`."""
        reduced, algebra = self.reduced, self.reduced.algebra
        force = reduced.here(reduced.force)
        on_shape = algebra.part(force, range(self.s), [0])
        on_body = algebra.part(force, range(self.s, force.shape[0]), [0])
        base = algebra.part(self._tangent, range(self.s), range(2 * self.s + 2 * self.m))
        work = base.T @ on_shape + self._zeta.T @ on_body
        right = self._tangent.T @ algebra.gradient(self._energy, self.chart) - work
        moving = algebra.stack([reduced.shape_velocities, reduced.p])
        drift = algebra.substitute(reduced.body_velocity, moving, algebra.zeros(moving.shape[0]))
        mu = reduced.here(algebra.gradient(reduced.lagrangian, reduced.xi))
        pulled = self._tangent.T @ algebra.jacobian(mu, self.chart).T @ drift
        pulled = pulled + self._zeta.T @ self._turning(mu).T @ drift
        still = algebra.zeros(self.s)
        metric = algebra.jacobian(reduced.shape_residual, reduced.shape_accelerations)
        pushed = -algebra.substitute(reduced.shape_residual, reduced.shape_accelerations, still)
        derivatives = algebra.jacobian(ca.vec(self.matrix), self.chart)
        forms = [self.matrix, derivatives, right - pulled]
        blocks = [*forms, metric, pushed, reduced.momentum_rate]
        symbols = list(algebra.symbols.values())
        return ca.Function("blocks", symbols, [ca.densify(ca.SX(block)) for block in blocks])

    # -- numbers -----------------------------------------------------------------------------------

    def at(self, values: Mapping[str, float]) -> ReducedTwoForm:
        """The two-form at values of the chart and of the parameters, by name."""
        symbols = list(self.reduced.algebra.symbols)[: self._blocks.n_in()]
        found = self._blocks.call([values.get(symbol.name, 0.0) for symbol in symbols])
        tables = (np.asarray(block, dtype=float).reshape(block.shape) for block in found)
        matrix, derivatives, right, metric, pushed, momentum_rate = tables
        size, m, s = len(matrix), self.m, self.s
        if not np.all(np.isfinite(matrix)) or rank(matrix).rank < size:
            what = "The two-form is degenerate at this point of D/G"
            remedy = "look at another shape"
            raise SingularError(what, f"rank {rank(np.nan_to_num(matrix)).rank} of {size}", remedy)
        derivatives = np.swapaxes(derivatives.reshape(size, size, -1), 0, 1)
        tangent = np.hstack([np.zeros((2 * s + m, m)), np.eye(2 * s + m)])
        inverse = np.linalg.solve(matrix.T, np.eye(size))
        field = tangent @ (inverse @ right.ravel())
        shape_velocities = np.array([values.get(name, 0.0) for name in self.names[s : 2 * s]])
        accelerations = solve(metric, pushed.ravel()).z if s else np.zeros(0)
        expected = np.concatenate([shape_velocities, accelerations, momentum_rate.ravel()])
        gap = float(np.max(np.abs(field - expected))) / (1 + float(np.max(np.abs(expected))))
        if not gap < LIMIT:
            what = "The reduced two-form does not give the equations of the Lagrangian side"
            remedy = "look at another shape, where the section is further from degenerating"
            raise RunError(what, f"a difference of {gap:.1e}, where {LIMIT:.0e} is allowed", remedy)
        bivector = tangent @ inverse @ tangent.T
        still = np.zeros((*tangent.shape, len(tangent)))
        bends = bivector_derivatives(tangent, still, inverse, derivatives)
        directions, form, differential = self._quotient(matrix, tangent, right.ravel())
        return ReducedTwoForm(
            names=self.names,
            matrix=matrix,
            directions=directions,
            form=form,
            differential=differential,
            field=field,
            bivector=bivector,
            jacobi=jacobi_failure(bivector, bends),
            derivative=self._derivative(matrix, derivatives),
            residual=gap,
        )

    def _quotient(self, matrix: Array, tangent: Array, right: Array) -> tuple[Array, Array, Array]:
        """H_bar = rho_* U: a basis in the chart, and Omega and dh on vectors of U above it."""
        above = rank(matrix[: self.m]).null_space if self.m else np.eye(len(matrix))
        kept = rank((tangent @ above).T, 1e-9).independent
        lifted = above[:, kept]
        return tangent @ lifted, lifted.T @ matrix @ lifted, lifted.T @ right

    def _derivative(self, matrix: Array, derivatives: Array) -> Array | None:
        """d omega on u = d/dr + (p-part) and d/dr_dot, (2s, 2s, 2s), where V and H is isotropic."""
        m, s = self.m, self.s
        vertical = matrix[:m, :m]
        if m and np.max(np.abs(vertical)) > ISOTROPIC * (1 + np.max(np.abs(matrix))):
            return None
        # The rows of e_b are (0, -M, 0, 1) in the frame: the graph has u = (0, 1, M) and (0, 0, 1).
        graph = np.vstack([np.zeros((m, 2 * s)), np.eye(2 * s), -matrix[:m, m : m + 2 * s]])
        tilt = np.zeros((len(matrix), 2 * s, derivatives.shape[2]))
        tilt[m + 2 * s :] = -derivatives[:m, m : m + 2 * s]
        moved = np.einsum("ail,ab,bj->ijl", tilt, matrix, graph)
        moved = moved - np.swapaxes(moved, 0, 1)
        moved = moved + np.einsum("ai,abl,bj->ijl", graph, derivatives, graph)
        return cyclic(np.einsum("jkl,li->ijk", moved, graph[m:]))


def reduced_two_form(
    system: System | Scenario,
    group: Group,
    state: Values,
    parameters: Values | None = None,
    *,
    section: Sequence[Vector] | None = None,
    identity: Values | None = None,
) -> ReducedTwoForm:
    """The two-form of a system on D/G at one point, with its brackets and its derivative.

    Parameters
    ----------
    system, group, section, identity
        As for `reduce`.
    state : mapping of symbol or name to value
        Shape coordinates, shape velocities and the momenta p_1, p_2, ...
    parameters : mapping of parameter to value
        Those of a scenario by default.

    Examples
    --------
    >>> import dalembert as da
    >>> particle = da.gallery.load("constrained-particle")
    >>> x, y, z = particle.system.coordinates
    >>> fields, state = {"u": {x: 1}, "w": {z: 1}}, {y: 1.0, y.dot: 0.5, "p_1": 3.0}
    >>> found = reduced_two_form(particle, fields, state)
    >>> found.names, found.directions.shape, found.form.shape, round(float(found.field[-1]), 12)
    (('y', 'y_dot', 'p_1'), (3, 2), (2, 2), 0.75)
    """
    stated = system.system if isinstance(system, Scenario) else system
    field = ReducedTwoFormField(bundle_of(stated, group, section=section, identity=identity))
    own = dict(system.parameters) if isinstance(system, Scenario) else {}
    given = {**(parameters or {}), **state}
    values = own | {str(getattr(key, "name", key)): value for key, value in given.items()}
    names = (*field.names, *(symbol.name for symbol in stated.parameters))
    missing = [name for name in names if name not in values]
    if missing:
        remedy = "give the shape, its velocities, the momenta and all parameters"
        raise ModelError(f"`{missing[0]}` has no value", remedy=remedy)
    return field.at({name: float(value) for name, value in values.items()})
