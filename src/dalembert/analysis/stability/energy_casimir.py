r"""Stability by energy and Casimirs (Arnold; Bloch and others, Supplement, 3.13.51 to 3.13.54).

An equilibrium e of x_dot = Pi dH is a critical point of H + Phi(C) for Casimirs C with

    dH + Phi'_k dC_k = 0   at e.

Its second variation is the Hessian of H + Phi'_k C_k, plus Phi''_kl dC_k dC_l^T with Phi'' as one
likes. For some Phi'' it is definite just where the Hessian is definite on the kernel of dC, the
tangent space of the leaf (Finsler), and then e is stable. The linearised motion is x_dot = Pi Hess
x; an eigenvalue with a positive real part makes e unstable.

Nothing is decided where that is within rounding, or where a function is a Casimir at random points
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError
from ...geometry.poisson import PoissonStructure
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, ArrayLike, ComplexArray, Values
from .stability import SecondVariation, second_variation
from .tangent_space import eigenvalues_with_errors

__all__ = ["EnergyCasimir", "energy_casimir", "spectrum"]

#: Eigenvalues below this part of the largest one are rounding.
ROUNDING = 1e-7


@dataclass(frozen=True)
class EnergyCasimir:
    """The second variation of H + Phi(C) at an equilibrium, and what it says.

    Attributes
    ----------
    variation : SecondVariation
        Phi', the Hessian of H + Phi'_k C_k, and its eigenvalues on the leaf.
    gradients : array (k, n)
        dC.
    eigenvalues : array (n,) of complex
        Of the linearised motion.
    stability : "stable", "unstable" or "not established"
        "stable" only where all functions are proved to be Casimirs.
    least_curvature : float or None
        The second variation is positive definite for Phi'' above this times the identity.
    """

    variation: SecondVariation
    gradients: Array = field(repr=False)
    eigenvalues: ComplexArray = field(repr=False)
    stability: str
    least_curvature: float | None

    @property
    def multipliers(self) -> Array:
        """Phi' (k,)."""
        return self.variation.multipliers

    def second_variation(self, curvature: ArrayLike = 0.0) -> Any:
        """Hess(H + Phi'_k C_k) + Phi''_kl dC_k dC_l^T (n, n); Phi'' a number or matrix (k, k)."""
        table = np.asarray(curvature, dtype=float)
        table = table * np.eye(len(self.gradients)) if table.ndim == 0 else table
        return self.variation.matrix + self.gradients.T @ table @ self.gradients


def energy_casimir(
    structure: PoissonStructure,
    hamiltonian: sympy.Expr,
    casimirs: Sequence[sympy.Expr],
    point: Values,
) -> EnergyCasimir:
    """The energy-Casimir method at an equilibrium.

    Parameters
    ----------
    casimirs : sequence of expressions (k,)
        Independent at the point; see `PoissonStructure.casimirs`.
    point : mapping of symbols and parameters, or their names, to numbers

    Raises
    ------
    ModelError
        Where one of the functions is no Casimir.
    RunError
        Where the point is no critical point of H + Phi(C) for any Phi.

    Examples
    --------
    A free rigid body turns stably about its axis of largest inertia, unstably about the middle one:

    >>> x, y, z = sympy.symbols("x y z")
    >>> body = PoissonStructure([[0, -z, y], [z, 0, -x], [-y, x, 0]], [x, y, z])
    >>> energy = x**2 / 2 + y**2 / 4 + z**2 / 6
    >>> points = ({x: 0, y: 0, z: 1}, {x: 0, y: 1, z: 0})
    >>> [energy_casimir(body, energy, body.casimirs(2), point).stability for point in points]
    ['stable', 'unstable']
    """
    verdicts = {c: structure.is_casimir(c) for c in casimirs}
    wrong = [str(c)[:60] for c, verdict in verdicts.items() if not verdict.holds]
    if wrong:
        remedy = "see structure.casimirs()"
        raise ModelError("These functions are no Casimirs of the structure", wrong, remedy)
    found = _derivatives(structure.symbols, hamiltonian, casimirs, point)
    derivative, bend, gradients, bends = found
    variation = second_variation(derivative, bend, list(gradients), list(bends))
    eigenvalues, doubt = spectrum(structure.at(point) @ variation.matrix)
    stability = "unstable" if np.any(eigenvalues.real > doubt) else "not established"
    if variation.definite and all(verdict.is_proved for verdict in verdicts.values()):
        stability = "stable"
    positive = variation.definite and bool(np.all(variation.on_levels > 0))
    least = _least_curvature(variation.matrix, gradients) if positive and len(gradients) else None
    return EnergyCasimir(variation, gradients, eigenvalues, stability, least)


def _derivatives(
    symbols: Sequence[sympy.Symbol],
    hamiltonian: sympy.Expr,
    casimirs: Sequence[sympy.Expr],
    point: Values,
) -> tuple[Array, Array, Array, Array]:
    """dH (n,), Hess H (n, n), dC (k, n) and Hess C (k, n, n) at a point."""
    algebra = GraphAlgebra()
    x = algebra.vector(symbols)
    scalars = [algebra.scalar(function) for function in (hamiltonian, *casimirs)]
    others = [symbol for symbol in algebra.symbols if symbol not in {*symbols}]
    names = numbers_by_name(point)
    missing = [symbol.name for symbol in (*symbols, *others) if symbol.name not in names]
    if missing:
        remedy = "give them in the point"
        raise ModelError("Symbols have no value at this point", ", ".join(missing), remedy)
    outputs = [ca.densify(block) for scalar in scalars for block in ca.hessian(scalar, x)]
    function = ca.Function("derivatives", [x, algebra.vector(others)], outputs)
    groups = [[names[symbol.name] for symbol in group] for group in (symbols, others)]
    values = function.call(groups)
    bends = np.array([np.array(block, dtype=float) for block in values[0::2]])
    derivatives = np.array([np.array(block, dtype=float).ravel() for block in values[1::2]])
    return derivatives[0], bends[0], derivatives[1:], bends[1:]


def spectrum(matrix: Array) -> tuple[ComplexArray, Array]:
    """Eigenvalues (n,) and bounds of their rounding errors, by their condition numbers.

    >>> values, doubt = spectrum(np.diag([1.0, 1.0], k=1) + 1e-17)
    >>> bool(np.all(np.abs(values) <= doubt))
    True
    """
    rounding = 100 * np.finfo(float).eps * float(np.linalg.norm(matrix))
    values, doubt = eigenvalues_with_errors(matrix, np.full_like(matrix, rounding))
    return values, doubt + ROUNDING * np.max(np.abs(values), initial=0.0)


def _least_curvature(hessian: Array, gradients: Array) -> float:
    """The least s for which Hess + s dC^T dC is positive definite, if Hess is so on the leaf."""
    leaf = rank(gradients).null_space
    across = gradients.T @ np.linalg.inv(gradients @ gradients.T)
    coupling = leaf.T @ hessian @ across
    inner = np.linalg.solve(leaf.T @ hessian @ leaf, coupling)
    schur = across.T @ hessian @ across - coupling.T @ inner
    return -float(np.min(np.linalg.eigvalsh((schur + schur.T) / 2)))
