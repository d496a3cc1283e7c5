"""`scripts/freeze.py` reproduces its goldens, and finds and names what differs from them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dalembert as da
from dalembert.integrate.methods.table import external_methods, method_names

SCRIPTS = Path(__file__).parents[2] / "scripts"
SYSTEM = "sphere-geodesic"


@pytest.fixture
def freeze(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, whose part `cli` is one system and one wrong call."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    script, parts = import_module("freeze"), import_module("freeze_parts")
    monkeypatch.setattr(script, "own_cache", nullcontext)  # to spare the compilation
    monkeypatch.setattr(parts, "gallery", lambda: iter([(SYSTEM, da.gallery.load(SYSTEM))]))
    monkeypatch.setattr(parts, "WRONG_CALLS", (("run", "strange-pendulum"),))
    monkeypatch.setattr(parts, "STORED", (SYSTEM,))
    monkeypatch.setattr(parts, "ROOT", tmp_path)  # without model files
    return script


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    record = json.loads(gzip.decompress(path.read_bytes()))
    change(record)
    path.write_bytes(gzip.compress(json.dumps(record).encode()))


@pytest.mark.long
def test_a_part_agrees_with_itself_and_a_changed_golden_is_named(
    freeze: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "goldens"
    call = [str(folder), "--part", "cli"]
    assert freeze.main(["write", *call]) == 0
    assert freeze.main(["compare", *call]) == 0
    assert "cli: 0 values differ, 0 times are worse, 0 of wording" in capsys.readouterr().out

    def change(record: dict[str, Any]) -> None:
        run = record["values"][f"run/{SYSTEM}"]["json"]
        name = next(iter(run["state"]))
        digits = run["state"][name]
        run["state"][name] = digits[:-1] + ("1" if digits[-1] != "1" else "2")
        record["values"]["call/run strange-pendulum"]["status"] = 0
        record["messages"][f"run/{SYSTEM}"]["json.message"] = "It went on."
        del record["values"][f"check/{SYSTEM}"]["status"]
        record["values"]["old"] = 1

    changed(folder / "cli.json.gz", change)
    assert freeze.main(["compare", *call]) == 1
    printed = capsys.readouterr().out
    assert f"cli: value: run/{SYSTEM}/json/state/" in printed
    assert "cli: value: call/run strange-pendulum/status: '0' -> '2'" in printed
    assert f"cli: value: check/{SYSTEM}/status: is new" in printed
    assert "cli: value: old: is missing now" in printed
    assert f"cli: wording: run/{SYSTEM}/json.message: 'It went on.' -> 'The motion" in printed
    assert "cli: 4 values differ, 0 times are worse, 1 of wording" in printed


@pytest.mark.parametrize(("after", "status"), [(0.5, 0), (1.09, 0), (1.11, 1)])
def test_times_may_grow_by_their_tolerance(
    after: float, status: int, freeze: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = import_module("freeze_records").Found
    monkeypatch.setitem(freeze.PARTS, "import", lambda: found(measured={"ratio": (1.0, 0.1)}))
    assert freeze.main(["write", str(tmp_path), "--part", "import"]) == 0
    monkeypatch.setitem(freeze.PARTS, "import", lambda: found(measured={"ratio": (after, 0.1)}))
    assert freeze.main(["compare", str(tmp_path)]) == status


def test_wording_and_nan_are_no_difference(
    freeze: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = import_module("freeze_records").Found

    def part(message: str) -> Any:
        result = found()
        result.add("row", {"residual": float("nan"), "why": message, "run_seconds": len(message)})
        return result

    monkeypatch.setitem(freeze.PARTS, "verify", lambda: part("It holds."))
    assert freeze.main(["write", str(tmp_path), "--part", "verify"]) == 0
    monkeypatch.setitem(freeze.PARTS, "verify", lambda: part("It still holds."))
    assert freeze.main(["compare", str(tmp_path)]) == 0


def test_code_is_told_from_its_comments(freeze: Any) -> None:
    record = import_module("freeze_texts").source_record
    first, second = record("/* a */ int x; // b\n", "c"), record("/* other */ int x;\n", "c")
    assert first["code"] == second["code"] and first["comments"] != second["comments"]
    assert record("int y;\n", "c")["code"] != first["code"]


def test_every_method_of_the_library_is_frozen(freeze: Any) -> None:
    home = import_module("method_problems").HOME
    assert {*home, *import_module("freeze_parts").ADAPTIVE} == set(method_names()) - set(
        external_methods()
    )


def test_runs_and_their_derivatives_are_recorded_bit_for_bit(freeze: Any) -> None:
    records, spring = import_module("freeze_records"), da.gallery.load("elastic-pendulum")
    short = {"span": (0.0, 0.5)}
    motion = records.motion_record(da.simulate(spring, **short))
    assert motion == records.motion_record(da.simulate(spring, **short)) | {
        "statistics": motion["statistics"]  # it has run times, which `condensed` leaves out
    }
    near = records.motion_record(da.simulate(spring, {"u": 1 + 1e-15}, **short))
    assert near["names"]["u"] != motion["names"]["u"]
    many = records.ensemble_record(spring, {"u": [0.9, 1.0]}, ("u",), workers=1, **short)
    assert many["u"].startswith("2x1 ")
    found = records.derivative_record(spring, ("u",), ("K",), **short)
    assert set(found) == {"u by K", "gradient"} and found["gradient"]["K"] < 0


def test_without_goldens_nothing_is_compared(freeze: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="There are no goldens"):
        freeze.main(["compare", str(tmp_path)])
