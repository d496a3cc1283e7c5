"""The rows of Moreau and van der Schaft, and of Bloch's sections 5.2 and 5.3: each holds, and each
would notice an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dalembert.formulations.forms import constrained_lagrangian
from dalembert.geometry.dirac import DiracStructure
from dalembert.verification.bloch.chapter_5 import section_5_2_constrained_lagrangian
from dalembert.verification.independent.image_systems import FIBRE, SIZE, image_system
from dalembert.verification.independent.image_systems import samples as image_samples
from dalembert.verification.independent.tangent_bundle_systems import samples, tangent_system
from dalembert.verification.moreau_van_der_schaft import homomorphism, pontryagin_extremals
from dalembert.verification.numeric import Probe, distance
from dalembert.verification.row_registry import Claim, Corrected, registered
from verify_rows import assert_verdict

SECTIONS = ("B-5.2", "B-5.3", "B-Definition-5.3", "B-Theorem-5.3")
CLAIMS = {item.id: item for item in registered(("M", "B")) if item.id.startswith(("M-", *SECTIONS))}

#: Where the print is wrong.
ERRATA = {
    "M-49", "B-5.2.20", "B-5.3.15", "B-Definition-5.3.1", "B-5.3.17", "B-5.3.18",
    "B-5.3.18-along-q", "B-5.3.26", "B-5.3.27", "B-5.3.28", "B-5.3.32", "B-5.3.32-definite",
}  # fmt: skip
SLOW = {"B-Definition-5.3.3"}


@pytest.mark.parametrize(
    "identifier",
    [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in CLAIMS],
)
def test_a_row_is_reproduced_with_a_correction_where_the_print_is_wrong(identifier: str) -> None:
    assert_verdict(CLAIMS[identifier], identifier, ERRATA)


def test_every_numbered_result_has_a_row() -> None:
    expected = {f"M-{number}" for number in range(1, 55)} | {
        "M-Theorem-1",
        "M-Theorem-2",
        "M-Lemma-1",
    }
    expected |= {f"M-Definition-{number}" for number in range(1, 5)}
    expected |= {f"B-5.2.{number}" for number in range(17, 22)} | {
        f"B-5.3.{number}" for number in range(1, 33)
    }
    expected |= {f"B-Definition-5.3.{number}" for number in range(1, 5)} | {
        f"B-Theorem-5.3.{number}" for number in (5, 6, 7)
    }
    assert expected | ERRATA <= set(CLAIMS)


# -- the independent implementations are two statements of one system
# -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["curved", "flat", "crowded"])
def test_rows_and_image_are_one_constraint(kind: str) -> None:
    for s in image_samples(kind):
        frame, rows_of_kernel = s.model.frame(s.x), s.model.rows(s.x)
        assert np.abs(rows_of_kernel @ frame).max() < 1e-14
        assert np.linalg.matrix_rank(frame) + np.linalg.matrix_rank(rows_of_kernel) == SIZE


@pytest.mark.parametrize("kind", ["linear", "affine", "nonlinear", "homogeneous", "bent", "flat"])
def test_random_samples_obey_their_conditions_and_move(kind: str) -> None:
    for place in samples(kind):
        assert np.abs(tangent_system(kind).condition(place.q, place.v)).max() < 1e-14
        assert np.abs(place.v).max() > 1e-2 and np.abs(place.reaction).max() > 1e-3


# -- an error in the library would be seen ---------------------------------------------------------


@pytest.fixture
def fresh_reductions() -> Iterator[None]:
    section_5_2_constrained_lagrangian._reduction.cache_clear()
    yield
    section_5_2_constrained_lagrangian._reduction.cache_clear()


@pytest.mark.parametrize("identifier", ["B-5.2.17", "B-5.2.18", "B-5.2.19", "B-5.2.20"])
def test_the_other_sign_of_the_curvature_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch, fresh_reductions: None
) -> None:
    right = constrained_lagrangian.curvature
    monkeypatch.setattr(
        constrained_lagrangian, "curvature", lambda reduction: [-bend for bend in right(reduction)]
    )
    assert CLAIMS[identifier].row().verdict == "not reproduced"


def test_a_two_form_of_the_other_sign_is_not_reproduced(monkeypatch: pytest.MonkeyPatch) -> None:
    right = DiracStructure.induced
    monkeypatch.setattr(
        DiracStructure, "induced", lambda omega, sigma: right(-np.asarray(omega), sigma)
    )
    assert CLAIMS["M-54"].row().verdict == "not reproduced"


class _WrongSpeeds(Probe):
    """The library's equations with one rate a little off: of a momentum, where there are any."""

    def __init__(self, probe: Probe) -> None:
        self.__dict__ = dict(probe.__dict__)

    def rates(self, time: float, state: Any) -> Any:
        found = super().rates(time, state).copy()
        found[min(SIZE + FIBRE, len(found)) - 1] += 1e-6
        return found


@pytest.mark.parametrize("identifier", ["M-4", "M-9", "M-17", "M-25", "M-29"])
def test_a_rate_that_is_slightly_off_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = pontryagin_extremals.probe

    def wrong(kind: str, form: str) -> Probe:
        return _WrongSpeeds(right(kind, form))

    for module in (pontryagin_extremals, homomorphism):
        monkeypatch.setattr(module, "probe", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


def test_the_printed_form_of_a_correction_is_not_accepted_as_right() -> None:
    """The reaction with the q-components of the forms, as 5.3.28 has it, judged like any other
    row.
    """
    outcome = CLAIMS["B-5.3.28"].compute()
    assert isinstance(outcome, Corrected)
    row = Claim(
        "X-1", "theta for P^*theta", "library multipliers", 1e-10, lambda: outcome.printed
    ).row()
    assert row.verdict == "not reproduced"


def test_extremals_and_dalembert_differ_where_theory_says_so() -> None:
    for kind, same in (("flat", True), ("curved", False)):
        ends = [
            motion(kind).y[:SIZE, -1]
            for motion in (
                pontryagin_extremals.extremal_motion,
                pontryagin_extremals.dalembert_motion,
            )
        ]
        assert (distance(ends[0], ends[1]) < 1e-8) is same, image_system(kind).system.name
