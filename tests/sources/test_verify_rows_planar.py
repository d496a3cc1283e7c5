"""The rows of Bloch's sections 2.1 and 3.13: each holds, each erratum is needed, and each would
notice an error.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from dalembert.analysis.proofs import existence
from dalembert.model.builders.planar_bodies import PlanarBodies
from dalembert.verification import rows
from dalembert.verification.bloch.chapter_2 import section_2_1_existence as particles
from dalembert.verification.bloch.chapter_3 import section_3_13_planar_bodies as two
from dalembert.verification.bloch.chapter_3 import section_3_13_planar_bodies_three as three
from dalembert.verification.independent import hinged_bodies as planar
from dalembert.verification.row_registry import registered
from verify_rows import assert_verdict

SECTIONS = ("B-2.1-", "B-2.1.", "B-3.13", "B-Theorem-3.13")
CLAIMS = {item.id: item for item in registered(("B",)) if item.id.startswith(SECTIONS)}

#: Where the print is wrong.
ERRATA = {
    "B-2.1-speed", "B-2.1-velocity", "B-2.1-backwards", "B-2.1-blow-up", "B-3.13.48",
    "B-3.13-equal-rates", "B-3.13-antiparallel", "B-3.13.50", "B-3.13.53-mixed", "B-3.13.54",
    "B-3.13.55", "B-3.13.56", "B-3.13.57", "B-3.13.58", "B-3.13.59", "B-3.13.59-I1",
    "B-3.13.59-I2", "B-3.13.59-lambda31",
}  # fmt: skip


@pytest.mark.parametrize("identifier", CLAIMS)
def test_a_row_is_reproduced_with_a_correction_where_the_print_is_wrong(identifier: str) -> None:
    assert_verdict(CLAIMS[identifier], identifier, ERRATA)


def test_every_numbered_result_has_a_row() -> None:
    expected = {"B-2.1.3", "B-2.1.4", "B-Theorem-3.13.2", "B-Theorem-3.13.3"}
    expected |= {f"B-3.13.{number}" for number in range(45, 61)}
    assert expected | ERRATA <= set(CLAIMS)


# -- an error in the library would be seen ---------------------------------------------------------


@pytest.fixture
def fresh() -> object:
    """Bodies that were not compiled before, and are not kept after."""
    kept = (planar.shape, planar.full_probe, two._inertia, three._lowered)
    for function in kept:
        function.cache_clear()
    yield
    for function in kept:
        function.cache_clear()


@pytest.mark.parametrize(
    "identifier",
    ["B-3.13.45", "B-3.13.47", "B-3.13.49", "B-3.13.59-I3", "B-3.13.59-lambda23", "B-3.13.60"],
)
def test_an_inertia_that_is_slightly_off_is_not_reproduced(
    identifier: str, monkeypatch: pytest.MonkeyPatch, fresh: object
) -> None:
    honest = PlanarBodies._inertia

    def wrong(self: PlanarBodies, angles: object) -> sympy.Matrix:
        return honest(self, angles) * (1 + sympy.Rational(1, 10**6))

    monkeypatch.setattr(PlanarBodies, "_inertia", wrong)
    assert CLAIMS[identifier].row().verdict == "not reproduced"


def test_a_bound_that_is_slightly_small_is_not_reproduced(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = existence.ExistenceBound.radius
    monkeypatch.setattr(
        existence.ExistenceBound, "radius", lambda self, times: honest(self, times) * (1 - 1e-6)
    )
    verdicts = {
        row.id: row.verdict for row in rows(["B-2.1-theorem", "B-2.1.4", "B-2.1-comparison"])
    }
    assert set(verdicts.values()) == {"not reproduced"}, verdicts


def test_the_numeric_bodies_keep_their_hinges_together() -> None:
    """The independent implementation itself: hinges coincide, and the centre of mass stays."""
    for parents in (planar.CHAIN[3], planar.TREE):
        model = planar.bodies(parents, 4)
        angles, arms = model.angles(np.linspace(-1, 2, model.count - 1)), model.arms()
        places = [
            sum(planar.turn(angles[k]) @ arms[i, k] for k in range(model.count))
            for i in range(model.count)
        ]
        assert np.abs(np.tensordot(model.masses, np.array(places), axes=1)).max() < 1e-14
        for child, parent in enumerate(parents, start=2):
            near = (
                places[parent - 1] + planar.turn(angles[parent - 1]) @ model.hinges[parent, child]
            )
            far = places[child - 1] + planar.turn(angles[child - 1]) @ model.hinges[child, parent]
            assert np.abs(near - far).max() < 1e-14


def test_both_statements_of_the_potentials_agree() -> None:
    for particle in particles.particles():
        point = np.linspace(-0.8, 1.1, len(particle.symbols))
        table = {q: sympy.Float(c) for q, c in zip(particle.system.coordinates, point, strict=True)}
        value = float(particle.system.potential.xreplace(table))
        assert value == pytest.approx(particle.mass * float(particle.numeric(point)), rel=1e-12)
