"""The rows of Bloch's sections 6.3 and 6.6: each holds, each erratum is needed, and each would
notice an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.verification.bloch.chapter_6 import section_6_3_so_stabilisation as brockett
from dalembert.verification.bloch.chapter_6 import section_6_6_knife_edge as knife
from dalembert.verification.numeric import Probe
from dalembert.verification.row_registry import registered
from verify_rows import assert_verdict

SECTION = ("B-6.3", "B-6.6", "B-Proposition-6.6")
CLAIMS = {item.id: item for item in registered(("B",)) if item.id.startswith(SECTION)}
RECORDS = json.loads((Path(__file__).parent / "data" / "control.json").read_text())["systems"]
DATA = {record["id"]: record for record in RECORDS}

#: Where the print is wrong.
ERRATA = {
    "B-6.3.55", "B-6.3-eigenvectors", "B-6.3-passes", "B-6.3-example-1", "B-6.3-example-spectrum",
    "B-6.6-holonomy",
}  # fmt: skip


@pytest.mark.parametrize("identifier", CLAIMS)
def test_a_row_is_reproduced_with_a_correction_where_the_print_is_wrong(identifier: str) -> None:
    assert_verdict(CLAIMS[identifier], identifier, ERRATA)


def test_every_numbered_result_has_a_row() -> None:
    expected = {f"B-6.3.{number}" for number in range(50, 59)} | {
        f"B-6.6.{number}" for number in range(14, 23)
    }
    expected |= {f"B-Proposition-6.6.4-{part}" for part in range(1, 5)}
    assert expected | ERRATA <= set(CLAIMS)


# -- an error in the library would be seen ---------------------------------------------------------


@pytest.mark.parametrize(
    "identifier",
    ["B-6.3.54", "B-6.3.55", "B-6.3.57", "B-6.3.58", "B-6.6.14", "B-6.6.15", "B-6.6.16",
     "B-6.6.18", "B-6.6.19", "B-6.6.20", "B-6.6.21", "B-6.6.22"],
)  # fmt: skip
def test_rates_that_are_slightly_off_are_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Probe.rates
    monkeypatch.setattr(
        Probe, "rates", lambda self, time, state: honest(self, time, state) * (1 + 1e-6)
    )
    assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.parametrize(
    "identifier",
    ["B-6.3.53", "B-6.3.56", "B-6.3-step-1", "B-6.3-step-3", "B-6.3-step-4", "B-6.3-example-1"],
)
def test_motions_under_a_law_that_is_slightly_off_are_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = brockett.path

    def wrong(x: Any, Y: Any, span: float, alpha: float, beta: float, gamma: float) -> Any:
        return honest(x, Y, span, alpha + 1e-2, beta + 1e-2, gamma - 1e-2)

    brockett.library_states.cache_clear()
    monkeypatch.setattr(brockett, "path", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"
    brockett.library_states.cache_clear()


@pytest.fixture
def tame() -> Iterator[da.Flow]:
    """The reduced equations with a fibre that follows nothing: dz3 = -z5."""
    honest = knife.reduced()
    _, _, z3, _, z5 = honest.coordinates
    caches = (knife.fields, knife.reports)
    for function in caches:
        function.cache_clear()
    yield honest.replacing(rates=dict(honest.rates) | {z3: -z5})
    for function in caches:
        function.cache_clear()


@pytest.mark.long
@pytest.mark.parametrize(
    "identifier",
    [
        "B-Proposition-6.6.4-3",
        "B-Proposition-6.6.4-4",
        "B-6.6-motion",
        "B-6.6-holonomy",
        "B-6.6-loop",
        "B-6.6-feedback",
    ],
)
def test_a_fibre_without_curvature_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch, tame: da.Flow
) -> None:
    monkeypatch.setattr(knife, "reduced", lambda: tame)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


# -- reference data --------------------------------------------------------------------------------


def test_the_printed_example_on_so3() -> None:
    record = DATA["brockett_so3.printed-example"]
    scenario = da.gallery.load("so-stabilisation")
    switches = {"t1": record["params"]["t1"], "t2": record["params"]["t2"]}
    motion = da.simulate(scenario, span=(0, 9), parameters=switches, at=record["times"], rtol=1e-12)
    for k, state in enumerate(record["states"]):
        np.testing.assert_allclose(
            [motion[f"x_{i}"][k] for i in (1, 2, 3)], state["x"], rtol=0, atol=1e-9
        )
        np.testing.assert_allclose(motion["Y"][k], state["Y"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            motion["x_square"][k], record["norm_x2"][k + 1], rtol=0, atol=1e-9
        )
        np.testing.assert_allclose(
            np.linalg.eigvalsh(motion["Y"][k].T @ motion["Y"][k])[-1],
            record["spectra_YtY"][k + 1][0],
            atol=1e-9,
        )
    assert {
        "x": [scenario.start[f"x_{i}"] for i in (1, 2, 3)],
        "Y": record["initial"]["Y"],
    } == record["initial"]


@pytest.mark.parametrize("form", ["lagrange", "maggi"])
def test_the_knife_edge(form: str) -> None:
    record = DATA["knife_edge.unit"]
    scenario = da.gallery.load("knife-edge")
    motion = da.simulate(scenario, at=record["times"], form=form, rtol=1e-12)
    states = np.stack(
        [motion[name] for name in ("x", "y", "varphi", "x_dot", "y_dot", "varphi_dot")]
    )
    np.testing.assert_allclose(states.T, record["states"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(knife.variables(states).T, record["z_states"], rtol=0, atol=1e-9)


def test_the_loop_of_the_reference_data() -> None:
    record = DATA["value.knife_edge_holonomy"]
    z3 = record["inputs"]["z3"]
    loop = da.control.holonomy_loop(knife.reduced(), -z3)
    np.testing.assert_allclose(loop.corners[1], record["outputs"]["a"], atol=1e-14)
    np.testing.assert_allclose(loop.corners[3], record["outputs"]["b"], atol=1e-14)
    np.testing.assert_allclose(
        da.control.holonomy(knife.reduced(), loop.corners).displacement,
        record["outputs"]["delta_z3"],
        atol=1e-10,
    )
