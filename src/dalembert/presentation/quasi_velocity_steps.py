"""Steps of a derivation in quasi-velocities, and in momenta on the constraints."""

from __future__ import annotations

from ..algebra.lazy import entries_of, now
from ..formulations.forms import hamel
from ..formulations.forms.bates_sniatycki import ConstraintManifold
from ..formulations.forms.canonical_voronets import canonical_symbols
from ..formulations.forms.hamel_orthonormal import orthonormal_frame
from ..formulations.independent_velocities import Reduction
from ..model.legendre import conjugate
from .document_layout import paragraph
from .document_writer import DerivationWriter
from .reduced_steps import reduction_on
from .typeset import symbol_latex

__all__ = [
    "canonical_hamiltonian_step",
    "canonical_step",
    "definitions_step",
    "hamel_symbols_step",
    "manifold_step",
    "orthonormal_step",
    "quasi_lagrangian_step",
]


def _quasi(writer: DerivationWriter) -> Reduction | None:
    """The quasi-velocities of the form; None where the velocities were given in terms of them."""
    return None if writer.equations.options.get("velocities") is not None else reduction_on(writer)


def definitions_step(writer: DerivationWriter) -> str:
    """The definitions of the quasi-velocities."""
    quasi = _quasi(writer)
    if quasi is None:
        given = {
            str(getattr(q, "name", q)): value
            for q, value in writer.equations.options["velocities"].items()
        }
        pairs = [
            (symbol_latex(q.dot), writer.short(given[q.name]))
            for q in writer.equations.system.coordinates
        ]
        return paragraph(
            "The velocities are given in terms of the quasi-velocities:"
        ) + writer.lines(pairs)
    names = [symbol_latex(s) for s in entries_of(quasi.independent)]
    bound = [writer.show(writer.short(s)) for s in hamel.bound_symbols(quasi)]
    pairs = list(zip([*names, *bound], writer.entries(quasi.definition), strict=True))
    new = [pair for pair in pairs if writer.show(pair[1]) != pair[0]]
    kept = [name for name, value in pairs if writer.show(value) == name]
    say = "The quasi-velocities are" if not kept else "The free quasi-velocities are"
    if kept and len(kept) == quasi.freedom:
        say = "The free quasi-velocities are the independent velocities; the bound ones are"
    elif kept:
        say = f"The quasi-velocities are ${', '.join(kept)}$ and"
    return paragraph(say) + writer.lines(new)


def quasi_lagrangian_step(writer: DerivationWriter) -> str:
    """The Lagrangian in quasi-velocities."""
    quasi = _quasi(writer)
    if quasi is None:
        return ""
    known = hamel.is_extendable(quasi)
    found = hamel.extended_lagrangian(quasi)[0] if known else quasi.here(quasi.lagrangian)
    return writer.lines([("L^*", writer.short(entries_of(found)[0]))])


def hamel_symbols_step(writer: DerivationWriter) -> str:
    """The symbols W of Hamel."""
    quasi = _quasi(writer)
    if quasi is None or writer.equations.options.get("kind", "first") != "first":
        return ""
    table = now(hamel.transitivity(quasi))
    names = [
        writer.show(writer.short(s))
        for s in (*entries_of(quasi.independent), *hamel.bound_symbols(quasi))
    ]
    pairs = [
        (f"W^{{{names[r]}}}_{{{names[s]}}}", writer.short(table[r, s]))
        for r in range(table.shape[0])
        for s in range(table.shape[1])
    ]
    kept = [pair for pair in pairs if pair[1] != 0]
    if kept:
        return writer.lines(kept) + paragraph("The others vanish.")
    return paragraph("All of them vanish.")


def orthonormal_step(writer: DerivationWriter) -> str:
    """The orthonormal frame."""
    reduction = reduction_on(writer)
    return writer.table(r"\mathsf{e}", reduction.frame @ orthonormal_frame(reduction))


def canonical_step(writer: DerivationWriter) -> str:
    """The momenta of the speeds."""
    reduction = reduction_on(writer)
    symbols = canonical_symbols(reduction.system, reduction.choice).state
    momenta = reduction.map.speed_gradient(reduction.here(reduction.lagrangian))
    return writer.lines(
        [(symbol_latex(y), e) for y, e in zip(symbols, writer.entries(momenta), strict=True)]
    )


def canonical_hamiltonian_step(writer: DerivationWriter) -> str:
    """The Hamiltonian on the constraints."""
    reduction = reduction_on(writer)
    if reduction.is_implicit:
        return ""
    algebra = reduction.algebra
    y = algebra.vector(canonical_symbols(reduction.system, reduction.choice).state)
    function, _ = conjugate(algebra, reduction.here(reduction.lagrangian), reduction.independent, y)
    return writer.lines([("H", writer.short(entries_of(function)[0]))])


def manifold_step(writer: DerivationWriter) -> str:
    """Momenta and energy on the constraint manifold."""
    manifold = ConstraintManifold(reduction_on(writer))
    momenta = writer.entries(manifold.momenta)
    pairs = [
        (symbol_latex(p), e) for p, e in zip(writer.equations.system.momenta, momenta, strict=True)
    ]
    return writer.lines([*pairs, ("H", writer.short(entries_of(manifold.hamiltonian)[0]))])
