"""The attributes and elements of MJCF that are read, and those that are named as not read."""

from .mjcf_settings import ROTATIONS
from .mjcf_settings import UNSUPPORTED as NOT_SUPPORTED

__all__ = [
    "BODY",
    "COMPILER",
    "GEOM",
    "INERTIAL",
    "JOINT",
    "LOOKS",
    "READ",
    "SOLVER",
    "UNSUPPORTED",
]

BODY = {"name", "childclass", "mocap", "pos", "gravcomp", "user", "sleep", *ROTATIONS}
INERTIAL = {"pos", "mass", "diaginertia", "fullinertia", *ROTATIONS}
#: Attributes of joints that belong to MuJoCo's solver or to drawings.
SOLVER = {"solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin"}
JOINT = SOLVER | {"name", "class", "type", "group", "pos", "axis", "stiffness", "range", "limited"}
JOINT |= {"ref", "springref", "armature", "damping", "frictionloss", "user", "springdamper"}
JOINT |= {"actuatorfrcrange", "actuatorfrclimited", "actuatorgravcomp"}
GEOM = {"name", "class", "type", "size", "fromto", "pos", "mass", "density", *ROTATIONS}
#: Attributes of geoms and sites that belong to contact or to drawings.
LOOKS = {"contype", "conaffinity", "condim", "group", "priority", "material", "friction", "rgba"}
LOOKS |= {"shellinertia", "solmix", "solref", "solimp", "margin", "gap", "hfield", "mesh", "user"}
LOOKS |= {"fitscale", "fluidshape", "fluidcoef"}
#: Elements of the tree that would add bodies or forces in ways that are not supported.
UNSUPPORTED = ("composite", "flexcomp", "replicate", "attach", "plugin")
#: Settings of the compiler that are honoured, or say where files lie and how text is checked.
COMPILER = {"angle", "autolimits", "coordinate", "eulerseq", "inertiafromgeom", "balanceinertia"}
COMPILER |= {"meshdir", "texturedir", "assetdir", "strippath", "usethread", *NOT_SUPPORTED}
#: Elements of a file that are read.
READ = ("asset", "compiler", "default", "worldbody", "equality", "actuator", "option")
