r"""Steps of nonholonomic systems in positions and velocities: the discrete Lagrange-d'Alembert
method and a symmetric leapfrog.

A system has a Lagrangian L(q, v, t), momenta p = L_v, forces Q(q, v, t), and constraints f(q, v, t)
= 0 with reactions f_v^T lambda (Chetaev's rule). Both methods map states on the constraints to
states on the constraints, are symmetric, hence of even order, and are reversible where L is even
and f is odd or even in v. Neither is symplectic where there are nonholonomic constraints: the flow
itself is not.
"""

from __future__ import annotations

import casadi as ca

from ....errors import FormError
from ....formulations.constraint_equations import velocity_level
from ....formulations.equations import Equations
from ....formulations.forms.lagrange import applied_force, lagrangian_and_momenta
from ....runtime.kernel import Kernel, kernel_of
from ..hypotheses import refuse_dependent_constraints
from .root_equations import StageEquations, StepEquations, StepSymbols

__all__ = ["check_inputs", "check_velocity_steps", "dla_equations", "leapfrog_equations"]


def check_velocity_steps(equations: Equations, method: str) -> None:
    """Refuse what steps in positions and velocities cannot follow."""
    system = equations.system
    if equations.form != "lagrange":
        raise FormError(
            f"The method {method} takes its steps in positions and velocities",
            seen=f'the form "{equations.form}"',
            remedy='use form="lagrange", for a system stated by its energies',
        )
    kernel = kernel_of(equations, system.parameters)
    check_inputs(kernel, method)
    positions = [c.name for c in system.bilateral if c.is_position_level]
    if positions and not method.startswith("dla"):
        raise FormError(
            f"The method {method} has one multiplier a step, too few to keep the position and"
            f" velocity of `{positions[0]}`",
            seen=f"constraints of positions: {', '.join(positions)}",
            remedy=(
                "use method dla, or rattle4 where all constraints are of positions, or state"
                " independent coordinates"
            ),
        )
    refuse_dependent_constraints(equations, method)


def check_inputs(kernel: Kernel, method: str) -> None:
    """Refuse inputs that are functions: a step needs their values and derivatives inside."""
    if kernel.free_inputs:
        raise FormError(
            f"The method {method} needs inputs given as expressions",
            seen=f"the function for `{kernel.free_inputs[0]}`",
            remedy="write it as an expression of the state and t, or use method dop853",
        )


class _Mechanics:
    """Graphs of a system in q, v and t: momenta p, push L_q + Q, constraints f and f_v."""

    def __init__(self, kernel: Kernel, symbols: StepSymbols) -> None:
        system, algebra = kernel.equations.system, kernel.algebra
        q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
        lagrangian, momenta = lagrangian_and_momenta(system, algebra)
        level = velocity_level(system, algebra, momenta)
        push = algebra.gradient(lagrangian, q) + applied_force(system, algebra, momenta)
        given = {symbol: value for symbol, value in system.inputs.items() if value is not None}
        names, values = algebra.vector(list(given)), algebra.vector(list(given.values()))
        values = algebra.substitute(values, algebra.vector(system.momenta), momenta)

        def driven(block: ca.SX) -> ca.SX:
            return algebra.substitute(block, names, values) if given else block

        self.symbols, self.n, self.m = symbols, q.numel(), level.residual.numel()
        self.momenta, self.push = driven(momenta), driven(push)
        self.constraints, self.rows = (
            driven(level.residual),
            driven(algebra.jacobian(level.residual, v)),
        )
        self.positions, self.position_rows = driven(level.holonomic), level.holonomic_rows

    def at(self, expression: ca.SX, q: ca.SX, v: ca.SX, time: ca.SX) -> ca.SX:
        """An expression of q, v and t elsewhere."""
        return self.symbols.at(expression, ca.vertcat(q, v), time)


def dla_equations(kernel: Kernel, symbols: StepSymbols) -> StepEquations:
    r"""The discrete Lagrange-d'Alembert method with the midpoint rule, in positions and momenta.

    With q_m = (q_0 + q_1)/2, w = (q_1 - q_0)/h and the discrete Lagrangian L_d = h L(q_m, w), whose
    forces are h Q(q_m, w)/2 at either end, the sequence of positions obeys

        D_1 L_d(q_k, q_k+1) + D_2 L_d(q_k-1, q_k) + forces = - f_v(q_k)^T lambda,      f(q_m, w) = 0

    (J. Cortes, S. Martinez, Nonlinearity 14 (2001) 1365; R. McLachlan, M. Perlmutter, J. Nonlinear
    Sci. 16 (2006) 283). What the momenta before and after a position differ by lies along
    f_v(q_k)^T, so that a momentum between them may be chosen that obeys the constraints at q_k. One
    step is then

        p_0 + f_v(q_0, v_0)^T lambda = L_v(q_m, w) - h/2 (L_q + Q)(q_m, w),      f(q_m, w) = 0
        L_v(q_1, v_1) = L_v(q_m, w) + h/2 (L_q + Q)(q_m, w) + f_v(q_1, v_1)^T mu,      f(q_1, v_1) =
        0

    and a constraint of positions is g(q_1) = 0 in place of the discrete velocity.
    """
    model, h = _Mechanics(kernel, symbols), symbols.h
    n, m, t0, t1 = model.n, model.m, symbols.time, symbols.time + symbols.h
    q0, v0 = symbols.start[:n], symbols.start[n:]
    moved, impulse = ca.SX.sym("moved", n), ca.SX.sym("impulse", m)
    gained, correction = ca.SX.sym("gained", n), ca.SX.sym("correction", m)
    middle = (q0 + moved / 2, moved / h, t0 + h / 2)
    momentum, push = model.at(model.momenta, *middle), h / 2 * model.at(model.push, *middle)
    before = model.at(ca.horzcat(model.momenta, model.rows.T), q0, v0, t0)
    new = symbols.after(ca.vertcat(moved, gained))
    q1, v1 = new[:n], new[n:]
    kept = h * model.at(model.constraints, *middle)
    reached = symbols.at(model.positions, new, t1)
    for place, row in enumerate(model.position_rows):
        kept[row] = reached[place]
    first = ca.vertcat(h * (before[:, 0] - (momentum - push)) + before[:, 1:] @ impulse, kept)
    after = model.at(ca.horzcat(model.momenta, model.rows.T), q1, v1, t1)
    second = ca.vertcat(
        after[:, 0] - (momentum + push) - after[:, 1:] @ correction,
        model.at(model.constraints, q1, v1, t1),
    )
    return StepEquations(
        (
            StageEquations(first, ca.vertcat(moved, impulse), n, (0, n)),
            StageEquations(second, ca.vertcat(gained, correction), n, (n, 2 * n)),
        ),
        ca.vertcat(h * v0, ca.SX.zeros(n + 2 * m)),
        symbols.added + ca.vertcat(moved, gained),
    )


def leapfrog_equations(kernel: Kernel, symbols: StepSymbols) -> StepEquations:
    r"""A symmetric leapfrog with one reaction in the middle, whose velocities obey the constraints
    at the end of each step.

        q_m = q_0 + h/2 v_0,      p_1 - p_0 = h (L_q + Q)(q_m, w) + h f_v(q_m, w)^T lambda,      w =
        (v_0 + v_1)/2 q_1 = q_m + h/2 v_1,      f(q_1, v_1) = 0

    The exchange of both ends with h -> -h gives the same equations. For constant masses it is the
    leapfrog of drift, kick and drift, explicit but for lambda: one of the reversible methods of R.
    McLachlan, M. Perlmutter, J. Nonlinear Sci. 16 (2006) 283. The leapfrog of S. Ferraro, D.
    Iglesias, D. Martin de Diego, Nonlinearity 21 (2008) 1911, has its reactions at the positions,
    and momenta that obey the constraints on average; this one can be composed, because its states
    obey them.
    """
    model, h = _Mechanics(kernel, symbols), symbols.h
    n, m, t0, t1 = model.n, model.m, symbols.time, symbols.time + symbols.h
    q0, v0 = symbols.start[:n], symbols.start[n:]
    gained, impulse = ca.SX.sym("gained", n), ca.SX.sym("impulse", m)
    increment = ca.vertcat(h * (v0 + gained / 2), gained)
    new = symbols.after(increment)
    middle = (symbols.after(ca.vertcat(h / 2 * v0, gained))[:n], v0 + gained / 2, t0 + h / 2)
    balance = symbols.at(model.momenta, new, t1) - model.at(model.momenta, q0, v0, t0)
    balance = (
        balance - h * model.at(model.push, *middle) - model.at(model.rows, *middle).T @ impulse
    )
    return StepEquations(
        (
            StageEquations(
                ca.vertcat(balance, symbols.at(model.constraints, new, t1)),
                ca.vertcat(gained, impulse),
                n,
                (n, 2 * n),
            ),
        ),
        ca.SX.zeros(n + m),
        symbols.added + increment,
    )
