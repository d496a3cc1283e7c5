"""The page "How to add ..." is right: its files, in a temporary package, work as it says."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
import dalembert.integrate.methods.table
from dalembert.errors import FormError, ModelError
from dalembert.integrate.methods.table import _MODULES, METHODS

PAGE = Path(__file__).parents[2] / "docs" / "how-to-add.md"
BLOCK = re.compile(r'^```py title="(?P<title>[^"]+)"\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL)
BODIES = {found["title"]: found["body"] for found in BLOCK.finditer(PAGE.read_text("utf-8"))}


@pytest.fixture
def midpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "midpoint.py").write_text(BODIES["midpoint.py"], "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("midpoint")
    (line,) = BODIES["register"].splitlines()
    exec(line, {"dalembert": dalembert, "midpoint": module})
    yield "midpoint"
    del METHODS["midpoint"]


@pytest.mark.long
def test_a_method_is_one_file_and_one_line(midpoint: str) -> None:
    x, y = da.coordinates("x y")
    spring = da.System([x], kinetic=x.dot**2 / 2, potential=x**4 / 4 + x**2 / 2)
    exact = da.simulate(spring, {x: 1.0}, (0, 2), rtol=1e-13).y[:, -1]
    errors = []
    for step in (0.02, 0.01, 0.005):
        motion = da.simulate(spring, {x: 1.0}, (0, 2), method=midpoint, step=step)
        errors.append(float(np.max(np.abs(motion.y[:, -1] - exact))))
        assert motion.statistics["nfev"] >= 2 * round(2 / step)
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 2) < 0.1)
    rod = da.holonomic(x**2 + y**2 - 1, name="rod")
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[rod])
    with pytest.raises(FormError, match="midpoint does not end its steps on constraints"):
        da.simulate(system, {x: 1.0}, (0, 1), form="lagrange", method=midpoint, step=0.1)
    with pytest.raises(ModelError, match="There is a method `midpoint` already"):
        dalembert.integrate.methods.table.register(METHODS[midpoint])


def test_a_module_of_methods_has_those_of_its_line_in_the_table() -> None:
    for module, names in _MODULES.items():
        found = importlib.import_module(f"dalembert.integrate.methods.{module}").METHODS
        assert [method.name for method in found] == names.split()
        assert [METHODS[name] for name in names.split()] == list(found)


def test_only_the_method_that_is_asked_for_is_loaded() -> None:
    code = (
        "import sys; from dalembert.integrate.methods.table import find_method, method_names;"
        "find_method('dop853'); print(len(method_names()) > 30, [name for name in sys.modules if"
        " 'methods.implicit' in name or 'methods.groups' in name or 'taylor' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"


def test_every_method_stands_in_the_documentation() -> None:
    pages = [(PAGE.parent / name).read_text("utf-8") for name in ("methods.md", "simulation.md")]
    assert [name for name in METHODS if not any(f"`{name}`" in page for page in pages)] == []
    assert all(len(method.description) < 90 for method in METHODS.values())
