"""The rolling disk of the variational problem of Lagrange, which differs where it tilts."""

from __future__ import annotations

from ...model.scenario import Scenario
from ..shared_parts import RUMYANTSEV
from . import rolling_disk


def scenario() -> Scenario:
    """The same start as the mechanical motion, with multipliers chosen at will."""
    mechanical = rolling_disk.scenario()
    return mechanical.replacing(
        system=mechanical.system.replacing(name="Rolling disk, vakonomic"),
        start={**mechanical.start, "chi_rolling_x": 0.4, "chi_rolling_y": -0.3},
        simulate={"span": (0.0, 0.6), "rtol": 1e-10, "form": "vakonomic"},
        source=f"{RUMYANTSEV}, example 4.2 (eq. 4.2), with the Lagrangian corrected",
        summary="The variational motion of a rolling disk, which no real disk follows.",
    )
