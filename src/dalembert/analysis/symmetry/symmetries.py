r"""All symmetries of a system that are affine in its coordinates, found by linear algebra and certified one by one.

The fields X = (A q + b) . d/dq, and any others that are proposed, meet the conditions of `symmetry_conditions` linearly: values
at many random states make a matrix whose null space is the Lie algebra of symmetries among them. It is brought to a readable
basis (`symmetry_basis`), every generator is certified by itself (`invariance`), brackets are added until there is nothing new,
and the Lie algebra is identified by its structure constants (`dalembert.geometry.lie_identify`).

Parameters are arbitrary: what holds only for special values of them is no symmetry here, unless these values are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ...errors import ModelError
from ...geometry.actions import GroupAction
from ...geometry.lie_algebra import LieAlgebra
from ...model.scenario import Scenario
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...typing import Symbols, Values, Vector
from ..anatomy import read_model
from ..overview.conserved import energy_verdict
from ..proofs.bounded import PROVED, Points
from ..tables import as_html, as_markdown, as_text
from .invariance import Certificate, certify
from .symmetry_basis import Recogniser, echelon
from .symmetry_conditions import Conditions, autonomous, drawn_parameters, given_fields, given_parameters
from .symmetry_group import Found, adapted, closed, group_name, moving_angles
from .symmetry_proofs import Proofs

__all__ = ["Symmetries", "discover_symmetries"]

#: With more coordinates only translations are tried.
MOST_COORDINATES = 16
#: How many sets of parameters the coefficients are read from.
SETS = 3
#: Rows of conditions below this part of the largest one are rounding; the rank of the others is decided with the second number.
NOISE, INDEPENDENT = 1e-7, 1e-8


@dataclass(frozen=True, repr=False)
class Symmetries:
    """The symmetry group of a system, as far as it was looked for.

    Attributes
    ----------
    generators : tuple of Certificate
        The fields that generate it, each with its certificate, factor by factor.
    algebra : LieAlgebra or None
        Of the group that acts from the left with these generators; None where brackets did not come to an end.
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
    rejected : tuple of Certificate
        Fields that the states suggested and their certificate refused.
    diagnostics : tuple of str
    ansatz : str
        Which fields were tried.
    """

    coordinates: tuple[Any, ...]
    generators: tuple[Certificate, ...]
    algebra: LieAlgebra | None
    identification: str
    group: str
    factors: tuple[tuple[str, tuple[int, ...]], ...]
    time_translation: bool
    energy: str
    rejected: tuple[Certificate, ...]
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
            raise ModelError("The generators do not close to a Lie algebra", remedy="choose some of them")
        columns = [sympy.Matrix(generator.field) for generator in self.generators]
        fields = sympy.Matrix.hstack(*columns) if columns else sympy.zeros(len(self.coordinates), 0)
        try:
            return GroupAction(self.coordinates, self.algebra, generators=fields)
        except ModelError as error:
            if symbols := sorted({s.name for s in fields.free_symbols} - {s.name for s in self.coordinates}):
                raise ModelError(
                    "The structure constants of these generators depend on parameters, and were found for drawn values of them",
                    seen=", ".join(symbols),
                    remedy="put numbers in the place of these parameters in the system, or choose generators without them",
                ) from error
            raise

    def text(self) -> str:
        """The symmetries as plain text."""
        return as_text(self.name, self._sections())

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self.name, self._sections())

    def _repr_markdown_(self) -> str:
        return as_markdown(self.name, self._sections())

    def to_json(self) -> dict[str, Any]:
        """The symmetries as plain data."""
        return {
            "group": self.group,
            "algebra": self.identification,
            "dimension": self.dimension,
            "generators": [generator.to_json() for generator in self.generators],
            "structure_constants": None if self.algebra is None else self.algebra.constants.tolist(),
            "factors": [{"name": name, "generators": list(places)} for name, places in self.factors],
            "time_translation": self.time_translation,
            "energy": self.energy,
            "rejected": [certificate.to_json() for certificate in self.rejected],
            "remarks": list(self.diagnostics),
            "ansatz": self.ansatz,
        }

    def _sections(self) -> list[tuple[str, list[tuple[str, str]]]]:
        head = [("group", self.group), ("Lie algebra", self.identification), ("tried", self.ansatz)]
        sections = [("Symmetry", head)]
        for name, places in self.factors:
            sections.append((name, [(self.generators[k].text, self.generators[k].sentence) for k in places]))
        shift = "a symmetry" if self.time_translation else "not a symmetry"
        sections.append(("Time", [("translation", shift), ("energy", self.energy)]))
        sections.append(("Refused", [(certificate.text, certificate.sentence) for certificate in self.rejected]))
        sections.append(("Remarks", [(f"{k + 1}", diagnostic) for k, diagnostic in enumerate(self.diagnostics)]))
        return sections


def discover_symmetries(
    system: System | Scenario,
    ansatz: Sequence[Values | Vector] = (),
    *,
    degree: int = 1,
    parameters: Values | None = None,
    start: Values | None = None,
    angles: Symbols | None = None,
) -> Symmetries:
    """The symmetries of a system among fields that are affine in its coordinates, and among proposed ones.

    Parameters
    ----------
    system : System or Scenario
        The parameters of a scenario only say where states are looked for.
    ansatz : sequence of fields
        Further fields: mappings of coordinate to expression, or sequences of n expressions. Any combination of them, and of
        affine ones, may be a symmetry.
    degree : int
        1 for affine fields, 0 for translations only.
    parameters : mapping of symbol or name to value
        Parameters that are held at these values; the others are arbitrary.
    start : mapping of symbol or name to value
        States are drawn around it.
    angles : sequence of coordinates
        Which coordinates are angles; by default those that occur only inside sines and cosines, drawings included.

    Examples
    --------
    >>> import dalembert as da
    >>> found = discover_symmetries(da.gallery.load("chaplygin-sleigh"))
    >>> found.group, [generator.text for generator in found.generators]
    ('SE(2)', ['d/dx', 'd/dy', 'd/dtheta - y d/dx + x d/dy'])
    """
    if degree not in (0, 1):
        raise ModelError("The degree of the fields must be 0 or 1", seen=repr(degree), remedy="propose others by ansatz=")
    stated, typical, beginning = read_model(system, None, start)
    fixed = given_parameters(stated, parameters)
    search = _Search(stated, fixed, typical, beginning, given_fields(stated, ansatz), degree)
    return search.result(moving_angles(system, angles))


class _Search:
    """The steps of the search, each from what the one before found."""

    def __init__(
        self,
        system: System,
        fixed: Mapping[str, float],
        typical: Mapping[str, float],
        start: Mapping[str, float],
        further: Sequence[Any],
        degree: int,
    ) -> None:
        self.system, self.fixed, self.diagnostics = system, dict(fixed), list[str]()
        n = len(system.coordinates)
        if degree == 1 and n > MOST_COORDINATES:
            degree = 0
            self.diagnostics.append(f"with more than {MOST_COORDINATES} coordinates only translations were tried")
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

    # -- fields --------------------------------------------------------------------------------------------------

    @cached_property
    def tables(self) -> list[tuple[Any, tuple[int, ...], Conditions]]:
        """The echelon form of the null space at every set of parameters where it is smallest."""
        found = [(*echelon(_null_space(test.on(self.basis), self.basis.cols)), test) for test in self.tests]
        least = min(len(table) for table, _, _ in found)
        same = [entry for entry in found if len(entry[0]) == least]
        return [entry for entry in same if entry[1] == same[0][1]]

    def candidates(self) -> list[tuple[Any, Any]]:
        """For each direction the field as it was recognised, or None, and the field with numbers for the first parameters."""
        recogniser = Recogniser(self.system.parameters, [self.all_values(test) for _, _, test in self.tables])
        tables = [table for table, _, _ in self.tables]
        found = []
        for k in range(len(tables[0])):
            entries = [recogniser.expression([table[k, j] for table in tables]) for j in range(self.basis.cols)]
            readable = None
            if all(entry is not None for entry in entries):
                readable = (self.basis * sympy.Matrix(entries)).applyfunc(sympy.expand)
            numbers = [entry if entry is not None and entry.is_Rational else sympy.Float(float(value))
                       for entry, value in zip(entries, tables[0][k], strict=True)]  # fmt: skip
            found.append((readable, (self.basis * sympy.Matrix(numbers)).applyfunc(sympy.expand)))
        return sorted(found, key=lambda pair: bool(pair[1].has(*self.system.coordinates)))  # translations first

    def all_values(self, test: Conditions) -> dict[str, float]:
        """Every parameter of the system, those that its equations do not contain included."""
        return {p.name: float(self.fixed.get(p.name, 1.0)) for p in self.system.parameters} | test.parameters

    def certified(self) -> tuple[list[Found], list[Certificate]]:
        """The fields whose certificates hold, and the others."""
        held, refused, first = list[Found](), list[Certificate](), self.tables[0][2]
        candidates = self.candidates()
        readable = iter(certify(self.tests, self.proofs, [known for known, _ in candidates if known is not None]))
        for known, numbers in candidates:
            certificate = next(readable) if known is not None else None
            if certificate is not None and certificate.holds:
                held.append(Found(known, certificate))
                continue
            if certificate is not None and any(part.by == PROVED for part in certificate.failing):
                refused.append(certificate)
                continue
            certificate = certify([first], None, [numbers])[0]
            if certificate.holds:
                held.append(Found(numbers, certificate))
                shown = ", ".join(f"{name} = {value:.4g}" for name, value in first.parameters.items())
                self.diagnostics.append(
                    f"the coefficients of {certificate.text} depend on the parameters in a way not recognised; here {shown}"
                )
            else:
                refused.append(certificate)
        return held, refused

    def _certify(self, field: Any) -> Certificate:
        return certify(self.tests, self.proofs, [field])[0]

    # -- the result ----------------------------------------------------------------------------------------------

    def result(self, angles: Sequence[Any]) -> Symmetries:
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
                "the derivatives of the constraints depend on each other where these hold: symmetries may be missing"
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
            return is_autonomous, f"conserved{between}" + ("" if is_autonomous else f": {energy.grounds}")
        answer = "not conserved" if energy.is_refuted else "not established"
        return is_autonomous, f"{answer}: {energy.grounds}"


def _affine_fields(coordinates: Sequence[Any], degree: int) -> Any:
    """Fields in columns: q_j d/dq_i, those with i behind j first, and then translations."""
    n, columns = len(coordinates), []
    if degree == 1:
        pairs = sorted(((i, j) for i in range(n) for j in range(n)), key=lambda pair: (pair[0] <= pair[1], pair))
        for i, j in pairs:
            column = sympy.zeros(n, 1)
            column[i] = coordinates[j]
            columns.append(column)
    return sympy.Matrix.hstack(*columns, sympy.eye(n))


def _independent(affine: Any, further: Sequence[Any]) -> Any:
    """Affine fields with those of the others that are no combinations of what is there already."""
    if not further:
        return affine
    whole = sympy.Matrix.hstack(affine, *further)
    values = Points(whole.cols + 4, seed=23).values(list(whole.T))
    if not len(values):
        raise ModelError("The proposed fields have no finite values", remedy="check where they are defined")
    table = values.reshape(len(values), whole.cols, whole.rows).transpose(1, 0, 2).reshape(whole.cols, -1)
    kept = list(range(affine.cols))
    for k in range(affine.cols, whole.cols):
        if rank(table[[*kept, k]], INDEPENDENT).rank == len(kept) + 1:
            kept.append(k)
    return whole[:, kept]


def _null_space(conditions: Sequence[Any], width: int) -> Any:
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
