"""``dalembert lab``: the local web lab, until Ctrl-C."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..lab.server.serving import serve
from .entry import FINE

__all__ = ["lab_command"]


def lab_command(folder: Path, port: int | None, browser: bool, token: str | None = None) -> int:
    """Serve the lab and open its page."""
    with suppress(KeyboardInterrupt), ExitStack() as stack:

        def ready(address: str) -> None:
            sys.stdout.write(f"The lab is at {address} (Ctrl-C ends it)\n")
            sys.stdout.flush()
            if browser:
                _open(stack.enter_context(_leading_to(address)))

        serve(folder, port, token=token, ready=ready)
    return FINE


@contextmanager
def _leading_to(address: str) -> Iterator[str]:
    """The address of a private page that leads to another: all users of a machine can read
    arguments of commands.
    """
    with tempfile.TemporaryDirectory(prefix="dalembert-lab-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "lab.html"
        link = (
            f"<meta http-equiv=refresh content='0;url={address}'><a href='{address}'>dalembert"
            " lab</a>"
        )
        page.write_text(
            f"<!doctype html><meta charset=utf-8><title>dalembert lab</title>{link}\n",
            encoding="utf-8",
        )
        yield page.as_uri()


def _open(address: str) -> None:
    """Open the page in a browser, from a thread of its own: some browsers return when they are
    closed.
    """
    import threading
    import webbrowser

    threading.Timer(0.3, webbrowser.open, [address]).start()
