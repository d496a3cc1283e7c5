"""Contacts in corners: a point under a constant force between two planes, against its motion in
closed form.

Between impacts the motion is a parabola, free or along a plane, whose next impact is a root of a
quadratic equation. What follows an impact is found by trying every set of closed planes,
independently of how the library looks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dalembert as da

X, Y = da.coordinates("x y")
NX, NY, E = (
    da.parameters(" ".join(f"{symbol}{k}" for k in range(2))) for symbol in ("nx", "ny", "e")
)
FX, FY = da.parameters("fx fy")
#: One system for all pairs: a particle at the origin, inside the planes n q <= 1.
BETWEEN_PLANES = da.System(
    [X, Y],
    kinetic=(X.dot**2 + Y.dot**2) / 2,
    potential=-FX * X - FY * Y,
    constraints=[
        da.unilateral(NX[k] * X + NY[k] * Y - 1 <= 0, restitution=E[k], name=f"plane{k}")
        for k in range(2)
    ],
)
END = 8.0
#: Flights below this count as none in the reference; the library gives up flights of 1e-9 of the
#: longest one.
NO_FLIGHT = 1e-11
PAIRS = 50


@dataclass(frozen=True)
class Corner:
    """Planes n q <= 1 (a row of `normals` each) with their restitutions, a constant force, and the
    velocity at the origin.
    """

    normals: Any
    restitutions: tuple[float, float]
    force: Any
    velocity: Any

    def run(self, **options: Any) -> da.Motion:
        values = {FX: self.force[0], FY: self.force[1]}
        for k in range(2):
            values |= {
                NX[k]: self.normals[k, 0],
                NY[k]: self.normals[k, 1],
                E[k]: self.restitutions[k],
            }
        start = {X: 0, Y: 0, X.dot: self.velocity[0], Y.dot: self.velocity[1]}
        return da.simulate(BETWEEN_PLANES, start, (0, END), parameters=values, **options)

    def gaps(self, q: Any) -> Any:
        return self.normals @ q - 1.0

    # -- the motion in closed form -----------------------------------------------------------------

    def held(self, vector: Any, closed: tuple[int, ...]) -> tuple[Any, Any]:
        """A vector without its part into closed planes, and the (signed) pushes of these."""
        rows = self.normals[list(closed)]
        pushes = np.linalg.solve(rows @ rows.T, rows @ vector) if closed else np.zeros(0)
        return vector - rows.T @ pushes, pushes

    def resting(self, candidates: tuple[int, ...], vector: Any) -> tuple[int, ...]:
        """The planes among the candidates that push against a vector, while it goes into none of
        the others.
        """
        for size in range(len(candidates), -1, -1):
            for closed in combinations(candidates, size):
                rest, pushes = self.held(vector, closed)
                others = [k for k in candidates if k not in closed]
                if np.all(pushes >= 0) and np.all(
                    self.normals[others] @ rest <= 1e-12 * np.linalg.norm(vector)
                ):
                    return closed
        raise AssertionError("no set of closed planes")

    def next_hit(
        self, q: Any, v: Any, a: Any, opened: list[int], just_left: set[int]
    ) -> tuple[float, int]:
        """The time to the next impact, and its plane."""
        found = [(np.inf, -1)]
        for k in opened:
            gap, speed, pull = self.gaps(q)[k], self.normals[k] @ v, self.normals[k] @ a
            if k in just_left or gap > 0:
                gap = 0.0
            inside = speed**2 - 2 * pull * gap
            if gap == 0:
                hits = speed > 1e-13 * np.linalg.norm(self.normals[k]) * np.linalg.norm(v)
                time = 0.0 if hits else -2 * min(speed, 0.0) / pull if pull > 0 else np.inf
            else:
                time = (
                    -2 * gap / (speed + np.sqrt(inside))
                    if inside >= 0 and speed + np.sqrt(inside) > 0
                    else np.inf
                )
            found.append((time, k))
        return min(found)

    def end(self) -> Any:
        """The state at the end (4,)."""
        q, v, t, closed = np.zeros(2), np.array(self.velocity), 0.0, ()
        touching: set[int] = set()
        for _ in range(5000):
            a, _ = self.held(self.force, closed)
            dt, plane = self.next_hit(
                q, v, a, [k for k in (0, 1) if k not in closed], touching - set(closed)
            )
            if t + dt > END:
                break
            q, v, t = q + v * dt + 0.5 * a * dt**2, v + a * dt, t + dt
            touching = {
                k
                for k in (0, 1)
                if k == plane
                or k in closed
                or self.gaps(q)[k] > -1e-13 * (1 + np.abs(self.normals[k]) @ np.abs(q))
            }
            closed, v = self.after_impact(plane, closed, touching, v)
        else:
            raise AssertionError("the reference does not end")
        dt = END - t
        return np.concatenate([q + v * dt + 0.5 * a * dt**2, v + a * dt])

    def after_impact(
        self, plane: int, closed: tuple[int, ...], touching: set[int], v: Any
    ) -> tuple[tuple[int, ...], Any]:
        n, e = self.normals, self.restitutions
        for _ in range(200):
            into, pushes = self.held(v, (plane, *closed))
            if closed and pushes[1] < -1e-12 * abs(pushes[0]):
                closed = ()
                into, pushes = self.held(v, (plane,))
            v = v + (1 + e[plane]) * (into - v)
            other = [k for k in touching if k != plane and k not in closed and n[k] @ v > 1e-10]
            if not other:
                break
            plane = other[0]
        else:
            v, _ = self.held(v, self.resting(tuple(touching), v))
        if len(touching) == 2 and np.linalg.norm(v) < 1e-9 * np.linalg.norm(self.force):
            return self.resting((0, 1), self.force), np.zeros(2)
        a, _ = self.held(self.force, closed)
        short = [
            k
            for k in touching
            if k not in closed and n[k] @ a > 0 and -2 * (n[k] @ v) / (n[k] @ a) < NO_FLIGHT
        ]
        mode = self.resting(tuple(sorted({*closed, *short})), self.force)
        if mode != closed:
            v, _ = self.held(v, mode)
        return mode, v


def random_corner(random: np.random.Generator) -> Corner:
    angles, lengths = random.uniform(0, 2 * np.pi, 2), random.uniform(0.4, 1.2, 2)
    normals = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    restitutions = tuple(float(e) for e in random.choice([0.0, 0.2, 0.5, 0.8], 2))
    return Corner(normals, restitutions, random.uniform(-5, 5, 2), random.uniform(-2, 2, 2))


@pytest.mark.long
@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_corners_end_inside_and_where_the_closed_form_ends(form: str) -> None:
    random = np.random.default_rng(7)
    met_corner = 0
    for _ in range(PAIRS if form == "lagrange" else PAIRS // 5):
        corner = random_corner(random)
        motion = corner.run(form=form)
        expected = corner.end()
        assert motion.outcome is da.Outcome.FINISHED, (corner, motion.message)
        places = motion.y[:2].T
        assert max(corner.gaps(q).max() for q in places) < 1e-12 * np.abs(places).max(), corner
        assert np.abs(places[-1] - expected[:2]).max() < 1e-7 * np.abs(places).max(), (
            corner,
            expected,
        )
        met_corner += len({name for _, name in motion.impacts}) == 2
    assert met_corner >= PAIRS // 20
