r"""Linear controllability at an equilibrium, and Brockett's condition for smooth stabilisability.

Near an equilibrium y_dot = F(y, u) has the linear part A y + B u. Kalman's matrix [B, AB, A^2 B,
...] spans what it can reach; the eigenvalues of A on what is left no feedback moves.

A smooth feedback that stabilises y* asymptotically exists only where the image of (y, u) -> F(y, u)
contains a neighbourhood of 0 (Brockett 1983). Three tests decide it where they can:

- [A B] has full rank: F is open, the condition holds to first order.
- Some rates F_K vanish with the variables V, fewer of them, and dF_K/dV has full rank at y*: then
  F_K = E(y, u) V with E smooth (Hadamard) and of constant rank near y*, so that a continuous
  covector annihilates F, and its own multiples are never reached. This is how every nonholonomic
  constraint that is linear in the velocities fails.
- One direction lambda is missing in [A B]: the second derivative of lambda . F on the kernel of [A
  B] takes both signs, and F is open, or only one, and half of the neighbourhood is missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import sympy

from ...algebra import structure
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, BoolArray, ComplexArray
from .brackets import DEPENDENT
from .input_fields import ControlAffine

__all__ = ["Brockett", "LinearPart", "brockett_condition", "linear_part"]


@dataclass(frozen=True)
class LinearPart:
    """A and B at an equilibrium, on the directions that relations leave (d of them).

    Attributes
    ----------
    A, B : arrays (d, d), (d, m)
    rank : int
        Of [B, AB, A^2 B, ...].
    fixed : array of complex
        The eigenvalues that no linear feedback moves.
    """

    A: Array
    B: Array
    rank: int
    fixed: ComplexArray | Array

    @property
    def is_controllable(self) -> bool:
        """Whether Kalman's matrix has full rank."""
        return self.rank == len(self.A)


@dataclass(frozen=True)
class Brockett:
    """Brockett's condition: "fails", "holds to first order" (or second) or "undecided", and why."""

    verdict: str
    reason: str


def linear_part(system: ControlAffine) -> LinearPart:
    """The linear part at the point, with its reachable space by Kalman."""
    tangent = _tangent(system)
    A = tangent.T @ system.at_point(ca.jacobian(system.drift, system.state)) @ tangent
    B = tangent.T @ system.at_point(system.fields)
    units, is_touched = _units(A, B)
    scaled = units[:, None] * A / units
    rounding = 1e-12 * np.abs(scaled[:, is_touched]).sum(axis=1)
    reached = _span(units * B.T)
    while True:
        following = reached @ scaled.T
        longer = _span(np.vstack([reached, np.where(np.abs(following) > rounding, following, 0.0)]))
        if len(longer) == len(reached):
            break
        reached = longer
    left = rank(reached, DEPENDENT).null_space if len(reached) else np.eye(len(A))
    fixed = np.linalg.eigvals(left.T @ scaled @ left) if left.size else np.zeros(0)
    return LinearPart(A, B, len(reached), fixed)


def _units(A: Array, B: Array) -> tuple[Array, BoolArray]:
    """Factors (d,) that give symbols moved by inputs equal sizes, and which symbols these are.

    They come from the sizes sum_k (|A| / rho)^k |B| with the spectral radius rho of |A|, so that
    the units of symbols, inputs and time play no part.
    """
    radius = float(np.abs(np.linalg.eigvals(np.abs(A))).max(initial=0.0)) or 1.0
    reach = following = np.abs(B)
    for _ in range(len(A) - 1):
        following = np.abs(A) @ following / radius
        reach = reach + following
    return structure.equilibrated(reach)[1][:, 0], np.any(reach > 0, axis=1)


def _span(rows: Array) -> Array:
    """An orthonormal basis (r, n) of the span of some rows."""
    kept = rows[np.any(rows != 0, axis=1)]
    if not len(kept):
        return np.zeros((0, rows.shape[1]))
    return np.linalg.qr(kept[rank(kept, DEPENDENT).independent].T)[0].T


def _tangent(system: ControlAffine) -> Array:
    """An orthonormal basis (n, d) of the directions that the relations leave."""
    n = len(system.symbols)
    if not system.relations.numel():
        return np.eye(n)
    derivative = system.values(ca.jacobian(system.relations, system.state))[0]
    basis: Array = rank(derivative).null_space
    return basis


def brockett_condition(system: ControlAffine, linear: LinearPart) -> Brockett:
    """Whether (y, u) -> F(y, u) covers a neighbourhood of 0, near the point."""
    both, scales = structure.equilibrated(np.hstack([linear.A, linear.B]))
    size = len(linear.A)
    found = int(rank(both, DEPENDENT).rank)
    if found == size:
        return Brockett("holds to first order", f"[A B] has rank {size}")
    missing = f"[A B] has rank {found} of {size}"
    if system.relations.numel():
        return Brockett("undecided", f"{missing}, and the symbols obey relations")
    whole = _Whole(system)
    for rows in (whole.without_inputs, list(range(size))):
        reason = whole.confined(rows)
        if reason:
            return Brockett("fails", reason)
    if size - found == 1:
        return whole.second_order(both, scales, missing)
    reason = f"{missing}; neither fewer variables nor one missing direction decide"
    return Brockett("undecided", reason)


class _Whole:
    """F(y, u) as a map of all variables w = (y, u) together, near the point."""

    def __init__(self, system: ControlAffine) -> None:
        self.system = system
        inputs = ca.SX.sym("u", len(system.inputs))
        self.variables = ca.vertcat(system.state, inputs)
        self.rates = ca.densify(system.drift + system.fields @ inputs)
        self.names = [*system.symbols, *system.inputs]
        self.center = np.concatenate([system.point, np.zeros(len(system.inputs))])
        derivative = ca.jacobian(system.drift, system.state)
        self.derivative = np.hstack([system.at_point(derivative), system.at_point(system.fields)])
        free = [sympy.Dummy(name, real=True) for name in system.inputs]
        input_symbols = dict(zip(free, ca.vertsplit(inputs), strict=True))
        self._symbols = {**system.algebra.symbols, **input_symbols}

    @property
    def without_inputs(self) -> list[int]:
        """The rates that contain no input."""
        fields, vanishing = self.system.fields, self.system.algebra.vanishing
        return [k for k in range(fields.shape[0]) if vanishing(fields[k, :]).holds_to_rounding]

    def confined(self, rows: list[int]) -> str:
        """Why the rates `rows` miss a neighbourhood of 0, moved by fewer variables; else empty."""
        derivative = self.derivative[rows]
        moving = [k for k, column in enumerate(derivative.T) if np.any(column != 0)]
        scaled, _ = structure.equilibrated(derivative[:, moving].T)
        if len(moving) >= len(rows) or rank(scaled, DEPENDENT).rank < len(moving):
            return ""
        center = ca.SX(ca.DM(self.center[moving]))
        at_rest = ca.substitute(self.rates[rows], self.variables[moving], center)
        if not structure.vanishing(self._symbols, at_rest).holds_to_rounding:
            return ""
        rates = ", ".join(self.names[k] for k in rows)
        few = ", ".join(self.names[k] for k in moving)
        counts = f"{len(moving)} variables for {len(rows)} directions"
        return f"the rates of {rates} vanish with {few}: {counts}"

    def second_order(self, both: Array, scales: Array, missing: str) -> Brockett:
        """Decide by the second derivative in the one direction that the first leaves out."""
        rows = scales[:, 0]
        columns = scales[0] / rows[0]
        direction = rows * rank(both.T, DEPENDENT).null_space[:, 0]
        bend = ca.hessian(ca.dot(ca.SX(ca.DM(direction)), self.rates), self.variables)[0]
        function = ca.Function("bend", [self.variables], [ca.densify(bend)])
        matrix = np.asarray(function(self.center), dtype=float)
        kernel = columns[:, None] * rank(both, DEPENDENT).null_space
        bent, terms = kernel.T @ matrix @ kernel, np.abs(kernel).T @ np.abs(matrix) @ np.abs(kernel)
        bent = np.where(np.abs(bent) > 1e-12 * terms, bent, 0.0)
        values, tiny = np.linalg.eigvalsh(_congruent(bent)), 1e-9
        if values[0] < -tiny and values[-1] > tiny:
            reason = f"{missing}, and the missing direction bends to both sides"
            return Brockett("holds to second order", reason)
        if np.all(values > tiny) or np.all(values < -tiny):
            return Brockett("fails", f"{missing}, and the missing direction bends to one side")
        return Brockett("undecided", f"{missing}, and the second order does not decide")


def _congruent(matrix: Array) -> Array:
    """A symmetric matrix D M D with entries of size one: its eigenvalues have the signs of M's."""
    for _ in range(16):
        largest = np.abs(matrix).max(axis=0, initial=0.0)
        factor = 1.0 / np.sqrt(np.where(largest > 0, largest, 1.0))
        matrix = factor[:, None] * matrix * factor
    return matrix
