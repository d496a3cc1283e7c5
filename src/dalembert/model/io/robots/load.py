"""Robots from files: a path in, a mechanism or a scenario out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ....errors import FileError, ModelError, RenamedPartsWarning, UnreadPartsWarning, warn
from ...bodies.mechanism import Mechanism
from ...names import is_control, shortened
from ...scenario import Scenario
from ..plain_file import read_plain
from .robot_options import ReadOptions, Robot
from .urdf import read_urdf
from .xml_reader import LARGEST_XML, read_xml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....typing import Expression

__all__ = ["load_mechanism", "load_robot", "robot_scenario"]

GRAVITY = (0.0, 0.0, -9.81)
#: Most renamed parts that a warning lists.
MOST_NAMED = 10


def load_mechanism(
    path: str | os.PathLike[str],
    *,
    base: Literal["fixed", "free"] = "fixed",
    limits: bool = True,
    inputs: bool = False,
    gravity: Sequence[Expression] | None = None,
    check: bool = True,
    shapes: bool = True,
) -> Mechanism:
    """Read a robot from a URDF or MJCF file.

    Parameters
    ----------
    path : path of a ``.urdf`` file, or of an ``.xml`` file that is MJCF or URDF
    base : "fixed" or "free"
        Whether the root link of a URDF file is welded to the ground or moves freely; MJCF states
        this itself.
    limits : bool
        Whether limits of joints become one-sided constraints.
    inputs : bool
        Whether each joint of one axis gets an input ``u_<joint>`` (URDF), or each actuator one
        (MJCF).
    gravity : three expressions
        By default (0, 0, -9.81), or what the file says.
    check : bool
        Whether an impossible tensor of inertia is an error; False goes on with it.
    shapes : bool
        Whether the <visual> shapes of a URDF file, or the geoms of an MJCF file that MuJoCo draws
        (groups 0 to 2), become drawings: boxes, cylinders, balls, and the outlines of meshes (STL,
        OBJ, COLLADA) in its folder, where the package trimesh is there.

    Warns
    -----
    UnreadPartsWarning
        With the number of each kind of part that was not taken over: shapes of collisions,
        sensors, largest efforts and speeds (which are data of the joints), ...
    RenamedPartsWarning
        With the names that are no identifiers, and what they became.

    Raises
    ------
    FileError
        Where the file cannot be read or is no XML of this kind.
    ModelError
        Where what it states is wrong or not supported, with the line.

    Examples
    --------
    >>> import tempfile
    >>> text = '''<robot name="pendulum">
    ...   <link name="world"/>
    ...   <link name="arm"><inertial><origin xyz="0 0 -1"/><mass value="1"/></inertial></link>
    ...   <joint name="hinge" type="continuous">
    ...     <parent link="world"/><child link="arm"/><axis xyz="0 1 0"/>
    ...   </joint>
    ... </robot>'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "arm.urdf").write_text(text)
    ...     mechanism = load_mechanism(f"{folder}/arm.urdf")
    >>> [joint.name for joint in mechanism.joints], mechanism.bodies[0].mass
    (['hinge'], 1.00000000000000)
    """
    options = ReadOptions(
        base=base,
        limits=limits,
        inputs=inputs,
        check=check,
        shapes=shapes,
        folder=Path(path).parent,
    )
    return _mechanism(_read(read_bytes(Path(path)), options), gravity)


def load_robot(path: str | os.PathLike[str]) -> Scenario:
    """The scenario of a robot file, with its joint coordinates."""
    return robot_scenario(read_bytes(Path(path)), Path(path).parent, shortened(Path(path).name))


def robot_scenario(content: bytes, folder: Path | None, source: str = "") -> Scenario:
    """The scenario of the content of a robot file.

    Parameters
    ----------
    folder : Path, optional
        Where files lie that the robot file names. Without one, an included file is an error, and
        meshes are counted among what is not drawn.
    """
    robot = _read(content, ReadOptions(folder=folder))
    mechanism = _mechanism(robot, None)
    if not any(joint.coordinates for joint in mechanism.joints):
        raise ModelError(
            f"Nothing of the robot {shortened(robot.name)} can move",
            f"{len(robot.joints)} fixed joints",
            'read it with da.bodies.load_mechanism(path, base="free")',
        )
    start = _inside_limits(mechanism) | dict(robot.start)
    return Scenario(mechanism.system(), start=start, source=source)


def _inside_limits(mechanism: Mechanism) -> dict[str, float]:
    """The middle between the limits of each axis whose limits exclude zero."""
    found: dict[str, float] = {}
    for axis in (axis for joint in mechanism.joints for axis in joint.axes):
        low, high = (None if limit is None else float(limit) for limit in axis.limits or (0, 0))
        if (low is None or low <= 0) and (high is None or high >= 0):
            continue
        ends = [end for end in (low, high) if end is not None]
        found[axis.coordinates[0].name] = sum(ends) / len(ends)
    return found


def _mechanism(robot: Robot, gravity: Sequence[Expression] | None) -> Mechanism:
    if robot.unread.counts:
        warn(
            UnreadPartsWarning(
                f"Parts of the robot {shortened(robot.name)} are not in the mechanism",
                robot.unread.sentence(),
                "add those that matter in Python",
            )
        )
    if robot.renamed:
        pairs = [f"{shortened(old)} is {new}" for old, new in robot.renamed.items()]
        more = f" and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else ""
        warn(
            RenamedPartsWarning(
                f"Names of the robot {shortened(robot.name)} are no identifiers",
                ", ".join(pairs[:MOST_NAMED]) + more,
                "use the new names",
            )
        )
    acceleration = gravity if gravity is not None else robot.gravity or GRAVITY
    name = "".join(c for c in robot.name if not is_control(c))
    return Mechanism(robot.joints, gravity=acceleration, name=name)


def _read(content: bytes, options: ReadOptions) -> Robot:
    root = read_xml(content, "robot")
    if root.tag == "mujoco":
        from .mjcf import read_mjcf

        return read_mjcf(root, options, read_bytes)
    return read_urdf(root, options)


def read_bytes(path: Path) -> bytes:
    """The content of a plain file of bounded size."""
    shown = shortened(os.fspath(path), 100)
    try:
        return read_plain(path, LARGEST_XML)
    except FileNotFoundError as error:
        raise FileError(f"There is no robot file {shown}", remedy="check the path") from error
    except (OSError, ValueError) as error:
        raise FileError(
            f"The robot file {shown} cannot be read",
            seen=getattr(error, "strerror", None) or error,
            remedy="check the path",
        ) from error
