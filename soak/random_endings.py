"""Whether the state where a motion ended early bears out that it could not go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import dalembert as da
from agreement import kernel_of

__all__ = ["is_explained"]

#: A state is singular where rows, of length one in the kinetic metric, are nearer to another rank
#: than this,
NEAR = 2e-2
#: and a motion blows up where velocities or accelerations have become larger than this.
LARGE = 1e3


def is_explained(motion: da.Motion, parameters: Mapping[str, float]) -> bool:
    """Whether the constraints lose rank, the mass matrix degenerates, or the motion runs away,
    where it has ended.
    """
    system = motion.system
    kernel = kernel_of(da.derive(system, "lagrange"))
    segment = motion.segments[-1]
    n, t = len(system.coordinates), float(segment.step_t[-1])
    shown = segment.full_y[-1]
    v = np.asarray(
        segment.context.kernel.velocities(
            segment.step_t[-1:], segment.step_y[-1:], segment.context.parameters
        ),
        dtype=float,
    )
    y = np.concatenate([shown[:n], v.ravel()])
    metric, rows, force = _blocks(kernel, t, y, np.array(list(parameters.values())))
    if not (
        np.all(np.isfinite(metric)) and np.all(np.isfinite(rows)) and np.all(np.isfinite(force))
    ):
        return True
    if np.abs(y).max() > LARGE or np.linalg.cond(metric) > 1 / NEAR**3:
        return True
    if not len(rows):
        return bool(np.abs(np.linalg.solve(metric, force)).max() > LARGE)
    scaled = np.linalg.solve(np.linalg.cholesky(metric), rows.T).T
    sizes = np.linalg.svd(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), compute_uv=False)
    return bool(np.any((sizes < NEAR) & (sizes > 1e-13)))


def _blocks(kernel: Any, t: float, y: Any, p: Any) -> list[Any]:
    import casadi as ca

    g = kernel.graph
    function = ca.Function(
        "blocks", kernel._inputs(), [ca.densify(ca.SX(b)) for b in (g.metric, g.rows, g.force)]
    )
    return [np.asarray(block, dtype=float) for block in function(t, y, p, [], [])]
