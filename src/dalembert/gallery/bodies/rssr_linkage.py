"""The RSSR linkage: a crank drives a rocker about another axis through a rod with ball joints."""

from __future__ import annotations

from sympy import Expr, Matrix, Rational, eye

from ...model.bodies.body import Body, ground
from ...model.bodies.joints import revolute, spherical
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.shapes import line
from ...model.scenario import Scenario
from ...model.symbols import parameters


def mechanism() -> Mechanism:
    """Crank about z, rocker about x, and a coupler that closes the loop where all angles are 0."""
    a, b, d, m, g = parameters("a b d m g", positive=True)
    crank = _rod("crank", m, (0, a, 0))
    coupler = _rod("coupler", m, (d, -a, b))  # from the tip of the crank to that of the rocker
    rocker = _rod("rocker", m, (0, 0, b))
    joints = [
        revolute("crank_angle", ground(), crank, axis="z"),
        revolute("rocker_angle", ground(), rocker, axis="x", at=(d, 0, 0)),
        spherical("ball", crank, coupler, at=(0, a, 0)),
        spherical("socket", coupler, rocker, at=(d, -a, b), child_at=(0, 0, b)),
    ]
    return Mechanism(joints, gravity=(0, 0, -g), name="RSSR linkage")


def _rod(name: str, mass: Expr, way: tuple[Expr, ...]) -> Body:
    """A rod from the origin of its frame; a tenth of its moment about its own axis."""
    along = Matrix(way)
    square = along.dot(along)
    tensor = mass / 12 * (Rational(11, 10) * square * eye(3) - along * along.T)
    return Body(name, mass, tuple(along / 2), tensor, shapes=[line((0, 0, 0), way)])


def scenario() -> Scenario:
    """The crank turns with a push."""
    return Scenario(
        mechanism().system(),
        parameters={"a": 0.3, "b": 1.0, "d": 1.2, "m": 1.0, "g": 9.81},
        start={"crank_angle_dot": 6.0},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source="Norton, Design of Machinery, chapter 4",
        summary="A spatial four-bar: two hinges, two ball joints, and a rod that may spin freely.",
    )
