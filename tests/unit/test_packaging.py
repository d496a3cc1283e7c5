"""The package as others build it: reproducible archives, and a conda recipe with the same needs."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = re.search(r"\n  run:\n((?:    - .*\n)+)", recipe)
    assert run is not None
    needed = re.findall(r"    - ([a-z0-9-]+) (>=\S+)", run[1])
    other = {"matplotlib-base": "matplotlib"}
    found = {other.get(name, name): bound for name, bound in needed if name != "python"}
    asked = dict(re.fullmatch(r"([\w-]+)(>=.*)", one).groups() for one in project["dependencies"])  # type: ignore[union-attr]
    assert found == asked
    version = (ROOT / "src" / "dalembert" / "_version.py").read_text(encoding="utf-8")
    stated = re.search(r'version: "([^"]+)"', recipe)
    assert stated is not None and f'__version__ = "{stated[1]}"' in version


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="needs hatchling")
def test_archives_are_the_same_twice(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "build_twice.py"), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("the same twice") == 2
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    pages = {path.name for path in (ROOT / "src/dalembert/plotting/page_modules").iterdir()}
    assert {f"dalembert/plotting/page_modules/{name}" for name in pages} <= names
