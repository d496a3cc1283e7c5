"""Headings with labelled sentences as plain text, Markdown and HTML; self-printing results."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence

from ..model.text_width import wrapped

__all__ = ["Report", "Section", "as_html", "as_markdown", "as_text"]

#: A heading, and lines of a label and a sentence.
Section = tuple[str, Sequence[tuple[str, str]]]


class Report(ABC):
    """A result that a person reads: as text where it is printed, as a table in a notebook.

    >>> class Length(Report):
    ...     def _title(self):
    ...         return "Pendulum"
    ...
    ...     def _sections(self):
    ...         return [("Sizes", [("length", "1 m")])]
    >>> Length()
    Pendulum
    <BLANKLINE>
    Sizes
      length  1 m
    """

    @abstractmethod
    def _title(self) -> str:
        """What the result speaks of."""

    @abstractmethod
    def _sections(self) -> Sequence[Section]:
        """Headings, each with lines of a label and a sentence; those without lines are left out."""

    def text(self) -> str:
        """The result as plain text."""
        return as_text(self._title(), self._sections())

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._sections())

    def _repr_markdown_(self) -> str:
        return as_markdown(self._title(), self._sections())


def as_text(title: str, sections: Sequence[Section]) -> str:
    """Labels in one column, sentences wrapped beside them to the width of the terminal.

    >>> print(as_text("Pendulum", [("Freedom", [("rank", "1 of 1"), ("freedom", "2")])]))
    Pendulum
    <BLANKLINE>
    Freedom
      rank     1 of 1
      freedom  2
    """
    filled = [section for section in sections if section[1]]
    column = max((len(label) for _, lines in filled for label, _ in lines), default=0) + 4
    out, rest = [wrapped(title)], " " * column
    for heading, lines in filled:
        out += ["", heading]
        for label, sentence in lines:
            first = f"  {label}".ljust(column)
            out.append(wrapped(sentence, first, rest))
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
    rows, left = [], 'style="text-align:left"'
    for heading, lines in sections:
        if lines:
            rows.append(f'<tr><th colspan="2" {left}>{html.escape(heading)}</th></tr>')
        for label, sentence in lines:
            label, sentence = html.escape(label), html.escape(sentence)
            rows.append(f"<tr><td {left}>{label}</td><td {left}>{sentence}</td></tr>")
    return f"<table><caption>{html.escape(title)}</caption>{''.join(rows)}</table>"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
