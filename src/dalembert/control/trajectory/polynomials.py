"""The piecewise polynomials of a transcribed trajectory: states and inputs at any part of it."""

from __future__ import annotations

import numpy as np

from ...typing import Array, IntArray
from .nonlinear_program import Unknowns
from .schemes import Scheme, bernstein, interpolation

__all__ = ["input_values", "located", "node_table", "state_values"]


def located(edges: Array, parts: Array) -> tuple[IntArray, Array]:
    """The interval of each part of the way, and the place in it."""
    k = np.clip(np.searchsorted(edges, parts, side="right") - 1, 0, len(edges) - 2)
    return k, (parts - edges[k]) / np.diff(edges)[k]


def node_table(found: Unknowns) -> Array:
    """States (N, places, n) of each interval: its nodes and the stages between."""
    return np.concatenate([found.nodes[:-1, None], found.stages, found.nodes[1:, None]], axis=1)


def state_values(found: Unknowns, scheme: Scheme, parts: Array) -> Array:
    """The states (k, n) of the collocation polynomials."""
    k, places = located(found.edges, np.asarray(parts, dtype=float))
    table = interpolation(scheme.places, places)
    states: Array = np.einsum("ij,ijn->in", table, node_table(found)[k])
    return states


def input_values(found: Unknowns, parts: Array) -> Array:
    """The inputs (k, m)."""
    k, places = located(found.edges, np.asarray(parts, dtype=float))
    table = bernstein(found.inputs.shape[1] - 1, places)
    inputs: Array = np.einsum("ij,ijm->im", table, found.inputs[k])
    return inputs
