"""The forms of the equations of motion by name: adding a form is one file and one line here."""

from __future__ import annotations

import inspect
import math
from types import ModuleType
from typing import Any

from ..errors import FormError, ModelError, nearest
from ..model.flow_system import Flow
from ..model.system import System
from .equations import Equations
from .forms import (
    bates_sniatycki,
    canonical_quasi,
    canonical_voronets,
    chaplygin,
    constrained_lagrangian,
    elimination,
    flow,
    gibbs_appell,
    hamel,
    hamel_orthonormal,
    hamilton,
    implicit_hamiltonian,
    implicit_lagrangian,
    kane,
    lagrange,
    maggi,
    poincare_chetaev,
    pontryagin,
    vakonomic,
    voronets,
)
from .independent_velocities import Reduction, choose_split, steady_columns

__all__ = ["applicability", "default_form", "derive", "fastest_form", "forms"]

_FORMS: dict[str, ModuleType] = {
    "lagrange": lagrange,
    "hamilton": hamilton,
    "maggi": maggi,
    "voronets": voronets,
    "chaplygin": chaplygin,
    "constrained-lagrangian": constrained_lagrangian,
    "hamel": hamel,
    "hamel-orthonormal": hamel_orthonormal,
    "gibbs-appell": gibbs_appell,
    "kane": kane,
    "poincare-chetaev": poincare_chetaev,
    "elimination": elimination,
    "canonical-voronets": canonical_voronets,
    "canonical-quasi": canonical_quasi,
    "bates-sniatycki": bates_sniatycki,
    "implicit-lagrangian": implicit_lagrangian,
    "implicit-hamiltonian": implicit_hamiltonian,
    "vakonomic": vakonomic,
    "pontryagin": pontryagin,
}

#: Other names of the same record.
_ALIASES = {"gauss": "lagrange", "udwadia-kalaba": "lagrange"}


def forms() -> tuple[str, ...]:
    """The names of all forms.

    >>> {"lagrange", "hamilton", "maggi", "gauss"} <= set(forms())
    True
    """
    return (*_FORMS, *_ALIASES)


def derive(system: System | Flow, form: str | None = None, **options: object) -> Equations:
    """The equations of motion of `system` in one form; some forms take options, see their modules.

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
    if isinstance(system, Flow):
        return _of_flow(system, form, options)
    if not isinstance(system, System):
        raise ModelError("derive needs a System", seen=type(system).__name__, remedy="pass da.System(...)")
    name = form or default_form(system)
    if options:
        return _with_options(system, name, options)
    kept: dict[str, Equations] = system.__dict__.setdefault("_derived", {})
    if name not in kept:
        kept[name] = form_module(name).derive(system)
    return kept[name]


def _of_flow(system: Flow, form: str | None, options: dict[str, Any]) -> Equations:
    """A first-order system has one form, without options."""
    if options:
        raise FormError("A first-order flow has no options", seen=", ".join(options), remedy="leave them out")
    kept: dict[str | None, Equations] = system.__dict__.setdefault("_derived", {})
    if form not in kept:
        kept[form] = flow.derive(system, form)
    return kept[form]


def _with_options(system: System, form: str, options: dict[str, Any]) -> Equations:
    """A form with options of its own."""
    derivation = form_module(form).derive
    known = [name for name in inspect.signature(derivation).parameters if name != "system"]
    strange = [name for name in options if name not in known]
    if strange:
        raise FormError(
            f'The form "{form}" has no option `{strange[0]}`',
            seen=", ".join(known) or "none",
            remedy="leave it out" if not known else "use one of these",
        )
    found: Equations = derivation(system, **options)
    object.__setattr__(found, "options", dict(options))
    return found


def form_module(form: str) -> ModuleType:
    """The module that derives a form."""
    known = _FORMS.get(_ALIASES.get(str(form), str(form)))
    if known is None:
        near = nearest(str(form), forms())
        raise FormError(
            f"There is no form `{form}`",
            seen=", ".join(forms()),
            remedy=f"did you mean {near}" if near else "choose one of these",
        )
    return known


def default_form(system: System) -> str:
    """The form that a system was stated for: the one that `derive` takes when none is named."""
    if system.image is not None:
        return "implicit-lagrangian"
    return "hamilton" if system.is_hamiltonian else "lagrange"


#: No search for independent velocities is made for a run where there would be more choices than this.
MOST_CHOICES = 300


def fastest_form(system: System) -> str:
    """The form that `simulate` takes when none is named.

    Maggi's equations have fewer unknowns, no multipliers and no velocities to project: they are the choice where the
    constraints are affine and independent, with a choice of independent velocities that cannot degenerate. Elsewhere a motion
    would have to change that choice on its way, and the form that the system was stated in is faster (benchmarks/forms.py).
    """
    kept: str | None = system.__dict__.get("_fastest_form")
    if kept is None:
        kept = _fastest_form(system)
        object.__setattr__(system, "_fastest_form", kept)
    return kept


def _fastest_form(system: System) -> str:
    stated = default_form(system)
    count, n = len(system.bilateral), len(system.coordinates)
    if stated != "lagrange" or not count or system.unilateral or count > n or math.comb(n, count) > MOST_CHOICES:
        return stated
    try:
        if len(steady_columns(system)) < count:
            return stated
        split = choose_split(system)
    except FormError:
        return stated
    reduction = Reduction.asked(system, split)
    nonlinear = reduction.algebra.without(reduction.frame, reduction.independent) is None
    return stated if len(split.rows) < count or not split.is_steady or nonlinear else "maggi"


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
