"""The source documents and the modules with their rows, in the order of the table."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

__all__ = ["DOCUMENTS", "Document"]


class Document(NamedTuple):
    """A source document: its title, the package of its rows, and the section of each module."""

    title: str
    package: str
    sections: dict[str, str]


#: The source documents by the symbol that their ids start with, from the file beside this module.
DOCUMENTS = {
    symbol: Document(**words)
    for symbol, words in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
