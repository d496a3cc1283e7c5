"""The fields of the context of a kernel, as native code finds them.

One declaration gives the layout in native code, the attributes in Python and the C structure of
exports. A field that names a program is its address, zero where it is not compiled.
"""

from __future__ import annotations

from ..codegen.native.language import Integers, Reals, Record

__all__ = ["KernelFields"]


class KernelFields(Record):
    """Programs, sizes and working arrays of a kernel."""

    # Addresses of programs.
    fast: int
    blocks: int
    rates: int
    position_step: int
    velocity_step: int
    position_parts: int
    velocity_parts: int
    observe: int
    inputs: int
    events: int
    # Sizes.
    n_state: int
    n_coordinates: int
    n_unknowns: int
    n_constraints: int
    is_definite: int
    has_gauge: int
    n_inputs: int
    n_observed: int
    n_positions: int
    n_velocities: int
    n_position_unknowns: int
    n_velocity_unknowns: int
    # Working arrays; `info` is rank, least pivot ratio, contradictory row or -1, least diagonal.
    time: Reals
    parameters: Reals
    input_values: Reals
    solution: Reals
    work: Reals
    order: Integers
    info: Reals
    out: Reals
    # Inputs as tables instead of a program: how many, and for each its pieces, coefficients of a
    # piece, and where its times and coefficients begin in the data.
    n_tables: int
    table_sizes: Integers
    table_data: Reals
    # The program for the unknowns of a large sparse system; which rows count (see `row_choice`).
    sparse: int
    active_rows: Integers
