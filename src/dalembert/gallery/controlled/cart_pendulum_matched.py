"""The pendulum on a cart with the feedback of a controlled Lagrangian (simplified matching).

    g~ = [ a (c a - 1) (m l cos phi)^2 / (M + m) - m l^2,   (c a - 1) m l cos phi;   .,  c (M + m) ]
    U~ = m g l (1 - cos phi) + eps (M + m) y^2 / 2,      y = s + a m l sin(phi) / (M + m)

The control is (9.4.22) with dissipation d > 0, since E~ is positive definite. The output
`controlled_energy` falls to zero.
"""

from __future__ import annotations

from sympy import Matrix, cos, sin

from ...model.scenario import Scenario
from ...model.symbols import parameters
from ..shared_parts import BLOCH
from .controlled_lagrangians import CartPendulum, controlled_energy, law


def scenario() -> Scenario:
    """From far off upright, at rest."""
    cart = CartPendulum.symbols()
    phi, s, m, M, l, g = cart.phi, cart.s, cart.m, cart.M, cart.l, cart.g
    a, c, eps, d = parameters("a c eps d", positive=True)
    cross, whole = m * l * cos(phi), M + m
    metric = Matrix([[m * l**2, cross], [cross, whole]])
    strong = c * a - 1
    wanted = Matrix(
        [[a * strong * cross**2 / whole - m * l**2, strong * cross], [strong * cross, c * whole]]
    )
    y = s + a * m * l * sin(phi) / whole
    potential = m * g * l * (1 - cos(phi)) + eps * whole * y**2 / 2
    derivatives = Matrix([potential.diff(phi), potential.diff(s)])
    control = law(metric, wanted, derivatives, d, phi, s)
    energy = controlled_energy(wanted, potential, phi, s)
    return Scenario(
        cart.system(control, name="Pendulum on a cart, matched", controlled_energy=energy),
        parameters=cart.values
        | {"a": 16.571428571428573, "c": 0.3218390804597701, "eps": 3.68, "d": 0.683},
        start={"phi": 0.9, "s": -0.6, "phi_dot": 0.0, "s_dot": 0.0},
        simulate={"span": (0.0, 8.0), "rtol": 1e-10},
        source=f"{BLOCH}, 9.4.17 to 9.4.24",
        summary=(
            "A controlled Lagrangian: the closed loop is a system with other energies, and"
            " converges upright."
        ),
        drawing=cart.drawing(),
    )
