"""Bloch and others, Internet Supplement, section 7.7: optimal control on symmetric spaces (7.7.17 to 7.7.21).

Random p x q matrices Q and P, real and complex, with J = 1 and with inertias. The library gives rates, energies and motions;
independent implementations are block matrices, complex steps over real and imaginary parts, exponentials and ranks. Where
matrices are complex, the Hamiltonian is the real part of what is printed, with <A, B> = tr(A^+ B)/2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from ...formulations.registry import derive
from ...geometry.exact_flows import two_sided_motion
from ...model.builders.symmetric_spaces import grassmannian_flow
from ...model.flow_system import Flow
from ..independent.matrix_flows import SPAN, Path, bracket, exponential, flow_rates, gap, path_of, skew
from ..numeric import Probe, distance, largest, worst
from ..row_registry import Corrected, claim

RANDOM = "random real and complex Q and P of several sizes"
#: Rows, columns and whether the entries are complex.
SIZES = ((2, 1, False), (3, 2, False), (3, 3, False), (2, 2, True), (3, 2, True))
LIBRARY = ((3, 2, False), (2, 2, True))


def dagger(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def product(a: Any, b: Any) -> Any:
    """<A, B> = tr(A^+ B)/2, complex."""
    return np.sum(np.conj(a) * b, axis=(-2, -1)) / 2


def weighted(size: int) -> Any:
    """The numbers l_i of an inertia J(U)_ij = (l_i + l_j) U_ij / 2."""
    return 1 + np.arange(size) / 2


def divided(moment: Any, inertia: bool) -> Any:
    """J^-1 of a moment."""
    numbers = weighted(moment.shape[-1])
    return 2 * moment / (numbers[:, None] + numbers) if inertia else moment


def multiplied(velocity: Any, inertia: bool) -> Any:
    """J of a velocity."""
    numbers = weighted(velocity.shape[-1])
    return velocity * (numbers[:, None] + numbers) / 2 if inertia else velocity


def controls(q: Any, p: Any, inertia: bool) -> tuple[Any, Any]:
    """U and V of (7.7.24)."""
    return divided(p @ dagger(q) - q @ dagger(p), inertia), divided(dagger(p) @ q - dagger(q) @ p, inertia)


def entries(random: np.random.Generator, p: int, q: int, is_complex: bool, size: float = 0.6) -> Any:
    found = size * random.standard_normal((p, q))
    return found + 1j * size * random.standard_normal((p, q)) if is_complex else found


def turning(random: np.random.Generator, n: int, is_complex: bool) -> Any:
    """A random element of u(n), or of so(n)."""
    half = skew(random, n)
    if not is_complex:
        return half
    other = random.standard_normal((n, n))
    return half + 0.5j * (other + other.T)


def cases(sizes: Any = SIZES, count: int = 2) -> Iterator[tuple[np.random.Generator, tuple[int, int, bool], Any, Any]]:
    """Random Q and P of each size, with a source of further numbers."""
    for number, size in enumerate(sizes):
        random = np.random.default_rng(772 + number)
        for _ in range(count):
            yield random, size, entries(random, *size), entries(random, *size)


def over_cases(residual: Callable[..., float], sizes: Any = SIZES, count: int = 2) -> float:
    return worst(residual(*case) for case in cases(sizes, count))


def lifted(q: Any) -> Any:
    """((0, Q), (-Q^+, 0))."""
    p, k = q.shape
    return np.block([[np.zeros((p, p)), q], [-dagger(q), np.zeros((k, k))]])


def paired(a: Any, b: Any) -> Any:
    """((A, 0), (0, B))."""
    return np.block([[a, np.zeros((len(a), len(b)))], [np.zeros((len(b), len(a))), b]])


@cache
def stated(p: int, q: int, is_complex: bool, inertia: bool) -> tuple[Flow, Probe]:
    options = {"left_inertia": weighted(p).tolist(), "right_inertia": weighted(q).tolist()} if inertia else {}
    flow = grassmannian_flow(p, q, complex=is_complex, **options)
    return flow, Probe(derive(flow), {})


def real_form(a: Any, is_complex: bool) -> Any:
    return np.block([[a.real, -a.imag], [a.imag, a.real]]) if is_complex else a


def complex_form(a: Any, is_complex: bool) -> Any:
    rows, columns = a.shape[-2] // 2, a.shape[-1] // 2
    return a[..., :rows, :columns] + 1j * a[..., rows:, :columns] if is_complex else a


def library_rates(size: tuple[int, int, bool], q: Any, p: Any, inertia: bool) -> tuple[Any, Any]:
    """Q_dot and P_dot of the library."""
    found = flow_rates(*stated(*size, inertia), Q=real_form(q, size[2]), P=real_form(p, size[2]))
    return complex_form(found["Q"], size[2]), complex_form(found["P"], size[2])


@cache
def library_path(size: tuple[int, int, bool], inertia: bool) -> Path:
    """A motion of the library, with complex matrices."""
    _, _, q, p = next(cases((size,), 1))
    path = path_of(stated(*size, inertia)[0], Q=real_form(q, size[2]), P=real_form(p, size[2]))
    return Path(path.t, path.weights, {key: complex_form(path[key], size[2]) for key in ("Q", "P")})


# -- the spaces ----------------------------------------------------------------------------------------------------------


def unitary_basis(n: int, is_complex: bool) -> list[Any]:
    """A basis of u(n), or of so(n)."""
    found: list[Any] = []
    for i in range(n):
        for j in range(i + 1, n):
            e = np.zeros((n, n), dtype=complex)
            e[i, j], e[j, i] = 1, -1
            found += [e, 1j * np.abs(e)] if is_complex else [e]
        if is_complex:
            d = np.zeros((n, n), dtype=complex)
            d[i, i] = 1j
            found.append(d)
    return found


def rank(matrices: Any) -> int:
    """How many of some complex matrices are independent over the real numbers."""
    rows = np.array([np.concatenate([m.real.ravel(), m.imag.ravel()]) for m in matrices])
    return int(np.linalg.matrix_rank(rows, tol=1e-9))


def _quotient(is_complex: bool) -> tuple[float, float]:
    """Worst departures of the dimension of the planes from that of the quotient and from that of the whole product."""
    right, whole = [], []
    for p, q in ((2, 1), (2, 2), (3, 2)):
        n = p + q
        projector = np.diag([1.0] * p + [0.0] * q)
        found = rank([bracket(projector, e) for e in unitary_basis(n, is_complex)])
        sizes = [len(unitary_basis(k, is_complex)) for k in (n, q, p)]
        right.append(abs(found - (sizes[0] - sizes[1] - sizes[2])) + abs(found - (2 if is_complex else 1) * p * q))
        whole.append(abs(found - sum(sizes)))
    return worst(right), float(min(whole))


@claim(
    "B-7.7.17",
    "The complex Grassmannian is U(n+1)/(U(q) x U(p)), of dimension 2 p q",
    how="p, q up to 3: ranks of the motions of a projector under u(n+1), and dimensions of the groups",
)
def complex_grassmannian() -> float:
    return _quotient(True)[0]


@claim(
    "B-7.7.18",
    "The real Grassmannian (of oriented planes) is SO(n+1)/(SO(q) x SO(p)), of dimension p q; the print has no stroke",
    how="p, q up to 3: ranks of the motions of a projector under so(n+1), against the quotient and the product of the groups",
)
def real_grassmannian() -> Corrected:
    return Corrected(*_quotient(False))


@claim(
    "B-7.7.19",
    "The algebra is the orthogonal sum of m, the matrices (7.7.19), and k, the matrices (7.7.20)",
    how=f"{RANDOM}: dimensions and products of bases",
)
def blocks() -> float:
    def residual(random: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        rows, columns, is_complex = size
        k = [paired(a, 0 * np.eye(columns)) for a in unitary_basis(rows, is_complex)]
        k += [paired(0 * np.eye(rows), b) for b in unitary_basis(columns, is_complex)]
        m = [lifted(entries(random, *size)) for _ in range((2 if is_complex else 1) * rows * columns)]
        whole = len(unitary_basis(rows + columns, is_complex))
        return largest(float(rank(k + m) != whole or rank(k) + rank(m) != whole), *(abs(product(a, b)) for a in k for b in m))

    return over_cases(residual, count=1)


@claim(
    "B-7.7.20",
    "[P^, Q^] is in k, with the blocks -U = Q P^+ - P Q^+ in u(p) or so(p) and -V = Q^+ P - P^+ Q in u(q) or so(q)",
    how=f"{RANDOM}: brackets of block matrices; the blocks by their adjoints",
)
def blocks_of_the_bracket() -> float:
    def residual(_: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        inside = bracket(lifted(p), lifted(q))
        U, V = controls(q, p, False)
        return largest(gap(inside, paired(-U, -V)), *(np.max(np.abs(c + dagger(c))) for c in (U, V)))

    return over_cases(residual)


@claim(
    "B-Proposition-7.7.10",
    "[Q^, K^] is the velocity of exp(-t K^) Q^ exp(t K^); these vectors span the orbit of Q under U(p) x U(q), which keeps the"
    " singular values and has q dimensions less than the Grassmannian that the print names",
    how=f"{RANDOM}: complex steps of exponentials, ranks against p q - q and 2 p q - q, and against p q and 2 p q",
)
def grassmannian_tangents() -> Corrected:
    right, printed = [], []
    for random, (p, q, is_complex), place, _ in cases(count=1):
        a, b = turning(random, p, is_complex), turning(random, q, is_complex)
        K, Q = paired(a, b), lifted(place)
        h = 1e-3
        steps = [exponential(-s * h * K) @ Q @ exponential(s * h * K) for s in (-3, -2, -1, 1, 2, 3)]
        rate = sum(w * m for w, m in zip((-1, 9, -45, 45, -9, 1), steps, strict=True)) / (60 * h)
        vectors = [bracket(Q, paired(e, 0 * np.eye(q))) for e in unitary_basis(p, is_complex)]
        vectors += [bracket(Q, paired(0 * np.eye(p), e)) for e in unitary_basis(q, is_complex)]
        whole = (2 if is_complex else 1) * p * q
        values = [np.linalg.svd(m[:p, p:], compute_uv=False) for m in (steps[-1], Q)]
        right += [gap(rate, bracket(Q, K)), distance(*values), float(rank(vectors) != whole - q)]
        printed.append(float(abs(rank(vectors) - whole)))
    return Corrected(worst(right), min(printed))


@claim(
    "B-7.7-normal-planes",
    "The normal metric takes the part of K^ in the image of ad_Q^, which is the least K^ with that velocity",
    how=f"{RANDOM}: K^ less its kernel part by a dense least-squares solution, against U and V of P with the same velocity",
)
def normal_metric_of_planes() -> float:
    def residual(random: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        rows, columns, is_complex = size
        basis = [paired(e, 0 * np.eye(columns)) for e in unitary_basis(rows, is_complex)]
        basis += [paired(0 * np.eye(rows), e) for e in unitary_basis(columns, is_complex)]
        basis = [e / np.sqrt(product(e, e).real) for e in basis]
        Q = lifted(q)
        map_of = np.array([np.concatenate([v.real.ravel(), v.imag.ravel()]) for v in (bracket(Q, e) for e in basis)]).T
        K = paired(*(-c for c in controls(q, p, False)))
        velocity = bracket(Q, K)
        least = np.linalg.pinv(map_of, rcond=1e-10) @ np.concatenate([velocity.real.ravel(), velocity.imag.ravel()])
        return gap(sum(c * e for c, e in zip(least, basis, strict=True)), K)

    return over_cases(residual)


@claim(
    "B-7.7-inclusions",
    "[k, k] in k, [k, m] in m and [m, m] in k for Grassmannians; the third does not follow from the others, as in print",
    how=f"{RANDOM}: blocks of brackets; so(4) over so(2) has the first two alone",
)
def inclusions() -> Corrected:
    def residual(random: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        rows, columns, is_complex = size
        K, L = (paired(turning(random, rows, is_complex), turning(random, columns, is_complex)) for _ in range(2))
        outside = bracket(K, L)
        inside = bracket(K, lifted(q))
        both = bracket(lifted(q), lifted(p))
        parts = (outside[:rows, rows:], both[:rows, rows:], inside[:rows, :rows], inside[rows:, rows:])
        return worst(np.max(np.abs(part)) for part in parts)

    random = np.random.default_rng(7)
    k = np.zeros((4, 4))
    k[0, 1], k[1, 0] = 1, -1
    m = [skew(random, 4) for _ in range(2)]
    m = [a - a[0, 1] * k for a in m]
    reductive = bracket(k, m[0])[0, 1]
    across = bracket(*m)
    return Corrected(largest(over_cases(residual), reductive), float(np.max(np.abs(across - across[0, 1] * k))))


@claim(
    "B-7.7.21",
    "Q^_dot = [Q^, [P^, Q^]], P^_dot = [P^, [P^, Q^]] stay in m; they are Q_dot = U Q - Q V, P_dot = U P - P V with J = 1",
    how="real 3 x 2 and complex 2 x 2: the library's rates against brackets of block matrices",
)
def double_brackets_of_planes() -> float:
    def residual(_: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        inside = bracket(lifted(p), lifted(q))
        rates = library_rates(size, q, p, False)
        return largest(*(gap(bracket(lifted(m), inside), lifted(rate)) for m, rate in zip((q, p), rates, strict=True)))

    return over_cases(residual, LIBRARY)


@claim(
    "B-Proposition-7.7.11",
    "With J = 1 U and V stay, Q(t) = exp(t U) Q(0) exp(-t V), the singular values of Q stay, and so does the speed"
    " (|U|^2 + |V|^2)^1/2 in the normal metric",
    how="real 3 x 2 and complex 2 x 2: the library's motions against its closed form and exponentials",
)
def geodesics_of_planes() -> float:
    found = []
    for size in LIBRARY:
        path = library_path(size, False)
        U, V = controls(path["Q"], path["P"], False)
        closed = two_sided_motion(path["Q"][0], path["P"][0], path.t[::12])
        values = np.linalg.svd(path["Q"], compute_uv=False)
        found += [
            gap(U, np.broadcast_to(U[0], U.shape)),
            gap(V, np.broadcast_to(V[0], V.shape)),
            gap(path["Q"][::12], closed[0]),
            gap(path["P"][::12], closed[1]),
            gap(path["Q"][-1], exponential(SPAN * U[0]) @ path["Q"][0] @ exponential(-SPAN * V[0])),
            distance(values, np.broadcast_to(values[0], values.shape)),
        ]
    return worst(found)


@claim(
    "B-7.7.17-geodesics",
    "On the orbit of a projector, which is a Grassmannian, x_dot = [x, [p, x]] moves a plane so that its principal angles to"
    " the start grow as t times the singular values of the block of [p, x]",
    how="real and complex projectors: exponentials, angles by singular values of products of bases",
)
def principal_angles() -> float:
    found = []
    for random, (p, q, is_complex), _, _ in cases(count=1):
        n = p + q
        x = np.diag([1.0] * p + [0.0] * q)
        other = turning(random, n, is_complex) @ np.diag(np.arange(1.0, n + 1))
        u = bracket(other + dagger(other), x)
        t = 0.5 / max(np.linalg.svd(u, compute_uv=False))
        moved = exponential(-t * u)[:, :p]
        cosines = np.linalg.svd(moved[:p], compute_uv=False)
        expected = np.zeros(p)
        block = np.linalg.svd(u[:p, p:], compute_uv=False)
        expected[: len(block)] = t * block
        found += [distance(np.sort(cosines), np.sort(np.cos(expected))), gap(bracket(x, bracket(x, u)), u)]
    return worst(found)
