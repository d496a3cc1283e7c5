"""Second-order matrices and normal modes against references by SymPy, SciPy and textbooks alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import sympy
from sympy import Matrix, Rational, cos, sin, sqrt

import dalembert as da
import whipple_bicycle
from dalembert.errors import FormError, ModelError, RunError

linear_matrices = da.analysis.linear_matrices


def same(found: Matrix, expected: Matrix) -> bool:
    return all(sympy.simplify(entry) == 0 for entry in found - expected)


def double_pendulum() -> da.System:
    a, b = da.coordinates("a b")
    m, l, g = da.parameters("m l g", positive=True)
    kinetic = m * l**2 / 2 * (2 * a.dot**2 + b.dot**2 + 2 * a.dot * b.dot * cos(a - b))
    return da.System([a, b], kinetic=kinetic, potential=-m * g * l * (2 * cos(a) + cos(b)))


def test_the_double_pendulum_has_the_matrices_of_the_textbook() -> None:
    """Landau and Lifshitz, Mechanics, section 23, problem 2, for equal pendulums."""
    system = double_pendulum()
    m, l, g = (s for s in system.parameters)
    values = {s.name: s for s in (m, l, g)}
    m, l, g = values["m"], values["l"], values["g"]
    found = linear_matrices(system)
    assert same(found.mass, m * l**2 * Matrix([[2, 1], [1, 1]]))
    assert same(found.stiffness, m * g * l * Matrix([[2, 0], [0, 1]]))
    assert not any([*found.damping, *found.gyroscopic, *found.circulatory])
    inverted = linear_matrices(system, {"a": sympy.pi, "b": 0})
    assert same(inverted.mass, m * l**2 * Matrix([[2, -1], [-1, 1]]))
    assert same(inverted.stiffness, m * g * l * Matrix([[-2, 0], [0, 1]]))


def test_modes_are_those_of_the_generalised_eigenvalue_problem() -> None:
    values = {"m": 1.5, "l": 0.7, "g": 9.81}
    system = double_pendulum()
    numbers = linear_matrices(system).numbers(values)
    squares, vectors = scipy.linalg.eigh(numbers["stiffness"], numbers["mass"])
    modes = da.linearise(system, {}, values).modes()
    assert modes.frequencies == pytest.approx(np.sqrt(squares), rel=1e-12)
    assert modes.frequencies**2 == pytest.approx(9.81 / 0.7 * np.array([2 - 2**0.5, 2 + 2**0.5]))
    assert modes.damping_ratios == pytest.approx(0, abs=1e-12)
    for k in range(2):
        expected = vectors[:, k] / vectors[np.argmax(np.abs(vectors[:, k])), k]
        assert modes.shapes[:2, k] == pytest.approx(expected, abs=1e-10)


def test_a_turning_frame_gives_gyroscopic_forces() -> None:
    """A particle on springs in a frame that turns: G = 2 m Omega J, K = k - m Omega^2."""
    x, y = da.coordinates("x y")
    m, k, Omega, c = da.parameters("m k Omega c", positive=True)
    kinetic = m / 2 * ((x.dot - Omega * y) ** 2 + (y.dot + Omega * x) ** 2)
    system = da.System(
        [x, y],
        kinetic=kinetic,
        potential=k / 2 * (x**2 + y**2),
        forces={x: -c * x.dot, y: -c * y.dot},
    )
    found = linear_matrices(system)
    assert same(found.gyroscopic, 2 * m * Omega * Matrix([[0, -1], [1, 0]]))
    assert same(found.stiffness, (k - m * Omega**2) * sympy.eye(2))
    assert same(found.damping, c * sympy.eye(2))


def test_a_follower_force_is_circulatory() -> None:
    """Ziegler's column: a force along the second rod has a skew part."""
    a, b = da.coordinates("a b")
    m, l, k, P = da.parameters("m l k P", positive=True)
    kinetic = m * l**2 / 2 * (2 * a.dot**2 + b.dot**2 + 2 * a.dot * b.dot * cos(a - b))
    # force -P (sin b, cos b) at the tip l (sin a + sin b), l (cos a + cos b)
    moment = -P * (sin(b) * l * cos(a) - cos(b) * l * sin(a))
    system = da.System(
        [a, b], kinetic=kinetic, potential=k / 2 * (a**2 + (b - a) ** 2), forces={a: moment}
    )
    found = linear_matrices(system)
    whole = Matrix([[2 * k - P * l, P * l - k], [-k, k]])
    assert same(found.stiffness + found.circulatory, whole)
    assert found.circulatory[0, 1] == P * l / 2


def test_reactions_of_holonomic_constraints_stiffen() -> None:
    """A particle on a rod is a pendulum: the potential is linear, the rod gives the stiffness."""
    x, y = da.coordinates("x y")
    m, l, g = da.parameters("m l g", positive=True)
    rod = da.holonomic(x**2 + y**2 - l**2, name="rod")
    system = da.System(
        [x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=m * g * y, constraints=[rod]
    )
    found = linear_matrices(system, {y: -l})
    assert found.coordinates == ("x",)
    assert same(found.mass, Matrix([[m]])) and same(found.stiffness, Matrix([[m * g / l]]))
    assert same(found.basis, Matrix([1, 0]))


def test_a_symbolic_equilibrium_stays_symbolic() -> None:
    """A bead on a turning hoop rests where cos(theta) = g/(R Omega^2)."""
    theta = da.coordinates("theta")
    R, g, Omega = da.parameters("R g Omega", positive=True)
    kinetic = R**2 / 2 * (theta.dot**2 + Omega**2 * sin(theta) ** 2)
    hoop = da.System([theta], kinetic=kinetic, potential=-g * R * cos(theta))
    found = linear_matrices(hoop, {theta: sympy.acos(g / (R * Omega**2))})
    expected = R**2 * Omega**2 - g**2 / Omega**2
    assert sympy.simplify(found.stiffness[0, 0] - expected) == 0
    with pytest.raises(RunError, match="no equilibrium"):
        linear_matrices(hoop, {theta: Rational(1, 3)})


def test_a_steady_motion_keeps_its_cyclic_coordinate() -> None:
    """A spherical pendulum on a circle: frequency^2 = Omega^2 (1 + 3 cos^2) in reduced form."""
    theta, phi = da.coordinates("theta phi")
    m, l, g = da.parameters("m l g", positive=True)
    kinetic = m * l**2 / 2 * (theta.dot**2 + sin(theta) ** 2 * phi.dot**2)
    system = da.System([theta, phi], kinetic=kinetic, potential=-m * g * l * cos(theta))
    turn = sqrt(g / (l * cos(Rational(1, 2))))
    found = linear_matrices(system, {theta: Rational(1, 2), phi.dot: turn})
    values = {"m": 1.3, "l": 0.8, "g": 9.81}
    n = found.numbers(values)
    rate = np.sqrt(9.81 / (0.8 * np.cos(0.5)))
    A = np.block(
        [
            [np.zeros((2, 2)), np.eye(2)],
            [
                -np.linalg.solve(n["mass"], n["stiffness"] + n["circulatory"]),
                -np.linalg.solve(n["mass"], n["damping"] + n["gyroscopic"]),
            ],
        ]
    )
    largest = np.max(np.linalg.eigvals(A).imag)
    assert largest == pytest.approx(rate * np.sqrt(1 + 3 * np.cos(0.5) ** 2), rel=1e-9)


def test_numbers_agree_with_the_linearised_flow() -> None:
    """With values of all parameters the point is polished, and A is that of `linearise`."""
    x, theta, u = *da.coordinates("x theta"), da.inputs("u")
    M, m, l, g, c = da.parameters("M m l g c", positive=True)
    cart = M / 2 * x.dot**2
    bob = m / 2 * (x.dot**2 + 2 * l * x.dot * theta.dot * cos(theta) + l**2 * theta.dot**2)
    system = da.System(
        [x, theta],
        kinetic=cart + bob,
        potential=-m * g * l * cos(theta),
        forces={x: u - c * x.dot},
        inputs=[u],
    )
    values = {M: 1.2, m: 0.3, l: 0.6, g: 9.81, c: 0.1}
    linear = da.linearise(system, {theta: 3.1}, values)
    A, B = linear_matrices(system, {theta: 3.1}, values).state_space()
    assert np.array(A, dtype=float) == pytest.approx(linear.matrix, abs=1e-9)
    assert np.array(B, dtype=float) == pytest.approx(linear.input_matrix, abs=1e-9)
    symbolic, _ = linear_matrices(system, {theta: sympy.pi}).state_space()
    numbers = np.array(symbolic.subs(values).evalf(), dtype=float)
    assert numbers == pytest.approx(linear.matrix, abs=1e-9)


def test_a_nonholonomic_equilibrium_reduces_to_its_velocities() -> None:
    """A sleigh on a slope, its blade along the slope's level line: it can only turn and glide."""
    x, y, theta = da.coordinates("x y theta")
    m, J, k = da.parameters("m J k", positive=True)
    blade = da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")
    kinetic = m / 2 * (x.dot**2 + y.dot**2) + J / 2 * theta.dot**2
    system = da.System([x, y, theta], kinetic=kinetic, potential=k / 2 * x**2, constraints=[blade])
    found = linear_matrices(system)
    turn = found.coordinates.index("theta")  # the other one is the glide along the blade
    order = [1 - turn, turn]
    assert same(found.mass.extract(order, order), Matrix.diag(m, J))
    assert same(found.stiffness.extract(order, order), Matrix.diag(k, 0))


def test_a_holding_torque_is_part_of_the_point() -> None:
    """Free inputs have values at the point; without them it is no equilibrium there."""
    theta, u = da.coordinates("theta"), da.inputs("u")
    g = da.parameters("g", positive=True)
    arm = da.System(
        [theta],
        kinetic=theta.dot**2 / 2,
        potential=-g * cos(theta),
        forces={theta: u},
        inputs=[u],
    )
    found = linear_matrices(arm, {theta: sympy.pi / 6}, inputs={u: g / 2})
    assert same(found.stiffness, Matrix([[sqrt(3) / 2 * g]]))
    held = da.linearise(arm, {theta: 0.5}, {g: 9.81}, polish=False, inputs={u: 9.81 * np.sin(0.5)})
    assert held.eigenvalues.imag == pytest.approx(np.sqrt(9.81 * np.cos(0.5)) * np.array([1, -1]))
    with pytest.raises(RunError):
        da.linearise(arm, {theta: 0.5}, {g: 9.81}, polish=False)
    with pytest.raises(ModelError, match="no free input `v`"):
        da.linearise(arm, {theta: 0.5}, {g: 9.81}, inputs={"v": 1.0})


@pytest.mark.parametrize("speed", [pytest.param(0, marks=pytest.mark.long), 5])
def test_the_whipple_bicycle_has_its_published_matrices(speed: int) -> None:
    """Nine coordinates, six constraints; Meijaard and others 2007, appendix A, at a speed."""
    values = whipple_bicycle.BENCHMARK
    found = linear_matrices(whipple_bicycle.system(), {"x_dot": speed}, values)
    M, C1, K0, K2 = (
        np.array(matrix.tolist(), dtype=float) for matrix in whipple_bicycle.linear_matrices(values)
    )
    places = [found.coordinates.index(name) for name in ("phi", "delta")]
    numbers = {
        n: table[np.ix_(places, places)]
        for n, table in found.numbers().items()
        if n != "input_matrix"
    }
    assert numbers["mass"] == pytest.approx(M, abs=1e-10)
    assert numbers["damping"] + numbers["gyroscopic"] == pytest.approx(speed * C1, abs=1e-8)
    stiffness = values["g"] * K0 + speed**2 * K2
    assert numbers["stiffness"] + numbers["circulatory"] == pytest.approx(stiffness, abs=1e-8)


def test_what_has_no_such_matrices_is_refused() -> None:
    x = da.coordinates("x")
    wobbling = da.System([x], kinetic=x.dot**2 / 2, potential=(2 + cos(da.t)) * x**2)
    with pytest.raises(FormError, match="depend on time"):
        linear_matrices(wobbling)
    with pytest.raises(ModelError, match="no variable `z`"):
        linear_matrices(da.System([x], kinetic=x.dot**2 / 2, potential=x**2), {"z": 1})
    moving = da.System([x], kinetic=x.dot**2 / 2, potential=0 * x)
    assert linear_matrices(moving, {x.dot: 3}).stiffness == Matrix([[0]])
    with pytest.raises(RunError, match="no equilibrium"):
        linear_matrices(da.System([x], kinetic=x.dot**2 / 2, potential=x**2), {x.dot: 1})


def test_a_failed_choice_of_velocities_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from dalembert.analysis.stability import linearisation

    def fails(*_: object, **__: object) -> None:
        raise RunError("The start cannot be completed", seen="a test", remedy="none")

    x, y = da.coordinates("x y")
    rod = da.holonomic(x**2 + y**2 - 1, name="rod")
    kinetic = (x.dot**2 + y.dot**2) / 2
    pendulum = da.System([x, y], kinetic=kinetic, potential=4 * y, constraints=[rod])
    equations = da.derive(pendulum, "maggi")
    assert da.linearise(equations, {y: -1}).notes == ()
    monkeypatch.setattr(linearisation, "consistent_start", fails)
    equations = equations.rechoose(["x_dot"]) if equations.rechoose else equations
    found = da.linearise(equations, {y: -1})
    assert "The start cannot be completed" in found.notes[0] and "note" in str(found)


# -- what is shown ---------------------------------------------------------------------------------


def test_matrices_and_modes_are_shown_as_tables() -> None:
    found = linear_matrices(double_pendulum())
    text, latex = str(found), found.latex()
    assert "M   [2*l**2*m  l**2*m]" in text and "M x_ddot + K x = 0" in text
    assert r"M &= \begin{bmatrix} 2 l^{2} m & l^{2} m \\ l^{2} m & l^{2} m \end{bmatrix}" in latex
    assert found._repr_latex_().startswith("$") and "<table>" in found._repr_html_()
    modes = da.linearise(double_pendulum(), {}, {"m": 1, "l": 1, "g": 9.81}).modes()
    lines = str(modes).splitlines()
    assert lines[2].split()[:3] == ["mode", "frequency", "damping"]
    assert lines[3].endswith("a = 0.7071, b = 1") and lines[4].endswith("a = -0.7071, b = 1")


def test_a_mode_is_a_motion_and_a_picture() -> None:
    """A small start in the second mode comes back after its period, and only then."""
    values = {"m": 1.0, "l": 1.0, "g": 9.81}
    modes = da.linearise(double_pendulum(), {}, values).modes()
    motion = modes.motion(double_pendulum(), 2, amplitude=1e-4, periods=1, parameters=values)
    assert motion.t[-1] == pytest.approx(2 * np.pi / modes.frequencies[1])
    assert motion["a"][-1] == pytest.approx(motion["a"][0], abs=1e-9)
    assert motion["b"][0] == pytest.approx(1e-4)
    assert len(modes.plot().axes) == 2
    with pytest.raises(ModelError, match="no mode 3"):
        modes.start(3)
