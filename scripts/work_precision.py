"""Measure every method of integration, and write what was found into the documentation.

    python scripts/work_precision.py measure [--steps 1000000] [--only lobatto4 ...]
    python scripts/work_precision.py write

`measure` takes the methods from `dalembert.integrate.methods.table` and their problems from
`method_problems`: the order, the energy over many steps, and error against time in native code. It
updates docs/methods.json, method by method. `write` makes the table in docs/methods.md and
docs/pictures/work-precision.png of that file, and needs no run. Times belong to the machine that
they were measured on.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from method_problems import HOME, PROBLEMS, SUITS, drift, exact_end, measured_order, work_precision

from dalembert.integrate.methods.table import fixed_methods, step_controlled_methods

DOCS = Path(__file__).parents[1] / "docs"
DATA, PAGE, PICTURE = (
    DOCS / "methods.json",
    DOCS / "methods.md",
    DOCS / "pictures" / "work-precision.png",
)
#: Step-controlled methods are compared on these kinds.
COMPARED = ("free, constant mass", "free, variable mass", "holonomic", "nonholonomic")


def main() -> int:
    """Measure or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["measure", "write"])
    parser.add_argument(
        "--steps", type=int, default=1_000_000, help="steps of the long runs; 0 leaves them out"
    )
    parser.add_argument("--only", nargs="*", default=None, help="methods to measure")
    given = parser.parse_args()
    if given.what == "measure":
        measure(given.steps, given.only)
    write()
    return 0


def stored() -> dict[str, Any]:
    """What has been measured so far."""
    return (
        json.loads(DATA.read_text(encoding="utf-8"))
        if DATA.exists()
        else {"methods": {}, "work": {}}
    )


def measure(steps: int, only: list[str] | None) -> None:
    """Measure methods and keep each as soon as it is known."""
    found = stored()
    chosen = set(only) if only else {*fixed_methods(), *step_controlled_methods()}
    for kind, problem in PROBLEMS.items():
        exact = exact_end(problem)
        references = step_controlled_methods() if kind in COMPARED else ()
        for method in (*SUITS[kind], *references):
            if method not in chosen:
                continue
            pairs = work_precision(problem, method, exact)
            found["work"].setdefault(kind, {})[method] = [
                [float(f"{a:.2e}"), float(f"{b:.2e}")] for a, b in pairs
            ]
            if steps and HOME.get(method) == kind:
                order, energy = (
                    measured_order(problem, method, exact),
                    drift(problem, method, steps),
                )
                found["methods"][method] = {
                    "kind": kind,
                    "order": round(order, 2),
                    "steps": steps,
                    "step": problem.step,
                    "largest": float(f"{energy.largest:.1e}"),
                    "rise": float(f"{energy.rise:.1e}"),
                    "microseconds": round(1e6 * energy.seconds / steps, 2),
                }
            DATA.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(f"{kind:<22} {method}", flush=True)


# -- the page --------------------------------------------------------------------------------------


def write() -> None:
    """The tables between the marks of the page, and the picture."""
    found = stored()
    text = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- measured -->\n", "<!-- end -->"
    first, last = text.index(begin) + len(begin), text.index(end)
    PAGE.write_text(text[:first] + measured_table(found["methods"]) + text[last:], encoding="utf-8")
    draw(found["work"])


def measured_table(methods: dict[str, Any]) -> str:
    """The measured orders and energies as Markdown."""
    lines = [
        "| method | on | order | largest energy error | rise over the run | CPU a step |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for method in fixed_methods():
        if method in methods:
            row = methods[method]
            lines.append(
                f"| `{method}` | {row['kind']} | {row['order']:.2f} | {row['largest']:.0e} |"
                f" {row['rise']:+.0e} | {row['microseconds']:.3g} µs |"
            )
    return "\n".join(lines) + "\n"


def draw(work: dict[str, Any]) -> None:
    """Error against time, a panel for each kind of system."""
    import io

    from PIL import Image

    from dalembert.plotting import work_precision as drawn

    kinds = [kind for kind in PROBLEMS if work.get(kind)]
    panels = {
        f"{kind}: {PROBLEMS[kind].title}": {
            method: [(error, 1e3 * seconds) for error, seconds in pairs]
            for method, pairs in work[kind].items()
        }
        for kind in kinds
    }
    methods = list(dict.fromkeys(method for kind in kinds for method in work[kind]))
    groups: dict[str, list[str]] = {}
    for method in methods:
        groups.setdefault(family_of(method), []).append(method)
    picture = drawn(
        panels,
        error="error of the positions at the end",
        work="time in native code, ms",
        groups=groups,
    )
    buffer = io.BytesIO()
    picture.savefig(buffer, format="png", dpi=100)
    image = Image.open(buffer).convert("RGB")
    image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        PICTURE, optimize=True
    )


#: Families of methods, the longer names first; those that choose their steps have none, and the
#: others are compared to them.
FAMILIES = (
    "galerkin-lobatto",
    "nonholonomic",
    "variational",
    "isospectral",
    "lie-verlet",
    "galerkin",
    "lobatto",
    "rattle",
)


def family_of(method: str) -> str:
    """The family of a method by its name."""
    if method in step_controlled_methods():
        return ""
    return next(
        (family for family in FAMILIES if method.startswith(family)), method.rstrip("0123456789")
    )


if __name__ == "__main__":
    sys.exit(main())
