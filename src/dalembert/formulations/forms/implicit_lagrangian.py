r"""Implicit Lagrangian equations on a bundle, with the constraints in image representation.

The constraint is q_dot = E(q, t) u. The Lagrangian L(q, v) is written in fibre velocities v =
sigma(q) q_dot, as many as the model needs (`System(bundle=...)`); without a bundle sigma is the
identity. With p = dL/dv,

    E^T [ sigma^T d/dt p - L_q - p_m (d_i sigma_mj - d_j sigma_mi) q_dot_j ] = E^T Q
    (Moreau and van der Schaft 21-23)

which is d'Alembert's principle with Chetaev's rule for L(q, sigma q_dot), whatever the
distribution. Where the model gives no image, the one of its constraints is found: E spans their
virtual displacements, with the independent velocities as speeds. Further constraints beside a given
image add the rows f_v E. E may lose rank: the velocities stay unique, the speeds do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import FormError
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..fibre_velocities import Fibre, fibre_of
from ..form import Form
from ..independent_velocities import Reduction, choose_split, reduced_equations
from ..speeds import OnSpeeds, speed_equations

if TYPE_CHECKING:
    from ...algebra.protocol import Algebra, Block

__all__ = ["FORM", "derive", "hypotheses", "implicit_equations"]

CITATION = "Implicit Lagrangian equations (Moreau and van der Schaft eqs. 21-23)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    if system.image is not None:
        return
    if not system.bundle and not choose_split(system).dependent:
        raise FormError(
            "An implicit form needs constraints, or a Lagrangian on a bundle",
            seen="neither",
            remedy='use the form "lagrange"',
        )
    reduction = Reduction.asked(system)
    algebra = reduction.algebra
    still = algebra.zeros(len(reduction.split.independent))
    at_rest = algebra.substitute(reduction.velocities, reduction.independent, still)
    nonlinear = algebra.without(reduction.frame, reduction.independent) is None
    if nonlinear or not all(at_rest[k].is_zero() for k in range(len(system.coordinates))):
        raise FormError(
            "An image representation needs constraints that are linear and homogeneous in the"
            " velocities",
            seen="a constraint that is not",
            remedy='use the form "lagrange" or "voronets"',
        )


def derive(system: System) -> Equations:
    """Rates of the speeds."""
    return implicit_equations(system, FORM, lagrangian_side)


def implicit_equations(
    system: System,
    form: Form,
    side: Callable[[Any, Fibre], Any],
    check: Callable[[System], None] = hypotheses,
) -> Equations:
    """The record of an implicit form, on the given image or on that of the constraints."""
    check(system)

    def residual(on: Reduction | OnSpeeds) -> GaussBlocks:
        blocks: GaussBlocks = on.from_residual(on.frame.T @ side(on, fibre_of(on)) - on.applied)
        return blocks

    if system.image is None:
        return reduced_equations(system, form, residual)
    image = system.image

    def derivation(algebra: Algebra) -> GaussBlocks:
        velocities = algebra.vector([image.velocities[q] for q in system.coordinates])
        return residual(OnSpeeds(system, algebra, image.speeds, velocities))

    return speed_equations(system, form, image.speeds, derivation, has_gauge=True)


def lagrangian_side(on: Reduction | OnSpeeds, fibre: Fibre) -> Block:
    """The bracket of (22), (n x 1)."""
    algebra = on.algebra
    momenta = fibre.here(algebra.gradient(fibre.lagrangian, fibre.symbols))
    derivative = fibre.here(algebra.gradient(fibre.lagrangian, on.q))
    return fibre.sigma.T @ on.rate(momenta) - derivative - fibre.turning(momenta)


FORM = Form("implicit-lagrangian", CITATION, hypotheses, derive, takes_contacts=True)
