"""The Jacobian of a kernel's rates by its state: its pattern, and the programs that evaluate it.

Three ways, told apart by their length:

    entries    one program for all entries that are not zero, with what they have in common
    products   a program of f_y w, called for each colour: a set of columns without a common row
    neither    the rates cannot be written out (rank decided at run time): differences of the rates
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from ..codegen.program import Program, straight_line
from ..errors import FormError
from ..typing import IntArray
from .kernel_derivatives import ReferencePoint, independent_rows, regular_rates

if TYPE_CHECKING:
    from .kernel import Kernel

__all__ = ["RatesJacobian", "rates_jacobian"]

#: Most instructions of a program of all entries: those of the rates, times the colours.
MOST_INSTRUCTIONS = 40_000


class RatesJacobian(NamedTuple):
    """The entries of f_y that are not zero, ordered by colour, and the program to find them.

    Attributes
    ----------
    rows, columns : arrays (entries,)
    colour_first : array (colours + 1,)
        The first entry of each colour.
    entries, product : Program or None
        Of the entries, and of the product with a column w; both None where the rates cannot be
        written out.
    """

    rows: IntArray
    columns: IntArray
    colour_first: IntArray
    entries: Program | None
    product: Program | None


def rates_jacobian(kernel: Kernel, instant: ReferencePoint | None = None) -> RatesJacobian:
    """The Jacobian of the rates, without rows that depend on others at an instant."""
    kept = None if instant is None else independent_rows(kernel, instant).solve
    return kernel.cache.get(("rates jacobian", kept), lambda: _jacobian(kernel, instant))


def _jacobian(kernel: Kernel, instant: ReferencePoint | None) -> RatesJacobian:
    size, state = kernel.n_state, kernel.algebra.vector(kernel.equations.state)
    try:
        rates = regular_rates(kernel, instant).rates
    except FormError:  # a solve that decides rank
        rows, columns = np.divmod(np.arange(size * size), size)
        return _by_colour(rows, columns, None, None)
    pattern = ca.jacobian_sparsity(rates, state)
    rows, columns = (np.array(part, dtype=np.int64) for part in pattern.get_triplet())
    found = _by_colour(rows, columns, None, None)
    length = ca.Function("rates", kernel._inputs(), [rates]).n_instructions()
    if length * (len(found.colour_first) - 1) <= MOST_INSTRUCTIONS:
        matrix = ca.jacobian(rates, state)
        entries = ca.vertcat(
            *[matrix[int(i), int(j)] for i, j in zip(found.rows, found.columns, strict=True)]
        )
        program = straight_line("rates_jacobian", kernel._inputs(), [entries])
        return found._replace(entries=program)
    w = ca.SX.sym("w", size)
    product = straight_line("rates_product", kernel._inputs(w), [ca.jtimes(rates, state, w)])
    return found._replace(product=product)


def _by_colour(
    rows: IntArray, columns: IntArray, entries: Program | None, product: Program | None
) -> RatesJacobian:
    """Order entries by colour, each column taking the first whose rows it leaves free."""
    taken: list[set[int]] = []
    colour_of: dict[int, int] = {}
    for column in np.unique(columns):
        own = set(rows[columns == column].tolist())
        colour = next((k for k, used in enumerate(taken) if not used & own), len(taken))
        if colour == len(taken):
            taken.append(set())
        taken[colour] |= own
        colour_of[int(column)] = colour
    colours = np.array([colour_of[int(column)] for column in columns], dtype=np.int64)
    order = np.argsort(colours, kind="stable")
    first = np.searchsorted(colours[order], np.arange(len(taken) + 1)).astype(np.int64)
    return RatesJacobian(
        np.ascontiguousarray(rows[order]),
        np.ascontiguousarray(columns[order]),
        first,
        entries,
        product,
    )
