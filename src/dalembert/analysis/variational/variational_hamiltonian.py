r"""The Hamiltonian of the constrained variational problem, H_1(q, pi, t) (Rumyantsev 5).

With momenta pi = p + lambda f_v and velocities v_D = phi(q, v_I, t) of the constraints f = 0,

    P_s = pi_s + pi_a dphi_a/dv_s = dL*/dv_s,        L*(q, v_I, t) = L(q, v_I, phi, t)         (5.6)
    H_1 = H* + pi_a (phi_a - dphi_a/dv_s v_s),       H* = P_s v_s - L*                   (5.5)-(5.7)

that is, H_1 is the stationary value of pi . v - L among the velocities that the constraints allow.
Two kinds of systems have it in closed form:

    pi . v - L quadratic in v_I       constraints affine in the velocities, or none
    the same with one radical         w = sqrt(v_I^T N v_I), linear in phi, with N proportional to
                                      the mass matrix of L* where it acts (Appell)

In the second kind phi is homogeneous of degree one in the radical's velocities, so that P_s depends
on their direction only, and with K = rho N the direction is that of N^-1 Pi: the length w remains,
rho w = sigma + R with R^2 = Pi^T N^-1 Pi.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from math import prod

import sympy
from sympy.core.relational import Relational

from ...algebra.simplify.simplifier import expansion_size, simplify
from ...algebra.tree import TreeAlgebra
from ...errors import FormError
from ...formulations.independent_velocities import Reduction, Split, choose_split
from ...model.constraints import velocity
from ...model.symbols import Coordinate, Parameter
from ...model.system import System
from ..proofs.bounded import differs_nowhere, fresh

__all__ = ["VariationalHamiltonian", "variational_hamiltonian"]

#: The most operations of a Lagrangian with constraints, and terms of a block's determinant.
MOST_OPERATIONS, DETERMINANT_TERMS = 2500, 600
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


@dataclass(frozen=True)
class _Stationary:
    """The stationary point of pi . v - L on the constraints."""

    value: sympy.Expr
    symbols: Mapping[sympy.Expr, sympy.Expr]
    branch: tuple[Relational, ...]


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
    candidates = 0
    for constraint, v in product(bent if len(bent) == 1 else [], system.velocities):
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
    found = _without_radical(function, symbols) or _with_radical(function, symbols)
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


# -- quadratic in the independent velocities -------------------------------------------------------


def _without_radical(function: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> _Stationary | None:
    """The stationary point of a function quadratic in its symbols; the Hessian may contain pi."""
    pieces = _quadratic(function, symbols)
    if pieces is None:
        return None
    constant, derivative, metric = pieces
    blocks = _inverses(metric)
    values = _applied(blocks, derivative)
    terms = [simplify(part) for part in sympy.Add.make_args(constant)]
    terms += [_energy(block, derivative) for block in blocks]
    table = dict(zip(symbols, values, strict=True))
    return _Stationary(sympy.Add(*terms), table, _regularity(blocks))


def _quadratic(
    function: sympy.Expr, symbols: Sequence[sympy.Symbol]
) -> tuple[sympy.Expr, list[sympy.Expr], sympy.Matrix] | None:
    """c, s and K of function = c + s . v - v^T K v / 2; None where it is not of this form."""
    derivatives = [sympy.diff(function, symbol) for symbol in symbols]
    seconds = [
        [simplify(-sympy.diff(entry, symbol)) for symbol in symbols[k:]]
        for k, entry in enumerate(derivatives)
    ]
    n = len(symbols)
    metric = sympy.Matrix(n, n, lambda i, j: seconds[min(i, j)][abs(i - j)])
    if symbols and metric.has(*symbols):
        return None
    nowhere = dict.fromkeys(symbols, ZERO)
    constant = function.xreplace(nowhere)
    derivative = [simplify(entry.xreplace(nowhere)) for entry in derivatives]
    if any(part.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo) for part in (constant, *derivative)):
        return None
    return constant, derivative, metric


@dataclass(frozen=True)
class _Inverse:
    """The inverse adjugate / determinant of one connected block of K."""

    places: Sequence[int]
    adjugate: sympy.MatrixBase
    determinant: sympy.Expr


def _inverses(metric: sympy.MatrixBase) -> list[_Inverse]:
    """K^-1 by connected blocks of K.

    Raises
    ------
    FormError
        Where K is singular: the Lagrangian on the constraints does not determine its velocities.
    """
    found = []
    for block in _blocks(metric):
        part = metric.extract(block, block)
        if len(block) > 1 and _determinant_terms(part) > DETERMINANT_TERMS:
            size = sum(entry.count_ops() for entry in part)
            what = "The mass matrix on the constraints is too large to be inverted in symbols"
            seen = f"{len(block)} x {len(block)} with {size} operations"
            raise FormError(what, seen, remedy='use the form "vakonomic"')
        determinant = simplify(part.det(method="berkowitz"))
        if not differs_nowhere([(determinant, ZERO)]).is_refuted:
            what = "The mass matrix of the Lagrangian on the constraints may be singular"
            remedy = "add the missing inertia or a constraint"
            raise FormError(what, f"det = {determinant}", remedy)
        found.append(_Inverse(block, part.adjugate(), determinant))
    return found


def _regularity(blocks: Sequence[_Inverse]) -> tuple[Relational, ...]:
    """det K != 0, where it is not a matter of course."""

    def moves(determinant: sympy.Expr) -> bool:
        return any(symbol.name.startswith("pi_") for symbol in determinant.atoms(sympy.Symbol))

    return tuple(sympy.Ne(block.determinant, 0) for block in blocks if moves(block.determinant))


def _applied(blocks: Sequence[_Inverse], right: Sequence[sympy.Expr]) -> list[sympy.Expr]:
    """K^-1 right."""
    values: list[sympy.Expr] = [ZERO] * len(right)
    for block in blocks:
        above = block.adjugate * sympy.Matrix([right[k] for k in block.places])
        for k, entry in zip(block.places, above, strict=True):
            values[k] = (simplify(entry) if len(block.places) > 1 else entry) / block.determinant
    return values


def _energy(block: _Inverse, right: Sequence[sympy.Expr]) -> sympy.Expr:
    """s^T K^-1 s / 2 of one block, simplified as a form in the sums P that `right` consists of."""
    sums = [right[k] for k in block.places]
    symbols = list(sums)
    for k, own in enumerate(sums):
        whole = own.is_Add and not any(power.exp.is_negative for power in own.atoms(sympy.Pow))
        if whole and len(sums) > 1:
            symbols[k] = sympy.Dummy(f"P{k}", real=True)
    vector = sympy.Matrix(symbols)
    form = simplify((vector.T * block.adjugate * vector)[0] / (2 * block.determinant))
    return form.xreplace(dict(zip(symbols, sums, strict=True)))


def _determinant_terms(matrix: sympy.MatrixBase) -> float:
    """About how many terms a determinant has; one of two rows is always written out."""
    if matrix.rows > 5:
        return float("inf")
    if matrix.rows == 2:
        return float(sum(entry.count_ops() for entry in matrix))
    rows = matrix.tolist()
    sizes = [[0.0 if entry == 0 else expansion_size(entry) for entry in row] for row in rows]
    orders = permutations(range(matrix.rows))
    return float(sum(prod(sizes[k][place] for k, place in enumerate(order)) for order in orders))


def _blocks(matrix: sympy.MatrixBase) -> list[list[int]]:
    """Places that the entries of a symmetric matrix connect."""
    left, found = set(range(matrix.rows)), []
    while left:
        group, pending = set(), [min(left)]
        while pending:
            k = pending.pop()
            if k not in group:
                group.add(k)
                pending += [j for j in left if matrix[k, j] != 0 or matrix[j, k] != 0]
        left -= group
        found.append(sorted(group))
    return found


# -- with one radical ------------------------------------------------------------------------------


def _with_radical(function: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> _Stationary | None:
    """The stationary point with a radical w = sqrt(v^T N v), N a multiple of the masses."""
    w = sympy.Dummy("w", positive=True)
    opened = _open_radical(function, symbols, w)
    if opened is None:
        return None
    inside, plain, nodes = opened
    form = _quadratic(-inside, symbols)
    pieces = _quadratic(plain, (*symbols, w))
    if form is None or pieces is None or form[0] != 0 or any(entry != 0 for entry in form[1]):
        return None
    n, norm = len(symbols), form[2] / 2
    constant, derivative, extended = pieces
    if any(extended[k, n] != 0 for k in range(n)):
        return None
    metric = (extended[:n, :n] + extended[n, n] * norm).applyfunc(simplify)
    acting = [k for k in range(n) if any(norm[k, j] != 0 for j in range(n))]
    others = [k for k in range(n) if k not in acting]
    factor = _proportion(metric, norm, acting, others)
    if factor is None:
        return None
    push, pull = [derivative[k] for k in acting], derivative[n]
    raised = _applied(_inverses(norm.extract(acting, acting)), push)
    length = sympy.sqrt(simplify(sum((a * b for a, b in zip(push, raised, strict=True)), ZERO)))
    rest = _applied(_inverses(metric.extract(others, others)), [derivative[k] for k in others])
    speed = (pull + length) / factor
    values = [ZERO] * n
    for k, value in zip(acting, raised, strict=True):
        values[k] = speed * value / length
    for k, value in zip(others, rest, strict=True):
        values[k] = value
    remainder = constant + sum((derivative[k] * values[k] for k in others), ZERO) / 2
    value = (length + pull) ** 2 / (2 * factor) + simplify(remainder)
    table = dict(zip(symbols, values, strict=True))
    table |= {node: power.xreplace({w: speed}) for node, power in nodes.items()}
    return _Stationary(value, table, (sympy.Gt(factor * sympy.sqrt(inside), pull),))


def _open_radical(
    function: sympy.Expr, symbols: Sequence[sympy.Symbol], w: sympy.Symbol
) -> tuple[sympy.Expr, sympy.Expr, dict[sympy.Expr, sympy.Expr]] | None:
    """The radicand of the one radical, the function with w in its place, and what w replaced."""
    powers = (node for node in function.atoms(sympy.Pow) if node.has(*symbols))
    roots = {node for node in powers if node.exp.is_Rational and node.exp.q == 2}
    lengths = {node for node in function.atoms(sympy.Abs) if node.has(*symbols)}
    insides = {node.base for node in roots} | {node.args[0] ** 2 for node in lengths}
    if len(insides) != 1:
        return None
    inside = insides.pop()
    table = {node: w ** (2 * node.exp) for node in roots} | dict.fromkeys(lengths, w)
    return inside, sympy.expand(function.xreplace(table)), table


def _proportion(
    metric: sympy.MatrixBase, norm: sympy.MatrixBase, acting: Sequence[int], others: Sequence[int]
) -> sympy.Expr | None:
    """rho with K = rho N where N acts, and K decoupled from the rest; None where there is none."""
    if any(metric[i, j] != 0 for i in acting for j in others):
        return None
    pairs = list(product(acting, repeat=2))
    first = next(pair for pair in pairs if norm[pair] != 0)
    crossed = [(metric[pair] * norm[first], metric[first] * norm[pair]) for pair in pairs]
    if not differs_nowhere(crossed).holds:
        return None
    return sympy.factor_terms(simplify(metric[first] / norm[first]))
