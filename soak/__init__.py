"""Long checks of what dalembert guarantees: `python -m soak` runs them (see docs/guarantees.md)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [folder for folder in (str(ROOT / "tests"),) if folder not in sys.path]
