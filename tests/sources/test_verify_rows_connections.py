"""The rows of Bloch's sections 2.9, 3.7.8, 3.8 and 5.5: each holds, and each would notice an
error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert.analysis.symmetry import connection_numbers, momentum_maps
from dalembert.analysis.symmetry.connection_numbers import ShapeNumbers, ShapeValues
from dalembert.geometry.principal_connections import PrincipalConnection
from dalembert.verification.bloch.chapter_2 import section_2_9_connections as matrix_bundles
from dalembert.verification.bloch.chapter_2.section_2_9_connections import GROUPS, G, matrix_bundle
from dalembert.verification.independent.principal_bundles import KINDS, SIZE, bundle_system
from dalembert.verification.independent.principal_bundles import samples as bundle_samples
from dalembert.verification.row_registry import registered
from verify_rows import assert_verdict

SECTIONS = ("2.9", "3.7", "5.5")
CLAIMS = {item.id: item for item in registered(("B",)) if item.section in SECTIONS}

#: Where the print is wrong.
ERRATA = {
    "B-Corollary-2.9.14-proof", "B-2.9.4", "B-Proposition-3.7.8", "B-Proposition-3.8.5",
    "B-5.5.21", "B-5.5.24-base", "B-5.5.25-kinematic", "B-5.5.26",
}  # fmt: skip


@pytest.mark.parametrize("identifier", CLAIMS)
def test_a_row_is_reproduced_with_a_correction_where_the_print_is_wrong(identifier: str) -> None:
    assert_verdict(CLAIMS[identifier], identifier, ERRATA)


def test_every_numbered_result_has_a_row() -> None:
    expected = {f"B-2.9.{number}" for number in range(1, 5)} | {
        f"B-3.8.{number}" for number in range(6, 12)
    }
    expected |= {f"B-5.5.{number}" for number in range(16, 27)} | {"B-Table-5.5.1"}
    expected |= {
        "B-Theorem-2.9.13",
        "B-Lemma-2.9.13",
        "B-Corollary-2.9.14",
        "B-Proposition-2.9.15",
        "B-Proposition-2.9.16",
    }
    expected |= {
        f"B-Proposition-{number}"
        for number in ("3.7.8", "3.8.4", "3.8.5", "3.8.6", "5.5.11", "5.5.12")
    }
    expected |= {"B-Definition-5.5.9", "B-Definition-5.5.10"}
    assert expected | ERRATA <= set(CLAIMS)


# -- the independent implementations are what they say
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(GROUPS))
def test_matrix_bundles_have_an_action(name: str) -> None:
    """Symbols and elements belong together, moved vectors have the turned velocity, and Ad is a
    homomorphism.
    """
    model = matrix_bundle(name)
    for here in matrix_bundles.samples(name):
        g = model.element(here.q[G])
        assert np.allclose(model.symbols(g), here.q[G]) and np.allclose(
            model.adjoint(here.h @ g), model.adjoint(here.h) @ model.adjoint(g)
        )
        there, step = model.moved(here.h, here.q), 1e-6
        quotient = (model.moved(here.h, here.q + step * here.u) - there) / step
        assert np.allclose(quotient, model.pushed(here.h, here.q, here.u), atol=1e-5)
        assert np.abs(model.curvature(here.q, here.u, here.v)).max() > 1e-3


@pytest.mark.parametrize("kind", list(KINDS))
def test_random_bundles_are_invariant_and_their_spots_obey_the_constraints(kind: str) -> None:
    model = bundle_system(kind)
    for spot in bundle_samples(kind):
        push, moved = spot.pushed, spot.moved
        assert np.allclose(push.T @ model.mass(moved) @ push, model.mass(spot.q))
        assert np.allclose(model.rows(moved) @ push, model.rows(spot.q)) and np.allclose(
            model.rows(spot.q) @ spot.v, 0
        )
        assert np.linalg.eigvalsh(model.mass(spot.q))[0] > 0.1 and np.abs(spot.v).max() > 1e-2
        assert model.horizontal(spot.q).shape == (SIZE, 2)


# -- an error in the library would be seen ---------------------------------------------------------


@pytest.fixture
def fresh() -> Any:
    """Connections and functions made anew, before and after."""

    def forget() -> None:
        matrix_bundles.library.cache_clear()
        matrix_bundles._function.cache_clear()

    forget()
    yield
    forget()


@pytest.mark.long
@pytest.mark.parametrize(
    "identifier",
    ["B-Theorem-2.9.13", "B-Corollary-2.9.14-right", "B-2.9.3", "B-Proposition-2.9.16"],
)
def test_the_other_order_of_indices_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    right = PrincipalConnection.curvature.func
    wrong = property(lambda self: -right(self))
    monkeypatch.setattr(PrincipalConnection, "curvature", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.long
@pytest.mark.parametrize(
    "identifier", ["B-Lemma-2.9.13", "B-2.9.2", "B-Proposition-2.9.15", "B-2.9-definition"]
)
def test_a_form_that_is_slightly_off_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    right = PrincipalConnection.form.func
    wrong = property(lambda self: right(self) * (1 + 1e-6 * self.shape[0]))
    monkeypatch.setattr(PrincipalConnection, "form", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.parametrize(
    "identifier",
    ["B-5.5.16", "B-5.5.23", "B-5.5.25-momenta", "B-Proposition-5.5.12", "B-3.8-local"],
)
def test_a_local_form_that_is_slightly_off_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = ShapeNumbers.at

    def wrong(self: ShapeNumbers, values: Any) -> ShapeValues:
        found = right(self, values)
        found.connection[0, 0] += 1e-6
        return found

    monkeypatch.setattr(ShapeNumbers, "at", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.parametrize(
    "identifier",
    ["B-Definition-5.5.10", "B-Proposition-5.5.11", "B-Proposition-5.5.12", "B-5.5.25"],
)
def test_another_complement_of_the_momenta_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S a little turned."""
    right = connection_numbers.rank

    def wrong(matrix: Any, tolerance: float = 1e-9) -> Any:
        found = right(matrix, tolerance)
        return found._replace(
            null_space=found.null_space + 1e-6 * np.roll(found.null_space, 1, axis=0)
        )

    monkeypatch.setattr(connection_numbers, "rank", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.parametrize(
    "identifier", ["B-3.8.6", "B-3.8.7", "B-3.8.9", "B-Proposition-3.8.5", "B-5.5.22-inertia"]
)
def test_generators_that_are_slightly_off_are_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = momentum_maps.MomentumMap._place

    def wrong(self: Any, *arguments: Any) -> Any:
        K, M = right(self, *arguments)
        K = K.copy()
        K[-1, 0] += 1e-6
        return K, M

    monkeypatch.setattr(momentum_maps.MomentumMap, "_place", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


def test_a_rank_that_is_wrong_is_not_reproduced(monkeypatch: pytest.MonkeyPatch) -> None:
    right = momentum_maps.MomentumMap.rank
    monkeypatch.setattr(
        momentum_maps.MomentumMap, "rank", lambda self, *state: min(2, right(self, *state))
    )
    assert CLAIMS["B-Proposition-3.7.8"].row().verdict == "not reproduced"
