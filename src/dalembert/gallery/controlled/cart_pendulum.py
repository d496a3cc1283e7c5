"""An upright pendulum on a cart that a force u pushes; without one it falls.

L = (m l^2 phi_dot^2 + 2 m l cos(phi) phi_dot s_dot + (M + m) s_dot^2) / 2 - m g l cos(phi)
"""

from __future__ import annotations

from ...model.scenario import Scenario
from ..shared_parts import BLOCH
from .controlled_lagrangians import CartPendulum


def scenario() -> Scenario:
    """The pendulum falls, and the cart gives way."""
    cart = CartPendulum.symbols()
    return Scenario(
        cart.system(),
        parameters=cart.values,
        start={"phi": 0.1, "s": 0.0, "phi_dot": 0.0, "s_dot": 0.0},
        simulate={"span": (0.0, 2.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 9.4 (controlled Lagrangians)",
        summary=(
            "The simplest underactuated system of which the equilibrium that matters is unstable."
        ),
        drawing=cart.drawing(),
    )
