r"""Kane's equations: generalised active and inertia forces along partial velocities.

    F_s + F_s* = 0,    F_s = (Q - V_q) . dv/dv_s,    F_s* = -(d/dt T_v - T_q) . dv/dv_s

The partial velocities dv/dv_s are the columns of the frame of the independent velocities. The same
motion as Maggi's equations, with the energies kept apart: inertia comes from T alone, and every
other force is active.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import FormError
from ...model.system import System
from ...typing import Expression
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, choose_split, speed_equations_of

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "Kane's equations (Kane and Levinson 1985)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    choose_split(system, implicit=True)
    if system.kinetic is None:
        raise FormError(
            "Kane's form keeps inertia and active forces apart, and needs the kinetic and the"
            " potential energy",
            seen="a Hamiltonian" if system.is_hamiltonian else "a Lagrangian",
            remedy='state the system with kinetic= and potential=, or use the form "maggi"',
        )


def derive(system: System, quasi_velocities: Mapping[str, Expression] | None = None) -> Equations:
    """Accelerations of the independent velocities from active and inertia forces.

    Parameters
    ----------
    quasi_velocities : mapping of name to expression of q, q_dot and t
        Speeds of the caller's own, as many as degrees of freedom, which become symbols of the
        equations; by default a global frame of the constraint distribution, or some of the
        velocities.
    """
    hypotheses(system)
    return speed_equations_of(system, FORM, derive_on, quasi_velocities)


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra, system, here = reduction.algebra, reduction.system, reduction.here
    kinetic, potential = algebra.scalar(system.kinetic), algebra.scalar(system.potential)
    momenta = here(algebra.gradient(kinetic, reduction.v))
    inertia = here(algebra.gradient(kinetic, reduction.q)) - reduction.rate(momenta)
    active = reduction.applied - reduction.frame.T @ here(algebra.gradient(potential, reduction.q))
    return reduction.from_residual(-(active + reduction.frame.T @ inertia))


FORM = Form("kane", CITATION, hypotheses, derive)
