"""Mechanisms to robot files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import FileError, ModelError, UnreadPartsWarning, warn
from ...atoms import leaves
from ...bodies.mechanism import Mechanism
from ...names import shortened
from ...parameter_values import named_parameters
from ...symbols import Parameter
from ..atomic_file import write_whole
from .elementary_tree import ElementaryTree
from .write_mjcf import written_mjcf
from .write_urdf import written_urdf

if TYPE_CHECKING:
    from ....typing import Values

__all__ = ["save_mechanism"]

WRITERS = {".urdf": written_urdf, ".xml": written_mjcf, ".mjcf": written_mjcf}
MOST_NAMED = 10


def save_mechanism(
    mechanism: Mechanism,
    path: str | os.PathLike[str],
    parameters: Values | None = None,
    *,
    partial: bool = False,
) -> None:
    """Write a mechanism as a URDF or MJCF file.

    Bodies are written in the frame of the joint that leads to them, joints of several axes as
    chains of joints of one axis, named after their coordinates. Reading the file gives a mechanism
    with the same coordinates and accelerations.

    Parameters
    ----------
    path : path of a ``.urdf`` file, or of an ``.xml`` or ``.mjcf`` file for MJCF
    parameters : mapping of parameter to number
        Values of all parameters in the mechanism.
    partial : bool
        Whether to leave out what the format cannot state, with a warning that lists it.

    Raises
    ------
    ModelError
        Where the format cannot state a part: URDF has no loops, springs, balls or rotors, and
        neither format has rolling, screws, or forces that are no actuators.

    Examples
    --------
    >>> import tempfile
    >>> import dalembert as da
    >>> b = da.bodies
    >>> arm = b.Body("arm", mass=1, com=(0, 0, -1))
    >>> swing = b.Mechanism([b.revolute("q", b.ground(), arm, axis="y")], gravity=(0, 0, -9.81))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_mechanism(swing, f"{folder}/swing.urdf")
    ...     [joint.name for joint in b.load_mechanism(f"{folder}/swing.urdf").joints]
    ['q']
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise FileError(
            "Mechanisms are written as URDF or MJCF",
            seen=shortened(suffix),
            remedy="end the path in .urdf or .xml",
        )
    system = mechanism.system()
    symbols = {
        symbol
        for value in (*system.expressions(), *mechanism.gravity)
        for symbol in leaves(value)
        if isinstance(symbol, Parameter)
    }
    ordered = sorted(symbols, key=lambda symbol: symbol.name)
    values = named_parameters(ordered, parameters)
    tree = ElementaryTree(mechanism, {symbol: values[symbol.name] for symbol in ordered})
    text = WRITERS[suffix](tree)
    if tree.lost:
        _report(tree.lost, suffix, partial)
    try:
        write_whole(path, text)
    except (OSError, ValueError) as error:
        raise FileError(
            f"The robot file {shortened(os.fspath(path), 100)} cannot be written",
            seen=getattr(error, "strerror", None) or error,
            remedy="check the path",
        ) from error


def _report(lost: list[str], suffix: str, partial: bool) -> None:
    """Name what the format cannot state."""
    more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
    seen = ", ".join(lost[:MOST_NAMED]) + more
    other = "write MJCF, " if suffix == ".urdf" else ""
    what = f"A {suffix} file cannot state all of the mechanism"
    if not partial:
        raise ModelError(what, seen, f"{other}or pass partial=True to leave these parts out")
    warn(UnreadPartsWarning(what, seen, "add them again in Python"))
