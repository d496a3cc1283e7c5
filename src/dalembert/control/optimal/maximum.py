r"""Pontryagin's maximum principle for costs quadratic in the inputs and rates affine in them.

With a costate lambda for each symbol and H = lambda . X(x, u, t) - L(x, u, t),

    L_u = X_u^T lambda,      x_dot = X,      lambda_dot = -X_x^T lambda + L_x    (normal extremals)

(Moreau and van der Schaft 3-6; Bloch and others, Supplement, 7.7.2, 7.7.13, 7.7.22, 7.7.25). L_uu
must be positive, so that the first equation gives the one u that maximises H. H is constant where
neither X nor L depends on time. Abnormal extremals, those of lambda . X alone, are left out.
"""

from __future__ import annotations

import numpy as np
import sympy

from ...algebra.tree import TreeAlgebra
from ...errors import FormError
from ...model.constraints import holonomic
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, t
from ...typing import Matrix
from .problem import ControlProblem

__all__ = ["RUNNING_COST", "check_legendre", "costate_of", "extremal_flow", "input_metric"]

#: The output of an extremal flow that is the integrand of the cost.
RUNNING_COST = "running_cost"


def costate_of(symbol: sympy.Symbol) -> Coordinate:
    """The costate of a symbol: lambda_x.

    >>> costate_of(Coordinate("x"))
    lambda_x
    """
    return Coordinate(f"lambda_{symbol.name}")


def input_metric(problem: ControlProblem) -> sympy.MatrixBase:
    """L_uu as a SymPy matrix (m x m).

    Raises
    ------
    FormError
        Where X is not affine in the inputs, or L not quadratic: the maximum is not solved for in
        other cases.
    """
    algebra = TreeAlgebra()
    u, rates = algebra.vector(problem.inputs), algebra.vector(problem.rates)
    if algebra.without(algebra.jacobian(rates, u), u) is None:
        raise FormError(
            "The maximum condition is solved only for rates that are affine in the inputs",
            "a rate that is not",
            "make the input a symbol whose rate is a new input, and put the cost on that",
        )
    second, _ = algebra.hessian(problem.cost, u)
    metric = algebra.without(second, u)
    if metric is None:
        raise FormError(
            "The maximum condition is solved only for costs that are quadratic in the inputs",
            str(problem.cost)[:80],
            "use a quadratic cost, or make the input a symbol whose rate is a new input",
        )
    return metric


def check_legendre(metric: Matrix, where: str = "") -> None:
    """L_uu > 0 (Legendre's condition) for numbers (m x m).

    Raises
    ------
    FormError
        Where the Hamiltonian has no maximum over the inputs.
    """
    values = np.array(metric, dtype=float)
    units = np.sqrt(np.abs(np.diag(values)))
    # In units of the inputs, so that the decision does not depend on them.
    units = np.where(units > 0, units, 1.0)
    scaled = values / np.outer(units, units)
    least = float(np.min(np.linalg.eigvalsh((scaled + scaled.T) / 2)))
    if not least > 1e-13 * float(np.max(np.abs(scaled))):
        raise FormError(
            f"The cost is not convex in the inputs{where}: Legendre's condition L_uu > 0 fails",
            f"least eigenvalue {least:.3g} with inputs scaled to L_uu = 1 or -1",
            "give every input a positive cost; abnormal and singular extremals are not followed",
        )


def extremal_flow(problem: ControlProblem) -> Flow:
    """Normal extremals as a flow of symbols and costates, with inputs and cost as outputs."""
    algebra = TreeAlgebra()
    metric = input_metric(problem)
    if not metric.free_symbols:
        check_legendre(metric.tolist())
    x, u = algebra.vector(problem.symbols), algebra.vector(problem.inputs)
    costates = [costate_of(symbol) for symbol in problem.symbols]
    taken = _check_names(problem)
    costate, rates = algebra.vector(costates), algebra.vector(problem.rates)
    nothing = dict.fromkeys(problem.inputs, sympy.Integer(0))
    frame: sympy.MatrixBase = algebra.without(algebra.jacobian(rates, u), u)
    drift: sympy.MatrixBase = algebra.without(rates - frame * u, u)
    linear = algebra.gradient(problem.cost, u).xreplace(nothing)
    inputs = _solved(metric, frame.T * costate - linear)
    chosen = dict(zip(problem.inputs, inputs, strict=True))
    # The derivative of the maximum is the partial one at the maximising inputs.
    derivative = algebra.gradient(problem.cost, x) - algebra.jacobian(rates, x).T * costate
    motion = [*(drift + frame * inputs), *derivative.xreplace(chosen)]
    cost = problem.cost.xreplace(chosen)
    hamiltonian = algebra.inner(costate, list(motion[: len(x)])) - cost
    autonomous = not any(expression.has(t) for expression in (*problem.rates, problem.cost))
    relations = enumerate(problem.relations, start=1)
    return Flow(
        dict(zip([*problem.symbols, *costates], motion, strict=True)),
        integrals={"hamiltonian" if "H" in taken else "H": hamiltonian} if autonomous else {},
        outputs={symbol.name: value for symbol, value in chosen.items()} | {RUNNING_COST: cost},
        constraints=[holonomic(one, name=f"relation_{k}") for k, one in relations],
        matrices=dict(problem.matrices),
        name=f"extremals of {problem.name}",
    )


def _check_names(problem: ControlProblem) -> set[str]:
    """The names of the problem, none of which may be needed for costates or the integrand."""
    expressions = (problem.cost, *problem.rates)
    symbols = {*problem.symbols, *problem.inputs}.union(*(e.free_symbols for e in expressions))
    taken = {symbol.name for symbol in symbols}
    needed = [*(costate_of(symbol).name for symbol in problem.symbols), RUNNING_COST]
    double = [name for name in needed if name in taken]
    if double:
        what = f"The extremals need the name `{double[0]}` for themselves"
        raise FormError(what, "a symbol of the model with it", "rename it")
    return taken


def _solved(metric: sympy.MatrixBase, right: sympy.MatrixBase) -> sympy.MatrixBase:
    if metric.is_diagonal():
        return sympy.Matrix(len(right), 1, [right[k] / metric[k, k] for k in range(len(right))])
    return metric.LUsolve(right)
