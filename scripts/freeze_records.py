"""Plain data for `freeze.py`: what a part found, digests, and the library as the parts see it.

`motion_record`, `ensemble_record` and `derivative_record` are the places that read attributes of
results; everything else goes through the command line and the most stable public names, so that it
survives modules that move and names that change their namespace.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = [
    "ROOT",
    "Found",
    "command",
    "derivative_record",
    "digest",
    "ensemble_record",
    "gallery",
    "motion_record",
    "public",
    "sha",
    "without_version",
]

ROOT = Path(__file__).parents[1]
#: Keys of JSON results whose values are sentences for people.
SENTENCES = frozenset(
    {"claim", "how", "matrices", "message", "method_reason", "note", "remarks", "start_report",
     "summary", "where", "why"}
)  # fmt: skip
#: Lists of numbers longer than this are recorded by their digest.
LONGEST_LIST = 8
#: Hexadecimal digits of a digest.
DIGITS = 24


@dataclass
class Found:
    """What a part gives.

    `values` must agree, `messages` may be reworded, `measured` has numbers with their tolerances.
    """

    values: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, place: str, data: Any, **messages: Any) -> None:
        """Add JSON data; its sentences go to the messages, marks stay with the values."""
        sentences: dict[str, Any] = {}
        self.values[place] = separated(condensed(data), sentences, "")
        sentences |= {key: value for key, value in messages.items() if value}
        if sentences:
            self.messages[place] = sentences


# -- plain data ------------------------------------------------------------------------------------


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def digest(values: Any) -> str:
    """Shape, digest to the last bit, and last value of an array or a list of numbers."""
    import numpy as np

    plain = np.asarray(values).tolist() if not isinstance(values, list) else values
    last = plain
    while isinstance(last, list) and last:
        last = last[-1]
    return f"{'x'.join(map(str, np.shape(plain)))} {sha(json.dumps(plain))} {last!r}"


def is_numbers(values: Sequence[Any]) -> bool:
    return all(value is None or isinstance(value, int | float) for value in values)


def condensed(data: Any) -> Any:
    """JSON data without run times, with digests in place of long lists of numbers."""
    if isinstance(data, Mapping):
        kept = {str(k): value for k, value in data.items() if not str(k).endswith("_seconds")}
        return {key: condensed(value) for key, value in kept.items()}
    if isinstance(data, list | tuple):
        if len(data) > LONGEST_LIST and is_numbers(data):
            return digest(list(data))
        return [condensed(value) for value in data]
    return data


def separated(data: Any, sentences: dict[str, Any], place: str) -> Any:
    """The data with a mark in place of each sentence, which is put into `sentences`."""
    if isinstance(data, dict):
        found = {}
        for key, value in data.items():
            inner = f"{place}.{key}" if place else key
            if key in SENTENCES and value:
                sentences[inner], found[key] = value, marked(value)
            else:
                found[key] = separated(value, sentences, inner)
        return found
    if isinstance(data, list):
        return [separated(value, sentences, f"{place}[{k}]") for k, value in enumerate(data)]
    return data


def marked(data: Any) -> Any:
    """Sentences as marks, so that their number and their keys still count."""
    if isinstance(data, dict):
        return {key: marked(value) for key, value in data.items()}
    if isinstance(data, list):
        return [marked(value) for value in data]
    return "(sentence)" if isinstance(data, str) else data


# -- the library -----------------------------------------------------------------------------------


def public(name: str) -> Any:
    """A public name, at the top of the library or in one of its public namespaces."""
    import dalembert as da

    if name in dir(da):  # not by names that only warn
        return getattr(da, name)
    for place in (getattr(da, word) for word in dir(da)):
        is_ours = isinstance(place, ModuleType) and place.__name__.startswith("dalembert.")
        if is_ours and hasattr(place, name):
            return getattr(place, name)
    raise SystemExit(f"dalembert has no public name `{name}`: change scripts/freeze_records.py.")


def command(*arguments: str) -> tuple[int, str, str]:
    """Status, output and error stream of a command, run here to spare the imports."""
    (entry,) = entry_points(group="console_scripts", name="dalembert")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = entry.load()(list(arguments))
    return int(status), out.getvalue(), err.getvalue()


def gallery() -> Iterator[tuple[str, Any]]:
    import dalembert as da

    for name in da.gallery.names():
        yield name, da.gallery.load(name)


def motion_record(motion: Any) -> dict[str, Any]:
    """Everything that a motion says, with digests of its arrays."""
    reactions = {
        name: {"force": digest(reaction.force), "multiplier": digest(reaction.multiplier)}
        for name, reaction in motion.reactions.items()
    }
    return {
        "t": digest(motion.t),
        "names": {name: digest(motion[name]) for name in motion.names},
        "reactions": reactions,
        "residual": motion.worst_residual,
        "events": [digest(times) for times in motion.t_events],
        "impacts": digest([time for time, _ in motion.impacts]),
        "statistics": json.loads(json.dumps(motion.statistics, default=str)),
        "outcome": motion.outcome.value,
        "message": motion.message,
    }


def ensemble_record(model: Any, start: Any, names: Sequence[str], **options: Any) -> dict[str, Any]:
    """The final states of many runs."""
    import dalembert as da

    runs = da.simulate(model, start, **options)
    return {name: digest(runs[name]) for name in names}


def derivative_record(model: Any, names: Sequence[str], wrt: Sequence[str], **options: Any) -> Any:
    """Derivatives of a motion, forwards, and the gradient of one final value, backwards."""
    found = public("sensitivities")(model, wrt, **options)
    back = public("gradient")(model, wrt, final=names[0], **options)
    forward = {f"{name} by {p}": digest(found[name, p]) for name in names for p in wrt}
    return forward | {"gradient": {p: float(back[p]) for p in wrt}}


def without_version(text: str) -> str:
    import dalembert as da

    return text.replace(da.__version__, "VERSION")
