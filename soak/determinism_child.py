"""One process of the determinism check: `python -m soak.determinism_child ORDER PARAMETERS BEFORE`
prints digests as JSON.

ORDER is "plain" or a seed by which the models are shuffled, PARAMETERS is "plain" or "reversed",
BEFORE is the number of other systems that are derived first.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from typing import Any

import numpy as np

import dalembert as da
from dalembert.gallery import load, names

#: Gallery systems of every kind that take little time: contact, dependent rows, charts that switch,
#: flows, images, driven ones.
MODELS = (
    "chaplygin-sleigh", "elastic-pendulum-wall", "two-particles-incline", "knife-edge",
    "rolling-disk", "spherical-pendulum",
    "snakeboard-gait", "linked-particles", "appell-vakonomic", "blow-up", "bicycle",
)  # fmt: skip


def digest(*blocks: Any) -> str:
    """What identifies arrays and texts, bit by bit."""
    total = sha256()
    for block in blocks:
        total.update(
            block.encode()
            if isinstance(block, str)
            else np.ascontiguousarray(block, dtype=float).tobytes()
        )
    return total.hexdigest()[:24]


def motion_digest(motion: Any) -> str:
    """A motion with its steps, events, impacts, observed quantities and message."""
    steps = [block for segment in motion.segments for block in (segment.step_t, segment.step_y)]
    observed = [motion[name] for name in motion.names]
    impacts = json.dumps([[float(t), name] for t, name in motion.impacts])
    return digest(motion.t, motion.y, *steps, *motion.t_events, *observed, impacts, motion.message)


def model_digests(name: str, is_reversed: bool) -> dict[str, str]:
    """The digests of one model: its motion, by two methods where both apply, its text, LaTeX
    and C.
    """
    scenario = load(name)
    first, last = scenario.simulate.get("span", (0.0, 1.0))
    options: dict[str, Any] = {"span": (first, first + 0.1 * (last - first))}
    if is_reversed:
        options["parameters"] = dict(reversed(list(scenario.parameters.items())))
        options["start"] = dict(reversed(list(scenario.start.items())))
    found = {"motion": motion_digest(da.simulate(scenario, **options))}
    try:
        found["taylor"] = motion_digest(da.simulate(scenario, method="taylor", **options))
    except da.errors.DalembertError as error:
        found["taylor"] = digest(str(error))
    equations = da.derive(scenario.system)
    found |= {"text": digest(equations.text()), "latex": digest(equations.latex())}
    try:
        found["C"] = digest(str(equations.to_c()))
    except da.errors.DalembertError as error:
        found["C"] = digest(str(error))
    return found


def main() -> None:
    """Prints {model: {what: digest}}."""
    order, parameters, before = sys.argv[1:4]
    models = list(MODELS)
    if order != "plain":
        np.random.default_rng(int(order)).shuffle(models)
    for name in [name for name in names() if name not in MODELS][: int(before)]:
        da.derive(load(name).system)
    found = {name: model_digests(name, parameters == "reversed") for name in models}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
