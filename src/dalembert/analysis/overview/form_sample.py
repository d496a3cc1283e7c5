"""Accelerations, reactions and their power in one form, at states and along a motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import DalembertError, FormError
from ...formulations.equations import Equations
from ...integrate.simulate import simulate
from ...integrate.state_symbols import state_with_velocities
from ...runtime.context import Context
from ...runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ...runtime.kernel import Kernel, has_kernel, kernel_of
from ...typing import Array, BoolArray
from ..anatomy import Anatomy

__all__ = ["Evidence", "along_motion", "at_states"]

#: A quantity smaller than this part of its largest value is measured against that.
FLOOR = 1e-3
#: The tolerance of the motions, and how many of their points are compared.
RTOL, POINTS = 1e-12, 5


@dataclass(frozen=True)
class Evidence:
    """Quantities at some places, as one form gives them.

    Attributes
    ----------
    quantities : mapping of name to array (places, k)
    scales : mapping of name to array (places,)
        What a difference is measured against.
    valid : array of bool (places,)
        Where the form determines the motion.
    places : list of str
    """

    quantities: Mapping[str, Array]
    scales: Mapping[str, Array]
    valid: BoolArray
    places: list[str]

    @property
    def is_usable(self) -> bool:
        """Whether the form determines the motion anywhere."""
        return bool(np.any(self.valid))


def at_states(anatomy: Anatomy, equations: Equations, start: Mapping[str, Any]) -> Evidence:
    """The evidence of a form at the samples."""
    samples = anatomy.motion
    complaint: DalembertError | None = None
    quantities: dict[str, Array] = {}
    valid = np.zeros(len(samples), dtype=bool)
    near = [_near(anatomy, equations, place) for place in range(len(samples))]
    for chosen in {id(each): each for each in near}.values():
        own = [place for place, each in enumerate(near) if each is chosen]
        context = Context(_kernel(anatomy, equations, chosen), samples.parameters)
        states = np.full((len(own), context.kernel.n_state), np.nan)
        for k, place in enumerate(own):
            try:
                states[k] = _state(anatomy, context, place, start)
            except DalembertError as error:
                complaint = error
        known = np.all(np.isfinite(states), axis=1)
        here = np.where(known[:, None], states, 0.0)
        observed, statuses = context.observe(
            np.ascontiguousarray(samples.times[own]), here, np.zeros((len(own), 0))
        )
        determined = ~np.isin(statuses, (SINGULAR, CONTRADICTORY))
        valid[own] = known & determined & np.all(np.isfinite(observed), axis=1)
        for key, values in _quantities(context.kernel, observed).items():
            quantities.setdefault(key, np.zeros((len(samples), values.shape[1])))[own] = values
    if complaint is not None and not np.any(valid):
        raise complaint
    velocities = samples.velocities
    places = [f"state {place + 1}" for place in range(len(samples))]
    return Evidence(quantities, _scales(anatomy, quantities, velocities, valid), valid, places)


def _kernel(anatomy: Anatomy, equations: Equations, chosen: Equations) -> Kernel:
    """The kernel that runs the form; for another choice of velocities, one for a few states."""
    parameters, algebra = anatomy.system.parameters, anatomy.kernel.algebra
    if chosen is equations or has_kernel(chosen, parameters):
        return kernel_of(chosen, parameters, algebra)
    return Kernel(chosen, parameters=parameters, algebra=algebra, shorten=False)


def _near(anatomy: Anatomy, equations: Equations, place: int) -> Equations:
    """The form with its independent velocities chosen well for one sample."""
    if equations.rechoose is None:
        return equations
    samples = anatomy.motion
    parameters = zip(samples.kernel.parameters, samples.parameters, strict=True)
    values = _named(anatomy, place) | {"t": float(samples.times[place])}
    values |= {symbol.name: float(value) for symbol, value in parameters}
    try:
        return equations.rechoose(values)
    except FormError:  # no other choice: that of the start serves
        return equations


def _state(anatomy: Anatomy, context: Context, place: int, start: Mapping[str, Any]) -> Any:
    """One sample in the symbols of another form."""
    kernel: Kernel = context.kernel
    samples = anatomy.motion
    if kernel.equations.form == samples.kernel.equations.form:
        return samples.states[place]
    values = _named(anatomy, place) | _costates(kernel.equations, start, place)
    symbols = [symbol.name for symbol in kernel.equations.state]
    if all(name in values for name in symbols):
        return np.array([values[name] for name in symbols])
    time, q, v = float(samples.times[place]), samples.coordinates[place], samples.velocities[place]
    return state_with_velocities(kernel, time, q, v, samples.parameters)


def _named(anatomy: Anatomy, place: int) -> dict[str, float]:
    """Coordinates, velocities and momenta of a sample by name."""
    samples, system = anatomy.motion, anatomy.system
    symbols = (*system.coordinates, *system.velocities, *system.momenta)
    parts = (samples.coordinates, samples.velocities, samples.momenta)
    values = np.concatenate([table[place] for table in parts])
    return {s.name: float(value) for s, value in zip(symbols, values, strict=True)}


def _costates(equations: Equations, start: Mapping[str, Any], place: int) -> dict[str, float]:
    """Multipliers that are part of the state: as given, or arbitrary numbers that are not zero."""
    symbols = [s.name for s in equations.state if s.name.startswith("chi_")]
    arbitrary = {name: 0.1 + 0.07 * ((3 * place + 5 * k) % 7) for k, name in enumerate(symbols)}
    return {name: float(start.get(name, value)) for name, value in arbitrary.items()}


def _quantities(kernel: Kernel, observed: Array) -> dict[str, Array]:
    """Accelerations, total reaction and its power at places, from the observed columns."""
    where = kernel.observed
    found = {"accelerations": observed[:, where["accelerations"]]}
    reactions = {
        key.removeprefix("reaction "): at for key, at in where.items() if "reaction " in key
    }
    if reactions:
        # a large system lists the entries of a reaction that are not zero everywhere
        listed = kernel.large.reaction_places if kernel.large is not None else {}
        total = np.zeros((len(observed), kernel.n_coordinates))
        for name, place in reactions.items():
            total[:, listed.get(name, slice(None))] += observed[:, place]
        found["reaction"] = total
        found["power"] = np.sum(total * observed[:, where["velocities"]], axis=1, keepdims=True)
    return found


def _scales(
    anatomy: Anatomy, quantities: Mapping[str, Array], velocities: Array, valid: BoolArray
) -> dict[str, Array]:
    """Scales for differences: the quantity itself, its terms, a part of its largest value."""
    speed = np.max(np.abs(velocities), axis=1)
    push = np.max(np.abs(anatomy.impulse_rates))
    pull = _with_floor(np.max(np.abs(quantities["accelerations"]), axis=1), valid)
    scales = {"accelerations": pull + 1e-6 * np.max(speed) + 1e-300}
    if "reaction" in quantities:
        size = np.maximum(np.max(np.abs(quantities["reaction"]), axis=1), FLOOR * push)
        momentum = np.max(np.abs(anatomy.samples.momenta))
        scales["reaction"] = _with_floor(size, valid) + 1e-6 * momentum + 1e-300
        scales["power"] = scales["reaction"] * (speed + FLOOR * np.max(speed)) + 1e-300
    return scales


def _with_floor(sizes: Array, valid: BoolArray) -> Array:
    largest = np.max(sizes[valid], initial=0.0)
    return np.maximum(sizes, FLOOR * largest)


def along_motion(
    anatomy: Anatomy, equations: Equations, start: Mapping[str, Any], span: Sequence[float] | None
) -> Evidence | str:
    """The samples of a form along a motion from the first one; or why the motion ends early."""
    samples, system = anatomy.motion, anatomy.system
    first, last = _span(anatomy, span)
    times = np.linspace(first, last, POINTS)
    beginning, p = _beginning(anatomy, equations, start), samples.parameters
    motion = simulate(equations, beginning, (first, last), parameters=p, rtol=RTOL, at=times)
    if not motion.success or motion.y.shape[1] != len(times):
        return str(motion.message)
    table = {
        "coordinates": np.array([motion[q] for q in system.coordinates]).T,
        "velocities": np.array([motion[v] for v in system.velocities]).T,
        "accelerations": np.array([motion[q.ddot] for q in system.coordinates]).T,
    }
    if motion.reactions:
        table["reaction"] = motion.total_reaction.T
        table["power"] = np.sum(table["reaction"] * table["velocities"], axis=1, keepdims=True)
    valid = np.ones(len(times), dtype=bool)
    scales = _scales(anatomy, table, table["velocities"], valid)
    speed, pull = np.max(np.abs(table["velocities"])), np.max(np.abs(table["accelerations"]))
    length = abs(last - first)
    scales["coordinates"] = np.max(np.abs(table["coordinates"]), axis=1) + length * speed + 1e-300
    scales["velocities"] = np.max(np.abs(table["velocities"]), axis=1) + length * pull + 1e-300
    return Evidence(table, scales, valid, [f"motion at t = {time:.4g}" for time in times])


def _beginning(
    anatomy: Anatomy, equations: Equations, start: Mapping[str, Any]
) -> dict[str, float]:
    """The first sample as a start in any form: own symbols, or coordinates and velocities."""
    samples, system = anatomy.motion, anatomy.system
    if equations.form == samples.kernel.equations.form:
        state = zip(equations.state, samples.states[0], strict=True)
        return {symbol.name: float(value) for symbol, value in state}
    values = _named(anatomy, 0)
    by_momenta = set(system.momenta) <= set(equations.state)
    symbols = (*system.coordinates, *(system.momenta if by_momenta else system.velocities))
    return {symbol.name: values[symbol.name] for symbol in symbols} | _costates(equations, start, 0)


def _span(anatomy: Anatomy, span: Sequence[float] | None) -> tuple[float, float]:
    """The times of the motion: given, or half the time in which the velocities change."""
    if span is not None:
        first, last = (float(time) for time in span)
        return first, last
    samples = anatomy.motion
    begin = float(samples.times[0])
    kernel = samples.kernel
    context = Context(kernel, samples.parameters)
    states, inputs = np.ascontiguousarray(samples.states), np.zeros((len(samples), 0))
    observed, _ = context.observe(samples.times, states, inputs)
    accelerations = np.max(np.abs(observed[:, kernel.observed["accelerations"]]), axis=1)
    speeds = np.max(np.abs(samples.velocities), axis=1)
    ratios = speeds[accelerations > 0] / accelerations[accelerations > 0]
    return begin, begin + (0.5 * float(np.median(ratios)) if ratios.size else 1.0)
