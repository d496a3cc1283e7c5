r"""Optimal control over several phases: contact modes with impacts between them, or any models.

    phase 1: x_dot = f_1(x, u)  --impact-->  phase 2: x_dot = f_2(x, u)  --impact--> ...

Where the phases are contact modes of one system, its equations, its impacts and Coulomb's bounds
follow from its one-sided constraints, and the whole is replayed by `simulate`, which finds impacts
and modes by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...errors import ModelError, nearest
from ...formulations.equations import Equations
from ...integrate.motion import Motion
from ...model.flow_system import Flow
from ...model.labels import labelled
from ...model.symbols import Parameter, as_expression, name_of, t
from ...model.system import System
from ...typing import BySymbol, Condition, Expression, Progress, Symbols
from .dynamics import dynamics_of
from .guesses import Course, Guess, first_course
from .phase_answer import PhasedTrajectory
from .phase_links import LinkImpact, PhaseLink, shared_symbols
from .phase_modes import ContactMode, contacts_of, mode_of
from .phase_program import PhasedProblem
from .phase_search import PhaseSearch
from .problem_statement import (
    FREE,
    LEAST_DURATION,
    Asked,
    Bound,
    FreeSpan,
    Range,
    Statement,
    quantities_of,
    read_condition,
    read_range,
    read_statement,
)
from .schemes import find_scheme
from .trajectory_quantities import TimeIntegral

__all__ = ["Phase", "optimise_phases"]


@dataclass(frozen=True, eq=False)
class Phase:
    """A phase of a trajectory.

    Attributes
    ----------
    model : System, Flow or Equations
    closed : sequence of str
        One-sided constraints of the system that are closed: names, which stick where they have
        friction, or "floor slips+1", "floor slips-1". The others stay open.
    passing : sequence of str
        Open contacts whose gaps are not bounded: a foot that may scuff.
    duration : number or (least, most)
    hits : sequence of str
        Contacts that close at the end of the phase; by default those that are closed in the next
        one. A contact with restitution may be hit and be open again.
    start, end, bounds, conditions
        Of this phase, as in `optimise`.
    jump : sequence of expressions or relations
        What holds between the end of this phase, ``at_end(...)``, and the start of the next one,
        ``at_start(...)``, in place of continuity; of the last phase to the first.
    guess : mapping of symbol
        As in `optimise`, of the time of the whole trajectory.
    intervals : int
        Of the first mesh.

    Examples
    --------
    >>> import dalembert as da
    >>> h = da.coordinates("h")
    >>> floor = da.unilateral(h >= 0, name="floor")
    >>> mass = da.System([h], kinetic=h.dot**2 / 2, potential=9.81 * h, constraints=[floor])
    >>> Phase(mass, closed=["floor"], duration=(0.1, 1)).closed
    ['floor']
    """

    model: System | Flow | Equations
    closed: Sequence[str] = ()
    passing: Sequence[str] = ()
    duration: Bound = None
    hits: Sequence[str] | None = None
    start: BySymbol[Bound] | None = None
    end: BySymbol[Bound] | None = None
    bounds: BySymbol[Bound] | None = None
    conditions: Sequence[Condition] = ()
    jump: Sequence[Condition] | None = None
    guess: Guess | None = None
    intervals: int = 15


def optimise_phases(
    phases: Sequence[Phase],
    cost: Expression,
    start: BySymbol[Bound] | None = None,
    end: BySymbol[Bound] | None = None,
    span: FreeSpan = (0, None),
    *,
    periodic: Symbols = (),
    relabel: BySymbol[Expression | str] | None = None,
    bounds: BySymbol[Bound] | None = None,
    conditions: Sequence[Condition] = (),
    parameters: BySymbol[Bound] | None = None,
    guess: Guess | None = None,
    transcription: str = "gauss6",
    tolerance: float = 1e-6,
    refinements: int = 8,
    progress: Progress | None = None,
) -> PhasedTrajectory:
    """Find inputs, times and parameters of a trajectory of several phases that make a cost least.

    Parameters
    ----------
    phases : sequence of Phase
    cost : expression
        Of ``integral(...)`` over all phases, ``at_start(...)`` of the first, ``at_end(...)`` of the
        last, and parameters.
    start, end : mapping of symbol or expression to value
        Of the first phase, and of the last before its impact.
    span : (t0, t1)
        Of the whole; times between phases are free, within their durations.
    periodic : sequence of symbols
        Whose values at the start of the first phase are those after the end of the last, with its
        impact.
    relabel : mapping of symbol or contact to what it is called before
        For `periodic`: ``{left: right, right: left, "left": "right", "right": "left"}`` lets a step
        repeat with legs exchanged. Velocities follow their coordinates.
    bounds, parameters, guess, transcription, tolerance, refinements, progress
        As in `optimise`, for all phases.
    conditions : sequence of expressions or relations
        Of the whole trajectory.

    Returns
    -------
    PhasedTrajectory

    Examples
    --------
    A ball is thrown up, bounces once with restitution 0.8, and is caught at the height 1.

    >>> import dalembert as da
    >>> from dalembert.control import Phase, at_start
    >>> h = da.coordinates("h")
    >>> floor = da.unilateral(h >= 0, restitution=0.8, name="floor")
    >>> ball = da.System([h], kinetic=h.dot**2 / 2, potential=9.81 * h, constraints=[floor])
    >>> flights = [Phase(ball, hits=["floor"]), Phase(ball)]
    >>> found = optimise_phases(flights, at_start(h.dot) ** 2, {h: 1}, {h: 1, h.dot: 0})
    >>> round(found.cost, 6), round(9.81 * 2 * (1 / 0.64 - 1), 6)
    (11.03625, 11.03625)
    >>> found.replay_distance < 1e-6
    True
    """
    scheme = find_scheme(transcription)
    reader = _Reader(phases, periodic, relabel or {})
    problem, held = reader.problem(cost, start, end, span, bounds, conditions, parameters)
    times = _guessed_times(problem.statements, span, guess)
    courses = [
        _course(own, phase, guess, times, k, start, end)
        for k, (own, phase) in enumerate(zip(problem.statements, reader.phases, strict=True))
    ]
    meshes = [np.linspace(0.0, 1.0, int(phase.intervals) + 1) for phase in reader.phases]
    search = PhaseSearch(
        problem, scheme, float(tolerance), int(refinements), progress, reader.contacts, held
    )
    return search.run(courses, meshes)


class _Reader:
    """Reads phases into statements and links."""

    def __init__(
        self, phases: Sequence[Phase], periodic: Symbols, relabel: BySymbol[Expression | str]
    ) -> None:
        self.phases = list(phases)
        if not self.phases or not all(isinstance(each, Phase) for each in self.phases):
            raise ModelError(
                "A trajectory needs at least one phase", repr(phases)[:60],
                "pass [Phase(system, ...), ...]",
            )  # fmt: skip
        if any(int(each.intervals) < 2 for each in self.phases):
            raise ModelError("A mesh has at least two intervals", "1", "pass intervals=15")
        self.modes = [self._mode(each) for each in self.phases]
        single = isinstance(periodic, (str, sympy.Basic))
        self.periodic = [name_of(each) for each in ([periodic] if single else periodic)]
        self.relabel, self.contact_names = _read_relabel(relabel)

    @property
    def contacts(self) -> System | None:
        """The one system whose modes the phases are, if `simulate` can run through them."""
        models = [each.model for each in self.phases]
        if any(each is not models[0] for each in models) or self.modes[0] is None:
            return None
        if any(each.jump is not None or each.passing for each in self.phases):
            return None
        first = models[0]
        return first if isinstance(first, System) else None

    def _mode(self, phase: Phase) -> ContactMode | None:
        model = phase.model
        if isinstance(model, System) and model.unilateral:
            return mode_of(model, phase.closed, phase.passing)
        if phase.closed or phase.hits or phase.passing:
            raise ModelError(
                "Contacts are those of a system with one-sided constraints",
                ", ".join([*phase.closed, *(phase.hits or ()), *phase.passing]),
                "state them by da.unilateral(...) among the constraints of the System",
            )
        return None

    def problem(
        self, cost: Expression, start: Any, end: Any, span: FreeSpan, bounds: Any,
        conditions: Sequence[Condition], parameters: Any,
    ) -> tuple[PhasedProblem, list[bool]]:  # fmt: skip
        """The problem, and of each phase whether what comes before holds its constraints."""
        total = as_expression(cost)
        asked = [read_condition(each) for each in conditions]
        split = _Integrals(total, asked, len(self.phases))
        numbers = {name_of(k): v for k, v in dict(labelled(parameters) or {}).items()}
        first, last = _span(span)
        statements = []
        for k, (phase, mode) in enumerate(zip(self.phases, self.modes, strict=True)):
            ends = dict(labelled(phase.end) or {}) | self._closing(k)
            every = dict(labelled(bounds) or {}) | ({} if mode is None else mode.bounds)
            given = Asked(
                phase.model if mode is None else mode.system, split.part,
                (dict(labelled(start) or {}) if k == 0 else {}) | dict(labelled(phase.start) or {}),
                (dict(labelled(end) or {}) if k == len(self.phases) - 1 else {}) | ends,
                (first if k == 0 else None, last if k == len(self.phases) - 1 else None),
                bounds=every | dict(labelled(phase.bounds) or {}),
                conditions=[*phase.conditions, *split.conditions(k)],
                form=None if mode is None else "lagrange", others=True,
                parameters=numbers | split.parameters(k),
            )  # fmt: skip
            statement = read_statement(given)
            duration = FREE if phase.duration is None else read_range(phase.duration, "duration")
            least = max(duration.low, LEAST_DURATION)
            statements.append(replace(statement, duration=Range(least, duration.high)))
        _check_parameters(numbers, statements)
        links = self._links(statements)
        symbols = {s.name: s for own in statements for s in own.dynamics.parameters}
        outer = [split.outer(total) - split.outer(split.whole), *(split.outer(e) for e, _ in asked)]
        used = tuple(symbols.values())
        quantities = quantities_of(statements[0].dynamics, statements[-1].dynamics, outer, used)
        problem = PhasedProblem(
            tuple(statements), tuple(links), quantities,
            tuple((str(e)[:60], own) for e, own in asked), used, tuple(split.table),
        )  # fmt: skip
        return problem, self._held(statements, links)

    # -- contacts and links ------------------------------------------------------------------------

    def _next(self, k: int) -> ContactMode | None:
        """The mode after a phase in the names that it has there, None where nothing follows."""
        if k + 1 < len(self.phases):
            return self.modes[k + 1]
        mode, system = self.modes[0], self.phases[-1].model
        if not self.periodic or mode is None:
            return None
        assert isinstance(system, System)
        names = [self.contact_names.get(name, name) for name in mode.names]
        labels = [
            label.replace(own, name, 1)
            for label, own, name in zip(mode.labels, mode.names, names, strict=True)
        ]
        return mode_of(system, labels, self.phases[-1].passing)

    def _hits(self, k: int) -> list[str]:
        """The contacts that close at the end of a phase."""
        given, mode, after = self.phases[k].hits, self.modes[k], self._next(k)
        if given is not None:
            return [*given]
        if mode is None or after is None or self.phases[k].jump is not None:
            return []
        return [name for name in after.names if name not in mode.names]

    def _closing(self, k: int) -> dict[sympy.Expr, Bound]:
        """The gaps that vanish at the end of a phase."""
        model = self.phases[k].model
        if not isinstance(model, System):
            return {}
        table = {contact.name: contact for contact in contacts_of(model)}
        for name in self._hits(k):
            if name not in table:
                mode_of(model, [name])
        return {table[name].expression: 0 for name in self._hits(k)}

    def _impact(self, k: int) -> LinkImpact | None:
        """The impact at the end of a phase."""
        hits, mode, model = self._hits(k), self.modes[k], self.phases[k].model
        if not hits or mode is None:
            return None
        assert isinstance(model, System)
        after = self._next(k)
        closed = () if after is None else after.labels
        names = () if after is None else after.names
        union = mode_of(model, [*closed, *(name for name in hits if name not in names)])
        dynamics = dynamics_of(union.system, "lagrange", [], implicit=True)
        table = {contact.name: contact for contact in contacts_of(model)}
        released = tuple(c for c in mode.closed if c.name not in union.names)
        return LinkImpact(dynamics, union.closed, tuple(table[name] for name in hits), released)

    def _links(self, statements: Sequence[Statement]) -> list[PhaseLink]:
        found = []
        for k, phase in enumerate(self.phases):
            is_last = k + 1 == len(self.phases)
            after = 0 if is_last else k + 1
            if phase.jump is not None:
                asked = tuple(read_condition(each) for each in phase.jump)
                found.append(PhaseLink(k, after, conditions=asked, is_timed=not is_last))
                continue
            if is_last and not self.periodic:
                continue
            dynamics = statements[after].dynamics
            shared = [*shared_symbols(statements[k].dynamics, dynamics)]
            impact = self._impact(k)
            if is_last:
                names = {symbol.name: symbol for symbol in shared}
                for name in self.periodic:
                    if name not in names:
                        near = nearest(name, list(names))
                        raise ModelError(
                            f"`{name}` in periodic is no symbol of the state",
                            ", ".join(names),
                            f"did you mean {near}" if near else "use one of these names",
                        )
                shared = [names[name] for name in self.periodic]
            relabel = self.relabel if is_last else {}
            found.append(PhaseLink(k, after, impact, tuple(shared), relabel, is_timed=not is_last))
        return found

    def _held(self, statements: Sequence[Statement], links: Sequence[PhaseLink]) -> list[bool]:
        """Whether links hold the constraints at the start of each phase."""
        found = [False] * len(statements)
        for link in links:
            if link.conditions is not None:
                continue
            d = statements[link.after].dynamics
            graph = d.kernel.graph
            names = {symbol.name for symbol in link.symbols}
            others = [k for k, symbol in enumerate(d.state) if symbol.name not in names]
            found[link.after] = not _depends(graph, d.arguments[1], others)
        return found


def _depends(graph: Any, state: Any, places: Sequence[int]) -> bool:
    """Whether constraints depend on some symbols of the state."""
    residual = ca.vertcat(graph.position.residual, graph.velocity.residual)
    if not residual.numel() or not places:
        return False
    return bool(ca.depends_on(residual, state[list(places)]))


class _Integrals:
    """The integrals of cost and conditions over several phases.

    Where the cost is linear in them and no condition contains one, a phase adds its part to the
    cost. Else the integrals of a phase are unknowns of it, under names of their own.
    """

    def __init__(
        self, cost: sympy.Expr, conditions: Sequence[tuple[sympy.Expr, Range]], count: int
    ) -> None:
        expressions = [cost, *(e for e, _ in conditions)]
        nodes = sorted(set().union(*(e.atoms(TimeIntegral) for e in expressions)), key=str)
        dummies = {node: sympy.Dummy() for node in nodes}
        written = cost.xreplace(dummies)
        factors = [sympy.diff(written, dummy) for dummy in dummies.values()]
        is_direct = all(factor.is_number for factor in factors)
        is_direct = is_direct and not any(e.atoms(TimeIntegral) for e, _ in conditions)
        whole = sum((f * n for f, n in zip(factors, nodes, strict=True)), sympy.Integer(0))
        self.part = whole if is_direct else sympy.Integer(0)
        self.whole = self.part
        self.table: list[tuple[int, sympy.Basic, sympy.Symbol]] = (
            []
            if is_direct
            else [
                (k, node, Parameter(f"integral{j + 1}_of_phase{k + 1}"))
                for k in range(count)
                for j, node in enumerate(nodes)
            ]
        )

    def conditions(self, k: int) -> list[sympy.Expr]:
        """What makes the unknowns of a phase its integrals."""
        return [node - symbol for phase, node, symbol in self.table if phase == k]

    def parameters(self, k: int) -> dict[str, Bound]:
        return {symbol.name: (None, None) for phase, _, symbol in self.table if phase == k}

    def outer(self, expression: sympy.Expr) -> sympy.Expr:
        """An expression with integrals over all phases written as sums of these unknowns."""
        sums: dict[sympy.Basic, sympy.Expr] = {}
        for _, node, symbol in self.table:
            sums[node] = sums.get(node, sympy.Integer(0)) + symbol
        return expression.xreplace(sums)


def _read_relabel(
    given: BySymbol[Expression | str],
) -> tuple[dict[sympy.Symbol, sympy.Expr], dict[str, str]]:
    """What symbols become, and what contacts are called before."""
    symbols: dict[sympy.Symbol, sympy.Expr] = {}
    names: dict[str, str] = {}
    for key, value in given.items():
        if isinstance(key, str) and isinstance(value, str):
            names[key] = value
        elif isinstance(key, sympy.Symbol):
            symbols[key] = as_expression(value)
        else:
            raise ModelError(
                "relabel takes symbols to expressions, and names of contacts to names",
                f"{key!r}: {value!r}"[:60], "pass {q1: q2, q2: q1, 'left': 'right'}",
            )  # fmt: skip
    return symbols, names


def _span(span: FreeSpan) -> tuple[Bound, Bound]:
    if not isinstance(span, (tuple, list)) or len(span) != 2:
        raise ModelError("The span must be two times", str(span)[:60], "pass span=(0, None)")
    return span[0], span[1]


def _check_parameters(numbers: Mapping[str, Any], statements: Sequence[Statement]) -> None:
    known = {s.name for own in statements for s in own.dynamics.parameters}
    for name in numbers:
        if name not in known:
            near = nearest(name, list(known))
            raise ModelError(
                f"No phase has a parameter `{name}`", ", ".join(sorted(known)) or "none",
                f"did you mean {near}" if near else "leave it out",
            )  # fmt: skip


# -- guesses ---------------------------------------------------------------------------------------


def _guessed_times(
    statements: Sequence[Statement], span: FreeSpan, guess: Guess | None
) -> list[float]:
    """Times of the ends of phases: their durations, stretched to the span where it is given."""
    first, last = statements[0].times[0], statements[-1].times[1]
    begin = first.clip(0.0)
    widths = []
    for own in statements:
        low, high = own.duration
        widths.append((low + high) / 2 if np.isfinite(high) else max(2 * low, 1.0))
    total = begin + sum(widths)
    if isinstance(guess, Mapping):
        given = {name_of(key): value for key, value in guess.items()}.get("t")
        total = float(given) if given is not None else total
    total = last.clip(total)
    factor = (total - begin) / sum(widths)
    return [begin, *(begin + factor * np.cumsum(widths))]


def _course(
    statement: Statement, phase: Phase, guess: Guess | None, times: Sequence[float], k: int,
    start: Any, end: Any,
) -> Course:  # fmt: skip
    """The course of a phase: its own guess, that of the whole, lines between the ends."""
    names = {s.name for s in (*statement.dynamics.state, *statement.dynamics.inputs)}
    names |= {s.name for s in statement.dynamics.parameters}
    table: dict[Any, Any] = _lines(start, end, times)
    for given in (guess, phase.guess):
        table |= _by_time(given, times[0], times[-1])
    table = {name: value for name, value in table.items() if name in names}
    fixed = tuple(Range(float(time), float(time)) for time in times[k : k + 2])
    return first_course(replace(statement, times=(fixed[0], fixed[1])), table)


def _by_time(given: Any, first: float, last: float) -> dict[str, Any]:
    """A guess by name, as functions of the time of the whole trajectory."""
    if given is None:
        return {}
    motion = given if isinstance(given, Motion) else getattr(given, "motion", None)
    if isinstance(motion, Motion):
        part = (motion.t - motion.t[0]) / (motion.t[-1] - motion.t[0])
        table = {s.name: motion[s.name] for s in motion.state}
        return {n: _interpolated(first + part * (last - first), v) for n, v in table.items()}
    found = {}
    for key, value in dict(labelled(given)).items():
        if isinstance(value, (list, tuple, np.ndarray)):
            value = _interpolated(np.linspace(first, last, len(value)), np.asarray(value))
        found[name_of(key)] = value
    return found


def _interpolated(times: Any, values: Any) -> Any:
    return lambda time: float(np.interp(time, times, values))


def _lines(start: Any, end: Any, times: Sequence[float]) -> dict[str, Any]:
    """Lines of symbols that are given at both ends."""
    ends = [
        {name_of(k): v for k, v in dict(labelled(each) or {}).items() if _is_symbol(k)}
        for each in (start, end)
    ]
    found = {}
    for name in ends[0]:
        if name in ends[1]:
            pair = [read_range(each[name], name) for each in ends]
            if all(own.is_fixed for own in pair):
                part = (t - times[0]) / (times[-1] - times[0])
                found[name] = pair[0].low + (pair[1].low - pair[0].low) * part
    return found


def _is_symbol(key: Any) -> bool:
    return isinstance(key, (str, sympy.Symbol))
