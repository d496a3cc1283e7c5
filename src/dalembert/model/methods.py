"""The names of the methods of integration: those that choose their steps, and those that are told one."""

from __future__ import annotations

from ..errors import DalembertError, ModelError, nearest

__all__ = ["FIXED_STEP", "METHODS", "STEP_CONTROLLED", "unknown_method"]

STEP_CONTROLLED = ("dop853",)
FIXED_STEP = (
    "gauss2",
    "gauss4",
    "gauss6",
    "isospectral2",
    "isospectral4",
    "isospectral6",
    "lie-verlet",
    "rkmk4",
    "rattle2",
    "rattle4",
    "rattle6",
    "rattle8",
)
METHODS = (*STEP_CONTROLLED, *FIXED_STEP)


def unknown_method(method: object, kind: type[DalembertError] = ModelError) -> DalembertError:
    """The error for a method that does not exist."""
    near = nearest(str(method), METHODS)
    return kind(
        f"There is no method `{method}`",
        seen=", ".join(METHODS),
        remedy=f"did you mean {near}" if near else "choose one of these",
    )
