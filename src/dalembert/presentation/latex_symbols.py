"""Characters beyond ASCII in LaTeX: Greek ones by their commands, so that every engine sets them;
others are declared.
"""

from __future__ import annotations

__all__ = ["GREEK", "GREEK_NAMES", "declared_symbols"]

_SMALL = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma"
    " sigma tau upsilon phi chi psi omega"
)
_CAPITAL = {
    "Γ": "Gamma",
    "Δ": "Delta",
    "Θ": "Theta",
    "Λ": "Lambda",
    "Ξ": "Xi",
    "Π": "Pi",
    "Σ": "Sigma",
    "Φ": "Phi",
}

#: The command of each Greek character that a name may have.
GREEK = {
    chr(0x3B1 + place): rf"\{word}" for place, word in enumerate(_SMALL.split()) if word != "o"
}
GREEK |= {symbol: rf"\{word}" for symbol, word in (_CAPITAL | {"Ψ": "Psi", "Ω": "Omega"}).items()}
#: The names of the lower-case ones, longer ones before those that they contain.
GREEK_NAMES = tuple(
    sorted({c[1:] for c in GREEK.values() if c[1:].islower()}, key=lambda word: (-len(word), word))
)


def declared_symbols(text: str) -> str:
    r"""Lines of a preamble for symbols that pdflatex does not know; those of other scripts are
    shown by their numbers.

    >>> print(declared_symbols("σ and ж, é"))
    \ifdefined\DeclareUnicodeCharacter
    \DeclareUnicodeCharacter{0436}{\mbox{[U+0436]}}
    \DeclareUnicodeCharacter{03C3}{\ensuremath{\sigma}}
    \fi
    <BLANKLINE>
    """
    unknown = {c for c in text if ord(c) > 0x17F and not 0x2010 <= ord(c) <= 0x2026}
    lines = []
    for c in sorted(unknown, key=lambda c: (c in GREEK, c)):
        shown = rf"\ensuremath{{{GREEK[c]}}}" if c in GREEK else rf"\mbox{{[U+{ord(c):04X}]}}"
        lines.append(rf"\DeclareUnicodeCharacter{{{ord(c):04X}}}{{{shown}}}")
    return "\n".join([r"\ifdefined\DeclareUnicodeCharacter", *lines, r"\fi", ""]) if lines else ""
