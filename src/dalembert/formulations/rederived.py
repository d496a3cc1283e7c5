"""Derivations of equations that went to another process, and are made again there.

A derivation is a function with what it closes over, which cannot be pickled. The system, the form,
its options and its independent velocities say the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..model.flow_system import Flow
from ..model.system import System

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..algebra.protocol import Algebra
    from .blocks import GaussBlocks
    from .equations import Equations

__all__ = ["Rechosen", "Rederived"]


@dataclass(frozen=True)
class Rederived:
    """The derivation of a form, found again by deriving it when it is first called."""

    system: System | Flow
    form: str
    options: Mapping[str, Any]
    chart: tuple[str, ...]

    @classmethod
    def of(cls, equations: Equations) -> Rederived:
        """What is needed to derive equations again.

        Raises
        ------
        ModelError
            Where they were not made by `derive`.
        """
        from .registry import forms

        system = equations.system
        is_listed = isinstance(system, Flow) or (
            isinstance(system, System) and equations.form in forms()
        )
        if not is_listed:
            raise ModelError(
                f'Equations in the form "{equations.form}" cannot be pickled',
                seen="no form of da.derive",
                remedy="pickle the system, and make the equations again from it",
            )
        return cls(system, equations.form, dict(equations.options), equations.chart)

    def equations(self) -> Equations:
        """The equations with their derivation."""
        from .registry import derive

        found = derive(self.system, self.form, **self.options)
        if found.rechoose is not None and found.chart != self.chart:
            found = found.rechoose(self.chart)
        return found

    def __call__(self, algebra: Algebra) -> GaussBlocks:
        return self.equations().derivation(algebra)


@dataclass(frozen=True)
class Rechosen:
    """The same form with other independent velocities, found again likewise."""

    derivation: Rederived

    def __call__(self, where: Mapping[str, float] | Collection[str]) -> Equations:
        rechoose = self.derivation.equations().rechoose
        assert rechoose is not None
        return rechoose(where)
