"""The list of long tests names tests that exist."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTED = (ROOT / "tests/long_tests.txt").read_text(encoding="utf-8").splitlines()


def test_the_list_is_sorted_without_repetition() -> None:
    assert sorted(set(LISTED)) == LISTED


@pytest.mark.parametrize("file", sorted({node.partition("::")[0] for node in LISTED}))
def test_every_listed_test_exists(file: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    known = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    listed = [node.partition("[")[0] for node in LISTED if node.startswith(file)]
    named = {node.rpartition("::")[2] for node in listed}
    assert named <= known, f"take {sorted(named - known)} off tests/long_tests.txt"
