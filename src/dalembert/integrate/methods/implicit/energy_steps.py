r"""Steps that keep the energy: the midpoint discrete gradient of a nonholonomic system in positions
and momenta.

For a Hamiltonian H(q, p), forces Q and constraints f(q, v) = 0 that are homogeneous in the
velocities v = H_p, the reaction f_v^T lambda does no work, because f_v v = 0 on the constraints. It
can be written with a skew matrix: with z = (q, p),

    z_dot = (J + a g^T - g a^T) grad H + (0, Q),     a = (0, f_v^T lambda),     g = grad H / |grad
    H|^2

where J is the canonical matrix. This is an almost Poisson structure (A. J. van der Schaft, B.
Maschke, Rep. Math. Phys. 34 (1994) 225). One step, with f_v and Q at z_m = (z_0 + z_1)/2, is

    z_1 - z_0 = h (J + a g^T - g a^T) DH + h (0, Q),     g = DH / |DH|^2,     f(q_1, H_p(z_1)) = 0
    DH = grad H(z_m) + (H(z_1) - H(z_0) - grad H(z_m) . (z_1 - z_0)) / |z_1 - z_0|^2  (z_1 - z_0)

(O. Gonzalez, J. Nonlinear Sci. 6 (1996) 449; for nonholonomic systems E. Celledoni, M. Farre
Puiggali, E. H. Hoiseth, D. Martin de Diego, J. Nonlinear Sci. 29 (2019) 1523, where the constraints
hold on average over a step or in coordinates of their own). DH . (z_1 - z_0) is the difference of
the energies whatever the step, and the matrix is skew whatever lambda, so that lambda is free to
bring the end of the step to the constraints, and the energies differ by the work of Q alone, h Q .
DH_p. The method is symmetric and of order 2.
"""

from __future__ import annotations

import casadi as ca

from ....errors import FormError
from ....formulations.constraint_equations import velocity_level
from ....formulations.equations import Equations
from ....formulations.forms.hamilton import hamiltonian_and_velocities
from ....formulations.forms.lagrange import applied_force, lagrangian_and_momenta
from ....model.symbols import t
from ....runtime.kernel import Kernel, kernel_of
from ..hypotheses import refuse_dependent_constraints
from .nonholonomic_steps import check_inputs
from .root_equations import StageEquations, StepEquations, StepSymbols

__all__ = ["check_energy_steps", "energy_equations"]

FORM = "hamilton"
#: Degrees of homogeneity in the velocities that are recognised.
DEGREES = (1, 2)
#: Keeps quotients finite at rest, where what they multiply vanishes.
TINY = 1e-300
#: An increment below this part of the state is rounding, and so is what the energy changes by.
ROUNDING = 1e-16


def check_energy_steps(equations: Equations, method: str) -> None:
    """Refuse systems whose energy is not kept, and constraints that the steps do not end on."""
    system = equations.system
    if equations.form != FORM:
        raise FormError(
            f"The method {method} takes its steps in positions and canonical momenta",
            seen=f'the form "{equations.form}"',
            remedy=f'use form="{FORM}", or leave the form out',
        )
    positions = [c.name for c in system.bilateral if c.is_position_level]
    if positions:
        raise FormError(
            f"The method {method} does not end its steps on constraints of positions such as"
            f" `{positions[0]}`",
            seen=f"constraints of positions: {', '.join(positions)}",
            remedy="state the system in independent coordinates, or use method dla or rattle4",
        )
    kernel = kernel_of(equations, system.parameters)
    check_inputs(kernel, method)
    refuse_dependent_constraints(equations, method)
    algebra = kernel.algebra
    hamiltonian, _ = hamiltonian_and_velocities(system, algebra)
    if algebra.depends(hamiltonian, algebra.vector([t, *system.inputs])):
        raise FormError(
            f"The method {method} needs an energy that does not depend on time",
            seen="t or an input in it, so that it is not kept",
            remedy="state it as a force, or use method dla or dop853",
        )
    working = _working_constraint(kernel)
    if working is not None:
        raise FormError(
            f"The method {method} needs constraints that are homogeneous in the velocities and do"
            " not depend on time",
            seen=f"`{working}`, whose reaction does work, so that the energy is not kept",
            remedy="use method dla or dop853",
        )


def _working_constraint(kernel: Kernel) -> str | None:
    """The name of a constraint that has time, or is not shown homogeneous in the velocities."""
    system, algebra = kernel.equations.system, kernel.algebra
    if not system.bilateral:
        return None
    v, time = algebra.vector(system.velocities), algebra.vector([t, *system.inputs])
    residual = velocity_level(system, algebra, lagrangian_and_momenta(system, algebra)[1]).residual
    for place, constraint in enumerate(system.bilateral):
        orders = (algebra.homogeneity(residual[place], v, degree) for degree in DEGREES)
        if algebra.depends(residual[place], time) or not any(found.is_proved for found in orders):
            return str(constraint.name)
    return None


def energy_equations(kernel: Kernel, symbols: StepSymbols) -> StepEquations:
    """The equations of a step."""
    system, algebra, h = kernel.equations.system, kernel.algebra, symbols.h
    q, v, p = (
        algebra.vector(block) for block in (system.coordinates, system.velocities, system.momenta)
    )
    n, m = q.numel(), len(system.bilateral)
    energy, velocities = hamiltonian_and_velocities(system, algebra)

    def in_momenta(block: ca.SX) -> ca.SX:
        return algebra.substitute(block, v, velocities)

    force = in_momenta(applied_force(system, algebra, p))
    given = {symbol: value for symbol, value in system.inputs.items() if value is not None}
    if given:
        force = algebra.substitute(
            force, algebra.vector(list(given)), kernel.lower(list(given.values()))
        )
    derivative = ca.gradient(energy, symbols.state)
    residual, rows = ca.SX(0, 1), ca.SX(0, n)
    if m:
        level = velocity_level(system, algebra, lagrangian_and_momenta(system, algebra)[1])
        residual, rows = in_momenta(level.residual), in_momenta(ca.jacobian(level.residual, v))
    change, impulse = ca.SX.sym("change", 2 * n), ca.SX.sym("impulse", m)
    middle, new, half_time = symbols.after(change / 2), symbols.after(change), symbols.time + h / 2
    there = symbols.at(ca.horzcat(derivative[:n], derivative[n:], force, rows.T), middle, half_time)
    plain = ca.vertcat(there[:, 0], there[:, 1])
    gap = (
        symbols.at(energy, new, half_time)
        - symbols.at(energy, symbols.start, half_time)
        - ca.dot(plain, change)
    )
    length = ca.sumsqr(change)
    is_measured = length > ROUNDING**2 * ca.sumsqr(
        symbols.start
    )  # or else the gap is rounding, which nothing must divide
    discrete = plain + ca.if_else(is_measured, gap, 0) / ca.fmax(length, TINY) * change

    mean, reaction = discrete[n:], there[:, 3:] @ impulse
    share = ca.dot(reaction, mean) / ca.fmax(ca.sumsqr(discrete), TINY)
    balance = (
        change
        + discrete * share
        - ca.vertcat(h * mean, h * (there[:, 2] - discrete[:n]) + reaction)
    )
    ends = symbols.at(residual, new, symbols.time + h)
    unknowns = ca.vertcat(change, impulse)
    here = symbols.at(
        ca.horzcat(derivative[:n], derivative[n:], force), symbols.start, symbols.time
    )
    return StepEquations(
        (StageEquations(ca.vertcat(balance, ends), unknowns, 2 * n, (n, 2 * n)),),
        ca.vertcat(h * here[:, 1], h * (here[:, 2] - here[:, 0]), ca.SX.zeros(m)),
        symbols.added + change,
    )
