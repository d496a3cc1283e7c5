r"""Voronets' equations, for constraints linear or nonlinear in the velocities.

With the Lagrangian L_c(q, v_I, t) on the constraints v_D = phi(q, v_I, t),

    d/dt dL_c/dv_s - dL_c/dq_s - dL_c/dq_a dphi_a/dv_s - dL/dv_a A_s^a = (F^T Q)_s
    (Rumyantsev 2.6) A_s^a = d/dt dphi_a/dv_s - dphi_a/dq_s - dphi_a/dq_b dphi_b/dv_s (Rumyantsev
    1.10)

For nonlinear phi the A_s^a contain accelerations, and the equations are implicit. The A_s^a vanish
identically just where the constraints are integrable.
"""

from __future__ import annotations

from typing import Any

from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, choose_split, reduced_equations

__all__ = ["FORM", "derive", "hypotheses", "transitivity"]

CITATION = "Voronets' equations (Rumyantsev eqs. 2.6, 1.10)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    choose_split(system, implicit=True)


def derive(system: System) -> Equations:
    """Accelerations of the independent velocities from the Lagrangian on the constraints."""
    hypotheses(system)
    return reduced_equations(system, FORM, derive_on, implicit=True)


def transitivity(reduction: Reduction) -> Any:
    """A_s^a of (1.10), (k x r), affine in the accelerations z."""
    algebra, split = reduction.algebra, reduction.split
    columns = []
    for place in range(len(split.dependent)):
        phi = algebra.part(reduction.solved, [place], [0])
        derivative = reduction.map.by_speeds(phi).T
        columns.append(
            reduction.rate(derivative) - reduction.frame.T @ reduction.map.by_places(phi).T
        )
    return algebra.columns(columns) if columns else algebra.zeros(len(split.independent), 0)


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra, here = reduction.algebra, reduction.here
    constrained = here(reduction.lagrangian)
    derivative = reduction.map.speed_gradient(constrained)
    dependent_momenta = algebra.part(
        here(reduction.momenta_at_velocity), reduction.split.dependent, [0]
    )
    residual = (
        reduction.rate(derivative)
        - reduction.frame.T @ reduction.map.place_gradient(constrained)
        - transitivity(reduction) @ dependent_momenta
        - reduction.applied
    )
    return reduction.from_residual(residual)


FORM = Form("voronets", CITATION, hypotheses, derive)
