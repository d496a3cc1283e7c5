r"""Invariance of a system under an action: its energies, forces and constraints.

The conditions are those of `dalembert.analysis.symmetry.symmetry_conditions`. Each is tried at
random states, which can refute it; a proof by symbols within bounded work follows. A verdict says
what it rests on. The energies must be invariant at all states, as the theory of reduction asks, the
constraints only as a set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import sympy

from ...errors import ModelError
from ...geometry.actions import GroupAction, field_text
from ...model.scenario import Scenario
from ...model.system import System
from ...typing import Fields, Values
from ..anatomy import read_model
from ..proofs.bounded import PROVED
from ..tables import Report, Section
from .symmetry_conditions import Conditions, drawn_parameters, given_fields, given_parameters
from .symmetry_proofs import Proofs

__all__ = ["FieldCertificate", "Invariance", "PartVerdict", "certify", "invariance"]

#: A condition that fails by more than this, relative to its terms, does not hold.
ROUNDING = 1e-9


@dataclass(frozen=True)
class PartVerdict:
    """Whether one part of a system is invariant under one field.

    Attributes
    ----------
    part : str
        "Lagrangian", "Hamiltonian", "dissipation", "forces", "constraint `name`" or its "work".
    status : str
        "proved", "refuted" or "not established".
    by : str
        "symbolically", or what else was tried.
    residual : float
        The largest value of the condition at the states, relative to its terms.
    """

    part: str
    status: str
    by: str
    residual: float

    @property
    def holds(self) -> bool:
        """Whether it is proved to be invariant."""
        return self.status == "proved"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.status == "refuted":
            return f"not invariant: {self.residual:.1e} of its terms, {self.by}"
        if self.status == "not established":
            return f"not established: {self.by}"
        return f"invariant, {self.by}"


@dataclass(frozen=True)
class FieldCertificate:
    """The verdicts on one field.

    Attributes
    ----------
    field : matrix (n x 1)
    text : str
        The field as a derivation.
    parts : tuple of PartVerdict
    """

    field: sympy.MatrixBase
    text: str
    parts: tuple[PartVerdict, ...]

    @property
    def holds(self) -> bool:
        """Whether every part is proved to be invariant."""
        return all(part.holds for part in self.parts)

    @property
    def failing(self) -> tuple[PartVerdict, ...]:
        """The parts that are not invariant, or not shown to be."""
        return tuple(part for part in self.parts if not part.holds)

    @property
    def by(self) -> str:
        """What the certificate rests on: "symbolically" where every part is proved."""
        weaker = [part.by for part in self.parts if part.by != PROVED]
        return weaker[0] if weaker else PROVED

    @property
    def sentence(self) -> str:
        """The certificate in words."""
        if self.failing:
            return "; ".join(f"{part.part} {part.sentence}" for part in self.failing)
        return "invariant, symbolically"

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain data."""
        parts = [{"part": part.part, "holds": part.holds} | asdict(part) for part in self.parts]
        return {"field": self.text, "holds": self.holds, "by": self.by, "parts": parts}


@dataclass(frozen=True, repr=False)
class Invariance(Report):
    """The certificate of an action.

    Attributes
    ----------
    generators : mapping of basis name to FieldCertificate
    group : str
    name : str
        Of the system.
    """

    generators: Mapping[str, FieldCertificate]
    group: str
    name: str

    @property
    def holds(self) -> bool:
        """Whether the whole group is a symmetry."""
        return all(certificate.holds for certificate in self.generators.values())

    def _title(self) -> str:
        return self.name

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain data."""
        generators = {name: found.to_json() for name, found in self.generators.items()}
        return {"group": self.group, "holds": self.holds, "generators": generators}

    def _sections(self) -> list[Section]:
        verdict = "a symmetry" if self.holds else "not a symmetry"
        sections: list[Section] = [("Group", [(self.group, verdict)])]
        for name, certificate in self.generators.items():
            lines = [(part.part, part.sentence) for part in certificate.parts]
            sections.append((f"{name} = {certificate.text}", lines))
        return sections


def invariance(
    system: System | Scenario,
    action: GroupAction | Fields,
    parameters: Values | None = None,
    start: Values | None = None,
    n: int = 12,
) -> Invariance:
    """Whether an action is a symmetry of a system, generator by generator and part by part.

    Parameters
    ----------
    system : System or Scenario
    action : GroupAction, or mapping of name to field
        A field is a mapping of coordinate to expression, or a sequence of n expressions.
    parameters : mapping of symbol or name to value
        Parameters that are held at these values; the others are arbitrary.
    start : mapping of symbol or name to value
        States are drawn around it.
    n : int
        The number of random states for each of two sets of parameters.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> m, g = da.parameters("m g", positive=True)
    >>> ball = da.System([x, y], kinetic=m/2*(x.dot**2 + y.dot**2), potential=m*g*y)
    >>> found = invariance(ball, {"across": {x: 1}, "up": {y: 1}}).generators
    >>> found["across"].holds, found["up"].failing[0].part
    (True, 'Lagrangian')
    """
    stated, typical, beginning = read_model(system, None, start)
    fixed = given_parameters(stated, parameters)
    if isinstance(action, GroupAction):
        if [str(q) for q in action.coordinates] != [q.name for q in stated.coordinates]:
            names = ", ".join(q.name for q in stated.coordinates)
            what, seen = "The action is on other coordinates than the system's", action.coordinates
            remedy = f"make it with GroupAction(system, ...), on {names}"
            raise ModelError(what, ", ".join(map(str, seen)), remedy)
        fields = given_fields(stated, [action.fields[:, k] for k in range(action.dimension)])
        columns, group = dict(zip(action.algebra.names, fields, strict=True)), action.name
    else:
        columns = dict(zip(map(str, action), given_fields(stated, action.values()), strict=True))
        group = "the given fields"
    tests = [_drawn(stated, fixed, typical, beginning, n, seed) for seed in (1, 2)]
    proofs = Proofs(tests[0], fixed)
    certificates = certify(tests, proofs, list(columns.values()))
    return Invariance(dict(zip(columns, certificates, strict=True)), group, stated.name)


def _drawn(
    system: System,
    fixed: Mapping[str, float],
    typical: Mapping[str, float],
    start: Mapping[str, float],
    n: int,
    seed: int,
) -> Conditions:
    values = drawn_parameters(system, fixed, typical, np.random.default_rng(seed))
    return Conditions(system, values, start, free=n, consistent=n, seed=seed)


def certify(
    tests: Sequence[Conditions], proofs: Proofs | None, columns: Sequence[sympy.MatrixBase]
) -> list[FieldCertificate]:
    """The certificate of each field (n x 1): by `tests` at states, then by `proofs`."""
    if not columns:
        return []
    found = [list(test.on(sympy.Matrix.hstack(*columns))) for test in tests]
    certificates = []
    for k, field in enumerate(columns):
        parts = []
        for same in zip(*found, strict=True):
            residual = float(max(condition.residuals[k] for condition in same))
            parts.append(_verdict(tests, proofs, same[0].part, field, residual))
        text = field_text(field, tests[0].system.coordinates)
        certificates.append(FieldCertificate(field, text, tuple(parts)))
    return certificates


def _verdict(
    tests: Sequence[Conditions],
    proofs: Proofs | None,
    part: str,
    field: sympy.MatrixBase,
    residual: float,
) -> PartVerdict:
    tried = f"at {_states(tests, part)} random states"
    if residual > ROUNDING:
        return PartVerdict(part, "refuted", tried, residual)
    proved = proofs.verdict(part, field) if proofs is not None else None
    if proved is not None:
        return PartVerdict(part, "proved" if proved else "refuted", PROVED, residual)
    by = f"invariant {tried} (residual {residual:.1e}), without a proof"
    if part.startswith("constraint") and not all(test.is_regular for test in tests):
        by = "the derivatives of the constraints depend on each other on them"
    return PartVerdict(part, "not established", by, residual)


def _states(tests: Sequence[Conditions], part: str) -> int:
    on_constraints = part.startswith("constraint")
    return sum(len(test.consistent if on_constraints else test.anywhere) for test in tests)
