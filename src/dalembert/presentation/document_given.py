"""What a derivation starts from: the system, its energies, forces and constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.lazy import entries_of
from ..errors import ModelError
from ..formulations.constraint_equations import velocity_level
from ..formulations.forms import lagrange
from ..model.constraints import Constraint
from ..model.flow_system import Flow
from ..model.scenario import Scenario
from ..model.system import System
from .document_layout import align, escaped, paragraph
from .document_writer import TOO_LONG, DerivationWriter
from .typeset import symbol_latex

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = ["constraints_section", "energies_section", "listed_symbols", "system_section"]


def system_section(equations: Equations, scenario: Scenario | None) -> str:
    """Where the system comes from, its symbols and their values."""
    system = equations.system
    words = []
    if scenario is not None and scenario.summary:
        words.append(f"{escaped(scenario.summary.rstrip('.'))}.")
    if scenario is not None and scenario.source:
        words.append(f"Source: {escaped(scenario.source.rstrip('.'))}.")
    count = len(system.coordinates)
    kind = "variables" if isinstance(system, Flow) else "coordinates"
    many = f"{count} {kind}" if count > 1 else kind[:-1]
    words.append(f"The configuration has the {many} {listed_symbols(system.coordinates)}.")
    if system.parameters:
        words.append(
            f"{'Parameters are' if len(system.parameters) > 1 else 'The parameter is'}"
            f" {listed_symbols(system.parameters)}."
        )
    open_inputs = [s for s, value in system.inputs.items() if value is None]
    if open_inputs:
        words.append(
            f"Inputs, given from outside as functions of time, are {listed_symbols(open_inputs)}."
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


def listed_symbols(symbols: Sequence[sympy.Symbol]) -> str:
    """Symbols in words: a, b and c."""
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


def energies_section(writer: DerivationWriter, system: System) -> str:
    """The energies, forces and inputs."""
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


def constraints_section(writer: DerivationWriter, system: System, known: Any | None) -> str:
    """The constraints with their kinds."""
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
