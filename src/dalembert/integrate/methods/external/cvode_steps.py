r"""Steps by CVODE of SUNDIALS: multistep formulas of variable order, on the rates of a kernel.

    BDF     sum_j alpha_j y_(n-j) = h beta f(t_n, y_n)      orders 1 to 5, for stiff equations
    Adams   orders 1 to 12, for smooth ones whose rates are dear

(A. C. Hindmarsh et al.: SUNDIALS, ACM Transactions on Mathematical Software 31 (2005) 363-396,
section 2.1.) The equations of a step are solved by Newton's method with the exact derivative of the
rates, the whole Gauss problem included.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ....runtime.rates_jacobian import rates_jacobian
from ...tolerances import LOCAL_SHARE
from .native_program import NativeProgram
from .sundials import SundialsSteps, sundials_module

if TYPE_CHECKING:
    from ....runtime.context import Context
    from ....typing import Array
    from .external_task import ExternalTask

__all__ = ["CvodeSteps"]

#: A solver restarts if projection moves its state by so many tolerances of a step.
DRIFT = 1.0 / LOCAL_SHARE


class CvodeSteps(SundialsSteps):
    """See `run.Steps`."""

    def __init__(self, task: ExternalTask, context: Context) -> None:
        super().__init__(task, context)
        self._kind = sundials_module("cvode").CVODE
        kernel = context.kernel
        self._jacobian = rates_jacobian(kernel)
        program = self._jacobian.entries or self._jacobian.product
        # Where the rates are too long to be written out, CVODE takes differences.
        self._derivative: Any = program and NativeProgram(kernel, program, task.parameters)
        self._out = np.zeros(kernel.n_state + 1)
        self._at = np.zeros(kernel.n_state)

    def begin(self, t: float, y: Array) -> None:
        """Stand at a state, with formulas of first order."""
        self.t, self.y = t, y
        options = self._options() | {
            "method": "BDF" if self.task.method == "cvode-bdf" else "Adams",
            "atol": self.atol,
        }
        if self._derivative is not None:
            options["jacfn"] = self._fill_derivative
        self._solver = self._made(self._kind, self._fill_rates, (t, y.copy()), options)

    def evaluate_on_constraints(self, y: Array) -> None:
        """Keep the past unless the constraints moved the state by about the tolerance."""
        moved = np.abs(y - self._unprojected) / (self.atol + self.rtol * np.abs(y))
        if np.sqrt(np.mean(moved**2)) > DRIFT:
            self.begin(self.t, y)

    def step(self, end: float) -> bool:
        """One step towards the end."""
        found = super().step(end)
        self._unprojected = self.y.copy()
        return found

    def _fill_rates(self, t: float, y: Array, rates: Array) -> None:
        self.evaluations += 1
        self._at[:] = y
        status = self.context.evaluate(t, self._at, self._out)
        rates[:] = np.nan if status in (SINGULAR, CONTRADICTORY) else self._out[:-1]

    def _fill_derivative(self, t: float, y: Array, rates: Array, derivative: Array) -> None:
        found, first = self._jacobian, self._jacobian.colour_first
        derivative[:, :] = 0.0
        if found.entries is not None:
            derivative[found.rows, found.columns] = self._derivative(t, y)
            return
        for begin, end in pairwise(first):
            rows, columns = found.rows[begin:end], found.columns[begin:end]
            seed = np.zeros(len(self._at))
            seed[columns] = 1.0
            derivative[rows, columns] = self._derivative(t, y, seed)[rows]
