"""What the Dirac-Bergmann algorithm finds: constraints by class, brackets, gauge, motion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.verdicts import Verdict, conjunction
from ...errors import ModelError
from ...geometry.surfaces import Surface, eliminate
from ...model.constraints import holonomic
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Input, as_expression, t
from ...model.system import System
from ...typing import Expression

__all__ = ["BergmannConstraint", "DegenerateSystem", "poisson_bracket"]

ZERO = sympy.Integer(0)
STAGES = ("gauge condition", "primary", "secondary", "tertiary", "quaternary")


@dataclass(frozen=True)
class BergmannConstraint:
    """One constraint of the algorithm.

    Attributes
    ----------
    name : str
    expression : expression of q, p and t that vanishes
    stage : int
        1 for primary ones, 2 for secondary ones and so on; 0 for gauge conditions.
    is_irregular : bool
        Whether it was found as a power, whose gradient vanishes on the surface.

    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> found = da.dirac.bergmann(da.System([x, y], lagrangian=(x.dot - y) ** 2 / 2))
    >>> [(each.name, each.stage) for each in found.constraints]
    [('phi_y', 1), ('phi_y_2', 2)]
    """

    name: str
    expression: sympy.Expr
    stage: int
    is_irregular: bool = False

    @property
    def kind(self) -> str:
        """ "primary", "secondary", ..."""
        return STAGES[self.stage] if self.stage < len(STAGES) else f"stage {self.stage}"


@dataclass(frozen=True, repr=False)
class DegenerateSystem:
    """What the Dirac-Bergmann algorithm finds.

    Attributes
    ----------
    system : System
        With multipliers of holonomic constraints as coordinates.
    hamiltonian : expression
        The canonical Hamiltonian H_c(q, p, t).
    constraints : tuple of BergmannConstraint
    multipliers : mapping of name to expression or None
        u of each primary constraint on the surface; None where it is arbitrary.
    first_class, second_class : tuples of expressions
        First-class combinations, and constraints with a regular matrix of brackets.
    verdict : Verdict
        On the rank decisions: proved, or not established.
    surface : Surface

    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> found = da.dirac.bergmann(da.System([x, y], lagrangian=x.dot * y - y**2 / 2))
    >>> found.dirac_bracket(x, y)
    1
    """

    system: System
    hamiltonian: sympy.Expr
    constraints: tuple[BergmannConstraint, ...]
    multipliers: Mapping[str, sympy.Expr | None]
    first_class: tuple[sympy.Expr, ...]
    second_class: tuple[sympy.Expr, ...]
    verdict: Verdict
    surface: Surface = field(compare=False)

    # -- brackets ----------------------------------------------------------------------------------

    def bracket(self, f: Expression, g: Expression) -> sympy.Expr:
        """{f, g} = f_q g_p - f_p g_q."""
        return poisson_bracket(self.system, as_expression(f), as_expression(g))

    def dirac_bracket(self, f: Expression, g: Expression) -> sympy.Expr:
        """{f, g} - {f, chi} C^-1 {chi, g}, with the second-class constraints chi."""
        second = self.second_class
        plain = self.bracket(f, g)
        if not second:
            return simplify(plain)
        matrix = [[self.bracket(a, b) for b in second] for a in second]
        right = [[self.bracket(a, g)] for a in second]
        solved = eliminate(Surface(self.surface.symbols), matrix, right)
        weights = {j: value[0] for j, (value, _) in solved.values.items()}
        return simplify(plain - sum(self.bracket(f, second[j]) * w for j, w in weights.items()))

    # -- freedom -----------------------------------------------------------------------------------

    @property
    def gauge(self) -> tuple[str, ...]:
        """The multipliers that stay arbitrary functions of time, by name."""
        return tuple(name for name, value in self.multipliers.items() if value is None)

    @property
    def degrees_of_freedom(self) -> sympy.Rational:
        """(2 n - 2 F - S) / 2."""
        lost = 2 * len(self.first_class) + len(self.second_class)
        return sympy.Rational(2 * len(self.system.coordinates) - lost, 2)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Coordinates and momenta that the first-class primary constraints move."""
        by_gauge = self._gauge_generators()
        return tuple(
            symbol.name
            for symbol in (*self.system.coordinates, *self.system.momenta)
            if not all(self.surface.vanish(self.bracket(symbol, g)).holds for g in by_gauge)
        )

    def is_observable(self, expression: Expression) -> Verdict:
        """Whether the brackets with all first-class constraints vanish on the surface."""
        found = {
            f"bracket with {g}": self.surface.vanish(self.bracket(expression, g))
            for g in self.first_class
        }
        sure = Verdict("proved", "there is no first-class constraint", holds_to_rounding=True)
        return conjunction(found) if found else sure

    def _gauge_generators(self) -> list[sympy.Expr]:
        """The first-class combinations of primary constraints: dH_T / du of arbitrary u."""
        total = self.total_hamiltonian
        return [sympy.diff(total, Input(f"u_{name}")) for name in self.gauge]

    # -- Hamiltonians ------------------------------------------------------------------------------

    @property
    def total_hamiltonian(self) -> sympy.Expr:
        """H_c + u_a phi_a, with the u that are determined; the others are inputs ``u_<name>``."""
        u = _all_multipliers(self)
        primary = [c for c in self.constraints if c.stage == 1]
        return self.hamiltonian + sum(
            u[key] * c.expression for key, c in zip(self.multipliers, primary, strict=True)
        )

    @property
    def extended_hamiltonian(self) -> sympy.Expr:
        """H_T with an arbitrary multiplier ``w1``, ``w2``, ... of each first-class constraint."""
        extra = sum(Input(f"w{k + 1}") * g for k, g in enumerate(self.first_class))
        chosen = {Input(f"u_{name}"): ZERO for name in self.gauge}
        return self.total_hamiltonian.xreplace(chosen) + extra

    # -- motion ------------------------------------------------------------------------------------

    def gauge_fixed(self, *conditions: Expression) -> DegenerateSystem:
        """The same with gauge conditions chi(q, p, t) = 0, which must stay as constraints do.

        Raises
        ------
        ModelError
            Where the conditions leave a multiplier arbitrary, or contradict the dynamics.
        """
        from .bergmann import with_conditions

        given = [
            BergmannConstraint(f"gauge_{k + 1}", as_expression(e), 0)
            for k, e in enumerate(conditions)
        ]
        found = with_conditions(self, given)
        if found.gauge:
            raise ModelError(
                "The gauge conditions leave a multiplier arbitrary",
                seen=", ".join(f"u_{name}" for name in found.gauge),
                remedy="add a condition whose bracket with the primary constraint is not zero",
            )
        return found

    def flow(self) -> Flow:
        """The motion on the constraint surface as a `Flow` in q and p.

        Multipliers that are arbitrary are free inputs ``u_<name>`` of the flow: give them to
        `simulate`, or fix the gauge first. Coordinates that depend on them are `undetermined`.
        """
        q, p = self.system.coordinates, self.system.momenta
        named = {symbol: Coordinate(symbol.name) for symbol in p}
        total = self.hamiltonian
        rates = {symbol: self.bracket(symbol, total) for symbol in (*q, *p)}
        u = _all_multipliers(self)
        for key, c in zip(self.multipliers, self._primary, strict=True):
            for symbol in rates:
                rates[symbol] += u[key] * self.bracket(symbol, c.expression)
        changed = {
            named.get(symbol, symbol): simplify(rate).xreplace(named)
            for symbol, rate in rates.items()
        }
        relations = [holonomic(c.expression.xreplace(named), name=c.name) for c in self.constraints]
        steady = not self.hamiltonian.has(t)
        return Flow(
            changed,
            inputs=[Input(f"u_{name}") for name in self.gauge],
            integrals={"energy": self.hamiltonian.xreplace(named)} if steady else {},
            outputs={
                f"velocity_{key}": value.xreplace(named)
                for key, value in self.multipliers.items()
                if value is not None
            },
            constraints=relations,
            name=self.system.name,
        )

    @property
    def _primary(self) -> list[BergmannConstraint]:
        return [c for c in self.constraints if c.stage == 1]

    # -- words -------------------------------------------------------------------------------------

    def lines(self) -> list[tuple[str, str]]:
        """The result as pairs of a label and a sentence."""
        found = [("H_c", str(self.hamiltonian))]
        for c in self.constraints:
            word = ", found as a power: irregular" if c.is_irregular else ""
            found.append((f"{c.kind} `{c.name}`", f"{c.expression} = 0{word}"))
        for key, value in self.multipliers.items():
            found.append((f"u_{key}", "arbitrary (gauge)" if value is None else str(value)))
        found += [("first class", str(g)) for g in self.first_class]
        found += [("second class", str(g)) for g in self.second_class]
        found.append(("degrees of freedom", str(self.degrees_of_freedom)))
        if self.gauge:
            found.append(("undetermined without a gauge", ", ".join(self.undetermined)))
        found.append(("rank decisions", str(self.verdict)))
        return [*found, *(("assumed", word) for word in dict.fromkeys(self.surface.assumptions))]

    def text(self) -> str:
        """The result as lines of plain text."""
        is_value = re.compile(r"H_c|u_\w+").fullmatch
        return "\n".join(
            f"{label}{' =' if is_value(label) else ':'} {words}" for label, words in self.lines()
        )

    def to_json(self) -> dict[str, Any]:
        """The result as plain data, in the shape of ``dalembert bergmann --json``."""
        return {
            "hamiltonian": str(self.hamiltonian),
            "constraints": [
                {
                    "name": c.name,
                    "expression": str(c.expression),
                    "stage": c.kind,
                    "irregular": c.is_irregular,
                }
                for c in self.constraints
            ],
            "multipliers": {
                f"u_{key}": None if value is None else str(value)
                for key, value in self.multipliers.items()
            },
            "first_class": [str(g) for g in self.first_class],
            "second_class": [str(g) for g in self.second_class],
            "degrees_of_freedom": float(self.degrees_of_freedom),
            "gauge": [f"u_{name}" for name in self.gauge],
            "undetermined": list(self.undetermined),
            "ranks": self.verdict.status,
            "assumed": list(dict.fromkeys(self.surface.assumptions)),
        }

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        count = f"{len(self.first_class)} first class, {len(self.second_class)} second class"
        gauge = f", {len(self.gauge)} arbitrary functions" if self.gauge else ""
        return f"<DegenerateSystem of {self.system.name}: {count}{gauge}>"


def _all_multipliers(found: DegenerateSystem) -> dict[str, sympy.Expr]:
    """Every multiplier; the arbitrary ones as inputs."""
    return {
        key: Input(f"u_{key}") if value is None else value
        for key, value in found.multipliers.items()
    }


def poisson_bracket(system: System, f: sympy.Expr, g: sympy.Expr) -> Any:
    """{f, g} = f_q g_p - f_p g_q."""
    pairs = zip(system.coordinates, system.momenta, strict=True)
    return sum(
        (
            sympy.diff(f, q) * sympy.diff(g, p) - sympy.diff(f, p) * sympy.diff(g, q)
            for q, p in pairs
        ),
        ZERO,
    )
