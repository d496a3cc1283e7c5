r"""Implicit Hamiltonian equations on the dual bundle, with the constraints in image representation.

With p = dL/dv regular on the fibres (hyperregular), H(q, p) = p . v - L, and q_dot = E(q, t) u,

    E^T [ sigma^T p_dot + H_q - p_m (d_i sigma_mj - d_j sigma_mi) q_dot_j ] = E^T Q,     H_p = sigma
    q_dot        (M 24-26)

The algebraic equation H_p = sigma E u is solved for p(q, u, t), so that the speeds are the state,
as in the implicit Lagrangian form: where E loses rank they are not unique, and the motion is still
determined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import FormError
from ...model.legendre import conjugate, conjugate_symbols
from ...model.symbols import Parameter
from ...model.system import System
from ..equations import Equations
from ..fibre_velocities import Fibre, legendre_state
from ..form import Form
from ..independent_velocities import Reduction
from ..speeds import OnSpeeds
from . import implicit_lagrangian

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "Implicit Hamiltonian equations (Moreau and van der Schaft eqs. 24-26)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    implicit_lagrangian.hypotheses(system)
    state = legendre_state(system)
    if state.is_hyperregular is False:
        raise FormError(
            "The Lagrangian is not hyperregular on its fibres",
            seen=state.reason,
            remedy=(
                "write it on a bundle where it is (System(bundle=...)), or use the form"
                ' "implicit-lagrangian"'
            ),
        )


def derive(system: System) -> Equations:
    """Rates of the speeds, from the Hamiltonian on the dual bundle."""
    return implicit_lagrangian.implicit_equations(system, FORM, hamiltonian_side, hypotheses)


def hamiltonian_side(on: Reduction | OnSpeeds, fibre: Fibre) -> Block:
    """The bracket of (25), (n x 1)."""
    algebra = on.algebra
    p = algebra.vector([Parameter(f"p of fibre {k + 1}") for k in range(fibre.symbols.shape[0])])
    if fibre.hamiltonian is not None:
        hamiltonian = algebra.substitute(fibre.hamiltonian, fibre.momenta, p)
    else:
        hamiltonian, _ = conjugate(algebra, fibre.lagrangian, fibre.symbols, p)
    momenta = fibre.here(conjugate_symbols(algebra, hamiltonian, p, fibre.symbols))
    derivative = algebra.substitute(algebra.gradient(hamiltonian, on.q), p, momenta)
    return fibre.sigma.T @ on.rate(momenta) + derivative - fibre.turning(momenta)


FORM = Form("implicit-hamiltonian", CITATION, hypotheses, derive)
