r"""Cyclic coordinates by quadrature: theta(t) = theta_0 + int theta_dot(r, r_dot; p) dt."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError, nearest
from ...integrate.energy_columns import sampled_at
from ...integrate.motion import Motion
from ...integrate.quadrature import integrate_along
from ...model.values import numbers_by_name
from ...typing import Array, Values

__all__ = ["recover_cyclic"]

#: Nodes of Gauss and Legendre in each step.
NODES = 8


def recover_cyclic(motion: Motion, start: Values | None = None) -> dict[str, Array]:
    """The cyclic coordinates along a motion of a system made with `routh`.

    Parameters
    ----------
    motion : Motion
    start : mapping of cyclic coordinate to its value at the start of the motion
        Zero for what is not given.

    Returns
    -------
    dict of name to array (nt,)
        At the stored times of the motion.

    Examples
    --------
    >>> import dalembert as da
    >>> import numpy as np
    >>> r, phi = da.coordinates("r phi")
    >>> planet = da.System([r, phi], kinetic=(r.dot**2 + r**2*phi.dot**2)/2, potential=-1/r)
    >>> radial, values = da.symmetry.routh(planet, [phi]), {"p_phi": 1.0}
    >>> radial = da.simulate(radial, {r: 1.0}, (0, 2 * np.pi), parameters=values)
    >>> bool(abs(recover_cyclic(radial)["phi"][-1] - 2*np.pi) < 1e-9)
    True
    """
    system: Any = motion.system
    symbols = {v.name for v in system.velocities}
    rates = [name for name in system.outputs if name.endswith("_dot") and name not in symbols]
    names = [name.removesuffix("_dot") for name in rates]
    if not rates:
        what = "The motion reports no cyclic velocities"
        raise ModelError(what, ", ".join(motion.names), "simulate da.symmetry.routh(system, [...])")
    first = dict.fromkeys(names, 0.0)
    for name, value in numbers_by_name(start).items():
        if name not in first:
            near = nearest(name, first)
            known = "the other coordinates start where the motion did"
            remedy = f"did you mean {near}" if near else known
            what = f"The motion has no cyclic coordinate `{name}`"
            raise ModelError(what, seen=", ".join(names), remedy=remedy)
        first[name] = value

    def cyclic_rates(times: Array) -> Array:
        dense = sampled_at(motion, times)
        return np.array([dense[rate] for rate in rates])

    found = integrate_along(motion, cyclic_rates, nodes=NODES).values
    return {name: first[name] + row for name, row in zip(names, found, strict=True)}
