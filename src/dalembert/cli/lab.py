"""``dalembert lab``: the local web lab, until Ctrl-C."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from ..errors import FileError
from ..lab.serving import serve
from .entry import FINE

__all__ = ["lab_command"]


def lab_command(folder: Path, port: int | None, browser: bool) -> int:
    """Serve the lab and open its page."""
    if not folder.is_dir():
        raise FileError(f"There is no folder {str(folder)[:100]}", remedy="name a folder that exists")

    def ready(address: str) -> None:
        sys.stdout.write(f"The lab is at {address} (Ctrl-C ends it)\n")
        sys.stdout.flush()
        if browser:
            _open(address)

    with suppress(KeyboardInterrupt):
        serve(folder, port, ready=ready)
    return FINE


def _open(address: str) -> None:
    """Open the page in a browser, from a thread of its own: some browsers return when they are closed."""
    import threading
    import webbrowser

    threading.Timer(0.3, webbrowser.open, [address]).start()
