"""`hamilton_jacobi`: H_1 against the vakonomic equations, complete integrals against motions, and where the method applies."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy
from scipy.optimize import brentq
from sympy import Rational, cos, exp, sin, sqrt

import dalembert as da
from dalembert.analysis.hamilton_jacobi import HamiltonJacobi
from dalembert.compiled.book import Book
from dalembert.compiled.kernel import kernel_of
from dalembert.errors import FormError, ModelError, RunError

m, g, k, c = da.parameters("m g k c", positive=True)
x, y, z, r, theta, phi = da.coordinates("x y z r theta phi")
VALUES = {"m": 1.3, "g": 9.81, "k": 2.1, "c": 0.4}


def particle(*coordinates: Any, potential: Any = 0, constraints: Any = ()) -> da.System:
    kinetic = m / 2 * sum(q.dot**2 for q in coordinates)
    return da.System(list(coordinates), kinetic=kinetic, potential=potential, constraints=constraints)


def slope(f: Any) -> list[Any]:
    return [da.velocity(f, name="slope")]


CENTRAL = m / 2 * (r.dot**2 + r**2 * phi.dot**2)
SPHERICAL = m / 2 * (r.dot**2 + r**2 * theta.dot**2 + r**2 * sin(theta) ** 2 * phi.dot**2)

#: Systems of our own by name; the others come from the gallery.
SYSTEMS: dict[str, da.System] = {
    "fall": particle(x, z, potential=m * g * z),
    "oscillator": particle(x, potential=k * x**2 / 2),
    "runaway": particle(x, potential=-k * x**2 / 2),
    "free": particle(x, y),
    "two oscillators": particle(x, y, potential=k * x**2 / 2 + c * y**2),
    "pendulum": da.System([theta], kinetic=m / 2 * theta.dot**2, potential=-m * g * cos(theta)),
    "kepler": da.System([r, phi], kinetic=CENTRAL, potential=-k / r),
    "spherical": da.System([r, theta, phi], kinetic=SPHERICAL, potential=-k / r + c * cos(theta) / r**2),
    "liouville": da.System(
        [x, y], kinetic=(x**2 + y**2) / 2 * (x.dot**2 + y.dot**2), potential=-(k + c * x**4) / (x**2 + y**2)
    ),
    "growing mass": da.System([x], kinetic=m / 2 * x.dot**2 * (1 + da.t**2)),
    "common clock": da.System([x], lagrangian=m / 2 * x.dot**2 / (1 + da.t**2) - (1 + da.t**2) * k * x),
    "by hamiltonian": da.System([x, y], hamiltonian=(x.momentum**2 + y.momentum**2) / (2 * m) + k * y),
    "magnetic": da.System([x, y], lagrangian=m / 2 * (x.dot**2 + y.dot**2) + k * x * y.dot),
    # Appell's constraint under another potential: not separable from the heading, and not mechanical.
    "steered by x": particle(x, y, z, potential=k * x**2 / 2, constraints=slope(z.dot - c * sqrt(x.dot**2 + y.dot**2))),
    # A radical whose form is the mass matrix without being a multiple of the unit matrix, beside a free coordinate.
    "skew radical": da.System(
        [x, y, z, theta],
        lagrangian=m / 2 * (x.dot**2 + x.dot * y.dot + 2 * y.dot**2 + z.dot**2 + theta.dot**2) + k * x * theta.dot - g * z,
        constraints=slope(z.dot - c * sqrt(x.dot**2 + x.dot * y.dot + 2 * y.dot**2) - Rational(1, 5)),
    ),
    "turning frame": particle(x, y, z, constraints=slope(z.dot - y * x.dot - sin(da.t))),
    # The dependent coordinate has no mass: pi . v - L is quadratic although phi is not linear.
    "massless": da.System([x, y], kinetic=m / 2 * x.dot**2, potential=k * y, constraints=slope(y.dot - x.dot**2 / 9)),
}
GALLERY = (
    "appell",
    "rolling-disk",
    "nonholonomic-particle",
    "constrained-particle",
    "chaplygin-sleigh",
    "ball-on-rotating-plate",
    "spherical-pendulum",
    "elastic-pendulum-arc",
    "elastic-pendulum-steered",
    "snakeboard-gait",
)


def system_of(name: str) -> da.System:
    return SYSTEMS[name] if name in SYSTEMS else da.gallery.load(name).system


def values_of(name: str) -> dict[str, float]:
    system = system_of(name)
    known = VALUES if name in SYSTEMS else da.gallery.load(name).parameters
    return {p.name: known[p.name] for p in system.parameters}


@cache
def method(name: str) -> HamiltonJacobi:
    return da.hamilton_jacobi(SYSTEMS[name] if name in SYSTEMS else da.gallery.load(name))


def evaluated(expressions: Any, values: dict[str, float]) -> Any:
    """Expressions in numbers, by SymPy's own road."""
    expressions = list(expressions)
    letters = sorted({symbol for e in expressions for symbol in e.free_symbols}, key=str)
    function = sympy.lambdify(letters, expressions, "numpy", cse=True)
    return np.array(function(*(values[letter.name] for letter in letters)), dtype=float)


# -- H_1 -----------------------------------------------------------------------------------------------------------


def test_appells_hamiltonian_branch_and_integral_are_the_printed_ones() -> None:
    found = method("appell")
    system = found.system
    q1, q2, q3 = system.coordinates
    a, gravity, mass = system.parameters
    pi1, pi2, pi3 = found.momenta.values()
    H1 = (sqrt(pi1**2 + pi2**2) + a * pi3) ** 2 / (2 * mass * (1 + a**2)) + mass * gravity * q3
    assert sympy.simplify(found.hamiltonian - H1) == 0
    (branch,) = found.branch
    w = sqrt(q1.dot**2 + q2.dot**2)
    assert isinstance(branch, sympy.StrictGreaterThan)
    assert sympy.simplify(branch.lhs - branch.rhs - (mass * (1 + a**2) * w - a * pi3)) == 0
    integral = found.integral
    assert integral is not None and integral.verdict.by == "symbolically"
    alpha1, alpha2, E = integral.constants
    rho = sqrt(alpha1**2 + alpha2**2)
    printed = (-rho + sqrt(2 * mass * (1 + a**2) * (E - mass * gravity * q3))) / a
    assert sympy.simplify(sympy.diff(integral.action, q3) - printed) == 0
    assert [sympy.diff(integral.action, letter) for letter in (da.t, q1, q2)] == [-E, alpha1, alpha2]


def vakonomic_point(name: str, seed: int) -> tuple[dict[str, float], Any, Any, Any]:
    """A random consistent state with random multipliers: its letters by name, pi, pi_dot and q_dot, from the vakonomic form."""
    system, random = system_of(name), np.random.default_rng(seed)
    n = len(system.coordinates)
    form = "vakonomic" if system.bilateral else "lagrange"
    kernel = kernel_of(da.derive(system, form), system.parameters)
    parameters = np.array([values_of(name)[p.name] for p in system.parameters])
    book = Book(kernel, parameters)
    for _ in range(50):
        state, time = random.uniform(0.3, 1.1, kernel.n_state), float(random.uniform(0.1, 0.9))
        if not book.project(time, state):
            break
    rates = book.rates(time, state)
    graph, algebra = kernel.graph, kernel.algebra
    pi = graph.momenta
    if system.bilateral:
        pi = pi + graph.rows.T @ algebra.vector(kernel.equations.state[2 * n :])
    letters, clock = algebra.vector(kernel.equations.state), algebra.vector([da.t])
    direction = ca.SX.sym("rates", kernel.n_state)
    moved = ca.jtimes(pi, letters, direction) + ca.jacobian(pi, clock)
    function = ca.Function("pi", [*kernel._inputs(), direction], [pi, moved])
    first, second = function.call([time, state, parameters, np.zeros(0), np.zeros(0), rates])
    named = {s.name: float(v) for s, v in zip(kernel.equations.state, state, strict=True)} | values_of(name) | {"t": time}
    momenta = np.asarray(first, dtype=float).ravel()
    named |= {s.name: float(v) for s, v in zip(method(name).momenta.values(), momenta, strict=True)}
    return named, momenta, np.asarray(second, dtype=float).ravel(), rates[:n]


SLOW = ("rolling-disk", "snakeboard-gait")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in (*SYSTEMS, *GALLERY)]
)
def test_the_canonical_equations_are_the_vakonomic_ones(name: str) -> None:
    found = method(name)
    n = len(found.system.coordinates)
    for seed in range(2):
        named, _, impulse_rates, velocities = vakonomic_point(name, seed)
        rates = evaluated(list(found.canonical_equations.values()), named)
        slopes = evaluated([sympy.diff(found.hamiltonian, pi) for pi in found.momenta.values()], named)
        scale = 1 + np.max(np.abs(impulse_rates))
        assert np.max(np.abs(rates[:n] - velocities)) < 1e-8 * (1 + np.max(np.abs(velocities)))
        assert np.max(np.abs(slopes - velocities)) < 1e-8 * (1 + np.max(np.abs(velocities)))
        assert np.max(np.abs(rates[n:] - impulse_rates)) < 1e-8 * scale


@pytest.mark.parametrize(
    "name",
    [
        "appell",
        pytest.param("rolling-disk", marks=pytest.mark.long),
        "constrained-particle",
        "skew radical",
        "turning frame",
        "massless",
    ],
)
def test_the_hamiltonian_is_that_of_5_5_and_the_multipliers_are_pi_minus_p(name: str) -> None:
    found, system = method(name), system_of(name)
    named, momenta, _, velocities = vakonomic_point(name, 5)
    lagrangian = evaluated([system.lagrangian], named)[0]
    assert evaluated([found.hamiltonian], named)[0] == pytest.approx(momenta @ velocities - lagrangian, abs=1e-9)
    for q, value in found.multipliers.items():
        p = evaluated([sympy.diff(system.lagrangian, q.dot)], named)[0]
        assert evaluated([value], named)[0] == pytest.approx(named[found.momenta[q].name] - p, abs=1e-9)
    names = {f"lambda_{con.name}": named[f"chi_{con.name}"] for con in system.bilateral}
    p = {q.momentum.name: float(v) for q, v in zip(system.coordinates, evaluated_momenta(system, named), strict=True)}
    assert evaluated(list(found.definitions.values()), named | names | p) == pytest.approx(momenta, abs=1e-9)


def evaluated_momenta(system: da.System, named: dict[str, float]) -> Any:
    return evaluated([sympy.diff(system.lagrangian, v) for v in system.velocities], named)


# -- complete integrals --------------------------------------------------------------------------------------------

#: Start, last time, and the form whose motion it is.
MOTIONS: dict[str, tuple[dict[str, float], float]] = {
    "fall": ({"x": 0.1, "z": 1.0, "x_dot": 1.0, "z_dot": 3.0}, 2.0),
    "oscillator": ({"x": 1.0}, 20.0),
    "runaway": ({"x": 1.0, "x_dot": -0.3}, 3.0),
    "free": ({"x_dot": 1.0, "y_dot": 2.0}, 2.0),
    "two oscillators": ({"x": 1.0, "y": -0.3, "y_dot": 0.7}, 10.0),
    "pendulum": ({"theta": 0.4, "theta_dot": 1.0}, 10.0),
    "kepler": ({"r": 1.0, "phi": 0.3, "r_dot": 0.2, "phi_dot": 1.1}, 10.0),
    "spherical": ({"r": 1.0, "theta": 1.2, "phi": 0.3, "r_dot": 0.2, "phi_dot": 1.1, "theta_dot": -0.3}, 6.0),
    "liouville": ({"x": 0.4, "y": 0.7, "x_dot": 0.3, "y_dot": -0.2}, 3.0),
    "growing mass": ({"x": 0.4, "x_dot": 2.0}, 3.0),
    "common clock": ({"x": 0.4, "x_dot": 2.0}, 3.0),
    "by hamiltonian": ({"x_dot": 1.0, "y_dot": 0.4}, 2.0),
    "magnetic": ({"x": 0.3, "x_dot": 1.0, "y_dot": 0.4}, 6.0),
    "steered by x": ({"x": 0.4, "y": 0.1, "x_dot": 1.0, "y_dot": 0.5, "z_dot": 0.4 * 1.25**0.5, "chi_slope": 0.3}, 6.0),
    "massless": ({"x_dot": 1.0, "y_dot": 1 / 9, "chi_slope": 0.3}, 1.0),
    "appell": ({"chi_slope": 0.7}, 1.2),
    "constrained-particle": ({"y": 0.1, "x_dot": 1.0, "y_dot": 0.1, "z_dot": 0.1, "chi_slope": 2.4}, 8.0),
    "nonholonomic-particle": ({"chi_slope": 0.4}, 2.0),
    "chaplygin-sleigh": ({"chi_blade": 0.4}, 2.0),
}


def start_of(name: str) -> dict[str, float]:
    return (dict(da.gallery.load(name).start) if name not in SYSTEMS else {}) | MOTIONS[name][0]


@pytest.mark.parametrize("name", MOTIONS)
def test_jacobis_theorem_gives_the_motion(name: str) -> None:
    system, found = system_of(name), method(name)
    at = np.linspace(0.0, MOTIONS[name][1], 21)
    form = "vakonomic" if system.bilateral else None
    rival = da.simulate(system, start_of(name), (0.0, at[-1]), parameters=values_of(name), form=form, at=at, rtol=1e-13)
    assert rival.success, rival.message
    motion = found.motion(at, start_of(name), values_of(name))
    assert found.integral is not None and found.integral.verdict.holds
    for q in system.coordinates:
        assert np.max(np.abs(motion[q] - rival[q])) < 1e-9 * (1 + np.max(np.abs(rival[q])))
    if not system.bilateral:
        for q, pi in found.momenta.items():
            assert np.max(np.abs(motion[pi] - rival[q.momentum])) < 1e-8 * (1 + np.max(np.abs(rival[q.momentum])))


@pytest.mark.parametrize("name", ["kepler", "spherical", "liouville", "two oscillators", "common clock"])
def test_the_constants_are_integrals_of_motion(name: str) -> None:
    found, system = method(name), system_of(name)
    assert found.integral is not None
    at = np.linspace(0.0, MOTIONS[name][1], 4)
    motion = da.simulate(system, start_of(name), (0.0, at[-1]), parameters=values_of(name), at=at, rtol=1e-12)
    rows = []
    for place in range(len(at)):
        named = values_of(name) | {letter: float(motion[letter][place]) for letter in motion.names}
        named |= {pi.name: float(motion[q.momentum][place]) for q, pi in found.momenta.items()}
        for constant, expression in found.integral.constants.items():
            named[constant.name] = float(evaluated([expression], named)[0])
        rows.append([named[constant.name] for constant in found.integral.constants])
    assert np.ptp(np.array(rows), axis=0) == pytest.approx(np.zeros(len(rows[0])), abs=1e-9)
    assert len(found.integral.constants) == len(system.coordinates)


@pytest.mark.parametrize("name", ["appell", "fall", "oscillator", "runaway", "free"])
def test_the_motion_in_symbols_solves_the_canonical_equations(name: str) -> None:
    found, system = method(name), system_of(name)
    integral = found.integral
    assert integral is not None and integral.motion is not None
    random = np.random.default_rng(3)
    letters = {s for e in integral.motion.values() for s in e.free_symbols} | set(integral.constants) | set(system.parameters)
    named = {s.name: float(random.uniform(0.5, 1.5)) for s in letters} | {"E": 25.0, "beta_E": -1.0, "t": 0.4}
    places = {q.name: float(v) for q, v in zip(system.coordinates, evaluated(integral.motion.values(), named), strict=True)}
    speeds = evaluated([sympy.diff(integral.motion[q], da.t) for q in system.coordinates], named)
    sign = np.sign(speeds[-1]) if name not in ("free",) else 1
    momenta = {
        found.momenta[q].name: float(evaluated([s.expression(int(sign))], named | places)[0])
        for q, s in zip(system.coordinates, integral.slopes[1:], strict=True)
    }
    rates = evaluated([found.canonical_equations[q] for q in system.coordinates], named | places | momenta)
    assert rates == pytest.approx(speeds, rel=1e-9)
    for relation in integral.relations if sign > 0 else ():
        at = {s: named.get(s.name, places.get(s.name)) for s in relation.lhs.free_symbols}
        assert float(relation.lhs.evalf(20, subs=at)) == pytest.approx(named[relation.rhs.name], rel=1e-9)


def test_appells_motion_in_symbols_is_the_known_one() -> None:
    """Heading constant, w = w0 - g a t / (1 + a^2), q3_dot = a w."""
    found = method("appell")
    q1, q2, q3 = found.system.coordinates
    motion = found.integral.motion
    a, gravity, _ = found.system.parameters
    assert sympy.simplify(sympy.diff(motion[q3], da.t, 2) + a**2 * gravity / (1 + a**2)) == 0
    alpha1, alpha2, _ = found.integral.constants
    assert sympy.simplify(sympy.diff(motion[q1], da.t) * alpha2 - sympy.diff(motion[q2], da.t) * alpha1) == 0
    w2 = sympy.diff(motion[q1], da.t) ** 2 + sympy.diff(motion[q2], da.t) ** 2
    assert sympy.simplify(a**2 * w2 - sympy.diff(motion[q3], da.t) ** 2) == 0


PENDULUM = [
    ("rotating", {"theta": 0.1, "theta_dot": 7.0}, 1e-9),
    ("rotating backwards", {"theta": 0.1, "theta_dot": -7.0}, 1e-9),
    ("below the separatrix", {"theta": 0.0, "theta_dot": 2 * 9.81**0.5 - 1e-3}, 1e-8),
    ("above the separatrix", {"theta": 0.0, "theta_dot": 2 * 9.81**0.5 + 1e-3}, 1e-8),
    ("from rest", {"theta": 1.0}, 1e-9),
]


@pytest.mark.parametrize(("start", "limit"), [case[1:] for case in PENDULUM], ids=[case[0] for case in PENDULUM])
@pytest.mark.parametrize("last", [5.0, -5.0], ids=["forwards", "backwards"])
def test_turning_points_of_all_kinds(start: dict[str, float], limit: float, last: float) -> None:
    at = np.linspace(0.0, last, 15)
    values = values_of("pendulum")
    motion = method("pendulum").motion(at, start, values)
    rival = da.simulate(SYSTEMS["pendulum"], start, (0.0, last), parameters=values, at=at, rtol=1e-13)
    assert np.max(np.abs(motion["theta"] - rival["theta"])) < limit
    assert len(motion.turns["theta"]) == (0 if abs(start.get("theta_dot", 0.0)) > 2 * 9.81**0.5 else 2)


@pytest.mark.parametrize(
    ("start", "limit"),
    [({"r": 1.0, "phi_dot": 1.0}, 1e-9), ({"r": 1.0, "phi_dot": 2.0, "r_dot": -1.0}, 1e-9)],
    ids=["from an apsis", "unbound"],
)
def test_orbits(start: dict[str, float], limit: float) -> None:
    at = np.linspace(0.0, 6.0, 13)
    motion = method("kepler").motion(at, start, values_of("kepler"))
    rival = da.simulate(SYSTEMS["kepler"], start, (0.0, 6.0), parameters=values_of("kepler"), at=at, rtol=1e-13)
    assert max(np.max(np.abs(motion[q] - rival[q])) for q in ("r", "phi")) < limit


def test_an_equilibrium_of_a_separated_coordinate_is_refused() -> None:
    circular = {"r": 1.0, "phi_dot": (VALUES["k"] / VALUES["m"]) ** 0.5}
    with pytest.raises(RunError, match="equilibrium"):
        method("kepler").motion([0.0, 1.0], circular, values_of("kepler"))


# -- separation ----------------------------------------------------------------------------------------------------


def test_an_equation_that_does_not_separate_says_so() -> None:
    henon = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x**2 + y**2) / 2 + x**2 * y - y**3 / 3)
    found = da.hamilton_jacobi(henon)
    assert found.integral is None
    assert "Levi-Civita's conditions fail" in found.reason
    with pytest.raises(RunError, match="no complete integral"):
        found.motion([0.0, 1.0], {"x": 0.1})


def test_what_is_separable_without_our_rules_finding_it_says_that() -> None:
    quartic = da.System([x], hamiltonian=x.momentum**4 + x.momentum + x**2)
    found = da.hamilton_jacobi(quartic)
    assert found.integral is None
    assert "could not be solved for the momentum of x" in found.reason


def test_damping_by_time_does_not_separate_in_these_coordinates() -> None:
    found = da.hamilton_jacobi(da.System([x], lagrangian=exp(da.t) * (m / 2 * x.dot**2 - k / 2 * x**2)))
    assert found.integral is None
    assert "x, t" in found.reason


# -- applicability (5.10) ------------------------------------------------------------------------------------------

APPLIES = {
    "oscillator": True,
    "appell": True,  # not integrable, and every motion is mechanical all the same
    "spherical-pendulum": True,
    "elastic-pendulum-arc": True,
    "elastic-pendulum-steered": True,
    "rolling-disk": False,
    "nonholonomic-particle": False,
    "constrained-particle": False,
    "chaplygin-sleigh": False,
    "steered by x": False,
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name == "rolling-disk")) for name in APPLIES])
def test_where_the_method_gives_mechanical_motions(name: str) -> None:
    found = method(name).applicability
    assert found.applies is APPLIES[name]
    assert (found.worst < 1e-12) if APPLIES[name] else (found.worst > 1e-2)
    system = system_of(name)
    n = len(system.coordinates)
    gaps = []
    for seed in range(3) if system.bilateral else ():
        named, *_ = vakonomic_point(name, seed)
        rates = [
            da.derive(system, form).function()(
                named["t"], [named[s.name] for s in da.derive(system, form).state], values_of(name)
            )
            for form in ("lagrange", "vakonomic")
        ]
        gaps.append(np.max(np.abs(rates[0][n : 2 * n] - rates[1][n : 2 * n])))
    assert bool(max(gaps, default=0.0) < 1e-9) is APPLIES[name]


def disk_motion(start: dict[str, float], last: float) -> Any:
    scenario = da.gallery.load("rolling-disk")
    beginning = dict.fromkeys(("theta", "psi", "phi", "x", "y", "theta_dot", "psi_dot", "phi_dot"), 0.0) | start
    return da.simulate(scenario.system, beginning, (0.0, last), parameters=scenario.parameters, rtol=1e-12)


@pytest.mark.long
def test_the_disk_is_both_only_in_steady_rolling_and_in_falling() -> None:
    found = method("rolling-disk")
    steady = {"theta": 0.3, "phi": 0.2, "phi_dot": 0.9}

    def tilt_acceleration(turn: float) -> float:
        return float(disk_motion(steady | {"psi_dot": turn}, 1e-6)["theta_ddot"][0])

    start = steady | {"psi_dot": float(brentq(tilt_acceleration, -50.0, 50.0, xtol=1e-14))}
    rolling = disk_motion(start, 2.0)
    along = found.along(rolling)
    assert along.applies and along.worst < 1e-9
    # With the multipliers that were found, the variational motion is this mechanical one.
    scenario = da.gallery.load("rolling-disk")
    beginning = {name: float(rolling[name][0]) for name in scenario.start} | dict(along.multipliers)
    vakonomic = da.simulate(
        scenario.system, beginning, (0.0, 2.0), parameters=scenario.parameters, form="vakonomic", at=rolling.t
    )
    assert max(np.max(np.abs(vakonomic[q] - rolling[q])) for q in scenario.system.coordinates) < 1e-8
    assert found.along(vakonomic).applies

    assert found.along(disk_motion({"theta": 0.3, "theta_dot": 0.1}, 0.3)).applies
    wobbling = found.along(da.simulate(scenario))
    assert not wobbling.applies and wobbling.worst > 1e-3 and wobbling.mechanical < 1e-9
    variational = found.along(da.simulate(da.gallery.load("rolling-disk-vakonomic")))
    assert not variational.applies and variational.worst < 1e-6 and variational.mechanical > 1e-3


def test_a_motion_without_reaction_is_both() -> None:
    """L = |v|^2/2 with z' = y x' along y = const: the multiplier is zero (Rumyantsev's remark on 4.6)."""
    scenario = da.gallery.load("constrained-particle")
    line = da.simulate(scenario.system, {"y": 0.7, "x_dot": 1.0, "z_dot": 0.7}, (0.0, 1.0), parameters=scenario.parameters)
    found = method("constrained-particle")
    assert found.along(line).applies
    assert not found.along(da.simulate(scenario)).applies


def test_appells_motion_is_both_with_any_multiplier() -> None:
    found = method("appell")
    assert found.along(da.simulate(da.gallery.load("appell"))).applies
    assert found.along(da.simulate(da.gallery.load("appell-vakonomic"))).applies
    at = np.linspace(0.0, 1.2, 7)
    rival = da.simulate(da.gallery.load("appell"), at=at, rtol=1e-12)
    for chi in (0.0, 0.7, -2.0, 5.0):
        motion = found.motion(at, {"chi_slope": chi})
        assert max(np.max(np.abs(motion[q] - rival[q])) for q in ("q1", "q2", "q3")) < 1e-9


# -- hypotheses ----------------------------------------------------------------------------------------------------


def test_multipliers_beyond_the_branch_are_refused() -> None:
    """The branch is a chi < m w; beyond chi = m w / a the other root of the radical holds."""
    with pytest.raises(RunError, match="branch"):
        method("appell").motion([0.0, 0.1], {"chi_slope": 12.0})


REFUSED = {
    "force": (particle(x).replacing(forces={x: -k * x.dot}), "stand in the Lagrangian"),
    "dissipation": (particle(x).replacing(dissipation=k * x.dot**2 / 2), "stand in the Lagrangian"),
    "image": (
        particle(x, y).replacing(constraints=[da.image({x: da.speeds("u"), y: 2 * da.speeds("u")}, [da.speeds("u")])]),
        "image",
    ),
    "impact": (particle(x).replacing(constraints=[da.unilateral(x >= 0)]), "impacts"),
    "radical of another form": (particle(x, y, z, constraints=slope(z.dot - c * sqrt(x.dot**2 + 2 * y.dot**2))), "closed form"),
    "two radicals": (
        particle(x, y, z, constraints=slope(z.dot - sqrt(x.dot**2 + y.dot**2) - sqrt(x.dot**2 + 2 * y.dot**2))),
        "closed form",
    ),
    "cubic": (particle(x, y, constraints=slope(y.dot - x.dot**3)), "closed form"),
    "no mass": (da.System([x, y], kinetic=m / 2 * x.dot**2, potential=k * y**2), "singular"),
    "too large": (
        particle(x, potential=sympy.Add(*(sin(j * x) * cos((j + 1) * x) for j in range(1, 700)))),
        "too large",
    ),
}


@pytest.mark.parametrize(("system", "words"), REFUSED.values(), ids=REFUSED)
def test_failing_hypotheses_are_named(system: da.System, words: str) -> None:
    with pytest.raises(FormError, match=words):
        da.hamilton_jacobi(system)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(ModelError, match="one way"):
        method("fall").motion([0.0, 1.0, 0.5], MOTIONS["fall"][0], VALUES)
    with pytest.raises(ModelError, match="motion of this system"):
        method("fall").along(da.simulate(SYSTEMS["oscillator"], {"x": 1.0}, (0, 1), parameters=values_of("oscillator")))
    with pytest.raises(ModelError, match="System or a Scenario"):
        da.hamilton_jacobi(3)  # type: ignore[arg-type]


def test_names_of_the_model_are_not_taken() -> None:
    """A model whose parameters are called E, alpha_x and pi_x keeps them."""
    E, alpha, pi = da.parameters("E alpha_x pi_x", positive=True)
    found = da.hamilton_jacobi(da.System([x, y], kinetic=E / 2 * (alpha * x.dot**2 + pi * y.dot**2), potential=E * y))
    assert found.integral is not None
    own = {s.name for s in found.integral.constants} | {s.name for s in found.momenta.values()}
    assert not own & {"E", "alpha_x", "pi_x"}


@pytest.mark.long
def test_it_reads_as_text_markdown_html_latex_and_data() -> None:
    for name in ("appell", "rolling-disk", "oscillator"):
        found = method(name)
        data = found.to_json()
        assert json.loads(json.dumps(data)) == data
        assert str(found).splitlines()[0] == found.system.name == repr(found).splitlines()[0]
        for shown in (found.text(), found._repr_markdown_(), found._repr_html_()):
            assert "H_1" in shown and "Complete integral" in shown
        assert found.latex().startswith("S_t + ")
        assert found.equation.rhs == 0
    assert "S_{q_{1}}" in method("appell").latex()
