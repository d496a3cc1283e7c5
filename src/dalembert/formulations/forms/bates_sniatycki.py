r"""Hamilton's equations on the constraint manifold: the canonical two-form, restricted.

The Legendre map takes the constraints D to a manifold M = FL(D) in T*Q, here in the chart (q, y)
with y_s = dL_c/dv_s, where L_c is the Lagrangian on the constraints v_D = phi(q, v_I, t) and F =
dv/dv_I their frame (n x k):

    p_I = y - (dphi/dv_I)^T p_D,     H_M(q, y, t) = p . v - L
    (Bloch 5.9.2, 5.9.21) Omega_M = dq ^ dp = [ P - P^T   p_y ],  P = p_q;   H = {(F a, b)} = TM and
    (T pi)^-1 D (5.9.3, 5.9.22, 5.9.23)
                        [  -p_y^T    0  ]
    i_X Omega_H = dH_H - Q    on H, X in H
    (5.9.4, 5.9.24)

On H the form is nondegenerate where FL|_D is invertible, although L itself may be singular (5.9,
diagnostic 1 after theorem 5.9.2). Its vertical half gives a, the velocities, and its other half b =
y_dot:

    N^T a = dH/dy - p_y^T d,     N y_dot = F^T ((P^T - P) v - dH/dq - p_t + Q),     v = F a + d,
    N = F^T p_y.

The drift d is what an affine constraint prescribes; for a nonlinear one, whose F depends on the
state, it is v - F v_I.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...model.legendre import conjugate_symbols
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, reduced_equations
from .canonical_voronets import canonical_symbols, check_restricted_legendre

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["FORM", "ConstraintManifold", "derive", "hypotheses"]

CITATION = (
    "Hamilton's equations on M = FL(D) (Bates and Sniatycki 1993; Bloch et al. eqs. 5.9.2-5.9.4,"
    " 5.9.21-5.9.24)"
)


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    check_restricted_legendre(Reduction.asked(system))


def derive(system: System) -> Equations:
    """Rates of the coordinates (q, y) of M = FL(D), from the restricted two-form.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> x, y, theta = da.coordinates("x y theta")
    >>> blade = da.velocity(x.dot*sin(theta) - y.dot*cos(theta), name="blade")
    >>> sleigh = da.System(
    ...     [x, y, theta], kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2, constraints=[blade]
    ... )
    >>> [symbol.name for symbol in derive(sleigh).state]
    ['x', 'y', 'theta', 'y_y', 'y_theta']
    """
    hypotheses(system)
    return reduced_equations(system, FORM, derive_on, symbols=canonical_symbols)


class ConstraintManifold:
    """M = FL(D) in the chart (q, y), in one algebra; n coordinates, k independent velocities.

    Attributes
    ----------
    y : column (k x 1)
        The symbols of the chart.
    independent, velocities : columns (k x 1), (n x 1)
        The inverse of FL on D: v_I(q, y, t) and v(q, y, t).
    frame : matrix (n x k)
        F(q, y, t): the directions of D.
    momenta : column (n x 1)
        p(q, y, t): how M lies in T*Q.
    hamiltonian : scalar
        H_M = p . v - L.
    """

    def __init__(self, reduction: Reduction) -> None:
        algebra, split = reduction.algebra, reduction.split
        self.reduction, self.algebra = reduction, algebra
        self.y = algebra.vector(canonical_symbols(reduction.system, split).state)
        self.independent = conjugate_symbols(
            algebra, reduction.here(reduction.lagrangian), reduction.independent, self.y
        )
        self.velocities, self.frame = self.on(reduction.velocities), self.on(reduction.frame)
        bound = algebra.part(self.on(reduction.momenta_at_velocity), split.dependent, [0])
        derivatives = algebra.part(self.frame, split.dependent, range(len(split.independent)))
        free = self.y - derivatives.T @ bound if split.dependent else self.y
        order = [*split.independent, *split.dependent]
        self.momenta = algebra.part(
            algebra.stack([free, bound]), [order.index(k) for k in range(len(order))], [0]
        )
        self.hamiltonian = algebra.inner(self.momenta, self.velocities) - self.on(
            reduction.lagrangian
        )

    def on(self, block: Block) -> Block:
        """A block of q, v and t on M, in (q, y, t)."""
        reduction = self.reduction
        return self.algebra.substitute(
            reduction.here(block), reduction.independent, self.independent
        )

    @property
    def point(self) -> Any:
        """(q, y), (n + k x 1)."""
        return self.algebra.stack([self.reduction.q, self.y])

    @cached_property
    def turning(self) -> Block:
        """P - P^T with P = p_q, (n x n): the two-form on two vectors along q."""
        derivative = self.algebra.jacobian(self.momenta, self.reduction.q)
        return derivative - derivative.T

    @cached_property
    def by_momenta(self) -> Any:
        """p_y, (n x k)."""
        return self.algebra.jacobian(self.momenta, self.y)

    @cached_property
    def two_form(self) -> Any:
        """Omega_M, (n + k x n + k): the pull-back of dq ^ dp, with Omega(X, Y) = X^T matrix Y."""
        algebra, k = self.algebra, self.y.shape[0]
        above = algebra.columns([self.turning, self.by_momenta])
        return algebra.stack([above, algebra.columns([-self.by_momenta.T, algebra.zeros(k, k)])])

    @cached_property
    def directions(self) -> Any:
        """The frame (F, 0), (0, 1) of H, (n + k x 2k)."""
        algebra, (n, k) = self.algebra, self.frame.shape
        unit = algebra.jacobian(self.y, self.y)
        return algebra.stack(
            [
                algebra.columns([self.frame, algebra.zeros(n, k)]),
                algebra.columns([algebra.zeros(k, k), unit]),
            ]
        )

    @property
    def restricted(self) -> Any:
        """Omega_H in that frame, (2k x 2k)."""
        return self.directions.T @ self.two_form @ self.directions

    @property
    def differential(self) -> Any:
        """dH_H in that frame, (2k x 1)."""
        return self.directions.T @ self.algebra.gradient(self.hamiltonian, self.point)

    @cached_property
    def is_affine(self) -> bool:
        """Whether F does not depend on the velocities."""
        return not self.algebra.depends(self.reduction.frame, self.reduction.independent)

    @cached_property
    def drift(self) -> Any:
        """d(q, y, t) with v = F v_I + d, (n x 1)."""
        reduction, algebra = self.reduction, self.algebra
        if self.is_affine:
            return algebra.substitute(
                reduction.velocities, reduction.independent, algebra.zeros(self.y.shape[0])
            )
        return self.velocities - self.frame @ self.independent

    @cached_property
    def pairing(self) -> Any:
        """N = F^T p_y, (k x k): 1 - <p, dF/dy> by y = F^T p, the identity if F is free of y."""
        algebra, k = self.algebra, self.y.shape[0]
        unit = algebra.jacobian(self.y, self.y)
        if self.is_affine:
            return unit
        columns = [algebra.part(self.frame, range(self.frame.shape[0]), [s]) for s in range(k)]
        return unit - algebra.stack(
            [self.momenta.T @ algebra.jacobian(column, self.y) for column in columns]
        )

    @cached_property
    def speeds(self) -> Any:
        """a(q, y, t), (k x 1): the vertical half of i_X Omega_H = dH_H."""
        algebra = self.algebra
        right = algebra.gradient(self.hamiltonian, self.y) - self.by_momenta.T @ self.drift
        return right if self.is_affine else algebra.solve_square(self.pairing.T, right)

    @cached_property
    def push(self) -> Any:
        """N y_dot, (k x 1): the other half, with the applied forces."""
        algebra, reduction = self.algebra, self.reduction
        velocities = self.frame @ self.speeds + self.drift
        force = self.on(reduction.applied_force) - algebra.gradient(self.hamiltonian, reduction.q)
        return self.frame.T @ (
            force - self.turning @ velocities - algebra.jacobian(self.momenta, reduction.time)
        )


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra, manifold = reduction.algebra, ConstraintManifold(reduction)
    symbols = canonical_symbols(reduction.system, reduction.split)
    rates = algebra.vector(symbols.rates)
    # The rates of momenta are measured in dv_I/dy, which makes the matrix of the unknowns
    # symmetric, N = (F^T L_vv F) dv_I/dy.
    measure = algebra.jacobian(manifold.independent, manifold.y)
    definition = algebra.gradient(reduction.here(reduction.lagrangian), reduction.independent)
    residual = measure.T @ (manifold.pairing @ rates - manifold.push)
    return reduction.in_symbols(residual, manifold.y, rates, manifold.speeds, definition)


FORM = Form("bates-sniatycki", CITATION, hypotheses, derive)
