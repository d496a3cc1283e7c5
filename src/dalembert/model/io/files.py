"""Model files: a system, its values, its start and how to simulate it, as TOML without Python.

::

    name = "Sleigh"
    coordinates = ["x", "y", "theta"]
    kinetic = "m*(x_dot**2 + y_dot**2)/2 + J*theta_dot**2/2"   # and potential, or another energy
    constraints = ["x_dot*sin(theta) - y_dot*cos(theta) = 0"]  # or {expression, name, kind, ...}
    [parameters]
    m = 1.0
    J = "m/4"                       # a number, or an expression of other parameters
    [start]
    theta_dot = 1.0
    [simulate]
    t = [0, 10]
    [[drawing]]                     # one shape each; see `dalembert.model.io.file_drawing`
    point = ["x", "y"]

``q_dot`` is a velocity, ``p_q`` a momentum, ``t`` time; every other symbol must be declared. A
constraint with velocities is one on velocities, one with momenta is one on momenta, and ``<=`` or
``>=`` makes it one-sided. An input is an expression of time and state, or ``{free = true}`` where
each run gives it anew. Every fault of a file is found before any is raised.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from datetime import date, time
from pathlib import Path
from typing import TypeAlias

from ...errors import FileError
from ..names import shortened
from ..scenario import Scenario
from .atomic_file import write_whole
from .file_reader import read_scenario
from .file_writer import written_scenario
from .plain_file import read_plain

__all__ = ["dumps", "is_robot_text", "load_model", "loads", "save_model"]

#: A value of a TOML file.
Toml: TypeAlias = "str | float | bool | date | time | list[Toml] | dict[str, Toml]"

LARGEST_FILE = 1_000_000
#: Files that state a robot.
ROBOT_SUFFIXES = (".urdf", ".mjcf", ".xml")
MOST_DOTS = 200

#: Where Python's reader of TOML says that a fault is.
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'")


def load_model(
    path: str | os.PathLike[str], parameters: Mapping[str, float] | None = None
) -> Scenario:
    """The scenario of the model file at `path`, or of a robot in a URDF or MJCF file.

    Parameters
    ----------
    path : path of a TOML file, or of a ``.urdf``, ``.mjcf`` or ``.xml`` file
        `dalembert.bodies.load_mechanism` reads robots with more options.
    parameters : mapping of name to value
        Values that replace those of the file, also where other parameters, the start or the options
        are expressions of them; names that the file does not give as parameters are passed over.

    Raises
    ------
    FileError
        Where the file cannot be read or is not TOML.
    ModelError
        Where what it states is wrong, with every fault.

    Examples
    --------
    >>> import tempfile
    >>> text = '''
    ... coordinates = ["x"]
    ... kinetic = "m*x_dot**2/2"
    ... potential = "k*x**2/2"
    ... parameters = {m = 2.0, k = "3*m"}
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "spring.toml").write_text(text)
    ...     path = f"{folder}/spring.toml"
    ...     values = [load_model(path, given).parameters["k"] for given in ({}, {"m": 1.0})]
    >>> values
    [6.0, 3.0]
    """
    if os.fspath(path).lower().endswith(ROBOT_SUFFIXES):
        from .robots.load import load_robot

        return load_robot(path)
    shown = shortened(os.fspath(path), 100)
    try:
        content = read_plain(path, LARGEST_FILE)
    except IsADirectoryError as error:
        raise FileError(
            f"The model file {shown} is a folder", remedy="name a file in it"
        ) from error
    except FileNotFoundError as error:
        raise FileError(f"There is no model file {shown}", remedy="check the path") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(
            f"The model file {shown} cannot be read", seen=reason, remedy="check the path"
        ) from error
    if len(content) > LARGEST_FILE:
        raise FileError(
            f"The model file {shown} is larger than {LARGEST_FILE} bytes", remedy="shorten it"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"The model file {shown} is not UTF-8 text",
            seen=f"byte {error.start + 1}",
            remedy="save it as UTF-8",
        ) from error
    return loads(text, parameters)


def loads(
    text: str,
    parameters: Mapping[str, float] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
) -> Scenario:
    """The scenario that the text of a model file states; `parameters` as in `load_model`.

    A text that begins with ``<`` is a robot in URDF or MJCF; files that it names (included files,
    meshes) are looked for in `folder` and nowhere else.

    >>> free = loads('coordinates = ["x"]\\nkinetic = "x_dot**2/2"')
    >>> free.system.kinetic
    x_dot**2/2
    """
    if len(text) > LARGEST_FILE:
        raise FileError(
            f"A model file has at most {LARGEST_FILE} characters",
            seen=len(text),
            remedy="shorten it",
        )
    if is_robot_text(text):
        from .robots.load import robot_scenario

        place = None if folder is None else Path(folder)
        return robot_scenario(text.encode("utf-8", "replace"), place)
    # A key of very many parts takes tomllib quadratic time.
    if any(
        _QUOTED.sub("", line).partition("=")[0].count(".") > MOST_DOTS for line in text.splitlines()
    ):
        raise FileError(
            f"A line of the model file has more than {MOST_DOTS} points", remedy="break the line"
        )
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        fault = FileError(
            "The model file is not valid TOML",
            seen=shortened(str(error), 120),
            remedy="state each key once, as key = value, with text in quotes",
        )
        at_line = _AT_LINE.search(str(error))
        fault.line = int(at_line[1]) if at_line else None
        raise fault from error
    except (RecursionError, MemoryError) as error:
        raise FileError("The model file is nested too deeply", remedy="write it flatter") from error
    except ValueError as error:
        raise FileError(
            "The model file has a value that cannot be read", remedy="write shorter numbers"
        ) from error
    stated = table.get("parameters")
    if parameters and isinstance(stated, dict):
        stated |= {name: float(value) for name, value in parameters.items() if name in stated}
    return read_scenario(table)


def is_robot_text(text: str) -> bool:
    """Whether a text is XML, which states a robot: no TOML begins so.

    >>> is_robot_text("\\n<robot/>"), is_robot_text('name = "<robot/>"')
    (True, False)
    """
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def save_model(scenario: Scenario, path: str | os.PathLike[str]) -> None:
    """Write a scenario as a model file; see `dumps` for what it keeps.

    >>> import tempfile
    >>> spring = loads('coordinates = ["x"]\\nkinetic = "x_dot**2/2"\\npotential = "2*x**2"')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(spring, f"{folder}/spring.toml")
    ...     print(load_model(f"{folder}/spring.toml").system.potential)
    2*x**2
    """
    text = dumps(scenario)
    try:
        write_whole(path, text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the text is not Unicode"
        raise FileError(
            f"The model file {shortened(os.fspath(path), 100)} cannot be written",
            seen=reason,
            remedy="check the path",
        ) from error


def dumps(scenario: Scenario, *, drawing: bool = True) -> str:
    """The text of a model file that states `scenario`.

    Its system, parameters, start and options come back equal from `loads`, with numbers to the last
    digit; so does its drawing, unless it is left out. Assumptions on parameters beyond being real
    have no place in a model file.

    >>> text = dumps(loads('coordinates = ["x"]\\nkinetic = "x_dot**2/2"'))
    >>> text.splitlines()[:3]
    ['name = "system"', 'coordinates = ["x"]', 'kinetic = "x_dot**2/2"']
    """
    return written_scenario(scenario, drawing)
