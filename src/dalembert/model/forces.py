"""Help for people who think in positions: bodies, forces at points, gravity, springs and dampers.

Each function gives a `SystemPart`: kinetic and potential energy, Rayleigh's dissipation function
and generalised forces. Parts add up, and a `System` takes them as ``parts=[...]``. A force F at the
point r(q, t) has the generalised force Q_j = F . dr/dq_j (Gavin, eq. 20).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import sympy

from ..errors import ModelError
from ..typing import Expression, Matrix, Vector
from .named_points import position_outputs
from .symbols import Coordinate, as_expression, as_matrix, t

__all__ = [
    "SystemPart",
    "body",
    "damper",
    "force",
    "gravity",
    "particle",
    "rate",
    "spring",
    "sum_parts",
]

ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class SystemPart:
    """A contribution to a system: T, V, Rayleigh's function R (Q = -dR/dq_dot), forces, outputs."""

    kinetic: sympy.Expr = ZERO
    potential: sympy.Expr = ZERO
    dissipation: sympy.Expr = ZERO
    forces: Mapping[Coordinate, sympy.Expr] = field(default_factory=dict)
    outputs: Mapping[str, sympy.Expr] = field(default_factory=dict)

    def __add__(self, other: SystemPart) -> SystemPart:
        forces = dict(self.forces)
        for coordinate, value in other.forces.items():
            forces[coordinate] = forces.get(coordinate, sympy.Integer(0)) + value
        twice = sorted(self.outputs.keys() & other.outputs.keys())
        if twice:
            raise ModelError(
                f"Two points are called `{twice[0][:-2]}`",
                seen=f"both report {twice[0]}",
                remedy="name them apart",
            )
        return SystemPart(
            self.kinetic + other.kinetic,
            self.potential + other.potential,
            self.dissipation + other.dissipation,
            forces,
            {**self.outputs, **other.outputs},
        )


def sum_parts(parts: Iterable[SystemPart]) -> SystemPart:
    """All parts as one."""
    total = SystemPart()
    for part in parts:
        total = total + part
    return total


def rate(expression: Expression) -> sympy.Expr:
    """The total time derivative of a function of coordinates and time.

    >>> from dalembert.model.symbols import coordinates
    >>> x = coordinates("x")
    >>> rate(x**2)
    2*x*x_dot
    """
    expression = as_expression(expression)
    moving = sorted(expression.atoms(Coordinate), key=lambda symbol: symbol.name)
    return sympy.diff(expression, t) + sum(sympy.diff(expression, q) * q.dot for q in moving)


def particle(mass: Expression, position: Vector, *, name: str = "") -> SystemPart:
    """A point mass at a position given by its Cartesian components.

    With a `name`, its position is a column of every motion: ``name_x``, ``name_y``, ``name_z``.

    >>> from dalembert.model.symbols import coordinates
    >>> x, y = coordinates("x y")
    >>> particle(2, [x, y]).kinetic
    x_dot**2 + y_dot**2
    >>> particle(2, [x, y], name="bob").outputs
    {'bob_x': x, 'bob_y': y}
    """
    return SystemPart(
        kinetic=as_expression(mass) / 2 * sum(rate(component) ** 2 for component in position),
        outputs=position_outputs(name, [as_expression(r) for r in position]) if name else {},
    )


def body(
    mass: Expression,
    inertia: Expression | Vector | Matrix,
    position: Vector,
    *,
    angle: Expression | None = None,
    rotation: Matrix | None = None,
    angular_velocity: Vector | None = None,
    name: str = "",
) -> SystemPart:
    """A rigid body with its centre of mass at `position`; with a `name`, motions report that.

    A planar body has a scalar `inertia` and an `angle`. A body in space has a 3 x 3 `inertia` (or
    its three principal values) in the body's axes, and either its `rotation` matrix R(q, t) from
    body to space or its `angular_velocity` in the body's axes.

    >>> import dalembert as da
    >>> x, y, theta = da.coordinates("x y theta")
    >>> m, J = da.parameters("m J", positive=True)
    >>> body(m, J, [x, y], angle=theta).kinetic
    J*theta_dot**2/2 + m*(x_dot**2 + y_dot**2)/2
    >>> w1, w2, w3 = da.speeds("w1 w2 w3")
    >>> body(0, [1, 2, 3], [0, 0, 0], angular_velocity=[w1, w2, w3]).kinetic
    w1**2/2 + w2**2 + 3*w3**2/2
    """
    given = [
        name
        for name, value in (
            ("angle", angle),
            ("rotation", rotation),
            ("angular_velocity", angular_velocity),
        )
        if value is not None
    ]
    if len(given) != 1:
        raise ModelError(
            "A body needs exactly one of angle, rotation and angular_velocity",
            seen=", ".join(given) or "none",
            remedy="pass angle= in the plane, rotation= or angular_velocity= in space",
        )
    translation = particle(mass, position, name=name)
    if angle is not None:
        return translation + SystemPart(kinetic=as_expression(inertia) / 2 * rate(angle) ** 2)
    tensor = as_matrix(inertia)
    tensor = sympy.diag(*tensor) if tensor.shape in ((3, 1), (1, 3)) else tensor
    if tensor.shape != (3, 3):
        raise ModelError(
            "The inertia of a body in space must be 3 x 3, or three principal values",
            seen=tensor.shape,
        )
    if rotation is not None:
        frame = as_matrix(rotation)
        spin = frame.T * frame.applyfunc(rate)
        omega = sympy.Matrix([spin[2, 1], spin[0, 2], spin[1, 0]])
    else:
        omega = as_matrix(angular_velocity)
    return translation + SystemPart(kinetic=(omega.T * tensor * omega)[0] / 2)


def gravity(mass: Expression, height: Expression, g: Expression) -> SystemPart:
    """The weight of a mass at `height`, measured upwards: V = m g h.

    >>> from dalembert.model.symbols import coordinates, parameters
    >>> theta = coordinates("theta")
    >>> m, g, l = parameters("m g l")
    >>> gravity(m, -l*sympy.cos(theta), g).potential
    -g*l*m*cos(theta)
    """
    return SystemPart(potential=as_expression(mass) * as_expression(g) * as_expression(height))


def spring(stiffness: Expression, elongation: Expression) -> SystemPart:
    """A linear spring: V = k e^2 / 2.

    >>> from dalembert.model.symbols import coordinates, parameters
    >>> x, (k, rest) = coordinates("x"), parameters("k rest")
    >>> spring(k, x - rest).potential
    k*(-rest + x)**2/2
    """
    return SystemPart(potential=as_expression(stiffness) / 2 * as_expression(elongation) ** 2)


def damper(coefficient: Expression, elongation: Expression) -> SystemPart:
    """A linear damper along `elongation`, a function of coordinates and time: R = c (de/dt)^2 / 2.

    >>> from dalembert.model.symbols import coordinates, parameters
    >>> x, c = coordinates("x"), parameters("c")
    >>> damper(c, 2*x).dissipation
    2*c*x_dot**2
    """
    return SystemPart(dissipation=as_expression(coefficient) / 2 * rate(elongation) ** 2)


def force(components: Expression | Vector, at: Expression | Vector) -> SystemPart:
    """A force with Cartesian `components` at the point `at`; a torque is the scalar case.

    >>> from dalembert.model.symbols import coordinates
    >>> theta = coordinates("theta")
    >>> force([0, -1], at=[sympy.sin(theta), -sympy.cos(theta)]).forces
    {theta: -sin(theta)}
    """
    vector = (
        list(components)
        if isinstance(components, (list, tuple, sympy.MatrixBase))
        else [components]
    )
    point = (
        [as_expression(r) for r in at]
        if isinstance(at, (list, tuple, sympy.MatrixBase))
        else [as_expression(at)]
    )
    if len(vector) != len(point):
        raise ModelError(
            "A force and its point must have the same number of components",
            seen=f"{len(vector)} and {len(point)}",
        )
    moving = sorted(sympy.Matrix(point).atoms(Coordinate), key=lambda symbol: symbol.name)
    pairs = list(zip(vector, point, strict=True))
    return SystemPart(
        forces={q: sum(as_expression(f) * sympy.diff(r, q) for f, r in pairs) for q in moving}
    )
