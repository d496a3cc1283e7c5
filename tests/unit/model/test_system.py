"""A system reads what users write, refuses what makes no sense, and says every fault at once."""

from __future__ import annotations

import dataclasses

import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.symbols import Coordinate, Parameter

x, y = da.coordinates("x y")
m, k = da.parameters("m k", positive=True)
u = da.inputs("u")
T = m * (x.dot**2 + y.dot**2) / 2


def test_the_three_statements_of_energy():
    by_parts = da.System([x, y], kinetic=T, potential=k * x**2 / 2)
    by_lagrangian = da.System([x, y], lagrangian=T - k * x**2 / 2)
    by_hamiltonian = da.System([x, y], hamiltonian=(x.momentum**2 + y.momentum**2) / (2 * m))
    assert by_parts.lagrangian == by_lagrangian.lagrangian == by_lagrangian.energy_function
    assert by_parts.potential == k * x**2 / 2 and by_lagrangian.potential is None
    assert by_hamiltonian.is_hamiltonian and not by_parts.is_hamiltonian
    assert by_hamiltonian.energy_function == by_hamiltonian.hamiltonian
    assert by_parts.parameters == (k, m)


def test_it_is_frozen_and_comparable():
    system = da.System([x, y], kinetic=T, forces={x: u}, inputs=[u])
    with pytest.raises(dataclasses.FrozenInstanceError):
        system.name = "other"
    with pytest.raises(TypeError):
        system.forces[x] = 1
    assert system == da.System([x, y], kinetic=T, forces={x: u}, inputs=[u])
    assert system != system.replacing(name="other")


def test_dynamic_symbols_of_sympy():
    a, b = dynamicsymbols("a b")
    mass = sympy.Symbol("M", positive=True)
    clock = dynamicsymbols._t
    system = da.System(
        [a, b],
        lagrangian=mass * (a.diff() ** 2 + b.diff() ** 2) / 2 - a * b * clock,
        constraints=[da.velocity(sympy.diff(a * b, clock))],
        forces={a: -b.diff()},
    )
    p, q = da.coordinates("a b")
    M = Parameter("M", positive=True)
    assert system.coordinates == (p, q)
    assert system.lagrangian == M * (p.dot**2 + q.dot**2) / 2 - p * q * da.t
    assert system.constraints[0].expression == p.dot * q + p * q.dot
    assert system.forces == {p: -q.dot}


def test_plain_symbols_become_parameters_and_names_keys():
    system = da.System([x], kinetic=sympy.Symbol("M") * x.dot**2, forces={"x": sympy.Symbol("t")})
    assert [type(s) for s in system.parameters] == [Parameter]
    assert system.forces == {x: da.t}


def test_constraints_are_sorted_by_kind_and_named():
    system = da.System(
        [x, y],
        kinetic=T,
        constraints=[
            da.holonomic(x - y),
            da.velocity(x.dot, name="a"),
            da.unilateral(y),
            da.momentum(x.momentum),
        ],
    )
    assert [c.name for c in system.constraints] == ["c1", "a", "c3", "c4"]
    assert [c.name for c in system.bilateral] == ["c1", "a", "c4"]
    assert [c.name for c in system.unilateral] == ["c3"]
    assert system.image is None
    assert [c.name for c in system.touching(["c3"]).bilateral] == ["c1", "a", "c3", "c4"]
    assert [c.name for c in system.touching([]).constraints] == ["c1", "a", "c4"]


def test_image():
    s = da.speeds("s")
    system = da.System([x, y], kinetic=T, constraints=[da.image({x: s, y: x * s}, [s])])
    assert system.image.velocities == {x: s, y: x * s}
    assert system.bilateral == ()


def test_replacing_and_driving():
    system = da.System(
        [x, y], kinetic=T, potential=k * x, forces={x: u}, inputs=[u], outputs={"sum": x + y}
    )
    assert system.replacing() == system
    assert system.replacing(name="new").kinetic == T
    assert system.driven({"u": sympy.sin(da.t)}).inputs == {u: sympy.sin(da.t)}
    assert system.driven({u: -x.dot}).inputs == {u: -x.dot}
    with pytest.raises(ModelError, match="no input `v`"):
        system.driven({"v": 0})
    with pytest.raises(ModelError, match="no place"):
        system.driven({u: u})


a = Coordinate("a")
s = da.speeds("s")
REFUSED = {
    "no coordinates": ({"coordinates": []}, "at least one coordinate"),
    "plain symbol": ({"coordinates": [sympy.Symbol("x")]}, "coordinates"),
    "twice": ({"coordinates": [x, x, y]}, "listed twice"),
    "no energy": ({"kinetic": None}, "exactly one of"),
    "two energies": ({"lagrangian": T}, "exactly one of"),
    "potential beside": (
        {"kinetic": None, "hamiltonian": x.momentum**2, "potential": x},
        "goes with kinetic",
    ),
    "text": ({"kinetic": "m*x_dot**2"}, "must be an expression"),
    "infinite": ({"potential": sympy.oo * m}, "not finite"),
    "foreign coordinate": ({"potential": a}, "does not have"),
    "velocity in potential": ({"potential": x.dot}, "no place"),
    "acceleration in lagrangian": ({"kinetic": None, "lagrangian": x.ddot}, "acceleration of x"),
    "momentum in kinetic": ({"kinetic": x.momentum**2}, "no place"),
    "velocity in hamiltonian": ({"kinetic": None, "hamiltonian": x.dot**2}, "no place"),
    "input not listed": ({"forces": {x: u}}, "does not have"),
    "force on a stranger": ({"forces": {a: 1}}, "not a coordinate"),
    "not a constraint": ({"constraints": [x - y]}, "wrap it in"),
    "holonomic of velocities": ({"constraints": [da.holonomic(x.dot)]}, "no place"),
    "velocity of positions": ({"constraints": [da.velocity(x - y)]}, "use holonomic"),
    "momentum of positions": ({"constraints": [da.momentum(x - y)]}, "use holonomic"),
    "nothing constrained": ({"constraints": [da.holonomic(m - 1)]}, "contains no coordinate"),
    "nothing bounded": ({"constraints": [da.unilateral(m - 1)]}, "contains no coordinate"),
    "vanishing": ({"constraints": [da.velocity(x.dot - x.dot)]}, "contains no velocity"),
    "restitution of state": ({"constraints": [da.unilateral(x, restitution=y)]}, "no place"),
    "work on a stranger": ({"constraints": [da.holonomic(x, work={a: 1})]}, "not a coordinate"),
    "names clash": ({"kinetic": Parameter("x_dot") * x.dot**2}, "means both"),
    "time clash": ({"coordinates": [x, y, Coordinate("t")]}, "means both"),
    "output clash": ({"outputs": {"x": y}}, "means both"),
    "output name": ({"outputs": {"a b": y}}, "not a name"),
    "constraints clash": (
        {"constraints": [da.holonomic(x, "c"), da.holonomic(y, "c")]},
        "Two constraints",
    ),
    "image is partial": ({"constraints": [da.image({x: s}, [s])]}, "no velocity for y"),
    "image is affine": ({"constraints": [da.image({x: s, y: s + 1}, [s])]}, "linear in the speeds"),
    "image is quadratic": (
        {"constraints": [da.image({x: s, y: s**2}, [s])]},
        "linear in the speeds",
    ),
    "two images": (
        {"constraints": [da.image({x: s, y: s}, [s]), da.image({x: s, y: s}, [s], name="b")]},
        "one image",
    ),
    "foreign function": ({"potential": sympy.Function("f")(x)}, "contains f"),
}


@pytest.mark.parametrize("label", REFUSED)
def test_refused(label):
    changes, part = REFUSED[label]
    with pytest.raises(ModelError, match=part):
        da.System(**({"coordinates": [x, y], "kinetic": T} | changes))


def test_all_faults_at_once():
    with pytest.raises(ModelError) as caught:
        da.System([x, y], kinetic=T, forces={a: 1}, constraints=[x - y], outputs={"o": "text"})
    assert "3 faults" in str(caught.value)
    assert str(caught.value).count("\n  - ") == 3


def test_what_is_stated_by_name_and_by_symbol_is_refused() -> None:
    """A force given both ways was the sum of the two, and of two laws of an input the last was
    taken.
    """
    x, u = da.coordinates("x"), da.inputs("u")
    with pytest.raises(ModelError, match="`x` twice"):
        da.System([x], kinetic=x.dot**2 / 2, forces={x: 1, "x": 2})
    driven = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    with pytest.raises(ModelError, match="`u` twice"):
        driven.driven({u: 1, "u": 2})


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"forces": [1.0]}, "by coordinate"),
        ({"inputs": ["u"]}, "An input must"),
        ({"inputs": {"u": 1.0}}, "An input must"),
        ({"outputs": [1.0]}, "by name"),
        ({"outputs": {da.coordinates("y"): 1.0}}, "by name"),
    ],
)
def test_tables_of_another_kind_are_refused_in_words(stated: dict, words: str) -> None:
    """They ended in an AttributeError."""
    x = da.coordinates("x")
    with pytest.raises(ModelError, match=words):
        da.System([x], kinetic=x.dot**2 / 2, **stated)
