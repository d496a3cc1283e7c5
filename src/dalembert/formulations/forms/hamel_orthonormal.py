r"""Hamel's equations in an orthonormal frame adapted to the constraints.

The virtual displacements are spanned by vector fields e_s(q, t), orthonormal in the kinetic metric,
found by Gram and Schmidt's process from those of the independent velocities. With v = e_s eta_s +
(what the constraints prescribe), the metric of the Gauss problem is the identity, and nothing is
solved:

    eta_dot_s = rest of  -d/dt dL*/deta_s + (dL/dv_i)* T_s^i + e_s(L*) + (e_s . Q)
    (Rumyantsev 3.3)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import FormError
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import FormSymbols, Reduction, Split, VelocityFrame, reduced_equations
from ..velocity_frames import global_frame
from .hamel import second_kind

__all__ = ["FORM", "derive", "hypotheses", "orthonormal_frame"]

CITATION = (
    "Hamel's equations in an orthonormal frame adapted to the constraints (Rumyantsev eq. 3.3)"
)


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    reduction = Reduction.asked(system, global_frame(system))
    algebra = reduction.algebra
    if not reduction.freedom:
        raise FormError(
            "There is no frame: the constraints leave no freedom", remedy='use the form "lagrange"'
        )
    if algebra.without(reduction.frame, reduction.independent) is None:
        raise FormError(
            "An adapted frame needs constraints that are affine in the velocities",
            seen="a constraint that is nonlinear in them",
            remedy='use the form "hamel"',
        )
    if (
        algebra.without(algebra.jacobian(reduction.momenta_at_velocity, reduction.v), reduction.v)
        is None
    ):
        raise FormError(
            "An orthonormal frame needs a kinetic energy quadratic in the velocities",
            remedy='use the form "hamel"',
        )
    metric = (
        reduction.frame.T
        @ algebra.jacobian(reduction.momenta_at_velocity, reduction.v)
        @ reduction.frame
    )
    rank, freedom = algebra.rank(metric).value, reduction.freedom
    if rank < freedom:
        raise FormError(
            "There is no orthonormal frame: the kinetic metric is singular on the constraints",
            seen=f"rank {rank} of {freedom}",
            remedy='use the form "lagrange"',
        )


def derive(system: System) -> Equations:
    """Rates of the components of the velocity in the frame."""
    hypotheses(system)
    return reduced_equations(system, FORM, derive_on, frames=True, symbols=_symbols)


def _symbols(_: System, choice: Split | VelocityFrame) -> FormSymbols:
    return FormSymbols.named(f"eta_{k + 1}" for k in range(choice.freedom))


def orthonormal_frame(reduction: Reduction) -> Any:
    """R(q, t), (k x k) upper triangular, v_I = R eta: frame @ R is orthonormal in the metric."""
    algebra = reduction.algebra
    k = reduction.freedom
    metric = _metric(reduction)
    unit = algebra.jacobian(reduction.independent, reduction.independent)
    columns: list[Any] = []
    for s in range(k):
        column = algebra.part(unit, range(k), [s])
        for earlier in columns:
            column = column - earlier * algebra.inner(earlier, metric @ column)
        columns.append(column / algebra.root(algebra.inner(column, metric @ column)))
    return algebra.columns(columns)


def _metric(reduction: Reduction) -> Any:
    """The kinetic metric on the virtual displacements, (k x k)."""
    mass = reduction.algebra.jacobian(reduction.momenta_at_velocity, reduction.v)
    return reduction.frame.T @ reduction.here(mass) @ reduction.frame


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra = reduction.algebra
    symbols = _symbols(reduction.system, reduction.choice)
    eta, rates = algebra.vector(symbols.state), algebra.vector(symbols.rates)
    turned = orthonormal_frame(reduction)
    independent = turned @ eta
    velocities = algebra.substitute(reduction.velocities, reduction.independent, independent)
    residual = second_kind(reduction, eta, rates, velocities)
    components = turned.T @ (_metric(reduction) @ reduction.independent)
    blocks = reduction.in_symbols(residual, eta, rates, independent, components)
    identity = algebra.jacobian(eta, eta)
    return replace(
        blocks, stated_metric=identity, free=blocks.force, dual_rows=algebra.zeros(eta.shape[0], 0)
    )


FORM = Form("hamel-orthonormal", CITATION, hypotheses, derive)
