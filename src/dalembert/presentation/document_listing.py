"""The lines of Python and the model file that run what a document derives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import DalembertError
from ..model.flow_system import Flow
from ..model.scenario import Scenario
from ..model.system import System
from .document_layout import paragraph, verbatim

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = ["listing_section"]

#: The most columns of a listing.
LISTING_WIDTH = 104


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


def listing_section(equations: Equations, scenario: Scenario | None) -> str:
    """The lines that derive and simulate, and the model file."""
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
