"""A crane whose load follows a path, with a force on the trolley and a torque on the winch: index
5.

Trolley and winch reach the load through the tension N of the rope alone,

    m X_ddot = -N sin(theta),        m (Z_ddot + g) = N cos(theta),

so that one of two requirements is answered after two differentiations and the other after four.
With Z_ddot = w_Z held, X - X_d leaves psi = -(w_Z + g) tan(theta) - w_X without any force; psi'' +
2 k psi' + k^2 psi = 0 determines theta_ddot, and the forces follow. The load's position is flat:
nothing moves on its own.
"""

from __future__ import annotations

from sympy import Expr, Matrix, Symbol, cos, diff, sin, tan

from ...model.drawing import Drawing, Link, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, inputs, parameters, t
from ...model.system import System
from ..shared_parts import UDWADIA


def plant() -> tuple[System, Matrix]:
    """The crane with its inputs free, and the place of its load (2 x 1)."""
    x, l, theta = coordinates("x l theta")
    M, m, J, g = parameters("M m J g", positive=True)
    F, T = inputs("F T")
    load = Matrix([x + l * sin(theta), -l * cos(theta)])
    speed = load.jacobian([x, l, theta]) * Matrix([x.dot, l.dot, theta.dot])
    system = System(
        [x, l, theta],
        kinetic=M / 2 * x.dot**2 + J / 2 * l.dot**2 + m / 2 * (speed.T * speed)[0],
        potential=m * g * load[1],
        forces={x: F, l: T},
        inputs=[F, T],
        name="Crane that tracks a path",
    )
    return system, load


def path() -> tuple[Expr, Expr]:
    """X_d(t) and Z_d(t): to and fro, with a lift in the middle."""
    width, lift, depth, omega = parameters("width lift depth omega", positive=True)
    return width * sin(omega * t), -depth + lift * cos(2 * omega * t)


def requirements() -> dict[str, Expr]:
    """load - path."""
    _, load = plant()
    across, up = path()
    return {"across": load[0] - across, "up": load[1] - up}


def scenario() -> Scenario:
    """The load starts at rest off its path and converges to it."""
    system, load = plant()
    x = system.coordinates[0]
    M, k = parameters("M k", positive=True)
    efforts = _efforts(system, load, k)
    F, T = system.inputs
    names = {f"error_{name}": value for name, value in requirements().items()}
    across, up = path()
    closed = system.driven(dict(zip((F, T), efforts, strict=True)))
    return Scenario(
        closed.replacing(outputs={**names, "effort": F**2 + T**2}),
        parameters={"M": 3.0, "m": 1.0, "J": 0.5, "g": 9.81, "k": 3.0}
        | {"width": 1.5, "lift": 0.3, "depth": 2.0, "omega": 0.8},
        start={"x": 0.0, "l": 1.9, "theta": 0.05, "x_dot": 0.0, "l_dot": 0.0, "theta_dot": 0.0},
        simulate={"span": (0.0, 15.0), "rtol": 1e-10},
        source=f"{UDWADIA}, section 5 (control requirements as constraints)",
        summary="A servo constraint of index 5: trolley and winch make the load of a crane "
        "follow a path.",
        drawing=Drawing(
            shapes=(
                Link((-2.6, 0), (2.6, 0), width=1.0, color="ground"),
                Trace(tuple(load)),
                Link((x, 0), tuple(load), width=1.2),
                Link((x - M / 12, 0), (x + M / 12, 0), width=8.0, color="body"),
                PointMark((across, up), size=6.0, color="accent"),
                PointMark(tuple(load), size=12.0),
            ),
            limits=((-2.7, 2.7), (-2.9, 0.5)),
        ),
    )


def _efforts(system: System, load: Matrix, k: Expr) -> list[Expr]:
    """F and T from the accelerations that the laws ask for."""
    q, v = list(system.coordinates), Matrix(system.velocities)
    theta = q[2]
    g = parameters("g", positive=True)
    speed = load.jacobian(q) * v
    across, up = path()
    law_x, law_z = (
        diff(wanted, t, 2) - 2 * k * (speed[i] - diff(wanted, t)) - k**2 * (load[i] - wanted)
        for i, wanted in enumerate((across, up))
    )
    turning = Symbol("turning")
    pulled = -(law_z + g) * tan(theta)  # X_ddot, while Z_ddot = law_z
    # x_ddot and l_ddot that go with them, for any theta_ddot
    free = load.jacobian(q[:2])
    bias = speed.jacobian(q) * v + load.diff(theta) * turning
    others = free.adjugate() * (Matrix([pulled, law_z]) - bias) / free.det()
    accelerations = Matrix([others[0], others[1], turning])

    def rate(function: Expr) -> Expr:
        """Along the motion with these accelerations."""
        line = Matrix([function])
        return (line.jacobian(q) * v + line.jacobian(list(v)) * accelerations)[0] + diff(
            function, t
        )

    psi = pulled - law_x
    first = rate(psi).expand().xreplace({turning: 0})  # the coefficient of theta_ddot is zero
    second = rate(first) + 2 * k * first + k**2 * psi
    derivative = diff(second, turning)
    found = -second.xreplace({turning: 0}) / derivative.xreplace({turning: 0})
    reached = accelerations.xreplace({turning: found})
    energy = system.lagrangian
    assert energy is not None
    momenta = Matrix([diff(energy, w) for w in v])
    force = (
        momenta.jacobian(list(v)) * reached
        + momenta.jacobian(q) * v
        - Matrix([diff(energy, c) for c in q])
    )
    return [force[0], force[1]]
