"""The unicycle with rider from three bodies: wheel, rider and limb.

It is the gallery's `unicycle-rider` (Bloch, section 9.4) with the same parameters. There the point
of contact has coordinates; here the hub has them, and the wheel rolls by a joint.
"""

from __future__ import annotations

from sympy import pi

from ...model.bodies.body import Body, ground
from ...model.bodies.contributions import Element
from ...model.bodies.joints import Joint, planar, prismatic, revolute
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.rolling import rolling
from ...model.bodies.rolling_surfaces import disk
from ...model.bodies.shapes import ball, cylinder, line, trace
from ...model.bodies.vectors import angles
from ...model.scenario import Scenario
from ...model.symbols import parameters
from ..shared_parts import BLOCH


def mechanism() -> Mechanism:
    """Heading, height, tilt and turn lead from the ground to the wheel."""
    M, R, A, B, m, l, mu, r, rho, g = parameters("M R A B m l mu r rho g", positive=True)
    u = parameters("u")
    rim = cylinder(R, rotation=angles("x", pi / 2))
    wheel = Body("wheel", M, inertia=(A, B, A), shapes=[rim, trace()])
    rider = Body("rider", m, (0, 0, l), shapes=[line((0, 0, 0), (0, 0, r))])
    limb = Body(
        "limb",
        mu,
        (0, 0, -rho),
        shapes=[line((0, 0, 0), (0, 0, -rho)), ball(0.05, at=(0, 0, -rho))],
    )
    track, post = Body("track"), Body("post")
    joints: list[Joint | Element] = [
        planar("hub", ground(), track, coordinates="x y phi"),
        prismatic("z", track, post),
        revolute("theta", post, rider, axis=(-1, 0, 0)),
        revolute("psi", rider, wheel, axis=(0, -1, 0)),
        revolute("kappa", rider, limb, axis="x", at=(0, 0, r), force=u),
        rolling("edge", wheel, disk(R), on=ground()),
    ]
    return Mechanism(joints, gravity=(0, 0, -g), name="Unicycle with rider, from bodies")


def scenario() -> Scenario:
    """The unicycle without control: it falls over."""
    values = {"M": 1.0, "R": 0.5, "A": 0.125, "B": 0.25, "m": 2.0, "l": 0.4, "mu": 0.6}
    return Scenario(
        mechanism().system(),
        parameters=values | {"r": 0.5, "rho": 0.35, "g": 9.81, "u": 0.0},
        start={"theta": 0.1, "kappa": -0.05, "z": 0.4975, "psi_dot": 2.0, "phi_dot": 0.5},
        simulate={"span": (0.0, 1.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 9.4",
        summary="The unicycle with rider, stated by bodies, joints and rolling.",
    )
