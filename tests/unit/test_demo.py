"""`make demo` shows what it guarantees, and says in a sentence what it cannot show."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "demo.py"


@pytest.fixture
def demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = runpy.run_path(str(SCRIPT), run_name="demo")
    monkeypatch.setitem(parts["main"].__globals__, "FOLDER", tmp_path / "demo")
    return parts


def test_demo_runs_to_its_end_and_leaves_its_files(demo, tmp_path, capsys):
    assert demo["main"]() == 0
    printed = capsys.readouterr().out
    assert "could not be shown" not in printed
    for word in (
        "rolling_x",
        "mu_rolling_x",
        "energy drifts by at most",
        "differs by at most",
        "friction coefficient",
    ):
        assert word in printed
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "animation.gif",
        "motion.nc",
        "motion.png",
    ]


def test_a_part_that_fails_is_a_sentence_and_the_rest_goes_on(demo, capsys):
    show = demo["Show"]()

    def broken():
        raise ImportError("No module named 'casadi'")

    assert show.part("A title", broken) is None
    assert show.part("Another", lambda: 7) == 7
    assert show.failed == ["A title"]
    assert "This part could not be shown: No module named 'casadi'" in capsys.readouterr().out
