"""Answers about expressions: proved, refuted or not established, and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .running_error import UNIT

__all__ = ["Rank", "Verdict", "conjunction"]


@dataclass(frozen=True)
class Verdict:
    """The answer to a question about expressions.

    Attributes
    ----------
    status : str
        "proved", "refuted" or "not established".
    grounds : str
        What the status rests on.
    entry : int or None
        The place of an entry that refutes, column by column.
    holds_to_rounding : bool
        Whether it is proved, or holds at all samples within the rounding of constants such as
        0.8414709848 that stand for irrational numbers; for what follows from a theorem once such
        numbers are exact.
    """

    status: Literal["proved", "refuted", "not established"]
    grounds: str
    entry: int | None = None
    holds_to_rounding: bool = False

    @property
    def is_proved(self) -> bool:
        return self.status == "proved"

    @property
    def is_refuted(self) -> bool:
        return self.status == "refuted"

    @property
    def holds(self) -> bool:
        """Whether it is proved, or holds to the rounding of constants."""
        return self.holds_to_rounding

    @property
    def by(self) -> str:
        """ "symbolically" where it is proved, else what the status rests on."""
        return "symbolically" if self.is_proved else self.grounds

    def __bool__(self) -> bool:
        raise TypeError("A verdict has three values: ask for is_proved or is_refuted")

    def __str__(self) -> str:
        return self.status if self.is_proved else f"{self.status}: {self.grounds}"

    @classmethod
    def to_rounding(cls, states: int, accuracy: float = UNIT) -> Verdict:
        """Accept an unproved claim that holds at some states within rounding or accuracy.

        >>> print(Verdict.to_rounding(12))
        not established: holds to rounding at 12 states
        """
        within = "rounding" if accuracy == UNIT else f"an accuracy of {accuracy:g}"
        return cls(
            "not established", f"holds to {within} at {states} states", holds_to_rounding=True
        )


@dataclass(frozen=True)
class Rank:
    """The rank of a matrix of expressions at almost every point.

    Attributes
    ----------
    value : int
        The largest rank found.
    at_most : int
        What the rank is proved not to exceed; to the rounding of constants that stand for
        irrational numbers.
    states : int
        At how many states `at_most` was seen, where it rests on the rounding of such constants; 0
        where it is proved.
    status : str
        "proved" where the two agree, without rounding.
    """

    value: int
    at_most: int
    states: int = field(default=0, repr=False, compare=False)

    @property
    def status(self) -> Literal["proved", "not established"]:
        return "proved" if self.value == self.at_most and not self.states else "not established"

    def is_at_most(self, bound: int) -> Verdict:
        """Whether the rank does not exceed a bound.

        >>> Rank(1, 2).is_at_most(2).status, Rank(2, 2).is_at_most(1).status, Rank(1, 2).is_at_most(
        ...     1
        ... ).status
        ('proved', 'refuted', 'not established')
        """
        seen = f"the rank is {self.value} at least, and {self.at_most} at most"
        if self.value > bound:
            return Verdict("refuted", seen)
        if self.at_most > bound:
            return Verdict("not established", seen)
        if self.states:
            return Verdict.to_rounding(self.states)
        return Verdict("proved", seen, holds_to_rounding=True)


def conjunction(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Whether all of several named statements hold: as certain as the least certain of them.

    >>> sure = Verdict(
    ...     "proved", "it is zero in exact arithmetic modulo a prime", holds_to_rounding=True
    ... )
    >>> conjunction(
    ...     {"first": sure, "second": Verdict("not established", "no proof was found")}
    ... ).grounds
    'second: no proof was found'
    """
    for status in ("refuted", "not established"):
        failing = {name: verdict for name, verdict in verdicts.items() if verdict.status == status}
        if failing:
            grounds = "; ".join(f"{name}: {verdict.grounds}" for name, verdict in failing.items())
            rounding = all(verdict.holds_to_rounding for verdict in verdicts.values())
            return Verdict(status, grounds, holds_to_rounding=rounding)  # type: ignore[arg-type]
    grounds = "; ".join(dict.fromkeys(verdict.grounds for verdict in verdicts.values()))
    return Verdict("proved", grounds, holds_to_rounding=True)
