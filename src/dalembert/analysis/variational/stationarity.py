r"""Whether a motion makes the action stationary among the curves that obey the constraints.

Such a curve is an extremal of the Lagrange problem: with e = d/dt L_v - L_q - Q and multipliers
chi(t),

    e = E^T chi - f_v^T chi_dot,      E_l = df_l/dq - d/dt df_l/dv               (Rumyantsev 4.2)

Along a given curve this is linear in chi. On the directions that f_v^T spans it is an equation for
chi_dot, with a solution for every chi(0); what is left, on the virtual displacements N (f_v N = 0),
are conditions on it:

    N^T (E^T chi - e) = 0
        at all times; N^T e = 0 on a motion by d'Alembert's principle, so that chi E N = 0  (4.4)

With f = v_D - phi these are chi_l A_s^l = 0 (4.5) and chi_dot_l = -mu_l - chi_v dphi_v/dq_l. No
velocities need to be chosen as independent here. The equation is solved by Gauss collocation on the
panels of the motion's own dense output, which for a linear equation along a known curve is a
quadrature; the set of chi(0) that fits is affine, and the best of them is found by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError
from ...formulations.forms.lagrange import derive_with
from ...formulations.forms.voronets import transitivity
from ...model.read_only import ReadOnlyArrays
from ...model.symbols import t
from ...runtime.gauss.constrained_solve import rank, solve
from ...typing import Array, Symbols
from ..path import NODES, MotionPath, integration_table, reduction_along
from .transitivity import transitivity_sizes

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["Costates", "MomentumTest", "costates_along", "momentum_test"]

#: A direction of chi(0) that changes the conditions by less, relatively, is free.
FREE = 1e-6


@dataclass(frozen=True)
class Costates(ReadOnlyArrays):
    """The multipliers chi along a path; m constraints.

    Attributes
    ----------
    start : array (m,)
        The chi(0) of least norm among those that fit best.
    freedom : array (m, d)
        Directions in which chi(0) may be changed at will.
    residual : array (nt,)
        The residual of the conditions on the virtual displacements, relative to their terms.
    mechanical : array (nt,)
        What d'Alembert's principle leaves, N^T e, relative to the same.
    panels : array (panels, m), rates : array (panels, nodes, m)
        chi at the start of every panel, and chi_dot at its nodes.
    """

    start: Array
    freedom: Array
    residual: Array
    mechanical: Array
    panels: Array
    rates: Array

    def at(self, times: Array, edges: Array) -> Array:
        """chi at any times of the path, (m, nt), by the polynomials of the collocation."""
        sign = 1.0 if edges[-1] > edges[0] else -1.0
        after = np.searchsorted(sign * edges, sign * times, side="right")
        places = np.clip(after - 1, 0, len(edges) - 2)
        steps = np.diff(edges)[places]
        powers = ((times - edges[places]) / steps)[:, None] ** np.arange(NODES + 1)
        weights = steps[:, None] * (powers @ integration_table()[1].T)
        found = self.panels[places] + np.einsum("ts,tsm->tm", weights, self.rates[places])
        return np.ascontiguousarray(found.T)


@dataclass(frozen=True)
class _CostateProblem:
    """chi_dot = turning chi + push, remainder chi - rest = 0 at the nodes; chi as momentum.

    Attributes
    ----------
    turning : array (nt, m, m)
    push : array (nt, m)
    remainder : array (nt, n, m)
    rest : array (nt, n)
    sizes : array (nt, m)
        The sizes of the terms of E.
    floor : array (nt,)
        What the residual is measured against besides the terms of chi.
    units : array (m,)
        chi of the constraints is chi in units of momentum divided by these.
    """

    turning: Array
    push: Array
    remainder: Array
    rest: Array
    sizes: Array
    floor: Array
    units: Array


def costates_along(path: MotionPath) -> Costates:
    """The multipliers that make the path an extremal, as well as any do."""
    problem = _problem(path)
    fundamental, particular, steps = _collocated(path, problem)
    start, freedom = _best_start(path, problem, fundamental, particular)
    chi = np.einsum("tab,b->ta", fundamental, start) + particular
    rates = np.einsum("tab,tb->ta", problem.turning, chi) + problem.push
    left = np.einsum("tna,ta->tn", problem.remainder, chi) - problem.rest
    scale = np.sum(problem.sizes * np.abs(chi), axis=1) + problem.floor
    whole = float(np.max(scale, initial=0.0)) or 1.0
    panels = np.einsum("pab,b->pa", steps[:, :, :-1], start) + steps[:, :, -1]
    units = problem.units
    return Costates(
        start=start / units,
        freedom=freedom / units[:, None],
        residual=np.max(np.abs(left), axis=1, initial=0.0) / whole,
        mechanical=np.max(np.abs(problem.rest), axis=1, initial=0.0) / whole,
        panels=panels / units,
        rates=rates.reshape(len(panels), NODES, len(units)) / units,
    )


def _problem(path: MotionPath) -> _CostateProblem:
    """The linear problem for chi at the nodes of a path."""
    rows, defects, sizes, momenta, reaction = _euler_terms(path)
    units = np.max(np.linalg.norm(rows, axis=2), axis=0)
    units = np.where(units > 0, units, 1.0)
    scaled = rows / units[:, None]
    defects = defects / units[:, None]
    count, m, n = rows.shape
    turning, push = np.zeros((count, m, m)), np.zeros((count, m))
    remainder, rest = np.zeros((count, n, m)), np.zeros((count, n))
    identity, zero = np.eye(n), np.zeros(m)
    ranks = np.zeros(count, dtype=int)
    for k in range(count):
        # y = z - A^T mu with A z = 0: the part of y on the virtual displacements, and the rest.
        for column in range(m):
            found = solve(identity, defects[k, column], scaled[k], zero)
            remainder[k, :, column], turning[k, :, column] = found.z, -found.multipliers
        found = solve(identity, reaction[k], scaled[k], zero)
        rest[k], push[k], ranks[k] = found.z, found.multipliers, found.rank
    if np.ptp(ranks):
        few = f"{np.min(ranks)} at t = {path.times[np.argmin(ranks)]:.6g}"
        what = "The number of independent constraints changes along the motion"
        raise ModelError(what, f"{few}, {np.max(ranks)} elsewhere", "pass a shorter motion")
    sizes = np.max(sizes, axis=2, initial=0.0) / units
    momentum = float(np.max(np.abs(momenta), initial=0.0))
    floor = np.sum(sizes, axis=1) * momentum + 1e-3 * np.max(np.abs(reaction), axis=1, initial=0.0)
    return _CostateProblem(turning, push, remainder, rest, sizes, floor, units)


def _euler_terms(path: MotionPath) -> list[Array]:
    """f_v, E = f_q - d/dt f_v, term sizes (nt, m, n), momenta, d/dt L_v - L_q - Q (nt, n)."""
    algebra, system = GraphAlgebra(), path.system
    blocks = derive_with(system, algebra)
    state = (system.coordinates, system.velocities, [q.ddot for q in system.coordinates])
    q, v, z = (algebra.vector(symbols) for symbols in state)
    time, places = algebra.vector([t]), algebra.jacobian(blocks.velocity.residual, q)
    speed, pull = ca.sum1(abs(v)), ca.sum1(abs(z))
    defects, sizes = [], []
    for k in range(len(system.bilateral)):
        row, place = blocks.rows[k, :].T, places[k, :].T
        by_place, by_velocity, by_time = (algebra.jacobian(row, x) for x in (q, v, time))
        defects.append((place - by_place @ v - by_velocity @ z - by_time).T)
        bulk = ca.sum2(abs(by_place)) * speed + ca.sum2(abs(by_velocity)) * pull
        sizes.append((abs(place) + bulk + abs(by_time)).T)
    empty = [algebra.zeros(0, v.numel())]
    tables = [blocks.rows, algebra.stack(defects or empty), algebra.stack(sizes or empty)]
    reaction = blocks.metric @ z - blocks.force
    found = path.along(algebra, [*tables, blocks.momenta, reaction])
    return [*found[:3], found[3][:, :, 0], found[4][:, :, 0]]


def _collocated(path: MotionPath, problem: _CostateProblem) -> tuple[Array, Array, Array]:
    """chi = fundamental chi(0) + particular at the nodes, and both at the start of every panel.

    On each panel of length h the values at the nodes c_i obey chi_i = chi_0 + h sum_j S_ij
    (turning_j chi_j + push_j).
    """
    nodes, integrals, weights = integration_table()
    m = problem.push.shape[1]
    h = np.diff(path.edges)
    table = (nodes[:, None] ** np.arange(NODES + 1)) @ integrals.T
    turning = problem.turning.reshape(len(h), NODES, m, m)
    push = problem.push.reshape(len(h), NODES, m)
    size = NODES * m
    coupling = np.einsum("p,ij,pjab->piajb", h, table, turning).reshape(len(h), size, size)
    from_start = np.broadcast_to(np.tile(np.eye(m), (NODES, 1)), (len(h), size, m))
    forced = np.einsum("p,ij,pja->pia", h, table, push).reshape(len(h), size, 1)
    local = np.linalg.solve(np.eye(size) - coupling, np.concatenate([from_start, forced], axis=2))
    local = local.reshape(len(h), NODES, m, m + 1)
    rates = np.einsum("pjab,pjbc->pjac", turning, local)
    rates[:, :, :, m] += push
    ends = np.einsum("p,j,pjac->pac", h, weights, rates)
    ends[:, :, :m] += np.eye(m)
    state = np.concatenate([np.eye(m), np.zeros((m, 1))], axis=1)
    steps, inner = np.zeros((len(h), m, m + 1)), np.zeros((len(h), NODES, m, m + 1))
    for p in range(len(h)):
        steps[p] = state
        inner[p] = local[p, :, :, :m] @ state
        inner[p, :, :, m] += local[p, :, :, m]
        state = ends[p, :, :m] @ state + np.column_stack([np.zeros((m, m)), ends[p, :, m]])
    inner = inner.reshape(len(h) * NODES, m, m + 1)
    return inner[:, :, :m], inner[:, :, m], steps


def _best_start(
    path: MotionPath, problem: _CostateProblem, fundamental: Array, particular: Array
) -> tuple[Array, Array]:
    """chi(0) of least norm with the least integral of |remainder chi - rest|^2, free directions."""
    m = problem.push.shape[1]
    scale = float(np.max(np.sum(problem.sizes, axis=1), initial=0.0)) or 1.0
    lever = np.einsum("tna,tab->tnb", problem.remainder, fundamental) / scale
    load = (problem.rest - np.einsum("tna,ta->tn", problem.remainder, particular)) / scale
    duration = path.edges[-1] - path.edges[0]
    gram = path.integral(np.einsum("tna,tnb->tab", lever, lever)).reshape(m, m) / duration
    right = path.integral(np.einsum("tna,tn->ta", lever, load)).reshape(m) / duration
    gram[np.max(np.abs(gram), axis=1, initial=0.0) < FREE**2] = 0.0
    free = rank(gram, FREE**2).null_space if m else np.zeros((0, 0))
    bound = rank(free.T, FREE).null_space if free.size else np.eye(m)
    if not bound.size:
        return np.zeros(m), free
    return bound @ solve(bound.T @ gram @ bound, bound.T @ right).z, free


# -- the reduced test ------------------------------------------------------------------------------


@dataclass(frozen=True)
class MomentumTest:
    """Rumyantsev's test (4.6), dT/dv_a A_s^a = 0, along a path.

    It is (4.5) with chi = -dL/dv_a. That chi obeys its own equation where L_c(q, v_I, t) and the
    applied forces do not act on the dependent coordinates, dL_c/dq_a + Q_a = 0; then the test is
    sufficient. It is never necessary, and depends on which velocities are taken as dependent.

    Attributes
    ----------
    values : array (k, nt)
        dL/dv_a A_s^a.
    size : float
        The largest of them, relative to the size of their terms.
    holds : bool
    obeys : bool
        Whether chi = -dL/dv_a obeys the equation of the multipliers.
    independent, dependent : tuples of str
    """

    values: Array
    size: float
    holds: bool
    obeys: bool
    independent: tuple[str, ...]
    dependent: tuple[str, ...]

    @property
    def is_sufficient(self) -> bool:
        """Whether the test shows by itself that the motion is stationary."""
        return self.holds and self.obeys


def momentum_test(
    path: MotionPath, tolerance: float, independent: Symbols | None = None
) -> MomentumTest:
    """The test (4.6) along a path."""
    reduction = reduction_along(path, GraphAlgebra(), independent)
    algebra, split, here = reduction.algebra, reduction.split, reduction.here
    system = path.system

    def dependent(column: ca.SX) -> Block:
        return algebra.part(here(column), split.dependent, [0])

    momenta = dependent(reduction.momenta_at_velocity)
    derivative = dependent(algebra.gradient(reduction.lagrangian, reduction.q))
    force = dependent(reduction.applied_force)
    by_places, every = reduction.map.by_places(reduction.solved), range(len(split.dependent))
    through = algebra.part(by_places, every, split.dependent)
    acting = derivative + through.T @ momenta + force
    terms = abs(derivative) + abs(through.T) @ abs(momenta) + abs(force)
    coefficients = transitivity(reduction)
    blocks = [coefficients @ momenta, transitivity_sizes(reduction) @ abs(momenta), acting, terms]
    values, sizes, acts, parts = (block[:, :, 0] for block in path.along(algebra, blocks))
    size = float(np.max(np.abs(values), initial=0.0)) / (float(np.max(sizes, initial=0.0)) or 1.0)
    acted, whole = (float(np.max(np.abs(part), initial=0.0)) for part in (acts, parts))
    return MomentumTest(
        values=np.ascontiguousarray(values.T),
        size=size,
        holds=size < tolerance,
        obeys=acted <= tolerance * whole,
        independent=tuple(system.velocities[k].name for k in split.independent),
        dependent=tuple(system.velocities[k].name for k in split.dependent),
    )
