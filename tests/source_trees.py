"""The source files of the library as syntax trees, each parsed and walked once for all tests."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import dalembert

SOURCE = Path(dalembert.__file__).parent
FILES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


@cache
def tree_of(file: str) -> ast.Module:
    """The tree of a file that is named by its path in the library."""
    return ast.parse((SOURCE / file).read_text(encoding="utf-8"))


@cache
def nodes_of(file: str) -> tuple[ast.AST, ...]:
    """Imports, calls and stored names of a file, the nodes that tests ask for."""
    return tuple(node for node in ast.walk(tree_of(file)) if is_asked_for(node))


def is_asked_for(node: ast.AST) -> bool:
    return isinstance(node, ast.Call | ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
