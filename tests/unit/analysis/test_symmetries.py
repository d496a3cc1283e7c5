"""Symmetries: by hand for every gallery system, by finite motions as an independent implementation,
and by what must be refused.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import sympy
from scipy.linalg import expm
from sympy import Rational, cos, exp, sin, sqrt

import dalembert as da
from dalembert.analysis.symmetry.symmetry_basis import Recogniser
from dalembert.analysis.symmetry.symmetry_group import FoundField, closed
from dalembert.analysis.symmetry.symmetry_proofs import vanishes
from dalembert.errors import FormError, ModelError
from dalembert.model.constraints import HolonomicConstraint

x, y, z = da.coordinates("x y z")
m, k1, k2, r, a = da.parameters("m k1 k2 r a", positive=True)
PLANE = m / 2 * (x.dot**2 + y.dot**2)
SPACE = m / 2 * (x.dot**2 + y.dot**2 + z.dot**2)

TRIVIAL = (
    "driven-double-pendulum", "forced-oscillator", "elastic-pendulum", "elastic-pendulum-arc",
    "elastic-pendulum-printed",
    "elastic-pendulum-steered", "elastic-pendulum-wall", "linked-particles",
    "linked-particles-zero-distance", "bar-pendulum",
    "particle-in-potential", "blow-up",
)  # fmt: skip
#: Group and generators, by hand from the energies and constraints of each system.
BY_HAND: dict[str, tuple[str, set[str]]] = {
    **{name: ("trivial", set()) for name in TRIVIAL},
    "spherical-pendulum": ("SO(2)", {"-y d/dx + x d/dy"}),
    "nonholonomic-particle": ("R^2", {"d/dx", "d/dy"}),
    "nonholonomic-particle-vakonomic": ("R^2", {"d/dx", "d/dy"}),
    "two-particles-incline": ("R", {"d/dx1 + d/dx2"}),
    "appell": ("SE(2)", {"d/dq1", "d/dq2", "-q2 d/dq1 + q1 d/dq2"}),
    "appell-vakonomic": ("SE(2)", {"d/dq1", "d/dq2", "-q2 d/dq1 + q1 d/dq2"}),
    "rolling-disk": ("SO(2) x SE(2)", {"d/dpsi", "d/dx", "d/dy", "d/dphi - y d/dx + x d/dy"}),
    "rolling-disk-vakonomic": (
        "SO(2) x SE(2)",
        {"d/dpsi", "d/dx", "d/dy", "d/dphi - y d/dx + x d/dy"},
    ),
    "unicycle-rider": ("SO(2) x SE(2)", {"d/dpsi", "d/dx", "d/dy", "d/dphi - y d/dx + x d/dy"}),
    "two-planar-bodies": ("SO(2)", {"d/dtheta1 + d/dtheta2"}),
    "three-planar-bodies": ("SO(2)", {"d/dtheta1 + d/dtheta2 + d/dtheta3"}),
    "planar-chain": ("SO(2)", {" + ".join(f"d/dtheta{k}" for k in range(1, 6))}),
    "constrained-particle": ("R^2", {"d/dx", "d/dz"}),
    "snakeboard": ("SO(2) x SE(2)", {"d/dpsi", "d/dx", "d/dy", "d/dtheta - y d/dx + x d/dy"}),
    "snakeboard-gait": ("SE(2)", {"d/dx", "d/dy", "d/dtheta - y d/dx + x d/dy"}),
    "bicycle": ("SE(2)", {"d/dx", "d/dy", "d/dtheta - y d/dx + x d/dy"}),
    "knife-edge": ("SE(2)", {"d/dx", "d/dy", "d/dvarphi - y d/dx + x d/dy"}),
    "chaplygin-sleigh": ("SE(2)", {"d/dx", "d/dy", "d/dtheta - y d/dx + x d/dy"}),
    "ball-on-rotating-plate": (
        "R x SE(2)",
        {
            *("d/dturn_x", "d/dturn_y", "d/dturn_z"),
            "-y d/dx + x d/dy - turn_y d/dturn_x + turn_x d/dturn_y",
        },
    ),
}  # fmt: skip


@cache
def symmetries_of(name):
    return da.symmetry.discover_symmetries(da.gallery.load(name))


@pytest.mark.parametrize("name", BY_HAND)
def test_gallery_systems_have_the_symmetries_found_by_hand(name):
    found = symmetries_of(name)
    group, generators = BY_HAND[name]
    assert found.group == group
    assert {generator.text for generator in found.generators} == generators
    assert all(generator.by == "symbolically" for generator in found.generators)
    assert not found.rejected and not found.diagnostics
    if generators:
        assert found.action.bracket_certificate.holds
        assert sorted(k for _, places in found.factors for k in places) == list(
            range(found.dimension)
        )


@pytest.mark.long
def test_a_circuit_turns_what_its_laws_hold_still():
    """Fluxes of capacitors may be shifted, and the three directions across Kirchhoff's laws be
    turned in the metric of C.
    """
    found = symmetries_of("lc-circuit")
    assert (
        found.identification == "R^3 + se(3)"
        and found.group == "R^3 x SE(3)"
        and found.dimension == 9
    )
    assert all(generator.by == "symbolically" for generator in found.generators)
    turning = [
        generator for generator in found.generators if generator.field.has(*found.coordinates)
    ]
    assert len(turning) == 3 and all(
        generator.field.free_symbols - set(found.coordinates) for generator in turning
    )
    with pytest.raises(ModelError, match=r"depend on parameters.*Ca, Cab.*put numbers"):
        _ = found.action  # whose structure constants hold for drawn values of the capacities alone


# -- an independent implementation: finite motions
# -------------------------------------------------------------------------------------


def moved(generator, coordinates, values):
    """The flow of an affine field for a finite time, as an affine map (A, b)."""
    n = len(coordinates)
    matrix = np.zeros((n + 1, n + 1))
    rest = generator.field.subs(dict.fromkeys(coordinates, 0))
    matrix[:n, :n] = np.array(generator.field.jacobian(coordinates).subs(values), dtype=float)
    matrix[:n, n] = np.array(rest.subs(values), dtype=float).ravel()
    flow = expm(0.7 * matrix)
    return flow[:n, :n], flow[:n, n]


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "snakeboard",
        "unicycle-rider",
        "ball-on-rotating-plate",
        "lc-circuit",
        "two-particles-incline",
    ],
)
def test_finite_motions_leave_the_energy_and_the_constraints_alone(name):
    scenario = da.gallery.load(name)
    system = scenario.system
    values = {p: scenario.parameters[p.name] for p in system.parameters}
    found = symmetries_of(name)
    random = np.random.default_rng(4)
    q = random.uniform(-1, 1, len(system.coordinates))
    y_free = random.uniform(-1, 1, len(system.coordinates))
    fibre = system.momenta if system.is_hamiltonian else system.velocities

    def value(expression, q, y):
        point = dict(zip([*system.coordinates, *fibre], [*q, *y], strict=True))
        return float(expression.subs(values).subs(point).subs(da.t, 0.3))

    for generator in found.generators:
        A, b = moved(generator, system.coordinates, values)
        turn = np.linalg.inv(A).T if system.is_hamiltonian else A
        energy = value(system.energy_function, q, y_free)
        assert np.isclose(
            value(system.energy_function, A @ q + b, turn @ y_free), energy, rtol=1e-10
        )
        rows = [c.expression for c in system.bilateral if not isinstance(c, HolonomicConstraint)]
        derivatives = np.array(
            [[value(sympy.diff(row, symbol), q, 0 * y_free) for symbol in fibre] for row in rows]
        )
        offset = np.array([value(row, q, 0 * y_free) for row in rows])
        consistent = y_free - np.linalg.pinv(derivatives) @ (derivatives @ y_free + offset)
        assert np.allclose([value(row, q, consistent) for row in rows], 0, atol=1e-12)
        assert np.allclose(
            [value(row, A @ q + b, turn @ consistent) for row in rows], 0, atol=1e-10
        )


def test_their_momenta_are_conserved_without_nonholonomic_constraints():
    scenario = da.gallery.load("three-planar-bodies")
    momentum = symmetries_of("three-planar-bodies").action.momentum_map[0]
    motion = da.simulate(scenario, span=(0.0, 3.0), rtol=1e-11)
    total = sum(motion[f"p_theta{k}"] for k in (1, 2, 3))
    assert str(momentum) == "p_theta1 + p_theta2 + p_theta3"
    assert np.ptp(total) < 1e-9 * np.max(np.abs(total))


# -- systems made for it ---------------------------------------------------------------------------

HALF_PLANE = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / (2 * y**2), name="half plane")
MADE = {
    "free particle": (da.System([x, y, z], kinetic=SPACE), {}, "SE(3)"),
    "isotropic oscillator": (
        da.System([x, y, z], kinetic=SPACE, potential=k1 * (x**2 + y**2 + z**2)),
        {},
        "SO(3)",
    ),
    "two stiffnesses": (
        da.System([x, y], kinetic=PLANE, potential=k1 * x**2 + k2 * y**2),
        {},
        "trivial",
    ),
    "equal stiffnesses": (
        da.System([x, y], kinetic=PLANE, potential=k1 * x**2 + k2 * y**2),
        {"parameters": {"k1": 2, "k2": 2}},
        "SO(2)",
    ),
    "Lorentz": (da.System([x, y], lagrangian=x.dot**2 - y.dot**2), {}, "SE(1,1)"),
    "Heisenberg": (
        da.System([x, y, z], kinetic=(x.dot**2 + y.dot**2 + (z.dot - y * x.dot) ** 2) / 2),
        {},
        "Heisenberg",
    ),
    "half plane": (HALF_PLANE, {"start": {"y": 1.0}}, "Aff(1)"),
    "magnetic": (
        da.System([x, y], lagrangian=PLANE + a / 2 * (x * y.dot - y * x.dot)),
        {},
        "SO(2)",
    ),
    "sphere": (
        da.System([x, y, z], kinetic=SPACE, constraints=[da.holonomic(x**2 + y**2 + z**2 - 1)]),
        {},
        "SO(3)",
    ),
    "cylinder": (
        da.System([x, y, z], kinetic=SPACE, constraints=[da.holonomic(x**2 + y**2 - 1)]),
        {},
        "R x SO(2)",
    ),
    "drag": (
        da.System([x, y], kinetic=PLANE, dissipation=a / 2 * (x.dot**2 + y.dot**2)),
        {},
        "SE(2)",
    ),
    "drag along x": (da.System([x, y], kinetic=PLANE, dissipation=a / 2 * x.dot**2), {}, "R^2"),
    "whirling force": (da.System([x, y], kinetic=PLANE, forces={x: -a * y, y: a * x}), {}, "SO(2)"),
    "free input": (
        da.System([x, y], kinetic=PLANE, forces={x: da.inputs("u")}, inputs=[da.inputs("u")]),
        {},
        "R^2",
    ),
    "table": (
        da.System([x, y, z], kinetic=SPACE, constraints=[da.unilateral(z >= 0, name="table")]),
        {},
        "SE(2)",
    ),
    "hidden cyclic": (
        da.System([x, y], kinetic=(x.dot**2 * (sin(x) ** 2 + cos(x) ** 2) + y.dot**2) / 2),
        {},
        "SE(2)",
    ),
    "elliptic": (
        da.System(
            [x, y], kinetic=(k1 * x.dot**2 + k2 * y.dot**2) / 2, potential=k1 * x**2 + k2 * y**2
        ),
        {},
        "SO(2)",
    ),
    "nonideal": (
        da.System(
            [x, y, z],
            kinetic=SPACE,
            constraints=[da.velocity(z.dot - x * y.dot, work={x: -x * x.dot})],
        ),
        {},
        "R^2",
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_made_systems(name):
    system, options, group = MADE[name]
    found = da.symmetry.discover_symmetries(system, **{"start": {"x": 1.0}} | options)
    assert found.group == group
    assert all(generator.holds for generator in found.generators) and not found.rejected


@pytest.mark.parametrize(
    "stiffness", [(1, 1, 2, 0), (1, 1, 1, 0), (0, 0, 3, 3), (1, 2, 3, 4), (2, 2, 2, 2)], ids=str
)
@pytest.mark.parametrize("held", [False, True], ids=["free", "held"])
def test_quadratic_systems_against_linear_algebra(stiffness, held):
    """A^T M + M A = 0, A^T K + K A = 0, K b = 0, and A takes the kernel of a constant row c into
    itself.
    """
    n = 4
    q = da.coordinates("q1:5")
    S = np.array([[1, 2, 0, 0], [0, 1, -1, 0], [1, 0, 1, 1], [0, 0, 0, 1]])
    M, K, c = S.T @ S, S.T @ np.diag(stiffness) @ S, S.T @ np.array([0, 0, 1, 0])
    v, p = sympy.Matrix([symbol.dot for symbol in q]), sympy.Matrix(q)
    row = [da.velocity((sympy.Matrix(c).T * v)[0], name="row")] if held else []
    system = da.System(
        q,
        kinetic=(v.T * sympy.Matrix(M) * v)[0] / 2,
        potential=(p.T * sympy.Matrix(K) * p)[0] / 2,
        constraints=row,
    )
    unit, rows = np.eye(n), []
    along = np.linalg.svd(c[None, :])[2][1:].T
    for i in range(n):
        for j in range(n):
            A = np.outer(unit[i], unit[j])
            entries = [(A.T @ M + M @ A).ravel(), (A.T @ K + K @ A).ravel(), np.zeros(n)]
            rows.append(np.concatenate([*entries, (c @ A @ along) if held else np.zeros(0)]))
    rows += [
        np.concatenate([np.zeros(2 * n * n), K[:, k], np.zeros(n - 1 if held else 0)])
        for k in range(n)
    ]
    found = da.symmetry.discover_symmetries(system)
    assert found.dimension == n * n + n - np.linalg.matrix_rank(np.array(rows).astype(float))
    assert all(generator.by == "symbolically" for generator in found.generators)


def test_coefficients_of_parameters():
    disk = da.System([x, y], kinetic=PLANE, constraints=[da.holonomic(x - r * y)])
    assert [g.text for g in da.symmetry.discover_symmetries(disk).generators] == ["d/dx + 1/r d/dy"]
    shifted = da.System([x, y], kinetic=PLANE, potential=k1 * ((x - a) ** 2 + y**2))
    (generator,) = da.symmetry.discover_symmetries(shifted).generators
    assert list(generator.field) == [-y, x - a] and generator.by == "symbolically"
    odd = da.System([x, y], kinetic=PLANE, potential=k1 * ((x - exp(a) * sin(r)) ** 2 + y**2))
    found = da.symmetry.discover_symmetries(odd)
    assert found.dimension == 0 and [g.failing[0].status for g in found.rejected] == [
        "not established"
    ]


@pytest.mark.long
def test_proposed_fields_and_their_brackets():
    found = da.symmetry.discover_symmetries(
        HALF_PLANE, [{x: x**2 - y**2, y: 2 * x * y}], start={"y": 1.0}
    )
    assert found.group == "SL(2,R)"
    angles = da.coordinates("alpha beta gamma")
    I1, I2, I3 = da.parameters("I1 I2 I3", positive=True)
    chart = da.lie.LieGroup.SO(3).chart(angles, ("e3", "e1", "e3"))
    w1, w2, w3 = chart.body_velocity()
    body = da.System(angles, kinetic=(I1 * w1**2 + I2 * w2**2 + I3 * w3**2) / 2, name="body")
    right = [list(chart.right_frame[:, k]) for k in range(3)]
    left = [list(chart.left_frame[:, k]) for k in range(3)]
    assert da.symmetry.discover_symmetries(body, start={"beta": 1.0}).dimension == 1
    assert (
        da.symmetry.discover_symmetries(body, [*right, *left], start={"beta": 1.0}).group == "SO(3)"
    )
    assert (
        da.symmetry.discover_symmetries(body, right[:2], degree=0, start={"beta": 1.0}).group
        == "SO(3)"
    )  # the third is their bracket
    round_body = {"I1": 2, "I2": 2, "I3": 2}
    both = da.symmetry.discover_symmetries(
        body, [*right, *left], parameters=round_body, start={"beta": 1.0}
    )
    assert both.identification == "so(3) + so(3)"


def test_what_is_almost_a_symmetry_is_refused():
    almost = da.System([x, y], lagrangian=PLANE - Rational(1, 10**15) * x)
    found = da.symmetry.discover_symmetries(almost)
    assert [g.text for g in found.generators] == ["d/dy"]
    assert found.rejected and all(c.failing[0].by == "symbolically" for c in found.rejected)


def test_constraints_whose_derivative_vanishes_on_them_are_refused():
    squared = da.System(
        [x, y, z], kinetic=SPACE, constraints=[da.velocity((x.dot - z * y.dot) ** 2, name="flat")]
    )
    plain = squared.replacing(constraints=[da.velocity(x.dot - z * y.dot, name="flat")])
    fields = {"turn": {x: -y, y: x}, "shift": {x: 1}}
    with pytest.raises(FormError, match=r"state it as x_dot - y_dot\*z = 0"):
        da.symmetry.invariance(squared, fields)
    found = da.symmetry.invariance(plain, fields).generators
    assert not found["turn"].holds and found["shift"].holds


def test_time_and_energy():
    plate = symmetries_of("ball-on-rotating-plate")
    assert plate.time_translation and plate.energy.startswith("not conserved")
    driven = symmetries_of("driven-double-pendulum")
    assert not driven.time_translation and driven.energy.startswith("conserved")
    assert "between impacts" in symmetries_of("elastic-pendulum-wall").energy


def test_many_coordinates_are_tried_for_translations_only():
    q = da.coordinates("q1:19")
    chain = da.System(
        q, kinetic=sum(c.dot**2 for c in q) / 2, potential=sum((c - d) ** 2 for c, d in pairwise(q))
    )
    found = da.symmetry.discover_symmetries(chain)
    assert (
        found.dimension == 1
        and found.ansatz == "translations"
        and "more than 16" in found.diagnostics[0]
    )


def test_angles_make_circles():
    body = da.System([x, y], kinetic=PLANE, potential=cos(x))
    assert da.symmetry.discover_symmetries(body).group == "R"
    assert da.symmetry.discover_symmetries(body, angles=[y]).group == "SO(2)"


def test_reports():
    found = symmetries_of("snakeboard")
    assert "SO(2) x SE(2)" in found.text() and "d/dtheta - y d/dx + x d/dy" in found.text()
    assert found._repr_html_().startswith("<table>") and "| group |" in found._repr_markdown_()
    data = json.loads(json.dumps(found.to_json()))
    assert data["group"] == "SO(2) x SE(2)" and len(data["generators"]) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 2}, "degree"),
        ({"parameters": {"k3": 1}}, "no parameter `k3`"),
        ({"parameters": {"k1": "2"}}, "needs a finite number"),
        ({"ansatz": [{x: x.dot}]}, "contains x_dot"),
        ({"ansatz": [{z: 1}]}, "no coordinate"),
        ({"ansatz": [[1]]}, "component for each coordinate"),
        ({"start": {"w": 1}}, "no part of the state"),
    ],
    ids=["degree", "parameter", "text", "velocity", "coordinate", "length", "start"],
)
def test_wrong_calls_say_what_is_wrong(options, message):
    system = da.System([x, y], kinetic=PLANE, potential=k1 * x**2 + k2 * y**2)
    with pytest.raises(ModelError, match=message):
        da.symmetry.discover_symmetries(system, **options)


# -- certificates ----------------------------------------------------------------------------------


def test_a_certificate_names_the_part_that_fails():
    scenario = da.gallery.load("snakeboard")
    x, y, theta, _, phi = scenario.system.coordinates
    fields = {
        "motion": {x: -y, y: x, theta: 1},
        "turn": {x: -y, y: x},
        "steer": {phi: 1},
        "stretch": {x: x, y: y},
    }
    found = da.symmetry.invariance(scenario, fields)
    parts = {
        name: [part.part for part in certificate.failing]
        for name, certificate in found.generators.items()
    }
    wheels = ["constraint `back_wheels`", "constraint `front_wheels`"]
    assert parts == {
        "motion": [],
        "turn": wheels,
        "steer": wheels,
        "stretch": ["Lagrangian", *wheels],
    }
    assert not found.holds and "not a symmetry" in found.text()
    assert json.loads(json.dumps(found.to_json()))["generators"]["motion"]["by"] == "symbolically"


def test_an_action_is_certified_as_a_whole():
    sleigh = da.gallery.load("chaplygin-sleigh")
    x, y, theta = sleigh.system.coordinates
    fields = {"e_x": {x: 1}, "e_y": {y: 1}, "e_th": {x: -y, y: x, theta: 1}}
    assert da.symmetry.invariance(
        sleigh, da.symmetry.GroupAction(sleigh.system, da.lie.LieGroup.SE(2), generators=fields)
    ).holds
    with pytest.raises(ModelError, match="other coordinates"):
        da.symmetry.invariance(
            sleigh,
            da.symmetry.GroupAction([y, x, theta], da.lie.LieGroup.SE(2), generators=fields | {}),
        )


@pytest.mark.long
def test_the_set_of_the_constraints_counts_and_not_their_functions():
    """Rows that are mixed with functions of the configuration define the same set."""
    snake = da.gallery.load("snakeboard").system
    back, front = (c.expression for c in snake.constraints)
    x, y, theta, _, phi = snake.coordinates
    mixed = snake.replacing(
        constraints=[
            da.velocity(back * (2 + sin(x)) + y * front, name="one"),
            da.velocity(front - cos(y) * back, name="two"),
        ]
    )
    found = da.symmetry.invariance(
        mixed, {"shift": {x: 1}, "turn": {x: -y, y: x, theta: 1}, "steer": {phi: 1}}
    )
    assert [certificate.holds for certificate in found.generators.values()] == [True, True, False]
    assert found.generators["shift"].by == "symbolically"


def test_forces_are_compared_as_one_forms():
    knife = da.gallery.load("knife-edge")
    x, y, varphi = knife.system.coordinates
    assert da.symmetry.invariance(knife, {"motion": {x: -y, y: x, varphi: 1}}).holds
    pushed = knife.system.replacing(forces={x: 1})
    found = da.symmetry.invariance(pushed, {"motion": {x: -y, y: x, varphi: 1}, "shift": {x: 1}})
    assert [part.part for part in found.generators["motion"].failing] == ["forces"]
    assert found.generators["shift"].holds


def test_images_and_nonlinear_constraints():
    linked = da.gallery.load("linked-particles").system.replacing(potential=0)
    x1, x2, x3, x4 = linked.coordinates
    found = da.symmetry.invariance(
        linked,
        {"turn": {x1: -x2, x2: x1, x3: -x4, x4: x3}, "apart": {x3: 1}, "grow": {x1: x1 - x3}},
    )
    assert [certificate.holds for certificate in found.generators.values()] == [True, False, False]
    appell = da.gallery.load("appell").system.replacing(potential=0)
    q1, q2, q3 = appell.coordinates
    fields = {"turn": {q1: -q2, q2: q1}, "rise": {q3: 1}, "tilt": {q1: -q3, q3: q1}}
    found = da.symmetry.invariance(appell, fields, start={"q1_dot": 1.0, "q3_dot": 0.5})
    assert [certificate.holds for certificate in found.generators.values()] == [True, True, False]


# -- decisions on symbols and numbers --------------------------------------------------------------


def test_vanishing_is_proved_or_refuted_or_left_open():
    u = sympy.Symbol("u", real=True)
    assert vanishes(sin(u) ** 4 - cos(u) ** 4 + cos(2 * u)) is True
    assert vanishes(sin(u) ** 4 - cos(u) ** 4 + cos(2 * u) + Rational(1, 10**40)) is False
    assert vanishes(sqrt(u**2 + 2 * u + 1) - sympy.Abs(u + 1)) in (True, None)  # never False


def test_coefficients_are_recognised_only_where_all_sets_agree():
    b, c = sympy.symbols("b c")
    sets = [{"b": 0.7, "c": 1.9}, {"b": 1.2, "c": 0.8}, {"b": 0.9, "c": 1.1}]
    known = Recogniser([b, c], sets)
    for wanted in (Rational(3, 4), -b, 2 * b / c**2, b / (b + c), 1 / (b + c)):
        values = [float(wanted.subs(values)) for values in sets]
        assert sympy.simplify(known.expression(values) - wanted) == 0
    assert known.expression([float(sympy.exp(values["b"])) for values in sets]) is None


def test_brackets_that_close_only_inside_the_samples_do_not_close() -> None:
    x, y = da.coordinates("x y")
    fields = [
        sympy.Matrix([1, 0]),
        sympy.Matrix([0, x + sympy.Max(x - 10**7, 0) ** 3]),
        sympy.Matrix([0, 1]),
    ]
    plain = [sympy.Matrix([1, 0]), sympy.Matrix([0, x]), sympy.Matrix([0, 1])]
    _, constants = closed(
        [FoundField(field, None) for field in plain], [x, y], {}, lambda field: None
    )
    assert constants is not None and constants[0, 1, 2] == 1
    assert (
        closed([FoundField(field, None) for field in fields], [x, y], {}, lambda field: None)[1]
        is None
    )
