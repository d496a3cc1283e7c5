"""Settings of all tests: random examples are the same in every run, and no example is timed.

Linear algebra takes one thread: tests run side by side, and threads that wait for each other cost
more than they bring on matrices of this size. Printed text does not depend on the terminal, whose
width the workers of pytest-xdist have in COLUMNS.
"""

from __future__ import annotations

import os

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
