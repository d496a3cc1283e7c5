r"""What a control system y_dot = f(y) + sum_a g_a(y) u_a can reach from a point: `controllability`.

- *Accessible*: the states reached have an interior, where all brackets of f and the g_a span the
  directions there (Chow, Lobry, Krener). *Strongly*, those reached at each one time, where the
  brackets with at least one g_a do (Sussmann, Jurdjevic).
- Without drift the ranks of brackets up to length 1, 2, ... are the *growth vector*; the length at
  which they span is the degree of nonholonomy, and what is accessible is controllable.
- *Small-time locally controllable*: a neighbourhood is reached in any short time. Sussmann's
  condition (1987) is sufficient: a bracket is bad where f stands in it an odd number of times and
  each g_a an even number; each bad one, summed over permutations of the inputs, must be in the span
  of good ones of lower degree at the point. Degrees count the inputs and a weight 0 < w <= 1 for
  each drift.
- The linear part, and Brockett's condition for a smooth stabilising feedback, are those of
  `stabilisability`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...analysis.tables import Report, Section
from ...model.flow_system import Flow
from ...model.scenario import Scenario
from ...model.system import System
from ...typing import Values
from .brackets import Bracket, Brackets, is_spanned, rank_of
from .input_fields import ControlAffine, control_affine
from .stabilisability import Brockett, LinearPart, brockett_condition, linear_part

__all__ = ["BadBracket", "Controllability", "controllability"]

#: Weights of the drift that Sussmann's condition is tried with.
WEIGHTS = (1.0, 0.5)
#: A rate below this at a point leaves it an equilibrium.
AT_REST = 1e-9


@dataclass(frozen=True)
class BadBracket:
    """A bad bracket that does not vanish when it is summed over permutations of the inputs.

    Attributes
    ----------
    name : str
    degree : float
    compensated : bool
        Whether it is in the span of good brackets of lower degree.
    """

    name: str
    degree: float
    compensated: bool


@dataclass(frozen=True, repr=False)
class Controllability(Report):
    """What is known of a control system at a point; d directions.

    Attributes
    ----------
    system : ControlAffine
    dimension : int
        d.
    rank, generic_rank : int
        Of all brackets, at the point and at generic points.
    strong_rank, generic_strong_rank : int
        Of the brackets with at least one input.
    growth, generic_growth : tuples of int
        Without drift: ranks of brackets up to length 1, 2, ...; empty with drift.
    length : int
        The longest brackets that were looked at.
    basis : tuple of str
        The first brackets that span, with inputs.
    small_time : "controllable", "not controllable", "undecided" or "no equilibrium"
    small_time_reason : str
    bad : tuple of BadBracket
    linear : LinearPart or None
        At an equilibrium.
    brockett : Brockett or None
    """

    system: ControlAffine
    dimension: int
    rank: int
    generic_rank: int
    strong_rank: int
    generic_strong_rank: int
    growth: tuple[int, ...]
    generic_growth: tuple[int, ...]
    length: int
    basis: tuple[str, ...]
    small_time: str
    small_time_reason: str
    bad: tuple[BadBracket, ...]
    linear: LinearPart | None
    brockett: Brockett | None

    @property
    def is_accessible(self) -> bool:
        """Whether brackets span all directions at the point. False means: not up to the length that
        was looked at.
        """
        return self.rank == self.dimension

    @property
    def is_strongly_accessible(self) -> bool:
        """Whether brackets with inputs span all directions at the point."""
        return self.strong_rank == self.dimension

    @property
    def degree_of_nonholonomy(self) -> int | None:
        """Without drift: the length at which brackets span."""
        full = self.growth and self.growth[-1] == self.dimension
        return len(self.growth) if full else None

    def _title(self) -> str:
        place = ", ".join(
            f"{name} = {x:.6g}"
            for name, x in zip(self.system.symbols, self.system.point, strict=True)
            if x
        )
        return f"Controllability of {self.system.name} at {place or 'the origin'}"

    def _sections(self) -> list[Section]:
        of = f"of {self.dimension}"
        here, generic = f"rank {self.rank} {of}", f"{self.generic_rank} at generic points"
        strong, generic_strong = f"rank {self.strong_rank} {of}", self.generic_strong_rank
        reach = [
            ("accessible", f"{_yes(self.is_accessible)}: {here}, {generic}"),
            (
                "strongly",
                f"{_yes(self.is_strongly_accessible)}: {strong}, {generic_strong} at generic"
                " points",
            ),
            ("brackets", ", ".join(self.basis)),
            ("length", f"up to {self.length}"),
        ]
        if self.growth:
            growths = f"{_vector(self.growth)}, {_vector(self.generic_growth)} at generic points"
            reach.append(("growth", growths))
            degree = self.degree_of_nonholonomy
            shown = f"of nonholonomy {degree}" if degree else "brackets of this length do not span"
            reach.append(("degree", shown))
        found = {True: "compensated", False: "not compensated by good ones"}
        bad = [(one.name, f"degree {one.degree:g}, {found[one.compensated]}") for one in self.bad]
        locally = [("small time", f"{self.small_time}: {self.small_time_reason}")]
        feedback = []
        if self.linear is not None and self.brockett is not None:
            left = ", ".join(_complex(value) for value in self.linear.fixed)
            fixed = f", fixed eigenvalues {left}" if left else ""
            feedback = [
                ("linear part", f"rank {self.linear.rank} {of}{fixed}"),
                ("Brockett", f"{self.brockett.verdict}: {self.brockett.reason}"),
            ]
        sections = {"Reach": reach, "Locally": locally, "Bad brackets": bad, "Feedback": feedback}
        return list(sections.items())


def _complex(value: complex) -> str:
    """A number to four digits; what is rounding is zero."""
    real, imaginary = round(value.real, 8) + 0.0, round(value.imag, 8) + 0.0
    return f"{real:.4g}{imaginary:+.4g}i" if imaginary else f"{real:.4g}"


def _yes(answer: bool) -> str:
    return "yes" if answer else "not shown"


def _vector(numbers: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, numbers))})"


def controllability(
    model: System | Flow | Scenario,
    at: Values | None = None,
    parameters: Values | None = None,
    longest: int = 7,
) -> Controllability:
    """Find what a system affine in its inputs can reach from a point, and its stabilisability.

    Parameters
    ----------
    model : Flow, System or Scenario
        With inputs; all of them count as free.
    at : mapping of symbol or input to value
        The point; what it leaves out is zero.
    parameters : mapping of parameter to value
        Random ones for those that are missing.
    longest : int
        The longest brackets that are tried.

    Examples
    --------
    A wheel that rolls and turns: two inputs, three directions, and no smooth feedback.

    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> x, y, theta = da.coordinates("x y theta")
    >>> v, w = da.inputs("v w")
    >>> wheel = da.Flow({x: v*cos(theta), y: v*sin(theta), theta: w}, inputs=[v, w], name="wheel")
    >>> controllability(wheel)
    Controllability of wheel at the origin
    <BLANKLINE>
    Reach
      accessible   yes: rank 3 of 3, 3 at generic points
      strongly     yes: rank 3 of 3, 3 at generic points
      brackets     g1, g2, [g1, g2]
      length       up to 2
      growth       (2, 3), (2, 3) at generic points
      degree       of nonholonomy 2
    <BLANKLINE>
    Locally
      small time   controllable: there is no drift, and brackets span
    <BLANKLINE>
    Feedback
      linear part  rank 2 of 3, fixed eigenvalues 0
      Brockett     fails: the rates of x, y, theta vanish with v, w: 2 variables for 3 directions
    """
    system = control_affine(model, at, parameters)
    return _report(system, Brackets(system), longest)


def _report(system: ControlAffine, brackets: Brackets, longest: int) -> Controllability:
    d, length = system.dimension, 1
    while not _spans(brackets, length, d) and length < longest and brackets.longest == length:
        length += 1
    length = min(length, brackets.longest)  # the last level may be too large to be made
    found = brackets.up_to(length)
    steered = [one for one in found if sum(one.counts[1:])]
    rests = system.rest < AT_REST
    linear = linear_part(system) if rests else None
    spans = _spans(brackets, length, d)
    verdict, reason, bad = _small_time(system, brackets, longest, linear, spans)
    lengths = [brackets.up_to(k) for k in range(1, length + 1)]
    growths = [tuple(_ranks(level)[place] for level in lengths) for place in (0, 1)]
    return Controllability(
        system=system,
        dimension=d,
        rank=_ranks(found)[0],
        generic_rank=_ranks(found)[1],
        strong_rank=_ranks(steered)[0],
        generic_strong_rank=_ranks(steered)[1],
        growth=growths[0] if system.is_driftless else (),
        generic_growth=_while_growing(growths[1]) if system.is_driftless else (),
        length=length,
        basis=_first_basis(steered),
        small_time=verdict,
        small_time_reason=reason,
        bad=bad,
        linear=linear,
        brockett=brockett_condition(system, linear) if linear is not None else None,
    )


def _ranks(found: list[Bracket]) -> tuple[int, int]:
    """The rank at the point, and the largest one at generic points."""
    places = len(found[0].values) if found else 1
    ranks = [rank_of([one.values[place] for one in found]) for place in range(places)]
    return ranks[0], max(ranks[1:], default=ranks[0])


def _while_growing(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers up to the first that is the last one's equal."""
    return numbers[: numbers.index(numbers[-1]) + 1]


def _spans(brackets: Brackets, length: int, dimension: int) -> bool:
    found = [one for one in brackets.up_to(length) if sum(one.counts[1:])]
    return rank_of([one.values[0] for one in found]) == dimension


def _first_basis(found: list[Bracket]) -> tuple[str, ...]:
    chosen: list[Bracket] = []
    for one in found:
        spanned = is_spanned(one.values[0], [other.values[0] for other in chosen])
        if np.any(one.values[0]) and not spanned:
            chosen.append(one)
    return tuple(one.name for one in chosen)


# -- Sussmann --------------------------------------------------------------------------------------


def _small_time(
    system: ControlAffine, brackets: Brackets, longest: int, linear: LinearPart | None, spans: bool
) -> tuple[str, str, tuple[BadBracket, ...]]:
    if linear is None:
        return "no equilibrium", f"the drift is {system.rest:.3g} at the point", ()
    if system.is_driftless:
        if spans:
            return "controllable", "there is no drift, and brackets span", ()
        return "undecided", f"brackets up to length {brackets.longest} do not span", ()
    if linear.is_controllable:
        return "controllable", "the linear part is", ()
    turned_away = _one_sided(brackets) if len(system.inputs) == 1 else None
    if turned_away is not None:
        reason = f"{turned_away.name} is outside the span of brackets with one input"
        return "not controllable", reason, (turned_away,)
    failures = []
    for weight in WEIGHTS:
        reason, bad, fulfilled = _sussmann(system, brackets, longest, weight)
        if fulfilled:
            return "controllable", reason, bad
        failures.append((reason, bad))
    return "undecided", *failures[0]


def _one_sided(brackets: Brackets) -> BadBracket | None:
    """[[f, g], g] outside the span of g, [f, g], [f, [f, g]], ... (Sussmann 1983, necessary)."""
    found = brackets.up_to(max(3, len(brackets.system.symbols)))
    linear = [one.values[0] for one in found if one.counts[1] == 1]
    (square,) = (one for one in found if one.counts == (1, 2))
    return None if is_spanned(square.values[0], linear) else BadBracket(square.name, 3.0, False)


def _sussmann(
    system: ControlAffine, brackets: Brackets, longest: int, weight: float
) -> tuple[str, tuple[BadBracket, ...], bool]:
    """Sussmann's condition with one weight: what it says, the bad brackets, whether it holds."""
    found = brackets.up_to(longest)
    longest = min(longest, brackets.longest)
    complete = weight * (longest + 1)  # brackets of a lower degree are all there
    good = [one for one in found if not one.is_bad]
    degrees = sorted({one.degree(weight) for one in good})

    def is_full(degree: float) -> bool:
        chosen = [g.values[0] for g in good if g.degree(weight) <= degree]
        return rank_of(chosen) == system.dimension

    full = next((degree for degree in degrees if is_full(degree)), None)
    most = complete if full is None else full
    bad = []
    for one in found:
        degree = one.degree(weight)
        if one.is_bad and degree <= most and one.length > 1:
            total = brackets.symmetrised(one)
            if np.any(total):
                lower = [g.values[0] for g in good if g.degree(weight) < degree]
                bad.append(BadBracket(one.name, degree, is_spanned(total, lower)))
    if full is None or full >= complete:
        why = ", and longer ones are too large to be made" if brackets.is_exhausted else ""
        return f"good brackets up to length {longest} do not span{why}", tuple(bad), False
    left = f"{len(bad)} bad up to degree {full:g}"
    which = left if bad else f"no bad bracket up to degree {full:g} is left"
    if all(one.compensated for one in bad):
        says = f"good brackets span at degree {full:g}, {which}" + (", compensated" if bad else "")
        return f"Sussmann's condition with weight {weight:g}: {says}", tuple(bad), True
    return f"Sussmann's condition is not met: {which}, not all compensated", tuple(bad), False
