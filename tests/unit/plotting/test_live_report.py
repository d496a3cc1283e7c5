"""Reports in which the model runs: the numbers of a browser are those of a native run."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.codegen.backends.webassembly import wasm_code
from dalembert.errors import ModelError
from dalembert.plotting.page_bundle import MODULES, bundle
from dalembert.plotting.reports.report import report_page

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
ADD = """
define double @add(double %a, double %b) {
  %c = call double @sin(double %b)
  %d = fadd double %a, %c
  ret double %d
}
declare double @sin(double)
"""


def elastic_pendulum() -> da.Motion:
    """A small model with a spring, an arrow and a wheel in its drawing."""
    x, y = da.coordinates("x y")
    m, k, g = da.parameters("m k g", positive=True)
    system = da.System(
        coordinates=[x, y],
        kinetic=m * (x.dot**2 + y.dot**2) / 2,
        potential=m * g * y + k * (x**2 + y**2) / 2,
        name="Bob </script> & spring",
        drawing=[
            da.draw.spring((0, 0), (x, y)),
            da.draw.point((x, y)),
            da.draw.vector((x, y), (x.dot, y.dot)),
            da.draw.wheel((x, y), 0.1, angle=x),
            da.draw.trace((x, y)),
        ],
    )
    values = {m: 1.0, k: 20.0, g: 9.81}
    return da.simulate(system, {x: 0.3, y.dot: 0.5}, (0, 4), parameters=values)


def test_the_module_exports_what_it_was_asked_for() -> None:
    found = wasm_code(ADD, ["add"])
    assert found.code[:8] == b"\0asm\x01\0\0\0"
    assert found.data_end == 0 and b"\x03add\0" in found.code and b"linking" not in found.code


def test_a_bundle_needs_no_other_file() -> None:
    script = bundle("live")
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert "eval(" not in script and "innerHTML" not in script
    names = {path.stem for path in MODULES.glob("*.js")}
    assert {f"const {name}Module = " in script for name in names - {"notebook"}} == {True}


@pytest.mark.long
def test_the_page_allows_its_own_script_and_webassembly_only() -> None:
    page = report_page(elastic_pendulum(), equations=False, live=True)
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert policy is not None and len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}' 'wasm-unsafe-eval'" in policy[1]
    assert "http:" not in page.replace("http://www.w3.org", "") and "<script src" not in page
    data = re.search(r'id="live-model">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    record: dict[str, Any] = json.loads(data[1])
    assert record["state"] == ["x", "y", "x_dot", "y_dot"] and record["start"] == [0.3, 0, 0, 0.5]
    kinds = [shape["kind"] for shape in record["scene"]["shapes"]]
    assert kinds == ["spring", "point", "arrow", "polyline", "polyline", "point", "trace"]
    assert [panel["title"] for panel in record["panels"]] == ["Coordinates", "Velocities", "Energy"]


def test_what_a_page_cannot_run_is_said() -> None:
    x = da.coordinates("x")
    falling = da.System([x], kinetic=x.dot**2 / 2, potential=x, constraints=[da.unilateral(-x)])
    motion = da.simulate(falling, {x: 1.0}, (0, 0.5))
    with pytest.raises(ModelError, match="One-sided constraints"):
        report_page(motion, live=True)
    u = da.inputs("u")
    pushed = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    motion = da.simulate(pushed, {x: 1.0}, (0, 0.5), inputs={u: lambda t, y: 1.0})
    with pytest.raises(ModelError, match="cannot call Python"):
        report_page(motion, live=True)


# -- in a browser ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs a chromium on the path")
    with playwright.sync_playwright() as browsers:
        opened = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def computed_by_page(page: Any) -> dict[str, np.ndarray]:
    """What the page has computed, from its download."""
    with page.expect_download() as download:
        page.click("button:has-text('Data as CSV')")
    with Path(download.value.path()).open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, np.array(rows, dtype=float).T, strict=True))


def opened_page(browser: Any, path: Path, trouble: list[str]) -> Any:
    page = browser.new_context(accept_downloads=True, offline=True).new_page()
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text))
    own = (path.as_uri(), "blob:")
    page.on(
        "request",
        lambda request: None if request.url.startswith(own) else trouble.append(request.url),
    )
    page.goto(path.as_uri())
    page.locator(".status", has_text="steps in").wait_for()
    return page


def differences(found: dict[str, np.ndarray], motion: da.Motion) -> float:
    """The largest difference from the states of a motion, relative where they exceed one."""
    states = dict(zip([s.name for s in motion.state], motion.sol(found["t"]), strict=True))
    shared = states.keys() & found.keys()
    assert len(shared) >= len(motion.system.coordinates)
    sizes = {name: max(1.0, float(np.abs(states[name]).max())) for name in shared}
    return max(float(np.abs(found[n] - states[n]).max()) / sizes[n] for n in shared)


@pytest.mark.long
@pytest.mark.parametrize("name", ["driven-double-pendulum", "rolling-disk", "snakeboard"])
def test_a_browser_computes_the_same_numbers(name: str, browser: Any, tmp_path: Path) -> None:
    motion = da.simulate(da.gallery.load(name))
    path = motion.report(tmp_path / "live.html", equations=False, live=True)
    trouble: list[str] = []
    page = opened_page(browser, path, trouble)
    found = computed_by_page(page)
    assert len(found["t"]) == 1001 and found["t"][-1] == motion.t[-1]
    assert differences(found, motion) < 1e-9
    assert trouble == []


@pytest.mark.long
def test_other_numbers_are_computed_anew(browser: Any, tmp_path: Path) -> None:
    """A parameter, a start value and the end are changed; the drawing moves; the time plays."""
    motion = elastic_pendulum()
    trouble: list[str] = []
    page = opened_page(
        browser, motion.report(tmp_path / "live.html", equations=False, live=True), trouble
    )
    before = page.locator("canvas.scene").evaluate("canvas => canvas.toDataURL()")
    for name, value in {"k": "35", "x": "-0.4", "t": "2.5"}.items():
        field = page.locator(f"[aria-label='{name}, a number']")
        field.fill(value)
        field.dispatch_event("change")
    page.wait_for_function(
        "before => document.querySelector('canvas.scene').toDataURL() !== before", arg=before
    )
    found = computed_by_page(page)
    given = motion.system.parameters
    values = {symbol: {"k": 35.0, "m": 1.0, "g": 9.81}[symbol.name] for symbol in given}
    again = da.simulate(motion.system, {"x": -0.4, "y_dot": 0.5}, (0, 2.5), parameters=values)
    assert found["t"][-1] == 2.5 and differences(found, again) < 1e-9
    np.testing.assert_allclose(found["kinetic"] + found["potential"], found["energy"], rtol=1e-12)
    page.locator("input[type=range][aria-label='m']").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".status", has_text="Energy").wait_for()
    if page.locator("button:has-text('Pause')").count():
        page.click("button:has-text('Pause')")
    time = page.locator(".controls output").text_content()
    page.click("button:has-text('Play')")
    page.wait_for_function(
        "time => document.querySelector('.controls output').textContent !== time", arg=time
    )
    page.click("button:has-text('Reset')")
    assert differences(computed_by_page(page), motion) < 1e-9
    assert trouble == []


@pytest.mark.long
def test_a_start_off_the_constraints_is_moved_onto_them(browser: Any, tmp_path: Path) -> None:
    x, y = da.coordinates("x y")
    rod = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y,
        constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")],
    )
    motion = da.simulate(rod, {x: 1.0, y: 0.0}, (0, 2))
    trouble: list[str] = []
    page = opened_page(
        browser, motion.report(tmp_path / "live.html", equations=False, live=True), trouble
    )
    field = page.locator("[aria-label='x, a number']")
    field.fill("2")
    field.dispatch_event("change")
    page.locator(".status", has_text="moved onto the constraints").wait_for()
    found = computed_by_page(page)
    assert np.abs(found["x"] ** 2 + found["y"] ** 2 - 1).max() < 1e-12
    assert trouble == []
