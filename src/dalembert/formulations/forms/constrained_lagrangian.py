r"""The constrained Lagrangian with the curvature of the constraints' Ehresmann connection.

For constraints s_dot^a = -A^a_al(r, s) r_dot^al, with L_c the Lagrangian on them,

    d/dt dL_c/dr_dot^al - dL_c/dr^al + A^a_al dL_c/ds^a = -(dL/ds_dot^b) B^b_{al be} r_dot^be + (F^T
    Q)_al       (Bloch 5.2.17) B^b_{al be} = d_be A^b_al - d_al A^b_be + A^a_al d_{s^a} A^b_be -
    A^a_be d_{s^a} A^b_al

with dL/ds_dot taken before the constraints are imposed. Where B vanishes the constraints are
holonomic, and imposing them first is right.
"""

from __future__ import annotations

from typing import Any

from ...errors import FormError
from ...model.symbols import t
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, choose_split, reduced_equations

__all__ = ["FORM", "connection", "curvature", "derive", "hypotheses"]

CITATION = "Constrained Lagrangian with Ehresmann curvature (Bloch et al. eq. 5.2.17)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    split = choose_split(system)
    if not split.dependent:
        raise FormError(
            "The constrained Lagrangian needs constraints",
            seen="none",
            remedy='use the form "lagrange"',
        )
    reduction = Reduction.asked(system)
    algebra = reduction.algebra
    coefficients = connection(reduction)
    rest = reduction.solved + coefficients @ reduction.independent
    zero = algebra.substitute(rest, reduction.independent, algebra.zeros(len(split.independent)))
    linear = not algebra.depends(coefficients, reduction.independent)
    if not linear or not all(zero[k].is_zero() for k in range(len(split.dependent))):
        raise FormError(
            "The constrained Lagrangian needs constraints that are linear and homogeneous in the"
            " velocities",
            remedy='use the form "voronets"',
        )
    if algebra.depends(coefficients, algebra.vector([t])):
        raise FormError(
            "The constrained Lagrangian needs constraints without time",
            remedy='use the form "voronets"',
        )


def derive(system: System) -> Equations:
    """Accelerations of the base velocities."""
    hypotheses(system)
    return reduced_equations(system, FORM, derive_on)


def connection(reduction: Reduction) -> Any:
    """A^a_al, (r x k)."""
    return -reduction.algebra.jacobian(reduction.solved, reduction.independent)


def curvature(reduction: Reduction) -> list[Any]:
    """B^b for each dependent velocity b, as a matrix (k x k) over al, be."""
    algebra, split = reduction.algebra, reduction.split
    coefficients = connection(reduction)
    found = []
    for b in range(len(split.dependent)):
        row = algebra.part(coefficients, [b], range(len(split.independent))).T
        # The derivative of A^b_al along the horizontal lift of d/dr^be: d_be - A^a_be d_{s^a};
        # frame holds these lifts.
        derivative = algebra.jacobian(row, reduction.q) @ reduction.frame
        found.append(derivative - derivative.T)
    return found


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra, here, split = reduction.algebra, reduction.here, reduction.split
    constrained = here(reduction.lagrangian)
    momenta = algebra.part(here(reduction.momenta_at_velocity), split.dependent, [0])
    # dL_c/dr^al - A^a_al dL_c/ds^a is the derivative along the horizontal lift.
    residual = (
        reduction.rate(algebra.gradient(constrained, reduction.independent))
        - reduction.frame.T @ algebra.gradient(constrained, reduction.q)
        - reduction.applied
    )
    for b, bend in enumerate(curvature(reduction)):
        residual = residual + (bend @ reduction.independent) @ algebra.part(momenta, [b], [0])
    return reduction.from_residual(residual)


FORM = Form("constrained-lagrangian", CITATION, hypotheses, derive)
