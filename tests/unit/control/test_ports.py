"""Ports: exported matrices against the kernel, power that is conserved, and tests that tell
Hamiltonian systems from others.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.control.ports.impulse_response import LinearInputOutput
from dalembert.control.ports.ports import PortForm
from dalembert.control.servo.affine import Instants
from dalembert.errors import ModelError, UnusedParameterWarning

VALUES = {"m": 1.2, "l": 0.7, "g": 9.81, "c": 0.6}


@cache
def cart() -> da.System:
    x, a = da.coordinates("x a")
    m, l, g, c = da.parameters("m l g c", positive=True)
    return da.System(
        [x, a],
        kinetic=m * x.dot**2 + m / 2 * l**2 * a.dot**2 + m * l * cos(a) * x.dot * a.dot,
        potential=-m * g * l * cos(a),
        dissipation=c / 2 * x.dot**2 + c / 9 * (a.dot - x.dot) ** 2,
        forces={x: da.Input("F") - 2 * a.dot, a: 2 * x.dot},
        inputs=[da.Input("F")],
    )


@cache
def block() -> da.System:
    z = da.coordinates("z")
    w, v = da.inputs("w v")
    return da.System(
        [z], kinetic=z.dot**2, potential=z**2, forces={z: w + v * z}, inputs=[w, v], name="block"
    )


def pushed(system: da.System, end: float = 4.0, **options: Any) -> da.Motion:
    return da.simulate(
        system, {"a": 0.9}, (0, end), inputs={"F": 3 * sin(2 * da.t)}, parameters=VALUES, **options
    )


# -- the form --------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "forced-oscillator",
        "elastic-pendulum",
        "two-planar-bodies",
        "chaplygin-sleigh",
        "rolling-disk",
    ],
)
def test_the_exported_matrices_give_the_rates_of_the_kernel(name: str) -> None:
    """p_dot of Hamilton's form, up to reactions in the span of the rows."""
    scenario = da.gallery.load(name)
    form = da.control.port_form(scenario.system)
    assert form.is_power_conserving()
    system = (
        scenario.system.driven(dict.fromkeys(scenario.system.inputs, 0.3))
        if scenario.system.inputs
        else scenario.system
    )
    motion = da.simulate(
        system,
        scenario.start,
        (0.0, 0.5),
        parameters=scenario.parameters,
        at=[0.0, 0.3, 0.5],
        form="hamilton",
    )
    for k in range(3):
        place = {s.name: float(motion.y[j, k]) for j, s in enumerate(motion.state)}
        table = {
            **scenario.parameters,
            **place,
            "t": float(motion.t[k]),
            **{u.name: 0.3 for u in form.inputs},
        }
        probe = Instants(table)
        kernel = motion.equations.compile()
        values = np.array([scenario.parameters[p.name] for p in kernel.parameters])
        honest = kernel.rates(float(motion.t[k]), motion.y[:, k], values)
        exported = probe.here(list(form.rates))[0]
        gap, rows = (
            honest - exported,
            (
                probe.here(list(form.rows), form.rows.rows)
                if form.rows.rows
                else np.zeros((0, len(honest)))
            ),
        )
        if len(rows):
            gap = gap - rows.T @ np.linalg.lstsq(rows.T, gap, rcond=None)[0]
            assert (
                np.abs(
                    rows @ np.concatenate([np.zeros(len(gap) // 2), honest[: len(gap) // 2]])
                ).max()
                < 1e-9
            )
        assert np.abs(gap).max() < 1e-8 * (1 + np.abs(honest).max())


def test_gyroscopic_forces_go_into_the_structure_and_damping_into_its_own() -> None:
    x, y = da.coordinates("x y")
    B, c = da.parameters("B c", positive=True)
    charged = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, forces={x: B * y.dot - c * x.dot, y: -B * x.dot}
    )
    form = da.control.port_form(charged)
    assert form.structure[2, 3] == B and form.structure[3, 2] == -B
    assert form.damping == sympy.diag(0, 0, c, 0) and form.rest == sympy.zeros(4, 1)


def test_functions_are_the_symbols_at_numbers() -> None:
    form = da.control.port_form(cart())
    found = form.functions(VALUES)
    state = [0.1, 0.4, 0.3, -0.2]
    assert np.array_equal(found["J"](state), -found["J"](state).T)
    assert np.min(np.linalg.eigvalsh(found["R"](state))) > -1e-12 and found["R"](state)[
        2, 2
    ] == pytest.approx(0.6 * 11 / 9)
    assert found["g"](state).shape == (4, 1) and found["gradient"](state).shape == (4, 1)


def test_the_flow_of_a_form_moves_like_its_system() -> None:
    form = da.control.port_form(cart())
    one = pushed(cart(), at=[4.0])
    other = da.simulate(
        form.flow(),
        {"a": 0.9},
        (0, 4),
        inputs={"F": 3 * sin(2 * da.t)},
        parameters=VALUES,
        at=[4.0],
    )
    assert (
        abs(one["a"][0] - other["a"][0]) < 1e-9
        and abs(one["p_x"][0] - other["momentum_x"][0]) < 1e-8
    )
    assert abs(one["energy"][0] - other["stored"][0]) < 1e-8


@pytest.mark.parametrize(
    "name", ["snakeboard-gait", "ball-on-rotating-plate", "elastic-pendulum-wall"]
)
def test_what_has_no_port_form_says_so(name: str) -> None:
    with pytest.raises(ModelError, match="Ports need"):
        da.control.port_form(da.gallery.load(name).system)


# -- the balance -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_stored_energy_is_supplied_minus_dissipated(form: str) -> None:
    motion = pushed(cart(), form=form)
    balance = da.control.energy_balance(motion)
    assert balance.worst < 1e-10
    assert np.allclose(balance.stored, motion.energy - motion.energy[0], atol=1e-10)
    assert (
        np.ptp(balance.supplied["F"]) > 0.1
        and np.all(np.diff(balance.dissipated) > 0)
        and balance.is_passive
    )


@pytest.mark.parametrize("span", [(0, 2), (2, 0)])
def test_the_balance_does_not_depend_on_the_times_that_were_asked_for(
    span: tuple[float, float],
) -> None:
    fine, coarse = (
        da.control.energy_balance(
            da.simulate(
                cart(),
                {"a": 0.9},
                span,
                inputs={"F": sin(3 * da.t)},
                parameters=VALUES,
                at=np.linspace(*span, count),
            )
        )
        for count in (101, 3)
    )
    assert coarse.worst < 1e-9
    assert coarse.dissipated[-1] == pytest.approx(fine.dissipated[-1], rel=1e-9)
    assert coarse.supplied["F"][1] == pytest.approx(fine.supplied["F"][50], rel=1e-9)


def test_a_balance_with_a_wrong_damping_does_not_close() -> None:
    """The balance is no identity of its own making."""
    motion = pushed(cart())
    found = da.control.energy_balance(motion)
    wrong = found.stored - found.supplied["F"] + 1.01 * found.dissipated
    assert np.abs(wrong).max() > 1e-3


def test_passivity_is_lost_with_negative_damping_and_with_other_forces() -> None:
    x = da.coordinates("x")
    u = da.inputs("u")
    for damping, push, passive in ((1, 0, True), (-1, 0, False), (1, x, False)):
        system = da.System(
            [x],
            kinetic=x.dot**2 / 2,
            dissipation=damping * x.dot**2 / 4,
            forces={x: u + push},
            inputs=[u],
        )
        balance = da.control.energy_balance(
            da.simulate(system, {x: 0.5, x.dot: 1.0}, (0, 3), inputs={u: sin(da.t)})
        )
        assert balance.is_passive is passive and balance.worst < 1e-9


def test_explicit_time_in_the_energy_is_counted() -> None:
    x = da.coordinates("x")
    swing = da.System([x], kinetic=x.dot**2 / 2, potential=(2 + sin(da.t)) * x**2 / 2)
    balance = da.control.energy_balance(da.simulate(swing, {x: 1.0}, (0, 5)))
    assert balance.worst < 1e-10 and np.ptp(balance.explicit) > 0.1


def test_a_balance_needs_laws_and_a_form() -> None:
    motion = da.simulate(
        cart(), {"a": 0.9}, (0, 1), inputs={"F": lambda time, state: 1.0}, parameters=VALUES
    )
    with pytest.raises(ModelError, match="An input has no law"):
        da.control.energy_balance(motion)
    x = da.coordinates("x")
    with pytest.raises(ModelError, match="what its energy is"):
        da.control.energy_balance(da.simulate(da.Flow({x: -x}), {x: 1.0}, (0, 1)))


def test_a_balance_prints_its_terms_in_one_line() -> None:
    balance = da.control.energy_balance(pushed(cart()))
    line = repr(balance)
    assert "\n" not in line and "array" not in line and line == str(balance)
    found = re.search(r": (\S+) stored = (\S+) by F - (\S+) dissipated; open (\S+)>", line)
    stored, supplied, dissipated, left = map(float, found.groups())
    assert stored == pytest.approx(balance.stored[-1], rel=1e-3) and left < 1e-8
    assert stored == pytest.approx(supplied - dissipated, abs=1e-3 * (abs(supplied) + dissipated))
    x = da.coordinates("x")
    plain = da.System([x], kinetic=x.dot**2 / 2, forces={x: -x - 1 + sin(da.t)})
    assert "by other forces" in repr(
        da.control.energy_balance(da.simulate(plain, {x: 0.5}, (0, 3)))
    )


def test_the_picture_shows_every_part() -> None:
    picture = da.control.energy_balance(pushed(cart())).plot(title="Cart")
    labels = [text.get_text() for text in picture.axes[0].get_legend().get_texts()]
    assert (
        labels[0] == "stored"
        and any("supplied" in label for label in labels)
        and "dissipated" in labels
    )


# -- interconnection -------------------------------------------------------------------------------


def test_a_gyrator_conserves_the_sum_of_the_energies() -> None:
    x, z = da.coordinates("x z")
    u, w = da.inputs("u w")
    left = da.System(
        [x], kinetic=x.dot**2 / 2, potential=x**4, forces={x: u * (1 + x**2)}, inputs=[u]
    )
    right = da.System([z], kinetic=z.dot**2, potential=z**2, forces={z: w}, inputs=[w])
    motion = da.simulate(da.control.interconnect(left, right, [(u, w)]), {x: 1.0}, (0, 10))
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-9
    assert np.ptp(motion["z"]) > 0.1  # energy did go over


def test_a_junction_is_a_rigid_joint() -> None:
    """Two masses with a common velocity move like one of their sum."""
    x, z, s = da.coordinates("x z s")
    u, w = da.inputs("u w")
    left = da.System([x], kinetic=x.dot**2 / 2, potential=x**2, forces={x: u}, inputs=[u])
    right = da.System([z], kinetic=z.dot**2, dissipation=z.dot**2 / 3, forces={z: w}, inputs=[w])
    joined = da.simulate(
        da.control.interconnect(left, right, [(u, w)], "junction"), {x: 1.0}, (0, 5), at=[5.0]
    )
    one = da.simulate(
        da.System([s], kinetic=3 * s.dot**2 / 2, potential=s**2, dissipation=s.dot**2 / 3),
        {s: 1.0},
        (0, 5),
        at=[5.0],
    )
    assert (
        abs(joined["x"][0] - one["s"][0]) < 1e-9
        and abs(joined["x"][0] - 1.0 - joined["z"][0]) < 1e-9
    )


def test_forms_and_systems_join_to_the_same_motion_and_keep_open_ports() -> None:
    joined = da.control.interconnect(cart(), block(), [("F", "w")])
    form = da.control.interconnect(
        da.control.port_form(cart()), da.control.port_form(block()), [("F", "w")]
    )
    assert [str(u) for u in joined.inputs] == [str(u) for u in form.inputs] == ["v"]
    assert isinstance(form, PortForm) and form.is_power_conserving()
    times = np.linspace(0, 3, 4)
    one = da.simulate(
        joined, {"a": 0.9, "z": 0.2}, (0, 3), inputs={"v": sin(da.t)}, parameters=VALUES, at=times
    )
    other = da.simulate(
        form.flow(),
        {"a": 0.9, "z": 0.2},
        (0, 3),
        inputs={"v": sin(da.t)},
        parameters=VALUES,
        at=times,
    )
    assert np.abs(one["z"] - other["z"]).max() < 1e-9


def test_an_interconnection_that_makes_power_is_refused() -> None:
    with pytest.raises(ModelError, match=r"does not conserve power.*2\*y1\*y2"):
        da.control.interconnect(cart(), block(), [("F", "w")], matrix=[[0, 1], [1, 0]])
    with pytest.raises(ModelError, match="share symbols"):
        da.control.interconnect(cart(), cart(), [("F", "F")])
    with pytest.raises(ModelError, match="no port `nobody`"):
        da.control.interconnect(cart(), block(), [("nobody", "w")])


# -- input and output ------------------------------------------------------------------------------


def hamiltonian_line(seed: int, k: int) -> LinearInputOutput:
    random = np.random.default_rng(seed)
    S = random.uniform(-1, 1, (4, 4))
    S, C = (S + S.T) / 2 + 1.5 * np.eye(4), random.uniform(-1, 1, (k, 4))
    J = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    return LinearInputOutput(J @ S, J @ C.T, C, np.zeros((k, k)))


@pytest.mark.long
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", [1, 2])
def test_samples_from_one_side_tell_a_hamiltonian_system_from_a_damped_one(
    seed: int, k: int
) -> None:
    line = hamiltonian_line(seed, k)
    times = np.arange(41) * 0.15
    found = da.control.is_hamiltonian_impulse_response(
        line.impulse_response(times), times, tolerance=1e-6
    )
    assert found and found.order == 4
    damped = LinearInputOutput(line.A - 0.1 * np.eye(4), line.B, line.C, line.D)
    assert not da.control.is_hamiltonian_impulse_response(
        damped.impulse_response(times), times, tolerance=1e-6
    )
    both = np.concatenate([-times[::-1], times[1:]])
    assert da.control.is_hamiltonian_impulse_response(line.impulse_response(both), both)
    assert not da.control.is_hamiltonian_impulse_response(damped.impulse_response(both), both)


def test_transfer_function_and_markov_parameters_have_the_symmetry() -> None:
    line, s = hamiltonian_line(4, 2), 0.3 + 0.8j
    assert np.allclose(line.transfer(s), line.transfer(-s).T)
    for number, parameter in enumerate(line.markov(5)):
        assert np.allclose(parameter, -((-1) ** number) * parameter.T)


@pytest.mark.long
def test_the_direct_term_must_be_symmetric() -> None:
    line = hamiltonian_line(5, 2)
    assert da.control.is_hamiltonian_impulse_response(line, feedthrough=[[1.0, 0.2], [0.2, 0.0]])
    assert not da.control.is_hamiltonian_impulse_response(
        line, feedthrough=[[0.0, 0.2], [-0.2, 0.0]]
    )


@pytest.mark.parametrize(
    ("samples", "times", "message"),
    [
        (np.ones(5), np.arange(4), "need a time each"),
        (np.ones(4), [0.0, 1.0, 2.0, 4.0], "evenly spaced"),
        (np.ones(3), [-1.0, 0.0, 2.0], "partners"),
        (np.ones((4, 2, 1)), np.arange(4.0), "as many outputs as inputs"),
        (np.random.default_rng(0).normal(size=12), np.arange(12.0), "no realisation"),
    ],
    ids=["lengths", "uneven", "one-sided", "shape", "noise"],
)
def test_data_that_cannot_be_judged(samples: Any, times: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        da.control.is_hamiltonian_impulse_response(samples, times)


@pytest.mark.long
def test_positions_are_the_outputs_of_a_hamiltonian_system_and_velocities_are_not() -> None:
    """y = dH/du is -q for a force on q; the port's velocity is passive, and its response is cos
    instead of -sin.
    """
    x = da.coordinates("x")
    u = da.inputs("u")
    spring = da.System(
        [x],
        kinetic=x.dot**2 / 2,
        potential=2 * x**2,
        forces={x: u},
        inputs=[u],
        outputs={"place": -x, "speed": x.dot},
    )
    place, speed = (
        da.control.input_output(spring, ["place"]),
        da.control.input_output(spring, ["speed"]),
    )
    assert np.allclose(place.impulse_response(0.4), -np.sin(0.8) / 2) and np.allclose(
        speed.impulse_response(0.4), np.cos(0.8)
    )
    assert da.control.is_hamiltonian_impulse_response(
        place
    ) and not da.control.is_hamiltonian_impulse_response(speed)


def test_the_linear_form_at_an_equilibrium_is_that_of_the_motion() -> None:
    """A small kick and its response, against W."""
    line = da.control.input_output(
        cart().replacing(outputs={"angle": cart().coordinates[1]}), at={"a": 0.0}, parameters=VALUES
    )
    size = 1e-5
    kick = size * 400 * sympy.Piecewise((1, da.t < sympy.Rational(1, 400)), (0, True))
    motion = da.simulate(
        cart(), {}, (0, 1), inputs={"F": kick}, parameters=VALUES, at=[1.0], max_step=1 / 800
    )
    assert motion["a"][0] / size == pytest.approx(
        line.impulse_response(1.0 - 1 / 800)[0, 0], rel=1e-3
    )


# -- the skew form ---------------------------------------------------------------------------------


def pendulum(damping: float) -> da.Flow:
    q, p = da.coordinates("q p")
    u = da.inputs("u")
    return da.Flow(
        {q: p, p: -sin(q) + u * cos(q) - damping * p},
        inputs=[u],
        outputs={"y": -sin(q), "speed": p, "angle": q},
    )


@pytest.mark.parametrize(
    ("damping", "output", "is_hamiltonian"),
    [(0.0, "y", True), (0.3, "y", False), (0.0, "speed", False), (0.0, "angle", False)],
    ids=["hamiltonian", "damped", "speed", "other-output"],
)
def test_the_skew_form_along_a_motion(damping: float, output: str, is_hamiltonian: bool) -> None:
    """The force u cos(q) belongs to H - u sin(q): only -sin(q) is its output."""
    flow = pendulum(damping)
    found = da.control.variational_skew_form(
        flow, [output], {"u": sin(3 * da.t) / 2}, {"q": 0.7}, (0, 4)
    )
    assert found.is_hamiltonian is is_hamiltonian
    assert found.residual < 1e-10 if is_hamiltonian else found.residual > 1e-3
    assert np.allclose(found.matrix, -found.matrix.T, atol=1e-12 * found.scale)


def test_the_skew_form_pairs_inputs_with_outputs() -> None:
    with pytest.raises(ModelError, match="pairs each free input"):
        da.control.variational_skew_form(pendulum(0.0), ["y", "speed"], {}, {}, (0, 1))


def test_a_hamiltonian_needs_partners() -> None:
    q, p, r = da.coordinates("q p r")
    with pytest.raises(ModelError, match=r"without a partner.*r"):
        da.control.hamiltonian_control(p**2 + r * q, [(q, p)], [])


@pytest.mark.long
def test_a_balance_across_an_impact_is_refused() -> None:
    """A ball that lost energy on the ground: the open balance would be the loss, and say nothing of
    it.
    """
    x = da.coordinates("x")
    ball = da.System(
        [x],
        kinetic=x.dot**2 / 2,
        potential=9.81 * x,
        constraints=[da.unilateral(x >= 0, 0.5, "floor")],
    )
    before = da.simulate(ball, {x: 1.0}, (0, 0.4))
    assert da.control.energy_balance(before).worst < 1e-9
    with pytest.raises(ModelError, match=r"no port accounts for.*floor.*before the first impact"):
        da.control.energy_balance(da.simulate(ball, {x: 1.0}, (0, 1)))


def test_parameters_without_a_value_are_not_one() -> None:
    """Functions of a port form and input-output forms took 1 for every parameter that was not
    given, without a word.
    """
    with pytest.raises(ModelError, match="no value"):
        da.control.port_form(cart()).functions({})
    angle = cart().replacing(outputs={"angle": cart().coordinates[1]})
    with pytest.raises(ModelError, match="no value"):
        da.control.input_output(angle)
    with pytest.warns(UnusedParameterWarning, match="does not use the parameter `stiffness`"):
        da.control.input_output(angle, parameters={**VALUES, "stiffness": 1.0})
    with pytest.raises(ModelError, match="System"):
        da.control.port_form(da.Flow({(x := da.coordinates("x")): -x}))
