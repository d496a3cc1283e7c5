"""Degenerate Lagrangians of the literature: constraints, classes, gauge and motions, against
computations by hand and SciPy.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.dirac import bergmann
from dalembert.errors import ModelError
from dalembert.geometry.surfaces import Surface, eliminate

x, y, z, w = da.coordinates("x y z w")
p_x, p_y, p_z, p_w = (q.momentum for q in (x, y, z, w))
m, g = da.parameters("m g", positive=True)


def stated(lagrangian: sympy.Expr, *coordinates: sympy.Symbol) -> da.System:
    return da.System(coordinates, lagrangian=lagrangian)


def count(found: object) -> tuple[int, int, int]:
    """Constraints, first class, second class."""
    return len(found.constraints), len(found.first_class), len(found.second_class)


def same(one: sympy.Expr, other: sympy.Expr) -> bool:
    return sympy.simplify(sympy.expand(one - other)) == 0


CASES = [
    # L, coordinates, (constraints, first class, second class), gauge, degrees of freedom
    ((x.dot - y) ** 2 / 2, (x, y), (2, 2, 0), ("y",), 0),
    (x.dot**2 / 2 + y * x, (x, y), (4, 0, 4), (), 0),
    (y * x.dot - x * y.dot - (x**2 + y**2) / 2, (x, y), (2, 0, 2), (), 1),
    (x.dot * z.dot + y * z**2 / 2, (x, y, z), (3, 3, 0), ("y",), 0),
    (((x.dot - y * z) ** 2 + (y.dot + x * z) ** 2) / 2, (x, y, z), (2, 2, 0), ("z",), 1),
    ((x.dot + y.dot) ** 2 / 2 - (x - y) ** 2 / 2 - y**2 / 2, (x, y), (2, 0, 2), (), 1),
    ((x.dot + y.dot) ** 2 / 2, (x, y), (1, 1, 0), ("y",), 1),
    ((cos(z) * x.dot + sin(z) * y.dot) ** 2 / 2, (x, y, z), (2, 0, 2), (), 2),
]


@pytest.mark.parametrize(("lagrangian", "coordinates", "counts", "gauge", "freedom"), CASES)
def test_classes_and_gauge(lagrangian, coordinates, counts, gauge, freedom) -> None:
    found = bergmann(stated(lagrangian, *coordinates))
    assert (count(found), found.gauge, found.degrees_of_freedom) == (counts, gauge, freedom)
    assert found.verdict.is_proved


def test_first_class_constraints_commute_with_all_on_the_surface() -> None:
    """Two oscillators that a multiplier ties, and a cyclic sum: both classes occur."""
    lagrangian = (x.dot - y.dot - w) ** 2 / 2 + z.dot**2 / 2 - z**2 / 2
    found = bergmann(stated(lagrangian, x, y, z, w))
    assert found.first_class
    for one in found.first_class:
        for c in found.constraints:
            assert found.surface.vanish(found.bracket(one, c.expression)).is_proved


def test_cawleys_constraint_is_irregular() -> None:
    """z^2 = 0 is the constraint z = 0, whose square has no gradient there; z and p_x are first
    class and do not move x, z: Dirac's conjecture fails, and only y is undetermined.
    """
    found = bergmann(stated(x.dot * z.dot + y * z**2 / 2, x, y, z))
    assert [c.is_irregular for c in found.constraints] == [False, True, False]
    assert found.undetermined == ("y",)
    assert [str(c.expression) for c in found.constraints] == ["p_y", "z", "p_x"]
    assert "irregular" in str(found)


def test_the_dirac_bracket_of_first_order_lagrangians() -> None:
    """L = y x' - x y' - H: C = {phi_1, phi_2} = -2, so that {x, y}_D = 1/2."""
    found = bergmann(stated(y * x.dot - x * y.dot - (x**2 + y**2) / 2, x, y))
    assert found.dirac_bracket(x, y) == sympy.Rational(1, 2)
    assert found.multipliers == {"x": y / 2, "y": -x / 2}
    assert all(found.dirac_bracket(p_x, chi) == 0 for chi in found.second_class)


def test_a_particle_on_a_sphere_by_a_multiplier() -> None:
    """{q_i, p_j}_D = delta_ij - q_i q_j / |q|^2 and {p_i, p_j}_D = (p_i q_j - p_j q_i) / |q|^2."""
    sphere = da.holonomic(x**2 + y**2 + z**2 - 1, name="sphere")
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    found = bergmann(
        da.System([x, y, z], kinetic=kinetic, potential=g * z, constraints=[sphere], name="ball")
    )
    assert count(found) == (4, 0, 4) and found.degrees_of_freedom == 2
    square = x**2 + y**2 + z**2
    assert same(found.dirac_bracket(x, p_y), -x * y / square)
    assert same(found.dirac_bracket(x, p_x), 1 - x**2 / square)
    assert same(found.dirac_bracket(p_x, p_y), (p_x * y - p_y * x) / square)
    start = {"x": 0.6, "z": -0.8, "y": 0.0, "p_y": 0.7, "p_x": 0.4, "p_z": 0.3}
    motion = da.simulate(found.flow(), start, (0, 3), parameters={"g": 9.81}, rtol=1e-12)

    def field(_: float, s: np.ndarray) -> np.ndarray:
        q, v = s[:3], s[3:]
        pull = np.array([0.0, 0.0, -9.81])
        return np.concatenate([v, pull - (pull @ q + v @ v) / (q @ q) * q])

    begin = [0.6, 0.0, -0.8, 0.4, 0.7, 0.3]
    end = solve_ivp(field, (0, 3), begin, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    names = ("x", "y", "z", "p_x", "p_y", "p_z")
    assert np.allclose([motion[n][-1] for n in names], end, atol=1e-9)
    tension = (9.81 * motion["z"] - np.sum([motion[n] ** 2 for n in names[3:]], axis=0)) / 2
    assert np.allclose(motion["lambda_sphere"], tension, atol=1e-9)


def test_the_christ_lee_model_moves_its_radius_alone() -> None:
    """Gauges turn the plane; r = sqrt(x^2 + y^2) obeys r'' = -r^3 in each of them."""
    lagrangian = ((x.dot - y * z) ** 2 + (y.dot + x * z) ** 2) / 2 - (x**2 + y**2) ** 2 / 4
    found = bergmann(stated(lagrangian, x, y, z))
    assert found.undetermined == ("z",)
    assert found.is_observable(x**2 + y**2).is_proved and found.is_observable(x).is_refuted
    start, flow = {"x": 1.0, "p_x": 0.3, "z": 0.4, "y": 0.0, "p_y": 0.0}, found.flow()
    radial = solve_ivp(
        lambda _, s: [s[1], -(s[0] ** 3)], (0, 2), [1.0, 0.3], "DOP853", rtol=1e-12, atol=1e-13
    )
    for u in (sympy.Integer(0), 3 * sin(da.t)):
        motion = da.simulate(flow, start, (0, 2), inputs={"u_z": u}, rtol=1e-12)
        square = motion["x"][-1] ** 2 + motion["y"][-1] ** 2
        assert abs(square - radial.y[0, -1] ** 2) < 1e-9
    fixed = found.gauge_fixed(y)
    assert not fixed.gauge and not fixed.first_class
    motion = da.simulate(fixed.flow(), {"x": 1.0, "p_x": 0.3}, (0, 2), rtol=1e-12)
    assert abs(motion["x"][-1] - radial.y[0, -1]) < 1e-9


def test_an_arbitrary_multiplier_must_be_given() -> None:
    flow = bergmann(stated((x.dot - y) ** 2 / 2, x, y)).flow()
    assert [s.name for s in flow.inputs] == ["u_y"]
    with pytest.raises(ModelError, match="leave a multiplier arbitrary"):
        bergmann(stated((x.dot - y) ** 2 / 2, x, y)).gauge_fixed(p_x)


def test_the_relativistic_particle() -> None:
    """H_c = 0 and p^2 = m^2; in the gauge x = t the particle moves with p_y / sqrt(m^2 + p_y^2)."""
    system = stated(-m * sympy.sqrt(x.dot**2 - y.dot**2), x, y)
    found = bergmann(system, primary=[p_x**2 - p_y**2 - m**2])
    assert found.hamiltonian == 0 and found.gauge == ("1",)
    assert found.undetermined == ("x", "y") and found.degrees_of_freedom == 1
    fixed = found.gauge_fixed(x - da.t)
    start = {"x": 0.0, "y": 0.2, "p_y": 0.75, "p_x": -1.25}
    motion = da.simulate(fixed.flow(), start, (0, 2), parameters={"m": 1.0}, rtol=1e-12)
    assert abs(motion["y"][-1] - (0.2 - 2 * 0.75 / -1.25)) < 1e-10
    with pytest.raises(ModelError, match="does not hold for p = L_v"):
        bergmann(system, primary=[p_x**2 - p_y**2 - 2 * m**2])
    with pytest.raises(ModelError, match="closed form"):
        bergmann(system)


def test_a_singular_oscillator() -> None:
    """p = x' + y': p' = -(x - y) and 2 x = 3 y, so that (x + y)'' = -(x + y) / 5."""
    found = bergmann(stated((x.dot + y.dot) ** 2 / 2 - (x - y) ** 2 / 2 - y**2 / 2, x, y))
    motion = da.simulate(found.flow(), {"y": 0.4, "p_x": 0.1}, (0, 7), rtol=1e-12)
    rate, s = np.sqrt(0.2), 2.5 * 0.4
    exact = s * np.cos(rate * motion.t) + 0.1 / rate * np.sin(rate * motion.t)
    assert np.allclose(motion["x"] + motion["y"], exact, atol=1e-9)
    assert np.allclose(motion["velocity_y"], motion["y_dot"], atol=1e-12)


def test_a_constraint_that_depends_on_time() -> None:
    """A multiplier holds x = sin(t): y' is free, p_x = cos(t), and the force is -sin(t)."""
    lagrangian = x.dot**2 / 2 + y.dot**2 / 2 - y**2 / 2 + z * (x - sin(da.t))
    found = bergmann(stated(lagrangian, x, y, z))
    assert count(found) == (4, 0, 4)
    motion = da.simulate(found.flow(), {"y": 1.0, "p_y": 0.0}, (0, 2), rtol=1e-12)
    assert np.allclose(motion["x"], np.sin(motion.t), atol=1e-10)
    assert np.allclose(motion["p_x"], np.cos(motion.t), atol=1e-10)
    assert np.allclose(motion["z"], -np.sin(motion.t), atol=1e-10)
    assert np.allclose(motion["y"], np.cos(motion.t), atol=1e-10)


def test_contradictions_and_branches_are_errors() -> None:
    with pytest.raises(ModelError, match="contradict each other"):
        bergmann(stated(x.dot + y, x, y))
    product = stated(x.dot**2 / 2 + z * x * y, x, y, z)
    with pytest.raises(ModelError, match="either branch"):
        bergmann(product)
    with pytest.raises(ModelError, match="Only holonomic"):
        bergmann(stated(x.dot**2 / 2, x).replacing(constraints=[da.velocity(x.dot - x)]))
    with pytest.raises(ModelError, match="Lagrangian alone"):
        bergmann(stated(x.dot**2 / 2, x).replacing(forces={x: -x.dot}))


def test_factors_that_are_not_zero_choose_a_branch() -> None:
    found = bergmann(stated(x.dot**2 / 2 + z * x * y, x, y, z), nonzero=[x])
    assert {str(c.expression) for c in found.constraints} == {"p_y", "p_z", "y", "z"}
    assert found.multipliers == {"y": 0, "z": 0}
    assert not found.gauge and found.degrees_of_freedom == 1


def test_a_regular_lagrangian_has_no_constraints() -> None:
    found = bergmann(stated(x.dot**2 / 2 - x**4, x))
    assert count(found) == (0, 0, 0) and same(found.hamiltonian, p_x**2 / 2 + x**4)


def test_total_and_extended_hamiltonians() -> None:
    found = bergmann(stated((x.dot - y) ** 2 / 2, x, y))
    u, w1, w2 = da.inputs("u_y w1 w2")
    assert same(found.total_hamiltonian, p_x**2 / 2 + y * p_x + u * p_y)
    assert same(found.extended_hamiltonian, p_x**2 / 2 + y * p_x + w1 * p_y + w2 * p_x)


def test_a_hamiltonian_with_primary_constraints() -> None:
    """H = p_x^2 / 2 + x^2 / 2 with p_y = x: one more constraint, both of the second class."""
    system = da.System([x, y], hamiltonian=p_x**2 / 2 + x**2 / 2)
    found = bergmann(system, primary=[p_y - x])
    assert count(found) == (2, 0, 2) and found.multipliers == {"1": x}
    with pytest.raises(ModelError, match="contradict"):
        bergmann(da.System([x], hamiltonian=x), primary=[p_x])


# -- elimination on a surface ----------------------------------------------------------------------


def test_rank_is_decided_on_the_surface() -> None:
    """x^2 + y^2 - 1 vanishes on the circle and nowhere else is it zero identically."""
    circle = Surface((x, y)).with_relation(x**2 + y**2 - 1)
    matrix = [[x, -y], [x**2 + y**2 - 1, 0], [y, x]]
    found = eliminate(circle, matrix, [[1], [0], [0]])
    assert sorted(found.pivots) == [0, 1] and found.conditions == {1: [0]}
    assert found.verdict.is_proved
    values = {j: value[0] for j, (value, _) in found.values.items()}
    assert circle.vanish(values[0] - x).is_proved and circle.vanish(values[1] + y).is_proved


def test_what_cannot_be_solved_is_not_called_proved() -> None:
    """x + cos(x) = 0 has no closed solution: points of the surface refute, and prove nothing."""
    surface = Surface((x, y)).with_relation(x + cos(x))
    assert surface.unsolved
    assert surface.vanish(x - 1).is_refuted
    held = surface.vanish(x**2 - cos(x) ** 2)
    assert held.status == "not established" and held.holds_to_rounding
