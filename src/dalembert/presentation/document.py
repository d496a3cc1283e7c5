r"""A derivation as a LaTeX document: the system, the principle of the form, its steps, the
equations, what they conserve.

The document compiles with the standard packages alone (amsmath, geometry, booktabs, graphicx). Long
formulas are broken at their sums, parts of them get names, and nothing leaves the page
(`document_layout`). What a form rests on is said by `document_forms`, and its steps are computed by
`document_steps`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.lazy import entries_of, now
from ..errors import DalembertError, ModelError
from ..formulations.constraint_equations import velocity_level
from ..formulations.forms import lagrange
from ..formulations.registry import is_variational
from ..model.constraints import Constraint
from ..model.flow_system import Flow
from ..model.scenario import Scenario
from ..model.symbols import t
from ..model.system import System
from .document_forms import Principle, principle_of
from .document_layout import align, escaped, paragraph, verbatim
from .document_steps import derivation_steps
from .document_writer import TOO_LONG, DerivationWriter
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
#: Forms that follow another principle than d'Alembert's.
#: The most columns of a listing.
LISTING_WIDTH = 104


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
    sections = [("The system", _system(equations, scenario))]
    if isinstance(system, System):
        sections += [
            ("Energies and forces", _energies(writer, system)),
            ("Constraints", _constraints(writer, system, known)),
        ]
    sections += [
        ("The principle", _stated_principle(equations, principle)),
        ("The derivation", derivation_steps(writer)),
    ]
    sections.append(("The equations of motion", _result(equations)))
    if isinstance(system, System):
        sections.append(("Reactions", _reactions(writer, system)))
    sections += [
        ("Conserved quantities", _conserved(writer, known)),
        ("How to run it", _running(equations, scenario)),
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


def _is_variational(equations: Equations) -> bool:
    """Whether the form follows another principle than d'Alembert's."""
    return is_variational(equations.form) and not equations.options.get("eliminate_costate")


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


# -- what is given ---------------------------------------------------------------------------------


def _system(equations: Equations, scenario: Scenario | None) -> str:
    system = equations.system
    words = []
    if scenario is not None and scenario.summary:
        words.append(f"{escaped(scenario.summary.rstrip('.'))}.")
    if scenario is not None and scenario.source:
        words.append(f"Source: {escaped(scenario.source.rstrip('.'))}.")
    count = len(system.coordinates)
    kind = "variables" if isinstance(system, Flow) else "coordinates"
    many = f"{count} {kind}" if count > 1 else kind[:-1]
    words.append(f"The configuration has the {many} {_listed(system.coordinates)}.")
    if system.parameters:
        words.append(
            f"{'Parameters are' if len(system.parameters) > 1 else 'The parameter is'}"
            f" {_listed(system.parameters)}."
        )
    open_inputs = [s for s, value in system.inputs.items() if value is None]
    if open_inputs:
        words.append(
            f"Inputs, given from outside as functions of time, are {_listed(open_inputs)}."
        )
    found = paragraph(*words)
    if scenario is not None:
        found += _values(
            "parameter", {p: scenario.parameters.get(p.name) for p in system.parameters}
        )
        symbols = [
            *system.coordinates,
            *getattr(system, "velocities", ()),
            *getattr(system, "momenta", ()),
            *equations.state,
        ]
        found += _values("start", {s: scenario.start.get(s.name) for s in dict.fromkeys(symbols)})
    return found


def _listed(symbols: Sequence[sympy.Symbol]) -> str:
    shown = [f"${symbol_latex(s)}$" for s in symbols]
    return (
        " and ".join(", ".join(shown[:-1]).split("\0") + shown[-1:]) if len(shown) > 1 else shown[0]
    )


def _values(what: str, values: Mapping[sympy.Symbol, float | None]) -> str:
    """A table of symbols and numbers, five pairs in a row."""
    known = [
        (symbol_latex(s), f"{float(value):.6g}") for s, value in values.items() if value is not None
    ]
    if not known:
        return ""
    rows = [known[k : k + 6] for k in range(0, len(known), 6)]
    columns = "@{}" + "l" + "r" * len(rows[0]) + "@{}"
    lines = []
    for row in rows:
        rest = " &" * (len(rows[0]) - len(row))
        lines.append(f"{what} & " + " & ".join(f"${name}$" for name, _ in row) + f"{rest} \\\\")
        lines.append("value & " + " & ".join(_number(value) for _, value in row) + f"{rest} \\\\")
    body = "\n\\midrule\n".join("\n".join(lines[k : k + 2]) for k in range(0, len(lines), 2))
    begin, end = (
        f"\\begin{{center}}\\small\n\\begin{{tabular}}{{{columns}}}\n",
        "\\end{tabular}\n\\end{center}\n",
    )
    return f"{begin}\\toprule\n{body}\n\\bottomrule\n{end}"


def _number(value: str) -> str:
    mantissa, e, exponent = value.partition("e")
    return f"${mantissa}\\cdot 10^{{{int(exponent)}}}$" if e else f"${value}$"


def _energies(writer: DerivationWriter, system: System) -> str:
    short, found = writer.short, ""
    if system.is_hamiltonian:
        found += paragraph("The system is stated by its Hamiltonian,")
        found += writer.lines(
            [("H", short(system.energy_function))], numbered=True, stated=True
        ) + _legendre(writer, system)
    elif system.kinetic is not None and not system.bundle:
        found += paragraph("The kinetic and the potential energy are")
        found += writer.lines(
            [("T", short(system.kinetic)), ("V", short(system.potential or sympy.S.Zero))],
            numbered=True,
            stated=True,
        )
        found += paragraph("and the Lagrangian is $L = T - V$.")
    else:
        found += paragraph("The Lagrangian is")
        function = (
            system.bundle_lagrangian
            if system.bundle_lagrangian is not None
            else system.energy_function
        )
        found += writer.lines([("L", short(function))], numbered=True, stated=True)
    if system.bundle:
        found += paragraph(r"in the fibre velocities $v = \sigma(q)\,\dot q$,")
        found += writer.lines(
            [(symbol_latex(v), short(value)) for v, value in system.bundle.items()], stated=True
        )
    if system.dissipation != 0:
        found += paragraph(r"Rayleigh's function, whose force is $-\partial R/\partial\dot q$, is")
        found += writer.lines([("R", short(system.dissipation))], stated=True)
    forces = [(f"Q_{{{symbol_latex(q)}}}", short(force)) for q, force in system.forces.items()]
    if forces:
        found += paragraph("Generalised forces are") + writer.lines(forces, stated=True)
    given = [
        (symbol_latex(s), short(value)) for s, value in system.inputs.items() if value is not None
    ]
    return found + (
        paragraph("with the inputs") + writer.lines(given, stated=True) if given else ""
    )


def _legendre(writer: DerivationWriter, system: System) -> str:
    """The Lagrangian of a system that was stated by its Hamiltonian, for forms that need it."""
    if writer.equations.form == "hamilton":
        return ""
    try:
        function, _ = lagrange.lagrangian_and_momenta(system, writer.algebra)
        shown = writer.lines([("L", writer.short(entries_of(function)[0]))])
    except ModelError:
        shown = TOO_LONG + "\n"
    return (
        paragraph(
            r"Its Legendre transform, with $\dot q = \partial H/\partial p$, is the Lagrangian"
        )
        + shown
    )


# -- constraints -----------------------------------------------------------------------------------


def _constraints(writer: DerivationWriter, system: System, known: Any | None) -> str:
    if not system.constraints:
        return paragraph("There are no constraints.")
    facts = {item.name: item for item in known.constraints} if known is not None else {}
    virtual = r"; virtual displacements are those with $\mathsf{A}\,\delta q = 0$"
    virtual = "" if system.image is not None else virtual
    found = paragraph(f"The constraints are the following{virtual}.")
    for constraint in system.constraints:
        if constraint is system.image:
            found += paragraph(
                f"\\texttt{{{escaped(constraint.name)}}} gives the velocities in terms of speeds:"
            )
            velocities = constraint.velocities.items()  # type: ignore[attr-defined]
            pairs = [(symbol_latex(q.dot), writer.short(value)) for q, value in velocities]
            found += writer.lines(pairs, numbered=True, stated=True)
            continue
        found += paragraph(
            f"\\texttt{{{escaped(constraint.name)}}},"
            f" {_kind(constraint, facts.get(constraint.name))}:"
        )
        sign = r"\le 0" if constraint.is_one_sided else "= 0"
        found += align(
            [("", f"{writer.show(writer.short(constraint.expression))} {sign}")], numbered=True
        )
    return found + _at_velocity_level(writer, system)


def _kind(constraint: Constraint, facts: Any | None) -> str:
    """The kind of a constraint in words."""
    words = [constraint.wording]
    if facts is not None and not constraint.is_one_sided:
        words.append("depending on time" if facts.rheonomic else "free of time")
        known = {True: "integrable", False: "not integrable", None: "integrability undecided"}
        words.append(known[facts.integrable])
        words.append("ideal" if facts.ideal else "not ideal")
        if facts.workless is False:
            words.append("with power on the motion")
    return ", ".join(words)


def _at_velocity_level(writer: DerivationWriter, system: System) -> str:
    """The holonomic and momentum constraints as equations for velocities."""
    turned = [k for k, c in enumerate(system.bilateral) if not c.is_velocity_level]
    if not turned:
        return ""
    try:
        algebra = writer.algebra
        _, momenta = lagrange.lagrangian_and_momenta(system, algebra)
        residual = entries_of(velocity_level(system, algebra, momenta).residual)
        shown = align([("", f"{writer.show(writer.short(residual[k]))} = 0") for k in turned])
    except ModelError:
        shown = TOO_LONG + "\n"
    return paragraph("At the level of velocities, those on positions or momenta are") + shown


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
    state = _listed(equations.state)
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
        f" unknowns {_listed(equations.unknowns)} has the solution"
    )
    found += (
        "\\begin{gather}\nz = a + \\mathsf{K}\\,e, \\quad a = \\mathsf{G}^{-1} f, \\quad"
        " e = b - \\mathsf{A}\\,a, \\\\\n\\mathsf{K} = \\mathsf{G}^{-1}\\mathsf{A}^T"
        "(\\mathsf{A}\\,\\mathsf{G}^{-1}\\mathsf{A}^T)^{+}\n\\end{gather}\n"
    )
    notes = [f"{escaped(note)}." for note in equations.notes]
    return found + (paragraph(*(note[0].upper() + note[1:] for note in notes)) if notes else "")


def _reactions(writer: DerivationWriter, system: System) -> str:
    if not system.bilateral or system.image is not None:
        return ""
    if _is_variational(writer.equations):
        return paragraph(
            r"The force that keeps the motion on the constraints is "
            r"$\frac{d}{dt}\frac{\partial L}{\partial\dot q} - \frac{\partial L}{\partial q} - Q$"
            r" along it; in general it does "
            r"work on virtual displacements, which the reaction of an ideal constraint does not."
        )
    names = [symbol_latex(sympy.Symbol(f"mu_{c.name}")) for c in system.bilateral]
    found = paragraph(
        r"The reaction is the generalised force $\mathsf{A}^T\mu$ on the side of the applied ones:"
    )
    try:
        rows = now(lagrange.derive_with(system, writer.algebra).rows)
    except ModelError:
        return found + TOO_LONG + "\n"
    pairs = []
    for j, q in enumerate(system.coordinates):
        terms = [
            (writer.short(rows[k, j]), sympy.Symbol(f"mu_{c.name}"))
            for k, c in enumerate(system.bilateral)
        ]
        total = sympy.Add(*(c * mu for c, mu in terms))
        if total != 0:
            pairs.append((f"R_{{{symbol_latex(q)}}}", total))
    found += writer.lines(pairs, stated=True)
    if not writer.equations.row_names:
        found += paragraph(
            f"Multipliers ({', '.join(f'${name}$' for name in names)}) do not occur in these"
            " equations. They follow from "
            r"$\mathsf{A}^T\mu = \mathsf{M}\,\ddot q - h$ along the motion, where $\mathsf{M} ="
            r" L_{\dot q\dot q}$ and "
            r"$h = Q + L_q - L_{\dot q q}\,\dot q - L_{\dot q t}$."
        )
    return found


# -- what it conserves, how it runs ----------------------------------------------------------------


def _conserved(writer: DerivationWriter, known: Any | None) -> str:
    system = writer.equations.system
    if isinstance(system, Flow):
        pairs = [
            (rf"\text{{{escaped(name)}}}", writer.short(value))
            for name, value in system.integrals.items()
        ]
        if pairs:
            return paragraph("Along every motion these keep their values:") + writer.lines(
                pairs, stated=True
            )
        return ""
    if known is None or not isinstance(system, System):
        return ""
    if _is_variational(writer.equations):
        return _conserved_by_extremals(system)
    found = ""
    momenta = [item for item in known.conserved if item.expression is not None]
    if any(item.name == "energy" for item in known.conserved):
        found += paragraph("The energy is conserved:", _reason(known.energy)) + _energy(writer)
    else:
        found += paragraph("The energy is not conserved:", _reason(known.energy))
    for item in momenta:
        assert item.expression is not None
        moving = [q for q in system.coordinates if item.expression.has(q.momentum)]
        why = (
            "is cyclic, and no constraint touches it"
            if len(moving) == 1
            else "may move together without a push or a hold"
        )
        between = ", between impacts" if system.unilateral else ""
        found += paragraph(
            f"The momentum ${writer.show(item.expression)}$ is conserved: {_listed(moving)}"
            f" {why}{between}."
        )
    if not momenta:
        found += paragraph("No momentum along a constant direction is conserved.")
    return found


def _conserved_by_extremals(system: System) -> str:
    r"""Noether's theorem for the extended Lagrangian, whose symmetries are seen in the symbols that
    it lacks.
    """
    found = paragraph(
        "Momenta that are conserved under d'Alembert's principle need not be so here. The extended"
        " Lagrangian decides:"
    )
    if system.forces or system.dissipation != 0:
        return found + paragraph("the applied forces do work, and nothing is conserved at sight.")
    stated = [system.energy_function, *(c.expression for c in system.bilateral)]
    stated += list(system.image.velocities.values()) if system.image is not None else []
    symbols = {s for expression in stated for s in expression.free_symbols}
    cyclic = [q for q in system.coordinates if q not in symbols]
    words = []
    if t not in symbols:
        words.append(
            r"it is free of time, and $\dot q\cdot\partial\Lambda/\partial\dot q - \Lambda$ is"
            r" conserved"
        )
    if cyclic:
        momenta = ", ".join(rf"$\partial\Lambda/\partial {symbol_latex(q.dot)}$" for q in cyclic)
        words.append(
            f"it is free of {_listed(cyclic)}, and {momenta} {'are' if len(cyclic) > 1 else 'is'}"
            " conserved"
        )
    return found + paragraph(("; ".join(words) or "it has no symmetry at sight") + ".")


def _wrapped(model: str) -> str:
    """A model file with long strings on several lines, which TOML allows between three quotation
    marks.
    """

    def folded(match: re.Match[str]) -> str:
        lines = [""]
        for word in match[1].split(" "):
            if len(lines[-1]) + len(word) > LISTING_WIDTH - 44:
                lines.append("")
            lines[-1] += f"{word} "
        return '"""' + "\\\n    ".join(lines)[:-1] + '"""'

    def fold(line: str) -> str:
        return re.sub(r'"([^"\\]{40,})"', folded, line) if len(line) > LISTING_WIDTH else line

    return "\n".join(fold(line) for line in model.splitlines())


def _reason(why: str) -> str:
    return f"{escaped(why)}."


def _energy(writer: DerivationWriter) -> str:
    try:
        if writer.equations.form == "hamilton":
            return paragraph("It is the Hamiltonian $H$.")
        energy = entries_of(writer.equations.blocks(writer.algebra).energy)[0]
        return writer.lines([("E", writer.short(energy))])
    except ModelError:
        return TOO_LONG + "\n"


def _running(equations: Equations, scenario: Scenario | None) -> str:
    from ..model.io.files import dumps

    system = equations.system
    if not isinstance(system, System | Flow):
        return ""
    try:
        model = _wrapped(
            dumps(scenario if scenario is not None else Scenario(system), drawing=False)
        )
    except DalembertError:
        model = ""
    is_short = model and max(map(len, model.splitlines())) <= LISTING_WIDTH
    form = "" if isinstance(system, Flow) else f'"{equations.form}"'
    code = ["import dalembert as da", "", 'scenario = da.load_model("model.toml")']
    options = ", ".join(
        [
            "scenario.system",
            *([form] if form else []),
            *(f"{name}=..." for name in equations.options),
        ]
    )
    code.append(f"equations = da.derive({options})")
    run = (
        "scenario"
        if not equations.options
        else "equations, scenario.start, ..., parameters=scenario.parameters"
    )
    code += [
        f"motion = da.simulate({run}{f', form={form}' if form and not equations.options else ''})",
        "motion.plot()",
    ]
    found = paragraph(
        "With dalembert installed, these lines derive the equations and simulate the motion:"
    )
    found += verbatim("\n".join(code))
    if is_short:
        return found + paragraph(r"The file \texttt{model.toml} is") + verbatim(model)
    saving = 'da.save_model(scenario, "model.toml")'
    return found + paragraph(r"The file \texttt{model.toml} is written by") + verbatim(saving)
