"""``--json-lines``: progress while a command runs, then the object of ``--json``; every line is
JSON, and of a failure too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import SLEIGH

from dalembert.cli import main, terminal


def lines(capsys: Any, *arguments: object) -> tuple[int, list[dict[str, Any]]]:
    status = main([str(part) for part in arguments])
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def sleigh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(terminal, "BETWEEN_LINES", 0.0)
    path = tmp_path / "sleigh.toml"
    path.write_text(SLEIGH)
    return path


def test_a_run_tells_its_progress_and_then_what_json_prints(sleigh: Path, capsys: Any) -> None:
    _, [alone] = lines(capsys, "run", sleigh, "--t", "0,500", "--at", "0,500", "--json")
    status, found = lines(capsys, "run", sleigh, "--t", "0,500", "--at", "0,500", "--json-lines")
    *progress, last = found
    assert status == 0 and len(progress) > 1
    parts = [line["progress"] for line in progress]
    assert parts == sorted(parts) and parts[0] >= 0 and parts[-1] <= 1
    assert all(0 <= line["t"] <= 500 for line in progress)
    assert last["state"] == alone["state"] and last["outcome"] == "finished"


def test_a_sweep_tells_its_progress(sleigh: Path, tmp_path: Path, capsys: Any) -> None:
    over = ["--over", "m=1:2:8", "-o", tmp_path / "runs.zarr"]
    status, found = lines(capsys, "sweep", sleigh, *over, "--chunk", "2", "--json-lines")
    assert status == 0 and [line["progress"] for line in found[:-1]] and "runs" in str(found[-1])


def test_a_failure_is_a_line_too(sleigh: Path, capsys: Any) -> None:
    status, found = lines(capsys, "run", sleigh, "--set", "no_such=1", "--json-lines")
    assert status == 2 and list(found[-1]) == ["error"]
