"""The parts of `freeze.py`: each is a function that computes values, messages and times."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from freeze_records import (
    ROOT,
    Found,
    command,
    derivative_record,
    digest,
    ensemble_record,
    gallery,
    motion_record,
    public,
    without_version,
)
from freeze_texts import texts

__all__ = ["PARTS"]

# -- verify ----------------------------------------------------------------------------------------


def verify() -> Found:
    """Every row of the verification table."""
    found = Found()
    status, out, err = command("verify", "--json")
    found.add("status", status, stderr=err)
    described = ("tests", "fault", "section")
    for row in json.loads(out):
        values = {key: value for key, value in row.items() if key not in described}
        found.add(values.pop("id"), values)
    return found


# -- motions ---------------------------------------------------------------------------------------


def motions() -> Found:
    """Reference motions, gallery runs, methods, contacts, events, ensembles, derivatives."""
    import dalembert as da

    found = Found()
    for name, scenario in gallery():
        found.add(f"gallery/{name}", motion_record(da.simulate(scenario)))
    reference_motions(found)
    for name, motion in method_motions():
        found.add(f"method/{name}", motion_record(motion))
    disk = da.gallery.load("rolling-disk")
    spins = [3.0 + 0.25 * k for k in range(13)]
    for method in ("dop853", "taylor"):
        for workers in (1, 2):
            options: dict[str, Any] = {"method": method, "workers": workers, "span": (0.0, 2.0)}
            names = ("x", "theta", "psi_dot")
            record = ensemble_record(disk, {"psi_dot": spins}, names, at=[1.0, 2.0], **options)
            found.add(f"ensemble/{method}, workers {workers}", record)
    for name, wrt in (("elastic-pendulum", ("K", "u")), ("rolling-disk", ("m", "psi_dot"))):
        scenario = da.gallery.load(name)
        record = derivative_record(scenario, ("theta", "theta_dot"), wrt, span=(0.0, 2.0))
        found.add(f"derivatives/{name}", record)
    return found


def reference_motions(found: Found) -> None:
    """The motions that tests/sources compares with published values."""
    references = module_of("tests/sources", "reference_motions")
    for name in sorted(references.REFERENCES):
        found.add(f"reference/{name}", motion_record(references.motion_of(name)))


def module_of(folder: str, name: str) -> Any:
    """A module of the project that is no part of the library."""
    sys.path.insert(0, str(ROOT / folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


#: Methods that choose their steps.
ADAPTIVE = ("dop853", "taylor", "radau5", "radau9", "radau13", "auto")


def method_motions() -> Iterator[tuple[str, Any]]:
    """One run of every method on a problem that it is meant for, with impacts, with events."""
    from method_problems import HOME, PROBLEMS

    import dalembert as da

    for method, kind in HOME.items():
        problem = PROBLEMS[kind]
        yield method, problem.run(method, 20 * problem.step, step=problem.step)
    for method in ADAPTIVE:
        for kind, problem in PROBLEMS.items():
            yield f"{method}, {kind}", problem.run(method, problem.until)
        wall = da.gallery.load("elastic-pendulum-wall")
        yield f"{method}, impacts", da.simulate(wall, method=method)
        event, spring = public("event"), da.gallery.load("elastic-pendulum")
        theta, u = spring.system.coordinates
        events = [event(theta), event(u.dot, direction=-1), event(u - 0.9, terminal=True)]
        yield f"{method}, events", da.simulate(spring, method=method, events=events)


# -- command line ----------------------------------------------------------------------------------

MODEL = 'name = "Spring"\ncoordinates = ["x"]\nkinetic = "x_dot**2/2"\npotential = "x**2/2"\n'
CONTRADICTION = 'constraints = ["x_dot = 1", "x_dot = 2"]\n[simulate]\nt = [0, 1]\n'
#: Files that wrong calls name.
FILES = {
    "spring.toml": MODEL,
    "malformed.toml": "name = [",
    "unknown_key.toml": MODEL + "potentiel = 3\n",
    "unknown_symbol.toml": MODEL.replace("x**2/2", "k*z"),
    "forbidden.toml": MODEL.replace("x**2/2", "__import__('os')"),
    "contradictory.toml": MODEL + CONTRADICTION,
    "text.nc": "This is no netCDF file.\n",
}
#: Systems whose result files are looked at.
STORED = ("rolling-disk", "elastic-pendulum-wall")
PENDULUM = "elastic-pendulum"
#: Calls that fail, or that end before their time.
WRONG_CALLS: tuple[tuple[str, ...], ...] = (
    (),
    ("--version",),
    ("strange",),
    ("run",),
    ("run", "strange-pendulum"),
    ("run", "missing.toml"),
    ("run", "malformed.toml"),
    ("run", "unknown_key.toml"),
    ("run", "unknown_symbol.toml"),
    ("run", "forbidden.toml"),
    ("run", "contradictory.toml", "--json"),
    ("run", "spring.toml"),
    ("run", "blow-up", "--json"),
    ("run", PENDULUM, "--strange"),
    ("run", PENDULUM, "--form", "strange"),
    ("run", PENDULUM, "--form", "chaplygin"),
    ("run", PENDULUM, "--method", "strange"),
    ("run", PENDULUM, "--method", "gauss4"),
    ("run", PENDULUM, "--set", "strange=1"),
    ("run", PENDULUM, "--set", "K"),
    ("run", PENDULUM, "--at", "0:1"),
    ("run", PENDULUM, "--t", "5"),
    ("run", PENDULUM, "--rtol", "-1"),
    ("run", PENDULUM, "-o", "missing/motion.nc"),
    ("run", PENDULUM, "--plot", "plot.strange"),
    ("run", "elastic-pendulum-arc", "--set", "u=7", "--no-project-start"),
    ("derive", PENDULUM, "--form", "chaplygin"),
    ("derive", PENDULUM, "--format", "strange"),
    ("export", PENDULUM),
    ("export", PENDULUM, "--to", "jax", "--rtol", "1e-3"),
    ("export", "elastic-pendulum-wall", "--to", "c"),
    ("check", "missing.toml"),
    ("verify", "X-1"),
    ("rerun", "missing.nc"),
    ("rerun", "text.nc"),
    ("sweep", PENDULUM),
    ("sweep", PENDULUM, "--over", "strange=1:2:3", "-o", "sweep.zarr"),
)


def cli() -> Found:
    """`run --json` and `check --json` of every system, and wrong calls."""
    found = Found()
    names = [name for name, _ in gallery()]
    for name in [*names, *sorted(str(path) for path in (ROOT / "examples").glob("*.toml"))]:
        for word in ("run", "check"):
            status, out, err = command(word, name, "--json")
            place = f"{word}/{Path(name).name}"
            data = json.loads(out) if out else None
            found.add(place, {"status": status, "json": data}, stderr=err)
    status, out, _ = command("gallery", "--json")
    found.add("gallery", {"status": status, "json": json.loads(out)})
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        for call in WRONG_CALLS:
            wrong_call(found, call, folder)
        for name in STORED:
            path = Path(folder, f"{name}.nc")
            command("run", name, "--t", "0,1", "-o", str(path))
            found.add(f"file/{name}", stored_file(path))
    return found


def stored_file(path: Path) -> dict[str, Any]:
    """The arrays of a result file by name, and the names of its attributes."""
    import h5py

    record: dict[str, Any] = {}
    with h5py.File(path) as file:
        found: list[tuple[str, Any]] = [("/", file)]
        file.visititems(lambda name, item: found.append((name, item)))
        for name, item in found:
            record[name] = {"attributes": sorted(item.attrs)}
            if isinstance(item, h5py.Dataset):
                is_numbers = item.dtype.kind in "biuf"
                record[name]["values"] = digest(item[()]) if is_numbers else str(item.dtype)
    return record


def wrong_call(found: Found, call: Sequence[str], folder: str) -> None:
    """The exit status of a process of its own, whether it printed, and what it said."""
    program = shutil.which("dalembert", path=str(Path(sys.executable).parent))
    if program is None:
        raise SystemExit("There is no command `dalembert` beside this Python: run pip install -e .")
    done = subprocess.run([program, *call], cwd=folder, capture_output=True, text=True, timeout=300)
    record = {"status": done.returncode, "stdout": bool(done.stdout)}
    record["stderr lines"] = len(done.stderr.splitlines())
    said = "" if "--json" in call else without_version(done.stdout)
    found.add(f"call/{' '.join(call)}", record, stderr=done.stderr, stdout=said)


# -- times -----------------------------------------------------------------------------------------

#: Processes of which the median counts, and how much more a ratio and a time may be.
IMPORTS, IMPORT_TOLERANCE, BENCH_TOLERANCE = 5, 0.10, 0.05
TIMED = "import time; began = time.process_time()\n{}\nprint(time.process_time() - began)\n"
OURS = "import dalembert as da; da.simulate"
PEERS = "import sympy, numpy, casadi"
COUNTED = "import sys; print(sum(name.split('.')[0] == 'dalembert' for name in sys.modules))"


def imports() -> Found:
    """Processor time of the import and first access of `simulate`, as a ratio."""
    seconds: dict[str, list[float]] = {OURS: [], PEERS: []}
    for _ in range(IMPORTS):
        for code, measured in seconds.items():
            measured.append(float(printed(TIMED.format(code))))
    ours, peers = (statistics.median(measured) for measured in seconds.values())
    modules = float(printed(f"{OURS}\n{COUNTED}"))
    found = Found()
    found.measured["ratio to sympy, numpy and casadi"] = (ours / peers, IMPORT_TOLERANCE)
    found.measured["modules of dalembert"] = (modules, IMPORT_TOLERANCE)
    return found


def printed(code: str) -> str:
    """What a process of its own prints."""
    return subprocess.check_output([sys.executable, "-c", code], text=True, timeout=300).strip()


#: Sizes of the workloads, and what is kept of their rows.
SIZES = {
    "W1": ["10", "100"],
    "W2": ["100", "1000"],
    "W3": ["1e-10"],
    "W4": ["1e-9"],
    "W5": ["100000"],
}
#: Processes for each number, and their limit in seconds.
MEASURED = {"repeats": 3, "limit": 180.0, "quick": False}
METRICS = ("derive_compile_s", "native_us", "call_us", "integrate_s", "us_a_step")


def bench() -> Found:
    """Processor times of the benchmarks' own entries for dalembert; needs a quiet machine."""
    benchmarks, found = module_of("benchmarks", "run"), Found()
    core = str(max(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ""
    with tempfile.TemporaryDirectory(prefix="freeze-") as loops:
        for key, sizes in SIZES.items():
            options = Namespace(loops=loops, core=core, sizes=sizes, **MEASURED)
            workload = benchmarks.WORKLOADS[key]
            for entry in benchmarks.selected(workload, ["dalembert"]):
                rows = [] if entry.first_run else benchmarks.measure_entry(workload, entry, options)
                for row in rows:
                    place = f"{row['workload']} {entry.name} {row['metric']}"
                    if row["metric"] in METRICS:
                        found.measured[place] = (row["value"], BENCH_TOLERANCE)
                    elif row["metric"] == "status":
                        found.add(place, row["value"])
    return found


PARTS: dict[str, Callable[[], Found]] = {
    "verify": verify,
    "motions": motions,
    "texts": texts,
    "cli": cli,
    "import": imports,
    "bench": bench,
}
