"""Generate the pages that come from the library, then build the site: what `make docs` runs.

docs/generated/ gets the reference, the gallery with its pictures, Gavin's figures, the verification
table with its errata, and copies of the documents at the root of the
repository. MkDocs then builds docs/ into site/. Nothing is fetched from a network.
"""

from __future__ import annotations

import argparse
import functools
import io
import math
import multiprocessing
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS, SITE = ROOT / "docs", ROOT / "site"
GENERATED = DOCS / "generated"
#: Equations longer than this, or slower than this to print, are left to the command line.
LONGEST_TEXT, LONGEST_WAIT = 2600, 20.0


def main() -> int:
    """Generate what is asked for, and build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--only", choices=[*PAGES, "site"], action="append", help="do only this; may be repeated"
    )
    chosen = parser.parse_args().only or [*PAGES, "site"]
    GENERATED.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        if name in chosen:
            began = time.perf_counter()
            make()
            print(f"{name:<10} {time.perf_counter() - began:6.1f} s", flush=True)
    return build_site() if "site" in chosen else 0


def build_site() -> int:
    """Run MkDocs, strictly, and look at every link of what came out: a broken one is an error."""
    try:
        from mkdocs.commands.build import build
        from mkdocs.config import load_config
        from mkdocs.exceptions import Abort
    except ImportError:
        print(
            'MkDocs is not installed: run pip install -e ".[docs]", or make docs, which does.',
            file=sys.stderr,
        )
        return 1
    try:
        build(load_config(str(ROOT / "mkdocs.yml")))
    except Abort as error:
        print(f"The site was not built: {error}", file=sys.stderr)
        return 1
    from check_links import broken_links

    broken = broken_links(SITE)
    if broken:
        print("\n".join(["The site has broken links:", *broken]), file=sys.stderr)
        return 1
    print(f"site       {SITE.relative_to(ROOT)}/index.html")
    return 0


# -- the gallery -----------------------------------------------------------------------------------


def gallery_page() -> None:
    """One section for each system: what it shows, its statement, its equations, a picture."""
    import dalembert as da

    folder = GENERATED / "gallery"
    folder.mkdir(exist_ok=True)
    names = da.gallery.names()
    sections = [
        "# Gallery\n",
        (
            f"{len(names)} systems, each ready to run:"
            ' `da.simulate(da.gallery.load("rolling-disk"))` in Python, `dalembert run'
            " rolling-disk` on the command line. Each file of `src/dalembert/gallery` states one"
            " of them.\n"
        ),
    ]
    for name, text in zip(names, equations_of(names), strict=True):
        scenario = da.gallery.load(name)
        motion = da.simulate(scenario)
        save_small(motion.animate().overlay(), folder / f"{name}.png")
        sections.append(gallery_section(name, scenario, motion, text))
    (GENERATED / "gallery.md").write_text("\n".join(sections), encoding="utf-8")


def gallery_section(name: str, scenario: Any, motion: Any, text: str | None) -> str:
    """The Markdown of one system."""
    from dalembert.gallery import path_of

    system = scenario.system
    statement = [*stated_energies(system)]
    statement += [
        f"{constraint.name}: {stated_constraint(constraint)}" for constraint in system.constraints
    ]
    if sum(map(len, statement)) > LONGEST_TEXT:
        statement = [f"(long; see src/dalembert/gallery/{path_of(name)})"]
    values = ", ".join(f"{key} = {value:g}" for key, value in scenario.parameters.items())
    equations = text or f"(long; dalembert derive {name} prints them)"
    return f"""
## {name}

**{system.name}.** {scenario.summary}

<div class="picture" markdown>
![{system.name}](gallery/{name}.png)
</div>

| | |
| --- | --- |
| coordinates | {", ".join(f"`{q}`" for q in system.coordinates)} |
| parameters | {values or "none"} |
| form | `{motion.equations.form}`, t = {motion.t[0]:g} to {motion.t[-1]:.6g}, {motion.outcome} |
| source | {scenario.source} |

??? note "Statement and equations"

    ```text
{indented(statement)}
    ```

    ```text
{indented(equations.splitlines())}
    ```
"""


def stated_energies(system: Any) -> list[str]:
    """What a system is made of, line by line: energies and forces, or the integrals of a flow."""
    import dalembert as da

    if isinstance(system, da.Flow):
        return [f"{name} = {value}" for name, value in system.integrals.items()]
    energies = (
        [("H", system.hamiltonian)]
        if system.is_hamiltonian
        else (
            [("T", system.kinetic), ("V", system.potential)]
            if system.kinetic is not None
            else [("L", system.lagrangian)]
        )
    )
    forces = [f"Q_{q} = {value}" for q, value in system.forces.items()]
    return [f"{symbol} = {value}" for symbol, value in energies if value != 0] + forces


def stated_constraint(constraint: Any) -> str:
    """A constraint as a line of text."""
    velocities = getattr(constraint, "velocities", None)
    if velocities is not None:
        return ", ".join(f"{q}_dot = {value}" for q, value in velocities.items())
    restitution = getattr(constraint, "restitution", None)
    return (
        f"{constraint.expression} <= 0, restitution {restitution}"
        if restitution is not None
        else f"{constraint.expression} = 0"
    )


def indented(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def equations_of(names: tuple[str, ...]) -> list[str | None]:
    """The equations of each system as text, or None where they are too long or take too long."""
    found: list[str | None] = []
    pool = multiprocessing.get_context("spawn").Pool(1)
    try:
        for name in names:
            try:
                text = pool.apply_async(equations_text, (name,)).get(LONGEST_WAIT)
            except multiprocessing.TimeoutError:
                pool.terminate()
                pool, text = multiprocessing.get_context("spawn").Pool(1), None
            found.append(text if text is not None and len(text) <= LONGEST_TEXT else None)
    finally:
        pool.terminate()
    return found


def equations_text(name: str) -> str | None:
    """The equations of a gallery system in the form that it runs in; None where they are too large
    to be written out.
    """
    import dalembert as da

    scenario = da.gallery.load(name)
    try:
        return str(da.derive(scenario.system, scenario.simulate.get("form")).text())
    except da.errors.ModelError:
        return None


def save_small(picture: Any, path: Path) -> None:
    """A figure as a PNG of few colours."""
    from PIL import Image

    buffer = io.BytesIO()
    picture.savefig(buffer, format="png", dpi=110)
    Image.open(buffer).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


# -- figures, table, documents ---------------------------------------------------------------------


def gavin_page() -> None:
    """The figures of Gavin's notes, with the captions that the computation writes."""
    from dalembert.plotting import gavin_figures

    figures = gavin_figures(GENERATED / "gavin")
    parts = [
        "# Gavin's figures, computed again\n",
        (
            "Figures 1 and 3 to 8 of Gavin's notes on generalised coordinates, Lagrange's equations"
            " and constraints, for the elastic pendulum. Each caption states what the computation"
            " finds, with numbers of this build, and where the printed caption says otherwise.\n"
        ),
    ]
    parts += [
        f"## Figure {figure.number}\n\n![Figure"
        f" {figure.number}](gavin/{figure.path.name})\n\n{escaped(figure.caption)}\n"
        for figure in figures
    ]
    (GENERATED / "gavin.md").write_text("\n".join(parts), encoding="utf-8")


def verify_page() -> None:
    """The verification table of this build."""
    from dalembert.verification import summary

    found = verified()
    counts = summary(found)
    lines = [
        "---\nhide: [toc]\n---\n\n# The verification table\n",
        (
            f"{len(found)} rows: {counted(counts.verdicts)}. They test: {counted(counts.tests)}"
            " ([what that means](../verification.md)). `dalembert verify` computes them again.\n"
        ),
        "| id | section | claim | tests | verdict | residual | as printed | how |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in found:
        printed = "" if row.printed_residual is None else number(row.printed_residual)
        cells = (row.id, row.section, row.claim, row.tests or "", row.verdict)
        cells += (number(row.residual), printed, row.how)
        lines.append("| " + " | ".join(escaped(cell) for cell in cells) + " |")
    (GENERATED / "verify.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


@functools.cache
def verified() -> tuple[Any, ...]:
    """Every row of the table, computed once."""
    from dalembert.verification import rows

    return tuple(rows())


def errata_page() -> None:
    """What the source documents print wrong, by document, with the residual of the print and of the
    correction.
    """
    from dalembert.verification import summary
    from dalembert.verification.documents import DOCUMENTS

    wrong = [row for row in verified() if row.verdict == "reproduced with correction"]
    parts = [
        "# Errata of the source documents\n",
        (
            f"{len(wrong)} of {len(verified())} printed results hold only with a correction. Each"
            " is told in our own words: what holds, what the print has instead, what is left of"
            " either when it is computed, and how. A print counts as wrong where its residual is"
            " more than a hundred times the tolerance that the correction meets. Whose fault it may"
            f" be: {counted(summary(wrong).faults)}. [The whole"
            " table](verify.md); [how it is made](../verification.md).\n"
        ),
    ]
    for symbol, document in DOCUMENTS.items():
        own = [row for row in wrong if row.id.startswith(f"{symbol}-")]
        parts.append(f"## {document.title}\n")
        parts += [erratum(row) for row in own] or [
            "Nothing that was recomputed needed a correction.\n"
        ]
    (GENERATED / "errata.md").write_text("\n".join(parts), encoding="utf-8")


def erratum(row: Any) -> str:
    """One correction."""
    printed = "none" if row.printed_residual is None else number(row.printed_residual)
    return (
        f"### {escaped(row.id)}\n\n{escaped(row.claim)}.\n\nWhat is left:"
        f" **{number(row.residual)}**, and as printed **{printed}**. {FAULTS[row.fault]}"
        f" <small>Recomputed: {escaped(row.how)}.</small>\n"
    )


#: What the errata page says of a fault.
FAULTS = {
    "print": "The fault is the authors'.",
    "transcription": "The fault may be of the text at hand, not of the authors.",
    "unknown": "It is not known whether the fault is the authors' or of the text at hand.",
    None: "",
}


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def number(value: float) -> str:
    return f"{value:.0e}" if math.isfinite(value) else "none"


def escaped(text: str) -> str:
    """Plain text as Markdown that shows it as it is."""
    return re.sub(r"([\\`*_|<>$\[\]])", r"\\\1", text)


def root_documents() -> None:
    """Documents at the root of the repository, as pages."""
    names = ("ARCHITECTURE", "CODE_OF_CONDUCT", "CONTRIBUTING", "SECURITY", "CHANGELOG")
    for name in names:
        source = ROOT / f"{name}.md"
        text = (
            source.read_text(encoding="utf-8")
            if source.exists()
            else f"# {name.title()}\n\nNot written yet.\n"
        )
        text = re.sub(r"\]\(docs/([^)]+)\)", r"](../\1)", text)
        text = re.sub(rf"\]\(({'|'.join(names)})\.md", lambda found: found[0].lower(), text)
        (GENERATED / f"{name.lower()}.md").write_text(text, encoding="utf-8")


def reference_pages() -> None:
    """Every public name, from its docstring."""
    from reference import write_reference

    write_reference(GENERATED / "reference")


def notebooks() -> None:
    """The tutorials as Jupyter notebooks."""
    from tutorial_notebooks import write_notebooks

    write_notebooks(DOCS / "tutorials", GENERATED / "notebooks")


PAGES: dict[str, Callable[[], None]] = {
    "documents": root_documents,
    "notebooks": notebooks,
    "reference": reference_pages,
    "gallery": gallery_page,
    "gavin": gavin_page,
    "verify": verify_page,
    "errata": errata_page,
}


if __name__ == "__main__":
    sys.exit(main())
