"""Settings of all tests: random examples are the same in every run, and no example is timed.

Linear algebra takes one thread: tests run side by side, and threads that wait for each other cost
more than they bring on matrices of this size. `long_tests.txt` lists tests that run with the long
ones because they take a second of processor time, or half a second where a faster case of the same
test stays: 3 % of the tests took 39 % of the time. Printed text does not depend on
the terminal, whose width the workers of pytest-xdist have in COLUMNS.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # read when NumPy is first imported
os.environ.pop("COLUMNS", None)

settings.register_profile(
    "reproducible",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("reproducible")

LONG = frozenset(
    (Path(__file__).parent / "long_tests.txt").read_text(encoding="utf-8").splitlines()
)


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the list as long."""
    for item in items:
        if item.nodeid in LONG:
            item.add_marker("long")
