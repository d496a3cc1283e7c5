r"""Systems that are affine in their inputs, as fields on their state.

    y_dot = f(y) + sum_a g_a(y) u_a

A `Flow` states this itself. A `System` is brought to it by its equations of motion: y are
coordinates and velocities, where there are velocity constraints the independent ones alone (Maggi's
form), so that holonomic constraints are the only relations that are left among the symbols. Fields
are graphs with numbers for the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...analysis.sampling import generic_parameters
from ...errors import FormError, ModelError, nearest
from ...formulations.equations import Equations
from ...formulations.registry import derive, fastest_form
from ...geometry.distributions import SampledChart
from ...model.flow_system import Flow
from ...model.scenario import Scenario
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank, solve
from ...runtime.kernel import Kernel, kernel_of
from ...typing import Array, Values

__all__ = ["ControlAffine", "control_affine"]

#: Generic points: how many, and how far from the given one.
POINTS, RADIUS = 6, 0.7
#: How far places are moved to see what rounding does to values there, and how often.
SHAKEN, SHAKES = 1e-13, 3
#: Values below this multiple of that are rounding.
NOISY = 30.0
#: The share of its terms up to which a relation or a rate at the point is rounding of its numbers.
ON_RELATIONS, ROUNDING = 1e-7, 2.0**-50


@dataclass(frozen=True, eq=False)
class ControlAffine:
    """A system that is affine in its inputs, near a point; n symbols, m inputs.

    Attributes
    ----------
    name : str
    symbols, inputs : tuples of str
    algebra : GraphAlgebra
    state : column of symbols (n x 1)
    drift : column (n x 1)
        f, with the inputs at their values at the point.
    fields : matrix (n x m)
        The g_a.
    relations : column (r x 1)
        What vanishes on the states.
    point : array (n,)
    sizes : array (n,)
        The sizes of the terms of the drift at the point.
    """

    name: str
    symbols: tuple[str, ...]
    inputs: tuple[str, ...]
    algebra: GraphAlgebra
    state: ca.SX
    drift: ca.SX
    fields: ca.SX
    relations: ca.SX
    point: Array
    sizes: Array

    @cached_property
    def places(self) -> Array:
        """The point and generic ones near it, on the relations, (1 + POINTS at most, n)."""
        random = np.random.default_rng(11)
        fields = ca.densify(ca.horzcat(self.drift, self.fields))
        whole = ca.Function("fields", [self.state], [fields])
        scale = np.maximum(1.0, np.abs(self.point))
        found = [self.point]
        for radius in RADIUS * np.array([1.0] * POINTS + [0.3] * POINTS + [0.1] * POINTS):
            if len(found) <= POINTS:
                step = radius * random.uniform(-1, 1, len(self.point)) * scale
                place = self._rounded(self.point + step)
                if np.all(np.isfinite(np.asarray(whole(place), dtype=float))):
                    found.append(place)
        return np.array(found)

    def _rounded(self, place: Array) -> Array:
        """The nearest place that obeys the relations, by Newton's method with least steps."""
        if not self.relations.numel():
            return place
        blocks = self.relations, ca.jacobian(self.relations, self.state)
        function = ca.Function("relations", [self.state], [ca.densify(block) for block in blocks])
        n = len(place)
        for _ in range(30):
            residual, rows = (np.asarray(part, dtype=float) for part in function(place))
            step = solve(np.eye(n), np.zeros(n), rows, -residual.ravel()).z
            place = place + step
            if np.max(np.abs(step)) < 1e-13:
                break
        return place

    def values(self, block: ca.SX, places: Array | None = None) -> Array:
        """A block (r x c) at all places, or at others, (places, r, c)."""
        function = ca.Function("block", [self.state], [ca.densify(block)])
        chosen = self.places if places is None else places
        rows, columns = block.shape
        found = np.asarray(function(np.asarray(chosen).T), dtype=float)  # one column for each place
        return found.reshape(rows, len(chosen), columns).transpose(1, 0, 2)

    def noise(self, block: ca.SX) -> Array:
        """The change of a block (r x c) where places are off by rounding, (places, r, c)."""
        count = len(self.places)
        signs = np.random.default_rng(13).choice([-1.0, 1.0], (SHAKES, *self.places.shape))
        sizes = np.abs(self.places)
        if self.relations.numel():  # solving them leaves rounding of the other symbols
            sizes = np.maximum(sizes, np.max(sizes, axis=1, keepdims=True))
        moved = self.places + SHAKEN * signs * sizes
        values = self.values(block, np.concatenate([self.places, *moved]))
        values = values.reshape(1 + SHAKES, count, *block.shape)
        changes: Array = np.max(np.abs(values[1:] - values[0]), axis=0)
        return changes

    def at_point(self, block: ca.SX) -> Array:
        """A block at the point, (r, c); entries that its rounding may have made are zero."""
        values = self.values(block)[0]
        return np.where(np.abs(values) > NOISY * self.noise(block)[0], values, 0.0)

    @cached_property
    def chart(self) -> SampledChart:
        """The states as a space on which fields have brackets."""
        return SampledChart(self.algebra, self.state, self.values, rank)

    @cached_property
    def dimension(self) -> int:
        """How many directions the relations leave at the point."""
        if not self.relations.numel():
            return len(self.symbols)
        rows = self.values(ca.jacobian(self.relations, self.state))[0]
        return len(self.symbols) - int(rank(rows).rank)

    @cached_property
    def is_driftless(self) -> bool:
        """Whether f is proved to vanish everywhere."""
        return bool(self.algebra.vanishing(self.drift).holds_to_rounding)

    @cached_property
    def rest(self) -> float:
        """The largest rate at the point as a share of its terms; infinite for a single term."""
        rates = np.abs(self.values(self.drift)[0][:, 0])
        parts = np.divide(rates, self.sizes, out=np.full(len(rates), np.inf), where=self.sizes > 0)
        return float(np.max(np.where(rates > 0, parts, 0.0), initial=0.0))


def control_affine(
    model: System | Flow | Scenario, at: Values | None = None, parameters: Values | None = None
) -> ControlAffine:
    """The fields of a model with inputs.

    Parameters
    ----------
    model : Flow, System or Scenario
        All of its inputs count as free. Those that `at` names have their value there as their zero.
    at : mapping of symbol or input to value
        The point; what it leaves out is zero.
    parameters : mapping of parameter to value
        Those of a scenario by default; random ones for those that are missing.

    Raises
    ------
    ModelError
        Where there is no input, or a name is unknown.
    FormError
        Where the inputs do not enter affinely, or the rates depend on time.
    """
    values = dict(model.parameters) if isinstance(model, Scenario) else {}
    values |= numbers_by_name(parameters)
    stated = model.system if isinstance(model, Scenario) else model
    if not isinstance(stated, (Flow, System)):
        what = "Controllability is a question about a Flow or a System"
        raise ModelError(what, type(stated).__name__, "pass one with inputs")
    if not stated.inputs:
        remedy = "state da.inputs(...) in its rates or forces"
        raise ModelError("The model has no inputs", stated.name, remedy)
    place = numbers_by_name(at)
    equations = _equations(stated.driven(dict.fromkeys(stated.inputs)), place, values)
    kernel = kernel_of(equations, equations.system.parameters)
    names = tuple(symbol.name for symbol in equations.state)
    inputs = tuple(symbol.name for symbol in kernel.free_inputs)
    _check_names(place, names, inputs, equations)
    if kernel.solved is None:
        what = "The equations have no direct solution"
        raise FormError(what, equations.form, "state fewer unknowns")
    unknowns = ca.vertcat(kernel.solved.z, kernel.solved.multipliers)
    rates = kernel.algebra.substitute(kernel.graph.rates, kernel._unknown_symbols, unknowns)
    imposed = {s.name for s in stated.parameters} - {s.name for s in kernel.parameters}
    values = {key: value for key, value in values.items() if key not in imposed}
    return _fields_at(stated.name, names, inputs, kernel, rates, place, values)


def _fields_at(
    name: str, names: tuple[str, ...], inputs: tuple[str, ...], kernel: Kernel, rates: ca.SX,
    place: Mapping[str, float], values: Mapping[str, float],
) -> ControlAffine:  # fmt: skip
    """The fields of rates (n x 1) near a place, with numbers for the parameters."""
    time, state, constants, symbols, _ = kernel._inputs()
    numbers = generic_parameters(kernel.parameters, values, np.random.default_rng(3))
    relations = ca.vertcat(kernel.graph.position.residual, kernel.graph.velocity.residual)
    zero = np.array([place.get(name, 0.0) for name in inputs])
    point = np.array([place.get(name, 0.0) for name in names])
    variables = ca.vertcat(state, constants, symbols)
    at_point = np.concatenate([point, numbers, zero])
    sizes = [_sizes(block, time, variables, at_point) for block in (rates, relations)]
    known = ca.SX(ca.DM(numbers))
    rates = ca.substitute(ca.densify(rates), constants, known)
    relations = ca.substitute(ca.densify(relations), constants, known)
    if ca.depends_on(rates, time):
        remedy = "make time a symbol with the rate 1, or impose no inputs in time"
        raise FormError("The rates depend on time", name, remedy)
    fields = ca.densify(ca.jacobian(rates, symbols))
    if ca.depends_on(fields, symbols):
        remedy = "make u a symbol with a rate of its own, u_dot = w"
        raise FormError("The inputs do not enter affinely", name, remedy)
    drift = ca.substitute(rates, symbols, ca.SX(ca.DM(zero)))
    found = ControlAffine(
        name, names, inputs, kernel.algebra, state, drift, fields, relations, point, sizes[0]
    )
    _check_point(found, sizes[1])
    return found


def _sizes(block: ca.SX, time: ca.SX, variables: ca.SX, values: Array) -> Array:
    """The sizes of the terms of a block at a point, sum_k |d block / d w_k| |w_k|, (r,)."""
    function = ca.Function("sizes", [time, variables], [ca.densify(ca.jacobian(block, variables))])
    with np.errstate(invalid="ignore"):  # a point that is not finite is found next
        sizes: Array = np.abs(np.asarray(function(0.0, values), dtype=float)) @ np.abs(values)
    return sizes


def _check_point(found: ControlAffine, sizes: Array) -> None:
    """Check that the point has finite fields and obeys the relations."""
    point = zip(found.symbols, found.point, strict=True)
    shown = ", ".join(f"{name} = {value:g}" for name, value in point)
    fields = [found.values(block)[0] for block in (found.drift, found.fields)]
    if not all(np.all(np.isfinite(values)) for values in fields):
        what = "The fields are not finite at the point"
        raise ModelError(what, shown, "choose another one: at={...}")
    if not found.relations.numel():
        return
    derivative = found.values(ca.jacobian(found.relations, found.state))[0]
    rounding = ROUNDING * np.abs(derivative).sum(axis=1) * np.max(np.abs(found.point))
    residual = np.abs(found.values(found.relations)[0][:, 0])
    off = float(np.max(residual))
    if np.any(residual > ON_RELATIONS * sizes + rounding):
        what = "The point does not obey the relations of the model"
        raise ModelError(what, f"{shown}: off by {off:.3g}", "choose one on them")


def _equations(
    model: Flow | System, place: Mapping[str, float], values: Mapping[str, float]
) -> Equations:
    """Equations with as few relations as possible, partitioned near the place and the values."""
    if isinstance(model, Flow):
        return derive(model)
    if model.unilateral:
        sided, remedy = model.unilateral[0].name, "hold them, or leave them out"
        raise FormError("One-sided constraints switch the fields", sided, remedy)
    velocity = [c for c in model.constraints if not c.is_position_level]
    if velocity and len(velocity) == len(model.constraints):
        try:
            found = derive(model, "maggi")
        except FormError:  # stated by a Hamiltonian, or by an image
            return derive(model, fastest_form(model))
        names = [symbol.name for symbol in model.parameters]
        given = {name: values[name] for name in names if name in values}
        numbers = generic_parameters(model.parameters, given, np.random.default_rng(3))
        near = dict(zip(names, map(float, numbers), strict=True))
        near |= {q.name: place.get(q.name, 0.0) for q in model.coordinates}
        return found.rechoose(near) if found.rechoose is not None else found
    return derive(model, fastest_form(model))


def _check_names(
    place: Mapping[str, float],
    names: tuple[str, ...],
    inputs: tuple[str, ...],
    equations: Equations,
) -> None:
    """Check that names of the point are symbols, inputs, or dependent velocities."""
    follow = {v.name for v in equations.system.velocities} - set(names)
    known = [*names, *inputs]
    for name in place:
        if name not in known and name not in follow:
            near = nearest(name, known)
            remedy = f"did you mean {near}" if near else "use one of these"
            raise ModelError(f"The state has no symbol `{name}`", ", ".join(known), remedy)
