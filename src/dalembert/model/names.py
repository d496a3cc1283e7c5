"""Which words may name a symbol of a model.

Any identifier may, Python's keywords and SymPy's own symbols included, unless two different
spellings of it look the same: characters that Unicode rewrites (compatibility forms, NFKC) and
Greek or Cyrillic symbols drawn like Latin ones.
"""

from __future__ import annotations

import unicodedata

from ..errors import ExpressionError

__all__ = ["LONGEST_NAME", "check_name", "is_control", "shortened"]

#: The longest name, in characters.
LONGEST_NAME = 100
#: Classes of characters that turn the direction of what follows.
_TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")

_LOOK_ALIKES = {
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEZHIKMNOPTYXo", strict=True)),
    **dict(zip("АВЕКМНОРСТУХЅІЈаеорсухѕіјԁһԛԝ", "ABEKMHOPCTYXSIJaeopcyxsijdhqw", strict=True)),
}


def is_control(character: str) -> bool:
    """Whether a terminal would obey a character, or show what follows in another order; ends of
    lines and tabs are text.

    >>> [is_control(chr(code)) for code in (27, 0x202E, 97, 10)]
    [True, True, False, False]
    """
    if unicodedata.category(character) == "Cc":
        return ord(character) not in (9, 10, 13)
    return unicodedata.bidirectional(character) in _TURNS


def shortened(value: object, width: int = 60) -> str:
    """One printable line for a value of any size; containers by their kind only.

    >>> shortened("a" * 100, width=10)
    "'aaaa...'"
    >>> shortened({"a": 1})
    'a table'
    """
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, (list, tuple)):
        return f"an array of {len(value)}"
    if isinstance(value, str):
        text = repr(value[: 2 * width])
        return (
            text
            if len(value) <= width and len(text) <= width + 2
            else f"{text[: max(width - 5, 1)]}...'"
        )
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value).replace("\n", " ")
    return text if len(text) <= width else f"{text[: width - 3]}..."


def check_name(name: str, what: str = "name") -> None:
    """Raise unless `name` can name a symbol.

    >>> check_name("lambda"), check_name("θ_1")
    (None, None)
    >>> check_name("ϑ")
    Traceback (most recent call last):
    ...
    dalembert.errors.ExpressionError: The name 'ϑ' is spelt with characters that Unicode rewrites:
    write θ.
    """
    if len(name) > LONGEST_NAME:
        raise ExpressionError(
            f"A {what} has at most {LONGEST_NAME} characters",
            seen=shortened(name),
            remedy="use a shorter name",
        )
    if not name.isidentifier():
        raise ExpressionError(
            f"The {what} {shortened(name)} is not a name",
            remedy="use symbols, digits and underscores, a symbol first",
        )
    if name.isascii():
        return
    normal = unicodedata.normalize("NFKC", name)
    if normal != name:
        raise ExpressionError(
            f"The {what} {shortened(name)} is spelt with characters that Unicode rewrites",
            remedy=f"write {normal}",
        )
    for character in name:
        latin = _LOOK_ALIKES.get(character)
        if latin is not None:
            raise ExpressionError(
                f"The {what} {shortened(name)} has a symbol that looks like the ASCII symbol"
                f" {latin}",
                seen=unicodedata.name(character, "unnamed").lower(),
                remedy=f"write {''.join(_LOOK_ALIKES.get(c, c) for c in name)} in ASCII symbols",
            )
