"""Every built-in system, one file each: ``load("rolling-disk")`` gives a `Scenario` that is ready to run.

>>> load("chaplygin-sleigh").system.coordinates
(x, y, theta)
"""

from __future__ import annotations

import importlib

from ..errors import ModelError, nearest
from ..model.scenario import Scenario

__all__ = ["load", "names"]

#: In the order of the source documents: Udwadia, Gavin, Moreau and van der Schaft, Rumyantsev, Bloch.
_NAMES = (
    "spherical-pendulum",
    "nonholonomic-particle",
    "two-particles-incline",
    "driven-double-pendulum",
    "forced-oscillator",
    "elastic-pendulum",
    "elastic-pendulum-arc",
    "elastic-pendulum-printed",
    "elastic-pendulum-steered",
    "elastic-pendulum-wall",
    "linked-particles",
    "linked-particles-zero-distance",
    "bar-pendulum",
    "lc-circuit",
    "appell",
    "appell-vakonomic",
    "nonholonomic-particle-vakonomic",
    "rolling-disk",
    "rolling-disk-vakonomic",
    "particle-in-potential",
    "blow-up",
    "two-planar-bodies",
    "three-planar-bodies",
    "planar-chain",
    "constrained-particle",
    "snakeboard",
    "snakeboard-gait",
    "bicycle",
    "knife-edge",
    "chaplygin-sleigh",
    "ball-on-rotating-plate",
    "unicycle-rider",
)
#: Mechanical systems with inputs and the laws that drive them.
_CONTROLLED = (
    "tracking-double-pendulum",
    "tracking-crane",
    "formation-satellites",
    "knife-edge-stabilised",
    "unicycle-balanced",
    "cart-pendulum",
    "cart-pendulum-matched",
    "furuta-matched",
)
#: First-order flows.
_FLOWS = (
    "so-stabilisation",
    "lorenz-on-sphere",
    "adjoint-orbit",
    "brockett-orbit",
    "grassmannian",
    "sphere-geodesic",
    "rigid-body",
    "rigid-body-four",
    "symmetric-rigid-body",
    "double-bracket",
    "toda-lattice",
    "full-toda",
)
_KINDS = {
    "all": (*_NAMES, *_CONTROLLED, *_FLOWS),
    "mechanical": _NAMES,
    "controlled": _CONTROLLED,
    "flows": _FLOWS,
}


def names(kind: str = "all") -> tuple[str, ...]:
    """The names that `load` accepts, each kind in the order of the source documents.

    Parameters
    ----------
    kind : str
        "all", or "mechanical" for systems as nature made them, "controlled" for those with a law that drives them, or "flows"
        for first-order Flows.

    >>> "snakeboard" in names(), "snakeboard" in names("flows")
    (True, False)
    """
    if kind not in _KINDS:
        raise ModelError(f"There is no kind of system `{kind}`", seen=kind, remedy=f"choose one of {', '.join(_KINDS)}")
    return _KINDS[kind]


def load(name: str) -> Scenario:
    """The built-in system called `name`, with parameters, a start and a drawing.

    Only the file of that one system is imported.

    Raises
    ------
    ModelError
        Where there is no system of that name; the message names the nearest one.
    """
    if name not in names():
        similar = nearest(name.lower().replace("_", "-").replace(" ", "-"), names())
        raise ModelError(
            f"The gallery has no system called `{name[:80]}`",
            remedy=f"did you mean `{similar}`?" if similar else f"choose one of {', '.join(names())}",
        )
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    scenario: Scenario = module.scenario()
    return scenario
