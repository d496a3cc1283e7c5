"""The solution of a nonlinear program of pieces by IPOPT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...errors import ModelError
from ...typing import Array
from .iterations import IterationWatch
from .problem_assembly import Piece, nonlinear_program

__all__ = ["CONVERGED", "STOPPED", "IpoptSolution", "Multipliers", "RawIterate", "Sides"]

IPOPT: dict[str, Any] = {
    "print_level": 0,
    "sb": "yes",
    "tol": 1e-9,
    "max_iter": 1500,
    "honor_original_bounds": "yes",
}

#: From so many unknowns on MUMPS does not permute rows for large pivots first, which takes a time
#: that grows with the square: 107 000 unknowns take 7 s without it, and more than 100 s with it.
LARGE = 5_000
#: The status of a solve that Ctrl-C ended.
STOPPED = "User_Requested_Stop"
CONVERGED = ("Solve_Succeeded", "Solved_To_Acceptable_Level")


class Multipliers(NamedTuple):
    """Multipliers of the bounds of all unknowns, and of all rows of a program."""

    bounds: Array
    rows: Array


@dataclass(frozen=True, eq=False)
class RawIterate:
    """What IPOPT returned, by unknowns and rows of the program."""

    vector: Array
    cost: float
    multipliers: Multipliers
    iterations: int
    status: str
    violation: float
    worst_row: int

    @property
    def is_stopped(self) -> bool:
        """Whether Ctrl-C ended the solve; this is then its best iterate."""
        return self.status == STOPPED

    @property
    def converged(self) -> bool:
        return self.status in CONVERGED


#: Least and most of the unknowns, and of the rows.
Sides: TypeAlias = "tuple[Array, Array, Array, Array]"


class IpoptSolution:
    """IPOPT on the pieces of a program."""

    def __init__(self, pieces: list[Piece], size: int, options: dict[str, Any]) -> None:
        given = dict(options)
        large = {"mumps_permuting_scaling": 0} if size > LARGE else {}
        merged = {
            "print_time": False,
            "show_eval_warnings": False,
            "ipopt": IPOPT | large | given.pop("ipopt", {}),
        } | given
        self.watch = IterationWatch(size, sum(piece.size for piece in pieces))
        merged["iteration_callback"] = self.watch
        self.solver = nonlinear_program(pieces, size, "ipopt", merged)

    def find(
        self, first: Array, sides: Sides, multipliers: Multipliers | None = None
    ) -> RawIterate:
        """Solve from unknowns, moved within their bounds, and multipliers of bounds and rows."""
        low, high, rows_low, rows_high = sides
        self.watch.begin(rows_low, rows_high)
        given = {"lbx": low, "ubx": high, "lbg": rows_low, "ubg": rows_high}
        if multipliers is not None:
            given |= {"lam_x0": multipliers.bounds, "lam_g0": multipliers.rows}
        try:
            with self.watch.stopped_by_interrupts():
                found = self.solver(x0=np.clip(first, low, high), **given)
            stats = self.solver.stats()
        except KeyboardInterrupt:
            found, stats = None, {}
        if found is None or self.watch.is_stopped:
            found, stats = self._best(), {"return_status": STOPPED, "iter_count": self.watch.count}
        vector, rows, lam, lam_x = (
            np.asarray(found[k], dtype=float).ravel() for k in ("x", "g", "lam_g", "lam_x")
        )
        missed = np.maximum(rows_low - rows, rows - rows_high)
        return RawIterate(
            vector, float(found["f"]), Multipliers(lam_x, lam), int(stats.get("iter_count", 0)),
            str(stats["return_status"]), float(np.max(missed, initial=0.0)),
            int(np.argmax(missed)) if missed.size else 0,
        )  # fmt: skip

    def _best(self) -> dict[str, Any]:
        """The best iterate of a solve that was interrupted, as CasADi returns a solution."""
        vector = self.watch.best
        if vector is None:
            raise KeyboardInterrupt
        values = self.solver.oracle()(x=vector)
        none = {"lam_g": 0 * values["g"], "lam_x": 0 * vector}
        return {"x": vector, "f": values["f"], "g": values["g"], **none}

    def check_finite(self, first: Array, sides: Sides, row_name: Callable[[int], str]) -> None:
        """Raise for a cost or a row that is not a number at some unknowns."""
        found = self.solver.oracle()(x=np.clip(first, *sides[:2]))
        rows = np.asarray(found["g"], dtype=float).ravel()
        bad = np.flatnonzero(~np.isfinite(rows))
        if bad.size or not np.isfinite(float(found["f"])):
            raise ModelError(
                "The guess leads to a value that is no finite number",
                f"in {row_name(int(bad[0]))}" if bad.size else "the cost",
                "give a guess, or bounds, where every expression is defined",
            )
