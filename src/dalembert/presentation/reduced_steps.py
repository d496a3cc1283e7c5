"""Steps of a derivation on independent velocities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.lazy import entries_of, now
from ..algebra.protocol import Algebra
from ..formulations.forms import constrained_lagrangian, gibbs_appell, voronets
from ..formulations.independent_velocities import Reduction, VelocityFrame
from .document_layout import paragraph
from .document_writer import DerivationWriter
from .typeset import symbol_latex

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = [
    "appell_step",
    "connection_step",
    "curvature_step",
    "dependent_momenta_step",
    "drift_step",
    "eliminated_step",
    "frame_step",
    "kane_forces_step",
    "reduction_on",
    "restricted_step",
    "solved_step",
    "symbols_step",
]


def reduction_of(equations: Equations, algebra: Algebra) -> Reduction:
    """The reduction that the equations were derived on."""
    return Reduction(equations.system, algebra, equations.choice)


def reduction_on(writer: DerivationWriter) -> Reduction:
    """The reduction of a document's equations."""
    return reduction_of(writer.equations, writer.algebra)


def _independent(reduction: Reduction) -> list[Any]:
    return [reduction.system.coordinates[k] for k in reduction.split.independent]


def _names(symbols: Iterable[Any]) -> str:
    return ", ".join(f"${symbol_latex(symbol)}$" for symbol in symbols)


def _dependent(reduction: Reduction) -> list[Any]:
    return [reduction.system.coordinates[k] for k in reduction.split.dependent]


def solved_step(writer: DerivationWriter) -> str:
    """The velocities that follow from the independent ones."""
    reduction = reduction_on(writer)
    speeds = entries_of(reduction.independent)
    if reduction.is_implicit:
        return paragraph(
            f"The speeds are {_names(speeds)}. They determine the other velocities on the"
            " constraints, by the implicit function theorem; all velocities stay in the equations."
        )
    if isinstance(reduction.choice, VelocityFrame):
        table = zip(reduction.system.velocities, writer.entries(reduction.velocities), strict=True)
        lines = [(symbol_latex(v), e) for v, e in table if e != v]
        return paragraph(f"The speeds are {_names(speeds)}; the velocities are") + writer.lines(
            lines
        )
    chosen = _names(speeds)
    pairs = [
        (symbol_latex(q.dot), e)
        for q, e in zip(_dependent(reduction), writer.entries(reduction.solved), strict=True)
    ]
    if not pairs:
        return paragraph(f"There is nothing to solve: all velocities are independent, {chosen}.")
    return paragraph(f"The independent velocities are {chosen}; the others follow,") + writer.lines(
        pairs
    )


def frame_step(writer: DerivationWriter) -> str:
    """The frame of the virtual displacements."""
    reduction = reduction_on(writer)
    return writer.table(r"\mathsf{F}", reduction.frame) if reduction.choice.rows else ""


def drift_step(writer: DerivationWriter) -> str:
    """The accelerations without independent ones."""
    reduction = reduction_on(writer)
    pairs = [
        (f"d_{{{symbol_latex(q)}}}", e)
        for q, e in zip(reduction.system.coordinates, writer.entries(reduction.drift), strict=True)
        if e != 0
    ]
    if not pairs:
        return ""
    rest = paragraph("The others vanish.") if len(pairs) < len(reduction.system.coordinates) else ""
    return writer.lines(pairs) + rest


def restricted_step(writer: DerivationWriter) -> str:
    """The Lagrangian on the constraints."""
    reduction = reduction_on(writer)
    return writer.lines(
        [("L_c", writer.short(entries_of(reduction.here(reduction.lagrangian))[0]))]
    )


def dependent_momenta_step(writer: DerivationWriter) -> str:
    """The momenta of the dependent velocities."""
    reduction = reduction_on(writer)
    algebra = reduction.algebra
    momenta = algebra.part(
        reduction.here(reduction.momenta_at_velocity), reduction.split.dependent, [0]
    )
    names = [
        rf"\frac{{\partial L}}{{\partial {symbol_latex(q.dot)}}}" for q in _dependent(reduction)
    ]
    return writer.lines(list(zip(names, writer.entries(momenta), strict=True)))


def symbols_step(writer: DerivationWriter) -> str:
    """The symbols A of Voronets."""
    reduction = reduction_on(writer)
    if not reduction.split.dependent:
        return ""
    table = now(voronets.transitivity(reduction))
    pairs = [
        (f"A^{{{symbol_latex(a)}}}_{{{symbol_latex(s)}}}", writer.short(table[i, j]))
        for j, a in enumerate(_dependent(reduction))
        for i, s in enumerate(_independent(reduction))
    ]
    kept = [pair for pair in pairs if pair[1] != 0]
    if not kept:
        return paragraph("All $A_s^a$ vanish: the constraints are integrable.")
    rest = paragraph("The others vanish.") if len(kept) < len(pairs) else ""
    return writer.lines(kept) + rest


def connection_step(writer: DerivationWriter) -> str:
    """The connection of the constraints."""
    reduction = reduction_on(writer)
    return writer.table("A", constrained_lagrangian.connection(reduction))


def curvature_step(writer: DerivationWriter) -> str:
    """The curvature of the connection."""
    reduction = reduction_on(writer)
    bases = _independent(reduction)
    pairs = []
    for b, bend in zip(
        _dependent(reduction), constrained_lagrangian.curvature(reduction), strict=True
    ):
        table = now(bend)
        for i, first in enumerate(bases):
            for j in range(i + 1, len(bases)):
                entry = writer.short(table[i, j])
                if entry != 0:
                    lower = f"{symbol_latex(first)}{symbol_latex(bases[j])}"
                    pairs.append((f"B^{{{symbol_latex(b)}}}_{{{lower}}}", entry))
    if not pairs:
        return paragraph("The curvature vanishes: the constraints are integrable.")
    return writer.lines(pairs) + paragraph(
        "$B$ is skew in its lower indices; components that are not listed vanish."
    )


def appell_step(writer: DerivationWriter) -> str:
    """The function of Gibbs and Appell."""
    reduction = reduction_on(writer)
    whole = entries_of(gibbs_appell.appell_function(reduction))[0]
    rest = whole.xreplace(dict.fromkeys(entries_of(reduction.z), sympy.S.Zero))
    moving = writer.short(sympy.expand(whole) - sympy.expand(rest))
    return writer.lines([("S", moving)]) + paragraph("up to terms without accelerations.")


def kane_forces_step(writer: DerivationWriter) -> str:
    """Kane's active and inertia forces."""
    reduction = reduction_on(writer)
    algebra, system, here = reduction.algebra, reduction.system, reduction.here
    kinetic, potential = algebra.scalar(system.kinetic), algebra.scalar(system.potential)
    momenta = here(algebra.gradient(kinetic, reduction.v))
    inertia = reduction.frame.T @ (
        here(algebra.gradient(kinetic, reduction.q)) - reduction.rate(momenta)
    )
    active = reduction.applied - reduction.frame.T @ here(algebra.gradient(potential, reduction.q))
    places = {v: q for q, v in zip(system.coordinates, system.velocities, strict=True)}
    symbols = [places.get(speed, speed) for speed in entries_of(reduction.independent)]
    return writer.column("F", symbols, active) + writer.column("F^*", symbols, inertia)


def eliminated_step(writer: DerivationWriter) -> str:
    """The coordinates that holonomic constraints give."""
    reduction = reduction_on(writer)
    algebra, split = reduction.algebra, reduction.split
    gone = algebra.part(reduction.q, split.dependent, [0])
    constraints = algebra.part(reduction.level.holonomic, split.rows, [0])
    zero = algebra.zeros(len(split.dependent))
    derivative = algebra.substitute(algebra.jacobian(constraints, gone), gone, zero)
    solved = algebra.solve_square(derivative, -algebra.substitute(constraints, gone, zero))
    return writer.lines(
        [
            (symbol_latex(q), e)
            for q, e in zip(_dependent(reduction), writer.entries(solved), strict=True)
        ]
    )
