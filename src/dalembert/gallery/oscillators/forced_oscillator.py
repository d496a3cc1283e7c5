"""A mass on a spring and a damper, pushed by a force: M u'' + C u' + K u = F0 cos(Omega t)."""

from __future__ import annotations

from sympy import cos

from ...model.drawing import Drawing, Link, PointMark, Spring
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ..shared_parts import GAVIN


def scenario() -> Scenario:
    """The oscillator near resonance, with its transient."""
    u = coordinates("u")
    M, K = parameters("M K", positive=True)
    C, F0, Omega = parameters("C F0 Omega")
    system = System(
        coordinates=[u],
        kinetic=M / 2 * u.dot**2,
        potential=K / 2 * u**2,
        dissipation=C / 2 * u.dot**2,
        forces={u: F0 * cos(Omega * t)},
        name="Forced oscillator",
    )
    return Scenario(
        system,
        parameters={"M": 1.0, "K": 25.6, "C": 0.4, "F0": 1.5, "Omega": 4.0},
        start={"u": 0.2, "u_dot": -0.1},
        simulate={"span": (0.0, 10.0), "rtol": 1e-10},
        source=f"{GAVIN}, section 10.1",
        summary="Spring, damper and harmonic force, with a closed-form solution.",
        drawing=Drawing(
            shapes=(
                Link((-1, -0.08), (1, -0.08), color="ground"),
                Link((-1, -0.08), (-1, 0.2), width=4.0, color="ground"),
                Spring((-1, 0), (u, 0)),
                PointMark((u, 0), size=22.0),
            ),
            limits=((-1.1, 1.0), (-0.5, 0.5)),
        ),
    )
