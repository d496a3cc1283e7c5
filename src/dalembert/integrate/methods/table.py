"""The table of methods: what `simulate`, the command line, the lab, docs and tests read.

A new method is a record in a file of its own and one line here; docs/how-to-add.md shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module

from ...errors import DalembertError, ModelError, nearest
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
#: The methods of each module, which has their records in `METHODS`.
_MODULES = {
    "adaptive.dop853": "dop853",
    "adaptive.taylor_programs": "taylor",
    "fixed.rk4": "rk4",
    "contact.moreau": "moreau",
    "external.external_methods": "heyoka cvode-bdf cvode-adams ida-ggl",
    "implicit.radau": "radau5 radau9 radau13",
    "implicit.collocation": "gauss2 gauss4 gauss6",
    "groups.isospectral": "isospectral2 isospectral4 isospectral6",
    "groups.lie_verlet": "lie-verlet",
    "groups.rkmk": "rkmk4",
    "implicit.rattle_programs": "rattle2 rattle4 rattle6 rattle8",
    "implicit.root_steps": (
        "lobatto2 lobatto4 lobatto6 variational-midpoint galerkin4 galerkin6 galerkin-lobatto4"
        " galerkin-lobatto6 dla dla4 dla6 nonholonomic-leapfrog nonholonomic-leapfrog4"
        " nonholonomic-leapfrog6 energy2 energy4 energy6"
    ),
}


class _MethodTable(MutableMapping[str, Method]):
    """Methods by their names; a module is loaded when one of its methods is first asked for."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._records: dict[str, Method | str] = {
            name: module for module, names in modules.items() for name in names.split()
        }

    def __getitem__(self, name: str) -> Method:
        found = self._records[name]
        if isinstance(found, str):
            records = import_module(f".{found}", __package__).METHODS
            self._records |= {method.name: method for method in records}
            found = next(method for method in records if method.name == name)
        return found

    def __setitem__(self, name: str, method: Method) -> None:
        self._records[name] = method

    def __delitem__(self, name: str) -> None:
        del self._records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, name: object) -> bool:
        return name in self._records


#: Every method by its name.
METHODS: MutableMapping[str, Method] = _MethodTable(_MODULES)


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
