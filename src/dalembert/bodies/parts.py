"""Bodies, rotations, joints and mechanisms."""

from ..model.bodies.body import Body as Body
from ..model.bodies.body import Frame as Frame
from ..model.bodies.body import Point as Point
from ..model.bodies.body import ground as ground
from ..model.bodies.body import inertia as inertia
from ..model.bodies.joints import Joint as Joint
from ..model.bodies.joints import cylindrical as cylindrical
from ..model.bodies.joints import free as free
from ..model.bodies.joints import planar as planar
from ..model.bodies.joints import prismatic as prismatic
from ..model.bodies.joints import revolute as revolute
from ..model.bodies.joints import screw as screw
from ..model.bodies.joints import spherical as spherical
from ..model.bodies.joints import universal as universal
from ..model.bodies.joints import weld as weld
from ..model.bodies.mechanism import Mechanism as Mechanism
from ..model.bodies.vectors import Rotation as Rotation
from ..model.bodies.vectors import angles as angles
from ..model.bodies.vectors import quaternion as quaternion
from ..model.bodies.vectors import rotation_vector as rotation_vector
