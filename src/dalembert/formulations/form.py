"""A form of the equations of motion as a record, which the registry lists."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.system import System
    from .equations import Equations

__all__ = ["Form"]


@dataclass(frozen=True)
class Form:
    """One form of the equations of motion.

    Attributes
    ----------
    name : str
        What `derive` calls it.
    citation : str
        Where it comes from.
    hypotheses : callable
        Takes a system and raises FormError where the form does not apply.
    derive : callable
        Takes a system, and the options of the form by name; returns the Equations.
    is_variational : bool
        Whether it follows another principle than d'Alembert's, so that its motions differ.
    takes_contacts : bool
        Whether its state does not depend on which one-sided constraints are closed.
    """

    name: str
    citation: str
    hypotheses: Callable[[System], None]
    derive: Callable[..., Equations]
    is_variational: bool = False
    takes_contacts: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the form by name."""
        return tuple(inspect.signature(self.derive).parameters)[1:]
