"""The particle with y_dot = z^2 x_dot, moved by the variational problem of Lagrange instead of
d'Alembert's principle.

The motion makes the action stationary among curves that obey the constraint: Euler's equations of L
+ chi f with f = y_dot - z^2 x_dot. It depends on the start of chi and differs from the mechanical
motion.
"""

from __future__ import annotations

from ...model.constraints import velocity
from ...model.scenario import Scenario
from ...model.symbols import parameters
from ...model.system import System
from ..shared_parts import RUMYANTSEV, point_in_space
from .nonholonomic_particle import nonholonomic_particle_drawing


def scenario() -> Scenario:
    """The vakonomic motion from the same position and velocity as the mechanical one."""
    m = parameters("m", positive=True)
    (x, y, z), kinetic = point_in_space(m, "x y z")
    system = System(
        coordinates=[x, y, z],
        kinetic=kinetic,
        constraints=[velocity(y.dot - z**2 * x.dot, name="slope")],
        name="Nonholonomic particle, vakonomic",
    )
    return Scenario(
        system,
        parameters={"m": 1.0},
        start={
            "x": 0.0,
            "y": 0.0,
            "z": 0.5,
            "x_dot": 1.0,
            "y_dot": 0.25,
            "z_dot": 0.8,
            "chi_slope": 0.6,
        },
        simulate={"span": (0.0, 5.0), "rtol": 1e-10, "form": "vakonomic"},
        source=f"{RUMYANTSEV}, eqs. 4.1, 4.2 and 5.9, for the constraint of Udwadia's eq. 44",
        summary="The variational motion under a nonholonomic constraint is not the mechanical one.",
        drawing=nonholonomic_particle_drawing(x, y, z),
    )
