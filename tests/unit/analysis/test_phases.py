"""Geometric and dynamic phases against reconstructions, quadratures and conservation laws; the area
rule against true loops.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FormError, ModelError

TURN = 2 * np.pi
LIGHT = {"m": 6.0, "r": 0.2, "J0": 0.016, "J1": 0.0013}


def plane_of(system: da.System, heading: str = "theta") -> Any:
    q = {c.name: c for c in system.coordinates}
    return da.lie.LieGroup.SE(2).chart((q["x"], q["y"], q[heading]))


def moving_snakeboard() -> da.Motion:
    board = da.gallery.load("snakeboard")
    start = {"psi_dot": 0.7, "phi": 0.5, "phi_dot": 0.2, "p_1": 1.2}
    equations = da.symmetry.reduce(board.system, plane_of(board.system))
    return da.simulate(
        equations, start, (0, 3), parameters=board.parameters, rtol=1e-12, at=[0.0, 1.5, 3.0]
    )


@cache
def robot() -> tuple[da.System, Any]:
    """Two wheels on one axle: A is constant, dA vanishes, and all curvature is -[A, A]."""
    x, y, theta, a, b = da.coordinates("x y theta alpha beta")
    R, w = da.parameters("R w", positive=True)
    constraints = [
        da.velocity(x.dot * cos(theta) + y.dot * sin(theta) - R / 2 * (a.dot + b.dot), name="roll"),
        da.velocity(-x.dot * sin(theta) + y.dot * cos(theta), name="slip"),
        da.velocity(theta.dot - R / (2 * w) * (b.dot - a.dot), name="turn"),
    ]
    kinetic = (x.dot**2 + y.dot**2 + theta.dot**2 + a.dot**2 + b.dot**2) / 2
    system = da.System([x, y, theta, a, b], kinetic=kinetic, constraints=constraints, name="Robot")
    return system, plane_of(system)


@cache
def cat() -> da.System:
    """One angle over two shapes, with momentum: theta_dot = -sin(b) a_dot + p/(2 + cos(a))."""
    theta, a, b = da.coordinates("theta a b")
    kinetic = (2 + cos(a)) * (theta.dot + sin(b) * a.dot) ** 2 / 2 + (a.dot**2 + b.dot**2) / 2
    return da.System([theta, a, b], kinetic=kinetic, potential=a**2 / 2 + b**2, name="Cat")


# -- the two factors -------------------------------------------------------------------------------


def test_the_product_of_the_phases_is_the_reconstruction() -> None:
    motion = moving_snakeboard()
    found, whole = da.symmetry.phases(motion), da.symmetry.reconstruct(motion)
    for name, value in found.total.coordinates.items():
        assert value == pytest.approx(whole[name][-1], abs=1e-10), name
    assert found.residual < 1e-10
    assert np.allclose(
        found.dynamic.matrix @ found.geometric.matrix, found.total.matrix, atol=1e-10
    )
    other_order = found.geometric.matrix @ found.dynamic.matrix
    assert np.abs(other_order - found.total.matrix).max() > 1e-3
    assert np.allclose(
        da.lie.LieGroup.SE(2).exp(found.total.logarithm), found.total.matrix, atol=1e-12
    )


def test_accelerations_of_the_factors_are_the_derivatives_of_their_velocities() -> None:
    motion = da.symmetry.phases(moving_snakeboard()).motion
    size = 1e-3
    times = 1.5 + size * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    near = da.simulate(
        motion.equations, dict(zip((s.name for s in motion.equations.state), motion.sol(times[0]),
        strict=True)), (times[0], times[-1]), parameters=motion.parameters, rtol=1e-12, at=times,
    )  # fmt: skip
    for name in (f"{q}_{kind}" for q in ("x", "y", "theta") for kind in ("geometric", "dynamic")):
        v = near[f"{name}_dot"]
        derivative = (4 * (v[3] - v[1]) / size - (v[4] - v[0]) / (2 * size)) / 3
        assert near[f"{name}_ddot"][2] == pytest.approx(derivative, rel=1e-7, abs=1e-8), name


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "heading"),
    [("unicycle-rider", "phi"), ("bicycle", "theta"), ("chaplygin-sleigh", "theta")],
)
def test_factors_of_other_systems(name: str, heading: str) -> None:
    scenario = da.gallery.load(name)
    system, group = scenario.system, plane_of(scenario.system, heading)
    if name == "unicycle-rider":
        psi = next(q for q in system.coordinates if q.name == "psi")
        group = group.frame | {"xi_psi": {psi: 1}}
    options: dict[str, Any] = {"parameters": scenario.parameters, "rtol": 1e-11}
    rebuilt = da.simulate(
        da.symmetry.reduce(system, group, reconstruct=True), scenario.start, (0, 0.0), **options
    )
    equations = da.symmetry.reduce(system, group)
    first = {s.name: rebuilt[s.name][0] for s in equations.state}
    motion = da.simulate(equations, first, (0, 0.5), at=[0.0, 0.5], **options)
    found, whole = da.symmetry.phases(motion), da.symmetry.reconstruct(motion)
    assert found.residual < 1e-10
    assert all(
        value == pytest.approx(whole[q][-1], abs=1e-9)
        for q, value in found.total.coordinates.items()
    )
    assert np.abs(found.total.matrix - np.eye(len(found.total.matrix))).max() > 1e-2


@pytest.mark.long
def test_the_geometric_phase_is_that_of_a_gait_without_momentum() -> None:
    system = da.gallery.load("snakeboard").system
    shape = {"psi": 0.7 * sin(da.t) + 0.2 * da.t, "phi": 0.5 + 0.3 * cos(da.t)}
    options: dict[str, Any] = {"parameters": LIGHT, "rtol": 1e-12}
    with_momentum = da.symmetry.follow_shape(system, plane_of(system), shape)
    alone = da.symmetry.follow_shape(system, plane_of(system), shape, momentum=False)
    found = da.symmetry.phases(da.simulate(with_momentum, {"p_1": 0.01}, (0, 5), **options))
    level = da.simulate(alone, {}, (0, 5), at=[5.0], **options)
    for name, value in found.geometric.coordinates.items():
        assert value == pytest.approx(level[name][-1], abs=1e-11), name
    assert da.symmetry.phases(
        da.simulate(alone, {}, (0, 5), **options)
    ).dynamic.matrix == pytest.approx(np.eye(3), abs=1e-13)
    assert abs(found.dynamic.coordinates["x"]) > 1e-3


def test_phases_of_one_angle_are_two_integrals() -> None:
    """theta = -integral of sin(b) da + p integral of dt/(2 + cos(a)), by quadrature along the
    motion.
    """
    system = cat()
    theta, p = system.coordinates[0], 0.8
    motion = da.simulate(
        da.symmetry.reduce(system, {"w": {theta: 1}}),
        {"a": 0.9, "b_dot": 0.7, "p_1": p},
        (0, 4),
        rtol=1e-12,
    )
    found = da.symmetry.phases(motion)
    places = [symbol.name for symbol in motion.equations.state]

    def state(time: float) -> dict[str, float]:
        return dict(zip(places, np.ravel(motion.sol(time)), strict=True))

    def level(time: float) -> float:
        here = state(time)
        return float(-np.sin(here["b"]) * here["a_dot"])

    geometric = quad(level, 0, 4, epsabs=1e-11, limit=200)[0]
    dynamic = quad(lambda time: p / (2 + np.cos(state(time)["a"])), 0, 4, epsabs=1e-11, limit=200)[
        0
    ]
    assert found.geometric.coordinates["theta"] == pytest.approx(geometric, abs=1e-8)
    assert found.dynamic.coordinates["theta"] == pytest.approx(dynamic, abs=1e-8)
    assert found.total.coordinates["theta"] == pytest.approx(geometric + dynamic, abs=1e-8)
    assert "mechanical connection" in str(found)


def test_a_rigid_body_has_only_a_dynamic_phase() -> None:
    """The total rotation takes the momentum of the body back to where it began, and is that of
    R_dot = R hat(Omega).
    """
    angles = da.coordinates("alpha beta gamma")
    chart = da.lie.LieGroup.SO(3).chart(angles)
    inertia = np.array([1.0, 2.0, 3.5])
    spin = chart.body_velocity()
    body = da.System(
        angles, kinetic=sum(float(j) * w**2 for j, w in zip(inertia, spin, strict=True)) / 2
    )
    first = {"p_1": 0.4, "p_2": 0.9, "p_3": -0.6}
    motion = da.simulate(da.symmetry.reduce(body, chart), first, (0, 1.5), rtol=1e-12)
    found = da.symmetry.phases(motion)
    assert np.array_equal(found.geometric.matrix, np.eye(3)) and found.residual < 1e-11
    momenta = np.array([[motion[name][k] for name in first] for k in (0, -1)])
    assert np.allclose(found.total.matrix @ momenta[1], momenta[0], atol=1e-9)

    def turning(_: float, y: Any) -> Any:
        omega = y[:3] / inertia
        hat = np.array(
            [[0, -omega[2], omega[1]], [omega[2], 0, -omega[0]], [-omega[1], omega[0], 0]]
        )
        return np.concatenate([np.cross(y[:3], omega), (y[3:].reshape(3, 3) @ hat).ravel()])

    reference = solve_ivp(
        turning, (0, 1.5), [*first.values(), *np.eye(3).ravel()], rtol=1e-11, atol=1e-12
    )
    assert np.allclose(found.total.matrix, reference.y[3:, -1].reshape(3, 3), atol=1e-8)


@pytest.mark.long
def test_a_centre_inside_the_brackets_is_said() -> None:
    x, y, z, r = da.coordinates("x y z r")
    kinetic = (x.dot**2 + (y.dot + r * r.dot) ** 2 + (z.dot - x * y.dot) ** 2 + r.dot**2) / 2
    system = da.System([x, y, z, r], kinetic=kinetic, potential=r**2)
    fields = {"u": {x: 1}, "v": {y: 1, z: x}, "w": {z: 1}}
    motion = da.simulate(
        da.symmetry.reduce(system, fields),
        {"r": 0.5, "p_1": 0.3, "p_2": 0.2, "p_3": 0.7},
        (0, 1),
        rtol=1e-11,
    )
    found = da.symmetry.phases(motion)
    assert found.residual < 1e-10 and "centre" in found.group
    with pytest.raises(ModelError, match="read the coordinates"):
        _ = found.total.logarithm
    assert found.total.coordinates["z"] == pytest.approx(
        da.symmetry.reconstruct(motion)["z"][-1], abs=1e-9
    )


# -- gaits -----------------------------------------------------------------------------------------


def test_cycles_of_a_gait_multiply() -> None:
    system = da.gallery.load("snakeboard").system
    drive = da.symmetry.follow_shape(
        system, plane_of(system), {"psi": 0.7 * sin(da.t), "phi": 0.3 * sin(da.t)}
    )
    one, two = (
        da.symmetry.gait_displacement(drive, TURN, cycle=k, parameters=LIGHT, rtol=1e-12)
        for k in (1, 2)
    )
    motion = da.simulate(drive, {}, (0, 2 * TURN), parameters=LIGHT, rtol=1e-12, at=[2 * TURN])
    both = [[float(motion[q][-1])] for q in ("x", "y")]
    product = one.total.matrix @ two.total.matrix
    assert np.allclose(product[:2, 2:], both, atol=1e-11)
    assert np.allclose(one.geometric.matrix, two.geometric.matrix, atol=1e-12)
    # the momentum grows from cycle to cycle, and the way with it
    assert abs(two.total.coordinates["x"]) > 2 * abs(one.total.coordinates["x"])


@pytest.mark.long
def test_the_split_belongs_to_the_connection_and_not_to_the_section() -> None:
    """Another basis of the momenta changes nothing; another kinetic energy over the same
    constraints is another connection.
    """
    system = da.gallery.load("snakeboard").system
    q = {s.name: s for s in (*system.coordinates, *system.parameters)}
    shape = {"psi": 0.7 * sin(da.t), "phi": 0.5 + 0.3 * cos(da.t)}
    section = [[-2 * q["r"] * cos(q["phi"]) ** 2, 0, sin(2 * q["phi"])]]
    found = []
    for given, numbers in ((None, LIGHT), (section, LIGHT), (None, LIGHT | {"J0": 0.03})):
        gait = da.symmetry.follow_shape(system, plane_of(system), shape, section=given)
        found.append(da.symmetry.gait_displacement(gait, TURN, parameters=numbers, rtol=1e-12))
    for part in ("geometric", "dynamic", "total"):
        assert np.allclose(
            getattr(found[0], part).matrix, getattr(found[1], part).matrix, atol=1e-11
        ), part
    assert np.abs(found[0].geometric.matrix - found[2].geometric.matrix).max() > 1e-3
    assert "Another connection" in str(found[0])


def test_what_is_no_gait_and_no_loop_is_refused() -> None:
    system = da.gallery.load("snakeboard").system
    group = plane_of(system)
    stroke = da.symmetry.follow_shape(system, group, {"psi": sin(da.t), "phi": cos(2 * da.t)})
    with pytest.raises(FormError, match="`psi` does not repeat itself"):
        da.symmetry.gait_displacement(stroke, np.pi, parameters=LIGHT)
    with pytest.raises(FormError, match="asked of a gait"):
        da.symmetry.gait_displacement(da.symmetry.reduce(system, group), TURN)
    with pytest.raises(FormError, match="positive period"):
        da.symmetry.gait_displacement(stroke, TURN, cycle=0, parameters=LIGHT)
    with pytest.raises(ModelError, match="reduced motion or of a gait"):
        da.symmetry.phases(da.simulate(da.gallery.load("chaplygin-sleigh"), span=(0, 0.1)))


# -- height functions ------------------------------------------------------------------------------

WHEELS = {"R": 0.5, "w": 0.4}


def loop(size: float) -> dict[str, Any]:
    """An ellipse about (size, 0) that begins at (2 size, 0)."""
    return {"alpha": size * (1 + cos(da.t)), "beta": size * sin(da.t) / 2}


@pytest.mark.long
def test_the_area_rule_has_the_order_that_theory_says() -> None:
    system, group = robot()
    bent = da.symmetry.connection(system, group)
    errors, plain, mended, sizes = [], [], [], (0.4, 0.2, 0.1)
    for size in sizes:
        rule = da.symmetry.area_rule(bent, loop(size), TURN, parameters=WHEELS)
        gait = da.symmetry.follow_shape(system, group, loop(size))
        true = da.symmetry.gait_displacement(
            gait, TURN, parameters=WHEELS, rtol=1e-12
        ).geometric.logarithm
        assert rule.area == pytest.approx(np.pi * size**2 / 2, rel=1e-12)
        here = bent.at({"alpha": 0.0, "beta": 0.0}, WHEELS)
        # the next term: integral of [A (r - r_0), B], with the centre of the ellipse at r_0 -
        # (size, 0)
        next_term = (
            da.lie.LieGroup.SE(2).bracket(-size * here.connection[:, 0], here.curvature[:, 0, 1])
            * rule.area
        )
        errors.append(np.abs(true - rule.logarithm).max())
        plain.append(np.abs(true - rule.exterior).max())
        mended.append(np.abs(true - rule.logarithm - next_term).max())
    orders = [np.log2(np.array(table[:-1]) / table[1:]) for table in (errors, plain, mended)]
    assert np.allclose(orders[0], 3, atol=0.1)
    assert np.allclose(orders[1], 2, atol=0.1) and plain[-1] > 5 * errors[-1]
    assert np.all(orders[2] > 3.8)


@pytest.mark.long
@pytest.mark.parametrize("eight", [False, True], ids=["ellipse", "eight"])
def test_the_area_rule_is_exact_on_abelian_groups(eight: bool) -> None:
    """A figure of eight has two interiors of opposite sign."""
    system = cat()
    group = {"w": {system.coordinates[0]: 1}}
    shape = {"a": 0.3 + sin(2 * da.t if eight else da.t), "b": 0.4 + 0.9 * cos(da.t)}
    rule = da.symmetry.area_rule(da.symmetry.connection(system, group), shape, TURN)
    gait = da.symmetry.follow_shape(system, group, shape, momentum=False)
    true = da.symmetry.gait_displacement(gait, TURN, rtol=1e-12).geometric.logarithm
    assert rule.logarithm == pytest.approx(true, abs=1e-9) and abs(true[0]) > 1e-2
    assert np.array_equal(rule.bracket, [0.0])
    assert abs(rule.area) < 1e-9 or not eight


def test_a_height_function_is_the_curvature() -> None:
    """B of the snakeboard: J0 cos(2 phi)/(m r) ahead, -J0 sin(2 phi)/(m r^2) in the turn; none at
    the rank jump.
    """
    board = da.gallery.load("snakeboard")
    found = da.symmetry.connection(board, plane_of(board.system))
    height = da.symmetry.height_function(
        found, {"psi": (-1, 1), "phi": (-np.pi / 2, 1)}, parameters=LIGHT, points=(2, 9)
    )
    phi = height.axes[1]
    J0, m, r = LIGHT["J0"], LIGHT["m"], LIGHT["r"]
    assert np.isnan(height.values[:, :, 0]).all() and "at 2 of 18 shapes" in str(height)
    assert np.allclose(height.values[0, :, 1:], J0 * np.cos(2 * phi[1:]) / (m * r), atol=1e-14)
    assert np.allclose(height.values[2, :, 1:], -J0 * np.sin(2 * phi[1:]) / (m * r**2), atol=1e-14)
    assert np.allclose(height.exterior[:, :, 1:], height.values[:, :, 1:], atol=1e-15)


def test_heights_need_two_shapes() -> None:
    sleigh = da.gallery.load("chaplygin-sleigh")
    with pytest.raises(ModelError, match="shape space of two dimensions"):
        da.symmetry.height_function(da.symmetry.connection(sleigh, plane_of(sleigh.system)), {})
    with pytest.raises(ModelError, match=r"make one with da\.symmetry\.connection"):
        da.symmetry.height_function(sleigh, {})  # type: ignore[arg-type]
    system, group = robot()
    with pytest.raises(ModelError, match="a range for each shape coordinate"):
        da.symmetry.height_function(
            da.symmetry.connection(system, group), {"alpha": (0, 1)}, parameters=WHEELS
        )
    with pytest.raises(FormError, match="does not repeat"):
        da.symmetry.area_rule(
            da.symmetry.connection(system, group),
            {"alpha": da.t, "beta": 0},
            1.0,
            parameters=WHEELS,
        )


def test_a_gait_takes_an_amplitude_without_being_derived_again() -> None:
    """Parameters of the path are parameters of the equations: same numbers as written in."""
    board = da.gallery.load("snakeboard")
    x, y, theta, psi, phi = board.system.coordinates
    plane = da.lie.LieGroup.SE(2).chart((x, y, theta))
    wide, high = da.parameters("wide high")
    path = {psi: wide * cos(da.t), phi: high * sin(da.t)}
    gait = da.symmetry.follow_shape(board.system, plane, path)
    assert {"wide", "high"} <= {p.name for p in gait.system.parameters}
    area = da.symmetry.connection(board, plane)
    for size in (0.1, 0.3):
        values = {**board.parameters, wide: size, high: 0.2}
        numbers = {psi: size * cos(da.t), phi: 0.2 * sin(da.t)}
        written = da.symmetry.follow_shape(board.system, plane, numbers)
        period = 2 * np.pi
        found = da.symmetry.gait_displacement(gait, period, parameters=values)
        expected = da.symmetry.gait_displacement(written, period, parameters=board.parameters)
        assert np.allclose(found.total.matrix, expected.total.matrix, atol=1e-12)
        rule = da.symmetry.area_rule(area, path, period, parameters={wide: size, high: 0.2})
        assert rule.area == pytest.approx(np.pi * size * 0.2, rel=1e-9)
