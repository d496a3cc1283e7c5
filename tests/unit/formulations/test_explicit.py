"""Explicit equations z = a + K e: Udwadia's printed examples, dependent rows, exports, refusals.

The independent implementations are NumPy's pseudo-inverse by singular values and the formulas as
the paper prints them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy
from sympy import cos, sin
from tests.c_library import CLibrary, needs_compiler

import dalembert as da
from dalembert import gallery
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import DalembertError, FormError
from dalembert.formulations.equations import Equations
from dalembert.formulations.registry import applicability


def explicit(name: str, form: str) -> Equations:
    return da.derive(gallery.load(name).system, form, explicit=True)


def rates(equations: Equations) -> dict[str, sympy.Expr]:
    """The right sides of the written lines by name, without abbreviations."""
    return {str(left): right for left, right in equations.lines()}


def vanishes(system: da.System, expression: sympy.Expr) -> bool:
    algebra = GraphAlgebra()
    return algebra.vanishing(algebra.scalar(expression)).is_proved


def test_the_nonholonomic_particle_reads_as_printed() -> None:
    """Udwadia 46."""
    system = gallery.load("nonholonomic-particle").system
    found = rates(explicit("nonholonomic-particle", "hamilton"))
    z, (px, _, pz) = system.coordinates[2], system.momenta
    m = next(p for p in system.parameters if p.name == "m")
    factor = -2 * z * px * pz / (m * (1 + z**4))
    printed = {"p_x_dot": factor * z**2, "p_y_dot": -factor, "p_z_dot": sympy.S.Zero}
    for name, value in printed.items():
        assert sympy.simplify(found[name] - value) == 0
    text = explicit("nonholonomic-particle", "hamilton").text()
    assert "p_x_dot = -2*p_x*p_z*z**3/(m*(z**4 + 1))" in text and "mu" not in text


def test_the_two_particles_read_as_printed_with_their_rank() -> None:
    """Udwadia 59 to 66, with |r_1 - r_2|^2 for the L^2 that it is where the rod holds."""
    equations = explicit("two-particles-incline", "hamilton")
    system = equations.system
    x1, y1, x2, y2 = system.coordinates
    p = system.momenta
    known = {s.name: s for s in system.parameters}
    g, alpha, m1, m2 = (known[s] for s in ("g", "alpha", "m1", "m2"))
    d, L2 = (x1 - x2, y1 - y2), (x1 - x2) ** 2 + (y1 - y2) ** 2
    p11, p22 = p[0] ** 2 + p[1] ** 2, p[2] ** 2 + p[3] ** 2
    p12 = p[0] * p[2] + p[1] * p[3]
    f1 = m1 * p12 - m2 * p11 + m1**2 * m2 * g * d[1] * sin(alpha)
    f2 = m1 * p22 - m2 * p12 + m1 * m2**2 * g * d[1] * sin(alpha)
    printed = [
        d[0] * f1 / (m1 * m2 * L2),
        d[1] * f1 / (m1 * m2 * L2) - g * m1 * sin(alpha),
        d[0] * f2 / (m1 * m2 * L2),
        d[1] * f2 / (m1 * m2 * L2) - g * m2 * sin(alpha),
    ]
    found = rates(equations)
    for name, value in zip(("p_x1_dot", "p_y1_dot", "p_x2_dot", "p_y2_dot"), printed, strict=True):
        assert vanishes(system, found[name] - value), name
    lines = equations.text().splitlines()
    assert "p_y1_dot = S_2*W_1 - g*m1*sin(alpha)" in lines  # the layers that 64 prints
    assert lines[-1] == "rank 2 of 3 constraints (proved), by skate1, skate2"
    parts = equations.parts()
    column = sympy.Matrix([m1 * d[0], m1 * d[1], m2 * d[0], m2 * d[1]])
    pattern = sympy.Matrix([[1, 2, 1], [1, 2, 1], [-1, 1, 2], [-1, 1, 2]])
    gain = pattern.multiply_elementwise(column * sympy.ones(1, 3)) / (3 * L2)  # 60
    error = sympy.Matrix(  # 61
        [
            2 * p12 / (m1 * m2) - p11 / m1**2 - p22 / m2**2,
            p12 / (m1 * m2) - p11 / m1**2 + d[1] * g * sin(alpha),
            p22 / m2**2 - p12 / (m1 * m2) + d[1] * g * sin(alpha),
        ]
    )
    for block, value in ((parts.gain, gain), (parts.error, error)):
        assert all(vanishes(system, entry) for entry in block - value)
    assert (parts.rank.value, parts.rank.status, parts.independent) == (
        2,
        "proved",
        ("skate1", "skate2"),
    )
    assert parts.agreement.is_proved
    assert sympy.expand(parts.divisor - L2) == 0
    assert parts.names["rows"] == "A_p" and "(A_p H_pp^-1 A_p^T)^+" in parts.text()


@pytest.mark.long
def test_the_driven_double_pendulum_reads_as_printed() -> None:
    """Udwadia 74 to 76: p_dot = -H_q + (gamma_2 / gamma_1) H_pp^-1 A_p^T."""
    equations = explicit("driven-double-pendulum", "hamilton")
    system, parts = equations.system, equations.parts()
    known = {s.name: s for s in system.parameters}
    m1, m2, l1, l2, al, om = (known[s] for s in ("m1", "m2", "l1", "l2", "alpha", "omega"))
    (th1, th2), p2 = system.coordinates, system.momenta[1]
    c, s = cos(th1 - th2), al * sin(om * da.t)
    gamma1 = (m1 + m2) * l1**2 - 2 * s * m2 * l1 * l2 * c + s**2 * m2 * l2**2
    column = sympy.Matrix(
        [(m1 + m2) * l1**2 - s * m2 * l1 * l2 * c, m2 * l1 * l2 * c - s * m2 * l2**2]
    )
    gamma2 = al * om * cos(om * da.t) * p2 - parts.free[0] + s * parts.free[1]
    printed = parts.free + column * gamma2 / gamma1
    found = rates(equations)
    for k, name in enumerate(("p_theta1_dot", "p_theta2_dot")):
        assert vanishes(system, found[name] - printed[k])
    assert vanishes(system, parts.weight[0] - gamma1)


@pytest.mark.parametrize("name", [n for n in gallery.names() if n != "planar-chain"])
def test_the_formula_agrees_with_the_kernel(name: str) -> None:
    """Rates of the compiled formula, for every gallery system and each form with rows."""
    system = gallery.load(name).system
    forms: list[str | None] = [None]
    if isinstance(system, da.System):
        applies = applicability(system)
        forms = [f for f in ("lagrange", "hamilton", "vakonomic") if applies[f] is None] or forms
    random, compared = np.random.default_rng(4), 0
    for form in forms:
        equations = da.derive(system, form)
        try:
            formula = equations.explicit().shown.compile()
        except FormError as error:
            assert form == "vakonomic" and "not determined" in str(error)
            continue
        kernel = equations.compile()
        for _ in range(2):
            y = random.uniform(0.3, 1.1, kernel.n_state)
            p = random.uniform(0.5, 1.5, len(kernel.parameters))
            u = random.normal(size=len(kernel.free_inputs))
            try:
                native = kernel.rates(0.3, y, p, u)
            except DalembertError:
                continue
            found = formula.rates(0.3, y, p, u)
            assert found == pytest.approx(native, rel=1e-10, abs=1e-10 * np.max(np.abs(native)))
            compared += 1
    assert compared


def _repeated() -> da.System:
    """Two moving constraints, stated four times over; M is not diagonal."""
    x, y, z = q = da.coordinates("x y z")
    m, k = da.parameters("m k", positive=True)
    kinetic = m / 2 * (x.dot**2 + y.dot**2 + 2 * z.dot**2) + m * y.dot * z.dot / 2
    row = x.dot * sin(y) + y.dot - z * z.dot - sin(da.t)
    other = x.dot - y * z.dot
    rows = [row, 2 * row, other, row - 3 * other]
    constraints = [da.velocity(e, name=f"c{i}") for i, e in enumerate(rows)]
    return da.System(q, kinetic=kinetic, potential=k * x * y, constraints=constraints)


@pytest.mark.long
@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_dependent_rows_give_the_moore_penrose_inverse(form: str) -> None:
    """K, z and the multipliers against NumPy's pseudo-inverse, by singular values."""
    equations = da.derive(_repeated(), form, explicit=True)
    parts = equations.parts()
    assert (parts.rank.value, parts.rank.status) == (2, "proved") and parts.agreement.is_proved
    kernel = da.derive(_repeated(), form).compile()
    y = np.random.default_rng(8).uniform(0.3, 1.1, 6)
    symbols = (*equations.state, *equations.system.parameters)
    values = dict(zip(symbols, (*y, 1.3, 0.7), strict=True))
    values[da.t] = 0.4

    def number(block: sympy.Matrix) -> np.ndarray:
        return np.array(block.subs(values).evalf(), dtype=float)

    A, b, G, a = (number(x) for x in (parts.rows, parts.right, parts.metric, parts.free))
    W = A @ np.linalg.solve(G, A.T)
    inverse = np.linalg.pinv(W, rcond=1e-10)
    assert number(parts.weight) == pytest.approx(W, abs=1e-12)
    assert number(parts.gain) == pytest.approx(np.linalg.solve(G, A.T) @ inverse, abs=1e-11)
    z = a.ravel() + np.linalg.solve(G, A.T) @ inverse @ (b - A @ a).ravel()
    native = kernel.rates(0.4, y, [1.3, 0.7])
    assert native[3:] == pytest.approx(z, abs=1e-11)
    shown = {str(left): right for left, right in equations.lines()}
    names = [s.name for s in equations.unknowns]
    assert [float(shown[n].subs(values)) for n in names] == pytest.approx(z, abs=1e-11)
    eom = da.derive(_repeated(), form).to_sympy()
    table = {eom._symbols.dynamic(s): v for s, v in values.items() if s in equations.state}
    rest = {sympy.Symbol(s.name): v for s, v in values.items() if s in equations.system.parameters}
    right = eom.rhs().subs(table).subs(rest).subs(eom._symbols._clock, 0.4)
    multipliers = inverse @ (b - A @ a).ravel()
    assert np.array(right, dtype=float).ravel()[6:] == pytest.approx(multipliers, abs=1e-10)


def test_scaled_rows_are_those_of_the_symmetric_root() -> None:
    """B = A_p H_pp^(-1/2) with K = H_pp^(-1/2) B^+ (Udwadia 25, 35), for a full 2 x 2 metric."""
    parts = explicit("driven-double-pendulum", "hamilton").parts()
    symbols = sorted(parts.metric.free_symbols | parts.rows.free_symbols, key=str)
    values = dict(zip(symbols, np.linspace(0.4, 1.1, len(symbols)), strict=True))
    G, B, K = (
        np.array(block.subs(values).evalf(), dtype=float)
        for block in (parts.metric, parts.scaled_rows, parts.gain)
    )
    w, V = np.linalg.eigh(G)
    root = V @ np.diag(w**-0.5) @ V.T
    assert root @ np.linalg.pinv(B) == pytest.approx(K, rel=1e-10)
    with pytest.raises(FormError, match=r"3 unknowns.*gain"):
        explicit("chaplygin-sleigh", "lagrange").parts().scaled_rows  # noqa: B018


def test_a_rank_that_drops_on_the_constraints_is_seen() -> None:
    """Three parallel cranks: six rows are independent elsewhere, and five of them on the way."""
    X, Y, tilt, a, b, c = q = da.coordinates("X Y tilt a b c")
    constraints = []
    for angle, arm in ((a, -1), (b, 1), (c, 2)):
        constraints.append(da.holonomic(X + arm * cos(tilt) - arm - cos(angle), name=f"x{angle}"))
        constraints.append(da.holonomic(Y + arm * sin(tilt) - sin(angle), name=f"y{angle}"))
    system = da.System(
        q, kinetic=sum(s.dot**2 for s in q) / 2, potential=2 * Y, constraints=constraints
    )
    equations = da.derive(system, "lagrange", explicit=True)
    assert equations.notes[0].startswith("rank 5 of 6 constraints (not established)")
    s, o = np.sin(0.7), np.cos(0.7)
    state = np.array([o, s, 0, 0.7, 0.7, 0.7, -s, o, 0, 1, 1, 1])
    # A bar of mass 1 on a circle of radius 1 and three cranks of inertia 1: 4 a_ddot = -2 cos(a).
    found = equations.shown.compile().rates(0.0, state, [])
    assert found[9:] == pytest.approx([-o / 2] * 3, abs=1e-12)


def test_a_singular_mass_matrix_is_augmented() -> None:
    """The bicycle: M is singular, and regular on the constraints."""
    equations = explicit("bicycle", "lagrange")
    assert equations.shown.compile() is not None
    x, y = da.coordinates("x y")
    massless = da.System([x, y], kinetic=(x.dot + y.dot) ** 2 / 2, potential=y)
    with pytest.raises(FormError, match="not determined"):
        da.derive(massless, explicit=True)


def test_contradictory_constraints_are_refused() -> None:
    x, y = da.coordinates("x y")
    rows = [
        da.velocity(x.dot - y.dot, name="u"),
        da.velocity(2 * x.dot - 2 * y.dot - da.t, name="w"),
    ]
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=rows)
    with pytest.raises(FormError, match="`w` depends on the others and does not follow"):
        da.derive(system, explicit=True)


def test_runs_keep_the_kernel() -> None:
    """An explicit record simulates as the other does: the same steps, the same numbers."""
    scenario = gallery.load("two-particles-incline")
    plain = da.derive(scenario.system, "hamilton")
    assert plain.explicit() is plain.explicit() and plain.explicit().derivation is plain.derivation
    assert plain.explicit().row_names == plain.row_names
    assert plain.explicit().compile().m == 3 and plain.explicit().shown.compile().m == 0


@needs_compiler
@pytest.mark.parametrize(
    ("name", "form"), [("two-particles-incline", "hamilton"), ("chaplygin-sleigh", "lagrange")]
)
def test_exported_c_has_the_formula(tmp_path: Path, name: str, form: str) -> None:
    scenario = gallery.load(name)
    equations = da.derive(scenario.system, form, explicit=True)
    source = equations.to_c(parameters=scenario.parameters, start=scenario.start, span=(0, 1))
    library = CLibrary(source, tmp_path)
    kernel = da.derive(scenario.system, form).compile()
    y = np.random.default_rng(3).uniform(0.3, 1.1, kernel.n_state)
    p = [float(scenario.parameters[s.name]) for s in kernel.parameters]
    status, found = library.rates(0.2, y)
    assert status == 0
    assert found == pytest.approx(kernel.rates(0.2, y, p), rel=1e-10, abs=1e-12)


def test_latex_and_documents_have_the_formula() -> None:
    equations = explicit("two-particles-incline", "hamilton")
    assert r"\dot{p}_{x_{1}} &= S_{1} W_{1}" in equations.latex()
    assert r"\mu" not in equations.latex()
    text = equations.to_latex()
    assert "(\\mathsf{A}\\,\\mathsf{G}^{-1}\\mathsf{A}^T)^{+}" in text
    assert "Rank 2 of 3 constraints (proved)" in text
    assert r"H_{pp} &= \begin{bmatrix}" in equations.parts().latex()
