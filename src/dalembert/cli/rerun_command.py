"""``dalembert rerun``: a saved motion made again and compared with its file."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from .entry import FINE, UNFINISHED
from .terminal import print_json, show, waiting

__all__ = ["rerun_command"]


def rerun_command(path: Path, rtol: float | None, output: Path | None, as_json: bool) -> int:
    """Rerun and compare; the status is 1 where the runs do not agree."""
    from ..integrate.storage.rerun import rerun

    with waiting("Running again"):
        found = rerun(path, rtol=rtol)
    if output is not None:
        found.motion.save(output)
    if as_json:
        print_json(found.to_json())
    else:
        show(Text(found.text()))
    return FINE if found.within else UNFINISHED
