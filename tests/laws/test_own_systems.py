"""Twenty systems that stand in no document and in no gallery: the forms that apply agree with each
other to 1e-10, and motions with references that SciPy alone computes.

The references of constrained systems are accelerations from mass, force, constraint rows and
right-hand sides written by hand; those of the others are first-order equations written by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, exp, sin

import dalembert as da

x, y, z, theta, phi = da.coordinates("x y z theta phi")
t = da.t
Arrays = tuple[Any, Any, Any, Any]


def follow(rates: Callable[..., Any], start: Any, end: float) -> Any:
    return solve_ivp(rates, (0, end), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@dataclass(frozen=True)
class Case:
    """A system, a start (q, v), and its mass, force, rows and right-hand side by hand."""

    system: da.System
    q: list[float]
    v: list[float]
    parts: Callable[[float, Any, Any], Arrays]
    end: float = 2.0

    def reference(self) -> Any:
        n = len(self.q)

        def rates(time: float, s: Any) -> Any:
            M, Q, A, b = (np.asarray(p, dtype=float) for p in self.parts(time, s[:n], s[n:]))
            free = np.linalg.solve(M, Q)
            if A.size:
                dual = np.linalg.solve(M, A.T)
                free = free + dual @ np.linalg.lstsq(A @ dual, b - A @ free, rcond=1e-10)[0]
            return np.concatenate([s[n:], free])

        return follow(rates, [*self.q, *self.v], self.end)


ONE = np.eye(3)


def bead_on_a_turning_rod() -> Case:
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=(x**2 + y**2) ** 2 / 4,
        constraints=[da.holonomic(x * sin(2 * t) - y * cos(2 * t), name="rod")],
    )

    def parts(s: float, q: Any, v: Any) -> Arrays:
        S, C = np.sin(2 * s), np.cos(2 * s)
        right = -(4 * (v[0] * C + v[1] * S) - 4 * (q[0] * S - q[1] * C))
        return ONE[:2, :2], -(q @ q) * q, [[S, -C]], [right]

    return Case(system, [0.7, 0.0], [0.2, 1.4], parts)


def rods_stated_three_times() -> Case:
    length = (x - y) ** 2 + z**2 - 1
    system = da.System(
        [x, y, z],
        kinetic=(2 * x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=3 * z + x**2,
        constraints=[
            da.holonomic(length, name="a"),
            da.holonomic(2 * length, name="b"),
            da.holonomic(length * exp(x), name="c"),
        ],
    )

    def parts(_: float, q: Any, v: Any) -> Arrays:
        d, w = q[0] - q[1], v[0] - v[1]
        row = [2 * d, -2 * d, 2 * q[2]]
        force = [-2 * q[0], 0.0, -3.0]
        return np.diag([2.0, 1.0, 1.0]), force, [row], [-2 * w**2 - 2 * v[2] ** 2]

    return Case(system, [0.3, -0.3, -0.8], [0.4, 0.0, 0.3], parts)


def sleigh_on_a_slope() -> Case:
    system = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2) / 2 + theta.dot**2 / 5,
        potential=2 * x,
        constraints=[da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")],
        forces={theta: -theta.dot / 4, x: -x.dot / 10, y: -y.dot / 10},
    )

    def parts(_: float, q: Any, v: Any) -> Arrays:
        S, C = np.sin(q[2]), np.cos(q[2])
        force = [-2 - v[0] / 10, -v[1] / 10, -v[2] / 4]
        right = -(v[0] * C + v[1] * S) * v[2]
        return np.diag([1, 1, 0.4]), force, [[S, -C, 0]], [right]

    return Case(system, [0.0, 0.1, 0.7], [0.5 * np.cos(0.7), 0.5 * np.sin(0.7), 1.1], parts)


def twisted_plane() -> Case:
    """z' = (1 + x y) x' - sin(x) y', which is not integrable."""
    system = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + (1 + x**2) * z.dot**2) / 2,
        potential=x**2 + y**2 / 2 + z**2,
        constraints=[da.velocity(z.dot - (1 + x * y) * x.dot + sin(x) * y.dot, name="f")],
    )

    def parts(_: float, q: Any, v: Any) -> Arrays:
        X, Y, Z = q
        force = [-2 * X + X * v[2] ** 2, -Y, -2 * Z - 2 * X * v[0] * v[2]]
        turned = (Y * v[0] + X * v[1]) * v[0] - np.cos(X) * v[0] * v[1]
        return np.diag([1, 1, 1 + X**2]), force, [[-(1 + X * Y), np.sin(X), 1]], [turned]

    v = [0.4, -0.3]
    return Case(system, [0.2, 0.5, 0.1], [*v, 1.1 * v[0] - np.sin(0.2) * v[1]], parts)


def thermostat() -> Case:
    """x'^2 + y'^2 = 1, nonlinear in the velocities: F less its part along v."""
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=x**2 + x * y + y**2,
        constraints=[da.velocity(x.dot**2 + y.dot**2 - 1, name="speed")],
    )

    def parts(_: float, q: Any, v: Any) -> Arrays:
        force = [-2 * q[0] - q[1], -q[0] - 2 * q[1]]
        return ONE[:2, :2], force, [2 * v], [0.0]

    return Case(system, [0.3, -0.2], [0.6, 0.8], parts)


def breathing_sphere() -> Case:
    system = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=4 * z,
        constraints=[da.holonomic(x**2 + y**2 + z**2 - (1 + sin(t) / 5) ** 2, name="sphere")],
    )

    def parts(s: float, q: Any, v: Any) -> Arrays:
        r, rate, second = 1 + np.sin(s) / 5, np.cos(s) / 5, -np.sin(s) / 5
        return ONE, [0, 0, -4], [2 * q], [2 * rate**2 + 2 * r * second - 2 * v @ v]

    return Case(system, [0.6, 0.0, -0.8], [0.2 * 0.6, 0.9, -0.2 * 0.8], parts)


def momentum_constraint() -> Case:
    """(1 + z^2) p_x = p_y in momenta, for unit masses the same in velocities."""
    system = da.System(
        [x, y, z],
        hamiltonian=(x.momentum**2 + y.momentum**2 + z.momentum**2) / 2 + x * y + z**2,
        constraints=[da.momentum((1 + z**2) * x.momentum - y.momentum, name="tied")],
    )

    def parts(_: float, q: Any, v: Any) -> Arrays:
        force = [-q[1], -q[0], -2 * q[2]]
        return ONE, force, [[1 + q[2] ** 2, -1, 0]], [-2 * q[2] * v[2] * v[0]]

    return Case(system, [0.1, 0.2, 0.5], [0.4, 0.5, -0.2], parts)


def shaken_slot() -> Case:
    """y' = sin(t) x' + cos(t): affine and rheonomic."""
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + 3 * y.dot**2) / 2,
        potential=2 * x**2 + y**2,
        constraints=[da.velocity(y.dot - sin(t) * x.dot - cos(t), name="slot")],
    )

    def parts(s: float, q: Any, v: Any) -> Arrays:
        force = [-4 * q[0], -2 * q[1]]
        return np.diag([1, 3]), force, [[-np.sin(s), 1]], [np.cos(s) * v[0] - np.sin(s)]

    return Case(system, [0.5, 0.1], [0.3, 1.0], parts)


def spring_on_a_moving_pivot() -> Case:
    """An elastic pendulum whose pivot is shaken, with damping: no constraints."""
    down = -(1 + x) * cos(theta) + cos(3 * t) / 10
    rate = [
        x.dot * sin(theta) + (1 + x) * theta.dot * cos(theta),
        -x.dot * cos(theta) + (1 + x) * theta.dot * sin(theta) - 3 * sin(3 * t) / 10,
    ]
    system = da.System(
        [x, theta],
        kinetic=(rate[0] ** 2 + rate[1] ** 2) / 2,
        potential=5 * down + 10 * x**2,
        dissipation=x.dot**2 / 8,
    )

    def parts(s: float, q: Any, v: Any) -> Arrays:
        r, S, C = 1 + q[0], np.sin(q[1]), np.cos(q[1])
        lift = 5 - 0.9 * np.cos(3 * s)  # gravity and the pivot's acceleration
        return (
            np.diag([1, r**2]),
            [r * v[1] ** 2 + lift * C - 20 * q[0] - v[0] / 4, -2 * r * v[0] * v[1] - lift * r * S],
            np.zeros((0, 2)),
            [],
        )

    return Case(system, [0.1, 0.6], [0.0, 0.4], parts)


def hyperbola() -> Case:
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + 2 * y.dot**2) / 2,
        potential=(x - 2) ** 2 + y**2,
        constraints=[da.holonomic(x * y - 1, name="wire")],
    )

    def parts(_: float, q: Any, v: Any) -> Arrays:
        force = [-2 * (q[0] - 2), -2 * q[1]]
        return np.diag([1, 2]), force, [[q[1], q[0]]], [-2 * v[0] * v[1]]

    return Case(system, [1.25, 0.8], [0.5, -0.32], parts)


def charge_on_a_cone() -> Case:
    """z^2 = x^2 + y^2 in a magnetic field along z, by the Lagrangian with its vector potential."""
    system = da.System(
        [x, y, z],
        lagrangian=(x.dot**2 + y.dot**2 + z.dot**2) / 2 + 3 * (x * y.dot - y * x.dot) / 2 - 2 * z,
        constraints=[da.holonomic(x**2 + y**2 - z**2, name="cone")],
    )

    def parts(_: float, q: Any, v: Any) -> Arrays:
        force = [3 * v[1], -3 * v[0], -2]
        row = [2 * q[0], 2 * q[1], -2 * q[2]]
        return ONE, force, [row], [-2 * (v[0] ** 2 + v[1] ** 2 - v[2] ** 2)]

    return Case(system, [0.6, 0.8, 1.0], [0.8, -0.6, 0.0], parts, end=1.5)


def two_blades() -> Case:
    """Two knife edges on one body, the second a combination of the first with a holonomic rod."""
    blade = x.dot * sin(theta) - y.dot * cos(theta)
    system = da.System(
        [x, y, theta, phi],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2 + 2 * phi.dot**2) / 2,
        potential=cos(phi) * x,
        constraints=[
            da.velocity(blade, name="front"),
            da.velocity(2 * blade + phi.dot - 2 * theta.dot, name="back"),
            da.velocity(phi.dot - 2 * theta.dot, name="gear"),
        ],
    )

    def parts(_: float, q: Any, v: Any) -> Arrays:
        S, C = np.sin(q[2]), np.cos(q[2])
        force = [-np.cos(q[3]), 0, 0, np.sin(q[3]) * q[0]]
        rows = [[S, -C, 0, 0], [0, 0, -2, 1]]
        return np.diag([1, 1, 1, 2]), force, rows, [-(v[0] * C + v[1] * S) * v[2], 0]

    return Case(system, [0.1, 0.2, 0.5, 0.3], [np.cos(0.5), np.sin(0.5), 0.4, 0.8], parts)


CASES = [
    bead_on_a_turning_rod,
    rods_stated_three_times,
    sleigh_on_a_slope,
    twisted_plane,
    thermostat,
    breathing_sphere,
    momentum_constraint,
    shaken_slot,
    spring_on_a_moving_pivot,
    hyperbola,
    charge_on_a_cone,
    two_blades,
]


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_motions_are_those_of_the_reference(make: Callable[[], Case]) -> None:
    case = make()
    names = [q.name for q in case.system.coordinates]
    start = dict(zip(names, case.q, strict=True))
    start |= {f"{name}_dot": value for name, value in zip(names, case.v, strict=True)}
    motion = da.simulate(case.system, start, (0, case.end), rtol=1e-12)
    found = [motion[name][-1] for name in (*names, *(f"{n}_dot" for n in names))]
    assert np.allclose(found, case.reference(), atol=1e-8)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, marks=() if make in (hyperbola, shaken_slot) else pytest.mark.long)
        for make in CASES
    ],
    ids=lambda make: make.__name__,
)
def test_forms_agree(make: Callable[[], Case]) -> None:
    """Every form that applies, at random states and along a motion, to 1e-10."""
    case = make()
    names = [q.name for q in case.system.coordinates]
    start = dict(zip(names, case.q, strict=True))
    start |= {f"{name}_dot": value for name, value in zip(names, case.v, strict=True)}
    found = da.compare(case.system, start=start, n=4)
    assert len([form for form, why in found.forms.items() if why is None]) >= 2
    assert found.worst < 1e-10, f"{found.worst:.1e} {found.pair}: {found.where}"


# -- first-order systems ---------------------------------------------------------------------------


def test_a_massless_node_between_springs() -> None:
    """L has no velocity of y: y = 2 x / 3, and x'' = -(2 / 3) x - x^3 with nonlinear support."""
    lagrangian = x.dot**2 / 2 - x**4 / 4 - (x - y) ** 2 - y**2 / 2
    found = da.dirac.bergmann(da.System([x, y], lagrangian=lagrangian))
    motion = da.simulate(found.flow(), {"x": 0.8, "p_x": 0.1}, (0, 4), rtol=1e-12)
    end = follow(lambda _, s: [s[1], -(s[0] ** 3) - 2 * s[0] / 3], [0.8, 0.1], 4)
    assert np.allclose([motion["x"][-1], motion["p_x"][-1]], end, atol=1e-9)


def test_guiding_centres_in_a_strong_field() -> None:
    """L = b (x y' - y x') / 2 - V: b (-y', x') = grad V, with V = x^4 + x y + y^2."""
    b = da.parameters("b", positive=True)
    energy = x**4 + x * y + y**2
    lagrangian = b * (x * y.dot - y * x.dot) / 2 - energy
    found = da.dirac.bergmann(da.System([x, y], lagrangian=lagrangian))
    assert len(found.second_class) == 2
    assert found.dirac_bracket(x, y) == -1 / b
    motion = da.simulate(found.flow(), {"x": 0.5, "y": 0.3}, (0, 3), parameters={b: 2}, rtol=1e-12)

    def rates(_: float, s: Any) -> Any:  # Euler's equations: b y' = V_x and b x' = -V_y
        by_x, by_y = 4 * s[0] ** 3 + s[1], s[0] + 2 * s[1]
        return [-by_y / 2, by_x / 2]

    assert np.allclose(motion.y[:2, -1], follow(rates, [0.5, 0.3], 3), atol=1e-9)


def test_two_particles_in_a_rotating_gauge() -> None:
    """A gauge turns both particles together: their distances obey equations without the gauge."""
    a, b = da.coordinates("a b")
    kinetic = (x.dot - y * z) ** 2 + (y.dot + x * z) ** 2 + (a.dot - b * z) ** 2
    kinetic += (b.dot + a * z) ** 2
    distance = (x - a) ** 2 + (y - b) ** 2
    system = da.System([x, y, a, b, z], lagrangian=kinetic / 2 - distance / 2)
    found = da.dirac.bergmann(system)
    assert found.gauge == ("z",) and found.is_observable(distance).is_proved
    assert found.degrees_of_freedom == 3
    start = {"x": 1.0, "y": 0.1, "a": -0.4, "b": 0.3, "z": 0.2, "p_x": 0.3, "p_a": 0.5, "p_b": 0.1}
    ends = []
    for u in (0 * t, cos(t)):
        motion = da.simulate(found.flow(), start, (0, 2), inputs={"u_z": u}, rtol=1e-12)
        ends.append((motion["x"] - motion["a"])[-1] ** 2 + (motion["y"] - motion["b"])[-1] ** 2)
    p_y = motion["p_y"][0]
    start_state = np.array([1.4, -0.2, 0.3 - 0.5, p_y - 0.1])  # in the frame z = 0: s'' = -2 s
    rate = np.sqrt(2)
    s = start_state[:2] * np.cos(2 * rate) + start_state[2:] / rate * np.sin(2 * rate)
    assert np.allclose(ends, s @ s, atol=1e-9)


def test_an_almost_poisson_structure() -> None:
    """Jacobi's identity fails, and the motion is still x_dot = Pi dH with H conserved."""
    table = [[0, 1 + z**2, y], [-1 - z**2, 0, x * z], [-y, -x * z, 0]]
    structure = da.dirac.DiracManifold.from_bivector([x, y, z], table)
    assert structure.integrability.is_refuted
    flow = da.dirac.system(structure, x**2 / 2 + y**2 + z**4 / 4)
    motion = da.simulate(flow, {"x": 0.5, "y": 0.2, "z": 0.9}, (0, 3), rtol=1e-12)

    def rates(_: float, s: Any) -> Any:
        X, Y, Z = s
        g = np.array([X, 2 * Y, Z**3])
        w = 1 + Z**2
        return np.array([[0, w, Y], [-w, 0, X * Z], [-Y, -X * Z, 0]]) @ g

    end = follow(rates, [0.5, 0.2, 0.9], 3)
    assert np.allclose([motion[n][-1] for n in "xyz"], end, atol=1e-9)
    assert np.ptp(motion.energy) < 1e-10


def test_oscillators_that_share_a_damper() -> None:
    """A resistor between two systems: its flow is minus the sum of both velocities."""
    a, b = da.coordinates("a b")
    both = da.dirac.DiracManifold.canonical([x, y], [a, b]).opened([[1, 1, 0, 0]], ["damper"])
    energy = a**2 / 2 + b**2 / 4 + x**2 + y**4 / 4
    flow = da.dirac.system(both, energy, resistors={"damper": 0.7})
    motion = da.simulate(flow, {"x": 0.6, "y": -0.9, "b": 0.3}, (0, 5), rtol=1e-12)

    def rates(_: float, s: Any) -> Any:
        X, Y, A, B = s
        pull = 0.7 * (A + B / 2)
        return [A, B / 2, -2 * X - pull, -(Y**3) - pull]

    end = follow(rates, [0.6, -0.9, 0.0, 0.3], 5)
    assert np.allclose([motion[n][-1] for n in "xyab"], end, atol=1e-9)


def test_a_presymplectic_system_with_a_hidden_constraint() -> None:
    """omega = dx ^ da on (x, a, z), H with z (x - sin(t)): x = sin(t) follows, and then a and z."""
    a = da.coordinates("a")
    form = [[0, -1, 0], [1, 0, 0], [0, 0, 0]]
    structure = da.dirac.DiracManifold.from_two_form([x, a, z], form)
    flow = da.dirac.system(structure, a**2 / 2 + x**2 / 2 + z * (x - sin(t)))
    motion = da.simulate(flow, {}, (0, 2), rtol=1e-12)
    assert np.allclose(motion["x"], np.sin(motion.t), atol=1e-10)
    assert np.allclose(motion["a"], np.cos(motion.t), atol=1e-10)
    assert np.allclose(motion["z"], 0.0, atol=1e-9)  # the spring does what the force would do


def test_a_circuit_with_a_cubic_conductance() -> None:
    """Two capacitors, an inductor, a resistor and i = v^3 - v: a double-scroll oscillator."""
    v = da.coordinates("v_N")
    flow = da.dirac.circuit({
        "C1": ("capacitor", "a", "0", 1),
        "N": ("resistor", "a", "0", v**3 - v),
        "R": ("resistor", "a", "b", 2),
        "C2": ("capacitor", "b", "0", 3),
        "L": ("inductor", "b", "0", 0.5),
    })  # fmt: skip
    motion = da.simulate(flow, {"q_C1": 0.3, "q_C2": 0.2, "phi_L": 0.1}, (0, 4), rtol=1e-12)

    def rates(_: float, s: Any) -> Any:
        one, two, flux = s[0], s[1] / 3, s[2]
        middle = (one - two) / 2
        return [-(one**3 - one) - middle, middle - 2 * flux, two]

    end = follow(rates, [0.3, 0.2, 0.1], 4)
    assert np.allclose([motion[n][-1] for n in ("q_C1", "q_C2", "phi_L")], end, atol=1e-9)


def test_resonators_behind_a_transformer_and_a_gyrator() -> None:
    """C1 drives L1 through a transformer, and C2 through a gyrator."""
    flow = da.dirac.circuit({
        "C1": ("capacitor", "a", "0", 1),
        "T": ("transformer", "a", "0", "b", "0", 2),
        "L": ("inductor", "b", "0", 3),
        "G": ("gyrator", "a", "0", "c", "0", 4),
        "C2": ("capacitor", "c", "0", 5),
        "R": ("resistor", "c", "0", 6),
    })  # fmt: skip
    motion = da.simulate(flow, {"q_C1": 0.5, "phi_L": 0.2, "q_C2": 0.1}, (0, 6), rtol=1e-12)

    def rates(_: float, s: Any) -> Any:
        v1, v2, i = s[0], s[1] / 5, s[2] / 3
        into, out = -v2 / 4, v1 / 4  # v2 = -r i1 and v1 = r i2
        return [-i / 2 - into, -out - v2 / 6, v1 / 2]

    end = follow(rates, [0.5, 0.1, 0.2], 6)
    assert np.allclose([motion[n][-1] for n in ("q_C1", "q_C2", "phi_L")], end, atol=1e-9)
