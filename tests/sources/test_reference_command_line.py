"""The reference motions by the command line: a model file in, one JSON object out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reference_motions import REFERENCES, distance

import dalembert as da
from dalembert.cli import main
from dalembert.model.io import files


def run_as_file(reference: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Write the reference's own system, parameters and start to a file and run it."""
    scenario = da.gallery.load(reference.gallery)
    system = scenario.system
    inputs = reference.inputs(system)
    if inputs:
        system = system.driven(inputs)
    symbols = {**scenario.parameters, **reference.parameters}
    options = {key: value for key, value in scenario.simulate.items() if key == "form"}
    options |= {"span": (reference.times[0], reference.times[-1]), "rtol": 1e-12}
    scenario = scenario.replacing(
        system=system, parameters=symbols, start=reference.start, simulate=options
    )
    path = folder / "model.toml"
    path.write_text(files.dumps(scenario), encoding="utf-8")
    capsys.readouterr()
    status = main(
        ["run", str(path), "--json", "--at", ",".join(repr(float(t)) for t in reference.times)]
    )
    assert status == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("reference_id", REFERENCES)
def test_states_and_reactions(
    reference_id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = REFERENCES[reference_id]
    found = run_as_file(reference, tmp_path, capsys)
    assert found["t"] == pytest.approx(reference.times, abs=0)
    compared = 0
    for name, expected in reference.expected.items():
        shown = found["state"] | found["outputs"]
        if name in shown:
            compared += 1
            assert distance(shown[name], expected) < 1e-9, name
    assert compared >= 2
    for coordinate, expected in reference.reaction.items():
        total = [
            sum(values)
            for values in zip(
                *(r["force"][coordinate] for r in found["reactions"].values()), strict=True
            )
        ]
        assert distance(total or [0.0] * len(expected), expected) < 1e-8, coordinate
