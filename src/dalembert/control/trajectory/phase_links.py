r"""What joins the end of a phase to the start of the next: continuity, an impact, or conditions.

An impact at a given position takes the velocities v to v+ by impulses of the constraints and
contacts that are closed after it or are hit,

    M (v+ - v) = A^T Lambda,     A v+ + b = -e (A v + b),

with the restitution e of contacts that are hit, and zero for all others. Contacts push, and grip
within the cone of friction; those that open leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
import sympy

from ...errors import ModelError
from ...model.constraints.one_sided import UnilateralConstraint
from ...model.symbols import Coordinate, Velocity, t
from ...typing import Array
from .dynamics import Dynamics
from .problem_statement import Range, quantities_of

__all__ = ["EndPoint", "LinkImpact", "PhaseLink", "Relabelling", "shared_symbols"]

ZERO = Range(0.0, 0.0)
NEGATIVE = Range(-np.inf, 0.0)
#: What symbols of the state become, by symbol.
Relabelling = Mapping[sympy.Symbol, sympy.Expr]


@dataclass(frozen=True, eq=False)
class EndPoint:
    """An end of a phase: its dynamics, and columns of time, state, inputs, parameters by name."""

    dynamics: Dynamics
    time: ca.SX
    state: ca.SX
    inputs: ca.SX
    numbers: Mapping[str, ca.SX]

    def parameters(self, dynamics: Dynamics) -> ca.SX:
        """The column of parameters of some dynamics."""
        found = [self.numbers[symbol.name] for symbol in dynamics.parameters]
        return ca.vertcat(*found) if found else ca.SX(0, 1)

    def values(self, column: ca.SX, state: ca.SX | None = None) -> ca.SX:
        """A column of the dynamics here, or at another state."""
        d, none = self.dynamics, ca.SX.zeros(self.dynamics.unknowns.numel())
        at = self.state if state is None else state
        function = ca.Function("here", d.arguments, [column])
        return function(self.time, at, none, self.inputs, self.parameters(d))

    def symbol(self, name: str) -> ca.SX:
        """A symbol of the state."""
        return self.state[[s.name for s in self.dynamics.state].index(name)]


@dataclass(frozen=True, eq=False)
class LinkImpact:
    """An impact at the end of a phase.

    Attributes
    ----------
    dynamics : Dynamics
        Of the mode with the contacts that are closed after it or are hit.
    contacts : tuple of UnilateralConstraint
        These contacts.
    hit : tuple of UnilateralConstraint
        The contacts whose gaps close.
    released : tuple of UnilateralConstraint
        Those that open.
    """

    dynamics: Dynamics
    contacts: tuple[UnilateralConstraint, ...]
    hit: tuple[UnilateralConstraint, ...]
    released: tuple[UnilateralConstraint, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        """The constraints that have an impulse, one for each."""
        names = self.dynamics.kernel.multiplier_names
        return tuple(names[k] for k in self.dynamics.kept)

    @property
    def size(self) -> int:
        """Unknowns: the velocities after it, then the impulses."""
        return len(self.dynamics.equations.system.coordinates) + len(self.rows)

    def constraints(self, at: EndPoint, own: ca.SX) -> list[tuple[str, Range, ca.SX]]:
        """Equations and inequalities of the impact at the end of a phase."""
        d, system = self.dynamics, self.dynamics.equations.system
        n, kept, g = len(system.coordinates), list(d.kept), d.kernel.graph
        after, impulses = own[:n], own[n:]
        before = ca.vertcat(*(at.symbol(v.name) for v in system.velocities))
        positions = ca.vertcat(*(at.symbol(q.name) for q in system.coordinates))
        shock = EndPoint(d, at.time, ca.vertcat(positions, after), at.inputs, at.numbers)
        metric, rows = shock.values(g.metric), shock.values(g.rows)[kept, :]
        relative = [
            shock.values(g.velocity.residual, ca.vertcat(positions, v))[kept]
            for v in (after, before)
        ]
        ratio = ca.vertcat(*(self._restitution(name, shock) for name in self.rows))
        words = "the impact"
        found = [
            (words, ZERO, metric @ (after - before) - rows.T @ impulses),
            (words, ZERO, relative[0] + ratio * relative[1]),
        ]
        table = dict(zip(self.rows, ca.vertsplit(impulses), strict=True))
        for contact in self.contacts:
            if contact.name in table:
                found += _cone(contact, table, shock)
        for contact in self.released:
            column = d.lower([_rate(contact.expression)])
            found.append((f"the release of {contact.name}", NEGATIVE, shock.values(column)))
        return found

    def _restitution(self, row: str, at: EndPoint) -> ca.SX:
        for contact in self.hit:
            if row == contact.name:
                return at.values(at.dynamics.lower([contact.restitution]))
            if row.startswith(f"{contact.name}_tangent"):
                return at.values(at.dynamics.lower([contact.tangential_restitution]))
        return ca.SX(0)


def _rate(expression: sympy.Expr) -> sympy.Expr:
    """The derivative by time of an expression of coordinates."""
    places = sorted(expression.atoms(Coordinate), key=str)
    return expression.diff(t) + sum(expression.diff(q) * q.dot for q in places)


def _cone(
    contact: UnilateralConstraint, impulses: Mapping[str, ca.SX], at: EndPoint
) -> list[tuple[str, Range, ca.SX]]:
    """The impulse of a contact pushes, and grips within the cone of friction."""
    words, normal = f"the impulse of {contact.name}", impulses[contact.name]
    found = [(words, NEGATIVE, normal)]
    names = [f"{contact.name}_tangent{k}" for k in range(1, len(contact.tangent) + 1)]
    rows = [impulses[name] for name in names if name in impulses]
    if not rows:
        return found
    limit = at.values(at.dynamics.lower([contact.friction])) * normal
    if len(rows) == 1:
        return [*found, (words, NEGATIVE, rows[0] + limit), (words, NEGATIVE, -rows[0] + limit)]
    total = sum((row**2 for row in rows), ca.SX(0))
    return [*found, (words, NEGATIVE, total - limit**2)]


@dataclass(frozen=True, eq=False)
class PhaseLink:
    """What holds between the end of one phase and the start of another.

    Attributes
    ----------
    before, after : int
        The numbers of the phases.
    impact : LinkImpact or None
    symbols : tuple of symbols
        Of the state after it, which are what `relabelling` or continuity says.
    conditions : tuple of (expression, Range), or None
        In place of them: expressions of `at_end` of the one and `at_start` of the other phase.
    is_timed : bool
        Whether the other phase starts when the one ends.
    """

    before: int
    after: int
    impact: LinkImpact | None = None
    symbols: tuple[sympy.Symbol, ...] = ()
    relabelling: Relabelling = field(default_factory=dict)
    conditions: tuple[tuple[sympy.Expr, Range], ...] | None = None
    is_timed: bool = True

    @property
    def size(self) -> int:
        """The unknowns of the link."""
        return 0 if self.impact is None else self.impact.size

    def first(self, next_start: Array, dynamics: Dynamics) -> Array:
        """A guess of the unknowns: velocities as they are in the next phase, no impulses."""
        if self.impact is None:
            return np.zeros(0)
        names = [symbol.name for symbol in dynamics.state]
        own = [self.relabelled(v) for v in self.impact.dynamics.equations.system.velocities]
        found = np.zeros(self.size)
        for k, expression in enumerate(own):
            if isinstance(expression, Velocity) and expression.name in names:
                found[k] = next_start[names.index(expression.name)]
        return found

    def relabelled(self, symbol: sympy.Symbol) -> sympy.Expr:
        """What a symbol of the state becomes: an expression of the symbols before."""
        if symbol in self.relabelling:
            return self.relabelling[symbol]
        if isinstance(symbol, Velocity):
            place = self.relabelling.get(symbol.coordinate)
            if place is not None:
                return _rate(place)
        return symbol

    def constraints(
        self, before: EndPoint, after: EndPoint, own: ca.SX
    ) -> list[tuple[str, Range, ca.SX]]:
        """Names, ranges and values of what is asked for; `own` are the unknowns of the link."""
        found: list[tuple[str, Range, ca.SX]] = []
        if self.is_timed:
            found.append(("the times of the phases", ZERO, after.time - before.time))
        if self.conditions is not None:
            return found + self._asked(before, after)
        state = ca.SX(before.state)
        if self.impact is not None:
            found += self.impact.constraints(before, own)
            names = [s.name for s in before.dynamics.state]
            for k, v in enumerate(self.impact.dynamics.equations.system.velocities):
                state[names.index(v.name)] = own[k]
        column = before.dynamics.lower([self.relabelled(s) for s in self.symbols])
        values = before.values(column, state)
        for k, symbol in enumerate(self.symbols):
            words = f"the jump of {symbol.name} to the next phase"
            found.append((words, ZERO, after.symbol(symbol.name) - values[k]))
        return found

    def _asked(self, before: EndPoint, after: EndPoint) -> list[tuple[str, Range, ca.SX]]:
        assert self.conditions is not None
        expressions = [expression for expression, _ in self.conditions]
        used = {*before.dynamics.parameters, *after.dynamics.parameters}
        parameters = sorted(used, key=str)
        q = quantities_of(after.dynamics, before.dynamics, expressions, parameters)
        if q.integrands.numel():
            raise ModelError(
                "A jump between phases contains an integral", str(q.integrals[0])[:60],
                "write it of at_end(...) and at_start(...), or among the conditions",
            )  # fmt: skip
        numbers = {**before.numbers, **after.numbers}
        column = ca.vertcat(*(numbers[s.name] for s in parameters)) if parameters else ca.SX(0, 1)
        starts, ends = after.values(q.starts), before.values(q.ends)
        values = q.value(ca.SX(0, 1), starts, ends, column)
        return [
            (f"the jump {str(expression)[:60]}", own, values[k])
            for k, (expression, own) in enumerate(self.conditions)
        ]


def shared_symbols(before: Dynamics, after: Dynamics) -> Sequence[sympy.Symbol]:
    """The state after a link that has no conditions; raise where it is not that before."""
    names = {symbol.name for symbol in before.state}
    others = [symbol.name for symbol in after.state if symbol.name not in names]
    if others:
        raise ModelError(
            "The state of the next phase has symbols that this phase does not know", others[0],
            "say what they are at its start by jump=[at_start(...) - at_end(...), ...]",
        )  # fmt: skip
    return after.state
