r"""Exponential and logarithm in rotation, rigid-motion and translation groups, or any other.

With the angle theta^2 = -tr(W^2)/2 of a skew matrix W of two or three rows,

    exp W = 1 + a W + b W^2,       a = sin(theta)/theta,  b = (1 - cos(theta))/theta^2
    V     = 1 + b W + c W^2,       c = (theta - sin(theta))/theta^3
    V^-1  = 1 - W/2 + d W^2,       d = (1 - theta/2 cot(theta/2))/theta^2

and the motion with the velocity v and the rotation W is (exp W, V v). Logarithms are the principal
ones: all angles are less than half a turn. At half a turn there are two of them, and that is an
error, as is a matrix outside the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import expm, schur

from ..errors import ModelError
from ..typing import Array

__all__ = [
    "Generated",
    "MatrixGroup",
    "Motions",
    "Rotations",
    "Translations",
    "averaged_exponential",
    "principal_logarithm",
]

#: A matrix that departs from its group by more than this is not an element of it.
MEMBER = 1e-6
#: An angle nearer to half a turn than this does not tell its sign.
HALF_TURN = 1e-14
#: Below this angle the coefficients are summed as series.
SMALL_ANGLE = 0.5
#: Square roots are taken until a matrix is this near to the identity.
NEAR_IDENTITY = 0.25
#: The most square roots, and the most steps of Newton's iteration for each.
MOST_ROOTS, MOST_STEPS = 60, 60


class MatrixGroup(Protocol):
    """A group of square matrices that knows its exponential map."""

    @property
    def size(self) -> int:
        """The number of rows."""

    def exponential(self, matrix: Array) -> Array:
        """The element that an element of the Lie algebra, as a matrix, leads to in unit time."""

    def logarithm(self, element: Array) -> Array:
        """The element of the Lie algebra, as a matrix, whose exponential this is."""

    def departure(self, element: Array) -> float:
        """How far a matrix is from being an element; 0 where that has no closed answer."""


@dataclass(frozen=True)
class Rotations:
    """Rotations of n axes."""

    size: int

    def exponential(self, matrix: Array) -> Any:
        if self.size > 3:
            return expm(matrix)
        a, b, _ = _coefficients(_angle(matrix))
        return np.eye(self.size) + a * matrix + b * matrix @ matrix

    def logarithm(self, element: Array) -> Array:
        if self.size == 1:
            return np.zeros((1, 1))
        if self.size == 2:
            return _plane_logarithm(element)
        return _space_logarithm(element) if self.size == 3 else _general_rotation_logarithm(element)

    def departure(self, element: Array) -> float:
        skew = float(np.max(np.abs(element.T @ element - np.eye(self.size))))
        return max(skew, 0.0 if np.linalg.det(element) > 0 else 1.0)


@dataclass(frozen=True)
class Motions:
    """Rigid motions of an n-dimensional space, by matrices ((R, p), (0, 1))."""

    space: int

    @property
    def size(self) -> int:
        return self.space + 1

    def exponential(self, matrix: Array) -> Any:
        n = self.space
        if n > 3:
            return expm(matrix)
        turn = matrix[:n, :n]
        _, b, c = _coefficients(_angle(turn))
        element = np.eye(n + 1)
        element[:n, :n] = Rotations(n).exponential(turn)
        shift = matrix[:n, n]
        element[:n, n] = shift + b * turn @ shift + c * turn @ (turn @ shift)
        return element

    def logarithm(self, element: Array) -> Array:
        n = self.space
        turn, shift = Rotations(n).logarithm(element[:n, :n]), element[:n, n]
        matrix = np.zeros((n + 1, n + 1))
        matrix[:n, :n] = turn
        if n > 3:
            matrix[:n, n] = np.linalg.solve(averaged_exponential(turn), shift)
        else:
            d = _inverse_coefficient(_angle(turn))
            matrix[:n, n] = shift - turn @ shift / 2 + d * turn @ (turn @ shift)
        return matrix

    def departure(self, element: Array) -> float:
        n = self.space
        rotation = Rotations(n).departure(element[:n, :n])
        return max(rotation, float(np.max(np.abs(element[n] - np.eye(n + 1)[n]))))


@dataclass(frozen=True)
class Translations:
    """Translations of an n-dimensional space, by matrices ((1, p), (0, 1))."""

    space: int

    @property
    def size(self) -> int:
        return self.space + 1

    def exponential(self, matrix: Array) -> Array:
        return np.eye(self.size) + matrix

    def logarithm(self, element: Array) -> Array:
        return element - np.eye(self.size)

    def departure(self, element: Array) -> float:
        rest = element - np.eye(self.size)
        rest[: self.space, self.space] = 0.0
        return float(np.max(np.abs(rest)))


@dataclass(frozen=True)
class Generated:
    """Any group of matrices; whether a matrix belongs to it is found by its logarithm."""

    size: int

    def exponential(self, matrix: Array) -> Any:
        return expm(matrix)

    def logarithm(self, element: Array) -> Array:
        return principal_logarithm(element)

    def departure(self, element: Array) -> float:
        return 0.0


def averaged_exponential(matrix: Array) -> Any:
    r"""The mean of exp(s X) over 0 <= s <= 1, which is (exp X - 1)/X, (n x n).

    >>> averaged_exponential(np.zeros((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n = len(matrix)
    wide = np.zeros((2 * n, 2 * n))
    wide[:n, :n], wide[:n, n:] = matrix, np.eye(n)
    return expm(wide)[:n, n:]


def principal_logarithm(element: Array) -> Array:
    """The logarithm with imaginary parts of eigenvalues in (-pi, pi), by square roots and series.

    Raises
    ------
    ModelError
        Where an eigenvalue is zero or negative: there is no such logarithm then.
    """
    values = np.linalg.eigvals(element)
    at_half_turn = (values.real <= 0) & (np.abs(values.imag) <= HALF_TURN * np.abs(values))
    if np.any(at_half_turn) or not np.all(np.isfinite(values)):
        what = "This matrix has no principal logarithm"
        remedy = "take a nearer element: no eigenvalue may be zero or negative"
        raise ModelError(what, f"the eigenvalues {np.round(values, 6).tolist()}", remedy)
    root, identity, halvings = np.array(element, dtype=float), np.eye(len(element)), 0
    while np.max(np.abs(root - identity)) > NEAR_IDENTITY and halvings < MOST_ROOTS:
        root, halvings = _square_root(root), halvings + 1
    found = 2.0**halvings * _series_logarithm(root)
    for _ in range(2):  # log A = X + log(exp(-X) A): roots near half a turn lose digits
        found = found + _series_logarithm(expm(-found) @ element)
    return found


def _series_logarithm(element: Array) -> Array:
    """log A = 2 artanh((A - 1)/(A + 1)) of a matrix near the identity."""
    identity = np.eye(len(element))
    ratio = np.linalg.solve(element + identity, element - identity)
    square, power, total = ratio @ ratio, ratio, np.zeros_like(ratio)
    for k in range(1, 60, 2):
        total, power = total + 2.0 / k * power, power @ square
    return total


def _square_root(matrix: Array) -> Array:
    """The principal square root, by the iteration of Denman and Beavers."""
    root, inverse = matrix, np.eye(len(matrix))
    for _ in range(MOST_STEPS):
        following = (root + np.linalg.inv(inverse)) / 2
        inverse = (inverse + np.linalg.inv(root)) / 2
        change, root = np.max(np.abs(following - root)), following
        if change <= 4e-16 * np.max(np.abs(root)):
            break
    return root


# -- rotations -------------------------------------------------------------------------------------


def _angle(turn: Array) -> float:
    """The angle of a skew matrix of at most three rows."""
    return float(np.sqrt(np.sum(turn * turn) / 2))


def _coefficients(theta: float) -> tuple[float, float, float]:
    """a, b, c of the module's docstring."""
    square = theta * theta
    a, half = float(np.sinc(theta / np.pi)), float(np.sinc(theta / 2 / np.pi))
    if theta > SMALL_ANGLE:
        return a, half * half / 2, (1.0 - a) / square
    c, term = 0.0, 1.0 / 6.0
    for k in range(1, 10):
        c, term = c + term, -term * square / ((2 * k + 2) * (2 * k + 3))
    return a, half * half / 2, c


def _inverse_coefficient(theta: float) -> float:
    """d of the module's docstring; with Bernoulli's numbers for small angles."""
    square = theta * theta
    if theta > SMALL_ANGLE:
        return float((1.0 - theta / 2 / np.tan(theta / 2)) / square)
    bernoulli = 1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000
    coefficients = (*bernoulli, 1 / 74724249600)
    return float(sum(value * square**k for k, value in enumerate(coefficients)))


def _half_turn(what: str) -> ModelError:
    remedy = "take the logarithm of a nearer element, or of a part of the way"
    return ModelError(f"A {what} by half a turn has two logarithms", "an angle of pi", remedy)


def _plane_logarithm(element: Array) -> Array:
    angle = np.arctan2(element[1, 0] - element[0, 1], element[0, 0] + element[1, 1])
    if np.pi - abs(angle) < HALF_TURN:
        raise _half_turn("rotation")
    return np.array([[0.0, -angle], [angle, 0.0]])


def _space_logarithm(element: Array) -> Array:
    """By the unit quaternion, whose largest component is divided by: accurate at all angles."""
    R, trace = element, float(np.trace(element))
    squares = np.array([1 + trace, *(1 + 2 * R[k, k] - trace for k in range(3))])
    largest = int(np.argmax(squares))
    twist = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    if largest == 0:
        quaternion = np.array([squares[0], *twist])
    else:
        k = largest - 1
        sums = [R[i, k] + R[k, i] if i != k else squares[largest] for i in range(3)]
        quaternion = np.array([twist[k], *sums])
    quaternion = quaternion / np.linalg.norm(quaternion) * (1.0 if quaternion[0] >= 0 else -1.0)
    sine = float(np.linalg.norm(quaternion[1:]))
    if quaternion[0] < HALF_TURN / 2:
        raise _half_turn("rotation")
    stretch = 2 * np.arctan2(sine, quaternion[0]) / sine if sine > 0 else 2.0
    x, y, z = stretch * quaternion[1:]
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _general_rotation_logarithm(element: Array) -> Any:
    """The logarithm by rotation planes: its real Schur form consists of plane rotations."""
    form, axes = schur(element, output="real")
    n, k, matrix = len(element), 0, np.zeros_like(form)
    while k < n:
        paired = k + 1 < n and abs(form[k + 1, k]) > HALF_TURN / 2
        if paired:
            angle = np.arctan2(form[k + 1, k] - form[k, k + 1], form[k, k] + form[k + 1, k + 1])
            matrix[k + 1, k], matrix[k, k + 1] = angle, -angle
        elif form[k, k] < 0:
            raise _half_turn("rotation")
        k += 2 if paired else 1
    turn = axes @ matrix @ axes.T
    return (turn - turn.T) / 2
