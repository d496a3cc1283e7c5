"""Models and results go to other processes and come back: pickles, copies and hashes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.formulations.registry import applicability

NAMES = ("rolling-disk", "snakeboard", "chaplygin-sleigh", "knife-edge")


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("name", da.gallery.names())
def test_every_scenario_of_the_gallery_comes_back(name: str) -> None:
    scenario = da.gallery.load(name)
    again = pickled(scenario)
    assert (
        again is not scenario
        and again.parameters == scenario.parameters
        and again.start == scenario.start
    )
    if isinstance(scenario.system, da.System):
        assert (
            again == scenario
            and hash(again) == hash(scenario)
            and hash(again.system) == hash(scenario.system)
        )
        assert again.system == scenario.system and again.system is not scenario.system
    assert [str(e) for e in again.system.expressions()] == [
        str(e) for e in scenario.system.expressions()
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_equations_in_every_form_have_the_same_rates_again(name: str) -> None:
    scenario = da.gallery.load(name)
    forms = [form for form, reason in applicability(scenario.system).items() if not reason]
    assert len(forms) > 3
    for form in forms:
        equations = da.derive(scenario.system, form)
        again = pickled(equations)
        assert (
            again == equations and hash(again) == hash(equations) and again.state == equations.state
        )
        state = np.linspace(0.2, 0.9, len(equations.state))
        parameters = {s.name: scenario.parameters[s.name] for s in equations.system.parameters}
        found = again.function()(0.1, state, parameters)
        assert np.array_equal(found, equations.function()(0.1, state, parameters)), form


def test_systems_are_equal_by_what_they_state() -> None:
    x = da.coordinates("x")

    def made(stiffness: float) -> Any:
        circle = da.holonomic(x - 1, name="c", work={x: x.dot})
        return da.System(
            [x],
            kinetic=x.dot**2 / 2,
            potential=stiffness * x**2,
            constraints=[circle],
            forces={x: -x.dot},
        )

    assert made(1.0) == made(1.0) and len({made(1.0), made(1.0), made(2.0)}) == 2
    assert copy.copy(made(1.0)) == copy.deepcopy(made(1.0)) == made(1.0)
    with pytest.raises(TypeError, match="cannot be changed"):
        made(1.0).forces[x] = 0


def bouncing() -> Any:
    y = da.coordinates("y")
    ball = da.System(
        [y],
        kinetic=y.dot**2 / 2,
        potential=9.81 * y,
        constraints=[da.unilateral(-y, name="floor", restitution=0.5)],
    )
    return da.simulate(ball, {"y": 1.0}, (0, 3), events=[da.event(y.dot, name="top")])


@pytest.mark.long
@pytest.mark.parametrize(
    "make", [lambda: da.simulate(da.gallery.load("snakeboard"), span=(0, 2)), bouncing]
)
def test_a_motion_comes_back_with_everything_it_can_do(make: Any) -> None:
    motion = make()
    times = np.linspace(*motion.t[[0, -1]], 23)
    for again in (
        pickled(motion),
        pickled(pickled(motion)),
        copy.copy(motion),
        copy.deepcopy(motion),
    ):
        assert (
            again.outcome is motion.outcome
            and again.message == motion.message
            and again.names == motion.names
        )
        for name in motion.names:
            assert np.array_equal(again[name], motion[name], equal_nan=True), name
            assert not again[name].flags.writeable
        assert np.array_equal(again.sol(times), motion.sol(times))
        for name, reaction in motion.reactions.items():
            assert np.array_equal(again.reactions[name].force, reaction.force)
        assert again.worst_residual == motion.worst_residual
        assert not again.y.flags.writeable and not again.segments[0].step_y.flags.writeable


@pytest.mark.long
def test_copies_do_not_share_what_can_be_changed() -> None:
    motion = bouncing()
    again = copy.deepcopy(motion)
    again.statistics["method"] = "another"
    assert motion.statistics["method"] != "another"
    assert motion == motion and motion != again and len({motion, again}) == 2


def test_a_motion_with_python_functions_says_what_it_lacks() -> None:
    x, u = da.coordinates("x"), da.inputs("u")
    pushed = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    again = pickled(da.simulate(pushed, span=(0, 1), inputs={u: lambda t, state: 2.0}))
    assert again["x"][-1] == pytest.approx(1.0) and again.energy[-1] == pytest.approx(2.0)
    with pytest.raises(ModelError, match="Python functions"):
        again.sol(0.5)


@pytest.mark.long
def test_an_ensemble_comes_back_and_can_run_again() -> None:
    disk = da.gallery.load("rolling-disk")
    runs = da.simulate(disk, {"theta": [0.1, 0.2]}, (0, 0.5))
    swept = da.sweep(disk, over={"m": [1.0, 2.0]}, span=(0, 0.5))
    for ensemble in (runs, swept):
        again = pickled(ensemble)
        assert np.array_equal(again.states, ensemble.states) and again.shape == ensemble.shape
        assert np.array_equal(again.motion(1).y, ensemble.motion(1).y)
        assert not again["theta"].flags.writeable and not again.t.flags.writeable
        assert (
            copy.deepcopy(ensemble)["theta"] is not None
            and ensemble == ensemble
            and ensemble != again
        )


def test_equations_that_derive_did_not_make_are_refused_in_a_sentence() -> None:
    x, y = da.coordinates("x y")
    free = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=y**2)
    reduced = da.symmetry.reduce(free, {"e": {x: 1}})
    with pytest.raises(ModelError, match="cannot be pickled"):
        pickle.dumps(reduced)
    assert copy.copy(reduced) is reduced and copy.deepcopy(reduced) is reduced


def mass_of(system: Any) -> tuple[float, Any]:
    """What another process makes of a system."""
    motion = da.simulate(system, {"x": 1.0}, (0, 1), parameters={"m": 2.0, "k": 8.0})
    return float(motion["x"][-1]), motion


@pytest.mark.long
def test_other_processes_take_systems_and_return_motions() -> None:
    x = da.coordinates("x")
    k, m = da.parameters("k m", positive=True)
    spring = da.System([x], kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (value, motion), *_ = pool.map(mass_of, [spring])
    assert value == motion["x"][-1] == float(mass_of(spring)[0])
    assert motion.sol(0.5)[0] == pytest.approx(np.cos(1.0), abs=1e-9)
