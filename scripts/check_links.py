"""Check the links of the built site: every file that a page names is there, and every anchor is on
the page it points to.

MkDocs looks at the Markdown; this looks at what came out, pictures, scripts and generated pages
included. Addresses elsewhere are not asked: the check needs no network.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Page", "broken_links"]


class Page(HTMLParser):
    """The anchors of a page and the addresses that it names.

    >>> page = Page.of('<h2 id="a">A</h2> <a href="b.html#c">b</a> <img src="p.png">')
    >>> sorted(page.anchors), page.targets
    (['a'], ['b.html#c', 'p.png'])
    """

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []

    @classmethod
    def of(cls, html: str) -> Page:
        page = cls()
        page.feed(html)
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)
            elif value and (name == "src" or (name == "href" and tag in ("a", "link"))):
                self.targets.append(value)


def broken_links(site: Path) -> list[str]:
    """A sentence for each link of a site that leads nowhere."""

    @cache
    def page(path: Path) -> Page:
        return Page.of(path.read_text(encoding="utf-8"))

    found = []
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":
            continue
        for target in page(path).targets:
            address = urlsplit(target)
            if address.scheme or address.netloc:
                continue
            place = (path.parent / unquote(address.path)).resolve() if address.path else path
            place = place / "index.html" if place.is_dir() else place
            here = path.relative_to(site)
            if not place.exists():
                found.append(f"{here}: {target} is not there")
            elif (
                address.fragment
                and place.suffix == ".html"
                and unquote(address.fragment) not in page(place).anchors | {"__top"}
            ):
                found.append(f"{here}: {target} has no such anchor")
    return sorted(set(found))


def main() -> int:
    """Check the folder that is named, site/ by default."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "site"
    broken = broken_links(site.resolve())
    print("\n".join(broken) or f"{len(list(site.rglob('*.html')))} pages, no broken link")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
