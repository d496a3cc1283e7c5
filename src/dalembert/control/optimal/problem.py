r"""Optimal control problems: symbols with their rates, inputs to be chosen, a cost, relations.

    minimise  int L(x, u, t) dt     subject to  x_dot = X(x, u, t)

A `Flow` states x_dot itself. A `System` is brought to it: its symbols are coordinates and the
velocities of its fastest form, and its accelerations are those of the Gauss problem, G z = f + A^T
mu, A z = b, solved in symbols.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from ...algebra.tree import TreeAlgebra
from ...errors import ModelError, StartError, nearest
from ...formulations.blocks import GaussBlocks
from ...formulations.registry import derive, fastest_form
from ...model.flow_system import Flow
from ...model.labels import labelled
from ...model.symbols import Coordinate, Input, Momentum, Parameter, Velocity, as_expression, t
from ...model.system import System
from ...model.values import real_number
from ...typing import ArrayLike, BySymbol, Expression

__all__ = ["ControlProblem", "control_problem"]

ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class ControlProblem:
    """An optimal control problem in symbols; n symbols, m inputs.

    Attributes
    ----------
    symbols : tuple of Coordinate (n,)
    inputs : tuple of Input (m,)
    rates : tuple of expressions (n,)
        X(x, u, t).
    cost : expression
        L(x, u, t).
    relations : tuple of expressions
        What vanishes along every motion, such as the entries of Q^T Q - 1.
    other_names : mapping of str to str
        Names of the model that stand for symbols here, such as x_dot for v_x.
    matrices : mapping of name to matrix of symbols
    name : str
    """

    symbols: tuple[Coordinate, ...]
    inputs: tuple[Input, ...]
    rates: tuple[sympy.Expr, ...]
    cost: sympy.Expr
    relations: tuple[sympy.Expr, ...]
    other_names: Mapping[str, str]
    matrices: Mapping[str, sympy.MatrixBase]
    name: str

    def values(self, given: BySymbol[Expression | ArrayLike], where: str) -> dict[str, float]:
        """Numbers by the name of a symbol, from symbols, names, or matrices by name."""
        given = labelled(given)
        if not isinstance(given, Mapping):
            seen, remedy = type(given).__name__, f"pass {where}={{x: 1.0, ...}}"
            raise StartError(f"The {where} must name its values", seen, remedy)
        known = [symbol.name for symbol in self.symbols]
        found: dict[str, float] = {}
        for key, value in given.items():
            name = getattr(key, "name", str(key))
            name = self.other_names.get(name, name)
            if name in self.matrices:
                found |= _entries(self.matrices[name], value, name, where)
                continue
            if name not in known:
                near = nearest(name, known)
                raise StartError(
                    f"The {where} names `{name}`, which is no symbol of the model",
                    ", ".join(known),
                    f"did you mean {near}" if near else "use one of these names",
                )
            number = _number(value, name, where)
            if found.get(name, number) != number:
                seen = f"{found[name]:g} and {number:g}"
                raise StartError(f"The {where} gives `{name}` twice", seen, "give it once")
            found[name] = number
        return found


def _number(value: Expression | ArrayLike, name: str, where: str) -> float:
    number = real_number(value)
    if number - number != 0:
        what = f"The {where} of `{name}` must be a finite number"
        raise StartError(what, str(value)[:60], "give a number")
    return number


def _entries(matrix: sympy.MatrixBase, value: ArrayLike, name: str, where: str) -> dict[str, float]:
    """The symbols of a matrix that has a given value."""
    symbols = sorted(matrix.free_symbols, key=str)
    holder = Flow(dict.fromkeys(symbols, ZERO), matrices={name: matrix})
    found = holder.start(**{name: value})
    return {key: _number(number, key, where) for key, number in found.items()}


def control_problem(model: System | Flow, cost: Expression) -> ControlProblem:
    """The problem that a model and an integrand state.

    Raises
    ------
    ModelError
        Where the model is neither a Flow nor a System, leaves no input free, or the cost names what
        the model does not have.
    """
    if not isinstance(model, (Flow, System)):
        remedy = "pass da.Flow({x: ...}, inputs=[u])"
        raise ModelError("Optimal control needs a Flow or a System", type(model).__name__, remedy)
    if isinstance(model, System) and model.image is not None and not model.inputs:
        model, cost = _of_image(model, as_expression(cost))
    free = tuple(symbol for symbol, value in model.inputs.items() if value is None)
    if not free:
        raise ModelError(
            "There is nothing to choose: the model has no free input",
            ", ".join(symbol.name for symbol in model.inputs) or "no inputs",
            "state da.inputs(...) in the rates or the forces, and leave them without a value",
        )
    given = {symbol: value for symbol, value in model.inputs.items() if value is not None}
    parts = _of_flow(model, given) if isinstance(model, Flow) else _of_system(model)
    symbols, rates, relations, renamed = parts
    integrand = as_expression(cost).xreplace(given).xreplace(renamed)
    if isinstance(model, Flow):
        rate_of = {symbol.dot: rate for symbol, rate in zip(symbols, rates, strict=True)}
        integrand = integrand.xreplace(rate_of)
    known = {*symbols, *free, t, *integrand.atoms(Parameter)}
    foreign = sorted(integrand.free_symbols - known, key=str)
    if foreign:
        raise ModelError(
            f"The cost contains {', '.join(map(str, foreign))}",
            str(integrand)[:80],
            "write it in symbols, inputs, parameters and time of the model",
        )
    names = {str(old): str(new) for old, new in renamed.items()}
    matrices = dict(model.matrices) if isinstance(model, Flow) else {}
    return ControlProblem(symbols, free, rates, integrand, relations, names, matrices, model.name)


Expressions = tuple[sympy.Expr, ...]
Parts = tuple[tuple[Coordinate, ...], Expressions, Expressions, dict[Any, Any]]


def _of_flow(flow: Flow, given: Mapping[Any, Any]) -> Parts:
    rates = tuple(rate.xreplace(dict(given)) for rate in flow.rates.values())
    return flow.coordinates, rates, tuple(c.expression for c in flow.constraints), {}


def _of_image(system: System, cost: sympy.Expr) -> tuple[Flow, sympy.Expr]:
    """The kinematics q_dot = E u of an image, with its speeds as inputs (M 1, 2)."""
    assert system.image is not None
    named = {u: Input(u.name) for u in system.image.speeds}
    rates = {q: value.xreplace(named) for q, value in system.image.velocities.items()}
    if system.bilateral:
        what, seen = (
            "An optimal control problem needs all constraints in the image",
            system.bilateral,
        )
        raise ModelError(what, ", ".join(c.name for c in seen), "put them into the image")
    flow = Flow(rates, inputs=list(named.values()), name=system.name)
    return flow, cost.xreplace(dict(system.bundle)).xreplace(named)


def _of_system(system: System) -> Parts:
    """Coordinates and velocities (momenta, speeds) of the fastest form as symbols of a flow."""
    if system.unilateral:
        what, sided = "Optimal control cannot follow one-sided constraints", system.unilateral[0]
        raise ModelError(what, sided.name, "hold them, or leave them out")
    equations = derive(system, fastest_form(system))
    algebra = TreeAlgebra()
    blocks = equations.blocks(algebra)
    z = _solved(algebra, blocks)
    rates = blocks.rates.xreplace(dict(zip(blocks.unknowns, z, strict=True)))
    renamed: dict[Any, Any] = {symbol: _flow_symbol(symbol) for symbol in equations.state}
    # All velocities may occur in the cost, also those that the form does not keep.
    velocities = zip(system.velocities, blocks.velocities, strict=True)
    renamed |= {v: e.xreplace(renamed) for v, e in velocities if v not in renamed}
    symbols = tuple(renamed[symbol] for symbol in equations.state)
    relations = [*blocks.position.residual, *blocks.velocity.residual]
    moved, obeyed = (tuple(e.xreplace(renamed) for e in block) for block in (rates, relations))
    return symbols, moved, obeyed, renamed


def _flow_symbol(symbol: sympy.Symbol) -> Coordinate:
    if isinstance(symbol, Velocity):
        return Coordinate(f"v_{symbol.coordinate.name}")
    if isinstance(symbol, Momentum):
        return Coordinate(f"momentum_{symbol.coordinate.name}")
    return symbol if isinstance(symbol, Coordinate) else Coordinate(symbol.name)


def _solved(algebra: TreeAlgebra, blocks: GaussBlocks) -> sympy.MatrixBase:
    """z of the Gauss problem with independent rows, as functions of the state."""
    free = blocks.free if blocks.free is not None else _divided(blocks.metric, blocks.force)
    if not blocks.rows.rows:
        return free
    compliance = _divided(blocks.metric, blocks.rows.T)
    reduced = blocks.rows * compliance
    if reduced.rank() < reduced.rows:
        raise ModelError(
            "The constraints of the system depend on each other",
            f"rank {reduced.rank()} of {reduced.rows}",
            "leave out those that follow from the others",
        )
    return free + compliance * _divided(reduced, blocks.right - blocks.rows * free)


def _divided(matrix: sympy.MatrixBase, right: sympy.MatrixBase) -> sympy.MatrixBase:
    """matrix^-1 right without a limit of size: by the adjugate where that is short."""
    if matrix.is_diagonal():
        return sympy.Matrix(*right.shape, lambda i, j: right[i, j] / matrix[i, i])
    if matrix.rows <= 3:
        return (matrix.adjugate() * right) / matrix.det(method="berkowitz")
    return matrix.LUsolve(right)
