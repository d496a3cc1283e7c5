"""Forces of contacts that depend on each other: a split inside the cones, and rows that carry it.

Where directions of contacts depend on each other, as a table and a wall that grips beside it, the
motion is determined and the forces are not. One place chooses them: the split of least norm of
those inside the cones (`ContactCones`). A run then holds an independent set of rows, whose forces
are inside the cones with the most room (`StickRows` of `resting`); directions that others hold
already carry nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ...runtime.gauss.constrained_solve import rank
from ...typing import Array
from .coulomb_states import NOISE, CoulombContact

__all__ = ["ContactCones", "independent_rank", "is_independent"]

#: A row is independent of others where this part of it is outside their span.
INDEPENDENT = 1e-9


def independent_rank(matrix: Array, rows: Sequence[int]) -> int:
    """How many of some rows of contact space, with responses `matrix` (m, m), are independent."""
    if not rows:
        return 0
    scale = np.sqrt(np.diag(matrix)[list(rows)])
    scale = np.where(scale > 0, scale, 1.0)
    part = matrix[np.ix_(rows, rows)] / np.outer(scale, scale)
    return int(rank(part, INDEPENDENT).rank)


def is_independent(matrix: Array, rows: Sequence[int]) -> bool:
    """Whether rows of contact space are independent."""
    return independent_rank(matrix, rows) == len(rows)


class ContactCones:
    """The cones of some contacts: P_n >= 0 and |P_t| <= mu P_n, or |P_t| <= mu load.

    Forces are compared as P_i sqrt(W_ii), so that neither units nor torques beside forces matter.

    Parameters
    ----------
    matrix : array (m, m)
        W, the responses.
    contacts : those that are closed, and friction limits
    sticking : names of those whose friction is free within the cone

    Examples
    --------
    >>> wall = CoulombContact("wall", 1, (2,), kinetic=0.1, static=0.1)
    >>> cones = ContactCones(np.eye(3), [CoulombContact("table", 0), wall], {"wall"})
    >>> table_and_wall = np.array([[1.0, 0.0, -1.0]]).T
    >>> cones.inside(np.array([50.0, 30.0, 50.0]), table_and_wall).round(6).tolist()
    [97.0, 30.0, 3.0]
    """

    def __init__(
        self, matrix: Array, contacts: Sequence[CoulombContact], sticking: Collection[str]
    ) -> None:
        width = np.sqrt(np.diag(matrix))
        self.width = np.where(width > 0, width, 1.0)
        self.cones: list[tuple[CoulombContact, tuple[int, ...]]] = []
        for c in contacts:
            if c.tangents:
                self.width[list(c.tangents)] = self.width[list(c.tangents)].max()
            if c.kind != "held":
                self.cones.append((c, c.tangents if c.name in sticking else ()))

    def _slack(self, scaled: Any) -> Any:
        """What is left to the boundaries of the cones, of forces that are scaled."""
        found = []
        for c, tangents in self.cones:
            across = self.width[c.tangents[0]] if c.tangents else 1.0
            load = c.load(scaled / self.width)
            if c.kind == "contact":
                found.append(scaled[c.normal] - c.base * self.width[c.normal])
            if tangents:
                rub = float(np.linalg.norm(scaled[list(tangents)]))
                found.append(c.static * load * across - rub)
        return np.array(found)

    def room(self, forces: Array) -> float:
        """How far forces (m,) are inside of all cones, by the largest; negative outside."""
        scaled = forces * self.width
        size = float(np.abs(scaled).max(initial=0.0))
        return float(self._slack(scaled).min(initial=np.inf)) / size if size > 0 else 0.0

    def inside(self, forces: Array, null: Array) -> Any:
        """The least of the forces in forces + null @ c, (m,), that are inside the cones.

        Where none is found, `forces` or what is outside by less.
        """
        if not null.size or self.room(forces) >= -NOISE:
            return forces
        from scipy.optimize import minimize

        size = float(np.abs(forces * self.width).max())
        start = forces * self.width / size
        basis = np.linalg.qr(null * self.width[:, None])[0]
        answer = minimize(
            lambda c: 0.5 * float(np.sum((start + basis @ c) ** 2)),
            np.zeros(basis.shape[1]),
            jac=lambda c: basis.T @ (start + basis @ c),
            constraints=[
                {"type": "ineq", "fun": lambda c: self._slack(size * (start + basis @ c)) / size}
            ],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 200},
        )
        moved = size * (start + basis @ answer.x) / self.width
        return moved if self.room(moved) > self.room(forces) else forces
