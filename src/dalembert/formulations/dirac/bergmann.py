r"""The Dirac-Bergmann algorithm: Hamiltonian dynamics of degenerate Lagrangians.

The Legendre map leaves primary constraints phi_a(q, p) = 0, and the total Hamiltonian

    H_T = H_c + u_a phi_a

has multipliers u_a, the velocities that the momenta do not determine. Every constraint must stay:

    {phi_A, H_c} + d phi_A / dt + {phi_A, phi_a} u_a = 0     on the constraint surface.

Combinations of these without u are further constraints, secondary and so on, until none is new; the
rest determines some of the u. The multipliers that are left are arbitrary functions of time: the
gauge freedom. A constraint is of the first class where its brackets with all others vanish on the
surface, and of the second class otherwise; with the second ones chi and C = {chi, chi} the Dirac
bracket is {f, g} - {f, chi} C^-1 {chi, g}. There are (2 n - 2 F - S) / 2 degrees of freedom.

P. A. M. Dirac, Canadian Journal of Mathematics 2 (1950) 129; M. Henneaux and C. Teitelboim,
Quantization of Gauge Systems, chapter 1. Dirac's conjecture, that every first-class constraint
generates a gauge transformation, is not used: Cawley's Lagrangian x_dot z_dot + y z^2 / 2 is a
counterexample, with constraints whose gradients vanish on their surface, which is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.verdicts import Verdict, conjunction
from ...errors import ModelError
from ...geometry.surfaces import Elimination, Surface, eliminate
from ...model.constraints import holonomic
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Input, as_expression, t
from ...model.system import System
from ...typing import Expression
from .legendre_map import LegendreMap, legendre_map, with_multipliers

__all__ = ["BergmannConstraint", "DegenerateSystem", "bergmann"]

ZERO = sympy.Integer(0)
#: No constraint follows from another one over more steps than this.
MOST_STAGES = 12
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
    >>> found = bergmann(da.System([x, y], lagrangian=(x.dot - y) ** 2 / 2))
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
    >>> found = bergmann(da.System([x, y], lagrangian=x.dot * y - y**2 / 2))
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
        return _bracket(self.system, as_expression(f), as_expression(g))

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
        given = [
            BergmannConstraint(f"gauge_{k + 1}", as_expression(e), 0)
            for k, e in enumerate(conditions)
        ]
        primary = {c.name: c.expression for c in self.constraints if c.stage == 1}
        start = LegendreMap(self.hamiltonian, primary, self.verdict)
        keys = dict(zip(primary, self.multipliers, strict=True))
        found = _run(self.system, start, [*self.constraints, *given], keys)
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

    def text(self) -> str:
        """The result as lines of plain text."""
        lines = [f"H_c = {self.hamiltonian}"]
        for c in self.constraints:
            word = ", found as a power: irregular" if c.is_irregular else ""
            lines.append(f"{c.kind} `{c.name}`: {c.expression} = 0{word}")
        for key, value in self.multipliers.items():
            shown = "arbitrary (gauge)" if value is None else value
            lines.append(f"u_{key} = {shown}")
        lines += [f"first class: {g}" for g in self.first_class]
        lines += [f"second class: {g}" for g in self.second_class]
        lines.append(f"degrees of freedom: {self.degrees_of_freedom}")
        lines += [f"undetermined without a gauge: {', '.join(self.undetermined)}"] * bool(
            self.gauge
        )
        lines.append(f"rank decisions: {self.verdict}")
        lines += [f"assumed: {word}" for word in self.surface.assumptions]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        count = f"{len(self.first_class)} first class, {len(self.second_class)} second class"
        gauge = f", {len(self.gauge)} arbitrary functions" if self.gauge else ""
        return f"<DegenerateSystem of {self.system.name}: {count}{gauge}>"


def bergmann(
    system: System,
    *,
    primary: Sequence[Expression] = (),
    nonzero: Sequence[Expression] = (),
) -> DegenerateSystem:
    """The constraints, gauge freedom and dynamics of a degenerate Lagrangian.

    Parameters
    ----------
    system : System
        Stated by a Lagrangian, or by a Hamiltonian with `primary` constraints. Holonomic
        constraints become terms with multipliers ``lambda_<name>``.
    primary : sequence of expressions
        The primary constraints where the momenta cannot be solved for velocities in closed form,
        as for the relativistic particle. They are checked against p = L_v.
    nonzero : sequence of expressions
        Factors that are not zero, where a constraint is a product and the motion may take either
        branch.

    Raises
    ------
    ModelError
        Where constraints contradict each other, or a product leaves two branches.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> found = bergmann(da.System([x, y], lagrangian=(x.dot - y) ** 2 / 2))
    >>> print(found)
    H_c = p_x*(p_x + 2*y)/2
    primary `phi_y`: p_y = 0
    secondary `phi_y_2`: p_x = 0
    u_y = arbitrary (gauge)
    first class: p_y
    first class: p_x
    degrees of freedom: 0
    undetermined without a gauge: y
    rank decisions: proved
    """
    stated = with_multipliers(system)
    found = legendre_map(stated, [as_expression(e) for e in primary])
    keys = {f"phi_{name}": name for name in found.primary}
    start = LegendreMap(
        found.hamiltonian,
        {f"phi_{name}": value for name, value in found.primary.items()},
        found.verdict,
    )
    given = [BergmannConstraint(name, phi, 1) for name, phi in start.primary.items()]
    return _run(stated, start, given, keys, [as_expression(e) for e in nonzero])


def _run(
    system: System,
    start: LegendreMap,
    given: Sequence[BergmannConstraint],
    keys: Mapping[str, str],
    nonzero: Sequence[sympy.Expr] = (),
) -> DegenerateSystem:
    """The constraints that follow from given ones, and the multipliers."""
    constraints = list(given)
    for _ in range(MOST_STAGES):
        surface = Surface((*reversed(system.momenta), *reversed(system.coordinates)))
        for c in constraints:
            surface = surface.with_relation(c.expression)
        solved = _consistency(system, start, constraints, surface)
        new = _new_constraints(constraints, solved, surface, nonzero)
        if not new:
            return _finished(system, start, constraints, surface, solved, keys)
        constraints += new
    raise ModelError(
        "The constraint algorithm does not end",
        seen=f"{len(constraints)} constraints after {MOST_STAGES} steps",
        remedy="simplify the Lagrangian, or state further constraints",
    )


def _consistency(
    system: System,
    start: LegendreMap,
    constraints: Sequence[BergmannConstraint],
    surface: Surface,
) -> Elimination:
    """Solve {phi_A, phi_a} u_a = - {phi_A, H_c} - d phi_A / dt on the surface."""
    matrix = [
        [_bracket(system, c.expression, phi) for phi in start.primary.values()] for c in constraints
    ]
    right = [
        [-_bracket(system, c.expression, start.hamiltonian) - sympy.diff(c.expression, t)]
        for c in constraints
    ]
    return eliminate(surface, matrix, right)


def _new_constraints(
    constraints: Sequence[BergmannConstraint],
    solved: Elimination,
    surface: Surface,
    nonzero: Sequence[sympy.Expr],
) -> list[BergmannConstraint]:
    """One of the conditions that the multipliers cannot meet, where it does not hold already."""
    moving = set(surface.symbols)
    taken = {c.name for c in constraints}
    for row, (condition,) in solved.conditions.items():
        if surface.vanish(condition).holds:
            continue
        parent = constraints[row]
        numerator, _ = sympy.fraction(sympy.together(surface.reduced(condition)))
        if not numerator.free_symbols & moving:
            raise ModelError(
                "The constraints contradict each other: there is no motion",
                seen=f"{numerator} = 0 follows from `{parent.name}`",
                remedy="check the Lagrangian, or the gauge conditions",
            )
        factor, power = _factor(numerator, moving, nonzero)
        base = parent.name.rsplit("_", 1)[0] if parent.stage > 1 else parent.name
        stage, number = parent.stage + 1, parent.stage + 1
        name = f"{base}_{number}"
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        return [BergmannConstraint(name, factor, stage if parent.stage else 2, power > 1)]
    return []


def _factor(
    numerator: sympy.Expr, moving: set[sympy.Symbol], nonzero: Sequence[sympy.Expr]
) -> tuple[sympy.Expr, int]:
    """The factor of an expression that must vanish, and its power."""
    _, factors = sympy.factor_list(numerator)
    known = [simplify(e) for e in nonzero]
    left = [
        (factor, int(power))
        for factor, power in factors
        if factor.free_symbols & moving
        and not factor.is_nonzero
        and not any(simplify(factor / e).is_number for e in known)
    ]
    if len(left) != 1:
        raise ModelError(
            "A constraint is a product: the motion may take either branch"
            if left
            else "A constraint cannot be met: none of its factors may vanish",
            seen=" * ".join(f"({factor})" for factor, _ in left or factors) + " = 0",
            remedy="say which factors are not zero: nonzero=[...]",
        )
    return simplify(left[0][0]), left[0][1]


def _finished(
    system: System,
    start: LegendreMap,
    constraints: Sequence[BergmannConstraint],
    surface: Surface,
    solved: Elimination,
    keys: Mapping[str, str],
) -> DegenerateSystem:
    """Multipliers and classes, once no constraint is new."""
    own = [c.expression for c in constraints]
    brackets = [[_bracket(system, a, b) for b in own] for a in own]
    classes = eliminate(surface, brackets, [[ZERO]] * len(own))
    second = sorted(classes.pivots.values())
    first = [k for k in range(len(own)) if k not in second]
    combined = [own[k] for k in first]
    if second and first:
        block = [[brackets[i][j] for j in second] for i in second]
        weights = eliminate(surface, block, [[brackets[i][k] for k in first] for i in second])
        for column in range(len(first)):
            combined[column] -= sum(
                value[column] * own[second[j]] for j, (value, _) in weights.values.items()
            )
    names = list(start.primary)
    multipliers: dict[str, sympy.Expr | None] = {}
    for j, name in enumerate(names):
        if j in solved.free:
            multipliers[keys[name]] = None
            continue
        (value,), coefficients = solved.values[j]
        free = (c * Input(f"u_{keys[names[k]]}") for k, c in coefficients.items())
        multipliers[keys[name]] = simplify(value - sum(free))
    verdict = conjunction({
        "the Legendre map": start.verdict,
        "multipliers": solved.verdict,
        "classes": classes.verdict,
    })  # fmt: skip
    return DegenerateSystem(
        system=system,
        hamiltonian=start.hamiltonian,
        constraints=tuple(constraints),
        multipliers=multipliers,
        first_class=tuple(simplify(e) for e in combined),
        second_class=tuple(own[k] for k in second),
        verdict=verdict,
        surface=surface,
    )


def _all_multipliers(found: DegenerateSystem) -> dict[str, sympy.Expr]:
    """Every multiplier; the arbitrary ones as inputs."""
    return {
        key: Input(f"u_{key}") if value is None else value
        for key, value in found.multipliers.items()
    }


def _bracket(system: System, f: sympy.Expr, g: sympy.Expr) -> Any:
    pairs = zip(system.coordinates, system.momenta, strict=True)
    return sum(
        (
            sympy.diff(f, q) * sympy.diff(g, p) - sympy.diff(f, p) * sympy.diff(g, q)
            for q, p in pairs
        ),
        ZERO,
    )
