"""Random systems of kinds that `random_system` does not draw: images of speeds, coordinates without
mass, nonideal constraints.

Only the independent implementation in CasADi is asked of them: LagrangesMethod has no speeds, and
no forces of constraints.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

import dalembert as da

from .differential_cases import Case, motion_case

#: Forms that are gone through for systems with constraints.
FORMS = (None, "lagrange", "maggi", "kane", "hamel", "voronets", "gibbs-appell", "hamilton")


class _Draw:
    """Draws the parts of a system on four coordinates."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.q = da.coordinates("q1:5")
        self.v = tuple(c.dot for c in self.q)

    def number(self) -> sympy.Float:
        return sympy.Float(float(np.round(self.random.uniform(0.2, 0.9), 3)))

    def wave(self) -> sympy.Expr:
        first, second = self.random.integers(0, 4, 2)
        return self.number() * sympy.sin(
            self.q[first] + self.number() * self.q[second] + self.number(), evaluate=False
        )

    def potential(self) -> Any:
        return sum(c**2 for c in self.q) / 2 + self.wave()

    def kinetic(self) -> Any:
        v, number, wave = self.v, self.number, self.wave
        return (
            sum(w**2 for w in v) / 2
            + (wave() * v[0] + number() * v[3]) ** 2 / 2
            + (wave() * v[1] - number() * v[2]) ** 2 / 2
        )

    def image(self, moving: bool) -> da.System:
        """q_dot = E(q, t) u with two or three speeds."""
        speeds = da.speeds(f"u1:{3 + int(self.random.integers(0, 2))}")
        rows = {
            c: sum(
                (self.number() + self.wave() + (sympy.cos(da.t) / 4 if moving else 0)) * u
                for u in speeds
            )
            for c in self.q
        }
        forces = {self.q[0]: sympy.sin(da.t) - self.number() * self.v[1]}
        parts = {
            "kinetic": self.kinetic(),
            "potential": self.potential(),
            "dissipation": self.number() * self.v[2] ** 2 / 2,
        }
        return da.System(self.q, constraints=[da.image(rows, speeds)], forces=forces, **parts)

    def massless(self, copied: bool) -> da.System:
        """Two coordinates without mass, which the constraints give: the mass matrix is singular."""
        (a, b, c, _), v, number = self.q, self.v, self.number
        kinetic = (v[0] ** 2 + (1 + a**2) * v[1] ** 2 + number() * v[0] * v[1]) / 2
        derivative = v[3] - (number() + sympy.cos(a)) * v[1] - number() * v[0]
        rows = [
            da.holonomic(c - number() * a - number() * sympy.sin(b), name="place"),
            da.velocity(derivative, name="slope"),
        ]
        rows += [da.velocity(derivative * (1 + a**2), name="copy")] if copied else []
        return da.System(
            self.q,
            kinetic=kinetic,
            potential=self.potential(),
            constraints=rows,
            forces={self.q[3]: number() * sympy.sin(da.t)},
        )

    def nonideal(self, copied: bool) -> da.System:
        """Constraints whose reactions do work, and an input that is a law of the state and of
        time.
        """
        q, v, number = self.q, self.v, self.number
        place = sum(number() * c for c in q) + self.wave() - number()
        row = sum((number() + self.wave()) * w for w in v) - number()
        rows = [
            da.holonomic(place, name="place", work={q[0]: -number() * v[0], q[2]: number() * v[1]}),
            da.velocity(row, name="row", work={q[1]: -number() * v[1] ** 3}),
        ]
        rows += [da.holonomic((1 + q[0] ** 2) * place, name="copy")] if copied else []
        law = da.inputs("U")
        return da.System(
            q,
            kinetic=self.kinetic(),
            potential=self.potential(),
            constraints=rows,
            forces={q[3]: law, q[1]: law * v[0]},
            inputs={law: number() * sympy.sin(da.t) - number() * q[0] - number() * v[1]},
        )


def special_case(number: int, seed: int) -> Case:
    """One of them along a short motion, in a form of its turn."""
    draw, kind, twist = _Draw(seed + number), number % 3, bool(number // 3 % 2)
    system = (draw.image, draw.massless, draw.nonideal)[kind](twist)
    image = system.image
    symbols = (*system.coordinates, *(system.velocities if image is None else image.speeds))
    start = {symbol: float(draw.random.uniform(-0.5, 0.5)) for symbol in symbols}
    form = (
        FORMS[number // 6 % len(FORMS)]
        if kind == 2
        else ("implicit-hamiltonian" if kind == 0 and number % 4 == 0 else None)
    )
    motion = da.simulate(system, start, (0.3, 0.5), form=form, rtol=1e-11, atol=1e-12)
    return motion_case(
        f"special_case({number}, {seed})", system, motion, twist and kind != 0, 2, tags={"special"}
    )
