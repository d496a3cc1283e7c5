"""Docstrings as Markdown: prose, displayed equations, the sections of numpy's convention, and
examples.

A docstring is written to be read in a terminal. Here its symbols stay what they are (``x_dot*y`` is
no emphasis), what is indented becomes a block of its own, names in backticks become links where the
reference has them, and an example becomes a block of Python with what it prints.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator

__all__ = ["markdown_of", "sections_of", "summary_of"]

#: Sections whose entries are ``name : what it is`` with an indented explanation.
LISTED = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
SECTIONS = (*LISTED, "Notes", "References", "Examples")
#: Stands where an entry has no explanation; the style sheet leaves it out.
NOTHING = '<span class="nothing"></span>'
Link = Callable[[str], "str | None"]


def no_links(name: str) -> str | None:
    return None


def summary_of(docstring: str, link: Link = no_links) -> str:
    """The first paragraph on one line.

    >>> summary_of("The rate\\n of `x`.\\n\\nMore.")
    'The rate of `x`.'
    """
    first = docstring.strip().split("\n\n")[0]
    return inline(" ".join(first.split()), link)


def sections_of(docstring: str) -> Iterator[tuple[str, str]]:
    """The parts of a docstring by title; what comes first has none.

    >>> list(sections_of("A.\\n\\nReturns\\n-------\\nint"))
    [('', 'A.'), ('Returns', 'int')]
    """
    title, lines = "", list[str]()
    source = docstring.splitlines()
    skip = False
    for line, following in zip(source, [*source[1:], ""], strict=True):
        if skip:
            skip = False
        elif line in SECTIONS and re.fullmatch(r"-{3,}", following.strip()):
            yield title, "\n".join(lines).strip("\n")
            title, lines, skip = line, [], True
        else:
            lines.append(line)
    yield title, "\n".join(lines).strip("\n")


def markdown_of(docstring: str, link: Link = no_links) -> str:
    """The whole of a docstring.

    >>> print(markdown_of("It is\\n\\n    a*b\\n\\nwhere b_1 > 0."))
    It is
    <BLANKLINE>
    ```text
    a*b
    ```
    <BLANKLINE>
    where b\\_1 > 0.
    """
    parts = []
    for title, text in sections_of(docstring):
        if not text:
            continue
        if title:
            parts.append(f"**{title}**")
        parts.append(entries(text, link) if title in LISTED else prose(text, link))
    return "\n\n".join(parts)


def entries(text: str, link: Link) -> str:
    """A section of names and what they are, as a list of definitions.

    >>> print(entries("a, b : float\\n    Of the body.", no_links))
    `a, b` : float
    :   Of the body.
    <BLANKLINE>
    """
    found: list[str] = []
    for head, body in grouped(text):
        name, separator, kind = head.partition(" : ")
        if not separator:
            found.append(inline(head, link) if " " in head else link(head) or f"`{head}`")
        else:
            found.append(f"`{name}` : {typed(kind, link)}")
        explained = prose(body, link) if body else NOTHING
        found.append(":   " + textwrap.indent(explained, "    ").strip() + "\n")
    return "\n".join(found)


def typed(kind: str, link: Link) -> str:
    """What an argument is; classes that the reference has become links.

    >>> typed("Motion or `x`", {"Motion": "[M](m.md)"}.get)
    '[M](m.md) or `x`'
    """
    pieces = re.split(r"(`+[^`]+`+|\b[A-Z]\w+\b)", kind)
    return "".join(
        (link(piece) if piece[:1].isupper() else None) or inline(piece, link) for piece in pieces
    )


def grouped(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a section: a line at the margin, and what is indented below it."""
    head, body = "", list[str]()
    for line in text.splitlines():
        if line and not line.startswith(" "):
            if head:
                yield head, textwrap.dedent("\n".join(body)).strip("\n")
            head, body = line, []
        else:
            body.append(line)
    if head:
        yield head, textwrap.dedent("\n".join(body)).strip("\n")


def prose(text: str, link: Link) -> str:
    """Paragraphs, blocks that are indented, lists, and examples in the order in which they
    stand.
    """
    parts = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if block.strip() == "::":
            continue
        if ">>>" in block:
            parts.append(example(block))
        elif block.startswith("    "):
            parts.append(("```text", textwrap.dedent(block)))
        elif re.match(r"[-*] |\d+\. ", block):
            parts.append(("", inline(block, link)))
        else:
            parts.append(
                ("", inline(block.removesuffix("::") + (":" if block.endswith("::") else ""), link))
            )
    return joined(parts)


def example(block: str) -> tuple[str, str]:
    """A block of an example; an empty line of its output is written as doctest wants it."""
    return ("```pycon", block.replace("<BLANKLINE>", ""))


def joined(parts: list[tuple[str, str]]) -> str:
    """Blocks one after the other, neighbours of one kind in one fence."""
    lines: list[str] = []
    open_fence = ""
    for fence, text in parts:
        if open_fence and fence != open_fence:
            lines.append("```")
        lines += ["", fence, text] if fence and fence != open_fence else ["", text]
        open_fence = fence
    if open_fence:
        lines.append("```")
    return "\n".join(lines).strip("\n")


def inline(text: str, link: Link) -> str:
    """Text of a paragraph: what is in backticks is code or a link, everything else is shown as it
    is written.
    """
    text = text.replace("\\*", "*")
    pieces = re.split(r"(``[^`]+``|`[^`]+`)", text)
    return "".join(
        quoted(piece, link) if piece.startswith("`") else escaped(piece) for piece in pieces
    )


def quoted(piece: str, link: Link) -> str:
    name = piece.strip("`")
    return link(name.removesuffix("(...)")) or f"`{name}`"


def escaped(text: str) -> str:
    """Markdown that shows plain text as it is; names of pages become links.

    >>> escaped("x_dot * y < 3, see docs/methods.md")
    'x\\\\_dot \\\\* y &lt; 3, see [docs/methods.md](../../methods.md)'
    """
    text = re.sub(r"([*_$\\\[\]])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))
    return re.sub(r"\bdocs/([\w-]+\.md)", r"[docs/\1](../../\1)", text)
