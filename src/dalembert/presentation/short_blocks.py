"""The blocks of equations as SymPy matrices in lowest terms, for exports and for parts of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..algebra.lazy import now
from ..algebra.simplify.simplifying_algebra import SimplifyingAlgebra
from ..algebra.simplify.statement import helpful_turns
from ..algebra.tree import TreeAlgebra
from ..errors import FormError, ModelError
from .equation_printer import _stated

if TYPE_CHECKING:
    from ..formulations.blocks import GaussBlocks
    from ..formulations.equations import Equations

__all__ = ["short_blocks"]

_READ = ("force", "rows", "right", "unknowns", "multipliers", "rates", "free", "dual_rows")


def short_blocks(
    equations: Equations,
) -> tuple[SimplifyingAlgebra | TreeAlgebra, GaussBlocks]:
    """An algebra and the blocks in it, computed: in lowest terms, or plain if that is much work."""
    try:
        algebra = SimplifyingAlgebra(named=False, turns=helpful_turns(_stated(equations)))
        blocks = equations.blocks(algebra)
        found = {name: now(getattr(blocks, name)) for name in _READ}
        return algebra, replace(blocks, stated_metric=now(blocks.metric), **found)
    except FormError:
        raise
    except ModelError:  # too much work to shorten: as they come
        pass
    try:
        plain = TreeAlgebra()
        return plain, equations.blocks(plain)
    except FormError:
        raise
    except ModelError:
        raise ModelError(
            "These equations are too large to be written out",
            f'the form "{equations.form}" of {equations.system.name}',
            'ask for a form that inverts nothing, such as "lagrange" or "maggi", or to_casadi()',
        ) from None
