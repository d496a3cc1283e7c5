"""Character of a system: constraints, rank, freedom, inertia, conserved quantities, forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import DalembertError
from ...formulations.dirac.bergmann import bergmann
from ...formulations.dirac.degenerate_system import DegenerateSystem
from ...formulations.registry import applicability, derive
from ...model.flow_system import Flow
from ...model.scenario import Scenario
from ...model.symbols import Momentum
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, Values
from ..anatomy import GENERIC, Anatomy, common, read_model, take_apart
from ..tables import Report, Section
from .conserved import Conserved, conserved_momenta, energy_verdict
from .integrability import ConstraintFacts, classify

__all__ = ["Description", "describe", "form_reasons", "mass_matrix_state"]

REGULAR = "regular"
SINGULAR = "singular"
#: The most coordinates of a degenerate Lagrangian that is analysed without being asked to.
MOST_DEGENERATE = 8
SINGULAR_BUT_REGULAR = "singular but regular on the constraints"
_POWER = {True: "none", False: "a reaction has power on the motion", None: "not established"}
_INTEGRABLE = {True: "integrable", False: "not integrable", None: "integrable or not: undecided"}
_POWER_OF_ONE = {
    True: "without power",
    False: "with power on the motion",
    None: "power not established",
}


@dataclass(frozen=True, repr=False)
class Description(Report):
    """The character of a system at generic consistent states; prints as a readable page.

    Attributes
    ----------
    name : str
    coordinates : tuple of str (n,)
    constraints : tuple of ConstraintFacts
    rows, rank : int
        The number of rows at velocity level and of independent ones.
    ranks : tuple of int
        The ranks that occur at consistent states; several where the constraints have branches.
    rank_status : str
        "proved" where the rank nowhere exceeds `rank`, that of states next to the start; else "not
        established".
    dependent : tuple of tuples of str
        Constraints whose rows depend on each other.
    degrees_of_freedom : int
        n minus the rank: how many velocities are free.
    configuration_freedom : int or None
        n minus the number of independent functions of (q, t) that the constraints keep constant.
    growth : tuple of int
        Ranks of the allowed directions and of their brackets, with t as a coordinate where
        `growth_over_time`.
    mass_matrix : str
        "regular", "singular" or "singular but regular on the constraints"; `mass_rank` is its rank.
    admissible : bool
        Whether rank(f_v) = rank[f_q f_v] (Bloch 5.3), so that multipliers exist.
    ideal : bool
        Whether no reaction does virtual work.
    workless : bool or None
        Whether no reaction has power on the motion (Bloch 5.3); None where not established.
    conserved : tuple of Conserved
        What is proved to be conserved.
    not_established : tuple of Conserved
        Momenta without a state that changes them and without a proof.
    energy : str
        Why the energy is conserved, or why not; `energy_status` is that of a `Verdict`.
    forms : mapping of form to None, or to the reason why it does not apply
        Found when it is first read: each form is derived.
    points : int
        The number of generic states that were tried.
    integrals : tuple of expressions
        Functions of (q, t) that integrable constraints keep constant, as far as they were found.
    degenerate : DegenerateSystem, str or None
        Of a singular Lagrangian what the Dirac-Bergmann algorithm finds, or why it does not apply.
    """

    name: str
    coordinates: tuple[str, ...]
    constraints: tuple[ConstraintFacts, ...]
    rows: int
    rank: int
    ranks: tuple[int, ...]
    rank_status: str
    dependent: tuple[tuple[str, ...], ...]
    degrees_of_freedom: int
    configuration_freedom: int | None
    growth: tuple[int, ...]
    growth_over_time: bool
    mass_matrix: str
    mass_rank: int
    admissible: bool
    ideal: bool
    workless: bool | None
    conserved: tuple[Conserved, ...]
    not_established: tuple[Conserved, ...]
    energy: str
    energy_status: str
    forms: Mapping[str, str | None]
    points: int
    integrals: tuple[sympy.Expr, ...] = ()
    degenerate: DegenerateSystem | str | None = None

    def to_json(self) -> dict[str, Any]:
        """The description as plain data, in the shape of ``dalembert check --json``."""
        return {
            "name": self.name,
            "coordinates": list(self.coordinates),
            "constraints": [
                {
                    "name": c.name,
                    "kind": c.kind,
                    "integrable": c.integrable,
                    "rheonomic": c.rheonomic,
                    "ideal": c.ideal,
                    "workless": c.workless,
                    "integral": None if c.integral is None else str(c.integral),
                    "note": c.note,
                }
                for c in self.constraints
            ],
            "rows": self.rows,
            "rank": self.rank,
            "ranks": list(self.ranks),
            "rank_status": self.rank_status,
            "dependent": [list(group) for group in self.dependent],
            "degrees_of_freedom": self.degrees_of_freedom,
            "configuration_freedom": self.configuration_freedom,
            "growth": list(self.growth),
            "integrals": [str(function) for function in self.integrals],
            "mass_matrix": {"state": self.mass_matrix, "rank": self.mass_rank},
            "admissible": self.admissible,
            "ideal": self.ideal,
            "workless": self.workless,
            "conserved": [{"name": c.name, "why": c.why} for c in self.conserved],
            "not_established": [{"name": c.name, "why": c.why} for c in self.not_established],
            "energy": {
                "conserved": self.energy_status == "proved",
                "status": self.energy_status,
                "why": self.energy,
            },
            "forms": {
                form: {"applies": True} if why is None else {"applies": False, "why": why}
                for form, why in self.forms.items()
            },
            "points": self.points,
        } | ({} if self.degenerate is None else {"degenerate": self._degenerate_json()})

    def _degenerate_json(self) -> dict[str, Any]:
        found = self.degenerate
        return found.to_json() if isinstance(found, DegenerateSystem) else {"why": found}

    def _title(self) -> str:
        return self.name

    def _sections(self) -> list[Section]:
        kept = [(c.name, c.why) for c in self.conserved]
        kept += [(f"({c.name})", f"not established: {c.why}") for c in self.not_established]
        if self.energy_status != "proved":
            answer = "not conserved" if self.energy_status == "refuted" else "not established"
            kept.append(("(energy)", f"{answer}: {self.energy}"))
        return [
            ("Constraints", [(c.name, _sentence(c)) for c in self.constraints]),
            ("Freedom", self._freedom()),
            ("Degenerate Lagrangian", self._degenerate()),
            ("Conserved at sight", kept),
            ("Forms", [(form, why or "applies") for form, why in self.forms.items()]),
        ]

    def _degenerate(self) -> list[tuple[str, str]]:
        found = self.degenerate
        if isinstance(found, DegenerateSystem):
            return found.lines()
        return [] if found is None else [("not analysed", found)]

    @property
    def _told_alone(self) -> str:
        """What the lines of the constraints say of their integrals."""
        return "; ".join(f"{c.integral} {c.note}" for c in self.constraints)

    def _freedom(self) -> list[tuple[str, str]]:
        n, m = len(self.coordinates), self.rows
        allowed = f"{self.rank} of {m} row{'s' * (m > 1)} independent" if m else "no rows"
        if len(self.ranks) > 1:
            ranks = ", ".join(map(str, self.ranks))
            allowed += f" next to the start ({ranks} at the states that were tried)"
        for group in self.dependent:
            allowed += f"; {', '.join(group)} depend on each other"
        reach = "undecided" if self.configuration_freedom is None else self.configuration_freedom
        freedom = (
            f"{self.degrees_of_freedom} by velocities, {reach} by the places that can be reached"
        )
        lines = [
            ("coordinates", f"{n}: {', '.join(self.coordinates)}"),
            ("rank", allowed),
            ("degrees of freedom", freedom),
        ]
        if self.growth:
            space = "(q, t)" if self.growth_over_time else "q"
            lines.append(("growth", f"{self.growth} on {space}"))
        kept = [f for f in map(str, self.integrals) if f not in self._told_alone]
        if kept:
            lines.append(("kept constant", f"{', '.join(kept)}, by constraints together"))
        lines.append(("mass matrix", f"{self.mass_matrix}, rank {self.mass_rank} of {n}"))
        if self.rows:
            work = "yes: no reaction does virtual work" if self.ideal else "no: work is prescribed"
            admissible = "yes" if self.admissible else "no: rank(f_v) < rank[f_q f_v]"
            lines += [("admissible", admissible), ("ideal", work)]
            lines.append(("power of reactions", _POWER[self.workless]))
        return lines


def _sentence(facts: ConstraintFacts) -> str:
    """One constraint in a line."""
    words = [facts.kind, "rheonomic" if facts.rheonomic else "scleronomic"]
    if facts.kind not in ("unilateral", "friction"):
        words.append(_INTEGRABLE[facts.integrable])
        words.append("ideal" if facts.ideal else "not ideal")
        words.append(_POWER_OF_ONE[facts.workless])
    return ", ".join(words) + (f". {facts.note[0].upper()}{facts.note[1:]}" if facts.note else "")


def describe(
    system: System | Scenario, parameters: Values | None = None, start: Values | None = None
) -> Description:
    """Classify a system at generic consistent states.

    Parameters
    ----------
    system : System or Scenario
        For a `Flow`, the answer is a `FlowDescription`.
    parameters : mapping of symbol or name to value
        Missing ones take random values.
    start : mapping of symbol or name to value
        Where to look for states, for a model that is not defined everywhere.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> x, y, theta = da.coordinates("x y theta")
    >>> m, J = da.parameters("m J", positive=True)
    >>> blade = da.velocity(x.dot*sin(theta) - y.dot*cos(theta), name="blade")
    >>> kinetic = m / 2 * (x.dot**2 + y.dot**2) + J / 2 * theta.dot**2
    >>> skate = da.System([x, y, theta], kinetic=kinetic, constraints=[blade])
    >>> found = describe(skate)
    >>> found.constraints[0].integrable, found.growth, [item.name for item in found.conserved]
    (False, (2, 3), ['energy', 'p_theta'])
    """
    if isinstance(system.system if isinstance(system, Scenario) else system, Flow):
        from .flow_description import describe_flow

        return describe_flow(system, parameters, start)  # type: ignore[arg-type, return-value]
    stated, values, beginning = read_model(system, parameters, start)
    anatomy = take_apart(stated, values, beginning)
    constraints = classify(anatomy)
    energy, momenta = energy_verdict(anatomy), conserved_momenta(anatomy)
    conserved = [Conserved("energy", None, energy.grounds)] if energy.is_proved else []
    conserved += [item for item in momenta if item.status == "proved"]
    powers = [
        c.workless for c in constraints.constraints if c.kind not in ("unilateral", "friction")
    ]
    mass_matrix, mass_rank = mass_matrix_state(anatomy)
    independent, integrals = anatomy.rank, constraints.integrals
    return Description(
        name=stated.name,
        coordinates=tuple(q.name for q in stated.coordinates),
        constraints=constraints.constraints,
        rows=common(rows.shape[0] for rows in anatomy.every_row),
        rank=independent,
        ranks=anatomy.ranks,
        rank_status=_rank_status(anatomy),
        dependent=_dependent(anatomy, independent),
        degrees_of_freedom=len(stated.coordinates) - independent,
        configuration_freedom=None if integrals is None else len(stated.coordinates) - integrals,
        growth=constraints.growth,
        growth_over_time=constraints.over_time,
        mass_matrix=mass_matrix,
        mass_rank=mass_rank,
        admissible=_is_admissible(anatomy),
        ideal=all(c.ideal for c in constraints.constraints),
        workless=False if False in powers else None if None in powers else True,
        conserved=tuple(conserved),
        not_established=tuple(item for item in momenta if item.status != "proved"),
        energy=energy.grounds,
        energy_status=energy.status,
        forms=FormReasons(stated, mass_matrix),
        points=len(anatomy.samples),
        integrals=constraints.functions,
        degenerate=_degenerate(stated) if mass_matrix == SINGULAR else None,
    )


def _degenerate(system: System) -> DegenerateSystem | str | None:
    """What the Dirac-Bergmann algorithm says of a singular Lagrangian, or why it cannot."""
    if system.is_hamiltonian:
        return None
    if len(system.coordinates) > MOST_DEGENERATE:
        return f"{len(system.coordinates)} coordinates: ask da.dirac.bergmann, which takes longer"
    try:
        return bergmann(system)
    except DalembertError as error:
        return str(error)


@dataclass(frozen=True, eq=False)
class FormReasons(Mapping[str, str | None]):
    """What `form_reasons` finds of a system, when it is first read."""

    system: System
    mass_matrix: str

    def __getitem__(self, form: str) -> str | None:
        return form_reasons(self.system, self.mass_matrix)[form]

    def __iter__(self) -> Iterator[str]:
        return iter(form_reasons(self.system, self.mass_matrix))

    def __len__(self) -> int:
        return len(form_reasons(self.system, self.mass_matrix))

    def __repr__(self) -> str:
        return repr(form_reasons(self.system, self.mass_matrix))


def form_reasons(system: System, mass_matrix: str) -> dict[str, str | None]:
    """Every form with None where it applies, else with the reason why not."""
    key = ("form reasons", mass_matrix)
    return dict(system.cache.get(key, lambda: _form_reasons(system, mass_matrix)))


def _form_reasons(system: System, mass_matrix: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    algebra = GraphAlgebra()
    for form, error in applicability(system).items():
        found[form] = None if error is None else str(error)
        if error is not None:
            continue
        try:
            equations = derive(system, form)
            equations.blocks(algebra)
        except DalembertError as failure:
            found[form] = str(failure)
            continue
        by_momenta = any(isinstance(symbol, Momentum) for symbol in equations.state)
        if by_momenta and not system.is_hamiltonian and mass_matrix != REGULAR:
            reason = f"The Legendre transformation is singular: the mass matrix is {mass_matrix}."
            found[form] = reason
    return found


def _rank_status(anatomy: Anatomy) -> str:
    """Whether a larger rank than the one found is excluded everywhere."""
    if anatomy.image_frame is not None:
        return "not established"
    found = anatomy.kernel.algebra.rank(anatomy.rows).is_at_most(anatomy.rank)
    return "proved" if found.is_proved else "not established"


def mass_matrix_state(anatomy: Anatomy) -> tuple[str, int]:
    """The state and the rank of L_vv, or of H_pp."""
    n = len(anatomy.system.coordinates)
    metrics = anatomy.values(anatomy.kernel.graph.metric)
    found = common(_symmetric_rank(metric) for metric in metrics)
    if found == n:
        return REGULAR, found
    on_constraints = []
    for metric, rows in zip(metrics, anatomy.every_row, strict=True):
        allowed = rank(rows, GENERIC).null_space
        on_constraints.append(_symmetric_rank(allowed.T @ metric @ allowed) == allowed.shape[1])
    regular = common(on_constraints) and not anatomy.system.is_hamiltonian
    return (SINGULAR_BUT_REGULAR if regular else SINGULAR), found


def _symmetric_rank(matrix: Array) -> int:
    """The rank of a symmetric matrix, scaled to a diagonal of ones."""
    if not matrix.size:
        return 0
    diagonal = np.sqrt(np.abs(np.diag(matrix)))
    scale = np.where(diagonal > 0, diagonal, 1.0)
    return rank(matrix / np.outer(scale, scale), GENERIC).rank


def _is_admissible(anatomy: Anatomy) -> bool:
    """rank(f_v) = rank[f_q f_v]; the rank is the same in the symbols (q, p)."""
    if not anatomy.residual.numel():
        return True
    algebra = anatomy.kernel.algebra
    by_fibre = anatomy.values(algebra.jacobian(anatomy.residual, anatomy.fibre))
    by_place = anatomy.values(algebra.jacobian(anatomy.residual, anatomy.coordinates))
    narrow = common(rank(rows, GENERIC).rank for rows in by_fibre)
    pairs = zip(by_place, by_fibre, strict=True)
    return narrow == common(rank(np.hstack(pair), GENERIC).rank for pair in pairs)


def _dependent(anatomy: Anatomy, independent: int) -> tuple[tuple[str, ...], ...]:
    """For each row that depends on others, the names of all rows of that relation."""
    names = [c.name for c in anatomy.system.bilateral]
    image = anatomy.system.image
    for rows in anatomy.every_row:
        found = rank(rows, GENERIC)
        if found.rank != independent or found.rank == rows.shape[0]:
            continue
        labels = names + [image.name if image else ""] * (rows.shape[0] - len(names))
        kept = [int(k) for k in found.independent]
        groups = []
        for extra in sorted(set(range(rows.shape[0])) - set(kept)):
            members = [*kept, extra]
            relation = rank(rows[members].T, GENERIC).null_space[:, 0]
            weights = np.abs(relation) * np.linalg.norm(rows[members], axis=1)
            large = weights > 1e-8 * weights.max()
            partners = {labels[k] for k, is_large in zip(members, large, strict=True) if is_large}
            partners.add(labels[extra])
            groups.append(tuple(label for label in dict.fromkeys(labels) if label in partners))
        return tuple(dict.fromkeys(groups))
    return ()
