"""Two satellites about a planet: the first flies free, the second holds its place in a ring about
the first by thrust.

    r_2 - r_1 = d (cos(n t), sin(n t)),        thrust = m_2 (a_1 - a_2 + d_ddot - 2 k e_dot - k^2
    e),

with the attractions a_i of the planet and the error e of the formation.
"""

from __future__ import annotations

from sympy import Expr, Matrix, cos, diff, sin, sqrt

from ...model.drawing import Drawing, Link, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, inputs, parameters, t
from ...model.system import System
from ..shared_parts import UDWADIA


def plant() -> System:
    """Both satellites in the field mu / r, with the thrust on the second free."""
    x1, y1, x2, y2 = coordinates("x1 y1 x2 y2")
    m1, m2, mu = parameters("m1 m2 mu", positive=True)
    push, lift = inputs("thrust_x thrust_y")
    return System(
        [x1, y1, x2, y2],
        kinetic=m1 / 2 * (x1.dot**2 + y1.dot**2) + m2 / 2 * (x2.dot**2 + y2.dot**2),
        potential=-mu * m1 / sqrt(x1**2 + y1**2) - mu * m2 / sqrt(x2**2 + y2**2),
        forces={x2: push, y2: lift},
        inputs=[push, lift],
        name="Satellites in formation",
    )


def requirements() -> dict[str, Expr]:
    """The error of the formation, by component."""
    x1, y1, x2, y2 = plant().coordinates
    d, n = parameters("d n", positive=True)
    return {"along_x": x2 - x1 - d * cos(n * t), "along_y": y2 - y1 - d * sin(n * t)}


def scenario() -> Scenario:
    """The second satellite starts off the ring."""
    system = plant()
    x1, y1, x2, y2 = system.coordinates
    m2, mu, k = parameters("m2 mu k", positive=True)
    error = Matrix(list(requirements().values()))
    rate = error.jacobian(list(system.coordinates)) * Matrix(system.velocities) + diff(error, t)
    pulls = [-mu / sqrt(x**2 + y**2) ** 3 * Matrix([x, y]) for x, y in ((x1, y1), (x2, y2))]
    thrust = m2 * (pulls[0] - pulls[1] - diff(error, t, 2) - 2 * k * rate - k**2 * error)
    push, lift = system.inputs
    names = {f"error_{name}": value for name, value in requirements().items()}
    return Scenario(
        system.driven({push: thrust[0], lift: thrust[1]}).replacing(
            outputs={**names, "effort": push**2 + lift**2}
        ),
        parameters={"m1": 1.0, "m2": 0.5, "mu": 1.0, "d": 0.2, "n": 3.0, "k": 2.0},
        start={
            "x1": 1.0,
            "y1": 0.0,
            "x2": 1.3,
            "y2": 0.1,
            "x1_dot": 0.0,
            "y1_dot": 1.1,
            "x2_dot": 0.0,
            "y2_dot": 1.0,
        },
        simulate={"span": (0.0, 14.0), "rtol": 1e-10},
        source=f"{UDWADIA}, section 5 (control requirements as constraints)",
        summary=(
            "A servo constraint: a satellite circles another one that is in free flight about a"
            " planet."
        ),
        drawing=Drawing(
            shapes=(
                Trace((x1, y1)),
                Trace((x2, y2), color="accent"),
                Link((x1, y1), (x2, y2), width=1.0),
                PointMark((0, 0), size=22.0, color="ground"),
                PointMark((x1, y1)),
                PointMark((x2, y2), size=7.0, color="accent"),
            )
        ),
    )
