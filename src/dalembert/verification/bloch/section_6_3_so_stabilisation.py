"""Bloch and others, Internet Supplement, section 6.3: stabilisation of Brockett's form on so(n).

Random vectors x and skew matrices Y of three to six rows. The library gives rates, motions and the algorithm; independent
implementations are brackets in so(n + 1), eigenvalues by NumPy, exponentials in closed form and SciPy's integration of the
printed example.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ...control.steering.so_feedback import stabilise_so
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.builders.brockett_form import brockett_form, brockett_law
from ...model.symbols import Parameter
from ..numeric import Probe, distance, excess, largest, worst
from ..row_registry import Corrected, claim

SIZES = (3, 4, 5, 6)
RANDOM = "random x and skew Y, n = 3 to 6"

#: The example in print: the start, and what it says of t = 2.
X0 = np.array([0.2, 1.1, 1.1])
Y0 = np.array([[0.0, 0.1, -0.2], [-0.1, 0.0, 3.0], [0.2, -3.0, 0.0]])
PRINTED_X = np.array([-0.1076, 1.0966, 1.0726])
PRINTED_Y = np.array([[0.0, 0.4359, 0.1346], [-0.4359, 0.0, 2.9738], [-0.1346, -2.9738, 0.0]])


@cache
def pair(n: int) -> tuple[Any, Any]:
    """A random x and a random skew Y."""
    random = np.random.default_rng(40 + n)
    square = random.normal(size=(n, n))
    return random.normal(size=n), square - square.T


def squares(Y: Any) -> Any:
    """The eigenvalues of Y^T Y, largest first."""
    return np.linalg.eigvalsh(Y.T @ Y)[::-1]


def turned(x: Any, Y: Any) -> Any:
    """M(x) Y = x x^T Y + Y x x^T."""
    return np.outer(x, x) @ Y + Y @ np.outer(x, x)


def over_sizes(residual: Callable[[Any, Any], float]) -> float:
    """The worst residual over the random pairs."""
    return worst([residual(*pair(n)) for n in SIZES])


@cache
def law(n: int) -> tuple[Any, Probe]:
    """The flow under u = -alpha x + beta Y x + gamma Y^T Y x, and a probe of it."""
    flow = brockett_form(n)
    closed = flow.driven(brockett_law(flow, *(Parameter(name) for name in ("alpha", "beta", "gamma"))))
    return flow, Probe(derive(closed), {"alpha": 0.0, "beta": 0.0, "gamma": 0.0})


def rates(x: Any, Y: Any, alpha: float, beta: float, gamma: float) -> tuple[Any, Any]:
    """x_dot and Y_dot of the library."""
    n = len(x)
    flow, probe = law(n)
    state = np.concatenate([x, list(flow.start(Y=Y).values())])
    found = probe.with_parameters(alpha=alpha, beta=beta, gamma=gamma).rates(0.0, state)
    moved = np.zeros((n, n))
    moved[np.triu_indices(n, 1)] = found[n:]
    return found[:n], moved - moved.T


def path(x: Any, Y: Any, span: float, alpha: float, beta: float, gamma: float) -> tuple[Any, Any]:
    """x (times, n) and Y (times, n, n) along a motion of the library, at 21 times."""
    n = len(x)
    flow, probe = law(n)
    start = {f"x_{k}": float(value) for k, value in enumerate(x, start=1)} | flow.start(Y=Y)
    motion = simulate(
        probe.equations, start, (0.0, span), at=np.linspace(0, span, 21), rtol=1e-12,
        parameters={"alpha": alpha, "beta": beta, "gamma": gamma},
    )  # fmt: skip
    return np.stack([motion[f"x_{k}"] for k in range(1, n + 1)], axis=1), motion["Y"]


def aligned(n: int) -> tuple[Any, Any]:
    """The random Y with an x in the eigenspace of the largest eigenvalue of Y^T Y."""
    _, Y = pair(n)
    _, vectors = np.linalg.eigh(Y.T @ Y)
    return vectors[:, -2:] @ np.array([0.8, -0.5]), Y


# -- the equations -------------------------------------------------------------------------------------------------------


def _embedded(x: Any = None, Y: Any = None) -> Any:
    """x in R^n and Y in so(n) as matrices of so(n + 1)."""
    n = len(x) if x is not None else len(Y)
    whole = np.zeros((n + 1, n + 1))
    if x is not None:
        whole[:n, n], whole[n, :n] = x, -x
    if Y is not None:
        whole[:n, :n] = Y
    return whole


def _bracket(a: Any, b: Any) -> Any:
    return a @ b - b @ a


@claim("B-6.3.50", "M(x) Y = -[x, [x, Y]] = x x^T Y + Y x x^T", how=f"{RANDOM}: brackets in so(n + 1)")
def double_bracket_of_x() -> float:
    def residual(x: Any, Y: Any) -> float:
        X = _embedded(x)
        return distance(_embedded(Y=turned(x, Y)), -_bracket(X, _bracket(X, _embedded(Y=Y))))

    return over_sizes(residual)


@claim("B-6.3.51", "M(x)^2 Y = |x|^2 M(x) Y", how=RANDOM)
def minimal_polynomial() -> float:
    return over_sizes(lambda x, Y: distance(turned(x, turned(x, Y)), x @ x * turned(x, Y)))


@claim("B-6.3.52", "N(Y) x = -[Y, [Y, x]] = Y^T Y x", how=f"{RANDOM}: brackets in so(n + 1)")
def double_bracket_of_Y() -> float:
    def residual(x: Any, Y: Any) -> float:
        whole = _embedded(Y=Y)
        return distance(_embedded(Y.T @ Y @ x), -_bracket(whole, _bracket(whole, _embedded(x))))

    return over_sizes(residual)


@claim("B-6.3.53", "u = -alpha x + beta Y x + gamma Y^T Y x is the law of the library", how=f"{RANDOM}: u = x_dot")
def feedback() -> float:
    return over_sizes(lambda x, Y: distance(rates(x, Y, 0.7, -0.4, 0.3)[0], -0.7 * x - 0.4 * Y @ x + 0.3 * Y.T @ Y @ x))


@claim("B-6.3.54", "x_dot = -alpha x + beta Y x + gamma Y^T Y x", how=f"{RANDOM}: the library's rates, term by term")
def rate_of_x() -> float:
    def residual(x: Any, Y: Any) -> float:
        terms = ((-x, (1, 0, 0)), (Y @ x, (0, 1, 0)), (Y.T @ Y @ x, (0, 0, 1)))
        return worst([distance(rates(x, Y, *map(float, which))[0], term) for term, which in terms])

    return over_sizes(residual)


@claim(
    "B-6.3.55",
    "Y_dot = -beta (x x^T Y + Y x x^T) + gamma (x x^T Y^T Y - Y^T Y x x^T); the last bracket has the other sign in print",
    how=f"{RANDOM}: the library's rates",
)
def rate_of_Y() -> Corrected:
    def residual(x: Any, Y: Any, sign: float) -> float:
        cross = np.outer(x, x) @ Y.T @ Y - Y.T @ Y @ np.outer(x, x)
        return distance(rates(x, Y, 0.7, -0.4, 0.3)[1], 0.4 * turned(x, Y) + 0.3 * sign * cross)

    return Corrected(over_sizes(lambda x, Y: residual(x, Y, 1.0)), min(residual(*pair(n), -1.0) for n in SIZES))


@claim(
    "B-6.3.56",
    "With u = Y x, |x| stays, and the spectra of M(x) Y - |x|^2 Y and of Y - M(x) Y / |x|^2 stay",
    how=f"{RANDOM}: eigenvalues along the library's motions from any x",
    tolerance=1e-8,
)
def constant_spectrum() -> float:
    def residual(x: Any, Y: Any) -> float:
        places, matrices = path(x, Y, 1.5, 0.0, 1.0, 0.0)
        left = [b - turned(a, b) / (a @ a) for a, b in zip(places, matrices, strict=True)]
        found = np.sort(np.linalg.eigvals(np.array(left)).imag, axis=1)
        lengths = np.einsum("ti,ti->t", places, places)
        return largest(distance(found, np.tile(found[0], (len(found), 1))), distance(lengths, np.full(len(lengths), x @ x)))

    return over_sizes(residual)


@claim("B-6.3.57", "x_dot = u", how=f"{RANDOM}: the library's rates under u = -x")
def input_is_rate() -> float:
    return over_sizes(lambda x, Y: distance(rates(x, Y, 1.0, 0.0, 0.0)[0], -x))


@claim("B-6.3.58", "Y_dot = x u^T - u x^T", how=f"{RANDOM}: the library's rates under u = Y x - x")
def area_law() -> float:
    def residual(x: Any, Y: Any) -> float:
        u = Y @ x - x
        return distance(rates(x, Y, 1.0, 1.0, 0.0)[1], np.outer(x, u) - np.outer(u, x))

    return over_sizes(residual)


# -- the steps -----------------------------------------------------------------------------------------------------------


@claim(
    "B-6.3-step-1",
    "With u = -lambda x + Y^T Y x, lambda the largest eigenvalue, the spectrum of Y stays and x tends to its eigenspace",
    how=f"{RANDOM}: eigenvalues along the library's motions, and |Y^T Y x - lambda x| / |x| at their end",
    tolerance=1e-7,
)
def aligning() -> float:
    def residual(x: Any, Y: Any) -> float:
        top, rest = squares(Y)[0], squares(Y)[2]
        places, matrices = path(x, Y, 24.0 / (top - rest), top, 0.0, 1.0)
        found = np.array([squares(m) for m in matrices])
        end, last = places[-1], matrices[-1]
        missed = np.linalg.norm(last.T @ last @ end - top * end) / (top * np.linalg.norm(end))
        return largest(distance(found, np.tile(found[0], (len(found), 1))), missed)

    return over_sizes(residual)


@claim(
    "B-6.3-projector",
    "Where Y^T Y x = lambda x, (x x^T + Y x x^T Y^T / lambda) / |x|^2 is the orthogonal projector onto the span of x and Y x,"
    " and its product with Y is M(x) Y / |x|^2",
    how="an x in the eigenspace, n = 3 to 6: against the projector by QR",
)
def projector() -> float:
    found = []
    for n in SIZES:
        x, Y = aligned(n)
        top = squares(Y)[0]
        P = (np.outer(x, x) + np.outer(Y @ x, Y @ x) / top) / (x @ x)
        basis = np.linalg.qr(np.column_stack([x, Y @ x]))[0]
        found += [distance(P, basis @ basis.T), distance(P @ Y, turned(x, Y) / (x @ x))]
    return worst(found)


@claim(
    "B-6.3-eigenvectors",
    "For an eigenvector v of another eigenvalue of Y^T Y, Y v is one, too; Y x, as printed, is one of lambda",
    how="n = 4 to 6, x in the eigenspace of lambda",
)
def eigenvectors() -> Corrected:
    right, printed = [], []
    for n in SIZES[1:]:
        x, Y = aligned(n)
        values, vectors = np.linalg.eigh(Y.T @ Y)
        v, value = vectors[:, -3], values[-3]
        right.append(distance(Y.T @ Y @ (Y @ v), value * (Y @ v)))
        printed.append(float(np.linalg.norm(Y.T @ Y @ (Y @ x) - value * (Y @ x))))
    return Corrected(worst(right), min(printed))


@claim(
    "B-6.3-complex",
    "Y v +- i sqrt(lambda) v are eigenvectors of Y with +- i sqrt(lambda), and also of"
    " Y - M(x) Y / |x|^2, which takes x and Y x to 0",
    how="n = 4 to 6, x in the eigenspace of the largest eigenvalue",
)
def complex_eigenvectors() -> float:
    found = []
    for n in SIZES[1:]:
        x, Y = aligned(n)
        values, vectors = np.linalg.eigh(Y.T @ Y)
        v, root = vectors[:, -3], np.sqrt(values[-3])
        left = Y - turned(x, Y) / (x @ x)
        for sign in (1, -1):
            w = Y @ v + sign * 1j * root * v
            found += [np.abs(part @ w - sign * 1j * root * w).max() for part in (Y, left)]
        found += [np.abs(left @ x).max(), np.abs(left @ Y @ x).max(), distance(left @ v, Y @ v)]
        found.append(distance(left @ Y @ v, -values[-3] * v))
    return worst(found)


@claim(
    "B-6.3-step-3",
    "With u = Y x from the eigenspace, the largest eigenvalue decays like exp(-2 |x|^2 t) and all others stay",
    how="n = 3 to 6: eigenvalues along the library's motions against the exponential",
    tolerance=1e-8,
)
def emptying() -> float:
    found = []
    for n in SIZES:
        x, Y = aligned(n)
        span, start = 3.0, squares(Y)
        _, matrices = path(x, Y, span, 0.0, 1.0, 0.0)
        shrunk = start[0] * np.exp(-2 * (x @ x) * np.linspace(0, span, 21))
        expected = [np.sort(np.concatenate([start[2:], [value, value]]))[::-1] for value in shrunk]
        found.append(distance([squares(m) for m in matrices], expected))
    return worst(found)


@claim("B-6.3-step-4", "With u = -x, Y stays and x decays like exp(-t)", how=f"{RANDOM}: the library's motions", tolerance=1e-9)
def returning() -> float:
    def residual(x: Any, Y: Any) -> float:
        places, matrices = path(x, Y, 2.0, 1.0, 0.0, 0.0)
        expected = np.exp(-np.linspace(0, 2.0, 21))[:, None] * x
        return largest(distance(places, expected), distance(matrices, np.tile(Y, (21, 1, 1))))

    return over_sizes(residual)


@claim(
    "B-6.3-passes",
    "At most floor(n/2) passes are needed, where x is seeded again between them; without that, as printed, x only shrinks in"
    " the second pass and the second pair stays",
    how="n = 3 to 6: the library's algorithm, and its laws one after the other without new seeds for n = 4",
    tolerance=1e-6,
)
def passes() -> Corrected:
    left = []
    for n in SIZES:
        found = stabilise_so(*pair(n))
        left += [found.final_norm, excess(len(found.passes) - n // 2)]
    x, Y = pair(4)
    for _ in range(2):
        top, rest = squares(Y)[0], squares(Y)[2]
        places, matrices = path(x, Y, 24.0 / (top - rest), top, 0.0, 1.0)
        places, matrices = path(places[-1], matrices[-1], 8.0, 0.0, 1.0, 0.0)
        x, Y = places[-1], matrices[-1]
    return Corrected(worst(left), float(np.sqrt(squares(Y)[0])))


# -- the printed example -------------------------------------------------------------------------------------------------


@cache
def reference_states() -> tuple[tuple[Any, Any], ...]:
    """(x, Y) of the example at t = 2, 4 and 9 by SciPy."""
    laws = (
        (2.0, lambda x, Y: -9.05 * x + Y.T @ Y @ x),
        (2.0, lambda x, Y: Y @ x),
        (5.0, lambda x, Y: -x),
    )
    x, Y, found = X0, Y0, []
    for span, u_of in laws:

        def rate(_: float, y: Any, u_of: Any = u_of) -> Any:
            a, b = y[:3], y[3:].reshape(3, 3)
            u = u_of(a, b)
            return np.concatenate([u, (np.outer(a, u) - np.outer(u, a)).ravel()])

        y = solve_ivp(rate, (0, span), np.concatenate([x, Y.ravel()]), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        x, Y = y[:3], y[3:].reshape(3, 3)
        found.append((x, Y))
    return tuple(found)


@cache
def library_states() -> tuple[tuple[Any, Any], ...]:
    """The same by the library."""
    x, Y, found = X0, Y0, []
    for span, numbers in ((2.0, (9.05, 0.0, 1.0)), (2.0, (0.0, 1.0, 0.0)), (5.0, (1.0, 0.0, 0.0))):
        places, matrices = path(x, Y, span, *numbers)
        x, Y = places[-1], matrices[-1]
        found.append((x, Y))
    return tuple(found)


@claim("B-6.3-example-start", "The spectrum of Y(0)^T Y(0) is {9.05, 9.05, 0}", how="eigenvalues by NumPy")
def example_start() -> float:
    return distance(squares(Y0), [9.05, 9.05, 0.0])


@claim(
    "B-6.3-example-1",
    "x(2) = (-0.10757, 1.09668, 1.07245) and (Y_12, Y_13, Y_23)(2) = (0.43590, 0.13460, 2.97353); the printed digits are off by"
    " up to 3e-4",
    how="the library against SciPy",
    tolerance=1e-7,
)
def example_first_step() -> Corrected:
    (x, Y), (a, b) = library_states()[0], reference_states()[0]
    printed = largest(*(np.abs(x - PRINTED_X).max(), np.abs(Y - PRINTED_Y).max()))
    return Corrected(largest(distance(x, a), distance(Y, b)), printed)


@claim(
    "B-6.3-example-spectrum",
    "The spectrum of Y(2)^T Y(2) is still {9.05, 9.05, 0}; that of the printed Y(2) is 9.0516",
    how="eigenvalues of the library's and of the printed matrix",
    tolerance=1e-7,
)
def example_spectrum() -> Corrected:
    return Corrected(
        distance(squares(library_states()[0][1]), [9.05, 9.05, 0.0]), distance(squares(PRINTED_Y), [9.05, 9.05, 0.0])
    )


@claim("B-6.3-example-eigenvector", "x(2) is an eigenvector of Y^T Y with 9.05", how="|Y^T Y x - 9.05 x|", tolerance=1e-6)
def example_eigenvector() -> float:
    x, Y = library_states()[0]
    return distance(Y.T @ Y @ x, 9.05 * x)


@claim(
    "B-6.3-example-3",
    "At t = 4 the eigenvalues are {0.0007, 0.0007, 0}, and |x| is that of t = 2",
    how="the library's motion; half a unit of the last printed digit is free",
    tolerance=1e-9,
)
def example_third_step() -> float:
    (before, _), (x, Y) = library_states()[:2]
    return largest(excess(np.abs(squares(Y) - [7e-4, 7e-4, 0]).max() - 5e-5), distance(x @ x, before @ before))


@claim(
    "B-6.3-example-4",
    "From t = 4 on Y stays and x tends to 0: |x(9)|^2 = 1.07e-4",
    how="the library against SciPy, and exp(-5)",
    tolerance=1e-9,
)
def example_last_step() -> float:
    (before, kept), (x, Y) = library_states()[1:]
    reference, matrix = reference_states()[2]
    return largest(distance(x, before * np.exp(-5.0)), distance(Y, kept), distance(x, reference), distance(Y, matrix))


@claim(
    "B-6.3-so3",
    "On so(3) one pass is enough",
    how="the library's algorithm from the printed start and a random one",
    tolerance=1e-6,
)
def one_pass() -> float:
    found = [stabilise_so(X0, Y0), stabilise_so(*pair(3))]
    return worst([max(one.final_norm, float(len(one.passes) != 1)) for one in found])
