"""The names of the methods of integration: those that choose their steps, and those that are told one."""

from __future__ import annotations

from ..errors import DalembertError, ModelError, nearest

__all__ = ["AUTO", "EXTERNAL", "FIXED_STEP", "METHODS", "STEP_CONTROLLED", "unknown_method"]

STEP_CONTROLLED = ("dop853", "taylor")
#: Methods of other packages, which choose their steps; the packages are extras.
EXTERNAL = ("heyoka", "cvode-bdf", "cvode-adams", "ida-ggl")
#: The method that is chosen for the task, with a reason.
AUTO = "auto"
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
    "lobatto2",
    "lobatto4",
    "lobatto6",
    "variational-midpoint",
    "galerkin4",
    "galerkin6",
    "galerkin-lobatto4",
    "galerkin-lobatto6",
    "dla",
    "dla4",
    "dla6",
    "nonholonomic-leapfrog",
    "nonholonomic-leapfrog4",
    "nonholonomic-leapfrog6",
    "energy2",
    "energy4",
    "energy6",
)
METHODS = (*STEP_CONTROLLED, *EXTERNAL, *FIXED_STEP, AUTO)


def unknown_method(method: object, kind: type[DalembertError] = ModelError) -> DalembertError:
    """The error for a method that does not exist."""
    near = nearest(str(method), METHODS)
    return kind(
        f"There is no method `{method}`",
        seen=", ".join(METHODS),
        remedy=f"did you mean {near}" if near else "choose one of these",
    )
