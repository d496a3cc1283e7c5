"""What the lab shows by default and one click away, and whether everyone can use it: checks by axe
in every view, undo by keys, forms side by side, the plane of phases, the camera that follows.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from test_browser import (  # noqa: F401
    PIXELS,
    Lab,
    address,
    choose,
    chromium,
    lab,
    playwright,
    pytestmark,
    run,
    set_field,
    show,
)

DRIVEN = """coordinates = ["x"]
kinetic = "m*x_dot**2/2"
potential = "k*x**2/2"
dissipation = "c*x_dot**2/2"
[parameters]
m = 1.0
k = 4.0
c = 0.3
[forces]
x = "u"
[inputs]
u = "sin(3*t)"
[start]
x = 1.0
[simulate]
t = [0, 10]
"""
#: Violations of the rules of axe by their impact: serious ones are no longer usable by everyone.
VIOLATIONS = """() => axe.run(document, { resultTypes: ['violations'] }).then(found =>
    found.violations.map(one => [one.impact, one.id, one.nodes[0].html.slice(0, 120)]))"""


def assert_accessible(page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="the check needs axe")
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    assert page.evaluate(VIOLATIONS) == []


@pytest.mark.parametrize("device", ["laptop-light", "phone-dark"])
@pytest.mark.long
def test_axe_finds_nothing_in_any_view(lab: Lab, device: str) -> None:  # noqa: F811
    page = lab.open(device)
    page.locator("#time:enabled").wait_for()
    for view in ("setup", "motion", "equations", "portrait", "study", "model"):
        show(page, view)
        if view == "equations":
            page.locator("#equation-lines math").first.wait_for()
            page.select_option("#beside", "hamilton")
            page.locator("#beside-lines math").first.wait_for()
        if view == "model":
            page.click("#help-toggle")
        assert_accessible(page)
    page.click("#pick")
    page.locator("#systems [role=option]").first.wait_for()
    assert_accessible(page)
    lab.assert_quiet()


@pytest.mark.long
def test_values_are_undone_and_done_again(lab: Lab) -> None:  # noqa: F811
    page = lab.open("laptop-light")
    page.locator("#time:enabled").wait_for()
    set_field(page, '[data-parameter="m"]', "2")
    set_field(page, '[data-start="x"]', "0.5")
    values = [page.locator('[data-parameter="m"]'), page.locator('[data-start="x"]')]
    page.locator("#play").focus()
    for keys, wanted in (
        ("Control+z", ("2", "0")),
        ("Control+z", ("1", "0")),
        ("Control+Shift+z", ("2", "0")),
        ("Control+y", ("2", "0.5")),
    ):
        page.keyboard.press(keys)
        for field, value in zip(values, wanted, strict=True):
            playwright.expect(field).to_have_value(value)
    assert page.locator("#redo:disabled").count() == 1
    lab.assert_quiet()


@pytest.mark.long
def test_the_default_panels_teach_and_a_driven_system_has_a_balance(lab: Lab) -> None:  # noqa: F811
    page = lab.open("laptop-light")
    page.locator("#time:enabled").wait_for()
    kinds = [one.get_attribute("data-kind") for one in page.locator(".plot").all()]
    assert kinds == ["coordinates", "phase", "energy", "reactions"]
    legend = page.inner_text('[data-kind="energy"] .legend')
    assert all(word in legend for word in ("energy", "kinetic", "potential"))
    page.click("#play")
    before = page.locator("canvas.scene").first.evaluate(PIXELS)
    page.click("#follow")
    page.wait_for_timeout(100)
    assert page.locator("canvas.scene").first.evaluate(PIXELS) != before

    show(page, "equations")
    page.locator("#equation-lines math").first.wait_for()
    page.select_option("#beside", "hamilton")
    page.locator("#beside-lines math").first.wait_for()
    assert page.inner_text("#beside-lines") != page.inner_text("#equation-lines")

    show(page, "model")
    with page.expect_response("**/api/check"):
        page.fill("textarea.code", DRIVEN)
    show(page, "motion")
    run(page)
    page.get_by_role("button", name="Energy balance").click()
    title = page.inner_text('[data-kind="balance"] h3')
    left_open = re.search(r"10⁻(\S+)", title)
    assert "by u" in page.inner_text('[data-kind="balance"] .legend')
    assert left_open is not None and len(left_open[1]) == 2, title
    place = page.locator('[data-kind="phase"] canvas').nth(1).bounding_box()
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 3)
    assert page.inner_text("#time-value") != "t = 0.00"
    lab.assert_quiet()


@pytest.mark.long
def test_the_page_speaks_the_language_of_the_reader(lab: Lab) -> None:  # noqa: F811
    page = lab.open("laptop-light")
    page.locator("#time:enabled").wait_for()
    set_field(page, '[data-parameter="m"]', "2")
    for code, motion, parameters in (("de", "Bewegung", "Parameter"), ("zh", "运动", "参数")):
        with page.expect_navigation():
            page.select_option("#language", code)
        page.locator("#time:enabled").wait_for()
        assert page.inner_text("#tab-motion") == motion
        assert page.text_content("#parameters-title").strip().startswith(parameters)
        assert page.evaluate("document.documentElement.lang") == code
        assert page.input_value('[data-parameter="m"]') == "2"
        assert page.text_content("#model-name") == "Snakeboard"
        playwright.expect(page.locator("#outcome")).not_to_contain_text("The motion was followed")
    assert_accessible(page)
    lab.assert_quiet()


@pytest.mark.long
def test_a_bifurcation_diagram_grows_and_its_values_are_taken_over(lab: Lab) -> None:  # noqa: F811
    page = lab.open("laptop-light")
    page.locator("#time:enabled").wait_for()
    show(page, "study")
    page.select_option("#study-kind", "bifurcation")
    page.fill("#study-x-from", "1")
    page.fill("#study-x-to", "2")
    page.fill("#study-x-count", "5")
    page.click("#study-run")
    playwright.expect(page.locator("#study-state")).to_have_text("5 / 5")
    box = page.locator("#study-canvas canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 35, box["y"] + box["height"] / 2)
    playwright.expect(page.locator('[data-parameter="m"]')).to_have_value("2")
    lab.assert_quiet()


#: The pixel of a point of the plane, by the page's own projection.
PIXEL = """async ([x, y]) => {
    const { plane } = await import('/page/camera.js');
    const { state } = await import('/page/state.js');
    const box = document.querySelector('canvas.scene').getBoundingClientRect();
    const [px, py] = plane(state.result.scene.limits, box.width, box.height).project(x, y);
    return [box.left + px, box.top + py];
}"""
STARTS = "async () => (await import('/page/state.js')).state.start"


@pytest.mark.long
def test_the_start_is_dragged_in_the_drawing(lab: Lab) -> None:  # noqa: F811
    page = lab.open("laptop-light")
    page.locator("#time:enabled").wait_for()
    page.click("#pick")
    page.click("#new-model")
    playwright.expect(page.locator("#model-name")).to_have_text("Pendulum on a cart")
    show(page, "motion")
    run(page)
    page.click("#grab")
    bob = [math.sin(math.pi / 3), -math.cos(math.pi / 3)]
    begin, end = (page.evaluate(PIXEL, place) for place in (bob, [0.6, -0.8]))
    page.mouse.move(*begin)
    page.mouse.down()
    with page.expect_response("**/api/place"):
        page.mouse.move(*end)
    page.wait_for_function("() => !document.querySelector('#run.cancel')")
    page.mouse.up()
    start = page.evaluate(STARTS)
    x, theta = start["x"], start["theta"]
    assert abs(x + math.sin(theta) - 0.6) < 0.02 and abs(math.cos(theta) - 0.8) < 0.02
    lab.assert_quiet()
