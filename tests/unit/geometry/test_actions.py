"""Group actions: generators of maps, brackets, lifts, isotropy and regular points of momentum
maps.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError
from dalembert.geometry.actions import GroupAction, field_bracket
from dalembert.geometry.lie import LieGroup

x, y, theta = da.coordinates("x y theta")
a, b, s = sympy.symbols("a b s", real=True)
MOTION = {x: a + x * cos(s) - y * sin(s), y: b + x * sin(s) + y * cos(s), theta: theta + s}
q = da.coordinates("q1 q2 q3")
TURN = {f"e{k + 1}": list(sympy.eye(3)[:, k].cross(sympy.Matrix(q))) for k in range(3)}


def test_generators_of_a_map():
    action = GroupAction([x, y, theta], LieGroup.SE(2), MOTION, symbols=(a, b, s))
    assert list(action.field("e_th")) == [-y, x, 1]
    assert list(action.field([2, 0, 1])) == [2 - y, x, 1]
    assert action.bracket_certificate.holds and action.is_free and action.is_effective
    twist = field_bracket(action.field("e_th"), action.field("e_x"), action.coordinates)
    assert list(twist) == list(-action.field("e_y"))  # [e_th, e_x] = e_y


def test_a_system_brings_its_coordinates():
    sleigh = da.gallery.load("chaplygin-sleigh").system
    action = da.symmetry.GroupAction(sleigh, da.lie.LieGroup.SE(2), MOTION, symbols=(a, b, s))
    assert action.coordinates == sleigh.coordinates


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {x: a + x * cos(s) + y * sin(s), y: b - x * sin(s) + y * cos(s), theta: theta - s},
            "right action",
        ),
        ({y: 2 * b + x * sin(s) + y * cos(s)}, "do not obey the brackets"),
        (
            {x: (a + x) * cos(s) - y * sin(s), y: b + (a + x) * sin(s) + y * cos(s)},
            "no left action",
        ),
        ({x: a + x * cos(s) - y * sin(s) + a**2}, "no left action"),
        ({theta: theta + s + 1}, "leave `theta` where it is"),
        ({da.coordinates("w"): a}, "no coordinate of this space"),
    ],
    ids=["right", "scaled", "other order", "not a group", "identity", "unknown"],
)
def test_what_is_no_left_action_is_refused(changes, message):
    with pytest.raises(ModelError, match=message):
        GroupAction([x, y, theta], LieGroup.SE(2), MOTION | changes, symbols=(a, b, s))


def test_generators_are_checked():
    with pytest.raises(ModelError, match="named by the basis"):
        GroupAction(q, LieGroup.SO(3), generators={"e1": [0, 0, 0]})
    with pytest.raises(ModelError, match="right action"):
        GroupAction(
            q,
            LieGroup.SO(3),
            generators={name: [-entry for entry in field] for name, field in TURN.items()},
        )
    with pytest.raises(ModelError, match="one of map= and generators="):
        GroupAction(q, LieGroup.SO(3))
    with pytest.raises(ModelError, match="for each coordinate"):
        GroupAction(q, LieGroup.R(1), generators={"e_x": [1, 2]})
    still = GroupAction(q, LieGroup.R(2), generators=[[1, 0, 0], [2, 0, 0]])
    assert not still.is_effective and not still.is_free


def test_left_translations_are_generated_by_right_invariant_fields():
    angles = da.coordinates("alpha beta gamma")
    chart = LieGroup.SO(3).chart(angles, ("e3", "e1", "e3"))
    assert GroupAction(angles, LieGroup.SO(3), generators=chart.right_frame).is_free
    with pytest.raises(ModelError, match="right action"):
        GroupAction(angles, LieGroup.SO(3), generators=chart.left_frame)


def test_lifts_move_momenta_so_that_p_dot_v_is_invariant():
    action = GroupAction(q, LieGroup.SO(3), generators=TURN)
    v, p = [c.dot for c in q], [c.momentum for c in q]
    pairing = sum(i * j for i, j in zip(v, p, strict=True))
    for k in range(3):
        moved = sum(
            sympy.diff(pairing, symbol) * rate
            for symbol, rate in zip(v, action.tangent_lift[3:, k], strict=True)
        )
        moved += sum(
            sympy.diff(pairing, symbol) * rate
            for symbol, rate in zip(p, action.cotangent_lift[3:, k], strict=True)
        )
        assert sympy.expand(moved) == 0


def test_the_momentum_map_is_equivariant():
    """{J_a, J_b} = C^c_ab J_c for the cotangent lift of a left action."""
    action = GroupAction([x, y, theta], LieGroup.SE(2), MOTION, symbols=(a, b, s))
    symbols, momenta = action.coordinates, [c.momentum for c in action.coordinates]
    J = action.momentum_map
    for i in range(3):
        for j in range(3):
            bracket = sum(
                sympy.diff(J[i], c) * sympy.diff(J[j], p)
                - sympy.diff(J[i], p) * sympy.diff(J[j], c)
                for c, p in zip(symbols, momenta, strict=True)
            )
            image = sum(float(action.algebra.constants[i, j, k]) * J[k] for k in range(3))
            assert sympy.simplify(bracket - sympy.nsimplify(image)) == 0


@pytest.mark.parametrize(
    ("place", "momentum", "rank"),
    [
        ((1, 2, 3), (0, 1, 0), 3),
        ((1, 2, 3), (2, 4, 6), 2),
        ((1, 2, 3), (0, 0, 0), 2),
        ((0, 0, 0), (0, 0, 0), 0),
    ],
    ids=["generic", "parallel", "at rest", "origin"],
)
def test_rank_of_the_angular_momentum_is_the_codimension_of_isotropy(place, momentum, rank):
    """Bloch, Supplement 3.7.8: rank DJ(z) = dim g - dim g_z."""
    action = GroupAction(q, LieGroup.SO(3), generators=TURN)
    point = dict(zip([*q, *(c.momentum for c in q)], [*place, *momentum], strict=True))
    derivative = np.array(action.momentum_map.jacobian(list(point)).subs(point), dtype=float)
    assert np.linalg.matrix_rank(derivative) == rank == 3 - action.isotropy(point).shape[1]
    assert action.is_free_at(point) == (rank == 3)
    for xi in action.isotropy(point).T:  # it does leave the point where it is
        still = np.array((action.cotangent_lift * sympy.Matrix(xi)).subs(point), dtype=float)
        assert np.allclose(still, 0, atol=1e-12)


def test_regular_configurations():
    action = GroupAction(q, LieGroup.SO(3), generators=TURN)
    assert action.orbit_dimension == 2 and not action.is_free
    assert action.is_regular({"q1": 1.0, "q2": 0.0, "q3": 0.0})
    assert not action.is_regular({"q1": 0.0, "q2": 0.0, "q3": 0.0})
    with pytest.raises(ModelError, match="no value of q3"):
        action.isotropy({"q1": 1.0, "q2": 0.0})


@pytest.mark.parametrize(
    ("factor", "message"),
    [(1 + sympy.Max(x - 50, 0), "not"), (1 + sympy.Float(1e-12) * x, "do not obey")],
    ids=["beyond samples", "small coefficient"],
)
def test_brackets_that_samples_do_not_show_are_refused(factor: sympy.Expr, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        GroupAction([x, y], LieGroup.R(2), generators={"e_x": {x: 1}, "e_y": {y: factor}})


def test_orbits_have_the_same_dimension_in_any_units() -> None:
    small = sympy.Float(1e-13)
    action = GroupAction([x, y], LieGroup.R(2), generators={"e_x": {x: 1}, "e_y": {y: small}})
    assert action.orbit_dimension == 2 and action.is_free and action.is_effective
