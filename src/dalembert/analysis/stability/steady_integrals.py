r"""Identities along all motions near a steady point: integrals, rates, second variations.

Everything here is proved by the structure of the equations (`algebra.structure`), without samples.
The momentum of a coordinate is conserved where neither L nor a constraint contains it or pushes
along it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from ...codegen.dense_function import DenseFunction
from ...formulations.forms.lagrange import lagrangian_and_momenta
from ...formulations.registry import is_variational
from ...model.constraints import Constraint
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array
from ..anatomy import stated_kernel
from ..overview.conserved import energy_is_conserved
from .linearisation import Linearisation, LinearPoint
from .tangent_space import scales

__all__ = ["SteadyIntegrals"]

#: The least eigenvalue of a definite second variation, in units in which its diagonal is one.
DEFINITE = 1e-9
#: Gradients that cancel up to this part of their terms do.
CRITICAL = 1e-8


class SteadyIntegrals:
    """Integrals and identities of a model at a steady point."""

    def __init__(self, point: LinearPoint) -> None:
        self.point, self.kernel = point, point.field.kernel
        self.graph, self.algebra = self.kernel.graph, self.kernel.algebra
        self.equations = self.kernel.equations
        self.y = self.algebra.vector(self.equations.state)
        #: Why the energy decides nothing; a sentence, set by `definite`.
        self.reason = ""

    # -- integrals ---------------------------------------------------------------------------------

    @cached_property
    def keeps_energy(self) -> bool:
        """Whether no force acts and the energy is proved to be conserved."""
        system = self.equations.system
        if not isinstance(system, System) or is_variational(self.equations.form):
            return False
        if system.forces or system.dissipation != 0 or system.image is not None:
            return False
        stated = (system.energy_function, *(c.expression for c in system.bilateral))
        if any(expression.free_symbols & set(system.inputs) for expression in stated):
            return False
        is_ideal = all(constraint.is_ideal for constraint in system.bilateral)
        return is_ideal and energy_is_conserved(stated_kernel(system))

    def _row(self, constraint: Constraint) -> ca.SX | None:
        """a of a constraint a(q) . v = 0 (1 x n_q), or None where it is not of this form."""
        algebra, v = self.algebra, self.algebra.vector(self.equations.system.velocities)
        f = algebra.vector([constraint.expression])
        linear = algebra.degree(f, v, 1).is_proved and algebra.homogeneity(f, v, 1).is_proved
        return ca.substitute(ca.jacobian(f, v), v, self.graph.velocities) if linear else None

    @cached_property
    def momenta(self) -> list[ca.SX]:
        """Conserved momenta of cyclic coordinates, in symbols of the state."""
        system, found = self.equations.system, []
        by_velocities = not system.is_hamiltonian and self.graph.momenta is not None
        if not self.keeps_energy or not by_velocities or self.point.directions.given:
            return []
        lagrangian, _ = lagrangian_and_momenta(system, self.algebra)
        q, v = self.algebra.vector(system.coordinates), self.algebra.vector(system.velocities)
        constraints = self.algebra.vector([c.expression for c in system.bilateral])
        for k in range(len(system.coordinates)):
            free = self.algebra.independence(lagrangian, q[k])
            untouched = self.algebra.independence(constraints, ca.vertcat(q[k], v[k]))
            if free.is_proved and untouched.is_proved:
                found.append(self.graph.momenta[k])
        return found

    # -- identities --------------------------------------------------------------------------------

    def family(self, line: Linearisation) -> int:
        """The proved dimension of a manifold of equilibria or steady motions through the point."""
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
        kept = [*([self.graph.energy] if self.keeps_energy else []), *self.momenta]
        if self.point.field.cyclic:
            across = ca.vertcat(*(self.y[k] for k in self.point.field.cyclic))
            independence = self.algebra.independence
            kept = [f for f in kept if independence(ca.SX(f), across).is_proved]
        if kept:
            return self._values(ca.jacobian(ca.vertcat(*kept), self.y))
        return np.zeros((0, self.y.numel()))

    def _velocity_rows(self) -> Array:
        """a of every constraint a(q) . q_dot = 0, on the rates of the coordinates, (m, n)."""
        system, n = self.equations.system, self.y.numel()
        if not isinstance(system, System):
            return np.zeros((0, n))
        given = [self._row(c) for c in system.bilateral if c.is_velocity_level]
        rows = [row for row in given if row is not None]
        places = [k for k, s in enumerate(self.equations.state) if s in set(system.coordinates)]
        table = np.zeros((len(rows), n))
        if rows:
            table[:, places] = self._values(ca.vertcat(*rows))
        return table

    def _resting_rows(self) -> Array:
        """Rows (k, n) of identities F_i = sum c_ij F_j between rates."""
        n = self.y.numel()
        if self.kernel.solved is None:
            return np.zeros((0, n))
        unknowns = ca.vertcat(self.kernel.solved.z, self.kernel.solved.multipliers)
        rates = ca.substitute(self.graph.rates, self.kernel._unknown_symbols, unknowns)
        variables = {self.y[k].element_hash(): k for k in range(n)}
        hashes = {k: rates[k].element_hash() for k in range(n)}
        rate_of = {variables[own]: k for k, own in hashes.items() if own in variables}
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

    def _values(self, block: ca.SX) -> Any:
        """An expression of the state at the point."""
        function, none = DenseFunction(self.kernel._inputs(), [block]), np.zeros(0)
        inputs = np.zeros(len(self.kernel.free_inputs))
        return function(0.0, self.point.point, self.point.field.values, inputs, none)[0]

    # -- the second variation ----------------------------------------------------------------------

    def definite(self, line: Linearisation) -> str | None:
        """The theorem that makes the point stable by a definite second variation, or None."""
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
                remedy = f"pass symmetry=() to divide {names} out."
                self.reason += f" Modulo the symmetry it may be: {remedy}"
            return None
        if divided:
            return (
                "Routh: the energy is conserved with the momenta of the cyclic coordinates, and its"
                " second variation on their levels is definite; stable modulo the symmetry."
            )
        conserved = "Lagrange and Dirichlet: the energy is conserved, and its second variation"
        return f"{conserved} on the constraints is definite."

    def _variation(self, momenta: list[ca.SX]) -> Array | None:
        """Eigenvalues of the second variation on the levels; None if not critical."""
        g = self.graph
        levels = ca.vertcat(g.position.residual, g.velocity.residual, *momenta)
        multipliers = ca.SX.sym("nu", levels.numel())
        augmented = g.energy + (ca.dot(multipliers, levels) if levels.numel() else 0)
        hessian = ca.hessian(augmented, self.y)[0]
        gradient = self._values(ca.gradient(g.energy, self.y)).ravel()
        derivatives = self._values(ca.jacobian(levels, self.y))
        kept = rank(derivatives).independent if derivatives.size else np.zeros(0, int)
        nu = np.zeros(levels.numel())
        if len(kept):
            Q, R = np.linalg.qr(derivatives[kept].T)
            nu[kept] = -np.linalg.solve(R, Q.T @ gradient)
        function = DenseFunction(self.kernel._inputs(multipliers), [hessian])
        field = self.point.field
        none = np.zeros(len(self.kernel.free_inputs))
        matrix = function(0.0, self.point.point, field.values, none, nu)[0]
        size = np.abs(gradient) + np.abs(derivatives).T @ np.abs(nu)
        size = size + np.abs(matrix) @ scales(self.point.point)
        if np.any(np.abs(gradient + derivatives.T @ nu) > CRITICAL * size):
            return None
        diagonal = np.abs(np.diag(matrix))
        scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 1.0)
        orbit = self.point.directions.at(self.point.point)
        orbit = orbit if self.point.is_divided else np.zeros((len(scale), 0))
        rows = np.vstack([derivatives[kept] * scale, (orbit / scale[:, None]).T])
        basis = rank(rows).null_space if len(rows) else np.eye(len(scale))
        return np.linalg.eigvalsh(basis.T @ (matrix * np.outer(scale, scale)) @ basis)
