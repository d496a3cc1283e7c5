"""Discrete Lagrange-d'Alembert, the nonholonomic leapfrog and energy-keeping steps: their formulas,
orders and structure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import fsolve
from sympy import cos, exp, sin

import dalembert as da
from dalembert.errors import FormError, ModelError
from dalembert.integrate.methods.table import METHODS as TABLE
from dalembert.integrate.outcome import Outcome
from nonholonomic_problems import (
    CONTACT_START,
    TRANSMISSION_START,
    contact_oscillator,
    transmission,
)

BASIC = ("dla", "nonholonomic-leapfrog", "energy2")
METHODS = {
    name: method.order or 0
    for name, method in TABLE.items()
    if name.startswith(("dla", "nonholonomic", "energy"))
}
CONTACT = contact_oscillator()
REVERSIBLE, GAUGED = transmission(), transmission(0.2)
KEPT: dict[Any, da.Equations] = {}


def equations(system: da.System, method: str) -> da.Equations:
    """The equations of a method, whose kernel the runs of one system share."""
    form = TABLE[method].form
    assert form is not None
    return KEPT.setdefault((id(system), form), da.derive(system, form))


def run(
    method: str,
    step: float,
    count: int,
    system: da.System = CONTACT,
    start: Any = CONTACT_START,
    **options,
) -> da.Motion:
    motion = da.simulate(
        equations(system, method), start, (0, count * step), method=method, step=step, **options
    )
    assert motion.success, motion.message
    return motion


def velocities(motion: da.Motion) -> Any:
    return np.array([motion[f"{q.name}_dot"] for q in motion.system.coordinates])


def end_of(motion: da.Motion, turn: float = 1.0) -> dict[str, float]:
    """The last positions, and the last velocities times a factor."""
    names = [q.name for q in motion.system.coordinates]
    values = dict(zip(names, motion.y[: len(names), -1], strict=True))
    return values | {
        f"{name}_dot": turn * value
        for name, value in zip(names, velocities(motion)[:, -1], strict=True)
    }


def derivatives(q: Any) -> Any:
    """-V_q of the contact oscillator."""
    x, y, z = q
    return -np.array([x + 0.3 * x * z**2, y, z + 0.3 * x**2 * z])


def row(q: Any) -> Any:
    return np.array([1.0, 0.0, q[1]])


def test_every_method_has_a_name_and_an_entry() -> None:
    assert set(BASIC) < set(METHODS) and set(METHODS.values()) == {2, 4, 6}
    for name in METHODS:
        assert TABLE[name].description and TABLE[name].form in ("lagrange", "hamilton")


@pytest.mark.parametrize("method", METHODS)
def test_the_order_is_the_one_it_says(method: str) -> None:
    exact = da.simulate(equations(CONTACT, "dla"), CONTACT_START, (0, 2), rtol=1e-14, at=[2.0]).y[
        :3, 0
    ]
    order = METHODS[method]
    count = {2: 40, 4: 20, 6: 16}[order]
    errors = [np.abs(run(method, 2.0 / n, n).y[:3, -1] - exact).max() for n in (count, 2 * count)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


@pytest.mark.parametrize("method", METHODS)
def test_constraints_hold_to_rounding_at_every_step(method: str) -> None:
    for system, start in ((CONTACT, CONTACT_START), (REVERSIBLE, TRANSMISSION_START)):
        motion = run(method, 0.1, 2000, system, start)
        assert motion.worst_residual["velocity"] < 3e-15
        assert motion.statistics["projections"] == 0


# -- one step, against the formulas ----------------------------------------------------------------


def test_positions_of_dla_obey_the_discrete_principle() -> None:
    """D_1 L_d + D_2 L_d along the constraint's row at each position, and the discrete constraint
    between positions.
    """
    h = 0.1
    q = run("dla", h, 200).y[:3].T

    def momenta(a, b):
        push = h / 2 * derivatives((a + b) / 2)
        return (b - a) / h - push, (b - a) / h + push

    for before, here, after in zip(q[:-2], q[1:-1], q[2:], strict=True):
        middle = (here + after) / 2
        assert abs(row(middle) @ (after - here)) < 1e-15
        jump = momenta(here, after)[0] - momenta(before, here)[1]
        across = np.array([[0.0, 1.0, 0.0], [-here[1], 0.0, 1.0]])
        assert np.abs(across @ jump).max() < 1e-13
        assert abs(row(here) @ jump) > 0  # the reaction itself is there


def test_forces_enter_dla_at_either_end_of_a_step() -> None:
    """A damped step in NumPy."""
    x, y, z = da.coordinates("x y z")
    system = contact_oscillator(
        forces={y: -y.dot * z / 2}, dissipation=(x.dot**2 + y.dot**2 + 2 * z.dot**2) / 5
    )
    h, q0 = 0.2, np.array([CONTACT_START[k] for k in "xyz"])
    v0 = np.array([CONTACT_START[f"{k}_dot"] for k in "xyz"])

    def push(q, w):
        return derivatives(q) - np.array([0.4, 0.4, 0.8]) * w - np.array([0, w[1] * q[2] / 2, 0])

    def gap(unknowns):
        q1, v1, lam, mu = unknowns[:3], unknowns[3:6], unknowns[6], unknowns[7]
        middle, w = (q0 + q1) / 2, (q1 - q0) / h
        first = v0 + row(q0) * lam - w + h / 2 * push(middle, w)
        second = v1 - w - h / 2 * push(middle, w) - row(q1) * mu
        return [*first, *second, row(middle) @ w, row(q1) @ v1]

    found = fsolve(gap, [*(q0 + h * v0), *v0, 0, 0], xtol=1e-14)
    assert run("dla", h, 1, system).y[:, -1] == pytest.approx(found[:6], abs=1e-13)


def test_one_step_of_the_leapfrog_is_that_of_the_formulas() -> None:
    h, q0 = 0.1, np.array([CONTACT_START[k] for k in "xyz"])
    v0 = np.array([CONTACT_START[f"{k}_dot"] for k in "xyz"])
    middle, lam = q0 + h / 2 * v0, 0.0
    for _ in range(60):
        v1 = v0 + h * derivatives(middle) + h * row(middle) * lam
        q1 = middle + h / 2 * v1
        lam -= row(q1) @ v1 / (h * row(q1) @ row(middle))
    assert run("nonholonomic-leapfrog", h, 1).y[:, -1] == pytest.approx([*q1, *v1], abs=1e-14)


def test_without_constraints_dla_is_the_implicit_midpoint_rule() -> None:
    free = contact_oscillator(constraints=[])
    reference = da.simulate(
        da.derive(free, "hamilton"), CONTACT_START, (0, 5), method="gauss2", step=0.1
    )
    assert run("dla", 0.1, 50, free).y == pytest.approx(reference.y, abs=1e-12)


def test_without_constraints_the_leapfrog_drifts_kicks_and_drifts() -> None:
    q, v, h = np.array([1.1, 1.0, -0.55]), np.array([-0.2, 0.3, 0.2]), 0.1
    for _ in range(20):
        q = q + h / 2 * v
        v = v + h * derivatives(q)
        q = q + h / 2 * v
    assert run("nonholonomic-leapfrog", h, 20, contact_oscillator(constraints=[])).y[
        :, -1
    ] == pytest.approx([*q, *v], abs=1e-13)


# -- what is kept ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ("energy2", "energy4", "energy6"))
@pytest.mark.parametrize("step", (0.05, 0.5))
def test_the_energy_is_kept_for_any_step(method: str, step: float) -> None:
    for system, start in ((CONTACT, CONTACT_START), (GAUGED, TRANSMISSION_START)):
        motion = run(method, step, 1000, system, start)
        assert np.abs(motion.energy / motion.energy[0] - 1).max() < 2e-13


def test_the_others_do_not_keep_it() -> None:
    for method in ("dla", "nonholonomic-leapfrog"):
        assert np.ptp(run(method, 0.1, 1000).energy) > 1e-4


def test_energy_steps_pass_where_all_velocities_turn() -> None:
    """One degree of freedom: the motion comes to rest twice in a period, and starts at rest."""
    x, y = da.coordinates("x y")
    pair = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=x**2 + y**2 - cos(x),
        constraints=[da.velocity(y.dot - x * x.dot, name="curve")],
    )
    motion = run("energy2", 0.13, 3000, pair, {"x": 0.9, "y": 0.2})
    assert np.ptp(motion.energy) < 1e-12
    assert np.sum(np.diff(np.sign(velocities(motion)[0])) != 0) > 100


def test_with_forces_the_energy_changes_by_their_work() -> None:
    """Against the work along the exact motion; without the force, it would be zero."""
    y = da.coordinates("x y z")[1]
    damped = contact_oscillator(dissipation=y.dot**2 / 20)
    exact = da.simulate(damped, CONTACT_START, (0, 4), rtol=1e-12)
    lost = [run("energy2", 4 / n, n, damped) for n in (100, 200)]
    errors = [abs(motion.energy[-1] - exact.energy[-1]) for motion in lost]
    assert exact.energy[0] - exact.energy[-1] > 1e-2
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("method", METHODS)
def test_steps_back_return_to_the_start(method: str) -> None:
    """All are symmetric, also where the system is not reversible."""
    there = run(method, 0.1, 40, GAUGED, TRANSMISSION_START)
    back = da.simulate(
        equations(GAUGED, method),
        end_of(there),
        (4, 0),
        method=method,
        step=0.1,
        project_start=False,
    )
    assert back.y[:, -1] == pytest.approx(there.y[:, 0], abs=2e-12)


@pytest.mark.parametrize("method", METHODS)
def test_reversed_velocities_lead_back_where_the_lagrangian_is_even(method: str) -> None:
    there = run(method, 0.1, 40, REVERSIBLE, TRANSMISSION_START)
    back = run(method, 0.1, 40, REVERSIBLE, end_of(there, -1.0))
    assert back.y[:3, -1] == pytest.approx(there.y[:3, 0], abs=2e-12)
    assert velocities(back)[:, -1] == pytest.approx(-velocities(there)[:, 0], abs=2e-12)


@pytest.mark.parametrize("method", BASIC)
def test_they_do_not_where_it_is_not(method: str) -> None:
    """A total derivative in the Lagrangian changes no motion, but the steps."""
    there = run(method, 0.1, 40, GAUGED, TRANSMISSION_START)
    back = run(method, 0.1, 40, GAUGED, end_of(there, -1.0))
    assert np.abs(back.y[:3, -1] - there.y[:3, 0]).max() > 1e-6
    exact = [
        da.simulate(s, TRANSMISSION_START, (0, 4), rtol=1e-12, form="lagrange", at=[4]).y
        for s in (REVERSIBLE, GAUGED)
    ]
    assert exact[0] == pytest.approx(exact[1], abs=1e-9)


def symplectic_defect(method: str, system: da.System, free: list[int]) -> float:
    """The largest entry of D^T W D - W for a step of 0.1, W = dq ^ dv on the states with some free
    velocities.
    """
    n, h, width = 3, 0.1, 1e-4
    equations_here = equations(system, method)
    start = np.array(
        [CONTACT_START[k] for k in "xyz"] + [CONTACT_START[f"{'xyz'[k]}_dot"] for k in free]
    )

    def state(symbols):
        q, v = symbols[:n], np.zeros(n)
        v[free] = symbols[n:]
        if len(free) < n:
            v[0] = -q[1] * v[2]
        return np.array([*q, *v])

    def stepped(symbols):
        values = dict(zip(("x", "y", "z", "x_dot", "y_dot", "z_dot"), state(symbols), strict=True))
        motion = da.simulate(
            equations_here, values, (0, h), method=method, step=h, project_start=False
        )
        return np.array([*motion.y[:n, -1], *velocities(motion)[:, -1]])

    def derivative(function):
        """Derivatives by differences of order 4."""
        columns = []
        for e in np.eye(len(start)) * width:
            near, far = (
                function(start + e) - function(start - e),
                function(start + 2 * e) - function(start - 2 * e),
            )
            columns.append((8 * near - far) / (12 * width))
        return np.array(columns).T

    form = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    before, after = derivative(state), derivative(stepped)
    return float(np.abs(after.T @ form @ after - before.T @ form @ before).max())


@pytest.mark.parametrize("method", ("dla", "nonholonomic-leapfrog"))
def test_they_are_symplectic_only_without_constraints(method: str) -> None:
    assert symplectic_defect(method, contact_oscillator(constraints=[]), [0, 1, 2]) < 1e-9
    assert symplectic_defect(method, CONTACT, [1, 2]) > 1e-3


# -- kinds of constraints --------------------------------------------------------------------------


def measured_order(
    method: str, system: da.System, start: Any, end: float, counts: tuple[int, int], n: int
) -> float:
    exact = da.simulate(equations(system, "dla"), start, (0, end), rtol=1e-13, at=[end]).y[:n, 0]
    errors = [
        np.abs(run(method, end / k, k, system, start).y[:n, -1] - exact).max() for k in counts
    ]
    return float(np.log2(errors[0] / errors[1]))


def test_dla_ends_on_constraints_of_positions_and_of_velocities_together() -> None:
    """A skate on a sphere."""
    x, y, z, a = da.coordinates("x y z a")
    skate = da.System(
        [x, y, z, a],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2 + a.dot**2) / 2,
        potential=z + cos(a) / 2,
        constraints=[
            da.holonomic(x**2 + y**2 + z**2 - 1, name="sphere"),
            da.velocity(sin(a) * x.dot - cos(a) * y.dot, name="blade"),
        ],
    )
    start = {"x": 0.8, "y": 0.0, "z": 0.6, "a": 0.4, "a_dot": 1.0, "x_dot": 0.3}
    motion = run("dla4", 0.05, 100, skate, start)
    assert motion.worst_residual["position"] < 1e-14
    assert motion.worst_residual["velocity"] < 1e-14
    assert measured_order("dla", skate, motion.start, 1.0, (40, 80), 4) == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("method", ("dla", "nonholonomic-leapfrog"))
def test_affine_constraints_and_time(method: str) -> None:
    x, y, z = da.coordinates("x y z")
    wind = da.velocity(x.dot + y * z.dot - sin(da.t) / 2 - z / 3, name="wind")
    system, start = (
        contact_oscillator(constraints=[wind]),
        {"x": 1.0, "y": 0.5, "z": 0.2, "z_dot": 0.4},
    )
    assert run(method, 0.05, 200, system, start).worst_residual["velocity"] < 3e-15
    assert measured_order(method, system, start, 2.0, (40, 80), 3) == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("method", BASIC)
def test_nonlinear_constraints_by_the_rule_of_chetaev(method: str) -> None:
    """Appell's kind of constraint, homogeneous, so that its reaction does no work either."""
    x, y, z = da.coordinates("x y z")
    cone = da.velocity(x.dot**2 + y.dot**2 - z.dot**2, name="cone")
    system, start = (
        contact_oscillator(constraints=[cone]),
        {"x": 1.0, "y": 0.5, "z": 0.2, "x_dot": 0.6, "y_dot": 0.8, "z_dot": 1.0},
    )
    assert measured_order(method, system, start, 1.0, (40, 80), 3) == pytest.approx(2, abs=0.2)
    motion = run(method, 0.025, 40, system, start)
    assert motion.worst_residual["velocity"] < 3e-15
    assert (np.ptp(motion.energy) < 1e-13) == (method == "energy2")


# -- runs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BASIC)
def test_between_steps_is_a_shorter_step_on_the_constraints(method: str) -> None:
    motion = run(method, 0.1, 30, every=10)
    assert len(motion.t) == 4
    time = 1.237
    short = run(method, 0.037, 1, start=end_of(run(method, 0.1, 12)), project_start=False)
    state = motion.sol(time)
    assert state == pytest.approx(short.y[:, -1], abs=1e-13)
    assert motion.sol(1.2) == pytest.approx(run(method, 0.1, 12).y[:, -1], abs=1e-13)


def test_a_step_that_is_too_long_is_said() -> None:
    x = da.coordinates("x")
    falling = da.System(
        [x], kinetic=x.dot**2 / 2, potential=-exp(x)
    )  # d = 9/2 exp(d/2) has no solution
    motion = da.simulate(falling, {"x": 0.0}, (0, 30), method="dla", step=3.0)
    assert not motion.success
    assert motion.outcome is Outcome.UNSOLVED
    assert "could not be solved" in motion.message


def refused() -> dict[str, tuple[str, da.System, dict[str, Any], str]]:
    x, y, z = da.coordinates("x y z")
    force = da.inputs("force")
    circle, blade = (
        da.holonomic(x**2 + y**2 - 1, name="circle"),
        da.velocity(x.dot + y * z.dot, name="contact"),
    )
    again = da.velocity(2 * x.dot + 2 * y * z.dot, name="again")
    pushed = contact_oscillator(forces={y: force}, inputs=[force])
    return {
        "leapfrog on positions": ("nonholonomic-leapfrog", contact_oscillator(constraints=[circle]),
                                  {}, "`circle`"),
        "energy on positions": ("energy2", contact_oscillator(constraints=[circle, blade]), {},
                                "`circle`"),
        "energy with an affine constraint": (
            "energy2", contact_oscillator(constraints=[da.velocity(x.dot - y, name="belt")]), {},
            "homogeneous",
        ),
        "energy with a moving constraint": (
            "energy4",
            contact_oscillator(constraints=[da.velocity(x.dot - da.t * y.dot, name="ramp")]), {},
            "`ramp`",
        ),
        "energy with time": (
            "energy2", da.System([x], kinetic=x.dot**2 / 2, potential=da.t * x), {},
            "does not depend on time",
        ),
        "rows that depend": ("dla", contact_oscillator(constraints=[blade, again]), {}, "rank 1"),
        "a function as input": ("dla", pushed, {"inputs": {"force": lambda t, state: 1.0}},
                                "expressions"),
        "another form": ("dla", CONTACT, {"form": "maggi"}, "positions and velocities"),
        "another form for energy": ("energy2", CONTACT, {"form": "lagrange"}, "momenta"),
        "no projection": ("energy2", CONTACT, {"project": False}, "ends every step"),
        "events": ("dla", CONTACT, {"events": [x]}, "events"),
        "one side": ("dla", contact_oscillator(constraints=[da.unilateral(y >= -1, name="floor")]),
                     {}, "one-sided"),
    }  # fmt: skip


REFUSED = refused()


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_followed_is_refused_in_words(name: str) -> None:
    method, system, options, words = REFUSED[name]
    with pytest.raises((FormError, ModelError), match=words):
        da.simulate(system, {"y": 0.5}, (0, 1), method=method, step=0.1, **options)


@pytest.mark.long
def test_an_input_given_as_an_expression_is_followed() -> None:
    y = da.coordinates("x y z")[1]
    force = da.inputs("force")
    pushed = contact_oscillator(forces={y: force}, inputs=[force])
    plain = contact_oscillator(forces={y: sin(da.t) - y.dot / 5})
    for method in BASIC:
        motion = da.simulate(
            pushed,
            CONTACT_START,
            (0, 1),
            method=method,
            step=0.1,
            inputs={"force": sin(da.t) - y.dot / 5},
        )
        assert motion.y[:, -1] == pytest.approx(run(method, 0.1, 10, plain).y[:, -1], abs=1e-13)


def test_an_increment_below_rounding_does_not_keep_a_step_from_being_solved():
    """The turn rate of the sleigh decays below rounding, where Newton steps shrink and grow."""
    motion = da.simulate(
        da.gallery.load("chaplygin-sleigh"),
        span=(0, 400),
        method="nonholonomic-leapfrog",
        step=0.05,
    )
    assert motion.success, motion.message
    assert abs(motion["theta_dot"][-1]) < 1e-15
