"""Bloch and others, Internet Supplement, section 7.7: matrices moved from both sides (7.7.22 to 7.7.32).

Random p x q matrices Q and P, real and complex, with J = 1 and with inertias. The library gives rates, energies and motions;
independent implementations are complex steps over real and imaginary parts, and dense solves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..independent.matrix_flows import APART, SPAN, bracket, gap
from ..numeric import derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim
from .section_7_7_symmetric_spaces import (
    LIBRARY,
    RANDOM,
    cases,
    controls,
    dagger,
    divided,
    library_path,
    library_rates,
    lifted,
    multiplied,
    over_cases,
    paired,
    product,
    real_form,
    stated,
    turning,
    unitary_basis,
)

STATED = "real 3 x 2 and complex 2 x 2, with inertias"


def parts(m: Any) -> Any:
    """Real and imaginary parts in one vector."""
    return np.concatenate([np.real(m).ravel(), np.imag(m).ravel()])


def joined(vector: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The real and the imaginary part of a matrix from one vector."""
    half = vector.size // 2
    return vector[:half].reshape(shape), vector[half:].reshape(shape)


def real_product(a: tuple[Any, Any], b: tuple[Any, Any]) -> Any:
    """The real part of <A, B>, where real and imaginary parts may themselves take complex steps."""
    return (np.sum(a[0] * b[0]) + np.sum(a[1] * b[1])) / 2


def times(a: Any, b: Any) -> tuple[Any, Any]:
    """A product of matrices given by real and imaginary parts."""
    return a[0] @ b[0] - a[1] @ b[1], a[0] @ b[1] + a[1] @ b[0]


def split(m: Any) -> tuple[Any, Any]:
    return np.real(m), np.imag(m)


def moved(U: Any, V: Any, q: Any) -> tuple[Any, Any]:
    """U Q - Q V by parts."""
    left, right = times(U, q), times(q, V)
    return left[0] - right[0], left[1] - right[1]


def best_controls(q: Any, p: Any, size: tuple[int, int, bool], factor: float) -> tuple[Any, Any]:
    """U and V that make Re <P, U Q - Q V> - factor (<U, J U> + <V, J V>) stationary, by a dense solve over a basis."""
    found = []
    for place, count in ((0, size[0]), (1, size[1])):
        basis = unitary_basis(count, size[2])
        pairs = [(e, 0 * np.eye(size[1])) if place == 0 else (0 * np.eye(size[0]), e) for e in basis]
        linear = [product(p, a @ q - q @ b).real for a, b in pairs]
        quadratic = [[2 * factor * product(e, multiplied(f, True)).real for f in basis] for e in basis]
        weights: Any = np.linalg.solve(quadratic, linear) if basis else []
        found.append(sum((w * e for w, e in zip(weights, basis, strict=True)), np.zeros((count, count), dtype=complex)))
    return found[0], found[1]


@claim(
    "B-7.7.22",
    "Along (7.7.25) the first variation of the cost, the integral of 1/4 (<U, J_U U> + <V, J_V V>), vanishes for all variations"
    " with fixed ends of Q; with J = 1 in its place it does not",
    how=f"{STATED}: the library's motions, U + s (a_dot + [a, U]) and V + s (b_dot + [b, V]) under quadrature",
)
def stationary_cost() -> float:
    found, other = [], []
    for size in LIBRARY:
        path = library_path(size, True)
        U, V = (
            np.array(c) for c in zip(*(controls(q, p, True) for q, p in zip(path["Q"], path["P"], strict=True)), strict=True)
        )
        wave, rate = np.sin(np.pi * path.t / SPAN), np.pi / SPAN * np.cos(np.pi * path.t / SPAN)
        for control, count in ((U, size[0]), (V, size[1])):
            for e in unitary_basis(count, size[2]):
                change = rate[:, None, None] * e + wave[:, None, None] * bracket(e, control)
                found.append(path.integral(product(multiplied(control, True), change).real) / 2)
                other.append(abs(path.integral(product(control, change).real)) / 2)
    return largest(worst(found), excess(APART - max(other)))


@claim(
    "B-7.7.23",
    "Q_dot = U Q - Q V keeps the singular values of Q, whatever U and V are; the library's motions with inertias do so",
    how=f"{STATED}: rates of tr (Q^+ Q)^k for random U and V, singular values along motions",
)
def controlled_matrices() -> float:
    def residual(random: Any, size: tuple[int, int, bool], q: Any, _: Any) -> float:
        U, V = (turning(random, n, size[2]) for n in size[:2])
        rate = U @ q - q @ V
        square = dagger(q) @ q
        change = dagger(rate) @ q + dagger(q) @ rate
        return worst(abs(np.trace(np.linalg.matrix_power(square, k) @ change)) for k in range(size[1]))

    values = [np.linalg.svd(library_path(size, True)["Q"], compute_uv=False) for size in LIBRARY]
    return largest(over_cases(residual), *(distance(v, np.broadcast_to(v[0], v.shape)) for v in values))


@claim(
    "B-7.7.24",
    "U = J_U^-1 (P Q^+ - Q P^+), V = J_V^-1 (P^+ Q - Q^+ P)",
    how=f"{RANDOM} with inertias: dense solves over bases of u(p), u(q), so(p), so(q) for the cost 1/4 (...)",
)
def optimal_controls() -> float:
    def residual(_: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        return worst(gap(a, b) for a, b in zip(best_controls(q, p, size, 0.25), controls(q, p, True), strict=True))

    return over_cases(residual)


@claim(
    "B-7.7.25",
    "Q_dot = U Q - Q V and P_dot = U P - P V with the controls (7.7.24)",
    how=f"{STATED}: the library's rates",
)
def optimal_evolution() -> float:
    def residual(_: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        U, V = controls(q, p, True)
        rates = library_rates(size, q, p, True)
        return worst(gap(rate, U @ m - m @ V) for m, rate in zip((q, p), rates, strict=True))

    return over_cases(residual, LIBRARY)


@claim(
    "B-7.7.26",
    "H = Re <P, U Q - Q V> - 1/4 <U, J_U U> - 1/4 <V, J_V V> is stationary at (7.7.24); the print has 1/2 in both places",
    how=f"{RANDOM} with inertias: dense solves for U and V with either factor",
)
def control_hamiltonian() -> Corrected:
    def residual(_: Any, size: Any, q: Any, p: Any, factor: float) -> float:
        return worst(gap(a, b) for a, b in zip(best_controls(q, p, size, factor), controls(q, p, True), strict=True))

    def over(factor: float) -> float:
        return over_cases(lambda random, size, q, p: residual(random, size, q, p, factor))

    return Corrected(over(0.25), over(0.5))


@claim(
    "B-7.7.27",
    "Re <P, Y Q> = 1/2 <Y, J_U U> for all Y in u(p), whose right side is real; <P, Y Q> itself is not real along optimal"
    " motions, unless everything is",
    how="complex 2 x 2: the library's motion and all Y of a basis; the imaginary part of <P, Y Q> for the print",
)
def real_pairing() -> Corrected:
    right, printed = [], []
    size = LIBRARY[1]
    path = library_path(size, True)
    for q, p in zip(path["Q"][::12], path["P"][::12], strict=True):
        JU = multiplied(controls(q, p, True)[0], True)
        for Y in unitary_basis(size[0], True):
            right += [distance(product(p, Y @ q).real, product(Y, JU).real / 2), abs(product(Y, JU).imag)]
        printed.append(worst(abs(product(p, Y @ q).imag) for Y in unitary_basis(size[0], True)))
    return Corrected(worst(right), min(printed))


@claim(
    "B-7.7.27-conjugates",
    "<P, Y Q> = 1/2 conj<Y, P Q^+> - 1/2 <Y, Q P^+> for Y in u(p), and its conjugate",
    how=f"{RANDOM}: random Y",
)
def conjugate_pairing() -> float:
    def residual(random: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        Y = turning(random, size[0], size[2])
        found = np.conj(product(Y, p @ dagger(q))) / 2 - product(Y, q @ dagger(p)) / 2
        other = product(Y, p @ dagger(q)) / 2 - np.conj(product(Y, q @ dagger(p))) / 2
        return largest(gap(found, product(p, Y @ q)), gap(other, np.conj(product(p, Y @ q))))

    return over_cases(residual)


@claim(
    "B-7.7.28",
    "Re <P, Y Q> = 1/4 conj<Y, P Q^+ - Q P^+> + 1/4 <Y, P Q^+ - Q P^+>; the print has the complex <P, Y Q> on the left",
    how="random complex Q, P and Y",
)
def mean_pairing() -> Corrected:
    right, printed = [], []
    for random, size, q, p in cases(((2, 2, True), (3, 2, True))):
        Y = turning(random, size[0], True)
        whole = product(Y, p @ dagger(q) - q @ dagger(p))
        mean = np.conj(whole) / 4 + whole / 4
        right.append(gap(mean, product(p, Y @ q).real))
        printed.append(gap(mean, product(p, Y @ q)))
    return Corrected(worst(right), min(printed))


@claim(
    "B-7.7.29",
    "<Z, Q_dot> = dH/dP (Z) = <Z, U Q - Q V> and <P_dot, Z> = -dH/dQ (Z) = <U P - P V, Z>",
    how=f"{STATED}: complex steps over real and imaginary parts of H with U and V held, against the library's rates",
)
def canonical_equations() -> float:
    def residual(_: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        U, V = (split(c) for c in controls(q, p, True))
        by_p = derivative(lambda z: real_product(joined(z, q.shape), moved(U, V, split(q))), parts(p))
        by_q = derivative(lambda z: real_product(split(p), moved(U, V, joined(z, q.shape))), parts(q))
        q_dot, p_dot = library_rates(size, q, p, True)
        # The derivatives are those of the product without its half.
        kept = slice(None) if size[2] else slice(q.size)
        return largest(distance(2 * by_p[kept], parts(q_dot)[kept]), distance(-2 * by_q[kept], parts(p_dot)[kept]))

    return over_cases(residual, LIBRARY)


@claim(
    "B-Theorem-7.7.13",
    "With the best controls H is 1/4 (<U, J_U U> + <V, J_V V>); the library's rates are canonical for it, and it stays",
    how=f"{STATED}: complex steps over real and imaginary parts, the library's energy and motions",
)
def reduced_hamiltonian() -> float:
    def energy(q: Any, p: Any) -> Any:
        """H with U and V of (7.7.24), by parts that may take complex steps."""
        adjoint = [(m[0].T, -m[1].T) for m in (q, p)]
        found = 0.0
        for a, b in ((times(p, adjoint[0]), times(q, adjoint[1])), (times(adjoint[1], q), times(adjoint[0], p))):
            moment = a[0] - b[0], a[1] - b[1]
            found = found + real_product(moment, (divided(moment[0], True), divided(moment[1], True))) / 4
        return found

    def residual(_: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        kept = slice(None) if size[2] else slice(q.size)
        q_dot, p_dot = library_rates(size, q, p, True)
        flow, probe = stated(*size, True)
        start = flow.start(Q=real_form(q, size[2]), P=real_form(p, size[2]))
        state = [start[symbol.name] for symbol in flow.coordinates]
        return largest(
            distance(2 * derivative(lambda z: energy(split(q), joined(z, q.shape)), parts(p))[kept], parts(q_dot)[kept]),
            distance(-2 * derivative(lambda z: energy(joined(z, q.shape), split(p)), parts(q))[kept], parts(p_dot)[kept]),
            distance(probe.value([flow.integrals["energy"]], 0.0, state), energy(split(q), split(p))),
        )

    kept = []
    for size in LIBRARY:
        path = library_path(size, True)
        values = [energy(split(q), split(p)) for q, p in zip(path["Q"][::8], path["P"][::8], strict=True)]
        kept.append(distance(values, values[0]))
    return largest(over_cases(residual, LIBRARY), *kept)


@claim(
    "B-7.7.30",
    "With J = 1 (Corollary 7.7.14), Q_dot = P Q^+ Q + Q Q^+ P - 2 Q P^+ Q and P_dot = 2 P Q^+ P - Q P^+ P - P P^+ Q",
    how="real 3 x 2 and complex 2 x 2: the library's rates",
)
def unit_inertia() -> float:
    def residual(_: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        qs, ps = dagger(q), dagger(p)
        q_dot, p_dot = library_rates(size, q, p, False)
        return largest(
            gap(q_dot, p @ qs @ q + q @ qs @ p - 2 * q @ ps @ q), gap(p_dot, 2 * p @ qs @ p - q @ ps @ p - p @ ps @ q)
        )

    return over_cases(residual, LIBRARY)


@claim(
    "B-7.7.31",
    "(7.7.25) are Q^_dot = [Q^, J^-1 [P^, Q^]], P^_dot = [P^, J^-1 [P^, Q^]] with J = diag(J_U, J_V) (Corollary 7.7.15)",
    how=f"{STATED}: the library's rates against brackets of block matrices",
)
def double_double_brackets() -> float:
    def residual(_: Any, size: tuple[int, int, bool], q: Any, p: Any) -> float:
        inside = bracket(lifted(p), lifted(q))
        n = size[0]
        divided_inside = paired(divided(inside[:n, :n], True), divided(inside[n:, n:], True))
        rates = library_rates(size, q, p, True)
        return worst(gap(bracket(lifted(m), divided_inside), lifted(rate)) for m, rate in zip((q, p), rates, strict=True))

    return over_cases(residual, LIBRARY)


@claim(
    "B-7.7.32",
    "Q^ is in u(p + q) with the eigenvalues +-i sigma of the singular values of Q, and they stay, so that Q keeps its rank",
    how=f"{STATED}: eigenvalues along the library's motions",
)
def spectrum_of_the_lift() -> float:
    found = []
    for size in LIBRARY:
        for q in library_path(size, True)["Q"][::12]:
            sigma = np.linalg.svd(library_path(size, True)["Q"][0], compute_uv=False)
            expected = np.sort(np.concatenate([sigma, -sigma, np.zeros(size[0] - size[1])]))
            found += [distance(np.linalg.eigvalsh(1j * lifted(q)), expected), excess(APART - sigma[-1])]
    return worst(found)
