"""The measured differences of docs/bloch-systems.md, as its tests record them.

python scripts/bloch_table.py        # runs the tests, prints a line for each system
"""

from __future__ import annotations

import sys

import pytest

TESTS = (
    "tests/sources/test_bloch_systems.py",
    "tests/sources/test_bloch_systems_on_groups.py",
    "tests/unit/control/test_unactuated_shape.py",
    "tests/unit/control/test_fourier_loops.py",
)


class Figures:
    """A pytest plugin that keeps the largest figure recorded under each name."""

    def __init__(self) -> None:
        self.worst: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for name, value in report.user_properties:
                if isinstance(value, float):
                    self.worst[name] = max(value, self.worst.get(name, 0.0))


def main() -> int:
    """Run the tests and print the figures."""
    figures = Figures()
    code = int(pytest.main(["-q", "-m", "", *TESTS], plugins=[figures]))
    for name, value in figures.worst.items():
        print(f"| {name} | {value:.0e} |")
    return code


if __name__ == "__main__":
    sys.exit(main())
