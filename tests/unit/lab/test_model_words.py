"""The words that the page explains are those that the reader of model files knows."""

from __future__ import annotations

import re
from pathlib import Path

from dalembert.model.io.expression_rules import FUNCTIONS
from dalembert.model.io.file_reader import MODEL_KEYS

PAGE = Path(__file__).parents[3] / "src" / "dalembert" / "lab" / "page" / "model_words.js"


def words(table: str) -> set[str]:
    text = PAGE.read_text(encoding="utf-8")
    block = re.search(rf"const {table} = \[(.*?)\n\];", text, re.DOTALL)
    assert block is not None
    return set(re.findall(r'(?:^  |\], )\["(\w+)",', block[1], re.MULTILINE))


def test_keys_and_tables_are_those_of_the_reader() -> None:
    assert words("KEYS") | words("TABLES") == set(MODEL_KEYS)


def test_functions_are_those_of_expressions() -> None:
    assert words("FUNCTIONS") == {name for name in FUNCTIONS if name.islower()}
