"""Reduced equations against those of the whole system, and their tensors against what theory
says.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from sympy import Abs, Rational, cos, sin, tan

import dalembert as da
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import FormError, RunError
from dalembert.formulations.reduction.bundle_equations import ReducedFunctions, bundle_of
from dalembert.integrate.state_symbols import state_with_velocities


def symbols(system: da.System) -> dict[str, Any]:
    return {s.name: s for s in (*system.coordinates, *system.parameters)}


def se2(system: da.System, heading: str = "theta") -> dict[str, dict[Any, Any]]:
    """The body frame of the plane."""
    q = symbols(system)
    x, y, angle = q["x"], q["y"], q[heading]
    return {
        "xi_x": {x: cos(angle), y: sin(angle)},
        "xi_y": {x: -sin(angle), y: cos(angle)},
        "xi_turn": {angle: 1},
    }


def shifts(system: da.System, *names: str) -> dict[str, dict[Any, Any]]:
    return {f"xi_{name}": {symbols(system)[name]: 1} for name in names}


def unicycle_group(system: da.System) -> dict[str, dict[Any, Any]]:
    return se2(system, "phi") | shifts(system, "psi")


GROUPS = {
    "snakeboard": se2,
    "bicycle": se2,
    "chaplygin-sleigh": se2,
    "unicycle-rider": unicycle_group,
    "constrained-particle": lambda system: shifts(system, "x", "z"),
    "rolling-disk": unicycle_group,
    "ball-on-rotating-plate": lambda system: shifts(system, "turn_x", "turn_y", "turn_z"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", list(GROUPS))
@pytest.mark.parametrize("seed", range(3))
def test_reconstructed_motions_are_those_of_the_whole_system(name: str, seed: int) -> None:
    scenario = da.gallery.load(name)
    system, group = scenario.system, GROUPS[name](scenario.system)
    random = np.random.default_rng(seed)
    rough = {
        key: value + 0.2 * random.uniform(-1, 1)
        for key, value in scenario.start.items()
        if "chi" not in key
    }
    start = da.simulate(
        system, rough, (0, 0), parameters=scenario.parameters, form="lagrange"
    ).start
    at = [0.0, 0.3, 0.6]
    options: dict[str, Any] = {"parameters": scenario.parameters, "rtol": 1e-12, "at": at}
    whole = da.simulate(system, start, (0, 0.6), form="lagrange", **options)
    rebuilt = da.simulate(
        da.symmetry.reduce(system, group, reconstruct=True), start, (0, 0.6), **options
    )
    for quantity in (*system.coordinates, *system.velocities):
        assert np.allclose(rebuilt[quantity], whole[quantity], rtol=1e-9, atol=1e-9), quantity
    assert np.allclose(
        rebuilt.total_reaction,
        whole.total_reaction,
        atol=1e-7 * (1 + np.abs(whole.total_reaction).max()),
    )
    assert rebuilt.worst_residual["velocity"] < 1e-11


@pytest.mark.long
@pytest.mark.parametrize("name", list(GROUPS))
def test_the_reduced_motion_does_without_the_group(name: str) -> None:
    scenario = da.gallery.load(name)
    system, group = scenario.system, GROUPS[name](scenario.system)
    equations = da.symmetry.reduce(system, group)
    moved = {
        q.name for k, q in enumerate(system.coordinates) if k in bundle_of(system, group).group
    }
    assert not moved & {symbol.name for symbol in equations.state}
    assert equations.compile().graph.momenta.shape == (
        0,
        1,
    )  # those of the whole system are not functions on D/G
    options: dict[str, Any] = {
        "parameters": scenario.parameters,
        "rtol": 1e-12,
        "at": [0.0, 0.25, 0.5],
    }
    start = {key: value for key, value in scenario.start.items() if "chi" not in key}
    rebuilt = da.simulate(
        da.symmetry.reduce(system, group, reconstruct=True), start, (0, 0.5), **options
    )
    first = {symbol.name: rebuilt[symbol.name][0] for symbol in equations.state}
    motion = da.simulate(equations, first, (0, 0.5), **options)
    for symbol in equations.state:
        assert np.allclose(motion[symbol.name], rebuilt[symbol.name], rtol=1e-10, atol=1e-10), (
            symbol
        )
    assert np.allclose(motion.energy, rebuilt.energy, rtol=1e-10)


def snakeboard_values(**numbers: float) -> tuple[np.ndarray, np.ndarray]:
    """A and Gamma of the snakeboard with the section of the literature."""
    system = da.gallery.load("snakeboard").system
    q = symbols(system)
    section = [[-2 * q["r"] * cos(q["phi"]) ** 2, 0, sin(2 * q["phi"])]]
    algebra = GraphAlgebra()
    reduced = ReducedFunctions(bundle_of(system, se2(system), section=section), algebra)
    function = ca.Function(
        "tensors", list(algebra.symbols.values()), [reduced.connection, reduced.momentum_lift]
    )
    first, second = function.call([numbers.get(symbol.name, 0.37) for symbol in algebra.symbols])
    return np.array(first), np.array(second)


@pytest.mark.parametrize("phi", [0.5, -0.3, 0.0, 1.2])
def test_the_connection_of_the_snakeboard(phi: float) -> None:
    """Bloch 5.9.65: A_psi = (-J0 sin(2 phi)/(2 m r), 0, J0 sin(phi)^2/(m r^2)), A_phi = 0, and
    Gamma.
    """
    m, r, inertia = 1.3, 0.8, 0.25
    connection, lift = snakeboard_values(m=m, r=r, J0=inertia, J1=0.1, phi=phi)
    expected = [
        -inertia * np.sin(2 * phi) / (2 * m * r),
        0,
        inertia * np.sin(phi) ** 2 / (m * r**2),
    ]
    assert np.allclose(connection[:, 0], expected, atol=1e-13) and np.allclose(
        connection[:, 1], 0, atol=1e-13
    )
    assert np.allclose(lift[:, 0], [-1 / (2 * m * r), 0, np.tan(phi) / (2 * m * r**2)], atol=1e-13)


def test_the_momentum_equation_of_the_snakeboard() -> None:
    """p_dot = 2 J0 cos(phi)^2 phi_dot psi_dot - tan(phi) phi_dot p, for the section of the
    literature.
    """
    system = da.gallery.load("snakeboard").system
    q = symbols(system)
    section = [[-2 * q["r"] * cos(q["phi"]) ** 2, 0, sin(2 * q["phi"])]]
    equations = da.symmetry.reduce(system, se2(system), section=section)
    p, phi, psi = equations.state[-1], q["phi"], q["psi"]
    numbers = {"m": 1.3, "r": 0.8, "J0": 0.25, "J1": 0.1}
    state = {"psi": 0.1, "phi": 0.4, "psi_dot": 0.3, "phi_dot": -0.6, p.name: 0.7}
    rates = equations.function()(0.0, [state[s.name] for s in equations.state], numbers)
    formula = 2 * q["J0"] * cos(phi) ** 2 * phi.dot * psi.dot - tan(phi) * phi.dot * p
    value = formula.subs(
        {symbol: (state | numbers)[symbol.name] for symbol in formula.free_symbols}
    )
    assert rates[-1] == pytest.approx(float(value), abs=1e-14)


@pytest.mark.parametrize("scale", [(1, 1, 1), (0.5, 2.0, 1.25)], ids=str)
def test_a_free_body_obeys_eulers_equations(scale: tuple[float, float, float]) -> None:
    """Q = G = SO(3) in Euler angles: Lie-Poisson, M_dot = M x Omega; fields that are s_i times
    longer belong to s_i M_i.
    """
    a, b, c = da.coordinates("a b c")  # R = Rz(a) Rx(b) Rz(c)
    inertia = da.parameters("I1 I2 I3", positive=True)
    omega = (
        a.dot * sin(b) * sin(c) + b.dot * cos(c),
        a.dot * sin(b) * cos(c) - b.dot * sin(c),
        a.dot * cos(b) + c.dot,
    )
    body = da.System(
        [a, b, c], kinetic=sum(j * w**2 for j, w in zip(inertia, omega, strict=True)) / 2
    )
    fields = {
        "w1": {a: sin(c) / sin(b), b: cos(c), c: -sin(c) * cos(b) / sin(b)},
        "w2": {a: cos(c) / sin(b), b: -sin(c), c: -cos(c) * cos(b) / sin(b)},
        "w3": {c: 1},
    }
    longer = {
        name: {q: s * part for q, part in field.items()}
        for s, (name, field) in zip(scale, fields.items(), strict=True)
    }
    equations = da.symmetry.reduce(body, longer, identity={b: 1.0})
    spin, values = np.array([0.3, -0.5, 0.9]), np.array([1.1, 1.7, 2.3])
    momentum = values * spin
    rates = equations.function()(
        0.0, momentum * scale, dict(zip(("I1", "I2", "I3"), values, strict=True))
    )
    assert np.allclose(rates, np.cross(momentum, spin) * scale, atol=1e-13)


def test_what_is_not_invariant_is_refused() -> None:
    sleigh = da.gallery.load("chaplygin-sleigh").system
    x, y, theta = sleigh.coordinates
    m = sleigh.parameters[-1]
    pulled = da.System(
        sleigh.coordinates, kinetic=sleigh.kinetic, potential=m * x, constraints=sleigh.constraints
    )
    with pytest.raises(FormError, match="Lagrangian is not invariant"):
        da.symmetry.reduce(pulled, se2(sleigh))
    pushed = sleigh.replacing(forces={x: 1})
    with pytest.raises(FormError, match="forces are not invariant"):
        da.symmetry.reduce(pushed, se2(sleigh))
    with pytest.raises(FormError, match="constraints are not invariant"):
        da.symmetry.reduce(
            da.System([x, y, theta], kinetic=sleigh.kinetic, constraints=[da.velocity(x.dot)]),
            se2(sleigh),
        )
    with pytest.raises(FormError, match="close"):
        da.symmetry.reduce(sleigh, {"a": {x: 1, y: theta}, "b": {y: 1 + x**2}, "c": {theta: 1}})


def test_the_default_section_along_a_field_of_the_group_is_that_field() -> None:
    """x' = 0 leaves the second field, and k(r) x' = 0 as well; p is its momentum, not minus it, nor
    a multiple of it.
    """
    x, y, r = da.coordinates("x y r")
    energy = (x.dot**2 + 2 * y.dot**2 + r.dot**2) / 2
    for row in (x.dot, -x.dot, (2 + cos(r)) * x.dot):
        system = da.System([x, y, r], kinetic=energy, constraints=[da.velocity(row, name="held")])
        assert list(bundle_of(system, {"u": {x: 1}, "w": {y: 1}}).section) == [0, 1]
    tilted = da.System(
        [x, y, r],
        kinetic=energy,
        constraints=[da.velocity(x.dot - (1 + r**2) * y.dot, name="held")],
    )
    assert not any(
        entry.could_extract_minus_sign()
        for entry in bundle_of(tilted, {"u": {x: 1}, "w": {y: 1}}).section
    )


@pytest.mark.long
@pytest.mark.parametrize("turn", ["constant", "varying"])
def test_a_reduced_motion_passes_where_a_coefficient_of_the_constraint_vanishes(turn: str) -> None:
    """The row (sin r, 1 + r^2/4, c) leaves two momenta, and the motion passes r = 0, where (1 +
    r^2/4, -sin r, 0) and
    (c, 0, -sin r) are parallel."""
    x, y, theta, r = da.coordinates("x y theta r")
    ahead = x.dot * cos(theta) + y.dot * sin(theta)
    aside = y.dot * cos(theta) - x.dot * sin(theta)
    c = Rational(1, 2) if turn == "constant" else cos(r) / 2
    system = da.System(
        [x, y, theta, r],
        kinetic=(
            ahead**2 + 2 * aside**2 + theta.dot**2 + r.dot**2 + (sin(r) * ahead + theta.dot) ** 2
        )
        / 2,
        potential=r**2 / 2 + Abs(r - Rational(1, 5)) ** 3,
        constraints=[
            da.velocity(sin(r) * ahead + (1 + r**2 / 4) * aside + c * theta.dot, name="row")
        ],
    )
    options: dict[str, Any] = {"rtol": 1e-10, "at": [0.0, 1.0]}
    start = {
        "x": 0.1,
        "y": 0.2,
        "theta": 0.3,
        "r": 0.4,
        "x_dot": 0.5,
        "y_dot": 0.2,
        "theta_dot": 0.1,
        "r_dot": -0.9,
    }
    whole = da.simulate(system, start, (0, 1), **options)
    rebuilt = da.simulate(
        da.symmetry.reduce(system, se2(system), reconstruct=True), whole.start, (0, 1), **options
    )
    assert whole["r"][0] > 0.3 and whole["r"][-1] < -0.2
    for symbol in (*system.coordinates, *system.velocities):
        assert np.allclose(rebuilt[symbol], whole[symbol], rtol=0, atol=2e-9), symbol


def test_a_section_must_fit() -> None:
    system = da.gallery.load("snakeboard").system
    with pytest.raises(FormError, match="section"):
        da.symmetry.reduce(system, se2(system), section=[[1, 0, 0]])


@pytest.mark.long
@pytest.mark.parametrize("name", ["snakeboard", "chaplygin-sleigh", "unicycle-rider"])
def test_a_reduced_motion_is_reconstructed(name: str) -> None:
    scenario = da.gallery.load(name)
    system, group = scenario.system, GROUPS[name](scenario.system)
    options: dict[str, Any] = {"parameters": scenario.parameters, "rtol": 1e-12}
    whole = da.simulate(system, scenario.start, (0, 0.5), form="lagrange", at=[0.0, 0.5], **options)
    rebuilt = da.simulate(
        da.symmetry.reduce(system, group, reconstruct=True), scenario.start, (0, 0.0), **options
    )
    equations = da.symmetry.reduce(system, group)
    reduced = da.simulate(
        equations,
        {s.name: rebuilt[s.name][0] for s in equations.state},
        (0, 0.5),
        at=[0.0, 0.5],
        **options,
    )
    back = da.symmetry.reconstruct(
        reduced,
        {
            q: whole[q][0]
            for k, q in enumerate(system.coordinates)
            if k in bundle_of(system, group).group
        },
    )
    for quantity in (*system.coordinates, *system.velocities):
        assert np.allclose(back[quantity], whole[quantity], atol=1e-9), quantity


def test_only_reduced_motions_are_reconstructed() -> None:
    sleigh = da.gallery.load("chaplygin-sleigh")
    motion = da.simulate(sleigh, span=(0, 0.1))
    with pytest.raises(da.errors.ModelError, match="reduced"):
        da.symmetry.reconstruct(motion)


# -- groups by their action ------------------------------------------------------------------------


def plane_action(system: da.System, heading: str = "theta") -> da.symmetry.GroupAction:
    q = symbols(system)
    x, y, angle = q["x"], q["y"], q[heading]
    return da.symmetry.GroupAction(
        system,
        da.lie.LieGroup.SE(2),
        generators={"e_x": {x: 1}, "e_y": {y: 1}, "e_th": {x: -y, y: x, angle: 1}},
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "heading"),
    [("snakeboard", "theta"), ("bicycle", "theta"), ("chaplygin-sleigh", "theta")],
)
def test_an_action_reduces_as_its_body_frame(name: str, heading: str) -> None:
    system = da.gallery.load(name).system
    by_action, by_frame = (
        bundle_of(system, plane_action(system, heading)),
        bundle_of(system, se2(system, heading)),
    )
    assert by_action.frame.matrix == by_frame.frame.matrix and np.array_equal(
        by_action.constants, by_frame.constants
    )
    assert tuple(by_action.frame.fields) == ("xi_x", "xi_y", "xi_th")
    first, second = (
        da.symmetry.reduce(system, group).function()
        for group in (plane_action(system), se2(system))
    )
    random = np.random.default_rng(3)
    state = random.uniform(0.2, 0.8, len(da.symmetry.reduce(system, se2(system)).state))
    numbers = {p.name: float(random.uniform(0.5, 1.5)) for p in system.parameters}
    assert np.array_equal(first(0.0, state, numbers), second(0.0, state, numbers))


def test_an_action_by_its_map() -> None:
    system = da.gallery.load("snakeboard").system
    x, y, theta, *_ = system.coordinates
    a, b, c = da.parameters("a b c")
    moved = {x: a + x * cos(c) - y * sin(c), y: b + x * sin(c) + y * cos(c), theta: theta + c}
    action = da.symmetry.GroupAction(system, da.lie.LieGroup.SE(2), moved, symbols=(a, b, c))
    assert (
        da.symmetry.connection(system, action).local
        == da.symmetry.connection(system, se2(system)).local
    )
    gait = da.symmetry.follow_shape(system, action, {"psi": sin(da.t), "phi": cos(da.t)})
    assert [s.name for s in gait.state] == ["x", "y", "theta", "p_1"]


@pytest.mark.long
def test_rotations_of_space_give_the_angular_velocity_of_the_body() -> None:
    """Turns of space are the symmetry, and what is left obeys Euler's equations, wherever the frame
    is taken.
    """
    angles = da.coordinates("alpha beta gamma")
    chart = da.lie.LieGroup.SO(3).chart(angles, ["e3", "e1", "e3"])
    inertia = np.array([1.1, 1.7, 2.3])
    body = da.System(
        angles,
        kinetic=sum(float(j) * w**2 for j, w in zip(inertia, chart.body_velocity(), strict=True))
        / 2,
    )
    turns = {name: list(chart.right_frame[:, k]) for k, name in enumerate(("e1", "e2", "e3"))}
    action = da.symmetry.GroupAction(body, da.lie.LieGroup.SO(3), generators=turns)
    with pytest.raises(FormError, match=r"no frame at the identity .* beta = 0"):
        da.symmetry.reduce(body, action)
    equations = da.symmetry.reduce(body, action, identity={"beta": 1.0})
    # at (0, 1, 0) the body and space differ by a turn of 1 about e1, and the speeds are those of
    # the turned body
    turn = np.array([[1, 0, 0], [0, np.cos(1), -np.sin(1)], [0, np.sin(1), np.cos(1)]])
    spin = np.array([0.3, -0.5, 0.9])
    momentum = inertia * spin
    rates = equations.function()(0.0, turn @ momentum, {})
    assert np.allclose(rates, turn @ np.cross(momentum, spin), atol=1e-12)


@pytest.mark.long
def test_what_was_discovered_can_be_divided_out() -> None:
    scenario = da.gallery.load("snakeboard")
    found = da.symmetry.discover_symmetries(scenario)
    equations = da.symmetry.reduce(scenario.system, found)
    assert [s.name for s in equations.state] == [
        "phi",
        "phi_dot",
        "p_1",
        "p_2",
    ] and found.group == "SO(2) x SE(2)"
    options: dict[str, Any] = {"parameters": scenario.parameters, "rtol": 1e-12, "at": [0.0, 0.5]}
    whole = da.simulate(scenario.system, scenario.start, (0, 0.5), form="lagrange", **options)
    rebuilt = da.simulate(
        da.symmetry.reduce(scenario.system, found, reconstruct=True),
        scenario.start,
        (0, 0.5),
        **options,
    )
    for q in scenario.system.coordinates:
        assert np.allclose(rebuilt[q], whole[q], atol=1e-9), q


@pytest.mark.parametrize(
    "use",
    [da.symmetry.reduce, da.symmetry.connection, lambda s, g: da.symmetry.follow_shape(s, g, {})],
    ids=["r", "c", "f"],
)
@pytest.mark.parametrize(
    "group",
    [3, "SE(2)", None, [1, 2], da.lie.LieGroup.SE(2), {"ahead": 3}],
    ids=["int", "str", "none", "list", "group", "flat"],
)
def test_what_is_no_group_gets_a_sentence(use: Any, group: Any) -> None:
    with pytest.raises(FormError, match=r"left-invariant fields, or by its action .*: give"):
        use(da.gallery.load("snakeboard").system, group)


def test_actions_without_body_velocities_are_refused() -> None:
    q1, q2, q3 = q = da.coordinates("q1 q2 q3")
    particle = da.System(q, kinetic=(q1.dot**2 + q2.dot**2 + q3.dot**2) / 2)
    turns = {"e1": [0, -q3, q2], "e2": [q3, 0, -q1], "e3": [-q2, q1, 0]}
    with pytest.raises(
        FormError, match=r"not free.*orbits of dimension 2 of a group of dimension 3"
    ):
        da.symmetry.reduce(
            particle, da.symmetry.GroupAction(particle, da.lie.LieGroup.SO(3), generators=turns)
        )
    with pytest.raises(FormError, match=r"do not split .* 1 generators move q1, q2"):
        da.symmetry.reduce(
            particle,
            da.symmetry.GroupAction(particle, da.lie.LieGroup.SO(2), generators=[[-q2, q1, 0]]),
        )
    with pytest.raises(FormError, match=r"do not split .* depend on q3"):
        da.symmetry.reduce(
            particle,
            da.symmetry.GroupAction(particle, da.lie.LieGroup.R(1), generators=[[1 + q3**2, 0, 0]]),
        )
    x = da.coordinates("x")
    with pytest.raises(FormError, match="does not have"):
        da.symmetry.reduce(
            particle, da.symmetry.GroupAction([x], da.lie.LieGroup.R(1), generators=[[1]])
        )


def test_fields_that_depend_on_the_shape_are_refused() -> None:
    """p = <l_xi, e> would not obey the momentum equation of a frame at rest."""
    x, r = da.coordinates("x r")
    system = da.System([x, r], kinetic=(x.dot**2 + r.dot**2) / 2)
    with pytest.raises(FormError, match="must not depend on the shape"):
        da.symmetry.reduce(system, {"u": {x: 1 + r**2}})


# -- gaits -----------------------------------------------------------------------------------------


def test_the_driving_gait_of_the_snakeboard() -> None:
    """Against reference numbers (x, y, theta, p) that were computed elsewhere to fifteen digits."""
    system = da.gallery.load("snakeboard").system
    q = symbols(system)
    section = [[-2 * q["r"] * cos(q["phi"]) ** 2, 0, sin(2 * q["phi"])]]
    shape = {"psi": 0.7 * sin(da.t), "phi": 0.3 * sin(da.t)}
    equations = da.symmetry.follow_shape(system, se2(system), shape, section=section)
    numbers = {"m": 6.0, "r": 0.2, "J0": 0.016, "J1": 0.0013}
    motion = da.simulate(
        equations,
        {},
        (0, 4 * np.pi),
        parameters=numbers,
        at=[2.0, 2 * np.pi, 4 * np.pi],
        rtol=1e-12,
    )
    expected = [
        [
            -0.0021105739346281857,
            -3.1436819602930165e-06,
            0.003056036322184502,
            0.005183558539914014,
        ],
        [-0.026713096520720205, 5.468878658987502e-05, -0.012916805278823315, 0.020874887200953755],
        [-0.10684564121696223, 0.00010936525944997925, -0.02583361055764663, 0.041749774401907525],
    ]
    assert np.allclose(motion.y.T, expected, rtol=0, atol=1e-12)
    assert np.allclose(motion["psi"], 0.7 * np.sin(motion.t))


def test_the_geometric_phase_does_not_depend_on_the_pace() -> None:
    system = da.gallery.load("snakeboard").system
    numbers = {"m": 6.0, "r": 0.2, "J0": 0.016, "J1": 0.0013}
    ends = []
    for pace in (da.t, da.t + sin(da.t) / 2, 3 * da.t):
        shape = {"psi": 0.7 * sin(pace), "phi": 0.3 * cos(pace)}
        equations = da.symmetry.follow_shape(system, se2(system), shape, momentum=False)
        last = 2 * np.pi / 3 if pace == 3 * da.t else 2 * np.pi
        ends.append(da.simulate(equations, {}, (0, last), parameters=numbers, rtol=1e-12).y[:, -1])
    assert np.allclose(ends[1], ends[0], atol=1e-11) and np.allclose(ends[2], ends[0], atol=1e-11)
    assert np.abs(ends[0]).max() > 1e-3


def test_a_gait_drives_the_whole_system_as_its_reduction() -> None:
    """The same shape imposed on all coordinates as constraints: the group moves alike."""
    scenario = da.gallery.load("snakeboard")
    system = scenario.system
    q = symbols(system)
    shape = {q["psi"]: 0.7 * sin(da.t), q["phi"]: 0.3 * cos(da.t)}
    gait = da.simulate(
        da.symmetry.follow_shape(system, se2(system), shape),
        {},
        (0, 3),
        parameters=scenario.parameters,
        rtol=1e-12,
        at=[0.0, 3.0],
    )
    servo = [da.holonomic(c - path, name=f"motor_{c.name}") for c, path in shape.items()]
    held = system.replacing(constraints=[*system.constraints, *servo], outputs={})
    start = {"psi": 0.0, "phi": 0.3, "psi_dot": 0.7, "phi_dot": 0.0}
    start |= {
        name: float(gait[name][0]) for name in ("x", "y", "theta", "x_dot", "y_dot", "theta_dot")
    }
    whole = da.simulate(
        held,
        start,
        (0, 3),
        parameters=scenario.parameters,
        rtol=1e-12,
        form="lagrange",
        at=[0.0, 3.0],
    )
    for name in ("x", "y", "theta", "x_dot", "y_dot", "theta_dot"):
        assert gait[name][-1] == pytest.approx(whole[name][-1], abs=1e-9), name


def test_a_gait_names_what_it_lacks() -> None:
    system = da.gallery.load("snakeboard").system
    with pytest.raises(FormError, match="missing phi"):
        da.symmetry.follow_shape(system, se2(system), {"psi": da.t})


def test_a_law_that_reads_the_group_is_refused_without_the_group_and_kept_with_it() -> None:
    """u = -x_dot, where x is divided out: the state has no x_dot; with the group the motion is that
    of the system.
    """
    x, y = da.coordinates("x y")
    u = da.Input("u")
    energies = {"kinetic": (x.dot**2 + y.dot**2) / 2, "potential": y**2 / 2}
    steered = da.System([x, y], forces={y: u}, inputs={u: -x.dot}, **energies)
    with pytest.raises(FormError, match=r"`u` reads symbols of the group.*x_dot.*reconstruct=True"):
        da.symmetry.reduce(steered, {"w": {x: 1}})
    start = {x: 0.0, y: 1.0, x.dot: 1.0, y.dot: 0.0}
    whole = da.simulate(da.symmetry.reduce(steered, {"w": {x: 1}}, reconstruct=True), start, (0, 3))
    assert float(whole["y"][-1]) == pytest.approx(2 * np.cos(3) - 1, abs=1e-8)
    stated = da.linearise(
        da.symmetry.reduce(da.System([x, y], forces={y: -x.dot}, **energies), {"w": {x: 1}})
    )
    assert stated.matrix == pytest.approx(np.array([[0, 1, 0], [-1, 0, -1], [0, 0, 0]]), abs=1e-12)


def test_a_start_is_found_where_lengths_and_angles_differ_in_their_units() -> None:
    """Normal equations without regard to units were singular: x and y are counted in units of 1e-10
    beside radians.
    """
    x, y, theta = da.coordinates("x y theta")
    size = 1e-10
    ahead, aside = (
        size * (a * x.dot + b * y.dot)
        for a, b in ((cos(theta), sin(theta)), (-sin(theta), cos(theta)))
    )
    body = da.System(
        [x, y, theta], kinetic=(ahead**2 + (aside + 0.3 * theta.dot) ** 2 + theta.dot**2) / 2
    )
    c, s = cos(theta) / size, sin(theta) / size
    plane = {"ahead": {x: c, y: s}, "aside": {x: -s, y: c}, "turn": {theta: 1}}
    start = {x.dot: 1 / size, y.dot: 0.5 / size, theta: 0.3, theta.dot: 0.7}
    motion = da.simulate(
        da.symmetry.reduce(body, plane, reconstruct=True), start, (0, 1), at=[0, 1]
    )
    whole = da.simulate(body, start, (0, 1), at=[0, 1])
    for symbol in (x, y, theta):
        assert motion[symbol][-1] == pytest.approx(whole[symbol][-1], rel=1e-8)


def test_velocities_that_no_state_of_a_form_has_are_refused() -> None:
    """A state with other velocities was taken."""
    sleigh = da.gallery.load("chaplygin-sleigh")
    reduced = da.symmetry.reduce(sleigh.system, se2(sleigh.system), reconstruct=True).compile()
    values = [sleigh.parameters[symbol.name] for symbol in reduced.parameters]
    with pytest.raises(RunError, match="has the velocities that were given"):
        state_with_velocities(reduced, 0.0, np.zeros(3), np.array([0.0, 1.0, 0.0]), values)
