"""The piecewise feedback by loops: from random starts, on wrong plants, on chains, wheels and other
fibres.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.control.steering.fibration import Fibration
from dalembert.errors import ModelError

u1, u2 = da.inputs("u1 u2")
Z = da.coordinates("z1 z2 z3 z4 z5")
NAMES = [q.name for q in Z]


def knife(push: float = 1.0, turn: float = 1.0) -> da.Flow:
    """The reduced knife edge (6.6.18) to (6.6.22); other factors of the inputs are a plant that the
    model does not know.
    """
    z1, z2, z3, z4, z5 = Z
    rates = {
        z1: z4,
        z2: z5,
        z3: -z1 * z5,
        z4: push * u1 + turn * u2 * z3 - z1 * z5**2,
        z5: turn * u2,
    }
    return da.Flow(rates, inputs=[u1, u2], name="knife edge")


@cache
def plan() -> Fibration:
    return da.control.fibration(knife())


@pytest.mark.long
def test_the_knife_edge_reaches_the_origin_from_200_random_starts() -> None:
    random = np.random.default_rng(1)
    for start in random.uniform(-3, 3, (200, 5)):
        found = da.control.stabilise_by_loops(plan(), dict(zip(NAMES, start, strict=True)))
        assert found.success and found.norms[-1] < 1e-6
        assert found.rounds == 1


def test_stages_follow_each_other() -> None:
    found = da.control.stabilise_by_loops(plan(), {"z1": 1.0, "z2": -0.5, "z3": 0.8, "z5": 0.3})
    assert [part.name for part in found.stages.parts] == [
        "base",
        "side 1",
        "side 2",
        "side 3",
        "side 4",
    ]
    for first, second in zip(found.stages.parts[:-1], found.stages.parts[1:], strict=True):
        assert first.motion.t[-1] == second.motion.t[0]
        assert np.allclose(first.motion.y[:, -1], second.motion.y[:, 0], atol=1e-14)
    assert np.allclose(found.stages.switches, [1, 2, 3, 4, 5])
    assert len(found.stages["u1"]) == len(found.stages.t)
    # The fibre follows the base: z3 moves only while z2 does.
    still = [part.motion for part in found.stages.parts if part.name in ("side 1", "side 3")]
    assert all(np.ptp(motion["z3"]) < 1e-9 for motion in still)
    assert found.duration == 5.0


def test_the_loop_is_that_of_the_document() -> None:
    found = da.control.stabilise_by_loops(plan(), {"z3": -2.25})
    corners = [(part.motion["z1"][-1], part.motion["z2"][-1]) for part in found.stages.parts]
    assert np.allclose(corners, [(-1.5, 0), (-1.5, 1.5), (0, 1.5), (0, 0)], atol=1e-9)


def test_at_the_origin_nothing_is_done() -> None:
    found = da.control.stabilise_by_loops(plan(), {})
    assert found.success and found.rounds == 0 and len(found.stages) == 0
    with pytest.raises(ModelError, match="no stages"):
        found.stages["z1"]


def test_a_plant_that_the_model_does_not_know_takes_more_rounds_and_arrives() -> None:
    """Inputs that act 10% too strong and too weak: each round leaves a part of what the last one
    left.
    """
    start = dict(zip(NAMES, (1.0, -0.7, 0.9, 0.4, -0.5), strict=True))
    found = da.control.stabilise_by_loops(plan(), start, plant=knife(1.1, 0.9))
    assert found.success and found.rounds > 1
    assert all(
        later < earlier for earlier, later in zip(found.norms[:-1], found.norms[1:], strict=True)
    )
    hasty = da.control.stabilise_by_loops(plan(), start, plant=knife(1.1, 0.9), rounds=1)
    assert not hasty.success and "missed" in hasty.text()


def test_the_knife_edge_itself_is_parked() -> None:
    """The mechanical system in the gallery under the same loop: sideways by one unit, with
    reactions and inputs.
    """
    scenario = da.gallery.load("knife-edge-stabilised")
    motion = da.simulate(scenario)
    last = np.array(
        [motion[name][-1] for name in ("x", "y", "varphi", "x_dot", "y_dot", "varphi_dot")]
    )
    assert np.abs(last).max() < 1e-6
    base = motion["x"] * np.cos(motion["varphi"]) + motion["y"] * np.sin(motion["varphi"])
    assert base.max() == pytest.approx(1.0, abs=1e-6) and motion["varphi"].max() == pytest.approx(
        1.0, abs=1e-6
    )
    assert np.abs(motion["u1"]).max() > 0.1
    for aside in (0.25, 4.0):
        other = da.simulate(scenario, {"y": aside}, parameters={"d": aside, "m": 2.0, "J": 0.3})
        assert max(abs(other[name][-1]) for name in ("x", "y", "varphi")) < 1e-6


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_chains_of_trailers_arrive_in_one_sweep(n: int) -> None:
    symbols = da.coordinates(" ".join(f"c{k}" for k in range(1, n + 1)))
    rates = {symbols[0]: u1, symbols[1]: u2} | {
        symbols[k]: symbols[k - 1] * u1 for k in range(2, n)
    }
    found = da.control.stabilise_by_loops(
        da.Flow(rates, inputs=[u1, u2]),
        dict(
            zip((q.name for q in symbols), np.random.default_rng(n).uniform(-1, 1, n), strict=True)
        ),
    )
    assert found.success and found.rounds == 1
    if n > 3:
        assert [part.name for part in found.stages.parts] == [
            "base",
            *(f"wave {j}" for j in range(1, n - 1)),
        ]


def test_sinusoids_move_their_link_and_none_before_it() -> None:
    symbols = da.coordinates("c1 c2 c3 c4 c5")
    rates = {symbols[0]: u1, symbols[1]: u2} | {
        symbols[k]: symbols[k - 1] * u1 for k in range(2, 5)
    }
    found = da.control.stabilise_by_loops(
        da.Flow(rates, inputs=[u1, u2]), {"c3": 0.5, "c4": -0.2, "c5": 0.4}
    )
    ends = np.array([[part.motion[q.name][-1] for q in symbols] for part in found.stages.parts])
    for j, end in enumerate(ends):
        assert np.abs(end[: j + 3]).max() < 1e-8
    assert np.abs(ends[0][3:]).max() > 1e-3


@pytest.mark.long
def test_a_wheel_parks_where_it_is_steered_by_its_place_and_heading() -> None:
    x, y, theta = da.coordinates("x y theta")
    wheel = da.Flow({x: u1 * cos(theta), y: u1 * sin(theta), theta: u2}, inputs=[u1, u2])
    found = da.control.stabilise_by_loops(wheel, {x: 1.0, y: -0.8, theta: 0.9}, base=[x, theta])
    assert found.success and found.rounds == 1


def test_any_other_fibre_is_moved_by_a_loop_of_sines_and_cosines() -> None:
    a, b, p, q = da.coordinates("a b p q")
    flow = da.Flow({a: u1, b: u2, p: a * u2 - b * u1, q: a**2 * u2}, inputs=[u1, u2])
    found = da.control.stabilise_by_loops(flow, {a: 0.4, b: 0.2, p: 0.4, q: 0.3})
    assert found.success
    assert [part.name for part in found.stages.parts][:2] == ["base", "loop"]


@pytest.mark.long
def test_an_upright_disk_rolls_home() -> None:
    """From its connection: shapes are the heading and the roll, and the group its place."""
    theta, roll, x, y = da.coordinates("theta roll x y")
    r = da.parameters("r", positive=True)
    disk = da.System(
        [theta, roll, x, y],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2 + roll.dot**2) / 2,
        constraints=[
            da.velocity(x.dot - r * roll.dot * cos(theta)),
            da.velocity(y.dot - r * roll.dot * sin(theta)),
        ],
    )
    connection = da.symmetry.connection(disk, {"along_x": {x: 1}, "along_y": {y: 1}})
    found = da.control.stabilise_by_loops(
        connection, {theta: 0.4, roll: 0.3, x: 0.3, y: -0.2}, parameters={r: 0.7}
    )
    assert found.success
    last = found.stages.parts[-1].motion
    assert np.allclose(
        last["x_dot"] * np.sin(last["theta"]), last["y_dot"] * np.cos(last["theta"]), atol=1e-12
    )


def test_wrong_use_says_so() -> None:
    with pytest.raises(ModelError, match="no symbol `z9`"):
        da.control.stabilise_by_loops(plan(), {"z9": 1.0})
    with pytest.raises(ModelError, match="positive"):
        da.control.stabilise_by_loops(plan(), {"z1": 1.0}, leg=-1)
    with pytest.raises(ModelError, match="plant must have"):
        x = da.coordinates("x")
        da.control.stabilise_by_loops(plan(), {"z1": 1.0}, plant=da.Flow({x: u1}, inputs=[u1]))
