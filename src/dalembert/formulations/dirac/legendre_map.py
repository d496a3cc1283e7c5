r"""The Legendre map of a degenerate Lagrangian: primary constraints and the canonical Hamiltonian.

With W = L_vv of rank r, r momenta p_I = L_v can be solved for velocities v_I; the others do not
depend on the velocities that are left, and give the primary constraints

    phi_J = p_J - psi_J(q, p_I) = 0,     H_c = p_I v_I + psi_J v_J - L        (Dirac 1950)

where H_c does not depend on v_J either. Both independences are decided, not assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.verdicts import Verdict, conjunction
from ...errors import ModelError
from ...geometry.surfaces import Surface, eliminate
from ...geometry.vanishing import vanish
from ...model.symbols import Coordinate, as_expression
from ...model.system import System

__all__ = ["LegendreMap", "legendre_map", "with_multipliers"]


@dataclass(frozen=True)
class LegendreMap:
    """What the Legendre map leaves of a Lagrangian.

    Attributes
    ----------
    hamiltonian : expression of q, p and t
    primary : mapping of coordinate to expression
        phi_J, by the coordinate whose velocity is its multiplier; numbered where they were given.
    verdict : Verdict
    """

    hamiltonian: sympy.Expr
    primary: dict[str, sympy.Expr]
    verdict: Verdict


def with_multipliers(system: System) -> System:
    """A system whose holonomic constraints g are terms lambda g of its Lagrangian."""
    if system.forces or system.dissipation != 0 or system.inputs or system.image or system.bundle:
        raise ModelError(
            "The Dirac-Bergmann algorithm needs a system that its Lagrangian alone describes",
            seen="forces, inputs, an image or a bundle",
            remedy="put their potential into the Lagrangian, or leave them out",
        )
    wrong = [c.name for c in system.constraints if not c.gives_row or not c.is_position_level]
    if wrong:
        raise ModelError(
            "Only holonomic constraints follow from a Lagrangian with multipliers",
            seen=", ".join(wrong),
            remedy="simulate the system itself, or state a Dirac structure (da.dirac.system)",
        )
    if not system.constraints or system.hamiltonian is not None:
        return system
    extra = [Coordinate(f"lambda_{c.name}") for c in system.constraints]
    pairs = zip(extra, system.constraints, strict=True)
    lagrangian = system.lagrangian + sum(symbol * c.expression for symbol, c in pairs)
    return System([*system.coordinates, *extra], lagrangian=lagrangian, name=system.name)


def legendre_map(system: System, primary: Sequence[sympy.Expr] = ()) -> LegendreMap:
    """Primary constraints and canonical Hamiltonian of a system without constraints.

    Parameters
    ----------
    system : System
    primary : sequence of expressions
        The primary constraints, where they are known; they are checked. A Hamiltonian system has
        none of its own.
    """
    if system.hamiltonian is not None:
        given = {f"{k + 1}": as_expression(phi) for k, phi in enumerate(primary)}
        sure = Verdict("proved", "the Hamiltonian was stated", holds_to_rounding=True)
        return LegendreMap(system.hamiltonian, given, sure)
    v, lagrangian = list(system.velocities), system.energy_function
    momenta = [sympy.diff(lagrangian, symbol) for symbol in v]
    hessian = [[simplify(sympy.diff(p, symbol)) for symbol in v] for p in momenta]
    whole = Surface((*system.coordinates, *v))
    found = eliminate(whole, hessian, [[sympy.Integer(0)]] * len(v))
    chosen = sorted(found.pivots.values())
    if primary:
        return _given(system, momenta, primary, len(v) - len(chosen), found.verdict)
    values = _velocities(system, momenta, chosen)
    p = list(system.momenta)
    left = [k for k in range(len(v)) if k not in chosen]
    psi = {k: simplify(momenta[k].xreplace(values)) for k in left}
    moved = sum(
        ((p[k] if k in chosen else psi[k]) * values.get(v[k], v[k]) for k in range(len(v))),
        -lagrangian.xreplace(values),
    )
    idle = [v[k] for k in left]
    parts = [*psi.values(), simplify(moved)]
    free = {f"{k}": _independent(part, idle) for k, part in enumerate(parts)}
    kept = [_at_any(part, idle) for part in parts]
    names = [system.coordinates[k].name for k in left]
    made = {
        name: simplify(p[k] - kept[i]) for i, (k, name) in enumerate(zip(left, names, strict=True))
    }
    verdict = conjunction({"rank of the Hessian": found.verdict, **free})
    return LegendreMap(kept[-1], made, verdict)


def _velocities(
    system: System, momenta: Sequence[sympy.Expr], chosen: Sequence[int]
) -> dict[sympy.Symbol, sympy.Expr]:
    """v_I of p_I = L_v, by a linear solve, or by SymPy where the momenta are not linear."""
    v, p = system.velocities, system.momenta
    wanted = [v[k] for k in chosen]
    if not wanted:
        return {}
    matrix = [[simplify(sympy.diff(momenta[k], symbol)) for symbol in wanted] for k in chosen]
    is_linear = not any(entry.has(symbol) for row in matrix for entry in row for symbol in wanted)
    if is_linear:
        still = dict.fromkeys(wanted, sympy.Integer(0))
        right = [[p[k] - momenta[k].xreplace(still)] for k in chosen]
        solved = eliminate(Surface((*system.coordinates, *v, *p)), matrix, right)
        if not solved.free:
            return {wanted[j]: value[0] for j, (value, _) in solved.values.items()}
    found = []
    if not is_linear:
        equations = [p[k] - momenta[k] for k in chosen]
        try:
            found = sympy.solve(equations, wanted, dict=True)
        except NotImplementedError:
            found = []
    for solution in found:
        gaps = [simplify((p[k] - momenta[k]).xreplace(solution)) for k in chosen]
        if len(solution) == len(wanted) and vanish(gaps).holds:
            return dict(solution)
    raise ModelError(
        "The momenta cannot be solved for velocities in closed form",
        seen=", ".join(f"{p[k].name} = {momenta[k]}" for k in chosen),
        remedy="pass the primary constraints (primary=[...]), as expressions of q and p",
    )


def _independent(expression: sympy.Expr, idle: Sequence[sympy.Symbol]) -> Verdict:
    """Whether an expression does not depend on velocities that stay arbitrary."""
    return vanish([sympy.diff(expression, symbol) for symbol in idle if expression.has(symbol)])


def _at_any(expression: sympy.Expr, idle: Sequence[sympy.Symbol]) -> sympy.Expr:
    """An expression that does not depend on some velocities, without them."""
    for value in (0, 1):
        found = simplify(expression.xreplace({s: sympy.Integer(value) for s in idle}))
        if not found.has(sympy.nan, sympy.zoo, sympy.oo):
            return found
    raise ModelError(
        "The Hamiltonian is not defined at rest", seen=expression, remedy="pass primary="
    )


def _given(
    system: System,
    momenta: Sequence[sympy.Expr],
    primary: Sequence[sympy.Expr],
    missing: int,
    rank: Verdict,
) -> LegendreMap:
    """Primary constraints from outside, for a Lagrangian homogeneous of degree one in v."""
    values = dict(zip(system.momenta, momenta, strict=True))
    if len(primary) != missing:
        raise ModelError(
            "The number of primary constraints does not fit the rank of the Hessian",
            seen=f"{len(primary)}, and {missing} momenta depend on the others",
            remedy=f"give {missing}",
        )
    verdicts = {"rank of the Hessian": rank}
    for phi in primary:
        found = vanish([simplify(as_expression(phi).xreplace(values))])
        verdicts[str(phi)] = found
        if found.is_refuted:
            raise ModelError(
                "A primary constraint does not hold for p = L_v",
                seen=phi,
                remedy="give relations between q and p that p = L_v obeys identically",
            )
    v = system.velocities
    energy = sum(p * w for p, w in zip(momenta, v, strict=True)) - system.lagrangian
    degree = vanish([simplify(energy)])
    if not degree.holds:
        raise ModelError(
            "Given primary constraints need a Lagrangian that is homogeneous of degree one in v",
            seen=f"p . v - L = {simplify(energy)}",
            remedy="state the Hamiltonian: System(hamiltonian=...), with primary=[...]",
        )
    names = {f"{k + 1}": as_expression(phi) for k, phi in enumerate(primary)}
    return LegendreMap(sympy.Integer(0), names, conjunction(verdicts | {"H_c = 0": degree}))
