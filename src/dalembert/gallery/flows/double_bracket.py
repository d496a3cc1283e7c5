"""The double bracket flow X_dot = [X, [X, N]], which sorts the eigenvalues of X like N."""

from __future__ import annotations

from ...model.builders.bracket_flows import double_bracket
from ...model.builders.flow_drawings import bars
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """Five eigenvalues that end in the order 2, 4, 1, 5, 3 of N."""
    n = 5
    flow = double_bracket(n, [2, 4, 1, 5, 3], name="Double bracket flow")
    matrix = [
        [0.2 * (3 - abs(i - j)) + (0.3 * i - 0.5 if i == j else 0.0) for j in range(n)]
        for i in range(n)
    ]
    x = flow.matrices["x"]
    return Scenario(
        flow,  # type: ignore[arg-type]
        start=flow.start(x=matrix),
        simulate={"span": (0.0, 25.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 7.7",
        summary=(
            "A gradient flow of matrices with one spectrum that sorts eigenvalues; the bars are the"
            " diagonal."
        ),
        drawing=bars([x[k, k] for k in range(n)], [x[k, k + 1] for k in range(n - 1)], 2.6),
    )
