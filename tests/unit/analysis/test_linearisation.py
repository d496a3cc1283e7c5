"""Linearised equations on constraints and about steady motions, against closed forms, published
values and the flow itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import mathieu_a
from sympy import Max, cos, sin

import dalembert as da
import whipple_bicycle
from dalembert.analysis.stability.tangent_space import eigenvalues_with_errors
from dalembert.errors import FormError, ModelError, RunError

LENGTHS = np.geomspace(0.013, 170.0, 59)


def rod_pendulum(damping: float = 0.0, rods: int = 1) -> da.System:
    """A bob on a rod in Cartesian coordinates."""
    x, y = da.coordinates("x y")
    length = da.parameters("l", positive=True)
    speed = x.dot**2 + y.dot**2
    constraints = [
        da.holonomic((k + 1) * (x**2 + y**2 - length**2), name=f"rod{k}") for k in range(rods)
    ]
    return da.System(
        [x, y],
        kinetic=speed / 2,
        potential=9.81 * y,
        dissipation=damping * speed / 2,
        constraints=constraints,
    )


def nearest(found: Any, wanted: Any) -> float:
    """The largest distance of a wanted eigenvalue from those found."""
    return float(max(np.min(np.abs(np.asarray(found) - value)) for value in wanted))


# -- holonomic constraints -------------------------------------------------------------------------


@pytest.mark.long
def test_a_pendulum_on_a_rod_has_two_eigenvalues_for_every_length() -> None:
    pendulum, damped = rod_pendulum(), rod_pendulum(damping=0.3)
    for length in LENGTHS:
        at, values, rate = {"y": -length}, {"l": length}, np.sqrt(9.81 / length)
        hanging = da.stability(pendulum, at, values)
        assert hanging.verdict == "stable" and "Lagrange" in hanging.theorem
        assert hanging.linearisation.independent == ("x", "x_dot")
        np.testing.assert_allclose(
            hanging.linearisation.eigenvalues,
            [rate * 1j, -rate * 1j],
            rtol=1e-13,
            atol=1e-13 * rate,
        )
        standing = da.stability(pendulum, {"y": length}, values)
        assert standing.verdict == "unstable"
        np.testing.assert_allclose(standing.linearisation.eigenvalues, [rate, -rate], rtol=1e-13)
        assert da.stability(damped, at, values).verdict == "asymptotically stable"


def test_dependent_constraints_count_once() -> None:
    found = da.stability(rod_pendulum(rods=3), {"y": -2.0}, {"l": 2.0})
    assert (
        nearest(found.linearisation.eigenvalues, [1j * np.sqrt(4.905), -1j * np.sqrt(4.905)])
        < 1e-13
    )
    assert len(found.linearisation.eigenvalues) == 2 and found.verdict == "stable"


def test_a_rank_that_drops_on_the_constraints_alone_is_said_to_be_unproved() -> None:
    """A multiple of a constraint is another one, whose gradient is independent of the others off
    them.
    """
    x, y, z = da.coordinates("x y z")
    rod, plane = x**2 + y**2 - 1, z + x * y
    constraints = [da.holonomic(rod, name="rod"), da.holonomic(plane, name="plane")]
    system = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=4 * y,
        constraints=[*constraints, da.holonomic(rod * (z + 2), name="multiple")],
    )
    found = da.stability(system, {y: -1.0, x: 0.0, z: 0.0})
    assert len(found.linearisation.eigenvalues) == 2 and "rank" in found.linearisation.grounds[0]
    assert found.verdict == "not established" and found.theorem.startswith("Stable if the rank")
    assert "not proved" in str(found.linearisation)
    plain = da.stability(system.replacing(constraints=constraints), {y: -1.0, x: 0.0, z: 0.0})
    assert (
        plain.verdict == "stable"
        and nearest(found.linearisation.eigenvalues, plain.linearisation.eigenvalues) < 1e-12
    )


def test_a_coordinate_that_only_seems_to_occur_is_cyclic() -> None:
    """Velocities in turned axes, not simplified."""
    x, y, phi = da.coordinates("x y phi")
    ahead, across = x.dot * cos(phi) + y.dot * sin(phi), y.dot * cos(phi) - x.dot * sin(phi)
    body = da.System([x, y, phi], kinetic=(ahead**2 + across**2) / 2 + phi.dot**2 / 6)
    found = da.linearise(body, {phi.dot: 2.0, x.dot: 1.0})
    assert found.symmetry == ("x", "y", "phi") and found.steady == {"x": 1.0, "phi": 2.0}


def test_a_point_where_constraints_lose_rank_is_refused() -> None:
    x, y = da.coordinates("x y")
    cross = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[da.holonomic(x * y, name="cross")]
    )
    with pytest.raises(RunError, match="rank"):
        da.linearise(cross)


@pytest.mark.parametrize("seed", range(4))
def test_eigenvalues_are_those_of_the_flow_on_the_constraints(seed: int) -> None:
    """Multipliers of the motion over a short time, by differences between consistent starts."""
    random = np.random.default_rng(seed)
    x, y, z = q = da.coordinates("x y z")
    weights = random.uniform(0.5, 2.0, 3)
    stiff = random.uniform(-1, 1, (3, 3))
    potential = sum((stiff + stiff.T)[i, j] * q[i] * q[j] for i in range(3) for j in range(3)) / 2
    a, b, c = random.uniform(-1, 1, 3)
    system = da.System(
        q,
        kinetic=sum(w * s.dot**2 for w, s in zip(weights, q, strict=True)) / 2,
        potential=potential,
        dissipation=random.uniform(0, 1) * (x.dot - y.dot) ** 2 / 2,
        constraints=[da.holonomic(z - a * x - b * y + c * x * y + x**3, name="surface")],
    )
    found = da.linearise(system)
    names, time, h = found.independent, 0.3, 1e-5
    table = []
    for k in range(4):
        ends = []
        for sign in (1, -1):
            start = dict(zip(found.symbols, sign * h * found.basis[:, k], strict=True))
            motion = da.simulate(system, start, (0, time), rtol=1e-12, atol=1e-14)
            ends.append([motion[name][-1] for name in names])
        table.append((np.array(ends[0]) - np.array(ends[1])) / (2 * h))
    assert nearest(np.linalg.eigvals(np.array(table).T), np.exp(time * found.eigenvalues)) < 1e-7


def unequal_motion(form: str) -> da.Equations:
    """A sleigh with a damped pendulum on it."""
    x, y, phi, th = da.coordinates("x y phi th")
    mass = (x.dot - 0.2 * phi.dot * sin(phi)) ** 2 + (y.dot + 0.2 * phi.dot * cos(phi)) ** 2
    sleigh = da.System(
        [x, y, phi, th],
        kinetic=mass / 2 + phi.dot**2 / 40 + (th.dot + phi.dot) ** 2 / 30,
        potential=-cos(th),
        dissipation=th.dot**2 / 100,
        constraints=[da.velocity(y.dot * cos(phi) - x.dot * sin(phi), name="blade")],
    )
    return da.derive(sleigh, form)


FORMS = [
    "hamilton",
    "maggi",
    "voronets",
    "hamel",
    "hamel-orthonormal",
    "gibbs-appell",
    "kane",
    "poincare-chetaev",
]
FORMS += [
    "canonical-voronets",
    "canonical-quasi",
    "bates-sniatycki",
    "implicit-lagrangian",
    "implicit-hamiltonian",
]


@pytest.mark.parametrize("form", FORMS)
def test_eigenvalues_do_not_depend_on_the_form(form: str) -> None:
    """On a holonomic constraint at rest, and along a steady motion under a constraint on
    velocities.
    """
    wanted = da.linearise(unequal_motion("lagrange"), {"x_dot": 2.0})
    found = da.linearise(unequal_motion(form), {"x_dot": 2.0})
    assert len(found.eigenvalues) == 5 and nearest(found.eigenvalues, wanted.eigenvalues) < 1e-9
    if form != "poincare-chetaev":
        rate = np.sqrt(9.81 / 2)
        pendulum = da.linearise(da.derive(rod_pendulum(), form), {"y": -2.0}, {"l": 2.0})
        assert (
            len(pendulum.eigenvalues) == 2
            and nearest(pendulum.eigenvalues, [rate * 1j, -rate * 1j]) < 1e-12
        )


@pytest.mark.parametrize("seed", range(12))
def test_errors_of_eigenvalues_are_bounds(seed: int) -> None:
    """Matrices with Jordan chains, known exactly, in scaled variables, with entries off by their
    errors.
    """
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 6))
    values = random.integers(-2, 3, n).astype(float)
    values[1] = values[0]
    jordan = np.diag(values) + np.diag((np.diff(values) == 0).astype(float), 1)
    turn = np.eye(n) + np.tril(random.integers(-1, 2, (n, n)), -1)  # its inverse is of integers too
    scale = 2.0 ** random.integers(-20, 20, n)
    matrix = np.rint(turn @ jordan @ np.linalg.inv(turn)) * scale[:, None] / scale[None, :]
    error = 1e-13 * np.abs(matrix)
    found, bounds = eigenvalues_with_errors(matrix + error * random.uniform(-1, 1, (n, n)), error)
    assert all(np.min(np.abs(found - value) - bounds) <= 0 for value in values)
    assert all(
        np.min(np.abs(values - value)) <= bound for value, bound in zip(found, bounds, strict=True)
    )
    assert np.max(bounds) < 1e-1


# -- points ----------------------------------------------------------------------------------------


def test_a_point_off_the_constraints_is_moved_and_reported_or_refused() -> None:
    pendulum = rod_pendulum()
    found = da.linearise(pendulum, {"x": 0.1, "y": -2.0}, {"l": 2.0})
    assert found.moved["x"] == (0.1, 0.0) and "x 0.1 -> 0" in str(found)
    verdict = da.stability(pendulum, {"x": 0.1, "y": -2.0}, {"l": 2.0})
    assert "x 0.1 -> 0" in str(verdict) and verdict.to_json()["moved"]["x"] == [0.1, 0.0]
    with pytest.raises(RunError, match=r"(?s)does not obey the constraints.*rod0"):
        da.linearise(pendulum, {"x": 0.0, "y": -1.9}, {"l": 2.0}, polish=False)
    with pytest.raises(RunError, match="no equilibrium and no steady motion"):
        da.linearise(pendulum, {"x": 2.0, "y": 0.0}, {"l": 2.0}, polish=False)


def test_what_the_constraints_complete_is_reported() -> None:
    found = da.linearise(rod_pendulum(), {"x": 0.0}, {"l": 2.0})
    asked, taken = found.moved["y"]
    assert asked is None and abs(taken) == pytest.approx(2.0) and "not given" in str(found)


def test_feedback_reports_the_moved_point() -> None:
    q, u = da.coordinates("q"), da.inputs("u")
    pendulum = da.System([q], kinetic=q.dot**2 / 2, potential=-cos(q), forces={q: u}, inputs=[u])
    assert "q 3 -> 3.14159" in str(da.control.place_poles(pendulum, [-1, -2], {q: 3.0}))


def test_feedback_on_a_constraint_uses_independent_variables() -> None:
    """The same poles as for the pendulum in its angle, whose gains are those of x / l."""
    u = da.inputs("u")
    pendulum = rod_pendulum()
    x, y = pendulum.coordinates
    driven = pendulum.replacing(forces={x: u}, inputs=[u])
    found = da.control.place_poles(driven, [-1, -2], {y: -2.0}, parameters={"l": 2.0})
    assert set(found.gains["u"]) == {"x", "x_dot"}
    closed = da.linearise(da.control.feedback(driven, found), {y: -2.0}, {"l": 2.0})
    assert nearest(closed.eigenvalues, [-1, -2]) < 1e-9


def test_a_closed_contact_is_refused() -> None:
    x = da.coordinates("x")
    ball = da.System([x], kinetic=x.dot**2 / 2, constraints=[da.unilateral(x, name="wall")])
    assert len(da.linearise(ball, {x: -1.0}).eigenvalues) == 2
    with pytest.raises(RunError, match="wall"):
        da.linearise(ball, {x: 0.0})


# -- steady motions --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bicycle() -> da.System:
    return whipple_bicycle.system()


@pytest.mark.parametrize("speed", range(11))
def test_the_whipple_bicycle_has_its_published_eigenvalues(bicycle: da.System, speed: int) -> None:
    """Table 2 of Meijaard and others (2007), whose entries are off by up to 6e-13 (caster, 7 m/s)
    against 40 digits.
    """
    found = da.linearise(bicycle, {"x_dot": speed}, whipple_bicycle.BENCHMARK, symmetry=())
    assert found.symmetry == ("x", "y", "rear", "front") and len(found.eigenvalues) == 6
    assert set(found.moved) <= {"z", "rear_dot", "front_dot"}
    assert found.point[found.symbols.index("x_dot")] == pytest.approx(speed, rel=1e-14)
    assert nearest(found.eigenvalues, whipple_bicycle.PUBLISHED[speed]) < 1e-12
    exact = whipple_bicycle.derived(speed)
    assert nearest(found.eigenvalues, exact) < 1e-13
    others = sorted(found.eigenvalues, key=lambda value: np.min(np.abs(exact - value)))[4:]
    assert np.max(np.abs(others)) < 1e-9  # heading and speed


@pytest.mark.long
def test_the_bicycle_is_stable_between_the_weave_and_the_capsize_speed(bicycle: da.System) -> None:
    x, y, *_ = bicycle.coordinates
    turn = {"turn": {x: -y, y: x, "psi": 1}}
    verdicts = [
        da.stability(bicycle, {"x_dot": v}, whipple_bicycle.BENCHMARK, symmetry=turn)
        for v in (4.2, 5.0, 6.1)
    ]
    assert [v.verdict for v in verdicts] == ["unstable", "stable", "unstable"]
    assert verdicts[1].neutral == 1 and verdicts[1].linearisation.steady["x"] == pytest.approx(5.0)
    assert "Malkin" in verdicts[1].theorem and not verdicts[1].linearisation.grounds


@pytest.mark.parametrize("ahead", [0.4, -0.4])
def test_the_chaplygin_sleigh_runs_straight_where_its_mass_is_ahead(ahead: float) -> None:
    x, y, phi = da.coordinates("x y phi")
    m, inertia, a = da.parameters("m J a")
    blade = da.velocity(-sin(phi) * x.dot + cos(phi) * y.dot, name="blade")
    mass = (x.dot - a * sin(phi) * phi.dot) ** 2 + (y.dot + a * cos(phi) * phi.dot) ** 2
    sleigh = da.System(
        [x, y, phi], kinetic=m * mass / 2 + inertia * phi.dot**2 / 2, constraints=[blade]
    )
    values, v = {m: 2.0, inertia: 0.3, a: ahead}, 1.7
    turn = {"turn": {x: -y, y: x, phi: 1}}
    found = da.stability(sleigh, {x.dot: v}, values, symmetry=turn)
    decay = -2.0 * ahead * v / (0.3 + 2.0 * ahead**2)
    assert nearest(found.linearisation.eigenvalues, [decay, 0]) < 1e-13
    assert found.verdict == ("stable" if ahead > 0 else "unstable")
    assert not found.linearisation.grounds, "the symmetry is proved"
    # Without the turn the heading stays as a zero eigenvalue, and nothing is claimed that is not
    # proved.
    plain = da.stability(sleigh, {x.dot: v}, values)
    assert plain.verdict == ("not established" if ahead > 0 else "unstable")


@pytest.mark.parametrize("part", [0.9, 1.1])
def test_a_disk_rolls_upright_above_its_critical_speed(part: float) -> None:
    """Contact by a holonomic constraint, rolling by two on velocities; v^2 = g r / 3 for a uniform
    disk.
    """
    x, y, z, psi, tilt, spin = da.coordinates("x y z psi tilt spin")
    m, r, g = 1.3, 0.4, 9.81
    axial, diametral = m * r**2 / 2, m * r**2 / 4
    along, axle = psi.dot * sin(tilt) + spin.dot, psi.dot * cos(tilt)
    kinetic = m * (x.dot**2 + y.dot**2 + z.dot**2) / 2
    kinetic += (diametral * (tilt.dot**2 + axle**2) + axial * along**2) / 2
    contact = da.holonomic(z - r * cos(tilt), name="contact")
    # No slip: the centre moves as omega x (from the contact to the centre).
    ahead, left = (cos(psi), sin(psi)), (-sin(psi), cos(psi))
    forward = x.dot * ahead[0] + y.dot * ahead[1] - r * along
    sideways = x.dot * left[0] + y.dot * left[1] + r * tilt.dot * cos(tilt)
    rolling = [da.velocity(forward, name="forward"), da.velocity(sideways, name="sideways")]
    disk = da.System(
        [x, y, z, psi, tilt, spin],
        kinetic=kinetic,
        potential=m * g * z,
        constraints=[contact, *rolling],
    )
    critical = np.sqrt(g * r / 3)
    found = da.stability(disk, {x.dot: part * critical})
    rate = part * critical / r
    square = (m * g * r * diametral - axial * (axial + m * r**2) * rate**2) / (
        diametral * (diametral + m * r**2)
    )
    root = np.sqrt(complex(square))
    assert nearest(found.linearisation.eigenvalues, [root, -root]) < 1e-11
    assert found.verdict == ("unstable" if part < 1 else "not established")
    assert len(found.linearisation.eigenvalues) == 5


def test_a_conical_pendulum_in_cartesian_coordinates() -> None:
    """A relative equilibrium of rotations, on a holonomic constraint; the eigenvalues are +-i w
    sqrt(1 + 3 cos^2).
    """
    x, y, z = da.coordinates("x y z")
    bob = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=z,
        constraints=[da.holonomic(x**2 + y**2 + z**2 - 1, name="rod")],
    )
    angle = 0.7
    rate = 1 / np.sqrt(np.cos(angle))
    at = {x: np.sin(angle), y: 0.0, z: -np.cos(angle), y.dot: rate * np.sin(angle)}
    found = da.stability(bob, at, symmetry={"turn": {x: -y, y: x}})
    own = 1j * rate * np.sqrt(1 + 3 * np.cos(angle) ** 2)
    assert nearest(found.linearisation.eigenvalues, [own, -own, 0]) < 1e-12
    assert len(found.linearisation.eigenvalues) == 3 and found.linearisation.steady[
        "turn"
    ] == pytest.approx(rate)
    with pytest.raises(RunError, match="symmetry="):
        da.linearise(bob, at, polish=False)
    with pytest.raises(FormError, match="not invariant"):
        da.linearise(bob, at, symmetry={"tumble": {x: -z, z: x}})


def test_routh_proves_the_conical_pendulum_stable_in_its_angles() -> None:
    theta, phi = da.coordinates("theta phi")
    bob = da.System(
        [theta, phi],
        kinetic=(theta.dot**2 + (sin(theta) * phi.dot) ** 2) / 2,
        potential=-cos(theta),
    )
    found = da.stability(bob, {theta: 0.7, phi.dot: 1 / np.sqrt(np.cos(0.7))})
    assert (
        found.verdict == "stable"
        and "Routh" in found.theorem
        and found.linearisation.symmetry == ("phi",)
    )
    assert not found.linearisation.moved


def test_a_steady_motion_that_is_not_exact_is_moved_the_least_and_reported() -> None:
    theta, phi = da.coordinates("theta phi")
    bob = da.System(
        [theta, phi],
        kinetic=(theta.dot**2 + (sin(theta) * phi.dot) ** 2) / 2,
        potential=-cos(theta),
    )
    found = da.linearise(bob, {theta: 0.7, phi.dot: 1.1})
    assert found.moved["theta"][0] == 0.7 and found.moved["phi_dot"][0] == 1.1
    angle, rate = found.moved["theta"][1], found.moved["phi_dot"][1]
    assert (
        rate**2 * np.cos(angle) == pytest.approx(1.0) and abs(angle - 0.7) + abs(rate - 1.1) < 0.1
    )


def test_a_double_zero_of_a_cyclic_coordinate_is_never_called_unstable() -> None:
    x, theta = da.coordinates("x theta")
    big, small, length = da.parameters("M m l", positive=True)
    bob = (x.dot + length * cos(theta) * theta.dot) ** 2 + (length * sin(theta) * theta.dot) ** 2
    cart = da.System(
        [x, theta],
        kinetic=big * x.dot**2 / 2 + small * bob / 2,
        potential=-small * 9.81 * length * cos(theta),
    )
    for scale in LENGTHS[::6]:
        values = {big: 1.7 * scale, small: 0.31, length: 0.77 * scale}
        found = da.stability(cart, {x: 3.0}, values)
        assert found.verdict == "not established" and found.neutral == 2
        modulo = da.stability(cart, {x: 3.0}, values, symmetry=())
        assert modulo.verdict == "stable" and "Routh" in modulo.theorem


# -- time ------------------------------------------------------------------------------------------


def mathieu(damping: float = 0.0) -> da.System:
    x = da.coordinates("x")
    a, b = da.parameters("a b")
    return da.System(
        [x],
        kinetic=x.dot**2 / 2,
        potential=(a - 2 * b * cos(2 * da.t)) * x**2 / 2,
        dissipation=damping * x.dot**2 / 2,
    )


def test_equations_that_depend_on_time_are_not_judged_at_one_instant() -> None:
    for question in (da.linearise, da.stability):
        with pytest.raises(FormError, match=r"(?s)time.*floquet"):
            question(mathieu(), parameters={"a": 1.0, "b": 0.5})
    x = da.coordinates("x")
    moving = da.System(
        [x], kinetic=x.dot**2 / 2, constraints=[da.holonomic(x - sin(da.t), name="driven")]
    )
    with pytest.raises(FormError, match="time"):
        da.linearise(moving)


@pytest.mark.parametrize(("order", "multiplier"), [(0, 1.0), (1, -1.0), (2, 1.0)])
def test_multipliers_of_mathieu_on_the_edges_of_stability(order: int, multiplier: float) -> None:
    found = da.analysis.floquet(
        mathieu(), np.pi, parameters={"a": float(mathieu_a(order, 0.7)), "b": 0.7}
    )
    assert np.trace(found.monodromy) == pytest.approx(2 * multiplier, abs=1e-9)
    assert np.linalg.det(found.monodromy) == pytest.approx(1.0, abs=1e-10)
    assert found.verdict == "not established"


@pytest.mark.long
def test_verdicts_on_mathieu() -> None:
    values = {"a": 1.0, "b": 0.5}
    assert da.analysis.floquet(mathieu(), np.pi, parameters=values).verdict == "unstable"
    assert (
        da.analysis.floquet(mathieu(), np.pi, parameters={"a": 2.0, "b": 0.2}).verdict
        == "not established"
    )
    damped = da.analysis.floquet(mathieu(0.1), np.pi, parameters={"a": 2.0, "b": 0.2})
    assert damped.verdict == "asymptotically stable"
    assert np.prod(damped.multipliers).real == pytest.approx(np.exp(-0.1 * np.pi), rel=1e-9)


@pytest.mark.long
def test_a_forced_motion_is_found_and_its_multipliers_are_those_of_its_exponents() -> None:
    """x'' + 0.4 x' + 2 x = cos(t): one periodic motion, moved to and reported."""
    x = da.coordinates("x")
    forced = da.System(
        [x], kinetic=x.dot**2 / 2, potential=x**2, forces={x: cos(da.t)}, dissipation=0.2 * x.dot**2
    )
    found = da.analysis.floquet(forced, 2 * np.pi)
    response = 1 / (1 + 0.4j)
    assert found.point == pytest.approx([response.real, -response.imag], abs=1e-8)
    assert set(found.moved) == {"x", "x_dot"} and "not given" in str(found)
    wanted = np.exp(2 * np.pi * np.roots([1, 0.4, 2]))
    assert nearest(found.multipliers, wanted) < 1e-9
    with pytest.raises(RunError, match="not periodic"):
        da.analysis.floquet(forced, 2 * np.pi, polish=False)


@pytest.mark.long
def test_multipliers_on_a_constraint_are_as_many_as_it_leaves() -> None:
    """A rod pendulum in a pulsating field is Mathieu's equation."""
    pendulum = rod_pendulum()
    y = pendulum.coordinates[1]
    pulsating = pendulum.replacing(potential=(1.0 + 0.6 * cos(2 * da.t)) * y)
    found = da.analysis.floquet(pulsating, np.pi, {y: -1.0}, {"l": 1.0})
    alone = da.analysis.floquet(mathieu(), np.pi, parameters={"a": 1.0, "b": -0.3})
    assert len(found.multipliers) == 2 and nearest(found.multipliers, alone.multipliers) < 1e-9


def test_a_periodic_motion_that_may_switch_is_not_established() -> None:
    x = da.coordinates("x")
    stopped = mathieu(0.1).replacing(
        potential=(2.0 - 0.4 * cos(2 * da.t)) * x**2 / 2 + Max(x - 3, 0) ** 2
    )
    found = da.analysis.floquet(stopped, np.pi)
    assert found.verdict == "not established" and found.theorem.startswith(
        "Asymptotically stable if"
    )


def test_wrong_periods_are_refused() -> None:
    with pytest.raises(ModelError, match="do not have this period"):
        da.analysis.floquet(mathieu(), 3.0, parameters={"a": 1.0, "b": 0.5})
    with pytest.raises(ModelError, match="positive"):
        da.analysis.floquet(mathieu(), -1.0, parameters={"a": 1.0, "b": 0.5})
    with pytest.raises(FormError, match="do not depend on time"):
        da.analysis.floquet(rod_pendulum(), 1.0, {"y": -1.0}, {"l": 1.0})


@pytest.mark.long
def test_a_bicycle_in_a_steady_turn(bicycle: da.System) -> None:
    """A relative equilibrium that turns: it is kept by the motion, and the flow has the same
    eigenvalues.
    """
    x, y, *_ = bicycle.coordinates
    values = whipple_bicycle.BENCHMARK
    start = {"x_dot": 5.0, "phi": -0.1, "delta": -0.04, "psi_dot": -0.2}
    found = da.linearise(bicycle, start, values, symmetry={"turn": {x: -y, y: x, "psi": 1}})
    assert abs(found.steady["turn"]) > 0.05 and "phi" in found.moved

    def ends(point: Any) -> Any:
        motion = da.simulate(
            bicycle,
            dict(zip(found.symbols, point, strict=True)),
            (0, 0.3),
            parameters=values,
            rtol=1e-12,
        )
        return np.array([motion[name][-1] for name in found.independent])

    places = [found.symbols.index(name) for name in found.independent]
    assert {"x", "y", "psi", "x_dot", "y_dot"}.isdisjoint(
        found.independent
    )  # what is left does not turn
    assert ends(found.point) == pytest.approx(found.point[places], abs=1e-10)
    step = 1e-5
    table = [
        (ends(found.point + step * d) - ends(found.point - step * d)) / (2 * step)
        for d in found.basis.T
    ]
    assert nearest(np.linalg.eigvals(np.array(table).T), np.exp(0.3 * found.eigenvalues)) < 1e-6
