"""Names of a model as identifiers of C."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["identifier", "identifiers"]

#: Words of C99 and C++, names that headers may define as macros, and what functions of an exported file begin with.
TAKEN = frozenset(
    re.findall(
        r"\w+",
        """
    auto break case char const continue default do double else enum extern float for goto if inline int long register restrict
    return short signed sizeof static struct switch typedef union unsigned void volatile while asm bool catch class complex
    delete explicit export false friend imaginary mutable namespace new operator private protected public template this throw
    true try typename using virtual NULL EOF NAN INFINITY I errno stdin stdout stderr linux unix near far small
    interface program
    """,
    )
)


def identifier(name: str) -> str:
    """A name with letters, digits and underscores only, that begins with a letter and means nothing in C.

    >>> identifier("two-particles incline"), identifier("3D"), identifier("default"), identifier("θ")
    ('two_particles_incline', 'x3D', 'default_', 'u03b8')
    """
    text = "".join(c if c.isascii() else f"u{ord(c):04x}" for c in name)
    text = re.sub(r"\W+", "_", text).strip("_") or "x"
    if not text[0].isalpha():
        text = f"x{text}"
    return f"{text}_" if text in TAKEN else text


def identifiers(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """An identifier for each name; no two are equal.

    >>> identifiers(["a b", "a-b", "c"])
    ['a_b', 'a_b_2', 'c']
    """
    found: list[str] = []
    known = set(taken)
    for name in names:
        base = word = identifier(name)
        number = 2
        while word in known:
            word, number = f"{base}_{number}", number + 1
        known.add(word)
        found.append(word)
    return found
