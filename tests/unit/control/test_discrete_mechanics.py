"""Discrete mechanics as a transcription; interruption inside a solve; programs of any size."""

from __future__ import annotations

import resource
import time
from itertools import pairwise

import numpy as np
import pytest
import sympy
from sympy import cos, pi, sin

import dalembert as da
from dalembert.control import at_end, integral, optimise
from dalembert.errors import DalembertError, ModelError

x, theta = da.coordinates("x theta")
u, v = da.inputs("u v")
CART = da.System(
    [x, theta],
    kinetic=0.65 * x.dot**2 + 0.15 * (x.dot * theta.dot * cos(theta) + theta.dot**2 / 4),
    potential=-0.15 * 9.81 * cos(theta), forces={x: u}, inputs=[u],
)  # fmt: skip


def named(found):
    """The states of a plan by name, and the length of its intervals."""
    return dict(zip(found.state_names, found.states, strict=True)), found.t[1] - found.t[0]


def test_the_plan_obeys_the_forced_discrete_euler_lagrange_equations() -> None:
    found = optimise(
        CART, integral(u**2), {x: 0, theta: 0}, {x: 1, theta: pi}, (0, 2), at_rest=True,
        bounds={u: (-20, 20)}, transcription="dmoc2", intervals=20, refinements=0,
    )  # fmt: skip
    states, h = named(found)
    q = sympy.symbols("a0 b0 a1 b1")
    middle = {x: (q[0] + q[2]) / 2, theta: (q[1] + q[3]) / 2}
    middle |= {x.dot: (q[2] - q[0]) / h, theta.dot: (q[3] - q[1]) / h}
    action = h * (CART.kinetic - CART.potential).subs(middle, simultaneous=True)
    left, right = (sympy.lambdify(q, [action.diff(own) for own in part]) for part in (q[:2], q[2:]))
    for k in range(20):
        ends = [states["x"][k], states["theta"][k], states["x"][k + 1], states["theta"][k + 1]]
        force = h / 2 * np.array([found.inputs["u"].coefficients[k, 0], 0.0])
        before = -np.array(left(*ends)) - force
        after = np.array(right(*ends)) + force
        assert np.allclose(before, [states["p_x"][k], states["p_theta"][k]], atol=1e-8)
        assert np.allclose(after, [states["p_x"][k + 1], states["p_theta"][k + 1]], atol=1e-8)


@pytest.mark.parametrize("scheme", ["dmoc2", "dmoc4"])
def test_a_momentum_is_conserved_on_a_coarse_mesh(scheme: str) -> None:
    kinetic = 0.6 * x.dot**2 + 0.4 * theta.dot**2 + 0.3 * x.dot * theta.dot * cos(x - theta)
    bodies = da.System([x, theta], kinetic=kinetic, forces={x: u, theta: -u}, inputs=[u])
    given = {"start": {x: 0, theta: 0, x.dot: 1, theta.dot: 1}, "end": {x - theta: pi / 2}}
    found = optimise(
        bodies, integral(u**2), span=(0, 3), transcription=scheme, intervals=6, refinements=0,
        **given,
    )  # fmt: skip
    states, _ = named(found)
    total = states["p_x"] + states["p_theta"]
    assert np.max(np.abs(total - total[0])) < 1e-10


def test_constraints_hold_in_the_discrete_sense() -> None:
    a, b, angle = da.coordinates("a b angle")
    blade = da.velocity(a.dot * sin(angle) - b.dot * cos(angle), name="blade")
    sleigh = da.System(
        [a, b, angle],
        kinetic=(a.dot**2 + b.dot**2 + angle.dot**2) / 2
        + 0.3 * angle.dot * (b.dot * cos(angle) - a.dot * sin(angle)),
        forces={a: u * cos(angle), b: u * sin(angle), angle: v}, inputs=[u, v],
        constraints=[blade],
    )  # fmt: skip
    asked = {"start": {a: 0, b: 0, angle: 0}, "end": {a: 1, b: 1, angle: pi / 2}, "span": (0, 2)}
    found = optimise(
        sleigh, integral(u**2 + v**2), at_rest=True, transcription="dmoc2", intervals=16,
        refinements=0, **asked,
    )  # fmt: skip
    states, h = named(found)
    middle = {n: (states[n][1:] + states[n][:-1]) / 2 for n in ("a", "b", "angle")}
    moved = {n: np.diff(states[n]) / h for n in ("a", "b", "angle")}
    missed = moved["a"] * np.sin(middle["angle"]) - moved["b"] * np.cos(middle["angle"])
    assert np.max(np.abs(missed)) < 1e-9
    fine = optimise(sleigh, integral(u**2 + v**2), at_rest=True, **asked)
    costs = [
        optimise(
            sleigh, integral(u**2 + v**2), at_rest=True, transcription="dmoc2", intervals=n,
            refinements=0, **asked,
        ).transcribed_cost
        for n in (16, 32)
    ]  # fmt: skip
    errors = [abs(cost - fine.cost) for cost in costs]
    assert 3.0 < errors[0] / errors[1] < 5.0  # second order


def test_a_rod_keeps_its_length_at_every_node() -> None:
    a, b = da.coordinates("a b")
    rod = da.holonomic(a**2 + b**2 - 1, name="rod")
    pendulum = da.System(
        [a, b], kinetic=(a.dot**2 + b.dot**2) / 2, potential=9.81 * b,
        forces={a: -u * b, b: u * a}, inputs=[u], constraints=[rod],
    )  # fmt: skip
    found = optimise(
        pendulum, integral(u**2), {a: 0, b: -1}, {a: sin(1.0), b: -cos(1.0)}, (0, 1.5),
        at_rest=True, transcription="dmoc2", intervals=12, refinements=0,
    )  # fmt: skip
    states, _ = named(found)
    assert np.max(np.abs(states["a"] ** 2 + states["b"] ** 2 - 1)) < 1e-8


def test_discrete_mechanics_has_one_form() -> None:
    with pytest.raises(ModelError, match="Hamilton's form"):
        optimise(CART, integral(u**2), {}, {}, (0, 1), form="lagrange", transcription="dmoc2")
    with pytest.raises(ModelError, match="no transcription `dmoc3`"):
        optimise(CART, integral(u**2), {}, {}, (0, 1), transcription="dmoc3")


def test_an_interruption_inside_a_solve_keeps_the_best_iterate() -> None:
    said: list[float] = []

    def stop(part: float, meshes: float) -> None:
        said.append(part)
        raise KeyboardInterrupt

    from dalembert.control.trajectory import iterations

    before, iterations.BETWEEN = iterations.BETWEEN, 0.0
    try:
        found = optimise(
            CART, at_end(da.t), {x: 0, theta: 0}, {x: 1, theta: pi}, (0, (0.5, 4)), at_rest=True,
            bounds={u: (-20, 20), x: (-2, 2)}, guess={da.t: 2}, progress=stop,
        )  # fmt: skip
    finally:
        iterations.BETWEEN = before
    assert len(said) >= 1 and found.status == "User_Requested_Stop"
    assert "interrupted after 1 iterations" in found.notes[0] and "off by" in found.notes[0]
    assert not found.is_within_tolerance


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"bounds": {u: (-1, 1)}}, "off by"),
        ({"conditions": [at_end(x) - 1, at_end(x) - 2], "end": {}}, "at_end|off by"),
        ({"cost": -integral(x**2), "end": {}, "guess": {x: da.t}}, "without limit|No trajectory"),
        ({"cost": -integral(x**2), "end": {}}, "without limit|No trajectory"),
        ({"cost": integral(sympy.log(x - 5))}, "no finite number"),
        ({"bounds": {x: (0.5, 2)}}, "outside its bounds"),
        ({"span": (1, 0)}, "forward"),
        ({"bounds": {u: (float("nan"), 1)}}, "number"),
    ],
)  # fmt: skip
def test_a_sentence_says_what_is_wrong(changed: dict[str, object], words: str) -> None:
    asked: dict[str, object] = {
        "cost": integral(u**2), "start": {x: 0, x.dot: 0}, "end": {x: 3, x.dot: 0}, "span": (0, 1),
    }  # fmt: skip
    block = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    with pytest.raises(DalembertError, match=words):
        optimise(block, **(asked | changed))  # type: ignore[arg-type]


@pytest.mark.long
def test_a_program_of_a_hundred_thousand_unknowns_is_solved() -> None:
    masses = da.coordinates(" ".join(f"q{k}" for k in range(8)))
    chain = da.System(
        list(masses), kinetic=sum(q.dot**2 for q in masses) / 2,
        potential=5 * sum((b - a) ** 2 for a, b in pairwise(masses)),
        forces={masses[0]: u}, inputs=[u],
    )  # fmt: skip
    began = time.process_time()
    found = optimise(
        chain, integral(u**2), dict.fromkeys(masses, 0), dict.fromkeys(masses, 1), (0, 12),
        at_rest=True, intervals=1600, refinements=0,
    )  # fmt: skip
    coarse = optimise(
        chain, integral(u**2), dict.fromkeys(masses, 0), dict.fromkeys(masses, 1), (0, 12),
        at_rest=True, intervals=50, refinements=0,
    )  # fmt: skip
    assert found.replay_distance < 1e-9 and abs(found.cost / coarse.cost - 1) < 1e-4
    assert time.process_time() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2e6  # kilobytes
