r"""First-order systems as a Gauss problem: the unknowns are the rates, the metric is the identity.

    z = x_dot,   G = 1,   f = X(x, t, u),   no rows

Invariant relations g(x) = 0 of the flow are kept by the position step, the least one in the
Euclidean metric of the symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

from ...errors import FormError
from ...model.flow_system import Flow
from ...model.symbols import t
from ..blocks import GaussBlocks, Projection
from ..equations import Equations

if TYPE_CHECKING:
    from ...algebra.protocol import Algebra

__all__ = ["FORM", "derive"]

FORM = "flow"
CITATION = "First-order equations as stated"


def derive(flow: Flow, form: str | None = None) -> Equations:
    """The equations of a flow, which has one form only."""
    if form not in (None, FORM):
        raise FormError(
            f'The form "{form}" needs a mechanical system',
            seen="a first-order flow",
            remedy="leave the form out, or state a System",
        )
    return Equations(
        system=flow,  # type: ignore[arg-type]
        form=FORM,
        citation=CITATION,
        state=flow.coordinates,
        unknowns=flow.velocities,
        row_names=(),
        derivation=lambda algebra: derive_with(flow, algebra),
    )


def derive_with(flow: Flow, algebra: Algebra) -> GaussBlocks:
    """The blocks in one algebra."""
    symbols, z = algebra.vector(flow.coordinates), algebra.vector(flow.velocities)
    field = algebra.vector(flow.rates.values())
    time, one = algebra.vector([t]), algebra.jacobian(z, z)
    further: dict[str, Any] = {}
    if flow.constraints:
        relations = algebra.vector([c.expression for c in flow.constraints])
        derivative = algebra.jacobian(relations, symbols)
        further["position"] = Projection(relations, derivative, one)
        rate = derivative @ field + algebra.jacobian(relations, time)
        further["residuals"] = (relations, rate)
    return GaussBlocks.of_rates(
        algebra,
        z,
        field,
        accelerations=algebra.along(field, symbols, field) + algebra.jacobian(field, time),
        energy=algebra.scalar(flow.integrals.get("energy", sympy.Integer(0))),
        outputs={name: algebra.scalar(value) for name, value in flow.outputs.items()},
        **further,
    )
