"""JavaScript modules of pages as one script, for pages that are a single file."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["MODULES", "bundle"]

#: The modules that the lab, live reports and the notebook viewer share.
MODULES = Path(__file__).parent / "page_modules"

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


def bundle(entry: str) -> str:
    """The script of a module and of all that it imports, each in a scope of its own.

    The names that `entry` exports are those of the constant ``page``.

    >>> "import" in bundle("names").split()
    False
    """
    done: dict[str, str] = {}

    def write(name: str) -> None:
        if name in done:
            return
        text = (MODULES / f"{name}.js").read_text(encoding="utf-8")
        for _, other in _IMPORT.findall(text):
            write(other)
        exported = ", ".join(_EXPORT.findall(text))
        body = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {found[2]}Module;\n", text)
        body = _EXPORT.sub("", body)
        done[name] = f"const {name}Module = (() => {{\n{body}return {{ {exported} }};\n}})();\n"

    write(entry)
    return "".join(done.values()) + f"const page = {entry}Module;\n"
