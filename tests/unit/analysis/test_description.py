"""What `describe` says, against theory and against motions."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin, sqrt

import dalembert as da
from dalembert.analysis.overview.description import Description, describe
from dalembert.errors import StartError

x, y, z, theta = da.coordinates("x y z theta")
m, J = da.parameters("m J", positive=True)


@cache
def described(name: str) -> Description:
    """A gallery system with random parameters, looked at near its own start."""
    scenario = da.gallery.load(name)
    return describe(scenario.system, start=scenario.start)


def plane(constraints: Any, **more: Any) -> Any:
    """A body in the plane under constraints."""
    kinetic = m / 2 * (x.dot**2 + y.dot**2) + J / 2 * theta.dot**2
    return da.System([x, y, theta], **({"kinetic": kinetic, "constraints": constraints} | more))


def facts(system: Any) -> dict[str, Any]:
    return {c.name: c for c in describe(system).constraints}


# -- kinds and integrability -----------------------------------------------------------------------

INTEGRABLE = {
    "spherical-pendulum": {"rod": ("holonomic", True)},
    "nonholonomic-particle": {"slope": ("pfaffian", False)},
    "two-particles-incline": {
        "rod": ("holonomic", True),
        "skate1": ("pfaffian", False),
        "skate2": ("pfaffian", False),
    },
    "driven-double-pendulum": {"drive": ("pfaffian", False)},
    "elastic-pendulum-arc": {"arc": ("holonomic", True)},
    "elastic-pendulum-printed": {"steering": ("pfaffian", True)},
    "elastic-pendulum-steered": {"steering": ("pfaffian", True)},
    "elastic-pendulum-wall": {"wall": ("unilateral", None)},
    "linked-particles": {"link": ("image", True)},
    "appell": {"slope": ("nonlinear", False)},
    "rolling-disk": {"rolling_x": ("pfaffian", False), "rolling_y": ("pfaffian", False)},
    "knife-edge": {"blade": ("pfaffian", False)},
    "ball-on-rotating-plate": {"rolling_x": ("affine", False), "rolling_y": ("affine", False)},
    "snakeboard-gait": {
        "back_wheels": ("pfaffian", False),
        "front_wheels": ("pfaffian", False),
        "rotor": ("holonomic", True),
        "steering": ("holonomic", True),
    },
}


@pytest.mark.parametrize("name", INTEGRABLE)
def test_kinds_and_integrability_of_the_gallery(name: str) -> None:
    assert {c.name: (c.kind, c.integrable) for c in described(name).constraints} == INTEGRABLE[name]


def test_gavins_constraint_shows_its_integral() -> None:
    (steering,) = described("elastic-pendulum-printed").constraints
    theta, u = da.coordinates("theta u")
    length, b = da.parameters("l", positive=True), da.parameters("b")
    angle = theta + b * u / length
    expected = u / length - b * theta + sympy.log(sympy.Abs(cos(angle) + b * sin(angle)))
    assert sympy.simplify(steering.integral - expected) == 0
    assert str(steering.integral) in steering.note


def test_the_integral_is_constant_along_the_motion() -> None:
    scenario = da.gallery.load("elastic-pendulum-printed")
    (steering,) = describe(scenario).constraints
    motion = da.simulate(scenario)
    numbers = {symbol: scenario.parameters[symbol.name] for symbol in scenario.system.parameters}
    values = sympy.lambdify(scenario.system.coordinates, steering.integral.subs(numbers), "numpy")
    along = values(motion["theta"], motion["u"])
    assert np.ptp(along) < 1e-8


def test_without_a_closed_form_there_is_numerical_evidence() -> None:
    (steering,) = described("elastic-pendulum-steered").constraints
    assert steering.integral is None
    assert "Frobenius residual" in steering.note
    assert "generic points" in steering.note


GROWTH = {
    "knife-edge": (2, 3),
    "rolling-disk": (3, 4, 5),
    "snakeboard": (3, 4, 5),
    "two-particles-incline": (2, 3),
    "unicycle-rider": (4, 5, 6),
    "elastic-pendulum-printed": (1,),
    "linked-particles": (3,),
    "driven-double-pendulum": (2, 3),
    "spherical-pendulum": (),
}


@pytest.mark.parametrize("name", GROWTH)
def test_growth_vectors(name: str) -> None:
    assert described(name).growth == GROWTH[name]


def test_a_row_with_time_alone_is_affine_rheonomic_and_integrated() -> None:
    (drive,) = describe(plane([da.velocity(x.dot - cos(da.t), name="drive")])).constraints
    assert (drive.kind, drive.rheonomic, drive.integrable, drive.ideal, drive.workless) == (
        "affine",
        True,
        True,
        True,
        False,
    )
    assert drive.integral == x - sin(da.t)


def test_a_differential_written_with_velocities() -> None:
    (circle,) = describe(plane([da.velocity(x * x.dot + y * y.dot, name="circle")])).constraints
    assert (circle.kind, circle.rheonomic, circle.integrable, circle.ideal) == (
        "pfaffian",
        False,
        True,
        True,
    )
    assert sympy.diff(circle.integral, x) * y == sympy.diff(circle.integral, y) * x


@pytest.mark.long
def test_a_row_that_is_integrable_only_with_another() -> None:
    contact = da.velocity(y.dot - theta * x.dot, name="contact")
    assert facts(plane([contact]))["contact"].integrable is False
    assert facts(plane([contact, da.velocity(x.dot, name="stop")]))["contact"].integrable is True


def test_a_nonlinear_way_to_write_a_linear_constraint_is_undecided() -> None:
    found = describe(plane([da.velocity((x.dot - y.dot) * (1 + x.dot**2), name="odd")]))
    assert (found.constraints[0].kind, found.constraints[0].integrable) == ("nonlinear", None)
    assert found.configuration_freedom is None


def test_a_hamiltonian_that_is_not_quadratic_is_described_in_momenta() -> None:
    """The velocities of a relativistic particle are not linear in its momenta."""
    hamiltonian = sqrt(m**2 + x.momentum**2 + y.momentum**2)
    by_velocity = da.System(
        [x, y], hamiltonian=hamiltonian, constraints=[da.velocity(x.dot - y * y.dot, name="slope")]
    )
    (derivative,) = describe(by_velocity).constraints
    assert (derivative.kind, derivative.integrable) == ("pfaffian", True)
    by_momentum = by_velocity.replacing(constraints=[da.momentum(x.momentum - 1, name="push")])
    (push,) = describe(by_momentum).constraints
    assert (push.kind, push.integrable) == ("nonlinear", False)
    assert describe(by_velocity).forms["lagrange"] is not None


def test_a_nonlinear_momentum_constraint() -> None:
    speed = da.momentum(x.momentum**2 + y.momentum**2 - 1, name="speed")
    (found,) = describe(plane([speed])).constraints
    assert (found.kind, found.integrable, found.ideal, found.workless) == (
        "nonlinear",
        False,
        True,
        False,
    )


def test_momentum_constraints_are_read_through_the_legendre_transformation() -> None:
    """p_x - a with p_x = m x_dot + a is homogeneous in the velocities although it does not look
    so.
    """
    a = da.parameters("a")
    lagrangian = m / 2 * (x.dot**2 + y.dot**2) + a * x.dot
    system = da.System(
        [x, y], lagrangian=lagrangian, constraints=[da.momentum(x.momentum - a, name="stop")]
    )
    (stop,) = describe(system).constraints
    assert (stop.kind, stop.integrable) == ("pfaffian", True)


def test_an_image_that_is_not_involutive() -> None:
    u, w = da.speeds("u w")
    system = plane(
        [da.image({x: u * cos(theta), y: u * sin(theta), theta: w}, [u, w], name="blade")]
    )
    found = describe(system)
    assert (found.constraints[0].kind, found.constraints[0].integrable) == ("image", False)
    assert (found.growth, found.degrees_of_freedom, found.configuration_freedom) == ((2, 3), 2, 3)


# -- rank, freedom, inertia ------------------------------------------------------------------------


def test_dependent_rows_are_named() -> None:
    found = described("two-particles-incline")
    assert (found.rank, found.rows) == (2, 3)
    assert found.dependent == (("rod", "skate1", "skate2"),)
    assert (found.degrees_of_freedom, found.configuration_freedom) == (2, 3)


def test_only_the_rows_of_a_relation_are_named() -> None:
    rows = [
        da.velocity(x.dot, name="a"),
        da.velocity(y.dot, name="b"),
        da.velocity(2 * x.dot, name="c"),
    ]
    assert describe(plane(rows)).dependent == (("a", "c"),)


@pytest.mark.parametrize(
    ("name", "state", "rank"),
    [
        ("bicycle", "singular but regular on the constraints", 4),
        ("rolling-disk", "regular", 5),
        ("bar-pendulum", "regular", 1),
    ],
)
def test_mass_matrices(name: str, state: str, rank: int) -> None:
    assert (described(name).mass_matrix, described(name).mass_rank) == (state, rank)


@pytest.mark.long
def test_a_mass_matrix_that_is_singular_everywhere() -> None:
    found = describe(da.System([x, y], kinetic=m / 2 * x.dot**2, potential=-(x * y)))
    assert (found.mass_matrix, found.mass_rank) == ("singular", 1)
    assert found.energy_status == "proved"  # along whatever motions there are
    assert found.forms["hamilton"] is not None


FREEDOM = {
    "rolling-disk": (3, 5),
    "snakeboard-gait": (1, 3),
    "elastic-pendulum-printed": (1, 1),
    "appell": (2, 3),
}


@pytest.mark.parametrize("name", FREEDOM)
def test_freedom_of_velocities_and_of_places(name: str) -> None:
    assert (described(name).degrees_of_freedom, described(name).configuration_freedom) == FREEDOM[
        name
    ]


@pytest.mark.parametrize(
    ("name", "workless"),
    [
        ("rolling-disk", True),
        ("spherical-pendulum", True),
        ("appell", True),
        ("driven-double-pendulum", True),
        ("ball-on-rotating-plate", False),
        ("snakeboard-gait", False),
    ],
)
def test_admissible_ideal_and_workless(name: str, workless: bool) -> None:
    """Every reaction is without virtual work; moving constraints have power on the motion."""
    assert described(name).admissible
    assert described(name).ideal
    assert described(name).workless is workless


@pytest.mark.long
def test_workless_means_that_the_reaction_has_no_power() -> None:
    for name in ("ball-on-rotating-plate", "rolling-disk", "snakeboard-gait"):
        motion = da.simulate(da.gallery.load(name), span=(0, 1))
        velocities = np.array([motion[v] for v in motion.system.velocities])
        power = np.abs((motion.total_reaction * velocities).sum(axis=0)).max()
        assert bool(power < 1e-9) is described(name).workless


# -- conserved quantities --------------------------------------------------------------------------

CONSERVED = {
    "spherical-pendulum": {"energy"},
    "nonholonomic-particle": {"energy", "p_z"},
    "driven-double-pendulum": {"energy"},
    "forced-oscillator": set(),
    "two-planar-bodies": {"energy", "p_theta1 + p_theta2"},
    "constrained-particle": {"energy", "p_y"},
    "snakeboard": {"energy", "p_psi", "p_phi"},
    "snakeboard-gait": set(),
    "knife-edge": set(),
    "chaplygin-sleigh": {"energy"},
    "linked-particles": {"energy"},
    "unicycle-rider": {"energy"},
    "ball-on-rotating-plate": {"p_turn_z", "p_turn_x - p_y*r", "p_turn_y + p_x*r"},
}


@pytest.mark.parametrize("name", CONSERVED)
def test_what_is_conserved_stays_so_along_a_motion_and_the_energy_else_does_not(name: str) -> None:
    found = described(name)
    assert {item.name for item in found.conserved} == CONSERVED[name]
    scenario = da.gallery.load(name)
    motion = da.simulate(scenario)
    numbers = {symbol: scenario.parameters[symbol.name] for symbol in scenario.system.parameters}
    for item in found.conserved:
        if item.expression is None:
            continue
        expression = item.expression.subs(numbers)
        symbols = sorted(expression.free_symbols, key=str)
        values = sympy.lambdify(symbols, expression, "numpy")(
            *[motion[symbol] for symbol in symbols]
        )
        assert np.ptp(values) < 1e-8
    drift = np.ptp(motion.energy) / (1 + np.abs(motion.energy).max())
    assert drift < 1e-8 if "energy" in CONSERVED[name] else drift > 1e-6


def test_forces_without_power_do_not_break_the_energy() -> None:
    """A magnetic force turns the velocity and does no work."""
    b = da.parameters("b")
    system = da.System(
        [x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), forces={x: b * y.dot, y: -b * x.dot}
    )
    assert {item.name for item in describe(system).conserved} == {"energy"}


def test_a_free_input_may_do_work() -> None:
    push = da.inputs("push")
    system = da.System([x], kinetic=m / 2 * x.dot**2, forces={x: push}, inputs=[push])
    found = describe(system)
    assert found.conserved == ()
    assert "inputs" in found.energy


def test_work_of_a_nonideal_constraint_is_said() -> None:
    rub = da.velocity(y.dot, name="rail", work={x: -x.dot})
    found = describe(plane([rub]))
    assert "prescribed virtual work" in found.constraints[0].note
    assert "energy" not in {item.name for item in found.conserved}


# -- forms, words, data ----------------------------------------------------------------------------


def test_every_form_applies_or_says_why_not() -> None:
    forms = described("bicycle").forms
    assert forms["lagrange"] is None
    assert forms["hamilton"] is not None and "singular" in forms["hamilton"]
    assert described("linked-particles").forms["implicit-lagrangian"] is None
    assert "image" in (described("linked-particles").forms["lagrange"] or "")


@pytest.mark.parametrize("name", da.gallery.names("mechanical"))
def test_every_gallery_system_is_described(name: str) -> None:
    found = described(name)
    data = found.to_json()
    assert json.loads(json.dumps(data)) == data
    assert {"constraints", "rank", "degrees_of_freedom", "forms"} <= set(data)
    assert all({"name", "kind", "integrable"} <= set(c) for c in data["constraints"])
    assert all(form["applies"] or form["why"] for form in data["forms"].values())
    text = found.text()
    assert str(found) == repr(found) == text
    assert all(len(line) <= 120 for line in text.splitlines())
    assert all(c.name in text for c in found.constraints)
    assert found._repr_html_().startswith("<table>")
    assert found._repr_markdown_().startswith("### ")


def test_given_values_are_used_and_wrong_ones_refused() -> None:
    system = plane([da.velocity(x.dot - m * y.dot, name="slope")])
    assert system.describe(parameters={"m": 2.0}).rank == 1
    with pytest.raises(da.errors.ModelError, match="no parameter"):
        describe(system, parameters={"mass": 1.0})


def test_contradictory_constraints_have_no_state() -> None:
    with pytest.raises(StartError, match="No state"):
        describe(plane([da.velocity(x.dot - 1, name="a"), da.velocity(x.dot - 2, name="b")]))


def test_a_start_helps_where_the_model_is_not_defined() -> None:
    system = da.System([x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=-sqrt(x - 50))
    found = describe(system, start={"x": 60.0})
    assert found.degrees_of_freedom == 2


# -- what samples cannot establish -----------------------------------------------------------------


@pytest.mark.parametrize(
    "potential", [1e-12 * y**2, sympy.Max(y - 2, 0) ** 2, sympy.Max(y - 10**7, 0) ** 2], ids=str
)
def test_a_potential_that_samples_do_not_see_keeps_no_momentum(potential: sympy.Expr) -> None:
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=potential)
    found = describe(system)
    assert [item.name for item in found.conserved] == ["energy", "p_x"]
    with pytest.raises(da.errors.FormError, match="cyclic"):
        da.symmetry.routh(system, [y])


@pytest.mark.long
def test_a_constraint_that_is_affine_beyond_the_samples() -> None:
    system = plane([da.velocity(y.dot - x.dot - sympy.Max(x - 10**6, 0), name="late")])
    (late,) = describe(system).constraints
    assert late.kind == "affine"
    assert late.workless is None
    assert "energy" not in [item.name for item in describe(system).conserved]


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_momenta_along_directions_in_any_units(unit):
    """p_x + s p_y is conserved where the potential is one of s x - y, whatever s is worth."""
    x, y = da.coordinates("x y")
    s = da.parameters("s", positive=True)
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=(s * x - y) ** 2)
    found = da.describe(system, {s: 0.7 * unit})
    momenta = [item.expression for item in found.conserved if item.expression is not None]
    assert len(momenta) == 1
    ratio = momenta[0].coeff(y.momentum) / momenta[0].coeff(x.momentum)
    assert sympy.simplify(ratio / s) == 1


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_the_power_of_a_reaction_in_any_units(unit):
    """A conveyor that moves with the speed 1 in a symbol of other units does work."""
    x, y = da.coordinates("x y")
    belt = da.velocity(x.dot / unit - 1, name="belt")
    system = da.System([x, y], kinetic=(x.dot**2 / unit**2 + y.dot**2) / 2, constraints=[belt])
    assert da.describe(system, start={x.dot: unit, y.dot: 5.0}).constraints[0].workless is False


def test_a_reaction_that_is_powerless_to_rounding_is_not_proved_to_be():
    m = da.parameters("m", positive=True)
    x, y = da.coordinates("x y")
    root = sympy.sin(1.0)
    rest = (m + root) * (m - root) + root**2 - m**2
    held = da.velocity(x.dot - y.dot + rest, name="held")
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[held])
    found = da.describe(system)
    assert "energy" not in [item.name for item in found.conserved]
    assert found.energy_status == "not established"


def test_combinations_of_constraints_that_are_not_integrable_alone_are_named() -> None:
    """Two wheels on one axle: 2 b theta - r (phi_r - phi_l), whichever way they are stated."""
    x, y, theta, right, left, lean = da.coordinates("x y theta phi_r phi_l alpha")
    b, r = da.parameters("b r", positive=True)
    q = [x, y, theta, right, left, lean]
    kinetic = sum(s.dot**2 for s in q) / 2 + x.dot * lean.dot * sympy.cos(theta + lean) / 3
    ahead = x.dot * sympy.cos(theta) + y.dot * sympy.sin(theta)
    side = da.velocity(y.dot * sympy.cos(theta) - x.dot * sympy.sin(theta), name="side")
    rolling = [
        da.velocity(ahead + b * theta.dot - r * right.dot, name="right"),
        da.velocity(ahead - b * theta.dot - r * left.dot, name="left"),
    ]
    speed = r * (right.dot + left.dot) / 2
    solved = [
        da.velocity(x.dot - speed * sympy.cos(theta), name="x"),
        da.velocity(y.dot - speed * sympy.sin(theta), name="y"),
        da.velocity(theta.dot - r * (right.dot - left.dot) / (2 * b), name="turn"),
    ]
    for rows in ([side, *rolling], solved[:2] + solved[2:], [solved[0], solved[1], rolling[0]]):
        found = da.System(q, kinetic=kinetic, constraints=rows).describe()
        assert found.configuration_freedom == 5 and len(found.integrals) == 1
        kept = found.integrals[0]
        ratio = sympy.simplify(kept.diff(theta) / (2 * b))
        expected = ratio * (2 * b * theta - r * (right - left))
        assert ratio != 0 and sympy.simplify(sympy.expand(kept - expected)) == 0


def test_a_set_without_integrals_names_none() -> None:
    x, y, theta = da.coordinates("x y theta")
    blade = da.velocity(y.dot * sympy.cos(theta) - x.dot * sympy.sin(theta))
    kinetic = (x.dot**2 + y.dot**2 + theta.dot**2) / 2
    found = da.System([x, y, theta], kinetic=kinetic, constraints=[blade]).describe()
    assert found.integrals == () and "kept constant" not in str(found)
