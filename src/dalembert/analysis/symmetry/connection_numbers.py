r"""The nonholonomic connection in numbers: at a shape, and by projections at a configuration.

At a shape, with the constraints a_xi xi + a_r r_dot + a_0 = 0 and the momenta p_b = <l_xi, e_b>,
one matrix gives everything:

    N xi = -R r_dot + (0, p) - c,      N = [a_xi; e^T l_xixi],  R = [a_r; e^T l_xir]
    A = N^-1 R,     Gamma = N^-1 (0, 1),     dA = N^-1 (dR - dN A),     dGamma = -N^-1 dN Gamma

At a configuration the connection is the sum of two projections (Bloch, Supplement 5.5.20 to
5.5.26),

    A^kin : onto U along D,  A^sym = (I^-1 J^nhc)_Q : onto S orthogonally,  S = D n T Orb,
        T Orb = S + U

and A = A^kin + A^sym where U is orthogonal to S. For another U the second acts on what the first
leaves, A^sym (1 - A^kin): only so is A the same for every U, and a projection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError
from ...formulations.reduction.bundle_equations import Bundle, ReducedFunctions
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, ArrayLike
from ..named_blocks import NamedBlocks

if TYPE_CHECKING:
    import casadi as ca

    from ...algebra.protocol import Block

__all__ = ["Decomposition", "ShapeNumbers", "ShapeValues", "SpaceNumbers"]

#: Directions that others span to this are dependent.
DEPENDENT = 1e-9


@dataclass(frozen=True)
class ShapeValues:
    """What the connection is at a shape; k body velocities, s shape coordinates, m momenta.

    Attributes
    ----------
    connection : array (k, s)
        A_loc.
    momentum_lift : array (k, m)
        Gamma.
    drift : array (k,)
        The body velocity that an affine constraint prescribes.
    section : array (k, m)
        e_b.
    locked_inertia : array (m, m)
        I_loc = <e_b, l_xixi e_c>.
    curvature : array (k, s, s)
        B^a_{al be} at [a, al, be], in the order of dA - [A, A].
    curvature_swapped : array (k, s, s)
        The same in the order of (5.9.53).
    lift_derivative : array (k, m, s)
        F = dGamma/dr - [A, Gamma].
    """

    connection: Array
    momentum_lift: Array
    drift: Array
    section: Array
    locked_inertia: Array
    curvature: Array
    lift_derivative: Array

    @property
    def curvature_swapped(self) -> Array:
        """d_be A_al - d_al A_be - [A_be, A_al]."""
        return -self.curvature


class ShapeNumbers:
    """The reduced functions of a bundle at shapes."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle, algebra = bundle, GraphAlgebra()
        reduced = ReducedFunctions(bundle, algebra)
        r, xi = reduced.shape, reduced.xi
        derivative = algebra.gradient(reduced.lagrangian, xi)
        held = algebra.part(reduced.residual, bundle.rows, [0]) if bundle.rows else algebra.zeros(0)
        conditions = algebra.stack([held, reduced.section.T @ derivative])
        moving = algebra.stack([xi, reduced.shape_velocities])
        rest = algebra.substitute(conditions, moving, algebra.zeros(xi.numel() + r.numel()))
        metric = algebra.jacobian(derivative, xi)
        matrix = algebra.jacobian(conditions, xi)
        right = algebra.jacobian(conditions, reduced.shape_velocities)
        blocks = {
            "matrix": matrix,
            "right": right,
            "rest": rest,
            "section": reduced.section,
            "inertia": reduced.section.T @ metric @ reduced.section,
            "matrix_derivative": algebra.jacobian(matrix.reshape((-1, 1)), r),
            "right_derivative": algebra.jacobian(right.reshape((-1, 1)), r),
            "bonds": algebra.jacobian(reduced.residual, xi),
        }
        symbols = algebra.stack([xi, reduced.shape_velocities, reduced.p])
        blocks = {name: _at_rest(algebra, block, symbols) for name, block in blocks.items()}
        system = bundle.system
        shape = [system.coordinates[k].name for k in bundle.shape]
        known = [*shape, *(parameter.name for parameter in system.parameters)]
        self.blocks = NamedBlocks(algebra, blocks, known)

    def at(self, values: Mapping[str, float]) -> ShapeValues:
        """The connection and what belongs to it.

        Raises
        ------
        ModelError
            Where the constraints or the locked inertia are degenerate at this shape.
        """
        found, bundle = self.blocks(values), self.bundle
        k, s, m = len(bundle.group), len(bundle.shape), bundle.section.shape[1]
        N = found["matrix"]
        if k and rank(N, DEPENDENT).rank < k:
            what = "The connection does not exist at this shape"
            raise ModelError(what, seen=self._trouble(found), remedy="choose another one")
        inverse = np.asarray(np.linalg.inv(N) if k else np.zeros((0, 0)), dtype=float)
        A, Gamma = inverse @ found["right"], inverse[:, k - m :]
        # CasADi counts by columns
        dN = found["matrix_derivative"].reshape((k, k, s), order="F")
        dR = found["right_derivative"].reshape((k, s, s), order="F")
        dA = np.einsum("ab,bij->aij", inverse, dR - np.einsum("abj,bi->aij", dN, A))
        dGamma = -np.einsum("ab,bcj,ci->aij", inverse, dN, Gamma)
        C = np.asarray(bundle.constants, dtype=float)
        curvature = np.swapaxes(dA, 1, 2) - dA - np.einsum("bca,bi,cj->aij", C, A, A)
        lift_derivative = dGamma - np.einsum("bca,bj,ci->aij", C, A, Gamma)
        drift, section, inertia = -inverse @ found["rest"][:, 0], found["section"], found["inertia"]
        return ShapeValues(A, Gamma, drift, section, inertia, curvature, lift_derivative)

    def _trouble(self, found: Mapping[str, Array]) -> str:
        bonds, m = found["bonds"], self.bundle.section.shape[1]
        free = len(self.bundle.group) - (rank(bonds, DEPENDENT).rank if bonds.size else 0)
        if free > m:
            elsewhere = f"while the shape rests, and {m} elsewhere"
            return f"the constraints leave {free} body velocities free {elsewhere}"
        if m and rank(found["section"].T, DEPENDENT).rank < m:
            return (
                "the section degenerates here, and the constraints do not: choose another section"
            )
        return f"a singular locked inertia, {np.array2string(found['inertia'], precision=3)}"


def _at_rest(algebra: GraphAlgebra, block: ca.SX, symbols: ca.SX) -> Block:
    plain = algebra.without(block, symbols) if symbols.numel() and block.numel() else block
    if plain is None:
        what = "A connection needs a kinetic energy quadratic in the velocities"
        raise ModelError(what, remedy="see the form lagrange for other ones")
    return plain


@dataclass(frozen=True)
class Decomposition:
    """The connection at a configuration, as linear maps of velocities q_dot (n,).

    Attributes
    ----------
    connection, kinematic, symmetric : arrays (n, n)
        A, A^kin and A^sym, with values along the orbit.
    body_form : array (k, n)
        xi + A_loc r_dot as a function of q_dot: the principal connection with body components.
    horizontal : array (n, s)
        Horizontal vectors over the shape velocities.
    orbit : array (n, k)
        The directions of the orbit, by body velocity.
    momentum_directions : array (n, m)
        A basis of S.
    complement : array (n, k - m)
        A basis of U.
    metric : array (n, n)
        L_vv.
    constraints : array (rows, n)
        The constraints on velocities, D is their kernel.
    """

    connection: Array
    kinematic: Array
    symmetric: Array
    body_form: Array
    horizontal: Array
    orbit: Array
    momentum_directions: Array
    complement: Array
    metric: Array
    constraints: Array


class SpaceNumbers:
    """A bundle at configurations away from the identity: metric and constraints there."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    @cached_property
    def _blocks(self) -> NamedBlocks:
        algebra, bundle = GraphAlgebra(), self.bundle
        reduced = ReducedFunctions(bundle, algebra, at_identity=False)
        speeds = algebra.stack([reduced.shape_velocities, reduced.xi])
        derivative = algebra.gradient(reduced.lagrangian, speeds)
        blocks = {
            "metric": algebra.jacobian(derivative, speeds),
            "rows": algebra.jacobian(reduced.residual, speeds),
            "fields": reduced.fields,
        }
        blocks = {name: _at_rest(algebra, block, speeds) for name, block in blocks.items()}
        known = [s.name for s in (*bundle.system.coordinates, *bundle.system.parameters)]
        return NamedBlocks(algebra, blocks, known)

    def at(self, values: Mapping[str, float], complement: ArrayLike | None = None) -> Decomposition:
        """The projections at a configuration.

        Parameters
        ----------
        complement : array (k, k - m)
            Body velocities that span U; those orthogonal to S by default.
        """
        found, bundle = self._blocks(values), self.bundle
        s, k = len(bundle.shape), len(bundle.group)
        metric, rows = found["metric"], found["rows"]
        kept = rank(rows, DEPENDENT).independent if rows.size else []
        bonds = rows[list(kept)] if len(kept) else np.zeros((0, s + k))
        S = rank(bonds[:, s:], DEPENDENT).null_space if len(bonds) else np.eye(k)
        locked = S.T @ metric[s:, s:]
        U = _complement(S, locked, k)
        if complement is not None:
            U = np.asarray(complement, dtype=float).reshape(k, -1)
        self._check(S, U, locked @ S, bonds[:, s:] @ U)
        up = np.vstack([np.zeros((s, k)), np.eye(k)])
        kinematic, symmetric = np.zeros((s + k, s + k)), np.zeros((s + k, s + k))
        if len(bonds):
            kinematic = up @ U @ np.linalg.solve(bonds[:, s:] @ U, bonds)
        if S.size:
            symmetric = up @ S @ np.linalg.solve(locked @ S, S.T @ metric[s:])
        whole = kinematic + symmetric @ (np.eye(s + k) - kinematic)
        frame = np.zeros((s + k, s + k))
        frame[:s, :s], frame[s:, s:] = np.eye(s), found["fields"]
        order = np.argsort([*bundle.shape, *bundle.group])
        frame = frame[order]
        back = np.linalg.inv(frame)
        return Decomposition(
            connection=frame @ whole @ back,
            kinematic=frame @ kinematic @ back,
            symmetric=frame @ symmetric @ back,
            body_form=whole[s:] @ back,
            horizontal=frame @ np.vstack([np.eye(s), -whole[s:, :s]]),
            orbit=frame[:, s:],
            momentum_directions=frame[:, s:] @ S,
            complement=frame[:, s:] @ U,
            metric=back.T @ metric @ back,
            constraints=rows @ back,
        )

    def _check(self, S: Array, U: Array, inertia: Array, bound: Array) -> None:
        k = len(self.bundle.group)
        if S.shape[1] and rank(inertia, DEPENDENT).rank < S.shape[1]:
            what = "The locked inertia on S is singular at this configuration"
            seen, remedy = np.array2string(inertia, precision=3), "choose another configuration"
            raise ModelError(what, seen, remedy)
        found = rank(bound, DEPENDENT).rank if bound.size else 0
        if bound.shape[0] != bound.shape[1] or found < len(bound):
            what = "U must complement the body velocities that the constraints allow"
            remedy = f"give {k - S.shape[1]} columns of {k} components outside S"
            raise ModelError(what, f"{U.shape[1]} columns, bound with rank {found}", remedy)


def _complement(S: Array, locked: Array, k: int) -> Array:
    if not S.shape[1]:
        return np.eye(k)
    return rank(locked, DEPENDENT).null_space if S.shape[1] < k else np.zeros((k, 0))
