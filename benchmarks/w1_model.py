"""The planar chain of W1: its energies, its closed form, and what an entry hands over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

GRAVITY = 9.81


@dataclass(frozen=True)
class RightSide:
    """What an entry hands over.

    `call` maps the state to its rates, from Python. `native` returns a task and how often the task
    evaluates the right-hand side in native code. `others` are further ways to call it, as (task,
    evaluations). `stages` are parts of the time it took to make.
    """

    call: Callable[[np.ndarray], Any]
    native: Callable[[], tuple[Callable[[], Any], int]] | None = None
    others: dict[str, Callable[[], tuple[Callable[[], Any], int]]] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)


def random_state(n: int) -> np.ndarray:
    """Angles and rates, (2 n,)."""
    return np.random.default_rng(1).uniform(-1, 1, 2 * n)


def closed_form(state: np.ndarray) -> np.ndarray:
    """The rates of the chain in absolute angles from the downward vertical, (2 n,)."""
    n = len(state) // 2
    angle, rate, i = state[:n], state[n:], np.arange(n)
    carried = n - np.maximum(i[:, None], i[None, :])
    between = angle[:, None] - angle[None, :]
    force = -(carried * np.sin(between)) @ rate**2 - GRAVITY * (n - i) * np.sin(angle)
    return np.concatenate([rate, np.linalg.solve(carried * np.cos(between), force)])


def energies(
    functions: Any,
    q: Any,
    w: Any,
    named: Callable[[str, Any], Any] = lambda name, value: value,
) -> tuple[Any, Any]:
    """T and V the way a user writes them, with the sin and cos of any package.

    `named` may give what the links share a name.
    """
    vx = vy = height = kinetic = potential = 0
    for i in range(len(q)):
        vx = named(f"vx{i}", vx + functions.cos(q[i]) * w[i])
        vy = named(f"vy{i}", vy + functions.sin(q[i]) * w[i])
        height = named(f"h{i}", height - functions.cos(q[i]))
        kinetic = kinetic + (vx**2 + vy**2) / 2
        potential = potential + GRAVITY * height
    return kinetic, potential
