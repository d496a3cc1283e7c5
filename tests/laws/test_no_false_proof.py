"""An adversarial search: functions that claim a proof are given cases whose truth is known, and
must never claim the opposite.

Singularities, kinks, blow-up, multiple zeros, and numbers that are hostile to floating point. Not
finding a proof is allowed everywhere; each search also checks that enough of its harmless cases are
proved, so that it cannot pass by silence.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.algebra.graph import GraphAlgebra
from dalembert.analysis.proofs.bounded import PROVED, differs_nowhere
from dalembert.analysis.proofs.intervals import IntervalFunction
from dalembert.analysis.proofs.zeros import find_zeros
from dalembert.analysis.stability.energy_casimir import energy_casimir
from dalembert.analysis.stability.stability import second_variation
from dalembert.analysis.symmetry.symmetry_proofs import vanishes
from dalembert.control.feedback.shaped import Shaped
from dalembert.geometry.poisson import PoissonStructure
from dalembert.geometry.vanishing import vanish

x, y = da.coordinates("x y")
R = sympy.Rational


def exactly(number: float) -> sympy.Rational:
    return R(*float(number).as_integer_ratio())


# -- bounds ----------------------------------------------------------------------------------------

HOSTILE = [
    0.0, 5e-324, 1e-310, 2.2e-308, 1e-17, 0.1, 1.0, np.nextafter(1.0, 2.0), np.pi / 2,
    np.nextafter(np.pi / 2, 2), np.pi,
    np.nextafter(np.pi, 4), 7.0, 22.0, 355.0, 709.0, 745.0, 1e5, 1e15, 1e22, 1e154, 1e200, 1.7e308,
]  # fmt: skip


def random_tree(random: np.random.Generator, depth: int) -> sympy.Expr:
    if depth == 0:
        return random.choice([x, y, x, R(1, 3), exactly(random.choice(HOSTILE[:16]))])
    one = [
        sympy.sin,
        sympy.cos,
        sympy.tan,
        sympy.exp,
        sympy.log,
        sympy.sqrt,
        sympy.Abs,
        sympy.tanh,
        sympy.sinh,
        sympy.cosh,
    ]
    one += [
        sympy.atan,
        lambda u: 1 / u,
        lambda u: u**2,
        lambda u: u**3,
        lambda u: u**-2,
        lambda u: u ** R(3, 2),
    ]
    if random.random() < 0.5:
        return one[random.integers(len(one))](random_tree(random, depth - 1))
    first, second = random_tree(random, depth - 1), random_tree(random, depth - 1)
    return first + second if random.random() < 0.5 else first * second


def real_value(expression: sympy.Expr, point: tuple[float, ...]) -> mpmath.mpf | None:
    """The value to 60 digits, None where there is none that is real; OverflowError where
    exponentials take too many digits.
    """
    growing = sorted(
        expression.atoms(sympy.exp, sympy.sinh, sympy.cosh), key=lambda node: node.count_ops()
    )
    with mpmath.workdps(60):
        try:
            for node in (*(own.args[0] for own in growing), expression):
                found = mpmath.mpc(sympy.lambdify((x, y), node, "mpmath")(*map(mpmath.mpf, point)))
                if node is not expression and abs(found) > 1000:
                    raise OverflowError
        except (ZeroDivisionError, ValueError):
            return None
        return found.real if found.imag == 0 and mpmath.isfinite(found.real) else None


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_random_expressions_hold_and_what_is_not_defined_has_none(seed):
    random, finite, examined = np.random.default_rng(seed), 0, 0
    while examined < 150:
        expression = random_tree(random, int(random.integers(1, 4)))
        if not expression.free_symbols or expression.has(sympy.zoo, sympy.nan, sympy.I, sympy.oo):
            continue
        examined += 1
        ends = random.choice(HOSTILE, (2, 2)) * random.choice([-1.0, 1.0], (2, 2))
        low, high = ends.min(axis=0), ends.max(axis=0)
        bottom, top = (
            float(side[0, 0])
            for side in IntervalFunction([expression], [x, y])(low[None], high[None])
        )
        assert bottom <= top
        if not (np.isfinite(bottom) or np.isfinite(top)):
            continue
        finite += 1
        inside = np.clip(low + random.random((6, 2)) * (high / 2 - low / 2) * 2, low, high)
        for point in (low, high, *inside):
            try:
                value = real_value(expression, tuple(map(float, point)))
            except OverflowError:
                continue
            assert value is not None, (expression, point)
            assert bottom <= value <= top, (expression, point)
    assert finite > 30


# -- existence -------------------------------------------------------------------------------------

#: Functions of the distance u to a point that are not smooth at u = 0.
BAD = {
    "attracting pole": lambda u: -1 / u**2,
    "repelling pole": lambda u: 1 / u**2,
    "odd pole": lambda u: 1 / u,
    "logarithm": lambda u: sympy.log(u**2) / 2,
    "kink": lambda u: sympy.Abs(u),
    "cusp": lambda u: sympy.sqrt(sympy.Abs(u)),
    "root": lambda u: sympy.sqrt(u),
    "oscillation": lambda u: sympy.sin(1 / u),
    "step": lambda u: sympy.tanh(1 / u),
    "half power": lambda u: (u**2) ** R(3, 4),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BAD)
def test_no_motion_is_proved_across_a_singularity(name):
    """The place of the singularity lies within the radius that the proof would have to cover, on or
    off the grid of halves.
    """
    random = np.random.default_rng(sum(map(ord, name)))
    for _ in range(6):
        c = float(random.choice([0.0, 0.5, 1 / 3, -0.1, 1e-9, 1e-300, random.uniform(-2, 2)]))
        size = exactly(10.0 ** random.integers(-12, 13))
        smooth = x**2 / 2 if random.random() < 0.5 else sympy.cos(x) * random.integers(1, 4)
        start = {"x": c + random.uniform(0.5, 2), "x_dot": random.normal()}
        a, b = -float(10.0 ** random.integers(0, 14)), float(random.choice([0.0, 0.3, 2.0]))
        try:
            bound = da.analysis.existence_bound(
                smooth + size * BAD[name](x - exactly(c)), a, b, start, mass=1.0, until=3.0
            )
        except da.errors.ModelError as error:
            assert "start breaks" in str(error)
            continue
        assert abs(c) < bound.radius(3.0)
        assert bound.hypothesis.holds is not True and bound.time == 0.0


def test_the_stated_singular_potentials_prove_nothing():
    r = sympy.sqrt(x**2 + y**2)
    for potential in (-1 / x**2, -1 / x, -1 / r, sympy.log(r), 1 / x):
        start = {"x": 1.0} | ({"y_dot": 0.3} if potential.has(y) else {})
        bound = da.analysis.existence_bound(potential, -2.0, 0.0, start, mass=1.0)
        assert bound.hypothesis.holds is not True and bound.time == 0.0
    particle = da.System([x], kinetic=x.dot**2 / 2, potential=-1 / x**2)
    motion = da.simulate(particle, start={"x": 1.0}, span=(0, 10))
    assert motion.t[-1] == pytest.approx(np.sqrt(0.5), abs=1e-3)  # x^2 = 1 - 2 t^2: the collision


@pytest.mark.long
def test_what_is_proved_to_exist_exists_within_its_radius():
    random, proved = np.random.default_rng(3), 0
    for _ in range(40):
        scale = exactly(10.0 ** random.integers(-6, 7))
        k, w = (exactly(random.normal()) for _ in range(2))
        pieces = [
            -(x**4),
            x**4,
            k * x**2,
            -(x**3),
            sympy.cos(w * x),
            sympy.exp(k * x),
            sympy.tanh(k * x),
            -sympy.exp(x**2),
        ]
        potential = scale * sympy.Add(
            *(pieces[i] for i in random.choice(len(pieces), 2, replace=False))
        )
        start = {"x": random.normal(), "x_dot": random.normal() * float(scale) ** 0.5}
        a, b = (
            float(-scale) * random.choice([0.0, 1.0, 3.0, 20.0]),
            float(scale) * random.choice([0.0, 0.5, 5.0]),
        )
        until = float(random.uniform(0.5, 3) / scale**0.5)
        try:
            bound = da.analysis.existence_bound(potential, a, b, start, mass=1.0, until=until)
        except da.errors.ModelError:
            continue
        check_bound(potential, bound, start, until)
        proved += bool(bound.hypothesis.holds)
    assert proved >= 8


def check_bound(potential: sympy.Expr, bound: da.ExistenceBound, start: dict, until: float) -> None:
    """A counterexample is one to 60 digits; a proved motion exists, and stays within r, by SciPy's
    integrator.
    """
    if bound.hypothesis.holds is False:
        point = exactly(bound.hypothesis.counterexample["x"])
        assert (
            sympy.N(potential.subs(x, point) - exactly(bound.a) + exactly(bound.b) * point**2, 60)
            < 0
        )
    if bound.hypothesis.holds:
        force = sympy.lambdify(x, -sympy.diff(potential, x), "numpy")
        reference = solve_ivp(
            lambda t, s: [s[1], force(s[0])],
            (0, until),
            [start["x"], start["x_dot"]],
            method="DOP853",
            rtol=1e-10,
            atol=1e-12,
        )
        assert reference.success and np.all(
            np.abs(reference.y[0]) <= bound.radius(reference.t) * (1 + 1e-6)
        )


def test_a_deficit_below_the_slack_is_not_hidden():
    """V touches a - b q^2 from below by 1e-12 of its size: the radius has to make room for it, or
    nothing is proved.
    """
    potential = sympy.cos(x) - R(1, 10**12)
    bound = da.analysis.existence_bound(potential, -1.0, 0.0, {"x_dot": 1.0}, mass=1.0, until=5.0)
    assert bound.hypothesis.holds is not True or bound.hypothesis.slack >= 1e-12
    assert bound.largest_speed(0.0) >= 1.0


# -- zeros -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_zeros_that_are_listed_exist_and_complete_lists_are(seed):
    random, complete = np.random.default_rng(seed), 0
    for _ in range(12):
        gap = 10.0 ** random.integers(-9, 0)
        roots = [exactly(r) for r in random.uniform(-0.9, 0.9, 2)]
        roots += [roots[0] + exactly(gap)] * int(random.integers(1, 3))
        size = exactly(10.0 ** random.integers(-280, 200))
        around = [
            R(1),
            sympy.exp(x),
            2 + sympy.sin(50 * x),
            1 / (x - roots[1]),
            sympy.sqrt(x + 1),
            sympy.tanh(1 / x) + 2,
        ]
        factor = around[random.integers(len(around))]
        f = size * factor * sympy.prod([x - r for r in roots])
        true = {r for r in roots if abs(r) < 1 and not factor.has(1 / (x - r))}
        found = find_zeros([f], [x], {x: (-1.0, 1.0)}, most_boxes=20_000)
        for zero in found.zeros:
            assert any(
                abs(exactly(zero.point[0]) - r) <= exactly(zero.radius[0]) for r in true | {R(-1)}
            )
        if found.complete:
            complete += 1
            assert len(found) == len(true)
    assert complete >= 1


# -- identities ------------------------------------------------------------------------------------


def identities(random: np.random.Generator) -> list[sympy.Expr]:
    """Expressions that vanish, written so that it does not show."""
    k, m = (int(n) for n in random.integers(2, 5, 2))
    s, c = sympy.sin, sympy.cos
    return [
        s(x + y) - s(x) * c(y) - c(x) * s(y),
        (x + y) ** m - sympy.expand((x + y) ** m),
        (s(k * x) ** 2 + c(k * x) ** 2) * y - y,
        1 / (x - k) - 1 / (x + k) - 2 * k / (x**2 - k**2),
        sympy.expand(c(2 * x) - c(x) ** 2, trig=True) + s(x) ** 2,
    ]


@pytest.mark.long
def test_no_identity_is_proved_that_is_off_by_little_or_only_somewhere():
    random = np.random.default_rng(0)
    root = sympy.sqrt(sympy.Symbol("w", real=True) ** 2)
    w = sympy.Symbol("w", real=True)
    false = [
        root - w,
        sympy.Abs(x) - x,
        sympy.Max(x - 7, 0),
        sympy.Max(x, -9) - x,
        sympy.sqrt(x**2 * y**2) - x * y,
        sympy.sqrt(x**2 + 2 * x * y + y**2) - x - y,
        sympy.Piecewise((0, x < 6), (x, True)),
        sympy.exp(-(x**2) * 10**6),
        sympy.atan(1 / x) + sympy.atan(x) - sympy.pi / 2,
    ]
    proved = 0
    for _ in range(8):
        for zero in identities(random):
            small = R(1, 10 ** int(random.choice([15, 17, 25, 40, 300]))) * random.choice(
                [x, sympy.cos(y), x * y]
            )
            for expression in (
                zero + small,
                *(zero + f for f in random.choice(np.array(false, dtype=object), 2)),
            ):
                assert vanishes(expression) is not True, expression
                for verdict in (
                    differs_nowhere([(expression, sympy.S.Zero)]),
                    vanish([expression]),
                ):
                    assert not (verdict.holds and verdict.by == PROVED), expression
            proved += vanishes(zero) is True
    assert proved >= 30


@pytest.mark.parametrize(
    "small",
    [
        1e-13 * x,
        R(1, 10**30) * x,
        sympy.Max(x - 6, 0) ** 3,
        sympy.exp(-((x - 30) ** 2)),
        1e-20 * sympy.cos(x),
    ],
    ids=str,
)
def test_no_symmetry_is_proved_that_is_broken_by_little_or_far_away(small):
    energy = (x.dot**2 + y.dot**2) / 2
    for potential, field in ((x**2 + y**2, (-y, x)), (sympy.cos(y), (1, 0))):
        moved = dict(zip((x, y), field, strict=True))
        whole = da.System([x, y], kinetic=energy, potential=potential)
        broken = da.System([x, y], kinetic=energy, potential=potential + small)
        assert da.symmetry.invariance(whole, {"g": moved}).generators["g"].by == PROVED
        certificate = da.symmetry.invariance(broken, {"g": moved}).generators["g"]
        assert not (certificate.holds and certificate.by == PROVED)


# -- structure -------------------------------------------------------------------------------------

C = 299792458
#: Functions of x that are no polynomials of degree two, do depend on x, and are not homogeneous of
#: degree two.
NOT_QUADRATIC = {
    "small cube": x**2 + R(1, 10**30) * x**3,
    "relativistic": -(C**2) * sympy.sqrt(1 - x**2 / C**2),
    "slow wave": sympy.cos(1e-9 * x),
    "late cube": x**2 + sympy.Max(x - 7, 0) ** 3,
    "far step": x**2 + sympy.Piecewise((0, x < 1e6), (x**3, True)),
    "weak growth": x**2 * sympy.exp(1e-20 * x),
    "kink": x * sympy.Abs(x),
    "root": sympy.sqrt(x**4 + 1e-40),
    "quotient": (x**3 + 1e-25) / x,
    "bump": x**2 + sympy.exp(-((x - 40) ** 2)),
}


@pytest.mark.parametrize("name", NOT_QUADRATIC)
def test_no_structure_is_proved_that_a_function_does_not_have(name):
    algebra, function = GraphAlgebra(), NOT_QUADRATIC[name]
    block, variable = algebra.vector([y * function]), algebra.vector([x])
    assert not algebra.independence(block, variable).is_proved
    assert not algebra.degree(block, variable, 2).is_proved
    assert not algebra.homogeneity(block, variable, 2).is_proved or name == "kink"
    assert not algebra.vanishing(block - algebra.vector([y * x**2])).is_proved
    matrix = algebra.columns(
        [
            algebra.vector([sympy.S.One, y]),
            algebra.vector([function, y * function + y * (function - x**2)]),
        ]
    )
    assert algebra.rank(matrix).at_most == 2


def test_the_structure_that_is_there_is_proved():
    algebra = GraphAlgebra()
    square = algebra.vector([y * (x + 1) ** 2 - 2 * x * y - y])
    variable = algebra.vector([x])
    assert (
        algebra.degree(square, variable, 2).is_proved
        and algebra.homogeneity(square, variable, 2).is_proved
    )
    assert algebra.vanishing(square - algebra.vector([y * x**2])).is_proved


#: Terms that vanish, or are small, near the equilibrium or in some unit.
SPOILING = [
    lambda u: R(1, 10**30) * u**2,
    lambda u: 1e-13 * sympy.cos(u),
    lambda u: sympy.Piecewise((0, u < 7), ((u - 7) ** 3, True)),
    lambda u: sympy.Piecewise((0, u < 1e6), (u**3, True)),
    lambda u: u**2 * sympy.exp(-((u - 40) ** 2)),
    lambda u: sympy.Abs(u) ** 3 * 1e-20,
]


@pytest.mark.parametrize("spoiling", SPOILING, ids=range(len(SPOILING)))
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_no_matching_and_no_routhian_is_proved_that_is_spoiled(spoiling, unit):
    cart = da.gallery.load("cart-pendulum")
    shaped = da.control.match(cart, region=False, damping=0).shaped
    assert shaped.verdict.is_proved
    phi, _ = here = shaped.mechanics.coordinates
    parts = {
        "metric": shaped.metric,
        "potential": shaped.potential,
        "gyroscopic": shaped.gyroscopic,
    }
    spoiled = [
        {"potential": shaped.potential + unit * spoiling(phi)},
        {"metric": shaped.metric + unit * spoiling(phi) * sympy.eye(2)},
        {"gyroscopic": unit * spoiling(phi) * sympy.Matrix([q.dot**2 for q in here])},
    ]
    for change in spoiled:
        assert not Shaped(shaped.mechanics, shaped.kind, **(parts | change)).verdict.is_proved, (
            change
        )
    z = da.coordinates("z")
    for term, proved in ((sympy.S.Zero, True), (spoiling(y), False)):
        kinetic = unit * ((z.dot + (1 + term) * x.dot) ** 2 + x.dot**2 + y.dot**2) / 2
        try:
            found = da.symmetry.nonholonomic_routhian(
                da.System([x, y, z], kinetic=kinetic), {"turn": {z: 1}}
            )
        except da.errors.FormError:
            assert not proved
        else:
            assert found.conditions.is_proved == proved


# -- definiteness and stability --------------------------------------------------------------------

BODY = sympy.symbols("m1 m2 m3")


def body() -> PoissonStructure:
    a, b, c = BODY
    return PoissonStructure([[0, -c, b], [c, 0, -a], [-b, a, 0]], BODY)


def test_cancellation_makes_no_form_definite():
    """H = k C + a semidefinite form: what is left of H - k C has a zero eigenvalue, or rounding of
    either sign.
    """
    random = np.random.default_rng(1)
    for _ in range(200):
        n = int(random.integers(2, 5))
        axes, _ = np.linalg.qr(random.normal(size=(n, n)))
        casimir = axes @ np.diag(random.uniform(0.5, 2, n)) @ axes.T
        point = random.normal(size=n)
        gradient = casimir @ point
        across = np.linalg.qr(np.column_stack([gradient, random.normal(size=(n, n - 1))]))[0][:, 1:]
        flat = across[:, :1]
        rest = across @ np.diag([0.0, *random.uniform(0.5, 2, n - 2)]) @ across.T
        k = 10.0 ** random.uniform(0, 12)
        assert abs(float((flat.T @ rest @ flat).item())) < 1e-14
        assert not second_variation(
            k * gradient, k * casimir + rest, [gradient], [casimir]
        ).definite


def test_sampled_casimirs_prove_no_stability():
    """m1 = 6 is the middle axis: unstable, whatever a function that is a Casimir at the samples
    alone would say.
    """
    a, b, c = BODY
    energy = a**2 / 4 + b**2 / 2 + c**2 / 6
    sphere = (a**2 + b**2 + c**2) / 2
    honest = energy_casimir(body(), energy, [sphere], {"m1": 6, "m2": 0, "m3": 0})
    assert honest.stability == "unstable"
    false = sphere + sympy.Max(a - 5, 0) ** 3 * (1 - 3 * c**2)
    try:
        found = energy_casimir(body(), energy, [false], {"m1": 6, "m2": 0, "m3": 0})
    except da.errors.DalembertError:
        return
    assert found.stability != "stable"


def test_nilpotent_motions_are_not_called_unstable_by_rounding():
    """A chain of four zero eigenvalues moves by 1e-4 under rounding; H = p2^2/2 + p1 q2 + ... has
    nothing but zeros.
    """
    random = np.random.default_rng(5)
    q1, q2, p1, p2 = symbols = sympy.symbols("q1 q2 p1 p2")
    canonical = sympy.Matrix(
        np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]]).astype(int)
    )
    for _ in range(20):
        # rotations of the two planes together are canonical, and fill the matrix
        angle = exactly(random.uniform(0, 3))
        cos, sin = (R(str(round(float(f(angle)), 12))) for f in (sympy.cos, sympy.sin))
        old = {
            q1: cos * q1 - sin * q2,
            q2: sin * q1 + cos * q2,
            p1: cos * p1 - sin * p2,
            p2: sin * p1 + cos * p2,
        }
        energy = (p2**2 / 2 + p1 * q2).xreplace(old)
        found = energy_casimir(
            PoissonStructure(canonical, symbols), energy, [], dict.fromkeys(symbols, 0.0)
        )
        assert found.stability == "not established"
