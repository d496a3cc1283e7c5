"""What is printed fits terminals of 80 and of 120 columns."""

from __future__ import annotations

import pytest

import dalembert as da
from dalembert.model.text_width import display_width, wrapped


@pytest.mark.parametrize("columns", [80, 120])
def test_displays_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    board, cart = da.gallery.load("snakeboard"), da.gallery.load("cart-pendulum")
    lagrange = da.derive(board.system, "lagrange")
    linear = da.linearise(cart.system, {"phi": 0.0}, parameters=cart.parameters)
    shown = [board, board.system, lagrange, cart, cart.system, linear]
    for one in shown:
        lines = repr(one).splitlines()
        assert max(map(len, lines)) <= columns, lines
    joined = " ".join(repr(lagrange).split())
    for line in lagrange.text().splitlines():
        assert " ".join(line.split()) in joined


@pytest.mark.long
@pytest.mark.parametrize("columns", [80, 120])
def test_tables_of_symmetries_fit_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    bodies = da.gallery.load("three-planar-bodies")
    disk = da.gallery.load("rolling-disk")
    shown = [
        da.symmetry.discover_symmetries(bodies.system),
        da.symmetry.discover_symmetries(disk.system),
        bodies.system.describe(),
        disk.system.describe(),
    ]
    for one in shown:
        assert max(map(len, repr(one).splitlines())) <= columns


def test_the_width_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, expected in (("20", 60), ("100", 100), ("400", 120)):
        monkeypatch.setenv("COLUMNS", columns)
        assert display_width() == expected
    monkeypatch.delenv("COLUMNS")
    assert display_width() == 110


def test_text_begins_below_a_wide_label() -> None:
    label = "  " + 30 * "n" + "  "
    found = wrapped("a + b + c + d + e + f + g + h", label, " " * len(label), width=40)
    assert found.splitlines() == [label.rstrip(), "      a + b + c + d + e + f + g + h"]
