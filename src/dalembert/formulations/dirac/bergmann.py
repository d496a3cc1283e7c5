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

import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.verdicts import conjunction
from ...errors import ModelError
from ...geometry.surfaces import Elimination, Surface, eliminate
from ...model.symbols import Input, as_expression, t
from ...model.system import System
from ...typing import Expression
from .degenerate_system import BergmannConstraint, DegenerateSystem, poisson_bracket
from .legendre_map import LegendreMap, legendre_map, with_multipliers

__all__ = ["bergmann", "with_conditions"]

ZERO = sympy.Integer(0)
#: No constraint follows from another one over more steps than this.
MOST_STAGES = 12


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


def with_conditions(
    found: DegenerateSystem, conditions: Sequence[BergmannConstraint]
) -> DegenerateSystem:
    """The same system with further conditions, which must stay as its constraints do."""
    primary = {c.name: c.expression for c in found.constraints if c.stage == 1}
    start = LegendreMap(found.hamiltonian, primary, found.verdict)
    keys = dict(zip(primary, found.multipliers, strict=True))
    return _run(found.system, start, [*found.constraints, *conditions], keys)


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
        [poisson_bracket(system, c.expression, phi) for phi in start.primary.values()]
        for c in constraints
    ]
    right = [
        [-poisson_bracket(system, c.expression, start.hamiltonian) - sympy.diff(c.expression, t)]
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
    brackets = [[poisson_bracket(system, a, b) for b in own] for a in own]
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
