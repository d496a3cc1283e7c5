r"""Directions in which a symmetry moves a state; verdicts hold modulo them.

A symmetry field X commutes with the rates F. A motion is steady (a relative equilibrium) where
F = sum xi_a X_a for constant xi; seen from a frame that moves along, the deviations obey

    d(delta y)/dt = (A - D(sum xi_a X_a)) delta y.

Translations along state variables that no equation contains are symmetries by structure. Others are
given as fields on the coordinates, and continued to velocities by DX v and to momenta by -DX^T p.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
import sympy

from ...codegen.dense_function import DenseFunction
from ...errors import FormError, ModelError, nearest
from ...geometry.actions import GroupAction
from ...model.symbols import Momentum, Velocity
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...runtime.kernel import Kernel
from ...typing import Array, Fields, Symbols
from ..proofs.bounded import PROVED
from ..symmetry.invariance import invariance
from ..symmetry.symmetry_conditions import given_fields
from .linear_field import LinearField

__all__ = ["Directions", "symmetry_directions"]


class Directions:
    """Symmetry fields on the state: translations along `cyclic` variables, then given fields.

    Attributes
    ----------
    names : tuple of str (r,)
    given : tuple of str
        Those that are not translations along cyclic variables.
    proofs : dict of name to str
        What it rests on that a given field is a symmetry.
    """

    def __init__(
        self, field: LinearField, given: Mapping[str, sympy.Matrix], proofs: Mapping[str, str]
    ) -> None:
        self.size = len(field.names)
        self.given = tuple(given)
        self.names = (*(field.names[k] for k in field.cyclic), *given)
        self.proofs = dict(proofs)
        self._fixed = np.eye(self.size)[:, list(field.cyclic)]
        self._values = field.values
        self._function = _continued(field.kernel, list(given.values())) if given else None

    def at(self, point: Array) -> Array:
        """X, (n, r)."""
        if self._function is None:
            return self._fixed
        none = np.zeros(len(self.names) - self._fixed.shape[1])
        return np.hstack([self._fixed, self._evaluated(point, none)[0]])

    def derivative(self, point: Array, xi: Array) -> Array:
        """D(sum xi_a X_a), (n, n)."""
        if self._function is None:
            return np.zeros((self.size, self.size))
        return self._evaluated(point, xi[self._fixed.shape[1] :])[1]

    def _evaluated(self, point: Array, xi: Array) -> list[Array]:
        assert self._function is not None
        return self._function(point, self._values, xi)

    def rates(self, point: Array, velocity: Array) -> Array:
        """xi (r,) with X xi nearest to F; zero along directions that depend on others."""
        X, xi = self.at(point), np.zeros(len(self.names))
        kept = rank(X.T).independent if X.size else np.zeros(0, int)
        if len(kept):
            Q, R = np.linalg.qr(X[:, kept])
            xi[kept] = np.linalg.solve(R, Q.T @ velocity)
        return xi


def _continued(kernel: Kernel, given: list[sympy.Matrix]) -> DenseFunction:
    """The given fields (n_q x 1) on the state, and the derivative of a combination of them."""
    algebra, system, state = kernel.algebra, kernel.equations.system, kernel.equations.state
    groups = (system.coordinates, system.velocities, system.momenta)
    q, v, p = (algebra.vector(group) for group in groups)
    place = {c: k for k, c in enumerate(system.coordinates)}
    of_velocity = {c.dot: k for c, k in place.items()}
    of_momentum = {c.momentum: k for c, k in place.items()}
    columns = []
    for field in given:
        X = algebra.vector(list(field))
        derivative = ca.jacobian(X, q)
        moved = ca.substitute(derivative @ v, v, kernel.graph.velocities)
        turned = -derivative.T @ p
        entries = []
        for symbol in state:
            if symbol in place:
                entries.append(X[place[symbol]])
            elif isinstance(symbol, Velocity) and symbol in of_velocity:
                entries.append(moved[of_velocity[symbol]])
            elif isinstance(symbol, Momentum) and symbol in of_momentum:
                entries.append(turned[of_momentum[symbol]])
            else:
                what = "A symmetry field cannot be continued to this form"
                remedy = 'pass the System, or equations in the form "lagrange" or "hamilton"'
                raise FormError(what, f"the state variable {symbol.name}", remedy)
        columns.append(ca.vertcat(*entries))
    y, xi = algebra.vector(state), ca.SX.sym("xi", len(given))
    X = ca.horzcat(*columns)
    return DenseFunction([y, algebra.vector(kernel.parameters), xi], [X, ca.jacobian(X @ xi, y)])


def symmetry_directions(
    field: LinearField, symmetry: Symbols | Fields | GroupAction | None
) -> Directions:
    """The directions of a field: its cyclic variables, and what is given.

    Parameters
    ----------
    symmetry : None, sequence of cyclic variables, mapping of name to field, or GroupAction

    Raises
    ------
    FormError
        Where the system is not invariant under what is given.
    """
    if symmetry is None:
        return Directions(field, {}, {})
    system = field.kernel.equations.system
    if not isinstance(symmetry, Mapping | GroupAction):
        one = isinstance(symmetry, str | sympy.Symbol)
        asked = [str(getattr(s, "name", s)) for s in ([symmetry] if one else symmetry)]
        for name in asked:
            if name not in field.names:
                near = nearest(name, field.names)
                remedy = f"did you mean {near}" if near else "name state variables"
                what = f"The state has no variable `{name}`"
                raise ModelError(what, seen=", ".join(field.names), remedy=remedy)
        cyclic = {field.names[k] for k in field.cyclic}
        symmetry = {name: {name: 1} for name in asked if name not in cyclic}
    if not symmetry:
        return Directions(field, {}, {})
    if not isinstance(system, System):
        what = "Symmetry fields are given for a System"
        raise FormError(what, seen=type(system).__name__, remedy="name cyclic variables, or reduce")
    names = [q.name for q in system.coordinates]
    if isinstance(symmetry, Mapping):
        table = dict(zip(map(str, symmetry), given_fields(system, symmetry.values()), strict=True))
    else:
        table = {n: symmetry.fields[:, k] for k, n in enumerate(symmetry.algebra.names)}
    clash = next((name for name in table if name in field.names and name not in names), None)
    if clash is not None:
        raise ModelError("A symmetry needs a name of its own", seen=clash, remedy="rename it")
    known = zip((s.name for s in field.kernel.parameters), map(float, field.values), strict=True)
    own = {s.name for s in system.parameters}
    values = {name: value for name, value in known if name in own}
    found = invariance(system, table, parameters=values)
    failing = [f"{name}: {c.sentence}" for name, c in found.generators.items() if not c.holds]
    if failing:
        raise FormError(
            "The system is not invariant under the given symmetry",
            seen="; ".join(failing),
            remedy="choose fields that da.symmetry.invariance certifies",
        )
    proofs = {name: c.by for name, c in found.generators.items() if c.by != PROVED}
    return Directions(field, table, proofs)
