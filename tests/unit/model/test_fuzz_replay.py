"""Inputs that a search found: those that broke a guarantee, and some that reach corners of the
code.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

sys.path.insert(0, str(Path(__file__).parents[3]))
from soak.fuzz import CORPUS, REGRESSIONS
from soak.fuzz.bombs import expression_bombs, model_bombs
from soak.fuzz.targets import TARGETS, checked

#: Of the corpus, which `python -m soak bad-input` replays as a whole, every so many-th.
STRIDE = 10
SLOW_BOMBS = {
    "many extremes",
    "distributed sums",
    "magnitude of a product",
    "fine angles",
    "formulas in arrays",
    "long arrays",
}
SLOW_BOMBS |= {
    "fractions",
    "parameters in a row",
    "large matrix",
    "long string",
    "unknown names beside many",
    "many drawings",
}
BOMBS = [("expression", *bomb) for bomb in expression_bombs()] + [
    ("model", *bomb) for bomb in model_bombs()
]


def slow(bomb: tuple[str, str, str]) -> bool:
    """Whether a bomb takes more than a tenth of a second."""
    return bomb[0] == "model" or bomb[1] in SLOW_BOMBS


@pytest.mark.parametrize(
    "path", sorted(REGRESSIONS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_what_broke_a_guarantee_stays_mended(path: Path) -> None:
    checked(path.parent.name, path.read_bytes())


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_the_corpus_is_small_and_keeps_its_promises(target: str) -> None:
    paths = sorted((CORPUS / target).iterdir())
    assert 5 < len(paths) < 300 and sum(path.stat().st_size for path in paths) < 300_000
    for path in paths[::STRIDE]:
        checked(target, path.read_bytes())


@pytest.mark.parametrize(
    ("target", "label", "text"),
    [bomb for bomb in BOMBS if not slow(bomb)],
    ids=lambda x: str(x)[:30],
)
def test_bombs_are_read_or_refused_in_time(target: str, label: str, text: str) -> None:
    checked(target, text.encode())


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "label", "text"), [bomb for bomb in BOMBS if slow(bomb)], ids=lambda x: str(x)[:30]
)
def test_slower_bombs_are_read_or_refused_in_time(target: str, label: str, text: str) -> None:
    checked(target, text.encode())
