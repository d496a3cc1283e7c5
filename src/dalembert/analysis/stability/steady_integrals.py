r"""What holds identically along every motion near a steady point: integrals, identities between rates, second variations.

Everything here is proved by the structure of the equations (`algebra.structure`), never by samples. The energy p . v - L is
conserved where nothing contains time, there are no forces and no dissipation, and constraints are holonomic, or linear and
homogeneous in the velocities, and ideal. The momentum of a coordinate is where neither L nor a constraint contains it or pushes
along it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from ...codegen.dense_function import DenseFunction
from ...formulations.forms.lagrange import lagrangian_and_momenta
from ...model.constraints import HolonomicConstraint, VelocityConstraint
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from .linearisation import Linearisation, LinearPoint
from .tangent_space import scales

__all__ = ["SteadyIntegrals"]

#: A second variation is definite where its least eigenvalue is larger than this, in units in which its diagonal is one.
DEFINITE = 1e-9
#: Gradients that cancel up to this part of their terms do.
CRITICAL = 1e-8
#: Forms whose energy is not the one that the theorems speak of, or whose reactions are not those of ideal constraints.
OTHER_PRINCIPLES = ("vakonomic", "pontryagin")


class SteadyIntegrals:
    """Integrals and identities of a model at a steady point."""

    def __init__(self, point: LinearPoint) -> None:
        self.point, self.kernel = point, point.field.kernel
        self.graph, self.algebra = self.kernel.graph, self.kernel.algebra
        self.equations = self.kernel.equations
        self.y = self.algebra.vector(self.equations.state)
        #: Why the energy decides nothing; a sentence, set by `definite`.
        self.reason = ""

    # -- integrals -------------------------------------------------------------------------------------------------

    @cached_property
    def keeps_energy(self) -> bool:
        """Whether the energy is conserved, by structure."""
        system = self.equations.system
        if not isinstance(system, System) or self.equations.form in OTHER_PRINCIPLES:
            return False
        if system.forces or system.dissipation != 0 or system.image is not None:
            return False
        stated = {s for e in (system.energy_function, *(c.expression for c in system.bilateral)) for s in e.free_symbols}
        if stated & set(system.inputs):
            return False
        return all(c.is_ideal and self._does_no_work(c) for c in system.bilateral)

    def _does_no_work(self, constraint: Any) -> bool:
        if isinstance(constraint, HolonomicConstraint):
            return True
        return isinstance(constraint, VelocityConstraint) and self._row(constraint) is not None

    def _row(self, constraint: VelocityConstraint) -> Any | None:
        """a of a constraint a(q) . v = 0 (1 x n_q), or None where it is not of this form."""
        v = self.algebra.vector(self.equations.system.velocities)
        f = self.algebra.vector([constraint.expression])
        linear = self.algebra.degree(f, v, 1).is_proved and self.algebra.homogeneity(f, v, 1).is_proved
        return ca.substitute(ca.jacobian(f, v), v, self.graph.velocities) if linear else None

    @cached_property
    def momenta(self) -> list[Any]:
        """The momenta of cyclic coordinates that are conserved, by structure, as expressions of the state."""
        system, found = self.equations.system, []
        if not self.keeps_energy or system.is_hamiltonian or self.graph.momenta is None or self.point.directions.given:
            return []
        lagrangian, _ = lagrangian_and_momenta(system, self.algebra)
        q, v = self.algebra.vector(system.coordinates), self.algebra.vector(system.velocities)
        constraints = self.algebra.vector([c.expression for c in system.bilateral]) if system.bilateral else ca.SX(0, 1)
        for k in range(len(system.coordinates)):
            free = self.algebra.independence(lagrangian, q[k])
            untouched = self.algebra.independence(constraints, ca.vertcat(q[k], v[k]))
            if free.is_proved and untouched.is_proved:
                found.append(self.graph.momenta[k])
        return found

    # -- identities --------------------------------------------------------------------------------------------------

    def family(self, line: Linearisation) -> int:
        """The dimension of a manifold of equilibria (or steady motions) through the point, as far as it is proved."""
        divided = bool(line.symmetry)
        rows = [self._gradients()]
        if not divided:
            rows += [self._velocity_rows(), self._resting_rows()]
        table = np.vstack(rows) @ line.basis
        known = rank(table).rank if table.size and np.any(table) else 0
        orbit = 0 if divided else len(self.point.field.cyclic)
        return max(known, orbit)

    def _gradients(self) -> Any:
        """The gradients of the integrals that do not change along the symmetry, (k, n)."""
        integrals = [*([self.graph.energy] if self.keeps_energy else []), *self.momenta]
        across = ca.vertcat(*(self.y[k] for k in self.point.field.cyclic)) if self.point.field.cyclic else None
        kept = [f for f in integrals if across is None or self.algebra.independence(ca.SX(f), across).is_proved]
        return self._values(ca.jacobian(ca.vertcat(*kept), self.y)) if kept else np.zeros((0, self.y.numel()))

    def _velocity_rows(self) -> Any:
        """a of every constraint a(q) . q_dot = 0, on the rates of the coordinates, (m, n)."""
        system, n = self.equations.system, self.y.numel()
        if not isinstance(system, System):
            return np.zeros((0, n))
        given = [self._row(c) for c in system.bilateral if isinstance(c, VelocityConstraint)]
        rows = [row for row in given if row is not None]
        places = [k for k, s in enumerate(self.equations.state) if s in set(system.coordinates)]
        table = np.zeros((len(rows), n))
        if rows:
            table[:, places] = self._values(ca.vertcat(*rows))
        return table

    def _resting_rows(self) -> Any:
        """Rows of identities F_i = sum c_ij F_j: rates that vanish where the rates that are variables do, (k, n)."""
        n = self.y.numel()
        if self.kernel.solved is None:
            return np.zeros((0, n))
        unknowns = ca.vertcat(self.kernel.solved.z, self.kernel.solved.multipliers)
        rates = ca.substitute(self.graph.rates, self.kernel._unknown_symbols, unknowns)
        variables = {self.y[k].element_hash(): k for k in range(n)}
        rate_of = {variables[rates[k].element_hash()]: k for k in range(n) if rates[k].element_hash() in variables}
        if not rate_of:
            return np.zeros((0, n))
        resting = ca.vertcat(*(self.y[j] for j in rate_of))
        rest = ca.substitute(rates, resting, ca.SX.zeros(len(rate_of)))
        others = [k for k in range(n) if k not in rate_of.values()]
        still = [k for k in others if self.algebra.vanishing(ca.sparsify(rest[k])).is_proved]
        rows = np.eye(n)[still]
        for variable, rate in rate_of.items():
            rows[:, rate] -= self.point.value.matrix[still, variable]
        return rows

    def _values(self, block: Any) -> Any:
        """An expression of the state at the point."""
        function = DenseFunction(self.kernel._inputs(), [block])
        field = self.point.field
        return function(0.0, self.point.point, field.values, np.zeros(len(self.kernel.free_inputs)), np.zeros(0))[0]

    # -- the second variation ----------------------------------------------------------------------------------------

    def definite(self, line: Linearisation) -> str | None:
        """The theorem by which a definite second variation makes the point stable, or None, with `reason`."""
        if not self.keeps_energy:
            self.reason = "The energy is not conserved, or not known to be."
            return None
        divided = bool(line.symmetry)
        if divided and len(self.momenta) < len(line.symmetry):
            self.reason = "The momenta of the symmetry are not conserved, or not known to be."
            return None
        values = self._variation(self.momenta if divided else [])
        if values is None:
            self.reason = "The energy is not critical on the constraints at the point."
            return None
        if not (np.all(values > DEFINITE) or np.all(values < -DEFINITE)):
            self.reason = "The second variation of the energy is not definite."
            if not divided and self.point.field.cyclic:
                names = ", ".join(self.point.directions.names)
                self.reason += f" Modulo the symmetry it may be: pass symmetry=() to divide {names} out."
            return None
        if divided:
            return (
                "Routh: the energy is conserved with the momenta of the cyclic coordinates, and its second variation on their "
                "levels is definite; stable modulo the symmetry."
            )
        return "Lagrange and Dirichlet: the energy is conserved, and its second variation on the constraints is definite."

    def _variation(self, momenta: list[Any]) -> Any | None:
        """Eigenvalues of the second variation of the energy on the levels, across the symmetry; None where not critical."""
        g = self.graph
        levels = ca.vertcat(g.position.residual, g.velocity.residual, *momenta)
        multipliers = ca.SX.sym("nu", levels.numel())
        augmented = g.energy + (ca.dot(multipliers, levels) if levels.numel() else 0)
        hessian = ca.hessian(augmented, self.y)[0]
        gradient, derivatives = self._values(ca.gradient(g.energy, self.y)).ravel(), self._values(ca.jacobian(levels, self.y))
        kept = rank(derivatives).independent if derivatives.size else np.zeros(0, int)
        nu = np.zeros(levels.numel())
        if len(kept):
            Q, R = np.linalg.qr(derivatives[kept].T)
            nu[kept] = -np.linalg.solve(R, Q.T @ gradient)
        function = DenseFunction(self.kernel._inputs(multipliers), [hessian])
        field = self.point.field
        none = np.zeros(len(self.kernel.free_inputs))
        matrix = function(0.0, self.point.point, field.values, none, nu)[0]
        size = np.abs(gradient) + np.abs(derivatives).T @ np.abs(nu) + np.abs(matrix) @ scales(self.point.point)
        if np.any(np.abs(gradient + derivatives.T @ nu) > CRITICAL * size):
            return None
        diagonal = np.abs(np.diag(matrix))
        scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 1.0)
        orbit = self.point.directions.at(self.point.point) if self.point.is_divided else np.zeros((len(scale), 0))
        rows = np.vstack([derivatives[kept] * scale, (orbit / scale[:, None]).T])
        basis = rank(rows).null_space if len(rows) else np.eye(len(scale))
        return np.linalg.eigvalsh(basis.T @ (matrix * np.outer(scale, scale)) @ basis)
