"""Controlled Routhians of the unicycle: the closed loop with constraints and on the quotient,
spectra, and what is refused.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.control.feedback.routhian_matching import (
    _Chosen,
    _RouthianTask,
    closed_on_quotient,
)
from dalembert.errors import FormError

RIDER = da.gallery.load("unicycle-rider")


@cache
def routhian() -> Any:
    _, _, psi, phi, x, y = RIDER.system.coordinates
    R = next(symbol for symbol in RIDER.system.parameters if symbol.name == "R")
    group = {
        "ahead": {x: cos(phi), y: sin(phi)},
        "aside": {x: -sin(phi), y: cos(phi)},
        "turn": {phi: 1},
        "roll": {psi: 1},
    }
    return da.symmetry.nonholonomic_routhian(RIDER, group, section=[[0, 0, 1, 0], [-R, 0, 0, 1]])


@cache
def found() -> Any:
    return da.control.match_routhian(routhian(), {"p_2": 0.5})


#: Matching a Routhian takes about ten seconds.
pytestmark = pytest.mark.long


def test_the_conditions_hold() -> None:
    assert found().certificate.residual < 1e-10 and found().momentum_residual < 1e-10


def test_it_says_on_what_the_conditions_rest() -> None:
    """Fitted numbers keep g~ from being proved, to rounding; what is left of the momenta does not
    depend on their size.
    """
    judged = found().conditions
    assert (
        judged.status == "not established"
        and judged.holds_to_rounding
        and "shape" in judged.grounds
    )
    assert "not established" in str(found())
    p = sympy.Matrix(routhian().momenta)
    turning = (p.T * sympy.Matrix(routhian().inertia).inv() * p)[0] / 2
    for unit, off in ((1, 1), (1e-12, 1), (1, 1.001), (1e-12, 1.001)):
        chosen = _Chosen(found().shaped, sympy.Matrix(found().form) * unit * off, 0.0)
        task = _RouthianTask(routhian(), unit * turning, {}, {})
        verdict, residual = task.momentum_condition(chosen)
        assert verdict.is_refuted == (off != 1) and (residual < 1e-10) == (off == 1)


@pytest.mark.parametrize("momentum", [1.0, 1e-6])
def test_momenta_that_turn_the_routhian_are_refused_however_small(momentum: float) -> None:
    """p_dot = p y y_dot/(1 + y^2): nabla R - dR = -p^2 y/(1 + y^2)^2."""
    particle = da.gallery.load("constrained-particle")
    x, _, z = particle.system.coordinates
    turned = da.symmetry.nonholonomic_routhian(particle, {"u": {x: 1}, "w": {z: 1}})
    with pytest.raises(FormError, match="nabla R differs"):
        da.control.match_routhian(turned, {"p_1": momentum})


def test_the_spectrum_is_imaginary_before_and_left_after_damping() -> None:
    assert np.max(np.abs(found().undamped.real)) < 1e-9 * np.max(np.abs(found().undamped))
    judged = found().stability
    assert (judged.verdict, judged.neutral, judged.manifold) == ("stable", 2, True)
    assert np.sum(judged.linearisation.eigenvalues.real < -0.5) == 4


def test_without_a_force_beside_the_energies_it_cannot_be_done() -> None:
    """The only fields that preserve g_1 are along theta: there g~ and U~ have different signs."""
    assert "not solved" in found().strict
    here = found().shaped.mechanics
    (i,) = here.unactuated
    assert here.numbers(here.metric)[i, i] > 0 > here.hessian(here.potential)[i, i]
    bare = sympy.zeros(2, 1)
    shaped = type(found().shaped)(
        here, "bare", found().shaped.metric, found().shaped.potential, bare
    )
    assert shaped.certificate().kinetic > 1e-6


def test_the_system_with_constraints_settles_near_upright() -> None:
    start = {"theta": 0.002, "psi_dot": 0.5 / 1.15, "x_dot": -0.25 / 1.15}
    options: dict[str, Any] = {
        "parameters": RIDER.parameters,
        "rtol": 1e-10,
        "at": np.linspace(0, 6, 13),
    }
    full = da.simulate(found().system, start, (0, 6), **options)
    assert np.max(np.abs(full["theta"])) < 0.02
    assert abs(full["kappa_dot"][-1]) < 1e-3 and abs(full["theta"][-1]) > 1e-5
    momenta = {"p_1": full["p1"][0], "p_2": full["p2"][0]}
    reduced = da.simulate(
        closed_on_quotient(routhian(), found().system),
        {"theta": 0.002, **momenta},
        (0, 6),
        **options,
    )
    for name, symbol in (("theta", "theta"), ("kappa", "kappa"), ("p1", "p_1"), ("p2", "p_2")):
        np.testing.assert_allclose(full[name], reduced[symbol], atol=1e-7)


def test_a_report() -> None:
    text = str(found())
    assert "Lyapunov and Malkin" in text and "without Y" in text


@pytest.mark.parametrize("damping", [0.0])
def test_without_damping_nothing_is_claimed(damping: float) -> None:
    with pytest.raises(da.errors.FormError, match="stabilise"):
        da.control.match_routhian(routhian(), {"p_2": 0.5}, damping=damping)


def cart_with_a_free_rotor(inputs: object) -> da.System:
    x, theta, turn = da.coordinates("x theta turn")
    u = da.inputs("u")
    kinetic = x.dot**2 + theta.dot**2 / 2 + x.dot * theta.dot * sympy.cos(theta) + turn.dot**2 / 2
    given = {u: 0} if inputs == "imposed" else [u]
    return da.System(
        [x, theta, turn], kinetic=kinetic, potential=sympy.cos(theta), forces={x: u}, inputs=given
    )


def test_what_belongs_to_no_class_is_refused_with_the_reason():
    cart = cart_with_a_free_rotor("imposed")
    routhian = da.symmetry.nonholonomic_routhian(cart, {"spin": {cart.coordinates[2]: 1}})
    with pytest.raises(FormError, match="depends on unactuated theta"):
        da.control.match_routhian(routhian, {"p_1": 0.5})


def test_a_routhian_of_a_system_with_a_free_input_is_refused():
    cart = cart_with_a_free_rotor("free")
    with pytest.raises(FormError, match="`u` is free"):
        da.symmetry.nonholonomic_routhian(cart, {"spin": {cart.coordinates[2]: 1}})
