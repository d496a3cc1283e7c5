"""Build wheel and sdist twice from copies of the tracked files, and compare them byte by byte.

    python scripts/build_twice.py dist

needs hatchling (`requirements/build.in`). The time in the archives is that of the last commit, or
SOURCE_DATE_EPOCH. The status is 1 where a second build differs from the first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def built(source: Path, target: Path, epoch: str) -> dict[str, str]:
    """Build the package of a folder; the digests of its archives by name."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": epoch}
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=subprocess.DEVNULL)
    archives = sorted(path for path in target.iterdir() if path.suffix in (".whl", ".gz"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in archives}


def copied(source: Path, target: Path) -> Path:
    """A copy of the tracked files, with times of its own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=source, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, target / name)
    return target


def last_commit_time(source: Path) -> str:
    """The time of the last commit in seconds, or the one that was asked for."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if told:
        return told
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(
        command, cwd=source, check=True, capture_output=True, text=True
    ).stdout.strip()


def main(target: Path) -> int:
    """Build twice, say the digests, keep the archives in `target`."""
    epoch = last_commit_time(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in ("first", "second")]
        digests = [built(copied(ROOT, place), place / "dist", epoch) for place in places]
        for name, digest in digests[0].items():
            same = digests[1].get(name) == digest
            print(f"{digest}  {name}  {'the same twice' if same else 'DIFFERS'}")
        target.mkdir(parents=True, exist_ok=True)
        for name in digests[0]:
            shutil.copy(places[0] / "dist" / name, target / name)
    return int(digests[0] != digests[1])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
