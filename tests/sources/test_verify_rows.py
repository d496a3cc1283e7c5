"""The table of recomputed results: every row holds, every correction is needed, and the judge can
say no.
"""

from __future__ import annotations

import importlib
import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import dalembert.verification
from dalembert.analysis.variational.transitivity import Transitivity, TransitivitySymbols
from dalembert.errors import ModelError
from dalembert.verification import Row, identifiers, rows, summary
from dalembert.verification.independent.instant_samples import ReductionProbe, motions
from dalembert.verification.numeric import distance
from dalembert.verification.row_registry import (
    SEPARATION,
    Claim,
    Corrected,
    Tests,
    claim,
    judge,
    listed,
    registered,
)
from dalembert.verification.samples import sampler
from dalembert.verification.udwadia.constrained_motion import examples

SYMBOLS = ("U", "G", "R")
CLAIMS = {item.id: item for item in registered(SYMBOLS)}

#: The errata of the documents, by the row that shows them.
ERRATA = {
    "U-19", "U-40", "U-48", "U-72", "U-4.3", "G-14", "G-16", "G-17", "G-18", "G-19", "G-10.1.2",
    "G-10.2.1-length", "G-10.2.1-squares", "G-10.2.2", "G-sec11-listing", "G-Figure-1",
    "G-12.1-sign", "G-12.1-guide", "G-60", "G-62", "G-62-integrable", "G-66", "G-67", "G-69",
    "G-12.2-velocities", "G-Figure-6", "G-Figure-6-caption", "G-Figure-7", "G-71", "R-1.2",
    "R-1.23", "R-2.3", "R-3.10", "R-3.13", "R-3.14", "R-3.15", "R-3.16", "R-3.18", "R-3.18-chain",
    "R-3.21", "R-4.6", "R-ex4.2-energy", "R-ex4.2-centre", "R-ex4.2-spin", "R-ex4.2-motion",
}  # fmt: skip
SLOW = {"U-section-5-norm", "R-3.5"}


@cache
def row_of(identifier: str) -> Row:
    (row,) = rows([identifier])
    return row


@pytest.mark.parametrize(
    "identifier",
    [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in CLAIMS],
)
def test_a_row_is_reproduced_with_a_correction_where_the_print_is_wrong(identifier: str) -> None:
    row, tolerance = row_of(identifier), CLAIMS[identifier].tolerance
    assert row.residual <= tolerance, row
    if identifier in ERRATA:
        assert row.verdict == "reproduced with correction"
        assert row.printed_residual is not None and row.printed_residual > SEPARATION * tolerance
    else:
        assert row.verdict == "reproduced" and row.printed_residual is None


#: How many numbered equations each section of Rumyantsev's has.
SECTIONS = {1: 23, 2: 8, 3: 21, 4: 6, 5: 11}


def test_every_numbered_equation_of_the_documents_has_a_row() -> None:
    expected = {f"U-{number}" for number in range(1, 77)} | {
        f"G-{number}" for number in range(1, 74)
    }
    expected |= {
        f"R-{section}.{number}"
        for section, last in SECTIONS.items()
        for number in range(1, last + 1)
    }
    assert expected <= set(CLAIMS)


def test_every_erratum_has_a_row() -> None:
    assert set(CLAIMS) >= ERRATA


def test_every_row_says_what_it_tests() -> None:
    assert not [item.id for item in registered() if item.tests not in get_args(Tests)]


def test_every_corrected_row_says_whose_fault_it_may_be() -> None:
    faulty = {name for name, item in CLAIMS.items() if item.fault is not None}
    assert faulty == ERRATA


def test_a_summary_counts_verdicts_tests_and_faults_apart() -> None:
    one = Row("X-1", "", "", 0.0, None, "reproduced", "part")
    two = Row("X-2", "", "", 0.0, 1.0, "reproduced with correction", "mathematics", "print")
    found = summary([one, two, one])
    assert found.verdicts == {"reproduced": 2, "reproduced with correction": 1, "not reproduced": 0}
    assert found.tests == {"public function": 0, "part": 2, "mathematics": 1}
    assert found.faults == {"print": 1, "transcription": 0, "unknown": 0}


def test_ids_are_unique_and_listed_in_the_order_of_the_table() -> None:
    listed = [identifier for identifier in identifiers() if identifier.split("-")[0] in SYMBOLS]
    assert listed == list(CLAIMS)
    assert len({identifier.lower() for identifier in listed}) == len(listed)


def test_a_symbol_selects_a_document_and_ids_are_found_in_any_case() -> None:
    assert [row.id for row in rows(["u-23", "U-23", "g-42"])] == ["U-23", "G-42"]
    table = rows("U")
    assert next(table).id == "U-1" and next(table).id == "U-2"


def test_rows_are_computed_one_by_one() -> None:
    """The first row of a long table is there before the others were touched."""
    table = rows()
    first = next(table)
    assert isinstance(first, Row) and first == row_of(first.id)


@pytest.mark.parametrize(
    ("wanted", "near"), [("U-366", "U-36"), ("G-Figure6", "G-Figure-6"), ("gauss", None)]
)
def test_an_unknown_id_is_refused_at_once_with_the_nearest(wanted: str, near: str | None) -> None:
    with pytest.raises(ModelError) as caught:
        rows([wanted])
    assert near is None or near in str(caught.value)


def test_a_wrong_formula_is_not_reproduced() -> None:
    """Eq. 42 with the sign of its pull reversed, judged like any other row."""

    def wrong() -> float:
        probe, time, state = examples("spherical-pendulum")[0]
        m, g, length = (probe.parameters[name] for name in ("m", "g", "L"))
        pull = m / length**2 * (state[3:] @ state[3:] / m**2 + g * state[2])
        return distance(probe.rates(time, state)[3:], np.array([0, 0, m * g]) + pull * state[:3])

    row = Claim("X-1", "a sign the wrong way round", "library p_dot", 1e-10, wrong).row()
    assert row.verdict == "not reproduced" and row.residual > 1e-3


def test_rows_of_the_symbols_see_a_wrong_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's A_s^a turned around, in the public function and in the part that a row takes
    from the reduction, on instants that have not asked for it yet.
    """
    honest, public = ReductionProbe.__call__, Transitivity.at

    def turned(self: ReductionProbe, *state: object) -> dict[str, object]:
        found = honest(self, *state)
        return found | {"symbols": -found["symbols"]}

    def turned_public(self: Transitivity, *state: object) -> TransitivitySymbols:
        found = public(self, *state)
        return replace(found, coefficients=-found.coefficients)

    monkeypatch.setattr(ReductionProbe, "__call__", turned)
    monkeypatch.setattr(Transitivity, "at", turned_public)
    motions.clear()
    try:
        verdicts = {
            row.id: row.verdict
            for row in rows(["R-1.9", "R-1.10", "R-1.12", "R-1.13", "R-2.8-equivalent"])
        }
    finally:
        motions.clear()
    assert set(verdicts.values()) == {"not reproduced"}, verdicts


def test_a_correction_of_something_that_was_right_is_not_reproduced() -> None:
    assert judge(1e-15, 1e-15, 1e-10) == "not reproduced"
    assert (
        Claim("X-2", "", "", 1e-10, lambda: Corrected(0.0, 0.0)).row().verdict == "not reproduced"
    )


def test_what_is_not_a_number_or_cannot_be_computed_is_not_reproduced() -> None:
    def refused() -> float:
        raise ModelError("No such thing")

    assert judge(math.nan, None, 1e-10) == judge(math.nan, 1.0, 1e-10) == "not reproduced"
    row = Claim("X-3", "", "by hand", 1e-10, refused).row()
    assert row.verdict == "not reproduced" and "No such thing" in row.how


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Row]:
    """Register a function as a row of a table of its own, and compute it."""
    table: dict[str, Claim] = {}
    monkeypatch.setattr("dalembert.verification.row_registry._CLAIMS", table)

    def row(function: Callable[..., object], **options: object) -> Row:
        table.clear()
        words = {"claim": "two is two", "how": "by counting", **options}
        given = {name: words.pop(name) for name in ("over", "given", "misprint") if name in words}
        claim("X-1", words, **given)(function)
        return table["X-1"].row()

    return row


def test_a_row_takes_its_worst_residual_over_the_samples(register: Callable[..., Row]) -> None:
    drawn = sampler("a", "b", seed=3, count=2)(lambda kind, random: random.uniform())
    row = register(lambda s, shift=0.0: (0.0, np.array([s, -s]) - shift), over=drawn)
    assert row.residual == max(drawn) == drawn.worst(float) and row.printed_residual is None
    (moved,) = (register(lambda s, shift=0.0: s - shift, over=drawn, given={"shift": 1.0}),)
    assert moved.residual == 1 - min(drawn)
    assert math.isnan(register(lambda s: math.nan if s == min(drawn) else 0.0, over=drawn).residual)


def test_a_misprint_is_the_row_with_the_keywords_of_the_print(register: Callable[..., Row]) -> None:
    options = {"correction": "the print has three", "fault": "print", "misprint": {"two": 3}}
    row = register(lambda two=2: two - 2.0, **options)
    assert row.verdict == "reproduced with correction" and row.printed_residual == 1.0
    assert row.claim == "two is two; the print has three" and row.fault == "print"
    each = register(lambda s: Corrected(s - s, s), over=[0.5, -0.7])
    assert (each.residual, each.printed_residual) == (0.0, 0.7)


def test_samples_of_a_kind_do_not_depend_on_the_other_kinds() -> None:
    drawn = sampler("a", "b", seed=3)(lambda kind, random: random.uniform())
    later = drawn("b")
    assert drawn("a", "b") == drawn() == (*drawn("a"), *later) and drawn.of("b")() == later
    assert drawn.first(1)() == (drawn("a")[0], later[0]) and len(drawn) == 6
    assert drawn.map(lambda x: 2 * x)("b") == tuple(2 * x for x in later)


def test_results_may_share_a_function_but_not_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalembert.verification.row_registry._CLAIMS", table := {})
    first = claim("X-1", {"claim": "", "how": ""}, given={"shift": 1.0})
    first(claim("X-2", {"claim": "", "how": ""})(lambda shift=0.0: shift))
    assert [table[name].row().residual for name in ("X-1", "X-2")] == [1.0, 0.0]
    with pytest.raises(ModelError, match="X-1"):
        claim("X-1", {"claim": "", "how": ""})(test_every_erratum_has_a_row)


def test_a_row_without_words_is_refused() -> None:
    from dalembert.verification.udwadia.constrained_motion import work_split

    with pytest.raises(ModelError, match="X-1"):
        listed("X-1")(work_split)


def test_every_entry_of_a_file_of_words_is_a_row_of_its_module() -> None:
    by_module: dict[str, list[str]] = {}
    for item in registered():
        by_module.setdefault(item.module, []).append(item.id)
    for module, ids in by_module.items():
        file = Path(importlib.import_module(module).__file__).with_suffix(".toml")
        assert list(tomllib.loads(file.read_text(encoding="utf-8"))) == ids, module
    files = {path.stem for path in Path(dalembert.verification.__file__).parent.glob("*/**/*.toml")}
    assert files == {module.rpartition(".")[2] for module in by_module}
