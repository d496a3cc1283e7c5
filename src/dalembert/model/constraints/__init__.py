"""What a motion must obey: constraints on positions, velocities, momenta, images, and contacts."""

from .constraint import Constraint
from .images import ImageConstraint, image
from .on_momenta import MomentumConstraint, momentum
from .on_positions import HolonomicConstraint, holonomic
from .on_velocities import VelocityConstraint, velocity
from .one_sided import UnilateralConstraint, unilateral

__all__ = [
    "Constraint",
    "HolonomicConstraint",
    "ImageConstraint",
    "MomentumConstraint",
    "UnilateralConstraint",
    "VelocityConstraint",
    "holonomic",
    "image",
    "momentum",
    "unilateral",
    "velocity",
]
