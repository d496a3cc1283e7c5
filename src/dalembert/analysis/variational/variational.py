"""Whether nonholonomic motion is stationary for the action among admissible curves.

For one motion the multipliers of the Lagrange problem are sought along it (`extremal`); for all
motions of a system the conditions on them are followed through their derivatives at generic states
(`all_motions`) and written out (`conditions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import sympy

from ...errors import DalembertError, ModelError, nearest
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.scenario import Scenario
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Array, Symbols, Values
from ..anatomy import read_model
from ..path import check_rows, path_of, split_of
from ..tables import Report, Section
from .all_motions import Prolongation, prolonged
from .conditions import StationarityConditions, conditions_of, ways_to_vanish
from .stationarity import MomentumTest, costates_along, momentum_test

__all__ = ["MotionStationarity", "Reference", "SystemStationarity", "stationarity"]

#: Two motions that are nearer than this, relatively, are the same.
SAME = 1e-6
#: At how many times an independent implementation is compared.
COMPARED = 41


# -- one motion ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reference:
    """The vakonomic motion from the same start.

    Attributes
    ----------
    gap : float
        The largest distance in a coordinate relative to the extent of the motion; infinite where
        the vakonomic motion does not reach the end.
    coincides : bool
    chi_start : mapping of constraint name to value
    motion : Motion
    """

    gap: float
    coincides: bool
    chi_start: Mapping[str, float]
    motion: Motion


@dataclass(frozen=True, repr=False, eq=False)
class MotionStationarity(Report):
    """Whether one motion is an extremal of the Lagrange problem; m constraints.

    Attributes
    ----------
    is_stationary : bool
        Whether multipliers chi(t) exist that make it one, within `tolerance`.
    residual : float
        What the best chi leaves of (4.4), relative to the size of its terms.
    is_mechanical : bool
        Whether it obeys d'Alembert's principle too.
    chi_start : mapping of constraint name to value
        The best chi at the start, the smallest where several serve.
    freedom : array (m, d)
        Directions in which chi may be changed at the start without any change of the conditions.
    t : array (nt,), chi : array (m, nt)
        The multipliers along the motion.
    momentum_test : MomentumTest or None
        The reduced test (4.6); None, with `momentum_note`, where none applies along the motion.
    """

    name: str
    is_stationary: bool
    residual: float
    tolerance: float
    is_mechanical: bool
    chi_start: Mapping[str, float]
    freedom: Array
    t: Array
    chi: Array
    momentum_test: MomentumTest | None
    momentum_note: str
    motion: Motion = field(repr=False)

    def reference(self, chi_start: Values | None = None) -> Reference:
        """Simulate the vakonomic form from the same start and compare."""
        given = chi_start is not None
        chi = _named_chi(self.motion.system, chi_start) if given else dict(self.chi_start)
        return _reference(self.motion, chi)

    def to_json(self) -> dict[str, Any]:
        """The result as plain data."""
        reduced: dict[str, Any] | None = None
        if (test := self.momentum_test) is not None:
            reduced = {"size": test.size, "holds": test.holds, "obeys": test.obeys}
            reduced["dependent"] = list(test.dependent)
        return {
            "name": self.name,
            "stationary": self.is_stationary,
            "residual": self.residual,
            "tolerance": self.tolerance,
            "mechanical": self.is_mechanical,
            "chi_start": dict(self.chi_start),
            "freedom": self.freedom.tolist(),
            "momentum_test": reduced,
        }

    def _title(self) -> str:
        return self.name

    def _sections(self) -> list[Section]:
        m, free = self.freedom.shape
        verdict = "yes" if self.is_stationary else "no"
        against = f"{self.residual:.1e} of the terms of (4.4), limit {self.tolerance:.0e}"
        values = ", ".join(f"chi_{name} = {value:.6g}" for name, value in self.chi_start.items())
        chosen = values or "none"
        if free == m and m:
            chosen = "any"
        elif free:
            chosen += f", and {free} direction{'s' * (free > 1)} free"
        obeyed = "obeyed" if self.is_mechanical else "not obeyed: this is another curve"
        lines = [
            ("stationary", f"{verdict}: the best multipliers leave {against}"),
            ("multipliers", f"at the start {chosen}"),
            ("d'Alembert", obeyed),
        ]
        test = ("Reduced test dL/dv_a A_s^a = 0", [("(4.6)", self._test_sentence())])
        return [("Stationary action", lines), test]

    def _test_sentence(self) -> str:
        test = self.momentum_test
        if test is None:
            return self.momentum_note
        ours = f"with {', '.join(test.dependent) or 'nothing'} dependent"
        if not test.holds:
            why = "it is not necessary" if self.is_stationary else "as it may"
            return f"fails by {test.size:.1e} {ours}: {why}"
        if test.obeys:
            return f"holds {ours}, and chi = -dL/dv_a obeys its equation: sufficient"
        fails = "chi = -dL/dv_a does not obey its equation: it proves nothing by itself"
        return f"holds {ours}, but {fails}"


def _of_motion(motion: Motion, independent: Symbols | None, tolerance: float) -> MotionStationarity:
    system = motion.system
    check_rows(system)
    path = path_of(motion)
    found = costates_along(path)
    names = [constraint.name for constraint in system.bilateral]
    test: MomentumTest | None = None
    note = ""
    try:
        test = momentum_test(path, tolerance, independent)
    except DalembertError as error:
        if independent is not None:
            raise
        note = str(error)
    residual = float(np.max(found.residual, initial=0.0))
    return MotionStationarity(
        name=system.name,
        is_stationary=residual < tolerance,
        residual=residual,
        tolerance=tolerance,
        is_mechanical=bool(np.max(found.mechanical, initial=0.0) < tolerance),
        chi_start=dict(zip(names, (float(value) for value in found.start), strict=True)),
        freedom=found.freedom,
        t=motion.t,
        chi=found.at(motion.t, path.edges),
        momentum_test=test,
        momentum_note=note,
        motion=motion,
    )


def _named_chi(system: System, given: Values | None) -> dict[str, float]:
    names = [constraint.name for constraint in system.bilateral]
    table = {name.removeprefix("chi_"): value for name, value in numbers_by_name(given).items()}
    for name in table:
        if name not in names:
            guess = nearest(name, names)
            what = f"There is no two-sided constraint `{name}`"
            remedy = f"did you mean {guess}" if guess else "name one of these"
            raise ModelError(what, ", ".join(names) or "none", remedy)
    return {name: table.get(name, 0.0) for name in names}


def _reference(motion: Motion, chi: Mapping[str, float]) -> Reference:
    system = motion.system
    free = [symbol.name for symbol, value in system.inputs.items() if value is None]
    if free:
        what = "A motion with an input given as a function cannot be repeated"
        raise ModelError(what, seen=", ".join(free), remedy="give the input as an expression")
    path = path_of(motion)
    first, last = float(path.edges[0]), float(path.edges[-1])
    begin = path_of(motion, [first]).state(0)
    start = {s.name: begin[s.name] for s in (*system.coordinates, *system.velocities)}
    times = np.linspace(first, last, COMPARED)
    start |= {f"chi_{name}": value for name, value in chi.items()}
    rtol = min(1e-10, float(motion.statistics.get("rtol", 1e-10)))
    options: dict[str, Any] = {"parameters": motion.parameters, "rtol": rtol, "at": times}
    reference = simulate(system, start, (first, last), form="vakonomic", **options)
    gap = np.inf
    if reference.success and len(reference.t) == len(times):
        own, n = path_of(motion, times).values, len(system.coordinates)
        mine, speed = own[1 : 1 + n], np.max(np.abs(own[1 + n : 1 + 2 * n]))
        other = np.array([reference[q] for q in system.coordinates])
        extent = float(np.max(np.abs(mine)) + abs(last - first) * speed) or 1.0
        gap = float(np.max(np.abs(mine - other))) / extent
    return Reference(gap, gap < SAME, dict(chi), reference)


# -- all motions -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class SystemStationarity(Report):
    """Whether all motions of a system are extremals of the Lagrange problem.

    Attributes
    ----------
    all_motions : bool or None
        None where that is not decided.
    reason : str
    certificate : str
        "formulas", or at how many random states the conditions were followed.
    independent, dependent : tuples of str
        The velocities in which the conditions are written.
    conditions : StationarityConditions or None
        The conditions as formulas, where they are short enough to be read.
    prolongation : Prolongation or None
        The ranks found at random states, where formulas did not decide.
    """

    name: str
    all_motions: bool | None
    reason: str
    certificate: str
    independent: tuple[str, ...]
    dependent: tuple[str, ...]
    conditions: StationarityConditions | None
    prolongation: Prolongation | None

    @property
    def ways(self) -> tuple[tuple[sympy.Expr, ...], ...]:
        """Sets of expressions: a motion on which all of one set vanish throughout meets (4.5)."""
        return self.conditions.ways if self.conditions is not None else ()

    @property
    def momentum_ways(self) -> tuple[tuple[sympy.Expr, ...], ...]:
        """The same for the reduced test (4.6)."""
        return ways_to_vanish(self.conditions.momenta) if self.conditions is not None else ()

    def to_json(self) -> dict[str, Any]:
        """The result as plain data, expressions as text."""
        found = self.conditions
        multipliers = None if found is None else [str(entry) for entry in found.multipliers]
        momenta = None if found is None else [str(entry) for entry in found.momenta]
        return {
            "name": self.name,
            "all_motions": self.all_motions,
            "reason": self.reason,
            "certificate": self.certificate,
            "independent": list(self.independent),
            "dependent": list(self.dependent),
            "conditions": multipliers,
            "momentum_conditions": momenta,
            "ways": [[str(entry) for entry in way] for way in self.ways],
            "momentum_ways": [[str(entry) for entry in way] for way in self.momentum_ways],
        }

    def _title(self) -> str:
        return self.name

    def _sections(self) -> list[Section]:
        verdict = {True: "yes", False: "no", None: "undecided"}[self.all_motions]
        lines = [("all motions", f"{verdict}: {self.reason}"), ("shown by", self.certificate)]
        sections: list[Section] = [("Stationary action", lines)]
        found = self.conditions
        if found is None or self.all_motions:
            return sections
        names = ", ".join(map(str, found.constants))
        constants = f" with constants {names}" if names else ""
        sections += [
            (f"chi_a A_s^a = 0 (4.5){constants}", _vanishing(self.independent, found.multipliers)),
            ("A motion is stationary where throughout", _listed(self.ways)),
            ("dL/dv_a A_s^a = 0 (4.6)", _vanishing(self.independent, found.momenta)),
        ]
        enough = "and suffices" if found.obeys else "but does not suffice by itself"
        return [*sections, (f"which holds, {enough}, where", _listed(self.momentum_ways))]


def _vanishing(names: Sequence[str], entries: Sequence[sympy.Expr]) -> list[tuple[str, str]]:
    pairs = zip(names, entries, strict=True)
    return [(name, f"{entry} = 0") for name, entry in pairs if entry != 0]


def _listed(ways: Sequence[Sequence[sympy.Expr]]) -> list[tuple[str, str]]:
    """One line for each set of expressions that vanish together."""
    words = [" and ".join(f"{entry} = 0" for entry in way) or "always" for way in ways]
    first = "either" if len(words) > 1 else ""
    return [("or" if k else first, word) for k, word in enumerate(words)]


def _of_system(
    model: System | Scenario,
    parameters: Values | None,
    start: Values | None,
    independent: Symbols | None,
    n: int,
) -> SystemStationarity:
    system, values, beginning = read_model(model, parameters, start)
    split = split_of(system, independent)
    conditions = conditions_of(system, split) if split.dependent else None
    prolongation: Prolongation | None = None
    verdict: bool | None = True
    certificate = "formulas"
    why = conditions.all_motions if conditions is not None else None
    if not split.dependent:
        why = "there are no constraints"
    elif why is None:
        prolongation = prolonged(system, split, values, beginning, n)
        verdict, why = prolongation.verdict, prolongation.sentence
        certificate = f"{prolongation.states} random states"
    return SystemStationarity(
        name=system.name,
        all_motions=verdict,
        reason=why,
        certificate=certificate,
        independent=tuple(system.velocities[k].name for k in split.independent),
        dependent=tuple(system.velocities[k].name for k in split.dependent),
        conditions=conditions,
        prolongation=prolongation,
    )


@overload
def stationarity(
    model: Motion, *, independent: Symbols | None = None, tolerance: float = 1e-6
) -> MotionStationarity: ...


@overload
def stationarity(
    model: System | Scenario,
    parameters: Values | None = None,
    start: Values | None = None,
    *,
    independent: Symbols | None = None,
    n: int = 8,
) -> SystemStationarity: ...


def stationarity(
    model: Motion | System | Scenario,
    parameters: Values | None = None,
    start: Values | None = None,
    *,
    independent: Symbols | None = None,
    n: int = 8,
    tolerance: float = 1e-6,
) -> MotionStationarity | SystemStationarity:
    """Whether a motion, or every motion, is stationary for the action (Rumyantsev, section 4).

    Hamilton's principle holds for nonholonomic motion with varied curves that break the
    constraints. Among the curves that obey them the action is stationary only on the motions that
    solve the Lagrange problem as well, with some multipliers chi.

    Parameters
    ----------
    model : Motion, System or Scenario
        A motion is judged by itself; for a system or a scenario all motions are.
    parameters, start : mappings
        Of a system: where the random states are looked for.
    independent : sequence of coordinates, velocities or names
        Which velocities are independent in (4.5) and (4.6).
    n : int
        The number of random states.
    tolerance : float
        The largest residual of (4.4) of a stationary motion, relative to its terms.

    Returns
    -------
    MotionStationarity or SystemStationarity

    Examples
    --------
    >>> import dalembert as da
    >>> found = stationarity(da.gallery.load("appell"))
    >>> found.all_motions, found.reason
    (True, 'A_s^a vanishes on every motion: any chi serves')
    >>> disk = da.simulate(da.gallery.load("rolling-disk"), span=(0, 1))
    >>> stationarity(disk).is_stationary
    False
    """
    if isinstance(model, Motion):
        if parameters is not None or start is not None:
            remedy = "pass the system to look elsewhere"
            raise ModelError("A motion has its parameters and its start", remedy=remedy)
        return _of_motion(model, independent, tolerance)
    return _of_system(model, parameters, start, independent, n)
