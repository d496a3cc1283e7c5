"""The documentation tells the truth: its Python runs, prints what it says, and its model files are
models.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from dalembert.cli import main
from dalembert.model.io.files import loads

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WRITTEN = sorted(
    page for page in DOCS.rglob("*.md") if "generated" not in page.relative_to(DOCS).parts
)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN]
BLOCK = re.compile(r"^```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
EXPECTED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: Pages whose Python takes five seconds and more; the README and the first model stay quick.
SLOW = {
    "docs/bodies.md",
    "docs/constraints.md",
    "docs/contact.md",
    "docs/dirac.md",
    "docs/export.md",
    "docs/forms.md",
    "docs/hamilton-jacobi.md",
    "docs/holonomy-control.md",
    "docs/how-to.md",
    "docs/inverse-problem.md",
    "docs/lie-groups.md",
    "docs/matching.md",
    "docs/nonholonomic-integrators.md",
    "docs/optimal-control.md",
    "docs/optimise-trajectory.md",
    "docs/pictures.md",
    "docs/planar-bodies.md",
    "docs/results.md",
    "docs/routh.md",
    "docs/servo.md",
    "docs/snakeboard.md",
    "docs/symmetry.md",
    "docs/theory/canonical-quasi.md",
    "docs/theory/overview.md",
    "docs/tutorials/control.md",
    "docs/tutorials/pendulum.md",
    "docs/tutorials/robot.md",
    "docs/tutorials/snakeboard.md",
    "docs/tutorials/trajectories.md",
}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and the block of text that follows it with nothing between, if
    there is one.
    """

    language: str
    body: str
    line: int
    says: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = list(BLOCK.finditer(text))
    result = []
    for number, match in enumerate(found):
        after = found[number + 1] if number + 1 < len(found) else None
        follows = (
            after is not None
            and after["language"] == "text"
            and not text[match.end() : after.start()].strip()
        )
        line = text.count("\n", 0, match.start()) + 2
        result.append(
            Block(
                match["language"], match["body"], line, after["body"] if after and follows else None
            )
        )
    return result


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def marked(page: Path) -> object:
    is_slow = named(page) in SLOW
    return pytest.param(page, marks=[pytest.mark.long] if is_slow else [], id=named(page))


@pytest.mark.filterwarnings("ignore::dalembert.errors.UnreadPartsWarning")
@pytest.mark.parametrize("page", map(marked, PAGES))
def test_the_python_of_a_page_runs_in_order_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    namespace: dict[str, object] = {"__name__": "__page__"}
    for block in blocks(page):
        if block.language != "python":
            continue
        printed = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.body, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if block.says is not None:
            assert doctest.OutputChecker().check_output(block.says, printed.getvalue(), EXPECTED), (
                f"{named(page)}:{block.line} printed\n{printed.getvalue()}\nand the page"
                f" says\n{block.says}"
            )


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_whole_model_file_of_a_page_is_a_model(page):
    for block in blocks(page):
        whole = re.search(r"^(coordinates\s*=|\[bodies)", block.body, re.MULTILINE)
        if block.language == "toml" and whole:
            assert loads(block.body).system.coordinates


#: The table of `dalembert verify`, the lab, which serves until it is stopped, and what needs a file
#: have tests of their own.
OWN_TESTS = (
    "dalembert verify",
    "dalembert lab",
    "dalembert rerun FILE.nc",
    "dalembert plot FILE.nc",
    "dalembert run cart.toml --plot cart.png",
    "dalembert rerun disk.nc",
)
COMMANDS = sorted(
    {
        command
        for page in PAGES
        for block in blocks(page)
        if block.language == "sh"
        for command in (line.split("#")[0].strip() for line in block.body.splitlines())
        if command.startswith("dalembert ") and "SYSTEM" not in command and command not in OWN_TESTS
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_pages_run(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert main(shlex.split(command)[1:]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_pages_link_to_files_that_exist(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" in target or target.removeprefix("../").startswith("generated/"):
            continue
        assert (page.parent / target).exists(), f"{named(page)} links to {target}"
