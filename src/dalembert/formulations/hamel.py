r"""Hamel's equations in quasi-velocities adapted to the constraints.

The quasi-velocities are eta_s = v_s for the independent velocities and eta_a = f_a(q, v, t) for the constraints themselves,
which may be nonlinear. With L*(q, eta, t), v = F(q, eta, t), F_is = dF_i/deta_s, and eta_a = 0 only after all derivatives
are formed,

    d/dt dL*/deta_s + dL*/deta_r W_s^r - F_is dL*/dq_i = (F^T Q)_s          (Rumyantsev 3.2)
    W_s^r = F_js (d/dt df_r/dv_j - df_r/dq_j)                               (Rumyantsev 1.21)
"""

from __future__ import annotations

from typing import Any

from ..errors import FormError
from ..model.symbols import Parameter
from ..model.system import System
from .blocks import Blocks
from .equations import Equations
from .independent import Reduction, choose_split, reduced_equations

__all__ = ["derive", "hypotheses", "transitivity"]

CITATION = "Hamel's equations in nonlinear quasi-velocities (Rumyantsev eqs. 3.2, 1.21)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    if not choose_split(system).dependent:
        raise FormError(
            "Hamel's form in quasi-velocities adapted to constraints needs constraints",
            seen="none",
            remedy='use the form "lagrange"',
        )


def derive(system: System) -> Equations:
    """Rates of the independent quasi-velocities."""
    hypotheses(system)
    return reduced_equations(system, "hamel", CITATION, derive_on)


class QuasiVelocities:
    """eta = f(q, v, t) and its inverse v = F(q, eta, t) on a reduction."""

    def __init__(self, reduction: Reduction) -> None:
        algebra, split = reduction.algebra, reduction.split
        self.reduction = reduction
        names = [reduction.system.bilateral[k].name for k in split.rows]
        self.bound = algebra.vector([Parameter(f"eta_{name}") for name in names])
        constraints = algebra.part(reduction.level.residual, split.rows, [0])
        self.definition = algebra.stack([reduction.independent, constraints])
        matrix = algebra.jacobian(constraints, reduction.dependent)
        rest = algebra.substitute(constraints, reduction.dependent, algebra.zeros(len(split.dependent)))
        solved = algebra.solve_square(matrix, self.bound - rest)
        order = [*split.independent, *split.dependent]
        together = algebra.stack([reduction.independent, solved])
        self.velocities = algebra.part(together, [order.index(k) for k in range(len(order))], [0])
        self.solved = solved
        self.eta = algebra.stack([reduction.independent, self.bound])

    def at(self, block: Any) -> Any:
        """A block of q and v as one of q and eta."""
        return self.reduction.algebra.substitute(block, self.reduction.dependent, self.solved)

    def bound_to_zero(self, block: Any) -> Any:
        """A block on the constraints."""
        algebra = self.reduction.algebra
        return algebra.substitute(block, self.bound, algebra.zeros(self.bound.shape[0]))

    def rate(self, block: Any) -> Any:
        """The time derivative of a column of (q, eta, t) along a motion on the constraints, where eta_a stays zero."""
        reduction, algebra = self.reduction, self.reduction.algebra
        return (
            algebra.along(block, reduction.q, self.velocities)
            + algebra.along(block, reduction.independent, reduction.z)
            + algebra.jacobian(block, reduction.time)
        )


def transitivity(quasi: QuasiVelocities) -> Any:
    """W_s^r of (1.21), (n x k) over r, s, on the constraints."""
    reduction, algebra = quasi.reduction, quasi.reduction.algebra
    frame = algebra.jacobian(quasi.velocities, reduction.independent)
    rows = []
    for r in range(quasi.definition.shape[0]):
        entry = algebra.part(quasi.definition, [r], [0])
        slope = quasi.at(algebra.jacobian(entry, reduction.v)).T
        turn = quasi.rate(slope) - quasi.at(algebra.jacobian(entry, reduction.q)).T
        rows.append((frame.T @ turn).T)
    return quasi.bound_to_zero(algebra.stack(rows))


def derive_on(reduction: Reduction) -> Blocks:
    """The blocks on a reduction."""
    algebra = reduction.algebra
    quasi = QuasiVelocities(reduction)
    lagrangian = quasi.at(reduction.lagrangian)
    slope = algebra.gradient(lagrangian, quasi.eta)
    independent_slope = algebra.gradient(lagrangian, reduction.independent)
    frame = algebra.jacobian(quasi.velocities, reduction.independent)
    residual = (
        quasi.bound_to_zero(quasi.rate(independent_slope))
        + transitivity(quasi).T @ quasi.bound_to_zero(slope)
        - quasi.bound_to_zero(frame.T @ algebra.gradient(lagrangian, reduction.q))
        - reduction.applied
    )
    return reduction.from_residual(residual)
