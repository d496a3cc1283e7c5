"""A mass on a spring that swings in a vertical plane.

L = M/2 ((l + u) theta_dot)^2 + M/2 u_dot^2 - M g (l - (l + u) cos theta) - K/2 u^2
"""

from __future__ import annotations

from ...model.scenario import Scenario
from ..shared_parts import GAVIN, ElasticPendulum


def scenario() -> Scenario:
    """The free pendulum, released with the spring stretched to twice its length."""
    pendulum = ElasticPendulum()
    return Scenario(
        pendulum.system(),
        parameters=pendulum.values,
        start={"theta": 0.0, "u": 1.0, "theta_dot": 0.5, "u_dot": 0.0},
        simulate={"span": (0.0, 36.0), "rtol": 1e-10},
        source=f"{GAVIN}, eqs. 32 to 45",
        summary="Swinging and stretching exchange energy.",
        drawing=pendulum.drawing(),
    )
