"""The forms against each other and against Lagrange's equations written out by SymPy: motions,
reactions, signs.
"""

from __future__ import annotations

import re
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from agreement import worst_gap
from core_systems import consistent_state, random_system
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import FormError, ModelError
from dalembert.formulations.registry import applicability, default_form
from dalembert.model.legendre import conjugate

KINDS = ["", "h", "v", "hv", "rv", "a", "n", "ra", "hn"]
#: Every other kind waits for the long tests.
USUAL_KINDS = [
    pytest.param(kinds, marks=[pytest.mark.long] if number % 2 else [])
    for number, kinds in enumerate(KINDS)
]


def accelerations_and_reactions(
    system: da.System, form: str, seed: int
) -> tuple[np.ndarray, da.Motion]:
    _, motion = consistent_state(system, seed, form)
    return np.array([motion[q.ddot][0] for q in system.coordinates]), motion


# -- Lagrange's equations, written out -------------------------------------------------------------


def euler_residual(system: da.System, motion: da.Motion) -> np.ndarray:
    """d/dt L_v - L_q - Q at the first point of a motion: the momenta differentiated along a
    parabola, numerically.
    """
    q, v, time = system.coordinates, system.velocities, float(motion.t[0])
    momenta = [sympy.diff(system.lagrangian, s) for s in v]
    force = [system.forces.get(c, 0) - sympy.diff(system.dissipation, c.dot) for c in q]
    rest = [sympy.diff(system.lagrangian, c) + f for c, f in zip(q, force, strict=True)]
    function = sympy.lambdify([(*q, *v), da.t], [momenta, rest], cse=True)
    x, w, a = (np.array([motion[s][0] for s in symbols]) for symbols in (q, v, [c.ddot for c in q]))

    def at(step: float) -> Any:
        return np.array(
            function([*(x + w * step + a * step**2 / 2), *(w + a * step)], time + step), dtype=float
        )

    h = 2e-3
    rate = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h)))[0] / (12 * h)
    return rate - at(0.0)[1]


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
@pytest.mark.parametrize("kinds", USUAL_KINDS)
def test_the_reaction_is_what_lagranges_equations_lack(kinds: str, form: str) -> None:
    """d/dt L_v - L_q - Q = +R: one sign of the reaction, in every form."""
    system = random_system(20 + len(kinds), n=3, kinds=kinds)
    _, motion = accelerations_and_reactions(system, form, 3)
    assert np.allclose(motion.total_reaction[:, 0], euler_residual(system, motion), atol=1e-9)


@pytest.mark.parametrize("kinds", USUAL_KINDS)
def test_hamilton_moves_as_lagrange(kinds: str, seed: int = 1) -> None:
    system = random_system(100 * seed + len(kinds), n=3, kinds=kinds)
    one, first = accelerations_and_reactions(system, "lagrange", seed)
    two, second = accelerations_and_reactions(system, "hamilton", seed)
    assert np.allclose(first["energy"], second["energy"], atol=1e-10)
    assert np.allclose(one, two, atol=1e-9)
    for name, reaction in first.reactions.items():
        assert np.allclose(reaction.force, second.reactions[name].force, atol=1e-9), name
        assert np.allclose(reaction.multiplier, second.reactions[name].multiplier, atol=1e-9), name


def alike(system: da.System) -> list[str]:
    """The forms of d'Alembert's principle that apply; the vakonomic form and Pontryagin's extremals
    are of another one.
    """
    return [
        form
        for form, fault in applicability(system).items()
        if fault is None and form not in ("vakonomic", "pontryagin")
    ]


@pytest.mark.long
@pytest.mark.parametrize("kinds", ["", "h", "v", "rv", "a", "n", "hd"])
def test_every_form_moves_alike(kinds: str) -> None:
    """All forms of d'Alembert's principle, with their own unknowns: the same accelerations,
    reactions, momenta and energy.
    """
    system = random_system(300 + len(kinds), n=3, kinds=kinds)
    forms = alike(system)
    assert set(forms) >= {"lagrange", "hamilton"} | (
        set() if kinds == "n" else {"maggi", "gibbs-appell"}
    )
    assert kinds != "v" or set(forms) >= {
        "constrained-lagrangian",
        "implicit-lagrangian",
        "canonical-voronets",
        "hamel",
    }
    assert worst_gap(system, [da.derive(system, form) for form in forms], seed=4) < 1e-9


@pytest.mark.long
def test_every_form_moves_alike_in_a_run() -> None:
    """The same through the whole road, with native code: starts made consistent, symbols of each
    form, reactions read back.
    """
    system = random_system(301, n=3, kinds="v")
    start = da.simulate(
        system, dict.fromkeys((*system.coordinates, *system.velocities), 0.3), (0.4, 0.4)
    ).start
    expected = da.simulate(system, start, (0.4, 0.6), form="lagrange", at=[0.4, 0.6])
    for form in set(alike(system)) - {"lagrange"}:
        motion = da.simulate(system, start, (0.4, 0.6), form=form, at=[0.4, 0.6])
        for q in system.coordinates:
            for symbol in (q, q.dot, q.ddot, q.momentum):
                assert np.allclose(motion[symbol], expected[symbol], atol=1e-9), (form, symbol)
        assert np.allclose(motion.energy, expected.energy, atol=1e-9), form
        assert np.allclose(motion.total_reaction, expected.total_reaction, atol=1e-9), form


@pytest.mark.parametrize("kinds", ["h", "v", "hv", "a", "n"])
def test_the_reaction_of_each_constraint_is_along_its_row(kinds: str) -> None:
    """R_i = mu_i f_v: Chetaev's rule, also for constraints nonlinear in the velocities."""
    system = random_system(7, n=3, kinds=kinds)
    _, motion = accelerations_and_reactions(system, "lagrange", 4)
    numbers = {s: motion[s][0] for s in (*system.coordinates, *system.velocities)} | {
        da.t: motion.t[0]
    }
    for constraint in system.bilateral:
        symbols = (
            system.velocities
            if constraint.expression.has(*system.velocities)
            else system.coordinates
        )
        row = np.array(
            [float(sympy.diff(constraint.expression, s).xreplace(numbers)) for s in symbols]
        )
        reaction = motion.reactions[constraint.name]
        assert reaction.multiplier.shape == (1, 1)
        assert np.allclose(reaction.force[:, 0], reaction.multiplier[0, 0] * row, atol=1e-10)


def test_a_hanging_weight_pulls_its_thread() -> None:
    """The sign once more, where everyone knows it: the reaction on a weight at rest is upwards,
    equal to the weight.
    """
    z = da.coordinates("z")
    m, g = da.parameters("m g", positive=True)
    system = da.System(
        [z],
        kinetic=m / 2 * z.dot**2,
        potential=m * g * z,
        constraints=[da.holonomic(z + 1, name="thread")],
    )
    for form in ("lagrange", "hamilton", "vakonomic"):
        motion = da.simulate(system, {z: -1.0}, (0, 0.1), parameters={m: 2, g: 9.81}, form=form)
        assert motion.total_reaction[0, 0] == pytest.approx(2 * 9.81), form


def momentum_system(seed: int) -> da.System:
    """A random Hamiltonian with terms linear in the momenta and without any, and constraints of all
    kinds.
    """
    random = np.random.default_rng(seed)
    q = da.coordinates("q1:4")
    p = [c.momentum for c in q]
    mass = random.normal(size=(3, 3))
    inverse = mass @ mass.T + np.eye(3)
    hamiltonian = sum(float(inverse[i, j]) * p[i] * p[j] for i in range(3) for j in range(3)) / 2
    hamiltonian += (
        sympy.sin(q[0]) ** 2 * p[1] ** 2
        + sympy.cos(q[1]) * p[0]
        + sympy.sin(da.t) * p[2]
        + q[0] * q[1] ** 2
    )
    return da.System(
        q,
        hamiltonian=hamiltonian,
        constraints=[
            da.momentum(p[0] * sympy.cos(q[2]) - p[1] - sympy.Rational(1, 5), name="canonical"),
            da.velocity(q[2].dot - sympy.sin(q[0]) * q[0].dot, name="kinematic"),
        ],
        forces={q[0]: -q[0].dot / 3, q[1]: p[1] * sympy.sin(da.t)},
    )


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))]
)
def test_systems_stated_by_their_hamiltonian(seed: int) -> None:
    """Both forms of a Hamiltonian with momentum constraints: the Legendre transformation goes both
    ways.
    """
    system = momentum_system(seed)
    start = {q: 0.3 * (k + 1) for k, q in enumerate(system.coordinates)} | {system.momenta[2]: 0.4}
    hamilton = da.simulate(system, start, (0.2, 0.7), rtol=1e-12, at=[0.2, 0.7])
    velocities = {s: hamilton[s][0] for s in (*system.coordinates, *system.velocities)}
    lagrange = da.simulate(
        system, velocities, (0.2, 0.7), rtol=1e-12, at=[0.2, 0.7], form="lagrange"
    )
    for name in (
        *(s.name for s in (*system.coordinates, *system.momenta, *system.velocities)),
        "energy",
    ):
        assert np.allclose(hamilton[name], lagrange[name], atol=1e-9), name
    assert np.allclose(hamilton.total_reaction, lagrange.total_reaction, atol=1e-8)


# -- Legendre --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_legendre_there_and_back(seed: int) -> None:
    """L -> H -> L with terms linear in the velocities and without any; H is not T + V then."""
    system = random_system(seed, n=3, kinds="", forced=False)
    algebra = GraphAlgebra()
    q, v, p = (algebra.vector(s) for s in (system.coordinates, system.velocities, system.momenta))
    time, lagrangian = algebra.vector([da.t]), algebra.scalar(system.lagrangian)
    hamiltonian, velocities = conjugate(algebra, lagrangian, v, p)
    back, momenta = conjugate(algebra, hamiltonian, p, v)
    symbols = ca.vertcat(q, v, p, time)
    derivative = ca.gradient(lagrangian, v)
    there = ca.substitute(ca.gradient(lagrangian, ca.vertcat(q, time)), v, velocities)
    checks = ca.vertcat(
        back - lagrangian,
        momenta - derivative,
        ca.substitute(velocities, p, derivative) - v,
        ca.gradient(hamiltonian, p) - velocities,
        ca.gradient(hamiltonian, ca.vertcat(q, time)) + there,
        ca.substitute(hamiltonian, p, derivative) - (ca.dot(derivative, v) - lagrangian),
    )
    values = np.asarray(
        ca.Function("checks", [symbols], [checks])(np.random.default_rng(seed).normal(size=10))
    )
    assert np.abs(values).max() < 1e-11


def test_legendre_needs_an_energy_quadratic_in_the_velocities() -> None:
    x = da.coordinates("x")
    system = da.System([x], lagrangian=-sympy.sqrt(1 - x.dot**2))
    with pytest.raises(FormError, match="quadratic"):
        da.simulate(system, {x.dot: 0.5}, (0, 1), form="hamilton")
    motion = da.simulate(system, {x.dot: 0.5}, (0, 1))
    assert motion["x"][-1] == pytest.approx(0.5)
    assert motion["p_x"][-1] == pytest.approx(0.5 / np.sqrt(0.75))


# -- constraints that do work ----------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_a_nonideal_constraint_does_the_prescribed_virtual_work(form: str) -> None:
    """On every virtual displacement A w = 0 the reaction does the work C . w (Udwadia and
    Kalaba).
    """
    system = random_system(31, n=3, kinds="v")
    q = system.coordinates
    row = system.constraints[0].expression
    work = {q[0]: -q[0].dot * 2 + q[1], q[2]: sympy.sin(q[1]) + q[0].momentum / 3}
    rough = system.replacing(constraints=[da.velocity(row, name="rough", work=work)])
    _, motion = consistent_state(rough, 9, form)
    numbers = {s: motion[s][0] for s in (*q, *system.velocities, *system.momenta)} | {
        da.t: motion.t[0]
    }
    A = np.array([[float(sympy.diff(row, v).xreplace(numbers)) for v in system.velocities]])
    C = np.array([float(sympy.S(work.get(c, 0)).xreplace(numbers)) for c in q])
    virtual = np.linalg.svd(A)[2][1:]
    reaction = motion.reactions["rough"].force[:, 0]
    assert np.allclose(virtual @ reaction, virtual @ C, atol=1e-10)
    assert np.allclose(reaction, euler_residual(rough, motion), atol=1e-9)
    _, ideal = consistent_state(system, 9, form)
    assert np.allclose(virtual @ ideal.total_reaction[:, 0], 0, atol=1e-10)
    assert not np.allclose([motion[c.ddot][0] for c in q], [ideal[c.ddot][0] for c in q], atol=1e-3)


def test_coulomb_like_friction_on_a_ramp() -> None:
    """A bead on a straight wire with a prescribed drag c v along it: v = v0 exp(-c t / m)."""
    x, y = da.coordinates("x y")
    c = da.parameters("c", positive=True)
    wire = da.holonomic(y - x, name="wire", work={x: -c * x.dot, y: -c * y.dot})
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[wire])
    motion = da.simulate(
        system, {x.dot: 1.0, y.dot: 1.0}, (0, 2), parameters={c: 0.7}, at=[0, 1, 2]
    )
    assert np.allclose(motion["x_dot"], np.exp(-0.7 * motion.t), atol=1e-10)


# -- vakonomic -------------------------------------------------------------------------------------


def path(system: da.System, form: str, **start: float) -> np.ndarray:
    names = {s.name: 0.3 + 0.1 * k for k, s in enumerate((*system.coordinates, *system.velocities))}
    first = da.simulate(system, names, (0.0, 0.0)).start
    motion = da.simulate(system, first | start, (0, 1.5), form=form, rtol=1e-12, at=[0.75, 1.5])
    assert motion.success, motion.message
    return np.array([motion[q] for q in system.coordinates])


@pytest.mark.long
def test_vakonomic_motion_agrees_on_integrable_constraints() -> None:
    system = random_system(5, n=3, kinds="h", forced=False)
    assert np.allclose(path(system, "lagrange"), path(system, "vakonomic", chi_h0=0.0), atol=1e-9)
    assert np.allclose(path(system, "lagrange"), path(system, "vakonomic", chi_h0=2.5), atol=1e-8)


@pytest.mark.long
def test_vakonomic_motion_agrees_on_integrable_constraints_stated_by_velocities() -> None:
    system = random_system(5, n=3, kinds="h", forced=False)
    g = system.constraints[0].expression
    rows = sum(sympy.diff(g, q) * q.dot for q in system.coordinates)
    by_velocity = system.replacing(constraints=[da.velocity(rows, name="row")])
    for chi in (0.0, 1.3):
        assert np.allclose(
            path(by_velocity, "lagrange"), path(by_velocity, "vakonomic", chi_row=chi), atol=1e-8
        )


def test_vakonomic_motion_differs_on_constraints_that_are_not_integrable() -> None:
    system = random_system(6, n=3, kinds="v", forced=False)
    mechanical = path(system, "lagrange")
    assert np.abs(mechanical - path(system, "vakonomic", chi_v0=1.0)).max() > 1e-2
    assert (
        np.abs(path(system, "vakonomic", chi_v0=0.0) - path(system, "vakonomic", chi_v0=1.0)).max()
        > 1e-2
    )


def test_vakonomic_motions_are_extremal() -> None:
    """The action of the constrained curve is stationary: neighbours that obey the constraint differ
    at second order.

    The constraint y_dot = x z_dot is solved for y, which leaves free curves (x, z) with z and y
    fixed at the ends.
    """
    x, y, z = da.coordinates("x y z")
    system = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        constraints=[da.velocity(y.dot - x * z.dot, name="f")],
    )
    start = {x: 0.5, z.dot: 1.0, x.dot: 0.2, y.dot: 0.5, "chi_f": 0.8}
    times = np.linspace(0, 1, 2001)
    motion = da.simulate(system, start, (0, 1), form="vakonomic", at=times, rtol=1e-12)
    h = times[1] - times[0]

    def action(curve_x: np.ndarray, curve_z: np.ndarray) -> tuple[float, float]:
        vx, vz = np.diff(curve_x) / h, np.diff(curve_z) / h
        vy = (curve_x[1:] + curve_x[:-1]) / 2 * vz
        return float(np.sum(vx**2 + vy**2 + vz**2) * h / 2), float(np.sum(vy) * h)

    bumps = [np.sin(np.pi * times) * times, np.sin(2 * np.pi * times)]
    # y is cyclic: L_y_dot + chi is constant, and it is the price of moving the end point of y.
    price = motion["y_dot"] + motion["chi_f"]
    assert np.ptp(price) < 1e-9
    e = 1e-3
    for bump_x, bump_z in ((bumps[0], bumps[1]), (bumps[1], bumps[0]), (bumps[0], 0 * times)):
        ahead, behind = (
            action(motion["x"] + s * bump_x, motion["z"] + s * bump_z) for s in (e, -e)
        )
        derivative = ((ahead[0] - behind[0]) - price[0] * (ahead[1] - behind[1])) / (2 * e)
        assert abs(derivative) < 1e-5
        mechanical = ((ahead[0] - behind[0]) - motion["y_dot"][0] * (ahead[1] - behind[1])) / (
            2 * e
        )
        assert abs(mechanical) > 1e-3  # without the multiplier it is not stationary


# -- what is written -------------------------------------------------------------------------------


def sleigh() -> Any:
    x, y, theta = da.coordinates("x y theta")
    m, J = da.parameters("m J", positive=True)
    return da.System(
        [x, y, theta],
        kinetic=m / 2 * (x.dot**2 + y.dot**2) + J / 2 * theta.dot**2,
        constraints=[
            da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="blade")
        ],
    )


def test_text_of_lagranges_equations() -> None:
    lines = da.derive(sleigh(), "lagrange").text().splitlines()
    assert lines[:2] == ["m*x_ddot = mu_blade*sin(theta)", "m*y_ddot = -mu_blade*cos(theta)"]
    assert lines[2].endswith("theta_ddot = 0")
    assert len(lines) == 4 and "x_ddot" in lines[3] and "theta_dot" in lines[3]


def test_text_of_hamiltons_equations() -> None:
    text = da.derive(sleigh(), "hamilton").text()
    assert "x_dot = p_x/m" in text
    assert "theta_dot = p_theta/J" in text
    assert "p_x_dot = mu_blade*sin(theta)" in text


def test_text_of_vakonomic_equations_has_the_rate_of_the_multiplier() -> None:
    assert "chi_blade_dot = -mu_blade" in da.derive(sleigh(), "vakonomic").text()


def test_text_of_the_image_form() -> None:
    system = da.gallery.load("linked-particles").system
    text = da.derive(system).text()
    assert "u1_dot" in text and "x1_dot = u1" in text and "mu" not in text


@pytest.mark.long
def test_the_written_lines_are_the_equations() -> None:
    """Every line holds at a state with its rates, in every form: what is read is what is
    computed.
    """
    system = sleigh()
    values = {"m": 2.0, "J": 0.7}
    for form in ("lagrange", "hamilton", "vakonomic"):
        equations = da.derive(system, form)
        start = {"theta": 0.4, "x_dot": 0.3, "y_dot": 0.3 * np.tan(0.4), "theta_dot": 1.1}
        motion = da.simulate(equations, start, (0, 0), parameters=values)
        rates = equations.function()(0.0, motion.y[:, 0], values)
        numbers: dict[str, float] = {**values, "mu_blade":
        float(motion.reactions.get("blade").multiplier[0, 0])
                                     if "blade" in motion.reactions else 0.0}  # fmt: skip
        numbers |= {name: float(motion[name][0]) for name in motion.names}
        numbers |= {
            f"{s.name}_dot": float(r)
            for s, r in zip(equations.state, rates, strict=True)
            if s.name[0] in "pc"
        }
        if form == "vakonomic":
            numbers["mu_blade"] = -numbers["chi_blade_dot"]
        for left, right in equations.lines():
            gap = (left - right).xreplace({s: numbers[s.name] for s in (left - right).free_symbols})
            assert float(gap) == pytest.approx(0, abs=1e-12), (form, left)


def test_latex() -> None:
    text = da.derive(sleigh(), "lagrange").latex()
    assert text.startswith("\\begin{aligned}") and text.endswith("\\end{aligned}")
    for piece in ("\\theta", "\\mu", "&=", "\\sin", "\\\\"):
        assert piece in text, piece
    assert text.count("&=") == 4


# -- the registry ----------------------------------------------------------------------------------


def test_the_default_form_fits_how_a_system_was_stated() -> None:
    x = da.coordinates("x")
    assert default_form(da.System([x], kinetic=x.dot**2)) == "lagrange"
    assert default_form(da.System([x], hamiltonian=x.momentum**2)) == "hamilton"
    assert default_form(da.gallery.load("linked-particles").system) == "implicit-lagrangian"


def test_aliases_are_the_same_record() -> None:
    system = sleigh()
    for alias in ("gauss", "udwadia-kalaba"):
        assert da.derive(system, alias).form == "lagrange"
        assert alias in da.forms()


@pytest.mark.parametrize(
    ("form", "remedy"), [("lagrangian", "lagrange"), ("Hamilton", "hamilton"), ("zzz", "choose")]
)
def test_unknown_forms_are_named(form: str, remedy: str) -> None:
    with pytest.raises(FormError, match=remedy):
        da.derive(sleigh(), form)


def test_hypotheses_are_checked_by_name() -> None:
    image = da.gallery.load("linked-particles").system
    for form in ("lagrange", "hamilton", "vakonomic"):
        with pytest.raises(FormError, match="image"):
            da.derive(image, form)
    x = da.coordinates("x")
    for form in ("vakonomic", "implicit-lagrangian", "hamel"):
        with pytest.raises(FormError, match="constraints"):
            da.derive(da.System([x], kinetic=x.dot**2), form)
    judged = applicability(image)
    assert judged["implicit-lagrangian"] is None and isinstance(judged["hamilton"], FormError)


def test_derive_needs_a_system() -> None:
    with pytest.raises(ModelError, match="System"):
        da.derive("pendulum")  # type: ignore[arg-type]


def test_every_form_cites_its_source() -> None:
    system = sleigh()
    applying = [form for form, fault in applicability(system).items() if fault is None]
    assert len(applying) > 10
    for form in applying:
        assert re.search(r"eqs?\. |section |refs?\. |\d{4}", da.derive(system, form).citation), form
