"""What notebooks show of a System, of Equations and of a Motion.

Displays are bounded: long expressions are said to be long, and nothing is derived that could take a
while. A display never raises; at worst it is the plain text.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import sympy

from ...model.flow_system import Flow
from ...model.system import System
from ...model.text_width import wrapped_formula
from .report_formulas import equation_lines, expression_latex, formula, is_longer_than, symbol_latex

if TYPE_CHECKING:
    from ...formulations.equations import Equations
    from ...integrate.motion import Motion

__all__ = ["equations_bundle", "equations_text", "motion_bundle", "statements", "system_bundle"]

#: Nodes of expressions, symbols and lines up to which they are shown.
MOST_NODES, MOST_SYMBOLS, MOST_CONSTRAINTS = 600, 40, 20
#: Nodes and coordinates up to which equations are written out for a display.
WRITTEN_NODES, WRITTEN_COORDINATES = 250, 6
#: Numbers of a motion up to which it is plotted and its energy read.
MOST_NUMBERS = 2_000_000

_STYLE = (
    "font-family:inherit;border-left:3px solid #0072B2;padding:0.3em 0 0.3em 0.9em;margin:0.3em 0"
)
_CELL = "text-align:left;padding:0.1em 0.8em 0.1em 0;vertical-align:top"


Shown = TypeVar("Shown", bound=object)


def _never_raising(
    display: Callable[[Shown], dict[str, str]],
) -> Callable[[Shown], dict[str, str]]:
    """A display that is the plain text where anything goes wrong with it."""

    @wraps(display)
    def safe(value: Shown) -> dict[str, str]:
        try:
            return {"text/plain": _plain(value), **display(value)}
        except Exception:  # a display must not stop anybody's work
            return {"text/plain": _plain(value)}

    return safe


def _plain(value: Any) -> str:
    try:
        system = getattr(value, "system", value)
        if not hasattr(value, "segments") and is_longer_than(system.expressions(), 20 * MOST_NODES):
            return f"<{type(value).__name__} {system.name}: {len(system.coordinates)} coordinates>"
        text = repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return text if len(text) <= 4000 else f"{text[:4000]}..."


def statements(system: System | Flow) -> list[tuple[str, str]]:
    """What a system states, as pairs of a word and LaTeX, which is empty where it is too long."""
    if isinstance(system, Flow):
        rates = list(system.rates.items())[:MOST_CONSTRAINTS]
        shown = [_shown(symbol_latex(q.dot), rate)[0] for q, rate in rates]
        found = [("rates" if k == 0 else "", latex) for k, latex in enumerate(shown)]
        return found + _listed_constraints(system)
    rows: list[tuple[str, str]] = []
    if system.hamiltonian is not None:
        rows.append(("Hamiltonian", *_shown("H", system.hamiltonian)))
    elif system.kinetic is not None and not system.bundle:
        rows.append(("kinetic energy", *_shown("T", system.kinetic)))
        if system.potential is not None and system.potential != 0:
            rows.append(("potential energy", *_shown("V", system.potential)))
    else:
        lagrangian = system.bundle_lagrangian or system.energy_function
        rows.append(("Lagrangian", *_shown("L", lagrangian)))
    for k, (v, e) in enumerate(system.bundle.items()):
        rows.append(("with" if k == 0 else "", *_shown(symbol_latex(v), e)))
    if system.dissipation != 0:
        rows.append(("dissipation", *_shown("R", system.dissipation)))
    for k, (q, force) in enumerate(list(system.forces.items())[:MOST_CONSTRAINTS]):
        rows.append(("forces" if k == 0 else "", *_shown(f"Q_{{{symbol_latex(q)}}}", force)))
    return rows + _listed_constraints(system)


def _shown(name: str, expression: sympy.Expr) -> tuple[str]:
    if is_longer_than([expression], MOST_NODES):
        return ("",)
    return (f"{name} = {expression_latex(expression)}",)


def _listed_constraints(system: System | Flow) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for constraint in system.constraints[:MOST_CONSTRAINTS]:
        if constraint is system.image:
            for q, value in list(constraint.velocities.items())[:MOST_CONSTRAINTS]:
                rows.append((f"constraint {constraint.name}", *_shown(symbol_latex(q.dot), value)))
            continue
        relation = r"\le 0" if constraint.is_one_sided else "= 0"
        latex = ""
        if not is_longer_than([constraint.expression], MOST_NODES):
            latex = f"{expression_latex(constraint.expression)} {relation}"
        rows.append((f"constraint {constraint.name}", latex))
    if len(system.constraints) > MOST_CONSTRAINTS:
        rows.append((f"and {len(system.constraints) - MOST_CONSTRAINTS} constraints more", ""))
    return rows


@_never_raising
def system_bundle(system: System | Flow) -> dict[str, str]:
    """A system in a notebook: its name, its symbols and what it states."""
    rows = statements(system)
    listed = [
        ("coordinates", _symbols(system.coordinates)),
        ("parameters", _symbols(system.parameters)),
    ]
    listed += [("inputs", _symbols(system.inputs))] if system.inputs else []
    body = "".join(_row(word, symbols) for word, symbols in listed if symbols)
    for word, latex in rows:
        body += _row(
            word,
            (
                formula(rf"\displaystyle {latex}", bare="dollars")
                if latex
                else "<i>too long to show</i>"
            ),
        )
    latex = r" \\ ".join(line for _, line in rows if line)
    bundle = {"text/html": _card(system.name, "", body)}
    return bundle | (
        {"text/latex": rf"$\displaystyle \begin{{gathered}}{latex}\end{{gathered}}$"}
        if latex
        else {}
    )


def equations_text(equations: Equations) -> str:
    """Equations in a terminal: their lines where they are short, and what they are in any case."""
    head = f"{equations.system.name}: {_about(equations)}"
    with suppress(Exception):  # a display must not stop anybody's work
        if _is_shown(equations):
            lines = [wrapped_formula(line) for line in equations.text().splitlines()]
            return "\n".join([wrapped_formula(head), *lines])
    state = ", ".join(symbol.name for symbol in equations.state[:MOST_SYMBOLS])
    hint = "written out by equations.text() or equations.latex()"
    return "\n".join([wrapped_formula(head), wrapped_formula(f"state {state}"), hint])


def _about(equations: Equations) -> str:
    return f"form {equations.form}, {len(equations.state)} symbols of state"


def _is_shown(equations: Equations) -> bool:
    """Whether equations are written out without being asked to: short ones, and known ones."""
    small = len(equations.system.coordinates) <= WRITTEN_COORDINATES
    small &= not is_longer_than(equations.system.expressions(), WRITTEN_NODES)
    return small or ("written", True) in equations.cache


@_never_raising
def equations_bundle(equations: Equations) -> dict[str, str]:
    """Equations in a notebook: typeset where they are short, and what they are in any case."""
    about = _about(equations)
    assumed = "".join(
        _row(claim, html.escape(str(verdict))) for claim, verdict in equations.hypotheses.items()
    )
    if not _is_shown(equations):
        state = _symbols(equations.state)
        hint = (
            "<i>written out on request: <code>equations.text()</code> or"
            " <code>equations.latex()</code></i>"
        )
        rows = _row("state", state) + _row("equations", hint) + assumed
        return {"text/html": _card(equations.system.name, about, rows)}
    lines = equation_lines(equations)
    shown = "".join(
        f'<div style="margin:0.35em 0;overflow-x:auto">{formula(line, True, "dollars")}</div>'
        for line in lines
    )
    shown += f"<table>{assumed}</table>" if assumed else ""
    shown += "".join(f"<div>{html.escape(note)}</div>" for note in equations.notes)
    return {
        "text/html": _card(equations.system.name, about, shown, table=False),
        "text/latex": f"$${equations.latex()}$$",
    }


@_never_raising
def motion_bundle(motion: Motion) -> dict[str, str]:
    """A motion in a notebook: how it ended, what it kept, and a plot of its coordinates."""
    rows = [("outcome", f"{motion.outcome.value}: {motion.message}")]
    if len(motion.t):
        rows.append(("time", f"{motion.t[0]:g} to {motion.t[-1]:g}, {len(motion.t)} points"))
    method = motion.statistics.get("method", "")
    steps = motion.statistics.get("steps")
    rows.append(
        ("equations", motion.equations.form + (f", integrated by {method}" if method else ""))
    )
    rows += [("steps", str(steps))] if steps is not None else []
    picture = ""
    if (
        len(motion.t) > 1
        and motion.y.size <= MOST_NUMBERS
        and len(motion.system.coordinates) <= 200
    ):
        rows += _kept(motion)
        picture = _thumbnail(motion)
    body = "".join(_row(word, html.escape(text)) for word, text in rows)
    return {"text/html": _card(motion.system.name, "", body) + picture}


def _kept(motion: Motion) -> list[tuple[str, str]]:
    rows = []
    if "energy" in motion.names:
        energy = np.asarray(motion.energy, dtype=float)
        if np.isfinite(energy).all() and energy.size:
            scale = abs(energy[0]) if abs(energy[0]) > 1e-6 else 1.0
            rows.append(
                (
                    "energy",
                    f"{energy[0]:.6g}, changes by {np.abs(energy - energy[0]).max() / scale:.1e}"
                    " relative",
                )
            )
    worst = motion.worst_residual
    if motion.system.constraints:
        rows.append(
            ("residuals", ", ".join(f"{level} {value:.1e}" for level, value in worst.items()))
        )
    return rows


def _thumbnail(motion: Motion) -> str:
    from ..curves.panels import chosen_panels
    from ..curves.plots import draw_panels
    from ..motion_samples import event_marks
    from ..style import LIGHT

    picture = draw_panels(
        chosen_panels(motion, None, ["coordinates"])[:3], LIGHT, event_marks(motion)
    )
    buffer = io.BytesIO()
    picture.savefig(buffer, format="png", dpi=96)
    data = base64.b64encode(buffer.getvalue()).decode()
    return (
        '<img alt="coordinates over time" style="max-width:100%"'
        f' src="data:image/png;base64,{data}">'
    )


def _symbols(symbols: Iterable[sympy.Symbol]) -> str:
    names = list(symbols)
    latex = [symbol_latex(symbol) for symbol in names[:MOST_SYMBOLS]]
    shown = " ".join(formula(one, bare="dollars") for one in latex)
    return shown + (f" and {len(names) - MOST_SYMBOLS} more" if len(names) > MOST_SYMBOLS else "")


def _row(word: str, content: str) -> str:
    label = f'<td style="{_CELL};opacity:0.7">{html.escape(word)}</td>'
    return f'<tr>{label}<td style="{_CELL}">{content}</td></tr>'


def _card(name: str, about: str, body: str, table: bool = True) -> str:
    inside = f'<table style="border:none;margin:0.3em 0">{body}</table>' if table else body
    second = f' <span style="opacity:0.7">{html.escape(about)}</span>' if about else ""
    return f'<div style="{_STYLE}"><b>{html.escape(name)}</b>{second}{inside}</div>'
