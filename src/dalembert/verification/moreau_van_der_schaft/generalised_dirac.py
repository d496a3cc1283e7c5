"""Moreau and van der Schaft, appendix: generalised Dirac structures (eqs. 50 to 54).

Random linear structures: graphs of two-forms, restricted to subspaces of every rank. The library
gives `DiracStructure`, the independent implementation spans and annihilators by singular values.
Energies are random cubic polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import sympy

from ... import gallery
from ...analysis.symmetry.dirac_structures import dirac_residual
from ...errors import ModelError
from ...geometry.dirac import DiracStructure
from ...geometry.two_forms import is_closed
from ...integrate.simulate import simulate
from ...typing import Array
from ..numeric import Residual, Residuals, derivative, distance, excess, null_space, worst
from ..row_registry import listed
from ..samples import Generator, Sampler

SIZE = 6
APART = 1e-3
RANKS = (2, 4, 6)


class Restricted(NamedTuple):
    """A two-form omega and columns that span a subspace, some of them dependent."""

    omega: Array
    sigma: Array

    @property
    def structure(self) -> DiracStructure:
        """The library's structure, by lemma 1."""
        return DiracStructure.induced(self.omega, self.sigma)

    @property
    def pairs(self) -> Array:
        """Columns (W, beta) that span {W in Sigma, beta - omega W in ann Sigma} (12, 6)."""
        inside, outside = np.zeros((SIZE, 0)), np.eye(SIZE)
        if np.any(self.sigma):
            outside = null_space(self.sigma.T)
            inside = null_space(outside.T) if outside.size else np.eye(SIZE)
        zero = np.zeros((SIZE, outside.shape[1]))
        return np.block([[inside, zero], [self.omega @ inside, outside]])


def _form(random: Generator, rank: int = SIZE) -> Array:
    """A random skew matrix (6, 6) of even rank."""
    map_to = random.uniform(-1, 1, (rank, SIZE))
    inner = random.uniform(-1, 1, (rank, rank))
    return map_to.T @ (inner - inner.T) @ map_to


def _restricted(_: str) -> Iterator[Restricted]:
    random = np.random.default_rng(54)
    for rank in RANKS:
        for dimension in range(SIZE + 1):
            basis, form = random.uniform(-1, 1, (SIZE, dimension)), _form(random, rank)
            mixed = basis @ random.uniform(-1, 1, (dimension, dimension + 2))
            yield Restricted(form, mixed if dimension else np.zeros((SIZE, 1)))


restricted = Sampler(_restricted)


def _is_refused(flows: Array, efforts: Array) -> float:
    try:
        DiracStructure(flows, efforts)
    except ModelError:
        return 0.0
    return 1.0


@listed("M-Definition-1", over=restricted)
def dirac_structure_defined(s: Restricted) -> Residual:
    found = s.structure
    missing = float(SIZE - np.linalg.matrix_rank(np.vstack(found.image), tol=1e-9))
    exchanged = found.flows.T @ found.efforts
    few = _is_refused(found.flows[:, :5], found.efforts[:, :5])
    return missing, exchanged + exchanged.T, few, _is_refused(np.eye(SIZE), np.eye(SIZE))


@listed("M-50")
def no_power() -> Residual:
    random = np.random.default_rng(50)

    def residual(s: Restricted) -> Residual:
        c, found = random.uniform(-1, 1, SIZE), s.structure
        flow, effort = found.project(*random.uniform(-1, 1, (2, SIZE)))
        return (found.flows @ c) @ (found.efforts @ c), flow @ effort

    return restricted.worst(residual)


def _energy_derivative(m: Array) -> Array:
    """dH of H = |m|^2 / 2 + m1 m2 m3 / 3 - m4^3 / 5 + m5 m6^2 / 4, by complex steps (6,)."""

    def energy(y: Array) -> Any:
        cubic = y[0] * y[1] * y[2] / 3
        return np.sum(y**2) / 2 + cubic - y[3] ** 3 / 5 + y[4] * y[5] ** 2 / 4

    return derivative(energy, m)


@listed("M-Definition-2")
def implicit_hamiltonian_systems() -> Residual:
    names, times = ("linked-particles", "rolling-disk", "nonholonomic-particle"), (0, 0.5)
    at = np.linspace(*times, 5)
    return [dirac_residual(simulate(gallery.load(name), at=at, span=times)) for name in names]


@listed("M-51")
def energy_is_conserved() -> Residual:
    random, found = np.random.default_rng(51), []
    for s in restricted:
        effort, (of_flows, of_efforts) = (
            _energy_derivative(random.uniform(-1, 1, SIZE)),
            s.structure.kernel,
        )
        flow = np.linalg.lstsq(of_flows, -of_efforts @ effort, rcond=None)[0]
        if worst(of_flows @ flow + of_efforts @ effort) <= 1e-9:
            found.append((flow @ effort, float(s.structure.residual(flow, effort))))
    return found, excess(5.0 - len(found))


@listed("M-Definition-3")
def presymplectic() -> Residuals:
    random = np.random.default_rng(3)
    for rank in RANKS:
        omega = _form(random, rank)
        graph = DiracStructure.from_two_form(omega)
        yield float(not graph.is_presymplectic), distance(graph.two_form(), omega)
        yield float(DiracStructure.induced(omega, np.eye(SIZE, 4)).is_presymplectic)
    x, y, z = sympy.symbols("x y z", real=True)
    for a, b, c in ([0, sympy.sin(x), y * x], [0, z, x**2]):
        matrix = sympy.Matrix([[0, a, b], [-a, 0, c], [-b, -c, 0]])
        value = sympy.lambdify([x, y, z], matrix, "numpy")
        yield float(is_closed(matrix, [x, y, z]) != (_cyclic(value, random) < 1e-12))


def _cyclic(matrix: Callable[..., Any], random: Generator) -> float:
    """(d omega)_123 at a random point, by complex steps."""
    flat = derivative(lambda w: np.array(matrix(*w)).ravel(), random.uniform(0.3, 1, 3))
    table = flat.reshape(3, 3, 3)
    return abs(float(table[1, 2, 0] + table[2, 0, 1] + table[0, 1, 2]))


@listed("M-52")
def presymplectic_dynamics() -> Residuals:
    random = np.random.default_rng(52)
    for rank in RANKS:
        omega = _form(random, rank)
        graph, flow = DiracStructure.from_two_form(omega), random.uniform(-1, 1, SIZE)
        yield float(graph.residual(flow, omega @ flow))
        yield excess(APART - float(graph.residual(flow, omega @ flow + np.eye(SIZE)[0])))


@listed("M-Definition-4")
def symplectic() -> Residuals:
    random = np.random.default_rng(4)
    for rank in RANKS:
        omega = _form(random, rank)
        regular = np.linalg.matrix_rank(omega, tol=1e-9) == SIZE
        yield float(DiracStructure.from_two_form(omega).is_symplectic != regular)


@listed("M-53")
def symplectic_dynamics() -> Residual:
    random, found = np.random.default_rng(53), []
    for _ in range(3):
        omega, effort = _form(random), _energy_derivative(random.uniform(-1, 1, SIZE))
        flow = DiracStructure.from_two_form(omega).bivector() @ effort
        found += [distance(omega @ flow, effort), float(flow @ effort)]
    canonical = np.block([[np.zeros((3, 3)), -np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
    effort = _energy_derivative(random.uniform(-1, 1, SIZE))
    flow = DiracStructure.from_two_form(canonical).bivector() @ effort
    return found, distance(flow, np.concatenate([effort[3:], -effort[:3]]))


listed("M-54", over=restricted)(
    lambda s: s.structure.distance(DiracStructure.from_image(s.pairs[:SIZE], s.pairs[SIZE:]))
)


@listed("M-Lemma-1", over=restricted)
def lemma(s: Restricted) -> Residual:
    found, pairs = s.structure, s.pairs
    power = pairs[:SIZE].T @ pairs[SIZE:]
    flows = found.admissible_flows.shape[1] - np.linalg.matrix_rank(s.sigma, tol=1e-9)
    dimensions = np.linalg.matrix_rank(pairs, tol=1e-9) - SIZE, found.dimension - SIZE, flows
    return found.isotropy, power + power.T, [float(count) for count in dimensions]
