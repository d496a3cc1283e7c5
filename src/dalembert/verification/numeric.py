"""Numbers for the rows: the library's derivations at chosen states, and independent mathematics.

The independent implementations are complex steps of plain NumPy functions, pseudo-inverses by
singular values, and dense linear algebra. The library itself decides rank elsewhere; here a second
opinion is the point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np
import sympy

from .. import gallery
from ..formulations.equations import Equations
from ..formulations.registry import derive
from ..model.parameter_values import parameter_values
from ..runtime.context import Context
from ..runtime.kernel import Kernel
from ..typing import Array, ArrayLike

__all__ = [
    "Probe",
    "Residual",
    "Residuals",
    "StateBlocks",
    "apart",
    "dense_solution",
    "derivative",
    "distance",
    "excess",
    "gallery_probe",
    "largest",
    "least_norm_solution",
    "null_space",
    "panel_nodes",
    "pseudo_inverse",
    "symmetric_power",
    "worst",
]

STEP = 1e-25


def derivative(function: Callable[[Any], Any], point: ArrayLike) -> Array:
    """The derivative of a NumPy function by complex steps: (n,), or (k, n) for k values.

    >>> derivative(lambda x: x[0] * np.sin(x[1]), [2.0, 0.0]).tolist()
    [0.0, 2.0]
    """
    base = np.asarray(point, dtype=complex)
    columns = []
    for k in range(base.size):
        moved = base.copy()
        moved[k] += 1j * STEP
        columns.append(np.imag(function(moved)) / STEP)
    return np.stack(columns, axis=-1)


def distance(value: ArrayLike | None, expected: Any) -> float:
    """The worst difference, relative where the expected value exceeds one."""
    value, expected = np.asarray(value, dtype=float), np.asarray(expected, dtype=float)
    difference = np.abs(value - expected) / (1 + np.abs(expected))
    return float(np.max(difference)) if expected.size else 0.0


#: A residual, an array of them, or several of either, whose largest size counts.
Residual: TypeAlias = "float | Array | Iterable[Residual]"
#: What a row gives that yields its residuals one by one.
Residuals: TypeAlias = "Iterator[Residual]"


def worst(values: Residual) -> float:
    """The largest size among some residuals; not a number where one of them is not.

    >>> worst([1e-3, [2e-3, np.array([[-1.0, 0.5]])]])
    1.0
    """
    if isinstance(values, np.ndarray) or not isinstance(values, Iterable):
        return float(np.max(np.abs(np.asarray(values, dtype=float))))
    return float(np.max([worst(value) for value in values]))


def largest(*values: Residual) -> float:
    """`worst` of its arguments; unlike `max` it keeps what is not a number.

    >>> largest(1e-3, float("nan"))
    nan
    """
    return worst(values)


def excess(value: float | np.floating[Any]) -> float:
    """The value where it is positive, and 0 elsewhere; not a number stays so."""
    return float(np.maximum(0.0, value))


def apart(gap: float | np.floating[Any], least: float = 1e-3) -> float:
    """What a gap between two things that are said to differ lacks of `least`."""
    return excess(least - gap)


def pseudo_inverse(matrix: Array) -> Array:
    """Moore and Penrose's inverse by singular values, independent of the library's solve."""
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    kept = sizes > 1e-10 * sizes[0]
    return np.asarray((right.T[:, kept] / sizes[kept]) @ left.T[kept])


def null_space(matrix: ArrayLike) -> Array:
    """An orthonormal basis (n, n - rank) of the vectors that `matrix` takes to zero."""
    _, sizes, right = np.linalg.svd(np.atleast_2d(np.asarray(matrix)))
    return np.asarray(right[int(np.sum(sizes > 1e-10 * sizes[0])) :].T)


def symmetric_power(matrix: Array, exponent: float) -> Array:
    """A power of a symmetric positive definite matrix that is symmetric itself."""
    sizes, directions = np.linalg.eigh(matrix)
    return np.asarray((directions * sizes**exponent) @ directions.T)


def least_norm_solution(G: Array, f: Array, A: Array, b: Array) -> tuple[Array, Array]:
    """z and the least-norm mu of G z = f + A^T mu, A z = b by one dense system of all unknowns."""
    n, m = len(f), len(b)
    matrix = np.block([[G, -A.T], [A, np.zeros((m, m))]])
    solution = pseudo_inverse(matrix) @ np.concatenate([f, b])
    return solution[:n], solution[n:]


def dense_solution(G: Array, f: Array, A: Array, b: Array) -> tuple[Array, Array]:
    """z and lambda of [[G, A^T], [A, 0]] (z, lambda) = (f, b), with the sign of Gavin's eq. 70."""
    m = len(b)
    solution = np.linalg.solve(np.block([[G, A.T], [A, np.zeros((m, m))]]), np.concatenate([f, b]))
    return solution[: len(f)], solution[len(f) :]


def panel_nodes(first: float, last: float, panels: int = 60) -> tuple[Array, Array]:
    """Times and weights of composite Gauss-Legendre quadrature with eight nodes a panel."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(first, last, panels + 1)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()


class StateBlocks(NamedTuple):
    """The Gauss problem of a form at one state: G (n, n), f (n,), A (m, n), b (m,), and more."""

    G: Array
    f: Array
    A: Array
    b: Array
    velocities: Array
    momenta: Array
    energy: float
    constraint: Array
    position: Array


class Probe:
    """The library's equations of one form of a system, evaluated at chosen states."""

    def __init__(self, equations: Equations, parameters: Mapping[str, float]) -> None:
        self.equations = equations
        self.kernel = equations.compile()
        self.parameters = dict(parameters)
        self.values = parameter_values(self.kernel.parameters, self.parameters)

    def with_parameters(self, **changes: float) -> Probe:
        """The same equations with other values of some parameters, compiled once."""
        other = object.__new__(Probe)
        other.equations, other.kernel = self.equations, self.kernel
        other.parameters = self.parameters | changes
        other.values = parameter_values(self.kernel.parameters, other.parameters)
        return other

    @cached_property
    def _function(self) -> ca.Function:
        return _block_function(self.kernel)

    @cached_property
    def context(self) -> Context:
        """Native code with this probe's parameters."""
        return Context(self.kernel, self.values)

    def _arguments(self, time: float, state: ArrayLike) -> list[Array]:
        empty = np.zeros(0)
        return [np.array([time]), np.asarray(state, dtype=float), self.values, empty, empty]

    def blocks(self, time: float, state: ArrayLike) -> StateBlocks:
        """G, f, A, b and the rest at a state."""
        found = self._function(*self._arguments(time, state))
        G, f, A, b, v, p, energy, *residuals = (np.array(item, dtype=float) for item in found)
        f, b, v, p, constraint, position = (item.ravel() for item in (f, b, v, p, *residuals))
        return StateBlocks(G, f, A, b, v, p, float(energy[0, 0]), constraint, position)

    def rates(self, time: float, state: ArrayLike) -> Any:
        """The time derivative of the state, (n_state,)."""
        return self.kernel.rates(time, state, self.values)

    def value(self, expressions: Sequence[sympy.Expr], time: float, state: ArrayLike) -> Array:
        """Expressions of coordinates, velocities, momenta, parameters and time at a state, (k,)."""
        function = ca.Function("value", self.kernel._inputs(), [self.kernel.lower(expressions)])
        return np.array(function(*self._arguments(time, state)), dtype=float).ravel()

    def observe(self, time: float, state: ArrayLike) -> dict[str, Any]:
        """What a motion would report at a state, by key: accelerations, energy, reactions, ..."""
        row = np.ascontiguousarray(np.asarray(state, dtype=float)[None, :])
        values, _ = self.context.observe(np.array([float(time)]), row, np.zeros((1, 0)))
        return {key: values[0, place] for key, place in self.kernel.observed.items()}

    def reaction(self, time: float, state: ArrayLike) -> Any:
        """The generalised force of all constraints together, (n,)."""
        found = self.observe(time, state)
        return sum(force for key, force in found.items() if key.startswith("reaction "))

    def projected(self, time: float, state: ArrayLike) -> Array:
        """The nearest state that obeys the constraints."""
        moved = np.array(state, dtype=float)
        self.context.project(time, moved)
        return moved


@cache
def _block_function(kernel: Kernel) -> ca.Function:
    g = kernel.graph
    parts = [g.metric, g.force, g.rows, g.right, g.velocities, g.momenta, g.energy]
    return ca.Function(
        "blocks", kernel._inputs(), [*parts, g.velocity.residual, g.position.residual]
    )


@cache
def gallery_probe(name: str, form: str) -> Probe:
    """The equations of a gallery system in one form, with the gallery's parameters."""
    scenario = gallery.load(name)
    return Probe(derive(scenario.system, form), scenario.parameters)
