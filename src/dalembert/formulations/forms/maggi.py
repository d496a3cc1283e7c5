r"""Maggi's equations: Lagrange's, projected onto the virtual displacements.

    (d/dt L_v - L_q - Q)_i F_is = 0,    F = d q_dot / d v_I        (Rumyantsev 3.1)

With q_ddot = F z + d this is F^T M F z = F^T (f - M d).
"""

from __future__ import annotations

from collections.abc import Mapping

from ...model.system import System
from ...typing import Expression
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, choose_split, speed_equations_of

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "Maggi's equations (Rumyantsev eq. 3.1)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    choose_split(system, implicit=True)


def derive(system: System, quasi_velocities: Mapping[str, Expression] | None = None) -> Equations:
    """Accelerations of the independent velocities by projection.

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
    mass, force = reduction.here(reduction.full.metric), reduction.here(reduction.full.force)
    frame = reduction.frame
    return reduction.blocks(frame.T @ mass @ frame, frame.T @ (force - mass @ reduction.drift))


FORM = Form("maggi", CITATION, hypotheses, derive)
