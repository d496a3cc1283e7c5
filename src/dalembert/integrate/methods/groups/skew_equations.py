r"""Linear equations of small matrices as native code: inverses, and Lyapunov's equation on skew
matrices,

    X^T eta + eta X = R,      eta and R skew (n*n),      the spectrum of X in the right half plane.

Small ones are solved as equations for the n (n - 1)/2 planes, whose factors can be kept; large ones
by the sign iteration of J. D. Roberts (1980), which needs n x n matrices alone. Factors are stored
column after column, other matrices row after row.
"""

from __future__ import annotations

from ....codegen.native.language import Integers, Reals, native, rare

__all__ = [
    "factor_planes",
    "invert",
    "matrix_size",
    "multiply",
    "solve_planes",
    "solve_planes_by_sign",
]

#: The most steps of a sign iteration.
MOST_SIGN_STEPS = 100


@native
def matrix_size(n: int) -> int:
    """How many numbers the factors, or the sign iteration, of a matrix of size n need."""
    pairs = n * (n - 1) // 2
    return max(pairs * pairs, 4 * n * n)


@native
def multiply(n: int, A: Reals, B: Reals, result: Reals) -> None:
    """result <- A B (n*n)."""
    for i in range(n):
        row = result + i * n
        for j in range(n):
            row[j] = 0.0
        for k in range(n):
            value = A[i * n + k]
            for j in range(n):
                row[j] += value * B[k * n + j]


@native
def factor_pivoted(n: int, A: Reals, order: Integers) -> bool:
    """Factor a column-major matrix as L U with row exchanges, in place; False if no pivot."""
    for k in range(n):
        pivot = A + k * n
        place, best = k, abs(pivot[k])
        for i in range(k + 1, n):
            if abs(pivot[i]) > best:
                place, best = i, abs(pivot[i])
        order[k] = place
        if not best > 0.0:
            return False
        if place != k:
            for j in range(n):
                A[j * n + k], A[j * n + place] = A[j * n + place], A[j * n + k]
        inverse = 1.0 / pivot[k]
        for i in range(k + 1, n):
            pivot[i] *= inverse
        for j in range(k + 1, n):
            column = A + j * n
            weight = column[k]
            if weight != 0.0:
                for i in range(k + 1, n):
                    column[i] -= weight * pivot[i]
    return True


@native
def solve_factored(n: int, A: Reals, order: Integers, x: Reals) -> None:
    """x <- A^-1 x for the factors of `factor_pivoted`."""
    for k in range(n):
        if order[k] != k:
            x[k], x[order[k]] = x[order[k]], x[k]
    for k in range(n):
        column, value = A + k * n, x[k]
        for i in range(k + 1, n):
            x[i] -= column[i] * value
    for k in range(n - 1, -1, -1):
        column = A + k * n
        value = x[k] / column[k]
        x[k] = value
        for i in range(k):
            x[i] -= column[i] * value


@rare
def invert(n: int, A: Reals, factors: Reals, order: Integers, result: Reals) -> float:
    """result <- A^-1 (n*n); returns |det A|^(1/n), or 0 if A is singular."""
    for i in range(n * n):
        factors[i] = A[i]
    if not factor_pivoted(n, factors, order):
        return 0.0
    mean = 1.0
    for i in range(n):
        mean *= abs(factors[i * n + i]) ** (1.0 / n)
    for j in range(n):
        for i in range(n):
            result[j * n + i] = 1.0 if i == j else 0.0
        solve_factored(n, factors, order, result + j * n)
    return mean


@native
def factor_planes(n: int, X: Reals, matrix: Reals, order: Integers) -> bool:
    """Factor eta -> X^T eta + eta X on skew matrices, with unknowns (i, j), i < j."""
    pairs = n * (n - 1) // 2
    for place in range(pairs * pairs):
        matrix[place] = 0.0
    row = 0
    for i in range(n):
        for j in range(i + 1, n):
            equation = matrix + row
            for k in range(n):
                if k < j:
                    equation[pairs * (k * n - k * (k + 1) // 2 + j - k - 1)] += X[k * n + i]
                if k > j:
                    equation[pairs * (j * n - j * (j + 1) // 2 + k - j - 1)] -= X[k * n + i]
                if i < k:
                    equation[pairs * (i * n - i * (i + 1) // 2 + k - i - 1)] += X[k * n + j]
                if i > k:
                    equation[pairs * (k * n - k * (k + 1) // 2 + i - k - 1)] -= X[k * n + j]
            row += 1
    return factor_pivoted(pairs, matrix, order)


@rare
def solve_planes_by_sign(n: int, X: Reals, eta: Reals, work: Reals, order: Integers) -> bool:
    """R <- the skew solution eta, for X with its spectrum in the right half plane; R stands in
    `eta`.

    X <- (c X + (c X)^-1)/2 goes to 1, and the right side beside it to 2 eta.
    """
    here, inverse, spare, factors = work + 0, work + n * n, work + 2 * n * n, work + 3 * n * n
    for i in range(n * n):
        here[i] = X[i]
    for _ in range(MOST_SIGN_STEPS):
        mean = invert(n, here, factors, order, inverse)
        if not mean > 0.0:
            return False
        away = 0.0
        for i in range(n * n):
            away = max(away, abs(here[i] - (1.0 if i % (n + 1) == 0 else 0.0)))
        scale = 1.0 / mean if away > 0.1 else 1.0
        multiply(n, eta, inverse, spare)
        for i in range(n):
            for j in range(n):
                total = 0.0
                for k in range(n):
                    total += inverse[k * n + i] * spare[k * n + j]
                factors[i * n + j] = total
        for i in range(n * n):
            eta[i] = 0.5 * (scale * eta[i] + factors[i] / scale)
            here[i] = 0.5 * (scale * here[i] + inverse[i] / scale)
        if away < 1e-9:
            break
    for i in range(n):
        for j in range(i + 1):
            value = 0.25 * (eta[i * n + j] - eta[j * n + i])
            eta[i * n + j], eta[j * n + i] = value, -value
    return True


@native
def solve_planes(n: int, matrix: Reals, order: Integers, eta: Reals, vector: Reals) -> None:
    """eta <- the skew solution of X^T eta + eta X = eta, by the factors of `factor_planes`."""
    row = 0
    for i in range(n):
        for j in range(i + 1, n):
            vector[row] = eta[i * n + j]
            row += 1
    solve_factored(row, matrix, order, vector)
    row = 0
    for i in range(n):
        for j in range(i + 1, n):
            eta[i * n + j], eta[j * n + i] = vector[row], -vector[row]
            row += 1
