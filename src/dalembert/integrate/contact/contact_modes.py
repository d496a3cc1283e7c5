"""When and why contacts changed along a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...model.constraints.held_contacts import ContactPhase

__all__ = ["ContactChange", "changes"]


class ContactChange(NamedTuple):
    """A contact that changed its mode.

    Attributes
    ----------
    time : float
    contact : str
    mode : str
        "open", "closed" (without friction), "sticks" or "slips".
    reason : str
    """

    time: float
    contact: str
    mode: str
    reason: str


def _word(phase: ContactPhase | None) -> str:
    if phase is None:
        return "open"
    return "closed" if phase.leading is None else "slips" if phase.leading else "sticks"


def changes(
    time: float,
    before: Mapping[str, ContactPhase],
    after: Mapping[str, ContactPhase],
    reason: str,
    named: str = "",
) -> list[ContactChange]:
    """What changed between two modes; `named` is noted even if its word is the same."""
    found = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        turned = old is not None and new is not None and old.leading != new.leading
        if _word(old) != _word(new) or (name == named and turned):
            found.append(ContactChange(time, name, _word(new), reason))
    return found
