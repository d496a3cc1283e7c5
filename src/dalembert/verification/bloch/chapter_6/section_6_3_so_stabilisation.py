"""Bloch and others, Internet Supplement, section 6.3: stabilisation of Brockett's form on so(n).

Random vectors x and skew matrices Y of three to six rows. The library gives rates, motions and the
algorithm; independent implementations are brackets in so(n + 1), eigenvalues by NumPy, exponentials
in closed form and SciPy's integration of the printed example.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from ....control.steering.so_feedback import stabilise_so
from ....formulations.registry import derive
from ....integrate.simulate import simulate
from ....model.builders.brockett_form import brockett_form, brockett_law
from ....model.flow_system import Flow
from ....model.symbols import Parameter
from ....typing import Array
from ...independent.matrix_flows import bracket
from ...numeric import Probe, Residual, distance, excess, worst
from ...row_registry import Corrected, listed
from ...samples import Sampler

#: The example in print: the start, and what it says of t = 2.
X0 = np.array([0.2, 1.1, 1.1])
Y0 = np.array([[0.0, 0.1, -0.2], [-0.1, 0.0, 3.0], [0.2, -3.0, 0.0]])
PRINTED_X = np.array([-0.1076, 1.0966, 1.0726])
PRINTED_Y = np.array([[0.0, 0.4359, 0.1346], [-0.4359, 0.0, 2.9738], [-0.1346, -2.9738, 0.0]])


class Pair(NamedTuple):
    """x (n,) and a skew Y (n, n)."""

    x: Array
    Y: Array


def _random_pair(n: int) -> Pair:
    random = np.random.default_rng(40 + n)
    square = random.normal(size=(n, n))
    return Pair(random.normal(size=n), square - square.T)


def _aligned(pair: Pair) -> Pair:
    """The same Y with an x in the eigenspace of the largest eigenvalue of Y^T Y."""
    _, vectors = np.linalg.eigh(pair.Y.T @ pair.Y)
    return Pair(vectors[:, -2:] @ np.array([0.8, -0.5]), pair.Y)


pairs = Sampler(lambda n: [_random_pair(int(n))], ("3", "4", "5", "6"))
aligned = pairs.map(_aligned)


def squares(Y: Array) -> Array:
    """The eigenvalues of Y^T Y, largest first."""
    return np.asarray(np.linalg.eigvalsh(Y.T @ Y)[::-1], dtype=float)


def turned(x: Array, Y: Array) -> Array:
    """M(x) Y = x x^T Y + Y x x^T."""
    return np.outer(x, x) @ Y + Y @ np.outer(x, x)


@cache
def law(n: int) -> tuple[Flow, Probe]:
    """The flow under u = -alpha x + beta Y x + gamma Y^T Y x, and a probe of it."""
    flow, names = brockett_form(n), ("alpha", "beta", "gamma")
    closed = flow.driven(brockett_law(flow, *map(Parameter, names)))
    return flow, Probe(derive(closed), dict.fromkeys(names, 0.0))


def rates(pair: Pair, alpha: float, beta: float, gamma: float) -> tuple[Array, Array]:
    """x_dot and Y_dot of the library."""
    n = len(pair.x)
    flow, probe = law(n)
    state = np.concatenate([pair.x, list(flow.start(Y=pair.Y).values())])
    found = probe.with_parameters(alpha=alpha, beta=beta, gamma=gamma).rates(0.0, state)
    change = np.zeros((n, n))
    change[np.triu_indices(n, 1)] = found[n:]
    return found[:n], change - change.T


def path(
    x: Array, Y: Array, span: float, alpha: float, beta: float, gamma: float
) -> tuple[Array, Array]:
    """x (times, n) and Y (times, n, n) along a motion of the library, at 21 times."""
    flow, probe = law(len(x))
    names = [f"x_{k}" for k in range(1, len(x) + 1)]
    start = dict(zip(names, map(float, x), strict=True)) | flow.start(Y=Y)
    gains, times = {"alpha": alpha, "beta": beta, "gamma": gamma}, np.linspace(0, span, 21)
    equations = probe.equations
    motion = simulate(equations, start, (0.0, span), at=times, rtol=1e-12, parameters=gains)
    return np.stack([motion[name] for name in names], axis=1), motion["Y"]


def still(values: Array) -> float:
    """How far a history departs from its start."""
    return distance(values, np.broadcast_to(values[0], np.shape(values)))


# -- the equations ---------------------------------------------------------------------------------


def _vector(x: Array) -> Array:
    """x of R^n as a matrix of so(n + 1)."""
    whole = np.zeros((len(x) + 1, len(x) + 1))
    whole[:-1, -1], whole[-1, :-1] = x, -x
    return whole


def _matrix(Y: Array) -> Array:
    """Y of so(n) as a matrix of so(n + 1)."""
    return np.pad(Y, (0, 1))


@listed("B-6.3.50", over=pairs)
def double_bracket_of_x(s: Pair) -> Residual:
    X = _vector(s.x)
    return distance(_matrix(turned(*s)), -bracket(X, bracket(X, _matrix(s.Y))))


@listed("B-6.3.51", over=pairs)
def minimal_polynomial(s: Pair) -> Residual:
    return distance(turned(s.x, turned(*s)), s.x @ s.x * turned(*s))


@listed("B-6.3.52", over=pairs)
def double_bracket_of_Y(s: Pair) -> Residual:
    Y = _matrix(s.Y)
    return distance(_vector(s.Y.T @ s.Y @ s.x), -bracket(Y, bracket(Y, _vector(s.x))))


@listed("B-6.3.53", over=pairs)
def feedback(s: Pair) -> Residual:
    """A motion of the library's closed loop beside the printed law in SciPy."""
    n, span = len(s.x), 0.1

    def closed(_: float, state: Array) -> Array:
        x, Y = state[:n], state[n:].reshape(n, n)
        u = -0.7 * x - 0.4 * Y @ x + 0.3 * Y.T @ Y @ x
        return np.concatenate([u, (np.outer(x, u) - np.outer(u, x)).ravel()])

    start = np.concatenate([s.x, s.Y.ravel()])
    run = solve_ivp(closed, (0, span), start, method="DOP853", rtol=1e-12, atol=1e-13)
    places, matrices = path(*s, span, 0.7, -0.4, 0.3)
    end = run.y[:, -1]
    return distance(places[-1], end[:n]), distance(matrices[-1].ravel(), end[n:])


@listed("B-6.3.54", over=pairs)
def rate_of_x(s: Pair) -> Residual:
    terms = (-s.x, s.Y @ s.x, s.Y.T @ s.Y @ s.x)
    return [distance(rates(s, *which)[0], x) for x, which in zip(terms, np.eye(3), strict=True)]


@listed("B-6.3.55")
def rate_of_Y() -> Corrected:
    def residual(s: Pair, sign: float) -> float:
        square, Z = np.outer(s.x, s.x), s.Y.T @ s.Y
        cross = square @ s.Y.T @ s.Y - Z @ square
        return distance(rates(s, 0.7, -0.4, 0.3)[1], 0.4 * turned(*s) + 0.3 * sign * cross)

    return Corrected([residual(s, 1.0) for s in pairs], min(residual(s, -1.0) for s in pairs))


@listed("B-6.3.56", over=pairs)
def constant_spectrum(s: Pair) -> Residual:
    places, matrices = path(*s, 1.5, 0.0, 1.0, 0.0)
    left = [b - turned(a, b) / (a @ a) for a, b in zip(places, matrices, strict=True)]
    spectra = np.sort(np.linalg.eigvals(np.array(left)).imag, axis=1)
    lengths = np.einsum("ti,ti->t", places, places)
    return still(spectra), distance(lengths, np.full(len(lengths), s.x @ s.x))


@listed("B-6.3.57", over=pairs)
def input_is_rate(s: Pair) -> Residual:
    return distance(rates(s, 1.0, 0.0, 0.0)[0], -s.x)


@listed("B-6.3.58", over=pairs)
def area_law(s: Pair) -> Residual:
    u = s.Y @ s.x - s.x
    return distance(rates(s, 1.0, 1.0, 0.0)[1], np.outer(s.x, u) - np.outer(u, s.x))


# -- the steps -------------------------------------------------------------------------------------


def align(x: Array, Y: Array) -> tuple[Array, Array]:
    """The motion under u = -lambda x + Y^T Y x, long enough to align x."""
    top, _, rest = squares(Y)[:3]
    return path(x, Y, 24.0 / (top - rest), top, 0.0, 1.0)


@listed("B-6.3-step-1", over=pairs)
def aligning(s: Pair) -> Residual:
    top = squares(s.Y)[0]
    places, matrices = align(*s)
    end, last = places[-1], matrices[-1]
    missed = np.linalg.norm(last.T @ last @ end - top * end) / (top * np.linalg.norm(end))
    return still(np.array([squares(m) for m in matrices])), missed


@listed("B-6.3-projector", over=aligned)
def projector(s: Pair) -> Residual:
    x, Y = s
    P = (np.outer(x, x) + np.outer(Y @ x, Y @ x) / squares(Y)[0]) / (x @ x)
    basis = np.linalg.qr(np.column_stack([x, Y @ x]))[0]
    return distance(P, basis @ basis.T), distance(P @ Y, turned(x, Y) / (x @ x))


@listed("B-6.3-eigenvectors")
def eigenvectors() -> Corrected:
    right, printed = [], []
    for x, Y in aligned("4", "5", "6"):
        values, vectors = np.linalg.eigh(Y.T @ Y)
        v, value = vectors[:, -3], values[-3]
        right.append(distance(Y.T @ Y @ (Y @ v), value * (Y @ v)))
        printed.append(float(np.linalg.norm(Y.T @ Y @ (Y @ x) - value * (Y @ x))))
    return Corrected(right, min(printed))


@listed("B-6.3-complex", over=aligned.of("4", "5", "6"))
def complex_eigenvectors(s: Pair) -> Residual:
    x, Y = s
    values, vectors = np.linalg.eigh(Y.T @ Y)
    v, root = vectors[:, -3], np.sqrt(values[-3])
    left = Y - turned(x, Y) / (x @ x)
    found: list[Residual] = [left @ x, left @ Y @ x, distance(left @ v, Y @ v)]
    for sign in (1, -1):
        w = Y @ v + sign * 1j * root * v
        found += [np.abs(part @ w - sign * 1j * root * w) for part in (Y, left)]
    return *found, distance(left @ Y @ v, -values[-3] * v)


@listed("B-6.3-step-3", over=aligned)
def emptying(s: Pair) -> Residual:
    x, Y = s
    span, start = 3.0, squares(Y)
    _, matrices = path(x, Y, span, 0.0, 1.0, 0.0)
    shrunk = start[0] * np.exp(-2 * (x @ x) * np.linspace(0, span, 21))
    expected = [np.sort(np.concatenate([start[2:], [value, value]]))[::-1] for value in shrunk]
    return distance([squares(m) for m in matrices], expected)


@listed("B-6.3-step-4", over=pairs)
def returning(s: Pair) -> Residual:
    places, matrices = path(*s, 2.0, 1.0, 0.0, 0.0)
    expected = np.exp(-np.linspace(0, 2.0, 21))[:, None] * s.x
    return distance(places, expected), distance(matrices, np.tile(s.Y, (21, 1, 1)))


@listed("B-6.3-passes")
def passes() -> Corrected:
    left = []
    for s in pairs:
        found = stabilise_so(*s)
        left += [found.final_norm, excess(len(found.passes) - len(s.x) // 2)]
    (x, Y), *_ = pairs("4")
    for _ in range(2):
        places, matrices = align(x, Y)
        places, matrices = path(places[-1], matrices[-1], 8.0, 0.0, 1.0, 0.0)
        x, Y = places[-1], matrices[-1]
    return Corrected(left, float(np.sqrt(squares(Y)[0])))


# -- the printed example ---------------------------------------------------------------------------


@cache
def reference_states() -> tuple[Pair, ...]:
    """(x, Y) of the example at t = 2, 4 and 9 by SciPy."""
    laws: tuple[tuple[float, Callable[[Array, Array], Array]], ...] = (
        (2.0, lambda x, Y: -9.05 * x + Y.T @ Y @ x),
        (2.0, lambda x, Y: Y @ x),
        (5.0, lambda x, Y: -x),
    )
    x, Y, found = X0, Y0, []
    for span, law in laws:

        def rate(_: float, y: Array, law: Callable[[Array, Array], Array] = law) -> Array:
            a, b = y[:3], y[3:].reshape(3, 3)
            u = law(a, b)
            return np.concatenate([u, (np.outer(a, u) - np.outer(u, a)).ravel()])

        start = np.concatenate([x, Y.ravel()])
        end = solve_ivp(rate, (0, span), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        x, Y = end[:3], end[3:].reshape(3, 3)
        found.append(Pair(x, Y))
    return tuple(found)


@cache
def library_states() -> tuple[Pair, ...]:
    """The same by the library."""
    x, Y, found = X0, Y0, []
    for span, numbers in ((2.0, (9.05, 0.0, 1.0)), (2.0, (0.0, 1.0, 0.0)), (5.0, (1.0, 0.0, 0.0))):
        places, matrices = path(x, Y, span, *numbers)
        x, Y = places[-1], matrices[-1]
        found.append(Pair(x, Y))
    return tuple(found)


@listed("B-6.3-example-start")
def example_start() -> Residual:
    return distance(squares(Y0), [9.05, 9.05, 0.0])


@listed("B-6.3-example-1")
def example_first_step() -> Corrected:
    (x, Y), expected = library_states()[0], reference_states()[0]
    return Corrected(list(map(distance, (x, Y), expected)), (x - PRINTED_X, Y - PRINTED_Y))


@listed("B-6.3-example-spectrum")
def example_spectrum() -> Corrected:
    matrices = (library_states()[0].Y, PRINTED_Y)
    return Corrected(*(distance(squares(Y), [9.05, 9.05, 0.0]) for Y in matrices))


@listed("B-6.3-example-eigenvector")
def example_eigenvector() -> Residual:
    x, Y = library_states()[0]
    return distance(Y.T @ Y @ x, 9.05 * x)


@listed("B-6.3-example-3")
def example_third_step() -> Residual:
    (before, _), (x, Y) = library_states()[:2]
    missed = worst(squares(Y) - [7e-4, 7e-4, 0])
    return excess(missed - 5e-5), distance(x @ x, before @ before)


@listed("B-6.3-example-4")
def example_last_step() -> Residual:
    (before, kept), (x, Y) = library_states()[1:]
    expected = (before * np.exp(-5.0), kept), reference_states()[2]
    return [[distance(x, a), distance(Y, b)] for a, b in expected]


@listed("B-6.3-so3")
def one_pass() -> Residual:
    found = [stabilise_so(X0, Y0), stabilise_so(*pairs("3")[0])]
    return [(one.final_norm, float(len(one.passes) != 1)) for one in found]
