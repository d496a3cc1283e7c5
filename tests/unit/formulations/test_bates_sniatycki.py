"""Hamilton's equations on M = FL(D): the two-form by definition, the motion by independent
implementations, and where the form does not exist.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from agreement import numbered, worst_gap
from core_systems import random_system
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import FormError
from dalembert.formulations.forms.bates_sniatycki import ConstraintManifold
from dalembert.formulations.independent_velocities import Reduction
from dalembert.formulations.registry import applicability

FORM = "bates-sniatycki"


def manifold_values(system: da.System, blocks: Any, seed: int = 1) -> list[np.ndarray]:
    """Blocks of a system's manifold at a random point (q, y, t), as numbers."""
    manifold = ConstraintManifold(Reduction(system, GraphAlgebra()))
    algebra = manifold.algebra
    function = ca.Function(
        "f", [manifold.point, manifold.reduction.time], [ca.densify(b) for b in blocks(manifold)]
    )
    random = np.random.default_rng(seed)
    assert set(algebra.symbols) >= set(system.coordinates)
    return [
        np.array(b) for b in function.call([random.uniform(-0.7, 0.7, manifold.point.numel()), 0.4])
    ]


# -- the two-form ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", ["", "h", "v", "a", "t", "cc", "vv"])
def test_the_two_form_is_that_of_phase_space(kinds: str) -> None:
    """Omega_M(X, Y) = dq(X) . dp(Y) - dq(Y) . dp(X) with p(q, y), and dq of the frame of H is the
    frame of D.
    """
    system = random_system(70 + len(kinds), n=4, kinds=kinds, forced=False)
    n = 4

    def blocks(m: ConstraintManifold) -> list[Any]:
        rows = ca.jacobian(m.reduction.level.residual, m.reduction.v)
        derivative = ca.jacobian(m.momenta, m.point)
        return [m.two_form, derivative, m.directions, m.on(rows), m.restricted, m.frame]

    form, derivative, directions, rows, restricted, frame = manifold_values(system, blocks)
    table = np.vstack([derivative, np.zeros((frame.shape[1], derivative.shape[1]))])
    assert np.allclose(form, table - table.T, atol=1e-13)
    assert np.allclose(rows @ directions[:n], 0, atol=1e-12) and np.allclose(
        directions[:n, : frame.shape[1]], frame
    )
    assert np.allclose(restricted, -restricted.T, atol=1e-13)
    assert np.linalg.cond(restricted) < 1e6


@pytest.mark.parametrize("kinds", ["", "v", "a", "t", "vv"])
def test_the_vertical_half_of_the_equation_gives_the_velocities(kinds: str) -> None:
    """N = F^T p_y is the identity, and a = dH/dy - p_y^T d is v_I; only an affine constraint has a
    drift d.
    """
    system = random_system(80 + len(kinds), n=4, kinds=kinds, forced=False)
    speeds, velocities, pairing, direct, drift = manifold_values(
        system, lambda m: [m.speeds, m.independent, m.pairing, m.frame.T @ m.by_momenta, m.drift]
    )
    assert np.allclose(speeds, velocities, atol=1e-11)
    assert np.allclose(pairing, direct, atol=1e-11) and np.array_equal(
        pairing, np.eye(len(pairing))
    )
    assert bool(np.abs(drift).max() > 1e-6) is (kinds == "a")


def test_a_nonlinear_constraint_has_a_pairing_that_is_not_the_identity() -> None:
    system = numbered(da.gallery.load("appell").system, da.gallery.load("appell").parameters)
    assert not ConstraintManifold(Reduction(system, GraphAlgebra())).is_affine
    pairing, direct, speeds, velocities = manifold_values(
        system, lambda m: [m.pairing, m.frame.T @ m.by_momenta, m.speeds, m.independent], seed=4
    )
    assert not np.allclose(pairing, np.eye(2), atol=1e-3)
    assert np.allclose(pairing, direct, atol=1e-12) and np.allclose(speeds, velocities, atol=1e-12)


# -- the same motion -------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", ["", "h", "v", "ra", "t", "m", "cc", "hvd", "vv"])
@pytest.mark.parametrize("stated", ["lagrangian", "hamiltonian", "kinetic"])
def test_it_moves_as_lagrange(kinds: str, stated: str) -> None:
    system = random_system(
        43 + len(kinds), n=2 + len(kinds.rstrip("d")), kinds=kinds, stated=stated
    )
    assert worst_gap(system, [da.derive(system, FORM)], count=1) < 1e-9


@pytest.mark.parametrize(
    "name", ["snakeboard", "rolling-disk", "appell", "ball-on-rotating-plate", "unicycle-rider"]
)
def test_it_moves_as_lagrange_on_the_gallery(name: str) -> None:
    scenario = da.gallery.load(name)
    system = numbered(scenario.system, scenario.parameters)
    assert worst_gap(system, [da.derive(system, FORM)], seed=5) < 1e-9


@pytest.mark.long
def test_the_bicycle_has_a_singular_lagrangian() -> None:
    """Rank 4 of 5: Hamilton's form does not exist, the form on M does, and moves as Lagrange's."""
    scenario = da.gallery.load("bicycle")
    assert applicability(scenario.system)["hamilton"] is not None
    at = [0.0, 0.3, 0.6, 0.9]
    options: dict[str, Any] = {"span": (0, 0.9), "at": at, "rtol": 1e-12}
    one, two = (da.simulate(scenario, form=form, **options) for form in ("lagrange", FORM))
    for q in scenario.system.coordinates:
        assert np.allclose(one[q], two[q], rtol=1e-9, atol=1e-9), q
        assert np.allclose(one[q.momentum], two[q.momentum], rtol=1e-9, atol=1e-9), q
    assert np.allclose(two.energy, two.energy[0], rtol=1e-11)
    assert np.allclose(one.total_reaction, two.total_reaction, rtol=1e-7, atol=1e-7)


def test_forces_and_dissipation_act_on_the_directions_of_the_constraints() -> None:
    """A skate with drag: its speed decays as exp(-c t), whatever its heading does."""
    x, y, theta = da.coordinates("x y theta")
    c = da.parameters("c", positive=True)
    blade = da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")
    system = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        constraints=[blade],
        dissipation=c / 2 * (x.dot**2 + y.dot**2),
    )
    start = {theta: 0.3, x.dot: 2 * np.cos(0.3), y.dot: 2 * np.sin(0.3), theta.dot: 0.8}
    motion = da.simulate(
        system, start, (0, 2), parameters={c: 0.6}, form=FORM, at=[0, 1, 2], rtol=1e-11
    )
    assert np.allclose(
        np.hypot(motion["x_dot"], motion["y_dot"]), 2 * np.exp(-0.6 * motion.t), atol=1e-9
    )


def test_without_constraints_it_is_hamiltons_form() -> None:
    system = random_system(3, n=3, kinds="", forced=False)
    manifold = ConstraintManifold(Reduction(system, GraphAlgebra()))
    momenta, turning = manifold_values(system, lambda m: [m.momenta - m.y, m.turning])
    assert np.all(momenta == 0) and np.all(turning == 0)
    assert manifold.restricted.shape == (6, 6)


def test_its_equations_can_be_read() -> None:
    x, y = da.coordinates("x y")
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=x**2,
        constraints=[da.velocity(y.dot - 2 * x.dot, name="line")],
    )
    equations = da.derive(system, FORM)
    assert "Sniatycki" in equations.citation and equations.form == FORM
    assert equations.text().splitlines() == ["x_dot = 2*y_y/5", "y_dot = 4*y_y/5", "y_y_dot = -x"]


# -- where it does not exist -----------------------------------------------------------------------


def test_hypotheses_are_checked_by_name() -> None:
    x, y = da.coordinates("x y")
    massless = da.System([x, y], kinetic=x.dot**2 / 2, potential=y**2)
    with pytest.raises(FormError, match="singular"):
        da.derive(massless, FORM)
    relativistic = da.System([x], lagrangian=-sympy.sqrt(1 - x.dot**2))
    with pytest.raises(FormError, match="quadratic"):
        da.derive(relativistic, FORM)
    with pytest.raises(FormError, match="image"):
        da.derive(da.gallery.load("linked-particles").system, FORM)
