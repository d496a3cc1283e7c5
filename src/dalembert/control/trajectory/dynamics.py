r"""The equations of motion as equations of a nonlinear program, in the graph.

A form states x_dot = rates(x, z, mu) with the Gauss problem

    G z = f + A^T mu,     A z = b.

*Implicitly*, z and mu are unknowns of the program and these two lines are equations of it; nothing
is inverted. *Explicitly*, z is the solution of G z = f written out in the graph. One place decides:
`is_explicit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import sympy

from ...codegen.passes.unrolled import UnrolledSolution
from ...errors import FormError, ModelError
from ...formulations.equations import Equations
from ...formulations.registry import derive, fastest_form
from ...model.flow_system import Flow
from ...model.symbols import Input, Multiplier, Parameter, t
from ...model.system import System
from ...runtime.kernel import Kernel, kernel_of
from ...runtime.kernel_derivatives import _generic_instants, independent_rows
from .trajectory_quantities import ReactionOf

__all__ = ["Dynamics", "dynamics_of"]

#: Most unknowns of an unconstrained Gauss problem that is written out. Chains of pendulums take 0.7
#: (n = 2, 4), 0.95 (6) and 0.45 (8) of the time that they take with accelerations as unknowns.
MOST_EXPLICIT = 8


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Expressions of the graph in t, x (n), w (z and mu, nw), u (m) and p.

    Attributes
    ----------
    kernel : Kernel
    parameters : tuple of symbols
        Those of the system, and those that only a cost or a condition contains.
    inputs : tuple of Input (m,)
    unknowns : column (nw)
        w: z and the multipliers of independent rows, or nothing where they are written out.
    rates : column (n)
    balance : column (nw)
        What vanishes: G z - f - A^T mu and A z - b.
    accelerations_known : column of z and mu over (t, x, u, p), or None
        The solve written out, where it can be.
    """

    kernel: Kernel
    parameters: tuple[sympy.Symbol, ...]
    inputs: tuple[Input, ...]
    unknowns: ca.SX
    rates: ca.SX
    balance: ca.SX
    solved: UnrolledSolution | None
    kept: tuple[int, ...]

    @property
    def equations(self) -> Equations:
        equations: Equations = self.kernel.equations
        return equations

    @property
    def state(self) -> tuple[sympy.Symbol, ...]:
        return self.equations.state

    @property
    def arguments(self) -> list[ca.SX]:
        """The columns t, x, w, u, p."""
        vector = self.kernel.algebra.vector
        return [
            vector([t]),
            vector(self.state),
            self.unknowns,
            vector(self.inputs),
            vector(self.parameters),
        ]

    def lower(self, expressions: Sequence[sympy.Expr]) -> ca.SX:
        """Expressions of the model, accelerations and reactions among them, as a column."""
        kernel, system = self.kernel, self.equations.system
        algebra, g = kernel.algebra, kernel.graph
        plain, forces = _without_reactions(expressions, system, g.reactions)
        column = kernel.lower(plain)
        at_instant = {
            **{q.ddot: g.accelerations[k] for k, q in enumerate(system.coordinates)},
            **{
                Multiplier(f"mu_{name}"): (
                    g.multipliers if g.row_multipliers is None else g.row_multipliers
                )[k]
                for k, name in enumerate(kernel.multiplier_names)
            },
            **forces,
        }
        used = set().union(*(e.free_symbols for e in plain)) if plain else set()
        given = {symbol: value for symbol, value in at_instant.items() if symbol in used}
        if given:
            column = algebra.substitute(
                column, algebra.vector(list(given)), ca.vertcat(*given.values())
            )
        return self._in_unknowns(column)

    def _in_unknowns(self, column: ca.SX) -> ca.SX:
        """The column with z and mu replaced by their solution where they are written out."""
        g = self.kernel.graph
        if self.unknowns.numel() or self.solved is None:
            return ca.SX(column)
        symbols = ca.vertcat(g.unknowns, g.multipliers)
        if not symbols.numel() or not ca.depends_on(ca.SX(column), symbols):
            return ca.SX(column)
        found = ca.vertcat(self.solved.z, self.solved.multipliers)
        return ca.SX(self.kernel.algebra.substitute(ca.SX(column), symbols, found))


def _without_reactions(
    expressions: Sequence[sympy.Expr], system: System, reactions: Mapping[str, ca.SX]
) -> tuple[list[sympy.Expr], dict[sympy.Symbol, ca.SX]]:
    """Expressions with a symbol for each reaction, and what these symbols stand for."""
    found: dict[sympy.Basic, sympy.Symbol] = {}
    forces: dict[sympy.Symbol, ca.SX] = {}
    names = [q.name for q in system.coordinates]
    for node in set().union(*(e.atoms(ReactionOf) for e in expressions)):
        constraint, coordinate = (argument.name for argument in node.args)
        if constraint not in reactions or coordinate not in names:
            raise ModelError(
                f"There is no reaction of `{constraint}` along `{coordinate}`",
                ", ".join(reactions) or "no constraints",
                "name a constraint and a coordinate of the system",
            )
        symbol = found[node] = sympy.Dummy(f"{constraint}_{coordinate}", real=True)
        forces[symbol] = reactions[constraint][names.index(coordinate)]
    return [e.xreplace(found) for e in expressions], forces


def dynamics_of(
    model: System | Flow | Equations, form: str | None, expressions: Sequence[sympy.Expr],
    implicit: bool | None = None, discrete: bool = False,
) -> Dynamics:  # fmt: skip
    """The dynamics of a model in a form, with the parameters that some expressions add.

    Where they are `discrete`, constraints are asked of the velocities at the stages, instead of
    their derivative: with Gauss's stages in Hamilton's form, these are the steps of a discrete
    Lagrangian (`schemes`).
    """
    equations = _equations(model, form)
    if equations.rechoose is not None and not equations.chart_is_steady:
        raise FormError(
            f'The form "{equations.form}" would have to choose other independent velocities on its'
            " way",
            ", ".join(equations.chart),
            'leave the form out, or use "lagrange"',
        )
    kernel = kernel_of(equations, equations.system.parameters)
    used = set().union(*(e.atoms(Parameter) for e in expressions)) if expressions else set()
    extra = sorted(used - set(kernel.parameters), key=str)
    parameters = (*kernel.parameters, *extra)
    g, every = kernel.graph, tuple(range(kernel.m))
    solved = kernel.solved
    explicit = is_explicit(kernel) if implicit is None else not implicit
    explicit = explicit and not (discrete and kernel.m)
    inputs = tuple(kernel.free_inputs)
    if explicit and solved is not None:
        bare = Dynamics(
            kernel, parameters, inputs, ca.SX(0, 1), ca.SX(g.rates), ca.SX(0, 1), solved, every
        )
        rates = bare._in_unknowns(g.rates)
        return Dynamics(
            kernel, parameters, inputs, bare.unknowns, rates, bare.balance, solved, every
        )
    kept = _independent(kernel)
    rows, right = g.rows[list(kept), :], g.right[list(kept)]
    mu = g.multipliers[list(kept)]
    rates, multipliers = ca.SX(g.rates), mu
    if len(kept) < kernel.m:
        others = [k for k in every if k not in kept]
        zeros = ca.SX.zeros(len(others))
        rates = kernel.algebra.substitute(rates, g.multipliers[others], zeros)
    relation = g.velocity.residual[list(kept)] if discrete else rows @ g.unknowns - right
    balance = ca.vertcat(g.metric @ g.unknowns - g.force - rows.T @ mu, relation)
    unknowns = ca.vertcat(g.unknowns, multipliers)
    return Dynamics(kernel, parameters, inputs, unknowns, rates, balance, solved, kept)


def is_explicit(kernel: Kernel) -> bool:
    """Whether accelerations are written out instead of being unknowns of the program.

    Flows state their rates. Without constraints a small mass matrix is solved in the graph, which
    was measured to be faster than unknowns up to `MOST_EXPLICIT` of them.
    """
    if kernel.solved is None:
        return False
    return kernel.graph.free is not None or (kernel.m == 0 and kernel.n <= MOST_EXPLICIT)


def _independent(kernel: Kernel) -> tuple[int, ...]:
    """Rows of A that are independent at a generic state."""
    if not kernel.m:
        return ()
    return independent_rows(kernel, _generic_instants(kernel)[0]).solve


def _equations(model: System | Flow | Equations, form: str | None) -> Equations:
    if isinstance(model, Equations):
        return model if form in (None, model.form) else derive(model.system, form)
    if isinstance(model, Flow):
        return derive(model, form)
    if isinstance(model, System):
        if model.unilateral:
            raise ModelError(
                "One-sided constraints cannot be followed by one program",
                ", ".join(c.name for c in model.unilateral),
                "leave them out and bound what they bound: bounds={height: (0, None)}",
            )
        return derive(model, form or fastest_form(model))
    raise ModelError(
        "A trajectory needs a System, a Flow or an Equations record",
        type(model).__name__,
        "pass da.System(...)",
    )
