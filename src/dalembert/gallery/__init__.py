"""Every built-in system, one file each: ``load("rolling-disk")`` gives a `Scenario` to run.

>>> load("chaplygin-sleigh").system.coordinates
(x, y, theta)
"""

from __future__ import annotations

import importlib

from ..errors import ModelError, nearest
from ..model.scenario import Scenario

__all__ = ["built_in", "load", "names"]

#: By folder, in the order of the source documents: Udwadia, Gavin, Moreau and van der Schaft,
#: Rumyantsev, Bloch.
_NAMES = (
    "oscillators/spherical-pendulum",
    "particles/nonholonomic-particle",
    "particles/two-particles-incline",
    "oscillators/driven-double-pendulum",
    "oscillators/forced-oscillator",
    "oscillators/elastic-pendulum",
    "oscillators/elastic-pendulum-arc",
    "oscillators/elastic-pendulum-printed",
    "oscillators/elastic-pendulum-steered",
    "oscillators/elastic-pendulum-wall",
    "particles/linked-particles",
    "particles/linked-particles-zero-distance",
    "oscillators/bar-pendulum",
    "oscillators/lc-circuit",
    "wheels/appell",
    "wheels/appell-vakonomic",
    "particles/nonholonomic-particle-vakonomic",
    "wheels/rolling-disk",
    "wheels/rolling-disk-vakonomic",
    "particles/particle-in-potential",
    "particles/blow-up",
    "bodies/two-planar-bodies",
    "bodies/three-planar-bodies",
    "bodies/planar-chain",
    "particles/constrained-particle",
    "wheels/snakeboard",
    "wheels/snakeboard-gait",
    "wheels/bicycle",
    "wheels/knife-edge",
    "wheels/chaplygin-sleigh",
    "wheels/ball-on-rotating-plate",
    "wheels/unicycle-rider",
)
#: Mechanical systems with inputs and the laws that drive them.
_CONTROLLED = (
    "controlled/tracking-double-pendulum",
    "controlled/tracking-crane",
    "controlled/formation-satellites",
    "controlled/knife-edge-stabilised",
    "controlled/unicycle-balanced",
    "controlled/cart-pendulum",
    "controlled/cart-pendulum-matched",
    "controlled/furuta-matched",
)
#: First-order flows.
_FLOWS = (
    "flows/so-stabilisation",
    "flows/lorenz-on-sphere",
    "flows/adjoint-orbit",
    "flows/brockett-orbit",
    "flows/grassmannian",
    "flows/sphere-geodesic",
    "flows/rigid-body",
    "flows/rigid-body-four",
    "flows/symmetric-rigid-body",
    "flows/double-bracket",
    "flows/toda-lattice",
    "flows/full-toda",
)
#: Mechanisms of bodies and joints.
_MECHANISMS = (
    "wheels/whipple-bicycle",
    "wheels/spherical-robot",
    "wheels/ball-in-bowl",
    "wheels/coin-on-hills",
    "wheels/trailer-truck",
    "wheels/unicycle-of-bodies",
    "bodies/rssr-linkage",
    "bodies/bricard-six-bar",
    "bodies/stewart-platform",
    "bodies/four-bars",
)
_KINDS = {
    "all": (*_NAMES, *_CONTROLLED, *_FLOWS),
    "mechanical": _NAMES,
    "controlled": _CONTROLLED,
    "flows": _FLOWS,
    "mechanisms": _MECHANISMS,
}


def names(kind: str = "all") -> tuple[str, ...]:
    """The names that `load` accepts, each kind in the order of the source documents.

    Parameters
    ----------
    kind : str
        "all" for every system that is stated by its energies or rates, "mechanical" for systems
        without a law that drives them, "controlled" for those with one, "flows" for first-order
        Flows, or "mechanisms" for those of `dalembert.bodies`, which "all" leaves out.

    >>> "snakeboard" in names(), "snakeboard" in names("flows")
    (True, False)
    """
    if kind not in _KINDS:
        remedy = f"choose one of {', '.join(_KINDS)}"
        raise ModelError(f"There is no kind of system `{kind}`", seen=kind, remedy=remedy)
    return tuple(path.partition("/")[2] for path in _KINDS[kind])


def built_in() -> tuple[str, ...]:
    """Every name that `load` accepts, mechanisms included.

    >>> "whipple-bicycle" in built_in(), "whipple-bicycle" in names()
    (True, False)
    """
    return (*names(), *names("mechanisms"))


def path_of(name: str) -> str:
    """The file of a system within this folder.

    >>> path_of("rolling-disk")
    'wheels/rolling_disk.py'
    """
    (path,) = (path for path in (*_KINDS["all"], *_MECHANISMS) if path.endswith(f"/{name}"))
    return f"{path.replace('-', '_')}.py"


def load(name: str) -> Scenario:
    """The built-in system called `name`, with parameters, a start and a drawing.

    Only the file of that one system is imported.

    Raises
    ------
    ModelError
        Where there is no system of that name; the message names the nearest one.
    """
    every = built_in()
    if name not in every:
        similar = nearest(name.lower().replace("_", "-").replace(" ", "-"), every)
        known = f"choose one of {', '.join(every)}"
        remedy = f"did you mean `{similar}`?" if similar else known
        raise ModelError(f"The gallery has no system called `{name[:80]}`", remedy=remedy)
    module = path_of(name).removesuffix(".py").replace("/", ".")
    scenario: Scenario = importlib.import_module(f"{__name__}.{module}").scenario()
    return scenario
