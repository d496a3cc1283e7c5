"""Reports: one file that refers to nothing else, holds the run's own numbers, and lets no word of a
model become code.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import dalembert as da
from dalembert.cli import main
from dalembert.errors import FileError
from dalembert.plotting.reports.report import report_page
from dalembert.plotting.scenes.scene import build_scene

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        if self._open == "script":
            self.scripts[-1] += data
        else:
            self.words.append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def pendulum(name="Pendulum", constraint="rod", **options):
    x, y = da.coordinates("x y")
    m, g, l = da.parameters("m g l", positive=True)
    return da.System(
        [x, y],
        kinetic=m * (x.dot**2 + y.dot**2) / 2,
        potential=m * g * y,
        constraints=[da.holonomic(x**2 + y**2 - l**2, name=constraint)],
        name=name,
        **options,
    )


def swinging(system, end=2.0, at=None):
    return da.simulate(
        system, {"x": 1.0, "y": 0.0}, (0, end), parameters={"m": 1, "g": 9.81, "l": 1}, at=at
    )


@pytest.fixture(scope="module")
def swing():
    x, y = da.coordinates("x y")
    return swinging(
        pendulum(
            drawing=[da.draw.link((0, 0), (x, y)), da.draw.point((x, y)), da.draw.trace((x, y))]
        )
    )


@pytest.fixture(scope="module")
def text(swing):
    return report_page(swing)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.mark.long
def test_the_page_refers_to_nothing_outside(text, page):
    for _, attributes in page.elements:
        for key, value in attributes.items():
            if key in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
                assert value.startswith(("data:", "#")), (key, value[:80])
    outside = re.sub(r'xmlns(:xlink)?="[^"]*"', "", text)
    assert not re.search(r"https?:|//cdn|@import|url\((?!#)", outside)


@pytest.mark.long
def test_only_its_own_script_may_run(page):
    (policy,) = [
        a["content"] for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy"
    ]
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and policy.startswith("default-src 'none'")
    assert len(page.scripts) == 2


@pytest.mark.long
def test_hostile_words_stay_words(page):
    x, y = da.coordinates("x y")
    drawing = [da.draw.point((x, y)), da.draw.text((x, y), HOSTILE)]
    motion = swinging(pendulum(HOSTILE, HOSTILE, drawing=drawing), 1.0, at=[0, 0.5, 1])
    found = Page(report_page(motion))
    assert len(found.scripts) == 2
    assert {tag for tag, _ in found.elements} <= {tag for tag, _ in page.elements} | {"pre"}
    assert not [
        key for _, attributes in found.elements for key in attributes if key.startswith("on")
    ]
    assert "".join(found.words).count("alert(1)") >= 3
    assert json.loads(found.scripts[0])["texts"][0]["text"] == HOSTILE


def test_the_data_are_those_of_the_motion(swing, page):
    (link,) = [a for a in page.of("a") if a["download"].endswith(".csv")]
    rows = list(csv.reader(io.StringIO(base64.b64decode(link["href"].partition(",")[2]).decode())))
    assert tuple(rows[0]) == swing.names
    table = np.array(rows[1:], dtype=float)
    assert len(table) == len(swing.t)
    np.testing.assert_allclose(
        table[:, rows[0].index("y_dot")], swing["y_dot"], rtol=1e-11, atol=1e-300
    )


def test_the_model_file_runs_again(swing, page, tmp_path):
    (link,) = [a for a in page.of("a") if a["download"].endswith(".toml")]
    (tmp_path / "again.toml").write_bytes(base64.b64decode(link["href"].partition(",")[2]))
    again = da.load_model(tmp_path / "again.toml")
    assert again.drawing == swing.system.drawing
    np.testing.assert_array_equal(da.simulate(again).y, swing.y)


def test_the_scene_moves_like_the_drawing(swing, page):
    scene = json.loads(page.scripts[0])
    times = np.array(scene["times"])
    expected = build_scene(swing, swing.system.drawing, times)
    (left, right), (bottom, top) = expected.window
    middle, half = np.array([left + right, bottom + top]) / 2, max(right - left, top - bottom) / 2
    link, dot = (
        np.frombuffer(base64.b64decode(part["points"]), "<i2").reshape(times.size, -1, 2)
        for part in scene["parts"]
    )
    for found, part in ((link, expected.parts[0]), (dot, expected.parts[1])):
        np.testing.assert_allclose(found / 30_000 * half + middle, part.points, atol=half / 20_000)
    trace = np.frombuffer(base64.b64decode(scene["traces"][0]["points"]), "<i2").reshape(-1, 2)
    np.testing.assert_array_equal(trace[:: scene["finer"]], dot[:, 0])


def test_what_happened_is_said(swing, page, text):
    words = " ".join(page.words)
    assert swing.message in words and "Lagrange" in words and da.__version__ in words
    assert f"{swing.statistics['steps']} accepted" in words
    assert "<math" in text or 'class="tex"' in text
    assert text.count("<svg ") >= 4 and text.count('class="cursor"') >= 4


@pytest.mark.long
def test_formulas_without_the_converter(swing, monkeypatch):
    from dalembert.plotting.reports.report_formulas import mathml

    mathml.cache_clear()
    monkeypatch.setitem(sys.modules, "latex2mathml", None)
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    found = report_page(swing)
    mathml.cache_clear()
    assert "<math" not in found and 'pip install "dalembert[lab]"' in found
    assert re.search(r'<pre class="tex">[^<]*\\ddot\{x\}', found)


def test_colours_follow_the_page(text):
    plots = "".join(re.findall(r"<svg .*?</svg>", text, re.DOTALL))
    assert "var(--c0)" in plots and "var(--ink)" in plots and "#1f2933" not in plots


@pytest.mark.long
def test_runs_that_fail_and_runs_without_a_drawing_have_pages():
    failed = da.simulate(da.gallery.load("blow-up"))
    assert not failed.success
    found = Page(report_page(failed))
    assert any("bad" in (a.get("class") or "") for a in found.of("span"))
    q = da.coordinates("q")
    bare = Page(
        report_page(da.simulate(da.System([q], kinetic=q.dot**2 / 2), {q.dot: 1.0}, (0, 1)))
    )
    assert bare.scripts == [] and not bare.of("canvas")


def test_long_runs_keep_every_few_rows(swing, monkeypatch):
    module = sys.modules["dalembert.plotting.reports.report"]
    monkeypatch.setattr(module, "MOST_NUMBERS", 300)
    (link,) = [a for a in Page(module._data(swing)).of("a") if a["download"].endswith(".csv")]
    rows = base64.b64decode(link["href"].partition(",")[2]).decode().splitlines()
    assert len(swing.names) * (len(rows) - 1) <= 300 + len(swing.names)


@pytest.mark.long
def test_files_and_command_line(tmp_path, capsys):
    with pytest.raises(FileError, match="suffix"):
        swinging(pendulum(), 0.1).report(tmp_path / "run.txt")
    assert main(["run", "knife-edge", "--report", str(tmp_path / "run.html")]) == 0
    assert "run.html" in capsys.readouterr().out
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert main(["run", "knife-edge", "--report", str(tmp_path / "no" / "run.html")]) != 0


@pytest.mark.long
def test_a_browser_plays_it_without_a_network(swing, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs chromium")
    target = swing.report(tmp_path / "run.html")
    trouble: list[str] = []
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 390, "height": 800})
        tab.on("pageerror", lambda error: trouble.append(str(error)))
        tab.on("console", lambda message: trouble.append(message.text))
        tab.on(
            "request",
            lambda request: (
                trouble.append(request.url) if request.url[:5] not in ("file:", "data:") else None
            ),
        )
        tab.goto(target.as_uri())
        before = tab.inner_text("#clock")
        tab.click("#play")
        tab.wait_for_function(
            "before => document.getElementById('clock').textContent !== before",
            arg=before,
            timeout=5000,
        )
        tab.evaluate(
            "() => { const s = document.getElementById('slider'); s.value = s.max;"
            " s.dispatchEvent(new Event('input')); }"
        )
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= 390
        painted = (
            "() => document.getElementById('canvas').getContext('2d').getImageData(0, 0, 300,"
            " 150).data.some(v => v > 0)"
        )
        assert tab.evaluate(painted)
        browser.close()
    assert trouble == []


@pytest.mark.long
def test_a_change_of_energy_that_is_stated_reads_as_one(text):
    damped = report_page(swinging(pendulum(dissipation=da.coordinates("x").dot ** 2 / 5)))
    assert "as dissipation may make it" in damped and "changes by at most" not in damped
    assert "changes by at most" in text and "may make it" not in text
