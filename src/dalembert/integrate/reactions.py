"""The reactions of a motion; of those on a few coordinates, the zeros are not stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, RunError, nearest

if TYPE_CHECKING:
    pass

__all__ = ["Reaction", "ReactionForce", "Reactions", "missing_quantity", "refuse_too_many"]

#: No more numbers are written out as one table of reactions by constraint, coordinate and time.
MOST_NUMBERS = 200_000_000


@dataclass(frozen=True)
class Reaction:
    """The reaction of one constraint.

    Attributes
    ----------
    force : array (n, nt)
        The generalised force, by coordinate.
    multiplier : array (k, nt)
        The multipliers mu of its rows; not unique where constraints depend on each other.
    """

    force: Any
    multiplier: Any


@dataclass(frozen=True)
class ReactionForce:
    """A generalised force along a motion: entries (k, nt), their coordinates or None for all."""

    entries: Any
    places: list[int] | None

    def full(self, n: int) -> Any:
        """The force by coordinate, (n, nt)."""
        if self.places is None:
            return self.entries
        force = np.zeros((n, self.entries.shape[1]))
        force[self.places] = self.entries
        return force


def refuse_too_many(reactions: int, coordinates: int, times: int) -> None:
    """Raise where a table of all reactions, zeros included, would be too large."""
    if reactions * coordinates * times > MOST_NUMBERS:
        raise RunError(
            "The reactions of this motion are too many for one table",
            seen=f"{reactions} constraints x {coordinates} coordinates x {times} times",
            remedy=(
                "follow the motion at fewer times (at=...), or read motion.reactions[name] one"
                " by one"
            ),
        )


class MissingReactionError(ModelError, KeyError):
    """A constraint that the motion does not have; a `KeyError` as mappings raise."""

    __str__ = Exception.__str__


class Reactions(Mapping[str, Reaction]):
    """Reactions by constraint or its name, filled with zeros when they are read."""

    def __init__(
        self, n: int, forces: Mapping[str, ReactionForce], multipliers: Mapping[str, Any]
    ) -> None:
        self._n, self._forces, self._multipliers = n, forces, multipliers

    def __getitem__(self, key: str) -> Reaction:
        name = getattr(key, "name", key)
        if name not in self._forces:
            near = nearest(str(name), self._forces)
            raise MissingReactionError(
                f"The motion has no reaction of a constraint `{name}`",
                seen=", ".join(self._forces) or "no constraints",
                remedy=f"did you mean `{near}`" if near else "name one of its constraints",
            )
        return Reaction(self._forces[name].full(self._n), self._multipliers[name])

    def __contains__(self, key: object) -> bool:
        return getattr(key, "name", key) in self._forces

    def __iter__(self) -> Iterator[str]:
        return iter(self._forces)

    def __len__(self) -> int:
        return len(self._forces)

    def __repr__(self) -> str:
        return f"<Reactions of {', '.join(self._forces) or 'no constraints'}>"


def missing_quantity(name: str, names: Iterable[str], reactions: Iterable[str]) -> ModelError:
    """The error for a quantity that a motion does not have, with what is near its name."""
    constraints = set(reactions)
    for bare in (name, name.removeprefix("mu_"), name.removeprefix("lambda_")):
        if bare in constraints:
            part = "force" if bare == name else "multiplier"
            return ModelError(
                f"The motion has no quantity `{name}`",
                seen=f"the constraint `{bare}`",
                remedy=f'read motion.reactions["{bare}"].{part}, or plot panels=["reactions"]',
            )
    known = list(names)
    near = nearest(name, known)
    return ModelError(
        f"The motion has no quantity `{name}`",
        seen=", ".join(known),
        remedy=f"did you mean `{near}`" if near else "use one of these names",
    )
