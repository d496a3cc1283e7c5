"""Read phases into statements of their problems, and links between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import sympy

from ...errors import ModelError, nearest
from ...formulations.equations import Equations
from ...model.flow_system import Flow
from ...model.labels import labelled
from ...model.symbols import as_expression, name_of
from ...model.system import System
from ...typing import BySymbol, Condition, Expression, Symbols
from .dynamics import dynamics_of
from .guesses import Guess
from .phase_integrals import PhaseIntegrals
from .phase_links import LinkImpact, PhaseLink, shared_symbols
from .phase_modes import ContactMode, contacts_of, mode_of
from .phase_program import PhasedProblem
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

__all__ = ["Phase", "PhaseReader"]


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


class PhaseReader:
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
        split = PhaseIntegrals(total, asked, len(self.phases))
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
                parameters=numbers | split.parameters(k), mentioned=self._links_mention(k),
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

    def _links_mention(self, k: int) -> list[sympy.Expr]:
        """The expressions of what follows the end of a phase."""
        jump = self.phases[k].jump
        if jump is not None:
            return [read_condition(each)[0] for each in jump]
        return list(self.relabel.values()) if k + 1 == len(self.phases) else []

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
