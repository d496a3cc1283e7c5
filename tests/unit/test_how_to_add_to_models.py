"""The page "How to add ..." on forms, kinds of constraints and systems: a copy of the package with
its files and its lines works as the page says.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da

PAGE = Path(__file__).parents[2] / "docs" / "how-to-add.md"
BLOCK = re.compile(r'^```py title="(?P<title>[^"]+)"\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL)
BODIES = {found["title"]: found["body"] for found in BLOCK.finditer(PAGE.read_text("utf-8"))}

CHECKS = {
    "form": """
        assert equations.citation.startswith("Jourdain") and "jourdain" in da.forms()
        assert any("jourdain" in pair.pair for pair in found.table) and found.worst < 1e-10
        start, span = {x.dot: 1.0, theta.dot: 0.5}, (0, 1)
        ends = [da.simulate(sleigh, start, span, form=f).y[:, -1] for f in ("jourdain", "maggi")]
        assert abs(ends[0] - ends[1]).max() < 1e-9
    """,
    "kind": """
        assert max(motion.worst_residual.values()) < 1e-9
        assert abs(motion.energy - motion.energy[0]).max() < 1e-8
        assert 'kind = "distance"' in text
        again = loads(text).system
        assert again.constraints[0].kind == "distance" and again.bilateral == again.constraints
        assert "on a distance" in da.derive(pendulum).to_latex()
        try:
            da.System([x, y], kinetic=x.dot**2 / 2, constraints=[distance([x.dot, y], l)])
        except da.errors.ModelError as error:
            assert "write it in coordinates, parameters and t" in str(error)
        else:
            raise AssertionError("a velocity has no place in a distance")
    """,
    "system": """
        assert "bead-on-hoop" in da.gallery.names("mechanical")
        assert abs(motion.energy - motion.energy[0]).max() < 1e-7
        assert 0.9 < motion["theta"].min() < motion["theta"].max() < 1.4
    """,
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package: what the page adds is one file and one line each."""
    folder = tmp_path_factory.mktemp("copy")
    copy = folder / "dalembert"
    shutil.copytree(
        Path(da.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__", "verification")
    )
    for title, body in BODIES.items():
        path, _, table = title.partition(": ")
        if table:
            (line,) = body.splitlines()
            before = (copy / path).read_text("utf-8")
            after = re.sub(rf"^{table} = \($", rf"\g<0>\n{line}", before, flags=re.MULTILINE)
            assert after != before, f"{path} has no table {table}"
            (copy / path).write_text(after, "utf-8")
        elif "/" in title:
            assert not (copy / path).exists()
            (copy / path).write_text(body, "utf-8")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("thing", CHECKS)
def test_a_new_entry_is_one_file_and_one_line(package: Path, thing: str) -> None:
    lines = [line.removeprefix(" " * 8) for line in CHECKS[thing].splitlines()]
    program = "\n".join(
        ["import dalembert as da", "from sympy import cos, sin", BODIES[f"use a {thing}"], *lines]
    )
    script = package / f"use_{thing}.py"
    script.write_text(program, "utf-8")
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
