"""What a trajectory is asked for: read once, checked, and lowered to the graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import sympy
from sympy.core.relational import Relational

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, StartError, nearest
from ...formulations.equations import Equations
from ...model.flow_system import Flow
from ...model.labels import labelled
from ...model.symbols import Velocity, as_expression, name_of, t
from ...model.system import System
from ...model.values import real_number
from ...typing import BySymbol, Condition, Expression, Symbols
from .dynamics import Dynamics, dynamics_of
from .group_periodic import group_parameters, periodic_conditions
from .trajectory_quantities import AtEnd, AtStart, TimeIntegral

__all__ = [
    "Asked",
    "PathBound",
    "Quantities",
    "Range",
    "StatedNames",
    "Statement",
    "quantities_of",
    "read_condition",
    "read_range",
    "read_statement",
]

#: A number, or least and most, where None is no bound.
Bound: TypeAlias = "Expression | Sequence[Expression | None] | None"
#: Two times, each a number, a pair of bounds, or None if it is free.
FreeSpan: TypeAlias = "Sequence[Bound]"


class Range(NamedTuple):
    """Least and most of a quantity."""

    low: float
    high: float

    @property
    def is_fixed(self) -> bool:
        return self.low == self.high

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def clip(self, value: float) -> float:
        return min(max(value, self.low), self.high)


FREE = Range(-math.inf, math.inf)
#: Free times are at least this far apart.
LEAST_DURATION = 1e-6
FORWARD = Range(LEAST_DURATION, math.inf)


class PathBound(NamedTuple):
    """Bounds on an expression along the trajectory; `of_state` if no input or unknown is in it."""

    name: str
    range: Range
    of_state: bool


class Quantities(NamedTuple):
    """Expressions of integrals and of values at the ends.

    Attributes
    ----------
    integrands, starts, ends : columns over t, x, w, u, p
        What is integrated, and what is taken at the start and at the end.
    value : Function of (integrals, starts, ends, p)
        The cost, followed by the conditions.
    integrals : tuple of expressions
        What the integrands are written as.
    """

    integrands: ca.SX
    starts: ca.SX
    ends: ca.SX
    value: ca.Function
    integrals: tuple[sympy.Basic, ...] = ()


@dataclass(frozen=True, eq=False)
class Statement:
    """A trajectory problem; n symbols of the state, m inputs.

    Attributes
    ----------
    times : (Range, Range)
        Of the start and the end time.
    start, end, states : tuples of Range (n,)
        Bounds at the start, at the end, and everywhere.
    inputs : tuple of Range (m,)
    parameters : tuple of Range
        One for each of ``dynamics.parameters``; a free one is optimised.
    path : tuple of PathBound, with their expressions in the column `path_values`
    conditions : tuple of (name, Range)
    duration : Range
        Of the time from start to end, where one of them is free.
    """

    dynamics: Dynamics
    times: tuple[Range, Range]
    start: tuple[Range, ...]
    end: tuple[Range, ...]
    states: tuple[Range, ...]
    inputs: tuple[Range, ...]
    parameters: tuple[Range, ...]
    path: tuple[PathBound, ...]
    path_values: ca.SX
    conditions: tuple[tuple[str, Range], ...]
    quantities: Quantities
    duration: Range = FORWARD

    @property
    def has_free_time(self) -> bool:
        return not (self.times[0].is_fixed and self.times[1].is_fixed)


@dataclass(frozen=True)
class Asked:
    """The arguments of `optimise` that state the problem, as they were given.

    `others` says that parameters may be given that the model does not have; parameters of the
    expressions `mentioned` are parameters of the problem.
    """

    model: System | Flow | Equations
    cost: Expression
    start: BySymbol[Bound] | None = None
    end: BySymbol[Bound] | None = None
    span: FreeSpan = ()
    at_rest: bool | str = False
    periodic: Symbols = ()
    up_to: BySymbol[Expression] | None = None
    bounds: BySymbol[Bound] | None = None
    conditions: Sequence[Condition] = ()
    parameters: BySymbol[Bound] | None = None
    form: str | None = None
    implicit: bool | None = None
    discrete: bool = False
    others: bool = False
    mentioned: Sequence[sympy.Expr] = ()


def read_statement(asked: Asked) -> Statement:
    """Read, check and lower a problem."""
    cost = as_expression(asked.cost)
    conditions = [read_condition(each) for each in asked.conditions]
    bounds = _table(asked.bounds, "bounds")
    written = [cost, *(expression for expression, _ in conditions)]
    written += [key for key in bounds if isinstance(key, sympy.Basic)]
    moved = {key: as_expression(image) for key, image in _table(asked.up_to, "up_to").items()}
    written += [*moved.values(), *asked.mentioned]
    dynamics = dynamics_of(asked.model, asked.form, written, asked.implicit, asked.discrete)
    names = StatedNames(dynamics)
    start = {
        names.read(k, "start"): read_range(v, k) for k, v in _table(asked.start, "start").items()
    }
    end = {names.read(k, "end"): read_range(v, k) for k, v in _table(asked.end, "end").items()}
    _put_at_rest(asked.at_rest, dynamics, start, end)
    one = isinstance(asked.periodic, (str, sympy.Basic))
    periodic = [names.read(k, "periodic") for k in ([asked.periodic] if one else asked.periodic)]
    images = {names.read(key, "up_to"): image for key, image in moved.items()}
    for condition in periodic_conditions(dynamics, periodic, images):
        conditions.append((condition, Range(0.0, 0.0)))
    own = dynamics.equations.system.parameters
    loose = group_parameters(images, (symbol.name for symbol in own))
    states, inputs = dict.fromkeys(dynamics.state, FREE), dict.fromkeys(dynamics.inputs, FREE)
    path: dict[sympy.Expr, Range] = {}
    for key, value in bounds.items():
        expression, found = names.read(key, "bounds"), read_range(value, key)
        table = states if expression in states else inputs if expression in inputs else path
        table[expression] = found
    for table, at in ((start, AtStart), (end, AtEnd)):
        for expression in [e for e in table if e not in states]:
            conditions.append((at(expression), table.pop(expression)))
    _check_ends(start, end, states)
    expressions = list(path)
    column = dynamics.lower(expressions)
    _, _, w, u, _ = dynamics.arguments
    varied = ca.vertcat(w, u)
    rows = tuple(
        PathBound(str(e)[:60], path[e], not varied.numel() or not ca.depends_on(column[k], varied))
        for k, e in enumerate(expressions)
    )
    return Statement(
        dynamics=dynamics,
        times=_times(asked.span),
        start=tuple(_within(start.get(s, FREE), states[s]) for s in dynamics.state),
        end=tuple(_within(end.get(s, FREE), states[s]) for s in dynamics.state),
        states=tuple(states.values()),
        inputs=tuple(inputs.values()),
        parameters=_parameters(dynamics, asked.parameters, asked.others, loose),
        path=rows,
        path_values=column,
        conditions=tuple((str(e)[:60], found) for e, found in conditions),
        quantities=quantities_of(dynamics, dynamics, [cost, *(e for e, _ in conditions)]),
    )


# -- names and numbers -----------------------------------------------------------------------------


def _table(given: Any, what: str) -> dict[Any, Any]:
    given = labelled(given)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ModelError(
            f"The {what} must be given by symbol", type(given).__name__, "pass {x: 1.0}"
        )
    names = [str(key) for key in given]
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise ModelError(f"The {what} has `{twice[0]}` twice", str(given)[:60], "keep one of them")
    return dict(given)


class StatedNames:
    """Symbols of the model by name, for keys that are given as text."""

    def __init__(self, dynamics: Dynamics) -> None:
        system = dynamics.equations.system
        symbols = [*dynamics.state, *system.coordinates, *system.velocities, *dynamics.inputs]
        symbols += [*system.momenta, *dynamics.parameters, t]
        self.table: dict[str, sympy.Expr] = {s.name: s for s in symbols}
        self.table |= {q.ddot.name: q.ddot for q in system.coordinates}
        self.outputs = dict(system.outputs)

    def read(self, key: Any, where: str) -> sympy.Expr:
        """The expression of a key: a symbol, an expression of symbols, or a name."""
        if isinstance(key, sympy.Basic) and not isinstance(key, sympy.Symbol):
            return as_expression(key)
        name = name_of(key)
        if name in self.table:
            return self.table[name]
        if name in self.outputs:
            return self.outputs[name]
        if isinstance(key, sympy.Symbol) and name.startswith("mu_"):
            return key
        near = nearest(name, [*self.table, *self.outputs])
        raise ModelError(
            f"`{name}` in {where} is no quantity of the model",
            ", ".join(self.table)[:200],
            f"did you mean {near}" if near else "use one of these names",
        )


def read_range(value: Any, key: Any) -> Range:
    """A number, or a pair (least, most) with None where there is no bound."""
    pair = value if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ModelError(f"Bounds of `{key}` are a pair", str(value)[:60], "pass (least, most)")
    low = -math.inf if pair[0] is None else real_number(pair[0])
    high = math.inf if pair[1] is None else real_number(pair[1])
    if value is None or math.isnan(low) or math.isnan(high) or low == math.inf or high == -math.inf:
        raise ModelError(
            f"The value of `{key}` must be a number or a pair of them", str(value)[:60],
            "pass 1.0 or (0.0, 1.0); None in a pair is no bound",
        )  # fmt: skip
    if low > high:
        raise ModelError(
            f"The bounds of `{key}` exclude each other", f"{low:g} above {high:g}",
            "give the lower one first",
        )  # fmt: skip
    return Range(low, high)


def _within(own: Range, other: Range) -> Range:
    return Range(max(own.low, other.low), min(own.high, other.high))


def _times(span: Any) -> tuple[Range, Range]:
    if not isinstance(span, (tuple, list)) or len(span) != 2:
        raise ModelError("The span must be two times", str(span)[:60], "pass span=(0, 2)")
    first, last = (FREE if value is None else read_range(value, "span") for value in span)
    if last.high <= first.low:
        raise ModelError(
            "The span must go forward", f"from {first.low:g} to {last.high:g}", "pass span=(0, 2)"
        )
    return first, last


def _put_at_rest(
    at_rest: bool | str, dynamics: Dynamics, start: dict[Any, Range], end: dict[Any, Range]
) -> None:
    """Velocities that vanish at the ends that are at rest."""
    ends = at_rest if isinstance(at_rest, str) else "both" if at_rest else ""
    if ends not in ("both", "start", "end", ""):
        raise ModelError(
            "at_rest must be True, False, 'start' or 'end'", repr(at_rest), "pass at_rest=True"
        )
    system = dynamics.equations.system
    if ends and isinstance(system, Flow):
        raise ModelError(
            "A flow has no velocities to be at rest",
            system.name,
            "name the symbols in start and end",
        )
    resting = [s for s in dynamics.state if s not in set(system.coordinates)]
    if ends and not all(isinstance(symbol, Velocity) for symbol in resting):
        _check_rest(dynamics, resting)
    for where, table in (("start", start), ("end", end)):
        for symbol in resting if ends in ("both", where) else ():
            table.setdefault(symbol, Range(0.0, 0.0))


def _check_rest(dynamics: Dynamics, resting: Sequence[sympy.Symbol]) -> None:
    """Raise where the velocities do not vanish with the momenta or speeds of the state."""
    algebra, velocities = dynamics.kernel.algebra, dynamics.kernel.graph.velocities
    still = algebra.substitute(velocities, algebra.vector(resting), ca.SX.zeros(len(resting)))
    if not ca.sparsify(ca.SX(still)).nnz() == 0:
        raise ModelError(
            f'At rest the state of the form "{dynamics.equations.form}" does not vanish',
            ", ".join(symbol.name for symbol in resting),
            "give the velocities in start and end instead of at_rest",
        )


def _check_ends(
    start: Mapping[Any, Range], end: Mapping[Any, Range], states: Mapping[Any, Range]
) -> None:
    for where, table in (("start", start), ("end", end)):
        for symbol, own in table.items():
            limit = states[symbol]
            if own.low > limit.high or own.high < limit.low:
                raise StartError(
                    f"The {where} of `{symbol}` lies outside its bounds",
                    f"{own.low:g} with bounds {limit.low:g} and {limit.high:g}",
                    f"change the {where} or the bounds",
                )


def _parameters(dynamics: Dynamics, given: Any, others: bool, loose: set[str]) -> tuple[Range, ...]:
    """Ranges by parameter; those of a group are free where they are not given."""
    table = dict.fromkeys(sorted(loose), FREE) | {
        name_of(key): read_range(value, key) for key, value in _table(given, "parameters").items()
    }
    names = [symbol.name for symbol in dynamics.parameters]
    missing = [name for name in names if name not in table]
    if missing:
        raise ModelError(
            f"The parameter {missing[0]} has no value", ", ".join(table) or "no parameters",
            f"pass parameters={{{missing[0]!r}: ...}}, or a pair of bounds to optimise it",
        )  # fmt: skip
    unknown = [] if others else [name for name in table if name not in names]
    if unknown:
        near = nearest(unknown[0], names)
        raise ModelError(
            f"The model has no parameter `{unknown[0]}`", ", ".join(names) or "none",
            f"did you mean {near}" if near else "leave it out",
        )  # fmt: skip
    return tuple(table[name] for name in names)


# -- costs and conditions --------------------------------------------------------------------------


def read_condition(given: Any) -> tuple[sympy.Expr, Range]:
    """What must vanish or have a sign, from an expression or a relation."""
    if isinstance(given, Relational):
        difference = given.lhs - given.rhs
        if isinstance(given, sympy.Equality):
            return difference, Range(0.0, 0.0)
        if isinstance(given, (sympy.LessThan, sympy.StrictLessThan)):
            return difference, Range(-math.inf, 0.0)
        if isinstance(given, (sympy.GreaterThan, sympy.StrictGreaterThan)):
            return difference, Range(0.0, math.inf)
    if isinstance(given, (bool, sympy.logic.boolalg.BooleanAtom)) or not isinstance(
        given, sympy.Expr
    ):
        raise ModelError(
            "A condition is an expression that vanishes, or a relation", repr(given)[:60],
            "write at_end(x) - at_start(x), or integral(u**2) <= 1",
        )  # fmt: skip
    return given, Range(0.0, 0.0)


def quantities_of(
    first: Dynamics, last: Dynamics, expressions: Sequence[sympy.Expr],
    parameters: Sequence[sympy.Symbol] | None = None,
) -> Quantities:  # fmt: skip
    """The cost and the conditions as a function of integrals and of values at the ends.

    The start is one of the dynamics `first`, the end one of `last`. `value` takes `parameters`, by
    default those of `first`.
    """
    numbers = first.parameters if parameters is None else tuple(parameters)
    groups: list[list[sympy.Basic]] = []
    for kind in (TimeIntegral, AtStart, AtEnd):
        atoms = set().union(*(e.atoms(kind) for e in expressions))
        groups.append(sorted(atoms, key=str))
    owners = (first, first, last)
    columns = [
        own.lower([node.args[0] for node in group])
        for own, group in zip(owners, groups, strict=True)
    ]
    for own, group, column, what in zip(
        owners[1:], groups[1:], columns[1:], ("start", "end"), strict=True
    ):
        w = own.unknowns
        if w.numel() and ca.depends_on(column, w):
            raise ModelError(
                f"Accelerations and reactions at the {what} cannot be asked for here",
                ", ".join(map(str, group)),
                "bound them along the way, or put them into an integral",
            )
    symbols = [[sympy.Dummy(f"q{k}") for k in range(len(group))] for group in groups]
    table = {
        node: symbol
        for group, own in zip(groups, symbols, strict=True)
        for node, symbol in zip(group, own, strict=True)
    }
    outer = [expression.xreplace(table) for expression in expressions]
    known = {*table.values(), *numbers}
    for whole, expression in zip(outer, expressions, strict=True):
        loose = sorted(whole.free_symbols - known, key=str)
        if loose:
            raise ModelError(
                f"`{loose[0]}` stands alone in {str(expression)[:60]}",
                "a cost or a condition is one number for the whole trajectory",
                "write integral(...), at_start(...) or at_end(...) around it",
            )
    algebra = GraphAlgebra()
    blocks = [algebra.vector(own) for own in (*symbols, numbers)]
    value = ca.Function("quantities", blocks, [algebra.vector(outer)])
    return Quantities(columns[0], columns[1], columns[2], value, tuple(groups[0]))
