"""The rows of Bloch's section 9.4 on feedback and matching: each holds, errata are needed, errors
are noticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert.control.feedback.shaped import Shaped
from dalembert.verification.bloch.chapter_9 import section_9_4_controlled_routhian as routhian
from dalembert.verification.bloch.chapter_9 import section_9_4_matching as matching
from dalembert.verification.independent import matched_cart_pendulum as cart_pendulum
from dalembert.verification.numeric import Probe
from dalembert.verification.row_registry import _CLAIMS
from verify_rows import assert_verdict

MODULES = (matching.__name__, routhian.__name__)
CLAIMS = {item.id: item for item in _CLAIMS.values() if item.module in MODULES}
ERRATA = {"B-9.4.24", "B-9.4.30"}
SLOW = {"B-9.4.25", "B-9.4.25-disturbed", "B-9.4.26-auxiliary", "B-Theorem-9.4.8"}


@pytest.mark.parametrize(
    "identifier",
    [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in CLAIMS],
)
def test_a_row_is_reproduced_with_a_correction_where_the_print_is_wrong(identifier: str) -> None:
    assert_verdict(CLAIMS[identifier], identifier, ERRATA)


def test_every_numbered_result_has_a_row() -> None:
    numbered = {f"B-9.4.{number}" for number in range(17, 32)} | {
        "B-Theorem-9.4.7",
        "B-Theorem-9.4.8",
    }
    assert numbered <= set(CLAIMS)


@pytest.mark.parametrize("identifier", ["B-9.4.17", "B-9.4.19", "B-Theorem-9.4.7", "B-9.4.24"])
def test_accelerations_that_are_slightly_off_are_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Probe.rates
    monkeypatch.setattr(
        Probe, "rates", lambda self, time, state: honest(self, time, state) * (1 + 1e-6)
    )
    assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.long
def test_a_metric_that_does_not_match_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = cart_pendulum.controlled_metric

    def wrong(q: Any) -> Any:
        return honest(q) * (1 + 1e-6 * q[0])

    for module in (cart_pendulum, matching):
        monkeypatch.setattr(module, "controlled_metric", wrong)
    for identifier in ("B-9.4.19", "B-9.4.21", "B-9.4.22"):
        assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.parametrize("identifier", ["B-9.4.27", "B-9.4.28", "B-Theorem-9.4.8", "B-9.4.29"])
def test_momentum_terms_of_the_other_sign_are_noticed(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, turned = routhian.pushes, []

    def wrong(transport: Any, r: Any, p: Any) -> Any:
        turned.append(1)  # only in one of the two places where the terms occur
        return honest(transport, r, p) * (-1 if len(turned) % 3 == 0 else 1)

    monkeypatch.setattr(routhian, "pushes", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


def test_other_poles_are_not_those_that_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    matching.placed.cache_clear()
    honest = matching.place_poles
    monkeypatch.setattr(
        matching,
        "place_poles",
        lambda model, poles, *rest, **options: honest(
            model, [pole + 1e-3 for pole in poles], *rest, **options
        ),
    )
    try:
        assert CLAIMS["B-9.4-feedback"].row().verdict == "not reproduced"
        assert CLAIMS["B-9.4-feedback-gains"].row().verdict == "not reproduced"
    finally:
        matching.placed.cache_clear()


def test_a_certificate_sees_a_perturbed_potential() -> None:
    here = routhian.found().shaped
    q = here.mechanics.coordinates
    spoiled = Shaped(
        here.mechanics, here.kind, here.metric, here.potential + 1e-4 * q[0] ** 2, here.gyroscopic
    )
    assert here.certificate().residual < 1e-10 < spoiled.certificate().residual
    assert np.isfinite(spoiled.certificate().residual)
