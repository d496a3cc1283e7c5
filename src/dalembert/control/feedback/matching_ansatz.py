r"""Matching by an ansatz: polynomials and trigonometric functions with unknown coefficients.

For one unactuated coordinate a the conditions become linear one after the other (Auckly, Kapitanski
and White): first the field lambda = g~^-1 g_a, from the part of L_lambda g~ = d_a g along lambda,
then g~, then U~:

    lambda^i d_i g_aj + g_ai d_j lambda^i = lambda^k d_a g_jk,
    g~ lambda = g_a,  L_lambda g~ = d_a g,     lambda U~ = d_a U.

Each is imposed at random places on sums of products of 1, q, q^2 or 1, cos q, sin q, cos 2q, sin
2q. Solutions of the homogeneous equations are added until the energies are definite. The
certificate shows what is left, and refuses an ansatz that does not contain the solution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, product

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, ArrayLike
from .matching_classes import UnsuitedError
from .mechanics import Mechanics
from .shaped import Shaped, part_of

__all__ = ["ansatz"]

#: The most unknown coefficients, places of an equation for each unknown, the least coefficient.
MOST, PLACES, TINY = 160, 4, 1e-11
#: Where equations are imposed, around the equilibrium, and the tolerance of their rank.
AROUND, DEPENDENT = 0.6, 1e-8
#: What may be left of solved equations before the certificate looks; what is no part of a sum.
SOLVED, NEGLIGIBLE = 1e-11, 1e-9


def _functions(here: Mechanics, symbols: Sequence[sympy.Symbol]) -> list[sympy.Expr]:
    """Products of a few functions of each symbol; angles are those in sines and cosines."""
    held = sympy.Matrix([*here.metric, here.potential]).atoms(sympy.sin, sympy.cos)
    ladders = []
    for q in symbols:
        x = q - sympy.nsimplify(here.equilibrium[q.name])
        angle = any(q in function.free_symbols for function in held)
        harmonics = [function(k * q) for k in (1, 2) for function in (sympy.cos, sympy.sin)]
        ladders.append([sympy.S.One, *(harmonics if angle else (x, x**2))])
    return [sympy.Mul(*factors) for factors in product(*ladders)]


class _Unknown:
    """Sums of the same functions with one coefficient each, `count` of them."""

    def __init__(self, algebra: GraphAlgebra, functions: Sequence[sympy.Expr], count: int) -> None:
        if len(functions) * count > MOST:
            size = len(functions) * count
            raise UnsuitedError(f"the ansatz has {size} coefficients, more than {MOST}")
        self.functions, self.count = list(functions), count
        self.coefficients = ca.SX.sym("c", len(functions) * count)
        rows = ca.reshape(self.coefficients, len(functions), count)
        self.value = (algebra.vector(self.functions).T @ rows).T  # (count, 1)

    def written(self, numbers: ArrayLike) -> sympy.Matrix:
        """The sums with numbers for the coefficients."""
        table = np.asarray(numbers).reshape(self.count, len(self.functions))
        size = float(np.max(np.abs(table), initial=0.0))
        sums = []
        for row in table:
            terms = [(c, f) for c, f in zip(row, self.functions, strict=True)]
            sums.append(sympy.Add(*(sympy.Float(c) * f for c, f in terms if abs(c) > TINY * size)))
        return sympy.Matrix(sums)


class _Places:
    """Equations, linear in unknown coefficients, at random places."""

    def __init__(self, here: Mechanics, algebra: GraphAlgebra) -> None:
        self.here, self.algebra = here, algebra
        self.q = algebra.vector(here.coordinates)

    def imposed(
        self, equations: ca.SX, unknown: _Unknown, at: Array | None = None
    ) -> tuple[Array, Array]:
        """A and b of A c = b for equations(c, q) = 0 at places (k, n), random ones by default."""
        here, symbols = self.here, self.algebra.symbols
        names = [symbol for symbol in symbols if symbol not in here.coordinates]
        values = np.array([here.values[symbol.name] for symbol in names])
        variables = ca.vertcat(*(symbols[symbol] for symbol in names)) if names else ca.SX(0, 1)
        rows = ca.jacobian(equations, unknown.coefficients)
        nothing = ca.SX.zeros(unknown.coefficients.shape)
        left = ca.substitute(equations, unknown.coefficients, nothing)
        function = ca.Function("rows", [self.q, variables], [ca.densify(rows), ca.densify(left)])
        if at is None:
            random = np.random.default_rng(7)
            count = PLACES * unknown.coefficients.shape[0] // equations.shape[0] + 8
            origin = np.array(list(here.equilibrium.values()))
            at = origin + random.uniform(-AROUND, AROUND, (count, len(origin)))
        found = [function.call([place, values]) for place in at]
        matrix = np.vstack([np.asarray(rows, dtype=float) for rows, _ in found])
        rights = [np.asarray(right, dtype=float).ravel() for _, right in found]
        return matrix, -np.concatenate(rights)

    def origin(self) -> Array:
        """The equilibrium (1, n)."""
        return np.array([list(self.here.equilibrium.values())])


def _fitted(matrix: Array, right: Array) -> tuple[Array, Array, float]:
    """The least-squares solution of least norm, homogeneous solutions (k, free), what is left."""
    sizes = np.linalg.norm(matrix, axis=1)
    kept = sizes > 1e-12 * np.max(sizes, initial=0.0)  # rows of rounding are not equations
    matrix, right = matrix[kept], right[kept]
    scale = np.linalg.norm(matrix, axis=0)
    # Columns of rounding are no coefficients that matter.
    idle = scale <= 1e-12 * np.max(scale, initial=0.0)
    scale[idle] = np.max(scale, initial=0.0) or 1.0
    scaled = np.where(idle, 0.0, matrix / scale)
    free = rank(scaled, DEPENDENT).null_space
    Q, R = np.linalg.qr(np.vstack([scaled, free.T]))
    found = np.linalg.solve(R, Q.T @ np.concatenate([right, np.zeros(free.shape[1])]))
    left = float(np.max(np.abs(scaled @ found - right), initial=0.0))
    share = part_of(left, float(np.max(np.abs(right), initial=0.0)))
    return found / scale, free / scale[:, None], share


def _plain(vectors: Array) -> Array:
    """The same span with many zeros, by elimination in the order of the functions, (k, free)."""
    rows = np.array(vectors.T)
    for k in range(len(rows)):
        collected = [int(np.argmax(np.abs(row) > 1e-9 * np.max(np.abs(row)))) for row in rows[k:]]
        best = min(collected)
        pick = k + int(np.argmax([abs(row[best]) for row in rows[k:]]))
        rows[[k, pick]] = rows[[pick, k]]
        rows[k] /= rows[k, best]
        for other in range(len(rows)):
            if other != k:
                rows[other] -= rows[other, best] * rows[k]
    rows[np.abs(rows) < 1e-9] = 0.0
    return rows.T


def ansatz(here: Mechanics, gains: Mapping[str, float]) -> Shaped:
    """The field lambda, the metric and the potential one after the other."""
    if len(here.unactuated) != 1:
        count = f"{len(here.unactuated)} unactuated coordinates"
        raise UnsuitedError(f"{count}, where the conditions are not linear one by one")
    a, n = here.unactuated[0], len(here.coordinates)
    algebra = GraphAlgebra()
    places = _Places(here, algebra)
    q = places.q
    g = ca.horzcat(*(algebra.vector(list(here.metric.col(k))) for k in range(n)))
    row, derivative = g[a, :].T, ca.reshape(ca.jacobian(ca.vec(g), q[a]), n, n)
    inner = [x for k, x in enumerate(here.coordinates) if here.depends_on(here.metric, [k])]
    inner = inner or [here.coordinates[a]]

    field = _Unknown(algebra, _functions(here, inner), n)
    carried = ca.jacobian(row, q) @ field.value + ca.jacobian(field.value, q).T @ row
    drift = carried - derivative @ field.value
    rows, _ = places.imposed(drift, field)
    free = _plain(_fitted(rows, np.zeros(len(rows)))[1])
    best: tuple[float, sympy.Matrix | None, sympy.Expr | None] = (np.inf, None, None)
    for numbers in _directions(here, places, field, free):
        along = ca.substitute(field.value, field.coefficients, ca.DM(numbers))
        metric, of_metric = _metric(here, places, along, g, gains, inner)
        potential, of_potential = _potential(here, places, along, gains)
        if max(of_metric, of_potential) < best[0]:
            best = (max(of_metric, of_potential), metric, potential)
        if best[0] < SOLVED:
            break
    chosen = {"freedom of lambda": float(free.shape[1])}
    return Shaped(here, "ansatz", best[1], best[2], sympy.zeros(n, 1), chosen)


def _directions(here: Mechanics, places: _Places, field: _Unknown, free: Array) -> Iterator[Array]:
    """Fields along which g~ and the Hessian of U~ are positive, those of few functions first."""
    a = here.unactuated[0]
    at_rest, _ = places.imposed(field.value, field, places.origin())
    vectors = (here.numbers(here.metric)[a], here.hessian(here.potential)[a])
    weights = [vector @ at_rest @ free for vector in vectors]
    sizes, tried = [float(np.linalg.norm(w)) for w in weights], [-1.0]
    for chosen in chain.from_iterable(combinations(range(free.shape[1]), k) for k in (1, 2, 3)):
        part = [w[list(chosen)] for w in weights]
        norms = [float(np.linalg.norm(p)) for p in part]
        if any(norm <= NEGLIGIBLE * size for norm, size in zip(norms, sizes, strict=True)):
            continue
        mixed = part[0] / norms[0] + part[1] / norms[1]
        signs = [float(p @ mixed) / size for p, size in zip(part, norms, strict=True)]
        tried.append(min(signs))
        if min(signs) > 1e-3:
            found = free[:, list(chosen)] @ mixed
            yield found / np.max(np.abs(at_rest @ found))
    if not max(tried) > 1e-3:
        fields = f"its {free.shape[1]} independent fields lambda"
        raise UnsuitedError(f"along no combination of {fields} are both energies positive")


def _metric(
    here: Mechanics, places: _Places, along: ca.SX, g: ca.SX, gains: Mapping[str, float],
    inner: Sequence[sympy.Symbol],
) -> tuple[sympy.Matrix, float]:  # fmt: skip
    """g~ from g~ lambda = g_a and L_lambda g~ = d_a g, definite at the equilibrium if possible."""
    a, n, q = here.unactuated[0], len(here.coordinates), places.q
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    entries = _Unknown(places.algebra, _functions(here, inner), len(pairs))
    table = ca.SX.zeros(n, n)
    for k, (i, j) in enumerate(pairs):
        table[i, j] = table[j, i] = entries.value[k]
    turn = table @ ca.jacobian(along, q)
    drift = ca.reshape(ca.jacobian(ca.vec(table), q) @ along, n, n) + turn + turn.T
    lie = ca.vec(drift - ca.reshape(ca.jacobian(ca.vec(g), q[a]), n, n))
    wanted = ca.vertcat(table @ along - g[a, :].T, lie)
    found, free, left = _fitted(*places.imposed(wanted, entries))
    rows, right = places.imposed(ca.vec(table), entries, places.origin())
    base, extra = (rows @ found - right).reshape(n, n), (rows @ free).reshape(n, n, -1)
    numbers = found + free @ _made_definite(here, base, extra, float(gains.get("inertia", 1.0)))
    written = entries.written(numbers)
    out = sympy.zeros(n, n)
    for k, (i, j) in enumerate(pairs):
        out[i, j] = out[j, i] = written[k]
    return out, left


def _potential(
    here: Mechanics, places: _Places, along: ca.SX, gains: Mapping[str, float]
) -> tuple[sympy.Expr, float]:
    """U~ from lambda U~ = d_a U, stationary at the equilibrium, definite there if possible."""
    a, q, n = here.unactuated[0], places.q, len(here.coordinates)
    values = _Unknown(places.algebra, _functions(here, here.coordinates)[1:], 1)
    derivatives = ca.gradient(values.value, q)
    own = ca.gradient(places.algebra.scalar(here.potential), q)
    rows, right = places.imposed(ca.dot(along, derivatives) - own[a], values)
    still, none = places.imposed(derivatives, values, places.origin())
    found, free, left = _fitted(np.vstack([rows, still]), np.concatenate([right, none]))
    hessian = ca.SX(ca.hessian(values.value, q)[0])
    bent, _ = places.imposed(ca.vec(hessian), values, places.origin())
    base, extra = (bent @ found).reshape(n, n), (bent @ free).reshape(n, n, -1)
    numbers = found + free @ _made_definite(here, base, extra, float(gains.get("spring", 1.0)))
    return values.written(numbers)[0], left


def _made_definite(here: Mechanics, base: Array, extra: Array, margin: float) -> Array:
    """z with base + extra z positive definite, by steps along the traces of `extra`, or 0."""
    count = extra.shape[2]
    push = np.array([np.trace(extra[:, :, k]) for k in range(count)])
    if not np.linalg.norm(push) > NEGLIGIBLE * np.linalg.norm(extra):
        return np.zeros(count)
    floor = NEGLIGIBLE * float(np.max(np.abs(here.numbers(here.metric))))
    size = max(float(np.max(np.abs(base))), floor)
    for step in np.geomspace(1e-2, 1e4, 40) * size / np.linalg.norm(push) ** 2:
        table = base + extra @ (step * push)
        if np.linalg.eigvalsh((table + table.T) / 2)[0] > 0.02 * margin * size:
            return np.asarray(step * push)
    return np.zeros(count)
