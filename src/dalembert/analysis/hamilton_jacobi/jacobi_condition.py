r"""Whether the variational motion is the mechanical one: the condition of applicability of the Hamilton-Jacobi method.

    lambda_l e_l . delta q = 0,   e_l = df_l/dq - d/dt df_l/dv,   on displacements with df_l/dv . delta q = 0         (5.10)

At a state of the variational problem its own accelerations enter d/dt. A motion is both mechanical and variational where it
obeys d'Alembert's principle and some multipliers make it an extremal; `extremal.py` finds the best ones along it.
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
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...model.symbols import t
from ...model.system import System
from ...runtime.context import Context
from ...runtime.gauss.constrained_solve import rank
from ...runtime.kernel import kernel_of
from ..path import path_of
from ..sampling import consistent_states
from ..variational.stationarity import costates_along

__all__ = ["AlongMotion", "Applicability", "applicability", "condition_along"]

#: What is left of the condition, relative to its terms, where it holds: at states, and along a motion.
SAME, SAME_ALONG = 1e-8, 1e-6


@dataclass(frozen=True)
class Applicability:
    """Whether every motion of the canonical equations is one of the mechanical system.

    Attributes
    ----------
    applies : bool or None
        None where no state was found at which to decide it.
    worst : float
        What is left of the condition relative to its terms, at most, at generic states with arbitrary multipliers.
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
        What the best multipliers leave of the condition, relative to its terms.
    mechanical : float
        What d'Alembert's principle leaves, relative to the same.
    multipliers : mapping of name to float
        ``chi_<constraint>`` at the first time, the smallest among the best.
    sentence : str
    """

    applies: bool
    worst: float
    mechanical: float
    multipliers: Mapping[str, float]
    sentence: str


class _Condition:
    """f_v, e and the size of its terms, as functions of (t, q, v, q_ddot); m constraints, n coordinates."""

    def __init__(self, system: System) -> None:
        algebra = GraphAlgebra()
        q, v, time = algebra.vector(system.coordinates), algebra.vector(system.velocities), algebra.vector([t])
        a = algebra.vector([coordinate.ddot for coordinate in system.coordinates])
        _, momenta = lagrangian_and_momenta(system, algebra)
        residual = velocity_level(system, algebra, momenta).residual
        rows = algebra.jacobian(residual, v)
        by_place = algebra.jacobian(residual, q)
        fastest = ca.mmax(ca.fabs(v)) * ca.SX.ones(len(system.coordinates))
        changes, sizes = [], []
        for place in range(rows.shape[0]):
            row = rows[place, :].T
            derivatives = algebra.jacobian(row, q), algebra.jacobian(row, v), algebra.jacobian(row, time)
            changes.append((derivatives[0] @ v + derivatives[1] @ a + derivatives[2]).T)
            sizes.append((ca.fabs(derivatives[0]) @ fastest + ca.fabs(derivatives[1]) @ ca.fabs(a) + ca.fabs(derivatives[2])).T)
        blocks = [rows, by_place - algebra.stack(changes), ca.fabs(by_place) + algebra.stack(sizes)]
        symbols = [time, q, v, a, algebra.vector(system.parameters)]
        self.function = ca.Function("condition", symbols, [ca.densify(block) for block in blocks])

    def __call__(self, time: float, q: Any, v: Any, a: Any, parameters: Any) -> tuple[Any, Any, Any]:
        """f_v, e and the size of e, (m, n) each."""
        values = self.function.call([time, q, v, a, parameters])
        rows, twist, size = (np.asarray(value, dtype=float) for value in values)
        return rows, twist, size


def _left(rows: Any, twist: Any) -> Any:
    """e on a basis of the displacements that the rows allow, (m, n - r)."""
    return twist @ rank(rows).null_space


def applicability(system: System, parameters: Mapping[str, Any], start: Mapping[str, Any], n: int = 10) -> Applicability:
    """Condition (5.10) at generic states of the variational problem, with arbitrary multipliers."""
    if not system.bilateral:
        return Applicability(True, 0.0, 0, "every motion: no constraints, so this is the ordinary Hamilton-Jacobi equation")
    kernel = kernel_of(derive(system, "vakonomic"), system.parameters)
    try:
        samples = consistent_states(kernel, parameters, start, n)
    except DalembertError as error:
        return Applicability(None, float("nan"), 0, f"not decided: {error}")
    condition, context, count = _Condition(system), Context(kernel, samples.parameters), len(system.coordinates)
    worst, tried = 0.0, 0
    for time, state in zip(samples.times, samples.states, strict=True):
        try:
            rates = context.rates(time, state)
        except RunError:
            continue
        q, v, chi = state[:count], state[count : 2 * count], state[2 * count :]
        rows, twist, size = condition(time, q, v, rates[count : 2 * count], samples.parameters)
        tried += 1
        worst = max(worst, float(np.max(np.abs(chi @ _left(rows, twist)), initial=0.0) / (np.max(np.abs(chi) @ size) + 1e-300)))
    if not tried:
        return Applicability(None, float("nan"), 0, "not decided: the variational motion is determined at no state tried")
    applies = worst < SAME
    if applies:
        sentence = f"every motion: (5.10) holds at {tried} generic states with arbitrary multipliers"
    else:
        sentence = (
            f"not in general: (5.10) fails at generic states, by {worst:.2g} of its terms; the method gives the motion of the "
            "variational problem, and along(motion) tells whether a mechanical motion is one of these"
        )
    return Applicability(applies, worst, tried, sentence)


# -- along a motion ------------------------------------------------------------------------------------------------


def condition_along(motion: Motion) -> AlongMotion:
    """Whether a motion, by whatever form it was made, is both mechanical and variational."""
    system = motion.system
    if not system.bilateral:
        return AlongMotion(True, 0.0, 0.0, {}, "the method gives this motion: there are no constraints")
    found = costates_along(path_of(motion))
    extremal, mechanical = (float(np.max(part, initial=0.0)) for part in (found.residual, found.mechanical))
    multipliers = {f"chi_{c.name}": float(value) for c, value in zip(system.bilateral, found.start, strict=True)}
    applies = max(extremal, mechanical) < SAME_ALONG
    if applies:
        own = ", ".join(f"{name} = {value:.6g}" for name, value in multipliers.items())
        sentence = f"the method gives this motion: it is mechanical and variational, with {own} at its start"
    elif mechanical >= SAME_ALONG:
        sentence = f"the motion is not mechanical: it breaks d'Alembert's principle by {mechanical:.2g} of the terms"
    else:
        sentence = f"the method does not give this motion: the best multipliers leave {extremal:.2g} of the terms of (5.10)"
    return AlongMotion(applies, extremal, mechanical, multipliers, sentence)
