r"""Affine symmetries of a system, found by linear algebra and certified one by one.

The fields X = (A q + b) . d/dq, and any others that are proposed, meet the conditions of
`symmetry_conditions` linearly: values at many random states make a matrix whose null space is the
Lie algebra of symmetries among them. It is brought to a readable basis (`symmetry_basis`), every
generator is certified by itself (`invariance`), brackets are added until there is nothing new, and
the Lie algebra is identified by its structure constants (`dalembert.geometry.lie_identify`).

Parameters are arbitrary: a symmetry holds for all values of those that are not given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import sympy

from ...errors import ModelError
from ...geometry.actions import GroupAction
from ...geometry.lie_algebra import LieAlgebra
from ...model.scenario import Scenario
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, Condition, Symbols, Values, Vector
from ..anatomy import read_model
from ..overview.conserved import energy_verdict
from ..proofs.bounded import PROVED, Points
from ..tables import Report, Section
from .invariance import FieldCertificate, certify
from .symmetry_basis import Recogniser, echelon
from .symmetry_conditions import (
    Conditions,
    autonomous,
    drawn_parameters,
    given_fields,
    given_parameters,
)
from .symmetry_group import FoundField, adapted, closed, group_name, moving_angles
from .symmetry_proofs import Proofs

__all__ = ["Symmetries", "discover_symmetries"]

#: With more coordinates only translations are tried.
MOST_COORDINATES = 16
#: How many sets of parameters the coefficients are read from.
SETS = 3
#: Rows of conditions below this part of the largest are rounding; the threshold of the rank.
NOISE, INDEPENDENT = 1e-7, 1e-8


@dataclass(frozen=True, repr=False)
class Symmetries(Report):
    """The symmetry group of a system, as far as it was searched for.

    Attributes
    ----------
    generators : tuple of FieldCertificate
        The fields that generate it, each with its certificate, factor by factor.
    algebra : LieAlgebra or None
        Of the group that acts from the left; None where brackets did not close.
    identification : str
        The Lie algebra, such as "R + se(2)".
    group : str
        The group, such as "SO(2) x SE(2)". A line is a circle where its flow is known to come back.
    factors : tuple of (str, tuple of int)
        The factors and the places of their generators.
    time_translation : bool
        Whether time occurs nowhere.
    energy : str
        What follows for the energy.
    rejected : tuple of FieldCertificate
        Fields that the states suggested and their certificate refuted.
    diagnostics : tuple of str
    ansatz : str
        Which fields were tried.
    """

    coordinates: tuple[sympy.Symbol, ...]
    generators: tuple[FieldCertificate, ...]
    algebra: LieAlgebra | None
    identification: str
    group: str
    factors: tuple[tuple[str, tuple[int, ...]], ...]
    time_translation: bool
    energy: str
    rejected: tuple[FieldCertificate, ...]
    diagnostics: tuple[str, ...]
    ansatz: str
    name: str = field(default="")

    @property
    def dimension(self) -> int:
        """The number of independent generators."""
        return len(self.generators)

    @cached_property
    def action(self) -> GroupAction:
        """The action of the Lie algebra on the coordinates."""
        if self.algebra is None:
            remedy = "choose some of them"
            raise ModelError("The generators do not close to a Lie algebra", remedy=remedy)
        columns = [sympy.Matrix(generator.field) for generator in self.generators]
        fields = sympy.Matrix.hstack(*columns) if columns else sympy.zeros(len(self.coordinates), 0)
        try:
            return GroupAction(self.coordinates, self.algebra, generators=fields)
        except ModelError as error:
            own = {symbol.name for symbol in self.coordinates}
            symbols = sorted({symbol.name for symbol in fields.free_symbols} - own)
            if symbols:
                what = "The structure constants of these generators depend on parameters"
                remedy = "put numbers for these parameters, or choose generators without them"
                raise ModelError(what, ", ".join(symbols), remedy) from error
            raise

    def _title(self) -> str:
        return self.name

    def to_json(self) -> dict[str, Any]:
        """The symmetries as plain data."""
        constants = None if self.algebra is None else self.algebra.constants.tolist()
        factors = [{"name": name, "generators": list(places)} for name, places in self.factors]
        return {
            "group": self.group,
            "algebra": self.identification,
            "dimension": self.dimension,
            "generators": [generator.to_json() for generator in self.generators],
            "structure_constants": constants,
            "factors": factors,
            "time_translation": self.time_translation,
            "energy": self.energy,
            "rejected": [certificate.to_json() for certificate in self.rejected],
            "remarks": list(self.diagnostics),
            "ansatz": self.ansatz,
        }

    def _sections(self) -> list[Section]:
        head = [("group", self.group), ("Lie algebra", self.identification), ("tried", self.ansatz)]
        sections: list[Section] = [("Symmetry", head)]
        for name, places in self.factors:
            own = [self.generators[k] for k in places]
            sections.append((name, [(generator.text, generator.sentence) for generator in own]))
        shift = "a symmetry" if self.time_translation else "not a symmetry"
        numbered = enumerate(self.diagnostics, start=1)
        return [
            *sections,
            ("Time", [("translation", shift), ("energy", self.energy)]),
            ("Refused", [(found.text, found.sentence) for found in self.rejected]),
            ("Remarks", [(f"{k}", diagnostic) for k, diagnostic in numbered]),
        ]


def discover_symmetries(
    system: System | Scenario,
    ansatz: Sequence[Values | Vector] = (),
    *,
    degree: int = 1,
    parameters: Values | None = None,
    start: Values | None = None,
    angles: Symbols | None = None,
) -> Symmetries:
    """The symmetries of a system among fields affine in its coordinates and proposed ones.

    Parameters
    ----------
    system : System or Scenario
        The parameters of a scenario only say where states are looked for.
    ansatz : sequence of fields
        Further fields: mappings of coordinate to expression, or sequences of n expressions, which
        may be combined with affine ones.
    degree : int
        1 for affine fields, 0 for translations only.
    parameters : mapping of symbol or name to value
        Parameters that are held at these values; the others are arbitrary.
    start : mapping of symbol or name to value
        States are drawn around it.
    angles : sequence of coordinates
        By default those that occur only inside sines and cosines, drawings included.

    Examples
    --------
    >>> import dalembert as da
    >>> found = discover_symmetries(da.gallery.load("chaplygin-sleigh"))
    >>> found.group, [generator.text for generator in found.generators]
    ('SE(2)', ['d/dx', 'd/dy', 'd/dtheta - y d/dx + x d/dy'])
    """
    if degree not in (0, 1):
        remedy = "propose others by ansatz="
        raise ModelError("The degree of the fields must be 0 or 1", repr(degree), remedy)
    stated, typical, beginning = read_model(system, None, start)
    fixed = given_parameters(stated, parameters)
    further = given_fields(stated, ansatz)
    search = _SymmetrySearch(stated, fixed, typical, beginning, further, degree)
    return search.result(moving_angles(system, angles))


class _SymmetrySearch:
    """The steps of the search, each from what the one before found."""

    def __init__(
        self,
        system: System,
        fixed: Mapping[str, float],
        typical: Mapping[str, float],
        start: Mapping[str, float],
        further: Sequence[sympy.MatrixBase],
        degree: int,
    ) -> None:
        self.system, self.fixed, self.diagnostics = system, dict(fixed), list[str]()
        n = len(system.coordinates)
        if degree == 1 and n > MOST_COORDINATES:
            degree = 0
            many = f"with more than {MOST_COORDINATES} coordinates"
            self.diagnostics.append(f"{many} only translations were tried")
        self.degree, self.further = degree, len(further)
        self.basis = _independent(_affine_fields(system.coordinates, degree), further)
        width = self.basis.cols
        rows = max(1, len(system.bilateral))
        counts = {"free": 2 * width + 6, "consistent": min(width, -(-3 * width // (2 * rows))) + 6}
        self.tests: list[Conditions] = []
        for seed in range(SETS if {p.name for p in system.parameters} - set(fixed) else 1):
            values = drawn_parameters(system, fixed, typical, np.random.default_rng(seed + 1))
            self.tests.append(Conditions(system, values, start, seed=seed + 1, **counts))
        self.proofs = Proofs(self.tests[0], self.fixed)

    # -- fields ------------------------------------------------------------------------------------

    @cached_property
    def tables(self) -> list[tuple[Array, tuple[int, ...], Conditions]]:
        """The echelon form of the null space at every set of parameters where it is smallest."""
        width = self.basis.cols
        spaces = ((_null_space(test.on(self.basis), width), test) for test in self.tests)
        found = [(*echelon(space), test) for space, test in spaces]
        least = min(len(table) for table, _, _ in found)
        same = [entry for entry in found if len(entry[0]) == least]
        return [entry for entry in same if entry[1] == same[0][1]]

    def candidates(self) -> list[tuple[sympy.Matrix | None, sympy.Matrix]]:
        """For each direction the recognised field, or None, and the field with numbers."""
        values = [self.all_values(test) for _, _, test in self.tables]
        recogniser = Recogniser(self.system.parameters, values)
        tables = [table for table, _, _ in self.tables]
        found = []
        for k in range(len(tables[0])):
            columns = [[table[k, j] for table in tables] for j in range(self.basis.cols)]
            entries = [recogniser.expression(column) for column in columns]
            readable = None
            if all(entry is not None for entry in entries):
                readable = (self.basis * sympy.Matrix(entries)).applyfunc(sympy.expand)
            numbers = []
            for entry, value in zip(entries, tables[0][k], strict=True):
                is_exact = entry is not None and entry.is_Rational
                numbers.append(entry if is_exact else sympy.Float(float(value)))
            found.append((readable, (self.basis * sympy.Matrix(numbers)).applyfunc(sympy.expand)))
        coordinates = self.system.coordinates
        return sorted(found, key=lambda pair: bool(pair[1].has(*coordinates)))  # translations first

    def all_values(self, test: Conditions) -> dict[str, float]:
        """Every parameter of the system, those that its equations do not contain included."""
        given = {p.name: float(self.fixed.get(p.name, 1.0)) for p in self.system.parameters}
        return given | test.parameters

    def certified(self) -> tuple[list[FoundField], list[FieldCertificate]]:
        """The fields whose certificates hold, and the others."""
        held, refused, first = list[FoundField](), list[FieldCertificate](), self.tables[0][2]
        candidates = self.candidates()
        known_fields = [known for known, _ in candidates if known is not None]
        readable = iter(certify(self.tests, self.proofs, known_fields))
        for known, numbers in candidates:
            certificate = next(readable) if known is not None else None
            if certificate is not None and certificate.holds:
                held.append(FoundField(known, certificate))
                continue
            if certificate is not None and any(part.by == PROVED for part in certificate.failing):
                refused.append(certificate)
                continue
            certificate = certify([first], None, [numbers])[0]
            if certificate.holds:
                held.append(FoundField(numbers, certificate))
                values = first.parameters.items()
                shown = ", ".join(f"{name} = {value:.4g}" for name, value in values)
                depends = "depend on the parameters in a way not recognised"
                text = f"the coefficients of {certificate.text} {depends}; here {shown}"
                self.diagnostics.append(text)
            else:
                refused.append(certificate)
        return held, refused

    def _certify(self, field: sympy.MatrixBase) -> FieldCertificate:
        return certify(self.tests, self.proofs, [field])[0]

    # -- the result --------------------------------------------------------------------------------

    def result(self, angles: Sequence[sympy.Symbol]) -> Symmetries:
        held, refused = self.certified()
        coordinates, first = self.system.coordinates, self.tables[0][2]
        values = self.all_values(first)
        held, constants = closed(held, coordinates, values, self._certify)
        algebra, factors = None, list[tuple[str, tuple[int, ...]]]()
        identification = group = "the brackets of these fields do not come to an end"
        if constants is not None:
            algebra = LieAlgebra(tuple(f"e{k + 1}" for k in range(len(held))), -constants)
            held, algebra, factors = adapted(held, algebra, coordinates, self._certify)
            identification = algebra.identify().name
            group = group_name(held, factors, coordinates, angles, values)
        if not factors and held:
            factors = [("Generators", tuple(range(len(held))))]
        if not all(test.is_regular for test in self.tests):
            self.diagnostics.append(
                "the derivatives of the constraints depend on each other where these hold:"
                " symmetries may be missing"
            )
        translation, energy = self._time(first)
        tried = "translations" if self.degree == 0 else "affine fields"
        return Symmetries(
            coordinates=coordinates,
            generators=tuple(entry.certificate for entry in held),
            algebra=algebra,
            identification=identification,
            group=group,
            factors=tuple(factors),
            time_translation=translation,
            energy=energy,
            rejected=tuple(refused),
            diagnostics=tuple(self.diagnostics),
            ansatz=f"{tried} and {self.further} further ones" if self.further else tried,
            name=self.system.name,
        )

    def _time(self, test: Conditions) -> tuple[bool, str]:
        is_autonomous = autonomous(self.system)
        energy = energy_verdict(test.anatomy)
        if energy.is_proved:
            between = " between impacts" if self.system.unilateral else ""
            if any(c.has_friction for c in self.system.unilateral):
                between += " without friction"
            why = "" if is_autonomous else f": {energy.grounds}"
            return is_autonomous, f"conserved{between}{why}"
        answer = "not conserved" if energy.is_refuted else "not established"
        return is_autonomous, f"{answer}: {energy.grounds}"


def _affine_fields(coordinates: Sequence[sympy.Symbol], degree: int) -> sympy.Matrix:
    """Fields in columns: q_j d/dq_i, those with i behind j first, and then translations."""
    n, columns = len(coordinates), []
    if degree == 1:
        every = product(range(n), repeat=2)
        pairs = sorted(every, key=lambda pair: (pair[0] <= pair[1], pair))
        for i, j in pairs:
            column = sympy.zeros(n, 1)
            column[i] = coordinates[j]
            columns.append(column)
    return sympy.Matrix.hstack(*columns, sympy.eye(n))


def _independent(affine: sympy.MatrixBase, further: Sequence[sympy.MatrixBase]) -> sympy.MatrixBase:
    """Affine fields with those of the others that are no combinations of what is there already."""
    if not further:
        return affine
    whole = sympy.Matrix.hstack(affine, *further)
    values = Points(whole.cols + 4, seed=23).values(list(whole.T))
    if not len(values):
        remedy = "check where they are defined"
        raise ModelError("The proposed fields have no finite values", remedy=remedy)
    by_point = values.reshape(len(values), whole.cols, whole.rows)
    table = by_point.transpose(1, 0, 2).reshape(whole.cols, -1)
    kept = list(range(affine.cols))
    for k in range(affine.cols, whole.cols):
        if rank(table[[*kept, k]], INDEPENDENT).rank == len(kept) + 1:
            kept.append(k)
    return whole[:, kept]


def _null_space(conditions: Sequence[Condition], width: int) -> Any:
    """The combinations that meet all conditions, in rows (d, K)."""
    rows = []
    for condition in conditions:
        finite = condition.rows[np.all(np.isfinite(condition.rows), axis=1)]
        size = float(np.max(condition.sizes[np.isfinite(condition.sizes)], initial=0.0))
        if size > 0:
            scaled = finite / size
            rows.append(scaled[np.linalg.norm(scaled, axis=1) > NOISE])
    matrix = np.vstack(rows) if rows else np.zeros((1, width))
    return rank(matrix, INDEPENDENT).null_space.T
