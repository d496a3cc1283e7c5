"""The Lorenz equations held on a sphere by the least addition to their rates: no mechanics, the
same principle.

phi = (x^2 + y^2 + (z - r)^2 - R^2) / (2 R),        x_dot = f + u,        u = -grad phi (grad phi .
f + k phi) / |grad phi|^2
"""

from __future__ import annotations

from sympy import Expr, Matrix, diff, sqrt

from ...model.drawing import Circle, Drawing, PointMark, Trace
from ...model.flow_system import Flow
from ...model.scenario import Scenario
from ...model.symbols import coordinates, inputs, parameters
from ..shared_parts import UDWADIA


def plant() -> Flow:
    """The equations with an input on each rate."""
    x, y, z = coordinates("x y z")
    s, r, b = parameters("s r b", positive=True)
    u = inputs("u_x u_y u_z")
    rates = {x: s * (y - x) + u[0], y: x * (r - z) - y + u[1], z: x * y - b * z + u[2]}
    return Flow(rates, inputs=u, name="Lorenz equations on a sphere")


def requirements() -> dict[str, Expr]:
    """phi."""
    x, y, z = coordinates("x y z")
    r, R = parameters("r R", positive=True)
    return {"sphere": (x**2 + y**2 + (z - r) ** 2 - R**2) / (2 * R)}


def scenario() -> Scenario:
    """A start inside of the sphere, which the motion reaches with the rate k."""
    flow = plant()
    k, r, R = parameters("k r R", positive=True)
    (phi,) = requirements().values()
    derivative = Matrix([diff(phi, q) for q in flow.coordinates])
    field = Matrix([rate.xreplace(dict.fromkeys(flow.inputs, 0)) for rate in flow.rates.values()])
    law = -derivative * ((derivative.T * field)[0] + k * phi) / (derivative.T * derivative)[0]
    u = Matrix(list(flow.inputs))
    closed = flow.driven(dict(zip(flow.inputs, law, strict=True)))
    x, y, z = flow.coordinates
    tilt = sqrt(2) / 2
    outputs = {"error_sphere": phi, "effort": (u.T * u)[0]}
    return Scenario(
        closed.replacing(outputs=outputs),  # type: ignore[arg-type]
        parameters={"s": 3.0, "r": 14.0, "b": 1.0, "R": 10.0, "k": 2.0},
        start={"x": 3.0, "y": 4.0, "z": 10.0},
        simulate={"span": (0.0, 15.0), "rtol": 1e-10},
        source=f"{UDWADIA}, section 5 (control requirements as constraints)",
        summary=(
            "A servo constraint without mechanics: the Lorenz equations held on a sphere by the"
            " least change of rates."
        ),
        drawing=Drawing(
            shapes=(
                Circle((0, 0, r), R, axes=((1, 0, 0), (0, 0, 1)), color="ground"),
                Circle((0, 0, r), R, axes=((1, 0, 0), (0, 1, 0)), color="ground"),
                Circle((0, 0, r), R, axes=((tilt, tilt, 0), (0, 0, 1)), color="ground"),
                Trace((x, y, z)),
                PointMark((x, y, z)),
            )
        ),
    )
