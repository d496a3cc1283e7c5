"""Loads of friction limits that are norms of forces which their own friction changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...typing import Array
from .coulomb_states import NOISE, Pressing

__all__ = ["norm_loads"]

#: The most steps of Newton's iteration.
MOST_NEWTON = 20


def norm_loads(forces: Array, parts: Array, pressing: Sequence[Pressing]) -> Any:
    """The loads N (k,) with N_i = |F_i(forces + N @ parts)|, by Newton's iteration.

    Parameters
    ----------
    forces, parts : arrays (m,), (k, m)
        The forces of contact space without these loads, and by each of them.
    pressing : the forces F_i that press on each limit

    Raises
    ------
    numpy.linalg.LinAlgError
        Where the friction of a limit makes more load than it needs, or there are no such loads.

    Examples
    --------
    >>> pin = Pressing(np.array([0.0, 4.0]), np.array([[0.0], [1.0]]))
    >>> norm_loads(np.zeros(1), np.array([[0.5]]), [pin]).round(12).tolist()
    [8.0]
    """
    shares = [each.by @ parts.T for each in pressing]
    if any(np.linalg.norm(share[:, k]) >= 1 for k, share in enumerate(shares)):
        raise np.linalg.LinAlgError("friction that makes more load than it needs")
    found, step = np.sqrt([np.sum(each.at(forces) ** 2) for each in pressing]), np.inf
    for _ in range(MOST_NEWTON):
        pushed = [each.at(forces + found @ parts) for each in pressing]
        sizes = np.sqrt([np.sum(each**2) for each in pushed])
        jacobian = np.array(
            [a @ b / (size or 1.0) for a, b, size in zip(pushed, shares, sizes, strict=True)]
        )
        change = np.linalg.solve(np.eye(len(found)) - jacobian, sizes - found)
        found, step = found + change, float(np.abs(change).max())
        if step <= 1e-15 * np.abs(found).max():
            break
    if found.real.min() < 0 or step > NOISE * np.abs(found).max():
        raise np.linalg.LinAlgError("loads that are not determined")
    return found
