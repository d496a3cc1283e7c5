"""Every tutorial is a notebook: it has the Python of the page, in order, and it runs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted(
    page for page in (ROOT / "docs" / "tutorials").glob("*.md") if page.stem != "index"
)


def converter() -> Any:
    path = ROOT / "scripts" / "tutorial_notebooks.py"
    spec = importlib.util.spec_from_file_location("tutorial_notebooks", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def code_of(notebook: dict[str, Any]) -> list[str]:
    return [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_every_tutorial_is_written(tmp_path: Path) -> None:
    written = converter().write_notebooks(ROOT / "docs" / "tutorials", tmp_path)
    assert [path.stem for path in written] == [page.stem for page in TUTORIALS]
    for path, page in zip(written, TUTORIALS, strict=True):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        text = page.read_text(encoding="utf-8")
        assert notebook["nbformat"] == 4 and len(code_of(notebook)) == text.count("\n```python")
        names = [cell["id"] for cell in notebook["cells"]]
        assert len(names) == len(set(names))
        assert all(source in text for source in code_of(notebook))


def test_printed_output_belongs_to_the_code_before_it() -> None:
    page = "# A\n\nSee [b](b.md).\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n![c](c.png)\n"
    first, code, last = converter().notebook_of(page)["cells"]
    assert first["source"] == "# A\n\nSee b." and last["source"] == "*c*"
    assert code["outputs"] == [{"output_type": "stream", "name": "stdout", "text": "1\n"}]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dalembert.errors.UnreadPartsWarning")
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_it_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = code_of(converter().notebook_of(page.read_text(encoding="utf-8")))
    for number, source in enumerate(cells):
        exec(compile(source, f"{page.stem}, cell {number}", "exec"), names)
