"""The impact of contacts that hit at one instant, by their one law."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ...typing import Array
from .contact_values import ContactValues
from .impact_laws import Impact, moreau_impact, poisson_impact
from .resting import held_records

if TYPE_CHECKING:
    from ..driver import Driver

__all__ = ["struck_together"]


def struck_together(
    contact_values: ContactValues,
    driver: Driver,
    together: tuple[str, ...],
    hitting: tuple[str, ...],
    t: float,
    y: Array,
) -> tuple[Any, frozenset[str]]:
    """The state after an impact of some contacts together, and those that open by it."""
    instant, values = (
        contact_values.instant(driver, together, t, y),
        contact_values.coefficients(driver, t, y),
    )
    contacts = [
        replace(
            instant.struck(contact_values.record(instant, name, values[name])),
            static=float(values[name][2]),
        )
        for name in (*together, *contact_values.active_limits(together))
        if name in together or contact_values.limits[name].normal
    ] + held_records(instant)
    laws = {contact_values.constraints[name].law for name in hitting or together}
    if len(laws) > 1:
        raise ModelError(
            "Contacts that hit at one instant need one impact law",
            seen=", ".join(f"`{n}`: {contact_values.constraints[n].law}" for n in hitting),
            remedy="give them the same law",
        )
    bouncing = hitting if laws == {"newton"} or not hitting else together
    bounce = {name: values[name][0] for name in bouncing}
    matrix, before = instant.velocity_matrix, instant.velocity
    found: Impact
    if laws == {"poisson"} and hitting:
        found = poisson_impact(matrix, before, contacts, bounce)
    else:
        grips = {name: values[name][1] for name in bouncing}
        found = moreau_impact(matrix, before, contacts, bounce, grips)
    return y + instant.change(found.impulses), found.opened
