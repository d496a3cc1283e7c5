r"""Long formulas on a page: how wide LaTeX sets them, where they may be broken, and displays that
stay within the margins.

Formulas come from `typeset`, which writes sums as ``a + b - c`` with blanks around the signs. They
are broken there, at the top level first, then inside the widest bracket; a fraction with a long
numerator becomes ``1/d (...)`` for that. What can be broken nowhere is scaled down.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .latex_symbols import GREEK

__all__ = ["Pair", "align", "escaped", "matrix", "paragraph", "table", "verbatim", "width"]

Pair = tuple[str, str]

#: The width of a line in points, at ten points with the margins of the document, without and with
#: an equation number.
ROOM, NUMBERED_ROOM = 446.0, 414.0
#: A left side wider than this share of the line stands on lines of its own.
LONG_LEFT = 0.36
INDENT = 22.0

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
_FUNCTIONS = {
    r"\sin",
    r"\cos",
    r"\tan",
    r"\cot",
    r"\log",
    r"\exp",
    r"\sinh",
    r"\cosh",
    r"\tanh",
    r"\max",
    r"\min",
}
_WIDTHS = {
    " ": 0.0, "+": 12.4, "-": 12.4, "=": 13.5, r"\,": 1.7, r"\quad": 10.0, r"\qquad": 20.0,
    "(": 3.9, ")": 3.9, "[": 2.8, "]": 2.8, ",": 4.5, ".": 2.8, "m": 8.8, "w": 7.2, "M": 10.8,
    "W": 10.5, "i": 3.4, "l": 3.2, "j": 4.2, "t": 3.6, "r": 4.6, r"\cdot": 7.2, r"\left": 3.4,
    r"\right": 3.4, r"\Bigl": 2.5, r"\Bigr": 2.5, r"\displaystyle": 0.0, r"\cdots": 12.0,
    r"\mathsf": 0.0, r"\mathrm": 0.0, r"\text": 0.0, r"\dot": 0.0, r"\ddot": 0.0, r"\mathbf": 0.0,
    r"\psi": 6.6, r"\le": 12.0,
}  # fmt: skip


# -- how wide --------------------------------------------------------------------------------------


def width(formula: str) -> float:
    r"""The width of a formula in display style, in points, somewhat overestimated.

    >>> width("x") < width("x + y") < width(r"\frac{x + y}{2} + y")
    True
    """
    tokens = _TOKEN.findall(formula)
    total, _ = _measured(tokens, 0, len(tokens))
    return total


def _measured(tokens: Sequence[str], start: int, end: int) -> tuple[float, int]:
    total, place = 0.0, start
    while place < end:
        token = tokens[place]
        if token == r"\frac":
            above, place = _argument(tokens, place + 1)
            below, place = _argument(tokens, place)
            total += max(above, below) + 2.6
        elif token in ("^", "_"):
            inner, place = _argument(tokens, place + 1)
            total += 0.75 * inner + 0.6
        elif token == r"\sqrt":
            inner, place = _argument(tokens, place + 1)
            total += inner + 8.5
        elif token == "{":
            inner, place = _argument(tokens, place)
            total += inner
        else:
            total += _symbol_width(token)
            place += 1
    return total, place


def _argument(tokens: Sequence[str], place: int) -> tuple[float, int]:
    """The width of a group, or of one token, and the place after it."""
    while place < len(tokens) and tokens[place] == " ":
        place += 1
    if place >= len(tokens) or tokens[place] != "{":
        return _measured(tokens, place, min(place + 1, len(tokens)))
    end = _closing(tokens, place)
    inner, _ = _measured(tokens, place + 1, end)
    return inner, end + 1


def _closing(tokens: Sequence[str], place: int) -> int:
    depth = 0
    for k in range(place, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[k], 0)
        if depth == 0:
            return k
    return len(tokens) - 1


def _symbol_width(token: str) -> float:
    if token in _WIDTHS:
        return _WIDTHS[token]
    if token in _FUNCTIONS:
        return 5.2 * (len(token) - 1) + 2.0
    return 5.2 if token.isdigit() else 6.4


# -- where it is broken ----------------------------------------------------------------------------


def broken(formula: str, room: float) -> list[str]:
    """A formula as lines that fit into the room, or are scaled down to it."""
    lines: list[str] = []
    for piece in _pieces(formula, room):
        together = f"{lines[-1]} {piece}" if lines else piece
        if lines and width(together) <= room:
            lines[-1] = together
        else:
            lines.append(piece)
    return [line if width(line) <= room else _scaled(line, room) for line in lines]


def _scaled(line: str, room: float) -> str:
    sign, rest = (line[:2], line[2:]) if line.startswith(("+ ", "- ")) else ("", line)
    return rf"{sign}\scalebox{{{room / width(line):.3f}}}{{$\displaystyle {rest}$}}"


def _pieces(formula: str, room: float) -> list[str]:
    """The terms of a sum, each with its sign; terms that are too wide are opened at their widest
    bracket.
    """
    if width(formula) <= room:
        return _terms(formula)
    found: list[str] = []
    for term in _terms(formula):
        opened = _opened(term) if width(term) > room else None
        if opened is None:
            found.append(term)
            continue
        before, inside, after = opened
        parts = _terms(inside)
        parts[0], parts[-1] = before + parts[0], parts[-1] + after
        for part in parts:
            found += _pieces(part, room) if len(parts) > 1 and width(part) > room else [part]
    return found


def _terms(formula: str) -> list[str]:
    """A sum cut at its signs, ``['a', '+ b', '- c']``."""
    cuts, depth, tokens, at = [0], 0, _TOKEN.findall(formula), 0
    loose = False
    for k, token in enumerate(tokens):
        if token in ("{", "(", "[") and not loose:
            depth += 1
        elif token in ("}", ")", "]") and not loose:
            depth -= 1
        elif (
            token in ("+", "-")
            and depth <= 0
            and at
            and k
            and tokens[k - 1] == " "
            and formula[at + 1 : at + 2] == " "
        ):
            cuts.append(at)
        loose = token in (r"\Bigl", r"\Bigr")
        at += len(token)
    return [formula[a:b].strip() for a, b in zip(cuts, [*cuts[1:], len(formula)], strict=True)]


def _opened(term: str) -> tuple[str, str, str] | None:
    """What stands before, inside and after the widest bracket or numerator of a product with a sum
    in it.
    """
    best: tuple[float, str, str, str] | None = None
    for before, inside, after in (*_brackets(term), *_numerators(term)):
        size = width(inside)
        if len(_terms(inside)) > 1 and (best is None or size > best[0]):
            best = (size, before, inside, after)
    return best[1:] if best is not None else None


def _brackets(term: str) -> list[tuple[str, str, str]]:
    """Every bracket of the product that may be opened."""
    found = []
    for match in re.finditer(r"(\\left)?\(", term):
        if term[: match.start()].endswith((r"\Bigl", "^", "_")) or not _is_level(
            term[: match.start()]
        ):
            continue
        end = _partner(term, match.end() - 1)
        if end is not None:
            inside = term[match.end() : end].removesuffix(r"\right")
            found.append(
                (term[: match.start()] + r"\Bigl(", inside.strip(), r"\Bigr)" + term[end + 1 :])
            )
    return found


def _numerators(term: str) -> list[tuple[str, str, str]]:
    """Every fraction of the product as 1/d and a bracket."""
    found = []
    for match in re.finditer(r"\\frac", term):
        if not _is_level(term[: match.start()]):
            continue
        tokens = _TOKEN.findall(term[match.end() :])
        above_end = _closing(tokens, 0)
        below_end = _closing(tokens, above_end + 1)
        above, below = "".join(tokens[1:above_end]), "".join(tokens[above_end + 1 : below_end + 1])
        rest = "".join(tokens[below_end + 1 :])
        start = term[: match.start()]
        found.append((start + rf"\frac{{1}}{below}\,\Bigl(", above, r"\Bigr)" + rest))
        for before, inside, after in _brackets(above) if len(_terms(above)) == 1 else []:
            before, plain = before.removesuffix(r"\Bigl(").strip(), after == r"\Bigr)"
            lead = (
                rf"\frac{{{before or '1'}}}{below}\," if plain else rf"\frac{{1}}{below}\,{before} "
            )
            found.append((start + lead + r"\Bigl(", inside, after + rest))
    return found


def _is_level(before: str) -> bool:
    """Whether nothing is open at the end of a piece of a formula, but brackets that were broken."""
    plain = re.sub(r"\\Big[lr].", "", before)
    return all(plain.count(a) <= plain.count(b) for a, b in ("{}", "()"))


def _partner(term: str, start: int) -> int | None:
    depth, loose = 0, False
    at = start
    for token in _TOKEN.findall(term[start:]):
        if not loose:
            depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0:
            return at
        loose = token in (r"\Bigl", r"\Bigr")
        at += len(token)
    return None


# -- displays --------------------------------------------------------------------------------------


def align(pairs: Sequence[Pair], numbered: bool = False) -> str:
    """Equations left = right as one display that may be broken between pages; an equation without a
    left side is a formula.
    """
    room = NUMBERED_ROOM if numbered else ROOM
    lefts = [width(left) for left, _ in pairs]
    if max(lefts) <= LONG_LEFT * room:
        rows = [_aligned_rows(pair, room - max(lefts) - 16) for pair in pairs]
    else:
        rows = [_stacked_rows(pair, room) for pair in pairs]
    lines = [
        line + (r" \notag" if numbered and k < len(group) - 1 else "")
        for group in rows
        for k, line in enumerate(group)
    ]
    name = "align" if numbered else "align*"
    return f"\\begin{{{name}}}\n" + " \\\\\n".join(lines) + f"\n\\end{{{name}}}\n"


def _aligned_rows(pair: Pair, room: float) -> list[str]:
    left, right = pair
    sign = "= " if left else ""
    if width(right) <= room:
        return [f"{left} &{sign}{right}"]
    lines = broken(right, room - INDENT)
    return [f"{left} &{sign}{lines[0]}", *(rf"&\quad {line}" for line in lines[1:])]


def _stacked_rows(pair: Pair, room: float) -> list[str]:
    """The left side first, on as many lines as it takes, then the right one."""
    left, right = pair
    whole = f"{left} = {right}" if left else right
    if width(whole) <= room - INDENT:
        return [f"& {whole}"]
    first = broken(left, room - INDENT) if left else []
    second = broken(right, room - 3 * INDENT)
    rows = [f"& {line}" if k == 0 else rf"&\quad {line}" for k, line in enumerate(first)]
    return rows + [
        rf"&\quad {'= ' if left else ''}{line}" if k == 0 else rf"&\qquad\quad {line}"
        for k, line in enumerate(second)
    ]


def matrix(name: str, entries: Sequence[Sequence[str]], symmetric: bool = False) -> str:
    """A matrix in brackets where it fits, else its entries that do not vanish, by place."""
    columns = list(zip(*entries, strict=True))
    needed = (
        sum(max(width(entry) for entry in column) + 10 for column in columns) + width(name) + 40
    )
    tall = any(r"\frac" in entry for row in entries for entry in row)
    if needed <= ROOM and len(columns) <= 10:
        gap = r" \\[4pt]" if tall else r" \\"
        body = f"{gap}\n".join(" & ".join(row) for row in entries)
        return (
            f"\\begin{{equation*}}\n{name} ="
            f" \\begin{{pmatrix}}\n{body}\n\\end{{pmatrix}}\n\\end{{equation*}}\n"
        )
    pairs = [
        (f"{name}_{{{i + 1}{',' if len(columns) > 9 else ''}{j + 1}}}", entry)
        for i, row in enumerate(entries)
        for j, entry in enumerate(row)
        if entry != "0" and (not symmetric or j >= i)
    ]
    what = "Entries that are not listed vanish" + (
        f", and ${name}$ is symmetric." if symmetric else "."
    )
    return (align(pairs) if pairs else "") + what + "\n"


def table(collected: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in the manner of booktabs; the last column takes the room that is left."""
    columns = "l" * (len(collected) - 1) + r"p{0.56\linewidth}"
    body = " \\\\\n".join(" & ".join(row) for row in rows)
    begin = f"\\begin{{center}}\n\\begin{{tabular}}{{@{{}}{columns}@{{}}}}\n\\toprule\n"
    return (
        f"{begin}{' & '.join(collected)} \\\\\n\\midrule\n{body}"
        " \\\\\n\\bottomrule\n\\end{tabular}\n\\end{center}\n"
    )


# -- words -----------------------------------------------------------------------------------------

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def escaped(words: str) -> str:
    """Plain words for LaTeX.

    >>> escaped("back_wheels & 50%")
    'back\\\\_wheels \\\\& 50\\\\%'
    """
    quoted = re.sub(r'"([^"]*)"', r"``\1''", words).replace('"', "''")
    printable = (c if c.isprintable() else " " for c in quoted)  # an empty line would end a formula
    greek = {c: rf"\ensuremath{{{command}}}" for c, command in GREEK.items()}
    return "".join((_SPECIAL | greek).get(c, rf"\{c}" if c in "_%&#${}" else c) for c in printable)


def paragraph(*sentences: str) -> str:
    """Sentences as a new paragraph."""
    return "\n" + " ".join(sentence for sentence in sentences if sentence) + "\n"


def verbatim(listing: str) -> str:
    """A listing in small type, which nothing in it can end."""
    listing = listing.replace("\\end{verbatim}", "\\end {verbatim}")
    return f"{{\\footnotesize\n\\begin{{verbatim}}\n{listing.rstrip()}\n\\end{{verbatim}}\n}}\n"
