r"""The steps between the principle of a form and its equations, computed and written for one
system.

Each form shows what its own road passes through: Lagrange's the momenta, the mass matrix and the
rows; Maggi's the frame of the independent velocities; Voronets' the Lagrangian on the constraints
and the symbols A; Hamel's the quasi-velocities; and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.lazy import entries_of, now
from ..algebra.protocol import Algebra, Block, Scalar
from ..errors import ModelError
from ..formulations.constraint_equations import velocity_level
from ..formulations.forms import (
    constrained_lagrangian,
    gibbs_appell,
    hamel,
    hamilton,
    lagrange,
    voronets,
)
from ..formulations.forms.bates_sniatycki import ConstraintManifold
from ..formulations.forms.canonical_voronets import canonical_symbols
from ..formulations.forms.hamel_orthonormal import orthonormal_frame
from ..formulations.independent_velocities import Reduction, VelocityFrame
from ..model.legendre import conjugate
from .document_layout import paragraph
from .document_writer import TOO_LONG, DerivationWriter
from .typeset import symbol_latex

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = ["derivation_steps"]

Step = Callable[[DerivationWriter], str]


def derivation_steps(writer: DerivationWriter) -> str:
    """The steps of the form, each a sentence and what it shows; a step that is too long says so."""
    found = []
    for say, step in _STEPS.get(writer.equations.form, ()):
        try:
            shown = step(writer)
        except ModelError:
            shown = TOO_LONG + "\n\n"
        if shown:
            found.append(say + "\n" + shown)
    return "\n".join(found)


# -- all velocities --------------------------------------------------------------------------------


def _lagrangian(writer: DerivationWriter, algebra: Algebra) -> tuple[Scalar, Block]:
    return lagrange.lagrangian_and_momenta(writer.equations.system, algebra)


def _momenta(writer: DerivationWriter) -> str:
    system = writer.equations.system
    _, momenta = _lagrangian(writer, writer.algebra)
    return writer.lines(
        [(symbol_latex(p), e) for p, e in zip(system.momenta, writer.entries(momenta), strict=True)]
    )


def _mass(writer: DerivationWriter) -> str:
    full = lagrange.derive_with(writer.equations.system, writer.algebra)
    return writer.table(r"\mathsf{M}", full.metric, symmetric=True)


def _push(writer: DerivationWriter) -> str:
    system = writer.equations.system
    full = lagrange.derive_with(system, writer.algebra)
    return writer.column("h", system.coordinates, full.force)


def _rows(writer: DerivationWriter) -> str:
    system = writer.equations.system
    if not system.bilateral:
        return ""
    full = lagrange.derive_with(system, writer.algebra)
    rows, right = now(full.rows), entries_of(full.right)
    symbols = [q.ddot for q in system.coordinates]
    return writer.sums(
        ([(rows[k, j], z) for j, z in enumerate(symbols)], right[k])
        for k in range(len(system.bilateral))
    )


def _extended(writer: DerivationWriter) -> str:
    system, algebra = writer.equations.system, writer.algebra
    chi = [s for s in writer.equations.state if s.name.startswith("chi_")]
    function, momenta = _lagrangian(writer, algebra)
    level = velocity_level(system, algebra, momenta)
    terms = entries_of(level.residual)
    extra = sympy.Add(*(c * writer.short(f) for c, f in zip(chi, terms, strict=True)))
    return writer.lines([(r"\Lambda", writer.short(entries_of(function)[0]) + extra)])


def _extended_mass(writer: DerivationWriter) -> str:
    blocks = writer.equations.blocks(writer.algebra)
    return writer.table(r"\mathsf{K}", blocks.metric, symmetric=True)


def _hamiltonian(writer: DerivationWriter) -> str:
    system, algebra = writer.equations.system, writer.algebra
    function, _ = hamilton.hamiltonian_and_velocities(system, algebra)
    if not system.is_hamiltonian:
        return writer.lines([("H", writer.short(entries_of(function)[0]))])
    return ""


def _in_momenta(writer: DerivationWriter) -> str:
    system, algebra = writer.equations.system, writer.algebra
    if not system.bilateral:
        return ""
    _, velocities = hamilton.hamiltonian_and_velocities(system, algebra)
    level = velocity_level(system, algebra)
    phi = algebra.substitute(level.residual, algebra.vector(system.velocities), velocities)
    names = [rf"\phi_{{\mathrm{{{c.name.replace('_', chr(92) + '_')}}}}}" for c in system.bilateral]
    return writer.lines(list(zip(names, writer.entries(phi), strict=True)))


# -- independent velocities ------------------------------------------------------------------------


def reduction_of(equations: Equations, algebra: Algebra) -> Reduction:
    """The reduction that the equations were derived on."""
    return Reduction(equations.system, algebra, equations.choice)


def _on(writer: DerivationWriter) -> Reduction:
    return reduction_of(writer.equations, writer.algebra)


def _independent(reduction: Reduction) -> list[Any]:
    return [reduction.system.coordinates[k] for k in reduction.split.independent]


def _names(symbols: Iterable[Any]) -> str:
    return ", ".join(f"${symbol_latex(symbol)}$" for symbol in symbols)


def _dependent(reduction: Reduction) -> list[Any]:
    return [reduction.system.coordinates[k] for k in reduction.split.dependent]


def _solved(writer: DerivationWriter) -> str:
    reduction = _on(writer)
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


def _frame(writer: DerivationWriter) -> str:
    reduction = _on(writer)
    return writer.table(r"\mathsf{F}", reduction.frame) if reduction.choice.rows else ""


def _drift(writer: DerivationWriter) -> str:
    reduction = _on(writer)
    pairs = [
        (f"d_{{{symbol_latex(q)}}}", e)
        for q, e in zip(reduction.system.coordinates, writer.entries(reduction.drift), strict=True)
        if e != 0
    ]
    if not pairs:
        return ""
    rest = paragraph("The others vanish.") if len(pairs) < len(reduction.system.coordinates) else ""
    return writer.lines(pairs) + rest


def _restricted(writer: DerivationWriter) -> str:
    reduction = _on(writer)
    return writer.lines(
        [("L_c", writer.short(entries_of(reduction.here(reduction.lagrangian))[0]))]
    )


def _dependent_momenta(writer: DerivationWriter) -> str:
    reduction = _on(writer)
    algebra = reduction.algebra
    momenta = algebra.part(
        reduction.here(reduction.momenta_at_velocity), reduction.split.dependent, [0]
    )
    names = [
        rf"\frac{{\partial L}}{{\partial {symbol_latex(q.dot)}}}" for q in _dependent(reduction)
    ]
    return writer.lines(list(zip(names, writer.entries(momenta), strict=True)))


def _symbols(writer: DerivationWriter) -> str:
    reduction = _on(writer)
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


def _connection(writer: DerivationWriter) -> str:
    reduction = _on(writer)
    return writer.table("A", constrained_lagrangian.connection(reduction))


def _curvature(writer: DerivationWriter) -> str:
    reduction = _on(writer)
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


def _appell(writer: DerivationWriter) -> str:
    reduction = _on(writer)
    whole = entries_of(gibbs_appell.appell_function(reduction))[0]
    rest = whole.xreplace(dict.fromkeys(entries_of(reduction.z), sympy.S.Zero))
    moving = writer.short(sympy.expand(whole) - sympy.expand(rest))
    return writer.lines([("S", moving)]) + paragraph("up to terms without accelerations.")


def _forces_of_kane(writer: DerivationWriter) -> str:
    reduction = _on(writer)
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


def _eliminated(writer: DerivationWriter) -> str:
    reduction = _on(writer)
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


# -- quasi-velocities, momenta on the constraints --------------------------------------------------


def _quasi(writer: DerivationWriter) -> Reduction | None:
    """The quasi-velocities of the form; None where the velocities were given in terms of them."""
    return None if writer.equations.options.get("velocities") is not None else _on(writer)


def _definitions(writer: DerivationWriter) -> str:
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


def _in_quasi_velocities(writer: DerivationWriter) -> str:
    quasi = _quasi(writer)
    if quasi is None:
        return ""
    known = hamel.is_extendable(quasi)
    found = hamel.extended_lagrangian(quasi)[0] if known else quasi.here(quasi.lagrangian)
    return writer.lines([("L^*", writer.short(entries_of(found)[0]))])


def _hamel_symbols(writer: DerivationWriter) -> str:
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


def _orthonormal(writer: DerivationWriter) -> str:
    reduction = _on(writer)
    return writer.table(r"\mathsf{e}", reduction.frame @ orthonormal_frame(reduction))


def _canonical(writer: DerivationWriter) -> str:
    reduction = _on(writer)
    symbols = canonical_symbols(reduction.system, reduction.choice).state
    momenta = reduction.map.speed_gradient(reduction.here(reduction.lagrangian))
    return writer.lines(
        [(symbol_latex(y), e) for y, e in zip(symbols, writer.entries(momenta), strict=True)]
    )


def _canonical_hamiltonian(writer: DerivationWriter) -> str:
    reduction = _on(writer)
    if reduction.is_implicit:
        return ""
    algebra = reduction.algebra
    y = algebra.vector(canonical_symbols(reduction.system, reduction.choice).state)
    function, _ = conjugate(algebra, reduction.here(reduction.lagrangian), reduction.independent, y)
    return writer.lines([("H", writer.short(entries_of(function)[0]))])


def _manifold(writer: DerivationWriter) -> str:
    manifold = ConstraintManifold(_on(writer))
    momenta = writer.entries(manifold.momenta)
    pairs = [
        (symbol_latex(p), e) for p, e in zip(writer.equations.system.momenta, momenta, strict=True)
    ]
    return writer.lines([*pairs, ("H", writer.short(entries_of(manifold.hamiltonian)[0]))])


# -- speeds ----------------------------------------------------------------------------------------


def _image(writer: DerivationWriter) -> str:
    system = writer.equations.system
    if system.image is None:
        return _solved(writer) + _frame(writer).replace(r"\mathsf{F}", r"\mathsf{E}")
    return writer.lines(
        [
            (symbol_latex(q.dot), writer.short(system.image.velocities[q]))
            for q in system.coordinates
        ]
    )


def _velocities(writer: DerivationWriter) -> str:
    """The velocities in the speeds of a frame."""
    blocks = writer.equations.blocks(writer.algebra)
    entries = writer.entries(blocks.velocities)
    return writer.lines(
        [
            (symbol_latex(q.dot), e)
            for q, e in zip(writer.equations.system.coordinates, entries, strict=True)
        ]
    )


def _on_speeds(writer: DerivationWriter) -> str:
    """The Lagrangian in the speeds of a frame."""
    algebra = writer.algebra
    blocks = writer.equations.blocks(algebra)
    function, _ = _lagrangian(writer, algebra)
    found = algebra.substitute(
        function, algebra.vector(writer.equations.system.velocities), blocks.velocities
    )
    return writer.lines([("L^*", writer.short(entries_of(found)[0]))])


_SOLVE: tuple[str, Step] = ("", _solved)
_FRAME: tuple[str, Step] = (
    "so that the virtual displacements are spanned by the columns of",
    _frame,
)
_RESTRICT: tuple[str, Step] = ("The Lagrangian on the constraints is", _restricted)
_BOUND: tuple[str, Step] = (
    "The momenta of the dependent velocities, on the constraints, are",
    _dependent_momenta,
)
_SYMBOLS: tuple[str, Step] = (
    "The symbols that tell the constraints from integrable ones are",
    _symbols,
)
_MASS: tuple[str, Step] = ("The mass matrix is", _mass)
_PUSH: tuple[str, Step] = (
    "The forces $h$, with inertia terms quadratic in the velocities among them, are",
    _push,
)
_MOMENTA: tuple[str, Step] = (r"The momenta $p = \partial L/\partial\dot q$ are", _momenta)
_ROWS: tuple[str, Step] = (
    r"Differentiated once more, the constraints are the rows $\mathsf{A}\,\ddot q = b$,",
    _rows,
)
_DRIFT: tuple[str, Step] = (
    r"The accelerations are $\ddot q = \mathsf{F}\,\dot v_I + d$ with",
    _drift,
)
_QUASI: tuple[str, Step] = ("", _definitions)
_STAR: tuple[str, Step] = ("In these symbols the Lagrangian is", _in_quasi_velocities)

_STEPS: dict[str, Sequence[tuple[str, Step]]] = {
    "lagrange": (_MOMENTA, _MASS, _PUSH, _ROWS),
    "vakonomic": (
        (r"The extended Lagrangian $\Lambda$ is", _extended),
        (
            r"Its matrix of second derivatives by the velocities,"
            r" $\mathsf{K} = \Lambda_{\dot q\dot q}$, is",
            _extended_mass,
        ),
        _ROWS,
    ),
    "hamilton": (
        _MOMENTA,
        ("Solved for the velocities and put into $H$, they give", _hamiltonian),
        (r"In momenta, the constraints at velocity level are the vanishing of", _in_momenta),
    ),
    "maggi": (_SOLVE, _FRAME, _DRIFT, _MASS, _PUSH),
    "voronets": (_SOLVE, _FRAME, _RESTRICT, _BOUND, _SYMBOLS),
    "chaplygin": (_SOLVE, _FRAME, _RESTRICT, _BOUND, _SYMBOLS),
    "constrained-lagrangian": (
        _SOLVE,
        ("The coefficients of the connection are the entries of", _connection),
        _RESTRICT,
        _BOUND,
        ("Its curvature has the components", _curvature),
    ),
    "hamel": (
        _SOLVE,
        _QUASI,
        _STAR,
        (r"The symbols $W_s^r$, with $\eta_a = 0$, are", _hamel_symbols),
    ),
    "hamel-orthonormal": (
        _SOLVE,
        ("The vectors of the orthonormal frame are the columns of", _orthonormal),
    ),
    "gibbs-appell": (_SOLVE, _FRAME, _DRIFT, ("The function of Gibbs and Appell is", _appell)),
    "kane": (
        _SOLVE,
        ("The partial velocities are the columns of", _frame),
        ("Active and inertia forces are", _forces_of_kane),
    ),
    "poincare-chetaev": (
        ("The velocities in the frame are", _velocities),
        ("In its speeds the Lagrangian is", _on_speeds),
        _ROWS,
    ),
    "elimination": (("The constraints give", _eliminated), _SOLVE),
    "canonical-voronets": (
        _SOLVE,
        _RESTRICT,
        ("Its momenta are", _canonical),
        ("and its Hamiltonian is", _canonical_hamiltonian),
        _SYMBOLS,
    ),
    "canonical-quasi": (
        _SOLVE,
        _QUASI,
        _STAR,
        ("The momenta of the free quasi-velocities, on the constraints, are", _canonical),
    ),
    "bates-sniatycki": (
        _SOLVE,
        ("The chart of $M$ is", _canonical),
        ("On $M$, momenta and energy are", _manifold),
    ),
    "implicit-lagrangian": (("The allowed velocities are", _image),),
    "implicit-hamiltonian": (("The allowed velocities are", _image),),
    "pontryagin": (("The allowed velocities are, at the extremal speeds,", _velocities),),
}  # fmt: skip
