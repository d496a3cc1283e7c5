"""The methods of other packages: what they cannot follow, and where their steps are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ....codegen.backends.heyoka_source import heyoka_module, heyoka_system
from ....errors import FormError
from ....formulations.equations import Equations
from ....runtime.context import Context
from ....runtime.kernel import kernel_of
from ..method import ExternalStep, Method
from .sundials import sundials_module

if TYPE_CHECKING:
    from .external_run import Steps
    from .external_task import ExternalTask

__all__ = ["METHODS"]

#: The tolerance of a run that is to be as good as rounding allows.
FINEST = 1e-16


def _check_heyoka(equations: Equations, method: str) -> None:
    heyoka_module()
    kernel = kernel_of(equations, equations.system.parameters)
    kernel.cache.get("heyoka", lambda: heyoka_system(kernel))


def _check_sundials(equations: Equations, method: str, part: str) -> None:
    sundials_module(part)
    if part == "ida" and equations.form != "lagrange":
        raise FormError(
            f"The method {method} takes its steps in positions, velocities and multipliers",
            seen=f'the form "{equations.form}"',
            remedy='use form="lagrange", or method cvode-bdf',
        )


# The modules below are read when a run begins: the packages behind them are extras.


def _heyoka(task: ExternalTask, context: Context) -> Steps:
    from .heyoka_steps import HeyokaSteps

    return HeyokaSteps(task, context)


def _ida(task: ExternalTask, context: Context) -> Steps:
    from .ida_steps import IdaSteps

    return IdaSteps(task, context)


def _cvode(task: ExternalTask, context: Context) -> Steps:
    from .cvode_steps import CvodeSteps

    return CvodeSteps(task, context)


def _sundials(name: str, description: str, start: Callable[[Any, Context], Steps]) -> Method:
    part = name.partition("-")[0]
    check = partial(_check_sundials, part=part)
    form = "lagrange" if part == "ida" else None
    step, is_stiff = ExternalStep("sksundae", start), name != "cvode-adams"
    return Method(name, description, None, step, form, check, is_stiff=is_stiff)


METHODS = (
    Method(
        "heyoka",
        "Taylor expansions by heyoka, to rounding",
        None,
        ExternalStep("heyoka", _heyoka),
        check=_check_heyoka,
        least_rtol=FINEST,
        rtol=FINEST,
        has_atol=False,
    ),
    _sundials("cvode-bdf", "BDF of orders 1 to 5 by CVODE, for stiff equations", _cvode),
    _sundials("cvode-adams", "Adams formulas of orders 1 to 12 by CVODE", _cvode),
    _sundials("ida-ggl", "BDF by IDA on the stabilised index-2 formulation", _ida),
)
