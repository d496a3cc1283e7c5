r"""Bracket flows on Lie algebras of matrices: adjoint orbits, double brackets, Toda's lattice.

Optimal control on an adjoint orbit, x_dot = [x, u] with the cost 1/2 |u|^2 - V(x) (Bloch and
others, Supplement, section 7.7),

    x_dot = [x, J^-1 [p, x]],       p_dot = [p, J^-1 [p, x]] - V_x,       H = 1/2 <[p, x], J^-1 [p,
    x]> + V(x),

with <a, b> = -tr(a b) / 2, V_x the gradient in that product, and J = 1 unless said otherwise.
Brockett's potential is V = -1/2 |[x, n]|^2 with V_x = [n, [n, x]]. The gradient flows x_dot = [x,
[x, n]] sort and diagonalise. Toda's lattice is

    A_dot = [A, pi_k(A)],     pi_k(A) = A_+ - A_+^T,

which is [A, [A, N]] with N = diag(1, ..., n) where A is tridiagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Protocol

import sympy

from ...errors import ModelError
from ...typing import Array, Expression, Matrix
from ..constraints import holonomic
from ..flow_system import Action, Flow
from ..symbols import Coordinate, as_expression, as_matrix

__all__ = ["double_bracket", "orbit_flow", "skew_symbols", "toda"]

ZERO = sympy.Integer(0)
MOST_ENTRIES = 400


def skew_symbols(name: str, n: int) -> tuple[list[Coordinate], sympy.Matrix]:
    """The symbols name_12, name_13, ... of a skew matrix, and the matrix.

    >>> skew_symbols("M", 2)[1]
    Matrix([
    [    0, M_12],
    [-M_12,    0]])
    """
    matrix, symbols = sympy.zeros(n, n), []
    for i, j in combinations(range(n), 2):
        symbols.append(Coordinate(entry_name(name, i, j, n)))
        matrix[i, j], matrix[j, i] = symbols[-1], -symbols[-1]
    return symbols, matrix


def entry_name(name: str, i: int, j: int, n: int) -> str:
    """The name of an entry: M_12, or M_3_12 where indices have several digits."""
    return f"{name}_{i + 1}{j + 1}" if n < 10 else f"{name}_{i + 1}_{j + 1}"


def bracket(a: sympy.Matrix, b: sympy.Matrix) -> sympy.Matrix:
    """[a, b] = a b - b a, expanded."""
    return (a * b - b * a).applyfunc(sympy.expand)


class HasGenerators(Protocol):
    """A Lie group, or its algebra."""

    @property
    def generators(self) -> Sequence[Matrix] | Matrix: ...


def orbit_flow(
    algebra: int | Sequence[Matrix] | Array | HasGenerators,
    *,
    potential: Callable[[sympy.Matrix], Expression] | None = None,
    brockett: Matrix | None = None,
    inertia: Sequence[Expression] | None = None,
    name: str = "motion on an adjoint orbit",
) -> Flow:
    """Optimal motions x_dot = [x, u] on an adjoint orbit of a compact Lie algebra of matrices.

    Parameters
    ----------
    algebra : int, matrices (d, N, N), or anything with `generators`
        n stands for so(n); otherwise a basis of the algebra by real skew matrices, such as
        ``LieGroup.SU(2)``.
    potential : callable
        V as a function of the matrix x of symbols.
    brockett : matrix (N x N)
        n of Brockett's potential V = -1/2 |[x, n]|^2, an element of the algebra.
    inertia : sequence of d expressions
        The diagonal of J in the basis; ones by default. Where it is not one, [p, x] is not
        conserved, only its spectrum.
    name : str

    Examples
    --------
    >>> import dalembert as da
    >>> flow = orbit_flow(3)
    >>> flow.coordinates
    (x_12, x_13, x_23, p_12, p_13, p_23)
    >>> da.describe(flow).integrals["w_12"] < 1e-10
    True
    """
    basis, labels = _basis(algebra)
    size = basis[0].shape[0]
    symbols = {key: [Coordinate(f"{key}_{label}") for label in labels] for key in ("x", "p")}

    def combined(coefficients: Sequence[sympy.Expr]) -> sympy.Matrix:
        products = (c * e for c, e in zip(coefficients, basis, strict=True))
        return sum(products, sympy.zeros(size, size))

    x, p = combined(symbols["x"]), combined(symbols["p"])
    constants = _structure_constants(basis)
    weights = (
        [sympy.Integer(1)] * len(basis)
        if inertia is None
        else [as_expression(value) for value in inertia]
    )
    if len(weights) != len(basis):
        raise ModelError(
            "The inertia needs one entry for each element of the basis",
            seen=len(weights),
            remedy=f"give {len(basis)}",
        )
    moments = _bracket(symbols["p"], symbols["x"], constants)
    controls = [c / w for c, w in zip(moments, weights, strict=True)]
    stored = _potential(x, potential, brockett, basis)
    force = [
        sympy.diff(stored, symbol) / _inner(e, e)
        for symbol, e in zip(symbols["x"], basis, strict=True)
    ]
    moved = _bracket(symbols["x"], controls, constants)
    driven = [
        rate - f for rate, f in zip(_bracket(symbols["p"], controls, constants), force, strict=True)
    ]
    kinetic = (
        sum((c * u * _inner(e, e) for c, u, e in zip(moments, controls, basis, strict=True)), ZERO)
        / 2
    )
    integrals = {"energy": kinetic + stored} | _traces("x", x)
    if stored == 0:
        integrals |= _traces("w", combined(moments))
        if inertia is None:
            integrals |= {f"w_{label}": c for label, c in zip(labels, moments, strict=True)}
    generator = sympy.ImmutableMatrix(-combined(controls))
    moving = ("x", "p") if stored == 0 else ("x",)
    return Flow(
        dict(zip([*symbols["x"], *symbols["p"]], [*moved, *driven], strict=True)),
        integrals=integrals,
        matrices={"x": x, "p": p},
        actions=[Action(key, generator, generator) for key in moving],
        name=name,
    )


def _basis(algebra: Any) -> tuple[list[sympy.Matrix], list[str]]:
    """A basis of skew matrices that is orthogonal in the trace product, and labels for it."""
    if isinstance(algebra, int) and not isinstance(algebra, bool):
        if not 2 <= algebra <= MOST_ENTRIES:
            raise ModelError("so(n) needs n of at least 2", seen=algebra)
        pairs = list(combinations(range(algebra), 2))
        found = []
        for i, j in pairs:
            matrix = sympy.zeros(algebra, algebra)
            matrix[i, j], matrix[j, i] = 1, -1
            found.append(matrix)
        return found, [entry_name("", i, j, algebra)[1:] for i, j in pairs]
    matrices = getattr(algebra, "generators", algebra)
    try:
        basis = [
            as_matrix([[sympy.nsimplify(float(v), rational=True) for v in row] for row in matrix])
            for matrix in matrices
        ]
    except (TypeError, ValueError):
        raise ModelError(
            "A Lie algebra is given by real matrices, or by n for so(n)",
            seen=type(algebra).__name__,
        ) from None
    if not basis or any(matrix + matrix.T != sympy.zeros(*matrix.shape) for matrix in basis):
        raise ModelError(
            "A compact Lie algebra needs a basis of skew matrices",
            seen=f"{len(basis)} matrices, not all skew",
            remedy="write complex ones as real ones of twice the size, as LieGroup.SU does",
        )
    if any(_inner(a, b) != 0 for a, b in combinations(basis, 2)):
        raise ModelError("The basis must be orthogonal in tr(a b)", remedy="orthogonalise it")
    return basis, [str(k) for k in range(1, len(basis) + 1)]


def _structure_constants(basis: Sequence[sympy.Matrix]) -> list[tuple[int, int, int, sympy.Expr]]:
    """(a, b, c, C) with [e_a, e_b] = C e_c + ..., those that are not zero."""
    found = []
    for (a, left), (b, right) in combinations(enumerate(basis), 2):
        product = left * right - right * left
        rest = product
        for c, e in enumerate(basis):
            constant = _inner(product, e) / _inner(e, e)
            if constant != 0:
                found += [(a, b, c, constant), (b, a, c, -constant)]
                rest = rest - constant * e
        if rest != sympy.zeros(*rest.shape):
            raise ModelError(
                "The matrices are no basis of a Lie algebra",
                seen=f"the bracket of matrices {a + 1} and {b + 1} is no combination of them",
                remedy="add the brackets to the basis",
            )
    return found


def _bracket(
    left: Sequence[Any], right: Sequence[Any], constants: Sequence[tuple[int, int, int, Any]]
) -> list[sympy.Expr]:
    """The components of [left, right] from those of both."""
    terms: list[list[sympy.Expr]] = [[] for _ in left]
    for a, b, c, constant in constants:
        terms[c].append(constant * left[a] * right[b])
    return [sympy.Add(*parts) for parts in terms]


def _inner(a: sympy.Matrix, b: sympy.Matrix) -> sympy.Expr:
    """<a, b> = -tr(a b) / 2 of skew matrices."""
    return sum((u * v for u, v in zip(a, b, strict=True) if u != 0 and v != 0), ZERO) / 2


def _components(matrix: sympy.Matrix, basis: Sequence[sympy.Matrix]) -> list[sympy.Expr]:
    return [sympy.expand(_inner(matrix, e) / _inner(e, e)) for e in basis]


def _potential(
    x: sympy.Matrix,
    potential: Callable[[sympy.Matrix], Expression] | None,
    brockett: Matrix | None,
    basis: Sequence[sympy.Matrix],
) -> sympy.Expr:
    """V(x), zero where none was given."""
    if potential is not None and brockett is not None:
        raise ModelError("Give a potential or Brockett's matrix, not both")
    if brockett is not None:
        n = as_matrix(brockett)
        inside = sum(
            (c * e for c, e in zip(_components(n, basis), basis, strict=True)),
            sympy.zeros(*n.shape),
        )
        if n.shape != x.shape or (n - inside).applyfunc(sympy.nsimplify) != sympy.zeros(*n.shape):
            raise ModelError(
                "Brockett's matrix must be an element of the Lie algebra", seen=str(n.shape)
            )
        along = bracket(x, n)
        return -sympy.expand(_inner(along, along)) / 2
    return ZERO if potential is None else as_expression(potential(x))


def _traces(name: str, matrix: sympy.Matrix) -> dict[str, sympy.Expr]:
    """tr X^2 / 2 and tr X^4 / 4 of a skew matrix, which only depend on the spectrum."""
    square = matrix * matrix
    return {
        f"{name}_trace_2": square.trace() / 2,
        f"{name}_trace_4": sympy.Add(*(entry**2 for entry in square)) / 4,
    }


def double_bracket(
    n: int, target: Sequence[Expression] | None = None, *, name: str = "double bracket flow"
) -> Flow:
    """The gradient flow X_dot = [X, [X, N]] on symmetric n x n matrices, which sorts X.

    Parameters
    ----------
    target : sequence of n expressions
        The diagonal of N; 1, ..., n by default. X tends to the diagonal matrix whose eigenvalues
        stand in the order of N.

    Examples
    --------
    >>> flow = double_bracket(2)
    >>> flow.rates[flow.coordinates[1]]
    x_11*x_12 - x_12*x_22
    """
    symbols, x = _symmetric_symbols("x", n)
    numbers = list(range(1, n + 1)) if target is None else list(target)
    if len(numbers) != n:
        raise ModelError(
            "The target needs one number for each row", seen=len(numbers), remedy=f"give {n}"
        )
    goal = sympy.diag(*[as_expression(value) for value in numbers])
    generator = x * goal - goal * x
    rates = x * generator - generator * x
    side = sympy.ImmutableMatrix(-generator)
    return Flow(
        {symbols[i, j]: sympy.expand(rates[i, j]) for i, j in symbols},
        integrals={"trace": x.trace(), "trace_2": (x * x).trace() / 2},
        outputs={"height": sympy.expand((x * goal).trace())},
        matrices={"x": x},
        actions=[Action("x", side, side)],
        name=name,
    )


def _symmetric_symbols(name: str, n: int) -> tuple[dict[tuple[int, int], Coordinate], sympy.Matrix]:
    if not isinstance(n, int) or not 2 <= n <= MOST_ENTRIES:
        raise ModelError(
            "A matrix flow needs at least two rows",
            seen=n,
            remedy=f"choose n from 2 to {MOST_ENTRIES}",
        )
    symbols = {(i, j): Coordinate(entry_name(name, i, j, n)) for i in range(n) for j in range(i, n)}
    return symbols, sympy.Matrix(n, n, lambda i, j: symbols[min(i, j), max(i, j)])


def toda(
    n: int | str,
    *,
    periodic: bool = False,
    full: bool = False,
    frame: bool = False,
    factor: bool = False,
    name: str = "",
) -> Flow:
    """Toda's lattice of n particles in Flaschka's matrix, of a root system, or the full flow.

    Parameters
    ----------
    n : int or str
        The number of particles, or a root system such as "B3", "C2", "D4" or "G2".
    periodic : bool
        Join the last particle with the first, or the affine root; see `toda_lax` for the pair.
    full : bool
        All entries of a symmetric matrix instead of a tridiagonal one.
    frame : bool
        Carry the orthogonal matrix k with k_dot = k pi_k(A), so that A = k^T A(0) k.
    factor : bool
        Carry the lower triangular matrix X with X_dot = pi_l(A) X, pi_l(A) = A - pi_k(A), so that
        X^-1 A X stays; from X(0) = 1 it is the factor l of exp(t A(0)) = k l.

    Examples
    --------
    >>> flow = toda(3)
    >>> flow.coordinates
    (a_1, a_2, a_3, b_1, b_2)
    >>> flow.rates[flow.coordinates[3]]
    b_1*(a_1 - a_2)
    >>> toda("G2").rates[Coordinate("b_2")]
    b_2*(-2*a_1 + a_2 + a_3)
    """
    if isinstance(n, str) or periodic:
        return _of_roots(n, periodic, full or frame or factor, name)
    if full:
        symbols, a = _symmetric_symbols("A", n)
        upper = sympy.Matrix(n, n, lambda i, j: a[i, j] if i < j else 0)
        generator = upper - upper.T
        moved = (a * generator - generator * a).applyfunc(sympy.expand)
        rates: dict[Any, Any] = {symbol: moved[i, j] for (i, j), symbol in symbols.items()}
    else:
        a, generator, rates = _tridiagonal(n)
    side = sympy.ImmutableMatrix(-generator)
    matrices, actions = {"A": a}, [Action("A", side, side)]
    # H = tr A^2 / 2; the sum of squares is written out because products of large matrices are slow.
    square = sum((a[i, j] ** 2 for i in range(n) for j in range(n) if a[i, j] != 0), ZERO)
    integrals = {"energy": square / 2, "momentum": a.trace()}
    constraints = []
    if frame:
        entries = [Coordinate(entry_name("k", i, j, n)) for i in range(n) for j in range(n)]
        k = sympy.Matrix(n, n, entries)
        rates |= dict(zip(entries, k * generator, strict=True))
        matrices["k"] = k
        actions.append(Action("k", None, side))
        product = k.T * k - sympy.eye(n)
        constraints = [
            holonomic(product[i, j], name=f"orthogonal_{i + 1}_{j + 1}")
            for i in range(n)
            for j in range(i, n)
        ]
    if factor:
        places = {
            (i, j): Coordinate(entry_name("X", i, j, n)) for i in range(n) for j in range(i + 1)
        }
        lower = sympy.Matrix(n, n, lambda i, j: places.get((i, j), 0))
        projected = a - generator
        moved_factor = projected * lower
        rates |= {symbol: moved_factor[i, j] for (i, j), symbol in places.items()}
        matrices["X"] = lower
        actions.append(Action("X", sympy.ImmutableMatrix(projected), None))
    return Flow(
        rates,
        integrals=integrals,
        constraints=constraints,
        matrices=matrices,
        actions=actions,
        name=name or ("full Toda flow" if full else "Toda lattice"),
    )


def _of_roots(n: int | str, periodic: bool, more: bool, name: str) -> Flow:
    """The lattice of a root system; n particles in a ring are that of A_n-1."""
    if more:
        what = "The full flow, the frame and the factor belong to the open lattice of n particles"
        raise ModelError(what, seen=n, remedy="leave full=, frame= and factor= out")
    from ...formulations.groups.toda_lattices import root_lattice

    if isinstance(n, str):
        return root_lattice(n, periodic, name)
    return root_lattice(f"A{n - 1}", periodic, name or "periodic Toda lattice")


def _tridiagonal(n: int) -> tuple[sympy.Matrix, sympy.Matrix, dict[Any, Any]]:
    """A, pi_k(A) and the rates a_k' = 2 (b_k-1^2 - b_k^2), b_k' = b_k (a_k - a_k+1)."""
    if not isinstance(n, int) or not 2 <= n <= MOST_ENTRIES:
        raise ModelError(
            "A lattice needs at least two particles",
            seen=n,
            remedy=f"choose n from 2 to {MOST_ENTRIES}",
        )
    a = [Coordinate(f"a_{k + 1}") for k in range(n)]
    b = [Coordinate(f"b_{k + 1}") for k in range(n - 1)]
    matrix, generator = sympy.zeros(n, n), sympy.zeros(n, n)
    for k in range(n):
        matrix[k, k] = a[k]
    for k in range(n - 1):
        matrix[k, k + 1] = matrix[k + 1, k] = generator[k, k + 1] = b[k]
        generator[k + 1, k] = -b[k]
    rates: dict[Any, Any] = {}
    for k in range(n):
        before = b[k - 1] ** 2 if k else ZERO
        after = b[k] ** 2 if k < n - 1 else ZERO
        rates[a[k]] = 2 * (before - after)
    for k in range(n - 1):
        rates[b[k]] = b[k] * (a[k] - a[k + 1])
    return matrix, generator, rates
