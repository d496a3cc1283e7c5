"""The account of a differential run: who was asked, what they said, and whose every disagreement
is.

`differential_triage.toml` holds the judgement on each class of disagreements. One that no row of it
describes is a fault of the run, and so is one where the third opinion, the independent
implementation in numbers of 50 digits, says that dalembert is wrong.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from .differential_casadi import DOUBLES, Reference
from .differential_cases import Case, State, Word, gap_of, word_of

TRIAGE = Path(__file__).with_name("differential_triage.toml")
#: Relative differences of accelerations and reactions, and of the states at the end of a motion.
LIMIT, MOTION_LIMIT = 1e-9, 1e-6
#: Where rows are nearer than this to another rank, or accelerations are larger, a state is set
#: aside: nobody has digits there.
LEAST_ANGLE, LARGEST = 0.01, 1e4


@dataclass(frozen=True)
class Answer:
    """What a peer gave: words at the states and the end of a motion, or the name of what it
    raised.
    """

    words: tuple[Word, ...] = ()
    end: Any = None
    raised: str = ""
    text: str = ""


@dataclass
class Tally:
    """The figures of one peer."""

    systems: int = 0
    states: int = 0
    worst: float = 0.0
    where: str = ""
    motions: int = 0
    worst_motion: float = 0.0
    raised: dict[str, int] = field(default_factory=dict)
    too_slow: int = 0


@dataclass(frozen=True)
class Finding:
    """A disagreement: with whom, on what, what happened, and what is wrong with dalembert's words
    in 50 digits, if anything.
    """

    peer: str
    label: str
    tags: tuple[str, ...]
    outcome: str
    text: str
    ours_wrong: str = ""

    @property
    def sentence(self) -> str:
        """The finding in words."""
        verdict = (
            f"dalembert is wrong, {self.ours_wrong}" if self.ours_wrong else "dalembert is right"
        )
        return (
            f"{self.peer} on {self.label} ({', '.join(self.tags)}): {self.outcome}, {self.text}; in"
            f" 50 digits {verdict}"
        )


@dataclass
class Ledger:
    """Tallies by peer and findings; it can be kept and taken up again, so that a run goes on where
    it stopped.
    """

    tallies: dict[str, Tally] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    opinions: int = 0
    worst_opinion: float = 0.0
    set_aside: int = 0
    draws: int = 0
    seconds: float = 0.0

    def tally(self, peer: str) -> Tally:
        """The figures of a peer."""
        return self.tallies.setdefault(peer, Tally())

    def hear(self, peer: str, case: Case, reference: Reference, answer: Answer) -> None:
        """One answer: compared, counted, and triaged where it disagrees."""
        tally = self.tally(peer)
        if answer.raised == "TooSlow":
            tally.too_slow += 1
            return
        if answer.raised:
            classes = (
                "+".join(
                    sorted(
                        case.tags & {"dependent", "nonlinear", "image", "momentum", "hamiltonian"}
                    )
                )
                or "other"
            )
            key = f"{answer.raised} ({classes})"
            tally.raised[key] = tally.raised.get(key, 0) + 1
            self.judge(peer, case, reference, None, answer.raised, answer.text)
            return
        tally.systems += 1
        for place, (ours, theirs) in enumerate(zip(case.words, answer.words, strict=True)):
            tally.states += 1
            gap, what = gap_of(ours, theirs)
            if gap > LIMIT:
                self.judge(
                    peer,
                    case,
                    reference,
                    (place, theirs),
                    "differs",
                    f"{what} by {gap:.1e} at state {place + 1}",
                )
            elif gap > tally.worst:
                tally.worst, tally.where = gap, f"{what} of {case.label}"
        if answer.end is not None:
            self.hear_motion(tally, peer, case, reference, np.asarray(answer.end))

    def hear_motion(
        self, tally: Tally, peer: str, case: Case, reference: Reference, end: Any
    ) -> None:
        """The end of a motion by scipy's DOP853 on the peer's accelerations."""
        last = case.states[-1]
        ours = np.concatenate([last.q, last.v])
        gap = float(np.max(np.abs(ours - end) / (1.0 + np.abs(ours))))
        tally.motions += 1
        if not gap <= MOTION_LIMIT:
            self.judge(
                peer, case, reference, None, "motion differs", f"the end of the motion by {gap:.1e}"
            )
        else:
            tally.worst_motion = max(tally.worst_motion, gap)

    def judge(
        self,
        peer: str,
        case: Case,
        reference: Reference,
        theirs: tuple[int, Word] | None,
        outcome: str,
        text: str,
    ) -> None:
        """Writes a disagreement down, with the third opinion on both."""
        text = text[:160]
        if theirs is not None and not reference.statement.image:
            gap = gap_of(reference.exactly(case.states[theirs[0]]), theirs[1])[0]
            text += f", the peer is off by {gap:.1e}"
        wrong = self.third_opinion(case, reference)
        self.findings.append(
            Finding(peer, case.label, tuple(sorted(case.tags)), outcome, text, wrong)
        )

    def third_opinion(self, case: Case, reference: Reference) -> str:
        """What is wrong with dalembert's words, in 50 digits; nothing where they are right."""
        if reference.statement.image:
            return ""
        for place, (state, word) in enumerate(zip(case.states, case.words, strict=True)):
            gap, what = gap_of(word, reference.exactly(state))
            self.opinions += 1
            if gap > LIMIT:
                return f"{what} by {gap:.1e} at state {place + 1}"
            self.worst_opinion = max(self.worst_opinion, gap)
        return ""

    def triage(self, rows: Sequence[dict[str, Any]]) -> tuple[Counter[int], list[str]]:
        """How often each row of the table fits a finding, and the faults: what no row says, or the
        third opinion denies.
        """
        fitting: Counter[int] = Counter()
        faults = []
        for finding in self.findings:
            row = row_for(rows, finding)
            if row is None:
                faults.append(f"{finding.sentence}; no row of the triage speaks of it")
            elif finding.ours_wrong and rows[row]["whose"] == "theirs":
                faults.append(f"{finding.sentence}; the triage says that it is theirs")
            else:
                fitting[row] += 1
        return fitting, faults

    # -- kept --------------------------------------------------------------------------------------

    def keep(self, path: Path) -> None:
        """Writes the account to a file, at once or not at all."""
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self)))
        part.replace(path)

    @classmethod
    def taken_up(cls, path: Path) -> Ledger:
        """The account of a run that stopped, or a new one."""
        if not path.exists():
            return cls()
        kept = json.loads(path.read_text())
        tallies = {peer: Tally(**row) for peer, row in kept.pop("tallies").items()}
        findings = [Finding(**(row | {"tags": tuple(row["tags"])})) for row in kept.pop("findings")]
        return cls(tallies, findings, **kept)


def row_for(rows: Sequence[dict[str, Any]], finding: Finding) -> int | None:
    """The first row of the table that speaks of a finding."""
    for place, row in enumerate(rows):
        if (
            row["peer"] == finding.peer
            and row["outcome"] == finding.outcome
            and set(row["when"]) <= set(finding.tags)
        ):
            return place
    return None


def triage_rows() -> list[dict[str, Any]]:
    """The table."""
    return list(tomllib.loads(TRIAGE.read_text())["row"])


# -- asking ----------------------------------------------------------------------------------------


def healthy(case: Case, reference: Reference) -> Case | None:
    """The case at those of its states where rank and digits are beyond doubt, with the tag
    `dependent` where rows are.
    """
    kept, dependent = [], False
    for state, word in zip(case.states, case.words, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric, _, rows, *_ = reference.gauss_problem(state, DOUBLES)
        if not np.all(np.isfinite(metric)) or not np.abs(word.accelerations).max() < LARGEST:
            continue
        if len(rows):
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            sizes = np.linalg.svd(rows / lengths, compute_uv=False)
            dependent |= bool(len(rows) > len(sizes) or np.any(sizes < 1e-10))
            if np.any((sizes > 1e-10) & (sizes < LEAST_ANGLE)):
                continue
        kept.append((state, word))
    if not kept:
        return None
    states, words = zip(*kept, strict=True)
    tags = case.tags | ({"dependent"} if dependent else set())
    return Case(case.label, frozenset(tags), case.system, states, words, case.motion, case.bodies)


def said_by(speaker: Callable[[State], Word], case: Case, moving: bool) -> Answer:
    """The words of a speaker at the states, and the end of a motion where it is asked for."""
    words = tuple(speaker(state) for state in case.states)
    return Answer(words, moved(speaker, case.states[0], case.states[-1].time) if moving else None)


def moved(speaker: Callable[[State], Word], first: State, end: float) -> Any:
    """scipy's DOP853 on somebody's accelerations."""
    n = len(first.q)

    def rate(t: float, y: Any) -> Any:
        return np.concatenate([y[n:], speaker(State(t, y[:n], y[n:])).accelerations])

    start = np.concatenate([first.q, first.v])
    return solve_ivp(rate, (first.time, end), start, method="DOP853", rtol=1e-10, atol=1e-12).y[
        :, -1
    ]


def in_a_child(task: Callable[[], Answer], seconds: float) -> Answer:
    """A task in a child process, which the system ends after so many seconds of processor time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer_and_leave(task, writing, seconds)
    os.close(writing)
    text, patience = b"", time.monotonic() + 20.0 * seconds
    with os.fdopen(reading, "rb") as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0.0, patience - time.monotonic()))
            part = os.read(pipe.fileno(), 1 << 20) if ready else b""
            if not ready:
                os.kill(child, signal.SIGKILL)
            if not part:
                break
            text += part
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return Answer(raised="TooSlow")
    if not text:
        return Answer(raised="Died", text=f"the child ended with status {status}")
    found = json.loads(text)
    return Answer(tuple(map(word_of, found["words"])), found["end"], found["raised"], found["text"])


def _answer_and_leave(task: Callable[[], Answer], writing: int, seconds: float) -> None:
    """What the child does."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    limit = max(1, round(seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    warnings.simplefilter("ignore")
    try:
        answer = guarded(task)
        end = None if answer.end is None else np.asarray(answer.end, float).tolist()
        plain = {
            "words": [w.plain() for w in answer.words],
            "end": end,
            "raised": answer.raised,
            "text": answer.text,
        }
        left = json.dumps(plain).encode()
        while left:
            left = left[os.write(writing, left) :]
    finally:
        os._exit(0)


def guarded(task: Callable[[], Answer]) -> Answer:
    """A task whose exceptions are part of the answer."""
    try:
        return task()
    except Exception as error:
        return Answer(raised=type(error).__name__, text=str(error)[:300])
