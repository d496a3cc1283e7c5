"""Tutorials as Jupyter notebooks: prose as Markdown cells, Python as code cells with the output
that the page prints. `make docs` writes them beside the pages; the tests run them.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

__all__ = ["notebook_of", "write_notebooks"]

_FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```[ ]*\n?", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)(\{[^}]*\})?")
_HTML = re.compile(r"^</?div[^>]*>\n?", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)")


def write_notebooks(tutorials: Path, folder: Path) -> list[Path]:
    """Write every tutorial of a folder but its index; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in sorted(tutorials.glob("*.md")):
        if page.stem == "index":
            continue
        target = folder / f"{page.stem}.ipynb"
        text = json.dumps(notebook_of(page.read_text(encoding="utf-8")), indent=1)
        target.write_text(text + "\n", encoding="utf-8")
        written.append(target)
    return written


def notebook_of(text: str) -> dict[str, Any]:
    """The notebook of a page in Markdown."""
    cells: list[dict[str, Any]] = []
    place = 0
    for fence in _FENCE.finditer(text):
        prose = text[place : fence.start()]
        language, body = fence.groups()
        is_output = language == "text" and not prose.strip() and cells and is_code(cells[-1])
        place = fence.end()
        if is_output:
            stream = {"output_type": "stream", "name": "stdout", "text": body}
            cells[-1]["outputs"] = [stream]
            continue
        _add_prose(cells, prose)
        if language == "python":
            cells.append(_cell(len(cells), "code", body.rstrip("\n")))
        else:
            _add_prose(cells, fence[0])
    _add_prose(cells, text[place:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def is_code(cell: dict[str, Any]) -> bool:
    """Whether a cell is Python."""
    return bool(cell["cell_type"] == "code")


def _add_prose(cells: list[dict[str, Any]], prose: str) -> None:
    """A Markdown cell without what only the site has: pictures, frames, links between pages."""
    plain = _LINK.sub(r"\1", _HTML.sub("", _PICTURE.sub(r"*\1*", prose))).strip()
    if not plain:
        return
    if cells and not is_code(cells[-1]):
        cells[-1]["source"] += f"\n\n{plain}"
    else:
        cells.append(_cell(len(cells), "markdown", plain))


def _cell(number: int, kind: str, source: str) -> dict[str, Any]:
    name = hashlib.sha256(f"{number} {source}".encode()).hexdigest()[:8]
    cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": {}, "source": source}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
