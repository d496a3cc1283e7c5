"""Bloch and others, Internet Supplement, section 4.7: Hamiltonian control systems.

The library gives flows, motions, impulse responses, the skew form and Helmholtz's conditions;
independent implementations are complex steps of plain functions, matrix exponentials by their
eigenvectors, convolutions by quadrature and dense linear algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy

from ....analysis.variational.inverse_problem import helmholtz
from ....control.ports.impulse_response import LinearInputOutput, is_hamiltonian_impulse_response
from ....control.ports.ports import hamiltonian_control
from ....control.ports.skew_form import variational_skew_form
from ....formulations.registry import derive
from ....integrate.simulate import simulate
from ....model.flow_system import Flow
from ....model.symbols import Coordinate, coordinates, inputs, t
from ....typing import Array
from ...independent.random_systems import Point
from ...numeric import Probe, Residual, Residuals, apart, derivative, distance, panel_nodes
from ...row_registry import listed
from ...samples import Generator, Sampler, sampler


def symplectic(n: int) -> Array:
    """J = [[0, 1], [-1, 0]] of 2n symbols (q, p)."""
    zero, one = np.zeros((n, n)), np.eye(n)
    return np.block([[zero, one], [-one, zero]])


def energy(x: Point, u: Point) -> Any:
    """H(q, p, u) with two pairs and two inputs, not affine in u, in symbols or in numbers."""
    q1, q2, p1, p2 = x
    m: Any = sympy if isinstance(q1, sympy.Expr) else np
    coupled = (p1**2 + p2**2 * (1 + q1**2)) / 2 - m.cos(q1 - q2) + q2**4 / 4
    return coupled - u[0] * m.sin(q1) - u[1] * q2 * p1 + u[0] * u[1] / 3 + u[1] ** 2 * q1 / 5


class ControlSample(NamedTuple):
    """A random state x (4,) and inputs u (2,)."""

    x: Array
    u: Array

    @property
    def rates(self) -> Any:
        """J dH/dx by complex steps (4,)."""
        return symplectic(2) @ derivative(lambda y: energy(y, self.u), self.x)


def points(seed: int, count: int = 5) -> Sampler[ControlSample]:
    """Random states and inputs."""

    def draw(_: str, random: Generator) -> ControlSample:
        return ControlSample(random.uniform(-1, 1, 4), random.uniform(-1, 1, 2))

    return sampler(seed=seed, count=count)(draw)


@cache
def nonlinear() -> Flow:
    """The control system that H generates."""
    x, u = coordinates("q1 q2 p1 p2"), inputs("u1 u2")
    return hamiltonian_control(energy(x, u), [(x[0], x[2]), (x[1], x[3])], u)


def in_order(flow: Flow) -> list[Coordinate]:
    """Its symbols as (q1, q2, p1, p2)."""
    by_name = {c.name: c for c in flow.coordinates}
    return [by_name[name] for name in ("q1", "q2", "p1", "p2")]


def library_values(flow: Flow, expressions: Sequence[sympy.Expr], s: ControlSample) -> Any:
    """Expressions of a flow at a sample."""
    table = dict(zip((*in_order(flow), *flow.inputs), map(float, (*s.x, *s.u)), strict=True))
    return np.array([float(e.xreplace(table)) for e in expressions])


def _sines(flow: Flow) -> dict[Any, sympy.Expr]:
    """The inputs sin(t) and cos(2 t) / 2."""
    return dict(zip(flow.inputs, (sympy.sin(t), sympy.cos(2 * t) / 2), strict=True))


@listed("B-4.7.1")
def control_system() -> Residual:
    flow, end, steps = nonlinear(), 2.0, 4000
    start = {"q1": 0.3, "p2": 0.4}
    motion = simulate(flow, start, (0, end), inputs=_sines(flow), at=[end])

    def inputs_at(moment: float) -> Array:
        return np.array([np.sin(moment), np.cos(2 * moment) / 2])

    def field(moment: float, x: Array) -> Any:
        return ControlSample(x, inputs_at(moment)).rates

    x, h = np.array([0.3, 0.0, 0.0, 0.4]), end / steps
    for k in range(steps):
        a = field(k * h, x)
        b = field((k + 0.5) * h, x + h / 2 * a)
        c = field((k + 0.5) * h, x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + field((k + 1) * h, x + h * c))
    y = derivative(lambda w: energy(x, w), inputs_at(end))
    reached = [motion[name][0] for name in ("q1", "q2", "p1", "p2")]
    return distance(reached, x), distance([motion["y_u1"][0], motion["y_u2"][0]], y)


@listed("B-4.7-product", over=(1.0, -1.0))
def product_form(sign: float) -> Residual:
    matrix = product_matrix(2, 2, sign)
    return matrix + matrix.T, abs(np.linalg.det(matrix)) - 1.0


def product_matrix(n: int, k: int, sign: float) -> Array:
    """omega-dot + sign sum du ^ dy on (x, x_dot, u, y), with omega = sum dq ^ dp, as F(a, b)."""
    omega, m = symplectic(n), 2 * n
    matrix = np.zeros((2 * m + 2 * k, 2 * m + 2 * k))
    matrix[:m, m : 2 * m] = omega  # omega-dot(a, b) = omega(a_x, b_xdot) + omega(a_xdot, b_x)
    matrix[m : 2 * m, :m] = omega
    u, y = slice(2 * m, 2 * m + k), slice(2 * m + k, 2 * m + 2 * k)
    matrix[u, y] = sign * np.eye(k)
    matrix[y, u] = -sign * np.eye(k)
    return matrix


@listed("B-4.7.2", over=points(1))
def generated(s: ControlSample) -> Residual:
    flow = nonlinear()
    rates = library_values(flow, [flow.rates[c] for c in in_order(flow)], s)
    y = library_values(flow, [flow.outputs["y_u1"], flow.outputs["y_u2"]], s)
    return distance(rates, s.rates), distance(y, derivative(lambda w: energy(s.x, w), s.u))


@cache
def _derivatives_of_flow() -> list[sympy.Expr]:
    """Derivatives of the library's rates and outputs by (x, u), 36 of them."""
    flow = nonlinear()
    symbols = in_order(flow)
    maps = [*(flow.rates[c] for c in symbols), flow.outputs["y_u1"], flow.outputs["y_u2"]]
    return [sympy.diff(e, s) for e in maps for s in (*symbols, *flow.inputs)]


@listed("B-4.7.2-lagrangian", over=points(2), misprint={"sign": 1.0})
def lagrangian_graph(s: ControlSample, sign: float = -1.0) -> Residual:
    table = library_values(nonlinear(), _derivatives_of_flow(), s).reshape(6, 6)
    tangent = np.vstack([np.eye(4, 6), table[:4], np.eye(6)[4:], table[4:]])
    dimension = abs(np.linalg.matrix_rank(tangent) - 6)
    return tangent.T @ product_matrix(2, 2, sign) @ tangent, float(dimension)


@listed("B-4.7.3")
def affine_forces() -> Residual:
    x, y, a, b = coordinates("x y a b")
    u = inputs("u")
    reach = x**2 * y + sympy.sin(y)
    flow = hamiltonian_control((a**2 + b**2) / 2 + x**2 - u * reach, [(x, a), (y, b)], [u])
    residuals = []
    for point, w in points(3):
        table = dict(zip((x, y, a, b, u), map(float, (*point, w[0])), strict=True))
        first = w[0] * 2 * point[0] * point[1] - 2 * point[0]
        push = [first, w[0] * (point[0] ** 2 + np.cos(point[1]))]
        residuals.append(distance([float(flow.rates[c].xreplace(table)) for c in (a, b)], push))
    rates = {x: a, y: b, a: -x - y * u, b: -2 * y + x * u}
    swirl = Flow(rates, inputs=[u], outputs={"turned": x * b - y * a, "square": x**2 + y**2})
    drive, start = {u: sympy.sin(t)}, {x: 0.8, y: 0.3, b: 0.5}
    forms = [variational_skew_form(swirl, [y], drive, start, (0, 4)) for y in ("turned", "square")]
    return residuals, [apart(form.residual) for form in forms]


class LinearSample(NamedTuple):
    """S (2n, 2n) symmetric and C (k, 2n) of a linear Hamiltonian system."""

    S: Array
    C: Array

    @property
    def system(self) -> LinearInputOutput:
        """x_dot = J S x + J C^T u, y = C x."""
        return self.with_direct(np.zeros((len(self.C), len(self.C))))

    def with_direct(self, D: Array) -> LinearInputOutput:
        """The same with y = C x + D u."""
        J = symplectic(len(self.S) // 2)
        return LinearInputOutput(J @ self.S, J @ self.C.T, self.C, D)

    def flow(self, D: Array) -> Flow:
        """The same as a flow with two inputs and outputs."""
        size = len(self.S)
        x, u, J = coordinates(f"x1:{size + 1}"), inputs("u1 u2"), symplectic(size // 2)
        state, drive = sympy.Matrix(x), sympy.Matrix(u)
        rates = sympy.Matrix(J @ self.S) * state + sympy.Matrix(J @ self.C.T) * drive
        y = sympy.Matrix(self.C) * state
        if D.any():
            y = y + sympy.Matrix(D) * drive
        table = dict(zip(x, rates, strict=True))
        return Flow(table, inputs=u, outputs={"y1": y[0], "y2": y[1]})


def random_linear(seed: int, n: int = 2, k: int = 2) -> LinearSample:
    """A random linear Hamiltonian system with 2n symbols and k inputs."""
    random = np.random.default_rng(seed)
    S = random.uniform(-1, 1, (2 * n, 2 * n))
    return LinearSample((S + S.T) / 2 + np.eye(2 * n), random.uniform(-1, 1, (k, 2 * n)))


@listed("B-4.7.4")
def convolution() -> Residual:
    sample, end = random_linear(5), 3.0
    flow = sample.flow(np.zeros((2, 2)))
    drive = dict(zip(flow.inputs, (sympy.sin(3 * t), sympy.exp(-t)), strict=True))
    motion = simulate(flow, {}, (0, end), inputs=drive, at=[end], rtol=1e-11)
    times, weights = panel_nodes(0.0, end, panels=8)
    u = np.array([np.sin(3 * times), np.exp(-times)]).T[:, :, None]
    values = sample.system.impulse_response(end - times) @ u
    return distance([motion["y1"][0], motion["y2"][0]], np.einsum("tij,t->i", values, weights))


def _exponential(matrix: Array, time: float) -> Any:
    """exp(matrix t) by eigenvectors."""
    values, vectors = np.linalg.eig(matrix)
    return np.real((vectors * np.exp(values * time)) @ np.linalg.inv(vectors))


@listed("B-4.7.5")
def symmetric_response() -> Residual:
    residuals: list[Residual] = []
    for seed, k in ((7, 1), (8, 2), (9, 3)):
        sample, J = random_linear(seed, 2, k), symplectic(2)
        S, C = sample
        for time in (0.4, 1.3):
            forward, back = (C @ _exponential(J @ S, x) @ J @ C.T for x in (time, -time))
            residuals.append(distance(forward, -back.T))
            residuals.append(distance(sample.system.impulse_response(time), forward))
        residuals.append(is_hamiltonian_impulse_response(sample.system).residual)
    times = np.linspace(0.0, 4.0, 41)
    samples = -np.sin(np.sqrt(2) * times) / np.sqrt(2)
    A, C = symplectic(1) @ np.diag([2.0, 1.0]), np.array([[1.0, 0.0]])
    oscillator = LinearInputOutput(A, np.array([[0.0], [-1.0]]), C, np.zeros((1, 1)))
    residuals.append(distance(oscillator.impulse_response(times)[:, 0, 0], samples))
    return residuals, is_hamiltonian_impulse_response(samples, times).residual


@listed("B-4.7.5-converse", over=(11, 12))
def converse(seed: int) -> Residual:
    J, (S, C) = symplectic(2), random_linear(seed)
    change = np.eye(4) + np.random.default_rng(seed).uniform(-0.4, 0.4, (4, 4))
    A, B = np.linalg.solve(change, J @ S @ change), np.linalg.solve(change, J @ C.T)
    out, none = C @ change, np.zeros((2, 2))
    reached = np.hstack([np.linalg.matrix_power(A, k) @ B for k in range(4)])
    seen = np.hstack([np.linalg.matrix_power(-A.T, k) @ out.T for k in range(4)])
    omega = seen @ np.linalg.pinv(reached)
    symmetry = omega @ reached - seen, omega + omega.T, omega @ A - (omega @ A).T
    random = np.random.default_rng(seed + 50)
    a, b, c = (random.uniform(-1, 1, shape) for shape in ((4, 4), (4, 2), (2, 4)))
    damped: Any = A - 0.2 * np.eye(4)
    others: list[list[Any]] = [[damped, B, out], [A, B, out @ A], [a, b, c]]
    systems = [LinearInputOutput(f, g, h, none) for f, g, h in others]
    found = [is_hamiltonian_impulse_response(system) for system in systems]
    return symmetry, distance(omega @ B, out.T), [apart(s.residual) for s in found]


@listed("B-4.7.5-feedthrough")
def feedthrough() -> Residual:
    sample = random_linear(14, 1)

    def tests(D: Array) -> list[float]:
        form = variational_skew_form(sample.flow(D), ["y1", "y2"], {}, {}, (0, 3))
        return [form.residual, is_hamiltonian_impulse_response(sample.with_direct(D)).residual]

    even, skew = np.array([[0.5, 0.2], [0.2, -0.3]]), np.array([[0.0, 0.4], [-0.4, 0.0]])
    return tests(even), [apart(value) for value in tests(skew)]


@listed("B-4.7.6")
def skew_form() -> Residual:
    flow, momenta = nonlinear(), in_order(nonlinear())[2:]
    rates = {c: rate - (c / 4 if c in momenta else 0) for c, rate in flow.rates.items()}

    def residual(model: Flow, outputs: list[str]) -> float:
        start = {"q1": 0.3, "p2": 0.4}
        return variational_skew_form(model, outputs, _sines(flow), start, (0, 3)).residual

    swapped = residual(flow, ["y_u2", "y_u1"])
    lossy = residual(flow.replacing(rates=rates), ["y_u1", "y_u2"])
    return residual(flow, ["y_u1", "y_u2"]), apart(swapped), apart(lossy)


@listed("B-4.7.6-rate")
def rate_of_product() -> Residuals:
    random, J = np.random.default_rng(21), symplectic(2)
    for s in points(22):
        table = library_values(nonlinear(), _derivatives_of_flow(), s).reshape(6, 6)
        H = np.vstack([-table[2:4], table[:2], table[4:]])
        first, second = (random.uniform(-1, 1, 6) for _ in range(2))
        moved, y = [J @ H[:4] @ w for w in (first, second)], [H[4:] @ w for w in (first, second)]
        product = moved[0] @ J.T @ second[:4] + first[:4] @ J.T @ moved[1]
        yield distance(y[1] @ first[4:] - y[0] @ second[4:], -product)


@listed("B-4.7-regularity", misprint={"printed": True})
def regularity(printed: bool = False) -> Residual:
    q = x, y = coordinates("x y")
    L = (x.dot**2 * (2 + sympy.cos(y)) + y.dot**2 + x * x.dot * y.dot) / 2 - x * y**2
    R = [_rate(sympy.diff(L, c.dot), q) - sympy.diff(L, c) for c in q]
    table = {x: 0.3, y: -0.7, x.dot: 0.2, y.dot: 0.5, x.ddot: 0.1, y.ddot: -0.4}
    mass = np.array([[2 + np.cos(-0.7), 0.15], [0.15, 1.0]])
    first = [[sympy.diff(r, c.ddot) for c in q] for r in R]
    if printed:
        second = [sympy.diff(e, b.ddot).xreplace(table) for row in first for e in row for b in q]
        return float(abs(np.linalg.det(mass))) - float(np.max(np.abs(np.array(second, float))))
    found = helmholtz(list(R), list(q))
    numbers = [[float(e.xreplace(table)) for e in row] for row in first]
    verdicts = float(not found.is_regular), float(not found.is_lagrangian)
    return distance(numbers, mass), verdicts


def _rate(p: sympy.Expr, q: Sequence[Coordinate]) -> sympy.Expr:
    """The time derivative of a function of (q, q_dot)."""
    terms = (sympy.diff(p, b) * b.dot + sympy.diff(p, b.dot) * b.ddot for b in q)
    return sum(terms, sympy.S.Zero)


@listed("B-4.7-inverse", over=(None, 0, 1, 2))
def inverse_problem(broken: int | None) -> Residual:
    q = coordinates("q1 q2")
    root = np.random.default_rng(31).uniform(-0.5, 0.5, (2, 2))
    skew, even = np.array([[0.0, 0.4], [-0.4, 0.0]]), np.array([[0.3, 0.1], [0.1, 0.2]])
    base = [root @ root.T + np.eye(2), np.array([[0.0, 0.7], [-0.7, 0.0]])]
    base.append(np.array([[1.5, 0.3], [0.3, 0.8]]))
    if broken is not None:
        base[broken] = base[broken] + (even if broken == 1 else skew)
    exact = [
        sympy.Matrix(2, 2, [sympy.Rational(str(round(float(e), 3))) for e in m.ravel()])
        for m in base
    ]
    order = [[c.ddot for c in q], [c.dot for c in q], list(q)]
    R = sum((m * sympy.Matrix(c) for m, c in zip(exact, order, strict=True)), sympy.zeros(2, 1))
    M, G, K = (np.array(m.tolist(), dtype=float) for m in exact)
    inverse, none, one = np.linalg.inv(M), np.zeros((2, 2)), np.eye(2)
    A = np.block([[none, one], [-inverse @ K, -inverse @ G]])
    system = LinearInputOutput(A, np.vstack([none, inverse]), np.hstack([-one, none]), none)
    response = is_hamiltonian_impulse_response(system)
    lagrangian = helmholtz(list(R), list(q), search=False).is_lagrangian
    verdicts = float(lagrangian != (broken is None)), float(bool(response) != lagrangian)
    return verdicts, response.residual if lagrangian else apart(response.residual)


@listed("B-4.7-rates", over=points(41, 3))
def compiled_rates(s: ControlSample) -> Residual:
    flow = nonlinear()
    driven = flow.driven(dict(zip(flow.inputs, map(float, s.u), strict=True)))
    order = [in_order(flow).index(c) for c in flow.coordinates]
    return distance(Probe(derive(driven), {}).rates(0.0, s.x[order]), s.rates[order])
