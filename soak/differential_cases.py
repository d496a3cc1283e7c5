"""What is compared: systems as anybody would state them, consistent states of them, and what
dalembert says there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

import dalembert as da
from agreement import Instant, evidence, instants, numbered
from core_systems import SAME_SYSTEM, random_system
from dalembert.model.constraints import (
    HolonomicConstraint,
    MomentumConstraint,
    UnilateralConstraint,
)

#: Kinds of constraints by symbol, see `random_system`.
KINDS = (
    *(
        "",
        "h",
        "v",
        "a",
        "n",
        "s",
        "r",
        "t",
        "m",
        "e",
        "c",
        "hv",
        "ra",
        "vv",
        "ee",
        "cc",
        "tv",
        "hm",
        "hn",
        "rr",
        "cv",
    ),
    *("vd", "hd", "ad", "rd", "cd", "td", "hvd", "vvd", "hhd", "hva", "rtv", "hsa", "hvad"),
)
#: The same for KanesMethod, which takes constraints that are linear in the speeds; two lists that
#: it refuses are among them.
SPEED_KINDS = (
    "",
    "h",
    "v",
    "a",
    "r",
    "t",
    "e",
    "c",
    "hv",
    "ra",
    "vv",
    "cc",
    "tv",
    "rr",
    "n",
    "vd",
    "hd",
    "hva",
    "s",
)
STATED = ("lagrangian", "kinetic", "planar", "cyclic", "bundle", "hamiltonian")
#: The same for SymPy, which is slow on the others; every seventh system is of those nevertheless.
SHORT = ("lagrangian", "kinetic", "cyclic")


@dataclass(frozen=True)
class State:
    """A moment, positions and velocities, and the speeds of an image where the system has one."""

    time: float
    q: Any
    v: Any
    speeds: Any = ()


@dataclass(frozen=True)
class Word:
    """What somebody says at a state: accelerations (n,), the generalised force of all constraints
    (n,), and of each by name.

    Forces stand on the side of forces, M a = f + A^T mu. `reaction` is None where a peer has none;
    `reactions` is empty where single ones are not determined, because the constraints depend on
    each other.
    """

    accelerations: Any
    reaction: Any = None
    reactions: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The same as lists of numbers."""
        return {
            "accelerations": np.asarray(self.accelerations, float).tolist(),
            "reaction": (
                None if self.reaction is None else np.asarray(self.reaction, float).tolist()
            ),
            "reactions": {
                name: np.asarray(force, float).tolist() for name, force in self.reactions.items()
            },
        }


def word_of(plain: Mapping[str, Any]) -> Word:
    """A word from its lists."""
    reaction = plain["reaction"]
    reactions = {name: np.asarray(force) for name, force in plain["reactions"].items()}
    return Word(
        np.asarray(plain["accelerations"]),
        None if reaction is None else np.asarray(reaction),
        reactions,
    )


def gap_of(first: Word, second: Word) -> tuple[float, str]:
    """The worst relative difference, and of what; nan counts as infinite."""
    pairs = [("accelerations", first.accelerations, second.accelerations)]
    if first.reaction is not None and second.reaction is not None:
        pairs.append(("total reaction", first.reaction, second.reaction))
    pairs += [
        (f"reaction of {name}", first.reactions[name], second.reactions[name])
        for name in first.reactions.keys() & second.reactions.keys()
    ]
    worst, what = 0.0, "accelerations"
    for name, one, other in pairs:
        difference = np.abs(np.asarray(one, float) - np.asarray(other, float))
        size = max(1.0, float(np.abs(one).max(initial=0.0)), float(np.abs(other).max(initial=0.0)))
        gap = float(difference.max(initial=0.0) / size)
        gap = gap if np.isfinite(gap) else np.inf
        if gap > worst:
            worst, what = gap, name
    return worst, what


@dataclass(frozen=True)
class Row:
    """One constraint as a peer is told of it: its level is position, velocity or momentum."""

    name: str
    level: str
    expression: sympy.Expr


@dataclass(frozen=True)
class Statement:
    """A system without parameters and inputs, in the symbols of its coordinates: what every peer is
    given.

    L(q, v, t), or H(q, p, t); generalised forces (n,), with those of dissipation and the work of
    nonideal constraints; rows; an image {velocity: expression of the speeds}.
    """

    coordinates: tuple[Any, ...]
    velocities: tuple[Any, ...]
    momenta: tuple[Any, ...]
    lagrangian: sympy.Expr | None
    hamiltonian: sympy.Expr | None
    forces: tuple[sympy.Expr, ...]
    rows: tuple[Row, ...]
    prescribed: tuple[sympy.Expr, ...]
    image: tuple[sympy.Expr, ...] = ()
    speeds: tuple[Any, ...] = ()


def statement_of(system: da.System) -> Statement:
    """A system with numbers in the place of its parameters; contacts are open."""
    assert not system.parameters, "parameters have numbers here"
    levels = ((HolonomicConstraint, "position"), (MomentumConstraint, "momentum"))
    rows, prescribed = [], dict.fromkeys(system.coordinates, sympy.Integer(0))
    for constraint in system.bilateral:
        level = next((word for kind, word in levels if isinstance(constraint, kind)), "velocity")
        rows.append(Row(constraint.name, level, constraint.expression))
        for q, force in constraint.work.items():
            prescribed[q] += force
    values = {symbol: value for symbol, value in system.inputs.items() if value is not None}
    damping = [sympy.diff(system.dissipation, v) for v in system.velocities]
    forces = [
        (system.forces.get(q, sympy.Integer(0)) - drag + prescribed[q]).xreplace(values)
        for q, drag in zip(system.coordinates, damping, strict=True)
    ]
    image = system.image
    return Statement(
        system.coordinates,
        system.velocities,
        system.momenta,
        None if system.lagrangian is None else system.lagrangian.xreplace(values),
        None if system.hamiltonian is None else system.hamiltonian.xreplace(values),
        tuple(forces),
        tuple(rows),
        tuple(prescribed.values()),
        () if image is None else tuple(image.velocities[q] for q in system.coordinates),
        () if image is None else tuple(image.speeds),
    )


@dataclass(frozen=True)
class Case:
    """A system with the states where it is asked; the label says how to make it again, the tags
    what kind it is of.
    """

    label: str
    tags: frozenset[str]
    system: da.System
    states: tuple[State, ...]
    words: tuple[Word, ...]
    motion: da.Motion | None = None
    bodies: Any = None

    @property
    def statement(self) -> Statement:
        """What a peer is told."""
        return statement_of(self.system)


def tags_of(system: da.System, kinds: str = "") -> frozenset[str]:
    """The classes that the triage speaks of."""
    found = {"dependent"} if "d" in kinds else set()
    found |= {"nonlinear"} if set(kinds) & set("ns") else set()
    found |= (
        {"momentum"}
        if any(isinstance(c, MomentumConstraint) for c in system.constraints)
        else set()
    )
    found |= {"hamiltonian"} if system.is_hamiltonian else set()
    found |= {"image"} if system.image is not None else set()
    found |= {"constrained"} if system.constraints else {"free"}
    return frozenset(found)


def words_of_motion(
    motion: da.Motion, places: Sequence[int], dependent: bool
) -> tuple[list[State], list[Word]]:
    """States along a motion, and what the native code says there of accelerations and reactions."""
    system = motion.system
    table = motion.columns
    image = system.image
    q, v, a = ([table[name] for name in names] for names in _names(system))
    states, words = [], []
    for k in places:
        speeds = () if image is None else np.array([table[u.name][k] for u in image.speeds])
        states.append(
            State(
                float(motion.t[k]), np.array([x[k] for x in q]), np.array([x[k] for x in v]), speeds
            )
        )
        each = {
            name: np.asarray(reaction.force)[:, k] for name, reaction in motion.reactions.items()
        }
        single = (
            {}
            if dependent
            or image is not None
            or motion.equations.form not in ("lagrange", "hamilton")
            else each
        )
        words.append(Word(np.array([x[k] for x in a]), motion.total_reaction[:, k], single))
    return states, words


def _names(system: da.System) -> tuple[list[str], list[str], list[str]]:
    coordinates = system.coordinates
    return (
        [q.name for q in coordinates],
        [q.dot.name for q in coordinates],
        [q.ddot.name for q in coordinates],
    )


def motion_case(
    label: str,
    system: da.System,
    motion: da.Motion,
    dependent: bool = False,
    count: int = 3,
    **more: Any,
) -> Case:
    """A case at the beginning, in the middle and at the end of a motion of `system`, or of the same
    one with parameters.
    """
    places = sorted({round(k * (len(motion.t) - 1) / max(1, count - 1)) for k in range(count)})
    states, words = words_of_motion(motion, places, dependent)
    tags = tags_of(system) | ({"dependent"} if dependent else set()) | more.pop("tags", set())
    return Case(label, frozenset(tags), system, tuple(states), tuple(words), motion, **more)


def starting_at(system: da.System, instant: Instant, seconds: float, **options: Any) -> da.Motion:
    """A motion from a consistent state."""
    named = instant.named(system)
    named.pop("t")
    return da.simulate(
        system,
        named,
        (instant.time, instant.time + seconds),
        **({"rtol": 1e-11, "atol": 1e-12} | options),
    )


# -- random ones -----------------------------------------------------------------------------------


def random_case(number: int, seed: int, small: bool) -> Case | None:
    """A random system; None where no state was found at which its rank is beyond doubt."""
    kinds = KINDS[number % len(KINDS)]
    words = SHORT if small and number % 7 else STATED
    stated = words[(number + number // len(KINDS)) % len(words)]
    least = max(3 if stated == "planar" else 2, 1 + sum(kind != "d" for kind in kinds))
    n = least if small else least + (number // 5) % 3
    return case_from(seed + number, n, kinds, stated, number, plain=small and bool(number % 3))


def case_from(
    seed: int, n: int, kinds: str, stated: str, number: int, plain: bool = False
) -> Case | None:
    """One random system: every third in native code along a short motion, the others by the
    interpreted graph at two states.

    The form is Lagrange's, Hamilton's where the system is stated so, or for a share of the motions
    the fastest. A plain one has no gyroscopic terms and no forces.
    """
    parts = {"gyroscopic": False, "forced": False} if plain else {}
    system = random_system(seed, n=n, kinds=kinds, stated=stated, **parts)
    label = (
        f"random_system({seed}, n={n}, kinds={kinds!r},"
        f" stated={stated!r}{', gyroscopic=False, forced=False' * plain})"
    )
    form = "hamilton" if stated == "hamiltonian" and number % 2 else "lagrange"
    found = instants(system, number, 2)
    if not found:
        return None
    if number % 3:
        return instant_case(label, system, found, form, tags_of(system, kinds))
    motion = starting_at(system, found[0], 0.25, form=None if number % 4 == 3 else form)
    return motion_case(label, system, motion, "d" in kinds, 2, tags=set(tags_of(system, kinds)))


def instant_case(
    label: str,
    system: da.System,
    found: Sequence[Instant],
    form: str,
    tags: frozenset[str],
    **more: Any,
) -> Case:
    """What the interpreted graph of a form says at consistent states: nothing is compiled."""
    record = da.derive(system, form)
    said = [(instant, word) for instant in found if (word := evidence(record, instant)) is not None]
    states = tuple(State(instant.time, instant.q, instant.v) for instant, _ in said)
    zero = np.zeros(len(system.coordinates))
    words = tuple(Word(word["accelerations"], word.get("reaction", zero)) for _, word in said)
    return Case(label, tags, system, states, words, **more)


def gallery_case(name: str) -> Case:
    """A system of the gallery, with its parameters, along the motion that comes with it."""
    scenario = da.gallery.load(name)
    values = {
        symbol.name: float(scenario.parameters[symbol.name])
        for symbol in scenario.system.parameters
    }
    kept = [c for c in scenario.system.constraints if not isinstance(c, UnilateralConstraint)]
    plain = numbered(scenario.system.replacing(constraints=kept, drawing=None, outputs={}), values)
    if name in SAME_SYSTEM:
        start = {
            key: value for key, value in scenario.start.items() if not str(key).startswith("chi_")
        }
        motion = da.simulate(
            scenario.system,
            start,
            (0.0, 0.2),
            parameters=values,
            form="lagrange",
            rtol=1e-11,
            atol=1e-12,
        )
    else:
        motion = da.simulate(scenario, span=(0.0, 0.2), rtol=1e-11, atol=1e-12)
    return motion_case(f"gallery {name}", plain, motion, tags={"gallery"})
