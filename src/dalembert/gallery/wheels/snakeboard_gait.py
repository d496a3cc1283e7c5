"""The snakeboard driven by a gait: rotor and steering follow sinusoids, and the board moves off.

    psi = a1 sin(w1 t + d1),      phi = a2 sin(w2 t + d2)

Both are holonomic constraints that depend on time; with the wheels they leave one freedom, the
momentum p, which starts at zero. At the default phases the board is at rest at the start.
"""

from __future__ import annotations

from sympy import sin

from ...model.constraints import holonomic
from ...model.scenario import Scenario
from ...model.symbols import parameters, t
from . import snakeboard


def scenario() -> Scenario:
    """The drive gait: rotor and wheels in step."""
    free = snakeboard.scenario()
    psi, phi = free.system.coordinates[3:]
    a1, w1, d1, a2, w2, d2 = parameters("a1 w1 d1 a2 w2 d2")
    gait = [
        holonomic(psi - a1 * sin(w1 * t + d1), name="rotor"),
        holonomic(phi - a2 * sin(w2 * t + d2), name="steering"),
    ]
    return free.replacing(
        system=free.system.replacing(
            constraints=[*free.system.constraints, *gait], name="Snakeboard, driven by a gait"
        ),
        parameters={"m": 6.0, "r": 0.2, "J0": 0.016, "J1": 0.0013}
        | {"a1": 0.7, "w1": 1.0, "d1": 0.0, "a2": 0.3, "w2": 1.0, "d2": 0.0},
        start={"x": 0.0, "y": 0.0, "theta": 0.0, "psi": 0.0, "phi": 0.0}
        | {"x_dot": 0.0, "y_dot": 0.0, "theta_dot": 0.0, "psi_dot": 0.7, "phi_dot": 0.3},
        simulate={"span": (0.0, 25.0), "rtol": 1e-10},
        summary=(
            "Locomotion by a gait: shape changes that are periodic in time carry the board away."
        ),
    )
