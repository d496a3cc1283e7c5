r"""The Hamiltonian of the constrained variational problem, H_1(q, pi, t) (Rumyantsev 5).

With momenta pi = p + lambda f_v and velocities v_D = phi(q, v_I, t) of the constraints f = 0,

    P_s = pi_s + pi_a dphi_a/dv_s = dL*/dv_s,        L*(q, v_I, t) = L(q, v_I, phi, t)         (5.6)
    H_1 = H* + pi_a (phi_a - dphi_a/dv_s v_s),       H* = P_s v_s - L*                   (5.5)-(5.7)

that is, H_1 is the stationary value of pi . v - L among the velocities that the constraints allow.
Three kinds of systems have it in closed form:

    pi . v - L quadratic in v_I       constraints affine in the velocities, or none
    the same with one radical         w = sqrt(v_I^T N v_I), linear in phi, with N proportional to
                                      the mass matrix of L* where it acts (Appell)
    a given speed                     w = sqrt(c - v_I^T N v_I): pi . v - L is Pi . v + sigma w
                                      and a constant: sqrt(c) R with R^2 = Pi^T N^-1 Pi + sigma^2

In the second kind phi is homogeneous of degree one in the radical's velocities, so that P_s depends
on their direction only, and with K = rho N the direction is that of N^-1 Pi: the length w remains,
rho w = sigma + R with R^2 = Pi^T N^-1 Pi.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import sympy
from sympy.core.relational import Relational

from ...algebra.simplify.simplifier import simplify
from ...algebra.tree import TreeAlgebra
from ...errors import FormError
from ...formulations.independent_velocities import Reduction, Split, choose_split
from ...model.constraints import velocity
from ...model.symbols import Coordinate, Parameter
from ...model.system import System
from ..proofs.bounded import fresh
from .stationary_velocities import with_radical, without_radical

__all__ = ["VariationalHamiltonian", "variational_hamiltonian"]

#: The most operations of a Lagrangian with constraints.
MOST_OPERATIONS = 2500
ZERO = sympy.S.Zero


@dataclass(frozen=True, eq=False)
class VariationalHamiltonian:
    """H_1 and what goes with it; n coordinates.

    Velocities and multipliers are simplified when they are first read.

    Attributes
    ----------
    system : System
    split : Split
        Independent and dependent velocities of the constraints.
    momenta : tuple of symbols (n,)
        pi, by coordinate.
    hamiltonian : sympy.Expr
        H_1(q, pi, t).
    rates : mapping of coordinate to expression
        q_dot(q, pi, t) = dH_1/dpi, not simplified.
    solved : mapping of coordinate to expression
        The velocities v(q, v_I, t) that the constraints allow, by the independent ones.
    at_velocity : mapping of dependent coordinate to expression
        The momenta p_a(q, q_dot, t) of the dependent velocities.
    branch : tuple of relations
        Where the formulas hold, in velocities and momenta; empty where they hold everywhere.
    """

    system: System
    split: Split
    momenta: tuple[sympy.Symbol, ...]
    hamiltonian: sympy.Expr
    rates: Mapping[Coordinate, sympy.Expr]
    solved: Mapping[Coordinate, sympy.Expr]
    at_velocity: Mapping[Coordinate, sympy.Expr]
    branch: tuple[Relational, ...]

    @cached_property
    def velocities(self) -> Mapping[Coordinate, sympy.Expr]:
        """q_dot(q, pi, t) = dH_1/dpi, by coordinate."""
        return {q: simplify(rate) for q, rate in self.rates.items()}

    @cached_property
    def multipliers(self) -> Mapping[Coordinate, sympy.Expr]:
        """lambda = pi_a - p_a (q, pi, t) of each constraint solved as f_a = v_a - phi_a."""
        at = {q.dot: value for q, value in self.velocities.items()}
        by_coordinate = dict(zip(self.system.coordinates, self.momenta, strict=True))
        rows = self.at_velocity.items()
        return {q: simplify(by_coordinate[q] - p.xreplace(at)) for q, p in rows}


def variational_hamiltonian(system: System) -> VariationalHamiltonian:
    """H_1 of a system without applied forces.

    A constraint that is affine in no velocity is solved for one that occurs up to its square; the
    result holds on the branch of that root, which is among its `branch` relations.

    Raises
    ------
    FormError
        Where a hypothesis fails: forces outside the Lagrangian, or no closed form of velocities.
    """
    _check(system)
    fault: FormError | None = None
    for candidate, branch in _on_branches(system):
        try:
            found = _of_solvable(candidate)
        except FormError as error:
            fault = error
            continue
        return replace(found, branch=(*branch, *found.branch))
    assert fault is not None
    raise fault


def _on_branches(system: System) -> Iterator[tuple[System, tuple[Relational, ...]]]:
    """The system itself, or with its constraint solved for a velocity that occurs squared."""
    try:
        choose_split(system)
    except FormError:
        pass
    else:
        yield system, ()
        return
    velocities = set(system.velocities)
    bent = [c for c in system.bilateral if not c.is_position_level and not c.is_momentum_level]
    bent = [c for c in bent if not _is_affine(c.expression, velocities)]
    if len(bent) > 1:
        raise FormError(
            "H_1 is written under one constraint that is affine in no velocity, not under several",
            seen=", ".join(f"{c.expression} = 0" for c in bent),
            remedy='use the form "vakonomic", whose motion is the same',
        )
    candidates = 0
    for constraint, v in product(bent, system.velocities):
        squares = constraint.expression.as_poly(v)
        if squares is None or squares.degree() != 2:
            continue
        a, b, c = squares.all_coeffs()
        if a.free_symbols & velocities:
            continue
        root = sympy.sqrt(simplify(b**2 - 4 * a * c))
        solved = velocity(v - simplify((root - b) / (2 * a)), name=constraint.name)
        others = [solved if each is constraint else each for each in system.constraints]
        branch = sympy.Gt(sympy.diff(constraint.expression, v), 0)
        candidates += 1
        yield system.replacing(constraints=others), (branch,)
    if bent and not candidates:
        raise FormError(
            "H_1 is written for a constraint that is of degree two in a velocity, or affine in one",
            seen=f"{bent[0].expression} = 0",
            remedy='use the form "vakonomic", whose motion is the same',
        )
    if not candidates:
        yield system, ()


def _is_affine(expression: sympy.Expr, velocities: set[sympy.Symbol]) -> bool:
    derivatives = (sympy.diff(expression, v) for v in velocities)
    return not any(simplify(entry).free_symbols & velocities for entry in derivatives)


def _of_solvable(system: System) -> VariationalHamiltonian:
    """The same for constraints that are affine in a set of dependent velocities."""
    taken = {symbol.name for symbol in (*system.parameters, *system.coordinates, *system.inputs)}
    momenta = tuple(Parameter(fresh(f"pi_{q.name}", taken)) for q in system.coordinates)
    split = choose_split(system)
    if system.hamiltonian is not None and not system.bilateral:
        hamiltonian = system.hamiltonian.xreplace(dict(zip(system.momenta, momenta, strict=True)))
        pairs = zip(system.coordinates, momenta, strict=True)
        rates = {q: sympy.diff(hamiltonian, pi) for q, pi in pairs}
        free = {q: q.dot for q in system.coordinates}
        return VariationalHamiltonian(system, split, momenta, hamiltonian, rates, free, {}, ())
    reduction = Reduction(system, TreeAlgebra(), split)
    symbols = tuple(reduction.independent)
    constrained = reduction.here(sympy.Matrix([reduction.lagrangian]))[0]
    products = (pi * v for pi, v in zip(momenta, reduction.velocities, strict=True))
    function = sum(products, ZERO) - constrained
    found = without_radical(function, symbols) or with_radical(function, symbols)
    if found is None:
        raise FormError(
            "The velocities do not follow from the variational momenta in closed form",
            seen="pi . v - L on the constraints is neither quadratic in the independent velocities,"
            " nor that with one radical sqrt(v^T N v) whose N is proportional to the mass matrix",
            remedy='use the form "vakonomic", whose motion is the same',
        )
    velocities = [v.xreplace(found.symbols) for v in reduction.velocities]
    rates = dict(zip(system.coordinates, velocities, strict=True))
    return VariationalHamiltonian(
        system=system,
        split=split,
        momenta=momenta,
        hamiltonian=found.value,
        rates=rates,
        solved=dict(zip(system.coordinates, reduction.velocities, strict=True)),
        at_velocity={
            system.coordinates[k]: reduction.momenta_at_velocity[k] for k in split.dependent
        },
        branch=found.branch,
    )


def _check(system: System) -> None:
    """Raise FormError for what the Hamilton-Jacobi method cannot hold."""
    if system.image is not None:
        what = f"The image constraint `{system.image.name}` gives velocities, not rows"
        remedy = "state the constraints as velocity(...) for the Hamilton-Jacobi method"
        raise FormError(what, remedy=remedy)
    if system.unilateral:
        what = "The Hamilton-Jacobi method knows no impacts"
        remedy = "ask for system.touching(()), the motion between impacts"
        raise FormError(what, ", ".join(c.name for c in system.unilateral), remedy)
    pushed = [f"a force on {q}" for q in system.forces]
    pushed += ["dissipation"] * (system.dissipation != 0)
    pushed += [f"the work of constraint `{c.name}`" for c in system.bilateral if not c.is_ideal]
    if pushed:
        what = "The Hamilton-Jacobi method needs forces that stand in the Lagrangian"
        remedy = "put forces with a potential into the Lagrangian; helmholtz(...) finds others"
        raise FormError(what, ", ".join(pushed), remedy)
    stated = (system.energy_function, *(c.expression for c in system.bilateral))
    size = sum(expression.count_ops() for expression in stated)
    if size > MOST_OPERATIONS:
        seen, remedy = f"{size} operations, at most {MOST_OPERATIONS}", 'use the form "vakonomic"'
        raise FormError("The system is too large to be written out", seen, remedy)
