"""Printed results fit the reader's terminal."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap

__all__ = ["display_width", "wrapped", "wrapped_formula"]

#: The narrowest and widest text, and the widths of sentences and formulas without a terminal.
LEAST, MOST, ELSEWHERE, FORMULAS_ELSEWHERE = 60, 120, 110, 1_000_000


def display_width(elsewhere: int = ELSEWHERE) -> int:
    """Columns for printed text: those of the terminal, or of the variable COLUMNS, up to 120."""
    if "COLUMNS" not in os.environ and not (sys.stdout is not None and sys.stdout.isatty()):
        return elsewhere
    columns = shutil.get_terminal_size((ELSEWHERE, 24)).columns
    return min(max(columns, LEAST), MOST)


def wrapped_formula(text: str, first: str = "", rest: str = "    ") -> str:
    """A line with a formula, wrapped in a terminal; one line where there is none to fit."""
    return wrapped(text, first, rest, display_width(FORMULAS_ELSEWHERE))


def wrapped(text: str, first: str = "", rest: str = "", width: int | None = None) -> str:
    """Text broken at spaces, behind `first` in its first line and `rest` in the others.

    Where these take more than two thirds of the width, the text begins below `first`.

    >>> print(wrapped("x_ddot = a + b", "  rate  ", "        ", width=20))
      rate  x_ddot = a +
            b
    """
    width = display_width() if width is None else width
    if len(first) + len(text) <= width and "\n" not in text:
        return f"{first}{text}".rstrip()
    if len(rest) > 2 * width // 3:
        below = " " * 6
        return f"{first.rstrip()}\n{wrapped(text, below, below, width)}"
    wrapper = textwrap.TextWrapper(width, initial_indent=first, subsequent_indent=rest)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.fill(text)
