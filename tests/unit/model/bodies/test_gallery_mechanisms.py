"""Mechanisms of the gallery: constraints to rounding, joint against maximal coordinates, files."""

from __future__ import annotations

import importlib
import inspect
import time

import numpy as np
import pytest

import dalembert as da
import whipple_bicycle
from dalembert.gallery.bodies import four_bars
from dalembert.gallery.wheels.whipple_bicycle import mechanism as bicycle
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
    if name not in ("spherical-robot", "stewart-platform", "trailer-truck"):  # driven or damped
        assert np.ptp(motion.energy) < 1e-7 * max(1.0, abs(motion.energy[0]))


def accelerations(system, state, parameters):
    """Accelerations by coordinate at a state that names all coordinates that are not zero."""
    kernel = da.derive(system, "lagrange").compile()
    values = [state.get(s.name, 0.0) for s in (*system.coordinates, *system.velocities)]
    found = kernel.rates(0.0, values, [parameters[p.name] for p in kernel.parameters])
    return dict(zip((q.name for q in system.coordinates), found[len(values) // 2 :], strict=True))


def test_the_unicycle_of_bodies_has_the_accelerations_of_the_gallery_energies():
    """At three random states; hub and point of contact differ by the tilted radius."""
    own, other = (da.gallery.load(name) for name in ("unicycle-rider", "unicycle-of-bodies"))
    random, R = np.random.default_rng(4), own.parameters["R"]
    for _ in range(3):
        theta, kappa, psi, phi = random.uniform(-0.8, 0.8, 4)
        th, ka, ps, ph = random.uniform(-2, 2, 4)
        angles = {"theta": theta, "kappa": kappa, "psi": psi, "phi": phi}
        rates = {"theta_dot": th, "kappa_dot": ka, "psi_dot": ps, "phi_dot": ph}
        contact = -R * ps * np.array([np.cos(phi), np.sin(phi)])
        ahead, side = np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)])
        hub = contact + R * (np.cos(theta) * th * side - np.sin(theta) * ph * ahead)
        expected = accelerations(
            own.system,
            {**angles, **rates, "x_dot": contact[0], "y_dot": contact[1]},
            own.parameters,
        )
        state = {"z": R * np.cos(theta), "z_dot": -R * np.sin(theta) * th}
        state |= {"x_dot": hub[0], "y_dot": hub[1], **angles, **rates}
        found = accelerations(other.system, state, other.parameters)
        worst = max(abs(found[q] - expected[q]) for q in angles)
        assert worst < 1e-12 * max(abs(expected[q]) for q in angles)


def test_a_wheel_rolls_past_every_axis_of_the_shell_inside():
    """The contact reaches the axis x of the shell at 3.67 s, where one of n x e_k vanishes."""
    motion = da.simulate(da.gallery.load("spherical-robot"), span=(0.0, 4.0))
    assert motion.t[-1] == 4.0
    assert np.min(np.abs(motion["drive_sz"][motion.t > 3])) < 0.05
    assert np.max(np.abs(motion["drive_sx"])) > 0.29


@pytest.mark.parametrize("loops", [1, 5])
def test_four_bars_swing_as_one_pendulum(loops):
    system, angle, rate = four_bars.mechanism(loops).system(), 0.7, 1.3
    state = {f"a{k}": angle for k in range(loops + 1)}
    state |= {f"a{k}_dot": rate for k in range(loops + 1)}
    state |= {f"b{k}": -angle for k in range(1, loops + 1)}
    state |= {f"b{k}_dot": -rate for k in range(1, loops + 1)}
    found = accelerations(system, state, {"m": 1.4, "l": 0.6, "g": 9.81})
    inertia, weight = (loops + 1) / 3 + loops, (loops + 1) / 2 + loops
    expected = -weight / inertia * 9.81 / 0.6 * np.sin(angle)
    assert all(abs(found[f"a{k}"] - expected) < 1e-12 * abs(expected) for k in range(loops + 1))


@pytest.mark.long
def test_the_bicycle_is_stated_in_45_lines_and_has_every_published_eigenvalue():
    """Meijaard and others 2007, table 2: eleven speeds, four eigenvalues, fourteen decimals."""
    assert len(inspect.getsource(bicycle).splitlines()) <= 45
    system = bicycle().system()
    for speed, published in whipple_bicycle.PUBLISHED.items():
        found = da.linearise(system, {"x_dot": speed}, whipple_bicycle.BENCHMARK, symmetry=())
        assert max(min(abs(found.eigenvalues - value)) for value in published) < 1e-12


LARGE = (
    *("whipple-bicycle", "spherical-robot", "trailer-truck", "ball-in-bowl", "coin-on-hills"),
    *("bricard-six-bar", "rssr-linkage"),
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in LARGE else [])
        for name in NAMES
        if name != "stewart-platform"
    ],
)
def test_a_mechanism_is_described_and_printed_with_bounded_work(name):
    """Work is bounded by counts; the processor time is far below the bound unless one is lost."""
    system, begun = da.gallery.load(name).system, time.process_time()
    assert system.name in str(system.describe())
    assert "aligned" in da.derive(system).latex()
    assert time.process_time() - begun < 60


@pytest.mark.parametrize(
    "name",
    ["rssr-linkage", pytest.param("bricard-six-bar", marks=pytest.mark.long), "whipple-bicycle"],
)
def test_joint_and_maximal_coordinates_agree(name):
    scenario = da.gallery.load(name)
    path = da.gallery.path_of(name).removesuffix(".py").replace("/", ".")
    mechanism = importlib.import_module(f"dalembert.gallery.{path}").mechanism()
    motion = da.simulate(scenario, span=(0, 0.3))
    symbols = (*scenario.system.coordinates, *scenario.system.velocities)
    state = {s.name: float(motion[s.name][-1]) for s in symbols}
    assert da.bodies.agreement(mechanism, state, scenario.parameters) < 1e-9


@pytest.mark.long
def test_forms_agree_where_reactions_are_listed_without_zeros():
    """The Stewart platform has a sparse solve, whose reactions have entries for few coordinates."""
    found = da.compare(da.gallery.load("stewart-platform"), n=1)
    assert sum(why is None for why in found.forms.values()) > 3
    assert found.worst < 1e-9


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
