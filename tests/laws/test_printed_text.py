"""Printed equations are the equations: their text, read back, has the solutions of the kernel.

Every gallery system in every form, and systems that are too large for one derivation in symbols.
"""

from __future__ import annotations

import re

import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from core_systems import SAME_SYSTEM, equations_of, forms_of, parameter_numbers, system_of
from printed_lines import compared, read_text

#: Systems and forms of a quick run that get definitions in layers, beside short ones.
QUICK = {
    ("elastic-pendulum-printed", "canonical-quasi"),
    ("furuta-matched", "lagrange"),
    ("chaplygin-sleigh", "hamel"),
    ("snakeboard", "lagrange"),
    ("rolling-disk", "maggi"),
}
#: What is printed has cases, which the model language states by another word.
CASES = ("so-stabilisation",)


def every_print() -> list[object]:
    """The gallery, controlled systems and flows included, in every form that applies."""
    found: list[object] = []
    for name in da.gallery.names():
        if name in SAME_SYSTEM or name in CASES:
            continue
        for form in forms_of(name) if isinstance(system_of(name), da.System) else (None,):
            marks = [] if (name, form) in QUICK else [pytest.mark.long]
            found.append(pytest.param(name, form, marks=marks))
    return found


@pytest.mark.parametrize(("name", "form"), every_print())
def test_the_text_of_equations_has_the_solutions_of_the_kernel(name: str, form: str) -> None:
    equations = equations_of(name, form)
    numbers = parameter_numbers(name, equations.system)
    compared(equations, read_text(equations), numbers)
    compared(equations, read_text(equations), numbers, seed=11)


def test_the_reading_of_a_text_finds_a_wrong_sign() -> None:
    """The law above can fail."""
    equations = equations_of("furuta-matched", "lagrange")
    numbers = parameter_numbers("furuta-matched", equations.system)
    wrong = equations.text().replace("M_22 = J +", "M_22 = J -", 1)
    assert wrong != equations.text()
    with pytest.raises(AssertionError):
        compared(equations, read_text(equations, wrong), numbers)


# -- systems that are in no gallery ----------------------------------------------------------------


def roller_racer() -> da.System:
    """Krishnaprasad and Tsakiris' roller racer without the mass of its steering arm."""
    x, y, theta, phi = da.coordinates("x y theta phi")
    m, I_1, I_2, d_1, d_2 = da.parameters("m I_1 I_2 d_1 d_2", positive=True)
    front = -sin(theta + phi) * x.dot + cos(theta + phi) * y.dot
    front += (d_1 * cos(phi) + d_2) * theta.dot + d_2 * phi.dot
    return da.System(
        [x, y, theta, phi],
        kinetic=m / 2 * (x.dot**2 + y.dot**2)
        + I_1 / 2 * theta.dot**2
        + I_2 / 2 * (theta.dot + phi.dot) ** 2,
        constraints=[
            da.velocity(-sin(theta) * x.dot + cos(theta) * y.dot, name="rear"),
            da.velocity(front, name="front"),
        ],
        name="Roller racer",
    )


def arm(joints: int = 6) -> da.System:
    """An arm with revolute joints about z, y, y, x, y, x; point masses and round inertias."""
    q = da.coordinates(" ".join(f"q{k + 1}" for k in range(joints)))
    m = da.parameters(" ".join(f"m{k + 1}" for k in range(joints)), positive=True)
    inertia = da.parameters(" ".join(f"I{k + 1}" for k in range(joints)), positive=True)
    a_2, a_3, d_4, d_6, g = da.parameters("a_2 a_3 d_4 d_6 g", positive=True)
    offsets = [(0, 0, 0), (0, 0, a_2), (a_3, 0, 0), (d_4, 0, 0), (0, 0, 0), (d_6, 0, 0)]
    w, v, p, frame = sympy.zeros(3, 1), sympy.zeros(3, 1), sympy.zeros(3, 1), sympy.eye(3)
    kinetic = potential = sympy.S.Zero
    for k, axis in enumerate((2, 1, 1, 0, 1, 0)[:joints]):
        unit = sympy.Matrix([int(i == axis) for i in range(3)])
        turn = _rotation(axis, q[k])
        w, v, frame = turn.T * w + unit * q[k].dot, turn.T * v, frame * turn
        v, p = v + w.cross(sympy.Matrix(offsets[k])), p + frame * sympy.Matrix(offsets[k])
        kinetic += m[k] / 2 * v.dot(v) + inertia[k] / 2 * w.dot(w)
        potential += m[k] * g * p[2]
    return da.System(list(q), kinetic=kinetic, potential=potential, name=f"{joints}R arm")


def _rotation(axis: int, angle: sympy.Symbol) -> sympy.Matrix:
    first, second = [k for k in range(3) if k != axis]
    found, sign = sympy.eye(3), -1 if axis == 1 else 1
    found[first, first] = found[second, second] = cos(angle)
    found[first, second], found[second, first] = -sign * sin(angle), sign * sin(angle)
    return found


def numbers_of(system: da.System) -> dict[str, float]:
    return {s.name: 0.4 + 0.11 * k for k, s in enumerate(system.parameters)}


@pytest.mark.parametrize(
    "form",
    [
        "hamel",
        *(
            pytest.param(f, marks=pytest.mark.long)
            for f in ("canonical-quasi", "hamel-orthonormal")
        ),
    ],
)
def test_the_roller_racer_is_written_in_forms_that_swell_on_the_way(form: str) -> None:
    system = roller_racer()
    equations = da.derive(system, form)
    compared(equations, read_text(equations), numbers_of(system))


@pytest.mark.long
def test_the_reduced_roller_racer_is_written() -> None:
    """Shape and momentum equations of the roller racer on D/SE(2)."""
    system = roller_racer()
    x, y, theta, _ = system.coordinates
    fields = {"xi_1": {x: cos(theta), y: sin(theta)}, "xi_2": {x: -sin(theta), y: cos(theta)}}
    equations = da.symmetry.reduce(system, fields | {"omega": {theta: 1}})
    compared(equations, read_text(equations), numbers_of(system))
    assert len(equations.text()) < 1500


@pytest.mark.parametrize("joints", [3, pytest.param(6, marks=pytest.mark.long)])
def test_an_arm_is_written_with_definitions_in_order(joints: int) -> None:
    """Each definition has symbols of the model and of earlier definitions, and is used."""
    system = arm(joints)
    equations = da.derive(system, "lagrange")
    text = equations.text()
    compared(equations, read_text(equations), numbers_of(system))
    lines, _, definitions = text.partition("\nwith\n")
    pairs = [line.strip().split(" = ") for line in definitions.splitlines()]
    names = [name for name, _ in pairs]
    known = {s.name for s in (*system.coordinates, *system.velocities, *system.parameters)}
    used = set(re.findall(r"[A-Za-z]\w*", lines))
    assert not known & set(names)
    for name, meaning in pairs:
        inside = set(re.findall(r"[A-Za-z]\w*", meaning)) - {"sin", "cos", "tan", "cot", "sqrt"}
        if joints == 6:
            assert inside <= known, name
        used |= inside
        known.add(name)
    assert set(names) <= used


def test_named_quantities_are_spelt_out() -> None:
    """A mechanism of bodies shares named velocities, and prints without them."""
    bodies, (m, l, g) = da.bodies, da.parameters("m l g", positive=True)
    inertia = (m * l**2 / 12, m * l**2 / 12, 0)
    upper, lower = (
        bodies.Body(name, mass=m, com=(0, 0, -l / 2), inertia=inertia)
        for name in ("upper", "lower")
    )
    joints = [
        bodies.revolute("q1", bodies.ground(), upper, axis="y"),
        bodies.revolute("q2", upper, lower, axis="y", at=(0, 0, -l)),
    ]
    system = bodies.Mechanism(joints, gravity=(0, 0, -g)).system()
    for form in ("lagrange", "hamilton"):
        equations = da.derive(system, form)
        compared(equations, read_text(equations), {"m": 1.0, "l": 0.5, "g": 9.81})
    assert "l*q1_ddot*(3*cos(q2) + 2)/6 + l*q2_ddot/3 =" in da.derive(system).text()
