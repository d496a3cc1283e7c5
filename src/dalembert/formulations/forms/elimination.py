r"""Elimination: holonomic constraints solved for some coordinates, which leave the problem.

Where the constraints are affine in the dependent coordinates, g = G(q_I, t) q_D + g_0(q_I, t), they
give q_D = h(q_I, t), and the rest is Lagrange's equations of the second kind in the independent
coordinates alone:

    L_r(q_I, v_I, t) = L(q_I, h, v_I, dh/dt, t),     d/dt dL_r/dv_I - dL_r/dq_I = (dq/dq_I)^T Q
    (Gavin section 12.1)

Reactions do not occur in them; they are recovered from the equations that were left out.
"""

from __future__ import annotations

from ...errors import FormError
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, Split, choose_split, reduced_equations

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "Elimination of coordinates (Gavin section 12.1)"
VORONETS = 'use the form "voronets", or state it as a holonomic constraint if it is integrable'


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    others = [c.name for c in system.bilateral if not c.is_position_level]
    if not system.bilateral or others:
        raise FormError(
            "Elimination needs constraints on positions, and no others",
            seen=f"`{others[0]}`" if others else "no constraints",
            remedy=VORONETS if others else 'use the form "lagrange"',
        )
    choose_split(system)
    try:
        choose_split(system, allowed=lambda split: _is_affine(system, split))
    except FormError:
        raise FormError(
            "The constraints are not affine in any set of dependent coordinates, so that solving"
            " them has several branches",
            seen=", ".join(c.name for c in system.bilateral),
            remedy='use the form "maggi" or "lagrange"',
        ) from None


def _is_affine(system: System, split: Split) -> bool:
    """Whether the constraints are affine in the dependent coordinates and solvable for them."""
    reduction = Reduction.asked(system, split)
    algebra = reduction.algebra
    dependent = algebra.part(reduction.q, split.dependent, [0])
    derivative = algebra.jacobian(reduction.level.holonomic, dependent)
    if algebra.without(derivative, dependent) is None:
        return False
    return bool(
        algebra.rank(algebra.part(derivative, split.rows, range(len(split.dependent)))).value
        == len(split.dependent)
    )


def derive(system: System) -> Equations:
    """Accelerations of the independent coordinates, with the dependent ones eliminated."""
    hypotheses(system)
    return reduced_equations(
        system, FORM, derive_on, allowed=lambda split: _is_affine(system, split)
    )


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra, split = reduction.algebra, reduction.split
    base = algebra.part(reduction.q, split.independent, [0])
    gone = algebra.part(reduction.q, split.dependent, [0])
    constraints = algebra.part(reduction.level.holonomic, split.rows, [0])
    zero = algebra.zeros(len(split.dependent))
    derivative = algebra.substitute(algebra.jacobian(constraints, gone), gone, zero)
    solved = algebra.solve_square(derivative, -algebra.substitute(constraints, gone, zero))
    moved = algebra.along(solved, base, reduction.independent) + algebra.jacobian(
        solved, reduction.time
    )
    old, new = algebra.stack([gone, reduction.dependent]), algebra.stack([solved, moved])
    lagrangian = algebra.substitute(reduction.lagrangian, old, new)
    force = algebra.substitute(reduction.applied_force, old, new)
    order = [*split.independent, *split.dependent]
    places = algebra.part(
        algebra.stack([base, solved]), [order.index(k) for k in range(len(order))], [0]
    )
    momenta = algebra.gradient(lagrangian, reduction.independent)
    rate = (
        algebra.along(momenta, base, reduction.independent)
        + algebra.along(momenta, reduction.independent, reduction.z)
        + algebra.jacobian(momenta, reduction.time)
    )
    residual = rate - algebra.gradient(lagrangian, base) - algebra.jacobian(places, base).T @ force
    return reduction.from_residual(residual)


FORM = Form("elimination", CITATION, hypotheses, derive)
