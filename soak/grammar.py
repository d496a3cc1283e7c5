"""Systems grown from a grammar that knows nothing of the library, against an oracle in 40 digits
and against themselves in other words.

The library reads a model file; its native code gives the accelerations at a state. They are
compared with the oracle (`grammar_oracle`), and with those of the same system with another origin
of coordinates and time, in other units, with other names, in another order, inside a larger system,
stated in another way, and with fractions for decimals. Every fourth system also moves for a while,
in one span and in two. The verdicts of the structural questions are compared with values in many
digits (`grammar_verdicts`), and every decision of a derivation is counted by the branch it took.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

import dalembert as da
from agreement import Instant, evidence
from dalembert.algebra import structure
from dalembert.errors import DalembertError, FormError
from dalembert.model.io.files import loads

from .grammar_oracle import Answer, NotGenericError, Oracle
from .grammar_trees import Statement, Tree, number, statement, symbol
from .grammar_verdicts import compared_verdicts
from .harness import Options, Report, kept_figures
from .random_worker import TooLongError, time_limit

__all__ = ["CountedDecisions", "look", "run", "variants"]

SYSTEMS = 10_000
#: Accelerations may differ by this, relative to the largest, beyond what rounding explains.
LIMIT = 1e-9
#: What rounding explains: so many times the effect of rounding the state and the equations once.
TIMES = 1e4
#: The most that may be explained by rounding where a comparison means something.
MOST = 1e-3
#: And so many times the effect of rounding each of several solves with the mass matrix.
SOLVES = 100.0
#: Forms that have no multipliers keep the digits that such solves lose.
WITHOUT_MULTIPLIERS = ("maggi", "hamel", "gibbs-appell")
FORMS = ("maggi", "hamel", "gibbs-appell", "hamilton", "udwadia-kalaba")
SECONDS = 60.0
WORST = "largest difference from the oracle"
OWN = "largest difference from its own statement in other words"


@dataclass
class Found:
    """What one system showed."""

    counts: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def run(options: Options, report: Report) -> None:
    """Looks at systems until the time is over; a run that is resumed goes on after those that are
    kept.
    """
    deadline = options.deadline
    counts: Counter[str] = Counter()
    gaps = {WORST: 0.0, OWN: 0.0}
    if options.resume:
        kept = kept_figures("grammar")
        gaps = {name: float(kept.pop(name)) for name in gaps}
        counts.update(kept)
    first = counts["systems"] + 1_000_000 * (options.seed - 1)
    with CountedDecisions(counts):
        for seed in range(first, first + (12 if options.quick else SYSTEMS - counts["systems"])):
            if time.monotonic() > deadline:
                break
            found = look(seed)
            counts.update(found.counts)
            counts["systems"] += 1
            for name, gap in found.gaps.items():
                gaps[name] = max(gaps[name], gap)
            for fault in found.faults:
                report.fault(f"system {seed}: {fault}")
    for name, count in sorted(counts.items()):
        report.figure(name, count)
    for name, gap in gaps.items():
        report.figure(name, f"{gap:.1e}")


class CountedDecisions:
    """Counts the answers of the structural questions while it is open."""

    QUESTIONS = ("vanishing", "independence", "degree", "homogeneity", "rank")

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self.before: dict[str, Callable[..., Any]] = {}

    def __enter__(self) -> None:
        for name in self.QUESTIONS:
            self.before[name] = getattr(structure, name)
            setattr(structure, name, self._counting(name, self.before[name]))

    def __exit__(self, *_: object) -> None:
        for name, function in self.before.items():
            setattr(structure, name, function)

    def _counting(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*arguments: Any, **options: Any) -> Any:
            verdict = function(*arguments, **options)
            by = getattr(verdict, "by", "")
            by = "a value" if "fails by" in by else by  # the others name the branch
            self.counts[f"decision: {name}: {verdict.status}" + (f" by {by}" if by else "")] += 1
            return verdict

        return asked


def look(seed: int) -> Found:
    """One system: its accelerations against the oracle and against itself."""
    found = Found()
    try:
        stated = statement(seed)
        oracle = Oracle(stated)
        answer = oracle.answer()
    except (NotGenericError, TypeError, ValueError, OverflowError):
        found.counts["not compared: no generic state"] += 1
        return found
    try:
        with time_limit(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _compare(seed, stated, oracle, answer, found)
    except TooLongError:
        found.counts["not compared: too long"] += 1
    except Exception as error:
        if isinstance(error, DalembertError):
            found.counts[f"refused: {type(error).__name__}"] += 1
            found.faults.append(f"refused by {type(error).__name__}: {error}")
        else:
            found.faults.append(f"{type(error).__name__}: {error}")
    return found


def _compare(seed: int, stated: Statement, oracle: Oracle, answer: Answer, found: Found) -> None:
    counted, wrong = compared_verdicts(oracle, loads(stated.toml()).system)
    found.counts.update(counted)
    found.faults += wrong
    scale = max(1e-300, *map(abs, answer.accelerations))
    explained = TIMES * max(answer.sensitivity) / scale
    if explained > MOST:
        found.counts["not compared: ill-conditioned"] += 1
        return
    limit = LIMIT + explained
    multiplied = limit + SOLVES * max(answer.elimination) / scale
    if multiplied > 2 * limit:
        found.counts["multipliers lose digits"] += 1
    expected = np.array(answer.accelerations)
    for form in ("lagrange", Random(seed).choice(FORMS)):
        allowed = limit if form in WITHOUT_MULTIPLIERS else multiplied
        if form == "hamilton":  # whose state has momenta
            lost = TIMES * max(answer.momentum_sensitivity) + SOLVES * max(answer.inverse)
            allowed += lost / scale
        if allowed > MOST:
            found.counts[f"not compared: {form} is ill-conditioned"] += 1
            continue
        try:
            said = accelerations(stated, loads(stated.toml()).system, form)
        except FormError:
            found.counts[f"refused: {form}"] += 1
            continue
        _note(found, WORST, np.abs(said - expected).max() / scale, allowed, form)
        found.counts["compared with the oracle"] += 1
    if multiplied > MOST:
        return
    for name, other, back in variants(seed, stated):
        text = other.toml("lagrangian" if name == "restated" else "parts")
        said = back(accelerations(other, loads(text).system, "lagrange"))
        wanted = expected
        if name == "another origin":  # coordinates that were rounded there are another state
            wanted = np.array(oracle.answer(drawn_shift(seed)).accelerations)
        _note(found, OWN, np.abs(said - wanted).max() / scale, multiplied, name)
        found.counts[f"in other words: {name}"] += 1
    if seed % 4 == 0:
        _split(stated, found)


def _note(found: Found, name: str, gap: float, limit: float, label: str) -> None:
    if limit < 2 * LIMIT:
        found.gaps[name] = max(found.gaps.get(name, 0.0), float(gap))
    if not gap <= limit:
        found.faults.append(f"{label} differs by {gap:.1e} (limit {limit:.1e})")


def accelerations(stated: Statement, system: da.System, form: str) -> Any:
    """The accelerations at the state of a statement: of Lagrange's form by native code, of others
    by their blocks.
    """
    values = stated.values()
    equations = da.derive(system, form)
    if form == "lagrange":
        state = [values[s.name] for s in equations.state]
        rates = equations.compile().rates(stated.time, state)
        places = [s.name for s in equations.state].index(f"{stated.names[0]}_dot")
        return np.asarray(rates)[places : places + len(stated.names)]
    said = evidence(equations, Instant(stated.time, np.array(stated.q), np.array(stated.v)))
    if said is None:
        raise FormError("The speeds of the form degenerate", form)
    return said["accelerations"]


# -- the same system in other words ----------------------------------------------------------------

Back = Callable[[Any], Any]


def mapped(stated: Statement, places: dict[str, Tree], **changes: Any) -> Statement:
    """A statement with symbols replaced in all trees."""
    return replace(
        stated,
        kinetic=stated.kinetic.put(places),
        potential=stated.potential.put(places),
        forces=tuple(tree.put(places) for tree in stated.forces),
        constraints=tuple((kind, tree.put(places)) for kind, tree in stated.constraints),
        **changes,
    )


def drawn_shift(seed: int) -> float:
    """How far the origin of the coordinates is moved."""
    return float(Random(f"shift {seed}").choice((0.5, 8.0, -64.0)))


def variants(seed: int, stated: Statement) -> Iterator[tuple[str, Statement, Back]]:
    """Other statements of the same motion, and how their accelerations lead back to it."""
    chance = Random(f"variants {seed}")
    names = stated.names
    shift = drawn_shift(seed)
    yield (
        "another origin",
        mapped(
            stated,
            {name: Tree("-", (symbol(name), number(shift))) for name in names},
            q=tuple(x + shift for x in stated.q),
        ),
        lambda a: a,
    )
    yield (
        "another time",
        mapped(stated, {"t": Tree("-", (symbol("t"), number(4.0)))}, time=stated.time + 4.0),
        lambda a: a,
    )
    unit = 2.0 ** chance.randint(-30, 30)
    places = {name: Tree("*", (number(unit), symbol(name))) for name in names}
    places |= {f"{x}_dot": Tree("*", (number(unit), symbol(f"{x}_dot"))) for x in names}
    scaled = mapped(
        stated, places, q=tuple(x / unit for x in stated.q), v=tuple(x / unit for x in stated.v)
    )
    pushed = tuple(Tree("*", (number(unit), tree)) for tree in scaled.forces)
    yield "other units", replace(scaled, forces=pushed), lambda a: a * unit
    fresh = tuple(
        f"{name}_{k}n" for k, name in enumerate(chance.sample(("ω", "if", "pi2", "M"), len(names)))
    )
    renamed = dict(zip(names, fresh, strict=True))
    places = {old: symbol(new) for old, new in renamed.items()}
    places |= {f"{old}_dot": symbol(f"{new}_dot") for old, new in renamed.items()}
    yield "other names", mapped(stated, places, names=fresh), lambda a: a
    order = chance.sample(range(len(names)), len(names))
    back = np.argsort(order)
    reordered = replace(
        stated,
        **{
            key: tuple(getattr(stated, key)[k] for k in order)
            for key in ("names", "forces", "q", "v")
        },
        constraints=stated.constraints[::-1],
    )
    yield "another order", reordered, lambda a: a[back]
    spring = Tree("**", (symbol("extra"), number(2)))
    larger = replace(
        stated,
        names=(*names, "extra"),
        kinetic=Tree("+", (stated.kinetic, Tree("**", (symbol("extra_dot"), number(2))))),
        potential=Tree("+", (stated.potential, spring)),
        forces=(*stated.forces, number(0)),
        q=(*stated.q, 0.25),
        v=(*stated.v, 1.0),
    )
    yield "inside a larger system", larger, lambda a: a[:-1]
    yield "restated", stated, lambda a: a
    yield "fractions for decimals", _exact(stated), lambda a: a


def _exact(stated: Statement) -> Statement:
    """Decimals as fractions of integers."""

    def exact(tree: Tree) -> Tree:
        if tree.head == "number" and "." in tree.word:
            value = Fraction(tree.word)
            if max(abs(value.numerator), value.denominator) < 10**15:
                return number(f"{value.numerator}/{value.denominator}")
        return replace(tree, parts=tuple(exact(part) for part in tree.parts))

    return replace(
        stated,
        kinetic=exact(stated.kinetic),
        potential=exact(stated.potential),
        forces=tuple(exact(tree) for tree in stated.forces),
        constraints=tuple((kind, exact(tree)) for kind, tree in stated.constraints),
    )


def _split(stated: Statement, found: Found) -> None:
    """A short motion in one span, and in two."""
    system = loads(stated.toml()).system
    values = {name: value for name, value in stated.values().items() if name != "t"}
    first, middle, last = stated.time, stated.time + 0.07, stated.time + 0.1
    whole = da.simulate(system, values, (first, last), rtol=1e-10, max_steps=20_000)
    half = da.simulate(system, values, (first, middle), rtol=1e-10, max_steps=20_000)
    if not (whole.success and half.success):
        found.counts["split span: ended early"] += 1
        return
    symbols = (*stated.names, *(f"{name}_dot" for name in stated.names))
    rest = da.simulate(
        system,
        {s: float(half[s][-1]) for s in symbols},
        (middle, last),
        rtol=1e-10,
        max_steps=20_000,
    )
    found.counts["split span: compared"] += 1
    for name in symbols:
        size = max(1.0, float(np.abs(whole[name]).max()))
        gap = abs(whole[name][-1] - rest[name][-1]) / size
        if not gap <= 1e-6:
            found.faults.append(f"{name} differs by {gap:.1e} after a split span")
