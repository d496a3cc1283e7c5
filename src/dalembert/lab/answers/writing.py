"""The equations of motion in one form, as formulas and as text."""

from __future__ import annotations

from typing import Any

from ...errors import ModelError
from ...formulations.registry import derive
from ...presentation.typeset import lines_latex
from ..job_progress import JobProgress
from .lab_formulas import mathml
from .scenarios import scenario_of

__all__ = ["equations"]

#: Equations longer than this, in characters of LaTeX, are given as text alone.
LONGEST_LATEX = 60_000


def equations(request: dict[str, Any], job_context: JobProgress) -> dict[str, Any]:
    """Each line as MathML, all lines as LaTeX and as text."""
    scenario = scenario_of(request)
    form = request.get("form") or scenario.simulate.get("form")
    found = derive(scenario.system, form, explicit=bool(request.get("explicit")))
    job_context.check()
    written = found.written()
    job_context.check()
    lines = lines_latex(written)
    latex = found.latex()
    if sum(len(left) + len(right) for left, right in lines) > 20 * LONGEST_LATEX:
        raise ModelError(
            "The equations are too long to be written out", remedy="choose another form"
        )
    shown = len(latex) <= LONGEST_LATEX
    return {
        "form": found.form,
        "citation": found.citation,
        "mathml": (
            [mathml(f"{left} = {right}", display=True) for left, right in lines] if shown else []
        ),
        "latex": latex,
        "text": found.text(),
        "count": len(written.lines),
        "shortened": bool(written.names),
        "notes": list(found.notes),
    }
