"""The commands that read: ``gallery``, ``derive`` and ``check``."""

from __future__ import annotations

import sys

from rich import box
from rich.table import Table
from rich.text import Text

from ..errors import ModelError
from .entry import FINE
from .export_command import export_values
from .systems import named_system
from .terminal import Progress, print_json, show, waiting

__all__ = ["check_command", "derive_command", "gallery_command"]


def gallery_command(as_json: bool) -> int:
    """Every built-in system with its source and summary."""
    from ..gallery import built_in, load

    found = []
    with Progress("Reading the gallery") as progress:
        every = built_in()
        for place, name in enumerate(every):
            scenario = load(name)
            found.append({"name": name, "source": scenario.source, "summary": scenario.summary})
            progress((place + 1) / len(every))
    if as_json:
        print_json(found)
        return FINE
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("source", style="dim")
    for entry in found:
        table.add_row(*(Text(entry[key]) for key in ("name", "summary", "source")))
    show(table)
    return FINE


def derive_command(
    name: str, form: str | None, format: str, explicit: bool = False, parts: bool = False
) -> int:
    """The equations of motion of a system as text, LaTeX (lines or a document), C or JAX.

    With `explicit` they are solved for the unknowns by formula; with `parts` the matrices of this
    formula are printed.
    """
    from ..formulations.registry import derive

    if parts and format not in ("text", "latex"):
        raise ModelError(
            "The parts of a formula are printed as text or LaTeX",
            seen=f"--format {format}",
            remedy="choose --format text or --format latex",
        )
    scenario = named_system(name)
    stated = scenario.simulate.get("form")
    with waiting("Deriving"):
        equations = derive(scenario.system, form or stated, explicit=explicit)
        match format:
            case "text" | "latex" if parts:
                found = equations.parts()
                text = found.text() if format == "text" else found.latex()
            case "latex":
                text = equations.latex()
            case "document":
                text = equations.to_latex(scenario=scenario)
            case "c":
                text = str(equations.to_c(**export_values(scenario, equations)))
            case "jax":
                from ..export.jax_source import jax_source

                text = jax_source(equations.shown.compile())
            case _:
                text = equations.text()
    sys.stdout.write(text.rstrip("\n") + "\n")
    return FINE


def check_command(name: str, as_json: bool) -> int:
    """What kind of system it is, which forms apply, and how well they agree."""
    from ..analysis.overview.comparison import compare
    from ..analysis.overview.description import describe
    from ..model.flow_system import Flow

    scenario = named_system(name)
    with waiting("Classifying"):
        description = describe(scenario)
    if isinstance(scenario.system, Flow):
        if as_json:
            print_json(description.to_json())
        else:
            sys.stdout.write(f"{description.text().rstrip()}\n")
        return FINE
    with waiting("Comparing the forms"):
        comparison = compare(scenario)
    if as_json:
        print_json(description.to_json() | {"agreement": comparison.to_json()})
        return FINE
    sys.stdout.write(f"{description.text().rstrip()}\n\n{comparison.text().rstrip()}\n")
    return FINE
