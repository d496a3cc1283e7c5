"""Blocks of a graph as functions of values by name; errors name the faulty values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from ..algebra.graph import GraphAlgebra
from ..errors import ModelError, nearest
from ..typing import Array

__all__ = ["NamedBlocks"]


class NamedBlocks:
    """Several blocks of one graph, evaluated together.

    Parameters
    ----------
    blocks : mapping of name to block
    known : sequence of str
        Further names that may be given although no block needs them.
    """

    def __init__(
        self, algebra: GraphAlgebra, blocks: Mapping[str, ca.SX], known: Sequence[str] = ()
    ) -> None:
        dense = {name: ca.densify(block) for name, block in blocks.items()}
        column = ca.vertcat(*(ca.vec(block) for block in dense.values()))
        nodes = algebra.symbols
        self.symbols = [symbol for symbol in nodes if ca.depends_on(column, nodes[symbol])]
        self.names, self.shapes = list(dense), [block.shape for block in dense.values()]
        self._known = {*known, *(symbol.name for symbol in self.symbols)}
        inputs = [nodes[symbol] for symbol in self.symbols]
        self._function = ca.Function("blocks", inputs, list(dense.values()))

    def __call__(self, values: Mapping[str, float], finite: bool = True) -> dict[str, Array]:
        """The blocks as arrays, by name.

        Raises
        ------
        ModelError
            Where a value is missing or of an unknown name, or a block is not finite.
        """
        for name in values:
            if name not in self._known:
                guess, names = nearest(name, sorted(self._known)), ", ".join(sorted(self._known))
                remedy = f"did you mean {guess}" if guess else f"use {names}"
                raise ModelError(f"There is no `{name}` here", remedy=remedy)
        missing = [symbol.name for symbol in self.symbols if symbol.name not in values]
        if missing:
            what = f"`{missing[0]}` has no value"
            raise ModelError(what, seen=", ".join(values) or "no values", remedy="give it by name")
        found = self._function.call([values[symbol.name] for symbol in self.symbols])
        named = zip(self.names, found, self.shapes, strict=True)
        arrays = {name: np.asarray(x, dtype=float).reshape(shape) for name, x, shape in named}
        if finite and not all(np.all(np.isfinite(block)) for block in arrays.values()):
            shown = ", ".join(f"{symbol.name} = {values[symbol.name]:g}" for symbol in self.symbols)
            raise ModelError("This place has no finite values", shown, "choose another one")
        return arrays
