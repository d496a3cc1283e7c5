"""Motions with closed forms, in the shape that pictures read: an oscillator, a circling wheel, a
bouncing ball.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy

import dalembert as da
from dalembert.model.drawing import Circle, Drawing, Link, PointMark, Polyline, Spring, Trace
from dalembert.model.scenario import Scenario


@dataclass
class KnownMotion:
    """A motion given by a function of time for each name of the state."""

    system: Any
    state: tuple[Any, ...]
    function: Any
    t: np.ndarray
    parameters: dict[str, float]
    derived: dict[str, np.ndarray] = field(default_factory=dict)
    drawing: Drawing | None = None
    reactions: dict[str, Any] = field(default_factory=dict)
    position: dict[str, np.ndarray] = field(default_factory=dict)
    velocity: dict[str, np.ndarray] = field(default_factory=dict)
    t_events: list[np.ndarray] = field(default_factory=list)
    impacts: tuple[tuple[float, str], ...] = ()
    message: str = "The motion is known."

    def sol(self, times: Any) -> np.ndarray:
        return np.asarray(self.function(np.asarray(times, dtype=float)))

    @property
    def y(self) -> np.ndarray:
        return self.sol(self.t)

    @property
    def event_names(self) -> tuple[str, ...]:
        return tuple(f"event{k}" for k, _ in enumerate(self.t_events, start=1))

    @property
    def equations(self) -> Any:
        return SimpleNamespace(state=self.state)

    @property
    def names(self) -> tuple[str, ...]:
        return (*(symbol.name for symbol in self.state), *self.derived, "t")

    @property
    def energy(self) -> np.ndarray:
        return self.derived["energy"]

    @property
    def residuals(self) -> Any:
        return SimpleNamespace(position=self.position, velocity=self.velocity)

    @property
    def total_reaction(self) -> np.ndarray:
        return sum(reaction.force for reaction in self.reactions.values())

    @property
    def scenario(self) -> Scenario:
        return Scenario(self.system, drawing=self.drawing)

    def __getitem__(self, name: Any) -> np.ndarray:
        states = [symbol.name for symbol in self.state]
        if str(name) == "t":
            return self.t
        return self.y[states.index(str(name))] if str(name) in states else self.derived[str(name)]


def oscillator(end: float = 4.0, steps: int = 21, drawn: bool = True) -> KnownMotion:
    """x = cos(t) on a spring, with few and long steps as of a high-order method; the energy drifts
    by 3e-11.
    """
    x = da.coordinates("x")
    m, k = da.parameters("m k", positive=True)
    system = da.System(
        coordinates=[x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2, name="Oscillator"
    )
    t = np.linspace(0.0, end, steps)
    shapes = (
        Polyline([(-2, -0.3), (2, -0.3)], color="ground"),
        Trace((x, 0)),
        Spring((-2, 0), (x, 0)),
        Polyline([(x, -0.2), (x + 0.3, -0.2), (x + 0.3, 0.2), (x, 0.2)], closed=True),
        PointMark((x, 0)),
    )
    return KnownMotion(
        system,
        (x, x.dot),
        lambda s: np.array([np.cos(s), -np.sin(s)]),
        t,
        {"m": 1.0, "k": 1.0},
        {"x_ddot": -np.cos(t), "energy": 0.5 + 1.5e-11 * t / end},
        Drawing(shapes) if drawn else None,
        t_events=[np.arange(np.pi / 2, end, np.pi)],
    )


def wheel(end: float = 6.0, steps: int = 61) -> KnownMotion:
    """An upright wheel that rolls around a circle: steady, with the exact reaction of its two
    constraints.

    With the turn psi = w t and the heading phi = v t, the centre moves at speed r w along the
    heading. The generalised force on (x, y) is m times the centre's acceleration, r w v towards the
    middle.
    """
    x, y, phi, psi = da.coordinates("x y phi psi")
    m, r = da.parameters("m r", positive=True)
    system = da.System(
        coordinates=[x, y, phi, psi],
        kinetic=m / 2 * (x.dot**2 + y.dot**2)
        + m * r**2 / 8 * phi.dot**2
        + m * r**2 / 4 * psi.dot**2,
        constraints=[
            da.velocity(x.dot - r * psi.dot * sympy.cos(phi), name="rolling_x"),
            da.velocity(y.dot - r * psi.dot * sympy.sin(phi), name="rolling_y"),
        ],
        name="Wheel",
    )
    radius, w, v = 0.5, 3.0, 1.0
    t = np.linspace(0.0, end, steps)

    def state(s: np.ndarray) -> np.ndarray:
        speed, one = radius * w, np.ones_like(s)
        q = [speed / v * np.sin(v * s), -speed / v * np.cos(v * s), v * s, w * s]
        return np.array([*q, speed * np.cos(v * s), speed * np.sin(v * s), v * one, w * one])

    along = (sympy.cos(phi), sympy.sin(phi), 0)
    spoke = (
        x + r * sympy.sin(psi) * sympy.cos(phi),
        y + r * sympy.sin(psi) * sympy.sin(phi),
        r + r * sympy.cos(psi),
    )
    shapes = (
        Trace((x, y, 0)),
        Circle((x, y, r), r, axes=(along, (0, 0, 1))),
        Link((x, y, r), spoke, color="accent"),
        Spring((0, 0, 2 * r), (x, y, r)),
        Circle((0, 0, 2 * r), r / 4),
        PointMark((x, y, 0), color="ground"),
    )
    force = 2.0 * radius * w * v
    zero = np.zeros_like(t)
    reactions = {
        "rolling_x": SimpleNamespace(force=np.array([-force * np.sin(v * t), zero, zero, zero])),
        "rolling_y": SimpleNamespace(force=np.array([zero, force * np.cos(v * t), zero, zero])),
    }
    size = 1e-13 * (1 + np.sin(t) ** 2)
    return KnownMotion(
        system,
        (*system.coordinates, *system.velocities),
        state,
        t,
        {"m": 2.0, "r": radius},
        {"energy": np.full(steps, 4.0)},
        Drawing(shapes),
        reactions,
        velocity={"rolling_x": size, "rolling_y": 2 * size},
    )


def many(count: int) -> KnownMotion:
    """`count` uncoupled oscillators, the k-th of frequency k."""
    q = tuple(da.coordinates(f"q1:{count + 1}")) if count > 1 else (da.coordinates("q1"),)
    system = da.System(
        coordinates=q, kinetic=sum(c.dot**2 for c in q) / 2, potential=sum(c**2 for c in q) / 2
    )
    w = np.arange(1, count + 1)[:, None]
    t = np.linspace(0.0, 3.0, 31)

    def state(s: np.ndarray) -> np.ndarray:
        s = np.atleast_1d(s)
        return np.concatenate([np.sin(w * s), w * np.cos(w * s)])

    return KnownMotion(system, (*q, *system.velocities), state, t, {}, {"energy": np.ones_like(t)})
