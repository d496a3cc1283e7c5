"""Udwadia: two particles on an inclined plane (eqs. 47 to 66).

States have d = r_1 - r_2 with |d| = L and both momenta across d; the constraints are (49) to (51),
of rank two.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ... import gallery
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ...typing import Array
from ..numeric import Probe, Residual, distance, gallery_probe, pseudo_inverse
from ..row_registry import Corrected, listed
from ..samples import Sampler, State
from .constrained_motion import examples

NAME = "two-particles-incline"
TIMES = np.linspace(0, 3, 31)


def _with_symbols(e: State) -> SimpleNamespace:
    """A state with everything the paper's formulas are written in, and what the library finds."""
    v, p, blocks = e.probe.parameters, e.state[4:], e.blocks
    return SimpleNamespace(
        probe=e.probe, time=e.time, state=e.state, blocks=blocks, rates=e.rates, d=e.state[:2] -
        e.state[2:4], p=p, m1=v["m1"], m2=v["m2"], L=v["L"], weight=v["g"] * np.sin(v["alpha"]),
        p1=p[:2] @ p[:2], p2=p[2:] @ p[2:], p12=p[:2] @ p[2:], reaction=e.reaction,
        dual=np.linalg.solve(blocks.G, blocks.A.T),
    )  # fmt: skip


states = examples.of(NAME).map(_with_symbols)


@cache
def _motion() -> Motion:
    return simulate(gallery.load(NAME), span=(0.0, 3.0), at=TIMES, rtol=1e-12)


@cache
def _along() -> SimpleNamespace:
    """d, momenta and their rates along a library motion, the rates by the library's equations."""
    motion, probe = _motion(), gallery_probe(NAME, "hamilton")
    rates = np.array(
        [probe.rates(time, y)[4:] for time, y in zip(motion.t, motion.y.T, strict=True)]
    ).T
    values = probe.parameters
    return SimpleNamespace(
        d=motion.y[:2] - motion.y[2:4], p1=motion.y[4:6], p2=motion.y[6:], r1=rates[:2],
        r2=rates[2:], m1=values["m1"], m2=values["m2"], L=values["L"],
    )  # fmt: skip


motions = Sampler(lambda _: [_along()])


def _dot(a: Array, b: Array) -> Any:
    return np.sum(a * b, axis=0)


@cache
def _newton() -> Probe:
    x1, y1, x2, y2 = coordinates("x1 y1 x2 y2")
    m1, m2, weight = parameters("m1 m2 w", positive=True)
    kinetic = m1 / 2 * (x1.dot**2 + y1.dot**2) + m2 / 2 * (x2.dot**2 + y2.dot**2)
    newton = System([x1, y1, x2, y2], kinetic=kinetic, potential=weight * (m1 * y1 + m2 * y2))
    return Probe(derive(newton, "hamilton"), {"m1": 1, "m2": 1, "w": 1})


@listed("U-47", over=states)
def energy_on_the_incline(s: SimpleNamespace) -> Residual:
    height = s.m1 * s.state[1] + s.m2 * s.state[3]
    closed = s.p1 / (2 * s.m1) + s.p2 / (2 * s.m2) + s.weight * height
    other = _newton().with_parameters(m1=s.m1, m2=s.m2, w=s.weight).blocks(s.time, s.state).energy
    return distance(s.blocks.energy, closed), distance(other, closed)


@cache
def _free() -> Probe:
    free = gallery.load(NAME).system.replacing(constraints=())
    return Probe(derive(free, "hamilton"), _without_length(gallery_probe(NAME, "hamilton")))


def _without_length(probe: Probe) -> dict[str, float]:
    return {key: value for key, value in probe.parameters.items() if key != "L"}


@listed("U-48", over=states)
def free_rates_on_the_incline(s: SimpleNamespace) -> Corrected:
    rates = _free().with_parameters(**_without_length(s.probe)).rates(s.time, s.state)
    inverse = 1 / np.array([s.m1, s.m1, s.m2, s.m2])
    return Corrected(
        distance(rates, [*s.p * inverse, 0, -s.weight * s.m1, 0, -s.weight * s.m2]),
        distance(np.outer(s.p, inverse), np.tile(rates[:4, None], 4)),
    )


listed("U-49", over=motions)(lambda a: distance(_dot(a.d, a.d), a.L**2 + 0 * TIMES))
listed("U-50", over=motions)(lambda a: _dot(a.d, a.p1) / a.m1)
listed("U-51", over=motions)(lambda a: _dot(a.d, a.p2) / a.m2)
listed("U-52", over=motions)(
    lambda a: distance(
        _dot(a.d, a.r1 / a.m1 - a.r2 / a.m2), -np.sum((a.p1 / a.m1 - a.p2 / a.m2) ** 2, axis=0)
    )
)
listed("U-53", over=motions)(
    lambda a: distance(
        _dot(a.d, a.r1) / a.m1, _dot(a.p1, a.p2) / (a.m1 * a.m2) - _dot(a.p1, a.p1) / a.m1**2
    )
)
listed("U-54", over=motions)(
    lambda a: distance(
        _dot(a.d, a.r2) / a.m2, _dot(a.p2, a.p2) / a.m2**2 - _dot(a.p1, a.p2) / (a.m1 * a.m2)
    )
)


def _printed_rows(s: SimpleNamespace) -> Array:
    a1, b1 = s.d / s.m1
    a2, b2 = s.d / s.m2
    return np.array([[a1, b1, -a2, -b2], [a1, b1, 0, 0], [0, 0, a2, b2]])


def _printed_right(s: SimpleNamespace) -> Array:
    cross = s.p12 / (s.m1 * s.m2)
    first, second = s.p1 / s.m1**2, s.p2 / s.m2**2
    return np.array([2 * cross - first - second, cross - first, second - cross])


listed("U-55", over=states)(
    lambda s: (
        distance(s.blocks.A, _printed_rows(s)),
        distance(s.blocks.b, _printed_right(s)),
    )
)


@listed("U-55-rank", over=states)
def dependent_rows(s: SimpleNamespace) -> Residual:
    A, G, left = s.blocks.A, s.blocks.G, np.array([1.0, -1.0, 1.0])
    sizes = np.linalg.svd(A, compute_uv=False)
    saddle = np.linalg.svd(np.block([[G, A.T], [A, np.zeros((3, 3))]]), compute_uv=False)
    rank = 0.0 if sizes[1] > 1e-3 * sizes[0] else 1.0
    return left @ A, left @ s.blocks.b, sizes[2] / sizes[0], saddle[-1] / saddle[0], rank


listed("U-56", over=states)(
    lambda s: (
        distance(s.blocks.A[1, :2], s.d / s.m1),
        distance(s.blocks.A[2, 2:], s.d / s.m2),
    )
)


@listed("U-57", over=states)
def squares(s: SimpleNamespace) -> Residual:
    v = s.blocks.velocities
    return distance([s.m1**2 * v[:2] @ v[:2], s.m2**2 * v[2:] @ v[2:]], [s.p1, s.p2])


listed("U-58", over=states)(
    lambda s: distance(s.m1 * s.m2 * s.blocks.velocities[:2] @ s.blocks.velocities[2:], s.p12)
)


def _printed_inverse(s: SimpleNamespace) -> Any:
    m1, m2 = s.m1, s.m2
    entries = [
        [m1 + m2, 2 * m1 - m2, m1 - 2 * m2],
        [2 * m1 - m2, 4 * m1 + m2, 2 * (m1 + m2)],
        [m1 - 2 * m2, 2 * (m1 + m2), m1 + 4 * m2],
    ]
    return np.array(entries) / (9 * s.L**2)


def _printed_gain(s: SimpleNamespace) -> Any:
    first, second = s.m1 * s.d, s.m2 * s.d
    rows = [np.outer(first, [1, 2, 1]), np.outer(second, [-1, 1, 2])]
    return np.vstack(rows) / (3 * s.L**2)


def _printed_error(s: SimpleNamespace) -> Any:
    return _printed_right(s) + s.d[1] * s.weight * np.array([0, 1, 1])


listed("U-59", over=states)(
    lambda s: distance(pseudo_inverse(s.blocks.A @ s.dual), _printed_inverse(s))
)
listed("U-60", over=states)(
    lambda s: distance(s.dual @ pseudo_inverse(s.blocks.A @ s.dual), _printed_gain(s))
)
listed("U-61", over=states)(
    lambda s: distance(
        s.blocks.b + s.blocks.A @ -np.linalg.solve(s.blocks.G, s.blocks.f), _printed_error(s)
    )
)
listed("U-62", over=states)(
    lambda s: distance(s.rates[:4], s.p / np.array([s.m1, s.m1, s.m2, s.m2]))
)


def _weights(s: SimpleNamespace) -> Any:
    return -s.weight * np.array([0, s.m1, 0, s.m2])


def _factors(s: SimpleNamespace) -> tuple[float, float]:
    """f_1 and f_2."""
    first = s.m1 * s.p12 - s.m2 * s.p1 + s.m1**2 * s.m2 * s.d[1] * s.weight
    return first, s.m1 * s.p2 - s.m2 * s.p12 + s.m1 * s.m2**2 * s.d[1] * s.weight


listed("U-63", over=states)(
    lambda s: distance(s.rates[4:], _weights(s) + _printed_gain(s) @ _printed_error(s))
)


@listed("U-64", over=states)
def equation_simplified(s: SimpleNamespace) -> Residual:
    first, second = _factors(s)
    force = np.concatenate([first * s.d, second * s.d]) / (s.m1 * s.m2 * s.L**2)
    return distance(s.rates[4:], _weights(s) + force)


listed("U-65", over=states)(lambda s: distance(s.m1 * s.m2 * s.reaction[:2] @ s.d, _factors(s)[0]))
listed("U-66", over=states)(lambda s: distance(s.m1 * s.m2 * s.reaction[2:] @ s.d, _factors(s)[1]))


@listed("U-4.3")
def paths_without_masses() -> Corrected:
    def paths(m1: float, m2: float, p1: float, p2: float) -> Array:
        start, masses = {"p_y1": p1, "p_y2": p2}, {"m1": m1, "m2": m2}
        scenario = gallery.load(NAME)
        return simulate(scenario, start, (0, 3), parameters=masses, at=TIMES, rtol=1e-12).y[:4]

    base = paths(1.0, 2.0, 1.0, -1.0)
    right, printed = paths(0.4, 3.0, 0.4, -1.5), paths(0.4, 3.0, 1.0, -1.0)
    return Corrected(distance(right, base), distance(printed, base))


@listed("U-4.3-motion")
def motion_on_the_incline() -> Residual:
    motion, (w1, w2) = _motion(), (1.0, -0.5)
    turn, weight = w1 - w2, 9.81 * np.sin(0.5)
    beta = turn * TIMES
    speeds = [w - weight * np.sin(beta) / turn for w in (w1, w2)]
    closed = [component for w in speeds for component in (-w * np.sin(beta), w * np.cos(beta))]
    return distance([motion[name] for name in ("x1_dot", "y1_dot", "x2_dot", "y2_dot")], closed)
