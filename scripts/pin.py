"""Pin what the tests need, with the hashes of every file of each version: writes
requirements/ci.txt.

Run it as ``make pins``; it needs the package uv. The versions are the newest ones that
pyproject.toml allows, chosen for every Python from 3.11 on and for every platform at once; where
these need different versions, markers tell them apart. No address of a registry gets into the file:
pip asks whichever one it is set up for, and refuses what has another hash.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "requirements" / "ci.txt"
HEAD = (
    "# What `make test PINNED=1` installs: exact versions with the hashes of their files, made by"
    " `make pins`.\n"
)
OPTIONS = (
    *(
        "--quiet",
        "--universal",
        "--python-version",
        "3.11",
        "--generate-hashes",
        "--extra",
        "dev",
        "--no-emit-index-url",
    ),
    *("--no-emit-find-links", "--no-header", "--no-annotate", "--strip-extras", "--upgrade"),
)


def main() -> int:
    """Write the file; 1 where it would name an address or lack a hash. What follows on the command
    line goes to uv.
    """
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        *OPTIONS,
        *sys.argv[1:],
        "pyproject.toml",
        "requirements/build.in",
    ]
    made = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if made.returncode:
        sys.stderr.write(made.stderr)
        return made.returncode
    lines = [line for line in made.stdout.splitlines() if line and not line.startswith(("#", "--"))]
    pins = [line for line in lines if not line.startswith(" ")]
    faults = [line for line in lines if re.search(r"://| @ |file:", line)]
    faults += [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==\S+( ; .*)? \\", pin)]
    for fault in faults:
        sys.stderr.write(f"This has no place in {PLACE.name}: {fault}\n")
    if faults:
        return 1
    PLACE.parent.mkdir(exist_ok=True)
    PLACE.write_text(HEAD + "\n".join(lines) + "\n")
    print(
        f"{len(pins)} packages, {sum('--hash=' in line for line in lines)} hashes in"
        f" {PLACE.relative_to(ROOT)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
