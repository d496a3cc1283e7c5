"""Benchmarks beside the peers: one run, the same models, the same accuracy, ratios.

    python benchmarks/run.py [--only W1,W3] [--quick] [--peers casadi,heyoka] [--repeats 3] [--limit
    180] [--keep] [--resume]

Each measurement is a fresh process, pinned to one core, with one thread and empty caches. Rows go
to ``results/latest.json`` as they come in, so that an interrupted run loses nothing.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import machine
import tables
import w1_chain
import w2_cartesian
import w3_disk
import w4_ensemble
import w5_longrun
import w6_robots
import w7_contact
import w8_trajectories
import w9_mechanisms
import w10_chaos
from harness import Entry, Workload, parse_rows

HERE = Path(__file__).parent
RESULTS = HERE / "results"
WORKLOADS = {
    module.WORKLOAD.key: module.WORKLOAD
    for module in (
        w1_chain,
        w2_cartesian,
        w3_disk,
        w4_ensemble,
        w5_longrun,
        w6_robots,
        w7_contact,
        w8_trajectories,
        w9_mechanisms,
        w10_chaos,
    )
}
#: A measurement that took longer than this is not repeated.
LONG = 20.0
#: The limit is CPU time; by the clock on the wall a process may take this many times as long.
PATIENCE = 5
Row = dict[str, Any]


def main() -> None:
    options = arguments()
    chosen = [WORKLOADS[key] for key in options.only]
    record = begun(chosen, options)
    print(headline(record["machine"]), flush=True)
    options.loops = tempfile.mkdtemp(prefix="bench-loops-")
    for workload in chosen:
        measured = [row for row in record["rows"] if belongs(row, workload.key)]
        known = {row["who"] for row in measured}
        for entry in selected(workload, options.peers):
            if entry.name in known:
                continue
            found = measure_entry(workload, entry, options)
            measured += found
            record["rows"] += found
            save(record, "latest.json")
        extra = [*tables.equal_error_rows(workload, measured), *tables.growth_rows(measured)]
        record["rows"] += extra
        record["ratios"] += tables.ratios(workload, [*measured, *extra])
        record["runs"][workload.key]["complete"] = not options.peers
        save(record, "latest.json")
        print(
            "\n"
            + tables.show(workload, [*measured, *extra], usual_sizes(workload, options))
            + "\n",
            flush=True,
        )
    shutil.rmtree(options.loops, ignore_errors=True)
    record["machine"]["load_after"] = round(os.getloadavg()[0], 2)
    save(record, "latest.json")
    if options.keep:
        save(record, f"{record['date'][:10]}.json")


def begun(chosen: Sequence[Workload], options: argparse.Namespace) -> Row:
    """The record to write: rows of workloads that are not measured now stay, and with ``--resume``
    the entries that an interrupted run has measured with the same options.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    described = machine.describe()
    before = read_record() if described["processor"] else {}
    if before.get("machine", {}).get("processor") != described["processor"]:
        before = {}
    runs: Row = dict(before.get("runs", {}))
    rows, ratios = list(before.get("rows", [])), list(before.get("ratios", []))
    for workload in chosen:
        asked = {name: getattr(options, name) for name in ("repeats", "limit", "quick", "sizes")}
        run = runs.get(workload.key, {})
        resumed = options.resume and run.get("options") == asked and not run.get("complete")
        ratios = [row for row in ratios if not belongs(row, workload.key)]
        if not resumed:
            rows = [row for row in rows if not belongs(row, workload.key)]
            runs[workload.key] = {"date": now, "options": asked, "complete": False}
    starts = before.get("starts", {}) | {
        w.key: {entry.name: entry.start for entry in w.entries} for w in chosen
    }
    return {
        "date": now, "machine": described, "starts": starts, "runs": runs, "rows": rows,
        "ratios": ratios,
    }  # fmt: skip


def read_record() -> Row:
    try:
        found = json.loads((RESULTS / "latest.json").read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def belongs(row: Row, key: str) -> bool:
    """Whether a row is one of a workload, whose key its name begins with."""
    return str(row.get("workload", "")).split("-")[0] == key


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=listed, default=list(WORKLOADS), help="workloads, by key")
    parser.add_argument(
        "--peers", type=listed, default=[], help="entries whose name starts with one of these"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, one repeat, 30 s limit")
    parser.add_argument(
        "--sizes", type=listed, default=[], help="sizes instead of the workload's own"
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="processes for each measurement; the median counts"
    )
    parser.add_argument("--limit", type=float, default=180.0, help="CPU seconds for one process")
    parser.add_argument(
        "--core",
        default=str(max(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else "",
    )
    parser.add_argument("--keep", action="store_true", help="also write results/<date>.json")
    parser.add_argument(
        "--resume", action="store_true", help="go on where a run with the same options was stopped"
    )
    options = parser.parse_args()
    if options.quick:
        options.repeats, options.limit = 1, min(options.limit, 30.0)
    unknown = [key for key in options.only if key not in WORKLOADS]
    if unknown:
        parser.error(f"unknown workload {', '.join(unknown)}: choose among {', '.join(WORKLOADS)}")
    return options


def listed(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def usual_sizes(workload: Workload, options: argparse.Namespace) -> tuple[str, ...]:
    return tuple(options.sizes) or (workload.quick_sizes if options.quick else workload.sizes)


def selected(workload: Workload, names: Sequence[str]) -> list[Entry]:
    return [
        e for e in workload.entries if not names or any(e.name.startswith(name) for name in names)
    ]


def measure_entry(workload: Workload, entry: Entry, options: argparse.Namespace) -> list[Row]:
    """Every size of one entry; after the first of a family that fails, its harder ones are reported
    as not tried.
    """
    usual = usual_sizes(workload, options)
    sizes = usual if usual != workload.sizes and len(entry.sizes) != 1 else entry.sizes or usual
    rows: list[Row] = []
    missing, failed = entry.missing(), dict[str, str]()
    if (
        missing is None
        and tables.is_ours(entry.name)
        and not entry.first_run
        and not os.listdir(options.loops)
    ):
        _, missing = one_process(["prime.py"], options.loops, options.core, options.limit)
    for size in sizes:
        name = workload.row_name(size)
        family = size.rpartition("-")[0]
        known = missing or failed.get(family)
        if known is None:
            found, obstacle = repeated(workload, entry, size, options)
            if obstacle is not None:
                tried = f"{workload.label}={size}" if workload.label else size
                found.append(status(name, entry.name, obstacle))
                failed[family] = f"not tried after {tried} {obstacle}"
        else:
            found = [status(name, entry.name, known)]
        rows += found
        if not any(row["value"] == found[-1]["value"] for row in rows[:-1]):
            print(f"  {name:<14} {entry.name:<28} {short(found)}", flush=True)
    return rows


def repeated(
    workload: Workload, entry: Entry, size: str, options: argparse.Namespace
) -> tuple[list[Row], str | None]:
    """Median rows over fresh processes, and what went wrong."""
    rows: list[Row] = []
    for _ in range(options.repeats):
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="bench-") as cache:
            if not entry.first_run:
                shutil.copytree(options.loops, cache, dirs_exist_ok=True)
            command = [workload.script, entry.name, size]
            found, obstacle = one_process(command, cache, options.core, options.limit)
        rows += found
        if obstacle is not None:
            return tables.median_rows(found), obstacle
        if time.perf_counter() - begin > LONG:
            break
    return tables.median_rows(rows), None


def one_process(
    command: Sequence[str], cache: str, core: str, limit: float
) -> tuple[list[Row], str | None]:
    """Run one of our scripts in an empty folder; the rows it printed, and what went wrong."""
    script, *rest = command
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [sys.executable, str(HERE / script), *rest],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(folder, cache, core) | {"BENCH_LIMIT": f"{math.ceil(limit)}"},
            cwd=folder,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=PATIENCE * limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            return parse_rows(out), f"over {PATIENCE * limit:g} s by the clock on the wall"
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    rows = parse_rows(out)
    if process.returncode == -signal.SIGXCPU:
        return rows, f"over {limit:g} s"
    if process.returncode != 0:
        ended = f"signal {-process.returncode}" if process.returncode < 0 else last_line(err)
        return rows, f"failed: {ended}"
    return rows, None


def environment(folder: str, cache: str, core: str) -> dict[str, str]:
    """One thread, one core, temporary files in a folder of its own, and dalembert's cache."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        **os.environ,
        **threads,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
        "DALEMBERT_CACHE": cache,
        "TMPDIR": folder,
        "BENCH_CORE": core,
    }


def last_line(text: str) -> str:
    """The last line of a traceback, without paths."""
    lines = [line for line in text.splitlines() if line.strip()]
    return re.sub(r"\S*/\S*", "...", lines[-1])[:200] if lines else "no message"


def status(workload: str, who: str, text: str) -> Row:
    return {"workload": workload, "who": who, "metric": "status", "value": text, "error": None}


def short(rows: Sequence[Row]) -> str:
    """A line of progress."""
    wanted = ("derive_compile_s", "call_us", "native_us", "integrate_s", "final_error", "status")
    chosen = {row["metric"]: row["value"] for row in rows if row["metric"] in wanted}
    return "  ".join(
        f"{key} {value if isinstance(value, str) else format(value, '.3g')}"
        for key, value in chosen.items()
    )


def headline(described: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in described["packages"].items())
    return (
        f"{described['cores']} cores, {described['processor']}, {described['system']}, Python"
        f" {described['python']}, gcc {described['gcc']}, load {described['load']}\n{packages}"
    )


def save(record: dict[str, Any], name: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / name).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
