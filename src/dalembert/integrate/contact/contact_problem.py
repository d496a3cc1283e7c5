"""The contact problem at one instant: which contacts persist, by accelerations or velocities.

A gap g <= 0 that is closed either pushes (mu <= 0) and stays closed, or does not push and opens
(d^2 g / dt^2 <= 0). That is a linear complementarity problem in the Gauss problem of the instant,
and Moreau's plastic impact is the same problem one derivative lower. Both are solved by principal
pivoting with least index (K. G. Murty, Linear Complementarity, Linear and Nonlinear Programming
(1988), section 4.1), which ends for contacts whose rows are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import SingularError
from ...runtime.gauss.constrained_solve import solve
from ...typing import Array

__all__ = ["ContactProblem", "active_set"]

#: What is below this part of its terms is rounding.
NOISE = 1e-12
#: The most pivots of a contact problem.
MOST_PIVOTS = 200


@dataclass(frozen=True)
class Response:
    """Effect of active contacts: their multipliers, all gap rates, the change of the state."""

    multipliers: Mapping[str, float]
    rates: Mapping[str, float]
    change: Any


@dataclass(frozen=True)
class ContactProblem:
    """The Gauss problem of a state with some contacts, of which any may be active.

    Attributes
    ----------
    metric (n, n), force (n,), rows (m, n), right (m,) : the blocks of the accelerations
    velocity_rows (m, n), residual (m,), lift (n_state, n) : those of a jump of the velocities
    places : the row of each contact
    """

    metric: Any
    force: Any
    rows: Any
    right: Any
    velocity_rows: Any
    residual: Any
    lift: Any
    places: Mapping[str, int]

    def accelerations(self, active: Iterable[str]) -> Response:
        """Multipliers and second derivatives of the gaps, with some contacts held."""
        return self._response(active, self.force, self.rows, -self.right, {})

    def velocities(
        self, active: Iterable[str], factors: Mapping[str, float] | None = None
    ) -> Response:
        """Impulses, and gap rates after a jump by 1 + e times the old; e = 0 by default."""
        return self._response(
            active, np.zeros(len(self.force)), self.velocity_rows, self.residual, factors or {}
        )

    def rate(self, name: str) -> float:
        """The rate of a gap before any jump."""
        return float(self.residual[self.places[name]])

    def _response(
        self,
        active: Iterable[str],
        force: Array,
        rows: Array,
        begin: Array,
        factors: Mapping[str, float],
    ) -> Response:
        held = list(active)
        contacts = set(self.places.values())
        kept = [k for k in range(len(begin)) if k not in contacts] + [
            self.places[name] for name in held
        ]
        target = -begin[kept]
        for place, name in enumerate(held, start=len(kept) - len(held)):
            target[place] *= factors.get(name, 1.0)
        solution = solve(self.metric, force, rows[kept], target, gauge=True)
        after = rows @ solution.z + begin
        noise = NOISE * (np.abs(rows) @ np.abs(solution.z) + np.abs(begin))
        after[np.abs(after) <= noise] = 0.0
        largest = float(np.max(np.abs(solution.multipliers), initial=0.0))
        multipliers = np.where(
            np.abs(solution.multipliers) <= NOISE * largest, 0.0, solution.multipliers
        )
        return Response(
            dict(zip(held, multipliers[len(kept) - len(held) :].tolist(), strict=True)),
            {name: float(after[place]) for name, place in self.places.items()},
            self.lift @ solution.z,
        )


def active_set(
    names: Sequence[str], response: Callable[[tuple[str, ...]], Response], fixed: Sequence[str] = ()
) -> tuple[str, ...]:
    """Which of `names`, beside the `fixed`, are active: they push, and the others do not approach.

    Raises
    ------
    SingularError
        Where the pivots do not end.
    """
    active = set(names)
    for _ in range(MOST_PIVOTS):
        found = response((*fixed, *(name for name in names if name in active)))
        wrong = [
            name
            for name in names
            if (found.multipliers if name in active else found.rates)[name] > 0
        ]
        if not wrong:
            return tuple(name for name in names if name in active)
        active ^= {wrong[0]}
    raise SingularError(
        f"The contacts {', '.join(f'`{name}`' for name in names)} have no unique state",
        seen=f"{MOST_PIVOTS} exchanges of open and closed ones",
        remedy="remove contacts that depend on others",
    )
