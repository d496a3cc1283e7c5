r"""Udwadia's constrained Hamilton equations.

With constraints phi(p, q, t) = 0 (holonomic ones as phi = g_q H_p + g_t, velocity ones with v =
H_p), A_p = phi_p and b_p = -phi_q H_p - phi_t, the rate z = p_dot minimises (z - a)^T H_pp (z - a)
/ 2 under A_p z = b_p:

    q_dot = H_p,   p_dot = -H_q + Q + H_pp^-1 A_p^T (A_p H_pp^-1 A_p^T)^+ (b_p + A_p (H_q - Q))
    (Udwadia 12, 36)

so G = H_pp, f = H_pp (Q - H_q), and the reaction H_pp^-1 A_p^T mu is the same generalised force as
A_v^T mu, because A_p = A_v H_pp. Feeding velocity rows A_v to this form is the classic mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...algebra.graph import GraphAlgebra
from ...errors import FormError
from ...model.legendre import conjugate
from ...model.symbols import Parameter, t
from ...model.system import System
from ..blocks import GaussBlocks, Projection
from ..constraint_equations import row_names, velocity_level
from ..equations import Equations
from ..form import Form
from . import lagrange

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...algebra.protocol import Algebra, Block

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "Constrained Hamilton's equations (Udwadia eqs. 12, 35, 36)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    if system.image is not None:
        raise FormError(
            f"The image constraint `{system.image.name}` gives velocities, not rows",
            remedy='use the form "implicit-lagrangian"',
        )
    if system.lagrangian is not None:
        _check_legendre_map(system)


def _check_legendre_map(system: System) -> None:
    """The Legendre transformation needs a mass matrix that is regular at a generic state."""
    algebra = GraphAlgebra()
    metric, _ = algebra.hessian(
        algebra.scalar(system.energy_function), algebra.vector(system.velocities)
    )
    rank = algebra.rank(metric).value
    n = len(system.coordinates)
    if rank < n:
        raise FormError(
            "The Legendre transformation does not exist: the mass matrix is singular",
            seen=f"rank {rank} of {n}",
            remedy='use the form "lagrange"',
        )


def derive(system: System) -> Equations:
    """Rates of the canonical momenta by Gauss's principle in the metric H_pp."""
    hypotheses(system)
    return Equations(
        system=system,
        form=FORM.name,
        citation=FORM.citation,
        state=(*system.coordinates, *system.momenta),
        unknowns=tuple(Parameter(f"{p.name}_dot") for p in system.momenta),
        row_names=row_names(system),
        derivation=lambda algebra: derive_with(system, algebra),
    )


def hamiltonian_and_velocities(system: System, algebra: Algebra) -> tuple[Any, Any]:
    """H(q, p, t) and v = H_p, by Legendre's transformation of a Lagrangian."""
    p = algebra.vector(system.momenta)
    if system.hamiltonian is not None:
        hamiltonian = algebra.scalar(system.hamiltonian)
        return hamiltonian, algebra.gradient(hamiltonian, p)
    lagrangian = algebra.scalar(system.energy_function)
    return conjugate(algebra, lagrangian, algebra.vector(system.velocities), p)


def derive_with(system: System, algebra: Algebra) -> GaussBlocks:
    """The blocks in one algebra."""
    q, v, p = (
        algebra.vector(symbols)
        for symbols in (system.coordinates, system.velocities, system.momenta)
    )
    time = algebra.vector([t])
    hamiltonian, velocities = hamiltonian_and_velocities(system, algebra)

    def at_velocities(block: Block) -> Block:
        return algebra.substitute(block, v, velocities)

    level = velocity_level(system, algebra)
    phi = at_velocities(level.residual)
    rows = algebra.jacobian(phi, p)
    right = -algebra.along(phi, q, velocities) - algebra.jacobian(phi, time)
    metric = algebra.jacobian(velocities, p)
    free = at_velocities(lagrange.applied_force(system, algebra, p)) - algebra.gradient(
        hamiltonian, q
    )
    z = algebra.vector([Parameter(f"{momentum.name}_dot") for momentum in system.momenta])
    mu = algebra.vector([Parameter(f"mu_{name}") for name in row_names(system)])
    dual = _dual_rows(system, algebra, level.residual, rows, metric, at_velocities)
    n = len(system.coordinates)
    identity, zero = algebra.jacobian(q, q), algebra.zeros(n, n)
    position_rows = algebra.jacobian(level.holonomic, q)
    return GaussBlocks(
        stated_metric=metric,
        force=metric @ free,
        rows=rows,
        right=right,
        unknowns=z,
        multipliers=mu,
        rates=algebra.stack([velocities, z]),
        velocities=velocities,
        accelerations=algebra.along(velocities, q, velocities)
        + algebra.jacobian(velocities, time)
        + metric @ z,
        momenta=p,
        energy=hamiltonian,
        reactions={
            constraint.name: (
                dual[:, place] * mu[place]
                + at_velocities(
                    algebra.vector(
                        [constraint.work.get(c, lagrange.ZERO) for c in system.coordinates]
                    )
                )
            )
            for place, constraint in enumerate(system.bilateral)
        },
        # A step d of the momenta in the metric H_pp; at position level q moves by H_pp d, which is
        # the kinetic metric.
        position=Projection(level.holonomic, position_rows @ metric, algebra.stack([metric, zero])),
        velocity=Projection(phi, rows, algebra.stack([zero, identity])),
        residuals=(level.holonomic, phi),
        outputs={
            name: at_velocities(algebra.vector([value])) for name, value in system.outputs.items()
        },
        free=free,
        dual_rows=dual,
    )


def _dual_rows(
    system: System,
    algebra: Algebra,
    residual: Block,
    rows: Block,
    metric: Block,
    at_velocities: Callable[[Block], Block],
) -> Block:
    """H_pp^-1 A_p^T (n x m): the rows A_v^T where a constraint is written in velocities."""
    by_velocity = at_velocities(algebra.jacobian(residual, algebra.vector(system.velocities)))
    written_in_momenta = [k for k, c in enumerate(system.bilateral) if c.is_momentum_level]
    if not written_in_momenta:
        return by_velocity.T
    solved = algebra.solve(metric, rows.T)
    return algebra.columns(
        [
            solved[:, k] if k in written_in_momenta else by_velocity[k, :].T
            for k in range(len(system.bilateral))
        ]
    )


FORM = Form("hamilton", CITATION, hypotheses, derive, takes_contacts=True)
