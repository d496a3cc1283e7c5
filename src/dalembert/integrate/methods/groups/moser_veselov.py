r"""The steps of the discrete rigid body as native code: solve for U, then turn (Moser and Veselov;
Bloch 7.7.49 to 7.7.54).

    U Lambda - Lambda U^T = M,      Q <- Q U,      M <- U^T M U = Lambda U - U^T Lambda

U is found by Newton's iteration on the group from what the last two steps suggest,

    U <- exp(eta) U,      X^T eta + eta X = M - (X - X^T),      X = U Lambda,

with a factorisation that is kept while it contracts. The spectrum of X stays along the motion, and
any other branch of U has some of its eigenvalues with the other sign: tr X tells the branch. Where
the iteration fails, or arrives at another branch, U is found anew by the matrix sign function of
the Riccati equation's Hamiltonian matrix (J. D. Roberts 1980).

Q, M and U are held in two parts (`compiled.two_parts`), so that what is conserved is conserved to
the last digit of a double over any number of steps. Lambda is scaled by a power of two to at most
one half.
"""

from __future__ import annotations

from ....codegen.native.language import Integers, Reals, Record, native, rare
from .double_word import gram_excess, normalise, product_in_parts, split_parts
from .skew_equations import (
    MOST_SIGN_STEPS,
    factor_planes,
    invert,
    matrix_size,
    multiply,
    solve_planes,
    solve_planes_by_sign,
)

__all__ = [
    "FINISHED",
    "NO_ROTATION",
    "BodyCounts",
    "begin",
    "first_rotation",
    "first_state",
    "steps_of_body",
    "work_size",
]

# What a call returns.
FINISHED, NO_ROTATION = 0, 1


class BodyCounts(Record):
    """What a run counts: steps done, samples stored, iterations, factorisations, rotations found
    by the sign function; whether the matrix is stale, and steps since the last sample.
    """

    done: int
    stored: int
    iterations: int
    factorisations: int
    signs: int
    stale: int
    since_stored: int


#: A correction that leaves an error below this is the last.
CONVERGED = 1e-22
#: An iteration that no longer contracts has converged where its corrections are below this.
STAGNANT = 1e-13
#: A departure from orthogonality that one correction mends.
STRAIGHT = 1e-11
#: Above this correction the rotation is made orthogonal again before it is used.
BENT = 1e-7
#: Above this correction the factorisation is made anew.
FAR = 1e-3
#: More corrections than this in one step, and the next step begins with a new factorisation.
PATIENCE = 4
#: The most corrections of a step.
MOST_CORRECTIONS = 30
#: Above this size the linear equations are solved by a sign iteration of n x n matrices.
LARGE = 12


def work_size(n: int) -> int:
    """How many numbers the steps of a body of size n need to work with."""
    return matrix_size(n) + 12 * n * n


# -- one rotation ----------------------------------------------------------------------------------


@rare
def rotation_by_sign(
    n: int, inertia: Reals, M: Reals, U: Reals, u: Reals, work: Reals, order: Integers
) -> bool:
    """U <- the rotation of M on the branch of the identity, to about half of the digits; False
    where there is none.

    With W the sign of H, W_12 S = -(W_11 + 1); W_12 is negative definite.
    """
    m = 2 * n
    W, inverse, factors = work + 0, work + m * m, work + 2 * m * m
    for i in range(n):
        for j in range(n):
            total = inertia[i] ** 2 if i == j else 0.0
            for k in range(n):
                total += 0.25 * M[i * n + k] * M[k * n + j]
            W[i * m + j] = -0.5 * M[i * n + j]
            W[i * m + n + j] = -1.0 if i == j else 0.0
            W[(n + i) * m + j] = -total
            W[(n + i) * m + n + j] = -0.5 * M[i * n + j]
    found = False
    for _ in range(MOST_SIGN_STEPS):
        mean = invert(m, W, factors, order, inverse)
        if not mean > 0.0:
            return False
        scale, change, size = 1.0 / mean, 0.0, 0.0
        for i in range(m * m):
            value = 0.5 * (scale * W[i] + inverse[i] / scale)
            change, size = max(change, abs(value - W[i])), max(size, abs(value))
            W[i] = value
        if change <= 1e-9 * size:
            found = True
            break
    if not found:
        return False
    for i in range(n):
        for j in range(n):
            factors[i * n + j] = W[i * m + n + j]
    if not invert(n, factors, factors + n * n, order, inverse) > 0.0:
        return False
    for i in range(n):
        W[i * m + i] += 1.0
    for i in range(n):
        for j in range(n):
            total = 0.5 * M[i * n + j]
            for k in range(n):
                total -= inverse[i * n + k] * W[k * m + j]
            factors[i * n + j] = total / inertia[j]
    for _ in range(MOST_SIGN_STEPS):
        invert(n, factors, factors + n * n, order, inverse)
        change = 0.0
        for i in range(n):
            for j in range(n):
                value = 0.5 * (factors[i * n + j] + inverse[j * n + i])
                U[i * n + j] = value
                change = max(change, abs(value - factors[i * n + j]))
        for i in range(n * n):
            factors[i] = U[i]
        if change <= 1e-9:
            break
    for i in range(n * n):
        inverse[i] = U[i]
    split_parts(n * n, inverse, U, u)
    return True


@native
def straighten(n: int, U: Reals, u: Reals, spare: Reals, excess: Reals) -> None:
    """U + u <- (U + u)(1 - E/2) with E = U^T U - 1, until it is orthogonal."""
    for _ in range(8):
        size = gram_excess(n, U, u, excess, spare)
        multiply(n, U, excess, spare)
        for i in range(n * n):
            u[i] -= 0.5 * spare[i]
        normalise(n * n, U, u)
        if size < STRAIGHT:
            break


@native
def defect(n: int, parts: Reals, M: Reals, m: Reals, U: Reals, u: Reals, R: Reals) -> None:
    """R <- M - (U Lambda - Lambda U^T), each in two parts; `parts` are those of Lambda."""
    for i in range(n):
        R[i * n + i] = 0.0
        for j in range(i + 1, n):
            above, below = i * n + j, j * n + i
            first, second, small, smaller = parts[j], parts[i], parts[n + j], parts[n + i]
            high = (M[above] - U[above] * first) + U[below] * second
            low = m[above] - U[above] * small - u[above] * (first + small)
            low += U[below] * smaller + u[below] * (second + smaller)
            R[above], R[below] = high + low, -(high + low)


@native
def refine(
    n: int,
    inertia: Reals,
    parts: Reals,
    M: Reals,
    m: Reals,
    U: Reals,
    u: Reals,
    counts: BodyCounts,
    matrix: Reals,
    planes: Integers,
    work: Reals,
    order: Integers,
) -> bool:
    """U + u <- the rotation nearest to M + m, by Newton's iteration; False if it fails."""
    eta, X, spare, vector = work + 0, work + n * n, work + 2 * n * n, work + 3 * n * n
    last, since = 1.0, 2
    for count in range(MOST_CORRECTIONS):
        if last > BENT:
            straighten(n, U, u, spare, X)
        if n > LARGE or counts.stale != 0:
            for i in range(n):
                for j in range(n):
                    X[i * n + j] = (U[i * n + j] + u[i * n + j]) * inertia[j]
            if n <= LARGE:
                if not factor_planes(n, X, matrix, planes):
                    return False
                counts.factorisations += 1
                counts.stale, since = 0, 0
        defect(n, parts, M, m, U, u, eta)
        if n > LARGE:
            if not solve_planes_by_sign(n, X, eta, matrix, order):
                return False
        else:
            solve_planes(n, matrix, planes, eta, vector)
        size = 0.0
        for i in range(n * n):
            size = max(size, abs(eta[i]))
            X[i] = U[i] + u[i]
        if not size < 2.0:
            counts.stale = 1
            return False
        multiply(n, eta, X, spare)
        multiply(n, eta, spare, X)
        for i in range(n * n):
            u[i] += spare[i] + 0.5 * X[i]
        normalise(n * n, U, u)
        counts.iterations += 1
        ratio = size / last
        if size <= CONVERGED or (count > 0 and ratio * size <= CONVERGED):
            counts.stale = 1 if count >= PATIENCE else 0
            return True
        if ratio > 0.3 and size <= STAGNANT:
            return True
        if size > FAR or (ratio > 0.1 and since > 1):
            counts.stale = 1
        last = size
        since += 1
    return False


@native
def trace_of(n: int, inertia: Reals, U: Reals, u: Reals) -> float:
    """tr(U Lambda)."""
    total = 0.0
    for i in range(n):
        total += (U[i * n + i] + u[i * n + i]) * inertia[i]
    return total


# -- many steps ------------------------------------------------------------------------------------


@rare
def first_state(n: int, inertia: Reals, Q: Reals, M: Reals, state: Reals, work: Reals) -> None:
    """Attitude and momentum of the start in two parts, the attitude orthogonal to all digits."""
    s = n * n
    split_parts(s, Q, state, state + s)
    straighten(n, state, state + s, work, work + s)
    split_parts(s, M, state + 2 * s, state + 3 * s)
    split_parts(n, inertia, state + 7 * s, state + (7 * s + n))


@native
def begin(n: int, inertia: Reals, state: Reals) -> None:
    """Remember the branch of the first rotation, which has none before it."""
    s = n * n
    for i in range(n):
        for j in range(n):
            state[6 * s + j * n + i] = state[4 * s + i * n + j] + state[5 * s + i * n + j]
    state[7 * s + 2 * n] = trace_of(n, inertia, state + 4 * s, state + 5 * s)


@rare
def first_rotation(
    n: int, inertia: Reals, state: Reals, counts: BodyCounts, work: Reals, order: Integers
) -> int:
    """Fill the state's rotation from its momentum; see `steps_of_body` for a state."""
    s = n * n
    parts, M, m, U, u = state + 7 * s, state + 2 * s, state + 3 * s, state + 4 * s, state + 5 * s
    matrix, rest = work + 0, work + matrix_size(n)
    counts.signs += 1
    if not rotation_by_sign(n, inertia, M, U, u, rest, order):
        return NO_ROTATION
    counts.stale = 1
    if not refine(n, inertia, parts, M, m, U, u, counts, matrix, order + 2 * n, rest, order):
        return NO_ROTATION
    return FINISHED


@native
def advance_rotation(
    n: int, inertia: Reals, state: Reals, counts: BodyCounts, work: Reals, order: Integers
) -> int:
    """U of the present momentum, from the last two steps; what was U becomes the one before."""
    s = n * n
    M, m, U, u, before, parts = (
        state + 2 * s,
        state + 3 * s,
        state + 4 * s,
        state + 5 * s,
        state + 6 * s,
        state + 7 * s,
    )
    matrix, rest = work + 0, work + matrix_size(n)
    here, change, guess = rest + 0, rest + s, rest + 2 * s
    for i in range(s):
        here[i] = U[i] + u[i]
    multiply(n, here, before, change)
    for i in range(n):
        for j in range(n):
            before[j * n + i] = here[i * n + j]
    multiply(n, change, here, guess)
    split_parts(s, guess, U, u)
    branch = state[7 * s + 2 * n]
    good = refine(n, inertia, parts, M, m, U, u, counts, matrix, order + 2 * n, rest, order)
    if good and abs(trace_of(n, inertia, U, u) - branch) <= 1e-9 * branch:
        return FINISHED
    return first_rotation(n, inertia, state, counts, work, order)


@native
def turn_state(n: int, state: Reals, work: Reals) -> None:
    """Q <- Q U and M <- Lambda U - U^T Lambda, in two parts."""
    s = n * n
    Q, q, M, m, U, u, parts = (
        state + 0,
        state + s,
        state + 2 * s,
        state + 3 * s,
        state + 4 * s,
        state + 5 * s,
        state + 7 * s,
    )
    high, low = work + 0, work + s
    product_in_parts(n, Q, q, U, u, high, low)
    for i in range(s):
        Q[i], q[i] = high[i], low[i]
    for i in range(n):
        for j in range(i + 1, n):
            above, below = i * n + j, j * n + i
            first, second, small, smaller = parts[i], parts[j], parts[n + i], parts[n + j]
            M[above] = first * U[above] - second * U[below]
            value = first * u[above] + small * (U[above] + u[above])
            m[above] = value - (second * u[below] + smaller * (U[below] + u[below]))
    normalise(s, M, m)
    for i in range(n):
        for j in range(i):
            M[i * n + j], m[i * n + j] = -M[j * n + i], -m[j * n + i]


@native
def steps_of_body(
    n: int,
    steps: int,
    every: int,
    inertia: Reals,
    state: Reals,
    counts: BodyCounts,
    attitudes: Reals,
    momenta: Reals,
    work: Reals,
    order: Integers,
) -> int:
    """Take `steps` steps and store Q and M after each `every` of them.

    The state holds Q, M and U of the present momentum in two parts (n*n each), the transpose of the
    U before it, Lambda in two parts (2 n), and tr(U Lambda), which tells the branch. Returns
    FINISHED or NO_ROTATION; the counts say how far it came.
    """
    s = n * n
    rest = work + matrix_size(n)
    for _ in range(steps):
        turn_state(n, state, rest)
        if advance_rotation(n, inertia, state, counts, work, order) != FINISHED:
            return NO_ROTATION
        counts.done += 1
        counts.since_stored += 1
        if counts.since_stored == every:
            for i in range(s):
                attitudes[counts.stored * s + i] = state[i] + state[s + i]
                momenta[counts.stored * s + i] = state[2 * s + i] + state[3 * s + i]
            counts.stored += 1
            counts.since_stored = 0
    return FINISHED
