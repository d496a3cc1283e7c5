r"""A nonlinear program as a sum of small pieces, with exact sparse derivatives.

Each piece is a function of few unknowns, evaluated many times: one for each interval, node or end,

    f(x) = sum_k c(x[i_k]) ,      g(x) = (r(x[i_1]), r(x[i_2]), ...).

Jacobians and Hessians are those of the piece, formed once in the graph, evaluated for all k at once
and put in their places. Differentiating the whole program instead takes many sweeps through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ...typing import Array, IntArray

__all__ = ["Piece", "nonlinear_program"]


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of a program, evaluated `count` times.

    Attributes
    ----------
    data, unknowns : columns of symbols
    rows : column
        Rows of g; where `is_summed`, one set for all evaluations together.
    cost : scalar
    table : array (data, count)
        The data of each evaluation.
    indices : array of int (count, unknowns)
        Which unknowns of the program each evaluation sees; all different.
    is_summed : bool
    """

    data: ca.SX
    unknowns: ca.SX
    rows: ca.SX
    cost: ca.SX
    table: Array
    indices: IntArray
    is_summed: bool = False

    @property
    def count(self) -> int:
        return len(self.indices)

    @property
    def size(self) -> int:
        """The rows that it adds."""
        return int(self.rows.numel()) * (1 if self.is_summed else self.count)

    def mapped(self, name: str, more: list[ca.SX], results: list[ca.SX]) -> ca.Function:
        """A function of data, unknowns and more, evaluated for all at once."""
        function = ca.Function(name, [self.data, self.unknowns, *more], results)
        return function.map(self.count)

    def gathered(self, x: ca.MX) -> list[ca.MX]:
        """The arguments of mapped functions at unknowns x of the program."""
        own = ca.reshape(x[self.indices.ravel().tolist()], self.indices.shape[1], self.count)
        return [ca.MX(ca.DM(self.table)), own]

    def row_numbers(self, first: int) -> IntArray:
        """The rows (count, rows) of the program that an evaluation fills or adds to."""
        k = int(self.rows.numel())
        own = first + np.arange(k)
        if self.is_summed:
            return np.tile(own, (self.count, 1))
        return own + k * np.arange(self.count)[:, None]


def nonlinear_program(
    pieces: list[Piece],
    size: int,
    solver: str,
    options: dict[str, Any],
    order: tuple[IntArray, IntArray] | None = None,
) -> ca.Function:
    """The solver of a program of `size` unknowns; `order` says which unknowns and rows it sees."""
    symbols, p = ca.MX.sym("x", size), ca.MX.sym("p", 0)
    x = symbols if order is None else symbols[np.argsort(order[0]).tolist()]
    rows, costs = [], []
    for piece in pieces:
        value = piece.mapped("value", [], [ca.densify(piece.rows), ca.densify(piece.cost)])
        found, cost = value(*piece.gathered(x))
        rows.append(ca.sum2(found) if piece.is_summed else ca.vec(found))
        costs.append(ca.sum2(cost))
    f, g = sum(costs[1:], costs[0]), ca.vertcat(*rows)
    if solver != "ipopt":
        g = g if order is None else g[order[1].tolist()]
        program = {"x": symbols, "p": p, "f": f, "g": g}
        return ca.nlpsol("trajectory", solver, program, {"no_nlp_grad": True} | options)
    gradient = _gradient(pieces, x, size)
    jacobian = _jacobian(pieces, x, size)
    own = {
        "grad_f": ca.Function("nlp_grad_f", [x, p], [f, gradient], ["x", "p"], ["f", "grad_f_x"]),
        "jac_g": ca.Function("nlp_jac_g", [x, p], [g, jacobian], ["x", "p"], ["g", "jac_g_x"]),
        "hess_lag": _hessian(pieces, x, p, size, int(g.numel())),
    }
    program = {"x": x, "p": p, "f": f, "g": g}
    return ca.nlpsol("trajectory", solver, program, own | {"no_nlp_grad": True} | options)


def _scatter(places: IntArray, size: int) -> ca.DM:
    """The matrix that adds values into a vector of `size` entries at places (k,)."""
    return ca.DM.triplet(
        places.tolist(), list(range(len(places))), ca.DM.ones(len(places)), size, len(places)
    )


def _gradient(pieces: list[Piece], x: ca.MX, size: int) -> ca.MX:
    total = ca.MX.zeros(size)
    for piece in pieces:
        gradient = ca.gradient(piece.cost, piece.unknowns)
        used = np.array(gradient.sparsity().row(), dtype=int)
        if not len(used):
            continue
        values = piece.mapped("gradient", [], [gradient.nz[:]])(*piece.gathered(x))
        total += _scatter(piece.indices[:, used].ravel(), size) @ ca.vec(values)
    return ca.densify(total)


def _jacobian(pieces: list[Piece], x: ca.MX, size: int) -> ca.MX:
    values, rows, columns, first = [], [], [], 0
    for piece in pieces:
        table = ca.jacobian(piece.rows, piece.unknowns)
        local = np.array(table.sparsity().get_triplet(), dtype=int).reshape(2, -1)
        if local.shape[1]:
            found = piece.mapped("jacobian", [], [table.nz[:]])(*piece.gathered(x))
            values.append(ca.vec(found))
            rows.append(piece.row_numbers(first)[:, local[0]].ravel())
            columns.append(piece.indices[:, local[1]].ravel())
        first += piece.size
    return _assembled(values, rows, columns, (first, size))


def _hessian(pieces: list[Piece], x: ca.MX, p: ca.MX, size: int, count: int) -> ca.Function:
    weight, multipliers = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", count)
    values, rows, columns, first = [], [], [], 0
    for piece in pieces:
        sigma, lam = ca.SX.sym("sigma"), ca.SX.sym("lam", piece.rows.numel())
        table = ca.triu(ca.hessian(sigma * piece.cost + ca.dot(lam, piece.rows), piece.unknowns)[0])
        local = np.array(table.sparsity().get_triplet(), dtype=int).reshape(2, -1)
        if local.shape[1]:
            function = piece.mapped("hessian", [sigma, lam], [table.nz[:]])
            own = piece.row_numbers(first)
            given = ca.reshape(multipliers[own.ravel().tolist()], own.shape[1], piece.count)
            found = function(*piece.gathered(x), ca.repmat(weight, 1, piece.count), given)
            places = np.sort([piece.indices[:, local[k]].ravel() for k in (0, 1)], axis=0)
            values.append(ca.vec(found))
            rows.append(places[0])
            columns.append(places[1])
        first += piece.size
    matrix = _assembled(values, rows, columns, (size, size))
    names = ["x", "p", "lam_f", "lam_g"]
    arguments = [x, p, weight, multipliers]
    return ca.Function("nlp_hess_l", arguments, [matrix], names, ["triu_hess_gamma_x_x"])


def _assembled(
    values: list[ca.MX], rows: list[IntArray], columns: list[IntArray], shape: tuple[int, int]
) -> ca.MX:
    """A sparse matrix from triplets; those of the same place are added."""
    if not values:
        return ca.MX(*shape)
    column_major = np.concatenate(columns) * shape[0] + np.concatenate(rows)
    places, inverse = np.unique(column_major, return_inverse=True)
    sparsity = ca.Sparsity.triplet(
        *shape, (places % shape[0]).tolist(), (places // shape[0]).tolist()
    )
    column = ca.vertcat(*values)
    if len(places) == len(column_major):
        order = np.empty(len(places), dtype=int)
        order[inverse] = np.arange(len(places))
        return ca.MX(sparsity, column[order.tolist()])
    return ca.MX(sparsity, _scatter(inverse.ravel(), len(places)) @ column)
