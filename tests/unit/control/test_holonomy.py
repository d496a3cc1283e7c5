"""Base, fibre and loops: both integrals against each other and against areas, closed forms, Dido's
circles.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import dblquad, quad
from sympy import cos, sin, tan

import dalembert as da
from dalembert.errors import FormError, ModelError, RunError

x, y, z, w, theta = da.coordinates("x y z w theta")
u, v = da.inputs("u v")
KNIFE = da.Flow({x: u, y: v, z: -x * v}, inputs=[u, v], name="knife edge")
HEISENBERG = da.Flow({x: u, y: v, z: (x * v - y * u) / 2}, inputs=[u, v], name="Heisenberg")
WHEEL = da.Flow({x: u * cos(theta), y: u * sin(theta), theta: v}, inputs=[u, v], name="wheel")
BUMPY = da.Flow(
    {x: u, y: v, z: sin(x) * cos(y) * v + x * y * u, w: x**2 * v}, inputs=[u, v], name="bumpy"
)


# -- base and fibre --------------------------------------------------------------------------------


def test_the_base_is_read_off_the_rates() -> None:
    found = da.control.fibration(BUMPY)
    assert (found.base, found.fibre, found.order) == ((x, y), (z, w), 1)
    assert found.coefficients == sympy.Matrix([[x * y, sin(x) * cos(y)], [0, x**2]])
    assert sympy.simplify(found.curvature[0, 1][0] - (cos(x) * cos(y) - x)) == 0


def test_a_chosen_base_divides_by_what_the_inputs_do() -> None:
    found = da.control.fibration(WHEEL, base=[x, theta])
    assert found.fibre == (y,)
    assert sympy.simplify(found.coefficients[0] - tan(theta)) == 0 and found.coefficients[1] == 0
    assert sympy.simplify(found.curvature[0, 1][0] + 1 / cos(theta) ** 2) == 0


def test_a_dynamic_extension_has_the_same_fibre() -> None:
    z1, z2, z3, z4, z5 = da.coordinates("z1 z2 z3 z4 z5")
    flow = da.Flow(
        {z1: z4, z2: z5, z3: -z1 * z5, z4: u + v * z3 - z1 * z5**2, z5: v}, inputs=[u, v]
    )
    found = da.control.fibration(flow)
    assert (found.base, found.fibre, found.speeds, found.order) == ((z1, z2), (z3,), (z4, z5), 2)
    wanted = sympy.symbols("p q")
    driven = {s: rate.subs(found.inputs_for(wanted)) for s, rate in flow.rates.items()}
    assert [sympy.expand(driven[s]) for s in (z4, z5)] == list(wanted)


def rolling_disk() -> tuple[da.System, Any]:
    """An upright disk: it rolls by the angle w and heads along theta."""
    r = da.parameters("r", positive=True)
    system = da.System(
        [theta, w, x, y],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2 + w.dot**2) / 2,
        constraints=[
            da.velocity(x.dot - r * w.dot * cos(theta)),
            da.velocity(y.dot - r * w.dot * sin(theta)),
        ],
        name="upright disk",
    )
    return system, {"along_x": {x: 1}, "along_y": {y: 1}}


def test_a_purely_kinematic_connection_is_a_fibration() -> None:
    """The holonomy of the shapes round a loop is what the library's gait says, too."""
    system, group = rolling_disk()
    connection = da.symmetry.connection(system, group)
    loop = {theta: 0.9 * sin(da.t), w: cos(da.t) + 0.2 * sin(2 * da.t)}
    found = da.control.holonomy(connection, loop, (0, 2 * pi), parameters={"r": 0.7})
    gait = da.simulate(
        da.symmetry.follow_shape(system, group, loop, momentum=False),
        {},
        (0, 2 * pi),
        parameters={"r": 0.7},
        rtol=1e-11,
    )
    assert np.allclose(found.displacement, [gait["x"][-1], gait["y"][-1]], atol=1e-9)
    assert np.allclose(found.by_curvature, found.displacement, atol=1e-9)
    assert abs(found.displacement).max() > 0.1


def test_a_board_with_momentum_is_turned_away() -> None:
    board = da.gallery.load("snakeboard")
    x_, y_, theta_, *_ = board.system.coordinates
    with pytest.raises(FormError, match="momenta move it"):
        da.control.fibration(
            da.symmetry.connection(board, da.lie.LieGroup.SE(2).chart((x_, y_, theta_)))
        )


def test_the_kinematics_of_a_system_obey_its_constraints() -> None:
    system = da.gallery.load("knife-edge").system
    flow = da.control.kinematic_flow(system)
    x_, y_, varphi = system.coordinates
    assert sympy.simplify(flow.rates[x_] * sin(varphi) - flow.rates[y_] * cos(varphi)) == 0
    assert len(flow.inputs) == 2
    with pytest.raises(FormError, match="move"):
        da.control.kinematic_flow(
            da.System(
                [x, y],
                kinetic=(x.dot**2 + y.dot**2) / 2,
                constraints=[da.velocity(x.dot - 1 - y.dot)],
            )
        )


# -- holonomy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "corners",
    [
        [(0, 0), (2, 0), (2, 3), (0, 3)],
        [(0.3, -1), (1.2, 0.4), (-0.5, 0.9)],
        [(0, 0), (1, 1), (1, 0), (0, 1)],
    ],
    ids=["rectangle", "triangle", "bow"],
)
def test_the_fibre_of_the_knife_edge_moves_by_minus_the_area(corners: Any) -> None:
    points = np.array(corners, dtype=float)
    following = np.roll(points, -1, axis=0)
    area = 0.5 * np.sum(points[:, 0] * following[:, 1] - following[:, 0] * points[:, 1])
    found = da.control.holonomy(KNIFE, corners)
    assert found.area == pytest.approx(area, abs=1e-12)
    assert found.displacement[0] == pytest.approx(-area, abs=1e-10)
    assert found.by_curvature[0] == pytest.approx(-area, abs=1e-12)


def test_curvature_that_varies_is_integrated_over_the_interior() -> None:
    """Along the path, by strips, and by SciPy's double integral."""
    found = da.control.holonomy(BUMPY, [(0.2, -0.3), (1.5, -0.3), (1.5, 0.9), (0.2, 0.9)])
    reference = [
        dblquad(f, -0.3, 0.9, 0.2, 1.5)[0]
        for f in (lambda s, q: np.cos(s) * np.cos(q) - s, lambda s, q: 2 * s)
    ]
    assert np.allclose(found.displacement, reference, atol=1e-9)
    assert np.allclose(found.by_curvature, reference, atol=1e-9)


def test_a_smooth_loop_that_goes_round_twice_counts_twice() -> None:
    loop = {x: cos(da.t) + 0.3 * sin(2 * da.t), y: 0.8 * sin(da.t)}
    once, twice = (da.control.holonomy(BUMPY, loop, (0, 2 * pi * n)) for n in (1, 2))
    assert np.allclose(once.by_curvature, once.displacement, atol=1e-9)
    assert np.allclose(twice.displacement, 2 * once.displacement, atol=1e-9)
    assert twice.area == pytest.approx(2 * once.area)


def test_where_the_fibre_moves_itself_there_is_no_surface_integral() -> None:
    """A chain of four: the displacement depends on where the fibre begins, and the curvature alone
    would not know.
    """
    chain = da.Flow({x: u, y: v, z: y * u, w: z * u}, inputs=[u, v])
    corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
    here = da.control.holonomy(chain, corners)
    assert here.by_curvature is None and "no surface integral" in here.text()
    # z' = y x': -1 on the way back. w' = z x': z = -(1 - x) there, so -1/2 of it arrives with its
    # sign.
    assert np.allclose(here.displacement, [-1.0, 0.5], atol=1e-9)


def test_wrong_paths_say_so() -> None:
    with pytest.raises(FormError, match="not closed"):
        da.control.holonomy(KNIFE, {x: da.t, y: da.t}, (0, 1))
    with pytest.raises(ModelError, match="corners"):
        da.control.holonomy(KNIFE, [(0, 0, 0), (1, 1, 1)])
    with pytest.raises(ModelError, match="base symbol"):
        da.control.holonomy(KNIFE, {x: cos(da.t)}, (0, 2 * pi))
    with pytest.raises(FormError, match="drifts"):
        da.control.fibration(da.Flow({x: u, y: v, z: 2 * x}, inputs=[u, v]))
    with pytest.raises(ModelError, match="no symbol `q`"):
        da.control.fibration(WHEEL, base=["q", "theta"])


# -- loops that are wanted -------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [-2.0, 0.7, 1e-4])
@pytest.mark.parametrize("flow", [KNIFE, HEISENBERG], ids=["knife", "Heisenberg"])
def test_rectangles_in_closed_form(flow: da.Flow, wanted: float) -> None:
    loop = da.control.holonomy_loop(flow, wanted)
    assert da.control.holonomy(flow, loop.path).displacement[0] == pytest.approx(wanted, abs=1e-10)
    assert loop.length == pytest.approx(4 * np.sqrt(abs(wanted)))


def test_nothing_wanted_is_no_loop() -> None:
    assert da.control.holonomy_loop(KNIFE, 0.0).path is None


@pytest.mark.parametrize("wanted", [-0.5, 1.3])
def test_circles_are_the_optimal_loops_of_a_constant_curvature(wanted: float) -> None:
    """The extremal of least effort has the length of the circle, which no rectangle has."""
    circle, rectangle = (
        da.control.holonomy_loop(KNIFE, wanted, shape) for shape in ("circle", "rectangle")
    )
    optimal = da.control.holonomy_loop(KNIFE, wanted, "optimal")
    assert da.control.holonomy(KNIFE, circle.path).displacement[0] == pytest.approx(
        wanted, abs=1e-10
    )
    assert optimal.displacement[0] == pytest.approx(wanted, abs=1e-9)
    assert (
        optimal.length
        == pytest.approx(circle.length, rel=1e-8)
        == pytest.approx(2 * np.sqrt(pi * abs(wanted)), rel=1e-8)
    )
    assert circle.length < rectangle.length
    states = optimal.extremal.motion.sol(np.linspace(0, 1, 50))[:2]
    middle = states[:, :-1].mean(axis=1)
    assert np.ptp(np.linalg.norm(states - middle[:, None], axis=0)) < 1e-6 * circle.length


@pytest.mark.long
def test_a_rectangle_where_the_curvature_varies() -> None:
    """tan(theta) dx: the side solves an integral."""
    for wanted in (0.4, -0.2):
        loop = da.control.holonomy_loop(WHEEL, wanted, base=[x, theta])
        assert da.control.holonomy(WHEEL, loop.corners, base=[x, theta]).displacement[
            0
        ] == pytest.approx(wanted, abs=1e-9)
        side = abs(loop.corners[2]).max()
        assert side * np.tan(side) == pytest.approx(abs(wanted), abs=1e-9)


@pytest.mark.long
def test_loops_that_cannot_be_say_so() -> None:
    flat = da.Flow({x: u, y: v, z: x * u + y * v}, inputs=[u, v])
    with pytest.raises(FormError, match="curvature vanishes"):
        da.control.holonomy_loop(flat, 1.0)
    with pytest.raises(FormError, match="one fibre symbol"):
        da.control.holonomy_loop(BUMPY, [1.0, 0.0])
    with pytest.raises(FormError, match="constant curvature"):
        da.control.holonomy_loop(WHEEL, 0.1, "circle", base=[x, theta])
    shallow = da.Flow({x: u, y: v, z: sympy.atan(x) / (1 + x**2) * v}, inputs=[u, v])
    with pytest.raises((RunError, FormError)):
        da.control.holonomy_loop(shallow, 50.0)


def test_a_small_curvature_is_a_curvature() -> None:
    x, y, z = da.coordinates("x y z")
    u, w = da.inputs("u w")
    loop = da.control.holonomy_loop(
        da.Flow({x: u, y: w, z: -sympy.Float(1e-13) * x * w}, inputs=[u, w]), -2e-13
    )
    assert np.ptp(loop.corners[:, 0]) == pytest.approx(2**0.5)


# -- the mechanical connection ---------------------------------------------------------------------


def skater(**forces: Any) -> tuple[da.System, dict[str, float]]:
    """A body with two arms on its axis, coupled by cosines; the group turns it."""
    a, r1, r2 = da.coordinates("a r1 r2")
    I0, I1, k = da.parameters("I0 I1 k", positive=True)
    kinetic = I0 / 2 * a.dot**2
    for r in (r1, r2):
        kinetic += I1 / 2 * (a.dot + r.dot) ** 2 + k * cos(r) * a.dot * (a.dot + r.dot)
    table = {a: forces["turn"]} if forces else {}
    return da.System([a, r1, r2], kinetic=kinetic, forces=table), {"I0": 1.0, "I1": 0.3, "k": 0.2}


def test_the_mechanical_connection_at_zero_momentum_by_quadrature_of_scipy() -> None:
    system, values = skater()
    a = system.coordinates[0]
    turn = da.symmetry.connection(system, {"turn": {a: 1}})
    corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.5), (0.0, 1.5)]
    found = da.control.holonomy(turn, corners, parameters=values)

    def A(r1: float, r2: float) -> list[float]:
        """J = 0: a_dot = -sum (I1 + k cos r_i) r_i_dot / (I0 + 2 I1 + 2 k cos r1 + 2 k cos r2)."""
        whole = 1.0 + 2 * 0.3 + 2 * 0.2 * (np.cos(r1) + np.cos(r2))
        return [-(0.3 + 0.2 * np.cos(r)) / whole for r in (r1, r2)]

    total = 0.0
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):

        def speed(
            s: float, x0: float = x0, y0: float = y0, x1: float = x1, y1: float = y1
        ) -> float:
            slopes = A(x0 + s * (x1 - x0), y0 + s * (y1 - y0))
            return slopes[0] * (x1 - x0) + slopes[1] * (y1 - y0)

        total += quad(speed, 0, 1, epsabs=1e-13)[0]
    assert found.displacement == pytest.approx([total], abs=1e-10)
    assert found.by_curvature == pytest.approx([total], abs=1e-10)


def test_a_momentum_that_does_not_stay_zero_is_refused() -> None:
    pushed, _ = skater(turn=1)
    board = da.gallery.load("snakeboard")
    x_, y_, angle = board.system.coordinates[:3]
    ahead, aside = {x_: cos(angle), y_: sin(angle)}, {x_: -sin(angle), y_: cos(angle)}
    se2 = {"ahead": ahead, "aside": aside, "turn": {angle: 1}}
    for model, group in ((pushed, {"turn": {pushed.coordinates[0]: 1}}), (board, se2)):
        with pytest.raises(FormError, match="momenta stay zero"):
            da.control.holonomy(da.symmetry.connection(model, group), [(0, 0), (1, 0), (1, 1)])
