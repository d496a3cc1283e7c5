"""Freeze what the library computes before a large change, and list every difference after it.

    python scripts/freeze.py write DIR [--part PART ...]
    python scripts/freeze.py compare DIR [--part PART ...]

`write` computes each part and writes DIR/PART.json.gz; `compare` computes it again. The exit status
of `compare` is 1 if any value differs or if a measured time is worse than its tolerance. Texts that
only people read (messages, claims, comments) are listed as differences of wording and do not count.

Floating-point results are compared bit for bit, so both must run on one machine with the same
packages. `freeze_parts.py` and `freeze_texts.py` say what each part computes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from freeze_parts import PARTS
from freeze_records import Found

#: Packages whose versions may change the last bits of a number or the order of a text.
PACKAGES = ("casadi", "llvmlite", "numpy", "scipy", "sympy")
#: Characters of a value that a line shows, and of what stands before the first difference in it.
SHOWN, BEFORE = 100, 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare; the exit status."""
    shown_as_it_is = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shown_as_it_is)
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--part", action="append", choices=list(PARTS), dest="parts")
    options = parser.parse_args(arguments)
    with own_cache():
        if options.action == "write":
            write(options.folder, options.parts or list(PARTS))
            return 0
        return compare(options.folder, options.parts or frozen_parts(options.folder))


@contextmanager
def own_cache() -> Iterator[None]:
    """Compile into an empty cache, so that no object code of an earlier version is used."""
    before = os.environ.get("DALEMBERT_CACHE")
    with tempfile.TemporaryDirectory(prefix="freeze-") as folder:
        os.environ["DALEMBERT_CACHE"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["DALEMBERT_CACHE"]
            else:
                os.environ["DALEMBERT_CACHE"] = before


# -- goldens ---------------------------------------------------------------------------------------


def golden_path(folder: Path, part: str) -> Path:
    return folder / f"{part}.json.gz"


def frozen_parts(folder: Path) -> list[str]:
    """The parts that a folder has goldens of."""
    found = [part for part in PARTS if golden_path(folder, part).is_file()]
    if not found:
        raise SystemExit(f"There are no goldens in {folder}: write them first.")
    return found


def write(folder: Path, parts: Sequence[str]) -> None:
    """Compute parts and write their goldens."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        record = {"machine": machine(), **vars(computed(part))}
        text = json.dumps(record, sort_keys=True, separators=(",", ":"))
        golden_path(folder, part).write_bytes(gzip.compress(text.encode(), mtime=0))


def read(folder: Path, part: str) -> dict[str, Any]:
    """The golden of a part."""
    path = golden_path(folder, part)
    if not path.is_file():
        raise SystemExit(f"There is no golden {path}: write it first.")
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def computed(part: str) -> Found:
    """What a part gives now; its cost is reported on stderr."""
    began, clock = time.perf_counter(), cpu_seconds()
    found = PARTS[part]()
    wall, cpu = time.perf_counter() - began, cpu_seconds() - clock
    print(f"{part}: {cpu:.0f} s of processor time, {wall:.0f} s", file=sys.stderr, flush=True)
    return found


def cpu_seconds() -> float:
    """Processor time of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def machine() -> dict[str, str]:
    """What the bits of a result depend on beside the library."""
    packages = {name: version(name) for name in PACKAGES}
    return {"processor": processor(), "python": platform.python_version(), **packages}


def processor() -> str:
    """The model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


# -- comparison ------------------------------------------------------------------------------------


def compare(folder: Path, parts: Sequence[str]) -> int:
    """List the differences from the goldens; 1 if there is any but of wording."""
    faults = 0
    for part in parts:
        golden = read(folder, part)
        here = machine()
        faults += sum(1 for _ in reported(part, "machine", golden["machine"], here, show_other))
        found = json.loads(json.dumps(vars(computed(part))))
        differing = sum(1 for _ in reported(part, "value", golden["values"], found["values"]))
        worse = worse_times(part, golden["measured"], found["measured"])
        wording = sum(1 for _ in reported(part, "wording", golden["messages"], found["messages"]))
        print(f"{part}: {differing} values differ, {worse} times are worse, {wording} of wording")
        faults += differing + worse
    return 1 if faults else 0


def show_other(place: str, before: Any, after: Any) -> str:
    return f"{place}: {before} -> {after}; goldens hold on one machine with the same packages"


def show_difference(place: str, before: Any, after: Any) -> str:
    """A line with both values, from shortly before their first difference on."""
    texts = [value if isinstance(value, str) else json.dumps(value) for value in (before, after)]
    pairs = enumerate(zip(*texts, strict=False))
    same = next((index for index, (old, new) in pairs if old != new), min(map(len, texts)))
    first = max(0, same - BEFORE)
    old, new = (("..." if first else "") + text[first : first + SHOWN] for text in texts)
    return f"{place}: {old!r} -> {new!r}"


def reported(
    part: str,
    kind: str,
    golden: Any,
    found: Any,
    show: Callable[[str, Any, Any], str] = show_difference,
) -> Iterator[str]:
    """Print each difference, and give its place."""
    before, after = dict(leaves(golden)), dict(leaves(found))
    for place in sorted(before.keys() | after.keys()):
        if place not in after:
            line = f"{place}: is missing now"
        elif place not in before:
            line = f"{place}: is new"
        elif json.dumps(before[place]) == json.dumps(after[place]):  # so that NaN equals NaN
            continue
        else:
            line = show(place, before[place], after[place])
        print(f"{part}: {kind}: {line}")
        yield place


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar of nested data with its place; an empty container is one."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{place}/{key}" if place else str(key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{place}[{index}]")
    else:
        yield place, value


def worse_times(part: str, golden: Mapping[str, Any], found: Mapping[str, Any]) -> int:
    """Print the measured numbers beside the golden ones; how many exceed their tolerance."""
    worse = 0
    for name in sorted(golden.keys() | found.keys()):
        if name not in golden or name not in found:
            print(f"{part}: measured: {name}: only {'before' if name in golden else 'now'}")
            worse += 1
            continue
        (before, tolerance), (after, _) = golden[name], found[name]
        is_worse = after > before * (1 + tolerance)
        note = f"  worse by more than {tolerance:.0%}" if is_worse else ""
        print(f"{part}: measured: {name}: {before:.4g} -> {after:.4g}{note}")
        worse += is_worse
    return worse


if __name__ == "__main__":
    raise SystemExit(main())
