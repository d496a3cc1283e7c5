"""Forces of contacts along a motion, with their modes as bands."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ..style import Picture, Style, finished, style_named

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["contact_forces"]

#: Inches of a panel and of the picture.
PANEL_HEIGHT, WIDTH = 1.8, 6.4
#: The weight of a band by the mode of the contact; open contacts have none.
BANDS = {"sticks": 0.35, "closed": 0.25, "slips": 0.12}


def contact_forces(
    motion: Motion,
    *,
    path: str | PathLike[str] | None = None,
    style: str | Style = "light",
    title: str | None = None,
) -> Picture:
    """Draw normal force and friction of each contact, over bands where it sticks or slips.

    Parameters
    ----------
    motion : Motion
        With contacts or friction limits. A motion by time steps has forces and no bands.
    path : path, optional
        A .png, .svg or .pdf to write.
    style : "light", "dark" or Style
    title : str, optional

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> floor = da.unilateral(y >= 0, friction=0.5, tangent=x.dot, name="floor")
    >>> block = da.System([x, y], kinetic=(x.dot**2 + y.dot**2)/2, potential=9.81*y,
    ...                   constraints=[floor])
    >>> picture = contact_forces(da.simulate(block, {x.dot: 1}, (0, 0.5)))
    >>> picture.axes[0].get_title(loc="left")
    'floor: slips from 0, sticks from 0.2039'
    """
    names = [contact.name for contact in motion.system.unilateral]
    if not names:
        raise ModelError(
            "The motion has no contacts with a name",
            seen=f"the system `{motion.system.name}`",
            remedy="state them with unilateral, velocity(..., friction=) or bodies.contact",
        )
    look = style_named(style)
    size = (WIDTH, PANEL_HEIGHT * len(names) + 0.4)
    picture = Picture(look, figsize=size, layout="constrained")
    with look.context():
        panels = picture.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        for name, axes in zip(names, panels, strict=True):
            _draw(axes, motion, name, look)
        panels[0].legend(loc="upper right")
        panels[-1].set_xlabel("t")
    return finished(picture, path, title)


def _draw(axes: Any, motion: Motion, name: str, look: Style) -> None:
    """One panel: bands of the modes, the normal force, and the size of the friction."""
    history = motion.contacts[name]
    changes = [change for change in motion.modes if change.contact == name]
    ends = [*(change.time for change in changes[1:]), float(motion.t[-1])]
    for change, end in zip(changes, ends, strict=False):
        if change.mode in BANDS:
            color = look.blend("accent", BANDS[change.mode])
            axes.axvspan(change.time, end, color=color, linewidth=0, zorder=0)
    axes.plot(motion.t, history.normal, label="normal force")
    if len(history.friction):
        axes.plot(motion.t, np.linalg.norm(history.friction, axis=0), label="friction")
    words = ", ".join(f"{c.mode} from {c.time:.4g}" for c in changes[:3])
    more = f", {len(changes) - 3} more" if len(changes) > 3 else ""
    axes.set_title(f"{name}: {words}{more}" if words else name, loc="left", fontsize="medium")
