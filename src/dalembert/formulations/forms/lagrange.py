r"""Lagrange's equations of the first kind, also Gauss's principle and the Udwadia-Kalaba equation.

With M = L_vv and the constraints f(q, v, t) = 0 (f = g_q v + g_t for holonomic ones), A = f_v and b
= -f_q v - f_t,

    M z = Q + L_q - L_vq v - L_vt + A^T mu,     A z = b,     z = q_ddot        (Gavin 61, 70;
    Rumyantsev 2.3)

The reaction is +A^T mu; a nonideal constraint adds its prescribed force C (Udwadia and Kalaba). M
is never inverted: it may be singular as long as it is positive definite on the directions that A
allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import FormError
from ...model.constraints.on_velocities import TangentConstraint
from ...model.legendre import conjugate
from ...model.symbols import Parameter, t
from ...model.system import System
from ..blocks import GaussBlocks, Hessian, Projection, WhenRead
from ..constraint_equations import VelocityLevel, row_names, velocity_level
from ..contact_friction import SlidingForces, sliding_friction
from ..equations import Equations
from ..form import Form
from ..newton_euler import inertial_force

if TYPE_CHECKING:
    from ...algebra.protocol import Algebra, Block, Scalar

__all__ = ["FORM", "applied_force", "derive", "derive_with", "hypotheses", "lagrangian_and_momenta"]

ZERO = sympy.Integer(0)

CITATION = (
    "Lagrange's equations with multipliers (Gavin eqs. 61, 70; Rumyantsev eq. 2.3; Gauss 1829)"
)


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    if system.image is not None:
        raise FormError(
            f"The image constraint `{system.image.name}` gives velocities, not rows",
            remedy='use the form "implicit-lagrangian"',
        )


def derive(system: System) -> Equations:
    """Accelerations by Gauss's principle."""
    hypotheses(system)
    return Equations(
        system=system,
        form=FORM.name,
        citation=FORM.citation,
        state=(*system.coordinates, *system.velocities),
        unknowns=tuple(q.ddot for q in system.coordinates),
        row_names=row_names(system),
        derivation=lambda algebra: derive_with(system, algebra),
    )


def lagrangian_and_momenta(system: System, algebra: Algebra) -> tuple[Any, Any]:
    """L(q, v, t) and p(q, v, t), by Legendre's transformation of a Hamiltonian."""
    v = algebra.vector(system.velocities)
    if system.lagrangian is not None:
        lagrangian = algebra.scalar(system.lagrangian)
        return lagrangian, algebra.gradient(lagrangian, v)
    hamiltonian = algebra.scalar(system.energy_function)
    return conjugate(algebra, hamiltonian, algebra.vector(system.momenta), v)


def applied_force(system: System, algebra: Algebra, momenta: Block) -> Any:
    """Q(q, v, t, inputs): forces, Rayleigh's dissipation, and the work of constraints."""
    v, p = algebra.vector(system.velocities), algebra.vector(system.momenta)
    works = [c.work for c in system.bilateral if c.work]
    forces = [
        sum((table.get(q, ZERO) for table in works), system.forces.get(q, ZERO))
        for q in system.coordinates
    ]
    given = algebra.vector(forces) - algebra.gradient(algebra.scalar(system.dissipation), v)
    return algebra.substitute(given, p, momenta)


def derive_with(system: System, algebra: Algebra) -> GaussBlocks:
    """The blocks in one algebra."""
    q, v, time = (
        algebra.vector(system.coordinates),
        algebra.vector(system.velocities),
        algebra.vector([t]),
    )
    lagrangian, momenta = lagrangian_and_momenta(system, algebra)
    level = velocity_level(system, algebra, momenta)
    derivative = algebra.gradient(lagrangian, v)
    if system.body_tree is not None and isinstance(algebra, GraphAlgebra):
        moving = inertial_force(algebra, system.body_tree, q, v)
    else:
        moving = (
            algebra.gradient(lagrangian, q)
            - algebra.along(derivative, q, v)
            - algebra.jacobian(derivative, time)
        )
    force = applied_force(system, algebra, momenta) + moving
    return assemble(
        system, algebra, lagrangian, momenta, level, Hessian(algebra, lagrangian, v), force
    )


def assemble(
    system: System,
    algebra: Algebra,
    lagrangian: Scalar,
    momenta: Block,
    level: VelocityLevel,
    metric: Block | Hessian,
    force: Block,
) -> GaussBlocks:
    """Blocks whose unknowns are the accelerations and whose state is (q, q_dot)."""
    n = len(system.coordinates)
    q, v, time = (
        algebra.vector(system.coordinates),
        algebra.vector(system.velocities),
        algebra.vector([t]),
    )
    rows = algebra.jacobian(level.residual, v)
    right = -algebra.along(level.residual, q, v) - algebra.jacobian(level.residual, time)
    z = algebra.vector([c.ddot for c in system.coordinates])
    mu = algebra.vector([Parameter(f"mu_{name}") for name in row_names(system)])
    zero, identity = algebra.zeros(n, n), algebra.jacobian(q, q)
    slipping = sliding_friction(system, algebra, metric, force, rows, right)
    return GaussBlocks(
        stated_metric=metric,
        force=force if slipping.friction is None else force + slipping.friction,
        rows=rows,
        right=right,
        unknowns=z,
        multipliers=mu,
        rates=algebra.stack([v, z]),
        velocities=v,
        accelerations=z,
        momenta=momenta,
        energy=algebra.inner(momenta, v) - lagrangian,
        reactions=reactions(system, algebra, slipping, mu, momenta),
        position=Projection(
            level.holonomic, algebra.jacobian(level.holonomic, q), algebra.stack([identity, zero])
        ),
        velocity=Projection(level.residual, rows, algebra.stack([zero, identity])),
        residuals=(level.holonomic, level.residual),
        outputs=output_expressions(system, algebra, momenta),
    )


def reactions(
    system: System,
    algebra: Algebra,
    slipping: SlidingForces,
    multipliers: Block,
    momenta: Block,
) -> Mapping[str, Block]:
    """The generalised force of each constraint: D_i^T mu_i, and its prescribed force.

    A contact that slips has its friction in its row D_i, a friction limit has one of its own.
    """

    def made() -> dict[str, Block]:
        prescribed = prescribed_forces(system, algebra, momenta)
        columns = zip(system.bilateral, algebra.split_columns(slipping.rows.T), strict=True)
        found: dict[str, Block] = {}
        for place, (c, column) in enumerate(columns):
            force = column * multipliers[place] + prescribed[c.name]
            name = c.contact if isinstance(c, TangentConstraint) else c.name
            found[name] = found[name] + force if name in found else force
        for name, (presses, column) in slipping.limits.items():
            pushed = algebra.part(multipliers, presses, [0])
            size = pushed[0] if len(presses) == 1 else algebra.root(algebra.inner(pushed, pushed))
            found[name] = column * size if presses else column
        return found

    return WhenRead(made)


def prescribed_forces(system: System, algebra: Algebra, momenta: Block) -> dict[str, Block]:
    """The force C(q, v, t) of each constraint whose virtual work it does; zero for an ideal one."""
    p = algebra.vector(system.momenta)
    return {
        c.name: (
            algebra.substitute(
                algebra.vector([c.work.get(q, ZERO) for q in system.coordinates]), p, momenta
            )
            if c.work
            else algebra.zeros(len(system.coordinates))
        )
        for c in system.bilateral
    }


def output_expressions(system: System, algebra: Algebra, momenta: Block) -> dict[str, Block]:
    """The user's outputs as functions of q, v and t."""
    p = algebra.vector(system.momenta)
    return {
        name: algebra.substitute(algebra.vector([value]), p, momenta)
        for name, value in system.outputs.items()
    }


FORM = Form("lagrange", CITATION, hypotheses, derive, takes_contacts=True)
