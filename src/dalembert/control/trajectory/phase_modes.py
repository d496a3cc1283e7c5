"""Contact modes: a system whose closed contacts are two-sided constraints, with Coulomb's bounds.

In a mode a closed contact pushes, -mu >= 0, and where it sticks its friction stays in the cone
|T| <= mu_s N; the gaps of the others are not negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sympy

from ...errors import ModelError, nearest
from ...model.constraints.held_contacts import ContactPhase
from ...model.constraints.one_sided import UnilateralConstraint
from ...model.system import System
from .problem_statement import Bound
from .trajectory_quantities import multiplier

__all__ = ["ContactMode", "contacts_of", "mode_of"]


class ContactMode(NamedTuple):
    """The contacts of a system that are closed.

    Attributes
    ----------
    system : System
        With these contacts as two-sided constraints.
    closed : tuple of UnilateralConstraint
    labels : tuple of str
        "floor sticks", "floor slips+1", or the name of a contact without friction.
    bounds : mapping of expression to (least, most)
        Forces of closed contacts, and gaps of open ones.
    """

    system: System
    closed: tuple[UnilateralConstraint, ...]
    labels: tuple[str, ...]
    bounds: dict[sympy.Expr, Bound]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(contact.name for contact in self.closed)


def mode_of(system: System, closed: Sequence[str], passing: Sequence[str] = ()) -> ContactMode:
    """The mode in which some contacts are closed, and others may be `passing` through.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> floor = da.unilateral(y >= 0, friction=0.5, tangent=x.dot, name="floor")
    >>> block = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[floor])
    >>> mode_of(block, ["floor"]).labels
    ('floor sticks',)
    """
    contacts = {contact.name: contact for contact in contacts_of(system)}
    found, labels = [], []
    for entry in closed:
        contact = next((c for n, c in contacts.items() if ContactPhase.of(entry, n)), None)
        if contact is None:
            raise _unknown(entry, list(contacts))
        phase = ContactPhase.of(entry, contact.name)
        assert phase is not None
        if phase.leading is None and contact.has_friction:
            phase = phase._replace(leading=0)
        found.append(contact)
        labels.append(phase.label)
    for name in passing:
        if name not in contacts:
            raise _unknown(name, list(contacts))
    bounds: dict[sympy.Expr, Bound] = {}
    for contact, label in zip(found, labels, strict=True):
        bounds |= _forces(contact, label)
    open_ones = [c for n, c in contacts.items() if c not in found and n not in passing]
    bounds |= {contact.expression: (None, 0) for contact in open_ones}
    return ContactMode(system.touching(labels), tuple(found), tuple(labels), bounds)


def contacts_of(system: System) -> tuple[UnilateralConstraint, ...]:
    """The one-sided constraints of a system; raise for other constraints that may give way."""
    found = []
    for constraint in system.unilateral:
        if not isinstance(constraint, UnilateralConstraint):
            raise ModelError(
                "A plan cannot decide when a constraint with a friction limit slips",
                constraint.name,
                "state the constraint without its limit, and bound its reaction",
            )
        found.append(constraint)
    return tuple(found)


def _forces(contact: UnilateralConstraint, label: str) -> dict[sympy.Expr, Bound]:
    """Bounds on the forces of a closed contact: it pushes, and stays in the cone of friction."""
    normal = multiplier(contact.name)
    found: dict[sympy.Expr, Bound] = {normal: (None, 0)}
    if not label.endswith("sticks"):
        return found
    rows = [multiplier(f"{contact.name}_tangent{k}") for k in range(1, len(contact.tangent) + 1)]
    limit = contact.static_friction * normal
    if len(rows) == 1:
        return found | {rows[0] + limit: (None, 0), -rows[0] + limit: (None, 0)}
    return found | {sum(row**2 for row in rows) - limit**2: (None, 0)}


def _unknown(entry: str, names: list[str]) -> ModelError:
    near = nearest(str(entry), names)
    return ModelError(
        f"The system has no one-sided constraint `{entry}`", ", ".join(names) or "none",
        f"did you mean {near}" if near else "name one of these, or state it by da.unilateral",
    )  # fmt: skip
