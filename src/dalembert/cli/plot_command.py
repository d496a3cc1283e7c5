"""``dalembert plot``: pictures and animations of a motion that was saved."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from ..errors import ModelError
from .entry import FINE
from .terminal import Progress, print_json, waiting

__all__ = ["PlotRequest", "plot_command"]


@dataclass(frozen=True)
class PlotRequest:
    """A call of ``dalembert plot``, as it was given."""

    file: Path
    output: Path | None
    names: tuple[str, ...]
    phase: str | None
    style: str
    as_json: bool


def plot_command(request: PlotRequest) -> int:
    """Draw the motion in a file: panels over time, a phase portrait, or an animation."""
    from ..integrate.storage.save import load
    from ..plotting.scenes.movie_writers import VIDEO_SUFFIXES

    place = request.output or Path(f"{request.file.stem}.png")
    moving = place.suffix.lower() in (*VIDEO_SUFFIXES, ".gif")
    if moving and (request.names or request.phase):
        raise ModelError(
            "An animation shows the drawing of the system, no chosen columns",
            seen=str(place),
            remedy="name a .png, .svg or .pdf, or leave out the columns",
        )
    if request.names and request.phase:
        raise ModelError(
            "Panels over time and a phase portrait are two pictures",
            seen=f"{','.join(request.names)} and --phase {request.phase}",
            remedy="call dalembert plot for each",
        )
    with waiting("Reading"):
        motion = load(request.file)
    if moving:
        with Progress("Drawing") as progress:
            motion.animate(place, style=request.style, progress=progress)
    elif request.phase is not None:
        axes = [name.strip() for name in request.phase.split(",")]
        if len(axes) not in (2, 3):
            raise ModelError(
                "--phase takes two or three columns", request.phase, "write --phase x,x_dot"
            )
        motion.phase(*axes, path=place, style=request.style)
    else:
        motion.plot(list(request.names) or None, path=place, style=request.style)
    if request.as_json:
        print_json({"file": str(place)})
    else:
        sys.stdout.write(f"{place}\n")
    return FINE
