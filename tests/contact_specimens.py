"""Random systems with contacts and friction limits, and the laws that their motions obey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy
from sympy import cos, sin

import dalembert as da

__all__ = ["FAMILIES", "Specimen", "broken_laws", "followed", "specimen"]

X, Y, TURN, Z = da.coordinates("x y theta z")
G, M, HALF, MU, NU, E, LOSS = da.parameters("g m h mu nu e f", positive=True)
#: What a law may be missed by, relative to the largest term.
SMALL = 1e-8


class Specimen(NamedTuple):
    """A system, its parameters and start by name, and the power of length in each of them."""

    system: da.System
    parameters: dict[str, float]
    start: dict[str, float]
    lengths: dict[str, int]


def _rate(value: Any, coordinates: Sequence[Any]) -> Any:
    return sum(sympy.diff(value, q) * q.dot for q in coordinates)


def plank() -> da.System:
    """A plank in a rough corner."""
    q = (X, Y, TURN)
    contacts = []
    for name, side in (("left", -HALF), ("right", HALF)):
        place = (X + side * cos(TURN), Y + side * sin(TURN))
        for k, (wall, friction) in enumerate((("wall", MU), ("floor", NU))):
            tangent = _rate(place[1 - k], q)
            contacts.append(
                da.unilateral(
                    place[k] >= 0, E, f"{wall}_{name}", friction=friction, tangent=tangent
                )
            )
    kinetic = M * (X.dot**2 + Y.dot**2 + HALF**2 / 3 * TURN.dot**2) / 2
    return da.System(q, kinetic=kinetic, potential=M * G * Y, constraints=contacts)


def ball() -> da.System:
    """A ball with spin between a floor and a wall, with resistance to rolling."""
    q = (X, Y, TURN)
    contacts = [
        da.unilateral(
            Y >= HALF, E, "floor", friction=MU, tangent=X.dot - HALF * TURN.dot,
            static_friction=MU + NU / 4,
        ),
        da.unilateral(X >= HALF, E, "wall", friction=NU, tangent=Y.dot + HALF * TURN.dot),
        da.velocity(TURN.dot, friction=LOSS * HALF, normal="floor", name="resistance"),
    ]  # fmt: skip
    kinetic = M * (X.dot**2 + Y.dot**2 + 2 * HALF**2 / 5 * TURN.dot**2) / 2
    return da.System(q, kinetic=kinetic, potential=M * G * Y, constraints=contacts)


def stack() -> da.System:
    """A block on a plank that slides on a floor, with a stop."""
    contacts = [
        da.unilateral(Y >= 0, E, "floor", friction=MU, tangent=X.dot),
        da.unilateral(TURN >= Y, 0, "block", friction=NU, tangent=Z.dot - X.dot),
        da.unilateral(Z - X <= HALF, E, "stop"),
    ]
    kinetic = (M * (X.dot**2 + Y.dot**2) + (Z.dot**2 + TURN.dot**2) * M / 3) / 2
    potential = M * G * Y + M / 3 * G * TURN
    return da.System([X, Y, Z, TURN], kinetic=kinetic, potential=potential, constraints=contacts)


def wheel() -> da.System:
    """A wheel that rolls up to a limit, with dry friction, held by a spring."""
    rolls = X.dot - HALF * TURN.dot
    contacts = [
        da.holonomic(Y - HALF, name="road"),
        da.velocity(rolls, friction=MU, static_friction=MU + NU / 4, normal="road", name="rolls"),
        da.friction_loss(TURN.dot, LOSS * M * G * HALF, name="hinge"),
    ]
    kinetic = M * (X.dot**2 + Y.dot**2 + HALF**2 / 2 * TURN.dot**2) / 2
    potential = M * G * (Y + (X - HALF) ** 2 / HALF)
    return da.System([X, Y, TURN], kinetic=kinetic, potential=potential, constraints=contacts)


def puck() -> da.System:
    """A puck on an inclined table in space, with a wall."""
    contacts = [
        da.unilateral(Z >= 0, E, "table", friction=MU, tangent=(X.dot, Y.dot)),
        da.unilateral(X >= 0, E, "wall", friction=NU, tangent=(Y.dot, Z.dot)),
    ]
    kinetic = M * (X.dot**2 + Y.dot**2 + Z.dot**2) / 2
    return da.System(
        [X, Y, Z], kinetic=kinetic, potential=M * G * (Z + X / 3), constraints=contacts
    )


FAMILIES = (plank, ball, stack, wheel, puck)


def specimen(number: int, unit: float = 1.0, reverse: bool = False) -> Specimen:
    """A random system; `unit` is that of length, `reverse` the order of its contacts."""
    random = np.random.default_rng([24, number])
    system = FAMILIES[number % len(FAMILIES)]()
    if reverse:
        system = system.replacing(constraints=system.constraints[::-1])
    draw = random.uniform
    smooth = random.random() < 0.15
    numbers = {
        "g": draw(5, 15), "m": 10 ** draw(-2, 2), "h": draw(0.3, 0.8),
        "mu": 0.0 if smooth else draw(0, 0.8), "nu": draw(0, 0.8),
        "e": float(random.choice([0.0, 0.3, 0.7])), "f": draw(0, 0.1),
    }  # fmt: skip
    speeds, h = draw(-2, 2, 4), numbers["h"]
    resting = {plank: 2.0, ball: h, stack: 0.0, wheel: h, puck: 1.0}
    family = FAMILIES[number % len(FAMILIES)]
    high = draw(0, 0.5) if random.random() < 0.5 and family in (ball, stack) else 0.0
    start = {"x": 2.0, "y": resting[family] + high, "x_dot": speeds[0], "y_dot": 0.0}
    if family in (plank, ball, wheel):
        start |= {"theta": draw(-1, 1), "theta_dot": speeds[2] * (5 if family is ball else 1)}
    if family is stack:
        start |= {"theta": start["y"], "z": 2.0 - draw(0.1, 1), "z_dot": speeds[2]}
    if family is puck:
        start |= {"z": float(random.choice([0.0, 0.4])), "y_dot": speeds[1], "z_dot": 0.0}
    angles = () if family is stack else ("theta", "theta_dot")
    lengths = {name: 0 if name in angles else 1 for name in start} | {"g": 1, "h": 1}
    known = {symbol.name for symbol in system.parameters}
    return Specimen(
        system,
        {n: v * unit ** lengths.get(n, 0) for n, v in numbers.items() if n in known},
        {n: v * unit ** lengths[n] for n, v in start.items()},
        lengths,
    )


def followed(number: int, unit: float = 1.0, reverse: bool = False) -> da.Motion:
    """The motion of a random system."""
    drawn = specimen(number, unit, reverse)
    return da.simulate(drawn.system, drawn.start, (0, 1.0), parameters=drawn.parameters)


def broken_laws(motion: da.Motion) -> list[str]:
    """The laws that a motion breaks: gaps, signs, complementarity, cone, direction, dissipation."""
    found: list[str] = []
    scale = max(float(np.abs(motion.energy).max()), 1e-300)
    lost = np.diff(motion.energy)
    if len(lost) and lost.max() > SMALL * scale:
        found.append(f"gains {lost.max() / scale:.1e} of its energy")
    for stated in motion.system.unilateral:
        history = motion.contacts[stated.name]
        push = max(float(np.abs(history.normal).max()), 1e-300)
        way = max(float(np.abs(motion[motion.system.coordinates[0].name]).max()), 1e-300)
        if history.gap.min() < -SMALL * way:
            found.append(f"{stated.name} is broken by {history.gap.min():.1e}")
        if history.normal.min() < -SMALL * push:
            found.append(f"{stated.name} pulls with {history.normal.min():.1e}")
        if np.abs(history.gap * history.normal).max() > SMALL * way * push:
            found.append(f"{stated.name} pushes at a distance")
        found += _broken_friction(motion, stated, history, push)
    return found


def _broken_friction(motion: da.Motion, stated: Any, history: Any, push: float) -> list[str]:
    """What Coulomb's law is broken by at one contact or limit."""
    if not stated.tangent:
        return []
    values = {s: motion.parameters[s.name] for s in motion.system.parameters}
    kinetic = float(stated.friction.subs(values))
    static = float(stated.static_friction.subs(values))
    rub, slip = np.linalg.norm(history.friction, axis=0), np.linalg.norm(history.slip, axis=0)
    found = []
    if (rub - static * history.normal).max() > SMALL * push * max(1.0, static):
        found.append(f"{stated.name} leaves the cone")
    power = (history.friction * history.slip).sum(axis=0)
    if (power + kinetic * history.normal * slip)[slip > 1e-6 * slip.max(initial=0.0)].max(
        initial=0.0
    ) > 1e-6 * push * max(slip.max(initial=0.0), 1e-300):
        found.append(f"{stated.name} does not oppose its slip")
    return found
