"""The bound of a particle in a potential: closed forms, proofs of the hypothesis, and what has no
bound.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import quad, solve_ivp

import dalembert as da
from dalembert.errors import FormError, ModelError

x, y, z = da.coordinates("x y z")
START = {"x": 0.4, "y": -0.3, "x_dot": 0.5, "y_dot": 0.2}


@pytest.mark.parametrize("b", [0.0, 0.3, 2.0])
def test_the_radius_solves_its_equation(b):
    bound = da.analysis.existence_bound(2 * (x**2 + y**2) + sympy.cos(x), -1.0, b, START, mass=1.5)
    times = np.linspace(0, 2, 9)
    reference = solve_ivp(
        lambda t, r: [r[1], 2 * b * r[0]],
        (0, 2),
        [bound.distance, bound.speed],
        t_eval=times,
        rtol=1e-11,
        atol=1e-12,
    )
    assert bound.radius(times) == pytest.approx(reference.y[0], rel=1e-9)
    assert bound.largest_speed(times) == pytest.approx(reference.y[1], rel=1e-9)
    assert bound.radius(-times) == pytest.approx(bound.radius(times))
    for radius in (0.6, 1.7):
        integral, _ = quad(
            lambda u: 1 / np.sqrt(2 * (bound.beta - bound.a + b * u**2)), bound.distance, radius
        )
        assert float(bound.time_to(radius)) == pytest.approx(integral, rel=1e-8)
    assert bound.time_to(bound.radius(times)) == pytest.approx(times, abs=1e-12)
    assert float(bound.time_to(0.0)) == 0.0


def test_beta_is_the_energy_by_mass():
    bound = da.analysis.existence_bound(x**2, 0.0, 0.0, {"x": 1.0, "x_dot": 2.0}, mass=4.0)
    assert bound.beta == pytest.approx((4.0 * 2.0**2 / 2 + 1.0) / 4.0)
    with_momentum = da.analysis.existence_bound(x**2, 0.0, 0.0, {"x": 1.0, "p_x": 8.0}, mass=4.0)
    assert with_momentum.beta == pytest.approx(bound.beta)


def test_motions_stay_within_and_reach_the_bound():
    scenario = da.gallery.load("particle-in-potential")
    for b, a in ((0.1, 0.0), (0.4, -0.2)):
        bound = da.analysis.existence_bound(scenario, a, b)
        motion = da.simulate(scenario, span=(0, 8), rtol=1e-11)
        assert bound.time == np.inf
        assert np.all(motion["radius"] <= bound.radius(motion.t) + 1e-10)
        speed = np.hypot(motion["x_dot"], motion["y_dot"])
        assert np.all(speed <= np.sqrt(2 * (bound.beta - a + b * motion["radius"] ** 2)) + 1e-10)
    steep = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=-(x**2 + y**2))
    start = {"x": 0.3, "y": 0.4, "x_dot": 0.6, "y_dot": 0.8}
    motion = da.simulate(steep, start=start, span=(0, 3), rtol=1e-12)
    assert np.hypot(motion["x"], motion["y"]) == pytest.approx(
        da.analysis.existence_bound(steep, 0.0, 1.0, start).radius(motion.t), rel=1e-9
    )


# -- the hypothesis --------------------------------------------------------------------------------

PROVED = {
    "one symbol": (x**4 - 3 * x**2, -3.0, 0.0, "one symbol"),
    "touching": (x**4 / 4 - x**2, -1.0, 0.0, "one symbol"),
    "even powers": (x**4 * y**2 + z**2, 0.0, 0.0, "even powers"),
    "quadratic": (-(x**2) - 2 * x * y - z**2 / 2 + x, -1.0, 2.0, "quadratic"),
    "constant": (x * 0 + 1 - x**2, 0.5, 1.0, "constant"),
}


@pytest.mark.parametrize("name", PROVED)
def test_polynomials_are_proved_everywhere(name):
    potential, a, b, by = PROVED[name]
    bound = da.analysis.existence_bound(potential, a, b, mass=1.0)
    assert bound.hypothesis.holds and by in bound.hypothesis.by and bound.time == np.inf
    random = np.random.default_rng(1)
    symbols = sorted(potential.atoms(da.Coordinate), key=str)
    for point in random.uniform(-4, 4, (60, len(symbols))):
        value = float(potential.subs(dict(zip(symbols, point, strict=True))))
        assert value >= a - b * point @ point - 1e-9


@pytest.mark.parametrize("slack", [0.05, 0.0])
def test_other_potentials_are_proved_as_far_as_the_motion_can_come(slack):
    potential = sympy.cos(2 * x) * sympy.exp(-(y**2)) - x**2 / 2
    bound = da.analysis.existence_bound(potential, -1.0 - slack, 0.5, START, mass=1.0, until=2.0)
    assert bound.hypothesis.holds and bound.time == 2.0
    assert bound.hypothesis.radius == pytest.approx(float(bound.radius(2.0)))
    motion = da.simulate(
        da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=potential),
        start=START,
        span=(0, 2),
        rtol=1e-11,
    )
    assert np.all(np.hypot(motion["x"], motion["y"]) <= bound.radius(motion.t) + 1e-9)


@pytest.mark.parametrize(
    ("potential", "a", "b"),
    [
        (-(x**4), -1.0, 5.0),
        (-(x**2) - 2 * x * y, 0.0, 0.5),
        (sympy.sin(x) * sympy.exp(y), -0.5, 0.01),
    ],
    ids=["quartic", "saddle", "waves"],
)
def test_a_counterexample_is_one(potential, a, b):
    start = {"x": 0.1, "x_dot": 1.0} | ({"y_dot": 1.0} if potential.has(y) else {})
    bound = da.analysis.existence_bound(potential, a, b, start, mass=1.0, until=4.0)
    assert bound.hypothesis.holds is False and bound.time == 0.0
    point = bound.hypothesis.counterexample
    value = float(potential.subs({q: point[q.name] for q in potential.atoms(da.Coordinate)}))
    assert value < a - b * sum(c**2 for c in point.values())


@pytest.mark.parametrize("b", [1.0, 100.0])
def test_the_blow_up_has_no_bound_and_ends(b):
    scenario = da.gallery.load("blow-up")
    bound = da.analysis.existence_bound(scenario, -b, b)
    assert bound.hypothesis.holds is False
    motion = da.simulate(scenario)
    assert motion.outcome.value == "blew up" and motion.t[-1] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.long
def test_a_proof_that_takes_too_long_is_not_claimed():
    tangled = (
        sum(sympy.sin(k * x) * sympy.cos(k * y + z) for k in range(1, 4))
        + sympy.sin(x * y * z) ** 2
    )
    bound = da.analysis.existence_bound(tangled, -2.6, 0.0, {"x_dot": 30.0}, mass=1.0, until=20.0)
    assert bound.hypothesis.holds is None and bound.time == 0.0


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: da.analysis.existence_bound(x**2, 0.0, -1.0, mass=1.0), ModelError, "b >= 0"),
        (lambda: da.analysis.existence_bound(x**2, 0.0, 1.0), ModelError, "mass"),
        (lambda: da.analysis.existence_bound(x**2, 0.0, 1.0, mass=-1.0), ModelError, "mass > 0"),
        (
            lambda: da.analysis.existence_bound(x**2, 0.0, 0.0, mass=1.0, until=-1.0),
            ModelError,
            "positive",
        ),
        (
            lambda: da.analysis.existence_bound(
                x**2, 0.0, 0.0, {"x_dot": 1.0, "p_x": 2.0}, mass=1.0
            ),
            ModelError,
            "velocity twice",
        ),
        (
            lambda: da.analysis.existence_bound(
                x**2 * da.t, 0.0, 0.0, mass=1.0, parameters={"t": 1.0}
            ),
            FormError,
            "conservation",
        ),
        (
            lambda: da.analysis.existence_bound(-(x**2), 1.0, 0.0, {"x": 1.0}, mass=1.0),
            ModelError,
            "start breaks",
        ),
        (
            lambda: da.analysis.existence_bound(x**2, 0.0, 0.0, {"w": 1.0}, mass=1.0),
            ModelError,
            "does not have",
        ),
        (
            lambda: da.analysis.existence_bound(da.parameters("k") * x**2, 0.0, 0.0, mass=1.0),
            ModelError,
            "no value",
        ),
        (
            lambda: da.analysis.existence_bound(da.gallery.load("rolling-disk"), 0.0, 0.0),
            FormError,
            "free particle",
        ),
        (
            lambda: da.analysis.existence_bound(da.gallery.load("two-planar-bodies"), 0.0, 0.0),
            FormError,
            "Cartesian",
        ),
    ],
)
def test_wrong_calls_are_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()
