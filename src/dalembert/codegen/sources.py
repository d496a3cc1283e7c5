"""A digest of the library's own sources, for what the cache keeps without its full derivation."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__all__ = ["PACKAGE", "sources_digest"]

#: The folder of the package.
PACKAGE = Path(__file__).resolve().parents[1]


@cache
def sources_digest(*parts: str) -> str:
    """The content of all modules in folders of the package, as one digest.

    >>> len(sources_digest("codegen"))
    64
    """
    digest = hashlib.sha256()
    for part in parts:
        for path in sorted((PACKAGE / part).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
