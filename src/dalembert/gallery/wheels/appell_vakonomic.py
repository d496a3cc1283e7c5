"""Appell's particle, moved by the variational problem of Lagrange.

The vakonomic motion is the mechanical one for every start of the multiplier but chi = m w0 / a,
where the heading is not determined.
"""

from __future__ import annotations

from ...model.scenario import Scenario
from ..shared_parts import RUMYANTSEV
from . import appell


def scenario() -> Scenario:
    """The same start as the mechanical motion, with a multiplier chosen at will."""
    mechanical = appell.scenario()
    return mechanical.replacing(
        system=mechanical.system.replacing(name="Appell's particle, vakonomic"),
        start={**mechanical.start, "chi_slope": 0.7},
        simulate={**mechanical.simulate, "form": "vakonomic"},
        source=f"{RUMYANTSEV}, example 4.1 (eq. 4.2)",
        summary="A nonlinear constraint whose variational and mechanical motions coincide.",
    )
