"""The command line: gallery, run, derive, check and verify.

Nothing heavy is imported before a command needs it. Exit status: 0; 1 for a run that could not
finish; 2 for a model or a call that is wrong; 130 after Ctrl-C, 143 after a request to end (128 and
the signal); each with one sentence on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; see `entry.main`."""
    try:
        from .entry import main as run
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    return run(arguments)
