"""Measure what each form of the equations costs, and write what was found into the theory pages.

    python scripts/form_costs.py measure
    python scripts/form_costs.py write

`measure` derives every form of a few gallery systems, counts the arithmetic of its rates and times
them in native code, at the start of the gallery's motion; it makes docs/theory/costs.json. `write`
makes the table of each page in docs/theory and the page costs.md of that file, and measures
nothing. Times belong to the machine that they were measured on.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

THEORY = Path(__file__).parents[1] / "docs" / "theory"
DATA, PAGE = THEORY / "costs.json", THEORY / "costs.md"
#: A holonomic system in an angle and a length, a body that rolls, wheels that are steered, one with
#: a singular mass matrix, and two particles on an image whose rank may drop.
SYSTEMS = ("elastic-pendulum-arc", "rolling-disk", "snakeboard", "bicycle", "linked-particles")
#: How often the rates are computed at a stretch, and how many stretches there are: the fastest
#: counts.
CALLS, STRETCHES = 20_000, 15
#: What the numbers of a page are.
HOW = (
    "All rates once, solve included, in native code on two cores; [how this is counted](costs.md)."
)
#: The part of a page between these lines is made by `write`.
BEGIN, END = "<!-- costs: made by scripts/form_costs.py -->", "<!-- end of costs -->"


def main() -> int:
    """Measure or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["measure", "write"])
    if parser.parse_args().what == "measure":
        DATA.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    write()
    return 0


# -- measuring -------------------------------------------------------------------------------------


def measured() -> dict[str, dict[str, dict[str, Any]]]:
    """For each system and form that applies to it: sizes, operations and nanoseconds."""
    import dalembert as da
    from dalembert.formulations.registry import applicability

    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name in SYSTEMS:
        scenario = da.gallery.load(name)
        forms = [form for form, fault in applicability(scenario.system).items() if fault is None]
        clocks = {form: Clock(scenario, form) for form in forms}
        for _ in range(
            STRETCHES
        ):  # in turn, so that what else the machine does falls on all of them
            for clock in clocks.values():
                clock.stretch()
        found[name] = {form: clock.record() for form, clock in clocks.items()}
        print(f"{name}: {len(forms)} forms", flush=True)
    return found


class Clock:
    """One form of one system, at the start of its motion."""

    def __init__(self, scenario: Any, form: str) -> None:
        import dalembert as da

        image = scenario.system.image
        # Extremals have costates in place of the speeds of an image.
        speeds = (
            {u.name for u in image.speeds} if image is not None and form == "pontryagin" else set()
        )
        start = {name: value for name, value in scenario.start.items() if str(name) not in speeds}
        motion = da.simulate(
            da.derive(scenario.system, form), start, (0.0, 1e-3), parameters=scenario.parameters
        )
        self.equations, self.parameters = motion.equations, scenario.parameters
        self.state = motion.segments[0].step_y[0]
        self.kernel = self.equations.compile()
        self.best = float("inf")

    def stretch(self) -> None:
        """One stretch of calls."""
        self.best = min(self.best, self.kernel.time_native(0.0, self.state, self.parameters, CALLS))

    def record(self) -> dict[str, Any]:
        """What is kept of it."""
        try:
            operations, inline = self.kernel.program("fast").operation_count, True
        except AssertionError:  # the solve is a loop of its own
            operations, inline = (
                sum(self.kernel.program(part).operation_count for part in ("blocks", "rates")),
                False,
            )
        return {
            "state": len(self.equations.state),
            "unknowns": len(self.equations.unknowns),
            "rows": len(self.equations.row_names),
            "operations": operations,
            "solve inline": inline,
            "nanoseconds": float(f"{self.best * 1e9:.2g}"),
        }


# -- writing ---------------------------------------------------------------------------------------


def write() -> None:
    """The tables, from what was kept."""
    found = json.loads(DATA.read_text(encoding="utf-8"))
    forms = list(dict.fromkeys(form for records in found.values() for form in records))
    for form in forms:
        page = THEORY / f"{form}.md"
        if page.exists():
            text = page.read_text(encoding="utf-8")
            page.write_text(with_table(text, form_table(form, found), page.name), encoding="utf-8")
    PAGE.write_text(
        with_table(PAGE.read_text(encoding="utf-8"), all_tables(found), PAGE.name), encoding="utf-8"
    )


def with_table(text: str, table: str, name: str) -> str:
    """A page with its table in place."""
    made, count = re.subn(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}",
        lambda _: f"{BEGIN}\n\n{table}\n\n{END}",
        text,
        flags=re.DOTALL,
    )
    if count != 1:
        raise SystemExit(f"docs/theory/{name} needs the lines {BEGIN} and {END} once")
    return made


def form_table(form: str, found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """One form on the systems that it applies to, beside `lagrange` where that applies."""
    lines = [
        "| system | state | unknowns | multipliers | operations | ns | `lagrange` |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for system, records in found.items():
        if form in records:
            reference = records.get("lagrange")
            beside = (
                f"{reference['operations']} operations, {reference['nanoseconds']:.0f} ns"
                if reference
                else "does not apply"
            )
            beside = "" if form == "lagrange" else beside
            lines.append(f"| `{system}` | {cells(records[form])} | {beside} |")
    if form == "lagrange":
        lines = [line.rsplit("|", 2)[0] + "|" for line in lines]
    return "\n".join([*lines, "", HOW])


def all_tables(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Every form, system by system."""
    parts = []
    for system, records in found.items():
        lines = [f"## {system}\n", "| form | state | unknowns | multipliers | operations | ns |"]
        lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
        lines += [
            f"| [`{form}`]({form}.md) | {cells(record)} |" for form, record in records.items()
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def cells(record: dict[str, Any]) -> str:
    """The numbers of a row."""
    solve = "" if record["solve inline"] else " and a solve"
    sizes = f"{record['state']} | {record['unknowns']} | {record['rows']}"
    return f"{sizes} | {record['operations']}{solve} | {record['nanoseconds']:.0f}"


if __name__ == "__main__":
    sys.exit(main())
