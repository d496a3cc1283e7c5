"""The table of texts has every text of the page in every language, with the same places."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

PAGE = Path(__file__).parents[3] / "src" / "dalembert" / "lab" / "page"
#: Names, keys and signs that every language has.
SAME = {
    *("Snakeboard", "dalembert", "lab", "dalembert lab", "model.toml", "t = 0", "•"),
    *("Ctrl+Enter", "Ctrl+S", "Ctrl+Z", "Ctrl+Shift+Z", "The lab needs JavaScript."),
}


def rows() -> list[list[str]]:
    text = (PAGE / "texts.js").read_text(encoding="utf-8")
    return [json.loads(line.strip().rstrip(",")) for line in re.findall(r"^  \[.*$", text, re.M)]


class Texts(HTMLParser):
    """The texts of a page, and those of its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = ("aria-label", "title", "placeholder")
        self.found |= {value for name, value in attrs if name in told and value}

    def handle_data(self, data: str) -> None:
        self.found |= {data.strip()} - {""}


def test_every_row_has_five_texts_with_the_same_places() -> None:
    found = rows()
    assert len(found) > 180
    for row in found:
        assert len(row) == 5 and all(row), row
        assert {text.count("{}") for text in row} == {row[0].count("{}")}, row
    english = [row[0] for row in found]
    assert len(english) == len(set(english))


def test_every_text_of_the_page_is_in_the_table() -> None:
    page = Texts()
    page.feed((PAGE / "index.html").read_text(encoding="utf-8"))
    assert page.found - {row[0] for row in rows()} - SAME == set()


def test_texts_that_the_modules_write_are_in_the_table() -> None:
    """Those that stand in an element, a label or a choice between two words."""
    known = {row[0] for row in rows()}
    written: set[str] = set()
    for path in sorted(PAGE.glob("*.js")):
        if path.name in ("texts.js", "model_words.js", "translation.js"):
            continue
        text = path.read_text(encoding="utf-8")
        written |= set(re.findall(r'h\("\w+", \{[^}]*\}, "([A-Z][^"]{3,})"', text))
        written |= set(re.findall(r'textContent = (?:[^"\n]*\? )?"([A-Z][^"]+)"', text))
        written |= set(re.findall(r'empty: [^"\n]*"([A-Z][^"]+)"', text))
    assert len(written) > 10
    assert written - known == set()
