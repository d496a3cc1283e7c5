r"""Voronets' equations in canonical form.

With Theta + U = L_c(q, v_I, t), the Lagrangian on the constraints v_D = phi(q, v_I, t), its momenta
and its Hamiltonian,

    P_s = dL_c/dv_s,     H(q, P, t) = P_s v_s - L_c
    (Rumyantsev 3.19) P_dot_s + dH/dq_s + dH/dq_a (dphi_a/dv_s)* - (dL/dv_a A_s^a)* = (F^T Q)_s*,
    q_dot_s = dH/dP_s, q_dot_a = phi_a*     (3.20)

where a star writes a function of v_I in terms of P. The rates of the dependent coordinates belong
to the system. Where phi is nonlinear, A_s^a contains the accelerations d/dt v_I(q, P, t), and the
equations are implicit in P_dot.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...algebra.tree import TreeAlgebra
from ...errors import FormError, ModelError
from ...model.legendre import conjugate
from ...model.system import System
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import (
    FormSymbols,
    Reduction,
    Split,
    VelocityFrame,
    choose_split,
    reduced_equations,
    speed_symbols,
)
from ..quasi_velocities import StatedSpeeds
from .voronets import transitivity

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = [
    "FORM",
    "canonical_blocks",
    "canonical_equations",
    "canonical_symbols",
    "check_regular",
    "check_restricted_legendre",
    "derive",
    "has_formula",
    "hypotheses",
    "implicit_canonical_blocks",
    "regular_partition",
]

CITATION = "Canonical form of Voronets' equations (Rumyantsev eqs. 3.19, 3.20)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    regular_partition(system)


def check_restricted_legendre(reduction: Reduction) -> None:
    """Check that L on the constraints is quadratic and regular in the independent velocities."""
    if not has_formula(reduction):
        raise FormError(
            "The momenta of the Lagrangian on the constraints cannot be solved for the velocities",
            seen="a kinetic energy that is not quadratic in the independent velocities",
            remedy='use the form "voronets"',
        )
    check_regular(reduction)


def has_formula(reduction: Reduction) -> bool:
    """Whether L on the constraints is quadratic in the speeds: v(q, y, t) is a linear solve."""
    algebra = reduction.algebra
    if reduction.is_implicit:
        return False
    metric, _ = algebra.hessian(reduction.here(reduction.lagrangian), reduction.independent)
    return algebra.without(metric, reduction.independent) is not None


def check_regular(reduction: Reduction) -> None:
    """Check that the momenta of L on the constraints determine the velocities, generically."""
    rank, freedom = _legendre_rank(reduction), reduction.freedom
    if rank < freedom:
        raise FormError(
            "The Legendre transformation on the constraints is singular",
            seen=f"rank {rank} of {freedom}",
            remedy='use the form "lagrange"',
        )


def _legendre_rank(reduction: Reduction) -> int:
    momenta = reduction.map.speed_gradient(reduction.here(reduction.lagrangian))
    return int(reduction.algebra.rank(reduction.map.by_speeds(momenta)).value)


def _is_regular(system: System, split: Split) -> bool:
    """Whether the momenta of the independent velocities of a partition determine these.

    Under constraints that are nonlinear in the velocities that depends on the partition.
    """
    key = ("regular partition", split.independent)
    reduction = partial(Reduction.asked, system, split)
    return system.cache.get(key, lambda: _legendre_rank(reduction()) == split.freedom)


def regular_partition(system: System) -> Split:
    """A partition of the velocities on which the Legendre transformation is regular."""
    split = choose_split(system, implicit=True)
    if not split.is_implicit or _is_regular(system, split):
        check_regular(Reduction.asked(system, split))
        return split
    try:
        return choose_split(system, None, partial(_is_regular, system), implicit=True)
    except FormError:
        check_regular(Reduction.asked(system, split))
        raise


def derive(system: System) -> Equations:
    """Rates of the momenta of the Lagrangian on the constraints."""
    hypotheses(system)
    return canonical_equations(system, FORM, derive_on, regular_partition)


def canonical_equations(
    system: System,
    form: Form,
    derivation: Callable[[Reduction], GaussBlocks],
    general: Callable[[System], Split | VelocityFrame],
    *,
    stated: StatedSpeeds | None = None,
    frames: bool = False,
    variant: Hashable = None,
) -> Equations:
    """The record of a canonical form, with momenta as state where v(q, y, t) has a formula.

    Otherwise the state has all velocities, and the momenta are outputs y(q, v, t): no equation is
    solved for the velocities (see `velocity_maps`).
    """
    choice = general(system)
    explicit, allowed = has_formula(Reduction.asked(system, choice)), None
    if isinstance(choice, Split) and choice.is_implicit:
        allowed = partial(_is_regular, system)
    if not explicit:
        system = _with_momenta(system, replace(choice, is_implicit=True))
        stated = stated and replace(stated, system=system, kind="implicit")
    return reduced_equations(
        system,
        form,
        derivation,
        allowed=allowed,
        symbols=canonical_symbols,
        variant=variant,
        frames=frames,
        implicit=True,
        stated=None if stated is None else stated.near,
        written_out=explicit,
    )


def _with_momenta(system: System, choice: Split | VelocityFrame) -> System:
    """The system with the momenta of L on the constraints among its outputs."""
    try:
        reduction = Reduction(system, TreeAlgebra(), choice)
    except ModelError as error:
        raise FormError(
            "The momenta of a canonical form cannot be written out",
            seen=error.seen,
            remedy='state the Lagrangian, or ask for "lagrange" or "maggi"',
        ) from error
    momenta = reduction.map.speed_gradient(reduction.lagrangian)
    names = [symbol.name for symbol in canonical_symbols(system, choice).state]
    table = dict(zip(names, momenta, strict=True))
    return system.replacing(outputs={**system.outputs, **table})


def canonical_symbols(system: System, choice: Split | VelocityFrame) -> FormSymbols:
    """One momentum for each speed, named after it, or after the coordinate of a velocity."""
    speeds = speed_symbols(system, choice).state
    names = {q.dot: q.name for q in system.coordinates}
    return FormSymbols.named(f"y_{names.get(speed, speed.name)}" for speed in speeds)


def derive_on(reduction: Reduction) -> GaussBlocks:
    """The blocks on a reduction."""
    algebra, here = reduction.algebra, reduction.here
    dependent_momenta = algebra.part(
        here(reduction.momenta_at_velocity), reduction.split.dependent, [0]
    )
    turning = transitivity(reduction) @ dependent_momenta + reduction.applied
    if reduction.is_implicit:
        return implicit_canonical_blocks(reduction, turning)
    symbols = canonical_symbols(reduction.system, reduction.split)
    y, rates = algebra.vector(symbols.state), algebra.vector(symbols.rates)
    hamiltonian, independent = conjugate(
        algebra, here(reduction.lagrangian), reduction.independent, y
    )
    derivative = algebra.gradient(hamiltonian, reduction.q)
    return canonical_blocks(reduction, y, rates, independent, derivative, turning)


def implicit_canonical_blocks(reduction: Reduction, turning: Block) -> GaussBlocks:
    """Blocks of y_dot - F^T dL*/dq - turning = 0 where v(q, y, t) has no formula.

    With y = dL*/dw as a function of (q, v, t), dH*/dq = -dL*/dq, and z = w_dot from y_dot =
    (dy/dw) z + what is left of dy/dt where z = 0.
    """
    algebra, k = reduction.algebra, reduction.freedom
    rates = algebra.vector(canonical_symbols(reduction.system, reduction.choice).rates)
    momenta = reduction.map.speed_gradient(reduction.lagrangian)
    by_speeds = reduction.map.by_speeds(momenta)
    rest = algebra.substitute(reduction.rate(momenta), reduction.z, algebra.zeros(k))
    moved = algebra.solve(by_speeds, rates - rest)
    force = reduction.frame.T @ reduction.map.place_gradient(reduction.lagrangian) + turning
    residual = rates - algebra.substitute(force, reduction.z, moved)
    # Measured in dw/dy, as in `canonical_blocks`.
    return reduction.in_rates(algebra.solve(by_speeds, residual), rates, moved)


def canonical_blocks(
    reduction: Reduction,
    y: Block,
    rates: Block,
    independent: Block,
    derivative: Block,
    turning: Block,
) -> GaussBlocks:
    """Blocks of y_dot + F^T derivative - turning* = 0, in momenta y with v_I(q, y, t).

    `derivative` (n x 1) is dH/dq in q and y; `turning` (k x 1) is written in q, v_I and z.
    """
    algebra = reduction.algebra
    velocities = algebra.substitute(reduction.velocities, reduction.independent, independent)
    moved = reduction.rate_of(independent, y, rates, velocities)
    old, new = (
        algebra.stack([reduction.independent, reduction.z]),
        algebra.stack([independent, moved]),
    )
    frame = algebra.substitute(reduction.frame, reduction.independent, independent)
    residual = rates + frame.T @ derivative - algebra.substitute(turning, old, new)
    # The rates of momenta are measured in the inverse metric dv_I/dy, which makes the matrix of the
    # unknowns symmetric.
    definition = algebra.gradient(reduction.here(reduction.lagrangian), reduction.independent)
    return reduction.in_symbols(
        algebra.jacobian(independent, y).T @ residual, y, rates, independent, definition
    )


FORM = Form("canonical-voronets", CITATION, hypotheses, derive)
