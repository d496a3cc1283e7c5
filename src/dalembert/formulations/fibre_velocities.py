r"""The Lagrangian on its bundle: v = sigma(q) q_dot, and whether p = dL/dv can be inverted.

Without a bundle of its own a system lives on its tangent bundle: v = q_dot, sigma = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..algebra.graph import GraphAlgebra
from ..model.symbols import t
from ..model.system import System
from .forms.lagrange import lagrangian_and_momenta

if TYPE_CHECKING:
    from ..algebra.protocol import Algebra, Block, Scalar
    from ..formulations.independent_velocities import Reduction
    from ..formulations.speeds import OnSpeeds

__all__ = ["Fibre", "LegendreState", "fibre_of", "legendre_state"]


@dataclass(frozen=True)
class Fibre:
    """The bundle of a system in one algebra, along velocities q_dot(q, u, t).

    Attributes
    ----------
    symbols : column (n_v x 1)
        v, the symbols that the Lagrangian is written in.
    sigma : matrix (n_v x n)
    lagrangian : scalar
        L(q, v, t).
    hamiltonian, momenta : scalar and column of symbols, or None
        H(q, p, t) where the system was stated by it.
    values : column (n_v x 1)
        sigma q_dot along the velocities.
    """

    algebra: Algebra
    q: Block
    velocities: Block
    symbols: Block
    sigma: Block
    lagrangian: Scalar
    hamiltonian: Scalar | None
    momenta: Block | None
    values: Block

    def here(self, block: Block) -> Any:
        """A block of q and v along the velocities."""
        return self.algebra.substitute(block, self.symbols, self.values)

    def turning(self, momenta: Block) -> Block:
        """p_m (d_i sigma_mj - d_j sigma_mi) q_dot_j, (n x 1), for momenta p on the velocities."""
        algebra = self.algebra
        n, count = self.q.shape[0], self.symbols.shape[0]
        total = algebra.zeros(n)
        for m in range(count):
            row = algebra.part(self.sigma, [m], range(n)).T
            derivative = algebra.jacobian(row, self.q)  # derivative[j, i] = d_i sigma_mj
            total = total + ((derivative.T - derivative) @ self.velocities) @ algebra.part(
                momenta, [m], [0]
            )
        return total


def fibre_of(on: Reduction | OnSpeeds) -> Fibre:
    """The fibre along the velocities of a reduction or of speeds."""
    system, algebra = on.system, on.algebra
    v = algebra.vector(system.velocities)
    if system.bundle:
        symbols = algebra.vector(system.bundle)
        sigma = algebra.jacobian(algebra.vector(system.bundle.values()), v)
        lagrangian, hamiltonian, momenta = algebra.scalar(system.bundle_lagrangian), None, None
    else:
        symbols, sigma = v, algebra.jacobian(v, v)
        lagrangian, _ = lagrangian_and_momenta(system, algebra)
        hamiltonian = algebra.scalar(system.hamiltonian) if system.hamiltonian is not None else None
        momenta = algebra.vector(system.momenta)
    values = sigma @ on.velocities
    return Fibre(
        algebra, on.q, on.velocities, symbols, sigma, lagrangian, hamiltonian, momenta, values
    )


@dataclass(frozen=True)
class LegendreState:
    """What is known of p = dL/dv on the fibres.

    Attributes
    ----------
    rank, size : int
        The rank of L_vv at generic states, and the number of fibre velocities.
    is_regular : bool
        L_vv is regular at generic states.
    is_hyperregular : bool or None
        p = dL/dv is one to one on every fibre: so where L is quadratic in v with a constant regular
        matrix. None where the matrix depends on the state, and is regular at generic ones.
    reason : str
    """

    rank: int
    size: int
    is_regular: bool
    is_hyperregular: bool | None
    reason: str


def legendre_state(system: System) -> LegendreState:
    """Whether the Legendre transformation of the Lagrangian on its bundle exists.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> theta = da.coordinates("theta")
    >>> v = da.speeds("v")
    >>> m, g, l = da.parameters("m g l", positive=True)
    >>> bar = da.System(
    ...     [theta],
    ...     lagrangian=m * v**2 / 2 + m * g * l * cos(theta),
    ...     bundle={v: l * sin(theta) * theta.dot},
    ... )
    >>> legendre_state(bar).is_hyperregular
    True
    """
    algebra = GraphAlgebra()
    if system.hamiltonian is not None:
        function, symbols = algebra.scalar(system.hamiltonian), algebra.vector(system.momenta)
    elif system.bundle:
        function, symbols = algebra.scalar(system.bundle_lagrangian), algebra.vector(system.bundle)
    else:
        function, symbols = algebra.scalar(system.lagrangian), algebra.vector(system.velocities)
    algebra.vector([*system.coordinates, t])
    second, _ = algebra.hessian(function, symbols)
    size, rank = symbols.shape[0], algebra.rank(second).value
    if rank < size:
        return LegendreState(
            rank, size, False, False, f"a matrix of second derivatives of rank {rank} of {size}"
        )
    if _is_constant(algebra, second, system):
        return LegendreState(rank, size, True, True, "quadratic, with a constant regular matrix")
    return LegendreState(rank, size, True, None, "regular at generic states; elsewhere not decided")


def _is_constant(algebra: GraphAlgebra, matrix: Block, system: System) -> bool:
    """Whether a matrix depends on parameters alone."""
    symbols = [symbol for symbol in algebra.symbols if symbol not in system.parameters]
    return algebra.without(matrix, algebra.vector(symbols)) is not None
