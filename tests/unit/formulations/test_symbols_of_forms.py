"""Symbols that a form makes for itself are not those of the model: a parameter by another name
gives the same motion.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FormError
from dalembert.model.io.files import loads

MODEL = """
coordinates = ["x", "y", "z"]
kinetic = "m*(x_dot**2 + y_dot**2 + z_dot**2)/2"
potential = "9.81*z + STIFF*x**2/2"
constraints = ["z_dot - WIDE*y*x_dot = 0"]
[parameters]
m = 2.0
STIFF = 0.7
WIDE = 0.6
[outputs]
OUTPUT = "x + y"
[start]
x = 0.3
y = 0.4
x_dot = 0.5
y_dot = 0.25
[simulate]
t = [0, 0.2]
"""


def end(form: str, **names: str) -> np.ndarray:
    """The last state under names of parameters."""
    text = MODEL
    for role, plain in (("STIFF", "kappa"), ("WIDE", "width"), ("OUTPUT", "height")):
        text = text.replace(role, names.get(role, plain))
    motion = da.simulate(loads(text), form=form)
    return np.array([motion[name][-1] for name in ("x", "y", "z", "x_dot", "y_dot", "z_dot")])


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("implicit-hamiltonian", ("p_fibre_1", "p_fibre_2")),
        ("canonical-quasi", ("y_bound_1", "y_bound_2")),
    ],
)
def test_a_parameter_may_have_the_name_that_a_form_uses(form: str, names: tuple[str, str]) -> None:
    """The potential took the momentum in the place of the parameter, and the motion was another
    one.
    """
    expected = end(form)
    np.testing.assert_allclose(end(form, STIFF=names[0]), expected, rtol=1e-9)
    np.testing.assert_allclose(end(form, WIDE=names[0], STIFF=names[1]), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("form", "name"),
    [("vakonomic", "chi_c1"), ("pontryagin", "xi_x"), ("hamel-orthonormal", "eta_1")],
)
def test_shown_symbols_of_a_form_are_refused_as_outputs(form: str, name: str) -> None:
    """A motion has one column of a name: that of the output stood where the symbol of the form
    belongs.
    """
    with pytest.raises(FormError, match=f"needs the symbol `{name}`"):
        end(form, OUTPUT=name)


def test_a_coordinate_with_the_name_of_a_multiplier_is_refused() -> None:
    with pytest.raises(FormError, match="needs the symbol `chi_c1`"):
        da.derive(loads(MODEL.replace("y", "chi_c1")).system, "vakonomic")
