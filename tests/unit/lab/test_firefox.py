"""The lab in a real Firefox, spoken to by WebDriver BiDi: it paints, runs, follows changed values,
shows every view, and complains of nothing.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from test_browser import TOKEN, address  # noqa: F401
from test_browser_views import VIOLATIONS

websocket = pytest.importorskip("tornado.websocket", reason="the test speaks to Firefox by tornado")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(FIREFOX is None, reason="the test needs a firefox on the path"),
]
#: Seconds that anything may take.
PATIENCE = 120


class Page:
    """One page of a browser that is told what to do by BiDi."""

    def __init__(self, connection: Any) -> None:
        self.connection, self.number, self.context = connection, 0, ""
        self.complaints: list[str] = []

    async def ask(self, method: str, **parameters: Any) -> Any:
        """The result of a command; what the page logs meanwhile is kept."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        await self.connection.write_message(json.dumps(command))
        while True:
            text = await asyncio.wait_for(self.connection.read_message(), PATIENCE)
            assert text is not None, "Firefox has ended"
            message = json.loads(text)
            if message.get("method") == "log.entryAdded":
                entry = message["params"]
                if entry["level"] in ("warn", "error"):
                    self.complaints.append(str(entry["text"]))
            if message.get("id") == self.number:
                assert message["type"] == "success", message
                return message["result"]

    async def open(self, url: str) -> None:
        await self.ask("session.new", capabilities={})
        await self.ask("session.subscribe", events=["log.entryAdded"])
        self.context = (await self.ask("browsingContext.getTree"))["contexts"][0]["context"]
        await self.ask("browsingContext.navigate", context=self.context, url=url, wait="complete")

    async def run(self, script: str) -> Any:
        """The value of an expression of JavaScript, sent as JSON."""
        found = await self.ask(
            "script.evaluate",
            expression=f"Promise.resolve({script}).then(found => JSON.stringify(found ?? null))",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])

    async def wait_for(self, condition: str) -> None:
        for _ in range(10 * PATIENCE):
            if await self.run(condition):
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"it never came: {condition}")


def in_firefox(folder: Path, url: str, way: Callable[[Page], Awaitable[None]]) -> None:
    """Go a way through a page in a Firefox of its own."""
    command = [str(FIREFOX), "--headless", "--no-remote", "--profile", str(folder)]
    browser = subprocess.Popen(
        [*command, "--remote-debugging-port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )

    async def go(place: str) -> None:
        connection = await websocket.websocket_connect(f"{place}/session")
        try:
            page = Page(connection)
            await page.open(url)
            await way(page)
            assert page.complaints == []
        finally:
            connection.close()

    try:
        assert browser.stderr is not None
        lines = (re.search(r"listening on (ws://\S+)", line) for line in browser.stderr)
        found = next((line for line in lines if line), None)
        assert found is not None, "Firefox does not listen"
        asyncio.run(go(found[1]))
    finally:
        browser.terminate()
        browser.wait(20)
        assert browser.stderr is not None
        browser.stderr.close()


def by_id(name: str) -> str:
    return f"document.getElementById('{name}')"


def test_a_way_through_the_lab_in_firefox(address: str, tmp_path: Path) -> None:  # noqa: F811
    axe = pytest.importorskip("axe_playwright_python", reason="the check needs axe")
    checker = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    pixels = "document.querySelector('canvas.scene').toDataURL().length"

    async def way(page: Page) -> None:
        await page.wait_for(f"!{by_id('time')}.disabled")
        await page.wait_for(f"{pixels} > 2000")
        await page.run(f"(() => {{ {by_id('live')}.click(); }})()")
        field = "document.querySelector('[data-parameter=\"m\"]')"
        fill = f"{field}.value = '2'; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))"
        energy = "document.querySelector('[data-kind=\"energy\"] .legend').textContent"
        before = await page.run(energy)
        await page.run(f"(() => {{ {fill}; }})()")
        await page.wait_for(f"{energy} !== {json.dumps(before)}")
        await page.run(f"(() => {{ {checker} }})()")
        for view in ("motion", "equations", "portrait", "study", "model"):
            await page.run(f"{by_id(f'tab-{view}')}.click()")
            if view == "equations":
                await page.wait_for("document.querySelectorAll('#equation-lines math').length > 0")
            assert await page.run(f"!{by_id(view)}.hidden")
            assert await page.run(f"({VIOLATIONS})()") == []

    in_firefox(tmp_path, f"{address}?token={TOKEN}", way)
