r"""Hinged planar bodies on their reduced space: bracket, Hamiltonian, relative equilibria.

On the angles of the hinges and the momenta mu_i of the bodies (Bloch and others, Supplement,
3.13.56 to 3.13.58, corrected)

    {f, g} = sum_a (f_mu_p - f_mu_c) g_theta_a - f_theta_a (g_mu_p - g_mu_c),  H = 1/2 mu^T J^-1 mu,

where the hinge a joins the parent p and the child c; in a chain p = i, c = i + 1. It comes from the
canonical bracket of the absolute angles by forgetting how the whole is turned. The sum of the mu_i
is a Casimir, and the rank is 2 (N - 1):

    theta_a_dot = H_mu_c - H_mu_p,
        mu_i_dot = sum of H_theta_a over hinges of i with children - H_theta of its own hinge.

In a relative equilibrium all w = J^-1 mu are equal and 1^T J 1 is critical as a function of the
angles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Unpack

import numpy as np
import sympy

from ...errors import ModelError
from ...geometry.poisson import PoissonStructure
from ...model.builders.planar_bodies import PlanarBodies
from ...model.values import numbers_by_name
from ...typing import Array, Values
from ..proofs.zeros import SearchOptions, find_zeros
from ..stability.equilibria import Equilibria, Equilibrium, linearised

__all__ = ["RelativeEquilibria", "RelativeEquilibrium", "reduced_hamiltonian"]
__all__ += ["reduced_structure", "relative_equilibria"]


def reduced_structure(bodies: PlanarBodies) -> PoissonStructure:
    """The bracket on (angles of hinges, momenta), pushed forward from the canonical one.

    >>> from dalembert.model.builders.planar_bodies import planar_chain
    >>> reduced_structure(planar_chain(3)).casimirs()
    (mu_1 + mu_2 + mu_3,)
    """
    old = [angle.momentum for angle in bodies.angles]
    angles, joints = sympy.Matrix(bodies.angles), sympy.Matrix(bodies.joints)
    canonical = PoissonStructure.canonical(bodies.angles, old)
    images = dict(zip(bodies.joints, bodies.differences * angles, strict=True))
    images |= dict(zip(bodies.momenta, old, strict=True))
    section = dict(zip(bodies.angles, bodies.beyond * joints, strict=True))
    section |= dict(zip(old, bodies.momenta, strict=True))
    return canonical.pushforward(images, section)


def reduced_hamiltonian(bodies: PlanarBodies) -> sympy.Expr:
    """H = 1/2 mu^T J^-1 mu, by elimination: a sum of squares over the pivots of J.

    >>> from dalembert.model.builders.planar_bodies import planar_chain
    >>> hinges = {(1, 2): (0, 0), (2, 1): (1, 0)}
    >>> two = planar_chain(2, masses=[1, 1], inertias=[1, 1], hinges=hinges)
    >>> reduced_hamiltonian(two)
    mu_1**2/2 + mu_2**2/3
    """
    table, momenta, n = bodies.inertia.copy(), list(bodies.momenta), bodies.count
    energy: sympy.Expr = sympy.Integer(0)
    for k in range(n):
        pivot = table[k, k]
        energy += momenta[k] ** 2 / (2 * pivot)
        factors = [table[i, k] / pivot for i in range(n)]
        for i in range(k + 1, n):
            momenta[i] -= factors[i] * momenta[k]
            for j in range(k + 1, i + 1):
                table[i, j] = table[j, i] = table[i, j] - factors[i] * table[k, j]
    return energy


@dataclass(frozen=True)
class RelativeEquilibrium:
    """Bodies that turn together.

    Attributes
    ----------
    angles : array (N - 1,)
        Of the hinges.
    rate : float
        The angular velocity of all bodies.
    momenta : array (N,)
        mu_i.
    stability : "stable", "unstable" or "not established"
        On the leaf of the same total momentum.
    linear : Equilibrium
        The proof, and the linearised motion of the hinges.
    """

    angles: Array
    rate: float
    momenta: Array
    stability: str
    linear: Equilibrium = field(repr=False)


@dataclass(frozen=True)
class RelativeEquilibria:
    """All relative equilibria for one total momentum; `complete` says whether that is proved."""

    found: tuple[RelativeEquilibrium, ...]
    of_hinges: Equilibria = field(repr=False)

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no others."""
        return self.of_hinges.complete

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        return str(self.of_hinges)


def relative_equilibria(
    bodies: PlanarBodies,
    parameters: Values | None = None,
    total: float = 1.0,
    **search: Unpack[SearchOptions],
) -> RelativeEquilibria:
    """All relative equilibria of hinged bodies with the nonzero total momentum `total`.

    Where a hinge vector is zero every angle of that hinge is one, and the answer is not complete.

    Examples
    --------
    >>> from dalembert.model.builders.planar_bodies import planar_chain
    >>> ends = {(1, 2): (1, 0), (2, 1): (-0.5, 0), (2, 3): (0.5, 0), (3, 2): (-1, 0)}
    >>> for middle in (1, 3):
    ...     chain = planar_chain(3, masses=[1, middle, 1], inertias=[1, 1, 1], hinges=ends)
    ...     found = relative_equilibria(chain)
    ...     print(len(found), found.complete, sum(e.stability == "stable" for e in found.found))
    6 True 1
    4 True 1
    """
    if not total:
        what = "Without momentum every configuration of the bodies is at rest"
        raise ModelError(what, seen=total, remedy="give a total that is not zero")
    values = numbers_by_name(parameters)
    locked, joints = bodies.locked_inertia, bodies.joints
    derivatives = [sympy.diff(locked, joint) for joint in joints]
    zeros = find_zeros(derivatives, joints, parameters=values, **search)
    found = linearised(bodies.reduced_system(), zeros, values | {"mu": float(total)})
    known = [symbol for symbol in bodies.inertia.free_symbols if symbol.name in values]
    numbers = {symbol: sympy.Float(values[symbol.name]) for symbol in known}
    table = bodies.inertia.xreplace(numbers)

    def relative(e: Equilibrium) -> RelativeEquilibrium:
        angles = np.array([e.point[joint.name] for joint in joints])
        inertia = table.xreplace(dict(zip(joints, map(sympy.Float, angles), strict=True)))
        sums = np.array(inertia.evalf().tolist(), dtype=float).sum(axis=1)
        rate = float(total) / float(sums.sum())
        return RelativeEquilibrium(angles, rate, rate * sums, e.stability, e)

    return RelativeEquilibria(tuple(relative(e) for e in found.found), found)
