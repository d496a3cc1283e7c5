"""At the edges of what numbers can do, a motion is right within its tolerance, or it is refused, or
it says what is wrong.

The grid: masses in ratio up to 1e20 and charts near their poles, constraints at angles from 1 to
1e-16, stiffness up to 1e12, lengths, times and masses in units from 1e-12 to 1e12, denormal numbers
and what is no number, events at one instant, at the start and at the end, spans of nothing, times
far from zero, backwards, and contacts that chatter, rest and close together. Each case has an
independent implementation: a closed form, another chart, the same motion in other units, or 60
digits.
"""

from __future__ import annotations

import time
from types import ModuleType

import numpy as np

from . import edge_instants, edge_numerics, edge_units
from .edge_cases import Tally
from .harness import Options, Report

#: The grids, in the order in which they are run.
GRIDS: tuple[ModuleType, ...] = (edge_numerics, edge_units, edge_instants)


def run(options: Options, report: Report) -> None:
    """The whole grid once, about a minute; then nearly dependent rows, drawn at random, for the
    time that is left.
    """
    tally, random, deadline = Tally(report), np.random.default_rng(options.seed), options.deadline
    for grid in GRIDS:
        for name in grid.groups(tally, random):
            report.figure("last group of cases", name)
    while time.monotonic() < deadline and not options.quick:
        edge_numerics.dependent_rows(tally, random)
    tally.figures()
