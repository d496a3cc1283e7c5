"""When and why contacts changed along a motion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...errors import DalembertError
from ...model.constraints.held_contacts import ContactPhase
from ..outcome import Outcome, Termination
from .coulomb_states import ContactSolution

__all__ = [
    "ContactChange",
    "ContactLog",
    "changes",
    "mode_word",
    "several_solutions",
    "undetermined",
]

ACCUMULATED = "its impacts accumulated"


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


def mode_word(phase: ContactPhase | None) -> str:
    """What a contact does: "open", "closed", "sticks" or "slips"."""
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
        turned = old and new and (old.leading, old.side) != (new.leading, new.side)
        if mode_word(old) != mode_word(new) or (name == named and turned):
            found.append(ContactChange(time, name, mode_word(new), reason))
    return found


class ContactLog:
    """The changes of the contacts of a run, as they are noted.

    Attributes
    ----------
    changes : list of ContactChange
    accumulated : dict of contact to time
        The instants at which infinitely many impacts come to an end, for the next change.
    """

    def __init__(self) -> None:
        self.changes: list[ContactChange] = []
        self.accumulated: dict[str, float] = {}
        self._explanation, self._explained = "", tuple[str, ...]()

    def explain(self, words: str, contacts: Iterable[str]) -> None:
        """Say something of the next change of contacts, instead of its usual reason."""
        self._explanation, self._explained = words, tuple(contacts)

    def note(
        self,
        time: float,
        before: Mapping[str, ContactPhase],
        after: Mapping[str, ContactPhase],
        reason: str,
        named: str = "",
    ) -> None:
        """Note the change from one mode to the next."""
        found = changes(time, before, after, self._explanation or reason, named)
        if self._explanation and not found:
            found = [
                ContactChange(time, name, mode_word(after.get(name)), self._explanation)
                for name in self._explained
            ]
        for change in found:
            end = self.accumulated.get(change.contact)
            self.changes.append(
                change if end is None else change._replace(time=end, reason=ACCUMULATED)
            )
        self._explanation, self.accumulated = "", {}


def several_solutions(found: ContactSolution, resting: Sequence[str]) -> str:
    """Say that Coulomb's law has several solutions, and which was taken."""
    count = 1 + len(found.others)
    opened = [name for name in resting if not found.states[name].closed]
    taken = f"; {', '.join(f'`{n}`' for n in opened)} opens" if opened else ""
    return f"Coulomb's law had {count} solutions (Painleve){taken}"


def undetermined(t: float, error: DalembertError) -> Termination:
    """The end of a run whose contacts have no state that can go on."""
    return Termination(Outcome.SINGULAR, f"The contacts at t = {t:.9g} are not determined: {error}")
