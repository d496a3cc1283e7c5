"""The forms of the equations of motion by name: adding a form is one file and one line here."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

from ..errors import FormError, ModelError, nearest
from ..model.flow_system import Flow
from ..model.system import System
from .constraint_regularity import check_regular
from .equations import Equations
from .form import Form
from .independent_velocities import Reduction, choose_split
from .velocity_splits import steady_columns

__all__ = [
    "applicability",
    "default_form",
    "derive",
    "fastest_form",
    "find_form",
    "forms",
    "is_variational",
    "takes_contacts",
    "without_speeds",
]

#: The forms, each the `FORM` of the module of its name in `forms/`, loaded when first asked for.
_FORMS = (
    "lagrange",
    "hamilton",
    "maggi",
    "voronets",
    "chaplygin",
    "constrained-lagrangian",
    "hamel",
    "hamel-orthonormal",
    "gibbs-appell",
    "kane",
    "poincare-chetaev",
    "elimination",
    "canonical-voronets",
    "canonical-quasi",
    "bates-sniatycki",
    "implicit-lagrangian",
    "implicit-hamiltonian",
    "vakonomic",
    "pontryagin",
)

#: Other names of the same record.
_ALIASES = {"gauss": "lagrange", "udwadia-kalaba": "lagrange"}


def forms() -> tuple[str, ...]:
    """The names of all forms.

    >>> {"lagrange", "hamilton", "maggi", "gauss"} <= set(forms())
    True
    """
    return (*_FORMS, *_ALIASES)


def derive(
    system: System | Flow, form: str | None = None, *, explicit: bool = False, **options: object
) -> Equations:
    """The equations of motion of `system` in one form; some forms take options, see their modules.

    With `explicit` they are printed and exported solved for the unknowns, without multipliers: see
    `Equations.explicit`.

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
    found = _derived(system, form, options)
    return found.explicit() if explicit else found


def _derived(system: System | Flow, form: str | None, options: dict[str, object]) -> Equations:
    if isinstance(system, Flow):
        return _of_flow(system, form, options)
    if not isinstance(system, System):
        raise ModelError(
            "derive needs a System", seen=type(system).__name__, remedy="pass da.System(...)"
        )
    check_regular(system)
    name = form or default_form(system)
    if options:
        return _with_options(system, find_form(name), options)
    return system.cache.get(("equations", name), lambda: _in_own_speeds(system, find_form(name)))


def _in_own_speeds(system: System, form: Form) -> Equations:
    """A form, in the quasi-velocities that the system states where the form has speeds."""
    table = dict(system.quasi_velocities)
    if not table or "quasi_velocities" not in form.options:
        return form.derive(system)
    return _with_options(without_speeds(system), form, {"quasi_velocities": table})


def without_speeds(system: System) -> System:
    """The same system without quasi-velocities of its own, which are outputs otherwise."""
    table = system.quasi_velocities
    outputs = {name: value for name, value in system.outputs.items() if name not in table}
    return system.cache.get(
        "without speeds",
        lambda: system.replacing(outputs=outputs, quasi_velocities={}) if table else system,
    )


def _of_flow(system: Flow, form: str | None, options: dict[str, Any]) -> Equations:
    """A first-order system has one form, without options."""
    from .forms import flow

    if options:
        raise FormError(
            "A first-order flow has no options", seen=", ".join(options), remedy="leave them out"
        )
    return system.cache.get(("equations", form), lambda: flow.derive(system, form))


def _with_options(system: System, form: Form, options: dict[str, Any]) -> Equations:
    """A form with options of its own."""
    strange = [name for name in options if name not in form.options]
    if strange:
        raise FormError(
            f'The form "{form.name}" has no option `{strange[0]}`',
            seen=", ".join(form.options) or "none",
            remedy="use one of these" if form.options else "leave it out",
        )
    if "quasi_velocities" in options:
        system = without_speeds(system)
        options = {**options, "quasi_velocities": options["quasi_velocities"] or None}
    found = form.derive(system, **options)
    key = ("with options", *options)
    return found.cache.get(key, lambda: replace(found, options=dict(options)))


def find_form(name: str) -> Form:
    """The record of a form, by its name or another name of it."""
    known = _ALIASES.get(str(name), str(name))
    if known not in _FORMS:
        near = nearest(str(name), forms())
        raise FormError(
            f"There is no form `{name}`",
            seen=", ".join(forms()),
            remedy=f"did you mean {near}" if near else "choose one of these",
        )
    module = import_module(f".forms.{known.replace('-', '_')}", __package__)
    return cast(Form, module.FORM)


def is_variational(form: str) -> bool:
    """Whether equations of this form follow another principle than d'Alembert's."""
    return form in _FORMS and find_form(form).is_variational


def takes_contacts(form: str) -> bool:
    """Whether equations of this form can be simulated with one-sided constraints."""
    return form in _FORMS and find_form(form).takes_contacts


def default_form(system: System) -> str:
    """The form that a system was stated for: the one that `derive` takes when none is named."""
    if system.image is not None:
        return "implicit-lagrangian"
    return "hamilton" if system.is_hamiltonian else "lagrange"


#: No independent velocities are chosen for a run if there are more choices than this.
MOST_CHOICES = 300


def fastest_form(system: System) -> str:
    """The form that `simulate` takes when none is named.

    Maggi's equations have fewer unknowns, no multipliers and no velocities to project: they are the
    choice where the constraints are affine and independent, with a choice of independent velocities
    that cannot degenerate. Elsewhere a motion would have to change that choice on its way, and the
    form that the system was stated in is faster (benchmarks/forms.py).
    """
    return system.cache.get("fastest form", lambda: _fastest_form(system))


def _fastest_form(system: System) -> str:
    stated = default_form(system)
    count, n = len(system.bilateral), len(system.coordinates)
    if (
        stated != "lagrange"
        or system.quasi_velocities  # which a run may leave at a state where they degenerate
        or not count
        or system.unilateral
        or count > n
        or math.comb(n, count) > MOST_CHOICES
    ):
        return stated
    try:
        if len(steady_columns(system)) < count:
            return stated
        split = choose_split(system)
    except FormError:  # no steady choice of velocities: the stated form serves
        return stated
    reduction = Reduction.asked(system, split)
    nonlinear = reduction.algebra.without(reduction.frame, reduction.independent) is None
    return stated if len(split.rows) < count or not split.is_steady or nonlinear else "maggi"


def applicability(system: System) -> dict[str, FormError | None]:
    """Every form with None where it applies, and with the failing hypothesis where it does not."""
    found: dict[str, FormError | None] = {}
    for name in _FORMS:
        try:
            check_regular(system)
            find_form(name).hypotheses(system)
            found[name] = None
        except FormError as error:
            found[name] = error
    return found
