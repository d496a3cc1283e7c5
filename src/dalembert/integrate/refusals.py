"""What several methods cannot follow, refused in the same words."""

from __future__ import annotations

from typing import Any

from ..errors import FormError, ModelError
from ..formulations.equations import Equations
from ..model.constraints import HolonomicConstraint

__all__ = ["refuse_decisions", "refuse_other_constraints"]


def refuse_decisions(equations: Equations, method: str, events: Any) -> None:
    """Refuse events and contacts, for methods whose steps are not looked into."""
    if events:
        raise ModelError(
            f"The method {method} does not look for events",
            seen=", ".join(event.name for event in events),
            remedy="use method dop853 or taylor, or look at motion.sol",
        )
    unilateral = equations.system.unilateral
    if unilateral:
        raise FormError(
            f"The method {method} cannot follow the one-sided constraint `{unilateral[0].name}`",
            seen="contacts open and close between steps",
            remedy="use method dop853",
        )


def refuse_other_constraints(equations: Equations, method: str) -> None:
    """Refuse constraints other than ideal ones of positions."""
    other = [c.name for c in equations.system.bilateral if not isinstance(c, HolonomicConstraint) or c.work]
    if other:
        raise FormError(
            f"The method {method} needs constraints of positions that do no work",
            seen=f"`{other[0]}`",
            remedy="use method dop853, which ends every step on all constraints",
        )
