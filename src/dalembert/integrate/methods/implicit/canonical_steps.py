r"""Steps in positions and momenta that are stated by equations: what they need of a system, and
what these are written in.

`lobatto_steps` writes the equations of partitioned Runge-Kutta methods, `variational_steps` those
of discrete Lagrangians; both read the same functions of a system, with holonomic constraints g(q,
t) = 0, G = g_q:

    H_p(q, p, t),   -H_q + Q,   L_q + Q and L_v of (q, v, t),   g,   G,   G H_p + g_t
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

from ....errors import FormError
from ....formulations.equations import Equations
from ....formulations.forms.hamilton import hamiltonian_and_velocities
from ....formulations.forms.lagrange import applied_force, lagrangian_and_momenta
from ....runtime.kernel import Kernel, kernel_of
from ..hypotheses import refuse_dependent_constraints, refuse_other_constraints
from .lobatto_steps import STAGES, lobatto_equations
from .root_equations import StepEquations, StepSymbols
from .variational_steps import RULES, variational_equations

__all__ = ["CANONICAL_METHODS", "CanonicalModel", "canonical_equations", "check_canonical_steps"]

_LOBATTO = "Lobatto IIIA-IIIB pair with {} stages; symplectic on the constraints"
_DISCRETE = "discrete Lagrangian of degree {} with {} points of {}; keeps linear momenta"
#: Order and description by name.
CANONICAL_METHODS = {
    name: (2 * stages - 2, _LOBATTO.format(stages)) for name, stages in STAGES.items()
} | {
    name: (2 * degree, _DISCRETE.format(degree, points, kind.capitalize()))
    for name, (degree, kind, points) in RULES.items()
}


class CanonicalModel:
    """The functions of a system, and what a step of size h begins with: t, q and p.

    `flow(t, q, p)` gives H_p and -H_q + Q; `derivatives(t, q, v)` gives L_q + Q and L_v;
    `gap(t, q)` gives g and G; `hidden(t, q, p)` gives G H_p + g_t.
    """

    def __init__(self, kernel: Kernel, symbols: StepSymbols) -> None:
        system, algebra, vector = kernel.equations.system, kernel.algebra, kernel.algebra.vector
        self.symbols, self.time, self.step = symbols, symbols.time, symbols.h
        q, v, p = vector(system.coordinates), vector(system.velocities), vector(system.momenta)
        self.n = q.numel()
        given = {symbol: value for symbol, value in system.inputs.items() if value is not None}
        parameters = vector(kernel.parameters)
        hamiltonian, velocities = hamiltonian_and_velocities(system, algebra)
        lagrangian, momenta = lagrangian_and_momenta(system, algebra)
        laws_by_momenta = kernel.lower(list(given.values()))
        laws_by_velocities = algebra.substitute(vector(list(given.values())), p, momenta)

        def function(name: str, symbols: list[Any], *results: Any) -> Callable[..., Any]:
            laws = laws_by_velocities if symbols[-1] is v else laws_by_momenta
            driven = [algebra.substitute(block, vector(list(given)), laws) for block in results]
            found = ca.Function(name, [*symbols, parameters], driven)
            return lambda *values: found(*values, parameters)

        by_momenta = algebra.substitute(applied_force(system, algebra, p), v, velocities)
        by_velocities = applied_force(system, algebra, momenta)
        residual = kernel.graph.position.residual
        derivative = ca.jacobian(residual, q)
        self.m = int(residual.numel())
        place = [self.time, q]
        self.flow = function(
            "flow", [*place, p], velocities, by_momenta - ca.gradient(hamiltonian, q)
        )
        self.derivatives = function(
            "derivatives", [*place, v], ca.gradient(lagrangian, q) + by_velocities, momenta
        )
        self.gap = function("gap", place, residual, derivative)
        self.hidden = function(
            "hidden", [*place, p], derivative @ velocities + ca.jacobian(residual, self.time)
        )

    def position(self, increment: ca.SX) -> ca.SX:
        """The position after an increment of it."""
        return self.symbols.after(ca.vertcat(increment, ca.SX(self.n, 1)))[: self.n]

    def momentum(self, increment: ca.SX) -> ca.SX:
        """The momentum after an increment of it."""
        return self.symbols.after(ca.vertcat(ca.SX(self.n, 1), increment))[self.n :]

    def velocity(self) -> Any:
        """H_p at the beginning of the step."""
        none = ca.SX(self.n, 1)
        return self.flow(self.time, self.position(none), self.momentum(none))[0]


def check_canonical_steps(equations: Equations, method: str) -> None:
    """Refuse what steps in positions and momenta cannot follow."""
    system = equations.system
    if equations.form != "hamilton":
        raise FormError(
            f"The method {method} takes its steps in positions and momenta",
            seen=f'the form "{equations.form}"',
            remedy='use form="hamilton", for a system stated by its Lagrangian or Hamiltonian',
        )
    refuse_other_constraints(equations, method)
    refuse_dependent_constraints(equations, method)
    if kernel_of(equations, system.parameters).free_inputs:
        raise FormError(
            f"The method {method} needs forces that are expressions",
            seen="inputs given as functions",
            remedy=(
                "give the input as an expression of time and state, or use method gauss4 or dop853"
            ),
        )


def canonical_equations(method: str) -> Callable[[Kernel, StepSymbols], StepEquations]:
    """What writes the equations of a step of a method for a kernel."""

    def equations(kernel: Kernel, symbols: StepSymbols) -> StepEquations:
        model = CanonicalModel(kernel, symbols)
        if method in RULES:
            return variational_equations(model, *RULES[method])
        return lobatto_equations(model, STAGES[method])

    return equations
