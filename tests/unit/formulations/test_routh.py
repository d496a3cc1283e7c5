"""Routh's reduction against the whole system, against hand-made functions, and where it must be
refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FormError, ModelError

a, b, c = da.coordinates("a b c")
r, phi = da.coordinates("r phi")
m, k, g, h, A, C, damping = da.parameters("m k g h A C damping", positive=True)
u = da.inputs("u")

PLANET = da.System(
    [r, phi], kinetic=m / 2 * (r.dot**2 + r**2 * phi.dot**2), potential=-k / r, name="Planet"
)
TOP = da.System(
    [a, b, c],
    kinetic=A / 2 * (b.dot**2 + (a.dot * sin(b)) ** 2) + C / 2 * (c.dot + a.dot * cos(b)) ** 2,
    potential=m * g * h * cos(b),
    name="Top",
)
TOP_NUMBERS = {"m": 1.0, "g": 9.81, "h": 0.7, "A": 1.2, "C": 0.5}


def test_the_function_of_a_planet_is_the_one_of_textbooks() -> None:
    radial = da.symmetry.routh(PLANET, [phi])
    p = radial.parameters[-1]
    assert p.name == "p_phi"
    assert (
        sympy.simplify(radial.lagrangian - (m / 2 * r.dot**2 + k / r - p**2 / (2 * m * r**2))) == 0
    )
    assert sympy.simplify(radial.outputs["phi_dot"] - p / (m * r**2)) == 0
    assert da.symmetry.routh(PLANET, "phi", {"phi": 3}).lagrangian == radial.lagrangian.xreplace(
        {p: sympy.Integer(3)}
    )
    ell = da.parameters("ell")
    assert da.symmetry.routh(PLANET, [phi], [ell]).lagrangian == radial.lagrangian.xreplace(
        {p: ell}
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("end", [4.0, -4.0], ids=["forwards", "backwards"])
def test_a_top_without_its_two_angles_moves_as_the_whole_top(seed: int, end: float) -> None:
    """Coupled cyclic velocities; the angles come back by quadrature."""
    random = np.random.default_rng(seed)
    start = {"a": 0.3, "b": random.uniform(0.6, 1.6), "c": -0.4}
    start |= dict(
        zip(("a_dot", "b_dot", "c_dot"), random.uniform(-1, 1, 3) * [1, 1, 8], strict=True)
    )
    options: dict[str, Any] = {"rtol": 1e-12, "at": np.linspace(0, end, 9)}
    whole = da.simulate(TOP, start, (0, end), parameters=TOP_NUMBERS, **options)
    momenta = {"p_a": whole["p_a"][0], "p_c": whole["p_c"][0]}
    first = {"b": start["b"], "b_dot": start["b_dot"]}
    alone = da.simulate(
        da.symmetry.routh(TOP, [a, c]), first, (0, end), parameters=TOP_NUMBERS | momenta, **options
    )
    for name in ("b", "b_dot", "a_dot", "c_dot", "p_b", "energy"):
        assert np.allclose(alone[name], whole[name], rtol=1e-9, atol=1e-9), name
    angles = da.symmetry.recover_cyclic(alone, {a: 0.3, "c": -0.4})
    for name in ("a", "c"):
        assert np.allclose(angles[name], whole[name], rtol=1e-9, atol=1e-9), name


def test_terms_linear_in_the_velocities_stay() -> None:
    """L with a mixed term a_dot b_dot and a vector potential: R has a term linear in b_dot, and the
    motion is the same.
    """
    system = da.System(
        [a, b],
        lagrangian=(1 + b**2) * a.dot**2 / 2 + a.dot * b.dot * sin(b) + b.dot**2 + b * a.dot - b**2,
    )
    left = da.symmetry.routh(system, [a])
    assert sympy.diff(left.lagrangian, b.dot).xreplace({b.dot: sympy.Integer(0)}) != 0
    at = np.linspace(0, 5, 6)
    whole = da.simulate(system, {"b": 0.4, "a_dot": 0.3, "b_dot": -0.2}, (0, 5), rtol=1e-12, at=at)
    alone = da.simulate(
        left,
        {"b": 0.4, "b_dot": -0.2},
        (0, 5),
        rtol=1e-12,
        at=at,
        parameters={"p_a": float(whole["p_a"][0])},
    )
    for name in ("b", "b_dot", "a_dot", "p_b", "energy"):
        assert np.allclose(alone[name], whole[name], rtol=1e-9, atol=1e-9), name


def test_forces_inputs_and_time_stay() -> None:
    """A driven, damped radius whose force depends on the cyclic velocity, and a mass that changes
    with time.
    """
    system = da.System(
        [r, phi],
        lagrangian=(1 + sin(da.t) / 5) / 2 * (r.dot**2 + r**2 * phi.dot**2) - r**2 / 2,
        forces={r: u - phi.dot / 10},
        dissipation=damping * r.dot**2 / 2,
        inputs={u: cos(3 * da.t) * r.dot},
        outputs={"spin": phi.momentum / r, "corner": r * cos(phi)},
    )
    left = da.symmetry.routh(system, [phi])
    assert set(left.outputs) == {"spin", "phi_dot"}
    at = np.linspace(0, 4, 5)
    whole = da.simulate(
        system, {r: 1.0, phi.dot: 0.8}, (0, 4), parameters={"damping": 0.1}, rtol=1e-12, at=at
    )
    numbers = {"damping": 0.1, "p_phi": float(whole["p_phi"][0])}
    alone = da.simulate(left, {r: 1.0}, (0, 4), parameters=numbers, rtol=1e-12, at=at)
    for name in ("r", "r_dot", "phi_dot", "spin", "u"):
        assert np.allclose(alone[name], whole[name], rtol=1e-9, atol=1e-9), name
    assert np.allclose(da.symmetry.recover_cyclic(alone)["phi"], whole["phi"], atol=1e-9)


def test_a_hamiltonian_needs_no_transformation() -> None:
    canonical = da.System(
        [r, phi], hamiltonian=(r.momentum**2 + phi.momentum**2 / r**2) / (2 * m) - k / r
    )
    left, right = da.symmetry.routh(canonical, [phi]), da.symmetry.routh(PLANET, [phi])
    assert left.is_hamiltonian and not right.is_hamiltonian
    numbers = {"m": 1.3, "k": 2.0, "p_phi": 1.1}
    options: dict[str, Any] = {"parameters": numbers, "rtol": 1e-12, "at": [0.0, 1.0, 3.0]}
    one = da.simulate(left, {"r": 0.9, "p_r": 0.26}, (0, 3), **options)
    two = da.simulate(right, {"r": 0.9, "r_dot": 0.2}, (0, 3), **options)
    for name in ("r", "p_r", "phi_dot", "energy"):
        assert np.allclose(one[name], two[name], rtol=1e-9, atol=1e-9), name


@pytest.mark.long
def test_hinged_bodies_are_a_case_of_it() -> None:
    """The Routhian of the hinges, which `PlanarBodies` writes by hand, from the bodies' own
    Lagrangian.
    """
    bodies = da.planar_chain(2)
    first, *_ = bodies.angles
    turned = {
        q: first + (bodies.beyond.row(i) * sympy.Matrix(bodies.joints))[0]
        for i, q in enumerate(bodies.angles)
    }
    rates = {
        q.dot: first.dot + (bodies.beyond.row(i) * sympy.Matrix([j.dot for j in bodies.joints]))[0]
        for i, q in enumerate(bodies.angles)
    }
    relative = da.System(
        [first, *bodies.joints], lagrangian=bodies.kinetic.xreplace(rates).xreplace(turned)
    )
    left, right = (
        da.symmetry.routh(relative, [first], {first: bodies.total}),
        bodies.reduced_system(),
    )
    random = np.random.default_rng(4)
    symbols = sorted(
        left.lagrangian.free_symbols | right.lagrangian.free_symbols, key=lambda symbol: symbol.name
    )
    for _ in range(3):
        point = {symbol: sympy.Float(float(random.uniform(0.3, 1.5))) for symbol in symbols}
        for one, two in (
            (left.lagrangian, right.lagrangian),
            (left.outputs["theta1_dot"], right.outputs["theta1_rate"]),
        ):
            assert float(one.xreplace(point)) == pytest.approx(
                float(two.xreplace(point)), rel=1e-12
            )


@pytest.mark.parametrize(
    ("system", "cyclic", "error", "words"),
    [
        (PLANET, [r], FormError, "not cyclic"),
        (PLANET, [r, phi], ModelError, "leave at least one"),
        (PLANET, ["ph"], ModelError, "did you mean phi"),
        (PLANET.replacing(forces={phi: 1}), [phi], FormError, "not conserved"),
        (PLANET.replacing(forces={r: cos(phi)}), [phi], FormError, "occurs in the force on r"),
        (PLANET.replacing(dissipation=phi.dot**2), [phi], FormError, "not conserved"),
        (
            PLANET.replacing(constraints=[da.velocity(r.dot - phi.dot)]),
            [phi],
            FormError,
            "without constraints",
        ),
        (da.System([r, phi], lagrangian=r.dot**2 / 2 + phi.dot), [phi], FormError, "rank 0"),
        (
            da.System([r, phi], lagrangian=r.dot**2 / 2 + phi.dot**4),
            [phi],
            FormError,
            "quadratic in the cyclic",
        ),
    ],
    ids=[
        "shape",
        "all",
        "name",
        "force",
        "force-depends",
        "damping",
        "constraint",
        "no-inertia",
        "quartic",
    ],
)
def test_what_cannot_be_reduced_is_refused(
    system: da.System, cyclic: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        da.symmetry.routh(system, cyclic)


@pytest.mark.parametrize(
    "momenta", [[1, 2], {"r": 1}, {phi: r}], ids=["too-many", "other", "moving"]
)
def test_momenta_that_make_no_sense_are_refused(momenta: Any) -> None:
    with pytest.raises(ModelError):
        da.symmetry.routh(PLANET, [phi], momenta)


def test_cyclic_coordinates_begin_with_the_motion_not_with_the_first_stored_time() -> None:
    """On the circle r = 1 with p_phi = 1 the angle is 0.3 + t."""
    radial, values = da.symmetry.routh(PLANET, [phi]), {"m": 1, "k": 1, "p_phi": 1}
    alone = da.simulate(radial, {r: 1.0}, (0, 3), parameters=values, at=[1.0, 2.5])
    angles = da.symmetry.recover_cyclic(alone, {phi: 0.3})["phi"]
    np.testing.assert_allclose(angles, [1.3, 2.8], atol=1e-9)


def test_only_motions_with_cyclic_velocities_are_completed() -> None:
    whole = da.simulate(PLANET, {r: 1.0}, (0, 0.1), parameters={"m": 1, "k": 1})
    with pytest.raises(ModelError, match="no cyclic velocities"):
        da.symmetry.recover_cyclic(whole)
    alone = da.simulate(
        da.symmetry.routh(PLANET, [phi]),
        {r: 1.0},
        (0, 0.1),
        parameters={"m": 1, "k": 1, "p_phi": 1},
    )
    with pytest.raises(ModelError, match="no cyclic coordinate `r`"):
        da.symmetry.recover_cyclic(alone, {r: 1.0})
