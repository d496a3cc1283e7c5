"""The rows of Bloch's section 7.7: each holds, each erratum is needed, and each would notice an
error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dalembert.verification.bloch.chapter_7 import section_7_7_discrete_bodies as discrete
from dalembert.verification.bloch.chapter_7 import section_7_7_orbit_geodesics as geodesics
from dalembert.verification.bloch.chapter_7 import section_7_7_rotation_pairs as pairs
from dalembert.verification.bloch.chapter_7 import section_7_7_toda as toda
from dalembert.verification.independent import matrix_flows
from dalembert.verification.numeric import Probe
from dalembert.verification.row_registry import registered
from verify_rows import assert_verdict

KINDS = ["Definition", "Theorem", "Corollary", "Proposition", "Lemma", "Exercise"]
SECTION = ("B-7.7.", "B-7.7-", *(f"B-{kind}-7.7" for kind in KINDS))
CLAIMS = {item.id: item for item in registered(("B",)) if item.id.startswith(SECTION)}

#: Where the print is wrong.
ERRATA = {
    "B-7.7.10-legendre", "B-7.7-normal", "B-Corollary-7.7.6", "B-7.7.15", "B-Corollary-7.7.8",
    "B-7.7-double-bracket", "B-7.7.18", "B-Proposition-7.7.10", "B-7.7-inclusions", "B-7.7.26",
    "B-7.7.27", "B-7.7.28", "B-7.7.42-quarter-turn", "B-7.7.42-boundary", "B-7.7.46",
    "B-Corollary-7.7.24", "B-7.7.51", "B-Theorem-7.7.26", "B-Definition-7.7.27", "B-7.7.56",
    "B-7.7.62-equivalent", "B-7.7.25-two-point",
}  # fmt: skip

#: Named results that have rows of their own; the others are those of their equations.
NAMED = {
    "Theorem": (2, 5, 7, 13, 26, 30),
    "Corollary": (3, 6, 8, 24),
    "Proposition": (4, 10, 11, 16, 17, 18, 21, 23),
    "Lemma": (9, 28, 29),
    "Definition": (19, 27),
}


@pytest.mark.parametrize("identifier", CLAIMS)
def test_a_row_is_reproduced_with_a_correction_where_the_print_is_wrong(identifier: str) -> None:
    assert_verdict(CLAIMS[identifier], identifier, ERRATA)


def test_every_numbered_result_has_a_row() -> None:
    expected = {f"B-7.7.{number}" for number in range(1, 64)}
    expected |= {f"B-{kind}-7.7.{number}" for kind, numbers in NAMED.items() for number in numbers}
    assert expected | ERRATA | {"B-Exercise-7.7-1"} <= set(CLAIMS)


def test_corollaries_without_rows_of_their_own_are_named_where_they_are_shown() -> None:
    for identifier, name in (
        ("B-7.7.30", "Corollary 7.7.14"),
        ("B-7.7.31", "Corollary 7.7.15"),
        ("B-7.7.41", "Proposition 7.7.20"),
        ("B-7.7.47", "Exercise 7.7-2"),
    ):
        assert name in CLAIMS[identifier].claim


# -- an error in the library would be seen ---------------------------------------------------------


@pytest.mark.parametrize(
    "identifier",
    ["B-7.7.4", "B-7.7.9", "B-7.7.12", "B-7.7.16", "B-7.7.25", "B-7.7.31", "B-7.7.34", "B-7.7.36",
     "B-7.7.38", "B-7.7.42", "B-7.7.47", "B-7.7.61-brackets", "B-7.7.63"],
)  # fmt: skip
def test_rates_that_are_slightly_off_are_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Probe.rates
    monkeypatch.setattr(
        Probe, "rates", lambda self, time, state: honest(self, time, state) * (1 + 1e-6)
    )
    assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.parametrize("identifier", ["B-7.7.39-asinh", "B-7.7.41", "B-7.7.42-boundary"])
def test_a_partner_without_the_inverse_of_sinh_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(Q: Any, M: Any, side: str = "left") -> Any:
        turn = matrix_flows.exponential(np.asarray(M) / 2)
        return Q @ turn if side == "left" else turn @ Q

    monkeypatch.setattr(pairs, "symmetric_partner", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


def test_the_other_branch_of_a_discrete_step_is_not_reproduced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A solution of U Lambda - Lambda U^T = M that does not continue the identity."""
    honest = discrete.discrete_rotation

    def other(inertias: Any, M: Any) -> Any:
        U = honest(inertias, M)
        c, s = -U[0, 0], U[1, 0]
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    monkeypatch.setattr(discrete, "discrete_rotation", other)
    assert CLAIMS["B-7.7.50-limit"].row().verdict == "not reproduced"


def test_a_projection_as_printed_is_not_reproduced(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = toda.toda_projections

    def printed(a: Any) -> Any:
        return honest(a) | {"pi_lperp": np.triu(a, 1) - np.triu(a, 1).T}

    monkeypatch.setattr(toda, "toda_projections", printed)
    assert CLAIMS["B-Definition-7.7.27"].row().verdict == "not reproduced"


@pytest.fixture
def fresh() -> Iterator[None]:
    """Flows that were not stated before, and are not kept after."""
    for function in (matrix_flows._orbit, matrix_flows.orbit_path):
        function.cache_clear()
    yield
    for function in (matrix_flows._orbit, matrix_flows.orbit_path):
        function.cache_clear()


@pytest.mark.long
@pytest.mark.parametrize("identifier", ["B-7.7.15", "B-Corollary-7.7.8", "B-Lemma-7.7.9-inertia"])
def test_with_unit_inertia_nothing_is_left_to_correct(
    identifier: str, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    """With J = 1 both metrics are one, and [p, x] stays: rows that say they differ must notice."""
    for module in (matrix_flows, geodesics):
        monkeypatch.setattr(
            module, "inertia", lambda name: np.ones(matrix_flows.algebra(name).dimension)
        )
    assert CLAIMS[identifier].row().verdict == "not reproduced"


# -- the independent implementations themselves
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", matrix_flows.ALGEBRAS)
def test_the_bases_are_orthonormal_and_closed_under_brackets(name: str) -> None:
    here = matrix_flows.algebra(name)
    gram = np.array([[matrix_flows.inner(a, b) for b in here.basis] for a in here.basis])
    assert np.abs(gram - np.eye(here.dimension)).max() < 1e-14
    for a in here.basis:
        for b in here.basis:
            c = matrix_flows.bracket(a, b)
            assert np.abs(here.matrix(here.vector(c)) - c).max() < 1e-14


def test_the_exponential_of_the_references_is_that_of_a_rotation() -> None:
    a = 2.7 * np.array([[0.0, -1.0], [1.0, 0.0]])
    expected = [[np.cos(2.7), -np.sin(2.7)], [np.sin(2.7), np.cos(2.7)]]
    assert np.abs(matrix_flows.exponential(a) - expected).max() < 1e-14
