"""What IPOPT tells after each iteration: progress, interruption, the best iterate so far."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import casadi as ca
import numpy as np

from ...typing import Array

__all__ = ["IterationWatch"]

#: An iterate is feasible where no row is violated by more than this.
FEASIBLE = 1e-6
#: Seconds between two reports of progress.
BETWEEN = 0.1


class IterationWatch(ca.Callback):  # type: ignore[misc]
    """Keeps the best iterate, and stops the solver after Ctrl-C.

    Attributes
    ----------
    best : array or None
        Of the iterates without violations the cheapest; where all violate something, the one that
        does so least.
    is_stopped : bool
        Whether Ctrl-C came.
    tell : callable or None
        Called now and then with the number of iterations.
    """

    def __init__(self, size: int, rows: int) -> None:
        ca.Callback.__init__(self)
        self._sizes = {"x": size, "lam_x": size, "g": rows, "lam_g": rows, "f": 1}
        self.tell: Callable[[int], None] | None = None
        self.begin(np.zeros(rows), np.zeros(rows))
        self.construct("iterations", {})

    def begin(self, low: Array, high: Array) -> None:
        """Begin with another solve, whose rows have these bounds."""
        self._low, self._high = low, high
        self.best: Array | None = None
        self.is_stopped, self.count = False, 0
        self._merit, self._told = (np.inf, np.inf), time.perf_counter()

    @contextmanager
    def stopped_by_interrupts(self) -> Iterator[None]:
        """Let Ctrl-C stop the solver after its iteration; a second one interrupts at once.

        CasADi takes Python's exception inside IPOPT for a failed evaluation, so the signal only
        leaves a mark. Other threads than the main one get no signals.
        """
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return

        def mark(number: int, frame: FrameType | None) -> None:
            if self.is_stopped:
                before(number, frame)
            self.is_stopped = True

        signal.signal(signal.SIGINT, mark)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def get_n_in(self) -> int:
        """The number of results that IPOPT passes."""
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        """One: whether to stop."""
        return 1

    def get_name_in(self, i: int) -> str:
        """The names that CasADi gives the results."""
        return str(ca.nlpsol_out(i))

    def get_name_out(self, i: int) -> str:
        """The name that CasADi expects."""
        return "ret"

    def get_sparsity_in(self, i: int) -> Any:
        """Columns; parameters have none."""
        return ca.Sparsity.dense(self._sizes.get(ca.nlpsol_out(i), 0), 1)

    def eval(self, results: Sequence[Any]) -> list[int]:
        """Look at an iterate; 1 stops the solver."""
        try:
            named = dict(zip(ca.nlpsol_out(), results, strict=True))
            rows = np.asarray(named["g"], dtype=float).ravel()
            missed = float(np.max(np.maximum(self._low - rows, rows - self._high), initial=0.0))
            merit = (0.0 if missed <= FEASIBLE else missed, float(named["f"]))
            if merit < self._merit:
                self._merit, self.best = merit, np.asarray(named["x"], dtype=float).ravel()
            self.count += 1
            if self.tell is not None and time.perf_counter() - self._told > BETWEEN:
                self._told = time.perf_counter()
                self.tell(self.count)
        except KeyboardInterrupt:
            self.is_stopped = True
        return [int(self.is_stopped)]
