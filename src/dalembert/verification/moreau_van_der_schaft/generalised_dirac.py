"""Moreau and van der Schaft, Implicit Lagrangian equations, appendix: generalised Dirac structures (50 to 54).

Random linear structures: graphs of two-forms, restricted to subspaces of every rank. The library gives `DiracStructure`, the
independent implementation spans and annihilators by singular values. Energies are random cubic polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...analysis.symmetry.dirac_structures import dirac_residual
from ...errors import ModelError
from ...geometry.dirac import DiracStructure
from ...geometry.two_forms import is_closed
from ...integrate.simulate import simulate
from ..numeric import derivative, distance, excess, largest, null_space, worst
from ..row_registry import claim

SIZE = 6
APART = 1e-3
RANDOM = "random two-forms, restricted to random subspaces of every rank"


def _form(random: Any, rank: int = SIZE) -> Any:
    """A random skew matrix (6, 6) of even rank."""
    map_to = random.uniform(-1, 1, (rank, SIZE))
    inner = random.uniform(-1, 1, (rank, rank))
    return map_to.T @ (inner - inner.T) @ map_to


def _restricted() -> Iterator[tuple[Any, Any]]:
    """Two-forms of rank 2, 4 and 6 with spanning columns of subspaces of dimension 0 to 6, some columns dependent."""
    random = np.random.default_rng(54)
    for rank in (2, 4, 6):
        for dimension in range(SIZE + 1):
            basis = random.uniform(-1, 1, (SIZE, dimension))
            yield (
                _form(random, rank),
                basis @ random.uniform(-1, 1, (dimension, dimension + 2)) if dimension else np.zeros((SIZE, 1)),
            )


def _by_hand(omega: Any, sigma: Any) -> Any:
    """Columns (W, beta) that span {W in Sigma, beta - omega W in ann Sigma}, by singular values (12, 6)."""
    if not np.any(sigma):
        inside, outside = np.zeros((SIZE, 0)), np.eye(SIZE)
    else:
        outside = null_space(sigma.T)
        inside = null_space(outside.T) if outside.size else np.eye(SIZE)
    return np.block([[inside, np.zeros((SIZE, outside.shape[1]))], [omega @ inside, outside]])


def _over(residual: Callable[[Any, Any, DiracStructure], float]) -> float:
    return worst(residual(omega, sigma, DiracStructure.induced(omega, sigma)) for omega, sigma in _restricted())


def _is_refused(flows: Any, efforts: Any) -> float:
    try:
        DiracStructure(flows, efforts)
    except ModelError:
        return 0.0
    return 1.0


@claim(
    "M-Definition-1",
    "A Dirac structure on m dimensions is a subspace of m dimensions of pairs (W, beta) on which <W, beta> vanishes; pairs"
    " that span fewer, or exchange power, are none",
    how=f"{RANDOM}: dimension and pairing of the library's bases; its refusal of five pairs, and of pairs with power",
)
def dirac_structure_defined() -> float:
    def residual(omega: Any, sigma: Any, found: DiracStructure) -> float:
        pairs = np.vstack(found.image)
        missing = SIZE - np.linalg.matrix_rank(pairs, tol=1e-9)
        exchanged = found.flows.T @ found.efforts
        few = _is_refused(found.flows[:, :5], found.efforts[:, :5])
        return largest(missing, worst((exchanged + exchanged.T).ravel()), few, _is_refused(np.eye(SIZE), np.eye(SIZE)))

    return _over(residual)


@claim(
    "M-50",
    "<W, beta> = 0 for every pair of the structure, not only for those of a basis",
    how=f"{RANDOM}: power of random combinations of the library's basis, and of pairs it projects random ones to",
)
def no_power() -> float:
    random = np.random.default_rng(50)

    def residual(omega: Any, sigma: Any, found: DiracStructure) -> float:
        c = random.uniform(-1, 1, SIZE)
        flow, effort = found.project(*random.uniform(-1, 1, (2, SIZE)))
        return largest((found.flows @ c) @ (found.efforts @ c), flow @ effort)

    return _over(residual)


def _energy_derivative(m: Any) -> Any:
    """dH of the cubic H = |m|^2 / 2 + m1 m2 m3 / 3 - m4^3 / 5 + m5 m6^2 / 4, by complex steps (6,)."""
    return derivative(lambda y: np.sum(y**2) / 2 + y[0] * y[1] * y[2] / 3 - y[3] ** 3 / 5 + y[4] * y[5] ** 2 / 4, m)


@claim(
    "M-Definition-2",
    "An implicit Hamiltonian system is a space, a Dirac structure and an energy; its dynamics are (m_dot, dH) in D",
    how="library motions of the linked particles, the rolling disk and the nonholonomic particle: distance of (rates, dH) from"
    " the library's structure at each time",
    tolerance=1e-9,
)
def implicit_hamiltonian_systems() -> float:
    names = ("linked-particles", "rolling-disk", "nonholonomic-particle")
    return worst(dirac_residual(simulate(gallery.load(name), at=np.linspace(0, 0.5, 5), span=(0, 0.5))).max() for name in names)


@claim(
    "M-51",
    "(m_dot, dH) in D conserves H: every m_dot that the structure pairs with dH does no work",
    how=f"{RANDOM} at random states of a cubic energy: all flows of the library's structure with dH as effort, where there are"
    " any",
)
def energy_is_conserved() -> float:
    random, counts = np.random.default_rng(51), []

    def residual(omega: Any, sigma: Any, found: DiracStructure) -> float:
        derivative_of_energy = _energy_derivative(random.uniform(-1, 1, SIZE))
        of_flows, of_efforts = found.kernel
        flow = np.linalg.lstsq(of_flows, -of_efforts @ derivative_of_energy, rcond=None)[0]
        if worst(of_flows @ flow + of_efforts @ derivative_of_energy) > 1e-9:
            return 0.0
        counts.append(flow)
        return largest(flow @ derivative_of_energy, float(found.residual(flow, derivative_of_energy)))

    return largest(_over(residual), excess(5.0 - len(counts)))


@claim(
    "M-Definition-3",
    "A presymplectic structure is the graph of a closed two-form, regular or not",
    how="random two-forms of rank 2, 4 and 6: the library's verdict and matrix; of two fields of two-forms the library calls"
    " that closed whose exterior derivative vanishes by complex steps",
)
def presymplectic() -> float:
    random, found = np.random.default_rng(3), []
    for rank in (2, 4, 6):
        omega = _form(random, rank)
        graph = DiracStructure.from_two_form(omega)
        found += [float(not graph.is_presymplectic), distance(graph.two_form(), omega)]
        restricted = DiracStructure.induced(omega, np.eye(SIZE, 4))
        found.append(float(restricted.is_presymplectic))
    x, y, z = sympy.symbols("x y z", real=True)
    for entries in ([0, sympy.sin(x), y * x], [0, z, x**2]):
        matrix = sympy.Matrix([[0, entries[0], entries[1]], [-entries[0], 0, entries[2]], [-entries[1], -entries[2], 0]])
        value = sympy.lambdify([x, y, z], matrix, "numpy")
        found.append(float(is_closed(matrix, [x, y, z]) != (_cyclic(value, random) < 1e-12)))
    return worst(found)


def _cyclic(matrix: Callable[..., Any], random: Any) -> float:
    """(d omega)_123 at a random point, by complex steps."""
    table = derivative(lambda w: np.array(matrix(*w)).ravel(), random.uniform(0.3, 1, 3)).reshape(3, 3, 3)
    return abs(float(table[1, 2, 0] + table[2, 0, 1] + table[0, 1, 2]))


@claim(
    "M-52",
    "On a presymplectic structure the dynamics read dH = omega m_dot",
    how="random two-forms of rank 2, 4 and 6: omega W of random flows against efforts of the library's graph, and no other"
    " effort",
)
def presymplectic_dynamics() -> float:
    random, found = np.random.default_rng(52), []
    for rank in (2, 4, 6):
        omega = _form(random, rank)
        graph, flow = DiracStructure.from_two_form(omega), random.uniform(-1, 1, SIZE)
        found.append(float(graph.residual(flow, omega @ flow)))
        found.append(excess(APART - float(graph.residual(flow, omega @ flow + np.eye(SIZE)[0]))))
    return worst(found)


@claim(
    "M-Definition-4",
    "A symplectic structure is a presymplectic one with a regular two-form",
    how="random two-forms of rank 2, 4 and 6: the library's verdict against the rank by singular values",
)
def symplectic() -> float:
    random, found = np.random.default_rng(4), []
    for rank in (2, 4, 6):
        omega = _form(random, rank)
        regular = np.linalg.matrix_rank(omega, tol=1e-9) == SIZE
        found.append(float(DiracStructure.from_two_form(omega).is_symplectic != regular))
    return worst(found)


@claim(
    "M-53",
    "On a symplectic structure the dynamics read m_dot = omega^-1 dH; with canonical symbols that is Hamilton's equation",
    how="random regular two-forms: the library's bivector in omega m_dot = dH; the canonical form, whose omega takes"
    " (x_dot, p_dot) to (-p_dot, x_dot)",
)
def symplectic_dynamics() -> float:
    random, found = np.random.default_rng(53), []
    for _ in range(3):
        omega, derivative_of_energy = _form(random), _energy_derivative(random.uniform(-1, 1, SIZE))
        flow = DiracStructure.from_two_form(omega).bivector() @ derivative_of_energy
        found += [distance(omega @ flow, derivative_of_energy), flow @ derivative_of_energy]
    canonical = np.block([[np.zeros((3, 3)), -np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
    effort = _energy_derivative(random.uniform(-1, 1, SIZE))
    flow = DiracStructure.from_two_form(canonical).bivector() @ effort
    return worst([*found, distance(flow, np.concatenate([effort[3:], -effort[:3]]))])


@claim(
    "M-54",
    "D = {(W, beta) : W in Sigma, beta - omega W in ann Sigma}",
    how=f"{RANDOM}: sine of the largest angle between the library's structure and the span made by singular values",
)
def induced_structure() -> float:
    def residual(omega: Any, sigma: Any, found: DiracStructure) -> float:
        pairs = _by_hand(omega, sigma)
        return found.distance(DiracStructure.from_image(pairs[:SIZE], pairs[SIZE:]))

    return _over(residual)


@claim(
    "M-Lemma-1",
    "That is a Dirac structure for every two-form and every subspace: its dimension is that of the space whatever the ranks"
    " are, and no pair has power",
    how=f"{RANDOM}: rank and pairing of the independent implementation's span; dimension, isotropy and admissible flows of "
    "the library's",
)
def lemma() -> float:
    def residual(omega: Any, sigma: Any, found: DiracStructure) -> float:
        pairs = _by_hand(omega, sigma)
        power = pairs[:SIZE].T @ pairs[SIZE:]
        wanted = np.linalg.matrix_rank(sigma, tol=1e-9)
        return largest(
            np.linalg.matrix_rank(pairs, tol=1e-9) - SIZE,
            found.dimension - SIZE,
            found.isotropy,
            worst((power + power.T).ravel()),
            found.admissible_flows.shape[1] - wanted,
        )

    return _over(residual)
