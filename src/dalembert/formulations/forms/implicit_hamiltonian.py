r"""Implicit Hamiltonian equations on the dual bundle, with the constraints in image representation.

With p = dL/dv regular on the fibres (hyperregular), H(q, p) = p . v - L, and q_dot = E(q, t) u,

    E^T [ sigma^T p_dot + H_q - p_m (d_i sigma_mj - d_j sigma_mi) q_dot_j ] = E^T Q,     H_p = sigma
    q_dot        (M 24-26)

The state is (q, p), and (q, p, u) for a given image, whose speeds need not be unique. With F =
sigma E, the algebraic equation H_p = F u holds along the motion where its derivative does:

    H_pp p_dot = (F u)_q q_dot + (F u)_t - H_pq q_dot - H_pt + F u_dot,
    F^T p_dot = E^T [Q - H_q + p_m (d_i sigma_mj - d_j sigma_mi) q_dot_j].

This is a Gauss problem for z = p_dot in the metric H_pp, with the rows F^T; its multipliers are the
rates of the speeds. Where E loses rank, rows depend on each other: u_dot is the one of least norm,
and p_dot and q_ddot are unique. Without a given image, E spans the virtual displacements of the
constraints, and u = F^+ H_p is a function of the state. Further constraints f beside an image
have multipliers of their own, m, as unknowns beside p_dot: F^T p_dot = ... + E^T f_v^T m.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...algebra.graph import GraphAlgebra
from ...errors import FormError
from ...model.legendre import conjugate
from ...model.symbols import Parameter
from ...model.system import System
from ..blocks import GaussBlocks, Projection
from ..constraint_equations import row_names
from ..equations import Equations
from ..fibre_velocities import Fibre, fibre_of, legendre_state
from ..form import Form
from ..independent_velocities import FormSymbols, Reduction, VelocityFrame, reduced_equations
from ..speeds import OnSpeeds
from ..velocity_splits import Split
from . import implicit_lagrangian

if TYPE_CHECKING:
    import sympy

    from ...algebra.protocol import Algebra, Block

__all__ = ["FORM", "derive", "fibre_momenta", "hypotheses"]

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
    if system.image is None and system.bundle:
        _check_fibres(Reduction(system, GraphAlgebra()))


def _check_fibres(reduction: Reduction) -> None:
    """The momenta determine the velocities where sigma E has a rank of its columns."""
    frame = fibre_of(reduction).sigma @ reduction.frame
    rank, count = reduction.algebra.rank(frame).value, frame.shape[1]
    if rank < count:
        raise FormError(
            "The momenta on the fibres do not determine the velocities",
            seen=f"sigma of rank {rank} on the {count} directions that the constraints allow",
            remedy="add fibre velocities, or constraints",
        )


def fibre_momenta(system: System) -> tuple[sympy.Symbol, ...]:
    """p = dL/dv, named after the fibre velocities; the canonical momenta without a bundle."""
    return tuple(Parameter(f"p_{v.name}") for v in system.bundle) or system.momenta


def _momentum_symbols(system: System, _: Split | VelocityFrame | None = None) -> FormSymbols:
    momenta = fibre_momenta(system)
    return FormSymbols(momenta, tuple(Parameter(f"{p.name}_dot") for p in momenta))


def derive(system: System) -> Equations:
    """Rates of the momenta on the dual bundle."""
    hypotheses(system)
    if system.image is None:
        return reduced_equations(
            system, FORM, _on_reduction, symbols=_momentum_symbols, with_rows=True
        )
    image, symbols = system.image, _momentum_symbols(system)

    def derivation(algebra: Algebra) -> GaussBlocks:
        velocities = algebra.vector([image.velocities[q] for q in system.coordinates])
        return _on_speeds(OnSpeeds(system, algebra, image.speeds, velocities))

    return Equations(
        system=system,
        form=FORM.name,
        citation=FORM.citation,
        state=(*system.coordinates, *symbols.state, *image.speeds),
        unknowns=(*symbols.rates, *_reaction_symbols(system)),
        row_names=tuple(u.name for u in image.speeds),
        derivation=derivation,
        has_gauge=True,
    )


def _reaction_symbols(system: System) -> tuple[sympy.Symbol, ...]:
    """The multipliers of constraints beside an image."""
    return tuple(Parameter(f"mu_{name}") for name in row_names(system))


class _Balance:
    """Both sides of (25) and of the rate of (26), in q, p, u and t.

    Attributes
    ----------
    hamiltonian, velocities : H (scalar), and H_p (n_v x 1)
    metric : H_pp (n_v x n_v)
    rows : F^T (k x n_v)
    force : (F u)_q q_dot + (F u)_t - H_pq q_dot - H_pt (n_v x 1)
    right : E^T [Q - H_q + turning] (k x 1)
    """

    def __init__(self, on: Reduction | OnSpeeds, fibre: Fibre, p: Block) -> None:
        algebra = on.algebra
        if fibre.hamiltonian is not None:
            self.hamiltonian = algebra.substitute(fibre.hamiltonian, fibre.momenta, p)
            self.velocities = algebra.gradient(self.hamiltonian, p)
        else:
            self.hamiltonian, self.velocities = conjugate(
                algebra, fibre.lagrangian, fibre.symbols, p
            )
        self.metric = algebra.jacobian(self.velocities, p)
        self.values = fibre.values
        self.rows = (fibre.sigma @ on.frame).T
        gap = fibre.values - self.velocities
        self.force = algebra.along(gap, on.q, on.velocities) + algebra.jacobian(gap, on.time)
        pulled = fibre.turning(p) - algebra.gradient(self.hamiltonian, on.q)
        self.right = on.applied + on.frame.T @ pulled


def _on_speeds(on: OnSpeeds) -> GaussBlocks:
    """The blocks in (q, p, u), for a given image."""
    algebra, system = on.algebra, on.system
    symbols, fibre = _momentum_symbols(system), fibre_of(on)
    p, z = algebra.vector(symbols.state), algebra.vector(symbols.rates)
    mu = algebra.vector(_reaction_symbols(system))
    balance = _Balance(on, fibre, p)
    n, k, n_v, m = (column.shape[0] for column in (on.q, on.u, p, mu))
    plain = on.from_residual(algebra.zeros(k))
    across = plain.rows  # f_v E, (m x k)
    one = algebra.jacobian(p, p)
    still = algebra.zeros(n, n_v)
    return GaussBlocks(
        stated_metric=_blocked(algebra, balance.metric, algebra.zeros(m, m)),
        force=algebra.stack([balance.force, plain.right]),
        rows=algebra.columns([balance.rows, -across.T]),
        right=balance.right,
        unknowns=algebra.stack([z, mu]),
        multipliers=on.z,
        rates=algebra.stack([on.velocities, z, on.z]),
        velocities=on.velocities,
        accelerations=plain.accelerations,
        momenta=fibre.sigma.T @ p,
        energy=balance.hamiltonian,
        reactions=plain.reactions,
        position=Projection(
            plain.position.residual,
            plain.position.rows,
            algebra.stack([on.frame, algebra.zeros(n_v + k, k)]),
            on.frame.T @ on.here(on.full.metric) @ on.frame,
        ),
        velocity=Projection(
            algebra.stack([plain.velocity.residual, balance.velocities - balance.values]),
            algebra.stack(
                [
                    algebra.columns([algebra.zeros(m, n_v), across @ across.T]),
                    algebra.columns([balance.metric, -balance.rows.T @ across.T]),
                ]
            ),
            algebra.stack(
                [
                    algebra.columns([still, algebra.zeros(n, m)]),
                    algebra.columns([one, algebra.zeros(n_v, m)]),
                    algebra.columns([algebra.zeros(k, n_v), across.T]),
                ]
            ),
            _blocked(algebra, one, algebra.jacobian(mu, mu)),
        ),
        residuals=plain.residuals,
        outputs=plain.outputs,
        row_multipliers=mu,
    )


def _blocked(algebra: Any, first: Block, second: Block) -> Block:
    """A block-diagonal matrix."""
    n, m = first.shape[0], second.shape[0]
    upper = algebra.columns([first, algebra.zeros(n, m)])
    return algebra.stack([upper, algebra.columns([algebra.zeros(m, n), second])])


def _on_reduction(reduction: Reduction) -> GaussBlocks:
    """The blocks in (q, p), on the image of the constraints."""
    algebra, system = reduction.algebra, reduction.system
    symbols, fibre = _momentum_symbols(system), fibre_of(reduction)
    p, z = algebra.vector(symbols.state), algebra.vector(symbols.rates)
    balance = _Balance(reduction, fibre, p)
    k, n_v, n = reduction.frame.shape[1], len(symbols.state), len(system.coordinates)
    if system.bundle:
        gram = balance.rows @ balance.rows.T
        speeds = algebra.solve(gram, balance.rows @ balance.velocities)
    else:
        speeds = algebra.part(balance.velocities, reduction.split.independent, [0])

    def here(block: Block) -> Any:
        return algebra.substitute(block, reduction.independent, speeds)

    plain = reduction.blocks(algebra.zeros(k, k), algebra.zeros(k))
    plain = plain.substituted(algebra, reduction.independent, speeds)
    gap = _gap(reduction, here(balance.velocities - balance.values))
    one = algebra.jacobian(p, p)
    return replace(
        plain,
        stated_metric=balance.metric,
        force=here(balance.force),
        rows=balance.rows,
        right=here(balance.right),
        unknowns=z,
        multipliers=reduction.z,
        rates=algebra.stack([plain.velocities, z]),
        momenta=fibre.sigma.T @ p,
        energy=balance.hamiltonian,
        position=replace(
            plain.position,
            lift=algebra.stack([algebra.jacobian(reduction.q, reduction.q), algebra.zeros(n_v, n)]),
        ),
        velocity=Projection(
            gap,
            algebra.jacobian(gap, p),
            algebra.stack([algebra.zeros(n, n_v), one]),
            balance.metric,
        ),
        own_symbols=algebra.gradient(fibre.lagrangian, fibre.symbols)
        if not system.bundle
        else algebra.substitute(
            algebra.gradient(fibre.lagrangian, fibre.symbols),
            fibre.symbols,
            fibre.sigma @ reduction.v,
        ),
    )


def _gap(reduction: Reduction, gap: Block) -> Any:
    """What is left of H_p = F u where u follows from it."""
    algebra, system = reduction.algebra, reduction.system
    if not system.bundle:
        return algebra.part(gap, reduction.split.dependent, [0])
    return gap if gap.shape[0] > reduction.frame.shape[1] else algebra.zeros(0)


FORM = Form("implicit-hamiltonian", CITATION, hypotheses, derive)
