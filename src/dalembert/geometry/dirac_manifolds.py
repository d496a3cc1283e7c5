r"""Dirac structures that depend on the point: D(x) in T M x T* M, with ports.

D is given by its kernel F(x) W + E(x) beta = 0, with as many rows as there are coordinates and
ports (Moreau and van der Schaft, definition 1). Where E F^T + F E^T = 0 and the rank is full, D is
its own orthogonal, and its image is {(E^T c, F^T c)}. D is integrable where its sections are closed
under Courant's bracket: with (X_i, a_i) a basis,

    <L_X1 a_2, X_3> + <L_X2 a_3, X_1> + <L_X3 a_1, X_2> = 0        (Courant 1990, 2.3.5)

for all triples. The graph of a bivector is integrable where Jacobi's identity holds, the graph of a
two-form where it is closed, and a constrained structure where its constraints are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import sympy

from ..algebra.simplify.simplifier import simplify
from ..algebra.verdicts import Verdict
from ..errors import ModelError
from ..typing import Matrix
from .casimirs import polynomial_casimirs
from .dirac import DiracStructure
from .surfaces import Surface, eliminate
from .vanishing import generic_rank, vanish

__all__ = ["DiracManifold"]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


@dataclass(frozen=True)
class DiracManifold:
    """A Dirac structure at each point of a space, open at ports.

    Attributes
    ----------
    symbols : tuple of symbols (n,)
        Coordinates of the space.
    of_flows, of_efforts : matrices (n + m, n + m)
        F and E of the kernel representation.
    ports : tuple of str (m,)

    Raises
    ------
    ModelError
        Where pairs exchange power, or the rank is wrong.

    Examples
    --------
    The knife edge: the canonical structure, restricted to x_dot sin(theta) = y_dot cos(theta).

    >>> x, y, th, a, b, c = sympy.symbols("x y theta p_x p_y p_theta", real=True)
    >>> row = [[sympy.sin(th), -sympy.cos(th), 0, 0, 0, 0]]
    >>> edge = DiracManifold.canonical([x, y, th], [a, b, c]).restricted(row)
    >>> edge.integrability.status
    'refuted'
    """

    symbols: tuple[sympy.Symbol, ...]
    of_flows: sympy.ImmutableMatrix
    of_efforts: sympy.ImmutableMatrix
    ports: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.symbols) + len(self.ports)
        F, E = self.of_flows, self.of_efforts
        if F.shape != (size, size) or E.shape != (size, size):
            raise ModelError(
                "A Dirac structure needs a row and a column for each coordinate and port",
                seen=f"{F.shape} and {E.shape} for {size}",
                remedy="give square matrices",
            )
        power = F * E.T + E * F.T
        found = vanish([simplify(entry) for entry in power])
        if not found.holds:
            raise ModelError(
                "These flows and efforts are no Dirac structure: they exchange power",
                seen=f"F E^T + E F^T is not zero ({found})",
                remedy="give a skew matrix, or efforts that annihilate the flows",
            )
        rank = generic_rank(sympy.Matrix(F.row_join(E)))
        if rank != size:
            raise ModelError(
                "The kernel of a Dirac structure needs independent rows",
                seen=f"rank {rank} of {size}",
                remedy="give as many independent rows as coordinates and ports",
            )

    # -- constructions -----------------------------------------------------------------------------

    @classmethod
    def from_kernel(
        cls,
        symbols: Sequence[sympy.Symbol],
        of_flows: Matrix,
        of_efforts: Matrix,
        ports: Sequence[str] = (),
    ) -> DiracManifold:
        """{(W, beta) : F W + E beta = 0}."""
        return cls(tuple(symbols), _matrix(of_flows), _matrix(of_efforts), tuple(ports))

    @classmethod
    def from_image(
        cls,
        symbols: Sequence[sympy.Symbol],
        flows: Matrix,
        efforts: Matrix,
        ports: Sequence[str] = (),
    ) -> DiracManifold:
        """{(A c, B c)} with A = `flows` and B = `efforts`."""
        return cls(tuple(symbols), _matrix(efforts).T, _matrix(flows).T, tuple(ports))

    @classmethod
    def from_bivector(cls, symbols: Sequence[sympy.Symbol], pi: Matrix) -> DiracManifold:
        """The graph W = pi(x) beta of a skew matrix, with Jacobi's identity or without."""
        table = _matrix(pi)
        return cls(tuple(symbols), sympy.ImmutableMatrix(sympy.eye(table.rows)), -table)

    @classmethod
    def from_two_form(cls, symbols: Sequence[sympy.Symbol], omega: Matrix) -> DiracManifold:
        """The graph beta = omega(x) W of a skew matrix, closed or not, regular or not."""
        table = _matrix(omega)
        return cls(tuple(symbols), table, sympy.ImmutableMatrix(-sympy.eye(table.rows)))

    @classmethod
    def canonical(
        cls, coordinates: Sequence[sympy.Symbol], momenta: Sequence[sympy.Symbol]
    ) -> DiracManifold:
        """The canonical structure, (q_dot, p_dot) = (beta_p, -beta_q)."""
        n = len(coordinates)
        one, zero = sympy.eye(n), sympy.zeros(n, n)
        pi = sympy.Matrix(sympy.BlockMatrix([[zero, one], [-one, zero]]).as_explicit())
        return cls.from_bivector([*coordinates, *momenta], pi)

    def restricted(self, rows: Matrix) -> DiracManifold:
        """Flows in the kernel of `rows` (k, n), with reactions rows^T mu beside the efforts.

        For the graph of a bivector that is the constrained representation W = pi beta + pi A^T mu,
        A W = 0; for the graph of a two-form it is lemma 1. The rows must be independent.
        """
        table = _matrix(rows)
        k, size = table.rows, len(self.symbols) + len(self.ports)
        if table.cols == len(self.symbols):
            table = table.row_join(sympy.zeros(k, len(self.ports)))
        # F W + E (beta - A^T mu) = 0 and A W = 0, without mu.
        F = self.of_flows.col_join(table)
        E = self.of_efforts.col_join(sympy.zeros(k, size))
        reactions = (-self.of_efforts * table.T).col_join(sympy.zeros(k, k))
        return self._eliminated(reactions, F, E, self.symbols, self.ports)

    def opened(self, rows: Matrix, ports: Sequence[str]) -> DiracManifold:
        """With a port (flow -R W, effort e, force R^T e) for each row of R (k, n)."""
        table = _matrix(rows)
        k, m = table.rows, len(self.ports)
        table = table.row_join(sympy.zeros(k, m))
        F, E = self.of_flows, self.of_efforts
        upper = F.row_join(sympy.zeros(F.rows, k))
        of_flows = upper.col_join(table.row_join(sympy.eye(k)))
        of_efforts = E.row_join(-E * table.T).col_join(sympy.zeros(k, E.cols + k))
        return DiracManifold(
            self.symbols, _matrix(of_flows), _matrix(of_efforts), (*self.ports, *ports)
        )

    def compose(
        self, other: DiracManifold, shared: Sequence[tuple[str, str]] = ()
    ) -> DiracManifold:
        """Both joined at ports, where the flows are opposite and the efforts equal.

        >>> q, p, r = sympy.symbols("q p r", real=True)
        >>> mass = DiracManifold.canonical([q], [p]).opened([[1, 0]], ["tip"])
        >>> spring = DiracManifold.from_bivector([r], [[0]]).opened([[1]], ["end"])
        >>> mass.compose(spring, [("tip", "end")]).symbols
        (q, p, r)
        """
        taken = {*self.symbols} & {*other.symbols}
        if taken or {*self.ports} & {*other.ports}:
            both = sorted(map(str, taken)) or sorted({*self.ports} & {*other.ports})
            raise ModelError(
                "Structures that are joined need symbols and ports of their own",
                seen=", ".join(both),
                remedy="rename them",
            )
        mine, theirs = ([self._port(a) for a, _ in shared], [other._port(b) for _, b in shared])
        symbols = (*self.symbols, *other.symbols)
        places = [
            *((0, k) for k in range(len(self.symbols))),
            *((1, k) for k in range(len(other.symbols))),
            *((0, k) for k in self._open(mine)),
            *((1, k) for k in other._open(theirs)),
        ]
        rows = self.of_flows.rows + other.of_flows.rows
        first = self.of_flows.rows

        def column(which: int, matrix: sympy.Matrix, place: int, sign: int = 1) -> sympy.Matrix:
            made = sympy.zeros(rows, 1)
            start = 0 if which == 0 else first
            for k in range(matrix.rows):
                made[start + k, 0] = sign * matrix[k, place]
            return made

        parts = (self, other)
        F, E = (
            sympy.Matrix.hstack(*(column(w, getattr(parts[w], which), k) for w, k in places))
            for which in ("of_flows", "of_efforts")
        )
        hidden = [
            column(0, self.of_flows, a) + column(1, other.of_flows, b, -1)
            for a, b in zip(mine, theirs, strict=True)
        ] + [
            column(0, self.of_efforts, a) + column(1, other.of_efforts, b)
            for a, b in zip(mine, theirs, strict=True)
        ]
        gone = sympy.Matrix.hstack(*hidden) if hidden else sympy.zeros(rows, 0)
        ports = [self.ports[k - len(self.symbols)] for k in self._open(mine)]
        ports += [other.ports[k - len(other.symbols)] for k in other._open(theirs)]
        return self._eliminated(gone, F, E, symbols, tuple(ports))

    def _eliminated(
        self,
        gone: sympy.Matrix,
        F: sympy.Matrix,
        E: sympy.Matrix,
        symbols: tuple[sympy.Symbol, ...],
        ports: tuple[str, ...],
    ) -> DiracManifold:
        """The rows of F W + E beta + gone c = 0 without c."""
        surface, whole = Surface(symbols), F.row_join(E)
        if not gone.cols:
            return DiracManifold(symbols, _matrix(F), _matrix(E), ports)
        found = eliminate(surface, gone.tolist(), whole.tolist())
        kept = sympy.Matrix(list(found.conditions.values()))
        n = F.cols
        if kept.rows > n:  # rows that depend on the others
            again = eliminate(surface, kept.tolist(), [[ZERO]] * kept.rows)
            kept = sympy.Matrix([list(kept.row(k)) for k in sorted(again.pivots.values())])
        return DiracManifold(symbols, _matrix(kept[:, :n]), _matrix(kept[:, n:]), ports)

    # -- questions ---------------------------------------------------------------------------------

    @property
    def image(self) -> tuple[sympy.ImmutableMatrix, sympy.ImmutableMatrix]:
        """A and B with D = {(A c, B c)}."""
        return self.of_efforts.T, self.of_flows.T

    def hybrid(self) -> tuple[tuple[int, ...], sympy.ImmutableMatrix]:
        """The places K and the skew matrix J of (W_K, beta_K') = J (beta_K, W_K').

        K' are the other places: the input-output representation of Bloch and Crouch, for which
        columns K of F that are independent can be taken.

        >>> x, y, z = sympy.symbols("x y z", real=True)
        >>> flat = DiracManifold.from_two_form([x, y, z], [[0, 1, 0], [-1, 0, 0], [0, 0, 0]])
        >>> flat.hybrid()[0], flat.hybrid()[1].tolist()
        ((0, 1), [[0, -1, 0], [1, 0, 0], [0, 0, 0]])
        """
        F, E = self.of_flows, self.of_efforts
        surface, size = Surface(self.symbols), F.rows
        chosen = tuple(sorted(eliminate(surface, F.tolist(), [[ZERO]] * size).pivots))
        others = tuple(k for k in range(size) if k not in chosen)
        pairs = [(F, E, k) for k in chosen] + [(E, F, k) for k in others]
        left = sympy.Matrix.hstack(*(one.col(k) for one, _, k in pairs))
        right = sympy.Matrix.hstack(*(-other.col(k) for _, other, k in pairs))
        solved = eliminate(surface, left.tolist(), right.tolist())
        if solved.free:
            what = "No input-output representation of the Dirac structure was found"
            raise ModelError(what, seen=f"columns {solved.free}", remedy="use its image")
        return chosen, sympy.ImmutableMatrix([solved.values[k][0] for k in range(size)])

    @property
    def integrability(self) -> Verdict:
        """Whether sections are closed under Courant's bracket: proved, refuted, not established."""
        A, B = self.image
        names = list(self.symbols)
        size = A.rows
        columns = [(list(A.col(k)), list(B.col(k))) for k in range(size)]

        def term(one: int, two: int, three: int) -> sympy.Expr:
            X, a, Z = columns[one][0], columns[two][1], columns[three][0]
            total = ZERO
            for j, s in enumerate(names):
                total += sum(X[j] * sympy.diff(a[k], s) * Z[k] for k in range(size) if a[k].has(s))
                total += sum(a[k] * sympy.diff(X[k], s) * Z[j] for k in range(size) if X[k].has(s))
            return total

        return vanish([
            term(i, j, k) + term(j, k, i) + term(k, i, j)
            for i, j, k in combinations(range(size), 3)
        ])  # fmt: skip

    def casimirs(self, degree: int = 2) -> list[sympy.Expr]:
        """Polynomials C up to a degree with (0, dC) in D: every Hamiltonian conserves them.

        >>> x, y, z = sympy.symbols("x y z", real=True)
        >>> DiracManifold.from_bivector([x, y, z], [[0, z, -y], [-z, 0, x], [y, -x, 0]]).casimirs()
        [x**2 + y**2 + z**2]
        """
        n = len(self.symbols)
        matrix = sympy.Matrix(self.of_efforts[:, :n])
        found = polynomial_casimirs(matrix, list(self.symbols), degree)
        gradients = {c: [sympy.diff(c, s) for s in self.symbols] for c in found}
        return [c for c in found if vanish(list(matrix * sympy.Matrix(gradients[c]))).holds]

    def at(self, values: Mapping[sympy.Symbol, float]) -> DiracStructure:
        """The linear structure at one point."""
        point = {symbol: sympy.Float(values[symbol]) for symbol in values}
        F, E = (
            [[float(entry) for entry in row] for row in m.xreplace(point).tolist()]
            for m in (self.of_flows, self.of_efforts)
        )
        labels = [*(str(s) for s in self.symbols), *self.ports]
        return DiracStructure.from_kernel(F, E, labels)

    def _port(self, name: str) -> int:
        if name not in self.ports:
            raise ModelError(
                f"There is no port `{name}`", ", ".join(self.ports) or "none", "use one of these"
            )
        return len(self.symbols) + self.ports.index(name)

    def _open(self, closed: Sequence[int]) -> list[int]:
        """The places of ports that stay open."""
        n = len(self.symbols)
        return [k for k in range(n, n + len(self.ports)) if k not in closed]


def _matrix(given: Matrix) -> sympy.ImmutableMatrix:
    """A matrix of expressions; text is refused."""
    if isinstance(given, sympy.MatrixBase):
        return sympy.ImmutableMatrix(given)
    if any(isinstance(entry, str) for row in given for entry in row):
        raise ModelError(
            "A matrix was given as text", seen=given, remedy="give expressions of SymPy"
        )
    return sympy.ImmutableMatrix([list(row) for row in given])
