r"""Whether the variational motion is the mechanical one, as the Hamilton-Jacobi method needs.

    lambda_l e_l . delta q = 0,  e_l = df_l/dq - d/dt df_l/dv,
        on displacements with df_l/dv . delta q = 0  (5.10)

At a state of the variational problem its own accelerations enter d/dt. A motion is both mechanical
and variational where it obeys d'Alembert's principle and some multipliers make it an extremal;
`extremal.py` finds the best ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...errors import DalembertError, RunError
from ...formulations.constraint_equations import velocity_level
from ...formulations.forms.lagrange import lagrangian_and_momenta
from ...formulations.independent_velocities import Reduction
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...model.symbols import t
from ...model.system import System
from ...runtime.context import Context
from ...runtime.gauss.constrained_solve import rank
from ...runtime.kernel import kernel_of
from ...typing import Array
from ..path import path_of
from ..sampling import consistent_states
from ..variational.stationarity import costates_along
from ..variational.variational_hamiltonian import VariationalHamiltonian

__all__ = ["AlongMotion", "Applicability", "applicability", "condition_along", "condition_terms"]

#: The largest relative residual of the condition where it holds: at states, along a motion.
SAME, SAME_ALONG = 1e-8, 1e-6


@dataclass(frozen=True)
class Applicability:
    """Whether every motion of the canonical equations is one of the mechanical system.

    Attributes
    ----------
    applies : bool or None
        True where it is proved, False where a state refutes it, None where neither was found.
    worst : float
        The largest relative residual at generic states with arbitrary multipliers.
    states : int
    sentence : str
    """

    applies: bool | None
    worst: float
    states: int
    sentence: str


@dataclass(frozen=True)
class AlongMotion:
    """Condition (5.10) along one motion.

    Attributes
    ----------
    applies : bool
        Whether the motion is both mechanical and variational.
    worst : float
        The relative residual of the condition with the best multipliers.
    mechanical : float
        The relative residual of d'Alembert's principle.
    multipliers : mapping of name to float
        ``chi_<constraint>`` at the first time, the smallest among the best.
    sentence : str
    """

    applies: bool
    worst: float
    mechanical: float
    multipliers: Mapping[str, float]
    sentence: str


def condition_terms(found: VariationalHamiltonian, algebra: GraphAlgebra) -> ca.SX:
    """The left side of (5.10) in (q, pi, t), one entry for each independent velocity, (k x 1).

    With f_l = v_l - phi_l it is -lambda_l A_s^l, with A of (1.10), lambda_l = pi_l - p_l, the rates
    dH_1/dpi and the accelerations along the canonical equations (5.9).
    """
    reduction = Reduction(found.system, algebra, found.split)
    q, time, w = reduction.q, reduction.time, reduction.independent
    pi = algebra.vector(found.momenta)
    velocities = algebra.vector([found.rates[own] for own in found.system.coordinates])
    energy = algebra.scalar(found.hamiltonian)
    chosen = velocities[list(found.split.independent)]
    drift = algebra.jacobian(chosen, q) @ velocities + algebra.jacobian(chosen, time)
    rates = drift - algebra.jacobian(chosen, pi) @ algebra.gradient(energy, q)
    by_speed = algebra.jacobian(reduction.solved, w)
    columns = []
    for k in range(w.shape[0]):
        column = by_speed[:, k]
        change = algebra.jacobian(column, q) @ reduction.velocities
        columns.append(
            change + algebra.jacobian(column, w) @ rates + algebra.jacobian(column, time)
        )
    twist = algebra.columns(columns) - algebra.jacobian(reduction.solved, q) @ reduction.frame
    dependent = list(found.split.dependent)
    multipliers = pi[dependent] - reduction.here(reduction.momenta_at_velocity)[dependent]
    return algebra.substitute(-twist.T @ multipliers, w, chosen)


class _Condition:
    """f_v, e and the size of its terms as functions of (t, q, v, q_ddot); m rows, n columns."""

    def __init__(self, system: System) -> None:
        algebra = GraphAlgebra()
        q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
        time = algebra.vector([t])
        a = algebra.vector([coordinate.ddot for coordinate in system.coordinates])
        _, momenta = lagrangian_and_momenta(system, algebra)
        residual = velocity_level(system, algebra, momenta).residual
        rows, by_place = algebra.jacobian(residual, v), algebra.jacobian(residual, q)
        fastest = ca.mmax(ca.fabs(v)) * ca.SX.ones(len(system.coordinates))
        changes, sizes = [], []
        for place in range(rows.shape[0]):
            by_q, by_v, by_t = (algebra.jacobian(rows[place, :].T, x) for x in (q, v, time))
            changes.append((by_q @ v + by_v @ a + by_t).T)
            size = ca.fabs(by_q) @ fastest + ca.fabs(by_v) @ ca.fabs(a) + ca.fabs(by_t)
            sizes.append(size.T)
        blocks = [rows, by_place - algebra.stack(changes), ca.fabs(by_place) + algebra.stack(sizes)]
        symbols = [time, q, v, a, algebra.vector(system.parameters)]
        self.function = ca.Function("condition", symbols, [ca.densify(block) for block in blocks])

    def __call__(
        self, time: float, q: Array, v: Array, a: Array, parameters: Array
    ) -> tuple[Array, Array, Array]:
        """f_v, e and the size of e, (m, n) each."""
        values = self.function.call([time, q, v, a, parameters])
        rows, twist, size = (np.asarray(value, dtype=float) for value in values)
        return rows, twist, size


def _left(rows: Array, twist: Array) -> Any:
    """e on a basis of the displacements that the rows allow, (m, n - r)."""
    return twist @ rank(rows).null_space


def applicability(
    found: VariationalHamiltonian,
    parameters: Mapping[str, Any],
    start: Mapping[str, Any],
    n: int = 10,
) -> Applicability:
    """Condition (5.10) for the variational problem with arbitrary multipliers.

    Generic states refute it; where they do not, it is proved as an identity in (q, pi, t).
    """
    system = found.system
    if not system.bilateral:
        sentence = "every motion: no constraints, so this is the ordinary Hamilton-Jacobi equation"
        return Applicability(True, 0.0, 0, sentence)
    kernel = kernel_of(derive(system, "vakonomic"), system.parameters)
    try:
        samples = consistent_states(kernel, parameters, start, n)
    except DalembertError as error:
        return Applicability(None, float("nan"), 0, f"not decided: {error}")
    condition = _Condition(system)
    context = Context(kernel, samples.parameters)
    count = len(system.coordinates)
    worst, tried = 0.0, 0
    for time, state in zip(samples.times, samples.states, strict=True):
        try:
            rates = context.rates(time, state)
        except RunError:  # no rates at this sample; others follow
            continue
        q, v, chi = state[:count], state[count : 2 * count], state[2 * count :]
        rows, twist, size = condition(time, q, v, rates[count : 2 * count], samples.parameters)
        tried += 1
        left = np.max(np.abs(chi @ _left(rows, twist)), initial=0.0)
        worst = max(worst, float(left / (np.max(np.abs(chi) @ size) + 1e-300)))
    if not tried:
        sentence = "not decided: the variational motion is determined at no state tried"
        return Applicability(None, float("nan"), 0, sentence)
    if worst >= SAME:
        sentence = (
            f"not in general: (5.10) fails at generic states, by {worst:.2g} of its terms; the"
            " method gives the motion of the variational problem, and along(motion) tells whether"
            " a mechanical motion is one of these"
        )
        return Applicability(False, worst, tried, sentence)
    algebra = GraphAlgebra()
    proof = algebra.vanishing(condition_terms(found, algebra))
    if proof.holds:
        sentence = "every motion: (5.10) is an identity in coordinates and momenta"
        return Applicability(True, worst, tried, f"{sentence}, {proof.by}")
    sentence = f"not established: (5.10) holds at {tried} generic states, without a proof"
    return Applicability(None, worst, tried, sentence)


# -- along a motion --------------------------------------------------------------------------------


def condition_along(motion: Motion) -> AlongMotion:
    """Whether a motion, by whatever form it was made, is both mechanical and variational."""
    system = motion.system
    if not system.bilateral:
        sentence = "the method gives this motion: there are no constraints"
        return AlongMotion(True, 0.0, 0.0, {}, sentence)
    found = costates_along(path_of(motion))
    extremal = float(np.max(found.residual, initial=0.0))
    mechanical = float(np.max(found.mechanical, initial=0.0))
    names = [f"chi_{constraint.name}" for constraint in system.bilateral]
    multipliers = dict(zip(names, map(float, found.start), strict=True))
    applies = max(extremal, mechanical) < SAME_ALONG
    if applies:
        own = ", ".join(f"{name} = {value:.6g}" for name, value in multipliers.items())
        sentence = "the method gives this motion: it is mechanical and variational,"
        sentence += f" with {own} at its start"
    elif mechanical >= SAME_ALONG:
        sentence = "the motion is not mechanical: it breaks d'Alembert's principle by"
        sentence += f" {mechanical:.2g} of the terms"
    else:
        sentence = "the method does not give this motion: the best multipliers leave"
        sentence += f" {extremal:.2g} of the terms of (5.10)"
    return AlongMotion(applies, extremal, mechanical, multipliers, sentence)
