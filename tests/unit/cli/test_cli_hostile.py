"""Hostile model files on the command line: status 2, one sentence, no code run, little time and
memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import assert_sentence, call, real

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
from hostile_models import hostile_models

MODELS = list(hostile_models())

#: Calls the command line on many files, and reports how each ended and what it took.
WATCH = """
import contextlib, io, json, resource, sys, time
from dalembert.cli import main
results = []
for path in sys.argv[1:]:
    began = time.process_time()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["run", path])
    results.append([status, out.getvalue(), err.getvalue(), time.process_time() - began])
try:  # the high-water mark of this program alone; that of getrusage begins with the parent's
    lines = open("/proc/self/status").read().splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
except OSError:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([results, kilobytes]))
"""


def written(folder: Path, number: int) -> Path:
    path = folder / f"model{number}.toml"
    path.write_bytes(MODELS[number][1])
    return path


@pytest.mark.parametrize(
    ("command", "stride"),
    [
        ("run", 5),
        ("check", 16),
        *(pytest.param(*case, marks=pytest.mark.long) for case in (("run", 1), ("check", 4))),
    ],
)
def test_every_hostile_file_is_refused_in_a_sentence(
    command: str, stride: int, tmp_path: Path, capsys
) -> None:
    assert len(MODELS) >= 200
    for number, (label, _) in list(enumerate(MODELS))[::stride]:
        as_json = ("--json",) if number % 2 else ()
        ending = call(capsys, command, written(tmp_path, number), *as_json)
        assert ending.status == 2, label
        assert "error" in ending.json if as_json else ending.out == "", label
        assert_sentence(ending.err)
        assert "fault of dalembert" not in ending.err, (label, ending.err)


@pytest.mark.long
def test_they_take_little_time_and_memory(tmp_path: Path) -> None:
    sample = [written(tmp_path, int(k * len(MODELS) / 40)) for k in range(40)]
    run = subprocess.run(
        [sys.executable, "-c", WATCH, *map(str, sample)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    results, kilobytes = json.loads(run.stdout)
    for status, out, err, seconds in results:
        assert (status, out) == (2, "")
        assert_sentence(err)
        assert (
            seconds < 30.0
        )  # a bound on runaway work, not a measurement: each takes well under a second
    assert kilobytes < 500_000


@pytest.mark.long
def test_the_real_command_refuses_them(tmp_path: Path) -> None:
    labels = [label for label, _ in MODELS]
    for label in ("expression: import", "file: deep arrays", "file: too large"):
        ending = real("run", written(tmp_path, labels.index(label)))
        assert (ending.status, ending.out) == (2, "")
        assert_sentence(ending.err)
