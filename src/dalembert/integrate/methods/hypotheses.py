"""What several methods cannot follow, refused in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import FormError, ModelError
from ...formulations.constraint_jacobian import generic_rank
from ...formulations.equations import Equations
from ...model.flow_system import Flow
from ...model.symbols import name_of
from ...model.system import System
from ...runtime.kernel import kernel_of
from ..events.events import Event

if TYPE_CHECKING:
    from ..options import Inputs

__all__ = [
    "refuse_decisions",
    "refuse_dependent_constraints",
    "refuse_functions",
    "refuse_other_constraints",
    "refuse_positions",
]


def refuse_decisions(
    equations: Equations, method: str, events: Sequence[Event], steps_contacts: bool = False
) -> None:
    """Refuse events and contacts, for methods whose steps are not looked into."""
    if events:
        raise ModelError(
            f"The method {method} does not look for events",
            seen=", ".join(event.name for event in events),
            remedy="use method dop853 or taylor, or look at motion.sol",
        )
    unilateral = equations.system.unilateral
    if unilateral and not steps_contacts:
        raise FormError(
            f"The method {method} cannot follow the one-sided constraint `{unilateral[0].name}`",
            seen="contacts open and close between steps",
            remedy="use method dop853 or moreau",
        )


def refuse_functions(method: str, inputs: Inputs | None) -> None:
    """Refuse inputs that are functions of Python."""
    called = [name_of(key) for key, value in (inputs or {}).items() if callable(value)]
    if called:
        raise FormError(
            f"The method {method} needs inputs that are expressions",
            seen=f"the function for `{called[0]}`",
            remedy="give the input as an expression of time and state, or use method dop853",
        )


def refuse_positions(equations: Equations, method: str) -> None:
    """Refuse constraints of positions, for methods whose steps do not end on them."""
    system = equations.system
    if isinstance(system, Flow) or not kernel_of(equations, system.parameters).n_positions:
        return
    name = next((c.name for c in system.bilateral if c.is_position_level), "")
    raise FormError(
        f"The method {method} does not end its steps on constraints of positions such as `{name}`",
        seen=f'the form "{equations.form}"',
        remedy=(
            "use method dop853 or rattle4, which end every step on it, or state the system in"
            " independent coordinates"
        ),
    )


def refuse_other_constraints(equations: Equations, method: str) -> None:
    """Refuse constraints other than ideal ones of positions."""
    other = [c.name for c in equations.system.bilateral if not c.is_position_level or c.work]
    if other:
        raise FormError(
            f"The method {method} needs constraints of positions that do no work",
            seen=f"`{other[0]}`",
            remedy="use method dop853, which ends every step on all constraints",
        )


def refuse_dependent_constraints(equations: Equations, method: str) -> None:
    """Refuse constraints of which some follow from the others: multipliers that are not determined
    leave a step singular.

    Rank is asked for where the constraints hold, because a multiple f g = 0 of g = 0 has a row of
    its own elsewhere.
    """
    system = equations.system
    count = len(equations.row_names)
    if (
        not count
        or not isinstance(system, System)
        or system.image is not None
        or equations.has_gauge
    ):
        return
    found = generic_rank(system)
    if found.rank < count:
        raise FormError(
            f"The method {method} needs constraints that do not depend on each other",
            seen=f"{count} constraints of rank {found.rank}"
            + f" at {found.states} states where they hold" * (found.states > 0),
            remedy="leave out those that follow from the others, or use method dop853",
        )
