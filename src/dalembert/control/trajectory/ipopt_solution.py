"""The solution of a nonlinear program of pieces by IPOPT, or by another solver of CasADi's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np

from ...errors import ModelError, nearest
from ...typing import Array, IntArray
from .iterations import IterationWatch
from .pieces import Layout
from .problem_assembly import Piece, nonlinear_program
from .stage_order import stage_order

__all__ = [
    "CONVERGED",
    "STOPPED",
    "IpoptSolution",
    "Multipliers",
    "RawIterate",
    "Sides",
    "Solver",
    "find_solver",
]

IPOPT: dict[str, Any] = {
    "print_level": 0,
    "sb": "yes",
    "max_iter": 1500,
    "honor_original_bounds": "yes",
}

#: From so many unknowns on MUMPS does not permute rows for large pivots first, which takes a time
#: that grows with the square: 107 000 unknowns take 7 s without it, and more than 100 s with it.
LARGE = 5_000
#: The status of a solve that Ctrl-C ended.
STOPPED = "User_Requested_Stop"
CONVERGED = ("Solve_Succeeded", "Solved_To_Acceptable_Level")


#: Solvers that take the program in the order of its stages (`stage_order`).
STAGED = ("fatrop",)
#: Other solvers of CasADi's interface that take these programs, with what they need to be told.
OTHERS: dict[str, dict[str, Any]] = {
    "sqpmethod": {
        "qpsol": "qrqp",
        "qpsol_options": {"print_iter": False, "print_header": False, "error_on_fail": False},
        "print_header": False,
        "print_iteration": False,
        "print_status": False,
        "error_on_fail": False,
    },
    "fatrop": {"fatrop": {"print_level": 0, "max_iter": 1500}, "no_nlp_grad": False},
}
#: What they call the tolerances of their optimality conditions.
TOLERANCES = {"sqpmethod": ("tol_pr", "tol_du"), "fatrop": ("fatrop.tol",)}


class Solver(NamedTuple):
    """A solver by its name in CasADi, and the tolerance of its optimality conditions."""

    name: str = "ipopt"
    tolerance: float = 1e-9


def find_solver(name: str, tolerance: float) -> Solver:
    """The solver of a name for a tolerance of the trajectory.

    IPOPT leaves every active bound at a distance, which costs its barrier parameter, a tenth of
    the tolerance, for each of them: thousands of bounds would hide a loss of 1e-8.
    """
    known = ["ipopt", *OTHERS]
    if name not in known:
        near = nearest(str(name), known)
        raise ModelError(
            f"There is no solver `{name}` for trajectories", ", ".join(known),
            f"did you mean {near}" if near else "choose one of these",
        )  # fmt: skip
    if not ca.has_nlpsol(name):
        raise ModelError(
            f"This CasADi has no solver `{name}`",
            ca.CasadiMeta.version(),
            'leave out solver, or pass "ipopt"',
        )
    return Solver(name, min(1e-9, max(1e-3 * tolerance, 1e-12)))


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
    """IPOPT, or another solver, on the pieces of a program."""

    def __init__(
        self, pieces: list[Piece], size: int, options: dict[str, Any], solver: Solver | None = None,
        layout: Layout | None = None,
    ) -> None:  # fmt: skip
        name, tolerance = solver or Solver()
        given = dict(options)
        large = {"mumps_permuting_scaling": 0} if size > LARGE else {}
        own = {"ipopt": IPOPT | {"tol": tolerance} | large | given.pop("ipopt", {})}
        if name != "ipopt":
            own = OTHERS[name] | dict.fromkeys(TOLERANCES[name], tolerance)
        self.order = stage_order(layout, pieces) if name in STAGED and layout is not None else None
        if self.order is not None:
            own |= self.order.structure
        merged = {"print_time": False, "show_eval_warnings": False} | own | given
        self.watch = IterationWatch(size, sum(piece.size for piece in pieces))
        merged["iteration_callback"] = self.watch
        places = None if self.order is None else (self.order.unknowns, self.order.rows)
        self.solver = nonlinear_program(pieces, size, name, merged, places)

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """Which unknown and which row the solver sees at each place."""
        if self.order is not None:
            return self.order.unknowns, self.order.rows
        oracle = self.solver.oracle()
        return np.arange(oracle.numel_in("x")), np.arange(oracle.numel_out("g"))

    def find(
        self, first: Array, sides: Sides, multipliers: Multipliers | None = None
    ) -> RawIterate:
        """Solve from unknowns, moved within their bounds, and multipliers of bounds and rows."""
        low, high, rows_low, rows_high = sides
        unknowns, rows_seen = self._order
        given = {
            "x0": np.clip(first, low, high)[unknowns], "lbx": low[unknowns], "ubx": high[unknowns],
            "lbg": rows_low[rows_seen], "ubg": rows_high[rows_seen],
        }  # fmt: skip
        self.watch.begin(given["lbg"], given["ubg"])
        if multipliers is not None:
            given |= {"lam_x0": multipliers.bounds[unknowns], "lam_g0": multipliers.rows[rows_seen]}
        try:
            with self.watch.stopped_by_interrupts():
                found = self.solver(**given)
            stats = self.solver.stats()
        except KeyboardInterrupt:
            found, stats = None, {}
        if found is None or self.watch.is_stopped:
            found, stats = self._best(), {"return_status": STOPPED, "iter_count": self.watch.count}
        vector, rows, lam, lam_x = (
            np.asarray(found[k], dtype=float).ravel()[np.argsort(order)]
            for k, order in (
                ("x", unknowns),
                ("g", rows_seen),
                ("lam_g", rows_seen),
                ("lam_x", unknowns),
            )
        )
        missed = np.maximum(rows_low - rows, rows - rows_high)
        return RawIterate(
            vector, float(found["f"]), Multipliers(lam_x, lam), int(stats.get("iter_count", 0)),
            _status(stats), float(np.max(missed, initial=0.0)),
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
        unknowns, rows_seen = self._order
        found = self.solver.oracle()(x=np.clip(first, *sides[:2])[unknowns])
        rows = np.asarray(found["g"], dtype=float).ravel()[np.argsort(rows_seen)]
        bad = np.flatnonzero(~np.isfinite(rows))
        if bad.size or not np.isfinite(float(found["f"])):
            raise ModelError(
                "The guess leads to a value that is no finite number",
                f"in {row_name(int(bad[0]))}" if bad.size else "the cost",
                "give a guess, or bounds, where every expression is defined",
            )


def _status(stats: dict[str, Any]) -> str:
    """What a solver says at its end, in IPOPT's words; fatrop returns a number."""
    said = stats["return_status"]
    return str(said) if isinstance(said, str) else CONVERGED[0] if stats["success"] else f"{said}"
