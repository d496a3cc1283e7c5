r"""Separatrices of a system with one degree of freedom: orbits from saddle to saddle.

Near an equilibrium of M q_ddot + K q = 0 with K/M = -s^2 < 0 the motions that leave it do so along
q_dot = s q. Followed from there, an orbit of a conservative system keeps the energy of the saddle.
It ends at a saddle of that energy, homoclinic where it is the one it left and heteroclinic
otherwise, or it leaves the region. For two hinged bodies the folded state is a saddle with a
homoclinic orbit (Bloch and others, Supplement, section 3.13).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...errors import FormError, ModelError
from ...integrate.events.events import event
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.scenario import Scenario
from ...model.system import System
from ...typing import Ranges, Values
from ..anatomy import read_model
from ..proofs.zeros import full_turns
from .equilibria import Equilibria, Equilibrium, equilibria

__all__ = ["Separatrix", "one_freedom", "separatrices"]

TURN = 2 * np.pi
#: Points along the dense output among which the closest approach is looked for.
POINTS = 4001
#: An orbit has returned if it is nearer to a saddle than this many times its initial distance.
NEAR = 30.0
#: How often the time is doubled for an orbit that neither returns nor leaves.
DOUBLINGS = 4


@dataclass(frozen=True)
class Separatrix:
    """An orbit that leaves a saddle.

    Attributes
    ----------
    saddle : Equilibrium
        Where it begins.
    motion : Motion
        From `departure` beside the saddle to the closest approach to the next, or to the edge.
    kind : "homoclinic", "heteroclinic" or "open"
        Whether it returns, ends at another saddle, or at none within the region and the time.
    arrives : bool
        Whether it was followed backwards: an open orbit that comes in from elsewhere.
    target : Equilibrium or None
        Where it ends.
    departure, distance : float
        From the saddle and from the target; velocities in units of the growth rate.
    energy_drift : float
        The largest difference from the energy of the saddle.
    """

    saddle: Equilibrium = field(repr=False)
    motion: Motion = field(repr=False)
    kind: str
    arrives: bool
    target: Equilibrium | None = field(repr=False)
    departure: float
    distance: float
    energy_drift: float


def one_freedom(
    system: System | Scenario, parameters: Values | None, within: Ranges | None
) -> tuple[System, dict[str, float]]:
    """A conservative system with one coordinate, and its parameter values; checks the region."""
    routh = "take the cyclic coordinates out with da.symmetry.routh"
    if not isinstance(system, System | Scenario):
        what = "A phase portrait needs a system with one coordinate"
        raise FormError(what, seen=type(system).__name__, remedy=routh)
    model, values, _ = read_model(system, parameters, None)
    moving = len(model.coordinates) != 1 or model.constraints
    if moving or model.forces or model.dissipation != 0:
        seen = ", ".join(q.name for q in model.coordinates)
        raise FormError(
            "A phase portrait needs a conservative system with one coordinate and no constraints",
            seen=seen if moving else f"forces on {seen}",
            remedy=routh if moving else "put the forces into the potential",
        )
    names = [str(getattr(key, "name", key)) for key in within or {}]
    strange = [name for name in names if name != model.coordinates[0].name]
    if strange:
        remedy = f"give within={{{model.coordinates[0]}: (...)}}"
        raise ModelError("The region is one of the coordinate", ", ".join(strange), remedy)
    missing = [symbol.name for symbol in model.parameters if symbol.name not in values]
    if missing:
        remedy = "pass parameters={name: value}"
        raise ModelError("Parameters have no value", ", ".join(missing), remedy)
    return model, values


def separatrices(
    system: System | Scenario,
    parameters: Values | None = None,
    within: Ranges | None = None,
    *,
    departure: float = 1e-4,
    rtol: float = 1e-12,
) -> tuple[Separatrix, ...]:
    """The orbits that leave or reach the saddles of a system with one coordinate.

    Parameters
    ----------
    system : conservative System with one coordinate, or Scenario
        Such as `routh` leaves, or `PlanarBodies.reduced_system`.
    parameters : mapping of name to value
    within : mapping of the coordinate to (low, high)
        Not needed for an angle.
    departure : float
        The initial distance from the saddle, on the tangent line; the energy error is cubic in it.
    rtol : float
        Of the motions.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos
    >>> q = da.coordinates("q")
    >>> pendulum = da.System([q], kinetic=q.dot**2/2, potential=-cos(q))
    >>> [(orbit.kind, orbit.energy_drift < 1e-10) for orbit in separatrices(pendulum)]
    [('homoclinic', True), ('homoclinic', True)]
    """
    model, numbers = one_freedom(system, parameters, within)
    found = equilibria(model, numbers, within)
    saddles = [e for e in found.found if e.growth_rate]
    every = [
        _followed(model, numbers, found, saddle, side * departure, within, rtol, backwards)
        for saddle in saddles
        for backwards in (False, True)
        for side in (1.0, -1.0)
    ]
    return tuple(orbit for orbit in every if orbit.kind == "open" or not orbit.arrives)


def _followed(
    model: System,
    numbers: Mapping[str, float],
    found: Equilibria,
    saddle: Equilibrium,
    departure: float,
    within: Ranges | None,
    rtol: float,
    backwards: bool,
) -> Separatrix:
    (q,) = model.coordinates
    way = -1.0 if backwards else 1.0
    growth, place = saddle.growth_rate, saddle.point[q.name]
    round_about = full_turns([model.energy_function], q) and not within
    edges = () if round_about else next(iter((within or {}).values()))
    stops = [event(q - edge, terminal=True) for edge in edges]
    start = {q.name: place + departure, q.dot.name: way * growth * departure}
    span = way * 3 * np.log(1 / abs(departure)) / growth
    for _ in range(DOUBLINGS):
        motion = simulate(model, start, (0, span), parameters=numbers, rtol=rtol, events=stops)
        time, target, distance = _closest(motion, found, growth, place, departure, round_about)
        if target is not None or motion.status == 1:
            break
        span *= 2
    end = time if target is not None else float(motion.t[-1])
    kept = simulate(model, start, (0, end), parameters=numbers, rtol=rtol)
    still = simulate(model, {q.name: place, q.dot.name: 0.0}, (0, 0), parameters=numbers)
    drift = float(np.max(np.abs(kept.energy - still.energy[0])))
    kind = "open" if target is None else "homoclinic" if target is saddle else "heteroclinic"
    begins = float(abs(departure) * np.sqrt(2))
    return Separatrix(saddle, kept, kind, backwards, target, begins, distance, drift)


def _closest(
    motion: Motion,
    found: Equilibria,
    growth: float,
    place: float,
    departure: float,
    round_about: bool,
) -> tuple[float, Equilibrium | None, float]:
    """When, to which saddle and how near an orbit comes after leaving its own; None if never."""
    times = np.linspace(float(motion.t[0]), float(motion.t[-1]), POINTS)
    x, v = motion.sol(times)
    away = np.maximum(np.abs(x - place), np.abs(v) / growth)
    left = np.flatnonzero(away > 2 * NEAR * abs(departure))
    best: tuple[float, Equilibrium | None, float] = (float(times[-1]), None, np.inf)
    if not len(left):
        return best
    after = slice(int(left[0]), None)
    for saddle in found.found:
        if not saddle.growth_rate:
            continue
        gap = x[after] - next(iter(saddle.point.values()))
        gap = (gap + np.pi) % TURN - np.pi if round_about else gap
        away = np.hypot(gap, v[after] / growth)
        nearest = int(np.argmin(away))
        if away[nearest] < min(best[2], NEAR * abs(departure)):
            best = float(times[after][nearest]), saddle, float(away[nearest])
    return best
