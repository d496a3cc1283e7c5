"""Edges of time: events at one instant, at the start, the end and turning points, spans of nothing,
times far from zero, backwards; contacts that chatter, rest, or close together. Independent
implementations are closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

import dalembert as da

from .edge_cases import Tally, judge

ADAPTIVE = ("dop853", "taylor")
FAR = (0.0, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e17, -1e6, -1e12)
x, y = da.coordinates("x y")
e = da.parameters("e")
HALF_PI = math.pi / 2
OSCILLATOR = da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2)
PAIR = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x**2 + y**2) / 2)
FLOOR = da.unilateral(-x, restitution=e, name="floor")
BALL = da.System([x], kinetic=x.dot**2 / 2, potential=10 * x, constraints=[FLOOR])


def apart(found: Any, expected: Any) -> float:
    """The largest distance of two lists of times; infinite where they have not the same length."""
    if len(found) != len(expected):
        return math.inf
    return float(np.max(np.abs(np.asarray(found) - np.asarray(expected)), initial=0.0))


def all_apart(motion: Any, expected: list[Any]) -> float:
    """The same over all events."""
    return max(apart(found, times) for found, times in zip(motion.t_events, expected, strict=True))


def events(tally: Tally) -> None:
    """Two, three and five events at one instant, with and without an end; at the start; without a
    crossing; with jumps.
    """
    group, event = "events", da.event
    # cos t from t = 0 passes zero at pi/2 and 3 pi/2; sin t begins on zero.
    first, second = HALF_PI, 3 * HALF_PI
    cases: list[tuple[str, Any, dict[Any, float], Any, list[Any]]] = [
        ("two at once", PAIR, {x: 1, y: 1}, [event(x), event(y)], [[first, second]] * 2),
        (
            "three at once",
            PAIR,
            {x: 1, y: 1},
            [event(x), event(y), event(x + y)],
            [[first, second]] * 3,
        ),
        (
            "five at once",
            PAIR,
            {x: 1, y: 1},
            [event(x), event(y), event(x + y), event(2 * x), event(3 * y)],
            [[first, second]] * 5,
        ),
        (
            "the first ends",
            PAIR,
            {x: 1, y: 1},
            [event(x, terminal=True), event(y), event(3 * x)],
            [[first]] * 3,
        ),
        (
            "the last ends",
            PAIR,
            {x: 1, y: 1},
            [event(x), event(y), event(3 * x, terminal=True)],
            [[first]] * 3,
        ),
        (
            "two end",
            PAIR,
            {x: 1, y: 1},
            [event(x, terminal=True), event(y, terminal=True)],
            [[first]] * 2,
        ),
        (
            "zero at the start",
            OSCILLATOR,
            {x.dot: 1},
            [event(x), event(x, 1), event(x, -1)],
            [[math.pi], [], [math.pi]],
        ),
        ("zero at the start, ends", OSCILLATOR, {x.dot: 1}, [event(x, terminal=True)], [[math.pi]]),
        (
            "directions",
            OSCILLATOR,
            {x: 1},
            [event(x, -1), event(x, 1), event(x)],
            [[first], [second], [first, second]],
        ),
        ("time alone", OSCILLATOR, {x: 1}, [event(da.t - 0.5), event(da.t - 5)], [[0.5], [5.0]]),
        ("a jump", OSCILLATOR, {x: 1}, [event(sympy.sign(x))], [[first, second]]),
        (
            "zero over a stretch",
            OSCILLATOR,
            {x: 1},
            [event(sympy.floor(2 * x))],
            [[math.acos(0.5), second]],
        ),
        ("a pole", OSCILLATOR, {x: 1}, [event(1 / x)], [[]]),
        ("no crossing", OSCILLATOR, {x: 1}, [event(x - 2), event(x**2 + 1)], [[], []]),
        ("always zero", PAIR, {x: 1}, [event(y)], [[]]),
    ]
    for method in ADAPTIVE:
        for name, system, start, searched, expected in cases:
            judge(
                tally,
                group,
                f"{method}, {name}",
                lambda system=system, start=start, searched=searched, method=method: da.simulate(
                    system, start, (0, 5), events=searched, method=method
                ),
                lambda motion, expected=expected: all_apart(motion, expected),
                1e-9,
            )
        for number, bad in enumerate(
            (x - x, sympy.Integer(1), sympy.log(x - 0.2), sympy.sqrt(x) - 0.5)
        ):
            judge(
                tally,
                group,
                f"{method}, no event {number}",
                lambda bad=bad, method=method: da.simulate(
                    OSCILLATOR, {x: 1}, (0, 5), events=[da.event(bad)], method=method
                ),
                lambda motion: math.inf,
                0.0,
            )
        judge(
            tally,
            group,
            f"{method}, at the very end",
            lambda method=method: da.simulate(
                OSCILLATOR,
                {x: 1},
                (0, 2),
                events=[da.event(da.t - 2, terminal=True)],
                method=method,
            ),
            lambda motion: all_apart(motion, [[2.0]]),
            1e-12,
        )


def turning_points(tally: Tally) -> None:
    """Levels near the end of a swing: passed twice within much less than a step, or not at all; a
    ceiling there is hit.
    """
    for method in ADAPTIVE:
        for k in range(1, 11):
            away, turns = math.acos(1 - 10.0**-k), 2 * math.pi * np.arange(1, 8)
            passed = np.sort(np.concatenate([turns - away, turns + away]))
            for side, expected in ((-1, passed), (1, np.zeros(0))):
                judge(
                    tally,
                    "levels near turning points",
                    f"{method}, {side}e-{k} from the end",
                    lambda side=side, k=k, method=method: da.simulate(
                        OSCILLATOR, {x: math.cos(0.5), x.dot: -math.sin(0.5)}, (0.5, 46),
                        method=method, rtol=1e-13, events=[da.event(x - 1 - side * 10.0**-k)],
                    ),
                    lambda motion, expected=expected: all_apart(motion, [expected]),
                    1e-9 / away,
                )  # fmt: skip
            judge(
                tally,
                "levels near turning points",
                f"{method}, a ceiling 1e-{k} below the highest point",
                lambda k=k, method=method: da.simulate(
                    da.System([x], kinetic=x.dot**2 / 2, potential=10 * x,
                    constraints=[da.unilateral(x <= 5 - 10.0**-k)]), {x.dot: 10.0}, (0, 1.9),
                    method=method, rtol=1e-12,
                ),
                lambda motion, k=k: apart([time for time, _ in motion.impacts], [1 - math.sqrt(2e-1
                * 10.0**-k)]), 1e-9 / away,
            )  # fmt: skip


def spans(tally: Tally) -> None:
    """Spans of nothing and of one spacing, one time asked for, times in any order and twice,
    backwards.
    """
    group = "spans and times"
    for method in (*ADAPTIVE, "gauss4", "rattle4"):
        extra: dict[str, Any] = {"method": method} | (
            {} if method in ADAPTIVE else {"step": 1 / 64}
        )
        tolerance = 1e-9 if method in ADAPTIVE else 1e-5
        for first, last, times in (
            (1.0, 1.0, None),
            (1.0, 1.0, [1.0]),
            (1.0, float(np.nextafter(1.0, 2.0)), None),
            (0.0, 5e-324, None),
            (0.0, 2.0, [1.0]),
            (0.0, 2.0, [2.0, 0.0, 1.0, 1.0, 0.5]),
            (0.0, 2.0, [0.0]),
            (2.0, 0.0, None),
            (2.0, -3.0, [0.5, 2.0, -3.0, 0.5]),
            (-2.0, 2.0, [0.0, -0.0]),
        ):
            judge(
                tally,
                group,
                f"{method}, {first} to {last}, at {times}",
                lambda first=first, last=last, times=times, extra=extra: da.simulate(
                    OSCILLATOR, {x: 1.0}, (first, last), at=times, **extra
                ),
                lambda motion, first=first, times=times: max(
                    float(np.max(np.abs(motion["x"] - np.cos(motion.t - first)))),
                    apart(motion.t, times) if times else 0.0,
                ),
                tolerance,
            )
    damped = da.System([x], kinetic=x.dot**2 / 2, forces={x: -x.dot})
    for method in ADAPTIVE:
        judge(
            tally,
            group,
            f"{method}, damped, backwards",
            lambda method=method: da.simulate(damped, {x.dot: 1.0}, (0, -5), method=method),
            lambda motion: abs(motion["x_dot"][-1] / math.exp(5) - 1),
            1e-8,
        )
        judge(
            tally,
            group,
            f"{method}, events backwards",
            lambda method=method: da.simulate(
                OSCILLATOR, {x: 1.0}, (5, 0), events=[da.event(x), da.event(x, 1)], method=method
            ),
            lambda motion: all_apart(motion, [[5 - HALF_PI, 5 - 3 * HALF_PI], [5 - 3 * HALF_PI]]),
            1e-9,
        )
    judge(
        tally,
        group,
        "contact backwards",
        lambda: da.simulate(BALL, {x: 1.0}, (1, 0), parameters={e: 0.5}),
        lambda motion: math.inf,
        0.0,
    )


def far_times(tally: Tally) -> None:
    """The same motion from times far from zero; what the clock cannot tell apart is said, or
    refused.
    """
    for begin in FAR:
        for method in (*ADAPTIVE, "gauss4", "gauss6", "rattle4", "lobatto4"):
            extra: dict[str, Any] = {"method": method}
            extra |= {"events": [da.event(x)]} if method in ADAPTIVE else {"step": 1 / 32}

            def error(motion: Any, begin: float = begin) -> float:
                times = [float(np.float64(begin) + place) for place in (HALF_PI, 3 * HALF_PI)]
                missed = all_apart(motion, [times]) if motion.t_events else 0.0
                return max(missed, float(np.max(np.abs(motion["x"] - np.cos(motion.t - begin)))))

            judge(
                tally,
                "far from zero",
                f"{method}, from {begin:g}",
                lambda begin=begin, extra=extra: da.simulate(
                    OSCILLATOR, {x: 1.0}, (begin, begin + 5), **extra
                ),
                error,
                2e-9 if method in ADAPTIVE else 1e-4,
            )
        judge(
            tally,
            "far from zero",
            f"ball from {begin:g}",
            lambda begin=begin: da.simulate(
                BALL, {x: 1.0}, (begin, begin + 3), parameters={e: 0.5}
            ),
            lambda motion, begin=begin: apart(
                [t for t, _ in motion.impacts][:8], begin + impacts(0.5, 8)
            ),
            2e-9,
        )
        table = sympy.Piecewise((da.t - begin, da.t < begin + 1), (1, True))
        driven = da.System([x], kinetic=x.dot**2 / 2, forces={x: table})
        judge(
            tally,
            "far from zero",
            f"table from {begin:g}",
            lambda begin=begin, driven=driven: da.simulate(driven, {}, (begin, begin + 2)),
            lambda motion: abs(motion["x_dot"][-1] - 1.5),
            1e-8,
        )


def impacts(restitution: float, count: int) -> Any:
    """Times of the impacts of a ball that falls from height 1 with g = 10."""
    fall = math.sqrt(0.2)
    return fall * (1 + 2 * np.cumsum([0.0, *restitution ** np.arange(1, count)]))


def contacts(tally: Tally) -> None:
    """A ball that comes to rest at a known time, starts on its floor, on a table that moves, and in
    a corner.
    """
    _balls_that_come_to_rest(tally, "contacts")
    _starts_on_the_floor(tally, "contacts")
    _contacts_with_others(tally, "contacts")


def _balls_that_come_to_rest(tally: Tally, group: str) -> None:
    for restitution in (0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0):
        rest = (
            math.sqrt(0.2) * (1 + restitution) / (1 - restitution) if restitution < 1 else math.inf
        )

        def error(motion: Any, restitution: float = restitution, rest: float = rest) -> float:
            count = (
                12
                if restitution == 1
                else 1 + int(math.log(1e-7) / math.log(restitution))
                if restitution
                else 1
            )
            known = impacts(restitution, min(count, 12))
            met = np.array([t for t, _ in motion.impacts][: len(known)])
            missed = apart(met, known[known < motion.t[-1]])
            if rest < motion.t[-1]:
                missed = max(missed, abs(motion.impacts[-1][0] - rest), abs(motion["x"][-1]))
            return missed

        judge(
            tally,
            group,
            f"ball to rest, restitution {restitution}",
            lambda restitution=restitution, rest=rest: da.simulate(
                BALL, {x: 1.0}, (0, min(1.3 * rest, 9.0)), parameters={e: restitution}
            ),
            error,
            1e-8,
        )


def _starts_on_the_floor(tally: Tally, group: str) -> None:
    for height, speed, first in (
        (0.0, 0.0, None),
        (0.0, 1.0, 0.2),
        (0.0, -1.0, 0.0),
        *((0.0, 10.0**-k, 0.2 * 10.0**-k) for k in range(1, 8)),
        (1e-13, 0.0, None),
        (1e-6, 0.0, 4.4721359549996e-4),
    ):
        judge(
            tally,
            group,
            f"start at {height} with {speed}",
            lambda height=height, speed=speed: da.simulate(
                BALL, {x: height, x.dot: speed}, (0, 1), parameters={e: 0.5}
            ),
            lambda motion, first=first: (
                abs(motion.impacts[0][0] - first) if first is not None else abs(motion["x"]).max()
            ),
            1e-9,
        )
    judge(
        tally,
        group,
        "below the floor",
        lambda: da.simulate(BALL, {x: -1e-3}, (0, 1), parameters={e: 0.5}),
        lambda _: math.inf,
        0.0,
    )


def _contacts_with_others(tally: Tally, group: str) -> None:
    walls = [da.unilateral(-x, restitution=1, name="a"), da.unilateral(-y, restitution=1, name="b")]
    corner = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=walls)
    judge(
        tally,
        group,
        "two close at once",
        lambda: da.simulate(
            corner, {x: 1, y: 1, x.dot: -1, y.dot: -1}, (0, 3), events=[da.event(x - y - 1)]
        ),
        lambda motion: max(
            abs(motion["x"][-1] - 2), abs(motion["y"][-1] - 2), abs(len(motion.impacts) - 2)
        ),
        1e-9,
    )
    judge(
        tally,
        group,
        "an event at the impact",
        lambda: da.simulate(
            BALL, {x: 1.0}, (0, 1), parameters={e: 0.5}, events=[da.event(x, terminal=True)]
        ),
        lambda motion: all_apart(motion, [[math.sqrt(0.2)]]),
        1e-9,
    )
    moving = x - sympy.sin(20 * da.t) / 20
    table = da.System(
        [x],
        kinetic=x.dot**2 / 2,
        potential=10 * x,
        constraints=[da.unilateral(-moving, restitution=0.3, name="table")],
    )
    reference = da.simulate(table, {x: 0.3}, (0, 2), rtol=1e-13, atol=1e-15)
    judge(
        tally,
        group,
        "a table that vibrates",
        lambda: da.simulate(table, {x: 0.3}, (0, 2)),
        lambda motion: apart([t for t, _ in motion.impacts], [t for t, _ in reference.impacts]),
        1e-7,
    )


def groups(tally: Tally, random: np.random.Generator) -> Iterator[str]:
    """Every group of this file, one after the other."""
    for work in (events, turning_points, spans, far_times, contacts):
        work(tally)
        yield work.__name__
