"""Forces that depend on reactions or accelerations are refused: their symbols never become
parameters.
"""

from __future__ import annotations

import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.io.files import loads

x, y = da.coordinates("x y")
g, k = da.parameters("g k", positive=True)
u = da.inputs("u")
HOOP = da.holonomic(x**2 + y**2 - 1, name="hoop")
REFUSED = "forces may not depend on accelerations or reactions"

FILE = """
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "g*y"
constraints = [{{expression = "x**2 + y**2 = 1", name = "hoop"}}, "x + y <= 9"]
[forces]
x = "-k*{force}"
[inputs]
u = "{drive}"
[outputs]
a = "{output}"
[parameters]
g = 9.81
k = 0.1
{declared}
"""


def stated(**more: object) -> da.System:
    walls = [HOOP, da.unilateral(-y - 2, name="floor"), da.velocity(x.dot * x + y.dot * y)]
    return da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=g * y, constraints=walls, **more
    )


@pytest.mark.parametrize(
    "symbol",
    [
        sympy.Symbol("mu_hoop"),
        da.parameters("mu_hoop", positive=True),
        sympy.Symbol("lambda_hoop"),
        sympy.Symbol("mu_floor"),
        sympy.Symbol("mu_c3"),
        sympy.Symbol("x_ddot"),
        x.ddot,
    ],
)
def test_no_expression_contains_what_is_solved_for(symbol: sympy.Symbol) -> None:
    """`mu_hoop` in a force was a parameter, which a run then asked a value for."""
    term = -k * abs(symbol) * x.dot
    for more in (
        {"forces": {x: term}},
        {"dissipation": k * symbol * x.dot**2},
        {"outputs": {"a": term}},
        {"forces": {x: u}, "inputs": {u: term}},
        {"drawing": [da.draw.circle((x, y), symbol)]},
    ):
        with pytest.raises(ModelError, match=f"{REFUSED}|The drawing contains") as caught:
            stated(**more)
        assert symbol.name in caught.value.what and caught.value.seen and caught.value.remedy
    pushed = stated(forces={x: u}, inputs=[u])
    with pytest.raises(ModelError, match=REFUSED):
        pushed.driven({u: term})
    with pytest.raises(ModelError, match=REFUSED):
        da.simulate(
            pushed, {x: 1.0}, (0, 1), parameters={g: 1, k: 1, symbol.name: 1}, inputs={u: term}
        )


def test_an_input_or_a_speed_cannot_have_such_a_name() -> None:
    push = da.inputs("mu_hoop")
    with pytest.raises(ModelError, match=REFUSED):
        stated(forces={x: push}, inputs=[push])


def test_the_work_of_a_constraint_does_not_depend_on_its_own_reaction() -> None:
    rough = da.holonomic(y, name="plane", work={x: -k * sympy.Symbol("mu_plane")})
    with pytest.raises(ModelError, match="the multiplier of the constraint `plane`"):
        da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[rough])


def test_dynamic_symbols_and_flows_and_parts() -> None:
    q, time = dynamicsymbols("q"), dynamicsymbols._t
    with pytest.raises(ModelError, match=REFUSED):
        da.System([q], kinetic=q.diff(time) ** 2 / 2, forces={q: -k * q.diff(time, 2)})
    with pytest.raises(ModelError, match=REFUSED):
        da.Flow({x: -sympy.Symbol("x_ddot")})
    for symbol in (x.ddot, da.parameters("mu_rail")):
        with pytest.raises(ModelError, match=REFUSED):
            da.repeat(
                20, [x, y], kinetic=(x.dot**2 + y.dot**2) / 2,
                constraints=[da.holonomic(y, name="rail")],
                forces={x: -k * symbol},
            )  # fmt: skip


@pytest.mark.parametrize("where", ["force", "drive", "output"])
@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("mu_hoop", False),
        ("mu_hoop", True),
        ("lambda_hoop", True),
        ("mu_c2", False),
        ("x_ddot", False),
    ],
)
def test_a_model_file_refuses_them_too(where: str, name: str, declared: bool) -> None:
    words = {
        "force": "x",
        "drive": "x",
        "output": "x",
        "declared": f"{name} = 1.0" if declared else "",
    }
    assert loads(FILE.format(**(words | {"declared": ""}))).system.parameters
    with pytest.raises(ModelError, match=REFUSED):
        loads(FILE.format(**(words | {where: name})))


def test_an_unknown_name_does_not_suggest_them() -> None:
    with pytest.raises(ModelError) as caught:
        loads(FILE.format(force="mu_hoops", drive="x_ddott", output="x", declared=""))
    assert "`mu_hoop`" not in str(caught.value) and "`x_ddot`" not in str(caught.value)


def test_other_names_stay_parameters() -> None:
    """A constraint of the same name makes them multipliers, nothing else does."""
    free = da.System([x], kinetic=x.dot**2 / 2, forces={x: -sympy.Symbol("mu_hoop") * x.dot})
    assert [p.name for p in free.parameters] == ["mu_hoop"]
