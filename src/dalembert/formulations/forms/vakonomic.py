r"""The Lagrange problem (vakonomic motion): stationary action under the constraints.

Euler's equations of L + chi . f with multipliers chi(t) that are part of the state (Rumyantsev
4.1-4.2):

    (L_vv + chi . f_vv) z = Q + E(L + chi . f) + f_v^T mu,     f_v z = -f_q v - f_t,     mu =
    -chi_dot,

where E gathers the terms of Euler's equations without z. The start of chi is free data; the matrix
may be indefinite or singular. This is a different motion from d'Alembert's wherever the constraints
are not integrable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import FormError
from ...model.symbols import Parameter, t
from ...model.system import System
from ..blocks import GaussBlocks, Projection
from ..constraint_equations import row_names, velocity_level
from ..equations import Equations
from ..form import Form
from . import lagrange

if TYPE_CHECKING:
    from ...algebra.protocol import Algebra, Block

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "The Lagrange problem, vakonomic equations (Rumyantsev eqs. 4.1-4.2)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    lagrange.hypotheses(system)
    if not system.bilateral:
        raise FormError(
            "A vakonomic form needs constraints", seen="none", remedy='use the form "lagrange"'
        )


def costates(system: System) -> tuple[Parameter, ...]:
    """The multipliers chi, one for each constraint."""
    return tuple(Parameter(f"chi_{name}") for name in row_names(system))


def derive(system: System) -> Equations:
    """Extremals of the action on the constraint set."""
    hypotheses(system)
    return Equations(
        system=system,
        form=FORM.name,
        citation=FORM.citation,
        state=(*system.coordinates, *system.velocities, *costates(system)),
        unknowns=tuple(q.ddot for q in system.coordinates),
        row_names=row_names(system),
        derivation=lambda algebra: derive_with(system, algebra),
        is_definite=False,
    )


def derive_with(system: System, algebra: Algebra) -> GaussBlocks:
    """The blocks in one algebra."""
    q, v, time = (
        algebra.vector(system.coordinates),
        algebra.vector(system.velocities),
        algebra.vector([t]),
    )
    chi = algebra.vector(costates(system))
    lagrangian, momenta = lagrange.lagrangian_and_momenta(system, algebra)
    level = velocity_level(system, algebra, momenta)
    augmented = lagrangian + algebra.inner(chi, level.residual)
    metric, derivative = algebra.hessian(augmented, v)
    force = (
        lagrange.applied_force(system, algebra, momenta)
        + algebra.gradient(augmented, q)
        - algebra.along(derivative, q, v)
        - algebra.jacobian(derivative, time)
    )
    blocks = lagrange.assemble(system, algebra, lagrangian, momenta, level, metric, force)
    mass, _ = algebra.hessian(lagrangian, v)
    empty = algebra.zeros(len(costates(system)), len(system.coordinates))
    # The force that keeps the motion on the constraints, by coordinate: d/dt L_v - L_q - Q.
    plain = lagrange.derive_with(system, algebra).force
    return replace(
        blocks,
        rates=algebra.stack([blocks.rates, -blocks.multipliers]),
        reactions={"constraints": mass @ blocks.unknowns - plain},
        position=_widened(algebra, blocks.position, empty),
        velocity=_widened(algebra, blocks.velocity, empty),
    )


def _widened(algebra: Algebra, projection: Projection, empty: Block) -> Projection:
    return replace(projection, lift=algebra.stack([projection.lift, empty]))


FORM = Form("vakonomic", CITATION, hypotheses, derive, is_variational=True)
