"""``dalembert export``: which files it writes, what is in them, and what it refuses."""

from __future__ import annotations

import ast
import subprocess
import zipfile
from pathlib import Path

import pytest
from command_line import SLEIGH, assert_sentence, call

import dalembert as da
from c_library import COMPILER, STRICT, needs_compiler


@pytest.fixture
def sleigh(tmp_path: Path) -> Path:
    path = tmp_path / "sleigh.toml"
    path.write_text(SLEIGH, encoding="utf-8")
    return path


@pytest.mark.long
@needs_compiler
def test_c_files_compile_and_honour_the_settings(sleigh: Path, tmp_path: Path, capsys) -> None:
    target = tmp_path / "out" / "mine.c"
    options = (
        "--form",
        "lagrange",
        "--set",
        "x_dot=2",
        "--t",
        "0,1",
        "--step",
        "0.5",
        "--rtol",
        "1e-9",
    )
    ending = call(capsys, "export", sleigh, "--to", "c", "-o", target, *options)
    assert ending.status == 0 and ending.out.split() == [str(target.with_suffix(".h")), str(target)]
    program = tmp_path / "program"
    command = [str(COMPILER), *STRICT, "-DMINE_MAIN", "-o", str(program), str(target), "-lm"]
    assert subprocess.run(command, capture_output=True).returncode == 0
    rows = subprocess.run([str(program)], capture_output=True, text=True).stdout.splitlines()
    assert rows[0] == "t,x,y,theta,x_dot,y_dot,theta_dot,energy" and len(rows) == 4
    model = da.load_model(sleigh)
    motion = da.simulate(model, {"x_dot": 2.0}, (0, 1), form="lagrange", rtol=1e-9)
    found = dict(zip(rows[0].split(","), map(float, rows[-1].split(",")), strict=True))
    assert all(abs(found[name] - motion[name][-1]) < 1e-9 for name in ("x", "y", "theta", "energy"))


@pytest.mark.parametrize(("format", "version"), [("fmu2", "2.0"), ("fmu3", "3.0")])
def test_units_are_written(
    format: str, version: str, sleigh: Path, tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr("dalembert.export.fmu.program_path", lambda word: None)
    ending = call(
        capsys, "export", sleigh, "--to", format, "-o", tmp_path / "sleigh.fmu", "--name", "unit"
    )
    assert ending.status == 0 and "source code only" in ending.out and version in ending.out
    with zipfile.ZipFile(tmp_path / "sleigh.fmu") as archive:
        assert f'fmiVersion="{version}"' in archive.read("modelDescription.xml").decode()
        assert "sources/unit.c" in archive.namelist()


@pytest.mark.long
def test_text_formats_are_written(sleigh: Path, tmp_path: Path, capsys) -> None:
    assert call(capsys, "export", sleigh, "--to", "jax", "-o", tmp_path / "a.py").status == 0
    ast.parse((tmp_path / "a.py").read_text(encoding="utf-8"))
    assert call(capsys, "export", sleigh, "--to", "latex", "-o", tmp_path / "a.tex").status == 0
    assert "\\begin{document}" in (tmp_path / "a.tex").read_text(encoding="utf-8")


def test_the_file_is_called_after_the_system(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "export", "chaplygin-sleigh", "--to", "c").status == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "chaplygin_sleigh.c",
        "chaplygin_sleigh.h",
    }
    printed = call(capsys, "derive", "chaplygin-sleigh", "--format", "c").out
    source = (tmp_path / "chaplygin_sleigh.c").read_text(encoding="utf-8")
    header = (tmp_path / "chaplygin_sleigh.h").read_text(encoding="utf-8")
    assert printed.strip() == source.replace('#include "chaplygin_sleigh.h"\n', header).strip()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--to", "casadi"), (), ("--to", "latex", "--rtol", "1e-6"), ("--to", "c", "--input", "u"),
        ("--to", "c", "--name", "a b"), ("--to", "c", "-o", "a.tex"), ("--to", "c", "--set", "w=1"),
        ("--to", "fmu2", "--input", "w"), ("--to", "c", "--t", "1"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused(
    arguments: tuple[str, ...], sleigh: Path, tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ending = call(capsys, "export", sleigh, *arguments)
    assert ending.status == 2 and ending.out == ""
    assert_sentence(ending.err)
    assert {path.name for path in tmp_path.iterdir()} == {"sleigh.toml"}


def test_one_sided_constraints_are_refused(tmp_path: Path, capsys) -> None:
    ending = call(capsys, "export", "elastic-pendulum-wall", "--to", "c", "-o", tmp_path / "a.c")
    assert ending.status == 2 and "One-sided" in ending.err


def test_another_method_of_the_model_is_refused(sleigh: Path, tmp_path: Path, capsys) -> None:
    sleigh.write_text(SLEIGH + 'method = "gauss4"\nstep = 0.01\n', encoding="utf-8")
    ending = call(capsys, "export", sleigh, "--to", "c", "-o", tmp_path / "a.c")
    assert ending.status == 2 and "gauss4" in ending.err and not (tmp_path / "a.c").exists()
