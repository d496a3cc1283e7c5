"""Write docs/performance.md and its picture from benchmarks/results; nothing is measured here.

The newest dated file has whole runs of the first workloads; a workload that latest.json has whole
replaces it. `python scripts/performance.py --check` compares the page with the files.

Entries are compared that start from the same place, as `benchmarks/README.md` says; ratios come
from the rows of the file. What falls short is listed by one rule: every cost in which the best peer
from the same start is faster than our best entry.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Results", "newest_results", "page", "scaling_picture"]

OURS = "dalembert"
#: Ratios up to this are within what a measurement scatters.
NOTICEABLE = 1.05
Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of one workload: columns are (workload row, metric, heading); the ratios are those of
    the column `ranked`.
    """

    title: str
    columns: tuple[tuple[str, str, str], ...]
    ranked: int
    sizes: tuple[float, ...] = ()


def by_size(
    key: str, label: str, sizes: Sequence[str], metric: str, title: str, ranked: int
) -> Table:
    return Table(
        title,
        tuple((f"{key}-{label}{size}", metric, f"{label} = {size}") for size in sizes),
        ranked,
        tuple(map(float, sizes)),
    )


def by_case(
    key: str, cases: Sequence[str], metric: str, title: str, sizes: tuple[float, ...] = ()
) -> Table:
    return Table(title, tuple((f"{key}-{case}", metric, case) for case in cases), 0, sizes)


CHAIN, MASSES = ("2", "10", "40", "100", "200"), ("10", "100", "1000", "10000")
DISK = tuple(
    ("W3-rtol1e-10", metric, head)
    for metric, head in (
        ("integrate_s", "integration, s"),
        ("total_s", "all, s"),
        ("final_error", "final error"),
        ("constraint_error", "slip"),
        ("energy_error", "energy"),
    )
)
MANY = tuple(
    ("W4-rtol1e-9", metric, head)
    for metric, head in (
        ("integrate_s", "integration, s"),
        ("runs_a_cpu_s", "runs a second"),
        ("median_error", "median error"),
        ("largest_error", "largest error"),
    )
)
LONG = tuple(
    ("W5-steps1000000", metric, head)
    for metric, head in (
        ("us_a_step", "µs a step"),
        ("energy_error", "energy error"),
        ("energy_slope", "its derivative"),
        ("constraint_error", "rods"),
    )
)

ROBOTS = ("ur5", "panda", "solo12", "talos_full", "quadruped", "humanoid")
CHAINS, TREES, LINKS = (
    ("chain10", "chain50", "chain200"),
    ("tree10", "tree50", "tree200"),
    (10.0, 50.0, 200.0),
)
CONTACTS = ("slide", "stick", "backspin", "bounce", "stack", "spheres")
CARTS = ("cart-effort", "cart-time")
PLANS = ("biped", "block-effort", "block-time", "brachistochrone", "heisenberg", "disk-gait")
RODS, LOOPS = (
    ("rods-1", "rods-10", "rods-40", "rods-100", "rods-200"),
    (1.0, 10.0, 40.0, 100.0, 200.0),
)
TREE, JOINTS, BRACED = (
    tuple(f"{family}-{n}" for n in (10, 40, 200)) for family in ("tree", "joints", "braced")
)
FEW_LOOPS = (10.0, 40.0, 200.0)
NETS, MESH = ("net-3", "net-5", "net-8", "net-14"), (9.0, 25.0, 64.0, 196.0)

#: Heading, what is done, and the tables of each workload.
WORKLOADS: tuple[tuple[str, str, str, tuple[Table, ...]], ...] = (
    (
        "W1",
        "Chain of links, from energies to native code",
        "A planar chain of N links: energies in, a right-hand side that can be called "
        "out. Every entry is checked against the closed form; an error above 1e-8 counts as a "
        "wrong answer.",
        (
            by_size("W1", "N", CHAIN, "derive_compile_s", "Derivation and compilation, seconds", 2),
            by_size("W1", "N", CHAIN, "native_us", "One native evaluation, µs", 2),
            by_size("W1", "N", CHAIN, "call_us", "One call from Python, µs", 2),
        ),
    ),
    (
        "W2",
        "Chain of masses in Cartesian coordinates",
        "N masses and N rods: from Lagrangian and constraints to "
        "one constrained solve, checked against a banded solve.",
        (
            by_size(
                "W2", "N", MASSES, "derive_compile_s", "Derivation and compilation, seconds", 0
            ),
            by_size("W2", "N", MASSES, "native_us", "One native solve, µs", 0),
        ),
    ),
    (
        "W3",
        "Rolling disk, 100 s",
        "From Lagrangian and constraints to the motion at 1001 times. Errors are "
        "those of the final position against a Taylor integration in long double.",
        (
            Table("At the tolerance 1e-10: times and what they buy", DISK, 1),
            Table(
                "Integration at equal final error, seconds",
                tuple(
                    ("W3", f"integrate_s at {e}", f"error {e}")
                    for e in ("1e-06", "1e-08", "1e-10", "1e-12")
                ),
                1,
            ),
            Table(
                "Everything at equal final error, seconds",
                tuple(
                    ("W3", f"total_s at {e}", f"error {e}")
                    for e in ("1e-06", "1e-08", "1e-10", "1e-12")
                ),
                1,
            ),
        ),
    ),
    (
        "W4",
        "Ten thousand disks",
        "10 000 rolling disks for 10 s on one core, final states only; 200 of "
        "them are compared with a tight integration.",
        (
            Table("At the tolerance 1e-9", MANY, 0),
            Table(
                "Integration at equal median error, seconds",
                tuple(
                    ("W4", f"integrate_s at {e}", f"error {e}") for e in ("1e-08", "1e-09", "1e-10")
                ),
                1,
            ),
        ),
    ),
    (
        "W5",
        "A million steps",
        "A spherical double pendulum in Cartesian coordinates, a million steps of "
        "0.01. What counts is whether the energy drifts and the rods keep their lengths.",
        (Table("After a million steps", LONG, 0),),
    ),
    (
        "W6",
        "Robots from files",
        "Robots of URDF and MJCF files, chains and trees: accelerations, joint forces and their "
        "derivatives in native code, and the time from the file to the first of them.",
        (
            by_case("W6", ROBOTS, "native_us", "Forward dynamics, µs"),
            by_case("W6", ROBOTS, "inverse_us", "Inverse dynamics, µs"),
            by_case("W6", ROBOTS, "derivatives_us", "Derivatives of the accelerations, µs"),
            by_case("W6", ROBOTS, "derive_compile_s", "From the file to native code, seconds"),
            by_case("W6", CHAINS, "native_us", "Chains, forward dynamics, µs", LINKS),
            by_case("W6", TREES, "native_us", "Trees, forward dynamics, µs", LINKS),
            by_case("W6", CHAINS, "derive_compile_s", "Chains, file to native code, s", LINKS),
        ),
    ),
    (
        "W7",
        "Contact and friction",
        "Bodies with shapes on a plane and on each other; `dalembert` takes Moreau's steps, "
        "`dalembert-events` finds the events.",
        (
            by_case("W7", CONTACTS, "integrate_s", "Integration, seconds"),
            by_case("W7", CONTACTS, "final_error", "Error at the end"),
            by_case("W7", CONTACTS, "unconverged_steps", "Steps that did not converge"),
        ),
    ),
    (
        "W8",
        "Optimal trajectories",
        "From the statement of the problem to its solution. The tolerances and meshes differ, so "
        "that times belong to the gap of the cost below them.",
        (
            by_case("W8", CARTS, "total_s", "Everything, seconds"),
            by_case("W8", CARTS, "cost_gap", "Gap of the cost to the best known"),
            by_case("W8", PLANS, "total_s", "Problems without a peer here, seconds"),
        ),
    ),
    (
        "W9",
        "Closed mechanisms",
        "N four-bars in a row as masses and rods (rods), with a redundant rod (braced), in the "
        "angles of a chain of couplers (tree), as rigid bodies in joint coordinates (joints); nets "
        "of N masses; Bricard's six-bar and the Stewart platform. Steps are those of DOP853 with a "
        "projection; the C by hand takes the same, Exudyn, MuJoCo and Drake steps of orders 1 and "
        "2, for orientation.",
        (
            by_case("W9", RODS, "compile_s", "Rods, first two steps from the model, s", LOOPS),
            by_case("W9", RODS, "native_us", "Rods, one native evaluation, µs", LOOPS),
            by_case("W9", RODS, "step_us", "Rods, one step, µs", LOOPS),
            by_case("W9", RODS, "memory_mb", "Rods, memory from model to step, MB", LOOPS),
            by_case("W9", TREE, "compile_s", "Tree of couplers, first two steps, s", FEW_LOOPS),
            by_case("W9", TREE, "native_us", "Tree of couplers, one evaluation, µs", FEW_LOOPS),
            by_case("W9", JOINTS, "compile_s", "Joints, first two steps, s", FEW_LOOPS),
            by_case("W9", JOINTS, "native_us", "Joints, one evaluation, µs", FEW_LOOPS),
            by_case("W9", BRACED, "compile_s", "A redundant rod, first two steps, s", FEW_LOOPS),
            by_case("W9", BRACED, "native_us", "A redundant rod, one evaluation, µs", FEW_LOOPS),
            by_case("W9", NETS, "compile_s", "Nets, first two steps, s", MESH),
            by_case("W9", NETS, "native_us", "Nets, one native evaluation, µs", MESH),
            by_case("W9", NETS, "step_us", "Nets, one step, µs", MESH),
            by_case("W9", NETS, "memory_mb", "Nets, memory from model to step, MB", MESH),
            by_case("W9", ("bricard", "stewart"), "compile_s", "Platforms, first two steps, s"),
            by_case("W9", ("bricard", "stewart"), "step_us", "Platforms, one step, µs"),
        ),
    ),
    (
        "W10",
        "Chaos indicators of many orbits",
        "4 096 orbits of Henon and Heiles to t = 1000 with the exponent of a deviation, on one "
        "core; ours and `heyoka-batch-tangent-hand` compute MEGNO too. Errors of log|w| are "
        "medians over 64 orbits against SciPy's DOP853 at 3e-14.",
        (
            Table(
                "Integration at equal median error, seconds",
                tuple(
                    ("W10", f"integrate_s at {e}", f"error {e}")
                    for e in ("1e-06", "1e-07", "1e-08")
                ),
                1,
            ),
            Table(
                "Everything at equal median error, seconds",
                tuple(
                    ("W10", f"total_s at {e}", f"error {e}") for e in ("1e-06", "1e-07", "1e-08")
                ),
                1,
            ),
        ),
    ),
)

#: Why a peer is faster, where it is known: by workload and metric, by its kind, by metric. Times of
#: W7 and W8 stand beside the errors that they buy.
REASONS = {
    "script_s": "imports of SymPy, NumPy and CasADi, and compilation",
    "W1-N200 derive_compile_s": (
        "SymPy's own sums while the user states the energies: 92 % of it; `da.define` for the "
        "velocities of links leaves a sixth"
    ),
    "W1-N100 derive_compile_s": "the same sums: 80 % of it",
    "W1 derive_compile_s": (
        "a search for shorter trigonometric forms takes half, code generation a third"
    ),
    "W1 call_us": "arguments are checked and converted in Python, whatever N is",
    "W6 call_us": (
        "3 µs of checks and conversions; the same call on one joint is subtracted from a peer's"
    ),
    "W8 first_total_s": "SymPy and modules are loaded once, and loops compiled or read",
    "W8 solve_s": "building the program is part of it; `total_s` has both for all",
    "W6 derive_compile_s": "we write and compile code for the robot, peers interpret its tree",
}


class Results:
    """One file of measurements."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.rows: dict[tuple[str, str, str], Row] = {
            (r["workload"], r["who"], r["metric"]): r for r in data["rows"]
        }

    def value(self, workload: str, who: str, metric: str) -> float | None:
        """A measured number, or None."""
        row = self.rows.get((workload, who, metric))
        return None if row is None or isinstance(row["value"], str) else float(row["value"])

    def entries(self, key: str) -> dict[str, str]:
        """Who took part in a workload, and where they start from."""
        return dict(self.data["starts"].get(key, {}))

    def trouble(self, key: str) -> list[tuple[str, str, str]]:
        """What was not measured and why; sizes that were left out after a failure are not told
        again.
        """
        rows = [
            r
            for r in self.data["rows"]
            if r["metric"] == "status" and r["workload"].split("-")[0] == key
        ]
        return [
            (r["workload"], r["who"], short_reason(r["value"]))
            for r in rows
            if not str(r["value"]).startswith("not tried")
        ]

    def ratio(self, place: tuple[str, str], who: str) -> tuple[str, float] | None:
        """The best peer that starts from where `who` does, and how many times as long `who` takes;
        None without a peer.
        """
        starts = self.entries(place[0].split("-")[0])
        own = self.value(place[0], who, place[1]) if is_cost(place[1]) else None
        peers = [
            (self.value(place[0], other, place[1]), other)
            for other in starts
            if starts[other] == starts.get(who)
        ]
        found = [(value, other) for value, other in peers if value and not is_ours(other)]
        if own is None or not found:
            return None
        best, peer = min(found)
        return peer, own / best

    def shortfalls(self) -> list[tuple[str, str, str, str, float]]:
        """Every cost in which the best peer beats our best entry: workload, metric, entry, peer,
        ratio, the worst first.
        """
        places: dict[tuple[str, str], list[tuple[float, str, str]]] = {}
        for workload, who, metric in self.rows:
            found = (
                self.ratio((workload, metric), who)
                if is_ours(who) and "wall" not in metric
                else None
            )
            if found is not None:
                places.setdefault((workload, metric), []).append((found[1], who, found[0]))
        best = {place: min(each) for place, each in places.items()}
        beaten = [
            (*place, who, peer, ratio)
            for place, (ratio, who, peer) in best.items()
            if ratio > NOTICEABLE
        ]
        return sorted(beaten, key=lambda row: -row[-1])


def is_cost(metric: str) -> bool:
    """Whether less is better: times, not errors.

    >>> is_cost("integrate_s at 1e-08"), is_cost("us_a_step"), is_cost("runs_a_cpu_s"), is_cost(
    ...     "final_error"
    ... )
    (True, True, False, False)
    """
    plain = metric.split(" at ")[0]
    return plain == "us_a_step" or (
        plain.rsplit("_", 1)[-1] in ("s", "us") and not plain.startswith("runs_")
    )


def is_ours(who: str) -> bool:
    return who == OURS or who.startswith(f"{OURS}-")


def short_reason(text: str) -> str:
    """A reason in a few words.

    >>> short_reason(
    ...     "failed: subprocess.CalledProcessError: Command '['gcc', '-O1']' returned "
    ...     "non-zero exit status 4."
    ... )
    'gcc failed with exit status 4'
    """
    found = re.search(r"Command '\['(\w+)'.*exit status (\d+)", text)
    return f"{found[1]} failed with exit status {found[2]}" if found else text


def newest_results(folder: Path) -> Results:
    """The newest dated file, with the workloads that latest.json has whole in its place."""
    dated = sorted(
        path for path in folder.glob("*.json") if re.fullmatch(r"\d{4}-\d\d-\d\d.*", path.stem)
    )
    latest = json.loads((folder / "latest.json").read_text(encoding="utf-8"))
    if not dated:
        return Results(latest)
    data = json.loads(dated[-1].read_text(encoding="utf-8"))
    whole = {key: run for key, run in latest.get("runs", {}).items() if run["complete"]}
    kept = [row for row in data["rows"] if row["workload"].split("-")[0] not in whole]
    data["rows"] = kept + [row for row in latest["rows"] if row["workload"].split("-")[0] in whole]
    data["starts"] |= {key: latest["starts"][key] for key in whole}
    return Results(data | {"runs": whole})


def exponent(sizes: Sequence[float], values: Sequence[float | None]) -> float | None:
    """The exponent e of value ~ N^e, by least squares of the logarithms over sizes from 10 on.

    >>> exponent((2, 10, 100), (9.0, 3.0, 300.0))
    2.0
    """
    points = [
        (math.log(size), math.log(value))
        for size, value in zip(sizes, values, strict=False)
        if size >= 10 and value
    ]
    if len(points) < 2:
        return None
    fitted, _ = statistics.linear_regression(*zip(*points, strict=True))
    return round(fitted, 2)


def number(value: float | None) -> str:
    """Three digits, as a reader writes them.

    >>> number(0.0123456), number(2.2e-16), number(12345.6), number(None)
    ('0.0123', '2.2e-16', '12300', '')
    """
    if value is None:
        return ""
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.1e}"
    return (
        f"{float(f'{value:.3g}'):.6f}".rstrip("0").rstrip(".")
        if abs(value) < 1000
        else f"{float(f'{value:.3g}'):.0f}"
    )


def table_lines(results: Results, key: str, table: Table) -> list[str]:
    """A table as Markdown; our entries are bold."""
    workload, metric, label = table.columns[table.ranked]
    place = (workload, metric)
    head = ["", "starts from", *(heading for _, _, heading in table.columns)]
    head += ["exponent in N"] * bool(table.sizes) + ["to the best peer"]
    lines = [
        f"**{table.title}**\n",
        "| " + " | ".join(head) + " |",
        "| --- | --- " + "| ---: " * (len(head) - 2) + "|",
    ]
    for who, start in results.entries(key).items():
        cells = [results.value(row, who, measured) for row, measured, _ in table.columns]
        if all(cell is None for cell in cells):
            continue
        ratio = results.ratio(place, who)
        name = f"**{who}**" if is_ours(who) else who
        growth = [number(exponent(table.sizes, cells))] if table.sizes else []
        told = [name, start, *map(number, cells), *growth, number(ratio and ratio[1])]
        lines.append("| " + " | ".join(told) + " |")
    note = (
        f"Ratios: {label}, to the fastest peer that starts from the same place; below 1 is faster."
    )
    return [*lines, "", f"<small>{note}</small>\n"] if is_cost(metric) else [*lines, ""]


def page(results: Results, picture: str) -> str:
    """The whole page."""
    machine = results.data["machine"]
    packages = ", ".join(
        f"{name} {version}"
        for name, version in machine["packages"].items()
        if version != "not installed"
    )
    lines = [
        "---\nhide: [toc]\n---\n\n# Performance\n",
        (
            "What `make bench` measured beside other packages: the same models, the same accuracy,"
            " one machine, CPU seconds. This page is written by `scripts/performance.py` from the"
            " files of `benchmarks/results`; how the times are taken, and what may be"
            " compared with what, is told in `benchmarks/README.md`.\n"
        ),
        (
            f"Measured on {results.data['date'][:10]}: {machine['processor']}, {machine['cores']}"
            f" cores, {machine['system']}, Python {machine['python']}, gcc {machine['gcc']};"
            f" {packages}. The machine had other work to do (load {machine['load']:g}), which CPU"
            f" times feel least. {results.data.get('note', '')}\n"
        ),
        (
            "![Time to derive and compile, and time of one evaluation, against the length of a"
            f" chain]({picture})\n"
        ),
        *shortfall_lines(results),
    ]
    for key, title, about, tables in WORKLOADS:
        lines += [f"## {key}: {title}\n", f"{about}\n"]
        if not any(workload.split("-")[0] == key for workload, _, _ in results.rows):
            lines.append("Not yet measured whole: there are no figures.\n")
            continue
        if key in results.data.get("runs", {}):
            run = results.data["runs"][key]
            lines.append(f"Measured on {run['date'][:10]}. {run.get('note', '')}".strip() + "\n")
        for table in tables:
            lines += table_lines(results, key, table)
        trouble = results.trouble(key)
        if trouble:
            told = "; ".join(f"{who} at {workload}: {reason}" for workload, who, reason in trouble)
            lines.append(f"Not measured: {told}. Larger sizes were not tried after a failure.\n")
        if key == "W3":
            lines.append(
                "![Work against precision of the methods of"
                " integration](pictures/work-precision.png)\n"
            )
            lines.append(
                "The picture compares the library's own methods with each other;"
                " [Methods](methods.md) explains it.\n"
            )
    return "\n".join(lines)


def reason(results: Results, workload: str, metric: str, who: str, peer: str) -> str:
    """Why a peer is faster."""
    key = workload.split("-")[0]
    known = (f"{workload} {metric}", f"{key} {metric}", metric)
    found = next((REASONS[name] for name in known if name in REASONS), None)
    errors = [results.value(workload, name, "final_error") for name in (who, peer)]
    if found is None and key in ("W7", "W8") and None not in errors:
        ours, theirs = errors
        if ours is not None and theirs is not None and ours < theirs:
            return f"another accuracy: final error {ours:.0e} against {theirs:.0e}"
    return found or "not known"


def shortfall_lines(results: Results) -> list[str]:
    """What the best peer does faster."""
    lines = ["## What falls short\n"]
    rows = results.shortfalls()
    if not rows:
        return [
            *lines,
            (
                "Among entries that start from the same place, no peer is more than 5 % faster in"
                " anything measured.\n"
            ),
        ]
    lines += [
        "Every cost in which the best peer with the same start is more than 5 % faster than "
        "our best entry, the worst first. "
        "`script_s` is a whole run of the interpreter with all imports, `call_us` a call from "
        "Python, `native_us` one in a "
        "native loop.\n",
        "| workload | cost | ours | the peer | ratio | why |",
        "| --- | --- | ---: | --- | ---: | --- |",
    ]  # fmt: skip
    for workload, metric, who, peer, ratio in rows:
        ours, theirs = (number(results.value(workload, name, metric)) for name in (who, peer))
        why = reason(results, workload, metric, who, peer)
        cells = [workload, f"`{metric}`", ours, f"{peer}, {theirs}", number(ratio), why]
        lines.append("| " + " | ".join(cells) + " |")
    return [
        *lines,
        "",
        (
            "Equations that somebody reduced by hand are another start; where they are faster, the"
            " tables show it.\n"
        ),
    ]


def scaling_picture(results: Results, path: Path) -> None:
    """Time to derive and compile, and of one native evaluation, against the number of links, in the
    house style.
    """
    from dalembert.plotting.style import LIGHT, Picture

    picture = Picture(LIGHT, figsize=(9.2, 3.9), layout="constrained")
    shown = (
        "dalembert",
        "jax",
        "heyoka",
        "casadi-C-loop-O2",
        "symengine-llvm",
        "casadi-vm",
        "hand-C-O(N)",
    )
    with LIGHT.context():
        panels = picture.subplots(1, 2)
        for axes, metric, title in zip(
            panels,
            ("derive_compile_s", "native_us"),
            ("from energies to code, s", "one native evaluation, µs"),
            strict=True,
        ):
            for who, color in zip(shown, (LIGHT.ink, *LIGHT.cycle), strict=False):
                sizes, values = curve(results, who, metric)
                if sizes:
                    width = 2.4 if who == OURS else 1.3
                    axes.loglog(
                        sizes,
                        values,
                        marker="o",
                        markersize=4,
                        color=color,
                        linewidth=width,
                        label=who,
                    )
            axes.set(title=title, xlabel="links N")
            axes.margins(x=0.05)
        panels[0].legend(loc="upper left", fontsize=8)
    picture.savefig(path, dpi=130)


def curve(results: Results, who: str, metric: str) -> tuple[list[float], list[float]]:
    """The sizes that an entry was measured at, with its values."""
    pairs: Iterable[tuple[int, float | None]] = (
        (size, results.value(f"W1-N{size}", who, metric)) for size in (2, 5, 10, 20, 40, 100, 200)
    )
    found = [(float(size), value) for size, value in pairs if value is not None]
    return [size for size, _ in found], [value for _, value in found]


def main() -> int:
    """Write the page and its picture, or with --check compare the page."""
    root = Path(__file__).resolve().parent.parent
    results, path = newest_results(root / "benchmarks" / "results"), root / "docs/performance.md"
    text = page(results, "pictures/scaling.png")
    if "--check" in sys.argv[1:]:
        if path.read_text(encoding="utf-8") == text:
            return 0
        print("docs/performance.md is out of date: run python scripts/performance.py")
        return 1
    scaling_picture(results, root / "docs" / "pictures" / "scaling.png")
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
