"""The table of methods: what `simulate`, the command line, the lab, docs and tests read.

A new method is a record in a file of its own and one line here; docs/how-to-add.md shows it.
"""

from __future__ import annotations

from ...errors import DalembertError, ModelError, nearest
from .adaptive.dop853 import DOP853_METHODS
from .adaptive.taylor_programs import TAYLOR_METHODS
from .external.external_methods import EXTERNAL_METHODS
from .groups.isospectral import ISOSPECTRAL_METHODS
from .groups.lie_verlet import LIE_VERLET_METHODS
from .groups.rkmk import RKMK_METHODS
from .implicit.collocation import GAUSS_METHODS
from .implicit.rattle_programs import RATTLE_METHODS
from .implicit.root_steps import ROOT_METHODS
from .method import Method

__all__ = [
    "AUTO",
    "METHODS",
    "external_methods",
    "find_method",
    "fixed_methods",
    "method_names",
    "register",
    "step_controlled_methods",
    "unknown_method",
]

#: The method that is chosen for the task, with a reason.
AUTO = "auto"
#: Every method by its name.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        *DOP853_METHODS,
        *TAYLOR_METHODS,
        *EXTERNAL_METHODS,
        *GAUSS_METHODS,
        *ISOSPECTRAL_METHODS,
        *LIE_VERLET_METHODS,
        *RKMK_METHODS,
        *RATTLE_METHODS,
        *ROOT_METHODS,
    )
}


def register(method: Method) -> None:
    """Add a method to the table, from a package of one's own."""
    if method.name in (*METHODS, AUTO):
        raise ModelError(
            f"There is a method `{method.name}` already",
            seen=method.description,
            remedy="choose another name",
        )
    METHODS[method.name] = method


def find_method(name: str) -> Method:
    """The record of a method."""
    try:
        return METHODS[name]
    except (KeyError, TypeError):
        raise unknown_method(name) from None


def method_names() -> tuple[str, ...]:
    """What `simulate(method=...)` takes."""
    return (*METHODS, AUTO)


def step_controlled_methods() -> tuple[str, ...]:
    """Methods of this library that choose their steps."""
    return tuple(name for name, method in METHODS.items() if method.looks_inside)


def external_methods() -> tuple[str, ...]:
    """Methods of other packages, which are extras."""
    return tuple(name for name, method in METHODS.items() if method.is_external)


def fixed_methods() -> tuple[str, ...]:
    """Methods that are told their step."""
    return tuple(name for name, method in METHODS.items() if method.is_fixed)


def unknown_method(name: object, kind: type[DalembertError] = ModelError) -> DalembertError:
    """The error for a method that does not exist."""
    near = nearest(str(name), method_names())
    return kind(
        f"There is no method `{name}`",
        seen=", ".join(method_names()),
        remedy=f"did you mean {near}" if near else "choose one of these",
    )
