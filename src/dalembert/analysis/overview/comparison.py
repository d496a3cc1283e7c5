"""Comparison of all forms of the equations, at random states and along a short motion.

Forms of d'Alembert's principle must give the same accelerations, the same total reaction and the
same power of it. Forms of another principle stand apart: vakonomic motion is that of the same
system where every constraint is integrable, and in general another one where some is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, cycle
from typing import Any

import numpy as np

from ...errors import DalembertError
from ...formulations.equations import Equations
from ...formulations.registry import derive, is_variational
from ...model.scenario import Scenario
from ...model.system import System
from ...typing import Values
from ..anatomy import Anatomy, read_model, take_apart
from ..tables import Report, Section
from .description import form_reasons, mass_matrix_state
from .form_sample import Evidence, along_motion, at_states
from .integrability import classify

__all__ = ["Apart", "Comparison", "Difference", "compare"]

#: Two forms that differ by less than this, relatively, are the same.
SAME = 1e-7
#: Free inputs are held at these values, one after the other.
INPUT_VALUES = (0.31, -0.22, 0.17)


@dataclass(frozen=True)
class Difference:
    """The worst relative difference of two forms.

    Attributes
    ----------
    pair : (str, str)
    worst : float
    quantity : str
        "accelerations", "reaction", "power", "coordinates" or "velocities".
    where : str
    """

    pair: tuple[str, str]
    worst: float
    quantity: str
    where: str


@dataclass(frozen=True)
class Apart:
    """How a form of another principle compares with d'Alembert's.

    Attributes
    ----------
    difference : Difference
    coincides : bool
        Whether it is the same motion, at every state tried.
    must_coincide : bool
        Whether theory says so: every constraint is integrable.
    sentence : str
    """

    difference: Difference
    coincides: bool
    must_coincide: bool
    sentence: str


@dataclass(frozen=True, repr=False)
class Comparison(Report):
    """The certificate that the forms of a system agree.

    Attributes
    ----------
    worst : float
        The worst relative difference of any two forms; 0 where fewer than two could be compared.
    pair : tuple of str
        The two forms; empty where fewer than two could be compared.
    where : str
        The quantity and the place.
    forms : mapping of form to None where it was compared, or to the reason why not
    table : tuple of Difference
        The worst difference of each pair.
    differing : mapping of form to Apart
        Forms of another principle; they do not count in `worst`.
    diagnostics : mapping of form to sentence
        Where a form that was compared does not determine the motion.
    """

    worst: float
    pair: tuple[str, ...]
    where: str
    forms: Mapping[str, str | None]
    table: tuple[Difference, ...]
    differing: Mapping[str, Apart]
    diagnostics: Mapping[str, str]
    name: str = ""

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain data; the ``agreement`` of ``dalembert check --json``."""
        forms: dict[str, dict[str, Any]] = {}
        for form, why in self.forms.items():
            forms[form] = {"compared": True} if why is None else {"compared": False, "why": why}
        differing = {
            form: {
                "worst": apart.difference.worst,
                "where": apart.difference.where,
                "coincides": apart.coincides,
                "must_coincide": apart.must_coincide,
            }
            for form, apart in self.differing.items()
        }
        return {
            "worst": self.worst,
            "pair": list(self.pair),
            "where": self.where,
            "forms": forms,
            "table": [
                asdict(difference) | {"pair": [*difference.pair]} for difference in self.table
            ],
            "remarks": dict(self.diagnostics),
            "differing": differing,
        }

    def _title(self) -> str:
        return self.name

    def _sections(self) -> list[Section]:
        known = [form for form, why in self.forms.items() if why is None]
        compared = [form for form in known if form not in self.differing]
        verdict = [("nothing to compare", f"{', '.join(compared) or 'no form'} alone")]
        if self.pair:
            worst = f"{self.worst:.1e}, {' and '.join(self.pair)}: {self.where}"
            verdict = [("worst difference", worst)]
        lines = []
        for form in compared:
            own = [difference for difference in self.table if form in difference.pair]
            if own:
                most = max(own, key=lambda difference: difference.worst)
                other = next(name for name in most.pair if name != form)
                distance = f"at most {most.worst:.1e} from {other}"
                lines.append((form, f"{distance}: {most.quantity}, {most.where}"))
        return [
            ("Agreement", verdict),
            ("Forms compared", lines),
            ("Apart", [(form, apart.sentence) for form, apart in self.differing.items()]),
            ("Not everywhere", list(self.diagnostics.items())),
            ("Not compared", [(form, why) for form, why in self.forms.items() if why is not None]),
        ]


def compare(
    system: System | Scenario,
    parameters: Values | None = None,
    start: Values | None = None,
    n: int = 10,
    span: Sequence[float] | None = None,
) -> Comparison:
    """Every form that applies against every other.

    Parameters
    ----------
    system : System or Scenario
    parameters : mapping of symbol or name to value
        Those that are missing take random values.
    start : mapping of symbol or name to value
        States are drawn around it, and the motion starts there where it is consistent.
    n : int
        The number of random consistent states.
    span : (t0, t1)
        The times of the motion; by default about half the time in which the velocities change.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> m, g = da.parameters("m g", positive=True)
    >>> rod = da.holonomic(x**2 + y**2 - 1, name="rod")
    >>> kinetic = m / 2 * (x.dot**2 + y.dot**2)
    >>> pendulum = da.System([x, y], kinetic=kinetic, potential=m * g * y, constraints=[rod])
    >>> found = compare(pendulum)
    >>> found.worst < 1e-9, found.differing["vakonomic"].coincides
    (True, True)
    """
    stated, values, beginning = read_model(system, parameters, start)
    smooth = _smooth(stated)
    dropped = {symbol.name for symbol in {*stated.parameters} - {*smooth.parameters}}
    values = {name: value for name, value in values.items() if name not in dropped}
    anatomy = take_apart(smooth, values, beginning, n)
    reasons = form_reasons(smooth, mass_matrix_state(anatomy)[0])
    evidence: dict[str, list[Evidence]] = {}
    diagnostics: dict[str, str] = {}
    for form, why in reasons.items():
        if why is None:
            equations = derive(smooth, form)
            reasons[form] = _call(anatomy, equations, beginning, span, evidence, diagnostics)
    agreeing = [form for form in evidence if not is_variational(form)]
    table = tuple(_difference(pair, evidence) for pair in combinations(agreeing, 2))
    worst = max(table, key=lambda difference: difference.worst, default=None)
    variational = [form for form in evidence if is_variational(form) and agreeing]
    facts = classify(anatomy).constraints if variational else ()
    loose = [fact.name for fact in facts if fact.integrable is not True]
    differing = {
        form: _apart(_difference((agreeing[0], form), evidence), loose) for form in variational
    }
    return Comparison(
        worst=worst.worst if worst else 0.0,
        pair=worst.pair if worst else (),
        where=f"{worst.quantity}, {worst.where}" if worst else "",
        forms=reasons,
        table=table,
        differing=differing,
        diagnostics=diagnostics,
        name=stated.name,
    )


def _smooth(system: System) -> System:
    """The system between impacts, with its free inputs held at numbers."""
    free = [symbol for symbol, value in system.inputs.items() if value is None]
    if free:
        system = system.driven(dict(zip(free, cycle(INPUT_VALUES), strict=False)))
    return system.touching(()) if system.unilateral else system


def _call(
    anatomy: Anatomy,
    equations: Equations,
    start: Mapping[str, Any],
    span: Sequence[float] | None,
    evidence: dict[str, list[Evidence]],
    diagnostics: dict[str, str],
) -> str | None:
    """Evaluate one form into `evidence`, with open points in `diagnostics`; or say why not."""
    try:
        motion = along_motion(anatomy, equations, start, span)  # states share its kernels
        states = at_states(anatomy, equations, start)
    except DalembertError as error:
        return str(error)
    if not states.is_usable:
        return "The form does not determine the motion at any of the states."
    left = int(np.sum(~states.valid))
    said = [f"It does not determine {left} of {len(states.valid)} states."] if left else []
    said += [f"Its motion: {motion}"] if isinstance(motion, str) else []
    if said:
        diagnostics[equations.form] = " ".join(said)
    evidence[equations.form] = [states] if isinstance(motion, str) else [states, motion]
    return None


def _difference(pair: tuple[str, str], evidence: Mapping[str, list[Evidence]]) -> Difference:
    """The worst difference of two forms over states and motion."""
    worst = Difference(pair, 0.0, "accelerations", "everywhere the same")
    for first, second in zip(evidence[pair[0]], evidence[pair[1]], strict=False):
        for quantity, size, where in _gaps(first, second):
            if size > worst.worst or not np.isfinite(size):
                worst = Difference(pair, size, quantity, where)
    return worst


def _gaps(first: Evidence, second: Evidence) -> Iterator[tuple[str, float, str]]:
    """Relative differences of every quantity that both know, where both are determined."""
    both = first.valid & second.valid
    for quantity in first.quantities:
        mine, other = first.quantities[quantity], second.quantities.get(quantity)
        if other is None:
            continue
        scale = np.maximum(first.scales[quantity], second.scales[quantity])
        gaps = np.max(np.abs(mine - other), axis=1) / scale
        for place in np.flatnonzero(both):
            yield quantity, float(gaps[place]), first.places[place]


def _apart(difference: Difference, loose: Sequence[str]) -> Apart:
    """The verdict on a form of another principle, with the constraints that are not integrable."""
    these = f"{', '.join(loose)} {'are' if len(loose) > 1 else 'is'} not integrable"
    coincides = difference.worst < SAME
    size, form = f"{difference.worst:.1e}", difference.pair[1]
    if not loose:
        sentence = f"coincides ({size}), as it must: every constraint is integrable"
        if not coincides:
            sentence = f"differs by {size} although every constraint is integrable:"
            sentence += f" {difference.where}"
    elif coincides:
        sentence = f"coincides ({size}) at every state tried, although {these}"
    else:
        sentence = f"differs by {size}, as {form} motion may: {these}"
    return Apart(difference, coincides, not loose, sentence)
