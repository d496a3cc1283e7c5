r"""A derivation as a LaTeX document: the system, the principle of the form, its steps, the
equations, what they conserve.

The document compiles with the standard packages alone (amsmath, geometry, booktabs, graphicx). Long
formulas are broken at their sums, parts of them get names, and nothing leaves the page
(`document_layout`). What is given is written by `document_given`, what a form rests on by
`document_forms`; its steps are computed by `document_steps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import DalembertError, ModelError
from ..model.scenario import Scenario
from ..model.system import System
from .document_conserved import conserved_section, reactions_section
from .document_forms import Principle, principle_of
from .document_given import constraints_section, energies_section, listed_symbols, system_section
from .document_layout import align, escaped, paragraph
from .document_listing import listing_section
from .document_steps import derivation_steps
from .document_writer import DerivationWriter
from .latex_symbols import declared_symbols
from .typeset import lines_latex, symbol_latex

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = ["latex_document"]

PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
\usepackage[margin=25mm]{geometry}
\usepackage{amsmath}
\usepackage{booktabs}
\usepackage{graphicx}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{5pt plus 2pt}
\setlength{\emergencystretch}{4em}
\raggedbottom
"""


def latex_document(equations: Equations, scenario: Scenario | None = None) -> str:
    r"""The derivation of the equations as a LaTeX document; values of parameters and start come
    from a scenario.

    Raises
    ------
    ModelError
        Where the scenario is one of another system, the equations are too long to be written out,
        or two symbols would look the same.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> oscillator = da.System([x], kinetic=m/2*x.dot**2, potential=k/2*x**2, name="Oscillator")
    >>> text = latex_document(da.derive(oscillator, "hamilton"))
    >>> r"p_{x} &= m \dot{x}" in text, r"\dot{p}_{x} &= -k x" in text
    (True, True)
    """
    system = equations.system
    if scenario is not None and scenario.system is not system:
        raise ModelError(
            "The scenario is one of another system",
            f"{scenario.system.name}, and equations of {system.name}",
            "derive the equations from scenario.system",
        )
    _refuse_look_alikes(equations)
    principle, writer = _principle(equations), DerivationWriter(equations)
    known = _described(equations, scenario)
    sections = [("The system", system_section(equations, scenario))]
    if isinstance(system, System):
        sections += [
            ("Energies and forces", energies_section(writer, system)),
            ("Constraints", constraints_section(writer, system, known)),
        ]
    sections += [
        ("The principle", _stated_principle(equations, principle)),
        ("The derivation", derivation_steps(writer)),
    ]
    sections.append(("The equations of motion", _result(equations)))
    if isinstance(system, System):
        sections.append(("Reactions", reactions_section(writer, system)))
    sections += [
        ("Conserved quantities", conserved_section(writer, known)),
        ("How to run it", listing_section(equations, scenario)),
    ]
    title = (
        f"\\begin{{center}}\n{{\\LARGE {escaped(system.name)}}}\\\\[6pt]\n{{\\large"
        f" {principle.title}}}\n\\end{{center}}\n"
    )
    body = "\n".join(f"\\section{{{head}}}\n\n{text}" for head, text in sections if text)
    declared = declared_symbols(title + body)
    inside = f"\\begin{{document}}\n{title}\n{body}\n\\end{{document}}\n"
    return f"{PREAMBLE}{declared}{inside}"


def _refuse_look_alikes(equations: Equations) -> None:
    """Refuse symbols that are set alike, such as x1 and x_1: nobody could tell them apart."""
    system, shown = equations.system, dict[str, str]()
    for symbol in dict.fromkeys(
        (*system.coordinates, *equations.state, *system.parameters, *system.inputs)
    ):
        other = shown.setdefault(symbol_latex(symbol), symbol.name)
        if other != symbol.name:
            raise ModelError(
                f"The symbols `{other}` and `{symbol.name}` look the same in LaTeX",
                symbol_latex(symbol),
                "rename one of them",
            )


def _principle(equations: Equations) -> Principle:
    """The principle, in the variant that was asked for."""
    options, form = equations.options, equations.form
    if options.get("eliminate_costate"):
        return principle_of("pontryagin-eliminated", equations.citation)
    second = options.get("kind") == "second" or options.get("velocities") is not None
    return principle_of(f"{form}-second" if second else form, equations.citation)


def _described(equations: Equations, scenario: Scenario | None) -> Any | None:
    """What `System.describe` finds, where it can look at the system."""
    system = equations.system
    if not isinstance(system, System):
        return None
    try:
        if scenario is None:
            return system.describe()
        return system.describe(parameters=scenario.parameters, start=scenario.start)
    except DalembertError:  # the document goes without the description
        return None


# -- the principle and the result ------------------------------------------------------------------


def _stated_principle(equations: Equations, principle: Principle) -> str:
    found = paragraph(principle.idea)
    if principle.law:
        found += "\\begin{gather}\n" + " \\\\\n".join(principle.law) + "\n\\end{gather}\n"
    found += paragraph(
        principle.meaning,
        f"Form \\texttt{{{escaped(equations.form)}}}: {escaped(equations.citation)}.",
    )
    assumed = [
        f"{escaped(claim)} ({escaped(str(verdict))})"
        for claim, verdict in equations.hypotheses.items()
    ]
    return found + (paragraph(f"It rests on: {'; '.join(assumed)}.") if assumed else "")


def _result(equations: Equations) -> str:
    written = equations.written()
    shown = lines_latex(written)
    lines, names = shown[: len(written.lines)], shown[len(written.lines) :]
    state = listed_symbols(equations.state)
    opening = "With everything put in, and each line divided by what it has in common,"
    if equations.is_explicit:
        opening = "Solved for the unknowns by the formula above, without multipliers,"
    found = _formula(equations) + paragraph(f"{opening} the motion of {state} obeys")
    found += align(lines, numbered=True)
    if names:
        first, meaning = names[0]
        names = [(first.removeprefix(r"\text{with }"), meaning), *names[1:]]
        found += paragraph("with the abbreviations") + align(names)
    return found


def _formula(equations: Equations) -> str:
    """The explicit formula z = a + K e in matrices, where it is asked for."""
    if not equations.is_explicit:
        return ""
    found = paragraph(
        r"The Gauss problem $\mathsf{G} z = f + \mathsf{A}^T\mu$, $\mathsf{A} z = b$ for the"
        f" unknowns {listed_symbols(equations.unknowns)} has the solution"
    )
    found += (
        "\\begin{gather}\nz = a + \\mathsf{K}\\,e, \\quad a = \\mathsf{G}^{-1} f, \\quad"
        " e = b - \\mathsf{A}\\,a, \\\\\n\\mathsf{K} = \\mathsf{G}^{-1}\\mathsf{A}^T"
        "(\\mathsf{A}\\,\\mathsf{G}^{-1}\\mathsf{A}^T)^{+}\n\\end{gather}\n"
    )
    notes = [f"{escaped(note)}." for note in equations.notes]
    return found + (paragraph(*(note[0].upper() + note[1:] for note in notes)) if notes else "")
