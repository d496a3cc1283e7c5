"""Odd arguments on the command line: a sentence and an exit status, never a traceback or a fault of
our own.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import assert_sentence, call

MODEL = """
coordinates = ["x"]
kinetic = "m*x_dot**2/2"
potential = "k*x**2/2"
[parameters]
m = 1.0
k = "2*m"
[start]
x = 1.0
[simulate]
t = [0, 0.1]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and things that only look like one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.toml").write_text(MODEL)
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "wide.toml").write_bytes(MODEL.encode("utf-16"))
    (tmp_path / "nul.toml").write_bytes(MODEL.encode() + b"\0")
    (tmp_path / "returns.toml").write_bytes(MODEL.replace("\n", "\r").encode())
    (tmp_path / "latin.toml").write_bytes('name = "é"\n'.encode("latin-1") + MODEL.encode())
    for number, content in enumerate(
        [b"", b"m\n", b"m,m\n1,2\n", b"q\n1\n", b"\xff\xfe\0", b"m\nx\n", b"m\n1,2\n"]
    ):
        (tmp_path / f"runs{number}.csv").write_bytes(content)
    return tmp_path


FILES = [
    "folder.toml",
    "loop.toml",
    "zero.toml",
    "pipe.toml",
    "wide.toml",
    "nul.toml",
    "returns.toml",
    "latin.toml",
    "none.toml",
]
FILES += [
    ".",
    "",
    "\0",
    "a\0b",
    "x" * 5000,
    "/dev/zero",
    "/dev/null",
    "good.toml/",
    "good.toml/x",
    "file:///etc/passwd",
    "\udcff.toml",
]
RUNS = [
    *(
        ("--set", value)
        for value in (
            "m=1e999",
            "m=nan",
            "m=",
            "=1",
            "m",
            "m=x",
            "m=9**9**9",
            "m=\0",
            "zz=1",
            "\u043c=1",
            "m=1/0",
        )
    ),
    *(
        ("--set", value)
        for value in (
            f"m={'9' * 1000}",
            f"m={'(' * 9000}",
            "m=__import__('os')",
            "x_ddot=1",
            "energy=1",
            "x=inf",
        )
    ),
    *(("--t", value) for value in ("0", "0,", "a,b", "0,1,2", "0,nan", "0,1e400", "", "0,0x10")),
    *(
        ("--at", value)
        for value in (
            "0:1:²",
            "0:1:1000000000",
            "0:1:0",
            "0:1:-1",
            "::",
            "0:1:" + "9" * 5000,
            "nan",
            ",",
        )
    ),
    *(("--rtol", value) for value in ("0", "-1", "nan", "x")),
    *(
        ("--plot", "a\0.png"),
        ("--report", "a\0.html"),
        ("--animate", "a\0.gif"),
        ("-o", "a\0.nc"),
        ("-o", "folder.toml"),
    ),
    *(("--method", "x" * 9999), ("--form", "a\0b"), ("--size", "0x0"), ("--fps", "nan")),
]
SWEEPS = [
    *(
        ("--over", value)
        for value in (
            "m=1:2:0",
            "m=1:2:²",
            "m=1:2:" + "9" * 30,
            "m=nan:1:2",
            "m=",
            "zz=1,2",
            "m=1:2:3:4",
            "m=\0",
        )
    ),
    *(("--samples", f"runs{number}.csv") for number in range(7)),
    *(
        ("--samples", "/dev/zero"),
        ("--samples", "folder.toml"),
        ("--samples", "none.csv"),
        ("--samples", "a\0.csv"),
    ),
    *(
        ("--over", "m=1:2", "--sample", "-1"),
        ("--over", "m=1:2", "--sample", "5", "--seed", "-1"),
        ("--over", "m=1,2", "--chunk", "0"),
    ),
]
EXPORTS = [
    *(
        ("--to", kind, "--name", name)
        for kind in ("c", "fmu2")
        for name in ("1; rm -rf /", "int", "é", "../x", "x" * 5000)
    ),
    *(
        ("--to", kind, "-o", path)
        for kind in ("c", "fmu3", "latex", "jax")
        for path in ("good.toml/a", "a\0b", "x" * 300)
    ),
]


#: These ended as a fault of our own, or never.
ONCE = [
    ("run", "good.toml", "--at", "0:1:²"),
    ("run", "good.toml", "--at", "0:1:" + "9" * 5000),
    ("run", "good.toml", "--plot", "a\0.png"),
    ("sweep", "good.toml", "-o", "a.zarr", "--over", "m=1:2:²"),
    ("sweep", "good.toml", "-o", "b.zarr", "--samples", "/dev/zero"),
    ("sweep", "good.toml", "-o", "c.zarr", "--over", "m=1:2", "--sample", "5", "--seed", "-1"),
    ("export", "good.toml", "--to", "fmu2", "--name", "x" * 5000),
]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
    ending = call(capsys, *arguments)
    assert ending.status != 0, arguments
    assert_sentence(ending.err)
    assert "fault of dalembert" not in ending.err, (arguments, ending.err)


@pytest.mark.long
@pytest.mark.parametrize("command", ["run", "derive"])
def test_what_is_no_model_file(
    command: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in FILES:
        refused(capsys, command, name)


@pytest.mark.long
def test_values_that_mean_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in RUNS:
        refused(capsys, "run", "good.toml", *options)


@pytest.mark.long
def test_sweeps_over_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, options in enumerate(SWEEPS):
        refused(capsys, "sweep", "good.toml", "-o", f"runs{number}.zarr", *options)


@pytest.mark.long
def test_exports_to_nowhere(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in EXPORTS:
        refused(capsys, "export", "good.toml", *options)
    assert not list(place.glob("*.c")) and not list(place.glob("*.fmu"))


@pytest.mark.parametrize("arguments", ONCE, ids=lambda arguments: " ".join(arguments)[:40])
def test_what_was_a_fault_once(
    arguments: tuple[str, ...], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(capsys, *arguments)
