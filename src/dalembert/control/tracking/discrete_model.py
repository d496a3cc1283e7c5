"""A model between samples, as a compiled function with exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
import sympy

from ...analysis.stability.linear_field import LinearField
from ...errors import FormError, ModelError, nearest
from ...formulations.equations import Equations
from ...integrate.ensemble.batch_functions import Rowwise, kept_rowwise
from ...integrate.motion import Motion
from ...model.flow_system import Flow
from ...model.parameter_values import parameter_values
from ...model.symbols import as_expression, by_name, name_of
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, BySymbol, Expression, Values
from ..trajectory.dynamics import dynamics_of

__all__ = ["DiscreteModel", "Moved", "states_shown"]


class Moved(NamedTuple):
    """States (k, n) after a time, with derivatives (k, n, n) and (k, n, m) by state and inputs."""

    states: Array
    by_state: Array
    by_inputs: Array


class DiscreteModel:
    """States after a time in which the inputs are held, by the classical Runge-Kutta method.

    Attributes
    ----------
    names, inputs : tuples of str
        Symbols of the state, and free inputs.
    values : array
        Of the parameters.
    """

    def __init__(
        self, model: System | Flow | Equations, parameters: Values | None = None,
        form: str | None = None, substeps: int = 2,
    ) -> None:  # fmt: skip
        dynamics = dynamics_of(model, form, [], implicit=False)
        if dynamics.unknowns.numel():
            raise FormError(
                "The accelerations of this model are too large to be written out",
                f"{int(dynamics.unknowns.numel())} unknowns", "use optimise for such a model",
            )  # fmt: skip
        self.dynamics, self.kernel = dynamics, dynamics.kernel
        self.symbols, self.names = dynamics.state, tuple(s.name for s in dynamics.state)
        self.inputs = tuple(s.name for s in dynamics.inputs)
        if not self.inputs:
            raise ModelError("The model has no free input", "none", "state System(inputs=[u])")
        self.values = parameter_values(self.kernel.parameters, numbers_by_name(parameters))
        self._step: Rowwise = kept_rowwise(
            self.kernel, ("discrete step", substeps), lambda: self._written(substeps)
        )

    def _written(self, substeps: int) -> ca.Function:
        """The step over h as a function of t, x, u, h and p, with its derivatives."""
        t, x, _, u, p = self.dynamics.arguments
        rate = ca.Function("rate", [t, x, u, p], [self.dynamics.rates])
        h, state, time = ca.SX.sym("h"), x, t
        part = h / substeps
        for _ in range(substeps):
            k1 = rate(time, state, u, p)
            k2 = rate(time + part / 2, state + part / 2 * k1, u, p)
            k3 = rate(time + part / 2, state + part / 2 * k2, u, p)
            k4 = rate(time + part, state + part * k3, u, p)
            state, time = state + part / 6 * (k1 + 2 * k2 + 2 * k3 + k4), time + part
        results = [state, ca.jacobian(state, x), ca.jacobian(state, u)]
        return ca.Function("step", [t, x, u, h, p], [ca.densify(block) for block in results])

    def moved(self, time: float, states: Array, inputs: Array, h: float) -> Moved:
        """States (k, n) after h, with inputs (k, m) or (m,) held."""
        count = len(states)
        if not h > 0.0:
            n, m = len(self.names), len(self.inputs)
            none = np.zeros((count, n, m))
            return Moved(np.array(states), np.tile(np.eye(n), (count, 1, 1)), none)
        column, x1, x, u = np.ones((count, 1)), None, np.atleast_2d(states), np.atleast_2d(inputs)
        x1, by_state, by_inputs = self._step(
            time * column, x, np.broadcast_to(u, (count, u.shape[1])), h * column,
            np.broadcast_to(self.values, (count, len(self.values))),
        )  # fmt: skip
        return Moved(x1[:, :, 0], by_state, by_inputs)

    def simulated(self, time: float, state: Array, inputs: Array, h: float) -> Array:
        """States (k + 1, n) under a sequence of inputs (k, m), each held for h."""
        found = [np.asarray(state, dtype=float)]
        for k, own in enumerate(inputs):
            found.append(self.moved(time + k * h, found[-1][None, :], own, h).states[0])
        return np.array(found)

    def observed(self, measure: BySymbol[Expression] | Sequence[Expression]) -> ObservedModel:
        """Expressions of the state as functions of it, with derivatives."""
        return ObservedModel(self, measure)

    def state_of(self, given: Values | None, what: str) -> Array:
        """A state from values by name; what is left out is zero."""
        table = numbers_by_name(given)
        self.check_names(table, what)
        return np.array([table.get(name, 0.0) for name in self.names])

    def check_names(self, names: object, what: str) -> None:
        """Raise for a name that is no symbol of the state."""
        for name in names:  # type: ignore[attr-defined]
            if name not in self.names:
                near = nearest(name, self.names)
                raise ModelError(
                    f"The {what} names `{name}`, which is not in the state",
                    ", ".join(self.names)[:120], f"did you mean {near}" if near else "leave it out",
                )  # fmt: skip

    @property
    def is_constrained(self) -> bool:
        """Whether the state has to obey constraints."""
        return bool(self.kernel.is_constrained)

    def on_constraints(self, time: float, state: Array) -> Array:
        """A state moved onto the constraints."""
        found = np.array(state, dtype=float)
        if self.is_constrained:
            self.kernel.plain_context(self.values).project(time, found)
        return found

    def tangent_basis(self, time: float, state: Array) -> Array:
        """An orthonormal basis (n, d) of the tangent space of the constraints."""
        if not self.is_constrained:
            return np.eye(len(self.names))
        field = LinearField(self.kernel, self.values)
        found = field(np.asarray(state, dtype=float), time, np.zeros(len(self.inputs)))
        basis, _ = np.linalg.qr(rank(found.jacobian).null_space)
        return np.asarray(basis, dtype=float)


class ObservedModel:
    """Measured quantities (r,) of a discrete model by name."""

    def __init__(
        self, model: DiscreteModel, measure: BySymbol[Expression] | Sequence[Expression]
    ) -> None:
        self.model = model
        if isinstance(measure, (list, tuple)):
            known = {s.name: s for s in model.kernel.equations.system.velocities}
            known |= {
                s.name: s for s in (*model.kernel.equations.system.coordinates, *model.symbols)
            }
            table: dict[str, sympy.Expr] = {}
            for key in measure:
                name = name_of(key)
                if name not in known:
                    near = nearest(name, known)
                    raise ModelError(
                        f"`{name}` cannot be measured by its name", ", ".join(known)[:120],
                        f"did you mean {near}" if near else "give an expression: {y: x + 1}",
                    )  # fmt: skip
                table[name] = known[name]
        else:
            table = {
                n: as_expression(e) for n, e in by_name(measure, "measured quantities").items()
            }
        self.expressions = table
        self.names = tuple(table)
        column = model.dynamics.lower(list(table.values()))
        t, x, _, u, p = model.dynamics.arguments
        key = ("observed model", tuple(table.values()))
        self._function: Rowwise = kept_rowwise(
            model.kernel,
            key,
            lambda: ca.Function(
                "observed", [t, x, u, p], [ca.densify(column), ca.densify(ca.jacobian(column, x))]
            ),
        )

    def __call__(self, time: float, states: Array, inputs: Array) -> tuple[Array, Array]:
        """Values (k, r) and derivatives (k, r, n) at states (k, n) with inputs (m,)."""
        count, model = len(states), self.model
        values, derivatives = self._function(
            np.full((count, 1), time), states, np.broadcast_to(inputs, (count, len(inputs))),
            np.broadcast_to(model.values, (count, len(model.values))),
        )  # fmt: skip
        return values[:, :, 0], derivatives


def states_shown(motion: Motion, names: Sequence[str], times: Array) -> Array:
    """States (k, n) of a motion at times, in the order of the names."""
    shown = [symbol.name for symbol in motion.state]
    if missing := [name for name in names if name not in shown]:
        raise ModelError(
            "The motion does not show the whole state of its form", missing[0],
            'simulate with form="lagrange"',
        )  # fmt: skip
    found: Array = motion.sol(times).T[:, [shown.index(name) for name in names]]
    return found
