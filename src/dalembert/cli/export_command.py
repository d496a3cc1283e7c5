"""``dalembert export``: the equations of motion as files for other programs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileError, ModelError
from ..model.io.atomic_file import write_whole
from ..model.scenario import Scenario
from .entry import FINE
from .systems import configured, read_span
from .terminal import waiting

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = ["ExportRequest", "export_command", "export_values"]

#: Formats by name, with the ending of the file each is written to.
ENDINGS = {"c": ".c", "fmu2": ".fmu", "fmu3": ".fmu", "latex": ".tex", "jax": ".py"}


@dataclass(frozen=True)
class ExportRequest:
    """A call of ``dalembert export``, as it was given."""

    system: str
    format: str
    output: Path | None
    name: str | None
    settings: tuple[str, ...]
    span: str | None
    rtol: float | None
    step: float | None
    form: str | None
    inputs: tuple[str, ...]


def export_command(request: ExportRequest) -> int:
    """Write what was asked for, and say where."""
    from ..formulations.registry import derive

    _check(request)
    scenario = configured(request.system, request.settings)
    if request.span is not None:
        scenario = scenario.replacing(
            simulate={**scenario.simulate, "span": read_span(request.span, None, None)}
        )
    with waiting("Deriving"):
        equations = derive(scenario.system, request.form or scenario.simulate.get("form"))
    with waiting("Exporting"):
        written = _written(
            request,
            scenario,
            equations,
            request.output or Path(f"{_word(scenario)}{ENDINGS[request.format]}"),
        )
    sys.stdout.write("".join(f"{line}\n" for line in written))
    return FINE


def export_values(scenario: Scenario, equations: Equations) -> dict[str, Any]:
    """What a scenario says about parameters, start and run, as `Equations.to_c` takes it."""
    known = {symbol.name for symbol in equations.system.parameters}
    stated = scenario.simulate
    values: dict[str, Any] = {
        "parameters": {name: value for name, value in scenario.parameters.items() if name in known},
        "start": dict(scenario.start),
        "span": stated.get("span"),
    }
    return values | {key: stated[key] for key in ("rtol", "atol") if stated.get(key) is not None}


def _check(request: ExportRequest) -> None:
    """Options that a format cannot honour are refused."""
    given: dict[str, Any] = {"--rtol": request.rtol, "--step": request.step, "--name": request.name}
    if request.format == "jax":
        given |= {"--set": request.settings, "--t": request.span}
    asked = [option for option, value in given.items() if value]
    if request.format in ("latex", "jax") and asked:
        raise ModelError(
            f"{asked[0]} has no meaning for --to {request.format}", remedy="leave it out"
        )
    if request.inputs and request.format not in ("fmu2", "fmu3"):
        raise ModelError(
            f"--input has no meaning for --to {request.format}",
            remedy="leave it out, or write --to fmu2",
        )
    if request.output is not None and request.output.suffix not in (ENDINGS[request.format], ""):
        ending = ENDINGS[request.format]
        raise FileError(
            f"--to {request.format} writes {ending}", request.output.name, f"name a file {ending}"
        )


def _word(scenario: Scenario) -> str:
    from ..export.c_names import export_word

    return export_word(scenario.system.name.lower()[:100])[:100]


def _written(
    request: ExportRequest, scenario: Scenario, equations: Equations, place: Path
) -> list[str]:
    """Write the files; what was written, a line each."""
    if request.format in ("latex", "jax"):
        from ..export.jax_source import jax_source

        text = (
            equations.to_latex(scenario=scenario)
            if request.format == "latex"
            else jax_source(equations.compile())
        )
        try:
            write_whole(place, text.rstrip("\n") + "\n")
        except OSError as error:
            raise FileError(
                f"{place} cannot be written", error.strerror, "name another place"
            ) from error
        return [str(place)]
    method = scenario.simulate.get("method", "dop853")
    if method not in ("auto", "dop853"):
        raise ModelError(
            "An exported run takes the steps of the method dop853",
            f'method = "{method}"',
            "remove the method from the model",
        )
    values = export_values(scenario, equations) | {"name": request.name, "step": request.step}
    values |= {} if request.rtol is None else {"rtol": request.rtol}
    if request.format == "c":
        exported = equations.to_c(**values, path=place)
        folder = place.parent if place.suffix == ".c" else place
        return [str(folder / f"{exported.name}{ending}") for ending in (".h", ".c")]
    version = {"fmu2": "2.0", "fmu3": "3.0"}[request.format]
    return [str(equations.to_fmu(place, version, inputs=request.inputs, **values))]
