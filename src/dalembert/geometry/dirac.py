r"""Linear Dirac structures: relations between flows and efforts that conserve power.

On a space V of dimension n a Dirac structure is a subspace of pairs of a flow W in V and an effort beta in V*,

    D in V x V*,     dim D = n,     <beta, W> = 0  for all (W, beta) in D       (Moreau and van der Schaft, definition 1)

so that dynamics (m_dot, dH) in D conserve H. The symmetric pairing <beta, W'> + <beta', W> then vanishes on D as well, and D is
its own orthogonal for it: an image (W, beta) = (A c, B c) has the kernel B^T W + A^T beta = 0, without any computation.

The graph of a two-form, beta = omega W, is presymplectic; the graph of a bivector, W = pi beta, is of Poisson's kind. With
canonical symbols omega (q_dot, p_dot) = (-p_dot, q_dot). A subspace Sigma of allowed flows restricts D to

    {(W, beta) : W in Sigma, (W, beta - r) in D for some r in ann Sigma}        (their lemma 1 where D is a graph),

and ports join two structures with opposite flows and equal efforts. Each result is checked to be a Dirac structure.

Flows and efforts have units of their own, which differ by coordinate. Ranks and distances are therefore taken in `units` that
make the flow and the effort of each coordinate equally large; (u W, beta / u) has the same power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..typing import ArrayLike
from . import subspaces
from .subspaces import TOLERANCE, read_matrix, read_square

__all__ = ["DiracStructure", "interconnect"]

#: Power of unit pairs up to this is rounding, which a direction that is barely above `TOLERANCE` enlarges; it is removed.
LARGEST_POWER = 1e-6


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DiracStructure:
    r"""A linear Dirac structure D in V x V*, made from pairs that span it.

    Parameters
    ----------
    flows, efforts : arrays (n, k)
        Pairs (W, beta), one in each column; they may depend on each other.
    labels : sequence of str
        Names of the n coordinates of V; ``w1``, ``w2``, ... without them.
    units : array (n,)
        The unit of each coordinate; found from the pairs where it is not given.
    tolerance : float
        What counts as rounding in ranks.

    Attributes
    ----------
    flows, efforts : arrays (n, n)
        A basis: the pairs (A c, B c), orthonormal in `units`.
    units : array (n,)
    labels : tuple of str
    tolerance : float

    Raises
    ------
    ModelError
        Where the pairs do not span n dimensions, or exchange power.

    Examples
    --------
    A rolling contact that ties two velocities, with the canonical form on (x, y, p_x, p_y):

    >>> canonical = np.block([[np.zeros((2, 2)), -np.eye(2)], [np.eye(2), np.zeros((2, 2))]])
    >>> rolling = DiracStructure.from_constraints([[1.0, -2.0, 0.0, 0.0]], canonical)
    >>> rolling
    <DiracStructure on w1, w2, w3, w4: 3 admissible flows, 3 admissible efforts>
    >>> rolling.contains([2.0, 1.0, 0.0, -3.0], [1.0, 1.0, 2.0, 1.0])
    True
    """

    flows: Any
    efforts: Any
    units: Any
    labels: tuple[str, ...]
    tolerance: float

    def __init__(
        self,
        flows: ArrayLike,
        efforts: ArrayLike,
        labels: Sequence[str] = (),
        units: ArrayLike | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        first, second = read_matrix(flows, "flows"), read_matrix(efforts, "efforts")
        _demand_one_size(first, second, "n x k, a pair in each column")
        n = len(first)
        if units is None:
            units = subspaces.equal_units(first, second)
        units = np.array(units, dtype=float)
        pairs = np.vstack([units[:, None] * first, second / units[:, None]])
        basis = subspaces.span(subspaces.unit_columns(pairs) if pairs.shape[1] == n else pairs, tolerance)
        if basis.shape[1] != n:
            raise ModelError(
                "These pairs of flows and efforts are no Dirac structure: they span the wrong dimension",
                seen=f"{basis.shape[1]} dimensions on a space of {n}",
                remedy=f"give pairs that span {n} dimensions",
            )
        power = subspaces.largest_power(basis)
        if power > LARGEST_POWER:
            raise ModelError(
                "These pairs of flows and efforts are no Dirac structure: they exchange power",
                seen=f"<beta, W'> + <beta', W> = {power:.1e} for unit pairs",
                remedy="give a skew matrix for a two-form or a bivector, and as efforts only what annihilates the flows",
            )
        basis = subspaces.nearest_isotropic(basis)
        _set(self, flows=basis[:n] / units[:, None], efforts=units[:, None] * basis[n:], units=units)
        _set(self, labels=_labels(labels, n), tolerance=float(tolerance))

    # -- constructions -------------------------------------------------------------------------------------------

    @classmethod
    def from_image(cls, flows: Any, efforts: Any, labels: Sequence[str] = ()) -> DiracStructure:
        """{(A c, B c)}: the span of the columns of A = `flows` and B = `efforts`, (n, k) each."""
        return cls(flows, efforts, labels)

    @classmethod
    def from_kernel(cls, of_flows: Any, of_efforts: Any, labels: Sequence[str] = ()) -> DiracStructure:
        """{(W, beta) : F W + E beta = 0} with F = `of_flows` and E = `of_efforts`, (m, n) each; rows may be dependent."""
        left, right = read_matrix(of_flows, "rows on the flows"), read_matrix(of_efforts, "rows on the efforts")
        _demand_one_size(left, right, "m x n, a row for each condition")
        n = left.shape[1]
        units = subspaces.equal_units(right.T, left.T)
        rows = np.hstack([left / units, right * units])
        pairs = subspaces.annihilator(subspaces.unit_columns(rows.T))
        return cls(pairs[:n] / units[:, None], units[:, None] * pairs[n:], labels, units)

    @classmethod
    def from_two_form(cls, omega: Any, labels: Sequence[str] = ()) -> DiracStructure:
        """The graph beta = omega W of a skew matrix (n, n), regular or not: presymplectic (their definition 3).

        >>> DiracStructure.from_two_form([[0.0, -1.0], [1.0, 0.0]]).is_symplectic
        True
        """
        matrix = read_square(omega, "two-form")
        return cls(np.eye(len(matrix)), matrix, labels)

    @classmethod
    def from_bivector(cls, pi: Any, labels: Sequence[str] = ()) -> DiracStructure:
        """The graph W = pi beta of a skew matrix (n, n), such as a Poisson tensor at a point."""
        matrix = read_square(pi, "bivector")
        return cls(matrix, np.eye(len(matrix)), labels)

    @classmethod
    def induced(cls, omega: Any, sigma: Any, labels: Sequence[str] = ()) -> DiracStructure:
        """{(W, beta) : W in Sigma, beta - omega W in ann Sigma}, Sigma spanned by the columns of `sigma` (n, k) (lemma 1).

        The columns may depend on each other, and the rank of Sigma may be anything from 0 to n.
        """
        return cls.from_two_form(omega, labels).restricted(directions=sigma)

    @classmethod
    def from_constraints(cls, rows: Any, omega: Any | None = None, labels: Sequence[str] = ()) -> DiracStructure:
        """The same with Sigma as the kernel of `rows` (m, n), dependent ones included; without `omega` it is zero.

        Kirchhoff's laws are of this kind: with the node rows of a circuit, flows are currents and efforts are voltages.
        """
        table = read_matrix(rows, "constraint rows")
        n = table.shape[1]
        return cls.from_two_form(np.zeros((n, n)) if omega is None else omega, labels).restricted(rows=table)

    # -- representations -----------------------------------------------------------------------------------------

    @property
    def image(self) -> tuple[Any, Any]:
        """A and B, (n, n) each: D = {(A c, B c)}."""
        return self.flows, self.efforts

    @property
    def kernel(self) -> tuple[Any, Any]:
        """F and E, (n, n) each: D = {(W, beta) : F W + E beta = 0}."""
        return self.efforts.T, self.flows.T

    @property
    def dimension(self) -> int:
        """The dimension of D, which is that of V."""
        return len(self.labels)

    @property
    def isotropy(self) -> float:
        """The largest |<beta, W'> + <beta', W>| over unit pairs of the basis: rounding."""
        return subspaces.largest_power(self._basis)

    @property
    def _basis(self) -> Any:
        """An orthonormal basis of D (2n, n), in `units`."""
        return np.vstack([self.units[:, None] * self.flows, self.efforts / self.units[:, None]])

    # -- what kind it is -----------------------------------------------------------------------------------------

    @property
    def admissible_flows(self) -> Any:
        """A basis (n, r) of the W of all pairs: the characteristic distribution, Sigma where D is induced on it."""
        scale = self.units[:, None]
        return subspaces.orthonormal(subspaces.span(scale * self.flows, self.tolerance, 1.0) / scale)

    @property
    def admissible_efforts(self) -> Any:
        """A basis (n, r) of the beta of all pairs."""
        scale = self.units[:, None]
        return subspaces.orthonormal(scale * subspaces.span(self.efforts / scale, self.tolerance, 1.0))

    @property
    def flowless_efforts(self) -> Any:
        """A basis (n, n - r) of the beta with (0, beta) in D: the reactions, which annihilate the admissible flows."""
        return subspaces.complement(self.admissible_flows)

    @property
    def effortless_flows(self) -> Any:
        """A basis (n, n - r) of the W with (W, 0) in D: what dH leaves undetermined."""
        return subspaces.complement(self.admissible_efforts)

    @property
    def is_presymplectic(self) -> bool:
        """Whether D is the graph of a two-form: every flow is admissible."""
        return bool(self.admissible_flows.shape[1] == self.dimension)

    @property
    def is_poisson(self) -> bool:
        """Whether D is the graph of a bivector: every effort is admissible."""
        return bool(self.admissible_efforts.shape[1] == self.dimension)

    @property
    def is_symplectic(self) -> bool:
        """Whether D is the graph of a regular two-form (definition 4)."""
        return self.is_presymplectic and self.is_poisson

    def two_form(self) -> Any:
        """The matrix omega (n, n) with beta = omega W."""
        self._demand(self.is_presymplectic, "two-form")
        scale = self.units[:, None]
        return _skew(scale * np.linalg.solve((scale * self.flows).T, (self.efforts / scale).T).T * self.units)

    def bivector(self) -> Any:
        """The matrix pi (n, n) with W = pi beta."""
        self._demand(self.is_poisson, "bivector")
        scale = self.units[:, None]
        return _skew(np.linalg.solve((self.efforts / scale).T, (scale * self.flows).T).T / scale / self.units)

    def _demand(self, holds: bool, what: str) -> None:
        if not holds:
            raise ModelError(f"The Dirac structure is not the graph of a {what}", seen=self, remedy="use its kernel or image")

    # -- pairs and other structures ------------------------------------------------------------------------------

    def project(self, flow: Any, effort: Any) -> tuple[Any, Any]:
        """The pair of D nearest to (flow, effort), in `units`; (n,) or (n, k) each."""
        inside = self._basis @ (self._basis.T @ self._pair(flow, effort))
        n, scale = self.dimension, self.units.reshape(-1, *[1] * (inside.ndim - 1))
        return inside[:n] / scale, scale * inside[n:]

    def residual(self, flow: Any, effort: Any) -> Any:
        """The distance of (flow, effort) from D as a part of its length, in `units`: 0 inside, 1 at right angles."""
        pair = self._pair(flow, effort)
        length = np.linalg.norm(pair, axis=0)
        outside = np.linalg.norm(pair - self._basis @ (self._basis.T @ pair), axis=0)
        return outside / np.where(length > 0, length, 1.0)

    def contains(self, flow: Any, effort: Any, tolerance: float = TOLERANCE) -> bool:
        """Whether (flow, effort) lies in D up to `tolerance`."""
        return bool(np.all(self.residual(flow, effort) <= tolerance))

    def distance(self, other: DiracStructure) -> float:
        """The sine of the largest angle between two structures, in the `units` of this one; 0 where they are equal."""
        if other.dimension != self.dimension:
            raise ModelError(
                "Dirac structures on different spaces cannot be compared",
                seen=f"{self.dimension} and {other.dimension} dimensions",
                remedy="bring them to one space with pulled_back, compose or product",
            )
        scale = self.units[:, None]
        basis, _ = np.linalg.qr(np.vstack([scale * other.flows, other.efforts / scale]))
        return subspaces.gap(self._basis, basis)

    def equals(self, other: DiracStructure, tolerance: float = TOLERANCE) -> bool:
        """Whether both are the same subspace up to `tolerance`."""
        return self.distance(other) <= tolerance

    def product(self, other: DiracStructure) -> DiracStructure:
        """Both side by side on V x V', without any exchange."""
        upper, lower = np.zeros((self.dimension, other.dimension)), np.zeros((other.dimension, self.dimension))
        flows = np.block([[self.flows, upper], [lower, other.flows]])
        efforts = np.block([[self.efforts, upper], [lower, other.efforts]])
        units = np.concatenate([self.units, other.units])
        return DiracStructure(flows, efforts, _joined(self.labels, other.labels), units)

    def restricted(self, *, rows: Any | None = None, directions: Any | None = None) -> DiracStructure:
        """{(W, beta) : W in Sigma, (W, beta - r) in D for some r in ann Sigma}.

        Sigma is the kernel of `rows` (m, n) or the span of the columns of `directions` (n, k); both may be dependent.
        Rows are taken at length one each, as the constraints of a system are; directions as they are, so that one that
        is short beside the others counts as zero.
        """
        if (rows is None) == (directions is None):
            raise ModelError("A restriction needs rows or directions, and not both", remedy="pass rows=... or directions=...")
        scale = self.units[:, None]
        if rows is not None:
            table = self._sized(read_matrix(rows, "constraint rows").T, "Constraint rows")
            reactions = subspaces.span(subspaces.unit_columns(table / scale))
        else:
            table = self._sized(read_matrix(directions, "directions"), "Directions")
            reactions = subspaces.annihilator(scale * table)
        flows, efforts = scale * self.flows, self.efforts / scale
        allowed = subspaces.annihilator(flows.T @ reactions, self.tolerance, 1.0)
        flows = np.hstack([flows @ allowed, np.zeros_like(reactions)])
        efforts = np.hstack([efforts @ allowed, reactions])
        return DiracStructure(flows / scale, scale * efforts, self.labels, self.units)

    def opened(self, rows: Any, labels: Sequence[str] = ()) -> DiracStructure:
        """D with a port for each row of R (m, n): on V x R^m, the flow -R W and the effort e that acts as the force R^T e."""
        table = self._sized(read_matrix(rows, "rows of the ports").T, "Rows of ports").T
        m, n = table.shape
        flows = np.block([[self.flows, np.zeros((n, m))], [-table @ self.flows, np.zeros((m, m))]])
        efforts = np.block([[self.efforts, table.T], [np.zeros((m, n)), np.eye(m)]])
        units = np.concatenate([self.units, 1 / subspaces.column_lengths((table / self.units).T)])
        return DiracStructure(flows, efforts, _joined(self.labels, _labels(labels, m, "port")), units)

    def compose(self, other: DiracStructure, shared: Sequence[tuple[int | str, int | str]]) -> DiracStructure:
        """Both joined at shared ports, on what is left of V x V': at each port the flows are opposite, the efforts equal.

        `shared` lists pairs of a coordinate of this structure and one of `other`, by place or by label.

        >>> spring = DiracStructure.from_two_form([[0.0, -1.0], [1.0, 0.0]], ["q", "p"]).opened([[1.0, 0.0]], ["tip"])
        >>> wall = DiracStructure.from_bivector([[0.0]], ["wall"])
        >>> held = spring.compose(wall, [("tip", "wall")])
        >>> held.labels, held.equals(DiracStructure.from_constraints([[1.0, 0.0]], [[0.0, -1.0], [1.0, 0.0]]))
        (('q', 'p'), True)
        """
        mine = [self._place(a) for a, _ in shared]
        theirs = [other._place(b) for _, b in shared]
        if len({*mine}) < len(mine) or len({*theirs}) < len(theirs):
            raise ModelError("A port can be shared once", seen=list(shared), remedy="list each coordinate in one pair only")
        kept = [k for k in range(self.dimension) if k not in mine]
        others = [k for k in range(other.dimension) if k not in theirs]
        if not kept and not others:
            raise ModelError("Nothing is left once these ports are joined", seen=list(shared), remedy="share fewer of them")
        scale = np.sqrt(self.units[mine] * other.units[theirs])[:, None]
        junction = np.block(
            [
                [scale * self.flows[mine], scale * other.flows[theirs]],
                [self.efforts[mine] / scale, -other.efforts[theirs] / scale],
            ]
        )
        both = subspaces.annihilator(junction.T, self.tolerance, 1.0)
        first, second = both[: self.dimension], both[self.dimension :]
        flows = np.vstack([self.flows[kept] @ first, other.flows[others] @ second])
        efforts = np.vstack([self.efforts[kept] @ first, other.efforts[others] @ second])
        labels = _joined([self.labels[k] for k in kept], [other.labels[k] for k in others])
        return DiracStructure(flows, efforts, labels, np.concatenate([self.units[kept], other.units[others]]))

    def pulled_back(self, tangent: Any, labels: Sequence[str] = ()) -> DiracStructure:
        """{(W, T^T beta) : (T W, beta) in D} by the tangent map T (n, k) of a map from a space of k dimensions to V."""
        table = self.units[:, None] * self._sized(read_matrix(tangent, "tangent map"), "Tangent maps")
        k, units = table.shape[1], subspaces.column_lengths(table)
        both = subspaces.annihilator(np.hstack([table / units, -self.units[:, None] * self.flows]).T)
        efforts = table.T @ (self.efforts / self.units[:, None]) @ both[k:]
        return DiracStructure(both[:k] / units[:, None], efforts, labels, units)

    def __repr__(self) -> str:
        kinds = (
            (self.is_symplectic, "symplectic"),
            (self.is_presymplectic, "presymplectic"),
            (self.is_poisson, "of Poisson's kind"),
        )
        flows, efforts = self.admissible_flows.shape[1], self.admissible_efforts.shape[1]
        kind = next((name for holds, name in kinds if holds), f"{flows} admissible flows, {efforts} admissible efforts")
        return f"<DiracStructure on {', '.join(self.labels)}: {kind}>"

    def _pair(self, flow: Any, effort: Any) -> Any:
        """A pair, or pairs in columns, in `units`, (2n,) or (2n, k)."""
        first, second = np.asarray(flow, dtype=float), np.asarray(effort, dtype=float)
        if first.shape != second.shape or first.ndim not in (1, 2) or first.shape[0] != self.dimension:
            raise ModelError(
                f"A flow and an effort need {self.dimension} components each",
                seen=f"{first.shape} and {second.shape}",
                remedy=f"give them by {', '.join(self.labels)}",
            )
        scale = self.units.reshape(-1, *[1] * (first.ndim - 1))
        return np.concatenate([scale * first, second / scale])

    def _sized(self, table: Any, what: str) -> Any:
        """A matrix with a row for each coordinate."""
        if table.shape[0] != self.dimension:
            raise ModelError(
                f"{what} need an entry for each coordinate of the Dirac structure",
                seen=f"{table.shape[0]} entries for {self.dimension} coordinates",
                remedy=f"give them by {', '.join(self.labels)}",
            )
        return table

    def _place(self, coordinate: int | str) -> int:
        if isinstance(coordinate, str) and coordinate in self.labels:
            return self.labels.index(coordinate)
        if isinstance(coordinate, int | np.integer) and 0 <= coordinate < self.dimension:
            return int(coordinate)
        raise ModelError(
            f"The Dirac structure has no coordinate {coordinate!r}", seen=", ".join(self.labels), remedy="use one of these"
        )


def interconnect(first: DiracStructure, second: DiracStructure, constraint: Any) -> DiracStructure:
    """Two structures tied by `constraint` rows (m, n + n') on both flows: the product, restricted to their kernel.

    For two systems with the forms omega and omega' it is the structure that lemma 1 gives for both together with that
    constraint. Dependent rows do no harm.

    >>> particle = DiracStructure.from_two_form([[0.0, -1.0], [1.0, 0.0]])
    >>> interconnect(particle, particle, [[1.0, 0.0, -1.0, 0.0]]).admissible_flows.shape
    (4, 3)
    """
    return first.product(second).restricted(rows=constraint)


def _set(structure: DiracStructure, **values: Any) -> None:
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(structure, name, value)


def _demand_one_size(first: Any, second: Any, remedy: str) -> None:
    if first.shape != second.shape or 0 in first.shape:
        seen = f"{first.shape} and {second.shape}"
        raise ModelError("The parts for flows and efforts must be of one size", seen=seen, remedy=f"give both {remedy}")


def _skew(matrix: Any) -> Any:
    return (matrix - matrix.T) / 2


def _labels(labels: Sequence[str], n: int, stem: str = "w") -> tuple[str, ...]:
    if not labels:
        return tuple(f"{stem}{k + 1}" for k in range(n))
    if len(labels) != n or len({*labels}) != n:
        raise ModelError(
            f"A Dirac structure on {n} dimensions needs {n} different labels", seen=list(labels), remedy="name each once"
        )
    return tuple(labels)


def _joined(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """The labels of a product: their own where they differ, numbered ones where two coincide."""
    both = (*first, *second)
    return both if len({*both}) == len(both) else ()
