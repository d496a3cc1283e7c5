"""Constraints whose gradient vanishes on them are refused by every form, and others are not."""

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FormError
from dalembert.formulations.constraint_regularity import _squares
from dalembert.formulations.registry import applicability

x, y, z = da.coordinates("x y z")
k = da.parameters("k", positive=True)
FREE = {
    "coordinates": [x, y, z],
    "kinetic": (x.dot**2 + y.dot**2 + z.dot**2) / 2,
    "potential": x + z,
}
ROW = z.dot - y * x.dot


@pytest.mark.parametrize(
    ("constraint", "instead"),
    [
        (da.velocity(ROW**2, name="f"), "state it as"),
        (da.velocity(sympy.expand(ROW**2), name="f"), "state it as"),
        (da.velocity(k * ROW**3, name="f"), "state it as"),
        (da.velocity(sympy.expand((x.dot * cos(z) + y.dot * sin(z)) ** 2), name="f"), "state it"),
        (da.velocity(x.dot**2 + y.dot**2, name="f"), "each term"),
        (da.velocity(-(x.dot**2) - (1 + z**2) * y.dot**4, name="f"), "each term"),
        (da.holonomic((x - y) ** 2, name="f"), "state it as x - y = 0"),
        (da.holonomic(x**2 - 2 * x * y + y**2, name="f"), "state it as x - y = 0"),
        (da.holonomic(x**2 + sin(y) ** 2, name="f"), "each term"),
        (da.velocity(x.dot**2 + x.dot * y.dot + y.dot**2, name="f"), "state x_dot . y_dot/2 = 0"),
        (da.velocity(k * (x.dot * y.dot - x.dot**2 - y.dot**2), name="f"), "and y_dot = 0"),
        (da.holonomic(sympy.expand((x - 1) ** 2 + (x - 1) * y + y**2), name="f"), "y/2 - 1 = 0"),
    ],
)
def test_no_form_is_derived(constraint: object, instead: str) -> None:
    system = da.System(**FREE, constraints=[constraint])
    for form in ("lagrange", "maggi", "voronets", "hamel", "gibbs-appell", "vakonomic", None):
        with pytest.raises(FormError, match=f"gradient of the constraint `f` vanishes.*{instead}"):
            da.derive(system, form)
    with pytest.raises(FormError, match="vanishes wherever it holds"):
        da.simulate(system, {x.dot: 1.0}, (0, 1))
    assert all(error is not None for error in applicability(system).values())


@pytest.mark.parametrize(
    "constraint",
    [
        da.velocity(x.dot**2 + y.dot**2 + z.dot**2 - 1, name="f"),
        da.velocity(x.dot**2 + y.dot**2 - z.dot**2, name="f"),
        da.velocity(x.dot**2 + 3 * x.dot * y.dot + y.dot**2, name="f"),
        da.velocity(x.dot**2 + x.dot * y.dot + z * y.dot**2, name="f"),  # indefinite for z < 1/4
        da.velocity(ROW**2 - 1, name="f"),
        da.velocity(x**2 * z.dot - y.dot, name="f"),
        da.velocity(x**2 * (z.dot - y.dot), name="f"),
        da.velocity((1 + y**2) ** 2 * ROW, name="f"),
        da.holonomic(x**2 + y**2 - 1, name="f"),
        da.holonomic((2 + sin(y)) ** 2 * (x - z), name="f"),
        da.holonomic(z - (x - y) ** 2, name="f"),
        da.velocity(ROW**2 * (x.dot + z.dot), name="f"),  # regular on one of its branches
    ],
)
def test_regular_constraints_are_derived(constraint: object) -> None:
    assert da.derive(da.System(**FREE, constraints=[constraint]), "lagrange").text()


def test_quadratic_forms_are_judged_as_their_eigenvalues_say() -> None:
    """Random quadratic polynomials: one sign, and a zero, by NumPy's eigenvalues and minimum."""
    random = np.random.default_rng(4)
    seen = set()
    for _ in range(60):
        matrix = random.integers(-2, 3, (3, int(random.integers(1, 4))))
        signs = random.choice([1, -1], size=matrix.shape[1], p=[0.8, 0.2])
        form = (matrix * signs) @ matrix.T
        shift, constant = random.integers(-1, 2, 3), int(random.integers(0, 2))
        place = sympy.Matrix([x, y, z]) - sympy.Matrix(shift)
        polynomial = sympy.expand((place.T * sympy.Matrix(form) * place)[0] + constant)
        symbols = polynomial.free_symbols
        if not symbols or sympy.Poly(polynomial, *symbols).total_degree() != 2:
            continue
        values = np.linalg.eigvalsh(form)
        one_sign = (values > -1e-9).all() or (values < 1e-9).all()
        squares = _squares(polynomial, symbols)
        # A constant moves a semidefinite polynomial off zero, or makes it indefinite.
        assert bool(squares) == bool(one_sign and constant == 0)
        assert len(squares) == (np.linalg.matrix_rank(form) if squares else 0)
        at_centre = dict(zip((x, y, z), map(int, shift), strict=True))
        assert all(square.subs(at_centre) == 0 for square in squares)
        seen.add((bool(squares), constant))
    assert len(seen) == 3


def test_a_form_that_never_vanishes_is_left_to_the_start() -> None:
    never = da.velocity(x.dot**2 + x.dot * y.dot + y.dot**2 + 1, name="f")
    assert da.derive(da.System(**FREE, constraints=[never]), "lagrange")


def test_momenta() -> None:
    energy = (x.momentum**2 + y.momentum**2) / 2
    twice = da.momentum((y * x.momentum - y.momentum) ** 2, name="f")
    with pytest.raises(FormError, match="state it as"):
        da.derive(da.System([x, y], hamiltonian=energy, constraints=[twice]), "hamilton")


def test_the_motion_under_the_constraint_to_state_instead() -> None:
    """What the message says to state is the constraint whose motion was meant."""
    system = da.System(**FREE, constraints=[da.velocity(ROW, name="f")])
    motion = da.simulate(system, {x.dot: 1.0, y: 1.0, z.dot: 1.0}, (0, 1))
    assert motion.success and motion.worst_residual["velocity"] < 1e-12


@pytest.mark.parametrize("power", [2, 3, 4])
def test_powers_are_found_in_any_writing(power) -> None:
    bases = [x - y * z, sympy.sin(x) + y, x + 1 / y, x**2 + y**2 - 1, x / 2 + 0.25 * y]
    for base in bases:
        for text in (base**power, sympy.expand(base**power), sympy.expand(3 * base**power)):
            point = da.System(**FREE, constraints=[da.holonomic(text, name="power")])
            with pytest.raises(FormError, match="power"):
                da.derive(point)
            da.derive(point.replacing(constraints=[da.holonomic(base, name="plain")]))


def test_the_last_of_many_constraints_is_found_irregular() -> None:
    """Constraints that are the same but for names are looked at once, and others still are."""
    q = da.coordinates(" ".join(f"q{i}" for i in range(80)))
    pairs = list(zip(q[::2], q[1::2], strict=True))
    rods = [da.holonomic(a**2 + b**2 - 1, name=f"rod{i}") for i, (a, b) in enumerate(pairs)]
    kinetic = sympy.Add(*(c.dot**2 for c in q))
    assert da.derive(da.System(q, kinetic=kinetic, constraints=rods), "lagrange").row_names
    a, b = pairs[-1]
    for bad in (a**2 + b**2, sympy.expand((a - b) ** 2), a**2 + 2 * a + 1 + b**2):
        fault = da.holonomic(bad, name="bad")
        system = da.System(q, kinetic=kinetic, constraints=[*rods[:-1], fault])
        with pytest.raises(FormError, match="`bad` vanishes"):
            da.derive(system, "lagrange")
