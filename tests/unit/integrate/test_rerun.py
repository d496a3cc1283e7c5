"""A saved motion is made again by the call in its file, bit by bit; what a file cannot hold is
refused in a sentence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.cli import main
from dalembert.errors import FileError
from dalembert.integrate.call import made_with

x, y = da.coordinates("x y")
m, k = da.parameters("m k", positive=True)
OSCILLATOR = da.System(
    [x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=k / 2 * (x**2 + y**2) + x**2 * y / 3
)
PENDULUM = da.System(
    [x, y],
    kinetic=m / 2 * (x.dot**2 + y.dot**2),
    potential=9.81 * m * y,
    constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")],
)
BALL = da.System(
    [x],
    kinetic=m / 2 * x.dot**2,
    potential=10 * m * x,
    constraints=[da.unilateral(-x, restitution=0.7, name="floor")],
)
VALUES = {m: 1.3, k: 1 / 7}

#: Calls whose options must all be in the file for the bits to come again.
CALLS: dict[str, tuple[da.System, dict[Any, Any], dict[str, Any]]] = {
    "tolerances": (
        OSCILLATOR,
        {x: 1 / 3, y.dot: 0.2},
        {"rtol": 3e-7, "atol": [1e-8, 1e-9, 1e-8, 1e-9], "form": "lagrange"},
    ),
    "limits": (OSCILLATOR, {x: 0.3}, {"max_step": 0.07, "first_step": 1e-3}),
    "times": (OSCILLATOR, {x: 0.3}, {"at": [1.5, 0.5, 0.5, 2.0], "method": "taylor"}),
    "events": (
        OSCILLATOR,
        {x: 0.3, y.dot: 1.0},
        {"events": [da.event(y - 0.1 * x, -1), da.event(y.dot, 1, True, "turn")]},
    ),
    "backwards": (OSCILLATOR, {x: 0.3}, {"span": (2.0, -1.0)}),
    "inconsistent start": (PENDULUM, {x: 1.05, x.dot: 0.4, y.dot: 0.3}, {}),
    "fixed steps": (OSCILLATOR, {x: 0.3}, {"method": "gauss4", "step": 0.05, "every": 4}),
    "reversible steps": (
        OSCILLATOR,
        {x: 0.3},
        {"method": "rattle4", "step": 0.05, "adapt": 1 + x**2},
    ),
    "contact": (BALL, {x: 1.0}, {}),
    "cut short": (OSCILLATOR, {x: 0.3}, {"max_steps": 5}),
}


def made(name: str) -> da.Motion:
    system, start, options = CALLS[name]
    values = {symbol: VALUES[symbol] for symbol in system.parameters}
    return da.simulate(system, start, parameters=values, **({"span": (0, 2)} | options))


#: Those that say least beyond the others are left to the long suite.
LONG = ("limits", "backwards", "reversible steps", "cut short")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in CALLS]
)
def test_every_option_of_a_call_comes_back_from_the_file(name, tmp_path):
    motion = made(name)
    motion.save(tmp_path / "motion.nc")
    found = da.rerun(tmp_path / "motion.nc")
    assert found.same_bits, found.text()
    assert found.within and not found.changed and not found.notes
    assert set(found.differences.values()) == {0.0}
    assert found.motion.start_report == motion.start_report
    assert found.motion.statistics["nfev"] == motion.statistics["nfev"]


@pytest.mark.long
def test_a_motion_that_is_saved_again_keeps_its_first_call(tmp_path):
    made("times").save(tmp_path / "first.nc")
    da.load(tmp_path / "first.nc").save(tmp_path / "second.nc")
    assert da.rerun(tmp_path / "second.nc").same_bits


def saved_with(path: Path, name: str, **changes: Any) -> Path:
    """The file of a motion whose call has been changed."""
    motion = made(name)
    replace(motion, call=motion.call | changes).save(path)
    return path


@pytest.mark.long
def test_another_machine_is_named_and_another_start_is_found(tmp_path, capsys):
    path = tmp_path / "motion.nc"
    found = da.rerun(
        saved_with(path, "tolerances", made_with=made_with() | {"processor": "another"})
    )
    assert (
        found.same_bits
        and list(found.changed) == ["processor"]
        and found.changed["processor"][0] == "another"
    )
    found = da.rerun(saved_with(path, "tolerances", start={"x": 0.33333334, "y_dot": 0.2}))
    assert (
        not found.same_bits
        and found.within
        and found.differences["x"] == pytest.approx(6.7e-9, rel=1.0)
    )
    assert not da.rerun(path, rtol=1e-10).within
    assert main(["rerun", str(path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (
        printed["within_tolerance"] and not printed["same_bits"] and printed["differences"]["x"] > 0
    )
    assert main(["rerun", str(path), "--rtol", "1e-10", "-o", str(tmp_path / "new.nc")]) == 1
    assert "does not agree" in capsys.readouterr().out
    assert da.load(tmp_path / "new.nc")["x"][0] == 0.33333334


@pytest.mark.long
def test_a_file_that_lacks_what_a_rerun_needs_says_so(tmp_path, capsys):
    (tmp_path / "store").mkdir()
    with pytest.raises(FileError, match="folder"):
        da.rerun(tmp_path / "store")
    u = da.inputs("u")
    driven = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    da.simulate(driven, {}, (0, 1), inputs={u: lambda t, state: 1.0}).save(tmp_path / "driven.nc")
    with pytest.raises(
        FileError, match=r"inputs u were functions of Python.*state them as expressions"
    ):
        da.rerun(tmp_path / "driven.nc")
    assert main(["rerun", str(tmp_path / "driven.nc")]) == 2
    assert "Traceback" not in capsys.readouterr().err
    old = tmp_path / "old.nc"
    replace(made("contact"), call={}).save(old)
    assert da.load(old).impacts  # a file without a call still loads
    with pytest.raises(FileError, match="does not hold the call"):
        da.rerun(old)
    with pytest.raises(FileError, match="call that cannot be read"):
        da.rerun(saved_with(old, "times", rtol="fine"))


def test_an_event_outside_of_the_language_of_files_is_refused_not_dropped(tmp_path):
    words = made("events").call["events"]
    path = saved_with(
        tmp_path / "motion.nc", "events", events=[words[0], words[1] | {"expression": ""}]
    )
    with pytest.raises(FileError, match="event `turn`"):
        da.rerun(path)


@pytest.mark.long
def test_hash_seeds_and_the_cache_leave_no_trace(tmp_path):
    """The same bits in processes with other orders of sets, with a cold cache, a warm one, and
    none.
    """
    path = tmp_path / "motion.nc"
    made("events").save(path)
    program = "import sys, dalembert as da; sys.exit(0 if da.rerun(sys.argv[1]).same_bits else 3)"
    for seed, cache in (("1", str(tmp_path / "cache")), ("2", "off")):
        changed = os.environ | {"PYTHONHASHSEED": seed, "DALEMBERT_CACHE": cache}
        ended = subprocess.run(
            [sys.executable, "-c", program, str(path)],
            env=changed,
            capture_output=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr.decode()[-500:]


def test_numbers_of_any_type_may_be_the_start(tmp_path):
    motion = da.simulate(
        OSCILLATOR, {x: sympy.Rational(1, 3), y: np.float32(0.1)}, (0, 1), parameters=VALUES
    )
    motion.save(tmp_path / "motion.nc")
    assert da.rerun(tmp_path / "motion.nc").same_bits


@pytest.mark.parametrize("rtol", [-1.0, float("nan"), float("inf")])
def test_a_difference_that_cannot_be_allowed_is_refused(rtol, tmp_path):
    """Two equal runs hid that nothing could be compared by such a number."""
    da.simulate(da.gallery.load("chaplygin-sleigh"), span=(0, 0.1)).save(tmp_path / "a.nc")
    with pytest.raises(da.errors.ModelError, match="allowed difference"):
        da.rerun(tmp_path / "a.nc", rtol=rtol)
