"""What a motion must obey: constraints on positions, velocities, momenta, images, and contacts."""

from .constraint import Constraint
from .friction_limits import FrictionLimit, friction_loss, velocity
from .images import ImageConstraint, image
from .on_momenta import MomentumConstraint, momentum
from .on_positions import HolonomicConstraint, holonomic
from .on_velocities import VelocityConstraint
from .one_sided import UnilateralConstraint, unilateral

__all__ = [
    "Constraint",
    "FrictionLimit",
    "HolonomicConstraint",
    "ImageConstraint",
    "MomentumConstraint",
    "UnilateralConstraint",
    "VelocityConstraint",
    "friction_loss",
    "holonomic",
    "image",
    "momentum",
    "unilateral",
    "velocity",
]
