"""What the user names on the command line: systems, values, times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import ModelError, nearest
from ..gallery import built_in as built_in_names
from ..gallery import load as load_built_in
from ..model.io.expressions import evaluate, parse
from ..model.names import shortened
from ..model.scenario import Scenario

__all__ = ["check_inputs", "configured", "named_system", "read_number", "read_settings"]
__all__ += ["read_span", "read_times", "without_times"]


def named_system(name: str, parameters: Mapping[str, float] | None = None) -> Scenario:
    """The built-in system or the model file called `name`, with some parameters replaced.

    Raises
    ------
    ModelError
        Where there is neither.
    """
    if name in built_in_names():
        scenario = load_built_in(name)
        given = (parameters or {}).items()
        known = {key: value for key, value in given if key in scenario.parameters}
        return scenario.replacing(parameters={**scenario.parameters, **known})
    if name.lower().endswith(".toml") or "/" in name or _exists(name):
        from ..model.io.files import load_model  # the readers of bodies take a while

        return load_model(name, parameters)
    similar = nearest(name.lower().replace("_", "-").replace(" ", "-"), built_in_names())
    what = f"There is no built-in system and no model file called {shortened(name)}"
    remedy = "dalembert gallery lists the built-in systems"
    raise ModelError(what, remedy=f"did you mean {similar}" if similar else remedy)


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def configured(name: str, settings: Sequence[str]) -> Scenario:
    """A system with ``--set`` values: parameters, and start values by name.

    A velocity takes the place of the momentum of the same coordinate, and the other way round.
    """
    values = read_settings(settings)
    scenario = named_system(name, values)
    system = scenario.system
    parameters = {*scenario.parameters, *(symbol.name for symbol in system.parameters)}
    references = {q.dot.name: q.momentum.name for q in system.coordinates}
    references |= {momentum: velocity for velocity, momentum in references.items()}
    symbols = {*(q.name for q in system.coordinates), *references}
    symbols |= {f"chi_{c.name}" for c in system.constraints}
    symbols |= {f"xi_{q.name}" for q in system.coordinates} | {*scenario.start}
    symbols |= {*getattr(system, "quasi_velocities", ())}
    if system.image is not None:
        symbols |= {speed.name for speed in system.image.speeds}
    start = dict(scenario.start)
    for key, value in values.items():
        if key in symbols:
            if references.get(key) not in values:  # of two that are set neither gives way
                start.pop(references.get(key, ""), None)
            start[key] = value
        elif key not in parameters:
            near = nearest(key, [*sorted(symbols), *sorted(parameters)])
            raise ModelError(
                f"--set names {shortened(key)}, which is neither a parameter nor a start value",
                f"parameters {', '.join(sorted(parameters)) or 'none'}",
                f"did you mean {near}" if near else "name coordinates, velocities or momenta",
            )
    own = {symbol.name for symbol in system.parameters}
    given = {key: value for key, value in values.items() if key in own}
    return scenario.replacing(start=start, parameters={**scenario.parameters, **given})


def check_inputs(scenario: Scenario) -> None:
    """Every input has a law, which on the command line only a model file can give."""
    for symbol, law in scenario.system.inputs.items():
        if law is None:
            example = f'{symbol.name} = "sin(2*t)"'
            remedy = f"give it under [inputs] in the model file, such as {example}"
            raise ModelError(f"The input `{symbol.name}` has no law", "free", remedy)


def without_times(scenario: Scenario, span: str | None) -> Scenario:
    """The scenario without the times that its model stores, where ``--t`` gives another span."""
    if span is None:
        return scenario
    kept = {key: value for key, value in scenario.simulate.items() if key != "at"}
    return scenario.replacing(simulate=kept)


def read_number(text: str, where: str) -> float:
    """A finite number, or an expression of numbers such as ``pi/4``."""
    try:
        return float(evaluate(parse(text, {}), {}))
    except ModelError as error:
        remedy = error.remedy or "write 0.5"
        raise ModelError(f"{where} must be a number", shortened(text), remedy) from error


def read_settings(settings: Sequence[str]) -> dict[str, float]:
    """The values of ``--set name=value``; the last of several for one name counts."""
    values: dict[str, float] = {}
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign or not name.strip():
            raise ModelError("--set takes NAME=VALUE", shortened(setting), "write --set m=2")
        values[name.strip()] = read_number(text, f"--set {shortened(name.strip())}")
    return values


def read_times(text: str) -> list[float]:
    """The times of ``--at``: a list with commas; FIRST:LAST:COUNT are equally spaced times.

    >>> read_times("0,2:3:3")
    [0.0, 2.0, 2.5, 3.0]
    """
    import numpy as np

    times: list[float] = []
    for part in text.split(","):
        if ":" not in part:
            times.append(read_number(part, "A time of --at"))
            continue
        pieces = part.split(":")
        if len(pieces) != 3 or not _is_count(pieces[2]):
            what = "A range of --at is FIRST:LAST:COUNT"
            raise ModelError(what, shortened(part), "write --at 0:10:101")
        first, last = (read_number(piece, "A time of --at") for piece in pieces[:2])
        times += np.linspace(first, last, int(pieces[2])).tolist()
    return times


def _is_count(text: str) -> bool:
    """Whether a text is a number from one to a million."""
    return re.fullmatch(r"\s*[0-9]{1,7}\s*", text) is not None and 1 <= int(text) <= 1_000_000


def read_span(
    text: str | None, times: Sequence[float] | None, stated: Sequence[float] | None
) -> tuple[float, float]:
    """From when to when, by ``--t`` or the model, extended to the times of ``--at``."""
    if text is not None:
        parts = text.split(",")
        if len(parts) != 2:
            raise ModelError("--t takes two times", seen=shortened(text), remedy="write --t 0,10")
        return read_number(parts[0], "--t"), read_number(parts[1], "--t")
    if stated is None and not times:
        what = "The model does not say from when to when it is simulated"
        raise ModelError(what, remedy="pass --t 0,10")
    first, last = stated or (0.0, 0.0)
    if times:
        last = max(last, *times) if last >= first else min(last, *times)
    return float(first), float(last)
