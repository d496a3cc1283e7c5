"""What random states do not show: energies, constraints and symmetries that differ beyond them, or
in other units.

Each motion is compared with a closed form or with an integration written here.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import Max, cos, sin, sqrt

import dalembert as da
from dalembert.errors import FormError, SingularError

x, y = da.coordinates("x y")
LIGHT = 299792458.0


def outcomes(system, start, end, ways, **options):
    """The last state by each way, or None where the way is refused."""
    found = {}
    for way in ways:
        try:
            motion = da.simulate(system, start, (0, end), **options, **way)
        except FormError:
            found[str(way)] = None
        else:
            found[str(way)] = motion if motion.outcome.is_success else None
    return found


STEPS = [
    {"method": method, "step": 0.01}
    for method in ("lobatto4", "galerkin4", "variational-midpoint", "auto")
]


def test_a_relativistic_particle_in_si_units_stays_below_the_speed_of_light():
    m, c, force = da.parameters("m c F", positive=True)
    particle = da.System([x], lagrangian=-m * c**2 * sqrt(1 - x.dot**2 / c**2) + force * x)
    values = {m: 1.0, c: LIGHT, force: 1e8}
    exact = 2e9 / np.sqrt(1 + (2e9 / LIGHT) ** 2)
    ways = [{"form": "lagrange"}, {"form": "hamilton"}, *STEPS]
    found = outcomes(particle, {x: 0.0, x.dot: 0.0}, 20.0, ways, parameters=values)
    assert found["{'form': 'lagrange'}"] is not None
    for way, motion in found.items():
        if motion is not None:
            assert motion["x_dot"][-1] == pytest.approx(exact, rel=1e-7), way


FORMS = [
    {"form": form}
    for form in ("lagrange", "hamilton", "maggi", "voronets", "gibbs-appell", "hamel-orthonormal")
]


@pytest.mark.long
def test_a_kink_of_the_kinetic_energy_beyond_the_samples():
    """L = y'^2/2 + Max(y' - 2, 0)^3/3 - y: (1 + 2 Max(y' - 2, 0)) y'' = -1."""
    kinked = da.System([y], lagrangian=y.dot**2 / 2 + Max(y.dot - 2, 0) ** 3 / 3 - y)
    rates = lambda t, s: [s[1], -1 / (1 + 2 * max(s[1] - 2, 0))]  # noqa: E731
    exact = solve_ivp(rates, (0, 2), [0.0, 3.0], rtol=1e-11, atol=1e-12, max_step=0.01).y[0, -1]
    found = outcomes(kinked, {y.dot: 3.0}, 2.0, FORMS)
    assert found["{'form': 'lagrange'}"] is not None
    for way, motion in found.items():
        if motion is not None:
            assert motion["y"][-1] == pytest.approx(exact, abs=1e-7), way
    da.compare(kinked)


def test_a_kink_of_the_hamiltonian_beyond_the_samples():
    p = x.momentum
    kinked = da.System([x], hamiltonian=p**2 / 2 + Max(p - 2, 0) ** 3 / 3)
    found = outcomes(kinked, {p: 3.0}, 1.0, FORMS)
    assert found["{'form': 'hamilton'}"] is not None
    for way, motion in found.items():
        if motion is not None:
            assert motion["x"][-1] == pytest.approx(4.0, abs=1e-9), way
    da.compare(kinked)


@pytest.mark.parametrize("method", ["energy2", "energy4", "energy6"])
def test_a_constraint_that_is_homogeneous_only_inside_the_samples(method):
    late = da.velocity(y.dot - x.dot - Max(x - 2, 0), name="late")
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[late])
    with pytest.raises(FormError, match="homogeneous"):
        da.simulate(system, {x.dot: 1.0}, (0, 4), method=method, step=0.01)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_cyclic_coordinates_in_any_units(unit):
    system = da.System([x, y], kinetic=unit * (x.dot**2 + y.dot**2) / 2, potential=unit * y**2 / 2)
    with pytest.raises(FormError, match="y is not cyclic"):
        da.symmetry.routh(system, [y])
    assert [item.name for item in da.describe(system).conserved] == ["energy", "p_x"]


# -- symmetry --------------------------------------------------------------------------------------


def frame_of(coordinates, components, names):
    """The fields dual to body velocities (components), for `da.symmetry.reduce`."""
    velocities = [q.dot for q in coordinates]
    matrix = sympy.Matrix([[sympy.diff(c, v) for v in velocities] for c in components])
    inverse = matrix.inv().applyfunc(sympy.simplify)
    return {
        name: {q: inverse[i, k] for i, q in enumerate(coordinates) if inverse[i, k] != 0}
        for k, name in enumerate(names)
    }


@pytest.mark.long
@pytest.mark.parametrize("tilt", [1.0, sympy.pi / 2, 0.3])
def test_suslov_in_euler_angles_is_invariant(tilt):
    phi, theta, psi = angles = da.coordinates("phi theta psi")
    body = [
        phi.dot * sin(theta) * sin(psi) + theta.dot * cos(psi),
        phi.dot * sin(theta) * cos(psi) - theta.dot * sin(psi),
        phi.dot * cos(theta) + psi.dot,
    ]
    kinetic = (body[0] ** 2 + 1.7 * body[1] ** 2 + 2.3 * body[2] ** 2) / 2 + 0.2 * body[0] * body[2]
    system = da.System(angles, kinetic=kinetic, constraints=[da.velocity(body[2], name="suslov")])
    frame = frame_of(angles, body, ("w1", "w2", "w3"))
    assert len(da.symmetry.reduce(system, frame, identity={theta: tilt}).state) == 2
    bent = system.replacing(constraints=[da.velocity(body[2] + 1e-9 * phi.dot, name="suslov")])
    with pytest.raises(FormError, match="constraints are not"):
        da.symmetry.reduce(bent, frame, identity={theta: tilt})


def test_left_invariant_constraints_on_sl2_are_invariant():
    a, b, c = symbols = da.coordinates("a b c")
    g = sympy.Matrix([[a, b], [c, (1 + b * c) / a]])
    rate = sum((sympy.diff(g, q) * q.dot for q in symbols), sympy.zeros(2, 2))
    xi = (g.inv() * rate).applyfunc(sympy.simplify)
    body = [xi[0, 0], xi[0, 1], xi[1, 0]]
    kinetic = (
        1.3 * body[0] ** 2 + 0.7 * body[1] ** 2 + 1.1 * body[2] ** 2 + 0.3 * body[0] * body[1]
    ) / 2
    held = da.velocity(body[1] + 0.4 * body[0] - 0.3 * body[2], name="held")
    system = da.System(symbols, kinetic=kinetic, constraints=[held])
    for identity in ({a: 1}, {a: 1.3, b: 0.2}):
        assert (
            len(
                da.symmetry.reduce(
                    system, frame_of(symbols, body, ("h", "e", "f")), identity=identity
                ).state
            )
            == 2
        )


def twisted(function, unit=1):
    """A wheel that turns with z' = p - f(y) x': its connection has the curvature f'(y) along the
    momentum p.
    """
    z = da.coordinates("z")
    kinetic = unit * ((z.dot + function * x.dot) ** 2 + x.dot**2 + y.dot**2) / 2
    return da.System([x, y, z], kinetic=kinetic), {"turn": {z: 1}}


@pytest.mark.parametrize("function", [Max(y - 2, 0) ** 3, 1e-12 * y, y], ids=str)
@pytest.mark.parametrize("unit", [1e-12, 1])
def test_no_routhian_where_the_connection_is_curved_beyond_the_samples_or_by_little(function, unit):
    with pytest.raises(
        FormError, match="curvature of the nonholonomic connection along the momenta"
    ):
        da.symmetry.nonholonomic_routhian(*twisted(function, unit))


def test_a_routhian_says_on_what_its_conditions_rest():
    flat = da.symmetry.nonholonomic_routhian(*twisted(sympy.Integer(2)))
    assert flat.conditions.is_proved and "proved" in str(flat)
    late = da.symmetry.nonholonomic_routhian(*twisted(Max(y - 10**7, 0) ** 3))
    assert late.conditions.status == "not established" and "not established: curvature" in str(late)


# -- rank ------------------------------------------------------------------------------------------


def bricard():
    """Bricard's linkage: five links of six, joined by orthogonal axes along the edges of a cube,
    closed by a hinge.
    """
    angles = da.coordinates("q1:6")
    corners = [
        sympy.Matrix(p)
        for p in ([0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1])
    ]
    links = [corners[(k + 1) % 6] - corners[k] for k in range(6)]
    axes = [links[k - 1].cross(links[k]) for k in range(6)]
    turned, tip, kinetic, height = sympy.eye(3), corners[0], 0, 0
    for k, angle in enumerate(angles):
        u = axes[k]
        cross = sympy.Matrix([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
        turned = turned * (sympy.eye(3) + sin(angle) * cross + (1 - cos(angle)) * cross * cross)
        middle = tip + turned * links[k] / 2
        tip = tip + turned * links[k]
        rate = sum((middle.diff(q) * q.dot for q in angles), sympy.zeros(3, 1))
        kinetic, height = kinetic + rate.dot(rate) / 2, height + middle[1]
    gap, axis = tip - corners[5], turned * axes[5]
    across = [
        e
        for e in (sympy.Matrix(row) for row in ([1, 0, 0], [0, 1, 0], [0, 0, 1]))
        if e.dot(axes[5]) == 0
    ]
    closed = [
        da.holonomic(value, name=f"hinge{k}")
        for k, value in enumerate([*gap, *(axis.dot(e) for e in across)])
    ]
    return da.System(angles, kinetic=kinetic, potential=9.81 * height, constraints=closed)


@pytest.mark.long
def test_bricards_linkage_has_one_freedom():
    """Five closing conditions of rank four where it is assembled; a folded branch has rank
    three.
    """
    linkage = bricard()
    found = da.describe(linkage)
    assert (found.rank, found.degrees_of_freedom, found.rank_status) == (4, 1, "not established")
    with pytest.raises(FormError, match="5 constraints of rank 4"):
        da.simulate(linkage, {}, (0, 1), method="rattle4", step=1e-3)


@pytest.mark.parametrize("potential", [0, x, x * y], ids=str)
@pytest.mark.parametrize("form", ["hamilton", "lagrange"])
def test_a_metric_that_vanishes_on_the_constraints_determines_no_motion(potential, form):
    """A H_pp^-1 A^T = 0 for an indefinite H_pp: rounding must not pass for inertia."""
    p, q = x.momentum, y.momentum
    system = da.System(
        [x, y],
        hamiltonian=(p**2 - q**2) / 2 + potential,
        constraints=[da.momentum(p + q, name="null")],
    )
    with pytest.raises(SingularError):
        da.simulate(system, {p: 1.0, q: -1.0, x: 0.3, y: 0.2}, (0, 1), form=form, max_steps=100)


def test_a_lagrangian_of_first_order_is_named():
    system = da.System([x, y], lagrangian=y * x.dot - (x**2 + y**2) / 2)
    with pytest.raises(SingularError, match="first order"):
        da.simulate(system, {x: 1.0}, (0, 1))


def test_an_integral_that_holds_only_inside_the_samples():
    """x' + (1 + Max(y - 10^7, 0)) y' = 0 keeps x + y, and adds a square from y = 10^7 on."""
    late = da.velocity(x.dot + (1 + Max(y - 10**7, 0)) * y.dot, name="late")
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[late])
    integral = da.describe(system).constraints[0].integral
    for place in (2.0, 3e7):
        if integral is not None:
            derivatives = [float(sympy.diff(integral, q).subs({x: 0.5, y: place})) for q in (x, y)]
            assert derivatives[1] == pytest.approx(
                derivatives[0] * (1 + max(place - 1e7, 0)), rel=1e-9
            )
