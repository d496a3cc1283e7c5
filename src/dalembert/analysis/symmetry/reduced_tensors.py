"""The coefficients of the reduced equations at one shape, as a record of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import FormError
from ...presentation.formulas import Formulas
from ...typing import Array, ArrayLike
from .reduced_formulas import CoefficientSymbols, reduced_formulas

__all__ = ["ReducedCoefficients", "assembled"]


@dataclass(frozen=True, eq=False, repr=False)
class ReducedCoefficients:
    """Coefficients at one shape or as expressions; k body velocities, m momenta, s shapes.

    Upper indices come first, as in print; those of the Lie algebra count the moving basis.

    Attributes
    ----------
    frame : array (k, k)
        e_1 .. e_k as columns, in the basis in which the group was given.
    structure : array (k, k, k)
        C^c_ab at [c, a, b].
    inertia, inverse : arrays (m, m)
        I_ab and I^ab.
    inverse_derivative : array (m, m, s)
        dI^{cd}/dr^al.
    gamma : array (k, m, s)
        gamma^c_{b al}.
    connection, lift : arrays (k, s), (k, m)
        A^a_al and Gamma^{ai}.
    lam : array (k, s)
        lambda_{a' al}; its first m rows vanish.
    curvature : array (k, s, s)
        B^c_{al be}.
    lift_derivative : array (k, m, s)
        F^{ci}_al.
    residual : float
        The worst difference from the equations of `reduce` and from the brackets on Q, relatively.
    symbols : CoefficientSymbols or None
        What the indices count.
    """

    frame: Array
    structure: Array
    inertia: Array
    inverse: Array
    inverse_derivative: Array
    gamma: Array
    connection: Array
    lift: Array
    lam: Array
    curvature: Array
    lift_derivative: Array
    residual: float = np.inf
    symbols: CoefficientSymbols | None = None

    @cached_property
    def formulas(self) -> Formulas:
        """The reduced equations with these coefficients, a formula a line.

        Raises
        ------
        FormError
            Where the tensors were assembled without their symbols.
        """
        if self.symbols is None:
            what = "Coefficients without symbols cannot be written as equations"
            raise FormError(what, remedy="use da.symmetry.reduced_coefficients")
        return reduced_formulas(self, self.symbols)

    def text(self) -> str:
        """The reduced equations as plain text: momenta, shape, body velocities, inertia."""
        return self.formulas.text()

    def latex(self) -> str:
        """The reduced equations as a LaTeX ``aligned`` environment."""
        return self.formulas.latex()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        k, m, s = len(self.frame), self.count, self.connection.shape[1]
        counts = f"{k} body velocities, {m} momenta, {s} shape coordinates"
        return f"<ReducedCoefficients: {counts}, residual {self.residual:.1e}>"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    @property
    def count(self) -> int:
        """m."""
        return int(self.inertia.shape[0])

    @cached_property
    def quadratic(self) -> Any:
        """C^c_ab I^{ad} at [b, c, d], (m, m, m): quadratic momentum terms, symmetric in c and d."""
        m = self.count
        table = np.einsum("cab,ad->bcd", self.structure[:m, :m, :m], self.inverse)
        return (table + np.swapaxes(table, 1, 2)) / 2

    @cached_property
    def transport(self) -> Any:
        """D^c_{b al} at [c, b, al], (m, m, s)."""
        m, C = self.count, self.structure
        bend = -np.einsum("cab,ax->cbx", C[:m, :, :m], self.connection)
        carried = np.einsum("ex,eab,ac->cbx", self.lam[m:], C[m:, :m, :m], self.inverse)
        return bend + self.gamma[:m] + carried

    @cached_property
    def shape_drive(self) -> Any:
        """D_{al be b} at [al, be, b], (s, s, m)."""
        m, C = self.count, self.structure
        turned = self.gamma[m:] - np.einsum("eab,ay->eby", C[m:, :, :m], self.connection)
        return np.einsum("ex,eby->xyb", self.lam[m:], turned)

    @cached_property
    def shape_curvature(self) -> Any:
        """K_{al be ga} at [al, be, ga], (s, s, s)."""
        return np.einsum("ez,exy->xyz", self.lam, self.curvature)

    def momentum_rate(self, shape_velocities: ArrayLike, momenta: ArrayLike) -> Any:
        """p_dot (m,) without applied forces, by (5.8.8)."""
        v, p = np.asarray(shape_velocities), np.asarray(momenta)
        return (
            np.einsum("bcd,c,d->b", self.quadratic, p, p)
            + np.einsum("cbx,x,c->b", self.transport, v, p)
            + np.einsum("xyb,x,y->b", self.shape_drive, v, v)
        )

    def shape_force(self, shape_velocities: ArrayLike, momenta: ArrayLike) -> Any:
        """The right side of the shape equations (s,) of theorem 5.8.10, without applied forces."""
        v, p = np.asarray(shape_velocities), np.asarray(momenta)
        return -(
            np.einsum("cdx,c,d->x", self.inverse_derivative, p, p)
            + np.einsum("cbx,bd,c,d->x", self.transport, self.inverse, p, p)
            + np.einsum("cxy,c,y->x", self.curvature[: self.count], p, v)
            + np.einsum("yxb,bc,c,y->x", self.shape_drive, self.inverse, p, v)
            + np.einsum("xyz,y,z->x", self.shape_curvature, v, v)
        )

    def body_momenta(self, shape_velocities: ArrayLike, momenta: ArrayLike) -> Array:
        """dl/dxi (k,) on the constraints (5.8.2): p on the section, lambda r_dot elsewhere."""
        outside = self.lam[self.count :] @ np.asarray(shape_velocities)
        return np.concatenate([np.asarray(momenta), outside])

    def compact_shape_force(self, shape_velocities: ArrayLike, momenta: ArrayLike) -> Any:
        """The same by (5.9.52): -dl/dxi^b (B^b r_dot + F^b p), with dl/dxi by (5.8.2)."""
        v, p = np.asarray(shape_velocities), np.asarray(momenta)
        derivative = self.body_momenta(v, p)
        bent = np.einsum("b,bxy,y->x", derivative, self.curvature, v)
        return -(bent + np.einsum("b,bix,i->x", derivative, self.lift_derivative, p))


def assembled(tables: Sequence[Array], k: int, m: int, s: int) -> ReducedCoefficients:
    """The record of the tensors, with their indices apart."""
    structure, rows, momenta = (k, k, k), (m, m, s), (k, m, s)
    metric = [(k, k), structure, (m, m), (m, m), rows, momenta]
    shapes = [*metric, (k, s), (k, m), (k, s), (k, s, s), momenta]
    parts: Any = (table.reshape(shape) for table, shape in zip(tables, shapes, strict=True))
    return ReducedCoefficients(*parts)
