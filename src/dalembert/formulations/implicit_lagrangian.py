r"""Implicit Lagrangian equations in image representation.

The constraint is q_dot = E(q, t) u with speeds u that are part of the state. With M = L_vv and F the Lagrangian force,
the rate z = u_dot minimises Gauss's function on q_ddot = E z + d, d = (E u)_q E u + (E u)_t:

    E^T M E z = E^T (F - M d)       (Moreau and van der Schaft 21-23 with sigma = 1; d'Alembert-Chetaev)

Further constraints f(q, v, t) = 0 add the rows f_v E. E may lose rank: the speeds are then not unique, the velocities are.
"""

from __future__ import annotations

from typing import Any

from ..errors import FormError
from ..model.symbols import Parameter, t
from ..model.system import System
from . import lagrange
from .blocks import Blocks, Projection
from .equations import Equations
from .rows import row_names

__all__ = ["derive", "hypotheses"]

CITATION = "Implicit Lagrangian equations in image representation (Moreau and van der Schaft eqs. 21-23)"


def hypotheses(system: System) -> None:
    """Raise FormError where the form does not apply."""
    if system.image is None:
        raise FormError("The implicit Lagrangian form needs an image constraint", seen="none", remedy='use the form "lagrange"')


def derive(system: System) -> Equations:
    """Rates of the speeds by Gauss's principle on the image of E."""
    hypotheses(system)
    assert system.image is not None
    speeds = system.image.speeds
    return Equations(
        system=system,
        form="implicit-lagrangian",
        citation=CITATION,
        state=(*system.coordinates, *speeds),
        unknowns=tuple(Parameter(f"{u.name}_dot") for u in speeds),
        row_names=row_names(system),
        derivation=lambda algebra: derive_with(system, algebra),
        has_gauge=True,
    )


def derive_with(system: System, algebra: Any) -> Blocks:
    """The blocks in one algebra."""
    assert system.image is not None
    image = system.image
    q, v, u = (algebra.vector(letters) for letters in (system.coordinates, system.velocities, image.speeds))
    time = algebra.vector([t])
    velocities = algebra.vector([image.velocities[c] for c in system.coordinates])
    frame = algebra.jacobian(velocities, u)
    drift = algebra.along(velocities, q, velocities) + algebra.jacobian(velocities, time)
    full = lagrange.derive_with(system.replacing(constraints=system.bilateral), algebra)

    def here(block: Any) -> Any:
        return algebra.substitute(block, v, velocities)

    mass, force, rows, right = here(full.metric), here(full.force), here(full.rows), here(full.right)
    z = algebra.vector([Parameter(f"{speed.name}_dot") for speed in image.speeds])
    mu = full.multipliers
    acceleration = frame @ z + drift
    sideways = {name: here(force_of) for name, force_of in full.reactions.items()}
    held = mass @ acceleration - force
    for other in sideways.values():
        held = held - other
    n, k = len(system.coordinates), len(image.speeds)
    identity = algebra.jacobian(u, u)
    return Blocks(
        metric=frame.T @ mass @ frame,
        force=frame.T @ (force - mass @ drift),
        rows=rows @ frame,
        right=right - rows @ drift,
        unknowns=z,
        multipliers=mu,
        rates=algebra.stack([velocities, z]),
        velocities=velocities,
        accelerations=acceleration,
        momenta=here(full.momenta),
        energy=here(full.energy),
        reactions={image.name: held} | sideways,
        position=Projection(
            here(full.position.residual),
            here(full.position.rows) @ frame,
            algebra.stack([frame, algebra.zeros(k, k)]),
        ),
        velocity=Projection(here(full.velocity.residual), rows @ frame, algebra.stack([algebra.zeros(n, k), identity])),
        residuals=(here(full.residuals[0]), here(full.residuals[1])),
        outputs={name: here(value) for name, value in full.outputs.items()},
    )
