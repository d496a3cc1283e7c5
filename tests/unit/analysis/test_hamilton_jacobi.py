"""`hamilton_jacobi`: H_1 against the vakonomic equations, complete integrals against motions, and
where the method applies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from separable_systems import (
    GALLERY,
    SYSTEMS,
    VALUES,
    evaluated,
    k,
    m,
    method,
    system_of,
    vakonomic_point,
    values_of,
    x,
    y,
)
from sympy import exp, sqrt

import dalembert as da
from dalembert.errors import FormError, RunError

SLOW = ("rolling-disk", "snakeboard-gait")
z, w = da.coordinates("z w")


# -- H_1 -------------------------------------------------------------------------------------------


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
    assert [sympy.diff(integral.action, symbol) for symbol in (da.t, q1, q2)] == [
        -E,
        alpha1,
        alpha2,
    ]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in SLOW else [])
        for name in (*SYSTEMS, *GALLERY)
    ],
)
def test_the_canonical_equations_are_the_vakonomic_ones(name: str) -> None:
    found = method(name)
    n = len(found.system.coordinates)
    for seed in range(2):
        named, _, impulse_rates, velocities = vakonomic_point(name, seed)
        rates = evaluated(list(found.canonical_equations.values()), named)
        derivatives = evaluated(
            [sympy.diff(found.hamiltonian, pi) for pi in found.momenta.values()], named
        )
        scale = 1 + np.max(np.abs(impulse_rates))
        assert np.max(np.abs(rates[:n] - velocities)) < 1e-8 * (1 + np.max(np.abs(velocities)))
        assert np.max(np.abs(derivatives - velocities)) < 1e-8 * (1 + np.max(np.abs(velocities)))
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
    assert evaluated([found.hamiltonian], named)[0] == pytest.approx(
        momenta @ velocities - lagrangian, abs=1e-9
    )
    for q, value in found.multipliers.items():
        p = evaluated([sympy.diff(system.lagrangian, q.dot)], named)[0]
        assert evaluated([value], named)[0] == pytest.approx(
            named[found.momenta[q].name] - p, abs=1e-9
        )
    names = {f"lambda_{con.name}": named[f"chi_{con.name}"] for con in system.bilateral}
    p = {
        q.momentum.name: float(v)
        for q, v in zip(system.coordinates, evaluated_momenta(system, named), strict=True)
    }
    assert evaluated(list(found.definitions.values()), named | names | p) == pytest.approx(
        momenta, abs=1e-9
    )


def evaluated_momenta(system: da.System, named: dict[str, float]) -> Any:
    return evaluated([sympy.diff(system.lagrangian, v) for v in system.velocities], named)


# -- complete integrals ----------------------------------------------------------------------------

#: Start, last time, and the form whose motion it is.
MOTIONS: dict[str, tuple[dict[str, float], float]] = {
    "fall": ({"x": 0.1, "z": 1.0, "x_dot": 1.0, "z_dot": 3.0}, 2.0),
    "oscillator": ({"x": 1.0}, 20.0),
    "runaway": ({"x": 1.0, "x_dot": -0.3}, 3.0),
    "free": ({"x_dot": 1.0, "y_dot": 2.0}, 2.0),
    "two oscillators": ({"x": 1.0, "y": -0.3, "y_dot": 0.7}, 10.0),
    "pendulum": ({"theta": 0.4, "theta_dot": 1.0}, 10.0),
    "kepler": ({"r": 1.0, "phi": 0.3, "r_dot": 0.2, "phi_dot": 1.1}, 10.0),
    "spherical": (
        {"r": 1.0, "theta": 1.2, "phi": 0.3, "r_dot": 0.2, "phi_dot": 1.1, "theta_dot": -0.3},
        6.0,
    ),
    "liouville": ({"x": 0.4, "y": 0.7, "x_dot": 0.3, "y_dot": -0.2}, 3.0),
    "growing mass": ({"x": 0.4, "x_dot": 2.0}, 3.0),
    "common clock": ({"x": 0.4, "x_dot": 2.0}, 3.0),
    "by hamiltonian": ({"x_dot": 1.0, "y_dot": 0.4}, 2.0),
    "magnetic": ({"x": 0.3, "x_dot": 1.0, "y_dot": 0.4}, 6.0),
    "steered by x": (
        {
            "x": 0.4,
            "y": 0.1,
            "x_dot": 1.0,
            "y_dot": 0.5,
            "z_dot": 0.4 * 1.25**0.5,
            "chi_slope": 0.3,
        },
        6.0,
    ),
    "massless": ({"x_dot": 1.0, "y_dot": 1 / 9, "chi_slope": 0.3}, 1.0),
    "appell": ({"chi_slope": 0.7}, 1.2),
    "constrained-particle": (
        {"y": 0.1, "x_dot": 1.0, "y_dot": 0.1, "z_dot": 0.1, "chi_slope": 2.4},
        8.0,
    ),
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
    reference = da.simulate(
        system,
        start_of(name),
        (0.0, at[-1]),
        parameters=values_of(name),
        form=form,
        at=at,
        rtol=1e-13,
    )
    assert reference.success, reference.message
    motion = found.motion(at, start_of(name), values_of(name))
    assert found.integral is not None and found.integral.verdict.holds
    for q in system.coordinates:
        assert np.max(np.abs(motion[q] - reference[q])) < 1e-9 * (1 + np.max(np.abs(reference[q])))
    if not system.bilateral:
        for q, pi in found.momenta.items():
            assert np.max(np.abs(motion[pi] - reference[q.momentum])) < 1e-8 * (
                1 + np.max(np.abs(reference[q.momentum]))
            )


@pytest.mark.parametrize(
    "name", ["kepler", "spherical", "liouville", "two oscillators", "common clock"]
)
def test_the_constants_are_integrals_of_motion(name: str) -> None:
    found, system = method(name), system_of(name)
    assert found.integral is not None
    at = np.linspace(0.0, MOTIONS[name][1], 4)
    motion = da.simulate(
        system, start_of(name), (0.0, at[-1]), parameters=values_of(name), at=at, rtol=1e-12
    )
    rows = []
    for place in range(len(at)):
        named = values_of(name) | {symbol: float(motion[symbol][place]) for symbol in motion.names}
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
    symbols = (
        {s for e in integral.motion.values() for s in e.free_symbols}
        | set(integral.constants)
        | set(system.parameters)
    )
    named = {s.name: float(random.uniform(0.5, 1.5)) for s in symbols} | {
        "E": 25.0,
        "beta_E": -1.0,
        "t": 0.4,
    }
    places = {
        q.name: float(v)
        for q, v in zip(system.coordinates, evaluated(integral.motion.values(), named), strict=True)
    }
    speeds = evaluated([sympy.diff(integral.motion[q], da.t) for q in system.coordinates], named)
    sign = np.sign(speeds[-1]) if name not in ("free",) else 1
    momenta = {
        found.momenta[q].name: float(evaluated([s.expression(int(sign))], named | places)[0])
        for q, s in zip(system.coordinates, integral.derivatives[1:], strict=True)
    }
    rates = evaluated(
        [found.canonical_equations[q] for q in system.coordinates], named | places | momenta
    )
    assert rates == pytest.approx(speeds, rel=1e-9)
    for relation in integral.relations if sign > 0 else ():
        at = {s: named.get(s.name, places.get(s.name)) for s in relation.lhs.free_symbols}
        assert float(relation.lhs.evalf(20, subs=at)) == pytest.approx(
            named[relation.rhs.name], rel=1e-9
        )


def test_appells_motion_in_symbols_is_the_known_one() -> None:
    """Heading constant, w = w0 - g a t / (1 + a^2), q3_dot = a w."""
    found = method("appell")
    q1, q2, q3 = found.system.coordinates
    motion = found.integral.motion
    a, gravity, _ = found.system.parameters
    assert sympy.simplify(sympy.diff(motion[q3], da.t, 2) + a**2 * gravity / (1 + a**2)) == 0
    alpha1, alpha2, _ = found.integral.constants
    assert (
        sympy.simplify(
            sympy.diff(motion[q1], da.t) * alpha2 - sympy.diff(motion[q2], da.t) * alpha1
        )
        == 0
    )
    w2 = sympy.diff(motion[q1], da.t) ** 2 + sympy.diff(motion[q2], da.t) ** 2
    assert sympy.simplify(a**2 * w2 - sympy.diff(motion[q3], da.t) ** 2) == 0


PENDULUM = [
    ("rotating", {"theta": 0.1, "theta_dot": 7.0}, 1e-9),
    ("rotating backwards", {"theta": 0.1, "theta_dot": -7.0}, 1e-9),
    ("below the separatrix", {"theta": 0.0, "theta_dot": 2 * 9.81**0.5 - 1e-3}, 1e-8),
    ("above the separatrix", {"theta": 0.0, "theta_dot": 2 * 9.81**0.5 + 1e-3}, 1e-8),
    ("from rest", {"theta": 1.0}, 1e-9),
]


@pytest.mark.parametrize(
    ("start", "limit"), [case[1:] for case in PENDULUM], ids=[case[0] for case in PENDULUM]
)
@pytest.mark.parametrize("last", [5.0, -5.0], ids=["forwards", "backwards"])
def test_turning_points_of_all_kinds(start: dict[str, float], limit: float, last: float) -> None:
    at = np.linspace(0.0, last, 15)
    values = values_of("pendulum")
    motion = method("pendulum").motion(at, start, values)
    reference = da.simulate(
        SYSTEMS["pendulum"], start, (0.0, last), parameters=values, at=at, rtol=1e-13
    )
    assert np.max(np.abs(motion["theta"] - reference["theta"])) < limit
    assert len(motion.turns["theta"]) == (
        0 if abs(start.get("theta_dot", 0.0)) > 2 * 9.81**0.5 else 2
    )


@pytest.mark.parametrize(
    ("start", "limit"),
    [({"r": 1.0, "phi_dot": 1.0}, 1e-9), ({"r": 1.0, "phi_dot": 2.0, "r_dot": -1.0}, 1e-9)],
    ids=["from an apsis", "unbound"],
)
def test_orbits(start: dict[str, float], limit: float) -> None:
    at = np.linspace(0.0, 6.0, 13)
    motion = method("kepler").motion(at, start, values_of("kepler"))
    reference = da.simulate(
        SYSTEMS["kepler"], start, (0.0, 6.0), parameters=values_of("kepler"), at=at, rtol=1e-13
    )
    assert max(np.max(np.abs(motion[q] - reference[q])) for q in ("r", "phi")) < limit


def test_an_equilibrium_of_a_separated_coordinate_is_refused() -> None:
    circular = {"r": 1.0, "phi_dot": (VALUES["k"] / VALUES["m"]) ** 0.5}
    with pytest.raises(RunError, match="equilibrium"):
        method("kepler").motion([0.0, 1.0], circular, values_of("kepler"))


# -- separation ------------------------------------------------------------------------------------


def test_an_equation_that_does_not_separate_says_so() -> None:
    henon = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x**2 + y**2) / 2 + x**2 * y - y**3 / 3
    )
    found = da.variational.hamilton_jacobi(henon)
    assert found.integral is None
    assert "Levi-Civita's conditions fail" in found.reason
    with pytest.raises(RunError, match="no complete integral"):
        found.motion([0.0, 1.0], {"x": 0.1})


def test_what_is_separable_without_our_rules_finding_it_says_that() -> None:
    quartic = da.System([x], hamiltonian=x.momentum**4 + x.momentum + x**2)
    found = da.variational.hamilton_jacobi(quartic)
    assert found.integral is None
    assert "could not be solved for the momentum of x" in found.reason


def test_damping_by_time_does_not_separate_in_these_coordinates() -> None:
    found = da.variational.hamilton_jacobi(
        da.System([x], lagrangian=exp(da.t) * (m / 2 * x.dot**2 - k / 2 * x**2))
    )
    assert found.integral is None
    assert "x, t" in found.reason


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([x.dot**2 + y.dot**2 - 1, z.dot**2 + w.dot**2 - 2], "under one constraint.*not under sev"),
        ([x.dot**4 + y.dot**4 + z.dot**3 + w.dot**3 - 1], "of degree two in a velocity"),
        ([x.dot**3 + y.dot - z.dot], "do not follow from the variational momenta"),
    ],
)
def test_without_a_closed_hamiltonian_the_form_with_the_same_motion_is_named(rows, what) -> None:
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2 + w.dot**2) / 2
    constraints = [da.velocity(row, name=f"f{k}") for k, row in enumerate(rows)]
    system = da.System([x, y, z, w], kinetic=kinetic, potential=z, constraints=constraints)
    with pytest.raises(FormError, match=what) as error:
        da.variational.hamilton_jacobi(system)
    assert error.value.seen and "vakonomic" in error.value.remedy
    assert da.derive(system, "vakonomic").compile()
