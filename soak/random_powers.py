"""Energy, power and virtual displacements along a motion, straight from the statement of its
system: nothing of a form is used.

    E = p . v - L,   dE/dt = Q . v + R . v - L_t      or      E = H,   dE/dt = Q . v + R . v + H_t

with the given forces, inputs and dissipation in Q and the reaction R of the motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

import dalembert as da
from core_systems import values_of
from dalembert.algebra.graph import GraphAlgebra
from dalembert.model.constraints import HolonomicConstraint, MomentumConstraint

__all__ = ["PANELS", "Along", "Statement", "quadrature_times"]

#: The quadrature: Gauss's rule with this many nodes, in so many panels.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
PANELS = 6
#: Rows whose singular values are smaller than this part of the largest depend on each other.
RANK = 1e-7


def quadrature_times(edges: Any) -> Any:
    """The first moment, the nodes between the edges of panels, and the last moment."""
    nodes = [(a + b) / 2 + (b - a) / 2 * NODES for a, b in pairwise(edges)]
    return np.concatenate([edges[:1], *nodes, edges[-1:]])


@dataclass(frozen=True)
class Along:
    """What the statement says along a motion, at the times of `quadrature_times`.

    Attributes
    ----------
    energy, power : array (nt,)
        E; the power of forces, inputs, dissipation, reactions and explicit time.
    virtual : list of (index, array (k, n))
        The virtual displacements at some of the times, rows of length one.
    ideal : array (n, nt)
        The reaction without the forces of constraints that are not ideal.
    """

    energy: Any
    power: Any
    virtual: list[tuple[int, Any]]
    ideal: Any

    def work(self, edges: Any) -> float:
        """The integral of the power."""
        return self._integral(self.power, edges)

    def size(self, edges: Any) -> float:
        """The largest energy, or the work that was done without regard to sign."""
        return max(
            1.0, float(np.max(np.abs(self.energy))), self._integral(np.abs(self.power), edges)
        )

    @staticmethod
    def _integral(power: Any, edges: Any) -> float:
        means = power[1:-1].reshape(len(edges) - 1, len(NODES)) @ WEIGHTS / 2
        return float(np.diff(edges) @ means)


class Statement:
    """The statement of a system as a function of (t, q, v, p, parameters)."""

    def __init__(self, system: da.System, algebra: GraphAlgebra) -> None:
        self.system = system
        q, v, p = (
            algebra.vector(s) for s in (system.coordinates, system.velocities, system.momenta)
        )
        time = algebra.scalar(da.t)
        function = algebra.scalar(system.energy_function)
        if system.is_hamiltonian:
            energy, explicit, metric = (
                function,
                ca.jacobian(function, time),
                ca.hessian(function, p)[0],
            )
        else:
            energy, explicit = (
                ca.dot(ca.gradient(function, v), v) - function,
                -ca.jacobian(function, time),
            )
            metric = ca.hessian(function, v)[0]
        given = algebra.vector([system.forces.get(c, da.t * 0) for c in system.coordinates])
        given = given - ca.gradient(algebra.scalar(system.dissipation), v)
        works = [
            algebra.vector([c.work.get(q, da.t * 0) for q in system.coordinates])
            for c in system.bilateral
            if c.work
        ]
        nonideal = sum(works, ca.SX(len(system.coordinates), 1))
        laws = {u: law for u, law in system.inputs.items() if law is not None}
        if laws:
            symbols, values = algebra.vector(list(laws)), algebra.vector(list(laws.values()))
            given, nonideal = (ca.substitute(block, symbols, values) for block in (given, nonideal))
        rows = []
        for constraint in system.bilateral:
            residual = algebra.scalar(constraint.expression)
            by = p if isinstance(constraint, MomentumConstraint) else v
            rows.append(
                ca.jacobian(residual, q if isinstance(constraint, HolonomicConstraint) else by)
            )
        self._of_momenta = [isinstance(c, MomentumConstraint) for c in system.bilateral]
        matrix = ca.vertcat(*rows) if rows else ca.SX(0, q.numel())
        outputs = [energy, ca.dot(given, v) + explicit, nonideal, matrix, metric]
        symbols = [time, q, v, p, algebra.vector(system.parameters)]
        self._function = ca.Function("statement", symbols, [ca.densify(block) for block in outputs])

    def along(self, motion: da.Motion, count: int = 6) -> Along:
        """Energies and powers along a motion, virtual displacements at `count` of its times."""
        system = self.system
        nt, n = len(motion.t), len(system.coordinates)
        q, v, p = (
            np.array([motion[s] for s in symbols])
            for symbols in (system.coordinates, system.velocities, system.momenta)
        )
        parameters = np.repeat(np.array(list(values_of(system).values()))[:, None], nt, axis=1)
        blocks = self._function.map(nt)(motion.t[None, :], q, v, p, parameters)
        energy, power, nonideal, matrix, metric = (
            np.asarray(block, dtype=float) for block in blocks
        )
        reaction = motion.total_reaction
        ideal = reaction - nonideal
        virtual = []
        for place in np.unique(np.linspace(0, nt - 1, count).astype(int)):
            rows = matrix[:, place * n : (place + 1) * n].copy()
            inertia = metric[:, place * n : (place + 1) * n]
            for k, of_momenta in enumerate(self._of_momenta):
                if of_momenta:
                    rows[k] = rows[k] @ (
                        np.linalg.inv(inertia) if system.is_hamiltonian else inertia
                    )
            virtual.append((int(place), _kernel(rows)))
        return Along(energy[0], power[0] + np.sum(reaction * v, axis=0), virtual, ideal)


def _kernel(rows: Any) -> Any:
    """An orthonormal basis of what rows leave free, (k, n)."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled = rows[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
    if not len(scaled):
        return np.eye(rows.shape[1])
    _, sizes, basis = np.linalg.svd(scaled)
    return basis[int(np.sum(sizes > RANK * sizes[0])) :]
