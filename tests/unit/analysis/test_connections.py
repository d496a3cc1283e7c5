"""Connections of systems with symmetry: values of the literature, symbols against numbers,
projections, and where they end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.analysis.proofs.bounded import differs_nowhere
from dalembert.errors import FormError, ModelError
from dalembert.geometry.vanishing import vanish


def symbols(system: da.System) -> dict[str, Any]:
    return {s.name: s for s in (*system.coordinates, *system.parameters)}


def plane(system: da.System, heading: str = "theta") -> dict[str, dict[Any, Any]]:
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


GROUPS = {
    "snakeboard": plane,
    "bicycle": plane,
    "chaplygin-sleigh": plane,
    "constrained-particle": lambda system: shifts(system, "x", "z"),
    "rolling-disk": lambda system: plane(system, "phi") | shifts(system, "psi"),
    "ball-on-rotating-plate": lambda system: shifts(system, "turn_x", "turn_y", "turn_z"),
}


def found(name: str, **options: Any) -> Any:
    scenario = da.gallery.load(name)
    return da.symmetry.connection(scenario, GROUPS[name](scenario.system), **options)


def snakeboard() -> Any:
    q = symbols(da.gallery.load("snakeboard").system)
    return found("snakeboard", section=[[-2 * q["r"] * cos(q["phi"]) ** 2, 0, sin(2 * q["phi"])]])


def bicycle() -> Any:
    return found("bicycle", section=[[1, 0, symbols(da.gallery.load("bicycle").system)["phi"]]])


# -- the literature --------------------------------------------------------------------------------


def test_the_values_of_the_snakeboard() -> None:
    """Bloch 5.9.65 and what follows, with m = r = 1, J0 = 0.25, at phi = 0.5; B in the index order
    of 5.9.53.
    """
    values = snakeboard().at({"psi": 0.3, "phi": 0.5}, {"m": 1.0, "r": 1.0, "J0": 0.25, "J1": 0.1})
    expected = {
        "A_psi": [-0.10518387310098706, 0.0, 0.057462211766482536],
        "Gamma": [-0.5, 0.0, 0.27315124492189524],
        "B_psi_phi": [-0.13507557646703494, 0.0, 0.21036774620197413],
        "F_phi": [0.0, 0.0, 0.6492232052047624],
        "section": [-1.5403023058681398, 0.0, 0.8414709848078965],
    }
    assert np.allclose(values.connection[:, 0], expected["A_psi"], rtol=0, atol=1e-10)
    assert np.allclose(values.connection[:, 1], 0, atol=1e-10)
    assert np.allclose(values.momentum_lift[:, 0], expected["Gamma"], rtol=0, atol=1e-10)
    assert np.allclose(values.curvature_swapped[:, 0, 1], expected["B_psi_phi"], rtol=0, atol=1e-10)
    assert np.allclose(
        values.curvature[:, 0, 1], -np.array(expected["B_psi_phi"]), rtol=0, atol=1e-10
    )
    assert np.allclose(values.lift_derivative[:, 0, 1], expected["F_phi"], rtol=0, atol=1e-10)
    assert np.allclose(values.lift_derivative[[0, 2], 0, 0], 0, atol=1e-10)
    assert np.allclose(values.section[:, 0], expected["section"], rtol=0, atol=1e-10)
    assert values.locked_inertia[0, 0] == pytest.approx(3.0806046117362795, abs=1e-10)


def test_the_values_of_the_bicycle() -> None:
    """Bloch 5.9.84 and what follows; its mass matrix is singular."""
    values = bicycle().at({"psi": 0.05, "phi": 0.1}, {"m": 1.0, "a": 1.0, "c": 0.5})
    assert np.allclose(
        values.connection[:, 0],
        [-0.04931998668789826, 0, -0.004931998668789826],
        rtol=0,
        atol=1e-10,
    )
    assert np.allclose(values.connection[:, 1], 0, atol=1e-10)
    assert np.allclose(
        values.momentum_lift[:, 0], [0.9876340191069217, 0, 0.09876340191069218], rtol=0, atol=1e-10
    )
    assert values.locked_inertia[0, 0] == pytest.approx(1.0125208130277452, abs=1e-10)


def test_the_formulas_of_the_snakeboard() -> None:
    board, q = snakeboard(), symbols(da.gallery.load("snakeboard").system)
    m, r, J0, phi = q["m"], q["r"], q["J0"], q["phi"]
    expected = sympy.Matrix(
        [[-J0 * sin(2 * phi) / (2 * m * r), 0], [0, 0], [J0 * sin(phi) ** 2 / (m * r**2), 0]]
    )
    assert differs_nowhere(zip(board.local, expected, strict=True)).by == "symbolically"
    lift = [-1 / (2 * m * r), 0, sin(phi) / cos(phi) / (2 * m * r**2)]
    assert differs_nowhere(
        zip(board.momentum_lift, map(sympy.S.One.__mul__, lift), strict=True)
    ).holds
    bend = [-J0 * cos(2 * phi) / (m * r), sympy.S.Zero, J0 * sin(2 * phi) / (m * r**2)]
    assert differs_nowhere([(board.curvature_swapped[a, 0, 1], bend[a]) for a in range(3)]).holds
    assert differs_nowhere([(board.locked_inertia[0], 4 * m * r**2 * cos(phi) ** 2)]).holds
    assert board.local.has(sympy.tan) is False


def test_the_nonholonomic_momentum_is_the_one_of_the_gallery() -> None:
    system = da.gallery.load("snakeboard").system
    assert differs_nowhere([(snakeboard().momentum[0], system.outputs["p"])]).holds


# -- symbols and numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(GROUPS))
def test_formulas_and_numbers_agree(name: str) -> None:
    connection = found(name)
    random = np.random.default_rng(3)
    for _ in range(3):
        shape = {q.name: float(random.uniform(0.2, 1.2)) for q in connection.shape}
        values = connection.at(shape)
        point = {
            s: (shape | dict(connection.parameters)).get(s.name, 0.0)
            for s in symbols(connection.system).values()
        }
        for formula, number in (
            (connection.local, values.connection),
            (connection.momentum_lift, values.momentum_lift),
            (connection.section, values.section),
            (connection.locked_inertia, values.locked_inertia),
            (connection.drift, values.drift[:, None]),
            (connection.curvature, values.curvature),
            (connection.lift_derivative, values.lift_derivative),
        ):
            written = np.array(
                [float(entry.subs(point)) for entry in sympy.flatten(formula)]
            ).reshape(number.shape)
            assert np.allclose(written, number, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["snakeboard", "bicycle", "ball-on-rotating-plate"])
def test_the_curvature_is_how_horizontal_lifts_fail_to_commute(name: str) -> None:
    """[X_al, X_be] = -B^a_{al be} e_a for the lifts X_al = d_al - A^a_al e_a."""
    connection = found(name)
    lift, q = connection.horizontal_lift, connection.principal.coordinates
    first, second = lift[:, 0], lift[:, 1]
    bracket = second.jacobian(q) * first - first.jacobian(q) * second
    bend = sympy.Matrix([connection.curvature[a, 0, 1] for a in range(len(connection.basis))])
    expected = sympy.Matrix([0, 0, *(-connection.group.frame * bend)])
    assert vanish(list(bracket - expected)).holds


@pytest.mark.parametrize("name", list(GROUPS))
def test_horizontal_velocities_obey_the_constraints_and_carry_no_momentum(name: str) -> None:
    connection = found(name)
    random = np.random.default_rng(8)
    split = connection.split(
        {q.name: float(random.uniform(0.2, 1.0)) for q in connection.system.coordinates}
    )
    assert np.allclose(split.constraints @ split.horizontal, 0, atol=1e-13)
    assert np.allclose(split.momentum_directions.T @ split.metric @ split.horizontal, 0, atol=1e-12)
    assert np.allclose(split.connection @ split.horizontal, 0, atol=1e-12)
    assert np.allclose(split.connection @ split.orbit, split.orbit, atol=1e-12)


@pytest.mark.parametrize("name", list(GROUPS))
def test_connections_are_equivariant(name: str) -> None:
    assert found(name).equivariance() < 1e-12


@pytest.mark.parametrize("name", list(GROUPS))
def test_cartans_equation_holds(name: str) -> None:
    assert found(name).principal.cartan().holds


# -- kinds -----------------------------------------------------------------------------------------


def rolling_wheel() -> tuple[da.System, dict[str, dict[Any, Any]]]:
    """An upright wheel, with the shifts of the plane: two constraints on two group velocities."""
    x, y, theta, psi = da.coordinates("x y theta psi")
    r, m = da.parameters("r m", positive=True)
    rolling = [
        da.velocity(x.dot - r * cos(theta) * psi.dot),
        da.velocity(y.dot - r * sin(theta) * psi.dot),
    ]
    kinetic = m / 2 * (x.dot**2 + y.dot**2 + theta.dot**2 + psi.dot**2)
    system = da.System([x, y, theta, psi], kinetic=kinetic, constraints=rolling, name="wheel")
    return system, shifts(system, "x", "y")


def test_a_purely_kinematic_connection() -> None:
    system, group = rolling_wheel()
    connection = da.symmetry.connection(system, group)
    theta, r = symbols(system)["theta"], symbols(system)["r"]
    assert connection.kind == "purely kinematic" and connection.momentum_lift.shape == (2, 0)
    assert connection.local == sympy.ImmutableMatrix([[0, -r * cos(theta)], [0, -r * sin(theta)]])
    assert [connection.curvature[a, 0, 1] for a in range(2)] == [r * sin(theta), -r * cos(theta)]


def test_a_mechanical_connection() -> None:
    """A body with a rotor on it turns back by J / (I + J) of the rotor's turn."""
    theta, psi = da.coordinates("theta psi")
    I, J = da.parameters("I J", positive=True)
    body = da.System(
        [theta, psi],
        kinetic=I / 2 * theta.dot**2 + J / 2 * (theta.dot + psi.dot) ** 2,
        name="body with rotor",
    )
    connection = da.symmetry.connection(body, {"turn": {theta: 1}})
    assert connection.kind == "unconstrained"
    assert connection.local == sympy.ImmutableMatrix([[J / (I + J)]])
    numbers = connection.momentum_map.mechanical_connection({}, {"I": 2.0, "J": 0.5})
    assert np.allclose(numbers, [[1.0, 0.2]])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("snakeboard", "general"),
        ("bicycle", "general"),
        ("chaplygin-sleigh", "general"),
        ("constrained-particle", "general"),
        ("rolling-disk", "general"),
        ("ball-on-rotating-plate", "horizontal symmetries"),
    ],
)
def test_the_kinds_of_gallery_systems(name: str, kind: str) -> None:
    assert found(name).kind == kind


def test_a_fixed_subalgebra_that_is_no_ideal_gives_no_horizontal_symmetry() -> None:
    """The sleigh may move along e_x and e_turn whatever its place, but these are no ideal of se(2):
    the momentum changes.
    """
    sleigh = found("chaplygin-sleigh")
    assert not sleigh.section.free_symbols and sleigh.kind == "general"
    motion = da.simulate(da.gallery.load("chaplygin-sleigh"), span=(0, 2), at=[0.0, 1.0, 2.0])
    assert np.ptp(motion["theta_dot"]) > 1e-3


def test_translations_are_horizontal_symmetries_where_only_the_turn_is_bound() -> None:
    """R^2 is normal in SE(2): the space components of the momentum are conserved, those in the body
    turn.
    """
    x, y, theta, psi = da.coordinates("x y theta psi")
    kinetic = (x.dot**2 + y.dot**2) / 2 + theta.dot**2 + psi.dot**2
    board = da.System(
        [x, y, theta, psi],
        kinetic=kinetic,
        constraints=[da.velocity(theta.dot - 2 * psi.dot)],
        name="geared",
    )
    connection = da.symmetry.connection(board, plane(board))
    assert connection.kind == "horizontal symmetries"
    assert connection.local == sympy.ImmutableMatrix([0, 0, -2])


def test_a_constraint_on_the_shape_is_refused() -> None:
    x, y, theta = da.coordinates("x y theta")
    kinetic = (x.dot**2 + y.dot**2 + theta.dot**2) / 2
    clamped = da.System(
        [x, y, theta], kinetic=kinetic, constraints=[da.velocity(theta.dot, name="clamp")]
    )
    with pytest.raises(FormError, match="bind the shape"):
        da.symmetry.connection(clamped, shifts(clamped, "x", "y"))
    assert (
        da.symmetry.connection(clamped, shifts(clamped, "x", "y", "theta")).kind
        == "horizontal symmetries"
    )


# -- projections -----------------------------------------------------------------------------------


def test_the_complement_may_be_chosen() -> None:
    board, place = snakeboard(), {"x": 0.3, "y": -0.4, "theta": 0.8, "psi": 0.1, "phi": 0.5}
    plain = board.split(place)
    # e_y and e_turn complement e = (-2 cos^2, 0, sin 2phi); e itself does not
    chosen = board.split(place, complement=[[0, 0], [1, 0], [0, 1]])
    assert np.allclose(plain.connection, chosen.connection, atol=1e-13)
    assert not np.allclose(plain.kinematic, chosen.kinematic, atol=1e-3)
    assert np.allclose(plain.symmetric, chosen.symmetric, atol=1e-13)
    assert np.allclose(plain.kinematic + plain.symmetric, plain.connection, atol=1e-13)
    assert not np.allclose(chosen.kinematic + chosen.symmetric, plain.connection, atol=1e-3)
    section = board.at({"phi": 0.5}).section
    with pytest.raises(ModelError, match="complement"):
        board.split(place, complement=np.hstack([section, [[0], [1], [0]]]))
    with pytest.raises(ModelError, match="complement"):
        board.split(place, complement=[[1], [0], [0]])


@pytest.mark.parametrize("seed", range(3))
def test_the_vertical_part_of_a_velocity_is_the_body_velocity_of_the_locked_system(
    seed: int,
) -> None:
    """A q_dot = e(g) (xi + A_loc r_dot), by the numbers at a configuration and by the local
    form.
    """
    board, random = snakeboard(), np.random.default_rng(seed)
    place = {
        q.name: float(v)
        for q, v in zip(board.system.coordinates, random.uniform(-1, 1, 5), strict=True)
    }
    q_dot = random.uniform(-1, 1, 5)
    split = board.split(place)
    xi = np.linalg.lstsq(split.orbit, np.append(q_dot[:3], [0, 0]), rcond=None)[0]
    expected = split.orbit @ (xi + board.at({"phi": place["phi"]}).connection @ q_dot[3:])
    assert np.allclose(split.connection @ q_dot, expected, atol=1e-13)


# -- forms -----------------------------------------------------------------------------------------


def test_forms_of_covectors() -> None:
    """d alpha_mu = B_mu where the coadjoint action fixes mu, and only there (Bloch 2.9.16)."""
    board = snakeboard()
    geometry = board.principal
    for mu, same in (([0, 0, 1], True), ([1, 0, 0], False)):
        assert geometry.is_fixed(mu) is same
        assert vanish(list(geometry.exterior_of(mu) - board.two_form(mu))).holds is same
        assert vanish(list(board.one_form(mu) * geometry.generators - sympy.Matrix([mu]))).holds


def test_a_covector_must_fit() -> None:
    board = snakeboard()
    with pytest.raises(ModelError, match="component for each"):
        board.one_form([1, 0])
    with pytest.raises(da.errors.ExpressionError, match="text"):
        board.one_form(["x", "0", "0"])
    with pytest.raises(ModelError, match="text"):
        board.principal.two_form(["x", "0", "0"])


# -- where the connection ends ---------------------------------------------------------------------


def test_the_snakeboard_ends_where_its_wheels_are_across() -> None:
    board = snakeboard()
    jumps = board.rank_jumps()
    assert [round(jump.place["phi"], 12) for jump in jumps] == [
        round(-np.pi / 2, 12),
        round(np.pi / 2, 12),
    ]
    assert all((jump.dimension, jump.generic, jump.freedom) == (2, 1, 0) for jump in jumps)
    assert "S has dimension 2, and 1 elsewhere" in str(jumps[1])
    assert len(board.rank_jumps(within={"phi": (0, 3)})) == 1
    with pytest.raises(ModelError, match="leave 2 body velocities free"):
        board.at({"phi": np.pi / 2})
    with pytest.raises(ModelError, match="no shape coordinate"):
        board.rank_jumps(within={"theta": (0, 1)})


def test_a_section_may_degenerate_alone() -> None:
    q = symbols(da.gallery.load("snakeboard").system)
    e = [-2 * q["r"] * cos(q["phi"]) ** 2, 0, sin(2 * q["phi"])]
    board = found("snakeboard", section=[[(q["phi"] - 1) * component for component in e]])
    alone = [
        jump for jump in board.rank_jumps(within={"phi": (-1, 1.5)}) if jump.cause == "section"
    ]
    assert len(alone) == 1 and alone[0].place["phi"] == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(ModelError, match="section degenerates"):
        board.at({"phi": 1.0})
    assert np.isfinite(board.at({"phi": 0.9}).connection).all()


def test_a_disk_that_lies_flat_has_no_locked_inertia() -> None:
    """Its lean theta is a right angle: the turns phi and psi are one."""
    jumps = found("rolling-disk").rank_jumps(within={"theta": (0, 3)})
    assert [jump.cause for jump in jumps] == ["inertia"]
    assert (
        jumps[0].place["theta"] == pytest.approx(np.pi / 2, abs=1e-5) and jumps[0].inertia_rank == 1
    )
    assert "locked inertia has rank 1 of 2" in str(jumps[0])


@pytest.mark.parametrize("power", [1, 2])
def test_a_curve_of_jumps_is_sampled(power: int) -> None:
    """One constraint on a shift whose coefficient vanishes on a circle of shapes."""
    a, b, x = da.coordinates("a b x")
    bond = (a**2 + b**2 - 1) ** power * x.dot + a.dot
    system = da.System(
        [a, b, x], kinetic=(a.dot**2 + b.dot**2 + x.dot**2) / 2, constraints=[da.velocity(bond)]
    )
    connection = da.symmetry.connection(system, shifts(system, "x"))
    jumps = connection.rank_jumps(within={"a": (-2, 2), "b": (-2, 2)})
    assert connection.kind == "purely kinematic" and len(jumps) > 3
    for jump in jumps:
        assert jump.place["a"] ** 2 + jump.place["b"] ** 2 == pytest.approx(1.0, abs=1e-5)
        assert jump.dimension == 1 and (jump.freedom == 1 or power == 2)


@pytest.mark.long
@pytest.mark.parametrize("name", ["bicycle", "constrained-particle", "ball-on-rotating-plate"])
def test_no_jump_is_reported_where_there_is_none(name: str) -> None:
    assert found(name).rank_jumps() == ()


# -- calls and texts -------------------------------------------------------------------------------


def test_names_are_checked() -> None:
    board = snakeboard()
    with pytest.raises(ModelError, match="did you mean phi"):
        board.at({"phii": 0.5})
    with pytest.raises(ModelError, match="`phi` has no value"):
        board.at()
    system, group = rolling_wheel()
    with pytest.raises(ModelError, match="`r` has no value"):
        da.symmetry.connection(system, group).at({"theta": 0.1})


def test_groups_by_their_chart() -> None:
    scenario = da.gallery.load("snakeboard")
    q = symbols(scenario.system)
    chart = da.lie.LieGroup.SE(2).chart((q["x"], q["y"], q["theta"]))
    by_chart = da.symmetry.connection(scenario, chart)
    assert (
        by_chart.basis == ("xi_x", "xi_y", "xi_th") and by_chart.local == found("snakeboard").local
    )
    with pytest.raises(ModelError, match="left-invariant fields"):
        da.symmetry.connection(scenario, da.lie.LieGroup.SE(2))


def test_texts() -> None:
    board = snakeboard()
    assert "general: constraints together with a momentum equation" in board.text()
    assert "xi_turn, psi" in str(board) and "Gamma" in board.text()
    assert r"\sin" in board.latex() and "begin{matrix}" in board.latex()
    assert (
        repr(board)
        == "<Connection of Snakeboard: general, over (psi, phi) with values in (xi_x, xi_y,"
        " xi_turn)>"
    )
    assert board._repr_html_().startswith("<table>") and board._repr_markdown_().startswith("### ")
    assert "Prescribed" in found("ball-on-rotating-plate").text()


@pytest.mark.parametrize(
    "size", [sympy.Float(1e-11), 1], ids=["small coefficient", "beyond samples"]
)
def test_symmetries_are_not_horizontal_by_samples(size: Any) -> None:
    x, y, psi = da.coordinates("x y psi")
    bend = size * (psi if size != 1 else sympy.Max(psi - 50, 0))
    kinetic = (x.dot**2 + y.dot**2 + psi.dot**2) / 2
    system = da.System(
        [x, y, psi], kinetic=kinetic, constraints=[da.velocity(y.dot - (1 + bend) * x.dot)]
    )
    assert da.symmetry.connection(system, shifts(system, "x", "y")).kind == "general"
