"""``dalembert new``: a model file to begin with."""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import FileError
from ..model.io.atomic_file import write_whole
from ..model.names import shortened
from .entry import FINE
from .systems import named_system
from .terminal import print_json

__all__ = ["FIRST_MODEL", "new_command"]

#: A model that runs as it stands, with a drawing and a comment on each table.
FIRST_MODEL = """\
# A pendulum on a cart with a spring. Change it, then run it again:
#   dalembert run FILE --plot      dalembert derive FILE      dalembert lab
name = "{name}"
coordinates = ["x", "theta"]

# Energies are expressions of coordinates, velocities (x_dot), parameters and the time t.
kinetic = "M/2*x_dot**2 + m/2*(x_dot**2 + 2*l*x_dot*theta_dot*cos(theta) + l**2*theta_dot**2)"
potential = "k/2*x**2 - m*g*l*cos(theta)"

# A constraint is an equation of coordinates, or of coordinates and velocities:
# constraints = [{{ expression = "x_dot = l*theta_dot", name = "no slip" }}]

[parameters]
M = 2.0
m = 1.0
l = 0.8
k = 6.0
g = 9.81

# Forces on coordinates, here friction of the cart.
[forces]
x = "-0.1*x_dot"

# Columns of the result, beside the coordinates and velocities.
[outputs]
height = "-l*cos(theta)"

[start]
theta = 1.2

[simulate]
t = [0, 10]

# Shapes in drawing order; positions are expressions.
[[drawing]]
body = {{ at = ["x", 0], box = [0.5, 0.25] }}

[[drawing]]
link = [["x", 0], ["x + l*sin(theta)", "-l*cos(theta)"]]

[[drawing]]
point = ["x + l*sin(theta)", "-l*cos(theta)"]
size = 14
color = "accent"
"""


def new_command(path: Path, source: str | None, force: bool, as_json: bool) -> int:
    """Write a first model, or a copy of another system; say how to go on."""
    if path.suffix != ".toml":
        raise FileError(
            "A model file has the ending .toml",
            shortened(path.name or str(path)),
            f"write dalembert new {path.name or 'model'}.toml",
        )
    if path.exists() and not force:
        raise FileError(
            f"{shortened(str(path))} exists", remedy="name another file, or pass --force"
        )
    if source is None:
        name = path.stem.replace("\\", " ").replace('"', " ")
        text = FIRST_MODEL.format(name=name)
    else:
        from ..model.io.files import dumps

        text = dumps(named_system(source))
    try:
        write_whole(path, text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            f"{shortened(str(path))} cannot be written", reason, "name another place"
        ) from error
    if as_json:
        print_json({"file": str(path)})
    else:
        sys.stdout.write(f"{path}\nRun it with: dalembert run {path} --plot\n")
    return FINE
