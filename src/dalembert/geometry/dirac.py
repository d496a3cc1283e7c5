r"""Linear Dirac structures: relations between flows and efforts that conserve power.

On a space V of dimension n a Dirac structure is a subspace of pairs of a flow W in V and an effort
beta in V*,

    D in V x V*,  dim D = n,  <beta, W> = 0  for all (W, beta) in D
        (Moreau and van der Schaft, definition 1)

so that dynamics (m_dot, dH) in D conserve H. The symmetric pairing <beta, W'> + <beta', W> vanishes
on D, its own orthogonal: an image (W, beta) = (A c, B c) has the kernel B^T W + A^T beta = 0.

The graph of a two-form, beta = omega W, is presymplectic; the graph of a bivector, W = pi beta, is
of Poisson's kind. With canonical symbols omega (q_dot, p_dot) = (-p_dot, q_dot). A subspace Sigma
of allowed flows restricts D to

    {(W, beta) : W in Sigma, (W, beta - r) in D for some r in ann Sigma}
        (their lemma 1 where D is a graph),

and ports join two structures with opposite flows and equal efforts. Each result is checked to be a
Dirac structure.

Ranks and distances are taken in `units` that make the flow and the effort of each coordinate
equally large; (u W, beta / u) has the same power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..typing import Array, ArrayLike
from . import subspaces
from .subspaces import TOLERANCE, demand_one_size, read_matrix, read_square, skew_part

__all__ = ["DiracStructure", "interconnect"]

#: Power of unit pairs up to this is rounding, and removed.
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
    units, labels, tolerance

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

    flows: Array
    efforts: Array
    units: Array
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
        demand_one_size(first, second, "n x k, a pair in each column")
        n = len(first)
        if units is None:
            units = subspaces.equal_units(first, second)
        units = np.array(units, dtype=float)
        pairs = np.vstack([units[:, None] * first, second / units[:, None]])
        pairs = subspaces.unit_columns(pairs) if pairs.shape[1] == n else pairs
        basis = subspaces.span(pairs, tolerance)
        if basis.shape[1] != n:
            what = "These pairs of flows and efforts span the wrong dimension for a Dirac structure"
            remedy = f"give pairs that span {n} dimensions"
            raise ModelError(what, f"{basis.shape[1]} dimensions on a space of {n}", remedy)
        power = subspaces.largest_power(basis)
        if power > LARGEST_POWER:
            what = "These pairs of flows and efforts are no Dirac structure: they exchange power"
            remedy = "give a skew matrix, or efforts that annihilate the flows"
            raise ModelError(what, f"<beta, W'> + <beta', W> = {power:.1e} for unit pairs", remedy)
        basis, scale = subspaces.nearest_isotropic(basis), units[:, None]
        arrays = {"flows": basis[:n] / scale, "efforts": scale * basis[n:], "units": units}
        for name, value in arrays.items():
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "labels", _labels(labels, n))
        object.__setattr__(self, "tolerance", float(tolerance))

    # -- constructions -----------------------------------------------------------------------------

    @classmethod
    def from_image(
        cls, flows: ArrayLike, efforts: ArrayLike, labels: Sequence[str] = ()
    ) -> DiracStructure:
        """{(A c, B c)}: the span of the columns of A = `flows` and B = `efforts`, (n, k) each."""
        return cls(flows, efforts, labels)

    @classmethod
    def from_kernel(
        cls, of_flows: ArrayLike, of_efforts: ArrayLike, labels: Sequence[str] = ()
    ) -> DiracStructure:
        """{(W, beta) : F W + E beta = 0}, F = `of_flows`, E = `of_efforts` (m, n); any rank."""
        left = read_matrix(of_flows, "rows on the flows")
        right = read_matrix(of_efforts, "rows on the efforts")
        demand_one_size(left, right, "m x n, a row for each condition")
        n = left.shape[1]
        units = subspaces.equal_units(right.T, left.T)
        rows = np.hstack([left / units, right * units])
        pairs = subspaces.annihilator(subspaces.unit_columns(rows.T))
        return cls(pairs[:n] / units[:, None], units[:, None] * pairs[n:], labels, units)

    @classmethod
    def from_two_form(cls, omega: ArrayLike, labels: Sequence[str] = ()) -> DiracStructure:
        """The graph beta = omega W of a skew matrix (n, n), regular or not (definition 3).

        >>> DiracStructure.from_two_form([[0.0, -1.0], [1.0, 0.0]]).is_symplectic
        True
        """
        matrix = read_square(omega, "two-form")
        return cls(np.eye(len(matrix)), matrix, labels)

    @classmethod
    def from_bivector(cls, pi: ArrayLike, labels: Sequence[str] = ()) -> DiracStructure:
        """The graph W = pi beta of a skew matrix (n, n), such as a Poisson tensor at a point."""
        matrix = read_square(pi, "bivector")
        return cls(matrix, np.eye(len(matrix)), labels)

    @classmethod
    def induced(
        cls, omega: ArrayLike, sigma: ArrayLike, labels: Sequence[str] = ()
    ) -> DiracStructure:
        """{(W, beta) : W in Sigma = im `sigma`, beta - omega W in ann Sigma} (lemma 1).

        The columns may be dependent; Sigma may have any rank from 0 to n.
        """
        return cls.from_two_form(omega, labels).restricted(directions=sigma)

    @classmethod
    def from_constraints(
        cls, rows: ArrayLike, omega: ArrayLike | None = None, labels: Sequence[str] = ()
    ) -> DiracStructure:
        """The same with Sigma = ker `rows` (m, n), of any rank; `omega` defaults to zero.

        Kirchhoff's laws are of this kind: with the node rows of a circuit, flows are currents and
        efforts are voltages.
        """
        table = read_matrix(rows, "constraint rows")
        n = table.shape[1]
        whole = cls.from_two_form(np.zeros((n, n)) if omega is None else omega, labels)
        return whole.restricted(rows=table)

    # -- representations ---------------------------------------------------------------------------

    @property
    def image(self) -> tuple[Array, Array]:
        """A and B, (n, n) each: D = {(A c, B c)}."""
        return self.flows, self.efforts

    @property
    def kernel(self) -> tuple[Array, Array]:
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
    def _basis(self) -> Array:
        """An orthonormal basis of D (2n, n), in `units`."""
        return np.vstack([self.units[:, None] * self.flows, self.efforts / self.units[:, None]])

    # -- what kind it is ---------------------------------------------------------------------------

    @property
    def admissible_flows(self) -> Array:
        """A basis (n, r) of the W of all pairs: the characteristic distribution."""
        scale = self.units[:, None]
        found = subspaces.span(scale * self.flows, self.tolerance, 1.0)
        return subspaces.orthonormal(found / scale)

    @property
    def admissible_efforts(self) -> Array:
        """A basis (n, r) of the beta of all pairs."""
        scale = self.units[:, None]
        found = subspaces.span(self.efforts / scale, self.tolerance, 1.0)
        return subspaces.orthonormal(scale * found)

    @property
    def flowless_efforts(self) -> Array:
        """A basis (n, n - r) of the beta with (0, beta) in D: the reactions."""
        return subspaces.complement(self.admissible_flows)

    @property
    def effortless_flows(self) -> Array:
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

    def two_form(self) -> Array:
        """The matrix omega (n, n) with beta = omega W."""
        self._demand(self.is_presymplectic, "two-form")
        scale = self.units[:, None]
        ratio = np.linalg.solve((scale * self.flows).T, (self.efforts / scale).T).T
        return skew_part(scale * ratio * self.units)

    def bivector(self) -> Array:
        """The matrix pi (n, n) with W = pi beta."""
        self._demand(self.is_poisson, "bivector")
        scale = self.units[:, None]
        ratio = np.linalg.solve((self.efforts / scale).T, (scale * self.flows).T).T
        return skew_part(ratio / scale / self.units)

    def _demand(self, holds: bool, what: str) -> None:
        if not holds:
            remedy = "use its kernel or image"
            raise ModelError(f"The Dirac structure is not the graph of a {what}", self, remedy)

    # -- pairs and other structures ----------------------------------------------------------------

    def project(self, flow: ArrayLike, effort: ArrayLike) -> tuple[Array, Array]:
        """The pair of D nearest to (flow, effort), in `units`; (n,) or (n, k) each."""
        inside = self._basis @ (self._basis.T @ self._pair(flow, effort))
        n, scale = self.dimension, self.units.reshape(-1, *[1] * (inside.ndim - 1))
        return inside[:n] / scale, scale * inside[n:]

    def residual(self, flow: ArrayLike, effort: ArrayLike) -> Any:
        """The relative distance of (flow, effort) from D, in `units`: 0 inside, 1 orthogonal."""
        pair = self._pair(flow, effort)
        length = np.linalg.norm(pair, axis=0)
        outside = np.linalg.norm(pair - self._basis @ (self._basis.T @ pair), axis=0)
        return outside / np.where(length > 0, length, 1.0)

    def contains(self, flow: ArrayLike, effort: ArrayLike, tolerance: float = TOLERANCE) -> bool:
        """Whether (flow, effort) lies in D up to `tolerance`."""
        return bool(np.all(self.residual(flow, effort) <= tolerance))

    def distance(self, other: DiracStructure) -> float:
        """The sine of the largest angle between two structures, in the `units` of this one."""
        if other.dimension != self.dimension:
            what = "Dirac structures on different spaces cannot be compared"
            remedy = "bring them to one space with pulled_back, compose or product"
            raise ModelError(what, f"{self.dimension} and {other.dimension} dimensions", remedy)
        scale = self.units[:, None]
        basis, _ = np.linalg.qr(np.vstack([scale * other.flows, other.efforts / scale]))
        return subspaces.gap(self._basis, basis)

    def equals(self, other: DiracStructure, tolerance: float = TOLERANCE) -> bool:
        """Whether both are the same subspace up to `tolerance`."""
        return self.distance(other) <= tolerance

    def product(self, other: DiracStructure) -> DiracStructure:
        """Both side by side on V x V', without any exchange."""
        upper = np.zeros((self.dimension, other.dimension))
        lower = upper.T
        flows = np.block([[self.flows, upper], [lower, other.flows]])
        efforts = np.block([[self.efforts, upper], [lower, other.efforts]])
        units = np.concatenate([self.units, other.units])
        return DiracStructure(flows, efforts, _joined(self.labels, other.labels), units)

    def restricted(
        self, *, rows: ArrayLike | None = None, directions: ArrayLike | None = None
    ) -> DiracStructure:
        """{(W, beta) : W in Sigma, (W, beta - r) in D for some r in ann Sigma}.

        Sigma is the kernel of `rows` (m, n) or the span of the columns of `directions` (n, k), of
        any rank. Rows are scaled to length one; directions that are short beside the others count
        as zero.
        """
        scale = self.units[:, None]
        if rows is not None and directions is None:
            table = self._sized(read_matrix(rows, "constraint rows").T, "Constraint rows")
            reactions = subspaces.span(subspaces.unit_columns(table / scale))
        elif directions is not None and rows is None:
            table = self._sized(read_matrix(directions, "directions"), "Directions")
            reactions = subspaces.annihilator(scale * table)
        else:
            remedy = "pass rows=... or directions=..."
            raise ModelError("A restriction needs rows or directions, and not both", remedy=remedy)
        flows, efforts = scale * self.flows, self.efforts / scale
        allowed = subspaces.annihilator(flows.T @ reactions, self.tolerance, 1.0)
        flows = np.hstack([flows @ allowed, np.zeros_like(reactions)])
        efforts = np.hstack([efforts @ allowed, reactions])
        return DiracStructure(flows / scale, scale * efforts, self.labels, self.units)

    def opened(self, rows: ArrayLike, labels: Sequence[str] = ()) -> DiracStructure:
        """D with a port (flow -R W, effort e, force R^T e) for each row of R (m, n)."""
        table = self._sized(read_matrix(rows, "rows of the ports").T, "Rows of ports").T
        m, n = table.shape
        flows = np.block([[self.flows, np.zeros((n, m))], [-table @ self.flows, np.zeros((m, m))]])
        efforts = np.block([[self.efforts, table.T], [np.zeros((m, n)), np.eye(m)]])
        units = np.concatenate([self.units, 1 / subspaces.column_lengths((table / self.units).T)])
        return DiracStructure(
            flows, efforts, _joined(self.labels, _labels(labels, m, "port")), units
        )

    def compose(
        self, other: DiracStructure, shared: Sequence[tuple[int | str, int | str]]
    ) -> DiracStructure:
        """Both joined at shared ports, where the flows are opposite and the efforts equal.

        `shared` lists pairs of a coordinate here and one of `other`, by place or label.

        >>> canonical = [[0.0, -1.0], [1.0, 0.0]]
        >>> spring = DiracStructure.from_two_form(canonical, ["q", "p"]).opened([[1, 0]], ["tip"])
        >>> wall = DiracStructure.from_bivector([[0.0]], ["wall"])
        >>> held = spring.compose(wall, [("tip", "wall")])
        >>> held.labels, held.equals(DiracStructure.from_constraints([[1, 0]], canonical))
        (('q', 'p'), True)
        """
        mine = [self._place(a) for a, _ in shared]
        theirs = [other._place(b) for _, b in shared]
        if len({*mine}) < len(mine) or len({*theirs}) < len(theirs):
            remedy = "list each coordinate in one pair only"
            raise ModelError("A port can be shared once", list(shared), remedy)
        kept = [k for k in range(self.dimension) if k not in mine]
        others = [k for k in range(other.dimension) if k not in theirs]
        if not kept and not others:
            remedy = "share fewer of them"
            raise ModelError("Nothing is left once these ports are joined", list(shared), remedy)
        scale = np.sqrt(self.units[mine] * other.units[theirs])[:, None]
        flows = np.hstack([scale * self.flows[mine], scale * other.flows[theirs]])
        efforts = np.hstack([self.efforts[mine] / scale, -other.efforts[theirs] / scale])
        junction = np.vstack([flows, efforts])
        both = subspaces.annihilator(junction.T, self.tolerance, 1.0)
        first, second = both[: self.dimension], both[self.dimension :]
        flows = np.vstack([self.flows[kept] @ first, other.flows[others] @ second])
        efforts = np.vstack([self.efforts[kept] @ first, other.efforts[others] @ second])
        labels = _joined([self.labels[k] for k in kept], [other.labels[k] for k in others])
        units = np.concatenate([self.units[kept], other.units[others]])
        return DiracStructure(flows, efforts, labels, units)

    def pulled_back(self, tangent: ArrayLike, labels: Sequence[str] = ()) -> DiracStructure:
        """{(W, T^T beta) : (T W, beta) in D} by the tangent map T (n, k) of a map to V."""
        table, scale = read_matrix(tangent, "tangent map"), self.units[:, None]
        table = scale * self._sized(table, "Tangent maps")
        k, units = table.shape[1], subspaces.column_lengths(table)
        both = subspaces.annihilator(np.hstack([table / units, -scale * self.flows]).T)
        efforts = table.T @ (self.efforts / scale) @ both[k:]
        return DiracStructure(both[:k] / units[:, None], efforts, labels, units)

    def __repr__(self) -> str:
        if self.is_presymplectic or self.is_poisson:
            kind = "presymplectic" if self.is_presymplectic else "of Poisson's kind"
            kind = "symplectic" if self.is_symplectic else kind
        else:
            flows, efforts = self.admissible_flows.shape[1], self.admissible_efforts.shape[1]
            kind = f"{flows} admissible flows, {efforts} admissible efforts"
        return f"<DiracStructure on {', '.join(self.labels)}: {kind}>"

    def _pair(self, flow: ArrayLike, effort: ArrayLike) -> Array:
        """A pair, or pairs in columns, in `units`, (2n,) or (2n, k)."""
        first, second = np.asarray(flow, dtype=float), np.asarray(effort, dtype=float)
        shape = first.shape
        if shape != second.shape or first.ndim not in (1, 2) or shape[0] != self.dimension:
            what = f"A flow and an effort need {self.dimension} components each"
            seen, remedy = f"{shape} and {second.shape}", f"give them by {', '.join(self.labels)}"
            raise ModelError(what, seen, remedy)
        scale = self.units.reshape(-1, *[1] * (first.ndim - 1))
        return np.concatenate([scale * first, second / scale])

    def _sized(self, table: Array, what: str) -> Array:
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
        known = ", ".join(self.labels)
        raise ModelError(f"There is no coordinate {coordinate!r}", known, "use one of these")


def interconnect(
    first: DiracStructure, second: DiracStructure, constraint: ArrayLike
) -> DiracStructure:
    """Two structures tied by `constraint` rows (m, n + n') on both flows.

    For two systems with the forms omega and omega' it is the structure of lemma 1 for both with
    that constraint. Dependent rows do no harm.

    >>> particle = DiracStructure.from_two_form([[0.0, -1.0], [1.0, 0.0]])
    >>> interconnect(particle, particle, [[1.0, 0.0, -1.0, 0.0]]).admissible_flows.shape
    (4, 3)
    """
    return first.product(second).restricted(rows=constraint)


def _labels(labels: Sequence[str], n: int, stem: str = "w") -> tuple[str, ...]:
    if not labels:
        return tuple(f"{stem}{k + 1}" for k in range(n))
    if len(labels) != n or len({*labels}) != n:
        what = f"A Dirac structure on {n} dimensions needs {n} different labels"
        raise ModelError(what, seen=list(labels), remedy="name each once")
    return tuple(labels)


def _joined(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """The labels of a product: their own where they differ, numbered ones where two coincide."""
    both = (*first, *second)
    return both if len({*both}) == len(both) else ()
