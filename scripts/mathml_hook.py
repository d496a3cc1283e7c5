"""A hook of MkDocs: formulas between dollar signs become MathML, which browsers draw without any
script.

``$...$`` stands in a line of text, ``$$...$$`` on lines of its own. Code is left alone. The same
text is shown as formulas where Markdown files are read on a forge. Markdown never sees the MathML:
a formula travels through it as a word, which is exchanged when the page is HTML.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

#: Code, which is kept, or a displayed or an inline formula.
_PIECES = re.compile(
    r"(?P<code>^(?P<fence>```+).*?^(?P=fence)[ ]*$|`[^`\n]+`)"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|(?<![\w\\$])\$(?P<inline>[^$\n]+?)\$(?![\w$])",
    re.MULTILINE | re.DOTALL,
)


#: The name of a function, with its power, and a symbol right after it.
_FUNCTION = re.compile(
    r"(<mi>(?:sin|cos|tan|cot)</mi>|<msup><mi>(?:sin|cos|tan|cot)</mi><mrow>.*?</mrow></msup>)(?=(<m[ion]>|<mover>)?)"
)
_SPACE = '<mspace width="0.167em" />'
#: Browsers put the space of an operator around these two, which tears dL/dv apart.
_SLASH = '<mo lspace="0" rspace="0">&#x0002F;</mo>'


def converted(formula: str, display: str = "inline") -> str:
    """MathML of a formula: with the environment `aligned`, which the converter calls `split`, and
    with space around functions.

    >>> converted(r"\\begin{aligned} a &= b \\end{aligned}").count("<mtr>")
    1
    """
    mathml = convert(formula.replace("{aligned}", "{split}"), display=display)
    mathml = mathml.replace("<mo>&#x02202;</mo>", "<mi>&#x02202;</mi>").replace(
        "<mo>&#x0002F;</mo>", _SLASH
    )
    return _FUNCTION.sub(
        lambda match: f"{_SPACE}{match[1]}{_SPACE if match[2] in ('<mi>', '<mn>') else ''}", mathml
    )


class Formulas:
    """The formulas of one page."""

    def __init__(self) -> None:
        self.elements: list[str] = []

    def taken_out(self, markdown: str) -> str:
        """The Markdown text with words in place of its formulas.

        >>> Formulas().taken_out("`$x$` is kept, $x$ is not, 5 $ are no formula")
        '`$x$` is kept, formulanumber0end is not, 5 $ are no formula'
        """
        return _PIECES.sub(self._taken, markdown)

    def _taken(self, match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        word = f"formulanumber{len(self.elements)}end"
        if match["display"] is None:
            self.elements.append(converted(match["inline"]))
            return word
        self.elements.append(converted(match["display"].strip(), display="block"))
        return f'\n\n<div class="formula">{word}</div>\n\n'

    def put_back(self, html: str) -> str:
        """The HTML of the page with MathML in place of the words."""
        return re.sub(r"formulanumber(\d+)end", lambda match: self.elements[int(match[1])], html)


_pages: dict[str, Formulas] = {}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs for every page before Markdown reads it."""
    formulas = _pages[page.file.src_uri] = Formulas()
    return formulas.taken_out(markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Called by MkDocs for every page when it is HTML."""
    return _pages.pop(page.file.src_uri).put_back(html)
