"""Brackets, ranks and verdicts against SymPy's brackets, Kalman by NumPy, and systems whose answers
are known.
"""

from __future__ import annotations

from itertools import pairwise, product
from math import gcd
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.control.steering.brackets import Brackets, bracketing, lyndon_words
from dalembert.control.steering.input_fields import control_affine
from dalembert.errors import FormError, ModelError

x, y, z, w, v, theta = da.coordinates("x y z w v theta")
a, b = da.inputs("a b")


def chained(n: int) -> da.Flow:
    symbols = da.coordinates(" ".join(f"c{k}" for k in range(1, n + 1)))
    rates = {symbols[0]: a, symbols[1]: b} | {symbols[k]: symbols[k - 1] * a for k in range(2, n)}
    return da.Flow(rates, inputs=[a, b], name=f"chain of {n}")


WHEEL = da.Flow({x: a * cos(theta), y: a * sin(theta), theta: b}, inputs=[a, b], name="wheel")
MARTINET = da.Flow({x: a, y: b, z: x**2 * b}, inputs=[a, b], name="Martinet")


# -- words and brackets ----------------------------------------------------------------------------


@pytest.mark.parametrize(("symbols", "length"), list(product((2, 3), (1, 2, 3, 4, 5, 6))))
def test_there_are_as_many_words_as_witt_counts(symbols: int, length: int) -> None:
    def moebius(n: int) -> int:
        factors = sympy.factorint(n)
        return 0 if any(power > 1 for power in factors.values()) else (-1) ** len(factors)

    words = list(lyndon_words(symbols, length))
    count = sum(
        moebius(d) * symbols ** (length // d) for d in range(1, length + 1) if gcd(d, length) == d
    )
    assert len(words) == len(set(words)) == count // length
    assert words == sorted(words)


@pytest.mark.long
def test_brackets_are_those_of_sympy() -> None:
    """On a system whose fields have nothing special, up to four symbols."""
    flow = da.Flow(
        {x: y * z + a * cos(z), y: sin(x) + b * x, z: x * y * z + a * y + b * (1 + z**2)},
        inputs=[a, b],
        name="generic",
    )
    place = {"x": 0.3, "y": -0.7, "z": 0.4}
    system = control_affine(flow, place)
    symbols = sympy.Matrix(flow.coordinates)
    rates = sympy.Matrix(list(flow.rates.values()))
    fields = {0: rates.subs({a: 0, b: 0}), 1: rates.diff(a), 2: rates.diff(b)}

    def bracket(tree: Any) -> Any:
        if isinstance(tree, int):
            return fields[tree]
        first, second = bracket(tree[0]), bracket(tree[1])
        return second.jacobian(symbols) * first - first.jacobian(symbols) * second

    found = Brackets(system)
    for length in (1, 2, 3, 4):
        for one, word in zip(found.of_length(length), lyndon_words(3, length), strict=True):
            assert one.tree == bracketing(word)
            expected = bracket(one.tree).subs({q: place[q.name] for q in flow.coordinates})
            assert np.allclose(one.values[0], np.array(expected, dtype=float).ravel(), atol=1e-10)


def test_bad_brackets_are_told_by_their_symbols() -> None:
    found = {
        one.name: one.is_bad
        for one in Brackets(control_affine(da.Flow({x: a, y: b, z: x * y}, inputs=[a, b]))).up_to(3)
    }
    assert found["f"] and found["[[f, g1], g1]"] and found["[[f, g2], g2]"]
    assert (
        not found["g1"]
        and not found["[f, g1]"]
        and not found["[[f, g2], g1]"]
        and not found["[f, [f, g1]]"]
    )


# -- reach -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_a_chain_grows_by_one(n: int) -> None:
    found = da.control.controllability(chained(n))
    assert found.growth == found.generic_growth == tuple(range(2, n + 1))
    assert found.degree_of_nonholonomy == n - 1
    assert found.small_time == "controllable"


def test_the_degree_of_nonholonomy_jumps_where_martinet_says() -> None:
    on, off = da.control.controllability(MARTINET), da.control.controllability(MARTINET, {x: 0.5})
    assert (on.growth, on.generic_growth, on.degree_of_nonholonomy) == ((2, 2, 3), (2, 3), 3)
    assert (off.growth, off.degree_of_nonholonomy) == ((2, 3), 2)


def test_a_rolling_ball_has_the_growth_two_three_five() -> None:
    """x' = a, y' = b and three areas and moments, the nilpotent (2, 3, 5)."""
    flow = da.Flow({x: a, y: b, z: x * b, w: x**2 * b, v: x * y * b}, inputs=[a, b])
    assert da.control.controllability(flow).growth == (2, 3, 5)


def trailers(n: int) -> da.Flow:
    """A car with n trailers: each turns with the speed of the one before."""
    angles = da.coordinates(" ".join(f"th{k}" for k in range(n + 1)))
    rates, speed = {x: a * cos(angles[0]), y: a * sin(angles[0]), angles[0]: b}, a
    for before, own in pairwise(angles):
        rates[own] = speed * sin(before - own)
        speed = speed * cos(before - own)
    return da.Flow(rates, inputs=[a, b], name=f"{n} trailers")


@pytest.mark.parametrize(
    ("at", "growth"),
    [
        ({}, (2, 3, 4, 5, 6)),
        ({"th0": np.pi / 2}, (2, 3, 4, 4, 5, 5, 6)),
        ({"th1": -np.pi / 2, "th2": -np.pi / 2}, None),
    ],
    ids=["straight", "folded", "folded behind"],
)
def test_three_trailers_are_accessible_and_controllable_or_neither_is_shown(
    at: Any, growth: Any
) -> None:
    """Ranks, degree and verdict come from the same brackets, up to the length that was asked
    for.
    """
    found = da.control.controllability(trailers(3), at)
    assert growth is None or found.growth == growth
    assert (
        found.is_accessible
        == (found.small_time == "controllable")
        == (found.degree_of_nonholonomy is not None)
    )
    assert len(found.growth) == found.length
    short = da.control.controllability(trailers(3), at, longest=found.length - 1)
    assert (
        not short.is_accessible
        and short.small_time == "undecided"
        and short.length == found.length - 1
    )


@pytest.mark.long
def test_folded_trailers_need_brackets_as_long_as_fibonacci_says() -> None:
    """At right angles between all bodies the degree of nonholonomy of n trailers is F_(n + 3) (Jean
    1996).
    """
    for n, degree in ((1, 3), (2, 5)):
        at = {f"th{k}": -k * np.pi / 2 for k in range(n + 1)}
        assert (
            da.control.controllability(trailers(n), at, longest=degree).degree_of_nonholonomy
            == degree
        )
    folded = {f"th{k}": -k * np.pi / 2 for k in range(4)}
    seven, eight = (
        da.control.controllability(trailers(3), folded),
        da.control.controllability(trailers(3), folded, longest=8),
    )
    assert seven.growth == (2, 3, 4, 4, 5, 5, 5) and seven.small_time == "undecided"
    assert eight.growth == (2, 3, 4, 4, 5, 5, 5, 6) and eight.small_time == "controllable"


def test_what_is_conserved_is_out_of_reach() -> None:
    found = da.control.controllability(
        da.Flow({x: -y * a, y: x * a, z: b}, inputs=[a, b]), {x: 1.0}
    )
    assert not found.is_accessible
    assert (found.rank, found.generic_rank, found.dimension) == (2, 2, 3)
    assert "not shown" in found.text()


def test_what_drifts_away_is_accessible_but_not_strongly() -> None:
    """x' = 1: the states at one time are a line, those at all times a plane."""
    found = da.control.controllability(da.Flow({x: 1 + 0 * y, y: a}, inputs=[a]))
    assert found.is_accessible and not found.is_strongly_accessible
    assert found.small_time == "no equilibrium"
    assert found.linear is None and found.brockett is None


# -- the knife edge: Proposition 6.6.4 -------------------------------------------------------------


@pytest.mark.parametrize(
    "place",
    [
        pytest.param({}, id="origin", marks=pytest.mark.long),
        pytest.param({"x": 0.4, "y": -1.0, "varphi": 0.8}, id="any"),
        pytest.param({"varphi": 1.57}, id="across", marks=pytest.mark.long),
    ],
)
def test_the_knife_edge_as_a_system(place: dict[str, float]) -> None:
    found = da.control.controllability(da.gallery.load("knife-edge"), place)
    assert found.dimension == 5
    assert found.is_strongly_accessible
    assert found.small_time == "controllable"
    assert found.brockett is not None and found.brockett.verdict == "fails"
    assert found.linear is not None and found.linear.rank == 4
    assert np.allclose(found.linear.fixed, 0.0, atol=1e-9)


@pytest.mark.long
def test_both_descriptions_of_the_knife_edge_agree() -> None:
    z1, z2, z3, z4, z5 = da.coordinates("z1 z2 z3 z4 z5")
    flow = da.Flow(
        {z1: z4, z2: z5, z3: -z1 * z5, z4: a + b * z3 - z1 * z5**2, z5: b}, inputs=[a, b]
    )
    here, there = (
        da.control.controllability(flow, {z1: 0.4}),
        da.control.controllability(da.gallery.load("knife-edge"), {"x": 0.4}),
    )
    for question in ("rank", "generic_rank", "strong_rank", "length", "basis", "small_time"):
        assert getattr(here, question) == getattr(there, question)
    assert (
        here.brockett is not None
        and there.brockett is not None
        and here.brockett.verdict == there.brockett.verdict
    )


@pytest.mark.parametrize("ratio", [False, True])
def test_a_gear_whose_ratio_is_a_parameter(ratio: bool) -> None:
    """R a' = w b' keeps R a - w b: four of five directions are left. The choice of symbols must
    know that R is not zero.
    """
    q, s, c = da.coordinates("q s c")
    R, w = da.parameters("R w", positive=True)
    gear = da.velocity(q.dot - w / R * s.dot if ratio else R * q.dot - w * s.dot, name="gear")
    kinetic = (q.dot**2 + s.dot**2 + c.dot**2) / 2
    system = da.System(
        [q, s, c], kinetic=kinetic, constraints=[gear], forces={q: a, c: b}, inputs=[a, b]
    )
    for parameters in ({"R": 1.0, "w": 2.0}, {}):
        assert control_affine(system, parameters=parameters).dimension == 5
    found = da.control.controllability(system, parameters={"R": 1.0, "w": 2.0}, longest=3)
    assert found.rank == found.generic_rank == 4


# -- small time ------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("flow", "verdict"),
    [
        (da.Flow({x: a, y: x**2}, inputs=[a]), "not controllable"),
        (da.Flow({x: a, y: x, z: x**2}, inputs=[a]), "not controllable"),
        (da.Flow({x: a, y: x**3}, inputs=[a]), "controllable"),
        (da.Flow({x: a, y: b, z: x * y}, inputs=[a, b]), "controllable"),
        (da.Flow({x: a, y: b, z: x**2 + y**2}, inputs=[a, b]), "undecided"),
        (da.Flow({x: a, y: b, z: x**2 + y, w: x * b}, inputs=[a, b]), "controllable"),
    ],
    ids=["square", "square-after-linear", "cube", "product", "bowl", "compensated"],
)
def test_small_time_verdicts(flow: da.Flow, verdict: str) -> None:
    assert da.control.controllability(flow).small_time == verdict


@pytest.mark.long
def test_bad_brackets_are_listed_with_what_compensates_them() -> None:
    kept = da.control.controllability(da.Flow({x: a, y: b, z: x**2 + y**2}, inputs=[a, b]))
    assert {one.name for one in kept.bad if not one.compensated} >= {
        "[[f, g1], g1]",
        "[[f, g2], g2]",
    }
    assert "not compensated" in kept.text()
    made_up = da.control.controllability(
        da.Flow({x: a, y: b, z: x**2 + y, w: x**2 * b}, inputs=[a, b])
    )
    assert made_up.small_time == "controllable"
    assert made_up.bad and all(one.compensated for one in made_up.bad)


def test_a_bowl_never_falls_below_its_bottom() -> None:
    """What the verdict says of x' = a, z' = x^2: z cannot decrease, whatever the input."""
    flow = da.Flow({x: a, z: x**2}, inputs=[a])
    for amplitude in (-3.0, 0.5, 4.0):
        motion = da.simulate(
            flow, {x: 0, z: 0}, (0, 1), inputs={a: lambda t, _, k=amplitude: k * np.cos(7 * t)}
        )
        assert motion["z"].min() >= 0


# -- linear parts and feedback ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_linear_systems_are_kalmans(seed: int) -> None:
    random = np.random.default_rng(seed)
    A, B = random.normal(size=(4, 4)), random.normal(size=(4, 1))
    if seed % 2:  # an eigenvector that inputs cannot see
        basis = np.linalg.qr(random.normal(size=(4, 4)))[0]
        A, B = np.triu(A), B.copy()
        B[3] = 0.0
        A, B = basis @ A @ basis.T, basis @ B
    symbols = (x, y, z, w)
    rates = A @ np.array(symbols) + B[:, 0] * a
    found = da.control.controllability(da.Flow(dict(zip(symbols, rates, strict=True)), inputs=[a]))
    reach = np.hstack([np.linalg.matrix_power(A, k) @ B for k in range(4)])
    assert (
        found.linear is not None
        and found.linear.rank == np.linalg.matrix_rank(reach) == found.strong_rank
    )
    if seed % 2:
        assert np.allclose(
            found.linear.fixed,
            np.min(np.abs(np.linalg.eigvals(A) - found.linear.fixed[0])) + found.linear.fixed[0],
        )
        assert np.min(np.abs(np.linalg.eigvals(A) - found.linear.fixed[0])) < 1e-9
    else:
        assert found.small_time == "controllable" and len(found.linear.fixed) == 0


@pytest.mark.parametrize(
    ("flow", "verdict"),
    [
        (WHEEL, "fails"),
        (da.Flow({x: y, y: a}, inputs=[a]), "holds to first order"),
        (da.Flow({x: a, y: y**2 - x**2}, inputs=[a]), "holds to second order"),
        (da.Flow({x: a, y: x**2 + y**2}, inputs=[a]), "fails"),
        (da.Flow({x: a, y: x**3}, inputs=[a]), "undecided"),
        (da.Flow({x: a, y: b, z: x * b - y * a}, inputs=[a, b]), "fails"),
    ],
    ids=["wheel", "mass", "saddle", "bowl", "cube", "Heisenberg"],
)
def test_brocketts_condition(flow: da.Flow, verdict: str) -> None:
    found = da.control.controllability(flow)
    assert found.brockett is not None and found.brockett.verdict == verdict


def test_a_relation_leaves_fewer_directions() -> None:
    """A pendulum in x and y and in its angle: both have two directions, and the same fixed
    eigenvalues, none.
    """
    force = da.inputs("push")
    plane = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=y, forces={x: force},
    inputs=[force],
                      constraints=[da.holonomic(x**2 + y**2 - 1)])  # fmt: skip
    angle = da.System(
        [theta],
        kinetic=theta.dot**2 / 2,
        potential=-cos(theta),
        forces={theta: force * cos(theta)},
        inputs=[force],
    )
    here, there = (
        da.control.controllability(plane, {x: 0, y: -1}),
        da.control.controllability(angle),
    )
    assert here.dimension == there.dimension == 2
    assert here.is_strongly_accessible and here.small_time == there.small_time == "controllable"
    assert here.linear is not None and there.linear is not None
    assert np.allclose(
        np.sort_complex(np.linalg.eigvals(here.linear.A)),
        np.sort_complex(np.linalg.eigvals(there.linear.A)),
    )


def test_an_equilibrium_may_need_an_input() -> None:
    force = da.inputs("push")
    leaning = da.System(
        [theta],
        kinetic=theta.dot**2 / 2,
        potential=-cos(theta),
        forces={theta: force},
        inputs=[force],
    )
    assert da.control.controllability(leaning, {theta: 0.5}).small_time == "no equilibrium"
    held = da.control.controllability(leaning, {theta: 0.5, force: np.sin(0.5)})
    assert held.small_time == "controllable"


# -- wrong use -------------------------------------------------------------------------------------


def test_wrong_use_says_so() -> None:
    with pytest.raises(ModelError, match="no inputs"):
        da.control.controllability(da.Flow({x: -x}))
    with pytest.raises(FormError, match="affinely"):
        da.control.controllability(da.Flow({x: a**2}, inputs=[a]))
    with pytest.raises(FormError, match="time"):
        da.control.controllability(da.Flow({x: a * da.t}, inputs=[a]))
    with pytest.raises(ModelError, match="did you mean theta"):
        da.control.controllability(WHEEL, {"thetta": 1.0})
    with pytest.raises(ModelError, match="Flow or a System"):
        da.control.controllability(3)
    with pytest.raises(ModelError, match="not finite"):
        da.control.controllability(da.Flow({x: a / y, y: b}, inputs=[a, b]))
    ring = da.Flow({x: -y * a, y: x * a}, inputs=[a], constraints=[da.holonomic(x**2 + y**2 - 1)])
    with pytest.raises(ModelError, match="relations"):
        da.control.controllability(ring, {x: 2.0})
    assert da.control.controllability(ring, {x: 1.0}).dimension == 1


@pytest.mark.long
def test_brackets_that_grow_too_large_are_given_up_and_that_is_said() -> None:
    found = da.control.controllability(da.gallery.load("unicycle-rider"))
    assert found.length < 7 and found.small_time == "undecided"
    assert "too large" in found.small_time_reason


@pytest.mark.parametrize(
    "drift", [sympy.Max(x - 50, 0), sympy.Float(1e-13) * x], ids=["beyond samples", "small"]
)
def test_a_drift_that_samples_do_not_show_is_a_drift(drift: sympy.Expr) -> None:
    assert not control_affine(da.Flow({x: a, y: b, z: x * b + drift}, inputs=[a, b])).is_driftless
    assert control_affine(da.Flow({x: a, y: b, z: x * b}, inputs=[a, b])).is_driftless


@pytest.mark.long
def test_brocketts_condition_does_not_fail_by_samples_alone() -> None:
    small = da.Flow({x: a, y: b, z: x * b - y * a + sympy.Float(1e-11) * x**2}, inputs=[a, b])
    found = da.control.controllability(small).brockett
    assert found is not None and "2 variables for 3 directions" not in found.reason
