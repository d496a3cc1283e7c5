"""``dalembert new``, ``plot`` and ``doctor``."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from command_line import SLEIGH, assert_sentence, call

import dalembert as da
from dalembert.cli import doctor_command
from dalembert.cli.new_command import FIRST_MODEL


def test_new_writes_a_model_that_runs_and_has_a_drawing(tmp_path: Path, capsys) -> None:
    path = tmp_path / "cart.toml"
    assert f"dalembert run {path}" in call(capsys, "new", path).out
    scenario = da.load_model(path)
    assert scenario.system.name == "cart" and scenario.drawing is not None
    motion = da.simulate(scenario)
    assert motion.success
    assert motion.energy[-1] < motion.energy[0]  # the friction of the cart


def test_new_replaces_a_file_only_when_asked(tmp_path: Path, capsys) -> None:
    path = tmp_path / "kept.toml"
    path.write_text("kept")
    result = call(capsys, "new", path)
    assert result.status == 2 and path.read_text() == "kept"
    assert_sentence(result.err)
    assert call(capsys, "new", path, "--force", "--json").json == {"file": str(path)}
    assert path.read_text() == FIRST_MODEL.format(name="kept")


def test_new_refuses_other_endings_and_missing_folders(tmp_path: Path, capsys) -> None:
    for name in ("model.txt", "model", "missing/model.toml"):
        result = call(capsys, "new", tmp_path / name)
        assert result.status == 2
        assert_sentence(result.err)
    assert not list(tmp_path.iterdir())


def test_new_copies_a_built_in_system(tmp_path: Path, capsys) -> None:
    path = tmp_path / "disk.toml"
    call(capsys, "new", path, "--from", "rolling-disk")
    copied, original = da.load_model(path), da.gallery.load("rolling-disk")
    assert copied.system.coordinates == original.system.coordinates
    assert str(copied.system.lagrangian) == str(original.system.lagrangian)
    assert copied.parameters == original.parameters
    assert call(capsys, "new", tmp_path / "b.toml", "--from", "rolling-dsk").status == 2


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    (folder / "sleigh.toml").write_text(SLEIGH)
    da.simulate(da.load_model(folder / "sleigh.toml"), span=(0, 1)).save(folder / "sleigh.nc")
    return folder / "sleigh.nc"


def test_plot_draws_a_saved_motion(saved: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "plot", saved).out == "sleigh.png\n"
    assert Path("sleigh.png").read_bytes().startswith(b"\x89PNG")
    portrait = tmp_path / "portrait.svg"
    found = call(capsys, "plot", saved, "--phase", "x,y", "-o", portrait, "--json").json
    assert found == {"file": str(portrait)} and "<svg" in portrait.read_text()
    call(capsys, "plot", saved, "--of", "theta", "-o", tmp_path / "theta.pdf", "--style", "dark")
    assert (tmp_path / "theta.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--phase", "x"),
        ("--phase", "x,unknown"),
        ("--of", "unknown"),
        ("--of", "x", "--phase", "x,y"),
        ("--of", "x", "-o", "motion.gif"),
        ("-o", "picture.txt"),
    ],
)
def test_plot_refuses(saved: Path, tmp_path: Path, capsys, monkeypatch, arguments) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(capsys, "plot", saved, *arguments)
    assert result.status == 2
    assert_sentence(result.err)
    assert not list(tmp_path.iterdir())


def test_doctor_finds_this_environment_in_order(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    result = call(capsys, "doctor", "--json")
    assert result.status == 0
    found = {finding["name"]: finding for finding in result.json["findings"]}
    assert found["dalembert"]["value"] == da.__version__
    assert f"numpy {metadata.version('numpy')}" in found["packages"]["value"]
    assert str(tmp_path / "cache") in found["cache"]["value"]
    assert found["self-test"]["status"] == "ok"
    assert "self-test" in call(capsys, "doctor").out


def test_doctor_names_a_missing_package_and_a_useless_cache(tmp_path, capsys, monkeypatch) -> None:
    (tmp_path / "cache").write_text("a file, no folder")
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    needs = ["numpy>=999", "no-such-package>=1", "jaxy>=3; extra == 'jax'"]
    monkeypatch.setattr(metadata, "requires", lambda _: needs)
    result = call(capsys, "doctor", "--json")
    assert result.status == 1
    found = {finding["name"]: finding for finding in result.json["findings"]}
    assert found["numpy"]["status"] == found["no-such-package"]["status"] == "failed"
    assert "no-such-package>=1" in found["no-such-package"]["remedy"]
    assert found["extra jax"]["status"] == "absent"
    assert found["cache"]["status"] == "failed"


def test_doctor_reports_a_part_that_fails(capsys, monkeypatch) -> None:
    def broken():
        raise RuntimeError("no processor")
        yield

    monkeypatch.setitem(doctor_command.PARTS, "environment", broken)
    result = call(capsys, "doctor", "--json")
    assert result.status == 1
    assert result.json["findings"][0]["value"] == "RuntimeError: no processor"
