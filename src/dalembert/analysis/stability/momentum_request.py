"""Reading a call of the energy-momentum method: group, momentum and hypotheses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import FormError, ModelError
from ...formulations.forms import lagrange
from ...geometry.actions import GroupAction
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Array, Expression, Fields, Symbols, Values, Vector
from ..symmetry.invariance import invariance
from .equilibria import forces_at_rest

__all__ = ["check_system", "read_group", "read_momentum"]

ZERO = sympy.Integer(0)


def read_group(
    model: System, group: Symbols | Fields | GroupAction, fixed: Values | None
) -> tuple[Any, dict[sympy.Symbol, sympy.Expr]]:
    """Generators, and the coordinates that are held."""
    by_name = {q.name: q for q in model.coordinates}
    given = {str(getattr(key, "name", key)): value for key, value in (fixed or {}).items()}
    cyclic: list[Any] = []
    if not isinstance(group, Mapping | GroupAction):
        cyclic = [group] if isinstance(group, str | sympy.Symbol) else list(group)
    names = [str(getattr(key, "name", key)) for key in cyclic]
    strange = [name for name in (*names, *given) if name not in by_name]
    if strange:
        remedy = "name coordinates of the system"
        raise ModelError(f"The system has no coordinate `{strange[0]}`", ", ".join(by_name), remedy)
    held = {by_name[name]: ZERO for name in names}
    for name, value in given.items():
        exact = sympy.Integer(value) if value == int(value) else sympy.Float(value)
        held[by_name[name]] = exact
    if len(held) == len(by_name):
        what = "The slice leaves no coordinate free"
        raise ModelError(what, seen=", ".join(q.name for q in held), remedy="fix fewer of them")
    return ({name: {by_name[name]: 1} for name in names} if names else group), held


def read_momentum(
    generators: Fields | GroupAction, momentum: Expression | Vector | Values
) -> Array:
    """mu, (d,), in the order of the generators."""
    if isinstance(generators, GroupAction):
        names = list(generators.algebra.names)
    else:
        names = [str(name) for name in generators]
    if isinstance(momentum, Mapping):
        table = numbers_by_name(momentum)
        strange = [name for name in table if name not in names]
        missing = [name for name in names if name not in table]
        if strange or missing:
            what = "The momentum needs a value for each generator"
            raise ModelError(what, seen=", ".join(strange or missing), remedy=", ".join(names))
        return np.array([table[name] for name in names])
    values = np.atleast_1d(np.asarray(momentum, dtype=float))
    if values.shape != (len(names),) or not np.all(np.isfinite(values)):
        remedy = f"give {len(names)}: {', '.join(names)}"
        raise ModelError("The momentum needs a finite value for each generator", momentum, remedy)
    return values


def check_system(
    model: System, generators: Fields | GroupAction, numbers: Mapping[str, float]
) -> None:
    """Require kinetic less potential energy, without forces, invariant under the group."""
    forces_at_rest(model)
    if model.forces or model.dissipation != 0:
        remedy = "put them into the potential"
        raise FormError("The energy-momentum method needs a system without forces", remedy=remedy)
    algebra = GraphAlgebra()
    v = algebra.vector(model.velocities)
    _, momenta = lagrange.lagrangian_and_momenta(model, algebra)
    linear = algebra.without(algebra.jacobian(momenta, v), v) is not None
    at_rest = algebra.substitute(momenta, v, algebra.zeros(v.shape[0]))
    if not linear or not algebra.vanishing(at_rest).is_proved:
        terms = "terms linear in the velocities" if linear else "terms not quadratic in them"
        raise FormError(
            "The energy-momentum method needs kinetic less potential energy",
            seen=f"a Lagrangian with {terms}",
            remedy="use da.equilibria of da.symmetry.routh(system, ...)",
        )
    certificate = invariance(model, generators, parameters=numbers)
    broken = [name for name, verdict in certificate.generators.items() if not verdict.holds]
    if broken:
        remedy = "choose generators found by da.symmetry.discover_symmetries"
        raise FormError("The system is not invariant under the group", ", ".join(broken), remedy)
