"""Kinematics, dynamics, assembly and agreement in numbers."""

from ..analysis.bodies.agreement import agreement as agreement
from ..analysis.bodies.assembly import Assembly as Assembly
from ..analysis.bodies.assembly import assemble as assemble
from ..analysis.bodies.assembly import inverse_kinematics as inverse_kinematics
from ..analysis.bodies.body_model import BodyModel as BodyModel
from ..analysis.bodies.body_model import Pose as Pose
