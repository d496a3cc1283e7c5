r"""The steps between the principle of a form and its equations, computed and written for one
system.

Each form shows what its own road passes through: Lagrange's the momenta, the mass matrix and the
rows; Maggi's the frame of the independent velocities; Voronets' the Lagrangian on the constraints
and the symbols A; Hamel's the quasi-velocities; and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy

from ..algebra.lazy import entries_of, now
from ..algebra.protocol import Algebra, Block, Scalar
from ..errors import ModelError
from ..formulations.constraint_equations import velocity_level
from ..formulations.forms import hamilton, lagrange
from .document_writer import TOO_LONG, DerivationWriter
from .quasi_velocity_steps import (
    canonical_hamiltonian_step,
    canonical_step,
    definitions_step,
    hamel_symbols_step,
    manifold_step,
    orthonormal_step,
    quasi_lagrangian_step,
)
from .reduced_steps import (
    appell_step,
    connection_step,
    curvature_step,
    dependent_momenta_step,
    drift_step,
    eliminated_step,
    frame_step,
    kane_forces_step,
    restricted_step,
    solved_step,
    symbols_step,
)
from .typeset import symbol_latex

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


# -- speeds ----------------------------------------------------------------------------------------


def _image(writer: DerivationWriter) -> str:
    system = writer.equations.system
    if system.image is None:
        return solved_step(writer) + frame_step(writer).replace(r"\mathsf{F}", r"\mathsf{E}")
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


_SOLVE: tuple[str, Step] = ("", solved_step)
_FRAME: tuple[str, Step] = (
    "so that the virtual displacements are spanned by the columns of",
    frame_step,
)
_RESTRICT: tuple[str, Step] = ("The Lagrangian on the constraints is", restricted_step)
_BOUND: tuple[str, Step] = (
    "The momenta of the dependent velocities, on the constraints, are",
    dependent_momenta_step,
)
_SYMBOLS: tuple[str, Step] = (
    "The symbols that tell the constraints from integrable ones are",
    symbols_step,
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
    drift_step,
)
_QUASI: tuple[str, Step] = ("", definitions_step)
_STAR: tuple[str, Step] = ("In these symbols the Lagrangian is", quasi_lagrangian_step)

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
        ("The coefficients of the connection are the entries of", connection_step),
        _RESTRICT,
        _BOUND,
        ("Its curvature has the components", curvature_step),
    ),
    "hamel": (
        _SOLVE,
        _QUASI,
        _STAR,
        (r"The symbols $W_s^r$, with $\eta_a = 0$, are", hamel_symbols_step),
    ),
    "hamel-orthonormal": (
        _SOLVE,
        ("The vectors of the orthonormal frame are the columns of", orthonormal_step),
    ),
    "gibbs-appell": (_SOLVE, _FRAME, _DRIFT, ("The function of Gibbs and Appell is", appell_step)),
    "kane": (
        _SOLVE,
        ("The partial velocities are the columns of", frame_step),
        ("Active and inertia forces are", kane_forces_step),
    ),
    "poincare-chetaev": (
        ("The velocities in the frame are", _velocities),
        ("In its speeds the Lagrangian is", _on_speeds),
        _ROWS,
    ),
    "elimination": (("The constraints give", eliminated_step), _SOLVE),
    "canonical-voronets": (
        _SOLVE,
        _RESTRICT,
        ("Its momenta are", canonical_step),
        ("and its Hamiltonian is", canonical_hamiltonian_step),
        _SYMBOLS,
    ),
    "canonical-quasi": (
        _SOLVE,
        _QUASI,
        _STAR,
        ("The momenta of the free quasi-velocities, on the constraints, are", canonical_step),
    ),
    "bates-sniatycki": (
        _SOLVE,
        ("The chart of $M$ is", canonical_step),
        ("On $M$, momenta and energy are", manifold_step),
    ),
    "implicit-lagrangian": (("The allowed velocities are", _image),),
    "implicit-hamiltonian": (("The allowed velocities are", _image),),
    "pontryagin": (("The allowed velocities are, at the extremal speeds,", _velocities),),
}  # fmt: skip
