"""Bloch and others, Internet Supplement, section 7.7: optimal control on symmetric spaces (7.7.17
to 7.7.21).

Random p x q matrices Q and P, real and complex, with J = 1 and with inertias. The library gives
rates, energies and motions; independent implementations are block matrices, complex steps over real
and imaginary parts, exponentials and ranks. Where matrices are complex, the Hamiltonian is the real
part of what is printed, with <A, B> = tr(A^+ B)/2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ....formulations.registry import derive
from ....geometry.exact_flows import two_sided_motion
from ....model.builders.symmetric_spaces import grassmannian_flow
from ....model.flow_system import Flow
from ....typing import Array
from ...independent.matrix_flows import (
    SPAN,
    SampledPath,
    bracket,
    exponential,
    flow_rates,
    gap,
    path_of,
    skew,
)
from ...numeric import Probe, Residual, Residuals, distance
from ...row_registry import Corrected, listed
from ...samples import Sampler
from .section_7_7_samples import Entries, gaps, still


class Size(NamedTuple):
    """The shape of a matrix, and whether its entries are complex."""

    rows: int
    columns: int
    is_complex: bool

    @property
    def dimension(self) -> int:
        """Of the matrices of this size over the real numbers."""
        return (2 if self.is_complex else 1) * self.rows * self.columns


class Case(NamedTuple):
    """Random Q and P of a size, with a source of further numbers."""

    random: Generator
    size: Size
    q: Entries
    p: Entries


LIBRARY = [Size(3, 2, False), Size(2, 2, True)]
SIZES = [Size(2, 1, False), LIBRARY[0], Size(3, 3, False), LIBRARY[1], Size(3, 2, True)]


def dagger(a: Entries) -> Entries:
    return np.conj(np.swapaxes(a, -1, -2))


def product(a: Entries, b: Entries) -> Any:
    """<A, B> = tr(A^+ B)/2, complex; stacks give a number each."""
    return np.sum(np.conj(a) * b, axis=(-2, -1)) / 2


def weighted(size: int) -> Array:
    """The numbers l_i of an inertia J(U)_ij = (l_i + l_j) U_ij / 2."""
    return 1 + np.arange(size) / 2


def divided(moment: Entries, inertia: bool = True) -> Entries:
    """J^-1 of a moment."""
    numbers = weighted(moment.shape[-1])
    return 2 * moment / (numbers[:, None] + numbers) if inertia else moment


def multiplied(velocity: Entries) -> Entries:
    """J of a velocity."""
    numbers = weighted(velocity.shape[-1])
    return velocity * (numbers[:, None] + numbers) / 2


def controls(q: Entries, p: Entries, inertia: bool) -> tuple[Entries, Entries]:
    """U and V of (7.7.24)."""
    moments = p @ dagger(q) - q @ dagger(p), dagger(p) @ q - dagger(q) @ p
    return divided(moments[0], inertia), divided(moments[1], inertia)


def entries(random: Generator, size: Size) -> Entries:
    found = 0.6 * random.standard_normal(size[:2])
    return found + 1j * 0.6 * random.standard_normal(size[:2]) if size.is_complex else found


def turning(random: Generator, n: int, is_complex: bool) -> Entries:
    """A random element of u(n), or of so(n)."""
    half = skew(random, n)
    if not is_complex:
        return np.asarray(half)
    other = random.standard_normal((n, n))
    return np.asarray(half + 0.5j * (other + other.T))


def drawn(sizes: Iterable[Size] = SIZES, count: int = 2) -> Iterator[Case]:
    """New cases of each size; what is drawn from `random` meanwhile changes those that follow."""
    for number, size in enumerate(sizes):
        random = np.random.default_rng(772 + number)
        for _ in range(count):
            yield Case(random, size, entries(random, size), entries(random, size))


cases: Sampler[Case] = Sampler(lambda kind: drawn())
library_cases: Sampler[Case] = Sampler(lambda kind: drawn(LIBRARY))


def lifted(q: Entries) -> Entries:
    """((0, Q), (-Q^+, 0))."""
    p, k = q.shape
    return np.block([[np.zeros((p, p)), q], [-dagger(q), np.zeros((k, k))]])


def paired(a: Entries, b: Entries) -> Entries:
    """((A, 0), (0, B))."""
    return np.block([[a, np.zeros((len(a), len(b)))], [np.zeros((len(b), len(a))), b]])


@cache
def stated(size: Size, inertia: bool) -> tuple[Flow, Probe]:
    """The library's flow of matrices of a size, and a probe of it."""
    sides = {"left_inertia": weighted(size.rows), "right_inertia": weighted(size.columns)}
    options: dict[str, Any] = {key: side.tolist() for key, side in sides.items() if inertia}
    flow = grassmannian_flow(*size[:2], complex=size.is_complex, **options)
    return flow, Probe(derive(flow), {})


def real_form(a: Entries, is_complex: bool) -> Array:
    return np.block([[a.real, -a.imag], [a.imag, a.real]]) if is_complex else a.real


def complex_form(a: Array, is_complex: bool) -> Entries:
    rows, columns = a.shape[-2] // 2, a.shape[-1] // 2
    return a[..., :rows, :columns] + 1j * a[..., rows:, :columns] if is_complex else a


def library_rates(s: Case, inertia: bool) -> tuple[Entries, Entries]:
    """Q_dot and P_dot of the library."""
    is_complex = s.size.is_complex
    Q, P = real_form(s.q, is_complex), real_form(s.p, is_complex)
    found = flow_rates(*stated(s.size, inertia), Q=Q, P=P)
    return complex_form(found["Q"], is_complex), complex_form(found["P"], is_complex)


@cache
def library_path(size: Size, inertia: bool) -> SampledPath:
    """A motion of the library, with complex matrices."""
    _, _, q, p = next(drawn([size], 1))
    Q, P = real_form(q, size.is_complex), real_form(p, size.is_complex)
    path = path_of(stated(size, inertia)[0], Q=Q, P=P)
    matrices = {key: complex_form(path[key], size.is_complex) for key in ("Q", "P")}
    return SampledPath(path.t, path.weights, matrices)


# -- the spaces ------------------------------------------------------------------------------------


def unitary_basis(n: int, is_complex: bool) -> list[Entries]:
    """A basis of u(n), or of so(n)."""
    found: list[Entries] = []
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


def isotropy_basis(size: Size) -> list[Entries]:
    """A basis of k, the matrices (7.7.20)."""
    p, q, is_complex = size
    found = [paired(e, 0 * np.eye(q)) for e in unitary_basis(p, is_complex)]
    return found + [paired(0 * np.eye(p), e) for e in unitary_basis(q, is_complex)]


def parts(m: Entries) -> Array:
    """Real and imaginary parts in one vector."""
    return np.concatenate([np.real(m).ravel(), np.imag(m).ravel()])


def rank(matrices: Sequence[Entries]) -> int:
    """How many of some complex matrices are independent over the real numbers."""
    return int(np.linalg.matrix_rank(np.array([parts(m) for m in matrices]), tol=1e-9))


@listed("B-7.7.17")
def complex_grassmannian() -> Residual:
    return _quotient(True).residual


@listed("B-7.7.18")
def real_grassmannian() -> Corrected:
    return _quotient(False)


def _quotient(is_complex: bool) -> Corrected:
    """The dimension of the planes against that of the quotient and that of the whole product."""
    right, whole = [], []
    for p, q in ((2, 1), (2, 2), (3, 2)):
        n, size = p + q, Size(p, q, is_complex)
        projector = np.diag([1.0] * p + [0.0] * q)
        found = rank([bracket(projector, e) for e in unitary_basis(n, is_complex)])
        sizes = [len(unitary_basis(k, is_complex)) for k in (n, q, p)]
        right += [found - (sizes[0] - sizes[1] - sizes[2]), found - size.dimension]
        whole.append(abs(found - sum(sizes)))
    return Corrected(right, min(whole))


@listed("B-7.7.19")
def blocks() -> Residuals:
    for random, size, _, _ in drawn(count=1):
        k, whole = isotropy_basis(size), len(unitary_basis(sum(size[:2]), size.is_complex))
        m = [lifted(entries(random, size)) for _ in range(size.dimension)]
        yield float(rank(k + m) != whole or rank(k) + rank(m) != whole)
        yield [abs(product(a, b)) for a in k for b in m]


@listed("B-7.7.20", over=cases)
def blocks_of_the_bracket(s: Case) -> Residual:
    U, V = controls(s.q, s.p, False)
    inside = bracket(lifted(s.p), lifted(s.q))
    return gap(inside, paired(-U, -V)), *(np.abs(c + dagger(c)) for c in (U, V))


@listed("B-Proposition-7.7.10")
def grassmannian_tangents() -> Corrected:
    right, printed = [], []
    for random, size, place, _ in drawn(count=1):
        p, q, is_complex = size
        a, b = turning(random, p, is_complex), turning(random, q, is_complex)
        K, Q = paired(a, b), lifted(place)
        h = 1e-3
        times = (-3, -2, -1, 1, 2, 3)
        steps = [exponential(-s * h * K) @ Q @ exponential(s * h * K) for s in times]
        rate = sum(w * m for w, m in zip((-1, 9, -45, 45, -9, 1), steps, strict=True)) / (60 * h)
        count = rank([bracket(Q, e) for e in isotropy_basis(size)])
        values = [np.linalg.svd(m[:p, p:], compute_uv=False) for m in (steps[-1], Q)]
        right += [gap(rate, bracket(Q, K)), distance(*values), count - size.dimension + q]
        printed.append(float(abs(count - size.dimension)))
    return Corrected(right, min(printed))


@listed("B-7.7-normal-planes", over=cases)
def normal_metric_of_planes(s: Case) -> Residual:
    basis = [e / np.sqrt(product(e, e).real) for e in isotropy_basis(s.size)]
    Q, K = lifted(s.q), paired(*(-c for c in controls(s.q, s.p, False)))
    map_of = np.array([parts(bracket(Q, e)) for e in basis]).T
    least = np.linalg.pinv(map_of, rcond=1e-10) @ parts(bracket(Q, K))
    return gap(sum(c * e for c, e in zip(least, basis, strict=True)), K)


@listed("B-7.7-inclusions")
def inclusions() -> Corrected:
    found: list[Residual] = []
    for random, (n, columns, is_complex), q, p in drawn():
        K, L = (
            paired(turning(random, n, is_complex), turning(random, columns, is_complex))
            for _ in range(2)
        )
        outside, inside, both = bracket(K, L), bracket(K, lifted(q)), bracket(lifted(q), lifted(p))
        blocks = (outside[:n, n:], both[:n, n:], inside[:n, :n], inside[n:, n:])
        found += [np.abs(block) for block in blocks]
    random = np.random.default_rng(7)
    k = np.zeros((4, 4))
    k[0, 1], k[1, 0] = 1, -1
    m = [skew(random, 4) for _ in range(2)]
    m = [a - a[0, 1] * k for a in m]
    across = bracket(*m)
    return Corrected((found, bracket(k, m[0])[0, 1]), across - across[0, 1] * k)


@listed("B-7.7.21", over=library_cases)
def double_brackets_of_planes(s: Case) -> Residual:
    inside = bracket(lifted(s.p), lifted(s.q))
    found = (bracket(lifted(m), inside) for m in (s.q, s.p))
    return gaps(found, map(lifted, library_rates(s, False)))


@listed("B-Proposition-7.7.11")
def geodesics_of_planes() -> Residuals:
    for size in LIBRARY:
        path = library_path(size, False)
        start, (U, V) = path["Q"][0], controls(path["Q"], path["P"], False)
        closed = two_sided_motion(start, path["P"][0], path.t[::12])
        end = exponential(SPAN * U[0]) @ start @ exponential(-SPAN * V[0])
        yield still(U), still(V), gap(path["Q"][-1], end)
        yield gaps((path["Q"][::12], path["P"][::12]), closed)
        yield still(np.linalg.svd(path["Q"], compute_uv=False))


@listed("B-7.7.17-geodesics")
def principal_angles() -> Residuals:
    for random, (p, q, is_complex), _, _ in drawn(count=1):
        n = p + q
        x = np.diag([1.0] * p + [0.0] * q)
        other = turning(random, n, is_complex) @ np.diag(np.arange(1.0, n + 1))
        u = bracket(other + dagger(other), x)
        t = 0.5 / max(np.linalg.svd(u, compute_uv=False))
        cosines = np.linalg.svd(exponential(-t * u)[:p, :p], compute_uv=False)
        expected = np.zeros(p)
        block = np.linalg.svd(u[:p, p:], compute_uv=False)
        expected[: len(block)] = t * block
        yield distance(np.sort(cosines), np.sort(np.cos(expected)))
        yield gap(bracket(x, bracket(x, u)), u)
