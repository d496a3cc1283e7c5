"""Changes of an input by words instead of bytes, so that much of what comes out is nearly right."""

from __future__ import annotations

import random
import re

from .seeds import dictionary

__all__ = ["mutated"]

_WORDS = re.compile(
    rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*|[0-9.]+(?:[eE][+-]?[0-9]+)?|\*\*|[<>=!]=|\s+|.", re.DOTALL
)
_NUMBERS = (
    b"0 1 2 -1 0.5 1e308 1e-308 5e-324 1e400 999 1000 1001 10**300 1/3 -0.0 inf nan"
    b" 9007199254740993 0.1 1e16 true 1e5"
).split()
#: Changes of one kind after the other, at most.
MOST = 6


def mutated(target: str, data: bytes, most: int, seed: int) -> bytes:
    """`data` with a few of its words changed."""
    chance = random.Random(seed)
    words = _WORDS.findall(data)
    known = dictionary(target)
    for _ in range(chance.randint(1, MOST)):
        words = _changed(words, known, chance)
    return b"".join(words)[:most]


def _changed(words: list[bytes], known: list[bytes], chance: random.Random) -> list[bytes]:
    """One change: a word or a piece removed, doubled, moved, replaced, or put into parentheses."""
    if not words:
        return [chance.choice(known)]
    first = chance.randrange(len(words))
    last = min(len(words), first + chance.choice((1, 1, 1, 2, 3, 5, 9, 20)))
    before, piece, after = words[:first], words[first:last], words[last:]
    match chance.randrange(9):
        case 0:
            return before + after
        case 1:
            return before + piece + piece + after
        case 2:
            place = chance.randrange(len(words))
            rest = before + after
            return rest[:place] + piece + rest[place:]
        case 3:
            return [*before, chance.choice(known), *after]
        case 4:
            return [*before, chance.choice(known), *piece, *after]
        case 5:
            return [*before, chance.choice(_NUMBERS), *after]
        case 6:
            return [*before, b"(", *piece, b")", *after]
        case 7:
            return [
                *before,
                *piece,
                chance.choice((b"+", b"-", b"*", b"/", b"**", b",", b"\n", b'"', b"=", b".")),
                *after,
            ]
        case _:
            return [*before, chance.choice(words), *after]
