r"""Where the orbits of a system with one freedom begin and end: motions that leave its saddles and come back to them.

Near an equilibrium of M q_ddot + K q = 0 with K/M = -s^2 < 0 the motions that leave it do so along q_dot = s q. Followed from
there, an orbit of a conservative system keeps the energy of the saddle. It ends at a saddle of that energy, homoclinic where
it is the one it left and heteroclinic otherwise, or it leaves the region. For two hinged bodies the folded state is a saddle
with a homoclinic orbit (Bloch and others, Supplement, section 3.13).
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
#: An orbit has come back where it is nearer to a saddle than this many times the distance at which it began.
NEAR = 30.0
#: How often the time is doubled for an orbit that neither comes back nor leaves.
DOUBLINGS = 4


@dataclass(frozen=True)
class Separatrix:
    """An orbit that leaves a saddle.

    Attributes
    ----------
    saddle : Equilibrium
        Where it begins.
    motion : Motion
        From `departure` beside the saddle to the closest approach to the next one, or to the edge of the region.
    kind : "homoclinic", "heteroclinic" or "open"
        Whether it comes back, ends at another saddle, or at none in the region and the time that were looked at.
    arrives : bool
        Whether it was followed backwards: an open orbit that comes in from elsewhere.
    target : Equilibrium or None
        Where it ends.
    departure, distance : float
        From the saddle at the start, from the target at the end; the velocity is measured in units of the growth rate.
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


def one_freedom(system: System | Scenario, parameters: Values | None, within: Ranges | None) -> tuple[System, dict[str, float]]:
    """A conservative system with one coordinate, and the values of its parameters; a region may be of that coordinate only."""
    if not isinstance(system, System | Scenario):
        raise FormError(
            "A phase portrait needs a system with one coordinate",
            seen=type(system).__name__,
            remedy="take the cyclic coordinates out with da.symmetry.routh",
        )
    model, values, _ = read_model(system, parameters, None)
    moving = len(model.coordinates) != 1 or model.constraints
    if moving or model.forces or model.dissipation != 0:
        seen = ", ".join(q.name for q in model.coordinates)
        raise FormError(
            "A phase portrait needs a conservative system with one coordinate and no constraints",
            seen=seen if moving else f"forces on {seen}",
            remedy="take the cyclic coordinates out with da.symmetry.routh" if moving else "put the forces into the potential",
        )
    strange = [str(key) for key in within or {} if str(getattr(key, "name", key)) != model.coordinates[0].name]
    if strange:
        raise ModelError(
            "The region is one of the coordinate",
            seen=", ".join(strange),
            remedy=f"give within={{{model.coordinates[0]}: (...)}}",
        )
    missing = [symbol.name for symbol in model.parameters if symbol.name not in values]
    if missing:
        raise ModelError("Parameters have no value", seen=", ".join(missing), remedy="pass parameters={name: value}")
    return model, values


def separatrices(
    system: System | Scenario,
    parameters: Values | None = None,
    within: Ranges | None = None,
    *,
    departure: float = 1e-4,
    rtol: float = 1e-12,
) -> tuple[Separatrix, ...]:
    """The orbits that leave the saddles of a system with one coordinate, two for each, and those that arrive from elsewhere.

    Parameters
    ----------
    system : conservative System with one coordinate, or Scenario
        Such as `routh` leaves, or `PlanarBodies.reduced_system`.
    parameters : mapping of name to value
    within : mapping of the coordinate to (low, high)
        Not needed for an angle.
    departure : float
        How far from the saddle an orbit begins, on the line that is tangent to it. Its energy is off by the third power.
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
    stops = [] if round_about else [event(q - edge, terminal=True) for edge in next(iter((within or {}).values()))]
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
    return Separatrix(saddle, kept, kind, backwards, target, float(abs(departure) * np.sqrt(2)), distance, drift)


def _closest(
    motion: Motion, found: Equilibria, growth: float, place: float, departure: float, round_about: bool
) -> tuple[float, Equilibrium | None, float]:
    """When an orbit that has left its saddle is nearest to one, to which, and how near; None where it is near none."""
    times = np.linspace(float(motion.t[0]), float(motion.t[-1]), POINTS)
    x, v = motion.sol(times)
    left = np.flatnonzero(np.maximum(np.abs(x - place), np.abs(v) / growth) > 2 * NEAR * abs(departure))
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
