"""The rows of Bloch's section 4.7 and of Udwadia's section 5: each holds, each erratum is needed,
errors are noticed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.control.ports.impulse_response import LinearInputOutput
from dalembert.verification.bloch.chapter_4 import section_4_7_control_systems as systems
from dalembert.verification.row_registry import registered
from dalembert.verification.udwadia import control_requirements as control
from verify_rows import assert_verdict

CLAIMS = {
    item.id: item for item in registered(("U", "B")) if item.id.startswith(("B-4.7", "U-section-5"))
}
#: Where the print is wrong.
ERRATA = {"B-4.7.2-lagrangian", "B-4.7-regularity"}
(RECORD,) = json.loads((Path(__file__).parent / "data" / "ports.json").read_text())["systems"]


@pytest.mark.long
@pytest.mark.parametrize(
    "identifier", [name for name in CLAIMS if name.startswith("B")]
)  # the others: test_verify_rows
def test_a_row_is_reproduced_with_a_correction_where_the_print_is_wrong(identifier: str) -> None:
    assert_verdict(CLAIMS[identifier], identifier, ERRATA)


def test_every_numbered_result_has_a_row() -> None:
    assert {f"B-4.7.{number}" for number in range(1, 7)} | ERRATA <= set(CLAIMS)


# -- an error in the library would be seen ---------------------------------------------------------


@pytest.mark.parametrize("identifier", ["B-4.7.4", "B-4.7.5"])
def test_an_impulse_response_that_is_slightly_off_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = LinearInputOutput.impulse_response

    def shifted(self: LinearInputOutput, time: Any) -> Any:
        return honest(self, np.asarray(time) + 1e-6 if np.ndim(time) else time)

    monkeypatch.setattr(LinearInputOutput, "impulse_response", shifted)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


def test_a_skew_form_that_always_vanishes_is_not_reproduced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dalembert.control.ports.skew_form import SkewForm

    monkeypatch.setattr(
        systems, "variational_skew_form", lambda *_, **__: SkewForm(np.zeros((2, 2)), 1.0, 0.0)
    )
    for identifier in ("B-4.7.3", "B-4.7.5-feedthrough", "B-4.7.6"):
        assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.long
@pytest.mark.parametrize("identifier", ["U-section-5-norm", "U-section-5-reaction"])
def test_a_control_force_that_is_slightly_off_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = control.effort_at
    monkeypatch.setattr(control, "effort_at", lambda *arguments: honest(*arguments) * (1 + 1e-6))
    assert CLAIMS[identifier].row().verdict == "not reproduced"


# -- the reference ---------------------------------------------------------------------------------


def reference_system() -> LinearInputOutput:
    S, C = np.array(RECORD["params"]["S"]), np.array(RECORD["params"]["C"])
    J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    return LinearInputOutput(J @ S, J @ C.T, C, np.zeros((1, 1)))


def test_the_impulse_response_of_the_reference() -> None:
    found = reference_system().impulse_response(RECORD["times"])[:, 0, 0]
    np.testing.assert_allclose(found, np.ravel(RECORD["W"]), rtol=0, atol=1e-14)
    assert da.control.is_hamiltonian_impulse_response(reference_system(), RECORD["times"])


def test_the_same_response_from_a_flow_that_is_kicked() -> None:
    """x(0) = B is the state after an impulse."""
    q, p = da.coordinates("q p")
    u = da.inputs("u")
    flow = da.control.hamiltonian_control(q**2 + p**2 / 2 + u * q, [(q, p)], [u])
    motion = da.simulate(
        flow, {q: 0.0, p: -1.0}, (0, 2), inputs={u: 0}, at=[0, *RECORD["times"]], rtol=1e-12
    )
    np.testing.assert_allclose(motion["y_u"][1:], np.ravel(RECORD["W"]), rtol=0, atol=1e-11)
