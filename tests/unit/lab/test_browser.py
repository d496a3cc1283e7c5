"""The page of the lab in a real browser: a reader's way through it, on a laptop in the light and on
a phone in the dark.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from dalembert.plotting.page_bundle import MODULES

playwright = pytest.importorskip("playwright.sync_api", reason="the browser test needs playwright")
pytest.importorskip("uvicorn", reason="the lab needs uvicorn")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="the browser test needs a chromium on the path"
)

DEVICES: dict[str, dict[str, Any]] = {
    "laptop-light": {"viewport": {"width": 1366, "height": 768}, "color_scheme": "light"},
    "phone-dark": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "dark",
        "has_touch": True,
        "is_mobile": True,
    },
}
TOKEN = "token-of-the-browser-test"
PIXELS = "canvas => canvas.toDataURL()"
#: Controls that a screen reader could not name.
NAMELESS = """[...document.querySelectorAll('button, input, select, textarea, canvas[tabindex]')]
    .filter(
        one => !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length))
    .map(one => one.outerHTML)"""
PAGE = Path(__file__).parents[3] / "src" / "dalembert" / "lab" / "page"
#: Modules that only reports and notebooks use.
ELSEWHERE = {"live.js", "model.js", "notebook.js", "viewer.js", "viewer.css"}
#: Modules that a page in another language than English loads.
LATER = {"texts.js", "translation.js"}


@dataclass
class Lab:
    """A running server, and a browser that watches what pages ask for and complain of."""

    address: str
    token: str
    browser: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, device: str, fragment: str = "") -> Any:
        page = self.browser.new_context(accept_downloads=True, **DEVICES[device]).new_page()
        page.set_default_timeout(180_000)
        page.on(
            "console",
            lambda said: (
                self.complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "dialog",
            lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()),
        )
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(f"{self.address}?token={self.token}{fragment}")
        return page

    def assert_quiet(self) -> None:
        """No complaint in the console, and nothing asked of another machine."""
        assert self.complaints == []
        assert [
            url
            for url in self.requests
            if not url.startswith((self.address, "blob:" + self.address, "data:"))
        ] == []


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A lab of its own in an empty folder, on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("models")
    command = [
        sys.executable,
        "-m",
        "dalembert.cli",
        "lab",
        str(folder),
        "--port",
        str(port),
        "--no-browser",
    ]
    environment = os.environ | {"DALEMBERT_LAB_TOKEN": TOKEN}
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/about", server)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert server.poll() is None, "the server has ended"
        try:
            request = urllib.request.Request(url, headers={"Authorization": f"token {TOKEN}"})
            urllib.request.urlopen(request, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def lab(address: str, chromium: Any) -> Iterator[Lab]:
    made = Lab(address, TOKEN, chromium)
    yield made
    for context in chromium.contexts:
        context.close()


def show(page: Any, view: str) -> None:
    """Turn to a view; on a wide screen the setup is always there."""
    if page.locator(f"#tab-{view}").is_visible():
        page.click(f"#tab-{view}")


def choose(page: Any, name: str) -> None:
    page.click("#pick")
    page.fill("#search", name)
    page.locator(f'[data-system="{name}"]').click()
    page.locator("#picker").wait_for(state="hidden")


def set_field(page: Any, selector: str, value: str) -> None:
    """Type a value and wait until the server has answered about the start that follows from it."""
    show(page, "setup")
    with page.expect_response("**/api/start"):
        page.fill(selector, value)
    show(page, "motion")


def run(page: Any) -> None:
    """Run to the end: the button offers to cancel, then to run again, and the transport is
    alive.
    """
    with page.expect_response(lambda answer: answer.url.endswith("/result")):
        page.click("#run")
    page.locator("#run:not(.cancel)").wait_for()
    page.locator("#time:enabled").wait_for()


def scrub(page: Any, time_wanted: float) -> str:
    """Move the time slider; the pixels of the animation there."""
    page.locator("#time").evaluate(
        "(slider, t) => { slider.value = t; slider.dispatchEvent(new Event('input', {bubbles:"
        " true})); }",
        time_wanted,
    )
    page.wait_for_timeout(60)
    assert page.inner_text("#time-value") == f"t = {time_wanted:.2f}"
    return str(page.locator("canvas.scene").first.evaluate(PIXELS))


def download(page: Any, kind: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.click("#download")
        page.click(f'[data-format="{kind}"]')
    target = folder / waiting.value.suggested_filename
    waiting.value.save_as(target)
    return target


def table(path: Path) -> dict[str, np.ndarray]:
    """A CSV file by columns; lines that start with # are diagnostics."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    return {name: np.array([float(row[k]) for row in rows[1:]]) for k, name in enumerate(rows[0])}


@pytest.mark.parametrize(
    "device", ["laptop-light", pytest.param("phone-dark", marks=pytest.mark.long)]
)
def test_a_way_through_the_lab(lab: Lab, device: str, tmp_path: Path, record_property: Any) -> None:
    page = lab.open(device)
    page.locator("#time:enabled").wait_for()
    paints = page.evaluate(
        "performance.getEntriesByType('paint').map(entry => [entry.name, entry.startTime])"
    )
    record_property("first paint (ms)", dict(paints)["first-contentful-paint"])
    assert page.evaluate("document.documentElement.dataset.theme") == device.split("-")[1]
    choose(page, "snakeboard")
    set_field(page, '[data-parameter="J0"]', "0.4")
    cancel_a_long_run(page)
    set_field(page, "#span-to", "6")
    run(page)
    picture = watch_and_scrub(page)
    assert_snakeboard(download(page, "csv", tmp_path), download(page, "nc", tmp_path))
    assert_restored(lab, page, device, picture, tmp_path)
    switch_form(page)
    type_hostile_models(page, tmp_path / "marker")
    assert page.evaluate(NAMELESS) == []
    lab.assert_quiet()


def cancel_a_long_run(page: Any) -> None:
    """With its wheels held the snakeboard coasts for ever: there is something to cancel."""
    set_field(page, '[data-start="phi_dot"]', "0")
    set_field(page, "#span-to", "1e6")
    page.click("#run")
    page.locator("#progress[aria-valuenow]:not([aria-valuenow='0'])").wait_for()
    with page.expect_response(lambda answer: answer.request.method == "DELETE"):
        page.click("#run.cancel")
    page.locator("#run:not(.cancel)").wait_for()
    assert page.text_content("#run-state") == "Cancelled"
    set_field(page, '[data-start="phi_dot"]', "0.2")


def watch_and_scrub(page: Any) -> str:
    """The picture moves by itself, and is the same at the same time; the picture at t = 1.5."""
    page.locator("#play[aria-label=Pause]").wait_for()
    scene = page.locator("canvas.scene").first
    first = scene.evaluate(PIXELS)
    page.wait_for_timeout(150)
    assert scene.evaluate(PIXELS) != first
    early, late = scrub(page, 1.5), scrub(page, 5.0)
    assert early != late and scrub(page, 1.5) == early
    return early


def assert_snakeboard(csv_file: Path, netcdf_file: Path) -> None:
    """Both files hold one motion: wheels that do not slip, and the energy of the changed parameter,
    which alone stays.
    """
    columns = table(csv_file)
    assert columns["t"][0] == 0.0 and columns["t"][-1] == 6.0 and len(columns["t"]) > 100
    x, y, turn, rotor, wheels = (
        columns[f"{name}_dot"] for name in ("x", "y", "theta", "psi", "phi")
    )
    theta, phi = columns["theta"], columns["phi"]
    for side in (1.0, -1.0):
        angle = theta + side * phi
        assert (
            np.abs(-np.sin(angle) * x + np.cos(angle) * y - side * np.cos(phi) * turn).max() < 1e-9
        )

    def drift(inertia: float) -> float:
        energy = (
            (x**2 + y**2 + turn**2 + inertia * rotor**2) / 2
            + inertia * rotor * turn
            + 0.1 * wheels**2
        )
        return float(np.ptp(energy))

    assert drift(0.4) < 1e-8 < 1e-3 < drift(0.25)
    with h5py.File(netcdf_file) as stored:
        for name in ("x", "y", "theta", "psi", "phi"):
            assert stored[name][-1] == pytest.approx(columns[name][-1], abs=1e-9), name


def assert_restored(lab: Lab, page: Any, device: str, picture: str, folder: Path) -> None:
    """A fresh browser finds the same values, the same motion and the same time behind the link."""
    page.click("#copy-link")
    page.locator("#toast:visible").wait_for()
    fragment = page.evaluate("location.hash")
    assert fragment.startswith("#s=")
    other = lab.open(device, fragment)
    other.locator("#time:enabled").wait_for()
    playwright.expect(other.locator("#time-value")).to_have_text("t = 1.50")
    assert other.input_value('[data-parameter="J0"]') == "0.4"
    assert other.input_value("#span-to") == "6"
    (folder / "again").mkdir()
    first, again = (
        table(download(page, "csv", folder)),
        table(download(other, "csv", folder / "again")),
    )
    assert first.keys() == again.keys() and all(
        np.array_equal(first[name], again[name]) for name in first
    )
    assert other.locator("canvas.scene").first.evaluate(PIXELS) == picture


def switch_form(page: Any) -> None:
    """Another form has other equations; one that does not apply says why; the run takes the one
    chosen.
    """
    show(page, "equations")
    lines = page.locator("#equation-lines")
    lines.locator("math").first.wait_for()
    before = lines.inner_text()
    with page.expect_response("**/api/equations"):
        page.click('[data-form="hamel"]')
    playwright.expect(lines).to_have_attribute("aria-busy", "false")
    assert lines.inner_text() != before and lines.locator("math").count() > 0
    barred = page.locator('[data-form="elimination"]')
    assert (
        barred.get_attribute("aria-disabled") == "true"
        and "constraints on positions" in barred.inner_text()
    )
    page.click("#use-form")
    show(page, "motion")
    run(page)
    assert "hamel" in page.inner_text("#outcome")


HOSTILE = {
    "code": "coordinates = [\"x\"]\nkinetic = \"__import__('os').system('touch {marker}')\"",
    "nesting": 'coordinates = ["x"]\nkinetic = "' + "(" * 5000 + "x_dot" + ")" * 5000 + '"',
    "markup in a fault": 'coordinates = ["x"]\nkinetic = "<script>document.hacked = 1</script>"',
}
MARKUP = (
    "name = \"<img src=x onerror='document.hacked = 1'><script>document.hacked = 1</script>\"\n"
)
HARMLESS = (
    'coordinates = ["x"]\nkinetic = "x_dot**2/2"\n[start]\nx_dot = 1.0\n[simulate]\nt = [0, 1]\n'
)


def type_hostile_models(page: Any, marker: Path) -> None:
    """Code, markup and deep nesting in the editor show an error, or their own text, and do
    nothing.
    """
    show(page, "model")
    for text in HOSTILE.values():
        with page.expect_response("**/api/check"):
            page.fill("textarea.code", text.replace("{marker}", str(marker)))
        page.locator("#editor-error:visible").wait_for()
        assert len(page.inner_text("#editor-error")) > 20
        assert page.locator("#run:disabled").count() == 1
    with page.expect_response("**/api/check"):
        page.fill("textarea.code", MARKUP + HARMLESS)
    page.locator("#editor-error").wait_for(state="hidden")
    assert "<img src=x" in page.locator("#model-name").text_content()
    show(page, "motion")
    run(page)
    assert page.evaluate(
        "[document.hacked ?? null, document.querySelectorAll('h1 img, h1 script, button"
        " img').length]"
    ) == [
        None,
        0,
    ]
    assert not marker.exists()


@pytest.mark.long
def test_compare_portrait_files_and_broken_link(lab: Lab, record_property: Any) -> None:
    page = lab.open("laptop-light")
    page.locator("#time:enabled").wait_for()
    choose(page, "rolling-disk")
    set_field(page, "#span-to", "10")
    began = time.perf_counter()
    run(page)
    record_property("disk, 10 s, click to shown (s)", round(time.perf_counter() - began, 3))
    page.click("#keep")
    page.select_option("#form", "lagrange")
    run(page)
    assert page.locator("canvas.scene").count() == 2
    worst = page.locator('[data-kind="difference"] .plot-tools b').all_inner_texts()
    assert len(worst) == 3 and any("10⁻" in number for number in worst), worst

    show(page, "portrait")
    with page.expect_response("**/api/portrait") as answer:
        page.click("#portrait-canvas canvas >> nth=1", position={"x": 500, "y": 200})
    assert len(answer.value.json()["orbits"]) == 1
    playwright.expect(page.locator("#portrait-state")).to_have_text("1 orbit")

    show(page, "model")
    page.click("#help-toggle")
    page.locator("#help button", has_text="dissipation").click()
    page.keyboard.type('"the')
    playwright.expect(page.locator("#completions li").first).to_contain_text("theta")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#word-help")).to_have_text("theta: coordinate")
    page.click("#revert")
    page.fill("#file-name", "disk")
    page.click("#save")
    playwright.expect(page.locator("#toast")).to_have_text("disk.toml saved")
    page.click("#pick")
    page.locator(".file", has_text="disk.toml").click()
    playwright.expect(page.locator("#file-name")).to_have_value("disk.toml")
    broken = lab.open("laptop-light", "#s=bm90LWEtc3RhdGU")
    playwright.expect(broken.locator("#notice")).to_contain_text("This link cannot be read")
    broken.locator("#time:enabled").wait_for()
    lab.assert_quiet()


def test_the_page_is_small_and_has_nothing_inline_or_foreign() -> None:
    """What the security policy forbids is not in the files either; a first visit fetches few
    bytes.
    """
    places = [*PAGE.iterdir(), *(one for one in MODULES.iterdir() if one.name not in ELSEWHERE)]
    files = {path.name: path.read_text(encoding="utf-8") for path in places}
    index = files["index.html"]
    assert re.findall(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|javascript:", index) == []
    named = set(re.findall(r'(?:src|href)="/page/([^"]+)"', index))
    named |= {
        name
        for text in files.values()
        for name in re.findall(r'(?:from|import\()\s*"\./([^"]+)"', text)
    }
    assert named | {"index.html"} == files.keys()
    for name, text in files.items():
        foreign = [
            address
            for address in re.findall(r"https?://[^\s\"']+", text)
            if "www.w3.org" not in address
        ]
        assert foreign == [] and "innerHTML" not in text and "eval(" not in text, name
    english = [text for name, text in files.items() if name not in LATER]
    assert sum(map(len, english)) < 240_000
