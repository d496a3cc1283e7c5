"""Whatever takes an expression refuses text: SymPy would execute it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.model.io.expressions import format as written
from dalembert.model.io.files import loads
from dalembert.model.symbols import as_expression, as_matrix

X, Y = da.coordinates("x y")
U = da.speeds("u")
UNIT = sympy.eye(3)

TAKERS: dict[str, Any] = {
    "restitution": lambda text: da.unilateral(X, restitution=text),
    "holonomic": lambda text: da.System([X], kinetic=X.dot**2, constraints=[da.holonomic(text)]),
    "velocity": lambda text: da.System([X], kinetic=X.dot**2, constraints=[da.velocity(text)]),
    "unilateral": lambda text: da.System([X], kinetic=X.dot**2, constraints=[da.unilateral(text)]),
    "image": lambda text: da.image({X: text, Y: U}, [U]),
    "image matrix": lambda text: da.image([[text], [1]], [U], coordinates=[X, Y]),
    "work": lambda text: da.System(
        [X], kinetic=X.dot**2, constraints=[da.holonomic(X, work={X: text})]
    ),
    "mass": lambda text: da.particle(text, [X]),
    "position": lambda text: da.particle(1, [text]),
    "inertia": lambda text: da.body(1, text, [X], angle=X),
    "tensor": lambda text: da.body(1, [text, 1, 1], [X, Y, 0], rotation=UNIT),
    "rotation": lambda text: da.body(
        1, [1, 1, 1], [X, Y, 0], rotation=[[text, 0, 0], [0, 1, 0], [0, 0, 1]]
    ),
    "angular velocity": lambda text: da.body(
        1, [1, 1, 1], [X, Y, 0], angular_velocity=[text, 0, 0]
    ),
    "angle": lambda text: da.body(1, 1, [X], angle=text),
    "weight": lambda text: da.gravity(text, X, 9.81),
    "height": lambda text: da.gravity(1, text, 9.81),
    "acceleration": lambda text: da.gravity(1, X, text),
    "spring": lambda text: da.spring(1, text),
    "damper": lambda text: da.damper(text, X),
    "force": lambda text: da.force([text], at=[X]),
    "point": lambda text: da.force([1], at=[text]),
    "rate": da.rate,
    "kinetic": lambda text: da.System([X], kinetic=text),
    "forces": lambda text: da.System([X], kinetic=X.dot**2, forces={X: text}),
    "input": lambda text: da.System([X], kinetic=X.dot**2, inputs={da.inputs("w"): text}),
    "output": lambda text: da.System([X], kinetic=X.dot**2, outputs={"o": text}),
    "dissipation": lambda text: da.System([X], kinetic=X.dot**2, dissipation=text),
    "event": da.event,
    "format": written,
}


@pytest.mark.parametrize("taker", TAKERS)
def test_text_is_refused_and_not_executed(taker: str, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    hostile = f"__import__('pathlib').Path({str(mark)!r}).write_text('') or 1"
    for text in (hostile, "1"):
        with pytest.raises((DalembertError, TypeError)):
            TAKERS[taker](text)
    assert not mark.exists()


def test_numbers_of_all_kinds_are_expressions() -> None:
    assert as_expression(np.int64(3)) == 3 and as_expression(True) == 1
    assert as_expression(Fraction(1, 3)) == sympy.Rational(1, 3)
    assert as_expression(np.float64(0.5)) == sympy.Float(0.5)
    assert as_expression(X) is X
    assert as_matrix([1, X]) == sympy.Matrix([1, X])
    assert as_matrix([[1, X]]).shape == (1, 2)
    for wrong in (None, [1], 1j, object()):
        with pytest.raises(DalembertError):
            as_expression(wrong)


@pytest.mark.parametrize("hidden", ["\\u001b]0;title\\u0007", "\\u202e", "\\u0000", "\\u009b31m"])
@pytest.mark.parametrize("key", ["name", "summary", "constraint"])
def test_a_text_that_a_terminal_would_obey_is_refused(key: str, hidden: str) -> None:
    """The title of the terminal was changed by the name of a model that somebody sent."""
    own = f'{key} = "a {hidden}"\n' if key != "constraint" else ""
    row = f'{{expression = "x_dot = 0", name = "a {hidden}"}}' if not own else '"x_dot = 0"'
    text = f'{own}coordinates = ["x", "y"]\nkinetic = "x_dot**2 + y_dot**2"\nconstraints = [{row}]'
    with pytest.raises(DalembertError, match="control character") as refused:
        loads(text)
    assert "\x1b" not in str(refused.value) and "\u202e" not in str(refused.value)


def test_the_name_of_a_robot_has_nothing_that_a_terminal_would_obey() -> None:
    """XML has no escape character, but the control sequence introducer of one byte."""
    text = """<robot name="a&#x9b;31m&#x202e;b"><link name="w"/><link name="arm"><inertial>
    <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="q" type="continuous"><parent link="w"/><child link="arm"/></joint></robot>"""
    assert loads(text).system.name == "a31mb"
