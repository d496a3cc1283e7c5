r"""How steps shall vary along a motion: proportional to a function s of the state, by a control
that is reversible.

`reversible_steps` has the method. It needs s and R = -d/dt log s, which are made here, by the
equations of motion themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ....codegen.passes.unrolled import unrolled_solve
from ....codegen.program import straight_line
from ....errors import FormError, ModelError
from ....formulations.equations import Equations
from ....model.flow_system import Flow
from ....model.io.expressions import format, parse
from ....model.symbols import t
from ....runtime.kernel import Kernel, kernel_of
from ..method import FixedStep, Method

if TYPE_CHECKING:
    from ....model.system import System
    from ....typing import Array

__all__ = [
    "ReversibleSteps",
    "check_reversible",
    "density_program",
    "read_adapt",
    "start_density",
    "written_size",
]

ARCLENGTH = "arclength"


@dataclass(frozen=True)
class ReversibleSteps:
    r"""Steps of about `step` s(q, v, t) with a reversible control, for `simulate(..., adapt=...)`.

    Parameters
    ----------
    size : expression, or "arclength"
        s, positive. With "arclength" s = (v^T M v + v_dot^T M v_dot)^(-1/2), the reciprocal of the
        speed in (q, v); for a flow 1/|y_dot|.
    density : float or None
        The density 1/h in units of 1/step at the start; 1/s by default. The one that a run ended
        with, ``motion.statistics["density"]``, continues it, or goes back on it.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> r = (x**2 + y**2)**0.5
    >>> planet = da.System([x, y], kinetic=(x.dot**2 + y.dot**2)/2, potential=-1/r)
    >>> start = {x: 0.1, y.dot: 19**0.5}
    >>> motion = da.simulate(
    ...     planet, start, (0, 100), method="rattle2", step=0.01, adapt=ReversibleSteps(r**1.5)
    ... )
    >>> bool(abs(motion.energy[-1] - motion.energy[0]) < 1e-3)
    True
    """

    size: sympy.Expr | str
    density: float | None = None

    def __post_init__(self) -> None:
        if self.density is not None and not (math.isfinite(self.density) and self.density > 0):
            raise ModelError(
                "The density of steps must be positive", seen=self.density, remedy="leave it out"
            )
        if not isinstance(self.size, sympy.Expr) and self.size != ARCLENGTH:
            raise ModelError(
                "Steps vary with an expression",
                seen=str(self.size)[:60],
                remedy=f'pass one of the state, or "{ARCLENGTH}"',
            )


def read_adapt(
    adapt: sympy.Expr | str | ReversibleSteps | None, system: System | Flow
) -> ReversibleSteps | None:
    """The argument `adapt` of `simulate`; text is read as in a model file."""
    if adapt is None or isinstance(adapt, ReversibleSteps):
        return adapt
    if isinstance(adapt, str) and adapt != ARCLENGTH:
        adapt = parse(adapt, {symbol.name: symbol for symbol in _symbols(system)})
    return ReversibleSteps(adapt)


def written_size(steps: ReversibleSteps) -> str:
    """s as the text that `read_adapt` reads."""
    return steps.size if isinstance(steps.size, str) else format(steps.size)


def _symbols(system: System | Flow) -> set[Any]:
    return {*system.parameters, *system.coordinates, *system.velocities, *system.momenta, t}


def check_reversible(equations: Equations, method: Method, steps: ReversibleSteps) -> None:
    """Refuse what the control cannot do."""
    system, step = equations.system, method.step
    kernel = kernel_of(equations, system.parameters)
    assert isinstance(step, FixedStep)
    is_projected = not step.ends_on_constraints and bool(kernel.n_velocities)
    is_rechosen = not step.ends_on_constraints and equations.rechoose is not None
    if not step.allows_adapt or is_projected or is_rechosen:
        raise FormError(
            f"The method {method.name} has no symmetric step here, which a reversible control of"
            " steps needs",
            seen=f'the form "{equations.form}"' if step.allows_adapt else method.name,
            remedy=(
                "use gauss4 without constraints, rattle4, lobatto4 or galerkin4, or leave adapt out"
            ),
        )
    if kernel.free_inputs or kernel.solved is None:
        raise FormError(
            "The rate of the step density cannot be written down",
            seen=(
                "inputs given as functions"
                if kernel.free_inputs
                else "a system too large for straight-line code"
            ),
            remedy="leave adapt out, or use method dop853",
        )
    if isinstance(steps.size, str):
        if not isinstance(system, Flow) and equations.form not in ("lagrange", "hamilton"):
            raise FormError(
                "The length of arc is known in positions and velocities or momenta",
                seen=f'the form "{equations.form}"',
                remedy='use form="lagrange", or give the size of steps as an expression',
            )
        return
    unknown = sorted(symbol.name for symbol in steps.size.free_symbols - _symbols(system))
    if unknown:
        raise ModelError(
            f"The size of steps names `{unknown[0]}`, which is no symbol of the system",
            seen=str(steps.size)[:60],
            remedy="write it in coordinates, velocities, parameters and time",
        )


def density_program(kernel: Kernel, steps: ReversibleSteps) -> int:
    """The address of the program (t, y) -> s, R; compiled once for each s."""

    def make() -> int:
        s, rates = _size_and_rates(kernel, steps.size)
        time, y, *_ = inputs = kernel._inputs()
        rate = ca.jtimes(ca.log(s), y, rates) + ca.jacobian(ca.log(s), time)
        return kernel.load_program(straight_line("step_density", inputs, [s, -rate]))

    return kernel.cache.get(("density", steps.size), make)


def start_density(
    kernel: Kernel, steps: ReversibleSteps, time: float, y: Array, parameters: Array
) -> float:
    """rho at the start."""
    if steps.density is not None:
        return float(steps.density)
    function = ca.Function("size", kernel._inputs(), [_size_and_rates(kernel, steps.size)[0]])
    size = float(function(time, y, parameters, np.zeros(0), np.zeros(0)))
    if not (math.isfinite(size) and size > 0):
        raise ModelError(
            "The size of steps must be positive",
            seen=f"{size:g} at the start",
            remedy="change the expression",
        )
    return 1.0 / size


def _size_and_rates(kernel: Kernel, size: sympy.Expr | str) -> tuple[Any, Any]:
    """s and y_dot as functions of the state."""
    solved, graph, algebra = kernel.solved, kernel.graph, kernel.algebra
    assert solved is not None
    found = ca.vertcat(solved.z, solved.multipliers)
    rates = algebra.substitute(graph.rates, kernel._unknown_symbols, found)
    if not isinstance(size, str):
        return kernel.lower([size]), rates
    if isinstance(kernel.equations.system, Flow):
        return 1 / ca.sqrt(ca.sumsqr(rates)), rates
    accelerations = algebra.substitute(graph.accelerations, kernel._unknown_symbols, found)
    return (
        1 / ca.sqrt(_energy_of(kernel, graph.velocities) + _energy_of(kernel, accelerations)),
        rates,
    )


def _energy_of(kernel: Kernel, column: Any) -> Any:
    """x^T M x; in momenta M is the inverse of the metric."""
    metric, n = kernel.graph.metric, column.numel()
    if kernel.equations.form == "lagrange":
        return ca.dot(column, metric @ column)
    return ca.dot(column, unrolled_solve(metric, column, ca.SX(0, n), ca.SX(0, 1)).z)
