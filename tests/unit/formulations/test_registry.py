"""The form that `simulate` takes by itself: which one, why, and that nobody can tell from the
motion.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from agreement import Instant, evidence, gap_of, worst_gap
from core_systems import random_system
from dalembert.errors import ModelError
from dalembert.formulations.independent_velocities import choose_split
from dalembert.formulations.registry import MOST_CHOICES, default_form, fastest_form


def sled(n: int = 1, **further: Any) -> da.System:
    """y_dot = x z_dot for n particles: the coefficients of the y_dot are constant, so that they can
    always be solved for.
    """
    symbols = [da.coordinates(f"x{k} y{k} z{k}") for k in range(n)]
    q = [c for triple in symbols for c in triple]
    constraints = [
        da.velocity(y.dot - x * z.dot, name=f"f{k}") for k, (x, y, z) in enumerate(symbols)
    ]
    kinetic = sum(c.dot**2 for c in q) / 2
    return da.System(
        q, kinetic=kinetic, potential=sum(c**2 for c in q), constraints=constraints, **further
    )


def choices() -> dict[str, tuple[da.System, str]]:
    x, y = da.coordinates("x y")
    free = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=x * y)
    floor = da.unilateral(-da.Coordinate("y0") - 1, name="floor")
    twice = sled().replacing(
        constraints=[
            *sled().constraints,
            da.velocity(2 * sled().constraints[0].expression, name="again"),
        ]
    )
    return {
        "a choice that cannot degenerate": (sled(), "maggi"),
        "a holonomic one too": (
            free.replacing(constraints=[da.holonomic(y - sin(x) - da.t, name="h")]),
            "maggi",
        ),
        "nothing to eliminate": (free, "lagrange"),
        "a choice that may degenerate": (
            free.replacing(constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")]),
            "lagrange",
        ),
        "a nonlinear constraint": (
            free.replacing(constraints=[da.velocity(y.dot - x.dot**2, name="n")]),
            "lagrange",
        ),
        "constraints that repeat each other": (twice, "lagrange"),
        "a one-sided constraint": (
            sled().replacing(constraints=[*sled().constraints, floor]),
            "lagrange",
        ),
        "a Hamiltonian": (da.System([x], hamiltonian=x.momentum**2 / 2 + x**2), "hamilton"),
        "an image": (da.gallery.load("linked-particles").system, "implicit-lagrangian"),
        "too many choices": (sled(5), "lagrange"),
    }


@pytest.mark.parametrize("case", list(choices()))
def test_what_is_picked(case: str) -> None:
    system, form = choices()[case]
    assert fastest_form(system) == form
    motion = da.simulate(system, {}, (0, 0), parameters=dict.fromkeys(system.parameters, 1.0))
    assert motion.equations.form == form


def test_too_many_choices_are_not_searched() -> None:
    """C(15, 5) = 3003 sets of dependent velocities: the form that was asked for finds one, a run by
    itself does not look.
    """
    assert MOST_CHOICES < 3003
    assert choose_split(sled(5)).is_steady


def test_where_nothing_is_bound_no_choice_degenerates() -> None:
    free = sled().replacing(constraints=[])
    split = choose_split(free)
    assert (split.independent, split.dependent, split.is_steady) == ((0, 1, 2), (), True)
    assert da.derive(free, "maggi").chart_is_steady


@pytest.mark.parametrize("seed", range(6))
def test_the_pick_is_the_same_motion(seed: int) -> None:
    """Whatever is picked: accelerations, reactions, energy and momenta of Lagrange's equations."""
    system = random_system(seed, n=4, kinds=["cc", "c", "e", "ee", "ce", "v"][seed])
    form = fastest_form(system)
    assert (form == "maggi") == (seed != 5)
    assert worst_gap(system, [da.derive(system, form)]) < 1e-10


def test_reactions_and_residuals_do_not_depend_on_the_pick() -> None:
    """A run by itself takes Maggi's equations, and knows the multipliers all the same."""
    system = sled(forces={"x0": -da.Coordinate("y0").dot})
    start = {"x0": 0.5, "z0_dot": 1.0, "x0_dot": 0.2}
    times = [0.0, 0.5, 1.0]
    motion, plain = (
        da.simulate(system, start, (0, 1), form=form, at=times, rtol=1e-11)
        for form in (None, "lagrange")
    )
    assert motion.equations.form == "maggi" and motion.statistics["form"] == "maggi"
    assert motion.state == plain.state
    assert np.allclose(motion.y, plain.y, atol=1e-9)
    assert np.abs(plain.reactions["f0"].multiplier).max() > 0.1
    assert np.allclose(
        motion.reactions["f0"].multiplier, plain.reactions["f0"].multiplier, atol=1e-8
    )
    assert np.allclose(motion.reactions["f0"].force, plain.reactions["f0"].force, atol=1e-8)
    assert motion.worst_residual["velocity"] < 1e-12
    assert motion.names == plain.names
    assert dict(motion.start) == pytest.approx(dict(plain.start))


def test_a_vector_of_tolerances_speaks_of_the_symbols_that_the_system_was_stated_in() -> None:
    """One tolerance for each of x, y, z and their velocities: the form that has those symbols is
    kept.
    """
    system, start = sled(), {"x0": 0.5, "z0_dot": 1.0}
    motion = da.simulate(system, start, (0, 1), atol=[1e-11] * 6)
    assert motion.equations.form == "lagrange"
    assert da.simulate(system, start, (0, 1), atol=1e-11).equations.form == "maggi"
    with pytest.raises(ModelError, match="one for each symbol of the state"):
        da.simulate(system, start, (0, 1), atol=[1e-11] * 5)
    by_name = da.simulate(
        system, start, (0, 1), form="maggi", atol=[1e-11] * 5
    )  # x, y, z and two velocities
    assert by_name.success


def test_derive_keeps_to_what_was_stated() -> None:
    """Only a run may choose: equations to be read are those of the form that the system was stated
    in.
    """
    assert default_form(sled()) == "lagrange" and da.derive(sled()).form == "lagrange"


def test_velocities_that_degenerate_in_some_places_can_still_be_chosen() -> None:
    """Three constraints on four coordinates: each of the four choices fails somewhere, and none of
    them everywhere.
    """
    system = random_system(1364, n=4, kinds="vva", stated="planar")
    assert choose_split(system).quality < 1e-3
    assert (
        worst_gap(system, [da.derive(system, form) for form in ("maggi", "canonical-quasi")]) < 1e-9
    )


def test_a_redundant_crank_is_seen_where_the_constraints_hold() -> None:
    """Three parallel cranks carry a bar: their rows depend on each other only on the constraints,
    and one freedom is left.
    """
    X, Y, tilt, a, b, c = q = da.coordinates("X Y tilt a b c")
    constraints = []
    for angle, arm in ((a, -1), (b, 1), (c, sin(0.5))):
        constraints.append(da.holonomic(X + arm * cos(tilt) - arm - cos(angle), name=f"x_{angle}"))
        constraints.append(da.holonomic(Y + arm * sin(tilt) - sin(angle), name=f"y_{angle}"))
    system = da.System(
        q, kinetic=sum(s.dot**2 for s in q) / 2, potential=2 * Y, constraints=constraints
    )
    assert len(choose_split(system).independent) == 1
    place, rate = (
        np.array([np.cos(0.7), np.sin(0.7), 0.0, 0.7, 0.7, 0.7]),
        np.array([-np.sin(0.7), np.cos(0.7), 0.0, 1, 1, 1]),
    )
    expected = evidence(da.derive(system, "lagrange"), Instant(0.0, place, rate))
    # Three cranks of inertia 1 and a bar of mass 1 on a circle of radius 1, pulled down by 2: 4
    # a_ddot = -2 cos(a).
    assert expected is not None
    assert expected["accelerations"][3:] == pytest.approx([-2 * np.cos(0.7) / 4] * 3, abs=1e-12)
    for form in (
        "maggi",
        "voronets",
        "hamel-orthonormal",
        "canonical-quasi",
        "implicit-hamiltonian",
    ):
        found = evidence(da.derive(system, form), Instant(0.0, place, rate))
        assert found is not None and gap_of(expected, found)[0] < 1e-9, form
