"""Reactions and conserved quantities in the document of a derivation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.lazy import entries_of, now
from ..errors import ModelError
from ..formulations.forms import lagrange
from ..formulations.registry import is_variational
from ..model.flow_system import Flow
from ..model.symbols import t
from ..model.system import System
from .document_given import listed_symbols
from .document_layout import escaped, paragraph
from .document_writer import TOO_LONG, DerivationWriter
from .typeset import symbol_latex

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = ["conserved_by_extremals", "conserved_section", "reactions_section"]


def _is_variational(equations: Equations) -> bool:
    """Whether the form follows another principle than d'Alembert's."""
    return is_variational(equations.form) and not equations.options.get("eliminate_costate")


def reactions_section(writer: DerivationWriter, system: System) -> str:
    """The reactions, and where the multipliers come from."""
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


def conserved_section(writer: DerivationWriter, known: Any | None) -> str:
    """The energy and the momenta that keep their values."""
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
        return conserved_by_extremals(system)
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
            f"The momentum ${writer.show(item.expression)}$ is conserved: {listed_symbols(moving)}"
            f" {why}{between}."
        )
    if not momenta:
        found += paragraph("No momentum along a constant direction is conserved.")
    return found


def conserved_by_extremals(system: System) -> str:
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
            f"it is free of {listed_symbols(cyclic)}, and {momenta}"
            f" {'are' if len(cyclic) > 1 else 'is'} conserved"
        )
    return found + paragraph(("; ".join(words) or "it has no symmetry at sight") + ".")


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
