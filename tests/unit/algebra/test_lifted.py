"""The factorisation through shared velocities: against closed forms, against the Hessian itself,
and in whole models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
import dalembert.runtime.kernel as kernel_module
from dalembert.algebra.graph import GraphAlgebra
from dalembert.algebra.lifted import lift
from dalembert.algebra.lifted_factor import LiftedFactor
from dalembert.algebra.sparse_factor import Budget, TooManyOperationsError
from dalembert.codegen.passes.lifted_solve import lifted_solution
from dalembert.codegen.passes.unrolled import HEALTHY
from dalembert.errors import SingularError

GRAVITY = 9.81


# -- models ----------------------------------------------------------------------------------------


def tree_lagrangian(
    functions: Any,
    q: Any,
    w: Any,
    parents: Sequence[int],
    masses: Sequence[Any],
    lengths: Sequence[Any],
) -> Any:
    """Point masses on massless rods in the plane, absolute angles; rod k hangs on mass parents[k],
    -1 is the ground.
    """
    carried: list[tuple[Any, Any, Any]] = []
    total: Any = 0
    for k, parent in enumerate(parents):
        vx, vy, height = carried[parent] if parent >= 0 else (0, 0, 0)
        vx = vx + lengths[k] * functions.cos(q[k]) * w[k]
        vy = vy + lengths[k] * functions.sin(q[k]) * w[k]
        height = height - lengths[k] * functions.cos(q[k])
        carried.append((vx, vy, height))
        total = total + masses[k] * (vx**2 + vy**2) / 2 - masses[k] * GRAVITY * height
    return total


def chain_system(n: int, constraints: Callable[[Any], Sequence[Any]] = lambda _: ()) -> da.System:
    """Point masses m0 ... on rods l0 ... in absolute angles."""
    q = da.coordinates(f"q0:{n}")
    masses, lengths = ([sympy.Symbol(f"{symbol}{k}") for k in range(n)] for symbol in "ml")
    lagrangian = tree_lagrangian(
        sympy, q, [angle.dot for angle in q], range(-1, n - 1), masses, lengths
    )
    return da.System(coordinates=q, lagrangian=lagrangian, constraints=constraints(q))


def bars_on_a_cart(n: int) -> da.System:
    """A cart with a chain of bars with inertia, in relative angles: what moves is known by centres
    of mass.
    """
    x, q = da.coordinates("x"), da.coordinates(f"q0:{n}")
    masses, lengths = ([sympy.Symbol(f"{symbol}{k}") for k in range(n)] for symbol in "ml")
    vx: Any = x.dot
    vy: Any = 0
    height: Any = 0
    angle: Any = 0
    turning: Any = 0
    kinetic, potential = x.dot**2, sympy.Integer(0)
    for k in range(n):
        angle, turning, length = angle + q[k], turning + q[k].dot, lengths[k]
        centre = (
            vx + length / 2 * sympy.cos(angle) * turning,
            vy + length / 2 * sympy.sin(angle) * turning,
        )
        potential += masses[k] * GRAVITY * (height - length / 2 * sympy.cos(angle))
        kinetic += (
            masses[k] * (centre[0] ** 2 + centre[1] ** 2) / 2
            + masses[k] * length**2 / 24 * turning**2
        )
        vx, vy = vx + length * sympy.cos(angle) * turning, vy + length * sympy.sin(angle) * turning
        height = height - length * sympy.cos(angle)
    return da.System(coordinates=[x, *q], kinetic=kinetic, potential=potential)


def spatial_chain(n: int) -> da.System:
    """Unit masses on unit rods in space, in polar angle a and azimuth b."""
    symbols = da.coordinates(" ".join(f"a{k} b{k}" for k in range(n)))
    velocity: Any = [0, 0, 0]
    kinetic, potential, height = sympy.Integer(0), sympy.Integer(0), sympy.Integer(0)
    for a, b in zip(symbols[::2], symbols[1::2], strict=True):
        sa, ca_, sb, cb = sympy.sin(a), sympy.cos(a), sympy.sin(b), sympy.cos(b)
        further = (
            ca_ * cb * a.dot - sa * sb * b.dot,
            ca_ * sb * a.dot + sa * cb * b.dot,
            sa * a.dot,
        )
        velocity = [old + new for old, new in zip(velocity, further, strict=True)]
        height -= ca_
        kinetic += sum(part**2 for part in velocity) / 2
        potential += GRAVITY * height
    return da.System(coordinates=symbols, kinetic=kinetic, potential=potential)


def closed_form(angle: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The accelerations of a chain of unit masses on unit rods, absolute angles."""
    n, i = len(angle), np.arange(len(angle))
    carried = n - np.maximum(i[:, None], i[None, :])
    between = angle[:, None] - angle[None, :]
    force = -(carried * np.sin(between)) @ rate**2 - GRAVITY * (n - i) * np.sin(angle)
    return np.linalg.solve(carried * np.cos(between), force)


class Graph:
    """The Lagrangian of a tree of bodies as a graph, with its Hessian lifted."""

    def __init__(
        self, parents: Sequence[int], masses: Sequence[float], lengths: Sequence[float]
    ) -> None:
        self.n = len(parents)
        self.q, self.v = ca.SX.sym("q", self.n), ca.SX.sym("v", self.n)
        q, v = (ca.vertsplit(symbols) for symbols in (self.q, self.v))
        self.lagrangian = tree_lagrangian(ca, q, v, parents, masses, lengths)
        derivative = ca.gradient(self.lagrangian, self.v)
        self.force = ca.gradient(self.lagrangian, self.q) - ca.jtimes(derivative, self.q, self.v)
        lifting = lift(self.lagrangian, self.v)
        assert lifting is not None
        self.factor = LiftedFactor(lifting)

    @property
    def accelerations(self) -> Any:
        found = self.factor.solve(dict(enumerate(ca.vertsplit(self.force))))
        return ca.vertcat(*[found[k] for k in range(self.n)])

    def function(self, *outputs: Any) -> Any:
        return ca.Function("graph", [self.q, self.v], list(outputs))


def by_symbol(table: dict[int, Any]) -> Any:
    return ca.vertcat(*[table[k] for k in sorted(table)])


def relative_error(found: Any, truth: Any) -> float:
    found, truth = np.array(found).ravel(), np.array(truth).ravel()
    return float(np.max(np.abs(found - truth)) / np.max(np.abs(truth)))


# -- the factorisation -----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 10, 50, 200])
def test_the_accelerations_of_a_chain_are_those_of_the_closed_form(n: int) -> None:
    graph = Graph(range(-1, n - 1), np.ones(n), np.ones(n))
    angle, rate = np.random.default_rng(n).uniform(-1, 1, (2, n))
    assert (
        relative_error(graph.function(graph.accelerations)(angle, rate), closed_form(angle, rate))
        < 1e-11
    )


def test_the_work_on_a_chain_grows_like_its_length() -> None:
    counts = []
    for n in (50, 100, 200):
        graph = Graph(range(-1, n - 1), np.ones(n), np.ones(n))
        counts.append(graph.function(graph.accelerations, graph.factor.health).n_instructions())
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_pivots_and_solutions_on_random_trees_are_those_of_the_hessian(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 14))
    parents = [data.draw(st.integers(-1, k - 1)) for k in range(n)]
    random = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    graph = Graph(parents, random.uniform(0.5, 2, n), random.uniform(0.5, 2, n))
    hessian = ca.hessian(graph.lagrangian, graph.v)[0]
    wanted = (
        hessian,
        graph.force,
        graph.accelerations,
        by_symbol(graph.factor.pivots),
        by_symbol(graph.factor.scales),
    )
    G, f, z, pivots, scales = (
        np.array(value) for value in graph.function(*wanted)(*random.uniform(-3, 3, (2, n)))
    )
    assert (scales.ravel() > 0.99 * np.diag(G) / n).all()
    assert (pivots > 0).all()
    assert np.sum(np.log(pivots)) == pytest.approx(np.linalg.slogdet(G)[1], abs=1e-8)
    assert np.max(np.abs(G @ z - f)) < 1e-10 * (
        np.max(np.abs(G)) * np.max(np.abs(z)) + np.max(np.abs(f))
    )


def test_a_scalar_need_not_be_quadratic() -> None:
    v, a = ca.SX.sym("v", 4), ca.SX.sym("a")
    shared = v[0] - a * v[1]
    further = shared + v[2] / a
    scalar = (
        5 * shared**2
        + further**4
        + (shared * v[3]) ** 2
        + (-v[3]) * v[3] / -2
        + 2 * v[2] ** 2
        + v[1] * v[1] * v[1] * v[1]
    )
    lifting = lift(scalar, v)
    assert lifting is not None and lifting.definitions
    right = np.array([1.0, -2.0, 0.5, 3.0])
    found = LiftedFactor(lifting).solve({k: ca.SX(value) for k, value in enumerate(right)})
    function = ca.Function("both", [v, a], [ca.hessian(scalar, v)[0], by_symbol(found)])
    G, z = (np.array(value) for value in function([0.3, 0.7, -0.4, 0.9], 1.3))
    assert np.allclose(G @ z.ravel(), right)


def test_other_operations_on_symbols_are_left_alone() -> None:
    v, a = ca.SX.sym("v", 2), ca.SX.sym("a")
    for scalar in (
        ca.sqrt(1 - v[0] ** 2) + v[1] ** 2,
        v[0] / v[1],
        ca.sin(v[0]),
        a + ca.exp(v[1] * v[0]),
    ):
        assert lift(scalar, v) is None
    for scalar in (ca.sin(a), v[0] + a * v[1]):
        lifting = lift(scalar, v)
        assert lifting is not None and not any(lifting.form)


def test_a_factorisation_stops_where_it_may_not_go_on() -> None:
    v = ca.SX.sym("v", 20)
    dense = sum(
        ca.dot(ca.SX(row), v) ** 2 for row in np.random.default_rng(1).normal(size=(20, 20))
    )
    lifting = lift(dense, v)
    assert lifting is not None
    with pytest.raises(TooManyOperationsError):
        LiftedFactor(lifting, Budget(500))


# -- sums ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", [False, True], ids=["tips", "centres"])
def test_sums_share_what_they_begin_with(half: bool) -> None:
    """With centres of mass no sum is part of another one, and still there are as many additions as
    terms.
    """
    counts = []
    for n in (10, 20, 40):
        symbols = sympy.symbols(f"a0:{n}")
        moving = symbols[0]
        total: Any = 0
        for symbol in symbols[1:]:
            total = total + (moving + (symbol / 2 if half else symbol)) ** 2
            moving = moving + symbol
        algebra = GraphAlgebra()
        value = algebra.scalar(total)
        function = ca.Function("sum", [algebra.vector(symbols)], [value])
        counts.append(function.n_instructions())
        random = np.random.default_rng(n).uniform(-1, 1, n)
        before = np.concatenate([[0], np.cumsum(random)])
        truth = np.sum((before[1:-1] + random[1:] / (2 if half else 1)) ** 2)
        assert float(function(random)) == pytest.approx(truth, rel=1e-12)
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


# -- whole models ----------------------------------------------------------------------------------


def plain_kernel(system: da.System, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The kernel with the ordinary solve."""
    with monkeypatch.context() as patch:
        patch.setattr(kernel_module, "lifted_solution", lambda graph: None)
        return da.derive(system).compile()


@pytest.mark.parametrize("build",
                         [lambda: chain_system(9), lambda: bars_on_a_cart(7),
                          lambda: spatial_chain(6)],
                         ids=["chain", "bars on a cart", "in space"])  # fmt: skip
def test_a_model_has_the_rates_of_the_ordinary_solve(
    build: Callable[[], da.System], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = build()
    lifted, plain = da.derive(system).compile(), plain_kernel(system, monkeypatch)
    assert lifted._lifted is not None and plain._lifted is None
    random = np.random.default_rng(5)
    values = {symbol: random.uniform(0.5, 1.5) for symbol in lifted.parameters}
    for _ in range(4):
        state = random.uniform(-1, 1, lifted.n_state) + 0.2
        assert (
            relative_error(lifted.rates(0.0, state, values), plain.rates(0.0, state, values))
            < 1e-10
        )


def test_the_mass_matrix_of_a_long_chain_is_not_formed() -> None:
    n = 30
    q = da.coordinates(f"q0:{n}")
    lagrangian = tree_lagrangian(
        sympy, q, [angle.dot for angle in q], range(-1, n - 1), [1] * n, [1] * n
    )
    kernel = da.derive(da.System(coordinates=q, lagrangian=lagrangian)).compile()
    angle, rate = np.random.default_rng(3).uniform(-1, 1, (2, n))
    rates = kernel.rates(0.0, np.concatenate([angle, rate]))
    assert relative_error(rates[n:], closed_form(angle, rate)) < 1e-11
    assert kernel.graph.hessian is not None and "matrix" not in vars(kernel.graph.hessian)
    assert kernel.graph.metric.shape == (n, n), "whoever asks for it gets it"


def test_blocks_with_other_symbols_put_in_form_the_matrix_where_it_changes() -> None:
    q = da.coordinates("a b")
    length, push = da.parameters("l F")
    system = da.System(
        coordinates=q,
        lagrangian=length * q[0].dot ** 2 + sympy.cos(q[1]) * q[1].dot ** 2,
        forces={q[0]: push},
    )
    algebra = GraphAlgebra()
    blocks = da.derive(system).blocks(algebra)
    two = algebra.vector([sympy.Integer(2)])
    unchanged, changed = (
        blocks.substituted(algebra, algebra.vector([symbol]), two) for symbol in (push, length)
    )
    assert unchanged.hessian is blocks.hessian and changed.hessian is None
    assert float(ca.evalf(changed.metric[0, 0])) == 4.0
    assert float(ca.evalf(unchanged.force[0])) == 2.0


def test_small_and_sparse_systems_keep_the_ordinary_solve() -> None:
    few = da.derive(chain_system(3)).compile()
    q = da.coordinates("q0:12")
    apart = da.derive(
        da.System(coordinates=q, kinetic=sum(x.dot**2 for x in q), potential=q[0] ** 2)
    ).compile()
    star = tree_lagrangian(sympy, q, [x.dot for x in q], [-1, *[0] * 11], [1] * 12, [1] * 12)
    bushy = da.derive(da.System(coordinates=q, lagrangian=star)).compile()
    assert few._lifted is None and apart._lifted is None and bushy._lifted is None


@pytest.mark.long
def test_rows_that_close_a_loop_are_carried_along(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 18
    lengths = [sympy.Symbol(f"l{k}") for k in range(n)]

    def closed(q: Any) -> Sequence[Any]:
        across = sum(length * sympy.sin(angle) for length, angle in zip(lengths, q, strict=True))
        down = sum(length * sympy.cos(angle) for length, angle in zip(lengths, q, strict=True))
        return [da.holonomic(across - 5, name="across"), da.holonomic(down - 3, name="down")]

    system = chain_system(n, closed)
    lifted, plain = da.derive(system).compile(), plain_kernel(system, monkeypatch)
    assert lifted._lifted is not None
    random = np.random.default_rng(8)
    values = {symbol: random.uniform(0.5, 1.5) for symbol in lifted.parameters}
    state = random.uniform(-1, 1, lifted.n_state)
    assert relative_error(lifted.rates(0.0, state, values), plain.rates(0.0, state, values)) < 1e-10


def test_missing_inertia_is_noticed() -> None:
    """Three rods and more with a mass at the tip alone: the pivots cancel, and the health says
    so.
    """
    n = 8
    system = chain_system(n)
    kernel = da.derive(system).compile()
    solution = lifted_solution(kernel.graph)
    assert solution is not None
    health = ca.Function("health", kernel._inputs(), [solution.health])
    random = np.random.default_rng(2)
    state = random.uniform(-1, 1, 2 * n)

    def health_with(masses: Sequence[float]) -> float:
        values = {f"m{k}": mass for k, mass in enumerate(masses)} | {f"l{k}": 1.0 for k in range(n)}
        return float(
            health(0.0, state, [values[symbol.name] for symbol in kernel.parameters], [], [])
        )

    assert health_with([1.0] * n) > 1e-3
    assert not health_with([0.0] * (n - 1) + [1.0]) > HEALTHY
    values = {f"m{k}": float(k < n - 1) for k in range(n)} | {f"l{k}": 1.0 for k in range(n)}
    with pytest.raises(SingularError):
        kernel.rates(0.0, state, values)


@pytest.mark.long
def test_the_robust_solve_takes_over_where_a_row_holds_what_has_no_inertia(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n = 10
    system = chain_system(n, lambda q: [da.holonomic(q[-1] - q[-2], name="stiff")])
    lifted, plain = da.derive(system).compile(), plain_kernel(system, monkeypatch)
    assert lifted._lifted is not None
    values = {f"m{k}": float(k < n - 1) for k in range(n)} | {f"l{k}": 1.0 for k in range(n)}
    state = np.random.default_rng(4).uniform(-1, 1, 2 * n)
    state[n - 1], state[-1] = state[n - 2], state[-2]
    rates = lifted.rates(0.0, state, values)
    assert rates[-1] == pytest.approx(rates[-2])
    assert relative_error(rates, plain.rates(0.0, state, values)) < 1e-10
    assert relative_error(rates[n:-1], closed_form(state[: n - 1], state[n:-1])) < 1e-10


@pytest.mark.long
def test_energy_is_kept_on_a_long_chain() -> None:
    n = 50
    q = da.coordinates(f"q0:{n}")
    lagrangian = tree_lagrangian(
        sympy, q, [angle.dot for angle in q], range(-1, n - 1), [1] * n, [1] * n
    )
    system = da.System(coordinates=q, lagrangian=lagrangian)
    start = {angle: 0.5 + 0.01 * k for k, angle in enumerate(q)}
    motion = da.simulate(system, start, (0.0, 1.0), rtol=1e-10, atol=1e-10)
    energy = np.asarray(motion.energy)
    assert np.max(np.abs(energy - energy[0])) < 1e-7 * abs(energy[0])
    assert np.max(np.abs(motion[q[-1]] - motion[q[-1]][0])) > 0.05
