"""The unicycle with rider, balanced by a torque on its limb: u = k1 theta + k2 kappa + k3 theta_dot
+ k4 kappa_dot.

The gains give the linearised motion near rolling straight with p_2 = 1/2 the eigenvalues -2, -2.5,
-3, -3.5; two zeros belong to the momenta. By Lyapunov and Malkin a motion that starts nearby tends
to a steady motion nearby, not to upright. Nearby is near: with p_1 = 0 a tilt of 0.00135 alone
escapes already.
"""

from __future__ import annotations

from ...model.scenario import Scenario
from ...model.symbols import parameters
from ..wheels.unicycle_rider import scenario as uncontrolled


def scenario() -> Scenario:
    """Near upright, rolling almost straight."""
    bare = uncontrolled()
    theta, kappa, *_ = bare.system.coordinates
    k1, k2, k3, k4 = parameters("k1 k2 k3 k4")
    control = k1 * theta + k2 * kappa + k3 * theta.dot + k4 * kappa.dot
    return bare.replacing(
        system=bare.system.driven({"u": control}).replacing(name="Unicycle with rider, balanced"),
        parameters=dict(bare.parameters)
        | {
            "k1": -207.10742935337564,
            "k2": -14.02628725384511,
            "k3": -61.02806225105107,
            "k4": -4.4221872347202416,
        },
        start={"theta": 0.002, "kappa": -0.001, "psi": 0.0, "phi": 0.0, "x": 0.0, "y": 0.0}
        | {
            "theta_dot": 0.0,
            "kappa_dot": 0.0,
            "psi_dot": 0.4365399093324551,
            "phi_dot": -0.006773336945158392,
            "x_dot": -0.21826995466622756,
            "y_dot": 0.0,
        },
        simulate={"span": (0.0, 6.0), "rtol": 1e-11},
        summary="Linear feedback on a rolling system: it tends to a steady motion nearby.",
    )
