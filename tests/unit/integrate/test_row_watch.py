"""A constraint whose gradient vanishes along the motion ends it there, in every form and method, at
every tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import FormError
from dalembert.formulations.constraint_jacobian import generic_rank
from dalembert.integrate.events.watches import is_watched
from dalembert.runtime.kernel import kernel_of

X, Y, Z = da.coordinates("x y z")
KINETIC = (X.dot**2 + Y.dot**2 + Z.dot**2) / 2
POTENTIAL = 9.81 * Z + 0.3 * X
START = {X: 0, Y: 0, Z: 0, X.dot: 3, Y.dot: 4, Z.dot: 2.5}
#: Where the speed on the cone vanishes, as the form with a root has it.
APEX = 1.2328646
#: A quarter of the length of the lemniscate, which is passed with speed one: Gauss's constant times
#: pi / 2.
NODE = 1.3110287771460599
LOOP = {X: 1.0, Y: 0.0, X.dot: 0.0, Y.dot: 1.0}


def cone(constraint: Any) -> da.System:
    return da.System([X, Y, Z], kinetic=KINETIC, potential=POTENTIAL, constraints=[constraint])


SQUARED = cone(da.velocity(Z.dot**2 - (X.dot**2 + Y.dot**2) / 4, name="cone"))


def lemniscate(offset: float = 0.0) -> da.System:
    oval = (X**2 + Y**2) ** 2 - X**2 + Y**2 - offset
    return da.System(
        [X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, constraints=[da.holonomic(oval, name="oval")]
    )


def assert_vanishes(motion: da.Motion, time: float, name: str, within: float = 1e-6) -> None:
    assert motion.outcome is da.Outcome.SINGULAR, motion.message
    assert f"the gradient of the constraint `{name}` vanishes" in motion.message
    told = float(motion.message.split("t = ")[1].split(":")[0])
    assert told == pytest.approx(time, abs=within)
    assert motion.t[-1] <= told + 1e-8


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_a_cone_in_the_velocities_ends_at_its_apex(form: str, rtol: float) -> None:
    motion = da.simulate(SQUARED, START, (0, 3), form=form, rtol=rtol)
    assert_vanishes(motion, APEX, "cone")
    assert motion.t[-1] == pytest.approx(APEX, abs=1e-6)
    assert np.abs(motion.y[3:, -1]).max() < 1e-5


def test_a_cone_in_the_momenta_ends_there_too() -> None:
    px, py, pz = X.momentum, Y.momentum, Z.momentum
    assert_vanishes(
        da.simulate(cone(da.momentum(pz**2 - (px**2 + py**2) / 4, name="cone")), START, (0, 3)),
        APEX,
        "cone",
    )


def test_with_the_root_written_out_it_is_the_same_instant() -> None:
    root = cone(da.velocity(Z.dot - sympy.sqrt(X.dot**2 + Y.dot**2) / 2, name="cone"))
    motion = da.simulate(root, START, (0, 3))
    assert motion.outcome is da.Outcome.SINGULAR and motion.t[-1] == pytest.approx(APEX, abs=1e-6)


def test_backwards_in_time() -> None:
    mirrored = START | {X.dot: -3, Y.dot: -4, Z.dot: -2.5}
    motion = da.simulate(SQUARED, mirrored, (0, -3))
    assert motion.outcome is da.Outcome.SINGULAR and motion.t[-1] == pytest.approx(-APEX, abs=1e-6)


@pytest.mark.parametrize("method", ["gauss4", "dla", "nonholonomic-leapfrog", "energy2"])
def test_fixed_steps_on_the_cone(method: str) -> None:
    motion = da.simulate(SQUARED, START, (0, 3), method=method, step=0.01)
    assert_vanishes(motion, APEX, "cone", within=1e-4)
    assert motion.t[-1] == pytest.approx(1.23)


FORMS = (
    "lagrange",
    "hamilton",
    "maggi",
    "voronets",
    "hamel",
    "gibbs-appell",
    "bates-sniatycki",
    "implicit-lagrangian",
)


@pytest.mark.long
@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("form", [*FORMS, "vakonomic"])
def test_the_node_of_a_lemniscate_ends_the_motion(form: str, method: str) -> None:
    for rtol in (1e-6, 1e-10):
        assert_vanishes(
            da.simulate(lemniscate(), LOOP, (0, 6), form=form, method=method, rtol=rtol),
            NODE,
            "oval",
            1e-5,
        )


@pytest.mark.parametrize("every", [1, 10])
@pytest.mark.parametrize("method", ["rattle2", "rattle4", "lobatto4", "galerkin4"])
def test_fixed_steps_on_the_lemniscate(method: str, every: int) -> None:
    motion = da.simulate(lemniscate(), LOOP, (0, 6), method=method, step=0.01, every=every)
    assert_vanishes(motion, NODE, "oval", within=2e-4)
    assert motion.t[-1] == pytest.approx(1.3 if every == 10 else 1.31) and len(
        set(motion.t)
    ) == len(motion.t)


@pytest.mark.parametrize(
    "options", [{"method": "dop853"}, {"method": "taylor"}, {"method": "rattle4", "step": 0.01}]
)
def test_many_runs_end_there(options: dict[str, Any]) -> None:
    runs = da.simulate(
        lemniscate(), LOOP | {Y.dot: np.array([1.0, 1.25])}, (0, 3), at=[1.0, 3.0], **options
    )
    assert list(runs.outcomes) == ["became singular"] * 2
    assert "t = 1.3110" in runs.messages[0] and "t = 1.0488" in runs.messages[1]


def test_events_before_the_node_are_met_and_none_behind_it() -> None:
    near = da.event(X - 0.01, name="near")
    motion = da.simulate(
        lemniscate(), LOOP, (0, 6), method="taylor", events=[near, da.event(X + 0.1)]
    )
    assert_vanishes(motion, NODE, "oval", 1e-5)
    assert len(motion.t_events[0]) == 1 and len(motion.t_events[1]) == 0
    stopped = da.simulate(
        lemniscate(), LOOP, (0, 6), method="taylor", events=[da.event(X - 0.01, terminal=True)]
    )
    assert stopped.outcome is da.Outcome.STOPPED


@pytest.mark.parametrize("offset", [-1e-2, -1e-4, 1e-4, 1e-2])
@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_an_oval_beside_the_lemniscate_is_followed(method: str, offset: float) -> None:
    """Its gradient becomes short, turns, and does not vanish: the motion is periodic."""
    start = {X: np.sqrt((1 + np.sqrt(1 + 4 * offset)) / 2), Y: 0.0, X.dot: 0.0, Y.dot: 1.0}
    motion = da.simulate(lemniscate(offset), start, (0, 10), method=method)
    assert motion.success, motion.message
    assert motion.worst_residual["position"] < 1e-12


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_do_not_matter(scale: float) -> None:
    """The same cone where velocities are of size 1e-9 or 1e9, and its expression of size 1e-18 or
    1e18.
    """
    system = da.System(
        [X, Y, Z], kinetic=KINETIC, potential=scale * POTENTIAL, constraints=SQUARED.constraints
    )
    start = {key: scale * value for key, value in START.items()}
    assert_vanishes(da.simulate(system, start, (0, 3), atol=1e-12 * scale), APEX, "cone")


def test_a_row_that_follows_from_others_may_vanish() -> None:
    """(x - 1/2) (r^2 - 1) says nothing beside r^2 - 1, wherever its gradient vanishes."""
    circle = X**2 + Y**2 - 1
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        constraints=[
            da.holonomic(circle, name="circle"),
            da.holonomic((X - sympy.Rational(1, 2)) * circle, name="twice"),
        ],
    )
    motion = da.simulate(system, LOOP, (0, 6), form="lagrange")
    assert motion.success, motion.message
    assert motion.y[:2, -1] == pytest.approx([np.cos(6), np.sin(6)], abs=1e-7)


def test_rows_that_cannot_vanish_are_not_watched() -> None:
    disk = da.gallery.load("rolling-disk").system
    edge = da.System(
        [X, Y, Z],
        kinetic=KINETIC,
        constraints=[da.velocity(sympy.sin(Z) * X.dot - sympy.cos(Z) * Y.dot)],
    )
    for system, expected in ((disk, False), (edge, False), (SQUARED, True), (lemniscate(), True)):
        assert is_watched(kernel_of(da.derive(system, "lagrange"), system.parameters)) is expected


def chain_and_lemniscate(links: int) -> tuple[da.System, dict[Any, float]]:
    """A hanging chain of particles beside one that passes the node of a lemniscate."""
    q = da.coordinates(" ".join(f"a{i} b{i}" for i in range(links)))
    gaps = [a - b for a, b in zip(q, [0, 0, *q[:-2]], strict=True)]
    rods = [
        da.holonomic(a**2 + b**2 - 1, name=f"rod{i}")
        for i, (a, b) in enumerate(zip(gaps[::2], gaps[1::2], strict=True))
    ]
    oval = da.holonomic((X**2 + Y**2) ** 2 - X**2 + Y**2, name="oval")
    every = [X, Y, *q]
    kinetic = sympy.Add(*(c.dot**2 / 2 for c in every))
    hanging = {c: -1.0 - i for i, c in enumerate(q[1::2])}
    potential = 9.81 * sympy.Add(*q[1::2])
    system = da.System(every, kinetic=kinetic, potential=potential, constraints=[*rods, oval])
    return system, {**LOOP, **hanging}


def test_a_sparse_system_is_watched_as_well() -> None:
    system, start = chain_and_lemniscate(12)
    assert da.derive(system, "lagrange").compile().large is not None
    assert_vanishes(da.simulate(system, start, (0, 2), form="lagrange"), NODE, "oval")


def test_gradients_that_are_too_many_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalembert.integrate.events.rank_watch.MOST_ENTRIES", 20)
    system, start = chain_and_lemniscate(12)
    motion = da.simulate(system, start, (0, 1.3), form="lagrange")
    assert motion.success
    (said,) = motion.diagnostics
    assert "The gradients of 13 constraints (48 entries) are too many to be watched" in said
    assert "not noticed between them if the gradient of the constraint `oval` vanishes" in said


def test_a_rank_that_no_state_decided_is_said() -> None:
    impossible = [da.holonomic(X**2 + Y**2 + 1, name="f"), da.holonomic(X - Z, name="g")]
    found = generic_rank(da.System([X, Y, Z], kinetic=KINETIC, constraints=impossible))
    assert (found.rank, found.states, found.is_assumed) == (2, 0, True)
    sphere = [da.holonomic(X**2 + Y**2 + Z**2 - 1, name="f"), da.holonomic(X - Z, name="g")]
    found = generic_rank(da.System([X, Y, Z], kinetic=KINETIC, constraints=sphere))
    assert (found.rank, found.states, found.is_assumed) == (2, 1, False)
    twice = [sphere[1], da.holonomic((X - Z) * (2 + Y**2), name="h")]
    with pytest.raises(FormError, match="2 constraints of rank 1 at 28 states where they hold"):
        da.simulate(
            da.System([X, Y, Z], kinetic=KINETIC, constraints=twice),
            {Y.dot: 1.0},
            (0, 1),
            method="rattle2",
            step=0.1,
        )
