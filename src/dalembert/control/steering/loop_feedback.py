r"""Feedback by loops: a piecewise law that brings base and fibre to the origin.

The algorithm of Bloch, Reyhanoglu and McClamroch (Bloch and others, Supplement, section 6.6), on
base and fibre:

1. bring the base to the origin, at rest;
2. read the fibre, and lead the base round a loop whose holonomy is minus the fibre;
3. again, where something is left.

Every stage is planned from the state at its beginning and tracked by feedback,

    b_dot = r_dot + k (r - b)   or   b_ddot = r_ddot + 2 k (r_dot - b_dot) + k^2 (r - b),

so that errors of one round are the start of the next. Loops are rectangles for one fibre symbol;
for chained forms, z_j' = z_{j-1} b_1' with z_0 = b_2, they are b_1' = a sin(w t), b_2' = c cos(j w
t) over T = 2 pi / w, which move z_j by

    (a / 2 w)^j c T / j!

and none before it (Murray and Sastry 1993); for any other fibre, over any number of base symbols,
they are sines and cosines whose coefficients are searched for (`fourier_loops`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import factorial, pi

import numpy as np
import sympy

from ...analysis.symmetry.connections import Connection
from ...analysis.tables import Report, Section
from ...errors import ModelError, RunError
from ...formulations.equations import Equations
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Parameter, t
from ...model.values import numbers_by_name
from ...typing import Array, Symbols, Values
from .fibration import Fibration, fibration
from .fourier_loops import fourier_loop, fourier_numbers, fourier_place
from .holonomy_loops import holonomy_loop
from .stages import Stage, Stages

__all__ = ["LoopStabilisation", "stabilise_by_loops"]

State = dict[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class LoopStabilisation(Report):
    """A run of the piecewise feedback.

    Attributes
    ----------
    fibration : Fibration
    stages : Stages
        Every leg as a Motion; ``stages["z3"]`` and ``stages["u1"]`` join them.
    rounds : int
        How many loops of the algorithm it took.
    norms : tuple of float
        The largest symbol at the start and after each round.
    final : dict of symbol to value
    tolerance : float
    """

    fibration: Fibration
    stages: Stages
    rounds: int
    norms: tuple[float, ...]
    final: Mapping[str, float]
    tolerance: float

    @property
    def success(self) -> bool:
        """Whether every symbol is below the tolerance."""
        return self.norms[-1] <= self.tolerance

    @property
    def duration(self) -> float:
        """The time of all stages together."""
        return float(self.stages.t[-1]) if len(self.stages) else 0.0

    def _title(self) -> str:
        return f"{self.fibration.flow.name}, stabilised by loops"

    def _sections(self) -> list[Section]:
        rows = [("start", f"largest symbol {self.norms[0]:.3g}")]
        rows += [(f"round {k}", f"{norm:.3g}") for k, norm in enumerate(self.norms[1:], start=1)]
        end = f"{'reached' if self.success else 'missed'} {self.tolerance:g}"
        end += f" in {len(self.stages)} stages, t = {self.duration:g}"
        return [("Rounds", rows), ("End", [("result", end)])]


def stabilise_by_loops(
    model: Flow | Connection | Fibration,
    start: Values,
    *,
    base: Symbols = (),
    plant: Flow | None = None,
    parameters: Values | None = None,
    leg: float = 1.0,
    gain: float = 5.0,
    tolerance: float = 1e-6,
    rounds: int = 20,
    rtol: float = 1e-10,
) -> LoopStabilisation:
    """Bring base and fibre of a control system to the origin by a piecewise feedback.

    Parameters
    ----------
    model : Flow, Connection or Fibration
        See `fibration`; `base` as there.
    start : mapping of symbol to value
        Any state; symbols that are left out are zero.
    plant : Flow
        What is really steered, with the symbols and inputs of the model; the model itself by
        default. Where they differ a loop leaves something over, and the next round takes what is
        left for its start.
    parameters : mapping of parameter to value
    leg : float
        How long a straight leg takes; a sinusoidal loop takes four of them.
    gain : float
        k, the rate at which errors of tracking decay.
    tolerance : float
        What every symbol must be below at the end.
    rounds : int
        The most rounds; the result says whether they were enough.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> u, w = da.inputs("u w")
    >>> knife = da.Flow({x: u, y: w, z: -x*w}, inputs=[u, w], name="Heisenberg")
    >>> found = stabilise_by_loops(knife, {x: 1, y: -2, z: 0.7})
    >>> found.success, found.rounds, len(found.stages)
    (True, 1, 5)
    """
    found = fibration(model, base)
    if not (leg > 0 and gain > 0 and tolerance > 0 and rounds >= 1):
        what = "leg, gain and tolerance must be positive, and rounds at least 1"
        raise ModelError(what, (leg, gain, tolerance, rounds))
    state = dict.fromkeys((q.name for q in found.flow.coordinates), 0.0)
    strange = [name for name in numbers_by_name(start) if name not in state]
    if strange:
        what = f"The flow has no symbol `{strange[0]}`"
        raise ModelError(what, ", ".join(state), "start from its own symbols")
    state |= numbers_by_name(start)
    given = numbers_by_name(parameters)
    run = _LoopRun(found, plant or found.flow, given, leg, gain, rtol, state)
    norms = [run.norm]
    while norms[-1] > tolerance and len(norms) <= rounds:
        run.round(0.1 * tolerance)
        norms.append(run.norm)
    stages = Stages(tuple(run.stages))
    rounds = len(norms) - 1
    return LoopStabilisation(found, stages, rounds, tuple(norms), dict(run.state), tolerance)


class _Laws:
    """The closed loops of a fibration: each a flow under a feedback with parameters."""

    def __init__(self, found: Fibration, plant: Flow) -> None:
        self.found, self.plant = found, plant
        self._sine_loops: dict[int, Equations] = {}
        names = ("loop_gain", "loop_begin", "loop_length")
        self.gain, self.begin, self.length = (Parameter(name) for name in names)

    def _driven(self, references: Sequence[sympy.Expr]) -> Equations:
        """The plant while the base tracks references, expressions of time."""
        found, k = self.found, self.gain
        rates = [sympy.diff(r, t) for r in references]
        wanted = []
        for place, (r, q) in enumerate(zip(references, found.base, strict=True)):
            if found.order == 1:
                wanted.append(rates[place] + k * (r - q))
            else:
                error = 2 * k * (rates[place] - found.speeds[place]) + k**2 * (r - q)
                wanted.append(sympy.diff(r, t, 2) + error)
        table = {u.name: law for u, law in found.inputs_for(wanted).items()}
        laws = {u: table[u.name] for u in self.plant.inputs if u.name in table}
        return derive(self.plant.driven(laws))

    @cached_property
    def straight(self) -> Equations:
        """To a place at rest: cubics from where the base is, with the speed that it has."""
        s = (t - self.begin) / self.length
        references = []
        for q in self.found.base:
            p, v, goal = (Parameter(f"loop_{word}_{q.name}") for word in ("from", "speed", "to"))
            cubic = (goal - p) * s**2 * (3 - 2 * s)
            references.append(p + cubic + self.length * v * s * (1 - s) ** 2)
        return self._driven(references)

    @cached_property
    def sinusoids(self) -> dict[int, Equations]:
        """Sinusoids for each link of a chained form, by its number from 1."""
        assert self.found.chain is not None
        driver, order = self.found.chain
        a, c = Parameter("loop_wide"), Parameter("loop_high")
        angle = 2 * sympy.pi * (t - self.begin) / self.length
        found = {}
        for j in range(1, len(order) + 1):
            references = [sympy.Integer(0)] * 2
            references[driver] = a * (1 - sympy.cos(angle))
            references[1 - driver] = c * sympy.sin(j * angle) / j
            found[j] = self._driven(references)
        return found

    def sine_loops(self, harmonics: int) -> Equations:
        """Round a loop of sines and cosines, from rest to rest, by parameters `loop_`."""
        if harmonics not in self._sine_loops:
            s = (t - self.begin) / self.length
            places, _ = fourier_place(self.found, harmonics, s**2 * (3 - 2 * s))
            self._sine_loops[harmonics] = self._driven(list(places.values()))
        return self._sine_loops[harmonics]


class _LoopRun:
    """One run of the algorithm."""

    def __init__(
        self, found: Fibration, plant: Flow, values: State, leg: float, gain: float, rtol: float,
        state: State,
    ) -> None:  # fmt: skip
        _check_plant(found, plant)
        self.found, self.values, self.leg, self.gain, self.rtol = found, values, leg, gain, rtol
        self.laws = _laws(found, plant)
        self.state, self.time = dict(state), 0.0
        self.stages: list[Stage] = []

    @property
    def norm(self) -> float:
        return max(abs(value) for value in self.state.values())

    def _read(self, symbols: Sequence[Coordinate]) -> Array:
        return np.array([self.state[q.name] for q in symbols])

    def round(self, small: float) -> None:
        """The base to the origin, then loops for the fibre."""
        if np.abs(self._read([*self.found.base, *self.found.speeds])).max() > small:
            self.straight("base", np.zeros(len(self.found.base)))
        found = self.found
        fibre = self._read(found.fibre)
        if not len(fibre) or np.abs(fibre).max() <= small:
            return
        if len(fibre) == 1:
            start = dict(zip((q.name for q in found.fibre), fibre, strict=True))
            loop = holonomy_loop(found, -fibre, parameters=self.values, start=start)
            assert loop.corners is not None
            for number, corner in enumerate(np.roll(loop.corners, -1, axis=0), start=1):
                self.straight(f"side {number}", corner)
        elif found.chain is not None:
            for j, place in enumerate(found.chain[1], start=1):
                here = self.state[found.fibre[place].name]
                if abs(here) > small:
                    self.sinusoid(j, -here)
        else:
            self.sine_loops(-fibre)

    def straight(self, name: str, goal: Array) -> None:
        """The base to a place, at rest."""
        found = self.found
        numbers: State = {}
        for k, q in enumerate(found.base):
            speed = self.state[found.speeds[k].name] if found.speeds else 0.0
            here = {"from": self.state[q.name], "speed": speed, "to": goal[k]}
            numbers |= {f"loop_{word}_{q.name}": value for word, value in here.items()}
        self._go(name, self.laws.straight, self.leg, numbers)

    def sinusoid(self, j: int, wanted: float) -> None:
        """Sinusoids that move the link j of a chain."""
        length = 4 * self.leg
        share = (abs(wanted) * factorial(j) / length) ** (1 / (j + 1))  # a / 2w, and |c|
        high = wanted * factorial(j) / (length * share**j)
        w = 2 * pi / length
        amplitudes = {"loop_wide": 2 * share, "loop_high": high / w}
        self._go(f"wave {j}", self.laws.sinusoids[j], length, amplitudes)

    def sine_loops(self, wanted: Array) -> None:
        """A loop of sines and cosines that displaces all of the fibre."""
        found = self.found
        center = self._read(found.base)
        loop = fourier_loop(found, wanted, center, self._read(found.fibre), self.values)
        count = loop.sines.shape[1]
        numbers = fourier_numbers(fourier_place(found, count, t)[1], loop, center)
        self._go("loop", self.laws.sine_loops(count), 4 * self.leg, numbers)

    def _go(self, name: str, law: Equations, length: float, numbers: State) -> None:
        known = {symbol.name for symbol in law.system.parameters}
        own = {"loop_gain": self.gain, "loop_begin": self.time, "loop_length": length}
        given = {**self.values, **numbers, **own}
        used = {key: value for key, value in given.items() if key in known}
        start, span = self.state, (self.time, self.time + length)
        motion = simulate(law, start, span, rtol=self.rtol, parameters=used)
        if not motion.outcome.is_success:
            what = f"The stage `{name}` ended early"
            raise RunError(what, str(motion.outcome), "choose another base or leg")
        self.stages.append(Stage(name, motion))
        self.time += length
        self.state = {q.name: float(motion[q.name][-1]) for q in self.found.flow.coordinates}


@lru_cache(maxsize=8)
def _laws(found: Fibration, plant: Flow) -> _Laws:
    """The closed loops of a fibration and a plant, which several runs share."""
    return _Laws(found, plant)


def _check_plant(found: Fibration, plant: Flow) -> None:
    wanted = {q.name for q in found.flow.coordinates}
    have, free = set[str](), set[str]()
    if isinstance(plant, Flow):
        have = {q.name for q in plant.coordinates}
        free = {u.name for u, value in plant.inputs.items() if value is None}
    if have != wanted or {u.name for u in found.inputs} - free:
        inputs = ", ".join(u.name for u in found.inputs)
        raise ModelError(
            "The plant must have the symbols and the free inputs of the model",
            ", ".join(sorted([*have, *free])) or type(plant).__name__,
            f"symbols {', '.join(sorted(wanted))}, inputs {inputs}",
        )
