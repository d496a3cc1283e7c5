"""Case II of Douglas, and completed conditions, beside power series of g about a point."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.linalg import null_space

import dalembert as da
from dalembert.analysis.variational.douglas import douglas
from dalembert.analysis.variational.helmholtz_conditions import SecondOrder
from dalembert.analysis.variational.multiplier_completion import by_completion

x, y = da.coordinates("x y")
v, w, t = x.dot, y.dot, da.t
SPACE = (x, y, v, w, t)
POINT = dict(zip(SPACE, map(sympy.Rational, ("1/2", "2/3", "3/4", "5/4", "1/3")), strict=True))
PLACES = [(0, 0), (0, 1), (1, 1)]


def taylor(entry: sympy.Expr) -> dict[tuple[int, ...], float]:
    """Coefficients of a polynomial about the point."""
    moved = sympy.sympify(entry).subs({s: s + c for s, c in POINT.items()}, simultaneous=True)
    return {m: float(c) for m, c in sympy.Poly(sympy.expand(moved), *SPACE).terms()}


def metrics_at_the_point(forces: list[sympy.Expr], order: int) -> np.ndarray:
    """(g_11, g_12, g_22) at the point, of power series that obey the conditions to an order."""
    F = sympy.Matrix(forces)
    N = -F.jacobian([v, w]) / 2
    gamma = [v, w, *F, sympy.S.One]

    def rate(entry: sympy.Expr) -> sympy.Expr:
        return sum(sympy.diff(entry, s) * r for s, r in zip(SPACE, gamma, strict=True))

    Phi = -F.jacobian([x, y]) - N * N - N.applyfunc(rate)
    # rows of terms: (coefficient, which g, derivative by which symbol or None)
    rows: list[list[tuple[Any, int, int | None]]] = []
    rows.append([(Phi[0, 1], 0, None), (Phi[1, 1] - Phi[0, 0], 1, None), (-Phi[1, 0], 2, None)])
    for k, (i, j) in enumerate(PLACES):
        terms: list[tuple[Any, int, int | None]] = [(gamma[s], k, s) for s in range(5)]
        for m in range(2):
            terms += [(-N[m, j], PLACES.index((min(i, m), max(i, m))), None)]
            terms += [(-N[m, i], PLACES.index((min(j, m), max(j, m))), None)]
        rows.append(terms)
    rows += [[(1, 0, 3), (-1, 1, 2)], [(1, 1, 3), (-1, 2, 2)]]
    powers = [m for m in product(range(order + 1), repeat=5) if sum(m) <= order]
    place = {m: k for k, m in enumerate(powers)}
    matrix = np.zeros((len(rows), len(powers), 3 * len(powers)))
    for r, terms in enumerate(rows):
        for coefficient, which, by in terms:
            series = taylor(coefficient)
            for column, m in enumerate(powers):
                factor = 1 if by is None else m[by]
                low = tuple(e - (s == by) for s, e in enumerate(m))
                for shift, value in series.items():
                    made = place.get(tuple(a + b for a, b in zip(low, shift, strict=True)))
                    if factor and made is not None:
                        matrix[r, made, which * len(powers) + column] += factor * value
    known = np.array([sum(m) < order for m in powers])  # derivatives lose an order
    equations = matrix[:, known].reshape(-1, 3 * len(powers))
    equations /= np.maximum(np.abs(equations).max(axis=1, keepdims=True), 1e-300)
    left = null_space(equations, rcond=1e-10)[[0, len(powers), 2 * len(powers)]]
    u, size, _ = np.linalg.svd(left, full_matrices=False)
    return np.array(u[:, size > 1e-7].T)


def some_are_regular(metrics: np.ndarray) -> bool:
    weights = np.random.default_rng(0).normal(size=(20, len(metrics)))
    return any(abs(a * c - b * b) > 1e-6 for a, b, c in weights @ metrics)


def asked(forces: list[sympy.Expr]) -> Any:
    found = douglas(SecondOrder((), (x, y)), forces)
    assert found.case == "II" and found.rank.value == found.rank.at_most == 1
    return found.existence


def has_the_motions_of(lagrangian: sympy.Expr, forces: list[sympy.Expr]) -> bool:
    """Whether a regular Lagrangian has Euler's equations a = F."""
    rates = dict(zip(SPACE, [v, w, *forces, 1], strict=True))
    gaps = []
    for q in (x, y):
        p = sympy.diff(lagrangian, q.dot)
        along = sum(sympy.diff(p, s) * rate for s, rate in rates.items())
        gaps.append(sympy.simplify(along - sympy.diff(lagrangian, q)))
    return gaps == [0, 0] and sympy.simplify(sympy.hessian(lagrangian, (v, w)).det()) != 0


def mixed(forces: list[sympy.Expr]) -> list[sympy.Expr]:
    """The same motions in other coordinates: x = X + 2 Y, y = Y - X + X^2 / 3."""
    X, Y, V, W = sympy.symbols("X Y V W")
    old = [X + 2 * Y, Y - X + X**2 / 3]
    speeds = [V + 2 * W, W - V + 2 * X * V / 3]
    values = dict(zip((x, y, v, w), [*old, *speeds], strict=True))
    force = sympy.Matrix([sympy.sympify(f).subs(values, simultaneous=True) for f in forces])
    force -= sympy.Matrix([0, 2 * V**2 / 3])
    solved = sympy.Matrix(old).jacobian([X, Y]).LUsolve(force)
    back = {X: x, Y: y, V: v, W: w}
    return [sympy.factor(entry.subs(back)) for entry in solved]


ZERO = sympy.S.Zero
SEPARATED = {
    "damped oscillators": [-x - v, -3 * y - 2 * w],
    "nonlinear, time": [-(x**3) - t * v**2, w**3 - y],
    "complex eigenvalues": [-2 * y, 2 * x],
    "complex, turning": [-(v**2) + w**2 - x, -2 * v * w - y],
    "oscillator in y": [-(w**2) * x, ZERO],
    "damping in y": [-v * w, ZERO],
    "both in y": [-v * w - w**2 * x, ZERO],
}


@pytest.mark.parametrize("forces", SEPARATED.values(), ids=SEPARATED)
def test_separated_equations_have_multipliers_as_power_series_do(forces: Any) -> None:
    found = asked(forces)
    assert found.is_proved and "IIa1" in found.grounds
    metrics = metrics_at_the_point(forces, 4)
    assert len(metrics) == 2 and some_are_regular(metrics)


@pytest.mark.parametrize("name", ["damped oscillators", "oscillator in y"])
def test_the_case_is_the_same_in_other_coordinates(name: str) -> None:
    assert asked(mixed(SEPARATED[name])).is_proved


@pytest.mark.parametrize(
    ("forces", "lagrangian"),
    [
        (SEPARATED["oscillator in y"], v**2 / w / 2 - x**2 * w / 2 + w**2 / 2),
        (SEPARATED["damping in y"], sympy.exp(y) * v**2 / w / 2 + w**2 / 2),
    ],
    ids=["oscillator in y", "damping in y"],
)
def test_two_have_a_lagrangian_that_is_known(forces: Any, lagrangian: sympy.Expr) -> None:
    """x as a function of y has the Lagrangian l(x, dx/dy, y); then L = w l(x, v/w, y) + w^2/2."""
    assert has_the_motions_of(lagrangian, forces)
    assert asked(forces).is_proved


COMPLETED = {
    "x_ddot = -x y_dot": ([-w * x, ZERO], "IIa2", "1 arbitrary function of 2 variables"),
    "turned by y": ([-x - v * w, ZERO], "IIa2", "1 arbitrary function of 2 variables"),
    "force by the speed": ([v, y - v**2], "IIa2", "1 arbitrary function of 2 variables"),
    "double": ([2 * v**2 * w, ZERO], "IIb", "2 arbitrary functions of 2 variables"),
    "double, accelerated": ([w**3 / 2, sympy.Rational(1, 2)], "IIb", "2 arbitrary functions of 2"),
}


@pytest.mark.parametrize(("forces", "name", "freedom"), COMPLETED.values(), ids=COMPLETED)
def test_other_cases_are_decided_as_power_series_do(forces: Any, name: str, freedom: str) -> None:
    found = asked(forces)
    assert found.is_proved and f"case {name} " in found.grounds and freedom in found.grounds
    assert some_are_regular(metrics_at_the_point(forces, 3))


def test_a_semi_separated_system_has_its_lagrangian() -> None:
    """L = (v^2 - w x^2) / (2 sqrt(w)) + w^2 / 2: Euler's equations by SymPy."""
    lagrangian = (v**2 - w * x**2) / (2 * sympy.sqrt(w)) + w**2 / 2
    assert has_the_motions_of(lagrangian, [-w * x, ZERO])
    assert asked([-w * x, ZERO]).is_proved


def test_what_is_not_decided_says_why() -> None:
    found = asked([sympy.sqrt(1 + x**2) * w, ZERO])
    assert found.status == "not established" and "IIa2" in found.grounds
    assert "not completed with the function sqrt(x**2 + 1)" in found.grounds


@pytest.mark.parametrize(
    ("forces", "exists"),
    [
        ([x**2 + y**2, ZERO], False),
        ([y + v * w, ZERO], False),
        ([y, -x * w], True),
        ([-2 * x * y, -(x**2)], True),
        ([ZERO, ZERO], True),
    ],
)
def test_the_completion_decides_the_other_cases_as_the_algebra_does(forces: Any, exists: bool):
    frame = SecondOrder((), (x, y))
    assert douglas(frame, forces).existence.is_proved == exists
    completed = by_completion(frame, forces, "")
    assert (completed.is_proved, completed.is_refuted) == (exists, not exists)


def existence_in_three(*forces: sympy.Expr) -> Any:
    z = da.coordinates("z")
    rows = [
        q.ddot - sympy.sympify(force).subs(sympy.Symbol("z"), z)
        for q, force in zip((x, y, z), forces, strict=True)
    ]
    return da.variational.helmholtz(rows, [x, y, z]).existence


def test_three_degrees_of_freedom_without_a_multiplier() -> None:
    z = sympy.Symbol("z")
    assert existence_in_three(y**2, z**2, ZERO).is_refuted
    assert existence_in_three(x**2 + y**2, ZERO, ZERO).is_refuted


@pytest.mark.long
def test_three_degrees_of_freedom_with_one() -> None:
    """The semi-separated system above with an oscillator beside it has the sum of Lagrangians."""
    found = existence_in_three(-w * x, ZERO, -sympy.Symbol("z"))
    assert found.is_proved and "2 arbitrary functions of 2 variables" in found.grounds


def test_power_series_refute_what_the_third_case_refutes() -> None:
    """That the reference can fail: Douglas's own example leaves no regular g."""
    assert not some_are_regular(metrics_at_the_point([x**2 + y**2, ZERO], 4))
