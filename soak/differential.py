"""dalembert says what other programs and textbooks say of the same system, or the table of
disagreements says who is wrong.

Accelerations and reactions at consistent states, and for a share the ends of motions, are compared
with SymPy's LagrangesMethod and KanesMethod (u = q_dot, and quasi-speeds), with Lagrange's
equations written straight in CasADi, and with equations of textbooks, written out: on random
systems, random bodies, every mechanical system of the gallery, and those of the textbooks. Our side
is what a user gets: native code along a motion.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dalembert as da

from .differential_bodies import bodies_case
from .differential_casadi import Reference
from .differential_cases import Case, gallery_case, random_case
from .differential_hand import HOLONOMIC, Hand
from .differential_hand_rolling import ROLLING
from .differential_large import LARGE, large_case
from .differential_ledger import Finding, Ledger, guarded, healthy, in_a_child, said_by, triage_rows
from .differential_special import special_case
from .differential_sympy import KanePeer, LagrangePeer, sign_of_multipliers
from .harness import Options, Report

LAGRANGE, KANE, QUASI, CASADI, HAND = (
    "LagrangesMethod",
    "KanesMethod",
    "KanesMethod, quasi-speeds",
    "CasADi",
    "textbooks",
)
#: Seconds of processor time that SymPy has for one system.
PATIENCE = 20.0
#: One of so many systems is also followed along a motion.
MOVING = 6


def run(options: Options, report: Report) -> None:
    """Textbooks and gallery, then random systems until the time is over; a run that was stopped
    goes on.
    """
    kept, path = os.environ.get("DALEMBERT_CACHE"), stopped_run(options)
    os.environ["DALEMBERT_CACHE"] = str(options.scratch / "cache")
    ledger = Ledger.taken_up(path)
    began, before = time.monotonic(), ledger.seconds
    try:
        if not ledger.tallies:
            named_systems(ledger, options.quick, report.say)
        while (
            ledger.draws < 6
            if options.quick
            else before + time.monotonic() - began < 60.0 * options.minutes
        ):
            random_systems(ledger, ledger.draws, 10_000 * options.seed)
            ledger.draws += 1
            ledger.seconds = before + time.monotonic() - began
            if ledger.draws % 10 == 0:
                ledger.keep(path)
                report.say(
                    f"  {ledger.draws} draws: "
                    + ", ".join(f"{k} {v.systems}" for k, v in ledger.tallies.items())
                )
        ledger.keep(path)
    finally:
        os.environ.pop("DALEMBERT_CACHE")
        if kept is not None:
            os.environ["DALEMBERT_CACHE"] = kept
        write(ledger, report)
    if not report.faults:
        path.unlink()


def stopped_run(options: Options) -> Path:
    """Where a run is kept until it is over without faults; a run with faults is judged again when
    the table was mended.
    """
    if options.quick:
        return options.scratch / "differential-run.json"
    return (
        Path(tempfile.gettempdir())
        / f"dalembert-soak-differential-{options.seed}-{os.getuid()}.json"
    )


def named_systems(ledger: Ledger, quick: bool, say: Callable[[str], Any]) -> None:
    """The textbooks' systems against the contexts and against every peer, then the gallery; a few
    of them in a smoke run.
    """
    hands = (*HOLONOMIC, *ROLLING)
    for hand in hands[::9] if quick else hands:
        textbook(ledger, hand())
    names = da.gallery.names("mechanical")
    for name in names[2:4] if quick else names:
        case = gallery_case(name)
        ask(ledger, case, (CASADI, LAGRANGE), moving="image" not in case.tags)
    ratio = sign_of_multipliers()
    if ratio < 0:
        text = f"the multiplier of eom is {ratio:g} times that of mass_matrix_full"
        ledger.findings.append(
            Finding(
                LAGRANGE,
                "a pendulum",
                ("constrained",),
                "multiplier of eom has the other sign",
                text,
            )
        )
    say(f"  {len(hands)} systems of textbooks, {len(names)} of the gallery")


def textbook(ledger: Ledger, hand: Hand) -> None:
    """A system with the context's own equations; particles also by KanesMethod."""
    case = hand.case()
    reference = Reference(case.statement)
    usable = healthy(case, reference)
    assert usable is not None, f"{hand.name} has no generic state"
    ledger.hear(HAND, usable, reference, guarded(lambda: said_by(hand.word, usable, True)))
    ask(
        ledger,
        case,
        (CASADI, LAGRANGE, *((KANE, QUASI) if case.bodies is not None else ())),
        moving=True,
    )


def random_systems(ledger: Ledger, number: int, seed: int) -> None:
    """One draw: a random system, every second one also before LagrangesMethod; random bodies,
    special and large ones.
    """
    to_sympy = (number % 34 + number // 34) % 2 == 0
    case = random_case(number, seed, small=to_sympy)
    if case is None:
        ledger.set_aside += 1
    else:
        slow = len(case.system.coordinates) > (
            2 if case.system.is_hamiltonian or case.system.bundle else 4
        )
        ask(
            ledger,
            case,
            (CASADI, LAGRANGE) if to_sympy and not slow else (CASADI,),
            number % MOVING == 0,
        )
    if number % 5 == 2:
        ask(ledger, special_case(number // 5, seed + 700_000), (CASADI,), number % 2 == 0)
    if number % 40 == 20:
        kind, sizes = LARGE[number // 40 % len(LARGE)]
        ask(
            ledger,
            large_case(kind, sizes[number // 160 % len(sizes)], seed + number),
            (CASADI,),
            moving=True,
        )
    if number % 3 == 0:
        place = number // 3
        case = bodies_case(place, seed + 500_000)
        if case is None:
            ledger.set_aside += 1
        else:
            ask(
                ledger,
                case,
                (CASADI, QUASI if (place // 19 + place) % 2 else KANE),
                place % MOVING == 0,
            )


def ask(ledger: Ledger, case: Case, peers: tuple[str, ...], moving: bool) -> None:
    """One case before some peers; states without digits are set aside."""
    reference = Reference(case.statement)
    usable = healthy(case, reference)
    ledger.set_aside += len(case.states) - (0 if usable is None else len(usable.states))
    if usable is None:
        return
    moving = (
        moving
        and case.motion is not None
        and len(usable.states) == len(case.states) > 1
        and not usable.system.image
    )
    for peer in peers:
        if peer == CASADI:
            answer = guarded(lambda: said_by(reference.word, usable, moving))
        else:
            answer = in_a_child(
                lambda peer=peer: said_by(sympy_peer(peer, usable).word, usable, moving), PATIENCE
            )  # type: ignore[misc]
        ledger.hear(peer, usable, reference, answer)


def sympy_peer(peer: str, case: Case) -> LagrangePeer | KanePeer:
    """A peer of SymPy that knows a case; KanesMethod gives the total reaction where u = q_dot, by a
    second derivation.
    """
    if peer == LAGRANGE:
        return LagrangePeer(case.statement)
    reactions = peer == KANE and len(case.system.coordinates) < 4
    return KanePeer(
        case.statement, case.bodies, case.states[0], quasi=peer == QUASI, reactions=reactions
    )


def write(ledger: Ledger, report: Report) -> None:
    """The figures of the run, and its faults."""
    for peer, tally in ledger.tallies.items():
        report.figure(f"{peer}: systems compared", tally.systems)
        report.figure(f"{peer}: states compared", tally.states)
        report.figure(
            f"{peer}: worst relative difference of accelerations and reactions",
            float(f"{tally.worst:.2g}"),
        )
        report.figure(f"{peer}: where", tally.where)
        report.figure(f"{peer}: motions compared", tally.motions)
        report.figure(
            f"{peer}: worst relative difference at the end of a motion",
            float(f"{tally.worst_motion:.2g}"),
        )
        report.figure(f"{peer}: refused or raised", dict(sorted(tally.raised.items())) or "none")
        report.figure(f"{peer}: too slow (more than {PATIENCE:g} s of CPU)", tally.too_slow)
    report.figure("states set aside as ill-posed", ledger.set_aside)
    rows = triage_rows()
    fitting, faults = ledger.triage(rows)
    for whose in ("theirs", "ours", "ill-posed"):
        found = sum(times for place, times in fitting.items() if rows[place]["whose"] == whose)
        report.figure(f"disagreements and refusals triaged as {whose}", found)
    for place, times in sorted(fitting.items()):
        row = rows[place]
        report.figure(f"triage: {row['peer']}, {row['outcome']}, {' '.join(row['when'])}", times)
    report.figure("third opinions in 50 digits on dalembert", ledger.opinions)
    report.figure(
        "third opinions: worst relative difference of dalembert",
        float(f"{ledger.worst_opinion:.2g}"),
    )
    report.figure(
        "minutes of the run, with those before it was taken up", round(ledger.seconds / 60.0, 1)
    )
    for fault in faults:
        report.fault(fault)
