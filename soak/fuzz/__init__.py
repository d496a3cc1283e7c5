"""Fuzzing of everything that reads what others wrote: `targets` says what must hold, `__main__`
searches for what breaks it.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
#: Inputs that reach different parts of the code, by target; found by the search and kept small.
CORPUS = FOLDER / "corpus"
#: Inputs that once broke a guarantee, by target.
REGRESSIONS = FOLDER / "regressions"
