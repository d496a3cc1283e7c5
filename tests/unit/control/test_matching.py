"""Controlled Lagrangians: conditions, classes, control laws, signs of the dissipation, level sets,
and what is refused.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.control.feedback.matching import SOLVERS
from dalembert.control.feedback.mechanics import read_mechanics
from dalembert.control.feedback.shaped import Shaped
from dalembert.errors import FormError, ModelError

CART = da.gallery.load("cart-pendulum")


def incline() -> tuple[da.System, dict[str, float]]:
    phi, s = da.coordinates("phi s")
    u = da.inputs("u")
    m, M, l, g, beta = da.parameters("m M l g beta", positive=True)
    cart = (s * cos(beta), s * sin(beta))
    bob = (cart[0] + l * sin(phi), cart[1] + l * cos(phi))
    parts = [
        da.particle(M, list(cart)),
        da.particle(m, list(bob)),
        da.gravity(M, cart[1], g),
        da.gravity(m, bob[1], g),
    ]
    values = {"m": 0.14, "M": 0.44, "l": 0.215, "g": 9.8, "beta": 0.3}
    return da.System([phi, s], parts=parts, forces={s: u}, inputs=[u]), values


def furuta() -> tuple[da.System, dict[str, float]]:
    scenario = da.gallery.load("furuta-matched")
    system = scenario.system.replacing(inputs=list(scenario.system.inputs), outputs={})
    return system, {p.name: scenario.parameters[p.name] for p in system.parameters}


def acrobot() -> tuple[da.System, dict[str, float]]:
    a, b = da.coordinates("a b")
    u = da.inputs("u")
    first = (sin(a), cos(a))
    second = (first[0] + sin(a + b), first[1] + cos(a + b))
    parts = [
        part
        for p in (first, second)
        for part in (da.particle(1, list(p)), da.gravity(1, p[1], 9.8))
    ]
    return da.System([a, b], parts=parts, forces={b: u}, inputs=[u]), {}


def spatial() -> tuple[da.System, dict[str, float]]:
    """An upright pendulum that may lean both ways, on a cart that two forces push; x and y are
    those of its bob.
    """
    x, y, s, r = da.coordinates("x y s r")
    u, w = da.inputs("u w")
    height = sympy.sqrt(1 - x**2 - y**2)
    bob = (s + x, r + y, height)
    parts = [da.particle(2, [s, r, 0]), da.particle(1, list(bob)), da.gravity(1, height, 9.8)]
    return da.System([x, y, s, r], parts=parts, forces={s: u, r: w}, inputs=[u, w]), {}


def in_units(unit: float, **changes: Any) -> da.System:
    """The cart with all energies multiplied."""
    cart = CART.system.replacing(**changes)
    kinetic, potential = unit * (cart.lagrangian + cart.potential), unit * cart.potential
    forces = {q: unit * force for q, force in cart.forces.items()}
    return da.System(
        cart.coordinates,
        kinetic=kinetic,
        potential=potential,
        forces=forces,
        inputs=list(cart.inputs),
    )


MODELS = {
    "cart": (lambda: (CART.system, dict(CART.parameters)), "simplified"),
    "incline": (incline, "simplified"),
    "furuta": (furuta, "one-unactuated"),
    "acrobot": (acrobot, "actuated-shape"),
    "spatial": (spatial, "simplified"),
}


@cache
def found(name: str, **options: Any) -> Any:
    make, using = MODELS[name]
    system, values = make()
    return da.control.match(system, parameters=values, using=using, region=False), values


def energy_of(matching: Any, state: dict[str, float], values: dict[str, float]) -> float:
    symbols = {p: values[p.name] for p in matching.system.parameters}
    symbols |= {
        x: state[x.name] for x in (*matching.system.coordinates, *matching.system.velocities)
    }
    return float(matching.shaped.energy.xreplace(symbols))


@pytest.mark.parametrize("name", MODELS)
class TestEveryClass:
    @pytest.mark.long
    def test_it_is_certified(self, name: str) -> None:
        matching, _ = found(name)
        assert matching.certificate.residual < 1e-10 and matching.certificate.states > 5
        assert matching.definite == 1 and matching.damping > 0

    def test_unactuated_coordinates_need_no_force(self, name: str) -> None:
        """The forces of (9.4.22), with SymPy's derivatives, vanish where no input acts."""
        matching, values = found(name)
        shaped, here = matching.shaped, matching.shaped.mechanics
        random = np.random.default_rng(4)
        for _ in range(3):
            symbols = [*here.coordinates, *here.velocities]
            at = {p: values[p.name] for p in matching.system.parameters}
            at |= {
                x: sympy.Float(value)
                for x, value in zip(symbols, random.uniform(-0.2, 0.2, len(symbols)), strict=True)
            }
            forces = np.array(shaped.control.xreplace(at), dtype=float)[:, 0]
            assert np.max(np.abs(forces[list(here.unactuated)])) < 1e-10 * (
                1 + np.max(np.abs(forces))
            )
            assert np.max(np.abs(forces[list(here.actuated)])) > 1e-3

    @pytest.mark.long
    def test_the_closed_loop_moves_by_the_controlled_lagrangian(self, name: str) -> None:
        """Accelerations of the closed loop without damping against Lagrange's equations of L~ with
        the force Y.
        """
        make, using = MODELS[name]
        system, values = make()
        matching = da.control.match(system, parameters=values, using=using, region=False, damping=0)
        shaped = matching.shaped
        q, v = system.coordinates, sympy.Matrix(system.velocities)
        reference = da.System(
            q,
            kinetic=(v.T * shaped.metric * v)[0] / 2,
            potential=shaped.potential,
            forces=dict(zip(q, shaped.gyroscopic, strict=True)),
        )
        random = np.random.default_rng(8)
        functions = [da.derive(s, "lagrange").function() for s in (matching.system, reference)]
        tables = [
            {p.name: values[p.name] for p in s.parameters} for s in (matching.system, reference)
        ]
        for _ in range(4):
            state = random.uniform(-0.25, 0.25, 2 * len(q))
            one, two = (
                np.asarray(f(0.0, state, t)) for f, t in zip(functions, tables, strict=True)
            )
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-8)

    def test_the_energy_falls_and_the_motion_settles(self, name: str) -> None:
        matching, values = found(name)
        start = {matching.system.coordinates[0].name: 0.01 if name == "acrobot" else 0.05}
        motion = da.simulate(matching.system, start, (0, 40), parameters=values, rtol=1e-10)
        energy = motion["controlled_energy"]
        assert np.max(np.abs(motion.y[:, -1])) < 1e-5
        assert np.max(np.diff(energy)) < 1e-9 * energy[0] and energy[-1] < 1e-8 * energy[0]

    def test_the_eigenvalues_are_those_of_the_closed_loop(self, name: str) -> None:
        matching, values = found(name)
        line = da.linearise(matching.system, parameters=values)
        one, two = (np.poly(np.asarray(v)) for v in (line.eigenvalues, matching.eigenvalues))
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6 * np.max(np.abs(two)))


def test_only_metrics_with_constant_inertia_match_without_a_force_beside_them() -> None:
    assert not found("cart")[0].shaped.is_gyroscopic
    bare, _ = found("furuta")
    shaped = bare.shaped
    assert shaped.is_gyroscopic
    none = Shaped(shaped.mechanics, shaped.kind, shaped.metric, shaped.potential, sympy.zeros(2, 1))
    assert none.certificate().kinetic > 1e-6 > shaped.certificate().kinetic


@pytest.mark.long
@pytest.mark.parametrize("using", ["simplified", "one-unactuated", "ansatz"])
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_energy_change_nothing(using: str, unit: float) -> None:
    system = in_units(unit)
    plain, scaled = (
        da.control.match(s, parameters=CART.parameters, using=using, region=False)
        for s in (CART.system, system)
    )
    np.testing.assert_allclose(np.poly(scaled.eigenvalues), np.poly(plain.eigenvalues), rtol=1e-6)
    with pytest.raises(FormError, match="no equilibrium"):
        da.control.match(system, at={"phi": 0.4}, parameters=CART.parameters, using=using)


def test_a_certificate_says_on_what_it_rests() -> None:
    """Gains as symbols make a proof; numbers that were fitted do not, and say to which accuracy
    they agree.
    """
    assert found("cart")[0].certificate.verdict.is_proved and "proved" in str(found("cart")[0])
    fitted = found("acrobot")[0].certificate.verdict
    assert (
        fitted.status == "not established"
        and fitted.holds_to_rounding
        and "accuracy of 1e-10" in fitted.grounds
    )
    shaped = found("cart")[0].shaped
    angle = shaped.mechanics.coordinates[0]
    late = sympy.Piecewise((0, angle < 10**7), (angle**3, True))
    open_one = Shaped(
        shaped.mechanics, shaped.kind, shaped.metric, shaped.potential + late, shaped.gyroscopic
    )
    assert open_one.certificate().verdict.status == "not established"
    bent = Shaped(
        shaped.mechanics, shaped.kind, shaped.metric * 2, shaped.potential, shaped.gyroscopic
    )
    assert bent.certificate().verdict.is_refuted


def test_classes_that_overlap_agree() -> None:
    """On the cart "one-unactuated" with the inertia of "simplified" at the equilibrium has the same
    linear closed loop.
    """
    spectra = [
        da.control.match(CART, using=name, region=False).eigenvalues
        for name in ("simplified", "one-unactuated")
    ]
    np.testing.assert_allclose(np.poly(spectra[0]), np.poly(spectra[1]), rtol=1e-6)


def test_an_ansatz_finds_the_family_of_simplified_matching() -> None:
    """g~ lambda = g_a with lambda = (-b, a cos phi) up to a factor: the field of simplified
    matching.
    """
    matching = da.control.match(CART, using="ansatz", region=False, damping=0)
    assert matching.certificate.residual < 1e-10
    here, shaped = matching.shaped.mechanics, matching.shaped
    ratios = []
    for angle in (0.0, 0.3, 0.7):
        at = {"phi": angle}
        field = np.linalg.solve(here.numbers(shaped.metric, at), here.numbers(here.metric, at)[0])
        ratios.append([field[0], field[1] / np.cos(angle)])
    np.testing.assert_allclose(ratios, [ratios[0]] * 3, rtol=1e-8)


def test_the_gallery_holds_what_match_finds() -> None:
    closed = da.gallery.load("cart-pendulum-matched")
    values = dict(closed.parameters)
    gains = {"a": values["a"], "c": values["c"], "stiffness": values["eps"]}
    matching = da.control.match(CART, gains=gains, damping=values["d"], region=False)
    options: dict[str, Any] = {"span": (0, 3), "rtol": 1e-11, "at": np.linspace(0, 3, 7)}
    one = da.simulate(closed, **options)
    two = da.simulate(matching.system, closed.start, parameters=CART.parameters, **options)
    for name in ("phi", "s", "u", "controlled_energy"):
        np.testing.assert_allclose(one[name], two[name], atol=1e-7)


@pytest.mark.long
def test_the_gallery_holds_furuta_as_match_finds_it() -> None:
    closed = da.gallery.load("furuta-matched")
    values = dict(closed.parameters)
    system, numbers = furuta()
    gains = {"a": values["a"], "inertia": values["k"], "stiffness": values["eps"]}
    matching = da.control.match(
        system,
        parameters=numbers,
        gains=gains,
        damping=values["d"],
        region=False,
        using="one-unactuated",
    )
    options: dict[str, Any] = {"span": (0, 2), "rtol": 1e-11, "at": np.linspace(0, 2, 5)}
    one = da.simulate(closed, **options)
    two = da.simulate(matching.system, closed.start, parameters=numbers, **options)
    for name in ("phi", "theta", "u", "controlled_energy"):
        np.testing.assert_allclose(one[name], two[name], atol=1e-7)


class TestSigns:
    def test_a_negative_definite_energy_is_damped_by_a_negative_factor(self) -> None:
        plain, turned = (
            da.control.match(CART, region=False, negative=sign) for sign in (False, True)
        )
        assert (plain.definite, turned.definite) == (1, -1)
        assert plain.damping == -turned.damping > 0
        np.testing.assert_allclose(
            np.poly(plain.eigenvalues), np.poly(turned.eigenvalues), rtol=1e-8
        )

    def test_the_printed_sign_would_make_it_grow(self) -> None:
        turned = da.control.match(CART, region=False, negative=True)
        laws = turned.shaped.laws(abs(turned.damping))
        grown = da.linearise(
            CART.system.driven({u.name: law for u, law in laws.items()}), parameters=CART.parameters
        )
        assert np.max(grown.eigenvalues.real) > 0.5

    def test_without_definiteness_no_damping_is_given(self) -> None:
        gains = {"stiffness": -1.0}
        with pytest.raises(FormError, match="not definite"):
            da.control.match(CART, region=False, gains=gains)
        kept = da.control.match(CART, region=False, gains=gains, damping=0)
        assert kept.definite == 0 and kept.region is None

    def test_the_size_of_the_damping_is_positive(self) -> None:
        with pytest.raises(ModelError, match="size"):
            da.control.match(CART, region=False, damping=-1.0)


@pytest.mark.long
class TestLevelSets:
    def test_the_level_is_that_of_the_ridge(self) -> None:
        """In simplified matching U~ = V(phi) + eps y^2/2: the edge of definiteness is a line phi =
        const, so c = V there.
        """
        matching = da.control.match(CART, gains={"ratio": 4.0})
        b, (a, c) = CART.parameters, (matching.shaped.gains[k] for k in ("a", "c"))
        edge = np.arccos(np.sqrt(c * (b["M"] + b["m"]) / ((c * a - 1) * b["m"])))
        level = b["m"] * b["g"] * b["l"] * (1 - np.cos(edge))
        assert 0.9 * level < matching.region.level < level
        assert "definite" in matching.region.limited_by and matching.region.other_minima == 0

    def test_states_are_told_apart(self) -> None:
        region = da.control.match(CART).region
        assert region.contains({"phi": 0.1, "s": 0.0, "phi_dot": 0.0, "s_dot": 0.0})
        assert not region.contains({"phi": 1.4, "s": 0.0, "phi_dot": 0.0, "s_dot": 0.0})
        assert not region.contains({"phi": 0.1, "s": 0.0, "phi_dot": 9.0, "s_dot": 0.0})
        assert not region.contains({"phi": 0.1, "s": 50.0, "phi_dot": 0.0, "s_dot": 0.0})

    def test_starts_inside_evaluate_projected(self) -> None:
        matching = da.control.match(CART)
        equations, random, tried = da.derive(matching.system), np.random.default_rng(5), 0
        while tried < 12:
            start = dict(
                zip(
                    ("phi", "s", "phi_dot", "s_dot"),
                    random.uniform(-1, 1, 4) * [0.6, 0.3, 6, 1],
                    strict=True,
                )
            )
            if matching.region.contains(start):
                tried += 1
                motion = da.simulate(equations, start, (0, 20), parameters=CART.parameters)
                assert np.max(np.abs(motion.y[:, -1])) < 1e-6

    def test_a_box_limits_it(self) -> None:
        matching = da.control.match(CART, within={"phi": (-0.2, 0.2)})
        assert "box" in matching.region.limited_by
        assert matching.region.bounds["phi"][1] <= 0.2

    def test_a_saddle_limits_it(self) -> None:
        system, values = acrobot()
        assert "saddle" in da.control.match(system, parameters=values).region.limited_by


class TestRefusals:
    def test_not_enough_actuators(self) -> None:
        """Two pendulums of one length on one cart: one input for two unactuated coordinates."""
        a, b, s = da.coordinates("a b s")
        u = da.inputs("u")
        bobs = [(s + sin(q), cos(q)) for q in (a, b)]
        parts = [part for p in bobs for part in (da.particle(1, list(p)), da.gravity(1, p[1], 9.8))]
        twins = da.System(
            [a, b, s], parts=[da.particle(1, [s, 0]), *parts], forces={s: u}, inputs=[u]
        )
        with pytest.raises(FormError, match=r"not enough actuators.*rank 1.*rank 4 of 6"):
            da.control.match(twins)

    def test_uncontrollable(self) -> None:
        x, s = da.coordinates("x s")
        u = da.inputs("u")
        apart = da.System(
            [x, s], kinetic=(x.dot**2 + s.dot**2) / 2, potential=cos(x), forces={s: u}, inputs=[u]
        )
        with pytest.raises(FormError, match=r"rank 2 of 4.*add an actuator"):
            da.control.match(apart)

    def test_unsolvable_in_the_class_names_the_residual(self) -> None:
        system, values = furuta()
        with pytest.raises(
            FormError, match="simplified: g_ab of the actuated coordinates depends on phi"
        ):
            da.control.match(system, parameters=values, using="simplified")
        with pytest.raises(FormError, match=r"ansatz: .*(residual|positive)"):
            da.control.match(system, parameters=values, using="ansatz")

    @pytest.mark.parametrize("unit", [1, 1e-12, 1e12])
    @pytest.mark.parametrize(
        ("off", "words"),
        [
            (lambda x: x**4 / 1000, r"simplified: residual .*limit 1e-10"),
            (
                lambda x: sympy.Piecewise((0, x < 2), ((x - 2) ** 3, True)),
                r"simplified: .* do not hold everywhere: potential: it fails by",
            ),
        ],
        ids=["little", "late"],
    )
    def test_a_wrong_solution_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, off: Any, words: str, unit: float
    ) -> None:
        honest = SOLVERS["simplified"]

        def wrong(here: Any, gains: Any) -> Shaped:
            right = honest(here, gains)
            potential = right.potential + unit * off(here.coordinates[0])
            return Shaped(here, right.kind, right.metric, potential, right.gyroscopic)

        monkeypatch.setitem(SOLVERS, "simplified", wrong)
        with pytest.raises(FormError, match=words):
            da.control.match(in_units(unit), parameters=CART.parameters, using="simplified")

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"dissipation": CART.system.velocities[0] ** 2}, "only its inputs act"),
            ({"inputs": (), "forces": {}}, "No coordinate is actuated"),
            ({"constraints": [da.holonomic(CART.system.coordinates[1])]}, "without constraints"),
        ],
        ids=["damped", "without-inputs", "constrained"],
    )
    def test_other_systems_are_refused(self, change: dict[str, Any], words: str) -> None:
        with pytest.raises(FormError, match=words):
            da.control.match(CART.system.replacing(**change), parameters=CART.parameters)

    def test_wrong_names_and_points(self) -> None:
        with pytest.raises(FormError, match="inputs push s; actuated: phi"):
            da.control.match(CART, ["phi"])
        with pytest.raises(ModelError, match="no class"):
            da.control.match(CART, using="simple")
        with pytest.raises(FormError, match="no equilibrium for any input"):
            da.control.match(CART, at={"phi": 0.4})
        with pytest.raises(ModelError, match="no value"):
            da.control.match(CART.system)


def test_a_hanging_pendulum_needs_only_a_spring() -> None:
    matching = da.control.match(CART, at={"phi": np.pi}, region=False)
    assert matching.kind == "potential shaping"
    motion = da.simulate(
        matching.system, {"phi": np.pi - 0.5, "s": 0.3}, (0, 80), parameters=CART.parameters
    )
    np.testing.assert_allclose(motion.y[:, -1], [np.pi, 0, 0, 0], atol=1e-4)


def test_a_fully_actuated_system_takes_any_spring() -> None:
    x, y = da.coordinates("x y")
    u, w = da.inputs("u w")
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=-(x**2) + x * y,
        forces={x: u, y: w},
        inputs=[u, w],
    )
    matching = da.control.match(system, region=False)
    assert matching.kind == "potential shaping" and np.max(matching.eigenvalues.real) < 0


@pytest.mark.long
def test_a_report_says_what_stands_for_what() -> None:
    text = str(da.control.match(CART))
    for words in (
        "simplified matching, as in (9.4.21)",
        "positive definite",
        "an estimate",
        "E~ <",
    ):
        assert words in text


def test_mechanics_are_read_in_the_order_of_the_coordinates() -> None:
    here = read_mechanics(CART, None, None, None)
    assert here.names(here.unactuated) == "phi" and here.names(here.actuated) == "s"
