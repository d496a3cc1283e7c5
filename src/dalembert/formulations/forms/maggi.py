r"""Maggi's equations: Lagrange's, projected onto the virtual displacements.

    (d/dt L_v - L_q - Q)_i F_is = 0,    F = d q_dot / d v_I        (Rumyantsev 3.1)

With q_ddot = F z + d this is F^T M F z = F^T (f - M d).
"""

from __future__ import annotations

from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, choose_split, reduced_equations

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "Maggi's equations (Rumyantsev eq. 3.1)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    choose_split(system)


def derive(system: System) -> Equations:
    """Accelerations of the independent velocities by projection."""
    hypotheses(system)
    return reduced_equations(system, FORM, derive_on)


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    mass, force = reduction.here(reduction.full.metric), reduction.here(reduction.full.force)
    frame = reduction.frame
    return reduction.blocks(frame.T @ mass @ frame, frame.T @ (force - mass @ reduction.drift))


FORM = Form("maggi", CITATION, hypotheses, derive)
