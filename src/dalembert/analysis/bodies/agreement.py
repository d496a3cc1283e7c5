"""Whether joint and maximal coordinates state the same mechanism: accelerations of its bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...formulations.registry import derive
from ...integrate.start import consistent_start
from ...model.bodies.body_starts import JointStart
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.quaternions import quaternion_of, quaternion_rates
from ...model.symbols import by_name
from .body_model import BodyModel

if TYPE_CHECKING:
    from ...typing import Array, BySymbol, Values

__all__ = ["agreement"]


def agreement(
    mechanism: Mechanism, start: BySymbol[JointStart], parameters: Values | None = None
) -> float:
    """The worst relative difference between accelerations in joint and in maximal coordinates.

    The start is made consistent in joint coordinates and carried over to the bodies; the twists of
    all bodies then change at the same rate in both systems, up to rounding.

    Examples
    --------
    >>> import dalembert as da
    >>> b = da.bodies
    >>> arm = b.Body("arm", mass=2, com=(1, 0, 0), inertia=(1, 1, 1))
    >>> hinge = b.revolute("a", b.ground(), arm, axis="y", damping=0.1)
    >>> pendulum = b.Mechanism([hinge], gravity=(0, 0, -9.81))
    >>> agreement(pendulum, {"a": 0.5, "a_dot": 2.0}) < 1e-12
    True
    """
    joint, maximal = (BodyModel(mechanism, parameters, kind) for kind in ("joint", "maximal"))
    values = by_name(parameters or {}, "mapping of parameters")
    n = len(joint.names)
    first = derive(joint.system, "lagrange").compile()
    p = np.array([float(values[symbol.name]) for symbol in first.parameters])
    begin = consistent_start(first.plain_context(p), 0.0, mechanism.start(start), p).state
    rates = first.rates(0.0, begin, p)
    q, v, a = begin[:n], begin[n:], rates[n:]
    state = _carried(joint, maximal, q, v)
    second = derive(maximal.system, "lagrange").compile()
    count = len(maximal.names)
    order = [float(values[symbol.name]) for symbol in second.parameters]
    found = second.rates(0.0, state, order)[count:]
    worst = 0.0
    for body in mechanism.bodies:
        here = joint.acceleration(body, q, v, a)
        there = maximal.acceleration(body, state[:count], state[count:], found)
        size = max(1.0, float(np.max(np.abs(here))))
        worst = max(worst, float(np.max(np.abs(here - there))) / size)
    return worst


def _carried(joint: BodyModel, maximal: BodyModel, q: Array, v: Array) -> Array:
    """A state in joint coordinates as one of all bodies."""
    known = dict(zip(joint.names, zip(q, v, strict=True), strict=True))
    for body in joint.mechanism.bodies:
        pose, twist = joint.pose(body, q), joint.twist(body, q, v)
        parts = quaternion_of(pose.rotation)
        spin = pose.rotation.T @ twist[:3]
        rates = quaternion_rates(parts, spin)
        for axis, value, rate in zip("xyz", pose.position, twist[3:], strict=True):
            known[f"{body.name}_{axis}"] = (value, rate)
        for axis, value, rate in zip("wxyz", parts, rates, strict=True):
            known[f"{body.name}_q{axis}"] = (value, rate)
    return np.array(
        [known[name][0] for name in maximal.names] + [known[name][1] for name in maximal.names]
    )
