"""With --json every wrong call prints one JSON object with `error`, and exits with status 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dalembert.cli import main

PARTICLE = 'coordinates = ["x", "y"]\nkinetic = "(x_dot**2 + y_dot**2)/2"\n'
FILES = {
    "broken.toml": "coordinates = [",
    "hostile.urdf": "<link/>",
    "hostile.xml": "<i/>",
    "contradictory.toml": PARTICLE + 'constraints = ["x = 0", "x = 1"]\n[simulate]\nt = [0, 1]\n',
    "no-inertia.toml": 'coordinates = ["x"]\npotential = "x**2"\n[simulate]\nt = [0, 1]\n',
}
READERS = {
    "run": [],
    "derive": ["--form", "lagrange"],
    "check": [],
    "sweep": ["--over", "x=0:1:2", "-o", "runs.zarr"],
    "plot": [],
    "rerun": [],
    "export": [],
    "bergmann": [],
}
CALLS = [
    [command, name, *options]
    for command, options in READERS.items()
    for name in ("missing.toml", "broken.toml", "hostile.urdf", "hostile.xml")
]
CALLS += [[command, "--no-such-option"] for command in (*READERS, "new", "gallery", "doctor")]
CALLS += [["run", "contradictory.toml"], ["check", "contradictory.toml"], ["verify", "no-such-row"]]
CALLS += [["run", "no-inertia.toml"], ["run", "pendulum", "-o", "missing-folder/out.nc"]]


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_a_wrong_call_prints_its_error_as_json(
    call: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    status = main([*call, "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert status == 2
    assert set(printed["error"]) == {"what", "seen", "remedy"}
    assert printed["error"]["what"]
