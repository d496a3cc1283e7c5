"""Where the search for a trajectory begins: lines between the ends, expressions, or a motion.

States are moved onto the constraints, and the unknowns z and mu are those of the Gauss problem at
the guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import DalembertError, ModelError
from ...integrate.motion import Motion
from ...model.labels import labelled
from ...model.symbols import as_expression, name_of, t
from ...runtime.gauss.constrained_solve import solve
from ...typing import Array, ArrayLike, BySymbol, Expression
from .nonlinear_program import Unknowns
from .problem_statement import Range, Statement
from .schemes import Scheme, bernstein, interpolation

__all__ = [
    "Course",
    "Guess",
    "bent_courses",
    "course_of_unknowns",
    "first_course",
    "gauss_unknowns",
    "on_mesh",
]

TimeFunction: TypeAlias = Callable[[float], float]
#: By symbol: numbers, expressions or functions of time, or values at even times; or a motion.
Guess: TypeAlias = "BySymbol[Expression | TimeFunction | ArrayLike] | Motion"

PROJECTIONS = 8
#: Sinusoids of a random course.
WAVES = 5


@dataclass(frozen=True, eq=False)
class Course:
    """States and inputs as functions of the part s in [0, 1] of the way.

    Attributes
    ----------
    times : (t0, t1)
    parameters : array
    states, inputs : callables
        From parts (k,) to arrays (k, n) and (k, m).
    """

    times: tuple[float, float]
    parameters: Array
    states: Callable[[Array], Array]
    inputs: Callable[[Array], Array]


def first_course(statement: Statement, guess: Any) -> Course:
    """The course of a guess; what it leaves out goes in a line from start to end."""
    dynamics = statement.dynamics
    given = _read(statement, guess)
    end_time = given.pop("t", None)
    times = _times(statement, end_time)
    parameters = np.array([_middle(each) for each in statement.parameters])
    for k, symbol in enumerate(dynamics.parameters):
        if symbol.name in given:
            parameters[k] = float(given.pop(symbol.name)(np.zeros(1))[0])
    lines = _lines(statement, times)
    names = [symbol.name for symbol in dynamics.state]
    rate_of = {q.dot.name: q.name for q in dynamics.equations.system.coordinates}
    functions: list[Callable[[Array], Array]] = []
    for k, name in enumerate(names):
        of = rate_of.get(name)
        if name in given:
            functions.append(_timed(given[name], times))
        elif of in given:
            functions.append(_derivative(_timed(given[of], times), times[1] - times[0]))
        else:
            functions.append(lines[k])
    inputs = [
        _timed(given[symbol.name], times) if symbol.name in given else _constant(_middle(each))
        for symbol, each in zip(dynamics.inputs, statement.inputs, strict=True)
    ]
    return Course(times, parameters, _side_by_side(functions), _side_by_side(inputs))


def bent_courses(
    statement: Statement, course: Course, count: int, seed: int | Sequence[int], share: float = 1.0
) -> list[Course]:
    """Courses bent at random: sinusoids on the states, smooth inputs, other end times.

    A `share` below one bends them by as much less.
    """
    random = np.random.default_rng(seed)
    parts = np.linspace(0.0, 1.0, 33)
    spread = np.ptp(course.states(parts), axis=0)
    size = np.array(
        [_reach(own, width) for own, width in zip(statement.states, spread, strict=True)]
    )
    reach = np.array([_reach(own, 0.0) for own in statement.inputs])
    names = [symbol.name for symbol in statement.dynamics.state]
    pairs = [
        (names.index(q.name), names.index(q.dot.name))
        for q in statement.dynamics.equations.system.coordinates
        if q.name in names and q.dot.name in names
    ]
    found = []
    for _ in range(count):
        states = random.normal(size=(WAVES, len(size))) * size * random.uniform(0.2, 1.5) * share
        inputs = random.normal(size=(WAVES, len(reach))) * reach * share
        first, last = course.times
        end = statement.times[1]
        if not end.is_fixed:
            last = end.clip(first + (last - first) * math.exp(random.normal() * 0.3 * share))
        along = _with_sines(course.states, states, pairs, last - first)
        times = (first, last)
        found.append(
            Course(times, course.parameters, along, _with_sines(course.inputs, inputs, [], 1))
        )
    return found


def _reach(own: Range, width: float) -> float:
    """How far a course is bent: by the way that it goes, or within its bounds."""
    return max(width, (own.high - own.low) / 4 if own.is_finite else 1.0)


def _with_sines(
    function: Callable[[Array], Array],
    amplitudes: Array,
    pairs: list[tuple[int, int]],
    duration: float,
) -> Callable[[Array], Array]:
    """A course with sinusoids added; velocities are those of their coordinates."""
    orders = np.arange(1, len(amplitudes) + 1)
    rates = [rate for _, rate in pairs]
    own = amplitudes.copy()
    own[:, rates] = 0.0

    def along(s: Array) -> Array:
        angles = np.pi * s[:, None] * orders
        found: Array = function(s) + (np.sin(angles) / orders) @ own
        for q, rate in pairs:
            found[:, rate] += np.pi * np.cos(angles) @ amplitudes[:, q] / duration
        return found

    return along


def _read(statement: Statement, guess: Any) -> dict[str, Callable[[Array], Array]]:
    """Functions of arrays of times by name."""
    if guess is None:
        return {}
    motion = guess if isinstance(guess, Motion) else getattr(guess, "motion", None)
    if isinstance(motion, Motion):
        return _of_motion(statement, motion)
    table = labelled(guess)
    if not isinstance(table, Mapping):
        raise ModelError(
            "The guess must name its values, or be a motion", type(guess).__name__,
            "pass guess={x: 1.0, ...}",
        )  # fmt: skip
    dynamics = statement.dynamics
    known = {s.name for s in (*dynamics.state, *dynamics.inputs, *dynamics.parameters, t)}
    found: dict[str, Callable[[Array], Array]] = {}
    for key, value in table.items():
        name = name_of(key)
        if name not in known:
            raise ModelError(
                f"The guess names `{name}`, which the program does not have",
                ", ".join(sorted(known)), "use one of these names",
            )  # fmt: skip
        found[name] = _function(name, value, statement)
    return found


@dataclass(frozen=True)
class _Samples:
    """Values at increasing parts of the way, in [0, 1], joined by lines."""

    parts: Array
    values: Array

    def of_parts(self, s: Array) -> Array:
        return np.asarray(np.interp(s, self.parts, self.values), dtype=float)

    def __call__(self, times: Array) -> Array:
        first, last = times[0], times[-1]
        return self.of_parts((times - first) / (last - first) if last > first else 0 * times)


def _function(name: str, value: Any, statement: Statement) -> Callable[[Array], Array]:
    if callable(value) and not isinstance(value, sympy.Basic):
        return lambda times: np.array([float(value(float(time))) for time in times])
    if isinstance(value, (list, tuple, np.ndarray)):
        table = np.asarray(value, dtype=float)
        if table.ndim != 1 or not len(table):
            raise ModelError(
                f"The guess of `{name}` must be a list of numbers", str(value)[:60],
                "pass values at even times, such as [0.0, 0.5, 1.0]",
            )  # fmt: skip
        return _Samples(np.linspace(0.0, 1.0, len(table)), table)
    expression = as_expression(value)
    loose = sorted(expression.free_symbols - {t}, key=str)
    if loose:
        raise ModelError(
            f"The guess of `{name}` contains {loose[0]}", str(expression)[:60],
            "write it as an expression of da.t",
        )  # fmt: skip
    algebra = GraphAlgebra()
    function = ca.Function("guess", [algebra.vector([t])], [algebra.vector([expression])])
    return lambda times: np.asarray(function(np.asarray(times)[None, :]), dtype=float).ravel()


def _of_motion(statement: Statement, motion: Motion) -> dict[str, Callable[[Array], Array]]:
    dynamics = statement.dynamics
    order = np.argsort(motion.t)
    parts = (motion.t[order] - motion.t[order[0]]) / (motion.t[order[-1]] - motion.t[order[0]])
    found: dict[str, Callable[[Array], Array]] = {}
    for symbol in (*dynamics.state, *dynamics.inputs):
        if symbol.name in motion.names:
            found[symbol.name] = _Samples(parts, motion[symbol.name][order])
    found["t"] = lambda times: np.full(len(times), motion.t[-1])
    return found


def _timed(
    function: Callable[[Array], Array], times: tuple[float, float]
) -> Callable[[Array], Array]:
    """A function of time as a function of the part of the way."""
    if isinstance(function, _Samples):
        return function.of_parts
    return lambda s: function(times[0] + s * (times[1] - times[0]))


def _derivative(function: Callable[[Array], Array], duration: float) -> Callable[[Array], Array]:
    step = 1e-4
    return lambda s: (
        (function(np.minimum(s + step, 1.0)) - function(np.maximum(s - step, 0.0)))
        / ((np.minimum(s + step, 1.0) - np.maximum(s - step, 0.0)) * duration)
    )


def _constant(value: float) -> Callable[[Array], Array]:
    return lambda s: np.full(len(s), value)


def _side_by_side(functions: list[Callable[[Array], Array]]) -> Callable[[Array], Array]:
    return lambda s: (
        np.stack([function(s) for function in functions], axis=1)
        if functions
        else np.zeros((len(s), 0))
    )


def _middle(own: Range) -> float:
    """A value within bounds: zero if it is, else the middle or the finite one."""
    if own.low <= 0.0 <= own.high and not own.is_fixed:
        return 0.0
    if own.is_finite:
        return (own.low + own.high) / 2
    return own.low if math.isfinite(own.low) else own.high


def _times(statement: Statement, end_time: Any) -> tuple[float, float]:
    first, last = statement.times
    begin = first.clip(0.0) if math.isfinite(first.clip(0.0)) else 0.0
    if end_time is not None:
        return begin, last.clip(float(end_time(np.zeros(1))[0]))
    if last.is_finite:
        least = max(last.low, begin)
        width = last.high - begin
        low = least - begin
        return begin, begin + (math.sqrt(low * width) if low > 0 else width / 2)
    return begin, last.clip(begin + 1.0)


def _lines(statement: Statement, times: tuple[float, float]) -> list[Callable[[Array], Array]]:
    """Straight lines between the ends; velocities without ends are those of the lines."""
    dynamics = statement.dynamics
    ends: dict[str, tuple[float, float]] = {}
    for symbol, start, end in zip(dynamics.state, statement.start, statement.end, strict=True):
        a = start.low if start.is_fixed else None
        b = end.low if end.is_fixed else None
        first = a if a is not None else start.clip(b) if b is not None else _middle(start)
        last = b if b is not None else end.clip(first)
        ends[symbol.name] = first, last
    system = dynamics.equations.system
    fixed = {
        s.name: a.is_fixed or b.is_fixed
        for s, a, b in zip(dynamics.state, statement.start, statement.end, strict=True)
    }
    for q in system.coordinates:
        rate = q.dot.name
        if rate in ends and not fixed[rate] and q.name in ends:
            mean_rate = (ends[q.name][1] - ends[q.name][0]) / (times[1] - times[0])
            k = [s.name for s in dynamics.state].index(rate)
            ends[rate] = (statement.states[k].clip(mean_rate),) * 2
    return [
        (lambda s, a=a, b=b: a + s * (b - a))  # type: ignore[misc]
        for a, b in (ends[symbol.name] for symbol in dynamics.state)
    ]


# -- on a mesh -------------------------------------------------------------------------------------


def course_of_unknowns(found: Unknowns, scheme: Scheme) -> Course:
    """The course of a solution, to go on from on another mesh."""
    from .polynomials import input_values, state_values

    return Course(
        found.times, found.parameters,
        lambda s: state_values(found, scheme, s), lambda s: input_values(found, s),
    )  # fmt: skip


def on_mesh(statement: Statement, scheme: Scheme, edges: Array, course: Course) -> Unknowns:
    """Unknowns of a mesh that follow a course."""
    N, n = len(edges) - 1, len(statement.states)
    widths = np.diff(edges)
    project = projection(statement, course)
    parts = edges[:-1, None] + widths[:, None] * scheme.stages
    own = edges[:-1, None] + widths[:, None] * scheme.stages[scheme.own]
    nodes = project(edges, course.states(edges))
    between = project(own.ravel(), course.states(own.ravel())).reshape(N, len(scheme.own), n)
    inputs = _coefficients(statement, scheme, edges, course)
    table = np.concatenate([nodes[:-1, None], between, nodes[1:, None]], axis=1)
    places = scheme.places
    at_stages = np.einsum("ij,kjn->kin", interpolation(places, scheme.stages), table)
    values = np.einsum("ij,kjm->kim", bernstein(scheme.degree, scheme.stages), inputs)
    instant = gauss_unknowns(statement, course, parts, at_stages, values)
    return Unknowns(edges, course.times, nodes, between, instant, inputs, course.parameters)


def _coefficients(statement: Statement, scheme: Scheme, edges: Array, course: Course) -> Array:
    """Bernstein's coefficients (N, d + 1, m) of polynomials through the inputs, within bounds."""
    d, N, m = scheme.degree, len(edges) - 1, len(statement.inputs)
    inside = (np.arange(d + 1) + 0.5) / (d + 1) if not scheme.is_continuous else None
    places = np.linspace(0.0, 1.0, d + 1) if inside is None else inside
    parts = edges[:-1, None] + np.diff(edges)[:, None] * places
    values = course.inputs(parts.ravel()).reshape(N, d + 1, m)
    found = np.einsum("ij,kjm->kim", np.linalg.inv(bernstein(d, places)), values)
    low = np.array([each.low for each in statement.inputs])
    high = np.array([each.high for each in statement.inputs])
    clipped: Array = np.clip(found, low, high)
    return clipped


def projection(statement: Statement, course: Course) -> Callable[[Array, Array], Array]:
    """Moves states (k, n) at parts (k,) of the way onto the constraints of the model."""
    dynamics = statement.dynamics
    g, (time, x, _, _, p) = dynamics.kernel.graph, dynamics.arguments
    residual = ca.vertcat(g.position.residual, g.velocity.residual)
    if not residual.numel():
        return lambda parts, states: states
    function = ca.Function(
        "residual", [time, x, p], [ca.densify(residual), ca.densify(ca.jacobian(residual, x))]
    )
    one, zero = np.eye(len(dynamics.state)), np.zeros(len(dynamics.state))

    def project(parts: Array, states: Array) -> Array:
        found = states.copy()
        for k, s in enumerate(parts):
            time = course.times[0] + s * (course.times[1] - course.times[0])
            for _ in range(PROJECTIONS):
                values, rows = (np.asarray(b) for b in function(time, found[k], course.parameters))
                if np.max(np.abs(values)) < 1e-13:
                    break
                try:
                    found[k] += solve(one, zero, rows, -values.ravel()).z
                except DalembertError:
                    break
        return found

    return project


def gauss_unknowns(
    statement: Statement, course: Course, parts: Array, states: Array, inputs: Array
) -> Array:
    """z and mu (N, s, nw) of the Gauss problem at states (N, s, n); zero where it is singular."""
    dynamics = statement.dynamics
    N, s, n = states.shape
    nw = int(dynamics.unknowns.numel())
    if not nw:
        return np.zeros((N, s, 0))
    kernel = dynamics.kernel
    g, (time, x, _, u, p) = kernel.graph, dynamics.arguments
    blocks = [ca.densify(ca.SX(block)) for block in (g.metric, g.force, g.rows, g.right)]
    function = ca.Function("gauss", [time, x, u, p], blocks).map(N * s)
    times = course.times[0] + parts.ravel() * (course.times[1] - course.times[0])
    numbers = np.tile(course.parameters[:, None], (1, N * s))
    tables = function(times[None, :], states.reshape(-1, n).T, inputs.reshape(N * s, -1).T, numbers)
    G, f, A, b = (np.asarray(each, dtype=float) for each in tables)
    size, rows = kernel.n, kernel.m
    found = np.zeros((N * s, nw))
    for k in range(N * s):
        own = slice(k * size, (k + 1) * size)
        try:
            answer = solve(
                G[:, own], f[:, k], A[:, own] if rows else None, b[:, k] if rows else None,
                definite=kernel.equations.is_definite, gauge=kernel.equations.has_gauge,
            )  # fmt: skip
        except DalembertError:
            continue
        found[k] = np.concatenate([answer.z, answer.multipliers[list(dynamics.kept)]])
    return found.reshape(N, s, nw)
