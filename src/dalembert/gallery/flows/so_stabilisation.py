"""Brockett's form on so(3), x_dot = u, Y_dot = x u^T - u x^T, stabilised by three laws one after
the other.

    u = -lambda x + Y^T Y x  until t1,      u = Y x  until t2,      u = -x  from then on

The first turns x into the eigenspace of the largest eigenvalue lambda of Y^T Y and keeps the
spectrum, the second lets Y decay while |x| stays, the third takes x to zero while Y stays.
"""

from __future__ import annotations

from sympy import Piecewise, true

from ...model.builders.brockett_form import brockett_form, brockett_law
from ...model.builders.flow_drawings import vectors_on_sphere
from ...model.scenario import Scenario
from ...model.symbols import parameters, t
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """The start of the printed example, which switches at t1 = 2 and t2 = 4."""
    flow = brockett_form(3, name="Stabilisation on so(3)")
    rate = parameters("lambda", positive=True)
    first, second = parameters("t1 t2", positive=True)
    laws = [
        brockett_law(flow, alpha=rate, gamma=1),
        brockett_law(flow, beta=1),
        brockett_law(flow, alpha=1),
    ]
    law = {
        u: Piecewise((laws[0][u], t < first), (laws[1][u], t < second), (laws[2][u], true))
        for u in flow.inputs
    }
    x, Y = flow.coordinates[:3], flow.matrices["Y"]
    closed = flow.driven(law).replacing(
        outputs={"x_square": sum(q**2 for q in x), "Y_square": sum(entry**2 for entry in Y) / 2}
    )
    return Scenario(
        closed,  # type: ignore[arg-type]
        parameters={"lambda": 9.05, "t1": 2.0, "t2": 4.0},
        start={"x_1": 0.2, "x_2": 1.1, "x_3": 1.1, "Y_12": 0.1, "Y_13": -0.2, "Y_23": 3.0},
        simulate={"span": (0.0, 9.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 6.3 (eqs. 6.3.53 to 6.3.58)",
        summary=(
            "A vector and a skew matrix, drawn by its axis, brought to zero by three laws where no"
            " smooth one can."
        ),
        drawing=vectors_on_sphere([x, (Y[1, 2] / 2, -Y[0, 2] / 2, Y[0, 1] / 2)], 1.6),
    )
