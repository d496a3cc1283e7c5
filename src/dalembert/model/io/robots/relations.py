"""Relations between coordinates, and laws of actuators, in the words of robot files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy

from ...symbols import Coordinate, Input

if TYPE_CHECKING:
    from .elementary_tree import ElementaryTree

__all__ = ["Actuator", "PolynomialRelation", "actuators", "linear_pair", "polynomial_pair"]


@dataclass(frozen=True)
class PolynomialRelation:
    """follower = coefficients[0] + coefficients[1] leader + ...; leader may be none ("")."""

    follower: str
    leader: str
    coefficients: tuple[float, ...]

    @property
    def offset(self) -> float:
        """The follower where the leader is zero."""
        return self.coefficients[0]

    @property
    def ratio(self) -> float:
        """The factor of a linear relation."""
        return self.coefficients[1]


def polynomial_pair(
    relation: sympy.Expr, tree: ElementaryTree, degree: int = 4
) -> PolynomialRelation | None:
    """A relation that is linear in one coordinate and a polynomial in at most one other."""
    numeric = relation.xreplace(dict(tree.values))
    coordinates = sorted(numeric.atoms(Coordinate), key=lambda q: q.name)
    if not 1 <= len(coordinates) <= 2 or numeric.free_symbols - set(coordinates):
        return None
    for follower in coordinates:
        factor = numeric.diff(follower)
        rest = sympy.expand(numeric - factor * follower)
        if factor.free_symbols or factor == 0 or rest.has(follower):
            continue
        others = [q for q in coordinates if q != follower]
        value = sympy.expand(-rest / factor)
        if not others:
            return PolynomialRelation(follower.name, "", (float(value),))
        (leader,) = others
        if not value.is_polynomial(leader) or sympy.degree(value, leader) > degree:
            continue
        terms = [float(value.coeff(leader, power)) for power in range(degree + 1)]
        return PolynomialRelation(follower.name, leader.name, tuple(terms))
    return None


def linear_pair(relation: sympy.Expr, tree: ElementaryTree) -> PolynomialRelation | None:
    """A linear relation of two coordinates."""
    found = polynomial_pair(relation, tree, degree=1)
    return found if found is not None and found.leader else None


@dataclass(frozen=True)
class Actuator:
    """An actuator of MJCF: motor, position or velocity, with its attributes."""

    kind: str
    name: str
    numbers: dict[str, float]


def actuators(force: sympy.Expr, q: Coordinate, tree: ElementaryTree) -> list[Actuator] | None:
    """The actuators that exert a force a u - b q - c q_dot along a coordinate.

    With a gear g: motor g u; position g (kp (u - g q) - kv g q_dot); velocity g kv (u - g q_dot).
    """
    numeric = sympy.expand(force.xreplace(dict(tree.values)))
    inputs = sorted(numeric.atoms(Input), key=lambda u: u.name)
    gains = [numeric.coeff(u) for u in inputs]
    stiffness, damping = -numeric.coeff(q), -numeric.coeff(q.dot)
    left = numeric - sum(gain * u for gain, u in zip(gains, inputs, strict=True))
    left += stiffness * q + damping * q.dot
    numbers = [*gains, stiffness, damping]
    if sympy.expand(left) != 0 or any(not number.is_number for number in numbers) or not inputs:
        return None
    if stiffness == 0 and damping == 0:
        return [
            Actuator("motor", _stem(u), {"gear": float(gain)})
            for u, gain in zip(inputs, gains, strict=True)
        ]
    if len(inputs) != 1:
        return None
    gain, k, c = float(gains[0]), float(stiffness), float(damping)
    if k != 0:
        gear = k / gain
        found = {"gear": gear, "kp": gain / gear, "kv": c / gear**2}
        return [Actuator("position", _stem(inputs[0]), found)]
    gear = c / gain
    return [Actuator("velocity", _stem(inputs[0]), {"gear": gear, "kv": gain / gear})]


def _stem(symbol: Input) -> str:
    return str(symbol.name).removeprefix("u_")
