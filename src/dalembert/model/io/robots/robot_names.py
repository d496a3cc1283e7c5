"""Names of a file as names of a model: identifiers that stand for one thing each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ....errors import ExpressionError
from ...names import LONGEST_NAME, check_name

__all__ = ["Names"]

#: Names that mean something else in a model.
TAKEN = frozenset(("t", "pi", "ground"))


@dataclass
class Names:
    """Identifiers for the names of one kind in a file, each its own.

    >>> names = Names()
    >>> names.of("base-link"), names.of("base link"), names.of("base-link"), names.of("2")
    ('base_link', 'base_link_2', 'base_link', 'n2')
    """

    found: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=lambda: set(TAKEN))

    def of(self, name: str) -> str:
        """The identifier of a name."""
        if name not in self.found:
            self.found[name] = self.new(name)
        return self.found[name]

    def own(self, stem: str) -> str:
        """An identifier for something that has no name in the file."""
        chosen = self.new(stem)
        self.found[chosen] = chosen
        return chosen

    def new(self, name: str) -> str:
        """An identifier that was not used before."""
        stem = re.sub(r"\W+", "_", name, flags=re.ASCII)[: LONGEST_NAME - 10].strip("_") or "n"
        if not stem.isidentifier():
            stem = f"n{stem}"
        try:
            check_name(stem)
        except ExpressionError:
            stem = f"n_{stem}"
        chosen, number = stem, 2
        while chosen in self.used:
            chosen, number = f"{stem}_{number}", number + 1
        self.used.add(chosen)
        return chosen

    @property
    def changed(self) -> dict[str, str]:
        """The names that had to be written otherwise."""
        return {name: chosen for name, chosen in self.found.items() if name != chosen}
