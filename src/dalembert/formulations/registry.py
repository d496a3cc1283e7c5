"""The forms of the equations of motion by name: adding a form is one file and one line here."""

from __future__ import annotations

from types import ModuleType

from ..errors import FormError, ModelError, nearest
from ..model.system import System
from . import (
    chaplygin,
    constrained_lagrangian,
    gibbs_appell,
    hamel,
    hamilton,
    implicit_lagrangian,
    kane,
    lagrange,
    maggi,
    vakonomic,
    voronets,
)
from .equations import Equations

__all__ = ["applicability", "default_form", "derive", "forms"]

_FORMS: dict[str, ModuleType] = {
    "lagrange": lagrange,
    "hamilton": hamilton,
    "maggi": maggi,
    "voronets": voronets,
    "chaplygin": chaplygin,
    "constrained-lagrangian": constrained_lagrangian,
    "hamel": hamel,
    "gibbs-appell": gibbs_appell,
    "kane": kane,
    "implicit-lagrangian": implicit_lagrangian,
    "vakonomic": vakonomic,
}

#: Other names of the same record.
_ALIASES = {"gauss": "lagrange", "udwadia-kalaba": "lagrange"}


def forms() -> tuple[str, ...]:
    """The names of all forms."""
    return (*_FORMS, *_ALIASES)


def derive(system: System, form: str | None = None) -> Equations:
    """The equations of motion of `system` in one form.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> oscillator = da.System(coordinates=[x], kinetic=m/2*x.dot**2, potential=k/2*x**2)
    >>> print(derive(oscillator, "hamilton").text())
    x_dot = p_x/m
    p_x_dot = -k*x
    """
    if not isinstance(system, System):
        raise ModelError("derive needs a System", seen=type(system).__name__, remedy="pass da.System(...)")
    name = form or default_form(system)
    kept: dict[str, Equations] = system.__dict__.setdefault("_derived", {})
    if name not in kept:
        kept[name] = form_module(name).derive(system)
    return kept[name]


def form_module(form: str) -> ModuleType:
    """The module that derives a form."""
    known = _FORMS.get(_ALIASES.get(form, form))
    if known is None:
        near = nearest(form, forms())
        raise FormError(
            f"There is no form `{form}`",
            seen=", ".join(forms()),
            remedy=f"did you mean {near}" if near else "choose one of these",
        )
    return known


def default_form(system: System) -> str:
    """The form that `simulate` takes when none is named."""
    if system.image is not None:
        return "implicit-lagrangian"
    return "hamilton" if system.is_hamiltonian else "lagrange"


def applicability(system: System) -> dict[str, FormError | None]:
    """Every form with None where it applies, and with the failing hypothesis where it does not."""
    found: dict[str, FormError | None] = {}
    for name, module in _FORMS.items():
        try:
            module.hypotheses(system)
            found[name] = None
        except FormError as error:
            found[name] = error
    return found
