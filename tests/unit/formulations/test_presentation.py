"""What is written is what is computed: lines with their names put back against the kernel's blocks,
in every form.
"""

from __future__ import annotations

import pytest
import sympy

import dalembert as da
from core_systems import BASIC_FORMS, equations_of, every_form, parameter_numbers
from dalembert.presentation.naming import Naming
from printed_lines import compared

#: The systems whose forms are all written out in a quick run; the others only in some.
QUICK = (
    "snakeboard",
    "nonholonomic-particle",
    "spherical-pendulum",
    "appell",
)
QUICK_FORMS = BASIC_FORMS
#: Systems whose equations take seconds to write out.
LARGE = (
    "planar-chain",
    "three-planar-bodies",
    "unicycle-rider",
    "rolling-disk",
    "rolling-disk-vakonomic",
)
#: Pairs whose expressions take seconds to write.
HEAVY = {
    ("driven-double-pendulum", "implicit-lagrangian"),
    ("driven-double-pendulum", "voronets"),
    ("driven-double-pendulum", "hamilton"),
    ("spherical-pendulum", "constrained-lagrangian"),
    ("snakeboard", "canonical-quasi"),
    ("snakeboard", "pontryagin"),
    ("snakeboard", "hamel-orthonormal"),
}


def is_quick(name: str, form: str) -> bool:
    return (name, form) not in HEAVY and (
        name in QUICK or (form in QUICK_FORMS and name not in LARGE)
    )


PAIRS = [
    pytest.param(name, form, marks=[] if is_quick(name, form) else [pytest.mark.long])
    for name, form in every_form()
]


@pytest.mark.parametrize(("name", "form"), PAIRS)
def test_what_is_written_is_what_is_computed(name: str, form: str) -> None:
    equations = equations_of(name, form)
    compared(equations, equations.written(), parameter_numbers(name, equations.system))


def test_the_symbol_of_a_name_says_what_it_depends_on() -> None:
    """Constants, functions of the configuration, of the state, and denominators have symbols of
    their own.
    """
    x, y = da.coordinates("x y")
    m, g, r = da.parameters("m g r", positive=True)
    equations = da.derive(
        da.System([x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=g * r * y)
    )
    constant, place = m * g + r**2 + g**2 * r, m * sympy.sin(x) + r * sympy.cos(y)
    state, below = x.dot * y + m * y.dot * sympy.sin(x), m + r * sympy.sin(x) ** 2 * sympy.cos(y)
    parts = [
        constant * x + state / below,
        constant * y,
        place * x.dot,
        place * y.dot,
        state * r,
        place**2 * g + 1 / below,
    ]
    parts += [constant * place * state / below, 1 / x]
    naming = Naming(equations, [[part] for part in parts])
    names = dict(naming.names())
    assert {meaning: symbol.name for symbol, meaning in names.items()} == {
        constant: "k",
        place: "S",
        state: "W",
        below: "D",
    }
    for part, (line,) in zip(parts, naming.lines(), strict=True):
        assert sympy.expand(line.xreplace(names) - part) == 0
