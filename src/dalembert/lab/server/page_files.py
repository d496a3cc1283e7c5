"""The files of the page, read from the package: none is served that is not listed there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ...plotting.page_bundle import MODULES

__all__ = ["PageFile", "PageFiles"]

#: The page of the lab, and the modules that it shares with the pages of reports.
FOLDERS = (Path(__file__).parents[1] / "page", MODULES)
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
}
MISSING = (
    b"<!doctype html><meta charset=utf-8><title>dalembert lab</title><p>The page is not"
    b" installed.</p>"
)


@dataclass(frozen=True)
class PageFile:
    """A file of the page as it is sent."""

    content: bytes
    media_type: str
    etag: str


class PageFiles:
    """The page by names of files, each read again when it has changed."""

    def __init__(self, *folders: Path) -> None:
        self.folders = folders or FOLDERS
        self._kept: dict[str, tuple[tuple[int, int], PageFile]] = {}

    def get(self, name: str) -> PageFile | None:
        """The file of that name in the folders, or None."""
        known = {path.name: path for path in self._listed()}
        path = known.get(name)
        if path is None:
            return _made(MISSING, ".html") if name == "index.html" else None
        state = path.stat()
        stamp = (state.st_mtime_ns, state.st_size)
        kept = self._kept.get(name)
        if kept is None or kept[0] != stamp:
            kept = self._kept[name] = (stamp, _made(path.read_bytes(), path.suffix))
        return kept[1]

    def _listed(self) -> list[Path]:
        found = [path for folder in self.folders if folder.is_dir() for path in folder.iterdir()]
        return [path for path in found if path.suffix in TYPES and path.is_file()]


def _made(content: bytes, suffix: str) -> PageFile:
    return PageFile(content, TYPES[suffix], f'"{hashlib.sha256(content).hexdigest()[:24]}"')
