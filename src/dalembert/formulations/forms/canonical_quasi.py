r"""The canonical equations in quasi-velocities.

With the quasi-velocities of Hamel's form, eta_s free and eta_a the constraints, all n of them in
the Legendre transformation,

    y_r = dL*/deta_r,     H*(q, y, t) = y_r eta_r - L*(q, eta, t),     r = 1..n
    (Rumyantsev 3.5) y_dot_s + y_r W_s^r + dH*/dpi_s = (F^T Q)_s,     eta_s = dH*/dy_s,     0 =
    dH*/dy_a (3.6) y_dot_s - y_r f_ri T_s^i + dH*/dpi_s = (F^T Q)_s (3.7)

The last of (3.6) are algebraic equations for the y_a. Where L* is not quadratic and regular in all
eta but is so in the eta_s on the constraints, H* is not written out: its derivatives are dH*/dpi_s
= -dL*/dpi_s and its y_a = dL*/deta_a there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...algebra.graph import GraphAlgebra
from ...errors import FormError
from ...model.legendre import conjugate, conjugate_symbols
from ...model.symbols import Parameter
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, reduced_equations
from .canonical_voronets import canonical_blocks, canonical_symbols, check_restricted_legendre
from .hamel import KINDS, QuasiVelocities, transitivity, transitivity_of_inverse
from .hamel import hypotheses as hamel_hypotheses

if TYPE_CHECKING:
    from ...algebra.protocol import Block, Scalar

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "Canonical equations in quasi-velocities (Rumyantsev eqs. 3.5-3.7)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    hamel_hypotheses(system)
    check_restricted_legendre(Reduction.asked(system))


def derive(system: System, kind: str = "first") -> Equations:
    """Rates of the momenta of the free quasi-velocities, with W ("first") or T ("second")."""
    hypotheses(system)
    if kind not in KINDS:
        raise FormError(
            "The canonical equations are of two kinds",
            seen=kind,
            remedy='pass kind="first" or kind="second"',
        )
    derivation = partial(derive_on, kind=kind, written_out=_has_hamiltonian(system))
    return reduced_equations(system, FORM, derivation, symbols=canonical_symbols, variant=kind)


def _has_hamiltonian(system: System) -> bool:
    """Whether L* is quadratic and regular in all quasi-velocities, so that H* is explicit."""
    quasi = QuasiVelocities(Reduction(system, GraphAlgebra()))
    algebra = quasi.reduction.algebra
    second, _ = algebra.hessian(quasi.at(quasi.reduction.lagrangian), quasi.eta)
    return algebra.without(second, quasi.eta) is not None and bool(
        algebra.rank(second).value == quasi.eta.shape[0]
    )


def derive_on(reduction: Reduction, kind: str = "first", written_out: bool = True) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra = reduction.algebra
    symbols = canonical_symbols(reduction.system, reduction.split)
    y, rates = algebra.vector(symbols.state), algebra.vector(symbols.rates)
    quasi = QuasiVelocities(reduction)
    lagrangian = quasi.at(reduction.lagrangian)
    if written_out:
        independent, derivative, momenta = _from_hamiltonian(quasi, lagrangian, y)
    else:
        independent = conjugate_symbols(algebra, quasi.bound_to_zero(lagrangian), quasi.free, y)
        derivative = algebra.substitute(
            -quasi.bound_to_zero(algebra.gradient(lagrangian, reduction.q)), quasi.free, independent
        )
        momenta = quasi.bound_to_zero(algebra.gradient(lagrangian, quasi.eta))
    if kind == "first":
        turning = -(transitivity(quasi).T @ momenta)
    else:
        turning = transitivity_of_inverse(quasi).T @ quasi.bound_to_zero(
            quasi.at(reduction.momenta_at_velocity)
        )
    return canonical_blocks(
        reduction, y, rates, independent, derivative, turning + reduction.applied
    )


def _from_hamiltonian(quasi: QuasiVelocities, lagrangian: Scalar, y: Block) -> tuple[Any, Any, Any]:
    """eta_s(q, y_s, t), dH*/dq and all momenta y_r, with dH*/dy_a = 0 solved for the y_a."""
    reduction, algebra = quasi.reduction, quasi.reduction.algebra
    bound = algebra.vector([Parameter(f"y bound {k + 1}") for k in range(quasi.bound.shape[0])])
    hamiltonian, _ = conjugate(algebra, lagrangian, quasi.eta, algebra.stack([y, bound]))
    solved = conjugate_symbols(algebra, hamiltonian, bound, algebra.zeros(bound.shape[0]))

    def on_constraints(block: Block) -> Block:
        return algebra.substitute(block, bound, solved)

    independent = on_constraints(algebra.gradient(hamiltonian, y))
    derivative = on_constraints(algebra.gradient(hamiltonian, reduction.q))
    return independent, derivative, algebra.stack([y, solved])


FORM = Form("canonical-quasi", CITATION, hypotheses, derive)
