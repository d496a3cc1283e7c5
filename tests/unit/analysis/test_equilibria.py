"""Zeros with proofs, equilibria of systems, and where their number changes."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.analysis.proofs.intervals import IntervalFunction
from dalembert.analysis.proofs.zeros import Zeros, find_zeros, full_turns
from dalembert.analysis.stability.bifurcation import zero_diagram
from dalembert.errors import FormError, ModelError

x, y, z, s = sympy.symbols("x y z s", real=True)


# -- sure bounds -----------------------------------------------------------------------------------

EXPRESSIONS = {
    "polynomial": x**3 * y - 2 * x * y**2 + sympy.Rational(1, 3),
    "waves": sympy.sin(3 * x - y) * sympy.cos(x) + sympy.cos(y) ** 2,
    "quotient": (x + y) / (2 + sympy.sin(x * y)),
    "roots": sympy.sqrt(1 + x**2) - (2 + sympy.cos(y)) ** sympy.Rational(3, 2),
    "growth": sympy.exp(-(x**2)) * sympy.tanh(y) + sympy.log(3 + x) + sympy.Abs(y) * sympy.pi,
    "inverse": 1 / (x - 1) + x**-2,
}


@pytest.mark.parametrize("name", EXPRESSIONS)
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(-2.5, 2.5), min_size=4, max_size=4),
    st.lists(st.floats(0, 1), min_size=2, max_size=2),
)
def test_bounds_hold_at_every_point_of_a_box(name, ends, part):
    """Values in fifty digits never leave the bounds, not even by rounding."""
    function = IntervalFunction([EXPRESSIONS[name]], [x, y])
    low, high = np.minimum(ends[:2], ends[2:]), np.maximum(ends[:2], ends[2:])
    bottom, top = (float(bound[0, 0]) for bound in function(low[None], high[None]))
    point = np.clip(low + np.array(part) * (high - low), low, high)
    exact = {
        symbol: sympy.Rational(*float(c).as_integer_ratio())
        for symbol, c in zip((x, y), point, strict=True)
    }
    value = EXPRESSIONS[name].subs(exact)
    if value.is_finite and value.is_real:
        lowest = sympy.Rational(bottom) if np.isfinite(bottom) else -sympy.oo
        highest = sympy.Rational(top) if np.isfinite(top) else sympy.oo
        assert lowest <= sympy.N(value, 50) <= highest


def test_bounds_are_tight_where_a_symbol_stands_once():
    low, high = IntervalFunction([sympy.sin(x) ** 2], [x])(np.array([[-0.5]]), np.array([[1.0]]))
    assert low[0, 0] == 0 and abs(high[0, 0] - np.sin(1.0) ** 2) < 1e-14
    with pytest.raises(ModelError, match="no bounds"):
        IntervalFunction([sympy.gamma(x)], [x])
    with pytest.raises(ModelError, match="give every parameter"):
        IntervalFunction([x + y], [x])


# -- zeros -----------------------------------------------------------------------------------------


def newton_zeros(equations, symbols, starts: int = 120) -> np.ndarray:
    """Zeros on the torus by Newton's method from many starts: an independent implementation that
    may miss some, but invents none.
    """
    f = sympy.lambdify(symbols, equations, "numpy")
    derivative = sympy.lambdify(symbols, sympy.Matrix(equations).jacobian(symbols), "numpy")
    random = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for start in random.uniform(-np.pi, np.pi, (starts, len(symbols))):
        point = start
        for _ in range(40):
            table = np.array(derivative(*point), dtype=float)
            if abs(np.linalg.det(table)) < 1e-12:
                break
            point = point - np.clip(np.linalg.solve(table, f(*point)), -0.5, 0.5)
        if np.max(np.abs(f(*point))) < 1e-12 and all(
            np.abs(np.exp(1j * point) - np.exp(1j * o)).max() > 1e-5 for o in found
        ):
            found.append(point)
    return np.array(found)


@pytest.mark.parametrize(
    "amplitudes",
    [(1, 1, 0.3), (1, 1, 1), (0.4, 2.0, 0.45), (1.5, -0.7, 0.9), (1, 1, 0.52)],
    ids=str,
)
@pytest.mark.parametrize("phase", [0, 0.7])
def test_critical_points_of_three_sinusoids_on_the_torus(amplitudes, phase):
    a, b, c = amplitudes
    sinusoids = a * sympy.cos(x) + b * sympy.cos(y) + c * sympy.cos(x + y - phase)
    equations = [sympy.diff(sinusoids, x), sympy.diff(sinusoids, y)]
    found = find_zeros(equations, [x, y])
    assert found.complete and len(found) in (4, 6) and found.index == 0
    reference = newton_zeros(equations, (x, y))
    assert len(reference) == len(found)
    for point in reference:
        near = np.abs(np.exp(1j * found.points) - np.exp(1j * point)).max(axis=1)
        assert near.min() < 1e-9
    assert max(zero.radius.max() for zero in found.zeros) < 1e-12
    if phase == 0:
        sides = 1 / np.abs(np.array(amplitudes, dtype=float))
        assert len(found) == (6 if 2 * sides.max() < sides.sum() else 4)


def test_a_flat_triangle_of_amplitudes_is_undecided():
    """1/0.4 = 1/2 + 1/0.5: three critical points have just met."""
    sinusoids = sympy.Rational(2, 5) * sympy.cos(x) + 2 * sympy.cos(y) + sympy.cos(x + y) / 2
    found = find_zeros([sympy.diff(sinusoids, x), sympy.diff(sinusoids, y)], [x, y])
    assert not found.complete and len(found) == 3
    (box,) = found.undecided
    assert np.all(box[0] <= [0, np.pi]) and np.all(box[1] >= [0, np.pi])


def test_signs_are_those_of_the_determinant():
    found = find_zeros([x**2 - 1, y * (x + 2)], [x, y], {x: (-3, 3), "y": (-1, 1)})
    assert [(tuple(np.round(zero.point, 9) + 0.0), zero.sign) for zero in found.zeros] == [
        ((-1.0, 0.0), -1),
        ((1.0, 0.0), 1),
    ]
    assert found.complete and found.index == 0


def test_close_pairs_are_told_apart_and_zeros_at_edges_are_listed():
    found = find_zeros([(x - 0.3) * (x - 0.3 - 1e-5)], [x], {x: (-1, 1)})
    assert (
        found.complete and len(found) == 2 and np.ptp(found.points) == pytest.approx(1e-5, rel=1e-6)
    )
    edges = find_zeros([x**2 - 1], [x], {x: (-1, 1)})
    assert np.allclose(edges.points.ravel(), [-1, 1])
    assert len(find_zeros([x**2 - 1], [x], {x: (-0.99, 0.99)})) == 0


def test_a_double_zero_is_undecided_and_never_called_complete():
    found = find_zeros([x**2], [x], {x: (-1, 1.3)})
    assert not found.complete and len(found) == 0
    (box,) = found.undecided
    assert box[0, 0] <= 0 <= box[1, 0] and box[1, 0] - box[0, 0] < 1e-4
    nothing = find_zeros([sympy.Integer(0)], [x], {x: (-1, 1)}, most_boxes=1000)
    assert not nothing.complete and np.allclose(nothing.undecided[0], [[-1], [1]])
    hidden = find_zeros([x**2 + sympy.Rational(1, 10**12)], [x], {x: (-1, 1)}, smallest=1e-9)
    assert hidden.complete and len(hidden) == 0


def test_parameters_count_as_exact_and_must_be_given():
    k = da.parameters("k")
    found = find_zeros([x**2 - k], [x], {x: (0, 2)}, parameters={"k": 2.0})
    assert abs(found.points[0, 0] - np.sqrt(2)) < 1e-15
    with pytest.raises(ModelError, match="no value"):
        find_zeros([x**2 - k], [x], {x: (0, 2)})


@pytest.mark.parametrize(
    ("equations", "symbols", "within", "says"),
    [
        ([x], [x, y], None, "as many equations"),
        ([x - 1], [x], None, "no angles"),
        ([sympy.cos(x / 2)], [x], None, "no angles"),
        ([x], [x], {x: (1, 1)}, "finite bounds"),
        ([x], [x], {x: (0, np.inf)}, "finite bounds"),
    ],
)
def test_wrong_searches_are_refused(equations, symbols, within, says):
    with pytest.raises(ModelError, match=says):
        find_zeros(equations, symbols, within)


def test_angles_are_recognised():
    assert full_turns([sympy.sin(2 * x - y), sympy.cos(x) ** 2 * y], x)
    assert not full_turns([x * sympy.cos(x)], x) and not full_turns([sympy.sin(sympy.pi * x)], x)


# -- equilibria ------------------------------------------------------------------------------------


def pendulum(**extra) -> da.System:
    theta = da.coordinates("theta")
    m, g, length = da.parameters("m g l", positive=True)
    return da.System(
        [theta],
        kinetic=m * length**2 * theta.dot**2 / 2,
        potential=-m * g * length * sympy.cos(theta),
        name="Pendulum",
        **extra,
    )


VALUES = {"m": 2.0, "g": 9.81, "l": 0.5}


def test_a_pendulum_hangs_and_stands():
    found = da.equilibria(pendulum(), VALUES)
    hanging, standing = found.found
    rate = np.sqrt(9.81 / 0.5)
    assert found.complete and len(found) == 2
    assert hanging.stability == "stable" and hanging.frequencies == pytest.approx([rate])
    assert standing.stability == "unstable" and standing.growth_rate == pytest.approx(rate)
    assert standing.point["theta"] == pytest.approx(np.pi) and standing.radius < 1e-14
    assert "Pendulum" in str(found) and "no others" in str(found)


def test_damping_and_torque():
    theta = da.coordinates("theta")
    damped = pendulum(dissipation=theta.dot**2 / 10, forces={theta: 3.0})
    found = da.equilibria(damped, VALUES)
    assert [e.stability for e in found.found] == ["asymptotically stable", "unstable"]
    assert np.sin(found.found[0].point["theta"]) == pytest.approx(3 / (2 * 9.81 * 0.5))
    assert len(found.stable) == 1
    pushed = da.equilibria(pendulum(forces={theta: 30.0}), VALUES)
    assert pushed.complete and len(pushed) == 0


def test_gyroscopic_forces_may_hold_a_maximum_which_linearisation_does_not_prove():
    """A charge on a hill in a strong field circles it: eigenvalues are imaginary, the energy is not
    definite.
    """
    u, v = da.coordinates("u v")
    b = da.parameters("b")
    field = (u.dot**2 + v.dot**2 + u**2 + v**2) / 2 + b * (u * v.dot - v * u.dot) / 2
    system = da.System([u, v], lagrangian=field)
    within = {u: (-1, 1), v: (-1, 1)}
    (strong,) = da.equilibria(system, {"b": 3.0}, within).found
    assert (
        strong.stability == "not established"
        and strong.growth_rate == 0
        and len(strong.frequencies) == 2
    )
    (weak,) = da.equilibria(system, {"b": 1.0}, within).found
    assert weak.stability == "unstable"


def test_eigenvalues_are_those_of_the_compiled_motion():
    """Rates of the compiled equations near the equilibria of a double pendulum, by differences."""
    first, second = da.coordinates("a b")
    cosine = sympy.cos(first - second)
    kinetic = first.dot**2 + second.dot**2 / 2 + first.dot * second.dot * cosine
    system = da.System(
        [first, second], kinetic=kinetic, potential=-2 * sympy.cos(first) - sympy.cos(second)
    )
    kernel = da.derive(system).compile()
    for e in da.equilibria(system).found:
        state = np.array([e.point["a"], e.point["b"], 0.0, 0.0])
        steps = 1e-6 * np.eye(4)
        table = np.array(
            [
                (kernel.rates(0.0, state + d, []) - kernel.rates(0.0, state - d, [])) / 2e-6
                for d in steps
            ]
        ).T
        reference = np.linalg.eigvals(table)
        assert max(np.min(np.abs(reference - value)) for value in e.eigenvalues) < 1e-7


@pytest.mark.parametrize(
    ("system", "says"),
    [
        (lambda: da.gallery.load("rolling-disk").system, "family of equilibria"),
        (lambda: da.gallery.load("forced-oscillator").system, "driven in time"),
        (
            lambda: da.System([x := da.coordinates("x")], hamiltonian=x.momentum**2 / 2),
            "Lagrangian",
        ),
    ],
)
def test_systems_without_rest_are_refused(system, says):
    with pytest.raises(FormError, match=says):
        da.equilibria(system(), {})


def test_a_pendulum_on_a_rod_hangs_and_stands_in_cartesian_coordinates():
    u, v = da.coordinates("u v")
    length = da.parameters("l", positive=True)
    rod = da.holonomic(u**2 + v**2 - length**2, name="rod")
    bob = da.System(
        [u, v], kinetic=3 * (u.dot**2 + v.dot**2) / 2, potential=3 * 9.81 * v, constraints=[rod]
    )
    found = da.equilibria(bob, {"l": 0.5}, {u: (-1, 1.1), v: (-1.2, 1)})
    standing, hanging = sorted(found.found, key=lambda e: -e.point["v"])
    rate = np.sqrt(9.81 / 0.5)
    assert found.complete and len(found) == 2
    assert hanging.stability == "stable" and hanging.frequencies == pytest.approx([rate])
    assert standing.stability == "unstable" and standing.growth_rate == pytest.approx(rate)
    assert hanging.point["v"] == pytest.approx(-0.5, abs=1e-14) and hanging.radius < 1e-13


@pytest.mark.long
def test_two_bobs_on_rods_have_four_equilibria():
    """The double pendulum in Cartesian coordinates, against the one in its angles."""
    a, b, c, d = q = da.coordinates("a b c d")
    rods = [
        da.holonomic(a**2 + b**2 - 1, name="first"),
        da.holonomic((c - a) ** 2 + (d - b) ** 2 - 1, name="second"),
    ]
    system = da.System(q, kinetic=sum(s.dot**2 for s in q) / 2, potential=b + d, constraints=rods)
    within = {a: (-1.1, 1.2), b: (-1.15, 1.1), c: (-2.1, 2.2), d: (-2.15, 2.1)}
    found = da.equilibria(system, {}, within)
    assert found.complete and len(found) == 4 and len(found.stable) == 1
    first, second = da.coordinates("p q")
    cosine = sympy.cos(first - second)
    angles = da.System(
        [first, second],
        kinetic=first.dot**2 + second.dot**2 / 2 + first.dot * second.dot * cosine,
        potential=-2 * sympy.cos(first) - sympy.cos(second),
    )
    references = da.equilibria(angles).found
    heights = [-np.cos(e.point["p"]) for e in references]
    for e in found.found:
        reference = min(
            (r for r, h in zip(references, heights, strict=True) if abs(h - e.point["b"]) < 1e-6),
            key=lambda r: abs(e.point["d"] - e.point["b"] + np.cos(r.point["q"])),
        )
        assert reference.stability == e.stability
        assert max(np.min(np.abs(reference.eigenvalues - value)) for value in e.eigenvalues) < 1e-10


def test_a_constraint_on_velocities_makes_a_family_of_which_one_coordinate_is_held():
    """A skate on a derivative, whose heading is held by a spring: the blade's reaction balances the
    force across it.
    """
    x, y, phi = da.coordinates("x y phi")
    blade = da.velocity(-sympy.sin(phi) * x.dot + sympy.cos(phi) * y.dot, name="blade")
    skate = da.System(
        [x, y, phi],
        kinetic=(x.dot**2 + y.dot**2 + phi.dot**2) / 2,
        potential=-x + (y - 1) ** 2 / 2 + (phi - 1.2) ** 2 / 2,
        constraints=[blade],
    )
    within = {y: (-1.1, 2.0), phi: (0.7, 2.0)}
    with pytest.raises(FormError, match="family"):
        da.equilibria(skate, {}, {x: (-1, 1), **within})
    found = da.equilibria(skate, {}, within, fixed={x: 0.25})
    (rest,) = found.found
    assert found.complete and rest.point == pytest.approx(
        {"x": 0.25, "y": 1 + 1 / np.tan(1.2), "phi": 1.2}
    )
    assert len(rest.eigenvalues) == 5  # three positions, two velocities


# -- bifurcations ----------------------------------------------------------------------------------


def test_a_fold_is_found_to_rounding():
    """x^3 - 3 x - s has three zeros for |s| < 2."""
    diagram = zero_diagram([x**3 - 3 * x - s], [x], s, [-3, -1, 1, 3], within={x: (-4, 4)})
    assert diagram.counts.tolist() == [1, 3, 3, 1] and diagram.complete
    assert [b.kind for b in diagram.bifurcations] == ["fold", "fold"]
    assert [b.value for b in diagram.bifurcations] == pytest.approx([-2, 2], abs=1e-12)
    assert [float(b.point[0]) for b in diagram.bifurcations] == pytest.approx([1, -1], abs=1e-9)
    assert all(b.bracket[0] <= b.value <= b.bracket[1] for b in diagram.bifurcations)


def test_a_branching_is_told_from_a_fold():
    diagram = zero_diagram([x**3 - s * x], [x], "s", [-1.0, 0.8], within={x: (-2, 2)})
    (change,) = diagram.bifurcations
    assert change.kind == "branching" and abs(change.value) < 1e-10 and change.counts == (1, 3)


@pytest.mark.long
def test_an_imperfect_hoop_has_a_fold_and_a_perfect_one_a_branching():
    theta, w, tilt = da.coordinates("theta"), *da.parameters("w tilt")
    hoop = theta.dot**2 / 2 + sympy.sin(theta) ** 2 * w**2 / 2 + sympy.cos(theta - tilt)
    system = da.System([theta], lagrangian=hoop)
    kinds = {}
    for lean in (0.0, 0.05):
        diagram = da.analysis.bifurcation_diagram(system, w, [0.5, 1.0 + 0.31, 2.0], {"tilt": lean})
        kinds[lean] = [(b.kind, b.value) for b in diagram.bifurcations]
    assert kinds[0.0] == [("branching", pytest.approx(1.0, abs=1e-10))]
    ((kind, value),) = kinds[0.05]
    assert kind == "fold" and value > 1.05


@pytest.mark.parametrize(
    ("values", "name", "says"),
    [([1, 0], "s", "ascending"), ([1], "s", "two values"), ([0, 1], "k", "do not depend")],
)
def test_wrong_diagrams_are_refused(values, name, says):
    with pytest.raises(ModelError, match=says):
        zero_diagram([x**2 - s], [x], name, values, within={x: (-1, 1)})


def test_results_are_plain_records():
    found = find_zeros([sympy.sin(x)], [x])
    assert isinstance(found, Zeros) and found.examined > 0 and found.symbols == (x,)
    assert np.allclose(np.sort(found.points.ravel()), [0, np.pi], atol=1e-14)


@pytest.mark.long
def test_a_bead_on_a_turning_hoop_branches_in_cartesian_coordinates():
    u, v, w = *da.coordinates("u v"), da.parameters("w")
    hoop = da.holonomic(u**2 + v**2 - 1, name="hoop")
    bead = da.System(
        [u, v], lagrangian=(u.dot**2 + v.dot**2 + w**2 * u**2) / 2 - v, constraints=[hoop]
    )
    diagram = da.analysis.bifurcation_diagram(
        bead, w, [0.5, 1.5], within={u: (-1.1, 1.2), v: (-1.3, 1.1)}
    )
    assert diagram.counts.tolist() == [2, 4] and diagram.complete
    (change,) = diagram.bifurcations
    assert change.kind == "branching" and change.value == pytest.approx(1.0, abs=1e-9)
    assert change.point == pytest.approx([0.0, -1.0], abs=1e-6)
