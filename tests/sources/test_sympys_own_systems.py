"""The systems in the tests of SymPy's mechanics, as they are installed with SymPy, have SymPy's own
accelerations here.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import pytest
from sympy.physics.mechanics import KanesMethod, LagrangesMethod

from dalembert.formulations.from_sympy.sympy_methods import from_sympy
from sympy_right_sides import AGREEMENT, largest_difference

#: The module and the test, and how many methods have formed their equations when the one that
#: counts has.
SYSTEMS = [
    ("test_kane", "test_two_dof", 1),
    ("test_kane", "test_pend", 1),
    ("test_kane", "test_rolling_disc", 1),
    ("test_kane", "test_aux", 1),
    ("test_kane", "test_aux", 2),
    ("test_kane", "test_parallel_axis", 1),
    ("test_kane", "test_implicit_kinematics", 1),
    ("test_kane2", "test_aux_dep", 1),
    ("test_kane2", "test_non_central_inertia", 2),
    ("test_kane2", "test_sub_qdot", 1),
    ("test_kane3", "test_bicycle", 1),
    ("test_kane4", "test_replace_qdots_in_force", 6),
    ("test_kane5", "test_kane_rolling_disc_lu", 1),
    ("test_linearize", "test_linearize_pendulum_kane_nonminimal", 1),
    ("test_linearize", "test_linearize_rolling_disc_kane", 1),
    ("test_jointsmethod", "test_chaos_pendulum", 1),
    ("test_jointsmethod", "test_four_bar_linkage_with_manual_constraints", 1),
    ("test_models", "test_n_link_pendulum_on_cart_higher_order", 1),
    ("test_models", "test_multi_mass_spring_damper_higher_order", 1),
    ("test_lagrange", "test_disc_on_an_incline_plane", 1),
    ("test_lagrange", "test_nonminimal_pendulum", 1),
    ("test_lagrange", "test_rolling_disc", 1),
    ("test_lagrange2", "test_lagrange_2forces", 1),
]
#: Of the class `TestSystemExamples`; these form Kane's and Lagrange's equations.
EXAMPLES = [
    ("test_cart_pendulum_kanes", 1),
    ("test_cart_pendulum_lagrange", 1),
    ("test_box_on_ground", 1),
]


class FormedError(Exception):
    """The method that was waited for has its equations."""


@pytest.fixture
def formed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs one of SymPy's tests until the equations of its nth method are formed, and returns that
    method.
    """
    found: list[Any] = []
    wanted = [0]

    def watch(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def form(self: Any, *arguments: Any, **options: Any) -> Any:
            result = original(self, *arguments, **options)
            found.append(self)
            if len(found) == wanted[0]:
                raise FormedError
            return result

        monkeypatch.setattr(owner, name, form)

    watch(KanesMethod, "kanes_equations")
    watch(LagrangesMethod, "form_lagranges_equations")

    def run(test: Any, number: int) -> Any:
        wanted[0] = number
        with pytest.raises(FormedError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            test()
        return found[-1]

    return run


def check(method: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of SymPy's own choice
        system = from_sympy(method)
    assert largest_difference(method, system) < AGREEMENT


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "test", "number"), SYSTEMS, ids=[f"{test}-{number}" for _, test, number in SYSTEMS]
)
def test_a_method(formed: Any, module: str, test: str, number: int):
    place = import_module(f"sympy.physics.mechanics.tests.{module}")
    check(formed(getattr(place, test), number))


@pytest.mark.long
@pytest.mark.parametrize(("test", "number"), EXAMPLES)
def test_a_system(formed: Any, test: str, number: int):
    from sympy.physics.mechanics.tests.test_system_class import TestSystemExamples

    check(formed(getattr(TestSystemExamples(), test), number))
