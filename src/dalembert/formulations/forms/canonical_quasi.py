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

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import FormError
from ...model.legendre import conjugate, conjugate_symbols
from ...model.symbols import Parameter
from ...model.system import System
from ...typing import Expression
from ..blocks import GaussBlocks
from ..equations import Equations
from ..form import Form
from ..independent_velocities import Reduction, Split, VelocityFrame
from ..quasi_velocities import stated_speeds
from ..velocity_frames import global_frame
from .canonical_voronets import (
    canonical_blocks,
    canonical_equations,
    canonical_symbols,
    check_regular,
    implicit_canonical_blocks,
    regular_partition,
)
from .hamel import (
    KINDS,
    extended_lagrangian,
    is_extendable,
    quasi_momenta,
    transitivity,
    transitivity_of_inverse,
)
from .hamel import hypotheses as hamel_hypotheses

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["FORM", "derive", "hypotheses"]

CITATION = "Canonical equations in quasi-velocities (Rumyantsev eqs. 3.5-3.7)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    hamel_hypotheses(system)
    _best(system)


def _best(system: System) -> Split | VelocityFrame:
    """A global frame, or a partition on which the Legendre transformation is regular."""
    frame = global_frame(system)
    if frame is None:
        return regular_partition(system)
    check_regular(Reduction.asked(system, frame))
    return frame


def derive(
    system: System,
    kind: str = "first",
    quasi_velocities: Mapping[str, Expression] | None = None,
) -> Equations:
    """Rates of the momenta of the free quasi-velocities.

    Parameters
    ----------
    kind : "first" or "second"
        With W (Rumyantsev 3.6) or with T (3.7).
    quasi_velocities : mapping of name to expression of q, q_dot and t
        The free quasi-velocities, as many as degrees of freedom; by default a global frame of the
        constraint distribution, or some of the velocities. The momentum of ``w`` is ``y_w``.
    """
    if kind not in KINDS:
        raise FormError(
            "The canonical equations are of two kinds",
            seen=kind,
            remedy='pass kind="first" or kind="second"',
        )
    stated = None if quasi_velocities is None else stated_speeds(system, quasi_velocities)
    if stated is None:
        hypotheses(system)
    else:
        # Quasi-velocities are columns of a motion, and starts may name them, beside the momenta.
        system = stated.system.replacing(outputs={**stated.system.outputs, **dict(stated.table)})
        stated = replace(stated, system=system)
        check_regular(Reduction.asked(system, stated.near()))
    return canonical_equations(
        system,
        FORM,
        partial(derive_on, kind=kind),
        _best if stated is None else lambda _: stated.near(),
        stated=stated,
        frames=True,
        variant=(kind, stated and stated.table),
    )


def derive_on(reduction: Reduction, kind: str = "first") -> GaussBlocks:
    """The blocks on a reduction."""
    algebra, here = reduction.algebra, reduction.here
    if kind == "second":
        turning = transitivity_of_inverse(reduction).T @ here(reduction.momenta_at_velocity)
    symbols = canonical_symbols(reduction.system, reduction.choice)
    y, rates = algebra.vector(symbols.state), algebra.vector(symbols.rates)
    if is_extendable(reduction) and _has_hamiltonian(reduction):
        independent, derivative, momenta = _from_hamiltonian(reduction, y)
    else:
        momenta = quasi_momenta(reduction)
        if not reduction.is_implicit:
            lagrangian = here(reduction.lagrangian)
            independent = conjugate_symbols(algebra, lagrangian, reduction.independent, y)
            derivative = algebra.substitute(
                -algebra.gradient(lagrangian, reduction.q), reduction.independent, independent
            )
    if kind == "first":
        turning = -(transitivity(reduction).T @ momenta)
    turning = turning + reduction.applied
    if reduction.is_implicit:
        return implicit_canonical_blocks(reduction, turning)
    return canonical_blocks(reduction, y, rates, independent, derivative, turning)


def _has_hamiltonian(reduction: Reduction) -> bool:
    """Whether L* is quadratic and regular in all quasi-velocities, so that H* is explicit."""
    asked = Reduction.asked(reduction.system, reduction.choice)

    def found() -> bool:
        algebra = asked.algebra
        lagrangian, bound = extended_lagrangian(asked)
        eta = algebra.stack([asked.independent, bound])
        second, _ = algebra.hessian(lagrangian, eta)
        return algebra.without(second, eta) is not None and bool(
            algebra.rank(second).value == eta.shape[0]
        )

    return reduction.system.cache.get(("quasi Hamiltonian", reduction.choice), found)


def _from_hamiltonian(reduction: Reduction, y: Block) -> tuple[Any, Any, Any]:
    """eta_s(q, y_s, t), dH*/dq and all momenta y_r, with dH*/dy_a = 0 solved for the y_a."""
    algebra, rows = reduction.algebra, len(reduction.choice.rows)
    lagrangian, eta = extended_lagrangian(reduction)
    bound = algebra.vector([Parameter(f"y bound {k + 1}") for k in range(rows)])
    every = algebra.stack([reduction.independent, eta])
    hamiltonian, _ = conjugate(algebra, lagrangian, every, algebra.stack([y, bound]))
    solved = conjugate_symbols(algebra, hamiltonian, bound, algebra.zeros(rows))

    def on_constraints(block: Block) -> Block:
        return algebra.substitute(block, bound, solved)

    independent = on_constraints(algebra.gradient(hamiltonian, y))
    derivative = on_constraints(algebra.gradient(hamiltonian, reduction.q))
    return independent, derivative, algebra.stack([y, solved])


FORM = Form("canonical-quasi", CITATION, hypotheses, derive)
