"""Headings with labelled sentences, as plain text, Markdown and HTML."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence

__all__ = ["Section", "as_html", "as_markdown", "as_text"]

#: A heading, and lines of a label and a sentence.
Section = tuple[str, Sequence[tuple[str, str]]]

WIDTH = 110


def as_text(title: str, sections: Sequence[Section]) -> str:
    """Labels in one column, sentences wrapped beside them.

    >>> print(as_text("Pendulum", [("Freedom", [("rank", "1 of 1"), ("freedom", "2")])]))
    Pendulum
    <BLANKLINE>
    Freedom
      rank     1 of 1
      freedom  2
    """
    filled = [section for section in sections if section[1]]
    column = max((len(label) for _, lines in filled for label, _ in lines), default=0) + 4
    out = [title]
    for heading, lines in filled:
        out += ["", heading]
        for label, sentence in lines:
            first = f"  {label}".ljust(column)
            wrapper = textwrap.TextWrapper(WIDTH, initial_indent=first, subsequent_indent=" " * column)
            wrapper.break_long_words = wrapper.break_on_hyphens = False
            out.append(wrapper.fill(sentence))
    return "\n".join(out)


def as_markdown(title: str, sections: Sequence[Section]) -> str:
    """A table for each heading."""
    out = [f"### {title}"]
    for heading, lines in sections:
        if lines:
            out += ["", f"| {heading} | |", "| --- | --- |"]
            out += [f"| {_cell(label)} | {_cell(sentence)} |" for label, sentence in lines]
    return "\n".join(out)


def as_html(title: str, sections: Sequence[Section]) -> str:
    """One table with a row for each line."""
    rows = []
    for heading, lines in sections:
        if lines:
            rows.append(f'<tr><th colspan="2" style="text-align:left">{html.escape(heading)}</th></tr>')
            rows += [
                f'<tr><td style="text-align:left">{html.escape(label)}</td>'
                f'<td style="text-align:left">{html.escape(sentence)}</td></tr>'
                for label, sentence in lines
            ]
    return f"<table><caption>{html.escape(title)}</caption>{''.join(rows)}</table>"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
