"""The built-in systems as the page lists them, with their texts; kept on disk, since building all
of them takes seconds.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from ... import gallery
from ..._version import __version__
from ...codegen.object_cache import ObjectCache
from ...errors import ModelError
from ...model.io.files import dumps
from ...model.scenario import Scenario
from ..job_progress import JobProgress
from .scenarios import dimension_of

__all__ = ["listed"]


def listed(_: dict[str, Any], job_context: JobProgress) -> dict[str, Any]:
    """Every built-in system."""
    cache, identity = ObjectCache(), _identity()
    found = cache.get(identity)
    if found is not None:
        with suppress(ValueError):
            return dict(json.loads(found))
    systems = []
    for name in gallery.names():
        job_context.check()
        systems.append(_entry(name, gallery.load(name)))
    made = {"systems": systems}
    cache.put(identity, json.dumps(made).encode())
    return made


def _entry(name: str, scenario: Scenario) -> dict[str, Any]:
    try:
        text = dumps(scenario)
    except ModelError:
        text = None
    system = scenario.system
    kind = next(
        kind for kind in ("flows", "controlled", "mechanical") if name in gallery.names(kind)
    )
    return {
        "name": name,
        "title": system.name,
        "source": scenario.source,
        "summary": scenario.summary,
        "tags": [kind],
        "coordinates": [q.name for q in system.coordinates],
        "constraints": len(system.constraints),
        "dimension": dimension_of(scenario),
        "editable": text is not None,
        "text": text,
    }


def _identity() -> str:
    """What the list depends on: the files that make the systems and write them, by size and
    time.
    """
    here = Path(__file__).parents[2]
    digest = hashlib.sha256(__version__.encode())
    for folder in ("gallery", "model", "control"):
        for path in (*sorted((here / folder).rglob("*.py")), Path(__file__)):
            state = path.stat()
            digest.update(f"{path.name} {state.st_size} {state.st_mtime_ns}".encode())
    return f"gallery-{digest.hexdigest()[:40]}"
