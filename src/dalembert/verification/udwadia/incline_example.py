"""Udwadia, Constrained motion of Hamiltonian systems: two particles on an inclined plane (eqs. 47 to 66).

States have d = r_1 - r_2 with |d| = L and both momenta across d; the constraints are (49) to (51), of rank two.
"""

from __future__ import annotations

from collections.abc import Callable
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
from ..numeric import Probe, distance, gallery_probe, largest, pseudo_inverse, worst
from ..row_registry import Corrected, claim
from .constrained_motion import example_states

NAME = "two-particles-incline"
ON_ROD = "random masses, lengths, inclines and states on the constraints"
TIMES = np.linspace(0, 3, 31)


def _scenes() -> list[SimpleNamespace]:
    """Random states with everything the paper's formulas are written in, and the library's blocks."""
    found = []
    for probe, time, state in example_states(NAME):
        v, p = probe.parameters, state[4:]
        d = state[:2] - state[2:4]
        found.append(
            SimpleNamespace(
                probe=probe, time=time, state=state, blocks=probe.blocks(time, state), d=d, p=p,
                m1=v["m1"], m2=v["m2"], L=v["L"], weight=v["g"] * np.sin(v["alpha"]),
                p1=p[:2] @ p[:2], p2=p[2:] @ p[2:], p12=p[:2] @ p[2:],
            )
        )  # fmt: skip
    return found


def _over_scenes(residual: Callable[[SimpleNamespace], float]) -> float:
    return worst(residual(scene) for scene in _scenes())


@cache
def _motion() -> Motion:
    return simulate(gallery.load(NAME), span=(0.0, 3.0), at=TIMES, rtol=1e-12)


@cache
def _along() -> SimpleNamespace:
    """d, momenta and their rates along a library motion, the rates by the library's equations."""
    motion, probe = _motion(), gallery_probe(NAME, "hamilton")
    rates = np.array([probe.rates(time, y)[4:] for time, y in zip(motion.t, motion.y.T, strict=True)]).T
    values = probe.parameters
    return SimpleNamespace(
        d=motion.y[:2] - motion.y[2:4], p1=motion.y[4:6], p2=motion.y[6:], r1=rates[:2], r2=rates[2:],
        m1=values["m1"], m2=values["m2"], L=values["L"],
    )  # fmt: skip


def _dot(a: Any, b: Any) -> Any:
    return np.sum(a * b, axis=0)


@claim(
    "U-47",
    "H = sum |p_i|^2 / (2 m_i) + g sin(alpha) (m_1 y_1 + m_2 y_2)",
    how=f"library H by Legendre's transformation from T - V and the gallery's H, {ON_ROD}",
)
def energy_on_the_incline() -> float:
    x1, y1, x2, y2 = coordinates("x1 y1 x2 y2")
    m1, m2, weight = parameters("m1 m2 w", positive=True)
    kinetic = m1 / 2 * (x1.dot**2 + y1.dot**2) + m2 / 2 * (x2.dot**2 + y2.dot**2)
    newton = System([x1, y1, x2, y2], kinetic=kinetic, potential=weight * (m1 * y1 + m2 * y2))
    reference = Probe(derive(newton, "hamilton"), {"m1": 1, "m2": 1, "w": 1})

    def residual(s: SimpleNamespace) -> float:
        height = s.m1 * s.state[1] + s.m2 * s.state[3]
        closed = s.p1 / (2 * s.m1) + s.p2 / (2 * s.m2) + s.weight * height
        other = reference.with_parameters(m1=s.m1, m2=s.m2, w=s.weight).blocks(s.time, s.state).energy
        return largest(distance(s.blocks.energy, closed), distance(other, closed))

    return _over_scenes(residual)


@claim(
    "U-48",
    "Free particles have velocities p_i / m_i entry by entry (the print multiplies a column by a row) and weights downhill",
    how="library rates of the gallery's system without constraints; the printed product taken as the matrix it is",
)
def free_rates_on_the_incline() -> Corrected:
    free = Probe(
        derive(gallery.load(NAME).system.replacing(constraints=()), "hamilton"),
        {key: value for key, value in gallery_probe(NAME, "hamilton").parameters.items() if key != "L"},
    )
    right, printed = [], []
    for s in _scenes():
        values = {key: value for key, value in s.probe.parameters.items() if key != "L"}
        rates = free.with_parameters(**values).rates(s.time, s.state)
        inverse = 1 / np.array([s.m1, s.m1, s.m2, s.m2])
        right.append(distance(rates, [*s.p * inverse, 0, -s.weight * s.m1, 0, -s.weight * s.m2]))
        printed.append(distance(np.outer(s.p, inverse), np.tile(rates[:4, None], 4)))
    return Corrected(worst(right), worst(printed))


@claim("U-49", "The rod keeps its length", how="|d|^2 along a library motion over three seconds", tolerance=1e-9)
def rod_length() -> float:
    a = _along()
    return distance(_dot(a.d, a.d), a.L**2 + 0 * TIMES)


@claim("U-50", "The first velocity stays across the rod", how="d . p_1 / m_1 along a library motion", tolerance=1e-9)
def first_across() -> float:
    a = _along()
    return worst(_dot(a.d, a.p1) / a.m1)


@claim("U-51", "The second velocity stays across the rod", how="d . p_2 / m_2 along a library motion", tolerance=1e-9)
def second_across() -> float:
    a = _along()
    return worst(_dot(a.d, a.p2) / a.m2)


@claim(
    "U-52",
    "The second rate of the length ties the momentum rates: d . (p_1_dot/m_1 - p_2_dot/m_2) = -|p_1/m_1 - p_2/m_2|^2",
    how="library rates along a motion over three seconds",
    tolerance=1e-9,
)
def second_rate_of_length() -> float:
    a = _along()
    difference = a.p1 / a.m1 - a.p2 / a.m2
    return distance(_dot(a.d, a.r1 / a.m1 - a.r2 / a.m2), -_dot(difference, difference))


@claim(
    "U-53",
    "d . p_1_dot / m_1 = p_1 . p_2 / (m_1 m_2) - |p_1|^2 / m_1^2",
    how="library rates along a motion over three seconds",
    tolerance=1e-9,
)
def rate_of_first() -> float:
    a = _along()
    return distance(_dot(a.d, a.r1) / a.m1, _dot(a.p1, a.p2) / (a.m1 * a.m2) - _dot(a.p1, a.p1) / a.m1**2)


@claim(
    "U-54",
    "d . p_2_dot / m_2 = |p_2|^2 / m_2^2 - p_1 . p_2 / (m_1 m_2)",
    how="library rates along a motion over three seconds",
    tolerance=1e-9,
)
def rate_of_second() -> float:
    a = _along()
    return distance(_dot(a.d, a.r2) / a.m2, _dot(a.p2, a.p2) / a.m2**2 - _dot(a.p1, a.p2) / (a.m1 * a.m2))


def _printed_rows(s: SimpleNamespace) -> Any:
    a1, b1 = s.d / s.m1
    a2, b2 = s.d / s.m2
    return np.array([[a1, b1, -a2, -b2], [a1, b1, 0, 0], [0, 0, a2, b2]])


def _printed_right(s: SimpleNamespace) -> Any:
    cross = s.p12 / (s.m1 * s.m2)
    first, second = s.p1 / s.m1**2, s.p2 / s.m2**2
    return np.array([2 * cross - first - second, cross - first, second - cross])


@claim("U-55", "A_p and b_p of the three constraints", how=f"library blocks against the entries, {ON_ROD}")
def three_rows() -> float:
    return _over_scenes(lambda s: largest(distance(s.blocks.A, _printed_rows(s)), distance(s.blocks.b, _printed_right(s))))


@claim(
    "U-55-rank",
    "The three rows have rank two: (1, -1, 1) annihilates them and b_p, and the system for rates and multipliers is singular",
    how=f"library blocks and singular values, {ON_ROD}",
)
def dependent_rows() -> float:
    left = np.array([1.0, -1.0, 1.0])

    def residual(s: SimpleNamespace) -> float:
        A, G = s.blocks.A, s.blocks.G
        sizes = np.linalg.svd(A, compute_uv=False)
        saddle = np.linalg.svd(np.block([[G, A.T], [A, np.zeros((3, 3))]]), compute_uv=False)
        rank = 0.0 if sizes[1] > 1e-3 * sizes[0] else 1.0
        return worst([*(left @ A), left @ s.blocks.b, sizes[2] / sizes[0], saddle[-1] / saddle[0], rank])

    return _over_scenes(residual)


@claim("U-56", "The entries a_i and b_i are the components of d / m_i", how=f"library rows two and three, {ON_ROD}")
def row_entries() -> float:
    return _over_scenes(lambda s: largest(distance(s.blocks.A[1, :2], s.d / s.m1), distance(s.blocks.A[2, 2:], s.d / s.m2)))


@claim("U-57", "p_i^2 is |p_i|^2 = m_i^2 |v_i|^2", how=f"library velocities against momenta, {ON_ROD}")
def squares() -> float:
    def residual(s: SimpleNamespace) -> float:
        v = s.blocks.velocities
        return distance([s.m1**2 * v[:2] @ v[:2], s.m2**2 * v[2:] @ v[2:]], [s.p1, s.p2])

    return _over_scenes(residual)


@claim("U-58", "p_12 is p_1 . p_2 = m_1 m_2 v_1 . v_2", how=f"library velocities against momenta, {ON_ROD}")
def mixed_product() -> float:
    return _over_scenes(lambda s: distance(s.m1 * s.m2 * s.blocks.velocities[:2] @ s.blocks.velocities[2:], s.p12))


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


def _library_dual(s: SimpleNamespace) -> Any:
    return np.linalg.solve(s.blocks.G, s.blocks.A.T)


@claim(
    "U-59",
    "The pseudo-inverse of A_p H_pp^-1 A_p^T in closed form",
    how=f"library blocks and singular values against the printed entries, {ON_ROD}",
)
def pseudo_inverse_in_closed_form() -> float:
    return _over_scenes(lambda s: distance(pseudo_inverse(s.blocks.A @ _library_dual(s)), _printed_inverse(s)))


@claim(
    "U-60",
    "The gain H_pp^-1 A_p^T (A_p H_pp^-1 A_p^T)^+ in closed form",
    how=f"library blocks and singular values against the printed entries, {ON_ROD}",
)
def gain_in_closed_form() -> float:
    return _over_scenes(lambda s: distance(_library_dual(s) @ pseudo_inverse(s.blocks.A @ _library_dual(s)), _printed_gain(s)))


@claim("U-61", "The error b_p + A_p H_q in closed form", how=f"library blocks against the printed entries, {ON_ROD}")
def error_in_closed_form() -> float:
    def residual(s: SimpleNamespace) -> float:
        derivative_of_energy = -np.linalg.solve(s.blocks.G, s.blocks.f)
        return distance(s.blocks.b + s.blocks.A @ derivative_of_energy, _printed_error(s))

    return _over_scenes(residual)


@claim("U-62", "The constrained motion keeps x_dot = p / m", how=f"library rates of the coordinates, {ON_ROD}")
def velocities_on_the_incline() -> float:
    return _over_scenes(lambda s: distance(s.probe.rates(s.time, s.state)[:4], s.p / np.array([s.m1, s.m1, s.m2, s.m2])))


def _weights(s: SimpleNamespace) -> Any:
    return -s.weight * np.array([0, s.m1, 0, s.m2])


@claim("U-63", "p_dot is the weight plus the printed gain times the printed error", how=f"library p_dot, {ON_ROD}")
def equation_by_gain() -> float:
    return _over_scenes(
        lambda s: distance(s.probe.rates(s.time, s.state)[4:], _weights(s) + _printed_gain(s) @ _printed_error(s))
    )


def _first_factor(s: SimpleNamespace) -> Any:
    return s.m1 * s.p12 - s.m2 * s.p1 + s.m1**2 * s.m2 * s.d[1] * s.weight


def _second_factor(s: SimpleNamespace) -> Any:
    return s.m1 * s.p2 - s.m2 * s.p12 + s.m1 * s.m2**2 * s.d[1] * s.weight


@claim("U-64", "p_dot is the weight plus (f_1 d, f_2 d) / (m_1 m_2 L^2)", how=f"library p_dot, {ON_ROD}")
def equation_simplified() -> float:
    def residual(s: SimpleNamespace) -> float:
        force = np.concatenate([_first_factor(s) * s.d, _second_factor(s) * s.d]) / (s.m1 * s.m2 * s.L**2)
        return distance(s.probe.rates(s.time, s.state)[4:], _weights(s) + force)

    return _over_scenes(residual)


@claim(
    "U-65",
    "f_1 = m_1 p_12 - m_2 p_1^2 + m_1^2 m_2 g (y_1 - y_2) sin(alpha)",
    how=f"the library's reaction on the first particle along d, {ON_ROD}",
)
def first_factor() -> float:
    return _over_scenes(lambda s: distance(s.m1 * s.m2 * s.probe.reaction(s.time, s.state)[:2] @ s.d, _first_factor(s)))


@claim(
    "U-66",
    "f_2 = m_1 p_2^2 - m_2 p_12 + m_1 m_2^2 g (y_1 - y_2) sin(alpha)",
    how=f"the library's reaction on the second particle along d, {ON_ROD}",
)
def second_factor() -> float:
    return _over_scenes(lambda s: distance(s.m1 * s.m2 * s.probe.reaction(s.time, s.state)[2:] @ s.d, _second_factor(s)))


@claim(
    "U-4.3",
    "The paths do not depend on the masses for equal positions and velocities at the start; for equal momenta they do",
    how="library motions with two pairs of masses from equal velocities, and from equal momenta",
    tolerance=1e-8,
)
def paths_without_masses() -> Corrected:
    def paths(m1: float, m2: float, p1: float, p2: float) -> Any:
        start = {"p_y1": p1, "p_y2": p2}
        masses = {"m1": m1, "m2": m2}
        return simulate(gallery.load(NAME), start, (0, 3), parameters=masses, at=TIMES, rtol=1e-12).y[:4]

    base = paths(1.0, 2.0, 1.0, -1.0)
    return Corrected(distance(paths(0.4, 3.0, 0.4, -1.5), base), distance(paths(0.4, 3.0, 1.0, -1.0), base))


@claim(
    "U-4.3-motion",
    "The rod turns at the constant rate (w_1 - w_2) / L and each speed across it changes by -g sin(alpha) cos(beta)",
    how="library motion over three seconds against the closed form",
    tolerance=1e-9,
)
def motion_on_the_incline() -> float:
    motion, (w1, w2) = _motion(), (1.0, -0.5)
    turn, weight = w1 - w2, 9.81 * np.sin(0.5)
    beta = turn * TIMES
    speeds = [w - weight * np.sin(beta) / turn for w in (w1, w2)]
    closed = [component for w in speeds for component in (-w * np.sin(beta), w * np.cos(beta))]
    return distance([motion[name] for name in ("x1_dot", "y1_dot", "x2_dot", "y2_dot")], closed)
