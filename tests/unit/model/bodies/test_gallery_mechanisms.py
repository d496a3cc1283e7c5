"""Mechanisms of the gallery: constraints to rounding, joint against maximal coordinates, files."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import dalembert as da
from dalembert.model.io.files import dumps, loads

NAMES = da.gallery.names("mechanisms")


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_runs_and_keeps_its_constraints(name):
    scenario = da.gallery.load(name)
    span = (0.0, 0.4 * scenario.simulate["span"][1])
    motion = da.simulate(scenario, span=span)
    kernel = da.derive(scenario.system, "lagrange").compile()
    values = [scenario.parameters[p.name] for p in kernel.parameters]
    symbols = (*scenario.system.coordinates, *scenario.system.velocities)
    states = np.array([motion[s.name] for s in symbols]).T
    worst = {"position": 0.0, "velocity": 0.0}
    import casadi as ca

    for level, block in zip(worst, kernel.graph.residuals, strict=True):
        function = ca.Function("r", kernel._symbols, [block])
        for state in states[:: max(1, len(states) // 20)]:
            found = function(0.0, state, values, []).full()
            worst[level] = max(worst[level], float(np.max(np.abs(found), initial=0.0)))
    assert worst["position"] < 1e-12
    assert worst["velocity"] < 1e-11
    if name not in ("spherical-robot", "stewart-platform"):  # those are driven or damped
        assert np.ptp(motion.energy) < 1e-7 * max(1.0, abs(motion.energy[0]))


@pytest.mark.parametrize("name", ["rssr-linkage", "bricard-six-bar", "whipple-bicycle"])
def test_joint_and_maximal_coordinates_agree(name):
    scenario = da.gallery.load(name)
    path = da.gallery.path_of(name).removesuffix(".py").replace("/", ".")
    mechanism = importlib.import_module(f"dalembert.gallery.{path}").mechanism()
    motion = da.simulate(scenario, span=(0, 0.3))
    symbols = (*scenario.system.coordinates, *scenario.system.velocities)
    state = {s.name: float(motion[s.name][-1]) for s in symbols}
    assert da.bodies.agreement(mechanism, state, scenario.parameters) < 1e-9


def test_bricards_loop_is_redundant_and_has_one_degree_of_freedom():
    from dalembert.gallery.bodies.bricard_six_bar import mechanism

    found = da.bodies.assemble(mechanism(), parameters={"m": 1, "l": 1, "g": 9.81})
    assert (found.freedom, found.redundant) == (1, 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_and_its_drawing_survive_a_file(name):
    scenario = da.gallery.load(name)
    again = loads(dumps(scenario))
    one, other = (da.simulate(s, span=(0, 0.05)) for s in (scenario, again))
    q = scenario.system.coordinates[0].name
    assert one[q][-1] == pytest.approx(other[q][-1], abs=1e-12)
    if scenario.drawing is not None:
        assert len(again.drawing.shapes) == len(scenario.drawing.shapes)


def test_a_mechanism_is_drawn_and_stored(tmp_path):
    scenario = da.gallery.load("rssr-linkage")
    motion = da.simulate(scenario, span=(0, 0.3))
    motion.animate(tmp_path / "rssr.gif", fps=5)
    assert (tmp_path / "rssr.gif").stat().st_size > 1000
    motion.save(tmp_path / "rssr.nc")
    da.load(tmp_path / "rssr.nc").animate(tmp_path / "again.gif", fps=5)
    assert (tmp_path / "again.gif").stat().st_size > 1000
