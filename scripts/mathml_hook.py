"""A hook of MkDocs: formulas between dollar signs become MathML, which browsers draw without any script.

``$...$`` stands in a line of text, ``$$...$$`` on lines of its own. Code is left alone. The same text is shown as
formulas where Markdown files are read on a forge.
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


def with_mathml(markdown: str) -> str:
    """The Markdown text with its formulas as MathML elements.

    >>> with_mathml("`$x$` is kept, and so is 5 $")
    '`$x$` is kept, and so is 5 $'
    >>> with_mathml("$x$").startswith("<math")
    True
    """
    return _PIECES.sub(_replaced, markdown)


def _replaced(match: re.Match[str]) -> str:
    if match["code"] is not None:
        return match[0]
    if match["display"] is not None:
        return f'\n<div class="formula">{convert(match["display"].strip(), display="block")}</div>\n'
    return convert(match["inline"])


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return with_mathml(markdown)
