"""The equations in SymPy's symbols: against native code in every form, and against SymPy's own
methods, symbol by symbol.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Particle,
    Point,
    ReferenceFrame,
    dynamicsymbols,
)

import dalembert as da
from dalembert.errors import FormError, ModelError, RunError
from dalembert.formulations.registry import applicability

QUICK = ["chaplygin-sleigh"]
QUICK_FORMS = ("lagrange", "hamilton", "maggi", "vakonomic")
LONG = [
    "appell",
    "constrained-particle",
    "rolling-disk",
    "snakeboard",
    "spherical-pendulum",
    "bicycle",
    "two-particles-incline",
    "falling-disk",
    "lc-circuit",
]


def numbers(eom: Any) -> Any:
    """The two matrices as a function of time, state, parameters and inputs, by SymPy's lambdify."""
    clock = dynamicsymbols._t
    return sympy.lambdify(
        [clock, list(eom.q), list(eom.u), eom.constants, eom.specifieds],
        [eom.mass_matrix_full, eom.forcing_full],
        cse=True,
    )


@pytest.mark.parametrize(
    "name",
    [*QUICK, *(pytest.param(n, marks=pytest.mark.long) for n in LONG if n in da.gallery.names())],
)
def test_every_form_agrees_with_native_code(name: str) -> None:
    system = da.gallery.load(name).system
    compared = 0
    for form in (
        QUICK_FORMS
        if name in QUICK
        else [form for form, why in applicability(system).items() if why is None]
    ):
        equations = da.derive(system, form)
        try:
            eom = equations.to_sympy()
        except ModelError as refusal:
            assert "to_casadi" in str(refusal)
            continue
        kernel, matrices = equations.compile(), numbers(eom)
        random = np.random.default_rng(3)
        for _ in range(2):
            y, p = (
                random.uniform(0.3, 1.1, kernel.n_state),
                random.uniform(0.5, 1.5, len(kernel.parameters)),
            )
            u = random.normal(size=len(kernel.free_inputs))
            try:
                native = kernel.rates(0.3, y, p, u)
            except RunError:
                continue
            M, F = (
                np.array(block, dtype=float)
                for block in matrices(0.3, y[: len(eom.q)], y[len(eom.q) :], p, u)
            )
            if np.linalg.cond(M) > 1e8:
                continue  # constraints that depend on each other, or speeds that are not unique
            solution = np.linalg.solve(M, F.ravel())
            scale = 1 + np.max(np.abs(native))
            np.testing.assert_allclose(
                solution[: kernel.n_state], native, rtol=0, atol=1e-12 * scale, err_msg=form
            )
            assert len(solution) == kernel.n_state + len(eom.lam)
            compared += 1
    assert compared


def sleigh_by_hand() -> tuple[Any, LagrangesMethod]:
    x, y, theta = da.coordinates("x y theta")
    m, J, a = da.parameters("m J a", positive=True)
    centre = (x.dot - a * theta.dot * sympy.sin(theta)) ** 2 + (
        y.dot + a * theta.dot * sympy.cos(theta)
    ) ** 2
    blade = da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="blade")
    ours = da.System(
        [x, y, theta], kinetic=m / 2 * centre + J / 2 * theta.dot**2, constraints=[blade]
    )
    X, Y, T = dynamicsymbols("x y theta")
    M, I, A = sympy.symbols("m J a")
    speed = (X.diff() - A * T.diff() * sympy.sin(T)) ** 2 + (
        Y.diff() + A * T.diff() * sympy.cos(T)
    ) ** 2
    theirs = LagrangesMethod(
        M / 2 * speed + I / 2 * T.diff() ** 2,
        [X, Y, T],
        nonhol_coneqs=[X.diff() * sympy.sin(T) - Y.diff() * sympy.cos(T)],
    )
    return ours, theirs


def pendulum_by_hand() -> tuple[Any, LagrangesMethod]:
    """A driven pendulum on a rod, with an input and friction, in Cartesian coordinates."""
    x, y = da.coordinates("x y")
    m, l, g, c = da.parameters("m l g c", positive=True)
    push = da.inputs("push")
    ours = da.System(
        [x, y],
        kinetic=m / 2 * (x.dot**2 + y.dot**2),
        potential=m * g * y,
        constraints=[da.holonomic(x**2 + y**2 - l**2, name="rod")],
        forces={x: push - c * x.dot, y: -c * y.dot},
        inputs=[push],
    )
    X, Y, P = dynamicsymbols("x y push")
    M, L, G, C = sympy.symbols("m l g c")
    frame, bob = ReferenceFrame("N"), Point("bob")
    bob.set_vel(frame, X.diff() * frame.x + Y.diff() * frame.y)
    load = [(bob, (P - C * X.diff()) * frame.x - C * Y.diff() * frame.y)]
    lagrangian = M / 2 * (X.diff() ** 2 + Y.diff() ** 2) - M * G * Y
    return ours, LagrangesMethod(
        lagrangian, [X, Y], hol_coneqs=[X**2 + Y**2 - L**2], forcelist=load, frame=frame
    )


def double_pendulum_by_hand() -> tuple[Any, LagrangesMethod]:
    a, b = da.coordinates("a b")
    m, l, g = da.parameters("m l g", positive=True)
    turning = a.dot**2 + b.dot**2 / 2 + a.dot * b.dot * sympy.cos(a - b)
    ours = da.System(
        [a, b], kinetic=m * l**2 * turning, potential=-m * g * l * (2 * sympy.cos(a) + sympy.cos(b))
    )
    A, B = dynamicsymbols("a b")
    M, L, G = sympy.symbols("m l g")
    kinetic = (
        M * L**2 * (A.diff() ** 2 + B.diff() ** 2 / 2 + A.diff() * B.diff() * sympy.cos(A - B))
    )
    return ours, LagrangesMethod(kinetic + M * G * L * (2 * sympy.cos(A) + sympy.cos(B)), [A, B])


@pytest.mark.parametrize("by_hand", [sleigh_by_hand, pendulum_by_hand, double_pendulum_by_hand])
def test_matrices_are_those_of_lagranges_method(by_hand: Any) -> None:
    system, theirs = by_hand()
    theirs.form_lagranges_equations()
    ours = da.derive(system, "lagrange").to_sympy()
    assert list(ours.q) == list(theirs.q) and list(ours.u) == list(theirs.u)
    for name in ("mass_matrix_full", "forcing_full", "mass_matrix", "forcing"):
        difference = getattr(ours, name) - getattr(theirs, name)
        assert difference.applyfunc(sympy.simplify).is_zero_matrix, name
    if theirs.coneqs:
        assert (ours.coneqs - theirs.coneqs).applyfunc(sympy.simplify).is_zero_matrix
        assert len(ours.lam_vec) == len(theirs.lam_vec)


@pytest.mark.parametrize("by_hand", [sleigh_by_hand, pendulum_by_hand, double_pendulum_by_hand])
def test_there_and_back(by_hand: Any) -> None:
    """A system becomes SymPy's object and comes back, with the same energies, constraints and
    forces.
    """
    system, _ = by_hand()
    back = da.from_sympy(da.derive(system).to_sympy().lagranges_method())
    assert [q.name for q in back.coordinates] == [q.name for q in system.coordinates]
    kernels = [da.derive(s, "lagrange").compile() for s in (system, back)]
    assert [s.name for s in kernels[0].free_inputs] == [s.name for s in kernels[1].free_inputs]
    random = np.random.default_rng(5)
    y, u = (
        random.uniform(0.3, 1.1, kernels[0].n_state),
        random.normal(size=len(kernels[0].free_inputs)),
    )
    p = {symbol.name: random.uniform(0.5, 1.5) for symbol in system.parameters}
    np.testing.assert_allclose(
        kernels[0].rates(0.1, y, p, u), kernels[1].rates(0.1, y, p, u), rtol=1e-12, atol=1e-12
    )


def test_maggis_matrices_are_those_of_kanes_method() -> None:
    """A particle on a track y' = x x': Kane's method in the speed of x has the same mass and force,
    and the same speeds.
    """
    x, y = da.coordinates("x y")
    m, k = da.parameters("m k", positive=True)
    track = da.velocity(y.dot - x * x.dot, name="track")
    system = da.System(
        [x, y],
        kinetic=m / 2 * (x.dot**2 + y.dot**2),
        potential=k / 2 * (x**2 + y**2),
        constraints=[track],
    )
    ours = da.derive(system, "kane").to_sympy()
    X, Y, u, v = dynamicsymbols("x y u_x v")
    M, K = sympy.symbols("m k")
    frame, place = ReferenceFrame("N"), Point("P")
    place.set_vel(frame, u * frame.x + v * frame.y)
    kane = KanesMethod(
        frame,
        [X, Y],
        [u],
        u_dependent=[v],
        kd_eqs=[X.diff() - u, Y.diff() - v],
        velocity_constraints=[v - X * u],
    )
    kane.kanes_equations(
        [Particle("bead", place, M)], [(place, -K * X * frame.x - K * Y * frame.y)]
    )
    assert list(ours.u) == [u] and len(ours.lam) == 0
    theirs = kane.rhs().xreplace({v: X * u})
    assert sympy.simplify(ours.rhs()[0] - u) == 0
    assert sympy.simplify(ours.rhs()[1] - theirs[1]) == 0
    assert sympy.simplify(ours.rhs()[2] - theirs[2]) == 0


def test_momenta_have_symbols_of_their_own_and_the_energy_is_there() -> None:
    x = da.coordinates("x")
    m, k = da.parameters("m k", positive=True)
    eom = da.derive(
        da.System([x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2), "hamilton"
    ).to_sympy()
    X, P = dynamicsymbols("x p_x")
    M, K = sympy.symbols("m k")
    assert list(eom.rhs()) == [P / M, -K * X]
    assert sympy.simplify(eom.energy - (P**2 / (2 * M) + K * X**2 / 2)) == 0
    assert list(eom.eom) == [X.diff() - P / M, P.diff() + K * X]


def test_the_way_to_invert_does_not_matter() -> None:
    x, y = da.coordinates("x y")
    m, k = da.parameters("m k", positive=True)
    kinetic = m / 2 * (x.dot**2 + x.dot * y.dot + y.dot**2)
    eom = da.derive(da.System([x, y], kinetic=kinetic, potential=k * y), "lagrange").to_sympy()
    for way in ("LU", "ADJ"):
        assert sympy.simplify(eom.rhs(way) - eom.rhs()) == sympy.zeros(4, 1)
    assert eom.lam.shape == (0, 1)  # a column, however short


def test_what_sympy_has_no_place_for_is_refused() -> None:
    x = da.coordinates("x")
    bouncing = da.System([x], kinetic=x.dot**2 / 2, constraints=[da.unilateral(x, name="floor")])
    with pytest.raises(FormError, match=r"no place.*floor"):
        da.derive(bouncing).to_sympy().lagranges_method()
    flow = da.Flow({x: -x})
    eom = da.derive(flow).to_sympy()
    assert list(eom.rhs()) == [-dynamicsymbols("x")]
    with pytest.raises(FormError, match="no Lagrangian"):
        eom.lagranges_method()


@pytest.mark.long
def test_dependent_constraints_give_the_multipliers_of_least_norm() -> None:
    x, y = da.coordinates("x y")
    rods = [da.holonomic(c * (x**2 + y**2 - 1), name=f"rod{c}") for c in (1, 2)]
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=y, constraints=rods)
    eom = da.derive(system, "lagrange").to_sympy()
    assert eom.mass_matrix_full.shape == (6, 6)
    found = eom.rhs()
    # On the circle the reaction is 2 mu (x, y) = (y - |v|^2) (x, y), mu = mu_1 + 2 mu_2 as 1 : 2.
    mu = found[4] + 2 * found[5]
    assert sympy.simplify(found[5] - 2 * found[4]) == 0
    q = dict(zip(eom.q, (0.6, 0.8), strict=True)) | dict(zip(eom.u, (0.8, -0.6), strict=True))
    assert float(2 * mu.subs(q)) == pytest.approx(0.8 - 1.0)
    assert [float(a.subs(q)) for a in found[2:4]] == pytest.approx([-0.2 * 0.6, -1 - 0.2 * 0.8])
    assert len(da.derive(system, "maggi").to_sympy().rhs()) == 3
    massless = da.System([x, y], kinetic=(x.dot + y.dot) ** 2 / 2, potential=y)
    with pytest.raises(FormError, match="not determined"):
        da.derive(massless, "lagrange").to_sympy().rhs()
