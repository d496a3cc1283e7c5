"""``dalembert doctor``: the environment, the cache, optional packages and a self-test."""

from __future__ import annotations

import math
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata

from rich import box
from rich.table import Table
from rich.text import Text

from .._version import __version__
from .entry import FINE, UNFINISHED
from .terminal import print_json, show, waiting

__all__ = ["Finding", "doctor_command"]

#: Optional packages that a user may want; the others serve those who develop dalembert.
OFFERED = ("lab", "pandas", "cluster", "jax", "heyoka", "sundials")
#: The largest relative error of the pendulum's period that passes the self-test.
PERIOD_ERROR = 1e-8


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes
    ----------
    name, value : str
        What was looked at, and what was found.
    status : "ok", "absent" or "failed"
        Only what failed makes the command fail.
    remedy : str or None
        What to do about it.
    """

    name: str
    value: str
    status: str = "ok"
    remedy: str | None = None


def doctor_command(as_json: bool) -> int:
    """Look at everything that a run needs; the status is 1 where something fails."""
    findings: list[Finding] = []
    with waiting("Looking"):
        for name, look in PARTS.items():
            findings += _guarded(name, look)
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        show(_table(findings))
    return UNFINISHED if any(finding.status == "failed" for finding in findings) else FINE


def _guarded(name: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings of one part; what it raises is a finding too."""
    try:
        yield from look()
    except Exception as error:
        yield Finding(name, f"{type(error).__name__}: {error}"[:300], "failed", "please report it")


def _table(findings: list[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("found")
    table.add_column("what to do", style="dim")
    colours = {"ok": "green", "absent": "yellow", "failed": "bold red"}
    for finding in findings:
        value = Text(finding.value, style=colours[finding.status])
        table.add_row(Text(finding.name), value, Text(finding.remedy or ""))
    return table


def _environment() -> Iterator[Finding]:
    yield Finding("dalembert", __version__)
    yield Finding("Python", f"{platform.python_version()} at {sys.executable}")
    yield Finding("system", f"{platform.platform()}, {os.cpu_count()} processors")


def _requirements() -> Iterator[tuple[str, tuple[int, ...], str | None]]:
    """The packages that dalembert names: name, lowest version, extra."""
    for line in metadata.requires("dalembert") or ():
        found = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*])?\s*(?:.*?>=\s*([0-9.]+))?", line)
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", line)
        if found and found[1].lower() != "dalembert":
            yield found[1], _numbers(found[2] or "0"), extra[1] if extra else None


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version.

    >>> _numbers("1.26.4rc1")
    (1, 26, 4)
    """
    parts: list[int] = []
    for part in version.split("."):
        digits = re.match(r"\d+", part)
        if digits is None:
            break
        parts.append(int(digits[0]))
    return tuple(parts)


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> Iterator[Finding]:
    """Every required package, with those that are missing or too old first."""
    found: list[str] = []
    for name, lowest, extra in _requirements():
        if extra is not None:
            continue
        version = _installed(name)
        wanted = ".".join(map(str, lowest))
        line = f'python -m pip install "{name}>={wanted}"'
        if version is None:
            yield Finding(name, "not installed", "failed", line)
        elif _numbers(version) < lowest:
            yield Finding(name, f"{version}, older than {wanted}", "failed", line)
        else:
            found.append(f"{name} {version}")
    yield Finding("packages", ", ".join(found) or "none")


def _extras() -> Iterator[Finding]:
    by_extra: dict[str, list[str]] = {}
    for name, _, extra in _requirements():
        if extra in OFFERED:
            by_extra.setdefault(extra, []).append(name)
    for extra, names in by_extra.items():
        missing = [name for name in names if _installed(name) is None]
        if missing:
            line = f'python -m pip install "dalembert[{extra}]"'
            yield Finding(f"extra {extra}", f"without {', '.join(missing)}", "absent", line)
        else:
            yield Finding(f"extra {extra}", "installed")


def _programs() -> Iterator[Finding]:
    from ..plotting.scenes.movie_writers import ffmpeg_program

    program = ffmpeg_program()
    if program is None:
        yield Finding("ffmpeg", "not found; .mp4 and .webm need it, .gif does not", "absent")
    else:
        yield Finding("ffmpeg", program)


def _cache() -> Iterator[Finding]:
    from ..codegen.object_cache import VARIABLE, cache_folder
    from ..codegen.private_folder import opened_folder

    folder = cache_folder()
    if folder is None:
        value = "switched off: every process compiles its models anew"
        yield Finding("cache", value, "absent", f"unset {VARIABLE}")
        return
    try:
        with opened_folder(folder, make=True) as opened:
            sizes = [status.st_size for _, status in opened.entries()]
    except OSError as error:
        remedy = f"make it a folder of yours alone, or set {VARIABLE} to one"
        yield Finding("cache", f"{folder} is not used: {error}"[:300], "failed", remedy)
        return
    yield Finding("cache", f"{folder}, {len(sizes)} files, {sum(sizes) / 2**20:.1f} MiB")


def _self_test() -> Iterator[Finding]:
    """Derive, compile and simulate a pendulum; its period against the elliptic integral."""
    from scipy.special import ellipk
    from sympy import cos

    from ..integrate.simulate import simulate
    from ..model.symbols import coordinates
    from ..model.system import System

    began = time.perf_counter()
    theta = coordinates("theta")
    pendulum = System([theta], kinetic=theta.dot**2 / 2, potential=-cos(theta))
    period = 4.0 * float(ellipk(math.sin(0.5) ** 2))
    motion = simulate(pendulum, start={theta: 1.0}, span=(0.0, period), rtol=1e-11, atol=1e-13)
    error = abs(float(motion[theta][-1]) - 1.0) + abs(float(motion[theta.dot][-1]))
    seconds = time.perf_counter() - began
    value = f"a pendulum returns after its period to {error:.1e}, in {seconds:.2f} s"
    if error < PERIOD_ERROR:
        yield Finding("self-test", value)
    else:
        yield Finding("self-test", value, "failed", "please report it with this output")


PARTS: dict[str, Callable[[], Iterator[Finding]]] = {
    "environment": _environment,
    "packages": _packages,
    "extras": _extras,
    "programs": _programs,
    "cache": _cache,
    "self-test": _self_test,
}
