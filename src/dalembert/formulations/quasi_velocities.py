r"""Quasi-velocities that a caller states, eta = g(q, v, t), linear or not (Rumyantsev 1.14).

Together with the constraints f(q, v, t) = 0 they determine the velocities. Where both are affine
in all velocities, these are solved for; where the constraints are solved for dependent velocities
first and the quasi-velocities are affine in the others, likewise. Otherwise the velocities stay in
the state, and the implicit function theorem gives what a form needs of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..errors import FormError
from ..model.symbols import Parameter, as_expression, t
from ..model.system import System
from ..typing import Expression
from .constraint_equations import velocity_level
from .forms import lagrange
from .velocity_frames import VelocityFrame
from .velocity_maps import affine_solution
from .velocity_splits import Split, choose_split

__all__ = ["StatedSpeeds", "check_names", "stated_speeds"]

#: Implicit quasi-velocities are left where the squared volume of their rows is below this.
LEAST_QUALITY = 0.01


@dataclass(frozen=True)
class StatedSpeeds:
    """Quasi-velocities by name, in the symbols of a system.

    Attributes
    ----------
    system : System
        The system; with the quasi-velocities among its outputs where they are implicit.
    table : tuple of (name, expression) pairs
    kind : "affine", "solved" or "implicit"
        Affine in all velocities, affine once the constraints are solved, or neither.
    """

    system: System
    table: tuple[tuple[str, sympy.Expr], ...]
    kind: str

    def near(self, state: Mapping[str, float] | None = None) -> Split | VelocityFrame:
        """The speeds, with constraints that are solved first solved well near a state.

        Implicit quasi-velocities that nearly fail to determine the velocities there give way to
        velocities, which the state has anyway.
        """
        if state is None:
            return self.system.cache.get(("speeds", self.table), self._chosen)
        return self._chosen(state)

    def _chosen(self, state: Mapping[str, float] | None = None) -> Split | VelocityFrame:
        base, split = self.system, None
        if self.kind == "implicit" and state is not None and self._quality(state) < LEAST_QUALITY:
            return replace(choose_split(base, state, implicit=True), is_implicit=True)
        if self.kind == "solved":
            split = choose_split(base, state, lambda found: _fits(base, found, self.table))
        rows = choose_split(base, implicit=True).rows if split is None else split.rows
        return VelocityFrame(
            speeds=tuple(Parameter(name) for name, _ in self.table),
            rates=tuple(Parameter(f"{name}_dot") for name, _ in self.table),
            definition=tuple(value for _, value in self.table),
            rows=rows,
            split=split,
            is_implicit=self.kind == "implicit",
        )

    def _quality(self, state: Mapping[str, float]) -> float:
        """The volume of the rows [g_v; f_v] at a state, each of length one."""

        def made() -> tuple[list[str], ca.Function]:
            algebra = GraphAlgebra()
            matrix = _derivatives(self.system, algebra, self.table)
            symbols = dict(algebra.symbols)
            return [s.name for s in symbols], ca.Function(
                "rows", list(symbols.values()), [ca.densify(matrix)]
            )

        names, function = self.system.cache.get(("stated rows", self.table), made)
        rows = np.asarray(function(*(state.get(name, 0.0) for name in names)), dtype=float)
        lengths = np.linalg.norm(rows, axis=1)
        volume = np.linalg.det(rows / lengths[:, None]) if np.all(lengths > 0) else 0.0
        return float(volume**2) if np.isfinite(volume) else 0.0


def stated_speeds(system: System, quasi_velocities: Mapping[str, Expression]) -> StatedSpeeds:
    """Read the quasi-velocities of a caller.

    Raises
    ------
    FormError
        Where there are not as many as degrees of freedom, where a name is taken, where they contain
        foreign symbols, or where they do not determine the velocities.
    """
    table = {
        str(getattr(name, "name", name)): as_expression(value)
        for name, value in quasi_velocities.items()
    }
    freedom = choose_split(system, implicit=True).freedom
    if len(table) != freedom:
        raise FormError(
            "The quasi-velocities must be as many as the degrees of freedom",
            seen=f"{len(table)} given, {freedom} degrees of freedom",
            remedy="give the free ones; the constraints are the others",
        )
    check_names(system, list(table))
    known = {*system.coordinates, *system.velocities, *system.parameters, t}
    for name, value in table.items():
        strange = value.free_symbols - known
        if strange:
            raise FormError(
                f"The quasi-velocity `{name}` contains symbols that have no place there",
                seen=", ".join(sorted(s.name for s in strange)),
                remedy="write it in the system's coordinates, velocities, parameters and t",
            )
    stated = tuple(table.items())
    return system.cache.get(("stated speeds", stated), lambda: _read(system, stated))


def _read(system: System, table: tuple[tuple[str, sympy.Expr], ...]) -> StatedSpeeds:
    """Quasi-velocities with their kind; forms share the system that carries implicit ones."""
    kind = _kind(system, table)
    if kind == "implicit":
        system = system.replacing(outputs={**system.outputs, **dict(table)})
    return StatedSpeeds(system, table, kind)


def check_names(system: System, names: list[str]) -> None:
    """A quasi-velocity is a symbol of the motion, beside all others."""
    state = (
        *system.coordinates,
        *system.velocities,
        *system.momenta,
        *(q.ddot for q in system.coordinates),
    )
    taken = {
        "t",
        "energy",
        *system.outputs,
        *(s.name for s in (*state, *system.inputs)),
        *(f"{name}_dot" for name in names),
    }
    for name in names:
        if name in taken or not name.isidentifier():
            raise FormError(
                f"A quasi-velocity cannot be called `{name}`", remedy="give it a name of its own"
            )


def _derivatives(
    system: System, algebra: GraphAlgebra, table: tuple[tuple[str, sympy.Expr], ...]
) -> ca.SX:
    """[g_v; f_v] of quasi-velocities and independent constraints, (n x n)."""
    momenta = lagrange.lagrangian_and_momenta(system, algebra)[1]
    level = velocity_level(system, algebra, momenta)
    rows = choose_split(system, implicit=True).rows
    given = algebra.vector([value for _, value in table])
    whole = algebra.stack([given, algebra.part(level.residual, rows, [0])])
    return algebra.jacobian(whole, algebra.vector(system.velocities))


def _kind(system: System, table: tuple[tuple[str, sympy.Expr], ...]) -> str:
    """How the velocities follow from quasi-velocities and constraints."""
    algebra = GraphAlgebra()
    matrix, v = _derivatives(system, algebra, table), algebra.vector(system.velocities)
    rank = algebra.rank(matrix).value
    if rank < len(system.velocities):
        raise FormError(
            "The quasi-velocities and the constraints do not determine the velocities",
            seen=f"rank {rank} of {len(system.velocities)}",
            remedy="give quasi-velocities that are independent of each other on the constraints",
        )
    if not algebra.depends(matrix, v):
        return "affine"
    try:
        choose_split(system, None, lambda split: _fits(system, split, table))
    except FormError:
        return "implicit"
    return "solved"


def _fits(system: System, split: Split, table: tuple[tuple[str, sympy.Expr], ...]) -> bool:
    """Whether the quasi-velocities can be solved for the independent velocities of a split."""
    algebra = GraphAlgebra()
    momenta = lagrange.lagrangian_and_momenta(system, algebra)[1]
    level, v = velocity_level(system, algebra, momenta), algebra.vector(system.velocities)
    constraints = algebra.part(level.residual, split.rows, [0])
    bound, free = (algebra.part(v, places, [0]) for places in (split.dependent, split.independent))
    solved = affine_solution(algebra, constraints, bound, algebra.zeros(len(split.rows)))
    given = algebra.substitute(algebra.vector([value for _, value in table]), bound, solved)
    derivative = algebra.jacobian(given, free)
    if algebra.without(derivative, free) is None:
        return False
    return bool(algebra.rank(derivative).value == len(table))
