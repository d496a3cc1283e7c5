"""A double pendulum whose tip follows a circle, with a motor at each joint.

Both components of tip - r(t) are held, started off: they decay with (s + k)^2. The torques are the
computed ones,

    q_ddot = J^-1 (r_ddot - 2 k (J q_dot - r_dot) - k^2 (tip - r) - J_dot q_dot),       Q = M q_ddot
    - f,

with J the derivative of the tip. The shoulder's motor turns the first link, the elbow's the second
against the first.
"""

from __future__ import annotations

from sympy import Expr, Matrix, cos, diff, sin

from ...model.drawing import Drawing, Link, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, inputs, parameters, t
from ...model.system import System
from ..shared_parts import UDWADIA


def plant() -> tuple[System, Matrix]:
    """The pendulum with its motors free, and its tip (2 x 1)."""
    a, b = coordinates("theta1 theta2")
    m1, m2, g, l1, l2 = parameters("m1 m2 g l1 l2", positive=True)
    shoulder, elbow = inputs("shoulder elbow")
    joint = Matrix([l1 * sin(a), -l1 * cos(a)])
    tip = joint + Matrix([l2 * sin(b), -l2 * cos(b)])
    spin = (
        (m1 + m2) * l1**2 * a.dot**2
        + m2 * l2**2 * b.dot**2
        + 2 * m2 * l1 * l2 * cos(a - b) * a.dot * b.dot
    )
    system = System(
        [a, b],
        kinetic=spin / 2,
        potential=g * (m1 * joint[1] + m2 * tip[1]),
        forces={a: shoulder - elbow, b: elbow},
        inputs=[shoulder, elbow],
        name="Double pendulum that tracks a circle",
    )
    return system, tip


def requirements() -> dict[str, Expr]:
    """tip - r(t), by component."""
    _, tip = plant()
    radius, omega, height = parameters("radius omega height", positive=True)
    return {
        "across": tip[0] - radius * cos(omega * t),
        "up": tip[1] + height - radius * sin(omega * t),
    }


def scenario() -> Scenario:
    """The tip starts off the circle and converges to it."""
    system, tip = plant()
    q, v = list(system.coordinates), Matrix(system.velocities)
    k = parameters("k", positive=True)
    error = Matrix(list(requirements().values()))
    derivative = error.jacobian(q)
    rate = derivative * v + diff(error, t)
    wanted = -2 * k * rate - k**2 * error - rate.jacobian(q) * v - diff(rate, t)
    acceleration = derivative.adjugate() * wanted / derivative.det()
    energy = system.lagrangian
    assert energy is not None
    momenta = Matrix([diff(energy, w) for w in v])
    force = (
        momenta.jacobian(list(v)) * acceleration
        + momenta.jacobian(q) * v
        - Matrix([diff(energy, x) for x in q])
    )
    shoulder, elbow = system.inputs
    names = {f"error_{name}": value for name, value in requirements().items()}
    closed = system.driven({shoulder: force[0] + force[1], elbow: force[1]})
    l1 = parameters("l1", positive=True)
    joint = (l1 * sin(q[0]), -l1 * cos(q[0]))
    radius, omega, height = parameters("radius omega height", positive=True)
    target = (radius * cos(omega * t), -height + radius * sin(omega * t))
    return Scenario(
        closed.replacing(outputs={**names, "effort": shoulder**2 + elbow**2}),
        parameters={"m1": 1.0, "m2": 1.0, "g": 9.81, "l1": 1.0, "l2": 1.0, "k": 4.0}
        | {"radius": 0.4, "omega": 2.0, "height": 1.2},
        start={"theta1": 0.9, "theta2": -0.4, "theta1_dot": 0.0, "theta2_dot": 0.0},
        simulate={"span": (0.0, 10.0), "rtol": 1e-10},
        source=f"{UDWADIA}, section 5 (control requirements as constraints)",
        summary="A servo constraint: the tip of a double pendulum converges to a circle and "
        "stays on it.",
        drawing=Drawing(
            shapes=(
                Trace(tuple(tip)),
                Link((0, 0), joint),
                Link(joint, tuple(tip)),
                PointMark((0, 0), size=5.0, color="ground"),
                PointMark(joint),
                PointMark(target, size=6.0, color="accent"),
                PointMark(tuple(tip)),
            ),
            limits=((-1.3, 1.3), (-2.1, 0.4)),
        ),
    )
