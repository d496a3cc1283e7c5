"""A system after reduction by a symmetry group: shape coordinates, momenta, and outputs.

It stands in a motion where a `System` stands, and answers the same questions; it has no energies of
its own and no constraints, because these are in the equations already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy

from ..errors import ModelError
from .cache import Cache
from .constraints import Constraint, UnilateralConstraint
from .symbols import Coordinate, Input, Momentum, Parameter, Velocity
from .system import System

__all__ = ["ReducedSystem"]


@dataclass(frozen=True)
class ReducedSystem:
    """A system on D/G.

    Attributes
    ----------
    original : System
    coordinates : tuple of Coordinate
        The shape coordinates.
    outputs : mapping of name to symbol
        Body velocities and what else the equations report.
    bundle : object
        Where the reduction keeps what it needs to find the group again.
    further_parameters : tuple of Parameter
        Those that the equations have beside the original's, like the amplitude of a gait.
    """

    original: System
    coordinates: tuple[Coordinate, ...]
    outputs: Mapping[str, sympy.Expr]
    bundle: Any = field(default=None, repr=False, compare=False)
    further_parameters: tuple[Parameter, ...] = ()

    momenta: tuple[Momentum, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    bilateral: tuple[Constraint, ...] = ()
    unilateral: tuple[UnilateralConstraint, ...] = ()
    image: None = None
    hamiltonian: None = None
    kinetic: None = None
    potential: None = None
    is_hamiltonian: bool = False
    cache: Cache = field(
        default_factory=lambda: Cache("results of a reduced system"), repr=False, compare=False
    )

    @cached_property
    def velocities(self) -> tuple[Velocity, ...]:
        """The shape velocities."""
        return tuple(q.dot for q in self.coordinates)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of the original, and further ones."""
        return (*self.original.parameters, *self.further_parameters)

    @property
    def inputs(self) -> Mapping[Input, sympy.Expr | None]:
        """Those of the original."""
        return self.original.inputs

    @property
    def name(self) -> str:
        """The name of the original."""
        return f"{self.original.name}, reduced"

    def expressions(self) -> Iterable[sympy.Expr]:
        """Those of the original."""
        return self.original.expressions()

    def touching(self, names: Sequence[str]) -> ReducedSystem:
        """The same: there are no contacts."""
        return self

    def driven(self, inputs: Mapping[Any, Any]) -> ReducedSystem:
        """Inputs are imposed before the reduction."""
        raise ModelError(
            "The inputs of a reduced system are those of the system it came from",
            seen=", ".join(str(key) for key in inputs),
            remedy="reduce system.driven({...})",
        )
