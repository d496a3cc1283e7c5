"""`helmholtz`: the conditions against self-adjointness and Vainberg's integral, Lagrangians against
the equations they give.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Rational, cos, exp, log, sin, sqrt
from sympy.calculus.euler import euler_equations
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert.analysis.hamilton_jacobi.primitives import primitive
from dalembert.errors import ModelError

x, y, z, r, theta = da.coordinates("x y z r theta")
m, c, k, b = da.parameters("m c k b", positive=True)
t = da.t
CLOCK = sympy.Symbol("tau", real=True)


def curve(coordinates: Any) -> dict[Any, Any]:
    """Symbols of coordinates, velocities, accelerations and time as functions of one clock."""
    table: dict[Any, Any] = {t: CLOCK}
    for q in coordinates:
        path = sympy.Function(q.name)(CLOCK)
        table |= {q: path, q.dot: path.diff(CLOCK), q.ddot: path.diff(CLOCK, 2)}
    return table


def euler(lagrangian: Any, coordinates: Any) -> list[Any]:
    """d/dt L_v - L_q by SymPy's own road, in our symbols."""
    table = curve(coordinates)
    back = {
        value: key
        for key, value in sorted(table.items(), key=lambda pair: -sympy.count_ops(pair[1]))
    }
    paths = [table[q] for q in coordinates]
    found = euler_equations(lagrangian.xreplace(table), paths, [CLOCK])
    rows = {}
    for path, equation in zip(paths, found, strict=True):
        expression = -(equation.lhs - equation.rhs)
        for derivative in sorted(
            expression.atoms(sympy.Derivative), key=lambda d: -d.derivative_count
        ):
            expression = expression.xreplace({derivative: back[derivative]})
        rows[path] = expression.xreplace(back)
    return [rows[path] for path in paths]


def same(first: Any, second: Any, seed: int = 1) -> bool:
    """Whether lists of expressions agree at random points, by SymPy's numbers."""
    symbols = sorted({s for e in (*first, *second) for s in e.free_symbols}, key=str)
    functions = [sympy.lambdify(symbols, list(side), "numpy") for side in (first, second)]
    random = np.random.default_rng(seed)
    for _ in range(4):
        point = random.uniform(0.3, 0.9, len(symbols))
        left, right = (np.array(function(*point), dtype=float) for function in functions)
        if np.max(np.abs(left - right)) > 1e-9 * (1 + np.max(np.abs(left))):
            return False
    return True


def random_lagrangian(n: int, seed: int) -> tuple[Any, list[Any]]:
    """A polynomial in the velocities with sinusoids and powers of the coordinates and time before
    them.
    """
    random = np.random.default_rng(seed)
    coordinates = [x, y, z][:n]

    def number() -> Any:
        return Rational(
            int(random.integers(1, 9)) * (1 if random.integers(2) else -1),
            int(random.integers(2, 5)),
        )

    def coefficient() -> Any:
        first, second = (coordinates[int(random.integers(n))] for _ in range(2))
        return [
            number(),
            first**2 + t,
            sin(first + second),
            first * second,
            exp(first / 2),
            cos(second) * t,
        ][int(random.integers(6))]

    total = sum(q.dot**2 * Rational(int(random.integers(2, 6)), 2) for q in coordinates)
    for _ in range(3):
        i, j = (int(random.integers(n)) for _ in range(2))
        total += number() * coefficient() * coordinates[i].dot * coordinates[j].dot
    total += (
        number() * coordinates[int(random.integers(n))].dot ** 4
        + coefficient() * coordinates[int(random.integers(n))].dot
    )
    return total + coefficient() + number() * coefficient(), coordinates


CASES = [(n, seed) for n in (1, 2, 3) for seed in range(4)]


@pytest.mark.long
@pytest.mark.parametrize(("n", "seed"), CASES)
def test_euler_equations_pass_and_give_their_lagrangian_back(n: int, seed: int) -> None:
    lagrangian, coordinates = random_lagrangian(n, seed)
    rows = euler(lagrangian, coordinates)
    found = da.variational.helmholtz(rows, coordinates)
    assert found.is_lagrangian, found.text()
    assert all(condition.by == "symbolically" for condition in found.conditions)
    assert found.multiplier == sympy.eye(n)
    assert found.lagrangian is not None, found.note
    assert not found.lagrangian.has(*(q.ddot for q in coordinates))
    assert same(euler(found.lagrangian, coordinates), rows)


#: What is added to the equations of the first two coordinates, and the families that must then
#: fail.
PERTURBATIONS = {
    "damping": (x.dot, 0, {2}),
    "nonlinear drag": (x.dot**3, 0, {2}),
    "circulatory": (y, 0, {3}),
    "both circulatory": (y, -x, {3}),
    "inertia on one side": (y.ddot, 0, {1, 2}),
    "velocity on one side": (y.dot, 0, {2}),
    "field on one side": (x * y.dot, 0, {2, 3}),
    "inertia that varies": (x * x.ddot, 0, {2}),
    "square of an acceleration": (x.ddot**2, 0, {2}),
    "gyroscopic": (y.dot, -x.dot, set()),
    "potential": (2 * x * y, x**2, set()),
    "field that varies": (y * y.dot * x, -y * x.dot * x, set()),
    "mass that varies": (x * x.ddot + x.dot**2 / 2, 0, set()),
    "driving": (sin(t), cos(t) * t, set()),
}


@pytest.mark.parametrize("name", PERTURBATIONS)
@pytest.mark.parametrize("seed", range(2))
def test_perturbations_break_the_families_they_must(name: str, seed: int) -> None:
    lagrangian, coordinates = random_lagrangian(2, seed)
    first, second, families = PERTURBATIONS[name]
    rows = euler(lagrangian, coordinates)
    found = da.variational.helmholtz(
        [rows[0] + Rational(2, 3) * first, rows[1] + Rational(2, 3) * second],
        coordinates,
        search=False,
    )
    failing = {condition.family for condition in found.conditions if not condition.holds}
    # An inertia on one side may also show in the other families, through its d/dt.
    assert failing == families or (name == "inertia on one side" and 1 in failing)
    assert found.is_lagrangian is (not families)
    assert (found.lagrangian is not None) is (not families)


def test_a_gyroscopic_part_that_is_not_closed_fails_in_the_third_family() -> None:
    rows = [x.ddot + z * y.dot, y.ddot - z * x.dot, z.ddot]
    found = da.variational.helmholtz(rows, [x, y, z], search=False)
    assert {condition.family for condition in found.conditions if not condition.holds} == {3}
    closed = da.variational.helmholtz(
        [x.ddot + z * y.dot - y * z.dot, y.ddot - z * x.dot, z.ddot + y * x.dot],
        [x, y, z],
        search=False,
    )
    assert not closed.is_lagrangian  # d(z dx^dy - y dx^dz) = 2 dx^dy^dz
    exact = da.variational.helmholtz(
        [x.ddot + z * y.dot + y * z.dot, y.ddot - z * x.dot, z.ddot - y * x.dot], [x, y, z]
    )
    assert exact.is_lagrangian and exact.lagrangian is not None


EXAMPLES = {
    "oscillator": ([x.ddot + x], [x]),
    "damped": ([x.ddot + x.dot + x], [x]),
    "driven mass": ([(1 + t**2) * x.ddot + 2 * t * x.dot + x**3], [x]),
    "magnetic": ([x.ddot - y.dot * x, y.ddot + x.dot * x + y], [x, y]),
    "circulatory": ([x.ddot + y, y.ddot - x], [x, y]),
    "coupled": ([2 * x.ddot + y.ddot + x * y, x.ddot + y.ddot + x**2 / 2], [x, y]),
    "one-sided": ([x.ddot + y.ddot, y.ddot + x], [x, y]),
    "quadratic drag": ([x.ddot + x.dot**2], [x]),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_conditions_say_that_the_linearised_equations_are_their_own_adjoint(name: str) -> None:
    """int (u . D w - w . D u) dt = 0 for variations u, w that vanish at the ends, along any
    curve.
    """
    rows, coordinates = EXAMPLES[name]
    paths = {x: CLOCK**3 / 3 + CLOCK, y: 2 - CLOCK**2}
    table: dict[Any, Any] = {t: CLOCK}
    for q in coordinates:
        table |= {q: paths[q], q.dot: paths[q].diff(CLOCK), q.ddot: paths[q].diff(CLOCK, 2)}
    bump = CLOCK**3 * (1 - CLOCK) ** 3
    first = {q: bump * (1 + CLOCK) ** k for k, q in enumerate(coordinates, start=1)}
    second = {q: bump * (2 - k * CLOCK + CLOCK**2) for k, q in enumerate(coordinates, start=1)}

    def linearised(variation: dict[Any, Any]) -> list[Any]:
        found = []
        for row in rows:
            value = sympy.S.Zero
            for q in coordinates:
                for order, symbol in enumerate((q, q.dot, q.ddot)):
                    value += row.diff(symbol).xreplace(table) * sympy.diff(
                        variation[q], CLOCK, order
                    )
            found.append(value)
        return found

    integrand = sum(
        first[q] * a - second[q] * b
        for q, a, b in zip(coordinates, linearised(second), linearised(first), strict=True)
    )
    bracket = sympy.integrate(sympy.expand(integrand), (CLOCK, 0, 1))
    assert (bracket == 0) is da.variational.helmholtz(rows, coordinates, search=False).is_lagrangian


@pytest.mark.parametrize("name", EXAMPLES)
def test_vainbergs_integral_has_these_equations_just_where_the_conditions_hold(name: str) -> None:
    """L2 = -int_0^1 q . R(s q, s v, s a, t) ds, with accelerations, is an independent
    implementation of the first-order Lagrangian.
    """
    rows, coordinates = EXAMPLES[name]
    s = sympy.Symbol("s")
    symbols = [symbol for q in coordinates for symbol in (q, q.dot, q.ddot)]
    shrunk = sum(
        q * row.xreplace({symbol: s * symbol for symbol in symbols})
        for q, row in zip(coordinates, rows, strict=True)
    )
    tonti = -sympy.integrate(sympy.expand(shrunk), (s, 0, 1))
    found = da.variational.helmholtz(rows, coordinates, search=False)
    assert same(euler(tonti, coordinates), rows) is found.is_lagrangian
    if found.lagrangian is not None:
        assert same(euler(found.lagrangian, coordinates), rows)


# -- multipliers -----------------------------------------------------------------------------------

#: Equations that fail as they stand, and a multiplier that is known where it is one number.
MULTIPLIED: dict[str, tuple[Any, Any, Any]] = {
    "damped oscillator": ([m * x.ddot + c * x.dot + k * x], [x], exp(c * t / m)),
    "damped pendulum": ([x.ddot + c * x.dot + k * sin(x)], [x], exp(c * t)),
    "quadratic drag": ([x.ddot + c * x.dot**2 + k * x], [x], exp(2 * c * x)),
    "cubic drag": ([x.ddot + c * x.dot**3], [x], x.dot**-3),
    "Lane and Emden": ([x.ddot + 2 / t * x.dot + x**3], [x], t**2),
    "velocity and place": ([x.ddot - (1 + x.dot**2) * cos(x)], [x], None),
    "two dampings": ([x.ddot + c * x.dot + x, y.ddot + b * y.dot + y], [x, y], None),
    "proportional damping": (
        [m * x.ddot + c * x.dot + k * (x - y), 2 * m * y.ddot + 2 * c * y.dot + k * (y - x)],
        [x, y],
        None,
    ),
    "polar, divided": (
        [r.ddot - r * theta.dot**2 + k / r**2, theta.ddot + 2 * r.dot * theta.dot / r],
        [r, theta],
        None,
    ),
    "solved for the accelerations": ([x.ddot + 2 * x + y, y.ddot + 3 * x + y], [x, y], None),
    "with symbols": ([x.ddot + k * x + b * y, y.ddot + c * x + k * y], [x, y], None),
}


@pytest.mark.parametrize("name", MULTIPLIED)
def test_multipliers_are_found_and_give_a_lagrangian(name: str) -> None:
    rows, coordinates, known = MULTIPLIED[name]
    found = da.variational.helmholtz(rows, coordinates)
    assert not found.is_lagrangian
    assert found.multiplier is not None, found.text()
    assert found.lagrangian is not None, found.note
    multiplied = list(found.multiplier * sympy.Matrix(rows))
    assert same(euler(found.lagrangian, coordinates), multiplied)
    assert da.variational.helmholtz(multiplied, coordinates, search=False).is_lagrangian
    assert not same([found.multiplier.det()], [sympy.S.Zero])
    if known is not None:
        assert sympy.simplify(found.multiplier[0] - known) == 0
        assert da.variational.helmholtz(
            rows, coordinates, multiplier=known, search=False
        ).is_lagrangian


@pytest.mark.parametrize("seed", range(4))
def test_a_constant_mixture_of_euler_equations_is_undone(seed: int) -> None:
    random = np.random.default_rng(seed)
    coordinates = [x, y, z][: 2 + seed % 2]
    n = len(coordinates)
    stiffness = random.integers(-3, 4, (n, n))
    mass = np.diag(random.integers(1, 5, n))
    q, v = sympy.Matrix(coordinates), sympy.Matrix([symbol.dot for symbol in coordinates])
    lagrangian = (v.T * sympy.Matrix(mass) * v - q.T * sympy.Matrix(stiffness + stiffness.T) * q)[
        0
    ] / 2
    mixture = sympy.Matrix(random.integers(-2, 3, (n, n)) + 5 * np.eye(n, dtype=int))
    mixed = list(mixture * sympy.Matrix(euler(lagrangian, coordinates)))
    found = da.variational.helmholtz(mixed, coordinates)
    assert not found.is_lagrangian
    assert found.multiplier is not None and found.lagrangian is not None, found.text()
    assert same(euler(found.lagrangian, coordinates), list(found.multiplier * sympy.Matrix(mixed)))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([x.ddot - c * (1 - x**2) * x.dot + x], "always has a multiplier"),
        ([x.ddot**3 + x], "affinely"),
    ],
    ids=["van der Pol", "cubic in the acceleration"],
)
def test_what_was_not_found_is_said(rows: Any, words: str) -> None:
    found = da.variational.helmholtz(rows, [x])
    assert found.multiplier is None and found.lagrangian is None
    assert words in found.note


def test_two_degrees_of_freedom_without_a_simple_multiplier() -> None:
    found = da.variational.helmholtz([x.ddot + y, y.ddot - x + y + x.dot], [x, y])
    assert not found.is_lagrangian and found.multiplier is None
    assert found.existence.is_refuted and "there is no multiplier" in found.note
    assert (
        da.variational.helmholtz([x.ddot + x.dot], [x], search=False).note
        == "no multiplier was looked for"
    )


def test_the_lagrangian_of_a_damped_system_moves_like_the_system() -> None:
    """End to end: a System with Rayleigh's dissipation, and one made of the Lagrangian that was
    found for it.
    """
    damped = da.System(
        [x], kinetic=m / 2 * x.dot**2, potential=-k * cos(x), dissipation=c / 2 * x.dot**2
    )
    found = da.variational.helmholtz(damped)
    assert found.lagrangian is not None and not found.is_lagrangian
    twin = da.System([x], lagrangian=found.lagrangian)
    values = {"m": 1.3, "k": 2.0, "c": 0.7}
    runs = [
        da.simulate(
            s, {x: 0.4, x.dot: 1.0}, (0, 6), parameters=values, at=np.linspace(0, 6, 13), rtol=1e-12
        )
        for s in (damped, twin)
    ]
    assert np.max(np.abs(runs[0]["x"] - runs[1]["x"])) < 1e-9
    assert np.ptp(runs[0].energy) > 0.1


# -- primitives ------------------------------------------------------------------------------------

PRIMITIVES = {
    "wave packet": x**3 * exp(-k * x) * cos(b * x + c),
    "products of sinusoids": exp(x) * sin(2 * x) * cos(x),
    "power of a sum": (x + k) ** 4 * sin(x) ** 2,
    "inner derivative": sin(x) * exp(k * cos(x)),
    "fraction": k / x + 1 / (x**2 + b**2),
    "root": x * sqrt(1 + x**2),
    "logarithm": x * log(x) ** 2,
    "symbol as exponent": x**k,
}


@pytest.mark.parametrize("expression", PRIMITIVES.values(), ids=PRIMITIVES)
def test_primitives_have_the_right_derivative(expression: Any) -> None:
    found = primitive(expression, x)
    assert found is not None
    assert same([sympy.diff(found, x)], [expression])


@pytest.mark.parametrize(
    "expression", [sin(x) / log(2 + x**2), exp(sin(x)), x / (x**5 + x + 1)], ids=str
)
def test_what_has_no_primitive_by_these_rules_is_none(expression: Any) -> None:
    assert primitive(expression, x) is None


# -- what may be given -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "elastic-pendulum",
        "particle-in-potential",
        pytest.param("two-planar-bodies", marks=pytest.mark.long),
    ],
)
def test_a_system_gives_its_lagrangian_back(name: str) -> None:
    system = da.gallery.load(name).system
    found = da.variational.helmholtz(system)
    assert found.is_lagrangian and found.lagrangian is not None
    rows = euler(system.lagrangian, system.coordinates)
    assert same(euler(found.lagrangian, system.coordinates), rows)
    assert da.variational.helmholtz(da.derive(system, "lagrange")).is_lagrangian
    assert found.name == system.name


@pytest.mark.long
def test_large_equations_are_decided_and_said_to_be_too_large() -> None:
    n = 6
    coordinates = da.coordinates(f"q1:{n + 1}")
    parts = []
    for j in range(1, n + 1):
        place = [sum(f(q) for q in coordinates[:j]) for f in (sin, cos)]
        parts.append(da.particle(1, place))
    chain = da.System(coordinates, parts=parts, potential=sum(cos(q) for q in coordinates))
    found = da.variational.helmholtz(chain)
    assert found.is_lagrangian and found.lagrangian is None
    assert {condition.by for condition in found.conditions} == {"symbolically"}
    assert "too large" in found.note
    pushed = da.variational.helmholtz(
        chain.replacing(forces={coordinates[0]: coordinates[1] / 100})
    )
    assert {condition.pair for condition in pushed.conditions if not condition.holds} == {
        ("q1", "q2")
    }


def test_sympys_dynamic_symbols_and_equations_are_read() -> None:
    q = dynamicsymbols("q")
    clock = dynamicsymbols._t
    found = da.variational.helmholtz([sympy.Eq(q.diff(clock, 2), -k * q + sin(clock))], [q])
    assert found.is_lagrangian and found.lagrangian is not None
    own = da.coordinates("q")
    assert same(euler(found.lagrangian, [own]), [own.ddot + k * own - sin(t)])
    assert da.variational.helmholtz(x.ddot + x, x).is_lagrangian


def test_decimal_numbers_are_taken_as_they_are_written() -> None:
    assert da.variational.helmholtz(
        [0.1 * x.ddot + 0.3 * y, 0.2 * y.ddot + 0.3 * x], [x, y]
    ).is_lagrangian
    assert not da.variational.helmholtz(
        [x.ddot + y, y.ddot + (1 + Rational(1, 10**7)) * x], [x, y], search=False
    ).is_lagrangian


def test_regularity_is_about_first_derivatives() -> None:
    """Equations linear in the accelerations have no second derivatives by them, and are regular all
    the same.
    """
    regular = da.variational.helmholtz([2 * x.ddot + y.ddot + x, x.ddot + y.ddot + y], [x, y])
    assert regular.is_regular and "= 1" in regular.regularity
    singular = da.variational.helmholtz([x.ddot + y.ddot + x, x.ddot + y.ddot + y], [x, y])
    assert not singular.is_regular and singular.is_lagrangian


def test_a_kinetic_energy_that_is_not_polynomial() -> None:
    found = da.variational.helmholtz([m * x.ddot / (1 - x.dot**2) ** Rational(3, 2) + k * x], [x])
    assert found.lagrangian is not None
    assert sympy.simplify(found.lagrangian + m * sqrt(1 - x.dot**2) + k * x**2 / 2) == 0


def test_a_force_without_a_potential_in_closed_form_says_so() -> None:
    found = da.variational.helmholtz([x.ddot + sin(x) / log(2 + x**2)], [x])
    assert found.is_lagrangian and found.lagrangian is None
    assert "cannot be integrated" in found.note and "closed form" in found.sentence


WRONG = {
    "constraints": (
        lambda: da.variational.helmholtz(da.gallery.load("appell").system),
        "without constraints",
    ),
    "no coordinates": (lambda: da.variational.helmholtz([x.ddot]), "coordinates are missing"),
    "count": (lambda: da.variational.helmholtz([x.ddot], [x, y]), "one equation for each"),
    "stranger": (lambda: da.variational.helmholtz([x.ddot + y], [x]), "other coordinates"),
    "momentum": (lambda: da.variational.helmholtz([x.ddot + x.momentum], [x]), "other coordinates"),
    "symbol": (lambda: da.variational.helmholtz([x.ddot], [sympy.Symbol("x")]), "coordinates"),
    "twice": (lambda: da.variational.helmholtz([x.ddot, x.ddot], [x, x]), "once"),
    "text": (lambda: da.variational.helmholtz(["x_ddot"], [x]), "text"),
    "function": (
        lambda: da.variational.helmholtz([x.ddot + sympy.Function("f")(x)], [x]),
        "unknown functions",
    ),
    "form": (
        lambda: da.variational.helmholtz(
            da.derive(da.System([x], kinetic=x.dot**2 / 2), "hamilton")
        ),
        "second-order",
    ),
    "matrix": (
        lambda: da.variational.helmholtz([x.ddot], [x], multiplier=sympy.eye(2)),
        "row for each",
    ),
}


@pytest.mark.parametrize(("call", "words"), WRONG.values(), ids=WRONG)
def test_wrong_calls_are_refused(call: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        call()


def test_it_reads_as_text_markdown_html_and_data() -> None:
    for rows in ([x.ddot + x], [x.ddot + x.dot + x], [x.ddot - (1 - x**2) * x.dot + x]):
        found = da.variational.helmholtz(rows, [x])
        data = found.to_json()
        assert json.loads(json.dumps(data)) == data
        assert str(found) == repr(found) == found.text()
        for shown in (found.text(), found._repr_markdown_(), found._repr_html_()):
            assert "Helmholtz" in shown and "Answer" in shown


def test_a_force_beyond_all_samples_leaves_the_conditions_not_established() -> None:
    x, y = da.coordinates("x y")
    found = da.variational.helmholtz([x.ddot + x, y.ddot + y + sympy.Max(x - 1e6, 0) ** 2], [x, y])
    assert not found.is_lagrangian and "not established" in found.sentence
    assert "not established" in found.certificate(3) and found.lagrangian is None


def test_small_coefficients_of_a_force_refute_the_conditions() -> None:
    x, y = da.coordinates("x y")
    found = da.variational.helmholtz([x.ddot + x, y.ddot + y + sympy.Float(1e-12) * x], [x, y])
    assert not found.is_lagrangian
    assert [c.family for c in found.conditions if c.is_refuted] == [3]


def test_regularity_does_not_depend_on_units() -> None:
    x, y = da.coordinates("x y")
    found = da.variational.helmholtz([1e-14 * x.ddot + x, 1e6 * y.ddot + y], [x, y])
    assert found.is_regular and found.is_lagrangian
