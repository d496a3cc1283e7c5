"""Bloch and others, Internet Supplement, section 4.7: Hamiltonian control systems and how their input and output tell.

The library gives flows, motions, impulse responses, the skew form and Helmholtz's conditions; independent implementations are
complex steps of plain functions, matrix exponentials by their eigenvectors, convolutions by quadrature and dense linear
algebra.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import sympy

from ...analysis.variational.inverse_problem import helmholtz
from ...control.ports.impulse_response import LinearInputOutput, is_hamiltonian_impulse_response
from ...control.ports.ports import hamiltonian_control
from ...control.ports.skew_form import variational_skew_form
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.symbols import coordinates, inputs, t
from ..numeric import Probe, derivative, distance, excess, largest, panel_nodes, worst
from ..row_registry import Corrected, claim

RANDOM = "random numbers with fixed seeds"
#: What a quantity must exceed that the text says differs from zero.
APART = 1e-3


def symplectic(n: int) -> Any:
    """J = [[0, 1], [-1, 0]] of 2n symbols (q, p)."""
    zero, one = np.zeros((n, n)), np.eye(n)
    return np.block([[zero, one], [-one, zero]])


def energy_numbers(x: Any, u: Any) -> Any:
    """H(q, p, u) with two pairs and two inputs, not affine in u, on numbers."""
    q1, q2, p1, p2 = x
    coupled = (p1**2 + p2**2 * (1 + q1**2)) / 2 - np.cos(q1 - q2) + q2**4 / 4
    return coupled - u[0] * np.sin(q1) - u[1] * q2 * p1 + u[0] * u[1] / 3 + u[1] ** 2 * q1 / 5


def _of_state(u: Any, x: Any) -> Any:
    return energy_numbers(x, u)


@cache
def nonlinear() -> Flow:
    """The control system that the same H generates."""
    q1, q2, p1, p2 = coordinates("q1 q2 p1 p2")
    u1, u2 = inputs("u1 u2")
    coupled = (p1**2 + p2**2 * (1 + q1**2)) / 2 - sympy.cos(q1 - q2) + q2**4 / 4
    H = coupled - u1 * sympy.sin(q1) - u2 * q2 * p1 + u1 * u2 / 3 + u2**2 * q1 / 5
    return hamiltonian_control(H, [(q1, p1), (q2, p2)], [u1, u2])


def library_values(flow: Flow, expressions: list[sympy.Expr], x: Any, u: Any) -> Any:
    """Expressions of a flow at a state and inputs."""
    table = dict(zip((*flow.coordinates, *flow.inputs), map(float, (*x, *u)), strict=True))
    return np.array([float(e.xreplace(table)) for e in expressions])


def in_order(flow: Flow) -> list[Any]:
    """Its symbols as (q1, q2, p1, p2)."""
    by_name = {c.name: c for c in flow.coordinates}
    return [by_name[name] for name in ("q1", "q2", "p1", "p2")]


def points(seed: int, count: int = 5) -> list[tuple[Any, Any]]:
    random = np.random.default_rng(seed)
    return [(random.uniform(-1, 1, 4), random.uniform(-1, 1, 2)) for _ in range(count)]


@claim(
    "B-4.7.1",
    "x_dot = f(x, u), y = h(x, u): a control system gives each input an output",
    how="a flow driven by sines: motion and outputs against a classical Runge-Kutta method of fourth order with many steps",
    tolerance=1e-8,
)
def control_system() -> float:
    flow, end, steps = nonlinear(), 2.0, 4000
    u1, u2 = flow.inputs
    motion = simulate(flow, {"q1": 0.3, "p2": 0.4}, (0, end), inputs={u1: sympy.sin(t), u2: sympy.cos(2 * t) / 2}, at=[end])

    def field(moment: float, x: Any) -> Any:
        u = np.array([np.sin(moment), np.cos(2 * moment) / 2])
        return symplectic(2) @ derivative(lambda z: energy_numbers(z, u), x)

    x, h = np.array([0.3, 0.0, 0.0, 0.4]), end / steps
    for k in range(steps):
        a = field(k * h, x)
        b = field((k + 0.5) * h, x + h / 2 * a)
        c = field((k + 0.5) * h, x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + field((k + 1) * h, x + h * c))
    y = derivative(lambda w: energy_numbers(x, w), np.array([np.sin(end), np.cos(2 * end) / 2]))
    reached = [motion[name][0] for name in ("q1", "q2", "p1", "p2")]
    return largest(distance(reached, x), distance([motion["y_u1"][0], motion["y_u2"][0]], y))


@claim(
    "B-4.7-product",
    "T M + R^2k with omega-dot + omega^e is symplectic: the form is closed and not degenerate",
    how="M = R^4, k = 2: the constant matrix of the form, its skewness and its determinant, for either sign of omega^e",
)
def product_form() -> float:
    residuals = []
    for sign in (1.0, -1.0):
        matrix = product_matrix(2, 2, sign)
        residuals += [np.max(np.abs(matrix + matrix.T)), abs(abs(np.linalg.det(matrix)) - 1.0)]
    return worst(residuals)


def product_matrix(n: int, k: int, sign: float) -> Any:
    """omega-dot + sign sum du ^ dy on (x, x_dot, u, y), with omega = sum dq ^ dp, as the matrix of F(a, b) = a^T F b."""
    omega, m = symplectic(n), 2 * n
    matrix = np.zeros((2 * m + 2 * k, 2 * m + 2 * k))
    matrix[:m, m : 2 * m] = omega  # omega-dot(a, b) = omega(a_x, b_xdot) + omega(a_xdot, b_x)
    matrix[m : 2 * m, :m] = omega
    u, y = slice(2 * m, 2 * m + k), slice(2 * m + k, 2 * m + 2 * k)
    matrix[u, y] = sign * np.eye(k)
    matrix[y, u] = -sign * np.eye(k)
    return matrix


@claim(
    "B-4.7.2",
    "x_dot = X_H(x,u), y = dH/du: a Hamiltonian that depends on inputs gives rates and outputs",
    how=f"{RANDOM}: rates and outputs of the library's flow against complex steps of H, which is not affine in u",
)
def generated() -> float:
    flow = nonlinear()
    symbols = in_order(flow)
    residuals = []
    for x, u in points(1):
        order = [x[symbols.index(c)] for c in flow.coordinates]
        rates = library_values(flow, [flow.rates[c] for c in symbols], order, u)
        y = library_values(flow, [flow.outputs["y_u1"], flow.outputs["y_u2"]], order, u)
        residuals.append(distance(rates, symplectic(2) @ derivative(partial(_of_state, u), x)))
        residuals.append(distance(y, derivative(partial(energy_numbers, x), u)))
    return worst(residuals)


@claim(
    "B-4.7.2-lagrangian",
    "The graph of (X_H, dH/du) over (x, u) is a Lagrangian submanifold for omega-dot + sum dy ^ du, where omega = sum dq ^ dp"
    " and i_X omega = dH as in the other sections; with the printed sum du ^ dy the form does not vanish on it",
    how=f"{RANDOM}: tangent vectors of the graph by derivatives of the library's flow; dimension one half; both signs",
)
def lagrangian_graph() -> Corrected:
    flow = nonlinear()
    symbols, u = in_order(flow), list(flow.inputs)
    maps = [flow.rates[c] for c in symbols] + [flow.outputs["y_u1"], flow.outputs["y_u2"]]
    derivatives = [sympy.diff(e, s) for e in maps for s in (*symbols, *u)]
    right, printed = [], []
    for x, w in points(2):
        order = [x[symbols.index(c)] for c in flow.coordinates]
        table = library_values(flow, derivatives, order, w).reshape(6, 6)
        tangent = np.vstack([np.eye(4, 6), table[:4], np.eye(6)[4:], table[4:]])
        right.append(np.max(np.abs(tangent.T @ product_matrix(2, 2, -1.0) @ tangent)))
        printed.append(np.max(np.abs(tangent.T @ product_matrix(2, 2, 1.0) @ tangent)))
        right.append(abs(np.linalg.matrix_rank(tangent) - 6))
    return Corrected(worst(right), worst(printed))


@claim(
    "B-4.7.3",
    "With H affine in u, X_H is affine in u and compares with forces sum eta_i u_i where the eta_i are differentials, and only"
    " there: no H has the force of another eta",
    how="a particle in the plane: forces -u dh by an expression for h against the library's rates, and the skew form of a force"
    " along (-y, x) with two outputs",
    tolerance=1e-8,
)
def affine_forces() -> float:
    x, y, a, b = coordinates("x y a b")
    u = inputs("u")
    reach = x**2 * y + sympy.sin(y)
    flow = hamiltonian_control((a**2 + b**2) / 2 + x**2 - u * reach, [(x, a), (y, b)], [u])
    residuals = []
    for point, w in points(3):
        table = dict(zip((x, y, a, b, u), map(float, (*point, w[0])), strict=True))
        push = [w[0] * 2 * point[0] * point[1] - 2 * point[0], w[0] * (point[0] ** 2 + np.cos(point[1]))]
        residuals.append(distance([float(flow.rates[c].xreplace(table)) for c in (a, b)], push))
    swirl = Flow(
        {x: a, y: b, a: -x - y * u, b: -2 * y + x * u}, inputs=[u], outputs={"turned": x * b - y * a, "square": x**2 + y**2}
    )
    start = {x: 0.8, y: 0.3, b: 0.5}
    for output in ("turned", "square"):
        residuals.append(excess(APART - variational_skew_form(swirl, [output], {u: sympy.sin(t)}, start, (0, 4)).residual))
    return worst(residuals)


def random_linear(seed: int, n: int = 2, k: int = 2) -> tuple[Any, Any]:
    """S (2n, 2n) symmetric and C (k, 2n)."""
    random = np.random.default_rng(seed)
    S = random.uniform(-1, 1, (2 * n, 2 * n))
    return (S + S.T) / 2 + np.eye(2 * n), random.uniform(-1, 1, (k, 2 * n))


def exponential(matrix: Any, time: float) -> Any:
    """exp(matrix t) by eigenvectors."""
    values, vectors = np.linalg.eig(matrix)
    return np.real((vectors * np.exp(values * time)) @ np.linalg.inv(vectors))


@claim(
    "B-4.7.4",
    "The output of an initialised linear system is the convolution of its impulse response with the input",
    how="a random linear Hamiltonian system: the library's motion from rest against Gauss quadrature of W(t - s) u(s)",
    tolerance=1e-8,
)
def convolution() -> float:
    S, C = random_linear(5)
    J, end = symplectic(2), 3.0
    symbols = coordinates("x1 x2 x3 x4")
    u = inputs("u1 u2")
    rates = sympy.Matrix(J @ S) * sympy.Matrix(symbols) + sympy.Matrix(J @ C.T) * sympy.Matrix(u)
    y = sympy.Matrix(C) * sympy.Matrix(symbols)
    flow = Flow(dict(zip(symbols, rates, strict=True)), inputs=u, outputs={"y1": y[0], "y2": y[1]})
    motion = simulate(flow, {}, (0, end), inputs={u[0]: sympy.sin(3 * t), u[1]: sympy.exp(-t)}, at=[end], rtol=1e-11)
    times, weights = panel_nodes(0.0, end, panels=8)
    system = LinearInputOutput(J @ S, J @ C.T, C, np.zeros((2, 2)))
    values = system.impulse_response(end - times) @ np.array([np.sin(3 * times), np.exp(-times)]).T[:, :, None]
    return distance([motion["y1"][0], motion["y2"][0]], np.einsum("tij,t->i", values, weights))


@claim(
    "B-4.7.5",
    "The impulse response of a linear Hamiltonian system obeys W(t) = -W(-t)^T",
    how="random S and C with one to three inputs: C exp(JSt) J C^T by eigenvectors and by the library; the oscillator"
    " -sin(sqrt(2) t) / sqrt(2); the library's test on functions and on samples from one side",
    tolerance=1e-8,
)
def symmetric_response() -> float:
    residuals = []
    for seed, k in ((7, 1), (8, 2), (9, 3)):
        S, C = random_linear(seed, 2, k)
        J = symplectic(2)
        system = LinearInputOutput(J @ S, J @ C.T, C, np.zeros((k, k)))
        for time in (0.4, 1.3):
            forward = C @ exponential(J @ S, time) @ J @ C.T
            residuals.append(distance(forward, -(C @ exponential(J @ S, -time) @ J @ C.T).T))
            residuals.append(distance(system.impulse_response(time), forward))
        residuals.append(is_hamiltonian_impulse_response(system).residual)
    times = np.linspace(0.0, 4.0, 41)
    samples = -np.sin(np.sqrt(2) * times) / np.sqrt(2)
    oscillator = LinearInputOutput(
        symplectic(1) @ np.diag([2.0, 1.0]), np.array([[0.0], [-1.0]]), np.array([[1.0, 0.0]]), [[0.0]]
    )
    residuals.append(distance(oscillator.impulse_response(times)[:, 0, 0], samples))
    residuals.append(is_hamiltonian_impulse_response(samples, times).residual)
    return worst(residuals)


@claim(
    "B-4.7.5-converse",
    "A minimal system with this symmetry is Hamiltonian: one skew form Omega makes Omega A symmetric and Omega B = C^T; damping"
    " and other outputs break the symmetry",
    how="random Hamiltonian systems in random coordinates: Omega from the controllability and observability matrices; systems"
    " with damping, with velocities for outputs, and random ones must fail",
)
def converse() -> float:
    residuals = []
    J = symplectic(2)
    for seed in (11, 12):
        S, C = random_linear(seed)
        change = np.eye(4) + np.random.default_rng(seed).uniform(-0.4, 0.4, (4, 4))
        A, B = np.linalg.solve(change, J @ S @ change), np.linalg.solve(change, J @ C.T)
        out = C @ change
        reached = np.hstack([np.linalg.matrix_power(A, k) @ B for k in range(4)])
        seen = np.hstack([np.linalg.matrix_power(-A.T, k) @ out.T for k in range(4)])
        omega = seen @ np.linalg.pinv(reached)
        residuals += [np.max(np.abs(omega @ reached - seen)), np.max(np.abs(omega + omega.T))]
        residuals.append(np.max(np.abs(omega @ A - (omega @ A).T)))
        residuals.append(distance(omega @ B, out.T))
        damped = LinearInputOutput(A - 0.2 * np.eye(4), B, out, np.zeros((2, 2)))
        other = LinearInputOutput(A, B, out @ A, np.zeros((2, 2)))
        random = np.random.default_rng(seed + 50)
        a, b, c = (random.uniform(-1, 1, shape) for shape in ((4, 4), (4, 2), (2, 4)))
        plain = LinearInputOutput(a, b, c, np.zeros((2, 2)))
        residuals += [excess(APART - is_hamiltonian_impulse_response(s).residual) for s in (damped, other, plain)]
    return worst(residuals)


@claim(
    "B-4.7.5-feedthrough",
    "A direct term y = C x + D u belongs to u^T D u / 2 in H, so that D must be symmetric",
    how="two inputs: the skew form with a symmetric and with a skew D, and the library's test of the impulse response",
    tolerance=1e-8,
)
def feedthrough() -> float:
    S, C = random_linear(14, 1)
    J = symplectic(1)
    residuals = []
    for D, holds in ((np.array([[0.5, 0.2], [0.2, -0.3]]), True), (np.array([[0.0, 0.4], [-0.4, 0.0]]), False)):
        x, u = coordinates("x1 x2"), inputs("u1 u2")
        rates = sympy.Matrix(J @ S) * sympy.Matrix(x) + sympy.Matrix(J @ C.T) * sympy.Matrix(u)
        y = sympy.Matrix(C) * sympy.Matrix(x) + sympy.Matrix(D) * sympy.Matrix(u)
        flow = Flow(dict(zip(x, rates, strict=True)), inputs=u, outputs={"y1": y[0], "y2": y[1]})
        found = [
            variational_skew_form(flow, ["y1", "y2"], {}, {}, (0, 3)).residual,
            is_hamiltonian_impulse_response(LinearInputOutput(J @ S, J @ C.T, C, D)).residual,
        ]
        residuals += found if holds else [excess(APART - value) for value in found]
    return worst(residuals)


@claim(
    "B-4.7.6",
    "The skew form vanishes on admissible variations along every trajectory of a Hamiltonian system, and not for other systems",
    how="the nonlinear system of 4.7.2 under sines; the same with damping, and with other outputs, must not vanish",
    tolerance=1e-8,
)
def skew_form() -> float:
    flow = nonlinear()
    u1, u2 = flow.inputs
    drive, start = {u1: sympy.sin(t), u2: sympy.cos(2 * t) / 2}, {"q1": 0.3, "p2": 0.4}
    honest = variational_skew_form(flow, ["y_u1", "y_u2"], drive, start, (0, 3)).residual
    symbols = in_order(flow)
    damped = flow.replacing(rates={c: rate - (c / 4 if c in symbols[2:] else 0) for c, rate in flow.rates.items()})
    swapped = variational_skew_form(flow, ["y_u2", "y_u1"], drive, start, (0, 3)).residual
    lossy = variational_skew_form(damped, ["y_u1", "y_u2"], drive, start, (0, 3)).residual
    return largest(honest, excess(APART - swapped), excess(APART - lossy))


@claim(
    "B-4.7.6-rate",
    "The integrand d2 y . d1 u - d1 y . d2 u is minus the rate of the symplectic product of the variations of the state, so"
    " that compact support makes the integral vanish",
    how=f"{RANDOM}: derivatives of the library's rates and outputs at random states, inputs and variations",
)
def rate_of_product() -> float:
    random, J, residuals = np.random.default_rng(21), symplectic(2), []
    for x, u in points(22):
        H = _hessian(np.concatenate([x, u]))
        first, second = (random.uniform(-1, 1, 6) for _ in range(2))
        moved = [J @ H[:4] @ w for w in (first, second)]
        y = [H[4:] @ w for w in (first, second)]
        product = moved[0] @ J.T @ second[:4] + first[:4] @ J.T @ moved[1]
        residuals.append(distance(y[1] @ first[4:] - y[0] @ second[4:], -product))
    return worst(residuals)


def _hessian(point: Any) -> Any:
    """Second derivatives of H(x, u), (6, 6), from the derivatives of the library's rates and outputs."""
    flow = nonlinear()
    symbols = [*in_order(flow), *flow.inputs]
    q1, q2, p1, p2 = symbols[:4]
    gradient = [-flow.rates[p1], -flow.rates[p2], flow.rates[q1], flow.rates[q2], flow.outputs["y_u1"], flow.outputs["y_u2"]]
    table = dict(zip(symbols, map(float, point), strict=True))
    return np.array([[float(sympy.diff(e, s).xreplace(table)) for s in symbols] for e in gradient])


@claim(
    "B-4.7-regularity",
    "R_i(q, q_dot, q_ddot) = 0 is regular where det(dR_k/dq_ddot_i) is not zero; the printed second derivatives vanish for all"
    " Lagrangian equations",
    how="Euler's equations of a Lagrangian with a mass matrix: first and second derivatives against that matrix",
)
def regularity() -> Corrected:
    x, y = coordinates("x y")
    L = (x.dot**2 * (2 + sympy.cos(y)) + y.dot**2 + x * x.dot * y.dot) / 2 - x * y**2
    R = _euler(L, [x, y])
    table = {x: 0.3, y: -0.7, x.dot: 0.2, y.dot: 0.5, x.ddot: 0.1, y.ddot: -0.4}
    first = [[float(sympy.diff(r, c.ddot).xreplace(table)) for c in (x, y)] for r in R]
    second = [[float(sympy.diff(r, a.ddot, b.ddot).xreplace(table)) for a in (x, y) for b in (x, y)] for r in R]
    mass = np.array([[2 + np.cos(-0.7), 0.15], [0.15, 1.0]])
    found = helmholtz(list(R), [x, y])
    residual = largest(distance(first, mass), float(not found.is_regular), float(not found.is_lagrangian))
    return Corrected(residual, float(abs(np.linalg.det(mass))) - float(np.max(np.abs(second))))


def _euler(L: sympy.Expr, symbols: list[Any]) -> list[sympy.Expr]:
    found = []
    for c in symbols:
        p = sympy.diff(L, c.dot)
        rate = sum((sympy.diff(p, b) * b.dot + sympy.diff(p, b.dot) * b.ddot for b in symbols), sympy.S.Zero)
        found.append(rate - sympy.diff(L, c))
    return found


@claim(
    "B-4.7-inverse",
    "For linear equations M q_ddot + G q_dot + K q = u with outputs -q, Helmholtz's conditions hold exactly where the impulse"
    " response has the symmetry of 4.7.5: M and K symmetric, G skew",
    how=f"{RANDOM}: the library's verdicts on both, for systems of either kind and for each condition broken alone",
)
def inverse_problem() -> float:
    random, residuals = np.random.default_rng(31), []
    q = coordinates("q1 q2")
    v, a = sympy.Matrix([c.dot for c in q]), sympy.Matrix([c.ddot for c in q])
    root = random.uniform(-0.5, 0.5, (2, 2))
    base = [root @ root.T + np.eye(2), np.array([[0.0, 0.7], [-0.7, 0.0]]), np.array([[1.5, 0.3], [0.3, 0.8]])]
    skew, even = np.array([[0.0, 0.4], [-0.4, 0.0]]), np.array([[0.3, 0.1], [0.1, 0.2]])
    spoiled = [None, (0, skew), (1, even), (2, skew)]
    for change in spoiled:
        M, G, K = (m + (change[1] if change and change[0] == k else 0.0) for k, m in enumerate(base))
        exact = [sympy.Matrix(2, 2, [sympy.Rational(str(round(float(e), 3))) for e in m.ravel()]) for m in (M, G, K)]
        R = exact[0] * a + exact[1] * v + exact[2] * sympy.Matrix(q)
        M, G, K = (np.array(m.tolist(), dtype=float) for m in exact)
        inverse = np.linalg.inv(M)
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ K, -inverse @ G]])
        system = LinearInputOutput(
            A, np.vstack([np.zeros((2, 2)), inverse]), np.hstack([-np.eye(2), np.zeros((2, 2))]), np.zeros((2, 2))
        )
        response = is_hamiltonian_impulse_response(system)
        lagrangian = helmholtz(list(R), list(q), search=False).is_lagrangian
        residuals += [float(lagrangian != (change is None)), float(bool(response) != lagrangian)]
        residuals.append(response.residual if lagrangian else excess(APART - response.residual))
    return worst(residuals)


@claim(
    "B-4.7-rates",
    "The kernel of a Hamiltonian control system runs the rates J dH/dx",
    how=f"{RANDOM}: compiled rates under constant inputs against complex steps of H",
)
def compiled_rates() -> float:
    flow = nonlinear()
    residuals = []
    for x, u in points(41, 3):
        driven = flow.driven(dict(zip(flow.inputs, map(float, u), strict=True)))
        symbols = in_order(flow)
        state = np.array([x[symbols.index(c)] for c in flow.coordinates])
        rates = Probe(derive(driven), {}).rates(0.0, state)
        expected = symplectic(2) @ derivative(partial(_of_state, u), x)
        residuals.append(distance(rates, [expected[symbols.index(c)] for c in flow.coordinates]))
    return worst(residuals)
