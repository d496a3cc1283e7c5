"""The local lab: a web page on this machine in which models are written, run, watched and compared.

``create_app`` is the application, ``serve`` runs it on the loopback address. The page talks to the
server in JSON; whatever computes does so in worker processes (`worker`), which speak JSON lines,
are bounded in time and memory, and are replaced where they overrun.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Limits", "create_app", "serve"]

_HOMES = {"Limits": "limits", "create_app": "server.web_app", "serve": "server.serving"}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dalembert.lab' has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
