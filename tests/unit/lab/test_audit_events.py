"""What the interpreter does while hostile models and requests are worked on, by its own audit
events.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi")


def watched(folder: Path, *more: str) -> dict:
    """What `audit_events` saw in a process of its own."""
    script = Path(__file__).with_name("audit_events.py")
    environment = os.environ | {"DALEMBERT_CACHE": str(folder / "cache")}
    command = [sys.executable, str(script), str(folder), *more]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.long
def test_nothing_of_the_input_is_run_or_opened(tmp_path: Path) -> None:
    """No text is compiled, nothing imported, unpickled, started or connected, and no file opened
    outside of the folder.
    """
    seen = watched(tmp_path)
    assert seen["events"] == [] and seen["worked"] > 250


@pytest.mark.long
def test_a_few_hostile_inputs_and_that_the_watch_sees(tmp_path: Path) -> None:
    """The same for a few inputs; then text is compiled and a file opened on purpose, which has to
    be noticed.
    """
    seen = watched(tmp_path, "few")
    kinds = [event for event, _ in seen["events"]]
    assert seen["worked"] > 20
    assert kinds == ["compile", "open"] and all("canary" in told for _, told in seen["events"])
