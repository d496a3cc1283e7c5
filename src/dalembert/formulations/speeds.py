r"""Systems on speeds, q_dot = E(q, t) u with u in the state, and the record around a residual.

The implicit forms and the Poincare-Chetaev equations are written here. Constraints beside the
speeds give the rows f_v E. The speeds need not be unique: E may lose rank, and then the velocities
are determined, and u is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sympy

from ..algebra.structure import Verdict
from ..model.symbols import Parameter, t
from ..model.system import System
from .blocks import GaussBlocks, Projection
from .constraint_equations import row_names
from .equations import Equations
from .form import Form
from .forms import lagrange

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..algebra.protocol import Algebra, Block

__all__ = ["OnSpeeds", "speed_equations", "speed_rates"]


def speed_rates(speeds: tuple[sympy.Symbol, ...]) -> tuple[sympy.Symbol, ...]:
    """Symbols of the rates of speeds."""
    return tuple(Parameter(f"{u.name}_dot") for u in speeds)


class OnSpeeds:
    """A system whose velocities are velocities(q, u, t), in one algebra.

    Attributes
    ----------
    velocities : column (n x 1)
        E(q, t) u, by coordinate.
    frame : matrix (n x k)
        E.
    z : column of symbols (k x 1)
        u_dot.
    """

    def __init__(
        self, system: System, algebra: Algebra, speeds: tuple[sympy.Symbol, ...], velocities: Block
    ) -> None:
        self.system = system
        self.algebra: Any = algebra  # callers ask more of the algebra that they chose
        self.q, self.v, self.time = (
            algebra.vector(system.coordinates),
            algebra.vector(system.velocities),
            algebra.vector([t]),
        )
        self.u, self.z = algebra.vector(speeds), algebra.vector(speed_rates(speeds))
        self.velocities = velocities
        self.frame = algebra.jacobian(velocities, self.u)
        self.full = lagrange.derive_with(system.replacing(constraints=system.bilateral), algebra)

    def here(self, block: Block) -> Any:
        """A block of q and v on the speeds."""
        return self.algebra.substitute(block, self.v, self.velocities)

    def rate(self, block: Block) -> Block:
        """The time derivative of a column of (q, u, t) along the motion, affine in z."""
        algebra = self.algebra
        return (
            algebra.along(block, self.q, self.velocities)
            + algebra.along(block, self.u, self.z)
            + algebra.jacobian(block, self.time)
        )

    @property
    def applied(self) -> Any:
        """The applied force on the speeds, E^T Q."""
        momenta = self.full.momenta
        return self.frame.T @ self.here(lagrange.applied_force(self.system, self.algebra, momenta))

    def from_residual(self, residual: Block) -> GaussBlocks:
        """Blocks of residual(q, u, z, t) = E^T f_v^T mu, f_v (q_ddot) = b, affine in z."""
        algebra, full, here = self.algebra, self.full, self.here
        n, k = len(self.system.coordinates), self.u.shape[0]
        mass, force, rows, right = (
            here(full.metric),
            here(full.force),
            here(full.rows),
            here(full.right),
        )
        acceleration = self.rate(self.velocities)
        drift = algebra.substitute(acceleration, self.z, algebra.zeros(k))
        reactions = {name: here(reaction) for name, reaction in full.reactions.items()}
        if self.system.image is not None:
            held = mass @ acceleration - force - rows.T @ full.multipliers
            reactions = {self.system.image.name: held} | reactions
        return GaussBlocks(
            stated_metric=algebra.jacobian(residual, self.z),
            force=-algebra.substitute(residual, self.z, algebra.zeros(k)),
            rows=rows @ self.frame,
            right=right - rows @ drift,
            unknowns=self.z,
            multipliers=full.multipliers,
            rates=algebra.stack([self.velocities, self.z]),
            velocities=self.velocities,
            accelerations=acceleration,
            momenta=here(full.momenta),
            energy=here(full.energy),
            reactions=reactions,
            position=Projection(
                here(full.position.residual),
                here(full.position.rows) @ self.frame,
                algebra.stack([self.frame, algebra.zeros(k, k)]),
            ),
            velocity=Projection(
                here(full.velocity.residual),
                rows @ self.frame,
                algebra.stack([algebra.zeros(n, k), algebra.jacobian(self.u, self.u)]),
            ),
            residuals=(here(full.residuals[0]), here(full.residuals[1])),
            outputs={name: here(value) for name, value in full.outputs.items()},
        )


def speed_equations(
    system: System,
    form: Form,
    speeds: tuple[sympy.Symbol, ...],
    derivation: Callable[[Algebra], GaussBlocks],
    *,
    has_gauge: bool,
    hypotheses: Mapping[str, Verdict] | None = None,
) -> Equations:
    """The record of a form whose state is (q, u) and whose unknowns are the rates of the speeds."""
    return Equations(
        system=system,
        form=form.name,
        citation=form.citation,
        state=(*system.coordinates, *speeds),
        unknowns=speed_rates(speeds),
        row_names=row_names(system),
        derivation=derivation,
        has_gauge=has_gauge,
        hypotheses=hypotheses or {},
    )
