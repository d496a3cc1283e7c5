"""Type checkers see the real signatures of everything public: none is, takes or gives `Any`, but
for a short list with reasons.

A file that reveals the type of every public name is given to each checker once. pyright reads the
source of SymPy; for mypy, to which SymPy is untyped, `sympy_stub` beside this file names the
classes that signatures use.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da

ROOT = Path(__file__).parents[2]
SPACES = (
    "analysis",
    "bodies",
    "control",
    "dirac",
    "draw",
    "errors",
    "gallery",
    "lie",
    "plotting",
    "symmetry",
    "variational",
)
#: What is `Any` on purpose, by name and the reason.
ALLOWED = {
    **dict.fromkeys(
        ("da.coordinates", "da.parameters", "da.inputs", "da.speeds"),
        "one symbol or a tuple of them, by how many names the text holds, like sympy.symbols",
    ),
    **dict.fromkeys(
        ("da.Motion", "da.Ensemble", "da.Equations", "da.Scenario"),
        "records that the library fills: statistics, options and calls hold values of many kinds",
    ),
    "da.plotting.Picture": "takes what Matplotlib's Figure takes",
}


NUMPY = re.compile(
    r"\b(numpy[\w.]*|NDArray|ndarray|floating|integer|dtype|generic|_SupportsArray|_NestedSequence)\["
)


def public_paths() -> list[str]:
    """Every public name as a user writes it, and the constructors of classes."""
    paths = [f"da.{name}" for name in da.__all__]
    paths += [f"da.{space}.{name}" for space in SPACES for name in getattr(da, space).__all__]
    return paths


def value_at(path: str) -> object:
    value: object = da
    for word in path.split(".")[1:]:
        value = getattr(value, word)
    return value


@pytest.fixture(scope="module")
def revealing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A file that reveals the type of each path on a line of its own, and the paths from its second
    line on.
    """
    paths = public_paths()
    constructed = [
        path
        for path in paths
        if inspect.isclass(value := value_at(path)) and "__init__" in vars(value)
    ]
    paths += [f"{path}.__init__" for path in constructed]
    file = tmp_path_factory.mktemp("types") / "revealed.py"
    file.write_text(
        "\n".join(["import dalembert as da", *(f"reveal_type({path})" for path in paths)]) + "\n"
    )
    return file, paths


def without_numpy(text: str) -> str:
    """A type without NumPy's own parameters, such as the shape in ndarray[tuple[Any, ...], ...]."""
    while (start := NUMPY.search(text)) is not None:
        depth, end = 1, start.end()
        while depth:
            depth += (text[end] == "[") - (text[end] == "]")
            end += 1
        text = text[: start.start()] + "an array" + text[end:]
    return text


def faults(revealed: dict[str, str]) -> dict[str, str]:
    """The names whose type says Any, or that a checker cannot find out."""
    words = re.compile(
        r"\b(Any|Unknown)\b|[(,] ?\.\.\.\)"
    )  # pyright writes (...) where everything is Any
    return {
        path: text
        for path, text in revealed.items()
        if path.removesuffix(".__init__") not in ALLOWED and words.search(without_numpy(text))
    }


def test_the_search_for_any_finds_it() -> None:
    types = {
        "da.a": "(x: Any) -> int",
        "da.b": "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.float64]]",
        "da.c": "Unknown",
    }
    assert set(faults(types)) == {"da.a", "da.c"}
    assert set(
        faults(
            {"da.f": "(style: Style, ...) -> None", "da.g": "(x: tuple[int, ...] = ...) -> None"}
        )
    ) == {"da.f"}
    assert set(
        faults({"da.d": "def (x: numpy.floating[Any] | Any)", "da.e": "list[floating[Any]]"})
    ) == {"da.d"}


@pytest.mark.types
def test_pyright_reveals_every_public_type(revealing: tuple[Path, list[str]]) -> None:
    pytest.importorskip("pyright", reason="pyright is installed with the extra dev")
    file, paths = revealing
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        str(file),
    ]
    done = subprocess.run(
        command, cwd=file.parent, capture_output=True, text=True, check=False, timeout=300
    )
    told = json.loads(done.stdout)["generalDiagnostics"]
    assert [item["message"] for item in told if item["severity"] == "error"] == []
    revealed = {
        paths[item["range"]["start"]["line"] - 1]: item["message"].partition(" is ")[2]
        for item in told
    }
    assert set(revealed) == set(paths)
    assert faults(revealed) == {}


@pytest.mark.types
def test_mypy_reveals_every_public_type(revealing: tuple[Path, list[str]]) -> None:
    file, paths = revealing
    (file.parent / "mypy.ini").write_text(
        "[mypy]\npython_version = 3.11\nmypy_path ="
        f" {ROOT / 'src'}:{Path(__file__).parent / 'sympy_stub'}\nignore_missing_imports ="
        " true\nfollow_imports = silent\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", file.name]
    done = subprocess.run(
        command, cwd=file.parent, capture_output=True, text=True, check=False, timeout=600
    )
    told = re.findall(
        r'^revealed\.py:(\d+): note: Revealed type is "(.*)"$', done.stdout, re.MULTILINE
    )
    revealed = {paths[int(line) - 2]: text for line, text in told}
    assert set(revealed) == set(paths), done.stdout[-2000:] + done.stderr[-2000:]
    assert faults(revealed) == {}


def test_every_exception_is_still_one() -> None:
    assert set(ALLOWED) <= set(public_paths())
