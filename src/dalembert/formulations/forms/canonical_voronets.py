r"""Voronets' equations in canonical form.

With Theta + U = L_c(q, v_I, t), the Lagrangian on the constraints v_D = phi(q, v_I, t), its momenta
and its Hamiltonian,

    P_s = dL_c/dv_s,     H(q, P, t) = P_s v_s - L_c
    (Rumyantsev 3.19) P_dot_s + dH/dq_s + dH/dq_a (dphi_a/dv_s)* - (dL/dv_a A_s^a)* = (F^T Q)_s*,
    q_dot_s = dH/dP_s, q_dot_a = phi_a*     (3.20)

where a star writes a function of v_I in terms of P. The rates of the dependent coordinates belong
to the system. Where phi is nonlinear, A_s^a contains the accelerations d/dt v_I(q, P, t), and the
equations are implicit in P_dot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import FormError
from ...model.legendre import conjugate
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import FormSymbols, Reduction, Split, reduced_equations
from .voronets import transitivity

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = [
    "FORM",
    "canonical_blocks",
    "canonical_symbols",
    "check_restricted_legendre",
    "derive",
    "hypotheses",
]

CITATION = "Canonical form of Voronets' equations (Rumyantsev eqs. 3.19, 3.20)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    check_restricted_legendre(Reduction.asked(system))


def check_restricted_legendre(reduction: Reduction) -> None:
    """Check that L on the constraints is quadratic and regular in the independent velocities."""
    algebra = reduction.algebra
    metric, _ = algebra.hessian(reduction.here(reduction.lagrangian), reduction.independent)
    if algebra.without(metric, reduction.independent) is None:
        raise FormError(
            "The momenta of the Lagrangian on the constraints cannot be solved for the velocities",
            seen="a kinetic energy that is not quadratic in the independent velocities",
            remedy='use the form "voronets"',
        )
    rank, freedom = algebra.rank(metric).value, len(reduction.split.independent)
    if rank < freedom:
        raise FormError(
            "The Legendre transformation on the constraints is singular",
            seen=f"rank {rank} of {freedom}",
            remedy='use the form "lagrange"',
        )


def derive(system: System) -> Equations:
    """Rates of the momenta of the Lagrangian on the constraints."""
    hypotheses(system)
    return reduced_equations(system, FORM, derive_on, symbols=canonical_symbols)


def canonical_symbols(system: System, split: Split) -> FormSymbols:
    """One momentum for each independent velocity, named after its coordinate."""
    return FormSymbols.named(f"y_{system.coordinates[k].name}" for k in split.independent)


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra, here = reduction.algebra, reduction.here
    symbols = canonical_symbols(reduction.system, reduction.split)
    y, rates = algebra.vector(symbols.state), algebra.vector(symbols.rates)
    hamiltonian, independent = conjugate(
        algebra, here(reduction.lagrangian), reduction.independent, y
    )
    dependent_momenta = algebra.part(
        here(reduction.momenta_at_velocity), reduction.split.dependent, [0]
    )
    turning = transitivity(reduction) @ dependent_momenta + reduction.applied
    derivative = algebra.gradient(hamiltonian, reduction.q)
    return canonical_blocks(reduction, y, rates, independent, derivative, turning)


def canonical_blocks(
    reduction: Reduction,
    y: Block,
    rates: Block,
    independent: Block,
    derivative: Block,
    turning: Block,
) -> GaussBlocks:
    """Blocks of y_dot + F^T derivative - turning* = 0, in momenta y with v_I(q, y, t).

    `derivative` (n x 1) is dH/dq in q and y; `turning` (k x 1) is written in q, v_I and z.
    """
    algebra = reduction.algebra
    velocities = algebra.substitute(reduction.velocities, reduction.independent, independent)
    moved = reduction.rate_of(independent, y, rates, velocities)
    old, new = (
        algebra.stack([reduction.independent, reduction.z]),
        algebra.stack([independent, moved]),
    )
    frame = algebra.substitute(reduction.frame, reduction.independent, independent)
    residual = rates + frame.T @ derivative - algebra.substitute(turning, old, new)
    # The rates of momenta are measured in the inverse metric dv_I/dy, which makes the matrix of the
    # unknowns symmetric.
    definition = algebra.gradient(reduction.here(reduction.lagrangian), reduction.independent)
    return reduction.in_symbols(
        algebra.jacobian(independent, y).T @ residual, y, rates, independent, definition
    )


FORM = Form("canonical-voronets", CITATION, hypotheses, derive)
