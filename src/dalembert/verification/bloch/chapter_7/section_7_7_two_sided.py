"""Bloch and others, Internet Supplement, section 7.7: matrices moved from both sides (7.7.22 to
7.7.32).

Random p x q matrices Q and P, real and complex, with J = 1 and with inertias. The library gives
rates, energies and motions; independent implementations are complex steps over real and imaginary
parts, and dense solves.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ....typing import Array
from ...independent.matrix_flows import APART, bracket, gap
from ...numeric import Residual, Residuals, derivative, distance, excess
from ...row_registry import Corrected, listed
from .section_7_7_samples import Entries, gaps, still, wave
from .section_7_7_symmetric_spaces import (
    LIBRARY,
    Case,
    Size,
    cases,
    controls,
    dagger,
    divided,
    drawn,
    library_cases,
    library_path,
    library_rates,
    lifted,
    multiplied,
    paired,
    parts,
    product,
    real_form,
    stated,
    turning,
    unitary_basis,
)

#: A matrix by its real and its imaginary part, which may themselves take complex steps.
Parts: TypeAlias = tuple[Entries, Entries]


def joined(vector: Entries, shape: tuple[int, ...]) -> Parts:
    """The real and the imaginary part of a matrix from one vector."""
    half = vector.size // 2
    return vector[:half].reshape(shape), vector[half:].reshape(shape)


def split(m: Entries) -> Parts:
    return np.real(m), np.imag(m)


def real_product(a: Parts, b: Parts) -> Any:
    """The real part of <A, B>."""
    return (np.sum(a[0] * b[0]) + np.sum(a[1] * b[1])) / 2


def times(a: Parts, b: Parts) -> Parts:
    """A product of matrices."""
    return a[0] @ b[0] - a[1] @ b[1], a[0] @ b[1] + a[1] @ b[0]


def difference(a: Parts, b: Parts) -> Parts:
    return a[0] - b[0], a[1] - b[1]


def moved(U: Parts, V: Parts, q: Parts) -> Parts:
    """U Q - Q V."""
    return difference(times(U, q), times(q, V))


def best_controls(s: Case, factor: float) -> list[Entries]:
    """U and V where Re <P, U Q - Q V> - factor (<U, J U> + <V, J V>) is stationary, densely."""
    found, (rows, columns, is_complex) = [], s.size
    for left, count in ((True, rows), (False, columns)):
        basis = unitary_basis(count, is_complex)
        moves = (
            [e @ s.q - s.q @ np.zeros((columns, columns)) for e in basis]
            if left
            else [np.zeros((rows, rows)) @ s.q - s.q @ e for e in basis]
        )
        linear = [product(s.p, move).real for move in moves]
        quadratic = [[2 * factor * product(e, multiplied(f)).real for f in basis] for e in basis]
        weights: Any = np.linalg.solve(quadratic, linear) if basis else []
        zero = np.zeros((count, count), dtype=complex)
        found.append(sum((w * e for w, e in zip(weights, basis, strict=True)), zero))
    return found


@listed("B-7.7.22")
def stationary_cost() -> Residual:
    found, other = [], []
    for size in LIBRARY:
        path = library_path(size, True)
        each = [controls(q, p, True) for q, p in zip(path["Q"], path["P"], strict=True)]
        shape, rate = wave(path)
        for control, count in zip(map(np.array, zip(*each, strict=True)), size[:2], strict=True):
            for e in unitary_basis(count, size.is_complex):
                change = rate * e + shape * bracket(e, control)
                found.append(path.integral(product(multiplied(control), change).real) / 2)
                other.append(abs(path.integral(product(control, change).real)) / 2)
    return found, excess(APART - max(other))


@listed("B-7.7.23")
def controlled_matrices() -> Residual:
    found = []
    for random, size, q, _ in drawn():
        U, V = (turning(random, n, size.is_complex) for n in size[:2])
        rate = U @ q - q @ V
        square, change = dagger(q) @ q, dagger(rate) @ q + dagger(q) @ rate
        powers = (np.linalg.matrix_power(square, k) for k in range(size.columns))
        found += [abs(np.trace(power @ change)) for power in powers]
    values = (np.linalg.svd(library_path(size, True)["Q"], compute_uv=False) for size in LIBRARY)
    return found, *map(still, values)


@listed("B-7.7.24", over=cases)
@listed("B-7.7.26", over=cases, misprint={"factor": 0.5})
def optimal_controls(s: Case, factor: float = 0.25) -> Residual:
    return gaps(best_controls(s, factor), controls(s.q, s.p, True))


@listed("B-7.7.25", over=library_cases)
def optimal_evolution(s: Case) -> Residual:
    U, V = controls(s.q, s.p, True)
    return gaps(library_rates(s, True), (U @ m - m @ V for m in (s.q, s.p)))


@listed("B-7.7.27")
def real_pairing() -> Corrected:
    right, printed = [], []
    path, basis = library_path(LIBRARY[1], True), unitary_basis(LIBRARY[1].rows, True)
    for q, p in zip(path["Q"][::12], path["P"][::12], strict=True):
        JU = multiplied(controls(q, p, True)[0])
        for Y in basis:
            whole = product(Y, JU)
            right += [distance(product(p, Y @ q).real, whole.real / 2), abs(whole.imag)]
        printed.append(max(abs(product(p, Y @ q).imag) for Y in basis))
    return Corrected(right, min(printed))


@listed("B-7.7.27-conjugates")
def conjugate_pairing() -> Residuals:
    for random, size, q, p in drawn():
        Y = turning(random, size.rows, size.is_complex)
        first, second = product(Y, p @ dagger(q)), product(Y, q @ dagger(p))
        values = np.conj(first) / 2 - second / 2, first / 2 - np.conj(second) / 2
        yield gaps(values, (product(p, Y @ q), np.conj(product(p, Y @ q))))


@listed("B-7.7.28")
def mean_pairing() -> Corrected:
    right, printed = [], []
    for random, size, q, p in drawn([Size(2, 2, True), Size(3, 2, True)]):
        Y = turning(random, size.rows, True)
        whole = product(Y, p @ dagger(q) - q @ dagger(p))
        mean = np.conj(whole) / 4 + whole / 4
        right.append(gap(mean, product(p, Y @ q).real))
        printed.append(gap(mean, product(p, Y @ q)))
    return Corrected(right, min(printed))


def _canonical_gaps(s: Case, by_q: Array, by_p: Array) -> list[float]:
    """Twice the derivatives of a real H by parts of Q and P, as -P_dot and Q_dot of the library.

    The derivatives are those of the product without its half.
    """
    kept = slice(None) if s.size.is_complex else slice(s.q.size)
    q_dot, p_dot = (parts(rate)[kept] for rate in library_rates(s, True))
    return [distance(2 * by_p[kept], q_dot), distance(-2 * by_q[kept], p_dot)]


@listed("B-7.7.29", over=library_cases)
def canonical_equations(s: Case) -> Residual:
    (U, V), (q, p), shape = map(split, controls(s.q, s.p, True)), map(split, s[2:]), s.q.shape
    by_p = derivative(lambda z: real_product(joined(z, shape), moved(U, V, q)), parts(s.p))
    by_q = derivative(lambda z: real_product(p, moved(U, V, joined(z, shape))), parts(s.q))
    return _canonical_gaps(s, by_q, by_p)


def _energy(q: Parts, p: Parts) -> Any:
    """H with U and V of (7.7.24)."""
    qs, ps = ((m[0].T, -m[1].T) for m in (q, p))
    found = 0.0
    for a, b in ((times(p, qs), times(q, ps)), (times(ps, q), times(qs, p))):
        moment = difference(a, b)
        found = found + real_product(moment, (divided(moment[0]), divided(moment[1]))) / 4
    return found


@listed("B-Theorem-7.7.13")
def reduced_hamiltonian() -> Residual:
    def residual(s: Case) -> Residual:
        (q, p), shape = map(split, s[2:]), s.q.shape
        by_p = derivative(lambda z: _energy(q, joined(z, shape)), parts(s.p))
        by_q = derivative(lambda z: _energy(joined(z, shape), p), parts(s.q))
        flow, probe = stated(s.size, True)
        Q, P = (real_form(m, s.size.is_complex) for m in s[2:])
        start = flow.start(Q=Q, P=P)
        state = [start[symbol.name] for symbol in flow.coordinates]
        own = probe.value([flow.integrals["energy"]], 0.0, state)
        return *_canonical_gaps(s, by_q, by_p), distance(own, _energy(q, p))

    kept = []
    for size in LIBRARY:
        path = library_path(size, True)
        pairs = zip(path["Q"][::8], path["P"][::8], strict=True)
        kept.append(still(np.array([_energy(split(q), split(p)) for q, p in pairs])))
    return library_cases.worst(residual), *kept


@listed("B-7.7.30", over=library_cases)
def unit_inertia(s: Case) -> Residual:
    _, _, q, p = s
    qs, ps = dagger(q), dagger(p)
    q_dot = p @ qs @ q + q @ qs @ p - 2 * q @ ps @ q
    return gaps(library_rates(s, False), (q_dot, 2 * p @ qs @ p - q @ ps @ p - p @ ps @ q))


@listed("B-7.7.31", over=library_cases)
def double_double_brackets(s: Case) -> Residual:
    inside, n = bracket(lifted(s.p), lifted(s.q)), s.size.rows
    divisor = paired(divided(inside[:n, :n]), divided(inside[n:, n:]))
    found = (bracket(lifted(m), divisor) for m in (s.q, s.p))
    return gaps(found, map(lifted, library_rates(s, True)))


@listed("B-7.7.32")
def spectrum_of_the_lift() -> Residuals:
    for size in LIBRARY:
        matrices = library_path(size, True)["Q"][::12]
        sigma = np.linalg.svd(matrices[0], compute_uv=False)
        zeros = np.zeros(size.rows - size.columns)
        expected = np.sort(np.concatenate([sigma, -sigma, zeros]))
        spectra = (np.linalg.eigvalsh(1j * lifted(q)) for q in matrices)
        yield excess(APART - sigma[-1]), *(distance(values, expected) for values in spectra)
