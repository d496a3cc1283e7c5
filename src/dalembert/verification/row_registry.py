"""Where the rows of the table are registered, and the judge that turns residuals into verdicts.

A row is a function without arguments that computes a residual, registered with its id, what it claims and how it is
recomputed::

    @claim("U-23", "H_pp is the inverse of the mass matrix", how="library Hessian against complex-step Hessian")
    def inverse_mass_matrix() -> float:
        ...

It returns one number where the print is right, and a `Corrected` pair where it is not.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ..errors import DalembertError, ModelError, nearest

__all__ = ["SEPARATION", "Claim", "Corrected", "Row", "Verdict", "claim", "identifiers", "judge", "registered", "rows"]

Verdict = Literal["reproduced", "reproduced with correction", "not reproduced"]

#: How much larger than the tolerance the residual of a printed form must be before the print counts as wrong.
SEPARATION = 100.0

#: The source documents by symbol, with the modules that hold their rows, in the order of the table.
_DOCUMENTS: dict[str, tuple[str, ...]] = {
    "U": (
        "udwadia.explicit_equations",
        "udwadia.constrained_motion",
        "udwadia.section_remarks",
        "udwadia.particle_examples",
        "udwadia.incline_example",
        "udwadia.double_pendulum_example",
        "udwadia.control_requirements",
    ),
    "G": (
        "gavin.lagrange_equations",
        "gavin.hamilton_principle",
        "gavin.elastic_pendulum_sections",
        "gavin.holonomic_constraints",
        "gavin.velocity_constraints",
        "gavin.gauss_principle",
    ),
    "M": (
        "moreau_van_der_schaft.pontryagin_extremals",
        "moreau_van_der_schaft.costate_elimination",
        "moreau_van_der_schaft.homomorphism",
        "moreau_van_der_schaft.dirac_on_bundles",
        "moreau_van_der_schaft.linked_particles_example",
        "moreau_van_der_schaft.bar_example",
        "moreau_van_der_schaft.generalised_dirac",
    ),
    "R": (
        "rumyantsev.transitivity_equations",
        "rumyantsev.quasi_coordinates",
        "rumyantsev.hamilton_principle_forms",
        "rumyantsev.hamel_equations",
        "rumyantsev.voronets_in_quasi_coordinates",
        "rumyantsev.canonical_voronets_section",
        "rumyantsev.lagrange_problem",
        "rumyantsev.examples_4",
        "rumyantsev.hamilton_jacobi_section",
    ),
    "B": (
        "bloch.section_2_1_existence",
        "bloch.section_2_9_connections",
        "bloch.section_3_7_momentum",
        "bloch.section_3_13_planar_bodies",
        "bloch.section_3_13_planar_bodies_stability",
        "bloch.section_3_13_planar_bodies_chain",
        "bloch.section_3_13_planar_bodies_three",
        "bloch.section_4_7_control_systems",
        "bloch.section_5_2_constrained_lagrangian",
        "bloch.section_5_3_invariant",
        "bloch.section_5_3_invariant_constraints",
        "bloch.section_5_3_invariant_existence",
        "bloch.section_5_5_horizontal_symmetries",
        "bloch.section_5_5_nonholonomic_connection",
        "bloch.section_5_8_reduced_equations",
        "bloch.section_5_9_hamiltonian_side",
        "bloch.section_5_9_snakeboard",
        "bloch.section_5_9_hamiltonian_reduction",
        "bloch.section_5_9_reduction_proof",
        "bloch.section_5_9_reduced_structure",
        "bloch.section_5_9_snakeboard_reduced",
        "bloch.section_5_9_snakeboard_shape",
        "bloch.section_5_9_bicycle",
        "bloch.section_5_9_bicycle_motion",
        "bloch.section_6_3_so_stabilisation",
        "bloch.section_6_6_knife_edge",
        "bloch.section_7_7_orbits",
        "bloch.section_7_7_orbit_geodesics",
        "bloch.section_7_7_symmetric_spaces",
        "bloch.section_7_7_two_sided",
        "bloch.section_7_7_spheres",
        "bloch.section_7_7_rigid_bodies",
        "bloch.section_7_7_rotation_pairs",
        "bloch.section_7_7_discrete_bodies",
        "bloch.section_7_7_toda",
        "bloch.section_7_7_toda_motion",
        "bloch.section_9_4_routhian",
        "bloch.section_9_4_matching",
        "bloch.section_9_4_controlled_routhian",
    ),
}


@dataclass(frozen=True)
class Corrected:
    """The residuals of the corrected form of a result and of the form in print."""

    residual: float
    printed: float


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    id : str
        Symbol of the document and equation or section, such as ``U-36``.
    claim : str
        What holds (the corrected statement where the print is wrong).
    how : str
        How it was recomputed.
    residual : float
        What is left of the claim.
    printed_residual : float or None
        What is left of the statement in print; None where the print is right.
    verdict : "reproduced", "reproduced with correction" or "not reproduced"
    """

    id: str
    claim: str
    how: str
    residual: float
    printed_residual: float | None
    verdict: Verdict


@dataclass(frozen=True)
class Claim:
    """A registered row before it is computed; `tolerance` is the largest residual that counts as agreement."""

    id: str
    claim: str
    how: str
    tolerance: float
    compute: Callable[[], float | Corrected]

    def row(self) -> Row:
        """Compute and judge; what cannot be computed is not reproduced."""
        try:
            outcome = self.compute()
        except (DalembertError, ArithmeticError, LookupError, ValueError) as error:
            return Row(self.id, self.claim, f"{self.how}; stopped: {error}", math.inf, None, "not reproduced")
        found = outcome if isinstance(outcome, Corrected) else None
        residual = float(found.residual if found else outcome)  # type: ignore[arg-type]
        printed = float(found.printed) if found else None
        return Row(self.id, self.claim, self.how, residual, printed, judge(residual, printed, self.tolerance))


def judge(residual: float, printed: float | None, tolerance: float) -> Verdict:
    """The verdict on two residuals.

    A correction counts only where the printed form fails by more than `SEPARATION` tolerances.

    >>> judge(1e-14, None, 1e-10), judge(1e-14, 0.3, 1e-10), judge(0.3, None, 1e-10)
    ('reproduced', 'reproduced with correction', 'not reproduced')
    """
    if not residual <= tolerance:
        return "not reproduced"
    if printed is None:
        return "reproduced"
    return "reproduced with correction" if printed > SEPARATION * tolerance else "not reproduced"


_CLAIMS: dict[str, Claim] = {}


def claim(
    identifier: str, statement: str, *, how: str, tolerance: float = 1e-10
) -> Callable[[Callable[[], float | Corrected]], Callable[[], float | Corrected]]:
    """Register the decorated function as the row `identifier`."""

    def register(compute: Callable[[], float | Corrected]) -> Callable[[], float | Corrected]:
        if identifier in _CLAIMS and _CLAIMS[identifier].compute.__qualname__ != compute.__qualname__:
            raise ModelError(f"Two rows are called `{identifier}`", remedy="give one of them another id")
        _CLAIMS[identifier] = Claim(identifier, statement, how, tolerance, compute)
        return compute

    return register


def registered(documents: Iterable[str] | None = None) -> tuple[Claim, ...]:
    """The claims of some documents by symbol, or of all, in the order of the table."""
    symbols = tuple(_DOCUMENTS) if documents is None else tuple(documents)
    for symbol in symbols:
        for module in _DOCUMENTS[symbol]:
            importlib.import_module(f"{__package__}.{module}")
    return tuple(item for symbol in symbols for item in _CLAIMS.values() if item.id.split("-")[0] == symbol)


def identifiers() -> tuple[str, ...]:
    """The ids of all rows, in the order of the table."""
    return tuple(item.id for item in registered())


def rows(ids: Iterable[str] | str | None = None) -> Iterator[Row]:
    """The rows of the table, each computed when it is asked for.

    Parameters
    ----------
    ids : sequence of str, optional
        Ids of rows (``"U-36"``) or codes of documents (``"U"``); all rows by default.

    Raises
    ------
    ModelError
        At once, where an id is unknown; the message names the nearest one.
    """
    wanted = _selected(None if ids is None else [ids] if isinstance(ids, str) else list(ids))
    return (item.row() for item in wanted)


def _selected(ids: list[str] | None) -> list[Claim]:
    if ids is None:
        return list(registered())
    chosen: dict[str, Claim] = {}
    for wanted in ids:
        symbol = wanted.split("-")[0].upper()
        known = {item.id.lower(): item for item in registered([symbol] if symbol in _DOCUMENTS else None)}
        if wanted.upper() in _DOCUMENTS:
            chosen |= {item.id: item for item in known.values()}
        elif wanted.lower() in known:
            item = known[wanted.lower()]
            chosen[item.id] = item
        else:
            near = nearest(wanted.lower(), known)
            raise ModelError(
                f"There is no result `{wanted[:80]}`",
                remedy=f"did you mean {known[near].id}" if near else f"name a row or one of {', '.join(_DOCUMENTS)}",
            )
    return list(chosen.values())
