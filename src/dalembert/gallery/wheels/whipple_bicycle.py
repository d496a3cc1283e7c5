"""The Whipple bicycle: four rigid bodies, a steering joint, and two wheels that roll without slip.

Axes are x ahead, y to the right, z down. Its linear motion about running straight ahead has the
eigenvalues of the benchmark by Meijaard and others; nothing is linearised here.
"""

from __future__ import annotations

from sympy import cos, pi, sin

from ...model.bodies.body import Body, ground, inertia
from ...model.bodies.contributions import Element
from ...model.bodies.joints import Joint, free, revolute
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.rolling import rolling
from ...model.bodies.rolling_surfaces import disk
from ...model.bodies.vectors import angles
from ...model.scenario import Scenario
from ...model.symbols import Parameter

VALUES = {
    "w": 1.02, "c": 0.08, "lam": float(pi / 10), "g": 9.81,
    "rR": 0.3, "mR": 2.0, "IRxx": 0.0603, "IRyy": 0.12,
    "xB": 0.3, "zB": -0.9, "mB": 85.0, "IBxx": 9.2, "IBxz": 2.4, "IByy": 11.0, "IBzz": 2.8,
    "xH": 0.9, "zH": -0.7, "mH": 4.0, "IHxx": 0.05892, "IHxz": -0.00756, "IHyy": 0.06,
    "IHzz": 0.00708, "rF": 0.35, "mF": 3.0, "IFxx": 0.1405, "IFyy": 0.28,
}  # fmt: skip


def mechanism() -> Mechanism:
    """Rear frame with the rider, front frame, and two wheels; places count from the rear hub."""
    p = {name: Parameter(name) for name in VALUES}
    hub, pivot = p["rR"], p["w"] + p["c"]
    road = ground().frame(rotation=angles("x", pi))  # its z points up
    frame = Body(
        "frame",
        p["mB"],
        (p["xB"], 0, p["zB"] + hub),
        inertia(p["IBxx"], p["IByy"], p["IBzz"], xz=p["IBxz"]),
    )
    fork = Body(
        "fork",
        p["mH"],
        (p["xH"] - pivot, 0, p["zH"]),
        inertia(p["IHxx"], p["IHyy"], p["IHzz"], xz=p["IHxz"]),
    )
    rear = Body("rear_wheel", p["mR"], inertia=(p["IRxx"], p["IRyy"], p["IRxx"]))
    front = Body("front_wheel", p["mF"], inertia=(p["IFxx"], p["IFyy"], p["IFxx"]))
    steering, axle = (sin(p["lam"]), 0, cos(p["lam"])), (p["w"] - pivot, 0, -p["rF"])
    joints: list[Joint | Element] = [
        free("frame", ground(), frame, angles="zxy", coordinates="x y z psi phi theta"),
        revolute("delta", frame, fork, axis=steering, at=(pivot, 0, hub)),
        revolute("rear", frame, rear, axis="y"),
        revolute("front", fork, front, axis="y", at=axle),
        rolling("rear_rolls", rear, disk(p["rR"]), on=road),
        rolling("front_rolls", front, disk(p["rF"]), on=road),
    ]
    return Mechanism(joints, gravity=(0, 0, p["g"]), name="Whipple bicycle")


def scenario() -> Scenario:
    """The bicycle at a speed at which it rights itself, after a push."""
    return Scenario(
        mechanism().system(),
        parameters=dict(VALUES),
        start={"x_dot": 4.6, "phi_dot": 0.5},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source="Meijaard and others, Proceedings of the Royal Society A 463 (2007), 1955",
        summary="Four bodies and two rolling wheels; between 4.3 and 6 m/s it is stable.",
    )
