"""The command line: gallery, run, derive, check and verify.

Nothing heavy is imported before a command needs it. Exit status: 0; 1 for a run that could not finish; 2 for a model or a call
that is wrong; each with one sentence on stderr.
"""

from __future__ import annotations

from .entry import main

__all__ = ["main"]
