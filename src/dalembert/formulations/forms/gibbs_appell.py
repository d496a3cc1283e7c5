r"""The Gibbs-Appell equations: the derivatives of S by the independent accelerations.

    S = q_ddot^T M q_ddot / 2 + q_ddot^T c,    M q_ddot + c = d/dt L_v - L_q,    dS/dz_s = (F^T Q)_s

with q_ddot = F z + d put into S before it is differentiated: S is Gauss's function up to terms
without z.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model.system import System
from ...typing import Expression
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, choose_split, speed_equations_of

__all__ = ["FORM", "appell_function", "derive", "hypotheses"]

CITATION = "Gibbs-Appell equations (Appell 1899)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    choose_split(system, implicit=True)


def derive(system: System, quasi_velocities: Mapping[str, Expression] | None = None) -> Equations:
    """Accelerations of the independent velocities from the energy of acceleration.

    Parameters
    ----------
    quasi_velocities : mapping of name to expression of q, q_dot and t
        Speeds of the caller's own, as many as degrees of freedom, which become symbols of the
        equations; by default a global frame of the constraint distribution, or some of the
        velocities.
    """
    hypotheses(system)
    return speed_equations_of(system, FORM, derive_on, quasi_velocities)


def appell_function(reduction: Reduction) -> Any:
    """S(q, v_I, z, t), a scalar."""
    algebra, here = reduction.algebra, reduction.here
    mass = here(reduction.full.metric)
    # Lagrange's record has M z = force with the applied force Q inside; without it, force = -c.
    inertia = -here(reduction.full.force - reduction.applied_force)
    acceleration = reduction.frame @ reduction.z + reduction.drift
    return algebra.inner(acceleration, mass @ acceleration) / 2 + algebra.inner(
        acceleration, inertia
    )


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    derivative = reduction.algebra.gradient(appell_function(reduction), reduction.z)
    return reduction.from_residual(derivative - reduction.applied)


FORM = Form("gibbs-appell", CITATION, hypotheses, derive)
