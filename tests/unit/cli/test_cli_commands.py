"""The commands beside ``run``, how every command ends, and what it costs to start one."""

from __future__ import annotations

import ast
import gc
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import COMMAND, SLEIGH, assert_sentence, call, real
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli import entry, terminal
from dalembert.cli.commands import app
from dalembert.errors import ModelError, SingularError


@pytest.fixture()
def sleigh(tmp_path: Path) -> Path:
    path = tmp_path / "sleigh.toml"
    path.write_text(SLEIGH)
    return path


# -- gallery, derive -------------------------------------------------------------------------------


@pytest.mark.long
def test_gallery_lists_every_system(capsys) -> None:
    text = call(capsys, "gallery").out
    found = call(capsys, "gallery", "--json").json
    assert [entry["name"] for entry in found] == list(da.gallery.built_in())
    for item in found:
        assert item["source"] and item["summary"]
        assert item["name"] in text and item["summary"] in text


@pytest.mark.long
def test_derive_prints_every_format(sleigh: Path, capsys) -> None:
    text = call(capsys, "derive", sleigh, "--form", "lagrange").out
    assert text.strip() == da.derive(da.load_model(sleigh).system, "lagrange").text()
    latex = call(capsys, "derive", sleigh, "--form", "lagrange", "--format", "latex").out
    assert latex.startswith("\\begin{aligned}")
    source = call(capsys, "derive", sleigh, "--format", "c").out
    assert "int sleigh_rates(sleigh_work *work" in source and "SLEIGH_theta," in source
    ast.parse(call(capsys, "derive", sleigh, "--format", "jax").out)


def test_derive_prints_the_explicit_formula_and_its_parts(capsys) -> None:
    name = "nonholonomic-particle"
    text = call(capsys, "derive", name, "--explicit").out
    assert "p_x_dot = -2*p_x*p_z*z**3/(m*(z**4 + 1))" in text.splitlines()
    parts = call(capsys, "derive", name, "--parts").out
    assert "K = H_pp^-1 A_p^T (A_p H_pp^-1 A_p^T)^-1" in parts.splitlines()
    latex = call(capsys, "derive", name, "--parts", "--format", "latex").out
    assert r"H_{pp} &= \begin{bmatrix}" in latex
    refused = call(capsys, "derive", name, "--parts", "--format", "c")
    assert refused.status == 2 and "--format text" in refused.err


def test_derive_follows_the_form_of_the_scenario(capsys) -> None:
    assert "chi_" in call(capsys, "derive", "appell-vakonomic").out


@pytest.mark.parametrize(
    "arguments", [("--format", "fortran"), ("--form", "newton"), ("--form", "elimination")]
)
def test_derive_refuses_in_a_sentence(arguments: tuple[str, ...], sleigh: Path, capsys) -> None:
    ending = call(capsys, "derive", sleigh, *arguments)
    assert ending.status == 2 and ending.out == ""
    assert_sentence(ending.err)


# -- check, verify ---------------------------------------------------------------------------------


@pytest.mark.long
def test_check_classifies_and_compares(sleigh: Path, capsys) -> None:
    found = call(capsys, "check", sleigh, "--json").json
    (blade,) = found["constraints"]
    assert (blade["name"], blade["integrable"]) == ("blade", False)
    assert (found["rank"], found["degrees_of_freedom"]) == (1, 2)
    assert found["forms"]["lagrange"] == {"applies": True}
    assert (
        found["forms"]["elimination"]["applies"] is False and found["forms"]["elimination"]["why"]
    )
    assert found["agreement"]["worst"] < 1e-9 and len(found["agreement"]["pair"]) == 2
    text = call(capsys, "check", sleigh).out
    assert "blade" in text and "not integrable" in text and "worst difference" in text


def test_check_refuses_what_is_no_system(capsys) -> None:
    ending = call(capsys, "check", "nothing-like-it")
    assert ending.status == 2
    assert_sentence(ending.err)


def test_verify_judges_single_rows(capsys) -> None:
    from dalembert.verification import identifiers

    wanted = identifiers()[0]
    (row,) = call(capsys, "verify", wanted, "--json").json
    assert (
        row["id"] == wanted and row["verdict"].startswith("reproduced") and row["residual"] < 1e-6
    )
    assert set(row) >= {"id", "claim", "verdict", "residual", "printed_residual"}
    text = call(capsys, "verify", wanted)
    assert text.status == 0 and wanted in text.out and "1 result: 1 reproduced" in text.out


def test_verify_is_status_1_where_a_row_fails(monkeypatch, capsys) -> None:
    from dalembert.verification import Row

    failed = Row("X-1", "two is three", "by counting", float("inf"), None, "not reproduced")
    monkeypatch.setattr("dalembert.verification.rows", lambda ids=None: iter([failed]))
    assert call(capsys, "verify").status == 1
    ending = call(capsys, "verify", "--json")
    assert ending.status == 1 and ending.json[0]["residual"] is None


def test_verify_counts_what_the_rows_test_and_shows_faults(monkeypatch, capsys) -> None:
    from dalembert.verification import Row

    found = [
        Row("X-1", "two is two", "by counting", 0.0, None, "reproduced", "part"),
        Row(
            "X-2",
            "two",
            "so",
            0.0,
            1.0,
            "reproduced with correction",
            "mathematics",
            "transcription",
        ),
    ]
    monkeypatch.setattr("dalembert.verification.rows", lambda ids=None: iter(found))
    out = call(capsys, "verify").out
    assert "What they test: 1 part, 1 mathematics." in out and "fault: transcription" in out
    assert [row["tests"] for row in call(capsys, "verify", "--json").json] == [
        "part",
        "mathematics",
    ]


def test_verify_refuses_an_unknown_row(capsys) -> None:
    ending = call(capsys, "verify", "Z-999")
    assert ending.status == 2 and "Z-999" in ending.err
    assert_sentence(ending.err)


# -- endings ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_version_and_help(capsys) -> None:
    assert call(capsys, "--version").out == f"dalembert {da.__version__}\n"
    for arguments in ((), ("--help",), ("-h",)):
        ending = call(capsys, *arguments)
        assert ending.status == 0 and ending.err == ""
        for command in ("gallery", "run", "derive", "check", "sweep", "verify"):
            assert command in ending.out
    assert "--no-project-start" in call(capsys, "run", "--help").out


def test_the_commands_work_under_any_typer_runner(sleigh: Path) -> None:
    result = CliRunner().invoke(app, ["derive", str(sleigh)])
    assert result.exit_code == 0 and "theta_ddot" in result.output


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("--nonsense",), ("gallery", "more"), ("gallery", "--jsn")]
)
def test_usage_errors_are_one_sentence(arguments: tuple[str, ...], capsys) -> None:
    ending = call(capsys, *arguments)
    assert ending.status == 2 and ending.out == ""
    assert_sentence(ending.err)
    assert "--help" in ending.err


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (
            ModelError("The model is wrong", remedy="correct it"),
            2,
            "The model is wrong: correct it.",
        ),
        (SingularError("Nothing moves"), 1, "Nothing moves."),
        (
            ZeroDivisionError("secret\nline"),
            1,
            "fault of dalembert itself (seen: ZeroDivisionError: secret line)",
        ),
        (MemoryError(), 2, "memory"),
        (RecursionError("maximum recursion depth"), 2, "nested too deeply"),
        (KeyboardInterrupt(), 130, "Interrupted."),
    ],
)
def test_every_error_becomes_a_status_and_a_sentence(
    error, status: int, words: str, monkeypatch, capsys
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("dalembert.cli.listing.named_system", fail)
    ending = call(capsys, "derive", "rolling-disk")
    assert ending.status == status and words in ending.err
    assert_sentence(ending.err)


def test_a_fault_of_our_own_shows_where_when_asked(monkeypatch, capsys) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("dalembert.cli.listing.named_system", fail)
    monkeypatch.setenv("DALEMBERT_DEBUG", "1")
    assert "Traceback" in call(capsys, "derive", "rolling-disk").err


def test_many_faults_stand_on_one_line(tmp_path: Path, capsys) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(
        'coordinates = ["x"]\nkinetic = "x_dot**2/2"\n'
        + "".join(f"wrong{k} = 1\n" for k in range(12))
    )
    ending = call(capsys, "check", path)
    assert ending.status == 2
    assert_sentence(ending.err)
    assert "(1)" in ending.err and "and 7 more." in ending.err


def test_sentences_do_not_command_the_terminal(tmp_path: Path, capsys) -> None:
    path = tmp_path / "\x1b[31mred.toml"
    path.write_text('coordinates = ["x"]\nkinetic = "\\u001b[2J"')
    ending = call(capsys, "check", path)
    assert ending.status == 2
    assert_sentence(ending.err)


# -- progress --------------------------------------------------------------------------------------


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_in_a_terminal_when_work_takes_long(monkeypatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with terminal.Progress("Working") as quick:
        quick(0.5, 1.0)
    assert screen.getvalue() == ""
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    with terminal.Progress("Working") as slow:
        slow(0.25, 1.0)
        slow(2.0)
    assert "Working" in screen.getvalue()


def test_progress_is_silent_elsewhere(monkeypatch, capsys) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    with terminal.Progress("Working") as progress:
        progress(0.5)
    assert capsys.readouterr().err == ""


def test_plain_leaves_only_json() -> None:
    import numpy as np

    value = {
        "a": np.array([1.0, np.nan]),
        2: (np.inf, np.float64(0.1), True, None),
        "c": SimpleNamespace,
    }
    text = json.dumps(terminal.plain(value), allow_nan=False)
    assert json.loads(text)["a"] == [1.0, None] and json.loads(text)["2"] == [None, 0.1, True, None]


# -- the real command ------------------------------------------------------------------------------


@pytest.mark.long
def test_the_installed_command_runs_and_fails_as_stated(sleigh: Path) -> None:
    good = real("run", sleigh, "--at", "0,10", "--json")
    assert (good.status, good.err) == (0, "") and good.json["t"] == [0, 10]
    stopped = real("run", "blow-up")
    assert stopped.status == 1
    assert_sentence(stopped.err)
    wrong = real("run", "nothing")
    assert (wrong.status, wrong.out) == (2, "")
    assert_sentence(wrong.err)


@pytest.mark.long
def test_a_reader_that_leaves_is_no_error() -> None:
    with subprocess.Popen(
        [*COMMAND, "gallery"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        assert command.stdout is not None and command.stderr is not None
        command.stdout.close()
        assert command.stderr.read() == b""
        assert command.wait(60) in (0, 1)


@pytest.mark.long
def test_text_leaves_also_through_a_narrow_encoding(tmp_path: Path) -> None:
    path = tmp_path / "theta.toml"
    path.write_text(
        'name = "Pendel θ"\ncoordinates = ["θ"]\nkinetic = "θ_dot**2/2"\n[simulate]\nt = [0, 1]\n'
    )
    ending = real("run", path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ending.status == 0 and ending.err == ""
    assert real("run", path, "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0").status == 0


@pytest.mark.long
def test_asking_for_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, io; sys.stdout = io.StringIO(); from dalembert.cli import main;"
        " main(['--help']); heavy = {'numpy', 'sympy', 'casadi', 'llvmlite', 'scipy', 'matplotlib',"
        " 'xarray', 'pandas'} & set(sys.modules); sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.long
def test_a_run_imports_only_what_it_needs() -> None:
    code = (
        "import sys; from dalembert.cli import main; status = main(['run', 'rolling-disk',"
        " '--json']); heavy = {'scipy', 'matplotlib', 'xarray', 'pandas', 'h5py', 'sympy.physics'}"
        " & set(sys.modules); sys.exit(', '.join(sorted(heavy)) or status)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_systems_of_the_gallery_need_no_reader_of_model_files() -> None:
    code = (
        "import sys; from dalembert.cli.systems import named_system; named_system('snakeboard');"
        " sys.exit('dalembert.model.io.file_reader' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_process_of_its_own_seldom_searches_for_cycles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = gc.get_threshold()
    monkeypatch.setattr(sys, "argv", ["dalembert", "--version"])
    try:
        assert entry.main(["--version"]) == 0 and gc.get_threshold() == before
        assert entry.main() == 0 and gc.get_threshold()[0] == entry.CYCLE_SEARCH
    finally:
        gc.set_threshold(*before)


def test_optional_paths_of_pictures() -> None:
    path = entry.with_optional_path
    assert path(["run", "a", "--plot"]) == ["run", "a", "--plot="]
    assert path(["run", "--plot", "a"]) == ["run", "--plot=", "a"]
    assert path(["run", "a", "--plot", "-o", "b.nc"]) == ["run", "a", "--plot=", "-o", "b.nc"]
    assert path(["run", "a", "--plot", "b.svg"]) == ["run", "a", "--plot", "b.svg"]
