"""The reference is complete, its examples are there, and documents name pages that exist.

The examples themselves are run as doctests of the package.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import dalembert as da

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^(```+).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)


def script(name: str):
    """A module of scripts/."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "scripts"))


REFERENCE = script("reference")
PUBLIC = REFERENCE.PUBLIC


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reference")
    REFERENCE.write_reference(folder)
    return {page.name: page.read_text(encoding="utf-8") for page in folder.glob("*.md")}


def test_every_public_callable_has_an_example():
    values = {name: REFERENCE.value_of(name) for name in PUBLIC}
    assert [
        name
        for name, value in values.items()
        if callable(value) and ">>>" not in (inspect.getdoc(value) or "")
    ] == []


def test_every_public_name_has_one_place_in_the_reference(pages):
    for name in PUBLIC:
        places = [page for page, text in pages.items() if f"## {name} {{#{name}}}\n" in text]
        assert len(places) == 1, f"{name} is explained in {places}"
        path = f"{PUBLIC[name]}.{name}" if PUBLIC[name] else name
        assert f"[`{path}`]({places[0]}#{name})" in pages["index.md"]


@pytest.mark.parametrize("name", ["System", "Equations", "Motion", "Ensemble", "Scenario"])
def test_methods_of_the_main_classes_are_in_the_reference(pages, name):
    text = "\n".join(pages.values())
    methods = [
        key
        for key, value in vars(getattr(da, name)).items()
        if inspect.isfunction(value) and not key.startswith("_")
    ]
    assert methods
    assert [key for key in methods if f"{{#{name}.{key}}}" not in text] == []


def test_links_of_the_reference_lead_to_headings_that_are_there(pages):
    for page, text in pages.items():
        for target, anchor in re.findall(r"\]\(([\w-]+\.md)#([\w.]+)\)", BLOCK.sub("", text)):
            assert f"{{#{anchor}}}" in pages[target], f"{page} links to {target}#{anchor}"


def test_every_page_of_the_reference_is_in_the_navigation(pages):
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page for page in pages if f"generated/reference/{page}" not in navigation] == []


def slug(heading: str) -> str:
    """The anchor that MkDocs gives to a heading."""
    plain = (
        re.sub(r"[`*$]|\[([^\]]*)\]\([^)]*\)", lambda match: match[1] or "", heading)
        .strip()
        .lower()
    )
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain))


def anchors(page: Path) -> set[str]:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    given = re.findall(r"\{#([\w.-]+)\}", text)
    return {slug(heading) for heading in re.findall(r"^#+\s+(.+?)\s*$", text, re.MULTILINE)} | set(
        given
    )


WRITTEN = [
    page for page in sorted(DOCS.rglob("*.md")) if "generated" not in page.relative_to(DOCS).parts
]


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN], ids=lambda page: page.stem
)
def test_links_to_sections_name_headings_that_are_there(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target, anchor in re.findall(r"\]\(([^)#\s]*\.md)?#([^)\s]+)\)", text):
        place = (page.parent / target) if target else page
        if "generated" not in place.parts:
            assert anchor in anchors(place), f"{page.name} links to {target}#{anchor}"


def test_pages_that_docstrings_name_exist():
    missing = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "docs/" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                named = re.findall(r"\bdocs/[\w/-]+\.md", ast.get_docstring(node) or "")
                missing += [f"{path.name}: {page}" for page in named if not (ROOT / page).exists()]
    assert missing == []


def test_the_check_of_the_site_sees_what_is_broken(tmp_path):
    checked = script("check_links").broken_links
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">b</a> <a href="#there">a</a> <img src="p.png"> <a href="http://x">'
    )
    (tmp_path / "b.html").write_text('<h2 id="here">b</h2> <a href="c.html">c</a>')
    assert checked(tmp_path) == [
        "a.html: #there has no such anchor",
        "a.html: p.png is not there",
        "b.html: c.html is not there",
    ]


def test_performance_tells_what_falls_short():
    """A peer that is faster is listed, one of another start and one that is slower are not."""
    performance = script("performance")
    starts = {
        "W1": {"dalembert": "energies", "swift": "energies", "slow": "energies", "hand": "by hand"}
    }
    rows = [("dalembert", 2.0), ("swift", 1.0), ("slow", 4.0), ("hand", 0.1)]
    data = {
        "starts": starts,
        "rows": [
            {"workload": "W1-N2", "who": who, "metric": "call_us", "value": v, "error": 0.0}
            for who, v in rows
        ],
    }
    assert performance.Results(data).shortfalls() == [
        ("W1-N2", "call_us", "dalembert", "swift", 2.0)
    ]
    data["rows"][1]["value"] = 3.0
    assert performance.Results(data).shortfalls() == []


def test_the_performance_page_is_made_of_the_newest_results():
    performance = script("performance")
    results = performance.newest_results(ROOT / "benchmarks" / "results")
    text = performance.page(results, "pictures/scaling.png")
    written = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert text == written, "run python scripts/performance.py"
    assert results.data["date"][:10] in text
    for key in ("W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9"):
        assert f"## {key}: " in text
    value = results.value("W3-rtol1e-10", "dalembert", "final_error")
    assert value is not None and performance.number(value) in text


def test_an_erratum_shows_what_is_left_of_print_and_correction():
    from dalembert.verification import Row

    build = script("build_docs")
    fields = {
        "id": "U-1",
        "claim": "p_dot = 0; the print has 1",
        "how": "by hand",
        "residual": 2e-16,
        "printed_residual": 0.5,
    }
    text = build.erratum(Row(**fields, verdict="reproduced with correction", fault="print"))
    assert "The fault is the authors'." in text
    assert "### U-1" in text and "p\\_dot = 0; the print has 1." in text
    assert "**2e-16**" in text and "**5e-01**" in text


def test_every_part_of_the_reference_names_modules_that_exist_and_has_its_page(pages):
    source = ROOT / "src" / "dalembert"
    homes = [home for part in REFERENCE.PARTS for home in part.homes]
    paths = {home: source.joinpath(*home.split(".")) for home in homes}
    assert [
        h for h, p in paths.items() if not p.is_dir() and not p.with_suffix(".py").exists()
    ] == []
    listed = re.findall(
        r"generated/reference/([\w-]+\.md)", (ROOT / "mkdocs.yml").read_text("utf-8")
    )
    assert sorted(listed) == sorted(pages)
