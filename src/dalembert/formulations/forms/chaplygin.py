r"""Chaplygin's equations: Voronets' where the dependent coordinates occur nowhere.

    d/dt dL_c/dv_s - dL_c/dq_s - dL/dv_a (d/dt dphi_a/dv_s - dphi_a/dq_s) = (F^T Q)_s

for constraints v_a = phi_a(q_I) v_I, linear and homogeneous, with L, phi and the forces free of the
dependent coordinates q_a.
"""

from __future__ import annotations

from ...algebra.graph import GraphAlgebra
from ...errors import FormError
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, Split, choose_split, reduced_equations
from . import lagrange

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "Chaplygin's equations (Rumyantsev eq. 2.6 with cyclic dependent coordinates)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    _check(system, choose_split(system))


def _check(system: System, split: Split) -> None:
    """The hypotheses for one choice of dependent velocities."""
    if not split.dependent:
        raise FormError(
            "Chaplygin's form needs constraints on velocities",
            seen="none",
            remedy='use the form "lagrange"',
        )
    try:
        choose_split(system, allowed=lambda candidate: _obstacle(system, candidate) is None)
    except FormError:
        raise FormError(
            f"Chaplygin's form does not apply: {_obstacle(system, split)}",
            remedy='use the form "voronets"',
        ) from None


def _occurring(system: System) -> frozenset[int]:
    """The places of the coordinates that occur in the Lagrangian: these cannot be dependent."""

    def found() -> frozenset[int]:
        algebra = GraphAlgebra()
        lagrangian = lagrange.lagrangian_and_momenta(system, algebra)[0]
        symbols = [algebra.scalar(q) for q in system.coordinates]
        return frozenset(k for k, q in enumerate(symbols) if algebra.depends(lagrangian, q))

    return system.cache.get("coordinates in the Lagrangian", found)


def _obstacle(system: System, split: Split) -> str | None:
    """The hypothesis that fails on a split, as a clause; the quickest question comes first."""
    names = ", ".join(system.coordinates[k].name for k in split.dependent)
    if not _occurring(system).isdisjoint(split.dependent):
        return f"one of the dependent coordinates {names} occurs in the Lagrangian"
    reduction = Reduction.asked(system, split)
    algebra = reduction.algebra
    cyclic = algebra.part(reduction.q, split.dependent, [0])
    for what, block in (("the constraints", reduction.solved), ("the forces", reduction.applied)):
        if algebra.depends(block, cyclic):
            return f"one of the dependent coordinates {names} occurs in {what}"
    if algebra.depends(reduction.solved, reduction.time):
        return "the constraints depend on time"
    derivative = algebra.jacobian(reduction.solved, reduction.independent)
    rest = algebra.substitute(
        reduction.solved, reduction.independent, algebra.zeros(len(split.independent))
    )
    if algebra.depends(derivative, reduction.independent) or not all(
        rest[k].is_zero() for k in range(len(split.dependent))
    ):
        return "the constraints are not linear and homogeneous in the velocities"
    return None


def derive(system: System) -> Equations:
    """Accelerations of the independent velocities with the dependent coordinates ignored."""
    hypotheses(system)
    return reduced_equations(
        system, FORM, derive_on, allowed=lambda split: _obstacle(system, split) is None
    )


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra, here, split = reduction.algebra, reduction.here, reduction.split
    places = list(split.independent)
    base = algebra.part(reduction.q, places, [0])
    constrained = here(reduction.lagrangian)
    residual = reduction.rate(
        algebra.gradient(constrained, reduction.independent)
    ) - algebra.gradient(constrained, base)
    momenta = algebra.part(here(reduction.momenta_at_velocity), split.dependent, [0])
    for place in range(len(split.dependent)):
        phi = algebra.part(reduction.solved, [place], [0])
        turn = (
            reduction.rate(algebra.jacobian(phi, reduction.independent).T)
            - algebra.jacobian(phi, base).T
        )
        residual = residual - turn @ algebra.part(momenta, [place], [0])
    return reduction.from_residual(residual - reduction.applied)


FORM = Form("chaplygin", CITATION, hypotheses, derive)
