"""The fields of time steps with contacts, of stated ones and between solids."""

from __future__ import annotations

from ..codegen.native.language import Integers, Reals, Record

__all__ = ["ContactFields", "ShapeFields"]


class ContactFields(Record):
    """Time steps with contacts: components of the mass matrix, and the contacts of a step.

    Component k has the coordinates `members` and the constraints `row_members` from the k-th of
    `member_first` and `row_first`; its blocks of M and G begin at the k-th of `matrix_first` and
    `rows_first`. A stated contact c has `stated_rows` rows on the coordinates of `stated_dofs`,
    and its numbers begin at `stated_first`. A contact of a step has rows of `width` entries.
    Friction limits are contacts without a normal row: `stated_loads` has the stated contact whose
    impulse is the load, and `loads` that of the step, or what it is else.
    """

    matrix_program: int
    force_program: int
    stated_program: int
    position_program: int
    n_components: int
    n_rows: int
    n_positions: int
    n_stated: int
    n_active: int
    capacity: int
    width: int
    # Where a step fell short: how often, the worst residual, and how often several contacts
    # with restitution hit at once.
    n_unconverged: int
    n_simultaneous: int
    n_sweeps: int
    worst: float
    mix_best: float
    # Components, and the rows that position residuals belong to.
    members: Integers
    member_first: Integers
    component_of: Integers
    row_members: Integers
    row_first: Integers
    matrix_first: Integers
    rows_first: Integers
    position_rows: Integers
    matrices: Reals
    rows: Reals
    factors: Reals
    columns: Reals
    collected: Reals
    lengths: Reals
    ranks: Integers
    row_order: Integers
    row_choice: Integers
    right: Reals
    component_work: Reals
    # Stated contacts: gap, offsets, four coefficients, rows.
    stated_rows: Integers
    stated_first: Integers
    stated_dofs: Integers
    stated_dof_first: Integers
    stated_values: Reals
    stated_loads: Integers
    active_of: Integers
    # The contacts of a step.
    key: Integers
    loads: Integers
    n_contact_rows: Integers
    dof_count: Integers
    dofs: Integers
    jacobian_rows: Reals
    responses: Reals
    delassus: Reals
    gaps: Reals
    speed_bound: Reals
    offsets: Reals
    friction: Reals
    impulses: Reals
    impulses_before: Reals
    directions: Reals
    history: Reals
    best: Reals
    mix_products: Reals
    mix_factor: Reals
    mix_weights: Reals
    pushes: Reals
    remembered_impulses: Reals
    # States of a step.
    force: Reals
    position_residual: Reals
    middle: Reals
    change: Reals
    end: Reals
    shift: Reals
    local: Reals


class ShapeFields(Record):
    """Solids on bodies, and the contacts between them that a step finds.

    The numbers of body b begin at `body_first`: axes (9, row-major), origin (3), offset of its
    twist (6: velocity of the origin, spin), and the Jacobian of the twist (6 x w) on the
    coordinates of `body_dofs`. A solid has a kind, its body, three sizes, and its place on the
    body; the vertices of a hull are in `points` from `point_first` on.
    """

    pose_program: int
    # What answers for a pair without formula, the numbers of its solids as first * n_solids +
    # second, its margin, and how many contacts it has.
    pair_function: int
    pair: int
    n_found: int
    pair_margin: float
    n_bodies: int
    n_solids: int
    n_order: int
    overflowed: int
    deepest: float
    body_first: Integers
    body_dofs: Integers
    body_dof_first: Integers
    pose_values: Reals
    speeds: Reals
    are_apart: Integers
    kinds: Integers
    solid_body: Integers
    solid_scene: Integers
    sizes: Reals
    places: Reals
    radii: Reals
    coefficients: Reals
    points: Reals
    point_first: Integers
    # In space: axes and middle of each solid, its extent along x, and the order of these.
    frames: Reals
    extents: Reals
    order: Integers
    # Of each contact of a step: bodies, what measures its gap, two points and a normal on the
    # bodies, and two radii.
    bodies: Integers
    measures: Integers
    scenes: Integers
    first_point: Reals
    second_point: Reals
    normal: Reals
    radius: Reals
    found: Reals
    marks: Integers
    polygon: Reals
    # Impulses of the step before by key.
    table_size: int
    table_keys: Integers
    table_impulses: Reals
