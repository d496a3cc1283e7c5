r"""Laws of impact with friction, for contacts that hit or touch at one instant.

A jump of the velocities v- to v+ = v- + W L in contact space, with impulses L, is the contact
problem of `coulomb` one derivative lower:

    Newton, Moreau   v_n+ + e v_n- >= 0, L_n >= 0, complementary, and Coulomb's law between L_t and
                     v_t+ + e_t v_t-  (Moreau 1988; for one contact this is Newton's law),
    Poisson          compression as with e = 0, then an expansion with L_n >= e L_n of the
                     compression (Pfeiffer and Glocker, Multibody Dynamics with Unilateral Contacts
                     (1996), chapter 8).

"newton" takes only the contacts that approach, in rounds, as long as others are driven together;
"moreau" and "poisson" take all contacts that touch at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import SingularError
from ...typing import Array
from .coulomb import every_solution, solve_contacts
from .coulomb_states import ContactSolution, CoulombContact

__all__ = ["Impact", "jam", "moreau_impact", "poisson_impact"]

#: An impact that gains more than this part of the energy it exchanges does not follow the law.
GAIN = 1e-9


@dataclass(frozen=True)
class Impact:
    """Impulses (m,) and velocities after an impact (m,) in contact space, and which contacts open.

    Attributes
    ----------
    opened : frozenset of str
        The contacts that leave with a velocity.
    """

    impulses: Any
    after: Any
    opened: frozenset[str]


def moreau_impact(
    matrix: Array,
    before: Array,
    contacts: Sequence[CoulombContact],
    restitution: Mapping[str, float],
    tangential: Mapping[str, float],
) -> Impact:
    """An impact of some contacts by Moreau's law, which for one contact is Newton's.

    Examples
    --------
    >>> pair = [CoulombContact("ab", 0), CoulombContact("bc", 1)]
    >>> cradle = np.array([[2.0, -1.0], [-1.0, 2.0]])
    >>> elastic = dict.fromkeys(("ab", "bc"), 1.0)
    >>> moreau_impact(cradle, np.array([-1.0, 0.0]), pair, elastic, {}).after.round(12).tolist()
    [1.0, 0.0]
    """
    free = np.array(before, float)
    for c in contacts:
        if c.kind == "contact" and free[c.normal] < 0:  # what leaves already must go on leaving
            free[c.normal] *= 1.0 + restitution.get(c.name, 0.0)
        free[list(c.tangents)] *= 1.0 + tangential.get(c.name, 0.0)
    return _checked(matrix, before, contacts, solve_contacts(matrix, free, contacts).forces)


def poisson_impact(
    matrix: Array,
    before: Array,
    contacts: Sequence[CoulombContact],
    restitution: Mapping[str, float],
) -> Impact:
    """An impact by Poisson's law: a compression, and an expansion by a part of its impulses."""
    squeezed = solve_contacts(matrix, before, contacts).forces
    between = before + matrix @ squeezed
    released = [
        replace(c, base=restitution.get(c.name, 0.0) * float(squeezed[c.normal]))
        if c.kind == "contact"
        else c
        for c in contacts
    ]
    first = solve_contacts(matrix, between, released).forces
    return _checked(matrix, before, contacts, squeezed + first)


def jam(matrix: Array, before: Array, contacts: Sequence[CoulombContact]) -> Impact:
    """The tangential impact where Coulomb's law has no accelerations: an impact without approach.

    Of the plastic impacts that the velocities allow, it is the one with the largest impulse; the
    one without impulses is what cannot last.

    Raises
    ------
    SingularError
        Where there is none.
    """
    every = every_solution(matrix, before, [replace(c, direction=None) for c in contacts])

    def size(found: ContactSolution) -> float:
        pressed = (c for c in contacts if c.kind != "limit" or c.presses is not None)
        return float(sum(c.load(found.forces) for c in pressed))

    best = max(every, key=size, default=None)
    if best is None or size(best) <= 0:
        raise SingularError(
            "Coulomb's law allows no accelerations, and no tangential impact either",
            seen=", ".join(f"`{c.name}`" for c in contacts),
            remedy="reduce the friction, or give the contact a compliance",
        )
    return _checked(matrix, before, contacts, best.forces)


def _checked(
    matrix: Array, before: Array, contacts: Sequence[CoulombContact], impulses: Array
) -> Impact:
    """The velocities after some impulses, which must not gain energy."""
    after = before + matrix @ impulses
    size = np.abs(matrix) @ np.abs(impulses) + np.abs(before)
    after[np.abs(after) <= 1e-12 * size] = 0.0
    gained = 0.5 * float(impulses @ (after + before))
    exchanged = float(np.abs(impulses) @ (np.abs(after) + np.abs(before)))
    if gained > GAIN * exchanged:
        raise SingularError(
            "The impact law gains energy with this friction and restitution",
            seen=f"{gained:.3g} at " + ", ".join(f"`{c.name}`" for c in contacts),
            remedy='use law="poisson", or a smaller restitution',
        )
    opened = (c.name for c in contacts if c.kind == "contact" and after[c.normal] > 0)
    return Impact(impulses, after, frozenset(opened))
