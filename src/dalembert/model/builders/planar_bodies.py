r"""Planar rigid bodies, hinged in a chain or a tree, seen from their common centre of mass.

Body i has the mass m_i, the inertia I_i and the absolute angle theta_i; in its own axes the hinge
with its neighbour j is at d_ij from its centre of mass (Bloch and others, Supplement, section
3.13). Without linear momentum the kinetic energy is

    T = 1/2 w^T J w = 1/2 sum_i I_i w_i^2 + 1/2 sum_{i<j} m_i m_j / M |r_i_dot - r_j_dot|^2,
    w_i = theta_i_dot,

and the momentum of theta_i is mu_i = (J w)_i. Let M_kn be the mass of all bodies beyond the hinge
of k with n, M that of all, and b_k the centre of mass of body k with those masses put at its
hinges,

    b_k = sum_n M_kn d_kn / M,      J_kk = I_k + sum_n M_kn |d_kn|^2 - M |b_k|^2,
    J_kl = -M (d_kn - b_k) . R(theta_l - theta_k) (d_lm - b_l),

n the neighbour of k on the way to l, and m the neighbour of l on the way to k. Only angles between
bodies enter J: the sum mu of the mu_i is conserved, and for a given mu the angles of the hinges
move by themselves. With the rates v of the hinges and w = w_1 (1, ..., 1) + S v their Lagrangian is
Routh's function

    R = 1/2 v^T S^T J S v - (mu - 1^T J S v)^2 / (2 1^T J 1),

whose momenta are the sums of the mu_i beyond each hinge, and whose potential mu^2 / (2 1^T J 1) has
the relative equilibria as its critical points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import sympy
from sympy import Expr, Matrix, cos, sin

from ...errors import ModelError
from ...typing import Expression
from ..drawing import Drawing, Link, PointMark, Shape, Trace
from ..symbols import Coordinate, Parameter, as_expression
from ..system import System

__all__ = ["PlanarBodies", "planar_chain", "planar_tree"]


def planar_chain(
    count: int,
    *,
    masses: Sequence[Expression] | None = None,
    inertias: Sequence[Expression] | None = None,
    hinges: Mapping[tuple[int, int], Sequence[Expression]] | None = None,
) -> PlanarBodies:
    """`count` planar rigid bodies, hinged in a row.

    Parameters
    ----------
    count : int
        At least 2; bodies are counted from 1, and body i has hinges with i - 1 and i + 1.
    masses, inertias : sequences (count,) of numbers or expressions
        The parameters m1, m2, ... and I1, I2, ... without them.
    hinges : mapping of (i, j) to the two components of d_ij
        The parameters d12x, d12y, d21x, ... where one is missing.

    Examples
    --------
    >>> pair = planar_chain(2)
    >>> pair.system().coordinates, pair.joints
    ((theta1, theta2), (theta_21,))
    >>> pair.inertia[0, 0]
    I1 + m1*m2*(d12x**2 + d12y**2)/(m1 + m2)
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise ModelError("A chain needs two bodies or more", seen=count, remedy="give their number")
    return planar_tree(tuple(range(1, count)), masses=masses, inertias=inertias, hinges=hinges)


def planar_tree(
    parents: Sequence[int],
    *,
    masses: Sequence[Expression] | None = None,
    inertias: Sequence[Expression] | None = None,
    hinges: Mapping[tuple[int, int], Sequence[Expression]] | None = None,
) -> PlanarBodies:
    """Planar rigid bodies, hinged in a tree: body k + 2 hangs on an earlier body ``parents[k]``.

    >>> planar_tree([1, 1, 2]).joints
    (theta_21, theta_31, theta_42)
    """
    upward = tuple(parents)
    for child, parent in enumerate(upward, start=2):
        if isinstance(parent, bool) or not isinstance(parent, int) or not 1 <= parent < child:
            raise ModelError(
                f"Body {child} must hang on a body that comes before it",
                seen=parent,
                remedy=f"name one of 1 to {child - 1}",
            )
    if not upward:
        raise ModelError(
            "A tree needs two bodies or more",
            seen="no parents",
            remedy="name the parent of body 2, 3, ...",
        )
    count = len(upward) + 1
    given = {key: tuple(value) for key, value in (hinges or {}).items()}
    table: dict[tuple[int, int], tuple[Expr, Expr]] = {}
    for child, parent in enumerate(upward, start=2):
        for pair in ((parent, child), (child, parent)):
            along, across = given.pop(pair, None) or (
                Parameter(f"d{_pair(*pair)}{axis}") for axis in "xy"
            )
            table[pair] = (as_expression(along), as_expression(across))
    if given:
        raise ModelError(
            "There is no such hinge", seen=sorted(given), remedy=f"give some of {sorted(table)}"
        )
    return PlanarBodies(upward, _listed(masses, "m", count), _listed(inertias, "I", count), table)


def _listed(values: Sequence[Any] | None, symbol: str, count: int) -> tuple[Expr, ...]:
    if values is None:
        return tuple(Parameter(f"{symbol}{i}", positive=True) for i in range(1, count + 1))
    if len(values) != count:
        raise ModelError(
            f"{count} bodies need {count} values of {symbol}",
            seen=len(values),
            remedy="give one for each",
        )
    return tuple(as_expression(value) for value in values)


def _pair(i: int, j: int) -> str:
    """Two numbers of bodies as a subscript: 21, and 11_10 where they have two digits."""
    return f"{i}{j}" if max(i, j) < 10 else f"{i}_{j}"


@dataclass(frozen=True)
class PlanarBodies:
    """Hinged planar bodies without linear momentum; see `planar_chain` and `planar_tree`.

    Attributes
    ----------
    parents : tuple of int (N - 1,)
        The body that body k + 2 hangs on.
    masses, inertias : tuples of expressions (N,)
    hinges : mapping of (i, j) to d_ij (2,)
    """

    parents: tuple[int, ...]
    masses: tuple[Expr, ...]
    inertias: tuple[Expr, ...]
    hinges: Mapping[tuple[int, int], tuple[Expr, Expr]] = field(repr=False)

    # -- symbols -----------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """The number N of bodies."""
        return len(self.masses)

    @cached_property
    def angles(self) -> tuple[Coordinate, ...]:
        """The absolute angles theta1, theta2, ... (N,)."""
        return tuple(Coordinate(f"theta{i}") for i in range(1, self.count + 1))

    @cached_property
    def joints(self) -> tuple[Coordinate, ...]:
        """The angles of the hinges, theta_21 = theta2 - theta1 and so on (N - 1,)."""
        return tuple(
            Coordinate(f"theta_{_pair(child, parent)}")
            for child, parent in enumerate(self.parents, start=2)
        )

    @cached_property
    def momenta(self) -> tuple[sympy.Symbol, ...]:
        """The symbols mu_1, mu_2, ... of the momenta of the angles (N,)."""
        return tuple(sympy.Symbol(f"mu_{i}", real=True) for i in range(1, self.count + 1))

    #: The symbol of the conserved total momentum in the reduced system.
    total = Parameter("mu")

    # -- who is where ------------------------------------------------------------------------------

    @cached_property
    def beyond(self) -> Matrix:
        """S (N, N - 1): 1 if a body lies beyond a hinge: theta_i = theta_1 + sum_a S_ia theta_a."""
        table = sympy.zeros(self.count, self.count - 1)
        for child, parent in enumerate(self.parents, start=2):
            table[child - 1, :] = table[parent - 1, :]
            table[child - 1, child - 2] = sympy.Integer(1)
        return table

    @cached_property
    def differences(self) -> Matrix:
        """D (N - 1, N): theta_a = sum_i D_ai theta_i, with -1 at the parent and 1 at the child."""
        table = sympy.zeros(self.count - 1, self.count)
        for child, parent in enumerate(self.parents, start=2):
            table[child - 2, parent - 1], table[child - 2, child - 1] = (
                sympy.Integer(-1),
                sympy.Integer(1),
            )
        return table

    def _neighbours(self, body: int) -> list[int]:
        return [j for i, j in self.hinges if i == body]

    def _is_beyond(self, body: int, hinge: int) -> bool:
        """Whether `body` lies beyond the hinge of body `hinge` with its parent."""
        return bool(self.beyond[body - 1, hinge - 2])

    def _toward(self, body: int, goal: int) -> int:
        """The neighbour of `body` on the way to another body."""
        for child, parent in enumerate(self.parents, start=2):
            if parent == body and self._is_beyond(goal, child):
                return child
        return self.parents[body - 2]

    def _mass_beyond(self, body: int, neighbour: int) -> Expr:
        """M_kn: the mass of the bodies beyond the hinge of `body` with `neighbour`."""
        hinge, below = max(body, neighbour), neighbour > body
        return sum(
            m for i, m in enumerate(self.masses, start=1) if self._is_beyond(i, hinge) == below
        )

    def _arm(self, body: int, other: int) -> Matrix:
        """M times the part of `body` in the place of `other`: M (d_kn - b_k) or -M b_k."""
        toward = None if body == other else self._toward(body, other)
        masses = {n: self._mass_beyond(body, n) for n in self._neighbours(body)}
        arm = -sum(
            (masses[n] * Matrix(self.hinges[body, n]) for n in masses if n != toward),
            sympy.zeros(2, 1),
        )
        if toward is None:
            return arm
        rest = self.masses[body - 1] + sum(mass for n, mass in masses.items() if n != toward)
        return arm + rest * Matrix(self.hinges[body, toward])

    def _own_inertia(self, body: int) -> Expr:
        """J_kk: its own, and the squared distances of pairs of masses at hinges and middle."""
        masses = [(self.masses[body - 1], (sympy.Integer(0), sympy.Integer(0)))]
        masses += [
            (self._mass_beyond(body, n), self.hinges[body, n]) for n in self._neighbours(body)
        ]
        spread = sum(
            m * other * ((near[0] - far[0]) ** 2 + (near[1] - far[1]) ** 2)
            for (m, near), (other, far) in combinations(masses, 2)
        )
        return self.inertias[body - 1] + spread / sum(self.masses)

    # -- energies ----------------------------------------------------------------------------------

    @cached_property
    def inertia(self) -> Matrix:
        """J (N, N) as a function of the hinge angles (3.13.59, for any number of bodies)."""
        joints = Matrix(self.joints)
        return self._inertia(
            [(row * joints)[0] for row in (self.beyond.row(i) for i in range(self.count))]
        )

    def _inertia(self, angles: Sequence[Expr]) -> Matrix:
        total = sum(self.masses)
        table = sympy.zeros(self.count, self.count)
        for k in range(1, self.count + 1):
            table[k - 1, k - 1] = self._own_inertia(k)
            for l in range(k + 1, self.count + 1):
                near, far = self._arm(k, l), self._arm(l, k)
                turn = angles[l - 1] - angles[k - 1]
                across = far[0] * near[1] - far[1] * near[0]
                entry = -(near.dot(far) * cos(turn) + across * sin(turn)) / total
                table[k - 1, l - 1] = table[l - 1, k - 1] = entry
        return table

    @property
    def locked_inertia(self) -> Expr:
        """1^T J 1: the inertia of all bodies with the hinges locked, a function of their angles."""
        return sum(self.inertia)

    @property
    def kinetic(self) -> Expr:
        """T = 1/2 w^T J w in the absolute angles and their rates."""
        table, rates = self._inertia(self.angles), [angle.dot for angle in self.angles]
        own = sum(table[k, k] * rates[k] ** 2 / 2 for k in range(self.count))
        return own + sum(
            table[k, l] * rates[k] * rates[l] for k, l in combinations(range(self.count), 2)
        )

    def system(self, name: str = "") -> System:
        """The bodies in their absolute angles; motions report the angles of the hinges as well.

        The momentum ``p_theta1`` is mu_1, and so on.
        """
        outputs = {
            joint.name: (self.differences.row(a) * Matrix(self.angles))[0]
            for a, joint in enumerate(self.joints)
        }
        return System(
            self.angles,
            kinetic=self.kinetic,
            outputs=outputs,
            name=name or f"{self.count} planar bodies",
        )

    def reduced_system(self, name: str = "") -> System:
        """The hinges alone, for the total momentum `mu`, with Routh's function as the Lagrangian.

        Motions report mu_1, ..., mu_N, and the rate theta1_rate of the first body's angle.

        >>> reduced = planar_chain(3).reduced_system()
        >>> reduced.coordinates, "mu" in {parameter.name for parameter in reduced.parameters}
        ((theta_21, theta_32), True)
        """
        turning = self.beyond * Matrix([joint.dot for joint in self.joints])
        carried = self.inertia * turning
        coupled, locked = sum(carried), self.locked_inertia
        beyond = Matrix([joint.momentum for joint in self.joints])
        own = self.differences.T * beyond + self.total * sympy.eye(self.count).col(0)
        outputs = {symbol.name: value for symbol, value in zip(self.momenta, own, strict=True)}
        return System(
            self.joints,
            lagrangian=turning.dot(carried) / 2 - (self.total - coupled) ** 2 / (2 * locked),
            outputs=outputs | {"theta1_rate": (self.total - coupled) / locked},
            name=name or f"Hinges of {self.count} planar bodies",
        )

    def reduced_start(self, angles: Any, momenta: Any) -> dict[str, Any]:
        """The start of the reduced system from hinge angles (N - 1,) and momenta mu_i (N,).

        Momenta of the hinges are sums of the mu_i beyond them; the parameter `mu` is the sum of
        all.
        """
        names = [joint.name for joint in self.joints]
        sums = [
            sum(m * mu for m, mu in zip(self.beyond.col(a), momenta, strict=True))
            for a in range(len(names))
        ]
        return dict(zip(names, angles, strict=True)) | {
            f"p_{n}": value for n, value in zip(names, sums, strict=True)
        }

    # -- places ------------------------------------------------------------------------------------

    def place(self, body: int) -> Matrix:
        """The centre of mass of a body, from the common one (2,), in the absolute angles."""
        parts = (self._turned(k, self._arm(k, body)) for k in range(1, self.count + 1))
        return sum(parts, sympy.zeros(2, 1)) / sum(self.masses)

    def _turned(self, body: int, vector: sympy.MatrixBase) -> Matrix:
        """A vector of the body's own axes in space."""
        c, s = cos(self.angles[body - 1]), sin(self.angles[body - 1])
        return Matrix([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])

    @cached_property
    def drawing(self) -> Drawing:
        """Bodies as lines from hinge to hinge through their centres of mass."""
        everyone = range(1, self.count + 1)
        places = {i: self.place(i) for i in everyone}
        arms = {pair: self._turned(pair[0], vector) for pair, vector in self.hinges.items()}
        shapes: list[Shape] = [Trace(tuple(places[1])), Trace(tuple(places[self.count]))]
        for i in everyone:
            ends = [arms[i, n] for n in self._neighbours(i)]
            for arm in ends if len(ends) > 1 else (ends[0], -ends[0]):
                shapes.append(Link(tuple(places[i] + arm), tuple(places[i]), width=5.0))
        hinges = [(parent, child) for child, parent in enumerate(self.parents, start=2)]
        shapes += [
            PointMark(tuple(places[i] + arms[i, j]), size=6.0, color="ground") for i, j in hinges
        ]
        shapes += [PointMark(tuple(place)) for place in places.values()]
        shapes.append(PointMark((0, 0), size=4.0, color="accent"))
        return Drawing(shapes=tuple(shapes))
