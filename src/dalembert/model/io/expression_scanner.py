"""The words of the expression language: text to tokens, with the place of each."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import sympy

from ...errors import ExpressionError
from ..names import check_name, shortened

__all__ = ["COMPARISONS", "RELATIONS", "Token", "fault_at", "number", "scan"]

LONGEST_TEXT = 100_000
MOST_TOKENS = 20_000
MOST_DIGITS = 400

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
RELATIONS = frozenset({"=", "==", "<", "<=", ">", ">="})

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<operator>\*\*|<=|>=|==|!=|//|[-+*/(),<>=])"
)
_STRANGERS = {
    "^": "write ** for a power",
    ".": "expressions have no attributes, and a number needs a digit beside its point",
    "[": "expressions have no indices and no lists",
    "{": "expressions have no sets and no tables",
    "'": "expressions have no strings",
    '"': "expressions have no strings",
    "%": "expressions have no remainder",
    "&": "nest one where(...) in another",
    "|": "use Abs(...) for a magnitude",
    "−": "write the ASCII sign -",
    "–": "write the ASCII sign -",
    "·": "write the ASCII sign *",
    "×": "write the ASCII sign *",
    "≤": "write <=",
    "≥": "write >=",
    "√": "write sqrt(...)",
    "²": "write **2",
    "³": "write **3",
}


class Token(NamedTuple):
    """A word, its kind ("number", "name", "operator", "end") and where it starts."""

    kind: str
    text: str
    position: int


def fault_at(what: str, text: str, position: int, remedy: str) -> ExpressionError:
    """An error that shows the surroundings of a place in the text."""
    start = max(position - 20, 0)
    end = position + 30
    excerpt = f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
    return ExpressionError(
        what, seen=f"{shortened(excerpt)} at character {position + 1}", remedy=remedy
    )


def scan(text: str) -> list[Token]:
    """All tokens of `text`, with a last one of kind "end".

    >>> [token.text for token in scan("2*x**2")]
    ['2', '*', 'x', '**', '2', '']
    """
    if not isinstance(text, str):
        raise ExpressionError(
            "An expression is text", seen=type(text).__name__, remedy="put it into quotes"
        )
    if len(text) > LONGEST_TEXT:
        raise ExpressionError(
            f"An expression has at most {LONGEST_TEXT} characters",
            seen=len(text),
            remedy="split it into parts",
        )
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            character = text[position]
            remedy = _STRANGERS.get(
                character, "use numbers, names, + - * / ** and the functions of the language"
            )
            raise fault_at(
                f"The character {character!a} is not in the language", text, position, remedy
            )
        kind, word = str(found.lastgroup), found.group()
        follower = text[found.end() : found.end() + 1]
        if kind == "number" and (follower.isalnum() or (follower and follower in "._")):
            raise fault_at(
                f"A number runs into {follower!r}",
                text,
                position,
                "write * between a number and a name",
            )
        if word == "//":
            raise fault_at("The language has no //", text, position, "write / for a quotient")
        if kind == "name":
            check_name(word)
        if kind != "space":
            tokens.append(Token(kind, word, position))
        if len(tokens) > MOST_TOKENS:
            raise ExpressionError(
                f"An expression has at most {MOST_TOKENS} words and signs",
                seen=shortened(text),
                remedy="split it into parts",
            )
        position = found.end()
    if not tokens:
        raise ExpressionError(
            "An expression is empty", seen=shortened(text), remedy="write 0 for nothing"
        )
    return [*tokens, Token("end", "", len(text))]


def number(token: Token, text: str) -> sympy.Expr:
    """The exact or floating number that a token states."""
    if len(token.text) > MOST_DIGITS:
        raise fault_at(
            f"A number has at most {MOST_DIGITS} digits", text, token.position, "write it shorter"
        )
    exact = token.text.isdigit()
    value = float(token.text)
    if math.isinf(value) or (value == 0 and re.search("[1-9]", re.split("[eE]", token.text)[0])):
        raise fault_at(
            "A number is outside the range of doubles", text, token.position, "choose other units"
        )
    return sympy.Integer(int(token.text)) if exact else sympy.Float(value)
