"""A sample of `python -m soak differential`: textbooks, SymPy's methods and an independent
implementation in CasADi say what dalembert says.

Each comparison is also made with a wrong sign in dalembert's words, which it must see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soak.differential import CASADI, HAND, KANE, LAGRANGE, QUASI
from soak.differential_bodies import bodies_case
from soak.differential_casadi import Reference
from soak.differential_cases import Case, Word, case_from, gallery_case, gap_of
from soak.differential_hand import HOLONOMIC, Hand, double_pendulum, pendulum_by_its_rod
from soak.differential_hand_rolling import ROLLING, chaplygin_sleigh, driven_oscillator
from soak.differential_ledger import (
    LIMIT,
    MOTION_LIMIT,
    Answer,
    Ledger,
    guarded,
    healthy,
    moved,
    said_by,
    triage_rows,
)
from soak.differential_sympy import KanePeer, LagrangePeer, sign_of_multipliers

from dalembert.formulations.forms import lagrange


def peer_of(name: str, case: Case, hand: Hand | None = None) -> Any:
    """What speaks for a peer, in this process."""
    match name:
        case "textbooks":
            assert hand is not None
            return hand.word
        case "CasADi":
            return Reference(case.statement).word
        case "LagrangesMethod":
            return LagrangePeer(case.statement).word
    reactions, quasi = name == KANE, name == QUASI
    return KanePeer(
        case.statement, case.bodies, case.states[0], quasi=quasi, reactions=reactions
    ).word


def account(name: str, case: Case, hand: Hand | None = None, moving: bool = False) -> Ledger:
    """The ledger of one case before one peer."""
    ledger, reference = Ledger(), Reference(case.statement)
    usable = healthy(case, reference)
    assert usable is not None
    ledger.hear(
        name,
        usable,
        reference,
        guarded(lambda: said_by(peer_of(name, usable, hand), usable, moving)),
    )
    return ledger


def agrees(ledger: Ledger, name: str) -> bool:
    """Whether the peer was compared, and nothing was found."""
    return ledger.tallies[name].states > 0 and not ledger.findings


def turned(case: Case, what: str) -> Case:
    """The case with a wrong sign in dalembert's accelerations, or in its reactions."""
    if what == "accelerations":
        words = [replace(word, accelerations=-word.accelerations) for word in case.words]
    else:
        words = [
            Word(w.accelerations, -w.reaction, {k: -f for k, f in w.reactions.items()})
            for w in case.words
        ]
    return replace(case, words=tuple(words))


@pytest.mark.parametrize("write", (*HOLONOMIC, *ROLLING), ids=lambda write: write.__name__)
def test_a_textbook_says_the_same(write: Callable[[], Hand]) -> None:
    """Accelerations, reactions where the context has them, and the end of a motion by scipy's
    DOP853 on the context's equations.
    """
    hand = write()
    assert hand.source
    case = hand.case()
    for state, word in zip(case.states, case.words, strict=True):
        gap, what = gap_of(word, hand.word(state))
        assert gap < LIMIT, what
    last = case.states[-1]
    end = moved(hand.word, case.states[0], last.time)
    assert np.allclose(end, np.concatenate([last.q, last.v]), rtol=MOTION_LIMIT, atol=MOTION_LIMIT)


@pytest.mark.parametrize(
    ("kinds", "stated"), [("hm", "hamiltonian"), ("rvd", "lagrangian"), ("n", "bundle")]
)
def test_casadi_says_the_same_of_random_systems(kinds: str, stated: str) -> None:
    case = case_from(311, 3, kinds, stated, 1)
    assert case is not None
    assert agrees(account(CASADI, case), CASADI)


@pytest.mark.long
def test_lagranges_method_says_the_same() -> None:
    case = case_from(312, 2, "r", "kinetic", 0, plain=True)
    assert case is not None
    assert case.motion is not None and case.motion.equations.form == "lagrange"
    assert case.words[0].reactions, "the multiplier of a single constraint is compared"
    assert agrees(account(LAGRANGE, case, moving=True), LAGRANGE)
    assert agrees(account(LAGRANGE, gallery_case("appell")), LAGRANGE)


@pytest.mark.long
def test_kanes_method_says_the_same_with_both_kinds_of_speeds() -> None:
    case = bodies_case(1, 7000)
    assert case is not None and case.system.constraints
    assert agrees(account(KANE, case), KANE)
    assert agrees(account(QUASI, case), QUASI)


@pytest.mark.parametrize("what", ["accelerations", "reactions"])
@pytest.mark.parametrize("peer", [HAND, CASADI, LAGRANGE, KANE])
def test_a_wrong_sign_of_ours_is_seen(peer: str, what: str) -> None:
    hand = pendulum_by_its_rod()
    case = turned(hand.case(), what)
    ledger = account(peer, case, hand)
    assert ledger.findings and all(finding.ours_wrong for finding in ledger.findings)
    counted, faults = ledger.triage(triage_rows())
    assert len(faults) == len(ledger.findings) and not counted
    assert "dalembert is wrong" in faults[0]


def test_a_wrong_sign_in_the_energy_of_ours_is_seen() -> None:
    """Our motion is that of a pendulum whose weight points upwards; everybody else is told the
    right one.
    """
    hand = double_pendulum()
    wrong = hand.system.replacing(potential=-hand.system.potential)
    case = replace(replace(hand, system=wrong).case(), system=hand.system)
    for peer in (HAND, CASADI):
        assert account(peer, case, hand).findings


@pytest.mark.parametrize("peer", [HAND, CASADI, LAGRANGE, KANE, QUASI])
def test_a_wrong_sign_in_our_derivation_is_seen(peer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The applied forces of Lagrange's form with the other sign, through native code and a
    motion.
    """
    right = lagrange.applied_force
    monkeypatch.setattr(lagrange, "applied_force", lambda *given: -right(*given))
    hand = driven_oscillator()
    ledger = account(peer, hand.case(), hand)
    assert ledger.findings and all(finding.ours_wrong for finding in ledger.findings)


def test_a_peer_that_is_wrong_is_told_from_us() -> None:
    """A disagreement that is theirs needs a row of the table, or else it is a fault too."""
    hand = chaplygin_sleigh()
    case = hand.case()
    reference = Reference(case.statement)
    wrong = tuple(replace(word, accelerations=word.accelerations + 1e-6) for word in case.words)
    ledger = Ledger()
    ledger.hear(CASADI, case, reference, Answer(wrong))
    assert ledger.findings and not any(finding.ours_wrong for finding in ledger.findings)
    faults = ledger.triage(triage_rows())[1]
    assert len(faults) == len(ledger.findings) and "no row of the triage" in faults[0]
    row = {"peer": CASADI, "outcome": "differs", "when": ["hand"], "whose": "theirs"}
    counted, faults = ledger.triage([row])
    assert counted[0] == len(ledger.findings) and not faults


def test_fifty_digits_agree_with_doubles_and_with_a_textbook() -> None:
    hand = chaplygin_sleigh()
    case = hand.case()
    reference = Reference(case.statement)
    for state in case.states:
        assert gap_of(reference.exactly(state), reference.word(state))[0] < 1e-13
        assert gap_of(reference.exactly(state), hand.word(state))[0] < 1e-13


def test_the_multiplier_of_eom_still_has_the_other_sign() -> None:
    """SymPy's issue 30215; the day on which this fails, the row of the table goes."""
    assert sign_of_multipliers() == -1.0


def test_the_triage_is_complete() -> None:
    """Each row says who does what, whose it is and who decided; a known issue is named by its
    number.
    """
    for row in triage_rows():
        assert row["whose"] in ("theirs", "ours", "ill-posed")
        assert row["peer"] in (LAGRANGE, KANE, QUASI, CASADI, HAND)
        assert all(len(row[key]) > 20 for key in ("they", "we", "third"))
        assert all(issue.startswith("sympy/sympy#") for issue in row["issues"])


def test_a_run_is_taken_up_where_it_stopped(tmp_path: Path) -> None:
    case = pendulum_by_its_rod().case()
    ledger = account(CASADI, turned(case, "reactions"))
    ledger.draws, ledger.tallies[CASADI].raised["ValueError (other)"] = 7, 2
    ledger.keep(tmp_path / "run.json")
    assert Ledger.taken_up(tmp_path / "run.json") == ledger
    assert Ledger.taken_up(tmp_path / "none.json") == Ledger()


def test_words_differ_by_nan_and_by_less_than_the_limit() -> None:
    word = Word(np.array([1.0, 2.0]), np.array([3.0, 0.0]))
    assert gap_of(word, Word(np.array([1.0, np.nan])))[0] == np.inf
    assert gap_of(word, Word(np.array([1.0, 2.0 + LIMIT]), np.array([3.0, 0.0])))[0] < LIMIT
