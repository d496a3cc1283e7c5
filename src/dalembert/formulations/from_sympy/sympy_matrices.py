r"""Flows from equations of motion that SymPy's mechanics has as matrices and nothing else.

    M(x, t) x' = F(x, t, r),        x = (q, u)

has no energies. It becomes a `Flow` whose rates solve this system by a QR factorisation on the
graph, which has no pivots that may vanish where M is regular.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.graph_expressions import expressions_of
from ...algebra.structure import rank
from ...errors import ModelError
from ...model.flow_system import Flow
from ...model.symbols import as_expression
from .sympy_symbols import Translation

if TYPE_CHECKING:
    from sympy.physics.mechanics import SymbolicSystem

__all__ = ["flow_of"]

_ATTRIBUTES = ("q", "u", "mass_matrix_full", "forcing_full")


def flow_of(method: Any, name: str) -> tuple[Flow, Translation]:
    """The flow of a `SymbolicSystem`, or of a method that has formed its full matrices."""
    from sympy.physics import mechanics

    outputs: dict[Any, Any] = {}
    if isinstance(method, mechanics.SymbolicSystem):
        states, (mass, forcing) = list(method.states), _matrices(method)
        outputs |= method.output_eqns or {}
    elif all(hasattr(type(method), attribute) for attribute in _ATTRIBUTES):
        states = [*method.q, *method.u]
        mass, forcing = method.mass_matrix_full, method.forcing_full
    else:
        raise ModelError(
            "from_sympy takes an object of SymPy's mechanics with equations of motion",
            seen=type(method).__name__,
            remedy="pass a LagrangesMethod, KanesMethod, System, JointsMethod or SymbolicSystem",
        )
    translation = Translation(states)
    plain = translation.in_rates
    right = [plain(entry) for entry in forcing]
    rates = right if mass is None else _rates(mass.applyfunc(plain), right)
    own = {translation.output(key): plain(as_expression(value)) for key, value in outputs.items()}
    table = dict(zip(translation.coordinates, rates, strict=True))
    return Flow(table, inputs=translation.inputs, outputs=own, name=name), translation


def _matrices(system: SymbolicSystem) -> tuple[sympy.Matrix | None, sympy.Matrix]:
    """Mass matrix and right-hand side of all states; no matrix where the rates are given."""
    if system.alg_con:
        raise ModelError(
            "The SymbolicSystem has algebraic constraints among its equations",
            seen=f"rows {', '.join(map(str, system.alg_con))}",
            remedy="state them as configuration constraints of a KanesMethod or LagrangesMethod",
        )
    try:
        return None, system.comb_explicit_rhs
    except AttributeError:
        return system.comb_implicit_mat, system.comb_implicit_rhs


def _rates(mass: sympy.Matrix, right: list[sympy.Expr]) -> list[sympy.Expr]:
    """M^-1 F."""
    if mass.rows != mass.cols or mass.rows != len(right):
        raise ModelError(
            "The mass matrix and the forcing do not have a row for each state",
            seen=f"{mass.rows} x {mass.cols} and {len(right)}",
            remedy="pass equations without multipliers",
        )
    algebra = GraphAlgebra()
    rows = (ca.horzcat(*map(algebra.scalar, row)) for row in mass.tolist())
    matrix = ca.sparsify(ca.vertcat(*rows))
    if rank(algebra.symbols, matrix).at_most < mass.rows:
        raise ModelError(
            "The mass matrix is singular",
            remedy="give every body mass, and state constraints apart from the equations",
        )
    return expressions_of(algebra.symbols, ca.solve(matrix, algebra.vector(right)))
