"""The viewer of notebooks: its data are those of the motion, and a browser shows them."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import MissingExtraError, ModelError
from dalembert.plotting.page_bundle import MODULES
from dalembert.plotting.reports.live import live_record
from dalembert.plotting.reports.notebook_viewer import viewer_record, viewer_script

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
HAS_WIDGETS = importlib.util.find_spec("anywidget") is not None
#: A page in the place of a notebook: one viewer for each record, with the traits of a widget.
NOTEBOOK = """<!doctype html><meta charset=utf-8><title>notebook</title><style>{css}</style>
<script type="module">
const source = {script};
const url = URL.createObjectURL(new Blob([source], {{ type: "text/javascript" }}));
const widget = (await import(url)).default;
window.models = {records}.map((record) => {{
  const traits = {{ record, time: 0 }}, listeners = new Set();
  const model = {{
    traits, saved: 0, get: (name) => traits[name], set: (name, value) => (traits[name] = value),
    save_changes: () => (model.saved += 1), on: (_, listener) => listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
    change: (time) => {{ traits.time = time; listeners.forEach((listener) => listener()); }},
  }};
  const el = document.body.appendChild(document.createElement("div"));
  model.leave = widget.render({{ model, el }});
  return model;
}});
</script>"""


@pytest.fixture(scope="module")
def motion() -> da.Motion:
    return da.simulate(da.gallery.load("rolling-disk"), span=(0, 2))


def test_the_record_has_the_numbers_of_the_motion(motion: da.Motion) -> None:
    record = viewer_record(motion, 50)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    times = np.array(record["t"])
    expected = dict(zip([s.name for s in motion.state], motion.sol(times), strict=True))
    for name, values in record["state"].items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-12)
    assert [panel["title"] for panel in record["panels"]] == ["Coordinates", "Velocities", "Energy"]
    assert record["scene"]["dimension"] == 3


def test_faults_are_said(motion: da.Motion, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="at least two frames"):
        motion.viewer(frames=1)
    if not HAS_WIDGETS:
        with pytest.raises(MissingExtraError, match=r"dalembert\[notebook\]"):
            motion.viewer(frames=5)


@pytest.mark.skipif(not HAS_WIDGETS, reason="needs anywidget, the extra `notebook`")
def test_the_widget_has_the_time_as_a_trait(motion: da.Motion) -> None:
    shown: Any = motion.viewer(frames=20)
    assert shown.time == 0.0 and shown.record["model"] == motion.system.name
    seen = []
    shown.observe(lambda change: seen.append(change["new"]), "time")
    shown.time = 1.5
    assert seen == [1.5] and shown.get_state("time") == {"time": 1.5}


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="needs a chromium on the path")
def test_a_browser_shows_a_motion_and_a_model_that_runs(motion: da.Motion, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    records = [viewer_record(motion, 100), live_record(motion, "disk")]
    css = (MODULES / "viewer.css").read_text(encoding="utf-8")
    script = json.dumps(viewer_script()).replace("</", "<\\/")
    page_text = NOTEBOOK.format(
        css=css, script=script, records=json.dumps(records).replace("</", "<\\/")
    )
    path = tmp_path / "notebook.html"
    path.write_text(page_text, encoding="utf-8")
    trouble: list[str] = []
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="reduce")
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda message: trouble.append(message.text))
        page.goto(path.as_uri())
        page.locator(".status", has_text="steps in").wait_for()
        assert page.locator(".dalembert-view").count() == 2
        first, second = page.locator(".stage .controls output").all()
        page.evaluate("models[0].change(1.25)")
        assert first.text_content() == "t = 1.250" and second.text_content() == "t = 0.000"
        saved = page.evaluate("models[0].saved")
        page.locator(".time").first.focus()
        page.keyboard.press("ArrowRight")
        step = motion.t[-1] / 99
        told = page.evaluate("models[0].traits.time")
        assert page.evaluate("models[0].saved") == saved + 1
        assert told == pytest.approx(step * round(1.25 / step) + step)
        page.click("button:has-text('Play') >> nth=0")
        page.wait_for_function("models[0].traits.time !== 0")
        page.evaluate("models.forEach((model) => model.leave())")
        browser.close()
    assert trouble == []
