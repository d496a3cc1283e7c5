r"""The order of unknowns and rows that fatrop asks for: stage after stage, with explicit steps.

    x_0, u_0, x_1, u_1, ..., x_N        x_(k+1) = F_k(x_k, u_k),      r_k(x_k, u_k) within bounds

A scheme of Gauss has this form: the states at the stages of an interval, its z, mu and inputs are
its u_k. A row or a part of the cost that sees two stages, such as x_N = x_0, has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ...errors import ModelError
from ...typing import IntArray
from .pieces import Layout
from .problem_assembly import Piece

__all__ = ["StageOrder", "stage_order"]

REMEDY = 'leave out solver, or pass "ipopt"'


@dataclass(frozen=True, eq=False)
class StageOrder:
    """Which unknown and which row of the program stands at each place, and what fatrop is told."""

    unknowns: IntArray
    rows: IntArray
    structure: dict[str, Any]


def stage_order(layout: Layout, pieces: list[Piece]) -> StageOrder:
    """The order of stages of a program; raise where it has none."""
    if layout.scheme.starts_at_node or layout.scheme.ends_at_node:
        raise ModelError(
            "fatrop takes explicit steps from node to node", layout.scheme.name,
            'pass transcription="gauss6", or another solver',
        )  # fmt: skip
    if layout.loose or layout.free or layout.totals:
        kinds = ((layout.loose, "times"), (layout.free, "parameters"), (layout.totals, "integrals"))
        raise ModelError(
            "fatrop takes no unknowns that all stages share",
            ", ".join(word for found, word in kinds if found), REMEDY,
        )  # fmt: skip
    N, n = layout.count, layout.n
    nodes = layout.block(0).reshape(N + 1, n)
    between = np.concatenate(
        [
            layout.block(1).reshape(N, -1), layout.block(2).reshape(N, -1),
            layout.inputs_of(layout.shared).reshape(N, -1),
        ],
        axis=1,
    )  # fmt: skip
    stage = np.empty(layout.size, dtype=int)
    stage[nodes], stage[between] = np.arange(N + 1)[:, None], np.arange(N)[:, None]
    table = np.arange(pieces[0].size).reshape(N, -1)
    steps = np.arange(n * layout.own, n * (layout.own + 1))
    paths = [list(row) for row in np.delete(table, steps, axis=1)] + [[]]
    first = pieces[0].size
    for piece in pieces[1:]:
        names = [name for name, _ in layout.statement.conditions] if piece is pieces[-1] else []
        for row, own in _stages_of_rows(piece, stage, names):
            paths[own].append(first + row)
        first += piece.size
    unknowns = [*np.concatenate([nodes[:-1], between], axis=1).ravel(), *nodes[-1]]
    rows = [row for k in range(N) for row in (*table[k, steps], *paths[k])] + paths[N]
    structure = {
        "structure_detection": "manual", "N": N, "nx": [n] * (N + 1),
        "nu": [between.shape[1]] * N + [0], "ng": [len(own) for own in paths],
    }  # fmt: skip
    return StageOrder(np.array(unknowns, dtype=int), np.array(rows, dtype=int), structure)


def _stages_of_rows(piece: Piece, stage: IntArray, names: list[str]) -> Iterator[tuple[int, int]]:
    """The rows of a piece with the one stage that each sees; the first rows have names."""
    sees = _pairs(ca.jacobian(piece.rows, piece.unknowns))
    curved = _pairs(ca.hessian(piece.cost, piece.unknowns)[0])
    for k, indices in enumerate(piece.indices):
        own = stage[indices]
        for row in range(int(piece.rows.numel())):
            found = np.unique(own[sees[1][sees[0] == row]])
            if len(found) > 1:
                raise ModelError(
                    "fatrop takes no condition that joins two instants",
                    names[row] if row < len(names) else str(piece.rows[row])[:60], REMEDY,
                )  # fmt: skip
            yield k * int(piece.rows.numel()) + row, int(found[0]) if len(found) else 0
        if np.any(own[curved[0]] != own[curved[1]]):
            raise ModelError(
                "fatrop takes no cost that joins two instants", str(piece.cost)[:60], REMEDY
            )


def _pairs(table: ca.SX) -> IntArray:
    """The rows and the columns (2, k) of entries that are not structurally zero."""
    return np.array(table.sparsity().get_triplet(), dtype=int).reshape(2, -1)
