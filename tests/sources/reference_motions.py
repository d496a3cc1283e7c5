"""Reference motions of the gallery's systems, computed elsewhere to fifteen digits, and how to run
them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Reference:
    """One reference motion: where it starts and what every quantity is at each of its times."""

    id: str
    gallery: str
    parameters: dict[str, float]
    start: dict[str, float]
    times: list[float]
    expected: dict[str, list[float]]
    tolerance: float
    multipliers: list[list[float]]
    reaction: dict[str, list[float]]
    multiplier_rates: dict[str, list[float]]
    generalised_momenta: dict[str, list[float]]
    gains: dict[str, float]

    def inputs(self, system: da.System) -> dict[str, Any] | None:
        """The linear feedback u = k1 theta + k2 kappa + k3 theta_dot + k4 kappa_dot, where the
        record has gains.
        """
        if not self.gains:
            return None
        theta, kappa = system.coordinates[:2]
        symbols = {"k1": theta, "k2": kappa, "k3": theta.dot, "k4": kappa.dot}
        return {"u": sum(self.gains[name] * symbol for name, symbol in symbols.items())}


def read() -> dict[str, Reference]:
    """Every reference motion by its id."""
    optional = {
        "multipliers": [],
        "reaction": {},
        "multiplier_rates": {},
        "generalised_momenta": {},
        "gains": {},
    }
    fields = Reference.__dataclass_fields__
    records = json.loads((DATA / "motions.json").read_text())
    return {
        r["id"]: Reference(**{name: r.get(name, optional.get(name)) for name in fields})
        for r in records
    }


REFERENCES = read()


@cache
def motion_of(
    reference_id: str, *, through_file: bool = False, form: str | None = None
) -> da.Motion:
    """The motion of a reference at its times, by the gallery's system or by that system written to
    a file and read.
    """
    reference = REFERENCES[reference_id]
    scenario = da.gallery.load(reference.gallery)
    if through_file:
        from dalembert.model.io import files

        scenario = files.loads(files.dumps(scenario))
    return da.simulate(
        scenario,
        start=reference.start,
        parameters=reference.parameters,
        span=(reference.times[0], reference.times[-1]),
        at=reference.times,
        rtol=1e-13,
        inputs=reference.inputs(scenario.system),
        form=form,
        project_start=False,
    )


def distance(value: Any, expected: Any) -> float:
    """The worst difference, relative where the expected value exceeds one."""
    value, expected = np.asarray(value, dtype=float), np.asarray(expected, dtype=float)
    return (
        float(np.max(np.abs(value - expected) / (1 + np.abs(expected)))) if expected.size else 0.0
    )
