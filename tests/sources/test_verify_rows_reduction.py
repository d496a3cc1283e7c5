"""The rows of Bloch's sections 5.8 and 5.9: each holds, and each would notice an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dalembert.analysis.symmetry import reduced_coefficients
from dalembert.analysis.symmetry.reduced_coefficients import ReducedCoefficients
from dalembert.formulations.forms.bates_sniatycki import ConstraintManifold
from dalembert.verification.independent import planar_bundles, planar_charts
from dalembert.verification.independent.planar_bundles import (
    CONSTANTS,
    KINDS,
    PlanarSample,
    bracket,
    frame,
    planar,
    samples,
)
from dalembert.verification.numeric import Probe, derivative
from dalembert.verification.row_registry import registered
from verify_rows import assert_verdict

SECTIONS = ("5.8", "5.9")
CLAIMS = {item.id: item for item in registered(("B",)) if item.section in SECTIONS}

#: Where the print is wrong.
ERRATA = {
    "B-5.8.10", "B-5.9.1", "B-5.9.37", "B-5.9.61-invariance", "B-Figure-5.9.2",
    "B-5.9.72-contraction", "B-5.9.72-hamiltonian", "B-5.9.79-curvature-3", "B-5.9.80",
    "B-5.9.82-sum", "B-5.9.92-contraction", "B-5.9.96-speed",
}  # fmt: skip


@pytest.mark.parametrize("identifier", CLAIMS)
def test_a_row_is_reproduced_with_a_correction_where_the_print_is_wrong(identifier: str) -> None:
    assert_verdict(CLAIMS[identifier], identifier, ERRATA)


def test_every_numbered_result_has_a_row() -> None:
    expected = {f"B-5.8.{number}" for number in range(1, 12)} | {
        f"B-5.9.{number}" for number in range(1, 97)
    }
    expected |= {
        "B-Proposition-5.8.6",
        "B-Proposition-5.8.7",
        "B-Corollary-5.8.8",
        "B-Corollary-5.8.9",
        "B-Theorem-5.8.10",
    }
    expected |= {
        "B-Proposition-5.8.11",
        "B-Theorem-5.9.1",
        "B-Theorem-5.9.2",
        "B-Proposition-5.9.3",
    }
    assert expected | ERRATA <= set(CLAIMS)


# -- the independent implementations are what they say
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_both_statements_are_one_system(kind: str) -> None:
    """Momenta, rows and energies of the two, at velocities off the constraints."""
    probe = planar_bundles.planar_probe(kind, "lagrange")
    for s in samples(kind):
        u = s.u + np.array([0.3, -0.2, 0.5, 0.1, -0.4])
        blocks = probe.blocks(0.0, np.concatenate([s.q, u]))
        assert np.allclose(blocks.momenta, s.planar.momenta(s.q, u), atol=1e-13)
        assert np.allclose(blocks.A, s.planar.full_rows(s.q), atol=1e-13)
        assert blocks.momenta @ u - blocks.energy == pytest.approx(
            s.planar.full_lagrangian(s.q, u), abs=1e-12
        )


@pytest.mark.parametrize("kind", KINDS)
def test_places_obey_the_constraints_and_the_section_spans_what_they_allow(kind: str) -> None:
    for s in samples(kind):
        assert np.abs(s.planar.full_rows(s.q) @ s.u).max() < 1e-14
        rows_on_group = s.planar.rows(s.r)[:, 2:]
        section = s.planar.section(s.r)
        assert np.abs(rows_on_group @ section).max() < 1e-14
        assert (
            np.linalg.matrix_rank(section) == 3 - np.linalg.matrix_rank(rows_on_group) == s.planar.m
        )
        assert section.T @ (frame(s.g[2]).T @ s.planar.momenta(s.q, s.u)[:3]) == pytest.approx(
            s.p, abs=1e-13
        )


def test_the_random_system_is_not_a_special_case() -> None:
    found = planar("random")
    assert found.m == 2
    for s in samples("random"):
        assert np.abs(found.rows(s.r)[0, :2]).max() > 0.1  # shape velocities in the constraint
        assert np.abs(bracket(*found.section(s.r).T)).max() > 0.1  # momenta that do not commute


def test_the_frame_has_the_brackets_of_the_plane() -> None:
    """Left-invariant fields by complex steps: [ahead, turn] = -aside and so on."""
    g = np.array([0.4, -0.7, 1.2])
    derivatives = derivative(lambda x: frame(x[2]).ravel(), g).reshape(
        3, 3, 3
    )  # component, field, direction
    turned = np.einsum("ibj,ja->iab", derivatives, frame(g[2]))
    assert np.allclose(
        turned - np.swapaxes(turned, 1, 2),
        np.einsum("ic,abc->iab", frame(g[2]), CONSTANTS),
        atol=1e-14,
    )


# -- an error in the library would be seen ---------------------------------------------------------


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing computed before or afterwards is taken over."""
    kept = (planar, planar_bundles.planar_probe, planar_charts._field, planar_charts.library_form)
    kept += (planar_charts.reduced_form, planar_charts.forms_on_constraints)

    def forget() -> None:
        samples.clear()
        for function in kept:
            function.cache_clear()

    forget()
    yield
    forget()


RATES = [
    "B-5.8.1",
    "B-5.8.11",
    "B-5.9.4",
    "B-5.9.20",
    "B-5.9.28",
    "B-5.9.43",
    "B-5.9.52",
    "B-5.9.71",
    "B-5.9.80",
    "B-5.9.91",
]


@pytest.mark.long
@pytest.mark.parametrize("identifier", RATES)
def test_a_rate_that_is_slightly_off_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    right = Probe.rates

    def wrong(self: Probe, time: float, state: Any) -> Any:
        return right(self, time, state) + 1e-6

    monkeypatch.setattr(Probe, "rates", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


@pytest.mark.long
@pytest.mark.parametrize("identifier", ["B-5.9.53", "B-5.8.11", "B-5.9.79-curvature-1"])
def test_the_other_sign_of_the_curvature_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    right = PlanarSample.library.func  # type: ignore[attr-defined]

    def wrong(self: PlanarSample) -> ReducedCoefficients:
        from dataclasses import replace

        return replace(right(self), curvature=-right(self).curvature)

    monkeypatch.setattr(PlanarSample, "library", property(wrong))
    assert CLAIMS[identifier].row().verdict == "not reproduced"


def test_coefficients_that_fail_their_own_check_are_not_reproduced(
    monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    right = reduced_coefficients.moving_tensors

    def wrong(*arguments: Any) -> list[Any]:
        tables = right(*arguments)
        return [*tables[:5], -tables[5], *tables[6:]]  # gamma

    monkeypatch.setattr(reduced_coefficients, "moving_tensors", wrong)
    row = CLAIMS["B-5.8.6"].row()
    assert row.verdict == "not reproduced" and "stopped" in row.how


@pytest.mark.parametrize(
    "identifier", ["B-5.9.10-form", "B-5.9.68-form", "B-5.9.88-form", "B-5.9.11", "B-5.9.96"]
)
def test_a_two_form_without_its_turning_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    right = ConstraintManifold.turning.func  # type: ignore[attr-defined]
    monkeypatch.setattr(ConstraintManifold, "turning", property(lambda self: 0 * right(self)))
    assert CLAIMS[identifier].row().verdict == "not reproduced"
