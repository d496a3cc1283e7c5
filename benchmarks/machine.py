"""What the measurements ran on: processor, system, Python and package versions. No host names, no
paths.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REQUIREMENTS = ("peers-requirements.txt", "peers-optional-requirements.txt")


def describe() -> dict[str, Any]:
    """The machine and the software as plain data."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "gcc": compiler(),
        "load": round(os.getloadavg()[0], 2),
        "packages": packages(),
    }


def processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", information.read_text(), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def compiler() -> str | None:
    if shutil.which("gcc") is None:
        return None
    return subprocess.run(
        ["gcc", "-dumpfullversion"], capture_output=True, text=True, check=False
    ).stdout.strip()


def packages() -> dict[str, str]:
    """Versions of dalembert and of every peer, or "not installed"."""
    found = {}
    for name in [
        "dalembert",
        "llvmlite",
        *(line for file in REQUIREMENTS for line in requirements(file)),
    ]:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def requirements(file: str) -> list[str]:
    lines = (HERE / file).read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
