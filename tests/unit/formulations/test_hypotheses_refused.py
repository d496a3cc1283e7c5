"""Which forms refuse a constraint because of its kind, and that the sentence says which hypothesis
fails.
"""

from __future__ import annotations

import pytest

import dalembert as da
from dalembert.formulations.registry import applicability

x, y, z = da.coordinates("x y z")
IMAGES = ("implicit-lagrangian", "implicit-hamiltonian")
HOMOGENEOUS = dict.fromkeys(
    ("chaplygin", "constrained-lagrangian", *IMAGES), "linear and homogeneous"
)
CASES = {
    "linear": (y.dot - z * x.dot, {}),
    "affine": (y.dot - z * x.dot - 1, HOMOGENEOUS),
    "affine by a place": (y.dot - z * x.dot - x, HOMOGENEOUS),
    "of time": (
        y.dot - da.t * x.dot,
        {"chaplygin": "depend on time", "constrained-lagrangian": "without time"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_constraint_is_refused_by_the_forms_that_need_another_kind(case: str) -> None:
    """The equations of these forms leave out what such a constraint adds: they would be wrong
    without a word.
    """
    row, expected = CASES[case]
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    found = applicability(
        da.System([x, y, z], kinetic=kinetic, constraints=[da.velocity(row, name="row")])
    )
    refused = {
        form: str(why) for form, why in found.items() if why is not None and form != "elimination"
    }
    assert refused.keys() == expected.keys()
    for form, part in expected.items():
        assert part in refused[form]


def test_a_flow_has_no_speeds_in_sympys_symbols() -> None:
    equations = da.derive(da.Flow({x: y, y: -x})).to_sympy()
    assert (equations.q.shape, equations.u.shape) == ((2, 1), (0, 1))
