"""Contacts, their states, and solutions of their laws in contact space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import SingularError
from ...typing import Array

__all__ = [
    "NOISE",
    "OPEN",
    "ContactSolution",
    "CoulombContact",
    "Grip",
    "NoSolutionError",
    "Pressing",
]

#: What is below this part of its terms is rounding.
NOISE = 1e-11


class NoSolutionError(SingularError):
    """No state of the contacts obeys Coulomb's law."""


@dataclass(frozen=True)
class Pressing:
    """Forces of two-sided constraints, free + by @ P with the forces P of contact space.

    Attributes
    ----------
    free, by : arrays (k,), (k, m)
    """

    free: Any
    by: Any

    def at(self, forces: Array) -> Any:
        """The forces (k,) of the constraints."""
        return self.free + self.by @ forces


@dataclass(frozen=True)
class CoulombContact:
    """A contact that touches, a two-sided constraint that presses, or a friction limit.

    Attributes
    ----------
    name : str
    normal : int
        Its row in contact space; of a friction limit that whose force is its load, or -1.
    tangents : tuple of int
        The rows of its tangent directions; none without friction.
    kinetic, static : float
        The coefficients of friction.
    direction : array (k,) or None
        The unit direction of its slip, where it slips.
    base : float
        The normal force that acts in any case; the load of a friction limit without a row for it.
    grips : bool
        Whether it may stick.
    kind : "contact", "held" or "limit"
    presses : Pressing or None
        The forces whose norm is the load of a friction limit.
    """

    name: str
    normal: int
    tangents: tuple[int, ...] = ()
    kinetic: float = 0.0
    static: float = 0.0
    direction: Array | None = None
    base: float = 0.0
    grips: bool = True
    kind: str = "contact"
    presses: Pressing | None = None

    def load(self, forces: Array) -> Any:
        """The force whose multiple limits the friction, with the forces (m,) of all rows."""
        if self.presses is not None:
            return np.sqrt(np.sum(self.presses.at(forces) ** 2))
        return self.base if self.normal < 0 else abs(forces[self.normal])


@dataclass(frozen=True)
class Grip:
    """The state of a contact: closed or not; sticking, or slipping in a direction, or neither.

    `side` is the sign of the force of a two-sided constraint that presses.
    """

    closed: bool
    sticks: bool = False
    slip: tuple[float, ...] | None = None
    side: int = 1

    @property
    def key(self) -> tuple[bool, bool, bool, int]:
        """What distinguishes states, up to the direction."""
        return (self.closed, self.sticks, self.slip is not None, self.side)


OPEN = Grip(False)


@dataclass(frozen=True)
class ContactSolution:
    """Forces and accelerations in contact space, and the state of each contact.

    Attributes
    ----------
    states : mapping of name to Grip
    forces, accelerations : arrays (m,)
    others : tuple of ContactSolution
        Further solutions of the same problem, where it has several.
    """

    states: Mapping[str, Grip]
    forces: Any
    accelerations: Any
    others: tuple[ContactSolution, ...] = field(default=(), repr=False)
