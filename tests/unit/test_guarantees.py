"""The page of guarantees shows the figures of the last soak and names tests that exist; every
defect is on its page.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
DEFECTS_PAGE = (ROOT / "docs" / "defects.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"tests/[\w/]+\.py(?:::\w+)?", PAGE + DEFECTS_PAGE)))
DEFECTS = sorted((ROOT / "soak" / "defects").glob("*.toml"))


@cache
def names_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str) -> None:
    file, _, function = name.partition("::")
    assert (ROOT / file).exists(), name
    assert not function or function in names_in(ROOT / file), name


@pytest.mark.parametrize("path", DEFECTS, ids=lambda path: path.stem)
def test_every_defect_has_a_test_and_stands_on_the_page(path: Path) -> None:
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["defect"]
    assert rows
    for row in rows:
        assert row["what"].rstrip().endswith("."), row
        assert row["test"].split("[")[0] in NAMED, row
        assert f"`{row['test']}`" in DEFECTS_PAGE, row


def test_the_figures_are_those_of_the_last_soak() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "guarantees.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_part_of_the_soak_has_its_module_and_its_figures() -> None:
    sys.path.insert(0, str(ROOT))
    try:
        from soak.harness import PARTS

        for part, (module, minutes) in PARTS.items():
            assert find_spec(module) is not None, part
            assert minutes > 0
            assert f"<!-- figures: {part} -->" in PAGE
    finally:
        sys.path.remove(str(ROOT))
