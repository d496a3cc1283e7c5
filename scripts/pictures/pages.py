"""What code on the pages of the documentation draws."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from dalembert.plotting.style import LIGHT, Picture

from .files import FOLDER, smaller, still


def page_of_pictures() -> None:
    """What the code of docs/pictures.md draws, and the report that it writes as a browser shows it,
    where there is one.
    """
    page = (FOLDER.parent / "pictures.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        Path("page.py").write_text(code, encoding="utf-8")
        runpy.run_path("page.py")
        for name in ("crane", "section", "spectrum", "exponents"):
            smaller(Image.open(f"{name}.png"), 1000, FOLDER / f"{name}.png")
        browser = shutil.which("chromium")
        if browser is not None:
            options = [
                "--headless",
                "--no-sandbox",
                "--hide-scrollbars",
                "--window-size=1280,2010",
                "--screenshot=report.png",
            ]
            subprocess.run(
                [browser, *options, Path("run.html").resolve().as_uri()],
                check=True,
                capture_output=True,
                timeout=60,
            )
            smaller(Image.open("report.png"), 1000, FOLDER / "report.png")


def tracked_swing_up() -> None:
    """The swing-up of the seventh tutorial: the plan, its inputs alone, and runs with feedback."""
    page = (FOLDER.parent / "tutorials" / "plan-to-loop.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        script = Path(folder) / "blocks.py"
        script.write_text("\n".join(blocks[:3]))
        found = runpy.run_path(str(script))
    picture = Picture(LIGHT, figsize=(8.4, 3.2), layout="constrained")
    off, force = picture.subplots(1, 2)
    plan, times = found["swing"].motion, np.linspace(0.0, 2.0, 401)
    expected = plan.sol(times)[1]
    for number in range(20):
        run = found["runs"].motion(number)
        label = "with feedback, 20 runs" if number == 0 else None
        off.plot(times, run.sol(times)[1] - expected, "tab:blue", linewidth=0.6, label=label)
        if number < 3:
            force.plot(run.t, run["u"], color="tab:blue", linewidth=0.6)
    missed = found["alone"].sol(times)[1] - expected
    off.plot(times, missed, "tab:red", linewidth=1.4, label="inputs of the plan alone")
    force.plot(plan.t, plan["u"], color="black", linewidth=1.4, label="plan")
    off.set(xlabel="t", ylabel="angle, off the plan")
    force.set(xlabel="t", ylabel="force on the cart")
    off.legend(fontsize=8)
    force.legend(fontsize=8)
    still("tracked-swing-up.png", picture)
