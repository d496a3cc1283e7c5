r"""How the velocities depend on the speeds of a form, in one algebra.

The speeds w are the independent velocities, or quasi-velocities w = g(q, v, t). On the constraints
f(q, v, t) = 0 they determine the velocities,

    v = V(q, w, t)        (Rumyantsev 1.2, 1.14, 1.15)

Where V is written out, blocks become functions of (q, w, t). Where it is not, they stay functions
of (q, v, t), and the implicit function theorem gives their derivatives at fixed q, w or t,

    Phi = [g_v; f_v]^-1,   V_w = Phi_w,   V_q = -Phi [g_q; f_q],   V_t = -Phi [g_t; f_t],

with Phi_w the columns of Phi that belong to g. No equation is solved for numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from .velocity_splits import Split

if TYPE_CHECKING:
    from ..algebra.protocol import Algebra, Block, Scalar
    from .independent_velocities import Reduction

__all__ = ["ExplicitMap", "ImplicitMap", "VelocityMap", "affine_solution"]
__all__ += ["velocities_at", "velocity_map"]


class VelocityMap(Protocol):
    """Velocities as functions of speeds; n velocities, k speeds, r constraints.

    Attributes
    ----------
    velocities : column (n x 1)
        V.
    inverse : matrix (n x n)
        dv / d(w, values of the constraints), on the constraints.
    """

    velocities: Any

    @property
    def inverse(self) -> Any: ...

    def here(self, block: Block) -> Any:
        """A block of (q, v, t) on the constraints."""

    def by_speeds(self, block: Block) -> Any:
        """The derivatives of a column by the speeds, (m x k)."""

    def by_places(self, block: Block) -> Any:
        """The derivatives of a column by the coordinates at fixed speeds, (m x n)."""

    def speed_gradient(self, scalar: Scalar) -> Any:
        """The derivatives of a scalar by the speeds, (k x 1)."""

    def place_gradient(self, scalar: Scalar) -> Any:
        """The derivatives of a scalar by the coordinates at fixed speeds, (n x 1)."""

    def rate(self, block: Block) -> Any:
        """The time derivative of a column along the motion, affine in the rates of the speeds."""


class ExplicitMap:
    """v = V(q, w, t), written out.

    `replaced` are the velocities that blocks are rid of, with their values; `bound` gives dv / d
    (values of the constraints), (n x r), when it is asked for.
    """

    def __init__(
        self,
        algebra: Algebra,
        known: tuple[Block, Block],
        speeds: tuple[Block, Block],
        replaced: tuple[Block, Block],
        velocities: Block,
        bound: Callable[[], Block],
    ) -> None:
        self.algebra: Any = algebra
        self.q, self.time = known
        self.symbols, self.rates = speeds
        self.replaced, self.values = replaced
        self.velocities: Any = velocities
        self._bound = bound

    @property
    def inverse(self) -> Any:
        """dv / d(w, values of the constraints), (n x n)."""
        return self.algebra.columns([self.by_speeds(self.velocities), self._bound()])

    def here(self, block: Block) -> Any:
        """A block of (q, v, t) on the constraints, in (q, w, t)."""
        return self.algebra.substitute(block, self.replaced, self.values)

    def by_speeds(self, block: Block) -> Any:
        """The derivatives of a column by the speeds, (m x k)."""
        return self.algebra.jacobian(block, self.symbols)

    def by_places(self, block: Block) -> Any:
        """The derivatives of a column by the coordinates at fixed speeds, (m x n)."""
        return self.algebra.jacobian(block, self.q)

    def speed_gradient(self, scalar: Scalar) -> Any:
        """The derivatives of a scalar by the speeds, (k x 1)."""
        return self.algebra.gradient(scalar, self.symbols)

    def place_gradient(self, scalar: Scalar) -> Any:
        """The derivatives of a scalar by the coordinates at fixed speeds, (n x 1)."""
        return self.algebra.gradient(scalar, self.q)

    def rate(self, block: Block) -> Any:
        """The time derivative of a column along the motion, affine in the rates of the speeds."""
        algebra = self.algebra
        return (
            algebra.along(block, self.q, self.velocities)
            + algebra.along(block, self.symbols, self.rates)
            + algebra.jacobian(block, self.time)
        )


class ImplicitMap:
    """v = V(q, w, t) by w = g(q, v, t) and f(q, v, t) = 0 alone: blocks stay in (q, v, t)."""

    def __init__(
        self,
        algebra: Algebra,
        known: tuple[Block, Block],
        v: Block,
        rates: Block,
        equations: Block,
        inverse: Block,
    ) -> None:
        self.algebra: Any = algebra
        self.q, self.time = known
        self.rates, self.velocities, self._inverse = rates, v, inverse
        every, k = range(v.shape[0]), rates.shape[0]
        self.frame: Any = self.algebra.part(inverse, every, range(k))
        self._equations: Any = equations

    @property
    def inverse(self) -> Any:
        """dv / d(w, values of the constraints), (n x n)."""
        return self._inverse

    @cached_property
    def _by_coordinates(self) -> Any:
        """dv / dq at fixed speeds, (n x n)."""
        return -(self._inverse @ self.algebra.jacobian(self._equations, self.q))

    @cached_property
    def drift(self) -> Any:
        """The accelerations that remain where the speeds are held, (n x 1)."""
        algebra, equations = self.algebra, self._equations
        moved = algebra.along(equations, self.q, self.velocities)
        return -(self._inverse @ (moved + algebra.jacobian(equations, self.time)))

    @property
    def acceleration(self) -> Any:
        """q_ddot, affine in the rates of the speeds, (n x 1)."""
        return self.frame @ self.rates + self.drift

    def here(self, block: Block) -> Any:
        """The block itself."""
        return block

    def by_speeds(self, block: Block) -> Any:
        """The derivatives of a column by the speeds, (m x k)."""
        return self.algebra.jacobian(block, self.velocities) @ self.frame

    def by_places(self, block: Block) -> Any:
        """The derivatives of a column by the coordinates at fixed speeds, (m x n)."""
        algebra = self.algebra
        through = algebra.jacobian(block, self.velocities) @ self._by_coordinates
        return algebra.jacobian(block, self.q) + through

    def speed_gradient(self, scalar: Scalar) -> Any:
        """The derivatives of a scalar by the speeds, (k x 1)."""
        return self.frame.T @ self.algebra.gradient(scalar, self.velocities)

    def place_gradient(self, scalar: Scalar) -> Any:
        """The derivatives of a scalar by the coordinates at fixed speeds, (n x 1)."""
        algebra = self.algebra
        through = self._by_coordinates.T @ algebra.gradient(scalar, self.velocities)
        return algebra.gradient(scalar, self.q) + through

    def rate(self, block: Block) -> Any:
        """The time derivative of a column along the motion, affine in the rates of the speeds."""
        algebra = self.algebra
        return (
            algebra.along(block, self.q, self.velocities)
            + algebra.along(block, self.velocities, self.acceleration)
            + algebra.jacobian(block, self.time)
        )


def affine_solution(algebra: Algebra, equations: Block, symbols: Block, values: Block) -> Any:
    """The symbols from equations(symbols) = values that are affine in them."""
    count = symbols.shape[0]
    if not count:
        return algebra.zeros(0)
    matrix = algebra.jacobian(equations, symbols)
    rest = algebra.substitute(equations, symbols, algebra.zeros(count))
    return algebra.solve_square(matrix, values - rest)


def velocity_map(on: Reduction) -> VelocityMap:
    """v(q, w, t) of a reduction: solved, given, or implicit."""
    algebra, choice, known = on.algebra, on.choice, (on.q, on.time)
    if choice.is_implicit:
        inverse = _inverse(on, lambda block: block)
        return ImplicitMap(algebra, known, on.v, on.z, on.definition, inverse)
    velocities = velocities_at(on)
    replaced, values = on.v, velocities
    if isinstance(choice, Split):
        replaced, values = on.dependent, algebra.part(velocities, choice.dependent, [0])

    def bound() -> Any:
        n = len(on.system.coordinates)
        whole = _inverse(on, lambda block: algebra.substitute(block, replaced, values))
        return algebra.part(whole, range(n), range(choice.freedom, n))

    speeds = (on.independent, on.z)
    return ExplicitMap(algebra, known, speeds, (replaced, values), velocities, bound)


def velocities_at(on: Reduction, values: Block | None = None) -> Any:
    """The velocities (n x 1) at the speeds and at values of the constraints, zero by default."""
    algebra, choice = on.algebra, on.choice
    off, values = values, values if values is not None else algebra.zeros(len(choice.rows))
    if isinstance(choice, Split):
        dependent = affine_solution(algebra, on.constraints, on.dependent, values)
        return _ordered(on, choice, on.independent, dependent)
    if choice.velocities is not None:
        velocities: Any = algebra.vector(choice.velocities)
        if off is None:
            return velocities
        return velocities + _bound_directions(on, algebra.jacobian(on.constraints, on.v)) @ values
    split = choice.split
    if split is None:
        return affine_solution(
            algebra, on.definition, on.v, algebra.stack([on.independent, values])
        )
    free = algebra.part(on.v, split.independent, [0])
    bound = algebra.part(on.v, split.dependent, [0])
    dependent = affine_solution(algebra, on.constraints, bound, values)
    on_constraints = algebra.substitute(on.given, bound, dependent)
    independent = affine_solution(algebra, on_constraints, free, on.independent)
    return _ordered(on, split, independent, algebra.substitute(dependent, free, independent))


def _ordered(on: Reduction, split: Split, independent: Block, dependent: Block) -> Any:
    """Independent and dependent entries by coordinate."""
    order = [*split.independent, *split.dependent]
    together = on.algebra.stack([independent, dependent])
    return on.algebra.part(together, [order.index(k) for k in range(len(order))], [0])


def _bound_directions(on: Reduction, derivative: Block) -> Any:
    """X = dv / d(values of the constraints) of a frame at fixed speeds, (n x r).

    With D the velocities that a frame solves for, X_D = A_D^T (A_D A_D^T)^-1 and the others stay:
    then A X = 1, and X changes no speed, neither m . v_D nor a velocity outside D. Rows that are
    solved last, each for a velocity of its own, follow one after the other.
    """
    algebra, choice = on.algebra, on.choice
    n, rows = on.v.shape[0], range(derivative.shape[0])
    last: tuple[tuple[int, int], ...] = getattr(choice, "last", ())
    early = [row for row in rows if row not in [late for late, _ in last]]
    places = list(getattr(choice, "solved", ())) or list(range(n))
    inside = algebra.part(derivative, early, places)
    directions = algebra.solve(inside @ inside.T, inside).T
    unit = algebra.jacobian(on.v, on.v)
    found = algebra.part(unit, range(n), places) @ directions @ algebra.part(unit, early, rows)
    for row, place in last:
        left = algebra.part(unit, [row], rows) - algebra.part(derivative, [row], range(n)) @ found
        own = algebra.solve_square(algebra.part(derivative, [row], [place]), left)
        found = found + algebra.part(unit, range(n), [place]) @ own
    return found


def _inverse(on: Reduction, here: Callable[[Block], Any]) -> Any:
    """dv / d(w, values of the constraints) on the constraints, (n x n)."""
    algebra, choice = on.algebra, on.choice
    derivative = here(algebra.jacobian(on.constraints, on.v))
    rows, every = range(len(choice.rows)), range(on.v.shape[0])
    unit = algebra.jacobian(on.v, on.v)
    if isinstance(choice, Split):
        k = len(choice.independent)
        above = algebra.part(unit, range(k), every)
        if not rows:
            return above
        by_others = algebra.part(derivative, rows, choice.independent)
        right = algebra.columns([-by_others, algebra.part(unit, rows, rows)])
        below = algebra.solve_square(algebra.part(derivative, rows, choice.dependent), right)
        order = [*choice.independent, *choice.dependent]
        return algebra.part(algebra.stack([above, below]), [order.index(i) for i in every], every)
    if choice.velocities is not None:
        directions = _bound_directions(on, derivative)
        velocities = algebra.vector(choice.velocities)
        return algebra.columns([algebra.jacobian(velocities, on.independent), directions])
    matrix = algebra.stack([here(algebra.jacobian(on.given, on.v)), derivative])
    return algebra.solve_square(matrix, unit)
