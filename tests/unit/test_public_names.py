"""The names of `import dalembert as da`: what stands at the top, what in namespaces, and where old
names lead.
"""

from __future__ import annotations

import subprocess
import sys
import types
import warnings

import pytest

import dalembert as da

SPACES = ("analysis", "control", "dirac", "lie", "plotting", "symmetry", "variational")
MOVED = [(name, space) for space, names in da._MOVED.items() for name in names.split()]


def test_the_top_holds_what_a_first_model_needs():
    assert 50 <= len(dir(da)) <= 63
    assert {
        "System",
        "coordinates",
        "velocity",
        "derive",
        "compare",
        "simulate",
        "Motion",
        "load",
        "gallery",
    } <= set(dir(da))
    assert set(SPACES) <= set(dir(da))


@pytest.mark.long
def test_namespaces_hold_functions_and_classes_also_where_a_module_has_their_name():
    code = (
        f"import types, dalembert as da; paths = [(s, n) for s in {SPACES!r} for n in"
        " dir(getattr(da, s))]; print([p for p in 2*paths if isinstance(getattr(getattr(da, p[0]),"
        " p[1]), types.ModuleType)], len(paths) > 100)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[] True"


def test_old_names_lead_to_their_new_place_with_a_warning():
    assert len(MOVED) == 83
    for name, space in MOVED:
        assert name not in dir(da) and name in dir(getattr(da, space))
        with pytest.warns(DeprecationWarning, match=rf"^da\.{name} is now da\.{space}\.{name};"):
            assert getattr(da, name) is getattr(getattr(da, space), name)


def test_a_name_that_became_something_else_still_works():
    x = da.coordinates("x")
    free = da.System([x], kinetic=x.dot**2 / 2)
    with pytest.warns(
        DeprecationWarning, match=r"^da\.simulate_many is now da\.simulate, with arrays"
    ):
        runs = da.simulate_many(free, {x: [1.0, 2.0]}, (0, 1), workers=1)
    assert runs.final["x"].tolist() == [1.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert (
            callable(da.plot_height)
            and callable(da.plot_balance)
            and isinstance(da.pictures, types.ModuleType)
        )


def test_old_names_of_attributes_still_work():
    x = da.coordinates("x")
    free = da.System([x], kinetic=x.dot**2 / 2)
    runs = da.simulate(free, {x: [1.0, 1e-12]}, (0, 1), workers=1)
    with pytest.warns(DeprecationWarning, match=r"^Ensemble\.remarked is now has_diagnostics;"):
        assert runs.remarked.tolist() == runs.has_diagnostics.tolist() == [False, True]
    with pytest.warns(DeprecationWarning, match=r"^Animation\.film is now frame_source;"):
        assert runs.motion(0).animate(fps=5, size=(64, 64)).film().count > 1


def test_what_was_never_there_is_no_attribute():
    with pytest.raises(AttributeError, match="simulte"):
        _ = da.simulte
    assert not hasattr(da, "_HOMES")


def test_namespaces_load_nothing_before_a_name_is_used():
    code = (
        f"import sys, dalembert as da; [getattr(da, s) for s in {SPACES!r}]; print('sympy' in"
        " sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "False"
