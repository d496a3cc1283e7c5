"""What the integrators of other packages cannot follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....codegen.backends.heyoka_source import heyoka_module, heyoka_system
from ....errors import FormError, ModelError
from ....formulations.equations import Equations
from ....runtime.kernel import kernel_of
from ..hypotheses import refuse_decisions
from .sundials import sundials_module

__all__ = ["FINEST", "check_external"]

#: The tolerance of a run that is to be as good as rounding allows.
FINEST = 1e-16


def check_external(equations: Equations, method: str, events: Any, inputs: Mapping[Any, Any] | None, atol: Any = None) -> None:
    """Refuse what a method of another package cannot follow, and say where the package is missing."""
    refuse_decisions(equations, method, events)
    called = [getattr(key, "name", str(key)) for key, value in (inputs or {}).items() if callable(value)]
    if called:
        raise FormError(
            f"The method {method} needs inputs that are expressions",
            seen=f"the function for `{called[0]}`",
            remedy="give the input as an expression of time and state, or use method dop853",
        )
    if method == "heyoka":
        _check_heyoka(equations, atol)
        return
    sundials_module("ida" if method == "ida-ggl" else "cvode")
    if method == "ida-ggl" and equations.form != "lagrange":
        raise FormError(
            "The method ida-ggl takes its steps in positions, velocities and multipliers",
            seen=f'the form "{equations.form}"',
            remedy='use form="lagrange", or method cvode-bdf',
        )


def _check_heyoka(equations: Equations, atol: Any) -> None:
    heyoka_module()
    if atol is not None:
        raise ModelError("The method heyoka has one tolerance", seen=f"atol = {atol}", remedy="leave atol out and choose rtol")
    kernel = kernel_of(equations, equations.system.parameters)
    if "_heyoka_system" not in kernel.__dict__:
        kernel.__dict__["_heyoka_system"] = heyoka_system(kernel)
