r"""Branches of constraints that are affine in no set of dependent velocities.

Given q, t and the independent velocities, f(q, v, t) = 0 may have several solutions for the
dependent ones. Two of them meet only where the determinant of f_D = df/dv_D vanishes, so that its
sign names the branch that a motion is on: it does not change before a branch point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..errors import ModelError
from ..model.system import System
from ..model.values import numbers_by_name
from ..typing import Array, Values
from .constraint_jacobian import constraint_rows
from .velocity_splits import Split, choose_split

if TYPE_CHECKING:
    from .equations import Equations

__all__ = ["VelocityBranch", "branch_at", "velocity_branches"]

#: Where Newton's method begins, in units of the other velocities, and how often it steps.
STARTS, STEPS = 400, 60
#: Solutions nearer to each other than this, relatively, are one.
NEAR = 1e-8


@dataclass(frozen=True)
class VelocityBranch:
    """One solution of the constraints for the dependent velocities.

    Attributes
    ----------
    velocities : mapping of name to value
        The dependent velocities.
    sign : int
        That of det df/dv_D: 1 or -1, or 0 at a branch point.
    name : str
        The same in words.
    """

    velocities: Mapping[str, float]
    sign: int
    name: str


def branch_at(equations: Equations, values: Mapping[str, float]) -> str:
    """The branch of a state for equations whose dependent velocities are implicit; else empty."""
    choice, system = equations.choice, equations.system
    if not isinstance(choice, Split) or not choice.is_implicit or not choice.dependent:
        return ""
    rows = constraint_rows(system).near(values)
    if not rows:
        return ""
    return _name(system, choice, _sign(rows[0][np.ix_(choice.rows, choice.dependent)]))


def velocity_branches(
    system: System,
    state: Values,
    parameters: Values | None = None,
    independent: tuple[str, ...] | None = None,
) -> tuple[VelocityBranch, ...]:
    """Solutions of the constraints for the dependent velocities, by Newton's method.

    They are those that were found from many starts; that there are no others is not proved.

    Parameters
    ----------
    state : mapping of symbol or name to value
        Coordinates, independent velocities and t, zero where missing.
    parameters : mapping of symbol or name to value
    independent : tuple of str
        The independent velocities by name. By default the best choice at generic states that has
        the velocities of `state` among them, or any where `state` has more of them.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> speed = da.velocity(x.dot**2 + y.dot**2 - 1, name="speed")
    >>> particle = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[speed])
    >>> for branch in velocity_branches(particle, {x.dot: 0.6}, independent=("x_dot",)):
    ...     print(round(branch.velocities["y_dot"], 6), branch.name)
    -0.8 branch d speed/d y_dot < 0
    0.8 branch d speed/d y_dot > 0
    """
    values = numbers_by_name(state) | numbers_by_name(parameters)
    known = {s.name for s in (*system.coordinates, *system.velocities, *system.parameters)} | {"t"}
    strange = [name for name in values if name not in known]
    if strange:
        raise ModelError(
            f"The constraints contain no `{strange[0]}`", ", ".join(sorted(known)), "leave it out"
        )
    split = _split(system, values, independent)
    function = _residuals(system, split, values)
    found: list[Array] = []
    scale = max([1.0, *(abs(values.get(v.name, 0.0)) for v in system.velocities)])
    random = np.random.default_rng(11)
    for number in range(STARTS):
        start = random.normal(size=len(split.dependent)) * scale * 2.0 ** (number % 5 - 2)
        solution = _solved(function, start)
        if solution is not None and not any(
            np.linalg.norm(solution - other) < NEAR * (scale + np.linalg.norm(other))
            for other in found
        ):
            found.append(solution)
    found.sort(key=lambda solution: tuple(solution))
    return tuple(_branch(system, split, function, solution) for solution in found)


def _split(
    system: System, values: Mapping[str, float], independent: tuple[str, ...] | None
) -> Split:
    """The partition with these independent velocities, or one in which a state names them."""
    names = [v.name for v in system.velocities]
    for name in independent or ():
        if name not in names:
            raise ModelError(
                f"There is no velocity `{name}`", ", ".join(names), "choose from these"
            )
    if independent is not None:
        wanted = {names.index(name) for name in independent}
        return choose_split(system, None, lambda split: {*split.independent} == wanted, True)
    best = choose_split(system, implicit=True)
    given = {k for k, name in enumerate(names) if name in values}
    if given <= {*best.independent} or len(given) > best.freedom:
        return best
    return choose_split(system, None, lambda split: given <= {*split.independent}, True)


def _branch(system: System, split: Split, function: ca.Function, solution: Array) -> VelocityBranch:
    sign = _sign(np.asarray(function(solution)[1], dtype=float))
    names = [system.velocities[k].name for k in split.dependent]
    velocities = {name: float(value) for name, value in zip(names, solution, strict=True)}
    return VelocityBranch(velocities, sign, _name(system, split, sign))


def _residuals(system: System, split: Split, values: Mapping[str, float]) -> ca.Function:
    """The chosen constraints and their derivatives as functions of the dependent velocities."""
    rows = constraint_rows(system)
    nodes = rows.algebra.symbols
    dependent = ca.vertcat(*(nodes[system.velocities[k]] for k in split.dependent))
    inputs = [node for s, node in nodes.items() if s not in _symbols(system, split)]
    numbers = [values.get(s.name, 0.0) for s in nodes if s not in _symbols(system, split)]
    residual = ca.substitute(
        rows.residual[list(split.rows), :], ca.vertcat(*inputs), ca.DM(numbers)
    )
    derivative = ca.jacobian(residual, dependent)
    return ca.Function("residual", [dependent], [ca.densify(residual), ca.densify(derivative)])


def _symbols(system: System, split: Split) -> set[Any]:
    return {system.velocities[k] for k in split.dependent}


def _solved(function: ca.Function, start: Array) -> Array | None:
    """Newton's method with halved steps; None where it does not converge."""
    place = start
    value, derivative = (np.asarray(b, dtype=float) for b in function(place))
    for _ in range(STEPS):
        size = float(np.linalg.norm(value))
        if not np.isfinite(size) or not np.all(np.isfinite(derivative)):
            return None
        if size <= 1e-14 * (1.0 + float(np.sum(np.abs(derivative) @ np.abs(place)))):
            return place
        try:
            step = np.linalg.solve(derivative, -value.ravel())
        except np.linalg.LinAlgError:
            return None
        for _ in range(12):
            candidate = place + step
            value, derivative = (np.asarray(b, dtype=float) for b in function(candidate))
            if np.linalg.norm(value) < size:
                break
            step = step / 2
        else:
            return None  # a least residual that is not zero
        place = candidate
    return None


def _sign(columns: Array) -> int:
    return int(np.sign(np.linalg.det(columns)))


def _name(system: System, split: Split, sign: int) -> str:
    relation = {1: "> 0", -1: "< 0", 0: "= 0, a branch point"}[sign]
    constraints = [system.bilateral[k].name for k in split.rows]
    velocities = [system.velocities[k].name for k in split.dependent]
    if len(constraints) == 1:
        return f"branch d {constraints[0]}/d {velocities[0]} {relation}"
    return f"branch det d({', '.join(constraints)})/d({', '.join(velocities)}) {relation}"
